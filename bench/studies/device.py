"""Counting on a device: scores and vectors, beside what people write in torch, and a plain copy.

    python bench/studies/device.py [--device cuda] [--rounds 5] [--quick] [--output FILE]

Contestants run in turn, and the best of all rounds counts. Truerank's integers are compared with
those of the processor for some rows. `--quick` takes small problems, to see that all runs; with
`--device cpu` it does so without a device, if TRUERANK_DEVICE names a way. The page names the
device; without `--output` it is printed. Needs torch.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import truerank as tr

Contestants = dict[str, Callable[[], object]]


class Sizes(NamedTuple):
    """How large the problems are."""

    scores: tuple[int, int]
    queries: int
    entities: int
    peer_entities: int  # for torch.cdist, which is slow
    checked_rows: int


FULL = Sizes((20_000, 500_000), 20_000, 2_500_000, 50_000, 50)
QUICK = Sizes((40, 3000), 16, 500, 500, 5)
DEPTHS = {"dot": 256, "l1": 64}


class Measured(NamedTuple):
    """A line of the page."""

    problem: str
    contestant: str
    seconds: float
    work: float  # bytes of scores, or pairs times components
    memory: int  # bytes that it took beside its input


class Device:
    """A device of torch: its name, its clock and its memory."""

    def __init__(self, name: str) -> None:
        self.torch_device = torch.device(name)
        self._module: Any = getattr(torch, self.torch_device.type)

    @property
    def name(self) -> str:
        if not hasattr(self._module, "get_device_name"):
            return f"{self.torch_device} (no device: only to see that this runs)"
        return str(self._module.get_device_name(self.torch_device))

    def wait(self) -> None:
        self._module.synchronize()

    def memory_of(self, call: Callable[[], object]) -> int:
        """Return how many bytes a call allocates at most, where the device tells."""
        if not hasattr(self._module, "max_memory_allocated"):
            return 0
        self._module.reset_peak_memory_stats()
        before = self._module.memory_allocated()
        call()
        self.wait()
        return int(self._module.max_memory_allocated() - before)

    def seconds_of(self, call: Callable[[], object]) -> float:
        self.wait()
        start = time.perf_counter()
        call()
        self.wait()
        return time.perf_counter() - start


def measure(
    device: Device, problem: str, work: float, contestants: Contestants, rounds: int
) -> list[Measured]:
    """Run contestants in turn, once to warm up, and keep the best time of each."""
    memory = {name: device.memory_of(call) for name, call in contestants.items()}
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, call in contestants.items():
            best[name] = min(best[name], device.seconds_of(call))
    return [Measured(problem, name, best[name], work, memory[name]) for name in contestants]


def check(got: tr.Ranks, expected: tr.Ranks) -> None:
    """Stop if a device counts other integers than the processor."""
    if got != expected:
        raise SystemExit("the device and the processor count different integers")


def in_steps(call: Callable[[slice], Any], rows: int, step: int) -> Callable[[], object]:
    """Call a function for some rows at a time, as people do where memory ends."""
    return lambda: [call(slice(i, i + step)) for i in range(0, rows, step)]


def pykeen_ranks(scores: Any, true: Any) -> Any:
    """Return optimistic and pessimistic ranks by the expression of PyKEEN's evaluator."""
    optimistic = (scores > true).sum(dim=1) + 1
    pessimistic = (scores >= true).sum(dim=1)
    return (optimistic + pessimistic).float() * 0.5, torch.isfinite(scores).sum(dim=1)


