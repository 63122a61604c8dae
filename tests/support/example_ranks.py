"""Ranks for tests of reports and the like: some by hand, any by hypothesis; reports of queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from truerank import Protocol, Ranks, Report, report
from truerank.ranks import Origin

NAMES = st.text(max_size=6)  # This is any text: NUL, Unicode without surrogates, or nothing.
PROTOCOLS = st.builds(
    Protocol,
    filter=st.lists(st.sampled_from(["train", "valid", "test", "|"]), max_size=3),
    candidates=st.sampled_from(["all", "selection"]),
    sampled=st.booleans(),
    nan=st.sampled_from(["raise", "worst", "omit"]),
    split=st.none() | st.just("test"),
    order=st.sampled_from(["descending", "ascending"]),
    dtype=st.none() | st.just("float32"),
    files=st.lists(st.just("scores.npy"), max_size=1),
)


def sided_ranks() -> Ranks:
    """Return three head and two tail tasks, one with a tie, and names that need care in a table."""
    return Ranks(
        [0, 3, 5, 1, 0],
        [1, 1, 1, 4, 1],
        [9, 9, 9, 12, 12],
        side=["head", "head", "head", "tail", "tail"],
        relation=["likes", "likes", "knows", "likes", "a|b & <c>"],
        protocol=Protocol(filter=("train", "valid"), split="test"),
    )


def everything() -> Ranks:
    """Return four tasks with every optional part."""
    ranks = Ranks(
        [0, 3, 2**40, 1],
        [1, 2, 5, 4],
        [10, 10, 2**41, 5],
        weights=[1.0, 0.0, 0.25, 3.0],
        side=["head", "tail", "tail", "head"],
        relation=["likes", "knows", "likes", "likes\0"],
        queries=[7, 8, -1, 2**62],
        targets=np.arange(4),
        unit=[3, 3, 0, 9],
        audit=([0, 1, 0, 2], [0, 0, 3, 0], [1, 1, 1, 4]),
        protocol=Protocol(
            filter=("train", "valid"), split="test", dtype="float32", files=["s.npy"]
        ),
    )
    arrays = {
        "gains": np.array([1.0, 0.1, 1e300, 3.0]),
        "answers": np.ones(4, np.int64),
        "as_good": np.ones(4, np.int64),
        "origin": np.array([-7, -7, -7, 2**62]),
        "without_answers": np.array([7, 0, 0, 0]),
    }
    digests = "9 entities", "known facts 00000000000000aa"
    origins = (
        Origin("0123456789abcdef", 4, 2, 0, digests),
        Origin("fedcba9876543210", 8, 6, 0, digests),
    )
    return ranks._with(arrays, origins=origins)


@st.composite
def any_ranks(draw: st.DrawFn, optional: dict[str, bool] | None = None) -> Ranks:
    """Draw ranks of 0 to 12 tasks; `optional` says which optional parts they must have."""
    n = draw(st.integers(0, 12))
    counts = npst.arrays(np.int64, n, elements=st.integers(0, 2**30) | st.integers(0, 3))
    above = draw(counts)
    more = draw(counts)
    below = draw(counts)
    weights = npst.arrays(np.float64, n, elements=st.floats(0.125, 1e6))
    codes = npst.arrays(np.int64, n, elements=st.integers(0, 2))
    named = st.tuples(codes, st.lists(NAMES, min_size=3, max_size=3, unique=True))
    parts = {
        "weights": weights,
        "side": st.tuples(codes, st.permutations(["head", "tail", "relation"])),
        "relation": named,
        "queries": npst.arrays(np.int64, n),
        "unit": codes,
        "audit": st.tuples(*[counts] * 5),
    }
    given = {}
    for name, part in parts.items():
        if optional is None:
            is_given = draw(st.booleans())
        else:
            is_given = optional.get(name, False)
        if is_given:
            given[name] = draw(part)
    protocol = Protocol()
    if optional is None:
        protocol = draw(PROTOCOLS)
    return Ranks(above, more + 1, above + more + 1 + below, **given, protocol=protocol)


def query_report(ranks: Ranks, gains: Any = None, *, by: Any = None, **rules: Any) -> Report:
    """Report queries; rules are the fields of a protocol that say how answers count."""
    if gains is not None:
        ranks = ranks._with({"gains": np.array(gains, np.float64)})
    return report(ranks.with_protocol(**rules), by=by, unit="query")
