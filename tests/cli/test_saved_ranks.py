"""Saved ranks: every command's are read by `evaluate` and `compare`, as what they are."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Run
from support.query_reports import query_report
from truerank.retrieval import Task

NAMES = [f"d{i}" for i in range(40)]
QUERIES = [f"q{i}" for i in range(12)]


def world() -> tuple[dict[str, dict[str, int]], list[dict[str, dict[str, float]]]]:
    """Draw qrels with grades and zeros, and the lists of three models, which miss and tie."""
    generator = np.random.default_rng(11)
    qrels: dict[str, dict[str, int]] = {}
    for query in QUERIES:
        chosen = generator.choice(NAMES, 6, replace=False)
        grades = generator.integers(0, 4, 6)
        grades[0] = 2
        qrels[query] = dict(zip(chosen.tolist(), grades.tolist(), strict=True))
    qrels["none"] = {"d0": 0}
    runs = []
    for _ in range(3):
        run = {}
        for query in QUERIES:
            listed = generator.choice(NAMES, 15, replace=False)
            scores = generator.integers(0, 9, 15) / 4
            run[query] = dict(zip(listed.tolist(), scores.tolist(), strict=True))
        runs.append(run)
    return qrels, runs


QRELS, RUNS = world()
PARITY = ("even", "odd")


@pytest.fixture(autouse=True)
def files() -> None:
    lines = [f"{q} 0 {name} {grade}" for q, row in QRELS.items() for name, grade in row.items()]
    Path("qrels.txt").write_text("\n".join(lines))
    for name, lists in zip("abc", RUNS, strict=True):
        lines = [f"{q} Q0 {d} 1 {x} t" for q, row in lists.items() for d, x in row.items()]
        Path(f"{name}.run").write_text("\n".join(lines))
    Path("names.txt").write_text("\n".join(NAMES))
    Path("train.txt").write_text("q0 0 d39 1\n")
    groups = [f"{query}\t{PARITY[i % 2]}" for i, query in enumerate(QUERIES)]
    Path("groups.tsv").write_text("\n".join(groups))


LINE = "retrieval --qrels qrels.txt --candidates 40"
KEYS = "mrr,ndcg@10,map,recall@10,optimistic.ndcg,hits@3"


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--gain exponential",
        "--misses bounds",
        "--misses expected --gain binary",
        "--split dev",
    ],
)
def test_evaluate_reports_what_retrieval_reported(run: Run, options: str) -> None:
    words = f"{LINE} --lists a.run {options}".split()
    printed = run(*words, "--save", "a.npz")
    assert (printed.code, printed.err) == (0, "")
    assert run("evaluate", "a.npz") == printed
    more = ["--metrics", KEYS, "--json"]
    first = json.loads(run(*words, *more).out)
    again = json.loads(run("evaluate", "a.npz", *more).out)
    assert again["metrics"] == first["metrics"]
    assert again["misses"] == first["misses"]
    facts: dict[str, Any] = {}
    if "gain" in options:
        facts["gain"] = options.split()[-1]
    task = Task(QRELS, entities=NAMES, **facts)
    rule = "zero"
    if "misses" in options:
        rule = options.split("--misses ")[1].split()[0]
    expected = task.evaluate_lists(RUNS[0], misses=rule)
    assert first["metrics"] == expected.to_dict(more[1].split(","))


def test_one_answer_a_query_is_still_of_retrieval(run: Run) -> None:
    """A miss counts nothing, and not as the mean of the places that are left."""
    Path("one.txt").write_text("q0 0 d1 1\nq1 0 d2 1\n")
    Path("one.run").write_text("q0 Q0 d1 1 2 t\nq1 Q0 d7 1 2 t\n")
    line = "--qrels one.txt --lists one.run --candidates 5 --metrics mrr --format csv"
    printed = run("retrieval", *line.split(), "--save", "one.npz")
    assert printed == run("evaluate", "one.npz", "--metrics", "mrr", "--format", "csv")
    assert printed.out.splitlines()[1].endswith(",0.5")


def test_groups_and_intervals(run: Run) -> None:
    words = f"{LINE} --lists a.run --by groups.tsv --metrics mrr,macro.map --interval".split()
    code, out, err = run(*words, "--save", "a.npz", "--format", "csv")
    assert (code, err) == (0, "")
    groups = {query: PARITY[i % 2] for i, query in enumerate(QUERIES)}
    expected = Task(QRELS, entities=NAMES, groups=groups | {"none": "odd"}).evaluate_lists(RUNS[0])
    rows = [line.split(",") for line in out.splitlines()]
    keys = ["mrr", "macro.map"]
    heading = [f"{key}{part}" for key in keys for part in ("", " low", " high")]
    assert rows[0] == ["group", "queries", "number", *heading]
    assert [row[:3] for row in rows[1:]] == [
        ["all", "12", "value"],
        ["even", "6", "value"],
        ["odd", "6", "value"],
    ]
    whole = expected.interval("mrr")
    cells = [*map(repr, (whole.value, whole.low, whole.high, expected["macro.map"])), "", ""]
    assert rows[1][3:] == cells
    interval = expected.groups["odd"].interval("mrr")
    assert rows[3][3:] == [*map(repr, (interval.value, interval.low, interval.high)), "", "", ""]
    assert run("evaluate", "a.npz", "--by", "group", *words[9:], "--format", "csv").out == out
    content = json.loads(run("evaluate", "a.npz", "--by", "group", *words[9:], "--json").out)
    place = content["groups"]["labels"].index("odd")
    assert content["groups"]["intervals"]["mrr"][place] == interval.to_dict()
    assert set(content["groups"]["intervals"]) == {"mrr"}


def test_groups_of_ranks_keep_their_intervals(run: Run) -> None:
    generator = np.random.default_rng(3)
    labels = {"relation": ["r"] * 30 + ["s"] * 20 + ["t"], "unit": np.arange(51)}
    sides = ["head"] * 50 + ["tail"]
    ranks = tr.Ranks(generator.integers(0, 50, 51), np.ones(51, int), 99, side=sides, **labels)
    ranks.save("ranks.npz")
    line = "evaluate ranks.npz --by relation --metrics mrr,head.hits@10 --interval"
    out = run(*line.split()).out
    report = tr.report(ranks, by="relation")
    for name in ("r", "s"):
        low = report.groups[name].interval("mrr").low
        assert f"{low:.3f}" in out
    rows = [row.split(",") for row in run(*line.split(), "--format", "csv").out.splitlines()]
    found = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    interval = report.groups["s"].interval("head.hits@10")
    assert found["s"]["head.hits@10 high"] == repr(interval.high)
    assert found["t"]["head.hits@10 low"] == ""  # a relation without a head
    for key in ("mrr", "head.hits@10"):
        assert found["all"][key] == repr(report[key])


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c"]])
def test_runs_are_compared_by_query(run: Run, names: list[str]) -> None:
    for name in names:
        assert run(*LINE.split(), "--lists", f"{name}.run", "--save", f"{name}.npz").code == 0
    task = Task(QRELS, entities=NAMES)
    models = {n: task.evaluate_lists(lists) for n, lists in zip(names, RUNS, strict=False)}
    expected = tr.compare(models, metric=["ndcg@10", "map"])
    words = ["compare", *(f"{name}.npz" for name in names), "--metrics", "ndcg@10,map"]
    assert run(*words) == (0, expected.to_text() + "\n", "")
    stored = json.loads(run(*words, "--json").out)
    assert stored == json.loads(expected.to_json())
    assert all(pair.p_holm >= pair.p_value for pair in expected)


def test_macro_averages_are_not_compared_and_by_names_groups_of_the_page(run: Run) -> None:
    for name in "ab":
        words = [*LINE.split(), "--lists", f"{name}.run", "--by", "groups.tsv"]
        assert run(*words, "--save", f"{name}.npz").code == 0
    words = ["compare", "a.npz", "b.npz", "--metrics"]
    run(*words, "macro.map").refuses(1, "macro.map is a mean over fixed groups")
    run(*words, "map", "--by", "group").refuses(2, "--by has groups on the page of --html")
    models = {name: query_report(tr.load(f"{name}.npz")) for name in "ab"}
    expected = tr.compare(models, metric=["map"], unit="group")
    assert run(*words, "map", "--unit", "group") == (0, expected.to_text() + "\n", "")
    if importlib.util.find_spec("matplotlib") is not None:
        run(*words, "map", "--by", "group", "--html", "page.html")
        assert "odd" in Path("page.html").read_text(encoding="utf-8")


def test_kinds(run: Run) -> None:
    run(*LINE.split(), "--lists", "a.run", "--save", "a.npz")
    report = query_report(tr.load("a.npz"))
    line = ["evaluate", "a.npz", "--kinds", "expected,optimum"]
    assert run(*line).out == report.to_text(kinds=["expected", "optimum"]) + "\n"
    words = "'index.map': of lists it depends on what there was to order, which retrieval.Task("
    run("evaluate", "a.npz", "--metrics", "index.map").refuses(1, words)
    ranks = tr.Ranks([0, 3], [1, 2], 10)
    ranks.save("ranks.npz")
    out = run("evaluate", "ranks.npz", "--kinds", "pessimistic").out
    assert out == tr.report(ranks).to_text(kinds="pessimistic") + "\n"


@pytest.mark.parametrize("style", ["text", "json", "csv", "latex"])
def test_all_metrics(run: Run, style: str) -> None:
    run(*LINE.split(), "--lists", "a.run", "--save", "a.npz")
    report = query_report(tr.load("a.npz"))
    code, out, err = run("evaluate", "a.npz", "--metrics", "all", "--format", style)
    assert (code, err) == (0, "")
    if style == "json":
        assert json.loads(out) == json.loads(report.to_json())
    else:
        assert out == getattr(report, f"to_{style}")("all").rstrip("\n") + "\n"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("evaluate a.npz --weights query", 1, "--weights: expected no weights, as every query"),
        ("evaluate a.npz --metrics amri", 1, "'amri': no metric 'amri'"),
        ("evaluate bare.npz --metrics map@10", 1, "'map@10': no metric"),
        ("compare a.npz bare.npz", 1, "bare: expected Report of queries, as a is"),
        ("compare bare.npz a.npz", 1, "a: expected Report of tasks, as bare is"),
        ("evaluate a.npz --kinds expected --metrics optimistic.mrr", 2, "--kinds chooses rows"),
        ("evaluate bare.npz --kinds pessimistic --json", 2, "--kinds chooses rows"),
        ("evaluate a.npz --kinds chance --output a.json", 2, "--kinds chooses rows"),
        (f"{LINE} --lists a.run --by nowhere.tsv", 1, "--by: expected a file, or one of unit"),
        (f"{LINE} --lists a.run --by names.txt", 1, "line 1: expected a name and its group"),
    ],
)
def test_wrong_lines(run: Run, line: str, code: int, message: str) -> None:
    run(*LINE.split(), "--lists", "a.run", "--save", "a.npz")
    tr.Ranks([0, 3], [1, 2], 10).save("bare.npz")
    run(*line.split()).refuses(code, message)


@pytest.mark.parametrize("name", ["save", "output", "html"])
@pytest.mark.parametrize("force", [False, True])
def test_two_commands_that_write_one_file_at_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, force: bool
) -> None:
    """The other one has written it while this one counted."""
    if name == "html":
        pytest.importorskip("matplotlib")
    evaluate = Task.evaluate_lists

    def slow(*arguments: Any, **options: Any) -> tr.Report:
        Path("a.html").write_text("of another")
        return evaluate(*arguments, **options)

    monkeypatch.setattr(Task, "evaluate_lists", slow)
    words = f"{LINE} --lists a.run --{name} a.html --format text".split()
    if name == "output":
        words[-1] = "html"
    outcome = run(*words, *["--force"] * force)
    if force:
        assert outcome.code == 0
    else:
        outcome.refuses(1, "a.html is there already" if name == "output" else "a.html: ")
    assert (Path("a.html").read_bytes() == b"of another") == (not force)
    tr.Ranks([0], [1], 3).save("a.html")  # In Python a file that is there is replaced.


def test_nothing_is_overwritten(run: Run) -> None:
    words = f"{LINE} --lists a.run".split()
    Path("a.npz").write_text("mine")
    for name in ("save", "output", "html"):
        more = (f"--{name}", "a.npz", "--format", "text")
        run(*words, *more).refuses(1, f"--{name}: a.npz is there already; --force replaces it")
    assert Path("a.npz").read_text() == "mine"
    assert run(*words, "--save", "a.npz", "--force").code == 0
    assert run("evaluate", "a.npz").out == run(*words).out
    # neither is a file that the line reads
    run(*words, "--save", "a.run", "--force").refuses(1, "is one of the other files of this line")
    assert run("evaluate", "a.npz", "--split", "dev", "--save", "a.npz", "--force").code == 0
    assert tr.load("a.npz").protocol.split == "dev"
