"""Calls that are interrupted between any two lines, that wait, or that take memory."""

from __future__ import annotations

import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Interrupted(BaseException):
    """Stands for the exception of a Ctrl-C."""


def interrupted(call: Callable[[], object], stop: int, files: tuple[str, ...]) -> bool:
    """Interrupt a call after so many lines of some files; return whether that happened."""
    lines = 0

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal lines
        if event == "line" and frame.f_code.co_filename.endswith(files):
            lines += 1
            if lines == stop:
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False


@contextmanager
def allocating_at_most(most: float) -> Iterator[None]:
    """Fail where a block has more bytes of Python and numpy at once."""
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most, f"{peak:,} bytes of memory"


@contextmanager
def refusing_to_wait(seconds: float = 60) -> Iterator[None]:
    """Raise a TimeoutError in a block that takes longer, as it waits for who writes to a pipe."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError("it waits")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
