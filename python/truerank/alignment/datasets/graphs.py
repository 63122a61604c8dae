"""The data of an alignment: two graphs, the pairs of equal entities, and splits of the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.arrays import ReadOnlyArrays, integers
from ...inputs.checks import integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import printable, public
from ...tasks.row_keys import distinct_rows
from ...tasks.text import MAX_COLUMNS
from ..two_graphs import UNBOUNDED, as_pairs, as_rows, check_ids

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Graph(ReadOnlyArrays):
    """One of the two graphs of an alignment. Ids of entities and of relations start at 0.

    Attributes
    ----------
    triples : array of int, shape (n, 3)
        Head, relation, tail, as they were given. All arrays are stored as int64 and read-only.
    size : int
        The number of entities, including those without triples.
    names, relations : tuple of str, or None
        The names of entities and relations; None if only their ids are known.
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
    >>> graph = Graph([(0, 0, 1), (1, 0, 1)], 3, names=("a", "b", "c"))
    >>> graph
    Graph(3 entities, 1 relations, 2 triples)
    >>> degrees(graph.triples, graph.size)
    array([1, 2, 0])
    """

    triples: IntArray
    size: int
    names: tuple[str, ...] | None
    relations: tuple[str, ...] | None
    ids: IntArray | None
    relation_ids: IntArray | None

    def __init__(
        self,
        triples: Any = (),
        size: int = 0,
        names: Sequence[str] | None = None,
        relations: Sequence[str] | None = None,
        ids: Any = None,
        relation_ids: Any = None,
    ) -> None:
        rows = _as_triples(triples, size, "size")
        fields: dict[str, Any] = {"triples": rows, "size": int(size)}
        for name, labels in (("names", names), ("relations", relations)):
            fields[name] = None if labels is None else tuple(labels)
        for name, value in (("ids", ids), ("relation_ids", relation_ids)):
            fields[name] = None if value is None else integers(name, value)
        for name in ("names", "ids"):
            if fields[name] is not None and len(fields[name]) != size:
                raise InputValueError(name, expected=f"{size}, one each", got=len(fields[name]))
        listed = [fields[k] for k in ("relations", "relation_ids") if fields[k] is not None]
        bound = min(map(len, listed), default=UNBOUNDED)
        check_ids("triples", rows[:, 1], bound, "relations", "in triple")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        relations = len(np.unique(self.triples[:, 1]))
        return (
            f"Graph({self.size:,} entities, {relations:,} relations, {len(self.triples):,} triples)"
        )


@public("truerank.alignment")
def degrees(triples: Any, entities: int) -> IntArray:
    """Count for every entity the distinct triples in which it is head or tail.

    The degree is ``d(e) = #{(h, r, t) distinct: h = e or t = e}``: a triple of an entity with
    itself counts once, and so does a repeated triple. OpenEA ("A Benchmarking Study of
    Embedding-based Entity Alignment", section 5.2) adds two of these numbers for the degree of an
    aligned pair. (The scripts with OpenEA's code, which made the figure, count a triple of an
    entity with itself twice, and halve the sum of the pair.)

    Parameters
    ----------
    triples : array of int, shape (n, 3)
        Head, relation, tail. Further columns also distinguish triples.
    entities : int
        The number of entities; ids start at 0.

    Returns
    -------
    ndarray of int64, shape (entities,)
        0 for an entity without triples.

    Raises
    ------
    TypeError
        For anything but integers.
    ValueError
        For another shape, and an id out of range.

    Examples
    --------
    >>> degrees([(0, 0, 1), (0, 0, 1), (0, 1, 1), (1, 0, 1)], 3)
    array([2, 3, 0])
    """
    heads, _, tails, *_ = distinct_rows(list(_as_triples(triples, entities, "entities").T))
    counts = np.bincount(heads, minlength=int(entities))
    counts += np.bincount(tails[tails != heads], minlength=int(entities))
    return counts.astype(np.int64, copy=False)


def _as_triples(triples: Any, entities: Any, name: str) -> IntArray:
    """Check triples over a number of entities, and return them as new, read-only int64."""
    size = integer(name, entities, least=0, expected="how many there are")
    rows = as_rows("triples", triples, 3, MAX_COLUMNS, "shape (n, 3) or wider")
    for column, nouns in ((0, "heads"), (2, "tails")):
        check_ids("triples", rows[:, column], size, nouns, "in triple")
    return rows


SPLITS = ("train", "valid", "test")


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, init=False, repr=False)
class AlignmentData(ReadOnlyArrays):
    """Two graphs, the pairs of entities that denote the same thing, and splits of these pairs.

    Attributes
    ----------
    left, right : Graph
        The entities, names and triples of each graph; see `Graph`.
    pairs : array of int, shape (m, 2)
        All aligned pairs: an entity of the left graph, one of the right. Stored as int64,
        read-only.
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
        if not isinstance(splits, Mapping | None):
            raise InputTypeError("splits", expected="a dict", got=type(splits).__name__)
        sizes = left.size, right.size
        named = {k: as_pairs(f'splits["{k}"]', v, sizes) for k, v in (splits or {}).items()}
        object.__setattr__(self, "pairs", as_pairs("pairs", pairs, sizes))
        object.__setattr__(self, "splits", named)

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
        if split not in self.splits:
            there = ", ".join(self.splits) or "none"
            raise InputValueError("split", expected=f"one of the splits ({there})", got=repr(split))
        return {name: pairs for name, pairs in self.splits.items() if name != split}

    def with_splits(self, splits: Mapping[str, Any]) -> AlignmentData:
        """Return the same data with other splits of the pairs.

        Parameters
        ----------
        splits : dict of str to array of int, shape (k, 2)
            The splits, as `split_pairs` returns them.

        Returns
        -------
        AlignmentData
        """
        return AlignmentData(self.left, self.right, self.pairs, splits)

    def __repr__(self) -> str:
        splits = ", ".join(f"{name} {len(pairs):,}" for name, pairs in self.splits.items())
        return printable(
            f"AlignmentData({self.left.size:,} and {self.right.size:,} entities, "
            f"{len(self.left.triples):,} and {len(self.right.triples):,} triples, "
            f"{len(self.pairs):,} pairs{'; ' * bool(splits)}{splits})"
        )
