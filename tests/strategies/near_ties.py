"""Vectors whose scores tie or nearly tie, and counts of them with certified bounds and without.

Every candidate of a query is the target of a task, so that every score is a threshold for all
others, and a single wrong decision changes a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import scored_by
from support.problems import Array, in_blocks
from truerank import _core
from truerank.alignment import CSLS
from truerank.embeddings.vectors import Embeddings

LINEAR = ("dot", "cosine", "l1", "sql2")  # scores that a bias or a mean is added to
COVERED = (*LINEAR, "l2", "inverse_l1", "inverse_l2", "complex_l1", "poincare")
KINDS = ("float32", "float64", "float16")
BYTES = ("int8", "uint8")
LENGTHS = (1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 70)
# The largest components, and the largest bias, that bounds cover.
LARGEST = 2.0**40
LARGEST_ADDEND = 2.0**60

Family = Callable[[np.random.Generator, tuple[int, int]], Array]
Counted = tuple[Array, Array, Array]  # above, tied and candidates
Tally = tuple[int, ...]  # pairs, and how many of them were bounded, open and scored


def _giant(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return small numbers, with one giant component in each vector."""
    made = rng.standard_normal(shape) / 100
    made[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] *= 1e6
    return made


def _half_steps(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return vectors whose components all lie nearly half a step off the same side of a level."""
    off = rng.choice([0, 0.49, -0.49], (shape[0], 1))
    made = rng.integers(-3, 4, shape) + off
    made[rng.integers(0, shape[0]), 0] = 127
    return made


def _grid(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return integers that levels of 8 bits represent exactly."""
    made = rng.integers(-3, 4, shape)
    made[:, rng.integers(0, shape[1])] = rng.choice([-127, 127], shape[0])
    return made


FAMILIES: dict[str, Family] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "few": lambda rng, shape: rng.integers(-2, 3, shape),
    "flat": lambda rng, shape: rng.choice([-1, 1], shape),
    "grid": _grid,
    "half steps": _half_steps,
    "giant": _giant,
    "zeros": lambda rng, shape: rng.integers(0, 2, (shape[0], 1)) * rng.standard_normal(shape),
    "far": lambda rng, shape: rng.standard_normal(shape) + 1000,
    "constant": lambda rng, shape: np.repeat(rng.standard_normal((shape[0], 1)), shape[1], 1),
    "scales": lambda rng, shape: np.ldexp(rng.standard_normal(shape), rng.integers(-30, 30, shape)),
    "scaled": lambda rng, shape: np.ldexp(
        rng.standard_normal(shape), rng.integers(-30, 30, (shape[0], 1))
    ),
    "wide": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 31, shape),
    "denormal": lambda rng, shape: np.ldexp(rng.standard_normal(shape), -135),
    "least": lambda rng, shape: np.ldexp(rng.standard_normal(shape), -1060),
    "huge": lambda rng, shape: np.ldexp(rng.standard_normal(shape), 900),
    "specials": lambda rng, shape: np.where(
        rng.random(shape) < 0.01,
        rng.choice([np.nan, np.inf, -np.inf, 1e39], shape),
        rng.standard_normal(shape),
    ),
}


def rounded(vectors: Array, kind: str) -> Array:
    """Return vectors as numbers of a kind; of bytes the largest is one of the extremes."""
    if kind not in BYTES:
        return vectors.astype(kind)
    with np.errstate(all="ignore"):
        vectors = np.nan_to_num(vectors / np.abs(vectors).max(initial=1e-300))
    least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    return np.clip(np.rint((vectors + (least == 0)) * 128), least, greatest).astype(kind)


@dataclass
class NearTies:
    """Vectors, what is added to their scores, and what else a call can say."""

    queries: Array
    entities: Array
    similarity: str
    bias: Array | None = None
    csls: CSLS | None = None
    allowed: Array | None = None  # the candidates, where not all are
    filtered: Array | None = None  # for each task and entity, whether the filter lists it
    block: int | None = None
    threads: int = 1
    step: int = 1  # from a candidate that is a target to the next one

    @property
    def added(self) -> dict[str, Any]:
        """Return the similarity, and what is added to it, as a call takes them."""
        return scored_by(self.similarity) | {"bias": self.bias, "csls": self.csls}

    def scores(self) -> Array:
        return tr.score_embeddings(self.queries, self.entities, **self.added)

    @property
    def covered(self) -> bool:
        """Whether bounds certainly take all pairs of this problem."""
        added = [] if self.bias is None else [self.bias]
        if self.csls is not None:
            added += [self.csls.queries, self.csls.entities]
        # NaN where one of them has a NaN
        largest = np.max([np.abs(x, dtype=float).max() for x in (self.queries, self.entities)])
        return (
            self.similarity in (LINEAR if added else COVERED[:-1])
            and (self.bias is None or self.csls is None)
            and (largest <= LARGEST / 4 or (self.similarity == "cosine" and largest < np.inf))
            and all(np.abs(x).max() <= LARGEST_ADDEND for x in added)
        )


