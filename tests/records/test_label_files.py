"""Labels: of files with two columns the ids say which they are; all labels are distinct."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from truerank import alignment, link_prediction
from truerank.errors import InputValueError
from truerank.records.vocabularies import Vocabulary, read_labels

pytestmark = pytest.mark.python_only

LABELS = st.lists(
    st.text("ab01", min_size=1, max_size=3).map(lambda label: f"/m/{label}"),
    min_size=1,
    max_size=9,
    unique=True,
)


@given(LABELS, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_the_ids_say_the_order(
    tmp_path_factory: pytest.TempPathFactory,
    labels: list[str],
    random: Any,
    ids_first: bool,
    counted: bool,
) -> None:
    """entities.dict and entity_ids.del begin with ids, entity2id.txt with a count and labels."""
    rows = [[str(i), label][:: 1 if ids_first else -1] for i, label in enumerate(labels)]
    random.shuffle(rows)
    text = "".join("\t".join(row) + "\n" for row in rows)
    if counted:
        text = f"{len(labels)}\n{text}"
    path = tmp_path_factory.getbasetemp() / "labels.txt"
    path.write_text(text)
    assert list(read_labels("entities", str(path))) == labels


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\t0\n0\t1\n", "got 2 such columns, as in '0' and '1'"),
        ("1\ta\n2\tb\n", "got no line with the id 0"),
        ("0\ta\n0\tb\n", "got no line with the id 1"),
        ("a\t0\nb\t2\nc\t3\n", "got no line with the id 1"),
        ("label\tid\nrome\t1\n", "got no line with the id 0"),
        ("00\ta\n01\tb\n", "got 0 such columns"),
        ("3\na\t0\nb\t1\n", "expected 3 rows, as the first line counts, got 2"),
        ("a\tb\tc\n", "line 1"),
        ("2\na\t0\n\nb\t1\n", "line 3"),
        ("a\nb\t1\n", "line 2"),
        ("", "line 1"),
        # Most lines have a tab, or none has but one.
        ("a 0\nb\t1\nc\t2\n", "line 1: .* got 'a 0'"),
        ("a\t0\nb\t1\nc 2\n", "line 3: .* got 'c 2'"),
        ("a 0\nb 1\nc\t2\nd 3\n", r"line 3: .* got 'c\\t2'"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "labels.txt"
    path.write_text(text)
    refusal(ValueError, f"^entities: .*labels.txt: .*{words}", read_labels, "entities", str(path))


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_an_empty_first_line_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"labels.{ending}"
    path.write_text("\na\nb\n")
    refusal(ValueError, "line 1: expected a label in each line", read_labels, "labels", str(path))


def test_a_path_names_the_entities(tmp_path: Path) -> None:
    path = tmp_path / "entity2id.txt.gz"
    path.write_bytes(gzip.compress(b"2\nrome\t1\nitaly\t0\n"))
    facts = [("rome", "in", "italy")]
    for names in (
        link_prediction.Task(facts, {}, entities=path).entities,
        link_prediction.read_triples(facts, entities=str(path)).entities,
        alignment.Task([("rome", 0)], left=path, right=1).left,
    ):
        assert names == ("italy", "rome")


@given(st.lists(st.text("ab \t", max_size=3), min_size=1, max_size=12))
def test_labels_are_distinct_whatever_blanks_they_end_in(labels: list[str]) -> None:
    """By sets: first no label occurs twice, then none differs from another in blanks alone."""
    bare = [label.strip(" \t") for label in labels]
    if len(set(bare)) == len(labels):
        assert Vocabulary.read("entities", labels).names == tuple(labels)
        return
    problem = "differ only in blanks at their ends"
    if len(set(labels)) < len(labels):
        problem = "occurs twice"
    with pytest.raises(InputValueError, match=problem):
        Vocabulary.read("entities", labels)
