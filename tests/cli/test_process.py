"""The command line as a process: streams, signals, terminals, and required libraries."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import SCORES, TARGETS, Files, Run, start
from truerank import _core

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


def test_process(files: Files) -> None:
    # the width and the type of a terminal do not matter in a pipe
    outcome = start("evaluate", *files("scores.npy targets.npy"), COLUMNS="20", TERM="xterm")
    assert (outcome.code, outcome.err) == (0, "")
    heading = ["both", "(4", "tasks)", "optimistic", "realistic", "pessimistic", "expected"]
    assert heading in [line.split() for line in outcome.out.splitlines()]
    assert "\x1b" not in outcome.out
    code, out, err = start("evaluate", *files("nan.npy targets.npy"))
    assert (code, out) == (1, "")
    assert err.startswith("Error: scores: ")
    assert err.count("\n") == 1


def test_terminals_get_lines_and_styles(
    run: Run, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    outcome = run("evaluate", *files("scores.npy targets.npy"))
    assert outcome.code == 0
    assert "\x1b[1m" in outcome.out
    assert "──" in outcome.out
    assert "\n\n\n" not in outcome.out


@pytest.mark.skipif(os.name == "nt", reason="signals and closed pipes are POSIX here")
def test_a_closed_pipe_ends_quietly(files: Files) -> None:
    line = ["evaluate", *files("scores.npy targets.npy")]
    assert cli_files.run_with_closed_pipe(*line) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_of_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "truerank", "info"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: standard output: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="closed descriptors are POSIX here")
def test_no_standard_output_at_all_is_an_error_of_one_line(folder: Path, files: Files) -> None:
    tr.rank(SCORES, TARGETS).save(folder / "ranks.npz")
    arguments = ["evaluate", *files("ranks.npz"), "--format", "json"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "truerank", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "Error: standard output: closed\n")


def test_info(run: Run) -> None:
    code, out, err = run("info")
    assert (code, err) == (0, "")
    facts = {line[:17].strip(): line[17:].strip() for line in out.splitlines()}
    assert facts["truerank"] == tr.__version__
    assert facts["numpy"] == np.__version__
    assert platform.python_version() in facts["Python"]
    assert facts["instruction set"].startswith(f"{_core.isa()} (usable: ")
    assert all(isa in facts["instruction set"] for isa in _core.isas())
    assert facts["bounds"].startswith(f"{_core.bounds()} (usable: off, int16")
    assert facts["OpenMP"] == ("yes" if _core.openmp() else "no")
    assert facts["threads"] == str(_core.default_threads())


def test_demo_ends_with_one_where_a_figure_differs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truerank.cli import demo

    small = demo.Speed(1, 1, 1.0, 1.0, 1, "baseline")
    monkeypatch.setattr(demo, "measure_speed", lambda **_: small)
    assert run("demo").code == 0
    monkeypatch.setattr(demo, "EXACT_TOLERANCE", 0.0)
    monkeypatch.setattr(demo, "FLOAT32_TOLERANCE", 0.0)
    code, out, err = run("demo")
    assert (code, err) == (1, "")
    assert "published 4.93482303" in out


def test_click_completes_commands_and_options() -> None:
    for words, found in (("truerank ev", "evaluate"), ("truerank compare --met", "--metric")):
        place = str(len(words.split()) - 1)
        environment = {"COMP_WORDS": words, "COMP_CWORD": place}
        code, out, err = start(_TRUERANK_COMPLETE="bash_complete", **environment)
        assert (code, err) == (0, "")
        assert f"plain,{found}" in out.split()


def test_help_and_version(run: Run) -> None:
    assert run("--version") == (0, f"truerank {tr.__version__}\n", "")
    for line in (["--help"], ["evaluate", "-h"], ["compare", "-h"], ["adjust", "-h"]):
        code, out, err = run(*line)
        assert (code, err) == (0, "")
        assert out.startswith("Usage: truerank")
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: truerank")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_libraries_it_says_how_to_install_them(missing: str) -> None:
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import truerank.__main__ as entry; entry.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'truerank[cli]'" in done.stderr
    assert missing in done.stderr


def test_importing_the_package_does_not_import_them(run_python: Callable[..., str]) -> None:
    script = "import sys, truerank; print(sorted({'click', 'rich'} & set(sys.modules)))"
    assert run_python(script).strip() == "[]"
