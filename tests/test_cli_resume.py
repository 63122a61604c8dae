"""`truerank evaluate --save --resume`: a stopped run goes on, to the same bytes in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cli_files
import truerank as tr
from cli_files import Outcome, Run

run = cli_files.run

# Runs the command line with small tiles and a checkpoint after each; after so many reports of
# progress it meets a signal.
DRIVER = """
import os, signal, sys
from truerank import streaming
from truerank.__main__ import main
from truerank.cli import runs

name, after, *arguments = sys.argv[1:]
streaming.SECONDS_BETWEEN_CHECKPOINTS = 0.0
streaming.TILE_BYTES = 4096

class Follower(runs.Follower):
    reports = 0

    def __call__(self, progress):
        super().__call__(progress)
        Follower.reports += 1
        if Follower.reports == int(after):
            os.kill(os.getpid(), getattr(signal, name))

runs.Follower = Follower
sys.argv = ["truerank", *arguments]
main()
"""


def driven(name: str, after: int, *arguments: object) -> Outcome:
    """Run the command line until it has told of progress so often; 0: to its end."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, name, str(after), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def line(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """A command line over shards (by rows, or as asked), with rows and a filter."""
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 99, (100, 100)).astype(np.float32)
    shards = getattr(request, "param", "rows")
    for part, shard in enumerate(np.split(scores, 4, axis=("rows", "columns").index(shards))):
        np.save(tmp_path / f"part-{part}.npy", shard)
    np.save(tmp_path / "targets.npy", rng.integers(0, 100, 150))
    np.save(tmp_path / "rows.npy", rng.integers(0, 100, 150))
    np.savez(tmp_path / "filter.npz", indptr=2 * np.arange(151), indices=rng.integers(0, 100, 300))
    named = [("--rows", "rows.npy"), ("--filter", "filter.npz")]
    options = [word for option, name in named for word in (option, str(tmp_path / name))]
    files = [str(tmp_path / "part-*.npy"), str(tmp_path / "targets.npy")]
    return ["evaluate", *files, *options, "--shards", shards]


@pytest.fixture
def whole(run: Run, line: list[str], tmp_path: Path) -> bytes:
    """The ranks file of a run that nothing disturbs."""
    assert run(*line, "--save", tmp_path / "whole.npz").code == 0
    return (tmp_path / "whole.npz").read_bytes()


posix = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")


@posix
@pytest.mark.parametrize(
    ("line", "after"), [("rows", 3), ("rows", 7), ("columns", 5)], indirect=["line"]
)
def test_killed_and_resumed(line: list[str], whole: bytes, tmp_path: Path, after: int) -> None:
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved)]
    killed = driven("SIGKILL", after, *line)
    assert (killed.code, killed.out) == (-signal.SIGKILL, "")
    assert partial.exists()
    assert not saved.exists()
    again = driven("SIGKILL", 2, *line, "--resume")  # and once more
    assert again.code == -signal.SIGKILL
    done = driven("SIGKILL", 0, *line, "--resume")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.err.startswith("Resumed: ")
    assert saved.read_bytes() == whole
    assert not partial.exists()


@posix
def test_interrupted_and_resumed(line: list[str], whole: bytes, tmp_path: Path) -> None:
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved)]
    stopped = driven("SIGINT", 5, *line)
    assert (stopped.code, stopped.out, stopped.err.count("\n")) == (130, "", 1)
    assert f"--resume goes on from {partial}" in stopped.err
    assert not saved.exists()
    done = driven("SIGINT", 0, *line, "--resume", "--format", "csv", "--metrics", "mr")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.out == f"key,value\nmr,{tr.report(tr.load(tmp_path / 'whole.npz'))['mr']!r}\n"
    assert saved.read_bytes() == whole
    assert not partial.exists()


@posix
def test_interrupted_without_save(line: list[str]) -> None:
    stopped = driven("SIGINT", 2, *line)
    assert (stopped.code, stopped.out, stopped.err.strip()) == (130, "", "")


@posix
def test_without_resume_it_starts_anew(line: list[str], whole: bytes, tmp_path: Path) -> None:
    saved = tmp_path / "ranks.npz"
    line = [*line, "--save", str(saved)]
    assert driven("SIGKILL", 4, *line).code == -signal.SIGKILL
    done = driven("SIGKILL", 0, *line)
    assert (done.code, done.err) == (0, "")
    assert saved.read_bytes() == whole
    assert not (tmp_path / "ranks.npz.partial").exists()


def test_nothing_to_resume(run: Run, line: list[str], whole: bytes, tmp_path: Path) -> None:
    outcome = run(*line, "--save", tmp_path / "ranks.npz", "--resume")
    assert (outcome.code, outcome.err) == (0, "")
    assert (tmp_path / "ranks.npz").read_bytes() == whole


@posix
@pytest.mark.parametrize("changed", ["scores", "targets", "filter", "order"])
def test_another_count_is_not_resumed(line: list[str], tmp_path: Path, changed: str) -> None:
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved)]
    assert driven("SIGKILL", 4, *line).code == -signal.SIGKILL
    before = partial.read_bytes()
    if changed == "scores":
        part = tmp_path / "part-0.npy"
        os.utime(part, ns=(0, 10**9))
    elif changed == "order":
        line += ["--order", "ascending"]
    else:
        values: dict[str, Any] = {
            "targets": np.zeros(150, int),
            "filter": {"indptr": np.zeros(151, int), "indices": np.zeros(0, int)},
        }
        value = values[changed]
        np.savez(tmp_path / "filter.npz", **value) if changed == "filter" else np.save(
            tmp_path / "targets.npy", value
        )
    done = driven("SIGKILL", 0, *line, "--resume")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "ranks.npz.partial" in done.err
    assert (partial.read_bytes(), saved.exists()) == (before, False)


def test_a_damaged_checkpoint(run: Run, line: list[str], tmp_path: Path) -> None:
    partial = tmp_path / "ranks.npz.partial"
    partial.write_bytes(b"PK\x03\x04 not any more")
    code, out, err = run(*line, "--save", tmp_path / "ranks.npz", "--resume")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "ranks.npz.partial" in err
    assert partial.exists()
    assert run(*line, "--save", tmp_path / "ranks.npz").code == 0
    assert not partial.exists()


def test_a_wrong_command_line_costs_no_checkpoint(
    run: Run, line: list[str], tmp_path: Path
) -> None:
    partial = tmp_path / "ranks.npz.partial"
    partial.write_bytes(b"hours of work")
    for more in (["--metrics", "head.mr"], ["--by", "relation"], ["--split", ""]):
        assert run(*line, "--save", tmp_path / "ranks.npz", *more).code in (1, 2)
        assert partial.read_bytes() == b"hours of work"


def test_saved_ranks_leave_no_checkpoint(
    run: Run, line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truerank.cli import runs

    def failing(*_: object, **__: object) -> tr.Report:
        raise ValueError("too late")

    saved = tmp_path / "ranks.npz"
    report = runs.report
    monkeypatch.setattr(
        runs, "report", lambda ranks, **k: (failing if saved.exists() else report)(ranks, **k)
    )
    assert run(*line, "--save", saved) == (1, "", "Error: too late\n")
    assert len(tr.load(saved)) == 150
    assert not (tmp_path / "ranks.npz.partial").exists()
