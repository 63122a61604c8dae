"""Where the tests run: the checkout, sanitizers, threads, and how a fixture runs scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

# numpy reads this when it is imported, which conftest.py does after this. Where processes run tests
# side by side, threads of OpenBLAS wait for each other up to thirty times as long as they compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]

# Sanitizers slow everything down and use most of the memory.
SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("asan", "tsan", "valgrind"))

# The fixture `run_python` takes a script, runs it in a fresh interpreter, and returns its output.
Run = Callable[..., str]
