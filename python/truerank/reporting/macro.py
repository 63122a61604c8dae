"""Macro averages: means over groups, which count once or by given weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import checked_weights
from ..inputs.errors import InputValueError
from ..metrics.averages import weighted_mean

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray

    MacroWeights = str | Mapping[Hashable, float] | Sequence[float] | FloatArray

COUNT = "count"


class MacroAverage:
    """A mean over groups.

    Parameters
    ----------
    weights : ndarray of float64, shape (g,), "count", or None
        The weights of the groups, their numbers of tasks, or None: each group counts once.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, weights: FloatArray | str | None = None) -> None:
        self._weights = weights

    @property
    def weighted(self) -> bool:
        """Whether groups count unequally."""
        return self._weights is not None

    def by_name(self, names: Sequence[Hashable]) -> dict[Hashable, float] | None:
        """Return the weight of each group by its label; None where no weights were given.

        Examples
        --------
        >>> MacroAverage(np.array([1.0, 2.0])).by_name("ab")
        {'a': 1.0, 'b': 2.0}
        """
        if self._weights is None or isinstance(self._weights, str):
            return None
        return dict(zip(names, self._weights.tolist(), strict=True))

    def of(self, values: FloatArray, counts: IntArray) -> float:
        """Return the mean of the values that are not nan; nan if none of them has a weight above 0.

        Parameters
        ----------
        values : ndarray of float64, shape (g,)
        counts : ndarray of int64, shape (g,)
            The number of tasks of each group.

        Examples
        --------
        >>> MacroAverage("count").of(np.array([1.0, 4.0, np.nan]), np.array([2, 1, 7]))
        2.0
        """
        known = ~np.isnan(values)
        weights = counts.astype(np.float64) if isinstance(self._weights, str) else self._weights
        return weighted_mean(values[known], None if weights is None else weights[known])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MacroAverage):
            return NotImplemented
        return np.array_equal(self._weights, other._weights)  # type: ignore[arg-type]

    def __str__(self) -> str:
        if self._weights is None:
            return "each group counts once"
        how = "by its tasks" if isinstance(self._weights, str) else "as given"
        return f"each group counts {how}"


def read_macro_weights(
    weights: MacroWeights | None, names: Sequence[Hashable] | None
) -> MacroAverage:
    """Read `macro_weights`.

    Parameters
    ----------
    weights : "count", mapping of label to number, array_like of float, shape (g,), or None
        A mapping may hold labels that no group has.
    names : sequence
        The g labels; None where there are no groups.

    Raises
    ------
    ValueError
        For weights without groups, another str or shape, labels without a weight, and weights that
        are negative, not finite, or all 0.
    TypeError
        If the weights are not numbers.

    Examples
    --------
    >>> str(read_macro_weights({"a": 1, "b": 2}, ["a", "b"]))
    'each group counts as given'
    """
    if weights is None:
        return MacroAverage()
    if names is None:
        raise InputValueError("macro_weights", expected="by=, whose groups they weigh, too")
    if isinstance(weights, str):
        if weights != COUNT:
            raise InputValueError(
                "macro_weights",
                expected=f"{COUNT!r}, a mapping of labels or numbers",
                got=repr(weights),
            )
        return MacroAverage(COUNT)
    if isinstance(weights, Mapping):
        missing = [repr(name) for name in names if name not in weights]
        if missing:
            labels = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise InputValueError(
                "macro_weights", expected=f"a weight for each group, none for {labels}"
            )
        weights = [weights[name] for name in names]
    return MacroAverage(_check_weights(weights, len(names)))


def _check_weights(weights: Any, length: int) -> FloatArray:
    array = checked_weights(weights, length=length, name="macro_weights", each="group")
    if length and not array.any():
        raise InputValueError("macro_weights", expected="at least one above 0", got="only 0")
    return array
