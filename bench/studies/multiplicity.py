"""How often families of questions have a false finding: max-T, Holm, Friedman and Nemenyi.

    python bench/studies/multiplicity.py [--quick] [--families N]

Families of comparisons are drawn thousands of times from models that do not differ, or of which
some differ, and those with one or more false findings at 5 % are counted. The figures of a full run
are in multiplicity.md, which this script writes. It takes some minutes on one core.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from pages import bullet_list, format_page, markdown_table

from truerank import Ranks
from truerank.inference import JointComparison, friedman, max_t
from truerank.inference.multiplicity.corrections import holm

ALPHA = 0.05
RESAMPLES = 499
CANDIDATES = 10**9
METRICS = ("mrr", "mr", "gmr", "hits@1", "hits@3", "hits@10")
Generator = np.random.Generator
Drawn = tuple[dict[str, Ranks], dict[str, Any]]


class Family(NamedTuple):
    """A family of comparisons, some or all of which have a true null hypothesis."""

    name: str
    draw: Callable[[Generator], Drawn]
    is_true: Callable[[JointComparison], bool] = lambda row: True


def log_uniform(rng: Generator, tasks: int) -> np.ndarray:
    """How hard the tasks are: the middle of their ranks, from 1 to 1,000."""
    return np.exp(rng.random(tasks) * np.log(1000))


def model(rng: Generator, hard: np.ndarray, factor: float = 1.0, **labels: Any) -> Ranks:
    """A model whose ranks lie about the middle of each task; a larger factor is worse."""
    ranks = np.maximum(1, hard * factor * np.exp(rng.normal(0, 1, len(hard)))).astype(np.int64)
    return Ranks(ranks - 1, np.ones(len(hard), dtype=np.int64), CANDIDATES, **labels)


def two_models(tasks: int, factor: float = 1.0) -> Callable[[Generator], Drawn]:
    """Two models in six metrics."""

    def draw(rng: Generator) -> Drawn:
        hard = log_uniform(rng, tasks)
        return {"a": model(rng, hard), "b": model(rng, hard, factor)}, {"metrics": METRICS}

    return draw


def clustered(rng: Generator) -> Drawn:
    """Two models in six metrics; queries of Pareto's sizes, whose tasks share an effect."""
    sizes = np.minimum(np.ceil(rng.pareto(1.2, 100) + 0.5), 100).astype(int)
    queries = np.repeat(np.arange(100), sizes)
    hard = log_uniform(rng, 100)[queries]
    effects = np.exp(rng.normal(0, 1, (2, 100)))[:, queries]
    labels = {"queries": queries, "targets": np.arange(len(queries))}
    models = (model(rng, hard * effect, **labels) for effect in effects)
    return dict(zip("ab", models, strict=True)), {"metrics": METRICS}


def grouped(factor: float) -> Callable[[Generator], Drawn]:
    """Two models in the groups of Zipf's sizes of 400 tasks; they may differ in groups 1 and 2."""

    def draw(rng: Generator) -> Drawn:
        hard, groups = log_uniform(rng, 400), np.minimum(rng.zipf(1.5, 400), 20)
        worse = hard * np.where(groups <= 2, factor, 1.0)
        return {"a": model(rng, hard), "b": model(rng, worse)}, {"groups": groups}

    return draw


def several(number: int, tasks: int, factor: float = 1.0) -> Callable[[Generator], Drawn]:
    """All pairs of several models by mrr; the first may be worse."""

    def draw(rng: Generator) -> Drawn:
        hard = log_uniform(rng, tasks)
        return {str(i): model(rng, hard, 1.0 if i else factor) for i in range(number)}, {}

    return draw


def one_winner(rng: Generator) -> Drawn:
    """All pairs of five models by hits@1, where one of them has rank 1 in each of 20 tasks."""
    winner = rng.integers(0, 5, 20)
    made = {str(i): Ranks((winner != i).astype(int), np.ones(20, int), 10) for i in range(5)}
    return made, {"metrics": ["hits@1"]}


FAMILIES = (
    *(Family(f"two models, six metrics, {n} tasks", two_models(n)) for n in (12, 30, 100)),
    Family("two models, six metrics, 100 queries of Pareto's sizes", clustered),
    Family("two models, 20 groups of Zipf's sizes, 400 tasks", grouped(1.0)),
    Family(
        "the same, which differ in two of the groups",
        grouped(3.0),
        lambda x: x.group not in ("1", "2"),
    ),
    *(
        Family(f"{k} models, all pairs, {n} tasks", several(k, n))
        for k, n in ((3, 8), (3, 100), (5, 8), (5, 100))
    ),
    Family("5 models, 100 tasks, one is worse", several(5, 100, 10.0), lambda x: x.name_a != "0"),
    Family("5 models, 20 tasks, one wins in each", one_winner),
)
DIFFERENT = (
    Family("six metrics, 30 tasks, ranks 1.5 times as high", two_models(30, 1.5)),
    Family("six metrics, 100 tasks, ranks 1.3 times as high", two_models(100, 1.3)),
    Family("20 groups, ranks 3 times as high in two of them", grouped(3.0)),
)


