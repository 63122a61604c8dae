"""What checks of queries and entities say, in the words of two graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..inputs.errors import renamed

_PAIR = re.compile(r"query (\d+) and entity (\d+)")


@contextmanager
def in_words_of_sides(queries: str, entities: str) -> Iterator[None]:
    """Call queries and entities what they are here, "left" and "right" or the other way round.

    Examples
    --------
    >>> with in_words_of_sides("right", "left"):
    ...     raise ValueError("scores: the score of query 4 and entity 2 is NaN")
    Traceback (most recent call last):
    ValueError: scores: the score of left 2 and right 4 is NaN
    """
    pair = r"left \1 and right \2" if queries == "left" else r"left \2 and right \1"
    words = {
        "as the queries have": f"as {queries} has",
        "(queries, d) or a single vector (d,)": "(entities, d)",
        "for queries, one": f"for {queries}, one",
        "for entities, one": f"for {entities}, one",
        "floats for queries": f"floats for {queries}",
        "floats for entities": f"floats for {entities}",
    }
    try:
        with renamed(queries=queries, entities=entities):
            yield
    except (TypeError, ValueError) as error:
        said = _PAIR.sub(pair, str(error))
        for theirs, ours in words.items():
            said = said.replace(theirs, ours)
        if said == str(error):
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(said) from None
