"""`link_prediction`: tasks, filters, candidates, samples, and their ranks by definition."""

from __future__ import annotations

from fuzz.check import Fault

CORE = True
TESTS = (
    "link_prediction",
    "tasks/test_task.py",
)

FAULTS = [
    Fault(
        "an off-by-one in a filter",
        "python/truerank/tasks/side.py",
        "distinct_in_place(codes)",
        "distinct_in_place(codes[:-1])",
    ),
    Fault(
        "a check left out",
        "python/truerank/tasks/candidates.py",
        "missing = answers[~are_among(answers, pool)]",
        'missing = answers[~are_among(answers, pool) & ("head" in noun)]',
    ),
    Fault(
        "a bound made too tight",
        "python/truerank/tasks/candidates.py",
        "allowed = np.diff(starts)[lists] - np.diff(skip_indptr)[rows]",
        "allowed = np.maximum(np.diff(starts)[lists] - np.diff(skip_indptr)[rows] - 1, 0)",
    ),
]
