"""Test corrections of p-values against their definitions, scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from truerank.inference.multiplicity.corrections import (
    CORRECTIONS,
    benjamini_hochberg,
    check_corrections,
    holm,
)

pytestmark = pytest.mark.python_only

FAMILIES = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02]), min_size=1, max_size=8)
STATSMODELS = {"bh": "fdr_bh", "by": "fdr_by", "hochberg": "simes-hochberg"}


@given(FAMILIES)
def test_holm_is_its_definition(p_values: list[float]) -> None:
    """Holm's rule rejects hypotheses in order while p <= alpha / (number left)."""
    corrected = holm(p_values)
    for alpha in (0.01, 0.05, 0.3, *corrected):
        left, rejected = len(p_values), set()
        for i in sorted(range(len(p_values)), key=p_values.__getitem__):
            if left * p_values[i] > alpha:
                break
            rejected.add(i)
            left -= 1
        assert alpha >= 1 or rejected == {i for i, p in enumerate(corrected) if p <= alpha}


@given(FAMILIES)
def test_false_discovery_rates_are_scipys(p_values: list[float]) -> None:
    for name in ("bh", "by"):
        peer = scipy.stats.false_discovery_control(p_values, method=name)
        assert CORRECTIONS[name].of(p_values) == pytest.approx(peer.tolist(), rel=1e-12)
    assert benjamini_hochberg(p_values) == CORRECTIONS["bh"].of(p_values)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_corrections_are_those_of_statsmodels(name: str) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="an oracle")
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 100):
        for p_values in (rng.random(size), rng.random(size) ** 4, rng.integers(1, 5, size) / 40):
            peer = multitest.multipletests(p_values, method=STATSMODELS.get(name, name))[1]
            assert CORRECTIONS[name].of(p_values.tolist()) == pytest.approx(peer.tolist())


@pytest.mark.parametrize("name", CORRECTIONS)
def test_nan_is_left_out(name: str) -> None:
    with_nan = CORRECTIONS[name].of([0.02, math.nan, 0.01])
    assert math.isnan(with_nan.pop(1))
    assert with_nan == CORRECTIONS[name].of([0.02, 0.01])
    assert CORRECTIONS[name].of([]) == []
    assert math.isnan(CORRECTIONS[name].of([math.nan])[0])


@pytest.mark.parametrize("name", CORRECTIONS)
@given(p_values=FAMILIES, seed=st.integers(0, 5))
def test_order_does_not_matter(name: str, p_values: list[float], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(p_values))
    one = np.array(CORRECTIONS[name].of(p_values))[order].tolist()
    assert CORRECTIONS[name].of(np.array(p_values)[order].tolist()) == one
    assert all(p <= q <= 1 for p, q in zip(np.array(p_values)[order], one, strict=True))


def test_names_of_corrections_are_checked() -> None:
    assert check_corrections("methods", iter(["by"])) == ("by",)
    for wrong, kind, said in (
        ("holm", TypeError, "methods: expected a sequence of bonferroni, holm, hochberg, bh, by"),
        (3, TypeError, "methods: expected a sequence of .*, got int"),
        (["BH"], ValueError, "methods: expected names among .*, got 'BH'"),
        ([[]], ValueError, r"methods: expected names among .*, got \[\]"),
        (["bh", "bh"], ValueError, "methods: expected each name once, got 'bh' twice"),
    ):
        with pytest.raises(kind, match=f"^{said}"):
            check_corrections("methods", wrong)
