"""`truerank retrieval`, as a Task of Python evaluates the same, and what reads its ranks."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Run
from support.example_ranks import query_report
from truerank.retrieval import Task

QRELS = {"q1": {"b": 1, "a": 2}, "q2": {"a": 1}, "q3": {"d": 1}}
LISTS = {"q1": {"a": 0.9, "b": 0.5, "c": 0.5}, "q2": {"c": 0.3}, "q3": {"d": 1.0}}
NAMES = list("abcde")
IDS = {0: [1], 1: [0], 2: [3]}
SCORES = np.random.default_rng(3).random((3, 5), dtype=np.float32)
LINE = "retrieval --qrels qrels.txt --candidates 5 --lists run.txt"
VECTORS = np.random.default_rng(4).random((8, 6), dtype=np.float32)
LISTS_OF_VECTORS = (VECTORS[:4], np.array([0, 2, 3, 4])), (VECTORS, np.array([0, 1, 4, 5, 7, 8]))
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
    "--queries Q.npz --entities E.npz --similarity maxsim --candidates names.txt "
    "--labels queries=queries.txt": (
        lambda task: task.evaluate_embeddings(*LISTS_OF_VECTORS, similarity="maxsim")
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
    Path("groups.txt").write_text("q1\tx\nq2\ty\nq3\ty\n")
    np.save("S.npy", SCORES)
    np.save("Q.npy", VECTORS[:3])
    np.save("E.npy", VECTORS[3:])
    for name, (vectors, indptr) in zip("QE", LISTS_OF_VECTORS, strict=True):
        np.savez_compressed(f"{name}.npz", vectors=vectors, indptr=indptr)
    Path("ids.txt").write_text("0 0 1 1\n1 0 0 1\n2 0 3 1\n")
    np.savetxt("numbers.txt", np.arange(3), "%d")
    np.save("ids.npy", [[0, 1], [1, 0], [2, 3]])


DEV = {"known": {"train": {"q1": ["c"]}}, "gain": "exponential", "split": "dev"}
LEVEL = {"relevance_level": 2}


@pytest.mark.parametrize("line", MODELS)
@pytest.mark.parametrize(
    ("more", "facts", "rules"),
    [
        ("--known train=train.txt --gain exponential --split dev", DEV, {}),
        ("--relevance-level 2 --answerless omit", LEVEL, {"answerless": "omit"}),
        ("-l 2 --answerless zero", LEVEL, {"answerless": "zero"}),
    ],
)
def test_reports_equal_those_of_the_task(
    run: Run, line: str, more: str, facts: dict[str, Any], rules: dict[str, str]
) -> None:
    names = None if "lists" in line else list(QRELS)
    counted = MODELS[line](Task(QRELS, entities=NAMES, queries=names, **facts))
    expected = query_report(counted.ranks, **rules)
    words = f"retrieval --qrels qrels.txt {line} {more}".split()
    outcome = run(*words, "--save", "ranks.npz", "--format", "csv")
    assert outcome == (0, expected.to_csv(), "")
    ranks = counted.ranks.with_protocol(files=(), **rules)
    assert tr.load("ranks.npz").with_protocol(files=()) == ranks
    assert run("evaluate", "ranks.npz", "--format", "csv") == outcome
    content = json.loads(run(*words, "--metrics", "ndcg@10,map", "--json").out)
    assert content["metrics"] == {key: expected[key] for key in ("ndcg@10", "map")}
    if "lists" in line:
        assert content["misses"] == json.loads(run("evaluate", "ranks.npz", "--json").out)["misses"]
        assert "of the right answers are missed by their lists" in run(*words).out


@pytest.mark.parametrize(
    ("of_ranks", "of_tables"),
    [
        ("", "--interval --metrics map,mrr"),
        ("--answerless zero", "--format csv"),
        ("--by groups.tsv", "--by group --metrics map"),
        ("--part 0::2", "--percent"),
    ],
)
def test_several_runs_are_rows_of_one_table(run: Run, of_ranks: str, of_tables: str) -> None:
    """They are models, as saved ranks are; a pattern has the runs of one model."""
    worse = [line for line in Path("run.txt").read_text().splitlines() if " a " not in line]
    for name in ("worse", "seed0", "seed1"):
        Path(f"{name}.run").write_text("\n".join(worse) + "\n")
    Path("groups.tsv").write_text("".join(f"{query}\t{query[-1]}\n" for query in QRELS))
    for name in ("run.txt", "worse.run"):
        run("retrieval", "qrels.txt", name, *of_ranks.split(), "--save", f"{Path(name).stem}.npz")
    saved = run("evaluate", "run.npz", "worse.npz", *of_tables.split())
    assert saved.out
    words = [*of_ranks.split(), *of_tables.replace("--by group ", "").split()]
    assert run("retrieval", "qrels.txt", "run.txt", "worse.run", *words).out == saved.out
    rows = json.loads(run("retrieval", "qrels.txt", "run.txt", "seed*.run", "--json").out)["rows"]
    assert [row["model"] for row in rows] == ["run", "seed*"]
    assert rows[0]["map"] > rows[1]["map"]


def test_two_files_in_the_order_of_trec_eval_need_no_number(run: Run) -> None:
    """They are --qrels and --lists, whose values are those among any number of candidates."""
    outcome = run("retrieval", "qrels.txt", "run.txt", "--save", "ranks.npz", "--format", "csv")
    named = run("retrieval", "--qrels", "qrels.txt", "--lists", "run.txt", "--format", "csv")
    assert outcome == named == run(*LINE.split(), "--format", "csv")
    assert not tr.load("ranks.npz").candidates.any()
    assert run("evaluate", "ranks.npz", "--format", "csv") == outcome
    printed = run("retrieval", "qrels.txt", "run.txt").out.splitlines()
    assert printed[0] == "3 queries with 4 right answers, 1 of them tied"
    assert printed[1:] == run(*LINE.split()).out.splitlines()[1:]
    # A part with the number and one without it are joined, and compared.
    words = ["--metrics", "map,mrr", "--format", "csv"]
    run(*LINE.split(), "--part", "0::2", "--save", "even.npz")
    run("retrieval", "qrels.txt", "run.txt", "--part", "1::2", "--save", "odd.npz")
    assert run("merge", "even.npz", "odd.npz", *words) == run(*LINE.split(), *words)
    Path("other.txt").write_text("q1 Q0 b 1 2 t\nq2 Q0 a 1 2 t\nq3 Q0 a 1 2 t\n")
    run(*LINE.replace("run", "other").split(), "--save", "other.npz")
    pair = run("compare", "run.txt", "other.txt", "--qrels", "qrels.txt", *words)
    assert pair.code == 0
    counted = [*["run.txt", "other.txt", "--qrels", "qrels.txt", "--candidates", "5"], *words]
    assert pair == run("compare", *counted)
    mixed = run("compare", "ranks.npz", "other.npz", *words)
    assert mixed.out.replace("ranks", "run") == pair.out
    for files in (["ranks.npz", "other.npz"], ["run.txt", "other.txt", "--qrels", "qrels.txt"]):
        problem = "'auc': it depends on the candidates, which lists do not name"
        refused = run("compare", *files, "--metrics", "auc")
        refused.refuses(1, problem)
        # Saved ranks take no number any more.
        assert ("; --candidates says" in refused.err) == ("--qrels" in files)
    bounds = run("retrieval", "qrels.txt", "run.txt", "--candidates", "5", "--misses", "bounds")
    assert "among 5 candidates" in bounds.out


def test_saved_ranks_are_reported_from_another_level_on(run: Run) -> None:
    line = ["retrieval", "--qrels", "qrels.txt", "--candidates", "names.txt", "--lists", "run.txt"]
    run(*line, "--save", "all.npz")
    counted = run(*line, "-l", "2", "--save", "some.npz").out
    assert "answers are right from a gain of 2 on" in counted
    expected = run("evaluate", "some.npz", "--json").out
    outcome = run("evaluate", "all.npz", "-l", "2", "--json", "--save", "again.npz")
    assert outcome == (0, expected, "")
    assert tr.load("again.npz") == tr.load("some.npz")
    compared = run("compare", "all.npz", "some.npz", "-l", "2", "--metrics", "map")
    assert compared.out.splitlines()[1].split()[2:4] == ["1.000", "1.000"]


def test_ranks_are_saved_before_groups_without_values_are_refused(run: Run) -> None:
    with Path("qrels.txt").open("a") as file:
        file.write("\nq4 0 a 0")
    words = [*f"{LINE} --by groups.txt -l 2 --answerless".split(), "zero", "--save", "ranks.npz"]
    # The file of groups does not name q4, of which ranks have no answer.
    problem = "1 query without a right answer count as 0, and of 1 no group is known"
    run(*words).refuses(1, f"--by: {problem}")
    assert run(*words[:-3], "omit", "--save", "omitted.npz").code == 0
    assert len(tr.load("ranks.npz")) == 4
    with Path("groups.txt").open("a") as file:
        file.write("q4\ty\n")
    words += ["--force", "--metrics", "map", "--format", "csv"]
    printed = run(*words)
    assert printed.code == 0
    rows = [row.split(",") for row in printed.out.splitlines()[1:]]
    numbers = {row[1]: (int(row[-2]), float(row[-1])) for row in rows}
    assert numbers == {"micro": (4, 0.25), "macro": (4, 0.5), "y": (3, 0.0), "x": (1, 1.0)}
    assert run("evaluate", "ranks.npz", "--by", "group", *words[-4:]) == printed


def test_queries_of_the_file_of_labels_number_rows_alone(run: Run) -> None:
    """The file has those of all splits; a query of the test is one that --qrels has."""
    line = "retrieval --qrels qrels.txt --scores S.npy --candidates names.txt --answerless zero"
    np.save("S.npy", np.random.default_rng(0).random((5, 5)))
    Path("queries.txt").write_text("\n".join([*QRELS, "q4", "q5"]))
    words = f"{line} --labels queries=queries.txt --metrics map".split()
    printed = run(*words).out
    assert printed.startswith("3 queries with 4 right answers")
    assert "without a right answer" not in printed
    with Path("qrels.txt").open("a") as file:
        file.write("\nq4 0 a 0")
    assert "1 query without a right answer counted as 0" in run(*words).out


def test_grades_that_columns_leave_out(run: Run) -> None:
    rows = [
        "qid,doc,{}",
        *(f"q1,{d},{g}" for d, g in zip("abc", "021", strict=True)),
        *(f"q2,{d},{g}" for d, g in zip("acd", "200", strict=True)),
    ]
    line = ["retrieval", "qrels.csv", "run.txt", "--columns", "query=qid,document=doc"]
    Path("qrels.csv").write_text("\n".join(rows).format("rating"))
    words = (
        "expected a table without column 'rating', got one left out, with the values '0', '2', '1'"
    )
    run(*line).refuses(1, words)
    for name, texts in (("fold", "021"), ("esci", "EPI")):
        text = "\n".join(rows).format(name)
        for old, new in zip("021", texts, strict=True):
            text = text.replace(f",{old}", f",{new}")
        Path("qrels.csv").write_text(text)
        shown = ", ".join(map(repr, texts))
        warning = f"column '{name}' is left out, with the values {shown}: every judged document"
        assert warning in run(*line).err


def test_sessions_and_times_of_cornac_are_led_to_their_items(run: Run) -> None:
    rows = [("u1", "s1", "a", 881250949), ("u1", "s2", "b", 891717742), ("u2", "s3", "a", 1234567)]
    Path("ratings.txt").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    Path("lists.txt").write_text("query\tdocument\nu1\ta\nu1\tb\nu2\tb\nu2\ta\n")
    line = "retrieval --qrels ratings.txt --lists lists.txt --candidates 9 --metrics mrr,recall@1"
    way = "--columns query=0,document=2"
    run(*line.split()).refuses(
        1, "of 3 rows it has 3 values, the third 2; --columns says which are meant"
    )
    outcome = run(*f"{line} {way} --format csv".split())
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "expected,2,0.75,0.25"), outcome


def test_a_query_is_left_out_of_its_own_candidates(run: Run) -> None:
    Path("self.txt").write_text("a 0 b 1\n")
    Path("self.run").write_text("a Q0 a 1 3 t\na Q0 b 2 2 t\n")
    line = "retrieval --qrels self.txt --lists self.run --candidates 5 --exclude-self --json"
    assert json.loads(run(*line.split()).out)["metrics"]["mrr"] == 1


def test_compare_evaluates_runs_by_the_rules_of_saved_ranks(run: Run) -> None:
    """Gains of runs were always linear, and a query was a candidate of its own."""
    documents = [f"d{i}" for i in range(12)]
    rng = np.random.default_rng(0)
    rows = []
    for query in documents:
        for document, grade in zip(documents, rng.integers(0, 4, 12), strict=True):
            rows.append(f"{query} 0 {document} {grade}\n")
    Path("graded.txt").write_text("".join(rows))
    for name in ("one", "two"):
        rows = []
        for query in documents:
            for i, document in enumerate(rng.permutation(documents)[:8]):
                rows.append(f"{query} Q0 {document} 1 {9 - i} t\n")
        Path(f"{name}.run").write_text("".join(rows))
    metrics = "--metrics ndcg@5,optimistic.err@5,map --no-notes --format csv"
    outputs = set()
    for rules in ("", "--gain exponential", "--exclude-self", "--gain binary --exclude-self"):
        for name in ("one", "two"):
            line = f"retrieval graded.txt {name}.run {rules} --save {name}.npz --force"
            assert run(*line.split()).code == 0
        outcome = run(*f"compare one.run two.run --qrels graded.txt {rules} {metrics}".split())
        assert outcome == run(*f"compare one.npz two.npz {metrics}".split())
        assert outcome.code == 0
        outputs.add(outcome.out)
    assert len(outputs) == 4
    line = "compare one.npz two.npz --gain binary --exclude-self"
    run(*line.split()).refuses(2, "--gain, --exclude-self cannot apply to saved ranks")


def test_lists_that_begin_with_their_query_are_shown_by_the_audit(run: Run) -> None:
    Path("own.run").write_text("a Q0 a 1 3 t\na Q0 x 2 2 t\nb Q0 b 1 3 t\nb Q0 y 2 2 t\n")
    Path("own.txt").write_text("a 0 x 1\nb 0 y 1\n")
    audit = run("retrieval", "own.txt", "own.run", "--audit")
    assert "self: 2 of 2 lists that hold their query have it first\n" in audit.out
    left_out = run("retrieval", "own.txt", "own.run", "--audit", "--exclude-self")
    assert "self: 2 of 2" not in left_out.out


def test_queries_in_their_own_gallery_are_shown_by_the_audit(run: Run) -> None:
    """Of vectors, and of a square matrix of scores: the same entities, by other names."""
    vectors = np.array([[1.0, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], np.float32)
    np.save("gallery.npy", vectors)
    np.save("queries.npy", vectors[[2, 0]])
    np.save("square.npy", tr.score_embeddings(vectors, vectors, similarity="cosine"))
    Path("names.txt").write_text("".join(f"d{i}\n" for i in range(4)))
    Path("two.txt").write_text("q2\nq0\n")
    Path("all.txt").write_text("".join(f"q{i}\n" for i in range(4)))
    twins = {0: 1, 1: 0, 2: 3, 3: 2}
    for name, some in (("two", [2, 0]), ("all", [0, 1, 2, 3])):
        Path(f"{name}.qrels").write_text("".join(f"q{i} 0 d{twins[i]} 1\n" for i in some))
    how = "--candidates names.txt --audit"
    line = f"--qrels two.qrels --queries queries.npy --entities gallery.npy {how}"
    audit = run("retrieval", *line.split(), "--labels", "queries=two.txt")
    assert "self: 2 of 2 queries have the vector of one of their candidates\n" in audit.out
    line = f"--qrels all.qrels --scores square.npy {how} --labels queries=all.txt"
    audit = run("retrieval", *line.split())
    assert "self: 4 of 4 queries that were looked at have the entity of their name, " in audit.out


def test_forms_of_queries_and_documents(run: Run) -> None:
    """Digits in text are names beside lists, and numbers of columns beside scores."""
    Path("digits").write_text("0 Q0 1 1 0.5 t\n1 Q0 4 1 0.5 t\n2 Q0 3 1 0.5 t\n")
    Path("rated").write_text("a q1 2 7\nb q1 1 8\na q2 1 9\nd q3 1 7\n")
    Path("twice.csv").write_text("query,document\nq1,b\nq1,b\nq1,a\nq2,a\nq3,d\n")
    named = Task(QRELS, entities=NAMES)
    of_ids = Task(IDS, entities=5)
    scored = of_ids.evaluate_scores(SCORES)
    known = Task(QRELS, entities=5, known={"train": {"q1": ["c"]}})
    for line, expected in (
        ("ids.txt --labels queries=numbers.txt --scores S.npy", scored),
        ("ids.txt --labels queries=numbers.txt --scores S.npy --candidates 5", scored),
        ("ids.txt --lists digits --candidates 5", of_ids.evaluate_lists({0: [1], 1: [4], 2: [3]})),
        ("qrels.txt --lists run.txt --candidates 5", named.evaluate_lists(LISTS)),
        (
            "rated --columns query=1,document=0,relevance=2 --lists run.txt --candidates names.txt",
            named.evaluate_lists(LISTS),
        ),
        (
            "qrels.txt --lists run.txt --candidates 5 --known train=train.txt",
            known.evaluate_lists(LISTS),
        ),
        (
            "qrels.txt --lists twice.csv --candidates 5 --duplicates first",
            named.evaluate_lists({"q1": ["b", "a"], "q2": ["a"], "q3": ["d"]}),
        ),
    ):
        words = f"retrieval --qrels {line} --format csv".split()
        assert run(*words) == (0, expected.to_csv(), ""), line


def test_lists_of_vectors_whose_queries_are_numbered(run: Run) -> None:
    """There are as many candidates as lists, not as vectors."""
    task = Task({0: {1: 1}, 1: {0: 1}, 2: {4: 1}}, entities=5)
    Path("five.txt").write_text("0 0 1 1\n1 0 0 1\n2 0 4 1\n")
    expected = task.evaluate_embeddings(*LISTS_OF_VECTORS, similarity="maxsim")
    line = "retrieval --qrels five.txt --queries Q.npz --entities E.npz --similarity maxsim"
    line += " --labels queries=numbers.txt --format csv"
    assert run(*line.split()) == (0, query_report(expected.ranks).to_csv(), "")


WRONG_LISTS: dict[str, tuple[dict[str, Any], str]] = {
    "other members": ({"a": VECTORS}, "expected members vectors and indptr, got a"),
    "no indptr": ({"vectors": VECTORS}, "expected members vectors and indptr, got vectors"),
    "padded": (
        {"vectors": np.ones((5, 2, 6)), "indptr": np.arange(6)},
        "vectors (tokens, d) and indptr, the first token of each list, with maxsim, got shape (",
    ),
    "short": ({"vectors": VECTORS, "indptr": [0, 1, 2, 3, 4, 7]}, "an indptr that never falls"),
    "empty": (
        {"vectors": VECTORS, "indptr": [0, 1, 1, 3, 4, 8]},
        "list 1 ('b'): expected a vector",
    ),
    "floats": ({"vectors": VECTORS, "indptr": np.arange(6.0)}, "indptr: expected integers"),
}


@pytest.mark.parametrize("case", WRONG_LISTS)
def test_lists_of_vectors_that_are_refused(run: Run, case: str) -> None:
    arrays, words = WRONG_LISTS[case]
    np.savez("wrong.npz", **arrays)
    line = "retrieval --qrels qrels.txt --queries Q.npz --candidates names.txt"
    line += " --labels queries=queries.txt --similarity maxsim --entities"
    outcome = run(*line.split(), "wrong.npz")
    outcome.refuses(1, words)
    assert outcome.err.startswith("Error: --entities: ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "--queries Q.npz",
            "only vectors with dot, got vectors and an indptr; --similarity says how lists",
        ),
        (
            "--queries Q.npy --similarity maxsim",
            "vectors (tokens, d) and indptr, the first token of each list, with maxsim",
        ),
    ],
)
def test_vectors_that_the_similarity_does_not_compare(run: Run, line: str, words: str) -> None:
    both = f"--entities E.npz --labels queries=queries.txt {line}"
    outcome = run(*f"retrieval --qrels qrels.txt --candidates names.txt {both}".split())
    outcome.refuses(1, f"--queries: expected {words}")


# -- saved ranks ---------------------------------------------------------------------------------


@pytest.fixture
def saved(run: Run) -> tr.Report:
    """Save the ranks of two models, whose queries have groups, and return the report of one."""
    Path("other.txt").write_text("q1 Q0 b 1 2 t\nq2 Q0 a 1 2 t\nq3 Q0 a 1 2 t\n")
    for name in ("run", "other"):
        line = LINE.replace("run", name).split()
        assert run(*line, "--by", "groups.txt", "--save", f"{name}.npz").code == 0
    return query_report(tr.load("run.npz"), by="group")


def test_groups_and_intervals(run: Run, saved: tr.Report) -> None:
    words = ["--metrics", "mrr,macro.map", "--interval", "--format", "csv"]
    out = run(*LINE.split(), "--by", "groups.txt", *words).out
    rows = [line.split(",") for line in out.splitlines()]
    whole = saved.interval("mrr")
    cells = [*map(repr, (whole.value, whole.low, whole.high, saved["macro.map"])), "", ""]
    assert rows[1] == ["all", "3", "value", *cells]
    interval = saved.groups["y"].interval("mrr")
    assert rows[2][3:] == [*map(repr, (interval.value, interval.low, interval.high)), "", "", ""]
    line = ["evaluate", "run.npz", "--by", "group"]
    assert run(*line, *words).out == out
    content = json.loads(run(*line, *words[:-2], "--json").out)
    intervals = content["groups"]["intervals"]
    assert intervals["mrr"][content["groups"]["labels"].index("y")] == interval.to_dict()
    assert set(intervals) == {"mrr"}


def test_models_are_compared_by_query_and_by_group(run: Run, saved: tr.Report) -> None:
    models = {"run": saved, "other": query_report(tr.load("other.npz"))}
    words = ["compare", "run.npz", "other.npz", "--metrics", "ndcg@10,map"]
    expected = tr.compare(models, metric=["ndcg@10", "map"], unit="group")
    assert run(*words, "--unit", "group") == (0, expected.to_text() + "\n", "")
    if importlib.util.find_spec("matplotlib") is not None:
        run(*words, "--by", "group", "--html", "page.html")
        assert ">y<" in Path("page.html").read_text(encoding="utf-8")


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
        Path("a.txt").write_text("of another")
        return evaluate(*arguments, **options)

    monkeypatch.setattr(Task, "evaluate_lists", slow)
    outcome = run(*LINE.split(), f"--{name}", "a.txt", *["--force"] * force)
    if force:
        assert outcome.code == 0
    else:
        assert (outcome.code, outcome.out == "") == (1, name == "output")
        assert outcome.err == f"Error: --{name}: a.txt is there already; --force replaces it\n"
    assert (Path("a.txt").read_bytes() == b"of another") == (not force)
    tr.Ranks([0], [1], 3).save("a.txt")  # In Python a file that is there is replaced.


def test_a_file_is_replaced_where_it_is_said(run: Run, saved: tr.Report) -> None:
    assert run("evaluate", "run.npz", "--split", "dev", "--save", "run.npz", "--force").code == 0
    assert tr.load("run.npz").protocol.split == "dev"


def test_every_query_has_a_line(run: Run) -> None:
    """As a page says: of CSV a row, of JSON labels and values that a line of jq joins."""
    Path("qrels.txt").write_text("q1 0 d1 1\nq1 0 d5 2\nq2 0 d2 1\n", encoding="utf-8")
    Path("run.txt").write_text(
        "q1 Q0 d5 1 .9 t\nq1 Q0 d3 2 .7 t\nq1 Q0 d1 3 .6 t\nq2 Q0 d1 1 .5 t\n", encoding="utf-8"
    )
    line = "retrieval --qrels qrels.txt --lists run.txt --candidates 1000 --by query --metrics map"
    rows = run(*line.split(), "--format", "csv").out.splitlines()
    assert [row.rpartition(",")[0] for row in rows[-2:]] == [
        f"group,{q},expected,1" for q in ("q1", "q2")
    ]
    assert float(rows[-2].rpartition(",")[2]) == pytest.approx(5 / 6)
    groups = json.loads(run(*line.split(), "--json").out)["groups"]
    values = dict(zip(groups["labels"], groups["metrics"]["map"], strict=True))
    assert values == {"q1": pytest.approx(5 / 6), "q2": 0}


def test_only_options_of_the_command_lead_out(run: Run) -> None:
    """`ids` is an option of another command, and here the name of what lists are called."""
    Path("qrels.txt").write_text("q1 0 5 1\n")
    line = "retrieval --qrels qrels.txt --lists run.txt --candidates names.txt"
    code, _, err = run(*line.split())
    assert (code, err.count("--lists")) == (1, 0)
    assert "expected labels of entities, as 'a', or ids from 0 to 4, got '5'" in err
