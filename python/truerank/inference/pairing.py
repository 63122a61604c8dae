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
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.rules import LISTED
from ..metrics.values import Rankings
from ..naming import format_count
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes, weighted_ranks
from ..ranks.labels import as_labels, describe_task, join_labels

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..metrics.keys import Key
    from ..ranks.labels import Labels, LabelsLike

# A Report is a mapping of keys to numbers; a list holds several runs of one model.
Run: TypeAlias = Ranks | Mapping[str, float]
Model: TypeAlias = Run | Sequence[Ranks] | Sequence[Mapping[str, float]]
Models: TypeAlias = Mapping[str, Model] | Mapping[str, Ranks] | Mapping[str, Mapping[str, float]]
LabelsByName: TypeAlias = "Mapping[str, Labels]"
BY_IDS = {"queries": "query", "targets": "target"}
IDENTIFYING_LABELS = ("side", "relation", *BY_IDS)
FACT = "fact"  # Tasks of link prediction number their facts so, by names.
BY_NAMES = "query and target names"
BY_NAMES_ONLY = "entities are in another order: tasks are paired by their names"
BY_POSITION = "position"
BY_POSITION_ONLY = "paired by position only"
LEAVES_OUT = "leaves out what was not asked of {}"
UNLIKE_QUERIES = "queries: one name belongs to several tasks in only one of the models"
BY_NUMBERS_ONLY = "paired by the numbers of queries only"


def read_models(models: Mapping[str, Any], seed: int = 0) -> dict[str, list[Rankings]]:
    """Read models by name, each of one run or a list of them; all are of tasks, or all of queries.

    The seed is that of the kind "random" of Ranks; a Report has its own.
    """
    first_name = ""
    first_units = ""
    runs_by_model: dict[str, list[Rankings]] = {}
    for model_name, model in models.items():
        runs = model if isinstance(model, (list, tuple)) else [model]
        if not runs:
            raise InputValueError(model_name, expected="at least one run", got="none")
        runs_by_model[model_name] = []
        for name, run in zip(name_runs(model_name, runs), runs, strict=True):
            rankings = getattr(run, "model", None)  # A report has its own.
            if not isinstance(rankings, Rankings):
                rankings = Rankings(weighted_ranks(name, run), seed)
            units = rankings.grammar.units
            if not first_name:
                first_name = name
                first_units = units
            if units != first_units:  # Queries with several answers do not pair with tasks.
                raise InputTypeError(
                    name, expected=f"{first_units}, as {first_name} has", got=units
                )
            runs_by_model[model_name].append(rankings)
    return runs_by_model


def name_runs(model: str, runs: Sequence[Any]) -> list[str]:
    """Return what messages call the runs of a model: "a", or "a[0]" and so on of several."""
    if len(runs) == 1:
        return [model]
    return [f"{model}[{i}]" for i in range(len(runs))]


# -- tasks -----------------------------------------------------------------------------------------


