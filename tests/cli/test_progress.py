"""Progress of long runs: its text, when it is drawn, and that it is erased."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

import truerank as tr
from truerank.cli import progress
from truerank.cli.progress import ProgressBar, ProgressListener
from truerank.inputs.progress_listeners import size_text

pytestmark = pytest.mark.python_only

BAR_SCRIPT = """
import sys
from truerank.cli.progress import ProgressBar
now = iter([0.0, 0.1, 1.0, 1.05, 2.0, 3.0])
with ProgressBar(clock=lambda: next(now)) as bar:
    for fraction, text in [(0.1, "early"), (0.2, "first"), (0.3, "too soon"), (0.4, "second")]:
        bar.show(fraction, text)
print("the result")
"""


def in_terminal(script: str, code: int = 0, **environment: str) -> tuple[str, str]:
    """Run a script whose standard error is a terminal; return its output and what was drawn."""
    import pty
    import subprocess

    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=env,
        text=True,
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # Linux reports a closed terminal in this way
            break
        if not more:
            break
        drawn += more
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == code, drawn
    return out, drawn.decode()


terminals = pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX")


@terminals
def test_the_bar_appears_late_and_is_erased() -> None:
    out, drawn = in_terminal(BAR_SCRIPT)
    assert out == "the result\n"
    assert "early" not in drawn
    assert "too soon" not in drawn
    assert drawn.index("first") < drawn.index("second")
    assert drawn.rstrip("\r\n").endswith("\x1b[2K")  # the line is erased
    assert drawn.count("\n") <= 1


class Stream(io.StringIO):
    """A stream that can claim to be a terminal."""

    terminal = True

    def isatty(self) -> bool:
        return self.terminal


def fake_terminal(monkeypatch: pytest.MonkeyPatch) -> Stream:
    """Replace standard error by a terminal; not as a fixture, because pytest sets its own later."""
    for name, value in (("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", stream := Stream())
    return stream


def show_bar(*seconds: float) -> None:
    """Show a bar at the given seconds of the clock."""
    with ProgressBar(clock=iter(seconds).__next__) as bar:
        for _ in seconds[1:]:
            bar.show(0.5, "half of it")


def test_a_short_run_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = fake_terminal(monkeypatch)
    show_bar(0.0, 0.4)
    assert stderr.getvalue() == ""
    show_bar(0.0, 0.6)
    assert "half of it" in stderr.getvalue()


def test_terminals_that_cannot_move_their_cursor_get_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stderr = fake_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    show_bar(0.0, 1.0, 2.0)
    assert stderr.getvalue() == ""


@pytest.mark.parametrize("forced", [False, True])
def test_pipes_get_nothing(monkeypatch: pytest.MonkeyPatch, forced: bool) -> None:
    stderr = fake_terminal(monkeypatch)
    stderr.terminal = False
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    show_bar(0.0, 1.0, 2.0)
    assert stderr.getvalue() == ""


def test_no_standard_error_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with ProgressBar(clock=iter([0.0, 5.0]).__next__) as bar:
        ProgressListener(bar)(tr.Progress(2, 4, 1.0, 1))


def test_texts() -> None:
    begun = tr.Progress(0, 8 * 10**9, 0.0, 0)
    assert str(begun) == "0 bytes of 8 GB"
    half = tr.Progress(4 * 10**9, 8 * 10**9, 2.0, 0)
    assert str(half) == "4 GB of 8 GB, 2 GB/s, 0:00:02 left"
    resumed = tr.Progress(6 * 10**9, 8 * 10**9, 10.0, 4 * 10**9)
    assert str(resumed) == "6 GB of 8 GB, 200 MB/s, 0:00:10 left"
    assert [size_text(n) for n in (0, 1000, 99_960, 123_400_000)] == [
        "0 bytes",
        "1 kB",
        "100 kB",
        "123 MB",
    ]


def test_the_content_of_a_checkpoint_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        follower = ProgressListener(bar)
        for done in (5 * 10**9, 6 * 10**9):
            follower(tr.Progress(done, 8 * 10**9, 1.0, 4 * 10**9))
        ProgressListener(bar)(tr.Progress(1, 0, 1.0, 0))
    assert capsys.readouterr() == ("", "Resumed: 4 GB of 8 GB had been counted before.\n")


def test_reports_of_a_count_move_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = fake_terminal(monkeypatch)
    monkeypatch.setattr(progress, "START_AFTER", 0.0)
    with ProgressBar() as bar:
        ProgressListener(bar)(tr.Progress(1, 4, 1.0, 0))
    assert "1 bytes of 4 bytes" in stderr.getvalue()


@terminals
def test_vectors_move_the_bar(tmp_path: Path) -> None:
    """Their scores are not stored, but take as long to make."""
    rng = np.random.default_rng(0)
    for name, height in (("left", 500), ("right", 4000)):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((height, 16)).astype(np.float32))
    np.save(tmp_path / "pairs.npy", np.stack([np.arange(500)] * 2, axis=1))
    arguments = ["alignment", "left.npy", "right.npy", "pairs.npy", "--candidates", "all"]
    arguments += ["--threads", "1"]  # of several the others may be done before the first looks
    script = f"""
import os, sys
from truerank.__main__ import main
from truerank.cli import progress
from truerank.embeddings import watching

progress.START_AFTER = progress.REDRAW_EVERY = watching.SECONDS_BETWEEN_REPORTS = 0.0
os.chdir({str(tmp_path)!r})
sys.argv = ["truerank", *{arguments}]
main()
"""
    out, drawn = in_terminal(script)
    assert "mrr" in out.lower()
    assert "8 MB of 8 MB" in drawn
    assert re.search(r"\b[1-7](\.\d+)? MB of 8 MB", drawn)


@terminals
def test_ctrl_c_erases_the_bar_before_it_says_anything(tmp_path: Path) -> None:
    np.save(tmp_path / "scores.npy", np.zeros((100, 100), np.float32))
    arguments = ["evaluate", "scores.npy", "0", "--save", "ranks.npz"]
    script = f"""
import os, signal, sys
from truerank.counting import tiles
from truerank.__main__ import main
from truerank.cli import evaluate_command, progress

tiles.TILE_BYTES = 4096
progress.START_AFTER = 0.0

class Interrupter(progress.ProgressListener):
    def __call__(self, progress):
        super().__call__(progress)
        if progress.done > progress.total / 2:
            os.kill(os.getpid(), signal.SIGINT)

evaluate_command.ProgressListener = Interrupter
os.chdir({str(tmp_path)!r})
sys.argv = ["truerank", *{arguments}]
main()
"""
    out, drawn = in_terminal(script, code=130)
    assert out == ""
    assert " of 40 kB" in drawn
    assert drawn.replace("\r\n", "\n").endswith(
        "\x1b[2KStopped; --resume goes on from ranks.npz.partial\n"
    )
