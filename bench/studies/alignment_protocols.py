"""One model of entity alignment under every protocol: candidates, similarities, CSLS, inference.

    python bench/studies/alignment_protocols.py DBP15K_FOLDER [--output FOLDER] [--pairs N]

The vectors of alignment_vectors.py, 30 % of the pairs known, are evaluated in all the ways that
papers choose between, and looked at: hubs, degrees, entities without a counterpart. --pairs tests
fewer pairs, for a quick look. Writes alignment_protocols.md and its pictures. Needs scipy and
matplotlib.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from alignment_pages import page, points
from alignment_protocols_page import (
    NAME,
    SIDES,
    candidates_table,
    curves_table,
    degrees_table,
    draw,
    hubs_table,
    inference_table,
    profiles_table,
    reports_table,
)
from alignment_vectors import Made, split, vectors
from numpy.typing import NDArray

import truerank as tr

Array = NDArray[Any]
Reports = dict[str, tr.Report]

HERE = Path(__file__).parent

WAYS = ("test", "unaligned", "all")
SIMILARITIES = ("cosine", "dot", "l1", "inverse_l1", "l2", "inverse_l2")
NEAREST = (1, 5, 10, 20)
USUAL = 10
SCORES: dict[str, int | None] = {"cosine": None, f"CSLS {USUAL}": USUAL}
METHODS: dict[str, dict[str, str]] = {
    "greedy, zh to en": {"method": "greedy"},
    "greedy, en to zh": {"method": "greedy", "direction": "right_to_left"},
    "mutual": {"method": "mutual"},
    "stable": {"method": "stable"},
    "optimal": {"method": "optimal"},
}


class Given(NamedTuple):
    """Data, splits and vectors."""

    data: Any
    train: Array
    test: Array
    made: Made  # of unit length
    raw: Made  # as the components gave them

    def report(self, way: str = "all", *, made: Made | None = None, **options: Any) -> tr.Report:
        """The report of one protocol."""
        known = None if way == "test" else {"train": self.train}
        vectors = self.made if made is None else made
        return tr.alignment.evaluate(*vectors, self.test, known=known, candidates=way, **options)

    @property
    def unaligned(self) -> tuple[Array, Array]:
        """All entities but those that were known in training; exclusive ones, too."""
        sizes = (self.data.left.size, self.data.right.size)
        left, right = (
            np.setdiff1d(np.arange(size), ids)
            for size, ids in zip(sizes, self.train.T, strict=True)
        )
        return left, right

    @property
    def reached(self) -> tuple[Array, Array]:
        """All entities that some known pair reaches: the others have zeros for a vector."""
        left, right = (np.flatnonzero(side.any(axis=1)) for side in self.made)
        return left, right

    @property
    def exclusive(self) -> Array:
        """Left entities that no pair has."""
        return np.setdiff1d(np.arange(self.data.left.size), self.data.pairs[:, 0])


class Inferred(NamedTuple):
    """What one method said, and how long it took."""

    alignment: Any
    agreed: Any
    seconds: float


def given_of(folder: Path, pairs: int | None) -> Given:
    """Read, split, make vectors."""
    data = tr.alignment.read_dbp15k(folder)
    parts = split(data)
    made, raw = (vectors(data, parts["train"], unit=unit) for unit in (True, False))
    return Given(data, parts["train"], parts["test"][:pairs], made, raw)


# -- what is measured ------------------------------------------------------------------------------


def by_candidates(given: Given) -> Reports:
    return {way: given.report(way) for way in WAYS}


def by_similarity(given: Given, made: Made) -> Reports:
    return {name: given.report(made=made, similarity=name) for name in SIMILARITIES}


def by_similarity_of_reached(given: Given) -> Reports:
    """Without the entities that have zeros, which are at one distance from all of unit length."""
    left, right = given.reached
    test = given.test[np.isin(given.test[:, 0], left) & np.isin(given.test[:, 1], right)]
    return {
        name: tr.alignment.evaluate(*given.made, test, candidates=(left, right), similarity=name)
        for name in ("cosine", "dot", "l2")
    }


def by_csls(given: Given, way: str) -> Reports:
    reports = {"plain": given.report(way)}
    return reports | {f"CSLS {k}": given.report(way, csls=k) for k in NEAREST}


def inferred(given: Given, ids: tuple[Array, Array]) -> dict[str, dict[str, Inferred]]:
    """By score and method, among these entities."""
    found: dict[str, dict[str, Inferred]] = {}
    for score, k in SCORES.items():
        found[score] = {}
        for name, options in METHODS.items():
            start = time.perf_counter()
            alignment = tr.alignment.infer(
                *given.made, left_ids=ids[0], right_ids=ids[1], csls=k, **options
            )
            seconds = time.perf_counter() - start
            agreed = alignment.evaluate(given.test)
            found[score][name] = Inferred(alignment, agreed, seconds)
            print(f"{len(ids[0])} x {len(ids[1])}, {score}, {name}: {seconds:.1f} s", flush=True)
    return found


def hubs(given: Given) -> dict[str, Any]:
    """Before and after CSLS, both ways, all entities that are not aligned in training."""
    return {
        f"{score}, {SIDES[side]}": tr.alignment.hubness(
            *given.made, k=(1, 10), direction=side, candidates=given.unaligned, csls=k
        )
        for side in list(SIDES)[:2]
        for score, k in SCORES.items()
    }


def profiles(given: Given) -> dict[str, Any]:
    """Similarities of the test entities, and of those without a counterpart, to their nearest."""
    who = {"with a counterpart": given.test[:, 0], "without": given.exclusive}
    return {
        name: tr.alignment.similarity_profile(
            *given.made, k=5, queries=ids, candidates=given.unaligned
        )
        for name, ids in who.items()
    }


def curves(given: Given) -> dict[str, Any]:
    """Entities without a counterpart told by a threshold."""
    return {
        f"{by}, {score}": tr.alignment.dangling(
            *given.made,
            given.exclusive,
            matched=given.test[:, 0],
            candidates=given.unaligned[1],
            by=by,
            csls=k,
        )
        for by in ("similarity", "margin")
        for score, k in SCORES.items()
    }


def degree_reports(given: Given) -> Reports:
    """By the sum of the degrees of both entities."""
    degrees = [
        tr.alignment.degrees(graph.triples, graph.size)
        for graph in (given.data.left, given.data.right)
    ]
    return {
        score: tr.alignment.by_degree(given.report(csls=k), *degrees, edges=EDGES)
        for score, k in SCORES.items()
    }


EDGES = (1, 6, 11, 16, 31, 61)  # OpenEA's, and further: the graphs are denser than theirs


def unlike(one: tr.Report, two: tr.Report) -> int:
    """How many tasks have other counts."""
    a, b = one.ranks, two.ranks
    if a.queries != b.queries or a.targets != b.targets:
        raise ValueError("unlike tasks")
    return int(((a.above != b.above) | (a.tied != b.tied)).sum())


# -- what is said ----------------------------------------------------------------------------------


def findings(given: Given, results: Mapping[str, Any]) -> list[str]:
    """What the numbers say."""
    ways, csls = results["candidates"], results["csls, all"]
    unit, raw, near = results["unit"], results["raw"], results["reached"]
    sizes = (given.data.left.size, given.data.right.size)
    zeros = [size - len(ids) for size, ids in zip(sizes, given.reached, strict=True)]
    f1 = {
        (place, score, name): one.agreed.f1
        for place in ("among test", "among unaligned")
        for score, methods in results[place].items()
        for name, one in methods.items()
    }
    after = f"CSLS {USUAL}"
    greedy, optimal = "greedy, zh to en", "optimal"
    hub = results["hubness"]
    first, scaled = (hub[f"{score}, zh to en"] for score in SCORES)
    curve = results["dangling"]["similarity, cosine"]
    trivial = 2 * curve.exclusive / (curve.entities + curve.exclusive)
    best = max(results["dangling"].items(), key=lambda item: item[1].average_precision)
    return [
        f"**Candidates.** Among the test entities hits@1 is {ways['test']['hits@1']:.4f}, among "
        f"all of the other graph {ways['all']['hits@1']:.4f}; without those known in training "
        f"{ways['unaligned']['hits@1']:.4f}. MR is {ways['test']['mr']:.0f}, "
        f"{ways['all']['mr']:.0f} and {ways['unaligned']['mr']:.0f}. AMRI is "
        f"{ways['test']['amri']:.4f}, {ways['all']['amri']:.4f} and "
        f"{ways['unaligned']['amri']:.4f}.",
        "**Similarities.** At unit length, cosine, dot and l2 give the same order except for "
        f"rounding, which changes the counts of {unlike(near['cosine'], near['dot']):,} of "
        f"{len(near['cosine'].ranks):,} tasks with dot and of "
        f"{unlike(near['cosine'], near['l2']):,} with l2. But over all entities l2 has hits@1 "
        f"{unit['l2']['hits@1']:.4f}, cosine {unit['cosine']['hits@1']:.4f}, and the counts of "
        f"{unlike(unit['cosine'], unit['l2']):,} of {len(unit['l2'].ranks):,} tasks differ: "
        f"{zeros[0]} and {zeros[1]} entities are not reached from any known pair, and their zero "
        "vectors lie at distance 1 from all others, nearer than any entity with a cosine below "
        "1/2. By cosine they are far. The bounded inverse 1 / (1 + d) gives the order of -d, "
        "except where rounding makes scores equal: in "
        f"{unlike(unit['l1'], unit['inverse_l1']):,} tasks with l1, and "
        f"{unlike(unit['l2'], unit['inverse_l2']):,} with l2. Without normalisation the vectors "
        f"have different lengths: hits@1 is {raw['cosine']['hits@1']:.4f} by cosine, "
        f"{raw['dot']['hits@1']:.4f} by dot, {raw['l2']['hits@1']:.4f} by l2.",
        f"**CSLS** among all entities: hits@1 {csls['plain']['hits@1']:.4f} plain, "
        + ", ".join(f"{csls[f'CSLS {k}']['hits@1']:.4f} (k = {k})" for k in NEAREST)
        + ".",
        "**Inference.** Among the test entities, which all have a counterpart, F1 rises from "
        f"{f1['among test', 'cosine', greedy]:.4f} (greedy, cosine) to "
        f"{f1['among test', after, greedy]:.4f} (greedy, CSLS) and "
        f"{f1['among test', after, optimal]:.4f} (optimal, CSLS). With the exclusive entities it "
        f"is {f1['among unaligned', 'cosine', greedy]:.4f}, "
        f"{f1['among unaligned', after, greedy]:.4f} and "
        f"{f1['among unaligned', after, optimal]:.4f}: entities without a counterpart are "
        "matched too. Optimal pairs hardly change with CSLS: where all are matched, the means "
        "add up to a constant, and only a choice among equal totals is left. Greedy search "
        "takes the lowest id of a tie, which the realistic rank does not count as a hit, so "
        "that its hits@1 is higher.",
        f"**Hubs.** By cosine {first.shares['0']:.1%} of the English entities are the nearest of "
        f"no entity, by CSLS {scaled.shares['0']:.1%}; {first.shares['5+']:.1%} and "
        f"{scaled.shares['5+']:.1%} are the nearest of five or more. The skewness of the "
        f"10-occurrence goes from {first[10].skewness:.2f} to {scaled[10].skewness:.2f}.",
        "**No counterpart.** Predicting it for all entities has precision "
        f"{curve.exclusive / curve.entities:.3f} and F1 {trivial:.3f}. The best F1 by similarity "
        f"is {curve.best_f1:.3f}, and the average precision {curve.average_precision:.3f}; the "
        f"best average precision has {best[0]}, {best[1].average_precision:.3f}. These vectors "
        "hardly tell which entities have no counterpart.",
    ]


def markdown(given: Given, results: Mapping[str, Any], seconds: float) -> str:
    """The page."""
    left, right = given.unaligned
    text = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        seconds=seconds,
        train=len(given.train),
        test=len(given.test),
        left=given.data.left.size,
        right=given.data.right.size,
        unaligned_left=len(left),
        unaligned_right=len(right),
        said=points(findings(given, results)),
        candidates=candidates_table(results["candidates"]),
        unit=reports_table("at unit length", results["unit"]),
        raw=reports_table("as they are", results["raw"]),
        csls_all=reports_table("among all", results["csls, all"]),
        csls_test=reports_table("among the test entities", results["csls, test"]),
        among_test=inference_table(results["among test"]),
        among_unaligned=inference_table(results["among unaligned"]),
        hubs=hubs_table(results["hubness"]),
        profiles=profiles_table(results["similarities"]),
        degrees=degrees_table(results["degrees"]),
        curves=curves_table(results["dangling"]),
    )
    return page(text)


TEXT = """# One model of entity alignment under every protocol

