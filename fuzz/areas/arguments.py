"""`arguments`: public functions with several arguments that are odd at once, also in containers."""

from __future__ import annotations

from fuzz.check import Fault

TESTS = ("doors/test_odd_arguments.py",)

FAULTS = [
    Fault(
        "a check of a type left out",
        "python/truerank/inputs/checks.py",
        "    if not isinstance(value, kind):\n",
        "    if False:\n",
    ),
]
