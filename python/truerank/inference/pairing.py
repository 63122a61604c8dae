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
    from ..arrays.types import IntArray
    from ..ranks.labels import Labels

# A Report is a mapping of keys to numbers; a list holds several runs of one model.
Run: TypeAlias = Ranks | Mapping[str, float]
Model: TypeAlias = Run | Sequence[Ranks] | Sequence[Mapping[str, float]]
Models: TypeAlias = Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, Mapping[str, float]]
BY_IDS = {"queries": "query", "targets": "target"}
IDENTIFYING_LABELS = ("side", "relation", *BY_IDS)
BY_NAMES = "query and target names"
BY_NAMES_ONLY = "entities are in another order: tasks are paired by their names"
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


def read_models(models: Mapping[str, Any], seed: int = 0) -> tuple[dict[str, dict[str, Any]], str]:
    """Read models by name, each of one run or a list of them; all on tasks, or all on queries.

    Parameters
    ----------
    models : mapping of str to Ranks, Report, or a list of those
    seed : int
        The seed of the kind "random" of Ranks; a Report has its own.

    Returns
    -------
    runs : dict of str to dict
        Of each model its runs by their names in messages, as `truerank.metrics.contributions` says
        what inference takes of them.
    unit : str
        "task" or "query".

    Raises
    ------
    TypeError
        For anything but Ranks and Reports.
    ValueError
        For a model without runs, and as `weighted_ranks`.

    Examples
    --------
    >>> ranks = Ranks([0], [1], 10)
    >>> models, unit = read_models({"a": [ranks, ranks], "b": ranks})
    >>> [list(runs) for runs in models.values()], unit
    ([['a[0]', 'a[1]'], ['b']], 'task')
    """
    first: tuple[str, Any] | None = None
    unit = ""
    runs_by_model: dict[str, dict[str, Any]] = {}
    for model_name, model in models.items():
        runs = model if isinstance(model, (list, tuple)) else [model]
        if not runs:
            raise InputValueError(model_name, expected="at least one run", got="none")
        runs_by_model[model_name] = {}
        for i, run in enumerate(runs):
            name = model_name if len(runs) == 1 else f"{model_name}[{i}]"
            unit_of_run = run.model.unit if hasattr(type(run), "model") else "task"
            if first is None:
                first = name, run
                unit = unit_of_run
            if unit_of_run != unit:  # Tasks of one rank each do not pair with queries.
                expected = f"{_describe(first[1])}, as {first[0]} is"
                raise InputTypeError(name, expected=expected, got=_describe(run))
            runs_by_model[model_name][name] = run
    for named_runs in runs_by_model.values():
        for name, run in named_runs.items():
            if hasattr(type(run), "model"):  # A report has its tasks, or queries.
                named_runs[name] = run.model
            else:
                named_runs[name] = RankedTasks(weighted_ranks(name, run), seed)
    return runs_by_model, unit


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
    >>> align_runs([RankedTasks(a), RankedTasks(b)])[1].ranks.above
    array([0, 1])
    >>> align_runs([RankedTasks(a), RankedTasks(b[:1])])
    """
    first = models[0].ranks
    aligned = [models[0]]
    for model in models[1:]:
        ranks = model.ranks
        if len(ranks) != len(first):
            return None
        order, labels, differences = match_tasks(first, ranks, models[0].unit)
        if order is None or differences or (first.candidates != ranks.candidates[order]).any():
            return None
        ranks = align(first, ranks, order, labels)
        aligned.append(model if ranks is model.ranks else model.with_ranks(ranks))
    return aligned


def match_tasks(
    a: Ranks, b: Ranks, unit: str = "task"
) -> tuple[IntArray | None, tuple[str, ...], list[str]]:
    """Match the tasks of two models by what they are.

    These are the labels that both have: side, relation, query and target. Tasks that are equal in
    all of them are one task that is repeated, and matched in the order in which they, or their
    units, occur. Where these labels do not tell tasks apart, as without query and target, they are
    matched by position, where their labels and units must be equal.

    Returns
    -------
    order : ndarray of int64, shape (n,), or None
        For each task of the first model the position of its partner; None where some have none.
    labels : tuple of str
        The labels by which they were matched; () by position.
    differences : list of str
        What is unlike: tasks without a partner, labels that cannot be compared, units.

    Examples
    --------
    >>> a, b = (Ranks([0, 0, 0], [1, 1, 1], 9, queries=x) for x in (["x", "y", "z"], list("zyx")))
    >>> match_tasks(a, b)
    (array([2, 1, 0]), ('queries',), [])
    """
    of_a, of_b, differences = _shared_labels(a, b)
    labels = tuple(of_a)
    order = np.arange(len(a))
    alone_a = alone_b = order[:0]
    advice = ""
    if not _tell_tasks(a, b, of_a, unit):
        if differences:  # Both say what tasks are, in ways that cannot be compared.
            return None, (), differences
        labels = ()
        advice = "; labels (columns) query and target of both pair tasks in any order"
        of_a, of_b, _ = _shared_labels(a, b, (*IDENTIFYING_LABELS, "unit"))
        alone_a = alone_b = np.flatnonzero(np.any([of_a[x] != of_b[x] for x in of_a], axis=0))
    elif not all(of_a[name].same_as(of_b[name]) for name in labels):
        key_a, key_b = _task_keys(a, b, of_a, of_b)
        ordered_b, order_b = sorted_with_order(key_b)
        in_a, places = look_up(ordered_b, key_a)
        in_b = order_b[places]
        alone_a = np.delete(order, in_a)
        alone_b = np.delete(order, in_b)
        order[in_a] = in_b
    if len(alone_a):
        task_of_a = describe_task(of_a, alone_a[0])
        task_of_b = describe_task(of_b, alone_b[0])
        differences.append(
            f"tasks: {len(alone_a):,} of {len(a):,} differ, the first at position "
            f"{alone_a[0]} ({task_of_a} against {task_of_b}){advice}"
        )
        return None, labels, differences
    if a.unit is not None and b.unit is not None and _divide_unlike(a.unit, b.unit[order]):
        differences.append("unit: tasks of one unit belong to several of the other model's")
    return order, labels, differences


def _divide_unlike(one: Labels, two: Labels) -> bool:
    """Whether units, whatever they are called, are of other tasks."""
    if np.array_equal(one.codes, two.codes):
        return False
    numbers = {len(distinct(x)) for x in (one.codes, two.codes, row_keys([one.codes, two.codes]))}
    return len(numbers) > 1


def _tell_tasks(a: Ranks, b: Ranks, of_a: Mapping[str, Labels], unit: str) -> bool:
    """Whether the labels of both tell which task is which, so that equal ones are repeats."""
    if "unit" in of_a or (unit == "query" and "queries" in of_a):
        return True
    if of_a.keys().isdisjoint(BY_IDS):
        return False
    names = a.labels.keys() | b.labels.keys()
    if of_a.keys() >= {*BY_IDS, *names.intersection(IDENTIFYING_LABELS)}:
        return True
    return len(distinct(row_keys([labels.codes for labels in of_a.values()]))) == len(a)


def _shared_labels(
    a: Ranks, b: Ranks, names: Sequence[str] = IDENTIFYING_LABELS
) -> tuple[dict[str, Labels], dict[str, Labels], list[str]]:
    """The labels of both that say what a task is, and those that cannot be compared."""
    of_a: dict[str, Labels] = {}
    of_b: dict[str, Labels] = {}
    differences = []
    orders = []  # Of the entities whose numbers queries and targets are, and which have names.
    for ranks in (a, b):
        digests = [one.digests[0] for one in ranks.origins if one.queries]
        orders.append([digest for digest in digests if "by name" in digest])
    if orders[0] and orders[1] and orders[0] != orders[1]:  # Their numbers are of other names.
        if [one.fingerprint for one in a.origins] == [one.fingerprint for one in b.origins]:
            sides = [{"side": ranks.side} if ranks.side is not None else {} for ranks in (a, b)]
            return sides[0] | {"unit": a.labels["unit"]}, sides[1] | {"unit": b.labels["unit"]}, []
        differences.append(f"entities: {orders[0][0]} against {orders[1][0]}")
    labels_of_a = a.labels
    labels_of_b = b.labels
    for name in names:
        one = labels_of_a.get(name)
        two = labels_of_b.get(name)
        if one is None or two is None:
            continue
        if (one.vocabulary is None) == (two.vocabulary is None):
            of_a[name] = one
            of_b[name] = two
        elif name in BY_IDS:  # The query tells tasks apart without its other labels.
            differences.append(
                f"{name}: names against integer ids; with_labels gives both the same"
            )
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


def _weigh_alike(a: Ranks, b: Ranks) -> bool:
    """Whether the weights of tasks have the same ratios."""
    if a.weights is None and b.weights is None:
        return True
    relative = []
    for ranks in (a, b):
        weights = np.ones(len(ranks)) if ranks.weights is None else ranks.weights
        relative.append(weights / (weights.max(initial=0.0) or 1.0))
    return np.allclose(relative[0], relative[1], rtol=1e-12, atol=0)


def _how_paired(ranks: Ranks, labels: tuple[str, ...]) -> tuple[str, list[str]]:
    """Say by which labels tasks were matched, and what that cannot tell."""
    if "unit" in labels:
        return BY_NAMES, [BY_NAMES_ONLY]
    words = [word for name, word in BY_IDS.items() if name in labels]
    if not words:
        return BY_POSITION, [BY_POSITION_ONLY]
    pairing = f"{' and '.join(words)} ids"
    # Two test sets may both have queries 0 to n - 1; their names or targets would differ.
    if labels == ("queries",) and ranks.labels["queries"].vocabulary is None:
        return pairing, [BY_NUMBERS_ONLY]
    return pairing, []


def pair_ranks(
    one: Any, two: Any, names: tuple[str, str] = ("a", "b"), *, allow_unlike: bool = False
) -> tuple[Any, Any, str, list[str]]:
    """Pair the tasks of two models by what they are, or by position where labels cannot tell.

    Parameters
    ----------
    one, two : RankedTasks or AnsweredQueries
        The same of both.
    names : (str, str)
        What messages call the models.
    allow_unlike : bool
        Whether notes say what differs, where nothing forbids a comparison.

    Returns
    -------
    one, two : RankedTasks or AnsweredQueries
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
    >>> model = RankedTasks(Ranks([0], [1], 10))
    >>> pair_ranks(model, model)[2:]
    ('position', ['paired by position only'])
    """
    first = one.ranks
    refused = f"cannot be compared with {names[0]}: "
    if len(first) != len(two.ranks):
        raise InputValueError(names[1], refused + _describe_unequal(first, two.ranks, names))
    unlike = [f"protocol: {x}" for x in first.protocol.differences(two.ranks.protocol)]
    order, labels, differences = match_tasks(first, two.ranks, one.unit)
    if order is None:
        raise InputValueError(names[1], refused + "; ".join([*unlike, *differences]))
    second = align(first, two.ranks, order, labels)
    unlike += _unlike_candidates(first, second)
    unlike += differences
    if not _weigh_alike(first, second):
        problem = "weights: they differ; give both the same with ranks.with_weights(...)"
        raise InputValueError(names[1], refused + "; ".join([problem, *unlike]))
    # Both get the sides that either has, and the weights of the first.
    if first.side is None and second.side is not None:
        one = one.with_ranks(first.with_labels(side=second.side))
    elif first.side is not None and (second.side is None or not second.side.same_as(first.side)):
        second = second.with_labels(side=first.side)
    if first.weights is not second.weights:
        second = second.with_weights(first.weights)
    if second is not two.ranks:
        two = two.with_ranks(second)
    # Rules are compared task by task, so both models must be in one order by now.
    rules = one.paired_rules.items()
    differ = [name for name, rule in rules if not np.array_equal(rule, two.paired_rules[name])]
    unlike += [f"{name}: they differ" for name in differ]
    if unlike and not allow_unlike:
        advice = "; allow_unlike=True compares them all the same"
        raise InputValueError(names[1], refused + "; ".join(unlike) + advice)
    pairing, notes = _how_paired(first, labels)
    notes = [f"unlike {x}" for x in unlike] + notes
    return one, two, pairing, notes


def pair_runs(
    runs_a: Mapping[str, Any],
    runs_b: Mapping[str, Any],
    names: tuple[str, str],
    *,
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
    >>> runs = {"a": RankedTasks(Ranks([0], [1], 10))}
    >>> pair_runs(runs, runs, ("a", "b"))[2:]
    (False, 'position', ('paired by position only',))
    """
    for name, runs, of_other in ((names[0], runs_a, runs_b), (names[1], runs_b, runs_a)):
        if len(runs) == 1 < len(of_other):
            raise InputTypeError(name, expected="several runs, as the other model has", got="one")
    are_folds = len(runs_a) > 1 and align_runs(list(runs_a.values())) is None
    if are_folds and len(runs_a) != len(runs_b):
        expected = f"{len(runs_a)} runs, one for each fold of {names[0]}"
        raise InputValueError(names[1], expected=expected, got=len(runs_b))
    first, *others = runs_a.items()
    if are_folds:
        sides = list(zip(runs_a.items(), runs_b.items(), strict=True))
    else:  # The other runs of the first model are paired with its first one, too.
        sides = [(first, run) for run in (*others, *runs_b.items())]
    ones = []
    twos = []
    notes: dict[str, None] = {}
    for (name, run), (other_name, other) in sides:
        one, two, pairing, notes_of_pair = pair_ranks(
            run, other, (name, other_name), allow_unlike=allow_unlike
        )
        ones.append(one)
        twos.append(two)
        notes.update(dict.fromkeys(notes_of_pair))
    if are_folds:
        return ones, twos, are_folds, pairing, tuple(notes)
    runs_in_order = [ones[0], *twos]
    number = len(runs_a)
    return runs_in_order[:number], runs_in_order[number:], are_folds, pairing, tuple(notes)


def align(a: Ranks, b: Ranks, order: IntArray, labels: Sequence[str]) -> Ranks:
    """Put the second model's tasks in the order of the first; b itself where nothing changes.

    Labels that are equal become those of the first, so that equal names have equal codes, and
    queries of retrieval come in the same order.
    """
    if (np.diff(order) != 1).any():
        b = b[order]
    equal: dict[str, Any] = {}
    if "unit" in labels:
        equal = {name: a.labels[name] for name in BY_IDS}
    for name in labels:
        one = a.labels[name]
        two = b.labels[name]
        if one.vocabulary != two.vocabulary and one.same_as(two):
            equal[name] = one
    if not equal:
        return b
    return b.with_labels(**equal)
