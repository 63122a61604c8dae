"""The tail of a sum from the Fourier transforms of the laws of its terms on a grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .rank_sums import Law

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from .rank_sums import RankSum, Tilt

_CELLS = 1 << 22  # of a lattice, at most
_WORK = 1 << 25  # cells of all laws on a lattice
_OUTCOMES = 1 << 20  # of all classes of tasks on a lattice
_CLASSES = 256  # of tasks whose outcomes are looked at one by one, if there are more than two each
_MULTIPLES = 60  # the smallest step between values is so many units at most
_NOISE = 1.5  # cells: the deviation of the normal noise that is added to a sum on a grid
_CLEAR = 6  # cells beyond which this noise hardly reaches
_CELLS_PER_NODE = 16  # of a grid


class GridTail(NamedTuple):
    """The logarithm of a probability, and how much of it lies too near to x, relatively."""

    log: float
    near: float


# -- values on a lattice ---------------------------------------------------------------------------


def lattice_tail(total: RankSum, tilt: Tilt) -> float | None:
    """Log of P(X >= x), or of P(X < x) where t < 0; None unless all values lie on one lattice.

    Laws under the weight exp(t X) are multiplied as Fourier transforms, of the period of the reach.
    The weight keeps the digits of far tails.
    """
    length = tilt.below + tilt.above
    laws = _laws_of_outcomes(total, length)
    if laws is None:
        return None
    steps = np.concatenate([_steps_below(total, i, law) for i, law in enumerate(laws)])
    unit = _unit(steps, length)
    if not unit:
        return None
    span = float(total.numbers @ [np.ptp(law.values) for law in laws])
    length = min(length, span)
    cells = 1 << math.ceil(math.log2(length / unit + 4))
    if cells * len(laws) > _WORK:
        return None
    at_x = math.floor((total.greatest - total.x) / unit + 1e-6)
    t = tilt.t
    log = t * at_x * unit
    farthest = 0.0  # from the greatest sum, in units
    transform = np.ones(cells // 2 + 1, dtype=np.complex128)
    for i, (law, number) in enumerate(zip(laws, total.numbers.tolist(), strict=True)):
        distance = total.high[i] - law.values
        tilted, log_of_law = Law(-distance, law.shares).tilted(t)
        log += number * log_of_law
        # what was cut goes to the next point of the lattice outside
        index = np.rint(distance / unit)
        index = np.where(law.values <= total.lowest[i], np.ceil(distance / unit), index)
        index = np.where(law.values >= total.highest[i], np.floor(distance / unit), index)
        farthest += number * float(index.max())
        places = index.astype(np.int64) % cells
        transform *= np.fft.rfft(np.bincount(places, tilted, cells)) ** number
    shares = np.maximum(np.fft.irfft(transform, cells), 0.0)
    # no sum is above the greatest one, or below the least: what stands there stands for others
    last = at_x
    reach = tilt.above
    if t < 0:
        last = int(min(farthest - at_x, cells))
        reach = tilt.below
    distance = np.arange(max(min(math.ceil(reach / unit) + 2, last + 1, cells), 1))
    weights = np.exp(-abs(t) * unit * distance)
    if t < 0:
        weights[0] = 0.0  # x itself
        distance = -distance
    found = float(shares[(at_x - distance) % cells] @ weights)
    if not found > 0:
        return -math.inf
    return log + math.log(found)


def _laws_of_outcomes(total: RankSum, length: float) -> list[Law] | None:
    """The laws of all classes of tasks, outcome by outcome.

    None if these are too many, or if those of one class lie on no lattice.
    """
    if not total.two_valued and len(total.sizes) > _CLASSES:
        return None
    laws: list[Law] = []
    left = _OUTCOMES
    for i in range(len(total.sizes)):
        law = total.outcomes(i, left)
        if law is None:
            return None
        steps = _steps_below(total, i, law)
        if len(steps) and not _unit(steps, length):
            return None
        left -= len(law.values)
        laws.append(law)
    return laws


def _steps_below(total: RankSum, i: int, law: Law) -> FloatArray:
    """How far below the greatest value others are, of those that were not cut, and their least gap.

    Where many of the greatest values were cut, all others are many steps of a lattice below.
    """
    kept = (law.values > total.lowest[i]) & (law.values < total.highest[i])
    below: FloatArray = total.high[i] - law.values[kept]
    below = below[below > 0]
    gaps = np.abs(np.diff(below))
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return below
    return np.append(gaps.min(), below)


def _unit(steps: FloatArray, length: float) -> float:
    """The step of the lattice on which all values lie; 0 if there is none."""
    if not len(steps):
        return 0.0
    smallest = float(steps.min())
    ratios = steps / smallest
    for multiple in range(1, _MULTIPLES + 1):
        if length * multiple > _CELLS * smallest:
            return 0.0
        # a few of the ratios rule most multiples out
        if _are_whole(ratios[:99] * multiple) and _are_whole(ratios * multiple):
            return smallest / multiple
    return 0.0


def _are_whole(numbers: FloatArray) -> bool:
    return bool((np.abs(np.remainder(numbers + 0.5, 1) - 0.5) < 1e-6).all())


# -- values on a grid ------------------------------------------------------------------------------


def grid_tail(classes: RankSum, tilt: Tilt, cells: int, total: RankSum | None = None) -> GridTail:
    """Log of P(X >= x), or of P(X < x) where t < 0, with laws on a grid of so many cells.

    Parameters
    ----------
    classes : RankSum
    tilt : Tilt
    cells : int
    total : RankSum, optional
        The classes of tasks for which `classes` stand, if only roughly. Of the logarithm of a
        transform phi, phi - 1 is added up over them; with many tasks, not much is left.

    Notes
    -----
    Each node of a law under the weight exp(t X) is divided among the four cells around it by
    Lagrange's weights, so that means of cubic functions stay what they are. The transforms of the
    laws are multiplied, and the sum gets normal noise of 1.5 cells, which takes the place of what a
    grid cannot tell apart. P(X + noise >= y) is taken at three places y below x that the noise of
    outcomes at x does not reach, and extrapolated to x: so an outcome at x counts as a whole.
    """
    t = tilt.t
    cell = (tilt.below + tilt.above) / (cells - 8 * _CLEAR)
    x = math.ceil(tilt.below / cell) + 4 * _CLEAR
    frequency = 2 * np.pi / cells * np.arange(cells // 2 + 1)
    log = -t * classes.x
    middle = 0.0  # the mean of the sum, in cells
    logs = np.zeros(len(frequency), dtype=np.complex128)
    if total is not None:
        # the first order of the logarithms, of all tasks in one transform
        density = np.zeros(cells)
        for part in total.tilted_parts(t):
            density += _divided(part.centred / cell, part.numbers[:, None] * part.shares, cells)
            log += float(part.numbers @ part.logs)
            middle += float(part.numbers @ part.means) / cell
        logs += np.fft.rfft(density) - total.numbers.sum()
    for i, number in enumerate(classes.numbers.tolist()):
        law = classes.nodes(i, max(cells // _CELLS_PER_NODE, 1))
        tilted, log_of_law = law.tilted(t)
        place = law.values / cell
        mean = float(place @ tilted)
        # about its mean, where the logarithm is that of the first branch
        transform = np.fft.rfft(_divided(place - mean, tilted, cells))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs += number * np.log(transform)
        if total is None:
            log += number * log_of_law
            middle += number * mean
        else:
            logs -= number * (transform - 1)
    shift = classes.x / cell - middle
    with np.errstate(over="ignore", invalid="ignore"):  # of more tasks than anybody has
        product = np.exp(logs + 1j * frequency * shift - (frequency * _NOISE) ** 2 / 2)
        density = np.fft.irfft(np.nan_to_num(product), cells)
    return _beyond(np.roll(density, x), x, t * cell, log)


def _divided(place: FloatArray, shares: FloatArray, cells: int) -> FloatArray:
    """Divide shares among the four cells around each place, on a circle of cells."""
    whole = np.floor(place)
    part = place - whole
    first = whole.astype(np.int64)
    less_1 = part - 1
    less_2 = part - 2
    more_1 = part + 1
    weights = {
        -1: -part * less_1 * less_2 / 6,
        0: more_1 * less_1 * less_2 / 2,
        1: -more_1 * part * less_2 / 2,
        2: more_1 * part * less_1 / 6,
    }
    found = np.zeros(cells)
    for offset, weight in weights.items():
        cell = (first + offset) & (cells - 1)  # cells are a power of two
        found += np.bincount(cell.ravel(), (shares * weight).ravel(), cells)
    return found


def _beyond(density: FloatArray, x: int, step: float, log: float) -> GridTail:
    """What lies beyond the cell x of a density under the weight exp(step) for each cell."""
    places = np.arange(len(density)) - x
    weighted = density * np.exp(np.clip(-step * places, -700.0, 700.0))
    reached = np.cumsum(weighted[::-1])[::-1] if step >= 0 else np.cumsum(weighted)
    reached -= weighted / 2
    below = [float(reached[x - k * _CLEAR]) for k in (1, 2, 3)]
    above = [float(reached[x + k * _CLEAR]) for k in (1, 3)]
    found = 3 * below[0] - 3 * below[1] + below[2]
    if not found > 0:
        return GridTail(-math.inf, math.inf)
    around = (below[2] - below[0] + above[0] - above[1]) / 2
    near = abs(below[0] - above[0] - around) / found
    # under the weight, the noise has a mean
    return GridTail(log + math.log(found) - (step * _NOISE) ** 2 / 2, near)
