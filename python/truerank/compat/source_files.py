"""Opens files of other toolkits without running code in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input, report_damage
from ..inputs.naming import import_extra
from ..inputs.npy_files import read_npy, read_npz

_PICKLE_HINT = "pickle=True reads it, and runs whatever code it holds"
_PICKLE_ERRORS = ("Weights only",)  # words in torch's errors for a file that needs unpickling


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
    return reader(path, pickle)


def _read_errors(path: Path) -> AbstractContextManager[None]:
    return report_damage("source", _reason, place=str(path))


def _reason(error: Exception) -> str:
    message = str(error) or type(error).__name__
    if any(words in message for words in _PICKLE_ERRORS):
        return f"it is damaged, or holds more than plain arrays; {_PICKLE_HINT}"
    return f"it cannot be read: {message.splitlines()[0]}"


def _load_npy(path: Path, pickle: bool) -> Any:
    if not pickle:
        return read_npy("source", path, mapped=True, hint=_PICKLE_HINT)
    with open_input("source", path) as file, _read_errors(path):
        return np.load(file, allow_pickle=True)


def _load_npz(path: Path, pickle: bool) -> Any:
    if not pickle:
        return read_npz("source", path, hint=_PICKLE_HINT)[1]
    with (
        open_input("source", path) as file,
        _read_errors(path),
        np.load(file, allow_pickle=True) as found,
    ):
        return {name: found[name] for name in found.files}


def _load_torch(path: Path, pickle: bool) -> Any:
    torch = import_extra("torch", f"reading {path.name}", "torchmetrics")
    with open_input("source", path) as file, _read_errors(path):
        return torch.load(file, map_location="cpu", weights_only=not pickle)


def _load_pickle(path: Path, pickle: bool) -> Any:
    if not pickle:
        raise InputValueError("source", f"{path} is a pickle; {_PICKLE_HINT}")
    import pickle as pickles

    with open_input("source", path) as file, _read_errors(path):
        return pickles.load(file)


_READERS: dict[str, Callable[[Path, bool], Any]] = {
    ".npy": _load_npy,
    ".npz": _load_npz,
    ".pt": _load_torch,
    ".pth": _load_torch,
    ".pkl": _load_pickle,
    ".pickle": _load_pickle,
}
