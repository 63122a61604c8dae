"""Count the idioms that make code dense, and hold their numbers: they may fall, and not rise.

`python tests/tools/idioms.py` prints a table by room of the package, for tests, bench and fuzz, and
for scipy.stats and sklearn.metrics as they are installed. Per 1,000 lines of code, without
docstrings, comments and blank lines, it has the

- conditional expressions, `a if c else b`;
- starred displays, `[*a, x]`, and `first, *others` that is assigned to;
- tuple assignments, `a, b = c, d`;
- walrus operators.

Beside these rates stand the numbers of what should not be there at all:

- nested: a conditional expression in another one;
- inside: a conditional expression in the arguments of a call, or in a list, tuple, set or
  dictionary that is written out; what a lambda or a comprehension computes has a place of its own;
- times bool: a list, a tuple or a text multiplied by a condition;
- starred if: `[*a, *([x] if c else [])]`;
- plural: an "s" appended to a word.

`--check` fails where a number is above that in idioms.json. A rate may stay above its aim, but not
rise: a room fails if it has more of an idiom than it had, at a higher rate, and more than the aim
allows for its size. `--update` writes the numbers of today; it is run after a merge, and where the
numbers have fallen. `--list FOLDER...` prints the place of each thing that should not be there.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "truerank"
NUMBERS = Path(__file__).with_name("idioms.json")

# Idioms, with how many in 1,000 lines of code are aimed at.
AIMS = {"conditional": 12.0, "starred": 3.0, "tuple": 6.0, "walrus": 0.5}
FAULTS = ("nested", "inside", "times bool", "starred if", "plural")
COLUMNS = ("lines", *AIMS, *FAULTS)
PEERS = {"scipy.stats": ("scipy", "stats"), "sklearn.metrics": ("sklearn", "metrics")}

DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.stmt)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PLURALS = {"s", "es"}
ENDING = re.compile(r"(s|es)\b(?!-)")
ANSWER = re.compile(r"_*(is|has|are|can|was|needs)_")


class Source(NamedTuple):
    """A file: its lines, its tree, the numbers of the lines that are code."""

    lines: list[str]
    tree: ast.Module
    code: frozenset[int]


def read(path: Path) -> Source:
    """Return a file, of whose lines docstrings, comments and blank ones are no code."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    tree = ast.parse(text)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    written = {i for i, line in enumerate(lines, 1) if line.strip()[:1] not in ("", "#")}
    return Source(lines, tree, frozenset(written - docstrings))


def idioms_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name and the line of each idiom."""
    for node in ast.walk(tree):
        match node:
            case ast.IfExp():
                yield "conditional", node.lineno
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                if any(isinstance(element, ast.Starred) for element in elements):
                    yield "starred", node.lineno
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple()):
                yield "tuple", node.lineno
            case ast.NamedExpr():
                yield "walrus", node.lineno


def faults_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name and the line of each thing that should not be there."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        match node:
            case ast.IfExp():
                yield from ((name, node.lineno) for name in faults_around(node, parents))
            case ast.Starred(value=ast.IfExp()):
                yield "starred if", node.lineno
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                for repeated, times in ((left, right), (right, left)):
                    if is_written_out(repeated) and is_condition(times, parents):
                        yield "times bool", node.lineno
        if isinstance(node, ast.expr) and appends_a_plural(node):
            yield "plural", node.lineno


def appends_a_plural(node: ast.expr) -> bool:
    """Whether an expression makes a word plural, or leaves it as it is."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return bool({text_of(body), text_of(orelse)} & PLURALS)
        case ast.BinOp(op=ast.Add(), right=right):
            return text_of(right) in PLURALS
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return bool({text_of(left), text_of(right)} & PLURALS)
        case ast.JoinedStr(values=values):
            return any(
                is_plain_field(before) and ENDING.match(text_of(after)) is not None
                for before, after in pairwise(values)
            )
    return False


