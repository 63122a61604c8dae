"""The keys of a report: `[macro.][side.][kind.][adjustment.]metric[@k][:p]`.

Semantic versioning covers the keys: one that is read in a version means the same in later ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from .adjustments import ADJUSTMENTS, EXPECTATIONS
from .base import METRICS
from .kinds import DEFAULT_KIND, KINDS

ALL_SIDES = "both"
OWN_SIDE = "relation"  # predicted relations have few candidates: never pooled with entities
NO_ADJUSTMENT = "none"

# The literature's names: (adjustment, metric).
ALIASES = {
    "amr": ("ratio", "mr"),
    "amri": ("index", "mr"),
    "amrr": ("index", "mrr"),
    "ah": ("index", "hits"),
    "zmr": ("z", "mr"),
    "zmrr": ("z", "mrr"),
    "zh": ("z", "hits"),
}

# Words of the grammar that later versions fill; no side may have such a name either.
PLANNED_METRICS = ("power_mean", "std", "variance", "mad", "count")
PLANNED_KINDS = ("expected",)
MACRO = "macro"

_SHAPE = "[side.][kind.][adjustment.]metric[@k]"


class UnknownKeyError(KeyError):
    """A key that a report cannot answer; the message says why, and what comes near it."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Key(NamedTuple):
    """A parsed key; `str(key)` is its canonical form, without defaults and aliases.

    Attributes
    ----------
    metric : str
    k : int
        The cutoff; 0 for a metric without.
    adjustment, kind, side : str

    Examples
    --------
    >>> str(parse("both.realistic.amri"))
    'index.mr'
    """

    metric: str
    k: int = 0
    adjustment: str = NO_ADJUSTMENT
    kind: str = DEFAULT_KIND
    side: str = ALL_SIDES

    def __str__(self) -> str:
        words = [
            word
            for word, default in (
                (self.side, ALL_SIDES),
                (self.kind, DEFAULT_KIND),
                (self.adjustment, NO_ADJUSTMENT),
            )
            if word != default
        ]
        return ".".join([*words, f"{self.metric}@{self.k}" if self.k else self.metric])


def parse(key: str) -> Key:
    """Read a key.

    Parameters
    ----------
    key : str
        As "mrr", "hits@10", "tail.optimistic.index.mr", "amri". Any word may stand for a side:
        which sides there are is the report's business.

    Returns
    -------
    Key

    Raises
    ------
    KeyError
        If there is no such key, or not in this version; with the nearest names.

    Examples
    --------
    >>> parse("tail.hits@10")
    Key(metric='hits', k=10, adjustment='none', kind='realistic', side='tail')
    """
    if not isinstance(key, str):
        raise UnknownKeyError(f"key: expected a str, got {type(key).__name__}")
    before_p, colon, _ = key.partition(":")
    *words, last = before_p.split(".")
    adjustment, metric, k = _metric(key, last)
    if colon:
        _fail(key, f"{metric} takes no ':' parameter")
    if words and words[-1] in ADJUSTMENTS:
        if adjustment != NO_ADJUSTMENT:
            _fail(key, f"{last} is an adjusted metric already")
        adjustment = words.pop()
    kind = DEFAULT_KIND
    if words and words[-1] in (*KINDS, *PLANNED_KINDS):
        kind = words.pop()
        if kind not in KINDS:
            _fail(key, f"the kind {kind!r} is not available in this version")
    if words and words[0] == MACRO:
        _fail(key, "macro averages are not available in this version")
    side = words.pop() if words else ALL_SIDES
    if words or not side or side in RESERVED:
        _fail(key, f"expected the form {_SHAPE}")
    if not _available(adjustment, metric):
        name = "hits@k" if metric == "hits" else metric
        _fail(key, f"the adjustment {adjustment!r} of {name} is not available in this version")
    return Key(metric, k, adjustment, kind, side)


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known words come near one, or list them all where few are known.

    Examples
    --------
    >>> nearest("mmr", ["mr", "mrr", "hits@k"])
    'did you mean mr or mrr?'
    """
    import difflib

    near = difflib.get_close_matches(word.lower(), list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"


def _metric(key: str, word: str) -> tuple[str, str, int]:
    """Adjustment, metric and cutoff of a key's last word."""
    name, at, cutoff = word.partition("@")
    adjustment, metric = ALIASES.get(name, (NO_ADJUSTMENT, name))
    if metric in PLANNED_METRICS:
        _fail(key, f"{metric} is not available in this version")
    if metric not in METRICS:
        _fail(key, f"no metric {word!r}; {nearest(word, NAMES)}")
    if not METRICS[metric].cutoff:
        if at:
            _fail(key, f"{name} takes no '@k'")
        return adjustment, metric, 0
    if not (cutoff.isascii() and cutoff.isdecimal() and len(cutoff) < 1000 and int(cutoff)):
        _fail(key, f"expected {name}@k with an integer k >= 1, got {word!r}")
    return adjustment, metric, int(cutoff)


def _available(adjustment: str, metric: str) -> bool:
    """Whether this version has the adjustment and the chance model that it needs."""
    known = adjustment == NO_ADJUSTMENT or metric in EXPECTATIONS
    return known and ADJUSTMENTS[adjustment] is not None


def _fail(key: str, why: str) -> NoReturn:
    raise UnknownKeyError(f"{key!r}: {why}")


def _shown(name: str, metric: str) -> str:
    return f"{name}@k" if METRICS[metric].cutoff else name


NAMES = tuple(
    [_shown(name, name) for name in METRICS]
    + [
        _shown(alias, metric)
        for alias, (adjustment, metric) in ALIASES.items()
        if _available(adjustment, metric)
    ]
)
RESERVED = frozenset(
    {MACRO, *KINDS, *PLANNED_KINDS, *ADJUSTMENTS, *METRICS, *ALIASES, *PLANNED_METRICS}
)
