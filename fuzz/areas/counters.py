"""Counts that are made block by block, merged, saved and resumed, against the definition."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles.counting import Refused, tasks_of
from strategies.count_problems import Problem, problems
from support.outcomes import assert_outcome, defined, outcome
from support.problems import FORMS
from support.row_blocks import ranks_of_blocks
from truerank.counting import driver

CORE = True
TESTS = ("counting",)


@check(problems(nan=True, errors=True), st.lists(st.integers(0, 20), max_size=3), st.booleans())
def rows(problem: Problem, cuts: list[int], named: bool) -> None:
    """Blocks of rows are ranked as the whole; errors are those of one of the blocks."""
    scores = problem.scores
    keywords = problem.keywords
    rows = problem.call()[1].get("rows")
    targets = np.array(tasks_of(scores, problem.targets, rows)[0], np.int64)
    if scores.ndim == 1 or ("candidates" in keywords and not named):
        return
    if rows is None and len(targets) != len(scores):
        return
    lists = {name: keywords[name] for name in ("filter", "candidates") if name in keywords}
    rules = {name: keywords[name] for name in ("order", "nan", "dtype")}
    plain = {**rules, **lists, "rows": keywords.get("rows")}
    expected = defined(Problem(scores, targets.tolist(), plain))
    bounds = sorted({0, len(targets)} | {min(n, len(targets)) for n in cuts})
    parts = [slice(a, b) for a, b in pairwise(bounds)] or [slice(0)]

    def each() -> Iterator[Any]:
        for part in parts:
            block: dict[str, Any] = {"scores": scores[part], "targets": targets[part].copy()}
            if rows is not None:
                block |= {"scores": scores, "rows": rows[part]}
            block["scores"] = block["scores"].copy()
            for name in lists:
                block[name] = FORMS["csr int64"](lists[name][part], scores.shape[1])
            if named or rows is not None:
                yield block
            else:
                yield tuple(block.values())

    got: tr.Ranks | Exception
    try:
        options = {name: keywords[name] for name in ("threads", "audit")}
        got = ranks_of_blocks(each(), **rules, **options)
    except ValueError as error:
        got = error
    if isinstance(got, Exception):  # of the first block that is refused, whatever the others have
        assert isinstance(got, tr.InputValueError), repr(got)
        assert isinstance(expected, Refused), f"refused without need: {got!r}"
        return
    assert_outcome(got, expected, audit=keywords["audit"])


class Stop(Exception):
    """What stops a count; no error of the package."""


@check(
    problems(nan=True, errors=False),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from([1, 40, 1000]),
    st.sampled_from(["array", "map", "read"]),
    inputs=50,
)
def checkpoint(problem: Problem, stops: list[int], tile_bytes: int, source: str) -> None:
    """A count that is stopped, perhaps several times, and goes on counts what one call does."""
    expected = defined(problem)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(driver, TILE_BYTES=tile_bytes),
    ):
        path = Path(folder, "checkpoint")
        scores: Any = problem.scores
        options: dict[str, Any] = {"checkpoint": path}
        if source != "array":
            scores = Path(folder, "scores.npy")
            np.save(scores, problem.scores)
            options["io"] = source
            if problem.scores.dtype.kind == "V":
                options["dtype"] = "bfloat16"
        done = 0
        for stop in [*stops, 1 << 40]:
            seen: list[tr.Progress] = []

            def progress(at: tr.Progress, seen: list[tr.Progress] = seen, stop: int = stop) -> None:
                seen.append(at)
                if len(seen) > stop:
                    raise Stop

            got: tr.Ranks | Exception | None = None
            with suppress(Stop):
                got = outcome(scores, problem, progress=progress, **options)
            if seen:
                assert seen[0].resumed == done, "a count does not go on where it stopped"
                done = seen[-1].done
            if got is None:
                continue
            assert_outcome(got, expected, audit=problem.keywords["audit"])
            if isinstance(got, Exception):
                return


FAULTS = [
    Fault(
        "a target that the filter lists is left out twice",
        "cpp/engine/row_finish.hpp",
        "const bool counted = !p_.filters_target(task);",
        "const bool counted = true;",
    ),
    Fault(
        "an off-by-one in a count",
        "python/truerank/counting/partial_counts.py",
        'tied = counts["tied"] + 1',
        'tied = np.maximum(counts["tied"], 1)',
    ),
    Fault(
        "a bound made too tight",
        "python/truerank/counting/counter.py",
        "block_columns = ((1 << len(numbers)) - 1) << numbers.start",
        "block_columns = ((1 << len(numbers)) - 1) << numbers.start >> 1",
    ),
    Fault(
        "a checked size left out",
        "python/truerank/counting/counter.py",
        'check_shape("block", shape, (tasks, shape[1]), f"{tasks} rows, one for each task")',
        "pass",
    ),
]
