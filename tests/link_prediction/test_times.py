"""Facts with times: how labels are read, and answers by overlap, against plain definitions."""

from __future__ import annotations

import warnings
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from support.refusals import refusal
from truerank.link_prediction import Task
from truerank.link_prediction.times import UNKNOWN_END, UNKNOWN_START, encode_times
from truerank.records.column_ids import IdColumn
from truerank.records.vocabularies import LabelIndex

FIRST_DAY = date(1896, 1, 1)
CALENDAR = "".join(f"{FIRST_DAY + timedelta(days)} " for days in range(105 * 366))


def columns_of(*splits: list[Any], position: int = 3) -> list[IdColumn]:
    """Return one position of some splits, as text has it: those of str share their index."""
    index = LabelIndex()
    columns = []
    for i, split in enumerate(splits):
        if split and isinstance(split[0], str):
            codes = index.encode(split)
            columns.append(IdColumn(f"split {i}", position, codes, index, is_text=True))
        else:
            columns.append(IdColumn(f"split {i}", position, np.array(split, np.int64)))
    return columns


@st.composite
def labels(draw: st.DrawFn) -> str:
    """Draw a date, of which any part but the first digits of the year may be unknown."""
    year = str(draw(st.integers(1900, 1969)))
    known = draw(st.integers(2, 4))
    year = year[:known] + "#" * (4 - known)
    month = draw(st.sampled_from(["", "##", "02", "12", "07"]))
    day = ""
    if month.strip("#"):
        day = draw(st.sampled_from(["", "##", "01", "28"]))
    return draw(st.sampled_from(["-".join(filter(None, [year, month, day])), "####-##-##"]))


@given(st.lists(labels(), min_size=1, max_size=8), st.integers(0, 8))
def test_dates_are_the_days_that_fit(drawn: list[str], cut: int) -> None:
    encoded = encode_times((3,), [columns_of(drawn[:cut], drawn[cut:])], as_ids=False)
    expected = [oracle.days(label, CALENDAR) for label in drawn]
    are_years = all(label.isdigit() or set(label) == set("#-") for label in drawn)
    offset = FIRST_DAY.toordinal()
    known = {-np.inf: UNKNOWN_START, np.inf: UNKNOWN_END}
    for found, end in ((encoded[0].starts, 0), (encoded[0].ends, 1)):
        days = [known.get(pair[end], pair[end] + offset) for pair in expected]
        years = [
            known.get(p[end], int(label[:4].replace("#", "0")))
            for label, p in zip(drawn, expected, strict=True)
        ]
        assert found.tolist() == (years if are_years else days)
    assert encoded[2] is not None
    ids = np.concatenate(encoded[1][0]).tolist()
    order = sorted(set(expected))
    assert ids == [order.index(pair) for pair in expected]
    by_label = dict(zip(drawn, expected, strict=True))
    assert [by_label[encoded[2][i]] for i in ids] == expected


def test_labels_of_public_files() -> None:
    drawn = ["-0044-03-15", "+2003-00-00T00:00:00Z", "307-13047-09", "", "####", "19##", "-04##"]
    encoded = encode_times((3,), [columns_of(drawn)], as_ids=True)
    starts = encoded[0].starts
    ends = encoded[0].ends
    year = 365.2425
    assert starts[0] == ends[0] == pytest.approx(-44.79 * year, abs=10)
    assert (starts[1], ends[1]) == (date(2003, 1, 1).toordinal(), date(2003, 12, 31).toordinal())
    assert (starts[2], ends[2]) == (date(307, 1, 1).toordinal(), date(307, 12, 31).toordinal())
    assert encoded[0].doubtful == {"307-13047-09": "307"}
    for unknown in (3, 4):
        assert (starts[unknown], ends[unknown]) == (UNKNOWN_START, UNKNOWN_END)
    assert (starts[5], ends[5]) == (date(1900, 1, 1).toordinal(), date(1999, 12, 31).toordinal())
    assert ends[6] - starts[6] + 1 == pytest.approx(100 * year, abs=1)
    assert ends[6] < starts[0]
    assert encoded[2] == ("", "-04##", "-0044-03-15", "307-13047-09", "19##", drawn[1])


def test_integers_stay_and_unknown_ones_make_labels() -> None:
    groups = [columns_of(["5", "-3"], [24]), columns_of(["7", "5"], [30], position=4)]
    encoded = encode_times((3, 4), groups, as_ids=False)
    assert encoded[2] is None
    assert [part.tolist() for part in encoded[1][0]] == [[5, -3], [24]]
    assert (encoded[0].starts.tolist(), encoded[0].ends.tolist()) == ([5, -3, 24], [7, 5, 30])
    encoded = encode_times((3, 4), [columns_of(["10", "9"]), columns_of(["####", "11"])], True)
    assert encoded[2] == ("####", "9", "10", "11")
    assert [part[0].tolist() for part in encoded[1]] == [[2, 1], [0, 3]]
    assert encoded[0].ends.tolist() == [UNKNOWN_END, 11]
    for as_ids, names in ((True, None), (False, ("2", "10"))):
        assert encode_times((3,), [columns_of(["10", "2", "10"])], as_ids)[2] == names


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        ([["1984", "x"]], "split 0: .* got 'x' in column 3 of row 1"),
        ([["1984"], ["2003-##-##", "03/04/05"]], "split 1: expected times: .*'03/04/05' in"),
        ([["2003-##-##"], [1984]], "split 1: .* got ids in column 3"),
    ],
)
def test_what_is_no_time(splits: list[list[Any]], words: str) -> None:
    refusal(ValueError, words, encode_times, (3,), [columns_of(*splits)], as_ids=False)


