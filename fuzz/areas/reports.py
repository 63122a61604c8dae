"""`reports`: JSON, groups and macro averages, slices, joined and saved ranks, by definition."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = (
    "ranks",
    "reporting",
    "metrics/test_groups.py",
    "plot",
)

FAULTS = [
    Fault(
        "a wrong weight",
        "python/truerank/reporting/reports.py",
        "self._model = RankedTasks(tasks, self.seed)",
        "self._model = RankedTasks(self.ranks, self.seed)",
    ),
    Fault(
        "an off-by-one in the groups",
        "python/truerank/metrics/contributions.py",
        "np.split(order, bounds[1:])",
        "np.split(order, bounds[1:] - (groups > 2))",
    ),
    Fault(
        "a check left out",
        "python/truerank/ranks/protocol.py",
        "            for name in COMPARABLE\n            if self",
        "            for name in COMPARABLE[1:]\n            if self",
    ),
]
