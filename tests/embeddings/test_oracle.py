"""The oracle of fused scoring rounds as it should, compared with exact rational arithmetic."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.embeddings import FMA, fma_exact, odd_sum, same_bits, two_product
from support.problems import pool

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_fma_of_every_telling_value(kind: Any) -> None:
    """Return zeros of both signs, denormals, the ends of the range, infinities and NaN."""
    values = np.unique(pool(kind.__name__).astype(kind).view(f"u{kind().itemsize}")).view(kind)
    with np.errstate(all="ignore"):
        a, b, c = (x.ravel() for x in np.meshgrid(values, values, values))
        got = FMA[kind](a, b, c)
        wide = (x.astype(np.float64).tolist() for x in (a, b, c))
        expected = np.array([fma_exact(*abc, kind) for abc in zip(*wide, strict=True)], kind)
    assert same_bits(got, expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_fma_where_rounding_is_hard(kind: Any) -> None:
    """Test sums near and at the middle of two numbers, sums that cancel, and denormal sums."""
    rng = np.random.default_rng(3)
    digits = np.finfo(kind).nmant + 1
    size = 4000
    a, b, c = (
        np.ldexp(
            np.ldexp(1.0, digits - 1) + rng.integers(-3, 4, size) * 2.0 ** rng.integers(0, 9, size),
            rng.integers(-digits, digits, size),
        )
        * rng.choice([-1.0, 1.0], size)
        for _ in range(3)
    )
    a, b = np.ldexp(a, -digits), np.ldexp(b, -digits)
    for shift in (0, int(np.finfo(kind).minexp) - 2 * digits):
        near = -(a * b) * (1 + rng.integers(-3, 4, size) * float(np.finfo(kind).eps))
        for summand in (c, near):
            x, y, z = (v.astype(kind) for v in (np.ldexp(a, shift), b, np.ldexp(summand, shift)))
            wide = (v.astype(np.float64).tolist() for v in (x, y, z))
            expected = np.array([fma_exact(*xyz, kind) for xyz in zip(*wide, strict=True)], kind)
            with np.errstate(all="ignore"):
                assert same_bits(FMA[kind](x, y, z), expected)


@given(*[st.floats(width=32) for _ in range(3)])
def test_fma32_of_anything(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        got = np.asarray(FMA[np.float32](np.float32(a), np.float32(b), np.float32(c)))
        assert same_bits(got, np.asarray(fma_exact(a, b, c, np.float32)))


@given(*[st.floats() for _ in range(3)])
def test_fma64_of_anything(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        got = FMA[np.float64](*(np.array([x]) for x in (a, b, c)))
        assert same_bits(got, np.array([fma_exact(a, b, c, np.float64)]))


@pytest.mark.skipif(sys.version_info < (3, 13), reason="math.fma is of Python 3.13")
def test_fma_is_that_of_the_standard_library() -> None:
    import math

    rng = np.random.default_rng(4)
    for a, b, c in np.ldexp(rng.standard_normal((2000, 3)), rng.integers(-9, 9, (2000, 3))):
        assert fma_exact(a, b, c, np.float64) == math.fma(a, b, c)


@given(*[st.floats(-1e100, 1e100) for _ in range(2)])
def test_odd_sums(a: float, b: float) -> None:
    exact, got = Fraction(a) + Fraction(b), float(odd_sum(np.float64(a), np.float64(b)))
    if exact == Fraction(got):
        return
    assert np.float64(got).view(np.int64) % 2 == 1
    down, up = np.nextafter(got, -np.inf), np.nextafter(got, np.inf)
    assert Fraction(float(down)) < exact < Fraction(float(up))


@given(*[st.floats(1e-100, 1e100) for _ in range(2)])
def test_exact_products(a: float, b: float) -> None:
    p, low = two_product(np.float64(a), np.float64(b))
    assert Fraction(float(p)) + Fraction(float(low)) == Fraction(a) * Fraction(b)
