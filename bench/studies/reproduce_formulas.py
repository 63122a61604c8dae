"""The papers' formulas as they are printed, evaluated for one model beside the exact values.

The model is TuckER on Kinships, unfiltered for the formulas that suppose one number of candidates:
104 candidates, 2,148 tasks, and the metrics that the authors publish.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reproduce_figures import Figure, Range, Reason, read_table

import truerank as tr

N, K = 104, 10
CONTINUOUS = "the law of a continuous rank on [1, N]; ranks are whole numbers"
STAND_IN = f"ln N / (N - 1), for H_N / N: {CONTINUOUS}"


class Formula(NamedTuple):
    """A formula: where, of what, as printed, its value, the exact value, and what is amiss.

    `mended` is the value once that is put right.
    """

    source: str
    place: str
    of: str
    printed: str
    value: float
    exact: float
    amiss: str = ""
    mended: float | None = None


def formulas(_: Path) -> Iterator[Figure]:
    """Every numbered formula for an expectation, a variance or an adjusted metric."""
    for row in table():
        if row.mended is not None and not math.isclose(row.mended, row.exact, rel_tol=1e-12):
            raise ValueError(f"{row.source}, {row.place}: mended {row.mended}, exact {row.exact}")
        stand_in = Range.at(row.value) if row.amiss == STAND_IN else None
        reasons = (Reason(row.amiss, stand_in),) if row.amiss else ()
        yield Figure(
            row.source,
            "formulas",
            row.place,
            row.of,
            f"{row.printed} = {row.value:.6g}",
            "counts",
            Range.at(row.exact),
            stands_for=Range.at(row.value),
            reasons=reasons,
        )


def table() -> list[Formula]:
    """Return the formulas of both papers."""
    published = next(
        row
        for row in read_table("unified_framework.tsv")
        if (row["dataset"], row["model"]) == ("kinships", "tucker")
    )
    n, mr, mrr = int(published["tasks"]), float(published["mr"]), float(published["mrr"])
    hits = float(published["hits@10"])
    ranks, inverse, found = n * mr, n * mrr, n * hits  # sums over all tasks
    one, every = ([N], [1]), ([N], [n])
    metrics = ("mr", "mrr", f"hits@{K}")
    (mean, var), (mean_inverse, var_inverse), (share, var_share) = (
        tr.chance(metric, one) for metric in metrics
    )
    var_mr, var_mrr, var_hits = (tr.chance(metric, every)[1] for metric in metrics)
    log = math.log(N) / (N - 1)
    ambiguity, framework = "On the Ambiguity", "A Unified Framework"
    amri = 1 - (mr - 1) / (mean - 1)
    rows = [
        Formula(ambiguity, "eq. 7", "E[rank]", "(N + 1) / 2", (N + 1) / 2, mean),
        Formula(
            ambiguity,
            "section 3.1",
            "realistic rank of equal scores",
            "N / 2",
            N / 2,
            float(tr.rank([[0.0] * N], [0]).realistic[0]),
            "(N + 1) / 2, the mean of 1 and N, which is also its expected rank",
            (N + 1) / 2,
        ),
        Formula(ambiguity, "section 3.2", "AMR", "2 Σ r / Σ (N + 1)", 2 * ranks / (n * (N + 1)),
                mr / mean),
        Formula(ambiguity, "eq. 8, first", "AMRI", "1 - (MR - 1) / E[MR - 1]", amri,
                tr.adjust("mr", mr, candidates=N, tasks=n).index),
        Formula(
            ambiguity,
            "eq. 8, second",
            "AMRI",
            "2 Σ (r - 1) / Σ N",
            2 * (ranks - n) / (n * N),
            amri,
            "lacks \"1 -\", and has N for N - 1",
            1 - 2 * (ranks - n) / (n * (N - 1)),
        ),
        Formula(framework, "eq. 4", "E[r]", "(N + 1) / 2", (N + 1) / 2, mean),
        Formula(framework, "eq. 5", "Var[r]", "(N² - 1) / 12", (N * N - 1) / 12, var),
        Formula(framework, "eq. 6", "E[MR]", "(N + 1) / 2", (N + 1) / 2, mean),
        Formula(
            framework,
            "eq. 7",
            "Var[MR]",
            "(N² - 1) / 12",
            (N * N - 1) / 12,
            var_mr,
            "lacks 1 / n, as the variance of a mean of n has",
            (N * N - 1) / 12 / n,
        ),
        Formula(
            framework,
            "eq. 8",
            "AMR",
            "2 Σ r / (N (N - 1))",
            2 * ranks / (N * (N - 1)),
            mr / mean,
            "has N (N - 1) for n (N + 1)",
            2 * ranks / (n * (N + 1)),
        ),
        Formula(framework, "eq. 9", "AMRI", "1 - (MR - 1) / E[MR - 1]", amri,
                tr.adjust("mr", mr, candidates=N, tasks=n).index),
    ]  # fmt: skip
    rows += [
        Formula(framework, f"eq. {number}", of, "ln N / (N - 1)", log, mean_inverse, STAND_IN)
        for number, of in ((10, "E[1/r]"), (12, "E[MRR]"))
    ]
    rows += [
        Formula(
            framework,
            f"eq. {number}",
            of,
            "1/N - ln N / (N - 1)",
            1 / N - log,
            exact,
            f"lacks a square, and is below 0; with it, it is {CONTINUOUS}",
        )
        for number, of, exact in ((11, "Var[1/r]", var_inverse), (13, "Var[MRR]", var_mrr))
    ]
    rows += [
        Formula(
            framework,
            "eq. 14",
            "MRR / E[MRR]",
            "(N - 1) / (N ln N) Σ 1/r",
            (N - 1) / (N * math.log(N)) * inverse,
            mrr / mean_inverse,
            "has N for n in the mean, besides ln N / (N - 1)",
        ),
        Formula(framework, "eq. 15", "E[r <= k]", "k / N", K / N, share),
        Formula(
            framework,
            "eq. 16",
            "Var[r <= k]",
            "k (N - k) / N",
            K * (N - K) / N,
            var_share,
            "has N for N²; k/N (1 - k/N), before it, is right",
            K * (N - K) / N**2,
        ),
        Formula(framework, "eq. 17", "E[hits@k]", "k / N", K / N, share),
        Formula(
            framework,
            "eq. 18",
            "Var[hits@k]",
            "k (N - k) / N",
            K * (N - K) / N,
            var_hits,
            "has N for n N²",
            K * (N - K) / (n * N**2),
        ),
        Formula(
            framework,
            "eq. 19",
            "hits@k / E[hits@k]",
            "Σ [r <= k] / k",
            found / K,
            hits / share,
            "lacks N / n",
            found / K * N / n,
        ),
        Formula(framework, "eq. 20", "AH@k", "(H - E[H]) / (1 - E[H])",
                (hits - share) / (1 - share),
                tr.adjust(f"hits@{K}", hits, candidates=N, tasks=n).index),
    ]  # fmt: skip
    return rows
