"""What `help` shows of the methods of tasks describes each of their parameters once."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import truerank as tr

pytestmark = pytest.mark.python_only
TASKS = (
    tr.link_prediction.Task,
    tr.alignment.Task,
    tr.retrieval.Task,
)
METHODS = {
    f"{task.__module__}.{task.__name__}.{name}": method
    for task in TASKS
    for name, method in inspect.getmembers(task, inspect.isfunction)
    if re.fullmatch("evaluate(_.*)?", name)
}


@pytest.mark.parametrize("name", METHODS)
def test_each_parameter_is_described_once(name: str) -> None:
    method: Any = METHODS[name]
    section = inspect.getdoc(method).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line[0] != " "]
    described = [parameter for head in heads for parameter in head.split(", ")]
    assert sorted(described) == sorted(set(inspect.signature(method).parameters) - {"self"})
