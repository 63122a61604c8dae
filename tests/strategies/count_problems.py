"""Problems drawn by hypothesis: everything that a call of `rank` can combine."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from support.outcomes import Problem
from support.problems import (
    CHECKING_FORMS,
    FORMS,
    KINDS,
    LAYOUTS,
    NARROW_FORMS,
    SHARED_FORMS,
    Array,
    dtype_keyword,
    pool,
    pool_without_nan,
)

Lists = list[list[int]]
FAR = (-(2**63), 2**32, 2**32 + 1, 2**63 - 1)  # some of which a narrower type would make valid

TARGET_TYPES = {
    "list": lambda targets: targets,
    "int64": lambda targets: np.array(targets, np.int64),
    "int32": lambda targets: np.array(targets, np.int32),
    "uint64": lambda targets: np.array(targets, np.uint64),
    "int16 steps": lambda targets: np.repeat(np.array(targets, np.int16), 3)[::3],
    "big-endian": lambda targets: np.array(targets, ">i8"),
}


def no_mask(ids: list[int], size: int) -> list[int]:
    """Return ids, one of them twice where they look like a mask of integers, which is refused."""
    if 2 < len(ids) == size and max(ids) <= 1:
        return ids + ids[:1]
    return ids


@st.composite
def matrices(draw: st.DrawFn, *, nan: bool) -> tuple[Array, str | None]:
    """Draw a matrix of few distinct values, of any dtype and layout, with NaN if it has NaN."""
    kind = draw(st.sampled_from(KINDS))
    everything = pool(kind)
    if not nan:
        everything = pool_without_nan(kind)
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
    return [no_mask(list(entries), columns) for entries in lists]


@st.composite
def candidate_lists(
    draw: st.DrawFn, targets: list[int], columns: int, *, shared: bool, errors: bool
) -> tuple[Lists, str]:
    """Draw candidates of each task, or of all, and a form; with `errors`, targets may miss."""
    complete = not errors or draw(st.booleans())
    if shared:
        chosen = draw(st.lists(st.integers(0, columns - 1), max_size=columns))
        if complete:
            chosen = chosen + targets
        return [no_mask(chosen, columns)] * len(targets), draw(st.sampled_from(list(SHARED_FORMS)))
    lists = draw(selections(len(targets), columns))
    if complete:
        pairs = zip(lists, targets, strict=True)
        lists = [no_mask([*entries, target], columns) for entries, target in pairs]
    return lists, draw(st.sampled_from(list(FORMS)))


def wrong_indices(end: int, form: str) -> st.SearchStrategy[int]:
    """Indices that are out of range, near it or far away, and that a form can hold."""
    near = [end, end + 1, end + 1000]
    far = list(FAR)
    if "uint" in form:
        far = [index % 2**64 for index in FAR]
    else:
        near.append(-1)
    if form in NARROW_FORMS:
        far = near
    return st.sampled_from(near) | st.sampled_from(far)


@st.composite
def tasks(
    draw: st.DrawFn, height: int, columns: int, *, single: bool, rows: bool = True, errors: bool
) -> tuple[Any, dict[str, Any]]:
    """Draw targets, and what `rank` and `rank_embeddings` take beside them.

    Selections are plain lists; beside each is the name of its form. `single`: scores or queries
    have one dimension (all tasks read a matrix of one row as well); `rows`: some rows may be read
    by several tasks, others by none; `errors`: some indices are out of range, some targets no
    candidates.
    """
    column = st.integers(0, columns - 1)
    keywords = dict[str, Any]()
    if height and rows and draw(st.booleans()):
        row = st.integers(0, height - 1)
        keywords["rows"] = draw(st.lists(row, max_size=draw(st.sampled_from([3, 20]))))
    one = bool(height) and draw(st.integers(0, 3)) == 0
    each = height
    if single or height == 1:
        each = 1 if one else draw(st.integers(0, 5))
    if "rows" in keywords:
        each = len(keywords["rows"])
    targets: Any
    if one:
        targets = draw(column)
        all_targets = [targets] * each
    else:
        targets = draw(st.lists(column, min_size=each, max_size=each))
        all_targets = targets

    if draw(st.booleans()):
        keywords["filter"] = draw(selections(each, columns))
        keywords["filter_form"] = draw(st.sampled_from(list(FORMS)))
    lists = draw(st.sampled_from(["all", "all", "shared", "each"]))
    shared = lists == "shared"
    if lists != "all" and each:
        lists = draw(candidate_lists(all_targets, columns, shared=shared, errors=errors))
        keywords["candidates"], keywords["candidates_form"] = lists

    if errors and each:
        wrong = draw(st.sampled_from(["nothing", "targets", "rows", "filter", "candidates"]))
        form = keywords.get(f"{wrong}_form", "")
        end = height if wrong == "rows" else columns
        bad = draw(wrong_indices(end, form))
        if wrong == "targets" and one:
            targets = bad
        elif wrong == "targets":
            targets[-1] = bad
        elif wrong == "rows" and keywords.get("rows"):
            keywords["rows"][draw(st.integers(0, each - 1))] = bad
        elif wrong in keywords and form not in CHECKING_FORMS:
            task = 0 if shared else draw(st.integers(0, each - 1))
            keywords[wrong][task].append(bad)
    keywords["nan"] = draw(st.sampled_from(["raise", "worst", "omit"]))
    keywords["threads"] = draw(st.sampled_from([1, 2, 3]))
    return targets, keywords


@st.composite
def problems(draw: st.DrawFn, *, nan: bool, errors: bool) -> Problem:
    scores, dtype = draw(matrices(nan=nan))
    height, columns = scores.shape
    single = height > 0 and draw(st.integers(0, 9)) == 0
    rules: dict[str, bool] = {"single": single, "rows": not single, "errors": errors}
    targets, keywords = draw(tasks(height, columns, **rules))
    fit = (
        isinstance(targets, list)
        and 0 <= min(targets, default=0) <= max(targets, default=0) < 2**15
    )
    if fit:
        keywords["as_targets"] = TARGET_TYPES[draw(st.sampled_from(list(TARGET_TYPES)))]
    keywords["order"] = draw(st.sampled_from(["descending", "ascending"]))
    keywords["audit"] = draw(st.booleans())
    if single:
        scores = scores[0]
    return Problem(scores, targets, {**keywords, "dtype": dtype})
