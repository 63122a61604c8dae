"""The task of entity alignment: pairs in, rankings in both directions to be made out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.checks import choice
from ..ranks.labels import Labels
from ..ranks.protocol import Protocol
from ..tasks.answers import ask
from ..tasks.split_audit import RULES
from ..tasks.split_columns import check_split, named_splits
from ..tasks.task import SideTasks
from .entity_sets import as_candidates
from .evaluations import Evaluated
from .pairs import examine, read_pair_splits

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .entity_sets import Candidates
    from .pairs import PairAudit, PairSplits

# side -> (the column of a pair that asks, the one that is asked for); its order is that of tasks
SIDES = {"left_to_right": (0, 1), "right_to_left": (1, 0)}


class Task(Evaluated):
    """Entity alignment: the counterpart of every test entity, in both directions.

    Parameters
    ----------
    pairs : array of int or str, shape (m, 2), list of tuples, or path
        The pairs to be ranked: an entity of the left graph, its counterpart in the right one.
        Integers are ids, str labels; a path ending in .npy is an array of ids, any other file
        tab-separated text, gzipped where its name ends in .gz. Text holds labels, unless `left` (or
        `right`) is an int: then its column holds ids.
    left, right : int, sequence of str, or mapping of str to int
        How many entities each graph has, those without a counterpart too: as many as vectors, or
        rows and columns of scores. Or their labels in that order, or a mapping to ids.
    candidates : {"all", "test", "unaligned"} or (left_ids, right_ids)
        Among which entities of the other graph a counterpart is looked for. "all": every one,
        exclusive ones too. "test": those of the test pairs, an easier task the fewer these are.
        "unaligned": all but those that a known pair aligns (an entity of a test pair stays, also
        where a known pair has it). Or ids or labels of both graphs; the protocol names them by
        their numbers and a digest, as "selection of 40 x 52 (3f2a91c0)".
    known : dict of str to split, list of splits, one split, or None
        What else is known to be aligned, as training pairs; a list is named known_0, known_1, ...
        The other right answers of a query, those of the test itself too, are left out of its
        candidates in both directions, for an entity may have several counterparts. What the test
        repeats of these splits is counted in the audit.
    split : str
        The name of the evaluated split.
    duplicates, leaks : {"keep", "drop", "raise"}
        What to do with test pairs that repeat an earlier one, and that a known split has too. Those
        kept warn.

    Attributes
    ----------
    sides : dict of str to SideTasks
        Also as `left_to_right` and `right_to_left`. Their queries are entities, (m, 1).
    protocol : Protocol
    audit : PairAudit
        What was found, counted and by example; `print(task.audit)`.
    pairs : ndarray of int64, shape (n, 2), read-only
        The test pairs that are ranked, as ids.
    left, right : tuple of str, or None
        The labels of the ids.
    candidates : (left ids, right ids), or None
        The candidates of both graphs, ascending and read-only; None for all.

    Raises
    ------
    TypeError, ValueError
        For pairs that are none, ids out of range, unknown labels, explicit candidates that lack an
        entity of the test, "unaligned" without known splits, and no pairs at all; messages name the
        split.
    OSError
        For files that are missing or damaged.

    Warns
    -----
    UserWarning
        For duplicates and leaks that are kept.

    Notes
    -----
    Every task is labelled: "queries" (the entity that asks) and "targets" (its counterpart), by
    label where both graphs have labels, else by id; and "pair" (the row of `pairs`), which both
    directions share. A pair's two ranks come from one score and are not independent:
    ``truerank.compare(a, b, by="pair")`` and ``report.interval("mrr", by="pair")`` draw both.

    That all entities are candidates is what an alignment of two graphs faces; most published
    numbers have those of the test pairs alone, and rise as the test shrinks (Berrendorf, Faerman,
    Vermue, Tresp: On the ambiguity of rank-based evaluation of entity alignment or link prediction
    methods, 2020).

    Examples
    --------
    >>> task = Task([(0, 0), (1, 2)], left=3, right=4, known={"train": [(0, 3)]})
    >>> task.left_to_right.queries.tolist(), task.left_to_right.filter
    ([[0], [1]], (array([0, 2, 3]), array([0, 3, 2])))
    >>> print(task.protocol)
    split test, filtered by train + test, all candidates, nan raise
    """

    audit: PairAudit
    pairs: IntArray
    left: tuple[str, ...] | None
    right: tuple[str, ...] | None
    candidates: tuple[IntArray, IntArray] | None

    def __init__(
        self,
        pairs: Any,
        *,
        left: Any,
        right: Any,
        candidates: Any = "all",
        known: Any = None,
        split: str = "test",
        duplicates: str = "keep",
        leaks: str = "keep",
    ) -> None:
        given = {"left": left, "right": right, "candidates": candidates, "known": known}
        for text in self._read(pairs, **given, split=split, duplicates=duplicates, leaks=leaks):
            warnings.warn(text, stacklevel=2)

    def _read(
        self,
        pairs: Any,
        *,
        left: Any,
        right: Any,
        candidates: Any,
        known: Any,
        split: str,
        duplicates: str,
        leaks: str,
    ) -> tuple[str, ...]:
        """Make the tasks; give what must be said of their pairs."""
        rules = {"duplicates": duplicates, "leaks": leaks}
        for name, rule in rules.items():
            choice(name, rule, RULES)
        known_splits = named_splits(known)
        check_split(split, known_splits)
        splits = read_pair_splits({split: (split, pairs), **known_splits}, (left, right))
        if not splits.sizes[split]:
            raise ValueError(f"{split}: expected at least one pair, got none")
        examined = examine(splits, rules)
        self.audit = examined.audit
        self.left, self.right = (graph.names for graph in splits.graphs)
        self.pairs = np.ascontiguousarray(splits.pairs[examined.kept])
        chosen = as_candidates(candidates, splits, self.pairs)
        self.candidates = chosen.ids
        self._lock()
        super().__init__(
            {side: _make_side(side, splits, examined.kept, chosen) for side in SIDES},
            Protocol(filter=(*known_splits, split), candidates=chosen.name, split=split),
        )
        return examined.notes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock()  # a pickle does not keep what is read-only

    def _lock(self) -> None:
        for array in (self.pairs, *(self.candidates or ())):
            array.flags.writeable = False

    @property
    def left_to_right(self) -> SideTasks:
        """The tasks whose queries are left entities, and whose candidates right ones."""
        return self.sides["left_to_right"]

    @property
    def right_to_left(self) -> SideTasks:
        """The tasks whose queries are right entities, and whose candidates left ones."""
        return self.sides["right_to_left"]

    def __repr__(self) -> str:
        left, right = self.right_to_left.columns, self.left_to_right.columns
        pairs = f"{len(self.pairs):,} pair{'' if len(self.pairs) == 1 else 's'}"
        return f"Task({pairs} of {left:,} left and {right:,} right entities; {self.protocol})"


def _make_side(side: str, splits: PairSplits, kept: IntArray, candidates: Candidates) -> SideTasks:
    """Make the tasks of one direction."""
    asking, asked_for = SIDES[side]
    asked = ask(splits.pairs, kept, (asking,), asked_for)
    named = all(graph.names is not None for graph in splits.graphs)

    def labels(column: int) -> Labels:
        names = splits.graphs[column].names if named else None
        return Labels(splits.pairs[kept, column], names)

    return SideTasks(
        side=side,
        queries=asked.queries,
        rows=asked.rows,
        targets=asked.targets,
        columns=splits.graphs[asked_for].size,
        filter=asked.answers,
        candidates=None if candidates.ids is None else candidates.ids[asked_for],
        labels={
            "queries": labels(asking),
            "targets": labels(asked_for),
            "pair": Labels(np.arange(len(kept))),
        },
        given=kept,
        height=next(iter(splits.sizes.values())),
        names=splits.graphs[asked_for].names,
    )
