"""Between opening and counting: files change, descriptors and maps do not accumulate."""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from support.store_files import assembled, assert_bytes, scores, touch, write_npy
from truerank.counting import orders
from truerank.stores import in_one_array, open_scores, read_scores

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


# -- what is checked between opening and counting --------------------------------------------------


def shrinkable(folder: Path) -> dict[str, Any]:
    array = scores(6, 5, "f4")
    np.save(folder / "a.npy", array)
    np.savez(folder / "a.npz", array)
    np.save(folder / "b.npy", array)
    return {
        "a.npy": open_scores(folder / "a.npy"),
        "a.npz": open_scores(folder / "a.npz"),
        "b.npy": open_scores([folder / "a.npy", folder / "b.npy"], axis=1),
    }


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "b.npy"])
def test_a_file_that_shrinks_is_noticed(tmp_path: Path, name: str) -> None:
    store = shrinkable(tmp_path)[name]
    touch(store)
    size = os.path.getsize(tmp_path / name) // 3
    tile = store.tiles(1)[-1]
    os.truncate(tmp_path / name, size)
    for attempt in (
        lambda: touch(store),
        lambda: store.block(tile, "map").__enter__(),
        lambda: store.block(tile, "read").__enter__(),
        lambda: tr.rank(store, 0),
    ):
        refusal(ValueError, rf"scores: .*{name}.*the file has {size}", attempt)


def test_state_is_of_the_file_and_not_of_its_name(tmp_path: Path) -> None:
    for store in shrinkable(tmp_path).values():
        assert json.loads(json.dumps(store.state())) == store.state()
    path = tmp_path / "a.npy"
    state = open_scores(path).file_states()[0]
    os.rename(path, tmp_path / "moved.npy")
    with open_scores(tmp_path / "moved.npy") as moved:
        assert moved.file_states()[0] | {"time of change": 0} == state | {"time of change": 0}
    os.utime(tmp_path / "moved.npy", (1, 1))
    with open_scores(tmp_path / "moved.npy") as moved:
        assert moved.file_states()[0]["time of modification"] == 10**9


def test_a_store_shows_what_was_written_later_but_no_other_file(tmp_path: Path) -> None:
    first = scores(6, 5, "f4")
    np.save(tmp_path / "a.npy", first)
    np.save(tmp_path / "b.npy", first)
    with open_scores(tmp_path / "a.npy") as store:
        assert_bytes(assembled(store, 1000, "map"), first)
        np.save(tmp_path / "a.npy", first[::-1])
        assert_bytes(assembled(store, 1000, "map"), first[::-1])
        os.replace(tmp_path / "b.npy", tmp_path / "a.npy")
        refusal(ValueError, r"a\.npy: another file has taken its place", touch, store)


# -- descriptors and maps --------------------------------------------------------------------------


