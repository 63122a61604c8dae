"""The task of alignment against its definition: queries, filter, audit, labels, candidates."""

from __future__ import annotations

import copy
import pickle
import warnings
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import truerank as tr
from strategies.alignments import Alignment, alignments
from support.outcomes import quietly
from support.refusals import T, V, refusal
from truerank.alignment import Task
from truerank.link_prediction import Sampled
from truerank.naming import format_count

pytestmark = pytest.mark.python_only

SIDES = ("left_to_right", "right_to_left")
TEST = [("a", "x"), ("b", "y"), ("b", "z")]
TRAIN = [("c", "w"), ("a", "w")]
LEFT = ("a", "b", "c", "d")
RIGHT = ("w", "x", "y", "z")
TWICE = TEST + TEST[:1]
LEAKED = TEST + TRAIN[:1]
IDS = np.array([[0, 1], [1, 2], [1, 3]])
ASKED = [(0, 0), (1, 2)]
ALIGNED = [(2, 1), (3, 3)]


def by_side(left: Any, right: Any) -> dict[str, Any]:
    """Return ids of both graphs as the candidates of both sides."""
    return {"left_to_right": right, "right_to_left": left}


def listed(task: Task) -> list[list[int]]:
    assert task.candidates is not None
    return [ids.tolist() for ids in task.candidates]


@given(alignments())
def test_the_definition(drawn: Alignment) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task = Task(drawn.test, **drawn.given)
    found = drawn.found
    known = drawn.known or {}
    noted = [
        found.duplicates and drawn.rules["duplicates"] == "keep",
        any(found.leaks.values()) and drawn.rules["leaks"] == "keep",
    ]
    assert len(caught) == sum(map(bool, noted))
    assert task.pairs.tolist() == [list(drawn.test[i]) for i in drawn.chosen]
    assert list(task.sides) == list(SIDES)
    assert task.height == len(drawn.test)
    for j, name in enumerate(SIDES):
        assert task.sides[name].n_candidates == drawn.sizes[1 - j]
        expected = drawn.sides[name]
        assert task.sides[name].queries.tolist() == [[i] for i in sorted(set(expected.queries))]
        assert task.sides[name].labels["queries"].values.tolist() == expected.queries
        assert task.sides[name].labels["targets"].values.tolist() == expected.targets
    sizes = [f"{name} {len(pairs)}" for name, pairs in known.items()]
    ranked = f"{format_count(len(drawn.test), 'pair')}, {len(drawn.chosen)} ranked"
    assert str(task.audit[0]) == f"test: {ranked}; known: {', '.join(sizes) or 'none'}"
    counts = {finding.name: finding.count for finding in task.audit}
    assert counts["duplicates"] == len(found.duplicates)
    assert counts["leaks"] == len({i for where in found.leaks.values() for i in where})
    assert task.protocol.filter == (*known, "test")
    assert not task.protocol.sampled
    if drawn.candidates == "all":
        assert task.candidates is None
    else:
        assert listed(task) == list(drawn.among)
        assert task.left_to_right.candidates.tolist() == drawn.among[1]
        assert task.right_to_left.candidates.tolist() == drawn.among[0]
    name = drawn.candidates
    if not isinstance(name, str):
        left, right = (np.array(ids, "<i8") for ids in drawn.among)
        digest = blake2b(left.tobytes() + right.tobytes(), digest_size=4).hexdigest()
        name = f"selection of {len(left)} x {len(right)} ({digest})"
    assert task.protocol.candidates == name


def test_warnings_name_what_they_found() -> None:
    options: dict[str, Any] = {"left": LEFT, "right": RIGHT, "known": {"train": TRAIN}}
    with pytest.warns(
        UserWarning, match=r"^test: 1 \(a x\) of 4 pairs repeat an earlier"
    ) as caught:
        Task(TWICE, **options)
    assert caught[0].filename == __file__
    with pytest.warns(
        UserWarning, match=r"^test: 1 \(c w\) of 4 pairs are in a known split, too; they"
    ):
        task = Task(LEAKED, **options)
    assert "leaks: in train 1 (c w), kept" in map(str, task.audit)


