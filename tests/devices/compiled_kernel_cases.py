"""The kernels as code of a GPU; `test_devices.py` runs these tests in their own process.

No GPU is needed to compile for one.
"""

from __future__ import annotations

import re

import pytest
from triton.backends.compiler import GPUTarget

from support import compiled_kernels as kernels
from truerank import _core


@pytest.mark.parametrize("similarity", ["dot", "l2", "complex_l1"])
def test_amd_keeps_subnormal_numbers_and_fuses_what_is_fused(similarity: str) -> None:
    device = GPUTarget("hip", "gfx942", 64)  # like the MI300
    code = kernels.vector_kernel("count_scores", similarity, "fp32", device).asm["amdgcn"]
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
        compiled = kernels.vector_kernel(kernel, similarity, dtype)
        assert kernels.spilled_bytes(compiled) == 0
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
    bound = kernels.bounded_kernel("bound_scores", similarity, layers)
    assert "wgmma" in bound.asm["ptx"]
    assert kernels.spilled_bytes(bound) <= kernels.MOST_SPILLED
    chain = kernels.bounded_kernel("score_open_pairs", similarity).asm["ptx"]
    assert "fma.rn.f32" in chain
    assert not re.search(r"mma|tf32|(add|sub|mul)\.(?!rn)[\w.]*f32", chain)
    levels = kernels.bounded_kernel("make_levels", similarity).asm["ptx"]
    for ptx in (bound.asm["ptx"], chain, levels):
        assert not re.search(r"\.ftz|\.approx|div\.full", ptx)


def test_sums_of_registers_are_not_moved_between_threads() -> None:
    """Every thread keeps its pairs from the first component to the last."""
    ptx = kernels.vector_kernel("count_scores", "dot", "fp32").asm["ptx"]
    blocks = re.split(r"^\$L__BB", ptx, flags=re.MULTILINE)
    inner = [block for block in blocks if "fma.rn.f32" in block]
    assert len(inner) == 1
    assert not re.search(r"bar\.sync|shfl|\bshared", inner[0])


@pytest.mark.parametrize("kind", kernels.STORED)
@pytest.mark.parametrize("by_columns", [False, True])
def test_neighbouring_threads_read_neighbouring_scores(kind: str, by_columns: bool) -> None:
    """In either layout; 16 bytes at once, if rows follow each other."""
    unchecked = (*kernels.FILTER, "faults")
    for tasks, given in ((1, ()), (8, kernels.FILTER), (1, ("rows",)), (1, unchecked)):
        compiled = kernels.stored_kernel(kind, by_columns, tasks, given)
        assert kernels.spilled_bytes(compiled) == 0
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
    assert kernels.spilled_bytes(kernels.check_kernel()) == 0
    assert kernels.spilled_bytes(kernels.sort_kernel()) == 0
    unchecked = kernels.stored_kernel("fp32", False, 1, (*kernels.SELECTIONS, "faults"))
    assert kernels.spilled_bytes(unchecked) == 0
