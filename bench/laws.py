"""Growth laws: the exponent of time in a size, fitted on logarithms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Law", "fit", "last_level_cache", "steps"]

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
USUAL_CACHE = 32 << 20  # where the system does not say
SUFFIXES = {"K": 10, "M": 20, "G": 30}


class Law(NamedTuple):
    """time ~ size ** exponent, with the exponent's standard error."""

    of: str
    exponent: float
    error: float


def fit(of: str, sizes: ArrayLike, seconds: ArrayLike) -> Law:
    """Least squares of log time on log size; the error is NaN for two sizes, which fit exactly."""
    x, y = np.log(sizes), np.log(seconds)
    x = x - x.mean()
    spread = float(x @ x)
    exponent = float(x @ y) / spread
    left = y - y.mean() - exponent * x
    freedom = len(x) - 2
    error = math.sqrt(float(left @ left) / freedom / spread) if freedom > 0 else math.nan
    return Law(of, exponent, error)


def steps(least: float, most: float, count: int) -> list[int]:
    """`count` whole numbers from least to most, in equal ratios."""
    return [round(size) for size in np.geomspace(least, most, count)]


def last_level_cache() -> int:
    """Bytes of the largest cache that the first processor sees."""
    found = []
    for path in CACHES.glob("index*/size"):
        text = path.read_text(encoding="ascii").strip()
        if text[:-1].isdigit() and text[-1] in SUFFIXES:
            found.append(int(text[:-1]) << SUFFIXES[text[-1]])
    return max(found, default=USUAL_CACHE)
