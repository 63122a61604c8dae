"""Words that options take, as types, and what was probably meant by another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

ScoreOrder = Literal["descending", "ascending"]
NanRule = Literal["raise", "worst", "omit"]
IoMode = Literal["map", "read"]
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

# What other libraries call the same: by our word, theirs.
_SYNONYMS = {
    "ascending": ("asc", "increasing", "smaller", "lower", "min", "distance", "distances"),
    "descending": ("desc", "dsc", "decreasing", "larger", "higher", "max", "scores"),
    "dot": ("inner", "inner_product", "ip", "dot_product", "distmult", "product"),
    "cosine": ("cos", "angular", "cosine_similarity", "cossim"),
    "l1": ("manhattan", "cityblock", "taxicab", "p1"),
    "l2": ("euclidean", "euclid", "norm", "p2", "transe"),
    "sql2": ("squared_l2", "l2_squared", "sqeuclidean", "squared_euclidean"),
    "complex_l1": ("rotate",),
    "poincare": ("hyperbolic", "poincar\u00e9"),
    "raise": ("error", "errors", "strict", "fail", "propagate"),
    "worst": ("last", "bottom", "lowest", "pessimistic"),
    "omit": ("ignore", "skip", "drop", "exclude", "coerce"),
    "map": ("mmap", "memmap", "memory", "mapped"),
    "read": ("load", "file", "pread", "direct"),
    "two-sided": ("two_sided", "both", "twosided", "two"),
    "better": ("greater", "upper"),
    "worse": ("less",),
}


def near_words(word: str, known: Iterable[str]) -> list[str]:
    """List the known words that are most similar to a word, at most three.

    Those that have its letters in another order come alone.

    Examples
    --------
    >>> near_words("mmr", ["mr", "mrr", "hits@k"]), near_words("amir", ["amr", "imr", "amri"])
    (['mr', 'mrr'], ['amri'])
    """
    import difflib

    plain = word[:100].lower()  # names are short, and the time grows with the square of the length
    words = list(known)
    swapped = [name for name in words if sorted(name) == sorted(plain)]
    return swapped or difflib.get_close_matches(plain, words, n=3, cutoff=0.6)


def meant_words(word: str, known: Iterable[str]) -> list[str]:
    """List the known words that were probably meant by another one: synonyms, or similar ones.

    Examples
    --------
    >>> meant_words("asc", ["descending", "ascending"]), meant_words("euclidean", ["l1", "l2"])
    (['ascending'], ['l2'])
    """
    words = list(known)
    plain = word[:100].lower()
    same = [name for name in words if name == plain or plain in _SYNONYMS.get(name, ())]
    return same or near_words(word, words)


def suggest(word: str, known: Iterable[str]) -> str:
    """Name the known words that are most similar to one, or all known words if none is.

    Examples
    --------
    >>> suggest("mmr", ["mr", "mrr", "hits@k"])
    'did you mean mr or mrr?'
    """
    words = list(known)
    near = near_words(word, words)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(words)}"
