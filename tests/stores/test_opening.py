"""Between opening and counting: files change, descriptors and maps do not accumulate."""

from __future__ import annotations

import errno
import gc
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from support.store_files import assembled, assert_bytes, scores, touch, write_npy
from truerank.stores import Store, in_one_array, open_scores, opening, read_scores
from truerank.stores import mapped as mapped_files
from truerank.stores.store import block_array

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
    stores = shrinkable(tmp_path)
    store = stores[name]
    touch(store)
    size = os.path.getsize(tmp_path / name)
    os.truncate(tmp_path / name, size // 3)
    tile = store.tiles(1)[-1]
    for attempt in (
        lambda: touch(store),
        lambda: store.block(tile, "map").__enter__(),
        lambda: store.block(tile, "read").__enter__(),
    ):
        refusal(ValueError, rf"scores: .*{name}.*the file has {size // 3}", attempt)
    for each in stores.values():
        each.close()


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = write_npy(tmp_path / "a.npy", scores(6, 5, "f4"))
    with open_scores(path) as store, store.block(store.tiles(40)[1], "read") as block:
        os.truncate(path, 170)
        refusal(ValueError, r"a\.npy: expected 40 bytes from 168 on: ", block_array, block, store)


def test_state_is_of_the_file_and_not_of_its_name(tmp_path: Path) -> None:
    import json

    stores = shrinkable(tmp_path)
    states = {name: store.state() for name, store in stores.items()}
    for name, store in stores.items():
        assert json.loads(json.dumps(states[name])) == states[name] == store.state()
    before = stores["a.npy"].file_states()[0]
    os.link(tmp_path / "a.npy", tmp_path / "linked.npy")
    with open_scores(tmp_path / "linked.npy") as linked, open_scores(tmp_path / "a.npy") as again:
        assert linked.state() == again.state()
    os.rename(tmp_path / "a.npy", tmp_path / "moved.npy")
    with open_scores(tmp_path / "moved.npy") as moved:
        assert moved.file_states()[0]._replace(changed=0) == before._replace(changed=0)
    os.utime(tmp_path / "moved.npy", (1, 1))
    with open_scores(tmp_path / "moved.npy") as moved:
        assert moved.file_states()[0].modified == 10**9
        assert moved.state() != states["a.npy"]
    for store in stores.values():
        store.close()


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
        assert opened() - before == 64
        assert mapped(tmp_path) == 64
    assert opened() == before
    assert mapped(tmp_path) == 0


@on_linux
@pytest.mark.parametrize("open_", [read_scores, open_scores])
def test_maps_and_descriptors_end(tmp_path: Path, open_: Any) -> None:
    """Of what is read once, blocks alone are mapped; an open store keeps one map of a file."""
    array = scores(6, 2000, "f4")
    path = write_npy(tmp_path / "a.npy", array)
    before = opened()
    is_kept = open_ is open_scores
    store = open_(path)
    for tile in store.tiles(8000) * 2:
        with store.block(tile, "map") as block:
            assert mapped(path) == 1
            assert not block.flags.writeable
        del block
        assert mapped(path) == is_kept
    if is_kept:
        assert_bytes(in_one_array(store).array, array)
        assert mapped(path) == 1
    with store.block(store.tiles(8000)[2], "map") as kept:
        store.close()
    store.close()
    assert mapped(path) == 1  # an array that is kept keeps its map
    assert kept.tobytes() == array[2:3].tobytes()
    del kept
    assert mapped(path) == 0
    assert opened() == before
    open_(path).block(store.tiles(8000)[2], "map").__enter__()  # nobody closes it
    assert mapped(path) == 0
    assert opened() == before


@on_linux
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
def test_single_scores_are_read_or_of_the_map_that_is_kept(
    tmp_path: Path, order: Any, dtype: str
) -> None:
    array = scores(90, 70, dtype)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 90, 400)
    columns = rng.integers(0, 70, 400)
    with open_scores(tmp_path / "a.npy") as store:
        expected = array[rows, columns].astype(array.dtype.newbyteorder("="))
        assert_bytes(store.take(rows, columns), expected)
        assert mapped(tmp_path) == 0
        store.map_kept()
        assert mapped(tmp_path) == 1
        assert_bytes(store.take(rows, columns), expected)
        assert_bytes(assembled(store, 8000, "map"), array)
        assert mapped(tmp_path) == 1


@on_linux
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("io", ["map", "read"])
def test_true_scores_are_of_the_maps_that_the_count_needs(
    tmp_path: Path, axis: int, io: Any
) -> None:
    """Where files are to be read, and not mapped, so are single scores."""
    array = scores(12, 60, "f4")
    parts = np.split(array, 3, axis)
    names = [write_npy(tmp_path / f"{k}.npy", part) for k, part in enumerate(parts)]
    expected = tr.rank(array, np.arange(12), nan="worst")
    with open_scores(names, axis=axis) as store:
        assert tr.rank(store, np.arange(12), nan="worst", io=io) == expected
        assert mapped(tmp_path) == 3 * (io == "map")


@pytest.mark.parametrize(
    ("pages", "most"), [(1 << 20, 1 << 29), (1 << 30, 16 << 30), (None, 1 << 30)]
)
def test_how_much_may_stay_mapped(
    monkeypatch: pytest.MonkeyPatch, pages: int | None, most: int
) -> None:
    def sysconf(name: str) -> int:
        if pages is None:
            raise ValueError(name)
        return {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}[name]

    monkeypatch.setattr(os, "sysconf", sysconf, raising=False)
    assert mapped_files.most_kept_bytes() == most


