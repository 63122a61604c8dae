"""Queries with several right answers, to metrics: against libraries of retrieval metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import truerank as tr
from harness import Compare, Pair, Results
from harness.synthetic import Sizes
from peers import Peers, prepare_peers
from peers.retrieval import ARRAYS, FILES, METRICS, NDCG, TIE_METRICS, TIES, Judged

RIGHT = 20  # answers of a query, of grades 1 to 3
CHECKED = 1e-6  # relative: ranx and ir_measures average in other orders

Values = Mapping[str, float]


def draw_judged(shape: tuple[int, int], folder: Path) -> Judged:
    """Draw grades, and scores that are higher where the grade is; all of a row differ."""
    rng = np.random.default_rng(0)
    order = np.argsort(rng.random(shape), axis=1)
    grades = np.zeros(shape, np.int64)
    np.put_along_axis(grades, order[:, :RIGHT], rng.integers(1, 4, (shape[0], RIGHT)), axis=1)
    places = np.argsort(np.argsort(rng.normal(size=shape) + grades, axis=1), axis=1)
    return Judged((places / 8).astype(np.float32), grades, folder)


@pytest.fixture(scope="module")
def judged(sizes: Sizes, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Lists, as arrays and as files."""
    problem = draw_judged(sizes.lists, tmp_path_factory.mktemp("lists"))
    names = np.arange(sizes.lists[1])
    with (problem.folder / "run.txt").open("w") as run:
        for query, (ids, scores) in enumerate(zip(*problem.sorted_arrays(), strict=True)):
            lines = zip(names[ids], names + 1, scores, strict=True)
            run.writelines(f"q{query} Q0 d{id} {rank} {score} tag\n" for id, rank, score in lines)
    with (problem.folder / "qrels.txt").open("w") as qrels:
        for query, document in np.argwhere(problem.grades):
            qrels.write(f"q{query} 0 d{document} {problem.grades[query, document]}\n")
    return problem


@pytest.fixture
def hold(
    judged: Judged, compare: Compare, results: Results
) -> Callable[[str, Callable[[], Values], Peers, Judged], None]:
    """A function that times ours and the peers, and compares all their values."""

    def run(case: str, ours: Callable[[], Values], peers: Peers, problem: Judged) -> None:
        calls = prepare_peers(peers, problem, results)
        queries, documents = problem.scores.shape
        times = compare(
            f"{queries:,} lists of {documents:,}, {case}",
            {"truerank": ours, **calls},
            [Pair("truerank", name) for name in calls],
            agree=False,
        )
        for name in calls:
            values = times[name].result
            assert values == pytest.approx(times["truerank"].result, rel=CHECKED), name

    return run


@pytest.mark.filterwarnings("ignore:unsafe cast from uint64")  # in ranx, when numba compiles it
def test_lists_of_files(judged: Judged, hold: Callable[..., None]) -> None:
    """Six metrics of runs and judgements as trec_eval reads them."""
    run, qrels = judged.folder / "run.txt", judged.folder / "qrels.txt"

    def evaluate() -> Values:
        task = tr.retrieval.Task(qrels, entities=10**6)
        return task.evaluate_lists(run).to_dict(list(METRICS))

    hold("six metrics, from files", evaluate, FILES, judged)


def test_lists_of_arrays(judged: Judged, hold: Callable[..., None]) -> None:
    """The same of arrays that are sorted already, and judgements that are prepared."""
    run = tr.TopK(*judged.sorted_arrays())
    task = tr.retrieval.Task(csr_matrix(judged.grades), entities=judged.grades.shape[1])

    def evaluate() -> Values:
        return task.evaluate_lists(run).to_dict(list(METRICS))

    hold("six metrics, of sorted arrays", evaluate, ARRAYS, judged)


def evaluate_matrix(judged: Judged, keys: list[str]) -> Callable[[], Values]:
    """Return a function that evaluates all scores, of grades in a matrix."""
    grades = csr_matrix(judged.grades)

    def evaluate() -> Values:
        task = tr.retrieval.Task(grades, entities=grades.shape[1])
        return task.evaluate_scores(judged.scores).to_dict(keys)

    return evaluate


def test_expected_metrics_of_ties(judged: Judged, hold: Callable[..., None]) -> None:
    """Means over all orders of ties, and their ends, of scores with 50 values."""
    tied = judged._replace(scores=judged.scores // (judged.scores.max() / 50))
    tied = tied._replace(grades=(judged.grades > 0).astype(np.int64))
    kinds = ("expected", "optimistic", "pessimistic")
    keys = [f"{kind}.{name}@10" for name in TIE_METRICS for kind in kinds]
    hold("15 values of tied scores", evaluate_matrix(tied, keys), TIES, tied)


def test_ndcg(judged: Judged, hold: Callable[..., None]) -> None:
    """nDCG of graded answers, from two matrices."""
    hold("nDCG@10 of a matrix", evaluate_matrix(judged, ["ndcg@10"]), NDCG, judged)
