"""`truerank evaluate`, `compare` and `merge`: scores in files, and the ranks that were saved."""

from __future__ import annotations

import errno
import glob
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np

import truerank as tr
from truerank import InputError, InputValueError

from ..stores import check_order
from . import options, output
from .options import SAVED, TEXT, Values, called, command, option, take

RANKS = ("truerank.ranks", "ranks", "")  # What may be ranks.
LABELS = {"side": "side", "relation": "relation", "query": "queries"}
REPEAT_RULES = ("refuse", "drop", "keep")
# The exit codes of `compare --margin` where the new model is worse, and where a metric is refused.
WORSE_CODE = 3
REFUSED_CODE = 1


# -- models ----------------------------------------------------------------------------------------


def match_models(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the files of each model by its name: a word is a file, or a pattern of runs."""
    names = [Path(word).stem for word in words]
    if len(set(names)) < len(names):
        names = list(words)
    files = {name: matching_files(word) for name, word in zip(names, words, strict=True)}
    every_file = list(itertools.chain.from_iterable(files.values()))
    if len(files) < len(names) or is_one_file(*every_file):
        raise click.UsageError("expected the ranks of different models, each once")
    return files


def is_one_file(*paths: str) -> bool:
    """Return whether two of some paths lead to one file."""
    places = [(file.st_dev, file.st_ino) for file in map(os.stat, paths)]
    return len(set(places)) < len(places)


def matching_files(word: str) -> list[str]:
    """Return the files of a pattern in their order, or the file itself."""
    if os.path.exists(word) or not set("*?[") & set(word):
        return [word]
    files = sorted(glob.glob(word, recursive=True))
    if not files:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", word)
    return files


def read_models(files: Mapping[str, Sequence[str]], values: Values) -> dict[str, list[tr.Ranks]]:
    """Read the ranks of each model's runs, which are saved or text.

    The number of candidates is that of all files of text that lack this column.
    """
    headers = {}
    paths = list(itertools.chain.from_iterable(files.values()))
    for path in paths:
        if len(paths) > 1:  # One alone may be replaced by what is made of it.
            options.note_file(path)
        kind = options.find_kind("ranks", path)
        if kind not in RANKS:
            raise options.wrong_file("ranks", path, "saved ranks, or ranks in text")
        if kind != "truerank.ranks":
            from ..records import id_tables, text  # Saved ranks need neither.

            _, headers[path] = next(text.read_fields("ranks", path), (0, []))
    candidates = values.pop("candidates", None) if headers else None
    lacking = [path for path in headers if "candidates" not in headers[path]]

    def read(path: str) -> tr.Ranks:
        if path not in headers:
            return tr.load(path)
        # If no file lacks the column, the number is refused.
        number = candidates if path in (lacking or headers) else None
        return id_tables.read_ranks("ranks", path, number)

    with called(path="ranks"):
        return {name: list(map(read, runs)) for name, runs in files.items()}


@command(
    "evaluate",
    "filter rows candidates io axis split relevance_level",
    options.COUNTING,
    options.REPORTING,
)
@click.argument("files", type=options.SCORES, nargs=-1, metavar="SCORES TARGETS | RANKS ...")
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
    of each true candidate, or a number: one column for all tasks. With --save FILE, a count that
    was stopped goes on from FILE.partial if you run the same line again.

    RANKS is the .npz file that --save of any command wrote; the report is that of this command. It
    may also be text with the ranks of another tool, from 1 on, below a line that names the columns:
    rank, or optimistic and pessimistic; candidates, unless --candidates gives their number; perhaps
    side, relation, query, target, unit (tabs between them, in .csv commas). Several files are
    models, each a row of one table; the files of a pattern in quotes ("transe-*.npz") are the runs
    of one model, with the mean and standard deviation over them.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz \\
        --filtered-by train,valid --labels side=tail \\
        --labels relation=relations.npy --labels query=heads.npy --split test \\
        --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz
    truerank evaluate ranks.npz --metrics mrr,amri --by relation --interval
    truerank evaluate ranks.tsv --candidates 14541 --filtered-by train,valid \\
        --save other.npz
    truerank evaluate "transe-*.npz" rotate.npz --metrics mrr,hits@10
    """
    words = values.pop("files", ())
    if not words:
        raise click.UsageError("Missing argument 'SCORES'.")
    kind = options.find_kind("scores", matching_files(words[0])[0])
    if kind not in ("array", *RANKS):
        raise options.wrong_file("scores", words[0], "scores and TARGETS, or ranks")
    if kind == "array":
        evaluate_scores(words, values)
        return
    models = read_models(match_models(words), values)
    if sum(map(len, models.values())) > 1:
        show_models(models, values)
        return
    [[ranks]] = models.values()
    facts = take(values, "labels filtered_by")

    def read_known() -> tr.Ranks:
        options.note_file(words[0])  # Only now, as the same line may save ranks in it.
        return add_facts(ranks, facts, kind)

    what = SAVED if kind == "truerank.ranks" else TEXT
    with called(candidates="ranks"):  # Saved ranks have those of their task.
        output.show_report(read_known, values, what, unit=output.counted_unit(ranks))


def evaluate_scores(words: Sequence[str], values: Values) -> None:
    """Rank by scores and targets, and report the metrics."""
    facts = take(values, "labels filtered_by")
    arguments = rank_arguments(words, values, facts.get("labels", {}))
    output.show_report(lambda: add_facts(tr.rank(**arguments), facts, "array"), values, "scores")
    if "checkpoint" in arguments:
        Path(arguments["checkpoint"]).unlink(missing_ok=True)


def add_labels(ranks: tr.Ranks, labels: Values) -> tr.Ranks:
    """Add the labels that were given to ranks."""
    with called(queries="--labels query"):
        return ranks.with_labels(**{LABELS[name]: value for name, value in labels.items()})


def add_facts(ranks: tr.Ranks, facts: Values, kind: str) -> tr.Ranks:
    """Add the labels that were given, and the splits of the filter, to ranks of a kind of file."""
    if "labels" in facts:
        ranks = add_labels(ranks, facts["labels"])
    if "filtered_by" not in facts:
        return ranks
    if not ranks.protocol.filter and kind in ("array", "truerank.ranks"):
        raise InputValueError("--filtered-by", "these ranks are unfiltered")
    return ranks.with_protocol(filter=facts["filtered_by"])


def show_models(models: Mapping[str, Sequence[tr.Ranks]], values: Values) -> None:
    """Print the table of several models, or of the runs of one."""
    printing = take(values, options.PRINTING)
    layout = take(values, "percent interval kinds metrics")
    reports = report_models(models, values, take(values, "by weights seed"))
    options.refuse(values, "several models")
    output.check_printing(printing)
    groups = next(iter(reports.values()))[0].by is not None
    with called(**{f"reports[{name!r}]": name for name in reports}):
        output.show(tr.table(reports, groups=groups, **layout), printing)


def report_models(
    models: Mapping[str, Sequence[tr.Ranks]], values: Values, grouping: Values
) -> dict[str, list[tr.Report]]:
    """Report the runs of each model, by a relevance level if it is given."""
    rules = take(values, "relevance_level")
    if output.counted_unit(next(iter(models.values()))[0]) == "task":
        options.refuse(rules, "ranks of tasks with one right answer each")
    return {
        name: [tr.report(run.with_protocol(**rules), **grouping) for run in runs]
        for name, runs in models.items()
    }


def rank_arguments(words: Sequence[str], values: Values, labels: Values) -> Values:
    """Return the arguments of `rank`; labels and groups are checked, as a count may take long."""
    if len(words) == 1:
        raise click.UsageError("Missing argument 'TARGETS', the columns of the true candidates")
    if len(words) > 2:
        raise click.UsageError(f"expected SCORES TARGETS, got {' '.join(words)}")
    path, word = words
    if not options.is_of_columns(word) and os.path.isfile(word):
        raise options.wrong_file("TARGETS", word, "a .npy file, or a number")
    targets = options.read_columns("TARGETS", word)
    has_columns = values.get("axis") == "columns"
    store = output.open_store(path, **take(values, "member dtype io axis"))
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
        tr.report(add_labels(blank, labels), by=values.get("by"), weights=values.get("weights"))
    rules |= {"scores": store, "targets": targets, "audit": "audit" in values}
    rules["progress"] = output.bar()
    if "save" in values:
        rules["checkpoint"] = f"{values['save']}.partial"
    return rules


# -- several models --------------------------------------------------------------------------------


@command(
    "compare",
    "columns list_columns duplicates order nan relevance_level gain exclude seed html metrics",
    options.PRINTING,
)
@click.argument("ranks", type=options.SCORES, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
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
@option("--qrels", options.TEXT_FILE, "Right answers; the files are then runs, such as TREC's.")
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
    worse" (the interval begins at -margin or above, or nothing differs, with the loss that could be
    unseen), or "undecided", and with how many queries two equal models would mostly pass. Below it
    stand the queries that lost most; --by query lists all. In other forms than text verdicts are a
    column. The exit code is 3 if the new model is worse by one metric, else 1 if a metric is
    refused, else 0; 1 and 2 are errors, too.

    Each file is a model of one run. A pattern in quotes ("transe-*.npz") is a model of several
    runs, such as seeds, whose variance is added; all models then have several.

    Models are compared unit by unit: by the label "unit" of the ranks (test triples, aligned
    pairs, queries), or task by task without this label; --unit names another label.
    """
    files = match_models(values.pop("ranks", ()))
    if len(files) < 2:
        raise click.UsageError("expected the ranks of at least two models, each once")
    margin = values.pop("margin", None)
    lists_losses = "by" in values and "html" not in values
    has_runs = any(len(paths) > 1 for paths in files.values())
    if (len(files) != 2 or has_runs) and (lists_losses or margin is not None):
        raise click.UsageError("--margin and --by need two files, base first")
    if "html" in values and ("common" in values or has_runs):
        problem = "--html shows all queries of each model, and does not go with "
        raise click.UsageError(problem + ("several runs" if has_runs else "--common"))
    printing = take(values, options.PRINTING)
    page = values.pop("html", None)
    metrics = values.pop("metrics", ["mrr"])
    seed = values.pop("seed", 0)
    output.check_printing(printing, html=page)
    are_runs = "qrels" in values
    models: Any = _evaluate_runs(files, values) if are_runs else _read_ranks(files, values)
    grouping = {"seed": seed} | ({} if lists_losses else take(values, "by"))
    models = report_models(models, values, grouping)
    if not has_runs:
        models = {name: run for name, [run] in models.items()}
    names = {"metric": "--metrics"}
    if are_runs:
        names["entities"] = "--candidates"
    else:  # Saved ranks have those of their task.
        names["candidates"] = "ranks"
    with called(**names):
        if margin is None and not lists_losses:
            pairs = tr.compare(models, metric=metrics, seed=seed, **values)
            show_result: Callable[[], None] = partial(output.show, pairs, printing)
        else:
            from ..inference import gate  # Other comparisons need none.

            base, new = models.values()
            pairs, verdicts, losses = gate.gate(
                base, new, metrics, margin or 0.0, seed=seed, **values
            )
            if margin is None:
                verdicts = {name: text for name, text in verdicts.items() if name not in losses}
            by = values.get("by")
            show_result = partial(show_verdicts, pairs, verdicts, losses, printing, by)
            models = {"base": base, "new": new}
            values["allow_unlike"] = True  # What forbids a comparison has been refused by now.
    if page is not None:
        output.refuse_replaced("html", page, printing)
        tr.page.save(page, models, metrics=pairs.metrics, command=output.command_line(), **values)
    show_result()


def show_verdicts(
    pairs: tr.inference.Comparisons,
    verdicts: Mapping[str, str],
    losses: Mapping[str, Sequence[Values]],
    printing: Values,
    by: str | None,
) -> NoReturn:
    """Print what a gate says below a table of text, and else as a column; by a label all losses."""
    from ..inference import gate

    has_verdicts = output.check_printing(printing) != "text"
    if by is None:
        table = gate.gate_table(pairs, verdicts, has_verdicts=has_verdicts)
        content = json.loads(table.to_json())
        for row in content["rows"]:
            row["lost_most"] = losses.get(row["metric"], [])
    else:
        table = gate.losses_table(pairs, losses, by)
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
    output.show(table, printing, content, lines)
    click.get_current_context().exit(code)


def describe_losses(losses: Sequence[Values], pair: tr.inference.Comparison) -> str:
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


def _read_ranks(files: Mapping[str, Sequence[str]], values: Values) -> dict[str, list[tr.Ranks]]:
    """Read the ranks of models, which take no options of runs."""
    models = read_models(files, values)
    refused = "candidates columns list_columns duplicates order nan gain exclude"
    options.refuse(take(values, refused), SAVED)
    return models


def _evaluate_runs(files: Mapping[str, Sequence[str]], values: Values) -> dict[str, list[tr.Ranks]]:
    """Rank the right answers of --qrels in the files of each model."""
    with called(entities="--candidates", ids="run"):
        facts = take(values, "qrels columns gain exclude")
        facts |= output.list_candidates(values.pop("candidates", None))
        task = tr.retrieval.Task(**facts)
        rules = take(values, "order nan duplicates")
        rules |= {"columns": values.pop("list_columns", None), "progress": output.bar()}

        def evaluate_lists(path: str) -> tr.Ranks:
            return task.evaluate_lists(options.open_text("run", path), **rules).ranks

        with called(columns="--list-columns"):
            return {name: list(map(evaluate_lists, runs)) for name, runs in files.items()}


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
    has_names = any(name for name, _ in words)
    if len(paths) < 2 - has_names or is_one_file(*paths):
        raise click.UsageError("expected the saved counts of at least two jobs, each once")
    kinds = [options.find_kind("parts", path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind not in options.FILES or not kind.startswith("truerank."):
            raise options.wrong_file("parts", path, "saved ranks, counters or lists")
        if kind != kinds[0]:
            name, _ = options.FILES[kinds[0]]
            raise options.wrong_file("parts", path, f"{name}, as {paths[0]}")
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
    output.show_report(lambda: ranks, values, SAVED, unit=output.counted_unit(ranks))
    if kinds[0] == "truerank.ranks" and not ranks.origins and len(paths) > 1:
        counted = f"{len(ranks):,} tasks of {len(paths)} files"
        click.echo(f"Joined {counted}, which do not know of how many they are a part.", err=True)


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