def match_tasks(
    a: Ranks, b: Ranks, names: tuple[str, str] = ("a", "b"), *, counts_candidates: bool = True
) -> tuple[Ranks | None, tuple[str, ...], list[str]]:
    """Put the tasks of a second model in the order of the first, by what tasks are.

    These are the labels that both have: side, relation, query and target; and the Task, where both
    have it. Tasks that are equal in all of them are one task that is repeated, and matched in the
    order in which they, or their units, occur. Where these labels do not tell tasks apart, as
    without query and target, they are matched by position, where their labels and units must be
    equal.

    It returns the tasks of the second model, each in the place of its partner and with the codes of
    equal labels of the first, or None where some have no partner; the labels by which they were
    matched, () by position; and what is unlike. Unless a metric depends on how many candidates
    there are, it does not matter how many each list has, where these are the candidates. Where
    their number was not given, metrics that depend on it are refused by themselves.

    >>> a, b = (Ranks([0, 1, 2], [1, 1, 1], 9, queries=x) for x in (["x", "y", "z"], list("zyx")))
    >>> match_tasks(a, b)[0].above, match_tasks(a, b)[1:]
    (array([2, 1, 0]), (('queries',), []))
    """
    of_a, of_b, differences = _shared_labels(a, b)
    labels = tuple(of_a)
    matched = b
    if len(a) == len(b) and not _labels_tell_tasks(a, b, of_a):
        labels = ()
        # Where both say what tasks are, in ways that cannot be compared, positions do not count.
        differences = differences or _unlike_positions(a, b)
        if differences:
            return None, labels, differences
    elif not labels:
        return None, labels, [*differences, f"tasks: {len(a):,} against {len(b):,}"]
    elif not all(of_a[name].same_as(of_b[name]) for name in labels):
        partners, unlike_tasks = _match_by_labels(a, b, of_a, of_b, names)
        if unlike_tasks:
            return None, labels, [*differences, unlike_tasks]
        matched = b[partners]
    if not _queries_agree(a, matched):
        return None, labels, [*differences, UNLIKE_QUERIES]
    if not _units_agree(a, matched):
        differences.append("unit: tasks of one unit belong to several units of the other model")

    matched = _with_codes_of(a, matched, labels)
    are_listed = a.protocol.candidates == matched.protocol.candidates == LISTED
    is_given = (a.candidates > 0) & (matched.candidates > 0)
    places = np.flatnonzero(is_given & (a.candidates != matched.candidates))
    if len(places) and (counts_candidates or not are_listed):
        i = places[0]
        unlike = f"candidates: {len(places):,} of {len(a):,} tasks differ, the first at position "
        unlike += f"{i} ({a.candidates[i]} against {matched.candidates[i]})"
        differences.insert(0, unlike)
    return matched, labels, differences


def _unlike_positions(a: Ranks, b: Ranks) -> list[str]:
    """Say where the labels of tasks differ that are paired by position, if any do."""
    of_a, of_b, _ = _shared_labels(a, b, (*IDENTIFYING_LABELS, "unit"))
    unlike = np.flatnonzero(np.any([of_a[name] != of_b[name] for name in of_a], axis=0))
    if not len(unlike):
        return []
    first = unlike[0]
    return [
        f"tasks: {len(unlike):,} of {len(a):,} differ, the first at position {first} "
        f"({describe_task(of_a, first)} against {describe_task(of_b, first)}); labels (columns) "
        "query and target of both pair tasks in any order"
    ]


def _queries_agree(a: Ranks, b: Ranks) -> bool:
    """Whether tasks of one query with several answers are of one query of the other model, too."""
    if a.answers is None or "queries" not in a.labels:
        return True
    return _split_alike(group_codes(a, "queries")[0], group_codes(b, "queries")[0])


def _units_agree(a: Ranks, b: Ranks) -> bool:
    """Whether tasks of one unit are of one unit of the other model, too, whatever it is called."""
    return a.unit is None or b.unit is None or _split_alike(a.unit.codes, b.unit.codes)


def _split_alike(one: IntArray, two: IntArray) -> bool:
    """Whether tasks of equal codes in one array have equal ones in the other, too."""
    if np.array_equal(one, two):
        return True
    return len({len(distinct(codes)) for codes in (one, two, row_keys([one, two]))}) == 1


def _numbers_of_both(a: Ranks, b: Ranks) -> tuple[IntArray, IntArray]:
    """Return the number of the Task of each rank; 0 where only one of the models has it."""
    one, two = a._task_numbers(), b._task_numbers()
    return np.where(are_among(one, two), one, 0), np.where(are_among(two, one), two, 0)


