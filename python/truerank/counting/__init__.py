"""Counting: scores and targets in, Ranks out; in memory, or tile by tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import driver as driver
    from . import orders as orders
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(__name__, {".driver": (), ".orders": ()})
