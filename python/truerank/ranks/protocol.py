"""The record of how ranks were counted: what makes results comparable, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import several
from ..inputs.checks import choice, flag, instance, number, positive_integer
from ..inputs.rules import NAN_RULES, ORDERS
from ..naming import printable, public

# These fields say how the answers of queries count, where it is not the usual way.
ANSWER_RULES = ("gain", "misses", "relevance_level", "answerless")
COMPARABLE = ("filter", "filter_rule", "candidates", "sampled", "nan", "split", *ANSWER_RULES)
_WORDS = ("dtype", "similarity", "lists", "ties", "device", "version")  # of provenance
_NUMBERS = {"depth": 0, "highest_grade": 1.0}  # of provenance, with what None stands for
PROVENANCE = ("order", *_WORDS, *_NUMBERS, "files")
MIXED = "mixed"
HITS = "hits"  # Of lists of indexes is known how many right answers they have, and no order.
# Fields of several names, and of one.
_SEVERAL = ("filter", "files")
_SINGLE = ("filter_rule", "candidates", "split", "gain", "misses", "answerless", *_WORDS)


@public("truerank")
@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How ranks were counted.

    The *comparable* fields determine what a number means. They make the fingerprint, and ranks that
    differ in one of them cannot be joined or compared. The *provenance* fields are only recorded.

    Parameters
    ----------
    filter : sequence of str
        Comparable. The names of the splits whose true answers were left out of the candidates, as a
        set: the order does not matter, repeats are dropped. Empty: unfiltered. A str is one split.
    filter_rule : str, optional
        Comparable. Which facts of these splits count where facts have further columns, such as a
        time: "fact", those that agree in all of them; "triple", all, whatever they hold; "columns
        4", those that agree in column 4. None: facts have no further columns.
    candidates : str or None
        Comparable. The name of the candidate set: "all", "typed", "selection of 40 (3f2a91c0)", ...
        None: lists were ranked, and nobody said among which candidates; all are assumed, and
        reports of retrieval refuse what depends on them.
    sampled : bool
        Comparable. Whether the candidates were sampled.
    nan : {"raise", "worst", "omit"}
        Comparable. The rule for NaN.
    split : str, optional
        Comparable. The split that was evaluated, such as "test".
    gain, misses, answerless : str, optional
        Comparable. How the answers of queries count in a report. `gain`: what a grade g counts in
        dcg and ndcg, "linear" g, "exponential" 2^g - 1 (g is at most 1000), "binary" 1. `misses`:
        what a right answer counts that its list misses. "zero": nothing, as in trec_eval and ranx.
        "bounds", "expected": the mean over all places that the list leaves; under "bounds" the
        kinds optimistic and pessimistic give it the first and the last of these places, under
        "expected" they concern only listed answers. `answerless`: what queries without a right
        answer count. "omit": they are left out of means. "zero": 0, as in trec_eval, except in auc,
        gauc, mr and median, which they do not have. None: the first of these.
    relevance_level : float, optional
        Comparable. The grade from which on an answer is right. Answers of lower grades have their
        gains in dcg, ndcg and err, and are wrong for all other metrics. None: all grades above 0
        are right.
    order : {"descending", "ascending", "mixed"}
        Provenance. "descending": higher scores are better. "mixed": joined parts differ.
    dtype, similarity, version : str, optional
        Provenance. The dtype of the scores, the similarity that made them, truerank's version.
    lists : str, optional
        Provenance. For counts from lists (`rank_lists`), whose misses are bounded, not ranked: what
        the lists had, "scores" or "order alone"; for lists of an index "hits".
    depth : int, optional
        Provenance. The number of entries of the longest list, as it was handed over; of joined
        ranks the greatest. Protocols that differ only in it are equal. None: there were no lists,
        or only empty ones.
    highest_grade : float, optional
        Provenance. In retrieval the highest grade of all right answers that were ranked, of which
        these may be a part: err stops by it. Ranks that are joined or compared have the greatest.
        Protocols that differ only in it are equal. None: all grades are 1.
    ties : str, optional
        Provenance. "unknown": another tool gave one rank for each task, and does not say what ties
        (`Ranks.from_ranks`). None: the counts say it.
    device : str, optional
        Provenance. The device of the scores and what counted them there, "triton" or "torch"; or
        "host" if they, or the vectors that make them, were copied to the host. None: they were in
        the host's memory. Protocols that differ only in it are equal, since the counts are.
    files : sequence of str
        Provenance. The files that were read.

    Raises
    ------
    TypeError
        For a field of another type, and an empty name.
    ValueError
        For an unknown NaN rule or order, and a depth below 1.

    Examples
    --------
    >>> protocol = Protocol(filter=("train", "valid"), split="test")
    >>> print(protocol)
    split test, filtered by train + valid, all candidates, nan raise
    >>> protocol.fingerprint
    '9ecc1e72cdf27f17'
    """

    filter: tuple[str, ...] = ()
    filter_rule: str | None = None
    candidates: str | None = "all"
    sampled: bool = False
    nan: str = "raise"
    split: str | None = None
    gain: str | None = None
    misses: str | None = None
    relevance_level: float | None = None
    answerless: str | None = None
    order: str = "descending"
    dtype: str | None = None
    similarity: str | None = None
    lists: str | None = None
    depth: int | None = field(default=None, compare=False)
    highest_grade: float | None = field(default=None, compare=False)
    ties: str | None = None
    device: str | None = field(default=None, compare=False)
    version: str | None = None
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field_name in _SEVERAL:
            value = getattr(self, field_name)
            names = [value] if isinstance(value, str) else several(field_name, value, "names")
            for name in names:
                _check_name(field_name, name)
            object.__setattr__(self, field_name, tuple(dict.fromkeys(names)))
        for field_name in _SINGLE:
            if getattr(self, field_name) is not None:
                _check_name(field_name, getattr(self, field_name))
        object.__setattr__(self, "sampled", flag("sampled", self.sampled))
        choice("nan", self.nan, NAN_RULES)
        choice("order", self.order, (*ORDERS, MIXED))
        for name in ("depth", "relevance_level", "highest_grade"):
            if getattr(self, name) is not None:
                check: Any = positive_integer if name == "depth" else number
                object.__setattr__(self, name, check(name, getattr(self, name)))

    @property
    def fingerprint(self) -> str:
        """The first 16 hex digits of the SHA-256 of the comparable fields, as canonical JSON.

        Two protocols have the same fingerprint if and only if `differences` finds nothing.

        Examples
        --------
        >>> Protocol().fingerprint == Protocol(order="ascending").fingerprint
        True
        """
        import json

        comparable = {}
        for name in COMPARABLE:
            value = self._comparable(name)
            if value is not None or name == "split":  # A split that is not named was always null.
                comparable[name] = value
        text = json.dumps(comparable, sort_keys=True, separators=(",", ":"))
        return short_sha256(text.encode())

    def differences(self, other: Protocol) -> list[str]:
        """List how the comparable fields differ, with a line for each; empty if they are equal.

        Examples
        --------
        >>> Protocol().differences(Protocol(filter=("train",), nan="omit"))
        ['filter: none against train', 'nan: raise against omit']
        """
        instance("other", other, Protocol)
        if self == other:
            return []
        return [
            f"{name}: {_in_words(getattr(self, name))} against {_in_words(getattr(other, name))}"
            for name in COMPARABLE
            if self._comparable(name) != other._comparable(name)
        ]

    def joined(self, other: Protocol) -> Protocol:
        """Return the protocol of ranks that are joined over tasks.

        The comparable fields are this one's. A provenance field in which the two differ becomes
        "mixed"; `depth` and `highest_grade` become the greater one, and `files` lists the files of
        both.

        Raises
        ------
        ValueError
            If a comparable field differs.

        Examples
        --------
        >>> Protocol(dtype="float32").joined(Protocol(dtype="float16")).dtype
        'mixed'
        """
        differences = self.differences(other)
        if differences:
            problem = f"counted under another protocol: {'; '.join(differences)}"
            raise InputValueError("other", problem)
        if vars(self) == vars(other):  # == would not compare depths and devices.
            return self
        unlike = [name for name in PROVENANCE if getattr(self, name) != getattr(other, name)]
        changes: dict[str, Any] = dict.fromkeys(unlike, MIXED)
        for name in _NUMBERS.keys() & unlike:
            changes[name] = max(getattr(each, name) or _NUMBERS[name] for each in (self, other))
        if None in (self.candidates, other.candidates):  # Those of one were not named.
            changes["candidates"] = None
        return replace(self, **changes | {"files": self.files + other.files})

    def _comparable(self, name: str) -> Any:
        value = getattr(self, name)
        if name == "candidates":
            return value or "all"
        return sorted(value) if isinstance(value, tuple) else value  # Splits are a set.

    def __str__(self) -> str:
        words = [f"split {self.split}"] if self.split else []
        filtered = f"filtered by {_in_words(self.filter)}" if self.filter else "unfiltered"
        if self.filter_rule:
            filtered += f" ({self.filter_rule})"
        words += [filtered, self._candidates_in_words(), f"nan {self.nan}"]
        if self.order != "descending":
            words.append(f"order {self.order}")
        words.extend(filter(None, (self.dtype, self.similarity)))
        if self.lists:
            words.append(f"from lists ({self.lists})")
        if self.ties:
            words.append(f"ties {self.ties}")
        if self.device:
            words.append(f"on {self.device}")
        return printable(", ".join(words))

    def _candidates_in_words(self) -> str:
        if self.candidates is None and self.lists:
            return "candidates not given"
        if self._comparable("candidates") == "all":
            return "sampled candidates" if self.sampled else "all candidates"
        return f"candidates {self.candidates}{' (sampled)' if self.sampled else ''}"


