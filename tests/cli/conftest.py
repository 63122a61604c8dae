"""Fixtures of the tests of the command line, which run in a folder of their own."""

from __future__ import annotations

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
    from support.cli_files import Outcome
    from truerank.cli.commands import commands

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            commands([str(argument) for argument in arguments], prog_name="truerank")
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, *capsys.readouterr())

    return run
