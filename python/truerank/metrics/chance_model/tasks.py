"""Tasks under chance: how many there are of each number of candidates and each weight."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ...arrays.row_keys import occurrences_of
from ...errors import InputValueError
from ...inputs.array_likes import checked_weights, integers
from ...inputs.checks import has_dimensions

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...arrays.types import FloatArray, IntArray

    CandidatesLike: TypeAlias = npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]

Moments: TypeAlias = tuple[float, float]


# Its arguments are the tasks and the metric's parameter.
ChanceModel: TypeAlias = Callable[["Tasks", float], Moments]


def model(moments: ChanceModel) -> ChanceModel:
    """Make a chance model that returns nan without tasks, and (1, 0) for single candidates."""

    @functools.wraps(moments)
    def with_special_cases(tasks: Tasks, parameter: float = 0) -> Moments:
        if not len(tasks.sizes):
            return math.nan, math.nan
        if tasks.sizes[-1] == 1:
            return 1.0, 0.0
        return moments(tasks, parameter)

    return with_special_cases


class Tasks(NamedTuple):
    """Tasks by their distinct pairs of candidates and weight, without tasks of weight 0.

    Attributes
    ----------
    sizes : ndarray of int64, shape (d,)
        The number of candidates N >= 1, ascending; within one size the weights ascend.
    weights : ndarray of float64, shape (d,)
        The weight of one such task, > 0; the weights of all tasks sum to 1.
    multiplicities : ndarray of int64, shape (d,)
        The number of such tasks, >= 1.
    """

    sizes: IntArray
    weights: FloatArray
    multiplicities: IntArray

    @property
    def count(self) -> int:  # type: ignore[override]  # in place of tuple.count
        """The number of tasks."""
        return int(self.multiplicities.sum())


def compress(candidates: CandidatesLike, weights: npt.ArrayLike | None = None) -> Tasks:
    """Count the tasks of each number of candidates and each weight.

    Parameters
    ----------
    candidates : array_like of int, shape (n,), or a tuple of two such arrays
        The number of candidates N >= 1 of every task; or `(values, multiplicities)`, the numbers of
        candidates and how many tasks have each. Values may repeat, multiplicities may be 0.
    weights : array_like of float, shape (n,), optional
        The weight of every task, or that of each task with a value: finite, >= 0. Only ratios
        matter. Tasks with weight 0, or below 1e-307 of the greatest weight, are left out.

    Returns
    -------
    Tasks
        The count is 0 if there are no tasks, or none with a weight above 0.

    Raises
    ------
    TypeError
        If candidates or multiplicities are not integers, or weights not real numbers.
    ValueError
        For another shape or length, N < 1, a negative multiplicity, 2**63 tasks or more, and a
        weight that is negative, infinite or NaN.

    Examples
    --------
    >>> tasks = compress([5, 3, 5])
    >>> tasks.sizes, tasks.multiplicities
    (array([3, 5]), array([1, 2]))
    >>> compress(([3, 5], [1, 2]), weights=[6, 1]).weights
    array([0.75 , 0.125])
    """
    sizes, multiplicities = _read_candidates(candidates)
    if multiplicities is None and weights is None:
        sizes, multiplicities = occurrences_of(sizes)
    elif multiplicities is None:
        multiplicities = np.ones(len(sizes), dtype=np.int64)
    mass = np.ones(len(sizes))
    if weights is not None:
        # Divided by a power of two, so that sums are safe; what is negligible beside the greatest
        # weight becomes 0.
        mass = checked_weights(weights, length=len(sizes))
        _, exponent = np.frexp(mass.max(initial=0.0))
        mass = np.ldexp(mass, -exponent)
        mass = np.where(mass < 2.0**-1021, 0.0, mass)
    present = (multiplicities > 0) & (mass > 0)
    order = np.flatnonzero(present)[np.lexsort((mass[present], sizes[present]))]
    sizes = sizes[order]
    mass = mass[order]
    multiplicities = multiplicities[order]
    if len(sizes):
        is_new = np.ones(len(sizes), dtype=np.bool_)
        is_new[1:] = (sizes[1:] != sizes[:-1]) | (mass[1:] != mass[:-1])
        firsts = np.flatnonzero(is_new)
        sizes = sizes[firsts]
        mass = mass[firsts]
        multiplicities = np.add.reduceat(multiplicities, firsts)
        # A weight is never 0, however many tasks there are.
        mass = np.maximum(mass / (mass * multiplicities).sum(), np.finfo(np.float64).tiny)
    return Tasks(sizes, mass, multiplicities)


def _read_candidates(candidates: Any) -> tuple[IntArray, IntArray | None]:
    """Read candidates and multiplicities in either form."""
    counts = None
    if isinstance(candidates, tuple) and len(candidates) == 2 and has_dimensions(candidates[0]):
        candidates, counts = candidates
    sizes = integers("candidates", candidates)
    _check_least("candidates", sizes, 1)
    if counts is None:
        return sizes, None
    multiplicities = integers("multiplicities", counts)
    if len(multiplicities) != len(sizes):
        expected = f"{len(sizes)} integers, one for each value of candidates"
        shape = f"shape {multiplicities.shape}"
        raise InputValueError("multiplicities", expected=expected, got=shape)
    _check_least("multiplicities", multiplicities, 0)
    if multiplicities.sum(dtype=np.float64) >= 2.0**63:
        raise InputValueError("multiplicities", expected="fewer than 2**63 tasks in all")
    return sizes, multiplicities


def _check_least(name: str, values: IntArray, least: int) -> None:
    if (values < least).any():
        i = int((values < least).argmax())
        got = f"{values[i]} at position {i}"
        raise InputValueError(name, expected=f"integers >= {least}", got=got)
