"""Compare two models over the same tasks: the difference of a metric, its interval, its p-value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, overload

import numpy as np

from ..inputs.checks import choice, confidence, integer_at_least, resample_count
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics.averages import arithmetic, values_per_task
from ..metrics.keys import Key, parse
from ..metrics.metric_table import METRICS, Metric
from ..ranks.container import Ranks
from .comparisons import Comparison, Comparisons
from .distributions import normal_cdf
from .functionals import of_swaps
from .multiplicity.corrections import holm
from .pairing import (
    BY_POSITION,
    BY_POSITION_ONLY,
    HasRanks,
    check_same_tasks,
    describe_pairing,
    has_protocol,
    notes_on_test_splits,
    weighted_ranks,
)
from .resampling import (
    draw_resamples,
    draw_swaps,
    is_exhaustible,
    percentile_bounds,
    rounding_slack,
)
from .units import TASK, Units, mean_functional, unit_codes, units_of

if TYPE_CHECKING:
    from typing import Unpack

    from ..inputs.arrays import FloatArray
    from ..ranks.labels import LabelsLike
    from .functionals import Functional

METHODS = ("permutation", "bootstrap", "wilcoxon")
COUNT = "count"
COUNT_MESSAGE = (
    "count is the number of tasks, which is the same for two models over the same tasks; take a "
    "metric of their ranks"
)


class _Keywords(TypedDict, total=False):
    metric: str | Key
    method: str
    by: LabelsLike | None
    level: float
    resamples: int
    seed: int
    draw_seed: int
    allow_unlike: bool


@overload
def compare(
    a: Ranks | HasRanks, b: Ranks | HasRanks, **options: Unpack[_Keywords]
) -> Comparison: ...


@overload
def compare(
    a: Mapping[str, Ranks | HasRanks] | Mapping[str, Ranks] | Mapping[str, HasRanks],
    b: None = None,
    **options: Unpack[_Keywords],
) -> Comparisons: ...


@public("truerank")
def compare(
    a: Ranks
    | HasRanks
    | Mapping[str, Ranks | HasRanks]
    | Mapping[str, Ranks]
    | Mapping[str, HasRanks],
    b: Ranks | HasRanks | None = None,
    *,
    metric: str | Key = "mrr",
    method: str = "permutation",
    by: LabelsLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    draw_seed: int = 0,
    allow_unlike: bool = False,
) -> Comparison | Comparisons:
    """Compare a metric of two models over the same tasks, pair by pair.

    Parameters
    ----------
    a : Ranks, Report, or mapping of str to those
        A Report stands for its ranks, with the weights that are in force in it. With a mapping, all
        pairs of its members are compared, and their p-values corrected by Holm's rule.
    b : Ranks or Report
        The same tasks in the same order. Not given with a mapping.
    metric : str or Key
        Any key of a report, with side, kind and adjustment; `macro.X` needs `by`. Tasks count by
        the weights of the Ranks, which must agree.
    method : {"permutation", "bootstrap", "wilcoxon"}
        How the two-sided p-value is computed:

        - "permutation": swap the models' ranks at random in each unit, compute the metric again,
          and count how often the difference is at least as large. All 2**units ways are tried where
          there are no more than `resamples`; else it is (1 + number) / (1 + resamples).
        - "bootstrap": twice the smaller share of resampled differences on one side of 0 (those
          equal to 0 included; (1 + number) / (1 + resamples)). It agrees with the interval.
        - "wilcoxon": the signed-rank test on the units' differences of f(r) (1/r for mrr, log r for
          gmr), by the normal approximation with correction for ties; units without a difference are
          left out. It asks another question than the metric: whether the differences lie around 0,
          whatever their size. For a metric that is not a mean (medians, std, variance, mad, power
          means) it tests the ranks r themselves, and a note says so.
    by : str or labels, optional
        The units are whole groups of tasks, as in `interval`: "query", "relation", another name of
        labels that a has, or labels.
    level : float
        The level of the interval, whose bounds are percentiles of the bootstrapped difference
        whatever the method.
    resamples, seed : int
        As in `interval`.
    draw_seed : int
        The seed of the kind "random"; the seeds of Reports are ignored.
    allow_unlike : bool
        Compare ranks whose protocols, candidates or ids differ, too, by position; a note says what
        differs. The numbers of tasks and the weights must agree in any case.

    Returns
    -------
    Comparison or Comparisons
        Wins and losses compare f(r), or the rank for a metric that is not a mean over tasks: a
        model with the better std may lose most tasks. The notes say what limits the comparison:
        what differs, pairing by position only, and that the split is a test split.

    Raises
    ------
    ValueError
        If the numbers of tasks, weights, candidates, comparable fields of the protocols, or (where
        both have them) sides, query or target ids differ; the message lists all differences. For an
        unknown method; for the metric "count", which is the same for both models; for "wilcoxon"
        with unequal weights, where it has no meaning, unless `by` is given. For a Report that was
        read from JSON, which holds no ranks.
    KeyError
        For an unknown key.
    TypeError
        For anything but Ranks and Reports.

    Notes
    -----
    Under the null hypothesis of the permutation test the two models are exchangeable in each unit.
    For an adjusted key, chance is computed from the tasks of the resample, as in `interval`.

    E. W. Noreen: Computer-Intensive Methods for Testing Hypotheses (1989). S. Holm: A Simple
    Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> a = Ranks([0, 1, 0, 2, 0, 0], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> b = Ranks([3, 1, 2, 4, 1, 2], [1, 1, 1, 1, 1, 1], 10, queries=range(6), targets=range(6))
    >>> found = compare(a, b, metric="mr")
    >>> round(found.difference, 4), found.p_value, found.wins, found.ties, found.losses
    (-1.6667, 0.0625, 5, 1, 0)
    >>> from truerank import report
    >>> compare(report(a), report(b), metric="mr") == found
    True
    """
    choice("method", method, METHODS)
    key = metric if isinstance(metric, Key) else parse(metric)
    if key.metric == COUNT:
        raise InputValueError("metric", COUNT_MESSAGE)
    options = _CompareOptions(
        key,
        method,
        by,
        confidence(level),
        resample_count(resamples),
        integer_at_least("seed", seed),
        integer_at_least("draw_seed", draw_seed),
        allow_unlike,
    )
    if has_protocol(a) or not isinstance(a, Mapping):
        return _compare_pair(a, b, options, ("a", "b"))
    if b is not None:
        raise InputTypeError("b", expected="nothing beside a mapping of Ranks or Reports")
    if len(a) < 2:
        raise InputValueError("a", expected="at least two Ranks or Reports to compare", got=len(a))
    pairs = [
        _compare_pair(a[first], a[second], options, (first, second))
        for first, second in itertools.combinations(a, 2)
    ]
    corrected = holm([pair.p_value for pair in pairs])
    return Comparisons([pair._replace(p_holm=p) for pair, p in zip(pairs, corrected, strict=True)])


class _CompareOptions(NamedTuple):
    key: Key
    method: str
    by: LabelsLike | None
    level: float
    resamples: int
    seed: int
    draw_seed: int
    allow_unlike: bool


def _compare_pair(a: Any, b: Any, options: _CompareOptions, names: tuple[str, str]) -> Comparison:
    a, b = (weighted_ranks(name, model) for name, model in zip(names, (a, b), strict=True))
    a, notes = check_same_tasks(a, b, options.allow_unlike)
    pairing = describe_pairing(a, b)
    if pairing == BY_POSITION:
        notes = (*notes, BY_POSITION_ONLY)
    if options.method == "wilcoxon" and not options.key.macro and not _is_mean(options.key):
        notes = (*notes, f"Wilcoxon tests the ranks, not {options.key.metric}")
    notes = (*notes, *notes_on_test_splits(a, b))
    codes, unit = unit_codes(a, options.by)
    by = None if unit == TASK else codes
    b = b.with_labels(side=a.side).with_weights(a.weights)
    one, two = (units_of(x, options.key, by=by, draw_seed=options.draw_seed) for x in (a, b))
    value_a, value_b = one.value(), two.value()
    low, high, p, units = math.nan, math.nan, math.nan, one.number
    if one.number:
        low, high, p, units = _test_difference(one, two, value_a - value_b, options)
    wins, ties, losses = _count_wins(one, two)
    return Comparison(
        metric=str(options.key),
        value_a=value_a,
        value_b=value_b,
        difference=value_a - value_b,
        low=low,
        high=high,
        level=options.level,
        p_value=p,
        wins=wins,
        ties=ties,
        losses=losses,
        method=options.method,
        units=units,
        resamples=options.resamples,
        seed=options.seed,
        pairing=pairing,
        notes=notes,
        name_a=names[0],
        name_b=names[1],
    )


def _test_difference(
    one: Units, two: Units, difference: float, options: _CompareOptions
) -> tuple[float, float, float, int]:
    """The bounds of the difference, the p-value, and the number of units."""
    if one.key.macro:
        within = np.stack([one.values_within(), two.values_within()])
        within = within[:, ~np.isnan(within).any(axis=0)]
        first, second = map(mean_functional, within)
    else:
        first, second = one.functional(), two.functional()
    units = first.units
    if math.isnan(difference) or not units:
        return math.nan, math.nan, math.nan, units
    slack = rounding_slack(difference) + rounding_slack(
        float(first.of_counts(np.ones((1, units), int))[0])
    )
    chunks = draw_resamples(units, options.resamples, options.seed)
    resampled = np.concatenate([first.of_counts(x) - second.of_counts(x) for x in chunks])
    low, high = percentile_bounds(resampled, options.level) if units > 1 else (math.nan, math.nan)
    if options.method == "bootstrap":
        p = _bootstrap_p(resampled, slack) if units > 1 else math.nan
    elif options.method == "wilcoxon":
        p = signed_rank(*_differences(one, two))
    else:
        both = mean_functional(within.ravel()) if one.key.macro else one.joint_functional(two)
        p = _permutation_p(both, units, slack, options)
    return low, high, p, units


def _permutation_p(both: Functional, units: int, slack: float, options: _CompareOptions) -> float:
    """The share of swaps after which the models differ at least as much as they do."""
    first, second = of_swaps(both, np.zeros((1, units), dtype=np.int8))
    apart = abs(float(first[0] - second[0])) - slack
    beyond = ways = 0
    for swaps in draw_swaps(units, options.resamples, options.seed):
        first, second = of_swaps(both, swaps)
        beyond += int(np.count_nonzero(~(np.abs(first - second) < apart)))
        ways += len(swaps)
    if is_exhaustible(units, options.resamples):  # the unswapped models are among these
        return beyond / ways
    return (1 + beyond) / (1 + ways)


def _bootstrap_p(resampled: FloatArray, slack: float) -> float:
    known = resampled[~np.isnan(resampled)]
    smaller = min(int((known <= slack).sum()), int((known >= -slack).sum()))
    return min(1.0, 2 * (1 + smaller) / (1 + len(known)))


def signed_rank(differences: FloatArray, slack: float = 0.0) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test, by the normal approximation.

    Differences of 0 are left out. Equal differences share their mean rank, and the variance is
    corrected for them: n (n + 1) (2 n + 1) / 24 - sum (t^3 - t) / 48 over groups of t equal ones.
    The p-value is 1 where all differences are 0.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)
    slack : float
        How much equal differences may differ by rounding.

    Notes
    -----
    F. Wilcoxon: Individual Comparisons by Ranking Methods. Biometrics Bulletin 1 (1945).

    Examples
    --------
    >>> round(signed_rank(np.array([1.0, 2.0, 3.0, -4.0, 5.0])), 4)
    0.3452
    """
    nonzero = differences[np.abs(differences) > slack]
    n = len(nonzero)
    if not n:
        return 1.0
    nonzero = nonzero[np.argsort(np.abs(nonzero), kind="stable")]
    starts = np.flatnonzero(np.diff(np.abs(nonzero), prepend=-math.inf) > slack)
    sizes = np.diff(starts, append=n)
    ranks = np.repeat(starts + (sizes + 1) / 2, sizes)
    t = sizes.astype(np.float64)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((t**3 - t).sum()) / 48
    z = (float(ranks[nonzero > 0].sum()) - n * (n + 1) / 4) / math.sqrt(variance)
    return min(1.0, 2 * normal_cdf(-abs(z)))


def _differences(one: Units, two: Units) -> tuple[FloatArray, float]:
    """The difference of f(r) in each unit, and how much equal ones may differ by rounding.

    The difference of a group is the weighted mean over its tasks.
    """
    if one.key.macro:
        first, second = one.values_within(), two.values_within()
        known = ~np.isnan(first + second)
        first, second = first[known], second[known]
        apart = first - second
    else:
        first, second = _task_values(one), _task_values(two)
        weights = one.sample.weights
        if weights is None or (weights == weights[0]).all():
            weights = np.ones(len(first))
        elif one.number == len(first):
            problem = "wilcoxon has no meaning with unequal weights of tasks; take 'permutation'"
            raise InputValueError("method", problem)
        columns = (weights * (first - second), weights)
        sums = [np.bincount(one.unit, weights=x, minlength=one.number) for x in columns]
        apart = sums[0] / sums[1]
    scale = float(np.abs(first).max(initial=0.0) + np.abs(second).max(initial=0.0))
    return apart, 8 * float(np.finfo(np.float64).eps) * scale


def _task_values(units: Units) -> FloatArray:
    """f(r) of each task where the metric is a mean of it, else the (mean) rank of each task."""
    metric, parameter = _metric_of_tasks(units.key)
    return values_per_task(metric.transform, units.sample, parameter)


def _is_mean(key: Key) -> bool:
    """Whether the metric is a mean of f(r) over tasks."""
    return METRICS[key.metric].mean is arithmetic


def _metric_of_tasks(key: Key) -> tuple[Metric, float]:
    """The metric whose f(r) compares tasks: the mean rank where the key's metric is not a mean."""
    return (METRICS[key.metric], key.parameter) if _is_mean(key) else (METRICS["mr"], 0.0)


def _count_wins(one: Units, two: Units) -> tuple[int, int, int]:
    """Count the tasks in which a is better, as good and worse by f(r), which is best at rank 1."""
    metric, parameter = _metric_of_tasks(one.key)
    ends, most = np.array([1.0, 2.0**63]), np.full(2, 2**63 - 1)
    top, far = metric.transform.of_ranks(ends, most, parameter).tolist()
    first, second = _task_values(one), _task_values(two)
    gained = first - second if top > far else second - first
    wins, losses = int((gained > 0).sum()), int((gained < 0).sum())
    return wins, len(gained) - wins - losses, losses
