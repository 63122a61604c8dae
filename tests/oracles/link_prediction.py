"""Link prediction in plain Python: what a task is, by its definition, one triple at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Triple = tuple[Any, ...]
Rows = Sequence[Triple]

KNOWN_COLUMNS = {"head": (1, 2), "tail": (0, 1), "relation": (0, 2)}
TARGET_COLUMN = {"head": 0, "tail": 2, "relation": 1}


@dataclass
class Side:
    """One side of a task, with one entry of each list per task."""

    queries: list[Triple] = field(default_factory=list)
    targets: list[Any] = field(default_factory=list)
    answers: list[set[Any]] = field(default_factory=list)
    typed: list[set[Any]] = field(default_factory=list)
    category: list[str] = field(default_factory=list)
    head_degree: list[int] = field(default_factory=list)
    tail_degree: list[int] = field(default_factory=list)
    degree: list[str] = field(default_factory=list)


@dataclass
class Found:
    """What an audit must find: positions in the test."""

    duplicates: list[int]
    leaks: dict[str, list[int]]
    unseen: list[int]
    unseen_entities: set[Any]
    unseen_relations: set[Any]


def identity(triple: Triple, keys: Sequence[int]) -> Triple:
    return triple[:3] + tuple(triple[key] for key in keys)


def audit(test: Rows, known: dict[str, Rows], keys: Sequence[int] = ()) -> Found:
    same = [identity(triple, keys) for triple in test]
    trained = known.get("train")
    if trained is None:
        trained = [triple for rows in known.values() for triple in rows]
    entities = {entity for triple in trained for entity in (triple[0], triple[2])}
    relations = {triple[1] for triple in trained}
    leaks = {}
    for name, rows in known.items():
        split = {identity(row, keys) for row in rows}
        leaks[name] = [i for i, triple in enumerate(same) if triple in split]
    unseen = []
    for i, (head, relation, tail, *_) in enumerate(test):
        if not {head, tail} <= entities or relation not in relations:
            unseen.append(i)
    return Found(
        [i for i, triple in enumerate(same) if triple in same[:i]],
        leaks,
        unseen,
        {entity for t in test for entity in (t[0], t[2])} - entities,
        {t[1] for t in test} - relations,
    )


def chosen_positions(
    found: Any, *, duplicates: str, leaks: str, unseen: str = "keep", given: int
) -> list[int]:
    """Return the positions of test facts, or of pairs, that an audit leaves."""
    dropped: set[int] = set()
    if duplicates == "drop":
        dropped |= set(found.duplicates)
    if leaks == "drop":
        dropped |= {i for positions in found.leaks.values() for i in positions}
    if unseen == "drop":
        dropped |= set(found.unseen)
    return [i for i in range(given) if i not in dropped]


def side(
    name: str, test: Rows, known: dict[str, Rows], chosen: Sequence[int], keys: Sequence[int] = ()
) -> Side:
    """Return the tasks of the chosen test triples; all test triples are known to be true."""
    every = [*test, *(triple for rows in known.values() for triple in rows)]
    answers: dict[Triple, set[Any]] = defaultdict(set)
    types: dict[Any, set[Any]] = defaultdict(set)
    asked = TARGET_COLUMN[name]
    columns = KNOWN_COLUMNS[name] + tuple(keys)

    def query(triple: Triple) -> Triple:
        return tuple(triple[column] for column in columns)

    of: dict[Any, list[Triple]] = defaultdict(list)
    for triple in every:
        answers[query(triple)].add(triple[asked])
        types[triple[1]].add(triple[asked])
        of[triple[1]].append(triple)
    categories = {relation: category(triples) for relation, triples in of.items()}
    stands, of_relation = degrees(known)
    number = {"head": stands, "tail": stands, "relation": of_relation}[name]
    made = Side()
    for i in chosen:
        triple = test[i]
        made.queries.append(query(triple))
        made.targets.append(triple[asked])
        made.answers.append(answers[query(triple)])
        made.typed.append(types[triple[1]])
        made.category.append(categories[triple[1]])
        made.head_degree.append(stands[triple[0]])
        made.tail_degree.append(stands[triple[2]])
        made.degree.append(bucket(number[triple[asked]]))
    return made


def degrees(known: dict[str, Rows]) -> tuple[dict[Any, int], dict[Any, int]]:
    """Return the number of distinct known triples of each entity and each relation."""
    stands: dict[Any, int] = defaultdict(int)
    of_relation: dict[Any, int] = defaultdict(int)
    for head, relation, tail in {triple[:3] for rows in known.values() for triple in rows}:
        of_relation[relation] += 1
        for entity in {head, tail}:
            stands[entity] += 1
    return stands, of_relation


def category(triples: Rows) -> str:
    """Return the category of the relation that has these triples."""
    heads: dict[Any, set[Any]] = defaultdict(set)
    tails: dict[Any, set[Any]] = defaultdict(set)
    for triple in triples:
        heads[triple[2]].add(triple[0])
        tails[triple[0]].add(triple[2])
    words = []
    for sets in (heads, tails):
        mean = sum(map(len, sets.values())) / len(sets)
        word = "1" if mean < 1.5 else "n"
        words.append(word)
    return "-".join(words)


def bucket(number: int) -> str:
    if number < 2:
        return str(number)
    low = 1 << number.bit_length() - 1
    return f"{low}-{2 * low - 1}"


def rank(scores: Sequence[float], target: int, among: set[int], without: set[int]) -> list[int]:
    """Return the counts above, tied and candidates, by their definition."""
    members = (among - without) | {target}
    above = sum(scores[column] > scores[target] for column in members)
    tied = sum(scores[column] == scores[target] for column in members)
    return [above, tied, len(members)]
