"""`truerank evaluate --lists`: runs, JSON and predictions, and wrong command lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import truerank as tr
from support import cli_files
from support.cli_files import Run
from truerank.link_prediction import read_predictions

pytestmark = pytest.mark.python_only

run = cli_files.run

RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.5 t\nq1 Q0 c 3 0.5 t\nq2 Q0 c 1 0.3 t\n"
QRELS = "q1 0 b 1\nq1 0 a 2\nq2 0 a 1\nq2 0 c 0\nq3 0 a 1\n"
PREDICTIONS = (
    "a likes b\nHeads: c\t0.9\ta\t0.5\t\nTails: a\t0.5\t\nc likes b\nHeads:\nTails: b\t1\n"
)
ORDER = "order.json"


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    named = {"q1": {"a": 0.9, "b": 0.5, "c": 0.5}, "q2": {"c": 0.3}}
    files = {
        "run.txt": RUN,
        "lists.json": json.dumps(named),
        "lists.jsonl": "\n".join(json.dumps({query: found}) for query, found in named.items()),
        ORDER: json.dumps({query: list(found) for query, found in named.items()}),
        "qrels.txt": QRELS,
        "more.txt": "q1 0 c 1\n",
        "names.txt": "a\nb\nc\nd\ne\n",
        "predictions": PREDICTIONS,
        "train.txt": "c\tlikes\ta\n",
        "empty.txt": "",
        "bad.txt": RUN + "q4 Q0\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "run.txt.gz").write_bytes(gzip.compress(RUN.encode()))
    return tmp_path


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz", "lists.json", "lists.jsonl", ORDER])
@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--candidates 100", {"candidates": 100}),
        ("--candidates 100 --filtered", {"candidates": 100, "filtered": True}),
        (
            "--candidates names.txt --known more.txt --nan worst --split dev --threads 1",
            {"candidates": list("abcde"), "known": {"q1": ["c"]}, "nan": "worst", "split": "dev"},
        ),
        ("--candidates 100 --order ascending", {"candidates": 100, "order": "ascending"}),
    ],
)
@pytest.mark.usefixtures("lists")
def test_runs_and_json(run: Run, name: str, line: str, options: dict[str, Any]) -> None:
    words = line.split()
    outcome = run("evaluate", "--lists", name, "--qrels", "qrels.txt", *words, "--format", "json")
    lists = tr.read_json_lists(name) if name == ORDER else tr.read_run("run.txt")
    expected = lists.rank(tr.read_qrels("qrels.txt"), **options)
    files = [name, *(["more.txt"] if "more.txt" in words else []), "qrels.txt"]
    files += ["names.txt"] if "names.txt" in words else []
    text = tr.report(expected.with_protocol(files=files)).to_json()
    assert outcome == (0, text.rstrip("\n") + "\n", "")


@pytest.mark.parametrize(
    ("line", "known", "options"),
    [
        ("", None, {}),
        ("--filtered --split valid", {}, {"split": "valid"}),
        ("--known train.txt --candidates 9", {"train": "train.txt"}, {"candidates": 9}),
        ("--candidates names.txt", None, {"entities": list("abcde")}),
    ],
)
def test_predictions(run: Run, lists: Path, line: str, known: Any, options: dict[str, Any]) -> None:
    words = line.split()
    outcome = run("evaluate", "--lists", "predictions", *words, "--format", "json")
    expected = read_predictions("predictions").evaluate(known, **options)
    files = ["predictions", *(word for word in ("train.txt", "names.txt") if word in words)]
    text = tr.report(expected.ranks.with_protocol(files=files)).to_json()
    assert outcome == (0, text.rstrip("\n") + "\n", "")
    assert expected.protocol.filter == (() if known is None else (*known, expected.protocol.split))


def test_the_report_says_what_misses_are(run: Run, lists: Path) -> None:
    line = "--lists run.txt --qrels qrels.txt --candidates 100 --save ranks.npz"
    code, out, err = run("evaluate", *line.split())
    assert (code, err) == (0, "")
    assert "2 of 4 tasks (50 %) are misses, whose target is not in its list" in out
    assert "from lists (scores)" in out
    saved = tr.load("ranks.npz")
    assert saved.listed is not None
    assert saved.listed.tolist() == [True, True, False, False]
    assert run("evaluate", "ranks.npz") == (code, out, err)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--lists run.txt --candidates 9", "--lists needs --qrels, the right answers"),
        ("--lists run.txt --qrels qrels.txt", "--lists needs --candidates, how many there are"),
        ("--lists run.txt run.txt --rows a.npy", "SCORES, --rows cannot apply to --lists"),
        ("--lists predictions --qrels qrels.txt", "--qrels: these predictions have their right"),
        ("run.txt --qrels qrels.txt", "--qrels: expected --lists beside it"),
        ("", "Missing argument 'SCORES'"),
        ("--lists absent --qrels qrels.txt --candidates 9", "absent"),
        ("--lists bad.txt --qrels qrels.txt --candidates 9", "--lists: bad.txt: line 5: expected"),
        ("--lists run.txt --qrels run.txt --candidates 9", "--qrels: run.txt: line 1: expected"),
        ("--lists run.txt --qrels qrels.txt --candidates 2", "--candidates: expected at least 3"),
        (
            "--lists run.txt --qrels qrels.txt --candidates 9 --known train.txt",
            "--known: train.txt: line 1: expected query, iteration",
        ),
        (
            "--lists run.txt --qrels qrels.txt --candidates 9 --save qrels.txt",
            "--save: qrels.txt is one of the files to be read",
        ),
        ("--lists predictions --candidates 2", "--candidates: expected an integer >= 3"),
        (
            "--lists predictions --candidates more.txt",
            "--lists: expected labels of entities",
        ),
    ],
)
def test_wrong_lines(run: Run, lists: Path, line: str, message: str) -> None:
    code, out, err = run("evaluate", *line.split())
    assert code != 0
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.filterwarnings("default")
def test_an_empty_file_lists_nothing(run: Run, lists: Path) -> None:
    line = "--lists empty.txt --qrels qrels.txt --candidates 9 --metrics optimistic.mr"
    code, out, err = run("evaluate", *line.split())
    assert (code, err[:62]) == (0, "Warning: --qrels: only 0 of 3 queries with right answers have ")
    assert "4 of 4 tasks (100 %) are misses" in out
