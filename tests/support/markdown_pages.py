"""Runs the examples of Markdown pages as they are written, one after the other.

A ```python block is code. If the last line of an expression ends with a comment that begins with
figures, these must be its values:

    report["mrr"], len(ranks)  # 0.4385, 2,148: to the digits that are there
    ranks.above[:3]  # [21, 21, 10]: those of arrays and lists, too

A ```text block is what the block before it prints. A picture that follows a ```python block, in a
folder "pictures", is what its last line draws. This line prints and draws both anew:

    PYTHONPATH=python:tests python tests/support/markdown_pages.py docs/how-to/report.md

The lines of a ```sh block that begin with `truerank` are commands, whose options are checked. Front
matter says what else a page needs:

    ---
    needs: [pykeen, torch]
    commands: run
    ---

`needs` are libraries without which the page is skipped. `commands: run` runs the blocks, too, by
bash. A line that ends with `# exit code 1` has that exit code.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from decimal import Decimal
from importlib.util import find_spec
from io import StringIO
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.etree import ElementTree

from support.environment import ROOT

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_BLOCK = re.compile(
    r"^```(python|sh|text)\n(.*?)^```\n(?:\n!\[[^\]]+\]\((\S*pictures/\S+\.svg)\))?",
    re.DOTALL | re.MULTILINE,
)
_TEXT = re.compile(r"^```text\n.*?^```", re.DOTALL | re.MULTILINE)
_NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
_FIGURES = re.compile(rf"{_NUMBER}(?:, {_NUMBER})*(?=[:;, ]|$)")
_ENDS = {"|", "||", ">", "&&", ";"}  # A shell command goes on after these.
_EXIT_CODE = re.compile(r"# exit code (\d)$", re.MULTILINE)


class Block(NamedTuple):
    """A block of a page: its language, its code, the number of the line before it, its picture."""

    language: str
    code: str
    line: int
    picture: str = ""


def pages() -> list[Path]:
    """Return the pages of the site, without those of bench/ that docs/bench links to."""
    docs = ROOT / "docs"
    found = set(docs.glob("*.md")) | set(docs.glob("[!_]*/*.md"))
    return sorted(page for page in found if page.parent.name != "bench")


def front_matter(text: str) -> dict[str, str]:
    """Return the front matter of a page, with values as they are written."""
    found = _FRONT.match(text)
    if not found:
        return {}
    fields = {}
    for line in found[1].splitlines():
        key, _, value = line.partition(":")
        fields[key] = value.strip()
    return fields


def needs(text: str) -> list[str]:
    """Return the libraries that a page needs."""
    return re.findall(r"\w+", front_matter(text).get("needs", ""))


def blocks(text: str) -> Iterator[Block]:
    """Return the code blocks of a page, in order."""
    for found in _BLOCK.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start(2)), found[3] or "")


def commands(block: Block) -> Iterator[list[str]]:
    """Return the arguments of each truerank command in a shell block."""
    for line in block.code.replace("\\\n", " ").splitlines():
        if line.strip().startswith("truerank "):
            words = shlex.split(line, comments=True)[1:]
            end = next((i for i, word in enumerate(words) if word in _ENDS), len(words))
            yield words[:end]


def run(page: Path, renew: bool = False) -> int:
    """Run the examples of a page in the current folder; return how many figures were checked.

    With `renew`, its pictures and what it prints are written; otherwise they are compared. Where
    matplotlib is not installed, blocks with a picture do not run.
    """
    text = page.read_text(encoding="utf-8")
    runs_commands = "commands" in front_matter(text)
    names: dict[str, Any] = {"__name__": "__page__"}
    checked = 0
    printed = ""
    outputs = []
    for block in blocks(text):
        if block.picture and find_spec("matplotlib") is None:
            continue
        if block.language == "python":
            with redirect_stdout(StringIO()) as output:
                found, value = _run_python(block, str(page), names)
            checked += found
            printed = output.getvalue()
            if block.picture:
                checked += _check_picture(page.parent / block.picture, value, renew)
        elif block.language == "text":
            outputs.append(f"```text\n{printed.strip()}\n```")
            assert renew or block.code.strip() == printed.strip(), f"{page}: line {block.line}"
            checked += 1
        elif runs_commands:
            printed = _run_commands(block)
    if renew:
        renewed = iter(outputs)
        text = _TEXT.sub(lambda _: next(renewed), text)
        page.write_text(text, encoding="utf-8")
    return checked


def _run_python(block: Block, file: str, names: dict[str, Any]) -> tuple[int, Any]:
    """Run a block; return how many figures were checked, and the value of the last expression."""
    source = "\n" * block.line + block.code  # Tracebacks then show the line of the page.
    lines = source.split("\n")
    checked = 0
    value = None
    for node in ast.parse(source, file).body:
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), file, "exec"), names)
            continue
        value = eval(compile(ast.Expression(node.value), file, "eval"), names)
        line = lines[(node.end_lineno or node.lineno) - 1]
        figures = _FIGURES.match(re.sub(r"[\[\]]", "", line.partition("  # ")[2]))
        if figures is None:
            continue
        for said, found in zip(figures[0].split(", "), _flatten(value), strict=False):
            if not isinstance(found, Real):
                break
            number = Decimal(said.replace(",", ""))
            digits = -int(number.as_tuple().exponent)
            assert round(float(found), digits) == float(number), f"{line}: {found!r}"
            checked += 1
    return checked, value


def _flatten(value: Any) -> list[Any]:
    """Return what a number, an array, or lists and tuples of these hold, in order."""
    held = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(held, (list, tuple)):
        return [each for part in held for each in _flatten(part)]
    return [held]


def _check_picture(path: Path, axes: Any, renew: bool) -> int:
    """Write the picture of axes, or compare its texts: they are the same on any machine."""
    import matplotlib.style

    made = StringIO()
    with matplotlib.style.context(
        ["default", {"svg.fonttype": "none", "svg.hashsalt": "truerank"}]
    ):
        axes.figure.savefig(made, format="svg", metadata={"Date": None})
    if renew:
        path.write_text(made.getvalue(), encoding="utf-8")
    texts = _texts(made.getvalue())
    assert texts == _texts(path.read_text(encoding="utf-8")), f"{path} is not what the page draws"
    return len(texts)


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return sorted("".join(text.itertext()) for text in root.iterfind(".//{*}text"))


def _run_commands(block: Block) -> str:
    """Run a block by bash, as it stands; here, where all its lines are truerank's commands alone.

    A process that starts takes ten times as long as most of these commands.
    """
    lines = block.code.replace("\\\n", " ").splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not all(re.fullmatch(r"truerank [\w ./,=:@-]+(# exit code \d)?", line) for line in lines):
        return _run_by_shell(block)
    from truerank.cli.commands import commands as command_line

    printed = StringIO()
    for line in lines:
        words, _, expected = line.partition("# exit code ")
        code: Any = None
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                command_line(words.split()[1:], prog_name="truerank")
            except SystemExit as ended:
                code = ended.code
        assert code == int(expected or 0), printed.getvalue()
    return printed.getvalue()


def _run_by_shell(block: Block) -> str:
    """Run a block as it stands by bash, and return what it prints."""
    shell = shutil.which("bash") or "bash"
    begin = f'truerank() {{ {shlex.quote(sys.executable)} -m truerank "$@"; }}\n'
    begin += "export -f truerank\n"
    paths = os.pathsep.join(path for path in sys.path if path)
    code = _EXIT_CODE.sub(r"|| [ $? = \1 ]", block.code)
    found = subprocess.run(
        [shell, "-e", "-c", begin + code],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert found.returncode == 0, found.stdout
    return found.stdout


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        with TemporaryDirectory() as folder, chdir(folder):
            run(page, renew=True)
