"""What papers report about protocols of alignment, on DBP15k zh-en with simple vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from truerank import Report, alignment

pytestmark = pytest.mark.python_only

WIDTH = 32


class Model(NamedTuple):
    """The pairs, their split, and vectors of both graphs."""

    data: alignment.AlignmentData
    train: Any
    test: Any
    left: Any
    right: Any

    def report(self, test: Any, candidates: str, **options: Any) -> Report:
        known = None if candidates == "test" else {"train": self.train}
        return alignment.evaluate(
            self.left, self.right, test, known=known, candidates=candidates, **options
        )


def normalised(rows: Any) -> Any:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def propagated(graph: alignment.Graph, ids: Any, known: Any) -> Any:
    """Spread a random vector of each known pair to the entities one and two steps away."""
    head, _, tail = graph.triples.T
    ends = (np.concatenate([head, tail]), np.concatenate([tail, head]))
    joined = sp.coo_array((np.ones(len(ends[0]), np.float32), ends), (graph.size, graph.size))
    start = np.zeros((graph.size, WIDTH), np.float32)
    start[ids] = known
    step = normalised(joined.tocsr() @ start)
    return np.hstack([step, normalised(joined.tocsr() @ step)])


@pytest.fixture(scope="module")
def model(data: Path) -> Model:
    read = alignment.read_dbp15k(data / "dbp15k_zh_en")
    parts = alignment.split_pairs(read.pairs, "30/70", seed=0)
    train = parts["train"]
    known = np.random.default_rng(0).standard_normal((len(train), WIDTH)).astype(np.float32)
    graphs = zip((read.left, read.right), train.T, strict=True)
    vectors = (propagated(graph, ids, known) for graph, ids in graphs)
    return Model(read, train, parts["test"], *vectors)


def test_candidates_of_the_protocols(model: Model) -> None:
    """Return 15,000 pairs, 4,500 of them known; 4,388 and 4,572 entities lack a counterpart."""
    for way, right, left in (
        ("test", 10_500, 10_500),
        ("unaligned", 15_072, 14_888),
        ("all", 19_572, 19_388),
    ):
        task = alignment.Task(
            model.test,
            left=model.data.left.size,
            right=model.data.right.size,
            candidates=way,
            known=None if way == "test" else {"train": model.train},
        )
        report = task.evaluate_embeddings(model.left, model.right)
        assert report["hits@1"] > 0.2  # a model, not chance
        ranks = report.ranks
        assert set(ranks.candidates[:10_500].tolist()) == {right}
        assert set(ranks.candidates[10_500:].tolist()) == {left}


def test_fewer_test_pairs_are_easier_and_amri_is_not(model: Model) -> None:
    """Figure 3 of "On the Ambiguity": the same model on a tenth of the test pairs."""
    few = alignment.split_pairs(model.test, {"few": 0.1, "rest": 0.9}, seed=1)["few"]
    small, large = (model.report(test, "test") for test in (few, model.test))
    assert small["hits@1"] > large["hits@1"] + 0.15
    # an index of hits removes only what is due to chance
    assert small["ah@1"] > large["ah@1"] + 0.15
    assert small["mr"] < large["mr"] / 8
    assert small["amri"] == pytest.approx(large["amri"], abs=0.01)

    small, large = (model.report(test, "all") for test in (few, model.test))
    for metric, apart in {"hits@1": 0.03, "hits@10": 0.03, "amri": 0.01}.items():
        assert small[metric] == pytest.approx(large[metric], abs=apart)


def test_csls_finds_more(model: Model) -> None:
    """OpenEA, section 6.1.2: CSLS, against hubs and isolated entities, finds more pairs."""
    plain, scaled = (model.report(model.test, "test", csls=k) for k in (None, 10))
    assert scaled["hits@1"] > plain["hits@1"] + 0.01
