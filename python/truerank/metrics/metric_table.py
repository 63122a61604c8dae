"""The tables of metrics, with their averages, of kinds of rank, and of adjustments.

A new row is all that a metric needs; metrics of queries are rows of `answer_metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import ties

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from ..ranks.container import Ranks
    from .ties import Parameter, RankFunction, TieFunction

    Moments: TypeAlias = Callable[[IntArray, Parameter], tuple[FloatArray, FloatArray]]
    Average: TypeAlias = Callable[[FloatArray, FloatArray | None, Parameter], float]
    # The arguments are the value, the expectation and variance under chance, and the optimum; all
    # but the last may be arrays.
    Adjustment: TypeAlias = Callable[[Any, Any, Any, float], Any]

HOYT = 'Hoyt et al., "A Unified Framework for Rank-based Evaluation Metrics" (2022)'
BORDES = 'Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (2013)'
ZHU = 'Zhu et al., "Neural Bellman-Ford Networks" (2021)'
NO_CHANCE = (
    "metrics of queries have no chance, optimum, ratio, index and z: take auc or gauc, whose value "
    "under chance is 0.5"
)


RANKS = (1.0, math.inf)  # where a mean of ranks is


# -- averages --------------------------------------------------------------------------------------

# Each takes what tasks, or queries, are worth (float64, shape (n,)), the weights (finite and >= 0;
# only their ratios matter; None: all count once) and the parameter of the metric, and returns nan
# without a weight above 0.

# 1 / (the third quartile of the standard normal): with this factor the median absolute deviation of
# a normal distribution is its standard deviation.
MAD_SCALE = 1.482602218505602


def weighted_mean(
    values: FloatArray, weights: FloatArray | None = None, parameter: Parameter = 0
) -> float:
    """The arithmetic mean, sum(w v) / sum(w).

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    if not values.size:
        return math.nan
    if weights is None:
        return float(values.mean())
    weights = rescale_weights(weights)
    total = float(weights.sum())
    if not total:
        return math.nan
    return float((weights * values).sum()) / total


def rescale_weights(weights: FloatArray) -> FloatArray:
    """Multiply weights by a power of two, so that their sums do not overflow; ratios stay.

    Examples
    --------
    >>> rescale_weights(np.array([3e300, 6e300])).sum() < 3
    np.True_
    """
    _, exponent = np.frexp(weights.max(initial=0.0))
    safe: FloatArray = np.ldexp(weights, -exponent)
    return safe


def power_mean(ranks: FloatArray, weights: FloatArray | None, p: Parameter) -> float:
    """The power mean, (sum(w r^p) / sum(w))^(1/p): max and min at +-inf, geometric at 0.

    It is computed from the logs of powers, relative to the largest rank (p > 0) or the smallest, so
    that nothing overflows.
    """
    if weights is not None and not weights.all():
        ranks, weights = ranks[weights > 0], weights[weights > 0]
    if not ranks.size:
        return math.nan
    if p == 0:
        return math.exp(weighted_mean(np.log(ranks), weights))
    extreme = float(ranks.max()) if p > 0 else float(ranks.min())
    if math.isinf(p):
        return extreme
    logs = p * np.log(ranks / extreme)
    if abs(p) < 1:  # Powers near 1 keep their digits as differences from it.
        logarithm = math.log1p(weighted_mean(np.expm1(logs), weights))
    else:
        log_weights = np.zeros(len(logs)) if weights is None else np.log(weights)
        logarithm = _log_sum(logs + log_weights) - _log_sum(log_weights)
    return extreme * math.exp(logarithm / p)


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def variance(ranks: FloatArray, weights: FloatArray | None, parameter: Parameter = 0) -> float:
    """The variance of the ranks, sum(w (r - mean)^2) / sum(w) (ddof 0)."""
    if weights is not None and not weights.all():
        ranks, weights = ranks[weights > 0], weights[weights > 0]
    distances = ranks - ranks[:1]  # Equal ranks have no variance, not even a rounded one.
    middle = weighted_mean(distances, weights)
    return weighted_mean(np.square(distances - middle), weights)


