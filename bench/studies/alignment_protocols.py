"""One model of entity alignment under every protocol: candidates, similarities, CSLS, inference.

    python bench/studies/alignment_protocols.py DBP15K_FOLDER [--output FOLDER] [--pairs N]

The embeddings of alignment_vectors.py, with 30 % of the pairs known, are evaluated in all ways that
papers choose between, and examined: hubs, degrees, entities without a counterpart. --pairs tests
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
from alignment_vectors import Embeddings, make_embeddings, split
from numpy.typing import NDArray
from pages import bullet_list, format_page
from scipy.stats import skew

import truerank as tr

Array = NDArray[Any]
Reports = dict[str, tr.Report]

HERE = Path(__file__).parent

CANDIDATES = ("test", "unaligned", "all")
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


class Study(NamedTuple):
    """The data, its splits, and the embeddings."""

    data: Any
    train: Array
    test: Array
    unit: Embeddings  # of unit length
    raw: Embeddings  # not normalised

    def report(
        self, among: str = "all", *, embeddings: Embeddings | None = None, **options: Any
    ) -> tr.Report:
        """Return the report of one protocol, ranked among these candidates."""
        known = None if among == "test" else {"train": self.train}
        pair = self.unit if embeddings is None else embeddings
        return tr.alignment.evaluate(*pair, self.test, known=known, candidates=among, **options)

    @property
    def unaligned(self) -> tuple[Array, Array]:
        """All entities but those known in training; exclusive ones are included."""
        sizes = (self.data.left.size, self.data.right.size)
        left, right = (
            np.setdiff1d(np.arange(size), ids)
            for size, ids in zip(sizes, self.train.T, strict=True)
        )
        return left, right

    @property
    def reached(self) -> tuple[Array, Array]:
        """All entities reached from some known pair; the vectors of the others are zero."""
        left, right = (np.flatnonzero(side.any(axis=1)) for side in self.unit)
        return left, right

    @property
    def exclusive(self) -> Array:
        """Left entities that are in no pair."""
        return np.setdiff1d(np.arange(self.data.left.size), self.data.pairs[:, 0])


class Inference(NamedTuple):
    """The alignment that one method infers, its agreement with the truth, and the seconds."""

    alignment: Any
    agreement: Any
    seconds: float


def prepare(folder: Path, pairs: int | None) -> Study:
    """Read the data, split it, and make the embeddings."""
    data = tr.alignment.read_dbp15k(folder)
    parts = split(data)
    unit, raw = (make_embeddings(data, parts["train"], unit=unit) for unit in (True, False))
    return Study(data, parts["train"], parts["test"][:pairs], unit, raw)


# -- measurements ----------------------------------------------------------------------------------


def by_candidates(study: Study) -> Reports:
    return {among: study.report(among) for among in CANDIDATES}


def by_similarity(study: Study, embeddings: Embeddings) -> Reports:
    return {name: study.report(embeddings=embeddings, similarity=name) for name in SIMILARITIES}


def by_similarity_of_reached(study: Study) -> Reports:
    """Leave out zero vectors, which have the same distance from all vectors of unit length."""
    left, right = study.reached
    test = study.test[np.isin(study.test[:, 0], left) & np.isin(study.test[:, 1], right)]
    return {
        name: tr.alignment.evaluate(*study.unit, test, candidates=(left, right), similarity=name)
        for name in ("cosine", "dot", "l2")
    }


def by_csls(study: Study, among: str) -> Reports:
    reports = {"plain": study.report(among)}
    return reports | {f"CSLS {k}": study.report(among, csls=k) for k in NEAREST}


def infer(study: Study, ids: tuple[Array, Array]) -> dict[str, dict[str, Inference]]:
    """Infer alignments among these entities, by score and method."""
    results: dict[str, dict[str, Inference]] = {}
    for score, k in SCORES.items():
        results[score] = {}
        for name, options in METHODS.items():
            start = time.perf_counter()
            alignment = tr.alignment.infer(
                *study.unit, left_ids=ids[0], right_ids=ids[1], csls=k, **options
            )
            seconds = time.perf_counter() - start
            agreement = alignment.evaluate(study.test)
            results[score][name] = Inference(alignment, agreement, seconds)
            print(f"{len(ids[0])} x {len(ids[1])}, {score}, {name}: {seconds:.1f} s", flush=True)
    return results


class Hubs(NamedTuple):
    """OpenEA's shares of figure 9, and how unevenly entities are among the ten most similar."""

    shares: dict[str, float]  # that are the most similar one of 0, 1, 2 to 4, 5 or more entities
    skewness: float
    robin_hood: float
    largest: int


