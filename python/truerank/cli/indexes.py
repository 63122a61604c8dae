"""`truerank topk` and `recall`: exact neighbours of vectors, and what an index finds of them."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import truerank as tr

from ..tables import Column
from ..tasks import ids_evaluation, topk_evaluation
from . import options
from .options import POSITIVE, PRINTING, Values, called, command, files_read, option, take
from .output import bar, check_outputs, check_printing, lay_out, refuse_replaced, show, write_last

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Reports = Mapping[str, Callable[[int], tr.Report]]  # of each file at k

SEARCH = "similarity bias filter candidates nan dtype threads layout"
SHOWN = (1, 10, 100, 1000)  # The recall at these is shown, too, where --top is larger.
SHARES = (1, 5, 50)  # percentiles of queries
ROWS_AT_ONCE = 1 << 16


NO_SIMILARITY = (
    "Missing option '--similarity': give the index's. sql2 has the order of the distance l2, and "
    "is the L2 of faiss; others are dot and cosine"
)


# -- what both commands take -----------------------------------------------------------------------

TOP = option("--top", POSITIVE, "How many entities a list has.", required=True)
EXCLUDE = option("--exclude-self exclude", None, "Query i is entity i: leave it out of its list.")


def take_search(values: Values) -> Values:
    """Take the vectors, how they are compared, and the candidates of each query."""
    if "similarity" not in values:
        raise click.UsageError(NO_SIMILARITY)
    values.pop("io", None)  # Vectors are open.
    search: Values = take(values, f"queries entities {SEARCH}")
    if values.pop("exclude", False):
        if "filter" in search:
            problem = "--exclude-self, or --filter, whose lists may have the query's own row"
            raise click.UsageError(problem)
        check_first_entities_are_queries(search["queries"], search["entities"])
        count = len(search["queries"])
        search["filter"] = np.arange(count + 1), np.arange(count)
    return search


def check_first_entities_are_queries(queries: Any, entities: Any) -> None:
    """Refuse queries if one of them is not the entity of its number."""
    if isinstance(queries, tuple) or np.ndim(queries) != 2 or len(queries) > len(entities):
        raise click.UsageError("--exclude-self needs entities that begin with the queries")
    for start in range(0, len(queries), ROWS_AT_ONCE):
        block = queries[start : start + ROWS_AT_ONCE]
        is_unlike = (block != entities[start : start + len(block)]).any(axis=1)
        if is_unlike.any():
            row = start + is_unlike.argmax()
            raise click.UsageError(f"--exclude-self: query {row} is not the entity of this number")


# -- topk ------------------------------------------------------------------------------------------


@command("topk", SEARCH, "io part force")
@click.argument("queries", type=options.VECTORS)
@click.argument("entities", type=options.VECTORS)
@TOP
@EXCLUDE
@option(
    "--output",
    options.OUTPUT,
    "Write the lists to a file. By its ending: .bin (ids and distances, as big-ann and DiskANN "
    "have them), .ivecs, .ibin (ids), .fbin (distances), .npz, .run (of TREC). Default: text on "
    "standard output, with tabs.",
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
    embeddings, job = topk_evaluation.open_search(**search, progress=bar())
    count, entities = len(job.targets), embeddings.shape[-1]
    check_forms(outputs, printing, entities)
    rows = np.arange(count)[part]
    if not len(rows):
        raise click.UsageError(f"--part selects none of {count:,} queries")
    # One more says whether the last one ties with it.
    with called(k="--top"):
        found = topk_evaluation.find_nearest(embeddings, job, top + 1, rows)
    last, after = found.scores[:, top - 1], found.scores[:, top]
    is_tie = (found.ids[:, top] >= 0) & ((last == after) | np.isnan(last))  # NaN comes last.
    facts: Values = {"similarity": search["similarity"], "k": top, "ties": int(is_tie.sum())}
    if any(path.suffix.lower() == ".npz" for path in outputs.values()):
        facts |= topk_evaluation.search_facts(embeddings, job)
    write_top(tr.TopK(found.ids[:, :top], found.scores[:, :top]), rows, facts, outputs, printing)


def check_forms(outputs: Values, printing: Values, entities: int) -> None:
    """Refuse names of files that cannot be written, before anything is counted."""
    check_outputs(outputs, printing)
    for name, path in outputs.items():
        topk_evaluation.check_form(f"--{name}", str(path), entities)


def write_top(top: tr.TopK, rows: Array, facts: Values, outputs: Values, printing: Values) -> None:
    """Write lists to each output, or to standard output; say how many end within a tie."""
    for name, path in outputs.items():
        refuse_replaced(name, path, printing)
        topk_evaluation.save_lists(str(path), top, rows, facts)
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
    facts, top = topk_evaluation.join_lists("parts", paths)
    check_forms(outputs, printing, facts["entities"])
    write_top(top, np.arange(facts["queries"]), facts, outputs, printing)


# -- recall ----------------------------------------------------------------------------------------


def parse_truth(argument: str, text: str) -> Any:
    """Return the file of a truth, or those of its ids and its distances."""
    ids, comma, distances = text.partition(",")
    if not comma or os.path.isfile(text):
        return options.note_file(text)
    return tr.TopK(*map(options.note_file, (ids, distances)))  # type: ignore[arg-type]


@command("recall", SEARCH, "io duplicates save", PRINTING)
@click.argument(
    "files", type=options.WORD, nargs=-1, required=True, metavar="[QUERIES ENTITIES] FOUND..."
)
@TOP
@EXCLUDE
@option(
    "--truth",
    options.Value(parse_truth, "file[,file]"),
    "Exact lists, from topk or of another tool. A second file has their distances, where there are "
    "no vectors. Default: a search.",
)
@option(
    "--tolerance",
    click.FloatRange(min=0),
    "How much less similar than the last exact id an id may be, or farther in the truth's own "
    "unit. Default: 0.",
)
@option(
    "--below",
    click.FloatRange(0, 1),
    "Also show the share of queries whose recall is below this, the least recall, and that of the "
    "1st, 5th and 50th of 100 queries.",
)
@option(
    "--labels",
    options.Value(options.read_vocabulary, "entities=file", ("entities",)),
    "Keys by which FOUND names entities: a line for each row of ENTITIES, or .npy. Default: rows.",
)
def measure_recall(values: Values) -> None:
    """Measure the recall of an index by the lists that it returned, by vectors or a truth alone.

    QUERIES and ENTITIES are as for `truerank topk`. FOUND has the ids of entities that the index
    lists for each query, a row for each: .npy, .npz (ids), .ivecs, .ibin, .bin, FILE.hdf5:NAME or
    a column of lists, FILE.parquet:NAME (.arrow);
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
    truerank recall a.npy b.ivecs --truth truth.bin --top 10 --below .9

    Without --similarity all files are lists, whose ids may be any integers or text, as those of
    --truth: its first --top ids are right, and what ties with the last by the distances that stand
    behind the ids in .bin and .ibin, beside FILE.hdf5:neighbors, or in a second file.

    --save keeps what one index found; `truerank compare hnsw.npz ivf.npz --metrics recall@10`
    compares two such files.
    """
    files = values.pop("files")
    top, below, save = values.pop("top"), values.pop("below", None), values.pop("save", None)
    n_found = len({*(files[2:] if "similarity" in values else files)})
    if save is not None and n_found > 1:
        raise click.UsageError(f"--save keeps what one index found, got {n_found} files")
    printing = take(values, PRINTING)
    if "similarity" in values:
        reports, notes = open_recalls(files, top, values)
    elif "truth" in values:
        reports, notes = open_recalls_of_ids(files, top, values)
    else:
        raise click.UsageError(f"{NO_SIMILARITY}. Lists of ids alone need '--truth'")
    style = check_printing(printing, save=save)
    rows, more_notes, report = measure_files(reports, top, below)
    if save is not None:
        write_last("save", save, printing, report.ranks.with_protocol(files=files_read()).save)
    headings = {"recall": "recall", "low": "95 % from", "high": "to"}
    if len(reports) > 1:
        headings |= {"to the first": "to the first", "difference low": "95 % from"}
        headings |= {"difference high": "to"}
    if below is not None:
        headings |= {"below": f"below {below:g}", "least": "least"}
        headings |= {f"percentile {share}": f"{share} %" for share in SHARES}
    columns = ["file", "k", *(Column(*each, decimals=4) for each in headings.items())]
    notes += more_notes
    show(lay_out(columns, rows, notes if style == "json" else ()), printing, lines=notes)


def note_lists(paths: Sequence[str]) -> list[str]:
    """Return the files of an index's lists, each once."""
    if not paths:
        raise click.UsageError("Missing argument 'FOUND...'")
    for path in paths:
        if path.lower().endswith((".run", ".tsv", ".txt")):
            raise click.UsageError(
                f"FOUND has rows of ids, in .npy, .ivecs or .hdf5:NAME, got {path}; lists of text "
                "are measured by the right answers that you have: truerank retrieval QRELS RUN"
            )
    return list(dict.fromkeys(map(options.note_file, paths)))


