"""Runs the tests marked `smoke` in the current folder's tests/, with pytest's own options.

Only files that have such tests are read: the others may need libraries that are not there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def marked() -> list[str]:
    tests = sorted(Path("tests").rglob("test_*.py"))
    return [str(path) for path in tests if "mark.smoke" in path.read_text(encoding="utf-8")]


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-m", "smoke", *sys.argv[1:], *marked()]))
