"""The ranks of two models, whether they have the same tasks, and how the tasks were matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..arrays.row_keys import (
    are_among,
    are_new,
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
from ..ranks.container import Ranks, origin_index
from ..ranks.grouping import group_codes, weighted_ranks
from ..ranks.joining import first_numbers
from ..ranks.labels import DATASET, as_labels, describe_task, join_labels
from ..ranks.protocol import short_sha256

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
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
CHANGED_QUERIES = "if queries or grades were changed, evaluate both anew with the same ones"
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
            first_name = first_name or name
            first_units = first_units or units
            if units != first_units:  # Queries with several answers do not pair with tasks.
                expected = f"{first_units}, as {first_name} has"
                raise InputTypeError(name, expected=expected, got=units)
            runs_by_model[model_name].append(rankings)
        refuse_parts(model_name, [run.ranks for run in runs_by_model[model_name]])
    protocols = [run.ranks.protocol for runs in runs_by_model.values() for run in runs]
    highest = max((each.highest_grade or 1.0 for each in protocols), default=1.0)
    for runs in runs_by_model.values():
        for i, run in enumerate(runs):
            if (run.ranks.protocol.highest_grade or 1.0) < highest:  # err stops by it.
                runs[i] = run.with_ranks(run.ranks.with_protocol(highest_grade=highest))
    return runs_by_model


def refuse_parts(argument: str, runs: Sequence[Ranks]) -> None:
    """Refuse parts of one task as the runs of a model, which rank the same rows."""
    first, *others = runs
    for number, other in enumerate(others, 2):
        origins = (*first.origins, *other.origins)
        are_of_one_task = len({origin.fingerprint for origin in origins}) == 1
        if not are_of_one_task or not any(origin.part_of for origin in origins):
            continue
        units, other_units = (distinct(run.labels["unit"].codes) for run in (first, other))
        if not np.array_equal(units, other_units):
            got = f"parts of it as runs 1 and {number}, which merge (truerank.concatenate) joins"
            raise InputValueError(argument, expected="runs of the whole task", got=got)


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

    These are the labels that both have: side, relation, query and target; and the data set, or
    else the Task, where both have it. Tasks that are equal in all of them are one task that is
    repeated, and matched in the order in which they, or their units, occur. Where these labels do
    not tell tasks apart, as without query and target, they are matched by position (in the data
    set), where their labels and units must be equal.

    It returns the tasks of the second model, each in the place of its partner and with the codes of
    equal labels of the first, or None where some have no partner; the labels by which they were
    matched, () by position; and what is unlike. Unless a metric depends on how many candidates
    there are, it does not matter how many each list has, where these are the candidates. Where
    their number was not given, metrics that depend on it are refused by themselves.

    >>> a, b = (Ranks([0, 1, 2], [1, 1, 1], 9, queries=x) for x in (["x", "y", "z"], list("zyx")))
    >>> match_tasks(a, b)[0].above, match_tasks(a, b)[1:]
    (array([2, 1, 0]), (('queries',), []))
    """
    labels_a, labels_b, differences = _shared_labels(a, b)
    is_by_position = len(a) == len(b) and not _labels_tell_tasks(a, b, labels_a)
    matched_by = () if is_by_position else tuple(labels_a)
    matched_b = b
    refusals: list[str] = []  # why the tasks have no partners
    if is_by_position:
        b = matched_b = _reorder_sets(a, b, labels_a, labels_b)
        # Where both say what tasks are, in ways that cannot be compared, positions do not count.
        refusals = differences or _unlike_positions(a, b)
    elif not matched_by:
        refusals = [*differences, f"tasks: {len(a):,} against {len(b):,}"]
    # Equal labels in equal places pair as they are, unless they number entities of several Tasks.
    elif max(len(_entity_orders(x)) for x in (a, b)) > 1 or not all(
        labels_a[name].same_as(labels_b[name]) for name in matched_by
    ):
        positions_a, positions_b, matched_by = _match_by_names(a, b, labels_a, labels_b)
        if len(positions_a) == len(a) == len(b):
            matched_b = b[positions_b]
        else:
            only_a = (names[0], labels_a, np.delete(np.arange(len(a)), positions_a))
            only_b = (names[1], labels_b, np.delete(np.arange(len(b)), positions_b))
            refusals = [*differences, _describe_unmatched(a, b, only_a, only_b)]
    if not refusals and not _queries_agree(a, matched_b):
        refusals = [*differences, UNLIKE_QUERIES]
    if refusals:
        return None, matched_by, refusals

    if not _units_agree(a, matched_b):
        differences.append("unit: tasks of one unit belong to several units of the other model")
    matched_b = _with_codes_of(a, matched_b, matched_by)
    are_listed = a.protocol.candidates == matched_b.protocol.candidates == LISTED
    is_given = (a.candidates > 0) & (matched_b.candidates > 0)
    places = np.flatnonzero(is_given & (a.candidates != matched_b.candidates))
    if len(places) and (counts_candidates or not are_listed):
        i = places[0]
        unlike = f"candidates: {len(places):,} of {len(a):,} tasks differ, the first at position "
        unlike += f"{i} ({a.candidates[i]} against {matched_b.candidates[i]})"
        differences.insert(0, unlike)
    return matched_b, matched_by, differences


