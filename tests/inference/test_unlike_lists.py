"""Lists that one of two models lacks, and lists of unlike depth: what is said, and their twins.

Which tasks have no list is checked against the lists themselves, with ranks that were saved, joined
of parts and filtered.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.refusals import refusal, refused
from truerank.inference import compare
from truerank.inference.comparing import compare_pair
from truerank.inference.gate import gate
from truerank.inference.pairing import lacks_list, read_models
from truerank.metrics.contributions import UNIT
from truerank.metrics.keys import parse

pytestmark = pytest.mark.filterwarnings("ignore:.*with right answers have no list:UserWarning")

Lists = dict[Any, list[Any]]
N = 200
KEPT = 150  # The golden set grew by the others after the base was run.
QUERIES = [f"q{i}" for i in range(N)]
QRELS = {query: ["a"] for query in QUERIES}
FULL = {query: ["b", "a"] if i % 3 else ["a"] for i, query in enumerate(QUERIES)}
BASE = {query: FULL[query] for query in QUERIES[:KEPT]}
NEW = {query: ["c", *documents] for query, documents in FULL.items()}  # It is worse everywhere.
LACKS = "has no list for 50 of the 200 queries that new has one for (q150, q151, q152, ...)"
WAYS = "run base again, or leave them out of the test; "
UNASKED = "leaves out what was not asked of base; "
MISSES = "counts that it finds nothing there"


def ndcg(lists: Lists, queries: list[str]) -> float:
    """Return nDCG@10 of one right answer each, the plain definition; 0 without a list."""
    places = [lists[query].index("a") + 1 if query in lists else math.inf for query in queries]
    return sum(1 / math.log2(1 + place) for place in places) / len(queries)


def evaluated(lists: Any, qrels: Any = None, **options: Any) -> tr.Report:
    task = tr.retrieval.Task(qrels or QRELS, entities=list("abcdefgh"), **options)
    return task.evaluate_lists(lists)


# -- at the terminal -------------------------------------------------------------------------------


def write_run(name: str, lists: Lists) -> None:
    lines = [
        f"{query} Q0 {document} {place} {-place} t\n"
        for query, documents in lists.items()
        for place, document in enumerate(documents, 1)
    ]
    Path(name).write_text("".join(lines))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command in a folder with the runs: the exit code, and both outputs."""
    pytest.importorskip("click")
    from support.cli_files import run_here

    monkeypatch.chdir(tmp_path)
    for name, lists in (("base", BASE), ("new", NEW), ("again", FULL), ("empty", {})):
        write_run(f"{name}.run", lists)
    for name, queries in (("qrels", QUERIES), ("kept", QUERIES[:KEPT])):
        Path(f"{name}.txt").write_text("".join(f"{query} 0 a 1\n" for query in queries))
    return lambda line: run_here(capsys, *line.split())


def compare_runs(run: Any, files: str, qrels: str = "qrels", options: str = "") -> Any:
    line = f"compare {files} --qrels {qrels}.txt --candidates 9 --metrics ndcg@10 {options}"
    return run(line)


def values_of(outcome: Any) -> tuple[float, float, list[str]]:
    assert outcome.code == 0
    table = json.loads(outcome.out)
    (pair,) = table["rows"]
    return pair["value_a"], pair["value_b"], table["notes"]


def test_a_base_that_was_run_before_queries_were_added_is_refused(run: Any) -> None:
    for files in ("base.run new.run", "new.run base.run", "new.run base.run again.run"):
        code, out, err = compare_runs(run, files)
        assert (code, out) == (1, "")
        ways = f"{WAYS}--common {UNASKED}--allow-unlike {MISSES}"
        if files.endswith("base.run"):  # What the last model lacks is not left out.
            ways = f"{WAYS}--allow-unlike {MISSES}"
        assert err.endswith(f"Error: base: {LACKS}: {ways}\n")
    # The first two ways out lead to the numbers of the plain definition; there is nothing to note.
    first, second, notes = values_of(
        compare_runs(run, "again.run new.run", options="--format json")
    )
    assert (first, second) == pytest.approx((ndcg(FULL, QUERIES), ndcg(NEW, QUERIES)))
    assert not any("lists" in note for note in notes)
    first, second, notes = values_of(
        compare_runs(run, "base.run new.run", "kept", options="--format json")
    )
    kept = QUERIES[:KEPT]
    assert (first, second) == pytest.approx((ndcg(BASE, kept), ndcg(NEW, kept)))
    assert not any("lists" in note for note in notes)
    # The third leaves out what base was not asked, and the last counts misses; both say so.
    outcome = compare_runs(run, "base.run new.run", options="--common --format json")
    assert values_of(outcome)[:2] == pytest.approx((ndcg(BASE, kept), ndcg(NEW, kept)))
    left_out = "left out, as base lacks ranks or lists: "
    left_out += "50 of 200 queries of base; 50 of 200 queries of new"
    assert left_out in values_of(outcome)[2]
    outcome = compare_runs(run, "base.run new.run", options="--allow-unlike --format json")
    first, second, notes = values_of(outcome)
    assert (first, second) == pytest.approx((ndcg(BASE, QUERIES), ndcg(NEW, QUERIES)))
    assert f"unlike lists: base {LACKS}" in notes


