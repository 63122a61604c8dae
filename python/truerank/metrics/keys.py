"""The keys of reports and their one parser: `[macro.][side.][kind.][adjustment.]metric[@k][:p]`.

A grammar lists the words of a key before its metric, and knows the metrics: there is one of ranks,
and one of queries with several right answers. Semantic versioning covers keys: one that a version
reads means the same in later ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NoReturn, TypeAlias

from .. import metrics
from ..errors import Option, UnknownKeyError
from ..inputs.rules import suggest
from . import metric_table
from .ties import Parameter

MACRO = "macro"
METRIC_FORM = "metric[@k][:p]"  # What messages show in place of a metric and its parameter.
ALL_SIDES = "both"
# Relations are few candidates, so they are never pooled with entities.
UNPOOLED_SIDE = "relation"
NO_ADJUSTMENT = "none"
ADJUSTED = tuple(name for name in metric_table.ADJUSTMENTS if name != NO_ADJUSTMENT)
# Groups are no words of keys.
GROUPS = Option(
    "by", ..., "has the values of groups", call="report(ranks, by=labels).group_values(key)"
)
# An arrow says which values of a metric are better.
ARROWS = {True: " \u2191", False: " \u2193", None: ""}


@dataclass(frozen=True)
class Key:
    """A parsed key; `str(key)` is its canonical form, without defaults and aliases.

    >>> str(parse("both.realistic.amri"))
    'index.mr'
    """

    metric: str
    # k of hits@k, p of power_mean:p, (k, n) of sampled_hits@k:n; 0 for other metrics.
    parameter: Parameter = 0
    adjustment: str = NO_ADJUSTMENT
    kind: str = metric_table.DEFAULT_KIND
    side: str = ALL_SIDES
    macro: bool = False  # whether it is the mean over groups of the values within them
    grammar: Grammar = field(kw_only=True)
    # The words that name a row as they were written, "expected." of a default kind among them.
    row_words: str = field(default="", compare=False, repr=False, kw_only=True)

    @cached_property
    def row(self) -> metric_table.MetricRow:
        """The row of the metric in the grammar's table."""
        return self.grammar.metrics[self.metric]

    @property
    def alone(self) -> Key:
        """The key of the metric and its parameter alone."""
        defaults: dict[str, Any] = dict(self.grammar.defaults)
        return replace(self, macro=False, **defaults)

    @cached_property
    def column(self) -> Key:
        """The key of the column of a table that it is in: without what names its row.

        >>> str(parse("macro.tail.expected.amri").column)
        'index.mr'
        """
        words: dict[str, Any] = {name: self.grammar.defaults[name] for name in self.grammar.rows}
        return replace(self, macro=False, **words)

    @cached_property
    def title(self) -> str:
        """The name that tables print, in the words of the literature; a key, too.

        >>> parse("hits@10").title, parse("tail.index.mr").title, parse("index.gmr").title
        ('Hits@10', 'tail.AMRI', 'index.gmr')
        """
        title = self.grammar.titles.get((self.adjustment, self.metric), "")
        if self.adjustment == NO_ADJUSTMENT:
            title = self.row.title
        return self._write(title)

    @cached_property
    def increasing(self) -> bool | None:
        """Whether more is better; None where neither more nor less is."""
        more_is_better = self.row.increasing
        if self.adjustment == "index" and more_is_better is not None:  # An index of 1 is perfect.
            return True
        return more_is_better

    @cached_property
    def heading(self) -> str:
        """What heads its values in a table: the title, and an arrow where more or less is better.

        >>> print(*(parse(key).heading for key in ("mrr", "tail.mr", "std")), sep=", ")
        MRR ↑, tail.MR ↓, std
        """
        return self.title + ARROWS[self.increasing]

    @property
    def full_heading(self) -> str:
        """The same with all words that name its row, as they were written.

        >>> print(parse("both.expected.amri").full_heading.rstrip(" \u2191"))
        both.expected.AMRI
        """
        return self.row_words + self.column.heading

    @cached_property
    def decimals(self) -> int:
        """How many decimals tables show: those of the metric, two of a z, three of an index."""
        if self.adjustment == NO_ADJUSTMENT:
            return self.row.decimals
        return 2 if self.adjustment == "z" else 3

    @cached_property
    def text(self) -> str:
        """The canonical form, without defaults and aliases."""
        return self._write("")

    def __str__(self) -> str:
        return self.text

    def _write(self, title: str) -> str:
        """Join the words that are no defaults; a title stands for the adjustment and the metric."""
        words = [MACRO] if self.macro else []
        for name, default in self.grammar.defaults.items():
            word = getattr(self, name)
            if word != default and not (title and name == "adjustment"):
                words.append(word)
        metric = title or self.metric
        parameter = self.parameter
        has_parameter = self.row.mark == ":" or parameter  # 0 is a power, and no cutoff.
        if has_parameter:
            if isinstance(parameter, tuple):
                parameter = ":".join(map(str, parameter))
            metric += self.row.mark + str(parameter).removesuffix(".0")
        words.append(metric)
        return ".".join(words)


