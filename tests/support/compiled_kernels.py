"""The kernels of Triton, compiled for an H100; no GPU is needed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from truerank.devices import bounded_scores, count_kernels, scoring_kernels, vector_scores

H100 = GPUTarget("cuda", 90, 32)
MOST_SPILLED = 64  # bytes of a thread, once for a tile: `bound_scores` with its large tile
STORED = ("fp16", "i16 of bfloat16", "fp32", "fp64", "i8", "u64")
# What the kernel of stored scores may be given, or not.
OPTIONAL = ("true_scores", "order", "rows", "filter_indptr", "filter_indices", "filter_lists")
OPTIONAL += ("indptr", "indices", "lists", "faults")
FILTER = ("filter_indptr", "filter_indices")
SELECTIONS = (*FILTER, "indptr", "indices", "lists")
_OF_BOUNDS = ("query_offsets", "entity_offsets", "slacks", "bias", "query_means", "entity_means")
_NUMBERS = ("slope", "share", "ratio", "share_of_offsets")
_VECTORS = ("queries", "entities", "bias", "query_means", "entity_means", "out", "panel")


def vector_kernel(kernel: str, similarity: str, dtype: str, target: GPUTarget = H100) -> Any:
    """Compile a kernel that scores vectors, with a bias and means."""
    is_small = similarity == "poincare"
    queries, entities = vector_scores.SMALL_TILE if is_small else vector_scores.TILE
    constants: dict[str, Any] = {"SIMILARITY": similarity, "PAIRED": False, "QUERIES": queries}
    constants |= {"ENTITIES": entities, "VECTORS": vector_scores.VECTORS}
    constants["NORMALISE"] = similarity == "cosine"
    pointers = dict.fromkeys(_VECTORS, dtype)
    pointers["true_scores"] = dtype
    pointers |= dict.fromkeys(("query_squares", "entity_squares", "squares"), "fp64")
    pointers |= dict.fromkeys(("first", "counts"), "i64")
    options = {"enable_fp_fusion": False, "num_warps": vector_scores.WARPS}
    return _compiled(getattr(scoring_kernels, kernel), constants, pointers, {}, target, options)


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
    return _compiled(
        count_kernels.count_tasks, constants, pointers, aligned, H100, {"enable_fp_fusion": False}
    )


def check_kernel() -> Any:
    """Compile the kernel that checks targets, a filter and candidates on the device."""
    names = count_kernels.check_tasks.arg_names
    pointers = dict.fromkeys(names[: names.index("tasks")], "i64") | {"filter_indices": "i32"}
    constants = {"PLACES": count_kernels.PLACES}
    options = {"enable_fp_fusion": False}
    return _compiled(count_kernels.check_tasks, constants, pointers, pointers, H100, options)


def sort_kernel() -> Any:
    """Compile the kernel that sorts lists on the device."""
    pointers = dict.fromkeys(("indptr", "faults"), "i64")
    pointers |= dict.fromkeys(("indices", "ordered"), "i32")
    constants = {"FEW": count_kernels.SORTED_TOGETHER}
    options = {"enable_fp_fusion": False}
    return _compiled(count_kernels.sort_lists, constants, pointers, pointers, H100, options)


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
        constants |= dict.fromkeys(_OF_BOUNDS)
    names = ("panel", "step", "components", "reaches", "squares", "queries", "entities")
    names += ("query_step", "query_reaches", "query_offsets", "thresholds", "slacks")
    names += ("entity_step", "entity_reaches", "entity_offsets", "true_scores", "out")
    pointers = dict.fromkeys((*names, "bias", "query_means", "entity_means"), "fp32")
    pointers |= dict.fromkeys(("levels", "query_levels", "entity_levels"), "fp16")
    pointers |= {"words": "i32", "first": "i64", "counts": "i64"}
    options = {"enable_fp_fusion": False, "num_warps": bounded_scores.WARPS}
    options["num_stages"] = bounded_scores.STAGES
    aligned = (*pointers, "padded")
    return _compiled(getattr(scoring_kernels, kernel), constants, pointers, aligned, H100, options)


def _compiled(
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
        kind = "fp32" if name in _NUMBERS else "i32"
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