def _match_by_labels(
    a: Ranks, b: Ranks, of_a: LabelsByName, of_b: LabelsByName, names: tuple[str, str]
) -> tuple[IntArray, str]:
    """Return the position of each task's partner, or say which tasks only one of the models has."""
    codes_a, codes_b = _codes_of_both(a, b, of_a, of_b)
    times = [_count_equals_before(codes_a, a.unit), _count_equals_before(codes_b, b.unit)]
    keys = row_keys([np.append(codes_a, codes_b), np.concatenate(times)])
    keys_a = keys[: len(a)]  # Unlike ones, as those of b are.
    ordered_b, order_b = sorted_with_order(keys[len(a) :])
    in_a, places = look_up(ordered_b, keys_a)
    partners = order_b[places]
    if len(in_a) == len(a) == len(b):
        return partners, ""

    unlike = f"tasks: {len(a):,} against {len(b):,}"
    alone_in_a = np.delete(np.arange(len(a)), in_a)
    alone_in_b = np.delete(np.arange(len(b)), partners)
    for name, labels, alone in ((names[0], of_a, alone_in_a), (names[1], of_b, alone_in_b)):
        if len(alone):
            unlike += f"; only {name} has {len(alone):,}, the first at position {alone[0]} "
            unlike += f"({describe_task(labels, alone[0])})"
    if _differ_by_query_ids(a, b, of_a, of_b):
        of_task = names[0] if _is_of_task(a) else names[1]
        unlike += f"; without queries all tasks pair: {of_task} has a Task's numbers of queries "
        unlike += "(for triples relation * entities + entity); give both the same labels"
    if a.answers is not None:  # A golden set may have grown.
        unlike += "; if queries were added, evaluate both anew with the same queries"
    return partners, unlike


def _codes_of_both(
    a: Ranks, b: Ranks, of_a: LabelsByName, of_b: LabelsByName
) -> tuple[IntArray, IntArray]:
    """Return codes of the tasks of two models: equal where their labels and Tasks are equal."""
    columns = [join_labels(name, (of_a[name], of_b[name])).codes for name in of_a]
    codes = row_keys([*columns, np.concatenate(_numbers_of_both(a, b))])
    return codes[: len(a)], codes[len(a) :]


def _is_of_task(ranks: Ranks) -> bool:
    """Whether ranks come from a Task, which numbers its queries."""
    return any(origin.queries for origin in ranks.origins)


def _differ_by_query_ids(a: Ranks, b: Ranks, of_a: LabelsByName, of_b: LabelsByName) -> bool:
    """Whether one model has the query ids of a Task, and all its other labels pair."""
    others = [name for name in of_a if name != "queries"]
    if _is_of_task(a) == _is_of_task(b) or not others or len(others) == len(of_a):
        return False
    codes = row_keys([join_labels(name, (of_a[name], of_b[name])).codes for name in others])
    return np.array_equal(np.sort(codes[: len(a)]), np.sort(codes[len(a) :]))


def _labels_tell_tasks(a: Ranks, b: Ranks, of_a: LabelsByName) -> bool:
    """Whether the labels of both tell which task is which, so that equal ones are repeats."""
    if FACT in of_a or (a.answers is not None and "queries" in of_a):
        return True
    if of_a.keys().isdisjoint(BY_IDS):
        return False
    names = a.labels.keys() | b.labels.keys()
    has_every_label = of_a.keys() >= names.intersection(IDENTIFYING_LABELS)
    if has_every_label and of_a.keys() >= BY_IDS.keys():
        return True
    return len(distinct(row_keys([labels.codes for labels in of_a.values()]))) == len(a)


def _shared_labels(
    a: Ranks, b: Ranks, names: Sequence[str] = IDENTIFYING_LABELS
) -> tuple[dict[str, Labels], dict[str, Labels], list[str]]:
    """Return what labels of a and of b both say what a task is, and which cannot be compared."""
    orders_a = _entity_orders(a)
    orders_b = _entity_orders(b)
    if not orders_a or not orders_b or orders_a == orders_b:
        return _comparable_labels(a, b, names)
    # Where numbers are of other entities, names say which facts are the same, or nothing does.
    are_named = all("by name" in order for order in orders_a + orders_b)
    if are_named and FACT in a.labels and FACT in b.labels:
        return _comparable_labels(a, b, ("side", FACT))
    advice = "name the entities of both tasks, in the order of their ids"
    return {}, {}, [f"entities: {orders_a[0]} against {orders_b[0]}; {advice}"]


def _entity_orders(ranks: Ranks) -> list[str]:
    """Return for each Task of ranks what tells the order of its entities."""
    return [origin.digests[0] for origin in ranks.origins if origin.queries]


