"""Files as toolkits write them are known by their columns, named by `source`, or refused whole."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.refusals import refusal

NAMES = st.text("abcq017-_", min_size=1, max_size=5)
Read = dict[str, dict[str, Any]]


def written(folder: Path, text: str, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def lists_of(lists: Any) -> Read:
    """Return lists as plain dicts, which compare in no order."""
    return {query: dict(listed) for query, listed in lists.items()}


def judged_in(qrels: Any) -> list[tuple[str, str, int]]:
    rows = zip(qrels.queries, qrels.documents, qrels.relevance.tolist(), strict=True)
    return list(rows)


RUN = {"q1": {"d7": 2.5, "d3": 1.5}, "q2": {"d3": 0.5}}
ORDER = {"q1": ["d7", "d3"], "q2": ["d3"]}
TREC_ROWS = "q1 Q0 d7 1 2.5 {tag}\nq1 Q0 d3 2 1.5 {tag}\nq2 Q0 d3 1 0.5 {tag}\n"
RUNS = {
    "TREC run": TREC_ROWS.format(tag="tag"),
    "TREC run; left out: 2 comments": "# by hand\n"
    + TREC_ROWS.format(tag="t")
    + " # q1 Q0 d9 1 3 t\n",
    "TREC run; left out: 1 repeated line": TREC_ROWS.format(tag="t") + "q1 Q0 d7 1 2.50 t\n",
    "run with a header: query-id, corpus-id, score": (
        "query-id\tcorpus-id\tscore\nq1\td7\t2.5\nq2\td3\t.5\nq1\td3\t1.5\n"
    ),
    "run with a header: user, item, score; left out: rank": (
        "user item rank score\nq1 d7 0 2.5\nq1 d3 1 1.5\nq2 d3 0 5e-1\n"
    ),
}


def as_csv(text: str) -> str:
    return re.sub(r"(?<=\S)[ \t]+", ",", text)


def as_quoted(text: str) -> str:
    """Another reader takes lines with quotes."""
    lines = as_csv(text).splitlines(keepends=True)
    return "".join(line if "#" in line else re.sub(r"[^,\n]+", r'"\g<0>"', line) for line in lines)


CHANGES = pytest.mark.parametrize(
    ("name", "change"), [("run.txt", str), ("run.csv", as_csv), ("run.csv", as_quoted)]
)


@pytest.mark.parametrize("form", RUNS)
@CHANGES
def test_runs_of_every_form(tmp_path: Path, form: str, name: str, change: Any) -> None:
    path = written(tmp_path, change(RUNS[form]), name)
    run = tr.read_run(path)
    assert lists_of(run) == RUN
    assert run.source == f"{path} ({form})"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("query document rank\nq2 d3 1\nq1 d7 1\nq1 d3 2\n", None),
        ("q1 d7 10\nq2 d3 0\nq1 d3 11\nq1 d7 10\n", {"query": 0, "document": 1, "rank": 2}),
        ("item user\nd7 q1\nd3 q1\nd3 q2\n", None),
    ],
)
def test_ranks_alone_are_an_order(tmp_path: Path, text: str, columns: Any) -> None:
    """Those of a column, by its name or as the user says it; without one that of the lines."""
    run = tr.read_run(written(tmp_path, text), columns=columns)
    assert run.scores is None
    assert {query: list(run[query]) for query in run} == ORDER


BEAMS = [
    {"u": ["a", "b", "a", "c", "b"], "v": ["b", "b"]},
    pd.DataFrame({"rank": [3, 1, 2, 9, 8], "item": list("aabcb"), "user": list("uuuuu")}),
    "u 0 a 1 9 t\nu 0 b 1 8 t\nu 0 c 1 7 t\nu 0 b 1 7.5 t\n",
    "query document\nu a\nu b\nu a\nu c\n",
]


@pytest.mark.parametrize("beams", BEAMS)
def test_generated_lists_count_each_name_once(tmp_path: Path, beams: Any) -> None:
    """At its best score, or else where it stands first: by the ranks, or as it was given."""
    if isinstance(beams, str):
        beams = written(tmp_path, beams)
        run = tr.read_run(beams, duplicates="first")
        assert list(run["u"]) == ["a", "b", "c"]
        assert run.source.endswith("left out: 1 repeated line)")
    task = tr.retrieval.Task({"u": ["c"]}, entities=list("abcde"))
    with pytest.raises(tr.InputValueError, match=r"the list of 'u' has '[abc]' twice") as refused:
        task.evaluate_lists(beams)
    assert str(refused.value).endswith("; duplicates= says what a repeat is")
    report = task.evaluate_lists(beams, duplicates="first")
    assert report["mrr"] == pytest.approx(1 / 3)
    assert report.ranks.lengths.tolist() == [3]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(1, 5)), min_size=2),
    st.sampled_from(["0", "Q0", "round", None]),
)
@examples(60)
def test_four_columns_of_judgements_are_those_of_trec_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, iteration: str | None
) -> None:
    """Lines of one iteration are; others where there are fewer iterations than documents."""
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt"
    grades = {(f"q{q}", f"d{d}"): grade for q, d, grade in rows}
    lines = []
    rounds = set()
    for n, ((q, d), grade) in enumerate(grades.items()):
        rounds.add(iteration or str(n % 3 + 1))
        lines.append(f"{q} {iteration or n % 3 + 1} {d} {grade}")
    path.write_text("\n".join(lines))
    documents = {d for _, d in grades}
    is_of_trec = len(rounds) < len(documents)
    if len(rounds) == 1:
        is_of_trec = len(lines) > 1 or rounds <= {"0", "Q0"}
    if is_of_trec:
        assert judged_in(tr.read_qrels(path)) == [(q, d, g) for (q, d), g in grades.items()]
    else:
        with pytest.raises(
            tr.InputValueError,
            match=r"four columns are TREC's .*; of \d+ rows .*; columns= says which are meant",
        ):
            tr.read_qrels(path)
    said = tr.read_qrels(path, columns={"query": 0, "document": 2, "relevance": 3})
    assert judged_in(said) == [(q, d, g) for (q, d), g in grades.items()]


# Lines of four columns that are not TREC's, what they mean, and the columns that mean it.
FOUR = {
    "a grade behind a constant": (
        [("q1", "d1", "0", "1"), ("q1", "d2", "0", "0"), ("q2", "d1", "0", "2")],
        [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d1", 2)],
        {"query": 0, "document": 1, "relevance": 3},
    ),
    "one line of it": (
        [("q1", "d1", "0", "1")],
        [("q1", "d1", 1)],
        {"query": 0, "document": 1, "relevance": 3},
    ),
    "user, session, item, time of Cornac": (
        [
            ("u1", "s1", "d1", "881250949"),
            ("u1", "s2", "d2", "891717742"),
            ("u2", "s3", "d1", "1234"),
        ],
        [("u1", "d1", 1), ("u1", "d2", 1), ("u2", "d1", 1)],
        {"query": 0, "document": 2},
    ),
    "user, item, rating, time of MovieLens": (
        [
            ("u1", "d1", "3", "881250949"),
            ("u1", "d2", "5", "891717742"),
            ("u2", "d1", "1", "878887116"),
        ],
        [("u1", "d1", 3), ("u1", "d2", 5), ("u2", "d1", 1)],
        {"query": 0, "document": 1, "relevance": 2},
    ),
}


@pytest.mark.parametrize("name", FOUR)
def test_four_other_columns_are_refused_with_counts(tmp_path: Path, name: str) -> None:
    rows, meant, columns_meant = FOUR[name]
    path = written(tmp_path, "".join("\t".join(row) + "\n" for row in rows))
    words = (
        rf"^path: .*four columns are TREC's .*; of {len(rows)} rows it has [23] values|; of 1 ro"
    )
    message = refusal(ValueError, words, tr.read_qrels, path)
    assert message.endswith("; columns= says which are meant")
    assert judged_in(tr.read_qrels(path, columns=columns_meant)) == meant
    task = tr.retrieval.Task(path, entities=9, columns=columns_meant)
    assert (
        task.evaluate_lists({q: [d] for q, d, _ in meant[-1:]} | {meant[0][0]: ["d1"]})["mrr"] == 1
    )
    # Columns of a tuple are led as well. Grades at TREC's place may not be left out.
    columns = tuple(zip(*rows, strict=True))
    if "session" in name:
        tr.retrieval.Task(
            (*columns[:3], list(map(int, columns[3]))),
            entities=9,
            columns={"query": 0, "document": 2},
        )
    if "constant" in name:
        refusal(ValueError, "column 3", tr.read_qrels, path, columns={"query": 0, "document": 2})


QRELS = [("q1", "d3", 1), ("q1", "d9", 0), ("q2", "d3", 2)]
JUDGED = {
    "TREC qrels": "q1 0 d3 1\nq1 0 d9 0\nq2 0 d3 2\n",
    "TREC qrels; left out: 1 comment, 1 repeated line": (
        "q1 0 d3 1.0\nq1 0 d9 0\n# more\nq2 0 d3 2.00\nq1 0 d9 0\n"
    ),
    "qrels with a header: query-id, corpus-id, score": (
        "query-id\tcorpus-id\tscore\nq1\td3\t1\nq1\td9\t0\nq2\td3\t2\n"
    ),
    "qrels with a header: query, document, relevance": (
        "query document relevance\nq1 d3 1\nq1 d9 0.0\nq2 d3 2\n"
    ),
    "qrels with a header: user, item, score": (
        "item\tuser\tscore\nd3\tq1\t1.0\nd9\tq1\t0\nd3\tq2\t2\n"
    ),
}


@pytest.mark.parametrize("form", JUDGED)
@CHANGES
def test_qrels_of_every_form(tmp_path: Path, form: str, name: str, change: Any) -> None:
    path = written(tmp_path, change(JUDGED[form]), name)
    qrels = tr.read_qrels(path)
    assert judged_in(qrels) == QRELS
    assert qrels.source == f"{path} ({form})"


def test_names_of_csv_have_commas_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv.gz"
    path.write_bytes(gzip.compress(b'query,document\r\n"oslo, city",d 3\r\n\r\nrome,d9\r\n'))
    rows = '"oslo, city",d9,1\n"oslo, city",d 3,2\n'
    run = tr.read_run(written(tmp_path, f"query,document,score\n{rows}", "run.csv"))
    report = tr.retrieval.Task(path, entities=9).evaluate_lists({**run, "rome": {"d9": 1}})
    assert report.per_query("mrr").tolist() == [1, 1]


def test_names_have_blanks_within_between_tabs(tmp_path: Path) -> None:
    """As in RecBole's atomic files, whose ratings are grades."""
    text = "item_id:token\tuser_id:token\trating:float\nthe wall\t7\t1\nheat\t07\t4.5\n"
    columns = {"query": "user_id:token", "document": "item_id:token", "relevance": "rating:float"}
    qrels = tr.read_qrels(written(tmp_path, text, "made.inter"), columns=columns)
    assert judged_in(qrels) == [("7", "the wall", 1), ("07", "heat", 4.5)]