TEST_LINES = "5\t0\t1\t1986-##-##\t####-##-##\n3\t1\t0\t2010-##-##\t2004-##-##\n"
TRAIN_LINES = "5\t0\t2\t1980-##-##\t1986-01-01\n5\t0\t3\t307-13047-09\t978-##-##\n5\t0\t1\t\t\n"


def test_files_of_intervals(tmp_path: Path) -> None:
    """As YAGO11k has them: entities by number, dates, unknown ends, and two odd lines."""
    (tmp_path / "test.txt").write_text(TEST_LINES)
    (tmp_path / "train.txt").write_text(TRAIN_LINES)
    files = str(tmp_path / "test.txt"), {"train": str(tmp_path / "train.txt")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task = Task(*files, entities=6, time=(3, 4), filters=("overlap", "triple"))
    notes = [
        "1 (3 1 0 2010-##-## 2004-##-##) triples end before they start; their ends are unknown",
        "1 (307-13047-09) dates name no day; they are read by their years",
    ]
    assert [str(warning.message) for warning in caught] == notes
    names = ("", "307-13047-09", "978-##-##", "1980-##-##", "1986-01-01", "1986-##-##")
    names += ("2004-##-##", "2010-##-##")
    assert task.qualifiers == (names, names)
    assert task.test.tolist() == [[5, 0, 1, 5, 0], [3, 1, 0, 7, 6]]
    indptr, answers, lists = task.tail.filter  # type: ignore[misc]
    assert [answers[indptr[i] : indptr[i + 1]].tolist() for i in lists] == [[1, 2], [0]]
    assert task.tail.labels["time"].values.tolist() == ["1986-##-##", "2010-##-##"]
    assert [task.protocols[name].filter_rule for name in task.protocols] == ["overlap", "triple"]
    plain = task.audit.to_dict()["times"]
    assert plain["doubtful"] == {"count": 1, "examples": ["307-13047-09"]}
    assert (plain["not_later"], plain["seen"], plain["against"]) == (0, 1, "train")
    said = str(task.audit).splitlines()
    shares = "times: 0 triples start no later than the last of train; 1 are in train at some time"
    assert said[-3] == shares
    assert said[-2:] == notes


def test_columns_that_are_in_no_query_and_no_overlap() -> None:
    """As RE-Net and RE-GCN have them: the fifth column of their integer files."""
    train = {"train": [(0, 0, 2, 48, -1), (0, 0, 3, 24, -1)]}
    options: dict[str, Any] = {"time": 3, "keys": (3,), "filters": ("query", "overlap", "fact")}
    task = Task([(0, 0, 1, 48, 0)], train, entities=4, **options)
    assert task.tail.queries.tolist() == [[0, 0, 48]]
    rules = {name: protocol.filter_rule for name, protocol in task.protocols.items()}
    assert rules == {"query": "columns 3", "overlap": "overlap without columns 4", "fact": "fact"}
    found = task.evaluate_scores(np.zeros((1, 4)), head=np.zeros((1, 4))).filters
    candidates = {name: under.ranks.candidates.tolist() for name, under in found.items()}
    assert candidates == {"query": [4, 3], "overlap": [4, 3], "fact": [4, 4]}


@pytest.mark.parametrize(
    ("keywords", "kind", "words"),
    [
        ({"time": 2}, ValueError, r"time: expected distinct columns from 3 on, of 5 in all, got 2"),
        ({"time": (3, 3)}, ValueError, r"time: expected .*got 3, 3$"),
        ({"time": "34"}, ValueError, "time: expected distinct .*got '34'"),
        ({"time": 3.0}, ValueError, "time: expected distinct"),
        ({"time": (3, 4, 4)}, ValueError, "time: expected distinct"),
        ({"time": True}, ValueError, "time: expected distinct"),
        ({"time": (3, 5)}, ValueError, "from 3 on, of 5 in all, got 3, 5"),
        ({"filters": ("overlap",)}, ValueError, 'filters: "overlap" needs the column of times'),
    ],
)
def test_bad_columns_of_times(keywords: dict[str, Any], kind: type, words: str) -> None:
    refusal(kind, words, Task, [[0, 0, 1, 5, 6]], [[0, 0, 1, 5, 6]], **keywords)
