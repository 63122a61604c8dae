"""The core's own checks: whatever its functions are given, no call reads outside of its arrays."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.environment import Run
from truerank import _core

ARRAY = np.ones((3, 4), np.float32)
SCORES = _core.Scores(ARRAY, "float32", False)
ZEROS = np.zeros(3, np.int64)
TRUE_SCORES = np.ones(3, np.float32)
INDPTR = np.array([0, 1, 2, 3])
RULES = _core.Rules(False, "raise", False)
EMBEDDINGS = _core.Embeddings(SCORES, SCORES, "dot")
GRID = _core.Grid(EMBEDDINGS, np.arange(3), np.arange(3))
PAIRS = _core.Tasks(ZEROS, ZEROS)
SQUARE = np.zeros((3, 3), np.int64)
CLASSES = (
    *(_core.Scores, _core.FileScores, _core.Selection, _core.Tasks, _core.Rules, _core.Fault),
    *(_core.Counts, _core.Embeddings, _core.Grid, _core.ListReader),
)


def rank(*tasks: Any) -> _core.Counts:
    return _core.rank(SCORES, _core.Tasks(*tasks), RULES, 0)


def lists(indptr: Any = INDPTR, indices: Any = ZEROS, list_of_task: Any = None) -> _core.Selection:
    return _core.Selection(np.asarray(indptr), np.asarray(indices), list_of_task)


def partial_counts(
    first_column: int = 0,
    *,
    scores: Any = SCORES,
    true_scores: Any = TRUE_SCORES,
    candidates: _core.Selection | None = None,
) -> _core.Counts:
    tasks = _core.Tasks(None, ZEROS, None, candidates)
    return _core.partial_counts(scores, tasks, true_scores, first_column, RULES, 0)


def in_file(
    offset: int = 0, shape: tuple[int, int] = (3, 3), strides: tuple[int, int] = (12, 4)
) -> _core.FileScores:
    return _core.FileScores(0, offset, shape, strides, "file", "float32", False)


def find_listed(
    targets: Any = ZEROS,
    task_lists: Any = ZEROS,
    filter: _core.Selection | None = None,
    ids: _core.Selection | None = None,
    bound: int = 3,
) -> Any:
    return _core.find_listed(ids or lists(), bound, task_lists, targets, filter, 1)


def topk(block: int = 0, current: Any = None) -> Any:
    tasks = _core.Tasks(None, None)
    return _core.topk_embeddings(EMBEDDINGS, tasks, 1, "raise", current, block, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rank(None, ZEROS + 4),
        lambda: rank(ZEROS + 3, ZEROS),
        lambda: rank(ZEROS - 1, ZEROS),
        lambda: rank(None, np.zeros(4, np.int64)),
        lambda: rank(None, None),
        lambda: rank(None, ZEROS, lists(indices=[0, 0])),
        lambda: rank(None, ZEROS, lists([0, 2, 1, 3])),
        lambda: rank(None, ZEROS, lists(np.zeros(0, np.int64))),
        lambda: rank(None, ZEROS, lists(list_of_task=ZEROS + 3)),
        lambda: rank(None, ZEROS, lists(indices=np.zeros(6, np.int64)[::2])),
        lambda: rank(None, ZEROS, lists(indices=np.zeros(3))),
        lambda: rank(None, ZEROS, None, _core.Selection.of_ranges(INDPTR)),
        lambda: rank(None, ZEROS, _core.Selection.of_ranges(INDPTR)),
        lambda: _core.Scores(ARRAY, "float64", False),
        lambda: _core.Scores(ARRAY, "float8", False),
        lambda: _core.FileScores(0, 0, (2, 2), (8, 8), "file", "float32", False),
        lambda: _core.FileScores(0, 0, (2, 1 << 62), (1 << 60, 4), "file", "float32", False),
        lambda: _core.Rules(False, "never", False),
        lambda: _core.Fault("none", 0, 0, 0),  # type: ignore[arg-type]
        lambda: _core.Embeddings(SCORES, SCORES, "dots"),
        lambda: _core.Embeddings(SCORES, SCORES, "dot", np.ones(2, np.float32)),
        lambda: _core.rank_embeddings(EMBEDDINGS, _core.Tasks(None, ZEROS + 3), RULES, 0, 1),
        lambda: _core.score_embeddings(EMBEDDINGS, ZEROS + 3, None, 1),
        lambda: _core.score_embeddings(EMBEDDINGS, None, ZEROS - 1, 1),
        lambda: _core.topk_embeddings(
            EMBEDDINGS, _core.Tasks(ZEROS + 3, None), 1, "raise", None, 0, 1
        ),
        lambda: _core.partial_counts(
            SCORES, _core.Tasks(None, ZEROS), np.ones(2, np.float32), 0, RULES, 0
        ),
        lambda: _core.partial_counts(SCORES, _core.Tasks(None, ZEROS), np.ones(3), 0, RULES, 0),
        lambda: rank(None, SQUARE),
        lambda: rank(SQUARE, ZEROS),
        lambda: rank(ZEROS[:2], ZEROS),
        lambda: rank(None, ZEROS, lists(SQUARE)),
        lambda: rank(None, ZEROS, lists(indices=SQUARE)),
        lambda: rank(None, ZEROS, lists(list_of_task=SQUARE)),
        lambda: partial_counts(true_scores=np.ones((3, 1), np.float32)),
        lambda: partial_counts(true_scores=np.ones(6, np.float32)[::2]),
        lambda: partial_counts(first_column=-1),
        lambda: partial_counts(first_column=2**63 - 2),
        lambda: partial_counts(1, candidates=_core.Selection.of_ranges(INDPTR)),
        lambda: partial_counts(scores=in_file(), candidates=_core.Selection.of_ranges(INDPTR)),
        lambda: _core.rank(in_file(strides=(4, 12)), _core.Tasks(None, ZEROS), RULES, 0),
        lambda: _core.rank(in_file(), _core.Tasks(np.array([1, 0, 2]), ZEROS), RULES, 0),
        lambda: in_file(offset=-1),
        lambda: in_file(shape=(-1, 3)),
        lambda: in_file(shape=(3, -1)),
        lambda: in_file(strides=(4, 4)),
        lambda: in_file(strides=(2**62, 4)),
        lambda: in_file(offset=2**63 - 8),
        lambda: _core.Embeddings(SCORES, SCORES, "dot", np.ones(3)),
        lambda: _core.Embeddings(SCORES, SCORES, "dot", np.ones((3, 1), np.float32)),
        lambda: _core.Embeddings(SCORES, SCORES, "dot", np.ones(6, np.float32)[::2]),
        lambda: _core.rank_embeddings(EMBEDDINGS, _core.Tasks(None, ZEROS), RULES, -1, 1),
        lambda: _core.score_embeddings(EMBEDDINGS, SQUARE, None, 1),
        lambda: _core.score_embeddings(EMBEDDINGS, None, SQUARE, 1),
        lambda: _core.score_embeddings(EMBEDDINGS, None, ZEROS[:2], 1),
        lambda: find_listed(ZEROS + 3),
        lambda: find_listed(ZEROS - 1),
        lambda: find_listed(ZEROS[:2]),
        lambda: find_listed(SQUARE),
        lambda: find_listed(task_lists=ZEROS + 3),
        lambda: find_listed(task_lists=ZEROS - 1),
        lambda: find_listed(task_lists=INDPTR[2::-1]),
        lambda: find_listed(filter=lists(INDPTR[:3], ZEROS[:2])),
        lambda: find_listed(filter=_core.Selection.of_ranges(INDPTR)),
        lambda: find_listed(ids=_core.Selection.of_ranges(INDPTR)),
        lambda: find_listed(ids=lists([0, 2, 1, 3])),
        lambda: find_listed(bound=-1),
        lambda: topk(block=-1),
        lambda: topk(current=(np.ones(3, np.float32), SQUARE)),
        lambda: topk(current=(np.ones(3, np.float32), ZEROS[:2])),
        lambda: _core.Grid(EMBEDDINGS, SQUARE, ZEROS[:1]),
        lambda: _core.Grid(EMBEDDINGS, ZEROS[:1], ZEROS[:0]),
        lambda: _core.Grid(EMBEDDINGS, np.array([3]), ZEROS[:1]),
        lambda: _core.Grid(EMBEDDINGS, ZEROS[:1], np.array([3])),
        lambda: _core.Grid(EMBEDDINGS, np.array([1, 0]), ZEROS[:1]),
        lambda: _core.Grid(EMBEDDINGS, np.array([-1]), ZEROS[:1]),
        lambda: _core.rank_grid(GRID, _core.Tasks(None, ZEROS), None, "raise", 0, 1),
        lambda: _core.rank_grid(
            GRID, _core.Tasks(ZEROS, ZEROS, None, lists()), None, "raise", 0, 1
        ),
        lambda: _core.rank_grid(GRID, PAIRS, None, "raise", -1, 1),
        lambda: _core.rank_grid(GRID, PAIRS, None, "raise", 2**41, 1),
        lambda: _core.rank_grid(GRID, PAIRS, lists([0, 1]), "raise", 0, 1),
        lambda: _core.rank_grid(
            _core.Grid(EMBEDDINGS, ZEROS[:1], ZEROS[:1] + 1), PAIRS, None, "raise", 0, 1
        ),
        lambda: _core.rank_grid(
            _core.Grid(EMBEDDINGS, ZEROS[:1] + 1, ZEROS[:1]), PAIRS, None, "raise", 0, 1
        ),
        lambda: _core.Grid(EMBEDDINGS, ZEROS[:0], ZEROS[:1]),
        lambda: _core.mean_topk(GRID, 0, "raise", 0, 1),
        lambda: _core.mean_topk(GRID, 1, "raise", -1, 1),
    ],
)
def test_access_outside_of_the_arrays_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        call()


@pytest.mark.parametrize(
    "targets",
    [
        [3, 0, 2],
        np.array([3, 0, 2], np.int32),
        np.array([3, 0, 2], np.uint8),
        np.array([3, 0, 2], ">i8"),
        np.array([3, 9, 0, 9, 2, 9])[::2],
        np.frombuffer(b"\0" + np.array([3, 0, 2]).tobytes(), np.int64, offset=1),
    ],
)
def test_integers_of_other_layouts_are_copied(targets: Any) -> None:
    scores = _core.Scores(np.eye(3, 4, dtype=np.float32), "float32", False)
    counts = _core.rank(scores, _core.Tasks(None, targets), RULES, 0)
    assert counts.arrays["above"].tolist() == [1, 1, 0]
    assert counts.arrays["tied"].tolist() == [3, 3, 1]


def test_arrays_that_change_are_checked_again() -> None:
    indptr = INDPTR.copy()
    selection = lists(indptr)
    assert rank(None, ZEROS, selection).fault is None
    indptr[1] = 99
    with pytest.raises(ValueError, match="indptr falls"):
        rank(None, ZEROS, selection)
    array = ARRAY.copy()
    scores, tasks = _core.Scores(array, "float32", False), _core.Tasks(None, ZEROS + 3)
    assert _core.rank(scores, tasks, RULES, 0).fault is None
    for shape in ((4, 3), (2, 2, 3), (12,)):
        array.shape = shape
        with pytest.raises(ValueError, match=r"targets|matrix"):
            _core.rank(scores, tasks, RULES, 0)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_object_without_init_is_refused(kind: Any) -> None:
    """`__new__` without `__init__` makes an object without a value."""
    uninitialised = kind.__new__(kind)
    for name, member in vars(kind).items():
        if not name.startswith("_") and not isinstance(member, staticmethod):
            with pytest.raises(TypeError):
                getattr(uninitialised, name)(1, 1)
    with pytest.raises(TypeError):
        _core.rank(uninitialised, _core.Tasks(None, ZEROS), RULES, 0)
    with pytest.raises(TypeError):
        _core.Tasks(None, ZEROS, uninitialised)


def test_the_core_takes_no_other_listener() -> None:
    for listener in (print, _core.Listener.__new__(_core.Listener)):
        with pytest.raises(TypeError):
            _core.rank_embeddings(EMBEDDINGS, PAIRS, RULES, 0, 1, listener)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _core.Listener(print, "soon")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not callable"):
        _core.rank_embeddings(EMBEDDINGS, PAIRS, RULES, 0, 1, _core.Listener(3, 0.0))  # type: ignore[arg-type]


def test_selections_and_rules_are_copied_and_pickled() -> None:
    selection = lists(list_of_task=ZEROS)
    for again in (copy.deepcopy(selection), pickle.loads(pickle.dumps(selection))):
        assert again.indptr.tolist() == INDPTR.tolist()
        assert again.indices.tolist() == again.lists.tolist() == ZEROS.tolist()
        assert not again.shared
    rules = pickle.loads(pickle.dumps(_core.Rules(True, "omit", True)))
    assert (rules.ascending, rules.nan, rules.audit) == (True, "omit", True)


SUBINTERPRETER = '''
import sys
if sys.version_info >= (3, 13):
    import _interpreters
    interpreter = _interpreters.create(sys.argv[1])
else:
    import _xxsubinterpreters as _interpreters
    interpreter = _interpreters.create(isolated=sys.argv[1] == "isolated")
if sys.argv[2] == "after":
    import truerank._core
_interpreters.run_string(interpreter, f"""
import sys
sys.path[:] = {sys.path!r}
try:
    import truerank._core
except ImportError as error:
    print(error, flush=True)
""")
'''


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="modules of CPython")
@pytest.mark.parametrize("order", ["first", "after"])
@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_a_subinterpreter_is_refused(run_python: Run, kind: str, order: str) -> None:
    """pybind11 would wait for ever for the lock of the main interpreter."""
    assert "subinterpreter" in run_python(SUBINTERPRETER, kind, order, timeout=20)
