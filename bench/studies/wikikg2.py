"""All of ogbl-wikikg2: exact, filtered ranks of both sides among 2.5 million entities.

    python bench/studies/wikikg2.py [--lengths 128 512] [--triples FOLDER] [--output FOLDER]

The triples are drawn by the sizes of the data set, with skewed degrees, or read from train.npy,
valid.npy and test.npy of a folder, (n, 3), which a user has made of it. Vectors are made, such that
the MRR is about a half. With a device of CUDA, all is counted there, from vectors that are there;
without one, a hundredth of the test triples on the processor, at the first of the lengths. Counts
of a thousand queries are compared with those of the processor, or of its scores without bounds.
Writes wikikg2.md.
"""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import arguments, format_page, markdown_table

import truerank as tr

HERE = Path(__file__).parent
ENTITIES = 2_500_604
RELATIONS = 535
SIZES = {"train": 16_109_182, "valid": 429_456, "test": 598_543}
NEGATIVES = 500  # that OGB draws for each query
CHECKED = 500  # triples whose counts are compared, of both sides
PART = 100  # of the test triples, one is counted on a processor
BLOCK = 1 << 16  # vectors that are made at once
# Of the true entity's vector in a query, times its own standard deviation: the MRR is about .5.
PLANTED = 5.2
SPREAD = 1.2


class Outcome(NamedTuple):
    """What counting one length of vectors took and gave."""

    length: int
    queries: int
    seconds: float
    mrr: float
    sampled: float
    place: str


