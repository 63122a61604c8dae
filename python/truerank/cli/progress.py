"""How far a long run is: one line on standard error where that is a terminal, else nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    import rich.progress

    from .. import Progress

START_AFTER = 0.5  # seconds: what takes no longer draws nothing
REDRAW_EVERY = 0.1  # seconds between two drawings
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def size_text(nbytes: float) -> str:
    """A number of bytes in the largest unit that fits.

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
    """Seconds as minutes or hours.

    Examples
    --------
    >>> time_text(7.2), time_text(3599.9), time_text(100_000)
    ('0:07', '1:00:00', '27:46:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def progress_text(progress: Progress) -> str:
    """Bytes done and to do, the rate, and the time left once it can be told."""
    parts = [f"{size_text(progress.done)} of {size_text(progress.total)}"]
    if progress.rate:
        parts.append(f"{size_text(progress.rate)}/s")
    if progress.left is not None:
        parts.append(f"{time_text(progress.left)} left")
    return ", ".join(parts)


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """A bar that shows itself once a run has taken half a second, and is gone when it ends.

    It is drawn where standard error is a terminal that can move its cursor, and only from within
    `show`: no thread of its own wakes up beside a count.

    Parameters
    ----------
    clock
        What tells the seconds.

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
        # rich may be told to take anything for a terminal: a file is none
        tty = stream is not None and stream.isatty()
        self._console = Console(file=stream) if tty else None
        if self._console is not None and (
            not self._console.is_terminal or self._console.is_dumb_terminal
        ):
            self._console = None

    def show(self, fraction: float, text: str) -> None:
        """Draw how far it is, from 0 to 1, and what can be said of it."""
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
        """Erase what was drawn; a later `show` draws again."""
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
    """What `rank` calls as it counts: says once what a checkpoint brought, and moves the bar.

    Parameters
    ----------
    bar
        Where it is drawn.
    """

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._started = False

    def __call__(self, progress: Progress) -> None:
        """Take a report of progress."""
        if not self._started:
            self._started = True
            if progress.resumed and sys.stderr is not None:
                brought, total = size_text(progress.resumed), size_text(progress.total)
                sys.stderr.write(f"Resumed: {brought} of {total} had been counted before.\n")
        self._bar.show(progress.done / max(progress.total, 1), progress_text(progress))