def test_columns_that_nobody_names_are_left_out(tmp_path: Path) -> None:
    columns = {"query": 0, "document": 1, "relevance": 2}
    qrels = tr.read_qrels(written(tmp_path, "ann tea 5 881250949\n"), columns=columns)
    assert judged_in(qrels) == [("ann", "tea", 5)]
    assert qrels.source.endswith("; left out: column 3)")


NAMED = "query,document,score\n"
# What is no run, in text or in csv: the number of the line, or what the message says of it.
WRONG_RUNS = [
    ("q Q0 d 1 inf t\n\nq Q0 e 2 1e400 t\n", "line 3: .*got 1e400"),
    ("q Q0 d 1 9007199254740993 t\n", "line 1: .* that a float64 holds"),
    ("q Q0 d 1 0 t\nq Q0 e 2 -1e-400 t\n", "line 2: .* that a float64 holds, got -1e-400"),
    (f"q Q0 d 1 0.{'0' * 330}1 t\n", "line 1: .* that a float64 holds"),
    ("p Q0 d 1 2 t\n\n#nlp Q0 t1 1 2.5 t\n", "line 3: it has the fields of a row.*'#nlp Q0"),
    ("user item score\n #nlp t1 -.5\nq a 1\n", "line 2: it has the fields of a row"),
    ("user item\nq a\n#nlp t1\n", "line 3: it has the fields of a row"),
    ("\ufeffq Q0 d 1 1 t\n\ufeffq Q0 e 2 2 t\n", "line 2: it begins with a byte order mark"),
    ("q Q0 d 1 0.5 t\nq Q0 d\r 1 0.5 t\n", "line 2 has a carriage return"),
    (
        "q a 25\nq b 19\n",
        "; columns={'query': '...', 'document': '...'} says which are meant, and perhaps score or",
    ),
    ("# c\n\nq1 Q0 d7 1 2.5\n", "line 3: expected lines of TREC"),
    ("q1 0 d7 1\n", "commas, got a line of judgements: 'q1 0 d7 1'$"),
    ("q1 r d7 1\n", "commas, got 'q1 r d7 1'; columns={"),
    ('{"q1": {"d7": 1}}', "line 1: this is JSON, which no reader of text takes"),
    ("query document rank\na b 1\na c one\n", "line 3: expected a number as the rank "),
    ("query document rank\na b 1\na c 1\n", "the list of 'a' has the rank 1 twice"),
    ("q1 Q0 d7 1 high t\n", "line 1: .* a number as the score"),
    ("q1 Q0 d 1 2.5 t\nq1 Q0 e 2 1.5 k=0.9 b=0.4\n", "line 2: expected 6 fields"),
    ("user item score\nq1 d7 0.5\nq1 d7 0.25\n", "'q1' has 'd7' twice, with 0.5 and 0.25"),
    ("user query_id item score\na b c 1\n", "each once and no others, got .*; columns={"),
    ("user item stars\na b 5\n", "line 1: expected columns .*, got .*'item', 'stars'; columns={"),
    ("query-id\tcorpus-id\tscore\nq1\t\t1\n", "line 2: expected 3 fields"),
]
WRONG_CSV = [
    ("q,d,2\n", "line 1: expected .*, in .csv commas, got .*; columns={"),
    (f"{NAMED}q,d\n", "line 2: expected 3 fields"),
    (f'{NAMED}"q",,1\n', "line 2: expected 3 fields"),
    (f'{NAMED}"q",d,1\t0\n', "line 2: expected fields without tabs"),
    (NAMED.replace(",", "\t") + "q\td\t1\n", "line 1: "),
    (f"{NAMED}q,d,1_0\n", "line 2: expected a number as the score"),
    (f"{NAMED}q,d,1e400\n", "line 2: .* that a float64 holds"),
    (f'{NAMED}q,"d"e,1\n', "line 2: expected csv with quotes"),
    (f"{NAMED}q,d,1\n#nlp,t1,2\n", "line 3: it has the fields of a row"),
    (f"{NAMED}q,d,1e-400\n", "line 2: .* that a float64 holds"),
]
WRONG_QRELS = [
    ("q1 0 d1 1\n\n\ufeffq1 0 d2 1\n", "line 3: it begins with a byte order mark"),
    ("q1 d3 1\n", "line 1: expected lines of TREC .*header"),
    ("q1 Q0 d7 1 2.5 t\n", "commas, got a line of a run: 'q1 Q0 d7 1 2.5 t'$"),
    ("#nlp 0 t1 1\nq1 0 d3 1\n", "line 1: it has the fields of a row, and begins with # "),
    ("#nlp\t0\tt1\t1\n", "line 1: it has the fields of a row, and begins with # "),
    ("query-id\tcorpus-id\tscore\nq1\td3\t1\n#nlp\tt1\t1\n", "line 3: it has the fields"),
    ("q1 0 d3 1\nq1 0 d4 1e-400\n", "line 2: .* that a float64 holds"),
    ("q1 0 d3 high\n", "line 1: .* a number as the relevance"),
    ("ann tea 5 881250949\nbob rum 3 891717742\n", "of 2 rows .*2 values.*; columns= says"),
    ("q1 0 d3 1\n\nq1 0 d4 nan\n", "grades that are finite numbers, got nan in row 1"),
    ("q1 0 d3 0.5\nq1 0 d4 1e400\n", "line 2: .* that a float64 holds"),
    (
        "user item stars time\nann tea 5 6\n",
        "line 1: expected columns .*, got .*'stars', 'time'; columns={",
    ),
    ("q1 0 d3 1\nq1 0 d3 1.0\n#\nq1 0 d3 0\n", "line 4: 'd3' is judged twice .*, as 1 and as 0"),
]
WRONG_FILES = [("x.txt", tr.read_run, *each) for each in WRONG_RUNS]
WRONG_FILES += [("x.csv", tr.read_run, *each) for each in WRONG_CSV]
WRONG_FILES += [("x.txt", tr.read_qrels, *each) for each in WRONG_QRELS]


