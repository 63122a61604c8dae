"""The counts of a job in the tiles of a source, on the host.

If tiles are whole rows, the core finds the true scores, and the counts of each tile are final. If
tiles cut rows, the true scores are read first, and every tile adds to partial counts, to which the
true candidates are added at the end.

Files are mapped by default. On Linux the map of a warm file is nearly as fast as memory if the page
cache holds it in huge pages, which `stores.files` asks for. In small pages each fault maps 64 kB at
most, and mapping may cost as much as counting. A tile is mapped alone and then unmapped, so that
page tables do not grow with the file. The map of a cold file is as fast as the fastest reading
loop, thanks to the kernel's read-ahead: populating the map by hand, warm or cold, or asking for the
next pages, gained nothing.
Reading into buffers costs a copy, which halves the rate of memory; it is for files that may shrink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Fault
from ..errors import InputValueError
from ..ranks.counts import COUNTS
from .job import Job
from .partial_counts import PartialCounts, TrueScores

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..stores import Tile
    from .sources import CoreScores, Source


class SourceCounts(NamedTuple):
    """What was counted of a source, or of a tile of it.

    Attributes
    ----------
    arrays : dict of str to ndarray of int64, shape (tasks,)
        The counts by name: final ones, or those of `PartialCounts` for true scores that are given.
    fault : Fault, optional
        The first NaN that the rule forbids, where the source has it. The counts are then void.
    tasks : slice or ndarray of int64
        The numbers of the tasks among those of the job. Default: all.
    place : str, optional
        The device and what counted there, as a protocol names them.
    """

    arrays: dict[str, IntArray]
    fault: Fault | None = None
    tasks: slice | IntArray = slice(None)
    place: str | None = None


class TileJob(NamedTuple):
    """What is counted at once: the tasks that read the rows of a tile. It can be pickled.

    Attributes
    ----------
    tile : Tile
    tasks : slice or ndarray of int64
        Their numbers among those of the whole job.
    job : Job
        With rows numbered in the tile, and columns as in the whole job.
    true_scores : ndarray, shape (tasks,), optional
        As the core takes them. None: the tile has whole rows, and the core finds them.
    first_column : int
        The number of the first column of the source.
    """

    tile: Tile
    tasks: slice | IntArray
    job: Job
    true_scores: npt.NDArray[Any] | None
    first_column: int

    @property
    def has_tasks(self) -> bool:
        """Whether any task reads the rows of the tile."""
        return len(self.job.targets) > 0

    def counted(self, scores: CoreScores | None) -> SourceCounts:
        """Let the core count the scores of the tile; None if no task reads it."""
        if scores is None:
            return SourceCounts({}, None, self.tasks)
        left = self.first_column + self.tile.left
        try:
            counted = self.job.counted(scores, self.true_scores, left)
        except EOFError as error:
            raise InputValueError("scores", str(error)) from None
        return self.placed(SourceCounts(counted.arrays, counted.fault))

    def placed(self, counted: SourceCounts) -> SourceCounts:
        """Return counts of the tile with tasks and places as the whole source has them."""
        fault = counted.fault
        if fault is not None:
            if isinstance(self.tasks, slice):
                task = fault.task
                if self.tasks.start is not None:
                    task += self.tasks.start
            else:
                task = int(self.tasks[fault.task])
            row = fault.row + self.tile.top
            column = fault.column + self.tile.left
            fault = Fault(fault.kind, task, row, column)
        return counted._replace(tasks=self.tasks, fault=fault)


class TileCount:
    """The counts of a job in the tiles of a source.

    Parameters
    ----------
    source : Source
    job : Job
    true_scores : ndarray, shape (tasks,), optional
        As the core takes them. Default: the scores of the targets.
    first_column : int
        The number of the first column of the source among those of the job.

    Attributes
    ----------
    tiles : sequence of Tile
        In the order in which they are counted.
    counts : PartialCounts
        What has been counted so far.
    done : int
        The number of tiles that are in it.
    is_half_added : bool
        True while a tile may have been added in part and is not known to be done.
    """

    def __init__(
        self,
        source: Source,
        job: Job,
        true_scores: npt.NDArray[Any] | None = None,
        first_column: int = 0,
    ) -> None:
        self.source = source
        self.job = job
        self.tiles = source.tiles()
        self.done = 0
        self.is_half_added = False
        self.counts = PartialCounts.zeros(len(job.targets), job.rules)
        self.first_column = first_column
        self._read_scores: TrueScores | None = None
        if true_scores is None:
            if all(map(source.has_whole_rows, self.tiles)):
                names: tuple[str, ...] = COUNTS  # The core counts these of whole rows.
                if job.rules.audit:
                    names += ("nan", "inf", "at_best")
                self.counts.arrays = {name: self.counts.arrays[name] for name in names}
            else:
                self._read_scores = self._read_true_scores()
                true_scores = self._read_scores.scores
        self.true_scores = true_scores
        self._order: IntArray | None = None
        self._rows = job.all_rows
        self._last: TileJob | None = None
        # Tasks are in the order of their rows, so that those of a tile are adjacent.
        if (self._rows[1:] < self._rows[:-1]).any():
            self._order = np.argsort(self._rows, kind="stable")
            self._rows = self._rows[self._order]

    def _read_true_scores(self) -> TrueScores:
        job = self.job
        rows = job.all_rows
        scores = np.ascontiguousarray(self.source.score_pairs(rows, job.targets))
        true_scores = TrueScores(scores, self.source.dtype)
        task = true_scores.first_nan(job.rules.nan)
        if task >= 0:
            raise job.error_of_true_nan(int(rows[task]), int(job.targets[task]))
        return true_scores

    def tasks_of(self, tile: Tile) -> slice | IntArray:
        """Return the tasks that read the rows of a tile, in the order of their rows."""
        places = self._places_of(tile)
        if self._order is None:
            return places
        return self._order[places]

    def _places_of(self, tile: Tile) -> slice:
        """Return the places of these tasks in the order of rows."""
        first, last = np.searchsorted(self._rows, [tile.top, tile.top + tile.height])
        return slice(int(first), int(last))

    def job_of(self, tile: Tile) -> TileJob:
        """Return what is to be counted of a tile; tiles of the same rows share it."""
        last = self._last
        if last is None or (last.tile.top, last.tile.height) != (tile.top, tile.height):
            tasks = self.tasks_of(tile)
            rows = None if self.job.rows is None else self._rows[self._places_of(tile)] - tile.top
            true_scores = None if self.true_scores is None else self.true_scores[tasks]
            part = self.job.part(tasks, rows)
            last = TileJob(tile, tasks, part, true_scores, self.first_column)
            self._last = last
        return last._replace(tile=tile)

    def add(self, counted: SourceCounts) -> None:
        """Add the counts of the next tile."""
        self.is_half_added = True
        self.counts.add(counted.arrays, counted.tasks)
        self.done += 1
        self.is_half_added = False

    def final_counts(self) -> dict[str, IntArray]:
        """Return the counts of all tasks, with those of an audit; partial for given true scores."""
        if self._read_scores is None:
            return self.counts.arrays
        differing = self.counts.arrays["differing"]
        if differing.any():
            problem = f"the true score of task {differing.argmax()} changed while it was ranked"
            raise InputValueError("scores", problem)
        return self.counts.final_counts(self._read_scores)
