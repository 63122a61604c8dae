"""The outcome of a call of `rank`: its ranks, or its error."""

from __future__ import annotations

from typing import Any

import truerank as tr
from strategies.count_problems import Problem
from support.problems import FORMS, SHARED_FORMS


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
