"""Problems: calls of `rank`, their ranks or errors, and what the definition says about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import truerank as tr
from oracles.counting import Counts, Refused, count, tasks_of
from support.problems import Array, assert_refused, assert_same, in_form
from support.refusals import is_of_kind

# The definition does not take these keywords of a problem.
OURS = ("as_targets", "filter_form", "candidates_form", "audit", "threads", "block", "progress")


@dataclass
class Problem:
    scores: Array
    targets: Any
    keywords: dict[str, Any]

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(tasks_of(self.scores, self.targets, self.keywords.get("rows"))[0])

    @property
    def plain(self) -> dict[str, Any]:
        """Return the keywords as a definition takes them."""
        return {name: value for name, value in self.keywords.items() if name not in OURS}

    def call(self) -> tuple[Any, dict[str, Any]]:
        """Return targets and keywords as `rank` takes them."""
        keywords = dict(self.keywords)
        for name in ("filter", "candidates"):
            form = keywords.pop(f"{name}_form", None)
            if form is not None:
                columns = self.scores.shape[-1]
                table = in_form(form, keywords[name], columns)
                if name == "filter" and "mask" in form and 2 * table.sum() > table.size:
                    table = in_form("list of sets", keywords[name], columns)  # else refused
                keywords[name] = table
        as_targets = keywords.pop("as_targets", lambda targets: targets)
        if keywords.get("rows") is not None:
            keywords["rows"] = np.asarray(keywords["rows"], np.int64)
        return as_targets(self.targets), keywords


def arrays_of(value: Any) -> list[Array]:
    """Return the arrays in what a call is given, at any depth."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value]
    if hasattr(value, "indptr"):  # It is a matrix of scipy.
        return [value.data, value.indices, value.indptr]
    if not isinstance(value, (list, tuple)) or isinstance(next(iter(value), 0), int):
        return []
    return [array for one in value for array in arrays_of(one)]


def memory(array: Array) -> bytes:
    """Return all bytes behind an array, which nobody may write to."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes()


def attempt(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return what a call returns, or its error.

    Arrays are given read-only, and no byte behind them changes.
    """
    given = list(arguments)
    given += keywords.values()
    arrays = arrays_of(given)
    before = [(array.flags.writeable, memory(array)) for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    try:
        return call(*arguments, **keywords)
    except (ValueError, TypeError, IndexError) as error:
        return error
    finally:
        for array, (writeable, content) in zip(arrays, before, strict=True):
            array.flags.writeable = writeable
            assert memory(array) == content


def quietly(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return what a call returns, without the warnings that it is meant to give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call(*arguments, **keywords)


def outcome(scores: Any, problem: Problem, **more: Any) -> tr.Ranks | Exception:
    """Return the ranks of a problem, whose scores may be in another form, or the error."""
    targets, keywords = problem.call()
    return attempt(tr.rank, scores, targets, **{**keywords, **more})


def defined(problem: Problem) -> Counts | Refused:
    """Return what the definition says about a problem."""
    return attempt(count, problem.scores, problem.targets, **problem.plain)


def are_refused(got: Any, expected: Any) -> bool:
    """Whether the package and a definition refuse a problem, as both or none of them must."""
    assert isinstance(got, Exception) == isinstance(expected, Refused), (got, expected)
    return isinstance(got, Exception)


def assert_outcome(
    got: tr.Ranks | Exception, expected: Counts | Refused, *, audit: bool, place: bool = False
) -> None:
    """Check that the counts are the same or that both are refused.

    `place`: whether the error names the first NaN, not only any.
    """
    if not are_refused(got, expected):
        assert_same(got, expected, audit=audit)
    elif place or expected.nan is None:
        assert_refused(got, expected)
    else:
        assert is_of_kind(got, ValueError), repr(got)
        assert any(word in str(got) for word in ("is NaN", "target")), (got, expected)


def check(scores: Array, targets: Any, **keywords: Any) -> None:
    """Check that the package and the definition give the same integers or the same refusal."""
    problem = Problem(scores, targets, keywords)
    got = outcome(scores, problem)
    expected = defined(problem)
    assert_outcome(got, expected, audit=keywords.get("audit", False), place=True)
