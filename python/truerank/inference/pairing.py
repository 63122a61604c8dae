"""The ranks of two models, whether they have the same tasks, and how the tasks were matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..arrays.row_keys import (
    are_among,
    distinct,
    first_equals,
    look_up,
    row_keys,
    sorted_with_order,
)
from ..errors import InputTypeError, InputValueError
from ..metrics.values import RankedTasks
from ..ranks.container import Ranks
from ..ranks.grouping import weighted_ranks
from ..ranks.labels import describe_task, join_labels

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..ranks.labels import Labels

# A Report is a mapping of keys to numbers; a list holds several runs of one model.
Run: TypeAlias = Ranks | Mapping[str, float]
Model: TypeAlias = Run | Sequence[Ranks] | Sequence[Mapping[str, float]]
Models: TypeAlias = Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, Mapping[str, float]]
BY_IDS = {"queries": "query", "targets": "target"}
IDENTIFYING_LABELS = ("side", "relation", *BY_IDS)
BY_POSITION = "position"
BY_POSITION_ONLY = "paired by position only"
BY_NUMBERS_ONLY = "paired by the numbers of queries only"


def is_model(model: object) -> bool:
    """Whether something is one model, or its runs: reports are mappings, but not of models.

    Examples
    --------
    >>> is_model(Ranks([0], [1], 10)), is_model({})
    (True, False)
    """
    return isinstance(model, Ranks) or hasattr(model, "contributions")


def as_model(name: str, model: Any, seed: int = 0) -> Any:
    """Return what inference takes of a model; see `truerank.metrics.contributions`.

    Parameters
    ----------
    name : str
        What messages call the model.
    model : Ranks or Report
    seed : int
        The seed of the kind "random" of Ranks; a Report has its own.

    Raises
    ------
    TypeError
        For anything but Ranks and Reports.
    ValueError
        As `weighted_ranks`.

    Examples
    --------
    >>> as_model("a", Ranks([0], [1], 10)).ranks
    Ranks(1 tasks, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    if hasattr(type(model), "model"):
        return model.model
    if hasattr(type(model), "with_ranks"):
        return model
    return RankedTasks(weighted_ranks(name, model), seed)


def runs_of(model: Any, name: str) -> dict[str, Any]:
    """The runs of a model by their names in messages: of a list, or of several reports in one.

    Examples
    --------
    >>> ranks = Ranks([0], [1], 10)
    >>> list(runs_of([ranks, ranks], "a")), list(runs_of(ranks, "a"))
    (['a[0]', 'a[1]'], ['a'])
    """
    runs = model if isinstance(model, (list, tuple)) else getattr(model, "reports", [model])
    if not runs:
        raise InputValueError(name, expected="at least one run", got="none")
    if len(runs) == 1:
        return {name: runs[0]}
    return {f"{name}[{i}]": run for i, run in enumerate(runs)}


def unit_of(model: Any) -> str:
    """Whether a model, or the first of several, is on tasks or queries, which have other keys."""
    while isinstance(model, (list, tuple, Mapping)) and not is_model(model) and model:
        if isinstance(model, Mapping):
            model = list(model.values())
        model = next(iter(model))
    if isinstance(model, Ranks):
        return "task"
    return getattr(model, "unit", "task")


def _describe(model: Any) -> str:
    """Say what a model is, in messages: a report also by what counts once in it."""
    name = type(model).__name__
    if not hasattr(model, "unit"):
        return name
    units = "queries" if model.unit == "query" else "tasks"
    return f"{name} of {units}"


def align_runs(models: Sequence[Any]) -> list[Any] | None:
    """Put the tasks of runs in the order of the first; None where they are unlike, as of folds.

    Examples
    --------
    >>> a, b = Ranks([0, 1], [1, 1], 9, queries=[7, 8]), Ranks([1, 0], [1, 1], 9, queries=[8, 7])
    >>> align_runs([as_model("a", a), as_model("b", b)])[1].ranks.above
    array([0, 1])
    >>> align_runs([as_model("a", a), as_model("b", b[:1])])
    """
    first = models[0].ranks
    aligned = [models[0]]
    for model in models[1:]:
        ranks = model.ranks
        if len(ranks) != len(first):
            return None
        order, labels, differences = match_tasks(first, ranks)
        if differences or (first.candidates != ranks.candidates[order]).any():
            return None
        aligned.append(_with_ranks(model, align(first, ranks, order, labels)))
    return aligned


def match_tasks(a: Ranks, b: Ranks) -> tuple[IntArray, tuple[str, ...], list[str]]:
    """Match as many tasks of two models by what they are.

    These are the labels that both have: side, relation, query and target. Tasks that are equal in
    all of them are matched in the order in which they, or their units, occur. Tasks without a
    partner are left, and matched by their order.

    Returns
    -------
    order : ndarray of int64, shape (n,)
        For each task of the first model the position of its partner.
    labels : tuple of str
        The labels by which they were matched.
    differences : list of str
        What is unlike: tasks without a partner, labels that cannot be compared, units.

    Examples
    --------
    >>> a, b = (Ranks([0, 0, 0], [1, 1, 1], 9, queries=x) for x in (["x", "y", "x"], list("yxx")))
    >>> match_tasks(a, b)
    (array([1, 0, 2]), ('queries',), [])
    """
    of_a, of_b, differences = _shared_labels(a, b)
    labels = tuple(of_a)
    order = np.arange(len(a))
    pairs = zip(of_a.values(), of_b.values(), strict=True)
    if not all(one.same_as(two) for one, two in pairs):
        key_a, key_b = _task_keys(a, b, of_a, of_b)
        ordered_b, order_b = sorted_with_order(key_b)
        in_a, places = look_up(ordered_b, key_a)
        in_b = order_b[places]
        alone_a = np.delete(order, in_a)
        alone_b = np.delete(order, in_b)
        order[in_a] = in_b
        order[alone_a] = alone_b
        if len(alone_a):
            task_of_a = describe_task(of_a, alone_a[0])
            task_of_b = describe_task(of_b, alone_b[0])
            differences.append(
                f"tasks: {len(alone_a):,} of {len(a):,} differ, the first at position "
                f"{alone_a[0]} ({task_of_a} against {task_of_b})"
            )
        if len(alone_a) == len(a):  # No task was found by its labels.
            labels = ()
    if a.unit is not None and b.unit is not None and not _one_to_one(a.unit, b.unit[order]):
        differences.append("unit: tasks of one unit belong to several of the other model's")
    return order, labels, differences


def _shared_labels(a: Ranks, b: Ranks) -> tuple[dict[str, Labels], dict[str, Labels], list[str]]:
    """The labels of both that say what a task is, and those that cannot be compared."""
    of_a: dict[str, Labels] = {}
    of_b: dict[str, Labels] = {}
    differences = []
    labels_of_a = a.labels
    labels_of_b = b.labels
    for name in IDENTIFYING_LABELS:
        one = labels_of_a.get(name)
        two = labels_of_b.get(name)
        if one is None or two is None:
            continue
        if (one.vocabulary is None) == (two.vocabulary is None):
            of_a[name] = one
            of_b[name] = two
        elif name in BY_IDS:  # The query tells tasks apart without its other labels.
            differences.append(f"{name}: names against integer ids")
    return of_a, of_b, differences


def _task_keys(
    a: Ranks, b: Ranks, of_a: Mapping[str, Labels], of_b: Mapping[str, Labels]
) -> tuple[IntArray, IntArray]:
    """A key of each task of both models: equal for tasks that belong together, unlike in each."""
    n = len(a)
    joined = [join_labels(name, (of_a[name], of_b[name])) for name in of_a]
    codes = row_keys([labels.codes for labels in joined])
    times = np.append(_occurrences(codes[:n], a.unit), _occurrences(codes[n:], b.unit))
    keys = row_keys([codes, times])
    return keys[:n], keys[n:]


def _describe_unequal(a: Ranks, b: Ranks, names: tuple[str, str]) -> str:
    """Say how many tasks the models have, and the first task that only one of them has."""
    numbers = f"tasks: {len(a):,} against {len(b):,}"
    of_a, of_b, _ = _shared_labels(a, b)
    if not of_a or not len(a) or not len(b):
        return numbers
    key_a, key_b = _task_keys(a, b, of_a, of_b)
    name_a, name_b = names
    for name, keys, other_keys, labels in (
        (name_a, key_a, key_b, of_a),
        (name_b, key_b, key_a, of_b),
    ):
        alone = np.flatnonzero(~are_among(keys, other_keys))
        if len(alone):
            task = describe_task(labels, alone[0])
            numbers += f"; only {name} has {len(alone):,}, "
            numbers += f"the first at position {alone[0]} ({task})"
    return numbers


def _occurrences(codes: IntArray, unit: Labels | None) -> IntArray:
    """How many equal codes stand before each one, by the first tasks of their units."""
    n = len(codes)
    first = np.arange(n) if unit is None else first_equals(unit.codes)
    order = np.lexsort((np.arange(n), first, codes))
    ordered = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(starts, n))
    found = np.empty(n, np.int64)
    found[order] = np.arange(n) - np.repeat(starts, sizes)
    return found


