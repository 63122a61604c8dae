"""Files that the command line reads: arrays, selections, scores; bad ones are errors in words."""

from __future__ import annotations

import glob
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..inputs.errors import InputValueError, renamed
from ..stores import Store, open_scores

# Options that say how scores are stored, and the keywords of `open_scores` that they are.
STORE_KEYWORDS = {
    "shards": "axis",
    "member": "member",
    "shape": "shape",
    "dtype": "dtype",
    "layout": "order",
    "offset": "offset",
    "io": "io",
}
AXES = {"rows": 0, "columns": 1}


def is_file(given: str | Path | None) -> bool:
    """Whether an option of labels names a file: all paths do, of words those in .npy."""
    return isinstance(given, Path) or Path(given or "").suffix == ".npy"


@contextmanager
def errors_naming(argument: str) -> Iterator[None]:
    """Let errors of files say which option named them."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise OSError(f"{argument}: {error.strerror or error}") from error
        raise OSError(error.errno, error.strerror, f"{argument}: {error.filename}") from error


def open_regular_file(argument: str, path: Path) -> BinaryIO:
    """A file to be read; it is read more than once, and a pipe would block."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputValueError(argument, f"{path}: expected a regular file")
    with errors_naming(argument):
        return path.open("rb")


def is_archive(argument: str, path: Path) -> bool:
    """Whether a file is a zip archive, as every .npz is."""
    with open_regular_file(argument, path) as file:
        return file.read(4) == b"PK\x03\x04"


def holds_ranks(path: Path) -> bool:
    """Whether SCORES is an archive with a member `kind`, as ours have; all others hold scores."""
    if path.is_dir() or (not path.exists() and glob.has_magic(str(path))):
        return False
    if not is_archive("scores", path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "kind.npy" in archive.namelist()
    except zipfile.BadZipFile as error:
        raise InputValueError("scores", f"{path}: the archive is damaged: {error}") from error


def open_store(path: Path, options: Mapping[str, Any]) -> Store:
    """Scores in a file, in the files of a pattern, or in chunks."""
    given = {keyword: options[name] for name, keyword in STORE_KEYWORDS.items() if name in options}
    if "axis" in given:
        given["axis"] = AXES[given["axis"]]
    with renamed(order="--layout"):
        return open_scores(str(path), **given)


def read_array(argument: str, path: Path) -> NDArray[Any]:
    """A .npy file as a read-only memory map; pickles are refused."""
    with open_regular_file(argument, path) as file:
        if file.read(6) != b"\x93NUMPY":
            raise InputValueError(argument, expected="a .npy file", got=path)
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputValueError(argument, f"cannot read {path}: {error}") from error
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
    if not is_archive(argument, path):
        raise InputValueError(argument, expected="an .npz with indptr and indices", got=path)
    try:
        # opened here: numpy leaves the file open where it is damaged
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            members = archive.files
            names_read = ("indptr", "indices", "lists", "format", "shape")
            arrays = {name: archive[name] for name in names_read if name in members}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputValueError(argument, f"cannot read {path}: {error}") from error
    if "format" in arrays and (layout := arrays["format"].astype(str).item()) != "csr":
        raise InputValueError(argument, expected="a scipy.sparse matrix in csr format", got=layout)
    if not {"indptr", "indices"} <= arrays.keys():
        names = ", ".join(members) or "nothing"
        raise InputValueError(argument, expected="members indptr and indices", got=names)
    if {"format", "shape"} <= arrays.keys():
        shape = tuple(arrays["shape"].tolist())
        return SavedMatrix(shape, arrays["indptr"], arrays["indices"])
    return tuple(arrays[name] for name in names_read[:3] if name in arrays)


def read_candidates(
    argument: str, path: Path
) -> NDArray[Any] | SavedMatrix | tuple[NDArray[Any], ...]:
    """One index array for all tasks from a .npy, or a selection from an .npz."""
    return (
        read_selection(argument, path) if is_archive(argument, path) else read_array(argument, path)
    )


def read_targets(argument: str, text: str) -> int | NDArray[Any]:
    """One column for all tasks, written out, or a .npy file of columns."""
    return int(text) if text.isdecimal() else read_array(argument, Path(text))


COUNT_READERS: dict[str, Callable[[str, Any], Any]] = {
    "filter": read_selection,
    "rows": read_array,
    "candidates": read_candidates,
}
