"""Messages on the command line name options, not the arguments of Python that stand for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import numpy as np
import pytest

import truerank
from support.cli_files import Run
from truerank.cli.commands import commands
from truerank.cli.words import in_words_of

# No command has these, since no file that it reads leads to a message that names them.
OF_PYTHON_ALONE = {
    "device": "commands read files, which are counted on the processor",
    "method": "commands do not match entities",
    "part": "each file of a command is one list",
    "pre_filtered_triples": "an argument of PyKEEN",
    "progress": "commands always draw a bar",
    "side": "the option labels all tasks of a file, the advice labels ranks",
    "unit": "labels of ranks that Python made",
}
ADDRESS = re.compile(r"(?<![\w.<-])([a-z_]+)=(?![=>])")
MARKUP = re.compile(r"<[a-zA-Z!]|\^<g|role=column|name=file")


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings, with {} for what is written into them."""
    taken: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            taken.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            taken.update(map(id, node.values))
            parts = [each.value if isinstance(each, ast.Constant) else "{}" for each in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in taken:
            yield str(node.value)


@cache
def arguments_named() -> dict[str, set[str]]:
    """Return the arguments that messages name, and the messages."""
    found: dict[str, set[str]] = {}
    package = Path(truerank.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.parent.name in {"cli", "adapters"}:
            continue
        for text in texts_of(ast.parse(path.read_text())):
            for name in [] if MARKUP.search(text) else ADDRESS.findall(text):
                found.setdefault(name, set()).add(text)
    return found


def options_of(command: click.Command) -> set[str]:
    return {str(each.name) for each in command.params if each.opts[0].startswith("-")}


def test_every_argument_of_a_message_is_an_option_or_of_python_alone() -> None:
    options = set().union(*map(options_of, commands.commands.values()))
    named = arguments_named()
    assert named.keys() > {"allow_unlike", "repeats", "columns", "known"}
    methods = {"axis"}  # frame.sort_index(axis=1), which is advice for a frame.
    unknown = named.keys() - options - OF_PYTHON_ALONE.keys() - methods
    assert not unknown, {name: named[name] for name in unknown}
    assert not OF_PYTHON_ALONE.keys() & options - {"side"}


@pytest.mark.parametrize("name", commands.commands)
def test_no_message_writes_an_option_as_python_does(name: str) -> None:
    """Each message that names an argument of this command is written in its words."""
    command = commands.commands[name]
    for argument in arguments_named().keys() & options_of(command):
        for value in ("True", '"x"', "'x'", "3", "...", "range(5)", '{"head": 0, "tail": 2}', ""):
            written = in_words_of(command, f"none; {argument}={value} says it")
            assert f"{argument}=" not in written.replace("--known head=FILE", "")
            assert "--" in written


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("compare", "allow_unlike=True compares them", "--allow-unlike compares them"),
        (
            "compare",
            "one with groups, as report(ranks, by='side')",
            "one with groups, as --by side",
        ),
        ("merge", 'repeats="drop" leaves them out', "--repeats drop leaves them out"),
        ("merge", "give ranks.with_labels(unit=...)", "give ranks.with_labels(unit=...)"),
        (
            "evaluate",
            "none; give them with ranks.with_labels(side=...)",
            "none; --side gives them",
        ),
        (
            "link-prediction",
            "none; give them with ranks.with_labels(relations=...)",
            "none; a .npy file with one for each task gives them",
        ),
        ("compare", "ids: a.run: 'q' at position 1", "a.run: 'q' at position 1"),
        ("retrieval", "give Task(..., queries=...) the names", "give --query-labels the names"),
        ("evaluate", "dtype= and shape= of a file", "--dtype and --shape of a file"),
        ("evaluate", "(axis=1 joins shards)", "(--shards columns joins shards)"),
        ("evaluate", "frame.sort_index(axis=1)", "frame.sort_index(axis=1)"),
        ("evaluate", "targets: expected integers", "targets: expected integers"),
        ("link-prediction", "(header=True, header=False)", "(--header, --no-header)"),
        ("link-prediction", 'known["train"]: none', "--train: none"),
        ("link-prediction", 'known["old"]: none', "--known old: none"),
        ("link-prediction", 'as known={"train": ..., "b": ...}', "as --train and --known b=FILE"),
        (
            "link-prediction",
            'test: columns={"head": 0, "relation": ...} says',
            "--test: --columns head=0,relation=... says",
        ),
        ("retrieval", "no split beside exclude='self'", "no split beside --exclude-self"),
        ("retrieval", "or entities=range(12)", "or --candidates 12"),
        ("retrieval", "ids: a.run: expected a path", "--lists: a.run: expected a path"),
    ],
)
def test_words(name: str, text: str, written: str) -> None:
    assert in_words_of(commands.commands[name], text) == written


def test_messages_as_they_are_printed(run: Run) -> None:
    Path("names.txt").write_text("x\ny\nz\n" * 5)
    Path("test.txt").write_text("x\tr\ty\n")
    Path("train.txt").write_text(
        "first\tsecond\tthird\n" + "".join(f"a{i}\tr\tb\n" for i in range(12))
    )
    np.save("s.npy", np.zeros((1, 3)))
    line = "link-prediction --train train.txt --test test.txt --scores-tail s.npy --sides tail"
    outcome = run(*line.split())
    assert outcome.code == 1
    assert "--train: train.txt: " in outcome.err
    assert "(--header says that it names the columns, --no-header that it is a fact)" in outcome.err
    Path("three.run").write_text("q1 d1 3\nq1 d2 1\n")
    Path("qrels").write_text("q1 0 d1 1\n")
    line = "retrieval --qrels qrels --lists three.run --candidates 9"
    outcome = run(*line.split())
    assert outcome.code == 1
    assert outcome.err.startswith("Error: --lists: three.run: line 1: expected lines of TREC ")


@pytest.mark.parametrize("digits", ["99999999999999999999", "9223372036854775808"])
def test_a_number_that_is_too_large_is_shown(run: Run, digits: str) -> None:
    np.save("s.npy", np.zeros((1, 3)))
    run("evaluate", "s.npy", digits).refuses(1, f"expected a number below 2**63, got {digits}")
    assert run("evaluate", "s.npy", "0" * 30 + "2").out == run("evaluate", "s.npy", "2").out
