"""Grades are finite numbers at every door; those above 0 are right answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from truerank.records.lists import read_grades

DOCUMENTS = ["a", "b", "c", "d", "e"]
GRADES = st.lists(
    st.sampled_from([1, 3, 0.1, 0.01, 0, -1, -0.5, 1e-9, 2.0]), min_size=5, max_size=5
)


def doors(grades: list[float], path: Path) -> dict[str, Any]:
    """Return judgements of the same grades in all forms that Python has."""
    columns = ["q"] * 5, DOCUMENTS, grades
    fields = [("query", "U1"), ("document", "U1"), ("relevance", float)]
    lines = [f"q 0 {d} {g!r}\n" for d, g in zip(DOCUMENTS, grades, strict=True)]
    path.write_text("".join(lines))
    return {
        "mapping": {"q": dict(zip(DOCUMENTS, grades, strict=True))},
        "columns": tuple(map(np.array, columns)),
        "table": np.array(list(zip(*columns, strict=True)), fields),
        "path": path,
        "read": tr.read_qrels(path),
    }


@given(GRADES.filter(lambda grades: max(grades) > 0 and 0 in grades))
@examples(40)
def test_every_door_takes_the_same_grades(
    tmp_path_factory: pytest.TempPathFactory, grades: list[float]
) -> None:
    lists = {"q": dict(zip(DOCUMENTS, [0.5, 0.4, 0.3, 0.2, 0.1], strict=True))}
    found = []
    for value in doors(grades, tmp_path_factory.getbasetemp() / "qrels.txt").values():
        task = tr.retrieval.Task(value, entities=DOCUMENTS)
        report = task.evaluate_lists(lists)
        found.append([report[key] for key in ("ndcg", "map", "recall@2", "dcg")])
    assert all(values == found[0] for values in found)
    discounts = 1 / np.log2(np.arange(2, 7))
    assert found[0][3] == pytest.approx(float(np.maximum(grades, 0) @ discounts))


def test_a_level_may_be_a_fraction() -> None:
    """ESCI: answers below the level count in ndcg alone."""
    qrels = {"q": {"a": 0.01, "b": 0.1, "c": 1}}
    lists = {"q": ["a", "b", "c"]}
    for level, mrr in ((None, 1), (0.1, 0.5), (0.5, 1 / 3)):
        task = tr.retrieval.Task(qrels, entities=DOCUMENTS, relevance_level=level)
        report = task.evaluate_lists(lists)
        assert report["mrr"] == pytest.approx(mrr)
        assert report["ndcg"] == pytest.approx(0.5366, abs=1e-4)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float32, np.bool_, object])
def test_grades_of_any_dtype(kind: Any) -> None:
    grades = read_grades("qrels", np.array([1, 0], kind))
    assert grades.dtype == np.int64
    assert grades.tolist() == [1, 0]


@pytest.mark.parametrize("odd", ["1", "0.5", "one", None, [1], 1j, np.datetime64(1, "D")])
def test_what_is_no_number_is_no_grade(odd: Any) -> None:
    with pytest.raises(tr.InputError, match="qrels: expected grades that are finite numbers"):
        read_grades("qrels", [1, odd])
