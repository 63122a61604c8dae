"""Libraries get kernels of their own choice, and the table says which."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fair_clock

BENCH = Path(__file__).parents[1]
X86 = platform.machine() in ("x86_64", "AMD64")
# What a caller may have set, for another program.
SLOW = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_CPU_NAME": "x86-64",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_L2_SIZE": "64",
}


@pytest.mark.skipif(not X86, reason="kernels of x86-64 are chosen")
@pytest.mark.parametrize("isa", ["", "avx2"])
def test_the_table_names_the_kernels(isa: str, tmp_path: Path) -> None:
    """Not those that the caller set, and none beyond the set that truerank is held to."""
    from truerank import _core

    if isa not in ("", *_core.isas()):
        pytest.skip(f"{isa}: not on this machine")
    command = [sys.executable, "-m", "pytest", str(BENCH), "-q", "--quick", "--rounds=1"]
    command += ["-k", "test_targets_and_top_ten and random", f"--bench-out={tmp_path}"]
    environment = {**os.environ, **SLOW, "TRUERANK_ISA": isa}
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    head = (tmp_path / "bench-results.md").read_text(encoding="utf-8").partition("| case |")[0]
    facts = dict(line[2:].split(": ", 1) for line in head.splitlines() if line)
    for library in ("numpy", "faiss"):
        if library != "numpy" and not find_spec(library):
            continue
        version, *said = facts[library].split(", ")
        assert version[0].isdigit()
        if said and said[0].startswith("openblas"):
            assert said[1] in ("Haswell", "Zen") if isa else said[1] not in ("Katmai", "Prescott")
    if find_spec("torch"):
        assert facts["torch"].endswith("AVX2") if isa else not facts["torch"].endswith("DEFAULT")


LOADED = """
import os, sys
sys.path.insert(0, sys.argv[1])
import fair_clock
chosen = {"numpy": {"": 2.0, "Nehalem": 1.0}, "scipy": {"Sandybridge": 1.0}}
fair_clock.try_kernels = chosen.__getitem__
fair_clock.drop_settings()
print(sorted({"ATEN_CPU_CAPABILITY", "NUMBA_CPU_NAME", "OPENBLAS_L2_SIZE"} & os.environ.keys()))
for library in ("numpy", "scipy"):
    fair_clock.load(library)
    assert "OPENBLAS_CORETYPE" not in os.environ
    print(fair_clock.describe(library))
"""


@pytest.mark.skipif(not X86, reason="kernels of x86-64 are chosen")
def test_libraries_of_one_process_have_kernels_of_their_own() -> None:
    """What one is loaded with holds for no other, and what the caller set for none."""
    command = [sys.executable, "-c", LOADED, str(BENCH)]
    environment = {name: text for name, text in os.environ.items() if name != "TRUERANK_ISA"}
    ended = subprocess.run(
        command, env=environment | SLOW, check=True, capture_output=True, text=True
    )
    dropped, numpy, scipy = ended.stdout.splitlines()
    assert dropped == "[]"
    if "openblas" not in numpy or "openblas" not in scipy:
        pytest.skip("no OpenBLAS of their own")
    assert numpy.endswith(", Nehalem")
    assert scipy.endswith(", Sandybridge")


def test_kernels_that_fail_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that crashes says nothing; if none is left, a library chooses itself."""
    monkeypatch.setitem(fair_clock.PRODUCTS, "numpy", ("numpy", "1 / 0"))
    assert fair_clock.try_kernels("numpy") == {}
