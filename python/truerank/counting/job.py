"""The job of a count: its tasks, selections and rules, checked; and the errors of its faults."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..devices.task_counts import PartOfTasks
from ..inputs.arrays import index_array
from ..inputs.checks import (
    ORDERS,
    check_range,
    check_shape,
    forbidden_nan,
)
from ..inputs.errors import InputValueError
from ..inputs.selection import as_selection, selection_of_tasks
from ..ranks.container import Ranks
from ..ranks.counts import Audit
from ..ranks.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..inputs.arrays import IntArray
    from ..inputs.rules import Rules


class ScoreNouns(NamedTuple):
    """What messages call the rows and columns of scores, and a score at a row and a column."""

    row: str = "row of scores"
    rows: str = "rows of scores"
    columns: str = "columns of scores"
    score: str = "a score at row {row}, column {column}"
    true_score: str = "the true score at row {row}, column {column}"


SCORES = ScoreNouns()


class Job(NamedTuple):
    """What is to be counted, after all checks: the tasks, their selections and the rules."""

    rows: IntArray | None  # None: task i reads row i
    targets: IntArray
    filter: _core.Selection | None
    candidates: _core.Selection | None
    rules: _core.Rules
    threads: int  # 0: as many as are free
    nouns: ScoreNouns = SCORES

    @property
    def all_rows(self) -> IntArray:
        """The row of each task."""
        return np.arange(len(self.targets)) if self.rows is None else self.rows

    def tasks(self) -> _core.Tasks:
        """Return the tasks as the core takes them."""
        return _core.Tasks(self.rows, self.targets, self.filter, self.candidates)

    def device_tasks(self) -> PartOfTasks:
        """Return the tasks as devices take them."""
        return PartOfTasks(self.all_rows, self.targets, self.filter, self.candidates)

    def those(self, where: IntArray) -> Job:
        """Return the job of some of the tasks."""
        filter = self.filter and selection_of_tasks(self.filter, where)
        candidates = self.candidates and selection_of_tasks(self.candidates, where)
        tasks = self.all_rows[where], self.targets[where], filter, candidates
        return Job(*tasks, self.rules, self.threads, self.nouns)

    def error_of(self, fault: _core.Fault) -> InputValueError:
        """Return the error for a fault that the core found."""
        return fault_error(fault, self.rules.nan, self.targets, self.nouns)

    def ranks(
        self,
        counts: Mapping[str, IntArray],
        dtype: str | None,
        files: tuple[str, ...] = (),
        device: str | None = None,
    ) -> Ranks:
        """Make Ranks of new arrays of counts: above, tied, candidates and those of an audit."""
        above, tied, candidates = counts["above"], counts["tied"], counts["candidates"]
        arrays = {"above": above, "tied": tied, "candidates": candidates}
        if "inf" in counts:
            zeros = np.zeros_like(counts["inf"])
            arrays["audit"] = np.array([counts.get(name, zeros) for name in Audit._fields])
        filtered, selected = self.filter is not None, self.candidates is not None
        protocol = _protocol(filtered, selected, self.rules, dtype)
        if files or device:
            protocol = replace(protocol, files=files, device=device)
        return Ranks._of(arrays, {}, protocol)


def prepare_job(
    shape: tuple[int, ...],
    single_row: bool,
    targets: Any,
    rows: Any,
    filter: Any,
    candidates: Any,
    rules: Rules,
    nouns: ScoreNouns = SCORES,
) -> Job:
    """Check the arguments of `rank` for scores of a given shape; raises the errors of `rank`."""
    num_threads = rules.num_threads
    task_rows, task_targets = _checked_tasks(shape, single_row, targets, rows, nouns)
    of_shape = (len(task_targets), shape[1], num_threads)
    return Job(
        task_rows,
        task_targets,
        as_selection("filter", filter, *of_shape),
        as_selection("candidates", candidates, *of_shape),
        rules.core,
        num_threads,
        nouns,
    )


def _checked_tasks(
    shape: tuple[int, ...], single_row: bool, targets: Any, rows: Any, nouns: ScoreNouns
) -> tuple[IntArray | None, IntArray]:
    """Return the row (None: task i reads row i) and the target of every task."""
    height = shape[0]
    task_targets = index_array("targets", targets)
    if task_targets.ndim > 1:
        expected = "one integer or a 1-D array"
        raise InputValueError("targets", expected=expected, got=f"shape {task_targets.shape}")
    task_rows = None
    if rows is not None:
        task_rows = index_array("rows", rows)
        check_shape("rows", task_rows.shape, 1, "a 1-D array")
    if task_targets.ndim == 0:
        tasks = height if task_rows is None else len(task_rows)
        # Before memory is taken: scores without columns can have any number of rows.
        check_range("targets", task_targets.reshape(1)[:tasks], shape[1], nouns.columns)
        task_targets = np.full(tasks, task_targets, dtype=np.int64)
    tasks = len(task_targets)
    if task_rows is not None:
        if len(task_rows) != tasks:
            raise InputValueError(
                "rows", expected=f"{tasks} rows, one for each target", got=len(task_rows)
            )
        check_range("rows", task_rows, height, nouns.rows)
    elif single_row:
        task_rows = np.zeros(tasks, dtype=np.int64)
    elif tasks != height:
        expected = f"{height} integers, one for each {nouns.row}"
        raise InputValueError("targets", expected=expected, got=tasks)
    check_range("targets", task_targets, shape[1], nouns.columns)
    return task_rows, task_targets


def fault_error(
    fault: _core.Fault, nan: str, targets: IntArray, nouns: ScoreNouns = SCORES
) -> InputValueError:
    """Return the error for a fault that the core found."""
    task = fault.task
    if fault.kind == "target":
        return InputValueError(
            "candidates", f"the target {targets[task]} of task {task} is not among its candidates"
        )
    place = nouns.true_score if fault.kind == "nan_true_score" else nouns.score
    return forbidden_nan("scores", place.format(row=fault.row, column=fault.column), nan)


@lru_cache(maxsize=64)
def _protocol(filtered: bool, selected: bool, rules: _core.Rules, dtype: str | None) -> Protocol:
    return Protocol(
        filter=("unnamed",) if filtered else (),
        candidates="selection" if selected else "all",
        nan=rules.nan,
        order=ORDERS[rules.ascending],
        dtype=dtype,
        version=_core.__version__,
    )
