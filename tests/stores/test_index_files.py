"""Files of vectors and of ids, as builders of indexes have them, against files made by `struct`."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import truerank as tr
from support.problems import as_dtype
from support.refusals import refusal
from truerank.stores import index_files

pytestmark = pytest.mark.python_only
Array = NDArray[Any]
DTYPES = {".fvecs": "f4", ".bvecs": "u1", ".ivecs": "i4", ".fbin": "f4", ".f16bin": "f2"}
DTYPES |= {".u8bin": "u1", ".i8bin": "i1", ".ibin": "i4", ".bin": "f4"}
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
    path.write_bytes(content(index_files.file_ending(name), matrix))
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
    of_bin = index_files.bin_dtype(None)
    mapped = index_files.map_matrix("queries", str(path), io, of_bin)
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
    message = r"entities: .*e.ibin: expected a name that ends in .npy, .npz, .fvecs, .*, .hdf5:NAME"
    refusal(V, message, tr.rank_embeddings, matrix, ids, 0)
    no_ending = ids.rename(tmp_path / "base")
    refusal(V, message.replace("e.ibin", "base"), tr.rank_embeddings, matrix, no_ending, 0)


# What becomes of the bytes of a file of 7 rows of 4 numbers, and what is refused.
TORN: list[tuple[str, Any, str]] = [
    (".fbin", lambda data: data[:-1], "expected 120 bytes for 7 rows of 4 float32, got 119$"),
    (".fbin", lambda data: data + b"0", "expected 120 bytes for 7 rows of 4 float32, got 121$"),
    (".u8bin", lambda data: data[:-8], "expected 36 bytes .* got 28, those of 5 rows$"),
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
    (
        ".bin",
        lambda data: data[:-1],
        "expected 120 bytes for 7 rows of 4 float32, or by dtype 64 for float16 or bfloat16, 36 "
        "for int8 or uint8, got 119$",
    ),
    (
        ".bin",
        lambda data: data[:36],
        "got 36; dtype= says which numbers these are$",
    ),
    (".bin", lambda data: data[:64], "or by dtype 64 for float16 or bfloat16, .* got 64; dtype="),
    (".bin", lambda data: data + data[8:], "got 232, those of 14 rows$"),
    (".bin", lambda data: struct.pack("<II", 2**32 - 1, 2**32 - 1), "expected 73,786,976,260,"),
    (".bin", lambda data: data[:8] + struct.pack("<28i", *range(28)), "got ids, as .0, 1, 2.$"),
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
    of_bin = index_files.bin_dtype(None)
    refused = f"^found: .*e{ending}: "
    refusal(V, refused, index_files.map_matrix, "found", str(path), "map", of_bin)


def test_a_crop_that_has_the_header_of_the_whole_is_refused(tmp_path: Path) -> None:
    entities = matrix_of(".u8bin", 50, 4)
    path = write(tmp_path, "base.1B.u8bin.crop_nb_50", entities)
    path.write_bytes(struct.pack("<I", 10**9) + path.read_bytes()[4:])
    with pytest.raises(V, match="1,000,000,000 rows") as caught:
        tr.topk_embeddings(entities, path, 3, similarity="sql2")
    assert str(caught.value).endswith("got 208, those of 50 rows")


@pytest.mark.parametrize("dtype", ["int8", np.uint8])
def test_bytes_of_diskann_have_the_sign_that_is_said(tmp_path: Path, dtype: Any) -> None:
    """Their .bin names no dtype, and -1 is 255."""
    entities = np.random.default_rng(3).integers(0, 256, (60, 7)).astype(np.uint8)
    path = write(tmp_path, "e.u8bin", entities).rename(tmp_path / "e.bin")
    expected = entities.view(dtype)
    found = tr.topk_embeddings(path, path, 4, similarity="sql2", dtype=dtype)
    by_array = tr.topk_embeddings(expected, expected, 4, similarity="sql2")
    assert found.ids.tolist() == by_array.ids.tolist()
    assert found.scores.tolist() == by_array.scores.tolist()
    message = "e.bin: expected 428 bytes for 60 rows of 7 int8, got 1,688"
    write(tmp_path, "f.fbin", entities.astype("f4")).rename(path)
    refusal(V, message, tr.topk_embeddings, path, path, 1, dtype="int8")


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_numbers_of_two_bytes_are_what_the_caller_says(tmp_path: Path, name: str) -> None:
    """In .f16bin, which others fill with bfloat16, and in .bin, whose size tells how many bytes."""
    numbers = np.random.default_rng(5).normal(size=(60, 8)).astype(as_dtype(name))
    bits = numbers.view(np.uint16)
    exact = tr.topk_embeddings(bits, bits, 9, similarity="l2", dtype=name)
    plain = numbers.astype(np.float32)
    assert exact.ids.tolist() == tr.topk_embeddings(plain, plain, 9, similarity="l2").ids.tolist()
    singles = [write(tmp_path, "s.fbin", plain), write(tmp_path, "s.bin", plain)]
    for ending in (".f16bin", ".bin", ".bin.crop_nb_60"):
        path = tmp_path / f"v{ending}"
        path.write_bytes(struct.pack("<II", *bits.shape) + bits.tobytes())
        top = tr.topk_embeddings(path, path, 9, similarity="l2", dtype=name)
        assert top.ids.tolist() == exact.ids.tolist()
        assert top.scores.tolist() == exact.scores.tolist()
        how: Any = {"similarity": "l2", "dtype": name}
        assert tr.evaluate_topk(path, path, exact.ids, exact, **how)["recall@9"] == 1
        ranks = tr.rank_embeddings(path, [path, path], 3, **how)
        assert ranks == tr.rank_embeddings(bits, [bits, bits], 3, **how)
        # Floats of four bytes beside them are what they are, in .bin, too.
        for queries in (*singles, plain, plain.astype(float)):
            beside = tr.topk_embeddings(queries, path, 9, **how)
            assert beside.ids.tolist() == exact.ids.tolist()
    if name == "bfloat16":  # As float16, which the ending says, they are other numbers.
        half = tmp_path / "v.f16bin"
        found = tr.topk_embeddings(half, half, 9, similarity="l2")
        assert tr.evaluate_topk(plain, plain, found, exact, similarity="l2")["recall@9"] < 0.7


# What a name of numbers of two bytes is beside, and what is said of it.
BESIDE: list[tuple[str, str, str, str]] = [
    ("bfloat16", "f2", "f2", "queries: .*the dtype that was named, bfloat16, got dtype float16$"),
    ("bfloat16", "f2", "u2", "queries: .*expected .* got dtype float16$"),
    ("bfloat16", "u2", "f2", "entities: .*expected .* got dtype float16$"),
    ("float16", "bfloat16", "u2", "queries: expected .* float16, got dtype bfloat16$"),
    *[
        (name, kind, kind, f"dtype: expected the dtype of some vectors, got {name} beside")
        for name in ("bfloat16", "float16")
        for kind in ("f4", "f8", "u1", "i1")
    ],
    ("bfloat16", "f4", "f8", "got bfloat16 beside float32, float64$"),
]


@pytest.mark.parametrize(("name", "queries", "entities", "message"), BESIDE)
def test_a_name_of_two_bytes_is_refused_where_it_says_nothing(
    tmp_path: Path, name: str, queries: str, entities: str, message: str
) -> None:
    """At every door of vectors, in memory and in a file that says its dtype."""
    arrays = [np.ones((5, 4), as_dtype(dtype)) for dtype in (queries, entities)]
    calls: list[Any] = [
        lambda a, b: tr.topk_embeddings(a, b, 1, dtype=name),
        lambda a, b: tr.rank_embeddings(a, b, 0, dtype=name),
        lambda a, b: tr.score_embeddings(a, b, dtype=name),
        lambda a, b: tr.evaluate_topk(a, b, [[0]] * 5, [[0]] * 5, similarity="dot", dtype=name),
        lambda a, b: tr.retrieval.Task({0: [1]}, entities=5).evaluate_embeddings(
            a[:1], b, dtype=name
        ),
    ]
    for call in calls:
        refusal(T, message, call, *arrays)
    if "bfloat16" not in (queries, entities):
        paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
        for path, array in zip(paths, arrays, strict=True):
            np.save(path, array)
        refusal(T, message, calls[0], *paths)


def test_a_name_of_the_dtype_says_nothing_of_floats(tmp_path: Path) -> None:
    """What raw 16-bit numbers are changes no float of .bin; float32 is what it has."""
    entities = matrix_of(".bin", 20, 3)
    path = write(tmp_path, "base.bin", entities)
    raw = (entities.view(np.uint32) >> 16).astype(np.uint16)  # These are small integers.
    expected = tr.topk_embeddings(entities, entities, 2)
    for queries, dtype in ((raw, "bfloat16"), (entities, "float32"), (entities, None)):
        top = tr.topk_embeddings(queries, path, 2, dtype=dtype)
        assert top.ids.tolist() == expected.ids.tolist()


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
    # GT.public.1B.ibin of BIGANN-1B has distances behind the ids.
    (tmp_path / "GT.public.1B.ibin").write_bytes(header + ids + floats)
    names = ("t.ivecs", "t.ibin", "t.bin", "alone.bin", "t.npy", "t.npz", "GT.public.1B.ibin")
    for name in names:
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
            "ends in .npy, .npz, .ivecs, .ibin, .bin, .hdf5:NAME, .parquet:NAME, got .*qrels",
        ),
        "absent.ibin": (FileNotFoundError, "absent.ibin"),
    }
    for name, (kind, message) in refused.items():
        refusal(kind, message, index_files.read_ids, "found", str(tmp_path / name))


def test_saved_lists(tmp_path: Path) -> None:
    path = tmp_path / "top.npz"
    facts = {"similarity": "dot", "precision": "float32", "k": 3}
    facts |= {"queries": 4, "entities": 6, "ties": 0}
    facts |= {f"digest of {each}": "0f" for each in index_files.DIGESTS}
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
    facts["digest of candidates"] = 7
    index_files.save_top(path, facts, **members)
    refusal(
        V, "header.digest of candidates: expected str", index_files.load_top, "parts", str(path)
    )


# -- HDF5 ------------------------------------------------------------------------------------------


def write_hdf5(path: Path, **matrices: Array) -> Any:
    """Write what ann-benchmarks publishes, and return the open file."""
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    file = h5py.File(path, "w")
    for name, matrix in matrices.items():
        file[name] = matrix
    return file


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2", "<f8", ">f8", "u1", "i1", "?"])
def test_a_dataset_is_its_array(tmp_path: Path, dtype: str) -> None:
    """In one piece, wherever it begins, or in chunks, compressed, and in a group."""
    numbers = np.random.default_rng(4).integers(0, 9, (60, 7)).astype(dtype)
    path = tmp_path / "glove.hdf5"
    with write_hdf5(path, odd=np.zeros(3, np.uint8), train=numbers, test=numbers[::6]) as file:
        file.create_dataset("group/packed", data=numbers, chunks=(7, 2), compression="gzip")
        file.create_dataset("swapped", data=numbers, chunks=(9, 7), shuffle=True)
        assert file["train"].id.get_offset() % 8
    expected = tr.topk_embeddings(numbers[::6], numbers, 9, similarity="sql2")
    for name in ("train", "group/packed", "swapped"):
        top = tr.topk_embeddings(f"{path}:test", f"{path}:{name}", 9, similarity="sql2")
        assert top.ids.tolist() == expected.ids.tolist()
        assert top.scores.tolist() == expected.scores.tolist()
        for io in ("map", "read"):
            array = index_files.map_matrix("entities", f"{path}:{name}", io)
            assert (array.dtype, array.tolist()) == (numbers.dtype, numbers.tolist())
    ranks = tr.rank_embeddings(f"{path}:test", Path(f"{path}:group/packed"), 5)
    assert ranks == tr.rank_embeddings(numbers[::6], numbers, 5)
    assert ranks.protocol.files == (str(path),)


def test_what_lies_in_one_piece_is_mapped(tmp_path: Path) -> None:
    """Also behind a block of a user; a file that is cut is refused, by HDF5 or by its size."""
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    numbers = matrix_of(".fbin", 50, 4)
    path = tmp_path / "e.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["train"] = numbers
        file.create_dataset("late", (5, 4), "f4")  # Some versions say that it begins at byte 511.
    mapped = index_files.map_matrix("entities", f"{path}:train")
    assert mapped.tolist() == numbers.tolist()
    assert isinstance(mapped.base, np.memmap) or not mapped.flags.owndata
    assert not mapped.flags.writeable
    message = "entities: .*e.h5:late: 80 bytes are declared, 0 are stored"
    refusal(V, message, tr.topk_embeddings, numbers, f"{path}:late", 1)
    path.write_bytes(path.read_bytes()[:-1])
    refusal(V, "entities: .*e.h5:train: ", tr.topk_embeddings, numbers, f"{path}:train", 1)


def test_a_dataset_may_hold_lists(tmp_path: Path) -> None:
    path = tmp_path / "glove.HDF5"
    for dtype in (np.int32, np.int64, np.uint16):
        write_hdf5(path, neighbors=IDS.astype(dtype), distances=IDS * 0.5).close()
        found = index_files.read_ids("found", f"{path}:neighbors")
        assert found.tolist() == IDS.astype(dtype).tolist()
    message = "found: .*HDF5:distances: expected integers, .* got dtype float64"
    refusal(T, message, index_files.read_ids, "found", f"{path}:distances")


def test_the_letter_of_a_drive_is_none_of_a_dataset() -> None:
    assert index_files.file_of(r"C:\x.hdf5:train") == r"C:\x.hdf5"
    assert index_files.file_of(r"C:\x.hdf5") == r"C:\x.hdf5"
    assert index_files.file_of("a.hdf5:b.h5:c") == "a.hdf5:b.h5"
    for path in ("a.hdf5", r"C:\a.H5:train", "a.h5:of/two"):
        assert index_files.has_vectors(path)
    for path in ("hdf5:train", "a.hdf5:", "C:a.txt", r"a.hdf5:b\c", "a.hdf5.gz:train"):
        assert not index_files.has_vectors(path)


def test_what_are_no_datasets_of_vectors(tmp_path: Path) -> None:
    """Nothing is taken from other files, no more memory than there are bytes, and no names."""
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    path, matrix = tmp_path / "e.hdf5", matrix_of(".fbin", 5, 4)
    write_hdf5(tmp_path / "other.hdf5", train=matrix).close()
    with write_hdf5(path, train=matrix, flat=matrix[0], ids=matrix.astype(int)) as file:
        file["none"] = matrix[:0]
        file["cube"] = np.zeros((2, 2, 2))
        file["words"] = [["a", "b"]]
        file["empty"] = h5py.Empty("f4")
        file["link"] = h5py.ExternalLink(str(tmp_path / "other.hdf5"), "train")
        file["lost"] = h5py.ExternalLink("absent.hdf5", "train")
        file["group/inner"] = matrix
        file.create_dataset("huge", (2**40, 4), "f4", chunks=(2**20, 4))
        file.create_dataset("late", (2**40, 4), "f4")
        outside = [(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)]
        (tmp_path / "raw").write_bytes(bytes(80))
        file.create_dataset("outside", (5, 4), "f4", external=outside)
        layout = h5py.VirtualLayout((5, 4), "f4")
        layout[:] = h5py.VirtualSource(tmp_path / "other.hdf5", "train", (5, 4))
        file.create_virtual_dataset("virtual", layout)
    of_names = "expected the name of a dataset: cube, empty, flat, .* group/inner, "
    in_another = "its numbers are in another file"
    refused = {
        ":absent": (V, f"{of_names}.*, got 'absent'"),
        ":lost": (V, of_names),
        ":group": (V, of_names),
        "": (V, f"{of_names}.*, got ''"),
        ":flat": (
            V,
            r"expected a matrix of numbers, of a row or more, got float32 of shape \(4,\)",
        ),
        ":cube": (V, "expected a matrix of numbers"),
        ":none": (V, r".*, got float32 of shape \(0, 4\)"),
        ":empty": (V, r".*, got float32 of shape \(\)"),
        ":words": (V, r".*, got object of shape \(1, 2\)"),
        ":ids": (T, "expected one of float16, .*, got dtype int64"),
        ":link": (V, in_another),
        ":outside": (V, in_another),
        ":virtual": (V, in_another),
        ":huge": (V, "17,592,186,044,416 bytes are declared, 0 are stored"),
        ":late": (V, "17,592,186,044,416 bytes are declared, 0 are stored"),
    }
    for name, (kind, message) in refused.items():
        message = f"^entities: .*e.hdf5{name}: {message}"
        refusal(kind, message, tr.topk_embeddings, matrix, f"{path}{name}", 1)
    (tmp_path / "text.hdf5").write_text("entities")
    for name in ("text.hdf5", "text.hdf5:train"):
        message = f"entities: .*{name}: .*file signature not found"
        refusal(V, message, tr.topk_embeddings, matrix, tmp_path / name, 1)
    refusal(FileNotFoundError, "absent.h5'", tr.topk_embeddings, matrix, "absent.h5:train", 1)
    message = "scores: .*expected a .npy or .npz file$"
    refusal(V, message, tr.rank, f"{path}:train", [0])


def test_floats_that_numpy_lacks_are_converted(tmp_path: Path) -> None:
    """A dataset of bfloat16 lies in one piece, but its bytes are no numbers of numpy."""
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    matrix = matrix_of(".fbin", 5, 4)
    bfloat16 = h5py.h5t.IEEE_F32LE.copy()
    bfloat16.set_fields(15, 7, 8, 0, 7)
    bfloat16.set_size(2)
    with h5py.File(tmp_path / "e.h5", "w") as file:
        space = h5py.h5s.create_simple(matrix.shape)
        numbers = h5py.h5d.create(file.id, b"train", bfloat16, space)
        numbers.write(h5py.h5s.ALL, h5py.h5s.ALL, matrix)
        assert numbers.get_offset() is not None
    read = index_files.map_matrix("entities", f"{tmp_path}/e.h5:train")
    assert (read.dtype, read.tolist()) == (np.float32, matrix.tolist())


# -- all forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*VECTORS, ".npy", ".hdf5"])
@pytest.mark.parametrize("similarity", ["sql2", "dot"])
def test_ids_and_recall_of_each_form_are_those_of_float64(
    tmp_path: Path, form: str, similarity: Any
) -> None:
    """Of small integers, whose products are exact in every dtype, and of which many tie."""
    rng = np.random.default_rng(6)
    entities, queries = (rng.integers(0, 12, (n, 8)).astype(np.uint8) for n in (400, 30))
    wide = queries[:, None].astype(np.float64), entities.astype(np.float64)
    scores = (wide[0] * wide[1]).sum(axis=2)
    if similarity == "sql2":
        scores = -((wide[0] - wide[1]) ** 2).sum(axis=2)
    names: list[str] = []
    for name, vectors in (("queries", queries), ("entities", entities)):
        matrix = vectors.astype(DTYPES.get(form, "f4"))
        if form == ".hdf5":
            write_hdf5(tmp_path / f"{name}.hdf5", train=matrix).close()
            names.append(f"{tmp_path}/{name}.hdf5:train")
        elif form == ".npy":
            np.save(tmp_path / f"{name}.npy", matrix)
            names.append(f"{tmp_path}/{name}.npy")
        else:
            names.append(str(write(tmp_path, f"{name}{form}", matrix)))
    for k in (1, 10, 100):
        top = tr.topk_embeddings(names[0], names[1], k, similarity=similarity)
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        assert top.ids.tolist() == expected.tolist()
        assert top.scores.tolist() == np.take_along_axis(scores, expected, axis=1).tolist()
        index = expected[:, ::-1] + (np.arange(k) % 3 == 0)  # which finds others, too
        index[index == 400] = 0
        kth = np.sort(scores, axis=1)[:, -k]
        right = np.take_along_axis(scores, index, axis=1) >= kth[:, None]
        ranks = tr.rank_embeddings(
            *names, index.ravel(), rows=np.arange(30).repeat(k), similarity=similarity
        )
        assert tr.report(ranks)[f"optimistic.hits@{k}"] == pytest.approx(right.mean())
