"""The task of alignment against its definition: queries, filter, audit, labels, forms of pairs."""

from __future__ import annotations

import copy
import gzip
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import truerank as tr
from oracles import alignment as oracle
from strategies.alignments import Alignment, alignments
from support.error_kinds import is_of_kind
from truerank.alignment import Task

pytestmark = pytest.mark.python_only

SIDES = ("left_to_right", "right_to_left")
TEST = [("a", "x"), ("b", "y"), ("b", "z")]
TRAIN = [("c", "w"), ("a", "w")]
LEFT, RIGHT = ("a", "b", "c", "d"), ("w", "x", "y", "z")


def quiet(*args: Any, **keywords: Any) -> Task:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Task(*args, **{"left": LEFT, "right": RIGHT, **keywords})


def lists(selection: Any) -> list[list[int]]:
    indptr, indices = selection
    bounds = zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
    return [indices[start:stop].tolist() for start, stop in bounds]


def check_side(tasks: Any, expected: oracle.Side, drawn: Alignment) -> None:
    """Check queries, filter and labels against the definition, and their documented layout."""
    assert tasks.queries.dtype == tasks.rows.dtype == tasks.targets.dtype == np.int64
    assert tasks.queries.tolist() == [[query] for query in sorted(set(expected.queries))]
    assert tasks.queries[tasks.rows, 0].tolist() == expected.queries
    assert tasks.targets.tolist() == expected.targets
    assert tasks.test_rows.tolist() == drawn.chosen
    assert tasks.height == len(drawn.test)
    assert tasks.filter is not None
    answers = lists(tasks.filter)
    each = zip(tasks.rows.tolist(), expected.others, expected.targets, strict=True)
    for row, others, target in each:
        assert answers[row] == sorted({*others, target})
    everything = list(range(tasks.columns))
    among = everything if tasks.candidates is None else tasks.candidates.tolist()
    assert among == expected.candidates
    assert (tasks.candidates is None) == (drawn.candidates == "all")
    assert tasks.labels["queries"].values.tolist() == expected.queries
    assert tasks.labels["targets"].values.tolist() == expected.targets


def shown(test: list[Any], where: list[int]) -> tuple[Any, ...]:
    """Return the first three distinct pairs."""
    return tuple(dict.fromkeys(test[i] for i in where))[:3]


@given(alignments())
def test_the_definition(drawn: Alignment) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task = Task(drawn.test, **drawn.given)
    found, known = drawn.found, drawn.known or {}
    noted = [
        found.duplicates and drawn.rules["duplicates"] == "keep",
        any(found.leaks.values()) and drawn.rules["leaks"] == "keep",
    ]
    assert len(caught) == sum(map(bool, noted))
    assert task.pairs.tolist() == [list(drawn.test[i]) for i in drawn.chosen]
    assert list(task.sides) == list(SIDES)
    for j, name in enumerate(SIDES):
        assert task.sides[name].columns == drawn.sizes[1 - j]
        check_side(task.sides[name], drawn.sides[name], drawn)
    audit = task.audit
    assert (audit.given, audit.kept) == (len(drawn.test), len(drawn.chosen))
    assert audit.known == {name: len(pairs) for name, pairs in known.items()}
    assert audit.duplicates.count == len(found.duplicates)
    assert audit.duplicates.examples == shown(drawn.test, found.duplicates)
    for name, where in found.leaks.items():
        assert audit.leaks[name].count == len(where)
        assert audit.leaks[name].examples == shown(drawn.test, where)
    assert audit.leaked == len({i for where in found.leaks.values() for i in where})
    assert task.protocol.filter == (*known, "test")
    assert not task.protocol.sampled


# -- several counterparts, by hand -----------------------------------------------------------------


# -- audit -----------------------------------------------------------------------------------------