def opened() -> int:
    """Count the descriptors; files that other tests left to the collector are closed before."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def mapped(path: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(path))


@on_linux
def test_thousands_of_shards_need_few_descriptors(tmp_path: Path) -> None:
    array = scores(300, 2, "f4")
    for number, row in enumerate(array):
        np.save(tmp_path / f"{number}.npy", row[None])
    before = opened()
    with open_scores(tmp_path / "*.npy") as store:
        assert_bytes(assembled(store, 1000, "map"), array)
        assert_bytes(assembled(store, 1000, "read"), array)
        every = np.arange(300)
        assert_bytes(store.take(every, every % 2), array[every, every % 2])
        touch(store)
        assert opened() == before
        assert mapped(tmp_path) == 0


@pytest.mark.parametrize("absent", [(), ("pread",), ("preadv",), ("preadv", "posix_fadvise")])
def test_single_scores_are_read_alike_on_all_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: tuple[str, ...]
) -> None:
    """By a read at a place, or one after a seek; with hints, where the system takes them."""
    for name in absent:
        monkeypatch.delattr(os, name, raising=False)
    array = scores(300, 40, ">f4")
    np.save(tmp_path / "a.npy", array)
    rows, columns = np.random.default_rng(0).permutation(300), np.arange(300) % 40
    with open_scores(tmp_path / "a.npy") as store:
        assert_bytes(store.take(rows, columns), array[rows, columns].astype("f4"))


@on_linux
@pytest.mark.parametrize("is_cached", [True, False])
def test_hints_are_given_where_a_file_is_not_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cached: bool
) -> None:
    hints = []

    def read(*_: Any) -> int:
        if is_cached:
            return 1
        raise BlockingIOError

    monkeypatch.setattr(os, "preadv", read)
    monkeypatch.setattr(os, "posix_fadvise", lambda *hint: hints.append(hint[1:]))
    np.save(tmp_path / "a.npy", scores(3, 5, "f4"))
    with open_scores(tmp_path / "a.npy") as store:
        store.take(np.array([2, 0]), np.array([1, 4]))
    expected = [(128 + 4 * place, 4, os.POSIX_FADV_WILLNEED) for place in (4, 11)]
    expected += 2 * [(0, mmap.PAGESIZE, os.POSIX_FADV_DONTNEED)]
    assert hints == ([] if is_cached else expected)


@on_linux
def test_single_scores_of_a_cold_file_leave_it_cold(tmp_path: Path) -> None:
    """Where a page stays in the page cache, it has no huge one there when all is read later."""
    array = scores(300, 9000, "f4")
    path = write_npy(tmp_path / "a.npy", array)

    def count_cached_pages() -> int:
        data = np.memmap(path, np.uint8, "r")
        is_cached = np.zeros(data.size // mmap.PAGESIZE + 1, np.uint8)
        places = ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.size)
        assert not ctypes.CDLL(None).mincore(*places, ctypes.c_void_p(is_cached.ctypes.data))
        return int((is_cached & 1).sum())

    with open(path, "rb") as file, open_scores(path) as store:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        cached_before = count_cached_pages()
        if cached_before > 30:
            pytest.skip("this file system keeps its files in memory")
        every = np.arange(300)
        assert_bytes(store.take(every, every * 29), array[every, every * 29])
        assert count_cached_pages() <= 30 + cached_before


@on_linux
@pytest.mark.parametrize("open_", [read_scores, open_scores])
def test_maps_and_descriptors_end(tmp_path: Path, open_: Any) -> None:
    """Blocks alone are mapped, while they are read."""
    array = scores(6, 2000, "f4")
    path = write_npy(tmp_path / "a.npy", array)
    before = opened()
    store = open_(path)
    for tile in store.tiles(8000) * 2:
        with store.block(tile, "map") as block:
            assert mapped(path) == 1
            assert not block.flags.writeable
        del block
        assert mapped(path) == 0
    whole = in_one_array(store)
    assert_bytes(whole.array, array)
    with store.block(store.tiles(8000)[2], "map") as kept:
        pass
    del whole
    assert mapped(path) == 1  # an array that is kept keeps its map
    assert kept.tobytes() == array[2:3].tobytes()
    del kept
    store.block(store.tiles(8000)[2], "map").__enter__()  # nobody closes it
    assert mapped(path) == 0
    (tmp_path / "bad.npy").write_text("x")
    refusal(ValueError, r"bad\.npy", open_, [path, tmp_path / "bad.npy"])
    assert opened() == before


def test_one_store_from_several_threads(tmp_path: Path) -> None:
    array = np.random.default_rng(3).random((64, 500), np.float32)
    store = open_scores(write_npy(tmp_path / "a.npy", array))
    expected = tr.rank(array, 7)
    with ThreadPoolExecutor(4) as pool:
        counts = pool.map(lambda _: tr.rank(store, 7, progress=lambda _: None), range(80))
        assert all(ranks.with_protocol(files=()) == expected for ranks in counts)


def test_a_list_of_matrices_has_shards_wherever_scores_are_read() -> None:
    matrix = scores(5, 4, "f4")
    shards = [matrix[:2], matrix[2:3], matrix[3:]]
    targets = [0, 3, 1, 2, 0]
    assert tr.rank(shards, targets) == tr.rank(matrix, targets)
    assert tr.rank(shards[:1], targets[:2]) == tr.rank(matrix[:2], targets[:2])
    refusal(ValueError, "^scores: .* expected 4 columns", tr.rank, [matrix, matrix.T], targets)
    refusal(ValueError, "^scores: ", tr.rank, (matrix, matrix), targets)


# -- scores that are ids or ranks ------------------------------------------------------------------

POINTS = np.argsort(np.random.default_rng(0).normal(size=(4, 12)), axis=1)
FACTS = tr.link_prediction.Task([(i, 0, i) for i in range(4)], {}, entities=12, sides=["tail"])
ALIGNED = tr.alignment.Task([(0, 1), (1, 0)], left=4, right=12)
ANSWERS = tr.retrieval.Task({i: [i] for i in range(4)}, entities=12)
DOORS: dict[str, Any] = {
    "rank": lambda scores, **options: tr.rank(scores, [1, 0, 2, 3], **options),
    "link prediction": lambda scores, **options: FACTS.evaluate_scores(scores, **options).ranks,
    "callable": lambda scores, **options: (
        FACTS.evaluate(lambda queries: scores[queries[:, 0]], **options).ranks
    ),
    "alignment": lambda scores, **options: ALIGNED.evaluate_scores(scores, **options).ranks,
    "retrieval": lambda scores, **options: ANSWERS.evaluate_scores(scores, **options).ranks,
    "evaluate": lambda scores, **options: tr.evaluate(scores, [1, 0, 2, 3], **options).ranks,
    "counter": lambda scores, **options: ranks_of_block(scores, **options),
    "negatives": lambda scores, **options: tr.rank_against(scores[:, 3], scores, **options),
}


def ranks_of_block(scores: Any, **options: Any) -> tr.Ranks:
    targets = [1, 0, 2, 3]
    counter = tr.RankCounter(scores[np.arange(4), targets], targets, candidates=12, **options)
    counter.update(scores)
    return counter.ranks()


ARGUMENTS = dict.fromkeys(("link prediction", "callable"), "tail")
ARGUMENTS |= {"counter": "block", "negatives": "others"}


@pytest.mark.parametrize("door", list(DOORS))
@pytest.mark.parametrize("scores", [POINTS, POINTS.astype(np.uint8) + 1, POINTS.astype("f4") + 1])
def test_ids_and_ranks_are_refused(door: str, scores: Any) -> None:
    """They are taken with the order: Borda's points, or ranks; and where two of them tie."""
    words = r"4 rows, each a permutation of .* order= says .*; task.evaluate_lists\(.*\) takes ids"
    message = refusal(ValueError, words, DOORS[door], scores)
    assert message.startswith(f"{ARGUMENTS.get(door, 'scores')}: ")
    points = DOORS[door](scores, order="descending")
    assert points.above.tolist() == DOORS[door](scores + 0.5).above.tolist()
    ranks = DOORS[door](scores, order="ascending")
    assert ranks.above.tolist() != points.above.tolist()


