"""Rows of several models, which are not one list: what tells them apart is a column left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.cli_files import run_here
from support.examples import examples

pytestmark = pytest.mark.python_only

COLUMNS = {"query": "user", "document": "item", "score": "score"}
QRELS = {1: ["a"], 2: ["b"]}
ITEMS = list("abcdef")
# As of LensKit: "a" comes twice for user 1. SVD finds both right items first, KNN last.
ROWS = [
    *[("SVD", 1, "a", 0.9), ("SVD", 1, "b", 0.5), ("SVD", 2, "b", 0.8), ("SVD", 2, "c", 0.1)],
    *[("KNN", 1, "c", 3.0), ("KNN", 1, "a", 2.0), ("KNN", 2, "d", 7.0), ("KNN", 2, "b", 6.0)],
]
BOTH = pd.DataFrame(ROWS, columns=["algorithm", "user", "item", "score"])
TELLS = "column {} tells them apart: each of 2 values has its own list"
FIRST = "duplicates= says what a repeat is"
# The lists of two models that have no item in common, in each.
APART = BOTH.assign(item=list("abbccdda"))


def evaluate(lists: Any, **options: Any) -> tr.Report:
    task = tr.retrieval.Task(QRELS, entities=ITEMS)
    columns = None if isinstance(lists, dict) else COLUMNS
    return task.evaluate_lists(lists, **{"columns": columns, **options})


def refusal(lists: Any, **options: Any) -> str:
    with pytest.raises(tr.InputValueError) as error:
        evaluate(lists, **options)
    return str(error.value)


def pooled(report: tr.Report) -> list[str]:
    return [each.message for each in report.audit() if each.name == "pooled lists"]


@pytest.mark.parametrize("rows", [BOTH, BOTH[::-1], BOTH.sort_values("score")])
def test_the_message_names_the_column_that_tells_lists_apart(rows: pd.DataFrame) -> None:
    """Rows of SVD alone have the number of SVD, as its lists by key have."""
    message = refusal(rows)
    assert FIRST not in message
    assert message.endswith(TELLS.format("'algorithm'"))
    value = rows[rows["item"].eq("a") & rows["user"].eq(1)]["algorithm"].iloc[0]
    right = {"SVD": 1.0, "KNN": 0.5}
    assert evaluate(rows[rows["algorithm"] == value])["mrr"] == right[value]
    by_key = {1: {"a": 0.9, "b": 0.5}, 2: {"b": 0.8, "c": 0.1}}
    assert evaluate(by_key)["mrr"] == right["SVD"]


def test_whatever_has_rows_of_several_models_is_told_so(tmp_path: Path) -> None:
    """Ranks without scores, too; structured arrays; and runs of TREC, whose tags are systems."""
    tells = TELLS.format("'algorithm'")
    assert tells in refusal(BOTH.to_records(index=False))
    ranked = APART.assign(score=[1, 2] * 4).rename(columns={"score": "rank"})
    columns = {"query": "user", "document": "item", "rank": "rank"}
    message = refusal(ranked, columns=columns)
    assert "has the rank 1 twice" in message
    assert tells in message
    assert evaluate(ranked[ranked["algorithm"] == "SVD"], columns=columns)["mrr"] == 1
    path = tmp_path / "both.run"
    lines = [f"{user} Q0 {item} 1 {score} {name}\n" for name, user, item, score in ROWS]
    path.write_text("".join(lines))
    message = refusal(path, columns=None)
    assert message.endswith("in the last column, got 2: 'SVD' in 4, 'KNN' in 4 of 8 lines")
    assert "expected one tag, the name of the system" in message
    with pytest.raises(tr.InputValueError, match="expected one tag"):
        tr.read_run(path)
    named = {"query": 0, "document": 2, "score": 4}
    with pytest.raises(tr.InputValueError, match="expected one tag"):
        tr.read_run(path, columns=named, duplicates="first")
    # With other second columns than a run has, the last one is no tag.
    log = [line.replace("Q0", f"s{i}") for i, line in enumerate(lines)]
    path.write_text("".join(log))
    assert len(tr.read_run(path, columns=named, duplicates="first")) == 2
    path.write_text("".join(lines[:4]))
    assert evaluate(path, columns=None)["mrr"] == 1


def test_files_and_the_terminal_are_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("1 0 a 1\n2 0 b 1\n")
    line = "retrieval --qrels qrels --candidates 6 --metrics mrr --format csv "
    line += "--list-columns query=user,document=item,score=score --lists"
    for name, separator in {"both.csv": ",", "both.tsv": "\t"}.items():
        BOTH.to_csv(name, sep=separator, index=False)
        tells = TELLS.format("'algorithm'")
        assert refusal(name).endswith(tells)
        outcome = run_here(capsys, *line.split(), name)
        outcome.refuses(1, f"{name}: the list of '1' has 'a' twice, with 0.9 and 2.0; 2 of 2 l")
        assert outcome.err.endswith(f"{tells}\n")
        rows = Path(name).read_text().splitlines(keepends=True)
        Path(f"one-{name}").write_text("".join([rows[0], *filter(re.compile("SVD").match, rows)]))
        assert evaluate(f"one-{name}")["mrr"] == 1
        outcome = run_here(capsys, *line.split(), f"one-{name}")
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.splitlines()[-1].endswith(",1.0")
        APART.to_csv(name, sep=separator, index=False)
        words = "each list has 2 rows of each of 2 values of 'algorithm'"
        assert pooled(evaluate(name)) == [words]
        outcome = run_here(capsys, *line.replace("csv", "text").split(), name, "--audit")
        assert words in " ".join(outcome.out.split())


def test_lists_that_do_not_repeat_an_id_are_a_line_of_the_audit() -> None:
    words = "each list has 2 rows of each of 2 values of 'algorithm'"
    assert pooled(evaluate(APART)) == [words]
    # Nor where scores are equal, or each counts at its best.
    assert pooled(evaluate(BOTH.assign(score=1.0), order="descending")) == [words]
    assert pooled(evaluate(BOTH, duplicates="first")) == [words]
    assert pooled(evaluate(APART[:4])) == []
    # One row of a value may be anything.
    assert pooled(evaluate(APART[::2])) == []


OF_ITEM = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "x", "f": "y"}
ONE = pd.DataFrame(
    {
        "user": [1, 1, 1, 1, 2, 2, 2, 2],
        "item": list("acbdabcd"),
        "score": np.arange(8, 0, -1) / 8,
    }
)
TWINS = {
    "title": ONE["item"].map(lambda item: f"The {item}"),
    "shard": ONE["item"].map(OF_ITEM),
    "genre": ["drama", "drama", "drama", "war", "drama", "war", "war", "war"],
    "timestamp": range(1000, 1008),
    "day": [1, 1, 1, 1, 2, 2, 2, 2],
    "genres": [["drama", "war"]] * 8,
    "page": [1, 2, 3, 4, 1, 2, 3, 4],
}


@pytest.mark.parametrize("name", TWINS)
def test_other_columns_are_no_models(tmp_path: Path, name: str) -> None:
    """They stay silent; and where an item comes twice, the option for repeats is named."""
    rows = ONE.assign(**{name: TWINS[name]})
    report = evaluate(rows)
    assert (report["mrr"], pooled(report)) == (0.75, [])
    rows.to_csv(tmp_path / "lists.csv", index=False)
    assert pooled(evaluate(tmp_path / "lists.csv")) == []
    again = pd.concat([rows, rows[:1].assign(score=0.25)])
    if name in ("timestamp", "day", "page"):
        again[name] = [*rows[name], 5000]
    again.to_csv(tmp_path / "lists.csv", index=False)
    for lists in (again, tmp_path / "lists.csv"):
        assert refusal(lists).endswith(FIRST)
        assert evaluate(lists, duplicates="first")["mrr"] == 0.75


def test_sessions_of_users_are_no_models() -> None:
    """A value of one user alone selects no lists of the others."""
    rows = pd.concat([BOTH, BOTH.assign(user=BOTH["user"] + 2), BOTH.assign(user=BOTH["user"] + 4)])
    sessions = rows["user"].astype(str) + rows["algorithm"]
    renamed = rows.drop(columns="algorithm").assign(session=sessions).sort_values("user")
    assert refusal(renamed).endswith(FIRST)


SCORES = st.sampled_from([0.25, 0.5, 1.0, 2.0])


@st.composite
def models(draw: st.DrawFn) -> dict[str, dict[int, dict[str, float]]]:
    """Draw two or three models, each with as many rows for each user, two and more."""
    number = draw(st.integers(2, 4))
    lists = st.lists(st.sampled_from(ITEMS), min_size=number, max_size=number, unique=True)
    names = ["m0", "m1", "m2"][: draw(st.integers(2, 3))]
    return {
        name: {user: {item: draw(SCORES) for item in draw(lists)} for user in QRELS}
        for name in names
    }


@given(models(), st.randoms(use_true_random=False))
@examples(80)
def test_rows_of_models_are_said_to_be_so(drawn: Any, random: Any) -> None:
    """In any order: as an error whose way out has the number of the model, or in the audit."""
    rows = [
        (name, user, item, score)
        for name, lists in drawn.items()
        for user, scores in lists.items()
        for item, score in scores.items()
    ]
    random.shuffle(rows)
    table = pd.DataFrame(rows, columns=BOTH.columns)
    table["title"] = table["item"].str.upper()
    scores_of: dict[Any, set[float]] = {}
    for _, user, item, score in rows:
        scores_of.setdefault((user, item), set()).add(score)
    options: dict[str, Any] = {"order": "descending"}
    if any(len(scores) > 1 for scores in scores_of.values()):
        message = refusal(table, **options)
        assert re.search(r"column 'algorithm' tells them apart: each of \d values", message)
        for name, lists in drawn.items():
            one = evaluate(table[table["algorithm"] == name], **options)
            assert one.ranks == evaluate(lists, **options).ranks
    else:
        report = evaluate(table, **options)
        number = len(next(iter(drawn["m0"].values())))
        words = f"each list has {number} rows of each of {len(drawn)} values of 'algorithm'"
        values = table.groupby("item")["algorithm"].nunique()
        is_of_items = len(values) < len(table) and values.max() == 1
        assert pooled(report) == ([] if is_of_items else [words])
