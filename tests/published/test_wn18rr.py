"""WN18RR's tasks and filter: a matrix from memory, files, shards or blocks, the same ranks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import truerank as tr
from oracles import counting

Array = npt.NDArray[Any]

SPLITS = ("train", "valid", "test")
ENTITIES, TRIPLES = 40_943, {"train": 86_835, "valid": 3_034, "test": 3_134}
TASKS, LONGEST = 200, 40  # the tasks with the most known answers
ROW_CUTS, COLUMN_CUTS = [60, 61, 190], [12_345, 12_346, 40_000]


class Problem(NamedTuple):
    """The tasks of both sides, their scores, and the folder of all files."""

    folder: Path
    scores: Array
    targets: Array
    sides: Array
    relations: Array
    lists: list[list[int]]

    def selection(self) -> tuple[Array, Array]:
        """Return the lists as a CSR pair."""
        lengths = [len(entries) for entries in self.lists]
        return np.cumsum([0, *lengths]), np.concatenate(self.lists).astype(int)


def read_triples(folder: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Return the labels by split."""
    triples = {}
    for split in SPLITS:
        lines = (folder / f"{split}.txt").read_text(encoding="utf-8").splitlines()
        triples[split] = [(h, r, t) for h, r, t in (line.split("\t") for line in lines)]
    return triples


@pytest.fixture(scope="module")
def problem(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Problem]:
    """Return tasks with long filters and a sample of others; the model has small whole numbers.

    Its scores are exact on every machine, and they tie.
    """
    triples = read_triples(data / "wn18rr")
    every = [triple for split in SPLITS for triple in triples[split]]
    labels = sorted({entity for head, _, tail in every for entity in (head, tail)})
    assert len(labels) == ENTITIES
    assert {split: len(triples[split]) for split in SPLITS} == TRIPLES
    ids = {label: i for i, label in enumerate(labels)}
    answers: dict[tuple[str, str, str], list[int]] = {}
    for head, relation, tail in every:
        answers.setdefault(("tail", head, relation), []).append(ids[tail])
        answers.setdefault(("head", tail, relation), []).append(ids[head])
    tasks = [
        task
        for head, relation, tail in triples["test"]
        for task in ((("tail", head, relation), ids[tail]), (("head", tail, relation), ids[head]))
    ]
    tasks.sort(key=lambda task: -len(answers[task[0]]))
    rng = np.random.default_rng(0)
    others = rng.choice(np.arange(LONGEST, len(tasks)), TASKS - LONGEST, replace=False)
    chosen = rng.permutation([*range(LONGEST), *others])
    queries = [tasks[i][0] for i in chosen]
    entities = rng.integers(-3, 4, (ENTITIES, 6)).astype(np.float32)
    scores = rng.integers(-3, 4, (TASKS, 6)).astype(np.float32) @ entities.T
    made = Problem(
        tmp_path_factory.mktemp("wn18rr"),
        scores,
        np.array([tasks[i][1] for i in chosen]),
        np.array([side for side, _, _ in queries]),
        np.array([relation for _, _, relation in queries]),
        [answers[query] for query in queries],
    )
    write(made)
    yield made
    shutil.rmtree(made.folder)  # 160 MB; pytest would keep three such folders


