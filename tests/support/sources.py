"""Files of Python: their trees, and the lines of them that are code."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Source(NamedTuple):
    """A file: its tree, and the numbers of the lines that are code."""

    tree: ast.Module
    code: frozenset[int]


def read(path: Path) -> Source:
    """Return a file, of whose lines docstrings, comments and blank ones are no code."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    written = {i for i, line in lines if line.strip()[:1] not in ("", "#")}
    return Source(tree, frozenset(written - docstrings))
