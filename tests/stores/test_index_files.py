"""Files of vectors and of ids, as builders of indexes have them, against files made by `struct`."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import truerank as tr
from support.refusals import refusal
from truerank.stores import index_files

pytestmark = pytest.mark.python_only
Array = NDArray[Any]
DTYPES = {".fvecs": "f4", ".bvecs": "u1", ".ivecs": "i4", ".fbin": "f4", ".f16bin": "f2"}
DTYPES |= {".u8bin": "u1", ".i8bin": "i1", ".ibin": "i4"}
VECTORS = index_files.VECTORS
V, T = tr.InputValueError, tr.InputTypeError


def content(ending: str, matrix: Array) -> bytes:
    """Return the bytes of a file, number by number."""
    code = {"f4": "f", "u1": "B", "i1": "b", "i4": "i", "f2": "e"}[DTYPES[ending]]
    rows = [struct.pack(f"<{len(row)}{code}", *row.tolist()) for row in matrix]
    if ending.endswith("vecs"):
        return b"".join(struct.pack("<i", matrix.shape[1]) + row for row in rows)
    return struct.pack("<II", *matrix.shape) + b"".join(rows)


def matrix_of(ending: str, rows: int, columns: int, seed: int = 0) -> Array:
    numbers = np.random.default_rng(seed).integers(0, 100, (rows, columns))
    return numbers.astype(DTYPES[ending])


def write(folder: Path, name: str, matrix: Array) -> Path:
    path = folder / name
    path.write_bytes(content(index_files.ending_of(name), matrix))
    return path


@given(
    ending=st.sampled_from(list(DTYPES)),
    rows=st.integers(1, 200),
    columns=st.integers(1, 9),
    io=st.sampled_from(["map", "read"]),
    behind=st.sampled_from(["", ".crop_nb_10000000"]),
)
def test_a_matrix_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    ending: str,
    rows: int,
    columns: int,
    io: str,
    behind: str,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    matrix = matrix_of(ending, rows, columns)
    path = write(folder, f"m{ending}{behind}", matrix)
    mapped = index_files.map_matrix("queries", str(path), io)
    assert mapped.dtype == np.dtype(DTYPES[ending]).newbyteorder("<")
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(mapped, matrix)


@pytest.mark.parametrize("ending", VECTORS)
def test_vectors_are_ranked_as_their_array(tmp_path: Path, ending: str) -> None:
    """Also as shards, as the files of a pattern, and as a store that is read."""
    entities = matrix_of(ending, 60, 7, 1)
    queries = entities[::6]
    paths = [write(tmp_path, f"e-{i}{ending}", entities[30 * i : 30 * i + 30]) for i in range(2)]
    of_queries = write(tmp_path, f"q{ending.upper()}", queries)
    expected = tr.topk_embeddings(queries, entities, 9, similarity="sql2")
    for vectors in (paths, [*map(str, paths)], tmp_path / f"e-*{ending}"):
        top = tr.topk_embeddings(of_queries, vectors, 9, similarity="sql2")
        assert top.ids.tolist() == expected.ids.tolist()
        assert top.scores.tolist() == expected.scores.tolist()
    ranks = tr.rank_embeddings(of_queries, write(tmp_path, f"e{ending}", entities), 5)
    assert ranks == tr.rank_embeddings(queries, entities, 5)
    assert ranks.protocol.files == (str(of_queries), str(tmp_path / f"e{ending}"))


def test_every_door_of_vectors_takes_them(tmp_path: Path) -> None:
    left, right = (matrix_of(".fbin", 9, 4, seed) for seed in range(2))
    files = write(tmp_path, "left.fbin", left), write(tmp_path, "right.fvecs", right)
    pairs = np.arange(9).repeat(2).reshape(9, 2)
    task = tr.alignment.Task(pairs, left=9, right=9)
    assert task.evaluate_embeddings(*files).ranks == task.evaluate_embeddings(left, right).ranks
    of_queries = tr.retrieval.Task({q: {q: 1} for q in range(9)}, entities=range(9))
    by_files = of_queries.evaluate_embeddings(*files, similarity="l2")
    assert by_files.ranks == of_queries.evaluate_embeddings(left, right, similarity="l2").ranks
    facts = [(i, 0, (i + 1) % 9) for i in range(9)]
    links = tr.link_prediction.Task(facts, entities=9)
    of_links = links.evaluate_embeddings(tail=files[0], head=left, entities=files[1])
    assert of_links.ranks == links.evaluate_embeddings(tail=left, head=left, entities=right).ranks
    means = tr.alignment.csls_means(*files, k=3)
    assert means.queries.tolist() == tr.alignment.csls_means(left, right, k=3).queries.tolist()


def test_they_are_no_scores(tmp_path: Path) -> None:
    """Nor a bias, and files of ids are no vectors."""
    matrix = matrix_of(".fbin", 5, 4)
    path = write(tmp_path, "e.fbin", matrix)
    refusal(V, "scores: .*e.fbin: expected a .npy or .npz file", tr.rank, path, [0])
    refusal(V, "expected a .npy or .npz file", tr.open_scores, path)
    refusal(V, "bias: expected 5 numbers", tr.rank_embeddings, matrix, path, 0, bias=path)
    ids = write(tmp_path, "e.ibin", matrix_of(".ibin", 5, 4))
    refusal(V, "entities: .*e.ibin: expected a .npy", tr.rank_embeddings, matrix, ids, 0)


# What becomes of the bytes of a file of 7 rows of 4 numbers, and what is refused.
TORN: list[tuple[str, Any, str]] = [
    (".fbin", lambda data: data[:-1], "expected 120 bytes for 7 rows of 4 float32, got 119$"),
    (".fbin", lambda data: data + b"0", "expected 120 bytes for 7 rows of 4 float32, got 121$"),
    (".u8bin", lambda data: data[:-8], r"expected 36 bytes .* got 28; .* maps the 5 rows that are"),
    (".i8bin", lambda data: data[:7], "expected 8 bytes or more, .* got 7$"),
    (".f16bin", lambda data: data[:8], "expected 64 bytes for 7 rows of 4 float16, got 8$"),
    (".fbin", lambda data: struct.pack("<II", 0, 4), "expected a row or more.*, got 0 rows of 4$"),
    (".fbin", lambda data: struct.pack("<II", 4, 0), "got 4 rows of 0$"),
    (".fbin", lambda data: struct.pack("<II", 2**32 - 1, 2**32 - 1), "expected 73,786,976,260,"),
    (".fbin", lambda data: b"", "got 0$"),
    (".fvecs", lambda data: data[:-1], "expected rows of 4 float32, as .*, 19 behind 6 rows$"),
    (".fvecs", lambda data: b"", "expected rows that begin with the count .* got 0 bytes$"),
    (".bvecs", lambda data: data[:3], "got 3 bytes$"),
    (".bvecs", lambda data: struct.pack("<i", -4) + data[4:], "got a count of -4$"),
    (".bvecs", lambda data: struct.pack("<i", 0) + data[4:], "got a count of 0$"),
    (".bvecs", lambda data: data[:24] + b"\5" + data[25:], "row 3: expected 4 numbers.*, got 5$"),
    (".bvecs", lambda data: data[:48] + b"\1" + data[49:], "row 6: expected 4 numbers.*, got 1$"),
    (".fvecs", lambda data: data[:-40] + data[-20:], "^fine$"),
    (".fvecs", lambda data: struct.pack("<i", 2**31 - 1) + data[4:], "got 140 bytes, 140 behind 0"),
]


@pytest.mark.parametrize(("ending", "change", "message"), TORN)
def test_torn_files(tmp_path: Path, ending: str, change: Any, message: str) -> None:
    path = tmp_path / f"e{ending}"
    path.write_bytes(change(content(ending, matrix_of(ending, 7, 4))))
    queries = matrix_of(ending, 2, 4)
    if message == "^fine$":  # A row less is a file of its own.
        assert tr.topk_embeddings(queries, path, 9).ids[0].tolist().count(-1) == 3
        return
    refusal(V, f"entities: .*e{ending}: .*{message}", tr.topk_embeddings, queries, path, 1)
    refusal(V, f"^found: .*e{ending}: ", index_files.map_matrix, "found", str(path))


def test_a_crop_that_has_the_header_of_the_whole_is_mapped_by_the_advice(tmp_path: Path) -> None:
    entities = matrix_of(".u8bin", 50, 4)
    path = write(tmp_path, "base.1B.u8bin.crop_nb_50", entities)
    path.write_bytes(struct.pack("<I", 10**9) + path.read_bytes()[4:])
    with pytest.raises(V, match="1,000,000,000 rows") as caught:
        tr.topk_embeddings(entities, path, 3, similarity="sql2")
    advice = re.search(r"; (np\.memmap\(.*\)) maps the 50 rows that are there$", str(caught.value))
    assert advice is not None
    mapped = eval(advice[1], {"np": np, "path": path})
    assert mapped.tolist() == entities.tolist()


def test_a_link_names_the_dtype_of_a_file_that_does_not(tmp_path: Path) -> None:
    """DiskANN's .bin of vectors has the layout of .fbin and .u8bin."""
    entities = matrix_of(".fbin", 20, 3)
    write(tmp_path, "base.fbin", entities).rename(tmp_path / "base.bin")
    (tmp_path / "link.fbin").symlink_to("base.bin")
    top = tr.topk_embeddings(entities, tmp_path / "link.fbin", 2)
    assert top.ids.tolist() == tr.topk_embeddings(entities, entities, 2).ids.tolist()


