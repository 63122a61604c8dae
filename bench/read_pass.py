"""The least that reading can cost: a read-only pass over memory."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from compiled import load
from harness import ratio

__all__ = ["ReadPass", "Variant"]

CHUNKS = (0, 1 << 20)  # bytes drawn at once; 0: one contiguous part for each thread
KEPT = 3  # fastest variants that take turns as the baseline, for tuning meets noise as well


@dataclass(frozen=True)
class Variant:
    """One way to read memory: a reader of `read_pass.c`, and how threads share the block out."""

    reader: int
    name: str
    chunk: int

    def __str__(self) -> str:
        shares = f"chunks of {self.chunk >> 10} KiB" if self.chunk else "one part per thread"
        return f"{self.name}, {shares}"


class ReadPass:
    """The compiled OR-reduction over 64-bit words, and its fastest variants for a thread count.

    Parameters
    ----------
    directory
        Where the library is built, with the compiler that `CC` names or the first one found.

    Raises
    ------
    OSError
        Where no compiler is found or none can build it.
    """

    def __init__(self, directory: Path) -> None:
        self._library = load("read_pass", directory)
        self._read = self._library.read_pass
        self._read.restype = ctypes.c_uint64
        self._read.argtypes = (
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_size_t,
        )
        self._library.read_pass_name.restype = ctypes.c_char_p
        self.openmp = bool(self._library.read_pass_openmp())
        self.speeds: dict[int, dict[Variant, float]] = {}

    def variants(self, threads: int) -> list[Variant]:
        """Every variant that this machine can run."""
        chunks = CHUNKS if threads > 1 and self.openmp else (0,)
        names = map(self._library.read_pass_name, range(self._library.read_pass_readers()))
        usable = [(k, name.decode()) for k, name in enumerate(names) if name is not None]
        return [Variant(k, name, chunk) for k, name in usable for chunk in chunks]

    def read(self, scores: NDArray[Any], threads: int, variant: Variant) -> int:
        """OR of the 64-bit words of contiguous `scores`."""
        if not (scores.flags.c_contiguous or scores.flags.f_contiguous):
            raise ValueError("scores: expected a contiguous array")
        address, size = scores.ctypes.data, scores.nbytes
        return int(self._read(variant.reader, address, size, threads, variant.chunk))

    def tune(self, scores: NDArray[Any], threads: int, rounds: int) -> dict[Variant, float]:
        """GB/s of every variant with this number of threads, the fastest first."""
        variants = {str(v): v for v in self.variants(threads)}
        contestants = {name: self._reading(scores, threads, [v]) for name, v in variants.items()}
        times = ratio(contestants, rounds, rest=0.0)
        names = sorted(variants, key=lambda name: times[name].best)
        self.speeds[threads] = {variants[n]: scores.nbytes / times[n].best / 1e9 for n in names}
        return self.speeds[threads]

    def contestant(self, scores: NDArray[Any], threads: int) -> Callable[[], None]:
        """A pass over `scores`, the fastest variants in turn, so that the best time is the best's.

        `tune` comes first.
        """
        return self._reading(scores, threads, list(self.speeds[threads])[:KEPT])

    def _reading(
        self, scores: NDArray[Any], threads: int, variants: Sequence[Variant]
    ) -> Callable[[], None]:
        turns = itertools.cycle(variants)

        def read() -> None:
            self.read(scores, threads, next(turns))

        return read
