"""`rank`: dtypes, layouts, rows, selections, rules and errors against the definition."""

from __future__ import annotations

from fuzz.check import Fault, check
from oracles.counting import count
from strategies.count_problems import Problem, problems
from support.problems import check as compare

CORE = True


@check(problems(nan=True, errors=False))
def counts(problem: Problem) -> None:
    compare(count, problem.scores, problem.targets, **problem.keywords)


@check(problems(nan=True, errors=True))
def errors(problem: Problem) -> None:
    compare(count, problem.scores, problem.targets, **problem.keywords)


FAULTS = [
    Fault(
        "an off-by-one in a filter",
        "cpp/engine/selection.cpp",
        "std::sort(first, first + n);",
        "std::sort(first, first + n - 1);",
    ),
]
