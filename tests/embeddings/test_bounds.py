"""Counts decided by certified bounds are those of the scores, on ties and near ties above all."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import event, given, settings

import truerank as tr
from strategies.near_ties import (
    COVERED,
    FAMILIES,
    LARGEST_ADDEND,
    LINEAR,
    NearTies,
    all_near_ties,
    check_levels,
    choices,
    levels,
    near_ties,
    problems,
)
from support.environment import Run
from truerank import _core


@given(problems())
@settings(max_examples=100)
def test_counts_are_those_of_the_scores(made: NearTies) -> None:
    event(made.similarity)
    check_levels(made)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("similarity", COVERED)
def test_every_family(similarity: str, family: str) -> None:
    """Short vectors have tight bounds, long ones have sums near the limits."""
    for made in all_near_ties(family, similarity, ((3, 33, 1), (2, 65, 2), (7, 12, 70))):
        check_levels(made)


# --- faults of the first bounds


def test_sums_at_the_limit_of_words() -> None:
    """Sums of products near 2^30 and a bias come to more than that."""
    rng = np.random.default_rng(1)
    queries = rng.choice([-1, 1], (24, 8)).astype(np.float32)
    entities = np.concatenate([queries, -queries])
    bias = (rng.random(48) * 1.9).astype(np.float32)
    assert check_levels(NearTies(queries, entities, "dot", bias))[1] > 0


@pytest.mark.parametrize("exponent", [-1070, -600, 600, 1020])
def test_cosine_of_extreme_doubles(exponent: int) -> None:
    """The squares of these vectors are zero or infinite, but their directions are not."""
    rng = np.random.default_rng(2)
    vectors = np.ldexp(rng.standard_normal((40, 16)), exponent)
    assert check_levels(NearTies(vectors[:9], vectors[9:], "cosine"))[1] > 0


def test_a_void_bias_hides_no_other() -> None:
    """The largest bias tells how much a score is rounded; a NaN after it is not larger."""
    rng = np.random.default_rng(3)
    entities = rng.standard_normal((200, 16)).astype(np.float32) * 1e6
    queries = rng.standard_normal((9, 16)).astype(np.float32) * 1e6
    bias = -tr.score_embeddings(queries[:1], entities, similarity="l1")[0]
    bias[-2:] = np.nan, 0
    assert check_levels(NearTies(queries, entities, "l1", bias))[1] > 0


# --- the certificates themselves

# Cosine normalises vectors, and the others compute no value in the scores' type.
ROUNDED_ONCE = [name for name in COVERED if name not in ("cosine", "complex_l1", "poincare")]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("huge", "specials")])
@pytest.mark.parametrize("similarity", ROUNDED_ONCE)
def test_thresholds_on_values_in_rational_arithmetic(similarity: str, family: str) -> None:
    """A score is not below itself, and not above: nor may its value be, beyond both thresholds."""
    for kind, added, length in product(("float32", "float64"), ("", "bias", "means"), (8, 70)):
        made = near_ties(length, family, kind, similarity, (2, 7, length), added)
        if added and similarity not in LINEAR:
            continue
        assert_within_thresholds(made)


def assert_within_thresholds(made: NearTies) -> None:
    """Compare the exact value of every pair with the thresholds that its own score gives."""
    scores = tr.score_embeddings(
        made.queries, made.entities, similarity=made.similarity, bias=made.bias, csls=made.csls
    )
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(scores) & (np.abs(scores) < LARGEST_ADDEND)
    wide = scores.dtype == np.float64
    biases = np.zeros(len(made.entities)) if made.bias is None else made.bias
    largest_bias = max((abs(float(x)) for x in biases if abs(x) <= LARGEST_ADDEND), default=0.0)
    slope = (2 if made.similarity == "sql2" else 1) * (1 if made.csls is None else 2)
    for i, j in zip(*np.nonzero(usable), strict=True):
        q, e = ([Fraction(float(x)) for x in v] for v in (made.queries[i], made.entities[j]))
        offset, means = Fraction(float(biases[j])), None
        if made.csls is not None:
            means = float(made.csls.queries[i]), float(np.abs(made.csls.entities).max())
            offset -= Fraction(float(made.csls.entities[j]))
        asked = (wide, len(q), float(scores[i, j]), largest_bias, means)
        above, below, gamma = _core.value_thresholds(made.similarity, *asked)
        if not np.isfinite([above, below]).all():
            continue  # every pair is open
        exact = value(made.similarity, q, e) + offset / slope
        over = max(exact - Fraction(above), Fraction(below) - exact)
        if made.similarity == "dot" and over > 0:  # the rounding of a product's sum is added later
            norms = sum(x * x for x in q) * sum(x * x for x in e)
            assert over**2 <= Fraction(gamma) ** 2 * norms, (i, j)
        else:
            assert over <= 0, (i, j, made.similarity, float(over))


def value(similarity: str, q: list[Fraction], e: list[Fraction]) -> Fraction:
    """Return the value of a pair, by its definition."""
    if similarity == "dot":
        return sum((a * b for a, b in zip(q, e, strict=True)), Fraction(0))
    differences = [a - b for a, b in zip(q, e, strict=True)]
    if similarity.endswith("l1"):
        return -sum((abs(x) for x in differences), Fraction(0))
    return -sum((x * x for x in differences), Fraction(0)) / 2


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("similarity", [name for name in COVERED if name != "poincare"])
def test_long_chains_that_round_one_way(similarity: str, kind: str) -> None:
    """Each late addition loses nearly half a unit, so that scores are far from exact values."""
    term = 1 + 0.49 * 2048 * float(np.finfo(kind).eps)  # sums come to 4096
    entities = np.full((10, 4096), term if "l1" in similarity or similarity == "dot" else term**0.5)
    entities[5:] *= -1 if similarity in ("dot", "cosine") else 0  # which levels represent exactly
    queries = np.full((2, 4096), 1.0 if similarity in ("dot", "cosine") else 0.0)
    queries[1, 0] += 1
    assert check_levels(NearTies(queries.astype(kind), entities.astype(kind), similarity))[1] > 0


# --- what is chosen


def test_choices() -> None:
    assert _core.bounds_choices()[:2] == ["off", "int16"]
    before = _core.bounds()
    for name in choices():
        with levels(name):
            assert _core.bounds() == name
    assert _core.bounds() == before
    assert not _core.choose_bounds("int4")
    assert _core.bounds() == before


def test_bounds_rest_where_they_do_not_gain() -> None:
    """Few queries, short vectors and hostile data are scored; what is forced is not."""
    rng = np.random.default_rng(4)

    def bounded(queries: int, length: int, *, name: str, hostile: bool = False) -> float:
        entities = rng.standard_normal((2000, length)).astype(np.float32)
        near = entities[:queries] + rng.standard_normal((queries, length)).astype(np.float32) / 9
        if hostile:  # all pairs are ties
            entities[:] = entities[0]
        before = _core.bounds_tally()
        with levels(name):
            tr.rank_embeddings(near, entities, np.arange(queries), similarity="l1")
        pairs, went, *_ = (b - a for a, b in zip(before, _core.bounds_tally(), strict=True))
        assert pairs == queries * 2000
        return went / pairs

    # The first panel is scored, the second is tried; then it depends on the time that either takes.
    assert 0 < bounded(40, 64, name="int16") < 1
    assert bounded(23, 64, name="int16") == 0
    assert bounded(40, 7, name="int16") == 0
    assert bounded(40, 64, name="int16", hostile=True) == 0
    assert bounded(23, 64, name="int16!") == 1
    assert bounded(40, 7, name="int16!") == 1
    assert bounded(40, 64, name="int16!", hostile=True) == 1


def test_names_that_no_machine_can_use(run_python: Run) -> None:
    script = "import truerank"
    with pytest.raises(AssertionError, match=r"TRUERANK_BOUNDS: expected .*off, int16.*'int4'"):
        run_python(script, env={"TRUERANK_BOUNDS": "int4"})
    script = "from truerank import _core; print(_core.bounds())"
    assert run_python(script, env={"TRUERANK_BOUNDS": "int16!"}) == "int16!\n"