def _unlike_positions(a: Ranks, b: Ranks) -> list[str]:
    """Say where the labels of tasks differ that are paired by position, if any do."""
    labels_a, labels_b, _ = _shared_labels(a, b, (*IDENTIFYING_LABELS, "unit"))
    unlike = np.any([labels_a[name] != labels_b[name] for name in labels_a], axis=0)
    positions = np.flatnonzero(unlike)
    if not len(positions):
        return []
    first = positions[0]
    return [
        f"tasks: {len(positions):,} of {len(a):,} differ, the first at position {first} "
        f"({describe_task(labels_a, first)} against {describe_task(labels_b, first)}); labels "
        "(columns) query and target of both pair tasks in any order"
    ]


def _queries_agree(a: Ranks, b: Ranks) -> bool:
    """Whether tasks of one query with several answers are of one query of the other model, too."""
    if a.answers is None or "queries" not in a.labels:
        return True
    return _split_alike(group_codes(a, "queries")[0], group_codes(b, "queries")[0])


def _units_agree(a: Ranks, b: Ranks) -> bool:
    """Whether tasks of one unit are of one unit of the other model, too, whatever it is called."""
    if a.unit is None or b.unit is None:
        return True
    return _split_alike(_unit_codes(a), _unit_codes(b))


def _unit_codes(ranks: Ranks) -> IntArray:
    """Return codes of the units of ranks; rows of Tasks are by data set."""
    unit = ranks.labels["unit"].codes
    if DATASET in ranks.labels and ranks.origins:
        unit = row_keys([ranks.labels[DATASET].codes, unit])
    return unit


def _split_alike(one: IntArray, two: IntArray) -> bool:
    """Whether tasks of equal codes in one array have equal ones in the other, too."""
    if np.array_equal(one, two):
        return True
    return len({len(distinct(codes)) for codes in (one, two, row_keys([one, two]))}) == 1


def _match_by_labels(
    a: Ranks, b: Ranks, labels_a: LabelsByName, labels_b: LabelsByName
) -> tuple[IntArray, IntArray]:
    """Return the positions in a, and those in b, of the tasks that both models have."""
    codes_a, codes_b = _joint_codes(a, b, labels_a, labels_b)
    repeats = [_number_repeats(codes_a, a.unit), _number_repeats(codes_b, b.unit)]
    keys = row_keys([np.append(codes_a, codes_b), np.concatenate(repeats)])
    keys_a = keys[: len(a)]  # No two keys of one model are equal.
    ordered_b, order_b = sorted_with_order(keys[len(a) :])
    positions_a, places = look_up(ordered_b, keys_a)
    return positions_a, order_b[places]