def count_scores(device: Device, sizes: Sizes, dtype: Any, rounds: int) -> list[Measured]:
    """Compare counting a matrix with a copy of its bytes and with torch's own operations."""
    rows, columns = sizes.scores
    generator = torch.Generator(device.torch_device).manual_seed(0)
    scores = torch.empty(rows, columns, dtype=dtype, device=device.torch_device)
    for i in range(0, rows, 1000):  # normal_ takes memory of its own
        scores[i : i + 1000].normal_(generator=generator)
    targets = np.random.default_rng(0).integers(0, columns, rows)
    true = scores[torch.arange(rows), torch.from_numpy(targets)][:, None]
    few = slice(0, sizes.checked_rows)
    check(tr.rank(scores[few], targets[few]), tr.rank(scores[few].cpu(), targets[few]))
    copy_rows = rows // 2
    other = torch.empty_like(scores[:copy_rows])
    step = max(1, (1 << 31) // (columns * scores.element_size()))
    contestants: Contestants = {
        "truerank": lambda: tr.rank(scores, targets),
        "copy of half of the bytes (as many are read and written)": lambda: other.copy_(
            scores[:copy_rows]
        ),
        "(s > t).sum(1), (s == t).sum(1)": in_steps(
            lambda r: ((scores[r] > true[r]).sum(1), (scores[r] == true[r]).sum(1)), rows, step
        ),
        "PyKEEN's expression": in_steps(lambda r: pykeen_ranks(scores[r], true[r]), rows, step),
    }
    name = f"{rows:,} x {columns:,} {str(dtype).removeprefix('torch.')}"
    return measure(device, name, scores.nbytes, contestants, rounds)


def count_vectors(device: Device, sizes: Sizes, similarity: str, rounds: int) -> list[Measured]:
    """Compare ranking vectors with torch's product or distances alone, without any counting."""
    depth = DEPTHS[similarity]
    generator = torch.Generator(device.torch_device).manual_seed(0)
    entity_count = sizes.entities if similarity == "dot" else sizes.peer_entities
    queries, entities = (
        torch.randn(n, depth, device=device.torch_device, generator=generator)
        for n in (sizes.queries, entity_count)
    )
    targets = np.random.default_rng(0).integers(0, entity_count, sizes.queries)
    few = slice(0, sizes.checked_rows)
    options = {"similarity": similarity}
    check(
        tr.rank_embeddings(queries[few], entities, targets[few], **options),
        tr.rank_embeddings(queries[few].cpu(), entities.cpu(), targets[few], **options),
    )
    out = torch.empty(sizes.queries, min(entity_count, 100_000), device=device.torch_device)

    def product(columns: slice) -> None:
        some = entities[columns].T
        torch.matmul(queries, some, out=out[:, : some.shape[1]])

    step = out.shape[1] if similarity == "dot" else 1000
    peers: Contestants = {
        "dot": {"torch.matmul, float32, nothing counted": in_steps(product, entity_count, step)},
        "l1": {
            "torch.cdist(p=1), nothing counted": in_steps(
                lambda r: torch.cdist(queries, entities[r], p=1), entity_count, step
            )
        },
    }[similarity]
    contestants: Contestants = {
        "truerank": lambda: tr.rank_embeddings(queries, entities, targets, **options),
        **peers,
    }
    name = f"{similarity}, d = {depth}, {sizes.queries:,} x {entity_count:,}"
    work = float(sizes.queries) * entity_count * depth
    return measure(device, name, work, contestants, rounds)


def page_of(device: Device, lines: list[Measured]) -> str:
    """Return the figures as a page of Markdown."""
    rows = [
        f"| {x.problem} | {x.contestant} | {x.seconds * 1e3:.3f} | {x.work / x.seconds / 1e9:.1f} "
        f"| {x.memory / 2**20:.0f} |"
        for x in lines
    ]
    head = [
        f"# Counting on a device: {device.name}",
        "",
        f"torch {torch.__version__}, truerank {tr.__version__}; TF32 off. The best of all rounds. "
        "G/s: 10^9 bytes of scores, or coordinates of pairs, a second. The way: "
        f"{os.environ.get('TRUERANK_DEVICE', 'the best')}.",
        "",
        "| problem | contestant | ms | G/s | MB beside its input |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    return "\n".join([*head, *rows, ""])


def main() -> None:
    """Measure all, and write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    device, sizes = Device(options.device), QUICK if options.quick else FULL
    torch.backends.cuda.matmul.allow_tf32 = False
    lines = []
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16):
            lines += count_scores(device, sizes, dtype, options.rounds)
        for similarity in DEPTHS:
            lines += count_vectors(device, sizes, similarity, options.rounds)
    page = page_of(device, lines)
    if options.output is None:
        sys.stdout.write(page)
    else:
        options.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
