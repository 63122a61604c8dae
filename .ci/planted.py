"""Calls one function of planted.cpp: `planted.py LIBRARY FUNCTION ARGUMENT [THREADS]`."""

from __future__ import annotations

import ctypes
import sys
import threading


def main(library: str, function: str, argument: str, threads: str = "1") -> None:
    call = getattr(ctypes.CDLL(library), function)
    together = threading.Barrier(int(threads))

    def member() -> None:
        together.wait()
        call(ctypes.c_long(int(argument)))

    team = [threading.Thread(target=member) for _ in range(int(threads))]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
