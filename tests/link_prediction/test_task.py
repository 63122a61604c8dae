"""The task of link prediction against its definition: queries, filter, audit, labels."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.triples import WORDS, Given, given_tasks, lists_of
from support.examples import examples
from support.outcomes import quietly
from support.refusals import T, V, refusal
from truerank.link_prediction import Sampled, Task, sides
from truerank.naming import format_count
from truerank.tasks import candidates

# of duplicates and of leaks
pytestmark = pytest.mark.filterwarnings("ignore:test. :UserWarning")

SIDES = ("head", "tail", "relation")
TEST = [("a", "likes", "c"), ("a", "likes", "d"), ("b", "knows", "a")]
TRAIN = [("a", "likes", "b"), ("b", "likes", "c"), ("c", "knows", "a"), ("d", "knows", "a")]


def values(labels: Any) -> list[Any]:
    found: list[Any] = labels.values.tolist()
    return found


def check_side(tasks: Any, given: Given) -> None:
    """Check queries, filter, candidates and labels, and their documented layout."""
    expected = given.side(tasks.name)
    assert tasks.queries.dtype == tasks.rows.dtype == tasks.targets.dtype == np.int64
    queries = list(map(tuple, tasks.queries.tolist()))
    assert queries == sorted(set(expected.queries))
    assert [queries[row] for row in tasks.rows.tolist()] == expected.queries
    assert tasks.targets.tolist() == expected.targets
    assert tasks.units.tolist() == given.chosen
    assert tasks.n_candidates == given.columns(tasks.name)
    for name in ("category", "head_degree", "tail_degree", "degree"):
        assert values(tasks.labels[name]) == getattr(expected, name), name
    relations: list[Any] = [given.test[i][1] for i in given.chosen]
    if given.labelled:
        relations = [WORDS[i] for i in relations]
    assert values(tasks.labels["relation"]) == relations
    # One number is one query, in this task and in every other of these entities.
    numbers = values(tasks.labels["queries"])
    assert len(set(zip(numbers, tasks.rows.tolist(), strict=True))) == len(set(numbers))
    assert len(set(numbers)) == len(queries)
    assert values(tasks.labels["targets"]) == expected.targets
    if given.rule == "query":
        assert lists_of(tasks.filter) == list(map(sorted, given.left_out(tasks.name)))
        assert tasks.filter[2].tolist() == tasks.rows.tolist()
    if isinstance(given.candidates, Sampled):
        most = given.candidates.negatives
        columns = expected.answers, given.own_entities(tasks.name)
        known = [answers | own for answers, own in zip(*columns, strict=True)]
        check_sample(tasks, given.pool(tasks.name), known, most)


def check_sample(tasks: Any, pools: list[set[int]], answers: list[set[int]], most: int) -> None:
    """Check that candidates are a sample of their pool without known answers, and the target."""
    columns = lists_of(tasks.candidates), tasks.targets.tolist(), answers, pools
    for drawn, target, known, pool in zip(*columns, strict=True):
        assert drawn == sorted(set(drawn))
        assert {target} <= set(drawn) <= pool - known | {target}
        assert len(drawn) == min(most, len(pool - known)) + 1


def check_audit(audit: Any, given: Given) -> None:
    """Check the counts; how they are said is below."""
    found = given.found
    counts = {each.name: each.count for each in audit if "share a query" not in each.message}
    sizes = [f"{name} {len(rows)}" for name, rows in (given.known or {}).items()]
    ranked = f"{format_count(len(given.test), 'triple')}, {len(given.chosen)} ranked"
    assert str(audit[0]) == f"test: {ranked}; known: {', '.join(sizes) or 'none'}"
    assert counts["duplicates"] == len(found.duplicates)
    assert counts["leaks"] == len({i for where in found.leaks.values() for i in where})
    assert ("unseen entities" in counts) == bool(given.known)
    if given.known:
        unseen = "unseen in train" if "train" in given.known else "unseen"
        assert counts[unseen] == len(found.unseen)
        assert counts["unseen entities"] == len(found.unseen_entities)
        assert counts["unseen relations"] == len(found.unseen_relations)


@given(given_tasks(), st.sampled_from([1, 5, 1 << 21]))
@examples(150)
def test_the_definition(given: Given, at_once: int) -> None:
    arguments = given.arguments
    if given.is_refused:
        with pytest.raises(ValueError, match=r"^(test|candidates): "):
            Task(**arguments)
        return
    with warnings.catch_warnings(record=True) as caught, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        patch.setattr(candidates, "NUMBERS_AT_ONCE", at_once)
        task = Task(**arguments)
    found = given.found
    rules = given.rules
    noted = [
        found.duplicates and rules["duplicates"] == "keep",
        any(found.leaks.values()) and rules["leaks"] == "keep",
    ]
    assert len(caught) == sum(map(bool, noted))
    assert list(map(tuple, task.test.tolist())) == [given.test[i] for i in given.chosen]
    assert set(task.sides) == set(given.sides)
    for tasks in task.sides.values():
        check_side(tasks, given)
    check_audit(task.audit, given)
    filter: list[str] = []
    if given.rule != "none":
        filter = list(given.known or {})
        filter.append("test")
    if given.exclude is not None:
        filter.append("self")
    assert task.protocol.filter == tuple(filter)
    assert task.protocol.filter_rule == rule_of(given)
    assert task.protocol.sampled == isinstance(given.candidates, Sampled)


def rule_of(given: Given) -> str | None:
    """Return which facts are filtered, by the further columns that must agree."""
    further = tuple(range(3, len(given.test[0])))
    if not further or given.rule == "none":
        return None
    other = f"columns {', '.join(map(str, given.key_columns))}"
    rules = {(): "triple", further: "fact"}
    return rules.get(given.key_columns, other) if given.rule == "query" else given.rule


def test_wn18rr(data: Path) -> None:
    """A real data set, by labels."""
    files = {name: data / "wn18rr" / f"{name}.txt" for name in ("train", "valid", "test")}
    task = Task(files["test"], {name: files[name] for name in ("train", "valid")})
    assert task.entities is not None
    assert (len(task.entities), task.relations and len(task.relations)) == (40_943, 11)
    counts = {finding.name: finding.count for finding in task.audit}
    assert (len(task.test), counts["unseen in train"]) == (3134, 210)
    assert (counts["duplicates"], counts["leaks"]) == (0, 0)
    sizes = [len(side.filter[1]) for side in task.sides.values() if side.filter is not None]
    assert sizes == [21_020, 8594]  # known answers of the queries, in the order of sides


def test_names() -> None:
    task = Task(TEST, {"train": TRAIN}, sides=SIDES)
    assert (task.entities, task.relations) == (("a", "b", "c", "d"), ("knows", "likes"))
    assert list(task.sides) == ["head", "tail", "relation"]
    assert repr(task) == (
        "Task(head 3 of 3 queries among 4 entities, tail 3 of 2 queries among 4 entities, "
        "relation 3 of 3 queries among 2 relations; "
        "split test, filtered by train + test, all candidates, nan raise)"
    )
    with pytest.raises(AttributeError, match="no attribute 'relation'"):
        _ = Task(TEST).relation
    mapped = Task([("a", "r", "b")], [(0, 0, 0)], entities={"b": 0, "a": 1}, relations=["r"])
    assert (mapped.entities, mapped.test.tolist()) == (("b", "a"), [[1, 0, 0]])
    assert lists_of(mapped.head.filter) == [[0, 1]]  # ids may stand beside labels


def test_messages_say_how_to_validate() -> None:
    words = r"^split: .* has all triples that are ranked, or another name, got 'test', "
    words += r"whose known triples lack 2 \(a likes c, b knows a\)$"
    refusal(ValueError, words, Task, TEST, {"train": TRAIN, "test": TEST[1:2]})
    words = (
        r"\(all are in valid\); .*; split= names this one, and the whole of which it is a sample"
    )
    with pytest.warns(UserWarning, match=words):
        Task(TEST, {"train": TRAIN, "valid": TEST + TRAIN[:1]})
    task = Task(TEST, {"train": TRAIN, "test": TRAIN[:1]}, split="valid")
    assert str(task.protocol).startswith("split valid, filtered by train + test + valid, ")


def test_audit_in_words() -> None:
    test = TEST + TEST[:1] + TRAIN[:1]
    test += [("e", "hates", "a")]
    with pytest.warns(UserWarning, match=r"^test: 1 \(a likes b\) of 6 triples are in a") as caught:
        task = Task(test, {"train": TRAIN, "valid": TRAIN[:2]}, duplicates="drop")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^test: 1 \(a likes c\) of 4 triples repeat"):
        Task(REPEATED, {"train": TRAIN})
    assert list(map(str, task.audit)) == [
        "test: 6 triples, 5 ranked; known: train 4, valid 2",
        "duplicates: 1 (a likes c), dropped",
        "leaks: in train 1 (a likes b); in valid 1 (a likes b), kept",
        "found: 5 entities, 3 relations, 5 heads, 4 tails",
        "unseen in train: 1 (e hates a), kept",
        "unseen entities: 1 (e)",
        "unseen relations: 1 (hates)",
        "relations of valid: valid lacks 1 of 3 relations of the test, and filters nothing for "
        "these: knows",
        "exchanged pairs: 3 of 5 triples have a head and a tail that are exchanged in train "
        "(relations knows, likes)",
    ]
    assert task.head.units.tolist() == [0, 1, 2, 4, 5]
    assert [finding.count for finding in task.audit] == [5, 1, 1, 5, 1, 1, 1, 1, 3]


FAR = [(0, 0, 1), (0, 0, 1), *((i, 0, i) for i in range(5, 9))]


def test_findings_show_three_examples() -> None:
    task = Task(FAR, {"train": [*FAR[:4], FAR[2]]}, leaks="drop")
    assert {
        "duplicates: 1 (0 0 1), kept",
        "leaks: in train 4 (0 0 1, 5 0 5, 6 0 6, ...), dropped",
        "unseen in train: 2 (7 0 7, 8 0 8), kept",
    } <= set(map(str, task.audit))
    task = Task(FAR, {"a": [(0, 2, 1)], "b": [(5, 0, 1)]}, duplicates="drop")
    assert {
        "leaks: none",
        "unseen: 3 (6 0 6, 7 0 7, 8 0 8), kept",
        "unseen entities: 3 (6, 7, 8)",
        "unseen relations: none",
    } <= set(map(str, task.audit))


def test_the_audit_shows_columns_in_another_order_and_nobody_is_warned() -> None:
    """Head, tail, relation, as in files of OpenKE, read as head, relation, tail."""
    heads, relations, tails = np.random.default_rng(0).integers(0, [[50], [12], [50]], (3, 400))
    swapped = np.stack([heads, tails, relations], axis=1)
    audit = Task(swapped[:9], {"train": swapped[9:]}, leaks="drop").audit
    assert "found: 50 entities, 50 relations, 50 heads, 12 tails" in map(str, audit)


def test_more_relations_than_entities_are_a_finding() -> None:
    """As where columns are head, tail, relation; where all splits are so, nothing else shows it."""
    heads, relations, tails = np.random.default_rng(0).integers(0, [[50], [12], [50]], (3, 400))
    for others, is_seen in ((np.arange(400), True), (tails, False)):
        rows = np.stack([heads, others, relations], axis=1)
        audit = quietly(Task, rows[:9], {"train": rows[9:]}, leaks="drop").audit
        found = [each.message for each in audit if each.name == "more relations than entities"]
        expected = "400 relations, which are more than the 50 entities"
        assert found == ([expected] if is_seen else [])


# -- the query itself ------------------------------------------------------------------------------

# Contacts of four atoms in a line, in both directions; the first one touches itself, too.
CONTACTS = [(0, 0, 1), (1, 0, 0), (1, 0, 2), (2, 0, 1), (2, 0, 3), (3, 0, 2), (0, 0, 0)]
PLACES = np.array([[0.0], [1.0], [2.5], [4.5]])  # Each is nearest to itself.
NEAR = -np.abs(PLACES - PLACES.T)


def evaluate_near(**options: Any) -> tr.Report:
    task = Task(CONTACTS, entities=4, sides=["tail"], **options)
    return task.evaluate_scores(NEAR[task.test[:, 0]])


def test_the_query_itself_is_no_candidate() -> None:
    """As LRGB's contacts, .432 raw, .447 filtered and .776 without the query itself."""
    raw, filtered = evaluate_near(filter="none"), evaluate_near()
    without = evaluate_near(exclude="self")
    # Ranks of facts: raw 2 2 3 2 3 2 1, filtered 1 2 2 2 2 2 1.
    assert raw["mrr"] == pytest.approx((4 / 2 + 2 / 3 + 1) / 7)
    assert filtered["mrr"] == pytest.approx((1 + 5 / 2 + 1) / 7)
    assert without["mrr"] == 1
    assert without.ranks.candidates.tolist() == [3, 2, 2, 2, 2, 3, 3]
    only = evaluate_near(exclude="self", filter="none")
    assert only.ranks.candidates.tolist() == [3] * 6 + [4]  # It stays where it is the answer.
    protocols = [report.protocol for report in (raw, filtered, without, only)]
    assert [each.filter for each in protocols] == [(), ("test",), ("test", "self"), ("self",)]
    assert len({each.fingerprint for each in protocols}) == 4
    assert str(without.protocol).startswith("split test, filtered by test + self, all candidates")
    refusal(ValueError, "^b: .*filter: test against test \\+ self", tr.compare, filtered, without)
    for report in (raw, only):
        assert [each.name for each in report.audit("unfiltered")] == ["unfiltered"]
    assert not without.audit("unfiltered")


