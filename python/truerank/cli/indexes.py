"""`truerank topk` and `recall`: exact neighbours of vectors, and what an index finds of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import truerank as tr
from truerank import InputValueError

from ..stores import index_files
from ..tables import Column
from . import options
from .options import POSITIVE, PRINTING, Values, called, command, files_read, option, take
from .output import bar, check_outputs, check_printing, refuse_replaced, show, table_of, write_last

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

SEARCH = "similarity layout bias nan dtype threads io"
# Their scores are distances below 0, which files of indexes have above 0.
DISTANCES = ("l1", "l2", "sql2", "complex_l1", "poincare")
FORMS = (*index_files.LISTS, ".fbin", ".run")
SHOWN = (1, 10, 100, 1000)  # The recall at these is shown, too, where --top is larger.
MISS = -1


# -- what both commands take -----------------------------------------------------------------------


def read_entities(option: str, text: str) -> Any:
    """Read the entities to let in: those of all queries (.npy), or of each (.npz)."""
    if text.lower().endswith(".npz"):
        return options.read_selection(option, text)
    return options.read_array(option, text)


def vectors_and_entities(function: Any) -> Any:
    """Declare what says which vectors are compared, and which entities are let in."""
    for declare in (
        option(
            "--candidates",
            options.Value(read_entities),
            "The entities to let in: .npy of their rows for all queries, or .npz with indptr and "
            "indices, a list for each query, or a CSR matrix saved by scipy.sparse.",
        ),
        option("--exclude-self exclude", None, "Query i is entity i: leave it out of its list."),
        option("--top", POSITIVE, "How many entities a list has.", required=True),
        click.argument("entities", type=options.VECTORS),
        click.argument("queries", type=options.VECTORS),
    ):
        function = declare(function)
    return function


def take_vectors(values: Values) -> tuple[Values, tuple[int, int]]:
    """Take the vectors and how they are compared, and return how many there are, too."""
    if "similarity" not in values:
        raise click.UsageError(
            "Missing option '--similarity', that of the index: sql2 has the order of the distance "
            "l2, and is the L2 of faiss; others are dot and cosine"
        )
    values.pop("io", None)  # Vectors are open.
    search: Values = take(values, f"queries entities {SEARCH}")
    queries, entities = (
        len(each[1]) - 1 if isinstance(each, tuple) else len(np.atleast_2d(each))
        for each in (search["queries"], search["entities"])
    )
    return search, (queries, entities)


def take_candidates(values: Values, search: Values, shape: tuple[int, int]) -> tuple[Any, bool]:
    """Take the candidates, a mask for all queries or a CSR matrix, and whether queries are none.

    A query that is left out must be the entity of its number.
    """
    exclude = values.pop("exclude", False)
    if exclude:
        refuse_others(search["queries"], search["entities"])
    candidates = values.pop("candidates", None)
    if candidates is None:
        return None, exclude
    if isinstance(candidates, np.ndarray):
        is_row = candidates.ndim == 1 and candidates.dtype.kind in "iu"
        if not is_row or ((candidates < 0) | (candidates >= shape[1])).any():
            expected = f"rows of entities, integers from 0 to {shape[1] - 1:,}"
            got = f"dtype {candidates.dtype}, shape {candidates.shape}"
            raise InputValueError("--candidates", expected=expected, got=got)
        mask = np.zeros(shape[1], np.bool_)
        mask[candidates] = True
        return mask, exclude
    from scipy.sparse import csr_array

    try:
        if isinstance(candidates, tuple):
            indptr, indices = candidates
            candidates = csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape)
        candidates.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputValueError("--candidates", f"no lists of the queries: {error}") from error
    if candidates.shape[0] != shape[0]:
        expected = f"a list for each of {shape[0]:,} queries"
        raise InputValueError("--candidates", expected=expected, got=f"{candidates.shape[0]:,}")
    candidates.sum_duplicates()
    return candidates, exclude


def refuse_others(queries: Any, entities: Any) -> None:
    """Refuse queries of which one is not the entity of its number."""
    if isinstance(queries, tuple) or np.ndim(queries) != 2 or len(queries) > len(entities):
        raise click.UsageError("--exclude-self is of vectors, of which the first are the queries")
    for top in range(0, len(queries), 1 << 16):
        part = queries[top : top + (1 << 16)]
        unlike = np.flatnonzero((part != entities[top : top + len(part)]).any(axis=1))
        if len(unlike):
            raise click.UsageError(
                f"--exclude-self: query {top + unlike[0]} is not the entity of this number"
            )


def selections(candidates: Any, exclude: bool, count: int, rows: Array) -> Values:
    """Return the candidates and the filter of tasks, which are those of their queries."""
    chosen: Values = {}
    if candidates is not None:
        if isinstance(candidates, np.ndarray):
            chosen["candidates"] = np.flatnonzero(candidates)
        else:
            chosen["candidates"] = candidates.indptr, candidates.indices, rows
    if exclude:
        chosen["filter"] = np.arange(count + 1), np.arange(count), rows
    return chosen


# -- topk ------------------------------------------------------------------------------------------


@command("topk", SEARCH, "part force")
@vectors_and_entities
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
    larger than memory. Vectors of bytes are compared as the numbers that they are. Entities are
    numbered from 0; those that are equally similar have the order of their numbers. A list that
    lacks entities ends with -1. Distances are positive in .bin and .fbin; elsewhere, and of dot and
    cosine everywhere, more is better.

    \b
    truerank topk queries.fbin base.fbin --top 100 --similarity sql2 --output truth.bin
    truerank topk queries.u8bin base.u8bin --top 100 --similarity sql2 --part 0::4 --save 0.npz
    truerank topk base.npy base.npy --exclude-self --top 10 --similarity cosine --output graph.npz

    What takes hours is done in parts, here of every fourth query, which are joined by
    `truerank merge 0.npz 1.npz 2.npz 3.npz --output truth.ibin --save distances.fbin`.
    """
    top = values.pop("top")
    outputs = take(values, "output save")
    printing = take(values, "force")
    part = values.pop("part", slice(None))
    search, shape = take_vectors(values)
    candidates, exclude = take_candidates(values, search, shape)
    check_forms(outputs, printing, shape[1])
    rows = np.arange(shape[0])[part]
    if not len(rows):
        raise click.UsageError(f"--part has none of {shape[0]:,} queries")
    search |= selections(candidates, exclude, shape[0], rows)
    # One more says whether the last one ties with it.
    with called(k="--top"):
        found = tr.topk_embeddings(k=top + 1, rows=rows, progress=bar(), **search)
    facts: Values = {"similarity": search["similarity"], "queries": shape[0], "entities": shape[1]}
    last, after = found.scores[:, top - 1], found.scores[:, top]
    is_tie = (found.ids[:, top] >= 0) & ((last == after) | np.isnan(last))  # NaN comes last.
    facts["ties"] = int(is_tie.sum())
    write_top(tr.TopK(found.ids[:, :top], found.scores[:, :top]), rows, facts, outputs, printing)


