"""A demonstration on real data: a published link-prediction model is evaluated again.

The package ships the TransE model of Kinships (entity and relation vectors, triples) and the
figures published for it. `run` ranks both sides of its 1,074 test triples by the vectors, with
known answers filtered, and compares the metrics with the published ones. It counts again after
rounding the scores to bfloat16, which makes ties, and times the counting. Nothing is downloaded.
"""

from __future__ import annotations

import json
import math
import textwrap
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..counting.ranking import rank
from ..embeddings.scoring import score_embeddings
from ..inputs.naming import public
from ..link_prediction import Task
from ..ranks.container import Ranks
from ..reporting import Report, report
from ..reporting.rendering import metric_column
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count

Floats = NDArray[np.float32]

FOLDER = Path(__file__).parent / "data"

# The largest relative difference between a measured and a published figure. Optimistic and
# pessimistic figures were computed from whole numbers in float64, so that only the order of a sum
# may differ; one rank that is off by one would change the mean rank by 1e-5. The authors' realistic
# ranks, and the expected ranks in adjusted figures, were float32.
SIDES = ("head", "tail", "both")
KINDS = ("optimistic", "realistic", "pessimistic")
METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10", "median", "amr", "amri")
EXACT_TOLERANCE, FLOAT32_TOLERANCE = 1e-12, 1e-6


@public("truerank.cli.demo")
@dataclass(frozen=True)
class Model:
    """TransE with inverse relations: tails are near h + r, heads are near t + r_inverse.

    `entities` is float32 (104, 256). `relations` is float32 (50, 256): 25 relations, then their
    inverses. The vectors of two relations that no test triple uses were not published and are zero.
    The splits are uint8 (n, 3): head, relation, tail.
    """

    entities: Floats
    relations: Floats
    train: NDArray[np.uint8]
    valid: NDArray[np.uint8]
    test: NDArray[np.uint8]
    entity_labels: NDArray[np.str_]
    relation_labels: NDArray[np.str_]


@public("truerank.cli.demo")
@dataclass(frozen=True)
class Published:
    """The published figures by key (`head.optimistic.mr`, ...), and their source."""

    dataset: str
    model: str
    source: str
    figures: dict[str, float]


@public("truerank.cli.demo")
@dataclass(frozen=True)
class Speed:
    """The time to count random float32 scores in memory, and that of numpy's two expressions."""

    rows: int
    columns: int
    seconds: float
    numpy_seconds: float
    threads: int
    isa: str

    @property
    def rate(self) -> float:
        """Scores counted per second."""
        return self.rows * self.columns / self.seconds


@public("truerank.cli.demo")
@dataclass(frozen=True)
class Demo(AsTable):
    """The results of the demonstration, which print as `truerank demo` shows them."""

    exact: Report
    rounded: Report
    published: Published
    speed: Speed
    seconds: float
    disagreements: list[str] = field(default_factory=list)

    def table(self, metrics: Any = None, *, percent: bool = False, **options: Any) -> Table:
        """Return the measured figures above the published ones, and then those of bfloat16."""
        figures, rows = self.published.figures, []
        for side in SIDES:
            keys = [f"{side}.realistic.{metric}" for metric in METRICS]
            rows.append([side, *(self.exact[key] for key in keys)])
            rows.append([f"{side}, published", *(figures[key] for key in keys)])
        for kind in KINDS:
            keys = [f"{kind}.{metric}" for metric in METRICS]
            rows.append([f"bfloat16, {kind}", *(self.rounded[key] for key in keys)])
        columns = [
            Column("realistic ranks"),
            *(metric_column(key, percent=percent) for key in METRICS),
        ]
        tasks = len(self.exact.ranks)
        lines = [
            f"{self.published.model} on {self.published.dataset}: head and tail of "
            f"{tasks // 2:,} test triples, {tasks:,} filtered tasks.",
            *textwrap.wrap(f"The model was {self.published.source}.", 90),
        ]
        found = Table(columns, rows, before=lines, notes=self._notes())
        return found.table(metrics, **options)

    def _notes(self) -> list[str]:
        number, speed = len(self.published.figures), self.speed
        tied, tied_exactly = self.rounded.ranks.tied > 1, self.exact.ranks.tied > 1
        return [
            f"{number - len(self.disagreements)} of {number} published figures agree: optimistic "
            "and pessimistic ones to the last",
            "digit; realistic and adjusted ones to 1e-6, as float32 went into them.",
            *self.disagreements,
            f"In bfloat16 {tied.sum():,} of {len(tied):,} tasks tie ({tied.mean():.1%}), "
            f"in float32 {tied_exactly.sum():,}.",
            f"From vectors to counts in both dtypes: {self.seconds * 1e3:.0f} ms.",
            f"{speed.rows:,} x {speed.columns:,} random float32 scores in memory: "
            f"{speed.rate:.3g} scores/s ({speed.rate * 4e-9:.1f} GB/s),",
            f"{format_count(speed.threads, 'thread')}, {speed.isa}; numpy's (s > t).sum(1) and "
            f"(s == t).sum(1) take {speed.numpy_seconds / speed.seconds:.1f} times as long.",
        ]


