"""Vectors on a device, scored by Triton's kernels: under its interpreter, and as compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="tensors of torch")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="kernels of Triton")
INTERPRETED = {"TRITON_INTERPRET": "1", "TRUERANK_DEVICE": "triton"}


@needs_triton
@pytest.mark.parametrize(
    ("cases", "environment"),
    [
        ("counting_cases.py", {"TRITON_INTERPRET": "1"}),
        ("vector_score_cases.py", INTERPRETED),
        ("embedding_cases.py", INTERPRETED),
        ("compiled_kernel_cases.py", {}),
    ],
)
def test_kernels_in_a_process_of_their_own(cases: str, environment: dict[str, str]) -> None:
    """Triton decides whether to interpret kernels when it is imported."""
    path = Path(__file__).with_name(cases)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    variables = {key: value for key, value in os.environ.items() if key not in INTERPRETED}
    options = {"capture_output": True, "text": True, "timeout": 900, "cwd": path.parent}
    done = subprocess.run(command, **options, env=variables | environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