def check_forms(outputs: Values, printing: Values, entities: int) -> None:
    """Refuse names of files that cannot be written, before anything is counted."""
    check_outputs(outputs, printing)
    for name, path in outputs.items():
        ending = path.suffix.lower()
        if ending not in FORMS:
            expected = f"a name that ends in one of {', '.join(FORMS)}"
            raise InputValueError(f"--{name}", expected=expected, got=str(path))
        if ending in (".ivecs", ".ibin", ".bin") and entities > index_files.MOST_IDS:
            expected = f"at most {index_files.MOST_IDS:,} entities in {ending}, whose ids have 4 "
            expected += "bytes; .npz has 8"
            raise InputValueError(f"--{name}", expected=expected, got=f"{entities:,}")


def write_top(top: tr.TopK, rows: Array, facts: Values, outputs: Values, printing: Values) -> None:
    """Write lists to each output, or to standard output; say how many end within a tie."""
    for name, path in outputs.items():
        refuse_replaced(name, path, printing)
        ending = path.suffix.lower()
        if ending == ".npz":
            index_files.save_top(path, facts, ids=top.ids, scores=top.scores, rows=rows)
        elif ending == ".run":
            tr.write_run(path, top, queries=rows.tolist())
        else:
            is_distance = facts["similarity"] in DISTANCES
            index_files.write_lists(path, top.ids, -top.scores if is_distance else top.scores)
    if not outputs:
        for line in lines_of(top, rows):
            click.echo(line)
    if facts["ties"]:
        number = f"{facts['ties']:,} of {len(rows):,}"
        click.echo(f"{number} queries have a tie at place {top.ids.shape[1]}.", err=True)


