"""The legitimate twin of each refusal and warning about rows, orders, names and parts is taken.

Each has its number, and warnings are errors. What is refused stands with the tests of its room.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.alignment_folders import DBP15K, OPENEA, fill_folder
from truerank import alignment, retrieval
from truerank.link_prediction import Task

Twin = tuple[Callable[[], Any], Any]

INF = np.inf
RNG = np.random.default_rng(0)
MODEL = RNG.normal(size=(40, 60))
TRUE = np.arange(40)
MODEL[TRUE, TRUE] += 9  # Perfect.
RANKS = np.argsort(np.argsort(-MODEL, 1), 1)
LAST = {q: {q: 0.1, 7: 0.5, 8: 0.9} for q in range(4)}  # Scores that rise: distances, best first.
PLACES = {q: {7: 3, 8: 2, q: 1} if q % 2 else {7: 2, 8: 3, q: 1} for q in range(4)}
NAMES = [f"n{i}" for i in range(20)]
TEST = [(i, 0, 7 * i % 20) for i in range(16)]
KNOWN = [(i, 0, (7 * i + j) % 20) for i in range(16) for j in range(1, 8)]


def tails(test: Any, known: Any = (), entities: Any = 20, **options: Any) -> Task:
    return Task(test, known or {}, entities=entities, sides=["tail"], **options)


def queries(right: Any = None, entities: Any = 9, **options: Any) -> Any:
    return retrieval.Task(right or {q: [q] for q in range(4)}, entities=entities, **options)


def mrr(report: tr.Report) -> float:
    return round(report["mrr"], 4)


# -- whose a row is --------------------------------------------------------------------------------


def rows_of_more_queries() -> float:
    """Rows of all queries there may be, in any order, serve a task of few."""
    keys = [(i, 0) for i in range(19, -1, -1)]
    scores = np.eye(20)[[7 * i % 20 for i, _ in keys]]
    return mrr(tails(TEST).evaluate_scores(scores, row_queries={"tail": keys}))


def matrix_of_all_users() -> float:
    """Users without a right answer have a row, too."""
    task = queries({"u2": [1]}, 3, queries=["u1", "u2", "u3"])
    return mrr(task.evaluate_scores([[9, 1, 1], [1, 9, 1], [1, 1, 9]]))


def known_answers_masked(fill: float = -INF) -> float:
    """Rows of one query differ where each leaves the other's answer out."""
    scores = [[0, 2, fill], [0, fill, 2]]
    return mrr(tails([(0, 0, 1), (0, 0, 2)], entities=3).evaluate_scores(np.array(scores)))


def table_of_lists() -> float:
    pandas = pytest.importorskip("pandas")
    rows = [("c", "r", "c", 0.5), ("a", "r", "b", 0.9), ("a", "r", "c", 0.1), ("b", "r", "a", 0.2)]
    table = pandas.DataFrame(rows, columns=["head", "relation", "tail", "score"])
    test = [("a", "r", "b"), ("b", "r", "a"), ("c", "r", "c")]
    return mrr(tails(test, entities=["a", "b", "c"]).evaluate_lists(table))


def labels_of_their_own_type() -> int:
    ranks = tails(TEST).evaluate_scores(np.zeros((16, 20))).ranks
    assert ranks.relation is not None
    return len(ranks[ranks.relation == 0])


ROWS: dict[str, Twin] = {
    "rows of more queries": (rows_of_more_queries, 1.0),
    "a matrix of all users": (matrix_of_all_users, 1.0),
    "known answers masked by the user": (known_answers_masked, 1.0),
    "lists by a table in any order": (table_of_lists, 1.0),
    "lists by key": (lambda: mrr(tails(TEST).evaluate_lists({q[:2]: [q[2]] for q in TEST})), 1.0),
    "rows by the ints 0 to n - 1": (
        lambda: mrr(queries({1: [1], 0: [0]}, 3).evaluate_scores([[9, 1, 1], [1, 9, 1]])),
        1.0,
    ),
    "one query with a name": (
        lambda: mrr(queries({"u": [1]}, 3).evaluate_scores([[1, 9, 1]])),
        1.0,
    ),
    "a relation that is an int": (labels_of_their_own_type, 16),
}

