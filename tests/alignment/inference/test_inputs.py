"""What may be passed to `infer`: arrays, maps and files of any dtype and layout."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from strategies.score_matrices import METHODS
from truerank.alignment import dangling, infer, most_similar
from truerank.alignment.inference.similarities import open_similarities
from truerank.stores.mapped import map_of

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize("method", METHODS)
def test_inputs(method: str, tmp_path: Path) -> None:
    """Inputs may be read-only, mapped or files, of any dtype and layout; none is written to."""
    rng = np.random.default_rng(4)
    left, right = (rng.integers(-9, 9, (n, 3)).astype(np.float32) / 4 for n in (11, 12))
    expected = infer(left, right, method=method, similarity="dot")
    for side, array in (("left", left), ("right", right)):
        array.flags.writeable = False
        np.save(tmp_path / f"{side}.npy", array)
    paths = tmp_path / "left.npy", str(tmp_path / "right.npy")
    mapped = np.load(paths[0], mmap_mode="r")
    half = left.astype(np.float16), np.asfortranarray(right.astype(np.float16))
    brain = left.astype(ml_dtypes.bfloat16), right.astype(ml_dtypes.bfloat16)
    for sides in ((left, right), paths, (mapped, right), half, brain, (left.tolist(), right)):
        found = infer(*sides, method=method, similarity="dot")
        np.testing.assert_array_equal(found.pairs, expected.pairs)
        np.testing.assert_array_equal(found.scores, expected.scores)
    raw = [side.view(np.uint16) for side in brain]
    found = infer(*raw, method=method, similarity="dot", dtype="bfloat16")
    np.testing.assert_array_equal(found.pairs, expected.pairs)


@pytest.mark.parametrize("kind", ["f2", ">f4", "i8"])
def test_a_matrix_in_a_file(kind: str, tmp_path: Path) -> None:
    """A file is mapped, and never copied."""
    scores = np.random.default_rng(8).integers(0, 99, (40, 50)).astype(kind)
    path = tmp_path / "S.npy"
    np.save(path, np.asfortranarray(scores))
    for method in METHODS:
        expected = infer(scores, None, method=method, csls=2)
        for matrix in (str(path), np.load(path, mmap_mode="r")):
            found = infer(matrix, None, method=method, csls=2)
            np.testing.assert_array_equal(found.pairs, expected.pairs)
            np.testing.assert_array_equal(found.scores, expected.scores, strict=True)
    matrix = open_similarities(path, None).scores.array
    assert map_of(matrix)[0] is not None
    assert not matrix.flags.writeable


WIDE = {"f2": "f4", "f4": "f4", "f8": "f8", ">f4": "f4", "i1": "f4", "u2": "f4"}
WIDE |= {"i4": "f8", "i8": "f8", "u8": "f8", "bfloat16": "f4"}


@pytest.mark.parametrize("kind", WIDE)
def test_matrices(kind: str) -> None:
    scores = np.random.default_rng(5).integers(0, 90, (7, 9))
    given = scores.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    given.flags.writeable = False
    for method in METHODS:
        expected = infer(scores.astype(float), None, method=method)
        for matrix in (given, np.asfortranarray(given), np.repeat(given, 2, axis=1)[:, ::2]):
            found = infer(matrix, None, method=method)
            np.testing.assert_array_equal(found.pairs, expected.pairs)
            np.testing.assert_array_equal(found.scores, expected.scores)
            assert found.scores.dtype == WIDE[kind]


def test_matrices_in_shards_and_stores(tmp_path: Path) -> None:
    scores = np.random.default_rng(10).random((8, 9))
    np.save(tmp_path / "part-0.npy", scores[:2])
    np.save(tmp_path / "part-1.npy", scores[2:])
    paths = [tmp_path / "part-0.npy", tmp_path / "part-1.npy"]
    with tr.open_scores(paths) as store:
        for matrix in (paths, store):
            for call in (infer, partial(dangling, exclusive=[0])):
                np.testing.assert_equal(vars(call(matrix, None)), vars(call(scores, None)))
            np.testing.assert_equal(most_similar(matrix, None), most_similar(scores, None))
