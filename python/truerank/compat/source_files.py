"""Opens files of other toolkits without running code in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.naming import import_extra
from ..ranks.archives import report_damage

_PICKLE_HINT = "pickle=True reads it, and runs whatever code it holds"
# words in the errors of numpy, its memory maps and torch for a file that needs unpickling
_PICKLE_ERRORS = ("allow_pickle", "Python objects", "Weights only")


def load_source(source: Any, *, pickle: bool = False) -> Any:
    """Load the content of a file; anything but a path is returned as it is.

    Parameters
    ----------
    source : path or anything else
        A ``.npy`` file (as a memory map), ``.npz``, ``.pt``, ``.pth``, ``.pkl`` or ``.pickle``.
    pickle : bool
        Whether a file may run code while it is read.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        For another suffix, and for a file that needs `pickle` or is broken.

    Examples
    --------
    >>> load_source([0.5])
    [0.5]
    """
    if not isinstance(source, (str, os.PathLike)):
        return source
    path = Path(source)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        raise InputValueError("source", expected=f"one of {known}", got=repr(os.fspath(path)))
    if not path.is_file():
        raise FileNotFoundError(f"source: there is no file {os.fspath(path)}")
    return reader(path, pickle)


def _read_errors(path: Path) -> AbstractContextManager[None]:
    return report_damage(f"source: {path} cannot be read", _reason)


def _reason(error: Exception) -> str:
    message = str(error) or type(error).__name__
    if any(words in message for words in _PICKLE_ERRORS):
        return f"it is damaged, or holds more than plain arrays; {_PICKLE_HINT}"
    return message.splitlines()[0]


def _load_npy(path: Path, pickle: bool) -> Any:
    with _read_errors(path):
        return np.load(path, mmap_mode=None if pickle else "r", allow_pickle=pickle)


def _load_npz(path: Path, pickle: bool) -> Any:
    with _read_errors(path), path.open("rb") as file, np.load(file, allow_pickle=pickle) as found:
        return {name: found[name] for name in found.files}


def _load_torch(path: Path, pickle: bool) -> Any:
    torch = import_extra("torch", f"reading {path.name}", "torchmetrics")
    with _read_errors(path):
        return torch.load(path, map_location="cpu", weights_only=not pickle)


def _load_pickle(path: Path, pickle: bool) -> Any:
    if not pickle:
        raise InputValueError("source", f"{path} is a pickle; {_PICKLE_HINT}")
    import pickle as pickles

    with _read_errors(path), path.open("rb") as file:
        return pickles.load(file)


_READERS: dict[str, Callable[[Path, bool], Any]] = {
    ".npy": _load_npy,
    ".npz": _load_npz,
    ".pt": _load_torch,
    ".pth": _load_torch,
    ".pkl": _load_pickle,
    ".pickle": _load_pickle,
}
