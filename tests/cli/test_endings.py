"""How a run ends: whatever is wrong, one line, a documented exit code and no traceback."""

from __future__ import annotations

import errno
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import SCORES, TARGETS, Files, Run
from support.environment import ROOT
from truerank.cli import app, report_request
from truerank.cli.commands import commands

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files

POSIX = pytest.mark.skipif(os.name == "nt", reason="devices and pipes are POSIX here")
NINES = "9" * 5000
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [TypeError, KeyError, RecursionError, AssertionError, ValueError])
def test_a_fault_of_truerank_is_one_line(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(_text: str) -> None:
        raise error("not the \x1b[31muser's doing")

    monkeypatch.setattr(report_request, "emit", broken)
    code, out, err = run("evaluate", *files("scores.npy targets.npy"))
    assert (code, out, err.count("\n")) == (70, "", 1)
    assert err.startswith("Error: a fault of truerank")
    assert f"{error.__name__}: " in err
    for words in (["--debug", "evaluate"], ["evaluate", "--debug"]):
        code, out, err = run(*words, *files("scores.npy targets.npy"))
        assert (code, out) == (70, "")
        assert err.startswith("Traceback (most recent call last):")
        assert "in broken" in err
        assert "\x1b" not in err


def test_debug_shows_where_any_error_arose(run: Run, files: Files) -> None:
    line = ["evaluate", *files("scores.npy 5")]
    code, out, err = run(*line)
    *before, last = run(*line, "--debug").err.splitlines(keepends=True)
    assert (code, out, err) == (1, "", last)
    assert before[0].startswith("Traceback")
    assert run("evaluate", "--debug").code == 2


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left", "a\x1bb"), 1, r"a\x1bb: No space left"),
        (ImportError("x needs y"), 2, "x needs y"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_other_exceptions(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(commands.commands["info"], "callback", broken)
    outcome = run("info")
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.strip() == (f"Error: {text}" if text else "")


def test_warnings_are_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def warns() -> None:
        import warnings

        warnings.warn("a \x1b[31mred\nfile", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(commands.commands["info"], "callback", warns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.filters", [("always", None, Warning, None, 0)])
        assert run("info") == (0, "", "Warning: a \\x1b[31mred file\n")


def test_exit_codes_are_documented(run: Run) -> None:
    shown = run("--help").out
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    for code, meaning in app.EXIT_CODES.items():
        assert f"{code:5}  {meaning}\n" in shown
        assert f"| {code} | {meaning} |\n" in page
    assert "--debug" in shown
    assert "--debug" in page


def test_summaries_of_commands_are_whole(run: Run) -> None:
    """Each is one line of a terminal of 80 columns, not cut by dots."""
    listed = run("--help").out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(listed) == len(commands.commands)
    for line in listed:
        assert line.endswith(".")
        assert not line.endswith("...")
        assert len(line) <= 80


# -- hostile words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (f"evaluate scores.npy {NINES}", 1, "of at most 19 digits, or a .npy file, got one of 5,"),
        (f"evaluate scores.npy {NINES[:20]}", 1, "of at most 19 digits"),
        (f"evaluate scores.npy {NINES[:19]}", 1, "targets: expected integers below 2**63"),
        (f"evaluate scores.npy 0 --shape {NINES}x5 --dtype float32", 2, "'--shape'"),
        (f"evaluate scores.npy 0 --shape 5x{NINES} --dtype float32", 2, "'--shape'"),
        (f"evaluate scores.npy 0 --offset {NINES}", 2, "'--offset'"),
        (f"evaluate scores.npy 0 --threads {NINES}", 2, "'--threads'"),
        (f"evaluate scores.npy 0 --metrics hits@{NINES}", 2, "'--metrics'"),
        (f"adjust mr 7 --candidates {NINES} --tasks 3", 1, "got one of 5,000 digits"),
        (f"adjust mr 7 --candidates 10 --tasks {NINES}", 2, "'--tasks'"),
        (f"adjust mr {NINES} --candidates 10 --tasks 3", 2, "value: "),
        (f"link-prediction --key {NINES}", 2, "'--key'"),
        (f"link-prediction --candidates sampled:{NINES}", 2, "'--candidates'"),
        ("link-prediction --candidates sampled:99999999999999999999", 2, "'--candidates'"),
        (f"adjust mr 7 --candidates {NINES[:19]} --tasks 3", 2, "candidates: "),
        ("link-prediction --candidates sampled:\u0663x", 2, "'--candidates'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_long_numbers(run: Run, files: Files, line: str, code: int, message: str) -> None:
    outcome = run(*files(line))
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_single_number_is_no_matrix(run: Run, folder: Path) -> None:
    number, test, train = (folder / f"{name}.npy" for name in ("number", "test", "train"))
    np.save(number, 3.0)
    np.save(test, [[0, 0, 1]])
    np.save(train, [[1, 0, 0]])
    model = ["--sides", "tail", "--entities", number, "--queries-tail", number]
    code, out, err = run("link-prediction", "--test", test, "--train", train, *model)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert re.match(r"Error: --(entities|queries-tail): expected .* shape \(\)", err)


@POSIX
@pytest.mark.parametrize(
    "line",
    [
        "evaluate loop.npy 0",
        "evaluate scores.npy loop.npy",
        "evaluate scores.npy 0 --by loop.npy",
        "evaluate scores.npy 0 --filter loop.npz",
        "evaluate scores.npy 0 --save loop.npz",
        "evaluate scores.npy 0 --html loop.npz",
        "compare loop.npz scores.npy",
        "compare loop.npz loop.npy",
        "link-prediction --sides tail --test loop.npy --scores-tail loop.npy",
        "alignment loop.npy loop.npz loop.npy",
        "adjust mr 7 --candidates loop.npy --tasks 3",
        "compat scores.npy loop.npy",
    ],
)
def test_links_that_lead_to_themselves(run: Run, files: Files, folder: Path, line: str) -> None:
    for name in ("loop.npy", "loop.npz"):
        (folder / name).symlink_to(folder / name)
    code, out, err = run(*files(line))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("Error: ")
    assert "loop.np" in err
    assert (folder / "loop.npz").is_symlink()


@POSIX
@pytest.mark.parametrize("option", ["--save", "--html"])
def test_a_working_folder_that_is_gone(
    run: Run, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    code, out, err = run("evaluate", *files("scores.npy targets.npy"), option, "x.npz")
    assert (code, out, err) == (1, "", f"Error: {option}: {os.strerror(errno.ENOENT)}\n")


# -- streams ---------------------------------------------------------------------------------------

LINES = ["--version", "--help", "evaluate --help", "info", "evaluate scores.npy 0", ""]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", LINES[:-1])
def test_a_full_disk(files: Files, line: str, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "truerank", *files(line)],
            **{"stdout": full, "stderr": subprocess.PIPE, "text": True, "check": False},
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("Error: standard output: ")


@POSIX
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", LINES[:-1])
def test_a_closed_pipe(files: Files, line: str, unbuffered: str) -> None:
    ended = cli_files.run_with_closed_pipe(*files(line), PYTHONUNBUFFERED=unbuffered)
    assert ended == (1, b"")


@POSIX
def test_ctrl_c_ends_a_long_command(tmp_path: Path) -> None:
    shape = (400_000, 10_000)
    with open(tmp_path / "scores.npy", "wb") as file:  # 16 GB of zeros, but hardly a block of disk
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * math.prod(shape))
    script = (
        "import sys; from truerank.__main__ import main; from truerank.counting import tiles\n"
        "tiles.SECONDS_BETWEEN_CHECKPOINTS = 0\n"
        "sys.argv = 'truerank evaluate scores.npy 0 --save x.npz'.split(); main()"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, **PIPES) as process:
        while not (tmp_path / "x.npz.partial").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err == b"Stopped; --resume goes on from x.npz.partial\n"


# -- names from files ------------------------------------------------------------------------------

EVIL = "a\x1b]0;t\x07\x1b[2J\x9b2J\u202eb"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("style", ["table", "markdown", "latex", "html", "json", "csv"])
@pytest.mark.parametrize("more", [(), ("--metrics", "mrr", "--by", "relation"), ("--audit",)])
def test_no_name_reaches_the_terminal(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, style: str, more: tuple[str, ...]
) -> None:
    protocol = tr.Protocol(split=EVIL, filter=(EVIL,))
    ranks = tr.rank(SCORES, TARGETS, filter=[[]] * 4).with_protocol(
        split=EVIL, filter=protocol.filter
    )
    labels = np.array([EVIL, "b", EVIL, "b"])
    ranks.with_labels(relation=labels, side=labels).save(folder / "evil.npz")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: style == "csv", raising=False)
    code, out, err = run("evaluate", folder / "evil.npz", *more, "--format", style)
    assert code == 0
    assert RAW.findall(out + err) == []
    assert "x1b]0;t" in out + err or "u001b]0;t" in out


def test_csv_in_a_file_keeps_true_names(run: Run, folder: Path) -> None:
    labels = np.array([EVIL, "=b", EVIL, "=b"])
    tr.rank(SCORES, TARGETS).with_labels(relation=labels).save(folder / "evil.npz")
    line = ["evaluate", folder / "evil.npz", "--by", "relation", "--metrics", "mrr", "--format"]
    plain, safe = run(*line, "csv").out, run(*line, "spreadsheet").out
    assert f"\n{EVIL},mrr," in plain
    assert "\n=b,mrr," in plain
    assert safe == plain.replace("=b", "'=b")


@pytest.mark.parametrize(
    "line",
    [
        ["evaluate", f"{EVIL}.npy", "0"],
        ["evaluate", "scores.npy", f"{EVIL}.npy"],
        ["evaluate", "scores.npy", "0", "--save", f"{EVIL}/x.npz"],
        ["evaluate", "scores.npy", "0", f"--{EVIL}"],
        ["evaluate", "scores.npy", "0", "--metrics", EVIL],
        ["evaluate", "scores.npy", "0", "--split", f"{EVIL}", "--metrics", "head.mr"],
        [EVIL],
        ["adjust", EVIL, "1", "--candidates", "10", "--tasks", "3"],
        ["adjust", "mr", "1", "--dataset", EVIL],
        ["link-prediction", "--test", EVIL],
        ["alignment", EVIL, EVIL, EVIL],
        ["compare", EVIL, f"{EVIL}2"],
    ],
)
def test_errors_quote_no_control_characters(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, line: list[str]
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = run(*line)
    assert code in (1, 2)
    assert (out, err.count("\n"), RAW.findall(err)) == ("", 1, [])
