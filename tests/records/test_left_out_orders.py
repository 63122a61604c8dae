"""Rows that are several lists, or in an order, by a column that is left out; and those that aren't.

Ranks beside scores, too, which say of a file what they say of a frame.
"""

from __future__ import annotations

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
from support.refusals import refusal_message

pytestmark = pytest.mark.python_only
FORMS = ("pandas", "polars", "arrow", "numbered frame", "csv", "tsv", "numbered file")
COLUMNS = {"query": "user", "document": "item", "score": "score"}
IN_ORDER = {"query": "user", "document": "item"}
FALLING = -np.sort(-np.random.default_rng(0).random((50, 10)))


def in_form(table: pd.DataFrame, form: str, folder: Path, columns: Any) -> tuple[Any, Any]:
    """Return a table in a form, and what names its columns there."""
    lists: Any = table
    if "numbered" in form:
        columns = {role: list(table).index(name) for role, name in columns.items()}
    if form == "numbered frame":
        lists = table.set_axis(range(table.shape[1]), axis=1)
    elif form == "polars":
        lists = pytest.importorskip("polars").DataFrame(table.to_dict("list"))
    elif form == "arrow":
        lists = pytest.importorskip("pyarrow").table(table.to_dict("list"))
    elif form != "pandas":
        lists = folder / ("lists.csv" if form == "csv" else "lists.tsv")
        separator = "," if form == "csv" else "\t"
        table.to_csv(lists, sep=separator, index=False, header=form != "numbered file")
    return lists, columns


def task_of(table: pd.DataFrame, right: dict[Any, list[Any]]) -> tr.retrieval.Task:
    """Return a task of all users and items of a table, which are str as those of files are."""
    return tr.retrieval.Task(right, entities=sorted(table["item"].unique()))


def run_lists(capsys: Any, table: pd.DataFrame, right: dict[Any, list[Any]], columns: Any) -> Any:
    """Evaluate the lists of a table at the terminal."""
    table.to_csv("of-model.csv", index=False)
    lines = [f"{user} 0 {item} 1\n" for user, items in right.items() for item in items]
    Path("qrels").write_text("".join(lines))
    names = ",".join(f"{role}={name}" for role, name in columns.items())
    line = f"retrieval --qrels qrels --lists of-model.csv --list-columns {names}"
    line += " --candidates 5000 --metrics mrr --format csv"
    return run_here(capsys, *line.split())


BEST_FIRST = {f"u{user}": [f"i{7 * user % 23}"] for user in range(50)}


# -- lists of one query, joined --------------------------------------------------------------------


def of_positives(n_users: int, n_positives: int, length: int) -> pd.DataFrame:
    """Return a sorted list for each positive of each user, with negatives of its own, as NCF has.

    The positive is the second of each list, or the first.
    """
    rows = []
    for user in range(n_users):
        rng = np.random.default_rng(user)
        items = iter(rng.permutation(n_positives * length).tolist())
        for i in range(n_positives):
            listed = [f"i{next(items)}" for _ in range(length)]
            scores = np.sort(rng.random(length))[::-1]
            positive = listed[(user + i) % 2]
            rows += [(f"u{user}", positive, *row) for row in zip(listed, scores, strict=True)]
    return pd.DataFrame(rows, columns=["user", "positive", "item", "score"])


