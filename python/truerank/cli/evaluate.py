"""`truerank evaluate`, `compare` and `merge`: scores in files, and the ranks that were saved."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import numpy as np

import truerank as tr
from truerank import InputError, InputValueError

from ..stores import check_order
from . import options
from .options import Values, called, command, option, take
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
    from collections.abc import Callable, Mapping, Sequence

    from ..inference import Comparison, Comparisons

LABELS = {"side": "side", "relation": "relation", "query": "queries"}
KINDS = {
    "truerank.ranks": "saved ranks",
    "truerank.counter": "saved counters",
    "truerank.topk": "saved lists",
}
REPEAT_RULES = ("refuse", "drop", "keep")
TEXT = "ranks in a file of text"
# The exit codes of `compare --margin` where the new model is worse, and where a metric is refused.
WORSE_CODE = 3
REFUSED_CODE = 1
# The columns of such a file that are a rank, of which it has one or two, and all that are read.
RANKS = ({"rank"}, {"optimistic", "pessimistic"})
NUMBERS = ("rank", "optimistic", "pessimistic", "candidates")
COLUMNS = (*NUMBERS, "side", "relation", "query", "target", "unit")
NO_HEADER = (
    f"a first line that names columns ({', '.join(COLUMNS)}), with tabs between them (in .csv "
    "commas) and without quotes; scores need TARGETS, and lists are read by "
    "`truerank retrieval QRELS RUN`"
)


def is_text(path: str) -> bool:
    """Whether there is a file, and it is none of arrays or of truerank."""
    if not os.path.isfile(path) or path.lower().endswith((".npy", ".npz")):
        return False
    return not options.archive_kind("scores", path)


# -- scores, or ranks ------------------------------------------------------------------------------


def read_rows(path: str) -> list[tuple[int, list[str]]]:
    """Read the lines of a file of ranks, with their numbers; the first one names the columns."""
    between = "commas" if path.lower().removesuffix(".gz").endswith(".csv") else "tabs"
    return list(options.read_fields("scores", path, between)) or [(0, [])]


def check_names(path: str, names: Sequence[str], candidates: Any) -> None:
    """Refuse a first line that does not name the columns of ranks."""
    expected = ""
    rank_columns = set(names) & {"rank", "optimistic", "pessimistic"}
    has_column, has_option = "candidates" in names, candidates is not None
    if set(names).isdisjoint(COLUMNS):
        expected = NO_HEADER
    elif not set(names) <= set(COLUMNS) or len(set(names)) < len(names):
        expected = f"columns of {', '.join(COLUMNS)}, each once"
    elif rank_columns not in RANKS:
        expected = "a column rank, or the two columns optimistic and pessimistic"
    elif has_column == has_option:
        expected = "either a column candidates, or --candidates N, the number for each task"
    if expected:
        raise InputValueError("scores", expected=expected, got=", ".join(names), place=path)


def read_column(path: str, name: str, fields: Mapping[int, str]) -> list[Any]:
    """Return the fields of a column, by the numbers of their lines; ranks are integers."""
    if name not in NUMBERS:
        return list(fields.values())
    for number, field in fields.items():
        if not re.fullmatch("0|-?[1-9][0-9]{0,17}", field):
            expected = f"an integer as the {name} (columns optimistic and pessimistic have both "
            expected += "ends of a tie)"
            place = f"{path}: line {number}"
            raise InputValueError("scores", expected=expected, got=field, place=place)
    return list(map(int, fields.values()))


def read_ranks(path: str, lines: Sequence[tuple[int, list[str]]], candidates: Any) -> tr.Ranks:
    """Read the ranks of another tool from the lines of a file, as `Ranks.from_ranks` takes them."""
    (_, names), *rows = lines
    check_names(path, names, candidates)
    for number, fields in rows:
        if len(fields) != len(names) or not all(fields):
            expected = f"{len(names)} fields, none empty"
            place = f"{path}: line {number}"
            got = ", ".join(map(repr, fields))
            raise InputValueError("scores", expected=expected, got=got, place=place)
    columns: dict[str, Any] = {"candidates": candidates}
    for i, name in enumerate(names):
        columns[name] = read_column(path, name, {number: fields[i] for number, fields in rows})
    best_ranks = columns.pop("rank" if "rank" in names else "optimistic")
    try:
        return tr.Ranks.from_ranks(best_ranks, **columns)
    except InputError as error:
        if isinstance(error.place, int):  # the position of a task
            line_number, _ = rows[error.place]
            error.place = f"{path}: line {line_number}"
        else:
            error.place = path
        if error.argument in ("ranks", *names):
            error.argument = "scores"
        raise


def read_targets(name: str, text: str) -> Any:
    """Read columns as `read_columns` does; ranks in their place are of another model."""
    is_saved = (
        text.lower().endswith(".npz") and os.path.isfile(text) and options.archive_kind(name, text)
    )
    if is_saved or (not options.is_of_columns(text) and is_text(text)):
        expected = "a .npy file, or a number; ranks of two models are compared by `truerank "
        expected += f"compare RANKS {text}`, and make one table by truerank.table in Python"
        raise InputValueError(name, expected=expected, got=text)
    return options.read_columns(name, text)


def open_ranks(path: str, values: Values) -> tuple[tr.Ranks | None, str]:
    """Return the ranks of a file, None where it has scores, and what it has."""
    if os.path.isfile(path) and options.archive_kind("scores", path):
        with called(path="scores"):
            return tr.load(path), SAVED
    if "targets" not in values and is_text(path):
        return read_ranks(path, read_rows(path), values.pop("candidates", None)), TEXT
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
    "Side, relation or query of the tasks: side=tail for all, or relation=r.npy with one for each "
    "task. --save stores them; they can be added to saved ranks.",
)
@option("--filtered-by", options.WORDS, "Splits whose right answers are left out: train,valid.")
def evaluate(values: Values) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES has one row for each task (see --rows): a .npy or .npz file, the files of a pattern in
    quotes ("part-*.npy"). Files may be larger than memory. TARGETS is a .npy file with the column
    of each true candidate, or a number: one column for all tasks. SCORES may also be the .npz file
    of ranks that --save of any command wrote, without TARGETS; the report is that of this command.
    It may also be text with the ranks of another tool, from 1 on, below a line that names the
    columns: rank, or optimistic and pessimistic; candidates, unless --candidates gives their
    number; perhaps side, relation, query, target, unit (tabs between them, in .csv commas). With
    --save FILE, a count that was stopped goes on from FILE.partial if you run the same line again.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz \\
        --filtered-by train,valid --labels side=tail \\
        --labels relation=relations.npy --labels query=heads.npy --split test \\
        --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz
    truerank evaluate ranks.npz --metrics mrr,amri --by relation --interval
    truerank evaluate ranks.tsv --candidates 14541 --filtered-by train,valid \\
        --save other.npz
    """
    labels = {LABELS[name]: value for name, value in values.pop("labels", {}).items()}
    filtered_by = values.pop("filtered_by", None)
    scores = values.pop("scores", None)
    if scores is None:
        raise click.UsageError("Missing argument 'SCORES'.")
    known_ranks, kind = open_ranks(scores, values)

    def add_facts(ranks: tr.Ranks) -> tr.Ranks:
        if labels:
            with called(queries="--labels query"):
                ranks = ranks.with_labels(**labels)
        if filtered_by is None:
            return ranks
        if not ranks.protocol.filter and kind != TEXT:
            raise InputValueError("--filtered-by", "these ranks are unfiltered")
        return ranks.with_protocol(filter=filtered_by)

    if known_ranks is not None:

        def read_known() -> tr.Ranks:
            options.note_file(scores)  # Only now, as the same line may save ranks in it.
            return add_facts(known_ranks)

        show_report(read_known, values, kind, unit=unit_of(known_ranks))
        return
    with called(queries="--labels query"):
        arguments = rank_arguments(scores, values, labels)
    checkpoint = arguments.get("checkpoint")
    show_report(lambda: add_facts(tr.rank(**arguments)), values, "scores")
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)


