"""How far a call on embeddings has come, told to whom the user passed as `progress=`.

A watch is called as ``watch(done, total)``, in any unit, or with how much was resumed as well. The
core calls it on the thread of the call, where that looks for Ctrl-C, and need not tell the end.
What it raises ends the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import _core
from ..inputs.progress_listeners import BoundedPairs, Progress, as_listener, reporter

if TYPE_CHECKING:
    Watch = Callable[..., object]

SECONDS_BETWEEN_REPORTS = 0.1


def listener_of(watch: Watch | None) -> _core.Listener | None:
    """Return what the core takes for a watch."""
    if watch is None:
        return None
    return _core.Listener(watch, SECONDS_BETWEEN_REPORTS)


def watch_of_part(watch: Watch | None, sizes: Sequence[int], number: int) -> Watch | None:
    """Make a watch for one of several parts of some sizes, counted from 0.

    Examples
    --------
    >>> second = watch_of_part(lambda done, total: print(f"{done} of {total}"), [100, 300], 1)
    >>> second(1, 5)
    160 of 400
    """
    if watch is None:
        return None
    before = sum(sizes[:number])
    size = sizes[number]
    whole = sum(sizes)
    return lambda done, total: watch(before + size * done // total, whole)


def reporter_to(watch: Watch | None, total: int) -> Callable[..., object]:
    """Return what `count_tiles` calls with how many of the bytes of the scores are done."""
    return lambda done, resumed: watch and watch(done, total, resumed)


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
    last_report = time.monotonic() - SECONDS_BETWEEN_REPORTS  # The first report comes at once.
    tally_before = _core.bounds_tally()
    report_progress = reporter(listener, size)
    from_file = 0

    def watch(done: int, total: int, resumed: int = 0) -> None:
        nonlocal last_report, from_file
        from_file = resumed
        now = time.monotonic()
        # The end is told once, with the bounds.
        if done < total and now - last_report >= SECONDS_BETWEEN_REPORTS:
            last_report = now
            report_progress(size * done // total, resumed)

    yield watch
    tally = _core.bounds_tally()
    counted = [after - before for after, before in zip(tally, tally_before, strict=True)]
    report_progress(size, from_file, BoundedPairs(_core.bounds().removesuffix("!"), *counted))
