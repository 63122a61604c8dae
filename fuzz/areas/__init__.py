"""The areas: tests that Hypothesis draws for.

`TESTS` has the files and folders of an area below `tests`; what only a fuzzer asks stands in a
module here. `CORE` are those whose inputs run the core, so that they are worth running under
sanitizers. `fuzz/faults.py` has the faults that they must find.
"""

from __future__ import annotations

TESTS = {
    "alignment": ("alignment",),
    "arguments": ("doors/test_odd_arguments.py",),
    "bounds": ("embeddings/test_bounds.py",),
    "counters": ("counting",),
    "embeddings": ("embeddings",),
    "inference": ("inference",),
    "joins": ("inference/test_data_sets.py",),
    "link_prediction": ("link_prediction", "tasks/test_task.py"),
    "metrics": ("metrics",),
    "rank": ("counting/test_ranking.py",),
    "renderers": ("tables", "page", "reporting/test_report_table.py"),
    "reports": ("ranks", "reporting", "metrics/test_groups.py", "plot"),
    "stores": ("stores",),
}
CORE = ("alignment", "bounds", "counters", "embeddings", "late_interaction", "link_prediction")
CORE += ("rank", "stores")
