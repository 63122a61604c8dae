"""Writes the tables of the documentation that are made from the package, into the pages themselves.

A test holds them equal; this line writes them anew:

    PYTHONPATH=python:tests python tests/tools/page_tables.py
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import truerank as tr
from support.which_option import SECTIONS, Situation
from truerank import compat
from truerank.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"
BETTER = {True: "more", False: "less", None: "-"}
MODULES = {
    "truerank": "counting, ranks, reports, chance",
    "truerank.link_prediction": "link prediction",
    "truerank.alignment": "entity alignment",
    "truerank.retrieval": "several right answers for a query",
    "truerank.metrics": "the table of metrics",
    "truerank.reporting": "what reports are made of",
    "truerank.inference": "intervals and tests",
    "truerank.compat": "what other toolkits do",
    "truerank.plot": "pictures",
    "truerank.page": "a page of results",
}

# The value of each metric, over the ranks r of the tasks and their weights.
VALUES = {
    "mr": "mean of $r$",
    "mrr": "mean of $1 / r$; 0 beyond $k$",
    "hits": "share of $r \\le k$",
    "sampled_hits": "[below](#hits-at-k-among-n-drawn-negatives-sampled_hitskn)",
    "ndcg": "mean of $1 / \\log_2 (1 + r)$; 0 beyond $k$",
    "hmr": "1 / `mrr`",
    "imr": "1 / `mr`",
    "gmr": "exp of the mean of $\\ln r$",
    "igmr": "1 / `gmr`",
    "median": "the middle rank, or the mean of the two middle ones",
    "imedian": "1 / `median`",
    "power_mean": "power $1 / p$ of the mean of $r^p$; `gmr` for 0, the worst rank for `inf`",
    "std": "root of `variance`",
    "variance": "mean of $(r - \\mathrm{mr})^2$",
    "mad": "1.4826 times the median of the distances from the median",
    "count": "whatever the weights",
}


def metric_rows() -> Iterator[str]:
    """Yield a row for each metric."""
    yield from heading("key | name | value | better | adjusted", texts=5)
    for row in METRICS.values():
        key = f"`{row.name}{row.parameter}`"
        adjusted = ", ".join(row.adjustments) or "-"
        yield as_row([key, row.description, VALUES[row.name], BETTER[row.increasing], adjusted])


def public_names() -> Iterator[str]:
    """Yield a row for each module, whose names link to the page that documents them."""
    pages = {page.name: page.read_text("utf-8") for page in sorted(DOCS.glob("reference/*.md"))}
    seen: set[int] = set()  # some names of the package are those of a module, too
    yield from heading("module | names", texts=2)
    for module_name, purpose in MODULES.items():
        module = import_module(module_name)
        links = []
        for name in sorted(module.__all__, key=str.lower):
            thing = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            directives = (
                f"{module_name}.{name}",
                f"{module_name}\n +:members:",
                f"truerank.{name}",
            )
            documenting = (
                page
                for directive in directives
                for page, text in pages.items()
                if re.search(rf":: {directive}$", text, re.MULTILINE)
            )
            links.append(f"[`{name}`]({next(documenting)})")
        yield as_row([f"`{module_name}`: {purpose}", ", ".join(links)])


# -- a scorer whose scores are all equal --------------------------------------------------------

CANDIDATES = 1000


def exact_rows() -> Iterator[str]:
    """Yield a row for each kind of rank of a constant scorer."""
    yield from heading("kind | mr | mrr | hits@1 | hits@10 | mrr, adjusted", texts=1)
    report = tr.evaluate(np.zeros((1, CANDIDATES), np.float32), [0])
    for kind in ("optimistic", "realistic", "expected", "pessimistic"):
        keys = ("mr", "mrr", "hits@1", "hits@10", "index.mrr")
        yield as_row([kind, *(number(report[f"{kind}.{key}"]) for key in keys)])


def toolkit_rows() -> Iterator[str]:
    """Yield a row for each convention, with its presets and the mrr of scores all equal, or NaN."""
    yield from heading("ties | all equal | all NaN | presets", texts=4)
    zeros, nans = (constant_tables(score) for score in (0.0, float("nan")))
    presets: dict[tuple[str, ...], list[str]] = {}
    for name, row in compat.PRESETS.items():
        ends = [ends_of(tables, name) for tables in (zeros, nans)]
        presets.setdefault((row.convention.rank, *ends), []).append(f"`{name}`")
    for convention in sorted(presets):
        yield as_row([*convention, ", ".join(presets[convention])])


def constant_tables(score: float) -> list[compat.CompatTable]:
    """Evaluate tasks whose candidates score the same; the true one is first, anywhere, last."""
    scores = np.full((1, CANDIDATES), score, np.float32)
    places = ([0], np.arange(CANDIDATES), [CANDIDATES - 1])
    return [compat.table(scores, x, rows=np.zeros(len(x), np.int64)) for x in places]


def ends_of(tables: Sequence[compat.CompatTable], name: str) -> str:
    """Return the least and the greatest mrr, wherever the true candidates stand; "any" of all."""
    ends = [found[name].ends["mrr"] for found in tables]
    least, greatest = number(min(map(min, ends))), number(max(map(max, ends)))
    if (least, greatest) == (number(1 / CANDIDATES), number(1)):
        return "any"
    return " to ".join(dict.fromkeys((least, greatest)))


# -- inputs with several meanings ----------------------------------------------------------------


def ways_to_read() -> Iterator[str]:
    """Yield tables of inputs, and for each meaning what to write, and the number."""
    with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some meanings have one.
        for title, situations in SECTIONS.items():
            yield from ("", f"## {title}", "")
            yield from heading("what came | what to write | right when | number", texts=3)
            for situation in situations:
                yield from rows_of_ways(situation)


def rows_of_ways(situation: Situation) -> Iterator[str]:
    """Yield a row for each meaning of an input, which the first one shows."""
    came = situation.came.format(**situation.data)
    if situation.metric != "mrr":
        came += f" ({situation.metric})"
    for way in situation.ways:
        value = situation.ask({**situation.data, **way.changes}, **way.values)
        yield as_row([came, way.says, way.right_when, f"{value:.3f}"])
        came = ""


def number(value: float) -> str:
    value = round(value, 12)  # What is 0 but for rounding is 0.
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def heading(names: str, texts: int) -> list[str]:
    cells = names.split(" | ")
    return [as_row(cells), as_row([":---"] * texts + ["---:"] * (len(cells) - texts))]


def as_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


TABLES = {
    "metrics.md": metric_rows,
    "reference/names.md": public_names,
    "how-to/which-option.md": ways_to_read,
    "ties.md": exact_rows,
    "other-tools.md": toolkit_rows,
}


def renewed(page: Path) -> str:
    """Return the text of a page, with its table made anew between two comments."""
    lines = "\n".join(TABLES[page.relative_to(DOCS).as_posix()]()).strip("\n")
    comment = "<!-- made by tests/tools/page_tables.py -->"
    before, _, after = page.read_text("utf-8").split(f"{comment}\n")
    return f"{before}{comment}\n\n{lines}\n\n{comment}\n{after}"


if __name__ == "__main__":
    for name in TABLES:
        page = DOCS / name
        page.write_text(renewed(page), "utf-8")
