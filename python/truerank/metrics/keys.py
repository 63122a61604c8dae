"""The keys of reports and their one parser: `[macro.][side.][kind.][adjustment.]metric[@k][:p]`.

A grammar lists the words of a key before its metric, and knows the metrics. That of ranks is here,
that of queries with several right answers in `truerank.retrieval`. Semantic versioning covers keys:
one that a version reads means the same in later ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

from ..inputs.naming import public
from ..inputs.words import near_words
from .kinds import DEFAULT_KIND, KINDS, UnknownKeyError
from .metric_table import ADJUSTMENTS, METRICS, Row
from .ties import Parameter

MACRO = "macro"
ALL_SIDES = "both"
RELATION_SIDE = "relation"  # never pooled with entities: relations have few candidates
NO_ADJUSTMENT = "none"
ADJUSTED = tuple(name for name in ADJUSTMENTS if name != NO_ADJUSTMENT)
ARROWS = {True: " \u2191", False: " \u2193", None: ""}  # which values of a metric are better

_PARTS = re.compile(r"([^@:]*)([@:]?)(.*)", re.DOTALL)  # words, the mark and the parameter
_REAL = re.compile(r"[+-]?(inf(inity)?|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE)


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
    def grammar(self) -> Grammar:
        """The grammar that the key is of."""
        return RANK_KEYS

    @property
    def row(self) -> Any:
        """The row of the metric in the grammar's table."""
        return self.grammar.metrics[self.metric]

    @property
    def alone(self) -> Self:
        """The key of the metric and its parameter alone."""
        return self._replace(**{each.name: each.default for each in self.grammar.fields})

    @property
    def of_tasks(self) -> Self:
        """What depends on the tasks, not on their ranks: the metric, its parameter and the side."""
        return self.alone._replace(side=self.side)

    @property
    def title(self) -> str:
        """The name that tables print, in the words of the literature; a key, too.

        Examples
        --------
        >>> parse("hits@10").title, parse("tail.index.mr").title, parse("index.gmr").title
        ('Hits@10', 'tail.AMRI', 'index.gmr')
        """
        own: str = self.row.title if self.adjustment == NO_ADJUSTMENT else ""
        title = self.grammar.titles.get((self.adjustment, self.metric), own)
        return self.grammar.write(self, title)

    def __str__(self) -> str:
        return self.grammar.write(self)


class Field(NamedTuple):
    """A word of keys before the metric: the attribute of `Key` that has it, and what it may be.

    Without words it is any that means nothing else. An attribute that is False by default is True
    where the word is there.
    """

    name: str
    default: Any
    words: tuple[str, ...] = ()


K = TypeVar("K", bound=Key)


