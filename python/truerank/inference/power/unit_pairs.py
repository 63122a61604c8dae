"""The tasks of two models in the same units, and how much each unit moves the metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..paired_models.paired_units import units_of_pair
from ..paired_models.pairing import pair_ranks, weighted_ranks
from ..samples.functionals import SumFunctional, carriers, standard_error
from ..samples.resampling import draw_resamples
from ..samples.units import Units, mean_functional, units_of

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from ...metrics.keys import Key
    from ...ranks.labels import LabelsLike

RESAMPLES = 2_000  # for the standard error of a metric that has no influence function


class Errors(NamedTuple):
    """Standard errors of one or two models' metric over the same units.

    Attributes
    ----------
    units : int
        The number of units with a value.
    one : float
        The standard error of the first model's metric.
    difference, correlation : float
        That of the difference of two models, and the correlation of their errors; nan for one.
    carriers : float
        (sum d^2)^2 / sum d^4 of the influences d of the units (of the difference, if there are two
        models): how many units carry the variance. nan if there are no influences.
    """

    units: int
    one: float
    difference: float
    correlation: float
    carriers: float


def gather_pair(
    a: Any,
    b: Any,
    key: Key,
    *,
    by: LabelsLike | None,
    draw_seed: int,
    allow_unlike: bool = False,
) -> tuple[Units, Units | None, tuple[str, ...]]:
    """Gather the tasks of one or two models in the same units, and say what differs.

    Raises
    ------
    ValueError
        As `compare` does, for models with other tasks.
    """
    if b is None:
        return units_of(weighted_ranks("a", a), key, by=by, draw_seed=draw_seed), None, ()
    a, b, _, notes = pair_ranks(a, b, allow_unlike=allow_unlike)
    return *units_of_pair(a, b, key, by=by, draw_seed=draw_seed), notes


def errors_of(one: Units, two: Units | None) -> Errors:
    """Compute the standard errors: cluster-robust ones by influence, or else from resamples."""
    models = [one] if two is None else [one, two]
    if one.key.macro:
        within = np.stack([units.values_within() for units in models])
        within = within[:, ~np.isnan(within).any(axis=0)]
        functionals: list[Any] = [mean_functional(values) for values in within]
    else:
        functionals = [units.functional() for units in models]
    units = functionals[0].units
    if units < 2:
        return Errors(units, math.nan, math.nan, math.nan, math.nan)
    if all(isinstance(functional, SumFunctional) for functional in functionals):
        moved = [functional.influence() for functional in functionals]
        errors = [standard_error(each) for each in moved]
        apart: FloatArray = moved[0] if two is None else moved[0] - moved[1]
        difference, carried = standard_error(apart), carriers(apart - apart.mean()) or math.nan
    else:
        chunks = [
            np.stack([functional.of_counts(counts) for functional in functionals])
            for counts in draw_resamples(units, RESAMPLES, 0)
        ]
        drawn = np.concatenate(chunks, axis=1)
        drawn = drawn[:, ~np.isnan(drawn).any(axis=0)]
        errors = [float(each.std(ddof=1)) for each in drawn]
        difference = math.nan if two is None else float((drawn[0] - drawn[1]).std(ddof=1))
        carried = math.nan
    if two is None:
        return Errors(units, errors[0], math.nan, math.nan, carried)
    product = 2 * errors[0] * errors[1]
    shared = errors[0] ** 2 + errors[1] ** 2 - difference**2
    correlation = min(1.0, max(-1.0, shared / product)) if product else math.nan
    return Errors(units, errors[0], difference, correlation, carried)
