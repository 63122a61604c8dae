"""Columns of keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from truerank import link_prediction

FACTS = pd.DataFrame(
    {"head": ["a", "a"], "relation": ["r", "r"], "tail": ["b", "c"], "time": ["t1", "t2"]}
)

ENTRIES = pd.DataFrame(
    {
        "time": ["t2", "t1", "t2", "t1"],
        "score": [0.5, 0.25, 1.0, 0.75],
        "tail": ["c", "b", "b", "c"],
        "relation": ["r"] * 4,
        "head": ["a"] * 4,
    }
)


def timed_task(*, is_named: bool, facts: pd.DataFrame = FACTS, **options: Any) -> Any:
    """Return a task whose facts have a further column, with its name or without."""
    rows = facts if is_named else [*facts.itertuples(index=False, name=None)]
    keys = list(range(3, facts.shape[1]))
    sides = ["tail"]
    return link_prediction.Task(rows, {}, entities=["a", "b", "c"], sides=sides, keys=keys)


def forms_of(frame: pd.DataFrame, folder: Path) -> list[Any]:
    """Return a table in memory, and in files of both kinds."""
    frame.to_csv(folder / "lists.tsv", sep="\t", index=False)
    frame.to_csv(folder / "lists.csv", index=False)
    return [frame, folder / "lists.tsv", folder / "lists.csv"]


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("name", ["time", "3"])
def test_keys_have_the_names_of_their_columns(tmp_path: Path, is_named: bool, name: str) -> None:
    """A number is a name, too; lists in memory by key say what is right."""
    task = timed_task(is_named=is_named)
    by_key = {("a", "r", "t1"): {"b": 0.25, "c": 0.75}, ("a", "r", "t2"): {"c": 0.5, "b": 1.0}}
    right = task.evaluate_lists(by_key)
    assert right["mr"] == 2
    for lists in forms_of(ENTRIES.rename(columns={"time": name}), tmp_path):
        assert task.evaluate_lists(lists).ranks == right.ranks


def test_a_file_of_keys_without_a_header_is_read_in_order(tmp_path: Path) -> None:
    """The twin of those that have one."""
    columns = ["head", "relation", "tail", "time", "score"]
    ENTRIES[columns].to_csv(tmp_path / "lists.tsv", sep="\t", index=False, header=False)
    assert timed_task(is_named=True).evaluate_lists(tmp_path / "lists.tsv")["mr"] == 2


def test_other_names_of_keys_are_refused(tmp_path: Path) -> None:
    """Where facts name them, or have several; `columns` says which are meant."""
    renamed = ENTRIES.rename(columns={"time": "when"})
    roles = {"head": "head", "relation": "relation", "tail": "tail", "score": "score"}
    with_place = FACTS.assign(place=["p", "p"])
    entries = ENTRIES.assign(place="p")
    cases = [
        (timed_task(is_named=True), renamed, {"3": "when"}),
        (timed_task(is_named=False, facts=with_place), entries, {"3": "time", "4": "place"}),
    ]
    for task, frame, keys in cases:
        for lists in forms_of(frame, tmp_path):
            with pytest.raises(tr.InputValueError, match=r"columns=\{'head': .* which are meant"):
                task.evaluate_lists(lists)
            assert task.evaluate_lists(lists, columns=roles | keys)["mr"] == 2
    named = timed_task(is_named=True, facts=with_place)
    assert named.evaluate_lists(entries)["mr"] == 2


def test_two_keys_have_the_numbers_of_their_columns(tmp_path: Path) -> None:
    """As names, str or int, in any order, of lists and of keys of rows; as numbers of columns."""
    facts = FACTS.assign(place=["p1", "p2"])
    task = timed_task(is_named=False, facts=facts)
    entries = ENTRIES.assign(place=["p2", "p1", "p2", "p1"])
    for numbers in ({"time": 3, "place": 4}, {"time": "3", "place": "4"}):
        frame = entries.rename(columns=numbers)
        for lists in forms_of(frame, tmp_path):
            assert task.evaluate_lists(lists)["mr"] == 2
        roles: dict[str, Any] = {name: name for name in ("head", "relation", "tail", "score")}
        roles |= {"3": numbers["time"], "4": numbers["place"]}
        in_order = frame[[*list(roles)[:3], numbers["time"], numbers["place"], "score"]]
        assert task.evaluate_lists(in_order, columns=roles)["mr"] == 2
        top = tr.TopK(np.array([[2, 1], [1, 2]]), None)  # type: ignore[arg-type]
        keys = facts.rename(columns=numbers)[
            [numbers["place"], "relation", numbers["time"], "head"]
        ]
        assert task.evaluate_lists(top, row_queries={"tail": keys})["mr"] == 2
    numbered = in_order.set_axis(range(6), axis=1)
    places = dict(zip(["head", "relation", "tail", "3", "4", "score"], range(6), strict=True))
    assert task.evaluate_lists(numbered, columns=places)["mr"] == 2


def test_a_number_that_names_another_column_is_refused() -> None:
    """Column 4 of the frame is called 3: which of them is meant?"""
    facts = FACTS.assign(place=["p1", "p2"])
    entries = ENTRIES.assign(place=["p2", "p1", "p2", "p1"])
    frame = entries.rename(columns={"time": 3, "place": 4})
    names = ["head", "relation", "tail", 4, 3, "score"]
    columns = {name: name for name in ("head", "relation", "tail", "score")}
    task = timed_task(is_named=False, facts=facts)
    with pytest.raises(
        tr.InputValueError,
        match=r"expected each of these columns once, which were named: 'head', .*, 3, 4, got",
    ):
        task.evaluate_lists(frame[names], columns=columns | {"3": 3, "4": 4})
    assert task.evaluate_lists(frame[names])["mr"] == 2


def test_a_column_beside_the_key_is_refused() -> None:
    """One of them may be the key, and the other may not be."""
    with pytest.raises(tr.InputValueError, match=r"got columns .*'label'; columns=.*'3': '...'"):
        timed_task(is_named=False).evaluate_lists(ENTRIES.assign(label=[0, 1, 1, 0]))


def test_a_key_that_is_called_as_another_role_is_none() -> None:
    """The score of an entry stays the score where facts have one, too."""
    facts = FACTS.rename(columns={"time": "score"})
    task = timed_task(is_named=True, facts=facts)
    with pytest.raises(tr.InputValueError, match="expected columns head, relation, tail, 3"):
        task.evaluate_lists(ENTRIES.drop(columns="time"))
    assert task.evaluate_lists(ENTRIES.rename(columns={"time": "3"}))["mr"] == 2
