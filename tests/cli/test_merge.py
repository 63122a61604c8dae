"""`truerank merge`: parts of tasks or of candidates become what one job counts."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.cli_files import SCORES, TARGETS, Run
from truerank.retrieval import Task

TRUE = SCORES[np.arange(4), TARGETS]
TRIPLES = [(0, 0, 1), (1, 0, 2), (2, 0, 0), (3, 1, 1), (0, 1, 3)]


def link_prediction() -> tr.link_prediction.Task:
    return tr.link_prediction.Task(TRIPLES, {}, entities=4, relations=2)


def score(task: tr.link_prediction.Task) -> tr.Ranks:
    table = np.random.default_rng(2).random((4, 2, 4))
    return task.evaluate(
        tail=lambda queries: table[queries[:, 0], queries[:, 1]],
        head=lambda queries: table[queries[:, 1], queries[:, 0]],
    ).ranks


@pytest.fixture(autouse=True)
def parts() -> None:
    """Save parts of tasks, of queries and of candidates."""
    for p in range(3):
        score(link_prediction()[p::3]).save(f"tasks-{p}.npz")
    queries = Task({"q1": {"b": 3, "e": 1}, "q2": {"a": 1}}, entities=list("abcde"))
    queries.evaluate_lists({"q1": ["a", "b"], "q2": ["c"]}).ranks.save("queries.npz")
    for name, (first, last) in {"a": (0, 2), "b": (2, 3), "c": (3, 5)}.items():
        counter = tr.RankCounter(TRUE, TARGETS, candidates=5)
        counter.update(SCORES[:, first:last], start=first)
        counter.save(f"columns-{name}.npz")
    np.savez("scores.npz", scores=SCORES)


def test_shards_that_were_evaluated_one_by_one(run: Run) -> None:
    """Each by a task of its own rows: their units are apart, as those of the whole are."""
    shards = [f"shard-{p}.npz" for p in range(3)]
    for p, shard in enumerate(shards):
        score(tr.link_prediction.Task(TRIPLES[p::3], {}, entities=4, relations=2)).save(shard)
    run("merge", *shards).refuses(
        1, "shard-1.npz: it belongs to another test than the parts before"
    )
    line = ["merge", "tasks-0.npz", "shard-1.npz", "--repeats", "keep"]
    run(*line).refuses(1, "the ranks are a part, 4 of 7 triples")
    assert run("merge", *shards, "--repeats", "refuse", "--save", "merged.npz").code == 0
    merged = tr.load("merged.npz")
    assert tr.report(merged)["tail.mr"] == tr.report(score(link_prediction()))["tail.mr"]
    assert tr.report(merged).interval("mrr").units == len(TRIPLES)
    again = run("merge", "merged.npz", "shard-0.npz", "--repeats", "drop", "--save", "again.npz")
    assert again.code == 0
    assert tr.load("again.npz") == merged


def test_ranks_that_do_not_know_their_whole_are_counted(run: Run) -> None:
    """Part 1 of 3 is missing, and no file of `evaluate` can say so."""
    names = [f"p-{p}.npz" for p in range(3)]
    for p, name in enumerate(names):
        np.save("S.npy", SCORES[p : p + 2])
        np.save("T.npy", TARGETS[p : p + 2])
        assert run("evaluate", "S.npy", "T.npy", "--save", name).code == 0
    words = "Joined 4 tasks of 2 files, which do not know of how many they are a part.\n"
    for form in ([], ["--json"], ["--format", "csv"], ["--save", "both.npz"]):
        merged = run("merge", names[0], names[2], *form)
        assert (merged.code, merged.err) == (0, words)
    assert len(tr.load("both.npz")) == 4
    assert run("merge", f"a={names[0]}", f"b={names[2]}").err == words
    assert run("merge", "tasks-0.npz", "tasks-1.npz", "tasks-2.npz").err == ""
    assert run("merge", "columns-a.npz", "columns-b.npz", "columns-c.npz").err == ""


WORDS = {
    "link-prediction": "--test facts.npy --known none=facts.npy --scores tail=S.npy "
    "--scores head=S.npy",
    "alignment": "vectors.npy vectors.npy pairs.npy",
    "retrieval": "--qrels qrels.txt --candidates d.txt --labels queries=q.txt --scores S.npy",
}


@pytest.mark.parametrize("parts", [["0::2", "1::2"], [":1", "1:4", "4:", "7:9"]])
@pytest.mark.parametrize("protocol", WORDS)
def test_parts_of_one_task(run: Run, protocol: str, parts: list[str]) -> None:
    """Each job knows the whole test, and has the scores of its part alone."""
    np.save("facts.npy", TRIPLES)
    np.save("pairs.npy", np.array(TRIPLES)[:, [0, 2]])
    Path("qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(5)), encoding="utf-8")
    for letter in "dq":
        names = "".join(f"{letter}{i}\n" for i in range(5))
        Path(f"{letter}.txt").write_text(names, encoding="utf-8")
    rng = np.random.default_rng(0)
    scores = rng.random((5, 5))
    vectors = rng.random((4, 3))
    np.save("vectors.npy", vectors)
    words = [protocol, *WORDS[protocol].split()]

    def evaluate(rows: slice, *more: str) -> None:
        columns = 4 if protocol == "link-prediction" else 5
        np.save("S.npy", scores[rows, :columns])
        assert run(*words, *more, "--force").code == 0

    evaluate(slice(None), "--save", "whole.npz")
    files = [f"part-{i}.npz" for i in range(len(parts))]
    for part, file in zip(parts, files, strict=True):
        numbers = [int(number) if number else None for number in part.split(":")]
        evaluate(slice(*numbers), "--part", part, "--save", file)
    joined = run("merge", *files[::-1], "--json", "--save", "joined.npz")
    assert joined == run("evaluate", "whole.npz", "--json")
    assert tr.load("joined.npz") == tr.load("whole.npz")


def test_parts_of_candidates(run: Run) -> None:
    names = [f"columns-{name}.npz" for name in "cab"]
    assert run("merge", *names, "--save", "ranks.npz").code == 0
    ranks = tr.load("ranks.npz")
    assert ranks == tr.rank(SCORES, TARGETS)
    assert run("merge", *names).out == run("evaluate", "ranks.npz").out
    run("merge", *names[:2]).refuses(1, "parts: column 2 has not been counted (1 of 5")
    run("merge", *names[1:]).refuses(1, "parts: column 3 has not been counted (2 of 5")


def test_parts_that_lack_a_side(run: Run) -> None:
    """Means over both sides would weigh one of them more; each side may have its own file."""
    names = [f"tasks-{p}.npz" for p in range(3)]
    whole = score(link_prediction())
    for side in ("head", "tail"):
        whole[whole.side.values == side].save(f"{side}.npz")
    part = tr.load(names[1])
    part[part.side.values == "tail"].save(names[1])
    problem = "the ranks are a part, 2 of 5 triples without head: rows 1, 4 (part 1::3)"
    run("merge", *names).refuses(1, f"parts: {problem}")
    joined = tr.concatenate(list(map(tr.load, names)))  # as a step of a join that goes on
    assert list(map(str, tr.report(joined).audit("missing sides"))) == [f"missing sides: {problem}"]
    joined.save("some.npz")
    # A file of some rows with a side, and of others without it, lacks it, too.
    score(link_prediction()[:0]).save("empty.npz")
    run("merge", "some.npz", "empty.npz").refuses(1, f"parts: {problem}")
    assert run("merge", "tail.npz", "head.npz", "--save", "both.npz").code == 0
    assert tr.load("both.npz") == whole


DATA_SETS = {  # Right answers are found at 1 and 3, and at 2 and 1.
    "one": ("1 0 a 1\n2 0 b 1\n", {"1": "ah", "2": "ghb"}),
    "two": ("1 0 c 1\n2 0 d 1\n", {"1": "gc", "2": "dg"}),
    "german": ("1 0 a 1\n2 0 b 1\n", {"1": "ga", "2": "bg"}),
}


def save_data_sets(run: Run) -> None:
    for name, (qrels, lists) in DATA_SETS.items():
        Path(f"{name}.qrels").write_text(qrels, encoding="utf-8")
        rows = []
        for query, documents in lists.items():
            for place, document in enumerate(documents, 1):
                rows.append(f"{query} Q0 {document} {place} {9 - place} x\n")
        Path(f"{name}.run").write_text("".join(rows), encoding="utf-8")
        line = f"retrieval --qrels {name}.qrels --lists {name}.run --candidates 9"
        assert run(*line.split(), "--save", f"{name}.npz").code == 0


def test_queries_of_data_sets_are_apart(run: Run) -> None:
    """As in Python; queries 1 and 2 of both were two queries, of an MRR of 1.0."""
    save_data_sets(run)
    run("merge", "one.npz", "two.npz").refuses(
        1, "two.npz: it belongs to another test than the parts"
    )
    line = "merge one.npz two.npz --repeats refuse --save both.npz --audit"
    printed = run(*line.split())
    assert "4  0.708" in printed.out
    words = "joined tasks have queries of the same name, which count in each: 1, 2"
    assert f"joined queries: {words}" in printed.out
    assert run("merge", "two.npz", "one.npz", "--repeats", "refuse", "--save", "back.npz").code == 0
    compared = run("compare", "both.npz", "back.npz", "--metrics", "mrr", "--json").out
    assert '"wins": 0' in compared
    assert '"ties": 4' in compared
    run("merge", "one.npz", "two.npz", "--repeats", "keep").refuses(
        1, "--repeats: a query of retrieval counts once in each run"
    )


def test_the_same_queries_in_two_languages(run: Run) -> None:
    """Where they share right answers they are given other names first."""
    save_data_sets(run)
    line = ["merge", "one.npz", "german.npz", "--repeats", "refuse"]
    run(*line).refuses(
        1, "2 of 4 tasks are there twice or more, the first at the positions 0 and 2"
    )
    np.save("names.npy", ["de/1", "de/2"])
    more = "evaluate german.npz --labels query=names.npy --save german.npz --force"
    assert run(*more.split()).code == 0
    assert "4  0.708" in run(*line).out


def test_a_query_that_is_cut_says_so_once(run: Run) -> None:
    ranks = (
        Task({"a": ["a", "b"], "b": ["c"]}, entities=9)
        .evaluate_lists({"a": ["a", "h", "b"], "b": ["h", "c"]})
        .ranks
    )
    ranks[[0, 2]].save("cut.npz")
    ranks[[1]].save("rest.npz")
    words = "Warning: ranks: 1 of 2 queries lacks right answers that were ranked with it\n"
    cut = run("evaluate", "cut.npz", "--metrics", "map", "--audit")
    assert cut.err == words
    assert "missing answers: 1 of 2 queries lacks right answers" in cut.out
    ranks[[2]].save("other.npz")
    assert run("merge", "cut.npz", "other.npz", "--repeats", "drop").err == words
    whole = run("merge", "cut.npz", "rest.npz", "--metrics", "map")
    assert (whole.err, "0.667" in whole.out) == ("", True)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("tasks-0.npz", 2, "at least two jobs, each once"),
        ("tasks-0.npz tasks-0.npz", 2, "at least two jobs, each once"),
        (
            "tasks-2.npz tasks-0.npz",
            1,
            "parts: the ranks are a part, 3 of 5 triples; missing: rows 1, 4",
        ),
        ("tasks-0.npz columns-a.npz", 1, "columns-a.npz: expected saved ranks, as tasks-0.npz"),
        (
            "columns-a.npz scores.npz",
            1,
            "scores.npz: expected saved ranks, counters or lists, got an array",
        ),
        ("tasks-0.npz broken.npz", 1, "Error: parts: broken.npz: "),
        ("columns-a.npz columns-b.npz --repeats drop", 2, "--repeats cannot apply"),
        ("tasks-0.npz tasks-1.npz tasks-2.npz --save tasks-0.npz --force", 1, "one of the other"),
        ("tasks-0.npz queries.npz", 1, "Error: queries.npz: counted under another protocol"),
        ("tasks-1.npz tasks-0.npz labels.npz", 1, "kind missing in part 0, but not in all"),
        ("columns-a.npz columns-b.npz again.npz", 1, "Error: again.npz: column 2 "),
        ("columns-a.npz columns-b.npz omit.npz", 1, "Error: omit.npz: expected a counter"),
    ],
)
def test_wrong_lines(run: Run, line: str, code: int, message: str) -> None:
    """Messages name the file that cannot be joined."""
    part = score(link_prediction()[2::3])
    part.with_labels(kind=["x"] * len(part)).save("labels.npz")
    with zipfile.ZipFile("tasks-0.npz") as whole, zipfile.ZipFile("broken.npz", "w") as broken:
        broken.writestr("truerank.npy", whole.read("truerank.npy"))
    for name, nan in {"again": "raise", "omit": "omit"}.items():
        counter = tr.RankCounter(TRUE, TARGETS, candidates=5, nan=nan)
        counter.update(SCORES[:, 2:], start=2)
        counter.save(f"{name}.npz")
    run("merge", *line.split()).refuses(code, message)


def test_a_single_data_set_has_a_name(run: Run) -> None:
    """As ``concatenate({"en": a})`` has it; a file without a name has nothing to join."""
    save_data_sets(run)
    assert run("merge", "en=one.npz", "--save", "named.npz").code == 0
    assert tr.load("named.npz").labels["dataset"].counts() == {"en": 2}
    run("merge", "one.npz").refuses(2, "expected the saved counts of at least two jobs")
