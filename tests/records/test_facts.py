"""Labels in arrays; first lines; streams of Arrow; JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task, read_triples

# -- labels in arrays ------------------------------------------------------------------------------


LABELS = np.array([["a", "r", "b"], ["b", "r", "cc"]])


@pytest.mark.parametrize("dtype", [None, object, np.dtypes.StringDType()])
def test_arrays_of_labels_are_rows(tmp_path: Path, dtype: Any) -> None:
    """Of facts, pairs, keys of rows and files."""
    facts = LABELS if dtype is None else LABELS.astype(dtype)
    triples = read_triples(facts)
    assert (triples.ids.tolist(), triples.entities) == ([[0, 0, 1], [1, 0, 2]], ("a", "b", "cc"))
    task = Task(facts[:1], {"train": facts[1:]}, entities=["cc", "b", "a"], sides=["tail"])
    assert task.test.tolist() == [[2, 0, 1]]
    rows = {"tail": facts[:1, :2]}
    assert task.evaluate_scores(np.array([[0, 1, 0.5]]), row_queries=rows)["mrr"] == 1
    pairs = tr.alignment.Task(facts[:, ::2], left=["b", "a"], right=["cc", "b"]).pairs
    assert pairs.tolist() == [[1, 1], [0, 0]]
    if dtype is None:
        np.save(tmp_path / "facts.npy", facts)
        assert read_triples(tmp_path / "facts.npy").ids.tolist() == triples.ids.tolist()


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        (LABELS.astype("S"), "bytes_"),
        (LABELS.astype("S").astype(object), "bytes"),
        (np.array([["a", 0, "b"]], object), "int, str"),
        (np.array([["a", "r", None]], object), "NoneType, str"),
        (np.array([[True, 0, 1]], object), "bool, int"),
        (np.zeros((1, 3)), "float64"),
        (np.zeros((1, 3), "M8[D]"), "datetime64"),
    ],
)
def test_arrays_of_anything_else_are_refused(rows: Any, kinds: str) -> None:
    words = (
        rf"^test: .* a list of tuples or an array of ints or labels, .*, got ndarray of {kinds}$"
    )
    refusal(TypeError, words, Task, rows, {})


def test_integers_in_an_array_of_objects_are_ids() -> None:
    """As `frame.to_numpy()` has them, of columns of unlike types."""
    rows = np.array([[0, 0, 1], [2, 1, 0]], object)
    assert Task(rows, {}, entities=3).test.tolist() == rows.tolist()
    assert tr.alignment.Task(rows[:, ::2], left=3, right=2).pairs.tolist() == [[0, 1], [2, 0]]


def test_a_factory_of_pykeen_is_refused_its_rows_are_taken() -> None:
    factory = SimpleNamespace(mapped_triples=np.array([[0, 0, 1]]), triples=LABELS[:1])
    refusal(TypeError, r"^test: .*, got a SimpleNamespace$", Task, factory, {})
    names = {"entities": {"a": 0, "b": 1}, "relations": {"r": 0}}
    for rows in (factory.triples, factory.mapped_triples):
        assert Task(rows, {}, **names).test.tolist() == [[0, 0, 1]]


# -- first lines -----------------------------------------------------------------------------------


CHAIN = [("x", "likes", "y"), *((f"a{i}", "r", f"a{i + 1}") for i in range(12))]
ENTITIES = sorted({name for head, _, tail in CHAIN for name in (head, tail)})
OF_HEADER = "^test: .* may be a header, as its fields occur nowhere else; .*header=True says"


@pytest.mark.parametrize(
    "names", [{"entities": ENTITIES, "relations": ["likes", "r"]}, {"relations": ["likes", "r"]}]
)
def test_a_first_line_of_names_that_were_given_is_a_fact(tmp_path: Path, names: Any) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in CHAIN))
    assert len(Task(path, {}, **names)) == len(CHAIN)
    refusal(ValueError, OF_HEADER, Task, path, {})
    path.write_text(path.read_text().replace("x\tlikes\ty", "subject\tverb\tobject"))
    refusal(ValueError, OF_HEADER, Task, path, {}, **names)
    columns = {"head": "subject", "relation": "verb", "tail": "object"}
    assert len(Task(path, {}, **names, header=True, columns=columns)) == len(CHAIN) - 1


def test_other_columns_below_a_count_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train2id.txt"
    options: dict[str, Any] = {"entities": 5, "relations": 2, "ids": True}
    path.write_text("2\n0 4 1\n2 3 0\n")  # head, tail and relation, as OpenKE has them
    assert Task(path, {}, **options).test.tolist() == [[0, 1, 4], [2, 0, 3]]
    for time in ("5", "2014-01-01"):
        path.write_text(f"2\n0 4 1 {time}\n2 3 0 {time}\n")
        words = rf"line 2: expected 3 columns \(head, tail, relation\) .*, got '0 4 1 {time}'$"
        refusal(ValueError, words, Task, path, {}, **options)


# -- streams of Arrow ------------------------------------------------------------------------------


class Stream:
    """What has a table, as a relation of DuckDB, and says so in no other way."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_streams_of_arrow_are_tables(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = getattr(pytest.importorskip(library), {"pyarrow": "table"}.get(library, "DataFrame"))
    if library == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    facts = Stream(table({"t": ["b", "c"], "h": ["a", "a"], "r": ["r", "r"]}))
    task = Task(facts, {"train": Stream(table({"h": ["b"], "r": ["r"], "t": ["a"]}))})
    assert task.test.tolist() == [[0, 0, 1], [0, 0, 2]]
    qrels = {"query": ["q", "q"], "document": ["a", "b"], "relevance": [0, 1]}
    task_of_queries = tr.retrieval.Task(Stream(table(qrels)), entities=["a", "b"])
    run = {"query": ["q", "q"], "document": ["a", "b"], "score": [0.9, 0.8]}
    assert task_of_queries.evaluate_lists(Stream(table(run)))["mrr"] == 0.5