# -- orders ----------------------------------------------------------------------------------------


def table_with_ranks() -> float:
    pandas = pytest.importorskip("pandas")
    rows = [(q, q + k, -k, k + 1) for q in range(4) for k in range(3)]
    table = pandas.DataFrame(rows, columns=["query", "document", "score", "rank"])
    return mrr(queries().evaluate_lists(table))


def borda_in_shards(folder: Path) -> float:
    for number, shard in enumerate(np.split(60 - RANKS, 3, axis=1)):
        np.save(folder / f"points-{number}.npy", shard)
    with tr.open_scores(folder / "points-*.npy", axis=1) as store:
        return mrr(tr.evaluate(store, TRUE, order="descending"))


def masked_negatives() -> float:
    """A user's own negatives: all others are -inf, and the target never is."""
    scores = np.full(MODEL.shape, -INF)
    for task in range(40):
        some = RNG.choice(60, 9, replace=False)
        scores[task, some] = MODEL[task, some]
        scores[task, task] = MODEL[task, task]
    report = tr.evaluate(scores, TRUE)
    assert not report.audit("worse than chance")
    return mrr(report)


ORDERS: dict[str, Twin] = {
    "distances, best first": (lambda: mrr(queries().evaluate_lists(LAST, order="ascending")), 1.0),
    "lists whose best is last": (
        lambda: mrr(queries().evaluate_lists(LAST, order="descending")),
        0.3333,
    ),
    "a TopK whose best is last": (
        lambda: mrr(
            queries().evaluate_lists(
                tr.TopK([[7, 8, q] for q in range(4)], [[0.1, 0.5, 0.9]] * 4), order="descending"
            )
        ),
        1.0,
    ),
    "lists of two": (
        lambda: mrr(queries().evaluate_lists({q: {7: 0.1, q: 0.5} for q in range(4)})),
        1.0,
    ),
    "three lists": (
        lambda: mrr(
            queries({q: [8] for q in range(3)}).evaluate_lists({q: LAST[q] for q in range(3)})
        ),
        1.0,
    ),
    "one of many lists falls": (
        lambda: mrr(queries().evaluate_lists(LAST | {3: {3: 0.9, 7: 0.5, 8: 0.1}})),
        0.5,
    ),
    "all scores are equal": (
        lambda: mrr(queries().evaluate_lists({q: {q: 1.0, 7: 1.0, 8: 1.0} for q in range(4)})),
        0.6111,
    ),
    "ranks beside scores": (table_with_ranks, 1.0),
    "ranks as scores": (lambda: mrr(tr.evaluate(RANKS, TRUE, order="ascending")), 1.0),
    "Borda's points": (lambda: mrr(tr.evaluate(60 - RANKS, TRUE, order="descending")), 1.0),
    "Borda's points of a task": (
        lambda: mrr(
            tails([(i, 0, i) for i in range(40)], entities=60).evaluate_scores(
                60 - RANKS, order="descending"
            )
        ),
        1.0,
    ),
    "places of lists": (lambda: mrr(queries().evaluate_lists(PLACES, order="ascending")), 1.0),
    "points of lists": (lambda: mrr(queries().evaluate_lists(PLACES, order="descending")), 0.3333),
    "points of lists, best first": (
        lambda: mrr(queries().evaluate_lists({q: {q: 3, 7: 2, 8: 1} for q in range(4)})),
        1.0,
    ),
    "places of two entries": (
        lambda: mrr(queries().evaluate_lists({q: {7: 1, q: 2} for q in range(4)})),
        1.0,
    ),
    "places of three lists": (
        lambda: mrr(
            queries({q: [7] for q in range(3)}).evaluate_lists({q: PLACES[q] for q in range(3)})
        ),
        0.6667,
    ),
    "one of many lists has no places": (
        lambda: mrr(queries().evaluate_lists(PLACES | {3: {7: 2, 8: 4, 3: 3}})),
        0.375,
    ),
    "half a place": (
        lambda: mrr(queries().evaluate_lists({q: {7: 2.5, 8: 1, q: 3} for q in range(4)})),
        1.0,
    ),
    "integers that repeat": (lambda: mrr(tr.evaluate((9 * MODEL).astype(int), TRUE)), 1.0),
    "ranks as floats": (lambda: mrr(tr.evaluate(60.0 - RANKS, TRUE)), 1.0),
    "few columns": (lambda: mrr(tr.evaluate([[2, 0, 1], [0, 2, 1]], [0, 1])), 1.0),
    "one's own negatives": (masked_negatives, 1.0),
}

