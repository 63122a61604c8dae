"""The smallest difference of a metric that a test set can show, and how many tasks one needs."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import flag, integer, number
from ..inputs.errors import InputValueError
from ..inputs.naming import printable, public
from ..metrics import Key
from ..tables.cells import format_count, percent
from .comparing import Options, check_comparable, gather_pair
from .influences import degrees_of_freedom, standard_error
from .pairing import reader_of
from .runs import influences_of_run
from .units import UNIT, Units, describe_units, notes_on_units, units_of

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .influences import Influences
    from .units import HasRanks

CORRELATION = 0.5
MOST_UNITS = 2**62


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
        The correlation of the two models' errors over units: measured, or assumed for one model.
    assumed : bool
    units : int
    by : str
        The name of a unit.
    tasks : int
    asked, asked_power : float or None
        The difference that was asked for, and the power with which these units find it.
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
        return self._asdict() | {"notes": list(self.notes)}

    def __str__(self) -> str:
        origin = "assumed" if self.assumed else "measured"
        lines = [
            f"{self.metric}: a difference of {self.difference:.4g} is found with a power of "
            f"{percent(self.power)} (two-sided test at {percent(self.alpha)}, "
            f"{describe_units(self.units, self.by)}; standard error "
            f"{self.standard_error:.4g}, correlation {self.correlation:.2f} {origin})"
        ]
        if self.asked is not None:
            text = f"a difference of {self.asked:.4g}"
            if self.asked_power is not None:
                text += f" is found with a power of {percent(self.asked_power)}"
            if self.required_units is not None and self.required_tasks is not None:
                text += f"; {percent(self.power)} needs "
                text += describe_units(self.required_units, self.by)
                if self.required_tasks > self.required_units:
                    text += f", about {format_count(self.required_tasks, 'task')}"
            lines.append(text)
        lines += self.notes
        return "\n".join(map(printable, lines))


@public("truerank")
def detectable(
    a: Ranks | HasRanks,
    b: Ranks | HasRanks | None = None,
    *,
    metric: str | Key = "mrr",
    difference: float | None = None,
    by: LabelsLike | None = UNIT,
    alpha: float = 0.05,
    power: float = 0.8,
    correlation: float | None = None,
    groups: LabelsLike | None = None,
    draw_seed: int = 0,
    allow_unlike: bool = False,
) -> Detectable:
    """Compute the smallest difference of a metric that a test set can show.

    It is the shift of the noncentral t distribution that leaves the critical values of the t test
    with this power, times the standard error of the difference over units.

    Parameters
    ----------
    a : Ranks or Report
        A model over the test set. A Report stands for its ranks and the weights in force in it.
    b : Ranks or Report, optional
        Another model over the same tasks. With it, the standard error of the difference is
        measured; without it, it follows from that of a and from `correlation`.
    metric : str or Key
        Any key that `compare` takes.
    difference : float, optional
        A difference for which to compute the power, and the number of tasks that it needs.
    by, groups, draw_seed, allow_unlike
        As in `compare`.
    alpha : float
        The level of the two-sided test.
    power : float
        The probability with which the test is to find the difference; above `alpha`.
    correlation : float, optional
        For one model: the correlation between the errors of the two models that will be compared,
        from -1 to below 1. If not given, 0.5, with which the standard error of the difference is
        that of one model.

    Returns
    -------
    Detectable

    Raises
    ------
    ValueError
        For numbers out of range, a correlation beside two models, and what `compare` refuses.
    KeyError
        For an unknown key, and `macro.X` without groups.
    TypeError
        For anything but Ranks and Reports.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank import Ranks
    >>> above = np.random.default_rng(0).geometric(0.1, (2, 400)) - 1
    >>> a, b = (Ranks(x, np.ones(400, int), 1000) for x in above)
    >>> found = detectable(a, metric="mrr", difference=0.02)
    >>> round(found.difference, 4), found.required_tasks
    (0.0396, 1536)
    >>> round(detectable(a, b).difference, 4)
    0.0518
    """
    alpha = _share("alpha", alpha, 0.0)
    power = _share("power", power, alpha, " (alpha)")
    if b is not None and correlation is not None:
        problem = "it is measured from a and b; give it for one model alone"
        raise InputValueError("correlation", problem)
    assumed = _checked_correlation(correlation)
    asked = _checked_difference(difference)
    key = metric if isinstance(metric, Key) else reader_of(a)(metric)
    check_comparable(key)
    draw_seed = integer("draw_seed", draw_seed, least=0)
    options = Options(by, 0.95, groups, draw_seed, flag("allow_unlike", allow_unlike))
    if b is None:
        errors = _assume_errors(a, key, options, assumed)
    else:
        errors = _measure_errors(a, b, key, options)
    units = errors.units
    found = Detectable(
        metric=str(key),
        value=errors.value,
        difference=math.nan,
        alpha=alpha,
        power=power,
        standard_error=errors.error,
        correlation=errors.correlation,
        assumed=b is None,
        units=units.number,
        by=units.by,
        tasks=len(units.unit),
        asked=asked,
        notes=errors.notes,
    )
    if not errors.error > 0:  # nan, too
        return found
    degrees = degrees_of_freedom(errors.moved)
    if asked is not None:
        shift = asked / errors.error
        required = _required_units(shift, units.number, degrees, power, alpha)
        found = found._replace(
            asked_power=power_at(shift, degrees, alpha),
            required_units=required,
            required_tasks=math.ceil(required * found.tasks / units.number),
        )
    return found._replace(difference=shift_for(power, degrees, alpha) * errors.error)


class _Errors(NamedTuple):
    """How uncertain the difference between two models is.

    Attributes
    ----------
    units : Units
        Those of the first model.
    notes : tuple of str
    value : float
        The metric of the first model.
    moved : ndarray of float64, shape (units,)
        The influences that the degrees of freedom follow from.
    error : float
        The standard error of the difference.
    correlation : float
        That of the models' errors.
    """

    units: Units
    notes: tuple[str, ...]
    value: float
    moved: FloatArray
    error: float
    correlation: float


def _assume_errors(a: Any, key: Key, options: Options, correlation: float) -> _Errors:
    """The errors of a model and of one like it, which are correlated so much."""
    units = units_of(
        a,
        key,
        by=options.by,
        groups=options.groups,
        draw_seed=options.draw_seed,
        name="a",
    )
    found = influences_of_run(units, options.level)
    moved = found.on_value_scale()
    error = _error_of(moved, found) * math.sqrt(2 * (1 - correlation))
    return _Errors(units, notes_on_units(units), found.value, moved, error, correlation)


def _measure_errors(a: Any, b: Any, key: Key, options: Options) -> _Errors:
    """The errors of two models over the same tasks."""
    pair = gather_pair(a, b, key, options, ("a", "b"))
    one, two = pair.influences(options.level)
    moved_one = one.on_value_scale()
    moved_two = two.on_value_scale()
    moved = moved_one - moved_two
    error = _error_of(moved, one)
    error_one = _error_of(moved_one, one)
    error_two = _error_of(moved_two, two)
    correlation = math.nan
    if error_one * error_two:
        shared = error_one**2 + error_two**2 - error**2
        correlation = min(1.0, max(-1.0, shared / (2 * error_one * error_two)))
    notes = pair.notes + notes_on_units(pair.one)
    return _Errors(pair.one, notes, one.value, moved, error, correlation)


def _error_of(moved: FloatArray, model: Influences) -> float:
    """The standard error that influences make, on units with the shares that a model has."""
    if model.is_macro:
        return standard_error(moved)
    return standard_error(moved, model.shares)


def power_at(shift: float, degrees: float, alpha: float) -> float:
    """Return the probability that a two-sided t test rejects at level alpha.

    Parameters
    ----------
    shift : float
        The true difference in standard errors of its estimate.
    degrees, alpha : float

    Examples
    --------
    >>> round(power_at(3.0, 9, 0.05), 3)
    0.761
    """
    from scipy.special import chdtri, ndtr, stdtrit

    # the noncentral t law, as a mean over chi-squared: scipy's nct is nan or rough for large shifts
    nodes, weights = gauss_rule()
    squares = chdtri(degrees, (1 - nodes) / 2) / degrees
    reach = float(stdtrit(degrees, 1 - alpha / 2)) * np.sqrt(squares)
    return min(float(weights @ (ndtr(shift - reach) + ndtr(-shift - reach))) / 2, 1.0)


@cache
def gauss_rule() -> tuple[FloatArray, FloatArray]:
    """Return the nodes and weights of a rule of 400 nodes, which takes a moment to make."""
    return np.polynomial.legendre.leggauss(400)


def shift_for(power: float, degrees: float, alpha: float) -> float:
    """Return the shift at which the test rejects with the given probability, above alpha.

    Examples
    --------
    >>> round(shift_for(0.8, 9, 0.05), 4), round(shift_for(0.8, 1e7, 0.05), 4)
    (3.1496, 2.8016)
    """
    from scipy.optimize import brentq

    high = 1.0
    while power_at(high, degrees, alpha) < power:
        high *= 2
    found = brentq(lambda shift: power_at(shift, degrees, alpha) - power, 0.0, high, rtol=1e-12)
    return float(found)


def _required_units(shift: float, units: int, degrees: float, power: float, alpha: float) -> int:
    """The smallest number of units that find a difference, at least as many as sign flips need."""

    def finds(number: int) -> bool:
        growth = number / units
        return power_at(shift * math.sqrt(growth), max(degrees * growth, 1.0), alpha) >= power

    low = math.ceil(1 - math.log2(alpha))
    high = low
    while not finds(high):
        low = high
        high *= 2
        if high > MOST_UNITS:
            problem = "it is so small that no test set of fewer than 2**62 units can show it"
            raise InputValueError("difference", problem)
    while high - low > 1:
        middle = (low + high) // 2
        if finds(middle):
            high = middle
        else:
            low = middle
    return high


def _checked_correlation(correlation: float | None) -> float:
    if correlation is None:
        return CORRELATION
    found = number("correlation", correlation)
    if not -1 <= found < 1:
        expected = "a number from -1 to below 1"
        raise InputValueError("correlation", expected=expected, got=correlation)
    return found


def _checked_difference(difference: float | None) -> float | None:
    if difference is None:
        return None
    found = abs(number("difference", difference))
    if not 0 < found < math.inf:
        expected = "a finite number other than 0"
        raise InputValueError("difference", expected=expected, got=difference)
    return found


def _share(name: str, value: object, least: float, of: str = "") -> float:
    """Check a number between `least` and 1."""
    expected = f"a number between {least:g}{of} and 1"
    found = number(name, value, expected=expected)
    if not least < found < 1 or found == least or 1 - found / 2 == 1:
        raise InputValueError(name, expected=expected, got=value)
    return found