def lines_of(top: tr.TopK, rows: Array) -> Sequence[str]:
    """Return lists as lines of text, which `truerank retrieval --lists` reads, too."""
    is_listed = top.ids >= 0
    queries = np.repeat(rows, is_listed.sum(axis=1)).tolist()
    scores = top.scores[is_listed].astype(str).tolist()  # all digits that tell one from others
    columns = zip(queries, top.ids[is_listed].tolist(), scores, strict=True)
    return ["query\tdocument\tscore", *("\t".join(map(str, each)) for each in columns)]


def merge_lists(paths: Sequence[str], values: Values) -> None:
    """Join lists over parts of the queries, which --save of `topk` wrote, and write them."""
    outputs = take(values, "output save")
    printing = take(values, "force")
    options.refuse(values, "lists of the most similar entities")
    parts = [index_files.load_top("parts", path) for path in paths]
    first_facts, first = parts[0]
    for path, (facts, members) in zip(paths, parts, strict=True):
        for name in ("similarity", "queries", "entities"):
            if facts[name] != first_facts[name]:
                expected = f"{name} {first_facts[name]}, as {paths[0]}"
                got = facts[name]
                raise InputValueError("parts", expected=expected, got=got, place=path)
        if members["ids"].shape[1] != first["ids"].shape[1]:
            expected = f"{first['ids'].shape[1]} ids for each query, as {paths[0]}"
            got = members["ids"].shape[1]
            raise InputValueError("parts", expected=expected, got=got, place=path)
    whole = {name: np.concatenate([each[name] for _, each in parts]) for name in first}
    order = np.argsort(whole["rows"], kind="stable")
    rows = whole["rows"][order]
    size = first_facts["queries"]
    if len(rows) != size or (rows != np.arange(size)).any():
        expected = f"each of {size:,} queries once"
        got = f"{len(rows):,} lists of {1 + np.count_nonzero(np.diff(rows)):,} queries"
        raise InputValueError("parts", expected=expected, got=got)
    check_forms(outputs, printing, first_facts["entities"])
    facts = first_facts | {"ties": sum(each["ties"] for each, _ in parts)}
    top = tr.TopK(whole["ids"][order], whole["scores"][order])
    write_top(top, rows, facts, outputs, printing)


# -- recall ----------------------------------------------------------------------------------------


