"""The compiled core. Its functions are the package's own: they may change at any time."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Int64 = npt.NDArray[np.int64]
_Selection = tuple[_Int64, npt.NDArray[np.int32] | _Int64, _Int64 | None, bool]

__version__: str
compiler: str

def isa() -> str: ...
def isas() -> list[str]: ...
def openmp() -> bool: ...
def default_threads() -> int: ...
def rank(
    scores: npt.NDArray[np.generic],
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
def check_lists(
    indptr: _Int64, indices: npt.NDArray[np.int32] | _Int64, bound: int, threads: int
) -> tuple[int, bool]: ...
def sorted_lists(
    indptr: _Int64, indices: npt.NDArray[np.int32] | _Int64, bound: int, threads: int
) -> tuple[_Int64, npt.NDArray[np.int32] | _Int64]: ...