def test_a_sample_of_the_counts_is_compared(tmp_path: Path) -> None:
    """Of many rows the last one is among it; all would mean to read every page."""
    entities = matrix_of(".fvecs", 5000, 3)
    path = write(tmp_path, "e.fvecs", entities)
    data = bytearray(path.read_bytes())
    data[4999 * 16] = 2
    path.write_bytes(data)
    refusal(V, "row 4999: expected 3 numbers", tr.topk_embeddings, entities[:1], path, 1)


# -- lists -----------------------------------------------------------------------------------------

IDS = np.array([[3, 1, -1], [0, 2, 5]])


def test_lists_of_all_forms(tmp_path: Path) -> None:
    distances = np.array([[0.5, 2.25, np.nan], [1, 2, 3]])
    header, ids = struct.pack("<II", 2, 3), struct.pack("<6i", *IDS.ravel())
    floats = struct.pack("<6f", *distances.ravel())
    expected = {
        "t.ivecs": struct.pack("<8i", 3, *IDS[0], 3, *IDS[1]),
        "t.ibin": header + ids,
        "t.fbin": header + floats,
        "t.bin": header + ids + floats,
    }
    for name, data in expected.items():
        index_files.write_lists(tmp_path / name, IDS, distances)
        assert (tmp_path / name).read_bytes() == data
    (tmp_path / "alone.bin").write_bytes(header + ids)
    np.save(tmp_path / "t.npy", IDS.astype(np.int16))
    np.savez_compressed(tmp_path / "t.npz", ids=IDS, scores=distances)
    for name in ("t.ivecs", "t.ibin", "t.bin", "alone.bin", "t.npy", "t.npz"):
        assert index_files.read_ids("found", str(tmp_path / name)).tolist() == IDS.tolist()


