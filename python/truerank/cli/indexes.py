"""`truerank topk` and `recall`: exact neighbours of vectors, and what an index finds of them."""

from __future__ import annotations

import math
import os
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
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Reports = Mapping[str, Callable[..., tr.Report]]  # what reports the first k of each file

SEARCH = "similarity bias filter candidates nan dtype threads layout"
NO_SIMILARITY = (
    "Missing option '--similarity': give the index's. sql2 has the order of the distance l2, and "
    "is the L2 of faiss; others are dot and cosine"
)
SHARES = (1, 5, 50)  # of queries, in percent, which --below shows
SHOWN = (1, 10, 100, 1000)  # The recall at these is shown, too, where --top is larger.


# -- what both commands take -----------------------------------------------------------------------


EXCLUDE = option("--exclude-self exclude", None, "Query i is entity i: leave it out of its list.")
K = option("--top", POSITIVE, "How many entities a list has.", required=True)


def take_search(values: Values) -> Values:
    """Take the vectors, how they are compared, and the candidates of each query."""
    if "similarity" not in values:
        raise click.UsageError(NO_SIMILARITY)
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
@click.argument("queries", type=options.VECTORS)
@click.argument("entities", type=options.VECTORS)
@K
@EXCLUDE
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


def parse_truth(argument: str, text: str) -> Any:
    """Return the file of a truth, or those of its ids and of its distances."""
    paths = [text] if os.path.exists(text) else text.split(",", maxsplit=1)
    names: list[Any] = list(map(options.note_file, paths))
    return tr.TopK(*names) if names[1:] else names[0]


@command("recall", SEARCH, "io duplicates save", PRINTING)
@click.argument("found", type=options.WORD, nargs=-1, metavar="[QUERIES ENTITIES] FOUND...")
@K
@EXCLUDE
@option(
    "--truth",
    options.Value(parse_truth, "file[,file]"),
    "Exact lists, if you have them: from topk, or of another tool. Without vectors a second file "
    "may have their distances. Default: a search.",
)
@option(
    "--tolerance",
    click.FloatRange(min=0),
    "How much less similar than the last exact id an id may be; without vectors how much farther, "
    "in the unit of the truth's distances. Default: 0.",
)
@option(
    "--below",
    click.FloatRange(0, 1),
    "Also show the share of queries whose recall is below this, the least recall, and the one that "
    "1, 5 and 50 % of queries do not exceed.",
)
@option(
    "--labels",
    options.Value(options.read_vocabulary, "entities=file", ("entities",)),
    "Keys by which FOUND names entities: a line for each row of ENTITIES, or .npy. Default: rows.",
)
def measure_recall(values: Values) -> None:
    """Measure the recall of an index by the lists that it returned; no ground truth is needed.

    QUERIES and ENTITIES are as for `truerank topk`. FOUND has the ids of entities that the index
    lists for each query, a row for each: .npy, .npz (ids), .ivecs, .ibin, .bin, FILE.hdf5:NAME, or
    FILE.parquet:NAME (.arrow), a column of lists; several files take little longer than one, and
    are compared with the first. An id is right if fewer than --top entities are more similar: all
    ids that tie at the border are right. -1 is a miss, and so is an id that is not a candidate. If
    a query has fewer candidates than --top, a list can find only these. The recall is the mean over
    queries; 95 % intervals hold for other queries.

    \b
    truerank recall queries.fbin base.fbin hnsw.ibin ivf.ibin --top 10 \\
        --similarity sql2
    truerank recall Q.npy E.npy hnsw.npy --top 10 --similarity cosine \\
        --save hnsw.npz
    truerank recall Q.npy E.npy a.npy --truth truth.ibin --top 10 \\
        --similarity l2 --tolerance 1e-3
    truerank recall a.npy b.ivecs --truth truth.bin --top 10 --below .9

    Without --similarity there are no vectors: ids are any integers or text, the first --top of
    --truth are right, and so is what ties with the last of them by the distances behind the ids
    (.bin, .ibin), beside FILE.hdf5:neighbors, or in a second file.

    --save keeps what one index found; `truerank compare hnsw.npz ivf.npz --metrics recall@10`
    compares two such files.
    """
    top, below, save = values.pop("top"), values.pop("below", None), values.pop("save", None)
    has_vectors = "similarity" in values
    if not has_vectors and "truth" not in values:
        raise click.UsageError(f"{NO_SIMILARITY}. Lists without vectors need '--truth'")
    names = values.pop("found", ())
    if has_vectors:
        for name, path in zip(("queries", "entities"), names, strict=False):
            values[name] = options.read_vectors(name.upper(), path)
        names = names[2:]
    paths = list(dict.fromkeys(map(options.note_file, names)))
    if not paths:
        raise click.UsageError("Missing argument 'FOUND...'")
    if save is not None and len(paths) > 1:
        raise click.UsageError(f"--save keeps what one index found, got {len(paths)} files")
    for path in paths:
        if path.lower().endswith((".run", ".tsv", ".txt")):
            raise click.UsageError(
                f"FOUND has rows of ids, in .npy, .ivecs or .hdf5:NAME, got {path}; lists of text "
                "are measured by the right answers that you have: truerank retrieval QRELS RUN"
            )
    printing = take(values, PRINTING)
    style = check_printing(printing, save=save)
    with called(truth="--truth", filter="--exclude-self"):
        if has_vectors:
            what, reports = read_with_vectors(paths, top, values)
        else:
            what, reports = read_alone(paths, values)
        rows, notes, report = measure_files(reports, top, below)
    if save is not None:
        write_last("save", save, printing, report.ranks.with_protocol(files=files_read()).save)
    notes.insert(0, what)
    has_place = style in ("text", "json")  # Other forms have notes on standard error.
    lines = [] if has_place or not printing.get("notes", True) else notes
    table = lay_out_recall(rows, notes if has_place else (), len(paths) > 1, below)
    show(table, printing, lines=lines)


