"""Numbers that columns= does not name; fractions under BEIR's name for grades."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support.refusals import proposed_columns, refusal_message
from truerank import read_qrels
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only
DOCUMENTS = ["d1", "d2"]
NAMES: dict[str, Any] = {"query": "query_id", "document": "doc_id"}


def frame(rows: list[list[Any]], names: str) -> Any:
    return pd.DataFrame(rows, columns=names.split())


QRELS = frame([["q", "d1", 0], ["q", "d2", 2]], "query_id doc_id relevance")
WHAT_IT_IS = "; columns= says what it is"
RUN = frame([["q", "d2", 0.2], ["q", "d1", 0.9]], "query_id doc_id score")


# -- numbers that columns= does not name -----------------------------------------------------------


def test_numbers_of_a_table_are_named_or_refused() -> None:
    message = refusal_message(Task, QRELS, entities=DOCUMENTS, columns=NAMES)
    assert message.endswith("without column 'relevance', got one that is left out" + WHAT_IT_IS)
    task = Task(QRELS, entities=DOCUMENTS, columns={**NAMES, "relevance": "relevance"})
    message = refusal_message(task.evaluate_lists, RUN, columns=NAMES)
    assert message.endswith("without column 'score', got one that is left out" + WHAT_IT_IS)
    assert task.evaluate_lists(RUN, columns={**NAMES, "score": "score"})["mrr"] == 0.5
    assert not task.audit


def test_what_the_first_refusal_proposes_has_the_numbers() -> None:
    message = refusal_message(Task, QRELS, entities=DOCUMENTS)
    assert message.endswith("'document': '...'} says which are meant, and perhaps relevance")
    message = refusal_message(
        Task(QRELS, entities=2, columns={**NAMES, "relevance": 2}).evaluate_lists, RUN
    )
    assert message.endswith("'document': '...'} says which are meant, and perhaps score or rank")
    message = refusal_message(Task, QRELS[["query_id", "doc_id"]], entities=DOCUMENTS)
    assert list(proposed_columns(message)) == ["query", "document"]


def test_tables_without_numbers_have_none_to_name() -> None:
    in_order = RUN[["query_id", "doc_id"]]
    right = QRELS[["query_id", "doc_id"]][1:]
    task = Task(right, entities=DOCUMENTS, columns=NAMES)
    assert task.evaluate_lists(in_order, columns=NAMES)["mrr"] == 1.0


def test_a_named_number_leaves_the_others_out() -> None:
    both = RUN.assign(rank=[1, 2])  # of a first stage, beside the scores of a reranker
    task = Task(QRELS, entities=DOCUMENTS, columns={**NAMES, "relevance": "relevance"})
    assert task.evaluate_lists(both, columns={**NAMES, "score": "score"})["mrr"] == 0.5
    assert task.evaluate_lists(both, columns={**NAMES, "rank": "rank"})["mrr"] == 1.0
    message = refusal_message(task.evaluate_lists, both, columns=NAMES)
    assert message.endswith("without column 'score', got one that is left out" + WHAT_IT_IS)
    one_table = QRELS.merge(both)
    task = Task(one_table, entities=DOCUMENTS, columns={**NAMES, "relevance": "relevance"})
    assert task.evaluate_lists(one_table, columns={**NAMES, "score": "score"})["mrr"] == 0.5
    message = refusal_message(Task, one_table, entities=DOCUMENTS, columns=NAMES)
    assert message.endswith("without column 'relevance', got one that is left out" + WHAT_IT_IS)


def test_numbers_of_another_table_are_no_order_and_no_grades() -> None:
    """Qrels as lists would be right in any order, and a run as qrels would be all right."""
    task = Task(QRELS, entities=DOCUMENTS, columns={**NAMES, "relevance": "relevance"})
    assert refusal_message(task.evaluate_lists, QRELS, columns=NAMES).startswith(
        "ids: expected a table without column 'relevance', got"
    )
    ranks = RUN.drop(columns="score").assign(rank=[1, 2])
    assert refusal_message(Task, ranks, entities=DOCUMENTS, columns=NAMES).startswith(
        "qrels: expected a table without column 'rank', got"
    )


@pytest.mark.parametrize("is_file", [True, False])
def test_places_of_trec_are_named_or_refused(is_file: bool, tmp_path: Path) -> None:
    places = {"query": 0, "document": 2}
    qrels: Any = tmp_path / "qrels.txt"
    run: Any = tmp_path / "run.txt"
    qrels.write_text("q 0 d1 0\nq 0 d2 2\n")
    run.write_text("q Q0 d2 2 .2 t\nq Q0 d1 1 .9 t\n")
    if not is_file:
        qrels, run = (pd.read_csv(path, sep=" ", header=None) for path in (qrels, run))
    message = refusal_message(Task, qrels, entities=DOCUMENTS, columns=places)
    assert message.endswith("without column 3, got one that is left out" + WHAT_IT_IS)
    task = Task(qrels, entities=DOCUMENTS, columns={**places, "relevance": 3})
    message = refusal_message(task.evaluate_lists, run, columns=places)
    assert message.endswith("without column 4, got one that is left out" + WHAT_IT_IS)
    assert task.evaluate_lists(run, columns={**places, "score": 4})["mrr"] == 0.5


def test_ratings_at_other_places_may_be_left_out(tmp_path: Path) -> None:
    """Of u.data, where all that somebody rated is right; a warning shows the ratings."""
    path = tmp_path / "u.data"
    path.write_text("ann\td1\t5\t881250949\nann\td2\t1\t881250950\nbo\td1\t1\t8812\n")
    words = "column 2 is left out, with the values '5', '1': every judged document counts as right"
    with pytest.warns(UserWarning, match=words) as caught:
        task = Task(path, entities=DOCUMENTS, columns={"query": 0, "document": 1})
    assert len(caught) == 1  # and none of the times
    assert len(task.answers) == 3
    assert list(map(str, task.audit)) == [
        "left out of qrels: " + str(path) + ": column 2, column 3"
    ]


def test_left_out_columns_are_findings() -> None:
    hours = QRELS.rename(columns={"relevance": "hour"}).assign(hour=[0, 23])
    task = Task(hours, entities=DOCUMENTS, columns=NAMES)
    assert list(map(str, task.audit)) == ["left out of qrels: hour"]
    assert task.protocol.files == ("qrels (left out: columns hour)",)
    known = {"train": hours.assign(query_id="p", time=3)}
    task = Task({"q": ["d1"]}, entities=DOCUMENTS, known=known, columns=NAMES)
    assert str(task.audit[0]) == 'left out of known["train"]: hour, time'


LABELLED = pd.DataFrame({"qid": ["q"] * 5, "docno": list("abcde"), "label": [0, 2, 0, 0, 1]})
ROLES = {"query": "qid", "document": "docno"}
PLACES = {"query": 0, "document": 1}


def as_forms(table: Any, folder: Path) -> dict[str, tuple[Any, Any]]:
    """Return a table in each form that has columns, and what names those of its roles."""
    table.to_csv(folder / "table.csv", index=False)
    table.to_csv(folder / "numbered.tsv", index=False, header=False, sep="\t")
    polars, pyarrow = map(pytest.importorskip, ("polars", "pyarrow"))
    columns = {name: table[name].tolist() for name in table}
    return {
        "pandas": (table, ROLES),
        "nullable": (table.convert_dtypes(), ROLES),
        "polars": (polars.DataFrame(columns), ROLES),
        "arrow": (pyarrow.table(columns), ROLES),
        "structured": (table.to_records(index=False), ROLES),
        "csv": (folder / "table.csv", ROLES),
        "numbered": (folder / "numbered.tsv", PLACES),
    }


FORMS = ("pandas", "nullable", "polars", "arrow", "structured", "csv", "numbered")


def with_role(columns: Any, role: str, name: str) -> Any:
    """Return `columns` that name the third column, too, which no message may guess."""
    return {**columns, role: 2 if columns is PLACES else name}


GRADES: list[Any] = [
    [0, 2, 0, 0, 1],
    [0, 0.5, 1, 0, 0.5],
    [-2, 0, 1, 2, 2],
    [-1, 1, 1, -1, -1],
    [0, 10, 10, 0, 0],
    [0, 6, 3, 4, 3],
    [1, 5, 3, 5, 4],  # stars
    [True, False, True, True, False],
    [0, 2, None, 0, 1],
]
WORDS = [["Exact", "Partial", "Irrelevant", "Exact", "Exact"], ["yes", "no", "no", "yes", "no"]]
WORDS += [["L0", "L1", "L2", "L0", "L1"]]
AS_RIGHT = "every judged document counts as right"


@pytest.mark.parametrize("form", [*FORMS, "tuple"])
@pytest.mark.parametrize("values", [*GRADES, *WORDS], ids=str)
def test_columns_like_grades_are_refused_by_their_name_or_shown(
    values: Any, form: str, tmp_path: Path
) -> None:
    """Under another name, or none, they may be of folds, and words are no numbers."""
    for name in ("label", "Rating", "click"):
        table = LABELLED.rename(columns={"label": name}).assign(**{name: values})
        forms = as_forms(table, tmp_path)
        forms["tuple"] = tuple(table[column].tolist() for column in table), PLACES
        qrels, columns = forms[form]
        call = partial(Task, qrels, entities=list("abcde"), columns=columns)
        if name == "click" or columns is PLACES or values in WORDS:
            with pytest.warns(UserWarning, match=f"^qrels: .*left out, with the .*: {AS_RIGHT}"):
                assert len(call().answers) == 5
        else:
            words = f"expected a table without column '{name}', got one left out, with the values"
            assert words in refusal_message(call)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["label", "grade", "rel"])
def test_grades_are_named_or_refused(name: str, form: str, tmp_path: Path) -> None:
    table = LABELLED.rename(columns={"label": name})
    qrels, columns = as_forms(table, tmp_path)[form]
    named = with_role(columns, "relevance", name)
    task = Task(qrels, entities=list("abcde"), columns=named)
    assert task.evaluate_lists({"q": ["a", "b", "c"]})["mrr"] == 0.5
    if form == "numbered":
        return
    known = {"train": qrels}
    words = refusal_message(
        Task, {"q": ["a"]}, entities=list("abcde"), known=known, columns=columns
    )
    assert words.startswith('known["train"]: ')


@pytest.mark.parametrize("form", FORMS)
def test_bools_are_named_or_refused(form: str, tmp_path: Path) -> None:
    """In text they are no grades either, before they are made numbers."""
    table = LABELLED.assign(label=LABELLED.label > 0)
    qrels, columns = as_forms(table, tmp_path)[form]
    named = with_role(columns, "relevance", "label")
    if form in ("csv", "numbered"):
        words = refusal_message(Task, qrels, entities=list("abcde"), columns=named)
        assert "expected a number as the relevance" in words
        qrels, _ = as_forms(table.astype({"label": int}), tmp_path)[form]
    task = Task(qrels, entities=list("abcde"), columns=named)
    assert task.evaluate_lists({"q": ["a", "b", "c"]})["mrr"] == 0.5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("hour", [0, 7, 13, 23, 1]),
        ("title", ["A", "B", "C", "D", "E"]),
        ("label", [0, 0, 0, 0, 0]),
        ("label", [True, True, True, True, True]),
        ("label", ["x", "x", "x", "x", "x"]),
    ],
)
def test_other_columns_of_judgements_may_be_left_out(
    name: str, values: Any, form: str, tmp_path: Path
) -> None:
    table = LABELLED.rename(columns={"label": name}).assign(**{name: values})
    qrels, columns = as_forms(table, tmp_path)[form]
    task = Task(qrels, entities=list("abcde"), columns=columns)
    assert len(task.answers) == 5
    assert len(task.audit) == 1
    assert task.audit[0].name.startswith("left out of qrels")


@pytest.mark.parametrize("form", FORMS)
def test_what_a_document_or_a_query_has_for_itself_is_no_grade(form: str, tmp_path: Path) -> None:
    names = ["qid", "docno", "title", "year", "lang", "rating", "time"]
    rows = [
        ("p", "a", "A", 1999, "en", 3, "17:01"),
        ("p", "b", "B", 2001, "en", 3, "17:02"),
        ("q", "a", "A", 1999, "de", 5, "17:03"),
        ("q", "b", "B", 2001, "de", 5, "17:04"),
        ("r", "a", "A", 1999, "de", 5, "17:05"),
        ("r", "c", "A", 1999, "de", 5, "17:06"),
    ]
    qrels, columns = as_forms(pd.DataFrame(rows, columns=names), tmp_path)[form]
    assert len(Task(qrels, entities=list("abc"), columns=columns).answers) == 6
    many = [("q", f"d{i}", f"text {i}", i, "en", 5, i % 21) for i in range(63)]
    qrels, columns = as_forms(pd.DataFrame(many, columns=names), tmp_path)[form]
    assert len(Task(qrels, columns=columns).answers) == 63


@pytest.mark.parametrize("form", ["pandas", "nullable", "polars", "structured", "csv"])
def test_missing_grades_hide_no_others(form: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"qid": "q", "docno": [f"d{i}" for i in range(90)], "rating": [1, 2.5, None] * 30}
    )
    qrels, columns = as_forms(table, tmp_path)[form]
    assert "without column 'rating'" in refusal_message(Task, qrels, columns=columns)


def test_words_of_grades_in_a_published_form() -> None:
    """As in Shopping Queries: MAP .593 of the exact ones, 1.0 of all that are judged."""
    table = pd.DataFrame(
        [(q, f"{q}{i}", word) for q in "pq" for i, word in enumerate(["I", "P", "E", "I", "E"])],
        columns=["qid", "docno", "esci_label"],
    )
    lists = {q: [f"{q}{i}" for i in range(5)] for q in "pq"}
    with pytest.warns(UserWarning, match=f"column 'esci_label' is .* 'I', 'P', 'E': {AS_RIGHT}"):
        assert Task(table, columns=ROLES).evaluate_lists(lists)["map"] == 1.0
    right = table[table.esci_label == "E"][["qid", "docno"]]
    assert Task(right, columns=ROLES).evaluate_lists(lists)["map"] == pytest.approx(11 / 30)


def test_what_was_read_warns_once(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "qrels.csv"
    LABELLED.assign(label=WORDS[0]).to_csv(path, index=False)
    Task(read_qrels(path, columns=ROLES), entities=list("abcde"))
    assert [str(each.message).split(":")[0] for each in recwarn] == ["path"]


@pytest.mark.parametrize("form", FORMS)
def test_fractions_of_lists_are_named_or_refused(form: str, tmp_path: Path) -> None:
    table = LABELLED.rename(columns={"label": "sim"}).assign(sim=[0.1, 0.2, 0.9, 1.0, 0.3])
    lists, columns = as_forms(table, tmp_path)[form]
    task = Task({"q": ["d"]}, entities=list("abcde"))
    message = refusal_message(task.evaluate_lists, lists, columns=columns)
    assert message.endswith("got one that is left out, of fractions, like scores" + WHAT_IT_IS)
    named = with_role(columns, "score", "sim")
    assert task.evaluate_lists(lists, columns=named)["mrr"] == 1.0
    for values in ([7, 7, 9, 1, 2], [1.0, 2.0, 3.0, 4.0, 5.0], list("vwxyz")):
        lists, _ = as_forms(table.assign(sim=values), tmp_path)[form]
        assert task.evaluate_lists(lists, columns=columns)["mrr"] == 0.25


def test_a_named_relevance_leaves_other_grades_out() -> None:
    both = LABELLED.assign(click=[1, 0, 0, 0, 0])
    task = Task(both, entities=list("abcde"), columns={**ROLES, "relevance": "click"})
    assert task.evaluate_lists({"q": ["a", "b"]})["mrr"] == 1.0


# -- fractions under BEIR's name for grades --------------------------------------------------------


def beir(scores: Any) -> Any:
    return frame([["q", "d1"], ["q", "d2"]], "query-id corpus-id").assign(score=scores)


@pytest.mark.parametrize("is_file", [True, False])
def test_fractions_under_the_name_of_scores_are_no_grades(is_file: bool, tmp_path: Path) -> None:
    run = beir([0.9, 0.5])
    path = tmp_path / "qrels.tsv"
    run.to_csv(path, sep="\t", index=False)
    message = refusal_message(Task, path if is_file else run, entities=DOCUMENTS)
    assert message.endswith("fractions, up to 0.9; columns= says which are meant")
    columns = {"query": "query-id", "document": "corpus-id", "relevance": "score"}
    task = Task(run, entities=DOCUMENTS, columns=columns)
    assert task.gains is not None
    assert task.gains.tolist() == [0.9, 0.5]
    assert refusal_message(Task, {"q": ["d1"]}, entities=DOCUMENTS, known={"train": run})


@pytest.mark.parametrize("scores", [[1.0, 2.0], [1, 2], pd.array([1, 2], dtype="Int64")])
def test_whole_grades_have_any_dtype(scores: Any) -> None:
    task = Task(beir(scores), entities=DOCUMENTS)
    assert task.gains is not None
    assert task.gains.tolist() == [1.0, 2.0]


def test_fractions_are_grades_under_their_own_name() -> None:
    qrels = beir([0.9, 0.5]).rename(columns={"score": "relevance"})
    task = Task(qrels, entities=DOCUMENTS)
    assert task.gains is not None
    assert task.gains.tolist() == [0.9, 0.5]
