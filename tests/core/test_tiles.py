"""AMX's tiles are a state of a thread and, by Linux, a permission of the process.

Whatever else the process does with its threads, children and signals, counts are the same, and
where tiles are refused, bytes take their place. Without AMX what is tested is the same program by
the levels that the machine has; builds for tests have plain tiles.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.environment import Run
from truerank import _core

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(sys.platform != "linux", reason="tiles are used on Linux alone"),
]

CPU = Path("/proc/cpuinfo")
HAS_AMX = CPU.exists() and "amx_int8" in CPU.read_text() and _core.isa() == "avx512"

START = """
import ctypes, faulthandler, os, signal
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import truerank as tr
from truerank import _core

rng = np.random.default_rng(0)
whole = rng.integers(-99, 100, (900, 70)).astype(np.int8)
targets = np.arange(150)

def counts(threads=1):
    found = []
    for vectors in (whole, whole.astype(np.float32) * np.float32(0.37)):
        ranks = tr.rank_embeddings(
            vectors[:150], vectors[::-1], targets, similarity="sql2", threads=threads
        )
        found.append((ranks.above.tolist(), ranks.tied.tolist()))
    return found

def child(threads):
    process = os.fork()
    if process == 0:
        os._exit(0 if counts(threads) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0

class Stack(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

memory = ctypes.create_string_buffer(8192)

def use_small_stack():
    stack = Stack(ctypes.addressof(memory), 0, 8192)
    return ctypes.CDLL(None, use_errno=True).sigaltstack(ctypes.byref(stack), None)

_core.choose_bounds("off")
expected = counts()
_core.choose_bounds(LEVELS)
"""

SCRIPTS = {
    # Children inherit the permission, or ask for it themselves.
    "a fork before and after": """
child(1)
child(2)
assert counts() == expected
child(1)
child(2)
""",
    "a handler of Python during a call": """
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(len(str(expected))))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while len(calls) < 20:
    assert counts() == expected
signal.setitimer(signal.ITIMER_REAL, 0)
""",
    "eight threads": """
with ThreadPoolExecutor(8) as pool:
    assert all(found == expected for found in pool.map(counts, [1, 2] * 8))
""",
    "faulthandler before and after": """
faulthandler.enable()
assert counts() == expected
faulthandler.disable()
faulthandler.enable()
assert counts() == expected
""",
}


def levels() -> str:
    return _core.bounds_choices()[-1] + "!"


def run(run_python: Run, script: str, name: str) -> str:
    return run_python(f"LEVELS = {name!r}\n{START}{script}\nprint(_core.bounds())")


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_counts_beside(script: str, run_python: Run) -> None:
    assert run(run_python, script, levels()) == levels() + "\n"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_small_stack_for_signals(when: str, run_python: Run) -> None:
    """Linux permits no tiles where a stack could not save them, and afterwards no such stack."""
    script = """
assert use_small_stack() == 0
assert counts() == expected
"""
    if when == "after":
        script = """
assert counts() == expected
use_small_stack()
assert counts() == expected
"""
    found = run(run_python, script, "!")
    if HAS_AMX:
        assert found == ("int8!\n" if when == "before" else "tiles!\n")
    else:
        assert found in ("int16!\n", "int8!\n")


def test_tiles_without_amx(run_python: Run) -> None:
    """What is named is had, or the error says what it needs; nobody else is given plain tiles."""
    script = "from truerank import _core; print(_core.bounds())"
    assert (run_python(script) == "tiles\n") == HAS_AMX
    if "tiles" in _core.bounds_choices():
        assert run_python(script, env={"TRUERANK_BOUNDS": "tiles"}) == "tiles\n"
    else:
        with pytest.raises(AssertionError, match=r"got 'tiles', which needs AMX"):
            run_python(script, env={"TRUERANK_BOUNDS": "tiles"})


@pytest.mark.skipif(not HAS_AMX, reason="needs a processor with AMX")
def test_permission_is_asked_for_where_bounds_are_first_used(run_python: Run) -> None:
    script = """
import ctypes
import truerank as tr

def permitted():
    mask = ctypes.c_ulong()
    assert ctypes.CDLL(None).syscall(158, 0x1022, ctypes.byref(mask)) == 0
    return bool(mask.value >> 18 & 1)

print(permitted())
tr.rank([[1, 2, 3]], [0])
print(permitted())
from truerank import _core
_core.bounds()
print(permitted())
"""
    assert run_python(script).split() == ["False", "False", "True"]
