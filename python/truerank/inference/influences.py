"""How much each unit moves a metric: intervals, comparisons, runs and power follow from it.

A metric is outward(mean of f), where the mean is a ratio of two sums over units. What a unit adds
to them says how much it moves the mean; medians get the same numbers from their order statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of
from ..metrics import METRICS
from ..metrics.averages import arithmetic, median, power, tie_centres, values_per_task, variance
from ..metrics.keys import NO_ADJUSTMENT
from ..metrics.kinds import Sample
from ..metrics.ties import LOG
from ..metrics.values import adjusted, compute, key_values_within, moments
from .units import hangs_on_large_ranks, plural

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..metrics.keys import Key
    from .units import Units

    Outward = Callable[[float], float]

# The form of a mean decides how it is bounded, and how two models differ in it.
MEAN = "mean"
SHARE = "share"
LOGARITHM = "logarithm"
POWER = "power"
VARIANCE = "variance"
MEDIAN = "median"
NO_MEAN = ""
_FORM_OF_MEAN: dict[object, str] = {variance: VARIANCE, median: MEDIAN}
# Two models differ by a difference in these forms, and by a ratio in the others.
DIFFERENCES = (MEAN, SHARE)
LEAST_POWER = 1e-6  # The mean of a smaller power is that of the logarithm.
MOST_LOG = 300.0  # Powers of ranks with larger logarithms leave float64.
ROUNDING = 1e-12
# Intervals of mean ranks cover too little if fewer units carry the variance.
FEW_CARRIERS = 30


class Influences(NamedTuple):
    """What each unit adds to a metric.

    Attributes
    ----------
    value : float
        The metric, outward(inner).
    inner : float
        The mean on whose scale units add up.
    tops : ndarray of float64, shape (units,)
        What each unit adds to the mean; the sum is `inner`.
    shares : ndarray of float64, shape (units,)
        The share of each unit in the weights; the sum is 1.
    moved : ndarray of float64, shape (units,)
        The derivative of `inner` by the multiplicity of each unit; the sum is 0.
    outward : callable
    ends : (float, float)
        The least and the greatest `inner` that the tasks allow.
    form : str
        MEAN, SHARE, LOGARITHM, POWER, VARIANCE or MEDIAN.
    bounds : (float, float), optional
        Those of a median, on the scale of the value, where they are exact.
    is_macro : bool
        Whether the mean is over fixed groups, whose sizes `moved` allows for already.
    has_range : bool
        Whether units that were not drawn may be anywhere between the ends, which are near enough to
        say something: not so of mean ranks.
    """

    value: float
    inner: float
    tops: FloatArray
    shares: FloatArray
    moved: FloatArray
    outward: Outward
    ends: tuple[float, float]
    form: str
    bounds: tuple[float, float] | None = None
    is_macro: bool = False
    has_range: bool = False

    @property
    def error(self) -> float:
        """The standard error of `inner`; nan for fewer than 2 units."""
        if self.is_macro:
            return standard_error(self.moved)
        return standard_error(self.moved, self.shares)

    def at(self, inner: float) -> float:
        """The metric that this mean would have; inf where it is the inverse of 0."""
        if inner == self.inner:
            return self.value
        try:
            return self.outward(inner)
        except (ArithmeticError, ValueError):
            return math.inf

    def on_value_scale(self) -> FloatArray:
        """The derivative of the value by the multiplicity of each unit."""
        return self.moved * slope(self.outward, self.inner)


def influences_of_sums(
    tops: FloatArray,
    bases: FloatArray,
    *,
    value: float | None = None,
    outward: Outward = float,
    ends: tuple[float, float] = (-math.inf, math.inf),
    form: str = MEAN,
) -> Influences:
    """Return the influences of units on the ratio of two sums over them.

    Parameters
    ----------
    tops, bases : ndarray of float64, shape (units,)
        For a weighted mean the sums of w f and of w over the tasks of each unit.
    value : float, optional
    outward, ends, form
        As the attributes.

    Examples
    --------
    >>> found = influences_of_sums(np.array([1.0, 0.5]), np.array([1.0, 1.0]))
    >>> found.value, found.moved
    (0.75, array([ 0.125, -0.125]))
    """
    total = bases.sum()
    inner = float(tops.sum() / total)
    tops = tops / total
    shares = bases / total
    moved = without_rounding(tops - inner * shares, tops)
    if value is None:
        value = outward(inner)
    return Influences(value, inner, tops, shares, moved, outward, ends, form)


def influences_of(units: Units, level: float = 0.95) -> Influences | None:
    """Return the influences of units on their key; None for a metric that has none, and for nan.

    Those of a median hang on the level a little, by the order statistics between which the density
    is measured.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.inference.units import units_of
    >>> influences_of(units_of(Ranks([0, 3], [1, 1], 10), "mrr")).moved
    array([ 0.1875, -0.1875])
    """
    key = units.key
    if not units.number:
        return None
    form = _form_of(key, units)
    adds_up = form not in (NO_MEAN, MEDIAN) and not _is_adjusted_at_the_end(key, units)
    if key.macro and not adds_up:
        return _of_whole_groups(units, is_monotone=form not in (NO_MEAN, VARIANCE))
    if form == NO_MEAN:
        return None
    outward = _outward_of(key, units)
    if form == MEDIAN:
        return _of_median(units, level, outward)
    with np.errstate(all="ignore"):
        found = _of_mean(units, outward, form)
    if found is None or form == VARIANCE or hangs_on_large_ranks(key):
        return found
    # The ends of macro.gmr and the like are those of the metric, and not of the f in a mean of f.
    return found._replace(has_range=not key.macro or form in DIFFERENCES)


def _form_of(key: Key, units: Units) -> str:
    """What the mean is whose function the metric is; NO_MEAN for a metric of no mean."""
    if units.ends is not None:  # Only metrics of retrieval have ends of their own.
        return SHARE if key.metric == "success" else MEAN
    metric = METRICS[key.metric]
    if metric.single is not None:
        return SHARE if metric.name == "hits" else MEAN
    if metric.mean is arithmetic:
        return LOGARITHM if metric.transform is LOG else POWER
    if metric.mean is power:
        return _form_of_power(abs(float(key.parameter)), float(units.sample.candidates.max()))
    return _FORM_OF_MEAN.get(metric.mean, NO_MEAN)


def _form_of_power(p: float, largest_rank: float) -> str:
    """What the mean is of a power mean; NO_MEAN where the powers of ranks leave float64."""
    if p < LEAST_POWER:
        return LOGARITHM
    if p * math.log(largest_rank) <= MOST_LOG:
        return POWER
    return NO_MEAN


def _outward_of(key: Key, units: Units) -> Outward:
    """What makes the metric of the mean."""
    back = _from_mean(key, units)
    if not _is_adjusted_at_the_end(key, units):
        return back
    of_chance = moments(key.alone, units.sample.candidates, units.sample.weights)
    return lambda inner: adjusted(key, back(inner), *of_chance)


def _from_mean(key: Key, units: Units) -> Outward:
    """What makes the metric of the mean, without an adjustment."""
    if units.ends is not None:
        return float
    metric = METRICS[key.metric]
    if metric.single is not None:
        return float
    if metric.mean is power:
        p = float(key.parameter)
        if abs(p) < LEAST_POWER:
            return math.exp
        return lambda mean: float(mean ** (1 / p))
    return metric.inverse


def _is_adjusted_at_the_end(key: Key, units: Units) -> bool:
    """Whether the metric is adjusted as a whole; ratio and index of a mean are sums over tasks."""
    if units.ends is not None:
        return False
    if METRICS[key.metric].single is not None:
        return key.adjustment == "z"
    return key.adjustment != NO_ADJUSTMENT


def sums_of_tasks(units: Units, sample: Sample) -> tuple[FloatArray, FloatArray]:
    """What each task adds to the two sums whose ratio is the mean of f, of the ranks of a sample.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.inference.units import units_of
    >>> units = units_of(Ranks([0, 3], [1, 1], 9), "amri")
    >>> sums_of_tasks(units, units.sample)
    (array([-4., -1.]), array([-4., -4.]))
    """
    key = units.key
    weights = units.weights
    if units.ends is not None:
        return sample.ranks, weights
    metric = METRICS[key.metric]
    parameter = key.parameter
    if metric.mean is variance:
        centres, inner = tie_centres(sample)
        groups = np.zeros(len(centres), np.int64) if units.groups is None else units.groups
        centres = centres - centres[:1]
        middles = np.bincount(groups, weights * centres) / np.bincount(groups, weights)
        return weights * (np.square(centres - middles[groups]) + inner), weights
    if metric.mean is power and abs(parameter) < LEAST_POWER:
        f = values_per_task(LOG, sample)
    else:
        f = values_per_task(metric.transform, sample, parameter)
    if metric.single is None or key.adjustment in (NO_ADJUSTMENT, "z"):
        return weights * f, weights
    sizes, place = np.unique(sample.candidates, return_inverse=True)
    means, _ = metric.single(sizes, parameter)
    chance = means[place]
    if key.adjustment == "ratio":
        return weights * f, weights * chance
    return weights * (f - chance), weights * (metric.optimum - chance)


def _of_mean(units: Units, outward: Outward, form: str) -> Influences | None:
    """The influences on a metric that is made of a mean, over all tasks or over those of groups."""
    top, base = sums_of_tasks(units, units.sample)
    ends = [sums_of_tasks(units, end) for end in ends_of(units)]
    if units.key.macro:
        return _of_groups(units, top, base, ends, outward, form)
    means = [float(top_of_end.sum() / base_of_end.sum()) for top_of_end, base_of_end in ends]
    least, most = sorted(means)
    if form == VARIANCE:
        least = 0.0
        most = math.inf
    # A metric of ranks has the value that reports compute, to the last digit.
    value = compute(units.key, units.sample) if units.ends is None else None
    found = influences_of_sums(
        units.sums(top),
        units.sums(base),
        value=value,
        outward=outward,
        ends=(least, most),
        form=form,
    )
    if not (math.isfinite(found.value) and math.isfinite(found.inner)):
        return None
    return found


def ends_of(units: Units) -> list[Sample]:
    """The same tasks with every rank 1, and with every rank the last.

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.inference.units import units_of
    >>> [end.ranks for end in ends_of(units_of(Ranks([2, 3], [1, 1], [9, 7]), "mr"))]
    [array([1., 1.]), array([9., 7.])]
    """
    sample = units.sample
    ends = units.ends or (np.ones(len(sample.ranks)), sample.candidates.astype(np.float64))
    return [sample._replace(ranks=end, tied=None) for end in ends]


def _of_groups(
    units: Units,
    top: FloatArray,
    base: FloatArray,
    ends_of_tasks: list[tuple[FloatArray, FloatArray]],
    back: Outward,
    form: str,
) -> Influences | None:
    """The influences on the mean over groups, which are fixed; what varies is within them.

    A group of g units corrects its variance by g / (g - 1). Groups of one unit are taken as drawn
    from those like them.
    """
    _, group = np.unique(np.asarray(units.groups), return_inverse=True)
    weight = np.bincount(group, base)
    means = np.bincount(group, top) / weight
    known = np.isfinite(means)
    number = int(known.sum())
    if not number:
        return None
    values = np.zeros(len(means))
    values[known] = [back(mean) for mean in means[known]]
    slopes = np.nan_to_num([slope(back, mean) for mean in means.tolist()])

    # A cell holds the tasks of one unit in one group.
    cells, cell = codes_of(units.unit * len(means) + group)
    unit, group_of = np.divmod(cells, len(means))
    share = np.bincount(cell, base) / weight[group_of]
    moved = np.bincount(cell, top) / weight[group_of] - means[group_of] * share
    moved = without_rounding(moved * slopes[group_of], values[group_of] * share)

    apart, factors = _correct_small_groups(np.bincount(group_of), values, known)

    def of_units(column: FloatArray) -> FloatArray:
        """The sums over the cells of each unit, divided by the number of groups."""
        held = np.where(known[group_of], column, 0.0)
        return np.bincount(unit, held, units.number) / number

    least, most = _ends_of_groups(group, known, ends_of_tasks, back)
    if form == VARIANCE:
        least = 0.0
        most = math.inf
    if form not in DIFFERENCES:  # Over groups it is a mean, whatever the form within a group.
        form = MEAN
    value = float(values[known].mean())
    return Influences(
        value=value,
        inner=value,
        tops=of_units(moved + values[group_of] * share),
        shares=of_units(share),
        # The root takes back the factor u / (u - 1) of the formula of the error.
        moved=of_units((moved + apart[group_of]) * factors[group_of])
        * math.sqrt(1 - 1 / units.number),
        outward=float,
        ends=(least, most),
        form=form,
        is_macro=True,
    )


def _ends_of_groups(
    group: IntArray,
    known: npt.NDArray[np.bool_],
    ends_of_tasks: list[tuple[FloatArray, FloatArray]],
    back: Outward,
) -> list[float]:
    """The least and the greatest mean over groups that the tasks allow."""
    values = []
    for top, base in ends_of_tasks:
        means = np.bincount(group, top) / np.bincount(group, base)
        values_of_groups = [back(mean) for mean in means[known].tolist()]
        values.append(float(np.mean(values_of_groups)))
    return sorted(values)


def _correct_small_groups(
    sizes: IntArray, values: FloatArray, known: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """How far groups of one unit are from one another, and factors that correct errors of groups.

    Groups of one unit vary about one another, as units of one group would.
    """
    alone = (sizes == 1) & known
    number = int(alone.sum())
    apart = np.zeros(len(values))
    if number > 1:
        apart[alone] = values[alone] - values[alone].mean()
    sizes = np.where(alone, number, sizes)
    return apart, np.sqrt(sizes / np.maximum(sizes - 1, 1))


def _of_whole_groups(units: Units, *, is_monotone: bool) -> Influences | None:
    """The influences of groups, as if drawn, on the mean over them of a metric of any kind.

    A metric that is monotone in the ranks lies between those of the first and of the last ranks.
    """
    codes = np.asarray(units.groups)
    number = int(codes.max()) + 1
    values = key_values_within(units.key, units.sample, codes, number)
    is_known = ~np.isnan(values)
    if not is_known.any():
        return None
    ends = (-math.inf, math.inf)
    if is_monotone:
        means = []
        for sample in ends_of(units):
            values_of_groups = key_values_within(units.key, sample, codes, number)
            means.append(float(values_of_groups[is_known].mean()))
        ends = (min(means), max(means))
    return influences_of_sums(values[is_known], np.ones(int(is_known.sum())), ends=ends)


def _of_median(units: Units, level: float, back: Outward) -> Influences | None:
    """The influences on the logarithm of a median, and its bounds by order statistics.

    The share of tasks up to the median says how far from it the bounds are in the order of the
    ranks; the distance of the bounds says how much the median moves when that share does.
    """
    from scipy.special import ndtri

    sample = units.sample
    weights = units.weights
    total = weights.sum()
    most = float(sample.candidates.max())
    plain_median = METRICS["median"]
    middle = plain_median.mean(plain_median.transform, sample, 0)
    # Of the shares of tasks up to the median and below it, the one nearer to a half counts.
    counted = _shares_up_to(sample, middle)
    share = float(weights @ counted) / total
    below = _shares_up_to(sample, math.nextafter(middle, 0.0))
    share_below = float(weights @ below) / total
    if abs(share_below - 0.5) < abs(share - 0.5):
        counted = below
        share = share_below
    shares = units.sums(weights) / total
    moved = units.sums(weights * (counted - share)) / total
    if 0 < share < 1 and units.number > 1:
        spread = standard_error(moved, shares) / math.sqrt(share * (1 - share))
    else:
        spread = float(np.sqrt((shares**2).sum()))
    reach = float(ndtri((1 + level) / 2)) / 2 * spread + 0.5 / len(sample.ranks)
    low = 1.0
    high = most
    if reach < 0.5:
        low = _quantile(sample, weights, 0.5 - reach)
        high = _quantile(sample, weights, 0.5 + reach)
    # Ranks are whole numbers, so a median moves by steps: half a step may be hidden at each end.
    density = math.log((high + 0.5) / (low - 0.5)) / (2 * reach)
    inner = math.log(middle)
    moved = -density * without_rounding(moved, shares)
    return Influences(
        value=compute(units.key, sample),
        inner=inner,
        tops=moved + inner * shares,
        shares=shares,
        moved=moved,
        outward=lambda x: back(math.exp(x)),
        ends=(0.0, math.log(most)),
        form=MEDIAN,
        bounds=(back(low), back(high)),
    )


def _shares_up_to(sample: Sample, x: float) -> FloatArray:
    """The share of each task's positions up to x."""
    if sample.tied is None:
        return (sample.ranks <= x).astype(np.float64)
    reached: FloatArray = np.clip(np.floor(x - sample.ranks) + 1, 0, sample.tied) / sample.tied
    return reached


