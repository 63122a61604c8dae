"""Reports as a page: one HTML file with tables and plots, which needs no other file and no network.

`save` writes it. `page.html` is the frame of every page and `page.css` its style; they are filled
with results, plots, findings, what was evaluated, and the numbers.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..arrays.saved_files import replace_file
from ..inference.comparing import compare, gather_notes, why_incomparable
from ..inference.intervals import FEW
from ..inputs.array_likes import several, unique_keys
from ..inputs.checks import confidence, instance
from ..metrics.contributions import UNIT
from ..metrics.keys import ALL_SIDES, MACRO
from ..naming import import_extra, number, public
from ..plot import drawing, groups, hits_curve, rank_distribution
from ..ranks.protocol import HITS
from ..reporting.model_table import table
from ..reporting.report_table import AUTO, GROUPS_SHOWN, is_auto, sentence, table_of_report
from ..reporting.reports import Report
from ..tables.forms import html_text
from ..tables.table import Layout

__all__ = ["save"]


def __dir__() -> list[str]:
    """Show what the module offers, and not what it imports."""
    return __all__


if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from ..tables.as_table import Names

# HTML may not contain these, not even escaped.
ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Beyond so many groups the page's JSON has only the usual metrics.
MOST_GROUPS = 1000
METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
WORDS = {
    ("nan", "raise"): "an error",
    ("nan", "worst"): "the worst score",
    ("nan", "omit"): "left out",
    ("order", "descending"): "higher is better",
    ("order", "ascending"): "lower is better",
    ("sampled", True): "yes",
}
FACTS = {
    "split": "Split",
    "filter": "Known answers left out",
    "filter_rule": "Rule of the filter",
    "candidates": "Candidates",
    "sampled": "Sampled candidates",
    "nan": "NaN among candidates",
    "order": "Order of scores",
    "dtype": "Scores",
    "similarity": "Similarity",
    "lists": "From lists",
    "ties": "Ties",
    "device": "Device",
    "version": "Counted by truerank",
    "files": "Files",
    "fingerprint": "Fingerprint of the protocol, without data",
}


# The same settings for everybody give the same bytes for the same report. Words stay words: a
# reader can select them. Figures fit half a page, and their words can be read on a phone, too.
SETTINGS: dict[str, Any] = {"svg.fonttype": "none", "font.size": 11, "figure.figsize": (5, 3.6)}
# The style sheet has what changes between light and dark: the ink and the colours of the data.
THEME = {"#000000": "currentColor"}
THEME |= {colour: f"var(--data-{i}, {colour})" for i, colour in enumerate(drawing.COLOURS)}

_TAG = re.compile("<[^>]*>")  # Text between tags has no "<" of its own.
_COLOUR = re.compile("#[0-9a-f]{6}")
_LEFT_OUT = re.compile(r"(?s)<(metadata|style)\b.*?</\1>|<!--.*?-->")


@public("truerank.page")
def save(
    path: str | os.PathLike[str],
    reports: Report | Mapping[str, Report],
    *,
    title: str | None = None,
    metrics: str | Iterable[str] | None = None,
    notes: Iterable[str] = (),
    command: str = "",
    unit: LabelsLike | None = UNIT,
    level: float = 0.95,
    kinds: str | Iterable[str] = AUTO,
    allow_unlike: bool = False,
) -> None:
    """Write one report, or several models beside each other, as one HTML file.

    It fetches nothing. Its one script sorts a table by a click on a heading, or by a key of the
    keyboard: the best first, then the worst, then as before. The page's policy lets no other script
    run.

    Parameters
    ----------
    path : str or path-like
        The file. It appears whole or not at all, and one that is there is replaced.
    reports : Report or mapping of name to Report
        One report, or those of several models, which are compared. They may be reports of
        retrieval. Groups that several models share have rows, if there are at most 20.
    title : str, optional
        The heading. Default: the evaluated split, or the names of the models.
    metrics : iterable of str, optional
        The keys that are shown first and compared: "mrr", "tail.hits@10", "macro.mrr". Default: the
        columns of a table of models.
    notes : iterable of str
        Lines of your own about the models and the data.
    command : str
        The command that made the page, which it then shows.
    unit, level, allow_unlike
        As in `truerank.compare`. Tables have the intervals of this level, too.
    kinds : {"auto", "all"} or names of kinds
        The kinds of rank that have rows, as in `Report.table`; of several models by default one.

    Raises
    ------
    ImportError
        If matplotlib is not installed, which the extra `plot` brings.
    KeyError
        For an unknown key.
    TypeError, ValueError
        For anything but Reports, and for models of unlike protocols, as `truerank.table` does.
    OSError
        If the file cannot be written; it names the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import truerank as tr
    >>> report = tr.report(tr.Ranks([0, 3], [1, 1], 10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "report.html")
    ...     tr.page.save(path, report, title="Two tasks")
    ...     path.read_text()[:15]
    '<!DOCTYPE html>'
    """
    models = drawing.read_reports(reports)
    lines = [instance("notes", line, str) for line in several("notes", notes, "lines")]
    for name, text in (("title", title), ("command", command)):
        if text is not None:
            instance(name, text, str)
    first = next(iter(models.values()))
    if title is None:
        title = ", ".join(filter(None, models))
        title = title or f"Evaluation of {first.protocol.split or 'ranks'}"
    keys = None if metrics is None else unique_keys(metrics)
    options = {"unit": unit, "level": confidence(level), "allow_unlike": allow_unlike}
    has_groups = _can_show_groups(models, keys, unit)
    results = _result_tables(models, keys, options, kinds, has_groups)
    comparison = _compare_models(models, keys, options)
    if comparison is not None:
        results.append(_comparison_table(comparison))
    notes_below_tables = _drop_repeated_notes(results)
    text = _tables(results)
    if len(models) > 1 and first.by is not None and not has_groups:
        text += _paragraphs([f"The values of the groups by {first.by} are in the JSON below."])
    findings = {name: list(map(str, report.audit())) for name, report in models.items()}
    nothing = "Nothing was found that is suspect."
    if any(note.startswith(FEW.capitalize()) for note in notes_below_tables):
        nothing = "Nothing was found but what stands below the tables."
    parts = files(__package__)
    script = (parts / "page.js").read_text(encoding="utf-8")
    content = {
        "title": html_text(title),
        "notes": _paragraphs(lines),
        "results": text,
        "plots": _plots(models, keys),
        "findings": _paragraphs(gather_notes(findings) or [nothing]),
        "evaluated": _protocol_table(models),
        "last_heading": "Reproduce" if command else "Numbers",
        "reproduce": _reproduce(models, comparison, command),
        "style": (parts / "page.css").read_text(encoding="utf-8"),
        "script": script,
        # The page's policy lets this script alone run, with the line break that is before it there.
        "digest": base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode(),
        "version": __version__,
    }
    frame = Template((parts / "page.html").read_text(encoding="utf-8"))
    with replace_file(path) as file:
        file.write(ILLEGAL.sub("\ufffd", frame.substitute(content)).encode())


def _result_tables(
    models: Mapping[str, Report],
    keys: list[str] | None,
    options: Mapping[str, Any],
    kinds: Names,
    has_groups: bool,
) -> list[Any]:
    """Make the table of the models, if there are several or keys, and that of a single report."""
    tables: list[Any] = []
    if len(models) > 1 or keys is not None:
        models_by_name = {name or "all tasks": report for name, report in models.items()}
        layout = {**options, "interval": _have_tasks(models), "groups": has_groups}
        if not is_auto(kinds):
            layout["kinds"] = kinds
        tables.append(table(models_by_name, keys, **layout))
    if len(models) == 1:
        [report] = models.values()
        interval = {"interval": True, "level": options["level"], "unit": options["unit"]}
        tables.append(table_of_report(report, kinds=kinds, **interval, all_intervals=False))
    return tables


def _compare_models(
    models: Mapping[str, Report], keys: list[str] | None, options: Mapping[str, Any]
) -> Any:
    """Compare several models by the keys that allow it, the best by the first of them first.

    None: there is nothing to compare.
    """
    first = next(iter(models.values()))
    compared = [key for key in keys or ["mrr"] if not why_incomparable(first.read_key(key))]
    if len(models) == 1 or not compared or not _have_tasks(models):
        return None
    has_least_first = not first.read_key(compared[0]).increasing
    values = {name: report[compared[0]] for name, report in models.items()}
    order = sorted(models, key=values.__getitem__, reverse=not has_least_first)
    return compare({name: models[name] for name in order}, metric=compared, **options)


def _comparison_table(comparison: Any) -> Any:
    """Make the table of a comparison; of two models the headings are their names."""
    made = comparison.table()
    names = {(pair.name_a, pair.name_b) for pair in comparison}
    changes: dict[str, dict[str, Any]] = {}
    for name in ("p_value", "p_holm"):
        p_values = [getattr(pair, name) for pair in comparison]
        changes[name] = {"shown": [None if p is None else number(p, 2) for p in p_values]}
    if len(names) == 1:
        [(one, other)] = names
        changes |= {"value_a": {"heading": one}, "value_b": {"heading": other}}
        changes |= {"name_a": {"hidden": True}, "name_b": {"hidden": True}}
        changes["metric"] = {"hidden": False, "shown": [pair.title for pair in comparison]}
    made.columns = tuple(replace(x, **changes.get(x.name, {})) for x in made.columns)
    return made


def _drop_repeated_notes(results: Iterable[Any]) -> list[str]:
    """Leave out the notes that stand below an earlier table; return all others."""
    all_notes: list[str] = []
    for made in results:
        notes = [sentence(note) if note.startswith(FEW) else note for note in made.notes]
        made.notes = tuple(note for note in notes if note not in all_notes)
        all_notes += made.notes
    return all_notes


def _can_show_groups(
    models: Mapping[str, Report], keys: list[str] | None, unit: LabelsLike | None
) -> bool:
    """Whether several models have the same few groups, and units that groups have, too."""
    has_unnamed_units = unit is not None and not isinstance(unit, str)
    first, *others = models.values()
    if not others or has_unnamed_units or any(report.by is None for report in models.values()):
        return False
    has_macro = any(first.read_key(key).macro for key in keys or ())
    tasks = first.group_tasks(first.sides[0])
    are_same = all(report.group_tasks(first.sides[0]) == tasks for report in others)
    return are_same and len(tasks) <= GROUPS_SHOWN and not has_macro


def _tables(results: Iterable[Any]) -> str:
    return "".join(f'<div class="scroll">\n{result._repr_html_()}\n</div>\n' for result in results)


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{html_text(line)}</p>\n" for line in lines)


def _json(report: Report) -> str:
    if report.by is None or len(report.group_tasks(report.sides[0])) <= MOST_GROUPS:
        return report.to_json(indent=None)
    keys = _usual_keys(report)
    keys += [f"{MACRO}.{key}" for key in keys]
    return report.to_json(keys, indent=None)


def _usual_keys(report: Report) -> list[str]:
    metrics: Sequence[str] = METRICS if report.model.answers is None else report.grammar.few
    side = report.sides[0]
    return [metric if side == ALL_SIDES else f"{side}.{metric}" for metric in metrics]


def _have_tasks(models: Mapping[str, Report]) -> bool:
    return all(len(report.ranks) for report in models.values())


def _plots(models: Mapping[str, Any], keys: list[str] | None) -> str:
    first = next(iter(models.values()))
    is_one = len(models) == 1
    drawn: Any = first if is_one else models
    pictures = []
    hits, ranks = partial(hits_curve, drawn), partial(rank_distribution, drawn)
    has_places = all(model.protocol.lists != HITS for model in models.values())
    is_drawn = _have_tasks(models) and has_places  # Hits of an index have no places.
    if is_drawn and first.model.answers is not None:
        pictures.append(picture("hits", "Queries with a right answer among the first k", hits))
    elif is_drawn:
        pictures.append(picture("hits", "Tasks whose rank is at most k", hits))
        pictures.append(picture("ranks", "How many tasks have which rank", ranks))
    if is_one and first.by is not None:
        shown = keys or _usual_keys(first)
        key = replace(first.read_key(shown[0]), macro=False)
        draw = partial(groups, first, str(key))
        pictures.append(picture("groups", f"{key.title} by {first.by}", draw))
    return "".join(pictures)


def picture(name: str, caption: str, draw: Callable[[], Any]) -> str:
    """Draw a plot and return a figure of HTML, whose ids are made from its name."""
    style = import_extra("matplotlib.style", "an HTML page", "plot")
    settings = SETTINGS | {"svg.hashsalt": name}
    text = io.StringIO()
    with style.context(["default", settings]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        figure = draw().figure
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = _TAG.sub(_for_page, _LEFT_OUT.sub("", svg[svg.index("<svg") :]))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{html_text(caption)}"', 1).strip()
    return f"<figure>\n<figcaption>{html_text(caption)}</figcaption>\n{svg}\n</figure>\n"


def _for_page(tag: re.Match[str]) -> str:
    """Return a tag without the id of a group, which other pictures have too, and in colours."""
    bare = re.sub('^<g id="[^"]*"', "<g", tag[0])
    return _COLOUR.sub(lambda colour: THEME.get(colour[0], colour[0]), bare)


def _protocol_table(models: Mapping[str, Report]) -> str:
    """Return a table of the protocol: one column if all models have the same."""
    columns = {name or "setting": _facts(report) for name, report in models.items()}
    first = next(iter(columns.values()))
    if all(facts == first for facts in columns.values()):
        columns = {"setting": first}
    names = [name for name in FACTS.values() if any(facts[name] for facts in columns.values())]
    cells = {"protocol": names}
    for column, facts in columns.items():
        cells[column] = [facts[name] for name in names]
    return _tables([Layout(names=len(cells)).make(cells)])


def _facts(report: Report) -> dict[str, str]:
    fields = vars(report.protocol) | {"fingerprint": report.protocol.fingerprint}
    facts = {}
    for field, name in FACTS.items():
        value = fields[field]
        value = WORDS.get((field, value), value)
        if isinstance(value, tuple):
            value = ", ".join(value)
        facts[name] = value or ""
    return facts


def _reproduce(models: Mapping[str, Report], comparison: Any, command: str) -> str:
    """Link to JSON of a single report, or of each model and the comparison; name the command."""
    if len(models) == 1:
        [report] = models.values()
        numbers = _json(report)
    else:
        content = {"models": {name: json.loads(_json(each)) for name, each in models.items()}}
        if comparison is not None:
            content["comparisons"] = json.loads(comparison.to_json())
        numbers = json.dumps(content, allow_nan=False)
    data = base64.b64encode(numbers.encode()).decode()
    link = f'<a download="numbers.json" href="data:application/json;base64,{data}">JSON</a>'
    text = f"<p>All numbers in all their digits, as {link}.</p>\n"
    if command:
        text = f"<p>This page was made by</p>\n<pre>{html_text(command)}</pre>\n{text}"
    return text
