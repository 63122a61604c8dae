"""Late interaction: sums of maxima over tokens, with bounds of every kind, against the definition.

Every score is a threshold for all others somewhere, and documents nearly tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from fuzz.oracles.vectors import score
from oracles.embeddings import same_bits, sums_of_maxima, top_k
from strategies.count_problems import tasks as count_tasks
from strategies.near_ties import FAMILIES, LARGEST, choices, expected_counts, levels
from support.outcomes import Problem, are_refused, attempt, defined
from support.problems import Array, assert_refused, assert_same, in_blocks
from truerank import _core

OPTIONS: Any = {"similarity": "maxsim"}
DIMENSIONS = (1, 2, 3, 8, 16, 17, 32, 64, 130, 768)
DTYPES = ("float32", "float32", "float64", "float16", "int8")
WORK = 1 << 23  # multiplications of a problem, about
MOST_PAIRS = 1 << 18  # of tokens, about: the definition is slow


def _clustered(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return vectors about a few centres, which lie about a common direction."""
    centres = rng.standard_normal((5, shape[1])) + 3 * rng.standard_normal(shape[1])
    return centres[rng.integers(0, 5, shape[0])] + 0.1 * rng.standard_normal(shape)


VALUES = {**FAMILIES, "clustered": _clustered}


@dataclass
class Lists:
    """Vectors of tokens, and where those of each query and of each document begin."""

    queries: tuple[Array, Array]
    documents: tuple[Array, Array]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.queries[1]) - 1, len(self.documents[1]) - 1

    @property
    def are_covered(self) -> bool:
        """Whether bounds take all pairs; not where there is a NaN."""
        vectors = self.queries[0], self.documents[0]
        return bool(np.max([np.abs(x, dtype=float).max() for x in vectors]) <= LARGEST / 4)

    def scores(self) -> Array:
        """Return the scores by their definition."""
        return sums_of_maxima(self.queries, self.documents, score_tokens)


def score_tokens(queries: Array, documents: Array, **options: Any) -> Array:
    """Return the products of tokens; those of bytes are float64."""
    if queries.dtype == np.int8:
        return score(queries.astype(np.float64), documents.astype(np.float64), **options)
    return score(queries, documents, **options)


def ends(starts: Array) -> tuple[list[int], list[int]]:
    """Return where each list begins, and where it ends."""
    return starts[:-1].tolist(), starts[1:].tolist()


def starts_of(lengths: Array) -> Array:
    return np.append(0, np.cumsum(lengths))


def twins(rng: np.random.Generator, vectors: Array, lengths: Array) -> tuple[Array, Array]:
    """Let documents follow that have the tokens of others, in another order and nearly equal."""
    first, last = ends(starts_of(lengths))
    chosen = rng.integers(0, len(lengths), len(lengths))
    picks = [rng.permutation(np.arange(first[i], last[i])) for i in chosen]
    copies = vectors[np.concatenate(picks)]
    if copies.dtype.kind == "f":
        towards = rng.choice([-np.inf, np.inf], copies.shape).astype(copies.dtype)
        with np.errstate(all="ignore"):
            moved = np.nextafter(copies, towards)
        copies = np.where(rng.random(copies.shape) < rng.choice([0, 0.1]), moved, copies)
    return np.concatenate([vectors, copies]), np.append(lengths, lengths[chosen])


def unequal(rng: np.random.Generator, vectors: Array, lengths: Array) -> Array:
    """Return vectors of which one of each list is 10 to 1,000 times as long as it was."""
    factors = np.ones((len(vectors), 1))
    factors[np.cumsum(lengths) - 1 - rng.integers(0, lengths)] = 10.0 ** rng.integers(1, 4)
    with np.errstate(all="ignore"):
        return (vectors * factors).astype(vectors.dtype)


