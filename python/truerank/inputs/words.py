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


def near_words(word: str, known: Iterable[str]) -> list[str]:
    """List the known words that are most similar to a word, at most three.

    Those that have its letters in another order come alone, and so do the shortest that begins
    with it and one that is all but equal.

    Examples
    --------
    >>> near_words("mmr", ["mr", "mrr", "hits@k"]), near_words("amir", ["amr", "imr", "amri"])
    (['mr', 'mrr'], ['amri'])
    >>> near_words("hit", ["hits@k", "zh@k"])
    ['hits@k']
    """
    import difflib

    # Names are short, and the time grows with the square of the length.
    plain = word[:100].lower()
    words = list(known)
    swapped = [name for name in words if sorted(name) == sorted(plain)]
    longer = [name for name in words if name.startswith(plain)] if len(plain) >= 3 else []
    alone = swapped or sorted(longer, key=len)[:1]
    alone = alone or difflib.get_close_matches(plain, words, n=1, cutoff=0.88)
    return alone or difflib.get_close_matches(plain, words, n=3, cutoff=0.6)


def suggest(word: str, known: Iterable[str]) -> str:
    """Name the known words that are most similar to one, or all known words if none is.

    Examples
    --------
    >>> suggest("mmr", ["mr", "mrr", "hits@k"])
    'did you mean mr or mrr?'
    """
    words = list(known)
    near = near_words(word, words)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(words)}"
