"""How a function is asked wrongly: within limits of time and memory, and what is wrong with it."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from doors.calls import Call
from doors.counting_calls import counting_calls, ranks_calls, vector_calls
from doors.odd_values import Maker, OddValue
from doors.report_calls import compat_calls, metric_calls, report_calls, shown_calls
from doors.task_calls import alignment_calls, link_prediction_calls, retrieval_calls
from support.examples import ONE_OF
from truerank.errors import InputError, UnknownKeyError

ROOMS: tuple[Callable[[Path], list[Call]], ...] = (
    counting_calls,
    vector_calls,
    ranks_calls,
    report_calls,
    shown_calls,
    metric_calls,
    compat_calls,
    link_prediction_calls,
    retrieval_calls,
    alignment_calls,
)
# What messages call an argument: the split, as in files, and scores wherever they come from.
CALLED = {
    "alignment.Task(pairs)": "test",
    "open_scores(source)": "scores",
}
# Each argument is asked every so many of the values, from its own place on: of functions that draw,
# and of all where a share will do.
STEPS = {"page.save": 12 * ONE_OF}
SECONDS = 20  # of a single call
LONGEST = 6000  # characters of a message
MEMORY = 2 << 30  # that a call may take beyond what there is


def all_calls(folder: Path) -> dict[str, Call]:
    """Return the good calls of all rooms by name; their files are in a folder."""
    return {call.name: call for room in ROOMS for call in room(folder)}


kept_folder = cache(lambda: Path(tempfile.mkdtemp()))
kept_calls = cache(lambda: all_calls(kept_folder()))


def ask(name: str, odd: list[tuple[int, Maker]]) -> None:
    """Give several arguments of a function odd values; it writes to a folder of its own."""
    call = kept_calls()[name]
    parameters = sorted(call.parameters())
    values = {parameters[place % len(parameters)]: make() for place, make in odd}
    with contextlib.chdir(kept_folder()), limits():
        fault = fault_of(call, values)
    assert not fault, f"{name}({values}): {fault}"


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """End calls that go on too long, and refuse them memory without bound; ignore our warnings."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {SECONDS} seconds")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    taken = pages * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, before[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # numpy's are faults
            yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGALRM, handler)


def fault_of(call: Call, odd: dict[str, Any]) -> str:
    """Return what is wrong with the answer to odd values of some arguments; empty if nothing is.

    An error names one of the arguments: a value may be good, and another one not fit it. Of a
    mapping, it may name a key. The caller sets the `limits`.
    """
    names: list[Any] = list(call.parameters())
    for argument, value in odd.items():
        names.append(CALLED.get(f"{call.name}({argument})", argument))
        if isinstance(value, dict):
            names += value
    signal.alarm(SECONDS)
    try:
        call.run(**odd)
    except TimeoutError as error:
        return str(error)
    except (OSError, UnknownKeyError):
        return ""
    except ImportError as error:  # of a library that the value asks for
        return "" if "pip install" in str(error) else str(error)
    except InputError as error:
        is_named = any(re.search(rf"\b{name}\b", str(error)) for name in names)
        if not is_named or len(str(error)) > LONGEST:
            return f"names no argument, or says too much: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def faults_of(call: Call, values: list[OddValue]) -> dict[str, str]:
    """Return what is wrong where each argument is odd in turn, by argument and value."""
    assert call.parameters()
    call.run()  # good arguments are taken; and what it imports is there
    step = STEPS.get(call.name, ONE_OF)
    faults = {}
    with limits():
        for place, argument in enumerate(call.parameters()):
            for value in values[place % step :: step]:
                fault = ""
                if value.is_here:
                    fault = fault_of(call, {argument: value.make()})
                if fault:
                    faults[f"{argument}={value.name}"] = fault
    return faults