def count(ranks: FloatArray, weights: FloatArray | None, parameter: Parameter = 0) -> float:
    """The number of tasks, whatever their weights."""
    return float(len(ranks))


def deviation(ranks: FloatArray, weights: FloatArray | None, parameter: Parameter = 0) -> float:
    """The (weighted) median absolute deviation from the median, times 1.4826."""
    return MAD_SCALE * median(np.abs(ranks - median(ranks, weights)), weights)


def median(
    values: FloatArray, weights: FloatArray | None = None, parameter: Parameter = 0
) -> float:
    """The median; of an even number of values the mean of the middle two.

    With weights it is the smallest value at which the cumulative weight reaches half the total;
    where that weight is exactly half, it is the mean of this value and the next. Values of weight 0
    do not count. Equal weights give the plain median. Sums of weights are compared exactly.

    Examples
    --------
    >>> median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if not values.size:
        return math.nan
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(rescale_weights(weights)[order])
    half = sums[-1] / 2
    if not half:
        return math.nan
    are_exact = weights.max() <= 2**20 and (weights == np.floor(weights)).all()
    rounding = 0.0 if are_exact else 8 * len(values) * np.finfo(np.float64).eps * sums[-1]
    # The median is among the values up to which the weight is half the total, but for rounding.
    first = np.searchsorted(sums, half - rounding)
    last = np.searchsorted(sums, half + rounding, side="right")
    possible_medians = values[order[first : last + 1]]
    if are_exact or possible_medians[0] == possible_medians[-1]:
        return float(possible_medians[0] + possible_medians[-1]) / 2
    return _exact_median(values, rescale_weights(weights), possible_medians)


def _exact_median(values: FloatArray, weights: FloatArray, possible_medians: FloatArray) -> float:
    """The median, one of some values, whose sums of weights are too near to half the total."""

    def balance(value: float) -> float:
        """The weight up to a value minus the weight after it; `math.fsum` has the right sign."""
        return math.fsum(np.where(values <= value, weights, -weights).tolist())

    middle = next(value for value in np.unique(possible_medians).tolist() if balance(value) >= 0)
    if balance(middle) > 0:
        return float(middle)
    return float(middle + values[(values > middle) & (weights > 0)].min()) / 2


# -- metrics ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """A row of a table of metrics: of tasks, or of queries with several right answers.

    What each task, or query, is worth is averaged, and a value is g of the average. Of most metrics
    this is the mean, sum(w f) / sum(w): values of groups, adjustments, intervals and comparisons
    follow from these two sums.

    Attributes
    ----------
    name : str
        The word of keys.
    title : str
        What tables print, the literature's name, which is the name but for case and "-"; empty
        where it has none, and the key is printed.
    description : str
        The name in words.
    parameter : str
        "@k" for a cutoff, "[@k]" for one that may be left out, ":p" for a power, "@k:n" for a
        cutoff among n drawn negatives, else "".
    examples : tuple of str
        What documents and tests put for the parameter, with its mark.
    increasing : bool or None
        Whether higher is better; None where neither higher nor lower is better.
    decimals : int
        How many tables show: three of a share, one of a mean rank.
    ends : (float, float)
        The least and the greatest that the mean of f may be; of a variance that of its logarithm.
    is_share : bool
        Whether it is a share of tasks, answers or places, which papers print as a percentage, too.
    is_binary : bool
        Whether it is all or nothing of each task, or query, whose share has Wilson's interval.
    of_rank : callable
        f, what a task of one right answer is worth, from its rank (float64), the number of
        candidates (int64) and the parameter; the rank itself if not given.
    over_tie : callable, optional
        The mean of f over the positions of ties, in closed form, from the first position (float64),
        the number of positions (int64), that of candidates and the parameter. Without it f is added
        position by position.
    of_middle : callable, optional
        What stands for f at the middles of ties, from these ranks, the number of positions, that of
        candidates and the parameter, if it hangs on the number of positions, too.
    is_cut : bool
        Whether f, and its mean over ties, are 0 beyond a cutoff k, if there is one; `of_rank`,
        `over_tie` and `moments` are those without a cutoff then.
    of_answers : callable, optional
        What queries with several right answers are worth, from their `Ties` and the parameter; None
        for a metric of tasks.
    of_gains : bool
        Whether it is about all answers with a gain, whatever the level from which on one is right.
    is_relative : bool
        Whether it is divided by its value in the best order of the answers.
    needs_order : bool
        Whether it has no closed form over ties of answers, but a value in each order of them.
    of_pairs : bool
        Whether it is of pairs of a right answer and a wrong one, which a query may lack.
    by_candidates : bool
        Whether a mean weights each query with its number of candidates.
    average : callable
        That of values with weights; the mean if not given.
    inverse : callable
        g, of the average.
    listed : tuple of str
        With which parameters reports list it, and tables show it for "all"; none if not given.
    moments : callable, optional
        For a mean of f(r) with a closed form, or an f that depends on the number of candidates,
        returns the mean and the variance of f(r) under chance; without it f is added up over all
        ranks.
    has_variance : bool
        For a mean of f(r), whether its variance under chance is known; without it there is no z.
    exponent : int
        For a product of r^(exponent w) over the tasks, the exponent; 0 for what is none.
    optimum : float
        The value where every rank is 1.
    source : str
        Where the metric comes from.
    """

    name: str
    title: str = ""
    description: str
    parameter: str = ""
    examples: tuple[str, ...] = ("",)
    increasing: bool | None = None
    decimals: int = 3
    ends: tuple[float, float] = (0.0, 1.0)
    is_share: bool = False
    is_binary: bool = False
    of_rank: RankFunction = lambda r, N, _: r
    over_tie: TieFunction | None = None
    of_middle: TieFunction | None = None
    is_cut: bool = False
    of_answers: Callable[[Any, Parameter], FloatArray] | None = None
    of_gains: bool = False
    is_relative: bool = False
    needs_order: bool = False
    of_pairs: bool = False
    by_candidates: bool = False
    average: Average = weighted_mean
    inverse: Callable[[float], float] = float  # By default it changes nothing.
    listed: tuple[str, ...] = ()
    moments: Moments | None = None
    has_variance: bool = True
    exponent: int = 0
    optimum: float = 1.0
    source: str = HOYT

    @property
    def mark(self) -> str:
        """What stands before the parameter: "@", ":", or nothing where there is none."""
        return self.parameter.strip("[]")[:1]

    @property
    def needed(self) -> str:
        """What a key must have after the name: empty where the parameter may be left out."""
        return "" if self.parameter.startswith("[") else self.parameter

    @property
    def is_mean(self) -> bool:
        """Whether the metric is itself a mean of what tasks, or queries, are worth."""
        return self.average is weighted_mean and self.inverse is float

    @property
    def needs_candidates(self) -> bool:
        """Whether a value of lists depends on what there was to order, beside what they have."""
        return self.of_pairs or self.parameter == "@k:n"

    @property
    def has_expectation(self) -> bool:
        """Whether it has the kind "expected": means have, and count, which no tie moves."""
        return self.is_mean or self.average is count

    @property
    def adjustments(self) -> tuple[str, ...]:
        """The adjustments for chance that it has; all of them, none, or those without a variance.

        Examples
        --------
        >>> [METRICS[name].adjustments for name in ("gmr", "hmr", "sampled_hits")]
        [('ratio', 'index', 'z'), (), ('ratio', 'index')]
        """
        if self.of_answers is not None or not (self.is_mean or self.exponent):
            return ()
        if not self.has_variance:
            return ("ratio", "index")
        return ("ratio", "index", "z")

    @property
    def why_unadjusted(self) -> str:
        """Why it lacks an adjustment, and what to do instead."""
        if self.of_answers is not None:
            return NO_CHANCE
        if self.is_mean:
            return (
                f"the variance of {self.name} under chance is not computed: it has a ratio and an "
                "index, but no z, which docs/chance.md draws in five lines"
            )
        return (
            f"{self.name} is not a mean over tasks, and its chance is not computed: it has no "
            "ratio, index and z, which docs/chance.md draws in five lines"
        )


def _reciprocal(x: float) -> float:
    return 1.0 / x


_ROWS = (
    MetricRow(
        name="mr",
        title="MR",
        description="mean rank",
        listed=("",),
        increasing=False,
        decimals=1,
        ends=RANKS,
        over_tie=lambda a, m, N, _: ties.mean_rank(a, m),
        moments=ties.rank_moments,
        source=BORDES,
    ),
    MetricRow(
        name="mrr",
        title="MRR",
        description="mean reciprocal rank",
        parameter="[@k]",
        examples=("", "@7"),
        listed=("",),
        increasing=True,
        of_rank=lambda r, N, _: 1.0 / r,
        over_tie=lambda a, m, N, _: ties.mean_power(a, m, -1.0),
        is_cut=True,
        moments=ties.reciprocal_moments,
        source="Voorhees, The TREC-8 Question Answering Track Report (1999)",
    ),
    MetricRow(
        name="hits",
        title="Hits",
        description="hits at k",
        parameter="@k",
        examples=("@1", "@3"),
        listed=("@1", "@3", "@5", "@10"),
        increasing=True,
        is_share=True,
        is_binary=True,
        of_rank=lambda r, N, k: (r <= min(k, ties.MOST)).astype(np.float64),
        over_tie=lambda a, m, N, k: ties.hit_share(a, m, k),
        moments=ties.hit_moments,
        source=BORDES,
    ),
    MetricRow(
        name="sampled_hits",
        title="Sampled-Hits",
        description="hits at k among n drawn negatives",
        parameter="@k:n",
        examples=("@1:3", "@3:20"),
        increasing=True,
        is_share=True,
        of_rank=ties.drawn_hit_share,
        over_tie=ties.mean_drawn_hit_share,
        of_middle=ties.middle_drawn_hit_share,
        moments=ties.drawn_hit_moments,
        has_variance=False,
        source=ZHU,
    ),
    MetricRow(
        name="ndcg",
        title="nDCG",
        description="discounted gain of one right answer",
        parameter="@k",
        examples=("@3", "@10"),
        increasing=True,
        of_rank=lambda r, N, _: 1.0 / np.log2(1.0 + r),
        is_cut=True,
        source="Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002)",
    ),
    MetricRow(
        name="hmr",
        title="HMR",
        description="harmonic mean rank",
        listed=("",),
        increasing=False,
        decimals=1,
        of_rank=lambda r, N, _: 1.0 / r,
        inverse=_reciprocal,
    ),
    MetricRow(
        name="imr",
        title="IMR",
        description="inverse mean rank",
        increasing=True,
        ends=RANKS,
        inverse=_reciprocal,
    ),
    MetricRow(
        name="gmr",
        title="GMR",
        description="geometric mean rank",
        listed=("",),
        increasing=False,
        decimals=1,
        ends=(0.0, math.inf),
        of_rank=lambda r, N, _: np.log(r),
        inverse=math.exp,
        exponent=1,
    ),
    MetricRow(
        name="igmr",
        title="IGMR",
        description="inverse geometric mean rank",
        increasing=True,
        ends=(0.0, math.inf),
        of_rank=lambda r, N, _: np.log(r),
        inverse=lambda mean: math.exp(-mean),
        exponent=-1,
    ),
    MetricRow(
        name="median",
        description="median rank",
        listed=("",),
        increasing=False,
        decimals=1,
        average=median,
    ),
    MetricRow(
        name="imedian",
        description="inverse median rank",
        increasing=True,
        average=median,
        inverse=_reciprocal,
    ),
    MetricRow(
        name="power_mean",
        description="power mean rank",
        parameter=":p",
        examples=(":2", ":-0.5"),
        increasing=False,
        decimals=1,
        average=power_mean,
    ),
    MetricRow(
        name="std",
        description="standard deviation",
        decimals=1,
        ends=(-math.inf, math.inf),
        average=variance,
        inverse=math.sqrt,
        optimum=0.0,
    ),
    MetricRow(
        name="variance",
        description="variance of ranks",
        decimals=1,
        ends=(-math.inf, math.inf),
        average=variance,
        optimum=0.0,
    ),
    MetricRow(
        name="mad",
        description="median absolute deviation",
        decimals=1,
        average=deviation,
        optimum=0.0,
    ),
    MetricRow(
        name="count",
        description="number of tasks",
        decimals=1,
        average=count,
    ),
)
METRICS: dict[str, MetricRow] = {row.name: row for row in _ROWS}


def listed_metrics() -> list[str]:
    """List the metrics that reports list, in the order of the table, with their parameters.

    Examples
    --------
    >>> listed_metrics()[:4]
    ['mr', 'mrr', 'hits@1', 'hits@3']
    """
    names = []
    for row in METRICS.values():
        names += [row.name + parameter for parameter in row.listed]
    return names


# -- kinds of rank ---------------------------------------------------------------------------------

# They say which position of a tie counts.
KINDS: dict[str, Callable[[Ranks, int], IntArray | FloatArray]] = {
    "optimistic": lambda ranks, seed: ranks.optimistic,
    "realistic": lambda ranks, seed: ranks.realistic,
    "pessimistic": lambda ranks, seed: ranks.pessimistic,
    # f is averaged over the positions of a tie, from the first on.
    "expected": lambda ranks, seed: ranks.optimistic,
    "random": lambda ranks, seed: ranks.random(seed),
}
DEFAULT_KIND = "realistic"
EXPECTED_KIND = "expected"

# -- adjustments -----------------------------------------------------------------------------------


def ratio(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Compute value / expectation: 1 is chance; nan without tasks.

    For the mean rank it is 2 sum w r / sum w (N + 1), the AMR of Berrendorf et al., "On the
    Ambiguity of Rank-Based Evaluation of Entity Alignment or Link Prediction Methods" (2020).

    Examples
    --------
    >>> float(ratio(1.5, 2.0, 0.1, 1.0))
    0.75
    """
    return _quotient(value, expectation)