def open_recalls(files: Sequence[str], top: int, values: Values) -> tuple[Reports, list[str]]:
    """Return what reports the recall at k of each file by vectors, and what to say first."""
    for name, path in zip(("queries", "entities"), files, strict=False):
        values[name] = options.read_vectors(name.upper(), path)
    paths = note_lists(files[2:])
    measuring = take(values, "tolerance")
    reading = take(values, "duplicates")
    reading["keys"] = values.pop("labels", {}).get("entities")
    truth = values.pop("truth", None)
    if isinstance(truth, tr.TopK):
        raise click.UsageError("--truth has ids alone where vectors say how near they are")
    search = take_search(values)
    options.refuse(values, "recall")
    embeddings, job = topk_evaluation.open_search(**search, progress=bar())
    shape = len(job.targets), embeddings.shape[-1]
    lists = {
        path: topk_evaluation.read_lists("found", path, shape, top, **reading) for path in paths
    }
    if truth is None:
        exact, on_trust = topk_evaluation.find_nearest(embeddings, job, top), 0
    else:
        with called(filter="--exclude-self"):
            exact, on_trust = topk_evaluation.read_truth(embeddings, job, truth, top)
    measuring |= {"embeddings": embeddings, "job": job, "exact": exact, "on_trust": on_trust}

    def report_first(ids: Array, k: int) -> tr.Report:
        return topk_evaluation.report_lists(lists=ids[:, :k], **measuring)

    reports = {path: partial(report_first, ids) for path, ids in lists.items()}
    return reports, [f"{shape[0]:,} queries, {shape[1]:,} entities, {search['similarity']}."]


