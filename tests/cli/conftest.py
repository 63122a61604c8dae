"""Fixtures of the tests of the command line, which run in a folder of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # tests that import it are skipped where click is missing
    from support.cli_files import Run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an empty folder the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process."""
    from support.cli_files import run_here

    return partial(run_here, capsys)
