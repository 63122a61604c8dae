"""Ranks of parts joined over tasks: repeats are found, parts come in the order of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import are_among, distinct, first_equals, row_keys, without
from ..errors import InputTypeError, InputValueError, Option, argument_names
from ..inputs.checks import choice, several
from ..inputs.rules import REPEAT_RULES
from ..inputs.selection import indptr_of
from ..naming import public
from .container import COUNTS, Ranks, origin_of
from .grouping import group_codes
from .labels import Labels, describe_task, join_labels, labels_of_codes
from .protocol import Origin

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .protocol import Protocol

    RepeatRule: TypeAlias = Literal["refuse", "drop", "keep"]

# Two tasks that agree in all of these labels are one fact, ranked twice.
FACT = ("unit", "side", "relation", "queries", "targets")
_TASKS_APART = (
    Option("repeats", "refuse", "joins folds or data sets that share no fact"),
    Option("repeats", "drop", "those that share facts, which count once"),
)
_REPEATS = (
    Option("repeats", "drop", "leaves them out, if a sampler fills its last batch"),
    Option("repeats", "keep", "counts them again, as for several runs of one model"),
)
# In retrieval the same queries are several runs, or those of several data sets.
_TELL_QUERIES = Option(
    "",
    effect="gives queries of a data set their own names",
    call='ranks.with_labels(queries=[f"de/{query}" for query in ranks.queries])',
)
_RUNS = Option("", effect="has several runs of each", call="truerank.compare([a0, a1], [b0, b1])")
# Tasks may have these arrays. Those of parts that do not say theirs have these values where they
# are joined with others that do.
DEFAULTS = {"listed": True, "gains": 1.0, "without_answers": 0, "masked": False}


@public("truerank")
def concatenate(parts: Iterable[Ranks], *, repeats: RepeatRule | None = None) -> Ranks:
    """Join ranks over tasks, in the given order; those of a `Task` by side and unit.

    Vocabularies of labels are merged, weights stay as they are. A provenance field in which the
    parts differ becomes "mixed".

    A unit of the ranks of a `Task` is a row of the facts that it ranks. Ranks of one task, as of
    ``task[p::n]``, are joined in the order of these rows, whatever the order of the parts, and
    equal those of the whole once all are there; while some rows, or sides of some, are missing, the
    audit of a report says which. Tails and heads of one test share their units. Ranks of Tasks that
    were made apart, as for folds or several data sets, are joined only where `repeats` is given,
    and have units of their own. In retrieval their queries are apart, too, whatever they are
    called: where several tasks have one name, it becomes (task, name), the first task being 0.
    Queries of triples are one query where they have one name, or one number among the same
    entities. Ranks of no Task share a unit where its label is equal, in whichever part they stand.

    Parameters
    ----------
    parts : iterable of Ranks
        At least one. Either all parts or none have weights, an audit, and labels of each name.
        Where only some are from lists, the others have no misses; where only some have gains of
        retrieval, those of the others are 1.
    repeats : {"refuse", "drop", "keep"}, optional
        What to do where a fact comes twice: in parts of one task, the same row of it; in tasks that
        were made apart, the same side, relation, query and target, if the ranks have labels of
        side, query and target (those of retrieval have no side). A sampler that fills its last
        batch hands some rows out again, folds may share facts, and every mean would count them
        twice. "drop" keeps the first of each, and requires that all have the same counts; "keep"
        keeps all in the given order, as for several runs of one model. Default: repeats are
        refused, and so are tasks that were made apart. In retrieval "drop" leaves out whole
        queries, and "keep" is refused: several runs are a list, which `compare` and `table` take.
        Where data sets share queries and right answers, as the same qrels in several languages,
        rename the queries first: ``ranks.with_labels(queries=[f"de/{query}" for query in
        ranks.queries])``.

    Returns
    -------
    Ranks

    Raises
    ------
    ValueError
        If there are no parts, if parts were counted under different protocols (the error lists the
        differences), and if only some have weights, labels of a name, an audit, or units that are
        rows of a task. For tasks that were made apart where `repeats` is not given, and for those
        that rank the same facts among other entities or with other known facts. For repeats, unless
        they are kept or dropped, for dropped ones whose counts differ or that are not all right
        answers of their query, and for queries that are kept.
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
    if repeats is not None:
        choice("repeats", repeats, REPEAT_RULES)
    parts = several("parts", parts, "Ranks")
    ranks = join_ranks(parts)
    if repeats == "keep" and ranks.answers is not None:
        expected = "'refuse' or 'drop', as a query of retrieval counts once in each run"
        ways = [_RUNS, _TELL_QUERIES]
        raise InputValueError("repeats", "", expected, "'keep'", remedies=ways)
    if repeats is None:
        _refuse_tasks_apart(parts)
    if repeats != "keep":
        ranks = _without_repeats(ranks, repeats or "refuse")
    ranks = _with_part_sizes(ranks, parts)
    if repeats == "keep" or not ranks.origins or not len(ranks):
        return ranks
    # Ranks of tasks come in the order of their whole: by task, side and unit.
    unit = ranks._labels["unit"].codes
    columns = [origin_of(unit, ranks.origins), unit]
    if ranks.side is not None:
        columns.insert(1, ranks.side.codes)
    keys = row_keys(columns)
    if (np.diff(keys) >= 0).all():
        return ranks
    return ranks[np.argsort(keys, kind="stable")]


