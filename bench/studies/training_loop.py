"""The time of counting within a training loop of torch, whose threads spin after each product.

    python bench/studies/training_loop.py [--steps 300] [--output FOLDER]

Each step makes the scores of a batch by a matrix product, and ranks them: by truerank with its own
choice of threads, with one thread, and by three lines of torch. All of it is measured in two
processes, of which one has OMP_WAIT_POLICY=passive. Install truerank from a wheel: in a build of
one's own both may share one runtime. Writes training_loop.md.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pages import arguments, format_page, markdown_table

import truerank as tr

HERE = Path(__file__).parent
# Queries, entities and length: batches of FB15k-237, of WN18RR, and of ten times as many entities.
SHAPES = ((256, 14_541, 256), (256, 40_943, 256), (256, 145_410, 256))
POLICIES = ("default", "passive")
FORMER = "three lines of torch"


def three_lines(scores: Any, targets: Any) -> Any:
    """Count as toolkits do."""
    true_scores = scores.gather(1, targets[:, None])
    above = (scores > true_scores).sum(1)
    return above, (scores == true_scores).sum(1)


def measure(shape: tuple[int, int, int], steps: int) -> dict[str, list[float]]:
    """Return the milliseconds of each step and contestant, but for the first tenth of steps."""
    import torch

    queries, entities, length = shape
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(queries, length, generator=generator)
    right = torch.randn(entities, length, generator=generator)
    targets = torch.randint(0, entities, (queries,), generator=generator)
    columns = targets.numpy()
    contestants: dict[str, Callable[[Any], Any]] = {
        "truerank": lambda scores: tr.rank(scores, columns),
        "truerank, threads=1": lambda scores: tr.rank(scores, columns, threads=1),
        FORMER: lambda scores: three_lines(scores, targets),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    numbers = dict.fromkeys(contestants, steps)
    numbers[FORMER] = steps // 4
    for name, call in contestants.items():
        # One contestant after the other, as a loop has one of them: threads of each hold up the
        # product that follows.
        for _ in range(numbers[name]):
            scores = left @ right.T
            start = time.perf_counter()
            call(scores)
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: measured[len(measured) // 10 :] for name, measured in times.items()}


def runtimes() -> int:
    """Return how many runtimes of OpenMP this process has loaded."""
    import torch

    tr.rank(torch.zeros(1, 1), 0)
    names = set()
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        name = line.split("/")[-1]
        if name.startswith(("libgomp", "libomp", "libiomp")):
            names.add(name)
    return len(names)


def measure_all(steps: int) -> dict[str, Any]:
    """Return what one process measures."""
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "runtimes": runtimes(),
        "times": [measure(shape, steps) for shape in SHAPES],
    }


def main(steps: int, output: Path, policy: str) -> None:
    """Measure in a process for each policy, and write the page."""
    if policy:
        print(json.dumps(measure_all(steps)))
        return
    rows = []
    for policy in POLICIES:
        environment = dict(os.environ)
        environment.pop("OMP_WAIT_POLICY", None)
        if policy != "default":
            environment["OMP_WAIT_POLICY"] = policy
        command = [sys.executable, __file__, "--steps", str(steps), "--policy", policy]
        text = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
        result = json.loads(text)
        for shape, times in zip(SHAPES, result["times"], strict=True):
            row = [f"{shape[0]:,} x {shape[1]:,}", policy]
            for measured in times.values():
                middle, late = np.percentile(measured, [50, 95])
                row.append(f"{middle:.2f}, {late:.2f}")
            rows.append(row)
            print(*row, flush=True)
    heading = "scores | OMP_WAIT_POLICY | truerank | truerank, threads=1 | three lines of torch"
    page = TEXT.format(
        python=platform.python_version(),
        torch=result["torch"],
        threads=result["threads"],
        cores=len(os.sched_getaffinity(0)),
        runtimes=result["runtimes"],
        steps=f"{steps:,}",
        fewer=f"{steps // 4:,}",
        table=markdown_table(heading, rows, 2),
    )
    (output / "training_loop.md").write_text(format_page(page), encoding="utf-8")


TEXT = """# Counting in a training loop

Made by `python bench/studies/training_loop.py`, with Python {python} and torch {torch} with
{threads} threads, on {cores} cores. Runtimes of OpenMP in the process: {runtimes}.

A batch of 256 queries is multiplied with all entities (`q @ E.T`, of 256 components), and its
scores are ranked. The figures are the median and the 95th percentile of the time that ranking
takes, in milliseconds, of {steps} steps ({fewer} with torch's lines), without the first tenth.

{table}

Threads of OpenMP that wait for work spin, for milliseconds. After a product those of torch keep
their processors. Where the machine has nothing else to do, two runtimes get along: 256 x 14,541
took 0.7 ms with two threads (median) and 1.1 ms with one. Where other programs wanted the two
processors, too, a second thread waited for its turn longer than the whole count takes on one: 9 to
18 ms with two threads always, 1.9 ms with one, and 1.9 ms as it is now. So truerank looks at the
time of such brief calls: where several threads took longer than the calling thread alone would
have, the next calls have one, then several are tried again, after 8 to 128 calls. Longer calls,
from some ten milliseconds of work on, have all threads.

What remains: the calls that try; and truerank's threads, where they are used, spin in the way of
the next product. `OMP_WAIT_POLICY=passive` in the environment, before Python starts, lets both
runtimes sleep instead.
"""


if __name__ == "__main__":
    main(**arguments(__doc__, steps=300, output=HERE, policy=""))
