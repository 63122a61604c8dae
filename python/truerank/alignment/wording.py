"""What checks of queries and entities say, in the words of two graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..embeddings.vectors import Sides, sides_called
from ..inputs.errors import renamed


@contextmanager
def in_words_of_sides(queries: str, entities: str) -> Iterator[None]:
    """Call queries and entities what they are here, "left" and "right" or the other way round.

    Examples
    --------
    >>> from truerank import rank_embeddings
    >>> with in_words_of_sides("right", "left"):
    ...     rank_embeddings([[1.0]], [[float("nan")]], [0])
    Traceback (most recent call last):
    ...
    truerank.InputValueError: scores: the score of left 0 and right 0 is NaN, which nan="raise" does not allow
    """  # noqa: E501
    pair = "left {query} and right {entity}"
    if queries != "left":
        pair = "left {entity} and right {query}"
    sides = Sides(queries, entities, pair, f"as {queries} has", "a matrix (entities, d)")
    with sides_called(sides), renamed(queries=queries, entities=entities):
        yield