def join_ranks(parts: Iterable[Ranks]) -> Ranks:
    """Join ranks in the given order, whether or not tasks are repeated."""
    parts = several("parts", parts, "Ranks")
    kinds = set(map(type, parts))
    if kinds != {Ranks}:
        got = sorted(kind.__name__ for kind in kinds)
        raise InputTypeError("parts", expected="at least one Ranks, and nothing else", got=got)
    if len(parts) == 1:
        return parts[0]
    protocol = _joined_protocol(parts)
    has_queries = any(part.answers is not None for part in parts)
    remedies = [_TELL_QUERIES] if has_queries else []
    origins = join_origins([part.origins for part in parts], remedies)
    for i, part in enumerate(parts):
        if origins and not part.origins and part.unit is not None and len(part):
            problem = f"part {i} has units that were given, other parts have rows of tasks"
            way = Option("", effect="gives them to other parts, too", call="with_labels(unit=...)")
            raise InputValueError("parts", problem, remedies=[way])
    names = {name for part in parts for name in part._arrays}
    if has_queries and len(origins) > 1:
        names.add("origin")
    labels_of_parts = [renumber_labels(part._labels, part.origins, origins) for part in parts]
    labels = {name: join_labels(name, each) for name, each in _by_name(labels_of_parts).items()}
    arrays_of_parts = [_arrays_with_defaults(part, names) for part in parts]
    arrays = {name: np.concatenate(each, -1) for name, each in _by_name(arrays_of_parts).items()}
    return Ranks._of(arrays, labels, protocol, origins)


def _arrays_with_defaults(ranks: Ranks, names: AbstractSet[str]) -> dict[str, Any]:
    """Return the arrays of ranks, with usual values for those of these names that they lack."""
    defaults: dict[str, Any] = {}
    for name in names & DEFAULTS.keys():
        defaults[name] = np.full(len(ranks), DEFAULTS[name])
    if "lengths" in names:  # Without lengths, all candidates are listed.
        defaults["lengths"] = ranks.candidates
    if "as_good" in names:  # Without gains, all answers are as good as each.
        defaults["as_good"] = ranks.answers
    if "origin" in names:
        defaults["origin"] = ranks._task_numbers()
    return defaults | ranks._arrays


def _refuse_tasks_apart(parts: Sequence[Ranks]) -> None:
    """Refuse parts of several tasks: some of their facts may be the same."""
    first: set[int] = set()
    for i, part in enumerate(parts):
        tasks = {origin.number for origin in part.origins}
        if not tasks and part.origin is not None:
            # With units of the user's own, only the number of the Task stays with each rank.
            tasks = set(part.origin.tolist())
        first = first or tasks
        if tasks and tasks != first:
            problem = "it belongs to another test than the parts before, and a fact may come twice"
            raise InputValueError(f"parts: number {i}", problem, remedies=_TASKS_APART)


def _joined_protocol(parts: Sequence[Ranks]) -> Protocol:
    """Join protocols, which have to agree; empty ranks add nothing of their provenance."""
    protocol = next((part.protocol for part in parts if len(part)), parts[0].protocol)
    for i, part in enumerate(parts):
        if part.protocol is protocol:  # Blocks of one count share it.
            continue
        with argument_names(other=f"parts: number {i}"):
            joined = protocol.joined(part.protocol)
        if len(part):
            protocol = joined
    return protocol


def _without_repeats(ranks: Ranks, rule: RepeatRule) -> Ranks:
    """Refuse tasks that come twice, or keep the first of each alone."""
    identity = _identity(ranks)
    if not identity or len(ranks) < 2:
        return ranks
    first = _first_positions(ranks, identity)
    is_again = first != np.arange(len(ranks))
    again = np.flatnonzero(is_again)
    if not len(again):  # This is the usual case.
        return ranks
    if rule == "refuse":
        number = f"{len(again):,} of {len(ranks):,} tasks are there twice or more"
        positions = f"the first at the positions {first[again[0]]} and {again[0]}"
        problem = f"{number}, {positions} ({describe_task(identity, again[0])})"
        ways = _REPEATS if ranks.answers is None else (_REPEATS[0], _TELL_QUERIES)
        raise InputValueError("parts", problem, remedies=ways)
    if ranks.answers is not None:
        _refuse_cut_queries(ranks, first, is_again)
    _refuse_other_counts(ranks, first, again, identity)
    kept = ranks[~is_again]
    if len(ranks.origins) < 2:
        return kept
    return kept._with(origins=_origins_without_lost_units(ranks, kept))


