"""`inference`: intervals, comparisons, corrections and power."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = ("inference",)

FAULTS = [
    Fault(
        "half of a p-value",
        "python/truerank/inference/sign_flips.py",
        "return Share(min(1.0, max(p, least)), found.error)",
        "return Share(min(1.0, max(p, least)) / 2, found.error)",
    ),
]
