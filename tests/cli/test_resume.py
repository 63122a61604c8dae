"""`truerank evaluate --save --resume`: a stopped run continues and saves the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import Outcome, Run
from truerank.cli import evaluate_command, report_request
from truerank.counting import tiles

pytestmark = pytest.mark.python_only

run = cli_files.run
Stop = Callable[..., Outcome]

# Runs the command line with small tiles and a checkpoint after each of them. After the given number
# of progress reports it raises a signal.
DRIVER = """
import os, signal, sys
from truerank.counting import tiles
from truerank.__main__ import main
from truerank.cli import evaluate_command

name, after, *arguments = sys.argv[1:]
tiles.SECONDS_BETWEEN_CHECKPOINTS = 0.0
tiles.TILE_BYTES = 4096

class Interrupter(evaluate_command.ProgressListener):
    reports = 0

    def __call__(self, progress):
        super().__call__(progress)
        Interrupter.reports += 1
        if Interrupter.reports == int(after):
            os.kill(os.getpid(), getattr(signal, name))

evaluate_command.ProgressListener = Interrupter
sys.argv = ["truerank", *arguments]
main()
"""


def run_driver(name: str, after: int, *arguments: object) -> Outcome:
    """Run the command line in a process, which raises a signal after some progress reports."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, name, str(after), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def line(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Make a command line over shards (of rows, unless set otherwise), with rows and a filter."""
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
    """Return the ranks file of an uninterrupted run."""
    assert run(*line, "--save", tmp_path / "whole.npz").code == 0
    return (tmp_path / "whole.npz").read_bytes()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make tiles small and checkpoints immediate in this process, too."""
    monkeypatch.setattr(tiles, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(tiles, "TILE_BYTES", 4096)


@pytest.fixture
def stop(run: Run, small: None, monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Run the command line in this process, which interrupts it after some progress reports."""

    class Stopping(evaluate_command.ProgressListener):
        reports = 0

        def __call__(self, progress: tr.Progress) -> None:
            super().__call__(progress)
            self.reports += 1
            if self.reports == self.after:
                signal.raise_signal(signal.SIGINT)

        after = 0

    def stop(after: int, *arguments: object) -> Outcome:
        with monkeypatch.context() as patch:
            patch.setattr(Stopping, "after", after)
            patch.setattr(evaluate_command, "ProgressListener", Stopping)
            return run(*arguments)

    return stop


posix = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")


@posix
@pytest.mark.parametrize(
    ("line", "stops"), [("rows", (7, 2)), ("columns", (5,))], indirect=["line"]
)
def test_killed_and_resumed(
    run: Run, small: None, line: list[str], whole: bytes, tmp_path: Path, stops: tuple[int, ...]
) -> None:
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved), "--resume"]
    for after in stops:
        killed = run_driver("SIGKILL", after, *line)
        assert (killed.code, killed.out) == (-signal.SIGKILL, "")
        assert partial.exists()
        assert not saved.exists()
    done = run(*line)
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.err.startswith("Resumed: ")
    assert saved.read_bytes() == whole
    assert not partial.exists()


@posix
def test_interrupted_and_resumed(
    run: Run, small: None, line: list[str], whole: bytes, tmp_path: Path
) -> None:
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved)]
    stopped = run_driver("SIGINT", 5, *line)
    assert (stopped.code, stopped.out, stopped.err.count("\n")) == (130, "", 1)
    assert f"--resume goes on from {partial}" in stopped.err
    assert not saved.exists()
    done = run(*line, "--resume", "--format", "csv", "--metrics", "mr")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.out == f"key,value\nmr,{tr.report(tr.load(tmp_path / 'whole.npz'))['mr']!r}\n"
    assert saved.read_bytes() == whole
    assert not partial.exists()


def test_interrupted_without_save(stop: Stop, line: list[str]) -> None:
    stopped = stop(2, *line)
    assert (stopped.code, stopped.out, stopped.err.strip()) == (130, "", "")


