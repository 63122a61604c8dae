"""Test the power of t tests against SciPy's noncentral t, which statsmodels' TTestPower takes."""

from __future__ import annotations

import math

import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.inference.power.t_test_power import MANY_UNITS, power_at, shift_for, units_for

pytestmark = pytest.mark.python_only

levels = st.sampled_from([0.001, 0.01, 0.05, 0.2])


def plain_power(shift: float, units: int, alpha: float) -> float:
    law = scipy.stats.nct(units - 1, shift)
    critical = scipy.stats.t.ppf(1 - alpha / 2, units - 1)
    found = float(law.sf(critical) + law.cdf(-critical))
    if not math.isnan(found):
        return found
    size = scipy.stats.chi(units - 1, scale=1 / math.sqrt(units - 1))  # where SciPy's law gives up

    def rejected(s: float) -> float:
        ends = scipy.stats.norm.cdf([shift - critical * s, -shift - critical * s])
        return float(ends.sum() * size.pdf(s))

    middle = shift / critical
    return float(scipy.integrate.quad(rejected, 0, 20, points=[middle], limit=500)[0])


@given(st.floats(0, 6), st.integers(2, 500), levels)
@settings(max_examples=60)
def test_power_is_that_of_the_noncentral_t(shift: float, units: int, alpha: float) -> None:
    expected = plain_power(shift, units, alpha)
    assert power_at(shift, units, alpha) == pytest.approx(expected, abs=1e-7)


@given(st.sampled_from([0.3, 0.8, 0.95]), st.integers(2, 2000) | st.just(10**8), levels)
@settings(max_examples=20)
def test_the_shift_gives_the_power(power: float, units: int, alpha: float) -> None:
    assert power_at(shift_for(power, units, alpha), units, alpha) == pytest.approx(power, abs=1e-9)


@given(st.floats(0.03, 4), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([0.01, 0.05]))
@settings(max_examples=30)
def test_units_are_the_fewest(standardised: float, power: float, alpha: float) -> None:
    units = units_for(standardised, power, alpha)
    assert plain_power(standardised * math.sqrt(units), units, alpha) >= power - 1e-7
    if units > 2:
        fewer = units - 1
        assert plain_power(standardised * math.sqrt(fewer), fewer, alpha) < power + 1e-7


@pytest.mark.parametrize(
    # statsmodels 0.15: ceil(TTestPower().solve_power(d, power=power, alpha=alpha)) units
    ("standardised", "power", "alpha", "units"),
    [(0.5, 0.8, 0.05, 34), (0.2, 0.8, 0.05, 199), (0.8, 0.9, 0.05, 19), (0.2, 0.9, 0.01, 376)],
)
def test_numbers_of_units_of_the_literature(
    standardised: float, power: float, alpha: float, units: int
) -> None:
    assert units_for(standardised, power, alpha) == units


def test_very_many_units() -> None:
    need = ((scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)) / 1e-5) ** 2
    assert units_for(1e-5, 0.8, 0.05) == pytest.approx(need, rel=1e-5)
    assert need > MANY_UNITS
