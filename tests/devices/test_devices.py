"""Arrays on a device, in processes of their own: a device stays registered with torch.

Triton decides whether to interpret its kernels when it is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="tensors of torch")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="kernels of Triton")


@pytest.mark.parametrize(
    ("cases", "environment"),
    [
        ("device", {}),
        pytest.param("counting", {"TRITON_INTERPRET": "1"}, marks=needs_triton),
        pytest.param("compiled_kernel", {}, marks=needs_triton),
        pytest.param("accelerator", {}, marks=needs_triton),
    ],
)
def test_cases_in_a_process_of_their_own(cases: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"{name}_cases.py" for name in cases.split()]
    left_out = {"TRITON_INTERPRET", "TRUERANK_DEVICE"}
    variables = {key: value for key, value in os.environ.items() if key not in left_out}
    options = {"capture_output": True, "text": True, "timeout": 900, "cwd": Path(__file__).parent}
    done = subprocess.run(command, **options, env=variables | environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if " passed" not in done.stdout:  # they were collected, and each was skipped
        pytest.skip("a device of CUDA")
