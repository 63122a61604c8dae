"""How a remedy is followed: a row says what is meant, what triggers it, and the right number.

A case is small data, whose right number a plain definition gives; its twins are the same data with
what real data have: repeats, digits as names, another order, gaps, lists of unlike lengths, several
answers, one row, two tasks of one list.
"""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from truerank.errors import InputError, InputWarning, Option

# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """Judgements, and lists of hits, the best first; a document that is there twice counts once."""

    qrels: Mapping[str, Mapping[str, int]]
    hits: Mapping[str, list[tuple[str, float]]]

    def mrr(self) -> float:
        """Return the mean over queries of 1 / the place of the first right answer."""
        total = 0.0
        for query, grades in self.qrels.items():
            names = list(dict.fromkeys(name for name, _ in self.hits[query]))
            places = [i for i, name in enumerate(names, 1) if grades.get(name, 0) > 0]
            total += 1 / places[0] if places else 0.0
        return total / len(self.qrels)

    def hits_once(self) -> dict[str, dict[str, float]]:
        """Return the lists as mappings, with the best score of each document."""
        lists = {}
        for query, row in self.hits.items():
            best = dict(reversed(row))
            lists[query] = {name: best[name] for name, _ in row}
        return lists

    def renamed(self, names: Mapping[str, str]) -> Search:
        """Return the same with other names of documents."""
        qrels = {q: {names[d]: grade for d, grade in row.items()} for q, row in self.qrels.items()}
        hits = {q: [(names[d], score) for d, score in row] for q, row in self.hits.items()}
        return Search(qrels, hits)


PLAIN = Search(
    {"u": {"a": 2, "e": 0}, "v": {"b": 1, "e": 0}, "w": {"c": 1, "e": 0}},
    {
        "u": [("a", 0.9), ("b", 0.8), ("c", 0.25), ("d", 0.125)],
        "v": [("c", 0.9), ("b", 0.5), ("a", 0.25), ("e", 0.125)],
        "w": [("e", 0.9), ("d", 0.5), ("a", 0.25), ("c", 0.125)],
    },
)
_LAST = list(PLAIN.hits)[-1]

# By the name of a twin: what makes it of the plain case.
SEARCHES: dict[str, Search] = {
    "plain": PLAIN,
    # The best hit comes again, after the second one, at a lower score.
    "repeats": replace(
        PLAIN, hits={q: [*row[:2], (row[0][0], 0.375), *row[2:]] for q, row in PLAIN.hits.items()}
    ),
    "digits": PLAIN.renamed(dict(zip("abcde", ["10", "9", "2", "0", "1"], strict=True))),
    "gaps": PLAIN.renamed(dict(zip("abcde", ["700", "9", "23", "101", "64"], strict=True))),
    "other order": Search(
        dict(reversed(PLAIN.qrels.items())),
        {query: PLAIN.hits[query] for query in "vuw"},
    ),
    "padding": replace(PLAIN, hits={**PLAIN.hits, "u": PLAIN.hits["u"][:2]}),
    "several answers": replace(PLAIN, qrels={q: {**row, "d": 1} for q, row in PLAIN.qrels.items()}),
    "one row": Search({"v": PLAIN.qrels["v"]}, {"v": PLAIN.hits["v"]}),
    "two tasks": Search(
        {**PLAIN.qrels, "x": PLAIN.qrels[_LAST]}, {**PLAIN.hits, "x": PLAIN.hits[_LAST]}
    ),
}

Fact = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Facts:
    """Facts (head, relation, tail), known ones, and a score of each entity for each query."""

    test: list[Fact]
    known: list[Fact]
    scores: Mapping[tuple[Any, Any], Mapping[Any, float]]

    def mrr(self) -> float:
        """Return the mean over facts of 1 / the filtered rank of the tail."""
        total = 0.0
        for head, relation, tail in self.test:
            scores = self.scores[head, relation]
            others = {t for h, r, t in [*self.test, *self.known] if (h, r) == (head, relation)}
            better = [e for e, score in scores.items() if score > scores[tail]]
            total += 1 / (1 + len(set(better) - others))
        return total / len(self.test)

    def renamed(self, names: Mapping[Any, Any], relations: Mapping[Any, Any]) -> Facts:
        """Return the same with other names of entities and relations."""

        def rename(facts: list[Fact]) -> list[Fact]:
            return [(names[h], relations[r], names[t]) for h, r, t in facts]

        scores = {
            (names[h], relations[r]): {names[e]: score for e, score in row.items()}
            for (h, r), row in self.scores.items()
        }
        return Facts(rename(self.test), rename(self.known), scores)