def _identity(ranks: Ranks) -> dict[str, Labels]:
    """Return the labels that tell each task from all others; none if some of them are missing."""
    identity = {name: ranks._labels[name] for name in FACT if name in ranks._labels}
    required = {"side", "queries", "targets"}
    is_retrieval = ranks.without_answers is not None
    if is_retrieval:  # It has one side, and its queries have names, which need no unit.
        identity.pop("unit", None)
        required = {"queries", "targets"}
    return identity if required <= identity.keys() else {}


def _origins_without_lost_units(ranks: Ranks, kept: Ranks) -> tuple[Origin, ...]:
    """Return the origins of ranks, without the units of which no task is kept."""
    lost_units = without(distinct(ranks._labels["unit"].codes), kept._labels["unit"].codes)
    origin_of_unit = origin_of(lost_units, ranks.origins)
    n_lost = np.bincount(origin_of_unit, minlength=len(ranks.origins)).tolist()
    pairs = zip(ranks.origins, n_lost, strict=True)
    return tuple(replace(origin, units=origin.units - n) for origin, n in pairs)


def _refuse_other_counts(
    ranks: Ranks, first: IntArray, again: IntArray, identity: Mapping[str, Labels]
) -> None:
    """Refuse to drop tasks that have other counts than the first of theirs."""
    for name in (*COUNTS, "listed"):
        values = ranks._arrays.get(name)
        if values is None:  # Only ranks from lists have all of these.
            continue
        unlike = again[values[again] != values[first[again]]]
        if len(unlike):
            i = unlike[0]
            task = describe_task(identity, i)
            got = f"{values[first[i]]} at position {first[i]} and {values[i]} at position {i}"
            problem = f"dropped tasks need equal counts, but {name} of one task ({task}) "
            problem += f"is {got}"
            raise InputValueError("parts", problem)


def _refuse_cut_queries(ranks: Ranks, first: IntArray, is_again: npt.NDArray[np.bool_]) -> None:
    """Refuse to drop some answers of a query, and not all, since other tasks have these."""
    tasks = ranks._task_numbers()
    codes, queries = group_codes(ranks, "queries")
    cut = are_among(codes, codes[is_again & (tasks[first] != tasks)]) & ~is_again
    if cut.any():
        i = int(cut.argmax())
        problem = f"another task has some right answers of the query {queries[codes[i]]!r}, not all"
        raise InputValueError("parts", problem, remedies=[_TELL_QUERIES])


def _first_positions(ranks: Ranks, identity: Mapping[str, Labels]) -> IntArray:
    """Return the position at which each row of ranks stands first.

    Rows of one Task are the same if all of `identity` is; rows of several, if their facts are.
    """
    columns = {name: labels.codes for name, labels in identity.items()}
    keys = row_keys(list(columns.values()))
    first_row = np.arange(len(keys))
    if len(distinct(keys)) < len(keys):
        first_row = first_equals(keys)
    is_of_one_task = len(ranks.origins) < 2 and ranks.origin is None
    if is_of_one_task:
        return first_row
    fact = {name: codes for name, codes in columns.items() if name != "unit"}
    digests = {origin.digests[0] for origin in ranks.origins}
    are_numbers = any(identity[name].vocabulary is None for name in ("queries", "targets"))
    if len(digests) > 1 and "fact" in ranks._labels and all("by name" in x for x in digests):
        fact = {"side": columns["side"], "fact": ranks._labels["fact"].codes}
        are_numbers = False
    if are_numbers and ranks.origins:  # Among other entities, a number stands for another one.
        digests = [origin.digests[0] for origin in ranks.origins]
        entities_of_origin = np.array([digests.index(digest) for digest in digests])
        origin_of_row = origin_of(ranks._labels["unit"].codes, ranks.origins)
        fact["entities"] = entities_of_origin[origin_of_row]
    first_of_fact = first_equals(row_keys(list(fact.values())))
    task_numbers = ranks._task_numbers()
    is_of_same_task = task_numbers[first_of_fact] == task_numbers
    return np.where(is_of_same_task, first_row, first_of_fact)


