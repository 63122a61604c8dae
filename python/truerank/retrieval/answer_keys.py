"""The keys of a report on several right answers: `[macro.][kind.][adjustment.]metric[@k]`."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from ..inputs.naming import public
from ..inputs.words import suggest
from ..metrics.aliases import read_name
from ..metrics.keys import ARROWS, MACRO, NO_ADJUSTMENT, quote
from ..metrics.kinds import EXPECTED_KIND, UnknownKeyError
from .answer_metrics import ANSWER_METRICS

ORDER_KINDS = (EXPECTED_KIND, "optimistic", "pessimistic")  # the default first
LEVELS = ("chance", "optimum")  # what a value is compared with; they are no kinds, but have none
ADJUSTED_BY_CHANCE = ("index", "ratio")

# The names of trec_eval, pytrec_eval and ranx, in lower case. ranx' "hits" is a number of hits.
_ALIASES = {
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "mean_reciprocal_rank": "mrr",
    "average_precision": "map",
    "mean_average_precision": "map",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "rprec": "r_precision",
    "p": "precision",
    "r": "recall",
    "hit_rate": "success",
}
_MISTAKES = {"hits": "success", "hit": "success", "ap": "map", "rr": "mrr"}

_FORM = "[macro.][kind.][adjustment.]metric[@k]"


@public("truerank.retrieval")
class AnswerKey(NamedTuple):
    """A parsed key; `str(key)` is its canonical form, without defaults.

    Attributes
    ----------
    metric : str
    k : int
        The cutoff; 0 without one.
    adjustment : {"none", "index", "ratio", "chance", "optimum"}
    kind : {"expected", "optimistic", "pessimistic"}
    macro : bool

    Examples
    --------
    >>> str(read_key("expected.index.ndcg@10"))
    'index.ndcg@10'
    """

    metric: str
    k: int = 0
    adjustment: str = NO_ADJUSTMENT
    kind: str = EXPECTED_KIND
    macro: bool = False

    @property
    def title(self) -> str:
        """The name that tables print, in the words of the literature; a key, too.

        Examples
        --------
        >>> read_key("ndcg@10").title, read_key("optimistic.map").title
        ('nDCG@10', 'optimistic.MAP')
        """
        return self._written(ANSWER_METRICS[self.metric].title)

    def __str__(self) -> str:
        return self._written(self.metric)

    def _written(self, metric: str) -> str:
        """Join the words that are no defaults, with a name of the metric."""
        words = [MACRO] * self.macro
        words += [self.kind] * (self.kind != EXPECTED_KIND)
        words += [self.adjustment] * (self.adjustment != NO_ADJUSTMENT)
        return ".".join([*words, f"{metric}@{self.k}" if self.k else metric])


def read_key(key: str) -> AnswerKey:
    """Read a key.

    Raises
    ------
    KeyError
        For an unknown key; the message says why, and which names are similar.

    Examples
    --------
    >>> read_key("optimistic.recall@10")
    AnswerKey(metric='recall', k=10, adjustment='none', kind='optimistic', macro=False)
    """
    if not isinstance(key, str):
        raise UnknownKeyError(f"key: expected a str, got {type(key).__name__}")
    *words, last = key.split(".")
    metric, k = _read_metric(key, last)
    adjustment, kind = NO_ADJUSTMENT, ""
    if words and words[-1] in (*ADJUSTED_BY_CHANCE, *LEVELS, NO_ADJUSTMENT):
        adjustment = words.pop()
    if words and words[-1] in ORDER_KINDS:
        kind = words.pop()
    is_macro = words == [MACRO]
    if words and not is_macro:
        known = [*ORDER_KINDS, *ADJUSTED_BY_CHANCE, *LEVELS, MACRO]
        _fail(key, f"expected the form {_FORM}; {quote(words[-1])}: {suggest(words[-1], known)}")
    if kind and adjustment in LEVELS:
        _fail(key, f"{adjustment} has no kind, as it orders all candidates anew")
    return AnswerKey(metric, k, adjustment, kind or EXPECTED_KIND, is_macro)


def answer_table_name(key: str) -> str:
    """Write what heads the values of a key in a table; more is better for all of these metrics.

    Examples
    --------
    >>> print(answer_table_name("ndcg@10"))
    nDCG@10 ↑
    """
    return read_key(key).title + ARROWS[True]


def _read_metric(key: str, word: str) -> tuple[str, int]:
    name, at, cutoff = _read_name(word)
    if name not in ANSWER_METRICS:
        _fail(key, f"no metric {quote(word)}; {_suggest(name)}")
    rule = ANSWER_METRICS[name].cutoff
    if at and rule == "none":
        _fail(key, f"{name} takes no '@k'")
    if not at and rule != "needed":
        return name, 0
    if not (cutoff.isascii() and cutoff.isdecimal() and len(cutoff) < 1000 and int(cutoff)):
        _fail(key, f"expected {name}@k with an integer k >= 1, got {quote(word)}")
    return name, int(cutoff)


def _read_name(word: str) -> tuple[str, str, str]:
    """Split a word as `read_name` does, also where trec_eval writes "_" for "@": P_10."""
    name, at, cutoff = read_name(word)
    if not at:
        stem, _, last = name.rpartition("_")
        if last.isdecimal() and (stem in ANSWER_METRICS or stem in _ALIASES):
            name, at, cutoff = stem, "@", last
    return _ALIASES.get(name, name), at, cutoff


def _suggest(name: str) -> str:
    if name in _MISTAKES:
        return f"did you mean {_MARKED[_MISTAKES[name]]}?"
    return suggest(name, _MARKED.values())


_MARKED = {
    name: f"{name}@k" if metric.cutoff == "needed" else name
    for name, metric in ANSWER_METRICS.items()
}


def _fail(key: str, why: str) -> NoReturn:
    raise UnknownKeyError(f"{quote(key)}: {why}")
