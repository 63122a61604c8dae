"""Words that options take: the one that was meant is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import truerank as tr

pytestmark = pytest.mark.python_only

SCORES = np.zeros((1, 3))
RANKS = tr.Ranks([0, 2], [1, 1], 3)
CALLS: dict[str, Callable[[str], object]] = {
    "order": lambda word: tr.evaluate(SCORES, [0], order=word),  # type: ignore[arg-type]
    "nan": lambda word: tr.rank(SCORES, [0], nan=word),  # type: ignore[arg-type]
    "io": lambda word: tr.open_scores(SCORES, io=word),  # type: ignore[arg-type]
    "similarity": lambda word: tr.rank_embeddings(
        SCORES,
        SCORES,
        [0],
        similarity=word,  # type: ignore[arg-type]
    ),
    "alternative": lambda word: tr.pvalue(RANKS, alternative=word),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(
    ("option", "word", "meant"),
    [
        ("order", "Descending", "descending"),
        ("order", "ascendinng", "ascending"),
        ("nan", "rase", "raise"),
        ("io", "mmap", "map"),
        ("similarity", "cosin", "cosine"),
        ("alternative", "two_sided", "two-sided"),
    ],
)
def test_the_word_that_was_meant_is_named(option: str, word: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"{option}: expected one of .*, got '{word}'; did you m"):
        CALLS[option](word)
    with pytest.raises(ValueError, match=f"; did you mean {meant}"):
        CALLS[option](word)


def test_a_word_that_is_like_none_has_no_suggestion() -> None:
    with pytest.raises(ValueError, match=r"order: expected one of .*, got 'qqq'$"):
        CALLS["order"]("qqq")
    with pytest.raises(TypeError, match="order: expected a str, got int"):
        CALLS["order"](3)  # type: ignore[arg-type]