def _check_name(field_name: str, value: object) -> None:
    """Refuse a field that is no name."""
    if not isinstance(value, str) or not value:
        got = "an empty str" if isinstance(value, str) else type(value).__name__
        raise InputTypeError(field_name, expected="a str that is a name", got=got)


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return " + ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value or "none")


def short_sha256(data: bytes) -> str:
    """Return the first 16 hex digits of a SHA-256."""
    import hashlib

    return hashlib.sha256(data).hexdigest()[:16]


@public("truerank.ranks")
@dataclass(frozen=True)
class Origin:
    """A task that ranks come from: a unit of theirs is a row of the facts that it ranks.

    Attributes
    ----------
    fingerprint : str
        Of these facts, whatever sides, candidates and filters are.
    rows : int
        The units of its ranks are numbers below it.
    units : int
        How many of these numbers are units of the whole task, of which a part has some.
    queries : int
        The queries of its ranks are numbers below it, which say nothing beside those of another
        task. 0: they are what queries are called.
    digests : (str, str)
        Of the entities, with how many there are, or "" where nobody said it; and of the known
        facts. Messages show them.
    part_of : int
        How many units there are in all that its ranks are a part of: the whole task, or a sample of
        it. 0: they are no part, but the whole or a sample, which somebody chose by positions.
    n_entities : int
        The number of entities; 0 where nobody said it.
    names : str
        A digest of their names in order; "" where they have none.
    """

    fingerprint: str
    rows: int
    units: int
    queries: int = 0
    digests: tuple[str, str] = ("", "")
    part_of: int = 0
    n_entities: int = 0
    names: str = ""

    @property
    def number(self) -> int:
        """The number of the task in arrays, an int64, which tells it from others."""
        return int(short_sha256(self.fingerprint.encode()), 16) - 2**63

    def renamed(self) -> Origin:
        """Return what tells it from others where its queries, and so its facts, are renamed."""
        text = f"{self.fingerprint} {self.digests}"
        return replace(self, fingerprint=short_sha256(text.encode()))
