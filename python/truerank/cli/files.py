"""Files that the command line reads: arrays, selections, labels; bad ones are errors in words."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive, as every .npz is."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def read_array(argument: str, path: Path) -> NDArray[Any]:
    """A .npy file as a read-only memory map; pickles are refused."""
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{argument}: expected a .npy file, got {path}")
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{argument}: cannot read {path}: {error}") from error
    return array


@dataclass(frozen=True)
class SavedMatrix:
    """What `rank` looks at in a matrix of scipy.sparse."""

    shape: tuple[int, ...]
    indptr: NDArray[Any]
    indices: NDArray[Any]

    def tocsr(self) -> SavedMatrix:
        """It is one."""
        return self


def read_selection(argument: str, path: Path) -> SavedMatrix | tuple[NDArray[Any], ...]:
    """(indptr, indices) or (indptr, indices, lists), or what scipy.sparse.save_npz wrote."""
    if not is_archive(path):
        raise ValueError(f"{argument}: expected an .npz with indptr and indices, got {path}")
    try:
        # opened here: numpy leaves the file open where it is damaged
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            members = archive.files
            wanted = ("indptr", "indices", "lists", "format", "shape")
            arrays = {name: archive[name] for name in wanted if name in members}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{argument}: cannot read {path}: {error}") from error
    if "format" in arrays and (layout := arrays["format"].astype(str).item()) != "csr":
        raise ValueError(f"{argument}: expected a scipy.sparse matrix in csr format, got {layout}")
    if not {"indptr", "indices"} <= arrays.keys():
        names = ", ".join(members) or "nothing"
        raise ValueError(f"{argument}: expected members indptr and indices, got {names}")
    if {"format", "shape"} <= arrays.keys():
        shape = tuple(arrays["shape"].tolist())
        return SavedMatrix(shape, arrays["indptr"], arrays["indices"])
    return tuple(arrays[name] for name in wanted[:3] if name in arrays)


def read_candidates(
    argument: str, path: Path
) -> NDArray[Any] | SavedMatrix | tuple[NDArray[Any], ...]:
    """One index array for all tasks from a .npy, or a selection from an .npz."""
    return read_selection(argument, path) if is_archive(path) else read_array(argument, path)


def read_targets(argument: str, text: str) -> int | NDArray[Any]:
    """One column for all tasks, written out, or a .npy file of columns."""
    return int(text) if text.isdecimal() else read_array(argument, Path(text))


READERS: dict[str, Callable[[str, Any], Any]] = {
    "filter": read_selection,
    "rows": read_array,
    "candidates": read_candidates,
}


def read_labels(argument: str, text: str, names: Collection[str]) -> str | NDArray[Any]:
    """The name of labels that the ranks carry, or a .npy file with one label for each task."""
    return text if text in names else read_array(argument, Path(text))
