"""Other dtypes against float32, and other layouts against C order, in bytes per second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

import truerank as tr
from baselines.compiled import ReadPass
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_targets
from peers.numpy_scipy import check_sample

DTYPES: dict[str, tuple[DTypeLike, float | None]] = {
    "float16": (np.float16, 0.8),
    "bfloat16": (ml_dtypes.bfloat16, 0.8),
    "float64": (np.float64, None),
    "int8": (np.int8, None),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(
    name: str,
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    read_pass: ReadPass,
    require_memory: Callable[[float], None],
) -> None:
    """The same matrix in another dtype; a ratio of 1 means that memory is the limit for both."""
    dtype, goal = DTYPES[name]
    targets = draw_targets(sizes.many)
    single = pool.matrix(sizes.many)
    require_memory(single.size * np.dtype(dtype).itemsize * 1.2)
    scores = pool.cast(sizes.many, dtype)
    times = compare(
        f"{name}, {team}",
        {
            name: lambda: tr.rank(scores, targets, threads=team.argument),
            "float32": lambda: tr.rank(single, targets, threads=team.argument),
            f"read pass, {name}": read_pass.contestant(scores, team.threads),
        },
        [Pair(name, "float32", goal=goal), Pair(name, f"read pass, {name}")],
        nbytes={name: scores.nbytes, "float32": single.nbytes, f"read pass, {name}": scores.nbytes},
        agree=False,
    )
    check_sample(times[name].result, scores, targets)


@pytest.mark.parametrize("name", ["many", "medium"])
def test_fortran_order(
    name: str,
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    require_memory: Callable[[float], None],
) -> None:
    """The same matrix with contiguous columns."""
    shape = getattr(sizes, name)
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    require_memory(scores.nbytes * 1.2)
    fortran = pool.fortran(shape)
    compare(
        f"Fortran order, {shape[0]:,} x {shape[1]:,}, {team}",
        {
            "Fortran order": lambda: tr.rank(fortran, targets, threads=team.argument),
            "C order": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [Pair("Fortran order", "C order", goal=0.9)],
        nbytes=scores.nbytes,
    )


# Views of a matrix, with strides of their own.
SLICES: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "half of each row": lambda scores: scores[:, : scores.shape[1] // 2],
    "every other row": lambda scores: scores[::2],
    "every other column": lambda scores: scores[:, ::2],
    "columns backwards": lambda scores: scores[:, ::-1],
    "transposed": lambda scores: scores.T,
}


def test_slices(team: Team, compare: Compare, pool: Pool, sizes: Sizes) -> None:
    """Views of a matrix against the whole; GB/s count the scores that are in the view."""
    scores = pool.matrix(sizes.shared)
    views = {name: view(scores) for name, view in SLICES.items()} | {"whole": scores}
    targets = {name: draw_targets(view.shape) for name, view in views.items()}
    times = compare(
        f"slices, {team}",
        {
            name: partial(tr.rank, view, targets[name], threads=team.argument)
            for name, view in views.items()
        },
        [Pair(name, "whole") for name in SLICES],
        nbytes={name: view.nbytes for name, view in views.items()},
        agree=False,
    )
    for name, view in views.items():
        check_sample(times[name].result, view, targets[name])
