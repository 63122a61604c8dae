"""How far a call on embeddings has come, told to whom the user passed as `progress=`.

A watch is called as ``watch(done, total)``, in any unit. The core calls it on the thread of the
call, where that looks for Ctrl-C, and need not tell the end; what it raises ends the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import _core
from ..inputs.progress_listeners import BoundedPairs, Progress, as_listener

if TYPE_CHECKING:
    Watch = Callable[[int, int], object]

SECONDS_BETWEEN_REPORTS = 0.1


def listener_of(watch: Watch | None) -> _core.Listener | None:
    """Return what the core takes for a watch."""
    return None if watch is None else _core.Listener(watch, SECONDS_BETWEEN_REPORTS)


def watch_of_pass(watch: Watch | None, number: int, passes: int) -> Watch | None:
    """Make a watch for one of several passes of the same length, counted from 0.

    Examples
    --------
    >>> second = watch_of_pass(lambda done, total: print(f"{done} of {total}"), 1, 2)
    >>> second(30, 100)
    130 of 200
    """
    if watch is None:
        return None
    return lambda done, total: watch(number * total + done, passes * total)


@contextmanager
def watching(
    progress: bool | Callable[[Progress], object] | None, size: int
) -> Iterator[Watch | None]:
    """Give a watch for a block of code that counts embeddings, whose scores have so many bytes.

    `progress` is told of each report in bytes of scores; at the end of the block it is told that
    all is done, and what bounds spared in it.
    """
    listener = as_listener(progress)
    if listener is None:
        yield None
        return
    start, before = time.monotonic(), _core.bounds_tally()
    last_report = -SECONDS_BETWEEN_REPORTS  # so that the first comes at once

    def watch(done: int, total: int) -> None:
        nonlocal last_report
        seconds = time.monotonic() - start
        # the end is told once, with the bounds
        if done < total and seconds - last_report >= SECONDS_BETWEEN_REPORTS:
            last_report = seconds
            listener(Progress(size * done // total, size, seconds))

    yield watch
    counted = [now - then for now, then in zip(_core.bounds_tally(), before, strict=True)]
    bounds = BoundedPairs(_core.bounds().removesuffix("!"), *counted)
    listener(Progress(size, size, time.monotonic() - start, bounds=bounds))
