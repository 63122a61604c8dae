"""Filters: rules by which facts match, and reports of tasks under each of them."""

from __future__ import annotations

import numpy as np

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task

TEST = [(0, 0, 1, 7), (2, 1, 0, 8)]
TRAIN = [(0, 0, 2, 7), (0, 0, 3, 8), (2, 1, 3, 9)]


def test_each_filter_is_one_of_the_protocol() -> None:
    scores = np.array([[0.1, 0.2, 0.9, 0.8], [0.1, 0.7, 0.2, 0.9]], np.float32)
    ranks = {}
    for filter in ("fact", "triple", "none"):
        task = Task(TEST, {"train": TRAIN}, entities=4, keys=[3], filter=filter)
        ranks[filter] = task.evaluate_scores(scores, head=scores).ranks
    assert {name: tr.report(each)["tail.mr"] for name, each in ranks.items()} == {
        "fact": 3.0,
        "triple": 2.0,
        "none": 3.5,
    }
    assert len({each.protocol.fingerprint for each in ranks.values()}) == 3
    words = "filter_rule: fact against triple"
    refusal(ValueError, words, tr.compare, ranks["fact"], ranks["triple"], metric="mrr")
