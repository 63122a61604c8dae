"""Progress of what takes long, in words, and what `progress=` takes: a callable, or True for a bar.

A bar is that of tqdm: a widget in a notebook that has ipywidgets, elsewhere text.

A watch is how code below the doors is told to tell: it is called as ``watch(done, total)``, in any
unit, or with how much was resumed as well. The core calls it on the thread of the call, where that
looks for Ctrl-C, and need not tell the end. What it raises ends the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..errors import InputTypeError
from ..naming import import_extra, public

if TYPE_CHECKING:
    Listener = Callable[["Progress"], object]
    Watch = Callable[..., object]

BYTES = "bytes"
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (0, "bytes"))


def size_text(nbytes: float) -> str:
    """Write a number of bytes in the largest unit that fits.

    >>> size_text(4_294_967_296), size_text(2.5e6), size_text(999), size_text(2e15)
    ('4.29 GB', '2.5 MB', '999 bytes', '2000 TB')
    """
    size, unit = next(each for each in UNITS if nbytes >= each[0])
    number = nbytes / (size or 1)
    if number >= 100:  # "g" might write an exponent.
        return f"{number:.0f} {unit}"
    return f"{number:.3g} {unit}"


class BoundedPairs(NamedTuple):
    """What certified bounds spared in a call on embeddings, of pairs of a task and a candidate."""

    levels: str  # "int8" or "int16", which bounds use, or "off"
    pairs: int
    bounded: int  # by bounds; the others were scored at once, since that is faster
    open: int  # of the bounded ones, what the levels left
    scored: int


@public("truerank")
@dataclass(frozen=True)
class Progress:
    """How far a call has come.

    Attributes
    ----------
    done, total : int
        Bytes of scores, or what `unit` says; `done` includes what a checkpoint had. A total that is
        not known yet is 0.
    seconds : float
        The time since the call began to count.
    resumed : int
        Bytes of scores that were already counted in the checkpoint.
    bounds : tuple, optional
        For embeddings, what certified bounds spared in this call. ``levels`` is "int8", "int16" or
        "off". The others are numbers of pairs of a task and a candidate: all ``pairs``; those that
        were ``bounded``; of these, those that bounds left ``open``; and those that were ``scored``.
    unit : str
        "bytes" of scores; "columns" for a `RankCounter`, "tasks" for `rank_against`, "passes" for
        Dask, "queries" for a model that is called.
    """

    done: int
    total: int
    seconds: float
    resumed: int = 0
    bounds: BoundedPairs | None = None
    unit: str = BYTES

    @property
    def rate(self) -> float:
        """How much is done per second in this call, in the unit; 0 at the start.

        Examples
        --------
        >>> Progress(3000, 9000, 2.0, resumed=1000).rate
        1000.0
        """
        if self.seconds <= 0:
            return 0.0
        return (self.done - self.resumed) / self.seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left at this rate; None without a rate or a total.

        Examples
        --------
        >>> Progress(3000, 9000, 2.0, resumed=1000).left
        6.0
        """
        if self.rate <= 0 or not self.total:
            return None
        return (self.total - self.done) / self.rate

    def __str__(self) -> str:
        """Return what is done, the rate and the time that is left, in words.

        Examples
        --------
        >>> print(Progress(3_000_000, 9_000_000, 2.0, resumed=1_000_000))
        3 MB of 9 MB, 1 MB/s, 0:00:06 left
        >>> print(Progress(2000, 10_000, 4.0, unit="queries"))
        2,000 of 10,000 queries, 500/s, 0:00:16 left
        >>> print(Progress(3_000_000, 0, 2.0))
        3 MB, 1.5 MB/s
        """
        amount: Callable[[float], str] = size_text if self.unit == BYTES else "{:,.0f}".format
        text = amount(self.done)
        if self.total:
            text += f" of {amount(self.total)}"
        if self.unit != BYTES:  # `size_text` writes bytes itself.
            text += f" {self.unit}"
        if self.rate:
            text += f", {amount(self.rate)}/s"
        if self.left:
            text += f", {timedelta(seconds=round(self.left))} left"
        return text


def as_listener(progress: object) -> Listener | None:
    """Check the argument `progress`, before anything is counted; True becomes a bar, False None."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return bar()
    if not callable(progress):
        got = type(progress).__name__
        raise InputTypeError("progress", expected="a callable or a bool", got=got)
    return progress


def reporter(progress: bool | Listener | None, total: int, unit: str = BYTES) -> Watch:
    """Check the argument `progress`; return a watch that is called with how much is done.

    It also takes what was `resumed`, and `bounds`. The clock starts now. Nothing is told where
    nobody listens.
    """
    listener = as_listener(progress)
    start = time.monotonic()

    def report(done: int, total: int = total, resumed: int = 0, bounds: Any = None) -> None:
        if listener is not None:
            listener(Progress(done, total, time.monotonic() - start, resumed, bounds, unit))

    return report


def bar() -> Listener:
    """Make a bar that appears with the first report of a count, and ends when all is done.

    It stays where it was if the count ends early, and a later count draws a new one.
    """
    # In a notebook without ipywidgets `tqdm.auto` warns that they are missing, and draws in text.
    module = "tqdm.auto" if find_spec("ipywidgets") else "tqdm"
    tqdm = import_extra(module, "progress=True", "progress").tqdm
    current: Any = None

    def draw(progress: Progress) -> None:
        nonlocal current
        if current is None:
            unit = {"unit": "B", "unit_scale": True}
            if progress.unit != BYTES:
                unit = {"unit": f" {progress.unit}"}
            # A widget takes the total only when it is made.
            current = tqdm(None, "truerank", progress.total, initial=progress.done, **unit)
        current.total = progress.total or None
        current.update(progress.done - current.n)
        is_without_total = progress.total == 0 and progress.done > 0
        if progress.done >= progress.total and not is_without_total:
            current.close()
            current = None

    return draw


@overload
def watch_part(watch: Watch, sizes: Sequence[int], number: int) -> Watch: ...
@overload
def watch_part(watch: None, sizes: Sequence[int], number: int) -> None: ...
def watch_part(watch: Watch | None, sizes: Sequence[int], number: int) -> Watch | None:
    """Make a watch for one of several parts of some sizes, counted from 0.

    It takes how much is done of the part, in units of which `total` are the whole part (by default
    of its size), and tells the given watch what that is of all parts, those before it done.

    Examples
    --------
    >>> second = watch_part(lambda done, total: print(f"{done} of {total}"), [100, 300], 1)
    >>> second(1, 5), second(60)
    160 of 400
    160 of 400
    (None, None)
    """
    if watch is None:
        return None
    before = sum(sizes[:number])
    size = sizes[number]
    whole = sum(sizes)
    return lambda done, total=size, resumed=0: watch(before + size * done // max(total, 1), whole)