@dataclass(frozen=True)
class Grammar:
    """What the keys of a kind of report are made of.

    Attributes
    ----------
    metrics : mapping of str to Row
    fields : tuple of Field
        The words before the metric, in order.
    metric_form : str
        What follows them, as messages show it.
    titles : dict
        The titles of adjusted metrics, by adjustment and metric.
    synonyms : dict of str to (adjustment, metric)
        Other names, in lower case and with "_", those of titles among them.
    refused : dict of str to str
        Why names of other libraries are no names here.
    separators : tuple of str
        What is written for "@" before digits.
    """

    metrics: Mapping[str, Row]
    fields: tuple[Field, ...]
    metric_form: str
    titles: Mapping[tuple[str, str], str] = field(default_factory=dict)
    synonyms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    separators: tuple[str, ...] = ("_at_",)

    def find(self, name: str) -> tuple[str, str] | None:
        """Return the adjustment and the metric of a name in lower case; None if it is none."""
        return (NO_ADJUSTMENT, name) if name in self.metrics else self.synonyms.get(name)

    def is_taken(self, word: str) -> bool:
        """Whether a word of keys means something."""
        return bool(self.find(word)) or any(word in each.words for each in self.fields)

    def write(self, key: Key, title: str = "") -> str:
        """Join the words that are no defaults; a title stands for the adjustment and the metric."""
        words = []
        for name, default, _ in self.fields:
            word = getattr(key, name)
            if word != default and not (title and name == "adjustment"):
                words.append(name if word is True else word)
        metric, mark = title or key.metric, self.metrics[key.metric].parameter.strip("[]")[:1]
        if mark == ":" or key.parameter:
            metric += mark + str(key.parameter).removesuffix(".0")
        return ".".join([*words, metric])

    def parse(self, key: object, make: type[K]) -> K:
        """Read a key; see `parse`."""
        if not isinstance(key, str):
            raise UnknownKeyError(f"key: expected a str, got {type(key).__name__}")
        before, mark, text = _PARTS.fullmatch(key).groups()  # type: ignore[union-attr]
        *words, last = before.split(".")
        name = last.lower().replace("-", "_")
        for separator in () if mark or self.find(name) else self.separators:
            stem, found, digits = name.rpartition(separator)
            if found and self.find(stem) and digits.isdecimal():
                name, mark, text = stem, "@", digits
        if (meaning := self.find(name)) is None:
            fail(key, f"no metric {quote(last + mark + text)}; {self._suggest(name, mark, text)}")
        adjustment, metric = meaning
        name = metric if adjustment == NO_ADJUSTMENT else name
        parameter = self._parameter(key, name, self.metrics[metric].parameter, mark, text)
        given: dict[str, Any] = {}
        for each in self.fields:
            fits = bool(words) and (
                words[0] in each.words if each.words else not self.is_taken(words[0] or MACRO)
            )
            if each.name == "adjustment" and adjustment != NO_ADJUSTMENT:
                if fits:
                    fail(key, f"{last} is an adjusted metric already")
                given[each.name] = adjustment
            else:
                word = words.pop(0) if fits else each.default
                given[each.name] = word if each.default else bool(word)
        if words:
            form = "".join(f"[{each.name}.]" for each in self.fields) + self.metric_form
            fail(key, f"expected the form {form}; {quote(words[0])} does not fit there")
        return make(metric, parameter, **given)

    def _parameter(self, key: str, name: str, takes: str, mark: str, text: str) -> Parameter:
        if mark and mark not in takes:
            what = "'@k'" if mark == "@" else "':' parameter"
            where = f"; {self.refused[name + mark]}" if name + mark in self.refused else ""
            fail(key, f"{name} takes no {what}{where}")
        if not mark and takes[:1] in ("", "["):
            return 0
        if "@" in takes:
            if text.isascii() and text.isdecimal() and len(text) < 1000 and int(text):
                return int(text)
            expected = "k must be a whole number >= 1"
        else:
            if _REAL.fullmatch(text):
                return float(text) + 0.0  # no minus zero
            expected = "p must be a real number, inf or -inf"
        shown = quote(text)[1:-1] if len(text) < 1000 else f"one of {len(text):,} characters"
        fail(key, f"{name}{takes.strip('[]')}: {expected}, got {shown or 'none'}")

    def _suggest(self, name: str, mark: str, text: str) -> str:
        """Name the metrics that were meant by an unknown name, or say why it is none."""
        if name in self.refused:
            return self.refused[name]
        stem = name[:100].rstrip("0123456789")
        digits = text if mark == "@" else name[len(stem) :]
        forms: dict[str, str] = {}  # of each name, what is shown for it
        for known in (*self.metrics, *self.synonyms):
            adjustment, metric = self.find(known) or ("", "")
            row, short = self.metrics[metric], self.titles.get((adjustment, metric), "").lower()
            needed = "" if row.parameter.startswith("[") else row.parameter
            word = metric if adjustment == NO_ADJUSTMENT else short or f"{adjustment}.{metric}"
            forms[known] = word + needed
            forms[row.description.lower().replace(" ", "_")] = metric + needed
        near = [forms[word] for word in near_words(stem.strip("_"), forms)]
        if not near:
            return f"known are {', '.join(dict.fromkeys(forms.values()))}"
        if digits.isdecimal():
            near = [form.replace("@k", f"@{digits}") for form in near]
        return f"did you mean {' or '.join(dict.fromkeys(near))}?"


