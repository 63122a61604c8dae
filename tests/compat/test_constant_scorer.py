"""The page on the constant scorer: its tables are computed, and right in all that it says."""

from __future__ import annotations

import numpy as np
import pytest

from support import constant_scorer
from truerank import compat

pytestmark = pytest.mark.python_only


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    return constant_scorer.constant_tables()


@pytest.mark.parametrize("name", ["exact", "presets", "columns"])
def test_tables_of_the_page(name: str, tables: dict[str, str]) -> None:
    """`python tests/support/constant_scorer.py` writes them again."""
    page = constant_scorer.PAGE.read_text(encoding="utf-8")
    assert f"<!-- table: {name} -->\n\n{tables[name]}\n" in page


def test_every_preset_is_in_the_tables(tables: dict[str, str]) -> None:
    for name in compat.PRESETS:
        assert f"| `{name}` |" in tables["presets"]


def test_no_place_is_better_than_the_optimistic_but_for_nan() -> None:
    """With a mean over all columns, only an optimistic rank and NaN beat chance."""
    n = constant_scorer.CANDIDATES
    chance = (1 / np.arange(1, n + 1)).mean()
    found = constant_scorer.table(0.0, constant_scorer.EACH)
    for name, row in found.items():
        beats = row.figure("mrr").value > chance * (1 + 1e-6)
        assert beats == (row.preset.convention.rank == "optimistic"), name
