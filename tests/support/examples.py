"""How much is drawn and swept: all in CI, about a quarter of it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import hypothesis

Case = TypeVar("Case")

# Who runs the tests to see that the package works wants an answer soon; CI asks whether anything is
# wrong. Outside CI each run draws other examples. A test that names no number takes so many.
ALL = 50
USUAL = int(os.environ.get("TRUERANK_EXAMPLES") or (ALL if os.environ.get("CI") else 13))
ONE_OF = 1 if USUAL >= ALL else 4


def examples(number: int) -> hypothesis.settings:
    """Draw so many examples, or the share of them that is drawn of the usual 50."""
    return hypothesis.settings(max_examples=-(-number * USUAL // ALL))


def some(cases: Sequence[Case]) -> Sequence[Case]:
    """Return all cases, or the share of them."""
    return cases[::ONE_OF]
