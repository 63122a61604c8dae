"""What is said of intervals beside their bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..comparison.table_writer import counted

if TYPE_CHECKING:
    from ..comparison.resampling import Interval


def intervals_told(intervals: Mapping[str, Interval]) -> list[str]:
    """What the bounds are, and why some are nan.

    Parameters
    ----------
    intervals : mapping of str to Interval
        By key.

    Returns
    -------
    list of str
        A sentence for those that were made alike.

    Examples
    --------
    >>> import truerank as tr
    >>> measured = tr.report(tr.Ranks([0, 3, 1], [1, 1, 1], 10))
    >>> intervals_told({"mrr": measured.interval("mrr", method="normal")})
    ['Intervals of mrr: 95 %, normal of 3 tasks, seed 0.']
    """
    alike: dict[str, list[str]] = {}
    for key, found in intervals.items():
        units = counted(found.units, found.by.removesuffix("s"))
        drawn = f", {counted(found.resamples, 'resample')}" if found.resamples else ""
        how = f"{100 * found.level:g} %, {found.method}{drawn} of {units}, seed {found.seed}"
        alike.setdefault(how, []).append(key)
    lines = [f"Intervals of {', '.join(keys)}: {how}." for how, keys in alike.items()]
    missing: dict[str, list[str]] = {}
    for key, found in intervals.items():
        if math.isnan(found.low):
            missing.setdefault(why_none(found), []).append(key)
    return lines + [f"No bounds of {', '.join(keys)}: {why}." for why, keys in missing.items()]


def why_none(found: Interval) -> str:
    """Why an interval has no bounds.

    Examples
    --------
    >>> import truerank as tr
    >>> why_none(tr.report(tr.Ranks([0], [1], 10)).interval("mrr"))
    'there is nothing to resample in 1 task'
    """
    if math.isnan(found.value):
        return "it has no value here"
    if found.units < 2:
        return f"there is nothing to resample in {counted(found.units, found.by[:-1])}"
    return "too many resamples have no value"
