"""The compiled core. It is private, and may change at any time.

Every call checks only what memory safety depends on. The Python layer checks everything else, and
writes the messages that users see.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]
_Indices = _Int32 | _Int64
_Kind = Literal["target", "nan", "nan_true_score"]

__version__: str
compiler: str
similarities: tuple[str, ...]

def isa() -> str: ...
def isas() -> list[str]: ...
def bounds() -> str: ...
def bounds_choices() -> list[str]: ...
def bounds_tally() -> tuple[int, int, int, int]: ...
def choose_bounds(name: str) -> bool: ...
def value_thresholds(
    similarity: str,
    wide: bool,
    length: int,
    score: float,
    largest_bias: float,
    means: tuple[float, float] | None,
) -> tuple[float, float, float]: ...
def openmp() -> bool: ...
def default_threads() -> int: ...
def use_default_arithmetic() -> int: ...
def restore_arithmetic(before: int) -> None: ...

@final
class Listener:
    """Hears how far a call has come: (done, total)."""

    def __init__(self, hear: Callable[[int, int], object], seconds: float) -> None: ...

@final
class Scores:
    """Scores or vectors in memory, in any layout; an array of one dimension is one row."""

    def __init__(self, array: _Array, dtype: str, swapped: bool) -> None: ...
    @property
    def array(self) -> _Array: ...
    @property
    def dtype(self) -> str: ...
    @property
    def swapped(self) -> bool: ...
    @property
    def T(self) -> Scores: ...
    def with_array(self, array: _Array) -> Scores: ...
    def keys(self) -> tuple[_Int64, int, int, bool]: ...

@final
class FileScores:
    """Scores in an open file. Strides are in bytes, and one of them is the size of a score."""

    def __init__(
        self,
        descriptor: int,
        offset: int,
        shape: tuple[int, int],
        strides: tuple[int, int],
        name: str,
        dtype: str,
        swapped: bool,
    ) -> None: ...
    @property
    def T(self) -> FileScores: ...
    @property
    def reads_whole_rows(self) -> bool: ...

@final
class Selection:
    """Lists of columns: a filter, or candidates."""

    def __init__(
        self, indptr: _Int64, indices: _Indices, lists: _Int64 | None = None, shared: bool = False
    ) -> None: ...
    @staticmethod
    def of_ranges(indptr: _Int64, lists: _Int64 | None = None) -> Selection: ...
    @property
    def indptr(self) -> _Int64: ...
    @property
    def indices(self) -> _Indices: ...
    @property
    def lists(self) -> _Int64 | None: ...
    @property
    def shared(self) -> bool: ...
    def first_task_without(self, columns: _Int64) -> int: ...
    def check(self, bound: int, threads: int) -> tuple[int, bool]: ...
    def sorted_copy(self, bound: int, threads: int) -> Selection: ...

@final
class IntegerTable:
    """Finds integers among others."""

    def __init__(self, values: _Indices, expected: int) -> None: ...
    def find(self, sought: _Indices) -> _Int64: ...
    def contains(self, sought: _Indices) -> npt.NDArray[np.bool_]: ...
    def look_up(self, sought: _Indices) -> tuple[_Int64, _Int64]: ...

def range_of(values: _Indices) -> tuple[int, int]: ...
def first_outside(values: _Int64, bound: int) -> int: ...
def find_listed(
    lists: Selection,
    bound: int,
    task_lists: _Int64,
    targets: _Int64,
    filter: Selection | None,
    threads: int,
) -> tuple[tuple[int, int] | None, dict[str, _Int64]]: ...
def codes_among(names: Sequence[Any], among: Sequence[str]) -> _Int64: ...
def code_names(names: Sequence[str]) -> tuple[_Int64, tuple[str, ...]]: ...
def plain_names(names: Sequence[Any]) -> tuple[str, ...] | None: ...
def name_hashes(names: Sequence[str], bare: bool = False) -> npt.NDArray[np.uint64]: ...
def have_blank_ends(names: Sequence[str]) -> bool: ...
def types_of(elements: Sequence[Any]) -> set[type]: ...

@final
class Names:
    """Distinct names, numbered in the order in which they first occur."""

    def __init__(self) -> None: ...
    def add(self, names: Sequence[str]) -> _Int32: ...
    def listed(self) -> tuple[str, ...]: ...
    def __len__(self) -> int: ...

@final
class RowForm:
    """Which fields of a row are what, counted from 0."""

    def __init__(
        self,
        width: int,
        names: Sequence[int],
        needed: int,
        value: int | None = None,
        tabs: bool = False,
        tab_lines: bool = False,
    ) -> None: ...

def read_rows(
    text: str, form: RowForm, tables: Sequence[Names]
) -> tuple[tuple[int, str] | None, list[_Int32], npt.NDArray[np.float64]]: ...

@final
class Tasks:
    """The row of each task (None: task i reads row i), its target, and which columns count."""

    def __init__(
        self,
        rows: _Int64 | None,
        targets: _Int64 | None,
        filter: Selection | None = None,
        candidates: Selection | None = None,
    ) -> None: ...

@final
class Rules:
    """How scores are compared and what is counted."""

    def __init__(self, ascending: bool, nan: str, audit: bool) -> None: ...
    @property
    def ascending(self) -> bool: ...
    @property
    def nan(self) -> str: ...
    @property
    def audit(self) -> bool: ...

@final
class Fault:
    """What made counts void: a target that is no candidate, a NaN, a true score that is NaN."""

    def __init__(self, kind: _Kind, task: int, row: int, column: int) -> None: ...
    @property
    def kind(self) -> _Kind: ...
    @property
    def task(self) -> int: ...
    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...

@final
class Counts:
    """Counts by name: arrays of one integer for each task."""

    @property
    def arrays(self) -> dict[str, _Int64]: ...
    @property
    def fault(self) -> Fault | None: ...
    @property
    def may_be_masked(self) -> bool: ...

def rank(scores: Scores | FileScores, tasks: Tasks, rules: Rules, threads: int) -> Counts: ...
def partial_counts(
    scores: Scores | FileScores,
    tasks: Tasks,
    true_scores: _Array,
    first_column: int,
    rules: Rules,
    threads: int,
    counted: dict[str, _Int64] | None = None,
) -> Counts: ...

@final
class Embeddings:
    """Vectors, and how a query and an entity are scored."""

    def __init__(
        self,
        queries: Scores,
        entities: Scores,
        similarity: str,
        bias: _Array | None = None,
        means: tuple[_Array, _Array] | None = None,
        tokens: tuple[_Int64, _Int64] | None = None,
    ) -> None: ...

def rank_embeddings(
    embeddings: Embeddings,
    tasks: Tasks,
    rules: Rules,
    block: int,
    threads: int,
    listener: Listener | None = None,
) -> Counts: ...
def partial_embedding_counts(
    embeddings: Embeddings,
    tasks: Tasks,
    true_scores: _Array,
    first_column: int,
    rules: Rules,
    block: int,
    threads: int,
    listener: Listener | None = None,
) -> Counts: ...
def score_embeddings(
    embeddings: Embeddings, rows: _Int64 | None, targets: _Int64 | None, threads: int
) -> _Array: ...
def topk_embeddings(
    embeddings: Embeddings,
    tasks: Tasks,
    k: int,
    nan: str,
    block: int,
    threads: int,
    listener: Listener | None = None,
) -> tuple[_Int64, _Array, Fault | None]: ...

@final
class Grid:
    """Embeddings, and which queries and entities take part."""

    def __init__(self, embeddings: Embeddings, left: _Int64, right: _Int64) -> None: ...

def rank_grid(
    grid: Grid,
    tasks: Tasks,
    filter_left: Selection | None,
    nan: str,
    block: int,
    threads: int,
    listener: Listener | None = None,
) -> tuple[Counts, Counts]: ...
def mean_topk(
    grid: Grid, k: int, nan: str, block: int, threads: int, listener: Listener | None = None
) -> tuple[_Array, _Array, Fault | None]: ...
