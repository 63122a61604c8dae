"""Runs a notebook without Jupyter, and stores what its cells show, as Jupyter would.

    PYTHONPATH=python:tests python tests/support/notebooks.py docs/first-steps.ipynb

runs the cells in the order of the file and writes their outputs into it.
"""

from __future__ import annotations

import ast
import json
import sys
from base64 import b64encode
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_"}


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs of a fresh run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _run("".join(cell["source"]), names, count)
            cell = cell | {"execution_count": count, "outputs": outputs}
        cells.append(cell)
    return notebook | {"cells": cells}


def _run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell; show what it prints, and the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    outputs: list[dict[str, Any]] = []
    with redirect_stdout(StringIO()) as printed:
        exec(compile(ast.Module(body, []), f"cell {count}", "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        for kind, method in RICH.items():
            if hasattr(value, method):
                shown = getattr(value, method)()
                if isinstance(shown, bytes):
                    data[kind] = b64encode(shown).decode()
                else:
                    data[kind] = shown.splitlines(True)
        outputs.append(
            {
                "data": data,
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(path: Path, notebook: dict[str, Any]) -> None:
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name), executed(read(Path(name))))
