"""Where the tests run: the checkout, sanitizers, and how a fixture runs scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Sanitizers slow everything down and own most of the memory.
SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("asan", "tsan", "valgrind"))

# What the fixture `run_python` gives: the output of a script that a fresh interpreter runs.
Run = Callable[..., str]
