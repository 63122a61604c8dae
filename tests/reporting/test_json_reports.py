"""Test reports that are written as JSON."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.example_ranks import any_ranks, everything, sided_ranks
from truerank import Ranks, Report, report
from truerank.tables.forms import json_value

GOLDEN = Path(__file__).parent / "golden" / "report.json"


def numbers(values: Any) -> list[float]:
    """Return the values of an object or array of JSON, of which null is nan."""
    listed = values.values() if isinstance(values, dict) else values
    return [math.nan if value is None else value for value in listed]


def test_golden_file() -> None:
    """What other programs read keeps its form; a later version may list more."""
    golden = json.loads(GOLDEN.read_text("utf-8"))
    metrics = golden["metrics"]
    assert metrics["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 6 + 1 / 3.5 + 2) / 6, rel=1e-14)
    assert (metrics["tail.hits@1"], metrics["tail.pessimistic.mr"]) == (2 / 3, (5 + 2) / 3)
    made = report(sided_ranks().with_weights([1, 1, 1, 1, 2]), by="relation")
    content = json.loads(made.to_json(metrics))
    assert list(content) == list(golden)
    columns = {"": content.pop("metrics")} | content["groups"].pop("metrics")
    golden_columns = {"": golden.pop("metrics")} | golden["groups"].pop("metrics")
    for name, values in golden_columns.items():
        np.testing.assert_allclose(numbers(columns[name]), numbers(values), rtol=1e-12)
    assert golden.pop("protocol").items() <= content.pop("protocol").items()
    findings = content.pop("findings")
    assert [finding["name"] for finding in findings] == ["ties", "few candidates"]
    assert findings[0].keys() == {"name", "count", "message"}
    assert golden.pop("findings")[0].keys() == findings[0].keys()
    assert content == golden


@given(any_ranks(), st.sampled_from([None, "mod", "side"]), st.integers(0, 3))
@example(everything(), None, 0)
@example(everything()[:0], "side", 0)
@example(sided_ranks(), "side", 3)
@example(Ranks([0, 1], [1, 1], 3, side="relation"), "mod", 0)
def test_json_holds_what_the_report_says(ranks: Ranks, by: Any, seed: int) -> None:
    if by == "mod" or ranks.side is None:
        by = np.arange(len(ranks)) % 3
    measured = report(ranks, by=by, seed=seed)
    assert pickle.loads(pickle.dumps(measured)) == copy.deepcopy(measured) == measured
    content = json.loads(measured.to_json())
    assert content["metrics"] == json_value(dict(measured))
    assert content["fingerprint"] == measured.protocol.fingerprint
    assert (content["seed"], content["weighting"]) == (seed, measured.weighting)
    assert content["sides"] == {side: measured.tasks(side) for side in content["sides"]}
    assert content["summary"]["tied_tasks"] == measured.summary.tied_tasks
    assert [finding["message"] for finding in content["findings"]] == [
        finding.message for finding in measured.audit()
    ]
    groups = content["groups"]
    if by is None:
        assert groups is None
        return
    assert (groups["by"], groups["labels"]) == (measured.by, json_value(list(measured.groups)))
    for side, tasks in groups["tasks"].items():
        assert tasks == list(measured.group_tasks(side).values())
    assert not any(key.startswith("macro.") for key in groups["metrics"])
    for key, values in groups["metrics"].items():
        assert values == json_value(list(measured.group_values(key).values()))


def test_groups_have_one_kind_unless_keys_are_given(grouped: Report) -> None:
    by_default = json.loads(grouped.to_json())["groups"]["metrics"]
    assert "optimistic.mr" not in by_default
    given = json.loads(grouped.to_json(["optimistic.mr", "macro.mr"]))
    assert list(given["metrics"]) == ["optimistic.mr", "macro.mr"]
    assert list(given["groups"]["metrics"]) == ["optimistic.mr"]


def test_reports_are_equal_by_what_json_has(sided: Ranks) -> None:
    measured = report(sided)
    assert measured == report(sided)
    for other in (report(sided[1:]), report(sided[:3]), report(sided, by="side"), "amri"):
        assert measured != other
        assert other != measured


def test_infinite_and_missing_numbers() -> None:
    ties = report(Ranks([0], [10], 10))
    assert ties.audit()[0].count == 1
    content = json.loads(ties.to_json(["mr", "std", "amri"]))
    assert content["findings"][0]["count"] == 1
    assert content["metrics"] == {"mr": 5.5, "std": 0.0, "amri": 0.0}
    assert json.loads(report(Ranks([], [], [])).to_json(["mr"]))["metrics"] == {"mr": None}