_WHOLE = re.compile(r"(?!.{1000})0*[1-9][0-9]*")  # Python reads no integers of 4,301 digits.
_REAL = re.compile(r"[+-]?(inf(inity)?|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE)
_TWO_WHOLE = re.compile(r"(?!.{1000})0*[1-9][0-9]*:0*[1-9][0-9]*")
# What the text of a parameter must be, how messages say it, and what is made of it.
_PARAMETERS: dict[str, tuple[re.Pattern[str], str, Callable[[str], Parameter]]] = {
    "@k": (_WHOLE, "k must be a whole number >= 1", int),
    "@k:n": (
        _TWO_WHOLE,
        "k and n must be whole numbers >= 1",
        lambda text: tuple(map(int, text.split(":"))),
    ),
    # Adding 0 makes a minus zero a plain one.
    ":p": (_REAL, "p must be a real number, inf or -inf", lambda text: float(text) + 0),
}
_PARTS = re.compile(
    r"(?P<words>(?:[^.@:]*\.)*)(?P<name>[^.@:]*)(?P<mark>[@:]?)(?P<parameter>.*)", re.DOTALL
)

# What the name of a metric means, as the adjustment and the metric: ("index", "mr") for "amri".
Meaning: TypeAlias = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Grammar:
    """What the keys of a kind of report are made of."""

    unit: str  # what a report counts: "task" or "query"
    units: str
    metrics: Mapping[str, metric_table.MetricRow]
    # The words before the metric, by the attribute of `Key` that has them, in order: what they are
    # where a key does not say it. "macro" may precede them in every grammar.
    defaults: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]]  # what they may be; any word may be a side
    titles: Mapping[tuple[str, str], str] = field(default_factory=dict)  # of adjusted metrics
    # Other names, in lower case and with "_", those of titles among them: adjustment and metric.
    synonyms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Why names of other libraries, and words of the other grammar, are none here.
    make_refused: Callable[[], Mapping[str, str]] = dict
    # Names that end with a cutoff, without "@": groups are the name and the cutoff.
    numbered: re.Pattern[str] = re.compile(r"(.+)_at_(\d+)")
    listed: tuple[str, ...] = ()  # the metrics that reports list
    few: tuple[str, ...] = ()  # those of tables by default, and all that lists of an index have
    listed_kinds: tuple[str, ...] = ()  # the kinds of which reports list them
    tie_kinds: tuple[str, ...] = ()  # those that say what is made of ties, without a draw
    rows: tuple[str, ...] = ()  # the fields of keys that name rows of tables; others name columns

    @cached_property
    def refused(self) -> Mapping[str, str]:
        """Why a word means nothing, made when an error asks for it: it names the other grammar."""
        return self.make_refused()

    def find(self, name: str) -> Meaning | None:
        """Return the adjustment and the metric of a name in lower case; None if it is none."""
        if name in self.metrics:
            return NO_ADJUSTMENT, name
        return self.synonyms.get(name)

    def is_taken(self, word: str) -> bool:
        """Whether a word of keys means something; an empty one cannot mean anything else."""
        if word in ("", MACRO) or any(word in words for words in self.words.values()):
            return True
        if len(word) == 1:  # "h" is a metric only before a cutoff, so it may be a side.
            return False
        return self.find(word) is not None

    @cached_property
    def default_kind(self) -> str:
        """The kind of keys that do not say it."""
        return self.defaults["kind"]

    @property
    def column_form(self) -> str:
        """What the key of a column of a table looks like, in messages."""
        words = [f"[{name}.]" for name in self.defaults if name not in self.rows]
        return "".join(words) + METRIC_FORM.removesuffix("[:p]")

    def compose(self, side: str, kind: str, metric: str) -> str:
        """Join side, kind and metric to a key, without defaults.

        >>> RANK_KEYS.compose("tail", "realistic", "amri")
        'tail.amri'
        """
        words = [word for word in (side, kind) if word not in (ALL_SIDES, self.default_kind)]
        return ".".join([*words, metric])

    def parse(self, key: str) -> Key:
        """Read a key; see `parse` of this module."""
        parts: Any = _PARTS.fullmatch(key)
        name = parts["name"].lower().replace("-", "_")
        mark = parts["mark"]
        text = parts["parameter"]
        name_and_cutoff = self.numbered.fullmatch(name) if mark != "@" else None
        if name_and_cutoff and self.find(name_and_cutoff[1]):  # as in "hits_at_10"
            name, cutoff = name_and_cutoff.groups()
            text = cutoff + mark + text
            mark = "@"
        meaning = self.find(name)
        if meaning is None:
            others = []
            for synonym, (_, metric) in self.synonyms.items():
                others.append(synonym + self.metrics[metric].needed)
            # As of nERR8@10, and of iprec_at_recall_0.10.
            stems = [word.rstrip("_0123456789") for word in (name, key.lower().partition(".")[0])]
            if any(stem in _METRICS_ELSEWHERE for stem in stems):
                fail(key, f"a metric of other tools; {suggest('', self._names())}")
            why = self.refused.get(name) or suggest(name, self._names(), others)
            fail(key, f"no metric {quote(key.removeprefix(parts['words']))}; {why}")
        _, metric = meaning
        parameter: Parameter = 0
        if mark or self.metrics[metric].needed:
            parameter = self._read_parameter(key, meaning, mark, text)
        fields = self._read_fields(key, parts["words"].split(".")[:-1], meaning)
        words = [word + "." for word in parts["words"].split(".")[:-1] if word not in ADJUSTED]
        return Key(metric, parameter, grammar=self, row_words="".join(words), **fields)

    def _read_parameter(self, key: str, meaning: Meaning, mark: str, text: str) -> Parameter:
        """Read what stands behind the name of a metric and a mark."""
        _, metric = meaning
        name = self._short_name(meaning)
        form = self.metrics[metric].parameter.strip("[]")
        takes_mark = mark in form  # Each form has the empty one, where the parameter is missing.
        if not takes_mark:
            unexpected = "'@k'" if mark == "@" else "':' parameter"
            why = f"{name} takes no {unexpected}"
            hint = self.refused.get(name + mark)
            if hint:
                why += f"; {hint}"
            fail(key, why)
        pattern, expected, convert = _PARAMETERS[form]
        if pattern.fullmatch(text):
            return convert(text)
        got = quote(text)[1:-1] or "none"  # without quotation marks
        if len(text) >= 1000:
            got = f"one of {len(text):,} characters"
        fail(key, f"{name}{form}: {expected}, got {got}")

    def _read_fields(self, key: str, words: list[str], meaning: Meaning) -> dict[str, Any]:
        """Give each word before the metric to the next field that it fits."""
        is_macro = words[:1] == [MACRO]
        # A name such as "amri" implies its adjustment, so that "index.amri" has one too many.
        adjustment, _ = meaning
        implied = [] if adjustment == NO_ADJUSTMENT else [adjustment]
        words_left = words[1:] + implied if is_macro else words + implied
        values: dict[str, Any] = dict(self.defaults)
        for name in values:
            if words_left and self._fits(words_left[0], name):
                values[name] = words_left.pop(0)
        is_adjusted_twice = bool(words_left) and words_left == implied
        if is_adjusted_twice:
            fail(key, f"{self._short_name(meaning)} is an adjusted metric already")
        if words_left:
            form = "".join(f"[{name}.]" for name in (MACRO, *values)) + METRIC_FORM
            word = words_left[0]
            if word in self.refused:
                fail(key, self.refused[word])
            why = f"expected the form {form}; {quote(word)} does not fit there"
            fail(key, f"{why}; a key cannot name a group", [GROUPS])
        values["macro"] = is_macro
        return values

    def _fits(self, word: str, name: str) -> bool:
        """Whether a field of a key can have a word; what means nothing else may be a side."""
        if name == "side":
            return not self.is_taken(word)
        return word in self.words[name]

    def _names(self) -> Iterator[str]:
        """Yield the metrics and the titles of adjusted ones, with the parameters that they need."""
        for meaning in [*((NO_ADJUSTMENT, metric) for metric in self.metrics), *self.titles]:
            yield self._short_name(meaning) + self.metrics[meaning[1]].needed

    def _short_name(self, meaning: Meaning) -> str:
        """Write an adjusted metric for messages, as "mr", "amri" and "index.gmr"."""
        adjustment, metric = meaning
        if adjustment == NO_ADJUSTMENT:
            return metric
        return self.titles.get(meaning, f"{adjustment}.{metric}").lower()


