"""Filters by time, held against those of the toolkits' own code on their own data.

    python bench/studies/filters_by_time.py FOLDER [--ranked 1000] [--output FOLDER]

FOLDER holds clones of the repositories of `COMMITS`, each under its own name (`git clone`; bare
ones do as well). ICEWS14 is read from TKG-Forecasting-Evaluation, YAGO from RE-Net, YAGO11k and
Wikidata12k from ATISE. For each test fact and side the answers that a toolkit's code leaves out
must be those of a filter of `link_prediction.Task`, and the ranks that its code gives random scores
with ties must be those of truerank, or lie between its bounds. Needs torch and pandas.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from filters_by_time_code import (
    BY_DAYS,
    COMMITS,
    FILTERS,
    SIDES,
    Data,
    Ranked,
    Row,
    Sweep,
    lists_of,
    read_data,
    run_regcn,
    run_renet,
    run_sweep,
    run_tero,
    run_tgb,
    run_timeplex,
    run_tkbc,
)
from pages import format_page, markdown_table
from toolkit_code import Code

from truerank.link_prediction import Task

HERE = Path(__file__).parent
RUNS: dict[str, list[Callable[[Code, Data, Ranked], Iterator[Row]]]] = {
    "ICEWS14": [run_renet, run_regcn, run_tkbc, run_tgb],
    "YAGO": [run_renet, run_regcn, run_tkbc, run_tgb],
    "YAGO11k": [run_tero, run_timeplex],
    "Wikidata12k": [run_tero, run_timeplex],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--ranked", type=int, default=1000, help="test facts whose ranks are compared"
    )
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    code = Code(options.folder)
    rows: list[Row] = []
    left_out, sweeps = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for name, runs in RUNS.items():
            data = read_data(code, name, Path(temporary))
            ranked = Ranked.of(data, options.ranked)
            for run in runs:
                for row in run(code, data, ranked):
                    print(row, flush=True)
                    rows.append(row)
            audit = data.task.audit
            facts = audit.given + sum(audit.known.values())
            left_out.append([name, f"{facts:,}", f"{audit.given:,}", *means_left_out(data.task)])
            if name in ("YAGO11k", "Wikidata12k"):
                sweeps.append(run_sweep(code, data))
                print(sweeps[-1], flush=True)
    (options.output / "filters_by_time.md").write_text(make_page(rows, left_out, sweeps))


def means_left_out(task: Task) -> list[str]:
    """Return the mean number of other answers that each filter leaves out, of heads and tails."""
    lists = {name: [lists_of(task, side, name) for side in SIDES[:2]] for name in FILTERS}
    return [
        f"{np.mean([len(each) - 1 for side in sides for each in side]):.2f}"
        for sides in lists.values()
    ]


def make_page(rows: list[Row], left_out: list[list[str]], sweeps: list[Sweep]) -> str:
    """Write the page."""
    compared = [[each or 0 for each in row[3:]] for row in rows if row.filter != BY_DAYS]
    lists, unlike, ranks, wrong = (
        f"{sum(map(int, each)):,}" for each in zip(*compared, strict=True)
    )
    table = markdown_table(
        "code | data | filter | lists | unlike | ranks | wrong",
        ([f"{x:,}" if isinstance(x, int) else x for x in row] for row in rows),
        text_columns=3,
    )
    means = markdown_table("data | facts | tested | " + " | ".join(FILTERS), left_out)
    swept = markdown_table(
        "data | tasks | its code | mended | hold then | hold on | unlike",
        ([x if isinstance(x, str) else f"{x:,}" for x in sweep] for sweep in sweeps),
    )
    commits = ", ".join(f"{name} {commit[:7]}" for name, commit in COMMITS.items())
    return format_page(f"""
# Filters by time, and the toolkits' own code

Made by `python bench/studies/filters_by_time.py FOLDER`, with Python {platform.python_version()},
numpy {np.__version__} and torch {torch.__version__}. FOLDER holds clones at these commits:
{commits}. ICEWS14 (the split by time) is read from TKG-Forecasting-Evaluation, YAGO from RE-Net,
YAGO11k and Wikidata12k from ATISE.

For each test fact and side the code of a toolkit makes a list of answers that it leaves out; it
must be that of the filter of `link_prediction.Task`. Then its code ranks the first test facts by
random scores with many ties. {lists} lists, {unlike} unlike; {ranks} ranks, {wrong} wrong; without
the rows "by days", where the code compares years.

{table}

Ranks are realistic in RE-Net (after a sigmoid in float32), pessimistic in tkbc, optimistic in
ATISE; RE-GCN sorts without stability, so that its ranks must lie between the bounds. Lists of
relations are compared in RE-GCN alone. TimePlex's `enumerate-time` is the union of what it leaves
out year by year: first of years as it reads them, then ("by days") of the files as `Task` reads
them. By years, 1945-03-01 overlaps 1945-11-07; years of three digits or with an unknown digit are
unknown to it, an end before its start becomes the start, and a fact without both holds in year 0
alone. Lists from files are compared where all entities are in train, as others are one entity to
it.

## What the code does

- RE-Net leaves out known triples of any time, though its queries have times: "triple", not "fact".
- RE-GCN and TGB 2 look at facts of the test split alone. Where splits follow each other in time,
  as in ICEWS14 and YAGO, no other fact has a time of the test, and this is "fact".
- TimePlex ranks a fact of an interval once for each of its years, among what is left without the
  facts of that year, and takes the mean of these pessimistic ranks (its default, `enumerate-time`).
  No single list gives that number; "overlap" leaves out what any of the years does.
- TeRo and ATiSE compare the texts of start and end. A known fact whose interval is another by one
  day stays among the candidates.
- TNTComplEx's code for intervals draws one instant of each test fact, and means to leave out what
  holds at that instant. See below.
- HyTE's script (`result_eval.py`, read, not run) ranks all entities, the other answers too: "none".

## How many answers are left out

Means over the heads and tails of all test facts; the answer of the task itself does not count.

{means}

On YAGO11k and Wikidata12k few known facts have the very interval of a test fact, and many overlap
it: under "fact" these count as wrong answers, and a good model ranks them before the right one.

## Intervals in TNTComplEx's code

`time_eval` in `tkbc/datasets.py` goes through the starts and ends of known facts in the order of
time, up to `eval_events[id_event][3]`, which is the id of the right tail; the instant is at
position 0. Ids of entities soon exceed those of times, all facts have then ended, and nothing is
left out but the answer itself. Its own data, Wikidata, is not in the repository; the data below
were written in its form, by years. Numbers of other answers that are left out, of all tails:

{swept}

"Mended" is its code with position 0. "Hold then": the answers of facts that hold at the instant;
"hold on": less those that end at it, as the code takes ends first. "Unlike": the tasks whose mended
list is not that of the facts that hold on. Facts whose end lies before their start are skipped, as
its code does.
""")


if __name__ == "__main__":
    main()
