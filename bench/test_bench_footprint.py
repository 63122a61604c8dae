"""What the package takes beside its input: anonymous memory, and time to import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Board, Compare, Pair, Row
from synthetic import Sizes

LIMIT = 50e6


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_of_a_memory_map(order: str, board: Board, sizes: Sizes) -> None:
    """Rank a memory map in a process of its own and watch its anonymous memory."""
    rows, columns = sizes.mapped
    probe = Path(__file__).with_name("probe_memory.py")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "scores.f32")
        with path.open("wb") as file:
            file.truncate(rows * columns * 4)
        command = [sys.executable, str(probe), str(path), str(rows), str(columns), order]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["right"], "the counts of the memory map are wrong"
    case = f"memory map of {found['bytes'] / 1e9:.2g} GB, {order} order"
    growth = found["anonymous"]
    rate = found["bytes"] / found["seconds"] / 1e9
    grown = f"truerank, first read: +{growth / 1e6:.1f} MB"
    goal = f"< {LIMIT / 1e6:.0f} MB"
    row = Row(case, grown, found["seconds"], rate, goal=goal, met=growth < LIMIT)
    board.rows.append(row)
    board.remarks.append(
        f"{case}: anonymous memory (RssAnon, sampled) grew by {growth / 1e6:.1f} MB at most;"
        f" resident at most {found['resident'] / 1e6:.0f} MB,"
        f" of it {found['file'] / 1e6:.0f} MB pages of files"
    )


def test_import(compare: Compare, sizes: Sizes, tmp_path: Path) -> None:
    """A new interpreter that imports truerank, against one that imports numpy."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "PYTEST"))}

    def start(code: str) -> Callable[[], None]:
        def run() -> None:
            command = [sys.executable, "-c", code]
            subprocess.run(command, check=True, cwd=tmp_path, env=environment)

        return run

    compare(
        "import, in a new interpreter",
        {
            "import truerank": start("import truerank"),
            "import numpy": start("import numpy"),
            "nothing": start("pass"),
        },
        [Pair("import truerank", "import numpy", "cost", 1.2)],
        rounds=sizes.starts,
        budget=60.0,  # none sits out
        agree=False,
    )
