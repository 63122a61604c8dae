"""The smallest difference of a metric that a test set can show, and how many tasks one needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...inputs.checks import integer_at_least, number
from ...inputs.errors import InputValueError
from ...inputs.naming import printable, public
from ...metrics.keys import Key, parse
from ...tables.table_writer import format_count, percent
from ..paired import COUNT, COUNT_MESSAGE
from ..samples.cautions import clusters, few_units, floor_reached, heavy_tail
from ..samples.units import AUTO, describe_units, plural
from .t_test_power import power_at, shift_for, units_for
from .unit_pairs import RESAMPLES, errors_of, gather_pair

if TYPE_CHECKING:
    from ...ranks.container import Ranks
    from ...ranks.labels import LabelsLike
    from ..paired_models.pairing import HasRanks

CORRELATION = 0.5
FEW_CARRIERS = 10  # units that carry the variance
MOST_UNITS = 2**62
UNCERTAIN = "the power is uncertain"


@public("truerank.inference")
class Detectable(NamedTuple):
    """The smallest difference of a metric that a paired test finds with a given power.

    Attributes
    ----------
    metric : str
        The key.
    value : float
        The metric of the first model.
    difference : float
        The smallest difference, above 0, that the two-sided test finds with this power; nan for
        fewer than 2 units and for models without any difference.
    alpha, power : float
    standard_error : float
        That of the difference between two models.
    correlation : float
        The correlation of the two models' errors over units: measured, or assumed.
    assumed : bool
        Whether the correlation was assumed, as for one model alone.
    units : int
    by : str
        The name of a unit: "task", "query", "unit", ...
    largest : int
        The number of tasks in the largest unit.
    tasks : int
    asked : float or None
        The difference that was asked for.
    asked_power : float or None
        The power with which it is found with these units.
    required_units, required_tasks : int or None
        The numbers of units, and of tasks at the present number of tasks per unit, with which it is
        found with the power that is wanted.
    notes : tuple of str
        What limits the trust in these numbers.
    """

    metric: str
    value: float
    difference: float
    alpha: float
    power: float
    standard_error: float
    correlation: float
    assumed: bool
    units: int
    by: str
    largest: int
    tasks: int
    asked: float | None = None
    asked_power: float | None = None
    required_units: int | None = None
    required_tasks: int | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> from truerank import Ranks, detectable
        >>> detectable(Ranks([0, 3, 1], [1, 1, 1], 10)).to_dict()["units"]
        3
        """
        return {**self._asdict(), "notes": list(self.notes)}

    def __str__(self) -> str:
        how = "assumed" if self.assumed else "measured"
        lines = [
            f"{self.metric}: a difference of {self.difference:.4g} is found with a power of "
            f"{percent(self.power)} (two-sided test at {percent(self.alpha)}, "
            f"{describe_units(self.units, self.by, self.largest)}; standard error "
            f"{self.standard_error:.4g}, correlation {self.correlation:.2f} {how})"
        ]
        if self.asked is not None:
            text = f"a difference of {self.asked:.4g}"
            if self.asked_power is not None:
                text += f" is found with a power of {percent(self.asked_power)}"
            if self.required_units is not None:
                text += f"; {percent(self.power)} needs "
                text += format_count(self.required_units, self.by, plural(self.by))
                if self.largest > 1:
                    text += f", about {self.required_tasks:,} tasks"
            lines.append(text)
        return "\n".join(map(printable, (*lines, *self.notes)))


