"""The tables of recorded runs, README's rows and its picture, made of figures.tsv and runs.tsv.

    python bench/results/make_tables.py [--table NAME --add FOLDER]

`--add` takes the run that `pytest bench --bench-out FOLDER` wrote as one more run of a table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness
sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))  # for what they share
from pages import arguments, bullet_list, markdown_table, read_rows, write_rows

from harness.table import UNITS, Row, format_row

HERE = Path(__file__).parent
FIGURES = HERE / "figures.tsv"
FACTS = HERE / "runs.tsv"
TABLES = {
    "rows": "Recorded runs: README's rows",
    "scores": "Recorded runs: scores",
    "vectors": "Recorded runs: vectors",
    "avx2": "Recorded runs: a processor with AVX2 alone",
    "intel": "Recorded runs: an Intel server with AVX-512",
}
HEADING = "run | case | contestant | time | GB/s | MB | ratio | of / times | goal | met"
REMARK = "remark"

README = HERE.parents[1] / "README.md"
PAGE = HERE.parents[1] / "docs/benchmarks.md"
PICTURE = HERE / "bars.svg"
# The runs of each machine: README and its picture show the first machine, the page all. Rows beside
# a BLAS were measured with whatever kernels the environment chose, before clocks were fair: of
# machines on which nobody can measure them again there are none.
MACHINES = {
    "AMD Zen 5": {("rows", 4)},
    "AMD Zen 4": {("rows", 3)},
    "Intel, AVX-512": {("intel", 1)},
    "AMD Zen 1": {("scores", 3), ("vectors", 5), ("avx2", 3)},
}
ROWS_HEADING = "work | beside | times as fast"
MACHINES_HEADING = "times as fast | " + " | ".join(MACHINES)
# README's rows: a name, the words for the work, where the ratio is (its case and contestant), and
# its baselines with the words for each. The fastest of several is shown.
README_ROWS = [
    (
        "counts",
        "counts of 20,000 x 15,000 scores",
        ("20,000 x 15,000, bars", "truerank"),
        {"numba, one loop": "numba, one compiled loop"},
    ),
    (
        "top 10",
        "top 10 of 1,000 queries among 100,000 vectors of 384 floats",
        ("1,000 x 100,000 by dot, d = 384, targets random", "truerank, top 10"),
        {"faiss, flat index": "faiss, flat index"},
    ),
    (
        "ground truth",
        "ground truth: top 100 of 1,000 queries among 10^6 vectors of 128 bytes",
        ("top 100 of 1,000,000 by sql2, d = 128, uint8, 1 thread", "truerank"),
        {"faiss, flat index": "faiss, flat index"},
    ),
    (
        "late interaction",
        "late interaction: 64 queries of 32 tokens, 2,000 documents of 140",
        ("64 queries of 32 tokens, 2,000 documents, targets near their queries", "truerank"),
        {
            "torch, padded by length, amax": "torch, padded by length, `amax`",
            "numpy, padded by length, max": "numpy, padded by length, `max`",
            "numpy, products, reduceat": "numpy, products, `reduceat`",
        },
    ),
    (
        "alignment",
        "alignment of 15,000 x 15,000 vectors, both directions",
        ("alignment, both directions, 1 thread", "truerank"),
        {"numpy, matrix and >": "numpy, the matrix and `>`"},
    ),
    (
        "files of lists",
        "six metrics of 1,000 lists of 1,000, from files",
        ("1,000 lists of 1,000, six metrics, from files", "truerank"),
        {"pytrec_eval": "pytrec_eval"},
    ),
    (
        "sorted lists",
        "the same, from arrays that are sorted",
        ("1,000 lists of 1,000, six metrics, of sorted arrays", "truerank"),
        {"ranx, sorted arrays": "ranx"},
    ),
]
# The bars of the picture, the fastest form of each: what its case names, and the words.
BARS_CASE = "20,000 x 15,000, bars"
BARS = {
    "read pass": "a loop that only reads",
    "truerank": "truerank",
    "numba, one loop": "numba, one compiled loop",
    "numpy, row by row": "numpy, row by row",
    "torch, 64 rows at once": "torch, 64 rows at once",
    "PyKEEN, 256 rows at once": "PyKEEN's ranks, 256 rows at once",
}


class Figure(NamedTuple):
    """A line of a table, as printed: a contestant, and what it is compared with."""

    table: str
    run: int
    case: str
    contestant: str
    time: str
    rate: str
    memory: str
    ratio: str
    against: str
    goal: str
    met: str


class Fact(NamedTuple):
    """What is known of a run: of its machine and its programs, or a remark."""

    table: str
    run: int
    fact: str
    text: str


def make_page(table: str, figures: list[Figure], facts: list[Fact]) -> str:
    """Return the page of a table: the facts of each run, all figures, the remarks."""
    parts = [f"# {TABLES[table]}"]
    for run in sorted({figure.run for figure in figures if figure.table == table}):
        known = [f for f in facts if (f.table, f.run) == (table, run) and f.fact != REMARK]
        parts.append(f"Run {run}:")
        parts.append(bullet_list([f"{fact.fact}: {fact.text}" for fact in known]))
    parts.append(markdown_table(HEADING, [f[1:] for f in figures if f.table == table], 3))
    remarks = [f for f in facts if f.table == table and f.fact == REMARK]
    if remarks:
        parts.append(bullet_list([f"run {fact.run}, {fact.text}" for fact in remarks]))
    return "\n\n".join(parts) + "\n"


def find_ratio(
    figures: list[Figure],
    place: tuple[str, str],
    baselines: Iterable[str],
    runs: set[tuple[str, int]],
) -> tuple[str, str]:
    """Return the fastest baseline and the ratio, rounded; two empty words where none was run."""
    ratios = {
        f.against.removeprefix("of the rate of "): float(f.ratio)
        for f in figures
        if (f.table, f.run) in runs and (f.case, f.contestant) == place and f.ratio
    }
    found = {name: ratios[name] for name in baselines if name in ratios}
    if not found:
        return "", ""
    fastest = min(found, key=found.__getitem__)
    return fastest, f"{found[fastest]:.2g}"


def readme_rows(figures: list[Figure]) -> str:
    """Return README's table: the ratios of the first machine."""
    runs = next(iter(MACHINES.values()))
    lines = []
    for _, work, place, baselines in README_ROWS:
        baseline, ratio = find_ratio(figures, place, baselines, runs)
        lines.append((work, baselines[baseline], ratio))
    return markdown_table(ROWS_HEADING, lines, 2)


