"""Corrections of the p-values of several questions, and the table of them.

Each correction sorts m p-values, multiplies the i-th smallest by a factor, and lets no corrected
p-value of a larger p fall below that of a smaller one: a step-down rule raises the larger one, a
step-up rule lowers the smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...inputs.checks import is_iterable
from ...inputs.errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

    # takes the places 1 .. m of the ascending p-values, and m
    Factors = Callable[[FloatArray, int], FloatArray]


class Correction(NamedTuple):
    """A correction of several p-values.

    Attributes
    ----------
    title : str
        The heading of its column.
    factors : callable
        Returns by what the i-th smallest of m p-values is multiplied.
    step_up : bool
    """

    title: str
    factors: Factors
    step_up: bool = False

    def of(self, p_values: Sequence[float]) -> list[float]:
        """The corrected p-values, at most 1; nan stays nan and is not counted."""
        p = np.asarray(p_values, dtype=np.float64)
        corrected: FloatArray = np.full(len(p), np.nan)
        (known,) = np.nonzero(~np.isnan(p))
        m = len(known)
        order = known[np.argsort(p[known], kind="stable")]
        found = p[order] * self.factors(np.arange(1.0, m + 1), m)
        if self.step_up:
            found = np.minimum.accumulate(found[::-1])[::-1]
        else:
            found = np.maximum.accumulate(found)
        corrected[order] = np.minimum(found, 1.0)
        return [float(value) for value in corrected]


def _all_of(place: FloatArray, m: int) -> FloatArray:
    return np.full(m, float(m))


def _left(place: FloatArray, m: int) -> FloatArray:
    return m + 1 - place


def _share(place: FloatArray, m: int) -> FloatArray:
    return m / place


def _share_with_harmonic(place: FloatArray, m: int) -> FloatArray:
    return float((1 / place).sum()) * m / place


# by the names that R's p.adjust gives them
CORRECTIONS = {
    "bonferroni": Correction("p (Bonferroni)", _all_of),
    "holm": Correction("p (Holm)", _left),
    "hochberg": Correction("p (Hochberg)", _left, step_up=True),
    "bh": Correction("p (Benjamini-Hochberg)", _share, step_up=True),
    "by": Correction("p (Benjamini-Yekutieli)", _share_with_harmonic, step_up=True),
}


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct m p-values by Holm's step-down rule; nan stays nan.

    The i-th smallest is multiplied by m - i + 1; results ascend and are at most 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    return CORRECTIONS["holm"].of(p_values)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Correct m p-values by the step-up rule of Benjamini and Hochberg; nan stays nan.

    The i-th smallest is multiplied by m / i; none exceeds that of a larger p-value, nor 1.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    return CORRECTIONS["bh"].of(p_values)


def check_corrections(argument: str, names: object) -> tuple[str, ...]:
    """Check the names of corrections.

    Raises
    ------
    TypeError
        For anything but an iterable of str, and for a single str.
    ValueError
        For an unknown name, and for one that comes twice.

    Examples
    --------
    >>> check_corrections("methods", ["holm", "bh"])
    ('holm', 'bh')
    """
    known = ", ".join(CORRECTIONS)
    if isinstance(names, str) or not is_iterable(names):
        got = repr(names) if isinstance(names, str) else type(names).__name__
        raise InputTypeError(argument, expected=f"a sequence of {known}", got=got)
    chosen: Iterable[object] = tuple(names)
    for i, name in enumerate(chosen):
        if not isinstance(name, str) or name not in CORRECTIONS:
            raise InputValueError(argument, expected=f"names among {known}", got=repr(name))
        if name in tuple(chosen)[:i]:
            raise InputValueError(argument, expected="each name once", got=f"{name!r} twice")
    return tuple(map(str, chosen))
