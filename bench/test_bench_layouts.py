"""Other dtypes against float32, and Fortran order against C order, in bytes per second."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike

import truerank as tr
from baselines import ReadPass, numpy_idiom
from harness import Compare, Pair, Team
from synthetic import Pool, Sizes, draw_targets

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
    room: Callable[[float], None],
) -> None:
    """The same matrix in another dtype; a ratio of 1 means that memory is the limit for both."""
    dtype, goal = DTYPES[name]
    targets = draw_targets(sizes.many)
    single = pool.matrix(sizes.many)
    room(single.size * np.dtype(dtype).itemsize * 1.2)
    scores = pool.cast(sizes.many, dtype)
    found = compare(
        f"{name}, {team}",
        {
            name: lambda: tr.rank(scores, targets, threads=team.asked),
            "float32": lambda: tr.rank(single, targets, threads=team.asked),
            f"read pass, {name}": read_pass.contestant(scores, team.threads),
        },
        [Pair(name, "float32", goal=goal), Pair(name, f"read pass, {name}")],
        nbytes={name: scores.nbytes, "float32": single.nbytes, f"read pass, {name}": scores.nbytes},
        agree=False,
    )
    ranks = found[name].result
    some = np.linspace(0, sizes.many[0] - 1, 50).astype(int)
    above, tied = numpy_idiom(scores[some], targets[some])
    np.testing.assert_array_equal(ranks.above[some], above)
    np.testing.assert_array_equal(ranks.tied[some], tied)


def test_fortran_order(
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    room: Callable[[float], None],
) -> None:
    """The same matrix, columns contiguous."""
    scores, targets = pool.matrix(sizes.many), draw_targets(sizes.many)
    room(scores.nbytes * 1.2)
    turned = pool.fortran(sizes.many)
    compare(
        f"Fortran order, {team}",
        {
            "Fortran order": lambda: tr.rank(turned, targets, threads=team.asked),
            "C order": lambda: tr.rank(scores, targets, threads=team.asked),
        },
        [Pair("Fortran order", "C order", goal=0.5)],
        nbytes=scores.nbytes,
    )
