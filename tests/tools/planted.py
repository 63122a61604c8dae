"""Call a function of planted.cpp in threads: `planted.py LIBRARY FUNCTION ARGUMENT THREADS`."""

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor

library, function, argument, threads = sys.argv[1:]
call = getattr(ctypes.CDLL(library), function)
with ThreadPoolExecutor(int(threads)) as pool:
    list(pool.map(call, [ctypes.c_long(int(argument))] * int(threads)))