@pytest.mark.python_only
@on_linux
def test_maps_are_kept_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is mapped block by block."""
    array = scores(64, 2000, "f4")  # 8,000 bytes to a row, 512,000 in all
    names = [write_npy(tmp_path / f"{k}.npy", part) for k, part in enumerate(np.split(array, 4))]
    monkeypatch.setattr(opening, "most_kept_bytes", lambda: 3 * 128_000 + 8000)
    with open_scores(names) as store:
        for _ in range(2):
            assert_bytes(assembled(store, 8000, "map"), array)
            assert [mapped(name) for name in names] == [1, 1, 1, 0]
            for tile, expected in zip(store.tiles(8000), [3] * 48 + [4] * 16, strict=True):
                with store.block(tile, "map") as block:
                    assert mapped(tmp_path) == expected
                del block


@on_linux
def test_no_room_to_keep_a_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mmap

    real = mmap.mmap
    array = scores(6, 2000, "f4")

    def mapped_in_parts(descriptor: int, size: int, **options: Any) -> Any:
        if size > 16_000:
            raise OSError(errno.ENOMEM, "no room")
        return real(descriptor, size, **options)

    path = write_npy(tmp_path / "a.npy", array)
    monkeypatch.setattr(mmap, "mmap", mapped_in_parts)
    with open_scores(path) as store:
        for _ in range(2):
            assert_bytes(assembled(store, 8000, "map"), array)
            assert mapped(path) == 0


def test_a_kept_map_shows_what_the_file_has(tmp_path: Path) -> None:
    """Sizes are checked before each block of a map that is kept; what was written is seen."""
    first = np.arange(30, dtype=np.float32).reshape(6, 5)
    second = first[::-1].copy()
    np.save(tmp_path / "a.npy", first)
    with open_scores(tmp_path / "a.npy") as store:
        np.testing.assert_array_equal(tr.rank(store, 0).above, tr.rank(first, 0).above)
        tile = store.tiles(1000)[0]
        for size in (128, 0, 200):
            os.truncate(tmp_path / "a.npy", size)
            refusal(ValueError, rf"a\.npy: .*the file has {size}", tr.rank, store, 0)
            with pytest.raises(ValueError, match=rf"a\.npy: .*the file has {size}"):
                store.block(tile, "map").__enter__()
        np.save(tmp_path / "a.npy", second)
        assert_bytes(assembled(store, 1000, "map"), second)


def test_one_store_from_several_threads(tmp_path: Path) -> None:
    """The map that is kept is made once, and the store may be closed meanwhile."""
    from concurrent.futures import ThreadPoolExecutor

    array = np.random.default_rng(3).random((64, 500), np.float32)
    path = write_npy(tmp_path / "a.npy", array)
    expected = tr.rank(array, 7).above
    for _ in range(20):
        store = open_scores(path)

        def count(_: int, store: Store = store) -> bool:
            try:
                return bool((tr.rank(store, 7, progress=lambda _: None).above == expected).all())
            except ValueError as error:
                return "the store is closed" in str(error)

        with ThreadPoolExecutor(4) as pool:
            counted = pool.map(count, range(8))
            store.close()
            assert all(counted)


@on_linux
def test_faults_leave_nothing_open(tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", scores(2, 3, "f4"))
    (tmp_path / "bad.npy").write_text("x")
    before = opened()
    for source in (tmp_path / "bad.npy", [tmp_path / "good.npy", tmp_path / "bad.npy"]):
        refusal(ValueError, r"bad\.npy", open_scores, source)
    assert opened() == before


def test_a_file_that_was_replaced_is_not_read_on(tmp_path: Path) -> None:
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, scores(6, 5, "f4"))
    with open_scores(tmp_path / "a.npy") as store:
        os.replace(tmp_path / "b.npy", tmp_path / "a.npy")
        refusal(ValueError, r"a\.npy: another file has taken its place", touch, store)


PAIRS = tr.alignment.Task([(0, 1), (1, 2)], left=3, right=3)
CALLS = {
    "rank_embeddings": lambda a, b: tr.rank_embeddings(a, b, [0, 1, 2]),
    "alignment": lambda a, b: PAIRS.evaluate_embeddings(a, b),
    "alignment, csls": lambda a, b: PAIRS.evaluate_embeddings(a, b, csls=1),
    "csls_means": lambda a, b: tr.alignment.csls_means(a, b, 1),
    "link prediction": lambda a, b: tr.link_prediction.Task(
        [(0, 0, 1), (1, 0, 2), (2, 0, 0)], entities=3, sides=("tail",)
    ).evaluate_embeddings(a, entities=b),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_each_file_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Any
) -> None:
    opened = []
    real = opening.open_input

    def counted(argument: str, path: Any) -> Any:
        opened.append(os.path.basename(path))
        return real(argument, path)

    monkeypatch.setattr(opening, "open_input", counted)
    for name, step in (("a", 0), ("b", 1)):
        np.save(tmp_path / f"{name}.npy", np.eye(3, k=step, dtype=np.float32))
    call(tmp_path / "a.npy", tmp_path / "b.npy")
    assert sorted(opened) == ["a.npy", "b.npy"]


def test_a_list_of_matrices_has_shards_wherever_scores_are_read() -> None:
    matrix = scores(5, 4, "f4")
    shards = [matrix[:2], matrix[2:3], matrix[3:]]
    targets = [0, 3, 1, 2, 0]
    assert tr.rank(shards, targets) == tr.rank(matrix, targets)
    assert tr.rank(shards[:1], targets[:2]) == tr.rank(matrix[:2], targets[:2])
    refusal(ValueError, "^scores: .* expected 4 columns", tr.rank, [matrix, matrix.T], targets)
    refusal(ValueError, "^scores: expected a matrix", tr.rank, (matrix, matrix), targets)
