"""The data of an alignment: two graphs, the pairs of equal entities, and splits of the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...inputs.arrays import ReadOnlyArrays, index_array, integers, read_only
from ...inputs.checks import integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import printable, public
from ...tasks.row_keys import distinct_rows
from ..two_graphs import as_pairs

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
        rows = _check_triples(triples, size, "size")
        fields: dict[str, Any] = {"triples": read_only(rows.copy()), "size": int(size)}
        for name, labels in (("names", names), ("relations", relations)):
            fields[name] = None if labels is None else tuple(labels)
        for name, value in (("ids", ids), ("relation_ids", relation_ids)):
            fields[name] = None if value is None else integers(name, value)
        for name in ("names", "ids"):
            if fields[name] is not None and len(fields[name]) != size:
                raise InputValueError(name, expected=f"{size}, one each", got=len(fields[name]))
        _check_relations(rows[:, 1], fields)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        relations = len(np.unique(self.triples[:, 1]))
        return (
            f"Graph({self.size:,} entities, {relations:,} relations, {len(self.triples):,} triples)"
        )


def _check_relations(relations: IntArray, fields: dict[str, Any]) -> None:
    """Refuse relations that are negative, or that lack a name or id while others have one."""
    known = [len(fields[k]) for k in ("relations", "relation_ids") if fields[k] is not None]
    bound = min(known, default=np.iinfo(np.int64).max)
    row = _core.first_outside(np.ascontiguousarray(relations), bound)
    if row >= 0:
        upto = f"from 0 to {bound - 1}" if known else "from 0 on"
        raise InputValueError(
            "triples", expected=f"relations {upto}", got=f"{relations[row]} in triple {row}"
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
    rows = _check_triples(triples, entities, "entities")
    columns = distinct_rows(list(rows.T))
    heads, tails = columns[0], columns[2]
    counts = np.bincount(heads, minlength=int(entities))
    counts += np.bincount(tails[tails != heads], minlength=int(entities))
    return counts.astype(np.int64, copy=False)


def _check_triples(triples: Any, entities: Any, name: str) -> IntArray:
    """Check triples over a number of entities, and return them as int64."""
    size = integer(name, entities, least=0, expected="how many there are")
    try:
        array = np.asarray(triples)
    except ValueError as error:  # a ragged list
        raise InputValueError("triples", expected="shape (n, 3) or wider", got=error) from None
    if array.size == 0 and array.ndim == 1:
        array = np.zeros((0, 3), dtype=np.int64)
    rows = index_array("triples", array, copy=False)
    if rows.ndim != 2 or rows.shape[1] < 3:
        raise InputValueError(
            "triples", expected="shape (n, 3) or wider", got=f"shape {rows.shape}"
        )
    for column, what in ((0, "head"), (2, "tail")):
        row = _core.first_outside(np.ascontiguousarray(rows[:, column]), size)
        if row >= 0:
            raise InputValueError(
                "triples",
                expected=f"entity ids below {entities}",
                got=f"{rows[row, column]} as the {what} of triple {row}",
            )
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
        object.__setattr__(self, "pairs", self._check_pairs("pairs", pairs))
        if not isinstance(splits, Mapping | None):
            raise InputTypeError("splits", expected="a dict", got=type(splits).__name__)
        named = {k: self._check_pairs(f'splits["{k}"]', v) for k, v in (splits or {}).items()}
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

    def _check_pairs(self, name: str, value: Any) -> IntArray:
        pairs = as_pairs(name, value)
        for column, graph in ((0, self.left), (1, self.right)):
            row = _core.first_outside(np.ascontiguousarray(pairs[:, column]), graph.size)
            if row >= 0:
                raise InputValueError(
                    name,
                    expected=f"entities below {graph.size} in column {column}",
                    got=f"{pairs[row, column]} in pair {row}",
                )
        return pairs
