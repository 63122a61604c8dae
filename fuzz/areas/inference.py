"""`inference`: intervals, comparisons, corrections and power."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = ("inference",)

FAULTS = [
    Fault(
        "half of a p-value",
        "python/truerank/inference/sign_flips.py",
        "return min(1.0, float(tails.mean()))",
        "return min(1.0, float(tails.mean()) / 2)",
    ),
]