def _match_by_names(
    a: Ranks, b: Ranks, labels_a: LabelsByName, labels_b: LabelsByName
) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Return what `_match_by_labels` does, and the labels.

    Where units are the user's, nothing tells that entities are in another order: then these are
    the facts of named entities, if the numbers do not pair all tasks.
    """
    positions = _match_by_labels(a, b, labels_a, labels_b)
    heads = [ranks.labels.get("head") for ranks in (a, b) if FACT in ranks.labels]
    have_facts = len(heads) == 2 and all(head and head.vocabulary for head in heads)
    is_order_known = a.origins and b.origins
    if len(positions[0]) < len(a) == len(b) and have_facts and not is_order_known:
        names = [name for name in ("side", FACT, DATASET) if name in (*labels_a, FACT)]
        facts_a, facts_b, _ = _comparable_labels(a, b, names)
        by_fact = _match_by_labels(a, b, facts_a, facts_b)
        if len(by_fact[0]) == len(a):
            return *by_fact, tuple(facts_a)
    return *positions, tuple(labels_a)


def _reorder_sets(a: Ranks, b: Ranks, labels_a: LabelsByName, labels_b: LabelsByName) -> Ranks:
    """Return b with its data sets in the places that they have in a, if both have them alike."""
    if DATASET not in labels_a:
        return b
    sets_a, sets_b = ({DATASET: labels[DATASET]} for labels in (labels_a, labels_b))
    _, positions_b = _match_by_labels(a, b, sets_a, sets_b)
    return b[positions_b] if len(positions_b) == len(b) else b


def _describe_unmatched(a: Ranks, b: Ranks, *only: tuple[str, LabelsByName, IntArray]) -> str:
    """Say which tasks a model alone has: of either model the name, the labels and positions."""
    text = f"tasks: {len(a):,} against {len(b):,}"
    for name, labels, positions in only:
        if len(positions):
            text += f"; only {name} has {len(positions):,}, the first at position {positions[0]} "
            text += f"({describe_task(labels, positions[0])})"
    (name_a, labels_a, _), (name_b, labels_b, _) = only
    if _differ_by_query_ids(a, b, labels_a, labels_b):
        name_of_task = name_a if _has_task(a) else name_b
        text += f"; without queries all tasks pair: {name_of_task} has a Task's numbers of queries "
        text += "(for triples relation * entities + entity)"
    if a.answers is not None:  # A golden set may have changed.
        text += f"; {CHANGED_QUERIES}"
    return text


def _joint_codes(
    a: Ranks, b: Ranks, labels_a: LabelsByName, labels_b: LabelsByName
) -> tuple[IntArray, IntArray]:
    """Return codes of the tasks of two models: equal where their labels and Tasks are equal.

    A Task that only one of the models has counts as none. Data sets do not count if neither model
    has a fact in several of them, as after repeats were dropped: the models may have kept the fact
    in unlike ones.
    """
    names = [name for name in labels_a if name != DATASET]
    columns = [join_labels(name, (labels_a[name], labels_b[name])).codes for name in names]
    # Where both models have Tasks of several orders of entities, one number may be several queries.
    orders_a = _entity_order_numbers(a)
    orders_b = _entity_order_numbers(b)
    if FACT not in labels_a and orders_a.any() and orders_b.any():
        columns.append(np.append(orders_a, orders_b))
    if DATASET in labels_a:
        sources = join_labels(DATASET, (labels_a[DATASET], labels_b[DATASET])).codes
    else:
        tasks_a = a._task_numbers()
        tasks_b = b._task_numbers()
        shared_a = np.where(are_among(tasks_a, tasks_b), tasks_a, 0)
        sources = np.append(shared_a, np.where(are_among(tasks_b, tasks_a), tasks_b, 0))
    codes = row_keys([*columns, sources])
    if DATASET in labels_a and names:
        facts = row_keys(columns)
        models = slice(len(a)), slice(len(a), None)
        if all(len(distinct(facts[x])) == len(distinct(codes[x])) for x in models):
            codes = facts
    return codes[: len(a)], codes[len(a) :]


def _has_task(ranks: Ranks) -> bool:
    """Whether ranks come from a Task, which numbers its queries."""
    return any(origin.queries for origin in ranks.origins)


def _differ_by_query_ids(
    a: Ranks, b: Ranks, labels_a: LabelsByName, labels_b: LabelsByName
) -> bool:
    """Whether one model has the query ids of a Task, and all its other labels pair."""
    names = [name for name in labels_a if name != "queries"]
    has_other_labels = 0 < len(names) < len(labels_a)
    if _has_task(a) == _has_task(b) or not has_other_labels:
        return False
    codes = row_keys([join_labels(x, (labels_a[x], labels_b[x])).codes for x in names])
    return np.array_equal(np.sort(codes[: len(a)]), np.sort(codes[len(a) :]))


def _labels_tell_tasks(a: Ranks, b: Ranks, shared_labels: LabelsByName) -> bool:
    """Whether the labels of both tell which task is which, so that equal ones are repeats.

    A fact does, or a query of retrieval, or query and target where both have all other labels; and
    so do labels, with a query or a target, of which no two tasks have the same.
    """
    has_query = "queries" in shared_labels
    has_target = "targets" in shared_labels
    if FACT in shared_labels or (has_query and a.answers is not None):
        return True
    if not has_query and not has_target:
        return False
    names = a.labels.keys() | b.labels.keys()
    shares_all_labels = names.intersection(IDENTIFYING_LABELS) <= shared_labels.keys()
    if has_query and has_target and shares_all_labels:
        return True
    keys = row_keys([labels.codes for labels in shared_labels.values()])
    return len(distinct(keys)) == len(a)


def _shared_labels(
    a: Ranks, b: Ranks, names: Sequence[str] = IDENTIFYING_LABELS
) -> tuple[dict[str, Labels], dict[str, Labels], list[str]]:
    """Return what labels of a and of b both say what a task is, and which cannot be compared."""
    by_fact = ["side", FACT]
    if all(DATASET in ranks.labels for ranks in (a, b)):
        _, names_a = group_codes(a, DATASET)
        _, names_b = group_codes(b, DATASET)
        if not set(names_a).isdisjoint(names_b):  # Other names say nothing of these.
            names = [*names, DATASET]
            by_fact.append(DATASET)
    orders_a = _entity_orders(a)
    orders_b = _entity_orders(b)
    shared = orders_a & orders_b
    if not orders_a or not orders_b or len(orders_a | orders_b) == 1:
        return _comparable_labels(a, b, names)
    # Numbers are of other entities then, but facts of named entities are labels, too.
    have_names = all("by name" in order for order in orders_a | orders_b)
    if have_names and FACT in a.labels and FACT in b.labels:
        return _comparable_labels(a, b, by_fact)
    if shared:
        return _comparable_labels(_with_own_numbers(a), _with_own_numbers(b), names)
    advice = "name the entities of both tasks, in the order of their ids"
    return {}, {}, [f"entities: {min(orders_a)} against {min(orders_b)}; {advice}"]


def _with_own_numbers(ranks: Ranks) -> Ranks:
    """Return ranks whose queries have the numbers that they have in their Tasks or data sets."""
    if DATASET in ranks.labels:
        return ranks
    origins = ranks.origins
    origin_of_task = origin_index(ranks._labels["unit"].codes, origins)
    shifts = first_numbers(origins, "queries")[origin_of_task]
    return ranks.with_labels(queries=ranks._labels["queries"].codes - shifts)


def _entity_order_numbers(ranks: Ranks) -> IntArray:
    """Return a number for the order of entities behind the query of each rank; 0: there is one."""
    if len(_entity_orders(ranks)) < 2:
        return np.zeros(len(ranks), np.int64)
    numbers = [int(short_sha256(x.digests[0].encode()), 16) - 2**63 for x in ranks.origins]
    return np.array(numbers)[origin_index(ranks._labels["unit"].codes, ranks.origins)]


def _entity_orders(ranks: Ranks) -> set[str]:
    """Return for each Task of ranks what tells the order of its entities: "3 by name (52c8...)"."""
    return {origin.digests[0] for origin in ranks.origins if origin.queries}


def _comparable_labels(
    a: Ranks, b: Ranks, names: Sequence[str]
) -> tuple[dict[str, Labels], dict[str, Labels], list[str]]:
    """Return those labels of a and of b that both have as names or both as ids, and the others."""
    comparable_a: dict[str, Labels] = {}
    comparable_b: dict[str, Labels] = {}
    differences = []
    for name in [name for name in names if name in a.labels and name in b.labels]:
        has_names_a = a.labels[name].vocabulary is not None
        has_names_b = b.labels[name].vocabulary is not None
        if has_names_a == has_names_b:
            comparable_a[name] = a.labels[name]
            comparable_b[name] = b.labels[name]
        elif name in BY_IDS:  # The query tells tasks apart without its other labels.
            differences.append(f"{name}: names against integer ids")
    return comparable_a, comparable_b, differences


def _number_repeats(codes: IntArray, unit: Labels | None) -> IntArray:
    """Number the tasks of each code from 0 on, in the order in which their units occur."""
    n = len(codes)
    first_of_unit = np.arange(n) if unit is None else first_equals(unit.codes)
    order = np.lexsort((np.arange(n), first_of_unit, codes))
    starts = np.flatnonzero(are_new(codes[order]))
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
    recoded: dict[str, Any] = {}
    for name in labels:
        has_other_codes = a.labels[name].vocabulary != b.labels[name].vocabulary
        if has_other_codes and a.labels[name].same_as(b.labels[name]):
            recoded[name] = a.labels[name]
    return b.with_labels(**recoded) if recoded else b


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
        aligned.append(_replace_ranks(run, matched))
    return aligned


def _replace_ranks(run: Rankings, ranks: Ranks) -> Rankings:
    """Return a run with other ranks, or the run itself if they are its own."""
    return run if ranks is run.ranks else run.with_ranks(ranks)


def keep_common(
    models: Mapping[str, list[Rankings]], unit: LabelsLike | None, common: bool
) -> tuple[dict[str, list[Rankings]], LabelsLike | None, tuple[str, ...]]:
    """Keep of each run what all models were asked and have lists for, if that is wanted.

    A query of retrieval is left out with all its answers, and a unit with all its tasks. What the
    last model was asked stays, even without a list. Labels of units, one for each task of the first
    run, are cut alike, and notes say how many are left out.
    """
    if not common:
        return dict(models), unit, ()
    *others, last = models
    first = models[others[0]][0].ranks
    keys = {name: [_join_keys(first, run.ranks) for run in runs] for name, runs in models.items()}
    is_common = _find_common(models, keys)
    if not is_common.any():
        expected = "something that all runs have (compare folds one by one)"
        raise InputValueError("common", expected=expected)

    kept: dict[str, list[Rankings]] = {name: [] for name in models}
    left_out = []
    for name, runs in models.items():
        for run, (keys_of_first, keys_of_run) in zip(runs, keys[name], strict=True):
            part = run.part(np.flatnonzero(are_among(keys_of_run, keys_of_first[is_common])))
            kept[name].append(part)
            number = _count_units(run)
            number_left_out = number - _count_units(part)
            if number_left_out:
                counted = format_count(number, run.grammar.unit)
                left_out.append(f"{number_left_out:,} of {counted} of {name}")
    if not (unit is None or isinstance(unit, str)):
        unit = as_labels("unit", unit, len(first))[is_common]
    lacking = others
    if any(not are_among(*keys_of_both).all() for keys_of_both in keys[last]):
        lacking = [*others, last]
    verb = "lacks" if len(lacking) == 1 else "lack"
    numbers = "; ".join(dict.fromkeys(left_out))
    note = f"left out, as {' and '.join(lacking)} {verb} ranks or lists: {numbers}"
    return kept, unit, (note,) if left_out else ()


def _count_units(run: Rankings) -> int:
    """Return the number of the tasks of a run, of retrieval that of its queries."""
    return len(run.ranks) if run.answers is None else run.answers.counted


def _find_common(
    models: Mapping[str, list[Rankings]], keys: Mapping[str, list[tuple[IntArray, IntArray]]]
) -> npt.NDArray[np.bool_]:
    """Return which tasks of the first run all models were asked and have lists for, by whole units.

    The last model may lack lists. `keys` are those of the first run and of each run, as
    `_join_keys` returns them.
    """
    *others, last = models
    first = models[others[0]][0].ranks
    own_keys, _ = keys[others[0]][0]
    is_common = np.ones(len(first), np.bool_)
    for name, runs in models.items():
        for run, (keys_of_first, keys_of_run) in zip(runs, keys[name], strict=True):
            asked = keys_of_run if name == last else keys_of_run[~lacks_list(run.ranks)]
            is_common &= are_among(keys_of_first, asked)
    # A unit, and then a query, that lacks a task is left out as a whole.
    units = own_keys if first.unit is None else _unit_codes(first)
    is_common &= ~are_among(units, units[~is_common])
    is_common &= ~are_among(own_keys, own_keys[~is_common])
    return is_common


def describe_unasked(one: Rankings, two: Rankings, names: tuple[str, str]) -> str:
    """Say how many tasks, or queries, of the first model the second was not asked, if any."""
    asked = one.part(np.flatnonzero(are_among(*_join_keys(one.ranks, two.ranks))))
    number = _count_units(one)
    unasked = number - _count_units(asked)
    if not unasked:
        return ""
    counted = format_count(number, one.grammar.unit)
    return f"{names[1]} was not asked {unasked:,} of {counted} of {names[0]}"


def _join_keys(a: Ranks, b: Ranks) -> tuple[IntArray, IntArray]:
    """Return keys of the tasks of two models, of retrieval of their queries: equal for equal ones.

    Where labels do not tell tasks apart they are told by position, if there are as many.
    """
    names = IDENTIFYING_LABELS if a.answers is None else ("queries",)
    labels_a, labels_b, _ = _shared_labels(a, b, names)
    if _labels_tell_tasks(a, b, labels_a):
        return _joint_codes(a, b, labels_a, labels_b)
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
    lack lists that the other has, and `last` the one that need not have lists of what is common;
    `counts_candidates` is that of `match_tasks`.
    """
    pair, labels, differences = align_models(one, two, names, counts_candidates=counts_candidates)
    if pair is None or (differences and not allow_unlike):
        problem = f"cannot be compared with {names[0]}: {'; '.join(differences)}"
        remedies = [Option("allow_unlike", True, "compares them anyway")]
        if pair is None:
            remedies = _offer_common(one, two, names, counts_candidates)
        raise InputValueError(names[1], problem, remedies=remedies)
    for name, missing in describe_missing_lists(*pair, names).items():
        model = name.partition("[")[0]  # as `name_runs` writes the names of runs
        if not allow_unlike and model != may_lack:
            problem = f"{missing}: run {name} again, or leave them out of the test"
            ways = [Option("allow_unlike", True, "counts that it finds nothing there")]
            if model != last:
                ways.insert(0, Option("common", True, LEAVES_OUT.format(name)))
            raise InputValueError(name, problem, remedies=ways)
        differences.append(f"lists: {name} {missing}")
    return *pair, labels, differences


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
        if not weigh_alike(*weights):
            return None, labels, ["weights: those of a task differ", *unlike]
        second = second.with_weights(first.weights)

    side = second.side if first.side is None else first.side
    if side is not None:
        first = _with_side(first, side)
        second = _with_side(second, side)
    aligned_one = _replace_ranks(one, first)
    aligned_two = _replace_ranks(two, second)

    # Rules are compared task by task, so both models must be in one order by now.
    for name, rule in aligned_one.rules.items():
        if not np.array_equal(rule, aligned_two.rules[name]):
            unlike.append(f"{name}: they differ; {CHANGED_QUERIES}")
    return (aligned_one, aligned_two), labels, unlike


