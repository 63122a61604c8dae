"""Fuzzers: random problems, held against oracles that share no code with the package."""

from __future__ import annotations

import sys
from pathlib import Path

# The tests' oracles and strategies are imported as they are in the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
