"""Pythons of their own, for settings that truerank reads once, when it is imported."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

__all__ = ["Interpreter"]


class Interpreter:
    """A process that stays, was started with environment variables, and calls functions.

    Parameters
    ----------
    **variables
        What its environment has beside that of this process.
    """

    def __init__(self, **variables: str) -> None:
        before = dict(os.environ)
        os.environ.update(variables)
        try:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            self.call(os.getpid)  # it starts now, and inherits this environment
        finally:
            os.environ.clear()
            os.environ.update(before)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of a module, which the process imports, returns there."""
        return self._pool.submit(function, *arguments).result()

    def close(self) -> None:
        """End the process."""
        self._pool.shutdown()
