"""The keys that reports list, and the columns of tables in which their values stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from .. import tables
from ..inputs.checks import flag, unique_keys
from ..metrics.keys import (
    ALL_SIDES,
    NO_ADJUSTMENT,
    RANK_KEYS,
    Grammar,
    Key,
    increasing,
    parse,
    table_name,
)

SHORT_METRICS = ("mrr", "hits@10", "amri")  # A repr shows these.
ALL_METRICS = "all"

AUTO = "auto"  # Kinds have rows where they print otherwise than the default kind.
ALL_KINDS = "all"  # It means all kinds but the random one.

# What a line of a table is of, but for the kind of rank. "average" tells the groups from all tasks,
# and lines of several models have the number of their "part", in which they are comparable.
LABELS = ("average", "group", "side", "part", "model")

Lines = Mapping[str, list[Any]]  # The cells of the lines of a table by the name of their column.
Names = str | Iterable[str] | None
# What a report counts, as the heading of its column.
COUNTED = {"task": "tasks", "query": "queries"}
BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}
# Papers print these metrics as percentages, too.
SHARES = ("hits", "sampled_hits", "success", "recall", "precision")


def compose_key(side: str, kind: str, metric: str, grammar: Grammar = RANK_KEYS) -> str:
    """Join side, kind and metric to a key, without defaults.

    Examples
    --------
    >>> compose_key("tail", "realistic", "amri")
    'tail.amri'
    """
    words = [word for word in (side, kind) if word not in (ALL_SIDES, grammar.default_kind)]
    words.append(metric)
    return ".".join(words)


def choose_metrics(metrics: Names, few: Iterable[str], every: Sequence[str]) -> list[str]:
    """List the metrics of a table: those that were asked for, "all", or a few if they are there.

    Examples
    --------
    >>> choose_metrics(None, ["mr"], ["mr", "mrr"]), choose_metrics("mrr", ["mr"], ["mr", "mrr"])
    (['mr'], ['mrr'])
    """
    if metrics is None and set(few) <= set(every):
        return list(few)
    if metrics is None or (isinstance(metrics, str) and metrics == ALL_METRICS):
        return list(every)
    return unique_keys(metrics)


def is_auto(kinds: Names) -> bool:
    """Whether rows of kinds are to appear where they differ in what is printed.

    Examples
    --------
    >>> is_auto("auto"), is_auto(None), is_auto(["optimistic"])
    (True, True, False)
    """
    return kinds is None or (isinstance(kinds, str) and kinds == AUTO)


def metric_column(
    name: str,
    key: Key | None = None,
    *,
    percent: bool = False,
    is_ranked: bool = False,
) -> tables.Column:
    """Return the column of a key: three decimals of a share, one of a mean rank, two of a z.

    Where models are ranked, the best of its numbers are marked.

    Examples
    --------
    >>> metric_column("mr").decimals, metric_column("mrr").decimals, metric_column("zmrr").decimals
    (1, 3, 2)
    >>> metric_column("hits@10", percent=True).unit, metric_column("mr", is_ranked=True).better
    ('%', 'lower')
    """
    key = parse(name) if key is None else key
    better = BETTER[increasing(key)] if is_ranked else None
    column = tables.Column(name, table_name(key), key.decimals, better=better)
    is_share = key.adjustment == NO_ADJUSTMENT and key.metric in SHARES
    if percent and is_share:
        return dataclasses.replace(column, decimals=1, unit="%")
    return column


def rows_that_differ(
    lines: Lines, columns: Iterable[tables.Column], plain_kind: str, digits: int, most: int
) -> list[int]:
    """List those of the first lines that people read: of the plain kind, or printed otherwise.

    A line of another kind is left out if all of its values print like those of the plain kind with
    the same labels.
    """
    names = [name for name in LABELS if name in lines]
    labels = list(zip(*(lines[name][:most] for name in names), strict=True))
    kinds = lines["kind"][:most]
    plain_lines = {labels[i]: i for i, kind in enumerate(kinds) if kind == plain_kind}
    shown_columns = [column for column in columns if not column.hidden]
    rows = []
    for i, label in enumerate(labels):
        j = plain_lines.get(label, i)
        differs = i == j
        for column in shown_columns:
            if not differs:
                text, plain_text = column.texts(lines[column.name], (i, j), digits)
                differs = text != plain_text
        if differs:
            rows.append(i)
    return rows


def label_column(
    name: str, labels: Iterable[str], heading: str = "", plain: str | None = None
) -> tables.Column:
    """Return a column of labels, for programs alone where people have nothing to tell apart.

    These are labels that are alike, or all `plain`, where a label goes without saying.
    """
    different = set(labels)
    is_hidden = len(different) < 2 if plain is None else different <= {plain}
    return tables.Column(name, heading, hidden=is_hidden)


def metric_columns(
    keys: Mapping[str, Key], lines: Lines, *, percent: bool, is_ranked: bool = False
) -> list[tables.Column]:
    """Return the column of each key, and those of its bounds and deviation, if there are any.

    People read the bounds behind the values or, where there are none, the deviations.
    """
    flag("percent", percent)
    columns = []
    for name, key in keys.items():
        column = metric_column(name, key, percent=percent, is_ranked=is_ranked)
        parts = [f"{name} {part}" for part in ("low", "high", "std") if f"{name} {part}" in lines]
        if parts:
            ends = parts[:2] if len(parts) > 1 else parts
            behind = list(zip(*(lines[end] for end in ends), strict=True))
            column = dataclasses.replace(column, behind=behind)
        columns.append(column)
        columns += [tables.Column(part, hidden=True) for part in parts]
    return columns


def sentence(text: str) -> str:
    """Write a clause as a sentence.

    Examples
    --------
    >>> sentence("ties move mr")
    'Ties move mr.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def label_text(label: Hashable) -> str:
    """Write the label of a group, the parts of a tuple with blanks between them.

    Examples
    --------
    >>> label_text((3, "1-N")), label_text(7)
    ('3 1-N', '7')
    """
    if isinstance(label, tuple):
        return " ".join(map(str, label))
    return str(label)
