"""Show that two models are as good, or that one is not worse, within a margin named beforehand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inputs.checks import integer_at_least, resample_count
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import printable, public
from ..metrics.keys import Key, increasing, parse
from ..tables.table_writer import format_count, format_p
from .paired import COUNT, COUNT_MESSAGE, Model, bounds_of, gather_models, notes_on_units
from .samples import cautions
from .samples.resampling import watched_resamples
from .samples.units import AUTO, describe_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..inputs.progress_listeners import Progress
    from ..ranks.labels import LabelsLike
    from .paired_models.paired_tests import DifferenceTest
    from .paired_models.paired_units import PairedUnits
    from .repeated_runs import PairedFolds, PairedRuns, TwoLevelTest

    Pair = PairedUnits | PairedRuns | PairedFolds

EQUIVALENCE, NON_INFERIORITY = "equivalence", "non-inferiority"


@public("truerank.inference")
class MarginTest(NamedTuple):
    """Whether the difference of a metric between two models, a minus b, lies within a margin.

    Attributes
    ----------
    question : str
        "equivalence" or "non-inferiority".
    metric : str
        The key.
    value_a, value_b, difference : float
    margin : float
        Above 0.
    low, high : float
        The interval of the difference at the level 1 - 2 alpha.
    alpha, level : float
        The error rate, and 1 - 2 alpha.
    p_value : float
        The one-sided p-value; for equivalence the larger of the two.
    p_floor : float
        The smallest p-value that so many resamples can give; 0 where p is exact.
    worse_below : bool or None
        For non-inferiority: whether a is worse where the difference is below 0.
    basis : str
        How p-value and interval were computed: "swaps", "studentised bootstrap", "percentile
        bootstrap" or "two-level t".
    units : int
    by : str
        The name of a unit.
    largest : int
        The number of tasks in the largest unit.
    resamples, seed : int
    pairing : str
        How the tasks were matched.
    notes : tuple of str
        What limits the answer.
    name_a, name_b : str
    runs_a, runs_b : int
        The number of runs of each model.
    """

    question: str
    metric: str
    value_a: float
    value_b: float
    difference: float
    margin: float
    low: float
    high: float
    alpha: float
    level: float
    p_value: float
    p_floor: float
    worse_below: bool | None
    basis: str
    units: int
    by: str
    largest: int
    resamples: int
    seed: int
    pairing: str
    notes: tuple[str, ...] = ()
    name_a: str = "a"
    name_b: str = "b"
    runs_a: int = 1
    runs_b: int = 1

    @property
    def equivalent(self) -> bool:
        """Whether equivalence is shown: the interval lies within the margin on both sides.

        False if the question was non-inferiority.
        """
        return self.question == EQUIVALENCE and self.p_value <= self.alpha

    @property
    def noninferior(self) -> bool:
        """Whether it is shown that a is not worse than b by the margin; so also for equivalence."""
        return self.p_value <= self.alpha

    def sentence(self) -> str:
        """Return the answer in words that a paper can use.

        Examples
        --------
        >>> from truerank import Ranks
        >>> a, b = Ranks([0, 1] * 40, [1] * 80, 10), Ranks([1, 0] * 39 + [0, 0], [1] * 80, 10)
        >>> print(equivalence(a, b, metric="mrr", margin=0.2).sentence().partition(" (90 ")[0])
        The difference of mrr (a - b: -0.00625) lies within -0.2 to 0.2
        """
        bounds = f"{self.low:.3g} to {self.high:.3g}"
        p = format_p(self.p_value, self.p_floor)
        p = f"p {p}" if p.startswith("<") else f"p = {p}"
        values = f"{self.name_a} - {self.name_b}: {self.difference:.3g}"
        if self.question == EQUIVALENCE:
            claim = f"The difference of {self.metric} ({values}) lies within "
            claim += f"{-self.margin:g} to {self.margin:g}"
            doubt = f"It is not shown that the difference of {self.metric} ({values}) lies within "
            doubt += f"{-self.margin:g} to {self.margin:g}"
            how = f"{100 * self.level:g} % interval {bounds}"
        else:
            claim = f"{self.name_a} is not worse than {self.name_b} by {self.margin:g} or more in "
            claim += f"{self.metric} ({values})"
            doubt = f"It is not shown that {claim}"
            side = f"at least {self.low:.3g}" if self.worse_below else f"at most {self.high:.3g}"
            how = f"{100 * (1 - self.alpha):g} % confidence that the difference is {side}"
        return printable(f"{claim if self.noninferior else doubt} ({how}, {p}).")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, and the answers."""
        answers = {"equivalent": self.equivalent, "noninferior": self.noninferior}
        return {**self._asdict(), "notes": list(self.notes), **answers}

    def __str__(self) -> str:
        units = describe_units(self.units, self.by, self.largest)
        values = f"{self.name_a} {self.value_a:.6g}, {self.name_b} {self.value_b:.6g}"
        how = f"{self.question}, {self.basis or 'no test'}, {units}; {values}"
        return "\n".join([self.sentence(), *map(printable, (how, *self.notes))])