def write(problem: Problem) -> None:
    """Write the whole matrix, uneven shards of it, the tasks and the filter."""
    folder, scores = problem.folder, problem.scores
    arrays = {
        "scores": scores,
        "targets": problem.targets,
        "side": problem.sides,
        "relation": problem.relations,
    }
    for name, cuts, axis in (("rows", ROW_CUTS, 0), ("columns", COLUMN_CUTS, 1)):
        shards = np.split(scores, cuts, axis=axis)
        arrays |= {f"{name}-{i}": shard for i, shard in enumerate(shards)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    indptr, indices = problem.selection()
    np.savez(folder / "filter.npz", indptr=indptr, indices=indices)
    np.savez(folder / "scores.npz", scores=scores)
    scores.tofile(folder / "scores.bin")


@pytest.fixture(scope="module")
def expected(problem: Problem) -> tr.Ranks:
    return tr.rank(problem.scores, problem.targets, filter=problem.lists)


def assert_counts(counted: Any, expected: Any) -> None:
    for name in ("above", "tied", "candidates"):
        values = getattr(counted, name)
        assert values.dtype == np.int64
        assert np.array_equal(values, getattr(expected, name)), name


def test_memory_is_the_oracle(problem: Problem, expected: tr.Ranks) -> None:
    targets = problem.targets.tolist()
    slow = counting.count_large(problem.scores, targets, filter=problem.lists)
    assert_counts(expected, slow)
    assert expected.tied.max() > 1
    assert expected.candidates.min() < ENTITIES - 400  # a query with many answers is among them
    for i in (*range(0, TASKS, 25), int(expected.candidates.argmin())):
        row, target = problem.scores[i].tolist(), targets[i]
        members = set(range(ENTITIES)) - set(problem.lists[i]) | {target}
        assert expected.candidates[i] == len(members)
        assert expected.above[i] == sum(row[column] > row[target] for column in members)
        assert expected.tied[i] == sum(row[column] == row[target] for column in members)


def from_files(name: str, io: str, problem: Problem) -> tr.Ranks:
    scores = problem.folder / name
    return tr.rank(scores, problem.targets, filter=problem.selection(), io=io)


def from_store(name: str, io: str, problem: Problem, **how: Any) -> tr.Ranks:
    with tr.open_scores(problem.folder / name, io=io, **how) as store:
        return tr.rank(store, problem.targets, filter=problem.selection(), io=io)


def from_map(problem: Problem) -> tr.Ranks:
    scores = np.load(problem.folder / "scores.npy", mmap_mode="r")
    return tr.rank(scores, problem.targets, filter=problem.selection())


def new_counter(problem: Problem) -> tr.RankCounter:
    true = problem.scores[np.arange(TASKS), problem.targets]
    lists = problem.selection()
    return tr.RankCounter(true, problem.targets, candidates=ENTITIES, filter=lists)


def from_counter(problem: Problem) -> tr.Ranks:
    counter = new_counter(problem)
    for start in np.random.default_rng(1).permutation(np.arange(0, ENTITIES, 3_000)).tolist():
        counter.update(problem.scores[:, start : start + 3_000], start=start)
    assert not counter.differing.any()
    return counter.ranks()


def from_merged(problem: Problem) -> tr.Ranks:
    columns = np.random.default_rng(2).permutation(ENTITIES)
    counters = []
    for number, part in enumerate(np.split(columns, [9_000, 20_000])):
        counter = new_counter(problem)
        counter.update(problem.scores[:, part], columns=part)
        counter.save(problem.folder / f"counter-{number}.npz")
        counters.append(tr.RankCounter.load(problem.folder / f"counter-{number}.npz"))
    first, second, third = counters
    return second.merge(third.merge(first)).ranks()


def from_blocks(problem: Problem) -> tr.Ranks:
    def blocks() -> Iterator[tuple[Array, Array, list[list[int]]]]:
        for start in range(0, TASKS, 70):
            part = slice(start, start + 70)
            yield problem.scores[part], problem.targets[part], problem.lists[part]

    return tr.rank_blocks(blocks())


WAYS: dict[str, Callable[[Problem], tr.Ranks]] = {
    "map": from_map,
    "counter": from_counter,
    "merged": from_merged,
    "blocks": from_blocks,
}
for io in ("map", "read"):
    WAYS |= {
        f"file-{io}": partial(from_files, "scores.npy", io),
        f"rows-{io}": partial(from_files, "rows-*.npy", io),
        f"columns-{io}": partial(from_store, "columns-*.npy", io, axis=1),
        f"npz-{io}": partial(from_files, "scores.npz", io),
        f"raw-{io}": partial(
            from_store, "scores.bin", io, dtype="float32", shape=(TASKS, ENTITIES)
        ),
    }


@pytest.mark.parametrize("way", WAYS)
def test_every_way_counts_the_same(problem: Problem, expected: tr.Ranks, way: str) -> None:
    assert_counts(WAYS[way](problem), expected)


@pytest.mark.parametrize(
    "scores", ["scores.npy", "scores.npy --io read", "rows-*.npy", "columns-*.npy --shards columns"]
)
def test_the_command_line_counts_the_same(
    problem: Problem, expected: tr.Ranks, scores: str
) -> None:
    start = pytest.importorskip("support.cli_files").start
    saved = problem.folder / "ranks.npz"
    line = f"{scores} targets.npy --filter filter.npz --side side.npy --relation relation.npy"
    words = [str(problem.folder / w) if w.endswith((".npy", ".npz")) else w for w in line.split()]
    told = ("--split", "test", "--filtered-by", "train,valid,test", "--metrics", "mrr")
    outcome = start("evaluate", *words, *told, "--save", saved, "--format", "csv")
    assert (outcome.code, outcome.err) == (0, "")
    ranks = tr.load(saved)
    assert_counts(ranks, expected)
    assert ranks.protocol.filter == SPLITS
    assert ranks.side is not None
    assert np.array_equal(ranks.side.values, problem.sides)
    assert ranks.relation is not None
    assert np.array_equal(ranks.relation.values, problem.relations)
    tasks, mrr = len(expected), tr.report(expected)["mrr"]
    assert f"both,realistic,{tasks},{mrr}" in outcome.out.splitlines()