def hubs(study: Study) -> dict[str, Hubs]:
    """Measure hubness before and after CSLS, in both directions, of entities not in training."""
    found = {}
    for side in list(SIDES)[:2]:
        for score, k in SCORES.items():
            near = tr.alignment.most_similar(
                *study.unit, k=10, direction=side, candidates=study.unaligned, csls=k
            )
            first, times = tr.alignment.hubness(near, 1), tr.alignment.hubness(near)
            shares = np.histogram(first, [0, 1, 2, 5, np.inf])[0] / len(first)
            found[f"{score}, {SIDES[side]}"] = Hubs(
                dict(zip(("0", "1", "2-4", "5+"), shares.tolist(), strict=True)),
                float(skew(times)),
                float(np.abs(times - times.mean()).sum() / (2 * times.sum())),
                int(times.max()),
            )
    return found


def profiles(study: Study) -> dict[str, Any]:
    """Similarities to the nearest, of the test entities and of those without a counterpart."""
    queries = {"with a counterpart": study.test[:, 0], "without": study.exclusive}
    return {
        name: tr.alignment.most_similar(*study.unit, k=5, queries=ids, candidates=study.unaligned)
        for name, ids in queries.items()
    }


def curves(study: Study) -> dict[str, Any]:
    """Find entities without a counterpart by a threshold."""
    return {
        f"{by}, {score}": tr.alignment.dangling(
            *study.unit,
            study.exclusive,
            matched=study.test[:, 0],
            candidates=study.unaligned[1],
            by=by,
            csls=k,
        )
        for by in ("similarity", "margin")
        for score, k in SCORES.items()
    }


def degree_reports(study: Study) -> Reports:
    """Reports by the sum of the degrees of both entities."""
    degrees = [
        tr.alignment.degrees(graph.triples, graph.size)
        for graph in (study.data.left, study.data.right)
    ]
    return {
        score: tr.alignment.by_degree(study.report(csls=k), *degrees, edges=EDGES)
        for score, k in SCORES.items()
    }


EDGES = (1, 6, 11, 16, 31, 61)  # OpenEA's and more: these graphs are denser than theirs


def differing(first: tr.Report, second: tr.Report) -> int:
    """Return how many tasks have different counts."""
    a, b = first.ranks, second.ranks
    if not (a.queries.same_as(b.queries) and a.targets.same_as(b.targets)):
        raise ValueError("the tasks differ")
    return int(((a.above != b.above) | (a.tied != b.tied)).sum())


# -- the page --------------------------------------------------------------------------------------


