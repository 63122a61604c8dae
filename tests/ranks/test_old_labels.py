"""The label "relation" was named "group": the old name works with a warning, and old files too."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.example_ranks import everything
from truerank.inference import interval

WARNS = pytest.warns(DeprecationWarning, match=r'^[".=]*group[".=]* is now [".=]*relation[".=]*; ')
RANKS = tr.Ranks([0, 3, 1], [1, 1, 2], 10, relation=["x", "y", "x"])


def test_arguments_and_attribute() -> None:
    with WARNS as caught:
        assert tr.Ranks([0, 3, 1], [1, 1, 2], 10, group=["x", "y", "x"]) == RANKS  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    with WARNS:
        assert RANKS.with_labels(relation=None).with_labels(group=["x", "y", "x"]) == RANKS
    with WARNS as caught:
        assert RANKS.group is RANKS.relation
    assert caught[0].filename == __file__
    with WARNS:
        assert tr.Ranks([0], [1], 2).group is None
    with pytest.raises(tr.InputTypeError, match="as relation= and by its old name group="):
        RANKS.with_labels(relation="x", group="y")
    with pytest.raises(AttributeError, match="'groups'"):
        RANKS.groups  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda by: tr.report(RANKS, by=by),
        lambda by: tr.report(RANKS, weights=by),
        lambda by: interval(RANKS, "macro.mrr", by=by, resamples=50),
        lambda by: tr.compare(RANKS, RANKS, by=by, resamples=50),
        lambda by: tr.retrieval.report(RANKS.with_labels(queries=[0, 1, 2]), by=by),
    ],
)
def test_name_in_by_and_weights(call: Any) -> None:
    expected = call("relation")
    with WARNS as caught:
        found = call("group")
    assert caught[0].filename == __file__
    assert str(found) == str(expected)
    assert getattr(found, "by", None) == getattr(expected, "by", None)


def test_labels_of_the_tasks_of_a_side() -> None:
    labels = tr.link_prediction.Task([(0, 1, 2)]).tail.labels
    assert sorted(labels)[-3:] == ["relation", "tail_degree", "targets"]
    with pytest.warns(
        DeprecationWarning, match=r'^labels\["group"\] is now labels\["relation"\]; '
    ):
        assert labels["group"] is labels["relation"]
    with pytest.raises(KeyError, match="groups"):
        labels["groups"]
    answers = tr.retrieval.Task({0: [1]}, entities=3).answers.labels
    with pytest.raises(KeyError, match="group"):
        answers["group"]


def test_another_label_of_the_old_name_comes_first() -> None:
    both = RANKS.with_labels(labels={"group": [5, 5, 6]})
    assert list(tr.report(both, by="group").groups) == [5, 6]
    assert list(tr.report(both, by="relation").groups) == ["x", "y"]
    assert tr.report(both, by="group").by == "group"


def test_errors_name_the_new_name() -> None:
    bare = tr.Ranks([0], [1], 2)
    message = (
        r"no labels 'relation' \(they have: none\); give them with ranks.with_labels\(relation="
    )
    with WARNS, pytest.raises(ValueError, match=message):
        tr.report(bare, by="group")


def test_files_have_the_member_of_old_versions(tmp_path: Path) -> None:
    ranks = everything()
    ranks.save(tmp_path / "ranks.npz")
    with zipfile.ZipFile(tmp_path / "ranks.npz") as file:
        names = file.namelist()
        codes = np.load(io.BytesIO(file.read("group.codes.npy")))
    assert not [name for name in names if "relation" in name]
    assert ranks.relation is not None
    assert np.array_equal(codes, ranks.relation.codes)
    assert tr.load(tmp_path / "ranks.npz") == ranks


def test_pickles_of_old_versions_are_read() -> None:
    remake, (fields,) = RANKS.__reduce__()
    old = {"group" if name == "relation" else name: value for name, value in fields.items()}
    assert remake(old) == pickle.loads(pickle.dumps(RANKS)) == RANKS


def test_labels_of_any_name_by_keyword() -> None:
    named = RANKS.with_labels(degree=[1, 1, 2], side="tail")
    assert named == RANKS.with_labels(side="tail", labels={"degree": [1, 1, 2]})
    assert list(tr.report(named, by="degree").groups) == [1, 2]
    assert named.with_labels(degree=None, side=None) == RANKS
    assert named.with_labels(labels=None, side=None) == RANKS
    assert list(named.with_labels(labels=None, time=[1, 2, 3]).labels) == ["time"]
    with pytest.raises(ValueError, match="labels: 'degree' is given twice: here and as degree="):
        RANKS.with_labels(labels={"degree": [1, 1, 2]}, degree=[1, 1, 2])
    with pytest.raises(ValueError, match="'query' has a meaning already: give queries="):
        RANKS.with_labels(query=[1, 2, 3])
    with pytest.raises(ValueError, match=r"labels\['degree'\]: expected 3 labels"):
        RANKS.with_labels(degree=[1])


def test_pandas_has_the_new_column() -> None:
    pytest.importorskip("pandas", reason="the table needs pandas")
    assert RANKS.to_pandas()["relation"].tolist() == ["x", "y", "x"]
