"""What all reports have, by a table of members: reports of ranks and of queries do the same."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.query_reports import query_report
from support.refusals import refusal
from truerank.tables import AsTable

# Queries of one right answer are tasks: whatever a member returns, it is the same for both.
RANKS = tr.Ranks(
    [0, 3, 1, 9, 4, 0],
    [1] * 6,
    [10, 10, 12, 12, 10, 10],
    queries=["a", "b", "c", "d", "e", "f"],
    unit=["a", "b", "c", "d", "e", "f"],
    relation=["x", "y", "x", "y", "y", "z"],
    protocol=tr.Protocol(split="test", sampled=True),
)
NO_GROUPS = r"this report has no groups; report\(ranks, by="
BY = {"groups": "relation", "no groups": None}
MAKERS: dict[str, Callable[..., Any]] = {"ranks": tr.report, "queries": query_report}


def of_group(report: Any) -> Any:
    return next(iter(report.groups.values()), report)


def a_group(make: Callable[..., Any]) -> Any:
    return of_group(make(RANKS, by="relation"))


def shown(report: Any, **options: Any) -> list[Any]:
    """Return the cells of a table, but for those that only one kind of report has."""
    table = report.table(["mrr"], **options).to_dict()
    table.pop("side", None)
    table.pop("kind", None)
    return list(table.values())


def listed(values: np.ndarray | None) -> list[Any] | None:
    """Return the values of an array, if there is one."""
    if values is None:
        return None
    return values.tolist()


def fields_of(report: Any) -> dict[str, Any]:
    """Return what JSON has of every report, which is all that does not name its kind."""
    content = json.loads(report.to_json(["mrr"]))
    of_the_kind = {"kind", "findings", "queries", "without_answers", "misses", "answers"}
    of_the_kind |= {"missed", "longest", "relevance_level", "answerless"}
    return {name: value for name, value in content.items() if name not in of_the_kind}


def restored(report: Any) -> bool:
    copies = copy.deepcopy(report), pickle.loads(pickle.dumps(report))
    return all(each == report for each in copies)


def but_for_the_worst(found: Any) -> list[Any]:
    """Return an interval without its lower end: a query may miss its answer, a task has a rank."""
    return [found.value, found.high, found.level, found.units]


def reversed_model(report: Any) -> Any:
    order = np.arange(len(report.ranks))[::-1]
    return report.model.with_ranks(report.ranks[order])


# Each public member of the base, and calls of it.
MEMBERS: dict[str, list[Callable[[Any], Any]]] = {
    "audit": [lambda r: list(r.audit("sampled")), lambda r: list(r.audit("constant"))],
    "by": [lambda r: r.by],
    "grammar": [lambda r: {"mrr"} & set(r.grammar.few), lambda r: {"mrr"} & set(r.grammar.listed)],
    "group_labels": [lambda r: listed(r.group_labels)],
    "group_tasks": [lambda r: r.group_tasks(), lambda r: r.group_tasks("tail")],
    "group_values": [
        lambda r: r.group_values("mrr"),
        lambda r: r.group_values("index.mrr"),
        lambda r: r.group_values("macro.mrr"),
        lambda r: type(r.group_values("no_such_key")),
    ],
    "groups": [
        lambda r: list(r.groups),
        lambda r: r.groups["y"]["mrr"],
        lambda r: {label: group["mrr"] for label, group in r.groups.items()},
    ],
    "model": [
        lambda r: reversed_model(r).ranks.above.tolist(),
        lambda r: r.contributions("mrr", "query").tops.tolist(),
        lambda r: len(r.contributions("mrr", "relation").bases),
    ],
    "interval": [
        lambda r: but_for_the_worst(r.interval("mrr")),
        lambda r: r.interval(["mrr", "ratio.mrr"], unit="query", level=0.5)["mrr"].units,
        lambda r: r.interval("macro.mrr"),
        lambda r: but_for_the_worst(r.interval("mrr", unit="relation", level=0.5, seed=3)),
        lambda r: r.interval("mrr", level=2),
    ],
    "macro_left_out": [lambda r: r.macro_left_out("mrr"), lambda r: r.macro_left_out("macro.mrr")],
    "protocol": [lambda r: r.protocol],
    "ranks": [lambda r: r.ranks.above.tolist()],
    "read_key": [lambda r: str(r.read_key("macro.mrr"))],
    "seed": [lambda r: r.seed],
    "sides": [lambda r: r.sides],
    "summary": [lambda r: r.summary],
    "table": [
        shown,
        lambda r: shown(r, sides="both"),
        lambda r: r.table(["mrr"], sides="left"),
        lambda r: r.table(["mrr"], kinds="optimistic")["kind"][0],
        lambda r: type(r.table(["mrr"], kinds="worst")),
        lambda r: r.table(["macro.mrr"]),
        lambda r: len(r.table("all")) == len(r.table(["mrr"])),
    ],
    "tasks": [lambda r: r.tasks(), lambda r: r.tasks("tail")],
    "to_json": [fields_of, lambda r: type(r.to_json(["no_such_key"]))],
    "weighting": [lambda r: r.weighting],
    "weights": [lambda r: r.weights],
    "__getitem__": [
        lambda r: r["mrr"],
        lambda r: r[["mrr", "ratio.mrr"]],
        lambda r: r["macro.mrr"],
        lambda r: "mmr" in r,
    ],
    "__iter__": [lambda r: "mrr" in list(r), lambda r: len(r) == len(list(r))],
    "__eq__": [restored],
    "_ipython_key_completions_": [lambda r: r._ipython_key_completions_() == list(r)],
    "to_dict": [lambda r: r.to_dict(["mrr"]), lambda r: str(r.to_dict()) == str(dict(r))],
    "to_latex": [lambda r: r.to_latex("mrr").count("toprule")],
    "to_csv": [lambda r: r.to_csv("mrr").splitlines()[-1].split(",")[-2:]],
}


def outcome(call: Callable[[Any], Any], report: Any) -> Any:
    """Return what a call returns, or its error without the names of metrics and kinds."""
    try:
        return call(report)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        words = str(error).replace(report.grammar.column_form, "FORM")
        return type(error).__name__, words.partition("; known are")[0]


@pytest.mark.parametrize("state", ["whole", "a group"])
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("member", MEMBERS)
def test_both_kinds_of_report_do_the_same(member: str, by: str, state: str) -> None:
    of_ranks, of_queries = (make(RANKS, by=BY[by]) for make in MAKERS.values())
    if state == "a group":
        of_ranks = of_group(of_ranks)
        of_queries = of_group(of_queries)
    for i, call in enumerate(MEMBERS[member]):
        one = outcome(call, of_ranks)
        two = outcome(call, of_queries)
        if isinstance(one, (float, tuple, list, dict)) and "Error" not in str(one):
            assert str(two) == str(one) or two == pytest.approx(one, nan_ok=True), i
        else:
            assert two == one, i


def test_every_member_is_in_the_table() -> None:
    """But for those that only one kind of report has."""
    of_one_kind = {"chance", "unit", "per_query", "by_query", "success_at", "queries", "answers"}
    of_one_kind |= {"candidates", "without_answers", "contributions"}
    own = {name for name in vars(tr.Report) if name[:1] != "_"}
    own -= vars(AsTable).keys() - MEMBERS.keys()  # the forms, which `help` shows for each class
    assert own - of_one_kind <= MEMBERS.keys()


NUMBERS: dict[str, Callable[[], Any]] = {
    **{name: lambda make=make: make(RANKS, by="relation") for name, make in MAKERS.items()},
    "toolkit": lambda: tr.compat.report([[0.5, 0.5, 0.1]], [0], preset="openke"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_all_are_mappings_from_keys_to_numbers(name: str) -> None:
    found = NUMBERS[name]()
    keys = list(found)
    assert isinstance(found, Mapping)
    assert found._ipython_key_completions_() == keys
    assert str(found.to_dict()) == str(dict(found))
    assert str(found[keys[:2]]) == str(found.to_dict(keys[:2])) == str(found[tuple(keys[:2])])
    assert len(found) == len(keys)
    assert all(isinstance(value, float) for value in found.to_dict().values())
    for call in (found.__getitem__, found.to_dict):
        refusal(KeyError, "no_such_key", call, ["no_such_key"])
    for copied in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert str(dict(copied)) == str(dict(found))
        assert copied.to_text() == found.to_text()


def test_without_groups_their_values_are_an_error() -> None:
    wholes = [make(RANKS) for make in MAKERS.values()]
    for report in wholes + [a_group(make) for make in MAKERS.values()]:
        for call, arguments in (
            (report.__getitem__, ["macro.mrr"]),
            (report.group_values, ["mrr"]),
            (report.group_tasks, []),
            (report.macro_left_out, ["mrr"]),
        ):
            refusal(KeyError, NO_GROUPS, call, *arguments)


def test_reports_of_unlike_kinds_are_unlike() -> None:
    one, two = (make(RANKS) for make in MAKERS.values())
    assert one != two


def test_the_random_kind_of_a_report_is_drawn_by_its_seed_everywhere() -> None:
    ranks = tr.Ranks([0] * 40, [9] * 40, 9)
    found = [tr.report(ranks, seed=seed) for seed in (3, 4)]
    values = [report["random.mr"] for report in found]
    assert values[0] != values[1]
    assert [report.interval("random.mr").value for report in found] == values
    assert tr.inference.interval(found, "random.mr").value == pytest.approx(np.mean(values))


def test_a_group_has_the_random_ranks_of_the_whole_everywhere() -> None:
    report = tr.report(tr.Ranks([0] * 40, [9] * 40, 9), by=["a", "b"] * 20, seed=3)
    a, b = report.groups.values()
    assert report.group_values("random.mr") == {"a": a["random.mr"], "b": b["random.mr"]}
    assert (a["random.mr"] + b["random.mr"]) / 2 == pytest.approx(report["random.mr"])
    assert a.interval("random.mr").value == a["random.mr"]