def open_recalls_of_ids(
    files: Sequence[str], top: int, values: Values
) -> tuple[Reports, list[str]]:
    """Return what reports the recall at k of each file by its ids, and what to say first."""
    paths = note_lists(files)
    measuring = take(values, "tolerance")
    duplicates = values.pop("duplicates", "raise")
    exact, scores = ids_evaluation.read_exact("truth", values.pop("truth"))
    options.refuse(values, "lists without --similarity")
    reports = {}
    for path in paths:
        found, place = ids_evaluation.read_rows("found", path, top)
        lists, known = ids_evaluation.number_ids(found, exact, duplicates, "found", place)

        def report_first(lists: Array, known: Array, k: int) -> tr.Report:
            return ids_evaluation.report_ids(lists[:, :k], known, exact, scores, **measuring)

        reports[path] = partial(report_first, lists, known)
    distances = "without" if scores is None else "with"
    words = f"{len(exact):,} queries, {exact.shape[1]:,} exact ids of each, {distances} distances."
    return reports, [words]


def measure_files(
    reports: Reports, top: int, below: float | None
) -> tuple[list[list[Any]], list[str], Any]:
    """Return a row for each file and k, notes, and the last report.

    A row has the recall with its bounds; where there are several files, how far it is from that of
    the first one, with bounds; and shares of queries, if asked for.
    """
    rows: list[list[Any]] = []
    notes: list[str] = []
    first_reports: dict[int, tr.Report] = {}
    for path, report_first in reports.items():
        for k in [*(k for k in SHOWN if k < top), top]:
            with called(filter="--exclude-self"):
                report = report_first(k)
            key = f"recall@{k}"
            recall = report.interval(key)
            row = [path, k, recall.value, recall.low, recall.high]
            to_the_first: list[float | None] = [None, None, None]
            first = first_reports.setdefault(k, report)
            if report is not first:
                difference = tr.compare(report, first, metric=key)
                to_the_first = [difference.estimate, difference.low, difference.high]
            if len(reports) > 1:
                row += to_the_first
            if below is not None:
                row += describe_queries(report.per_query(key), below)
            rows.append(row)
            notes += [f"{path}: {note}" for note in recall.notes]
        findings = report.audit(*topk_evaluation.FINDINGS)
        notes += [f"{path}: {finding.message}" for finding in findings]
    return rows, list(dict.fromkeys(notes)), report


def describe_queries(recalls: Array, below: float) -> list[float]:
    """Return the share of queries below a recall, the least one, and those at `SHARES` of 100."""
    if not len(recalls):
        return [math.nan] * (2 + len(SHARES))
    in_order = np.sort(recalls)
    places = [max(math.ceil(len(recalls) * share / 100), 1) - 1 for share in (0, *SHARES)]
    return [float((recalls < below).mean()), *in_order[places].tolist()]