@public("truerank")
def detectable(
    a: Ranks | HasRanks,
    b: Ranks | HasRanks | None = None,
    *,
    metric: str | Key = "mrr",
    difference: float | None = None,
    by: LabelsLike | None = AUTO,
    alpha: float = 0.05,
    power: float = 0.8,
    correlation: float | None = None,
    draw_seed: int = 0,
    allow_unlike: bool = False,
) -> Detectable:
    """Compute the smallest difference of a metric that a test set can show.

    Parameters
    ----------
    a : Ranks or Report
        A model over the test set. A Report stands for its ranks and the weights in force in it.
    b : Ranks or Report, optional
        Another model over the same tasks. With it, the standard error of the difference is
        measured; without it, it follows from that of a and from `correlation`.
    metric : str or Key
        Any key of a report; `macro.X` needs `by`.
    difference : float, optional
        A difference for which to compute the power, and the number of tasks that it needs.
    by : str, labels or None
        The units, as in `compare`: "auto" takes pairs or queries where they repeat.
    alpha : float
        The level of the two-sided test.
    power : float
        The probability with which the test is to find the difference; above `alpha`.
    correlation : float, optional
        For one model: the correlation between the errors of the two models that will be compared,
        from -1 to below 1. If not given, 0.5, with which the standard error of the difference is
        that of one model.
    draw_seed : int
        The seed of the kind "random".
    allow_unlike : bool
        As in `compare`.

    Returns
    -------
    Detectable

    Raises
    ------
    ValueError
        For numbers out of range, a correlation beside two models, and models with other tasks.
    KeyError
        For an unknown key, and `macro.X` without `by`.
    TypeError
        For anything but Ranks and Reports.

    Notes
    -----
    The smallest difference is s times the standard error of the difference, where s is the shift of
    the noncentral t distribution with units - 1 degrees of freedom that is outside of the critical
    values of the t test with this power: 2.80 for 80 % at 5 % and many units. The standard error is
    root(u / (u - 1) times the sum over the u units of (d - mean of d)^2), where d is how much the
    unit moves the difference (its influence), so that the tasks of a unit may depend on each
    other. For one model with the standard error e, it is e root(2 (1 - correlation)). For metrics
    that are no function of sums (medians) it comes from 2,000 resamples. More units are taken to
    have as many tasks each, and to vary as these do. A difference of z is one of z at the present
    number of tasks, which grows with the root of it. At least as many units are asked for as a
    permutation test needs to reject at all: 6 at 5 %.

    In simulations `compare` rejected in 74 to 89 % of the samples where 80 % were computed, for
    differences of mrr and hits@10 over single tasks and over queries of like sizes, and in 80 to
    99 % for mr and gmr. Where few units carry the variance (sizes like Pareto's, heavy tails of the
    mean rank) the number of units was right only to a factor of two or three, which a note says.

    Between four models of Kinships the correlation is 0.3 to 0.5 for mrr, 0.3 to 0.7 for hits@10
    and 0.5 to 0.9 for mr; between two training runs of one model on WN18RR it is 0.95 for mrr. A
    higher one makes smaller differences detectable, so that 0.5 is careful for models of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank import Ranks
    >>> above = np.random.default_rng(0).geometric(0.1, (2, 400)) - 1
    >>> a, b = (Ranks(x, np.ones(400, int), 1000) for x in above)
    >>> found = detectable(a, metric="mrr", difference=0.02)
    >>> round(found.difference, 4), found.required_tasks
    (0.0391, 1527)
    >>> round(detectable(a, b).difference, 4)
    0.0514
    """
    alpha = _share("alpha", alpha, 0.0)
    power = _share("power", power, alpha, " (alpha)")
    if b is not None and correlation is not None:
        problem = "it is measured from a and b; give it for one model alone"
        raise InputValueError("correlation", problem)
    assumed = CORRELATION if correlation is None else number("correlation", correlation)
    if not -1 <= assumed < 1:
        expected = "a number from -1 to below 1"
        raise InputValueError("correlation", expected=expected, got=correlation)
    asked = None if difference is None else abs(number("difference", difference))
    if asked is not None and not 0 < asked < math.inf:
        raise InputValueError("difference", expected="a finite number other than 0", got=difference)
    key = metric if isinstance(metric, Key) else parse(metric)
    if key.metric == COUNT:
        raise InputValueError("metric", COUNT_MESSAGE)
    draw_seed = integer_at_least("draw_seed", draw_seed)
    one, two, notes = gather_pair(a, b, key, by=by, draw_seed=draw_seed, allow_unlike=allow_unlike)
    errors = errors_of(one, two)
    units, tasks = errors.units, len(one.tasks)
    error = errors.difference
    if two is None:
        error = errors.one * math.sqrt(2 * (1 - assumed))
    found = Detectable(
        metric=str(key),
        value=one.value(),
        difference=math.nan,
        alpha=alpha,
        power=power,
        standard_error=error,
        correlation=assumed if two is None else errors.correlation,
        assumed=two is None,
        units=units,
        by=one.by,
        largest=one.largest,
        tasks=tasks,
        asked=asked,
        notes=notes,
    )
    if not error > 0:  # nan, too
        return found
    needed = None
    if asked is not None:
        standardised = asked / error / math.sqrt(units)
        needed = _required_units(standardised, power, alpha)
        found = found._replace(
            asked_power=power_at(asked / error, units, alpha),
            required_units=needed,
            required_tasks=math.ceil(needed * tasks / units),
        )
    notes += few_units(units, one.by, "the power of a t test is that of nearly normal differences")
    if units < _fewest_units(alpha):
        notes += floor_reached(0.0, 2.0 ** (1 - units), f"{2**units} ways to swap {units} units")
    notes += clusters(units, one.by, one.largest, tasks)
    if errors.carriers < FEW_CARRIERS:
        notes += heavy_tail(errors.carriers, units, one.by, UNCERTAIN)
    elif needed is not None and errors.carriers * needed / units < FEW_CARRIERS:
        notes += heavy_tail(errors.carriers * needed / units, needed, one.by, UNCERTAIN)
    if math.isnan(errors.carriers):
        notes += (f"the standard error is that of {RESAMPLES:,} resamples",)
    return found._replace(difference=shift_for(power, units, alpha) * error, notes=notes)


def _required_units(standardised: float, power: float, alpha: float) -> int:
    """The units that a t test needs, and at least as many as a permutation test does."""
    if not standardised > shift_for(power, MOST_UNITS, alpha) / math.sqrt(MOST_UNITS):
        raise InputValueError(
            "difference", "it is so small that no test set of fewer than 2**62 units can show it"
        )
    return max(units_for(standardised, power, alpha), _fewest_units(alpha))


def _fewest_units(alpha: float) -> int:
    """How many units have so many ways to be swapped that the smallest p-value is at most alpha."""
    return math.ceil(1 - math.log2(alpha))


def _share(name: str, value: object, least: float, of: str = "") -> float:
    """Check a number between `least` and 1."""
    expected = f"a number between {least:g}{of} and 1"
    found = number(name, value, expected=expected)
    if not least < found < 1 or found == least or 1 - found / 2 == 1:
        raise InputValueError(name, expected=expected, got=value)
    return found
