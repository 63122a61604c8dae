"""Both directions of a grid, means of CSLS, and top-k lists: the same with bounds and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.near_ties import (
    COVERED,
    FAMILIES,
    NearTies,
    Tally,
    all_near_ties,
    check_grid,
    choices,
    levels,
    near_ties,
    problems,
)
from truerank import _core
from truerank.alignment import csls_means
from truerank.inputs.progress_listeners import BoundedPairs


def lists(made: NearTies, k: int) -> list[Any]:
    """Return the top k of every query."""
    found = tr.topk_embeddings(
        *(made.queries, made.entities, k),
        similarity=made.similarity,
        bias=made.bias,
        nan="worst",
        candidates=made.allowed,
        block=made.block,
        threads=made.threads,
    )
    return [found.ids.tolist(), np.nan_to_num(found.scores, nan=0.5).tobytes()]


def means(made: NearTies, k: int) -> list[bytes]:
    """Return the means of CSLS."""
    found = csls_means(
        *(made.queries, made.entities, k),
        similarity=made.similarity,
        candidates=(None, made.allowed),
        nan="omit",
        block=made.block,
        threads=made.threads,
    )
    return [np.nan_to_num(x, nan=0.5).tobytes() for x in found[:2]]


def check(made: NearTies, what: Any, *arguments: Any) -> Tally:
    """Check that all choices give the same; return the tally of the last one."""
    with levels("off"):
        expected = what(made, *arguments)
    done: Tally = ()
    for name in choices()[1:]:
        before = _core.bounds_tally()
        with levels(name):
            assert what(made, *arguments) == expected, name
        done = tuple(b - a for a, b in zip(before, _core.bounds_tally(), strict=True))
    return done


@given(problems())
@settings(max_examples=100)
def test_both_directions(made: NearTies) -> None:
    event(made.similarity)
    check_grid(made)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("similarity", COVERED)
def test_both_directions_of_every_family(similarity: str, family: str) -> None:
    for made in all_near_ties(family, similarity, ((3, 33, 1), (7, 12, 70))):
        check_grid(made)


def test_bounds_spare_most_scores_of_both_directions() -> None:
    """Not all entities are targets, and some queries have no tasks."""
    rng = np.random.default_rng(6)
    left = rng.standard_normal((700, 32)).astype(np.float32)
    right = (left + rng.standard_normal((700, 32)) / 9).astype(np.float32)
    pairs = np.repeat(np.arange(0, 700, 2)[:, None], 2, axis=1)
    before = _core.bounds_tally()
    with levels("int16!"):
        tr.alignment.evaluate(left, right, pairs, candidates="all", similarity="l2", threads=1)
    counted = [b - a for a, b in zip(before, _core.bounds_tally(), strict=True)]
    assert counted[0] == counted[1] == 2 * 350 * 700
    assert counted[2] < counted[1] * 0.09


@given(problems(), st.integers(1, 5))
def test_means_of_csls(made: NearTies, k: int) -> None:
    event(made.similarity)
    if made.allowed is None or len(made.allowed):
        pairs, bounded, *_ = check(made, means, k)
        assert (
            bounded == pairs or not made.covered or made.csls is not None or made.bias is not None
        )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("similarity", COVERED)
def test_means_of_every_family(similarity: str, family: str) -> None:
    """More of both sides than a panel and a tile hold, so that lists are full before the rest."""
    for seed, kind in enumerate(("float32", "float64")):
        made = near_ties(seed, family, kind, similarity, (29, 140, 16))
        made.block = 64
        assert check(made, means, 3)[1] > 0 or not made.covered


@given(problems(), st.integers(1, 5))
def test_lists_of_the_greatest(made: NearTies, k: int) -> None:
    event(made.similarity)
    pairs, bounded, *_ = check(made, lists, k)
    if made.covered and made.csls is None:
        assert bounded == pairs


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("similarity", COVERED)
def test_every_family(similarity: str, family: str) -> None:
    """More candidates than a panel holds, so that lists are full before the last ones come."""
    for seed, kind in enumerate(("float32", "float64")):
        for added in ("", "bias"):
            made = near_ties(seed, family, kind, similarity, (9, 140, 16), added)
            done = check(made, lists, 3)
            assert not made.covered or done[1] > 0


@pytest.mark.parametrize("similarity", COVERED)
def test_bounds_spare_most_scores(similarity: str) -> None:
    rng = np.random.default_rng(5)
    entities = rng.standard_normal((2000, 32)).astype(np.float32)
    queries = entities[:500] + rng.standard_normal((500, 32)).astype(np.float32) / 9
    if similarity == "poincare":  # points of the unit ball
        entities, queries = entities / 16, queries / 16
    before = _core.bounds_tally()
    with levels("int16!"):
        tr.topk_embeddings(queries, entities, 2, similarity=similarity, threads=1)
    pairs, bounded, still_open, _ = (
        b - a for a, b in zip(before, _core.bounds_tally(), strict=True)
    )
    assert bounded > pairs * 0.5
    assert still_open < bounded * 0.09


# --- what a call is told about its bounds


def test_progress_says_what_bounds_spared() -> None:
    """The counts are those of the call, whatever else the process counts."""
    rng = np.random.default_rng(7)
    entities = rng.standard_normal((500, 32)).astype(np.float32)
    queries = entities[:90] + rng.standard_normal((90, 32)).astype(np.float32) / 9
    told: list[tr.Progress] = []
    options: dict[str, Any] = {"similarity": "l2", "progress": told.append}
    for name in ("off", "int16!"):
        with levels(name):
            tr.rank_embeddings(queries, entities, np.arange(90), **options)
    ends = [report for report in told if report.bounds is not None]
    assert (
        [report.done for report in ends] == [report.total for report in told[-2:]] == [180_000] * 2
    )
    off, on = (report.bounds for report in ends)
    assert off == BoundedPairs("off", 45_000, 0, 0, 0)
    assert on is not None
    assert on[:3] == ("int16", 45_000, 45_000)
    assert on.scored <= on.open < 4000
    tr.rank_embeddings(queries, entities, np.arange(90), similarity="l2")
    with pytest.raises(TypeError, match=r"^progress: expected a callable or a bool, got int"):
        tr.rank_embeddings(queries, entities, np.arange(90), progress=3)  # type: ignore[arg-type]


def test_progress_of_tasks() -> None:
    """A task reports sums: of both sides, or of both directions and the means of CSLS."""
    rng = np.random.default_rng(8)
    vectors = rng.standard_normal((50, 16)).astype(np.float32)
    told: list[tr.Progress] = []
    triples = np.stack([np.arange(30), np.zeros(30), np.arange(1, 31)], axis=1).astype(int)
    task = tr.link_prediction.Task(triples, entities=50)
    with levels("int16!"):
        task.evaluate_embeddings(vectors[:30], vectors[1:31], vectors, progress=told.append)
        pairs = np.stack([np.arange(30)] * 2, axis=1)
        tr.alignment.evaluate(
            *(vectors, vectors + 1, pairs), candidates="all", csls=3, progress=told.append
        )
    ends = [report for report in told if report.done == report.total]
    assert [report.total for report in ends] == [2 * 30 * 50 * 4, 2 * 50 * 50 * 4]
    first, second = (report.bounds for report in ends)
    assert first is not None
    assert second is not None
    assert first[:3] == ("int16", 2 * 30 * 50, 2 * 30 * 50)
    assert second[:3] == ("int16", *[2 * 50 * 50 + 2 * 30 * 50] * 2)
