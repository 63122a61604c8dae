"""The Python of the README runs as it stands, one block after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_python_blocks_run_and_say_what_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is a value and is followed by figures has these figures."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    checked = 0
    text = README.read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(README), "exec"), names)
        for line in block.splitlines():
            code, _, comment = line.partition("  # ")
            figures = re.match(r"-?\d+\.\d{3,}(?:, -?\d+\.\d{3,})*(?=[:, ]|$)", comment)
            if figures is None or " = " in code or code.startswith("print"):
                continue
            value = eval(code, names)
            values = value if isinstance(value, tuple) else (value,)
            for said, found in zip(figures[0].split(", "), values, strict=False):
                digits = len(said.partition(".")[2])
                assert round(found, digits) == float(said), line
                checked += 1
    assert checked >= 4