def _comparable_labels(
    a: Ranks, b: Ranks, names: Sequence[str]
) -> tuple[dict[str, Labels], dict[str, Labels], list[str]]:
    """Return those labels of a and of b that both have as names or both as ids, and the others."""
    of_a: dict[str, Labels] = {}
    of_b: dict[str, Labels] = {}
    differences = []
    labels_of_a = a.labels
    labels_of_b = b.labels
    for name in names:
        if name not in labels_of_a or name not in labels_of_b:
            continue
        one = labels_of_a[name]
        two = labels_of_b[name]
        if (one.vocabulary is None) == (two.vocabulary is None):
            of_a[name] = one
            of_b[name] = two
        elif name in BY_IDS:  # The query tells tasks apart without its other labels.
            advice = "with_labels gives both the same"
            differences.append(f"{name}: names against integer ids; {advice}")
    return of_a, of_b, differences


def _count_equals_before(codes: IntArray, unit: Labels | None) -> IntArray:
    """Count before each code its equals, where tasks are in the order in which units occur."""
    n = len(codes)
    first_of_unit = np.arange(n) if unit is None else first_equals(unit.codes)
    order = np.lexsort((np.arange(n), first_of_unit, codes))
    ordered = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(starts, n))
    numbers = np.empty(n, np.int64)
    numbers[order] = np.arange(n) - np.repeat(starts, sizes)
    return numbers


def weigh_alike(one: FloatArray, two: FloatArray) -> bool:
    """Whether two arrays of weights have the same ratios.

    >>> weigh_alike(np.array([1.0, 2.0]), np.array([3.0, 6.0]))
    True
    """
    shares = [weights / (np.abs(weights).max(initial=0.0) or 1.0) for weights in (one, two)]
    return len(one) == len(two) and np.allclose(shares[0], shares[1], rtol=1e-9, atol=0)


def _with_codes_of(a: Ranks, b: Ranks, labels: Sequence[str]) -> Ranks:
    """Give the second model the origin of the first and, where labels are equal, their codes.

    Then queries of retrieval come in the same order, too, and are those of the same tasks.
    """
    if b.origin is not a.origin:
        b = b._with({"origin": a.origin})
    equal: dict[str, Any] = {}
    for name in labels:
        one = a.labels[name]
        two = b.labels[name]
        if one.vocabulary != two.vocabulary and one.same_as(two):
            equal[name] = one
    return b.with_labels(**equal) if equal else b


# -- models ----------------------------------------------------------------------------------------


def align_runs(runs: Sequence[Rankings]) -> list[Rankings] | None:
    """Put the tasks of runs in the order of the first; None where they are unlike, as of folds.

    >>> a, b = Ranks([0, 1], [1, 1], 9, queries=[7, 8]), Ranks([1, 0], [1, 1], 9, queries=[8, 7])
    >>> align_runs([Rankings(a), Rankings(b)])[1].ranks.above
    array([0, 1])
    """
    first, *others = runs
    aligned = [first]
    for run in others:
        if len(run.ranks) != len(first.ranks):
            return None
        matched, _, differences = match_tasks(first.ranks, run.ranks)
        if matched is None or differences:
            return None
        aligned.append(run if matched is run.ranks else run.with_ranks(matched))
    return aligned


