"""Laws of growth: the exponent of time in a size, fitted on logarithms, and the sizes to try."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["PowerLaw", "fit_exponent", "geometric_sizes", "last_level_cache"]

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
USUAL_CACHE = 32 << 20  # This is taken where the system does not say.
SUFFIXES = {"K": 10, "M": 20, "G": 30}


class PowerLaw(NamedTuple):
    """time ~ size ** exponent, with the exponent's standard error."""

    description: str
    exponent: float
    error: float


def fit_exponent(description: str, sizes: ArrayLike, seconds: ArrayLike) -> PowerLaw:
    """Fit log time to log size by least squares; two sizes fit exactly, and the error is NaN."""
    x = np.log(sizes)
    y = np.log(seconds)
    x = x - x.mean()
    spread = float(x @ x)
    exponent = float(x @ y) / spread
    residuals = y - y.mean() - exponent * x
    freedom = len(x) - 2
    error = math.sqrt(residuals @ residuals / freedom / spread) if freedom > 0 else math.nan
    return PowerLaw(description, exponent, error)


def geometric_sizes(smallest: float, largest: float, count: int) -> list[int]:
    """Return `count` integers from smallest to largest, in equal ratios."""
    return [round(size) for size in np.geomspace(smallest, largest, count)]


def last_level_cache() -> int:
    """Return the bytes of the largest cache of the first processor."""
    sizes = []
    for path in CACHES.glob("index*/size"):
        text = path.read_text(encoding="ascii").strip()
        if text[:-1].isdigit() and text[-1] in SUFFIXES:
            sizes.append(int(text[:-1]) << SUFFIXES[text[-1]])
    return max(sizes, default=USUAL_CACHE)
