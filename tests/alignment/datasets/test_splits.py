"""Splits of pairs: sizes, seeds, and errors."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from truerank.alignment import five_folds, split_pairs

pytestmark = pytest.mark.python_only

Rows = list[tuple[int, int]]
Splits = dict[str, Rows]

# -- the slow way ----------------------------------------------------------------------------------


def slow_places(pairs: Rows, seed: int) -> list[int]:
    """Return the place of each pair in the random order."""
    raw = np.random.PCG64(seed).random_raw(len(pairs)).tolist()
    order = sorted(range(len(pairs)), key=lambda i: (raw[i], i))
    return [order.index(i) for i in range(len(pairs))]


def slow_sizes(n: int, shares: list[float]) -> list[int]:
    exact = [Fraction(str(share)) * n for share in shares]
    sizes = [int(x) for x in exact]
    while sum(sizes) < n:
        rests = [x - size for x, size in zip(exact, sizes, strict=True)]
        sizes[rests.index(max(rests))] += 1
    return sizes


def slow_split(pairs: Rows, shares: dict[str, float], seed: int) -> Splits:
    sizes = zip(shares, slow_sizes(len(pairs), list(shares.values())), strict=True)
    owners = [name for name, size in sizes for _ in range(size)]
    found: Splits = {name: [] for name in shares}
    for pair, place in zip(pairs, slow_places(pairs, seed), strict=True):
        found[owners[place]].append(pair)
    return found


def slow_folds(pairs: Rows, seed: int, folds: int, valid: float) -> list[Splits]:
    n = len(pairs)
    held = int(Fraction(str(valid)) * n + Fraction(1, 2))
    places = slow_places(pairs, seed)
    made = []
    first = 0
    for k in range(folds):
        size = n // folds + (k < n % folds)
        ring = [(place - first) % n for place in places]
        parts = {"train": range(size), "valid": range(size, size + held)}
        parts = {name: part for name, part in parts.items() if part}
        parts["test"] = range(size + held, n)
        made.append(
            {
                name: [pair for pair, at in zip(pairs, ring, strict=True) if at in part]
                for name, part in parts.items()
            }
        )
        first += size
    return made


def every(parts: Iterable[Rows]) -> Rows:
    """Return all pairs of some splits, in order."""
    return sorted(chain.from_iterable(parts))


def listed(splits: dict[str, Any]) -> Splits:
    return {name: [tuple(pair) for pair in pairs.tolist()] for name, pairs in splits.items()}


PAIRS = st.lists(
    st.tuples(st.integers(-3, 12), st.integers(0, 2**40) | st.integers(0, 9)),
    min_size=1,
    max_size=30,
    unique=True,
)
SEEDS = st.integers(0, 2**70)
SHARES = {
    "20/10/70": {"train": 0.2, "valid": 0.1, "test": 0.7},
    "30/70": {"train": 0.3, "test": 0.7},
    "24/6/70": {"train": 0.24, "valid": 0.06, "test": 0.7},
}


@given(
    PAIRS,
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9), min_size=1).filter(
        lambda parts: sum(parts.values()) > 0
    )
    | st.sampled_from(list(SHARES)),
    SEEDS,
)
def test_split_as_the_slow_way(pairs: Rows, shares: Any, seed: int) -> None:
    if isinstance(shares, dict):
        total = sum(shares.values())
        shares = {name: part / total for name, part in shares.items()}
    found = split_pairs(pairs, shares, seed=seed)
    wanted = SHARES[shares] if isinstance(shares, str) else shares
    assert listed(found) == slow_split(pairs, wanted, seed)
    for part in found.values():
        assert part.dtype == np.int64
        assert part.shape[1:] == (2,)
    assert every(listed(found).values()) == sorted(pairs)


@given(PAIRS, SEEDS, st.integers(2, 6), st.sampled_from([0, 0.1, 0.25, 0.3]))
def test_folds_as_the_slow_way(pairs: Rows, seed: int, folds: int, valid: float) -> None:
    n = len(pairs)
    held = int(Fraction(str(valid)) * n + Fraction(1, 2))
    if folds > n or held >= n - -(-n // folds):
        with pytest.raises(ValueError, match=r"^(folds|valid): expected "):
            five_folds(pairs, seed=seed, folds=folds, valid=valid)
        return
    found = five_folds(pairs, seed=seed, folds=folds, valid=valid)
    assert [listed(fold) for fold in found] == slow_folds(pairs, seed, folds, valid)
    assert every(listed(fold)["train"] for fold in found) == sorted(pairs)
    for fold in found:
        assert every(listed(fold).values()) == sorted(pairs)


# -- by hand ---------------------------------------------------------------------------------------

FOUR = [(i, i) for i in range(4)]
ONE_TO_ONE = np.stack([np.arange(15_000), np.arange(15_000)[::-1]], axis=1)


def test_draws_are_pinned() -> None:
    """A seed gives the same split everywhere; this fails if a NumPy draws differently."""
    found = split_pairs([(i, i) for i in range(20)], seed=2020)
    assert found["train"][:, 0].tolist() == [4, 9, 15, 18]
    assert found["valid"][:, 0].tolist() == [0, 1]
    assert listed(found) != listed(split_pairs([(i, i) for i in range(20)], seed=2021))


@pytest.mark.parametrize(
    ("pairs", "keywords", "kind", "said"),
    [
        ([(0, 1), (1, 1), (0, 1)], {}, ValueError, r"^pairs: .* once, got \(0, 1\) again in row 2"),
        ([], {}, ValueError, "^pairs: expected at least one pair"),
        ([(0.5, 1)], {}, TypeError, "^pairs: expected integers"),
        ([(0, 1)], {"seed": -1}, ValueError, "^seed: expected an integer >= 0, got -1"),
        ([(0, 1)], {"seed": None}, TypeError, "^seed: expected an integer >= 0, got NoneType"),
        ([(0, 1)], {"shares": "70/30"}, ValueError, "^shares: expected one of 20/10/70, 30/70, 24"),
        ([(0, 1)], {"shares": [1]}, TypeError, "^shares: expected a str or a dict, got list"),
        ([(0, 1)], {"shares": {"a": 0.5}}, ValueError, "^shares: .* add up to 1, got .0.5"),
        ([(0, 1)], {"shares": {"a": "1"}}, TypeError, r'^shares\["a"\]: expected a number'),
        ([(0, 1)], {"shares": {"a": 2, "b": -1}}, ValueError, "^shares: .* 0 to 1 .* got .2.0, -1"),
        ([(0, 1)], {"shares": {"a": float("nan")}}, ValueError, "^shares: .* got .nan"),
        (FOUR, {"folds": 5}, ValueError, "^folds: expected an integer from 2 to 4, got 5"),
        (FOUR, {"folds": 2.0}, TypeError, "^folds: expected an integer .*, got float"),
        (FOUR, {"folds": 2, "valid": 0.5}, ValueError, "^valid: .* share from 0 on that leaves"),
        (FOUR, {"folds": 2, "valid": -0.1}, ValueError, "^valid: expected a share from 0 on"),
        (FOUR, {"folds": 2, "valid": "0.1"}, TypeError, "^valid: expected a number, got str"),
    ],
)
def test_what_is_refused(pairs: Any, keywords: Any, kind: type[Exception], said: str) -> None:
    call: Any = five_folds if "folds" in keywords else split_pairs
    refusal(kind, said, call, pairs, **{"seed": 0, **keywords})


def test_published_sizes() -> None:
    """Those of OpenEA's table 3; 70 % test, then 80/20; and what no float says exactly."""
    thirds = {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    for shares, sizes in (
        ("20/10/70", [3_000, 1_500, 10_500]),
        ("30/70", [4_500, 10_500]),
        ("24/6/70", [3_600, 900, 10_500]),
        (thirds, [5_000, 5_000, 5_000]),
    ):
        found = split_pairs(ONE_TO_ONE, shares, seed=0)
        assert [len(part) for part in found.values()] == sizes
    folds = five_folds(ONE_TO_ONE, seed=0)
    assert [[len(part) for part in fold.values()] for fold in folds] == [[3_000, 1_500, 10_500]] * 5
    valid = np.concatenate([fold["valid"] for fold in folds])
    assert len(np.unique(valid, axis=0)) == 5 * 1_500  # disjoint, too
