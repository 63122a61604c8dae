"""`arguments`: public functions with several arguments that are odd at once, also in containers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from doors.asking import all_calls, fault_of, limits
from doors.calls import Call, expected_calls
from doors.odd_values import ODD
from fuzz.check import Fault, check

TESTS = ()

Maker = Callable[[], Any]
MAKERS: list[Maker] = [value.make for value in ODD]
# Each call of it takes the time of a hundred others.
NAMES = sorted(expected_calls() - {"page.save"})


@cache
def calls() -> dict[str, Call]:
    """Return the good calls, whose files are kept as long as the process."""
    return all_calls(Path(tempfile.mkdtemp()))


def containers(members: st.SearchStrategy[Maker]) -> st.SearchStrategy[Maker]:
    """Draw what makes a list, a tuple or a dict of what others make."""
    few = st.lists(members, min_size=1, max_size=3)
    kinds = st.sampled_from([list, tuple, lambda values: dict(enumerate(values)), by_name])
    return st.builds(lambda kind, made: lambda: kind([make() for make in made]), kinds, few)


def by_name(values: list[Any]) -> dict[str, Any]:
    """Return values by names that arguments and labels have."""
    return dict(zip(["tail", "a", "q"], values, strict=False))


ODD_VALUES = st.recursive(st.sampled_from(MAKERS), containers, max_leaves=4)


@check(st.sampled_from(NAMES), st.lists(st.tuples(st.integers(0, 20), ODD_VALUES), max_size=3))
def taken_or_refused(name: str, odd: list[tuple[int, Maker]]) -> None:
    """Each call returns, or raises an error that names an argument."""
    call = calls()[name]
    parameters = sorted(call.parameters())
    values = {parameters[place % len(parameters)]: make() for place, make in odd}
    with limits():
        fault = fault_of(call, values)
    assert not fault, f"{name}({values}): {fault}"


FAULTS = [
    Fault(
        "a check of a type left out",
        "python/truerank/inputs/checks.py",
        "    if not isinstance(value, kind):\n",
        "    if False:\n",
    ),
]
