"""`alignment`: tasks, both directions, candidates, CSLS and inferred pairs by definition."""

from __future__ import annotations

from fuzz.check import Fault

CORE = True
TESTS = ("alignment",)

FAULTS = [
    Fault(
        "an off-by-one in a filter",
        "python/truerank/alignment/task.py",
        "known = splits.rows[splits.tested :]",
        "known = splits.rows[splits.tested + 1 :]",
    ),
    Fault(
        "a wrong tie rule",
        "python/truerank/alignment/matching.py",
        "(scores == scores_of_matches) & (queries < queries_of_matches)",
        "(scores == scores_of_matches) & (queries > queries_of_matches)",
    ),
]
