"""`inference`: intervals and comparisons."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = ("inference",)

FAULTS = [
    Fault(
        "half of a p-value",
        "python/truerank/inference/statistics.py",
        "return 2 * (1 - smaller / (len(first) * len(second)))",
        "return 1 - smaller / (len(first) * len(second))",
    ),
]
