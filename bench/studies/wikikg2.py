"""All of ogbl-wikikg2: exact, filtered ranks of both sides among 2.5 million entities.

    python bench/studies/wikikg2.py [--length 128] [--triples FOLDER] [--output FOLDER]

The triples are drawn by the sizes of the data set, with skewed degrees, or read from train.npy,
valid.npy and test.npy of a folder, (n, 3), which a user has made of it. Vectors are made, such that
the MRR is about a half. A hundredth of the test triples is counted. Counts of a thousand queries
are compared with those of their scores without bounds. Makes the table of wikikg2.md.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from pages import arguments, fill_page, machine, markdown_table

import truerank as tr

HERE = Path(__file__).parent
ENTITIES = 2_500_604
RELATIONS = 535
SIZES = {"train": 16_109_182, "valid": 429_456, "test": 598_543}
NEGATIVES = 500  # that OGB draws for each query
CHECKED = 500  # triples whose counts are compared, of both sides
PART = 100  # of the test triples, one is counted
BLOCK = 1 << 16  # vectors that are made at once
# Of the true entity's vector in a query, times its own standard deviation: the MRR is about .5.
PLANTED = 5.2
SPREAD = 1.2


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


class Vectors:
    """Made vectors: entities are normal, and a query is noise with some of its true entity."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.entities = np.random.default_rng(1).standard_normal((ENTITIES, length), np.float32)

    def queries(self, true: Any, seed: int) -> Any:
        """Make the query of each true entity, which has more or less of it."""
        rng = np.random.default_rng(seed)
        made = np.empty((len(true), self.length), np.float32)
        for first in range(0, len(true), BLOCK):
            some = slice(first, min(first + BLOCK, len(true)))
            share = rng.normal(PLANTED, SPREAD, (some.stop - first, 1)).astype(np.float32)
            share /= np.float32(self.length**0.5)
            noise = rng.standard_normal((some.stop - first, self.length), np.float32)
            made[some] = noise + share * self.entities[true[some]]
        return made


def sampled_mrr(ranks: tr.Ranks) -> float:
    """Return the MRR among sampled negatives: the number above is hypergeometric, and drawn so."""
    rng = np.random.default_rng(2)
    below = ranks.candidates - ranks.above - 1
    above = rng.hypergeometric(ranks.above, below, np.minimum(NEGATIVES, ranks.candidates - 1))
    return float((1 / (1 + above)).mean())


def check(part: Any, tails: Any, heads: Any, vectors: Vectors) -> None:
    """Stop unless some queries have the counts of an audit, which uses no bounds."""
    given = {"tail": tails, "head": heads, "entities": vectors.entities}
    got = part.evaluate_embeddings(**given).ranks
    expected = part.evaluate_embeddings(**given, audit=True).ranks
    for name in ("above", "tied", "candidates"):
        if not np.array_equal(getattr(got, name), getattr(expected, name)):
            raise SystemExit(f"{name}: counts differ")


def measure(task: Any, length: int) -> tuple[object, ...]:
    """Count all queries of a task by vectors of a length; return a line of the table."""
    vectors = Vectors(length)
    tails, heads = vectors.queries(task.test[:, 2], 3), vectors.queries(task.test[:, 0], 4)
    step = max(1, len(task.test) // CHECKED)
    check(task[::step], tails[::step], heads[::step], vectors)
    start = time.perf_counter()
    ranks = task.evaluate_embeddings(tails, head=heads, entities=vectors.entities).ranks
    seconds = time.perf_counter() - start
    queries = len(ranks.above)
    whole = seconds * 2 * SIZES["test"] / queries
    line = (length, f"{queries:,}", f"{seconds:.1f} s")
    line += (f"{whole:,.0f} s", f"{tr.report(ranks)['mrr']:.4f}", f"{sampled_mrr(ranks):.4f}")
    print(*line, flush=True)
    return line


def main(length: int, triples: str, output: Path) -> None:
    """Count, and write the page."""
    known = drawn_triples(np.random.default_rng(0))
    if triples:
        known = {name: np.load(Path(triples, f"{name}.npy")) for name in SIZES}
    test = known.pop("test")
    start = time.perf_counter()
    task = tr.link_prediction.Task(
        test, known=known, entities=ENTITIES, relations=RELATIONS, duplicates="drop", leaks="drop"
    )
    facts = f"{machine()}. The task took {time.perf_counter() - start:.1f} s "
    facts += f"to make, of triples that were {'read' if triples else 'drawn'}."
    print(facts, flush=True)
    lines = [measure(task[::PART], length)]
    heading = "length | queries | time | all 1,197,086 | MRR | MRR, 500 sampled"
    fill_page(HERE / "wikikg2.md", output, [markdown_table(heading, lines)], facts)


if __name__ == "__main__":
    main(**arguments(__doc__, length=128, triples="", output=HERE))
