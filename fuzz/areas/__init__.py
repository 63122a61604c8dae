"""The areas: tests that Hypothesis draws for, and `@check(...)` functions.

`OF_TESTS` has those that are tests alone; each other one is a module here, whose docstring's first
line describes it. `CORE` are those whose inputs run the core, so that they are worth running under
sanitizers. `fuzz/faults.py` has the faults that they must find.
"""

from __future__ import annotations

OF_TESTS = {
    "alignment": ("alignment",),
    "arguments": ("doors/test_odd_arguments.py",),
    "bounds": ("embeddings/test_bounds.py",),
    "inference": ("inference",),
    "link_prediction": ("link_prediction", "tasks/test_task.py"),
    "metrics": ("metrics",),
    "renderers": ("tables", "page", "reporting/test_report_table.py"),
    "reports": ("ranks", "reporting", "metrics/test_groups.py", "plot"),
}
CORE = ("alignment", "bounds", "counters", "embeddings", "link_prediction", "rank", "stores")