def near_ties(
    seed: int, family: str, kind: str, similarity: str, sizes: tuple[int, int, int], added: str = ""
) -> NearTies:
    """Make vectors of a family: some repeat, moved by one unit in the last place, or negated."""
    rng = np.random.default_rng(seed)
    height, columns, length = sizes
    distinct = rng.integers(1, columns + 1)
    if similarity == "complex_l1":
        length *= 2
    made_of = FAMILIES[family](rng, (distinct + height, length))
    with np.errstate(all="ignore"):
        if similarity == "poincare":  # in the unit ball, or a little outside
            longest = np.sqrt((made_of.astype(float) ** 2).sum(axis=1).max())
            made_of = made_of / (longest * rng.choice([0.99, 1.0000001, 1.02, 3]))
        base = rounded(made_of, kind)
    queries = base[distinct:]
    base = base[:distinct]
    entities = base[rng.integers(0, distinct, columns)]
    if rng.integers(2):  # so that the mean is zero, and levels are those of the components
        entities = np.concatenate([entities, -entities])[-columns:]
    entities[rng.integers(columns)] = queries[rng.integers(height)]
    moved = rng.random((columns, length)) < rng.choice([0, 1 / length])
    if kind in BYTES:
        entities = entities ^ moved.astype(kind)
    else:
        towards = rng.choice([-np.inf, np.inf], (columns, length)).astype(kind)
        with np.errstate(invalid="ignore", over="ignore"):
            entities = np.where(moved, np.nextafter(entities, towards), entities)
    made = NearTies(queries, entities, similarity)
    wide = np.float64 if kind in ("float64", *BYTES) else np.float32
    if added == "bias":
        made.bias = (rng.standard_normal(columns) * 10.0 ** rng.integers(-9, 10)).astype(wide)
        if rng.integers(2):  # some biases are too large, or no numbers
            made.bias[rng.integers(columns)] = rng.choice([np.nan, np.inf, -np.inf, 1e38])
    elif added == "equal":  # biases that make the scores of one query nearly equal
        with np.errstate(invalid="ignore", over="ignore"):
            level = wide(rng.standard_normal() * 10.0 ** rng.integers(-3, 8))
            made.bias = level - made.scores()[0]
            jitter = rng.integers(-3, 4, columns) * np.spacing(np.maximum(level, made.bias))
            made.bias = (made.bias + jitter).astype(wide)
    elif added == "means":
        size = 10.0 ** rng.integers(-9, 10)
        means = [(rng.standard_normal(n) * size).astype(wide) for n in (height, columns)]
        made.csls = CSLS(*means, 1)
    return made


def all_near_ties(
    family: str, similarity: str, all_sizes: Sequence[tuple[int, int, int]]
) -> Iterator[NearTies]:
    """Make near ties of a family in every kind, with every addition."""
    for seed, kind in enumerate(KINDS):
        for sizes in all_sizes:
            for added in ("", "bias", "equal", "means"):
                yield near_ties(seed, family, kind, similarity, sizes, added)


@st.composite
def problems(draw: st.DrawFn) -> NearTies:
    """Draw vectors of any family, with everything that a call can combine with them."""
    similarity = draw(st.sampled_from(COVERED))
    family = draw(st.sampled_from(list(FAMILIES)))
    of_bytes = similarity not in ("complex_l1", "poincare")  # which take none, or go without bounds
    kind = draw(st.sampled_from([*KINDS, *BYTES] if of_bytes else [*KINDS]))
    added = draw(st.sampled_from(["", "", "bias", "equal", "means"]))
    height = draw(st.integers(1, 13))
    columns = draw(st.sampled_from([1, 2, 5, 8, 16, 31, 64, 65]))
    sizes = height, columns, draw(st.sampled_from(LENGTHS))
    made = near_ties(draw(st.integers(0, 2**32)), family, kind, similarity, sizes, added)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        made.filtered = rng.random((height * columns, columns)) < 0.3
    if draw(st.integers(0, 3)) == 0:
        made.allowed = np.flatnonzero(rng.random(columns) < 0.6)
    made.block = draw(st.sampled_from([None, 1, 6, 64]))
    made.threads = draw(st.sampled_from([1, 2, 3]))
    return made


@contextmanager
def levels(name: str) -> Iterator[None]:
    """Use these levels within a block of code."""
    before = _core.bounds()
    assert _core.choose_bounds(name), name
    try:
        yield
    finally:
        _core.choose_bounds(before)


def choices() -> list[str]:
    """Return the levels of this machine, without bounds first, and with them wherever they hold."""
    names = _core.bounds_choices()
    return names[:1] + [f"{name}!" for name in names[1:]]


