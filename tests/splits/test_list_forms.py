"""Files as toolkits write them are known by their columns, named by `source`, or refused whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from truerank.splits.line_forms import ColumnLines, form_of_file

NAMES = st.text("abcq017-_", min_size=1, max_size=5)
ENTRIES = st.dictionaries(st.tuples(NAMES, NAMES), st.integers(-50, 50).map(lambda n: n / 4))
Read = dict[str, dict[str, Any]]


def written(folder: Path, text: str, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def lists_of(lists: tr.NamedLists) -> Read:
    """Return lists as plain dicts, which compare in no order."""
    return {query: dict(listed) for query, listed in lists.items()}


def judged_in(qrels: tr.Qrels) -> list[tuple[str, str, int]]:
    rows = zip(qrels.queries, qrels.documents, qrels.relevance.tolist(), strict=True)
    return list(rows)


RUN = {"q1": {"d7": 2.5, "d3": 1.5}, "q2": {"d3": 0.5}}
ORDER = {"q1": ["d7", "d3"], "q2": ["d3"]}
TREC_ROWS = "q1 Q0 d7 1 2.5 {tag}\nq1 Q0 d3 2 1.5 {tag}\nq2 Q0 d3 1 0.5 {tag}\n"
RUNS = {
    "TREC run": TREC_ROWS.format(tag="tag"),
    "TREC run; left out: 2 comments": "# by hand\n" + TREC_ROWS.format(tag="t") + " # end of it\n",
    "TREC run; left out: 1 repeated line": TREC_ROWS.format(tag="t") + "q1 Q0 d7 1 2.50 t\n",
    "ColBERT ranking: query, document, rank, score": (
        "q1\td7\t1\t2.5\nq1\td3\t2\t1.5\nq2\td3\t1\t0.5"
    ),
    "run with a header: query-id, corpus-id, score": (
        "query-id\tcorpus-id\tscore\nq1\td7\t2.5\nq2\td3\t.5\nq1\td3\t1.5\n"
    ),
    "run with a header: qid, docno, score": (
        "docid qid docno rank score\n4 q1 d7 0 2.5\n9 q1 d3 1 1.5\n9 q2 d3 0 5e-1\n"
    ),
}


@pytest.mark.parametrize("form", RUNS)
def test_runs_of_every_form(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, RUNS[form])
    run = tr.read_run(path)
    assert lists_of(run) == RUN
    assert run.source == f"{path} ({form})"


def test_tags_may_have_blanks(tmp_path: Path) -> None:
    assert lists_of(tr.read_run(written(tmp_path, TREC_ROWS.format(tag="BM25 (k1=0.9)")))) == RUN
    with pytest.raises(tr.InputValueError, match=r"line 1: expected six fields: .* 'q1 Q0 d 7"):
        tr.read_run(written(tmp_path, "q1 Q0 d 7 1 2.5 tag"))  # a name with a blank


@pytest.mark.parametrize(
    "text",
    [
        "q1\td3\t2\nq1\td7\t1\nq2\td3\t1\n",
        "q1 d7 10\nq2 d3 0\nq1 d3 11\nq1 d7 10\n",
        "qid docno rank\nq2 d3 1\nq1 d7 1\nq1 d3 2\n",
    ],
)
def test_ranks_alone_are_an_order(tmp_path: Path, text: str) -> None:
    """Whatever rank comes first, and wherever its line stands."""
    run = tr.read_run(written(tmp_path, text))
    assert run.scores is None
    assert {query: list(run[query]) for query in run} == ORDER


@given(ENTRIES, st.randoms(use_true_random=False), st.integers(1, 40))
@examples(50)
def test_all_forms_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, entries: Any, random: Any, at_once: int
) -> None:
    """Lines of a run in any order, with comments and repeats, in blocks of any size."""
    folder = tmp_path_factory.mktemp("forms")
    rows = [(query, document, score) for (query, document), score in entries.items()]
    expected: Read = {}
    for query, document, score in rows:
        expected.setdefault(query, {})[document] = score
    for repeated in rows[:2]:
        rows.append(repeated)
    random.shuffle(rows)
    lines = {
        "trec": [f"{q} Q0 {d} 1 {s} a b" for q, d, s in rows],
        "colbert": [f"{q}\t{d}\t1\t{s}" for q, d, s in rows],
        "header": ["score query_id doc_id", *[f"{s} {q} {d}" for q, d, s in rows]],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truerank.splits.text._BLOCK_BYTES", at_once)
        for form, listed in lines.items():
            if form != "header":
                listed.insert(random.randint(0, len(listed)), "# a comment")
            text = "\n".join(listed)
            assert lists_of(tr.read_run(written(folder, text))) == expected


NUMBERS = st.sampled_from(["1", "0", "-2", "1.0", "2.", "0.5", "1e3", "1e-400", "+1", "007", "x"])
LONG = st.sampled_from(
    ["9007199254740993", "1234567890123456", "0" * 19, "nan", "inf", "1_0", "\f1"]
)
FIELDS_OF_LINES = st.lists(
    st.sampled_from(["q1", "d 3", " d7 ", "\u00e9", ""]) | NUMBERS | NUMBERS | LONG,
    min_size=3,
    max_size=5,
)
FIRST_LINES = {
    "qid\tdocno\tscore": False,
    "docno qid score": False,
    "q\td\t1": False,
    "q d 1 2.5": False,
    "rank qid docno": False,
    "query-id\tcorpus-id\tscore": True,
    "item_id:token\tuser_id:token\trating:float": True,
    "item_id:token\tuser_id:token\trating:float\tlabel:float": True,
}


@given(
    st.sampled_from(list(FIRST_LINES)),
    st.lists(FIELDS_OF_LINES, max_size=5),
    st.sampled_from(["\t", " ", " \t "]),
)
@examples(300)
def test_the_core_reads_lines_as_python_does(
    tmp_path_factory: pytest.TempPathFactory, first: str, rows: list[list[str]], between: str
) -> None:
    """Names, values and the first wrong line of forms with other columns than those of TREC."""
    path = written(tmp_path_factory.mktemp("lines"), f"{first}\n")
    form = form_of_file("path", str(path), FIRST_LINES[first])
    text = "\n".join(map(between.join, rows))
    by_core = ColumnLines(form)
    by_python = ColumnLines(form)
    found = by_core._rows(text)
    expected = by_python._rows_in_python(text)
    assert found.fault == expected.fault
    if found.fault is None:
        np.testing.assert_array_equal(found.queries, expected.queries)
        np.testing.assert_array_equal(found.documents, expected.documents)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.values.dtype == expected.values.dtype
        assert by_core.queries() == by_python.queries()
        assert by_core.documents() == by_python.documents()


QRELS = [("q1", "d3", 1), ("q1", "d9", 0), ("q2", "d3", 2)]
JUDGED = {
    "TREC qrels": "q1 0 d3 1\nq1 0 d9 0\nq2 0 d3 2\n",
    "TREC qrels; left out: 1 comment, 1 repeated line": (
        "q1 0 d3 1.0\nq1 0 d9 0\n# more\nq2 0 d3 2.00\nq1 0 d9 0\n"
    ),
    "qrels with a header: query-id, corpus-id, score": (
        "query-id\tcorpus-id\tscore\nq1\td3\t1\nq1\td9\t0\nq2\td3\t2\n"
    ),
    "qrels with a header: query_id, doc_id, relevance": (
        "query_id doc_id relevance iteration\nq1 d3 1 0\nq1 d9 0.0 0\nq2 d3 2 0\n"
    ),
    "RecBole interactions: user_id:token, item_id:token, label:float": (
        "user_id:token\titem_id:token\tlabel:float\tage:float\nq1\td3\t1.0\t3\nq1\td9\t0\t7\n"
        "q2\td3\t2\t1\n"
    ),
}


@pytest.mark.parametrize("form", JUDGED)
def test_qrels_of_every_form(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, JUDGED[form])
    qrels = tr.read_qrels(path)
    assert judged_in(qrels) == QRELS
    assert qrels.source == f"{path} ({form})"


def test_ratings_of_interactions_are_no_gains(tmp_path: Path) -> None:
    """A user's items are right answers, as RecBole has them; names may have blanks within."""
    text = "item_id:token\tuser_id:token\trating:float\nthe wall\t7\t1\nheat\t07\t5\n"
    path = written(tmp_path, text, "made.inter")
    qrels = tr.read_qrels(path)
    assert judged_in(qrels) == [("7", "the wall", 1), ("07", "heat", 1)]
    task = tr.retrieval.Task(path, entities=["the wall", "heat", "alien"], queries=["7", "07"])
    assert task.evaluate_scores([[3, 1, 2], [3, 1, 2]])["mrr"] == pytest.approx(2 / 3)


