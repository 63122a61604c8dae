"""The notebook of the site runs, and shows what is stored in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.environment import ROOT
from support.notebooks import executed, read

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").glob("*.ipynb")), ids=lambda path: path.name
)
def test_it_shows_what_a_fresh_run_shows(path: Path) -> None:
    """After a change, `python tests/support/notebooks.py PATH` stores the new outputs."""
    stored = read(path)
    assert [cell.get("outputs") for cell in executed(stored)["cells"]] == [
        cell.get("outputs") for cell in stored["cells"]
    ]
