"""A constant scorer: the tables of the pages are computed, and only the best place beats chance."""

from __future__ import annotations

import numpy as np
import pytest

from support import constant_scorer

pytestmark = pytest.mark.python_only


def test_tables_of_the_pages() -> None:
    """`python tests/support/constant_scorer.py` writes them again."""
    for page, tables in constant_scorer.tables_by_page().items():
        text = (constant_scorer.DOCS / page).read_text(encoding="utf-8")
        for name, table in tables.items():
            assert f"<!-- table: {name} -->\n\n{table}\n" in text


def test_no_place_is_better_than_the_optimistic_but_for_nan() -> None:
    """With a mean over all columns, only an optimistic rank and NaN beat chance."""
    n = constant_scorer.CANDIDATES
    chance = (1 / np.arange(1, n + 1)).mean()
    found = constant_scorer.table(0.0, constant_scorer.EACH)
    for name, row in found.items():
        beats = row.figures["mrr"].value > chance * (1 + 1e-6)
        assert beats == (row.preset.convention.rank == "optimistic"), name