# -- what meets nothing, and what was made apart ---------------------------------------------------


def inductive() -> float:
    """The graph of inference has the candidates; that of training has other entities."""
    graph = [(i, 1, (i + 1) % 20) for i in range(20)] * 6
    task = tails(TEST, {"inference": graph}, relations=2, candidates="inference")
    return mrr(task.evaluate_scores(np.eye(20)[[tail for _, _, tail in TEST]]))


def unaligned() -> int:
    pairs = [(i, i) for i in range(16)]
    known = [(100 + i, 100 + i) for i in range(150)]
    task = alignment.Task(
        pairs, left=300, right=300, known={"train": known}, candidates="unaligned"
    )
    return len(task.candidates[0])  # type: ignore[index]


def part_made_again(rows: slice, known: Any) -> tr.Ranks:
    names = [(NAMES[h], "r", NAMES[t]) for h, _, t in TEST]
    train = [(NAMES[h], "r", NAMES[t]) for h, _, t in known]
    scores = np.eye(20)[[tail for _, _, tail in TEST]]
    return tails(names, {"train": train}, NAMES)[rows].evaluate_scores(scores).ranks


def parts_made_alike() -> int:
    """Another process makes the task again; the order of known facts is no matter."""
    parts = [part_made_again(slice(8, 16), KNOWN[::-1]), part_made_again(slice(0, 8), KNOWN)]
    return len(tr.concatenate(parts))


def sides_of_one_test() -> int:
    ranks = []
    for side in ("tail", "head"):
        task = Task(TEST, {}, entities=20, sides=[side])
        ranks.append(task.evaluate_scores(**{side: np.zeros((16, 20))}).ranks)
    return tr.report(tr.concatenate(ranks)).interval("mrr").units


def folds(folds: Any, repeats: Any) -> int:
    ranks = []
    for rows in folds:
        pairs = [(i, i) for i in range(100)][rows]
        task = alignment.Task(pairs, left=100, right=100)
        ranks.append(task.evaluate_scores(np.eye(100)).ranks)
    return tr.report(tr.concatenate(ranks, repeats=repeats)).interval("mrr").units


APART = [slice(0, 50), slice(50, 100)]
SHARED = [slice(0, 60), slice(20, 80), slice(40, 100)]


def ranks_of_no_task() -> int:
    ranks = [tr.Ranks([0, 1], [1, 1], 9, unit=[0, 1], side=side) for side in ("tail", "head")]
    return tr.report(tr.concatenate(ranks)).interval("mrr").units


def shards(folder: Path, *names: str, as_list: bool = False) -> tuple[int, ...]:
    for name in names:
        np.save(folder / name, MODEL[:4])
    paths: Any = [folder / f"{name}.npy" for name in names]
    return tr.open_scores(paths if as_list else folder / f"{names[0][0]}*.npy").shape


