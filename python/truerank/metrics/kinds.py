"""The kinds of rank: which position of a tie counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..ranks import Ranks

KINDS: dict[str, Callable[[Ranks, int], IntArray | FloatArray]] = {
    "optimistic": lambda ranks, seed: ranks.optimistic,
    "realistic": lambda ranks, seed: ranks.realistic,
    "pessimistic": lambda ranks, seed: ranks.pessimistic,
    "random": lambda ranks, seed: ranks.random(seed),
}
DEFAULT_KIND = "realistic"
