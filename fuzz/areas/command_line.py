"""The command line: hostile arguments end in one line and a stated code."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import click
from hypothesis import given
from hypothesis import strategies as st

from support import cli_files
from truerank.cli.commands import COMMANDS, commands

CODES = {0, 1, 2, 3}  # 3: a gate found a model worse
SLOW = {"demo"}

NUMBERS = ["0", "1", "-1", "3", "0.5", "1e400", "nan", "inf", "-0", "+1", "0x10", "1_0", "٣", "1,2"]
NUMBERS += ["1e-400", "2147483648", "9223372036854775807", "9223372036854775808", "9" * 400]
NUMBERS += ["1" * 5000]
WORDS = ["", " ", "-", "--", "--x", "-h", "all", "none", "head", "tail", "mrr", "hits@1", "hits@0"]
WORDS += ["power_mean:-4", "macro.mrr", "tail.mrr", "mrr,mrr", ",", "mrr,", "hits@" + "9" * 30]
WORDS += ["a=b", "=", "train=absent", "sampled:3", "sampled:99999999999999999999", "2x3", "0x0"]
WORDS += ["9" * 400 + "x2", "8kB", "1e99GB", "\x1b[2J", "\x1b]0;x\x07", "\udcff", "é\n", "\u202e"]
WORDS += ["*", "[", "part-*.npy", "pipe", ".", "..", "a" * 300, "a/b/c", "loop"]
WORDS += ["head=0,tail=1", "head=0,relation=2,tail=1", "head=0,head=1", "tail=-1", "nobody=0"]
WORDS += ["query=0,item=1,score=2", "head=" + "9" * 30, "head=,tail=1", "head=0;tail=1"]
TEXTS = {
    "train.txt": "a\tr\tb\nb\tr\tc\n",
    "test.txt": "a\tr\tc\nc\ts\ta\n",
    "pairs.txt": "a\tA\nb\tB\n",
    "names.txt": "a\nb\nc\nd\n",
    "hostile.txt": "a\x1b[2J\tr\t=1+1\n\u202e\t\x9b\tb\n",
    "binary.txt": "\0\1\2",
    "header.txt": "head\ttail\trelation\na\tb\tr\nb\tc\tr\n",
    "weights.txt": "a\tr\tb\t0.5\nb\tr\tc\t0.25\n",
    "facts.csv": '"a, the first",r,b\nb,r,"c\n',
    "ratings.txt": "a b 5 881250949\nb c 3 881250949\n",
    "points.txt": "a b 25\na c 19\n",
    "entity2id.txt": "3\na\t0\nb\t1\nc\t2\n",
    "entities.dict": "0\ta\n1\tb\n2\tc\n",
}


@functools.cache
def files() -> tempfile.TemporaryDirectory[str]:
    """Return a folder of good and bad files, which runs of the command line get a copy of."""
    folder = tempfile.TemporaryDirectory()
    cli_files.make_files(Path(folder.name))
    for name, text in TEXTS.items():
        Path(folder.name, name).write_text(text, encoding="utf-8")
    Path(folder.name, "loop").symlink_to("loop")
    return folder


@contextlib.contextmanager
def inside_copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "files")
        shutil.copytree(files().name, folder, symlinks=True)
        os.mkfifo(folder / "pipe")
        with contextlib.chdir(folder), having_writer(folder / "pipe"):
            yield folder


@contextlib.contextmanager
def having_writer(pipe: Path) -> Iterator[None]:
    """Give a pipe a writer, who has nothing to say, whenever somebody reads it."""
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            os.close(os.open(pipe, os.O_WRONLY))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        is_over.set()
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # It lets the writer go.
        writer.join()
        os.close(reader)


def assert_printable(text: str) -> None:
    """A terminal obeys no character of the text but its line feeds."""
    kinds = {unicodedata.category(c) for c in text.replace("\n", "")}
    assert kinds.isdisjoint({"Cc", "Cs", "Zl", "Zp"}), kinds
    bidirectional = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert bidirectional.isdisjoint(text)


def run(arguments: list[str]) -> tuple[object, str, str]:
    """Return the code of a command line, and what it prints as results and as errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            commands(arguments, prog_name="truerank")
        except SystemExit as ended:
            return ended.code, out.getvalue(), err.getvalue()
    raise AssertionError("the command line returned")


def values(parameter: click.Parameter) -> st.SearchStrategy[str]:
    """Draw what a parameter may be given: its choices, a file, a number, or anything."""
    kinds = [st.sampled_from(words) for words in (NUMBERS, WORDS, sorted(os.listdir(files().name)))]
    # No argument of a program has a NUL; without a slash, what is written stays in the folder.
    kinds.append(st.text(max_size=4).filter(lambda text: set(text).isdisjoint("/\0")))
    if isinstance(parameter.type, click.Choice):
        kinds += [st.sampled_from(list(map(str, parameter.type.choices)))] * 4
    return st.one_of(kinds)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Draw a command line: a command, some of its options, each with a value, in any order."""
    name = draw(st.sampled_from(sorted(set(COMMANDS) - SLOW)))
    words = [name]
    for parameter in draw(st.permutations(cli_files.command_of(name).params)):
        if isinstance(parameter, click.Argument):
            words += draw(st.lists(values(parameter), max_size=3))
        elif parameter.required or draw(st.integers(0, 7)) == 0:
            words.append(draw(st.sampled_from(parameter.opts + parameter.secondary_opts)))
            if not getattr(parameter, "is_flag", False):
                words.append(draw(values(parameter)))
    return words


@given(lines())
def hostile(arguments: list[str]) -> None:
    """Any line ends with a stated code; an error is one line, and nothing obeys escapes in it."""
    with inside_copy() as folder:
        before = {path.name for path in folder.iterdir()}
        code, out, err = run(arguments)
        after = {path.name for path in folder.iterdir()}
    outcome = code, out, err
    assert code in CODES, outcome
    assert "Traceback" not in err, outcome
    assert_printable(err)
    if code in (1, 2):
        *warned, last = err.rstrip("\n").split("\n")
        assert last.startswith("Error: "), outcome
        assert all(line.startswith("Warning: ") for line in warned), outcome
        assert not out, outcome
        assert after == before, after - before  # no partial file is left
    if "json" not in arguments and "csv" not in arguments:
        assert_printable(out.replace("\t", ""))