def twice_alike(folder: Path) -> int:
    """A file beside its compressed twin, and pairs beside the same in ids, say one thing."""
    pairs = "".join(f"{line}\n" for line in DBP15K["ref_ent_ids"].split("\n") if line)
    fill_folder(folder, {**DBP15K, "ref_ent_ids.gz": pairs})
    return len(alignment.read_dbp15k(folder).pairs)


MADE: dict[str, Twin] = {
    "the graph of inference": (inductive, 1.0),
    "known facts that are few": (
        lambda: len(tails(TEST, {"train": KNOWN[:99]}, relations=1)),
        16,
    ),
    "known facts that meet": (lambda: len(tails(TEST, {"train": KNOWN})), 16),
    "known facts without a filter": (
        lambda: len(
            tails(TEST, {"train": [(h, 1, t) for h, _, t in KNOWN]}, relations=2, filter="none")
        ),
        16,
    ),
    "known pairs that leave candidates out": (unaligned, 150),
    "parts that were made alike": (parts_made_alike, 16),
    "sides that join by row": (sides_of_one_test, 16),
    "folds that share nothing": (partial(folds, APART, "refuse"), 100),
    "folds, each repeat once": (partial(folds, SHARED, "drop"), 100),
    "folds, each repeat again": (partial(folds, SHARED, "keep"), 180),
    "ranks of no task": (ranks_of_no_task, 2),
}
FILES: dict[str, tuple[Callable[[Path], Any], Any]] = {
    "Borda's points in shards of columns": (borda_in_shards, 1.0),
    "shards from 1 on": (lambda folder: shards(folder, "a-1", "a-2", "a-3"), (12, 60)),
    "shards by their first rows": (lambda folder: shards(folder, "b-0", "b-4", "b-08"), (12, 60)),
    "shards of so many": (lambda folder: shards(folder, "c-1-of-2", "c-2-of-2"), (8, 60)),
    "a list of shards": (lambda folder: shards(folder, "d-7", "e", as_list=True), (8, 60)),
    "files that say one thing": (twice_alike, 2),
    "a folder of OpenEA": (
        lambda folder: len(alignment.read_openea(fill_folder(folder, OPENEA), 1).pairs),
        4,
    ),
}

# -- numbers with another name, and what users came with -------------------------------------------

LISTS = {0: [3, 1, 4], 1: [2, 5, 6]}


def impressions(candidates: Any) -> float:
    task = queries({0: [1], 1: [2]}, candidates=candidates)
    return round(task.evaluate_lists(LISTS)["auc"], 4)


def middle_of_a_tie() -> float:
    return tr.report(tr.Ranks.from_ranks([2, 1], [3, 1], candidates=10))["mr"]


def ids_without_labels(folder: Path) -> int:
    (folder / "ids.txt").write_text("0\t0\t1\n1\t0\t0\n")
    return len(tails(folder / "ids.txt", entities=2, relations=1))


def ids_beside_labels(folder: Path) -> float:
    (folder / "ids.del").write_text("0\t0\t1\n")
    (folder / "entities.del").write_text("0\toslo\n1\trome\n")
    (folder / "relations.del").write_text("0\tin\n")
    files = {"entities": folder / "entities.del", "relations": folder / "relations.del"}
    task = tails(folder / "ids.del", ids=True, **files)
    return mrr(task.evaluate_lists({("oslo", "in"): ["rome"]}))


def commas(folder: Path) -> float:
    (folder / "qrels.csv").write_text('query,document,relevance\nu,"a,b",1\n')
    (folder / "run.csv").write_text('query,document,score\nu,"a,b",0.5\nu,c,0.25\n')
    return mrr(retrieval.Task(folder / "qrels.csv", entities=9).evaluate_lists(folder / "run.csv"))


def beams() -> float:
    lists = {("a", "r"): ["b", "c", "b"]}
    task = tails([("a", "r", "c")], entities=["a", "b", "c"])
    return mrr(task.evaluate_lists(lists, duplicates="first"))


