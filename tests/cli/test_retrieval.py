"""`truerank retrieval`: qrels and a model in files, as a Task of Python evaluates them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Run
from support.query_reports import query_report as report
from truerank.retrieval import Task

QRELS = {"q1": {"b": 1, "a": 2}, "q2": {"a": 1}, "q3": {"d": 1}}
LISTS = {"q1": {"a": 0.9, "b": 0.5, "c": 0.5}, "q2": {"c": 0.3}, "q3": {"d": 1.0}}
NAMES = list("abcde")
IDS = {0: [1], 1: [0], 2: [3]}
SCORES = np.random.default_rng(3).random((3, 5), dtype=np.float32)
VECTORS = np.random.default_rng(4).random((8, 6), dtype=np.float32)
MODELS: dict[str, Any] = {
    "--lists run.txt --candidates names.txt": lambda task: task.evaluate_lists(LISTS),
    "--lists run.txt --candidates names.txt --misses bounds": lambda task: task.evaluate_lists(
        LISTS, misses="bounds"
    ),
    "--scores S.npy --candidates names.txt --labels queries=queries.txt": (
        lambda task: task.evaluate_scores(SCORES)
    ),
    "--queries Q.npy --entities E.npy --candidates names.txt --labels queries=queries.txt": (
        lambda task: task.evaluate_embeddings(VECTORS[:3], VECTORS[3:])
    ),
}


@pytest.fixture(autouse=True)
def world() -> None:
    rows = [f"{q} 0 {name} {gain}" for q, gains in QRELS.items() for name, gain in gains.items()]
    Path("qrels.txt").write_text("\n".join(rows))
    rows = [f"{q} Q0 {name} 1 {x} t" for q, scores in LISTS.items() for name, x in scores.items()]
    Path("run.txt").write_text("\n".join(rows))
    Path("names.txt").write_text("\n".join(NAMES))
    Path("queries.txt").write_text("\n".join(QRELS))
    Path("train.txt").write_text("q1 0 c 1\n")
    np.save("S.npy", SCORES)
    np.save("Q.npy", VECTORS[:3])
    np.save("E.npy", VECTORS[3:])
    Path("ids.txt").write_text("0 0 1 1\n1 0 0 1\n2 0 3 1\n")
    np.savetxt("numbers.txt", np.arange(3), "%d")
    np.save("ids.npy", [[0, 1], [1, 0], [2, 3]])


@pytest.mark.parametrize("line", MODELS)
@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ("", {}),
        (
            "--known train=train.txt --gain exponential --split dev",
            {"known": {"train": {"q1": ["c"]}}},
        ),
    ],
)
def test_reports_equal_those_of_the_task(
    run: Run, line: str, more: str, facts: dict[str, Any]
) -> None:
    if "dev" in more:
        facts |= {"gain": "exponential", "split": "dev"}
    names = None if "lists" in line else list(QRELS)
    expected = MODELS[line](Task(QRELS, entities=NAMES, queries=names, **facts))
    words = f"retrieval --qrels qrels.txt {line} {more}".split()
    code, out, err = run(*words, "--save", "ranks.npz", "--format", "csv")
    assert (code, err) == (0, "")
    assert out == expected.to_csv()
    assert tr.load("ranks.npz").with_protocol(files=()) == expected.ranks.with_protocol(files=())
    out = run(*words, "--metrics", "ndcg@10,map", "--json").out
    assert json.loads(out)["metrics"]["ndcg@10"] == expected["ndcg@10"]


@pytest.mark.parametrize("line", MODELS)
@pytest.mark.parametrize(
    ("more", "facts", "rules"),
    [
        ("-l 2", {"relevance_level": 2}, {}),
        ("--relevance-level 2 --answerless omit", {"relevance_level": 2}, {}),
        ("-l 2 --answerless zero", {"relevance_level": 2}, {"answerless": "zero"}),
    ],
)
def test_levels_and_queries_without_answers(
    run: Run, line: str, more: str, facts: dict[str, Any], rules: dict[str, str]
) -> None:
    names = None if "lists" in line else list(QRELS)
    counted = MODELS[line](Task(QRELS, entities=NAMES, queries=names, **facts))
    expected = report(counted.ranks, **rules)
    words = f"retrieval --qrels qrels.txt {line} {more} --metrics mrr,map".split()
    outcome = run(*words, "--json", "--save", "ranks.npz")
    assert json.loads(outcome.out)["metrics"] == {key: expected[key] for key in ("mrr", "map")}
    again = run("evaluate", "ranks.npz", "--metrics", "mrr,map", "--json")
    assert json.loads(again.out)["metrics"] == json.loads(outcome.out)["metrics"]
    if "lists" in line:
        assert "of the right answers are missed by their lists" in run(*words).out


def test_saved_ranks_are_reported_from_another_level_on(run: Run) -> None:
    line = ["retrieval", "--qrels", "qrels.txt", "--candidates", "names.txt", "--lists", "run.txt"]
    run(*line, "--save", "all.npz")
    counted = run(*line, "-l", "2", "--save", "some.npz").out
    assert "answers are right from a gain of 2 on" in counted
    words = ["--metrics", "map", "--json"]
    expected = run("evaluate", "some.npz", *words).out
    for name in ("all.npz", "some.npz"):
        outcome = run("evaluate", name, "-l", "2", *words, "--save", "again.npz", "--force")
        assert outcome == (0, expected, "")
        assert tr.load("again.npz") == tr.load("some.npz")
    assert run("merge", "all.npz", "all.npz", "-l", "2").code == 2
    compared = run("compare", "all.npz", "some.npz", "-l", "2", "--metrics", "map")
    assert compared.out.splitlines()[1].split()[2:4] == ["1.000", "1.000"]
    tr.Ranks([0], [1], 5).save("ranks.npz")
    run("evaluate", "ranks.npz", "-l", "2").refuses(
        2, "--relevance-level cannot apply to saved ranks"
    )
    tr.Ranks([1], [1], 5).save("others.npz")
    outcome = run("compare", "ranks.npz", "others.npz", "-l", "2")
    outcome.refuses(
        2, "--relevance-level cannot apply to ranks of tasks with one right answer each"
    )


def test_groups_beside_queries_without_answers(run: Run) -> None:
    Path("groups.txt").write_text("q1\tx\nq2\ty\nq3\ty\n")
    with Path("qrels.txt").open("a") as file:
        file.write("\nq4 0 a 0")
    line = "retrieval --qrels qrels.txt --lists run.txt --candidates names.txt --by groups.txt"
    words = [*line.split(), "-l", "2", "--answerless"]
    outcome = run(*words, "zero", "--save", "ranks.npz")
    outcome.refuses(1, 'answerless="omit" leaves them out')
    assert len(tr.load("ranks.npz")) == 4  # What was counted is not lost.
    assert run(*words, "omit").code == 0


def test_a_query_is_left_out_of_its_own_candidates(run: Run) -> None:
    Path("self.txt").write_text("a 0 b 1\nc 0 d 1\n")
    Path("self.run").write_text("a Q0 a 1 3 t\na Q0 b 2 2 t\nc Q0 c 1 3 t\nc Q0 d 2 2 t\n")
    line = "retrieval --qrels self.txt --lists self.run --candidates names.txt --metrics mrr --json"
    for more, mrr in (([], 0.5), (["--exclude-self"], 1.0)):
        outcome = run(*line.split(), *more)
        assert json.loads(outcome.out)["metrics"] == {"mrr": mrr}


def test_ids_need_no_names(run: Run) -> None:
    expected = Task(IDS, entities=5).evaluate_scores(SCORES)
    for model in ("--scores S.npy", "--scores S.npy --candidates 5"):
        line = f"--qrels ids.txt --labels queries=numbers.txt {model} --format csv"
        assert run("retrieval", *line.split()) == (0, expected.to_csv(), "")


def test_lists_by_name_need_a_number_alone(run: Run) -> None:
    """Digits in text are names beside lists, and numbers of columns beside scores."""
    expected = Task(QRELS, entities=NAMES).evaluate_lists(LISTS).to_csv()
    words = ["retrieval", "--qrels", "qrels.txt", "--lists", "run.txt", "--candidates", "5"]
    assert run(*words, "--format", "csv") == (0, expected, "")
    assert run(*words, "--known", "train=train.txt").code == 0
    Path("digits").write_text("0 Q0 1 1 0.5 t\n1 Q0 4 1 0.5 t\n2 Q0 3 1 0.5 t\n")
    expected = Task(IDS, entities=5).evaluate_lists({0: [1], 1: [4], 2: [3]}).to_csv()
    line = "--qrels ids.txt --lists digits --candidates 5 --format csv"
    assert run("retrieval", *line.split()) == (0, expected, "")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--lists run.txt --candidates 9", 2, "Missing option '--qrels'"),
        ("--qrels qrels.txt", 2, "(--queries, --entities), or its scores (--scores)"),
        ("--qrels qrels.txt --queries Q.npy", 2, "expected the vectors of a model (--queries, --e"),
        (
            "--qrels qrels.txt --lists run.txt",
            2,
            "--lists needs --candidates: the number of documents",
        ),
        (  # --columns says nothing of lists.
            "--qrels qrels.txt --lists names.txt --candidates 5",
            1,
            "a header of names as query, document and score; tabs or blanks stand",
        ),
        (
            "--qrels names.txt --lists run.txt --candidates 5",
            1,
            "relevance, or --columns query=0,document=..., which says what they are; tabs",
        ),
        (
            "--qrels qrels.txt --lists run.txt --candidates 3",
            1,
            "--candidates: expected at least 4",
        ),
        ("--qrels qrels.txt --scores S.npy", 2, "scores and vectors need --candidates FILE"),
        (
            "--qrels qrels.txt --scores S.npy --candidates queries.txt",
            1,
            "--qrels: qrels.txt: expected labels of entities, as 'q1', or ids from 0 to 2, got 'b'",
        ),
        (
            "--qrels qrels.txt --scores S.npy --candidates names.txt",
            2,
            "do not say whose they are; --labels queries=FILE has a name in each line",
        ),
        (
            "--qrels qrels.txt --scores S.npy --candidates 5",
            2,
            "got 'b' in column 1; scores and vectors",
        ),
        ("--qrels ids.txt --lists run.txt --candidates 9", 1, "no query in common"),
        ("--qrels ids.txt --lists run.txt --candidates 9 --scores S.npy", 2, "--scores cannot"),
        (
            "--qrels ids.txt --scores S.npy --labels queries=numbers.txt --save S.npy",
            1,
            "is one of the other files",
        ),
        (
            "--qrels ids.npy --lists run.txt --candidates 9",
            1,
            "--qrels: expected a path, a table with named columns, {query: {document: grade}}",
        ),
        ("--qrels qrels.txt --lists S.npy --candidates 9", 1, "got the array in S.npy"),
    ],
)
def test_wrong_lines(run: Run, line: str, code: int, message: str) -> None:
    run("retrieval", *line.split()).refuses(code, message)


def test_a_nan_names_its_file_and_whose_score_it_is(run: Run) -> None:
    rows = Path("run.txt").read_text().replace("b 1 0.5", "b 1 nan")
    Path("nan.run").write_text(f"# a comment\n{rows}")
    said = "nan.run: the score of 'b' for 'q1' is NaN, which nan=\"raise\" does not allow"
    line = ["--qrels", "qrels.txt", "--candidates", "5"]
    outcome = run("retrieval", *line, "--lists", "nan.run")
    outcome.refuses(1, f"Error: --lists: {said}")
    run("compare", "run.txt", "nan.run", *line).refuses(1, f"{said}")
    assert run("compare", "run.txt", "nan.run", *line, "--nan", "worst").code == 0


def test_columns_of_judgements(run: Run) -> None:
    """What text has without names is said by roles, for known splits alike."""
    Path("rated.txt").write_text("a q1 2 7\nb q1 1 8\na q2 1 9\nd q3 1 7\n")
    Path("seen.txt").write_text("c q1 1 7\n")
    rows = [f"{name} {x} {q}" for q, scores in LISTS.items() for name, x in scores.items()]
    Path("scored.txt").write_text("\n".join(["document score query", *rows]))
    line = ["retrieval", "--qrels", "rated.txt", "--lists", "scored.txt", "--candidates", "5"]
    line += ["--known", "train=seen.txt", "--metrics", "map", "--json"]
    outcome = run(*line, "--columns", "query=1,document=0,relevance=2")
    task = Task(QRELS, entities=NAMES, known={"train": {"q1": ["c"]}})
    assert json.loads(outcome.out)["metrics"]["map"] == task.evaluate_lists(LISTS)["map"]
    assert run(*line, "--columns", "who=2").code == 1


def test_the_ending_of_a_name_may_be_in_capitals(run: Run) -> None:
    line = [
        "retrieval",
        "--qrels",
        "ids.txt",
        "--labels",
        "queries=numbers.txt",
        "--candidates",
        "5",
        "--scores",
    ]
    expected = run(*line, "S.npy")
    assert expected.code == 0
    Path("S.npy").rename("S.NPY")
    assert run(*line, "S.NPY") == expected


def test_csv_and_lists_with_repeats(run: Run) -> None:
    Path("qrels.csv").write_text("query,document\nu,c\n")
    Path("beams.csv").write_text("query,document\nu,a\nu,a\nu,c\n")
    line = "retrieval --qrels qrels.csv --lists beams.csv --candidates 9 --metrics mrr --json"
    run(*line.split()).refuses(1, "the list of 'u' has 'a' twice; duplicates=\"first\" counts each")
    outcome = run(*line.split(), "--duplicates", "first")
    assert json.loads(outcome.out)["metrics"] == {"mrr": 0.5}
