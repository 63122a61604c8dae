"""Shared by the tests of the command line: good and bad files, and functions that run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

click = pytest.importorskip("click")

SCORES = np.array(
    [
        [0.9, 0.1, 0.5, 0.5, 0.2],
        [0.3, 0.3, 0.3, 0.1, 0.8],
        [0.7, 0.6, 0.5, 0.4, 0.3],
        [0.0, 0.1, 0.2, 0.3, 0.4],
    ],
    dtype=np.float32,
)
TARGETS = np.array([2, 0, 4, 4])
INDPTR = np.array([0, 1, 1, 4, 4])
INDICES = np.array([0, 0, 1, 2])


class Outcome(NamedTuple):
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    def refuses(self, code: int, message: str) -> None:
        """Check that it ended with one line that holds some words, and printed nothing else."""
        assert (self.code, self.out, self.err.count("\n")) == (code, "", 1)
        assert self.err.startswith("Error: ")
        assert message in self.err


Run = Callable[..., Outcome]


def command_of(name: str) -> Any:
    """Load a command."""
    from truerank.cli.commands import commands

    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    return command


def run_here(capsys: pytest.CaptureFixture[str], *arguments: object) -> Outcome:
    """Run the command line in this process."""
    from truerank.cli.commands import commands

    with pytest.raises(SystemExit) as ended:
        commands([str(argument) for argument in arguments], prog_name="truerank")
    code = ended.value.code
    assert isinstance(code, int)
    return Outcome(code, *capsys.readouterr())


def start(*arguments: object, **environment: str) -> Outcome:
    """Run the command line in a separate process."""
    command = [sys.executable, "-m", "truerank"]
    command += map(str, arguments)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def make_files(folder: Path) -> None:
    """Write good and bad files to a folder."""
    arrays: dict[str, Any] = {
        "scores": SCORES,
        "targets": TARGETS,
        "few": TARGETS[:2],
        "words": np.array(["a", "b", "c", "d"]),
        "rows": np.array([3, 0]),
        "chosen": np.array([0, 2, 4]),
        "bfloat16": SCORES.astype(ml_dtypes.bfloat16).view("V2"),
        "nan": SCORES.copy(),
    }
    arrays["nan"][1, 4] = np.nan
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "pair.npz", indptr=INDPTR, indices=INDICES)
    np.savez(
        folder / "lists.npz", indptr=[0, 1, 4], indices=[0, 0, 1, 2], lists=np.array([0, 0, 1, 1])
    )
    np.savez(folder / "foreign.npz", numbers=INDPTR)
    np.savez(folder / "shapeless.npz", format=b"csr", indptr=INDPTR, indices=INDICES)
    scipy.sparse.save_npz(folder / "csc.npz", scipy.sparse.csc_matrix((4, 5)))
    scipy.sparse.save_npz(folder / "wide.npz", scipy.sparse.csr_matrix((4, 6)))
    np.save(folder / "pickle.npy", np.array([{}, None]), allow_pickle=True)
