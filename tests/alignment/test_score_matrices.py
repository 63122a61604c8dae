"""Both directions counted from a matrix, in memory and in files, against the slow twin."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.alignments import NAN_RULES, alignments, matrices
from strategies.stored import Stored, open_stored, stored
from support.alignment_runs import SIMILARITIES, TILES, check, same, saved, task_of
from support.examples import examples
from support.interruptions import allocating_at_most
from support.problems import LAYOUTS
from support.refusals import refusal
from truerank.alignment import Task
from truerank.inputs.array_likes import as_scores
from truerank.stores import Tile
from truerank.stores.store import ArrayStore

KEPT = [name for name in LAYOUTS if not name.endswith("for all")]


@given(st.data(), stored(), st.booleans())
@examples(150)
def test_matrices(data: st.DataObject, way: Stored, in_memory: bool) -> None:
    """Matrices in memory or files of any layout are counted in tiles of any size."""
    drawn = data.draw(alignments())
    scores = data.draw(matrices(drawn.sizes))
    rules = {
        "order": data.draw(st.sampled_from(["descending", "ascending"])),
        "nan": data.draw(st.sampled_from(NAN_RULES)),
        "audit": data.draw(st.booleans()),
    }
    options: dict[str, Any] = {"threads": data.draw(st.sampled_from([1, 2])), **rules}
    most = data.draw(st.sampled_from([1, 8, 40, 1 << 20]))
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as folder,
        ExitStack() as stack,
    ):
        for module, name in TILES:
            patch.setattr(module, name, most)
        if in_memory:
            shaped: Any = LAYOUTS[data.draw(st.sampled_from(KEPT))](scores)
        else:
            options["io"] = data.draw(st.sampled_from(["map", "read"]))
            shaped = open_stored(way, Path(folder), scores, None, stack)
        check(drawn, lambda: drawn.task().evaluate_scores(shaped, **options), scores, None, **rules)


def test_what_is_stored_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in TILES:
        monkeypatch.setattr(module, name, 400)
    times_read = np.zeros((40, 30), int)

    class Watched(ArrayStore):
        def core_block(self, tile: Tile, io: str) -> AbstractContextManager[Any]:
            rows = slice(tile.top, tile.top + tile.height)
            times_read[rows, tile.left : tile.left + tile.width] += 1
            return super().core_block(tile, io)

    scores = np.random.default_rng(0).random((40, 30)).astype(np.float32)
    task = Task([(0, 0), (1, 7), (9, 3)], left=40, right=30)
    task.evaluate_scores(Watched(as_scores(scores)))
    assert (times_read == 1).all()


def test_memory_does_not_grow_with_the_matrix(tmp_path: Path) -> None:
    """The file has 9 MB."""
    path = tmp_path / "scores.npy"
    table = np.lib.format.open_memmap(path, "w+", np.float32, (1500, 1500))
    table[:] = np.random.default_rng(0).random(1500, np.float32)
    table[np.arange(1500), np.arange(1500)] += 0.5
    table.flush()
    del table
    task = Task(np.arange(3000).reshape(2, 1500).T % 1500, left=1500, right=1500)
    with pytest.MonkeyPatch.context() as patch:
        for module, name in TILES:
            patch.setattr(module, name, 1 << 18)
        with allocating_at_most(6e6):
            report = task.evaluate_scores(path)
    assert report["mr"] < 300


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    task = Task([(0, 0)], left=50, right=100)
    path = saved(tmp_path, np.zeros((50, 100), np.float32), "C")

    def cut(progress: tr.Progress) -> None:
        if not progress.done:
            os.truncate(path, 1000)

    refusal(ValueError, r"scores-C\.npy", task.evaluate_scores, path, progress=cut)


def test_bfloat16_is_compared_exactly() -> None:
    bits = (SIMILARITIES.view(np.uint32) >> 16).astype(np.uint16)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    expected = task_of().evaluate_scores(wide)
    assert same(task_of().evaluate_scores(bits, dtype="bfloat16"), expected)