@command("recall", SEARCH, "duplicates save", PRINTING)
@vectors_and_entities
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
    several files take little longer than one. An id is right if fewer than --top entities are more
    similar, so that all that tie at the border are. -1 is a miss. Where a query has fewer
    candidates than --top, as many can be found. Intervals are of 95 %, over other queries.

    \b
    truerank recall queries.fbin base.fbin hnsw.ibin ivf.ibin --top 10 --similarity sql2
    truerank recall Q.npy E.npy hnsw.npy --top 10 --similarity cosine --save hnsw.npz

    --save keeps the rank of each id that one index lists, of which the share up to 10 is the recall
    at 10: two such files are compared by
    `truerank compare hnsw.npz ivf.npz --metrics optimistic.hits@10`.
    """
    paths = values.pop("found")
    keys = values.pop("labels", {}).get("entities")
    top = values.pop("top")
    rule = values.pop("duplicates", "raise")
    if rule not in ("raise", "first"):
        raise click.UsageError(f"--duplicates {rule} is of test rows; expected raise or first")
    save = values.pop("save", None)
    if save is not None and len(paths) > 1:
        raise click.UsageError(f"--save keeps the ranks of one index, got {len(paths)} files")
    printing = take(values, PRINTING)
    search, shape = take_vectors(values)
    candidates, exclude = take_candidates(values, search, shape)
    options.refuse(values, "recall")
    check_printing(printing, save=save)
    sizes = count_candidates(candidates, exclude, shape)
    lists = {path: read_found(path, top, shape, rule, keys) for path in paths}
    for path, ids in lists.items():
        refuse_no_candidates(path, ids, candidates, exclude)
    ranks_of = rank_pairs(lists, search, partial(selections, candidates, exclude, shape[0]))
    rows: list[list[Any]] = []
    notes = [f"{shape[0]:,} queries, {shape[1]:,} entities, {search['similarity']}."]
    for path, ids in lists.items():
        ranks, places = ranks_of_lists(ids, ranks_of(ids), sizes)
        if save is not None:
            write_last("save", save, printing, ranks.with_protocol(files=files_read()).save)
        for k in [*(k for k in SHOWN if k < top), top]:
            report = tr.report(ranks[places < k])
            recall = report.interval(f"optimistic.hits@{k}")
            rows.append([path, k, recall.value, (recall.low, recall.high)])
        notes += notes_of(path, ids, ranks, top)
    columns = ["file", "k", Column("recall", decimals=4), Column("95 % interval", decimals=4)]
    show(table_of(columns, rows), printing, lines=notes)


def read_found(path: str, top: int, shape: tuple[int, int], rule: str, keys: Any) -> Array:
    """Read the first ids of each list; those that are there twice are refused, or misses."""
    if index_files.ending_of(path) in (".run", ".tsv", ".txt"):
        raise click.UsageError(
            f"FOUND has rows of ids, in .npy, .ivecs or .hdf5:NAME, got {path}; lists of text are "
            "measured by the right answers that you have: truerank retrieval --qrels QRELS "
            "--lists RUN --candidates N"
        )
    ids = index_files.read_ids("found", path, None if keys else shape[1])
    if keys is not None:
        ids = keys.rows_of_keys(f"found: {path}", ids, shape[1])
    if len(ids) != shape[0] or ids.shape[1] < top:
        expected = f"a list for each of {shape[0]:,} queries, of {top:,} ids or more"
        raise InputValueError("found", expected=expected, got=f"shape {ids.shape}", place=path)
    ids = ids[:, :top]
    is_wrong = (ids < MISS) | (ids >= shape[1])
    refuse_first(path, ids, is_wrong, f"ids from 0 to {shape[1] - 1:,}, or {MISS} for none")
    ids = ids.astype(np.int64)
    order = np.argsort(ids, axis=1, kind="stable")
    ordered = np.take_along_axis(ids, order, axis=1)
    repeats = np.zeros(ids.shape, np.bool_)
    comes_again = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    np.put_along_axis(repeats, order[:, 1:], comes_again, axis=1)
    if rule == "raise":
        expected = "each id once (--duplicates first counts it once)"
        refuse_first(path, ids, repeats, expected)
    ids[repeats] = MISS
    return ids


def refuse_first(path: str, ids: Array, is_wrong: Array, expected: str) -> None:
    """Refuse the first id of which this is true."""
    for row, place in np.argwhere(is_wrong)[:1].tolist():
        got = str(ids[row, place])
        raise InputValueError("found", expected=expected, got=got, place=f"{path}: row {row}")


def are_candidates(candidates: Any, rows: Array, ids: Array) -> Array:
    """Return whether each id is among the candidates of the query of its row."""
    if candidates is None:
        return np.ones(ids.shape, np.bool_)
    if isinstance(candidates, np.ndarray):
        return np.asarray(candidates[ids])
    height, width = candidates.shape
    keys = np.repeat(np.arange(height), np.diff(candidates.indptr)) * width + candidates.indices
    wanted = rows * width + ids
    return np.asarray(np.append(keys, MISS)[np.searchsorted(keys, wanted)] == wanted)


def refuse_no_candidates(path: str, ids: Array, candidates: Any, exclude: bool) -> None:
    """Refuse an id that is no candidate of its query."""
    rows, places = np.nonzero(ids != MISS)
    listed = ids[rows, places]
    is_wrong = np.zeros(ids.shape, np.bool_)
    is_wrong[rows, places] = ~are_candidates(candidates, rows, listed) | (
        (listed == rows) & exclude
    )
    refuse_first(path, ids, is_wrong, "candidates of the query alone")


def count_candidates(candidates: Any, exclude: bool, shape: tuple[int, int]) -> Array:
    """Return how many candidates each query has."""
    sizes = np.full(shape[0], shape[1])
    if isinstance(candidates, np.ndarray):
        sizes[:] = candidates.sum()
    elif candidates is not None:
        sizes = np.diff(candidates.indptr).astype(np.int64)
    if exclude:
        rows = np.arange(shape[0])
        sizes -= are_candidates(candidates, rows, rows)
    return sizes


def rank_pairs(
    lists: dict[str, Array], search: Values, select: Callable[[Array], Values]
) -> Callable[[Array], tr.Ranks]:
    """Rank each pair of a query and an id once; return what looks up the ranks of some lists."""

    def number_pairs(ids: Array) -> tuple[Array, Array]:
        rows, places = np.nonzero(ids != MISS)
        return rows, rows * size + ids[rows, places]

    size = 1 + max(int(ids.max(initial=0)) for ids in lists.values())
    keys = np.sort(np.concatenate([number_pairs(ids)[1] for ids in lists.values()]))
    keys = keys[np.diff(keys, prepend=-1) > 0]
    rows, targets = np.divmod(keys, size)
    ranks = tr.rank_embeddings(targets=targets, rows=rows, progress=bar(), **search, **select(rows))

    def look_up(ids: Array) -> tr.Ranks:
        return ranks[np.searchsorted(keys, number_pairs(ids)[1])]

    return look_up


def ranks_of_lists(ids: Array, listed: tr.Ranks, sizes: Array) -> tuple[tr.Ranks, Array]:
    """Return the rank of each place of each list, and the places; a miss has the last rank.

    Where fewer candidates than places are there, the last misses are none.
    """
    is_miss = ids == MISS
    last = np.broadcast_to(sizes[:, None], ids.shape)
    above, tied, candidates = last - 1, np.ones(ids.shape, np.int64), last.copy()
    for whole, values in (
        (above, listed.above),
        (tied, listed.tied),
        (candidates, listed.candidates),
    ):
        whole[~is_miss] = values
    misses_from_here = np.cumsum(is_miss[:, ::-1], axis=1)[:, ::-1]
    spare = np.maximum(0, ids.shape[1] - sizes)
    kept = ~is_miss | (misses_from_here > spare[:, None])
    rows, places = np.nonzero(kept)
    counts = above[kept], tied[kept], candidates[kept]
    protocol = listed.protocol
    return tr.Ranks(*counts, queries=rows, unit=rows, protocol=protocol), places


def notes_of(path: str, ids: Array, ranks: tr.Ranks, top: int) -> list[str]:
    """Say what lists lack, and how many end within a tie."""
    notes = []
    misses = int((ids == MISS).sum())
    if misses:
        notes.append(f"{path}: {misses:,} of {ids.size:,} ids are {MISS}, or come again: misses.")
    at_border = (ranks.above < top) & (ranks.above + ranks.tied > top)
    assert ranks.queries is not None
    has_tie = np.zeros(len(ids), np.bool_)
    has_tie[ranks.queries.values[at_border].astype(np.int64)] = True
    number = has_tie.sum()
    if number:
        tie = f"{number:,} of {len(ids):,} lists have ids of a tie at place {top}"
        notes.append(f"{path}: {tie}; all of these are right.")
    return notes
