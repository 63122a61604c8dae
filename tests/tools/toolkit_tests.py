"""Run the tests that import a library which the README's test line does not install.

`python tests/tools/toolkit_tests.py PYTEST-OPTIONS...` fails also where a test is skipped. Of a
file all of whose functions are tests, only those that import one are run. The tests of devices have
a session of their own.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

LIBRARIES = """torch torchmetrics jax dask distributed pykeen pykeen_models docdata pytrec_eval ranx
sklearn polars torch_geometric recbole ir_measures mteb sentence_transformers nbclient"""
IMPORTS = re.compile(rf"import(orskip)?\(?.*\b({'|'.join(LIBRARIES.split())})\b")
PACKAGE = ("docs", "doctests", "extras", "release", "two_openmp", "types")
# The README's line runs the examples of all modules but those that need these libraries.
CHOSEN = ["-m", "not bare", "-k", "not (test_doctests and test_examples) or adapters"]


def naming(path: Path) -> list[str]:
    """Return the tests of a file that import one; the file, where not only tests do."""
    parts = re.split(r"^def ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    head = parts[0]
    functions = parts[1:]
    found = [code.partition("(")[0] for code in functions if IMPORTS.search(code)]
    whole = IMPORTS.search(head) or not all(name.startswith("test_") for name in found)
    if whole:
        return [str(path)]
    return [f"{path}::{name}" for name in found]


class Skips:
    """Collects the reasons of skipped tests."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.reasons.append(f"{report.nodeid}: {report.longrepr}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.reasons.append(f"{report.nodeid}: {report.longrepr}")


if __name__ == "__main__":
    files = [f"tests/package/test_{name}.py" for name in PACKAGE]
    for path in sorted(Path("tests").rglob("test_*.py")):
        if not path.is_relative_to("tests/devices") and str(path) not in files:
            files += naming(path)
    skips = Skips()
    # As `python -m pytest` does: processes of Dask import the tests, too.
    sys.path.insert(0, str(Path.cwd()))
    status = pytest.main([*sys.argv[1:], *CHOSEN, *files], plugins=[skips])
    if skips.reasons:
        sys.exit("tests were skipped:\n" + "\n".join(sorted({*skips.reasons})))
    sys.exit(status)