def rank_arguments(path: str, values: Values, labels: Values) -> Values:
    """Return the arguments of `rank`; labels and groups are checked, as a count may take long."""
    if "targets" not in values:
        way = "truerank retrieval QRELS RUN"
        raise click.UsageError(f"Missing argument 'TARGETS'; for lists it is `{way}`")
    targets = values.pop("targets")
    has_columns = values.get("axis") == "columns"
    store = open_store(path, **take(values, "member dtype io axis"))
    rules = take(values, "filter rows candidates order nan threads")
    rows, files = store.shape[0], len(store.files)
    rows_or_targets: Any = rules.get("rows", targets)
    # A single target is that of every row.
    tasks = len(rows_or_targets) if np.ndim(rows_or_targets) else rows
    has_row_for_each_file = "rows" not in rules and files > 1 and tasks * files == rows
    if has_row_for_each_file and not has_columns:
        raise click.UsageError(
            f"expected {rows:,} targets, one for each row of the {files} files, got {tasks:,}; "
            "--shards columns says that each file has other candidates, of the same rows and model"
        )
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
    "compare",
    "columns list_columns duplicates order nan relevance_level gain exclude seed html metrics",
    options.PRINTING,
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
@option(
    "--by",
    options.WORD,
    "Groups by a label of the ranks, such as query: all that the second of two models made worse "
    "are listed in place of the table; with --html all groups have rows on its page instead.",
)
@option("--qrels", options.INPUT, "Right answers; the files are then runs, such as TREC's.")
@option(
    "--candidates",
    options.CANDIDATES,
    "For runs, if a metric depends on it: the number of all candidates, a file with a name in each "
    "line, or listed. For ranks in text: the number for each task, if no column has it.",
)
@option("--allow-unlike", None, "Compare even if protocols or ids differ, or lists are missing.")
@option(
    "--common",
    None,
    "Compare only queries that all models were asked, and all except the last have lists for.",
)
@option(
    "--margin",
    click.FLOAT,
    "A gate: the exit code is 3 if the second of two models is worse than the first, by more than "
    "this (0.01 is 1 %), in metrics between 0 and 1 where more is better.",
)
def compare_files(values: Values) -> None:
    """Compare models over the same tasks: difference, interval, p-value, wins and losses.

    Each file holds the ranks of one model, which --save of any command wrote, or text as for
    `truerank evaluate`; ranks of retrieval are compared query by query, by their own metrics
    (ndcg@10, map, ...). With --qrels each file is a run, which is evaluated as by `truerank
    retrieval` with these options. If there are more than two models, all pairs are compared, by
    each of --metrics (default: mrr). Holm's method also corrects the p-values of all pairs and
    metrics together.

    \b
    truerank compare transe.npz rotate.npz --metrics mrr,hits@10
    truerank compare a.npz b.npz c.npz --metrics hits@10 --unit relation \\
        --format markdown
    truerank compare bm25.npz dense.npz --metrics ndcg@10,map
    truerank compare ours.tsv theirs.tsv --candidates 14541
    truerank compare bm25.run dense.run --qrels qrels.txt --metrics ndcg@10
    truerank compare base.npz new.npz --metrics ndcg@10,recall@10 --margin 0.01

    With --margin, as for a pull request, the first file is base, the second the new model: the
    table has new minus base, and a last line for each metric says whether it is "worse" (the
    interval is below 0, by Holm's method over the metrics, and the difference below -margin), "no
    worse" (the interval begins at -margin or above, or nothing differs), or "undecided", and with
    how many queries two equal models would mostly pass. Below it stand the queries that lost most;
    --by query lists all. In other forms than text verdicts are a column. The exit code is 3 if the
    new model is worse by one metric, else 1 if a metric is refused, else 0; 1 and 2 are errors,
    too.

    Each file is a model of one run. Compare several runs of a model, such as two seeds, in Python,
    which adds the variance between runs: tr.compare([tr.load("A0.npz"), tr.load("A1.npz")],
    [tr.load("B0.npz"), tr.load("B1.npz")], metric="mrr").

    Models are compared unit by unit: by the label "unit" of the ranks (test triples, aligned
    pairs, queries), or task by task without this label; --unit names another label.
    """
    paths = values.pop("ranks", ())
    if len(paths) < 2 or options.is_one_file(*paths):
        raise click.UsageError("expected the ranks of at least two models, each once")
    margin = values.pop("margin", None)
    lists_losses = "by" in values and "html" not in values
    if len(paths) != 2 and (lists_losses or margin is not None):
        raise click.UsageError("--margin and --by need two files, base first")
    printing = take(values, options.PRINTING)
    page = values.pop("html", None)
    metrics = values.pop("metrics", ["mrr"])
    seed = values.pop("seed", 0)
    check_printing(printing, html=page)
    are_runs = "qrels" in values
    ranks = model_ranks(paths, values)
    rules = take(values, "relevance_level")
    if unit_of(next(iter(ranks.values()))) == "task":
        options.refuse(rules, "ranks of tasks with one right answer each")
    grouping = {} if lists_losses else take(values, "by")
    if page is not None and "common" in values:
        raise click.UsageError(
            "--html shows all queries of each model, and does not go with --common"
        )
    models = {}
    for name, each in ranks.items():
        models[name] = tr.report(each.with_protocol(**rules), seed=seed, **grouping)
    names = {"metric": "--metrics"}
    if are_runs:
        names["entities"] = "--candidates"
    with called(**names):
        if margin is None and not lists_losses:
            pairs = tr.compare(models, metric=metrics, seed=seed, **values)
            show_result: Callable[[], None] = partial(show, pairs, printing)
        else:
            from ..inference.comparing import gate  # Other comparisons need none.

            base, new = models.values()
            pairs, verdicts, losses = gate(base, new, metrics, margin or 0.0, seed=seed, **values)
            if margin is None:
                verdicts = {name: text for name, text in verdicts.items() if name not in losses}
            by = values.get("by")
            show_result = partial(show_verdicts, pairs, verdicts, losses, printing, by)
            models = {"base": base, "new": new}
            values["allow_unlike"] = True  # What forbids a comparison has been refused by now.
    if page is not None:
        refuse_replaced("html", page, printing)
        tr.page.save(page, models, metrics=pairs.metrics, command=command_line(), **values)
    show_result()


