"""The keys of a report: `[macro.][side.][kind.][adjustment.]metric[@k][:p]`.

Semantic versioning covers the keys: a key that one version reads means the same in later ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple, NoReturn

from ..inputs.naming import public
from .adjustment_table import ADJUSTMENTS
from .aliases import ADJUSTED_TITLES, ALIASES, SYNONYMS, read_name, suggest_metric
from .kinds import DEFAULT_KIND, KINDS, UnknownKeyError
from .metric_table import METRICS
from .ties import Parameter

ALL_SIDES = "both"
RELATION_SIDE = "relation"  # never pooled with entities: relations have few candidates
NO_ADJUSTMENT = "none"
ADJUSTED = tuple(name for name in ADJUSTMENTS if name != NO_ADJUSTMENT)

MACRO = "macro"

# What follows the title of a metric of which more, or less, is better.
ARROWS = {True: " \u2191", False: " \u2193", None: ""}
TITLES = {(NO_ADJUSTMENT, row.name): row.title for row in METRICS.values()} | ADJUSTED_TITLES

_SHAPE = "[macro.][side.][kind.][adjustment.]metric[@k][:p]"


@public("truerank.metrics")
class Key(NamedTuple):
    """A parsed key; `str(key)` is its canonical form, without defaults and aliases.

    Attributes
    ----------
    metric : str
    parameter : int or float
        The cutoff k of hits@k or the power p of power_mean:p; 0 for other metrics.
    adjustment, kind, side : str
    macro : bool
        Whether the value is the mean over groups of the values within them.

    Examples
    --------
    >>> str(parse("both.realistic.amri"))
    'index.mr'
    """

    metric: str
    parameter: Parameter = 0
    adjustment: str = NO_ADJUSTMENT
    kind: str = DEFAULT_KIND
    side: str = ALL_SIDES
    macro: bool = False

    @property
    def alone(self) -> Key:
        """The key of the metric and its parameter alone."""
        return Key(self.metric, self.parameter)

    @property
    def title(self) -> str:
        """The name that tables print, in the words of the literature; a key, too.

        Examples
        --------
        >>> parse("hits@10").title, parse("tail.index.mr").title, parse("index.gmr").title
        ('Hits@10', 'tail.AMRI', 'index.gmr')
        """
        title = TITLES.get((self.adjustment, self.metric), "")
        return self._replace(adjustment=NO_ADJUSTMENT)._written(title) if title else str(self)

    def __str__(self) -> str:
        return self._written(self.metric)

    def _written(self, metric: str) -> str:
        """Join the words that are no defaults, with a name of the metric."""
        words = [
            word
            for word, default in (
                (MACRO if self.macro else "", ""),
                (self.side, ALL_SIDES),
                (self.kind, DEFAULT_KIND),
                (self.adjustment, NO_ADJUSTMENT),
            )
            if word != default
        ]
        mark = METRICS[self.metric].parameter
        written = str(self.parameter).removesuffix(".0")
        return ".".join([*words, f"{metric}{mark}{written}" if mark else metric])


@public("truerank.metrics")
def parse(key: str) -> Key:
    """Read a key.

    Parameters
    ----------
    key : str
        Such as "mrr", "hits@10", "tail.optimistic.index.mr", "amri", "power_mean:2" or "macro.mrr".
        Any word may be a side: the report knows which sides there are. The metric is read in any
        case and under its other names, too: "MRR", "H@10", "hits_at_10", "mean_reciprocal_rank",
        and those of PyKEEN.

    Returns
    -------
    Key

    Raises
    ------
    KeyError
        For an unknown key (the message lists the most similar names), for an adjustment of a metric
        that has no chance model, and for a macro average of z.

    Examples
    --------
    >>> parse("tail.hits@10")
    Key(metric='hits', parameter=10, adjustment='none', kind='realistic', side='tail', macro=False)
    >>> str(parse("tail.H@10")), str(parse("adjusted_arithmetic_mean_rank_index"))
    ('tail.hits@10', 'index.mr')
    """
    if not isinstance(key, str):
        raise UnknownKeyError(f"key: expected a str, got {type(key).__name__}")
    before_p, colon, power = key.partition(":")
    *words, last = before_p.split(".")
    adjustment, metric, parameter = _parse_metric(key, last, colon + power)
    if words and words[-1] in (*ADJUSTED, NO_ADJUSTMENT):
        if adjustment != NO_ADJUSTMENT:
            _fail(key, f"{last} is an adjusted metric already")
        adjustment = words.pop()
    kind = words.pop() if words and words[-1] in KINDS else DEFAULT_KIND
    macro = bool(words) and words[0] == MACRO
    words = words[macro:]
    side = words.pop() if words else ALL_SIDES
    if words or not side or side in RESERVED:
        _fail(key, f"expected the form {_SHAPE}")
    if adjustment != NO_ADJUSTMENT and METRICS[metric].chance is None:
        _fail(key, f"{metric} has no chance model, so no adjustment {adjustment!r}")
    if macro and adjustment == "z":
        _fail(
            key,
            "z grows with the number of tasks, so a mean of it over groups of unlike sizes says "
            "nothing; ask for 'macro.index' or for z over all tasks",
        )
    return Key(metric, parameter, adjustment, kind, side, macro)


def increasing(key: str | Key) -> bool | None:
    """Whether more is better for a key; None where neither more nor less is.

    Examples
    --------
    >>> increasing("mr"), increasing("amri"), increasing("ratio.mrr"), increasing("std")
    (False, True, True, None)
    """
    parsed = key if isinstance(key, Key) else parse(key)
    better = METRICS[parsed.metric].increasing
    return True if parsed.adjustment == "index" and better is not None else better


def table_name(key: str | Key) -> str:
    """Write what heads the values of a key in a table: its title, and which way is better.

    Examples
    --------
    >>> print(table_name("mrr"), table_name("tail.mr"), table_name("std"), sep=", ")
    MRR ↑, tail.MR ↓, std
    """
    parsed = key if isinstance(key, Key) else parse(key)
    return parsed.title + ARROWS[increasing(parsed)]


def quote(word: str) -> str:
    """Write a word of a key as in Python, and leave out the middle of a very long one."""
    import reprlib

    short = reprlib.Repr()
    short.maxstring = 200
    return short.repr(word)


def _parse_metric(key: str, word: str, power: str) -> tuple[str, str, Parameter]:
    """Read adjustment, metric and parameter from a key's last word and its ":p"."""
    name, at, cutoff = read_name(word)
    adjustment, metric = SYNONYMS.get(name, (NO_ADJUSTMENT, name))
    if metric not in METRICS:
        _fail(key, f"no metric {quote(word)}; {suggest_metric(word, METRIC_FORMS)}")
    mark = METRICS[metric].parameter
    for given, expected, what in ((at, "@", "'@k'"), (power, ":", "':' parameter")):
        if given and mark != expected:
            where = "; reports of truerank.retrieval have mrr@k" if name + given == "mrr@" else ""
            _fail(key, f"{name} takes no {what}{where}")
    if mark == "@":
        if not (cutoff.isascii() and cutoff.isdecimal() and len(cutoff) < 1000 and int(cutoff)):
            _fail(key, f"expected {name}@k with an integer k >= 1, got {quote(word)}")
        return adjustment, metric, int(cutoff)
    return adjustment, metric, _parse_power(key, power[1:]) if mark == ":" else 0


def _parse_power(key: str, text: str) -> float:
    # float() also reads spaces, underscores and the digits of other scripts
    plain = text.isascii() and "_" not in text and text == text.strip()
    try:
        p = float(text) if plain else math.nan
    except ValueError:
        p = math.nan
    if math.isnan(p):
        _fail(key, f"expected power_mean:p with a real number, inf or -inf, got {quote(text)}")
    return p + 0.0  # no minus zero


def _fail(key: str, why: str) -> NoReturn:
    raise UnknownKeyError(f"{quote(key)}: {why}")


def _key_form(name: str, metric: str) -> str:
    return name + {"@": "@k", ":": ":p", "": ""}[METRICS[metric].parameter]


METRIC_FORMS = {name: _key_form(name, name) for name in METRICS} | {
    alias: _key_form(alias, metric) for alias, (_, metric) in ALIASES.items()
}
RESERVED = frozenset({MACRO, *KINDS, *ADJUSTED, NO_ADJUSTMENT, *METRICS, *ALIASES})