def keep_common(
    models: Mapping[str, list[Rankings]], unit: LabelsLike | None, common: bool
) -> tuple[dict[str, list[Rankings]], LabelsLike | None, tuple[str, ...]]:
    """Keep of each run what all models but the last were asked and have lists for, if asked to.

    A query of retrieval is left out with all its answers, and a unit with all its tasks. What the
    last model lacks stays. Labels of units, one for each task of the first run, are cut alike, and
    notes say how many are left out.
    """
    if not common:
        return dict(models), unit, ()
    *others, last = models
    first = models[others[0]][0].ranks
    # Of each run those of the first one's tasks, and of its own.
    keys = {name: [_join_keys(first, run.ranks) for run in runs] for name, runs in models.items()}
    is_common = np.ones(len(first), np.bool_)
    for name in others:
        for run, (of_first, of_run) in zip(models[name], keys[name], strict=True):
            is_common &= are_among(of_first, of_run[~lacks_list(run.ranks)])
    own_keys, _ = keys[others[0]][0]
    units = own_keys if first.unit is None else first.unit.codes
    for codes in (units, own_keys):
        is_common &= ~are_among(codes, codes[~is_common])
    if not is_common.any():
        expected = f"something that all runs except those of {last} have (compare folds one by one)"
        raise InputValueError("common", expected=expected)
    kept: dict[str, list[Rankings]] = {name: [] for name in models}
    left_out: dict[str, None] = {}
    for name, runs in models.items():
        for run, (of_first, of_run) in zip(runs, keys[name], strict=True):
            part = run.part(np.flatnonzero(are_among(of_run, of_first[is_common])))
            kept[name].append(part)
            sizes = [len(x.ranks) if x.answers is None else x.answers.counted for x in (run, part)]
            if sizes[0] > sizes[1]:
                counted = format_count(sizes[0], run.grammar.unit)
                left_out[f"{sizes[0] - sizes[1]:,} of {counted} of {name}"] = None
    if not (unit is None or isinstance(unit, str)):
        unit = as_labels("unit", unit, len(first))[is_common]
    verb = "lacks" if len(others) == 1 else "lack"
    lacking = f"{' and '.join(others)} {verb}"
    note = f"left out, as {lacking} ranks or lists: {'; '.join(left_out)}"
    return kept, unit, (note,) if left_out else ()


def _join_keys(a: Ranks, b: Ranks) -> tuple[IntArray, IntArray]:
    """Return keys of the tasks of two models, of retrieval of their queries: equal for equal ones.

    Where labels do not tell tasks apart they are told by position, if there are as many.
    """
    names = IDENTIFYING_LABELS if a.answers is None else ("queries",)
    of_a, of_b, _ = _shared_labels(a, b, names)
    if _labels_tell_tasks(a, b, of_a):
        return _codes_of_both(a, b, of_a, of_b)
    if len(a) == len(b):
        return np.arange(len(a)), np.arange(len(b))
    return np.arange(len(a)), -1 - np.arange(len(b))  # None is equal.


def pair_ranks(
    one: Rankings,
    two: Rankings,
    names: tuple[str, str] = ("a", "b"),
    *,
    allow_unlike: bool = False,
    may_lack: str | None = None,
    last: str | None = None,
    counts_candidates: bool = True,
) -> tuple[Rankings, Rankings, tuple[str, ...], list[str]]:
    """Pair the tasks of two models by what they are, or by position where labels cannot tell.

    The tasks of the second get the order, sides and weights of the first; the labels by which they
    were matched and what differs are returned, too. Differences are refused, all in one message,
    unless unlike models are allowed. `may_lack` names a model, of one run or several, which may
    lack lists that the other has, and `last` the one that need not have what is common;
    `counts_candidates` is that of `match_tasks`.
    """
    pair, labels, unlike = align_models(one, two, names, counts_candidates=counts_candidates)
    refusal = f"cannot be compared with {names[0]}: {'; '.join(unlike)}"
    if pair is None:
        ways = _offer_common(one.ranks, two.ranks, names, last)
        raise InputValueError(names[1], refusal, remedies=ways)
    if unlike and not allow_unlike:
        way_out = Option("allow_unlike", True, "compares them anyway")
        raise InputValueError(names[1], refusal, remedies=[way_out])
    one, two = pair
    lenient = [run for run in names if allow_unlike or run.partition("[")[0] == may_lack]
    return one, two, labels, unlike + unlike_lists(one, two, names, lenient, last)