def test_qrels_in_json(tmp_path: Path) -> None:
    """As ranx saves them; of names alone each is right."""
    graded = written(tmp_path, '{"q1": {"d3": 1, "d9": 0}, "q2": {"d3": 2}}', "qrels.json")
    assert judged_in(tr.read_qrels(graded)) == QRELS
    assert tr.read_qrels(graded).source == f"{graded} (qrels in JSON)"
    named = written(tmp_path, '{"q1": ["d3"]}\n{"q2": ["d3", "d9"]}', "qrels.jsonl")
    assert judged_in(tr.read_qrels(named)) == [("q1", "d3", 1), ("q2", "d3", 1), ("q2", "d9", 1)]
    half = written(tmp_path, '{"q1": {"d3": 0.5}}', "half.json")
    with pytest.raises(tr.InputValueError, match=r"as relevance, got 0.5 for 'd3' of 'q1'"):
        tr.read_qrels(half)


WRONG_RUNS = [
    ("q1 d7\n", "line 1: expected six fields: .*ColBERT.*MS MARCO.*header.*; it reads 'q1 d7'"),
    ("# c\n\nq1 Q0 d7 1 2.5\n", "line 3: expected six fields: .* it reads 'q1 Q0 d7 1 2.5'"),
    ('{"q1": {"d7": 1}}', "line 1: this is JSON: .* read_json_lists"),
    ("q1 d7 2.5\n", "line 1: .*as the rank: three fields are .*MS MARCO.*; it reads 'q1 d7 2.5'"),
    ("q1 d7 1\nq1 d3 -1\n", "line 2: expected an integer of at most 15 digits as the rank"),
    ("q1 d7 1\nq1 d3 1\n", "the list of 'q1' has the rank 1 twice"),
    ("q1 d7 1\nq1 d3\n", r"line 2: expected 3 fields, with a .* \(MS MARCO.*it reads 'q1 d3'"),
    ("q1 d7 1 high\n", "line 1: expected a number as the score; it reads"),
    ("q1 d7 one 0.5\n", "line 1: expected an integer .* as the rank; it reads"),
    ("q1 d7 1 1e400\n", "line 1: expected a score that a float64 holds"),
    ("q1 Q0 d 1 0.5 t\n#q1 Q0 e 2 0.4 t\n", "line 2: a line that begins with # is a comment, and"),
    ("q1 d7 1 0.5\nq1 d7 1 0.25\n", "the list of 'q1' has 'd7' twice, with 0.5 and 0.25"),
    ("qid query_id docno score\na b c 1\n", "expected one column of each kind.*'qid' and 'query_i"),
    (
        "query-id\tcorpus-id\tscore\nq1\t\t1\n",
        "line 2: expected 3 fields, with a query and",
    ),
]
WRONG_QRELS = [
    ("q1 d3 1\n", "line 1: expected four fields: .*header.*; it reads 'q1 d3 1'"),
    ("q1 0 d3 0.5\n", "line 1: expected an integer .* as the relevance; it reads 'q1 0 d3 0.5'"),
    ("q1 0 d3 1\nq1 0 d3 1.0\n#\nq1 0 d3 0\n", "line 4: 'd3' is judged twice .*, as 1 and as 0"),
    ("query-id corpus-id score\nq d 1\nq d 2\n", "line 3: 'd' is judged twice for 'q'"),
    ("query-id corpus-id score\nq d x\n", "line 2: expected an integer of at most 18 digits"),
    ("#q1 0 d3 1\n", None),
]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [(tr.read_run, *each) for each in WRONG_RUNS]
    + [(tr.read_qrels, *each) for each in WRONG_QRELS],
)
def test_other_forms_are_refused_with_their_line(
    tmp_path: Path, read: Any, text: str, message: str | None
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(tr.InputValueError, match=message or "line 1: a line that begins with #"):
        read(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run.lz4", "`lz4 -d .*run.lz4 .*run.json` unpacks it"),
        ("run.parquet", "`pandas.read_parquet"),
        ("run.pkl", "a pickle can run any code"),
    ],
)
@pytest.mark.parametrize("read", [tr.read_run, tr.read_qrels, tr.read_json_lists])
def test_packed_files_are_refused_with_what_unpacks_them(
    tmp_path: Path, read: Any, name: str, words: str
) -> None:
    with pytest.raises(tr.InputValueError, match=words):
        read(tmp_path / name)