def test_columns_of_arrow_are_no_tables() -> None:
    column = pytest.importorskip("pyarrow").chunked_array([[1, 2]])
    refusal(TypeError, r"^test: .* got a? ?ChunkedArray", Task, column, {})


# -- JSON ------------------------------------------------------------------------------------------


LABEL_IDS = {"a": 0, "b": 1}


@pytest.mark.parametrize(("labels", "indent"), [(LABEL_IDS, None), (LABEL_IDS, 2), (["a", "b"], 2)])
def test_labels_in_json_are_refused_what_they_hold_is_taken(
    tmp_path: Path, labels: Any, indent: Any
) -> None:
    path = tmp_path / "entity2id.json"
    path.write_text(json.dumps(labels, indent=indent))
    words = r"^entities: .*entity2id\.json: line 1: this is JSON, which no reader of text takes"
    refusal(ValueError, words, Task, [("a", "r", "b")], {}, entities=path)
    loaded = json.loads(path.read_text())
    assert Task([("a", "r", "b")], {}, entities=loaded).entities == ("a", "b")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("facts.json", '[["a", "r", "b"]]'),
        ("facts.json", "[\n {}\n]"),
        ("facts.txt", '{"a": [["r", "b"]]}'),
        ("facts.jsonl", '{"h": "a"}\n'),
        ("facts.txt", '{"h": "a"}\n{"h": "b"}\n'),
        ("facts.json", '[["a"],\n["b"]]'),
        ("facts.json", '{"a": [1]\n,"b": [2]}'),
    ],
)
def test_json_is_refused(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    refusal(ValueError, "^test: .*: line 1: this is JSON, which no", Task, tmp_path / name, {})
    task = tr.retrieval.Task({"1": ["007"]}, entities=99)
    refusal(ValueError, "^ids: .*this is JSON", task.evaluate_lists, tmp_path / name)


def test_names_in_brackets_are_no_json(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text("[[Oslo]]\tin\t[[Norway]]\n")
    (tmp_path / "entities.txt").write_text("[[Oslo]]\n[[Norway]]\n")
    (tmp_path / "relations.json").write_text("in\n")
    names = {"entities": tmp_path / "entities.txt", "relations": tmp_path / "relations.json"}
    assert Task(tmp_path / "facts.json", {}, **names).test.tolist() == [[0, 0, 1]]
