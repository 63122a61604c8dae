"""Reads the files that options name: arrays, selections and scores."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from ..inputs.arrays import integers
from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input
from ..inputs.npy_files import read_npy, read_npz
from ..ranks.storage import HEADER
from ..stores import Store, open_scores

# Options that say how scores are stored, with the keyword of `open_scores` for each.
STORE_KEYWORDS = {
    "shards": "axis",
    "member": "member",
    "shape": "shape",
    "dtype": "dtype",
    "layout": "layout",
    "offset": "offset",
    "io": "io",
}
AXES = {"rows": 0, "columns": 1}
_MOST_DIGITS = 19  # of an integer of 64 bits; Python refuses to read thousands of them
_SELECTION = ("indptr", "indices", "lists")


def is_file(given: str | Path | None) -> bool:
    """Whether the value of a label option names a file: it is a path or ends in .npy."""
    return isinstance(given, Path) or Path(given or "").suffix == ".npy"


@contextmanager
def errors_naming(argument: str) -> Iterator[None]:
    """Let errors of files name the option that the file was given to."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise OSError(f"{argument}: {error.strerror or error}") from error
        raise OSError(error.errno, error.strerror, f"{argument}: {error.filename}") from error


@contextmanager
def open_option_file(argument: str, path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file for reading, as `open_input` does; errors name the option."""
    with errors_naming(argument), open_input(argument, path) as file:
        yield file


def is_archive(argument: str, path: Path) -> bool:
    """Whether a file is a zip archive, as every .npz is."""
    with open_option_file(argument, path) as file:
        return file.read(4) == b"PK\x03\x04"


def holds_ranks(path: Path) -> bool:
    """Whether SCORES is an archive of ranks, which has its header; other files hold scores."""
    if path.is_dir() or (not path.exists() and glob.has_magic(str(path))):
        return False
    if not is_archive("scores", path):
        return False
    return HEADER in read_npz("scores", path, ())[0]


def open_store(path: Path, options: Mapping[str, Any]) -> Store:
    """Open scores in a file, in the files of a pattern, or in a chunked store."""
    given = {keyword: options[name] for name, keyword in STORE_KEYWORDS.items() if name in options}
    if "axis" in given:
        given["axis"] = AXES[given["axis"]]
    return open_scores(str(path), **given)


def read_array(argument: str, path: Path) -> NDArray[Any]:
    """Open a .npy file as a read-only memory map; pickled objects are refused."""
    with errors_naming(argument):
        return read_npy(argument, path, mapped=True)


@dataclass(frozen=True)
class SavedMatrix:
    """The attributes of a scipy.sparse matrix that `rank` reads."""

    shape: tuple[int, ...]
    indptr: NDArray[Any]
    indices: NDArray[Any]

    def tocsr(self) -> SavedMatrix:
        """Return the matrix itself, which is in CSR format."""
        return self


def read_selection(argument: str, path: Path) -> SavedMatrix | tuple[NDArray[Any], ...]:
    """Read a selection: (indptr, indices), (indptr, indices, lists) or a scipy.sparse matrix."""
    if not is_archive(argument, path):
        raise InputValueError(argument, expected="an .npz with indptr and indices", got=path)
    with errors_naming(argument):
        members, arrays = read_npz(argument, path, (*_SELECTION, "format", "shape"))
    layout, shape = arrays.get("format"), arrays.get("shape")
    if layout is not None and (name := layout.tobytes().replace(b"\0", b"")) != b"csr":
        expected, got = "a scipy.sparse matrix in csr format", name[:20].decode("latin1")
        raise InputValueError(argument, expected=expected, got=got)
    if not {"indptr", "indices"} <= arrays.keys():
        names = ", ".join(members) or "nothing"
        raise InputValueError(argument, expected="members indptr and indices", got=names)
    if layout is not None and shape is not None:
        lengths = integers(f"{argument}: shape", shape, length=2).tolist()
        return SavedMatrix(tuple(lengths), arrays["indptr"], arrays["indices"])
    return tuple(arrays[name] for name in _SELECTION if name in arrays)


def read_candidates(
    argument: str, path: Path
) -> NDArray[Any] | SavedMatrix | tuple[NDArray[Any], ...]:
    """Read one index array for all tasks from a .npy file, or a selection from an .npz file."""
    return (
        read_selection(argument, path) if is_archive(argument, path) else read_array(argument, path)
    )


def read_targets(argument: str, text: str) -> int | NDArray[Any]:
    """Return one column for all tasks, given as a number, or read a .npy file of columns."""
    if not text.isdecimal():
        return read_array(argument, Path(text))
    if len(text) > _MOST_DIGITS:
        expected = f"a number of at most {_MOST_DIGITS} digits, or a .npy file"
        raise InputValueError(argument, expected=expected, got=f"one of {len(text):,} digits")
    return int(text)


COUNT_READERS: dict[str, Callable[[str, Any], Any]] = {
    "filter": read_selection,
    "rows": read_array,
    "candidates": read_candidates,
}
