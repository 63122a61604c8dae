"""Facts: samples of a test, whole facts, labels in arrays, first lines, and what an audit says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import start
from support.refusals import refusal
from truerank.link_prediction import Task, read_triples

# -- a sample of the test --------------------------------------------------------------------------

WHOLE = [(0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 1, 0)]
TRAIN = [(2, 0, 2), (3, 1, 0), (0, 0, 0)]
SCORES = np.array([[0, 0.5, 0.9, 0.8]])


def test_the_known_split_of_the_same_name_has_the_other_answers_of_a_sample() -> None:
    """Nobody is warned, and no fact of it is seen, a leak, or known for degrees."""
    known = {"train": TRAIN, "test": WHOLE}
    sample = Task(WHOLE[:1], known, entities=4)
    part = Task(WHOLE, {"train": TRAIN}, entities=4)[[0]]
    assert sample.tail.filter is not None
    assert (sample.tail.filter[1].tolist(), sample.protocol) == ([0, 1, 2, 3], part.protocol)
    for name, side in sample.sides.items():
        for label in ("category", "head_degree", "tail_degree", "degree", "queries", "targets"):
            expected = part.sides[name].labels[label].values.tolist()
            assert side.labels[label].values.tolist() == expected, label
    reports = [task.evaluate_scores(SCORES, head=SCORES) for task in (sample, part)]
    assert reports[0].to_dict() == reports[1].to_dict()
    assert reports[0]["tail.mrr"] == 1
    assert tr.compare(*reports, metric="mrr").estimate == 0
    findings = {finding.name: finding for finding in sample.audit}
    assert findings["test"].message == "1 triples, 1 ranked; known: test 4, train 3"
    assert (findings["leaks"].count, findings["unseen entities"].count) == (0, 1)
    alone = Task(WHOLE[:1], {"test": WHOLE}, entities=4, sides=["tail"])
    assert alone.evaluate_scores(SCORES)["mrr"] == 1


def test_the_whole_test_beside_itself_changes_nothing() -> None:
    known = {"train": TRAIN}
    tasks = [Task(WHOLE, known, entities=4), Task(WHOLE, known | {"test": WHOLE}, entities=4)]
    scores = np.random.default_rng(0).random((2, 4, 4))
    reports = [task.evaluate_scores(scores[0], head=scores[1]) for task in tasks]
    assert reports[0].to_dict() == reports[1].to_dict()


def test_a_sample_is_ranked_among_a_split_or_a_draw() -> None:
    """A known split that has the candidates does not say how the test is called."""
    known = {"train": [*TRAIN, (2, 1, 1)], "test": WHOLE}
    task = Task(WHOLE[:1], known, entities=9, sides=["tail"], candidates="train")
    assert task.tail.candidates.tolist() == [0, 1, 2, 3]
    sampled = tr.link_prediction.Sampled(9)
    drawn = Task(WHOLE[:1], known, entities=5, sides=["tail"], candidates=sampled)
    assert drawn.tail.candidates[1].tolist() == [1, 4]
    # The whole of the test, if it is there, is a known split like the others; without it none is.
    among_test = Task(WHOLE[:1], known, entities=9, sides=["tail"], candidates="test")
    assert among_test.tail.candidates.tolist() == [0, 1, 2, 3]
    assert among_test.protocol.candidates == "test"
    far = Task(WHOLE[:1], {"test": WHOLE[:2]}, entities=9, sides=["tail"], candidates="test")
    assert far.tail.candidates.tolist() == [0, 1, 2]
    report = far.evaluate_scores(np.arange(9.0).reshape(1, 9))
    assert report["mrr"] == 1  # Entity 2 is another right answer, and 3 to 8 are not in the test.
    assert [finding.name for finding in report.audit()][-1] == "test candidates"
    drawn_of_test = tr.link_prediction.Sampled(9, among="test")
    known = {"test": WHOLE}
    drawn = Task(WHOLE[:1], known, entities=9, sides=["tail"], candidates=drawn_of_test)
    assert drawn.tail.candidates[1].tolist() == [0, 1]  # 2 and 3 are right answers, too.
    words = "^candidates: .*train"
    known = {"train": TRAIN}
    refusal(ValueError, words, Task, WHOLE[:1], known, entities=9, candidates="test")


def test_all_true_triples_without_a_name_are_told_to_have_names() -> None:
    """No option names them: no split of that name is ranked, and to drop leaks leaves nothing."""
    facts = [*TRAIN, (1, 1, 3), *WHOLE]
    words = r"^test: 4 \(0 0 1, 0 0 2, 0 0 3, ...\) triples are in a known split, too \(all are in "
    words += r'known_{}\); they are ranked like the others; known={{"train": ..., "valid": ...}} '
    words += (
        "gives the others by name, and test only where it is the whole of which this is a sample$"
    )
    with pytest.warns(UserWarning, match=words.format(0)):
        unnamed = Task(WHOLE, np.array(facts), entities=4)
    with pytest.warns(UserWarning, match=words.format(1)):
        Task(WHOLE, [np.array(TRAIN), np.array(WHOLE)], entities=4)
    # What it says has the same numbers, under a protocol that names what was left out.
    named = Task(WHOLE, {"train": TRAIN, "valid": facts[3:4]}, entities=4)
    scores = np.random.default_rng(0).random((2, 4, 4))
    reports = [task.evaluate_scores(scores[0], head=scores[1]) for task in (unnamed, named)]
    assert reports[0].to_dict() == reports[1].to_dict()
    assert named.protocol.filter == ("train", "valid", "test")
    Task(WHOLE[:2], {"train": TRAIN, "valid": facts[3:4], "test": WHOLE}, entities=4)
    # Its sisters: pairs have no whole test among the known ones, and answers no way out by leaks=.
    words = r'known_0\); they are ranked like the others; .*"valid": ...} gives the others by name$'
    with pytest.warns(UserWarning, match=words):
        tr.alignment.Task([(0, 0)], left=2, right=2, known=[(0, 0), (1, 1)])
    with pytest.warns(UserWarning, match="q'.; they are ranked like the others$"):
        tr.retrieval.Task({"q": [1]}, entities=2, known={"q": [1, 0]})
    # Their twins: some alone leak, and may be left out.
    with pytest.warns(UserWarning, match=r"too; they .* the others; leaks='drop' leaves them out$"):
        Task(WHOLE, np.array(facts[:-1]), entities=4)
    with pytest.warns(UserWarning, match=r"the others; leaks='drop' leaves them out$"):
        tr.retrieval.Task({"q": [1, 0]}, entities=2, known={"q": [1]})


def test_true_leaks_are_warned_of_beside_a_whole_test() -> None:
    words = r"^test: 1 \(0 0 1\) triples are in a known split, too \(all are in valid\); they "
    words += (
        r"are ranked like the others; split='valid' says that it is the evaluated split, or the "
    )
    words += r"whole of it; Task\(valid, \.\.\.\)\[positions\] ranks a sample of it"
    with pytest.warns(UserWarning, match=words):
        Task(WHOLE[:1], {"valid": WHOLE[:2], "test": WHOLE})
    with pytest.warns(UserWarning, match=r"^test: 1 \(0 0 1\) triples are in a known split"):
        Task(WHOLE, {"train": WHOLE[:1], "test": WHOLE})


def test_a_known_split_of_the_same_name_that_lacks_what_is_ranked_is_refused() -> None:
    """It may be another split that is evaluated: of that, its name says so."""
    words = "^split: expected the name of a known split that has all triples that are ranked, or "
    words += r"another name, got 'test', whose known triples lack 1 \(1 1 0\)$"
    refusal(ValueError, words, Task, WHOLE, {"test": WHOLE[:3]})
    Task(WHOLE, {"test": [(3, 1, 2)]}, split="valid")


def test_a_sample_of_pairs_or_of_answers_is_a_part_of_the_whole() -> None:
    """Where a known split cannot be the whole, the refusal says what ranks a sample of it."""
    words = r"^split: expected a name that no known split has, got 'test'; "
    words += r"Task\(whole, \.\.\.\)\[positions\] ranks a sample of a split$"
    pairs = [(0, 0), (0, 1), (1, 2)]
    scores = np.array([[0.8, 0.9, 0.7], [0.1, 0.2, 0.3]])
    graphs = {"left": 2, "right": 3}
    refusal(ValueError, words, tr.alignment.Task, pairs[:1], **graphs, known={"test": pairs})
    sample = tr.alignment.Task(pairs, **graphs)[[0]].evaluate_scores(scores)
    assert sample["left_to_right.mrr"] == 1  # The other counterpart is above, and left out.
    alone = tr.alignment.Task(pairs[:1], **graphs).evaluate_scores(scores)
    assert alone["left_to_right.mrr"] == 0.5
    assert sample.audit("missing rows") == []
    qrels = {"q": {"a": 1, "b": 1}, "r": {"c": 1}}
    lists = {"q": ["c", "b", "a"], "r": ["a", "b"]}
    options = {"entities": list("abc"), "known": {"test": qrels}}
    refusal(ValueError, words, tr.retrieval.Task, {"q": qrels["q"]}, **options)
    queries = tr.retrieval.Task(qrels, entities=list("abc"))[[0]]
    assert queries.evaluate_lists({"q": lists["q"]})["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert tr.alignment.Task(pairs, **graphs, known={"train": [(0, 2)]}).protocol.filter


def test_a_sample_at_the_terminal(tmp_path: Path) -> None:
    names = "abcd"
    for name, facts in {"train": TRAIN, "sample": WHOLE[:1], "test": WHOLE}.items():
        lines = [f"{names[h]}\tr{r}\t{names[t]}\n" for h, r, t in facts]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    np.save(tmp_path / "tails.npy", SCORES)
    line = ["link-prediction", "--sides", "tail", "--test", tmp_path / "sample.tsv"]
    line += ["--scores", f"tail={tmp_path / 'tails.npy'}", "--known", f"train={tmp_path}/train.tsv"]
    for name, words in (("test", ""), ("rest", "; --split rest says that it is the")):
        result = start(*line, "--known", f"{name}={tmp_path}/test.tsv", "--json")
        assert json.loads(result.out)["metrics"]["mrr"] == 1
        assert words in result.err
        assert "Task(" not in result.err
        assert ("in a known split" in result.err) == (name == "rest")


# -- whole facts -----------------------------------------------------------------------------------

TIMED = [(0, 0, 1, 5), (0, 0, 1, 6), (2, 0, 1, 5)]


@pytest.mark.parametrize(("filter", "ranked"), [("fact", 3), ("query", 1), ("triple", 1)])
def test_a_fact_has_all_columns_where_the_filter_asks_for_facts(filter: str, ranked: int) -> None:
    """By the other words a further column that is no key is a confidence."""
    known = {"train": [(0, 0, 1, 7), (3, 0, 2, 5)]}
    rules: dict[str, Any] = {"keys": (), "filter": filter, "duplicates": "drop", "leaks": "drop"}
    assert len(Task(TIMED, known, **rules)) == ranked
    again = {"train": known["train"] + TIMED[1:2]}
    assert len(Task(TIMED[:2], again, **(rules | {"filter": "fact"}))) == 1


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


def test_a_factory_of_pykeen_is_told_what_to_hand_over() -> None:
    factory = SimpleNamespace(mapped_triples=np.array([[0, 0, 1]]), triples=LABELS[:1])
    words = r"^test: .*, whose \.mapped_triples are ids, or \.triples labels$"
    refusal(TypeError, words, Task, factory, {})
    names = {"entities": {"a": 0, "b": 1}, "relations": {"r": 0}}
    for rows in (factory.triples, factory.mapped_triples):
        assert Task(rows, {}, **names).test.tolist() == [[0, 0, 1]]


# -- first lines -----------------------------------------------------------------------------------

CHAIN = [("x", "likes", "y"), *((f"a{i}", "r", f"a{i + 1}") for i in range(12))]
ENTITIES = sorted({name for head, _, tail in CHAIN for name in (head, tail)})
OF_HEADER = "^test: .* may be a header, as no field of it occurs elsewhere; .*header=True says"


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


def test_other_columns_below_a_count_are_a_table(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    path = tmp_path / "train2id.txt"
    options: dict[str, Any] = {"entities": 5, "relations": 2, "ids": True}
    path.write_text("2\n0 4 1\n2 3 0\n")  # head, tail and relation, as OpenKE has them
    assert Task(path, {}, **options).test.tolist() == [[0, 1, 4], [2, 0, 3]]
    for time in ("5", "2014-01-01"):
        path.write_text(f"2\n0 4 1 {time}\n2 3 0 {time}\n")
        words = rf"line 2: expected 3 columns \(head, tail, relation\) .*, got '0 4 1 {time}'$"
        message = str(refusal(ValueError, words, Task, path, {}, **options))
        way_out = message[message.index("pd.read_csv") : message.index(" makes a table")]
        names = "names=['head', 'tail', 'relation', 'time']"
        table = eval(way_out.replace("names=[...]", names), {"pd": pd, "path": path})
        task = Task(table, {}, **options, keys=[3])
        assert task.test[:, :3].tolist() == [[0, 1, 4], [2, 0, 3]]


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
def test_labels_in_json_are_what_json_load_gives(tmp_path: Path, labels: Any, indent: Any) -> None:
    path = tmp_path / "entity2id.json"
    path.write_text(json.dumps(labels, indent=indent))
    words = (
        r"^entities: .*entity2id\.json: line 1: this is JSON: json\.load\(file\) is what to hand"
    )
    refusal(ValueError, words, Task, [("a", "r", "b")], {}, entities=path)
    loaded = json.loads(path.read_text())
    assert Task([("a", "r", "b")], {}, entities=loaded).entities == ("a", "b")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("facts.json", '[["a", "r", "b"]]', r"pandas\.DataFrame\(json\.load\(file\)\) is a table"),
        ("facts.json", "[\n {}\n]", r"pandas\.DataFrame\(json\.load\(file\)\) is a table"),
        ("facts.txt", '{"a": [["r", "b"]]}', r"pandas\.DataFrame\(json\.load\(file\)\) is a table"),
        (
            "facts.jsonl",
            '{"h": "a"}\n',
            r"pandas\.read_json\(path, lines=True\) makes a table of it",
        ),
    ],
)
def test_facts_in_json_say_how_to_read_them(
    tmp_path: Path, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content)
    refusal(ValueError, rf"^test: .*: line 1: this is JSON: {words}; it", Task, tmp_path / name, {})


def test_names_in_brackets_are_no_json(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text("[[Oslo]]\tin\t[[Norway]]\n")
    (tmp_path / "entities.txt").write_text("[[Oslo]]\n[[Norway]]\n")
    (tmp_path / "relations.json").write_text("in\n")
    names = {"entities": tmp_path / "entities.txt", "relations": tmp_path / "relations.json"}
    assert Task(tmp_path / "facts.json", {}, **names).test.tolist() == [[0, 0, 1]]


# -- the audit -------------------------------------------------------------------------------------


def messages(task: Task) -> dict[str, str]:
    return {finding.name: finding.message for finding in task.audit}


def with_inverses(facts: np.ndarray) -> np.ndarray:
    return np.concatenate([facts, facts[:, ::-1] + [0, 10, 0]])


def random_facts(count: int, seed: int) -> np.ndarray:
    heads, relations, tails = np.random.default_rng(seed).integers(0, 10, (3, count))
    return np.unique(np.stack([heads + 1, relations, tails + 11], 1), axis=0)


def test_the_audit_names_entities_that_no_fact_has() -> None:
    """As the row that pads a table of vectors."""
    facts = [(1, 0, 2)]
    assert messages(Task(facts, {}, entities=3))["entities in no fact"] == "1 of 3 entities: 0"
    names = messages(Task([("b", "r", "c")], {}, entities=[*"abcdef"], relations=["r", "s"]))
    assert names["entities in no fact"] == "4 of 6 entities: a, d, e, ..."
    assert names["relations in no fact"] == "1 of 2 relations: s"
    assert not any("in no fact" in name for name in messages(Task(facts, {"train": [(0, 0, 0)]})))


def test_the_audit_names_relations_of_the_test_that_one_known_split_lacks() -> None:
    """As the inverse relations that a model was trained with."""
    train, valid, test = (random_facts(200, seed) for seed in range(3))
    task = Task(with_inverses(test), {"train": with_inverses(train), "valid": valid}, leaks="drop")
    expected = "valid lacks 10 of 20 of the test, and so filters none of them: 10, 11, 12, ..."
    assert messages(task)["relations of valid"] == expected
    both = {"train": with_inverses(train), "valid": with_inverses(valid)}
    for known in ({"train": train, "valid": valid}, {"valid": valid}, both):
        facts = test if known is not both else with_inverses(test)
        assert "relations of valid" not in messages(Task(facts, known, leaks="drop"))


def test_the_audit_counts_facts_that_are_ranked_twice() -> None:
    facts = random_facts(50, 0)
    count = len(facts)
    expected = f"{2 * count} triples are others with head and tail exchanged, of relations that "
    expected += "always go together (0, 1, 2, ...): each is ranked twice"
    rows = np.random.default_rng(1).permutation(with_inverses(facts))
    assert messages(Task(rows, {}))["inverse relations"] == expected
    # A relation and its inverse, both symmetric; one fact of the inverses is not there.
    symmetric = [(0, 0, 1), (1, 0, 0), (1, 1, 0), (0, 1, 1)]
    assert messages(Task(symmetric, {}))["inverse relations"].startswith("4 triples")
    some = messages(Task(with_inverses(facts)[:-1], {}))["inverse relations"]
    assert int(some.split()[0]) == 2 * (facts[:, 1] != facts[-1, 1]).sum()


@pytest.mark.parametrize(
    "facts",
    [
        random_facts(50, 0),
        [(0, 0, 1), (1, 0, 0)],  # symmetric
        [(0, 0, 1), (1, 1, 0), (2, 0, 1)],
        [(0, 0, 1), (0, 1, 1)],
    ],
)
def test_facts_that_are_ranked_once_are_not_in_the_audit(facts: Any) -> None:
    assert "inverse relations" not in messages(Task(facts, {}))
