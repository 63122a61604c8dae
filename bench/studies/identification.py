"""Identification: 100,000 probes in a gallery of 10,000, beside the ways of numpy and faiss.

    python bench/studies/identification.py [--probes 100000] [--gallery 10000] [--d 512]

Vectors are made. Success@1 and map need the places of all images of a person; faiss gives the first
ones alone, from which success@1 follows. Each way runs in a process of its own; prints a table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from pages import markdown_table

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness.memory import PeakMemory

BLOCK = 2000  # probes whose scores numpy holds at a time


def make(probes: int, gallery: int, d: int) -> tuple[Any, Any, Any]:
    """Return the vectors of probes and gallery, two images a person, and each probe's person."""
    rng = np.random.default_rng(0)
    persons = rng.integers(0, gallery // 2, probes)
    centres = rng.standard_normal((gallery // 2, d), np.float32)
    images = centres.repeat(2, 0) + 2 * rng.standard_normal((gallery, d), np.float32)
    return centres[persons] + 2 * rng.standard_normal((probes, d), np.float32), images, persons


def by_counting(probes: Any, gallery: Any, persons: Any) -> list[float]:
    import truerank as tr

    rows, columns = np.arange(len(probes)).repeat(2), (2 * persons[:, None] + [0, 1]).ravel()
    task = tr.retrieval.Task((rows, columns), entities=len(gallery))
    report = task.evaluate_embeddings(probes, gallery, similarity="dot")
    return [report["success@1"], report["map"]]


def by_sorting(probes: Any, gallery: Any, persons: Any) -> list[float]:
    firsts, means = [], []
    for start in range(0, len(probes), BLOCK):
        block = slice(start, start + BLOCK)
        order = np.argsort(-(probes[block] @ gallery.T), axis=1)
        right = order // 2 == persons[block, None]
        firsts.append(right[:, 0])
        places = np.nonzero(right)[1].reshape(-1, 2) + 1
        means.append((np.arange(1, 3) / places).mean(axis=1))
    return [float(np.concatenate(x).mean()) for x in (firsts, means)]


def by_faiss(probes: Any, gallery: Any, persons: Any) -> list[float]:
    import faiss

    index = faiss.IndexFlatIP(gallery.shape[1])
    index.add(gallery)
    return [float((index.search(probes, 1)[1][:, 0] // 2 == persons).mean())]


WAYS = {"truerank": by_counting, "numpy, argsort": by_sorting, "faiss, the first alone": by_faiss}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("probes", 100_000), ("gallery", 10_000), ("d", 512)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        vectors = make(options.probes, options.gallery, options.d)
        peak, start = PeakMemory(), time.perf_counter()
        values = WAYS[options.way](*vectors)
        print(json.dumps([time.perf_counter() - start, peak.growth(), *values]))
        return
    rows = []
    for way in WAYS:
        command = [sys.executable, *sys.argv, "--way", way]
        seconds, size, *values = json.loads(subprocess.check_output(command))
        figures = [f"{value:.4f}" for value in values] + [""] * (2 - len(values))
        rows.append([way, f"{seconds:.1f}", f"{size / 1e6:,.0f}", *figures])
    print(markdown_table(["way", "seconds", "MB", "success@1", "map"], rows))


if __name__ == "__main__":
    main()
