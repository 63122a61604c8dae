"""Two published shares compared by their numbers of tasks alone, without the models."""

from __future__ import annotations

from typing import NamedTuple

from ..inputs.checks import integer, number
from ..inputs.errors import InputValueError


class SharesCompared(NamedTuple):
    """Two shares of tasks, as hits@10, compared.

    Attributes
    ----------
    difference : float
    hits : tuple of int
        The whole numbers of tasks that are nearest to the shares.
    tasks : tuple of int
    p_apart : float
        Fisher's exact test: the p-value if the shares are of tasks that have nothing to do with
        each other.
    p_least, p_most : float
        The least and the largest p-value of McNemar's exact test if the shares are of the same
        tasks: where every hit of the lower share is one of the higher; and where as few are as can
        be. nan where the numbers of tasks differ.

    Examples
    --------
    >>> compare_shares(0.58, 0.5, 100).hits
    (58, 50)
    """

    difference: float
    hits: tuple[int, int]
    tasks: tuple[int, int]
    p_apart: float
    p_least: float
    p_most: float


def compare_shares(a: float, b: float, tasks: int, tasks_b: int | None = None) -> SharesCompared:
    """Compare two shares by how many tasks they are of.

    Nothing is known of which tasks are hits of both. The p-value over the same tasks lies between
    that of McNemar's exact test (a binomial test of the d + 2 m tasks that one model alone hits,
    of which d more are those of the better) with the least m, 0, and with the largest.

    Parameters
    ----------
    a, b : float
        Shares of tasks, as hits@10; read as the nearest whole numbers of them.
    tasks, tasks_b : int
        The number of tasks of each; of both, if one is given.

    Raises
    ------
    ValueError
        For shares outside of [0, 1], and no tasks.

    Examples
    --------
    >>> found = compare_shares(0.58, 0.5, 100)
    >>> round(found.p_apart, 3), round(found.p_least, 4), round(found.p_most, 3)
    (0.321, 0.0078, 0.466)
    """
    from scipy.stats import fisher_exact

    shares = {"a": number("a", a), "b": number("b", b)}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise InputValueError(name, expected="a share from 0 to 1", got=share)
    n = integer("tasks", tasks, least=1)
    n_b = n if tasks_b is None else integer("tasks_b", tasks_b, least=1)
    hits = round(a * n)
    hits_b = round(b * n_b)
    apart = fisher_exact([[hits, n - hits], [hits_b, n_b - hits_b]]).pvalue
    least = float("nan")
    most = float("nan")
    if n == n_b:
        difference = abs(hits - hits_b)
        unlike = min(hits + hits_b, 2 * n - hits - hits_b)  # as many as one alone can hit
        least = _sign_test(difference, difference)
        most = _sign_test(difference, unlike)
    return SharesCompared(a - b, (hits, hits_b), (n, n_b), float(apart), least, most)


def _sign_test(difference: int, unlike: int) -> float:
    """Return the p-value of a difference among so many tasks that one model alone hits."""
    from scipy.stats import binomtest

    if not unlike:
        return 1.0
    return float(binomtest((unlike + difference) // 2, unlike).pvalue)