# -- predictions in JSON ---------------------------------------------------------------------------


def test_predictions_of_sentence_transformers(tmp_path: Path) -> None:
    lines = []
    for query, listed in RUN.items():
        results = [{"corpus_id": name, "score": score} for name, score in listed.items()]
        lines.append(json.dumps({"query_id": query, "query": "words", "results": results}))
    path = written(tmp_path, "\n".join(lines), "predictions.jsonl")
    lists = tr.read_json_lists(path)
    assert lists_of(lists) == RUN
    assert lists.source == f"{path} (predictions of sentence-transformers)"
    number = lines[0].replace('"d7"', "7")
    with pytest.raises(tr.InputValueError, match="'q1'"):
        tr.read_json_lists(written(tmp_path, number, "numbers.jsonl"))


def test_predictions_of_mteb(tmp_path: Path) -> None:
    meta = {"model_name": "made", "revision": None}
    one = {"mteb_model_meta": meta, "default": {"test": RUN}}
    lists = tr.read_json_lists(written(tmp_path, json.dumps(one, indent=2), "one.json"))
    assert lists_of(lists) == RUN
    assert "(predictions of MTEB)" in lists.source
    two = one | {"fr": {"dev": {"q": {"d": 1.0}}}}
    path = written(tmp_path, json.dumps(two), "two.json")
    assert lists_of(tr.read_json_lists(path, part="fr/dev")) == {"q": {"d": 1.0}}
    for part in (None, "fr/test"):
        with pytest.raises(tr.InputValueError, match="part= one of default/test, fr/dev"):
            tr.read_json_lists(path, part=part)
    plain = written(tmp_path, json.dumps(RUN), "plain.json")
    with pytest.raises(tr.InputValueError, match=r"^part: expected None"):
        tr.read_json_lists(plain, part="default/test")


