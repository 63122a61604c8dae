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

from truerank import _core
from truerank.devices import bounded_scores, count_kernels, scoring_kernels, vector_scores

H100 = GPUTarget("cuda", 90, 32)
MOST_SPILLED = 64  # bytes of a thread, once for a tile: `bound_scores` with its large tile
STORED = ("fp16", "i16 of bfloat16", "fp32", "fp64", "i8", "u64")
# What the kernel of stored scores may be given, or not.
OPTIONAL = ("true_scores", "order", "rows", "filter_indptr", "filter_indices", "filter_lists")
OPTIONAL += ("indptr", "indices", "lists", "faults")
FILTER = ("filter_indptr", "filter_indices")
SELECTIONS = (*FILTER, "indptr", "indices", "lists")
OF_BOUNDS = ("query_offsets", "entity_offsets", "slacks", "bias", "query_means", "entity_means")
NUMBERS = ("slope", "share", "ratio", "share_of_offsets")
VECTORS = ("queries", "entities", "bias", "query_means", "entity_means", "out", "panel")


def vector_kernel(kernel: str, similarity: str, dtype: str, target: GPUTarget = H100) -> Any:
    """Compile a kernel that scores vectors, with a bias and means."""
    is_small = similarity == "poincare"
    queries, entities = vector_scores.SMALL_TILE if is_small else vector_scores.TILE
    constants: dict[str, Any] = {"SIMILARITY": similarity, "PAIRED": False, "QUERIES": queries}
    constants |= {"ENTITIES": entities, "VECTORS": vector_scores.VECTORS}
    constants["NORMALISE"] = similarity == "cosine"
    pointers = dict.fromkeys(VECTORS, dtype)
    pointers["true_scores"] = dtype
    pointers |= dict.fromkeys(("query_squares", "entity_squares", "squares"), "fp64")
    pointers |= dict.fromkeys(("first", "counts"), "i64")
    options = {"enable_fp_fusion": False, "num_warps": vector_scores.WARPS}
    return compile_kernel(
        getattr(scoring_kernels, kernel), constants, pointers, {}, target, options
    )


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
    constants |= {"IS_BFLOAT16": bool(name), "FIND_NAN": True, step_of_one: 1}
    constants |= {pointer: None for pointer in OPTIONAL if pointer not in given}
    pointers = dict.fromkeys(OPTIONAL, "i64") | {"targets": "i64", "counts": "i64"}
    pointers |= dict.fromkeys(("filter_indices", "indices"), "i32")
    pointers |= dict.fromkeys(("scores", "true_scores", "own_scores"), dtype)
    if "true_scores" in given:
        constants["own_scores"] = None
    aligned = (*pointers, "row_stride", "column_stride")
    return compile_kernel(
        count_kernels.count_tasks, constants, pointers, aligned, H100, {"enable_fp_fusion": False}
    )


def list_kernel(kernel: str) -> Any:
    """Compile the kernel that checks targets and lists on the device, or that sorts lists."""
    function = getattr(count_kernels, kernel)
    constants = {"PLACES": count_kernels.PLACES, "FEW": count_kernels.SORTED_TOGETHER}
    pointers = dict.fromkeys(("targets", "indptr", "lists", "faults"), "i64")
    pointers |= {"filter_indptr": "i64", "filter_indices": "i32", "filter_lists": "i64"}
    pointers |= {"indices": "i64", "ordered": "i32"}
    if kernel == "sort_lists":
        pointers["indices"] = "i32"
    options = {"enable_fp_fusion": False}
    return compile_kernel(function, constants, pointers, pointers, H100, options)


def bounded_kernel(kernel: str, similarity: str, layers: bool = False) -> Any:
    """Compile a kernel of bounds: with offsets and slacks, unless the similarity is "dot"."""
    is_plain = similarity == "dot"
    height, width = bounded_scores.TILE if is_plain and not layers else bounded_scores.SMALL_TILE
    constants: dict[str, Any] = {"SIMILARITY": similarity, "COLUMNS": width, "ROWS": height}
    constants["STEP"] = scoring_kernels.STEP
    if kernel == "score_open_pairs":
        constants["ROWS"], constants["WORDS"] = bounded_scores.OPEN_TILE
    constants |= {"HAS_LAYERS": layers, "IS_QUERY": False}
    constants["VECTORS"] = bounded_scores.VECTORS
    if is_plain:
        constants |= dict.fromkeys(OF_BOUNDS)
    names = ("panel", "step", "components", "reaches", "squares", "queries", "entities")
    names += ("query_step", "query_reaches", "query_offsets", "thresholds", "slacks")
    names += ("entity_step", "entity_reaches", "entity_offsets", "true_scores", "out")
    pointers = dict.fromkeys((*names, "bias", "query_means", "entity_means"), "fp32")
    pointers |= dict.fromkeys(("levels", "query_levels", "entity_levels"), "fp16")
    pointers |= {"words": "i32", "first": "i64", "counts": "i64"}
    options = {"enable_fp_fusion": False, "num_warps": bounded_scores.WARPS}
    options["num_stages"] = bounded_scores.STAGES
    aligned = (*pointers, "padded")
    return compile_kernel(
        getattr(scoring_kernels, kernel), constants, pointers, aligned, H100, options
    )