def test_rows_from_0_and_from_1_are_told_apart() -> None:
    words = "^scores: 8 rows, each a permutation of 0 to 11 or 1 to 12, "
    refusal(ValueError, words, tr.rank, np.vstack([POINTS + 1, POINTS]), 0)


def shards_of_columns(folder: Path, points: Any) -> list[Any]:
    """Stores of some columns each, in memory and in files, in both layouts."""
    halves = np.hsplit(points, 2)
    by_columns = list(map(np.asfortranarray, halves))
    kinds = {"memory": halves, "floats": [half.astype(np.float32) for half in halves]}
    for name, shards in {"rows": halves, "columns": by_columns}.items():
        kinds[name] = [write_npy(folder / f"{name}-{i}.npy", x) for i, x in enumerate(shards)]
    return [open_scores(shards, axis=1) for shards in kinds.values()]


def test_ranks_in_files_are_refused(tmp_path: Path) -> None:
    forms: list[Any] = [
        write_npy(tmp_path / "a.npy", POINTS),
        write_npy(tmp_path / "b.npy", np.asfortranarray(POINTS)),
        [write_npy(tmp_path / f"c{i}.npy", POINTS[i : i + 2]) for i in (0, 2)],
        POINTS[0],
        [POINTS[:1], POINTS[1:]],
        *shards_of_columns(tmp_path, POINTS),
    ]
    for form, io in product(forms, ("map", "read")):
        refusal(ValueError, "^scores: . row", tr.rank, form, 0, io=io)
        tr.rank(form, 0, io=io, order="descending")


