"""Problems drawn by hypothesis: everything that a call of `rank` can combine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from support.problems import (
    CHECKING_FORMS,
    FORMS,
    KINDS,
    LAYOUTS,
    SHARED_FORMS,
    Array,
    dtype_keyword,
    in_form,
    pool,
    pool_without_nan,
)

Lists = list[list[int]]

TARGET_TYPES = {
    "list": lambda targets: targets,
    "int64": lambda targets: np.array(targets, np.int64),
    "int32": lambda targets: np.array(targets, np.int32),
    "uint64": lambda targets: np.array(targets, np.uint64),
    "int16 steps": lambda targets: np.repeat(np.array(targets, np.int16), 3)[::3],
    "big-endian": lambda targets: np.array(targets, ">i8"),
}


@dataclass
class Problem:
    scores: Array
    targets: Any
    keywords: dict[str, Any]

    def call(self) -> tuple[Any, dict[str, Any]]:
        """Return targets and keywords as `rank` takes them."""
        keywords = dict(self.keywords)
        for name in ("filter", "candidates"):
            if (form := keywords.pop(f"{name}_form", None)) is not None:
                keywords[name] = in_form(form, keywords[name], self.scores.shape[-1])
        as_targets = keywords.pop("as_targets", lambda targets: targets)
        if keywords.get("rows") is not None:
            keywords["rows"] = np.asarray(keywords["rows"], np.int64)
        return as_targets(self.targets), keywords

    def __repr__(self) -> str:
        # Bytes as well: a printed NaN hides its sign, a printed array its strides.
        return (
            f"Problem({self.scores!r}, strides={self.scores.strides}, targets={self.targets!r}, "
            f"{self.keywords!r})"
        )


@st.composite
def matrices(draw: st.DrawFn, *, nan: bool) -> tuple[Array, str | None]:
    """Draw a matrix of few distinct values, of any dtype and layout, with NaN if it has NaN."""
    kind = draw(st.sampled_from(KINDS))
    everything = pool(kind) if nan else pool_without_nan(kind)
    choice = st.integers(0, len(everything) - 1)
    values = everything[draw(st.lists(choice, min_size=1, max_size=5))]
    rows = draw(st.integers(0, 5))
    # Around the widths of SIMD vectors, sometimes far beyond.
    columns = draw(st.one_of(st.integers(1, 9), st.integers(10, 70), st.integers(120, 270)))
    picks = np.random.default_rng(draw(st.integers(0, 2**32))).integers(
        0, len(values), (rows, columns)
    )
    layout = LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))]
    return layout(values[picks]), dtype_keyword(kind)


@st.composite
def selections(draw: st.DrawFn, tasks: int, columns: int) -> Lists:
    """Draw a list of columns per task, unsorted and with repeats; tasks may share lists."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.sampled_from([0, 1, 4, columns, 2 * columns]))
    distinct = [rng.integers(0, columns, rng.integers(0, most + 1)).tolist() for _ in range(4)]
    distinct.append(rng.permutation(columns).tolist())  # all columns
    lists = [distinct[rng.integers(len(distinct))] for _ in range(tasks)]
    return [list(entries) for entries in lists]


def with_target(lists: Lists, targets: list[int]) -> Lists:
    return [[*entries, target] for entries, target in zip(lists, targets, strict=True)]


@st.composite
def problems(draw: st.DrawFn, *, nan: bool, errors: bool) -> Problem:
    scores, dtype = draw(matrices(nan=nan))
    columns = scores.shape[1]
    column = st.integers(0, columns - 1)
    keywords: dict[str, Any] = {"dtype": dtype}

    if len(scores) and draw(st.booleans()):
        row = st.integers(0, len(scores) - 1)
        keywords["rows"] = draw(st.lists(row, max_size=draw(st.sampled_from([3, 20]))))
    elif len(scores) and draw(st.integers(0, 9)) == 0:
        scores = scores[0]
    one_row = scores.ndim == 1
    tasks = len(keywords["rows"]) if "rows" in keywords else 1 if one_row else len(scores)
    targets: Any = draw(column)
    if draw(st.integers(0, 3)) or not len(scores):
        if one_row:
            tasks = draw(st.integers(0, 5))
        targets = draw(st.lists(column, min_size=tasks, max_size=tasks))
        keywords["as_targets"] = TARGET_TYPES[draw(st.sampled_from(list(TARGET_TYPES)))]
    each = [targets] * tasks if isinstance(targets, int) else targets

    if draw(st.booleans()):
        keywords["filter"] = draw(selections(tasks, columns))
        keywords["filter_form"] = draw(st.sampled_from(list(FORMS)))
    how = draw(st.sampled_from(["all", "all", "shared", "each"]))
    if how == "shared" and tasks:
        chosen = draw(st.lists(column, max_size=columns)) + each
        if errors and draw(st.booleans()):
            chosen = draw(st.lists(column, max_size=columns))  # perhaps without the targets
        keywords["candidates"] = [chosen] * tasks
        keywords["candidates_form"] = draw(st.sampled_from(list(SHARED_FORMS)))
    elif how == "each" and tasks:
        lists = draw(selections(tasks, columns))
        if not errors or draw(st.booleans()):
            lists = with_target(lists, each)
        keywords["candidates"] = lists
        keywords["candidates_form"] = draw(st.sampled_from(list(FORMS)))

    if errors and tasks:
        wrong = draw(st.sampled_from(["nothing", "targets", "rows", "filter", "candidates"]))
        far = draw(st.sampled_from([0, 1, 1000]))
        if wrong == "targets":
            bad = draw(st.sampled_from([-1, columns + far]))
            keywords.pop("as_targets", None)
            targets = bad if isinstance(targets, int) else [*targets[:-1], bad]
        elif wrong == "rows" and keywords.get("rows"):
            keywords["rows"][draw(st.integers(0, tasks - 1))] = draw(
                st.sampled_from([-1, len(scores) + far])
            )
        elif wrong in keywords and keywords[f"{wrong}_form"] not in CHECKING_FORMS:
            if "uint" in keywords[f"{wrong}_form"]:
                bad = columns + far
            else:
                bad = draw(st.sampled_from([-1, columns + far]))
            keywords[wrong][draw(st.integers(0, tasks - 1))].append(bad)

    keywords["order"] = draw(st.sampled_from(["descending", "ascending"]))
    keywords["nan"] = draw(st.sampled_from(["raise", "worst", "omit"]))
    keywords["audit"] = draw(st.booleans())
    keywords["threads"] = draw(st.sampled_from([1, 2, 3]))
    return Problem(scores, targets, keywords)
