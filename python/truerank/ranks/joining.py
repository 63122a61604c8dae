"""Ranks of parts joined over tasks: repeats are found, parts come in the order of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import (
    are_among,
    distinct,
    distinct_rows,
    factorize,
    first_equals,
    row_keys,
    without,
)
from ..errors import InputTypeError, InputValueError, Option, argument_names, warn_user
from ..inputs.array_likes import several
from ..inputs.checks import choice
from ..inputs.rules import REPEAT_RULES
from ..inputs.selection import lengths_to_indptr
from ..naming import public
from .container import COUNTS, Ranks, origin_index
from .grouping import group_codes
from .labels import DATASET, Labels, describe_task, join_labels, labels_of_codes
from .protocol import HITS, Origin, short_sha256

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    import numpy.typing as npt

    from ..arrays import IntArray
    from .protocol import Protocol

    RepeatRule: TypeAlias = Literal["refuse", "drop", "keep"]
    # By which labels tasks come again, the first task of each, and which come again.
    Repeats: TypeAlias = tuple[dict[str, "Labels"], IntArray, npt.NDArray[np.bool_]]

# Two tasks that agree in all of these labels are one fact, ranked twice.
FACT = ("unit", "side", "relation", "queries", "targets")
_NAMES = Option("parts", ..., "joins data sets", call='concatenate({"en": a, "de": b})')
_REPEATS = Option("repeats", effect="says what a fact is that comes twice")
# Tasks may have these arrays. Those of parts that do not say theirs have these values where they
# are joined with others that do.
DEFAULTS = {"listed": True, "gains": 1.0, "without_answers": 0, "masked": False}
DEFAULTS["without_answers_by_group"] = 0


@public("truerank")
def concatenate(
    parts: Iterable[Ranks] | Mapping[str, Ranks | Iterable[Ranks]],
    *,
    repeats: RepeatRule | None = None,
) -> Ranks:
    """Join ranks over tasks, in the given order; those of a `Task` by side and unit.

    A mapping joins **data sets** by their names, ``{"en": a, "de": b}``: each rank has the label
    "dataset". Queries, relations, targets and units are then by data set, also where they have one
    name, and shown as ``("en", "q1")``. Recalls of an index are joined so where their candidates or
    truths differ, as in the steps of a stream.

    Vocabularies of labels are merged, weights stay as they are. A provenance field in which the
    parts differ becomes "mixed".

    A unit of the ranks of a `Task` is a row of the facts that it ranks. Ranks of one task, as of
    ``task[p::n]``, are joined in the order of these rows, whatever the order of the parts, and
    equal those of the whole once all are there; while some rows, or sides of some, are missing, the
    audit of a report says which. Tails and heads of one test share their units. In a list, ranks of
    Tasks that were made apart, as for folds or chunks of one test, are joined only where `repeats`
    is given, and have units of their own. In retrieval their queries are apart, too, whatever they
    are called: where several tasks have one name, it becomes (task, name), the first task being 0.
    Queries of triples are one query where they have one name, or one number among the same
    entities. Ranks of no Task share a unit where its label is equal, in whichever part they stand,
    except those of unlike data sets: their units become "en/3".

    Parameters
    ----------
    parts : iterable of Ranks, or mapping of str to Ranks or to iterables of Ranks
        At least one. In a mapping, an iterable has the parts of one data set, which are joined as
        by themselves, with the same `repeats`. Either all parts or none have weights, an audit, and
        labels of each name. Where only some are from lists, the others have no misses; where only
        some have gains of retrieval, those of the others are 1.
    repeats : {"refuse", "drop", "keep"}, optional
        What to do where a fact comes twice: in parts of one task, the same row of it; in tasks that
        were made apart, the same side, relation, query and target, if the ranks have labels of
        side, query and target (those of retrieval have no side). A sampler that fills its last
        batch hands some rows out again, folds may share facts, and every mean would count them
        twice. "drop" keeps the first of each, and requires that all have the same counts; "keep"
        keeps all in the given order. Default: repeats are refused, and so are tasks that were made
        apart. In retrieval "drop" leaves out whole queries, and "keep" is refused. Several runs of
        a model are not joined: they are a list, which `compare` and `table` take.
        In a mapping nothing is a repeat by default, as the same qrels in several languages; "drop"
        counts facts that data sets share once, in the first of these, and "refuse" refuses them.

    Returns
    -------
    Ranks

    Warns
    -----
    UserWarning
        If known answers count as wrong, as Tasks of one test that were made apart do not know each
        other's.

    Raises
    ------
    ValueError
        If there are no parts, if parts were counted under different protocols (the error lists the
        differences), and if only some have weights, labels of a name, an audit, or units that are
        rows of a task. For tasks that were made apart where `repeats` is not given, and for those
        that rank the same facts among other entities or with other known facts. For repeats, unless
        they are kept or dropped, for dropped ones whose counts or gains differ or that are not all
        right answers of their query, and for queries that are kept. If parts of one data set are of
        several tests, and if what is given a name has names already.
    TypeError
        If a part is not Ranks, or a name no str.

    Examples
    --------
    >>> concatenate([Ranks([0], [1], 10), Ranks([3], [2], 10)]).above
    array([0, 3])
    >>> from truerank.link_prediction import Task
    >>> task = Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3, sides=["tail"])
    >>> ranks = [task[p::2].evaluate(lambda q: q[:, :1] * [[0.1, 0.2, 0.3]]).ranks for p in (1, 0)]
    >>> concatenate(ranks).targets.values
    array([1, 2, 0])
    >>> both = concatenate({"a": Ranks([0], [1], 10), "b": Ranks([3], [2], 10)})
    >>> both.labels["dataset"]
    Labels(2 labels: a 1, b 1)
    """
    if repeats is not None:
        choice("repeats", repeats, REPEAT_RULES)
    rule = repeats or "refuse"
    are_named = isinstance(parts, Mapping)
    if isinstance(parts, Mapping):
        rule = repeats or "keep"  # Data sets may have the same queries.
        parts = [_name_data_set(name, value, repeats) for name, value in parts.items()]
    parts = several("parts", parts, "Ranks")
    ranks = join_ranks(parts)
    if repeats == "keep" and ranks.answers is not None:
        problem = "a query of retrieval counts once in each run, and is not kept twice; runs of "
        problem += "one model are a list, which compare and table take"
        raise InputValueError("repeats", problem, remedies=[_NAMES])
    if repeats is None and not are_named:
        _refuse_tasks_apart(parts, ranks)
    if rule != "keep":
        ranks = _without_repeats(ranks, rule, are_apart=not are_named)
    ranks = _with_part_sizes(ranks, parts)
    _warn_of_unfiltered(ranks)
    if are_named or rule == "keep" or not ranks.origins or not len(ranks):
        return ranks
    # Ranks of tasks come in the order of their whole: by data set, task, side and unit.
    unit = ranks._labels["unit"].codes
    columns = [origin_index(unit, ranks.origins), unit]
    if ranks.side is not None:
        columns.insert(1, ranks.side.codes)
    columns.insert(0, _data_set_codes(ranks)[0])
    keys = row_keys(columns)
    if (np.diff(keys) >= 0).all():
        return ranks
    return ranks[np.argsort(keys, kind="stable")]


def _name_data_set(name: Any, value: Any, repeats: RepeatRule | None) -> Ranks:
    """Return the ranks of a data set, or of its parts, with its name as a label."""
    if not isinstance(name, str) or not name:
        expected = 'names that are not empty, as in {"en": a, "de": b}'
        raise InputTypeError("parts", expected=expected, got=repr(name))
    with argument_names(parts=f"parts: {name}"):
        ranks = value if isinstance(value, Ranks) else concatenate(value, repeats=repeats)
    if DATASET in ranks._labels:
        names = [f"{name}/{each}" for each in _data_set_codes(ranks)[1]]
        expected = f"ranks without names of data sets (in one mapping: {', '.join(names)})"
        raise InputValueError(f"parts: {name}", expected=expected, got="ranks that have them")
    labels: dict[str, Any] = {DATASET: name}
    if ranks.unit is not None and not ranks.origins:  # Equal units of other data sets are others.
        codes, units = group_codes(ranks, "unit")
        labels["unit"] = labels_of_codes(codes, tuple(f"{name}/{each}" for each in units))
    return ranks.with_labels(**labels)


def _data_set_codes(ranks: Ranks) -> tuple[IntArray, list[Any]]:
    """Return the data set of each rank, and their names; one that is None without labels."""
    if DATASET in ranks._labels:
        return group_codes(ranks, DATASET)
    return np.zeros(len(ranks), np.int64), [None]


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
    remedies = [_NAMES] if has_queries else []
    are_named = all(DATASET in part._labels for part in parts)
    origins = join_origins([part.origins for part in parts], remedies, are_named=are_named)
    for i, part in enumerate(parts):
        if origins and not part.origins and part.unit is not None and len(part):
            problem = f"part {i} has units that were given, other parts have rows of tasks"
            raise InputValueError("parts", problem)
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


def _refuse_tasks_apart(parts: Sequence[Ranks], ranks: Ranks) -> None:
    """Refuse parts of several tasks, which were joined: some of their facts may be the same."""
    first: dict[Any, tuple[set[int], set[int]]] = {}
    for i, part in enumerate(parts):
        tasks = {origin.number for origin in part.origins}
        if not tasks and part.origin is not None:
            # With units of the user's own, only the number of the Task stays with each rank.
            tasks = set(part.origin.tolist())
        if not tasks:
            continue
        numbers = part._task_numbers()
        codes, names = _data_set_codes(part)
        for code, name in enumerate(names):
            of_set = tasks if name is None else set(distinct(numbers[codes == code]).tolist())
            first_tasks, first_of_set = first.setdefault(name, (tasks, of_set))
            # Slices of one whole may have other Tasks of a data set each.
            if tasks != first_tasks and of_set != first_of_set:
                test = "test" if name is None else f"test of {name}"
                problem = f"it belongs to another {test} than the parts before, and a fact may "
                problem += "come twice"
                again = _find_repeats(ranks, _identity(ranks))
                if again is not None:
                    problem += f"; {np.count_nonzero(again[2]):,} of {len(ranks):,} tasks do"
                problem += _describe_shared_queries(ranks)
                ways = [_NAMES, _REPEATS]
                unfiltered = _describe_unfiltered(ranks)
                if unfiltered:  # They would be as wrong under names.
                    problem += f"; {unfiltered}; the parts p::n of one Task do"
                    ways = []
                raise InputValueError(f"parts: number {i}", problem, remedies=ways)


def _describe_shared_queries(ranks: Ranks) -> str:
    """Count queries of retrieval that have right answers in several tasks; nothing if none has."""
    if ranks.answers is None:
        return ""
    queries = ranks._labels["queries"]
    columns = [_data_set_codes(ranks)[0], queries.codes]
    set_of_task, query_of_task, _ = distinct_rows([*columns, ranks._task_numbers()])
    is_again = (np.diff(set_of_task) == 0) & (np.diff(query_of_task) == 0)
    if not is_again.any():
        return ""
    query = query_of_task[int(is_again.argmax())]
    task = describe_task({"queries": queries}, int((queries.codes == query).argmax()))
    n_shared = len(distinct_rows([set_of_task[1:][is_again], query_of_task[1:][is_again]])[0])
    n_queries = len(distinct_rows([set_of_task, query_of_task])[0])
    words = f"; several tasks have right answers of {n_shared:,} of {n_queries:,} queries"
    return f"{words}, the first: {task}"


def _warn_of_unfiltered(ranks: Ranks) -> None:
    """Warn of tasks that lack answers which other Tasks know."""
    words = _describe_unfiltered(ranks)
    if words:
        warn_user("parts", words)


def _describe_unfiltered(ranks: Ranks) -> str:
    """Say how many tasks lack answers that other Tasks know; nothing if none does."""
    n_unfiltered = count_unfiltered(ranks)
    if not n_unfiltered:
        return ""
    words = f"known answers count as wrong in {n_unfiltered:,} tasks, as Tasks that were made "
    return f"{words}apart do not know each other's"


def count_unfiltered(ranks: Ranks) -> int:
    """Count the tasks of triples that left out fewer answers of their query than there are.

    A Task that left out fewer than there are, or than another one did, counted some of them as
    candidates. Data sets whose entities are numbered may have other ones.
    """
    protocol = ranks.protocol
    has_all = protocol.candidates == "all" and not protocol.filter_rule and protocol.nan != "omit"
    orders = {(origin.n_entities, origin.names) for origin in ranks.origins}
    n_entities, names = min(orders, default=(0, ""))
    are_same = len(orders) == 1 and n_entities > 0 and (DATASET not in ranks._labels or names != "")
    side = ranks.side
    is_of_triples = side is not None and not {"head", "tail"}.isdisjoint(side.vocabulary or ())
    if len(ranks.origins) < 2 or not (is_of_triples and has_all and protocol.filter and are_same):
        return 0
    codes = [ranks._labels[name].codes for name in ("side", "queries", "targets")]
    queries = factorize(*codes[:2]).codes
    most_known = np.bincount(distinct_rows([queries, codes[2]])[0])
    known = n_entities - ranks.candidates + 1
    np.maximum.at(most_known, queries, known)
    return int(np.count_nonzero(known < most_known[queries]))


def _joined_protocol(parts: Sequence[Ranks]) -> Protocol:
    """Join protocols, which have to agree; empty ranks add nothing of their provenance."""
    protocols = [part.protocol for part in parts]
    if all(DATASET in part._labels and part.protocol.lists == HITS for part in parts):
        protocols = _name_steps(protocols)
    protocol = next((protocols[i] for i, part in enumerate(parts) if len(part)), protocols[0])
    for i, part in enumerate(parts):
        if protocols[i] is protocol:  # Blocks of one count share it.
            continue
        with argument_names(other=f"parts: number {i}"):
            joined = protocol.joined(protocols[i])
        if len(part):
            protocol = joined
    return protocol


def _name_steps(protocols: list[Protocol]) -> list[Protocol]:
    """Name the candidates, or truths, of recalls together, if these alone differ, as in a stream.

    What is compared has to have the same ones.
    """
    names = sorted({str(protocol.candidates) for protocol in protocols})
    kinds = {name.partition(", of ")[0] for name in names}
    if len(names) < 2 or len(kinds) > 1:
        return protocols
    digest = short_sha256(repr(names).encode())[:8]
    name = f"{kinds.pop()}, of {len(names)} steps ({digest})"
    return [replace(protocol, candidates=name) for protocol in protocols]


def _without_repeats(ranks: Ranks, rule: RepeatRule, *, are_apart: bool) -> Ranks:
    """Refuse tasks that come twice, or keep the first of each alone.

    Where data sets `are_apart`, a task that two of them share is no repeat.
    """
    identity = _identity(ranks)
    if identity and are_apart and DATASET in ranks._labels:
        identity[DATASET] = ranks._labels[DATASET]
    repeats = _find_repeats(ranks, identity)
    if repeats is None:  # This is the usual case.
        return ranks
    identity, first, is_again = repeats
    again = np.flatnonzero(is_again)
    if rule == "refuse":
        number = f"{len(again):,} of {len(ranks):,} tasks are there twice or more"
        positions = f"the first at the positions {first[again[0]]} and {again[0]}"
        problem = f"{number}, {positions} ({describe_task(identity, again[0])})"
        times = np.bincount(first)
        if ranks.answers is None and len(distinct(times[times > 0])) == 1:
            problem += "; each is there as often, and runs of one model are not joined: they are a "
            problem += "list, which compare and table take"
        listed = ranks._arrays.get("listed")
        is_listed_twice = listed is None or (listed[again] & listed[first[again]]).any()
        names = []
        if ranks.answers is not None and is_listed_twice:
            names = [_NAMES]
        elif ranks.answers is not None:  # These are folds with the qrels of all, and no data sets.
            problem += "; no answer is in the lists of two parts"
        raise InputValueError("parts", problem, remedies=[*names, _REPEATS])
    _refuse_to_drop(ranks, repeats)
    kept = ranks[~is_again]
    if len(ranks.origins) < 2:
        return kept
    # A task lacks the units of which no rank is kept.
    lost_units = without(distinct(ranks._labels["unit"].codes), kept._labels["unit"].codes)
    origin_of_unit = origin_index(lost_units, ranks.origins)
    n_lost = np.bincount(origin_of_unit, minlength=len(ranks.origins)).tolist()
    pairs = zip(ranks.origins, n_lost, strict=True)
    return kept._with(origins=tuple(replace(each, units=each.units - n) for each, n in pairs))


def _find_repeats(ranks: Ranks, identity: dict[str, Labels]) -> Repeats | None:
    """Return by which labels tasks come again, the first of each, and which do; None: none do."""
    if not identity or len(ranks) < 2:
        return None
    first = _first_positions(ranks, identity)
    is_again = first != np.arange(len(ranks))
    return (identity, first, is_again) if is_again.any() else None


def _refuse_to_drop(ranks: Ranks, repeats: Repeats) -> None:
    """Refuse to drop parts of queries, and tasks whose counts differ from those of the first."""
    identity, first, is_again = repeats
    if ranks.answers is not None:
        tasks = ranks._task_numbers()
        codes, queries = group_codes(ranks, "queries")
        # Another task has the other answers of these queries.
        is_cut = are_among(codes, codes[is_again & (tasks[first] != tasks)]) & ~is_again
        if is_cut.any():
            query = queries[codes[int(is_cut.argmax())]]
            problem = f"another task has some right answers of the query {query!r}, not all"
            raise InputValueError("parts", problem, remedies=[_NAMES])
    again = np.flatnonzero(is_again)
    for name in (*COUNTS, "listed", "gains"):
        values = ranks._arrays.get(name)
        if values is None:  # Only ranks of graded lists have all of these.
            continue
        unlike = again[values[again] != values[first[again]]]
        if len(unlike):
            i = unlike[0]
            task = describe_task(identity, i)
            got = f"{values[first[i]]} at position {first[i]} and {values[i]} at position {i}"
            problem = f"dropped tasks need equal counts, but {name} of one task ({task}) "
            problem += f"is {got}"
            raise InputValueError("parts", problem)


def _identity(ranks: Ranks) -> dict[str, Labels]:
    """Return the labels that tell each task from all others; none if some of them are missing."""
    identity = {name: ranks._labels[name] for name in FACT if name in ranks._labels}
    required = {"side", "queries", "targets"}
    is_retrieval = ranks.without_answers is not None
    if is_retrieval:  # It has one side, and its queries have names, which need no unit.
        identity.pop("unit", None)
        required = {"queries", "targets"}
    return identity if required <= identity.keys() else {}


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
    digests = [origin.digests[0] for origin in ranks.origins]
    are_numbers = any(identity[name].vocabulary is None for name in ("queries", "targets"))
    are_named = all(origin.names for origin in ranks.origins)
    if len(set(digests)) > 1 and are_named and "fact" in ranks._labels:
        fact = {name: codes for name, codes in fact.items() if name in ("side", DATASET)}
        fact["fact"] = ranks._labels["fact"].codes
        are_numbers = False
    if are_numbers and ranks.origins:  # Among other entities, a number stands for another one.
        entities_of_origin = np.array([digests.index(digest) for digest in digests])
        origin_of_row = origin_index(ranks._labels["unit"].codes, ranks.origins)
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
    n_units_of_largest_part: Counter[tuple[Any, str]] = Counter()
    for part in parts:
        n_units_of_largest_part |= count_units(part)
    origins = []
    for origin in ranks.origins:
        whole = min(origin.part_of, origin.units)
        numbers = {key: n for key, n in n_units.items() if key[1] == origin.fingerprint}
        if any(n > max(whole, n_units_of_largest_part[key]) for key, n in numbers.items()):
            whole = origin.units  # They are of several samples.
        is_part = min(numbers.values(), default=0) < whole
        origins.append(replace(origin, part_of=whole if is_part else 0))
    return ranks._with(origins=tuple(origins))


def count_units(ranks: Ranks) -> Counter[tuple[Any, str]]:
    """Return how many units of each Task ranks have, by data set and the Task's fingerprint."""
    origins = ranks.origins
    if not origins:
        return Counter()
    codes, names = _data_set_codes(ranks)
    data_sets, units = distinct_rows([codes, ranks._labels["unit"].codes])
    numbers = np.bincount(data_sets * len(origins) + origin_index(units, origins)).tolist()
    counter: Counter[tuple[Any, str]] = Counter()
    for place, n in enumerate(numbers):
        data_set, task = divmod(place, len(origins))
        if n:
            counter[names[data_set], origins[task].fingerprint] += n
    return counter


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
    parts: Iterable[Sequence[Origin]], remedies: Sequence[Option] = (), *, are_named: bool = False
) -> tuple[Origin, ...]:
    """Return the tasks of several ranks, each once; of one fingerprint the larger numbers count.

    The same facts among other entities, or with other known facts, are refused, unless data sets
    are named, as of several languages.
    """
    by_key: dict[Any, Origin] = {}
    for origins in parts:
        for origin in origins:
            key = _key_of(origin, are_named)
            other = by_key.get(key, origin)
            for one, two in zip(other.digests, origin.digests, strict=True):
                if one != two and one and two:  # The number of entities need not be given.
                    problem = f"the same facts are ranked among {one} and among {two}"
                    advice = "parts of a task have all its entities and known facts, as task[p::n]"
                    raise InputValueError("parts", f"{problem}: {advice}", remedies=remedies)
            sizes = ("rows", "units", "queries", "part_of")
            largest = {name: max(getattr(other, name), getattr(origin, name)) for name in sizes}
            said = other if other.digests[0] else origin
            by_key[key] = replace(
                said,
                fingerprint=origin.fingerprint,
                **largest,
                digests=(said.digests[0], origin.digests[1]),
            )
    return tuple(by_key.values())


