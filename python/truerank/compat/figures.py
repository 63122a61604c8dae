"""Figures: the numbers that a toolkit shows, computed from places in its own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.naming import public
from .conventions import PLACES, Convention

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..reporting import Report
    from .convention_counts import ConventionCounts

    Floats = npt.NDArray[np.floating[Any]]

Single = np.float32


@public("truerank.compat")
class Figure(NamedTuple):
    """A number, with its least and greatest value if a toolkit leaves the order of ties open.

    Attributes
    ----------
    value : float
        The number; if the order of ties is open, its mean over all orders; if the rounding of a
        transform leaves an order open, the middle of the bounds.
    least, most : float
        The bounds; equal to `value` if the order is not open.
    """

    value: float
    least: float
    most: float

    @property
    def open(self) -> bool:
        """Whether the number depends on the order of ties."""
        return self.least < self.most  # False for nan, the number of no tasks

    def printed(self, form: str, scale: float = 1.0) -> str:
        """Write the number as a toolkit does, or both bounds if they print differently.

        Examples
        --------
        >>> Figure(0.5, 0.25, 0.75).printed(".3f"), Figure(0.5, 0.5, 0.5).printed("repr")
        ('0.250 to 0.750', '0.5')
        """
        bounds = [
            repr(float(end)) if form == "repr" else format(end, form)
            for end in (self.least * scale, self.most * scale)
        ]
        return " to ".join(dict.fromkeys(bounds))


# What a task adds whose true candidate is among the first k: all others add 0.
_AMONG_K: dict[str, Callable[[Floats], Floats]] = {
    "hits": np.ones_like,
    "mrr": lambda ranks: 1 / ranks,
    "ndcg": lambda ranks: 1 / np.log2(ranks + 1),  # one right answer, with gain 1
}
_BY_K_ALONE = ("mrr", "ndcg")  # of which no report of ranks has a value at k


def split_key(key: str) -> tuple[str, int]:
    """Return the name and the k of a key, 0 without a k.

    Examples
    --------
    >>> split_key("hits@10"), split_key("mr")
    (('hits', 10), ('mr', 0))
    """
    name, _, k = key.partition("@")
    if key not in ("mr", "mrr", "amri") and not (name in _AMONG_K and k.isdecimal()):
        expected = "mr, mrr, hits@k, mrr@k, ndcg@k or amri"
        raise InputValueError("key", expected=expected, got=repr(key))
    return name, int(k or 0)


def per_task(key: str, ranks: Floats) -> Floats:
    """Compute the values whose mean a metric is, in the precision of the ranks.

    Examples
    --------
    >>> per_task("hits@3", np.array([1.0, 3.5])), per_task("mrr@3", np.array([2.0, 4.0]))
    (array([1., 0.]), array([0.5, 0. ]))
    """
    name, k = split_key(key)
    if name == "mr":
        return ranks
    with np.errstate(divide="ignore"):  # one toolkit gives a true score of NaN rank 0
        found = _AMONG_K[name](ranks)
    return np.where(ranks <= k, found, 0).astype(ranks.dtype) if k else found


def exact_value(key: str, exact: Report) -> float:
    """Return the exact value of a key from realistic ranks.

    Examples
    --------
    >>> import truerank as tr
    >>> exact_value("mrr@1", tr.report(tr.Ranks([0, 1], [1, 1], [3, 3])))
    0.5
    """
    name, k = split_key(key)
    if not (k and name in _BY_K_ALONE):
        return exact[key]
    values = per_task(key, exact.ranks.realistic)
    return float(values.mean()) if len(values) else float("nan")


def _float64_mean(key: str, ranks: FloatArray) -> float:
    return float(per_task(key, ranks).mean())


def _float32_mean(key: str, ranks: FloatArray) -> float:
    return float(per_task(key, ranks.astype(Single)).mean(dtype=Single))


def _float32_mean_from_0(key: str, ranks: FloatArray) -> float:
    return _float32_mean(key, ranks - 1 if key == "mr" else ranks)


def _float32_reciprocal_mean(key: str, ranks: FloatArray) -> float:
    if key != "mrr":
        return _float64_mean(key, ranks)
    return float(per_task(key, ranks.astype(Single)).mean(dtype=np.float64))


def _float32_running_mean(key: str, ranks: FloatArray) -> float:
    """Sum as C adds a double to a float: the sum is rounded to a float at each step."""
    total = Single(0)
    for value in per_task(key, ranks).tolist():
        total = Single(float(total) + value)
    return float(total / Single(len(ranks)))


def _float32_histogram_mean(key: str, ranks: FloatArray) -> float:
    if key.startswith("hits@"):
        return _float64_mean(key, ranks)
    places, tasks = np.unique(ranks, return_counts=True)
    terms = tasks.astype(Single) * per_task(key, places.astype(Single))
    return float(terms.sum(dtype=Single)) / len(ranks)


_MEANS: dict[str, Callable[[str, FloatArray], float]] = {
    "float64": _float64_mean,
    "float32": _float32_mean,
    "float32, from 0": _float32_mean_from_0,
    "float32 reciprocals": _float32_reciprocal_mean,
    "float32 sums": _float32_running_mean,
    "float32 histogram": _float32_histogram_mean,
}


def places(counts: ConventionCounts, convention: Convention) -> tuple[FloatArray, FloatArray]:
    """Compute the first and the last place that the true candidate of each task can take.

    Examples
    --------
    >>> from truerank.compat.convention_counts import ConventionCounts
    >>> one = ConventionCounts(*np.array([[2], [3], [9], [0]]))
    >>> places(one, Convention(rank="any")), places(one, Convention(rank="rounded"))[0]
    ((array([3.]), array([5.])), array([4.]))
    """
    rule = PLACES[convention.rank]
    first = rule.first(counts.above, counts.tied).astype(np.float64)
    last = rule.last(counts.above + counts.unsettled, counts.tied)  # at worst all are above
    return first, last.astype(np.float64)


def figure(
    key: str, counts: ConventionCounts, convention: Convention, groups: list[IntArray] | None = None
) -> Figure:
    """Compute one metric under a convention.

    Parameters
    ----------
    key : str
        "mr", "mrr", "hits@k", "mrr@k", "ndcg@k" or "amri".
    counts : Counts
        The counts under that convention.
    convention : Convention
        It gives the place in a tie and the arithmetic.
    groups : list of ndarray of int64, optional
        Groups of tasks whose means are averaged.

    Examples
    --------
    >>> from truerank.compat.convention_counts import ConventionCounts
    >>> figure("mrr", ConventionCounts(*np.array([[0], [2], [9], [0]])), Convention(rank="any"))
    Figure(value=0.75, least=0.5, most=1.0)
    """
    if len(counts.above) == 0:
        return Figure(*[float("nan")] * 3)
    if groups:
        parts = [figure(key, _tasks_of(counts, group), convention) for group in groups]
        halves = np.array(parts, Single if convention.mean == "float32 sums" else np.float64)
        return Figure(*halves.mean(axis=0).tolist())  # OpenKE also adds and halves floats
    if convention.candidates == "finite" and (counts.candidates**2).sum() < len(counts.candidates):
        return Figure(*[float("nan")] * 3)  # PyKEEN raises: (n**2 - 1) / 12 is no variance
    first, last = places(counts, convention)
    mean = _MEANS[convention.mean]
    if key == "amri":
        beyond_first = mean("mr", first) - 1
        by_chance = float((counts.candidates + 1).mean()) / 2 - 1
        if by_chance:
            value = 1 - beyond_first / by_chance
        else:  # PyKEEN divides by 1e-12
            value = beyond_first * 1e12 if convention.candidates == "finite" else float("nan")
        return Figure(value, value, value)
    bounds = sorted((mean(key, first), mean(key, last)))
    value = (bounds[0] + bounds[1]) / 2
    is_open = bounds[0] != bounds[1] and not counts.unsettled.any()
    if is_open and key != "mr":  # the mean rank is linear: its mean over all orders is the middle
        value = _mean_over_orders(key, counts)
    return Figure(value, *bounds)


def _mean_over_orders(key: str, counts: ConventionCounts) -> float:
    from ..ranks.container import Ranks
    from ..reporting import report

    name, k = split_key(key)
    if k and name in _BY_K_ALONE:
        sums = np.append(0, _AMONG_K[name](np.arange(1.0, k + 1)).cumsum())
        last, before = (
            np.minimum(place, k) for place in (counts.above + counts.tied, counts.above)
        )
        return float(((sums[last] - sums[before]) / counts.tied).mean())
    enough = np.maximum(counts.candidates, counts.above + counts.tied)
    return report(Ranks(counts.above, counts.tied, enough))[f"expected.{key}"]


def _tasks_of(counts: ConventionCounts, group: IntArray) -> ConventionCounts:
    return type(counts)(*(column[group] for column in counts))