def _with_part_sizes(ranks: Ranks, parts: Sequence[Ranks]) -> Ranks:
    """Say of how many units the joined ranks of each task are a part; 0: they are no part.

    Of a task of 60 units, 20 and 10 are a part of 60, and 30 and 30 are the whole. Of a sample of
    40, 20 and 10 are a part of 40, and 20 and 20 are all of it; but 30 and 30 are of two samples,
    and so they are again a part of the task, or its whole.
    """
    n_units = count_units(ranks)
    n_units_of_largest_part: Counter[str] = Counter()
    for part in parts:
        n_units_of_largest_part |= count_units(part)
    origins = []
    for origin in ranks.origins:
        n = n_units[origin.fingerprint]
        whole = min(origin.part_of, origin.units)
        are_of_several_samples = n > whole and n > n_units_of_largest_part[origin.fingerprint]
        if are_of_several_samples:
            whole = origin.units
        origins.append(replace(origin, part_of=whole if n < whole else 0))
    return ranks._with(origins=tuple(origins))


def count_units(ranks: Ranks) -> Counter[str]:
    """Return how many units of each of their tasks ranks have, by its fingerprint."""
    origins = ranks.origins
    if not origins:
        return Counter()
    numbers = np.bincount(origin_of(distinct(ranks._labels["unit"].codes), origins)).tolist()
    return Counter({each.fingerprint: n for each, n in zip(origins, numbers, strict=False)})


def _by_name(parts: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the values of each name, which every part must have if one has it."""
    values: dict[str, list[Any]] = {}
    for part in parts:
        for name, value in part.items():
            values.setdefault(name, []).append(value)
    for name, each in values.items():
        if len(each) < len(parts):
            missing = next(i for i, part in enumerate(parts) if name not in part)
            raise InputValueError("parts", f"{name} missing in part {missing}, but not in all")
    return values


def join_origins(
    parts: Iterable[Sequence[Origin]], remedies: Sequence[Option] = ()
) -> tuple[Origin, ...]:
    """Return the tasks of several ranks, each once; of one fingerprint the larger numbers count.

    The same facts among other entities, or with other known facts, are refused.
    """
    by_fingerprint: dict[str, Origin] = {}
    for origins in parts:
        for origin in origins:
            other = by_fingerprint.get(origin.fingerprint, origin)
            for one, two in zip(other.digests, origin.digests, strict=True):
                if one != two and one and two:  # The number of entities need not be given.
                    problem = f"the same facts are ranked among {one} and among {two}"
                    advice = "parts of a task have all its entities and known facts, as task[p::n]"
                    raise InputValueError("parts", f"{problem}: {advice}", remedies=remedies)
            sizes = ("rows", "units", "queries", "part_of")
            largest = {name: max(getattr(other, name), getattr(origin, name)) for name in sizes}
            entities = other.digests[0] or origin.digests[0]
            joined = replace(origin, **largest, digests=(entities, origin.digests[1]))
            by_fingerprint[origin.fingerprint] = joined
    return tuple(by_fingerprint.values())


def renumber_labels(
    labels: Mapping[str, Labels], origins: Sequence[Origin], joined: Sequence[Origin]
) -> dict[str, Labels]:
    """Return labels of ranks with the numbers that units and queries have in the joined tasks.

    >>> one, two = Origin("a", 3, 3), Origin("b", 4, 4)
    >>> renumber_labels({"unit": Labels([0, 2])}, [two], [one, two])["unit"].values
    array([3, 5])
    """
    new_labels = dict(labels)
    if tuple(origins) == tuple(joined):
        return new_labels
    fingerprints = [origin.fingerprint for origin in joined]
    positions = [fingerprints.index(origin.fingerprint) for origin in origins]
    origin_of_task = origin_of(labels["unit"].codes, origins)
    for name in ("unit", "queries"):
        shifts = _first_numbers(joined, name)[positions] - _first_numbers(origins, name)
        if shifts.any():
            codes = labels[name].codes + shifts[origin_of_task]
            new_labels[name] = labels_of_codes(codes, labels[name].vocabulary)
    return new_labels


def _first_numbers(origins: Sequence[Origin], name: str) -> IntArray:
    """Return the first number of the units, or queries, of each task.

    They follow those of the task before; tasks of the same entities share numbers of queries.
    """
    keys = [origin.fingerprint for origin in origins]
    sizes = [origin.rows for origin in origins]
    if name == "queries":
        keys = [origin.digests[0] for origin in origins]
        sizes = [origin.queries for origin in origins]
    largest: dict[str, int] = {}
    for key, size in zip(keys, sizes, strict=True):
        largest[key] = max(largest.get(key, 0), size)
    starts = indptr_of(list(largest.values()))[:-1].tolist()
    start_of_key = dict(zip(largest, starts, strict=True))
    return np.array([start_of_key[key] for key in keys], np.int64)
