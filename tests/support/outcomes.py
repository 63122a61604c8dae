"""The outcome of a call of `rank`: its ranks, or its error; and what the definition says."""

from __future__ import annotations

from typing import Any

import truerank as tr
from oracles.counting import Counts, Refused, count
from strategies.count_problems import Problem
from support.error_kinds import is_of_kind
from support.problems import FORMS, SHARED_FORMS, assert_same

# Keywords of a problem that the definition does not take.
OURS = ("as_targets", "filter_form", "candidates_form", "audit", "threads")


def outcome(scores: Any, problem: Problem, **more: Any) -> tr.Ranks | Exception:
    keywords = {**problem.keywords, **more}
    targets = keywords.pop("as_targets", lambda given: given)(problem.targets)
    forms = {**FORMS, **{k: lambda lists, _, f=f: f(lists[0]) for k, f in SHARED_FORMS.items()}}
    for name in ("filter", "candidates"):
        form = keywords.pop(f"{name}_form", None)
        if form is not None:
            keywords[name] = forms[form](keywords[name], problem.scores.shape[-1])
    try:
        return tr.rank(scores, targets, **keywords)
    except (ValueError, TypeError) as error:
        return error


def defined(problem: Problem) -> Counts | Refused:
    """Return what the definition says about a problem."""
    plain = {name: value for name, value in problem.keywords.items() if name not in OURS}
    try:
        return count(problem.scores, problem.targets, **plain)
    except Refused as refused:
        return refused


def assert_outcome(got: tr.Ranks | Exception, expected: Counts | Refused, *, audit: bool) -> None:
    """Check that the counts are the same or that both are refused, whichever NaN is named."""
    if not isinstance(got, Exception):
        assert not isinstance(expected, Refused), f"should have refused: {expected}"
        assert_same(got, expected, audit=audit)
        return
    assert isinstance(expected, Refused), f"refused without need: {got!r}"
    assert is_of_kind(got, ValueError), repr(got)
    words = ("is NaN", "target") if expected.nan is not None else expected.names
    assert any(word in str(got) for word in words), (got, expected)
