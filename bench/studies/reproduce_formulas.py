"""The papers' formulas as they are printed, evaluated for one model beside the exact values.

The model is TuckER on Kinships, unfiltered for the formulas that suppose one number of candidates:
104 candidates, 2,148 tasks, and the metrics that the authors publish.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from reproduce_figures import Figure, Range, Reason, read_table

import truerank as tr

N, K = 104, 10
CONTINUOUS = "the law of a continuous rank on [1, N]; ranks are whole numbers"
STAND_IN = f"ln N / (N - 1), for H_N / N: {CONTINUOUS}"
NEGATIVE = f"lacks a square, and is below 0; with it, it is {CONTINUOUS}"
# where, of what, as printed, its value, the exact value; what is amiss, the value once it is mended
Formula = tuple[str, str, str, float, float, str, float | None]


def formulas(_: Path) -> Iterator[Figure]:
    """Every numbered formula for an expectation, a variance or an adjusted metric."""
    framework = list(expected())
    framework += adjusted()
    every = {"On the Ambiguity": ambiguity(), "A Unified Framework": framework}
    for source, rows in every.items():
        for place, of, printed, value, exact, amiss, mended in rows:
            if mended is not None and not math.isclose(mended, exact, rel_tol=1e-12):
                raise ValueError(f"{source}, {place}: mended {mended}, exact {exact}")
            given = Range.at(value)
            ours = Range.at(exact)
            reasons = ()
            if amiss == STAND_IN:
                reasons = (Reason(amiss, given),)
            elif amiss:
                reasons = (Reason(amiss, None),)
            text = f"{printed} = {value:.6g}"
            figure = Figure(source, "formulas", place, of, text, "counts", ours, stands_for=given)
            yield figure._replace(reasons=reasons)


def row(
    place: str,
    of: str,
    printed: str,
    value: float,
    exact: float,
    *,
    amiss: str = "",
    mended: float | None = None,
) -> Formula:
    """Return a formula, which may be right."""
    return place, of, printed, value, exact, amiss, mended


RUNS = {(row["dataset"], row["model"]): row for row in read_table("unified_framework.tsv")}
PUBLISHED = {name: float(RUNS["kinships", "tucker"][name]) for name in ("mr", "mrr", "hits@10")}
MR, MRR, HITS = PUBLISHED.values()
TASKS = int(RUNS["kinships", "tucker"]["tasks"])
ONE = {name: tr.chance(name, ([N], [1])) for name in PUBLISHED}  # expectation and variance
EVERY = {name: tr.chance(name, ([N], [TASKS])) for name in PUBLISHED}
(MEAN, VAR), (MEAN_INVERSE, VAR_INVERSE), (SHARE, VAR_SHARE) = ONE.values()
LOG = math.log(N) / (N - 1)
AMRI = tr.adjust("mr", MR, candidates=N, tasks=TASKS).index


def ambiguity() -> Iterator[Formula]:
    """Formulas of "On the Ambiguity"."""
    n = TASKS
    ranks = TASKS * MR
    equal = float(tr.rank([[0.0] * N], [0]).realistic[0])
    yield row("eq. 7", "E[rank]", "(N + 1) / 2", (N + 1) / 2, MEAN)
    amiss = "(N + 1) / 2, the mean of 1 and N, which is also its expected rank"
    yield row(
        "section 3.1",
        "realistic rank of equal scores",
        "N / 2",
        N / 2,
        equal,
        amiss=amiss,
        mended=MEAN,
    )
    yield row("section 3.2", "AMR", "2 Σ r / Σ (N + 1)", 2 * ranks / (n * (N + 1)), MR / MEAN)
    value = 1 - (MR - 1) / (MEAN - 1)
    yield row("eq. 8, first", "AMRI", "1 - (MR - 1) / E[MR - 1]", value, AMRI)
    value = 2 * (ranks - n) / (n * N)
    mended = 1 - 2 * (ranks - n) / (n * (N - 1))
    amiss = 'lacks "1 -", and has N for N - 1'
    yield row("eq. 8, second", "AMRI", "2 Σ (r - 1) / Σ N", value, AMRI, amiss=amiss, mended=mended)


def expected() -> Iterator[Formula]:
    """Expectations and variances of "A Unified Framework"."""
    n = TASKS
    squared = (N * N - 1) / 12
    hit = K * (N - K) / N
    yield row("eq. 4", "E[r]", "(N + 1) / 2", (N + 1) / 2, MEAN)
    yield row("eq. 5", "Var[r]", "(N² - 1) / 12", squared, VAR)
    yield row("eq. 6", "E[MR]", "(N + 1) / 2", (N + 1) / 2, EVERY["mr"][0])
    amiss = "lacks 1 / n, as the variance of a mean of n has"
    yield row(
        "eq. 7",
        "Var[MR]",
        "(N² - 1) / 12",
        squared,
        EVERY["mr"][1],
        amiss=amiss,
        mended=squared / n,
    )
    for number, of in ((10, "E[1/r]"), (12, "E[MRR]")):
        yield row(f"eq. {number}", of, "ln N / (N - 1)", LOG, MEAN_INVERSE, amiss=STAND_IN)
    for number, of, exact in ((11, "Var[1/r]", VAR_INVERSE), (13, "Var[MRR]", EVERY["mrr"][1])):
        yield row(f"eq. {number}", of, "1/N - ln N / (N - 1)", 1 / N - LOG, exact, amiss=NEGATIVE)
    yield row("eq. 15", "E[r <= k]", "k / N", K / N, SHARE)
    amiss = "has N for N²; k/N (1 - k/N), before it, is right"
    yield row("eq. 16", "Var[r <= k]", "k (N - k) / N", hit, VAR_SHARE, amiss=amiss, mended=hit / N)
    yield row("eq. 17", "E[hits@k]", "k / N", K / N, EVERY["hits@10"][0])
    exact = EVERY["hits@10"][1]
    mended = hit / (n * N)
    yield row(
        "eq. 18", "Var[hits@k]", "k (N - k) / N", hit, exact, amiss="has N for n N²", mended=mended
    )


def adjusted() -> Iterator[Formula]:
    """Adjusted metrics of "A Unified Framework"."""
    n = TASKS
    ranks = TASKS * MR
    inverse = TASKS * MRR
    found = TASKS * HITS
    value = 2 * ranks / (N * (N - 1))
    mended = 2 * ranks / (n * (N + 1))
    amiss = "has N (N - 1) for n (N + 1)"
    yield row("eq. 8", "AMR", "2 Σ r / (N (N - 1))", value, MR / MEAN, amiss=amiss, mended=mended)
    value = 1 - (MR - 1) / (MEAN - 1)
    yield row("eq. 9", "AMRI", "1 - (MR - 1) / E[MR - 1]", value, AMRI)
    value = inverse / (N * LOG)
    amiss = "has N for n in the mean, besides ln N / (N - 1)"
    printed = "(N - 1) / (N ln N) Σ 1/r"
    yield row("eq. 14", "MRR / E[MRR]", printed, value, MRR / MEAN_INVERSE, amiss=amiss)
    value = found / K
    exact = HITS / SHARE
    mended = found / K * N / n
    yield row(
        "eq. 19",
        "hits@k / E[hits@k]",
        "Σ [r <= k] / k",
        value,
        exact,
        amiss="lacks N / n",
        mended=mended,
    )
    exact = tr.adjust(f"hits@{K}", HITS, candidates=N, tasks=n).index
    value = (HITS - SHARE) / (1 - SHARE)
    yield row("eq. 20", "AH@k", "(H - E[H]) / (1 - E[H])", value, exact)