def test_what_are_no_lists(tmp_path: Path) -> None:
    np.save(tmp_path / "floats.npy", IDS * 0.5)
    np.save(tmp_path / "flat.npy", IDS[0])
    np.savez(tmp_path / "other.npz", scores=IDS)
    (tmp_path / "torn.bin").write_bytes(struct.pack("<II", 2, 3) + bytes(25))
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    refused = {
        "floats.npy": (T, "expected integers, the numbers of entities, got dtype float64"),
        "flat.npy": (V, r"expected a list of ids in each row, got shape \(3,\)"),
        "other.npz": (V, "expected a member ids, got scores"),
        "torn.bin": (V, "expected 32 or 56 bytes for 2 rows of 3 int32, got 33"),
        "qrels.txt": (
            V,
            "expected a name that ends in .npy or .npz, .ivecs, .ibin, .bin, got .*qrels.txt",
        ),
        "absent.ibin": (FileNotFoundError, "absent.ibin"),
    }
    for name, (kind, message) in refused.items():
        refusal(kind, message, index_files.read_ids, "found", str(tmp_path / name))


def test_saved_lists(tmp_path: Path) -> None:
    path = tmp_path / "top.npz"
    facts = {"similarity": "dot", "queries": 4, "entities": 6, "ties": 0}
    members = {"ids": IDS, "scores": IDS * 0.5, "rows": np.array([1, 3])}
    index_files.save_top(path, facts, **members)
    read, arrays = index_files.load_top("parts", str(path))
    assert {name: read[name] for name in facts} == facts
    assert {name: array.tolist() for name, array in arrays.items()} == {
        name: array.tolist() for name, array in members.items()
    }
    for change in ({"rows": np.array([1])}, {"scores": IDS}, {"ids": IDS[0]}):
        index_files.save_top(path, facts, **{**members, **change})
        refusal(V, "parts: .*top.npz: damaged: ", index_files.load_top, "parts", str(path))
    index_files.save_top(path, facts | {"ties": "none"}, **members)
    refusal(V, "header.ties: expected int", index_files.load_top, "parts", str(path))
