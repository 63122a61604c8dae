"""RankEvaluator beside RecBole's own collector and evaluator; its page has a trainer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("recbole", reason="an evaluator of RecBole")
torch = pytest.importorskip("torch", reason="an evaluator of RecBole")

from recbole import evaluator as theirs  # noqa: E402

from truerank.adapters.recbole import RankEvaluator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

METRICS = ["MRR", "NDCG", "Hit", "MAP", "Recall", "Precision", "GAUC", "ShannonEntropy"]
OPTIONS = {"topk": [1, 5, 10], "metric_decimal_place": 12}


@pytest.fixture(autouse=True)
def removed_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back, for a test, a name that NumPy removed, and RecBole reads."""
    monkeypatch.setattr(np, "float", np.float64, raising=False)


def evaluated(config: dict[str, Any], batches: list[Any]) -> tuple[dict[str, float], Any, Any]:
    """The values of RecBole and of truerank, and truerank's report."""
    config = {**OPTIONS, "eval_args": {"mode": "full"}, "device": "cpu", **config}
    ours = RankEvaluator(config, threads=1)
    collector = theirs.Collector(config)
    for _ in range(2):  # nothing is left of the first time
        for batch in batches:
            ours.eval_batch_collect(*batch)
            collector.eval_batch_collect(*batch)
        expected = theirs.Evaluator(config).evaluate(collector.get_data_struct())
        values = ours.evaluate(ours.get_data_struct())
    assert list(values) == list(expected)
    return values, expected, ours.report


def batch_of(rng: np.random.Generator, users: int, items: int, levels: int) -> tuple[Any, ...]:
    """Scores, a third of them masked, and one to nine positive items of each user, one twice."""
    scores = rng.permuted(np.arange(users * items) % levels).reshape(users, items)
    scores = np.where(rng.random(scores.shape) < 1 / 3, -np.inf, scores)
    finite = (rng.permutation(np.flatnonzero(row > -np.inf)) for row in scores)
    chosen = [items[: rng.integers(1, 10)] for items in finite]
    rows = np.repeat(np.arange(users), list(map(len, chosen)))
    pairs = np.stack([rows, np.concatenate(chosen)])[:, np.r_[: len(rows), 0]]
    users_of_pairs, items_of_pairs = torch.from_numpy(pairs)
    return torch.from_numpy(scores.astype(np.float32)), None, users_of_pairs, items_of_pairs


@pytest.mark.parametrize("seed", range(2))
def test_values_are_those_of_recbole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = [batch_of(rng, users, 60, 10**6) for users in (1, 7, 40)]
    values, expected, report = evaluated({"metrics": METRICS}, batches)
    assert values == pytest.approx(dict(expected), abs=2e-7)
    assert (report.queries, report.ranks.protocol.filter) == (list(range(48)), ("masked",))


def test_ties_are_between_the_best_and_the_worst_order_and_halves_in_gauc() -> None:
    batches = [batch_of(np.random.default_rng(0), 200, 60, 7)]
    values, expected, report = evaluated({"metrics": METRICS[:-1]}, batches)
    assert values["gauc"] == pytest.approx(expected["gauc"], abs=2e-7)
    for name, key in (("mrr@5", "mrr@5"), ("map@5", "map_min@5"), ("hit@5", "success@5")):
        assert report[f"pessimistic.{key}"] < expected[name] < report[f"optimistic.{key}"]
        assert report[f"pessimistic.{key}"] < values[name] < report[f"optimistic.{key}"]


@pytest.mark.parametrize("levels", [7, 10**6])
def test_auc_of_labelled_pairs(levels: int) -> None:
    rng = np.random.default_rng(0)
    draws = rng.integers(0, [[levels], [2]], (3, 2, 400)).astype(np.float32)
    batches = [(torch.from_numpy(s), {"label": torch.from_numpy(x)}, None, None) for s, x in draws]
    config = {"metrics": ["AUC", "MAE"], "LABEL_FIELD": "label"}
    values, expected, _ = evaluated(config, batches)
    assert values == pytest.approx(dict(expected), abs=1e-12)