def frame_without_missing_ids() -> int:
    pandas = pytest.importorskip("pandas")
    rows = {"h": [0, 1, None], "r": [0, 0, 0], "t": [1, 0, 2]}
    frame = pandas.DataFrame(rows).astype("Int64")
    return len(tails(frame.dropna(), entities=3))


def dates_with_ends() -> int:
    rows = [("a", "r", "b", "2001", "none"), ("b", "r", "a", "2001", "2002")]
    task = Task(rows, {}, entities=["a", "b"], sides=["tail"], keys=[3, 4])
    return len(task.tail.queries)


def uuids_as_text() -> float:
    one, two = (str(uuid.UUID(int=i)) for i in (1, 2))
    return mrr(queries({one: [two]}).evaluate_lists({one: [two]}))


def exploded_groups() -> float:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"query": ["u", "u", "v"], "document": ["a", "b", "b"]})
    lists = frame.groupby("query").document.agg(list).to_dict()
    return mrr(queries({"u": ["a"], "v": ["b"]}).evaluate_lists(lists))


def neighbours() -> float:
    distances, ids = np.array([[0.1, 0.5], [0.2, 0.8]]), np.array([[0, 2], [1, 0]])
    return mrr(
        queries({0: [0], 1: [1]}, 3).evaluate_lists(tr.TopK(ids, distances), order="ascending")
    )


def several_targets_of_a_row() -> float:
    truth = [np.array([1]), np.array([0, 2])]
    rows = np.repeat(np.arange(2), list(map(len, truth)))
    return mrr(tr.evaluate([[0, 9, 1], [9, 0, 5]], np.concatenate(truth), rows=rows))


def another_order_of_names() -> float:
    reports = []
    for order in (NAMES, NAMES[::-1]):
        columns = [NAMES.index(name) for name in order]
        scores = MODEL[:16, :20][:, columns]
        test = [(NAMES[h], "r", NAMES[t]) for h, _, t in TEST]
        reports.append(tails(test, entities=order).evaluate_scores(scores))
    return tr.compare(*reports, metric="mrr").estimate


CAME: dict[str, Twin] = {
    "auc of each query's impressions": (partial(impressions, {0: [3, 1, 4], 1: [2, 5, 6]}), 0.75),
    "auc of what is listed": (partial(impressions, "listed"), 0.75),
    "auc of lists among all": (partial(impressions, "all"), 0.9375),
    "the middle of a tie": (middle_of_a_tie, 1.75),
    "lists with repeats": (beams, 0.5),
    "Int64 without NA": (frame_without_missing_ids, 2),
    "dates with an end": (dates_with_ends, 2),
    "a date as text": (
        lambda: len(
            tails([("a", "r", "b", str(datetime.date(2001, 1, 1)))], entities=["a", "b"], keys=[3])
        ),
        1,
    ),
    "UUIDs as text": (uuids_as_text, 1.0),
    "JSON's keys beside str": (
        lambda: mrr(queries({"1": ["7"]}).evaluate_lists({"1": ["7"]})),
        1.0,
    ),
    "groups as a dict": (exploded_groups, 1.0),
    "(distances, ids) as a TopK": (neighbours, 1.0),
    "targets of a row, joined": (several_targets_of_a_row, 0.8333),
    "another order of names": (another_order_of_names, 0.0),
}
FILES |= {
    "ids without labels": (ids_without_labels, 2),
    "ids beside labels": (ids_beside_labels, 1.0),
    "files with commas": (commas, 1.0),
}


@pytest.mark.parametrize("name", [*ROWS, *ORDERS, *MADE, *CAME])
def test_twins_are_taken(name: str) -> None:
    twin, expected = (ROWS | ORDERS | MADE | CAME)[name]
    assert twin() == expected


@pytest.mark.parametrize("name", FILES)
def test_twins_in_files_are_taken(name: str, tmp_path: Path) -> None:
    twin, expected = FILES[name]
    assert twin(tmp_path) == expected
