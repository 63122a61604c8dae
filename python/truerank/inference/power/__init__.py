"""How large a difference is, and how small a one a test set can show."""

from __future__ import annotations

from .effects import EffectSize, EffectSizes, effect_sizes
from .smallest_difference import Detectable, detectable

__all__ = ["Detectable", "EffectSize", "EffectSizes", "detectable", "effect_sizes"]
