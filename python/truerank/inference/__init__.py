"""How certain a number is: intervals, and paired tests of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from . import runs as runs
    from . import units as units
    from .comparing import compare as compare
    from .comparisons import Comparison as Comparison
    from .comparisons import Comparisons as Comparisons
    from .corrections import correct_pvalues as correct_pvalues
    from .intervals import Interval as Interval
    from .intervals import Intervals as Intervals
    from .intervals import interval as interval
else:  # A type checker that saw `__getattr__` would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            ".comparing": ("compare",),
            ".comparisons": ("Comparison", "Comparisons"),
            ".corrections": ("correct_pvalues",),
            ".intervals": ("Interval", "Intervals", "interval"),
            ".runs": (),
            ".units": (),
        },
    )