@public("truerank.cli.demo")
def load_model() -> Model:
    """Load the shipped model.

    Returns
    -------
    Model

    Examples
    --------
    >>> load_model().entities.shape
    (104, 256)
    """
    with np.load(FOLDER / "kinships_transe.npz", allow_pickle=False) as file:
        return Model(**{part.name: file[part.name] for part in fields(Model)})


@public("truerank.cli.demo")
def load_published() -> Published:
    """Load the figures published for the shipped model.

    Returns
    -------
    Published

    Examples
    --------
    >>> load_published().figures["tail.optimistic.mr"]
    4.5
    """
    record = json.loads((FOLDER / "kinships_transe.json").read_text(encoding="utf-8"))
    return Published(**record)


@public("truerank.cli.demo")
def make_task(model: Model) -> Task:
    """Make the task that predicts the head and the tail of each test triple.

    Parameters
    ----------
    model
        The model and its triples.

    Returns
    -------
    Task

    Examples
    --------
    >>> task = make_task(load_model())
    >>> len(task.tail), len(task.tail.queries)
    (1074, 744)
    """
    known = {"train": model.train, "valid": model.valid}
    entities, relations = model.entity_labels, model.relation_labels
    return Task(model.test, known=known, entities=entities, relations=relations)


@public("truerank.cli.demo")
def query_vectors(model: Model, task: Task) -> dict[str, Floats]:
    """Compute the vectors of the distinct queries of both sides, to compare with the entities.

    Parameters
    ----------
    model
        The model.
    task
        Its task.

    Returns
    -------
    dict of str to numpy.ndarray
        "head" and "tail": float32 (queries, 256).

    Examples
    --------
    >>> model = load_model()
    >>> query_vectors(model, make_task(model))["tail"].dtype
    dtype('float32')
    """
    heads, relations = task.tail.queries.T
    inverses, tails = task.head.queries.T
    return {
        "head": model.entities[tails] + model.relations[inverses + len(model.relations) // 2],
        "tail": model.entities[heads] + model.relations[relations],
    }


@public("truerank.cli.demo")
def to_bfloat16(values: Floats) -> NDArray[np.void]:
    """Round float32 to bfloat16: to the nearest value, and ties to even.

    numpy has no such type. The result holds two raw bytes for each value, as numpy reads a bfloat16
    file, and is ranked with ``dtype="bfloat16"``.

    Parameters
    ----------
    values
        float32, without NaN.

    Returns
    -------
    numpy.ndarray
        Of the same shape, with dtype ``V2``.

    Examples
    --------
    >>> to_bfloat16(np.float32([1.0, 1.00390625, 1.01171875])).view(np.uint16).tolist()
    [16256, 16256, 16258]
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    halfway = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return ((bits + halfway) >> np.uint32(16)).astype(np.uint16).view("V2")


@public("truerank.cli.demo")
def rank_sides(model: Model, *, threads: int | None = None) -> tuple[Ranks, Ranks]:
    """Count the filtered ranks of both sides, in float32 and after rounding scores to bfloat16.

    Parameters
    ----------
    model
        The model and its triples.
    threads
        As in `truerank.rank`.

    Returns
    -------
    exact, rounded : Ranks
        The head tasks, then the tail tasks, labelled by side.

    Examples
    --------
    >>> exact, rounded = rank_sides(load_model())
    >>> len(exact), int(exact.tied.max()), bool(rounded.tied.max() > 1)
    (2148, 1, True)
    """
    task = make_task(model)
    queries = query_vectors(model, task)
    exact = task.evaluate_embeddings(
        *(queries["tail"], queries["head"], model.entities),
        similarity="l1",
        unique=True,
        threads=threads,
    )
    scores = {
        side: to_bfloat16(score_embeddings(vectors, model.entities, similarity="l1"))
        for side, vectors in queries.items()
    }
    rounded = task.evaluate_scores(
        *(scores["tail"], scores["head"]), unique=True, dtype="bfloat16", threads=threads
    )
    return exact.ranks, rounded.ranks


@public("truerank.cli.demo")
def disagreements(measured: Report, published: Published) -> list[str]:
    """List the published figures that `measured` does not confirm, in one sentence each.

    Parameters
    ----------
    measured
        The report of both sides.
    published
        The published figures.

    Returns
    -------
    list of str
        Empty if all figures agree.

    Examples
    --------
    >>> disagreements(report(rank_sides(load_model())[0]), load_published())
    []
    """
    return [
        f"{key}: published {figure!r}, measured {measured[key]!r}"
        for key, figure in published.figures.items()
        if not math.isclose(measured[key], figure, rel_tol=_tolerance(key))
    ]


def _tolerance(key: str) -> float:
    _, kind, metric = key.split(".")
    return (
        FLOAT32_TOLERANCE if kind == "realistic" or metric in ("amr", "amri") else EXACT_TOLERANCE
    )


@public("truerank.cli.demo")
def measure_speed(
    rows: int = 2048, columns: int = 16384, *, repeats: int = 3, threads: int | None = None
) -> Speed:
    """Time the counting of a random float32 matrix in memory, and keep the best of several runs.

    Parameters
    ----------
    rows, columns
        Shape of the matrix; the default has 134 MB, more than most caches hold.
    repeats
        Number of runs, of which the fastest counts. numpy's two expressions run once.
    threads
        As in `truerank.rank`.

    Returns
    -------
    Speed

    Raises
    ------
    RuntimeError
        If the counts differ from numpy's.

    Examples
    --------
    >>> measure_speed(8, 100, repeats=1).rate > 0
    True
    """
    scores = np.random.default_rng(0).random((rows, columns), dtype=np.float32)
    seconds = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        ranks = rank(scores, 0, threads=threads)
        seconds = min(seconds, time.perf_counter() - start)
    start = time.perf_counter()
    above, tied = (scores > scores[:, :1]).sum(axis=1), (scores == scores[:, :1]).sum(axis=1)
    numpy_seconds = time.perf_counter() - start
    if not (np.array_equal(ranks.above, above) and np.array_equal(ranks.tied, tied)):
        raise RuntimeError("the counts differ from numpy's")
    return Speed(
        rows=rows,
        columns=columns,
        seconds=seconds,
        numpy_seconds=numpy_seconds,
        threads=threads or _core.default_threads(),
        isa=_core.isa(),
    )


@public("truerank.cli.demo")
def run(*, threads: int | None = None) -> Demo:
    """Evaluate the shipped model, compare it with the published figures, and time the counting.

    Parameters
    ----------
    threads
        As in `truerank.rank`.

    Returns
    -------
    Demo

    Examples
    --------
    >>> run().disagreements
    []
    """
    start = time.perf_counter()
    exact, rounded = rank_sides(load_model(), threads=threads)
    seconds = time.perf_counter() - start
    measured, published = report(exact), load_published()
    return Demo(
        exact=measured,
        rounded=report(rounded),
        published=published,
        speed=measure_speed(threads=threads),
        seconds=seconds,
        disagreements=disagreements(measured, published),
    )