# -- keys of tasks ------------------------------------------------------------------------------

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
# Names of papers and of other toolkits; those of one letter have a cutoff, and may be sides.
OTHER_NAMES = {
    "mean_rank": ("none", "mr"),
    "mean_reciprocal_rank": ("none", "mrr"),
    "adjusted_mean_rank": ("ratio", "mr"),
    "adjusted_mean_rank_index": ("index", "mr"),
    "adjusted_mean_reciprocal_rank": ("index", "mrr"),
    "z_mean_rank": ("z", "mr"),
    "z_mean_reciprocal_rank": ("z", "mrr"),
    "hit": ("none", "hits"),
    "rr": ("none", "mrr"),
    "h": ("none", "hits"),
    "hr": ("none", "hits"),
}
# Metrics of other tools that are none of these, however alike their names are.
_METRICS_ELSEWHERE: tuple[str, ...] = ("bpref", "gm_bpref", "gmap", "gm_map", "infap", "judged")
_METRICS_ELSEWHERE += ("iprec", "iprec_at_recall", "set_map", "set_recall", "ndcg_rel", "rndcg")
_METRICS_ELSEWHERE += ("sdcg", "ap_ia", "nrbp", "nnrbp", "nerr", "strec", "strecall", "mae", "mar")
_METRICS_ELSEWHERE += ("minp", "aupr", "auprc", "prauc", "pr_auc")
_METRICS_ELSEWHERE += ("geometric_mean_rank", "harmonic_mean_rank")
# Names of metrics of several right answers in ir_measures and in papers.
SHORT_ANSWER_NAMES = {"ap": "map", "p": "precision", "r": "recall"}
# Tables print these names, which the literature gives adjusted metrics.
TITLES = {
    ("ratio", "mr"): "AMR",
    ("index", "mr"): "AMRI",
    ("index", "mrr"): "AMRR",
    ("index", "hits"): "AH",
    ("z", "mr"): "zMR",
    ("z", "mrr"): "zMRR",
    ("z", "hits"): "zH",
}


