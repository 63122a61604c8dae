"""Ranks of parts joined over tasks: repeats are found, parts come in the order of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.checks import choice, several
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.row_keys import distinct, first_equals, row_keys
from .container import Ranks
from .counts import COUNTS
from .labels import (
    POSITION,
    WHOLE,
    WITHOUT_ANSWERS,
    Labels,
    describe_task,
    join_labels,
    with_defaults,
)

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from ..inputs.arrays import IntArray

    RepeatRule: TypeAlias = Literal["refuse", "drop", "keep"]

# Two tasks that agree in all of these labels are one task, counted twice.
REPEAT_LABELS = ("unit", "side", "queries", "targets")
REPEAT_RULES = ("refuse", "drop", "keep")


@public("truerank")
def concatenate(parts: Iterable[Ranks], *, repeats: RepeatRule = "refuse") -> Ranks:
    """Join ranks over tasks, in the given order; parts of one task in the order of the whole.

    Vocabularies of labels are merged, weights stay as they are. A provenance field in which the
    parts differ becomes "mixed". Ranks of ``task[p::n]`` know where their tasks stand in the whole:
    whatever the order of the parts, they are joined in that of the whole, and once all tasks are
    there, the result equals the ranks of the whole.

    Equal units are one unit, in whichever part they stand: those of a `Task` are rows of the test
    set, so that head and tail ranks of one test set share them. Before ranks of two test sets are
    joined, add the number of rows of the first to the units of the second.

    Parameters
    ----------
    parts : iterable of Ranks
        At least one. Either all parts or none have weights, an audit, and labels of each name.
        Where only some are from lists, the others have no misses; where only some have gains of
        retrieval, those of the others are 1.
    repeats : {"refuse", "drop", "keep"}
        What to do where the same task comes twice: the same unit, side, query and target, if the
        ranks have all of these labels (those of retrieval have no side). A sampler that fills its
        last batch hands some rows out again, and every mean would count them twice. "drop" keeps
        the first of each, and requires that all have the same counts; "keep" keeps all in the given
        order, as for several runs of one model.

    Returns
    -------
    Ranks

    Raises
    ------
    ValueError
        If there are no parts, if parts were counted under different protocols (the error lists the
        differences), and if only some have weights, labels of a name, or an audit. For repeats,
        unless they are kept or dropped, and for dropped ones whose counts differ.
    TypeError
        If a part is not Ranks.

    Examples
    --------
    >>> concatenate([Ranks([0], [1], 10), Ranks([3], [2], 10)]).above
    array([0, 3])
    >>> from truerank.link_prediction import Task
    >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
    >>> ranks = [task[p::2].evaluate(lambda q: q[:, :1] * [[0.1, 0.2, 0.3]]).ranks for p in (1, 0)]
    >>> concatenate(ranks).targets.values
    array([1, 2, 0])
    """
    choice("repeats", repeats, REPEAT_RULES)
    joined = join_ranks(parts)
    order = _order_in_whole(joined)
    if order is None and repeats != "keep":
        joined = _without_repeats(joined, repeats)
        order = _order_in_whole(joined)
    return _in_order_of_the_whole(joined, order)


def join_ranks(parts: Iterable[Ranks]) -> Ranks:
    """Join ranks in the given order, whether or not tasks are repeated.

    Examples
    --------
    >>> join_ranks([Ranks([0], [1], 10), Ranks([3], [2], 10)]).above
    array([0, 3])
    """
    parts = several("parts", parts, "Ranks")
    if not parts or not all(isinstance(part, Ranks) for part in parts):
        got = sorted({type(part).__name__ for part in parts})
        raise InputTypeError("parts", expected="at least one Ranks, and nothing else", got=got)
    protocol = parts[0].protocol
    for i, part in enumerate(parts):
        protocol = protocol.joined(part.protocol, f"parts: number {i}")
    labels_of_parts = [part._labels for part in parts]
    if not all(POSITION in each for each in labels_of_parts):  # not all of them are parts of a task
        labels_of_parts = [_without_positions(each) for each in labels_of_parts]
    labels_of_parts = with_defaults(labels_of_parts, [len(part) for part in parts])
    labels = {}
    for name, values in _in_all_parts(labels_of_parts):
        labels[name] = join_labels(name, values)
    arrays_of_parts = [dict(part._arrays) for part in parts]
    if any("listed" in arrays for arrays in arrays_of_parts):
        for part, arrays in zip(parts, arrays_of_parts, strict=True):
            arrays.setdefault("listed", np.ones(len(part), bool))  # those without lists have all
    joined = {}
    for name, values in _in_all_parts(arrays_of_parts):
        joined[name] = np.concatenate(values, -1)
    return Ranks._of(joined, labels, protocol)


def _without_positions(labels: Mapping[str, Labels]) -> dict[str, Labels]:
    return {name: each for name, each in labels.items() if name not in (POSITION, WHOLE)}


def _without_repeats(ranks: Ranks, rule: RepeatRule) -> Ranks:
    """Refuse tasks that come twice, or leave all but the first of each out."""
    identity = {name: ranks._labels[name] for name in REPEAT_LABELS if name in ranks._labels}
    needed = set(REPEAT_LABELS)
    if WITHOUT_ANSWERS in ranks._labels:  # ranks of retrieval have one side, without a label
        needed.remove("side")
    if not needed <= identity.keys() or len(ranks) < 2:
        return ranks
    keys = row_keys([each.codes for each in identity.values()])
    if len(distinct(keys)) == len(keys):  # the usual case, at the least cost
        return ranks
    first = first_equals(keys)  # for each task the position at which it stands first
    is_again = first != np.arange(len(ranks))
    again = np.flatnonzero(is_again)
    if rule == "refuse":
        number = f"{len(again):,} of {len(ranks):,} tasks are there twice or more"
        positions = f"the first at the positions {first[again[0]]} and {again[0]}"
        drop = 'repeats="drop" leaves them out, as where a sampler fills its last batch'
        keep = 'repeats="keep" counts them again, as for several runs of one model'
        problem = f"{number}, {positions} ({describe_task(identity, again[0])}): {drop}; {keep}"
        raise InputValueError("parts", problem)
    for name in (*COUNTS, "listed"):
        values = ranks._arrays.get(name)
        if values is None:  # they are not from lists
            continue
        unlike = again[values[again] != values[first[again]]]
        if len(unlike):
            i = unlike[0]
            task = describe_task(identity, i)
            got = f"{values[first[i]]} at position {first[i]} and {values[i]} at position {i}"
            problem = f'repeats="drop" needs equal counts, but {name} of one task ({task}) is {got}'
            raise InputValueError("parts", problem)
    return ranks[~is_again]


def _order_in_whole(ranks: Ranks) -> IntArray | None:
    """Return the order of the positions of tasks in a whole; None: they are not of one whole.

    Positions that two tasks share, or of wholes of unlike sizes, are those of several tasks, or of
    repeats that are kept.
    """
    if not len(ranks) or not {POSITION, WHOLE} <= ranks._labels.keys():
        return None
    positions = ranks._labels[POSITION].codes
    sizes = ranks._labels[WHOLE].codes
    order: IntArray = np.argsort(positions, kind="stable")
    are_distinct = bool((np.diff(positions[order]) > 0).all())
    if are_distinct and (sizes == sizes[0]).all():
        return order
    return None


def _in_order_of_the_whole(ranks: Ranks, order: IntArray | None) -> Ranks:
    """Put the tasks of parts in the order of the whole; once all are there, positions go.

    Where there is no such order, positions mean nothing any more, and the given order stays.
    """
    if POSITION not in ranks._labels or not len(ranks):
        return ranks
    if order is not None and (np.diff(order) != 1).any():
        ranks = ranks[order]
    if order is None or len(ranks) == ranks._labels[WHOLE].codes[0]:
        return Ranks._of(ranks._arrays, _without_positions(ranks._labels), ranks.protocol)
    return ranks


def _in_all_parts(parts: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Give the values of each name, which every part must have if one has it."""
    for name in dict.fromkeys(name for part in parts for name in part):
        missing = [i for i, part in enumerate(parts) if name not in part]
        if missing:
            problem = f"{name} missing in part {missing[0]}, but not in all"
            raise InputValueError("parts", problem)
        yield name, [part[name] for part in parts]
