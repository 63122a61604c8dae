"""Words that options take, as types, and what was probably meant by another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

ScoreOrder = Literal["descending", "ascending"]
NanRule = Literal["raise", "worst", "omit"]
IoMode = Literal["map", "read"]
AnswerOrder = Literal["expected", "optimistic", "pessimistic", "chance", "optimum"]
Layout = Literal["interleaved", "halves"]
Similarity = Literal[
    "dot",
    "cosine",
    "l1",
    "l2",
    "sql2",
    "complex_l1",
    "poincare",
    "inverse_l1",
    "inverse_l2",
]

LISTED = "listed"  # The candidates of this name are those of each list.


def suggest(word: str, known: Iterable[str]) -> str:
    """Name the known words that are most similar to one, or all known words if none is.

    Examples
    --------
    >>> suggest("mmr", ["mr", "mrr", "hits@k"])
    'did you mean mr or mrr?'
    """
    import difflib

    words = list(known)
    # Names are short, and the time grows with the square of the length.
    near = difflib.get_close_matches(word[:100].lower(), words)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(words)}"
