"""Evaluates models, saves ranks, and prints results: one way for all commands."""

from __future__ import annotations

import errno
import inspect
import json
import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import truerank as tr
from truerank import InputValueError

from .. import reporting
from ..arrays.saved_files import replace_file, writable_place
from ..inputs.progress_listeners import as_listener
from ..naming import import_extra, printable, terminal_text
from ..stores import Store, open_scores
from ..tables.forms import html_page, write_json
from ..tables.table import Layout
from .options import AXES, MEASURED, SAVED, STYLES, Values, files_read, note_file, refuse, take

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..reporting import Finding
    from ..tables import AsTable

START_AFTER = 0.5  # Runs of fewer seconds draw no bar.
# The options that the protocol of ranks takes, by what counts once in them.
RULES = {"task": "split", "query": "split relevance_level answerless"}
WRITING = ("json", "style", "output", "force")  # Where and in which form a result is written.
# What evaluates each kind of model.
METHODS = {"scores": "evaluate_scores", "vectors": "evaluate_embeddings", "lists": "evaluate_lists"}


# -- models ----------------------------------------------------------------------------------------


def open_store(path: str, **keywords: Any) -> Store:
    """Open scores in a file, or in the files of a pattern, for this command."""
    axis = AXES[keywords.pop("axis", "rows")]
    store = open_scores(path, axis=axis, **keywords)
    for file in store.files:
        note_file(file)
    return store


def open_model(values: Values, names: Sequence[str], needs_all: bool = True) -> tuple[str, Values]:
    """Take a model out of the values of a command: its scores, if they are given, or its vectors.

    The names are those of the options of vectors, of which all may be needed. The first result is
    "scores" or "vectors", the second what the methods of a task take, by keyword.
    """
    if "scores" in values:
        reading = take(values, "axis dtype io")
        paths = values.pop("scores")
        if not isinstance(paths, dict):
            paths = {"scores": paths}
        return "scores", {name: open_store(path, **reading) for name, path in paths.items()}
    values.pop("io", None)  # By this the vectors were opened.
    vectors_by_option = take(values, " ".join(names))
    number_needed = len(names) if needs_all else 1
    if len(vectors_by_option) < number_needed:
        ways = ", ".join(f"--{name}" for name in names)
        expected = f"the vectors of a model ({ways}), or its scores (--scores)"
        raise click.UsageError(f"expected {expected}")
    model: Values = {}  # An option may have the vectors of several sides.
    for option, value in vectors_by_option.items():
        model |= value if isinstance(value, dict) else {option: value}
    for name, vectors in model.items():
        if not isinstance(vectors, tuple) and vectors.ndim == 0:
            raise InputValueError(name, expected="a vector in each row", got="a single number")
    return "vectors", model


def list_candidates(candidates: Any) -> Values:
    """Return what a task of lists takes as its entities and its candidates: a number means all."""
    if candidates is None or isinstance(candidates, str):
        return {"candidates": candidates}
    return {"entities": candidates, "candidates": "all"}


def count_candidates(
    kind: str, model: Values, nouns_by_scores: Mapping[str, str]
) -> dict[str, int]:
    """Return how many candidates a model has, by their noun: "entities" or "relations".

    Scores of a side have a column for each, as `nouns_by_scores` says; vectors have their noun.
    """
    if kind == "scores":
        return {nouns_by_scores[name]: store.shape[-1] for name, store in model.items()}
    counts = {}
    for noun in nouns_by_scores.values():
        if noun in model:
            vectors = model[noun]
            counts[noun] = len(vectors[1]) - 1 if isinstance(vectors, tuple) else len(vectors)
    return counts


def show_task(
    task: Any, kind: str, model: Values, values: Values, protocol: str, **facts: Any
) -> None:
    """Evaluate a model by a task, or by a part of it, and show the report by `show_report`."""
    evaluate = partial(take_method(task, kind, values), **model)
    show_report(evaluate, values, kind, title=f"{protocol} of {task.protocol.split}", **facts)


def take_method(task: Any, kind: str, values: Values) -> Callable[..., tr.Report]:
    """Return what evaluates a kind of model by a task, or by a part of it, with its options.

    The method of the task takes the options that are its parameters.
    """
    if "part" in values:
        task = task[values.pop("part")]
    method = getattr(task, METHODS[kind])
    parameters = inspect.signature(method).parameters
    rules = take(values, " ".join(name for name in parameters if name != "audit"))
    if "audit" in parameters:
        rules["audit"] = "audit" in values
    return partial(method, **rules, progress=bar())


