"""A graph of triples beside another one: its entities, and how many triples each stands in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.arrays import integers, read_only
from ...inputs.checks import first_outside
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.selection import as_integers
from ...tasks.row_keys import distinct_rows
from ..locked import Locked

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Graph(Locked):
    """One of the two graphs of an alignment. Ids run from 0, of entities as of relations.

    Attributes
    ----------
    triples : array of int, shape (n, 3)
        Head, relation, tail, as they were given. Kept as int64, read-only, as all arrays here.
    size : int
        How many entities there are, those without triples among them.
    names, relations : tuple of str, or None
        What entities and relations are called; None where only their ids are known.
    ids, relation_ids : array of int, or None
        The ids that files had for them; None where they had names alone.

    Raises
    ------
    TypeError
        For triples or ids that are no integers.
    ValueError
        For triples of another shape or with entities or relations out of range, and for names and
        ids that are not as many as there are entities.

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
        rows = _checked(triples, size, "size")
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
    """Refuse relations that are negative, or have no name or id where others have."""
    known = [len(fields[k]) for k in ("relations", "relation_ids") if fields[k] is not None]
    bound = min(known, default=np.iinfo(np.int64).max)
    row = first_outside(np.ascontiguousarray(relations), bound)
    if row >= 0:
        upto = f"from 0 to {bound - 1}" if known else "from 0 on"
        raise InputValueError(
            "triples", expected=f"relations {upto}", got=f"{relations[row]} in triple {row}"
        )


def degrees(triples: Any, entities: int) -> IntArray:
    """Count the triples of every entity: the distinct ones in which it is head or tail.

    ``d(e) = #{(h, r, t) distinct: h = e or t = e}``, so that a triple of an entity with itself
    counts once, and a repeated triple, too. This is the number of relation triples of an entity, of
    which OpenEA ("A Benchmarking Study of Embedding-based Entity Alignment", section 5.2) adds up
    two for the degree of an aligned pair. (The scripts beside OpenEA's code, which made the figure,
    count a triple of an entity with itself twice, and halve the sum of the pair.)

    Parameters
    ----------
    triples : array of int, shape (n, 3)
        Head, relation, tail. Further columns tell triples apart, too.
    entities : int
        How many entities there are; ids run from 0.

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
    rows = _checked(triples, entities, "entities")
    columns = distinct_rows(list(rows.T))
    heads, tails = columns[0], columns[2]
    found = np.bincount(heads, minlength=int(entities))
    found += np.bincount(tails[tails != heads], minlength=int(entities))
    return found.astype(np.int64, copy=False)


def _checked(triples: Any, entities: Any, name: str) -> IntArray:
    """Check that these are triples of so many entities, and give them as int64."""
    if isinstance(entities, bool) or not isinstance(entities, (int, np.integer)):
        raise InputTypeError(name, expected="how many there are", got=type(entities).__name__)
    if entities < 0:
        raise InputValueError(name, expected="how many there are", got=entities)
    try:
        array = np.asarray(triples)
    except ValueError as error:  # a ragged list
        raise InputValueError("triples", expected="shape (n, 3) or wider", got=error) from None
    if array.size == 0 and array.ndim == 1:
        array = np.zeros((0, 3), dtype=np.int64)
    rows = as_integers("triples", array, copy=False)
    if rows.ndim != 2 or rows.shape[1] < 3:
        raise InputValueError(
            "triples", expected="shape (n, 3) or wider", got=f"shape {rows.shape}"
        )
    for column, what in ((0, "head"), (2, "tail")):
        row = first_outside(np.ascontiguousarray(rows[:, column]), int(entities))
        if row >= 0:
            raise InputValueError(
                "triples",
                expected=f"entity ids below {entities}",
                got=f"{rows[row, column]} as the {what} of triple {row}",
            )
    return rows