def index(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Compute (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.

    For the mean rank it is 1 - 2 sum w (r - 1) / sum w (N - 1), the AMRI of Berrendorf et al.
    (2020), whose equation 8 loses the "1 -" in one printing. It is nan where chance is perfect: no
    task has a second candidate, or k of hits@k reaches all of them.

    Examples
    --------
    >>> float(index(1.5, 2.0, 0.1, 1.0))
    0.5
    """
    return _quotient(value - expectation, optimum - expectation)


def z(value: Any, expectation: Any, variance: Any, optimum: float) -> Any:
    """Compute (value - expectation) / sqrt(variance): standard deviations from chance.

    The sign is that of the formula (Hoyt et al., 2022): below 0 is better where less is better. It
    is nan where the variance is 0.

    Examples
    --------
    >>> float(z(1.5, 2.0, 0.0625, 1.0))
    -2.0
    """
    with np.errstate(invalid="ignore"):
        return _quotient(value - expectation, np.sqrt(variance))


def _quotient(numerator: Any, denominator: Any) -> Any:
    """Divide, floats or arrays; nan where there is nothing to divide by."""
    with np.errstate(all="ignore"):
        quotient = np.divide(numerator, denominator) + 0.0  # It makes a minus zero a plain one.
    return np.where(np.equal(denominator, 0), np.nan, quotient)


ADJUSTMENTS: dict[str, Adjustment] = {
    "none": lambda value, expectation, variance, optimum: value,
    "ratio": ratio,
    "index": index,
    "z": z,
}
