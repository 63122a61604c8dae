"""A path that names no regular file is refused wherever a path is opened, without a wait."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.interruptions import refusing_to_wait
from support.refusals import refusal
from truerank import alignment, link_prediction
from truerank.arrays.input_files import open_input, report_damage

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")


@pytest.fixture(autouse=True)
def in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Go to an empty folder, and fail a test that waits for somebody to write to a pipe."""
    monkeypatch.chdir(tmp_path)
    with refusing_to_wait():
        yield


def make_socket(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(name)


KINDS: dict[str, Callable[[str], None]] = {
    "folder": os.mkdir,
    "pipe": lambda name: os.mkfifo(name),
    "socket": make_socket,
    "device": lambda name: os.symlink("/dev/zero", name),
}
SCORES = np.zeros((2, 3))


def checkpointed(path: str) -> None:
    """Let the file appear after the check of the path, before a checkpoint is read."""
    task = {"progress": lambda _: None, "checkpoint": path}
    tr.rank(SCORES, [0, 1], **task)


DOORS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "scores": ("x.npy", tr.open_scores),
    "scores of rank": ("x.npz", lambda path: tr.rank(path, [0])),
    "ranks": ("x.npz", tr.load),
    "a checkpoint": ("x", checkpointed),
    "triples as text": ("x.tsv", link_prediction.read_triples),
    "known triples": ("x", lambda path: link_prediction.Task([(0, 0, 1)], {"train": path})),
    "OpenEA": ("ent_ids_1", lambda path: alignment.read_openea(os.getcwd())),
}


@pytest.mark.parametrize(
    "kind", ["folder", *(pytest.param(kind, marks=posix) for kind in KINDS if kind != "folder")]
)
@pytest.mark.parametrize(("name", "opened"), DOORS.values(), ids=DOORS)
def test_doors(kind: str, name: str, opened: Callable[[str], Any]) -> None:
    KINDS[kind](name)
    words = "." if kind == "folder" else "expected a regular file"
    assert name in refusal((OSError, ValueError), words, opened, name)


@pytest.mark.python_only
def test_names_of_files() -> None:
    for name in ("a\0b", b"a\0b"):
        with pytest.raises(ValueError, match="a regular file"), open_input("path", name):
            pass
    with pytest.raises(FileNotFoundError, match="'absent'"), open_input("path", "absent"):
        pass
    Path("file").write_bytes(b"content")
    Path("link").symlink_to("file")
    for name in ("link", b"link", Path("link")):
        with open_input("path", name) as file:
            assert file.read() == b"content"
        assert file.closed


@pytest.mark.python_only
def test_damage_is_one_kind_of_error() -> None:
    with (
        pytest.raises(ValueError, match=r"^path: x: it is odd: 3"),
        report_damage("path", "x", "it is odd: "),
    ):
        raise LookupError(3)
    for passed in (MemoryError(), OSError(5, "the disk"), tr.InputValueError("rows", "other")):
        with pytest.raises(type(passed)) as caught, report_damage("path"):
            raise passed
        assert caught.value is passed
