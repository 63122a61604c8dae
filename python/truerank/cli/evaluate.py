"""`truerank evaluate`, `compare` and `merge`: scores in files, and the ranks that were saved."""

from __future__ import annotations

import json
import os
import re
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import numpy as np

import truerank as tr

from ..arrays.input_files import open_input, read_npz, report_damage
from ..arrays.row_keys import distinct
from ..arrays.saved_files import HEADER
from ..counting import counter as counters
from ..errors import POSITION_TEXT, InputError, InputValueError, argument_names
from ..inputs.rules import REPEAT_RULES
from ..metrics.contributions import UNIT, unit_codes
from ..naming import format_count
from ..ranks.container import KIND
from ..reporting.audit import describe_missing
from ..stores import check_order
from ..stores.store import ShardStore
from . import options
from .options import Values, command, option, take
from .output import (
    SAVED,
    bar,
    check_printing,
    command_line,
    open_store,
    refuse_replaced,
    show,
    show_report,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..arrays.types import IntArray
    from ..inference import Comparisons

LABELS = {"side": "side", "relation": "relation", "query": "queries"}
KINDS = {KIND: "saved ranks", counters.KIND: "saved counters"}
TEXT = "ranks in a file of text"
# The exit codes of `compare --margin` where the new model is worse, and where a metric is refused.
WORSE_CODE = 3
REFUSED_CODE = 1
# The columns of such a file that are a rank, of which it has one or two, and all that are read.
RANKS = ({"rank"}, {"optimistic", "pessimistic"})
NUMBERS = ("rank", "optimistic", "pessimistic", "candidates")
COLUMNS = (*NUMBERS, "side", "relation", "query", "target", "unit")


def archive_kind(argument: str, path: str) -> str:
    """Return what a file of truerank holds, as "truerank.ranks"; empty for any other file."""
    with open_input(argument, path) as file:
        if file.read(4) != b"PK\3\4":
            return ""
    if HEADER not in read_npz(argument, path, ())[0]:
        return ""
    _, arrays = read_npz(argument, path, (HEADER,), compressed=False)
    with report_damage(argument, path, "damaged header: "):
        return str(json.loads(arrays[HEADER].tobytes())["kind"])


def is_text(path: str) -> bool:
    """Whether there is a file, and it is none of arrays or of truerank."""
    if not os.path.isfile(path) or path.lower().endswith((".npy", ".npz")):
        return False
    return not archive_kind("scores", path)


# -- scores, or ranks ------------------------------------------------------------------------------


def read_fields(path: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the lines of a file of ranks, with their numbers and their fields."""
    # Scores alone do not need it.
    from ..records.text import csv_fields, fields_of, is_csv, text_lines

    for number, line in text_lines("scores", path):
        title = f"scores: {path}"
        fields = csv_fields(title, number, line) if is_csv(path) else fields_of(line, "tabs")
        yield number, line, fields


def check_header(path: str, candidates: Any) -> list[str]:
    """Return the columns that the first line names, or say what is wrong with them."""
    _, line, names = next(read_fields(path), (0, "", []))
    of_ranks = set(names).intersection(NUMBERS) - {"candidates"}
    expected = ""
    got = ", ".join(names)
    unknown = [name for name in names if name not in COLUMNS]
    if len(unknown) == len(names):
        got = line
        expected = f"a first line that names the columns, which may be {', '.join(COLUMNS)}"
        if not set(COLUMNS).isdisjoint(re.findall("[a-z]+", line)):
            expected = "names of columns with tabs between them (in .csv commas)"
            expected += ", and no quotes (of R: quote = FALSE)" if '"' in line else ""
        else:
            expected += "; scores need TARGETS, and lists are read by "
            expected += "`truerank retrieval --qrels QRELS --lists RUN --candidates N`"
    elif unknown:
        expected = f"no columns but {', '.join(COLUMNS)}"
        got = ", ".join(unknown)
    elif len(set(names)) < len(names):
        expected = "each column once"
    elif of_ranks not in RANKS:
        expected = "a column rank, or the two columns optimistic and pessimistic"
    elif "candidates" not in names and candidates is None:
        expected = "a column candidates, or --candidates N, the number of candidates of each task"
    elif "candidates" in names and candidates is not None:
        expected = "either a column candidates or --candidates"
        got = "both"
    if expected:
        raise InputValueError(f"scores: {path}", expected=expected, got=got)
    return names


def read_ranks(path: str, candidates: Any) -> tr.Ranks:
    """Read the ranks of another tool, as `Ranks.from_ranks` takes them: text below a header."""
    from ..records.text import is_integer_text, line_of

    title = f"scores: {path}"
    names = check_header(path, candidates)
    rows: list[list[str]] = []
    for number, line, fields in read_fields(path):
        if len(fields) != len(names) or not all(fields):
            expected = f"{len(names)} fields, none empty"
            raise InputValueError(title, expected=expected, got=line, place=f"line {number}")
        rows.append(fields)
    columns: dict[str, Any] = {"candidates": candidates}
    for place, name in enumerate(names):
        columns[name] = texts = [fields[place] for fields in rows[1:]]
        if name not in NUMBERS:
            continue
        for row, text in enumerate(texts):
            if not is_integer_text(text):
                expected = f"an integer as the {name}"
                if re.fullmatch("[0-9]+[.]0*", text):
                    expected += f", written {int(float(text))}"
                else:
                    expected += "; where ranks are the middle of a tie, as 2.5, columns optimistic "
                    expected += "and pessimistic say which"
                where = f"line {line_of(path, row + 1)}"
                raise InputValueError(title, expected=expected, got=text, place=where)
        columns[name] = list(map(int, texts))
    ranks = columns.pop("rank" if "rank" in names else "optimistic")
    context = copy_context()
    context.run(POSITION_TEXT.set, lambda row: f"in line {line_of(path, row + 1)}")
    with argument_names(ranks=title, pessimistic=title):
        return context.run(tr.Ranks.from_ranks, ranks, **columns)


def read_targets(name: str, text: str) -> Any:
    """Read columns as `read_columns` does; ranks in their place are of another model."""
    is_saved = text.lower().endswith(".npz") and os.path.isfile(text) and archive_kind(name, text)
    if is_saved or (not options.is_of_columns(text) and is_text(text)):
        expected = "a .npy file, or a number; ranks of two models are compared by `truerank "
        expected += f"compare RANKS {text}`, and make one table by truerank.table in Python"
        raise InputValueError(name, expected=expected, got=text)
    return options.read_columns(name, text)


def open_ranks(path: str, values: Values) -> tuple[tr.Ranks | None, str]:
    """Return the ranks of a file, None where it has scores, and what it has."""
    if os.path.isfile(path) and archive_kind("scores", path):
        with argument_names(path="scores"):
            return tr.load(path), SAVED
    if "targets" not in values and is_text(path):
        return read_ranks(path, values.pop("candidates", None)), TEXT
    return None, "scores"


@command(
    "evaluate",
    "filter rows candidates io axis split relevance_level",
    options.COUNTING,
    options.REPORTING,
)
@click.argument("scores", type=options.SCORES, required=False)
@click.argument("targets", type=options.Value(read_targets, "number|file"), required=False)
@option("--member", options.WORD, "Name of the array in an .npz file.")
@option(
    "--labels",
    options.Value(options.read_label, "label=file", tuple(LABELS)),
    "The side, relation or query of the tasks, as side=tail (of all), or relation=r.npy (with one "
    "for each task). They are stored by --save, and can be added to saved ranks.",
)
@option("--filtered-by", options.WORDS, "Splits whose right answers are left out: train,valid.")
def evaluate(values: Values) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES has one row for each task (see --rows): a .npy or .npz file, the files of a pattern in
    quotes ("part-*.npy"). Files may be larger than memory. TARGETS is a .npy file with the column
    of each true candidate, or a number: one column for all tasks. SCORES may also be the .npz file
    of ranks that --save of any command wrote; then no TARGETS are given, and the report is that of
    this command. Or it is text with the ranks of another tool, from 1 on, below a line that names
    the columns: rank, or optimistic and pessimistic; candidates, unless --candidates says it;
    perhaps side, relation, query, target, unit (tabs between them, in .csv commas). With --save
    FILE, a count that was stopped goes on from FILE.partial when the same line is run again.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz --filtered-by train,valid
        --labels side=tail --labels relation=relations.npy --labels query=heads.npy
        --split test --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz
    truerank evaluate ranks.npz --metrics mrr,amri --by relation --interval
    truerank evaluate ranks.tsv --candidates 14541 --filtered-by train,valid --save other.npz
    """
    labels = {LABELS[name]: value for name, value in values.pop("labels", {}).items()}
    filtered_by = values.pop("filtered_by", None)
    scores = values.pop("scores", None)
    if scores is None:
        raise click.UsageError("Missing argument 'SCORES'.")
    known_ranks, kind = open_ranks(scores, values)
    if known_ranks is None:
        with argument_names(queries="--labels query"):
            arguments = read_arguments(scores, values, labels)

    def count() -> tr.Ranks:
        if known_ranks is None:
            ranks = tr.rank(**arguments)
        else:
            ranks = known_ranks
            options.note_file(scores)  # Only now, as the same line may save ranks in it.
        if labels:
            with argument_names(queries="--labels query"):
                ranks = ranks.with_labels(**labels)
        if filtered_by is None:
            return ranks
        if not ranks.protocol.filter and kind != TEXT:
            raise InputValueError("--filtered-by", "these ranks are unfiltered")
        return ranks.with_protocol(filter=filtered_by)

    if known_ranks is not None:
        show_report(count, values, kind, unit=unit_of(known_ranks))
        return
    partial = arguments.get("checkpoint")
    show_report(count, values, "scores")
    if partial is not None:
        Path(partial).unlink(missing_ok=True)


def read_arguments(path: str, values: Values, labels: Values) -> Values:
    """Return the arguments of `rank`, with a checkpoint beside the file to save.

    Labels and groups are checked before, as a count may take long.
    """
    if "targets" not in values:
        ways = "truerank retrieval --qrels QRELS --lists RUN --candidates N"
        raise click.UsageError(f"Missing argument 'TARGETS'; for lists it is `{ways}`")
    targets = values.pop("targets")
    store = open_store(path, **take(values, "member dtype io axis"))
    rules = take(values, "filter rows candidates order nan threads")
    tasks = rows = store.shape[0]
    if "rows" not in rules and np.ndim(targets) and isinstance(store, ShardStore):
        heights = {shard.shape[0] for shard in store.shards}
        if heights == {len(targets)} != {rows}:
            raise click.UsageError(
                f"expected {rows:,} targets, one for each row of the {len(store.shards)} files, "
                f"got {len(targets):,}; --shards columns says that each file has columns of the "
                "same rows"
            )
    of_tasks: Any = rules.get("rows", targets)
    if np.ndim(of_tasks):  # A single target is that of every row.
        tasks = len(of_tasks)
    if labels or not values.keys().isdisjoint(("by", "weights")):
        blank = tr.Ranks(np.zeros(tasks, np.int64), np.ones(tasks, np.int64), 2)
        blank = blank.with_labels(**labels)
        tr.report(blank, by=values.get("by"), weights=values.get("weights"))
    rules |= {"scores": store, "targets": targets, "audit": "audit" in values, "progress": bar()}
    if "save" in values:
        rules["checkpoint"] = f"{values['save']}.partial"
    return rules


# -- several models --------------------------------------------------------------------------------


@command(
    "compare", "columns duplicates order nan relevance_level seed html metrics", options.PRINTING
)
@click.argument("ranks", type=options.INPUT, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@option(
    "--level",
    click.FloatRange(0, 1, min_open=True, max_open=True),
    "Confidence level of intervals. Default: 0.95.",
)
@option(
    "--unit",
    options.LABEL,
    "What was drawn when the test set was made: a label of the ranks (query, relation, ...), or a "
    ".npy file with a label for each task of the first file. Default: the label unit, else tasks.",
)
@option("--by", options.LABEL, "Groups that have rows on the page of --html: a label of the ranks.")
@option("--qrels", options.INPUT, "Right answers, of which the files are runs, as those of TREC.")
@option(
    "--candidates",
    options.CANDIDATES,
    "Of runs: how many candidates there are in all, a file with a name in each line, or listed. Of "
    "ranks in text: the candidates of each task, where no column has them.",
)
@option("--allow-unlike", None, "Compare even if protocols or ids differ, or lists are lacking.")
@option(
    "--margin",
    click.FloatRange(0, 1),
    "A gate: whether the second of two models is worse than the first, and by more than this, in "
    "metrics between 0 and 1 of which more is better. The exit code is 3 if it is in one.",
)
def compare_files(values: Values) -> None:
    """Compare models over the same tasks: difference, interval, p-value, wins and losses.

    Each file holds the ranks of one model, which --save of any command wrote, or in text as for
    `truerank evaluate`; those of retrieval are compared query by query, by their own metrics
    (ndcg@10, map, ...). With --qrels each file is a run itself, which is evaluated as `truerank
    retrieval` does it. Of more than two models all pairs are compared, by each of --metrics (mrr,
    if none are given). p-values of several pairs or metrics are also corrected by Holm's method,
    all of them together.

    \b
    truerank compare transe.npz rotate.npz --metrics mrr,hits@10
    truerank compare a.npz b.npz c.npz --metrics hits@10 --unit relation --format markdown
    truerank compare bm25.npz dense.npz --metrics ndcg@10,map
    truerank compare ours.tsv theirs.tsv --candidates 14541
    truerank compare bm25.run dense.run --qrels qrels.txt --candidates 8841823 --metrics ndcg@10
    truerank compare base.npz new.npz --metrics ndcg@10,recall@10 --margin 0.01

    With --margin, as for a pull request, the first file is base, the second the new model: the
    table has new minus base, and a last line for each metric says whether it is "worse" (the
    interval is below 0, by Holm's method over the metrics, and the difference below -margin), "no
    worse" (the interval begins at -margin or above, or nothing differs), or "undecided", and of how
    many queries two equal models would mostly pass. Below "worse" stand the queries that lost most.
    In other forms than text verdicts are a column. The exit code is 3 if the new model is worse by
    one metric, else 1 if a metric is refused, else 0; 1 and 2 are errors, too.

    Each file is a model of one run. Several runs of a model, as of two seeds, are compared in
    Python, which adds the variance between runs: tr.compare([tr.load("A0.npz"), tr.load("A1.npz")],
    [tr.load("B0.npz"), tr.load("B1.npz")], metric="mrr").

    Models are compared unit by unit: by the label "unit" of the ranks (test triples, aligned
    pairs, queries), or task by task where they have none; --unit names another label.
    """
    paths = values.pop("ranks", ())
    if len(paths) < 2 or options.is_one_file(*paths):
        raise click.UsageError("expected the ranks of at least two models, each once")
    margin = values.pop("margin", None)
    if margin is not None and (len(paths) != 2 or margin != margin):
        raise click.UsageError("--margin needs two files, base first, and a number from 0 to 1")
    printing = take(values, options.PRINTING)
    page = values.pop("html", None)
    metrics = values.pop("metrics", ["mrr"])
    seed = values.pop("seed", 0)
    check_printing(printing, html=page)
    ranks = ranks_of_models(paths, values)
    rules = take(values, "relevance_level")
    if unit_of(next(iter(ranks.values()))) == "task":
        options.refuse(rules, "ranks of tasks with one right answer each")
    by = values.pop("by", None)
    if by is not None and page is None:
        raise click.UsageError("--by has groups on the page of --html; --unit names the units")
    models = {}
    for name, each in ranks.items():
        models[name] = tr.report(each.with_protocol(**rules), seed=seed, by=by)
    with argument_names(metric="--metrics"):
        if margin is None:
            pairs = tr.compare(models, metric=metrics, seed=seed, **values)
        else:
            comparing = tr.inference.comparing
            base, new = models.values()
            models = {comparing.BASE: base, comparing.NEW: new}
            gated = comparing.gate(base, new, metrics, margin, seed=seed, **values)
            pairs = gated[0]
            metrics = pairs.metrics
            values["allow_unlike"] = True  # What forbids a comparison has been refused by now.
    if page is not None:
        refuse_replaced("html", page, printing)
        tr.page.save(page, models, metrics=metrics, command=command_line(), **values)
    if margin is None:
        show(pairs, printing)
    else:
        show_verdicts(*gated, printing)


def show_verdicts(
    pairs: Comparisons,
    verdicts: Mapping[str, str],
    losses: Mapping[str, Sequence[Values]],
    printing: Values,
) -> NoReturn:
    """Print what a gate says: below a table of text, and as a column of other forms.

    The exit code of the command says whether the new model is worse, or a metric is refused.
    """
    has_verdicts = check_printing(printing) != "text"
    table = tr.inference.comparing.gate_table(pairs, verdicts, has_verdicts=has_verdicts)
    content = json.loads(table.to_json())
    for row in content["rows"]:
        row["lost_most"] = losses.get(row["metric"], [])
    lines = []
    for metric, verdict in verdicts.items():
        lines.append(f"{metric} {verdict}")
        if metric in losses:
            lines.append(f"lost most: {'; '.join(map(describe_loss, losses[metric]))}")
    code = 0
    refused = {metric: verdicts[metric] for metric in verdicts if metric not in pairs.metrics}
    if refused:
        content["refused"] = refused
        code = REFUSED_CODE
    if losses:  # By each of these metrics the new model is worse.
        code = WORSE_CODE
    show(table, printing, content, lines)
    click.get_current_context().exit(code)


def describe_loss(loss: Values) -> str:
    """Name a unit by its labels, with what it has by base and by new.

    Examples
    --------
    >>> describe_loss({"query": "q7", "base": 1.0, "new": 0.25})
    'query q7 (1.000 to 0.250)'
    """
    *labels, (_, base), (_, new) = loss.items()
    return f"{', '.join(f'{word} {label}' for word, label in labels)} ({base:.3f} to {new:.3f})"


def ranks_of_models(paths: Sequence[str], values: Values) -> dict[str, tr.Ranks]:
    """Return the ranks of each model by its name: saved, of text, or with --qrels of its run."""
    are_runs = "qrels" in values
    if are_runs and "candidates" not in values:
        raise click.UsageError(
            "--qrels needs --candidates: the number of documents in the collection, a file of "
            "their names, or listed"
        )
    texts = [path for path in paths if is_text(path)]
    for path in paths:
        if are_runs and path not in texts and os.path.isfile(path):
            expected = "runs alone beside --qrels; `truerank retrieval --save` makes ranks of a run"
            raise InputValueError("ranks", expected=expected, got="saved ranks", place=path)
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        names = list(paths)
    files = dict(zip(names, paths, strict=True))
    if not are_runs:
        candidates = values.pop("candidates", None) if texts else None
        lacking = [x for x in texts if "candidates" not in next(read_fields(x), (0, "", []))[2]]
        options.refuse(take(values, "candidates columns duplicates order nan"), "saved ranks")
        with argument_names(scores="ranks", path="ranks"):
            ranks = {}
            for name, path in files.items():
                if path in texts:  # One that has the column does not need the number.
                    needs = path in lacking or not lacking
                    ranks[name] = read_ranks(path, candidates if needs else None)
                else:
                    ranks[name] = tr.load(path)
            return ranks
    with argument_names(entities="--candidates", ids="ranks"):
        qrels = values.pop("qrels")
        of_qrels, of_runs = options.split_columns(qrels, paths, values.pop("columns", {}))
        candidates = options.candidates_of_lists(values.pop("candidates"))
        task = tr.retrieval.Task(qrels, columns=of_qrels, **candidates)
        rules = take(values, "order nan duplicates") | {"progress": bar()}
        ranks = {}
        for (name, path), columns in zip(files.items(), of_runs, strict=True):
            ranks[name] = task.evaluate_lists(path, columns=columns, **rules).ranks
        return ranks


# -- several jobs ----------------------------------------------------------------------------------


@command("merge", "relevance_level", options.REPORTING)
@click.argument("parts", type=options.INPUT, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@option(
    "--repeats",
    REPEAT_RULES,
    "What to do with facts that several files of ranks have: refuse them (the default), drop all "
    "but the first, if the counts agree, or keep them. Files of tasks that were made apart, as of "
    "folds, are joined only where it is given.",
)
def merge(values: Values) -> None:
    """Join the counts of several jobs, and report the metrics of the whole.

    The files are ranks over parts of the tasks, which --save of any command or `Ranks.save` wrote.
    Where each is a --part of one task, they are joined in the order of the whole, and have its
    units (test triples, aligned pairs, queries). Files of several tasks, such as folds, are joined
    only with --repeats; units of different tasks stay separate, even where they have one name. Or
    the files are counters over parts of the candidates, which `RankCounter.save` wrote. All are of
    one kind. The joined counts are those of one job that counts all, and --save stores them for
    `truerank evaluate`, which adds labels to them, and for `compare`.

    \b
    truerank merge part-0.npz part-1.npz part-2.npz --save ranks.npz
    truerank merge columns-*.npz --save ranks.npz --metrics mrr,hits@10 --interval
    """
    paths = values.pop("parts", ())
    if len(paths) < 2 or options.is_one_file(*paths):
        raise click.UsageError("expected the saved counts of at least two jobs, each once")
    kinds = [archive_kind("parts", path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind not in KINDS:
            expected = "saved ranks or counters"
            raise InputValueError("parts", expected=expected, got=repr(kind[:80]), place=path)
        if kind != kinds[0]:
            expected = f"{KINDS[kinds[0]]}, as {paths[0]}"
            raise InputValueError("parts", expected=expected, got=KINDS[kind], place=path)
    with argument_names(path="parts"):
        if kinds[0] == KIND:
            ranks = joined_ranks(paths, values.pop("repeats", None))
        else:
            options.refuse(take(values, "repeats"), "counters")
            counter = tr.RankCounter.load(paths[0])
            for path in paths[1:]:
                try:
                    counter.merge(tr.RankCounter.load(path))
                except InputError as error:
                    error.argument = path
                    raise
            _, columns = counter._total
            number = counter._columns
            if number is not None and columns.bit_count() < number:
                expected = f"all {format_count(number, 'column')} of candidates"
                missing = f"column {counters.first_of(~columns)}"
                missing += " and others" if number > columns.bit_count() + 1 else ""
                got = f"{columns.bit_count():,} of them; missing: {missing}"
                raise InputValueError("parts", expected=expected, got=got)
            ranks = counter.ranks()
    show_report(lambda: ranks, values, SAVED, unit=unit_of(ranks))


def joined_ranks(paths: Sequence[str], repeats: Any) -> tr.Ranks:
    """Join ranks over tasks; those of parts of a task must be all."""
    parts = {path: tr.load(path) for path in paths}
    if not any(part.origins for part in parts.values()):  # Ranks of tasks know their places.
        check_order("parts", paths)
    try:
        ranks = tr.concatenate(parts.values(), repeats=repeats)
    except InputError as error:
        number = error.argument.removeprefix("parts: number ")
        if number.isdecimal():
            error.argument = paths[int(number)]
        raise
    if not ranks.origins or ranks.unit is None:
        return ranks
    missing, words = describe_missing(ranks)
    if missing:
        raise InputValueError("parts", expected="all parts of the whole", got=words)
    check_sides(ranks, ranks.unit.codes, parts)
    return ranks


def check_sides(ranks: tr.Ranks, unit: IntArray, parts: Mapping[str, tr.Ranks]) -> None:
    """Refuse a part without a side that others have: means over all tasks would mix them."""
    from ..ranks.joining import numbered_apart

    if ranks.side is None:
        return
    name = unit_codes(ranks, UNIT)[1]
    sides_of = {path: part.side.values for path, part in parts.items() if part.side is not None}
    for side in map(str, ranks.side.counts()):
        has_side = np.zeros(sum(origin.rows for origin in ranks.origins), np.bool_)
        has_side[unit[ranks.side.values == side]] = True
        is_left = np.zeros_like(has_side)  # A fold may have lost a unit that another has, too.
        is_left[unit] = True
        for path, part in parts.items():
            if not len(part):
                continue
            # Units of a part have other numbers where parts are of several tests.
            of_part = numbered_apart(part._labels, part.origins, ranks.origins)["unit"].codes
            lacks = is_left[of_part] & ~has_side[of_part]
            if lacks.any():
                other = next(path for path, each in sides_of.items() if side in each)
                sides = " and ".join(dict.fromkeys(sides_of[path][lacks].tolist()))
                number = format_count(len(distinct(of_part[lacks])), name)
                expected = f"{side} of each {name}, as {other} has"
                got = f"{sides} alone of {number}"
                raise InputValueError("parts", expected=expected, got=got, place=path)
