"""The data of an alignment: two graphs, the pairs of equal entities, and splits of the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.row_keys import codes_of, distinct
from ...errors import InputValueError
from ...inputs.array_likes import integers
from ...inputs.checks import (
    check_size,
    choice,
    instance,
    integer,
    mapping,
    number,
    optional_mapping,
    several,
)
from ...naming import printable, public
from ..aligned_pairs import GRAPH_FORM, as_pairs, as_rows, check_ids

if TYPE_CHECKING:
    from ...arrays.types import IntArray


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Graph:
    """One of the two graphs of an alignment. Ids of entities and of relations start at 0.

    Attributes
    ----------
    triples : array of int, shape (n, 3)
        Head, relation, tail, as they were given. All arrays are copied as int64, and may be
        changed: ``torch.from_numpy`` takes them.
    size : int
        The number of entities, including those without triples.
    entities, relations : tuple of str, or None
        The names of entities and relations, in the order of their ids; None if only the ids are
        known.
    ids, relation_ids : array of int, or None
        Their ids in the files; None if the files only had names.

    Raises
    ------
    TypeError
        For triples or ids that are no integers.
    ValueError
        For triples of another shape or with entities or relations out of range, and if the number
        of names or ids is not that of entities.

    Examples
    --------
    >>> graph = Graph([(0, 0, 1), (1, 0, 1)], 3, entities=("a", "b", "c"))
    >>> graph
    Graph(3 entities, 1 relations, 2 triples)
    """

    triples: IntArray
    size: int
    entities: tuple[str, ...] | None
    relations: tuple[str, ...] | None
    ids: IntArray | None
    relation_ids: IntArray | None

    def __init__(
        self,
        triples: Any = None,
        size: int = 0,
        entities: Sequence[str] | None = None,
        relations: Sequence[str] | None = None,
        ids: Any = None,
        relation_ids: Any = None,
    ) -> None:
        if triples is None:
            triples = []
        rows = _as_triples(triples, size, "size")
        fields: dict[str, Any] = {
            "triples": rows.copy(),
            "size": int(size),
            "entities": _as_names("entities", entities),
            "relations": _as_names("relations", relations),
            "ids": _as_integers("ids", ids),
            "relation_ids": _as_integers("relation_ids", relation_ids),
        }
        for name in ("entities", "ids"):
            if fields[name] is not None and len(fields[name]) != size:
                raise InputValueError(name, expected=f"{size}, one each", got=len(fields[name]))
        for name in ("relations", "relation_ids"):
            if fields[name] is not None:
                check_ids("triples", rows[:, 1], len(fields[name]), "relations", "in triple")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        relations = len(distinct(self.triples[:, 1]))
        return (
            f"Graph({self.size:,} entities, {relations:,} relations, {len(self.triples):,} triples)"
        )


def _as_triples(triples: Any, entities: Any, name: str) -> IntArray:
    """Check triples over a number of entities, and return them as new, read-only int64."""
    size = integer(name, entities, least=0, expected="how many there are")
    check_size(name, size)
    rows = as_rows("triples", triples, GRAPH_FORM)
    for column, kind in ((0, "heads"), (2, "tails")):
        check_ids("triples", rows[:, column], size, kind, "in triple")
    return rows


def _as_names(name: str, labels: Sequence[str] | None) -> tuple[str, ...] | None:
    if labels is None:
        return None
    return tuple(several(name, labels, "names"))


def _as_integers(name: str, value: Any) -> IntArray | None:
    if value is None:
        return None
    return integers(name, value).copy()


SPLITS = ("train", "valid", "test")


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class AlignmentData:
    """Two graphs, the pairs of entities that denote the same thing, and splits of these pairs.

    Attributes
    ----------
    left, right : Graph
        The entities, names and triples of each graph; see `Graph`.
    pairs : array of int, shape (m, 2)
        All aligned pairs: an entity of the left graph, one of the right. Copied as int64, as in
        `Graph`.
    splits : dict of str to array of int, shape (k, 2)
        The pairs of each split, usually "train", "valid" and "test"; may be empty.

    Raises
    ------
    TypeError
        For pairs that are no integers.
    ValueError
        For another shape, and an entity that a graph does not have.

    Examples
    --------
    >>> data = AlignmentData(Graph(size=3), Graph(size=4), [(0, 3), (2, 1)])
    >>> data
    AlignmentData(3 and 4 entities, 0 and 0 triples, 2 pairs)
    >>> splits = {"train": [(0, 3)], "test": [(2, 1)]}
    >>> data = AlignmentData(data.left, data.right, data.pairs, splits)
    >>> data.splits["test"], data.known()
    (array([[2, 1]]), {'train': array([[0, 3]])})
    """

    left: Graph
    right: Graph
    pairs: IntArray
    splits: dict[str, IntArray]

    def __init__(
        self, left: Graph, right: Graph, pairs: Any, splits: Mapping[str, Any] | None = None
    ) -> None:
        sizes = instance("left", left, Graph).size, instance("right", right, Graph).size
        given = optional_mapping("splits", splits, "a mapping of names to pairs")
        named = {}
        for name, rows in given.items():
            named[name] = as_pairs(f'splits["{name}"]', rows, sizes).copy()
        fields: dict[str, Any] = {
            "left": left,
            "right": right,
            "pairs": as_pairs("pairs", pairs, sizes).copy(),
            "splits": named,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def known(self, split: str = "test") -> dict[str, IntArray]:
        """Return all splits but the evaluated one, as a `Task` takes them as `known`.

        Parameters
        ----------
        split : str
            The split that is evaluated.

        Returns
        -------
        dict of str to ndarray of int64

        Raises
        ------
        ValueError
            If there is no split with this name.
        """
        if instance("split", split, str) not in self.splits:
            names = ", ".join(self.splits) or "none"
            raise InputValueError("split", expected=f"one of the splits ({names})", got=repr(split))
        return {name: pairs for name, pairs in self.splits.items() if name != split}

    def __repr__(self) -> str:
        text = (
            f"{self.left.size:,} and {self.right.size:,} entities, "
            f"{len(self.left.triples):,} and {len(self.right.triples):,} triples, "
            f"{len(self.pairs):,} pairs"
        )
        if self.splits:
            splits = ", ".join(f"{name} {len(pairs):,}" for name, pairs in self.splits.items())
            text = f"{text}; {splits}"
        return printable(f"AlignmentData({text})")


# These are shares by the name of the split, in the order in which shuffled pairs are assigned.
SHARES: dict[str, dict[str, float]] = {
    "20/10/70": {"train": 0.2, "valid": 0.1, "test": 0.7},
    "30/70": {"train": 0.3, "test": 0.7},
    # After 70 % for the test, 80 % of the rest are for training and 20 % for validation.
    "24/6/70": {"train": 0.24, "valid": 0.06, "test": 0.7},
}


@public("truerank.alignment")
def split_pairs(
    pairs: Any,
    shares: str | Mapping[str, float] = "20/10/70",
    *,
    seed: int,
    columns: Mapping[str, str | int] | None = None,
) -> dict[str, IntArray]:
    """Split pairs at random.

    The pairs are shuffled: they are sorted by one 64-bit integer each, the raw output of
    `numpy.random.PCG64` with the seed. So the result depends neither on the arithmetic of the
    platform nor on NumPy's methods of drawing. The first pairs go to the first split, and so on.
    Sizes are the shares of all pairs, rounded by largest remainder (of equal remainders, the split
    that is named first gets one more).

    Parameters
    ----------
    pairs : array of int, shape (m, 2), rows, columns, or a frame
        The pairs, each of them once.
    shares : {"20/10/70", "30/70", "24/6/70"}, or dict of str to float
        "20/10/70": train, valid and test as in OpenEA; see also `five_folds`. "30/70": train and
        test, as in most papers with DBP15k. "24/6/70": 70 % test, and of the rest 80 % train and
        20 % valid, as in "A Critical Assessment of State-of-the-Art in Entity Alignment" (section
        4; if a data set has an official test part, split its other part with such shares). A dict
        names the splits and their shares, which add up to 1.
    seed : int
        The seed, at least 0.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "left" and "right".

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
    given = mapping("shares", shares, "a str or a dict")
    checked = {name: number(f'shares["{name}"]', share) for name, share in given.items()}
    are_positive = all(share >= 0 for share in checked.values())
    # This also refuses NaN.
    if not are_positive or not abs(sum(checked.values()) - 1) < 1e-9:
        expected = "shares from 0 to 1 that add up to 1"
        raise InputValueError("shares", expected=expected, got=list(checked.values()))
    rows, places = _random_places(pairs, seed, columns)
    quotas = [Fraction(repr(share)) * len(rows) for share in checked.values()]
    # Shares are decimal numbers as they are written: 0.1 is a tenth.
    sizes = list(map(floor, quotas))
    # The sort is stable, so that of equal rests the first one gets the pair.
    by_rest = sorted(range(len(sizes)), key=lambda i: sizes[i] - quotas[i])
    for i in by_rest[: len(rows) - sum(sizes)]:
        sizes[i] += 1
    return _deal(rows, places, dict(zip(checked, np.cumsum(sizes), strict=True)))


