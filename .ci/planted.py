"""Calls a function of planted.cpp: `planted.py LIBRARY FUNCTION ARGUMENT [THREADS]`."""

import ctypes
import sys
import threading

library, function, argument, threads = (*sys.argv[1:], "1")[:4]
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
