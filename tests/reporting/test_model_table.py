"""Test tables of several models, and repeats of one model."""

from __future__ import annotations

import itertools
import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from truerank import Protocol, Ranks, Report, compare, inference, report, table
from truerank.inference.comparing import corrected

VALID = Protocol(split="valid")


def one(*above: int, protocol: Protocol = VALID, tied: int = 1, **fields: object) -> Report:
    return report(Ranks(above, [tied] * len(above), 20, protocol=protocol, **fields))


@pytest.fixture
def models() -> dict[str, Report]:
    return {"TransE": one(0, 5), "RotatE": one(0, 2), "odd & <b>|_1": one(1, 1)}


def test_runs_are_mean_and_sample_deviation() -> None:
    repeats = table({"a": [one(0), one(1), one(5)], "b": one(1), "c": [one(2)]}, ["mr"])
    assert repeats.rows[0] == ("a", 3, 3.0, pytest.approx(statistics.stdev([1, 2, 6])))
    assert math.isnan(repeats["mr std"][1])
    assert "| a | 3.0 \u00b1 2.6 |\n| b | **2.0** |" in repeats.to_markdown()
    assert "a & 3.0 $\\pm$ 2.6 \\\\" in repeats.to_latex()
    assert repeats.to_csv().splitlines()[0] == "model,runs,mr,mr std"
    content = json.loads(repeats.to_json(), parse_constant=pytest.fail)
    assert (content["kind"], content["rows"][1]["mr std"]) == ("truerank.table", None)
    assert table([one(0), one(4)], ["mr"]).rows[0][:3] == ("2 runs", 2, 3.0)
    assert table(one(0))["model"] == ["1 run"]
    sided = one(0, 2, side=["head", "tail"])  # Not all of them have its keys.
    assert "tail.mr" not in table([sided, one(0, 5)], "all").to_dict()


def best(reports: dict[str, Report], *keys: str) -> list[list[str]]:
    """Return the names of the models that are marked as the best of each column."""
    marked, _ = table(reports, keys).marks()
    return [[n for i, n in enumerate(reports) if (i, j) in marked] for j in range(1, 1 + len(keys))]


def test_best_of_a_column(models: dict[str, Report]) -> None:
    both = ["RotatE", "odd & <b>|_1"]
    assert best(models, "mr", "mrr", "amri") == [both, ["RotatE"], both]
    assert best(models, "amr", "zmr", "hits@5", "std") == [both, both, both, []]
    lonely = {name: report(Ranks([0], [1], 1, protocol=VALID)) for name in "ab"}
    assert best(lonely, "amri") == [[]]
    by = {name: report(model.ranks, by=[0, 1]) for name, model in models.items()}
    assert best(by, "macro.mr") == [both]
    near = table({"a": one(*[0] * 10**4, 1), "b": one(*[0] * 10**4, 2)}, ["mrr"])
    assert near.to_markdown(digits=3).count("**") == 4  # what prints as the best
    assert near.to_markdown(digits=9).count("**") == 2
    assert "**" not in table({"a": one(1)}).to_markdown()  # the best of one


def test_a_table_holds_the_values(models: dict[str, Report]) -> None:
    keys = ["mr", "mrr", "hits@1", "hits@3", "hits@10", "amri"]
    made = table(models)
    assert [column.name for column in made.columns] == ["model", *keys]
    for row, (name, measured) in zip(made, models.items(), strict=True):
        assert row == (name, *(measured[key] for key in keys))
    assert made.notes == ()
    every = [column.name for column in table(models, "all").columns]
    assert every[1:] == list(dict.fromkeys(key for key in models["TransE"] if "." not in key))


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
        (one(1), one(2, protocol=Protocol(split="valid", order="ascending")), ""),  # provenance
        (one(1, queries=[3]), one(1, queries=[4]), "tasks: 1 against 1; only a has 1"),
        (BY, report(RANKS, by=["x", "x"]), "unlike groups"),
    ],
)
def test_what_compare_refuses_has_no_best(a: object, b: object, why: str) -> None:
    models = {"a": a, "b": b}
    keys = ["mr"]
    if isinstance(a, Report) and a.by:
        keys.append("macro.mr")
    if not why:
        assert table(models, keys).notes == ()
        return
    with pytest.raises(ValueError, match=f"^reports: b cannot be compared with a: {why}.*; allow_"):
        table(models, keys)
    made = table(models, keys, allow_unlike=True)
    assert made.notes[0].startswith(f"b cannot be compared with a: {why}")
    assert "*" not in str(made)