@public("truerank.alignment")
def five_folds(
    pairs: Any,
    *,
    seed: int,
    folds: int = 5,
    valid: float = 0.1,
    columns: Mapping[str, str | int] | None = None,
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
    pairs : array of int, shape (m, 2), rows, columns, or a frame
        The pairs, each of them once; at least one for each fold.
    seed : int
        The seed, at least 0.
    folds : int
        The number of folds, at least 2. If the pairs cannot be divided evenly, the first folds get
        one more.
    valid : float
        The share of all pairs for validation, rounded to whole pairs, half up; it must leave pairs
        for the test. 0: there is no validation split.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "left" and "right".

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
    rows, places = _random_places(pairs, seed, columns)
    n = len(rows)
    count = integer("folds", folds, least=2, most=n)
    share = number("valid", valid)
    bounds = [k * (n // count) + min(k, n % count) for k in range(count + 1)]
    valid_size = floor(Fraction(repr(share)) * n + Fraction(1, 2)) if 0 <= share < 1 else -1
    if not 0 <= valid_size < n - bounds[1]:
        expected = "a share from 0 on that leaves pairs for the test"
        raise InputValueError("valid", expected=expected, got=valid)
    splits = []
    for first, last in pairwise(bounds):
        ends = {"train": last - first}
        if valid_size:
            ends["valid"] = last - first + valid_size
        ends["test"] = n
        places_from_fold = (places - first) % n
        splits.append(_deal(rows, places_from_fold, ends))
    return splits


def _deal(rows: IntArray, places: IntArray, ends: Mapping[str, int]) -> dict[str, IntArray]:
    """Return the pairs of each split: from the end of the previous split to its own end."""
    part = np.searchsorted(list(ends.values()), places, side="right")
    return {name: rows[part == i] for i, name in enumerate(ends)}


def _random_places(pairs: Any, seed: int, columns: Any) -> tuple[IntArray, IntArray]:
    """Check pairs, and return them with their places in random order."""
    rows = as_pairs("pairs", pairs, columns=columns)
    if not len(rows):
        raise InputValueError("pairs", expected="at least one pair", got="none")
    repeated = np.delete(np.arange(len(rows)), codes_of(*rows.T).first())
    if len(repeated):
        got = f"{tuple(rows[repeated[0]].tolist())} again in row {repeated[0]}"
        raise InputValueError("pairs", expected="each pair once", got=got)
    start = integer("seed", seed, least=0)
    order = np.argsort(np.random.PCG64(start).random_raw(len(rows)), kind="stable")
    return rows, np.argsort(order)
