"""Predictions in files of three lines a triple are ranked as plain loops rank them."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import lists as oracle
from support.outcomes import quietly
from support.refusals import refusal
from truerank.link_prediction import read_predictions

Block = tuple[tuple[str, str, str], dict[str, float], dict[str, float]]

ENTITIES = st.sampled_from([f"e{i}" for i in range(7)])
RELATIONS = st.sampled_from(["likes", "knows"])
TRIPLES = st.tuples(ENTITIES, RELATIONS, ENTITIES)
LISTED = st.dictionaries(ENTITIES, st.sampled_from([0.25, 0.5, 1.0]), max_size=5)
BLOCKS = st.lists(st.tuples(TRIPLES, LISTED, LISTED), min_size=1, max_size=8)


def text_of(blocks: list[Block], *, tails_first: bool, scored: bool) -> str:
    """Return three lines for each triple: itself, and the lists of its two sides."""
    lines = []
    for triple, heads, tails in blocks:
        lines.append(" ".join(triple))
        sides = [("Heads", heads), ("Tails", tails)]
        if tails_first:
            sides.reverse()
        for word, found in sides:
            if scored:
                fields = [f"{name}\t{score}\t" for name, score in found.items()]
            else:
                fields = [f"{name}\t" for name in found]
            lines.append(f"{word}: " + "".join(fields))
    return "\n".join(lines) + "\n"


def written(folder: Path, text: str, name: str = "predictions") -> Path:
    data = text.encode()
    if name.endswith(".gz"):
        data = gzip.compress(data)
    (folder / name).write_bytes(data)
    return folder / name


def plain_counts(
    blocks: list[Block], known: list[Any] | None, n: int, scored: bool
) -> list[tuple[int, int, int]]:
    every: defaultdict[Any, set[str]] = defaultdict(set)  # the answers of each query
    for h, r, t in (known or []) + [triple for triple, _, _ in blocks]:
        every["head", r, t].add(h)
        every["tail", h, r].add(t)
    counts = []
    for side in ("head", "tail"):
        for (h, r, t), heads, tails in blocks:
            if side == "head":
                target = h
                scores = heads
                answers = every["head", r, t]
            else:
                target = t
                scores = tails
                answers = every["tail", h, r]
            without = set() if known is None else answers - {target}
            if not scored:
                scores = {name: -i for i, name in enumerate(scores)}
            counts.append(oracle.count_task(oracle.Task(scores, target, without), n)[:3])
    return counts


@given(
    BLOCKS,
    st.none() | st.lists(TRIPLES, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["p.gz", "p"]),
    st.sampled_from([9, 1 << 17]),
)
def test_counts_are_those_of_plain_loops(
    tmp_path_factory: pytest.TempPathFactory,
    blocks: list[Block],
    known: list[Any] | None,
    tails_first: bool,
    scored: bool,
    name: str,
    at_once: int,
) -> None:
    text = text_of(blocks, tails_first=tails_first, scored=scored)
    path = written(tmp_path_factory.mktemp("lists"), text, name)
    seen: list[tr.Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truerank.records.text._BLOCK_BYTES", at_once)
        predictions = read_predictions(path, scored=scored, progress=seen.append)
    assert seen[-1].done == seen[-1].total == path.stat().st_size
    splits = None
    filter: tuple[str, ...] = ()
    if known is not None:
        splits = {"train": known} if known else {}
        filter = (*splits, "test")
    # duplicates and leaks are drawn
    ranks = quietly(predictions.evaluate, splits, candidates=20).ranks
    found = list(zip(ranks.above, ranks.tied, ranks.candidates, strict=True))
    assert found == plain_counts(blocks, known, 20, scored)
    assert ranks.side is not None
    assert ranks.unit.codes.tolist() == list(range(len(blocks))) * 2
    assert ranks.side.counts() == {"head": len(blocks), "tail": len(blocks)}
    assert ranks.protocol.filter == filter


def test_names_with_blanks_are_between_tabs(tmp_path: Path) -> None:
    path = written(tmp_path, "New York\tin\tthe USA\nTails: the USA\t1\r\n\nHeads:\n")
    predictions = read_predictions(path)
    assert predictions.entities == ("New York", "the USA")
    assert predictions.indptr.tolist() == [0, 1, 1]
    assert predictions.lists.tolist() == [[1, 0]]
    assert predictions.evaluate()["tail.mr"] == 1


def test_entities_may_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "a likes b\nHeads: a\t1\tc\t0.5\nTails:\n")
    predictions = read_predictions(path)
    names = ["c", "b", "a", "d"]
    ranks = predictions.evaluate(entities=names).ranks
    assert ranks.candidates.tolist() == [4, 4]
    refusal(
        tr.InputValueError,
        "'c' at position 2 is none of the 2",
        predictions.evaluate,
        entities=["a", "b"],
    )
    refusal(tr.InputValueError, r"candidates: .* got 2", predictions.evaluate, candidates=2)


def test_names_that_are_ids(tmp_path: Path) -> None:
    predictions = read_predictions(written(tmp_path, "3 0 1\nHeads: 4\t1\t3\t0.5\nTails:\n"))
    ranks = predictions.evaluate({}, entities=6, order="descending").ranks
    assert (ranks.above.tolist(), ranks.tied.tolist()) == ([1, 0], [1, 6])
    refusal(tr.InputValueError, "expected .* got '4' at .* 2", predictions.evaluate, {}, entities=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a likes\nHeads:\nTails:\n", "line 1: expected a triple: head, relation and tail"),
        ("a\t\tb\nHeads:\nTails:\n", "line 1: expected a triple"),
        ("a likes b\n\nb likes a\n", 'line 3: expected a list that begins with "Heads:" or'),
        ("a likes b\nHeads:\nHeads:\n", "line 3: expected the list of tails, got a second one"),
        ("a likes b\nHeads: a\t1\tb\nTails:\n", "line 2: expected names and scores in turn"),
        ("a likes b\nHeads: a\thigh\nTails:\n", "line 2: expected a number as the score"),
        ("a likes b\nHeads: a\t1\t\t2\nTails:\n", "line 2: expected names between tabs, got an"),
        ("a likes b\nHeads:\n", "predictions: it ends after 2 of the 3 lines of a triple"),
        (
            "a likes b\nHeads:\n\nTails: a\t1\tb\t2\ta\t3\nb likes a\nHeads:\nTails:\n",
            "path: .*the list of 'triple 0' has 'a' twice",
        ),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    refusal(tr.InputValueError, message, read_predictions, written(tmp_path, text))
