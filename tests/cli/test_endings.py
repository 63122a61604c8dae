"""How a run ends: whatever is wrong, one line, a documented exit code and no traceback."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import SCORES, TARGETS, Files, Run, start
from support.environment import ROOT
from truerank.cli import endings, interrupts, output, report_request
from truerank.cli.commands import commands

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files

POSIX = pytest.mark.skipif(os.name == "nt", reason="devices and pipes are POSIX here")
NINES = "9" * 5000


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
        (BrokenPipeError(), 141, ""),
        (ImportError("x needs y"), 2, "x needs y"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_other_exceptions(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(output, "report_tables", broken)
    monkeypatch.setattr(commands.commands["info"], "callback", broken)
    outcome = run("info")
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.strip() == (f"Error: {text}" if text else "")


def test_ctrl_c_within_an_import_ends_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries make other errors of it, which are followed back to their cause."""

    def broken() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("cannot import numpy") from None

    monkeypatch.setattr(commands.commands["info"], "callback", broken)
    assert run("info") == (130, "", "")


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
    for code, meaning in endings.EXIT_CODES.items():
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
        (f"evaluate scores.npy {NINES[:19]}", 1, "targets: expected integers from 0 to 4"),
        (f"evaluate scores.npy 0 --shape {NINES}x5 --dtype float32", 2, "'--shape'"),
        (f"evaluate scores.npy 0 --shape 5x{NINES} --dtype float32", 2, "'--shape'"),
        (f"evaluate scores.npy 0 --offset {NINES}", 2, "'--offset'"),
        (f"evaluate scores.npy 0 --threads {NINES}", 2, "'--threads'"),
        (f"evaluate scores.npy 0 --metrics hits@{NINES}", 2, "'--metrics'"),
        (f"adjust mr 7 --candidates {NINES} --tasks 3", 1, "got one of 5,000 digits"),
        (f"adjust mr 7 --candidates 10 --tasks {NINES}", 2, "'--tasks'"),
        (f"adjust mr {NINES} --candidates 10 --tasks 3", 2, "value: "),
        (f"bench --size {NINES}", 2, "'--size': expected bytes"),
        (f"bench --size {NINES[:400]}", 2, "'--size': expected bytes"),
        (f"bench --size {NINES[:400]}GB", 2, "'--size': expected bytes"),
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


def test_a_wrong_instruction_set_is_one_line() -> None:
    code, out, err = start("info", TRUERANK_ISA="foo")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("Error: TRUERANK_ISA: expected an instruction set")
    assert start("info", "--debug", TRUERANK_ISA="foo").err.startswith("Traceback")


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
    assert ended == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("line", "code"), [("evaluate scores.npy 5", 1), ("evaluate", 2), ("", 2), ("info", 0)]
)
def test_the_exit_code_is_right_where_no_error_can_be_written(
    files: Files, line: str, code: int
) -> None:
    for stderr in ("2>/dev/full", "2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {stderr}', "", sys.executable, "-m", "truerank", *files(line)],
            **{"stdout": subprocess.PIPE, "check": False},
        )
        assert (done.returncode, bool(done.stdout)) == (code, not code)


@POSIX
@pytest.mark.parametrize(
    "module",
    ["truerank.inputs.naming", "traceback", "truerank.cli.app", "numpy", "click", "rich.console"],
)
def test_ctrl_c_while_the_command_line_is_imported(module: str, tmp_path: Path) -> None:
    """A module that Python imports first presses Ctrl-C once a certain module is looked for."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r} and 'truerank.cli.interrupts' in sys.modules:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    assert start("info", PYTHONPATH=path) == (130, "", "")


@pytest.mark.parametrize(
    ("argv", "orig_argv", "found"),
    [
        (["/bin/truerank", "info"], ["python", "/bin/truerank", "info"], True),
        (["C/truerank.exe"], ["python", "C/truerank.exe"], True),
        (["-m", "info"], ["python", "-m", "truerank", "info"], True),
        (["-m"], ["python", "-Imtruerank"], True),
        (["/lib/truerank/__main__.py", "x"], ["python", "-m", "truerank", "x"], True),
        (["-m", "truerank"], ["python", "-m", "trainer", "truerank"], False),
        (["-m", "-m", "truerank"], ["python", "-m", "trainer", "-m", "truerank"], False),
        (["train.py", "truerank"], ["python", "train.py", "truerank"], False),
        (["/lib/pytest/__main__.py"], ["python", "-m", "pytest"], False),
        (["-c"], ["python", "-c", "import truerank"], False),
        ([""], ["python"], False),
        ([], [], False),
    ],
)
def test_only_the_command_line_ends_at_once(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], orig_argv: list[str], found: bool
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig_argv)
    assert interrupts.is_command_line() == found
    with interrupts.EndsAtOnce():
        inside = signal.getsignal(signal.SIGINT)
    assert (inside is signal.default_int_handler) == (not found)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_package_itself_leaves_the_signal_alone() -> None:
    script = "import signal, truerank; print(signal.getsignal(signal.SIGINT).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout == "default_int_handler\n"


def test_the_handler_of_ctrl_c_is_restored() -> None:
    script = (
        "import signal, sys; sys.argv = ['truerank', '--version']\n"
        "from truerank.__main__ import main\n"
        "try: main()\n"
        "finally: assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- names from files ------------------------------------------------------------------------------

EVIL = "a\x1b]0;t\x07\x1b[2J\x9b2J\u202eb"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("style", ["table", "markdown", "latex", "html", "json", "csv"])
@pytest.mark.parametrize("more", [(), ("--metrics", "mrr", "--by", "relation"), ("--audit",)])
def test_no_name_reaches_the_terminal(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, style: str, more: tuple[str, ...]
) -> None:
    protocol = tr.Protocol(split=EVIL, filter=(EVIL,))
    ranks = tr.rank(SCORES, TARGETS, filter=([0] * 5, [])).with_protocol(
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
