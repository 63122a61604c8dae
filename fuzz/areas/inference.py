"""`inference`: intervals, comparisons and corrections."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = ("inference",)

FAULTS = [
    Fault(
        "half of a p-value",
        "python/truerank/inference/paired_tests.py",
        "return 2 * float(len(first) - smaller / len(missing)) / len(first)",
        "return float(len(first) - smaller / len(missing)) / len(first)",
    ),
]
