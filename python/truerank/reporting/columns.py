"""The keys that reports list, and the columns of tables in which their values stand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from .. import tables
from ..inputs.checks import flag, unique_keys
from ..metrics.keys import ALL_SIDES, NO_ADJUSTMENT, Key, increasing, parse, table_name
from ..metrics.kinds import DEFAULT_KIND
from ..metrics.metric_table import listed_metrics

DEFAULT_METRICS = (*listed_metrics(), "amr", "amri", "amrr", "ah@10", "zmrr")
DEFAULT_KINDS = ("optimistic", "realistic", "pessimistic")
# Random ranks are left out, because they depend on a draw.
TIE_KINDS = ("optimistic", "realistic", "pessimistic", "expected")

SHORT_METRICS = ("mrr", "hits@10", "amri")  # A repr shows these.
FEW_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")  # Tables show these by default.
ALL_METRICS = "all"

AUTO = "auto"  # Kinds have rows where they print otherwise than the default kind.
ALL_KINDS = "all"  # It means all kinds but the random one.

Names = str | Iterable[str] | None
BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}
# Papers print these metrics as percentages, too.
SHARES = ("hits", "sampled_hits", "success", "recall", "precision")


def compose_key(side: str, kind: str, metric: str) -> str:
    """Join side, kind and metric to a key, without defaults.

    Examples
    --------
    >>> compose_key("tail", "realistic", "amri")
    'tail.amri'
    """
    words = [word for word in (side, kind) if word not in (ALL_SIDES, DEFAULT_KIND)]
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


def column_of(key: Key) -> Key:
    """Return the key of the column that a key is in: without its side, kind and average.

    Examples
    --------
    >>> str(column_of(parse("macro.tail.expected.amri")))
    'index.mr'
    """
    return key._replace(side=ALL_SIDES, kind=DEFAULT_KIND, macro=False)


def key_of_row(key: Key, side: str, kind: str) -> Key:
    """Return the key of a cell: that of its column with the side and the kind of its row.

    Examples
    --------
    >>> str(key_of_row(parse("amri"), "tail", "expected"))
    'tail.expected.index.mr'
    """
    return key._replace(side=side, kind=kind)


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
    if flag("percent", percent) and is_share:
        return column._replace(decimals=1, unit="%")
    return column


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
