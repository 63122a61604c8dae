"""The most that arithmetic can do: multiply-adds a second that wait for nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from compiled import load

__all__ = ["PeakFMA"]

VECTORS = {"avx2": 32, "avx512": 64, "neon": 16}  # bytes, by truerank's instruction sets


class PeakFMA:
    """The compiled chains of multiply-adds, in the vectors of an instruction set.

    Parameters
    ----------
    directory
        Where the library is built, with the compiler that `CC` names or the first one found.
    isa
        Instruction set that truerank uses here.

    Raises
    ------
    OSError
        Where no compiler is found or none can build it, and where the set has no multiply-add.
    """

    def __init__(self, directory: Path, isa: str) -> None:
        if isa not in VECTORS:
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
        """Do 12,000 multiply-adds of vectors in each thread and round; how many numbers that is."""
        total = ctypes.c_double()
        doubles = int(dtype == "float64")
        count = int(self._run(VECTORS[self.isa], doubles, rounds, threads, ctypes.byref(total)))
        if not total.value:
            raise OSError(f"no peak of multiply-adds: {self.isa} is not built")
        return count

    def contestant(self, dtype: str, threads: int, rounds: int) -> tuple[Callable[[], int], int]:
        """What to time, and the multiply-adds that a call of it does."""

        def multiply_and_add() -> int:
            return self.run(dtype, rounds, threads)

        return multiply_and_add, multiply_and_add()