@pytest.mark.parametrize(
    ("metrics", "moved"),
    [
        (["mrr", "hits@10"], "mrr by up to 165 % of its value: optimistic 0.625, realistic 0.2361"),
        (["hits@3"], "hits@3 by up to 0.5 from 0: optimistic 0.5, realistic 0"),
        (["tail.mrr", "hits@10"], "tail.mrr by up to 350 % of its value: optimistic 1, "),
        (["macro.mrr"], "macro.mrr by up to 165 % of its value: "),
        (["gmr"], "gmr by up to 52.9 % of its value: optimistic 2, realistic 4.243"),
        (["amri"], "index.mr by up to 28 % of its value: optimistic 0.8421, realistic 0.6579"),
        (None, "hits@1 by up to 0.5 from 0: "),
        (["hits@10"], ""),  # No kind of rank moves it.
        (["pessimistic.mrr", "hits@10"], ""),  # It says the kind.
    ],
)
def test_ties_move_what_a_table_shows(metrics: list[str] | None, moved: str) -> None:
    tied = report(Ranks([0, 3], [8, 1], 20, side=["tail", "head"], protocol=VALID), by=["x", "y"])
    notes = [note for note in table({"A": tied}, metrics).notes if "ties" in note]
    assert len(notes) == bool(moved)
    assert all(note.startswith(f"ties move {moved}") for note in notes)


def test_notes_of_a_table() -> None:
    tied = one(3, 4, tied=10)
    note, runs_note = table({"a": one(3, 4), "tied": tied, "too": [tied, tied]}).notes
    assert runs_note == "± is the standard deviation of 2 runs."
    assert note.startswith("tied, too: ties move ")
    (note,) = table({"a": one(3, 4, tied=2), "b": tied, "c": one(3, 4)}).notes  # the worst, once
    assert note.startswith("b: ties move ")
    assert note.endswith("; say which is reported. Less in a.")
    # Metrics that are not shown have no note, and what one of several runs has names the run.
    models = {"a": one(3, 4, tied=10), "b": one(3, 4)}
    (note,) = table(models, ["mrr", "hits@10"]).notes
    assert note.startswith(("a: ties move mrr by ", "a: ties move hits@10 by "))
    (note,) = table(models, ["hits@10"]).notes
    assert note.startswith("a: ties move hits@10 by ")
    assert table(models, ["hits@1"]).notes == ()
    note, _ = table({"A": [one(3, 4, tied=2), tied, one(3, 4)], "B": one(3, 4)}, ["mr"]).notes
    assert note.startswith("run 2 of A: ties move mr by ")
    note, _ = table([one(3, 4, tied=2), tied], ["mr"]).notes
    assert note.startswith("run 2 of 2 runs: ties move mr by ")
    runs = [one(1), one(1, protocol=Protocol(split="test"))]
    made = table({"A": runs, "B": one(1)}, allow_unlike=True)
    assert made.notes[0].startswith("A: runs 1 and 2 were counted under unlike protocols: ")
    assert "*" not in str(made)
    later = table({"A": one(1), "B": runs}, allow_unlike=True)
    assert later.notes[1] == "B cannot be compared with A: protocol: split: valid against test."
    weighted = table([one(1), one(2, weights=[3])], ["mr"], allow_unlike=True)
    assert weighted.notes[0] == "2 runs: runs 1 and 2 have equal weights and weighted."


def test_brackets_and_deviations_of_runs_are_named() -> None:
    """By what `inference.interval` says of the same runs, and numpy of their values."""
    runs = [report(ranks_of(seed, 9)) for seed in range(6)]
    folds = [report(ranks_of(seed, 9, n=30 + seed)) for seed in range(5)]
    for values, words in ((runs, "6 runs, 40 tasks (t of runs and units)"), (runs[0], "40 tasks")):
        made = table({"A": values}, ["mrr"], interval=True)
        assert f"Brackets hold 95 % intervals over {words}." in made.notes
        interval = inference.interval(values, "mrr")
        assert made.to_dict()["mrr low"] == [interval.low]
        assert interval.method in ("t", words.rpartition("(")[2].rstrip(")"))
    made = table({"A": runs, "B": runs[0], "C": runs[:4]}, ["mrr"], interval=True)
    both = "6 runs, 40 tasks (t of runs and units), or 40 tasks, or 4 runs, 40 tasks (t of runs "
    assert f"Brackets hold 95 % intervals over {both}and units)." in made.notes
    made = table({"A": folds}, ["mrr"], interval=True)
    assert "Brackets hold 95 % intervals over 5 folds (t of folds)." in made.notes
    assert "Few units: 5 folds." in made.notes
    made = table({"A": runs, "B": runs[0], "C": runs[:4]}, ["mrr"])
    assert "± is the standard deviation of 4 runs or 6 runs." in made.notes
    assert made.to_dict()["mrr std"][0] == pytest.approx(np.std([x["mrr"] for x in runs], ddof=1))
    assert "±" not in str(table({"A": runs[0], "B": runs[1]}, ["mrr"]))