def _one_to_one(one: Labels, two: Labels) -> bool:
    """Whether each label of one goes with a single label of the other."""
    if len(one) == 0 or (one.codes == two.codes).all():
        return True
    pairs = len(distinct(row_keys([one.codes, two.codes])))
    return pairs == len(distinct(one.codes)) == len(distinct(two.codes))


def _unlike_candidates(a: Ranks, b: Ranks) -> list[str]:
    """Say how many tasks have other numbers of candidates, and which is the first."""
    (places,) = np.nonzero(a.candidates != b.candidates)
    if not len(places):
        return []
    i = places[0]
    return [
        f"candidates: {len(places):,} of {len(a):,} tasks differ, the first at position {i} "
        f"({a.candidates[i]} against {b.candidates[i]})"
    ]


def _relative_weights(ranks: Ranks) -> FloatArray:
    """The weights divided by the greatest one; 1 where there are none."""
    if ranks.weights is None:
        return np.ones(len(ranks))
    relative: FloatArray = ranks.weights / (ranks.weights.max(initial=0.0) or 1.0)
    return relative


def pair_ranks(
    a: Any,
    b: Any,
    names: tuple[str, str] = ("a", "b"),
    *,
    seed: int = 0,
    allow_unlike: bool = False,
) -> tuple[Any, Any, str, list[str]]:
    """Pair the tasks of two models by what they are, or by position where labels cannot tell.

    Parameters
    ----------
    a, b : Ranks or Report
    names : (str, str)
        What messages call the models.
    seed : int
        As in `as_model`.
    allow_unlike : bool
        Whether notes say what differs, where nothing forbids a comparison.

    Returns
    -------
    one, two : RankedTasks or queries
        The models; the tasks of the second are in the order of the first, with its sides and
        weights.
    pairing : str
        How the tasks were matched.
    notes : list of str

    Raises
    ------
    ValueError
        For differences that are not allowed; the message lists all of them.

    Examples
    --------
    >>> ranks = Ranks([0], [1], 10)
    >>> pair_ranks(ranks, ranks)[2:]
    ('position', ['paired by position only'])
    """
    if unit_of(a) != unit_of(b):  # Tasks of one rank each do not pair with queries.
        expected = f"{_describe(a)}, as {names[0]} is"
        raise InputTypeError(names[1], expected=expected, got=_describe(b))
    one = as_model(names[0], a, seed)
    two = as_model(names[1], b, seed)
    first = one.ranks
    second = two.ranks
    refused = f"cannot be compared with {names[0]}: "
    if len(first) != len(second):
        raise InputValueError(names[1], refused + _describe_unequal(first, second, names))
    order, labels, differences = match_tasks(first, second)
    second = align(first, second, order, labels)
    two = _with_ranks(two, second)
    unlike = [f"protocol: {x}" for x in first.protocol.differences(second.protocol)]
    unlike += _unlike_candidates(first, second)
    unlike += differences
    weights = _relative_weights(first), _relative_weights(second)
    if not np.allclose(*weights, rtol=1e-12, atol=0):
        unlike.insert(0, "weights: they differ; give both the same with ranks.with_weights(...)")
        raise InputValueError(names[1], refused + "; ".join(unlike))
    # Rules are compared task by task, so both models must be in one order by now.
    for name, rule in one.paired_rules.items():
        if not np.array_equal(rule, two.paired_rules[name]):
            unlike.append(f"{name}: they differ")
    if unlike and not allow_unlike:
        advice = "; allow_unlike=True compares them all the same"
        raise InputValueError(names[1], refused + "; ".join(unlike) + advice)
    notes = [f"unlike {x}" for x in unlike]
    known = [word for name, word in BY_IDS.items() if name in labels]
    if known:
        pairing = f"{' and '.join(known)} ids"
        # Two test sets may both have queries 0 to n - 1; their names or targets would differ.
        if labels == ("queries",) and first.labels["queries"].vocabulary is None:
            notes.append(BY_NUMBERS_ONLY)
    else:
        pairing = BY_POSITION
        notes.append(BY_POSITION_ONLY)
    side = second.side if first.side is None else first.side
    one = _with_ranks(one, _with_side(first, side))
    second = _with_side(second, side)
    if first.weights is not second.weights:
        second = second.with_weights(first.weights)
    return one, _with_ranks(two, second), pairing, notes