def test_lists_and_samples_are_without_the_query_itself() -> None:
    """Those of other ways are drawn with tasks of every kind."""
    options: dict[str, Any] = {"entities": 4, "sides": ["tail"], "exclude": "self"}
    task = Task(CONTACTS, **options)
    lists = {(i, 0): np.argsort(-NEAR[i], kind="stable").tolist() for i in range(4)}
    assert task.evaluate_lists(lists)["mrr"] == 1
    top = tr.TopK(np.argsort(-NEAR[task.test[:, 0]], axis=1, kind="stable"), None)
    assert task.evaluate_lists(top)["mrr"] == 1
    for rule in ("query", "none"):
        drawn = Task(CONTACTS, candidates=Sampled(3), filter=rule, **options)
        of_tasks = zip(lists_of(drawn.tail.candidates), drawn.test.tolist(), strict=True)
        for columns, (head, _, tail) in of_tasks:
            assert (head in columns) == (head == tail)
    both = Task(CONTACTS, entities=4, exclude="self")
    heads, tails = both.test[:, 0], both.test[:, 2]
    report = both.evaluate_embeddings(
        tail=PLACES[heads], head=PLACES[tails], entities=PLACES, similarity="l1"
    )
    assert (report["head.mrr"], report["tail.mrr"]) == (1, 1)
    parts = [both[i::3].evaluate_scores(NEAR[heads], head=NEAR[tails]).ranks for i in range(3)]
    assert (tr.concatenate(parts).candidates == report.ranks.candidates).all()
    # A query of relations has no entity of its own.
    relations = Task(CONTACTS, {}, entities=4, relations=2, sides=["relation"], exclude="self")
    assert [len(each) for each in lists_of(relations.relation.filter)] == [1] * 7


