"""The output of `truerank demo`, which evaluates the published model of the package again."""

from __future__ import annotations

import textwrap

from rich.console import Console

from ..tables.forms import TextGrid
from .demo import KINDS, METRICS, Demo
from .output import rich_table


def draw_demo(demo: Demo, console: Console) -> None:
    """Print the results of the demonstration.

    Parameters
    ----------
    demo
        The measurements.
    console
        Where to print them.

    Examples
    --------
    >>> from truerank.cli.demo import run
    >>> draw_demo(run(), Console(width=100))  # doctest: +SKIP
    """
    published, speed = demo.published, demo.speed
    tied, tied_exactly = demo.rounded.ranks.tied, demo.exact.ranks.tied
    total, wrong = len(published.figures), len(demo.disagreements)

    def heading(text: str) -> None:
        console.print(f"\n{text}", style="bold")

    console.print(
        f"{published.model} on {published.dataset}: head and tail of {len(tied) // 2:,} test "
        f"triples, {len(tied):,} filtered tasks."
    )
    console.print(textwrap.fill(f"The model was {published.source}.", 90))

    heading("Measured figures beside the published ones (realistic ranks)")
    columns = ["metric", "head", "published", "tail", "published", "both", "published"]
    rows = []
    for metric in METRICS:
        keys = [f"{side}.realistic.{metric}" for side in ("head", "tail", "both")]
        cells = (value for key in keys for value in (demo.exact[key], published.figures[key]))
        rows.append([metric, *(f"{value:.6f}" for value in cells)])
    console.print(rich_table(console, TextGrid(columns, rows)))
    console.print(
        f"{total - wrong} of {total} published figures agree: optimistic and pessimistic ones to "
        "the last digit;\nrealistic and adjusted ones to 1e-6, as float32 went into them."
    )
    for line in demo.disagreements:
        console.print(line, style="bold red")

    heading("The same scores rounded to bfloat16 (both sides)")
    rows = []
    for metric in METRICS:
        rounded = (demo.rounded[f"{kind}.{metric}"] for kind in KINDS)
        rows.append([metric, *(f"{value:.6f}" for value in (*rounded, demo.exact[metric]))])
    console.print(rich_table(console, TextGrid(["metric", *KINDS, "in float32"], rows)))
    console.print(
        f"{(tied > 1).sum():,} of {len(tied):,} tasks tie ({(tied > 1).mean():.1%}); the largest "
        f"tie has {tied.max()} candidates. In float32 {(tied_exactly > 1).sum():,} tie."
    )

    heading("Speed")
    console.print(
        f"The tasks above, from vectors to counts in both dtypes: {demo.seconds * 1e3:.0f} ms.\n"
        f"{speed.rows:,} x {speed.columns:,} random float32 scores in memory: "
        f"{speed.rate:.3g} scores/s ({speed.rate * 4e-9:.1f} GB/s), "
        f"{speed.threads} {'thread' if speed.threads == 1 else 'threads'}, {speed.isa}.\n"
        "The same counts with numpy's (s > t).sum(1) and (s == t).sum(1): "
        f"{speed.numpy_seconds / speed.seconds:.1f} times as long."
    )
