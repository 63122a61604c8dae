"""Reads the files that the command line names, and keeps those from being written over."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from ..arrays.input_files import open_input, report_damage
from ..arrays.npy_files import is_npy, read_npy, read_npz
from ..arrays.writing import writable_place
from ..errors import InputValueError
from ..ranks.storage import HEADER
from ..stores import Store, open_scores

# The context of a command lists under this name the files that the command reads.
_FILES = "truerank.files"
_SELECTION = ("indptr", "indices", "lists")
_DIGITS = 20  # Any number of so many digits is beyond the largest that an array holds.


def note_file(path: object) -> str:
    """Remember a file that a command reads, and return its name."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(_FILES, []).append(str(path))
    return str(path)


def files_read() -> list[str]:
    """Return the files that the command reads, each once."""
    return list(dict.fromkeys(click.get_current_context().meta.get(_FILES, [])))


def check_outputs(force: bool = False, **paths: Path | None) -> None:
    """Raise an error if an output cannot be written, or would replace a file.

    With `force` files are replaced, but neither an input nor another output. It is called before
    anything is counted, which may take long.
    """
    taken = files_read()
    for name, path in paths.items():
        if path is None:
            continue
        place, replaced = writable_place(path, f"--{name}")
        folder = os.path.dirname(place)
        if not os.access(folder, os.W_OK):
            raise InputValueError(f"--{name}", expected="a folder to write into", got=folder)
        for file in map(os.path.realpath, taken):
            both_exist = os.path.exists(place) and os.path.exists(file)
            is_same = both_exist and os.path.samefile(place, file)
            if is_same or Path(place).is_relative_to(file):
                raise InputValueError(f"--{name}", f"{path} is one of the other files of this line")
        if replaced is not None and not force:
            raise InputValueError(f"--{name}", f"{path} is there already; --force replaces it")
        taken.append(place)


# -- arrays ----------------------------------------------------------------------------------------


def read_array(argument: str, path: str) -> NDArray[Any]:
    """Open a .npy file as a read-only memory map; pickled objects are refused."""
    return read_npy(argument, note_file(path), mapped=True)


def read_selection(argument: str, path: str) -> tuple[NDArray[Any], ...]:
    """Read a selection: (indptr, indices) or (indptr, indices, lists), or those of a CSR matrix."""
    members, arrays = read_npz(argument, note_file(path), (*_SELECTION, "format"))
    if "format" in arrays:  # scipy.sparse saved this matrix.
        layout = arrays["format"].tobytes().replace(b"\0", b"")
        if layout != b"csr":
            expected = "a scipy.sparse matrix in csr format"
            got = layout[:20].decode("latin1")
            raise InputValueError(argument, expected=expected, got=got)
    if not {"indptr", "indices"} <= arrays.keys():
        names = ", ".join(members) or "nothing"
        raise InputValueError(argument, expected="members indptr and indices", got=names)
    return tuple(arrays[name] for name in _SELECTION if name in arrays)


def read_candidates(argument: str, text: str) -> Any:
    """Return a number of candidates, or read a selection, columns for all tasks, or names."""
    if text.isascii() and text.isdecimal():
        return _number(argument, text)
    readers = {".npz": read_selection, ".npy": read_array}
    return readers.get(Path(text).suffix.lower(), read_names)(argument, text)


def read_columns(argument: str, text: str) -> int | NDArray[Any]:
    """Return a number as it is, or read the numbers in a .npy file."""
    if text.isascii() and text.isdecimal():
        return _number(argument, text)
    return read_array(argument, text)


def _number(argument: str, text: str) -> int:
    number = int(text.lstrip("0")[:_DIGITS] or "0")
    if number >> 63:
        raise InputValueError(argument, expected="a number below 2**63", got=text)
    return number


def read_label(argument: str, text: str) -> str | NDArray[Any]:
    """Return a word as it is, or read what a .npy file has for each task."""
    if is_npy(text):
        return read_array(argument, text)
    return text


# -- text ------------------------------------------------------------------------------------------


def read_names(argument: str, path: str) -> Sequence[str] | Sequence[int]:
    """Read labels in the order of their ids."""
    from ..records.vocabularies import Vocabulary, read_labels  # Scores alone do not need them.

    note_file(path)
    order: Sequence[Any] = read_labels(argument, path)
    number_of: dict[str | int, int] = {}
    for number, label in enumerate(order, 1):
        if number_of.setdefault(label, number) != number:
            problem = f"labels {number_of[label]} and {number} are both {label!r}"
            raise InputValueError(argument, problem, place=path)
    names = Vocabulary.read(f"{argument}: {path}", order).names
    return names or ()


# -- scores and ranks ------------------------------------------------------------------------------


def open_store(path: str, **keywords: Any) -> Store:
    """Open scores in a file, or in the files of a pattern, for this command."""
    store = open_scores(path, **keywords)
    for file in store.files:
        note_file(file)
    return store


def holds_ranks(path: str) -> bool:
    """Return whether a file is an archive of ranks, not of scores."""
    if not os.path.exists(path) or os.path.isdir(path):
        return False
    with open_input("scores", path) as file:
        is_archive = file.read(4) == b"PK\3\4"
    return is_archive and HEADER in read_npz("scores", path, ())[0]


def archive_kind(argument: str, path: str) -> str:
    """Return what an archive of truerank says it holds, as "truerank.ranks"; empty for others."""
    _, arrays = read_npz(argument, path, (HEADER,), compressed=False)
    if HEADER not in arrays:
        return ""
    with report_damage(argument, path, "damaged header: "):
        kind = json.loads(arrays[HEADER].tobytes())["kind"]
    return str(kind)


def model_names(paths: Sequence[str]) -> list[str]:
    """Name models by their files without the suffix, or by whole paths if two would be equal."""
    stems = [Path(path).stem for path in paths]
    if len(set(stems)) < len(stems):
        return list(paths)
    return stems
