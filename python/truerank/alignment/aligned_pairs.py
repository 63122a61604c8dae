"""Aligned pairs, and ids of the two graphs: checks, splits in any form, the sets of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import distinct, without
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import choice
from ..records.columns import PAIRS
from ..records.id_tables import SplitTables, read_tables
from ..records.vocabularies import Vocabulary
from ..tasks.candidates import name_of_sets

if TYPE_CHECKING:
    from ..arrays.types import IntArray

    Candidates = tuple[IntArray, IntArray]


# They are also the columns of a pair.
GRAPHS = ("left", "right")
# Directions lead from the graph of queries to the other.
DIRECTIONS = ("left_to_right", "right_to_left")


def as_ids(name: str, value: Any, size: int) -> IntArray:
    """Check ids of one graph, and return them ascending and distinct; None stands for all.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int, shape (n,), or None
    size : int
        The number of entities of the graph.

    Raises
    ------
    TypeError, ValueError
        For anything else, and ids out of range.

    Examples
    --------
    >>> as_ids("candidates", [3, 1, 3], 4)
    array([1, 3])
    """
    if value is None:
        return np.arange(size)
    return Vocabulary(size, None).set_of(name, value)


CANDIDATE_NAMES = ("all", "test", "unaligned")


def read_pair_splits(
    splits: Mapping[str, tuple[str, Any]],
    entities: Sequence[Any],
    columns: Any = None,
    header: bool | None = None,
) -> SplitTables:
    """Read splits of an alignment.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and its pairs: an array of ints of
        shape (m, 2), rows, columns, a frame, or the path of a .npy file or of tab-separated text.
    entities : (left, right)
        The number of entities of each graph, or their labels in order or as a mapping to ids.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "left" and "right".
    header : bool, optional
        Whether the first line of a file names its columns.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything but pairs, ids out of range, unknown labels, and entities of another type.
    """
    orders = dict(zip(GRAPHS, entities, strict=True))
    for name, order in orders.items():
        if order is None:
            expected = "the number of entities, or their labels"
            raise InputTypeError(name, expected=expected, got="None")
    return read_tables(splits, PAIRS, orders, columns=columns, header=header)


def as_candidates(value: Any, splits: SplitTables, test: IntArray) -> tuple[str, Candidates | None]:
    """Check the argument `candidates`, and list the candidates.

    Parameters
    ----------
    value : {"all", "test", "unaligned"}, or mapping
        The candidates; of each side, if a mapping.
    splits : SplitTables
        The evaluated split, which comes first, and the known ones.
    test : ndarray of int64, shape (n, 2)
        The pairs that are ranked.

    Returns
    -------
    name : str
        "all", "test", "unaligned", or "selection of N x M (digest)".
    ids : (left ids, right ids), or None
        The candidates, ascending; None for all entities.

    Raises
    ------
    TypeError, ValueError
        For an unknown name, ids out of range, unknown labels, "unaligned" without known splits, and
        lists that lack an entity of the test.
    """
    test_entities = distinct(test[:, 0]), distinct(test[:, 1])
    if isinstance(value, str):
        choice("candidates", value, CANDIDATE_NAMES)
        if value == "all":
            return value, None
        if value == "test":
            return value, test_entities
        return value, _list_unaligned(splits, test_entities)
    forward, backward = DIRECTIONS
    expected = f"one of {', '.join(CANDIDATE_NAMES)}, or those of {forward} and {backward} by side"
    if not isinstance(value, Mapping):
        raise InputTypeError("candidates", expected=expected, got=type(value).__name__)
    if set(value) != {forward, backward}:
        got = ", ".join(map(repr, value))
        raise InputValueError("candidates", expected=expected, got=got)
    lists = []
    graphs = splits.vocabularies.values()
    # Ranked from right to left are left entities, and the other way round.
    for j, (side, graph) in enumerate(zip((backward, forward), graphs, strict=True)):
        title = f"candidates: {side}"
        ids = graph.set_of(title, value[side])
        missing = without(test_entities[j], ids)
        if len(missing):
            share = f"{len(missing):,} of {len(test_entities[j]):,}"
            first = graph.label_of(int(missing[0]))
            problem = f"{share} {GRAPHS[j]} entities of the test are missing, first {first!r}"
            raise InputValueError(title, problem)
        lists.append(ids)
    left_ids, right_ids = lists
    return name_of_sets([left_ids, right_ids]), (left_ids, right_ids)


def _list_unaligned(splits: SplitTables, test_entities: Candidates) -> Candidates:
    """Return the entities of each graph that no known pair has, and those of the test."""
    if not splits.known:
        problem = '"unaligned" leaves out what known pairs align, but there are no known splits'
        raise InputValueError("candidates", f"{problem}; give known=")
    known = splits.rows[splits.tested :]
    lists = []
    for j, graph in enumerate(splits.vocabularies.values()):
        is_free = np.ones(graph.size, dtype=bool)
        is_free[known[:, j]] = False
        is_free[test_entities[j]] = True  # Entities of the test always stay.
        lists.append(np.flatnonzero(is_free))
    return lists[0], lists[1]
