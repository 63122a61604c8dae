"""What one door refuses, its sisters refuse: a table of rules, held at every door.

A door is an argument of a public function that holds data. They are found by walking the
signatures, and each is of a kind. A rule is of some kinds: it makes of a good value a wrong one,
which has to be refused, and perhaps a legitimate twin, which has to be taken. So a new argument
needs a kind, and obeys the rules of its kind.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import truerank as tr
from doors.asking import Call, parameters_of
from doors.good_calls import good_calls
from doors.wide_calls import LABELS, MATRIX, OTHERS, VECTORS, WIDTH, scorer, wide_calls
from truerank.errors import InputError

pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")
pytestmark = pytest.mark.python_only

# How an argument is annotated that may hold data; others are words, numbers and results.
DATA = ("Any", "Like", "NDArray", "Sequence[str] |")
# The kinds of arguments by their patterns, of which the first that fits counts.
KINDS = {
    # Words, files and results, to which no rule applies; and units, which all reach one function by
    # the door of `inference.interval`.
    "option": "Ranks.audit *.dtype *.device *.options *.path *.checkpoint "
    "Table.* Report.*.unit table.unit page.save.unit compare.unit write_run.top open_scores.source "
    "RankCounter.ranks.counts retrieval.Task.columns retrieval.Task.evaluate_lists.columns "
    # Scores of pairs, one matrix of both graphs, results by name, and what `Task` takes.
    "alignment.Graphs.task.known *.score_pairs.scores *.split.embeddings overlap.reports "
    "plot.neighbours.models alignment.neighbours.labels *.exclusive",
    "scores": "*.evaluate_scores.scores *.evaluate_scores.tail *.evaluate_scores.head "
    "*.evaluate_scores.relation *.Task.evaluate.* rank.scores evaluate.scores compat.*.scores "
    "*.others RankCounter.update.block alignment.infer.left",
    "lists": "*.evaluate_lists.ids *.evaluate_lists.tail *.evaluate_lists.head "
    "*.evaluate_lists.relation *.evaluate_lists.left_to_right *.evaluate_lists.right_to_left",
    "lists by position": "rank_lists.ids rank_lists.scores evaluate_topk.ids evaluate_topk.truth "
    "evaluate_ids.ids evaluate_ids.truth",
    "filter": "*.filter",
    "candidates of tasks": "*.Task.candidates",
    "candidates": "rank*.candidates evaluate.candidates compat.*.candidates "
    "topk_embeddings.candidates evaluate_topk.candidates",
    "candidates of two sides": "alignment.csls_means.candidates",
    "labels": "*.Task.entities *.Task.relations *.read_triples.entities *.read_triples.relations "
    "*.Task.left *.Task.right *.Task.queries write_run.queries write_run.entities",
    "vectors of candidates": "*.evaluate_embeddings.entities *_embeddings.entities "
    "*.evaluate_embeddings.relations evaluate_topk.entities",
    "vectors": "*_embeddings.queries evaluate_topk.queries "
    "*.evaluate_embeddings.tail *.evaluate_embeddings.head "
    "*.evaluate_embeddings.relation alignment.*.left alignment.*.right",
    "keys": "*.row_queries",
    "facts": "link_prediction.Task.test link_prediction.Task.known *.triples *.pairs "
    "alignment.Task.known *.score_pairs.found",
    "qrels": "*.qrels retrieval.Task.known",
    "values of tasks": "*.true_scores *.targets *.rows *.bias *.weights *.side *.by *.relation "
    "*.queries *.unit *.query *.target *.above *.tied *.candidates *.ranks *.pessimistic "
    "*.kind *.labels *.listed RankCounter.update.columns retrieval.Task.groups",
}


class Rule(NamedTuple):
    """What is refused of some kinds; None of a form of the good value that it is not about."""

    name: str
    kinds: tuple[str, ...]  # or doors
    words: str  # of the refusal, as a regular expression
    wrong: Callable[[Any], Any]
    twin: Callable[[Any], Any] | None = None  # that is taken


def each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what changes a value, or each value of a mapping."""

    def changed(good: Any) -> Any:
        if not isinstance(good, dict):
            return change(good)
        values = {key: change(value) for key, value in good.items()}
        return values if all(value is not None for value in values.values()) else None

    return changed