def read_with_vectors(paths: Sequence[str], top: int, values: Values) -> tuple[str, Reports]:
    """Return what is measured by vectors, in words, and what reports each file."""
    measuring = take(values, "tolerance")
    reading = take(values, "duplicates")
    reading["keys"] = values.pop("labels", {}).get("entities")
    given = values.pop("truth", None)
    if isinstance(given, tr.TopK):
        raise click.UsageError("--truth has ids alone where there are vectors, got two files")
    search = take_search(values)
    options.refuse(values, "recall")
    embeddings, job = recall.open_search(**search, progress=bar())
    shape = len(job.targets), embeddings.shape[-1]
    lists = {path: recall.files.read_lists("found", path, shape, top, **reading) for path in paths}
    if given is None:
        measuring["exact"] = recall.truth.find_nearest(embeddings, job, top)
    else:
        looked_at = recall.truth.read_truth(embeddings, job, given, top)
        measuring["exact"], measuring["on_trust"] = looked_at
    measure = partial(recall.report_lists, embeddings, job, **measuring)
    reports = {path: partial(measure, found) for path, found in lists.items()}
    return f"{shape[0]:,} queries, {shape[1]:,} entities, {search['similarity']}.", reports


def read_alone(paths: Sequence[str], values: Values) -> tuple[str, Reports]:
    """Return what is measured without vectors, in words, and what reports each file."""
    measuring = take(values, "tolerance duplicates")
    exact, scores = recall.files.read_exact("truth", values.pop("truth"))
    options.refuse(values, "lists without --similarity")
    measuring |= {"truth": exact, "scores": scores}
    reports = {path: partial(recall.report_ids, "found", path, **measuring) for path in paths}
    distances = f"{'without' if scores is None else 'with'} distances"
    return f"{len(exact):,} queries, {exact.shape[1]:,} exact ids of each, {distances}.", reports


def lay_out_recall(
    rows: list[list[Any]], notes: Sequence[str], are_several: bool, below: float | None
) -> tr.Table:
    """Make the table of `measure_files`, whose first file is compared with others."""
    headings = {"recall": "recall", "low": "95 % from", "high": "to"}
    if are_several:
        headings["to the first"] = "minus the first file's"
        headings |= {"difference low": "95 % from", "difference high": "to"}
    if below is not None:
        headings |= {"below": f"below {below:g}", "least": "least"}
        headings |= {f"percentile {share}": f"{share} %" for share in SHARES}
    columns = [Column(name, heading, decimals=4) for name, heading in headings.items()]
    return lay_out(["file", "k", *columns], rows, notes)


def measure_files(
    reports: Reports, top: int, below: float | None
) -> tuple[list[list[Any]], list[str], Any]:
    """Return a row for each file and k, notes, and the last report.

    A row has the recall with its bounds; of several files, how far it is from that of the first
    one, with bounds; and what `below` asks for.
    """
    rows: list[list[Any]] = []
    notes: list[str] = []
    first_reports: dict[int, tr.Report] = {}
    for path, report_first in ((given_name(path), each) for path, each in reports.items()):
        for k in [*(k for k in SHOWN if k < top), top]:
            report = report_first(k=k)
            key = f"recall@{k}"
            interval = report.interval(key)
            row: list[Any] = [path, k, interval.value, interval.low, interval.high]
            first = first_reports.setdefault(k, report)
            if report is not first:
                difference = tr.compare(report, first, metric=key)
                row += [difference.estimate, difference.low, difference.high]
            elif len(reports) > 1:
                row += [None] * 3
            if below is not None:
                values = np.sort(report.per_query(key))
                places = [0, *(math.ceil(len(values) * share / 100) - 1 for share in SHARES)]
                shown = (
                    [(values < below).mean(), *values[places]] if len(values) else [math.nan] * 5
                )
                row += list(map(float, shown))
            rows.append(row)
            notes += [f"{path}: {note}" for note in interval.notes]
        findings = report.audit(*recall.FINDINGS)
        notes += [f"{path}: {finding.message}" for finding in findings]
    return rows, list(dict.fromkeys(notes)), report