@st.composite
def lists(draw: st.DrawFn) -> Lists:
    """Draw few or many tokens a list, of every magnitude; now and then thousands, or long ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    counts = draw(st.integers(1, 9)), draw(st.integers(1, 100))
    most = draw(st.sampled_from([1, 3, 14])), draw(st.sampled_from([1, 3, 20, 90]))
    lengths = [rng.integers(1, m + 1, n) for n, m in zip(counts, most, strict=True)]
    if draw(st.integers(0, 9)) == 0:
        lengths[1][rng.integers(counts[1])] = rng.integers(1000, 5000)
    most_tokens = MOST_PAIRS // lengths[0].sum()
    lengths[1] = lengths[1][: max(1, np.count_nonzero(lengths[1].cumsum() < most_tokens))]
    heights = [int(x.sum()) for x in lengths]
    d = min(draw(st.sampled_from(DIMENSIONS)), max(1, WORK // (heights[0] * heights[1])))
    dtype = draw(st.sampled_from(DTYPES))
    family = VALUES[draw(st.sampled_from(list(VALUES)))]
    if dtype == "int8":
        vectors = rng.integers(-128, 128, (sum(heights), d)).astype(np.int8)
    else:
        with np.errstate(all="ignore"):
            vectors = np.asarray(family(rng, (sum(heights), d)), float).astype(dtype)
    queries, documents = vectors[: heights[0]], vectors[heights[0] :]
    if draw(st.booleans()):  # few of them are distinct
        documents = documents[rng.integers(0, draw(st.integers(1, 9)), heights[1]) % heights[1]]
    if dtype != "int8" and draw(st.booleans()):
        queries = unequal(rng, queries, lengths[0])
        documents = unequal(rng, documents, lengths[1])
    if draw(st.booleans()):
        documents, lengths[1] = twins(rng, documents, lengths[1])
    documents[~documents.any(axis=1), 0] = 1  # A document's vector of zeros is refused as padding.
    return Lists((queries, starts_of(lengths[0])), (documents, starts_of(lengths[1])))


@st.composite
def calls(draw: st.DrawFn) -> tuple[Lists, Problem]:
    """Draw lists with tasks: several of a query, selections, a rule for NaN, threads, a block."""
    given = draw(lists())
    height, columns = given.shape
    targets, keywords = draw(count_tasks(height, columns, single=False, errors=False))
    keywords["block"] = draw(st.sampled_from([None, 1, 6, 64, 100]))
    if height == 1:  # a call without targets cannot count the tasks
        keywords.setdefault("rows", [0] * len(np.atleast_1d(targets)))
    return given, Problem(given.scores(), targets, keywords)


PLACE = "^scores: .* at row {}, column {} is NaN"
# Bounds wherever they hold; and where they seem to gain.
CHOICES = [*choices(), _core.bounds_choices()[-1]]


@settings(max_examples=12)
@given(calls(), st.booleans())
def counts(call: tuple[Lists, Problem], audit: bool) -> None:
    given, problem = call
    expected = defined(problem)
    targets, keywords = problem.call()
    for name in CHOICES:
        with levels(name):
            rank = partial(in_blocks(tr.rank_embeddings), given.queries, given.documents)
            got = attempt(rank, targets, audit=audit, **keywords, **OPTIONS)
        if are_refused(got, expected):
            assert_refused(got, expected, PLACE)
        else:
            assert_same(got, expected, audit=audit)


@settings(max_examples=25)
@given(lists(), st.sampled_from([None, 1, 6, 64]), st.sampled_from([1, 2]))
def thresholds(given: Lists, block: int | None, threads: int) -> None:
    """Every document is a target of every query; where bounds hold, all pairs go by them."""
    scores = given.scores()
    height, columns = given.shape
    rows = np.repeat(np.arange(height), columns)
    targets = np.tile(np.arange(columns), height)
    expected = expected_counts(scores, rows, targets, np.ones((len(rows), columns), bool))
    options = {"rows": rows, "nan": "worst", "block": block, "threads": threads, **OPTIONS}
    for name in CHOICES:
        before = _core.bounds_tally()
        with levels(name):
            got = in_blocks(tr.rank_embeddings)(given.queries, given.documents, targets, **options)
        pairs, bounded, *_ = np.subtract(_core.bounds_tally(), before)
        assert pairs == len(rows) * columns
        assert bounded == 0 or name != "off"
        assert bounded == pairs or name != "int16!" or not given.are_covered
        for ours, theirs in zip((got.above, got.tied, got.candidates), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


@settings(max_examples=3)
@given(st.integers(0, 2**32))
def decided_and_open(seed: int) -> None:
    """Bounds decide most pairs of random vectors, but not those of a true score and itself."""
    rng = np.random.default_rng(seed)
    given = Lists(*((rng.standard_normal((90, 16)), starts_of([3] * 30)) for _ in range(2)))
    before = _core.bounds_tally()
    with levels("int16!"):
        tr.rank_embeddings(given.queries, given.documents, rng.permutation(30), **OPTIONS)
    pairs, bounded, still_open, _ = np.subtract(_core.bounds_tally(), before)
    assert bounded == pairs == 900
    assert 30 <= still_open < 60


@settings(max_examples=12)
@given(calls(), st.integers(1, 9))
def scores_and_lists(call: tuple[Lists, Problem], k: int) -> None:
    """Scores have the bits of the definition; the top k are those of sorting."""
    given, problem = call
    threads = problem.keywords["threads"]
    got = tr.score_embeddings(given.queries, given.documents, threads=threads, **OPTIONS)
    assert same_bits(got, problem.scores)
    rows, columns = (np.arange(99) * 7 % n for n in given.shape)
    options = {"rows": rows, "threads": threads, **OPTIONS}
    got = tr.score_embeddings(given.queries, given.documents, columns, **options)
    assert same_bits(got, problem.scores[rows, columns])
    expected = attempt(top_k, problem.scores, k, **problem.plain)
    _, keywords = problem.call()
    for name in CHOICES:
        with levels(name):
            topk = partial(in_blocks(tr.topk_embeddings), given.queries, given.documents, k)
            found = attempt(topk, **keywords, **OPTIONS)
        if are_refused(found, expected):
            assert_refused(found, expected, PLACE)
            continue
        np.testing.assert_array_equal(found.ids, expected[0], err_msg=name, strict=True)
        assert same_bits(found.scores, expected[1])


@settings(max_examples=5)
@given(lists(), st.integers(0, 2**32))
def order_and_repeats(given: Lists, seed: int) -> None:
    """Neither the order of a document's tokens nor a repeat of them changes a bit."""
    rng = np.random.default_rng(seed)
    vectors, starts = given.documents
    picks = []
    for first, last in zip(*ends(starts), strict=True):
        again = rng.integers(first, last, rng.integers(0, 3))
        picks.append(rng.permutation(np.append(np.arange(first, last), again)))
    others = vectors[np.concatenate(picks)], starts_of([len(x) for x in picks])
    expected = tr.score_embeddings(given.queries, given.documents, **OPTIONS)
    assert same_bits(tr.score_embeddings(given.queries, others, **OPTIONS), expected)
