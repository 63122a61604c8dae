"""Metrics of ranks: the table, the kinds of rank, the adjustments for chance, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..naming import names_when_used

if TYPE_CHECKING:
    from ..errors import UnknownKeyError as UnknownKeyError
    from .keys import Key as Key
    from .keys import parse as parse
    from .kinds import KINDS as KINDS
    from .kinds import Sample as Sample
    from .kinds import sample_of as sample_of
    from .metric_table import ADJUSTMENTS as ADJUSTMENTS
    from .metric_table import METRICS as METRICS
    from .metric_table import Metric as Metric
    from .published import Adjusted as Adjusted
    from .values import adjusted as adjusted
    from .values import chance as chance
    from .values import compute as compute
    from .values import moments as moments
else:  # A type checker that read this would accept any name.
    __all__, __getattr__, __dir__ = names_when_used(
        __name__,
        {
            "..errors": ("UnknownKeyError",),
            ".keys": ("Key", "parse"),
            ".kinds": ("KINDS", "Sample", "sample_of"),
            ".metric_table": ("ADJUSTMENTS", "METRICS", "Metric"),
            ".published": ("Adjusted",),
            ".values": ("adjusted", "chance", "compute", "moments"),
        },
    )