def test_lines_of_kilt(tmp_path: Path) -> None:
    lines = []
    for query, names in ORDER.items():
        output = [{"provenance": [{"wikipedia_id": name} for name in names]}]
        lines.append(json.dumps({"id": query, "output": output}))
    lists = tr.read_json_lists(written(tmp_path, "\n".join(lines), "run.jsonl"))
    assert {query: list(lists[query]) for query in lists} == ORDER
    assert lists.scores is None
    wrong = '{"id": "q", "output": [{"answer": "yes"}]}'
    with pytest.raises(tr.InputValueError, match="provenance"):
        tr.read_json_lists(written(tmp_path, wrong, "wrong.jsonl"))


@pytest.mark.parametrize("entry", ['["d7", 2.5], ["d3", 1.5]', '{"corpus_id": "d7", "score": 2.5}'])
def test_pairs_in_json(tmp_path: Path, entry: str) -> None:
    path = written(tmp_path, '{"q1": [%s]}' % entry, "pairs.json")  # noqa: UP031
    lists = tr.read_json_lists(path)
    assert lists["q1"]["d7"] == 2.5
    assert lists.scores is not None


# -- what reports say ------------------------------------------------------------------------------


def test_reports_say_what_was_read(tmp_path: Path) -> None:
    qrels = written(tmp_path, JUDGED["qrels with a header: query-id, corpus-id, score"], "q.tsv")
    run = written(tmp_path, "q1\td7\t1\nq1\td3\t2\nq2\td3\t1\n", "run.tsv")
    task = tr.retrieval.Task(qrels, entities=10)
    report = task.evaluate_lists(run)
    expected = (
        f"{qrels} (qrels with a header: query-id, corpus-id, score)",
        f"{run} (MS MARCO run: query, document, rank)",
    )
    assert report.protocol.files == expected
    assert expected[1] in str(report.audit())
    report.ranks.save(tmp_path / "ranks.npz")
    assert tr.load(tmp_path / "ranks.npz").protocol.files == expected
    np.testing.assert_array_equal(report.per_query("mrr"), [0.5, 1])
