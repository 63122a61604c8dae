"""Several filters at once: rules by which facts match, against plain sets, and their reports."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task

TEST = [(0, 0, 1, 7), (2, 1, 0, 8)]
TRAIN = [(0, 0, 2, 7), (0, 0, 3, 8), (2, 1, 3, 9)]


@pytest.fixture
def measured() -> tr.Report:
    filters = ["fact", "triple", "none"]
    task = Task(TEST, {"train": TRAIN}, entities=4, keys=[3], filters=filters)
    scores = np.array([[0.1, 0.2, 0.9, 0.8], [0.1, 0.7, 0.2, 0.9]], np.float32)
    return task.evaluate_scores(scores, head=scores)


def test_filters_stand_beside_each_other(measured: tr.Report) -> None:
    found = {name: under["tail.mr"] for name, under in measured.filters.items()}
    assert found == {"fact": 3.0, "triple": 2.0, "none": 3.5}
    assert len({under.protocol.fingerprint for under in measured.filters.values()}) == 3
    table = measured.to_markdown(["mr"], sides=["tail"], kinds=["realistic"])
    assert table.splitlines()[-2:] == ["| triple | 2 | 2.0 |", "| none | 2 | 3.5 |"]
    assert measured.filters["triple"].filters == {}
    known = "no filter of the report, which has 'fact', 'triple', 'none'$"
    refusal(KeyError, known, measured.filters.__getitem__, "triples")
    static, timed = (measured.filters[name].ranks for name in ("triple", "fact"))
    refusal(ValueError, "filter_rule: fact against triple", tr.compare, timed, static, metric="mrr")


def test_filters_in_json_and_pickle(measured: tr.Report) -> None:
    assert pickle.loads(pickle.dumps(measured)) == measured
    content = json.loads(measured.to_json())
    filters = content.pop("filters")
    assert filters["own"] == "fact"
    for name, of_filter in filters["others"].items():
        assert of_filter["metrics"]["mr"] == measured.filters[name]["mr"]
    other = tr.report(measured.ranks)
    assert other != measured
    assert json.loads(other.to_json()) == content | {"filters": None}