def _key_of(origin: Origin, are_named: bool) -> Any:
    """Return what tells a task from others of its ranks, of which data sets may share one."""
    return (origin.fingerprint, origin.digests) if are_named else origin.fingerprint


def renumber_labels(
    labels: Mapping[str, Labels], origins: Sequence[Origin], joined: Sequence[Origin]
) -> dict[str, Labels]:
    """Return labels of ranks of some tasks with the numbers that these have among joined tasks.

    Units, and queries, of each task are shifted by where its numbers begin; queries of named data
    sets keep theirs.

    >>> one, two = Origin("a", 3, 3), Origin("b", 4, 4)
    >>> renumber_labels({"unit": Labels([0, 2])}, [two], [one, two])["unit"].values
    array([3, 5])
    """
    new_labels = dict(labels)
    if tuple(origins) == tuple(joined):
        return new_labels
    are_named = DATASET in labels
    keys = [_key_of(origin, are_named) for origin in joined]
    places_in_joined = [keys.index(_key_of(origin, are_named)) for origin in origins]
    origin_of_rank = origin_index(labels["unit"].codes, origins)
    for name in ("unit",) if are_named else ("unit", "queries"):
        new_starts = first_numbers(joined, name)[places_in_joined]
        shifts = new_starts - first_numbers(origins, name)
        if shifts.any():
            codes = labels[name].codes + shifts[origin_of_rank]
            new_labels[name] = labels_of_codes(codes, labels[name].vocabulary)
    return new_labels


def first_numbers(origins: Sequence[Origin], name: str) -> IntArray:
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
    starts = lengths_to_indptr(list(largest.values()))[:-1].tolist()
    start_of_key = dict(zip(largest, starts, strict=True))
    return np.array([start_of_key[key] for key in keys], np.int64)