def findings(family: Family, families: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Which comparisons of each family have a true hypothesis, and which each method rejects."""
    rng = np.random.default_rng(seed)
    for _ in range(families):
        models, options = family.draw(rng)
        rows = max_t(models, resamples=RESAMPLES, seed=int(rng.integers(1 << 30)), **options)
        p = [row.p_value for row in rows]
        rejected = np.array([p, holm(p), [row.p_max_t for row in rows]]) <= ALPHA
        yield np.array([family.is_true(row) for row in rows]), rejected


def errors(families: int) -> list[list[str]]:
    """The share of families with one or more false findings: without correction, Holm, max-T."""
    rows = []
    for seed, family in enumerate(FAMILIES):
        false = [
            (rejected & true).any(axis=1) for true, rejected in findings(family, families, seed)
        ]
        rows.append([family.name, *(f"{share:.1f}" for share in 100 * np.mean(false, axis=0))])
    return rows


def power_table(families: int) -> str:
    """The mean number of findings where the models differ."""
    rows = []
    for seed, family in enumerate(DIFFERENT):
        found = [rejected.sum(axis=1) for _, rejected in findings(family, families, seed)]
        rows.append([family.name, *(f"{mean:.2f}" for mean in np.mean(found, axis=0)[1:])])
    return markdown_table("family | Holm | max-T", rows)


SIZES = ((3, 4), (3, 8), (3, 20), (4, 5), (4, 15), (5, 4), (5, 12), (6, 5), (6, 15), (10, 3))
SIZES += ((10, 8), (10, 20), (20, 5))


def data_sets(families: int) -> list[list[str]]:
    """The share of tables of equal models that Friedman's and Nemenyi's tests reject."""
    rows = []
    for k, n in SIZES:
        rng = np.random.default_rng(100 * k + n)
        rejected = []
        for i in range(families):
            values = {str(i): dict(enumerate(rng.random(k).tolist())) for i in range(n)}
            if not i:
                law = friedman(values)
                limit, exact = law.critical_difference(), law.p_exact == law.p_exact
            found = friedman(values, exact=False)
            p = law._law.square_tail(int((found._sums**2).sum())) if exact else np.nan
            ranks = found.mean_ranks.values()
            apart = max(ranks) - min(ranks) >= limit - 1e-9
            tests = (found.p_chi_squared <= ALPHA, found.p_f <= ALPHA, p <= ALPHA, apart)
            rejected.append(tests)
        shares = [f"{share:.1f}" for share in 100 * np.mean(rejected, axis=0)]
        rows.append(
            [f"{k} models, {n} data sets", *shares[:2], shares[2] if exact else "", shares[3]]
        )
    return rows


def spread(rows: Sequence[Sequence[str]], column: int) -> str:
    """The least and the largest share of a column."""
    found = [float(row[column]) for row in rows if row[column]]
    return f"{min(found):.1f} to {max(found):.1f} %"


def page(families: int) -> str:
    """Write the page."""
    false, ranked = errors(families), data_sets(families)
    results = [
        f"**max-T holds the family-wise error**: {spread(false, 3)} of the families have a false "
        "finding at 5 %. The correction is exact for two models, and an approximation for several, "
        f"of which one that wins alone in each task is the worst case. Holm's rule rejects fewer "
        f"than it may, {spread(false, 2)}, since it does not know that the questions are alike.",
        f"**Uncorrected p-values do not hold it**: {spread(false, 1)}.",
        f"**Friedman's test by F rejects a little too often**, {spread(ranked, 2)}; by chi-squared "
        f"{spread(ranked, 1)}, too rarely for many models on few data sets. The exact law, which "
        f"`friedman` takes for small tables, holds ({spread(ranked, 3)}), and so does Nemenyi's "
        f"test ({spread(ranked, 4)}).",
    ]
    heading = "family | uncorrected, % | Holm, % | max-T, %"
    tests = "table | chi-squared, % | F, % | exact, % | Nemenyi, %"
    return format_page(
        f"""# How often many questions have a false finding

Made by `python bench/studies/multiplicity.py`, with Python {platform.python_version()} and numpy
{np.__version__}. Each row has {families:,} families, {RESAMPLES} resamples each: a share of 5 % is
known to within {100 * 1.96 * (0.05 * 0.95 / families) ** 0.5:.1f}.

## Results

{bullet_list(results)}

## Families of comparisons

Percentage of families with one or more false findings at 5 %. Tasks have log-uniform difficulty
from 1 to 1,000, about which the ranks of all models are log-normal. Units are tasks, or queries
where these repeat.

{markdown_table(heading, false)}

## How much is found

Mean number of findings where the models differ.

{power_table(families)}

## Many models over many data sets

Percentage of tables of equal models that are rejected at 5 %; of Nemenyi's test those in which any
two models are told apart, by the exact law where there is one.

{markdown_table(tests, ranked)}
"""
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study; a full run writes its page, a quick one prints it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 families, printed")
    parser.add_argument("--families", type=int, default=2000)
    options = parser.parse_args(arguments)
    text = page(20 if options.quick else options.families)
    if options.quick:
        print(text)
    else:
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
