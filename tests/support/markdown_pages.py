"""Runs the examples of Markdown pages as they are written, one after the other.

A ```python block is code. If the last line of an expression ends with a comment that begins with
figures, these must be its values:

    report["mrr"], len(ranks)  # 0.4385, 2,148: to the digits that are there

A ```text block is what the ```python block before it prints.

The lines of a ```sh block that begin with `truerank` are commands. Front matter says what else a
page needs:

    ---
    needs: [pykeen, torch]
    commands: run
    ---

`needs` are libraries without which the page is skipped; `commands: run` runs the commands as well.
Their options are checked in any case.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from decimal import Decimal
from io import StringIO
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from support.environment import ROOT

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
_FIGURES = re.compile(rf"{_NUMBER}(?:, {_NUMBER})*(?=[:;, ]|$)")
_ENDS = {"|", ">", "&&", ";"}  # a shell command goes on after these


class Block(NamedTuple):
    """A block of a page: its language, its code, and the number of the line before it."""

    language: str
    code: str
    line: int


def pages() -> list[Path]:
    """Return the pages of the site, without those of bench/ that docs/bench links to."""
    docs = ROOT / "docs"
    found = [*docs.glob("*.md"), *docs.glob("[!_]*/*.md")]
    return sorted(page for page in found if page.parent.name != "bench")


def front_matter(text: str) -> dict[str, str]:
    """Return the front matter of a page, with values as they are written."""
    found = _FRONT.match(text)
    lines = found[1].splitlines() if found else []
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def needs(text: str) -> list[str]:
    """Return the libraries that a page needs."""
    return re.findall(r"\w+", front_matter(text).get("needs", ""))


def blocks(text: str) -> Iterator[Block]:
    """Return the code blocks of a page, in order."""
    for found in _BLOCK.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start(2)))


def commands(block: Block) -> Iterator[list[str]]:
    """Return the arguments of each truerank command in a shell block."""
    for line in block.code.replace("\\\n", " ").splitlines():
        if line.startswith("truerank "):
            words = shlex.split(line, comments=True)[1:]
            end = next((i for i, word in enumerate(words) if word in _ENDS), len(words))
            yield words[:end]


def run(page: Path) -> int:
    """Run the examples of a page in the current folder; return how many figures were checked."""
    text = page.read_text(encoding="utf-8")
    runs_commands = front_matter(text).get("commands") == "run"
    names: dict[str, Any] = {"__name__": "__page__"}
    checked = 0
    printed = ""
    for block in blocks(text):
        if block.language == "python":
            with redirect_stdout(StringIO()) as output:
                checked += _run_python(block, str(page), names)
            printed = output.getvalue()
        elif block.language == "text":
            assert block.code.strip() == printed.strip(), f"{page}: line {block.line}"
            checked += 1
        elif runs_commands:
            for words in commands(block):
                _run_command(words)
    return checked


def _run_python(block: Block, file: str, names: dict[str, Any]) -> int:
    source = "\n" * block.line + block.code  # so that tracebacks show the line of the page
    lines = source.split("\n")
    checked = 0
    for node in ast.parse(source, file).body:
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), file, "exec"), names)
            continue
        value = eval(compile(ast.Expression(node.value), file, "eval"), names)
        line = lines[(node.end_lineno or node.lineno) - 1]
        figures = _FIGURES.match(line.partition("  # ")[2])
        values = value if isinstance(value, tuple) else (value,)
        if figures is None or not all(isinstance(found, Real) for found in values):
            continue
        for said, found in zip(figures[0].split(", "), values, strict=False):
            number = Decimal(said.replace(",", ""))
            digits = -int(number.as_tuple().exponent)
            assert round(float(found), digits) == float(number), f"{line}: {found!r}"
            checked += 1
    return checked


def _run_command(words: list[str]) -> None:
    from click.testing import CliRunner

    from truerank.cli.commands import commands as root

    result = CliRunner().invoke(root, words, prog_name="truerank")
    assert result.exit_code == 0, f"{shlex.join(words)}: {result.output}"
