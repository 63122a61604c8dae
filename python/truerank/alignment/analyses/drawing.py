"""How the directions of an alignment are written in pictures."""

from __future__ import annotations

from ..ids import DIRECTIONS


def spelt(text: str) -> str:
    """Write directions in words.

    Examples
    --------
    >>> spelt("left_to_right, cosine")
    'left to right, cosine'
    """
    for direction in DIRECTIONS:
        text = text.replace(direction, direction.replace("_", " "))
    return text
