"""Progress of Dask: how many steps of a graph its scheduler has done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dask.callbacks import Callback

from ...inputs.progress_listeners import Progress, as_listener


@contextmanager
def watched_steps(progress: bool | Callable[[Progress], object] | None) -> Iterator[None]:
    """Report the steps of all graphs that are computed within a block of code to `progress`.

    Schedulers of `dask.distributed` tell nobody here, but their dashboard.

    Examples
    --------
    >>> import dask.array as da
    >>> reports = []
    >>> with watched_steps(reports.append):
    ...     found = da.ones(6, chunks=2).sum().compute(scheduler="sync")
    >>> reports[0].done, reports[-1].done == reports[-1].total, reports[-1].unit
    (0, True, 'steps')
    """
    listener = as_listener(progress)
    if listener is None:
        yield
        return
    start, done = time.monotonic(), 0

    def report(total: int) -> None:
        listener(Progress(done, total, time.monotonic() - start, unit="steps"))

    def begin(graph: Any, state: Any) -> None:
        report(done + _steps_left(state))

    def step(key: Any, result: Any, graph: Any, state: Any, worker: Any) -> None:
        nonlocal done
        done += 1
        left = _steps_left(state)
        if left:  # the last report says that all is over, not a pass
            report(done + left)

    with Callback(start_state=begin, posttask=step):
        yield
    report(done)


def _steps_left(state: Any) -> int:
    return sum(len(state[name]) for name in ("ready", "waiting", "running"))
