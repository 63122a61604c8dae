"""How a function is asked wrongly: within limits of time and memory, and what is wrong with it."""

from __future__ import annotations

import contextlib
import inspect
import re
import resource
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple

import truerank as tr
from doors.odd_values import Maker
from support.examples import ONE_OF
from support.interruptions import refusing_to_wait
from truerank.errors import InputError, UnknownKeyError

# Results, which the package makes and users only read, and records of plain fields: only their
# methods are asked.
RESULTS = """CSLS Comparison Interval Intervals Triples Adjusted Metric Step
InputError InputTypeError InputValueError InputWarning UnknownKeyError Progress TopK Preset
Comparisons CompatReport CompatTable Graphs Neighbours PairScores"""
# What rooms of the package ask each other for, and nobody else.
WITHIN = ("in_order", "units", "add_runs")
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


@cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters by name."""
    return inspect.signature(function).parameters


class Call(NamedTuple):
    """A function and arguments with which it returns, by name; of `*names`, one argument."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]

    def parameters(self) -> list[str]:
        """Return the parameters that can be asked: all but `self` and `**options`."""
        parameters = parameters_of(self.function).items()
        return [name for name, p in parameters if name != "self" and p.kind is not p.VAR_KEYWORD]

    def run(self, **changed: Any) -> Any:
        """Call the function, with some arguments changed or added."""
        values = deepcopy(self.arguments) | changed
        positional: list[Any] = []
        for name, parameter in parameters_of(self.function).items():
            is_by_place = parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY)
            if is_by_place and name in values:
                positional.append(values.pop(name))
        return self.function(*positional, **values)


def public_callables(module: ModuleType = tr, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes by their names, the shortest first."""
    names: list[str] = list(getattr(module, "__all__", ()))
    values = {name: getattr(module, name) for name in sorted(names) if not name.startswith("_")}
    for name, value in values.items():
        if callable(value):
            yield f"{path}{name}", value
    for name, value in values.items():
        if isinstance(value, ModuleType) and name != "adapters":
            yield from public_callables(value, f"{path}{name}.")


def expected_calls() -> set[str]:
    """Return the names of all functions, constructors and methods that have to be asked."""
    names: set[str] = set()
    seen: list[Any] = []
    for name, value in public_callables():
        if any(value is other for other in seen):
            continue
        seen.append(value)
        is_result = name.rpartition(".")[2] in RESULTS.split()
        if not is_result and inspect.signature(value).parameters:
            names.add(name)
        for method in dir(value) if isinstance(value, type) else ():
            function = getattr(value, method)
            is_own = str(getattr(function, "__module__", "")).startswith("truerank")
            if method.startswith("_") or method in WITHIN or not callable(function) or not is_own:
                continue
            if set(inspect.signature(function).parameters) - {"self", "options"}:
                names.add(f"{name}.{method}")
    return names


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """Refuse memory without bound; ignore our warnings."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    taken = pages * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, before[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # numpy's are faults
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def fault_of(call: Call, odd: dict[str, Any]) -> str:
    """Return what is wrong with the answer to odd values of some arguments; empty if nothing is.

    An error names one of the arguments: a value may be good, and another one not fit it. Of a
    mapping, it may name a key. The caller limits the memory.
    """
    names: list[Any] = call.parameters()
    for argument, value in odd.items():
        names.append(CALLED.get(f"{call.name}({argument})", argument))
        if isinstance(value, dict):
            names += value
    try:
        with refusing_to_wait(SECONDS):
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


def faults_of(call: Call, values: dict[str, Maker]) -> dict[str, str]:
    """Return what is wrong where each argument is odd in turn, by argument and value."""
    assert call.parameters()
    call.run()  # good arguments are taken; and what it imports is there
    step = STEPS.get(call.name, ONE_OF)
    faults = {}
    with limited_memory():
        for place, argument in enumerate(call.parameters()):
            for name, make in list(values.items())[place % step :: step]:
                fault = fault_of(call, {argument: make()})
                if fault:
                    faults[f"{argument}={name}"] = fault
    return faults


def ask(call: Call, odd: list[tuple[int, Maker]]) -> None:
    """Give several arguments of a function odd values; it writes to a folder of its own."""
    parameters = sorted(call.parameters())
    values = {parameters[place % len(parameters)]: make() for place, make in odd}
    with TemporaryDirectory() as folder, contextlib.chdir(folder), limited_memory():
        fault = fault_of(call, values)
    assert not fault, f"{call.name}({values}): {fault}"