def _with_side(ranks: Ranks, side: Labels) -> Ranks:
    """Return ranks with these sides, or the ranks themselves if they have them."""
    has_side = ranks.side is not None and ranks.side.same_as(side)
    return ranks if has_side else ranks.with_labels(side=side)


def _offer_common(
    one: Rankings, two: Rankings, names: tuple[str, str], counts_candidates: bool
) -> list[Option]:
    """Offer to leave out the tasks that either of two models lacks, if that pairs the others."""
    labels_of_one, labels_of_two, _ = _shared_labels(one.ranks, two.ranks)
    if _differ_by_query_ids(one.ranks, two.ranks, labels_of_one, labels_of_two):
        return []  # Queries of one number are others.
    keys_of_one, keys_of_two = _join_keys(one.ranks, two.ranks)
    is_in_two = are_among(keys_of_one, keys_of_two)
    is_in_one = are_among(keys_of_two, keys_of_one)
    lacks_tasks = {names[0]: not is_in_one.all(), names[1]: not is_in_two.all()}
    lacking = [name for name in names if lacks_tasks[name]]
    if not lacking or not is_in_two.any():
        return []
    common = one.part(np.flatnonzero(is_in_two)), two.part(np.flatnonzero(is_in_one))
    pair, _, unlike = align_models(*common, names, counts_candidates=counts_candidates)
    if pair is None or unlike:
        return []
    return [Option("common", True, LEAVES_OUT.format(" and ".join(lacking)))]


