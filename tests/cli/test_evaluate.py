"""`truerank evaluate`: what it counts equals what Python counts, from files of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support.cli_files import INDICES, INDPTR, SCORES, TARGETS, Run, make_files
from truerank.cli import output
from truerank.counting import driver
from truerank.tables.forms import html_page

PAIR = {"filter": (INDPTR, INDICES)}
LISTS = {"filter": [[0], [0], [0, 1, 2], [0, 1, 2]]}
CHOSEN = {"candidates": np.array([0, 2, 4])}


@pytest.fixture(autouse=True)
def stored() -> None:
    """Write the scores to files of every kind."""
    make_files(Path())
    for at, (first, last) in enumerate([(0, 1), (1, 1), (1, 4)]):
        np.save(f"part-{9 + at}.npy", SCORES[first:last])  # 9, 10, 11
    for at, (first, last) in enumerate([(0, 2), (2, 5)]):
        np.save(f"side-{at}.npy", SCORES[:, first:last])
    np.savez("two.npz", tails=SCORES, heads=-SCORES)
    np.save("row.npy", SCORES[0])
    np.save("sides.npy", np.array(["head", "tail", "head", "tail"]))
    np.save("queries.npy", np.array([0, 1, 0, 2]))
    np.save("masses.npy", np.array([1.0, 0.0, 2.0, 1.0]))


def counted(run: Run, line: str, *more: object) -> tr.Ranks:
    """Run a command line, and return the saved ranks."""
    outcome = run("evaluate", *line.split(), *more, "--save", "ranks.npz", "--force")
    assert (outcome.code, outcome.err) == (0, "")
    return tr.load("ranks.npz")


@pytest.mark.parametrize(
    ("line", "scores", "targets", "keywords"),
    [
        ("scores.npy targets.npy --filter pair.npz --threads 2", SCORES, TARGETS, PAIR),
        ("scores.npy targets.npy --filter lists.npz", SCORES, TARGETS, LISTS),
        ("scores.npy targets.npy --candidates chosen.npy", SCORES, TARGETS, CHOSEN),
        ("scores.npy targets.npy --order ascending", SCORES, TARGETS, {"order": "ascending"}),
        ("scores.npy 00000000000000000000003", SCORES, 3, {}),
        ("scores.npy few.npy --rows rows.npy", SCORES, TARGETS[:2], {"rows": np.array([3, 0])}),
        ("nan.npy 0 --nan worst", "nan", 0, {"nan": "worst"}),
        ("row.npy targets.npy", SCORES[0], TARGETS, {}),
        ("part-*.npy targets.npy --filter pair.npz", SCORES, TARGETS, PAIR),
        ("side-*.npy targets.npy --shards columns --filter pair.npz", SCORES, TARGETS, PAIR),
        ("two.npz targets.npy --member heads", -SCORES, TARGETS, {}),
        ("bfloat16.npy 2 --dtype bfloat16", "brain", 2, {}),
    ],
)
def test_options_are_keywords_of_rank(
    run: Run, line: str, scores: Any, targets: Any, keywords: dict[str, Any]
) -> None:
    if isinstance(scores, str):
        known = {"nan": np.load("nan.npy"), "brain": SCORES.astype(ml_dtypes.bfloat16)}
        scores = known[scores]
    ranks = counted(run, line)
    assert ranks.with_protocol(files=()) == tr.rank(scores, targets, **keywords)
    assert run("evaluate", "ranks.npz").out == run("evaluate", *line.split()).out


def test_labels_and_protocol(run: Run) -> None:
    facts = "--labels side=sides.npy --labels relation=words.npy --labels query=queries.npy"
    line = "scores.npy targets.npy --filter pair.npz --filtered-by train,valid --split test "
    ranks = counted(run, line + facts)
    expected = tr.rank(SCORES, TARGETS, **PAIR).with_labels(
        side=["head", "tail", "head", "tail"], relation=list("abcd"), queries=[0, 1, 0, 2]
    )
    expected = expected.with_protocol(filter=("train", "valid"), split="test")
    assert ranks.with_protocol(files=()) == expected
    files = {"scores.npy", "targets.npy", "pair.npz", "sides.npy", "words.npy", "queries.npy"}
    assert set(ranks.protocol.files) == files


def labelled() -> tr.Ranks:
    """Count four tasks of two sides, three queries and two relations."""
    return tr.rank(SCORES, TARGETS).with_labels(
        side=["head", "tail", "head", "tail"],
        relation=["likes", "knows", "likes", "likes"],
        queries=[0, 1, 0, 2],
    )


BY_QUERY = {"weights": [1.0, 0.0, 2.0, 1.0], "by": "query"}
OF_KEYS = {"metrics": ["mrr", "hits@1"], "interval": True}
DIGITS = {"metrics": "mr", "kinds": "all", "digits": 2, "notes": False}


@pytest.mark.parametrize(
    ("line", "keywords", "style", "options"),
    [
        ("--by words.npy --metrics all", {"by": list("abcd")}, "csv", {"metrics": "all"}),
        ("--weights masses.npy --by query", BY_QUERY, "csv", {}),
        ("--metrics mrr,hits@1 --interval", {}, "latex", OF_KEYS),
        ("--by relation --kinds optimistic", {"by": "relation"}, "html", {"kinds": "optimistic"}),
        ("--metrics mr --kinds all --digits 2 --no-notes", {}, "text", DIGITS),
    ],
)
def test_a_report_is_printed_as_it_writes_itself(
    run: Run, line: str, keywords: dict[str, Any], style: str, options: dict[str, Any]
) -> None:
    labelled().save("ranks.npz")
    written = getattr(tr.report(labelled(), **keywords), f"to_{style}")(**options)
    if style == "html":  # A page has a head, so that a browser reads it as UTF-8.
        written = html_page("Report", written)
    words = [*line.split(), "--format", style]
    assert run("evaluate", "ranks.npz", *words).out == written.rstrip("\n") + "\n"


@pytest.mark.parametrize("keys", [[], ["mrr", "random.mr", "tail.amri", "macro.mrr"]])
def test_json_has_the_keys_and_their_intervals(run: Run, keys: list[str]) -> None:
    labelled().save("ranks.npz")
    report = tr.report(labelled(), by="relation")
    chosen = ["--metrics", ",".join(keys)] if keys else []
    out = run("evaluate", "ranks.npz", "--by", "relation", "--interval", "--json", *chosen).out
    content = json.loads(out)
    assert content["metrics"] == json.loads(report.to_json(keys or None))["metrics"]
    assert list(content["intervals"]) == (keys[:3] or list(report.grammar.few))
    assert content["intervals"]["mrr"] == report.interval("mrr").to_dict()


def test_findings(run: Run) -> None:
    """Below a text, in JSON, and beside other forms, which programs read."""
    line = ["evaluate", "scores.npy", "targets.npy"]
    findings = tr.evaluate(SCORES, TARGETS, audit=True).audit()
    messages = "\n".join(map(str, findings)) + "\n"
    assert run(*line, "--audit").out.endswith(messages)
    assert messages not in run(*line).out
    assert run(*line, "--audit", "--format", "csv").err == messages
    content = json.loads(run(*line, "--audit", "--json").out)
    assert [each["name"] for each in content["findings"]] == [each.name for each in findings]


# -- a count that is stopped -----------------------------------------------------------------------


def test_a_stopped_count_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tiny tiles and a checkpoint after each; it is interrupted after three."""
    scores = np.random.default_rng(7).random((100, 100), np.float32)
    np.save("large.npy", scores)
    monkeypatch.setattr(driver, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(driver, "TILE_BYTES", 4096)
    line = ["evaluate", "large.npy", "5", "--save", "ranks.npz"]
    with monkeypatch.context() as patch:
        interrupt = mock.Mock(side_effect=[None, None, KeyboardInterrupt])
        patch.setattr(output, "bar", lambda: interrupt)
        assert run(*line).code == 1
    partial = Path("ranks.npz.partial")
    assert not Path("ranks.npz").exists()
    # a count of another kind is refused, and its work is kept
    run(*line, "--order", "ascending").refuses(1, "ranks.npz.partial")
    code, _, err = run(*line)
    assert (code, err) == (0, "Resumed: 8 kB of 40 kB had been counted before.\n")
    assert tr.load("ranks.npz").with_protocol(files=()) == tr.rank(scores, 5)
    assert not partial.exists()


HEADER = "candidates\tquery\trank\ttarget\n"
ROWS = HEADER + "9\ta\t1\tx\n7\tb\t4\ty\n"
OF_TEXT: dict[str, Any] = {"candidates": [9, 7], "query": ["a", "b"], "target": ["x", "y"]}


SIDES = "pessimistic\tunit\toptimistic\tside\n3\tu\t2\thead\n5\tu\t5\ttail\n"
UNITS = {"candidates": 7, "side": ["head", "tail"], "unit": ["u", "u"]}
TAIL = {"candidates": 7, "side": "tail"}


@pytest.mark.parametrize(
    ("name", "text", "line", "ranks"),
    [
        ("r.tsv", ROWS, "", ([1, 4], None, OF_TEXT)),
        ("r.csv", ROWS.replace("\t", ","), "", ([1, 4], None, OF_TEXT)),
        ("r", "rank\n2\n1\n", "--candidates sizes.npy", ([2, 1], None, {"candidates": [9, 7]})),
        ("r", "rank\n2\n1\n", "--candidates 7 --labels side=tail", ([2, 1], None, TAIL)),
        ("r.tsv", SIDES, "--candidates 7", ([2, 5], [3, 5], UNITS)),
    ],
)
def test_ranks_of_other_tools_in_text(
    run: Run, name: str, text: str, line: str, ranks: Any
) -> None:
    np.save("sizes.npy", np.array([9, 7]))
    Path(name).write_text(text)
    expected = tr.Ranks.from_ranks(ranks[0], ranks[1], **ranks[2])
    expected = expected.with_protocol(filter=["train"], split="test")
    saved = counted(run, f"{name} {line} --filtered-by train --split test")
    assert saved == expected
    assert saved.protocol.ties == ("unknown" if ranks[1] is None else None)
    assert name in saved.protocol.files


def test_ranks_in_text_are_compared_as_saved_ones(run: Run) -> None:
    Path("a.tsv").write_text(ROWS)
    Path("b.tsv").write_text(f"{HEADER}7\tb\t2\ty\n9\ta\t1\tx\n")
    for name in "ab":
        counted(run, f"{name}.tsv").save(f"{name}.npz")
    outcome = run("compare", "a.npz", "b.npz", "--json")
    assert "query and target ids" in outcome.out
    assert run("compare", "a.tsv", "b.npz", "--json") == outcome
    # The number is that of the files that have no such column.
    bare = "query\ttarget\trank\na\tx\t1\nb\ty\t2\n"
    for name in "ab":
        Path(f"{name}.tsv").write_text(bare)
    expected = run("compare", "a.tsv", "b.tsv", "--candidates", 9)
    assert expected.code == 0
    Path("b.tsv").write_text(bare.replace("\n", "\t9\n").replace("\t9", "\tcandidates", 1))
    assert run("compare", "a.tsv", "b.tsv", "--candidates", 9) == expected


RUNS = {"transe-1": [4, 9, 9], "transe-2": [9, 9, 2], "rotate": [0, 4, 9]}
OF_RUNS = """\
model             MRR ↑       Hits@1 ↑
transe-*  0.156 ± 0.031  0.000 ± 0.000
rotate    0.433*         0.333*

* the best of its column
± is the standard deviation of 2 runs.
"""


def save_runs() -> None:
    for name, above in RUNS.items():
        tr.Ranks(above, [1] * 3, 10, unit=[0, 1, 2]).save(f"{name}.npz")


def test_models_and_their_runs_are_one_table(run: Run) -> None:
    """A pattern is a model of several runs, and rows are called as `compare` calls models."""
    save_runs()
    line = ["transe-*.npz", "rotate.npz", "--metrics", "mrr,hits@1"]
    assert run("evaluate", *line) == (0, OF_RUNS, "")
    reports = {name: tr.report(tr.load(f"{name}.npz")) for name in RUNS}
    models = {"transe-*": [reports["transe-1"], reports["transe-2"]], "rotate": reports["rotate"]}
    content = json.loads(run("evaluate", *line, "--json").out)
    assert content == json.loads(tr.table(models, ["mrr", "hits@1"]).to_json())
    outcome = run("evaluate", *line, "--output", "rotate.npz", "--force")
    outcome.refuses(1, "--output: rotate.npz is one of the other files of this line")
    alone = run("evaluate", "transe-*.npz", "--interval", "--digits", 2)
    assert (
        alone.out.split("\n\n")[0]
        == str(tr.table({"transe-*": models["transe-*"]}, interval=True, digits=2)).split("\n\n")[0]
    )
    compared = run("compare", "transe-*.npz", "rotate-*.npz")
    compared.refuses(1, "rotate-*.npz: no file matches the pattern")
    Path("rotate.npz").rename("rotate-1.npz")
    tr.Ranks([1, 1, 2], [1] * 3, 10, unit=[0, 1, 2]).save("rotate-2.npz")
    rotate = [tr.report(tr.load(f"rotate-{i}.npz")) for i in (1, 2)]
    expected = tr.compare({"transe-*": models["transe-*"], "rotate-*": rotate})
    compared = run("compare", "transe-*.npz", "rotate-*.npz", "--json")
    assert json.loads(compared.out) == json.loads(expected.to_json())
    for more in (["--html", "x.html"], ["--margin", ".01"]):
        outcome = run("compare", "transe-*.npz", "rotate-*.npz", *more)
        outcome.refuses(2, "several runs" if "x.html" in more else "--margin and --by need two")


def test_the_gmr_of_runs_is_that_of_compare(run: Run) -> None:
    """The mean of the values of A is 136.1, and more than that of B."""
    runs = {"A-0": [0, 0, 0, 1], "A-1": [270] * 4, "B-0": [59] * 4, "B-1": [62] * 4}
    for name, above in runs.items():
        tr.Ranks(above, [1] * 4, 20_000, unit=range(4)).save(f"{name}.npz")
    line = ["A-*.npz", "B-*.npz", "--metrics", "gmr"]
    plain = run("evaluate", *line)
    assert plain.out.split("\n")[:3] == [
        "model  GMR \u2193  deviation of runs",
        "A-*    18.0*              190.8",
        "B-*    61.5                 2.1",
    ]
    compared = json.loads(run("compare", *line, "--json").out)["rows"][0]
    for more in ([], ["--interval"]):
        rows = json.loads(run("evaluate", *line, *more, "--json").out)["rows"]
        assert [row["gmr"] for row in rows] == [compared["value_a"], compared["value_b"]]


def test_the_note_on_few_units_is_that_of_the_fewest(run: Run) -> None:
    for name, number in {"fourteen": 14, "three": 3}.items():
        above = [5000] * number + [0] * (300 - number)
        tr.Ranks(above, [1] * 300, 9001).save(f"{name}.npz")
    for names in (["fourteen.npz", "three.npz"], ["three.npz", "fourteen.npz"]):
        printed = run("evaluate", *names, "--metrics", "mr", "--interval").out
        assert "\nFew units carry it: MR rests on about 3 of 300 tasks (three).\n" in printed
        assert "14 of 300" not in printed


def test_groups_of_models_have_rows(run: Run) -> None:
    names = {"side": ["head", "tail", "tail"]}
    for name, above in RUNS.items():
        tr.Ranks(above, [1] * 3, 10, **names).save(f"{name}.npz")
    reports = {name: tr.report(tr.load(f"{name}.npz"), by="side") for name in RUNS}
    expected = tr.table(reports, "mrr", groups=True)
    outcome = run("evaluate", *(f"{name}.npz" for name in RUNS), "--by", "side", "--metrics", "mrr")
    assert outcome == (0, f"{expected}\n", "")


def test_parts_of_a_task_are_no_runs(run: Run) -> None:
    facts = np.array([[i, 0, i + 1] for i in range(6)])
    task = tr.link_prediction.Task(facts, entities=9, relations=1, sides=["tail"])
    for part in range(2):
        report = task[part::2].evaluate_scores(tail=np.eye(9)[:6][part::2])
        report.ranks.save(f"part-{part}.npz")
    for name in ("evaluate", "compare"):
        more = ["ranks.npz"] if name == "compare" else []
        tr.Ranks([0], [1], 2).save("ranks.npz")
        outcome = run(name, "part-*.npz", *more)
        outcome.refuses(
            1, "part-*: expected runs of the whole task, got parts of it as runs 1 and 2"
        )
        assert "which merge (truerank.concatenate) joins" in outcome.err


def test_an_audit_says_that_one_rank_of_each_task_is_known(run: Run) -> None:
    Path("r.tsv").write_text(ROWS)
    lines = run("evaluate", "r.tsv", "--audit").out.splitlines()
    assert "One rank of each task is known, not what ties with it." in lines


@pytest.mark.parametrize("line", ["--by relaton", "--by rows.npy", "--labels relation=rows.npy"])
def test_labels_are_checked_before_a_count(run: Run, line: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tr, "rank", lambda *_, **__: pytest.fail("counted"))
        assert run("evaluate", "scores.npy", "targets.npy", *line.split()).code == 1