def show_verdicts(
    pairs: Comparisons,
    verdicts: Mapping[str, str],
    losses: Mapping[str, Sequence[Values]],
    printing: Values,
    by: str | None,
) -> NoReturn:
    """Print what a gate says below a table of text, and else as a column; by a label all losses."""
    from ..inference.comparing import gate_table, losses_table

    has_verdicts = check_printing(printing) != "text"
    if by is None:
        table = gate_table(pairs, verdicts, has_verdicts=has_verdicts)
        content = json.loads(table.to_json())
        for row in content["rows"]:
            row["lost_most"] = losses.get(row["metric"], [])
    else:
        table = losses_table(pairs, losses, by)
        content = json.loads(table.to_json()) | {"verdicts": verdicts}
    pairs_by_metric = {pair.metric: pair for pair in pairs}
    lines = []
    for metric, verdict in verdicts.items():
        lines.append(f"{metric} {verdict}")
        if by is None and losses.get(metric):
            lines.append(describe_losses(losses[metric], pairs_by_metric[metric]))
    code = 0
    refused = {metric: verdicts[metric] for metric in verdicts if metric not in pairs.metrics}
    if refused:
        content["refused"] = refused
        code = REFUSED_CODE
    if any(verdict.startswith("worse") for verdict in verdicts.values()):
        code = WORSE_CODE
    show(table, printing, content, lines)
    click.get_current_context().exit(code)