def _refuse_names() -> dict[str, str]:
    """Say why names of PyKEEN, and of metrics that queries alone have, are none of tasks."""
    why = {}
    for name, key in NEGATED.items():
        why[name] = (
            f"PyKEEN negates this value: take {key!r}, which is below 0 if ranks are better than "
            "chance"
        )
    for name in metrics.answer_metrics.ANSWER_METRICS:
        if name not in metric_table.METRICS:
            why[name] = f"reports of truerank.retrieval have {name}"
    why["recall"] = (
        "a task has one right answer, so that hits@k is its recall@k; reports of "
        "truerank.retrieval have recall of several"
    )
    for short, name in SHORT_ANSWER_NAMES.items():
        why[short] = f"reports of truerank.retrieval have {short.upper()}@k, which is {name}@k"
    return why


RANK_KEYS = Grammar(
    "task",
    "tasks",
    metric_table.METRICS,
    defaults={"side": ALL_SIDES, "kind": metric_table.DEFAULT_KIND, "adjustment": NO_ADJUSTMENT},
    words={"kind": tuple(metric_table.KINDS), "adjustment": tuple(metric_table.ADJUSTMENTS)},
    titles=TITLES,
    synonyms={title.lower(): meaning for meaning, title in TITLES.items()}
    | {
        name.removesuffix("_at_k"): meaning
        for name, meaning in PYKEEN_NAMES.items()
        if name not in NEGATED
    }
    | OTHER_NAMES,
    make_refused=_refuse_names,
    listed=(*metric_table.listed_metrics(), "amr", "amri", "amrr", "ah@10", "zmrr"),
    few=("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri"),
    listed_kinds=("optimistic", "realistic", "pessimistic"),
    # Random ranks are left out, because they depend on a draw.
    tie_kinds=("optimistic", "realistic", "pessimistic", "expected"),
    rows=("side", "kind"),
)