def of_lists(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what changes a list."""
    return lambda good: change(good) if isinstance(good, list) else None


def of_rows(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what changes a matrix with a column for each candidate, or what a callable returns."""

    def changed(good: Any) -> Any:
        if callable(good):
            return scorer(change(good(range(WIDTH))))
        matrix = np.asarray(good)
        return change(matrix) if matrix.shape[1:] == (WIDTH,) else None

    return changed


def ids(matrix: Any) -> Any:
    """Return ids, the best first."""
    return np.argsort(-matrix, axis=1)


def ranks(matrix: Any) -> Any:
    """Return ranks, from 1 on."""
    return ids(-ids(matrix)) + 1


def alike(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what changes a matrix, and gives the result the matrix's own dtype."""
    return of_rows(lambda scores: change(scores).astype(scores.dtype))


def with_index(good: Any, *, backwards: bool = True, side: str = "") -> Any:
    """Return a Series or a frame of what stands by position, with an index of its own."""
    if isinstance(good, dict):
        frames = {side: with_index(good[side], backwards=backwards, side=side) for side in good}
        return None if any(frame is None for frame in frames.values()) else frames
    if isinstance(good, (int, tuple, tr.TopK, Path)):
        return None
    if callable(good):
        return lambda *queries: with_index(good(*queries), backwards=backwards)
    index = range(len(good))
    if backwards:
        index = index[::-1]
    if isinstance(good, list) and isinstance(good[0], tuple):
        roles = [role for role in ("head", "relation", "tail") if role != side]
        return pd.DataFrame(good, columns=roles, index=index)
    kind = pd.DataFrame if np.ndim(good) == 2 else pd.Series
    return kind(good, index=index)


INDEX = "numbered 0, 1, 2, |in the order of"
BY_POSITION = ("scores", "vectors", "vectors of candidates", "filter", "candidates")
BY_POSITION += ("values of tasks",)
SELECTIONS = ("filter", "candidates")


def as_table(good: Any, **more: Any) -> Any:
    """Return rows of facts or pairs as a frame with their names, and with more columns."""
    if not isinstance(good, list) or not isinstance(good[0], tuple):
        return None
    names = ("head", "relation", "tail") if len(good[0]) == 3 else ("left", "right")
    return pd.DataFrame(good, columns=names).assign(**more)


def mask_of_candidates(good: Any) -> Any:
    """Return 0s and 1s in place of lists of ids."""
    if isinstance(good, tuple):
        return tuple([0] + [1] * (WIDTH - 1) for _ in good)
    if isinstance(good, dict) and isinstance(next(iter(good.values()))[0], int):
        return {key: [0] + [1] * (WIDTH - 1) for key in good}
    return None


def as_matrix(good: Any, width: int = WIDTH) -> Any:
    """Return a mask, or the documents of queries, as a sparse matrix of so many columns."""
    if isinstance(good, dict) and len(good) == 1:  # known splits by name
        return {split: as_matrix(value, width) for split, value in good.items()}
    mask = np.asarray(good)
    if isinstance(good, dict) and next(iter(good["q0"])) in LABELS:
        mask = np.eye(WIDTH, k=2 if isinstance(good["q0"], list) else 0)
    return sparse.csr_array(mask[:, :width]) if mask.shape == (WIDTH, WIDTH) else None


def square(good: Any) -> Any:
    """Return as many rows as they have places, as tuples in a tuple."""
    if not isinstance(good, list) or len(good) < len(good[0]):
        return None
    return tuple(good[: len(good[0])])


def of_frames(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what changes a frame."""
    return lambda good: change(good) if isinstance(good, pd.DataFrame) else None


def of_dicts(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what changes lists in a mapping of mappings."""

    def changed(good: Any) -> Any:
        if not isinstance(good, dict) or not all(isinstance(row, dict) for row in good.values()):
            return None
        return {key: change(row) for key, row in good.items()}

    return changed


def of_files(change: Callable[[str], str]) -> Callable[[Any], Any]:
    """Return what writes a file of TREC with another first line."""

    def changed(good: Any) -> Any:
        if not isinstance(good, Path) or good.suffix != ".txt":
            return None
        first, *lines = good.read_text().splitlines(keepends=True)
        path = good.with_name(f"changed-{good.name}")
        path.write_text("".join([change(first), *lines]))
        return path

    return changed


def with_label(good: Any, label: str = "rose\u0301") -> Any:
    """Return facts or judgements that have one answer more, where one is no ASCII."""
    if isinstance(good, dict):
        changed = {key: with_label(value, label) for key, value in good.items()}
        if not any(changed.values()):
            return None
        return {key: changed[key] or value for key, value in good.items()}
    if not isinstance(good, list) or "ros\u00e9" not in str(good):
        return None
    last = good[-1]
    return [*good, (*last[:-1], label) if isinstance(last, tuple) else label]


def rows_of_models(table: Any, *, models: str = "ab") -> Any:
    """Return a table of lists of models, which have two entries each and share the first."""
    listed = table.columns[-1]
    parts = []
    for shift, model in enumerate(models, 1):
        rolled = table.assign(**{listed: np.roll(table[listed], shift)})
        parts += [table.assign(model=model), rolled.assign(model=model)]
    return pd.concat(parts)


def of_right_answers(good: Any, *, is_copy: bool = False) -> Any:
    """Return the file from which a task has its right answers, or a copy of it."""
    path = good.with_name(f"right-{good.name}") if isinstance(good, Path) else good
    if path is good or not path.exists():
        return None
    return shutil.copy(path, path.with_name("copy.tsv")) if is_copy else path


def keyed_by_roles(good: Any) -> Any:
    """Return columns by role, in place of rows or of a mapping by query."""
    if not isinstance(good, dict):
        table = as_table(good)
        return table if table is None else table.to_dict("list")
    key = next(iter(good))
    if isinstance(key, tuple):
        return {"head": ["a", "b"], "relation": ["likes", "likes"], "tail": ["b", "c"]}
    if isinstance(key, str) and key[0] in "lr":
        return {"left": ["l0", "l1"], "right": ["r0", "r1"]}
    columns = {"query": ["q0", "q1"], "document": ["a", "b"]}
    return {key: columns} if key == "seen" else columns


def of_both_graphs(good: Any) -> Any:
    """Return the vectors of the left graph, and then those of the right one."""
    return np.concatenate([VECTORS, OTHERS]) if len(good) == 2 * WIDTH else None


def padded(good: Any) -> Any:
    """Return lists of vectors of which one is zero."""
    if not isinstance(good, tuple):
        return None
    vectors, starts = good
    return np.where(np.arange(len(vectors))[:, None] == 3, 0.0, vectors), starts


RULES = [
    Rule(
        "an index of its own counts",
        BY_POSITION,
        INDEX,
        with_index,
        partial(with_index, backwards=False),
    ),
    Rule(
        "a mask has bools", SELECTIONS, "mask", lambda mask: mask.astype(int), lambda mask: mask[:]
    ),
    Rule("a mask has no scores", SELECTIONS, "mask", lambda mask: np.where(mask, -np.inf, 0.0)),
    Rule("labels have an order", ("labels",), "sequence|in order", of_lists(set), of_lists(tuple)),
    Rule(
        "labels occur once",
        ("labels",),
        "distinct|twice|repeat",
        of_lists(lambda labels: [*labels[:-1], labels[0]]),
    ),
    Rule(
        "floats are no labels",
        ("labels",),
        "label|str",
        of_lists(lambda labels: [0.5 for _ in labels]),
    ),
    Rule(
        "a column without a role is named",
        ("facts",),
        "columns=",
        each(lambda facts: as_table(facts, weight=0.5)),
        each(as_table),
    ),
]
# Whatever stands by position.
RULES += [
    Rule("ids are no scores", ("scores",), "permutation of 0 to 11|as true_scores", of_rows(ids)),
    Rule(
        "ranks are no scores", ("scores",), "permutation of 1 to 12|as true_scores", of_rows(ranks)
    ),
    Rule(
        "ids without fractions are no scores",
        ("scores",),
        "permutation of 0 to 11",
        alike(ids),
        alike(lambda s: ids(s) // 2),
    ),
    Rule(
        "ranks without fractions are no scores",
        ("scores",),
        "permutation of 1 to 12",
        alike(ranks),
        alike(lambda s: ranks(s) + 5),
    ),
    Rule(
        "an index of its own counts among names",
        ("labels", "keys"),
        INDEX,
        with_index,
        partial(with_index, backwards=False),
    ),
    Rule(
        "a mask has bools, in lists",
        SELECTIONS,
        "mask|not among",
        lambda mask: mask.astype(int).tolist(),
        lambda mask: [np.flatnonzero(row).tolist() for row in mask],
    ),
    Rule(
        "a mask has bools, of each query",
        ("candidates of tasks", "candidates of two sides"),
        "mask",
        mask_of_candidates,
    ),
    Rule(
        "a filter leaves out less than half",
        ("filter",),
        "left out",
        lambda mask: ~mask,
        lambda mask: mask[:],
    ),
    Rule(
        "a matrix has the shape of what stands beside it",
        (*SELECTIONS, "qrels"),
        r"sparse matrix of shape|a column for each of the 12",
        lambda good: as_matrix(good, WIDTH - 1),
        as_matrix,
    ),
    Rule("a token of zeros is padding", ("vectors of candidates",), "zero", padded),
    Rule(
        "a matrix of both graphs is not one",
        ("alignment.infer.right", "alignment.Task.evaluate_embeddings.right"),
        "all vectors of one side|candidates=",
        of_both_graphs,
    ),
]
# Files, frames and mappings.
RULES += [
    Rule(
        "a tuple of tuples may be rows",
        ("facts",),
        "may be rows",
        each(square),
        each(of_lists(lambda rows: tuple(zip(*rows, strict=True)))),
    ),
    Rule(
        "one label, one spelling",
        ("facts", "qrels"),
        "or Unicode form, got",
        with_label,
        partial(with_label, label="tea"),
    ),
    Rule(
        "rows of several models are not one list",
        ("lists",),
        "column 'model' tells them apart",
        of_frames(rows_of_models),
        of_frames(partial(rows_of_models, models="a")),
    ),
    Rule(
        "right answers are no lists",
        ("lists",),
        "the file of the right answers",
        of_right_answers,
        partial(of_right_answers, is_copy=True),
    ),
    Rule(
        "roles are no keys",
        ("link_prediction.Task.test", "alignment.Task.pairs", "qrels", "lists"),
        "which a table has; keys are queries$",
        keyed_by_roles,
    ),
    Rule(
        "grades are named or left out",
        ("qrels",),
        "label",
        of_frames(lambda table: table.assign(label=[0, 2] * 6)),
        of_frames(lambda table: table.assign(hour=range(12))),
    ),
    Rule(
        "scores of lists are named or left out",
        ("lists",),
        "sim",
        of_frames(lambda table: table.assign(sim=MATRIX[0])),
        of_frames(lambda table: table.assign(note="x")),
    ),
    Rule(
        "a cell is one id",
        ("lists",),
        "joined: a row has one|expected labels",
        of_dicts(lambda row: {"a;b": 0.5} | {"c": 0.25}),
    ),
    Rule(
        "a comment is no row",
        ("qrels", "lists", "read_run.path", "read_qrels.path"),
        "#",
        of_files(lambda line: "#" + line),
        of_files(lambda line: "# a comment\n" + line),
    ),
    Rule(
        "small numbers stay",
        ("lists", "read_run.path"),
        "1e-400",
        of_files(lambda line: line.replace("0.5", "1e-400")),
        of_files(lambda line: line.replace("0.5", "1e-310")),
    ),
]

TAKEN = "is taken"


def is_of(door: str, patterns: str) -> bool:
    """Return whether a door is one of those that patterns name."""
    return any(fnmatchcase(door, pattern) for pattern in patterns.split())


def kind_of(door: str) -> str:
    """Return the kind of a door; none if no pattern fits."""
    return next((kind for kind, patterns in KINDS.items() if is_of(door, patterns)), "")


def doors(call: Call) -> Iterator[str]:
    """Yield the arguments of a function that hold data."""
    for name, parameter in parameters_of(call.function).items():
        if name != "self" and any(word in str(parameter.annotation) for word in DATA):
            yield name


def answer(call: Call, argument: str, value: Any) -> str:
    """Return the refusal of a value, or a warning; or that it is taken."""
    try:
        call.run(**{argument: value})
    except (InputError, UserWarning) as error:  # The tests make errors of warnings.
        return str(error)
    return TAKEN


def test_every_door_has_a_kind_and_a_wide_call() -> None:
    asked = {f"{call.name}.{name}" for call in wide_calls() for name in call.arguments}
    every = {f"{call.name}.{name}" for call in good_calls().values() for name in doors(call)}
    assert {door for door in every if not kind_of(door)} == set()
    assert {door for door in every if kind_of(door) != "option"} - asked == set()


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_a_rule_goes_where_all_doors_pass(rule: Rule) -> None:
    faults, count = {}, 0
    for call in wide_calls():
        for name in doors(call):
            door = f"{call.name}.{name}"
            good = call.arguments.get(name)
            if good is None or not {kind_of(door), door} & {*rule.kinds}:
                continue
            wrong = rule.wrong(good)
            if wrong is None:
                continue
            count += 1
            refusal = answer(call, name, wrong)
            if not re.search(rule.words, refusal):
                faults[door] = refusal
            if rule.twin is not None:
                twin = answer(call, name, rule.twin(good))
                if twin != TAKEN:
                    faults[f"the twin of {door}"] = twin
    assert (faults, count > 0) == ({}, True)


def test_a_query_that_is_cut_passes_no_door_of_ranks_in_silence() -> None:
    """But for that of joins, where the rest of its answers may come."""
    task = tr.retrieval.Task({"q": ["a", "b"], "r": ["c"]}, entities=list("abcd"))
    whole = task.evaluate_lists({"q": ["a", "d", "b"], "r": ["d", "c"]}).ranks
    said = {}
    for call in good_calls().values():
        for name in call.arguments.keys() & parameters_of(call.function).keys() - {"self"}:
            if isinstance(call.arguments[name], tr.Ranks):
                said[f"{call.name}.{name}"] = answer(call, name, whole[[0, 2]])
    assert said.keys() >= {"report.ranks", "compare.a", "compare.b", "inference.interval.ranks"}
    words = "1 of 2 queries lacks right answers|ranks of retrieval, several for a query"
    assert {door for door, refusal in said.items() if not re.search(words, refusal)} == set()
    assert tr.concatenate([whole[[1]], whole[[0, 2]]])[[1, 0, 2]] == whole
