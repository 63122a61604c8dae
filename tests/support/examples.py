"""How much is drawn and swept: all that a test names in CI, a quarter of it elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import hypothesis

Case = TypeVar("Case")

# Who runs the tests to see that the package works wants an answer soon; CI, and who says how many
# examples are drawn, asks whether anything is wrong. Outside CI each run draws other examples.
THOROUGH = bool(os.environ.get("CI") or os.environ.get("TRUERANK_EXAMPLES"))
ONE_OF = 1 if THOROUGH else 4
# A test that names no number takes so many examples.
USUAL = int(os.environ.get("TRUERANK_EXAMPLES") or -(-50 // ONE_OF))


def examples(number: int) -> hypothesis.settings:
    """Draw so many examples, or the share of them."""
    return hypothesis.settings(max_examples=-(-number // ONE_OF))


def some(cases: Sequence[Case]) -> Sequence[Case]:
    """Return all cases, or the share of them."""
    return cases[::ONE_OF]