@public("truerank.inference")
def equivalence(
    a: Model,
    b: Model,
    *,
    metric: str | Key = "mrr",
    margin: float,
    alpha: float = 0.05,
    by: LabelsLike | None = AUTO,
    resamples: int = 10_000,
    seed: int = 0,
    draw_seed: int = 0,
    allow_unlike: bool = False,
    names: tuple[str, str] = ("a", "b"),
    progress: bool | Callable[[Progress], object] | None = None,
) -> MarginTest:
    """Test whether two models are as good: whether their difference lies within a margin.

    A large p-value of `compare` does not show that two models are equal: the test set may be small.
    Equivalence is shown where both one-sided tests, of a difference of -margin or less and of
    margin or more, reject (TOST).

    Parameters
    ----------
    a, b : Ranks, Report, a list of those, or Repeats
        As in `compare`.
    metric : str or Key
        Any key of a report.
    margin : float
        The largest difference that does not matter, above 0, in the units of the metric. Choose it
        before you look at the difference.
    alpha : float
        The error rate, between 0 and 0.5.
    by : str, labels or None
        The units, as in `compare`.
    resamples, seed, draw_seed, allow_unlike
        As in `compare`.
    names : (str, str)
        What the words of the result call the models.
    progress : callable or bool, optional
        As in `compare`.

    Returns
    -------
    MarginTest
        Its p-value is the larger one of the two tests, and its interval has the level 1 - 2 alpha:
        it lies within the margin if and only if the p-value is at most alpha.

    Raises
    ------
    ValueError
        For a margin that is not above 0, an alpha outside of 0 to 0.5, the metric "count", and
        where `compare` raises it.

    Notes
    -----
    The tests are those of `compare` for other shifts than 0: swaps for metrics whose difference is
    a sum over units, else the studentised bootstrap; for several runs the two-level t test. Where
    all units have the same difference, the p-value is that of a share of 0 of other units.

    D. J. Schuirmann: A Comparison of the Two One-Sided Tests Procedure and the Power Approach for
    Assessing the Equivalence of Average Bioavailability. Journal of Pharmacokinetics and
    Biopharmaceutics 15 (1987).

    Examples
    --------
    >>> from truerank import Ranks
    >>> a, b = Ranks([0, 1] * 40, [1] * 80, 10), Ranks([1, 0] * 39 + [0, 0], [1] * 80, 10)
    >>> found = equivalence(a, b, metric="mrr", margin=0.2)
    >>> found.equivalent, equivalence(a, b, metric="mrr", margin=0.05).equivalent
    (True, False)
    """
    options = _options(EQUIVALENCE, metric, margin, alpha, by, resamples, seed, draw_seed)
    with watched_resamples(progress):
        return _test(a, b, options._replace(allow_unlike=allow_unlike), names)


@public("truerank.inference")
def noninferiority(
    a: Model,
    b: Model,
    *,
    metric: str | Key = "mrr",
    margin: float,
    alpha: float = 0.05,
    by: LabelsLike | None = AUTO,
    resamples: int = 10_000,
    seed: int = 0,
    draw_seed: int = 0,
    allow_unlike: bool = False,
    names: tuple[str, str] = ("a", "b"),
    progress: bool | Callable[[Progress], object] | None = None,
) -> MarginTest:
    """Test whether a model is not worse than another by a margin or more.

    This is the question for a model that is smaller or faster. Which side is worse follows from the
    metric: a smaller mrr, a larger mean rank.

    Parameters
    ----------
    a, b : Ranks, Report, a list of those, or Repeats
        The model in question, and the one that it is held against.
    metric, margin, alpha, by, resamples, seed, draw_seed, allow_unlike, names
        As in `equivalence`.

    Returns
    -------
    MarginTest
        Its p-value is that of the one-sided test of a difference as bad as the margin, or worse.

    Raises
    ------
    ValueError
        As for `equivalence`, and for a metric of which neither more nor less is better.

    Examples
    --------
    >>> from truerank import Ranks
    >>> a, b = Ranks([0, 1] * 40, [1] * 80, 10), Ranks([1, 0] * 39 + [0, 0], [1] * 80, 10)
    >>> noninferiority(a, b, metric="mr", margin=0.3).noninferior
    True
    """
    options = _options(NON_INFERIORITY, metric, margin, alpha, by, resamples, seed, draw_seed)
    with watched_resamples(progress):
        return _test(a, b, options._replace(allow_unlike=allow_unlike), names)


