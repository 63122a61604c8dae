"""Hypothesis compares fused scoring with the oracle for everything a call can combine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count, tasks_of
from oracles.embeddings import SIMILARITIES, scored_by
from strategies.embeddings import (
    ENTITIES,
    Tasks,
    Vectors,
    check,
    check_pairs,
    check_tasks_top_k,
    check_top_k,
    tasks,
    vectors,
)
from support.examples import examples
from support.problems import assert_same, shared_lists
from support.refusals import refusal
from truerank.counting import driver
from truerank.inputs import progress_listeners


@pytest.fixture(autouse=True, scope="module")
def reports_at_once() -> Iterator[None]:
    """Let calls report whenever they look for Ctrl-C, not only ten times a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress_listeners, "SECONDS_BETWEEN_REPORTS", 0.0)
        yield


def _tasks(data: st.DataObject, drawn: Vectors, *, errors: bool = False) -> Tasks:
    columns = max(1, len(drawn.entities))
    return data.draw(tasks(drawn.height, columns, drawn.queries.ndim == 1, errors=errors))


@pytest.mark.smoke
@given(st.booleans().flatmap(lambda nan: vectors(nan=nan)), st.data(), st.booleans())
@examples(150)
def test_counts_are_those_of_the_oracle(drawn: Vectors, data: st.DataObject, audit: bool) -> None:
    event(drawn.similarity)
    if len(drawn.entities):
        check(drawn, _tasks(data, drawn), audit=audit)


@given(vectors(nan=True), st.data(), st.booleans(), st.sampled_from([2, 8, 40]))
def test_queries_that_have_many_tasks(
    drawn: Vectors, data: st.DataObject, audit: bool, most: int
) -> None:
    """Some tasks come once, and others many times, with the same lists."""
    if not len(drawn.entities):
        return
    asked = _tasks(data, drawn)
    scores = np.zeros((*drawn.queries.shape[:-1], len(drawn.entities)))
    targets, rows = tasks_of(scores, asked.targets, asked.plain.get("rows"))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    tasks = rng.permutation(np.repeat(np.arange(len(targets)), rng.integers(1, most, len(targets))))
    plain = {**asked.plain, "rows": [rows[task] for task in tasks]}
    keywords = {**asked.keywords, "rows": np.array(plain["rows"], np.int64)}
    for name in ("filter", "candidates"):
        if name in asked.keywords:
            plain[name] = [plain[name][task] for task in tasks]
            keywords[name] = shared_lists(plain[name])
    check(drawn, Tasks([targets[task] for task in tasks], keywords, plain), audit=audit)


@given(vectors(nan=True), st.data())
def test_refused_is_what_the_oracle_refuses(drawn: Vectors, data: st.DataObject) -> None:
    if len(drawn.entities):
        check(drawn, _tasks(data, drawn, errors=True))


@given(vectors(nan=True), st.data(), st.booleans(), st.integers(0, 2000), st.integers(0, 5))
def test_a_count_that_was_stopped_goes_on(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: Vectors,
    data: st.DataObject,
    audit: bool,
    size: int,
    last: int,
) -> None:
    """With the counts of a call that was not stopped, or with its refusal of a NaN."""
    kept = tmp_path_factory.mktemp("kept") / "counts"
    asked = _tasks(data, drawn)
    keywords = {**drawn.keywords, **asked.keywords, "audit": audit, "progress": None}

    def ranked(**more: Any) -> tr.Ranks | str:
        try:
            given = drawn.queries, drawn.entities, asked.targets
            return tr.rank_embeddings(*given, **{**keywords, **more})
        except ValueError as error:
            words = str(error)
            return "is NaN" if "is NaN" in words else words

    def stop(progress: tr.Progress) -> None:
        if progress.done > last * size:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "TILE_BYTES", size // 4)
        patch.setattr("os.fsync", lambda _: None)
        with contextlib.suppress(KeyboardInterrupt):
            ranked(checkpoint=kept, progress=stop)
        assert ranked(checkpoint=kept) == ranked()


