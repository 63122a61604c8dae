"""Baselines in C, built at run time: a pass that only reads, multiply-adds alone, and a loop."""

from __future__ import annotations

import ctypes
import itertools
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import time_in_turn

__all__ = ["CountRows", "PeakFMA", "ReadPass", "Variant"]

CHUNKS = (0, 1 << 20)  # bytes that a thread takes at once; 0: equal shares, one for each thread
BASELINE_VARIANTS = 3  # as many take turns as the baseline, for tuning is noisy as well
VECTOR_BYTES = {"avx2": 32, "avx512": 64, "neon": 16}  # by truerank's instruction sets


def load(name: str, directory: Path, *options: str) -> ctypes.CDLL:
    """Build `name`.c, which lies beside this file, into a directory and load it.

    The compiler is the one that `CC` names, or the first one found; an OSError if none can do it.
    """
    source = Path(__file__).with_name(f"{name}.c")
    library = directory / f"{name}.so"
    names = ["cc", "gcc", "clang"]
    if os.environ.get("CC"):
        names = [os.environ["CC"]]
    compilers = [words for words in map(shlex.split, names) if shutil.which(words[0])]
    error = "no C compiler found"
    for openmp in (["-fopenmp"], []):  # any compiler with OpenMP rather than the first without
        for compiler in compilers:
            command = compiler + openmp
            command += ["-O3", *options, "-shared", "-fPIC", "-o", str(library), str(source)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                return ctypes.CDLL(str(library))
            error = done.stderr
    raise OSError(f"{source.name} could not be built: {error}")


@dataclass(frozen=True)
class Variant:
    """One way to read memory: a reader of `read_pass.c`, and how threads divide the block."""

    reader: int
    name: str
    chunk: int

    def __str__(self) -> str:
        if self.chunk:
            return f"{self.name}, chunks of {self.chunk >> 10} KiB"
        return f"{self.name}, one share per thread"


class ReadPass:
    """The compiled OR of 64-bit words, built in a directory; its fastest variants by threads."""

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
        """Return every variant that this machine can run."""
        chunks = CHUNKS if threads > 1 and self.openmp else (0,)
        names = map(self._library.read_pass_name, range(self._library.read_pass_readers()))
        usable = [(k, name.decode()) for k, name in enumerate(names) if name is not None]
        return [Variant(k, name, chunk) for k, name in usable for chunk in chunks]

    def read(self, scores: NDArray[Any], threads: int, variant: Variant) -> int:
        """Return the OR of the 64-bit words of contiguous `scores`."""
        if not (scores.flags.c_contiguous or scores.flags.f_contiguous):
            raise ValueError("scores: expected a contiguous array")
        address = scores.ctypes.data
        size = scores.nbytes
        return int(self._read(variant.reader, address, size, threads, variant.chunk))

    def tune(self, scores: NDArray[Any], threads: int, rounds: int) -> dict[Variant, float]:
        """Measure GB/s of every variant with this number of threads; the fastest comes first."""
        variants = {str(v): v for v in self.variants(threads)}
        contestants = {name: self._reader(scores, threads, [v]) for name, v in variants.items()}
        times = time_in_turn(contestants, rounds, rest=0.0)
        names = sorted(variants, key=lambda name: times[name].best)
        self.speeds[threads] = {variants[n]: scores.nbytes / times[n].best / 1e9 for n in names}
        return self.speeds[threads]

    def contestant(self, scores: NDArray[Any], threads: int) -> Callable[[], None]:
        """Return a function that reads `scores`; call `tune` first.

        The fastest variants take turns, so that its best time is that of the best of them.
        """
        return self._reader(scores, threads, list(self.speeds[threads])[:BASELINE_VARIANTS])

    def _reader(
        self, scores: NDArray[Any], threads: int, variants: Sequence[Variant]
    ) -> Callable[[], None]:
        turns = itertools.cycle(variants)

        def read() -> None:
            self.read(scores, threads, next(turns))

        return read


class CountRows:
    """The compiled loop that counts row by row, for this machine, built in a directory."""

    def __init__(self, directory: Path) -> None:
        self._count = load("count_rows", directory, "-march=native").count_rows
        self._count.restype = None
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        self._count.argtypes = (pointer, pointer, size, size, ctypes.c_int, pointer, pointer)

    def contestant(
        self, scores: NDArray[Any], targets: NDArray[Any], threads: int
    ) -> Callable[[], tuple[NDArray[Any], NDArray[Any]]]:
        """Return a function that counts contiguous float32 scores, into arrays made before."""
        above, tied = np.zeros((2, len(scores)), np.int64)
        addresses = [array.ctypes.data for array in (scores, targets, above, tied)]

        def count() -> tuple[NDArray[Any], NDArray[Any]]:
            self._count(*addresses[:2], *scores.shape, threads, *addresses[2:])
            return above, tied

        return count


class PeakFMA:
    """The compiled chains of multiply-adds, in the vectors of truerank's instruction set here."""

    def __init__(self, directory: Path, isa: str) -> None:
        if isa not in VECTOR_BYTES:
            raise OSError(f"no peak of multiply-adds: {isa} has none")
        self.isa = isa
        self._run = load("peak_fma", directory).peak_fma
        self._run.restype = ctypes.c_longlong
        self._run.argtypes = (
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_longlong,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
        )

    def run(self, dtype: str, rounds: int, threads: int) -> int:
        """Do 12,000 multiply-adds of vectors in each thread and round; return the scalar number."""
        total = ctypes.c_double()
        doubles = int(dtype == "float64")
        vector = VECTOR_BYTES[self.isa]
        count = int(self._run(vector, doubles, rounds, threads, ctypes.byref(total)))
        if not total.value:
            raise OSError(f"no peak of multiply-adds: {self.isa} is not built")
        return count

    def contestant(self, dtype: str, threads: int, rounds: int) -> tuple[Callable[[], int], int]:
        """Return a function to time, and the number of multiply-adds that a call of it does."""

        def multiply_and_add() -> int:
            return self.run(dtype, rounds, threads)

        return multiply_and_add, multiply_and_add()