@pytest.mark.parametrize(("name", "read", "text", "words"), WRONG_FILES)
def test_other_forms_are_refused_with_their_line(
    tmp_path: Path, name: str, read: Any, text: str, words: str
) -> None:
    with pytest.raises(tr.InputValueError, match=f"{name}.*{words}"):
        read(written(tmp_path, text, name))


COMMENTS = [
    "# made by BM25",
    "#comment with four words here",
    "#by k1 0.9 b",
    "#q1 Q0 d9 first 1 t",
    "# q1 0 d9 1",
    "# q1 Q0 d9 1 3 t",
    "\t#\tquery\td9",
    "#",
    "##",
    '# "made',
]


@pytest.mark.parametrize("comment", COMMENTS)
def test_comments_are_left_out(tmp_path: Path, comment: str) -> None:
    """Of qrels and runs, in text and csv: none of them has the fields of a row."""
    for row, read in (("q1 0 d3 1", tr.read_qrels), ("q1 Q0 d3 1 2.5 t", tr.read_run)):
        for name, change in (("x.txt", str), ("x.csv", as_csv)):
            text = f"{comment}\n{change(row)}\n {comment}"
            table: Any = read(written(tmp_path, text, name))
            assert table.source.endswith("; left out: 2 comments)")
            assert list(table.queries) == ["q1"]


