"""Metrics of ranks: the table, the kinds of rank, the adjustments for chance, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from ..errors import UnknownKeyError as UnknownKeyError
    from . import answer_metrics as answer_metrics
    from . import answers as answers
    from . import chance_model as chance_model
    from . import contributions as contributions
    from .metric_table import METRICS as METRICS
    from .published import Adjusted as Adjusted
    from .published import chance as chance
else:  # A type checker that read this would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            "..errors": ("UnknownKeyError",),
            ".answer_metrics": (),
            ".answers": (),
            ".chance_model": (),
            ".contributions": (),
            ".metric_table": ("METRICS",),
            ".published": ("Adjusted", "chance"),
        },
    )