def _with_side(ranks: Ranks, side: Labels | None) -> Ranks:
    """Ranks whose tasks have these sides; the same ones where they have them."""
    if side is None or (ranks.side is not None and ranks.side.same_as(side)):
        return ranks
    return ranks.with_labels(side=side)


def _with_ranks(model: Any, ranks: Ranks) -> Any:
    """The model of these ranks; itself where they are its own."""
    return model if ranks is model.ranks else model.with_ranks(ranks)


def pair_runs(
    runs_a: Mapping[str, Any],
    runs_b: Mapping[str, Any],
    names: tuple[str, str],
    *,
    seed: int = 0,
    allow_unlike: bool = False,
) -> tuple[list[Any], list[Any], bool, str, tuple[str, ...]]:
    """Pair the tasks of several runs of two models; see `pair_ranks`.

    Returns
    -------
    models_a, models_b : list
        All have their tasks in one order; of folds those of one fold of both.
    are_folds : bool
        Whether the runs of the first model have unlike tasks.
    pairing : str
    notes : tuple of str

    Examples
    --------
    >>> runs = {"a": Ranks([0], [1], 10)}
    >>> pair_runs(runs, runs, ("a", "b"))[2:]
    (False, 'position', ('paired by position only',))
    """
    for name, runs, of_other in ((names[0], runs_a, runs_b), (names[1], runs_b, runs_a)):
        if len(runs) == 1 < len(of_other):
            raise InputTypeError(name, expected="several runs, as the other model has", got="one")
    are_folds = False
    if len(runs_a) > 1:
        are_folds = align_runs([as_model(*run, seed) for run in runs_a.items()]) is None
    if are_folds and len(runs_a) != len(runs_b):
        expected = f"{len(runs_a)} runs, one for each fold of {names[0]}"
        raise InputValueError(names[1], expected=expected, got=len(runs_b))
    first, *others = runs_a.items()
    if are_folds:
        sides = list(zip(runs_a.items(), runs_b.items(), strict=True))
    else:  # The other runs of the first model are paired with its first one, too.
        sides = [(first, run) for run in (*others, *runs_b.items())]
    models_a = []
    models_b = []
    notes: dict[str, None] = {}
    for (name, run), (other_name, other) in sides:
        both = name, other_name
        one, two, pairing, unlike = pair_ranks(
            run, other, both, seed=seed, allow_unlike=allow_unlike
        )
        models_a.append(one)
        models_b.append(two)
        notes.update(dict.fromkeys(unlike))
    if not are_folds:
        models_a = [models_a[0], *models_b[: len(others)]]
        models_b = models_b[len(others) :]
    return models_a, models_b, are_folds, pairing, tuple(notes)


def align(a: Ranks, b: Ranks, order: IntArray, labels: Sequence[str]) -> Ranks:
    """Put the second model's tasks in the order of the first; b itself where nothing changes.

    Labels that are equal become those of the first, so that equal names have equal codes, and
    queries of retrieval come in the same order.
    """
    if (np.diff(order) != 1).any():
        b = b[order]
    equal: dict[str, Any] = {}
    labels_of_a = a.labels
    labels_of_b = b.labels
    for name in labels:
        one = labels_of_a[name]
        two = labels_of_b[name]
        if one.vocabulary != two.vocabulary and one.same_as(two):
            equal[name] = one
    if not equal:
        return b
    return b.with_labels(**equal)
