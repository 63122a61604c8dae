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
@given(
    st.booleans().flatmap(lambda nan: vectors(nan=nan)),
    st.data(),
    st.booleans(),
    st.sampled_from([False, False, True]),
)
@examples(200)
def test_counts_and_refusals_are_those_of_the_oracle(
    drawn: Vectors, data: st.DataObject, audit: bool, errors: bool
) -> None:
    event(drawn.similarity)
    if len(drawn.entities):
        check(drawn, _tasks(data, drawn, errors=errors), audit=audit)


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


@given(vectors(nan=True), st.data(), st.booleans(), st.integers(0, 2000), st.integers(0, 5))
@examples(100)
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