def test_audit_in_words() -> None:
    test = [*TEST, TEST[0], TRAIN[0]]
    task = quiet(test, known={"train": TRAIN, "valid": TRAIN[:1]}, duplicates="drop")
    assert str(task.audit).splitlines() == [
        "test: 5 pairs, 4 ranked; known: train 2, valid 1",
        "duplicates: 1 (a x), dropped",
        "leaks: in train 1 (c w); in valid 1 (c w), kept",
    ]
    assert task.left_to_right.test_rows.tolist() == [0, 1, 2, 4]
    assert task.audit.to_dict() == {
        **{"split": "test", "given": 5, "kept": 4, "leaked": 1},
        "known": {"train": 2, "valid": 1},
        "rules": {"duplicates": "drop", "leaks": "keep"},
        "leaks": {name: {"count": 1, "examples": [["c", "w"]]} for name in ("train", "valid")},
        "duplicates": {"count": 1, "examples": [["a", "x"]]},
    }
    assert str(quiet(TEST).audit).splitlines() == [
        "test: 3 pairs, 3 ranked; known: none",
        "duplicates: none",
        "leaks: none",
    ]


def test_warnings_name_what_they_found() -> None:
    how: dict[str, Any] = {"left": LEFT, "right": RIGHT, "known": {"train": TRAIN}}
    with pytest.warns(UserWarning, match=r"^test: 1 \(a x\) pairs repeat an earlier") as caught:
        Task([*TEST, TEST[0]], **how)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^test: 1 \(c w\) pairs are in a known split, too; they"):
        Task([*TEST, TRAIN[0]], **how)
    with pytest.raises(ValueError, match=r"^test: 1 \(a x\) pairs repeat an earlier one$"):
        Task([*TEST, TEST[0]], duplicates="raise", **how)
    with pytest.raises(ValueError, match=r"^test: 1 \(c w\) pairs are in a known split, too$"):
        Task([*TEST, TRAIN[0]], leaks="raise", **how)
    with pytest.raises(ValueError, match=r"^test: nothing is left: 2 pairs were dropped"):
        Task(TRAIN, leaks="drop", **how)


# -- forms -----------------------------------------------------------------------------------------

IDS = np.array([[0, 1], [1, 2], [1, 3]])
FORMS: dict[str, Callable[[Path], Any]] = {
    "labels": lambda folder: TEST,
    "lists": lambda folder: [list(pair) for pair in TEST],
    "an array of labels": lambda folder: np.array(TEST),
    "objects": lambda folder: np.array(TEST, object),
    "ids": lambda folder: IDS,
    "small ids": lambda folder: IDS.astype(np.uint8),
    "tuples of ids": lambda folder: [(0, 1), (1, 2), (1, 3)],
    "a .npy file": lambda folder: written(folder, IDS),
    "text": lambda folder: written(folder, "a\tx\nb\ty\nb\tz\n"),
    "gzipped text": lambda folder: written(folder, gzip.compress(b"a\tx\r\nb\ty\r\nb\tz")),
}