def test_no_split_is_called_as_the_query_itself() -> None:
    words = "^known: expected another name of a split, as this one has a meaning in protocols, "
    for exclude in (None, "self"):
        refusal(ValueError, words, Task, TEST, {"self": TRAIN}, exclude=exclude)


def test_labels_of_qualifiers() -> None:
    test = [("a", "r", "b", "2014"), ("a", "r", "c", "2015")]
    task = Task(test, {"train": [("a", "r", "d", "2014"), ("a", "r", "b", "2015")]}, keys=[3])
    assert task.qualifiers == (("2014", "2015"),)
    assert task.tail.queries.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert lists_of(task.tail.filter) == [[1, 3], [1, 2]]


HOURS = [str(hour) for hour in range(24)]
DATES = [f"2014-01-{day:02d}" for day in range(1, 13)]
ORDERS_OF_TIMES = [
    (HOURS, HOURS),
    (["0", "-10", "9", "-9"], ["-10", "-9", "0", "9"]),
    (["2014", "999", "12014"], ["999", "2014", "12014"]),
    (["01", "10", "02"], ["01", "02", "10"]),  # No number is written so: these are words.
    (["1", "01", "2"], ["01", "1", "2"]),
    (["2", "10", "x"], ["10", "2", "x"]),
    (DATES, DATES),
]


