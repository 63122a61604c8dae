"""What looks as if the best came last, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.cli_files import run_here
from support.examples import examples
from truerank.counting.orders import describe_rising_ranks

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize(
    "scores",
    [
        [[3, 2, 1]] * 4,  # points, the best first
        [[0.1, 0.5, 0.9]] * 3,  # too few
        [*[[0.1, 0.5, 0.9]] * 4, [0.5, 0.1]],  # one falls
        [*[[0.1, 0.5, 0.9]] * 4, [0.5, 0.5, 0.5]],  # one does not rise
        [[2, 3, 1], [3, 1, 1]] * 2,  # a place comes twice
        [[1, 3, 2.5], *[[1, 2, 3.5]] * 8],  # one of 18 steps falls, which is more than 5 %
        [[2, 1], *[[1, 2, 3.5]] * 9],  # as the step of a short list does
        [[1, 1, 1], *[[1, 2, 3.5]] * 18],  # 18 of 19 lists rise
        [[1, 2]] * 500,  # two entries each
        [[1, 2]] * 500 + [[3, 1, 2.5]] * 5,
        [[4, 2, 3], [3, 2, 4]] * 2,
    ],
)
def test_lists_of_which_nothing_is_doubted(scores: list[Any]) -> None:
    ids = [list(range(len(each))) for each in scores]
    taken = tr.rank_lists(ids, scores, [0] * len(ids), candidates=9)
    assert taken == tr.rank_lists(ids, scores, [0] * len(ids), candidates=9, order="descending")


@pytest.mark.parametrize("rising", [0, 94, 95, 100])
def test_ranks_that_rise_in_nearly_all_queries_are_doubted(rising: int) -> None:
    queries = np.repeat(np.arange(100), 3)
    ranks = np.tile([1, 2, 3], 100)
    scores = np.tile([0.1, 0.2, 0.3], 100)
    scores[3 * rising :] *= -1
    order = np.random.default_rng(rising).permutation(300)
    problem = describe_rising_ranks(queries[order], scores[order], ranks[order])
    if rising < 95:
        assert problem == ""
    else:
        assert problem == f"ranks rise with the scores in {rising} of 100 queries"


def test_an_order_that_the_first_lists_lack_is_seen() -> None:
    """Lists at the beginning fall, which is a twentieth of all or more."""
    falling = [list(range(10, 0, -1))]
    rising = [[x + 0.5 for x in range(10)]]
    for n_falling, is_refused in ((500, True), (600, False)):
        scores = falling * n_falling + rising * 10000
        ids = [range(10)] * len(scores)
        arguments: Any = [list(each) for each in ids], scores, [0] * len(scores)
        if is_refused:
            with pytest.raises(
                tr.InputValueError, match=r"10,000 of 10,500 lists, .* fall at 4,500 of 94,500"
            ):
                tr.rank_lists(*arguments, candidates=10)
        else:
            assert tr.rank_lists(*arguments, candidates=10).above[-1] == 9


def lists_of_two(form: str, n_rising: int, n_lists: int) -> Any:
    """Return lists of two, in which the first is the nearer one, or not, as its distance says."""
    rises = np.arange(n_lists) < n_rising
    scores = np.stack([np.where(rises, 0.25, 0.5), np.where(rises, 0.5, 0.25)], axis=1)
    if form == "topk":
        return tr.TopK(np.tile([0, 1], (n_lists, 1)), scores)
    if form == "mapping":
        return {i: dict(zip("ab", row, strict=True)) for i, row in enumerate(scores.tolist())}
    pandas = pytest.importorskip("pandas", reason="a frame of pandas")
    columns = {"query": np.repeat(np.arange(n_lists), 2), "document": list("ab") * n_lists}
    return pandas.DataFrame({**columns, "score": scores.ravel()})


@pytest.mark.parametrize("form", ["frame", "csv", "run", "topk", "mapping"])
@pytest.mark.parametrize(("n_rising", "n_lists"), [(79, 80), (19, 20), (19, 19), (75, 80), (0, 80)])
def test_lists_of_two_that_rise_are_a_finding(
    tmp_path: Path, form: str, n_rising: int, n_lists: int
) -> None:
    """They are never refused; of a mapping with scores the order means nothing."""
    task = tr.retrieval.Task({i: ["a"] for i in range(n_lists)}, entities=["a", "b"])
    lists = lists_of_two(form, n_rising, n_lists)
    if form in ("csv", "run"):
        frame = lists_of_two("frame", n_rising, n_lists)
        lists = tmp_path / "lists.csv"
        frame.to_csv(lists, index=False)
        lists = tr.read_run(lists) if form == "run" else lists
    report = task.evaluate_lists(lists)
    assert report["mrr"] == pytest.approx((n_lists - n_rising / 2) / n_lists)
    is_found = n_lists >= 20 and n_rising >= 0.95 * n_lists and form != "mapping"
    words = f"scores rise in {n_rising} of {n_lists} lists of two, as distances do"
    assert [each.message for each in report.audit("rising lists")] == [words] * is_found
    named = task.evaluate_lists(lists, order="ascending")
    assert named["mrr"] == pytest.approx((n_lists + n_rising) / 2 / n_lists)
    assert not named.audit("rising lists")


def test_the_terminal_prints_what_was_found_of_lists_of_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lists_of_two("frame", 79, 80).to_csv("lists.csv", index=False)
    Path("qrels").write_text("".join(f"{i} 0 a 1\n" for i in range(80)))
    line = "retrieval --qrels qrels --lists lists.csv --candidates 2 --metrics mrr --audit"
    outcome = run_here(capsys, *line.split())
    assert "79 of 80 lists of two, as distances do" in " ".join(outcome.out.split())
    outcome = run_here(capsys, *line.split(), "--order", "ascending")
    assert "lists of two" not in outcome.out


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
@examples(100)
def test_scores_in_no_order_are_taken(seed: int, length: int, are_whole: bool) -> None:
    """Of mappings, as of candidates that were drawn; with the right one first, or last."""
    rng = np.random.default_rng(seed)
    n_lists = int(rng.integers(30, 60))
    scores = rng.random((n_lists, length))
    if are_whole:
        scores = rng.integers(3, 20, (n_lists, length)).astype(float)
    scores[:, rng.choice([0, -1])] += rng.choice([0, 20])
    names = [f"d{i}" for i in range(length)]
    by_key = {i: dict(zip(names, row, strict=True)) for i, row in enumerate(scores.tolist())}
    task = tr.retrieval.Task({i: ["d0"] for i in range(n_lists)}, entities=names)
    report = task.evaluate_lists(by_key)
    assert report.ranks == task.evaluate_lists(by_key, order="descending").ranks
    assert not report.audit("rising lists")