FACTS = Facts(
    [("a", "r", "b"), ("b", "s", "c"), ("d", "r", "e"), ("e", "s", "a")],
    [("a", "r", "d"), ("c", "s", "e"), ("b", "s", "a")],
    {
        ("a", "r"): {"a": 0.5, "b": 0.4, "c": 0.1, "d": 0.9, "e": 0.2},
        ("b", "s"): {"a": 0.9, "b": 0.8, "c": 0.3, "d": 0.7, "e": 0.1},
        ("d", "r"): {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "e": 0.9},
        ("e", "s"): {"a": 0.3, "b": 0.2, "c": 0.1, "d": 0.9, "e": 0.4},
    },
)
_DIGITS = dict(zip("abcde", ["10", "9", "2", "0", "1"], strict=True))
_GAPS = dict(zip("abcde", ["700", "9", "23", "101", "64"], strict=True))
GRAPHS: dict[str, Facts] = {
    "plain": FACTS,
    "digits": FACTS.renamed(_DIGITS, {"r": "1", "s": "0"}),
    "gaps": FACTS.renamed(_GAPS, {"r": "30", "s": "4"}),
    "other order": replace(FACTS, test=FACTS.test[::-1], known=FACTS.known[::-1]),
    "several answers": replace(FACTS, test=[*FACTS.test, ("a", "r", "c")]),
    "one row": replace(FACTS, test=FACTS.test[:1]),
    "two tasks": replace(FACTS, test=[*FACTS.test, ("a", "r", "e")], known=[]),
}

# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A remedy that is followed.

    `ask` takes a case, and then options; it returns a number, or is refused. In a folder of its own
    it may write files. The plain case must name the remedy, and end at the right number.
    """

    place: str  # the file of python/truerank that names the remedy
    option: str  # the name of the option
    means: str  # what is meant
    ask: Callable[..., float]
    right: Callable[[Any], float]
    cases: Mapping[str, Any] = field(default_factory=lambda: {"plain": None})
    says: str = ""  # words of the effect that means it, where several remedies are named
    fills: Mapping[str, Any] = field(default_factory=dict)  # a user's values, by option
    line: Callable[[Any], str] | None = None  # writes the files, and returns a line of the terminal
    read: Callable[[Any], float] = lambda result: float(result["metrics"]["mrr"])  # of the line

    @property
    def name(self) -> str:
        """What the test calls it."""
        return f"{self.place}: {self.option}: {self.means}"


@dataclass
class Answer:
    """What a call gave: a number, or what it was refused with; and the remedies that it named."""

    number: float | None
    words: str
    remedies: list[Option]


def ask_in_python(row: Row, case: Any, options: Mapping[str, Option]) -> Answer:
    """Call with the remedies that were followed so far."""
    values = {name: option.value for name, option in options.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            number = row.ask(case, **values)
        except InputError as error:
            return Answer(None, str(error), list(error.remedies))
    messages = [each.message for each in caught if isinstance(each.message, InputWarning)]
    remedies = [option for message in messages for option in message.remedies]
    return Answer(number, "; ".join(map(str, messages)), remedies)


class Terminal:
    """The command line in this process, whose messages tell which options they write."""

    def __init__(self, run: Callable[..., Any], patch: Callable[..., None]) -> None:
        from truerank.cli import options

        self._run = run
        self._write = options.write_option
        self._named: list[tuple[Mapping[str, str], Option]] = []
        patch(options, "write_option", self._note)

    def _note(self, names: Mapping[str, str], option: Option) -> str:
        text = self._write(names, option)
        if text and option.effect:
            self._named.append((names, option))
        return text

    def ask(self, row: Row, case: Any, options: Mapping[str, Option]) -> Answer:
        """Run the line, with the remedies that were followed so far appended."""
        assert row.line is not None
        names = {name: flags for flags, each in self._named for name in [each.name]}
        words = shlex.split(row.line(case))
        for name, option in options.items():
            flag, *value = shlex.split(self._write(names[name], option))
            # It was given, with another value; labels are of several kinds.
            if flag in words and flag != "--labels":
                place = words.index(flag)
                del words[place : place + 1 + len(value)]
            words += [flag, *value]
        before = len(self._named)
        code, out, err = self._run(*words, "--metrics", "mrr", "--json")
        remedies = [option for _, option in self._named[before:]]
        assert not remedies or err
        number = None if code else row.read(json.loads(out))
        return Answer(number, err, remedies)


def follow(
    row: Row, case: Any, ask: Callable[[Row, Any, Mapping[str, Option]], Answer]
) -> tuple[Answer, int]:
    """Follow remedies until the right number comes, or nothing is named; how many were followed.

    Of several remedies it is the one whose effect says what the row means. What was tried before is
    a circle.
    """
    right = row.right(case)
    options: dict[str, Option] = {}
    tried = []
    while True:
        answer = ask(row, case, options)
        is_right = answer.number is not None and abs(answer.number - right) < 1e-9
        meant = [x for x in answer.remedies if x.name == row.option and row.says in x.effect]
        meant = meant or [x for x in answer.remedies if not options or x.name not in options]
        if (is_right and tried) or not answer.remedies:
            return answer, len(tried)
        assert meant, f"{answer.words!r} names no remedy that was meant"
        (remedy, *_) = meant
        value = row.fills.get(remedy.name, remedy.value)
        options = {**options, remedy.name: replace(remedy, value=value)}
        state = {name: repr(option.value) for name, option in options.items()}
        assert state not in tried, f"a circle: {state}, {answer.words!r}"
        tried.append(state)
