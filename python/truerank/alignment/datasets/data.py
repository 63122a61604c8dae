"""A data set of entity alignment: two graphs, and which entity of the one is which of the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.checks import first_outside
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.selection import as_integers
from ..locked import Locked
from .graphs import Graph

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class AlignmentData(Locked):
    """Two graphs, the pairs of entities that are the same, and splits of these pairs.

    Attributes
    ----------
    left, right : Graph
        Entities, names and triples of each; see `Graph`.
    pairs : array of int, shape (m, 2)
        All aligned pairs: an entity of the left graph, one of the right. Kept as int64, read-only.
    splits : dict of str to array of int, shape (k, 2)
        Pairs by the name of their split, "train", "valid" and "test" as a rule; may be empty.

    Raises
    ------
    TypeError
        For pairs that are no integers.
    ValueError
        For another shape, and an entity that a graph has not.

    Examples
    --------
    >>> data = AlignmentData(Graph(size=3), Graph(size=4), [(0, 3), (2, 1)])
    >>> data
    AlignmentData(3 and 4 entities, 0 and 0 triples, 2 pairs)
    >>> data = data.with_splits({"train": [(0, 3)], "test": [(2, 1)]})
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
        for name, graph in (("left", left), ("right", right)):
            if not isinstance(graph, Graph):
                raise InputTypeError(name, expected="a Graph", got=type(graph).__name__)
            object.__setattr__(self, name, graph)
        object.__setattr__(self, "pairs", self._checked("pairs", pairs))
        if not isinstance(splits, Mapping | None):
            raise InputTypeError("splits", expected="a dict", got=type(splits).__name__)
        named = {k: self._checked(f'splits["{k}"]', v) for k, v in (splits or {}).items()}
        object.__setattr__(self, "splits", named)

    def known(self, split: str = "test") -> dict[str, IntArray]:
        """Give all splits but one, as a task that evaluates that one takes them for known.

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
            If there is no such split.
        """
        if split not in self.splits:
            there = ", ".join(self.splits) or "none"
            raise InputValueError("split", expected=f"one of the splits ({there})", got=repr(split))
        return {name: pairs for name, pairs in self.splits.items() if name != split}

    def with_splits(self, splits: Mapping[str, Any]) -> AlignmentData:
        """Give the same data with other splits of the pairs.

        Parameters
        ----------
        splits : dict of str to array of int, shape (k, 2)
            As `split_pairs` gives them.

        Returns
        -------
        AlignmentData
        """
        return AlignmentData(self.left, self.right, self.pairs, splits)

    def __repr__(self) -> str:
        splits = ", ".join(f"{name} {len(pairs):,}" for name, pairs in self.splits.items())
        return (
            f"AlignmentData({self.left.size:,} and {self.right.size:,} entities, "
            f"{len(self.left.triples):,} and {len(self.right.triples):,} triples, "
            f"{len(self.pairs):,} pairs{'; ' * bool(splits)}{splits})"
        )

    def _checked(self, name: str, value: Any) -> IntArray:
        pairs = as_pairs(name, value)
        for column, graph in ((0, self.left), (1, self.right)):
            row = first_outside(np.ascontiguousarray(pairs[:, column]), graph.size)
            if row >= 0:
                raise InputValueError(
                    name,
                    expected=f"entities below {graph.size} in column {column}",
                    got=f"{pairs[row, column]} in pair {row}",
                )
        return pairs


def as_pairs(name: str, value: Any) -> IntArray:
    """Check pairs of integers, and give them as read-only int64.

    Examples
    --------
    >>> as_pairs("pairs", [(0, 3)])
    array([[0, 3]])
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        raise InputValueError(name, expected="shape (n, 2)", got=error) from None
    if array.size == 0 and array.ndim == 1:
        array = np.zeros((0, 2), dtype=np.int64)
    pairs = as_integers(name, array)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputValueError(name, expected="shape (n, 2)", got=f"shape {pairs.shape}")
    pairs.flags.writeable = False
    return pairs