@pytest.mark.parametrize("io", ["map", "read"])
def test_ranks_in_columns_are_refused_in_files_of_many_tiles(
    io: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose columns lie together has tiles of columns, which are no whole rows."""
    monkeypatch.setattr(orders, "_LOOK_BYTES", 64)
    rng = np.random.default_rng(0)
    points = np.stack([rng.permutation(40) for _ in range(60)])
    path = write_npy(tmp_path / "a.npy", np.asfortranarray(points))
    for store in (open_scores(path, io=io), *shards_of_columns(tmp_path, points)):
        store.io = io
        assert any(tile.width < 40 for tile in store.tiles(320))
        refusal(ValueError, "^scores: 60 rows, each a permutation of 0 to 39", tr.rank, store, 0)
    points[59, :2] = points[59, 0]
    for store in shards_of_columns(tmp_path, points):
        assert len(tr.rank(store, 0)) == 60


TAKEN: dict[str, Any] = {
    "another row": np.vstack([POINTS, np.zeros(12, int)]),
    "repeats": np.vstack([POINTS, [0, 0, *range(1, 10), 11]]),
    "from 2": POINTS + 2,
    "no rows": POINTS[:0],
    "large": POINTS * np.int64(2**40),
    "some columns": POINTS[:, :11],
    "shards of columns": open_scores([POINTS, POINTS], axis=1),
}


@pytest.mark.parametrize("name", list(TAKEN))
def test_integers_that_are_scores_are_taken(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tr.rank(TAKEN[name], 0)


def test_blocks_of_columns_have_no_places() -> None:
    counter = tr.RankCounter(POINTS[:, 0], 0, candidates=12)
    counter.update(POINTS[:, :11], start=0)
    counter.update(POINTS[:, 11:], start=11)
    assert len(counter.ranks()) == 4


FLOATS = POINTS.astype(np.float32)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "bfloat16"])
def test_floats_without_fractions_may_be_ranks(dtype: str) -> None:
    scores: Any = FLOATS.astype(dtype) if dtype != "bfloat16" else FLOATS.view("u4") >> 16
    given = {"dtype": dtype} if dtype == "bfloat16" else {}
    scores = scores.astype("u2") if given else scores
    refusal(
        ValueError, "^scores: 4 rows, each a permutation of 0 to 11", tr.rank, scores, 0, **given
    )
    tr.rank(scores, 0, order="ascending", **given)
    tr.rank(np.vstack([scores, scores[:1, ::-1]])[:, :9], 0, **given)


def test_floats_that_are_scores_are_taken() -> None:
    for odd in (0.5, np.inf, -np.inf, 3.0):
        scores = FLOATS.copy()
        scores[0, 7] = odd
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tr.rank(scores, 0)
            scores[0, 8] = np.nan
            tr.rank(scores, 0, nan="omit")


def test_ranks_are_no_scores_of_pairs() -> None:
    """A matching has no order."""
    model = np.random.default_rng(0).normal(size=(12, 12)) + 9 * np.eye(12)
    ranks = (-model).argsort(axis=1).argsort(axis=1) + 1
    for wrong in (ranks, ranks.astype(np.float32)):
        refusal(ValueError, "^left: 12 rows.* and not scores$", tr.alignment.infer, wrong, None)
        pairs, _ = tr.alignment.infer(-wrong, None)
        assert (pairs == np.arange(12)[:, None]).all()
