"""Counts that are made block by block, merged, saved and resumed, against the definition."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import assert_outcome, defined, outcome
from truerank.counting import driver


class Stop(Exception):
    """What stops a count; no error of the package."""


@settings(max_examples=50)
@given(
    problems(nan=True, errors=False),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from([1, 40, 1000]),
    st.sampled_from(["array", "map", "read"]),
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