def drawn_triples(rng: np.random.Generator) -> dict[str, Any]:
    """Draw distinct triples: heads, relations and tails of skewed degrees."""
    total = sum(SIZES.values())
    drawn = total + total // 2
    powers = (3.0, 3.0, 4.0)
    limits = (ENTITIES, RELATIONS, ENTITIES)
    heads, relations, tails = (
        (limit * rng.random(drawn) ** power).astype(np.int64)
        for power, limit in zip(powers, limits, strict=True)
    )
    keys = np.unique((heads * RELATIONS + relations) * ENTITIES + tails)
    if len(keys) < total:
        raise SystemExit(f"{len(keys):,} distinct triples were drawn, fewer than {total:,}")
    rng.shuffle(keys)
    pairs, tails = np.divmod(keys[:total], ENTITIES)
    triples = np.stack([pairs // RELATIONS, pairs % RELATIONS, tails], axis=1)
    ends = np.cumsum(list(SIZES.values()))
    return dict(zip(SIZES, np.split(triples, ends[:-1]), strict=True))


def read_triples(folder: Path) -> dict[str, Any]:
    """Read the triples that a user has."""
    return {name: np.load(folder / f"{name}.npy") for name in SIZES}


class Vectors:
    """Made vectors: entities are normal, and a query is noise with some of its true entity."""

    def __init__(self, length: int, device: str | None) -> None:
        self.length = length
        self.device = device
        rng = np.random.default_rng(1)
        self.entities = self.empty(ENTITIES)
        for first in range(0, ENTITIES, BLOCK):
            some = slice(first, min(first + BLOCK, ENTITIES))
            self.entities[some] = self.normal(rng, some.stop - first)

    def empty(self, size: int) -> Any:
        """Return vectors that are not set."""
        if self.device is None:
            return np.empty((size, self.length), np.float32)
        import torch

        return torch.empty((size, self.length), device=self.device)

    def normal(self, rng: np.random.Generator, size: int) -> Any:
        """Draw vectors: on a device by torch, with a seed of the generator."""
        if self.device is None:
            return rng.standard_normal((size, self.length), np.float32)
        import torch

        generator = torch.Generator(self.device).manual_seed(int(rng.integers(1 << 40)))
        return torch.randn((size, self.length), device=self.device, generator=generator)

    def queries(self, true: Any, seed: int) -> Any:
        """Make the query of each true entity, which has more or less of it."""
        rng = np.random.default_rng(seed)
        made = self.empty(len(true))
        for first in range(0, len(true), BLOCK):
            some = slice(first, min(first + BLOCK, len(true)))
            share = rng.normal(PLANTED, SPREAD, (some.stop - first, 1)).astype(np.float32)
            share /= np.float32(self.length**0.5)
            ids = true[some]
            if self.device is not None:
                import torch

                share, ids = (torch.from_numpy(x).to(self.device) for x in (share, ids))
            made[some] = self.normal(rng, some.stop - first) + share * self.entities[ids]
        return made


def sampled_mrr(ranks: tr.Ranks) -> float:
    """Return the MRR among sampled negatives: the number above is hypergeometric, and drawn so."""
    rng = np.random.default_rng(2)
    below = ranks.candidates - ranks.above - 1
    above = rng.hypergeometric(ranks.above, below, np.minimum(NEGATIVES, ranks.candidates - 1))
    return float((1 / (1 + above)).mean())


def check(part: Any, tails: Any, heads: Any, vectors: Vectors) -> None:
    """Stop unless some queries have the counts of the processor, or of its scores."""
    got = part.evaluate_embeddings(tails, head=heads, entities=vectors.entities).ranks
    options: dict[str, Any] = {"audit": vectors.device is None}
    given = {"tail": tails, "head": heads, "entities": vectors.entities}
    if vectors.device is not None:
        given = {name: tensor.cpu().numpy() for name, tensor in given.items()}
    expected = part.evaluate_embeddings(**given, **options).ranks
    for name in ("above", "tied", "candidates"):
        if not np.array_equal(getattr(got, name), getattr(expected, name)):
            raise SystemExit(f"{name}: counts differ")


def measure(task: Any, length: int, device: str | None) -> Outcome:
    """Count all queries of a task by vectors of a length, once to warm up if there is a device."""
    vectors = Vectors(length, device)
    test = task.test
    tails = vectors.queries(test[:, 2], 3)
    heads = vectors.queries(test[:, 0], 4)
    step = max(1, len(test) // CHECKED)
    check(task[::step], tails[::step], heads[::step], vectors)
    start = time.perf_counter()
    ranks = task.evaluate_embeddings(tails, head=heads, entities=vectors.entities).ranks
    seconds = time.perf_counter() - start
    place = "the processor" if ranks.protocol.device is None else ranks.protocol.device
    mrr = float(tr.report(ranks)["mrr"])
    return Outcome(length, len(ranks.above), seconds, mrr, sampled_mrr(ranks), place)


def name_of(device: str | None) -> str:
    """Return what a machine calls its device or processor."""
    if device is not None:
        import torch

        return str(torch.cuda.get_device_name())
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.processor()


def page_of(outcomes: list[Outcome], device: str | None, task_seconds: float, real: bool) -> str:
    """Return the page: what was counted, a table, and what it leaves out."""
    rows = []
    for outcome in outcomes:
        whole = outcome.seconds * 2 * SIZES["test"] / outcome.queries
        times = (f"{outcome.seconds:.1f} s", f"{whole:,.0f} s")
        means = (f"{outcome.mrr:.4f}", f"{outcome.sampled:.4f}")
        rows.append((outcome.length, outcome.place, f"{outcome.queries:,}", *times, *means))
    heading = "length | counted by | queries | time | all 1,197,086 | MRR | MRR, 500 sampled"
    without = (
        "No device was there: a hundredth of the test triples was counted on the processor, and "
        "the time of all of them is that times a hundred, which was not measured. Nothing here "
        "says how long a device takes."
    )
    what = "The triples are those of the data set" if real else "The triples are drawn by its sizes"
    return format_page(f"""
# ogbl-wikikg2, all of it

Made by `python bench/studies/wikikg2.py`, with Python {platform.python_version()} and numpy
{np.__version__}, on {name_of(device)}, which others may have used, too.

Exact ranks of both sides of the test split, among all {ENTITIES:,} entities, with all known triples
filtered, by `dot`. {what}; known triples have skewed degrees. Vectors are made: normal
entities, and queries with some of the true entity in noise. {"" if device else without}

{markdown_table(heading, rows, 2)}

The task, with {sum(SIZES.values()):,} triples, took {task_seconds:.1f} s to make.
The last column is the MRR
among {NEGATIVES} negatives, drawn anew for each query as OGB draws them once: of the exact
counts, by the hypergeometric distribution that sampling has. Counts of {2 * CHECKED:,} queries were
compared with {"those of the processor" if device else "those of all scores, without bounds"}: none
differed.
""")


def main() -> None:
    """Count, and write the page."""
    options = arguments(__doc__, lengths=[128, 512], triples="", output=str(HERE))
    device = None
    try:
        import torch

        if torch.cuda.is_available():
            device = "cuda"
    except ImportError:
        pass
    known = (
        read_triples(Path(options["triples"]))
        if options["triples"]
        else drawn_triples(np.random.default_rng(0))
    )
    test = known.pop("test")
    start = time.perf_counter()
    task = tr.link_prediction.Task(
        test, known=known, entities=ENTITIES, relations=RELATIONS, duplicates="drop", leaks="drop"
    )
    task_seconds = time.perf_counter() - start
    print(f"task: {task_seconds:.1f} s", flush=True)
    lengths = options["lengths"]
    if device is None:
        task = task[::PART]
        lengths = lengths[:1]
    outcomes = []
    for length in lengths:
        outcomes.append(measure(task, length, device))
        print(outcomes[-1], flush=True)
    page = page_of(outcomes, device, task_seconds, bool(options["triples"]))
    Path(options["output"], "wikikg2.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