# -- intervals, groups and kinds -------------------------------------------------------------------


def ranks_of(seed: int, most: int, n: int = 40) -> Ranks:
    above = np.random.default_rng(seed).integers(0, most, n)
    ids = {"queries": np.arange(n), "targets": np.arange(n)}
    return Ranks(above, np.ones(n, int), 60, protocol=VALID, **ids)


def grouped_models(*most: int, n: int = 90) -> dict[str, Report]:
    """Models over tasks of three groups, of which the last has 2 tasks, in units of two tasks."""
    names = np.array(["large", "middle", "small"])
    groups = names[np.searchsorted([60, n - 2], np.arange(n), "right")]
    models = {}
    for i, m in enumerate(most):
        ranks = ranks_of(i, m, n).with_labels(kind=groups, unit=np.arange(n) // 2)
        models[f"model {i}"] = report(ranks, by="kind")
    return models


def test_intervals_of_models_are_those_of_their_reports() -> None:
    models = grouped_models(4, 50)
    keys = ["mr", "hits@3", "macro.mrr"]
    made = table(models, keys, interval=True, level=0.9)
    for i, measured in enumerate(models.values()):
        assert made["macro.mrr low"] == [None] * 2
        for key in keys[:2]:
            interval = measured.interval(key, level=0.9)
            cells = (made[key][i], made[f"{key} low"][i], made[f"{key} high"][i])
            assert cells == (interval.value, interval.low, interval.high)
    ends = f"{made['mr'][0]:.1f} [{made['mr low'][0]:.1f}, {made['mr high'][0]:.1f}]"
    assert f" & \\textbf{{{ends}}} & " in made.to_latex()
    assert "Brackets hold 90 % intervals over 45 units." in made.notes
    heading = made.to_csv().split("\n")[0].split(",")
    assert heading[:4] == ["model", "mr", "mr low", "mr high"]
    by_task = table(models, ["mr"], interval=True, unit=None)
    assert by_task["mr low"][0] == models["model 0"].interval("mr", unit=None).low
    assert any("over 90 tasks" in note for note in by_task.notes)


def test_intervals_of_runs_are_those_of_their_mean() -> None:
    runs = [report(ranks_of(seed, 9)) for seed in range(3)]
    made = table({"a": runs, "b": runs[0]}, ["mrr"], interval=True)
    interval = inference.interval(runs, "mrr")
    cells = made["mrr"][0], made["mrr low"][0], made["mrr high"][0]
    assert cells == (interval.value, interval.low, interval.high)
    assert "\u00b1" not in made.to_text()
    assert "Few units: 40 tasks." in made.notes


def test_groups_have_rows_of_all_models() -> None:
    models = grouped_models(4, 50, 6)
    made = table(models, ["mrr", "zmr"], groups=True, interval=True, against="model 0")
    names = ["micro", "macro", "large", "middle", "small"]
    assert made["group"] == [name for name in names for _ in models]
    assert made["model"] == list(models) * 5
    best = set()
    pairs = {}
    for i, (group, name, value, *_) in enumerate(made):
        measured = models[name].groups.get(group, models[name])
        if group == "macro":
            assert (value, made["mrr low"][i]) == (measured["macro.mrr"], None)
        else:
            interval = measured.interval("mrr")
            assert value == pytest.approx(interval.value, rel=1e-12)
            assert made["mrr low"][i] == pytest.approx(interval.low, rel=1e-12, nan_ok=True)
            first = models["model 0"].groups.get(group, models["model 0"])
            if name != "model 0":
                pairs[i, 2] = compare(first, measured, metric="mrr")
        if f"{value:.3f}" == f"{max(row[2] for row in made if row[0] == group):.3f}":
            best.add((i, 2))
    marks, daggers = made.marks()
    assert {place for place in marks if place[1] == 2} == best
    holm = zip(pairs, corrected([*pairs.values()]), strict=True)
    assert daggers == {place for place, pair in holm if pair.p_holm <= 0.05}
    assert f"over {len(pairs)} comparisons." in " ".join(made.notes)
    assert [column.title for column in made.columns[:3]] == ["kind", "model", "MRR \u2191"]
    assert made["zmr"][3:6] == [None] * 3  # no mean over groups
    assert "[nan" not in made.to_text()
    assert "Few units: 2 groups (large, middle)." in made.notes
    assert "No interval: 1 group (small)." in made.notes


def test_a_group_that_is_called_like_an_average_is_a_group() -> None:
    names = np.repeat(["macro", "micro"], [8, 4])
    a = report(Ranks([0] * 8 + [9] * 4, [1] * 12, 10), by=names)
    b = report(Ranks([1] * 8 + [0] * 4, [1] * 12, 10), by=names)
    made = table({"a": a, "b": b}, ["mr"], groups=True)
    assert made["group"] == ["micro"] * 2 + ["macro"] * 4 + ["micro"] * 2
    assert made["mr"] == [4.0, 5 / 3, 5.5, 1.5, 1.0, 2.0, 10.0, 1.0]
    assert sorted(row for row, _ in made.marks()[0]) == [1, 3, 4, 7]
    assert "\n* the best of its column among comparable rows" in made.to_text()


def test_each_kind_of_each_group_has_a_best_and_notes_on_groups_are_counted() -> None:
    names = ["a", "b"] * 4
    one, other = (report(Ranks([above] * 8, [2] * 8, 10), by=names) for above in (0, 3))
    models = {"one": one, "other": other}
    made = table(models, ["mrr"], groups=True, kinds="all", against="best")
    cells = {(made["group"][row], made["kind"][row]) for row, _ in made.marks()[0]}
    assert len(cells) == 4 * 4  # groups and averages, kinds
    assert {made["model"][row] for row, _ in made.marks()[0]} == {"one"}
    assert "Few units: 8 tasks." in made.notes
    assert "Few units: 8 comparisons within groups." in made.notes


def test_kinds_of_models_appear_where_they_print_otherwise() -> None:
    plain = one(*[2] * 30)
    models = {"plain": plain, "tied": one(*[2] * 30, tied=3)}
    made = table(models, ["mr", "hits@3"], kinds="auto")
    lines = [line.split() for line in made.to_text(notes=False).split("\n")[1:]]
    assert [line[:2] for line in lines] == [
        ["plain", "realistic"],
        ["tied", "optimistic"],
        ["tied", "realistic"],
        ["tied", "pessimistic"],
        ["tied", "expected"],
    ]
    assert len(made) == 8
    assert "kind" not in table({"plain": plain}, ["mr"], kinds="auto").to_text()
    every = table(models, ["mr"], kinds="all")
    assert every.to_text(notes=False).count("plain") == 4
    geometric = table(models, ["gmr"], kinds=["realistic", "expected"], against="tied")
    assert [value is None for value in geometric["gmr"]] == [False, True, False, True]
    lines = geometric.to_text(notes=False).split("\n")
    assert [line.split()[2] for line in lines[2::2]] == ["-", "-"]
    named = table(models, ["mr"], kinds=["pessimistic"])
    assert named["mr"] == [report["pessimistic.mr"] for report in models.values()]


# -- marks of significant differences --------------------------------------------------------------

DAGGER = "\u2020"


def models_of(*most: int) -> dict[str, Report]:
    return {f"model {i}": report(ranks_of(i, m)) for i, m in enumerate(most)}


@examples(8)
@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=4),
    st.booleans(),
    st.sampled_from([0.5, 0.95]),
)
def test_marks_are_those_of_all_comparisons(most: list[int], given_one: bool, level: float) -> None:
    models = models_of(*most)
    keys = ["mr", "mrr", "hits@3"]
    against = "best"
    combinations = list(itertools.combinations(models, 2))
    if given_one:
        against = "model 1"
        combinations = [names for names in combinations if against in names]
    made = table(models, [*keys, "std"], against=against, level=level)  # std is not compared.
    pairs = {}
    for key in keys:
        for one_name, other_name in combinations:
            compared = compare(models[one_name], models[other_name], metric=key)
            pairs[key, one_name, other_name] = compared
    holm = {names: x.p_holm for names, x in zip(pairs, corrected([*pairs.values()]), strict=True)}
    assert f"over {len(pairs)} comparison" in made.notes[0]
    marked = set()
    for i, name in enumerate(models):
        for j, key in enumerate(keys, 1):
            choose = min if key == "mr" else max
            other = choose(models, key=lambda other: models[other][key])
            if given_one:
                other = against
            pair = (key, min(name, other), max(name, other))
            if holm.get(pair, 1.0) <= round(1 - level, 12):
                marked.add((i, j))
    assert made.marks()[1] == marked


