"""One good call of each public function: what each argument of it is asked wrongly beside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import truerank as tr

# Results, which the package makes and users only read, and records of plain fields.
RESULTS = """AlignmentData CSLS Comparison
Interval Intervals
Triples Adjusted Metric Step InputError InputTypeError InputValueError
UnknownKeyError Progress TopK Preset Comparisons CompatReport
CompatTable"""
NOT_ASKED = frozenset(RESULTS.split())
# Of results: what is asked of them, too.
METHODS_OF_RESULTS = {
    "CompatReport": ("bounds", "corrected", "printed"),
}
TABLES = ["table", "save", "to_text"]
TABLES += [f"to_{form}" for form in ("csv", "html", "json", "latex", "markdown", "pandas")]
METHODS_OF_RESULTS |= {name: tuple(TABLES) for name in ("Comparisons", "CompatTable")}
METHODS_OF_RESULTS["CompatReport"] += tuple(TABLES)
# What rooms of the package ask each other for, and nobody else.
WITHIN = ("in_order", "units")


@cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters by name."""
    return inspect.signature(function).parameters


class Call(NamedTuple):
    """A function and arguments with which it returns, by name; of `*names`, one argument."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters that can be asked: all but `**options`."""
        parameters = parameters_of(self.function)
        return {name: p for name, p in parameters.items() if p.kind is not p.VAR_KEYWORD}

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
    """Yield the public functions and classes, each once, by the shortest name."""
    names: list[str] = list(getattr(module, "__all__", ()))
    values = {name: getattr(module, name) for name in sorted(names) if not name.startswith("_")}
    for name, value in values.items():
        if callable(value):
            yield f"{path}{name}", value
    for name, value in values.items():
        if isinstance(value, ModuleType) and name != "adapters":
            yield from public_callables(value, f"{path}{name}.")


def methods_of(name: str, kind: type) -> set[str]:
    """Return the public methods of a class that take arguments, by their names."""
    names = set()
    for method in dir(kind):
        value = getattr(kind, method)
        is_own = str(getattr(value, "__module__", "")).startswith("truerank")
        if method.startswith("_") or not callable(value) or not is_own:
            continue
        if set(inspect.signature(value).parameters) - {"self", "options"}:
            names.add(f"{name}.{method}")
    return names


def expected_calls() -> set[str]:
    """Return the names of all functions, constructors and methods that have to be asked."""
    found: set[str] = set()
    seen: list[Any] = []
    for name, value in public_callables():
        if any(value is other for other in seen):
            continue
        seen.append(value)
        short = name.rpartition(".")[2]
        if short in NOT_ASKED:
            found |= {f"{name}.{method}" for method in METHODS_OF_RESULTS.get(short, ())}
            continue
        if inspect.signature(value).parameters:
            found.add(name)
        if isinstance(value, type):
            found |= methods_of(name, value)
    return {name for name in found if name.rpartition(".")[2] not in WITHIN}
