"""Splits of aligned pairs into training, validation and test, drawn with a seed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.checks import choice, integer, number
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...tasks.row_keys import first_rows, row_keys
from ..two_graphs import as_pairs

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray


# Shares by the name of the split, in the order in which shuffled pairs are assigned.
SHARES: dict[str, dict[str, float]] = {
    "20/10/70": {"train": 0.2, "valid": 0.1, "test": 0.7},
    "30/70": {"train": 0.3, "test": 0.7},
    # 70 % test; of the rest, 80 % training and 20 % validation
    "24/6/70": {"train": 0.24, "valid": 0.06, "test": 0.7},
}


@public("truerank.alignment")
def split_pairs(
    pairs: Any, shares: str | Mapping[str, float] = "20/10/70", *, seed: int
) -> dict[str, IntArray]:
    """Split pairs at random.

    The pairs are shuffled: they are sorted by one 64-bit integer each, the raw output of
    `numpy.random.PCG64` with the seed. So the result depends neither on the arithmetic of the
    platform nor on NumPy's methods of drawing. The first pairs go to the first split, and so on.
    Sizes are the shares of all pairs, rounded by largest remainder (of equal remainders, the split
    that is named first gets one more).

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
        The pairs, each of them once.
    shares : {"20/10/70", "30/70", "24/6/70"}, or dict of str to float
        "20/10/70": train, valid and test as in OpenEA; see also `five_folds`. "30/70": train and
        test, as in most papers with DBP15k. "24/6/70": 70 % test, and of the rest 80 % train and
        20 % valid, as in "A Critical Assessment of State-of-the-Art in Entity Alignment" (section
        4; if a data set has an official test part, split its other part with such shares). A dict
        names the splits and their shares, which add up to 1.
    seed : int
        The seed, at least 0.

    Returns
    -------
    dict of str to ndarray of int64, shape (k, 2)
        The pairs of each split, in the order in which they were given.

    Raises
    ------
    TypeError
        For pairs, shares or a seed of another type.
    ValueError
        For a pair that occurs twice, shares that are negative or do not add up to 1, no pairs, and
        a negative seed.

    Notes
    -----
    If an entity has several counterparts (m:n pairs, as in WK3l), its pairs may end up in different
    splits: one in training, another one in the test. A `Task` with ``known=`` leaves the former out
    of the candidates of the latter, so that no right answer counts as wrong, but the model has seen
    the entity.

    Examples
    --------
    >>> pairs = [(i, i) for i in range(10)]
    >>> {name: len(part) for name, part in split_pairs(pairs, seed=1).items()}
    {'train': 2, 'valid': 1, 'test': 7}
    >>> split_pairs(pairs, {"train": 0.2, "test": 0.8}, seed=1)["train"]
    array([[2, 2],
           [9, 9]])
    """
    if isinstance(shares, str):
        shares = SHARES[choice("shares", shares, tuple(SHARES))]
    if not isinstance(shares, Mapping):
        raise InputTypeError("shares", expected="a str or a dict", got=type(shares).__name__)
    checked = {name: number(f'shares["{name}"]', share) for name, share in shares.items()}
    if not (
        all(share >= 0 for share in checked.values()) and abs(sum(checked.values()) - 1) < 1e-9
    ):
        expected = "shares from 0 to 1 that add up to 1"
        raise InputValueError("shares", expected=expected, got=list(checked.values()))
    rows, places = _random_places(pairs, seed)
    quotas = [Fraction(repr(share)) * len(rows) for share in checked.values()]
    sizes = list(map(floor, quotas))  # of decimal numbers as they are written: 0.1 is a tenth
    by_rest = sorted(range(len(sizes)), key=lambda i: sizes[i] - quotas[i])  # a stable sort
    for i in by_rest[: len(rows) - sum(sizes)]:
        sizes[i] += 1
    return _deal(rows, places, dict(zip(checked, np.cumsum(sizes), strict=True)))


@public("truerank.alignment")
def five_folds(
    pairs: Any, *, seed: int, folds: int = 5, valid: float = 0.1
) -> list[dict[str, IntArray]]:
    """Split pairs into folds as OpenEA does: each fold is the training split once.

    "We divide the reference entity alignment into five disjoint folds, each of which accounts for
    20% of the total. For each running, we pick one fold (20%) as training data and leave the
    remaining for validation (10%) and testing (70%)." (OpenEA, section 5.1.) The paper does not say
    how validation pairs are chosen. Here, the pairs are shuffled (see `split_pairs`) and closed to
    a ring; those that follow a fold on the ring are its validation split, the rest is its test. So
    the validation splits are disjoint too, as long as they are not larger than folds.

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
        The pairs, each of them once; at least one for each fold.
    seed : int
        The seed, at least 0.
    folds : int
        The number of folds, at least 2. If the pairs cannot be divided evenly, the first folds get
        one more.
    valid : float
        The share of all pairs for validation, rounded to whole pairs, half up; it must leave pairs
        for the test. 0: there is no validation split.

    Returns
    -------
    list of dict of str to ndarray of int64, shape (k, 2)
        For each fold "train", "valid" and "test".

    Raises
    ------
    TypeError, ValueError
        As `split_pairs` does, and for an impossible number of folds or share.

    Examples
    --------
    >>> pairs = [(i, i) for i in range(20)]
    >>> folds = five_folds(pairs, seed=1)
    >>> [{name: len(part) for name, part in fold.items()} for fold in folds[:2]]
    [{'train': 4, 'valid': 2, 'test': 14}, {'train': 4, 'valid': 2, 'test': 14}]
    >>> sorted(int(pair[0]) for fold in folds for pair in fold["train"]) == list(range(20))
    True
    """
    rows, places = _random_places(pairs, seed)
    n = len(rows)
    bounds_text = f"from 2 to the number of pairs, {n}"
    count = integer("folds", folds, least=2, most=n, expected="an int", range=bounds_text)
    share = number("valid", valid)
    bounds = [k * (n // count) + min(k, n % count) for k in range(count + 1)]
    valid_size = floor(Fraction(repr(share)) * n + Fraction(1, 2)) if 0 <= share < 1 else -1
    if not 0 <= valid_size < n - bounds[1]:
        expected = "a share from 0 on that leaves pairs for the test"
        raise InputValueError("valid", expected=expected, got=valid)
    splits = []
    for first, last in pairwise(bounds):
        ends = {"train": last - first, "valid": last - first + valid_size, "test": n}
        ends = ends if valid_size else {"train": last - first, "test": n}
        splits.append(_deal(rows, (places - first) % n, ends))  # places on the ring, from the fold
    return splits


def _deal(rows: IntArray, places: IntArray, ends: Mapping[str, int]) -> dict[str, IntArray]:
    """Return the pairs of each split: from the end of the previous split to its own end."""
    part = np.searchsorted(list(ends.values()), places, side="right")
    return {name: rows[part == i] for i, name in enumerate(ends)}


def _random_places(pairs: Any, seed: int) -> tuple[IntArray, IntArray]:
    """Check pairs, and return them with their places in random order."""
    rows = as_pairs("pairs", pairs)
    if not len(rows):
        raise InputValueError("pairs", expected="at least one pair", got="none")
    repeated = np.setdiff1d(np.arange(len(rows)), first_rows(row_keys(list(rows.T))))
    if len(repeated):
        got = f"{tuple(rows[repeated[0]].tolist())} again in row {repeated[0]}"
        raise InputValueError("pairs", expected="each pair once", got=got)
    start = integer("seed", seed, expected="an int", least=0, range="an int from 0 on")
    order = np.argsort(np.random.PCG64(start).random_raw(len(rows)), kind="stable")
    return rows, np.argsort(order)