def align_models(
    one: Rankings, two: Rankings, names: tuple[str, str], *, counts_candidates: bool = True
) -> tuple[tuple[Rankings, Rankings] | None, tuple[str, ...], list[str]]:
    """Give the tasks of the second model the order, sides and weights of the first.

    It returns both, or None where their tasks or weights are others; the labels by which tasks were
    matched; and what is unlike.
    """
    first = one.ranks
    second, labels, differences = match_tasks(
        first, two.ranks, names, counts_candidates=counts_candidates
    )
    unlike = [f"protocol: {x}" for x in first.protocol.differences(two.ranks.protocol)]
    unlike += differences
    if second is None:
        return None, labels, unlike

    if first.weights is not second.weights:
        ones = np.ones(len(first))
        weights = [ones if ranks.weights is None else ranks.weights for ranks in (first, second)]
        if not weigh_alike(weights[0], weights[1]):
            problem = "weights: they differ; give both the same with ranks.with_weights(...)"
            return None, labels, [problem, *unlike]
        second = second.with_weights(first.weights)

    # Both get the sides that either has.
    if first.side is None and second.side is not None:
        one = one.with_ranks(first.with_labels(side=second.side))
    elif first.side is not None and (second.side is None or not second.side.same_as(first.side)):
        second = second.with_labels(side=first.side)
    if second is not two.ranks:
        two = two.with_ranks(second)

    # Rules are compared task by task, so both models must be in one order by now.
    for name, rule in one.rules.items():
        if not np.array_equal(rule, two.rules[name]):
            unlike.append(f"{name}: they differ")
    return (one, two), labels, unlike


def _offer_common(one: Ranks, two: Ranks, names: tuple[str, str], last: str | None) -> list[Option]:
    """Offer to leave out the tasks that either of two models lacks, but not those of the last."""
    keys_of_one, keys_of_two = _join_keys(one, two)
    is_in_two = are_among(keys_of_one, keys_of_two)
    is_in_one = are_among(keys_of_two, keys_of_one)
    if not is_in_two.any():
        return []
    has_others = {names[0]: is_in_one.all(), names[1]: is_in_two.all()}
    lacking = [name for name, has_all in has_others.items() if not has_all]
    if not lacking or last in [name.partition("[")[0] for name in lacking]:
        return []
    return [Option("common", True, LEAVES_OUT.format(" and ".join(lacking)))]


def unlike_lists(
    one: Rankings,
    two: Rankings,
    names: tuple[str, str],
    lenient: Sequence[str],
    last: str | None = None,
) -> list[str]:
    """Say which model lacks lists that the other has, or needs none; refuse one that may not."""
    tasks = np.arange(len(one.ranks))
    if one.answers is not None:
        tasks = one.answers.first  # All tasks of a query read one list.
    runs = {names[0]: one.ranks, names[1]: two.ranks}
    lacks = {name: lacks_list(ranks)[tasks] for name, ranks in runs.items()}
    unlike = []
    for name, other in (names, names[::-1]):
        are_lacking = lacks[name] & ~lacks[other]
        if not are_lacking.any():
            continue
        number = int(np.count_nonzero(are_lacking))
        others = format_count(int(np.count_nonzero(~lacks[other])), one.grammar.unit)
        verb = "ranks" if runs[other].listed is None else "has one for"
        shown = _show_tasks(one, tasks[are_lacking])
        problem = f"has no list for {number:,} of the {others} that {other} {verb} ({shown})"
        if name in lenient:
            unlike.append(f"lists: {name} {problem}")
            continue
        problem += f": run {name} again, or leave them out of the test"
        ways = [Option("allow_unlike", True, "counts that it finds nothing there")]
        if name.partition("[")[0] != last:
            ways.insert(0, Option("common", True, LEAVES_OUT.format(name)))
        raise InputValueError(name, problem, remedies=ways)
    return unlike


def _show_tasks(model: Rankings, tasks: IntArray) -> str:
    """Write the first of some tasks, or the first three of some queries."""
    labels = model.ranks.labels
    if model.answers is None:
        named = {name: labels[name] for name in labels if name in IDENTIFYING_LABELS}
        shown = [describe_task(named, tasks[0]) or f"position {tasks[0]}"]
    else:
        shown = list(map(str, labels["queries"][tasks[:3]].values))
    if len(tasks) > len(shown):
        shown.append("...")
    return ", ".join(shown)


