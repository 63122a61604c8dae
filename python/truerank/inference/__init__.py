"""How certain a number is: intervals, and paired tests of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import intervals as intervals
    from .comparing import Comparison as Comparison
    from .comparing import Comparisons as Comparisons
    from .comparing import compare as compare
    from .intervals import Interval as Interval
    from .intervals import Intervals as Intervals
    from .intervals import interval as interval
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            ".comparing": ("Comparison", "Comparisons", "compare"),
            ".intervals": ("Interval", "Intervals", "interval"),
        },
    )
