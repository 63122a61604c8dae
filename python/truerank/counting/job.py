"""The job of a count: its tasks, selections and rules, checked; and the errors of its faults."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _core, counting
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import as_array, index_array
from ..inputs.checks import check_range, check_shape, forbidden_nan, is_sparse
from ..inputs.rules import PLAIN
from ..inputs.selection import Tasks, as_selection, selection_arrays
from ..ranks.container import Audit, Ranks
from ..ranks.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..arrays.types import IntArray
    from ..inputs.rules import Rules
    from ..stores import Store

    # The core takes scores, or vectors whose scores it makes.
    CoreScores = _core.Scores | _core.FileScores | _core.Embeddings

FEW_TASKS = 12  # The mean rank of so few is never far above that of chance, so no finding asks.
_TASKS_AT_A_TIME = 1 << 14
NO_COLUMN = -1  # It stands for the target's column where there is none.
NO_TARGETS = ...


@dataclass  # To freeze it would take a tenth of a small call.
class Job(Tasks):
    """What is to be counted, after all checks: the tasks, their selections and the rules."""

    rules: Rules = PLAIN
    is_turned: bool = False  # Rows of the scores are columns of those that a user gave.
    block: int = 0  # So many entities are scored at a time; the core chooses if it is 0.
    listener: _core.Listener | None = None  # It hears how far the core has come with vectors.

    def count(self, scores: CoreScores, left: int = 0) -> _core.Counts:
        """Let the core count scores, or vectors as it scores them, from a column on."""
        tasks = _core.Tasks(self.rows, self.targets, self.filter, self.candidates)
        rules = self.rules.core
        threads = self.rules.num_threads
        true_scores = self.true_scores
        first_column = self.first_column + left
        if isinstance(scores, _core.Embeddings):
            block = self.block
            listener = self.listener
            if true_scores is None:
                return _core.rank_embeddings(scores, tasks, rules, block, threads, listener)
            return _core.partial_embedding_counts(
                scores, tasks, true_scores, first_column, rules, block, threads, listener
            )
        if true_scores is None:
            return _core.rank(scores, tasks, rules, threads)
        return _core.partial_counts(scores, tasks, true_scores, first_column, rules, threads)

    def counts_of(self, scores: _core.Scores) -> dict[str, IntArray]:
        """Let the core count an array in memory; raise the error of a fault that it found."""
        counts = self.count(scores)
        if counts.fault is not None:
            raise self.error_of(counts.fault)
        return counts.arrays

    def check_targets(self) -> None:
        """Raise for a target that is not among the candidates of its task."""
        if self.candidates is not None:
            absent = self.candidates.first_task_without(self.targets)
            if absent >= 0:
                raise self.error_of(_core.Fault("target", absent, -1, -1))

    def facts(self) -> dict[str, Any]:
        """Return, by argument, what tells this job from others: digests of arrays, and words."""
        return {
            "targets": sha256_of(self.targets),
            "rows": sha256_of(self.rows),
            "filter": sha256_of(self.filter),
            "candidates": sha256_of(self.candidates),
            "order": self.rules.order,
            "nan": self.rules.nan,
            "audit": self.rules.audit,
        }

    def error_of(self, fault: _core.Fault) -> InputValueError:
        """Return the error for a fault that the core found."""
        if self.is_turned:
            fault = _core.Fault(fault.kind, fault.task, fault.column, fault.row)
        return fault_error(fault, self.rules.nan, self.targets)

    def error_of_true_nan(self, row: int, column: int) -> InputValueError:
        """Return the error for a true score that is NaN, which the rule forbids."""
        kind: Literal["nan", "nan_true_score"] = "nan"
        if self.rules.nan == "omit":
            kind = "nan_true_score"
        return self.error_of(_core.Fault(kind, -1, row, column))

    def ranks(
        self,
        counts: Mapping[str, Any],
        dtype: str | None,
        files: tuple[str, ...] = (),
        device: str | None = None,
        **fields: Any,
    ) -> Ranks:
        """Make Ranks of new arrays of counts: above, tied, candidates, and what else there may be.

        Others are those of an audit, "masked", and of lists "listed" and "lengths". `fields` are
        further ones of the protocol: sampled, similarity, lists, depth.
        """
        arrays = {
            "above": counts["above"],
            "tied": counts["tied"],
            "candidates": counts["candidates"],
        }
        if "inf" in counts:
            zeros = np.zeros_like(counts["inf"])
            arrays["audit"] = np.array([counts.get(name, zeros) for name in Audit._fields])
        if "masked" in counts:
            arrays["masked"] = counts["masked"]
        if "listed" in counts:
            arrays["listed"] = counts["listed"]
            arrays["lengths"] = counts["lengths"]
        has_filter = self.filter is not None
        has_candidates = self.candidates is not None
        fields |= {"dtype": dtype, "files": files, "device": device}
        protocol = _protocol(has_filter, has_candidates, self.rules.nan, self.rules.order, **fields)
        return Ranks._of(arrays, {}, protocol)

    def mark_masked(self, ranks: Ranks, scores: _core.Scores | Store) -> Ranks:
        """Mark tasks whose true score is -inf (inf if lower ones are better), if any is.

        Only true scores that no candidate is below are read. None is read of few tasks, of those
        that were marked before, or where a device has counted.
        """
        if len(self.targets) <= FEW_TASKS or ranks.masked is not None:
            return ranks
        if ranks.protocol.device not in (None, getattr(scores, "host_place", None)):
            return ranks
        above, tied, candidates = ranks.above, ranks.tied, ranks.candidates
        parts = []  # Parts are so small that their sums stay in the cache.
        for begin in range(0, len(above), _TASKS_AT_A_TIME):
            part = slice(begin, begin + _TASKS_AT_A_TIME)
            parts.append(begin + np.flatnonzero(above[part] + tied[part] == candidates[part]))
        last_tasks = np.concatenate(parts)
        masked_tasks = []
        for begin in range(0, len(last_tasks), _TASKS_AT_A_TIME):
            tasks = last_tasks[begin : begin + _TASKS_AT_A_TIME]
            rows = tasks if self.rows is None else self.rows[tasks]
            if isinstance(scores, _core.Scores):
                true = np.atleast_2d(scores.array)[rows, self.targets[tasks]]
                true = true.astype(true.dtype.newbyteorder("="), copy=False)
            else:
                true = np.ascontiguousarray(scores.take(rows, self.targets[tasks]))
            keys, lowest, highest, are_floats = _core.Scores(true, scores.dtype, False).keys()
            if are_floats:
                worst = highest if self.rules.is_ascending else lowest
                masked_tasks.append(tasks[keys == worst])
        if not any(map(len, masked_tasks)):
            return ranks
        masked = np.zeros(len(above), bool)
        masked[np.concatenate(masked_tasks)] = True
        return ranks._with({"masked": masked})


def prepare_job(
    shape: tuple[int, ...],
    targets: Any,
    rows: Any,
    filter: Any,
    candidates: Any,
    rules: Rules,
    *,
    shared: bool = True,
) -> Job:
    """Check the arguments of `rank`; raises its errors.

    Scores of shape (rows, columns) have a task in each row. Those of shape (columns,), or (1,
    columns) if the row may be `shared`, have a row that all tasks read. `rows` say otherwise. With
    `NO_TARGETS` all candidates are counted; then one task reads a single row.
    """
    columns = shape[-1]
    height = shape[0] if len(shape) == 2 else 1
    is_single_row = len(shape) == 1 or (shared and height == 1)
    tasks = 1
    task_rows = None
    owner = None  # What has one task each; None where all tasks read a single row.
    if rows is not None:
        task_rows = index_array("rows", rows)
        check_shape("rows", task_rows.shape, 1, "a 1-D array")
        tasks = len(task_rows)
        owner = "entry of rows"
    elif not is_single_row:
        tasks = height
        owner = "row"
    if targets is NO_TARGETS:
        task_targets = np.full(tasks, NO_COLUMN, np.int64)
    else:
        task_targets = _read_targets(targets, tasks, owner, columns)
        tasks = len(task_targets)
    if task_rows is not None:
        check_range("rows", task_rows, height, "rows")
    elif is_single_row:
        task_rows = np.zeros(tasks, np.int64)
    threads = rules.num_threads
    if filter is not None:
        filter = as_selection("filter", filter, tasks, columns, threads)
    if candidates is not None:
        candidates = as_selection("candidates", candidates, tasks, columns, threads)
    return Job(task_rows, task_targets, filter, candidates, rules=rules)


_OBJECTS = np.dtype(object)


def _read_targets(targets: Any, tasks: int, owner: str | None, columns: int) -> IntArray:
    """Check the targets of tasks, one for each `owner`, or one for all."""
    if type(targets) is int and 0 <= targets < columns:  # Checks take longer than a small count.
        column = np.empty(tasks, np.int64)
        column.fill(targets)  # np.full takes three times as long.
        return column
    is_listed = isinstance(targets, (list, tuple)) or getattr(targets, "dtype", None) is _OBJECTS
    first = None
    if is_listed or (getattr(targets, "ndim", 0) == 2 and not is_sparse(targets)):
        first = next(iter(targets), None)
    is_row = getattr(first, "ndim", 0) > 0 or isinstance(first, (list, tuple))
    if is_row and as_array(first, "targets").dtype.kind == "f":  # These are scores of candidates.
        way = Option("", effect="takes scores first", call="evaluate(scores, targets)")
        got = "fractions, a row for each task"
        raise InputTypeError("targets", "", "integers", got, remedies=[way])
    if isinstance(first, (list, tuple, np.ndarray)) and is_listed:  # A row has several targets.
        expected = "integers; if a row has several, np.concatenate(targets) with "
        expected += "rows=np.repeat(np.arange(n), lengths)"
        raise InputTypeError("targets", expected=expected, got="a list of each row")
    array = index_array("targets", targets)
    if array.ndim == 0:
        # This comes before memory is taken: scores without columns can have any number of rows.
        check_range("targets", array.reshape(1)[:tasks], columns, "candidates")
        array = np.full(tasks, array, dtype=np.int64)
    if array.ndim > 1 or (owner is not None and len(array) != tasks):
        expected = f"{tasks} integers, one for each {owner or 'row'}, or one for all"
        raise InputValueError("targets", expected=expected, got=f"shape {array.shape}")
    check_range("targets", array, columns, "candidates")
    return array


def refuse_places(scores: _core.Scores | Store, rules: Rules, *ways: Option) -> None:
    """Refuse ids and ranks as scores unless `order` is named, as `refuse_permutations` does.

    Of scores in memory the first is looked at here: it mostly has a fraction, as no id has. Of
    floats on a device none is, for a copy of one would wait for all that makes them.
    """
    if isinstance(scores, _core.Scores):
        first = scores.array.item(0) if scores.array.size else 0
        are_clear = isinstance(first, float) and first % 1 != 0  # A NaN and infinities are, too.
    else:
        are_clear = bool(scores.device) and "int" not in scores.dtype
    if not (rules.is_order_named or are_clear):
        counting.orders.refuse_permutations(scores, *ways)


def sha256_of(*values: Any) -> str:
    """Return the SHA-256 of arrays with their shapes, selections, words and None."""
    import hashlib

    sha = hashlib.sha256()
    for value in values:
        array = value
        if isinstance(value, _core.Selection):
            array = np.frombuffer(sha256_of(*selection_arrays(value)).encode(), np.uint8)
        if isinstance(array, np.ndarray):
            if array.dtype.kind == "i":  # Integers of any size are the same numbers.
                array = array.astype(np.int64, copy=False)
            sha.update(f"{array.dtype.str}{array.shape}".encode())
            sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        else:
            sha.update(repr(value).encode())
    return sha.hexdigest()


def fault_error(fault: _core.Fault, nan: str, targets: IntArray) -> InputValueError:
    """Return the error for a fault that the core found."""
    task = fault.task
    if fault.kind == "target":
        problem = f"the target {targets[task]} of task {task} is not among its candidates"
        return InputValueError(
            "candidates", f"{problem}; if these are only negatives, add the target"
        )
    score = "the true score" if fault.kind == "nan_true_score" else "a score"
    return forbidden_nan("scores", f"{score} at row {fault.row}, column {fault.column}", nan)


@lru_cache(maxsize=64)
def _protocol(
    has_filter: bool, has_candidates: bool, nan: str, order: str, **fields: Any
) -> Protocol:
    """Return the protocol of counts; equal ones are one object, since it is slow to check."""
    filter: tuple[str, ...] = ("unnamed",) if has_filter else ()
    candidates = "selection" if has_candidates else "all"
    return Protocol(
        filter=filter,
        candidates=candidates,
        nan=nan,
        order=order,
        version=_core.__version__,
        **fields,
    )
