"""Corrections of the p-values of several questions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.checks import choice, is_number, several
from ..naming import public
from ..tables import Column, Table

TITLES = {
    "bonferroni": "p (Bonferroni)",
    "holm": "p (Holm)",
    "bh": "p (Benjamini-Hochberg)",
}


@runtime_checkable
class HasPValue(Protocol):
    """A result with a p-value, such as a Comparison."""

    @property
    def p_value(self) -> float: ...


def correct(p_values: Sequence[float], method: str) -> list[float]:
    """Correct p-values by one of `TITLES`; nan stays nan and is not counted.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03], "holm"), correct([0.01, 0.04, 0.03], "bonferroni")[0]
    ([0.03, 0.06, 0.06], 0.03)
    """
    p = np.array(p_values, dtype=np.float64)
    known = ~np.isnan(p)
    m = int(known.sum())
    found = p[known]
    if method == "bh" and m:
        from scipy.stats import false_discovery_control

        found = false_discovery_control(found)
    elif method == "holm":
        order = np.argsort(found, kind="stable")
        found[order] = np.maximum.accumulate(found[order] * np.arange(m, 0, -1))
    elif method == "bonferroni":
        found = found * m
    p[known] = np.minimum(found, 1.0)
    return [float(x) for x in p]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct m p-values by Holm's rule: the i-th smallest is multiplied by m - i + 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    return correct(p_values, "holm")


@public("truerank.inference")
def correct_pvalues(
    p_values: Mapping[str, Any] | Iterable[Any], *, methods: Iterable[str] = ("holm", "bh")
) -> Table:
    """Correct the p-values of several questions: over metrics, data sets, groups or models.

    Of twenty true null hypotheses, up to one is rejected at 5 % on average. All questions that were
    asked belong into one family, those without a finding, too.

    Parameters
    ----------
    p_values : mapping of str to p-values, or iterable of them
        Numbers from 0 to 1 (nan is not counted), and results that have one, such as `Comparison`.
        Without names they are "1", "2", and so on.
    methods : iterable of str
        "bonferroni" and "holm" hold the probability of one or more false rejections; Holm's rule
        holds as generally and rejects more. At a level of 5 %, of what "bh" (Benjamini and
        Hochberg, for independent or positively dependent p-values) rejects, at most 5 % are false
        in expectation.

    Returns
    -------
    Table
        A row for each question; the columns are "question", "p", and the methods.

    Raises
    ------
    ValueError
        For a p-value below 0 or above 1, an unknown correction, and no p-values at all.
    TypeError
        For anything that is no p-value and has none.

    Examples
    --------
    >>> corrected = correct_pvalues({"mrr": 0.01, "hits@1": 0.04, "hits@10": 0.03})
    >>> corrected["holm"]
    [0.03, 0.06, 0.06]
    >>> print(corrected)
    question     p  p (Holm)  p (Benjamini-Hochberg)
    mrr       0.01      0.03                    0.03
    hits@1    0.04      0.06                    0.04
    hits@10   0.03      0.06                    0.04
    """
    asked = several("methods", methods, f"of {', '.join(TITLES)}")
    chosen = list(dict.fromkeys(choice("methods", method, tuple(TITLES)) for method in asked))
    if not isinstance(p_values, Mapping):
        p_values = dict(enumerate(several("p_values", p_values, "p-values"), 1))
    found = {str(name): _p_of(str(name), value) for name, value in p_values.items()}
    if not found:
        raise InputValueError("p_values", expected="several p-values", got="none")
    given = list(found.values())
    columns = [Column("question"), Column("p")]
    cells: list[list[Any]] = [list(found), given]
    for method in chosen:
        columns.append(Column(method, TITLES[method]))
        cells.append(correct(given, method))
    return Table(columns, zip(*cells, strict=True))


def _p_of(name: str, value: Any) -> float:
    if isinstance(value, HasPValue):
        value = value.p_value
    if not is_number(value):
        got = type(value).__name__
        raise InputTypeError("p_values", expected="p-values, or what has one", got=got, place=name)
    p = float(value)
    if not (0 <= p <= 1 or math.isnan(p)):
        raise InputValueError("p_values", expected="0 to 1", got=p, place=name)
    return p