def test_saved_ranks_are_refused_alike(run: Any) -> None:
    for name in ("base", "new", "again"):
        line = f"retrieval --qrels qrels.txt --lists {name}.run --candidates 9 --save {name}.npz"
        assert run(line).code == 0
    code, out, err = run("compare base.npz new.npz --metrics ndcg@10")
    words = f"Error: base: {LACKS}: {WAYS}--common {UNASKED}--allow-unlike {MISSES}\n"
    assert (code, out, err) == (1, "", words)
    line = "compare base.npz new.npz --metrics ndcg@10 --allow-unlike --format json"
    first, second, _ = values_of(run(line))
    assert (first, second) == pytest.approx((ndcg(BASE, QUERIES), ndcg(NEW, QUERIES)))
    code, _, err = run("compare again.npz new.npz --metrics ndcg@10")
    assert (code, err) == (0, "")


def test_a_run_without_a_list_is_refused(run: Any) -> None:
    lacks = "has no list for 200 of the 200 queries that new has one for (q0, q1, q2, ...)"
    for files in ("empty.run new.run", "new.run empty.run"):
        code, out, err = compare_runs(run, files)
        assert (code, out) == (1, "")
        assert f"Error: empty: {lacks}: run empty again, or " in err
    # Two that find nothing are alike: they are warned of, and 0.
    write_run("nothing.run", {})
    outcome = compare_runs(run, "empty.run nothing.run", options="--format json")
    assert values_of(outcome)[:2] == (0, 0)
    assert outcome.err.count("200 of 200 queries with right answers have no list") == 2


# -- in Python -------------------------------------------------------------------------------------


def test_models_in_python_are_refused_by_their_names() -> None:
    base, new = evaluated(BASE), evaluated(NEW)
    message = refusal(ValueError, "^a: has no list for 50 of ", compare, base, new, "ndcg@10")
    ways = f"{WAYS}common=True {UNASKED}".replace("base", "a")
    assert message == f"a: {LACKS.replace('new', 'b')}: {ways}allow_unlike=True {MISSES}"
    refused(ValueError, "b", compare, new, base, "ndcg@10")
    refused(ValueError, "base", compare, {"new": new, "base": base}, metric="ndcg@10")
    refused(ValueError, "a[0]", compare, [base, new], [new, new], "ndcg@10")
    refused(ValueError, "b[1]", compare, [new, new], [new, base], "ndcg@10")
    refused(ValueError, "a", compare, evaluated({}), new, "ndcg@10")
    pair = compare(base, new, "ndcg@10", allow_unlike=True)
    assert (pair.value_a, pair.value_b) == pytest.approx((ndcg(BASE, QUERIES), ndcg(NEW, QUERIES)))
    assert pair.notes[0] == f"unlike lists: a {LACKS.replace('new', 'b')}"
    # Ranks of one right answer each are compared by task.
    words = r"^a: has no list for 50 of the 200 tasks that b has one for \(query q150, target a, "
    message = refusal(ValueError, words, compare, base.ranks, new.ranks)
    assert "leave them out of the test" in message


def test_each_of_two_models_may_lack_what_the_other_has() -> None:
    one = evaluated({query: FULL[query] for query in QUERIES[2:]})
    other = evaluated({query: FULL[query] for query in QUERIES[:-1]})
    refused(ValueError, "a", compare, one, other, "map")
    pair = compare(one, other, "map", allow_unlike=True)
    assert pair.notes[:2] == (
        "unlike lists: a has no list for 2 of the 199 queries that b has one for (q0, q1)",
        "unlike lists: b has no list for 1 of the 198 queries that a has one for (q199)",
    )
    assert (pair.wins, pair.losses) == (1, 2)


def test_a_table_follows_the_rule() -> None:
    models = {"base": evaluated(BASE), "new": evaluated(NEW)}
    words = f"reports: new cannot be compared with base: lists: base {LACKS}"
    message = refusal(ValueError, "base has no list", tr.table, models, ["map"])
    assert message == f"{words}; allow_unlike=True puts them side by side, without a best"
    printed = str(tr.table(models, ["map"], allow_unlike=True))
    assert f"\nnew cannot be compared with base: lists: base {LACKS}.\n" in f"{printed}\n"
    assert "*" not in printed
    assert "lists" not in str(tr.table({"a": evaluated(FULL), "b": models["new"]}, ["map"]))


def test_the_new_model_of_a_gate_may_lack_lists() -> None:
    """It finds nothing there, which is a loss; the base of the gate may not."""
    models = read_models({"new": evaluated(BASE), "base": evaluated(FULL)})
    keys = {"map": parse("map", models["new"][0].grammar)}
    options: dict[str, Any] = {"unit": UNIT, "level": 0.95}
    names = "new", "base"
    refused(ValueError, "new", compare_pair, models, names, keys, **options)
    refused(ValueError, "new", compare_pair, models, names, keys, **options, may_lack="base")
    (pair,) = compare_pair(models, names, keys, **options, may_lack="new")
    words = "has no list for 50 of the 200 queries that base has one for (q150, q151, q152, ...)"
    assert pair.notes == (f"unlike lists: new {words}",)
    assert (pair.wins, pair.losses) == (0, 50)
    turned = {"new": models["base"], "base": models["new"]}
    refused(ValueError, "base", compare_pair, turned, names, keys, **options, may_lack="new")
    runs = {"new": [*models["new"], *models["base"]], "base": models["base"] * 2}
    (pair,) = compare_pair(runs, names, keys, **options, may_lack="new")
    assert any(note.startswith("unlike lists: new[0] has no list") for note in pair.notes)
    refused(ValueError, "new[0]", compare_pair, runs, names, keys, **options)