def written(folder: Path, content: Any) -> Path:
    if isinstance(content, np.ndarray):
        np.save(folder / "pairs.npy", content)
        return folder / "pairs.npy"
    path = folder / ("pairs.tsv.gz" if isinstance(content, bytes) else "pairs.tsv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_pairs(form: Callable[[Path], Any], tmp_path: Path) -> None:
    given_pairs = form(tmp_path)
    task = Task(given_pairs, left=LEFT, right={label: i for i, label in enumerate(RIGHT)})
    assert task.pairs.tolist() == IDS.tolist()
    assert (task.left, task.right) == (LEFT, RIGHT)
    assert task.left_to_right.names == RIGHT
    assert task.right_to_left.names == LEFT
    with_known = Task([("d", "w")], left=LEFT, right=RIGHT, known={"train": given_pairs})
    assert with_known.audit.known == {"train": 3}


def test_text_of_ids(tmp_path: Path) -> None:
    """If a graph is given by its number of entities, its column of text holds ids."""
    path = written(tmp_path, "0\t1\n1\t2\n1\t3\n")
    assert Task(path, left=4, right=4).pairs.tolist() == IDS.tolist()
    mixed = written(tmp_path, "a\t1\nb\t2\nb\t3\n")
    task = Task(mixed, left=LEFT, right=4)
    assert task.pairs.tolist() == IDS.tolist()
    assert (task.left, task.right) == (LEFT, None)
    assert Task([("a", 1)], left=LEFT, right=4).pairs.tolist() == [[0, 1]]


KNOWN_FORMS = {
    "mapping": ({"train": TRAIN}, ["train"]),
    "a list of splits": ([TRAIN, TRAIN[:1]], ["known_0", "known_1"]),
    "one split": (TRAIN, ["known_0"]),
    "lists as rows": ([list(row) for row in TRAIN], ["known_0"]),
    "an array": (np.array(TRAIN), ["known_0"]),
    "arrays": ([np.array(TRAIN), np.array(TRAIN)], ["known_0", "known_1"]),
    "an empty split": ([TRAIN, []], ["known_0", "known_1"]),
    "an empty array": ({"train": np.zeros((0, 2), int)}, ["train"]),
    "none": ([], []),
}


@pytest.mark.parametrize(("known", "names"), KNOWN_FORMS.values(), ids=KNOWN_FORMS)
def test_known_forms(known: Any, names: list[str]) -> None:
    task = quiet(TEST, known=known, split="final")
    assert list(task.audit.known) == names
    assert task.protocol.filter == (*names, "final")
    assert task.protocol.split == "final"


def test_arrays_are_read_only_and_tasks_can_be_pickled() -> None:
    task = quiet(TEST, known={"train": TRAIN}, candidates="unaligned")
    assert task.candidates is not None
    for each in (task, pickle.loads(pickle.dumps(task)), copy.deepcopy(task)):
        arrays = [each.pairs, *each.candidates]
        for side in each.sides.values():
            arrays += [side.queries, side.rows, side.targets, side.test_rows, side.candidates]
            arrays += side.filter
        assert each is not task or not any(array.flags.writeable for array in arrays)
        assert each.protocol == task.protocol
        assert each.audit == task.audit
        assert each.left_to_right.labels.keys() == task.left_to_right.labels.keys()
        for name, labels in each.left_to_right.labels.items():
            assert labels.same_as(task.left_to_right.labels[name])
        assert len(each.evaluate_scores(np.eye(4)).ranks) == 6


def test_inputs_are_left_alone() -> None:
    test, train = IDS.astype(np.int32), np.array([[2, 0], [0, 0]])
    chosen = np.array([3, 1, 0, 2, 3]), np.array([3, 2, 1])
    for array in (test, train, *chosen):
        array.flags.writeable = False
    task = Task(test, left=4, right=4, known={"train": train}, candidates=chosen)
    assert task.candidates is not None
    assert [ids.tolist() for ids in task.candidates] == [[0, 1, 2, 3], [1, 2, 3]]
    assert chosen[0].tolist() == [3, 1, 0, 2, 3]
    writeable = IDS.copy()
    task = Task(writeable, left=4, right=4)
    writeable[:] = 0
    assert task.pairs.tolist() == IDS.tolist()


def test_what_a_task_shows() -> None:
    task = Task(TEST, left=LEFT, right=[*RIGHT, "more"])
    assert repr(task) == (
        "Task(3 pairs of 4 left and 5 right entities; split test, filtered by test, all "
        "candidates, nan raise)"
    )
    assert task.left_to_right is task.sides["left_to_right"]
    assert task.right_to_left is task.sides["right_to_left"]
    assert repr(Task([(0, 0)], left=1, right=1)).startswith("Task(1 pair of 1 left and 1 right ")


# -- errors ----------------------------------------------------------------------------------------

ERRORS: dict[str, tuple[type[Exception], str, Any, dict[str, Any]]] = {
    "no pairs": (ValueError, "^test: expected at least one pair, got none", [], {}),
    "no rows": (ValueError, "^test: expected at least one pair", np.zeros((0, 2), int), {}),
    "floats": (TypeError, r"^test: .* got 0\.0 in row 0", IDS * 1.0, {}),
    "nan": (
        TypeError,
        r"^test: .* got 0\.0 in row 0",
        *(np.array([[0, np.nan]]), {}),
    ),
    "a float": (TypeError, r"^test: .* got 1\.0 in row 0", [(0, 1.0)], {}),
    "bools": (TypeError, r"^test: .* got False in row 0", IDS > 0, {}),
    "a bool": (TypeError, "^test: .* got True in row 1", [(0, 1), (True, 1)], {}),
    "known floats": (
        TypeError,
        r'^known\["train"\]: expected integers or labels',
        *(IDS, {"known": {"train": IDS * 1.0}}),
    ),
    "known none": (TypeError, r'^known\["a"\]: expected an array', IDS, {"known": {"a": None}}),
    "three columns": (
        ValueError,
        r"^test: .* got ndarray of shape \(1, 3\)",
        *(np.zeros((1, 3), int), {}),
    ),
    "triples": (ValueError, r"^test: .* got \('a', 'r', 'x'\) in row 0", [("a", "r", "x")], {}),
    "one member": (ValueError, r"^test: .* got \(0,\) in row 1", [(0, 1), (0,)], {}),
    "flat": (ValueError, r"^test: .* got ndarray of shape \(2,\)", IDS[0], {}),
    "flat list": (TypeError, "^test: .* got 0 in row 0", [0, 1], {}),
    "labels and ids": (TypeError, "expected .* got 1 in row 1", [("a", "x"), (1, 1)], {}),
    "left out of range": (
        ValueError,
        "^test: .* got 4 in column 0 of row 1",
        *([(0, 0), (4, 0)], {}),
    ),
    "right out of range": (
        ValueError,
        r"^known\[1\]: .* got 4 in column 1 of row 0",
        *(IDS, {"known": [IDS, [(0, 4)]]}),
    ),
    "negative": (ValueError, "^test: .* got -1 in column 0 of row 0", [(-1, 0)], {}),
    "huge": (
        ValueError,
        "^test: .* got 4611686018427387904 in column 1 of row 0",
        [(0, 2**62)],
        {},
    ),
    "unknown left": (
        ValueError,
        "^test: .* got 'e' in column 0 of row 0",
        *([("e", "x")], {}),
    ),
    "unknown right": (ValueError, "^test: .* got 'a' in column 1 of row 0", [("a", "a")], {}),
    "labels for ids": (ValueError, "^test: .* got 'a' in column 0 of row 0", *(TEST, {"left": 4})),
    "no left": (TypeError, "^left: expected the number of entities", IDS, {"left": None}),
    "no right": (TypeError, "^right: expected the number of entities", IDS, {"right": None}),
    "a float as left": (TypeError, "^left: expected an int, a sequence", IDS, {"left": 4.0}),
    "a bool as right": (TypeError, "^right: expected an int", IDS, {"right": True}),
    "none at all": (
        ValueError,
        "^left: expected an integer from 1 to 68",
        IDS,
        {"left": 0},
    ),
    "label twice": (ValueError, "^right: 'a' occurs twice", IDS, {"right": ["a", "a"]}),
    "split": (ValueError, "^split: .* got 'test'", *(IDS, {"known": {"test": IDS}})),
    "split type": (ValueError, "^split: expected a name .* got 3", IDS, {"split": 3}),
    "known name": (TypeError, "^known: expected names of splits", IDS, {"known": {1: IDS}}),
    "rule": (ValueError, "^leaks: expected one of keep, drop, raise", IDS, {"leaks": "warn"}),
    "other rule": (ValueError, "^duplicates: expected one of", IDS, {"duplicates": ""}),
}


@pytest.mark.parametrize(("kind", "words", "test", "how"), ERRORS.values(), ids=ERRORS)
def test_errors(kind: type[Exception], words: str, test: Any, how: dict[str, Any]) -> None:
    with pytest.raises(kind, match=words) as error:
        quiet(test, **how)
    assert is_of_kind(error.value, kind)


TEXTS = {
    "three columns": ("a\tb\tc\n", r"line 1: .*got 'a\\tb\\tc'"),
    "one column": ("a\n", "line 1: .*got 'a'"),
    "widths": ("a\tx\n\nb\ty\tz\n", r"line 3: .*got 'b\\ty\\tz'"),
    "empty left": ("a\tx\n\ty\n", r"line 2: .*got '\\ty'"),
    "empty right": ("a\t\n", r"line 1: .*got 'a\\t'"),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS)
def test_errors_of_text(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^test: .*pairs\.tsv: {words}"):
        quiet(written(tmp_path, text))


def test_files_that_are_missing(tmp_path: Path) -> None:
    for name in ("absent.npy", "absent.tsv"):
        with pytest.raises(FileNotFoundError, match="absent"):
            quiet(tmp_path / name)


def test_dbp15k(data: Path) -> None:
    """A real data set, with every other pair known, against the slow twin."""
    folder = data / "dbp15k_zh_en"
    names = [
        [line.split("\t")[0] for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("ent_ids_1", "ent_ids_2")
    ]
    assert list(map(len, names)) == [19_388, 19_572]
    lines = (folder / "ref_ent_ids").read_text("utf-8").splitlines()
    pairs = [tuple(line.split("\t")) for line in lines]
    assert len(pairs) == 15_000
    places = [{name: i for i, name in enumerate(of_graph)} for of_graph in names]
    ids = [(places[0][left], places[1][right]) for left, right in pairs]
    how = {"left": names[0], "right": names[1]}
    test, train = pairs[::2], pairs[1::2]
    sizes = {"all": (19_388, 19_572), "test": (7_500, 7_500), "unaligned": (11_888, 12_072)}
    for what, expected in sizes.items():
        task = Task(test, known={"train": train}, candidates=what, **how)
        assert task.pairs.tolist() == [list(pair) for pair in ids[::2]]
        listed = task.candidates
        assert expected == (sizes["all"] if listed is None else tuple(map(len, listed)))
    for j, name in enumerate(SIDES):
        side = task.sides[name]
        assert side.queries[side.rows, 0].tolist() == [pair[j] for pair in ids[::2]]
        assert side.targets.tolist() == [pair[1 - j] for pair in ids[::2]]
        assert np.diff(side.filter[0]).tolist() == [1] * 7_500  # one to one
        assert side.filter[1].tolist() == side.targets[np.argsort(side.rows)].tolist()
    whole = Task(folder / "ref_ent_ids", **how)
    assert whole.pairs.tolist() == [list(pair) for pair in ids]
    assert (whole.audit.duplicates.count, whole.audit.leaked) == (0, 0)


def test_masked_pairs_are_refused() -> None:
    pairs = np.ma.masked_array([[0, 1], [1, 0]], [[False, False], [True, True]])
    with pytest.raises(TypeError, match=r"^test: .* got MaskedArray of shape \(2, 2\)"):
        Task(pairs, left=2, right=2)


def test_both_directions_of_a_pair_are_one_unit() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random((60, 60)) + np.eye(60)
    task = Task(np.stack([np.arange(60)] * 2, 1), left=60, right=60)
    report = task.evaluate_scores(scores)
    assert report.ranks.unit.values.tolist() == [*range(60), *range(60)]
    other = task.evaluate_scores(rng.random((60, 60)) + np.eye(60))
    assert tr.compare(report, other, metric="mrr", by="unit").units == 60
    assert tr.compare(report, other, metric="mrr").by == "unit"
    assert tr.compare(report, other, metric="mrr", by="task").units == 120


def test_answers_of_the_two_graphs_do_not_mix() -> None:
    """Equal ids on the left and on the right are different entities."""
    report = Task([(0, 1), (1, 2)], left=3, right=4).evaluate_scores(np.eye(3, 4))
    groups = tr.report(report.ranks, by="target").groups
    assert list(groups) == [
        *(("left_to_right", 1), ("left_to_right", 2)),
        *(("right_to_left", 0), ("right_to_left", 1)),
    ]
    pooled = tr.report(report.ranks, by="target")["macro.mrr"]
    assert pooled == pytest.approx(tr.report(report.ranks, weights="target")["mrr"])
