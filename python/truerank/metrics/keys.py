"""The keys of reports and their one parser: `[macro.][side.][kind.][adjustment.]metric[@k][:p]`.

A grammar lists the words of a key before its metric, and knows the metrics. That of ranks is here,
that of queries with several right answers in `truerank.retrieval`. Semantic versioning covers keys:
one that a version reads means the same in later ones.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TypeVar

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.naming import public
from ..inputs.words import near_words, suggest
from .kinds import DEFAULT_KIND, KINDS
from .metric_table import ADJUSTMENTS, METRICS, Row
from .ties import Parameter

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..ranks.container import Ranks
    from ..ranks.labels import Labels

MACRO = "macro"
ALL_SIDES = "both"
RELATION_SIDE = "relation"  # never pooled with entities: relations have few candidates
NO_ADJUSTMENT = "none"
ADJUSTED = tuple(name for name in ADJUSTMENTS if name != NO_ADJUSTMENT)
ARROWS = {True: " \u2191", False: " \u2193", None: ""}  # which values of a metric are better


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
        return self._replace(macro=False, **self.grammar.defaults())

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

    @property
    def decimals(self) -> int:
        """How many decimals tables show: two of a z, one of a mean rank, three of a share.

        Examples
        --------
        >>> parse("mr").decimals, parse("mrr").decimals, parse("amri").decimals
        (1, 3, 3)
        """
        is_rank = self.adjustment == NO_ADJUSTMENT and not self.row.increasing
        return 1 if is_rank else 2 if self.adjustment == "z" else 3

    def __str__(self) -> str:
        return self.grammar.write(self)


class Field(NamedTuple):
    """A word of keys before the metric: the attribute of `Key` that has it, and what it may be.

    Without words it is any that means nothing else.
    """

    name: str
    default: str
    words: tuple[str, ...] = ()


class ParameterForm(NamedTuple):
    """What follows a mark: its name in messages, what is expected, and how it is read."""

    name: str
    expected: str
    pattern: re.Pattern[str]
    read: Callable[[str], Parameter]


PARAMETERS = {
    "@": ParameterForm(
        "'@k'",
        "k must be a whole number >= 1",
        re.compile(r"(?!.{1000})0*[1-9][0-9]*"),  # Python reads no integers of 4,301 digits
        int,
    ),
    ":": ParameterForm(
        "':' parameter",
        "p must be a real number, inf or -inf",
        re.compile(r"[+-]?(inf(inity)?|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE),
        float,
    ),
}
_PARTS = re.compile(r"((?:[^.@:]*\.)*)([^.@:]*)([@:]?)(.*)", re.DOTALL)

K = TypeVar("K", bound=Key)


@dataclass(frozen=True)
class Grammar:
    """What the keys of a kind of report are made of.

    Attributes
    ----------
    metrics : mapping of str to Row
    fields : tuple of Field
        The words before the metric, in order; "macro" may precede them in every grammar.
    metric_form : str
        What follows them, as messages show it.
    titles : dict
        The titles of adjusted metrics, by adjustment and metric.
    synonyms : dict of str to (adjustment, metric)
        Other names, in lower case and with "_", those of titles among them.
    refused : dict of str to str
        Why names of other libraries are no names here.
    numbered : re.Pattern
        Names that end with a cutoff, without "@": groups are the name and the cutoff.
    """

    metrics: Mapping[str, Row]
    fields: tuple[Field, ...]
    metric_form: str
    titles: Mapping[tuple[str, str], str] = field(default_factory=dict)
    synonyms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    numbered: re.Pattern[str] = re.compile(r"(.+)_at_(\d+)")

    def find(self, name: str) -> tuple[str, str] | None:
        """Return the adjustment and the metric of a name in lower case; None if it is none."""
        return (NO_ADJUSTMENT, name) if name in self.metrics else self.synonyms.get(name)

    def is_taken(self, word: str) -> bool:
        """Whether a word of keys means something; an empty one cannot mean anything else."""
        words = ("", MACRO, *(word for each in self.fields for word in each.words))
        return word in words or self.find(word) is not None

    def defaults(self) -> dict[str, Any]:
        """What the fields are where a key does not say it."""
        return {each.name: each.default for each in self.fields}

    def write(self, key: Key, title: str = "") -> str:
        """Join the words that are no defaults; a title stands for the adjustment and the metric."""
        words = [MACRO] if key.macro else []
        for name, default, _ in self.fields:
            if getattr(key, name) != default and not (title and name == "adjustment"):
                words.append(getattr(key, name))
        metric, mark = title or key.metric, self.metrics[key.metric].mark
        if mark == ":" or key.parameter:
            metric += mark + str(key.parameter).removesuffix(".0")
        return ".".join([*words, metric])

    def parse(self, key: object, make: type[K]) -> K:
        """Read a key; see `parse`."""
        if not isinstance(key, str):
            raise UnknownKeyError("key", "", "a str", type(key).__name__)
        before, written, mark, text = _PARTS.fullmatch(key).groups()  # type: ignore[union-attr]
        name = written.lower().replace("-", "_")
        if not mark and (match := self.numbered.fullmatch(name)) and self.find(match[1]):
            name, mark, text = match[1], "@", match[2]
        if (meaning := self.find(name)) is None:
            why = self.refused.get(name) or self._suggest(name, text)
            fail(key, f"no metric {quote(key.removeprefix(before))}; {why}")
        parameter: Parameter = 0
        if mark or self.metrics[meaning[1]].needed:
            parameter = self._read_parameter(key, *meaning, mark, text)
        fields = self._read_fields(key, before.split(".")[:-1], *meaning)
        return make(meaning[1], parameter, **fields)

    def _read_parameter(
        self, key: str, adjustment: str, metric: str, mark: str, text: str
    ) -> Parameter:
        row, name = self.metrics[metric], self._short_name(adjustment, metric)
        if mark not in row.parameter:
            where = f"; {self.refused[name + mark]}" if name + mark in self.refused else ""
            fail(key, f"{name} takes no {PARAMETERS[mark].name}{where}")
        form = PARAMETERS[row.mark]
        if not form.pattern.fullmatch(text):
            got = quote(text)[1:-1] if len(text) < 1000 else f"one of {len(text):,} characters"
            fail(key, f"{name}{row.parameter.strip('[]')}: {form.expected}, got {got or 'none'}")
        return form.read(text) + 0  # no minus zero

    def _read_fields(
        self, key: str, words: list[str], adjustment: str, metric: str
    ) -> dict[str, Any]:
        """Give each word before the metric to the next field that it fits."""
        macro = words[:1] == [MACRO]
        implied = [] if adjustment == NO_ADJUSTMENT else [adjustment]  # as that of "amri"
        words = words[macro:] + implied
        values = self.defaults()
        for each in self.fields:
            if words and (words[0] in each.words or not (each.words or self.is_taken(words[0]))):
                values[each.name] = words.pop(0)
        if words and words == implied:
            fail(key, f"{self._short_name(adjustment, metric)} is an adjusted metric already")
        if words:
            form = "".join(f"[{name}.]" for name in (MACRO, *values)) + self.metric_form
            fail(key, f"expected the form {form}; {quote(words[0])} does not fit there")
        return {**values, "macro": macro}

    def _suggest(self, name: str, cutoff: str) -> str:
        """Name the metrics that were probably meant by an unknown name, with its cutoff."""
        meanings = {metric: (NO_ADJUSTMENT, metric) for metric in self.metrics} | {**self.synonyms}
        for metric, row in self.metrics.items():
            meanings[row.description.lower().replace(" ", "_")] = NO_ADJUSTMENT, metric
        forms = {
            word: self._short_name(adjustment, metric) + self.metrics[metric].needed
            for word, (adjustment, metric) in meanings.items()
        }
        stem = name.rstrip("0123456789")
        near = [forms[word] for word in near_words(stem.strip("_"), forms)]
        shown = f"did you mean {' or '.join(dict.fromkeys(near))}?"
        if not near:
            shown = f"known are {', '.join(dict.fromkeys(forms.values()))}"
        cutoff = cutoff or name.removeprefix(stem)
        return shown.replace("@k", f"@{cutoff}") if near and cutoff.isdecimal() else shown

    def _short_name(self, adjustment: str, metric: str) -> str:
        """Write an adjusted metric for messages, as "mr", "amri" and "index.gmr"."""
        if adjustment == NO_ADJUSTMENT:
            return metric
        return self.titles.get((adjustment, metric), f"{adjustment}.{metric}").lower()


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
# Metrics of several right answers, which reports of that kind have alone: those of the usual names.
ANSWER_NAMES = ("map", "r_precision", "ndcg", "dcg", "recall", "precision", "success", "f1", "auc")

RANK_KEYS = Grammar(
    METRICS,
    fields=(
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
    if isinstance(key, str):
        return _read_key(key)
    return RANK_KEYS.parse(key, Key)  # type: ignore[unreachable]  # a KeyError


@lru_cache(4096)
def _read_key(key: str) -> Key:
    parsed = RANK_KEYS.parse(key, Key)
    if parsed.adjustment != NO_ADJUSTMENT and parsed.row.chance is None:
        fail(key, f"{parsed.metric} has no chance model, so no adjustment {parsed.adjustment!r}")
    if parsed.macro and parsed.adjustment == "z":
        why = "z grows with the number of tasks: a mean of it over unlike groups says nothing; "
        fail(key, why + "ask for 'macro.index' or for z over all tasks")
    return parsed


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
    raise UnknownKeyError(quote(key), why)


# -- sides -----------------------------------------------------------------------------------------


class Sides(NamedTuple):
    """The sides of a report; "both", which pools all but the relations, comes first.

    Attributes
    ----------
    counts : dict of str to int
        The number of tasks of each side; without "both" where no task may be pooled.
    labels : Labels, optional
        The side of each task.
    """

    counts: dict[str, int]
    labels: Labels | None = None

    @property
    def present(self) -> tuple[str, ...]:
        """The sides that have tasks; only "both" where there are no tasks."""
        return tuple(side for side, n in self.counts.items() if n) or (ALL_SIDES,)

    @property
    def total(self) -> int:
        """The number of all tasks, pooled or not."""
        pooled = self.counts.get(ALL_SIDES, 0)
        return sum(n for side, n in self.counts.items() if side != ALL_SIDES) or pooled

    def check(self, side: str, key: str) -> None:
        """Raise a KeyError for an unknown side."""
        if not isinstance(side, str):
            raise UnknownKeyError("side", "", "a str", type(side).__name__)
        if side in self.counts:
            return
        if side == ALL_SIDES:
            own = f"which is read only under its own name, as in '{RELATION_SIDE}.mrr'"
            fail(key, f"all tasks are of the side {RELATION_SIDE!r}, {own}")
        words = (*self.counts, *KINDS, *ADJUSTED)
        have = f"these ranks, which have {', '.join(self.counts)}"
        fail(key, f"no side {quote(side)} in {have}; {suggest(side, words)}")

    def mask(self, side: str) -> npt.NDArray[np.bool_] | None:
        """A mask of the tasks of a side; None if all belong to it."""
        if self.labels is None or self.labels.vocabulary is None:
            return None
        words, codes = self.labels.vocabulary, self.labels.codes
        if side != ALL_SIDES:
            return np.equal(codes, words.index(side))
        return np.not_equal(codes, words.index(RELATION_SIDE)) if RELATION_SIDE in words else None


def is_side_name(name: str) -> bool:
    """Whether a key can tell the name of a side from its other words.

    Examples
    --------
    >>> is_side_name("head"), is_side_name("mrr")
    (True, False)
    """
    return not ({*".:@"} & {*name} or name == ALL_SIDES or RANK_KEYS.is_taken(name))


def sides_of(ranks: Ranks) -> Sides:
    """Read the sides of ranks.

    Raises
    ------
    TypeError
        If the sides are integer ids instead of names.
    ValueError
        If the name of a side cannot be told from the other words of a key.

    Examples
    --------
    >>> from truerank import Ranks
    >>> sides_of(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).counts
    {'both': 2, 'head': 1, 'tail': 1}
    """
    labels = ranks.side
    if labels is None or (labels.vocabulary is None and not len(ranks)):
        return Sides({ALL_SIDES: len(ranks)})
    counts = {str(name): n for name, n in labels.counts().items()}
    if labels.vocabulary is None:
        expected = "names of sides, as 'head' and 'tail'"
        raise InputTypeError("ranks", expected=expected, got="integer ids")
    for name in itertools.filterfalse(is_side_name, counts):
        raise InputValueError(
            "ranks",
            f"a key cannot tell the side {name!r} from its other words; name it otherwise with "
            f"ranks.with_labels(side=...)",
        )
    pooled = len(ranks) - counts.get(RELATION_SIDE, 0)
    return Sides(counts if len(ranks) and not pooled else {ALL_SIDES: pooled, **counts}, labels)
