"""Time and memory of the exact 100 nearest of 1,000 queries, in a mapped file of bytes.

    python bench/studies/ground_truth.py FOLDER [--rows 10000000] [--rounds 2] [--output FOLDER]

Writes 10,000,000 vectors of 128 bytes to FOLDER (1.3 GB), and removes them. Finds the nearest in a
tenth of the rows and in all, with one thread, and computes what 10^9 rows and 10,000 queries take.
Makes the tables of ground_truth.md.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from pages import arguments, fill_page, machine, markdown_table

import truerank as tr

HERE = Path(__file__).parent
QUERIES, DIM, K = 1_000, 128, 100
BLOCK = 1 << 20  # rows that are drawn, or compared, at once
CLUSTERS = 200
CHECKED = 5  # queries whose nearest are found again
LARGE_ROWS, LARGE_QUERIES = 10**9, 10_000


def draw(rng: Any, centres: Any, rows: int) -> Any:
    """Return vectors in clusters, whole numbers from 0 to 255, most of them small, as SIFT's."""
    vectors = rng.standard_normal((rows, DIM), dtype=np.float32) * np.float32(0.3)
    vectors += centres[rng.integers(0, CLUSTERS, rows)]
    return np.rint(np.minimum(np.abs(vectors) * 32, 255)).astype("u1")


def write(path: Path, rows: int) -> Any:
    """Write entities in big-ann's layout, rows and width ahead of them; return queries."""
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((CLUSTERS, DIM), dtype=np.float32)
    with path.open("wb") as file:
        np.array([rows, DIM], "<u4").tofile(file)
        for start in range(0, rows, BLOCK):
            draw(rng, centres, min(BLOCK, rows - start)).tofile(file)
    return draw(rng, centres, QUERIES)


class AnonymousMemory(threading.Thread):
    """The most memory of this process, without pages of files, while it is watched."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.ended = threading.Event()

    @staticmethod
    def resident() -> int:
        """Return the bytes that are resident now."""
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        (line,) = (line for line in lines if line.startswith("RssAnon"))
        return 1024 * int(line.split()[1])

    def run(self) -> None:
        """Look twenty times a second."""
        while not self.ended.wait(0.05):
            self.most = max(self.most, self.resident())


def check(queries: Any, entities: Any, ids: Any) -> None:
    """Compare the distances of some queries' ids with those of all rows, which are exact."""
    wide = queries[:CHECKED].astype(np.float32)
    distances = np.empty((CHECKED, len(entities)), np.float32)
    for start in range(0, len(entities), BLOCK):
        block = entities[start : start + BLOCK].astype(np.float32)
        squares = np.einsum("ij,ij->i", block, block)
        distances[:, start : start + BLOCK] = squares - 2 * (wide @ block.T)
    expected = np.sort(np.partition(distances, K - 1, axis=1)[:, :K], axis=1)
    np.testing.assert_array_equal(np.take_along_axis(distances, ids[:CHECKED], axis=1), expected)


def measure(queries: Any, entities: Any, rounds: int) -> tuple[float, int]:
    """Return the least seconds of the processor, and the most memory."""
    used = []
    most = []
    for _ in range(rounds):
        memory = AnonymousMemory()
        memory.start()
        start = time.thread_time()
        top = tr.topk_embeddings(queries, entities, K, similarity="sql2", threads=1)
        used.append(time.thread_time() - start)
        memory.ended.set()
        memory.join()
        most.append(memory.most)
        print(f"{len(entities):,}: {used[-1]:.1f} s, {size(most[-1])}", flush=True)
    check(queries, entities, top.ids)
    return min(used), max(most)


def size(nbytes: float) -> str:
    """Return bytes as a reader says them."""
    return f"{nbytes / 1e9:,.0f} GB" if nbytes >= 1e9 else f"{nbytes / 1e6:,.0f} MB"


def main(folder: Path, rows: int, rounds: int, output: Path) -> None:
    """Measure and write the page."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place, "base.u8bin")
        queries = write(path, rows)
        entities = np.memmap(path, "u1", "r", offset=8, shape=(rows, DIM))
        before = AnonymousMemory.resident()
        table = []
        for count in (rows // 10, rows):
            seconds, most = measure(queries, entities[:count], rounds)
            rate = QUERIES * count * DIM / seconds / 1e9
            used = f"{seconds:.1f} s", f"{rate:.1f} G/s", size(most - before)
            table.append([f"{count:,}", f"{QUERIES:,}", *used])
        del entities
    hours = LARGE_ROWS * LARGE_QUERIES * DIM / rate / 1e9 / 3600
    growth = (most - before) * LARGE_QUERIES / QUERIES
    large = [
        ["truerank, from the map", f"{hours:.0f}", size(growth)],
        ["faiss, a flat index", "", size(LARGE_ROWS * DIM * 4)],
        ["faiss, a flat index of bytes", "", size(LARGE_ROWS * DIM)],
        ["numpy, the distances of one query", "", size(LARGE_ROWS * 4)],
    ]
    heading = "entities | queries | processor | rate | memory"
    tables = [markdown_table(heading, table, 0)]
    tables.append(
        markdown_table("10^9 entities, 10,000 queries | hours of one core | memory", large)
    )
    fill_page(HERE / "ground_truth.md", output, tables, f"{machine()}; the least of {rounds} runs.")


if __name__ == "__main__":
    main(**arguments(__doc__, "folder", rows=10_000_000, rounds=2, output=HERE))
