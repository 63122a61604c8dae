"""What is right and what is known: a column, a row or a name that could mean two things is refused.

Beside each mistake stands its twin, an ordinary call that is nearly the same.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.cli_files import start
from truerank.errors import InputError
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only
DOCUMENTS = ["d1", "d2"]
NAMES: dict[str, Any] = {"query": "query_id", "document": "doc_id"}


def frame(rows: list[list[Any]], names: str) -> Any:
    return pd.DataFrame(rows, columns=names.split())


QRELS = frame([["q", "d1", 0], ["q", "d2", 2]], "query_id doc_id relevance")
RUN = frame([["q", "d2", 0.2], ["q", "d1", 0.9]], "query_id doc_id score")


def refusal_of(function: Any, *args: Any, **options: Any) -> str:
    """Return the message of the refusal of a call."""
    with pytest.raises(InputError) as caught:
        function(*args, **options)
    return str(caught.value)


def proposed_columns(message: str) -> Any:
    """Return the `columns` that a message proposes first, as somebody who copies it would."""
    match = re.search(r"columns=(\{.*?\})", message)
    assert match is not None, message
    return eval(match[1])


# -- numbers that columns= does not name -----------------------------------------------------------


def test_numbers_of_a_table_are_named_or_refused() -> None:
    message = refusal_of(Task, QRELS, entities=DOCUMENTS, columns=NAMES)
    task = Task(QRELS, entities=DOCUMENTS, columns=proposed_columns(message))
    message = refusal_of(task.evaluate_lists, RUN, columns=NAMES)
    assert task.evaluate_lists(RUN, columns=proposed_columns(message))["mrr"] == 0.5
    assert not task.audit


def test_what_the_first_refusal_proposes_has_the_numbers() -> None:
    message = refusal_of(Task, QRELS, entities=DOCUMENTS)
    assert list(proposed_columns(message)) == ["query", "document", "relevance"]
    message = refusal_of(
        Task(QRELS, entities=2, columns={**NAMES, "relevance": 2}).evaluate_lists, RUN
    )
    assert list(proposed_columns(message)) == ["query", "document", "score"]
    message = refusal_of(Task, QRELS[["query_id", "doc_id"]], entities=DOCUMENTS)
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
    message = refusal_of(task.evaluate_lists, both, columns=NAMES)
    assert proposed_columns(message) == {**NAMES, "score": "score"}
    one_table = QRELS.merge(both)
    task = Task(one_table, entities=DOCUMENTS, columns={**NAMES, "relevance": "relevance"})
    assert task.evaluate_lists(one_table, columns={**NAMES, "score": "score"})["mrr"] == 0.5
    message = refusal_of(Task, one_table, entities=DOCUMENTS, columns=NAMES)
    assert proposed_columns(message) == {**NAMES, "relevance": "relevance"}


def test_numbers_of_another_table_are_no_order_and_no_grades() -> None:
    """Qrels as lists would be right in any order, and a run as qrels would be all right."""
    task = Task(QRELS, entities=DOCUMENTS, columns={**NAMES, "relevance": "relevance"})
    assert refusal_of(task.evaluate_lists, QRELS, columns=NAMES).startswith(
        "ids: expected a table without column 'relevance', got"
    )
    ranks = RUN.drop(columns="score").assign(rank=[1, 2])
    assert refusal_of(Task, ranks, entities=DOCUMENTS, columns=NAMES).startswith(
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
    message = refusal_of(Task, qrels, entities=DOCUMENTS, columns=places)
    task = Task(qrels, entities=DOCUMENTS, columns=proposed_columns(message))
    message = refusal_of(task.evaluate_lists, run, columns=places)
    assert task.evaluate_lists(run, columns=proposed_columns(message))["mrr"] == 0.5
    assert proposed_columns(message) == {**places, "score": 4}


def test_ratings_at_other_places_may_be_left_out(tmp_path: Path) -> None:
    """Of u.data, where all that somebody rated is right."""
    path = tmp_path / "u.data"
    path.write_text("ann\td1\t5\t881250949\nann\td2\t1\t881250950\n")
    task = Task(path, entities=DOCUMENTS, columns={"query": 0, "document": 1})
    assert len(task.answers) == 2
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


@pytest.mark.parametrize("form", [*FORMS, "tuple"])
@pytest.mark.parametrize("name", ["label", "grade", "rel", "click"])
def test_grades_of_any_name_are_named_or_refused(name: str, form: str, tmp_path: Path) -> None:
    table = LABELLED.rename(columns={"label": name})
    forms = as_forms(table, tmp_path)
    forms["tuple"] = tuple(table[column].tolist() for column in table), PLACES
    qrels, columns = forms[form]
    message = refusal_of(Task, qrels, entities=list("abcde"), columns=columns)
    task = Task(qrels, entities=list("abcde"), columns=proposed_columns(message))
    assert task.evaluate_lists({"q": ["a", "b", "c"]})["mrr"] == 0.5
    known = {"train": qrels}
    words = refusal_of(Task, {"q": ["a"]}, entities=list("abcde"), known=known, columns=columns)
    assert words.startswith('known["train"]: ')


@pytest.mark.parametrize("form", FORMS)
def test_bools_are_named_or_refused(form: str, tmp_path: Path) -> None:
    """In text they are no grades either, before they are made numbers."""
    table = LABELLED.assign(label=LABELLED.label > 0)
    qrels, columns = as_forms(table, tmp_path)[form]
    message = refusal_of(Task, qrels, entities=list("abcde"), columns=columns)
    proposed = proposed_columns(message)
    if form in ("csv", "numbered"):
        words = refusal_of(Task, qrels, entities=list("abcde"), columns=proposed)
        assert "expected a number as the relevance" in words
        assert "(text has 0 and 1 for bools)" in message
        qrels, _ = as_forms(table.astype({"label": int}), tmp_path)[form]
    task = Task(qrels, entities=list("abcde"), columns=proposed)
    assert task.evaluate_lists({"q": ["a", "b", "c"]})["mrr"] == 0.5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "values",
    [
        [0, 7, 13, 23, 1],  # hours
        [0, 1, 2, 3, 6],  # positions
        [1, 2, 3, 4, 5],  # stars
        [0, 0, 0, 0, 0],
        [True, True, True, True, True],
        [0.5, 0.1, 0.0, 1.0, 2.0],
        ["no", "yes", "0", "1", "0"],
    ],
)
def test_other_columns_of_judgements_may_be_left_out(
    values: Any, form: str, tmp_path: Path
) -> None:
    qrels, columns = as_forms(LABELLED.assign(label=values), tmp_path)[form]
    task = Task(qrels, entities=list("abcde"), columns=columns)
    assert len(task.answers) == 5
    assert len(task.audit) == 1
    assert task.audit[0].name.startswith("left out of qrels")


@pytest.mark.parametrize("form", FORMS)
def test_fractions_of_lists_are_named_or_refused(form: str, tmp_path: Path) -> None:
    table = LABELLED.rename(columns={"label": "sim"}).assign(sim=[0.1, 0.2, 0.9, 1.0, 0.3])
    lists, columns = as_forms(table, tmp_path)[form]
    task = Task({"q": ["d"]}, entities=list("abcde"))
    message = refusal_of(task.evaluate_lists, lists, columns=columns)
    assert task.evaluate_lists(lists, columns=proposed_columns(message))["mrr"] == 1.0
    for values in ([7, 7, 9, 1, 2], [1.0, 2.0, 3.0, 4.0, 5.0], list("vwxyz")):
        lists, _ = as_forms(table.assign(sim=values), tmp_path)[form]
        assert task.evaluate_lists(lists, columns=columns)["mrr"] == 0.25


def test_a_named_relevance_leaves_other_grades_out() -> None:
    both = LABELLED.assign(click=[1, 0, 0, 0, 0])
    task = Task(both, entities=list("abcde"), columns={**ROLES, "relevance": "click"})
    assert task.evaluate_lists({"q": ["a", "b"]})["mrr"] == 1.0


# -- tuples that may be rows or columns ------------------------------------------------------------

SQUARE = ((0, 0, 1), (2, 1, 3), (1, 0, 2))


def test_as_many_tuples_as_they_have_places_are_refused() -> None:
    facts = tr.link_prediction.Task
    message = refusal_of(facts, [(0, 0, 1)], {"train": SQUARE})
    assert message == (
        'known["train"]: expected list(rows), tuple(map(list, columns)) or pd.DataFrame(rows, '
        "columns=[...]), got 3 tuples of 3, which may be rows or columns"
    )
    assert refusal_of(facts, SQUARE, {}).startswith("test: expected list(rows)")
    assert facts(list(SQUARE), {}).test.tolist() == list(map(list, SQUARE))
    columns = tuple(map(list, zip(*SQUARE, strict=True)))
    assert facts(columns, {}).test.tolist() == list(map(list, SQUARE))
    names = tuple(tuple(map("abcd".__getitem__, row)) for row in SQUARE)
    refusal_of(facts, names, {})
    refusal_of(tr.alignment.Task, ((0, 1), (2, 3)), left=4, right=4)
    assert len(tr.alignment.Task([(0, 1), (2, 3)], left=4, right=4).pairs) == 2
    qrels = (("q", "p"), ("a", "b"))
    refusal_of(Task, qrels, entities=["a", "b", "q", "p"])
    as_rows = pd.DataFrame(qrels, columns=["query", "document"])
    assert len(Task(as_rows, entities=["a", "b", "q", "p"])) == 2
    assert len(Task(tuple(map(list, qrels)), entities=["a", "b"])) == 2
    task = facts([(0, 0, 1), (2, 1, 3)], {}, entities=4, sides=["tail"])
    scores = np.eye(2, 4)
    refusal_of(task.evaluate_scores, scores, row_queries={"tail": ((0, 0), (2, 1))})


@pytest.mark.parametrize("number", [1, 2, 4, 5])
def test_columns_of_any_other_length_are_tuples(number: int) -> None:
    rows = [*SQUARE, (3, 0, 1), (3, 1, 0)][:number]
    columns = tuple(zip(*rows, strict=True))
    assert tr.link_prediction.Task(columns, {}).test.tolist() == list(map(list, rows))


def test_lists_are_columns_whatever_their_length() -> None:
    columns = list("qpr"), list("abc"), [2, 0, 1]
    gains = Task(columns, entities=list("abc")).gains
    assert gains is not None
    assert gains.tolist() == [2, 1]
    arrays = tuple(map(np.array, zip(*SQUARE, strict=True)))
    assert len(tr.link_prediction.Task(arrays, {})) == 3


# -- cells that join ids ---------------------------------------------------------------------------

CELLS: dict[str, list[str]] = {"q1": ["1"], "q2": ["34;78"], "q3": ["5, 6"]}
OF_CELLS = {"q1": ["1"], "q2": ["34", "78"], "q3": ["5", "6"]}


def joined_cells(form: str, folder: Path) -> Any:
    rows = [[query, cell] for query, cells in CELLS.items() for cell in cells]
    table = frame(rows, "query document")
    table.to_csv(folder / "cells.csv", index=False)
    return {"mapping": CELLS, "frame": table, "csv": folder / "cells.csv"}[form]


@pytest.mark.parametrize("form", ["mapping", "frame", "csv"])
@pytest.mark.parametrize("are_named", [True, False])
def test_a_cell_of_several_ids_is_split(form: str, are_named: bool, tmp_path: Path) -> None:
    """Where documents are a number, lists say which ids there are."""
    names = [str(i) for i in range(100)]
    qrels = joined_cells(form, tmp_path)
    options: Any = {"entities": names if are_named else 100}
    if are_named:
        message = refusal_of(Task, qrels, **options)
    else:
        message = refusal_of(Task(qrels, **options).evaluate_lists, OF_CELLS)
    assert "'34;78'" in message
    df = joined_cells("frame", tmp_path).rename(columns={"document": "x"})
    for cell in ("34;78", "5, 6"):  # The advice leads to the next cell, and then to the result.
        assert repr(cell) in message
        expression = message[message.index("df.assign") :].partition(" makes")[0]
        df = eval(expression, {"df": df})
        qrels = df.rename(columns={"x": "document"})
        if cell == "34;78" and are_named:
            message = refusal_of(Task, qrels, **options)
        elif cell == "34;78":
            message = refusal_of(Task(qrels, **options).evaluate_lists, OF_CELLS)
    task = Task(qrels, **options)
    assert task.evaluate_lists(OF_CELLS)["mrr"] == 1.0


def test_cells_of_integers_and_of_lists_are_split() -> None:
    task = Task({"q1": ["a"], "q2": ["b"]}, entities=9)
    message = refusal_of(task.evaluate_lists, {"q1": ["a,b"], "q2": ["b"]})
    assert message.startswith("ids: expected one id in each cell; df.assign(x=df.x.str.split(',')")
    facts = [("a", "r", "b;c")]
    message = refusal_of(tr.link_prediction.Task, facts, {}, entities=list("abc"))
    assert "df.x.str.split(';')" in message


def test_cells_of_integers_in_text_are_split(tmp_path: Path) -> None:
    path = joined_cells("csv", tmp_path)
    assert "df.x.str.split(';')" in refusal_of(Task, path, entities=range(100))


@pytest.mark.parametrize("separator", [",", ";", ", "])
def test_ids_may_have_commas(separator: str) -> None:
    joined = f"a{separator}b"
    qrels = {"q": [joined], "p": ["c"]}
    lists = {"q": ["a", "b", joined], "p": ["c"]}
    for entities in (9, ["a", "b", "c", joined]):
        report = Task(qrels, entities=entities).evaluate_lists(lists)
        assert report["mrr"] == (1 / 3 + 1) / 2
        assert not report.audit()
    others = {"q": ["a", "d"], "p": ["c"]}  # One of the parts is no id.
    assert Task(qrels, entities=9).evaluate_lists(others)["mrr"] == 0.5
    parts = {"q": ["a", "b"], "p": ["c"]}
    assert Task(qrels, entities=["a", "b", "c", joined]).evaluate_lists(parts)["mrr"] == 0.5


def test_blanks_between_ids_are_a_finding() -> None:
    lists = {"q": ["sea", "lion"], "p": ["c"]}
    report = Task({"q": ["sea lion"], "p": ["c"]}, entities=9).evaluate_lists(lists)
    assert list(map(str, report.audit())) == [
        "names: 1 of the first 2 right answers are in their lists but for case, blanks, Unicode "
        "form or leading zeros: 'sea', 'lion' for 'sea lion'"
    ]
    both = {"q": ["sea", "lion", "sea lion"], "p": ["c"]}
    assert not Task({"q": ["sea lion"], "p": ["c"]}, entities=9).evaluate_lists(both).audit()
    assert not Task({"q": ["sea cow"], "p": ["c"]}, entities=9).evaluate_lists(lists).audit()


# -- judged documents that the corpus lacks --------------------------------------------------------

JUDGED = frame(
    [["q1", "a", 1], ["q1", "x", 0], ["q2", "y", 2], ["q3", "z", 1], ["q4", "w", 0]],
    "query document relevance",
)


def test_documents_that_the_corpus_lacks_are_counted() -> None:
    corpus = ["a", "b"]
    message = refusal_of(Task, JUDGED, entities=corpus)
    assert message == (
        "qrels: expected labels of entities, as 'a', or ids from 0 to 1, got 'y' in column 1 of "
        "row 2; 2 of 5 rows have others: leave them out, or say how many entities there are, which "
        "makes misses of them"
    )
    lists = {"q1": ["b", "a"], "q2": ["a"], "q3": ["b"]}
    rest = Task(JUDGED[JUDGED.document.isin(corpus)], entities=corpus)
    assert rest.evaluate_lists({"q1": ["b", "a"]})["mrr"] == 0.5
    assert Task(JUDGED, entities=9).evaluate_lists(lists)["mrr"] == 0.5 / 3
    known = {"train": {"q1": ["y"]}}
    message = refusal_of(Task, {"q1": ["a"]}, entities=corpus, known=known)
    assert "; 1 of 1 rows have others: leave them out" in message


@pytest.mark.parametrize("entities", [["a", "b"], {"b": 1, "a": 0}])
def test_rows_of_grade_0_may_name_any_document(entities: Any) -> None:
    qrels = JUDGED.assign(relevance=[1, 0, 0, -1, 0])
    task = Task(qrels, entities=entities)
    twin = Task(JUDGED.assign(document="a", relevance=[1, 1, 0, 0, 0]), entities=entities)
    assert task.evaluate_lists({"q1": ["b", "a"]}).ranks == (
        twin.evaluate_lists({"q1": ["b", "a"]}).ranks
    )
    assert (task.without_answers, len(task.answers)) == (3, 1)
    known = {"train": {"q1": {"x": 0, "b": 0}}}
    task = Task({"q1": ["a"]}, entities=entities, known=known)
    assert task.evaluate_lists({"q1": ["b", "a"]})["mrr"] == 1.0


@pytest.mark.parametrize("names", ["h rel tail score", "h rel tail rank"])
def test_numbers_of_lists_by_key_are_named_or_refused(names: str) -> None:
    task = tr.link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b", "x"], sides=["tail"])
    rows: list[list[Any]] = [["a", "r", "x", 2], ["a", "r", "b", 1]]
    lists = frame(rows, names.replace("h", "source", 1))
    order = "ascending" if "score" in names else "descending"
    message = refusal_of(task.evaluate_lists, tail=lists)
    assert list(proposed_columns(message)) == ["head", "relation", "tail", "score"]
    columns = {"head": "source", "relation": "rel", "tail": "tail"}
    message = refusal_of(task.evaluate_lists, tail=lists, columns=columns)
    proposed = proposed_columns(message)
    assert task.evaluate_lists(tail=lists, columns=proposed, order=order)["mrr"] == 1.0
    in_order = lists.iloc[:, :3]
    assert task.evaluate_lists(tail=in_order, columns=columns)["mrr"] == 0.5


def test_numbers_of_lists_in_alignment_are_named_or_refused() -> None:
    task = tr.alignment.Task([("a", "A")], left=["a"], right=["A", "B"])
    lists = frame([["a", "B", 0.1], ["a", "A", 0.9]], "source right score")
    columns = {"left": "source", "right": "right"}
    of_sides = {"left_to_right": lists, "right_to_left": lists[1:]}
    message = refusal_of(task.evaluate_lists, **of_sides, columns=columns)
    proposed = proposed_columns(message)
    assert task.evaluate_lists(**of_sides, columns=proposed)["mrr"] == 1.0


def test_scores_of_facts_may_be_left_out() -> None:
    """A confidence is no part of a fact."""
    facts = frame([["a", "r", "b", 0.9], ["b", "r", "a", 0.5]], "source r t score")
    columns = {"head": "source", "relation": "r", "tail": "t"}
    task = tr.link_prediction.Task(facts, {}, columns=columns)
    assert any(finding.name == "left out of test" for finding in task.audit)


# -- fractions under BEIR's name for grades --------------------------------------------------------


def beir(scores: Any) -> Any:
    return frame([["q", "d1"], ["q", "d2"]], "query-id corpus-id").assign(score=scores)


@pytest.mark.parametrize("is_file", [True, False])
def test_fractions_under_the_name_of_scores_are_no_grades(is_file: bool, tmp_path: Path) -> None:
    run = beir([0.9, 0.5])
    path = tmp_path / "qrels.tsv"
    run.to_csv(path, sep="\t", index=False)
    message = refusal_of(Task, path if is_file else run, entities=DOCUMENTS)
    task = Task(run, entities=DOCUMENTS, columns=proposed_columns(message))
    assert task.gains is not None
    assert task.gains.tolist() == [0.9, 0.5]
    assert refusal_of(Task, {"q": ["d1"]}, entities=DOCUMENTS, known={"train": run})


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


# -- rows of labels --------------------------------------------------------------------------------

ROWS = {0: [0, 0, 1], 1: [0, 1, 0]}
SCORES = [[1, 2, 9.0], [1, 9, 3.0]]


def test_rows_of_labels_are_no_lists_of_documents() -> None:
    rows = ROWS
    message = refusal_of(Task, rows, entities=3)
    way_out = message[message.rindex("{key: ") :].partition(" makes")[0]
    qrels = eval(way_out, {"np": np, "rows": rows})
    assert Task(qrels, entities=3).evaluate_scores(SCORES)["mrr"] == 1.0
    known = {query: np.array(row) for query, row in rows.items()}
    assert refusal_of(Task, {0: [2]}, entities=3, known=known).startswith("known: ")
    assert refusal_of(Task, {0: [2]}, entities=3, known={"train": known}).startswith("known[")
    assert refusal_of(Task, {0: [2]}, entities=3, candidates={0: [0, 1, 1]}).startswith(
        "candidates: expected indices, or a mask of bool"
    )


@pytest.mark.parametrize(
    "clicks",
    [
        {0: [2, 2, 0], 1: [1, 1]},  # repeats, of unlike lengths
        {0: [2, 1, 0], 1: [0, 1, 2]},  # one length, and no repeats
        {0: [2, 7, 7], 1: [0, 1, 2]},  # repeats of ids that are no labels of so few columns
        {0: ["c", "a", "a"], 1: ["a", "b", "c"]},
    ],
)
def test_lists_of_documents_may_repeat(clicks: Any) -> None:
    task = Task(clicks, entities=8 if clicks[0][0] == 2 else ["a", "b", "c"])
    assert len(task.answers) == len({(query, x) for query in clicks for x in clicks[query]})


# -- queries that are their own answers ------------------------------------------------------------

LABELS = np.array([0, 0, 1, 1])
VECTORS = np.array([[2.0, 0], [0, 1], [1.5, 0], [0, 3]])


def test_a_query_is_no_answer_of_itself() -> None:
    same = {i: np.flatnonzero(label == LABELS) for i, label in enumerate(LABELS)}
    others = {i: columns[columns != i] for i, columns in same.items()}
    task = Task(same, entities=4, exclude="self")
    report = task.evaluate_embeddings(VECTORS, VECTORS)
    assert report["success@1"] == 0.0
    assert task.leaked == 0
    assert list(map(str, task.audit)) == ["self: 4 right answers are their queries: left out"]
    twin = Task(others, entities=4, exclude="self")
    assert not twin.audit
    assert report.ranks == twin.evaluate_embeddings(VECTORS, VECTORS).ranks
    assert Task(same, entities=4, exclude="self", leaks="raise").leaked == 0


def test_a_query_that_is_its_only_answer_has_none() -> None:
    qrels = {"a": {"a": 1}, "b": {"b": 2, "c": 1}, "c": {}}
    task = Task(qrels, entities=["a", "b", "c"], exclude="self")
    assert task.without_answers == 2
    assert task.evaluate_lists({"b": ["c"]})["mrr"] == 1.0
    message = refusal_of(Task, {"a": ["a"]}, entities=["a", "b"], exclude="self")
    assert message == "qrels: expected at least one right answer, got none"


def test_leaks_of_other_splits_stay_leaks() -> None:
    qrels = {0: [0, 1], 1: [1, 2]}
    options: dict[str, Any] = {"entities": 3, "known": {"train": {0: [0, 1]}}, "exclude": "self"}
    with pytest.warns(UserWarning, match="1 right answers are in a known split"):
        task = Task(qrels, **options)
    assert task.leaked == 1
    assert len(task.answers) == 2
    assert len(Task(qrels, leaks="drop", **options).answers) == 1


# -- ranks that are worse than chance --------------------------------------------------------------


def names_of_findings(report: tr.Report) -> list[str]:
    return [finding.name for finding in report.audit()]


@pytest.mark.parametrize("answers", [1, 3])
def test_distances_of_queries_are_worse_than_chance(answers: int) -> None:
    number = 200
    near = {i: [(i + j) % number for j in range(answers)] for i in range(number)}
    task = Task(near, entities=number)
    columns = np.arange(number)
    distances = np.abs(columns[:, None] - columns[None, :])
    distances = np.minimum(distances, number - distances) / 2
    report = task.evaluate_scores(distances)
    finding = report.audit()[0]
    assert finding.name == "worse than chance"
    assert finding.message.endswith("are lower scores better? the order is ascending then")
    assert "are lower scores better?" in str(report)
    report = task.evaluate_scores(distances, order="ascending")
    assert "worse than chance" not in names_of_findings(report)


def test_random_ranks_of_queries_are_not_worse_than_chance() -> None:
    rng = np.random.default_rng(0)
    qrels = {i: rng.choice(100, 5, replace=False) for i in range(300)}
    task = Task(qrels, entities=100)
    assert not names_of_findings(task.evaluate_scores(rng.random((300, 100))))
    popular = np.tile(rng.random(100), (300, 1))
    assert not names_of_findings(task.evaluate_scores(popular))
    lists = {i: rng.choice(100, 10, replace=False) for i in range(300)}  # Most are missed.
    report = task.evaluate_lists(lists)
    assert report["recall@10"] < 0.2
    assert not names_of_findings(report)


def test_lists_that_miss_all_answers_are_no_ranking_of_all_candidates() -> None:
    """Random lists would not miss all of 400; but a list is no ranking of all."""
    task = Task({i: [i] for i in range(400)}, entities=400)
    lists = {i: [(i + 1 + j) % 400 for j in range(100)] for i in range(400)}
    assert not names_of_findings(task.evaluate_lists(lists))


def test_the_terminal_asks_about_distances(tmp_path: Path) -> None:
    np.save(tmp_path / "distances.npy", np.abs(np.subtract.outer(range(200), range(200))) / 2)
    (tmp_path / "qrels.txt").write_text("".join(f"{i} 0 {i} 1\n" for i in range(200)))
    (tmp_path / "names.txt").write_text("".join(f"{i}\n" for i in range(200)))
    options = [f"--qrels={tmp_path}/qrels.txt", f"--scores={tmp_path}/distances.npy", "--audit"]
    options += [f"--candidates={tmp_path}/names.txt", f"--labels=queries={tmp_path}/names.txt"]
    outcome = start("retrieval", *options)
    assert "are lower scores better? the order is ascending then" in outcome.out, outcome.err
    assert "Nothing was found" not in outcome.out
    assert "Nothing was found" in start("retrieval", *options, "--order=ascending").out


# -- right answers that their lists have in another writing ----------------------------------------

WRITINGS = [
    ("Doc1", "doc1"),
    (" d 1", "d1"),
    ("\uff24\uff11", "D1"),
    ("007", "7"),
    ("e\u0301", "\u00e9"),
]


@pytest.mark.parametrize(("name", "answer"), WRITINGS)
def test_other_writings_of_right_answers_are_a_finding(name: str, answer: str) -> None:
    task = Task({"q": [answer, "x"], "p": ["d2"]}, entities=9)
    findings = task.evaluate_lists({"q": {"y": 3, name: 2, "x": 1}, "p": {"d2": 1}}).audit()
    assert [str(finding) for finding in findings if finding.name == "names"] == [
        "names: 1 of the first 3 right answers are in their lists but for case, blanks, Unicode "
        f"form or leading zeros: {name!r} for {answer!r}"
    ]


def test_other_writings_in_lists_of_facts_are_a_finding() -> None:
    entities = ["oslo", "Oslo", "norway"]
    task = tr.link_prediction.Task(
        [("norway", "has", "oslo")], {}, entities=entities, sides=["tail"]
    )
    report = task.evaluate_lists(tail={("norway", "has"): ["norway", "Oslo"]})
    assert "'Oslo' for 'oslo'" in str(report.audit())
    report = task.evaluate_lists(tail={("norway", "has"): ["Oslo", "oslo"]})  # Both are there.
    assert "Oslo" not in str(report.audit())


@pytest.mark.parametrize(
    ("names", "answer"),
    [
        (["d10", "xd1"], "d1"),  # They end or begin alike.
        (["0", "10"], "00a"),
        ([], "d1"),
        (["d2"], "d1"),
    ],
)
def test_other_names_are_no_finding(names: list[str], answer: str) -> None:
    task = Task({"q": [answer], "p": ["d2"]}, entities=9)
    report = task.evaluate_lists({"q": names, "p": ["d2", "Doc1", "D1"]})  # of another query
    assert "names" not in names_of_findings(report)
    labels = Task({10: [1], 20: [7]}, entities=range(9))  # They are written in one way.
    assert "names" not in names_of_findings(labels.evaluate_lists({10: [7], 20: [1]}))


# -- ways out --------------------------------------------------------------------------------------


def test_rows_as_dicts_are_made_a_table() -> None:
    rows = [{"query": "q", "document": "d1"}]
    facts = [{"head": "a", "relation": "r", "tail": "b"}]
    task = Task({"q": ["d1"]}, entities=DOCUMENTS)
    way_out = "a list of dicts, of which pd.DataFrame(rows) makes a table"
    assert refusal_of(Task, rows, entities=DOCUMENTS).endswith(way_out)
    assert refusal_of(task.evaluate_lists, rows).endswith(way_out)
    assert refusal_of(tr.link_prediction.Task, facts, {}).endswith(way_out)
    assert len(Task(pd.DataFrame(rows), entities=DOCUMENTS)) == 1
    assert len(tr.link_prediction.Task(pd.DataFrame(facts), {})) == 1


def test_an_index_is_made_columns() -> None:
    x = np.array([[0, 1], [1, 2]])
    message = refusal_of(Task, x, entities=3)
    assert message.endswith("; of an index (query, document) tuple(x.T) makes columns")
    assert len(Task(tuple(x.T), entities=3)) == 2
    assert refusal_of(Task, {0: [1]}, entities=3, known=x).endswith("tuple(x.T) makes columns")


def test_a_right_answer_that_is_no_candidate_is_to_be_added() -> None:
    candidates: list[Any] = [{"q": ["d2"]}, ["d2"]]
    for each in candidates:
        message = refusal_of(Task, {"q": ["d1"]}, entities=DOCUMENTS, candidates=each)
        assert message.endswith("add them")
    assert refusal_of(tr.rank, [[0.5, 0.9]], [0], candidates=[[1]]).endswith("add it")