NCF = of_positives(10, 3, 6)
POSITIVES = {user: list(dict.fromkeys(rows)) for user, rows in NCF.groupby("user")["positive"]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sign", [1, -1])
def test_lists_of_several_positives_are_no_list_of_the_user(
    tmp_path: Path, form: str, sign: int
) -> None:
    """The first positive of a user would count alone, among the negatives of all."""
    table = NCF.assign(score=sign * NCF["score"])
    lists, columns = in_form(table, form, tmp_path, COLUMNS)
    task = task_of(NCF, POSITIVES)
    name = 1 if "numbered" in form else "'positive'"
    order: Any = {} if sign > 0 else {"order": "ascending"}
    message = refusal_message(task.evaluate_lists, lists, columns=columns, **order)
    assert f"expected a table without column {name}, got one that is left out, at who" in message
    assert message.endswith("at whose changes the scores or ranks of a query begin anew")
    # A query is a user with a positive.
    keys = NCF["user"] + " " + NCF["positive"]
    each = task_of(NCF, {key: [key.split()[1]] for key in keys.unique()})
    report = each.evaluate_lists(NCF.assign(user=keys), columns=COLUMNS)
    assert report["mrr"] == 0.75
    # Whoever means one list of all has no such column.
    joined = task.evaluate_lists(NCF.drop(columns="positive"), columns=COLUMNS)
    assert joined["mrr"] == pytest.approx(0.8)


def test_the_terminal_and_read_run_refuse_joined_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "a table without column 'positive', got one that is left out, at whose changes"
    run_lists(capsys, NCF, POSITIVES, COLUMNS).refuses(1, words)
    assert words in refusal_message(tr.read_run, "of-model.csv", columns=COLUMNS)
    assert run_lists(capsys, NCF.drop(columns="positive"), POSITIVES, COLUMNS).code == 0
    # A run has one tag.
    fields = zip(NCF["user"], NCF["item"], NCF["score"], NCF["positive"], strict=True)
    Path("run").write_text("".join(f"{q} Q0 {d} 1 {s} {tag}\n" for q, d, s, tag in fields))
    assert "expected one tag, the name of the system, in the" in refusal_message(tr.read_run, "run")


@pytest.mark.parametrize("form", ["pandas", "csv"])
def test_lists_by_key_are_looked_at_likewise(tmp_path: Path, form: str) -> None:
    facts = [(user, "likes", item) for user, items in POSITIVES.items() for item in items]
    names = sorted({*NCF["user"], *NCF["item"]})
    task = tr.link_prediction.Task(facts, {}, entities=names, sides=["tail"])
    table = NCF.rename(columns={"user": "head", "item": "tail"}).assign(relation="likes")
    columns = {"head": "head", "relation": "relation", "tail": "tail", "score": "score"}
    lists, columns = in_form(table, form, tmp_path, columns)
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    assert "without column 'positive'" in message
    task.evaluate_lists(table.drop(columns="positive"))


@pytest.mark.parametrize("form", ["pandas", "csv"])
def test_ranks_that_begin_anew_are_of_several_lists(tmp_path: Path, form: str) -> None:
    """Also where none comes twice, as each list has every third."""
    place = NCF.groupby(["user", "positive"], sort=False).cumcount()
    n_before = NCF.groupby("user")["positive"].transform(lambda x: pd.factorize(x)[0])
    table = NCF.assign(score=3 * place + n_before).rename(columns={"score": "rank"})
    lists, columns = in_form(table, form, tmp_path, {**IN_ORDER, "rank": "rank"})
    task = task_of(NCF, POSITIVES)
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    assert "without column 'positive'" in message
    task.evaluate_lists(table.drop(columns="positive"), columns=columns)


def one_list_each(scores: Any, **others: Any) -> pd.DataFrame:
    """Return a list of each user; items are listed for several."""
    n_users, length = np.shape(scores)
    user = np.repeat(np.arange(n_users), length)
    place = np.tile(np.arange(length), n_users)
    item = (7 * user + 3 * place) % 23
    columns = {"user": user, "item": item}
    texts = {name: [f"{name[0]}{i}" for i in numbers] for name, numbers in columns.items()}
    return pd.DataFrame(texts | {"score": np.ravel(scores)} | others)


PLACES = np.tile(np.arange(10), 50)
# Columns that tell no lists apart where scores fall from row to row.
ALONG = {
    "page": PLACES // 5,
    "page of two": PLACES // 2,
    "position": PLACES,
    "title": [f"The {i}" for i in range(500)],
    "source": np.where(PLACES % 3, "dense", "sparse"),
    "day": np.repeat(np.arange(50) // 5, 10),
    "time": np.arange(500),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALONG)
def test_columns_along_one_list_are_left_out(tmp_path: Path, name: str, form: str) -> None:
    table = one_list_each(FALLING, **{name: ALONG[name]})
    lists, columns = in_form(table, form, tmp_path, COLUMNS)
    task = task_of(table, BEST_FIRST)
    assert task.evaluate_lists(lists, columns=columns)["mrr"] == 1
    lists, columns = in_form(table.sample(frac=1, random_state=1), form, tmp_path, COLUMNS)
    assert task.evaluate_lists(lists, columns=columns)["mrr"] == 1


@pytest.mark.parametrize("form", ["pandas", "csv"])
def test_shards_of_documents_are_no_lists(tmp_path: Path, form: str) -> None:
    """Results of each shard, one behind the other, whose scores can be compared."""
    table = one_list_each(FALLING)
    table["shard"] = table["item"].str[1:].astype(int) % 2
    table = table.sort_values(["user", "shard", "score"], ascending=[True, True, False])
    lists, columns = in_form(table, form, tmp_path, COLUMNS)
    task = task_of(table, BEST_FIRST)
    assert task.evaluate_lists(lists, columns=columns)["mrr"] == 1


@pytest.mark.parametrize("form", ["pandas", "csv"])
def test_rows_of_joined_lists_may_stand_apart(tmp_path: Path, form: str) -> None:
    """As where each round lists a positive of each user."""
    rounds = NCF.groupby("user")["positive"].transform(lambda x: pd.factorize(x)[0])
    table = NCF.iloc[np.argsort(rounds, kind="stable")]
    lists, columns = in_form(table, form, tmp_path, COLUMNS)
    message = refusal_message(task_of(NCF, POSITIVES).evaluate_lists, lists, columns=columns)
    assert "without column 'positive'" in message


# -- numbers by which rows are in order ------------------------------------------------------------

BM25 = np.sort(np.random.default_rng(1).integers(5, 40, (50, 10)))  # The best is last.
BEST_LAST = {f"u{user}": [f"i{(7 * user + 27) % 23}"] for user in range(50)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["bm25", "ties", "position", "falling"])
def test_an_order_of_rows_is_named_or_refused(tmp_path: Path, name: str, form: str) -> None:
    """Of whole numbers nobody knows whether they are scores, which the rows contradict."""
    positions = PLACES.reshape(50, 10) + 1
    orders = {"bm25": BM25, "ties": BM25 // 6, "position": positions, "falling": -BM25}
    numbers = orders[name]
    table = one_list_each(numbers).rename(columns={"score": name})
    lists, columns = in_form(table, form, tmp_path, IN_ORDER)
    task = task_of(table, BEST_LAST)
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    number = 2 if "numbered" in form else repr(name)
    assert f"expected a table without column {number}, got one that is left out; rows" in message
    place = 2 if "numbered" in form else name
    named = task.evaluate_lists(lists, columns={**columns, "score": place}, order="descending")
    by_rows = task.evaluate_lists(table[["user", "item"]], columns=IN_ORDER)
    assert by_rows["mrr"] == pytest.approx(0.1)
    assert by_rows["mrr"] < named["mrr"] or name == "falling"


@pytest.mark.parametrize("form", ["pandas", "csv"])
def test_an_order_of_long_lists_is_seen(tmp_path: Path, form: str) -> None:
    """The first thousand rows have as many places."""
    n = 1100
    user = np.repeat(["u0", "u1"], n)
    table = pd.DataFrame({"user": user, "item": [f"i{i}" for i in range(2 * n)]})
    table["place"] = np.tile(np.arange(n), 2)
    lists, columns = in_form(table, form, tmp_path, IN_ORDER)
    task = task_of(table, {"u0": ["i0"], "u1": [f"i{n}"]})
    assert "column 'place'" in refusal_message(task.evaluate_lists, lists, columns=columns)
    table["place"] = range(2 * n)
    lists, columns = in_form(table, form, tmp_path, IN_ORDER)
    assert task.evaluate_lists(lists, columns=columns)["mrr"] == 1


def test_the_terminal_refuses_an_order_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = one_list_each(BM25).rename(columns={"score": "bm25"})
    words = "without column 'bm25', got one that is left out; rows of a query are in order by it"
    run_lists(capsys, table, BEST_LAST, IN_ORDER).refuses(1, words)
    outcome = run_lists(capsys, table[["user", "item"]], BEST_LAST, IN_ORDER)
    assert (outcome.code, outcome.err) == (0, "")
    assert float(outcome.out.splitlines()[-1].split(",")[-1]) == pytest.approx(0.1)


UNORDERED = {
    "page": PLACES // 5,
    "page of two": PLACES // 2 + 1,
    "row": np.arange(500),  # as of a frame's index, which goes on from list to list
    "year": np.random.default_rng(2).integers(1950, 2020, 500),
    "day": np.repeat(np.arange(50) % 7, 10),
    "sponsored": PLACES < 2,
    "word": [f"w{i}" for i in range(500)],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", UNORDERED)
def test_numbers_without_an_order_are_left_out(tmp_path: Path, name: str, form: str) -> None:
    table = one_list_each(FALLING).drop(columns="score").assign(**{name: UNORDERED[name]})
    lists, columns = in_form(table, form, tmp_path, IN_ORDER)
    assert task_of(table, BEST_LAST).evaluate_lists(lists, columns=columns)["mrr"] < 0.11


# -- columns that are numbered ---------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS[:3] + FORMS[4:6])
@pytest.mark.parametrize("names", ["t1 t2 t3", "item_1 item_2 item_3", "item item2 item3"])
def test_wide_tables_are_refused_together(tmp_path: Path, form: str, names: str) -> None:
    """Of three right items the first alone would be listed: a recall of .333 for 1."""
    first, second, third = names.split()
    table = pd.DataFrame({"user": ["u"], first: ["a"], second: ["b"], third: ["c"]})
    columns = {"query": "user", "document": first}
    lists, columns = in_form(table, form, tmp_path, columns)
    task = tr.retrieval.Task({"u": ["a", "b", "c"]}, entities=list("abcd"))
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    assert "expected a row for each entry, got column" in message
    assert message.endswith(f"'{first}', and 2 left out: '{second}', '{third}'")
    qrels = {"qrels": lists, "entities": list("abcd"), "columns": columns}
    assert refusal_message(tr.retrieval.Task, **qrels).endswith(f"'{second}', '{third}'")
    long = pd.DataFrame({"user": ["u"] * 3, "item": ["a", "b", "c"]})
    assert task.evaluate_lists(long, columns=IN_ORDER)["recall@10"] == 1


def test_the_terminal_refuses_wide_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    items = {f"t{i}": [f"i{i}"] for i in range(1, 501)}
    table = pd.DataFrame({"user": ["u"], **items})
    columns = {"query": "user", "document": "t1"}
    words = "got column 't1', and 499 left out: 't2', 't3', 't4', ..."
    run_lists(capsys, table, {"u": ["i1"]}, columns).refuses(1, words)


def test_a_number_alone_makes_no_wide_table(tmp_path: Path) -> None:
    """Names that are numbers, and such that begin otherwise, are of other columns."""
    rows = pd.DataFrame([["u", "a", 3, 7], ["u", "b", 2, 8]])
    task = tr.retrieval.Task({"u": ["a"]}, entities=["a", "b"])
    for names in (
        ["0", "1", "2", "3"],
        ["user", "item", "model1", "model2"],
        ["u", "t1", "s", "t"],
    ):
        columns = dict(zip(("query", "document", "score"), names, strict=False))
        rows.set_axis(names, axis=1).to_csv(tmp_path / "rows.csv", index=False)
        for lists in (rows.set_axis(names, axis=1), tmp_path / "rows.csv"):
            assert task.evaluate_lists(lists, columns=columns)["mrr"] == 1


# -- ranks beside scores ---------------------------------------------------------------------------


def with_ranks(variant: str) -> pd.DataFrame:
    """Return lists whose first item, of rank 1, has the least score, in a layout of lines."""
    n_lists = 400  # More lines than are looked at for the form of a file.
    place = np.tile([1, 2, 3], n_lists)
    query = [f"u{i}" for i in np.repeat(np.arange(n_lists), 3)]
    table = pd.DataFrame({"user": query, "item": [f"i{i}" for i in place], "rank": place})
    table["score"] = place / 8
    if variant == "best last":
        return table[::-1]
    if variant == "shuffled":
        return table.sample(frac=1, random_state=0)
    if variant == "one swap":
        return table.iloc[[1, 0, *range(2, len(table))]]
    if variant == "tied firsts":
        table.loc[place == 2, "score"] = 1 / 8
    if variant == "unlike lines first":
        # The first lists fall, a twentieth of all.
        table.loc[:59, "score"] *= -1
    if variant == "no numbers":
        return table.assign(rank=["x", *place[1:]])
    return table


VARIANTS = ["in order", "best last", "shuffled", "one swap", "tied firsts", "unlike lines first"]
NAMED = {**IN_ORDER, "rank": "rank", "score": "score"}


def in_run(table: pd.DataFrame, folder: Path) -> Path:
    rows = zip(*(table[name] for name in ("user", "item", "rank", "score")), strict=True)
    (folder / "run").write_text("".join(f"{q} Q0 {d} {r} {s} tag\n" for q, d, r, s in rows))
    return folder / "run"


@pytest.mark.parametrize("form", ["pandas", "csv", "run", "numbered file"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_ranks_that_rise_with_scores_are_refused_in_any_layout(
    tmp_path: Path, variant: str, form: str
) -> None:
    table = with_ranks(variant)
    lists, columns = in_form(table, form, tmp_path, NAMED)
    if form == "run":
        lists, columns = in_run(table, tmp_path), None
    task = task_of(table, {f"u{i}": ["i1"] for i in range(400)})
    n_rising = 380 if variant == "unlike lines first" else 400
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    assert f"ranks rise with the scores in {n_rising} of 400 queries" in message
    if variant not in ("tied firsts", "unlike lines first"):
        by_order = {"ascending": 1, "descending": 1 / 3}
        for order, value in by_order.items():
            report = task.evaluate_lists(lists, columns=columns, order=order)
            assert report["mrr"] == pytest.approx(value)


def test_the_terminal_refuses_ranks_that_rise_with_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    in_run(with_ranks("shuffled"), tmp_path)
    Path("qrels").write_text("".join(f"u{i} 0 i1 1\n" for i in range(400)))
    line = "retrieval --qrels qrels --lists run --candidates 9 --metrics mrr --format csv"
    words = "ranks rise with the scores in 400 of 400 queries; --order says whether"
    run_here(capsys, *line.split()).refuses(1, words)
    outcome = run_here(capsys, *line.split(), "--order", "ascending")
    assert outcome.out.splitlines()[-1].endswith(",1.0")


@pytest.mark.parametrize("form", ["csv", "run"])
def test_what_is_no_rank_says_nothing_and_the_others_do(tmp_path: Path, form: str) -> None:
    table = with_ranks("no numbers")
    lists = in_run(table, tmp_path) if form == "run" else in_form(table, form, tmp_path, NAMED)[0]
    task = task_of(table, {f"u{i}": ["i1"] for i in range(400)})
    columns = None if form == "run" else NAMED
    assert "in 400 of 400 qu" in refusal_message(task.evaluate_lists, lists, columns=columns)
    table["rank"] = "x"
    lists = in_run(table, tmp_path) if form == "run" else in_form(table, form, tmp_path, NAMED)[0]
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    assert "scores rise in 400 of 400 lists" in message  # So the lines say it.


# -- what is taken ---------------------------------------------------------------------------------


@st.composite
def right_tables(draw: st.DrawFn) -> tuple[pd.DataFrame, bool]:
    """Draw one list of each user, with columns of any meaning; say whether it has scores."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_users = draw(st.integers(1, 12))
    most = draw(st.sampled_from([2, 5, 30]))
    lengths = rng.integers(1, most + 1, n_users)
    user = np.repeat(np.arange(n_users), lengths)
    place = np.concatenate([np.arange(length) for length in lengths])
    item = np.concatenate([rng.permutation(40)[:length] for length in lengths])
    numbers = rng.random(len(user))
    if draw(st.booleans()):  # as of BM25
        numbers = rng.integers(3, 20, len(user)).astype(float)
    is_sorted = draw(st.booleans())
    if is_sorted:
        numbers = numbers[np.lexsort((-numbers, user))]
    size = draw(st.integers(2, 6))
    table = pd.DataFrame(
        {
            "user": [f"u{i}" for i in user],
            "item": [f"i{i}" for i in item],
            "score": numbers,
            "page": place // size,
            "shard": item % size,
            "title": [f"The {i}" for i in item],
            "day": user % size,
            "color": rng.choice(["red", "green", "blue"], len(user)),
            "year": rng.integers(1990, 1990 + 8 * size, len(user)),
        }
    )
    has_scores = draw(st.booleans())
    return table if has_scores else table.drop(columns="score"), has_scores


@given(right_tables())
@examples(120)
def test_other_tables_are_taken(tmp_path_factory: Any, drawn: tuple[pd.DataFrame, bool]) -> None:
    """Frame and file, with the numbers of the lists by key, whose order means nothing."""
    table, has_scores = drawn
    folder = tmp_path_factory.mktemp("taken")
    columns = COLUMNS if has_scores else IN_ORDER
    right = table.groupby("user")["item"].first().map(lambda item: [item]).to_dict()
    task = tr.retrieval.Task(right, entities=[f"i{i}" for i in range(40)])
    by_key: dict[Any, Any] = {user: list(rows) for user, rows in table.groupby("user")["item"]}
    if has_scores:
        groups = table.groupby("user")
        by_key = {x: dict(zip(rows["item"], rows["score"], strict=True)) for x, rows in groups}
    expected = task.evaluate_lists(by_key)
    for form in ("pandas", "csv", "numbered file"):
        lists, names = in_form(table, form, folder, columns)
        assert task.evaluate_lists(lists, columns=names).ranks == expected.ranks


@given(st.integers(0, 2**32 - 1), st.sampled_from(["in order", "shuffled", "constant"]))
@examples(60)
def test_runs_of_trec_are_taken(tmp_path_factory: Any, seed: int, layout: str) -> None:
    """With whole scores and ties, one tag, and lists of any length; lines in any order."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, rng.integers(1, 15))
    user = np.repeat(np.arange(len(lengths)), lengths)
    scores = rng.integers(0, 25, len(user)).astype(float)
    scores = scores[np.lexsort((-scores, user))]
    rank = np.concatenate([np.arange(1, length + 1) for length in lengths])
    item = np.concatenate([rng.permutation(40)[:length] for length in lengths])
    table = pd.DataFrame({"user": user, "item": item, "rank": rank, "score": scores})
    table = table.assign(rank=0) if layout == "constant" else table
    table = table.sample(frac=1, random_state=seed) if layout == "shuffled" else table
    path = in_run(table, tmp_path_factory.mktemp("run"))
    run = tr.read_run(path)
    by_key = {
        str(key): dict.fromkeys(map(str, rows["item"])) for key, rows in table.groupby("user")
    }
    assert {key: set(scores) for key, scores in run.items()} == {
        k: set(v) for k, v in by_key.items()
    }
    task = tr.retrieval.Task({query: list(scores)[:1] for query, scores in run.items()})
    for lists in (run, path):
        report = task.evaluate_lists(lists)
        assert report.ranks == task.evaluate_lists(lists, order="descending").ranks
