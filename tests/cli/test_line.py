"""What all commands share: forms of output, files that are kept, errors in one line, streams."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import warnings
from inspect import cleandoc
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import truerank as tr
from support.cli_files import SCORES, TARGETS, Run, command_of, make_files, start
from truerank import _core
from truerank.cli import evaluate, link_prediction, retrieval
from truerank.cli.commands import COMMANDS as NAMES
from truerank.cli.options import FILES, OPTIONS, STYLES
from truerank.counting import counter
from truerank.inputs import rules
from truerank.link_prediction.sides import FILTERS
from truerank.metrics import answers
from truerank.ranks import container
from truerank.stores import index_files

EVALUATE = "evaluate scores.npy targets.npy"
EVIL = "a\x1b]0;t\x07\x1b[2J\x9b2J\u202eb"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def files() -> None:
    make_files(Path())


# -- forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "evaluate a.npz",
        "compare a.npz b.npz",
        "compat scores.npy targets.npy --preset openke --metrics MRR",
        "adjust mr 7 --candidates 100 --tasks 20",
    ],
)
def test_every_command_has_all_forms(run: Run, line: str) -> None:
    tr.rank(SCORES, TARGETS).save("a.npz")
    tr.rank(-SCORES, TARGETS).save("b.npz")
    for style, ending in STYLES.items():
        code, out, err = run(*line.split(), "--format", style)
        assert (code, err) == (0, "")
        assert out.endswith("\n")
        if style == "json":
            assert json.loads(out) == json.loads(run(*line.split(), "--json").out)
        elif style == "csv":
            assert len({len(row) for row in csv.reader(io.StringIO(out))}) == 1
        if style != "spreadsheet":
            assert run(*line.split(), "--output", f"x{ending}") == (0, "", "")
            assert Path(f"x{ending}").read_text(encoding="utf-8") == out
    for name in ("x.tsv --format csv", "y.csv --format spreadsheet"):
        assert run(*line.split(), "--output", *name.split()).code == 0


# -- names from files ------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["text", "latex", "json", "csv"])
def test_no_name_reaches_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    labels = np.array([EVIL, "b", EVIL, "b"])
    ranks = tr.rank(SCORES, TARGETS, filter=[[]] * 4).with_protocol(split=EVIL, filter=(EVIL,))
    ranks.with_labels(relation=labels, side=labels).save("evil.npz")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: style == "csv", raising=False)
    code, out, err = run("evaluate", "evil.npz", "--by", "relation", "--audit", "--format", style)
    assert code == 0
    assert RAW.findall(out + err) == []
    assert "x1b]0;t" in out + err or "u001b]0;t" in out + err


@pytest.mark.parametrize(
    "line",
    [
        ["evaluate", f"{EVIL}.npy", "0"],
        ["evaluate", "scores.npy", "0", f"--{EVIL}"],
        ["evaluate", "scores.npy", "0", "--metrics", EVIL],
        [EVIL],
        ["alignment", EVIL, EVIL, EVIL],
    ],
)
def test_errors_quote_no_control_characters(run: Run, line: list[str]) -> None:
    code, out, err = run(*line)
    assert code in (1, 2)
    assert (out, err.count("\n"), RAW.findall(err)) == ("", 1, [])


def test_any_name_of_a_side_can_be_printed() -> None:
    tr.rank(SCORES, TARGETS).with_labels(side="\u043b\u0435\u0432").save("ranks.npz")
    code, out, err = start("evaluate", "ranks.npz", PYTHONIOENCODING="latin-1")
    assert (code, err) == (0, "")
    assert r"\u043b\u0435\u0432" in out


# -- how a run ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError("5 GB"), 1, "Error: not enough memory: 5 GB\n"),
        (OSError(28, "No space left", "a\x1bb"), 1, "Error: a\\x1bb: No space left\n"),
        (ImportError("x needs y"), 2, "Error: x needs y\n"),
        (KeyboardInterrupt(), 1, "\nAborted!\n"),
    ],
)
def test_errors_are_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(command_of("info"), "callback", broken)
    assert run("info") == (code, "", text)


def test_warnings_are_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(**_: object) -> None:
        warnings.warn("a \x1b[31mred\nfile", UserWarning, stacklevel=1)

    monkeypatch.setattr(command_of("info"), "callback", warns)
    assert run("info") == (0, "", "Warning: a \\x1b[31mred\\nfile\n")


@pytest.mark.skipif(os.name == "nt", reason="closed pipes are POSIX here")
@pytest.mark.parametrize("line", ["evaluate --help", EVALUATE])
def test_a_closed_pipe_ends_quietly(line: str) -> None:
    """Nobody reads what it prints."""
    command = [sys.executable, "-m", "truerank", *line.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(os.name == "nt", reason="standard output is closed by a shell of POSIX")
@pytest.mark.parametrize(
    ("more", "code"), [("", 1), ("--json", 1), ("--metrics mrr", 1), ("--output x.txt", 0)]
)
def test_a_closed_standard_output_is_no_success(more: str, code: int) -> None:
    line = f'exec "{sys.executable}" -m truerank {EVALUATE} {more} >&-'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    words = "Error: standard output is closed; --output writes to a file\n" if code else ""
    assert (done.returncode, done.stderr) == (code, words)


@pytest.mark.parametrize(
    ("apart", "together"),
    [
        ("--metrics mrr --json --metric mr", "--metrics mrr,mr --json"),
        ("--kinds optimistic --kinds expected", "--kinds optimistic,expected"),
    ],
)
def test_an_option_of_words_may_be_split(apart: str, together: str, run: Run) -> None:
    outcome = run(*f"{EVALUATE} {apart}".split())
    assert outcome.code == 0
    assert outcome == run(*f"{EVALUATE} {together}".split())


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX")
def test_a_terminal_gets_a_bar() -> None:
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    script = (
        "import sys; from truerank.cli import output; from truerank.__main__ import main\n"
        "output.START_AFTER = -1; sys.argv[1:] = ['evaluate', 'scores.npy', '0']"
    )
    line = [sys.executable, "-c", f"{script}; main()"]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    assert "truerank: " in os.read(ours, 4096).decode()
    os.close(ours)
    assert "MRR" in done.stdout


def test_the_command_starts_where_types_of_click_are_not_generic() -> None:
    """As before click 8.4."""
    script = "import click, sys; click.ParamType.__class_getitem__ = None; sys.argv[1:] = ['info']"
    script += "; from truerank.__main__ import main; main()"
    line = [sys.executable, "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert f"truerank         {tr.__version__}" in done.stdout


def test_help_version_and_completion(run: Run) -> None:
    assert run("--version") == (0, f"truerank {tr.__version__}\n", "")
    for name in NAMES:
        assert run(name, "-h").out.startswith(f"Usage: truerank {name}")
    lines = run("--help").out.partition("Commands:\n")[2].splitlines()
    assert len(lines) == len(NAMES)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)
    assert run().code == 2
    place = {"COMP_WORDS": "truerank compare --met", "COMP_CWORD": "2"}
    code, out, err = start(_TRUERANK_COMPLETE="bash_complete", **place)
    assert (code, err) == (0, "")
    assert "plain,--metric" in out.split()


@pytest.mark.parametrize("width", [80, 120])
def test_help_is_as_wide_as_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name in NAMES:
        longest = max(map(len, run(name, "--help").out.splitlines()))
        assert width - 10 < longest <= width, name


def test_long_choices_stand_in_the_text_of_the_help(run: Run) -> None:
    """As one word they made a line of 411 letters."""
    text = " ".join(run("compat", "--help").out.split())
    names = text.partition(" --preset NAME Show one toolkit, step by step. One of ")[2]
    names = names.partition(". --labels ")[0]
    assert names.replace(" ", "").split(",") == list(tr.compat.PRESETS)
    assert "--misses [zero|bounds|expected]\n" in run("retrieval", "--help").out
    assert "is not one of 'libkge', " in run("compat", "a", "b", "--preset", "x").err


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_help_are_lines_of_the_command(name: str) -> None:
    """Their options exist, with words that these take; pages run lines as these."""
    command = command_of(name)
    options = {word: option for option in command.params for word in option.opts}
    for line in re.findall(r"^truerank .*(?:\n    .*)*", cleandoc(command.help), re.MULTILINE):
        words = shlex.split(line.replace("\\\n", ""))
        assert words[1] == name
        for word, value in itertools.pairwise([*words, ""]):
            if word.startswith("-"):
                choices = getattr(options[word].type, "choices", (value,))
                assert value in choices, line


def test_words_are_those_that_functions_take() -> None:
    """The command line has them once more, for it imports public names."""
    assert OPTIONS["--order"][0] == rules.ORDERS
    assert OPTIONS["--nan"][0] == rules.NAN_RULES
    assert OPTIONS["--io"][0] == rules.IO
    assert OPTIONS["--complex-layout layout"][0] == rules.LAYOUTS
    assert OPTIONS["--similarity"][0] == get_args(rules.Similarity)
    assert retrieval.MISSES == answers.MISSES
    assert OPTIONS["--gain"][0] == answers.GAINS
    assert retrieval.ANSWERLESS == answers.ANSWERLESS
    assert link_prediction.FILTERS == FILTERS
    assert evaluate.REPEAT_RULES == rules.REPEAT_RULES
    assert list(FILES)[:3] == [container.KIND, counter.KIND, index_files.KIND]


def test_info(run: Run) -> None:
    facts = json.loads(run("info", "--json").out)
    assert (facts["truerank"], facts["numpy"]) == (tr.__version__, np.__version__)
    assert platform.python_version() in facts["Python"]
    assert facts["instruction set"].startswith(f"{_core.isa()} (usable: ")
    assert facts["bounds"].startswith(f"{_core.bounds()} (usable: off, int16")
    assert facts["threads"] == str(_core.default_threads())
    assert facts.get("devices", "none")  # where torch is installed


def test_an_option_is_proposed_only_if_it_is_alike(run: Run) -> None:
    assert "Did you mean" not in run("evaluate", "a.npz", "--caption", "x").err
    assert "'--metrics'" in run("evaluate", "a.npz", "--metrik", "x").err
