"""The job of a count: its tasks, selections and rules, checked; and the errors of its faults."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..devices.task_counts import PartOfTasks
from ..inputs.arrays import index_array
from ..inputs.checks import ORDERS, check_range, check_shape, forbidden_nan
from ..inputs.errors import InputValueError
from ..inputs.selection import as_selection, selection_arrays, selection_of_tasks
from ..ranks.container import Ranks
from ..ranks.counts import Audit
from ..ranks.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..inputs.rules import Rules


class ScoreNouns(NamedTuple):
    """What messages call the argument of scores, rows, columns, and a score at one of each."""

    row: str = "row of scores"
    rows: str = "rows of scores"
    columns: str = "columns of scores"
    score: str = "a score at row {row}, column {column}"
    true_score: str = "the true score at row {row}, column {column}"
    argument: str = "scores"


SCORES = ScoreNouns()
NO_COLUMN = -1  # stands for the target's column where there is none


class PlacedFault(NamedTuple):
    """What made counts void, as the core says it, with its place; it can be sent to processes."""

    kind: str  # "target", "nan" or "nan_true_score"
    task: int
    row: int
    column: int

    @classmethod
    def of(cls, fault: _core.Fault) -> PlacedFault:
        """Return what the core found."""
        return cls(fault.kind, fault.task, fault.row, fault.column)


class Job(NamedTuple):
    """What is to be counted, after all checks: the tasks, their selections and the rules."""

    rows: IntArray | None  # None: task i reads row i
    targets: IntArray
    filter: _core.Selection | None
    candidates: _core.Selection | None
    rules: _core.Rules
    threads: int  # 0: as many as are free
    nouns: ScoreNouns = SCORES
    block: int = 0  # how many entities are scored at a time; 0: as many as is best
    listener: _core.Listener | None = None  # who hears how far the core has come with vectors

    @property
    def all_rows(self) -> IntArray:
        """The row of each task."""
        return np.arange(len(self.targets)) if self.rows is None else self.rows

    def device_tasks(self, first_column: int = 0) -> PartOfTasks:
        """Return the tasks as devices take them, in a matrix of columns from the first on."""
        selections = self.filter, self.candidates
        return PartOfTasks(self.all_rows, self.targets, *selections, first_column)

    def part(self, where: slice | IntArray, rows: IntArray | None) -> Job:
        """Return the job of some of the tasks, which read these rows (None: task i reads row i)."""
        targets = np.ascontiguousarray(self.targets[where])
        filter = self.filter and selection_of_tasks(self.filter, where)
        candidates = self.candidates and selection_of_tasks(self.candidates, where)
        return self._replace(rows=rows, targets=targets, filter=filter, candidates=candidates)

    def counted(
        self,
        scores: _core.Scores | _core.FileScores | _core.Embeddings,
        true_scores: npt.NDArray[Any] | None = None,
        first_column: int = 0,
    ) -> _core.Counts:
        """Let the core count scores, or vectors as it scores them.

        Parameters
        ----------
        scores : Scores, FileScores or Embeddings
        true_scores : ndarray, shape (tasks,), optional
            As the core takes them. The counts are then partial ones, in columns from `first_column`
            on; otherwise the scores are those of all columns, and the counts are final.
        """
        tasks = _core.Tasks(self.rows, self.targets, self.filter, self.candidates)
        if isinstance(scores, _core.Embeddings):
            how = self.rules, self.block, self.threads, self.listener
            if true_scores is None:
                return _core.rank_embeddings(scores, tasks, *how)
            return _core.partial_embedding_counts(scores, tasks, true_scores, first_column, *how)
        if true_scores is None:
            return _core.rank(scores, tasks, self.rules, self.threads)
        options = self.rules, self.threads
        return _core.partial_counts(scores, tasks, true_scores, first_column, *options)

    def counts_of(self, scores: _core.Scores) -> dict[str, IntArray]:
        """Let the core count an array in memory; raise the error of a fault that it found."""
        counted = self.counted(scores)
        if counted.fault is not None:
            raise self.error_of(counted.fault)
        return counted.arrays

    def check_targets(self) -> None:
        """Raise for a target that is not among the candidates of its task."""
        if self.candidates is not None:
            absent = self.candidates.first_task_without(self.targets)
            if absent >= 0:
                raise self.error_of(PlacedFault("target", absent, -1, -1))

    def facts(self) -> dict[str, Any]:
        """Return, by argument, what tells this job from others: digests of arrays, and words."""
        return {
            "targets": digest(self.targets),
            "rows": digest(self.rows),
            "filter": digest(self.filter),
            "candidates": digest(self.candidates),
            "order": ORDERS[self.rules.ascending],
            "nan": self.rules.nan,
            "audit": self.rules.audit,
        }

    def error_of(self, fault: _core.Fault | PlacedFault) -> InputValueError:
        """Return the error for a fault that the core found."""
        return fault_error(fault, self.rules.nan, self.targets, self.nouns)

    def ranks(
        self,
        counts: Mapping[str, IntArray],
        dtype: str | None,
        files: tuple[str, ...] = (),
        device: str | None = None,
        **fields: Any,
    ) -> Ranks:
        """Make Ranks of new arrays of counts: above, tied, candidates and those of an audit.

        `fields` are others of the protocol: sampled, similarity.
        """
        above, tied, candidates = counts["above"], counts["tied"], counts["candidates"]
        arrays = {"above": above, "tied": tied, "candidates": candidates}
        if "inf" in counts:
            zeros = np.zeros_like(counts["inf"])
            arrays["audit"] = np.array([counts.get(name, zeros) for name in Audit._fields])
        filtered, selected = self.filter is not None, self.candidates is not None
        protocol = _protocol(filtered, selected, self.rules, dtype=dtype, **fields)
        if files or device:
            protocol = replace(protocol, files=files, device=device)
        return Ranks._of(arrays, {}, protocol)


def prepare_job(
    shape: tuple[int, ...],
    targets: Any,
    rows: Any,
    filter: Any,
    candidates: Any,
    rules: Rules,
    nouns: ScoreNouns = SCORES,
    tasks: int = 1,
    *,
    shared: bool = True,
) -> Job:
    """Check the arguments of `rank`; raises its errors.

    The shape of the scores is (rows, columns), or (columns,). A single row is
    read by all tasks unless `rows` are given; so is a matrix of one row, if it may be `shared`.
    Without targets (``...``), all candidates are counted, and `tasks` read a single row.
    """
    *heights, columns = shape
    is_single_row = not heights or (shared and heights == [1])
    task_rows = None if rows is None else index_array("rows", rows)
    if task_rows is not None:
        check_shape("rows", task_rows.shape, 1, "a 1-D array")
        tasks = len(task_rows)
    elif not is_single_row:
        tasks = heights[0]
    if targets is ...:
        task_targets = np.full(tasks, NO_COLUMN, np.int64)
    else:
        task_targets = index_array("targets", targets)
        if task_targets.ndim == 0:
            # Before memory is taken: scores without columns can have any number of rows.
            check_range("targets", task_targets.reshape(1)[:tasks], columns, nouns.columns)
            task_targets = np.full(tasks, task_targets, dtype=np.int64)
        if task_targets.ndim > 1 or (
            len(task_targets) != tasks and not (is_single_row and rows is None)
        ):
            each = nouns.row if rows is None else "entry of rows"
            expected = f"{tasks} integers, one for each {each}, or one for all"
            raise InputValueError("targets", expected=expected, got=f"shape {task_targets.shape}")
        check_range("targets", task_targets, columns, nouns.columns)
        tasks = len(task_targets)
    if task_rows is not None:
        check_range("rows", task_rows, heights[0] if heights else 1, nouns.rows)
    elif is_single_row:
        task_rows = np.zeros(tasks, np.int64)
    threads = rules.num_threads
    if filter is not None:
        filter = as_selection("filter", filter, tasks, columns, threads)
    if candidates is not None:
        candidates = as_selection("candidates", candidates, tasks, columns, threads)
    return Job(task_rows, task_targets, filter, candidates, rules.core, threads, nouns)


def digest(*values: Any) -> str:
    """Return the SHA-256 of arrays with their shapes, selections, words and None.

    Examples
    --------
    >>> digest(np.array([1, 2], np.int32)) == digest(np.array([1, 2])) != digest(None)
    True
    """
    import hashlib

    sha = hashlib.sha256()
    for value in values:
        array = value
        if isinstance(value, _core.Selection):
            array = np.frombuffer(digest(*selection_arrays(value)).encode(), np.uint8)
        if isinstance(array, np.ndarray):
            plain = array.astype(np.int64, copy=False) if array.dtype.kind == "i" else array
            sha.update(f"{plain.dtype.str}{plain.shape}".encode())
            sha.update(np.ascontiguousarray(plain).reshape(-1).view(np.uint8).data)
        else:
            sha.update(repr(value).encode())
    return sha.hexdigest()


def fault_error(
    fault: _core.Fault | PlacedFault, nan: str, targets: IntArray, nouns: ScoreNouns = SCORES
) -> InputValueError:
    """Return the error for a fault that the core found."""
    task = fault.task
    if fault.kind == "target":
        return InputValueError(
            "candidates", f"the target {targets[task]} of task {task} is not among its candidates"
        )
    place = nouns.true_score if fault.kind == "nan_true_score" else nouns.score
    return forbidden_nan(nouns.argument, place.format(row=fault.row, column=fault.column), nan)


@lru_cache(maxsize=64)
def _protocol(filtered: bool, selected: bool, rules: _core.Rules, **fields: Any) -> Protocol:
    return Protocol(
        filter=("unnamed",) if filtered else (),
        candidates="selection" if selected else "all",
        nan=rules.nan,
        order=ORDERS[rules.ascending],
        version=_core.__version__,
        **fields,
    )
