"""Progress of a count, in words, and what `progress=` takes: a callable, or True for a bar.

A bar is that of tqdm, or of rich where tqdm is missing: both draw in terminals and in notebooks.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inputs.errors import InputTypeError
from ..inputs.naming import public

if TYPE_CHECKING:
    Listener = Callable[["Progress"], object]
    Show = Callable[[int, int], None]  # what is done, and in all
    Close = Callable[[], None]

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


@public("truerank")
class BoundedPairs(NamedTuple):
    """What certified bounds spared in a call on embeddings, of its pairs of a task and a candidate.

    Attributes
    ----------
    levels : str
        The levels that bounds use, "int8" or "int16", or "off".
    pairs : int
        All pairs.
    bounded : int
        Of these, how many went by bounds; the others were scored at once, since that is faster.
    open : int
        Of these, how many the levels left open.
    scored : int
        Of these, how many had to be scored.
    """

    levels: str
    pairs: int
    bounded: int
    open: int
    scored: int

    @property
    def share_open(self) -> float:
        """The share of the bounded pairs that levels left open; 0 where there are none.

        Examples
        --------
        >>> BoundedPairs("int8", 10_000, 8000, 80, 2).share_open
        0.01
        """
        return self.open / self.bounded if self.bounded else 0.0


@public("truerank")
class Progress(NamedTuple):
    """How far a count has come.

    Attributes
    ----------
    done, total : int
        Bytes of scores; `done` includes those from a checkpoint.
    seconds : float
        The time since the call began to count.
    resumed : int
        Bytes of scores that were already counted in the checkpoint.
    bounds : BoundedPairs, optional
        Of embeddings, whose scores are not stored: what bounds spared in this call.
    """

    done: int
    total: int
    seconds: float
    resumed: int = 0
    bounds: BoundedPairs | None = None

    @property
    def rate(self) -> float:
        """Bytes per second in this call; 0 at the start.

        Examples
        --------
        >>> Progress(3000, 9000, 2.0, resumed=1000).rate
        1000.0
        """
        return (self.done - self.resumed) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """The seconds that are left at this rate; None before there is a rate.

        Examples
        --------
        >>> Progress(3000, 9000, 2.0, resumed=1000).left
        6.0
        """
        return (self.total - self.done) / self.rate if self.rate > 0 else None

    def __str__(self) -> str:
        """Return what is done, the rate and the time that is left, in words.

        Examples
        --------
        >>> print(Progress(3_000_000, 9_000_000, 2.0, resumed=1_000_000))
        3 MB of 9 MB, 1 MB/s, 0:06 left
        """
        return progress_text(self)


def as_listener(progress: object) -> Listener | None:
    """Check the argument `progress`, before anything is counted; True becomes a bar.

    Parameters
    ----------
    progress : callable, bool or None
        A callable is returned as it is, False and None become None.

    Raises
    ------
    TypeError
        For anything else.
    ImportError
        For True if neither tqdm nor rich is installed.

    Examples
    --------
    >>> as_listener(print) is print, as_listener(False)
    (True, None)
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if not callable(progress):
        got = type(progress).__name__
        raise InputTypeError("progress", expected="a callable or a bool", got=got)
    return progress


class Bar:
    """A bar that appears with the first report of a count, and ends when all is done.

    It stays where it was if the count ends early, and a later count draws a new one.
    """

    def __init__(self) -> None:
        found = [open_bar for library, open_bar in _BARS.items() if find_spec(library) is not None]
        if not found:
            raise ImportError(
                "progress=True needs tqdm or rich: pip install tqdm, or pip install 'truerank[cli]'"
            )
        self._open = found[0]
        self._drawn: tuple[Show, Close] | None = None

    def __call__(self, progress: Progress) -> None:
        """Draw a report."""
        if self._drawn is None:
            self._drawn = self._open(progress.done, progress.total)
        show, close = self._drawn
        show(progress.done, progress.total)
        if progress.done >= progress.total:
            self._drawn = None
            close()


def _open_tqdm(done: int, total: int) -> tuple[Show, Close]:
    bar: Any = import_module("tqdm.auto").tqdm(
        initial=done, total=total, unit="B", unit_scale=True, desc="truerank"
    )

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show, bar.close


def _open_rich(done: int, total: int) -> tuple[Show, Close]:
    console: Any = import_module("rich.console").Console(stderr=True)
    library: Any = import_module("rich.progress")
    columns = (
        library.TextColumn("truerank"),
        library.BarColumn(),
        library.DownloadColumn(),
        library.TransferSpeedColumn(),
        library.TimeRemainingColumn(),
    )
    # no thread of its own beside a count
    bar = library.Progress(*columns, console=console, auto_refresh=False)
    task = bar.add_task("", total=total, completed=done)
    bar.start()

    def show(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total, refresh=True)

    return show, bar.stop


# The first that is installed.
_BARS: dict[str, Callable[[int, int], tuple[Show, Close]]] = {
    "tqdm": _open_tqdm,
    "rich": _open_rich,
}
