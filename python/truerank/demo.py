"""The main job on real input: a published link-prediction model, evaluated again.

The package ships the TransE model of Kinships (entity and relation vectors, triples) and the
figures published for it. `run` scores its 1,074 test triples on both sides, counts the filtered
ranks, compares their metrics with the published ones, counts once more after the scores were
rounded to bfloat16, where ties appear, and times the counting. Nothing is downloaded.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from .counting import rank
from .ranks import Ranks, concatenate
from .reporting.reports import Report, report

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Side = Literal["head", "tail"]

FOLDER = Path(__file__).parent / "data"
SPLITS = ("train", "valid", "test")
SIDES: tuple[Side, ...] = ("head", "tail")

# How far a measured figure may be from the published one, relative. Optimistic and pessimistic
# figures were computed from whole numbers in float64, so that only the order of a sum may differ: a
# mean rank that is off by one in one task would be off by 1e-5. The authors' realistic ranks, and
# the expected ranks which adjusted figures are held against, were float32.
KINDS = ("optimistic", "realistic", "pessimistic")
METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10", "median", "amr", "amri")
EXACT, SINGLE = 1e-12, 1e-6


@dataclass(frozen=True)
class Model:
    """TransE with inverse relations: tails are near h + r, heads are near t + r_inverse.

    `entities` is float32 (104, 256); `relations` float32 (50, 256), 25 forward ones, then their
    inverses. Vectors of the two relations that no test triple uses were not published and are
    zero. The splits are uint8 (n, 3): head, relation, tail.
    """

    entities: Floats
    relations: Floats
    train: NDArray[np.uint8]
    valid: NDArray[np.uint8]
    test: NDArray[np.uint8]
    entity_labels: NDArray[np.str_]
    relation_labels: NDArray[np.str_]


@dataclass(frozen=True)
class Tasks:
    """The tasks of one side: `queries[rows[i]]` asks for `targets[i]`; `filter` as in `rank`."""

    queries: Floats
    rows: Integers
    targets: Integers
    filter: tuple[Integers, Integers, Integers]


@dataclass(frozen=True)
class Published:
    """The published figures by key (`head.optimistic.mr`, ...) and where they come from."""

    dataset: str
    model: str
    source: str
    figures: dict[str, float]


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
        """Scores counted in a second."""
        return self.rows * self.columns / self.seconds


@dataclass(frozen=True)
class Demo:
    """All that the demonstration measured."""

    exact: Report
    rounded: Report
    published: Published
    speed: Speed
    seconds: float
    disagreements: list[str] = field(default_factory=list)


def load_model() -> Model:
    """The shipped model.

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


def load_published() -> Published:
    """The figures published for the shipped model.

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


def make_tasks(model: Model, side: Side) -> Tasks:
    """One ranking task for each test triple: its head or its tail is asked for.

    Triples that ask the same question share one query and one list of its known answers in all
    splits. A list holds the targets too: `rank` never leaves them out.

    Parameters
    ----------
    model
        The model and its triples.
    side
        The side that is predicted.

    Returns
    -------
    Tasks

    Examples
    --------
    >>> tasks = make_tasks(load_model(), "tail")
    >>> len(tasks.targets), len(tasks.queries) < len(tasks.targets)
    (1074, True)
    """
    given, asked, inverse = (0, 2, 0) if side == "tail" else (2, 0, 1)
    entities, relations = len(model.entities), len(model.relations) // 2
    known = np.concatenate([getattr(model, split) for split in SPLITS]).astype(np.int64)
    test = model.test.astype(np.int64)

    questions = known[:, given] * relations + known[:, 1]
    order = np.argsort(questions, kind="stable")
    indptr = np.zeros(entities * relations + 1, dtype=np.int64)
    np.cumsum(np.bincount(questions, minlength=entities * relations), out=indptr[1:])

    lists = test[:, given] * relations + test[:, 1]
    distinct, rows = np.unique(lists, return_inverse=True)
    vectors = model.relations[distinct % relations + inverse * relations]
    return Tasks(
        queries=model.entities[distinct // relations] + vectors,
        rows=rows.astype(np.int64),
        targets=test[:, asked],
        filter=(indptr, known[order, asked], lists),
    )


def l1_scores(queries: Floats, entities: Floats, *, block: int = 64) -> Floats:
    """Minus the L1 distance of every query to every entity.

    Parameters
    ----------
    queries, entities
        float32 (n, d) and (m, d).
    block
        Queries at a time: the differences take block * m * d * 4 bytes.

    Returns
    -------
    numpy.ndarray
        float32 (n, m). A row does not depend on `block`.

    Examples
    --------
    >>> l1_scores(np.float32([[0, 1]]), np.float32([[0, 1], [2, 2]])).tolist()
    [[-0.0, -3.0]]
    """
    scores = np.empty((len(queries), len(entities)), dtype=np.float32)
    for start in range(0, len(queries), block):
        difference = queries[start : start + block, None, :] - entities[None, :, :]
        np.abs(difference, out=difference)
        difference.sum(axis=2, out=scores[start : start + block])
    return np.negative(scores, out=scores)


def to_bfloat16(values: Floats) -> NDArray[np.void]:
    """Round float32 to bfloat16, to nearest and ties to even.

    numpy has no such type; the result is what it makes of a bfloat16 file, two raw bytes for each
    value, to be ranked with ``dtype="bfloat16"``.

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


def rank_sides(model: Model, *, threads: int | None = None) -> tuple[Ranks, Ranks]:
    """Count the filtered ranks of both sides, in float32 and after rounding to bfloat16.

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
    exact: list[Ranks] = []
    rounded: list[Ranks] = []
    for side in SIDES:
        tasks = make_tasks(model, side)
        scores = l1_scores(tasks.queries, model.entities)
        keywords: dict[str, Any] = {"rows": tasks.rows, "filter": tasks.filter, "threads": threads}
        for parts, ranks in (
            (exact, rank(scores, tasks.targets, **keywords)),
            (rounded, rank(to_bfloat16(scores), tasks.targets, dtype="bfloat16", **keywords)),
        ):
            ranks = ranks.with_labels(side=side)
            parts.append(ranks.with_protocol(filter=SPLITS, split="test", similarity="l1"))
    return concatenate(exact), concatenate(rounded)


def disagreements(measured: Report, published: Published) -> list[str]:
    """The published figures which `measured` does not confirm, one sentence each.

    Parameters
    ----------
    measured
        The report of both sides.
    published
        What it is held against.

    Returns
    -------
    list of str
        Empty where everything agrees.

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
    return SINGLE if kind == "realistic" or metric in ("amr", "amri") else EXACT


def measure_speed(
    rows: int = 2048, columns: int = 16384, *, repeats: int = 3, threads: int | None = None
) -> Speed:
    """Time the counting of a random float32 matrix in memory, best of several.

    Parameters
    ----------
    rows, columns
        Shape of the matrix; the default one has 134 MB, more than most caches hold.
    repeats
        How often it is counted; the fastest run is kept. numpy's two expressions run once.
    threads
        As in `truerank.rank`.

    Returns
    -------
    Speed

    Raises
    ------
    RuntimeError
        If the two ways do not give the same counts.

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


def run(*, threads: int | None = None) -> Demo:
    """Evaluate the shipped model, hold it against what was published, and time the counting.

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