def test_arrays_are_read_only_and_tasks_can_be_pickled() -> None:
    task = Task(IDS, left=4, right=4, known=[(2, 0), (0, 0)], candidates="unaligned")
    arrays = [*task.candidates, task.pairs]
    for side in task.sides.values():
        arrays += [side.rows, side.targets, side.units, side.candidates, *side.filter]
    assert not any(array.flags.writeable for array in arrays)
    for each in (pickle.loads(pickle.dumps(task)), copy.deepcopy(task)):
        assert (each.protocol, each.audit) == (task.protocol, task.audit)
        assert each.evaluate_scores(np.eye(4)).ranks == task.evaluate_scores(np.eye(4)).ranks


ERRORS: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (V, "test: ", [], {}),
    (V, "test: ", [(0, 0), (4, 0)], {}),
    (V, "test: ", [("e", "x")], {}),
    (T, "test: ", TEST, {"left": 4}),
    (T, "right: expected the number of entities", TEST, {"right": None}),
    (V, r"test: 1 \(a x\) .* one$", TWICE, {"duplicates": "raise"}),
    (V, r"test: 1 \(c w\) .* too$", LEAKED, {"leaks": "raise", "known": TRAIN}),
    (V, "test: nothing is left", TRAIN, {"leaks": "drop", "known": TRAIN}),
    (V, r"known\[1\]: ", IDS, {"known": [IDS, np.array([(0, 4)])]}),
    (V, "split: ", IDS, {"known": {"test": IDS}}),
]
# Of candidates, beside six entities on the left, five on the right, and known pairs.
OF_CANDIDATES: list[tuple[type[Exception], str, Any]] = [
    (V, "", "tst"),
    (T, "", Sampled(3)),
    (T, "", ([0, 1], [0, 2])),
    (V, "", {"left_to_right": [0, 2]}),
    (V, "left_to_right: ", by_side([0, 1], [0, 2, 5])),
    (T, "right_to_left: ", by_side(["a"], [0])),
    (V, "right_to_left: 1 of 2 left entities of the .* first 1", by_side([0, 4], [0, 2])),
]
SIX = {"left": 6, "right": 5, "known": {"train": ALIGNED}}
ERRORS += [(k, f"candidates: {w}", ASKED, SIX | {"candidates": v}) for k, w, v in OF_CANDIDATES]
UNALIGNED = SIX | {"candidates": "unaligned"}
ERRORS += [(V, "candidates: .* known splits$", ASKED, UNALIGNED | {"known": x}) for x in (None, {})]


@pytest.mark.parametrize(("kind", "argument", "test", "options"), ERRORS)
def test_errors(kind: type[Exception], argument: str, test: Any, options: dict[str, Any]) -> None:
    options = {"left": LEFT, "right": RIGHT, **options}
    refusal(kind, f"^{argument}", quietly, Task, test, **options)


def test_answers_of_the_two_graphs_do_not_mix() -> None:
    """Equal ids on the left and on the right are different entities."""
    ranks = Task([(0, 1), (1, 2)], left=3, right=4).evaluate_scores(np.eye(3, 4)).ranks
    by_target = tr.report(ranks, by="target")
    sides = ["left_to_right"] * 2 + ["right_to_left"] * 2
    assert list(by_target.groups) == list(zip(sides, [1, 2, 0, 1], strict=True))
    assert by_target["macro.mrr"] == pytest.approx(tr.report(ranks, weights="target")["mrr"])


def test_errors_of_candidates_speak_of_labels() -> None:
    words = "^candidates: right_to_left: 1 of 1 left .*, first 'a'"
    named: dict[str, Any] = {"left": ["a", "b"], "right": ["x"]}
    refusal(ValueError, words, Task, [("a", "x")], candidates=by_side(["b"], ["x"]), **named)
    task = Task([("a", "x")], candidates=by_side(["b", "a"], ["x"]), **named)
    assert listed(task) == [[0, 1], [0]]
    # splits without pairs count as known splits
    everyone = [list(range(6)), list(range(5))]
    assert listed(Task(ASKED, **UNALIGNED | {"known": {"train": []}})) == everyone


def test_real_dbp15k(data: Path) -> None:
    """Table 1 of "A Critical Assessment of State-of-the-Art in Entity Alignment"."""
    folder = data / "dbp15k_zh_en"
    text: dict[str, Any] = {"delimiter": "\t", "comments": None, "encoding": "utf-8"}
    left, right = (np.loadtxt(folder / f"ent_ids_{i}", int, usecols=0, **text) for i in (1, 2))
    task = Task(folder / "ref_ent_ids", left=left, right=right)
    assert repr(task).startswith("Task(15,000 pairs of 19,388 left and 19,572 right entities; ")
    assert (task.left[:2], task.right[:2]) == ((0, 1), (10500, 10501))
