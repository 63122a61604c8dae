"""Scored tasks: scores to rank under one or several conventions, and their exact ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..counting.ranking import rank
from ..counting.sampled import rank_against
from ..inputs.arrays import index_array, is_tensor
from ..inputs.errors import InputTypeError
from ..inputs.scores import as_scores
from ..inputs.selection import as_selection
from ..stores import is_stored
from .convention_counts import (
    ConventionCounts,
    TaskBlock,
    as_floats,
    count_block,
    counts_of_ranks,
    needs_scores,
    selection_mask,
    task_slices,
)
from .conventions import EXACT, PLACES, Convention

if TYPE_CHECKING:
    from ..inputs.words import ScoreOrder
    from ..ranks.container import Ranks


class ScoredTasks:
    """Tasks with exact counts, whose scores can be counted under other conventions.

    Attributes
    ----------
    exact : Ranks
        The exact ranks, with ``nan="worst"`` and an audit.
    filtered : bool
        Whether there is a filter.
    """

    exact: Ranks
    filtered: bool = False

    def blocks(self) -> Iterator[TaskBlock]:
        """Yield the scores, block by block, in the order of the tasks."""
        raise NotImplementedError

    def counts(self, conventions: Sequence[Convention]) -> list[ConventionCounts]:
        """Count under several conventions, in one pass over the scores if the scores are needed.

        Parameters
        ----------
        conventions : sequence of Convention
        """
        audit = self.exact.audit
        nonfinite = 0 if audit is None else int(audit.nan.sum() + audit.inf.sum())
        exact = counts_of_ranks(self.exact)
        tied = bool((self.exact.tied > 1).any())
        counting_conventions = [_for_counting(c) for c in conventions]
        counted: dict[Convention, list[ConventionCounts]] = {
            c: [] for c in counting_conventions if needs_scores(c, nonfinite, tied)
        }
        if counted:
            for block in self.blocks():
                for convention, found in counted.items():
                    found.append(count_block(block, convention))
        return [_concatenate(counted[c]) if counted.get(c) else exact for c in counting_conventions]


class FullTasks(ScoredTasks):
    """Tasks with a score for every candidate, in memory, as `rank` takes them."""

    def __init__(
        self,
        scores: Any,
        targets: Any,
        *,
        rows: Any = None,
        filter: Any = None,
        candidates: Any = None,
        order: ScoreOrder = "descending",
        dtype: Any = None,
    ) -> None:
        if is_stored(scores) and not isinstance(scores, np.ndarray) and not is_tensor(scores):
            raise InputTypeError(
                "scores",
                expected="an array in memory or a memory map",
                got=f"{type(scores).__name__}; np.load(path, mmap_mode='r') maps a .npy",
            )
        found = as_scores(scores, dtype)
        given: dict[str, Any] = {"rows": rows, "filter": filter, "candidates": candidates}
        self.exact = rank(
            scores, targets, **given, order=order, dtype=dtype, nan="worst", audit=True
        )
        tasks = len(self.exact)
        self._array = found.with_array(np.atleast_2d(found.array))
        self._columns = columns = self._array.array.shape[1]
        self._order = order
        self._targets = np.broadcast_to(index_array("targets", targets), tasks)
        if rows is not None:
            self._rows = index_array("rows", rows)
        else:
            self._rows = np.arange(tasks) if len(self._array.array) > 1 else np.zeros(tasks, int)
        self._filter = as_selection("filter", filter, tasks, columns, 0)
        self.filtered = filter is not None
        self._candidates = as_selection("candidates", candidates, tasks, columns, 0)

    def blocks(self) -> Iterator[TaskBlock]:
        """Yield the scores of one slice of tasks after another."""
        for where in task_slices(len(self.exact), self._columns):
            block = self._array.array[self._rows[where]]
            values = as_floats(self._array.with_array(block), self._order)
            place = np.arange(len(values)), self._targets[where]
            is_true = np.zeros(values.shape, bool)
            is_true[place] = True
            others = selection_mask(self._candidates, where, self._columns, True) & ~is_true
            filtered = selection_mask(self._filter, where, self._columns, False) & ~is_true
            true_scores = values[place][:, None]
            yield TaskBlock(values, true_scores, others, filtered, is_true, self.filtered)


class SampledTasks(ScoredTasks):
    """Tasks with scores of sampled negatives, as `rank_against` takes them."""

    def __init__(
        self, true_scores: Any, others: Any, *, order: ScoreOrder = "descending", dtype: Any = None
    ) -> None:
        rules: dict[str, Any] = {"order": order, "dtype": dtype, "nan": "worst", "audit": True}
        self.exact = rank_against(true_scores, others, **rules)
        self._order = order
        self._true_scores = as_floats(as_scores(true_scores, dtype, "true_scores"), order)[:, None]
        self._is_ragged = isinstance(others, tuple)
        values = others[0] if self._is_ragged else others
        self._others = as_scores(values, dtype, "others")
        if self._is_ragged:
            self._indptr = index_array("others: indptr", others[1])
        else:
            self._indptr = np.arange(len(self.exact) + 1) * self._others.array.shape[1]

    def blocks(self) -> Iterator[TaskBlock]:
        """Yield the scores of one slice of tasks after another; short rows are padded."""
        indptr, lengths = self._indptr, np.diff(self._indptr)
        widest = int(lengths.max(initial=0))
        for where in task_slices(len(self.exact), widest):
            true_scores = self._true_scores[where]
            is_listed = np.arange(widest) < lengths[where, None]
            part = slice(indptr[where.start], indptr[where.stop]) if self._is_ragged else where
            block = self._others.with_array(self._others.array[part])
            values = as_floats(block, self._order)
            if self._is_ragged:
                padded = np.zeros(is_listed.shape, true_scores.dtype)
                padded[is_listed] = values
                values = padded
            none = np.zeros(is_listed.shape, bool)
            yield TaskBlock(values, true_scores, is_listed, none, none, False)


def _for_counting(convention: Convention) -> Convention:
    """Drop what does not affect the counts: the arithmetic, and a place in a tie but by column."""
    by_column = PLACES[convention.rank].before is not None
    return replace(convention, rank=convention.rank if by_column else EXACT.rank, mean=EXACT.mean)


def _concatenate(blocks: list[ConventionCounts]) -> ConventionCounts:
    return ConventionCounts(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
