"""`keys`: keys that the grammar makes, keys with a small mistake, and any key of a report."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from fuzz.check import Fault, check
from truerank import Ranks, report
from truerank.metrics import METRICS, Key, UnknownKeyError, parse

WITHOUT_CHANCE = [name for name, row in METRICS.items() if not row.chance]
PLAIN = [name for name, row in METRICS.items() if not row.parameter]
NAMED = {
    "amr": ("ratio", "mr"),
    "amri": ("index", "mr"),
    "amrr": ("index", "mrr"),
    "ah": ("index", "hits"),
    "zmr": ("z", "mr"),
    "zmrr": ("z", "mrr"),
    "zh": ("z", "hits"),
}
ADJUSTMENTS = ("none", "ratio", "index", "z")
KINDS = ("optimistic", "realistic", "pessimistic", "expected", "random")
RESERVED = {"macro", "hits", "power_mean", *KINDS, *ADJUSTMENTS, *PLAIN, *NAMED}
REAL = r"[+-]?(?:inf|infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)"
PARSED = re.compile(
    r"(?P<macro>macro\.)?"
    rf"(?:(?!(?:{'|'.join(RESERVED)})\.)(?P<side>[^.:@]+)\.)?"
    rf"(?:(?P<kind>{'|'.join(KINDS)})\.)?"
    rf"(?:(?P<adjustment>{'|'.join(ADJUSTMENTS)})\.)?"
    rf"(?:(?P<plain>{'|'.join([*PLAIN, 'amr', 'amri', 'amrr', 'zmr', 'zmrr'])})"
    r"|(?P<cut>hits|ah|zh)@(?P<k>[0-9]{1,999})"
    rf"|power_mean:(?P<p>(?i:{REAL})))"
)


class Meaning(NamedTuple):
    """What a key means, by the grammar."""

    metric: str
    parameter: float
    adjustment: str
    kind: str
    side: str
    macro: bool

    @property
    def canonical(self) -> str:
        words = ["macro"] * self.macro
        words += [self.side] * (self.side != "both") + [self.kind] * (self.kind != "realistic")
        words += [self.adjustment] * (self.adjustment != "none")
        metric = self.metric
        if metric == "hits":
            metric += f"@{self.parameter}"
        elif metric == "power_mean":
            metric += f":{shortest(self.parameter)}"
        return ".".join([*words, metric])


def shortest(p: float) -> str:
    """Write a power without needless digits."""
    return str(int(p)) if abs(p) < 1e16 and p == int(p) else repr(p)


def meaning(key: str) -> Meaning | None:
    """Return what a key means; None if it is none."""
    found = PARSED.fullmatch(key)
    if found is None:
        return None
    metric = found["plain"] or found["cut"] or "power_mean"
    adjustment, metric = NAMED.get(metric, (None, metric))
    if adjustment is not None and found["adjustment"] is not None:
        return None
    adjustment = adjustment or found["adjustment"] or "none"
    parameter = int(found["k"]) if found["cut"] else float(found["p"]) if found["p"] else 0
    if found["cut"] and not parameter:
        return None
    if adjustment != "none" and metric in WITHOUT_CHANCE:
        return None
    if found["macro"] and adjustment == "z":
        return None
    side, kind = found["side"] or "both", found["kind"] or "realistic"
    return Meaning(metric, parameter + 0, adjustment, kind, side, bool(found["macro"]))


WORDS = st.text(st.characters(exclude_characters=".:@", codec="utf-8"), min_size=1, max_size=6)
SIDES = st.sampled_from(["", "both", "head", "tail"]) | WORDS.filter(lambda w: w not in RESERVED)
POWERS = st.floats(allow_nan=False).map(repr) | st.sampled_from(
    ["2", "2.0", "+2", "-0", "-0.0", "2e0", "2E+0", ".5", "5.", "INF", "-Infinity", "1e999", "10"]
)
CUTOFFS = st.integers(1, 20).map(str) | st.sampled_from(["010", "9" * 40, "1" * 999])


# Numbers for Python's int or float, or nearly so.
ODD = st.sampled_from(["1_0", " 2", "2\n", "٣", "nan", "1e", "0x1p3", "--1", "1,5", "infin", ""])
ODD |= st.from_regex(r"\A[+-]?[0-9_]{0,3}\.?[0-9_]{0,3}(e[+-]?[0-9_]{0,2})?\Z")


@st.composite
def keys(draw: st.DrawFn) -> str:
    """Draw a key, which is valid unless it adjusts a metric that has no adjustment."""
    metric = draw(st.sampled_from([*PLAIN, *NAMED, "hits", "power_mean"]))
    words = [draw(st.sampled_from(["", "", "macro"])), draw(SIDES)]
    words += [draw(st.sampled_from(["", *KINDS])), draw(st.sampled_from(["", *ADJUSTMENTS]))]
    if metric in ("hits", "ah", "zh"):
        metric += "@" + draw(CUTOFFS)
    elif metric == "power_mean":
        metric += ":" + draw(POWERS)
    return ".".join([*filter(None, words), metric])


@st.composite
def broken(draw: st.DrawFn) -> str:
    """Draw a key, then move, repeat, replace or remove letters or words of it."""
    key = draw(keys() | st.builds("{}{}".format, st.sampled_from(["hits@", "power_mean:"]), ODD))
    for _ in range(draw(st.integers(0, 3))):
        by_words = draw(st.booleans())
        pieces = re.split(r"([.:@])", key) if by_words else list(key)
        at = draw(st.integers(0, max(0, len(pieces) - 1)))
        other = draw(st.integers(0, max(0, len(pieces) - 1)))
        what = draw(st.sampled_from(["remove", "repeat", "swap", "insert", "many"]))
        if what == "insert" or not pieces:
            odd = st.sampled_from([*".:@_-+ e0k\n\0٣", "nan", "", *RESERVED])
            pieces.insert(at, draw(odd | st.text(max_size=2)))
        elif what == "swap":
            pieces[at], pieces[other] = pieces[other], pieces[at]
        else:
            pieces[at] *= {"remove": 0, "repeat": 2, "many": 200}[what]
        key = "".join(pieces)[:2000]
    return key


def attempt(read: Callable[[str], Any], key: str) -> Any:
    """Return what a call returns, or the KeyError that it raises."""
    try:
        return read(key)
    except KeyError as error:
        return error


def compare(key: str) -> None:
    found, expected = attempt(parse, key), meaning(key)
    if expected is None:
        assert isinstance(found, UnknownKeyError), f"read {key!r} as {found!r}"
        # the middle of a long key is left out, and with it perhaps what decides on its quotes
        assert len(key) >= 100 or str(found).startswith(f"{key!r}: "), found
        return
    assert isinstance(found, Key), f"refused {key!r}, which is {expected}: {found!r}"
    assert tuple(found) == tuple(expected), (found, expected)
    assert isinstance(found.parameter, float) == (found.metric == "power_mean")
    assert str(found.parameter) == str(expected.parameter), "minus zero"
    assert str(found) == expected.canonical
    assert parse(str(found)) == found
    assert Key(*found) == found


@check(keys(), inputs=200)
def valid(key: str) -> None:
    compare(key)


@check(broken(), inputs=200)
def nearly_valid(key: str) -> None:
    compare(key)


RANKS = Ranks([0, 3, 8, 1, 0], [1, 2, 1, 4, 1], [9, 9, 9, 12, 1], side=["head"] * 3 + ["tail"] * 2)
MEASURED = report(RANKS), report(RANKS, by="side")


@check(keys(), inputs=50)
def values(key: str) -> None:
    """Give every key a value, or the error that is promised, without a warning."""
    expected = meaning(key)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone, grouped = (attempt(measured.__getitem__, key) for measured in MEASURED)
    if expected is None or expected.side not in ("both", "head", "tail"):
        assert isinstance(grouped, UnknownKeyError)
    elif expected.adjustment == "none" or expected.metric != "power_mean":
        assert isinstance(grouped, float), grouped
        assert isinstance(alone, UnknownKeyError if expected.macro else float), alone
    else:  # power means of some orders have no chance model
        p = expected.parameter
        modelled = p in (0, math.inf, -math.inf) or (-4 <= p <= 10 and abs(p) >= 0.05)
        assert isinstance(grouped, float if modelled else UnknownKeyError), grouped


FAULTS = [
    Fault(
        "a check left out",
        "python/truerank/metrics/keys.py",
        'if parsed.macro and parsed.adjustment == "z":',
        'if parsed.macro and parsed.adjustment == "z" and parsed.side == ALL_SIDES:',
    ),
    Fault(
        "an off-by-one in a cutoff",
        "python/truerank/metrics/keys.py",
        r"(?!.{1000})0*[1-9]",
        r"(?!.{999})0*[1-9]",
    ),
]
