"""The job of a count: its tasks, selections and rules, checked; and the errors of its faults."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _core, counting
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import as_array, check_range, check_shape, index_array
from ..inputs.checks import forbidden_nan, is_sparse
from ..inputs.rules import PLAIN
from ..inputs.selection import Tasks, as_selection, selection_arrays
from ..ranks.container import Audit, Ranks
from ..ranks.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ..arrays import IntArray
    from ..inputs.rules import Rules
    from ..stores import Store

    # The core takes scores, or vectors whose scores it makes.
    CoreScores = _core.Scores | _core.FileScores | _core.Embeddings

FEW_TASKS = 12  # The mean rank of so few is never far above that of chance, so no finding asks.
_TASKS_AT_A_TIME = 1 << 14
NO_COLUMN = -1  # It stands for the target's column where there is none.
NO_TARGETS = ...  # It stands for targets where there are only other candidates.


@dataclass  # To freeze it would take a tenth of a small call.
class Job(Tasks):
    """What is to be counted, after all checks: the tasks, their selections and the rules."""

    rules: Rules = PLAIN
    is_turned: bool = False  # Rows of the scores are columns of those that a user gave.
    block: int = 0  # So many entities are scored at a time; the core chooses if it is 0.
    listener: _core.Listener | None = None  # It hears how far the core has come with vectors.

    def count(
        self,
        scores: CoreScores,
        columns_before: int = 0,
        counted: dict[str, IntArray] | None = None,
    ) -> _core.Counts:
        """Let the core count scores, or vectors that it scores, which lie after some columns.

        Partial counts of scores are added to what was counted before, in new arrays.
        """
        tasks = _core.Tasks(self.rows, self.targets, self.filter, self.candidates)
        rules = self.rules.core
        threads = self.rules.num_threads
        true_scores = self.true_scores
        first = self.first_column + columns_before
        if isinstance(scores, _core.Embeddings):
            options = (rules, self.block, threads, self.listener)
            if true_scores is None:
                return _core.rank_embeddings(scores, tasks, *options)
            return _core.partial_embedding_counts(scores, tasks, true_scores, first, *options)
        if true_scores is None:
            return _core.rank(scores, tasks, rules, threads)
        return _core.partial_counts(scores, tasks, true_scores, first, rules, threads, counted)

    def check_targets(self) -> None:
        """Raise for a target that is not among the candidates of its task."""
        if self.candidates is not None:
            absent = self.candidates.first_task_without(self.targets)
            if absent >= 0:
                raise self.make_error(_core.Fault("target", absent, -1, -1))

    def facts(self) -> dict[str, Any]:
        """Return, by argument, what tells this job from others: digests of arrays, and words."""
        facts: dict[str, Any] = {}
        for name in ("targets", "rows", "filter", "candidates"):
            facts[name] = sha256_hex(getattr(self, name))
        return facts | {name: getattr(self.rules, name) for name in ("order", "nan", "audit")}

    def make_error(self, fault: _core.Fault) -> InputValueError:
        """Return the error for a fault that the core found."""
        if self.is_turned:
            fault = _core.Fault(fault.kind, fault.task, fault.column, fault.row)
        return fault_error(fault, self.rules.nan, self.targets)

    def make_true_nan_error(self, row: int, column: int) -> InputValueError:
        """Return the error for a true score that is NaN, which the rule forbids."""
        kind: Literal["nan", "nan_true_score"] = "nan"
        if self.rules.nan == "omit":  # No other NaN is forbidden then, and the message says so.
            kind = "nan_true_score"
        return self.make_error(_core.Fault(kind, -1, row, column))

    def ranks(
        self,
        counts: Mapping[str, Any],
        dtype: str | None,
        files: tuple[str, ...] = (),
        device: str | None = None,
        **fields: Any,
    ) -> Ranks:
        """Make Ranks of counts, whose arrays become those of the ranks.

        Beside above, tied and candidates, `counts` may have those of an audit, "masked", and of
        lists "listed" and "lengths". `fields` are of the protocol: sampled, similarity, lists,
        depth.
        """
        arrays = {"above": counts["above"], "tied": counts["tied"]}
        arrays["candidates"] = counts["candidates"]
        has_audit = "inf" in counts
        if has_audit:
            zeros = np.zeros_like(counts["inf"])
            arrays["audit"] = np.array([counts.get(name, zeros) for name in Audit._fields])
        for name in ("masked", "listed", "lengths"):
            if name in counts:
                arrays[name] = counts[name]
        has_filter = self.filter is not None
        has_candidates = self.candidates is not None
        fields |= {"dtype": dtype, "files": files, "device": device}
        protocol = _protocol(has_filter, has_candidates, self.rules.nan, self.rules.order, **fields)
        return Ranks._of(arrays, {}, protocol)

    def mark_masked(self, ranks: Ranks, scores: _core.Scores | Store) -> Ranks:
        """Mark tasks whose true score is -inf (inf if lower ones are better), if any is.

        Only true scores that no candidate is below are read. Few tasks are not worth it, others
        were marked before, and true scores on a device are not read.
        """
        is_worth_it = len(self.targets) > FEW_TASKS
        were_marked = ranks.masked is not None
        places_of_host = (None, getattr(scores, "host_place", None))
        if not is_worth_it or were_marked or ranks.protocol.device not in places_of_host:
            return ranks
        masked_tasks = []
        # Blocks are so small that sums stay in the cache.
        for begin in range(0, len(ranks), _TASKS_AT_A_TIME):
            block = slice(begin, begin + _TASKS_AT_A_TIME)
            is_last = ranks.above[block] + ranks.tied[block] == ranks.candidates[block]
            if not is_last.any():
                continue
            tasks = begin + np.flatnonzero(is_last)
            rows = tasks if self.rows is None else self.rows[tasks]
            if isinstance(scores, _core.Scores):
                array = np.atleast_2d(scores.array)[rows, self.targets[tasks]]
                array = array.astype(array.dtype.newbyteorder("="), copy=False)
            else:
                array = np.ascontiguousarray(scores.take(rows, self.targets[tasks]))
            true_scores = _core.Scores(array, scores.dtype, False)
            keys, lowest, highest, are_floats = true_scores.keys()
            if are_floats:
                worst = highest if self.rules.is_ascending else lowest
                masked_tasks.append(tasks[keys == worst])
        if not any(map(len, masked_tasks)):
            return ranks
        is_masked = np.zeros(len(ranks), bool)
        is_masked[np.concatenate(masked_tasks)] = True
        return ranks._with({"masked": is_masked})


def prepare_job(
    shape: tuple[int, ...],
    targets: Any,
    rules: Rules = PLAIN,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    may_share_row: bool = True,
) -> Job:
    """Check the arguments of `rank`; raises its errors.

    Without `rows`, there is a task for each row of scores of shape (rows, columns). All tasks read
    the row of scores of shape (columns,), and of (1, columns) if they `may_share_row`. With
    `NO_TARGETS` all candidates are counted; then one task reads a single row.
    """
    columns = shape[-1]
    height = shape[0] if len(shape) == 2 else 1
    is_single_row = len(shape) == 1 or (may_share_row and height == 1)
    task_rows = None
    if rows is not None:
        task_rows = index_array("rows", rows)
        check_shape("rows", task_rows.shape, 1, "a 1-D array")
        task_targets = _read_targets(targets, columns, len(task_rows), "entry of rows")
        check_range("rows", task_rows, height, "rows")
    elif is_single_row:
        task_targets = _read_targets(targets, columns)
        task_rows = np.zeros(len(task_targets), np.int64)
    else:
        task_targets = _read_targets(targets, columns, height)
    tasks = len(task_targets)
    threads = rules.num_threads
    if filter is not None:
        filter = as_selection("filter", filter, tasks, columns, threads)
    if candidates is not None:
        candidates = as_selection("candidates", candidates, tasks, columns, threads)
    return Job(task_rows, task_targets, filter, candidates, rules=rules)


_OBJECTS = np.dtype(object)


def _read_targets(
    targets: Any, columns: int, n_tasks: int | None = None, owner: str = "row"
) -> IntArray:
    """Check targets: one for each `owner`, or one for all; any number where `n_tasks` is None."""
    tasks = 1 if n_tasks is None else n_tasks
    if targets is NO_TARGETS:
        return np.full(tasks, NO_COLUMN, np.int64)
    if type(targets) is int and 0 <= targets < columns:  # Checks take longer than a small count.
        column = np.empty(tasks, np.int64)
        column.fill(targets)  # np.full takes three times as long.
        return column
    _refuse_rows_as_targets(targets)
    array = index_array("targets", targets)
    if array.ndim == 0:
        # This comes before memory is taken: scores without columns can have any number of rows.
        if tasks:
            check_range("targets", array.reshape(1), columns, "candidates")
        return np.full(tasks, array, np.int64)
    if array.ndim > 1 or (n_tasks is not None and len(array) != n_tasks):
        expected = f"{tasks} integers, one for each {owner}, or one for all"
        raise InputValueError("targets", expected=expected, got=f"shape {array.shape}")
    check_range("targets", array, columns, "candidates")
    return array


def _refuse_rows_as_targets(targets: Any) -> None:
    """Refuse targets of which each is a row: of scores, or of several targets."""
    is_sequence = isinstance(targets, (list, tuple)) or getattr(targets, "dtype", None) is _OBJECTS
    is_matrix = getattr(targets, "ndim", 0) == 2 and not is_sparse(targets)
    if not (is_sequence or is_matrix):
        return
    first = next(iter(targets), None)
    is_row = getattr(first, "ndim", 0) > 0 or isinstance(first, (list, tuple))
    if is_row and as_array(first, "targets").dtype.kind == "f":
        got = "fractions, a row for each task"
        raise InputTypeError("targets", expected="integers, behind the scores", got=got)
    if is_sequence and isinstance(first, (list, tuple, np.ndarray)):
        expected = "an integer for each task; rows has the row of each, if a row has several"
        raise InputTypeError("targets", expected=expected, got="a list of each row")


def refuse_places(
    scores: _core.Scores | Store, rules: Rules, remedies: Sequence[Option] | None = None
) -> None:
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
        counting.orders.refuse_permutations(scores, remedies)


def sha256_hex(*values: Any) -> str:
    """Return the SHA-256 of some values: arrays and their shapes, selections, words, None."""
    import hashlib

    sha = hashlib.sha256()

    def add_array(array: npt.NDArray[Any]) -> None:
        if array.dtype.kind == "i":  # Integers of any size are the same numbers.
            array = array.astype(np.int64, copy=False)
        sha.update(f"{array.dtype.str}{array.shape}".encode())
        sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    for value in values:
        if isinstance(value, np.ndarray):
            add_array(value)
        elif isinstance(value, _core.Selection):
            digest = sha256_hex(*selection_arrays(value))
            add_array(np.frombuffer(digest.encode(), np.uint8))
        else:
            sha.update(repr(value).encode())
    return sha.hexdigest()


def fault_error(fault: _core.Fault, nan: str, targets: IntArray) -> InputValueError:
    """Return the error for a fault that the core found."""
    task = fault.task
    if fault.kind == "target":
        problem = f"the target {targets[task]} of task {task} is not among its candidates"
        return InputValueError("candidates", problem)
    place = f"at row {fault.row}, column {fault.column}"
    if fault.kind == "nan_true_score":
        return forbidden_nan("scores", f"the true score {place}", nan, helps=["worst"])
    return forbidden_nan("scores", f"a score {place}", nan)


@lru_cache(maxsize=64)
def _protocol(
    has_filter: bool, has_candidates: bool, nan: str, order: str, **fields: Any
) -> Protocol:
    """Return the protocol of counts; equal ones are one object, since it is slow to check."""
    if has_filter:
        fields["filter"] = ("unnamed",)
    if has_candidates:
        fields["candidates"] = "selection"
    return Protocol(nan=nan, order=order, version=_core.__version__, **fields)
