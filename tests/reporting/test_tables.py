"""Test tables of several models, and repeats of one model."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from truerank import Protocol, Ranks, Report, compare, report, table

VALID = Protocol(split="valid")


def one(*above: int, protocol: Protocol = VALID, tied: int = 1, **fields: object) -> Report:
    return report(Ranks(above, [tied] * len(above), 20, protocol=protocol, **fields))


Repeats = type(report([one(0)]))


@pytest.fixture
def models() -> dict[str, Report]:
    return {"TransE": one(0, 5), "RotatE": one(0, 2), "odd & <b>|_1": one(1, 1)}


# -- repeats ---------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 19), min_size=2, max_size=2), min_size=1, max_size=6))
def test_repeats_are_mean_and_sample_deviation(folds: list[list[int]]) -> None:
    reports = [one(*fold) for fold in folds]
    repeats = report(reports)
    assert isinstance(repeats, Repeats)
    for key in ("mrr", "optimistic.hits@3", "amri"):
        values = [measured[key] for measured in reports]
        assert repeats.values(key) == tuple(values)
        assert repeats[key] == pytest.approx(np.mean(values), rel=1e-12, abs=1e-15)
        if len(folds) > 1:
            assert repeats.std(key) == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=1e-12)
        else:
            assert math.isnan(repeats.std(key))


def test_repeats_are_a_mapping(models: dict[str, Report]) -> None:
    runs = list(models.values())
    repeats = report(runs)
    assert repeats.runs == 3
    assert list(repeats) == list(runs[0])
    assert len(repeats) == len(list(repeats)) == len(list(repeats.values()))
    assert repeats.to_dict(["mr"]) == {"mr": statistics.mean([3.5, 2, 2])}
    assert repeats.to_dict() == dict(repeats)
    assert "tail.hits@77" not in repeats
    assert repeats.protocol == VALID
    assert pickle.loads(pickle.dumps(repeats)) == repeats == report(runs) != report(runs[:2])
    assert repr(repeats).startswith("Repeats(3 runs, mrr 0.5833, hits@10 1, ")
    some = report([runs[0], Report.from_json(runs[1].to_json(["mrr", "mr", "hits@7"]))])
    assert list(some) == ["mr", "mrr"]


def test_repeats_print_as_the_row_of_a_table(models: dict[str, Report]) -> None:
    runs = list(models.values())
    repeats, keys = report(runs), ["mr", "hits@1"]
    rows = [repeats.table(keys, percent=True), table({"3 runs": runs}, keys, percent=True)]
    assert str(rows[0]) == str(rows[1])
    assert rows[0].rows == rows[1].rows == repeats.table(keys).rows
    (row,) = csv.DictReader(io.StringIO(repeats.to_csv(["mr"])))
    assert (row["model"], int(row["runs"])) == ("3 runs", 3)
    assert (float(row["mr"]), float(row["mr std"])) == (repeats["mr"], repeats.std("mr"))
    assert repeats.to_markdown(["mr"]).endswith("| 3 runs | 2.5 \u00b1 0.9 |")
    assert repeats.to_text(["mr"], digits=4).endswith("2.50 \u00b1 0.87")


def test_wrong_repeats() -> None:
    unlike = [one(1), one(1), one(1, protocol=Protocol(split="test"))]
    weighted = [one(1), one(2, weights=[3])]
    refusal(ValueError, "ranks: expected at least one, got none", report, [])
    refusal(ValueError, "runs 1 and 3 .* protocols: split: valid against test", report, unlike)
    refusal(ValueError, "runs 1 and 2 have equal weights and weighted", report, weighted)
    refusal(KeyError, "no metric", report([one(1)]).__getitem__, "mmr")


# -- tables ----------------------------------------------------------------------------------------


def best(reports: dict[str, Report], *keys: str) -> list[list[str]]:
    """Return the names of the models that are marked as the best of each column."""
    marked = table(reports, keys).grid(notes=False).best
    return [[n for i, n in enumerate(reports) if (i, j) in marked] for j in range(1, 1 + len(keys))]


def test_best_of_a_column(models: dict[str, Report]) -> None:
    both = ["RotatE", "odd & <b>|_1"]
    assert best(models, "mr", "mrr", "amri") == [both, ["RotatE"], both]
    assert best(models, "amr", "zmr", "hits@5", "std") == [both, both, both, []]
    lonely = {name: report(Ranks([0], [1], 1, protocol=VALID)) for name in "ab"}
    assert best(lonely, "amri") == [[]]
    refusal(KeyError, "no metric", table, models, "mmr")


def test_a_table_holds_the_values(models: dict[str, Report]) -> None:
    keys = ["mr", "mrr", "hits@1", "hits@3", "hits@10", "amri"]
    found = table(models)
    assert [column.name for column in found.columns] == ["model", *keys]
    assert list(found) == [(name, *(r[key] for key in keys)) for name, r in models.items()]
    assert found.notes == ()
    every = [column.name for column in table(models, "all").columns]
    assert every == ["model", *dict.fromkeys(key for key in models["TransE"] if "." not in key)]


def test_bold_is_what_prints_as_the_best() -> None:
    near = {"a": one(*[0] * 10**4, 1), "b": one(*[0] * 10**4, 2), "c": one(*[1] * 10001)}
    made = table(near, ["mrr"])
    assert made.to_markdown(digits=3).count("**") == 4
    assert made.to_markdown(digits=9).count("**") == 2
    assert "**" not in table({"a": one(1)}).to_markdown()  # the best of one


def test_a_table_of_repeats() -> None:
    found = table({"a": [one(0), one(1), one(5)], "b": one(1), "c": report([one(2)])}, ["mr"])
    std = statistics.stdev([1, 2, 6])
    assert found.rows[0] == ("a", 3, 3.0, pytest.approx(std))
    assert math.isnan(found["mr std"][1])
    assert "| a | 3.0 \u00b1 2.6 |\n| b | **2.0** |" in found.to_markdown()
    assert "a & 3.0 $\\pm$ 2.6 \\\\" in found.to_latex()
    assert found.to_csv().splitlines()[0] == "model,runs,mr,mr std"
    content = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert (content["kind"], content["rows"][1]["mr std"]) == ("truerank.table", None)
    assert table([one(0), one(4)], ["mr"]).rows[0][:3] == ("2 runs", 2, 3.0)
    assert table(report([one(0), one(4)]))["model"] == ["2 runs"]
    assert table(one(0))["model"] == ["1 run"]


def test_tables_of_read_reports_and_groups(models: dict[str, Report]) -> None:
    read = {name: Report.from_json(r.to_json(["mrr", "hits@1"])) for name, r in models.items()}
    assert [column.name for column in table(read).columns] == ["model", "mrr", "hits@1"]
    other = {name: Report.from_json(r.to_json(["hits@7"])) for name, r in models.items()}
    assert [column.name for column in table(other).columns] == ["model", "hits@7"]
    refusal(KeyError, "read from JSON", table, read, ["mr"])
    by = {name: report(r.ranks, by=[0, 1]) for name, r in models.items()}
    assert best(by, "macro.mr") == [["RotatE", "odd & <b>|_1"]]


@pytest.mark.parametrize(
    ("made", "metrics", "error", "message"),
    [
        ({}, None, ValueError, "reports: expected names and Reports, at least one"),
        ({"a": [one(1).ranks]}, None, TypeError, "got Ranks at position 0"),
        ({"a": one(1).ranks}, None, TypeError, r"^reports\['a'\]: .* several Reports, got Ranks$"),
        ({3: one(1)}, None, TypeError, "reports: expected str, got int at position 0"),
        (one(1).ranks, None, TypeError, "reports: expected several Reports, got Ranks$"),
        ({"a": one(1)}, ["mmr"], KeyError, "no metric 'mmr'"),
        ({"a": one(1)}, ["tail.mr"], KeyError, r"no side 'tail' .*\(of 'a'\)"),
        ({"a": one(1)}, 3, TypeError, "metrics: expected several keys"),
    ],
)
def test_wrong_tables(made: Any, metrics: Any, error: type[Exception], message: str) -> None:
    refusal(error, message, table, made, metrics)


# -- notes -----------------------------------------------------------------------------------------


def of_candidates(*candidates: int, **fields: object) -> Report:
    n = len(candidates)
    return report(Ranks([0] * n, [1] * n, candidates, protocol=VALID), **fields)


FILTERED = Protocol(split="valid", filter="train")
RANKS = one(1, 2).ranks
BY = report(RANKS, by=["x", "y"])


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (one(1), one(2, protocol=FILTERED), "protocol: filter: none against train"),
        (one(1, 2), [one(2), one(3)], "tasks: 2 against 1"),
        ([one(1), one(2)], [one(2), one(1, 3)], "tasks: 1 against 2"),
        (one(1, weights=[2]), one(2), ""),  # only ratios matter
        (one(1, 2, weights=[1, 2]), one(1, 2, weights=[2, 1]), "weights: they differ"),
        (of_candidates(20, 20), of_candidates(20, 30), "candidates: 1 of 2 tasks differ"),
        (one(1, queries=[3]), one(1, queries=[4]), "queries: 1 of 1 tasks differ"),
        (BY, report(RANKS, by=["x", "x"]), "unlike groups"),
        (BY, Report.from_json(BY.to_json()), ""),
    ],
)
def test_what_compare_refuses_has_no_best(a: object, b: object, why: str) -> None:
    models = {"a": a, "b": b}
    keys = ["mr", "macro.mr"] if isinstance(a, Report) and a.by else ["mr"]
    if not why:
        assert table(models, keys).notes == ()
        return
    with pytest.raises(ValueError, match=f"^reports: b cannot be compared with a: {why}.*; allow_"):
        table(models, keys)
    made = table(models, keys, allow_unlike=True)
    assert made.notes[0].startswith(f"b cannot be compared with a: {why}")
    assert "*" not in str(made)
    if keys == ["mr"]:
        with pytest.raises(ValueError, match=why):
            compare(models if isinstance(a, type(b)) else {"a": a, "b": b[0]}, metric="mr")


def test_unlike_reports_of_json_are_refused_as_far_as_is_known() -> None:
    few, many = (of_candidates(n, n, by=[0, 1]) for n in (20, 30))
    read = [Report.from_json(measured.to_json()) for measured in (few, many)]
    with pytest.raises(ValueError, match="unlike numbers of tasks or candidates"):
        table(dict(zip("ab", read, strict=True)))
    refusal(ValueError, "unlike numbers of tasks", table, {"a": read[0], "b": one(1)})
    assert table({str(label): group for label, group in read[0].groups.items()}).notes == ()


def test_notes_of_a_table(models: dict[str, Report]) -> None:
    tied = one(3, 4, tied=10)
    (note,) = table({"a": one(3, 4), "tied": tied, "too": [tied, tied]}).notes
    assert note.startswith("tied, too: ties move ")
    made = table({"a": one(1), "b": one(2, protocol=FILTERED)}, ["mr"], allow_unlike=True)
    (note,) = made.notes
    assert note in made.to_markdown()
    assert r"\par{\footnotesize b cannot be compared with a" in made.to_latex(notes=True)
    assert f"<p>{note}</p>" in made._repr_html_()
    assert json.loads(made.to_json())["notes"] == [note]
    order = {"a": one(1), "b": one(2, protocol=Protocol(split="valid", order="ascending"))}
    assert table(order).notes == ()  # provenance


def test_all_runs_count() -> None:
    valid, test = one(1), one(1, protocol=Protocol(split="test"))
    runs = [valid, test]
    with pytest.raises(ValueError, match=r"^reports\['A'\]: runs 1 and 2 .*: split: valid against"):
        table({"A": runs, "B": valid})
    made = table({"A": runs, "B": valid}, allow_unlike=True)
    assert made.notes[0].startswith("A: runs 1 and 2 were counted under unlike protocols: ")
    assert "*" not in str(made)  # unlike numbers have no best
    later = table({"A": valid, "B": runs}, allow_unlike=True)
    assert later.notes[1] == "B cannot be compared with A: protocol: split: valid against test."
    weighted = table([one(1), one(2, weights=[3])], ["mr"], allow_unlike=True)
    assert weighted.notes == ("2 runs: runs 1 and 2 have equal weights and weighted.",)


def test_keys_are_made_unique_in_linear_time() -> None:
    keys = [f"hits@{k}" for k in range(1, 30_000)]
    assert list(one(1).to_dict([*keys, *keys])) == keys
    with pytest.raises(TypeError, match=r"^metrics: expected keys, got list among them$"):
        one(1).to_dict([["a"], ["a"]])
