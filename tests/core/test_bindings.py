"""The core's own checks: no call reads outside of its arrays; names are those of plain loops."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.environment import ROOT, Run
from truerank import _core
from truerank.counting.partial_counts import FIELDS

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
CLASSES = [_core.Scores, _core.FileScores, _core.Selection, _core.Tasks, _core.Rules, _core.Fault]
CLASSES += [_core.Counts, _core.Embeddings, _core.Grid, _core.Names, _core.RowForm]


RANGES = _core.Selection.of_ranges(INDPTR)


def lists(indptr: Any = INDPTR, indices: Any = ZEROS, list_of_task: Any = None) -> _core.Selection:
    return _core.Selection(np.asarray(indptr), np.asarray(indices), list_of_task)


def in_file(
    offset: int = 0,
    shape: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (12, 4),
    dtype: str = "float32",
) -> _core.FileScores:
    return _core.FileScores(0, offset, shape, strides, "file", dtype, False)


def tasks(
    rows: Any = None, targets: Any = ZEROS, filter: Any = None, candidates: Any = None
) -> _core.Tasks:
    return _core.Tasks(rows, targets, filter, candidates)


def partial_embedding_counts(
    true: Any = TRUE_SCORES, first: int = 0, rules: Any = RULES, block: int = 0, **given: Any
) -> _core.Counts:
    asked = tasks(**given), true, first, rules, block, 1
    return _core.partial_embedding_counts(EMBEDDINGS, *asked)


LISTED = lists()
# Good calls without more, whose arguments can be changed.
CALLS: dict[str, Callable[..., Any]] = {
    "rank": lambda scores=SCORES, **given: _core.rank(scores, tasks(**given), RULES, 0),
    "partial_counts": lambda scores=SCORES, true=TRUE_SCORES, first=0, tied=ZEROS, **given: (
        _core.partial_counts(
            scores,
            tasks(**given),
            true,
            first,
            RULES,
            0,
            dict.fromkeys(FIELDS, ZEROS) | {"tied": tied},
        )
    ),
    "partial_embedding_counts": partial_embedding_counts,
    "rank_embeddings": lambda block=0, **given: _core.rank_embeddings(
        EMBEDDINGS, tasks(**given), RULES, block, 1
    ),
    "score_embeddings": lambda rows=None, targets=None: _core.score_embeddings(
        EMBEDDINGS, rows, targets, 1
    ),
    "topk": lambda rows=None, block=0: _core.topk_embeddings(
        EMBEDDINGS, _core.Tasks(rows, None), 1, "raise", block, 1
    ),
    "find_listed": lambda ids=LISTED, bound=3, rows=ZEROS, targets=ZEROS, filter=None: (
        _core.find_listed(ids, bound, rows, targets, filter, 1)
    ),
    "grid": lambda lefts=ZEROS[:1], rights=ZEROS[:1]: _core.Grid(EMBEDDINGS, lefts, rights),
    "rank_grid": lambda of=GRID, filter_left=None, block=0, rows=ZEROS, **given: _core.rank_grid(
        of, tasks(rows, **given), filter_left, "raise", block, 1
    ),
    "mean_topk": lambda k=1, block=0: _core.mean_topk(GRID, k, "raise", block, 1),
    "embeddings": lambda similarity="dot", bias=None: _core.Embeddings(
        SCORES, SCORES, similarity, bias
    ),
}
rank = CALLS["rank"]
ROWS = (ZEROS + 3, ZEROS - 1, SQUARE, ZEROS[:2])
IDS = (np.array([3]), np.array([-1]), np.array([1, 0]), SQUARE, ZEROS[:0])
LISTS: list[Any] = [RANGES, {"indptr": [0, 2, 1, 3]}, {"indptr": ZEROS[:0]}, {"indptr": SQUARE}]
LISTS += [{"indices": np.zeros(6, np.int64)[::2]}, {"indices": np.zeros(3)}, {"indices": SQUARE}]
LISTS += [{"indices": [0, 0]}, {"list_of_task": ZEROS + 3}, {"list_of_task": SQUARE}]
TRUE = (
    np.ones((3, 1), "f4"),
    np.ones(6, "f4")[::2],
    np.ones(2, "f4"),
    np.ones(3),
    np.ones(3, ">f4"),
)
# A call, one of its arguments, and values that make it bad.
WRONG: list[tuple[Callable[..., object], str, Sequence[Any]]] = [
    (CALLS["rank"], "rows", ROWS),
    (CALLS["rank"], "targets", (ZEROS + 4, np.zeros(4, np.int64), None, SQUARE)),
    (CALLS["rank"], "filter", LISTS),
    (CALLS["rank"], "candidates", (RANGES,)),
    (CALLS["rank"], "scores", (in_file(strides=(4, 12)),)),
    (partial(CALLS["rank"], scores=in_file()), "rows", (np.array([1, 0, 2]),)),
    (CALLS["partial_counts"], "true", TRUE[:4]),
    (CALLS["partial_counts"], "first", (-1, 2**63 - 2)),
    (CALLS["partial_counts"], "tied", (ZEROS[:2], SQUARE)),
    (partial(CALLS["partial_counts"], first=1), "candidates", (RANGES,)),
    (partial(CALLS["partial_counts"], scores=in_file()), "candidates", (RANGES,)),
    (CALLS["partial_embedding_counts"], "true", TRUE),
    (CALLS["partial_embedding_counts"], "true", (np.ones(3, np.int32),)),
    (CALLS["partial_embedding_counts"], "rows", ROWS),
    (CALLS["partial_embedding_counts"], "targets", (np.array([-2, 0, 0]), np.zeros(4, np.int64))),
    (CALLS["partial_embedding_counts"], "first", (-1, 2**63 - 3)),
    (CALLS["partial_embedding_counts"], "block", (-1,)),
    (CALLS["partial_embedding_counts"], "rules", (_core.Rules(True, "worst", False),)),
    (CALLS["partial_embedding_counts"], "filter", ({"indptr": [0, 0], "indices": ZEROS[:0]},)),
    (CALLS["partial_embedding_counts"], "candidates", (RANGES,)),
    (CALLS["rank_embeddings"], "targets", (ZEROS + 3,)),
    (CALLS["rank_embeddings"], "block", (-1,)),
    (CALLS["score_embeddings"], "rows", (ZEROS + 3, SQUARE)),
    (CALLS["score_embeddings"], "targets", ROWS),
    (CALLS["topk"], "rows", (ZEROS + 3,)),
    (CALLS["topk"], "block", (-1,)),
    (CALLS["find_listed"], "targets", ROWS),
    (CALLS["find_listed"], "rows", (ZEROS + 3, ZEROS - 1, np.array([2, 1, 0]))),
    (CALLS["find_listed"], "filter", (RANGES, {"indptr": INDPTR[:3], "indices": ZEROS[:2]})),
    (CALLS["find_listed"], "ids", (RANGES, {"indptr": [0, 2, 1, 3]})),
    (CALLS["find_listed"], "bound", (-1,)),
    (CALLS["grid"], "lefts", IDS),
    (CALLS["grid"], "rights", IDS),
    (CALLS["rank_grid"], "rows", (None,)),
    (CALLS["rank_grid"], "candidates", ({},)),
    (CALLS["rank_grid"], "block", (-1, 2**41)),
    (CALLS["rank_grid"], "filter_left", ({"indptr": [0, 1]},)),
    (CALLS["rank_grid"], "of", [CALLS["grid"](rights=ZEROS[:1] + 1)]),
    (CALLS["rank_grid"], "of", [CALLS["grid"](lefts=ZEROS[:1] + 1)]),
    (CALLS["mean_topk"], "k", (0,)),
    (CALLS["mean_topk"], "block", (-1,)),
    (CALLS["embeddings"], "similarity", ("dots",)),
    (CALLS["embeddings"], "bias", TRUE[:4]),
    (in_file, "offset", (-1, 2**63 - 8)),
    (in_file, "shape", ((-1, 3), (3, -1))),
    (in_file, "strides", ((4, 4), (2**62, 4), (8, 8))),
    (partial(in_file, shape=(2, 1 << 62)), "strides", ((1 << 60, 4),)),
    (partial(_core.Scores, ARRAY, swapped=False), "dtype", ("float64", "float8")),
    (partial(_core.Rules, False, audit=False), "nan", ("never",)),
    (partial(_core.Fault, row=0, column=0, task=0), "kind", ("none",)),
]


@pytest.mark.parametrize(("call", "argument", "values"), WRONG)
def test_access_outside_of_the_arrays_is_refused(
    call: Callable[..., object], argument: str, values: Sequence[Any]
) -> None:
    for value in values:
        with pytest.raises(ValueError):  # noqa: PT011
            call(**{argument: lists(**value) if isinstance(value, dict) else value})


def test_indices_beyond_the_entities_are_not_read() -> None:
    """Of a tile, whose columns have the numbers of a larger matrix."""
    far = {"indptr": [0, 2, 2, 2], "indices": [2, 2**60]}
    none = ZEROS - 1
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"targets": none}, [3, 3, 3]),
        ({"targets": np.array([7, 2**62, -1]), "first": 2**62 - 1}, [3, 2, 3]),
        ({"targets": none, "filter": lists(**far)}, [2, 3, 3]),
        ({"targets": none, "candidates": lists(**far)}, [1, 0, 0]),
    ]
    for arguments, counted in cases:
        assert partial_embedding_counts(**arguments).arrays["candidates"].tolist() == counted


def test_integers_of_other_layouts_are_copied() -> None:
    scores = _core.Scores(np.eye(3, 4, dtype=np.float32), "float32", False)
    raw = b"\0" + np.array([3, 0, 2]).tobytes()
    layouts: list[Any] = [[3, 0, 2], np.array([3, 9, 0, 9, 2, 9])[::2]]
    layouts += [np.array([3, 0, 2], dtype) for dtype in ("i4", "u1", ">i8")]
    for targets in (*layouts, np.frombuffer(raw, np.int64, offset=1)):
        counts = _core.rank(scores, _core.Tasks(None, targets), RULES, 0)
        assert counts.arrays["above"].tolist() == [1, 1, 0]
        assert counts.arrays["tied"].tolist() == [3, 3, 1]


def test_arrays_that_change_are_checked_again() -> None:
    indptr = INDPTR.copy()
    selection = lists(indptr)
    assert rank(filter=selection).fault is None
    indptr[1] = 99
    with pytest.raises(ValueError, match="indptr falls"):
        rank(filter=selection)
    array = ARRAY.copy()
    scores = _core.Scores(array, "float32", False)
    assert rank(scores, targets=ZEROS + 3).fault is None
    for shape in ((4, 3), (2, 2, 3), (12,)):
        array.resize(shape, refcheck=False)
        with pytest.raises(ValueError, match=r"targets|matrix"):
            rank(scores, targets=ZEROS + 3)


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
import warnings
warnings.simplefilter("ignore")  # numpy's, which is imported first
sys.path[:] = {sys.path!r}
try:
    import truerank._core
except ImportError as error:
    print(error, flush=True)
""")
'''


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="modules of CPython")
@pytest.mark.parametrize(("kind", "order"), [("isolated", "first"), ("legacy", "after")])
def test_a_subinterpreter_is_refused(run_python: Run, kind: str, order: str) -> None:
    """pybind11 would wait for ever for the lock of the main interpreter; numpy may be first."""
    message = run_python(SUBINTERPRETER, kind, order, timeout=20)
    assert re.search("subinterpreter|cannot load module more than once per process", message)


# --- the lock of the interpreter


def test_what_is_looked_up_once_is_looked_up_when_the_core_is_loaded(run_python: Run) -> None:
    """pybind11 gives the lock up for it, and takes it in a destructor.

    If Python ends a daemon thread there, it ends the process.
    """
    script = """
import sys
import numpy as np
from truerank import _core
for name in [name for name in sys.modules if name.partition(".")[0] == "numpy"]:
    sys.modules[name] = None  # cannot be imported
assert _core.first_outside(np.array([1, 9]), 5) == 1
assert _core.first_outside([1, 9], 5) == 1
scores = _core.Scores(np.array([[1.0, 3.0, 2.0]]), "float64", False)
tasks = _core.Tasks(None, np.array([2]))
counts = _core.rank(scores, tasks, _core.Rules(False, "raise", False), 1)
assert counts.arrays["above"].tolist() == [1]
pairs = _core.Embeddings(scores, scores, "dot")
ids, best, fault = _core.topk_embeddings(pairs, _core.Tasks(None, None), 2, "raise", 0, 1)
assert (ids.tolist(), best.tolist()[0][0], fault) == ([[0, -1]], 14.0, None)
"""
    run_python(script)


LOCK = re.compile(
    r"\b(?:gil_scoped_\w+|gil_safe_\w+|call_guard|release_gil_\w+|PyGILState_\w+|"
    r"PyEval_\w*Thread|Py_(?:BEGIN|END|UN)?_?(?:ALLOW|BLOCK)_THREADS)\b"
)


def test_the_lock_is_given_up_in_one_place_and_taken_by_no_destructor() -> None:
    """What pybind11 has for it takes the lock in destructors, where Python must end no thread."""
    files = sorted((ROOT / "cpp").rglob("*.[ch]pp"))
    if not files:
        pytest.skip("no sources beside these tests")
    places = []
    for path in files:
        code = re.sub("//.*", "", path.read_text(encoding="utf-8"))
        places += [(path.name, word) for word in sorted(set(re.findall(LOCK, code)))]
    assert places == [("calls.cpp", "PyEval_RestoreThread"), ("calls.cpp", "PyEval_SaveThread")]


# halves of surrogate pairs, blanks at the ends, lengths around those that are hashed at once
TEXTS = st.text(st.characters() | st.sampled_from("ab \t\r\n\0"), max_size=20)
NAMES = st.lists(TEXTS | TEXTS.map(np.str_), max_size=60) | st.lists(st.sampled_from("abc"))
OTHERS = st.sampled_from([0, None, b"a", 1.5, ()])


@given(NAMES, st.booleans())
def test_codes_are_those_of_a_dictionary(names: list[str], in_a_tuple: bool) -> None:
    codes: dict[str, int] = {}
    expected = [codes.setdefault(name, len(codes)) for name in names]
    given_names: Any = names
    if in_a_tuple:
        given_names = tuple(names)
    found, distinct = _core.code_names(given_names)
    assert found.tolist() == expected
    assert distinct == tuple(codes)
    # the first of equal ones, and no copy
    assert all(name is names[expected.index(code)] for code, name in enumerate(distinct))


@pytest.mark.parametrize("size", [3, 1000, 200_000])
def test_many_names_are_told_apart(size: int) -> None:
    """Also those that differ in one character, in tables that grow, and in several batches."""
    names = [f"{i:x}" for i in range(size)]
    shuffled = np.random.default_rng(1).permutation(names).tolist()
    codes, distinct = _core.code_names(shuffled + names)
    assert distinct == tuple(shuffled)
    assert codes[:size].tolist() == list(range(size))
    assert [shuffled[code] for code in codes[size:].tolist()] == names
    assert len(np.unique(_core.name_hashes(names))) == size


def test_a_table_of_names_grows() -> None:
    """Again and again, and each name keeps its number."""
    names = [f"{i:x}" for i in range(5000)]
    table = _core.Names()
    for start in range(0, len(names), 100):
        assert table.add(names[start : start + 100]).tolist() == list(range(start, start + 100))
        assert table.add(names[:start]).tolist() == list(range(start))
    assert table.listed() == tuple(names)


def names_of_one_hash(size: int) -> list[str]:
    """Return names of 16 letters each that are hashed alike: two steps of hash_of cancel out."""
    whole = (1 << 64) - 1

    def state(word: bytes) -> int:
        x = 0x9E3779B97F4A7C15 * 17 & whole ^ int.from_bytes(word, sys.byteorder)
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 & whole
        return (x ^ x >> 32) * 0x9E3779B97F4A7C15 & whole

    sought = state(b"00000000") ^ int.from_bytes(b"11111111", sys.byteorder)
    names = []
    for i in itertools.count():
        start = f"{i:08}".encode()
        end = (state(start) ^ sought).to_bytes(8, sys.byteorder)
        if end.isascii():
            names.append((start + end).decode())
        if len(names) == size:
            return names


def test_names_of_one_hash_are_compared() -> None:
    """Hashes say for certain that names are distinct, and never that they are not."""
    names = names_of_one_hash(5)
    assert len(set(_core.name_hashes(names))) == 1
    codes, distinct = _core.code_names(names + names)
    assert (codes.tolist(), distinct) == ([0, 1, 2, 3, 4] * 2, tuple(names))
    task = tr.retrieval.Task({"q": [names[1]]}, entities=names)
    assert task.evaluate_scores([[4, 5, 3, 2, 1]])["mrr"] == 1
    with pytest.raises(tr.InputValueError, match="twice"):
        tr.retrieval.Task({"q": [names[1]]}, entities=[*names, names[3]])


@given(st.lists(TEXTS | TEXTS.map(np.str_) | OTHERS))
def test_types_are_those_of_a_loop(elements: list[Any]) -> None:
    assert _core.types_of(elements) == set(map(type, elements))
    plain = None
    if all(type(element) is str for element in elements):
        plain = tuple(elements)
    assert _core.plain_names(elements) == plain


@pytest.mark.parametrize("read", [_core.code_names, _core.name_hashes, _core.have_blank_ends])
def test_names_are_str(read: Any) -> None:
    with pytest.raises(TypeError, match="names: expected str"):
        read(["a", 1])