def describe_losses(losses: Sequence[Values], pair: Comparison) -> str:
    """Name the units that lost most, with their values of base and of new, and what lists all."""
    parts = []
    for loss in losses:
        *labels, (_, base), (_, new) = loss.items()
        named = ", ".join(f"{word} {label}" for word, label in labels)
        if "dataset" in loss:  # It comes first.
            named = ": ".join(str(label) for _, label in labels)
        parts.append(f"{named} ({base:.3f} to {new:.3f})")
    label = labels[0][0] if len(labels) == 1 else pair.unit
    # Single tasks have several labels, and those in a file no name.
    label = {"triple": "unit", "pair": "unit", "task": "", "group": ""}.get(label, label)
    if label and len(losses) < pair.losses:
        parts.append(f"--by {label} lists all")
    return f"lost most: {'; '.join(parts)}"


def model_ranks(paths: Sequence[str], values: Values) -> dict[str, tr.Ranks]:
    """Return the ranks of each model by its name: saved, of text, or with --qrels of its run."""
    are_runs = "qrels" in values
    texts = [path for path in paths if is_text(path)]
    for path in paths:
        if are_runs and path not in texts and os.path.isfile(path):
            expected = "only runs with --qrels; `truerank retrieval --save` makes ranks of a run"
            raise InputValueError("ranks", expected=expected, got="saved ranks", place=path)
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        names = list(paths)
    files = dict(zip(names, paths, strict=True))
    if are_runs:
        return _evaluate_runs(files, values)
    return _read_saved_or_text(files, texts, values)


