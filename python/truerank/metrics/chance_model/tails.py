"""How likely chance is to do at least as well as an observed value, or at least as badly."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.errors import UnknownKeyError
from ..ties import LOG
from .convolutions import GridTail, grid_tail, lattice_tail
from .half_sums import MOST_TASKS, binned_tail, listed_tail, number_of_sums
from .nodes import like_tasks
from .order_statistics import count_tail, median_tail
from .rank_sums import SLACK, RankSum, Tilt, find_tilt
from .tasks import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from ..ties import RankFunction

_FEW_CLASSES = 64  # of like tasks
_CLASSES = 128  # for the laws of which a grid has time
_TWO_VALUED = 2048  # the same, of tasks with two values each
_CELLS = 1 << 19  # of a grid, at most
_FEWEST_CELLS = 1 << 11
_WORK = 1 << 17  # about the cells of all laws of a grid
_MORE_WORK = 1 << 20
_MOST_WORK = 1 << 22
_FINEST_CLASSES = 8  # for which there is time for that
_BINS = 1024  # of a law, at most
_SUMS = 512  # of laws in bins, at most
_PAIRS = 1 << 23  # of outcomes that are added for all sums together
_ENOUGH = 2e-3  # an accuracy that needs no further method
_ENOUGH_OF_MANY = 1e-2  # the same for thousands of unlike tasks
_LEAST = 1e-3  # the accuracy of what is not exact, at best
_UNKNOWN = 1.0  # an accuracy from which on it is called unknown
_ASKED = 65  # of ranks, whether f depends on the number of candidates, too
_SHOWN = 1e-3  # the greatest accuracy that is not printed


class Tail(NamedTuple):
    """The natural logarithm of a probability, how it was found, and how accurate it is.

    Attributes
    ----------
    log : float
    method : str
        "exact": up to rounding. "convolution": of the laws of tasks on a grid. "bins": the outcomes
        of the tasks, neighbours put together where they are many.
    accuracy : float
        About how large the relative error of the probability may be; 0 where it is exact, nan where
        it may be as large as the probability.
    """

    log: float
    method: str
    accuracy: float


def tail(metric: Any, parameter: float, tasks: Tasks, value: float, *, worse: bool = False) -> Tail:
    """P(a value as good as the observed one or better), or as bad or worse, under chance.

    Parameters
    ----------
    metric : truerank.metrics.Metric
        A row of the table of metrics, with a chance model.
    parameter : float
        Its parameter.
    tasks : Tasks
        At least one.
    value : float
    worse : bool

    Examples
    --------
    >>> from truerank.metrics import METRICS
    >>> from truerank.metrics.chance_model import compress
    >>> found = tail(METRICS["mr"], 0, compress([3, 3]), 1.5, worse=True)
    >>> round(math.exp(found.log), 12), found.method  # 8 of 9
    (0.888888888889, 'exact')
    """
    count = tasks.count
    if tasks.sizes[-1] == 1:
        return Tail(0.0, "exact", 0.0)
    if metric.name == "hits" and tasks.equal:
        slack = min(1e-9 + 1e-15 * value * count, 0.25)
        hits = math.floor(value * count + slack) + 1 if worse else math.ceil(value * count - slack)
        return Tail(count_tail(tasks, parameter, hits, fewer=worse), "exact", 0.0)
    f = metric.transform
    if metric.single is not None:  # the metric is itself a mean of f(r)
        _check_f_of_rank(metric, parameter, tasks)
        if count == 1:
            last = _better(metric, parameter, tasks, value, worse)
            return Tail(count_tail(tasks, last, 1, fewer=worse), "exact", 0.0)
        cutoff = float(min(parameter, 2**63)) if metric.name == "hits" else None
        return _tail_of_sum(_question(tasks, f, parameter, cutoff, worse, value))
    # the rank that has this value if all tasks have it
    rank = 1 / value if metric.increasing else value
    if metric.name in ("median", "imedian") and count % 2 == 0:
        twice = math.ceil(2 * rank - 1e-9) if worse else math.floor(2 * rank + 1e-9)
        return Tail(median_tail(tasks, twice, worse=worse), "exact", 0.0)
    k = _order_of(metric.name, parameter, count)
    if k is not None:
        slack = min(1e-9 + SLACK * rank, 0.25)
        last = math.ceil(rank - slack) - 1 if worse else math.floor(rank + slack)
        return Tail(count_tail(tasks, last, k, fewer=worse), "exact", 0.0)
    if metric.name == "power_mean" and parameter == 0:
        f = LOG
    x = float(f.of_ranks(np.array([rank]), tasks.sizes[:1], parameter)[0])
    return _tail_of_sum(_question(tasks, f, parameter, None, worse, x))


def _check_f_of_rank(metric: Any, parameter: float, tasks: Tasks) -> None:
    """Refuse an f that depends on N: the sum over tasks has one f of the rank for all of them."""
    f = metric.transform.of_ranks
    # f may agree at the ends, where it is 1 and 0
    ranks = np.unique(np.rint(np.geomspace(1.0, float(tasks.sizes[0]), _ASKED)))
    fewest = np.repeat(tasks.sizes[0], len(ranks))
    most = np.repeat(tasks.sizes[-1], len(ranks))
    if not np.array_equal(f(ranks, fewest, parameter), f(ranks, most, parameter)):
        reason = "has no p-value for unlike numbers of candidates, on which its f depends"
        raise UnknownKeyError(metric.name, f"{metric.name} {reason}")


def _order_of(name: str, parameter: float, count: int) -> int | None:
    """The k of a metric that is the k-th least rank or its inverse; None for another one."""
    if name in ("median", "imedian"):
        return (count + 1) // 2
    if count == 1 or (name == "power_mean" and parameter == -math.inf):
        return 1
    if name == "power_mean" and parameter == math.inf:
        return count
    return None


def _question(
    tasks: Tasks, f: RankFunction, parameter: float, cutoff: float | None, worse: bool, x: float
) -> RankSum:
    """The sum over tasks of w f(r), with the sign that makes it large where that is asked for."""
    ends = np.array([1.0, float(tasks.sizes[-1])])
    first, last = f.of_ranks(ends, tasks.sizes[-1:], parameter)
    sign = 1.0
    if (last > first) != worse:  # the probability of a sum that is small
        sign = -1.0

    def signed(ranks: FloatArray) -> FloatArray:
        return sign * f.of_ranks(ranks, tasks.sizes[-1:], parameter)

    classes = np.stack([tasks.sizes, tasks.weights, tasks.multiplicities])
    return RankSum(classes, signed, cutoff, sign * x)


def _better(metric: Any, parameter: float, tasks: Tasks, value: float, worse: bool) -> int:
    """Return how many ranks of one task have at least this value, or, if worse, a better one."""
    sign = -1.0 if metric.increasing else 1.0

    def badness(rank: int) -> float:
        ranks = np.array([float(rank)])
        return sign * float(metric.transform.of_ranks(ranks, tasks.sizes, parameter)[0])

    slack = SLACK * abs(value)
    ranks = range(1, int(tasks.sizes[0]) + 1)
    if worse:
        return bisect_left(ranks, sign * value - slack, key=badness)
    return bisect_right(ranks, sign * value + slack, key=badness)


# -- sums over tasks -------------------------------------------------------------------------------


def _tail_of_sum(total: RankSum) -> Tail:
    """P(X >= x) for the sum of a question, by the first method that applies."""
    slack = SLACK * abs(total.x)
    if total.x <= total.least + slack:
        return Tail(0.0, "exact", 0.0)
    if total.x >= total.greatest - slack:
        return Tail(total.log_of_best(), "exact", 0.0)
    few = _fewer_classes(total, _FEW_CLASSES, 0.0, 16.0)
    if few.fine:
        enough = _ENOUGH
        tilt = find_tilt(few.question, few.question)
    else:
        enough = _ENOUGH_OF_MANY
        tilt = find_tilt(total, few.question)
    for exact in (listed_tail, lattice_tail):
        log = exact(total, tilt)
        if log is not None:
            return _of_either_side(log, tilt.t, "exact", 0.0)
    found = _on_grids(total, tilt, _WORK)
    for approximate in _APPROXIMATIONS:
        if found.accuracy <= enough:
            break
        other = approximate(total, tilt)
        if other is not None and other.accuracy < found.accuracy:
            found = other
    if found.accuracy >= _UNKNOWN:
        return found._replace(accuracy=math.nan)
    return found


class _Classes(NamedTuple):
    """Classes of tasks that stand for others; not `fine` where a class stands for unlike ones."""

    question: RankSum
    fine: bool


def _fewer_classes(total: RankSum, most: int, t: float, per_octave: float) -> _Classes:
    """Classes that stand for like tasks, where these are many, under the weight exp(t X)."""
    alike = (total.weights == total.weights[0]).all()
    if len(total.sizes) <= most and (total.two_valued or not alike):
        return _Classes(total, fine=True)  # a task of a weight of its own is kept as it is
    found = like_tasks(total.classes, math.inf, per_octave)
    if len(found[0]) <= most:
        return _Classes(total.with_classes(found), fine=True)
    # the classes that vary most stay as they are
    order = np.argsort(-total.cumulants(t)[2] * total.numbers, kind="stable")
    first, rest = np.split(total.classes[:, order], [most // 2], axis=1)
    found = np.hstack([first, like_tasks(rest, most - most // 2, per_octave)])
    return _Classes(total.with_classes(found), fine=False)


def _on_grids(total: RankSum, tilt: Tilt, work: int) -> Tail:
    """The tail from a grid, and two coarser ones that say how accurate it is.

    One alone could have the same error by chance. The two have cells of sizes whose ratio is no
    power of two, so that outcomes fall into their cells at other places.
    """
    most = _CLASSES
    if total.two_valued:
        most = _TWO_VALUED
        work *= 4
    fine = _fewer_classes(total, most, tilt.t, 16.0)
    coarse = _fewer_classes(total, most // 2, tilt.t, 8.0)
    cells = max(min(work // len(fine.question.sizes), _CELLS), _FEWEST_CELLS)
    cells = 1 << (cells.bit_length() - 1)
    found = _on_grid(total, fine, tilt, cells)
    accuracy = max(2 * found.near, _LEAST)
    for fewer in (cells // 2, cells * 3 // 8):
        check = _on_grid(total, coarse, tilt, fewer)
        accuracy = max(accuracy, 3 * _difference(found.log, check.log))
    return _of_either_side(found.log, tilt.t, "convolution", accuracy)


def _on_grid(total: RankSum, classes: _Classes, tilt: Tilt, cells: int) -> GridTail:
    if classes.fine:
        return grid_tail(classes.question, tilt, cells)
    return grid_tail(classes.question, tilt, cells, total)


def _in_bins(total: RankSum, tilt: Tilt) -> Tail | None:
    """The tail from laws in bins; half as many bins say how accurate it is. None for many tasks."""
    few = total
    if (total.weights == total.weights[0]).all():
        few = total.with_classes(like_tasks(total.classes, _FEW_CLASSES, 32.0, whole=True))
    sums = number_of_sums(few.numbers)
    if sums > _SUMS:
        return None
    bins = min(math.isqrt(_PAIRS // sums), _BINS)
    log = binned_tail(few, tilt, bins)
    difference = _difference(log, binned_tail(few, tilt, bins // 2))
    return _of_either_side(log, tilt.t, "bins", max(2 * difference, _LEAST))


def _in_bins_of_few(total: RankSum, tilt: Tilt) -> Tail | None:
    if total.numbers.sum() > MOST_TASKS:
        return None
    return _in_bins(total, tilt)


def _on_finer_grids(total: RankSum, tilt: Tilt) -> Tail:
    return _on_grids(total, tilt, _MORE_WORK)


def _on_finest_grids(total: RankSum, tilt: Tilt) -> Tail | None:
    few = _fewer_classes(total, _CLASSES, tilt.t, 16.0).question
    if len(few.sizes) > _FINEST_CLASSES:
        return None
    return _on_grids(total, tilt, _MOST_WORK)


# What follows a grid that is not accurate enough, until something is.
_APPROXIMATIONS = (_in_bins_of_few, _on_finer_grids, _on_finest_grids, _in_bins)


def _difference(one: float, two: float) -> float:
    """By how much of the smaller one two probabilities differ, given their logarithms."""
    if not (math.isfinite(one) and math.isfinite(two)):
        return math.inf
    return math.expm1(min(abs(one - two), 700.0))


def _of_either_side(log: float, t: float, method: str, accuracy: float) -> Tail:
    """P(X >= x) from its logarithm, or, where t < 0, from that of P(X < x)."""
    log = min(log, 0.0)
    if t >= 0:
        return Tail(log, method, accuracy)
    below = min(math.exp(log), 1 - 1e-16)
    if math.isfinite(accuracy):
        accuracy *= below / (1 - below)
    return Tail(math.log1p(-below), method, accuracy)


def spelled_p(log10_p: float) -> str:
    """Write a probability, given by its decimal logarithm, so that it is never 0.

    Examples
    --------
    >>> spelled_p(-1.0), spelled_p(-7.921), spelled_p(-8000.3)
    ('p = 0.1', 'p = 1.2e-08', 'log10 p = -8000.3')
    """
    if math.isnan(log10_p):
        return "p = nan"
    if log10_p < -300:
        return f"log10 p = {log10_p:.6g}"
    return f"p = {10**log10_p:.3g}"


def spelled_method(method: str, accuracy: float) -> str:
    """Name the method of a p-value, and its accuracy where that shows.

    Examples
    --------
    >>> spelled_method("convolution", 1e-5), spelled_method("bins", 0.004)
    ('convolution', 'bins, within 0.4 %')
    >>> spelled_method("bins", math.nan)
    'bins, accuracy unknown'
    """
    if math.isnan(accuracy):
        return f"{method}, accuracy unknown"
    if accuracy > _SHOWN:
        return f"{method}, within {100 * accuracy:.2g} %"
    return method