@given(vectors(nan=True), st.data())
def test_pairs_are_entries_of_the_matrix(drawn: Vectors, data: st.DataObject) -> None:
    height = drawn.height
    columns = len(drawn.entities)
    rows = []
    if height:
        rows = data.draw(st.lists(st.integers(0, height - 1), max_size=20))
    targets = []
    if columns:
        targets = [data.draw(st.integers(0, columns - 1)) for _ in rows]
    check_pairs(drawn, rows, targets, data.draw(st.sampled_from([None, 1, 2, 3])))


@pytest.mark.sweep
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tile_edges(similarity: str, dtype: str) -> None:
    """With sizes around those of tiles, no candidate is invented or left out."""
    rng = np.random.default_rng(5)
    wide = (rng.integers(-3, 4, (13 + 129, 6)) / 16).astype(dtype)
    scores = tr.score_embeddings(wide[:13], wide[13:], **scored_by(similarity))
    for n in ENTITIES:
        heights = range(1, 14) if n in (17, 129) else (1, 6, 13)
        for q in heights:
            targets = rng.integers(0, n, q)
            expected = count(scores[:q, :n], targets.tolist())
            for block in (None, 1, 4):
                vectors = wide[:q], wide[13 : 13 + n]
                assert_same(
                    tr.rank_embeddings(
                        *vectors,
                        targets,
                        **scored_by(similarity),
                        block=block,
                    ),
                    expected,
                )


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_long_vectors(similarity: str) -> None:
    rng = np.random.default_rng(3)
    d = 1022
    made = [(rng.standard_normal((n, d)) / (2 * np.sqrt(d))).astype(np.float32) for n in (3, 18)]
    queries = made[0]
    entities = made[1].astype(np.float16)
    expected = count(Vectors(queries, entities, similarity).scores(), [0, 17, 5])
    assert_same(
        tr.rank_embeddings(queries, entities, [0, 17, 5], **scored_by(similarity)),
        expected,
    )
    Vectors(queries[:2], entities[:3].astype(np.float64), similarity).scores()


# --- the top k: the first k of all candidates, sorted by score, then by id


@pytest.mark.smoke
@given(vectors(nan=True), st.data())
@examples(100)
def test_best_is_what_sorting_gives(drawn: Vectors, data: st.DataObject) -> None:
    event(drawn.similarity)
    height = drawn.height
    columns = len(drawn.entities)
    k = data.draw(st.sampled_from([1, 2, 3, 10, columns, columns + 1, 200]).filter(bool))
    if not columns or data.draw(st.integers(0, 3)) == 0:  # a task for each query
        check_top_k(drawn, k, {"nan": "worst"}, {"nan": "worst"})
        return
    asked = data.draw(tasks(height, columns, drawn.queries.ndim == 1, errors=False))
    check_tasks_top_k(drawn, k, asked)


def test_k() -> None:
    words = "^k: "
    for kind, wrong in ((tr.InputValueError, (0, -1)), (tr.InputTypeError, (1.0, True, None))):
        for k in wrong:
            refusal(kind, words, tr.topk_embeddings, np.eye(2), np.eye(2), k)


def test_a_nan_is_refused_or_comes_last() -> None:
    entities = np.concatenate([2 * np.eye(3, 4), np.ones((2, 4))])
    entities[3] = np.nan
    given = np.eye(3, 4), entities, 2
    words = "row 0, column 3 is NaN"
    refusal(tr.InputValueError, words, tr.topk_embeddings, *given)
    for nan in ("omit", "worst"):
        found = tr.topk_embeddings(*given, nan=nan)
        assert found.ids.tolist() == [[0, 4], [1, 4], [2, 4]]


@pytest.mark.parametrize("k", [1, 60, 299, 300])
def test_many_of_many(k: int) -> None:
    """Several threads find more candidates than are kept, independently of each other."""
    rng = np.random.default_rng(5)
    entities = rng.integers(-3, 4, (300, 4)).astype(np.float32)
    queries = rng.integers(-3, 4, (40, 4)).astype(np.float32)
    order = np.argsort(-tr.score_embeddings(queries, entities), axis=1, kind="stable")[:, :k]
    for block, threads in ((None, 1), (7, 1), (64, 3)):
        top_k = tr.topk_embeddings(queries, entities, k, block=block, threads=threads)
        np.testing.assert_array_equal(top_k.ids, order)
