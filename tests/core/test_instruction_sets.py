"""The core of an installed wheel knows the machine that it runs on."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from truerank import _core

pytestmark = pytest.mark.python_only

CPUINFO = Path("/proc/cpuinfo")
NEEDS = {
    "baseline": set(),
    "v2": {"sse4_2", "popcnt"},
    "avx2": {"sse4_2", "popcnt", "avx", "fma", "bmi1", "avx2", "bmi2"},
}
NEEDS["avx512"] = NEEDS["avx2"] | {f"avx512{part}" for part in ("f", "dq", "cd", "bw", "vl")}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not CPUINFO.exists(),
    reason="Linux on x86-64 says what it has",
)
def test_instruction_sets_are_those_of_the_processor() -> None:
    lines = CPUINFO.read_text().splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    assert _core.isas() == [name for name, needed in NEEDS.items() if needed <= flags]
    assert _core.isa() in _core.isas()
