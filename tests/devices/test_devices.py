"""Tensors on a device, in a process where torch has a simulated one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="tensors of torch")


def test_devices_in_a_process_of_their_own() -> None:
    """A device stays registered with torch, and other tests must not see it."""
    folder = Path(__file__).parent
    cases = ["device_cases.py", "device_call_cases.py", "simulated_device_cases.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *cases]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
