"""`renderers`: tables and pages with hostile labels: each form is read back by its own reader."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = (
    "tables",
    "page",
    "reporting/test_report_table.py",
)

FAULTS = [
    Fault(
        "a bar is not escaped",
        "python/truerank/tables/forms.py",
        r'_MARKDOWN = re.compile(r"[\\|*`~\[]',
        r'_MARKDOWN = re.compile(r"[\\*`~\[]',
    ),
    Fault(
        "control characters of names stay",
        "python/truerank/naming.py",
        "return _UNPRINTABLE.sub(escape, text)",
        "return text",
    ),
]
