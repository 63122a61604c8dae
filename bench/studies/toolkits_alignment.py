"""Toolkits for alignment, run on given scores, as in `toolkits_graphs`."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from toolkit_code import Case, Code, Outcome, Toolkit, task_by_task

# -- alignment -------------------------------------------------------------------------------------


def openea(code: Code, case: Case) -> Outcome:
    """Its calculate_rank, exact."""
    path = "src/openea/modules/finding/alignment.py"
    names = code.functions("OpenEA", "ad11dc3", path, "calculate_rank", {"np": np})
    ks, total = [1, 5, 10, 50], len(case.targets)

    def means(part: Case) -> Any:
        return names["calculate_rank"](part.targets, part.scores, ks, True, len(part.targets))

    mr, mrr, hits, _ = means(case)
    numbers = {f"hits@{k}": 100 * n / total for k, n in zip(ks, hits, strict=True)}
    ranks = task_by_task(case, lambda one: means(one)[0])
    return Outcome(ranks, numbers | {"mr": mr, "mrr": mrr})


def gcn_align(clone: str, commit: str, path: str) -> Callable[..., Outcome]:
    """Make a function that calls get_hits, whose distances are replaced; it prints hits alone."""

    def run(code: Code, case: Case) -> Outcome:
        rows = np.arange(len(case.targets))
        square = -case.scores[:, : len(rows)]
        square[rows, case.targets], square[rows, rows] = (
            square[rows, rows],
            square[rows, case.targets],
        )  # pairs of equal number are aligned
        distance = SimpleNamespace(cdist=lambda *_, **__: square)
        scipy = SimpleNamespace(spatial=SimpleNamespace(distance=distance))
        names = code.functions(clone, commit, path, "get_hits", {"np": np, "scipy": scipy})
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            names["get_hits"](np.zeros((len(rows), 1)), [(i, i) for i in rows])
        left = printed.getvalue().partition("right")[0]
        shares = re.findall(r"(Hits@\d+): ([\d.]+)%", left)
        numbers = {name: round(float(p) * len(rows) / 100) / len(rows) * 100 for name, p in shares}
        return Outcome(None, numbers)

    return run


TOOLKITS = (
    Toolkit("OpenEA", "openea", openea, filters="never"),
    Toolkit(
        "GCN-Align", "gcn-align", gcn_align("GCN-Align", "873d0c3", "metrics.py"), filters="never"
    ),
    Toolkit(
        "RDGCN", "gcn-align", gcn_align("RDGCN", "adb2ec0", "include/Test.py"), filters="never"
    ),
)
