"""A progress bar on standard error for long runs, shown only on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rich.console import Console

from .endings import write_line

if TYPE_CHECKING:
    import rich.progress

    from .. import Progress

START_AFTER = 0.5  # seconds: shorter runs draw no bar
REDRAW_EVERY = 0.1  # seconds between two drawings
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def size_text(nbytes: float) -> str:
    """Write a number of bytes in the largest unit that fits.

    Examples
    --------
    >>> size_text(4_294_967_296), size_text(2.5e6), size_text(999), size_text(2e15)
    ('4.29 GB', '2.5 MB', '999 bytes', '2000 TB')
    """
    for unit, name in UNITS:
        if nbytes >= unit:
            value = nbytes / unit
            return f"{value:.0f} {name}" if value >= 100 else f"{value:.3g} {name}"
    return f"{nbytes:.0f} bytes"


def time_text(seconds: float) -> str:
    """Write seconds as minutes or hours.

    Examples
    --------
    >>> time_text(7.2), time_text(3599.9), time_text(100_000)
    ('0:07', '1:00:00', '27:46:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def progress_text(progress: Progress) -> str:
    """Write the bytes done and in all, the rate, and the time left once it is known."""
    parts = [f"{size_text(progress.done)} of {size_text(progress.total)}"]
    if progress.rate:
        parts.append(f"{size_text(progress.rate)}/s")
    if progress.left is not None:
        parts.append(f"{time_text(progress.left)} left")
    return ", ".join(parts)


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
        self._bar.show(progress.done / max(progress.total, 1), progress_text(progress))