def test_marks_say_how_they_were_tested() -> None:
    made = table(models_of(4, 50, 5), ["mrr", "hits@3"], against="best")
    note = (
        f"{DAGGER} differs from the best of its column: t, "
        "p <= 0.05 by Holm's rule over 6 comparisons."
    )
    assert note in made.notes
    mean = f"{made['mrr'][1]:.3f}"
    assert f"| model 1 | {mean}{DAGGER} | " in made.to_markdown()
    (legend,) = [note for note in made.notes if note.startswith("\u2020")]
    assert made.to_latex().startswith(f"% {legend}\n\\begin")
    assert legend not in made.to_latex(notes=True).split("\\begin")[0]
    assert f"model 1 & {mean}\\rlap{{$^{{\\dagger}}$}} & " in made.to_latex()
    assert f'{mean}<sup style="position: absolute">{DAGGER}</sup></td>' in made.to_html()
    assert DAGGER not in made.to_csv()


def test_notes_say_what_was_not_tested_and_by_which_units() -> None:
    same = {name: report(ranks_of(0, 9)) for name in "ab"}
    made = table(same, ["mrr", "count"], against="a")
    assert made.notes[0] == "Nothing differs from a: t, p <= 0.05."
    models = models_of(4, 50)
    made = table(models, ["std", "count"], against="best")
    assert made.notes == ("No column has values that can be tested.",)
    kind = np.arange(40) % 4
    grouped = {
        name: report(model.ranks.with_labels(kind=kind), by="kind")
        for name, model in models.items()
    }
    made = table(grouped, ["macro.mrr", "mrr"], against="model 0", unit="kind")
    assert "Not tested, as they are not means over units: macro.mrr." in made.notes
    assert "Few units: 4 kinds" in " ".join(made.notes)
    runs = {
        name: [report(ranks_of(seed, most)) for seed in range(start, start + 5)]
        for start, (name, most) in enumerate({"a": 4, "b": 50}.items())
    }
    made = table(runs, ["mrr"], against="best")
    assert any("t of runs and units, p" in note for note in made.notes)
    assert (1, 1) in made.marks()[1]