def bar() -> Callable[[tr.Progress], None]:
    """Return what draws a bar on a terminal, and says everywhere what a stopped run had counted."""
    draw = as_listener(sys.stderr is not None and sys.stderr.isatty())

    def listen(progress: tr.Progress) -> None:
        if progress.resumed and progress.done == progress.resumed:
            before = tr.Progress(progress.resumed, progress.total, seconds=0)
            click.echo(f"Resumed: {before} had been counted before.", err=True)
        if draw is not None and progress.seconds > START_AFTER:
            draw(progress)

    return listen


# -- reports ---------------------------------------------------------------------------------------


def counted_unit(ranks: tr.Ranks) -> str:
    """Return what counts once in ranks: a "query" with several right answers, or a "task"."""
    return "task" if ranks.answers is None else "query"


def show_report(
    evaluate: Callable[[], tr.Ranks | tr.Report],
    values: Values,
    what: str,
    *,
    unit: str = "task",
    told: Sequence[str] = (),
    split_audit: Sequence[Finding] = (),
    title: str | None = None,
) -> None:
    """Evaluate a task, save its ranks, print their report, and write its page.

    No option in `values` may be left, for it cannot apply to `what` is evaluated. `unit` is what
    counts once in the report, `told` has lines that stand below it in any case, and `split_audit`
    what --audit shows beside its own findings. `title` is that of the page.
    """
    printing = take(values, f"{MEASURED} kinds")
    outputs = take(values, "save html audit interval")
    grouping = take(values, "by weights seed")
    rules = take(values, RULES[unit])
    refuse(values, what)
    keys: list[str] = [] if printing.get("metrics", "all") == "all" else printing["metrics"]
    # Unknown keys are refused before a count.
    have_rows = reporting.report_table.name_rows(keys, unit)
    style = check_printing(printing, save=outputs.get("save"), html=outputs.get("html"))
    if "kinds" in printing and (style == "json" or have_rows):
        raise click.UsageError(
            "--kinds chooses rows of the report; for JSON, or with keys of a kind, name kinds in "
            "--metrics, as optimistic.mrr"
        )
    counted = evaluate()
    findings_of_task: Sequence[Finding] = ()
    if isinstance(counted, tr.Report):
        findings_of_task, counted = counted.task_findings, counted.ranks
    ranks = counted
    if what != SAVED:
        rules["files"] = files_read()
    ranks = ranks.with_protocol(**rules)
    if "save" in outputs:
        write_last("save", outputs["save"], printing, ranks.save)
    result = reporting.reports.report_task(ranks, findings_of_task, **grouping)
    split_findings = list(map(str, split_audit))
    lines = list(told)
    if "audit" in outputs:
        findings = split_findings + list(map(str, result.audit()))
        if ranks.protocol.ties is not None:
            lines.append(reporting.audit.ONE_RANK)
        lines += findings or ["Nothing was found that makes these ranks suspect."]
    if "html" in outputs:
        page: Values = {"title": title, "command": command_line(), "notes": split_findings}
        page |= {"reports": result, "metrics": keys or None}
        write_last("html", outputs["html"], printing, partial(tr.page.save, **page))
    if style == "json":
        content = json.loads(result.to_json(keys or None, interval="interval" in outputs))
        if "audit" in outputs and split_audit:
            content["split_audit"] = list(map(vars, split_audit))
        show(result, printing, content)
    else:
        show(result, {**printing, "interval": "interval" in outputs}, lines=lines)


def write_last(name: str, path: Path, printing: Values, save: Callable[[Path], object]) -> None:
    """Write a file when the command ends, whatever fails before: a full disk costs no report."""

    def write() -> None:
        refuse_replaced(name, path, printing)
        save(path)

    click.get_current_context().call_on_close(write)


# -- printing --------------------------------------------------------------------------------------


def lay_out(columns: Any, rows: Any, notes: Sequence[str] = (), **layout: Any) -> tr.Table:
    """Make a table of some words or numbers, with a layout of its own."""
    return Layout(**layout).make(columns, rows, notes=notes)


