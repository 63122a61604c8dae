"""Hypothesis compares the package with the definition for everything a call can combine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from oracles.counting import Refused, count
from strategies.count_problems import Problem, problems
from support.examples import examples
from support.outcomes import check, defined
from support.problems import KINDS, LAYOUTS, dtype_keyword, pool, pool_without_nan


@pytest.mark.smoke
@given(problems(nan=True, errors=False))
@examples(100)
def test_rank_is_the_definition_with_nan(problem: Problem) -> None:
    event(problem.keywords["nan"])
    check(count, problem.scores, problem.targets, **problem.keywords)


@given(st.booleans().flatmap(lambda nan: problems(nan=nan, errors=True)))
@examples(150)
def test_rank_refuses_what_the_definition_refuses(problem: Problem) -> None:
    check(count, problem.scores, problem.targets, **problem.keywords)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_every_pair_of_values(kind: str, order: str) -> None:
    """Each critical value of each dtype is the true score among all of them."""
    rules: dict[str, Any] = {"order": order, "dtype": dtype_keyword(kind), "audit": True}
    for layout in ("C", "byte-swapped", "unaligned"):
        for values in (pool(kind), pool_without_nan(kind)):
            scores = LAYOUTS[layout](values[np.newaxis])
            targets = list(range(len(values)))
            for rule in ("raise", "worst"):
                check(count, scores, targets, rows=[0] * len(targets), nan=rule, **rules)


@pytest.mark.python_only
def test_hypothesis_reaches_every_kind_of_refusal() -> None:
    """The generator makes problems of every outcome."""
    seen: set[str] = set()

    @given(problems(nan=True, errors=True))
    @settings(max_examples=300, database=None, derandomize=True)
    def collect(problem: Problem) -> None:
        expected = defined(problem)
        outcome = "counted"
        if isinstance(expected, Refused):
            outcome = "/".join(expected.names)
        seen.add(outcome)

    collect()
    assert seen == {"counted", "scores", "targets", "rows", "filter", "candidates"} | {
        "targets/candidates"
    }
