"""The Python code of the README runs as it is, one block after another."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.environment import ROOT
from support.markdown_pages import run

pytestmark = pytest.mark.python_only


def test_python_blocks_run_and_their_figures_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line with an expression and figures in a comment must have these figures as its value."""
    monkeypatch.chdir(tmp_path)
    assert run(ROOT / "README.md") >= 20