def check_printing(printing: Values, **outputs: Path | None) -> str:
    """Check what is to be written, before anything is counted; return the style of the result."""
    if outputs.get("html") is not None:
        import_extra("matplotlib", "an HTML page", "plot")
    output = printing.get("output")
    check_outputs({"output": output, **outputs}, printing)
    style: str | None = printing.get("style")
    if "json" in printing:
        if style not in (None, "json"):
            raise click.UsageError(f"--json, or --format {style}")
        style = "json"
    if output is None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed; --output writes to a file")
        return style or "text"
    return _file_style(output, style)


def _file_style(output: Path, style: str | None) -> str:
    """Return the style that is asked for, or else that the ending of a file means."""
    fitting = [name for name, ending in STYLES.items() if ending == output.suffix.lower()]
    if style is None and fitting:
        return fitting[0]
    if style is not None and (style in fitting or not fitting):
        return style
    if style is None:
        ending = f"one of {', '.join(dict.fromkeys(STYLES.values()))}"
    else:
        ending = f"{STYLES[style]}, as {style} is asked for"
    problem = f"expected a name that ends in {ending}, got {output}"
    raise click.BadParameter(problem, param_hint="--output")


def check_outputs(paths: Mapping[str, Path | None], printing: Values) -> None:
    """Raise an error if an output cannot be written, or would replace a file.

    With --force files are replaced, but neither an input nor another output.
    """
    files = [os.path.realpath(file) for file in files_read()]
    for name, path in paths.items():
        if path is None:
            continue
        place, _ = writable_place(path, f"--{name}")
        folder = os.path.dirname(place)
        if not os.access(folder, os.W_OK):
            raise InputValueError(f"--{name}", expected="a folder to write into", got=folder)
        for file in files:
            both_exist = os.path.exists(place) and os.path.exists(file)
            is_same = both_exist and os.path.samefile(place, file)
            is_within = Path(place).is_relative_to(file)  # of a folder that is read
            if is_same or is_within:
                raise InputValueError(f"--{name}", f"{path} is one of the other files of this line")
        refuse_replaced(name, path, printing)
        files.append(place)


def refuse_replaced(name: str, path: Path, printing: Values) -> None:
    """Raise an error if a file is at the place of an output, and --force is not given.

    A command looks when it begins, and again before it writes: another may have been faster.
    """
    _, replaced = writable_place(path, f"--{name}")
    if replaced is not None and "force" not in printing:
        raise InputValueError(f"--{name}", f"{path} is there already; --force replaces it")


def _write_form(result: AsTable, style: str, options: Values, *, is_file: bool) -> str:
    """Return the text of a result in a form."""
    if style == "json":  # It has all digits, and takes no other options than metrics.
        return result.to_json(**take(options, "metrics"))
    if style == "spreadsheet":
        return terminal_text(result.to_csv(**options, spreadsheet=True))
    if style == "text" and not is_file:
        return str(result.table(**options))  # It may be cut, as files are not.
    text: str = terminal_text(getattr(result, f"to_{style}")(**options))
    return html_page(type(result).__name__, text) if style == "html" else text


def show(
    result: AsTable, printing: Values, content: object = None, lines: Sequence[str] = ()
) -> None:
    """Print a result, or write it to a file, in the form that was asked for.

    JSON has `content` in place of what the result has, if it is given. `lines` follow a text; in
    other forms they go to standard error.
    """
    style = check_printing(printing)
    output = printing.get("output")
    options = {name: value for name, value in printing.items() if name not in WRITING}
    if style == "json" and content is not None:
        text = write_json(content, 2)
    else:
        text = _write_form(result, style, options, is_file=output is not None)
    text = text.removesuffix("\n")
    if lines and style == "text":
        text = "\n".join([text, "", *map(printable, lines)])
    elif style != "json":
        for line in lines:
            click.echo(printable(line), err=True)
    if output is not None:
        refuse_replaced("output", output, printing)
        with replace_file(output) as file:
            file.write(f"{text}\n".encode(errors="backslashreplace"))
    elif style == "csv" and sys.stdout is not None and sys.stdout.isatty():
        click.echo(printable(text, keep="\n"))
    else:
        # Without `color` click would take out of names what it knows as colours.
        click.echo(text, color=True)


def command_line() -> str:
    """Return the command line as it was typed."""
    return shlex.join(["truerank", *click.get_current_context().find_root().obj])
