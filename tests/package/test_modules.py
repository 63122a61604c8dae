"""Every module has a file of tests of its name, or stands in the table that says which tests it."""

from __future__ import annotations

import pytest

from support.environment import ROOT

PACKAGE = ROOT / "python" / "truerank"
TESTS = ROOT / "tests"

# The modules that each file of tests is the first to run after a change, below both folders.
TESTED_BY = {
    "adapters/test_pykeen_evaluator.py": """
        adapters/pykeen
    """,
    "alignment/test_both_directions.py": """
        alignment/local_scaling
    """,
    "cli/test_evaluate.py": """
        cli/options cli/output
    """,
    "cli/test_line.py": """
        cli/commands
    """,
    "compat/test_conventions.py": """
        compat/reports
    """,
    "compat/test_toolkits.py": """
        compat/interpreter
    """,
    "counting/test_driver.py": """
        counting/job counting/partial_counts
    """,
    "counting/test_progress_bars.py": """
        inputs/progress_listeners
    """,
    "devices/test_devices.py": """
        devices/backends devices/bounded_scores
        devices/count_kernels devices/score_sources devices/scoring_kernels
        devices/task_counts devices/unchecked
        devices/vector_scores
        stores/on_device
    """,
    "embeddings/test_inputs.py": """
        embeddings/vectors
    """,
    "embeddings/test_scores.py": """
        embeddings/scoring
    """,
    "inputs/test_selections.py": """
        inputs/selection
    """,
    "link_prediction/test_task.py": """
        link_prediction/sides
    """,
    "link_prediction/test_triples.py": """
        records/splits
    """,
    "metrics/test_chance_model.py": """
        metrics/order_statistics metrics/transforms
    """,
    "metrics/test_groups.py": """
        ranks/grouping
    """,
    "metrics/test_metrics.py": """
        metrics/averages metrics/metric_table metrics/values
    """,
    "package/test_docs.py": """
    """,
    "package/test_types.py": """
    """,
    "plot/test_plots.py": """
        plot/drawing
    """,
    "ranks/test_ranks.py": """
        ranks/container ranks/joining
    """,
    "records/test_doors_of_ids.py": """
        records/id_tables
    """,
    "records/test_list_files.py": """
    """,
    "records/test_list_forms.py": """
        records/lists
    """,
    "reporting/test_json_reports.py": """
    """,
    "reporting/test_model_table.py": """
    """,
    "reporting/test_report_members.py": """
    """,
    "reporting/test_report_table.py": """
    """,
    "reporting/test_reports.py": """
    """,
    "retrieval/test_grades.py": """
        metrics/answers
    """,
    "retrieval/test_shapes.py": """
        retrieval/sets
    """,
    "retrieval/test_task.py": """
        retrieval/side
    """,
    "stores/test_stores.py": """
        stores/store
    """,
    "tables/test_table.py": """
        tables/as_table tables/forms
    """,
    "tasks/test_candidates.py": """
    """,
    "tasks/test_task.py": """
        tasks/list_evaluation tasks/score_evaluation
        tasks/side
    """,
    "test_errors.py": """
        inputs/checks
    """,
}


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests")
def test_every_module_has_a_file_of_tests() -> None:
    paths = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]
    modules = [path for path in paths if not path.stem.startswith("__")]
    unnamed = set()
    for module in modules:
        if not (TESTS / module.parent / f"test_{module.name}").is_file():
            unnamed.add(module.with_suffix("").as_posix())
    listed = [module for modules in TESTED_BY.values() for module in modules.split()]
    assert sorted(listed) == sorted(unnamed - {"arrays/types"})
    assert [name for name in TESTED_BY if not (TESTS / name).is_file()] == []