@pytest.mark.parametrize("form", ["tuples", "text"])
@pytest.mark.parametrize(("times", "in_order"), ORDERS_OF_TIMES)
def test_times_that_are_numbers_have_the_order_of_numbers(
    times: list[str], in_order: list[str], form: str, tmp_path: Path
) -> None:
    """A model of a vector for each time takes them in this order, and is as right as by ints."""
    facts: Any = [(f"e{i}", "r", f"e{(i + 1) % len(times)}", t) for i, t in enumerate(times)]
    if form == "text":
        path = tmp_path / "test.txt"
        path.write_text("".join("\t".join(fact) + "\n" for fact in facts))
        facts = path
    task = Task(facts, {}, keys=[3], sides=["tail"])
    assert task.qualifiers == (tuple(in_order),)
    position = {time: i for i, time in enumerate(in_order)}
    tails = {position[time]: (i + 1) % len(times) for i, time in enumerate(times)}
    assert task.entities is not None
    right = [task.entities.index(f"e{tails[i]}") for i in range(len(times))]
    assert (
        task.evaluate(lambda queries: np.eye(len(times))[np.array(right)[queries[:, 2]]])["mrr"]
        == 1
    )
    label = {("e0", "r", times[0]): ["e1"]}
    assert task[[0]].evaluate_lists(label)["mrr"] == 1  # A label stays as it is written.