def test_a_model_beside_one_that_ranks_without_lists() -> None:
    """Vectors and scores rank all, so that a run that lacks queries is refused beside them."""
    task = tr.retrieval.Task({i: [i] for i in range(9)}, entities=9)
    scores = np.random.default_rng(0).random((9, 9))
    all_ranked = task.evaluate_scores(scores)
    lists = {i: np.argsort(-scores[i])[:5].tolist() for i in range(9)}
    assert not compare(task.evaluate_lists(lists), all_ranked, "mrr").notes[0].startswith("unlike")
    del lists[4]
    words = r"^a: has no list for 1 of the 9 queries that b ranks \(4\): run a again, "
    refusal(ValueError, words, compare, task.evaluate_lists(lists), all_ranked)
    refused(ValueError, "b", compare, all_ranked, task.evaluate_lists(lists))
    assert compare(all_ranked, all_ranked).ties == 9


# -- what is common --------------------------------------------------------------------------------

OLD = QUERIES[:20]
GROWN = QUERIES[:40]  # Its base was run before 20 queries were added.


def alike(queries: list[str], documents: list[str]) -> Lists:
    """Lists, or right answers, that are the same for all of some queries."""
    return {query: documents for query in queries}


QRELS_OF_GROWTH = alike(GROWN, ["a"])


def reports_of_growth(saved: bool) -> tuple[tr.Report, tr.Report]:
    """A base that was asked, or has lists for, the old queries alone, where new loses half."""
    found = alike(OLD, ["a", "b"])
    of_base = evaluated(found, alike(OLD if saved else GROWN, ["a"]))
    new = evaluated(alike(GROWN, ["a"]) | alike(OLD, ["b", "a"]), QRELS_OF_GROWTH)
    return of_base, new


@pytest.mark.parametrize("saved", [False, True])
def test_a_golden_set_that_grew_is_compared_by_what_is_common(saved: bool) -> None:
    """To count what base was not asked as its failures hides what new lost."""
    base, new = reports_of_growth(saved)
    pair = compare(base, new, "mrr", common=True)
    assert (pair.value_a, pair.value_b, pair.units) == (1, 0.5, 20)
    counts = "20 of 40 queries of b" if saved else "20 of 40 queries of a; 20 of 40 queries of b"
    assert pair.notes[0] == f"left out, as a lacks ranks or lists: {counts}"
    pairs, verdicts, losses = gate(base, new, ["mrr"], 0.01, common=True)
    assert verdicts == {"mrr": "worse"}
    assert pairs[0].notes[0].endswith("20 of 40 queries of new")
    assert losses["mrr"][0] == {"query": "q0", "base": 1, "new": 0.5}
    if not saved:
        assert gate(base, new, ["mrr"], 0.01, allow_unlike=True)[1] == {"mrr": "no worse"}
    # Both ways out are offered, of lists that are lacking; of queries the one that helps.
    message = refusal(ValueError, "not asked of base", gate, base, new, ["mrr"], 0.01)
    assert ("allow_unlike=True" in message) == (not saved)
    # What is the same for both has nothing left out.
    alike = compare(new, new, "mrr", common=True)
    assert not any("left out" in note for note in alike.notes)


def test_what_new_lacks_of_the_common_is_its_loss() -> None:
    base = evaluated(alike(OLD, ["a"]), QRELS_OF_GROWTH)
    new = evaluated(alike(GROWN[5:], ["a"]), QRELS_OF_GROWTH)
    pair = compare(base, new, "mrr", common=True)
    assert (pair.value_a, pair.value_b, pair.wins, pair.losses) == (1, 0.75, 5, 0)
    words = (
        "unlike lists: b has no list for 5 of the 20 queries that a has one for (q0, q1, q2, ...)"
    )
    assert pair.notes[1] == words
    # Queries that new was not asked are no losses: they are left out, and a note says how many.
    fewer = evaluated(alike(GROWN, ["a"]), alike(GROWN[5:], ["a"]))
    message = refusal(ValueError, "only a has ", compare, base, fewer, "mrr")
    assert message.endswith("common=True leaves out what was not asked of b")
    pair = compare(base, fewer, "mrr", common=True)
    assert (pair.units, pair.ties) == (15, 15)
    note = "left out, as a and b lack ranks or lists: 25 of 40 queries of a; 20 of 35 queries of b"
    assert pair.notes[0] == note
    # Where there is nothing that all have, nothing is left.
    words = "common: expected something that all runs have"
    refusal(ValueError, words, compare, evaluated({}), new, "mrr", common=True)