def parse(key: str, grammar: Grammar = RANK_KEYS) -> Key:
    """Read a key of a report on tasks, or on queries with several right answers.

    Any word may be a side: the report knows which sides there are. The metric is read in any case
    and under other names, too: "MRR", "H@10", "hr@10", "mean_rank", "hits_at_10". An unknown key is
    refused with similar names; so are an adjustment that a metric does not have, the kind
    "expected" of what is no mean over tasks, and a macro average of z.

    >>> key = parse("tail.AH@10")
    >>> key.metric, key.parameter, key.adjustment, key.kind, key.side
    ('hits', 10, 'index', 'realistic', 'tail')
    """
    if not isinstance(key, str):
        raise UnknownKeyError("key", "", "a str", type(key).__name__)
    return _read_key(key, grammar)


@lru_cache(4096)
def _read_key(key: str, grammar: Grammar) -> Key:
    parsed = grammar.parse(key)
    why = why_no_value(parsed)
    if why:
        fail(key, why)
    return parsed


def why_no_value(key: Key) -> str:
    """Say why there is no value of a key; empty where there is one."""
    if key.adjustment not in (NO_ADJUSTMENT, *key.row.adjustments):
        return key.row.why_unadjusted
    is_expected = key.kind == metric_table.EXPECTED_KIND and key.row.of_answers is None
    if is_expected and not key.row.has_expectation:
        return (
            f"{key.alone} is not a mean over tasks, and its mean over all orders of ties is not "
            "computed; take its realistic, optimistic and pessimistic values"
        )
    if key.macro and key.adjustment == "z":
        return (
            "z grows with the number of tasks: a mean of it over unlike groups says nothing; ask "
            "for 'macro.index' or for z over all tasks"
        )
    return ""


def check_chance(key: Key) -> None:
    """Raise a KeyError unless the mean and the variance of a metric under chance are known."""
    if "z" not in key.row.adjustments:
        fail(str(key.alone), key.row.why_unadjusted)


def quote(word: str) -> str:
    """Write a word of a key as in Python, and leave out the middle of a very long one."""
    if len(word) >= 200:
        word = f"{word[:97]}...{word[-97:]}"
    return repr(word)


def fail(key: str, why: str, remedies: Sequence[Option] = ()) -> NoReturn:
    """Raise the error of a key."""
    raise UnknownKeyError(quote(key), why, remedies=remedies)


@lru_cache(1024)
def is_side_name(name: str) -> bool:
    """Whether a key can tell the name of a side from its other words."""
    has_mark = any(mark in name for mark in ".:@")
    return not (has_mark or name == ALL_SIDES or RANK_KEYS.is_taken(name))
