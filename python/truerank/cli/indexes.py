"""`truerank topk` and `recall`: exact neighbours of vectors, and what an index finds of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import truerank as tr

from .. import recall
from ..tables import Column
from . import options
from .options import (
    POSITIVE,
    PRINTING,
    Values,
    called,
    command,
    files_read,
    given_name,
    option,
    take,
)
from .output import bar, check_outputs, check_printing, lay_out, refuse_replaced, show, write_last

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

SEARCH = "similarity bias filter candidates nan dtype threads layout"
SHOWN = (1, 10, 100, 1000)  # The recall at these is shown, too, where --top is larger.


# -- what both commands take -----------------------------------------------------------------------


def takes_queries_and_entities(function: Any) -> Any:
    """Add the arguments QUERIES and ENTITIES to a command, and the options of its lists."""
    for declare in (
        option("--exclude-self exclude", None, "Query i is entity i: leave it out of its list."),
        option("--top", POSITIVE, "How many entities a list has.", required=True),
        click.argument("entities", type=options.VECTORS),
        click.argument("queries", type=options.VECTORS),
    ):
        function = declare(function)
    return function


def take_search(values: Values) -> Values:
    """Take the vectors, how they are compared, and the candidates of each query."""
    if "similarity" not in values:
        raise click.UsageError(
            "Missing option '--similarity': give the index's. sql2 has the order of the distance "
            "l2, and is the L2 of faiss; others are dot and cosine"
        )
    values.pop("io", None)  # Vectors are open.
    search: Values = take(values, f"queries entities {SEARCH}")
    if isinstance(search.get("candidates"), int):  # the first ones
        search["candidates"] = np.arange(search["candidates"])
    if values.pop("exclude", False):
        if "filter" in search:
            problem = "--exclude-self, or --filter, whose lists may have the query's own row"
            raise click.UsageError(problem)
        recall.check_first_entities(search["queries"], search["entities"])
        count = len(search["queries"])
        search["filter"] = np.arange(count + 1), np.arange(count)
    return search


# -- topk ------------------------------------------------------------------------------------------


@command("topk", SEARCH, "io part force")
@takes_queries_and_entities
@option(
    "--output",
    options.OUTPUT,
    "Write the lists to a file. By its ending: .bin (ids and distances, as big-ann and DiskANN "
    "have them), .npy, .ivecs, .ibin (ids), .fbin (distances), .npz, .run (of TREC). Default: "
    "text on standard output, with tabs.",
)
@option(
    "--save",
    options.OUTPUT,
    "Write a second file of the same lists: .npz, which `truerank merge` joins, or as distances "
    "in .fbin beside --output with ids.",
)
def find_top(values: Values) -> None:
    """Find the entities that are most similar to each query, exactly: the truth for an index.

    QUERIES and ENTITIES hold a vector in each row: .npy, .fvecs, .bvecs, .fbin, .f16bin, .u8bin,
    .i8bin, .bin (floats, or bytes of --dtype), or FILE.hdf5:NAME. They are mapped, and may be
    larger than memory. Floats are compared in double precision, bytes as numbers. Entities are
    numbered from 0; equally similar ones have the order of their numbers. A list that lacks
    entities ends with -1. Distances are positive in .bin and .fbin; elsewhere, and for dot and
    cosine everywhere, more is better.

    \b
    truerank topk queries.fbin base.fbin --top 100 --similarity sql2 \\
        --output truth.bin
    truerank topk queries.u8bin base.u8bin --top 100 --similarity sql2 \\
        --part 0::4 --save 0.npz
    truerank topk base.npy base.npy --exclude-self --top 10 --similarity cosine \\
        --output graph.npz

    Do long searches in parts, here every fourth query, and join them by
    `truerank merge 0.npz 1.npz 2.npz 3.npz --output truth.ibin --save distances.fbin`.
    """
    top = values.pop("top")
    outputs = take(values, "output save")
    printing = take(values, "force")
    part = values.pop("part", slice(None))
    search = take_search(values)
    embeddings, job = recall.open_search(**search, progress=bar())
    count, entities = len(job.targets), embeddings.shape[-1]
    check_forms(outputs, printing, entities)
    rows = np.arange(count)[part]
    if not len(rows):
        raise click.UsageError(f"--part selects none of {count:,} queries")
    # One more says whether the last one ties with it.
    with called(k="--top"):
        found = recall.truth.find_nearest(embeddings, job, top + 1, rows)
    last, after = found.scores[:, top - 1], found.scores[:, top]
    is_tie = (found.ids[:, top] >= 0) & ((last == after) | np.isnan(last))  # NaN comes last.
    facts: Values = {"similarity": search["similarity"], "k": top, "ties": int(is_tie.sum())}
    if any(path.suffix.lower() == ".npz" for path in outputs.values()):
        facts |= recall.files.search_facts(embeddings, job)
    write_top(tr.TopK(found.ids[:, :top], found.scores[:, :top]), rows, facts, outputs, printing)


def check_forms(outputs: Values, printing: Values, entities: int) -> None:
    """Refuse names of files that cannot be written, before anything is counted."""
    check_outputs(outputs, printing)
    for name, path in outputs.items():
        recall.files.check_form(f"--{name}", str(path), entities)


def write_top(top: tr.TopK, rows: Array, facts: Values, outputs: Values, printing: Values) -> None:
    """Write lists to each output, or to standard output; say how many end within a tie."""
    for name, path in outputs.items():
        refuse_replaced(name, path, printing)
        recall.files.save_lists(str(path), top, rows, facts)
    if not outputs:
        # `truerank retrieval --lists` reads these lines, too.
        is_listed = top.ids >= 0
        queries = np.repeat(rows, is_listed.sum(axis=1)).tolist()
        scores = top.scores[is_listed].astype(str).tolist()  # all digits that tell one from others
        click.echo("query\tdocument\tscore")
        for fields in zip(queries, top.ids[is_listed].tolist(), scores, strict=True):
            click.echo("\t".join(map(str, fields)))
    if facts["ties"]:
        number = f"{facts['ties']:,} of {len(rows):,}"
        click.echo(f"{number} queries have a tie at place {top.ids.shape[1]}.", err=True)


def merge_lists(paths: Sequence[str], values: Values) -> None:
    """Join lists over parts of the queries, which --save of `topk` wrote, and write them."""
    outputs = take(values, "output save")
    printing = take(values, "force")
    options.refuse(values, "lists of the most similar entities")
    facts, top = recall.files.join_lists("parts", paths)
    check_forms(outputs, printing, facts["entities"])
    write_top(top, np.arange(facts["queries"]), facts, outputs, printing)


# -- recall ----------------------------------------------------------------------------------------


@command("recall", SEARCH, "io duplicates save", PRINTING)
@takes_queries_and_entities
@option(
    "--truth",
    options.INPUT,
    "Exact lists of these vectors, if you have them: from topk, or of another tool. Default: a "
    "search.",
)
@option(
    "--tolerance",
    click.FloatRange(min=0),
    "How much less similar than the last exact id an id may be. Default: 0.",
)
@option(
    "--labels",
    options.Value(options.read_vocabulary, "entities=file", ("entities",)),
    "Keys by which FOUND names entities: a line for each row of ENTITIES, or .npy. Default: rows.",
)
@click.argument("found", type=options.INPUT, nargs=-1, required=True)
def measure_recall(values: Values) -> None:
    """Measure the recall of an index by the lists that it returned; no ground truth is needed.

    QUERIES and ENTITIES are as for `truerank topk`. FOUND has the ids of entities that the index
    lists for each query, a row for each: .npy, .npz (ids), .ivecs, .ibin, .bin or FILE.hdf5:NAME;
    several files take little longer than one, and are compared with the first. An id is right if
    fewer than --top entities are more similar: all ids that tie at the border are right. -1 is a
    miss, and so is an id that is not a candidate. If a query has fewer candidates than --top, a
    list can find only these. The recall is the mean over queries; 95 % intervals hold for other
    queries.

    \b
    truerank recall queries.fbin base.fbin hnsw.ibin ivf.ibin --top 10 \\
        --similarity sql2
    truerank recall Q.npy E.npy hnsw.npy --top 10 --similarity cosine \\
        --save hnsw.npz
    truerank recall Q.npy E.npy a.npy --truth truth.ibin --top 10 \\
        --similarity l2 --tolerance 1e-3

    --save keeps what one index found; `truerank compare hnsw.npz ivf.npz --metrics recall@10`
    compares two such files.
    """
    paths = list(dict.fromkeys(values.pop("found")))
    top = values.pop("top")
    measuring = take(values, "tolerance")
    reading = take(values, "duplicates")
    reading["keys"] = values.pop("labels", {}).get("entities")
    truth_file = values.pop("truth", None)
    save = values.pop("save", None)
    if save is not None and len(paths) > 1:
        raise click.UsageError(f"--save keeps what one index found, got {len(paths)} files")
    printing = take(values, PRINTING)
    search = take_search(values)
    options.refuse(values, "recall")
    style = check_printing(printing, save=save)
    embeddings, job = recall.open_search(**search, progress=bar())
    shape = len(job.targets), embeddings.shape[-1]
    lists = {}
    for path in paths:
        if path.lower().endswith((".run", ".tsv", ".txt")):
            raise click.UsageError(
                f"FOUND has rows of ids, in .npy, .ivecs or .hdf5:NAME, got {path}; lists of text "
                "are measured by the right answers that you have: truerank retrieval QRELS RUN"
            )
        lists[path] = recall.files.read_lists("found", path, shape, top, **reading)
    measuring["embeddings"], measuring["job"] = embeddings, job
    with called(truth="--truth", filter="--exclude-self"):
        if truth_file is None:
            measuring["exact"] = recall.truth.find_nearest(embeddings, job, top)
        else:
            looked_at = recall.truth.read_truth(embeddings, job, truth_file, top)
            measuring["exact"], measuring["on_trust"] = looked_at
    rows, notes, report = measure_files(lists, top, measuring)
    if save is not None:
        write_last("save", save, printing, report.ranks.with_protocol(files=files_read()).save)
    notes.insert(0, f"{shape[0]:,} queries, {shape[1]:,} entities, {search['similarity']}.")
    has_place = style in ("text", "json")  # Other forms have notes on standard error.
    below = [] if has_place or not printing.get("notes", True) else notes
    show(lay_out_recall(rows, notes if has_place else ()), printing, lines=below)


def lay_out_recall(rows: list[list[Any]], notes: Sequence[str]) -> tr.Table:
    """Make the table of `measure_files`; a single file has no other to compare it with."""
    names = ["recall", "low", "high", "to the first", "difference low", "difference high"]
    headings = ["recall", "95 % from", "to", "minus the first file's", "95 % from", "to"]
    columns = ["file", "k", *map(partial(Column, decimals=4), names, headings)]
    if len({row[0] for row in rows}) == 1:
        columns, rows = columns[:5], [row[:5] for row in rows]
    return lay_out(columns, rows, notes)


def measure_files(
    lists: dict[str, Array], top: int, measuring: Values
) -> tuple[list[list[Any]], list[str], Any]:
    """Return a row for each file and k, notes, and the last report.

    A row has the recall and how far it is from that of the first file, each with its bounds.
    """
    rows: list[list[Any]] = []
    notes: list[str] = []
    first_reports: dict[int, tr.Report] = {}
    for path, ids in ((given_name(path), ids) for path, ids in lists.items()):
        for k in [*(k for k in SHOWN if k < top), top]:
            with called(truth="--truth", filter="--exclude-self"):
                report = recall.report_lists(lists=ids[:, :k], **measuring)
            key = f"recall@{k}"
            interval = report.interval(key)
            to_the_first: list[float | None] = [None, None, None]
            first = first_reports.setdefault(k, report)
            if report is not first:
                difference = tr.compare(report, first, metric=key)
                to_the_first = [difference.estimate, difference.low, difference.high]
            rows.append([path, k, interval.value, interval.low, interval.high, *to_the_first])
            notes += [f"{path}: {note}" for note in interval.notes]
        findings = report.audit(*recall.FINDINGS)
        notes += [f"{path}: {finding.message}" for finding in findings]
    return rows, list(dict.fromkeys(notes)), report
