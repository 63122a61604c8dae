"""Confidence intervals of a metric: which method is right for which sample, and what to note."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from ..inputs.checks import choice, confidence, integer_at_least, resample_count
from ..inputs.naming import printable, public
from .interval_methods import METHODS, IntervalCase, IntervalMethod, MethodBounds
from .paired_models.pairing import weighted_ranks
from .samples import cautions
from .samples.resampling import rounding_slack, watched_resamples
from .samples.units import AUTO, TASK, describe_units, units_of
from .sampling_design import crossed_names, design_of, notes_on

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..inputs.progress_listeners import Progress
    from ..metrics import Key
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .paired_models.pairing import HasRanks


@public("truerank.inference")
class Interval(NamedTuple):
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    low, value, high : float
    level : float
        The share of such intervals that should contain the value of the population.
    method : str
        How the bounds were computed; see `interval`.
    resamples : int
        0 for methods that do not resample.
    units : int
        The number of units.
    seed : int
    key : str
        The key of the metric.
    by : str
        What a unit is: "task", "query", "unit", "relation", another label, or "group" for labels
        without a name.
    largest : int
        The number of tasks in the largest unit.
    notes : tuple of str
        What limits the trust in the bounds; each is a plain clause with its figures.

    Examples
    --------
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "bca", 10_000, 400, 0, "mrr"))
    mrr 0.3 [0.25, 0.35] (95 %, bca, 10,000 resamples of 400 tasks)
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "normal", 0, 40, 0, "mrr", "query", 27))
    mrr 0.3 [0.25, 0.35] (95 %, normal, 40 queries, the largest of 27 tasks)
    """

    low: float
    value: float
    high: float
    level: float
    method: str
    resamples: int
    units: int
    seed: int
    key: str = ""
    by: str = TASK
    largest: int = 1
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        resamples = f"{self.resamples:,} resamples of " if self.resamples else ""
        bounds = f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"
        how = f"{100 * self.level:g} %, {self.method}, {resamples}{self.describe_units()}"
        lines = [f"{self.key} {bounds} ({how})".lstrip(), *self.notes]
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> Interval(0.25, 0.3, 0.35, 0.95, "bca", 99, 40, 0, "mrr").to_dict()["notes"]
        []
        """
        return {**self._asdict(), "notes": list(self.notes)}

    def describe_units(self) -> str:
        """Write the number of units, and the size of the largest where it has several tasks.

        Examples
        --------
        >>> Interval(0.25, 0.3, 0.35, 0.95, "bca", 99, 40, 0, "mrr", "query", 27).describe_units()
        '40 queries, the largest of 27 tasks'
        """
        return describe_units(self.units, self.by, self.largest)


class IntervalOptions(TypedDict, total=False):
    """The keywords that intervals of one key and of several have in common."""

    level: float
    method: IntervalMethod
    by: LabelsLike | None
    seed: int
    resamples: int
    strata: LabelsLike | None
    progress: bool | Callable[[Progress], object] | None


@public("truerank.inference")
def interval(
    ranks: Ranks | HasRanks,
    metric: str | Key = "mrr",
    *,
    level: float = 0.95,
    method: IntervalMethod = "auto",
    by: LabelsLike | None = AUTO,
    seed: int = 0,
    resamples: int = 10_000,
    weights: str | npt.ArrayLike | None = None,
    draw_seed: int = 0,
    strata: LabelsLike | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Interval:
    """Compute the confidence interval of a metric over other tasks of the same population.

    Parameters
    ----------
    ranks : Ranks or Report
        A Report stands for its ranks, with the weights that are in force in it.
    metric : str or Key
        Any key of a report. `macro.X` needs `by`, and its units are the groups.
    level : float
        Between 0 and 1.
    method : str
        "auto" takes the method that covers best, and `Interval.method` names it:

        - hits@k: "wilson", the score interval, with a design effect and a quantile of t where tasks
          are clustered or weigh differently; "clopper-pearson", exact, for fewer than 10 hits or
          misses of independent tasks.
        - means over tasks (mr, mrr, gmr, adjusted ones) and functions of them (std): "studentised",
          the bootstrap-t, whose resamples are measured in standard errors of their own.
        - the same, and hits@k of clusters, where there are fewer than 20 units, or fewer than 8
          carry the variance: "bounded", which allows for ranks that the sample lacks, anywhere
          between 1 and the last.
        - medians: "order", exact bounds from order statistics, for independent tasks that weigh
          alike; else "woodruff", or "bounded" for few or uneven units.
        - mad, and others that are no function of a mean: "bca".

        Each of these names can be asked for, and: "bca", bias-corrected and accelerated percentiles
        of the resamples (Efron 1987), or plain percentiles where these are undefined; "percentile";
        "normal", the delta method, without resampling: the value plus and minus the quantile times
        the standard error, with the factor u / (u - 1) for u units; for the median Woodruff's
        interval.
    by : str, labels or None
        The units, which are resampled as a whole. "auto": the label "unit" where it repeats
        (all sides of a task rank one triple or pair), else queries where they repeat, else single
        tasks: the ranks of one query are not independent, so that an interval over tasks is too
        narrow. "task" or None: single tasks. "query", "relation", "target", "side", any
        name that `ranks.labels` has, or labels of the tasks. A tuple of two names, ("query",
        "target"), takes units of two kinds at once, such as queries and the answers that many of
        them share, and the two-way cluster-robust error.
    seed : int
        The seed of the resampling. The resamples are the same on every machine with one version of
        NumPy; bounds may differ in the last digit, as sums do.
    resamples : int
    weights : array_like of float, shape (n,), or str, optional
        Used instead of the weights of the ranks; "query", "relation", ... as in a report.
    draw_seed : int
        The seed of the kind "random".
    strata : str or labels, optional
        The number of units of each stratum is fixed, such as that of each "relation", so that only
        the variance within strata counts. All tasks of a unit must lie in one stratum. With strata
        or units of two kinds, "auto" takes "t" (the value plus and minus the quantile of t times
        the standard error), "wilson" or "woodruff"; for metrics without a standard error, or where
        it is asked for, "percentile" resamples units within strata, or units of both kinds.
    progress : callable or bool, optional
        Called with a `Progress`, in resamples, as they are drawn. True: a bar of tqdm or rich.

    Returns
    -------
    Interval
        The bounds are nan where the metric is nan, for a single unit, and where more than 1 % of
        the resamples have no value (fewer are left out). They stay within the range of the metric.
        A value at an end of it (no hit, all ranks 1) has a bound on the other side only, which
        leaves out all of 1 - level. The notes say where the interval is conservative, approximate
        or may be too narrow.

    Raises
    ------
    KeyError
        For an unknown key, and `macro.X` without `by`.
    ValueError
        For an unknown method or label, an invalid level, and for a method that does not apply to
        the metric or the units; the message says to what it applies.
    TypeError
        For an argument of another type.

    Notes
    -----
    The tasks (or groups) are taken as drawn independently from a population; tasks of weight 0 are
    left out. The value of a resample is the metric of the resampled Ranks. For the adjusted mr, mrr
    and hits@k, which are means over tasks, the expectation, optimum and variance are those of the
    tasks in the resample, since their numbers of candidates are drawn with them. z grows with the
    root of the number of tasks: for a resample of groups that has m tasks instead of n, z is
    multiplied by sqrt(n / m), so that the interval is one of z for n tasks. For all other metrics
    (gmr, hmr, imr, igmr, medians, power means) the moments under chance are not sums over tasks:
    mean and variance stay those of all tasks, and the interval is that of the unadjusted metric,
    adjusted. For `macro.X` the value within each group is fixed, and groups without a value are
    left out.

    In simulations (log-uniform, Zipf, log-normal, two-point laws and real ones; 20 to 20,000 units,
    alone or in clusters) the default covers in 93 to 97 % of cases, or its intervals have a note in
    at least half of them. An interval without a note may still come from a sample that happens to
    lack the rare ranks that move the metric: no sample shows what it lacks.
    A sample shows how much a metric varies only if many units carry the variance: with influences
    d these are (sum d^2)^2 / sum d^4, the units divided by their kurtosis. Below about 8 all
    asymptotic intervals fail (16 to 90 %). There the bounds are conservative (97 to 100 %), but
    for clusters of very unlike sizes (81 to 92 %), where they are noted as too narrow. For the mean
    rank they are then wide, since one rank near the last would move it far; if no such rank can
    occur, method="studentised" leaves it out. For medians of whole ranks all intervals cover too
    often.

    B. Efron: Better Bootstrap Confidence Intervals. Journal of the American Statistical Association
    82 (1987). The other methods are cited in `truerank.inference.samples.resampling` and
    `truerank.inference.proportions`.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([0, 0, 1, 3, 7, 2, 0, 1], [1] * 8, 100)
    >>> print(interval(ranks, "hits@1"))
    hits@1 0.375 [0.0852334, 0.755137] (95 %, clopper-pearson, 8 tasks)
    few units: 8 tasks; the interval is conservative
    few hits: 3 of 8 tasks; the bounds are exact, and conservative
    """
    ranks = weighted_ranks("ranks", ranks)
    level, resamples = confidence(level), resample_count(resamples)
    seed, draw_seed = integer_at_least("seed", seed), integer_at_least("draw_seed", draw_seed)
    method = choice("method", method, METHODS)
    unit = by if crossed_names(by, ranks) is None else TASK
    chosen = units_of(ranks, metric, by=unit, weights=weights, draw_seed=draw_seed)
    design = design_of(ranks, chosen, by, strata)
    value = chosen.value()
    moving = chosen.functional() if chosen.number else None
    units = 0 if moving is None else moving.units
    found = MethodBounds(method, math.nan, math.nan)
    notes: tuple[str, ...] = ()
    if moving is not None and units > 1 and not math.isnan(value):
        case = IntervalCase(chosen, moving, level, resamples, seed)
        with watched_resamples(progress):
            if design is None:
                found = case.bounds(case.best_method() if method == AUTO else method)
            else:
                found, units = case.designed(design, method), design.units
        if math.isnan(found.low) or math.isnan(found.high):
            found = found._replace(low=math.nan, high=math.nan)
            notes = cautions.no_bounds(found.method, units, chosen.by)
        else:
            notes = case.notes(found) if design is None else notes_on(design, moving)
    low, high = (value if abs(x - value) <= rounding_slack(value) else x for x in found[1:3])
    return Interval(
        low,
        value,
        high,
        level,
        found.method,
        found.resamples,
        units,
        seed,
        str(chosen.key),
        chosen.by if design is None else design.by,
        chosen.largest if design is None else design.largest,
        notes,
    )
