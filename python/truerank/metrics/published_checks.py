"""Published numbers as they are printed, and whether those of one model can all be right."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import InputValueError
from .keys import parse_alone

_PRINTED = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,3}))?\s*(%?)", re.IGNORECASE
)
_SLACK = 1e-9
_HALF = 0.5  # Realistic ranks of ties may lie halfway between two.


class Printed(NamedTuple):
    """A number as it is printed.

    Attributes
    ----------
    value : float
    unit : float
        One of its last digit. The true value lies within a unit of it, rounded or cut off.
    text : str
        With the sign of per cent where it is a percentage.
    """

    value: float
    unit: float
    text: str

    @property
    def low(self) -> float:
        """The least that the true value can be.

        Examples
        --------
        >>> read_printed("value", "58%").low
        0.57
        """
        return self.value - self.unit

    @property
    def high(self) -> float:
        """The most that the true value can be.

        Examples
        --------
        >>> round(read_printed("value", "0.358").high, 4)
        0.359
        """
        return self.value + self.unit

    @property
    def is_percentage(self) -> bool:
        """Whether it is printed as a percentage."""
        return self.text.endswith("%")

    def bound(self, value: float) -> str:
        """Write a bound of the number in the unit in which that is printed.

        Examples
        --------
        >>> read_printed("value", "29.4", percent=True).bound(0.04601)
        '4.601%'
        """
        return f"{100 * value:.4g}%" if self.is_percentage else f"{value:.4g}"


def read_printed(argument: str, text: str, *, percent: bool = False) -> Printed:
    """Read a printed number, perhaps with a sign of per cent, or of a column of percentages.

    Raises
    ------
    ValueError
        For anything else; "nan" and "inf" are no published numbers, nor are 105 %.

    Examples
    --------
    >>> read_printed("value", "58%")
    Printed(value=0.58, unit=0.01, text='58%')
    >>> read_printed("value", "7000").unit
    1.0
    """
    text = text.strip()
    found = _PRINTED.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        expected = "a number, as 0.358 or 35.8%"
        raise InputValueError(argument, expected=expected, got=repr(text))
    sign, whole, fraction, exponent, mark = found.groups()
    if percent and not mark:
        text += "%"
    power = int(exponent or 0) - len(fraction or "")
    if mark or percent:
        power -= 2
    value = float(f"{sign}{whole}{fraction or ''}e{power}")
    if text.endswith("%") and not 0 <= value <= 1:
        got = f"{text[:-1].rstrip()} %"
        raise InputValueError(argument, expected="0 to 100 %", got=got)
    return Printed(value, float(f"1e{power}"), text)


def contradictions(
    numbers: Mapping[str, Printed], candidates: int | None = None, tasks: int | None = None
) -> list[str]:
    """Say which numbers of one model cannot all be right, one sentence each.

    With hits@k at the cutoffs k_1 < ... < k_m of the same ranks, h_0 = 0:

    - hits@k does not fall with k;
    - the sum of (h_i - h_(i-1)) / k_i <= mrr, so that hits@1 <= mrr and hits@10 / 10 <= mrr;
    - mrr <= the same sum with the best ranks, 1 and k_i + 1/2 (realistic ranks may lie halfway),
      and ranks behind k_m, too; likewise for mr, whose ranks are at most `candidates`;
    - mr >= 1 / mrr (Jensen), and mr <= p + (1 - p) N where mrr = p + (1 - p) / N: among means of
      1/r that are alike, the mean of r is largest where all ranks are 1 or N;
    - hits@k is a whole number of the `tasks`.

    Each number may be one of its last digit too small or too large, rounded or cut off.

    Parameters
    ----------
    numbers : mapping of key to Printed
        Other metrics than mr, mrr and hits@k are not looked at.
    candidates : int, optional
        The most candidates that a task has.
    tasks : int, optional
        How many ranks the numbers are means of.

    Examples
    --------
    >>> numbers = {"mrr": read_printed("mrr", "0.20"), "hits@1": read_printed("hits@1", "0.31")}
    >>> contradictions(numbers)
    ['mrr 0.20 is below 0.3, the least that hits@1 0.31 allows']
    """
    hits = _hits_by_cutoff(numbers)
    found = _falling(hits)
    if not found:  # Hits that contradict one another would bound nothing.
        found += _beyond_hits(numbers, hits, candidates)
    found += _unlike_means(numbers, candidates)
    found += _no_shares(hits, tasks)
    return found


def _hits_by_cutoff(numbers: Mapping[str, Printed]) -> dict[int, Printed]:
    """Return hits@k by k, ascending."""
    hits = {}
    for name, number in numbers.items():
        key = parse_alone(name)
        if key.metric == "hits":
            hits[int(key.parameter)] = number
    return dict(sorted(hits.items()))


def _falling(hits: Mapping[int, Printed]) -> list[str]:
    """Find hits@k that are above those of a larger k."""
    found = []
    cutoffs = list(hits)
    for i, k in enumerate(cutoffs):
        for larger in cutoffs[i + 1 :]:
            if hits[k].low > hits[larger].high + _SLACK:
                words = f"hits@{k} {hits[k].text} is above hits@{larger} {hits[larger].text}"
                found.append(f"{words}, which counts all of its hits")
    return found


def _mean_of_blocks(shares: Sequence[float], values: Sequence[float]) -> float:
    """Return the mean where a share of ranks up to each cutoff is given, and the rest is last.

    Examples
    --------
    >>> _mean_of_blocks([0.25, 0.5], [1.0, 2.0, 10.0])
    5.75
    """
    total = 0.0
    before = 0.0
    for share, value in zip(shares, values[:-1], strict=True):
        total += (share - before) * value
        before = share
    return total + (1.0 - before) * values[-1]


def _beyond_hits(
    numbers: Mapping[str, Printed], hits: Mapping[int, Printed], candidates: int | None
) -> list[str]:
    """Find a mean rank or mean reciprocal rank that the hits do not allow."""
    if not hits:
        return []
    least_shares = _rising([max(number.low, 0.0) for number in hits.values()])
    most_shares = _rising([min(number.high, 1.0) for number in hits.values()])
    first_ranks = [1.0]  # These are the best ranks of the blocks.
    first_ranks += [k + _HALF for k in hits]
    last_ranks: list[float] = list(hits)
    last_ranks.append(candidates or math.inf)
    bounds = {
        "mrr": (
            _mean_of_blocks(least_shares, [1 / rank for rank in last_ranks]),
            _mean_of_blocks(most_shares, [1 / rank for rank in first_ranks]),
        ),
        "mr": (
            _mean_of_blocks(most_shares, first_ranks),
            math.inf,
        ),
    }
    if candidates is not None:
        bounds["mr"] = bounds["mr"][0], _mean_of_blocks(least_shares, last_ranks)
    words = ", ".join(f"hits@{k} {number.text}" for k, number in hits.items())
    allow = "allows" if len(hits) == 1 else "allow"
    found = []
    for name, (low, high) in bounds.items():
        number = numbers.get(name)
        if number is None:
            continue
        if number.high < low - _SLACK:
            found.append(
                f"{name} {number.text} is below {number.bound(low)}, the least that {words} {allow}"
            )
        if number.low > high + _SLACK:
            found.append(
                f"{name} {number.text} is above {number.bound(high)}, the most that {words} {allow}"
            )
    return found


def _rising(shares: Sequence[float]) -> list[float]:
    """Return shares that do not fall, where rounding let them."""
    rising = []
    highest = 0.0
    for share in shares:
        highest = max(highest, share)
        rising.append(highest)
    return rising


def _unlike_means(numbers: Mapping[str, Printed], candidates: int | None) -> list[str]:
    """Find a mean rank that the mean reciprocal rank does not allow."""
    mr = numbers.get("mr")
    mrr = numbers.get("mrr")
    if mr is None or mrr is None or mrr.high <= 0:
        return []
    low = 1 / mrr.high
    if mr.high < low - _SLACK:
        return [f"mr {mr.text} is below {low:.4g}, the least that mrr {mrr.text} allows"]
    if candidates is not None and candidates > 1:
        first = (max(mrr.low, 1 / candidates) - 1 / candidates) / (1 - 1 / candidates)
        high = first + (1 - first) * candidates
        if mr.low > high + _SLACK:
            words = f"mrr {mrr.text} allows among {candidates:,} candidates"
            return [f"mr {mr.text} is above {high:.4g}, the most that {words}"]
    return []


def _no_shares(hits: Mapping[int, Printed], tasks: int | None) -> list[str]:
    """Find shares that no number of the tasks is."""
    found: list[str] = []
    if tasks is None:
        return found
    for k, number in hits.items():
        most = math.floor(number.high * tasks + _SLACK)
        if most < number.low * tasks - _SLACK:
            words = f"{most:,} are {most / tasks:.4g}, {most + 1:,} are {(most + 1) / tasks:.4g}"
            found.append(f"hits@{k} {number.text} is no share of {tasks:,} tasks ({words})")
    return found