def _read_saved_or_text(
    files: Mapping[str, str], texts: Sequence[str], values: Values
) -> dict[str, tr.Ranks]:
    """Read the ranks of each model: of text with the number of candidates, or saved ones."""
    candidates = values.pop("candidates", None) if texts else None
    refused = "candidates columns list_columns duplicates order nan gain exclude"
    options.refuse(take(values, refused), "saved ranks")
    with called(scores="ranks", path="ranks"):
        lines = {path: read_rows(path) for path in texts}
        headers = {path: names for path, ((_, names), *_) in lines.items()}
        # The number is for the files that lack the column; if none does, it is refused.
        without_column = [path for path in texts if "candidates" not in headers[path]] or texts
        ranks = {}
        for name, path in files.items():
            if path in texts:
                number = candidates if path in without_column else None
                ranks[name] = read_ranks(path, lines[path], number)
            else:
                ranks[name] = tr.load(path)
        return ranks


def _evaluate_runs(files: Mapping[str, str], values: Values) -> dict[str, tr.Ranks]:
    """Rank the right answers of --qrels in the run of each model."""
    with called(entities="--candidates", ids="ranks"):
        facts = take(values, "qrels columns gain")
        facts |= options.candidates_of_lists(values.pop("candidates", None))
        if values.pop("exclude", False):
            facts["exclude"] = "self"
        list_columns = values.pop("list_columns", None)
        task = tr.retrieval.Task(**facts)
        rules = take(values, "order nan duplicates") | {"progress": bar()}
        ranks = {}
        with called(columns="--list-columns"):
            for name, path in files.items():
                ranks[name] = task.evaluate_lists(path, columns=list_columns, **rules).ranks
        return ranks


# -- several jobs ----------------------------------------------------------------------------------


def read_part(_: str, word: str) -> tuple[str | None, str]:
    """Read NAME=FILE, or a file alone, whose name may have a "=" where it is there."""
    name, equals, path = word.partition("=")
    if not equals or os.path.exists(word):
        return None, options.note_file(word)
    return name, options.note_file(path)


