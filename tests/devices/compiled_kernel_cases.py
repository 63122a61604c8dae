"""The kernels as code of a GPU; `test_devices.py` runs these tests in their own process.

No GPU is needed to compile for one.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from truerank.devices import count_kernels

H100 = GPUTarget("cuda", 90, 32)
STORED = ("fp16", "i16 of bfloat16", "fp32", "fp64", "i8", "u64")
# What the kernel of stored scores may be given, or not.
OPTIONAL = ("true_scores", "order", "rows", "filter_indptr", "filter_indices", "filter_lists")
OPTIONAL += ("indptr", "indices", "lists")
FILTER = ("filter_indptr", "filter_indices")
SELECTIONS = (*FILTER, "indptr", "indices", "lists")


def stored_kernel(
    kind: str, by_columns: bool, tasks: int = 1, given: Sequence[str] = FILTER
) -> Any:
    """Compile the kernel for stored scores of a dtype, in one of the layouts.

    `given` names those of its optional pointers that are.
    """
    dtype, _, name = kind.partition(" of ")
    step_of_one = "column_stride"
    if by_columns:
        tasks = count_kernels.ROWS
        step_of_one = "row_stride"
    constants = {"TASKS": tasks, "COLUMNS": count_kernels.TILE // tasks, "BY_COLUMNS": by_columns}
    constants["FEW"] = max(1, constants["COLUMNS"] // count_kernels.TIMES_AS_FEW)
    constants |= {"IS_BFLOAT16": bool(name), step_of_one: 1}
    constants |= {pointer: None for pointer in OPTIONAL if pointer not in given}
    pointers = dict.fromkeys(OPTIONAL, "i64") | {"targets": "i64", "counts": "i64"}
    pointers |= dict.fromkeys(("filter_indices", "indices"), "i32")
    pointers |= dict.fromkeys(("scores", "true_scores", "own_scores"), dtype)
    if "true_scores" in given:
        constants["own_scores"] = None
    aligned = (*pointers, "row_stride", "column_stride")
    signature = {}
    values = {}
    hints = {}
    for place, name in enumerate(count_kernels.count_tasks.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            values[place,] = constants[name]
            continue
        signature[name] = f"*{pointers[name]}" if name in pointers else "i32"
        if name in aligned:
            hints[place,] = [["tt.divisibility", 16]]
    source = ASTSource(count_kernels.count_tasks, signature, values, hints)
    return triton.compile(source, target=H100, options={"enable_fp_fusion": False})


def spilled_bytes(compiled: Any) -> int:
    """Return the bytes of registers that a thread spills, as ptxas tells them."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
        ptx.write(compiled.asm["ptx"])
        ptx.flush()
        tool = get_ptxas(H100.arch).path
        command = [tool, "-v", "--fmad=false", "--gpu-name=sm_90a", ptx.name, "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    spilled = re.search(r"(\d+) bytes spill stores", done.stderr)
    assert spilled, done.stderr
    return int(spilled[1])


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("by_columns", [False, True])
def test_neighbouring_threads_read_neighbouring_scores(kind: str, by_columns: bool) -> None:
    """In either layout; 16 bytes at once, if rows follow each other."""
    for tasks, given in ((1, ()), (8, FILTER), (1, ("rows",))):
        compiled = stored_kernel(kind, by_columns, tasks, given)
        assert spilled_bytes(compiled) == 0
        assert ".ftz" not in compiled.asm["ptx"]
        table = compiled.asm["ttgir"]
        layout = re.findall(r"%score\w* = tt\.load .*(#blocked\d*)>", table)[0]
        (shape,) = re.findall(rf"^{layout} = #ttg\.blocked<(.*)>$", table, re.MULTILINE)
        assert "order = [1, 0]" in shape  # columns are the last axis of a tile, or else rows
        down, across = re.findall(r"(?:PerThread|PerWarp) = \[\d+, (\d+)\]", shape)
        assert int(down) * int(across) >= 32
        if not (by_columns and given == ("rows",)):
            assert re.search(r"ld\.global\.v[24]\.b(32|64)", compiled.asm["ptx"])


def test_lists_of_both_selections_spill_no_registers() -> None:
    assert spilled_bytes(stored_kernel("fp32", False, 1, SELECTIONS)) == 0
