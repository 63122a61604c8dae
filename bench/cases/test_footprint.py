"""What the package costs beside its input: anonymous memory, and the time to import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness import Compare, Pair
from harness.synthetic import Shape, Sizes
from harness.table import Results, Row

LIMIT = 50e6
CASES = {  # order of the file, and how it is opened
    "C order, io=map": ("C", "io=map"),
    "C order, io=read": ("C", "io=read"),
    "Fortran order, io=map": ("F", "io=map"),
    "Fortran order, io=read": ("F", "io=read"),
    "C order, np.memmap": ("C", "np.memmap"),
}
EVERY_SIZE = ("C order, io=map", "C order, io=read")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("case", CASES)
def test_memory_of_files(case: str, results: Results, sizes: Sizes) -> None:
    """Rank a file in a process of its own and sample its anonymous memory."""
    order, opening = CASES[case]
    probe = Path(__file__).with_name("probe_memory.py")
    for shape in sizes.memory_files if case in EVERY_SIZE else sizes.memory_files[-1:]:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "scores.npy")
            write_zeros(path, shape, order)
            command = [sys.executable, str(probe), str(path), opening]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured = json.loads(done.stdout)
        assert measured["correct"], "the counts of the file are wrong"
        growth, nbytes, seconds = (measured[key] for key in ("anonymous", "bytes", "seconds"))
        title = f"memory of a file of {nbytes / 1e9:.2g} GB"
        goal = f"< {LIMIT / 1e6:.0f} MB"
        met = growth < LIMIT
        results.rows.append(Row(title, case, seconds, memory=growth, goal=goal, met=met))
        results.add_remark(
            f"{title}, {case}: anonymous memory (RssAnon, sampled) grew by {growth / 1e6:.1f} MB at"
            f" most; resident at most {measured['resident'] / 1e6:.0f} MB, of it"
            f" {measured['file'] / 1e6:.0f} MB pages of files"
        )


def write_zeros(path: Path, shape: Shape, order: str) -> None:
    """Write a sparse .npy of float32 zeros: the header, then a hole."""
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": order == "F", "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * shape[0] * shape[1])


def test_import(compare: Compare, sizes: Sizes, tmp_path: Path) -> None:
    """A new interpreter that imports truerank, against one that imports numpy."""
    # Without bytecode every start would compile the package; an installed one never does.
    removed = ("COV_", "PYTEST", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(removed)}

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
        rounds=sizes.import_rounds,
        budget=60.0,  # all contestants run in every round
        agree=False,
    )
