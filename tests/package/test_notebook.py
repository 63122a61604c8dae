"""The notebook of the site runs, and shows what is stored in it."""

from __future__ import annotations

import itertools
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from support.environment import ROOT
from support.notebooks import executed, read

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").glob("*.ipynb")), ids=lambda path: path.name
)
def test_it_shows_what_a_fresh_run_shows(path: Path) -> None:
    """After a change, `python tests/support/notebooks.py PATH` stores the new outputs."""
    pytest.importorskip("matplotlib", reason="the notebook draws a plot")
    stored = read(path)
    assert outputs(executed(stored)) == outputs(stored)


def outputs(notebook: dict[str, Any]) -> list[Any]:
    """Return what the cells show; of a picture, whose bytes differ by machine, that it is one."""
    shown = [cell.get("outputs") for cell in notebook["cells"]]
    for output in itertools.chain.from_iterable(filter(None, shown)):
        if "image/png" in output.get("data", {}):
            assert b64decode(output["data"]["image/png"]).startswith(b"\x89PNG")
            output["data"]["image/png"] = "a picture"
    return shown
