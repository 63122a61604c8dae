"""Hypothesis compares the package with the definition for everything a call can combine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings

from oracles.counting import Refused, count
from strategies.count_problems import Problem, problems
from support.problems import KINDS, LAYOUTS, Array, check, dtype_keyword, pool, pool_without_nan


@given(problems(nan=False, errors=False))
@settings(max_examples=100)
def test_rank_is_the_definition(problem: Problem) -> None:
    check(count, problem.scores, problem.targets, **problem.keywords)


def memory(array: Array) -> bytes:
    """Return all bytes behind an array, which nobody may write to."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes()


@pytest.mark.smoke
@given(problems(nan=True, errors=False))
@settings(max_examples=100)
def test_rank_is_the_definition_with_nan(problem: Problem) -> None:
    event(problem.keywords["nan"])
    before = memory(problem.scores)
    check(count, problem.scores, problem.targets, **problem.keywords)
    assert memory(problem.scores) == before


@given(problems(nan=True, errors=True))
@settings(max_examples=100)
def test_rank_refuses_what_the_definition_refuses(problem: Problem) -> None:
    check(count, problem.scores, problem.targets, **problem.keywords)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_every_pair_of_values(kind: str, order: str) -> None:
    """Each critical value of each dtype is the true score among all of them."""
    values = pool(kind)
    targets = list(range(len(values)))
    for layout in ("C", "Fortran", "byte-swapped", "unaligned"):
        scores = LAYOUTS[layout](values[np.newaxis])
        for rule in ("raise", "worst", "omit"):
            check(
                count,
                scores,
                targets,
                rows=[0] * len(targets),
                nan=rule,
                order=order,
                dtype=dtype_keyword(kind),
                audit=True,
            )
        without_nan = pool_without_nan(kind)[np.newaxis]
        check(
            count,
            LAYOUTS[layout](without_nan),
            list(range(without_nan.shape[1])),
            rows=[0] * without_nan.shape[1],
            order=order,
            dtype=dtype_keyword(kind),
            audit=True,
        )


@pytest.mark.python_only
def test_hypothesis_reaches_every_kind_of_refusal() -> None:
    """The generator makes problems of every outcome."""
    seen: set[str] = set()

    @given(problems(nan=True, errors=True))
    @settings(max_examples=400, database=None, derandomize=True)
    def collect(problem: Problem) -> None:
        ours = ("as_targets", "filter_form", "candidates_form", "audit", "threads")
        keywords = {k: v for k, v in problem.keywords.items() if k not in ours}
        try:
            count(problem.scores, problem.targets, **keywords)
        except Refused as refused:
            seen.add("/".join(refused.names))
        else:
            seen.add("counted")

    collect()
    assert seen == {"counted", "scores", "targets", "rows", "filter", "candidates"} | {
        "targets/candidates"
    }
