"""Tensors on a device, in a process where torch has a simulated one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="tensors of torch")


@pytest.mark.parametrize(
    "cases",
    [
        "device_cases.py",
        "device_call_cases.py",
        "device_counting_cases.py",
        "simulated_device_cases.py",
    ],
)
def test_devices_in_a_process_of_their_own(cases: str) -> None:
    """A device stays registered with torch, and other tests must not see it."""
    path = Path(__file__).with_name(cases)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=path.parent)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