def faults_around(node: ast.IfExp, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """Yield "nested" and "inside" where a conditional expression is so."""
    ancestors: list[ast.AST] = [node]
    while not isinstance(parents[ancestors[-1]], SCOPES):
        ancestors.append(parents[ancestors[-1]])
    if any(isinstance(above, ast.IfExp) for above in ancestors[1:]):
        yield "nested"
    for below, above in pairwise(ancestors):
        if isinstance(above, DISPLAYS) or (isinstance(above, ast.Call) and below is not above.func):
            yield "inside"
            return


def text_of(node: ast.expr) -> str:
    """Return a text that is written out, or an empty one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def is_written_out(node: ast.expr) -> bool:
    return bool(text_of(node)) or isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr))


def is_plain_field(node: ast.expr) -> bool:
    """Whether a part of an f-string is a value without a format; numbers with one have units."""
    return isinstance(node, ast.FormattedValue) and node.format_spec is None


def is_condition(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether an expression can be seen to be true or false."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="bool")):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) | ast.Attribute(attr=name):
            return ANSWER.match(name) is not None
        case ast.Name(id=name):
            return ANSWER.match(name) is not None or name in flags_around(node, parents)
    return False


def flags_around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[str]:
    """Return the parameters of the function around a node that are annotated as bool."""
    while not isinstance(node, FUNCTIONS):
        if isinstance(node, ast.Module):
            return set()
        node = parents[node]
    flags = set()
    for parameter in node.args.posonlyargs + node.args.args + node.args.kwonlyargs:
        if parameter.annotation is not None and ast.unparse(parameter.annotation) == "bool":
            flags.add(parameter.arg)
    return flags


# -- rooms and what they have ----------------------------------------------------------------------


def rooms() -> dict[str, list[Path]]:
    """Return the files of each room: of the package, then what stands beside it."""
    files: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0]
        if path.parent == PACKAGE:
            room = "truerank"
        files.setdefault(room, []).append(path)
    for name in ("tests", "bench", "fuzz"):
        files[name] = sorted((ROOT / name).rglob("*.py"))
    return files


def peers() -> dict[str, list[Path]]:
    """Return the files of packages that are installed, without their tests."""
    files = {}
    for name, (top, inner) in PEERS.items():
        spec = find_spec(top)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / inner
            modules = sorted(folder.rglob("*.py"))
            files[name] = [
                path for path in modules if "tests" not in path.relative_to(folder).parts
            ]
    return files


def count(files: list[Path]) -> dict[str, int]:
    """Return the numbers of lines of code, of idioms and of faults in files."""
    counts = Counter[str]()
    for path in files:
        source = read(path)
        counts["lines"] += len(source.code)
        counts.update(name for name, _ in idioms_of(source.tree))
        counts.update(name for name, _ in faults_of(source.tree))
    return {name: counts[name] for name in COLUMNS}


def table(counts: dict[str, dict[str, int]]) -> str:
    """Return a table of rates and numbers."""
    rows = [["room", *COLUMNS]]
    for room, found in counts.items():
        row = [room, f"{found['lines']:,}"]
        row += [f"{1000 * found[name] / max(1, found['lines']):.1f}" for name in AIMS]
        row += [str(found[name]) for name in FAULTS]
        rows.append(row)
    aims = ["aim", ""]
    aims += [str(aim) for aim in AIMS.values()]
    aims += ["0" for _ in FAULTS]
    rows.append(aims)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells))
    return "\n".join(lines)


def rises(counts: dict[str, dict[str, int]], held: dict[str, dict[str, int]]) -> Iterator[str]:
    """Say where there is more than there was; a room without numbers is held to the aims."""
    for room, now in counts.items():
        before = held.get(room, dict.fromkeys(now, 0))
        for name in FAULTS:
            if now[name] > before[name]:
                yield f"{room}: {name}: {now[name]}, at most {before[name]}"
        for name, aim in AIMS.items():
            allowed = math.ceil(aim * now["lines"] / 1000)
            is_denser = now[name] * before["lines"] > before[name] * now["lines"]
            if now[name] > max(before[name], allowed) and (is_denser or not before["lines"]):
                most = max(before[name], allowed)
                yield f"{room}: {name}: {now[name]} in {now['lines']} lines, at most {most}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where a number has risen")
    parser.add_argument("--update", action="store_true", help="write the numbers of today")
    parser.add_argument("--list", nargs="+", type=Path, metavar="FOLDER", help="print places")
    options = parser.parse_args()
    if options.list:
        for folder in options.list:
            for file in sorted(folder.rglob("*.py")):
                for name, line in sorted(faults_of(read(file).tree), key=itemgetter(1)):
                    print(f"{file}:{line}: {name}")
        return
    counts = {room: count(files) for room, files in rooms().items()}
    others = {name: count(files) for name, files in peers().items()}
    print(table(counts | others))
    if options.update:
        rows = [f"{json.dumps(room)}: {json.dumps(found)}" for room, found in counts.items()]
        NUMBERS.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")  # a line for each room
    elif options.check:
        found = list(rises(counts, json.loads(NUMBERS.read_text("utf-8"))))
        hint = "\n`--list FOLDER` prints where; after a merge, `--update` writes the numbers anew"
        if found:
            sys.exit("\n".join(found) + hint)


if __name__ == "__main__":
    main()
