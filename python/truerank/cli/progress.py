"""A progress bar on standard error for long runs, shown only on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rich.console import Console

from ..inputs.progress_listeners import size_text
from .app import write_line

if TYPE_CHECKING:
    import rich.progress

    from .. import Progress

START_AFTER = 0.5  # seconds: shorter runs draw no bar
REDRAW_EVERY = 0.1  # seconds between two drawings


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """A bar that appears after half a second and is erased when the run ends.

    It is drawn only if standard error is a terminal that can move its cursor, and only within
    `show`: no other thread runs beside a count.

    Parameters
    ----------
    clock
        Returns the time in seconds.

    Examples
    --------
    >>> with ProgressBar() as bar:
    ...     bar.show(0.5, "half of it")  # too early to be drawn
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._last = clock()
        self._rich_bar: rich.progress.Progress | None = None
        stream = sys.stderr
        # rich can be told that a file is a terminal
        tty = stream is not None and stream.isatty()
        self._console = Console(file=stream) if tty else None
        if self._console is not None and (
            not self._console.is_terminal or self._console.is_dumb_terminal
        ):
            self._console = None

    def show(self, fraction: float, text: str) -> None:
        """Draw the bar for a fraction from 0 to 1, with a text."""
        now = self._clock()
        if self._console is None or now - self._start < START_AFTER:
            return
        if self._rich_bar is None:
            self._rich_bar = self._start_bar(self._console, fraction, text)
        elif now - self._last >= REDRAW_EVERY:
            (task,) = self._rich_bar.task_ids
            self._rich_bar.update(task, completed=fraction, description=text, refresh=True)
        else:
            return
        self._last = now

    def __exit__(self, *_: object) -> None:
        """Erase the bar; a later `show` draws it again."""
        if self._rich_bar is not None:
            self._rich_bar.stop()
            self._rich_bar = None

    @staticmethod
    def _start_bar(console: Console, fraction: float, text: str) -> rich.progress.Progress:
        from rich.progress import BarColumn, Progress, TextColumn  # few runs need it

        drawn = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        drawn.add_task(text, total=1.0, completed=fraction)  # type: ignore[arg-type]
        drawn.start()
        return drawn


class ProgressListener:
    """What `rank` calls while it counts: it moves the bar, and says once what a checkpoint held.

    Parameters
    ----------
    bar
        The bar to move.
    """

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._started = False

    def __call__(self, progress: Progress) -> None:
        """Show a report of progress."""
        if not self._started:
            self._started = True
            if progress.resumed:
                resumed, total = size_text(progress.resumed), size_text(progress.total)
                write_line(f"Resumed: {resumed} of {total} had been counted before.")
        self._bar.show(progress.done / max(progress.total, 1), str(progress))