def _quantile(sample: Sample, weights: FloatArray, share: float) -> float:
    """The first position, or half of one, up to which the tasks have a share."""
    total = weights.sum()
    low_halves = 2
    high_halves = int(2 * float(sample.candidates.max()))
    while low_halves < high_halves:
        halves = (low_halves + high_halves) // 2
        reached = float(weights @ _shares_up_to(sample, halves / 2)) / total
        if reached >= share - ROUNDING:
            high_halves = halves
        else:
            low_halves = halves + 1
    return low_halves / 2


def standard_error(moved: FloatArray, shares: FloatArray | None = None) -> float:
    """Return the standard error of a mean from the influences d of its units; nan for fewer than 2.

    Its square is the sum of d^2 / (1 - 2 w + sum of w^2), where w are the shares of the units in
    the weights. The divisor is what is left of a unit's variance once the mean is taken off, to
    which the unit itself belongs: the larger its share, the nearer is the mean to its own value.
    With equal shares this is u / (u - 1) times the sum of squares, and so it is without shares.

    Notes
    -----
    HC2 of J. G. MacKinnon, H. White: Some Heteroskedasticity-Consistent Covariance Matrix
    Estimators with Improved Finite Sample Properties. Journal of Econometrics 29 (1985), for a
    weighted mean of units that vary alike.

    Examples
    --------
    >>> standard_error(np.array([1.0, -1.0]))
    2.0
    >>> standard_error(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    2.0
    """
    units = len(moved)
    if units < 2:
        return math.nan
    if shares is None:
        return math.sqrt(float(moved @ moved) * units / (units - 1))
    squares = np.square(shares)
    others = float(squares.sum()) - squares
    largest = int(squares.argmax())
    # The difference above may be rounding alone where one square is nearly the whole sum.
    others[largest] = float(np.delete(squares, largest).sum())
    left = np.square(1 - shares) + others
    # A unit with all the weight does not vary, and its part would be 0 / 0.
    varies = moved != 0
    return math.sqrt(float((np.square(moved[varies]) / left[varies]).sum()))