def test_a_query_that_is_written_like_a_comment_is_refused(tmp_path: Path) -> None:
    """Left out of both files, MRR would be 1.0; by another name it is ranked."""
    qrels = "a 0 d1 1\n#nlp 0 t1 1\n"
    run = "a Q0 d1 1 2 t\n#nlp Q0 d1 1 2 t\n#nlp Q0 t1 2 1 t\n"
    paths = [written(tmp_path, qrels, "qrels.txt"), written(tmp_path, run, "run.txt")]
    judged = {"a": ["d1"], "#nlp": ["t1"]}
    for refused in (
        lambda: tr.retrieval.Task(paths[0], entities=9),
        lambda: tr.retrieval.Task(judged, entities=9).evaluate_lists(paths[1]),
    ):
        with pytest.raises(
            tr.InputValueError, match="line 2: it has the fields of a row, and begins"
        ):
            refused()
    for path, text in zip(paths, (qrels, run), strict=True):
        path.write_text(text.replace("#nlp", "nlp"))
    assert tr.retrieval.Task(paths[0], entities=9).evaluate_lists(paths[1])["mrr"] == 0.75


@pytest.mark.parametrize("score", ["0e-500", "-0.0e-400", "1e-310", "0." + "0" * 400])
def test_small_scores_stay(tmp_path: Path, score: str) -> None:
    run = tr.read_run(written(tmp_path, f"q Q0 a 1 0.5 t\nq Q0 e-1 2 {score} t\n"))
    assert run["q"]["e-1"] == float(score)


def test_reports_say_what_was_read(tmp_path: Path) -> None:
    run = written(tmp_path, "user\titem\trank\nq1\td7\t1\nq1\td3\t2\n", "run.tsv")
    report = tr.retrieval.Task({"q1": ["d3"]}, entities=10).evaluate_lists(run)
    assert report.protocol.files == (f"{run} (run with a header: user, item, rank)",)
    assert report.protocol.files[0] in str(report.audit())
    assert report["mrr"] == 0.5