Made by `python bench/studies/alignment_protocols.py DBP15K_FOLDER`, with Python {python} and numpy
{numpy}, in {seconds:.0f} s. DBP15k zh-en: {left:,} and {right:,} entities, {train:,} pairs known
from training, {test:,} tested; the vectors of [alignment_vectors.py](alignment_vectors.md). Cosine,
candidates "all", realistic ranks, both directions together, unless stated otherwise.

## Results

{said}

## Candidates

"test": the entities of the test pairs. "unaligned": all entities but those of the pairs known from
training. "all": all entities of the other graph.

{candidates}

## Similarities

{unit}

{raw}

## CSLS

{csls_all}

{csls_test}

## Inference

Precision, recall and F1 of the pairs; hits@1 is the share of the test entities that are matched
with their counterpart, in the direction of greedy search, else from zh. Times are those of one run
beside other work.

Among the {test:,} and {test:,} entities of the test pairs:

{among_test}

Among the {unaligned_left:,} and {unaligned_right:,} that are not aligned in training, exclusive
ones included:

{among_unaligned}

## Hubs

How many entities a candidate is the nearest of: shares of the candidates, which are the entities
not aligned in training. Skewness, Robin Hood index and the largest hub are those of the ten
nearest.

![Candidates that are nobody's, one's or several entities' nearest](alignment_protocols_hubness.svg)

{hubs}

## Similarities of the nearest

![Similarities of the five nearest](alignment_protocols_similarities.svg)

{profiles}

## Degrees

The degrees of the two entities of a pair are added, as in OpenEA's paper.

![hits@1 by degree](alignment_protocols_degrees.svg)

{degrees}

## Entities without a counterpart

The exclusive entities of the Chinese graph against those of the test pairs; candidates are the
English entities that are not aligned in training.

![Precision, recall and F1 by threshold](alignment_protocols_dangling.svg)

{curves}
"""


def main(folder: Path, output: Path, pairs: int | None) -> None:
    """Measure, draw, write."""
    start = time.perf_counter()
    given = given_of(folder, pairs)
    tests = (np.sort(given.test[:, 0]), np.sort(given.test[:, 1]))
    results = {
        "candidates": by_candidates(given),
        "unit": by_similarity(given, given.made),
        "raw": by_similarity(given, given.raw),
        "reached": by_similarity_of_reached(given),
        "csls, all": by_csls(given, "all"),
        "csls, test": by_csls(given, "test"),
        "hubness": hubs(given),
        "similarities": profiles(given),
        "degrees": degree_reports(given),
        "dangling": curves(given),
        "among test": inferred(given, tests),
        "among unaligned": inferred(given, tests if pairs else given.unaligned),
    }
    draw(output, results)
    text = markdown(given, results, time.perf_counter() - start)
    (output / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--pairs", type=int)
    given_options = parser.parse_args()
    main(given_options.folder, given_options.output, given_options.pairs)
