"""The package's folder has few entries; its modules differ in name and are short enough to read."""

from __future__ import annotations

from collections import Counter

import pytest

from support.environment import ROOT

PACKAGE = ROOT / "python" / "truerank"
pytestmark = [
    pytest.mark.python_only,
    pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside these tests"),
]


def test_at_most_twenty_three_entries() -> None:
    products = ("__pycache__", ".so", ".pyd")
    names = [path.name for path in PACKAGE.iterdir() if not path.name.endswith(products)]
    assert len(names) <= 23


def test_no_two_modules_share_a_name() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("folder", ["python/truerank"])
def test_files_of_at_most_600_lines(folder: str) -> None:
    lines = {path: path.read_bytes().count(b"\n") for path in (ROOT / folder).rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 600} == {}
