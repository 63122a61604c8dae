"""The kernels as code of a GPU; `test_vector_scores.py` runs these tests in their own process.

No GPU is needed to compile for one.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from truerank import _core
from truerank.devices import count_kernels, scoring_kernels
from truerank.devices.vector_scores import BLOCKS

KERNELS = ("score_tiles", "score_pairs", "count_tiles", "sum_squares")
FLOAT_POINTERS = ("queries", "entities", "bias", "query_means", "entity_means", "out", "panel")
INDEX_POINTERS = ("first", "above", "tied", "missing")
SQUARES = ("query_squares", "entity_squares", "squares")
OPTIONS = {"enable_fp_fusion": False, "num_warps": BLOCKS.warps}


# GPUs like the H100 and the MI300, and the name of what is compiled for them.
NVIDIA, AMD = (GPUTarget("cuda", 90, 32), "ptx"), (GPUTarget("hip", "gfx942", 64), "amdgcn")


def compiled(
    kernel: str, similarity: str, dtype: str, device: tuple[GPUTarget, str] = NVIDIA
) -> str:
    """Return a kernel as it is compiled for a device."""
    function = getattr(scoring_kernels, kernel)
    constants = {
        "SIMILARITY": similarity,
        "NORMALISE": similarity == "cosine",
        "QUERIES": BLOCKS.queries,
        "ENTITIES": BLOCKS.entities,
        "PAIRS": BLOCKS.pairs,
        "VECTORS": BLOCKS.pairs,
    }
    signature: dict[str, str] = {}
    values: dict[tuple[int], Any] = {}
    for place, name in enumerate(function.arg_names):
        if name in constants:
            signature[name], values[place,] = "constexpr", constants[name]
        elif name in FLOAT_POINTERS or name == "true_scores":
            signature[name] = f"*{dtype}"
        elif name in SQUARES:
            signature[name] = "*fp64"
        else:
            signature[name] = "*i64" if name in INDEX_POINTERS else "i32"
    source = ASTSource(function, signature, values, {})
    return str(triton.compile(source, target=device[0], options=OPTIONS).asm[device[1]])


@pytest.mark.parametrize("similarity", ["dot", "l2", "complex_l1"])
def test_amd_keeps_subnormal_numbers_and_fuses_what_is_fused(similarity: str) -> None:
    code = compiled("count_tiles", similarity, "fp32", AMD)
    assert re.search(r"\.amdhsa_float_denorm_mode_32 3\b", code)
    assert re.search(r"\bv_(pk_)?fma(c|_f32|mk|ak)?", code)
    assert not re.search(r"\bv_(mfma|mad_f32|mac_f32|dot)", code)


@pytest.mark.parametrize("similarity", _core.similarities)
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_every_operation_rounds_once_to_nearest(similarity: str, dtype: str) -> None:
    bits = dtype[2:]
    for kernel in KERNELS:
        if kernel == "sum_squares" and similarity not in ("cosine", "poincare"):
            continue
        ptx = compiled(kernel, similarity, dtype)
        operations = set(
            re.findall(r"^\s*(?:@%p\d+ )?(\w+\.[\w.]*f(?:32|64))\b", ptx, re.MULTILINE)
        )
        arithmetic = {
            x for x in operations if re.match("add|sub|mul|div|sqrt|fma|mad|rcp|ex2|lg2", x)
        }
        assert arithmetic
        inexact = {
            x for x in arithmetic if not re.fullmatch(r"(add|sub|mul|div|sqrt|fma)\.rn\.f\d\d", x)
        }
        assert not inexact, (kernel, inexact)
        narrowed = {x for x in operations if x.startswith("cvt") and ".f32.f64" in x}
        assert narrowed <= {"cvt.rn.f32.f64"}
        for word in ("mma", "tf32", ".ftz", ".approx", "bf16", "f16x2"):
            assert word not in ptx, (kernel, word)
        fused = kernel != "sum_squares" and similarity not in ("l1", "inverse_l1")
        assert (f"fma.rn.f{bits}" in arithmetic) == fused, kernel
        assert f"fma.rn.f{96 - int(bits)}" not in arithmetic
        if "l2" in similarity[-2:] or similarity == "complex_l1":
            assert (f"sqrt.rn.f{bits}" in arithmetic) == (similarity != "sql2")
        if "inverse" in similarity:
            assert f"div.rn.f{bits}" in arithmetic


def test_sums_of_registers_are_not_moved_between_threads() -> None:
    """Every thread keeps its pairs from the first component to the last."""
    ptx = compiled("count_tiles", "dot", "fp32")
    blocks = re.split(r"^\$L__BB", ptx, flags=re.MULTILINE)
    inner = [block for block in blocks if "fma.rn.f32" in block]
    assert len(inner) == 1
    assert not re.search(r"bar\.sync|shfl|\bshared", inner[0])


@pytest.mark.parametrize("kind", ["fp16", "i16 of bfloat16", "fp32", "fp64", "i8", "u64"])
@pytest.mark.parametrize("rows_and_tasks", [(1, 1), (1, 8), (64, 1)])
def test_scores_are_counted_with_few_wide_loads(kind: str, rows_and_tasks: tuple[int, int]) -> None:
    function = count_kernels.count_kernel
    rows, tasks = rows_and_tasks
    dtype, _, name = kind.partition(" of ")
    constants = {
        "ROWS": rows,
        "TASKS": tasks,
        "COLUMNS": count_kernels.BLOCK // (rows * tasks),
        "GATHERED": False,
        "HAS_NAN": "f" in kind,
        "DTYPE": name or {"fp16": "float16"}.get(dtype, dtype),
        "column_stride": 1,
    }
    signature, values, hints = {}, {}, {}
    for place, argument in enumerate(function.arg_names):
        if argument in constants:
            signature[argument], values[place,] = "constexpr", constants[argument]
            continue
        pointers = {"scores": dtype, "true_scores": dtype, "counts": "i32"}
        pointers |= dict.fromkeys(("columns", "group_rows", "group_tasks"), "i64")
        signature[argument] = f"*{pointers[argument]}" if argument in pointers else "i32"
        if argument in pointers or argument == "row_stride":
            hints[place,] = [["tt.divisibility", 16]]
    source = ASTSource(function, signature, values, hints)
    ptx = str(triton.compile(source, target=NVIDIA[0], options=OPTIONS).asm[NVIDIA[1]])
    assert ".ftz" not in ptx
    if rows_and_tasks == (1, 1):  # a thread reads 16 bytes at once
        assert re.search(r"ld\.global\.v[24]\.b(32|64)", ptx)