def test_a_gate_on_a_golden_set_that_lost_queries() -> None:
    """Its message offered nothing, and `common` was refused by the same message."""
    base = evaluated(alike(GROWN, ["a", "b"]), QRELS_OF_GROWTH)
    lists = alike(QUERIES[15:50], ["a"]) | alike(QUERIES[20:30], ["b", "a"])
    new = evaluated(lists, alike(QUERIES[10:50], ["a"]))  # It has no list for five of these.
    words = "only base has 10, .*; only new has 10, .*; if queries or grades were changed, "
    ways = "common=True leaves out what was not asked of base and new$"
    refusal(ValueError, f"{words}.*; {ways}", gate, base, new, ["mrr"], 0.01)
    # By hand: of 30 queries that both were asked five have no list, and ten fall to 1/2.
    pairs, verdicts, losses = gate(base, new, ["mrr", "mr"], 0.01, common=True)
    unasked = "new was not asked 10 of 40 queries of base"
    assert verdicts["mrr"] == f"worse; {unasked}"
    assert (pairs[0].units, pairs[0].losses, pairs[0].value_b) == (30, 15, 1)
    assert pairs[0].value_a == pytest.approx((15 + 10 / 2) / 30)
    assert pairs[0].notes[0] == (
        "left out, as base and new lack ranks or lists: "
        "10 of 40 queries of base; 10 of 40 queries of new"
    )
    assert losses["mrr"][0] == {"query": "q10", "base": 1, "new": 0}
    nothing = "no worse (nothing differs; a loss of up to {} could be unseen)"
    assert gate(base, base, ["mrr"], 0.01, common=True)[1] == {"mrr": nothing.format("0.082")}
    asked = tr.report(base.ranks[20:])
    verdict = gate(base, asked, ["mrr"], 0.01, common=True)[1]["mrr"]
    assert verdict == f"{nothing.format('0.160')}; new was not asked 20 of 40 queries of base"


def test_three_models_are_compared_by_what_all_have() -> None:
    first = evaluated(alike(QUERIES[5:20], ["a"]), alike(OLD, ["a"]))
    second = evaluated(alike(QUERIES[:15], ["b", "a"]), QRELS_OF_GROWTH)
    last = evaluated(alike(QUERIES[10:40], ["c", "b", "a"]), QRELS_OF_GROWTH)
    models = {"x": first, "y": second, "z": last}
    pairs = compare(models, metric=["mrr", "map"], common=True)
    assert [pair.units for pair in pairs] == [10] * 6
    by_model = {"x": 1, "y": 0.5, "z": 1 / 6}
    for pair in pairs:
        values = [by_model[pair.name_a], by_model[pair.name_b]]
        assert [pair.value_a, pair.value_b] == pytest.approx(values)
    counts = "10 of 20 queries of x; 30 of 40 queries of y; 30 of 40 queries of z"
    words = f"left out, as x and y lack ranks or lists: {counts}"
    assert {pair.notes[0] for pair in pairs} == {words}
    assert str(pairs).count(words) == 1
    # Without it the first pair is refused, and both models that were not asked are named.
    words = "; common=True leaves out what was not asked of x$"
    refusal(ValueError, words, compare, models, metric="mrr")