FUNCTIONS_OF_MEANS = ["gmr", "igmr", "hmr", "imr", "std", "power_mean:2", "index.gmr", "ratio.gmr"]


@given(st.integers(0, 2**32 - 1))
@examples(100)
def test_the_values_of_runs_are_those_of_their_intervals(seed: int) -> None:
    """Of a function of a mean, such as gmr, the mean of the values of the runs is another."""
    rng = np.random.default_rng(seed)
    n_units = int(rng.integers(2, 30))
    models: dict[str, list[Report]] = {}
    for name in "ABC":
        above = (rng.zipf(1.3, (rng.integers(1, 5), n_units)).clip(1, 500) - 1).tolist()
        models[name] = [report(Ranks(run, [1] * n_units, 500)) for run in above]
    keys = ["mr", "mrr", "hits@10", "amri", *FUNCTIONS_OF_MEANS]
    made = table(models, keys, notes=True)
    bracketed = table(models, keys, interval=True)
    marked, _ = made.marks()
    names = [column.name for column in made.columns if not column.hidden]
    for key in keys:
        values = [inference.interval(runs, key).value for runs in models.values()]
        assert made[key] == pytest.approx(values, rel=1e-12)
        assert bracketed[key] == made[key]
        is_better_if_less = {"mr": True, "gmr": True, "hmr": True, "ratio.gmr": True}
        if key not in ("std", "power_mean:2"):
            least_or_most = min if is_better_if_less.get(key) else max
            best_model = values.index(least_or_most(values))
            assert (best_model, names.index(key)) in marked
    has_runs = any(len(runs) > 1 for runs in models.values())
    assert ("deviation of gmr" in str(made)) == has_runs
    assert "deviation of mr" not in str(made).replace("deviation of mrr", "")
    if len(models["A"]) > 1 and len(models["B"]) > 1:
        ratio = compare(models["A"], models["B"], metric="gmr").estimate
        assert made["gmr"][0] / made["gmr"][1] == pytest.approx(ratio, rel=1e-9)


def test_a_median_of_runs_is_the_mean_of_theirs() -> None:
    runs = [one(0, 0, 5), one(2, 3, 4)]
    made = table({"A": runs}, ["median", "gmr"])
    assert made["median"] == [2.5]
    assert "2.5 ± 2.1" in str(made)
    assert made["gmr std"][0] == pytest.approx(statistics.stdev([run["gmr"] for run in runs]))
    assert table({"A": runs}, ["gmr"]).notes == ("It is the standard deviation of 2 runs.",)