def machine_rows(figures: list[Figure]) -> str:
    """Return the page's table: the same ratios of every machine, where more than one has them."""
    lines = []
    for name, _, place, baselines in README_ROWS:
        ratios = [find_ratio(figures, place, baselines, runs)[1] for runs in MACHINES.values()]
        if len([ratio for ratio in ratios if ratio]) > 1:
            lines.append([name, *ratios])
    return markdown_table(MACHINES_HEADING, lines)


def make_picture(figures: list[Figure]) -> str:
    """Return bars of seconds. Their greys and blue are read on white and on black."""
    runs = next(iter(MACHINES.values()))
    chosen = [f for f in figures if f.case == BARS_CASE and (f.table, f.run) in runs]
    times = {f.contestant: read_seconds(f.time) for f in chosen}
    label, width, height = 245, 405, 26
    scale = width / max(times[name] for name in BARS)
    lines = []
    for i, (name, words) in enumerate(BARS.items()):
        y = 34 + height * i
        colour = "#2f81f7" if name == "truerank" else "#8b949e"
        bar = max(1, scale * times[name])
        text = words.replace(">", "&gt;")
        weight = ' font-weight="bold"' if name == "truerank" else ""
        lines += [
            f'<text x="{label}" y="{y + 14}" text-anchor="end"{weight}>{text}</text>',
            f'<rect x="{label + 8}" y="{y}" width="{bar:.1f}" height="18" fill="{colour}"/>',
            f'<text x="{label + 14 + bar:.1f}" y="{y + 14}"{weight}>{times[name]:.2g} s</text>',
        ]
    title = "Seconds to count 20,000 x 15,000 float32 scores, one thread: less is better"
    size = f"{label + width + 80} {44 + height * len(BARS)}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="730"'
    head += ' font-family="system-ui, sans-serif" font-size="13" fill="#737b85">'
    top = f'<text x="8" y="18" font-weight="bold">{title}</text>'
    return "\n".join([head, top, *lines, "</svg>"]) + "\n"


def read_seconds(text: str) -> float:
    """Return the seconds of a time as it is printed."""
    value, unit = text.split()
    return float(value) * {name: size for size, name in UNITS}[unit]


def read_run(path: Path, table: str, run: int) -> tuple[list[Figure], list[Fact]]:
    """Return the figures and the facts that the benchmark wrote."""
    written = json.loads(path.read_text(encoding="utf-8"))
    figures = [Figure(table, run, *format_row(Row(**row))) for row in written["rows"]]
    facts = [Fact(table, run, name, text) for name, text in written["facts"].items()]
    facts += [Fact(table, run, REMARK, text) for text in written["remarks"]]
    return figures, facts


def main(table: str, add: str) -> None:
    """Add a run, if any, and write the tables."""
    figures: list[Figure] = read_rows(FIGURES, Figure)
    facts: list[Fact] = read_rows(FACTS, Fact)
    if add:
        run = 1 + max((f.run for f in figures if f.table == table), default=0)
        more, known = read_run(Path(add, "bench-results.json"), table, run)
        figures += more
        facts += known
        write_rows(FIGURES, figures)
        write_rows(FACTS, facts)
    for name in TABLES:
        (HERE / f"{name}.md").write_text(make_page(name, figures, facts), encoding="utf-8")
    PICTURE.write_text(make_picture(figures), encoding="utf-8")
    replace_table(README, readme_rows(figures))
    replace_table(PAGE, machine_rows(figures))


def replace_table(page: Path, table: str) -> None:
    """Write a table in place of that of the page that has its heading."""
    heading = table.partition("\n")[0]
    blocks = page.read_text(encoding="utf-8").split("\n\n")
    blocks = [table if block.startswith(heading) else block for block in blocks]
    page.write_text("\n\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main(**arguments(__doc__, table="scores", add=""))
