"""Several files of a folder, written whole: all of them, or none."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Mapping


def write_files(folder: str, files: Mapping[str, Iterable[str]], *, overwrite: bool) -> None:
    """Write files of lines into a folder, which is made if it is not there.

    All are written under temporary names, synced, and moved at the end. After an error, what was
    there is there as before, and nothing else. (Should the system refuse to move some files over
    others after it has moved the first, those are new and the rest is old, each whole.)

    Parameters
    ----------
    folder : str
    files : dict of str to iterable of str
        By name, perhaps in folders within: the lines, without their ends.
    overwrite : bool
        Whether files that are there are replaced.

    Raises
    ------
    FileExistsError
        If a file is there, unless it is to be overwritten; in any case, if that is no regular file.
    OSError
        If a folder or file cannot be written, or the disk is full.
    """
    places = {name: os.path.join(folder, name) for name in files}
    for path in places.values():
        if os.path.lexists(path) and not (overwrite and os.path.isfile(path)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    made: list[str] = []
    written: dict[str, str] = {}
    placed: list[str] = []
    try:
        for name, path in places.items():
            _make_folders(os.path.dirname(path), made)
            temporary = os.path.join(os.path.dirname(path), f".truerank-{os.urandom(8).hex()}.tmp")
            written[temporary] = path
            with open(temporary, "x", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in files[name])
                file.flush()
                os.fsync(file.fileno())
        for temporary, path in written.items():
            new = not os.path.lexists(path)
            os.replace(temporary, path)
            if new:
                placed.append(path)
    except BaseException:
        for path in (*written, *placed):
            with contextlib.suppress(OSError):
                os.unlink(path)
        for path in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(path)
        raise


def _make_folders(path: str, made: list[str]) -> None:
    """Make a folder and those above it, and remember which were new."""
    if path and not os.path.isdir(path):
        _make_folders(os.path.dirname(path), made)
        os.mkdir(path)
        made.append(path)