@command("merge", "relevance_level", options.REPORTING)
@click.argument("parts", type=options.Value(read_part), nargs=-1, metavar="[NAME=]A.npz ...")
@option(
    "--repeats",
    REPEAT_RULES,
    "What to do with facts that several files of ranks have: refuse them (the default), drop all "
    "except the first, if the counts agree, or keep them (queries of retrieval are only dropped, "
    "whole). Files of separate tasks, such as folds, are joined only with this option.",
)
def merge(values: Values) -> None:
    """Join the counts of several jobs, and report the metrics of the whole.

    The files are ranks over parts of the tasks, which --save of any command or `Ranks.save` wrote.
    If each is a --part of one task, they are joined in the order of the whole, and have its units
    (test triples, aligned pairs, queries). Files of several tasks, such as folds, are joined only
    with --repeats; units and queries of different tasks stay separate, even if they have one name.
    Data sets are joined under names, NAME=FILE, which is given again for each part of one set:
    each task then has the label "dataset" (--by dataset), and nothing is a repeat, as where
    languages share queries and right answers. A word that is a file is no NAME=FILE. The files may
    also be counters over parts of the candidates, which `RankCounter.save` wrote. All are of one
    kind. The joined counts are those of one job that counts all; --save stores them for `truerank
    evaluate`, which adds labels, and for `compare`. Lists over parts of the queries, which
    `truerank topk --save` wrote, are written to --output and --save as by `topk`.

    \b
    truerank merge part-0.npz part-1.npz part-2.npz --save ranks.npz
    truerank merge en=english.npz de=german.npz --save ranks.npz --by dataset
    truerank merge columns-*.npz --save ranks.npz --metrics mrr,hits@10 --interval
    """
    words = values.pop("parts", ())
    paths = [path for _, path in words]
    if len(paths) < 2 or options.is_one_file(*paths):
        raise click.UsageError("expected the saved counts of at least two jobs, each once")
    kinds = [options.archive_kind("parts", path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind not in KINDS:
            expected = "saved ranks, counters or lists"
            raise InputValueError("parts", expected=expected, got=repr(kind[:80]), place=path)
        if kind != kinds[0]:
            expected = f"{KINDS[kinds[0]]}, as {paths[0]}"
            raise InputValueError("parts", expected=expected, got=KINDS[kind], place=path)
    names = {name for name, _ in words}
    if names != {None} and (None in names or kinds[0] != "truerank.ranks"):
        expected = "NAME=FILE for each file, or for none; only saved ranks have names"
        raise click.UsageError(f"expected {expected}")
    if kinds[0] == "truerank.topk":
        from .indexes import merge_lists  # Other files need none of it.

        merge_lists(paths, values)
        return
    with called(parts="parts", path="parts", update="parts"):
        if kinds[0] == "truerank.ranks":
            ranks = joined_ranks(words, values.pop("repeats", None))
        else:
            options.refuse(take(values, "repeats"), "counters")
            counter = tr.RankCounter.load(paths[0])
            for path in paths[1:]:
                part = tr.RankCounter.load(path)
                with called(other=path):
                    counter.merge(part)
            ranks = counter.ranks()
    show_report(lambda: ranks, values, SAVED, unit=unit_of(ranks))


def joined_ranks(words: Sequence[tuple[str | None, str]], repeats: Any) -> tr.Ranks:
    """Join ranks over tasks, or over data sets by name; those of parts of a task must be all."""
    files: dict[str | None, list[str]] = {}
    for name, path in words:
        files.setdefault(name, []).append(path)
    joined: dict[Any, Any] = {name: list(map(tr.load, paths)) for name, paths in files.items()}
    for name, parts in joined.items():
        if not any(part.origins for part in parts):  # Ranks of tasks know their places.
            check_order("parts", files[name])
        if len(parts) == 1:
            joined[name] = parts[0]
    # Of a data set, errors name the first file.
    places = files.get(None, [paths[0] for paths in files.values()])
    try:
        ranks = tr.concatenate(joined.get(None, joined), repeats=repeats)
    except InputError as error:
        argument, _, number = error.argument.partition(": number ")
        if isinstance(error.place, int):
            number, error.place = str(error.place), ""
        if argument == "parts" and number.isdecimal():
            error.argument = places[int(number)]
        raise
    if ranks.origins:
        # Means over all tasks would mix sides that some units have and others lack.
        findings = tr.report(ranks).audit("missing rows", "missing sides")
        if findings:
            raise InputValueError("parts", findings[0].message)
    return ranks
