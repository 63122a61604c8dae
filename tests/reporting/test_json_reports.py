"""Test reports that are written as JSON and read back."""

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

from support.example_ranks import any_ranks, everything, same, sided_ranks
from support.hostile_members import values_like
from support.refusals import refusal
from truerank import InputValueError, Ranks, Report, report, table
from truerank.reporting.columns import compose_key
from truerank.reporting.stored_reports import REPORT

GOLDEN = Path(__file__).parent / "golden" / "report.json"


def test_golden_file() -> None:
    back = Report.from_json(GOLDEN.read_text("utf-8"))
    assert isinstance(back, Report)
    assert back["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 6 + 1 / 3.5 + 2) / 6, rel=1e-14)
    assert (back["tail.hits@1"], back["tail.pessimistic.mr"]) == (2 / 3, (5 + 2) / 3)
    assert list(back.groups) == ["likes", "knows", "a|b & <c>"]
    assert (back.tasks(), back.tasks("head"), back.groups["likes"].tasks()) == (5, 3, 3)
    made = report(sided_ranks().with_weights([1, 1, 1, 1, 2]), by="relation")
    assert back.protocol == made.protocol
    assert len(back) == 165
    kept = {key: made[key] for key in back}  # a later version may list more
    assert dict(back) == pytest.approx(kept, rel=1e-12, nan_ok=True)
    assert json.loads(back.to_json()) == json.loads(GOLDEN.read_text("utf-8"))


@given(any_ranks(), st.sampled_from([None, "mod", "side"]), st.integers(0, 3))
@example(everything(), None, 0)
@example(everything()[:0], "side", 0)
@example(sided_ranks(), "side", 3)
@example(Ranks([0, 1], [1, 1], 3, side="relation"), "mod", 0)
def test_json_and_back(ranks: Ranks, by: Any, seed: int) -> None:
    if by == "mod" or ranks.side is None:
        by = np.arange(len(ranks)) % 3
    measured = report(ranks, by=by, seed=seed)
    text = measured.to_json()
    back = Report.from_json(text)
    assert back == measured
    assert measured == back
    assert back.to_json() == text
    assert list(back) == list(measured)
    assert all(same(back[key], measured[key]) for key in measured)
    for name in ("seed", "protocol", "by", "weighting", "sides", "summary", "audit"):
        one, two = (getattr(found, name) for found in (back, measured))
        if callable(one):
            one = one()
            two = two()
        assert str(one) == str(two), name
    assert [back.tasks(side) for side in back.sides] == list(map(measured.tasks, back.sides))
    assert back.to_csv(kinds=["realistic"]) == measured.to_csv(kinds=["realistic"])
    assert pickle.loads(pickle.dumps(back)) == copy.deepcopy(back) == back
    assert "read from JSON" in repr(back)
    if by is not None:
        side = measured.sides[0]
        mr, amri = (compose_key(side, "realistic", name) for name in ("mr", "amri"))
        assert back.group_tasks(side) == measured.group_tasks(side)
        assert str(back.group_values(amri)) == str(measured.group_values(amri))
        assert back.macro_left_out(mr) == measured.macro_left_out(f"macro.{mr}")


def test_values_of_groups_that_are_not_stored(grouped: Report) -> None:
    back = Report.from_json(grouped.to_json(["mr", "amri", "optimistic.mr"]))
    assert "left out" not in back.to_markdown()
    stored = Report.from_json(grouped.to_json(["mr", "macro.mr", "amri"])).to_markdown()
    assert stored.splitlines()[-6].startswith("| macro | 5 | ")
    assert stored.splitlines()[-6].endswith(" |  |")  # the macro average of the index
    ranks = Ranks([0, 3], [1, 1], [1, 10])
    nothing = Report.from_json(report(ranks, by=[0, 1]).to_json(["mr", "macro.mr"]))
    assert "nan" not in nothing.to_csv()


def test_a_read_report_knows_what_was_stored(sided: Ranks) -> None:
    measured = report(sided)
    back = Report.from_json(measured.to_json(["amri", "tail.hits@2", "optimistic.mrr"]))
    assert back["index.mr"] == back["both.realistic.amri"] == measured["amri"]
    assert list(back) == ["amri", "tail.hits@2", "optimistic.mrr"]
    refusal(KeyError, "not among the 3 keys of this report, which", back.__getitem__, "hits@2")
    refusal(KeyError, "no metric 'mmr'", back.__getitem__, "mmr")
    calls = [lambda: back.ranks, lambda: back.weights]
    calls += [lambda: back.interval("mrr"), lambda: back.chance("mr")]
    for call in calls:
        refusal(AttributeError, r"read from JSON.*ranks\.save\(path\)", call)
    assert not hasattr(back, "ranks")
    rows = back.table().to_dict()
    assert rows["side"] == ["both", "both", "tail", "tail"]
    assert rows["kind"] == ["optimistic", "realistic"] * 2
    assert list(rows)[-3:] == ["amri", "hits@2", "mrr"]
    assert "| tail | realistic | 2 |  | 0.500 |  |" in back.to_markdown()
    assert "tail,realistic,2,,0.5,\n" in back.to_csv()
    refusal(KeyError, "'hits@7': not among", back.to_markdown, ["hits@7"])
    assert back != report(sided[1:])
    assert back != Report.from_json(measured.to_json(["amri"]))
    assert back != "amri"
    assert report(sided[:3]) != back  # has no such side
    refusal(KeyError, "no side 'left'", back.tasks, "left")


def test_infinities_survive() -> None:
    ties = report(Ranks([0], [10], 10))
    assert Report.from_json(ties.to_json()).audit()[0].value == math.inf == ties.audit()[0].value


DAMAGE = {
    "": "expected the JSON of a report",
    "report.json": r"the JSON of a report itself, as Path\(...\).read_text\(\) has it",
    "[]": "of the kind 'truerank.report'",
    '{"kind": "else"}': "of the kind 'truerank.report'",
    '{"kind": "truerank.report", "format": 99}': "expected format 1 of a report.* got 99",
    '{"kind": "truerank.report", "format": 1}': "damaged: report: expected an object of metrics, ",
    "[" * 100_000: "expected the JSON of a report",
}


@pytest.mark.parametrize("text", DAMAGE, ids=lambda text: text[:20])
def test_foreign_json(text: str) -> None:
    refusal(ValueError, DAMAGE[text], Report.from_json, text)
    refusal(TypeError, "text: expected the JSON .* got int", Report.from_json, 3)


# A part of a report, values that it may not have, and what the error must say.
WRONG: dict[str, tuple[list[Any], str]] = {
    "metrics.mr": (["3", True, [1]], "metrics.mr: expected a number or null, got "),
    "metrics.mmr": ([1.0], "'mmr': no metric 'mmr'"),
    "summary.largest_tie": (["1", 1.5, None], "damaged: summary.largest_tie: expected int, got "),
    "summary.audit": ([[], {"nan": "0"}], "damaged: .*audit.*: expected "),
    "protocol.split": ([3], "split: expected a str that is a name, got int"),
    "protocol.x": ([1], "protocol: expected no field 'x'"),
    "protocol.nan": (["never", "x" * 10**6], "nan: expected one of"),
    "seed": ([None, 1.5, True, "x" * 10**6], "damaged: report.seed: expected int, got "),
    "sides.both": (["5"], "damaged: sides.both: expected int, got str"),
    "findings.0": ([{}, 3], "damaged: findings: expected an object of name, message"),
    "groups": ([3, {}, {"by": "x"}], "damaged: .*groups: expected"),
    "groups.labels": ([["a"], ["a", "b", "a"]], "groups: expected each label once, with its"),
    "groups.tasks": ([{"both": [3, 1, 1]}], "groups: expected each label once, with its numbers"),
    "groups.tasks.tail": ([[1, 2], [1, 2, "3"]], ".*groups.*: expected "),
    "groups.metrics.mr": ([[1.0], [1, 2, "x"]], ".*groups.*: expected "),
}


@pytest.mark.parametrize("place", WRONG, ids=lambda place: place[:20])
def test_damaged_json(grouped: Report, place: str) -> None:
    """A report is checked for its version and types; an error says which part is damaged."""
    values, words = WRONG[place]
    for wrong in values:
        content = json.loads(grouped.to_json(["mr", "macro.mr"]))
        content["findings"] = [{"name": "ties", "value": 1, "threshold": 0, "message": ""}]
        if place.startswith("metrics."):
            content["metrics"][place.removeprefix("metrics.")] = wrong
        else:
            path = [int(word) if word.isdecimal() else word for word in place.split(".")]
            inner = content
            for word in path[:-1]:
                inner = inner[word]
            inner[path[-1]] = wrong
        with pytest.raises(InputValueError, match=f"^text: {words}") as caught:
            Report.from_json(json.dumps(content))
        assert len(str(caught.value)) < 400
    if place in REPORT:
        without = {key: value for key, value in content.items() if key != place}
        with pytest.raises(InputValueError, match=r"^text: damaged: report: expected an object"):
            Report.from_json(json.dumps(without))


def shown_in_every_form(back: Report) -> None:
    again = Report.from_json(back.to_json())
    assert again == back
    for write in (repr, Report.to_csv, Report.to_markdown, Report.to_latex, Report._repr_html_):
        assert isinstance(write(back), str)
    assert table({"a": back}).to_markdown()


def test_edited_json_is_refused_or_shown(grouped: Report) -> None:
    """Whatever replaces any part of a report, only the promised errors come out."""
    metrics = ["mr", "tail.hits@1", "optimistic.mrr", "macro.amri"]
    measured = report(Ranks([0, 3], [1, 2], 10, audit=[[0, 0], [0, 1], [1, 1]]), by=["a", "b"])
    for text in (grouped.to_json(metrics), measured.to_json(["mr"])):
        for edited in values_like(json.loads(text)):
            try:
                back = Report.from_json(json.dumps(edited))
            except InputValueError as error:
                said = str(error)
            else:
                said = ""
                shown_in_every_form(back)
                [shown_in_every_form(group) for group in back.groups.values()]
            assert said[:6] in ("", "text: ")
            assert len(said) < 1000
            assert "__init__" not in said


def test_a_macro_average_without_groups_is_read(grouped: Report) -> None:
    """A page of a report with very many groups has such JSON."""
    content = {**json.loads(grouped.to_json(["macro.mr"])), "groups": None}
    back = Report.from_json(json.dumps(content))
    assert back["macro.mr"] == grouped["macro.mr"]
    assert Report.from_json(back.to_json()).to_json() == back.to_json()
    refusal(KeyError, "no groups", back.macro_left_out, "macro.mr")


def test_deep_labels_cost_no_stack(grouped: Report) -> None:
    """What the parser of JSON still reads, its checks read too."""
    content = json.loads(grouped.to_json(["mr"]))
    for name in ("labels", "tasks"):
        for depth in (10, 500, 900, 990, 100_000):
            deep = content | {"groups": content["groups"] | {name: "DEEP"}}
            text = json.dumps(deep).replace('"DEEP"', "[" * depth + "]" * depth)
            refusal(InputValueError, "^text: ", Report.from_json, text)