def compile_kernel(
    function: Any,
    constants: dict[str, Any],
    pointers: dict[str, str],
    aligned: Any,
    target: GPUTarget,
    options: dict[str, Any],
) -> Any:
    signature = {}
    values = {}
    hints = {}
    for place, name in enumerate(function.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            values[place,] = constants[name]
            continue
        kind = "fp32" if name in NUMBERS else "i32"
        signature[name] = f"*{pointers[name]}" if name in pointers else kind
        if name in aligned:
            hints[place,] = [["tt.divisibility", 16]]
    source = ASTSource(function, signature, values, hints)
    return triton.compile(source, target=target, options=options)


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


@pytest.mark.parametrize("similarity", ["dot", "l2", "complex_l1"])
def test_amd_keeps_subnormal_numbers_and_fuses_what_is_fused(similarity: str) -> None:
    device = GPUTarget("hip", "gfx942", 64)  # like the MI300
    code = vector_kernel("count_scores", similarity, "fp32", device).asm["amdgcn"]
    assert re.search(r"\.amdhsa_float_denorm_mode_32 3\b", code)
    assert re.search(r"\bv_(pk_)?fma(c|_f32|mk|ak)?", code)
    assert not re.search(r"\bv_(mfma|mad_f32|mac_f32|dot)", code)


@pytest.mark.parametrize("similarity", _core.similarities)
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_every_operation_rounds_once_to_nearest(similarity: str, dtype: str) -> None:
    bits = dtype[2:]
    for kernel in ("store_scores", "count_scores", "sum_squares"):
        if kernel == "sum_squares" and similarity not in ("cosine", "poincare"):
            continue
        compiled = vector_kernel(kernel, similarity, dtype)
        assert spilled_bytes(compiled) == 0
        ptx = compiled.asm["ptx"]
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


@pytest.mark.parametrize(("similarity", "layers"), [("dot", False), ("dot", True), ("l2", False)])
def test_bounds_keep_subnormals_and_open_pairs_the_chain(similarity: str, layers: bool) -> None:
    bound = bounded_kernel("bound_scores", similarity, layers)
    assert "wgmma" in bound.asm["ptx"]
    assert spilled_bytes(bound) <= MOST_SPILLED
    chain = bounded_kernel("score_open_pairs", similarity).asm["ptx"]
    assert "fma.rn.f32" in chain
    assert not re.search(r"mma|tf32|(add|sub|mul)\.(?!rn)[\w.]*f32", chain)
    levels = bounded_kernel("make_levels", similarity).asm["ptx"]
    for ptx in (bound.asm["ptx"], chain, levels):
        assert not re.search(r"\.ftz|\.approx|div\.full", ptx)


def test_sums_of_registers_are_not_moved_between_threads() -> None:
    """Every thread keeps its pairs from the first component to the last."""
    ptx = vector_kernel("count_scores", "dot", "fp32").asm["ptx"]
    blocks = re.split(r"^\$L__BB", ptx, flags=re.MULTILINE)
    inner = [block for block in blocks if "fma.rn.f32" in block]
    assert len(inner) == 1
    assert not re.search(r"bar\.sync|shfl|\bshared", inner[0])


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("by_columns", [False, True])
def test_neighbouring_threads_read_neighbouring_scores(kind: str, by_columns: bool) -> None:
    """In either layout; 16 bytes at once, if rows follow each other."""
    unchecked = (*FILTER, "faults")
    for tasks, given in ((1, ()), (8, FILTER), (1, ("rows",)), (1, unchecked)):
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


def test_what_nobody_has_checked() -> None:
    assert spilled_bytes(list_kernel("check_tasks")) == 0
    assert spilled_bytes(list_kernel("sort_lists")) == 0
    unchecked = stored_kernel("fp32", False, 1, (*SELECTIONS, "faults"))
    assert spilled_bytes(unchecked) == 0
