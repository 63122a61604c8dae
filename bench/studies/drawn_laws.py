"""Sixty laws drawn with one seed: differences of two models, queries, and tasks.

A law draws samples of so many units, and says how an interval is asked of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import truerank as tr

DOCUMENTS = 1000
MOST_ANSWERS = 8
MOST_CANDIDATES = 5000
KINDS = ("differences", "queries", "tasks")
LOSING = (0.5, 0.5, 0.7, 0.95, 1.0)  # of what differs; half of it: the models are equal
# One law for each.
METRICS_OF_DIFFERENCES = (
    *("hits@1", "hits@10", "hits@10", "hits@10", "mrr", "mrr", "mrr", "mrr", "mr", "mr"),
    *("gmr", "gmr", "ndcg@10", "ndcg@10", "amri"),
    *("precision@10", "precision@10", "ndcg", "recall@10", "map"),
)
OF_QUERIES = METRICS_OF_DIFFERENCES[-5:]
METRICS_OF_QUERIES = (
    *("precision@1", "precision@10", "precision@10", "recall@1", "recall@10", "map", "map@10"),
    *("ndcg", "ndcg@10", "dcg", "dcg@5", "rbp:0.8", "f1@5", "f1@10", "err@10", "success@1"),
    *("success@10", "mrr", "mr", "r_precision"),
)
METRICS_OF_TASKS = (
    *("mr", "mr", "mrr", "gmr", "hits@1", "hits@10", "ratio.mr", "index.mr", "ratio.mrr"),
    *("index.hits@10", "ratio.hits@10", "index.mrr", "ratio.gmr", "index.gmr", "ratio.igmr"),
    *("index.igmr", "hmr", "imr", "power_mean:2", "power_mean:-0.5"),
)

Array = np.ndarray[Any, Any]
Rng = np.random.Generator


@dataclass(frozen=True)
class Law:
    """How samples are drawn, also in words; `draw` returns a report, or those of two models."""

    kind: str
    words: str
    units: int
    metric: str
    draw: Callable[[Rng, int], list[tr.Report]]
    truth: float | None = None  # where it is known without a sample

    def true_value(self, rng: Rng) -> float:
        """Return the value over a large sample; that of gmr of two models is a ratio."""
        if self.truth is not None:
            return self.truth
        values = [report[self.metric] for report in self.draw(rng, self._units_of_whole())]
        if len(values) == 1:
            return float(values[0])
        return float(values[0] / values[1] if self.metric == "gmr" else values[0] - values[1])

    def _units_of_whole(self) -> int:
        return 300_000 if "rows" not in self.words else 50_000

    def find(self, rng: Rng) -> Any:
        """Return the interval of a sample, or the comparison of its two models."""
        reports = self.draw(rng, self.units)
        if len(reports) == 1:
            return reports[0].interval(self.metric)
        return tr.compare(*reports, self.metric)


def drawn_laws(seed: int = 104) -> list[Law]:
    rng = np.random.default_rng(seed)
    makers = {
        difference_law: METRICS_OF_DIFFERENCES,
        query_law: METRICS_OF_QUERIES,
        task_law: METRICS_OF_TASKS,
    }
    return [make(rng, metric) for make, metrics in makers.items() for metric in metrics]


def drawn_units(rng: Rng) -> int:
    """From 30 to 2,000, large numbers more often than small ones."""
    return int(30 * (2000 / 30) ** np.sqrt(rng.random()))


# -- tasks -----------------------------------------------------------------------------------------


def strong(rng: Rng, candidates: Array, share: float) -> Array:
    """Most are among the first three, the rest anywhere."""
    anywhere = rng.integers(1, candidates + 1)
    first = np.minimum(rng.integers(1, 4, len(candidates)), candidates)
    return np.where(rng.random(len(candidates)) < share, first, anywhere)


def log_normal(rng: Rng, candidates: Array, sigma: float) -> Array:
    return np.ceil(np.exp(rng.normal(2, sigma, len(candidates)))).clip(1, candidates).astype(int)


Model = Callable[[Rng, Array], Array]


def drawn_model(rng: Rng) -> tuple[str, Model]:
    """A good, a weak or a heavy-tailed model of tasks."""
    kind = rng.integers(3)
    if kind == 0:
        share = float(rng.choice([0.8, 0.95, 0.99]))
        return f"good {share:g}", lambda rng, candidates: strong(rng, candidates, share)
    if kind == 1:
        share = float(rng.choice([0.01, 0.05, 0.2]))
        return f"weak {share:g}", lambda rng, candidates: strong(rng, candidates, share)
    sigma = float(rng.choice([1.0, 1.5, 2.0]))
    return f"log-normal {sigma:g}", lambda rng, candidates: log_normal(rng, candidates, sigma)


def drawn_candidates(rng: Rng) -> tuple[str, Callable[[Rng, int], Array]]:
    """1,000 each, or from 20 to 5,000."""
    if rng.random() < 0.4:
        return "", lambda rng, n: np.full(n, 1000)
    low, high = np.log(20), np.log(MOST_CANDIDATES)
    return ", candidates vary", lambda rng, n: np.exp(rng.uniform(low, high, n)).astype(int)


def drawn_weights(rng: Rng, share: float = 0.4) -> tuple[str, Callable[[Rng, int], Any]]:
    """None, or log-normal ones."""
    if rng.random() >= share:
        return "", lambda rng, n: None
    return ", weights", lambda rng, n: np.exp(rng.normal(0, 0.7, n))


def task_law(rng: Rng, metric: str) -> Law:
    words, model = drawn_model(rng)
    of_candidates, candidates_of = drawn_candidates(rng)
    of_weights, weights_of = drawn_weights(rng)
    has_rows = rng.random() < 0.3

    def draw(rng: Rng, units: int) -> list[tr.Report]:
        unit = np.arange(units)
        rows = np.ones(units, int)
        if has_rows:  # From 1 to 50 alike ones.
            rows = np.exp(rng.uniform(0, np.log(51), units)).astype(int)
        unit = np.repeat(unit, rows)
        candidates = candidates_of(rng, len(unit))
        ranks = model(rng, candidates)
        if has_rows:  # Half of the rows of a unit are as far from the top as its first.
            first = (np.cumsum(rows) - rows)[unit]
            shared = np.ceil((ranks / candidates)[first] * candidates).astype(int)
            ranks = np.where(rng.random(len(unit)) < 0.5, shared.clip(1, candidates), ranks)
        weights = weights_of(rng, len(unit))
        return [report_of(ranks, candidates, weights, unit)]

    words += of_candidates + of_weights + (", units of 1 to 50 rows" if has_rows else "")
    return Law("tasks", words, drawn_units(rng), metric, draw)


def report_of(ranks: Array, candidates: Any, weights: Any, unit: Any = None) -> tr.Report:
    tasks = np.arange(len(ranks))
    labels = {} if unit is None else {"unit": unit}
    ones = np.ones(len(ranks), int)
    ranks = tr.Ranks(ranks - 1, ones, candidates, weights=weights, queries=tasks, **labels)
    return tr.report(ranks)


# -- queries ---------------------------------------------------------------------------------------


def places_of(rng: Rng, answers: Array, quality: float) -> Array:
    """The places of the answers of each query, row by row: many are near the top if it is good."""
    shape = (len(answers), MOST_ANSWERS)
    of_query = quality
    if 0 < quality < 1:
        of_query = rng.beta(4 * quality, 4 * (1 - quality), len(answers))[:, None]
    near = rng.geometric(0.7, shape) - 1
    places = np.where(rng.random(shape) < of_query, near, rng.integers(0, DOCUMENTS, shape))
    places[np.arange(MOST_ANSWERS) >= answers[:, None]] = 2 * DOCUMENTS
    return apart(places)


def apart(places: Array) -> Array:
    """Sort the places of each query, and put answers of one place behind each other."""
    places = np.sort(places, axis=1)
    for j in range(1, MOST_ANSWERS):
        places[:, j] = np.maximum(places[:, j], places[:, j - 1] + 1)
    return places


def report_queries(answers: Array, places: Array, gains: Any = None) -> tr.Report:
    is_answer = np.arange(MOST_ANSWERS) < answers[:, None]
    queries, targets = np.nonzero(is_answer)
    above = places[is_answer]
    more = {} if gains is None else {"gains": gains[is_answer]}
    candidates = DOCUMENTS + 2 * MOST_ANSWERS
    ones = np.ones(len(above), int)
    ranks = tr.Ranks(above, ones, candidates, queries=queries, targets=targets)
    return tr.report(ranks._with(more), unit="query")


def drawn_answers(rng: Rng) -> tuple[int, str]:
    """The most answers of a query, and words of it."""
    most = int(rng.choice([1, 2, 4, 8]))
    return most, f"1 to {most} answers" if most > 1 else "1 answer"


def query_law(rng: Rng, metric: str) -> Law:
    most, of_answers = drawn_answers(rng)
    quality = float(rng.choice([0.03, 0.3, 0.8, 0.97, 1.0]))
    is_graded = metric.startswith(("ndcg", "dcg", "err"))

    def draw(rng: Rng, units: int) -> list[tr.Report]:
        answers = rng.integers(1, most + 1, units)
        places = places_of(rng, answers, quality)
        gains = None
        if is_graded:
            gains = rng.integers(1, 4, places.shape).astype(float)
        return [report_queries(answers, places, gains)]

    words = f"{of_answers}, {100 * quality:g} % near the top"
    return Law("queries", words, drawn_units(rng), metric, draw)


# -- differences -----------------------------------------------------------------------------------


def difference_law(rng: Rng, metric: str) -> Law:
    """Some units differ, of which a share loses; by one size, by many, or by heavy tails."""
    share = float(np.round(np.exp(rng.uniform(np.log(0.01), 0)), 3))
    losing = float(rng.choice(LOSING))
    units = drawn_units(rng)
    words = f"{100 * share:g} % differ, {100 * losing:g} % of them lose"
    truth = None
    if losing == 0.5:  # The models are equal.
        truth = 1.0 if metric == "gmr" else 0.0
    if metric in OF_QUERIES:
        of_models, draw_two = models_of_queries(rng)
    else:
        of_models, draw_two = models_of_tasks(rng, metric)

    def draw(rng: Rng, units: int) -> list[tr.Report]:
        differs = rng.random(units) < share
        loses = differs & (rng.random(units) < losing)
        return draw_two(rng, loses, differs & ~loses)

    return Law("differences", words + of_models, units, metric, draw, truth)


Models = Callable[[Rng, Array, Array], list[tr.Report]]


def models_of_tasks(rng: Rng, metric: str) -> tuple[str, Models]:
    """Two models of tasks, one of which ranks some worse than the other."""
    sizes = "of one size"
    if not metric.startswith("hits"):
        sizes = str(rng.choice(["of one size", "graded", "with heavy tails"]))
    of_weights, weights_of = drawn_weights(rng, 0.3)

    def draw(rng: Rng, loses: Array, wins: Array) -> list[tr.Report]:
        n = len(loses)
        candidates = np.full(n, MOST_CANDIDATES)
        better = log_normal(rng, candidates, 1.5)
        if sizes == "of one size":
            better = np.where(loses | wins, 1, better)
            worse = np.full(n, 11)
        elif sizes == "graded":
            worse = better + rng.geometric(0.2, n)
        else:
            worse = np.ceil(better * np.exp(rng.exponential(1.5, n)))
        worse = np.minimum(worse, MOST_CANDIDATES).astype(int)
        weights = weights_of(rng, n)
        one = report_of(np.where(loses, worse, better), candidates, weights)
        return [one, report_of(np.where(wins, worse, better), candidates, weights)]

    return f", {sizes}{of_weights}", draw


def models_of_queries(rng: Rng) -> tuple[str, Models]:
    """Two models of queries, one of which moves answers of some down."""
    most, of_answers = drawn_answers(rng)
    quality = float(rng.choice([0.3, 0.8, 0.97]))

    def draw(rng: Rng, loses: Array, wins: Array) -> list[tr.Report]:
        answers = rng.integers(1, most + 1, len(loses))
        better = places_of(rng, answers, quality)
        is_moved = (better < DOCUMENTS) & (rng.random(better.shape) < 0.5)
        worse = np.minimum(better + rng.geometric(0.2, better.shape), DOCUMENTS - 1)
        worse = apart(np.where(is_moved, worse, better))
        one = report_queries(answers, np.where(loses[:, None], worse, better))
        return [one, report_queries(answers, np.where(wins[:, None], worse, better))]

    return f", {of_answers}", draw