# The literature's names of adjusted metrics, as tables print them.
TITLES = {
    ("ratio", "mr"): "AMR",
    ("index", "mr"): "AMRI",
    ("index", "mrr"): "AMRR",
    ("index", "hits"): "AH",
    ("z", "mr"): "zMR",
    ("z", "mrr"): "zMRR",
    ("z", "hits"): "zH",
}
# The names of PyKEEN's classes, in lower case and with underscores; "_at_k" stands for "@k".
PYKEEN_NAMES = {
    "arithmetic_mean_rank": ("none", "mr"),
    "geometric_mean_rank": ("none", "gmr"),
    "harmonic_mean_rank": ("none", "hmr"),
    "median_rank": ("none", "median"),
    "inverse_arithmetic_mean_rank": ("none", "imr"),
    "inverse_geometric_mean_rank": ("none", "igmr"),
    "inverse_harmonic_mean_rank": ("none", "mrr"),
    "inverse_median_rank": ("none", "imedian"),
    "hits_at_k": ("none", "hits"),
    "standard_deviation": ("none", "std"),
    "variance": ("none", "variance"),
    "median_absolute_deviation": ("none", "mad"),
    "count": ("none", "count"),
    "adjusted_arithmetic_mean_rank": ("ratio", "mr"),
    "adjusted_arithmetic_mean_rank_index": ("index", "mr"),
    "adjusted_geometric_mean_rank_index": ("index", "gmr"),
    "adjusted_inverse_harmonic_mean_rank": ("index", "mrr"),
    "adjusted_hits_at_k": ("index", "hits"),
    "z_arithmetic_mean_rank": ("z", "mr"),
    "z_geometric_mean_rank": ("z", "gmr"),
    "z_inverse_harmonic_mean_rank": ("z", "mrr"),
    "z_hits_at_k": ("z", "hits"),
}
# PyKEEN negates these, so that more is better: one name would have two signs, and is refused.
NEGATED = {
    "z_arithmetic_mean_rank": "z.mr",
    "z_geometric_mean_rank": "z.gmr",
    "zamr": "z.mr",
    "zgmr": "z.gmr",
}
# Metrics of several right answers, which reports of that kind have alone.
ANSWER_NAMES = ("map", "r_precision", "ndcg", "dcg", "recall", "precision", "success")

RANK_KEYS = Grammar(
    METRICS,
    fields=(
        Field("macro", default=False, words=(MACRO,)),
        Field("side", default=ALL_SIDES),
        Field("kind", default=DEFAULT_KIND, words=(*KINDS,)),
        Field("adjustment", default=NO_ADJUSTMENT, words=(*ADJUSTMENTS,)),
    ),
    metric_form="metric[@k][:p]",
    titles=TITLES,
    synonyms={title.lower(): meaning for meaning, title in TITLES.items()}
    | {
        name.removesuffix("_at_k"): meaning
        for name, meaning in PYKEEN_NAMES.items()
        if name not in NEGATED
    },
    refused={
        name: f"PyKEEN, which calls it so, negates it: take {key!r}, which is below 0 where ranks "
        "are better than chance"
        for name, key in NEGATED.items()
    }
    | {name: f"reports of truerank.retrieval have {name}" for name in ANSWER_NAMES}
    | {"mrr@": "reports of truerank.retrieval have mrr@k"},
)


@public("truerank.metrics")
def parse(key: str) -> Key:
    """Read a key.

    Parameters
    ----------
    key : str
        Such as "mrr", "hits@10", "tail.optimistic.index.mr", "amri", "power_mean:2" or "macro.mrr".
        Any word may be a side: the report knows which sides there are. The metric is read in any
        case and under PyKEEN's names, too: "MRR", "hits_at_10", "inverse_harmonic_mean_rank".

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
    >>> str(parse("tail.AH@10")), str(parse("adjusted_arithmetic_mean_rank_index"))
    ('tail.index.hits@10', 'index.mr')
    """
    found = RANK_KEYS.parse(key, Key)
    if found.adjustment != NO_ADJUSTMENT and found.row.chance is None:
        fail(key, f"{found.metric} has no chance model, so no adjustment {found.adjustment!r}")
    if found.macro and found.adjustment == "z":
        fail(
            key,
            "z grows with the number of tasks, so a mean of it over groups of unlike sizes says "
            "nothing; ask for 'macro.index' or for z over all tasks",
        )
    return found


def parse_alone(metric: str) -> Key:
    """Read a key that is a metric and its parameter alone.

    Examples
    --------
    >>> parse_alone("MRR").metric
    'mrr'
    """
    key = parse(metric)
    if key != key.alone:
        fail(metric, "expected metric[@k][:p] alone, without a side, a kind and an adjustment")
    return key


def increasing(key: str | Key) -> bool | None:
    """Whether more is better for a key; None where neither more nor less is.

    Examples
    --------
    >>> increasing("mr"), increasing("amri"), increasing("ratio.mrr"), increasing("std")
    (False, True, True, None)
    """
    parsed = key if isinstance(key, Key) else parse(key)
    better: bool | None = parsed.row.increasing
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
    return repr(word if len(word) < 200 else f"{word[:97]}...{word[-97:]}")


def fail(key: str, why: str) -> NoReturn:
    """Raise the error of a key."""
    raise UnknownKeyError(f"{quote(key)}: {why}")