def describe_missing_lists(one: Rankings, two: Rankings, names: tuple[str, str]) -> dict[str, str]:
    """Say of each model that lacks lists which the other has, or needs none, what it lacks."""
    tasks = np.arange(len(one.ranks))
    if one.answers is not None:
        tasks = one.answers.first  # All tasks of a query read one list.
    runs = {names[0]: one.ranks, names[1]: two.ranks}
    lacks = {name: lacks_list(ranks)[tasks] for name, ranks in runs.items()}
    problems = {}
    for name, other in (names, names[::-1]):
        lacks_alone = lacks[name] & ~lacks[other]
        if not lacks_alone.any():
            continue
        number = int(np.count_nonzero(lacks_alone))
        others = format_count(int(np.count_nonzero(~lacks[other])), one.grammar.unit)
        verb = "ranks" if runs[other].listed is None else "has one for"
        shown = _show_tasks(one, tasks[lacks_alone])
        problems[name] = f"has no list for {number:,} of the {others} that {other} {verb} ({shown})"
    return problems


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
    models: Mapping[str, Sequence[Rankings]], pair: tuple[str, str], key: Key
) -> tuple[str, ...]:
    """Say how deep the lists of models are, if a metric looks deeper than one of a pair has them.

    The lists of the other one are then at least twice as deep. All pairs have one note.
    """
    depths = {
        name: max(run.ranks.protocol.depth or 0 for run in runs) for name, runs in models.items()
    }
    shorter, longer = sorted(depths[name] for name in pair)
    if not shorter or longer < 2 * shorter:
        return ()
    cutoff: Any = key.parameter
    if key.row.parameter in ("@k", "[@k]") and 0 < cutoff <= shorter:
        return ()
    names_by_depth: dict[int, list[str]] = {}
    for name, depth in depths.items():
        names_by_depth.setdefault(depth, []).append(name)
    names_by_depth.pop(0, None)  # These have no lists.
    (first, names), *others = names_by_depth.items()
    note = f"lists of {', '.join(names)} have up to {format_count(first, 'entry')}"
    return (note + "".join(f", of {', '.join(names)} {depth:,}" for depth, names in others),)


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
    else:  # The first run of the first model is paired with each of the others.
        pairs = [(named_a[0], other) for other in (*named_a[1:], *named_b)]

    firsts = []
    seconds = []
    notes: list[str] = []
    for (first_name, first), (second_name, second) in pairs:
        run_names = first_name, second_name
        one, two, labels, differences = pair_ranks(first, second, run_names, **rules)
        pairing, notes_on_pairing = describe_pairing(one.ranks, labels)
        firsts.append(one)
        seconds.append(two)
        notes += [f"unlike {difference}" for difference in differences]
        notes += notes_on_pairing
    distinct_notes = tuple(dict.fromkeys(notes))
    if are_folds:
        return firsts, seconds, pairing, distinct_notes
    aligned = [firsts[0], *seconds]
    return aligned[: len(runs_a)], aligned[len(runs_a) :], pairing, distinct_notes