def test_ids_of_times_are_said_where_they_are_not_the_times() -> None:
    """The way out leads to the times; hours from 0 on are their own ids, and silent."""
    facts = [("a", "r", "b", "24"), ("b", "r", "a", "0"), ("a", "r", "c", "120")]
    options: dict[str, Any] = {"entities": ["a", "b", "c"], "keys": [3], "sides": ["tail"]}
    of_hour = {0: [1, 0, 0], 24: [0, 1, 0], 120: [0, 0, 1]}

    def model(task: Task, times: Any) -> float:
        return task.evaluate(lambda q: np.array([of_hour[int(times[i])] for i in q[:, 2]]))["mrr"]

    with pytest.warns(UserWarning, match="^keys: 3: ids in queries are in ascending order"):
        assert model(Task(facts, {}, **options), [0, 24, 24]) < 1
    task = Task(facts, {}, **options)
    assert model(task, task.qualifiers[0]) == 1
    with_ints = [(h, r, t, int(time)) for h, r, t, time in facts]
    assert model(Task(with_ints, {}, **options), range(121)) == 1
    names = [("head", "U1"), ("relation", "U1"), ("tail", "U1"), ("time", "U3")]
    table = np.array(facts, names)
    with pytest.warns(UserWarning, match="^keys: time: ids in queries are in ascending order"):
        model(Task(table, {}, **options), [0, 24, 120])
    hours = [("a", "r", "b", hour) for hour in HOURS]
    Task(hours, {}, **options).evaluate(lambda q: np.zeros((len(q), 3)))