class _Options(NamedTuple):
    question: str
    key: Key
    margin: float
    alpha: float
    by: LabelsLike | None
    resamples: int
    seed: int
    draw_seed: int
    worse_below: bool | None
    allow_unlike: bool = False


def _options(
    question: str,
    metric: str | Key,
    margin: Any,
    alpha: Any,
    by: LabelsLike | None,
    resamples: Any,
    seed: Any,
    draw_seed: Any,
) -> _Options:
    key = metric if isinstance(metric, Key) else parse(metric)
    if key.metric == COUNT:
        raise InputValueError("metric", COUNT_MESSAGE)
    for name, value, most in (("margin", margin, math.inf), ("alpha", alpha, 0.5)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputTypeError(name, expected="a number", got=type(value).__name__)
        if not 0 < value < most:
            expected = "a number above 0" if most == math.inf else f"a number between 0 and {most}"
            raise InputValueError(name, expected=expected, got=value)
    better = increasing(key)
    if question == NON_INFERIORITY and better is None:
        problem = f"neither more nor less of {key!s} is better; ask for equivalence"
        raise InputValueError("metric", problem)
    return _Options(
        question,
        key,
        float(margin),
        float(alpha),
        by,
        resample_count(resamples),
        integer_at_least("seed", seed),
        integer_at_least("draw_seed", draw_seed),
        better if question == NON_INFERIORITY else None,
    )


def _test(a: Any, b: Any, options: _Options, names: tuple[str, str]) -> MarginTest:
    pair, pairing, notes = gather_models(a, b, options, names)
    level = round(1 - 2 * options.alpha, 12)
    low, high, p, floor, basis = (math.nan,) * 4 + ("",)
    if pair.units and not math.isnan(pair.difference):
        test = pair.test(options.resamples, options.seed)
        basis, floor = test.basis, test.floor / 2
        low, high, avoided = bounds_of(pair, test, level, same_is_zero=False)
        p = _one_sided(pair, test, options, widened=bool(avoided))
        notes += avoided + notes_on_units(pair, test, 2 * options.alpha, sides=1)
        ways = format_count(options.resamples, "resample")
        notes += cautions.floor_reached(p, floor, ways)
    return MarginTest(
        question=options.question,
        metric=str(options.key),
        value_a=pair.value_a,
        value_b=pair.value_b,
        difference=pair.difference,
        margin=options.margin,
        low=low,
        high=high,
        alpha=options.alpha,
        level=level,
        p_value=p,
        p_floor=floor,
        worse_below=options.worse_below,
        basis=basis,
        units=pair.units,
        by=pair.by,
        largest=pair.largest,
        resamples=options.resamples,
        seed=options.seed,
        pairing=pairing,
        notes=notes,
        name_a=names[0],
        name_b=names[1],
        runs_a=pair.runs[0],
        runs_b=pair.runs[1],
    )


def _one_sided(
    pair: Pair, test: DifferenceTest | TwoLevelTest, options: _Options, *, widened: bool
) -> float:
    """The p-value of the question: of the worst shift, or the larger one of both."""
    sides = {None: (True, False), True: (True,), False: (False,)}[options.worse_below]
    found = []
    for above in sides:  # above the lower margin, below the upper one
        shift = -options.margin if above else options.margin
        if pair.units < 2:
            found.append(math.nan)
        elif widened:
            found.append(_of_no_other_units(pair, shift))
        else:
            found.append(test.one_sided(shift, above=above))
    return max(found)


def _of_no_other_units(pair: Pair, shift: float) -> float:
    """The p-value where all units have one difference: the chance to draw none of the others.

    If the difference were `shift`, at least the share (shift - difference) / (reach - difference)
    of the units would be others, which differ by no more than the metric can reach.
    """
    reach = math.copysign(max(pair.reach(), abs(pair.difference)), shift)
    away, most = shift - pair.difference, reach - pair.difference
    if away == 0 or away * most <= 0:
        return 1.0
    return float((1 - min(1.0, away / most)) ** pair.units)