def summarise(study: Study, results: Mapping[str, Any]) -> list[str]:
    """Return the results in sentences."""
    among, csls = results["candidates"], results["csls, all"]
    unit, raw, near = results["unit"], results["raw"], results["reached"]
    sizes = (study.data.left.size, study.data.right.size)
    zeros = [size - len(ids) for size, ids in zip(sizes, study.reached, strict=True)]
    f1 = {
        (place, score, name): inference.agreement.f1
        for place in ("among test", "among unaligned")
        for score, methods in results[place].items()
        for name, inference in methods.items()
    }
    after = f"CSLS {USUAL}"
    greedy, optimal = "greedy, zh to en", "optimal"
    hub = results["hubness"]
    first, scaled = (hub[f"{score}, zh to en"] for score in SCORES)
    curve = results["dangling"]["similarity, cosine"]
    trivial = 2 * curve.exclusive / (curve.entities + curve.exclusive)
    best = max(results["dangling"].items(), key=lambda item: item[1].average_precision)
    return [
        f"**Candidates.** Among the test entities hits@1 is {among['test']['hits@1']:.4f}, among "
        f"all of the other graph {among['all']['hits@1']:.4f}; without those known in training "
        f"{among['unaligned']['hits@1']:.4f}. MR is {among['test']['mr']:.0f}, "
        f"{among['all']['mr']:.0f} and {among['unaligned']['mr']:.0f}. AMRI is "
        f"{among['test']['amri']:.4f}, {among['all']['amri']:.4f} and "
        f"{among['unaligned']['amri']:.4f}.",
        "**Similarities.** At unit length, cosine, dot and l2 give the same order except for "
        f"rounding, which changes the counts of {differing(near['cosine'], near['dot']):,} of "
        f"{len(near['cosine'].ranks):,} tasks with dot and of "
        f"{differing(near['cosine'], near['l2']):,} with l2. But over all entities l2 has hits@1 "
        f"{unit['l2']['hits@1']:.4f}, cosine {unit['cosine']['hits@1']:.4f}, and the counts of "
        f"{differing(unit['cosine'], unit['l2']):,} of {len(unit['l2'].ranks):,} tasks differ: "
        f"{zeros[0]} and {zeros[1]} entities are not reached from any known pair, and their zero "
        "vectors lie at distance 1 from all others, nearer than any entity with a cosine below "
        "1/2. By cosine they are far. The bounded inverse 1 / (1 + d) gives the order of -d, "
        "except where rounding makes scores equal: in "
        f"{differing(unit['l1'], unit['inverse_l1']):,} tasks with l1, and "
        f"{differing(unit['l2'], unit['inverse_l2']):,} with l2. Without normalisation the "
        f"vectors have different lengths: hits@1 is {raw['cosine']['hits@1']:.4f} by cosine, "
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
        f"10-occurrence goes from {first.skewness:.2f} to {scaled.skewness:.2f}.",
        "**No counterpart.** Predicting it for all entities has precision "
        f"{curve.exclusive / curve.entities:.3f} and F1 {trivial:.3f}. The best F1 by similarity "
        f"is {curve.best_f1:.3f}, and the average precision {curve.average_precision:.3f}; the "
        f"best average precision has {best[0]}, {best[1].average_precision:.3f}. These vectors "
        "hardly tell which entities have no counterpart.",
    ]


def markdown(study: Study, results: Mapping[str, Any], seconds: float) -> str:
    """Return the page."""
    left, right = study.unaligned
    text = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        seconds=seconds,
        train=len(study.train),
        test=len(study.test),
        left=study.data.left.size,
        right=study.data.right.size,
        unaligned_left=len(left),
        unaligned_right=len(right),
        summary=bullet_list(summarise(study, results)),
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
    return format_page(text)


TEXT = """# One model of entity alignment under every protocol

Made by `python bench/studies/alignment_protocols.py DBP15K_FOLDER`, with Python {python} and numpy
{numpy}, in {seconds:.0f} s. DBP15k zh-en: {left:,} and {right:,} entities, {train:,} pairs known
from training, {test:,} tested; the vectors of [alignment_vectors.py](alignment_vectors.md). Cosine,
candidates "all", realistic ranks, both directions together, unless stated otherwise.

## Results

{summary}

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
    """Measure, draw, and write the page."""
    start = time.perf_counter()
    study = prepare(folder, pairs)
    tests = (np.sort(study.test[:, 0]), np.sort(study.test[:, 1]))
    results = {
        "candidates": by_candidates(study),
        "unit": by_similarity(study, study.unit),
        "raw": by_similarity(study, study.raw),
        "reached": by_similarity_of_reached(study),
        "csls, all": by_csls(study, "all"),
        "csls, test": by_csls(study, "test"),
        "hubness": hubs(study),
        "similarities": profiles(study),
        "degrees": degree_reports(study),
        "dangling": curves(study),
        "among test": infer(study, tests),
        "among unaligned": infer(study, tests if pairs else study.unaligned),
    }
    draw(output, results)
    text = markdown(study, results, time.perf_counter() - start)
    (output / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--pairs", type=int)
    given_options = parser.parse_args()
    main(given_options.folder, given_options.output, given_options.pairs)