INTS = np.array([[0, 0, 1]])
KNOWN: dict[str, Any] = {"known": [INTS]}
REPEATED, LEAK, UNSEEN = (TEST + rows for rows in (TEST[:1], TRAIN[:1], [("e", "likes", "b")]))
BEYOND = {"known": [INTS, np.array([[0, 0, 1], [0, 0, 2]])], "entities": 2}
ERRORS: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (V, "test", [], {}),
    (V, "test", -INTS, {}),
    (V, "test", [(0, 3, 1)], {"relations": 1}),
    (V, "test", TEST, {"entities": ["a", "b", "c"]}),
    (T, "test", TEST, {"entities": 4}),
    (V, "test", REPEATED, {"duplicates": "raise"}),
    (V, "test", LEAK, {"known": TRAIN, "leaks": "raise"}),
    (V, "test", UNSEEN, {"known": TRAIN, "unseen": "raise"}),
    (T, r'known\["train"\]', INTS, {"known": {"train": INTS * 1.0}}),
    (V, r"known\[1\]", INTS, BEYOND),
    (V, "known", TEST, {"known": INTS}),
    (T, r'known: .* known=\{"train": \.\.\., "valid"', TEST, {"known": [TRAIN, TRAIN]}),
    (V, "entities", INTS, {"entities": {"a": 0, "b": 2}}),
    (V, "sides", INTS, {"sides": ["left"]}),
    (V, "sides", INTS, {"sides": ["head", "head"]}),
    (V, "split", INTS, {"known": {"valid": INTS[:0]}, "split": "valid"}),
    (V, "unseen", INTS, {"unseen": "drop"}),
    (V, "keys", INTS, {"keys": [3]}),
    (V, "keys", [(0, 0, 1, 7)], {"keys": [3, 3]}),
    (V, "filter", INTS, KNOWN | {"filter": "static"}),
    (V, "exclude", INTS, {"exclude": "others"}),
]


@pytest.mark.parametrize(("kind", "argument", "test", "options"), ERRORS)
def test_errors(kind: type[Exception], argument: str, test: Any, options: dict[str, Any]) -> None:
    refusal(kind, f"^{argument}: ", Task, test, **options)


def test_what_a_task_holds_is_not_changed() -> None:
    """Arrays are read-only; queries are copies, which torch takes; a copy of a task is as good."""
    chosen = np.array([0, 1, 2, 3])
    task = Task(TEST, {"train": TRAIN}, candidates=chosen, entities=["a", "b", "c", "d"])
    assert chosen.flags.writeable  # the caller's own
    before = task.tail.queries.tolist()
    task.tail.queries[:] += 25
    for each in (task, pickle.loads(pickle.dumps(task)), copy.deepcopy(task)):
        side = each.tail
        arrays = [side.rows, side.targets, side.units, side.candidates, *side.filter]
        assert each is not task or not any(array.flags.writeable for array in arrays)
        assert side.labels["relation"].same_as(task.tail.labels["relation"])
        assert side.queries.tolist() == before
        for part in (each, each[:1]):
            assert part.tail.queries.flags.writeable
            assert part.test.flags.writeable


def test_memory_does_not_grow_with_ids() -> None:
    """One large id among a few triples; an array over all ids would take half a terabyte."""
    large = (1 << 36) - 1
    known = [(0, large, 1), (large, 0, 1), (0, 0, 1)]
    test = [(0, large, 0), (large, large, 0)]
    task = Task(test, known=known, sides=["tail", "relation"])
    assert task.tail.n_candidates == task.relation.n_candidates == large + 1
    assert task.tail.labels["head_degree"].values.tolist() == [2, 1]
    assert task.relation.labels["degree"].values.tolist() == ["1", "1"]


def test_labels_that_known_triples_make_are_made_where_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []
    count = sides.row_keys.count_prefixes
    monkeypatch.setattr(
        sides.row_keys, "count_prefixes", lambda x: made.append(len(x[0])) or count(x)
    )

    def constant(queries: Any) -> Any:
        return np.zeros((len(queries), 4))

    task = Task(TEST, {"train": TRAIN}, entities=[*"abcd"], relations=["knows", "likes"])
    ranks = task.evaluate(constant, head=constant).ranks
    assert "degree" in repr(ranks)
    assert not made
    # Both sides have them of one count, and a copy of the task has no other.
    copied = pickle.loads(pickle.dumps(task))
    assert values(ranks.labels["category"]) == values(copied.tail.labels["category"]) * 2
    assert values(ranks.labels["head_degree"]) == [3, 3, 2] * 2
    assert values(ranks.labels["degree"]) == ["2-3", "2-3", "2-3", "2-3", "1", "2-3"]
    assert len(made) == 2