def expected_counts(scores: Array, rows: Array, targets: Array, inside: Array) -> Counted:
    """Return above, tied and candidates by comparing every score with every true score.

    `inside` says for each task and column whether it is a candidate.
    """
    inside = inside.copy()
    inside[np.arange(len(rows)), targets] = True
    true = scores[rows, targets][:, None]
    above = ((scores[rows] > true) & inside).sum(axis=1)
    tied = ((scores[rows] == true) & inside).sum(axis=1)
    void = np.isnan(true[:, 0])
    candidates = inside.sum(axis=1)
    return np.where(void, candidates - 1, above), np.where(void, 1, tied), candidates


def lists_of(mask: Array) -> tuple[Array, Array]:
    """Return a selection of the columns at which a mask of tasks and columns is set."""
    return np.append(0, np.cumsum(mask.sum(axis=1))), mask.nonzero()[1].copy()


def compare_levels(
    made: NearTies, pairs: int | None, expected: Sequence[Sequence[Array]], counts: Any
) -> Tally:
    """Compare what `counts` returns with bounds of every kind and without; return the last tally.

    There are so many pairs of a task and a candidate, if that is known.
    """
    done: Tally = ()
    for name in choices():
        before = _core.bounds_tally()
        with levels(name):
            got = counts()
        done = tuple(b - a for a, b in zip(before, _core.bounds_tally(), strict=True))
        for found, wanted in zip(got, expected, strict=True):
            for ours, theirs in zip(found, wanted, strict=True):
                assert (ours == theirs).all(), (name, np.flatnonzero(ours != theirs), done)
        if name == "off":
            assert done[1:] == (0, 0, 0)
        elif made.covered:
            assert done[1] == done[0], (name, done)
            assert pairs is None or done[0] == pairs, (name, done)
    return done


def all_tasks(made: NearTies) -> tuple[Array, Array, Array, Array]:
    """Return the candidates; the rows and targets of tasks; what the filter lists.

    Tasks are all pairs, or those of each so-many-th candidate.
    """
    chosen = np.arange(len(made.entities)) if made.allowed is None else made.allowed
    targets = chosen[:: made.step]
    rows = np.repeat(np.arange(len(made.queries)), len(targets))
    filtered = np.zeros((len(rows), len(made.entities)), bool)
    if made.filtered is not None:
        filtered = made.filtered[: len(rows)]
    return chosen, rows, np.tile(targets, len(made.queries)), filtered


def check_levels(made: NearTies) -> Tally:
    """Check that the counts are those of the scores, with bounds of every kind and without.

    Returns how many pairs there were with the last kind, how many of them went by bounds, how many
    of these were open, and how many were scored.
    """
    chosen, rows, targets, filtered = all_tasks(made)
    inside = np.isin(np.arange(len(made.entities)), chosen) & ~filtered
    options = made.added | {"rows": rows, "candidates": made.allowed, "nan": "worst"}
    options |= {"block": made.block, "threads": made.threads}
    if made.filtered is not None:
        options["filter"] = lists_of(filtered)

    def counts() -> list[Counted]:
        call = in_blocks(tr.rank_embeddings)
        got = call(made.queries, made.entities, targets, **options)
        return [(got.above, got.tied, got.candidates)]

    expected = expected_counts(made.scores(), rows, targets, inside)
    return compare_levels(made, len(rows) * len(chosen), [expected], counts)


def check_grid(made: NearTies) -> Tally:
    """Do the same for both directions of a grid: queries and entities rank each other."""
    chosen, rows, targets, filtered = all_tasks(made)
    if len(chosen) == 0:
        return (0, 0, 0, 0)  # a grid has queries and entities
    scores = made.scores()
    height, columns = scores.shape
    to_left = filtered[:, np.arange(height) % columns]
    inside = np.isin(np.arange(columns), chosen) & ~filtered
    expected = [
        expected_counts(scores, rows, targets, inside),
        expected_counts(scores.T, targets, rows, ~to_left),
    ]
    opened = Embeddings(made.queries, made.entities, **made.added)
    core_grid = _core.Grid(opened.core(), np.arange(height), chosen)
    filters = [None, None]
    if made.filtered is not None:
        filters = [_core.Selection(*lists_of(mask)) for mask in (filtered, to_left)]
    tasks = _core.Tasks(rows, targets, filters[0])

    def counts() -> list[Counted]:
        rules = ("worst", made.block or 0, made.threads)
        both = _core.rank_grid(core_grid, tasks, filters[1], *rules)
        arrays = [one.arrays for one in both]
        return [(x["above"], x["tied"], x["candidates"]) for x in arrays]

    return compare_levels(made, len(rows) * (len(chosen) + height), expected, counts)
