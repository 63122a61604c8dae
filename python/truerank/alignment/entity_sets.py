"""Candidate sets: among which entities of the other graph a counterpart is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..tasks.chosen import chosen_ids, digest
from ..tasks.row_keys import distinct
from .ids import GRAPHS

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .pairs import PairSplits

NAMED = ("all", "test", "unaligned")


class Candidates(NamedTuple):
    """A candidate set as a protocol names it.

    Attributes
    ----------
    name : str
        "all", "test", "unaligned", or "selection of N x M (digest)".
    ids : (left ids, right ids), or None
        The entities, ascending; None for all.
    """

    name: str
    ids: tuple[IntArray, IntArray] | None = None


def as_candidates(value: Any, splits: PairSplits, test: IntArray) -> Candidates:
    """Check what was passed as candidates, and list them.

    Parameters
    ----------
    value : {"all", "test", "unaligned"} or (left_ids, right_ids)
        The candidates.
    splits : PairSplits
        The evaluated split, which comes first, and the known ones.
    test : ndarray of int64, shape (n, 2)
        The pairs that are ranked.

    Returns
    -------
    Candidates

    Raises
    ------
    TypeError, ValueError
        For an unknown name, ids out of range, unknown labels, "unaligned" without known splits, and
        for lists that lack an entity of the test.
    """
    if not isinstance(value, (str, tuple, list)):
        raise InputTypeError("candidates", expected=f"{_FORMS}", got=type(value).__name__)
    if not isinstance(value, str):
        return _explicit(value, splits, test)
    if value not in NAMED:
        raise InputValueError("candidates", expected=f"{_FORMS}", got=repr(value))
    if value == "unaligned" and len(splits.sizes) < 2:
        raise InputValueError(
            "candidates",
            (
                '"unaligned" leaves out what known pairs align, but there are no known '
                "splits; give known="
            ),
        )
    if value == "all":
        return Candidates(value)
    in_test = (distinct(test[:, 0]), distinct(test[:, 1]))
    if value == "test":
        return Candidates(value, in_test)
    known = splits.pairs[next(iter(splits.sizes.values())) :]
    left, right = (
        _unaligned(graph.size, known[:, j], in_test[j]) for j, graph in enumerate(splits.graphs)
    )
    return Candidates(value, (left, right))


_FORMS = f"one of {', '.join(NAMED)}, or (left_ids, right_ids)"


def _unaligned(size: int, aligned: IntArray, in_test: IntArray) -> IntArray:
    """All entities but those of known pairs; one of the test stays, wherever else it is."""
    free = np.ones(size, dtype=bool)
    free[aligned] = False
    free[in_test] = True
    return np.flatnonzero(free)


def _explicit(value: Any, splits: PairSplits, test: IntArray) -> Candidates:
    """Read the lists of both graphs, which must have all that is asked and answered."""
    if len(value) != len(GRAPHS):
        raise InputValueError("candidates", expected=f"{_FORMS}", got=f"{len(value)} members")
    lists = []
    for j, (name, graph) in enumerate(zip(GRAPHS, splits.graphs, strict=True)):
        title = f"candidates[{j}]"
        ids = chosen_ids(title, value[j], graph, f"{name} is no list of labels")
        there = np.zeros(graph.size, dtype=bool)
        there[ids] = True
        asked = distinct(test[:, j])
        missing = asked[~there[asked]]
        if len(missing):
            raise InputValueError(
                title,
                (
                    f"{len(missing):,} of {len(asked):,} {name} entities of the test are not "
                    f"among the candidates, first {graph.show(int(missing[0]))!r}"
                ),
            )
        lists.append(ids)
    left, right = lists
    name = f"selection of {len(left)} x {len(right)} ({digest(left, right)})"
    return Candidates(name, (left, right))
