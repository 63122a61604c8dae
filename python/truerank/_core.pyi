"""The compiled core. Its functions are the package's own: they may change at any time."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Int64 = npt.NDArray[np.int64]
_Selection = tuple[_Int64, npt.NDArray[np.int32] | _Int64 | None, _Int64 | None, bool]
_Scores = npt.NDArray[Any] | tuple[Any, ...]
_Vectors = tuple[npt.NDArray[Any], str, bool]
_Pairs = tuple[
    _Vectors,
    _Vectors,
    str,
    npt.NDArray[Any] | None,
    tuple[npt.NDArray[Any], npt.NDArray[Any]] | None,
]

__version__: str
compiler: str

def isa() -> str: ...
def isas() -> list[str]: ...
def openmp() -> bool: ...
def default_threads() -> int: ...
def rank(
    scores: _Scores,
    dtype: str,
    swapped: bool,
    rows: _Int64 | None,
    targets: _Int64,
    filter: _Selection | None,
    candidates: _Selection | None,
    ascending: bool,
    nan: str,
    audit: bool,
    threads: int,
) -> tuple[Any, ...]: ...
def count_part(
    scores: _Scores,
    dtype: str,
    swapped: bool,
    rows: _Int64 | None,
    targets: _Int64,
    truths: npt.NDArray[Any],
    first_column: int,
    filter: _Selection | None,
    candidates: _Selection | None,
    ascending: bool,
    nan: str,
    audit: bool,
    threads: int,
) -> tuple[Any, ...]: ...
def rank_embeddings(
    pairs: _Pairs,
    rows: _Int64 | None,
    targets: _Int64,
    filter: _Selection | None,
    candidates: _Selection | None,
    nan: str,
    audit: bool,
    block: int,
    threads: int,
) -> tuple[Any, ...]: ...
def score_embeddings(
    pairs: _Pairs,
    rows: _Int64 | None,
    targets: _Int64 | None,
    threads: int,
) -> npt.NDArray[Any]: ...
def topk_embeddings(
    pairs: _Pairs,
    rows: _Int64 | None,
    k: int,
    filter: _Selection | None,
    candidates: _Selection | None,
    nan: str,
    held: tuple[npt.NDArray[Any], _Int64] | None,
    block: int,
    threads: int,
) -> tuple[_Int64, npt.NDArray[Any], tuple[Any, ...] | None]: ...
def rank_grid(
    pairs: _Pairs,
    left: _Int64,
    right: _Int64,
    rows: _Int64,
    targets: _Int64,
    filter_right: _Selection | None,
    filter_left: _Selection | None,
    nan: str,
    block: int,
    threads: int,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]: ...
def mean_best(
    pairs: _Pairs, left: _Int64, right: _Int64, k: int, nan: str, block: int, threads: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[Any, ...] | None]: ...
def reads_whole_rows(scores: tuple[Any, ...], dtype: str) -> bool: ...
def can_read_files() -> bool: ...
def first_absent(selection: _Selection, columns: _Int64) -> int: ...
def keys(scores: npt.NDArray[Any], dtype: str) -> tuple[_Int64, int, int, bool]: ...
def read_pass(array: npt.NDArray[Any], threads: int) -> int: ...
def check_lists(
    indptr: _Int64, indices: npt.NDArray[np.int32] | _Int64, bound: int, threads: int
) -> tuple[int, bool]: ...
def sorted_lists(
    indptr: _Int64, indices: npt.NDArray[np.int32] | _Int64, bound: int, threads: int
) -> tuple[_Int64, npt.NDArray[np.int32] | _Int64]: ...
