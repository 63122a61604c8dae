"""Data sets under names, of every kind: in Python, by `merge`, saved and pickled."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import Run
from support.refusals import refusal
from truerank.link_prediction import Task as Triples
from truerank.retrieval import Task

DOCUMENTS = list("abcdefgh")
Sets = dict[str, Any]


def ranks_of(qrels: Any, lists: Any, **options: Any) -> tr.Ranks:
    return Task(qrels, entities=DOCUMENTS, **options).evaluate_lists(lists).ranks


def graph(facts: Any, seed: int, part: slice = slice(None), **options: Any) -> tr.Ranks:
    scores = np.random.default_rng(seed).random((12, 6))
    options = {"entities": 6, "relations": 2, "filter": "none"} | options
    task = Triples(facts, {}, **options)[part]
    return task.evaluate(
        tail=lambda q: scores[q[:, 0] + 6 * q[:, 1]], head=lambda q: scores[6 * q[:, 0] + q[:, 1]]
    ).ranks


A = {"1": ["a"], "2": ["b"]}
B = {"1": ["c"], "2": ["d"], "3": ["e"]}
ENGLISH = ranks_of(A, {"1": ["a", "h"], "2": ["h", "b"]})
GERMAN = ranks_of(A, {"1": ["h", "a"], "2": ["g", "h", "b"]})
LARGER = (
    Task(A, entities=[*DOCUMENTS, "i"])
    .evaluate_lists({"1": ["h", "a"], "2": ["g", "h", "b"]})
    .ranks
)
OTHER = ranks_of(B, {"1": ["c"], "2": ["h", "d"], "3": ["g", "h", "f", "e"]})
FACTS = [(0, 0, 1), (1, 0, 2), (2, 1, 3)]


def of_graphs() -> tuple[Sets, int, float]:
    sets = {"x": graph(FACTS[:2], 0), "y": graph(FACTS, 1)}
    return sets, 5, float(np.concatenate([1 / x.realistic for x in sets.values()]).mean())


def of_one_graph() -> tuple[Sets, int, float]:
    sets = {"x": graph(FACTS, 0), "y": graph(FACTS, 1)}
    return sets, 6, float(np.concatenate([1 / x.realistic for x in sets.values()]).mean())


def of_no_task() -> tuple[Sets, int, float]:
    x = tr.Ranks([0, 1], [1, 1], 9, unit=["u", "v"])
    y = tr.Ranks([0, 1, 3], [1, 1, 1], 9, unit=["u", "v", "w"])
    return {"x": x, "y": y}, 5, (1 + 1 / 2 + 1 + 1 / 2 + 1 / 4) / 5


def of_labels() -> tuple[Sets, int, float]:
    sets, units, value = of_no_task()
    for name, ranks in sets.items():
        n = len(ranks)
        sets[name] = ranks.with_labels(queries=np.arange(n), targets=np.arange(n), unit=None)
    return sets, units, value


def of_blocks() -> tuple[Sets, int, float]:
    rng = np.random.default_rng(0)
    queries, entities = rng.standard_normal((5, 4)), rng.standard_normal((40, 4))
    truth = tr.topk_embeddings(queries, entities, 2, similarity="dot").ids
    ids = truth.copy()
    ids[4] = -1
    sets = {}
    for name, some in {"x": slice(3), "y": slice(3, 5)}.items():
        arrays = queries[some], entities, ids[some], truth[some]
        sets[name] = tr.evaluate_topk(*arrays, similarity="dot").ranks
    return sets, 5, 0.8


def of_chunks() -> tuple[Sets, int, float]:
    """A set whose parts are those of one task, and one whose chunks are Tasks of their own."""
    parts = [graph(FACTS, 0, slice(p, None, 2)) for p in (1, 0)]
    sets = {"x": parts, "y": tr.concatenate([graph([f], 1) for f in FACTS], repeats="refuse")}
    values = [1 / each.realistic for each in (*parts, sets["y"])]
    return sets, 6, float(np.concatenate(values).mean())


def of_alignment() -> tuple[Sets, int, float]:
    vectors = np.random.default_rng(0).standard_normal((4, 3))
    sets = {}
    for name, pairs in {"x": [(0, 0), (1, 1)], "y": [(0, 1), (1, 0), (2, 2)]}.items():
        task = tr.alignment.Task(pairs, left=4, right=4)
        sets[name] = task.evaluate_embeddings(vectors, vectors[::-1], similarity="dot").ranks
    return sets, 5, float(np.concatenate([1 / x.realistic for x in sets.values()]).mean())


def of_weights() -> tuple[Sets, int, float]:
    sets, units, _ = of_no_task()
    sets = {x: each.with_weights(np.arange(1, len(each) + 1)) for x, each in sets.items()}
    return sets, units, (1 + 2 / 2 + 1 + 2 / 2 + 3 / 4) / 9


KINDS: dict[str, Callable[[], tuple[Sets, int, float]]] = {
    "queries": lambda: ({"x": ENGLISH, "y": OTHER}, 5, (1 + 1 / 2 + 1 + 1 / 2 + 1 / 4) / 5),
    "languages": lambda: ({"x": ENGLISH, "y": GERMAN}, 4, (1 + 1 / 2 + 1 / 2 + 1 / 3) / 4),
    "other corpora": lambda: ({"x": ENGLISH, "y": LARGER}, 4, (1 + 1 / 2 + 1 / 2 + 1 / 3) / 4),
    "graphs": of_graphs,
    "one graph": of_one_graph,
    "chunks": of_chunks,
    "no task": of_no_task,
    "no task, labels": of_labels,
    "blocks": of_blocks,
    "alignment": of_alignment,
    "weights": of_weights,
}


@pytest.mark.parametrize("way", ["Python", "merge", "saved", "pickled"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_both_orders(run: Run, kind: str, way: str) -> None:
    """Units, value and pairs are right, whatever the order of joining."""
    sets, units, value = KINDS[kind]()
    joined = []
    for order in (list(sets), list(sets)[::-1]):
        both = tr.concatenate({name: sets[name] for name in order})
        if way == "merge":
            words = []
            for name in order:
                parts = sets[name] if isinstance(sets[name], list) else [sets[name]]
                for i, part in enumerate(parts):
                    part.save(f"{name}{i}.npz")
                    words.append(f"{name}={name}{i}.npz")
            assert run("merge", *words, "--save", "both.npz", "--force").code == 0
            merged = tr.load("both.npz")
            assert merged == both
            both = merged
        elif way == "saved":
            both.save("both.npz")
            both = tr.load("both.npz")
        elif way == "pickled":
            both = pickle.loads(pickle.dumps(both))
        joined.append(both)
    both = joined[0]
    assert tr.concatenate([both[1::2], both[::2]]) == both or not both.origins
    one, two = map(tr.report, joined)
    metric = "recall@2" if kind == "blocks" else "mrr"
    assert one[metric] == pytest.approx(value)
    assert one.interval(metric).units == units
    pair = tr.compare(one, two, metric=metric)
    assert (pair.units, pair.ties) == (units, units)
    of_sets = tr.report(joined[0], by="dataset")
    assert set(of_sets.groups) == {"x", "y"}
    if one.unit == "query":
        names = [name for name, _ in one.queries]
        assert names == ["x"] * names.count("x") + ["y"] * names.count("y")
        assert {*one.queries} == {*two.queries}


# -- what is within a data set ---------------------------------------------------------------------


def test_a_list_of_several_tests_is_refused_with_both_forms(run: Run) -> None:
    message = refusal(tr.InputValueError, "parts: number 1", tr.concatenate, [ENGLISH, OTHER])
    assert 'concatenate({"en": a, "de": b}) joins data sets' in message
    # Folds of each user's items share queries; chunks that share one would count it twice.
    assert "; several tasks have right answers of 2 of 3 queries, the first: query " in message
    assert message.endswith("; repeats= says what a fact is that comes twice")
    alone = ranks_of({"8": ["a"]}, {"8": ["h", "a"]})
    message = refusal(tr.InputValueError, "parts: number 1", tr.concatenate, [ENGLISH, alone])
    assert "several tasks" not in message
    assert message.endswith("; repeats= says what a fact is that comes twice")
    refusal(tr.InputValueError, "parts: x: number 1", tr.concatenate, {"x": [ENGLISH, OTHER]})
    named = [tr.concatenate({"x": each}) for each in (ENGLISH, OTHER)]
    refusal(tr.InputValueError, "another test of x", tr.concatenate, named)
    words = r"parts: y: expected ranks without names of data sets \(in one mapping: y/x\)"
    refusal(tr.InputValueError, words, tr.concatenate, {"y": named[0]})
    for name in ("", 1, None):
        refusal(tr.InputTypeError, "parts: expected names", tr.concatenate, {name: ENGLISH})
    refusal(tr.InputValueError, "dataset missing", tr.concatenate, [named[0], OTHER])
    for i, each in enumerate((ENGLISH, OTHER, named[0])):
        each.save(f"{i}.npz")
    run("merge", "0.npz", "1.npz").refuses(1, "NAME=FILE joins data sets; --repeats")
    run("merge", "x=0.npz", "1.npz").refuses(2, "NAME=FILE for each file, or for none")
    run("merge", "x=0.npz", "x=1.npz").refuses(1, "parts: x: number 1: it belongs to another")
    run("merge", "y=2.npz", "x=1.npz").refuses(1, "parts: y: expected ranks without names")
    run("merge", "=0.npz", "x=1.npz").refuses(1, "parts: expected names")


def test_a_word_that_is_a_file_is_a_file(run: Run) -> None:
    ENGLISH.save("lr=0.1.npz")
    OTHER.save("b.npz")
    assert run("merge", "lr=0.1.npz", "b.npz", "--repeats", "refuse", "--save", "j.npz").code == 0
    assert "dataset" not in tr.load("j.npz").labels
    assert run("merge", "x=lr=0.1.npz", "y=b.npz", "--save", "k.npz").code == 0
    assert tr.load("k.npz") == tr.concatenate({"x": ENGLISH, "y": OTHER})


def test_counters_have_no_names(run: Run) -> None:
    for name in ("a", "b"):
        tr.RankCounter([0.5], [0], candidates=2).save(f"{name}.npz")
    run("merge", "x=a.npz", "y=b.npz").refuses(2, "only saved ranks have names")


def test_facts_that_sets_share_count_once_if_asked_for() -> None:
    """In the first set that has them; models that were joined in other orders pair by the fact."""
    one = ranks_of({"1": ["a"], "2": ["b"]}, {"1": ["h", "a"], "2": ["b"]})
    two = ranks_of({"1": ["a"], "3": ["c"]}, {"1": ["h", "a"], "3": ["d", "c"]})
    report = tr.report(tr.concatenate({"x": one, "y": two}, repeats="drop"))
    back = tr.report(tr.concatenate({"y": two, "x": one}, repeats="drop"))
    assert report.queries == [("x", "1"), ("x", "2"), ("y", "3")]
    assert back.queries == [("y", "1"), ("y", "3"), ("x", "2")]
    pair = tr.compare(report, back, metric="mrr")
    assert (pair.units, pair.ties) == (3, 3)
    assert tr.report(tr.concatenate({"x": one, "y": two})).tasks() == 4
    refusal(ValueError, "twice", tr.concatenate, {"x": one, "y": two}, repeats="refuse")


def test_names_of_one_model_alone_or_other_names() -> None:
    """They pair by facts, as ranks without names do."""
    plain = tr.concatenate([ENGLISH, OTHER], repeats="refuse")
    named = tr.concatenate({"y": OTHER, "x": ENGLISH})
    other = tr.concatenate({"new": ENGLISH, "newer": OTHER})
    for one, two in ((plain, named), (named, plain), (named, other)):
        pair = tr.compare(tr.report(one), tr.report(two), metric="mrr")
        assert (pair.units, pair.ties) == (5, 5)


def test_sets_that_grew_and_lost_a_query(run: Run) -> None:
    """Both were asked 1 and 2 of x, and 1 and 3 of y."""
    base = tr.concatenate({"x": ENGLISH, "y": OTHER})
    x = ranks_of(A | {"9": ["c"]}, {"1": ["h", "a"], "2": ["h", "b"], "9": ["c"]})
    y = ranks_of({"1": ["c"], "3": ["e"]}, {"1": ["c"], "3": ["g", "h", "f", "e"]})
    new = tr.concatenate({"y": y, "x": x})
    reports = tr.report(base), tr.report(new)
    message = refusal(ValueError, "only a has 1, .*query 2, .*dataset y", tr.compare, *reports)
    assert message.endswith("common=True leaves out what was not asked of a and b")
    pair = tr.compare(*reports, metric="mrr", common=True)
    assert (pair.units, pair.wins, pair.ties) == (4, 1, 3)
    note = "left out, as a and b lack ranks or lists: 1 of 5 queries of a; 1 of 5 queries of b"
    assert pair.notes[0] == note
    base.save("base.npz")
    new.save("new.npz")
    printed = run("compare", "base.npz", "new.npz", "--margin", "0.4", "--common").out
    assert "lost most: x: 1 (1.000 to 0.500)" in printed
    assert "new was not asked 1 of 5 queries of base" in printed


def test_units_of_the_user_join_languages() -> None:
    both = tr.concatenate({"x": ENGLISH, "y": GERMAN})
    report = tr.report(both)
    assert report.interval("mrr").units == 4
    (finding,) = report.audit("data sets")
    assert finding.message.startswith("x, y have the same queries and right answers")
    once = both.with_labels(unit=both.queries)
    assert set(once.labels) >= {"dataset", "unit"}
    assert not tr.report(once).audit("data sets")
    interval = tr.report(once).interval("mrr", unit=once.queries)
    assert interval.units == 2


def test_one_file_under_two_names() -> None:
    for ranks in (ENGLISH, graph(FACTS, 0), tr.Ranks([0, 1], [1, 1], 9, unit=[0, 1])):
        (finding,) = tr.report(tr.concatenate({"x": ranks, "y": ranks})).audit("data sets")
        assert (finding.count, finding.message[:30]) == (
            2 * len(ranks),
            "x, y are equal in all rows: is",
        )
    assert not tr.report(tr.concatenate({"x": ENGLISH, "y": OTHER})).audit("data sets")


def test_what_data_sets_lack_is_said_of_them(run: Run) -> None:
    both = tr.concatenate({"x": ENGLISH, "y": Task(B)[0:2].evaluate_lists(dict(B)).ranks})
    (finding,) = tr.report(both).audit("missing rows")
    assert finding.message == "the ranks are a part, 4 of 5 queries; y lacks 1"
    half = Task(A)[0:1].evaluate_lists(dict(A)).ranks
    (finding,) = tr.report(tr.concatenate({"x": half, "y": ENGLISH})).audit("missing rows")
    assert finding.message == "the ranks are a part, 3 of 4 queries; x lacks 1"
    half.save("half.npz")
    ENGLISH.save("whole.npz")
    run("merge", "x=half.npz", "y=whole.npz").refuses(1, "x lacks 1")


def test_sides_and_units_are_those_of_a_data_set() -> None:
    """Sets of the same facts share no unit, however their tests are cut."""
    whole = {name: graph(FACTS, seed) for seed, name in enumerate("xy")}
    cut = {"x": whole["x"], "y": tr.concatenate([graph([f], 1) for f in FACTS], repeats="refuse")}
    pair = tr.compare(*map(tr.concatenate, (whole, cut)), metric="mrr")
    assert (pair.units, pair.ties) == (6, 6)
    tails = graph(FACTS, 1)
    (finding,) = tr.report(
        tr.concatenate({"x": whole["x"], "y": tails[tails.side == "tail"]})
    ).audit("missing sides")
    assert (finding.count, finding.message[-27:]) == (3, "3 of 6 triples without head")


# -- what was joined wrongly -----------------------------------------------------------------------


def test_a_repeat_is_found_where_entities_are_in_another_order() -> None:
    names = ["a", "b", "c", "d", "e", "f"]
    facts = [("a", "r", "b"), ("b", "r", "c")]
    parts = []
    for order in (names, names[::-1]):
        scores = np.random.default_rng(0).random((6, 6))[:, [names.index(x) for x in order]]
        task = Triples(facts[: len(parts) + 1], {}, entities=order, relations=["r"], sides=["tail"])
        rows = {order.index(x): names.index(x) for x in names}
        parts.append(
            task.evaluate(lambda q, rows=rows, s=scores: s[[rows[h] for h in q[:, 0].tolist()]])
        )
    ranks = [part.ranks for part in parts]
    refusal(ValueError, "1 of 3 tasks are there twice", tr.concatenate, ranks, repeats="refuse")
    assert len(tr.concatenate(ranks, repeats="drop")) == 2


def test_parts_of_one_order_have_no_note_on_orders() -> None:
    names = list("abcdef")
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")]
    make = {"entities": names, "relations": ["r"]}
    chunks = tr.concatenate([graph([fact], 0, **make) for fact in facts], repeats="refuse")
    notes = tr.compare(chunks, graph(facts, 0, **make)).notes
    assert not any("another order" in note for note in notes)


def test_facts_of_other_grades_are_no_repeats() -> None:
    lists = {"1": ["a", "b"]}
    graded = [ranks_of({"1": {"a": 3, "b": 1}}, lists), ranks_of({"1": {"a": 1, "b": 3}}, lists)]
    words = "but gains of one task .* is 3.0 at position 0 and 1.0"
    refusal(ValueError, words, tr.concatenate, graded, repeats="drop")


def test_missing_lists_of_parts_are_findings_of_the_whole() -> None:
    task = Task(B, entities=DOCUMENTS)
    with pytest.warns(UserWarning, match="no list"):
        parts = [task[p::2].evaluate_lists({"1": ["c"], "2": ["d"]}).ranks for p in range(2)]
    (finding,) = tr.report(tr.concatenate(parts)).audit("missing lists")
    assert (finding.count, finding.message) == (1, "1 of 3 queries without a list, as '3'")


def perfect(task: Any, facts: set[Any]) -> tr.Report:
    names, relations = task.entities, task.relations

    def tail(queries: Any) -> Any:
        rows = [(names[h], relations[r]) for h, r in queries]
        return np.array([[float((h, r, x) in facts) for x in names] for h, r in rows])

    report: tr.Report = task.evaluate(tail)
    return report


@pytest.mark.parametrize("join", [lambda x: tr.concatenate(x, repeats="refuse"), None])
def test_chunks_that_leave_answers_of_each_other_unfiltered(join: Any) -> None:
    """A perfect model had less than 1, and nothing was said."""
    join = join or (lambda parts: tr.concatenate({f"c{i}": x for i, x in enumerate(parts)}))
    rng = np.random.default_rng(0)
    names = [f"e{i}" for i in range(8)]
    triples = [(names[i], "r", names[j]) for i, j in rng.integers(0, 8, (30, 2)).tolist()]
    facts = list(dict.fromkeys(triples))
    train, test = facts[:8], facts[8:]
    make = {"entities": names, "relations": ["r"], "sides": ["tail"]}
    alone = [perfect(Triples(test[p::2], {"t": train}, **make), set(facts)).ranks for p in (0, 1)]
    # A list without `repeats` is refused, and no way is named that would join them so.
    words = "known answers count as wrong in .* tasks, as Tasks that were made apart do not know"
    with pytest.raises(tr.InputValueError, match=words) as refused:
        tr.concatenate(alone)
    assert str(refused.value).endswith("the parts p::n of one Task do")
    assert refused.value.remedies == ()
    with pytest.warns(tr.InputWarning, match="^parts: known answers count as wrong in"):
        report = tr.report(join(alone))
    assert report["mrr"] < 1
    (finding,) = report.audit("unfiltered")
    assert finding.message.endswith("Tasks that were made apart do not know each other's")
    whole = Triples(test, {"t": train}, **make)
    report = tr.report(tr.concatenate([perfect(whole[p::2], set(facts)).ranks for p in (0, 1)]))
    assert report["mrr"] == 1
    assert not report.audit("unfiltered")
    # What all of them know is filtered, and nothing is said.
    known = [{"t": train, "rest": test[1 - p :: 2]} for p in (0, 1)]
    ranks = [perfect(Triples(test[p::2], known[p], **make), set(facts)).ranks for p in (0, 1)]
    report = tr.report(join(ranks))
    assert report["mrr"] == 1
    assert not report.audit("unfiltered")


def test_groups_and_tables_have_the_names() -> None:
    both = tr.concatenate({"x": ENGLISH, "y": OTHER})
    of_queries = tr.report(both, by="query")
    assert list(of_queries.groups) == of_queries.queries
    table = json.loads(tr.report(both, by="dataset").table(["mrr"]).to_json())
    assert {row["group"] for row in table["rows"]} >= {"x", "y"}
    assert "group,x," in tr.report(both, by="dataset").table(["mrr"]).to_csv()
    graphs = tr.concatenate({"x": graph(FACTS, 0), "y": graph(FACTS[:2], 1)})
    assert list(tr.report(graphs, by="relation").groups) == [("x", 0), ("x", 1), ("y", 0)]
    weights = tr.report(graphs, weights="relation").weights
    assert weights is not None
    assert weights[-2:].tolist() == [0.5, 0.5]
