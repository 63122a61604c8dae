"""Calls that are interrupted between any two lines of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