@examples(30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_what_is_common_by_definition(seed: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    models: dict[str, tr.Report] = {}
    places: list[dict[str, int]] = []  # where the right answer of each query is, for each model
    common = set(QUERIES[:12])
    for i in range(number):
        asked = [query for query in QUERIES[:12] if rng.random() < 0.9] or QUERIES[:1]
        answered = [query for query in asked if rng.random() < 0.8]
        places.append({query: int(rng.integers(1, 6)) for query in answered})
        lists = {query: list("bcdef"[: place - 1] + "a") for query, place in places[-1].items()}
        order = rng.permutation(len(asked)).tolist()
        models[f"m{i}"] = evaluated(lists, alike([asked[j] for j in order], ["a"]))
        # What the last model was asked, and does not answer, is its loss.
        common &= set(asked if i == number - 1 else answered)
    if not common:
        refusal(ValueError, "^common: expected", compare, models, metric="mrr", common=True)
        return
    for pair in compare(models, metric="mrr", common=True):
        assert pair.units == len(common)
        for name, value in ((pair.name_a, pair.value_a), (pair.name_b, pair.value_b)):
            of_model = places[int(name[1:])]
            mean = sum(1 / of_model.get(query, math.inf) for query in common) / len(common)
            assert value == pytest.approx(mean)
        counts = []
        for name, report in models.items():
            size = len(report.queries)
            if size > len(common):
                counts.append(f"{size - len(common)} of {size} queries of {name}")
        left_out = [note for note in pair.notes if note.startswith("left out")]
        assert "".join(left_out).endswith("; ".join(counts))
        assert len(left_out) == bool(counts)


def test_runs_of_models_keep_what_all_of_base_have() -> None:
    base, new = reports_of_growth(saved=True)
    later = evaluated(alike(QUERIES[1:40], ["a"]), QRELS_OF_GROWTH)
    pair = compare([base, later], [new, new], "mrr", common=True)
    assert (pair.units, pair.value_a, pair.value_b, pair.runs_a) == (19, 1, 0.5, 2)
    counts = "1 of 20 queries of a; 21 of 40 queries of a; 21 of 40 queries of b"
    assert pair.notes[0] == f"left out, as a lacks ranks or lists: {counts}"
    # Folds have nothing in common, and are compared one by one.
    folds = [evaluated(alike(x, ["a"]), alike(x, ["a"])) for x in (OLD, GROWN[20:])]
    assert compare(folds, folds, "mrr").method == "t of folds"
    refusal(ValueError, "compare folds one by one", compare, folds, folds, "mrr", common=True)


def test_labels_of_units_are_cut_alike() -> None:
    """They are those of the tasks of the first model, in whatever order others have them."""
    base, new = reports_of_growth(saved=False)
    users = np.array([f"u{i % 7}" for i in range(40)])
    by_hand = compare(
        *(tr.report(each.ranks[:20].with_labels(user=users[:20])) for each in (base, new)),
        "mrr",
        unit="user",
    )
    order = np.random.default_rng(0).permutation(40)
    mixed = tr.report(new.ranks[order])
    for other in (new, mixed):
        pair = compare(base, other, "mrr", unit=users, common=True)
        assert (pair.p_value, pair.units, pair.losses) == (by_hand.p_value, 7, 0)
        _, _, losses = gate(base, other, ["mrr"], 0.01, unit=users, common=True)
        assert [loss["group"] for loss in losses["mrr"]] == [f"u{i}" for i in range(5)]
    labelled = [tr.report(each.ranks.with_labels(user=users)) for each in (base, new)]
    assert compare(*labelled, "mrr", unit="user", common=True).p_value == by_hand.p_value


def test_labels_of_units_are_those_of_the_first_of_three_models() -> None:
    """Pairs without it took them in an order of their own."""
    rng = np.random.default_rng(0)
    ranks = []
    for _ in range(3):
        above = rng.integers(0, 9, 40)
        ranks.append(tr.Ranks(above, [1] * 40, 50, queries=range(40), targets=range(40)))
    users = np.arange(40) // 5
    expected = compare(dict(zip("abc", ranks, strict=True)), unit=users)
    ranks[1] = ranks[1][rng.permutation(40)]
    pairs = compare(dict(zip("abc", ranks, strict=True)), unit=users)
    assert [pair.p_value for pair in pairs] == [pair.p_value for pair in expected]
    labelled = [each.with_labels(user=each.queries.values // 5) for each in ranks]
    of_labels = compare(dict(zip("abc", labelled, strict=True)), unit="user")
    assert [pair.p_value for pair in pairs] == [pair.p_value for pair in of_labels]


def test_a_triple_is_left_out_with_both_its_tasks() -> None:
    """Else a mean over both sides would mix what some triples have and others lack."""
    facts = [(i, 0, i + 10) for i in range(10)]
    task = tr.link_prediction.Task(facts, {}, entities=20)
    lists = {"tail": {(h, 0): [t] for h, _, t in facts}, "head": {(0, t): [h] for h, _, t in facts}}
    new = task.evaluate_lists(**lists)
    del lists["head"][0, 13]
    base = task.evaluate_lists(**lists)
    pair = compare(base, new, "mrr", common=True)
    assert (pair.units, pair.ties, pair.value_a) == (9, 9, 1)
    assert pair.notes[0].endswith(": 2 of 20 tasks of a; 2 of 20 tasks of b")
    # A test that grew, and models that were ranked by scores, which have no lists.
    scores = np.random.default_rng(0).random((20, 20))
    by_size = []
    for size in (10, 8):
        part = tr.link_prediction.Task(facts[:size], {"test": facts}, entities=20)
        rows = np.arange(size)
        by_size.append(part.evaluate_scores(tail=scores[rows], head=scores[rows + 10]))
    grown, small = by_size
    pair = compare(small, grown, "mrr", common=True)
    assert (pair.units, pair.ties) == (8, 8)
    assert pair.notes[0] == "left out, as a lacks ranks or lists: 4 of 20 tasks of b"
    pair = compare(grown, small, "mrr", common=True)
    assert (pair.units, pair.ties) == (8, 8)
    assert pair.notes[0] == "left out, as a and b lack ranks or lists: 4 of 20 tasks of a"


def test_ranks_without_labels_are_common_by_position() -> None:
    ids = np.array([[0, 1], [-1, -1], [2, 3]])
    base = tr.rank_lists(ids, None, [0, 1, 2], candidates=9)
    new = tr.rank_lists(np.array([[1, 0], [1, 2], [3, 2]]), None, [0, 1, 2], candidates=9)
    words = "a: has no list for 1 of the 3 tasks that b has one for "
    refusal(ValueError, words, compare, base, new, "hits@1")
    pair = compare(base, new, "hits@1", common=True)
    assert (pair.units, pair.value_a, pair.value_b) == (2, 1, 0)
    # Where there are not as many, positions say nothing.
    words = "common: expected something that all runs have"
    refusal(ValueError, words, compare, base, new[:2], "hits@1", common=True)
    models = {"x": base, "y": new[:2], "z": new}
    refusal(ValueError, words, compare, models, metric="hits@1", common=True)
    message = refusal(ValueError, "tasks: 3 against 2", compare, models, metric="hits@1")
    assert "common=True" not in message


def test_a_query_stays_with_all_its_answers() -> None:
    """A right answer that was added to a query is not left out of it: the query is another one."""
    base = evaluated({"q": ["a"], "r": ["a"]}, {"q": ["a"], "r": ["a"]})
    new = evaluated({"q": ["a", "b"], "r": ["a"]}, {"q": ["a", "b"], "r": ["a"]})
    message = refusal(ValueError, "only b has 1", compare, base, new, "map", common=True)
    assert "common=True" not in message
    assert "common=True" not in refusal(ValueError, "only b has", compare, base, new, "map")


def test_the_terminal_compares_what_is_common(run: Any) -> None:
    for name, queries in (("old", QUERIES[:KEPT]), ("grown", QUERIES)):
        Path(f"{name}.txt").write_text("".join(f"{query} 0 a 1\n" for query in queries))
    for name, qrels in (("base", "old"), ("new", "grown"), ("again", "grown")):
        line = f"retrieval --qrels {qrels}.txt --lists {name}.run --candidates 9 --save {name}.npz"
        assert run(line).code == 0
    kept = QUERIES[:KEPT]
    line = "compare base.npz new.npz --metrics ndcg@10"
    code, out, err = run(line)
    assert (code, out) == (1, "")
    assert err.endswith("; --common leaves out what was not asked of base\n")
    outcome = run(f"{line} --common --format json")
    first, second, notes = values_of(outcome)
    assert (first, second) == pytest.approx((ndcg(BASE, kept), ndcg(NEW, kept)))
    assert "left out, as base lacks ranks or lists: 50 of 200 queries of new" in notes
    # A gate; labels of units in a file; and three models.
    code, out, err = run(f"{line} --common --margin 0.01")
    assert (code, err) == (3, "")
    assert "\nndcg@10 worse\nlost most: query q" in out
    assert "50 of 200 queries of new" in out
    np.save("units.npy", np.arange(KEPT) // 10)
    code, out, _ = run(f"{line} --common --unit units.npy --margin 0.01")
    assert (code, "15 groups" in out) == (3, True)
    code, out, _ = run("compare base.npz again.npz new.npz --metrics map --common")
    assert code == 0
    words = "50 of 200 queries of again; 50 of 200 queries of new"
    assert f"as base and again lack ranks or lists: {words}" in out
    # Queries were removed: the exit code is that of the verdict, which says how many.
    unasked = "new was not asked 50 of 200 queries of base"
    assert run("retrieval --qrels old.txt --lists new.run --save less.npz").code == 0
    nothing = "no worse (nothing differs; a loss of up to 0.022 could be unseen)"
    for name, verdict, exit_code in (("base", nothing, 0), ("less", "worse", 3)):
        gate_line = f"compare again.npz {name}.npz --metrics ndcg@10 --margin 0.01 --common"
        code, out, err = run(gate_line)
        assert (code, err) == (exit_code, "")
        assert f"\nndcg@10 {verdict}; {unasked}\n" in f"{out}\n"
        code, out, _ = run(f"{gate_line} --format json")
        assert json.loads(out)["rows"][0]["verdict"] == f"{verdict}; {unasked}"
    # Its page would show other numbers.
    code, _, err = run(f"{line} --common --html page.html")
    assert code == 2
    assert "does not go with --common" in err
    assert not Path("page.html").exists()


# -- twins: what may look like this, and is compared -----------------------------------------------


def noted(pair: Any) -> bool:
    return any("list" in note for note in pair.notes)


def test_both_lack_the_same() -> None:
    pair = compare(evaluated(BASE), evaluated({query: NEW[query] for query in BASE}), "ndcg@10")
    assert not noted(pair)
    assert (pair.wins, pair.ties) == (KEPT, N - KEPT)


def test_lists_that_miss_everything_are_lists() -> None:
    missed = {query: ["c"] if i >= KEPT else FULL[query] for i, query in enumerate(QUERIES)}
    pair = compare(evaluated(missed), evaluated(FULL), "ndcg@1")
    assert not noted(pair)
    assert pair.value_a < pair.value_b


def test_a_row_of_pads_is_no_list() -> None:
    task = tr.retrieval.Task({0: [1], 1: [2]}, entities=9)
    padded = task.evaluate_lists(tr.TopK(np.array([[1, 2], [-1, -1]]), None))
    full = task.evaluate_lists(tr.TopK(np.array([[1, 2], [3, -1]]), None))
    assert padded.ranks.lengths.tolist() == [2, -1]
    words = "of the 2 queries that b has one for "
    refusal(ValueError, rf"^a: has no list for 1 {words}\(1\)", compare, padded, full)
    assert not noted(compare(full, full))


@pytest.mark.parametrize("save", [False, True])
def test_a_list_of_which_a_filter_leaves_nothing_is_a_list(save: bool, tmp_path: Path) -> None:
    """Top lists of a query with many known answers have nothing else; an absent list is none."""
    known = {"train": [(0, 0, 1), (0, 0, 2), (1, 0, 2)]}
    task = tr.link_prediction.Task([(0, 0, 3), (1, 0, 3)], known, entities=5, sides=["tail"])

    def ranks_of(lists: Any) -> tr.Ranks:
        ranks = task.evaluate_lists(lists).ranks
        if save:
            ranks.save(tmp_path / "ranks.npz")
            return tr.load(tmp_path / "ranks.npz")
        return ranks

    good = ranks_of({(0, 0): [3], (1, 0): [3]})
    emptied = ranks_of({(0, 0): [1, 2], (1, 0): [3]})
    assert emptied.lengths.tolist() == [0, 1]
    assert not noted(compare(emptied, good, "tail.hits@1"))
    words = r"^a: has no list for 1 of the 2 tasks that b has one for \(side tail, "
    message = refusal(ValueError, words, compare, ranks_of({(1, 0): [3]}), good, "tail.mrr")
    ways = f"{WAYS}common=True {UNASKED}".replace("base", "a")
    assert message.endswith(f"{ways}allow_unlike=True {MISSES}")
    refused(ValueError, "b", compare, good, ranks_of({(0, 0): [], (1, 0): [3]}), "tail.mrr")
    # In retrieval, too, where users have seen all that their lists name.
    seen = {"train": {"u": ["b", "c"], "v": ["d"]}}
    watched = tr.retrieval.Task({"u": ["a"], "v": ["a"]}, entities=list("abcd"), known=seen)
    one, two, three = (
        watched.evaluate_lists({"v": ["a"], **lists})
        for lists in ({"u": ["b", "c"]}, {"u": ["a"]}, {})
    )
    assert not noted(compare(one, two, "ndcg@1"))
    refused(ValueError, "a", compare, three, one)


def test_alignment_is_compared_task_by_task() -> None:
    task = tr.alignment.Task([("a", "x"), ("b", "y")], left=["a", "b"], right=["x", "y"])
    forward = {"a": ["x"], "b": ["x", "y"]}
    full = task.evaluate_lists(forward, {"x": ["a"], "y": ["b"]})
    lacking = task.evaluate_lists(forward, {"x": ["a"]})
    words = r"^b: has no list for 1 of the 4 tasks that a has one for \(side right_to_left, "
    refusal(ValueError, words, compare, full, lacking)
    assert not noted(compare(full, full))


def test_ranks_that_were_made_by_hand() -> None:
    """Nothing is listed and nothing above: without a filter, that is no list."""
    base, new = (evaluated(lists).ranks for lists in (BASE, NEW))
    hand = {"candidates": 9, "queries": QUERIES, "listed": np.arange(N) < KEPT}
    by_hand = tr.Ranks([0] * N, [1] * KEPT + [9] * (N - KEPT), **hand)
    for ranks in (base, by_hand):
        assert lacks_list(ranks).tolist() == [i >= KEPT for i in range(N)]
    words = "^a: has no list for 50 of the 200 queries"
    refusal(ValueError, words, compare, tr.report(base), tr.report(new), "ndcg@10")
    # With a filter it may be a list of known answers alone, of which nothing is said.
    assert not lacks_list(by_hand.with_protocol(filter="train")).any()
    assert not lacks_list(tr.Ranks([0], [9], 9)).any()


@st.composite
def known_and_lists(draw: st.DrawFn) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Draw known answers and lists of five queries among six entities."""
    entities = st.lists(st.integers(0, 5), max_size=4, unique=True)
    known = {query: draw(entities) for query in range(5)}
    lists = draw(st.dictionaries(st.integers(0, 4), entities, max_size=5))
    return known, lists


@pytest.mark.filterwarnings("ignore:ids. no right answer is in any list")
@examples(80)
@given(known_and_lists(), st.data())
def test_which_tasks_lack_a_list_is_what_the_lists_say(
    problem: tuple[dict[int, list[int]], dict[int, list[int]]], data: st.DataObject
) -> None:
    known, lists = problem
    right = {query: data.draw(st.sets(st.integers(0, 5), min_size=1)) for query in range(5)}
    kind = data.draw(st.sampled_from(["retrieval", "listed", "triples"]))
    if kind == "triples":
        facts = [(query, 0, answer) for query in right for answer in sorted(right[query])]
        train = [(query, 0, x) for query in known for x in set(known[query]) - right[query]]
        splits: Any = {"train": train} if train else {}
        task: Any = tr.link_prediction.Task(facts, splits, entities=6, sides=["tail"])
        given_lists: Any = {(query, 0): listed for query, listed in lists.items()}
    else:
        seen = {query: list(set(known[query]) - right[query]) for query in known}
        qrels = {query: sorted(answers) for query, answers in right.items()}
        candidates = "listed" if kind == "listed" else None
        task = tr.retrieval.Task(
            qrels, entities=6, known={"train": seen}, candidates=candidates, queries=5
        )
        given_lists = lists
    whole = task.evaluate_lists(given_lists).ranks
    if not lists:
        parts = [whole]
    else:
        parts = [task[p::2].evaluate_lists(given_lists).ranks for p in (1, 0)]
    queries = whole.queries.values.tolist()
    if kind == "triples":
        queries = [fact[0] for fact in facts]
    expected = [not lists.get(query) for query in queries]
    joined = tr.concatenate(parts)
    with tempfile.TemporaryDirectory() as folder:
        whole.save(f"{folder}/ranks.npz")
        saved = tr.load(f"{folder}/ranks.npz")
    deepest = max((len(lists[query]) for query in lists), default=0)
    for ranks in (whole, joined, saved):
        assert lacks_list(ranks).tolist() == expected
        assert (ranks.protocol.depth or 0) == deepest
    assert joined == whole == saved


# -- lists of unlike depth -------------------------------------------------------------------------

DOCUMENTS = [f"d{i}" for i in range(400)]


def deep(depth: int, right: int = 7, n: int = 60, **lists: list[str]) -> tr.Report:
    task = tr.retrieval.Task({f"q{i}": [f"d{right}"] for i in range(n)}, entities=DOCUMENTS)
    return task.evaluate_lists({f"q{i}": DOCUMENTS[:depth] for i in range(n)} | lists)


@pytest.mark.parametrize(
    ("depths", "keys", "is_noted"),
    [
        ((20, 100), ["map", "mrr", "recall@100", "ndcg", "recall@21", "rbp:0.8", "mr"], True),
        ((20, 40), ["map", "recall@40"], True),
        ((20, 100), ["ndcg@10", "recall@20", "mrr@20", "success@1"], False),
        ((20, 39), ["map", "recall@100"], False),
        ((20, 20), ["map", "recall@100"], False),
    ],
)
def test_lists_of_unlike_depth_are_noted(
    depths: tuple[int, int], keys: list[str], is_noted: bool
) -> None:
    models = {"base": deep(depths[0]), "new": deep(depths[1])}
    words = f"lists of base have up to {depths[0]} entries, of new {depths[1]}"
    pairs = tr.compare(models, metric=keys)
    assert len(pairs) == len(keys)
    for pair in pairs:
        assert (words in pair.notes) == is_noted == noted(pair)
    assert (words in str(pairs)) == is_noted
    turned = tr.compare({"new": models["new"], "base": models["base"]}, metric=keys)
    words = f"lists of new have up to {depths[1]} entries, of base {depths[0]}"
    assert (words in str(turned)) == is_noted


def test_the_note_names_the_metrics_that_look_deeper() -> None:
    models = {"base": deep(20), "new": deep(100)}
    printed = str(tr.compare(models, metric=["ndcg@10", "map"]))
    assert "\nlists of base have up to 20 entries, of new 100 (map, base - new)" in printed
    assert "\nLists of base have up" in str(tr.table(models, ["map"], against="best"))
    assert "Lists of" not in str(tr.table(models, ["ndcg@10"], against="best"))
    # Of several runs the longest list counts; scores have no depth.
    runs = compare([deep(20), deep(30)], [deep(60), deep(20)], "map")
    assert "lists of a have up to 30 entries, of b 60" in runs.notes
    task = tr.retrieval.Task({i: [i] for i in range(9)}, entities=9)
    scores = task.evaluate_scores(np.eye(9))
    assert scores.protocol.depth is None
    assert not noted(compare(scores, task.evaluate_lists({i: [i] for i in range(9)}), "map"))


def test_the_depth_is_that_of_lists_as_they_were_handed_over() -> None:
    ranks = deep(20, q3=DOCUMENTS[:50]).ranks
    assert ranks.protocol.depth == 50
    # A filter leaves less of a list, pads are no entries, and a list that none reads is none.
    ids = np.array([[0, 1, 2, 3], [4, 5, 6, -1], [1, 2, -1, -1]])
    filtered = tr.rank_lists(ids, None, [3, 5], candidates=9, rows=[1, 2], filter=[[4, 5], [1]])
    assert (filtered.lengths.tolist(), filtered.protocol.depth) == ([1, 1], 3)
    task = tr.alignment.Task([("a", "x")], left=["a", "b"], right=["x", "y"])
    assert task.evaluate_lists({"a": ["x"]}, {"x": ["b", "a"]}).protocol.depth == 2
    assert tr.rank_lists([[]], None, [0], candidates=9).protocol.depth is None
    assert tr.rank(np.eye(3), [0, 1, 2]).protocol.depth is None


def test_the_depth_is_joined_saved_and_no_part_of_what_was_counted(tmp_path: Path) -> None:
    task = tr.retrieval.Task({f"q{i}": ["d7"] for i in range(6)}, entities=DOCUMENTS)
    lists = {f"q{i}": DOCUMENTS[: 10 * i + 8] for i in range(6)}
    parts = [task[p::2].evaluate_lists(lists).ranks for p in (0, 1)]
    assert [part.protocol.depth for part in parts] == [48, 58]
    joined = tr.concatenate(parts)
    assert joined.protocol.depth == 58
    assert joined == task.evaluate_lists(lists).ranks
    joined.save(tmp_path / "ranks.npz")
    loaded = tr.load(tmp_path / "ranks.npz")
    assert loaded.protocol.depth == 58
    without = loaded.with_protocol(depth=None)
    assert without == loaded
    assert without.protocol == loaded.protocol
    assert without.protocol.fingerprint == loaded.protocol.fingerprint
    without.save(tmp_path / "ranks.npz")
    assert tr.load(tmp_path / "ranks.npz").protocol.depth is None
    assert "depth 58" in tr.report(loaded).audit().lines[1]
    assert "depth" not in str(loaded.protocol)
    assert without.protocol.joined(loaded.protocol).depth == 58
    assert replace(loaded.protocol, depth=np.int64(3)).depth == 3
    refused(ValueError, "depth", tr.Protocol, depth=-1)
    refused(TypeError, "depth", tr.Protocol, depth="20")


def test_many_models_have_one_note_of_their_depths() -> None:
    models = {f"m{i}": deep(20) for i in range(7)} | {"far": deep(100), "farther": deep(300)}
    [note] = [
        line
        for line in str(tr.compare(models, metric="map")).splitlines()
        if "deep" in line or "lists of" in line
    ]
    names = ", ".join(f"m{i}" for i in range(7))
    assert note.startswith(
        f"lists of {names} have up to 20 entries, of far 100, of farther 300 (m0 - far,"
    )
    assert note.endswith(", and 10 more)")  # of 15 pairs


def test_the_terminal_notes_unlike_depth(run: Any) -> None:
    for name, depth in (("base", 20), ("new", 100)):
        documents = ["b", "a", *(f"d{i}" for i in range(depth - 2))]
        write_run(f"{name}.run", dict.fromkeys(QUERIES, documents))
    words = "lists of base have up to 20 entries, of new 100"
    line = "compare base.run new.run --qrels qrels.txt --candidates 900 --metrics"
    code, out, _ = run(f"{line} map,recall@100,ndcg@10")
    assert code == 0
    assert f"\n{words} (map, base - new, recall@100, base - new)\n" in f"{out}\n"
    assert "lists of" not in run(f"{line} ndcg@10")[1]
    assert words in run(f"{line} map --margin 0.01")[1]