def test_work_of_a_stopped_run_is_kept(
    run: Run, stop: Stop, line: list[str], whole: bytes, tmp_path: Path
) -> None:
    """It may be hours: a run that does not say what to do with it is refused before it counts."""
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved)]
    assert stop(4, *line).code == 130
    left = partial.read_bytes()
    assert run(*line) == (
        1,
        "",
        f"Error: --save: {partial} has what a stopped run counted: --resume goes on from it, "
        "--no-resume counts anew\n",
    )
    assert (partial.read_bytes(), saved.exists()) == (left, False)
    # ranks that were counted before have no checkpoint, and touch none
    assert run("evaluate", tmp_path / "whole.npz", "--save", saved).code == 0
    assert partial.read_bytes() == left
    done = run(*line, "--resume")
    assert done.code == 0
    assert done.err.startswith("Resumed: ")
    assert saved.read_bytes() == whole
    assert not partial.exists()


def test_with_no_resume_it_starts_anew(
    run: Run, stop: Stop, line: list[str], whole: bytes, tmp_path: Path
) -> None:
    saved = tmp_path / "ranks.npz"
    before = set(tmp_path.iterdir())
    line = [*line, "--save", str(saved), "--no-resume"]
    for _ in range(2):
        assert stop(4, *line).code == 130
        assert set(tmp_path.iterdir()) - before == {tmp_path / "ranks.npz.partial"}
    assert run(*line)[::2] == (0, "")
    assert saved.read_bytes() == whole
    assert set(tmp_path.iterdir()) - before == {saved}


def test_nothing_to_resume(run: Run, line: list[str], whole: bytes, tmp_path: Path) -> None:
    outcome = run(*line, "--save", tmp_path / "ranks.npz", "--resume")
    assert (outcome.code, outcome.err) == (0, "")
    assert (tmp_path / "ranks.npz").read_bytes() == whole


@pytest.mark.parametrize("changed", ["scores", "targets", "filter", "order"])
def test_a_checkpoint_of_another_count_is_refused(
    run: Run, stop: Stop, line: list[str], tmp_path: Path, changed: str
) -> None:
    saved, partial = tmp_path / "ranks.npz", tmp_path / "ranks.npz.partial"
    line = [*line, "--save", str(saved)]
    assert stop(4, *line).code == 130
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
    done = run(*line, "--resume")
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
    assert run(*line, "--save", tmp_path / "ranks.npz", "--no-resume").code == 0
    assert not partial.exists()


def test_a_wrong_command_line_costs_no_checkpoint(
    run: Run, line: list[str], tmp_path: Path
) -> None:
    partial = tmp_path / "ranks.npz.partial"
    partial.write_bytes(b"hours of work")
    np.save(tmp_path / "far.npy", np.full(150, 100))
    far = ["--candidates", tmp_path / "far.npy"]  # `rank` itself refuses this option
    for more in (["--metrics", "head.mr"], ["--by", "relation"], ["--split", ""], far):
        for how in ([], ["--no-resume"]):
            assert run(*line, "--save", tmp_path / "ranks.npz", *how, *more).code in (1, 2)
        assert partial.read_bytes() == b"hours of work"
        assert not partial.with_name("ranks.npz.partial.old").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_a_count(
    run: Run, line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    monkeypatch.setattr(evaluate_command, "rank", lambda *_, **__: pytest.fail("counted"))
    code, out, err = run(*line, "--save", tmp_path / "ranks.npz")
    assert (code, out) == (1, "")
    assert err == f"Error: --save: no permission to write into {tmp_path}\n"


def test_saved_ranks_leave_no_checkpoint(
    run: Run, line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> tr.Report:
        raise ValueError("too late")

    saved = tmp_path / "ranks.npz"
    report = report_request.report
    monkeypatch.setattr(
        report_request,
        "report",
        lambda ranks, **k: (failing if saved.exists() else report)(ranks, **k),
    )
    assert run(*line, "--save", saved) == (1, "", "Error: too late\n")
    assert len(tr.load(saved)) == 150
    assert not (tmp_path / "ranks.npz.partial").exists()
