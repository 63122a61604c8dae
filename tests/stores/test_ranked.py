"""The ranks of a store are those of the array, for all files and tiles; so are the errors."""

from __future__ import annotations

from hypothesis import given, settings

from strategies.count_problems import Problem, problems
from strategies.stored import IO, TILE_BYTES, Stored, check, stored


@given(problems(nan=True, errors=True), stored(), TILE_BYTES, IO)
@settings(max_examples=150)
def test_ranks_of_stores(problem: Problem, way: Stored, tile_bytes: int, io: str | None) -> None:
    check(problem, way, tile_bytes, io)