def lacks_list(ranks: Ranks) -> npt.NDArray[np.bool_]:
    """Return whether each task has no list, or an empty one, which looks the same.

    Ranks that were made by hand do not tell an empty list from one of which a filter leaves
    nothing: without a filter, nothing is listed and nothing is above.
    """
    if ranks.lengths is not None:
        return ranks.lengths < 0
    if ranks.listed is None or ranks.protocol.filter:
        return np.zeros(len(ranks), np.bool_)
    return np.equal(ranks.above, 0) & ~ranks.listed


def note_on_depth(
    runs_a: Sequence[Rankings], runs_b: Sequence[Rankings], names: tuple[str, str], key: Key
) -> tuple[str, ...]:
    """Say how deep lists are, if some are twice as deep as others, and a metric looks deeper."""
    depth_a = max(run.ranks.protocol.depth or 0 for run in runs_a)
    depth_b = max(run.ranks.protocol.depth or 0 for run in runs_b)
    shorter = min(depth_a, depth_b)
    if not shorter or max(depth_a, depth_b) < 2 * shorter:
        return ()
    cutoff: Any = key.parameter
    if key.row.parameter in ("@k", "[@k]") and 0 < cutoff <= shorter:
        return ()
    entries = format_count(depth_a, "entry")
    return (f"lists of {names[0]} have up to {entries}, of {names[1]} {depth_b:,}",)


def describe_pairing(ranks: Ranks, labels: tuple[str, ...]) -> tuple[str, list[str]]:
    """Say by which labels tasks were matched, and in notes what that cannot tell."""
    if FACT in labels:
        return BY_NAMES, [BY_NAMES_ONLY]
    if not labels:
        return BY_POSITION, [BY_POSITION_ONLY]
    pairing = f"{' and '.join(word for name, word in BY_IDS.items() if name in labels)} ids"
    # Two test sets may both have queries 0 to n - 1; their names or targets would differ.
    if labels == ("queries",) and ranks.labels["queries"].vocabulary is None:
        return pairing, [BY_NUMBERS_ONLY]
    return pairing, []


def pair_runs(
    runs_a: Sequence[Rankings],
    runs_b: Sequence[Rankings],
    names: tuple[str, str],
    *,
    are_folds: bool,
    **rules: Any,
) -> tuple[list[Rankings], list[Rankings], str, tuple[str, ...]]:
    """Pair the tasks of several runs of two models, by the rules of `pair_ranks`.

    All runs have their tasks in one order then; those of folds, which have unlike tasks, that of
    the same fold of the first model. How tasks were matched is returned before the notes.
    """
    for name, runs, other_runs in ((names[0], runs_a, runs_b), (names[1], runs_b, runs_a)):
        if len(runs) == 1 < len(other_runs):
            way_out = f"a deterministic model: give the same run {len(other_runs)} times"
            expected = f"several runs, as the other model has ({way_out})"
            raise InputTypeError(name, expected=expected, got="one")
    if are_folds and len(runs_a) != len(runs_b):
        expected = f"{len(runs_a)} runs, one for each fold of {names[0]}"
        raise InputValueError(names[1], expected=expected, got=len(runs_b))
    named_a = list(zip(name_runs(names[0], runs_a), runs_a, strict=True))
    named_b = list(zip(name_runs(names[1], runs_b), runs_b, strict=True))
    if are_folds:
        pairs = list(zip(named_a, named_b, strict=True))
    else:  # The other runs of the first model are paired with its first one, too.
        pairs = [(named_a[0], run) for run in (*named_a[1:], *named_b)]

    first_runs = []
    second_runs = []
    notes: dict[str, None] = {}
    for (first_name, first), (second_name, second) in pairs:
        one, two, labels, unlike = pair_ranks(first, second, (first_name, second_name), **rules)
        pairing, notes_on_pairing = describe_pairing(one.ranks, labels)
        first_runs.append(one)
        second_runs.append(two)
        notes.update(dict.fromkeys([*map("unlike {}".format, unlike), *notes_on_pairing]))
    if are_folds:
        return first_runs, second_runs, pairing, tuple(notes)
    aligned = [first_runs[0], *second_runs]
    return aligned[: len(runs_a)], aligned[len(runs_a) :], pairing, tuple(notes)
