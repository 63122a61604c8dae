"""The sides of a task of link prediction: their filter, candidates and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import IntegerTable
from ..arrays import row_keys
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import is_iterable
from ..inputs.selection import lengths_to_indptr, pair_indptr
from ..naming import format_count
from ..ranks.labels import LABELS, Labels, labels_of_codes, labels_when_asked
from ..records.splits import (
    NOTHING,
    TRAIN,
    audit_split,
    count_shared_queries,
    list_examples,
    warn_about_unused,
)
from ..records.vocabularies import Vocabulary, align
from ..tasks.candidates import (
    ALL,
    TYPED,
    CandidateSet,
    Sampled,
    draw_candidates,
    name_sets,
    read_candidate_set,
)
from ..tasks.side import Side, make_side, number_facts

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from ..records.splits import FindingParts, SplitTables


# What facts of known splits leave out: those of the same query, those that agree in head, relation
# and tail, those that agree in all columns, or none.
QUERY = "query"
TRIPLE = "triple"
FACT = "fact"
NONE = "none"
FILTERS = (QUERY, TRIPLE, FACT, NONE)
# The roles that make the queries of a side, which has the name of the role of its answers. Tasks
# come in this order of sides.
SIDES: dict[str, tuple[str, ...]] = {
    "head": ("relation", "tail"),
    "tail": ("head", "relation"),
    "relation": ("head", "tail"),
}
# The entity of a query of head or tail is at the other end of its triples.
OTHER_END = {"head": "tail", "tail": "head"}
TRIPLES = "triples"  # Messages call the facts so.
CATEGORIES = ("1-1", "1-n", "n-1", "n-n")
MOST_QUERIES = 1 << 62
MOST_EDGES = 100_000  # So many triples of train tell whether relations have both directions.
BITS_OF_PAIR = 31  # Numbers of queries have a key, as a time, above so many bits.
ROWS = "rows of the test"  # They may have lists of candidates.


def _categories(triples: IntArray, relations: IntArray) -> tuple[IntArray, bool]:
    """Classify relations by one head or many, one tail or many, as positions in `CATEGORIES`.

    Returned is also whether all triples are distinct.

    A relation has one head if it has fewer than 1.5 heads on average over its distinct
    (relation, tail) pairs, else n; the same holds for tails over its (head, relation) pairs. A
    category names heads first: "1-n" has many tails per head. (Bordes et al., "Translating
    embeddings for modeling multi-relational data", 2013, section 4.3: over all triples of a data
    set, an average below 1.5 is 1, others are MANY.)
    """
    heads, known, tails = triples[:, :3].T
    of_heads, of_triples = row_keys.count_prefixes([known, heads, tails])
    n_tails = row_keys.count_prefixes([known, tails])[0].of(relations)
    n_triples = of_triples.of(relations)
    n_heads = of_heads.of(relations)
    categories = 2 * (2 * n_triples >= 3 * n_tails) + (2 * n_triples >= 3 * n_heads)
    return categories, int(of_triples.numbers.sum()) == len(triples)


def degree_buckets(numbers: IntArray) -> Labels:
    """Label numbers, which are not negative, by buckets: 0, 1, 2 to 3, 4 to 7 and so on.

    Examples
    --------
    >>> degree_buckets(np.array([0, 5, 1]))
    Labels(3 labels: 0 1, 1 1, 4-7 1)
    """
    _, exponent = np.frexp(numbers.astype(np.float64))  # The exponent is a number's length in bits.
    largest = int(exponent.max(initial=0))
    names = ["0", "1"] + [f"{1 << i}-{(2 << i) - 1}" for i in range(1, largest)]
    return labels_of_codes(exponent.astype(np.int64), tuple(names[: largest + 1]))


def _label_entities(ids: IntArray, vocabulary: Vocabulary) -> Labels:
    """Label entities by their names, of which files of ranks have no others than these."""
    if vocabulary.words is None:
        return vocabulary.labels(ids)
    codes = row_keys.factorize(ids)
    return labels_of_codes(codes.codes, tuple(vocabulary.list_labels(codes.distinct)))


def _label_by_known(memory: dict[str, Any], name: str) -> Labels:
    """Return labels that known triples give those of the test; all are made at the first call.

    `memory` has what they are made of: the triples of all splits, the known ones, and the rows of
    the test.
    """
    sources = memory.get("sources")
    if sources is not None:
        triples, known, test_rows = sources
        tested_heads, tested_relations, tested_tails = triples[test_rows, :3].T
        categories, are_distinct = _categories(triples, tested_relations)
        # Degrees count distinct known triples, whatever further columns they have.
        heads, relations, tails = known[:, :3].T
        if not are_distinct:
            relations, heads, tails = row_keys.distinct_rows([relations, heads, tails])
        of_entities = row_keys.count_values(
            heads, tails[tails != heads]
        )  # Its head may be its tail.
        head_degrees = of_entities.of(tested_heads)
        tail_degrees = of_entities.of(tested_tails)
        memory["labels"] = {
            "category": labels_of_codes(categories, CATEGORIES),
            "head_degree": labels_of_codes(head_degrees),
            "tail_degree": labels_of_codes(tail_degrees),
            "head": degree_buckets(head_degrees),
            "tail": degree_buckets(tail_degrees),
            "relation": degree_buckets(row_keys.count_values(relations).of(tested_relations)),
        }
        memory.pop("sources", None)  # Their memory is needed no longer.
    labels: Labels = memory["labels"][name]
    return labels


def _label_triples(
    splits: SplitTables, test_rows: IntArray
) -> tuple[dict[str, Labels], dict[str, Labels]]:
    """Label the triples of the test; return also the degrees of their elements by role."""
    vocabularies = splits.vocabularies
    tested = {role: ids[test_rows] for role, ids in splits.columns.items()}
    facts = number_facts((ids, vocabularies[role].names) for role, ids in tested.items())
    memory = {"sources": (splits.rows, splits.known_rows(), test_rows)}
    names = ("category", "head_degree", "tail_degree", *SIDES)
    by_known = {name: labels_when_asked(partial(_label_by_known, memory, name)) for name in names}
    degrees = {role: by_known.pop(role) for role in SIDES}
    labels = {
        "relation": vocabularies["relation"].labels(tested["relation"]),
        "unit": labels_of_codes(splits.places[test_rows]),
        **by_known,
        "fact": labels_of_codes(facts),
        "head": _label_entities(tested["head"], vocabularies["head"]),
        "tail": _label_entities(tested["tail"], vocabularies["tail"]),
    }
    return labels, degrees


def make_sides(
    roles: Mapping[str, Sequence[str]],
    splits: SplitTables,
    test_rows: IntArray,
    filter: str,
    candidates: Mapping[str, CandidateSet],
    exclude: str | None,
) -> tuple[dict[str, Side], npt.NDArray[np.bool_]]:
    """Make the tasks of some sides, and say which triples of all splits share a query with them.

    By side, `roles` has those of its queries, with further columns, and then of its answers. The
    entity of a query may be left out like its known answers.
    """
    facts = splits.columns
    is_asked = np.zeros(len(splits.rows), dtype=bool)
    is_filtering = np.zeros_like(is_asked)  # which facts leave answers out
    labels_of_triples, degrees = _label_triples(splits, test_rows)
    sides = {}
    for name, (*query, answer) in roles.items():
        size = splits.vocabularies[name].size
        own = None if exclude is None else OTHER_END.get(name)
        make = partial(make_side, name, facts, test_rows, answer=answer, n_candidates=size, own=own)
        side, shares_query = make(query=query)
        is_asked |= shares_query
        filtering, agrees = side, shares_query
        if filter in (TRIPLE, FACT):
            agreeing = SIDES[name] if filter == TRIPLE else [role for role in facts if role != name]
            filtering, agrees = make(query=agreeing)
        is_filtering |= agrees
        known_answers = None if filter == NONE else filtering.filter
        if known_answers is None and own is not None:  # The list of each query has one entity.
            entities = side.query_ids[:, query.index(own)].copy()
            known_answers = np.arange(len(entities) + 1), entities, side.rows
        among = side_candidates(candidates[name], side, splits)
        query_numbers = _number_queries(side, query, splits.vocabularies["head"].size)
        labels: dict[str, Any] = dict.fromkeys(LABELS) | labels_of_triples  # in this order
        labels["side"] = labels_of_codes(np.zeros_like(side.rows), (name,))
        labels["queries"] = labels_of_codes(query_numbers)
        labels["targets"] = labels_of_codes(side.targets)
        labels["degree"] = degrees[name]
        side = replace(side, filter=known_answers, candidates=among, labels=labels)
        sides[name] = replace(side, units=splits.places[side.units])
    if filter != NONE:
        words = [each.word for each in candidates.values() if each.word is not None]
        warn_about_unused(splits, is_filtering, words)
    return sides, is_asked


def _number_queries(side: Side, query: Sequence[str], size: int) -> IntArray:
    """Number the query of each task by its ids, as every task of as many entities does.

    Where such numbers might be too large, or the same, they are numbers in this task.
    """
    first, second, *keys = side.query_ids.T
    if query[1] == "relation":  # The number of an entity and a relation begins with the relation.
        first, second = second, first
    key = keys[0] if keys else np.zeros_like(first)
    most = MOST_QUERIES >> BITS_OF_PAIR if keys else MOST_QUERIES
    is_too_large = max((1 + int(first.max())) * size, int(key.max())) >= most
    if is_too_large or key.min() < 0 or len(keys) > 1:
        return side.rows
    numbers: IntArray = (key << BITS_OF_PAIR) + first * size + second
    return numbers[side.rows]


def read_side_candidates(
    value: Any, sides: Sequence[str], splits: SplitTables
) -> tuple[str, dict[str, CandidateSet]]:
    """Read the argument `candidates`; return its name in the protocol, and those of each side."""
    if not isinstance(value, Mapping) or not _is_by_side(value, splits):
        is_list = value is not None and not isinstance(value, (str, Sampled))
        if is_list and len(sides) > 1 and "relation" in sides:
            expected = "{side: list}, as a list has only entities or only relations"
            raise InputValueError("candidates", expected=expected, got="a list for all sides")
        shared = _read_set(value, sides, splits)
        return shared.name, dict.fromkeys(sides, shared)
    if value.keys() != set(sides):
        expected = f"lists of {', '.join(sides)}, the sides of the task"
        raise InputValueError("candidates", expected=expected, got=", ".join(value))
    by_side = {}
    for side in sides:
        if isinstance(value[side], Sampled):
            expected = "lists, relations with their lists, or the name of a set for each side"
            raise InputTypeError("candidates", expected=expected, got=f"Sampled for {side!r}")
        by_side[side] = _read_set(value[side], [side], splits)
    return _name_sides(by_side), by_side


def _name_sides(by_side: Mapping[str, CandidateSet]) -> str:
    """Return what the protocol calls candidates that were given by side."""
    sets = list(by_side.values())
    if len({candidates.name for candidates in sets}) == 1:
        return sets[0].name
    if all(candidates.word is None for candidates in sets):
        return name_sets(sets)
    return ", ".join(f"{side} {candidates.name}" for side, candidates in by_side.items())


def _is_by_side(value: Mapping[Any, Any], splits: SplitTables) -> bool:
    """Whether these are candidates by side, and not by relation."""
    if not value or not all(key in SIDES for key in value):
        return False
    if any(isinstance(candidates, Mapping) for candidates in value.values()):
        return True
    relations = set(splits.vocabularies["relation"].names or ())
    if all(key in relations for key in value):
        keys = ", ".join(map(repr, value))
        problem = f"{keys} may be sides or relations of that name"
        raise InputValueError("candidates", f"{problem}; {{side: {{relation: list}}}} has both")
    return True


def _read_set(value: Any, sides: Sequence[str], splits: SplitTables) -> CandidateSet:
    """Read candidates of some sides whose answers are of one kind."""
    if isinstance(value, tuple) and value and all(map(_is_list, value)):
        return _read_row_lists(value, sides, splits)
    if isinstance(value, Mapping) and "relation" in sides:
        problem = "lists by relation are of entities; relations cannot be candidates by relation"
        raise InputValueError("candidates", problem)
    evaluated, *known = splits.sizes
    names = [name or evaluated for name in known]  # The whole of the evaluated split has no name.
    relations = splits.vocabularies["relation"]
    members = splits.vocabularies[sides[0]]
    forms = ", or {side: (indptr, indices)} with a list for each test triple"
    words = [ALL, TYPED, *names]
    candidates = read_candidate_set(value, "answer", words, relations, members, forms)
    if candidates.sampled is not None and candidates.sampled.per is not None:
        problem = 'every task has its own sample: per is "answer" here, or None'
        raise InputValueError("candidates", problem)
    if "relation" in sides and candidates.word == TYPED:
        raise InputValueError("candidates", "entities have types, relations do not")
    return candidates


def _is_list(value: object) -> bool:
    """Return whether this has members and is no name."""
    return is_iterable(value) and not isinstance(value, str)


def _read_row_lists(value: Any, sides: Sequence[str], splits: SplitTables) -> CandidateSet:
    """Read a list for each test triple, as ``(indptr, indices)``, of one side."""
    if len(sides) > 1:
        expected = "{side: lists}, as a list for each test triple belongs to one side"
        raise InputValueError("candidates", expected=expected, got="lists for all sides")
    if len(value) != 2:
        got = f"a tuple of {len(value)}"
        raise InputValueError("candidates", expected="(indptr, indices)", got=got)
    ids = align("candidates", value[1], splits.vocabularies[sides[0]])
    indptr = pair_indptr("candidates", value, len(ids), splits.height)
    rows = np.arange(splits.height)
    row_of_id, distinct_ids = row_keys.distinct_rows([np.repeat(rows, np.diff(indptr)), ids])
    indptr = lengths_to_indptr(np.bincount(row_of_id, minlength=splits.height))
    return CandidateSet(distinct_ids, rows, indptr, Vocabulary(splits.height, None, ROWS))


def side_candidates(candidates: CandidateSet, side: Side, splits: SplitTables) -> Any:
    """Make the candidates of one side, in the form that `Side` takes.

    The filter of the side still has all known answers.
    """
    pool = _side_pool(candidates, side, splits)
    if candidates.sampled is None:
        return pool
    # The sample of a side does not depend on the other sides of the task.
    rng = np.random.default_rng([candidates.sampled.seed, list(SIDES).index(side.name)])
    tasks = np.arange(len(side))
    right = tasks, side.targets
    number = candidates.sampled.negatives
    indptr, indices = draw_candidates(side, pool, side.rows, right, number, rng)
    return indptr, indices, tasks


def _side_pool(candidates: CandidateSet, side: Side, splits: SplitTables) -> Any:
    """Return what a side ranks or draws from: None (all), one list, or the lists of its tasks."""
    if candidates.word == ALL:
        return None
    relations = splits.rows[side.units, 1]
    if candidates.word == TYPED:  # Each relation has a list.
        answers = splits.columns[side.name]
        relation_of_list, entities = row_keys.distinct_rows([splits.rows[:, 1], answers])
        size = splits.vocabularies["relation"].size
        indptr = lengths_to_indptr(np.bincount(relation_of_list, minlength=size))
        return indptr, entities, relations
    chosen = candidates
    if candidates.word is not None:  # It names a known split.
        heads, split_relations, tails = splits.known_rows(candidates.word)[:, :3].T
        members = [split_relations] if side.name == "relation" else [heads, tails]
        chosen = CandidateSet(row_keys.distinct(np.concatenate(members)))
    keys = relations
    if chosen.key_names is not None and chosen.key_names.of == ROWS:
        keys = splits.places[side.units]
    vocabulary = splits.vocabularies[side.name]
    return chosen.of_tasks(keys, side.targets, vocabulary, f"answers of the side {side.name}")


# -- audit -----------------------------------------------------------------------------------------


def audit_triples(
    splits: SplitTables, keys: Sequence[int], filter: str, rules: Mapping[str, str]
) -> tuple[IntArray, list[FindingParts], list[FindingParts]]:
    """Find duplicates, leaks and unseen triples, and keep, drop or refuse them by a rule for each.

    Returned are the rows of the test that are ranked, findings of the rows, duplicates and leaks,
    and findings of what is unseen. Columns of `keys` are part of a triple, too, or all, by the
    filter.
    """
    if not splits.tested:
        raise InputValueError(next(iter(splits.sizes)), expected="at least one triple", got="none")
    further = range(3, splits.rows.shape[1]) if filter == FACT else keys
    columns = [splits.rows[:, column] for column in (0, 1, 2, *further)]
    cases = {}
    findings_unseen: list[FindingParts] = []
    case = "unseen"
    problem = "have an entity or a relation that no known split has"
    if TRAIN in splits.known:
        case = f"unseen in {TRAIN}"
        problem = f"have an entity or a relation that {TRAIN} lacks"
    if splits.known:
        findings_unseen, has_unseen = _find_unseen(splits)
        cases[case] = (has_unseen, problem)
    elif rules["unseen"] != "keep":
        expected = "known splits, without which nothing is unseen"
        raise InputValueError("unseen", expected=expected, got="none")
    rule_of_case = {**rules, case: rules["unseen"]}
    test_rows, findings = audit_split(
        splits, columns, rule_of_case, TRIPLES, cases, allows_whole=True
    )
    rows, duplicates, leaks, *unseen_triples = findings
    return test_rows, [rows, duplicates, leaks], [*unseen_triples, *findings_unseen]


def list_findings(
    splits: SplitTables,
    test_rows: IntArray,
    findings_audited: Sequence[FindingParts],
    findings_unseen: Sequence[FindingParts],
    is_asked: npt.NDArray[np.bool_],
) -> list[FindingParts]:
    """List what is worth knowing of triples, with what `audit_triples` found, as people read it."""
    heads, relations, tails = map(row_keys.distinct, splits.rows.T[:3])
    entities = row_keys.distinct(np.append(heads, tails))
    numbers = {"entity": entities, "relation": relations, "head": heads, "tail": tails}
    occurring = ", ".join(format_count(len(ids), name) for name, ids in numbers.items())
    findings = [
        *findings_audited,
        *count_shared_queries(splits, TRIPLES, is_asked),
        *splits.findings,
        ("found", len(entities), occurring),
        *_find_unnamed(splits, "head", entities),
        *_find_unnamed(splits, "relation", relations),
        *findings_unseen,
        *_find_inverses(splits, test_rows),
        *_find_exchanged(splits, test_rows),
    ]
    if len(relations) > len(entities):
        text = f"{len(relations):,} relations, which are more than the {len(entities):,} entities"
        findings.append(("more relations than entities", len(relations), text))
    return findings


def _find_unseen(splits: SplitTables) -> tuple[list[FindingParts], npt.NDArray[np.bool_]]:
    """Find entities and relations of the test that are unseen, and triples that have one.

    The split "train" lacks them or, where no split has that name, all known splits do.
    """
    test = splits.rows[: splits.tested]
    findings = []
    has_unseen = np.zeros(splits.tested, dtype=bool)
    for role, columns in (("head", [0, 2]), ("relation", [1])):
        vocabulary = splits.vocabularies[role]
        ids = row_keys.distinct(test[:, columns].ravel())
        is_known = {}
        for name in splits.known:
            rows = splits.known_rows(name)
            is_known[name] = np.any(
                [row_keys.are_among(ids, rows[:, column]) for column in columns], axis=0
            )
        seen_splits = [TRAIN] if TRAIN in is_known else list(is_known)
        is_seen = np.any([is_known[name] for name in seen_splits], axis=0)
        unseen = ids[~is_seen]
        words = NOTHING
        if len(unseen):
            words = f"{len(unseen):,} ({list_examples(unseen, vocabulary)})"
            for column in columns:
                has_unseen |= row_keys.are_among(test[:, column], unseen)
        findings.append((f"unseen {vocabulary.of}", len(unseen), words))
    # Of relations, which are looked at last, one known split may lack what another one has.
    is_in_any = np.any(list(is_known.values()), axis=0)
    for name, is_there in is_known.items():
        lacking = ids[is_in_any & ~is_there]
        if len(lacking):
            text = f"{name} lacks {len(lacking):,} of {len(ids):,} relations of the test, and "
            text += f"filters nothing for these: {list_examples(lacking, vocabulary)}"
            findings.append((f"relations of {name}", len(lacking), text))
    return findings, has_unseen


def _find_unnamed(splits: SplitTables, role: str, occurring: IntArray) -> list[FindingParts]:
    """Say which entities, or relations, are in no fact, as those that pad a table of vectors."""
    vocabulary = splits.vocabularies[role]
    count = vocabulary.size - len(occurring)
    if not count:
        return []
    # Of nine ids more than occur, nine do not: enough for examples of any vocabulary.
    unnamed = row_keys.without(np.arange(min(vocabulary.size, len(occurring) + 9)), occurring)
    text = f"{count:,} of {vocabulary.size:,} {vocabulary.of}: {list_examples(unnamed, vocabulary)}"
    return [(f"{vocabulary.of} in no fact", count, text)]


def _find_inverses(splits: SplitTables, test_rows: IntArray) -> list[FindingParts]:
    """Say which triples are others with head and tail exchanged, by relations that go together.

    Two relations do if the pairs of one are those of the other, exchanged: so are the sums of their
    hashes. The triples of a relation that is its own inverse are edges in both directions.
    """
    heads, relations, tails = (splits.rows[test_rows, column] for column in range(3))
    distinct_relations, codes = row_keys.factorize(relations)
    sums = np.zeros((2, len(distinct_relations)), np.uint64)
    np.add.at(sums[0], codes, row_keys.hash_rows([heads, tails]))
    np.add.at(sums[1], codes, row_keys.hash_rows([tails, heads]))
    sums_of_pairs, sums_of_exchanged = sums.view(np.int64)
    is_own_inverse = sums_of_pairs == sums_of_exchanged
    n_exchanged = row_keys.count_values(sums_of_exchanged).of(sums_of_pairs)
    has_inverse = n_exchanged - is_own_inverse > 0
    count = int(np.count_nonzero(has_inverse[codes]))
    vocabulary = splits.vocabularies["relation"]
    findings = []
    if count:
        text = f"{count:,} triples repeat others with head and tail exchanged, in relations that "
        names = list_examples(distinct_relations[has_inverse], vocabulary)
        text += f"always go together ({names}): each is ranked twice"
        findings.append(("inverse relations", count, text))
    is_edge = (is_own_inverse & ~has_inverse)[codes] & (heads != tails)
    n_edges = int(np.count_nonzero(is_edge)) // 2
    if n_edges:
        names = list_examples(row_keys.distinct(relations[is_edge]), vocabulary)
        text = f"{2 * n_edges:,} triples are {format_count(n_edges, 'edge')} in both directions "
        text += f"({names}): in intervals an edge counts as two units"
        findings.append(("both directions", n_edges, text))
    return findings


def _find_exchanged(splits: SplitTables, test_rows: IntArray) -> list[FindingParts]:
    """Say which pairs of the test are exchanged in train, and which relations train has both ways.

    The latter, as of undirected graphs, have no edge in both directions in the test. Without a
    split "train", all known ones are meant.
    """
    heads, relations, tails = splits.rows[test_rows, :3].T
    train = splits.known_rows(TRAIN)[:, :3].T
    where = TRAIN if TRAIN in splits.known else "known splits"
    vocabulary = splits.vocabularies["relation"]
    findings = []
    is_edge = heads != tails
    is_exchanged = is_edge & _are_among_rows([tails, heads], [train[0], train[2]])
    count = int(np.count_nonzero(is_exchanged))
    if count:
        names = list_examples(row_keys.distinct(relations[is_exchanged]), vocabulary)
        text = f"{count:,} of {len(test_rows):,} triples have a head and a tail that are exchanged "
        findings.append(("exchanged pairs", count, f"{text}in {where} (relations {names})"))
    has_both = is_edge & _are_among_rows([tails, relations, heads], [heads, relations, tails])
    one_way = row_keys.without(relations[is_edge], relations[is_exchanged | has_both])
    edges = np.flatnonzero(row_keys.are_among(train[1], one_way) & (train[0] != train[2]))
    edges = edges[:: 1 + len(edges) // MOST_EDGES]
    has_inverse = _are_among_rows(train[::-1, edges], train)
    found, codes = row_keys.factorize(train[1, edges])
    is_symmetric = 2 * np.bincount(codes, has_inverse) > np.bincount(codes)
    count = int(np.count_nonzero(row_keys.are_among(one_way, found[is_symmetric])))
    if count:
        text = f"{count:,} triples have one direction in the test, and "
        text += f"{has_inverse[is_symmetric[codes]].mean():.0%} of the triples of their relations "
        text += f"({list_examples(found[is_symmetric], vocabulary)}) have both in {where}"
        findings.append(("one direction", count, text))
    return findings


def _are_among_rows(rows: Any, others: Any) -> npt.NDArray[np.bool_]:
    """Return which rows are among others, of which there may be many, by columns and hashes."""
    hashes = row_keys.hash_rows(rows).view(np.int64)
    table = IntegerTable(hashes, len(others[0]))
    are_found = np.zeros(len(hashes), dtype=bool)
    for block in row_keys.cut_blocks(len(others[0])):  # Hashes of all would take much memory.
        hashes_of_block = row_keys.hash_rows([column[block] for column in others])
        are_found[table.look_up(hashes_of_block.view(np.int64))[1]] = True
    return are_found[row_keys.first_equals(hashes)]  # The table has the first of equal rows.
