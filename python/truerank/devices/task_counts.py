"""Partial counts of tasks on a device: what the core counts in memory, with the same integers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import tensor_array
from ..inputs.selection import selection_of_tasks
from .order_keys import core_key_offset, infinity, keys_of, true_keys_of
from .scans import audit_blocks, width_of
from .selected_columns import SelectedColumns
from .source import TaskRows

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Rules, Selection
    from ..inputs.arrays import IntArray
    from ..stores.on_device import DeviceStream
    from .source import Columns, ScoreSource, Tensor

NAMES = ("above", "tied", "candidates", "nan", "differing")
AUDITED = ("inf", "at_best", "best")
MOST_TASKS = 1 << 17  # counted at once: each takes some 200 bytes meanwhile


class PartOfTasks(NamedTuple):
    """Tasks in a matrix that may be part of a larger one, with columns numbered as in that.

    Attributes
    ----------
    rows : ndarray of int64, shape (tasks,)
        The row of the part that each task reads.
    targets : ndarray of int64, shape (tasks,)
        The column of each target in the larger matrix; -1 if it is in none.
    filter, candidates : Selection, optional
        Sorted, as `as_selection` gives them.
    first_column : int
        The number of the part's first column.
    """

    rows: IntArray
    targets: IntArray
    filter: Selection | None = None
    candidates: Selection | None = None
    first_column: int = 0

    def those(self, where: IntArray) -> PartOfTasks:
        """Return some of the tasks."""
        filter = self.filter and selection_of_tasks(self.filter, where)
        candidates = self.candidates and selection_of_tasks(self.candidates, where)
        rows, targets = self.rows[where], self.targets[where]
        return PartOfTasks(rows, targets, filter, candidates, self.first_column)


class PendingCounts:
    """Partial counts that a device may still compute.

    Parameters
    ----------
    stream : DeviceStream
        The stream that computes them.
    order : ndarray of int64, shape (tasks,)
        The place of each of the counted tasks, in the order in which they are counted.
    """

    def __init__(self, stream: DeviceStream, order: IntArray, names: tuple[str, ...]) -> None:
        self._stream, self._order, self._names = stream, order, names
        self._counts: list[Tensor] = []
        self._true_scores: list[Tensor] = []

    def add(self, counts: Tensor, true_scores: Tensor) -> None:
        """Begin to copy what was counted for the next tasks."""
        self._counts.append(self._stream.copy_to_host(counts))
        self._true_scores.append(self._stream.copy_to_host(true_scores))

    def arrays(self) -> dict[str, IntArray]:
        """Wait for the counts: partial counts as the core gives them."""
        self._stream.wait()
        table = np.zeros((len(self._names), len(self._order)), np.int64)
        if self._counts:
            table[:, self._order] = np.concatenate([x.numpy() for x in self._counts], axis=1)
        return dict(zip(self._names, table, strict=True))

    def true_scores(self) -> npt.NDArray[Any]:
        """Wait for the true scores, with which the scores were compared."""
        self._stream.wait()
        found = [tensor_array(x, "scores")[0] for x in self._true_scores]
        scores = np.concatenate(found)
        result = np.empty_like(scores)
        result[self._order] = scores
        return result


class DeviceSelections(NamedTuple):
    """The filter and the candidates of all tasks, on a device; they are copied once."""

    filter: SelectedColumns | None
    candidates: SelectedColumns | None

    @classmethod
    def of(
        cls, filter: Selection | None, candidates: Selection | None, source: ScoreSource
    ) -> DeviceSelections:
        """Copy selections to the device of a source."""
        return cls(*(part and SelectedColumns(part, source) for part in (filter, candidates)))


def count_tasks(
    source: ScoreSource,
    stream: DeviceStream,
    tasks: PartOfTasks,
    true_scores: Tensor | None,
    rules: Rules,
) -> PendingCounts:
    """Begin to count tasks; see `PartialCounts` for what is counted.

    Parameters
    ----------
    source : ScoreSource
    stream : DeviceStream
        The stream to work on.
    tasks : PartOfTasks
    true_scores : Tensor, shape (tasks,), optional
        On the device. Default: the scores at the targets, each of which has one.
    rules : Rules
    """
    order = np.argsort(tasks.rows, kind="stable")
    names = NAMES + AUDITED if rules.audit else NAMES
    pending = PendingCounts(stream, order, names)
    with stream.current():
        selections = DeviceSelections.of(tasks.filter, tasks.candidates, source)
        for first in range(0, max(1, len(order)), MOST_TASKS):
            some = order[first : first + MOST_TASKS]
            chunk = _Chunk(source, tasks, selections, some, true_scores, rules)
            counts = chunk.count()
            pending.add(sys.modules["torch"].stack([counts[name] for name in names]), chunk.true)
    return pending


class _Chunk:
    """Some tasks, in the order of their rows, and what is counted for them.

    Candidates are counted as if nothing were filtered, with the targets; then both are taken out.
    """

    def __init__(
        self,
        source: ScoreSource,
        tasks: PartOfTasks,
        selections: DeviceSelections,
        some: IntArray,
        true_scores: Tensor | None,
        rules: Rules,
    ) -> None:
        torch = sys.modules["torch"]
        self._source, self._selections, self._some, self._rules = source, selections, some, rules
        self._first_column, self._width = tasks.first_column, source.shape[1]
        rows = tasks.rows[some]
        self._rows = TaskRows(rows, source.upload(rows))
        self._targets = source.upload(tasks.targets[some]) - tasks.first_column
        if true_scores is None:
            self.true = source.pairs(self._rows.device, self._targets)
        else:
            self.true = true_scores[source.upload(some)]
        self._true_keys = true_keys_of(self.true)
        names = NAMES + AUDITED if rules.audit else NAMES
        self._counts = {name: source.empty((len(some),), torch.int64).zero_() for name in names}

    def count(self) -> dict[str, Tensor]:
        """Return the counts by name."""
        selected, filtered = self._selections.candidates, self._selections.filter
        if selected is None:
            self._scan(slice(0, self._width))
        elif selected.shared:
            self._scan(selected.columns_within(self._first_column, self._width))
        else:
            self._count_entries(selected, 1)
        self._leave_out_targets()
        if filtered is not None:
            self._count_entries(filtered, -1)
        return self._counts

    def _add(self, **found: Tensor) -> None:
        for name, flags in found.items():
            self._counts[name] = self._counts[name] + flags

    def _scan(self, columns: Columns) -> None:
        """Count some columns for all tasks."""
        source, rows, width = self._source, self._rows, width_of(columns)
        above, tied, nan = source.scan(rows, self.true, columns)
        self._add(above=above, tied=tied, nan=nan, candidates=width)
        if not self._rules.audit:
            return
        places = self._targets
        if not isinstance(columns, slice):
            places = sys.modules["torch"].searchsorted(columns, self._targets)
            if width:
                is_there = columns[places.clamp(max=width - 1)] == self._targets
                places = places.where(is_there, -1)
        inf, best, at_best = audit_blocks(
            source, rows, places, self.true, columns, self._rules.ascending
        )
        self._add(inf=inf, at_best=at_best)
        self._counts["best"] = best

    def _leave_out_targets(self) -> None:
        """Take the targets that are in this part out again, whatever their scores here are."""
        if not self._width:
            return
        inside = (self._targets >= 0) & (self._targets < self._width)
        places = self._targets.where(inside, 0)
        keys, nan = keys_of(self._source.pairs(self._rows.device, places))
        true, true_nan = self._true_keys
        differing = keys != true
        if nan is not None:
            differing = (differing & ~nan) | (nan != true_nan)
            self._add(nan=-(inside & nan).long())
        found = {"above": keys > true, "tied": keys == true}
        if self._rules.audit:
            found["inf"] = self._infinite(keys)
        self._add(**{name: -(inside & flags).long() for name, flags in found.items()})
        self._add(candidates=-inside.long(), differing=(inside & differing).long())

    def _count_entries(self, selected: SelectedColumns, sign: int) -> None:
        """Count the columns of lists, or take them out; targets in a filter stay."""
        if not self._width:
            return
        if sign > 0 and self._rules.audit:
            self._find_best(selected)
        for entries in selected.entries(self._some):
            tasks, columns = entries.tasks, entries.columns - self._first_column
            inside = (columns >= 0) & (columns < self._width)
            is_target = columns == self._targets[tasks]
            if sign < 0:
                inside = inside & ~is_target
                if self._selections.candidates is not None:
                    inside = inside & self._selections.candidates.holds(self._some, entries)
            scores = self._source.pairs(self._rows.device[tasks], columns.where(inside, 0))
            keys, nan = keys_of(scores)
            true = self._true_keys.values[tasks]
            found = {"candidates": inside, "above": keys > true, "tied": keys == true}
            if nan is not None:
                found["nan"] = nan
            if self._rules.audit:
                found["inf"] = self._infinite(keys)
                at_best = keys.long() + self._offset == self._counts["best"][tasks]
                found["at_best"] = at_best & ~is_target & (True if nan is None else ~nan)
            for name, flags in found.items():
                self._counts[name].index_add_(0, tasks, (inside & flags).long(), alpha=sign)

    def _find_best(self, selected: SelectedColumns) -> None:
        """Find the key of the best score in each task's list, but for its target."""
        limits = np.iinfo(np.int64)
        worst = limits.max if self._rules.ascending else limits.min
        best = self._counts["best"].fill_(worst)
        for tasks, columns in selected.entries(self._some):
            columns = columns - self._first_column
            out = (columns < 0) | (columns >= self._width)
            scores = self._source.pairs(self._rows.device[tasks], columns.where(~out, 0))
            keys, nan = keys_of(scores)
            out = out | (columns == self._targets[tasks])
            out = out if nan is None else out | nan
            keys = (keys.long() + self._offset).masked_fill_(out, worst)
            best.scatter_reduce_(0, tasks, keys, "amin" if self._rules.ascending else "amax")

    @property
    def _offset(self) -> int:
        return core_key_offset(self.true.dtype)

    def _infinite(self, keys: Tensor) -> Tensor:
        if not self.true.dtype.is_floating_point:
            return keys != keys
        top = infinity(self.true.dtype)
        return (keys == top) | (keys == -top)
