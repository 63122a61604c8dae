"""Splits of aligned pairs into training, validation and test, drawn with a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.checks import integer, number
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...tasks.row_keys import dense_codes, first_rows, row_keys
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
    pairs: Any, shares: str | Mapping[str, float] = "20/10/70", *, seed: int, together: bool = False
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
    together : bool
        Whether pairs that share an entity, directly or through a chain of pairs, stay in one split.
        See the notes.

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
    the entity. With ``together=True`` it has not: whole groups of linked pairs are assigned in
    random order, each to the split of its first place. A split then differs from its share by less
    than the largest group, and may be empty. One-to-one pairs are split the same way in both
    cases.

    Examples
    --------
    >>> pairs = [(i, i) for i in range(10)]
    >>> {name: len(part) for name, part in split_pairs(pairs, seed=1).items()}
    {'train': 2, 'valid': 1, 'test': 7}
    >>> split_pairs(pairs, {"train": 0.2, "test": 0.8}, seed=1)["train"]
    array([[2, 2],
           [9, 9]])
    """
    checked = _check_shares(shares)
    rows, places = _random_places(pairs, seed, together)
    ends = np.cumsum(_split_sizes(len(rows), list(checked.values()))).tolist()
    return _deal(rows, places, dict(zip(checked, ends, strict=True)))


@public("truerank.alignment")
def five_folds(
    pairs: Any, *, seed: int, folds: int = 5, valid: float = 0.1, together: bool = False
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
    together : bool
        As in `split_pairs`.

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
    rows, places = _random_places(pairs, seed, together)
    n = len(rows)
    fold_count = integer("folds", folds, expected="an int")
    if not 2 <= fold_count <= n:
        raise InputValueError("folds", expected=f"from 2 to the number of pairs, {n}", got=folds)
    share = number("valid", valid)
    bounds = [k * (n // fold_count) + min(k, n % fold_count) for k in range(fold_count + 1)]
    valid_size = floor(_fraction(share) * n + Fraction(1, 2)) if 0 <= share < 1 else -1
    if not 0 <= valid_size < n - bounds[1]:
        raise InputValueError(
            "valid", expected="a share from 0 on that leaves pairs for the test", got=valid
        )
    splits = []
    for first, last in pairwise(bounds):
        ends = {"train": last - first, "valid": last - first + valid_size, "test": n}
        if not valid_size:
            del ends["valid"]
        splits.append(_deal(rows, (places - first) % n, ends))  # places on the ring, from the fold
    return splits


def _check_shares(shares: str | Mapping[str, float]) -> Mapping[str, float]:
    """Check shares, or return those of a name."""
    if isinstance(shares, str):
        if shares not in SHARES:
            raise InputValueError(
                "shares", expected=f"one of {', '.join(SHARES)} or a dict", got=repr(shares)
            )
        return SHARES[shares]
    if not isinstance(shares, Mapping):
        raise InputTypeError("shares", expected="a str or a dict", got=type(shares).__name__)
    for name, share in shares.items():
        if not isinstance(name, str):
            raise InputTypeError("shares", expected="names of splits", got=type(name).__name__)
        title = f'shares["{name}"]'
        if not (0 <= number(title, share) <= 1 and name):
            raise InputValueError(title, expected="a name and a share from 0 to 1", got=share)
    total = float(sum(shares.values()))
    if abs(total - 1) > 1e-9:
        raise InputValueError("shares", expected="shares that add up to 1", got=f"{total:.12g}")
    return shares


def _fraction(share: float) -> Fraction:
    """Return the decimal number as which a float is written: 0.1 is a tenth."""
    return Fraction(repr(float(share)))


def _split_sizes(n: int, shares: Sequence[float]) -> list[int]:
    """Round shares of n to whole numbers that add up to n, by largest remainder."""
    quotas = [_fraction(share) * n for share in shares]
    sizes = list(map(floor, quotas))
    by_rest = sorted(range(len(sizes)), key=lambda i: sizes[i] - quotas[i])  # a stable sort
    for i in by_rest[: n - sum(sizes)]:
        sizes[i] += 1
    return sizes


def _deal(rows: IntArray, places: IntArray, ends: Mapping[str, int]) -> dict[str, IntArray]:
    """Return the pairs of each split: from the end of the previous split to its own end."""
    part = np.searchsorted(list(ends.values()), places, side="right")
    return {name: rows[part == i] for i, name in enumerate(ends)}


def _random_places(pairs: Any, seed: int, together: bool) -> tuple[IntArray, IntArray]:
    """Check pairs, and return them with their places, or those of their groups, in random order."""
    rows = as_pairs("pairs", pairs)
    if not len(rows):
        raise InputValueError("pairs", expected="at least one pair", got="none")
    keys = row_keys(list(rows.T))
    first = np.sort(first_rows(keys))
    if len(first) < len(rows):
        row = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise InputValueError(
            "pairs",
            expected="each pair once",
            got=f"{tuple(rows[row].tolist())} again in row {row}",
        )
    start = integer("seed", seed, expected="an int")
    if start < 0:
        raise InputValueError("seed", expected="an int from 0 on", got=seed)
    raw = np.random.PCG64(start).random_raw(len(rows))
    order = np.argsort(raw, kind="stable")
    return rows, _group_starts(order, link_groups(rows) if together else np.arange(len(rows)))


def link_groups(pairs: IntArray) -> IntArray:
    """Return for each pair the row of the first pair that is linked to it by common entities.

    Examples
    --------
    >>> link_groups(np.array([[0, 0], [1, 1], [2, 2], [0, 1], [3, 2]]))
    array([0, 0, 2, 0, 2])
    """
    left, right = dense_codes(pairs[:, 0]), dense_codes(pairs[:, 1])
    ends = (right + left.max(initial=0) + 1).tolist()
    above = list(range(max(ends, default=-1) + 1))  # union-find: a forest of entities

    def root(entity: int) -> int:
        while above[entity] != entity:
            above[entity] = above[above[entity]]
            entity = above[entity]
        return entity

    for a, b in zip(left.tolist(), ends, strict=True):
        a, b = root(a), root(b)
        above[max(a, b)] = min(a, b)
    roots = dense_codes(np.fromiter(map(root, left.tolist()), dtype=np.int64, count=len(pairs)))
    return first_rows(roots)[roots]


def _group_starts(order: IntArray, groups: IntArray) -> IntArray:
    """Return for each pair the place where its group begins.

    Groups are ordered by the place of their first pair in the random order.
    """
    sizes = np.bincount(groups, minlength=len(order))
    heads = order[sizes[order] > 0]
    starts = np.zeros(len(order), dtype=np.int64)
    starts[heads] = np.cumsum(sizes[heads]) - sizes[heads]
    return starts[groups]