def count_carriers(moved: FloatArray) -> float:
    """How many units carry the variance: (sum d^2)^2 / sum d^4; 0 where nothing varies.

    Examples
    --------
    >>> count_carriers(np.array([1.0, -1.0, 1.0, -1.0, 0.0]))
    4.0
    """
    largest = float(np.abs(moved).max(initial=0.0))
    if not largest:
        return 0.0
    squares = np.square(moved / largest)
    return float(squares.sum() ** 2 / np.square(squares).sum())


def degrees_of_freedom(moved: FloatArray) -> float:
    """How many units carry the variance, less one, from 1 to u - 1.

    Examples
    --------
    >>> degrees_of_freedom(np.array([1.0, -1.0, 1.0, -1.0, 0.0]))
    3.0
    """
    return min(max(count_carriers(moved) - 1, 1.0), max(len(moved) - 1.0, 1.0))


def notes_on_carriers(key: Key, moved: FloatArray, by: str) -> tuple[str, ...]:
    """Say in one clause, if at all, that few units decide about mean ranks, by their influences.

    Nothing in the design shows it, and a sample without far ranks looks certain.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> notes_on_carriers(parse("mr"), np.array([-6.0, 2, 2, 2]), "task")
    ('mr hangs on few tasks: 2 of 4 carry it',)
    """
    carriers = count_carriers(moved)
    if not hangs_on_large_ranks(key) or not 0 < carriers < FEW_CARRIERS:
        return ()
    units = plural(by)
    return (f"{key} hangs on few {units}: {carriers:.0f} of {len(moved):,} carry it",)


def without_rounding(moved: FloatArray, scale: FloatArray) -> FloatArray:
    """Set to 0 what is only rounding, beside numbers of this scale."""
    least = ROUNDING * float(np.abs(scale).max(initial=0.0))
    return np.where(np.abs(moved) <= least, 0.0, moved)


def slope(outward: Outward, x: float) -> float:
    """The derivative of a smooth function of one number, to about nine digits.

    Examples
    --------
    >>> round(slope(math.exp, 1.0), 8)
    2.71828183
    """
    if outward is float:
        return 1.0
    step = 1e-3 * (abs(x) or 1.0)
    try:
        ends = [outward(x + i * step) for i in (-2, -1, 1, 2)]
    except (ArithmeticError, ValueError):
        return math.nan
    return (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
