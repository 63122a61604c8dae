"""The core of an installed wheel knows which instruction sets the machine has."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from truerank import _core

pytestmark = pytest.mark.python_only

CPUINFO = Path("/proc/cpuinfo")
REQUIRED_FLAGS = {
    "baseline": set(),
    "v2": {"sse4_2", "popcnt"},
    "avx2": {"sse4_2", "popcnt", "avx", "fma", "bmi1", "avx2", "bmi2"},
}
REQUIRED_FLAGS["avx512"] = REQUIRED_FLAGS["avx2"] | {
    f"avx512{part}" for part in ("f", "dq", "cd", "bw", "vl")
}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not CPUINFO.exists(),
    reason="needs /proc/cpuinfo of x86-64",
)
def test_instruction_sets_are_those_of_the_processor() -> None:
    lines = CPUINFO.read_text().splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    assert _core.isas() == [name for name, required in REQUIRED_FLAGS.items() if required <= flags]
    assert _core.isa() in _core.isas()
