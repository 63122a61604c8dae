"""Compute the same results by two versions of the package, and say where they differ.

`python tests/tools/against.py FILE` writes results of the installed version: of the good call of
every public function (`tests/doors`), of drawn problems (`tests/strategies`), of every key of a
report, and of every preset. With two files, BEFORE and AFTER, it compares them: texts must be
equal, but for the digits of numbers beyond the twelfth. Of errors only the kind is compared.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import Phase

sys.path.insert(0, str(Path(__file__).parents[1]))

import truerank as tr
from doors.good_calls import ROOMS
from doors.test_odd_arguments import plain
from strategies.count_problems import Problem, problems
from strategies.embeddings import Vectors, vectors
from support.outcomes import outcome
from truerank.metrics import METRICS
from truerank.metrics.averages import KINDS
from truerank.metrics.metric_table import ADJUSTMENTS

DRAWN = 300  # problems of a kind
TASKS = 140


def answer(call: Callable[[], Any], folder: str) -> str:
    """Return what a call gives as text without addresses, or the kind of its error."""
    try:
        text = re.sub(r" at 0x\w+", "", repr(plain(call())).replace(folder, "."))
        return re.sub(r"\d+\.\d{12,}", rounded, text)
    except Exception as error:
        return type(error).__name__


def rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.12g}"


def drawn(strategy: Any) -> list[Any]:
    """Return problems that are the same at each run."""
    problems: list[Any] = []
    settings = hypothesis.settings(
        max_examples=DRAWN,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    settings(hypothesis.given(strategy)(lambda problem: problems.append(problem)))()
    return problems


def counts(problem: Problem) -> Any:
    got = outcome(problem.scores, problem)
    if isinstance(got, Exception):
        raise got
    return [got.above, got.tied, got.candidates]


def scores(problem: Vectors) -> Any:
    return tr.score_embeddings(problem.queries, problem.entities, **problem.keywords)


def results(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names, and what gives the results of these names."""
    for room in ROOMS:
        with suppress(AttributeError, ImportError):  # of a version without the room
            for call in room(folder):
                yield f"door {call.name}", call.run
    for number, problem in enumerate(drawn(problems(nan=True, errors=True))):
        yield f"counts {number}", lambda problem=problem: counts(problem)
    for number, problem in enumerate(drawn(vectors(nan=True))):
        yield f"vectors {number}", lambda problem=problem: scores(problem)
    rng = np.random.default_rng(20)
    ties = rng.integers(0, 25, (TASKS, 90)).astype(np.float32)
    targets = rng.integers(0, 90, TASKS)
    ranks = tr.rank(ties, targets).with_labels(
        side=["head", "tail"] * (TASKS // 2), relation=np.arange(TASKS) % 5
    )
    report = tr.report(ranks.with_weights(1.0 + np.arange(TASKS) % 3), by="relation")
    names = [name + example for name, row in METRICS.items() for example in row.examples]
    for parts in product(("", "head.", "macro."), KINDS, ("", *ADJUSTMENTS), names):
        key = f"{parts[0]}{parts[1]}.{parts[2]}{'.' if parts[2] else ''}{parts[3]}"
        yield f"key {key}", lambda key=key: report[key]
        yield f"interval {key}", lambda key=key: report.interval(key)
    for preset in tr.compat.PRESETS:
        yield (
            f"preset {preset}",
            lambda preset=preset: dict(tr.compat.report(ties, targets, preset=preset)),
        )


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """Print what only one version has, and where results differ; return how many do."""
    for title, ours, theirs in (("gone", before, after), ("new", after, before)):
        print(f"{title}: {', '.join(name for name in ours if name not in theirs) or 'none'}")
    common = before.keys() & after.keys()
    unlike = sorted(name for name in common if before[name] != after[name])
    for name in unlike:
        print(f"{name}: {before[name][:150]} became {after[name][:150]}")
    print(f"{len(common) - len(unlike)} results are equal, {len(unlike)} are not")
    return len(unlike)


def main() -> int:
    paths = [Path(name) for name in sys.argv[1:]]
    if len(paths) == 2:
        return compare(*(json.loads(path.read_text("utf-8")) for path in paths)) > 0
    with tempfile.TemporaryDirectory() as folder:
        found = {name: answer(call, folder) for name, call in results(Path(folder))}
    paths[0].write_text(json.dumps(found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
