"""Shell completion: the completions that are offered, and that bash itself uses them."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from support import cli_files
from support.cli_files import Run, start
from truerank import Ranks

pytest.importorskip("click", reason="the command line needs click")

from truerank.cli.commands import commands
from truerank.cli.completion import (
    FISH_CHANGES,
    SHELLS,
    VARIABLE,
    ZSH_CHANGES,
    Bash,
    Fish,
    Zsh,
    labels_in,
)
from truerank.metrics import parse

pytestmark = pytest.mark.python_only

run = cli_files.run
BREAKS = " \t\n\"'@><=;|&(:"


@pytest.fixture
def ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Save ranks in the current folder."""
    labels = {"side": "tail", "relation": ["a", "b"], "labels": {"degree": [1, 2]}}
    Ranks([0, 3], [1, 1], 9, **labels).save(tmp_path / "ranks.npz")
    np.save(tmp_path / "scores.npy", np.zeros(2))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def completed(line: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the kinds and values of the completions that bash gets for a line."""
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_WORDBREAKS", BREAKS)
    text = Bash(commands, {}, "truerank", VARIABLE).complete()
    return [(kind, value) for kind, _, value in (row.partition(",") for row in text.splitlines())]


CASES = {
    "truerank ev": ["evaluate"],
    "truerank evaluate --met": ["--metrics", "--metric"],
    "truerank evaluate --metrics mr": ["mr", "mrr"],
    "truerank evaluate --metrics mrr,amr": ["mrr,amr", "mrr,amri", "mrr,amrr"],
    "truerank evaluate --metrics mrr,hits@1": ["@1", "@10"],
    "truerank evaluate --metrics=mrr,hits@": ["@1", "@3", "@5", "@10"],
    "truerank evaluate --metrics=opt": ["optimistic."],
    "truerank evaluate --metrics tail.opt": ["tail.optimistic."],
    "truerank evaluate --metrics macro.left_to_right.exp": ["macro.left_to_right.expected."],
    "truerank evaluate --metrics mine.in": ["mine.index."],
    "truerank evaluate --metrics power": ["power_mean:2"],
    "truerank evaluate --metrics power_mean:": ["2"],
    "truerank evaluate --metrics nothing": [],
    "truerank evaluate --metrics macro.z": [],
    "truerank evaluate --format ": [
        *("table", "json", "markdown", "csv", "spreadsheet", "latex", "html")
    ],
    "truerank evaluate --filtered-by train,v": ["train,valid"],
    "truerank evaluate --dtype bf": ["bfloat16"],
    "truerank evaluate ranks.npz --by ": ["relation", "degree", "side"],
    "truerank evaluate scores.npy --by qu": ["query"],
    "truerank compare ranks.npz --by re": ["relation"],
    "truerank compare --metric pess": ["pessimistic."],
    "truerank adjust amr": [],
    "truerank adjust hits@1": ["@1", "@10"],
    "truerank adjust mrr 0.4 --dataset fb15k237-": ["fb15k237-seen"],
    "truerank adjust mrr 0.4 --split v": ["valid"],
    "truerank link-prediction --candidates sampled:": ["100"],
    "truerank link-prediction --sides head,t": ["head,tail"],
    "truerank alignment --candidates un": ["unaligned"],
    "truerank completion ": ["bash", "zsh", "fish"],
}


@pytest.mark.usefixtures("ranks")
@pytest.mark.parametrize("line", CASES)
def test_words(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = completed(line, monkeypatch)
    assert [value for _, value in found] == CASES[line]
    for kind, value in found:
        assert kind == ("open" if value.endswith(".") else "plain")


@pytest.mark.usefixtures("ranks")
@pytest.mark.parametrize(
    "line",
    [
        "evaluate ",
        "evaluate scores.npy ",
        "evaluate ranks.npz --by rel.",
        "evaluate --save ",
        "evaluate --html=",
        "adjust mrr 0.4 --candidates ",
        "alignment --candidates left",
        "compare ",
    ],
)
def test_files(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [kind for kind, _ in completed(f"truerank {line}", monkeypatch)] == ["file"]


def test_members_of_a_file_are_offered_only_if_they_are_names(tmp_path: Path) -> None:
    members = ["labels.degree.codes", "labels.\x1b[2J.codes", "labels.a\nb.codes", "side.codes"]
    with zipfile.ZipFile(tmp_path / "evil.npz", "w") as archive:
        for name in members:
            archive.writestr(f"{name}.npy", b"")
    assert labels_in(tmp_path / "evil.npz") == ["degree", "side"]


def test_offered_keys_are_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    for before in ("", "tail.", "macro.", "tail.expected.", "z.", "head.index."):
        for kind, value in completed(f"truerank evaluate --metrics {before}", monkeypatch):
            if kind == "plain":
                parse(value)
                seen += 1
    assert seen > 100


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_printed(run: Run, shell: str) -> None:
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert f"{shell}_complete" in out
    assert "truerank" in out
    assert out.strip() == start(**{VARIABLE: f"{shell}_source"}).out.strip()


def test_changes_of_the_scripts_are_applied() -> None:
    for made, changes in ((Zsh, ZSH_CHANGES), (Fish, FISH_CHANGES)):
        for new in changes.values():
            assert new in made.source_template


@pytest.mark.parametrize(("shell", "prefix"), [("zsh", "plain\n"), ("fish", "plain,")])
def test_zsh_and_fish_get_whole_words(
    monkeypatch: pytest.MonkeyPatch, shell: str, prefix: str
) -> None:
    words = {"zsh": "truerank evaluate --metrics=mrr,hits@1", "fish": "--metrics=mrr,hits@1"}
    monkeypatch.setenv("COMP_WORDS", words["zsh"])
    monkeypatch.setenv("COMP_CWORD", "2" if shell == "zsh" else words["fish"])
    completions = SHELLS[shell](commands, {}, "truerank", VARIABLE).complete()
    assert f"{prefix}--metrics=mrr,hits@10" in completions


def test_another_shell_is_refused(run: Run) -> None:
    code, _, err = run("completion", "cmd")
    assert code == 2
    assert "'cmd' is not one of 'bash', 'zsh', 'fish'" in err


# -- bash itself -----------------------------------------------------------------------------------


def completed_by_bash(line: str, folder: Path) -> str:
    """Type a line and a tab into bash on a terminal, and return the completed line."""
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TERM": "dumb",
        "PS1": "$ ",
        "HOME": str(folder),
        **{name: os.environ[name] for name in ("LD_PRELOAD", "PYTHONPATH") if name in os.environ},
    }
    import pty  # Windows does not have it

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    try:
        os.write(terminal, b'source <(truerank completion bash); echo re""ady\n')
        assert "ready" in read_until(terminal, "ready\r\n$ ")
        os.write(terminal, line.encode() + b"\t#end")
        return visible_line(read_until(terminal, "#end"))
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def read_until(terminal: int, last: str) -> str:
    """Read what a terminal shows until a word appears."""
    text, end = "", time.monotonic() + 30
    while last not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 4096).decode(errors="replace")
    return text


def visible_line(text: str) -> str:
    """Return a line as it looks after the cursor has moved back and overwritten parts of it."""
    line: list[str] = []
    place = 0
    for letter in text:
        if letter == "\b":
            place -= 1
        elif letter.isprintable():
            line[place : place + 1] = letter
            place += 1
    return "".join(line)


@pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="there is no bash"
)
@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("truerank eval", "truerank evaluate #end"),
        ("truerank evaluate --metrics mrr,hits@3", "truerank evaluate --metrics mrr,hits@3 #end"),
        ("truerank adjust hits@3", "truerank adjust hits@3 #end"),
        ("truerank evaluate --metrics=pess", "truerank evaluate --metrics=pessimistic.#end"),
        ("truerank evaluate ranks.npz --by deg", "truerank evaluate ranks.npz --by degree #end"),
        ("truerank evaluate sco", "truerank evaluate scores.npy #end"),
    ],
)
def test_bash_completes(ranks: Path, line: str, whole: str) -> None:
    command = ranks / "truerank"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m truerank "$@"\n')
    command.chmod(0o755)
    assert completed_by_bash(line, ranks) == whole
