"""What the page "What came, and which option says what it is" shows: its small inputs as data.

A situation is an input with several meanings. Each way to read it has what a user writes, and the
number by a plain definition. `ask` is the door: public functions, with the options of the way.
`write` writes the same input as files, and returns the line of the terminal.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr
from truerank import link_prediction, retrieval

Lists = dict[str, list[str]]


@dataclass(frozen=True)
class Way:
    """A meaning of an input: what to write, the number, and who means it.

    `options` are what it adds to the call, as code; `changes` what it puts in place of the data.
    """

    says: str
    right_when: str
    number: Callable[[], float]  # by a plain definition
    options: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)
    line: str | None = ""  # the options at the terminal if they differ; None: it has none

    @property
    def values(self) -> dict[str, Any]:
        """The options of the call."""
        return dict(eval(f"dict({self.options})"))

    @property
    def flags(self) -> str:
        """The options at the terminal."""
        texts = [self.line or ""]
        if not self.line:
            for name, value in self.values.items():
                words = value
                if isinstance(value, dict):
                    words = ",".join(f"{role}={column}" for role, column in value.items())
                elif isinstance(value, list):
                    words = ",".join(map(str, value))
                texts.append(f"--{name} {words}")
        return " ".join(texts)


@dataclass(frozen=True)
class Situation:
    """An input, which `came` shows by the names of its data, and the ways to read it."""

    came: str
    data: Mapping[str, str]
    ask: Callable[..., float]
    ways: list[Way]
    metric: str = "mrr"
    write: Callable[[Mapping[str, str]], str] | None = None


def say(options: str, right_when: str, number: Callable[[], float], line: str | None = "") -> Way:
    """Return a way that is an option."""
    return Way(f"`{options}`", right_when, number, options, line=line)


# -- lists and judgements --------------------------------------------------------------------------


def read_lists(text: str) -> Lists:
    """Read "u: a b; v: c" as lists, the best first.

    >>> read_lists("u: a b; v: c")
    {'u': ['a', 'b'], 'v': ['c']}
    """
    lists = {}
    for part in text.split("; "):
        query, _, names = part.partition(": ")
        lists[query] = names.split()
    return lists


def mrr(lists: Lists, right: str | Mapping[str, Iterable[str]]) -> float:
    """Return the mean over queries of 1 / the place of the first right name, which may be one."""
    total = 0.0
    for query, names in lists.items():
        answers = [right] if isinstance(right, str) else right[query]
        places = [i for i, name in enumerate(names, 1) if name in answers]
        total += 1 / places[0] if places else 0
    return total / len(lists)


def without_repeats(lists: Lists) -> Lists:
    return {query: list(dict.fromkeys(names)) for query, names in lists.items()}


def read_rows(data: Mapping[str, str]) -> Any:
    """Return rows of ids as an array."""
    return np.array([row.split() for row in data["rows"].split("; ")], dtype=int)


def ask_for_rows(data: Mapping[str, str], **options: Any) -> float:
    task = retrieval.Task({0: [0], 1: [0]}, entities=5)
    return float(task.evaluate_lists(tr.TopK(read_rows(data), None), **options)["mrr"])


QUERIES = np.array([[0.1], [1.9]])
VECTORS = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])


def ask_for_index(data: Mapping[str, str], **options: Any) -> float:
    truth = tr.topk_embeddings(QUERIES, VECTORS, 4, similarity="l2")
    ids = read_rows(data)
    report = tr.evaluate_topk(QUERIES, VECTORS, ids, truth, similarity="l2", **options)
    return float(report["recall@4"])


def write_index(data: Mapping[str, str]) -> str:
    np.save("queries.npy", QUERIES)
    np.save("vectors.npy", VECTORS)
    np.save("found.npy", read_rows(data))
    return "recall queries.npy vectors.npy found.npy --top 4 --similarity l2"


ZEROS = {"rows": "0 1 2 0; 3 2 0 0"}
PADDED = {"rows": "0 1 2 -1; 3 2 -1 -1"}


def columns_of(lists: Lists) -> Any:
    """Return lists as a table, with scores that fall."""
    rows = [(query, name) for query, names in lists.items() for name in names]
    queries, names = zip(*rows, strict=True)
    scores = range(len(rows), 0, -1)
    return np.rec.fromarrays([queries, names, scores], names="query,document,score")


def ask_for_table(data: Mapping[str, str], **options: Any) -> float:
    lists = read_lists(data["lists"])
    task = retrieval.Task({query: ["c"] for query in lists})
    return float(task.evaluate_lists(columns_of(lists), **options)["mrr"])


def write_table(data: Mapping[str, str]) -> str:
    lists = read_lists(data["lists"])
    write_lines("qrels.txt", [f"{query} 0 c 1" for query in lists])
    rows = columns_of(lists).tolist()
    write_lines("lists.csv", ["query,document,score", *(f"{q},{d},{s}" for q, d, s in rows)])
    return "retrieval --qrels qrels.txt --lists lists.csv"


def write_lines(path: str, lines: Iterable[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def ask_for_auc(data: Mapping[str, str], **options: Any) -> float:
    lists = read_lists(data["lists"])
    task = retrieval.Task({query: ["b"] for query in lists}, entities=list("abcdefgh"), **options)
    return float(task.evaluate_lists(lists)["auc"])


def write_impressions(data: Mapping[str, str]) -> str:
    lists = read_lists(data["lists"])
    write_lines("qrels.txt", [f"{query} 0 b 1" for query in lists])
    rows = [f"{query},{name}" for query, names in lists.items() for name in names]
    write_lines("lists.csv", ["query,document", *rows])
    return "retrieval --qrels qrels.txt --lists lists.csv"


def auc(n_wrong: list[int]) -> float:
    """Return the mean share of so many wrong candidates below the right one; one is above it."""
    return sum((n - 1) / n for n in n_wrong) / len(n_wrong)


def ask_for_places(data: Mapping[str, str], **options: Any) -> float:
    rows = [row.split() for row in data["rows"].split(", ")]
    queries, names, numbers = zip(*rows, strict=True)
    columns = [queries, names, list(map(int, numbers))]
    table = np.rec.fromarrays(columns, names="query,document,position")
    task = retrieval.Task({query: ["a"] for query in queries})
    return float(task.evaluate_lists(table, **options)["mrr"])


def write_places(data: Mapping[str, str]) -> str:
    rows = [row.split() for row in data["rows"].split(", ")]
    write_lines("qrels.txt", [f"{query} 0 a 1" for query in dict.fromkeys(row[0] for row in rows)])
    write_lines("lists.csv", ["query,document,position", *map(",".join, rows)])
    return "retrieval --qrels qrels.txt --lists lists.csv"


def ask_for_judgements(data: Mapping[str, str], **options: Any) -> float:
    write_lines("qrels.txt", data["rows"].split(", "))
    task = retrieval.Task("qrels.txt", **options)
    return float(task.evaluate_lists(read_lists(data["lists"]))["mrr"])


def write_judgements(data: Mapping[str, str]) -> str:
    write_lines("qrels.txt", data["rows"].split(", "))
    ((query, names),) = read_lists(data["lists"]).items()
    rows = [f"{query},{name}" for name in names]
    write_lines("lists.csv", ["query,document", *rows])
    return "retrieval --qrels qrels.txt --lists lists.csv"


FOUR_COLUMNS = {"rows": "u 3 1 0, u 1 2 5", "lists": "u: 3 2 0 1"}


def place_columns(document: int, relevance: int) -> str:
    return f'columns={{"query": 0, "document": {document}, "relevance": {relevance}}}'


def mrr_by_columns(document: int, relevance: int) -> float:
    rows = [row.split() for row in FOUR_COLUMNS["rows"].split(", ")]
    right = [row[document] for row in rows if int(row[relevance]) > 0]
    return mrr(read_lists(FOUR_COLUMNS["lists"]), {"u": right})


def ask_for_bought(data: Mapping[str, str], **options: Any) -> float:
    task = retrieval.Task({"u": ["a", "b"]}, known={"train": {"u": ["a"]}}, **options)
    return float(task.evaluate_lists(read_lists(data["lists"]))["mrr"])


def write_bought(data: Mapping[str, str]) -> str:
    write_impressions(data)
    write_lines("qrels.txt", ["u 0 a 1", "u 0 b 1"])
    write_lines("train.txt", ["u 0 a 1"])
    return "retrieval --qrels qrels.txt --lists lists.csv --known train=train.txt"


def ask_for_misses(data: Mapping[str, str], **options: Any) -> float:
    task = retrieval.Task({"u": ["d"]}, entities=4)
    return float(task.evaluate_lists(read_lists(data["lists"]), **options)["mrr"])


def write_misses(data: Mapping[str, str]) -> str:
    write_impressions(data)
    write_lines("qrels.txt", ["u 0 d 1"])
    return "retrieval --qrels qrels.txt --lists lists.csv --candidates 4"


def ask_for_answerless(data: Mapping[str, str], **options: Any) -> float:
    task = retrieval.Task({"u": {"a": 1}, "v": {"b": 0}})
    ranks = task.evaluate_lists(read_lists(data["lists"])).ranks
    return float(tr.report(ranks.with_protocol(**options))["mrr"])


def write_answerless(data: Mapping[str, str]) -> str:
    write_impressions(data)
    write_lines("qrels.txt", ["u 0 a 1", "v 0 b 0"])
    return "retrieval --qrels qrels.txt --lists lists.csv"


OF_LISTS = [
    Situation(
        "two rows of ids, `{rows}`; 0 is right",
        ZEROS,
        ask_for_rows,
        [
            say(
                'duplicates="first"',
                "a document is there for each of its passages; beams",
                lambda: mrr({"0": ["0", "1", "2"], "1": ["3", "2", "0"]}, "0"),
            ),
            Way(
                "-1 for the last zeros",
                "they fill short rows",
                lambda: mrr({"0": ["0", "1", "2"], "1": ["3", "2"]}, "0"),
                changes=PADDED,
            ),
        ],
    ),
    Situation(
        "the same from an index; the exact ids are 0 to 3",
        ZEROS,
        ask_for_index,
        [
            say('duplicates="first"', "the index lists ids again", lambda: (3 / 4 + 3 / 4) / 2),
            Way(
                "-1 for the last zeros",
                "they fill short rows",
                lambda: (3 / 4 + 2 / 4) / 2,
                changes=PADDED,
            ),
        ],
        metric="recall@4",
        write=write_index,
    ),
    Situation(
        "lists in a file, `{lists}`; `c` is right",
        {"lists": "u: a a c b; v: a a b c"},
        ask_for_table,
        [
            say(
                'duplicates="first"',
                "a document is there for each of its passages",
                lambda: mrr({"u": ["a", "c", "b"], "v": ["a", "b", "c"]}, "c"),
            ),
            Way(
                "a file for each system",
                "they are of two systems, in turn (here the first)",
                lambda: mrr({"u": ["a", "c"], "v": ["a", "b"]}, "c"),
                changes={"lists": "u: a c; v: a b"},
            ),
        ],
        write=write_table,
    ),
    Situation(
        "lists of 8 documents, `{lists}`; `b` is right",
        {"lists": "u: a b c d e; v: a b c"},
        ask_for_auc,
        [
            say(
                'candidates="all"',
                "they are the best of all",
                lambda: auc([7, 7]),
                "--candidates 8",
            ),
            say('candidates="listed"', "they have all that was shown", lambda: auc([4, 2])),
            say(
                'candidates={"u": list("abcdef"), "v": list("abcd")}',
                "these were shown",
                lambda: auc([5, 3]),
                None,
            ),
        ],
        metric="auc",
        write=write_impressions,
    ),
    Situation(
        "lists with a column `position`, `{rows}`; `a` is right",
        {"rows": "u a 1, u b 2, u c 3, v b 1, v a 2, v c 3"},
        ask_for_places,
        [
            say(
                'columns={"query": 0, "document": 1, "rank": 2}',
                "1 is the best",
                lambda: mrr({"u": ["a", "b", "c"], "v": ["b", "a", "c"]}, "a"),
                "--list-columns query=0,document=1,rank=2",
            ),
            say(
                'columns={"query": 0, "document": 1, "score": 2}',
                "the highest is the best",
                lambda: mrr({"u": ["c", "b", "a"], "v": ["c", "a", "b"]}, "a"),
                "--list-columns query=0,document=1,score=2",
            ),
        ],
        write=write_places,
    ),
    Situation(
        "judgements, `{rows}`; a list, `{lists}`",
        FOUR_COLUMNS,
        ask_for_judgements,
        [
            say(
                place_columns(2, 3),
                "TREC's columns, of several rounds",
                lambda: mrr_by_columns(2, 3),
            ),
            say(place_columns(1, 2), "user, item, rating, time", lambda: mrr_by_columns(1, 2)),
            say(place_columns(1, 3), "the third is TREC's iteration", lambda: mrr_by_columns(1, 3)),
        ],
        write=write_judgements,
    ),
    Situation(
        "a list, `{lists}`; `a` and `b` are right, `a` is known",
        {"lists": "u: a x b"},
        ask_for_bought,
        [
            say('leaks="drop"', "nobody buys an item again", lambda: mrr({"u": ["x", "b"]}, "b")),
            say(
                'leaks="keep"',
                "some do (default, with a warning)",
                lambda: mrr({"u": ["a", "x", "b"]}, {"u": "ab"}),
            ),
        ],
        write=write_bought,
    ),
    Situation(
        "a list, `{lists}`, of 4 documents; `d` is right",
        {"lists": "u: a b"},
        ask_for_misses,
        [
            say('misses="zero"', "a miss is a failure (default)", lambda: 0.0),
            say(
                'misses="bounds"',
                "`d` has place 3 or 4: their mean, with bounds",
                lambda: (1 / 3 + 1 / 4) / 2,
            ),
        ],
        write=write_misses,
    ),
    Situation(
        "lists, `{lists}`; `a` is right for `u`, nothing for `v`",
        {"lists": "u: a b; v: a b"},
        ask_for_answerless,
        [
            say('answerless="omit"', "`v` has no answer to find (default)", lambda: 1.0),
            say('answerless="zero"', "`v` is a failure, as in trec_eval", lambda: 0.5),
        ],
        write=write_answerless,
    ),
]

# -- facts -----------------------------------------------------------------------------------------

# The model's order of tails for every query, the best first.
ORDER = ["c", "b", "a"]
SCORE = {"a": 0.1, "b": 0.2, "c": 0.3}
Fact = tuple[str, ...]


def read_facts(text: str) -> list[Fact]:
    """Read "a r b, b r c" as facts."""
    return [tuple(fact.split()) for fact in text.split(", ")]


def mrr_of_tails(test: str, known: str = "", *, n_keys: int = 0) -> float:
    """Return the mean of 1 / the filtered rank of tails; keys are further columns of queries."""
    facts = read_facts(test)
    others = facts + (read_facts(known) if known else [])
    total = 0.0
    for fact in facts:
        query = fact[:2] + fact[3 : 3 + n_keys]
        answers = {each[2] for each in others if each[:2] + each[3 : 3 + n_keys] == query}
        before = ORDER[: ORDER.index(fact[2])]
        total += 1 / (1 + len(set(before) - answers))
    return total / len(facts)


def ask_for_tails(data: Mapping[str, str], **options: Any) -> float:
    test = read_facts(data["test"])
    known = {}
    for name in data.keys() - {"test"}:
        known[name] = read_facts(data[name])
    task = link_prediction.Task(test, known, entities=list("abc"), sides=["tail"], **options)
    scores = [[SCORE[name] for name in "abc"]] * len(test)
    return float(task.evaluate_scores(tail=scores)["mrr"])


def write_facts(data: Mapping[str, str]) -> str:
    line = "link-prediction --scores tail=tail.npy --sides tail --labels entities=names.txt"
    for name, text in data.items():
        write_lines(f"{name}.tsv", map("\t".join, read_facts(text)))
        line += f" --known {name}={name}.tsv" if name != "test" else " --test test.tsv"
    write_lines("names.txt", "abc")
    np.save("tail.npy", [[SCORE[name] for name in "abc"]] * len(read_facts(data["test"])))
    return line


TWICE = "a r b, a r b, b r c"
LEAKS = {"test": "a r c, b r b, c r a", "train": "a r c, b r b, b r a"}
WHOLE = {"test": "a r b, b r a", "valid": "a r b, a r c, b r a"}
UNSEEN = {"test": "a r c, b r b", "train": "a r a, c r a"}
FURTHER = {"test": "a r b 1 0, b r a -1 0", "train": "a r c 1 0, b r c 1 0"}
OF_FACTS = [
    Situation(
        "test: `{test}`",
        {"test": TWICE},
        ask_for_tails,
        [
            say('duplicates="drop"', "`a r b` is one fact", lambda: mrr_of_tails("a r b, b r c")),
            say(
                'duplicates="keep"',
                "it happened twice (default, with a warning)",
                lambda: mrr_of_tails(TWICE),
            ),
        ],
        write=write_facts,
    ),
    Situation(
        "test: `{test}`; train: `{train}`",
        LEAKS,
        ask_for_tails,
        [
            say(
                'leaks="drop"',
                "the model was trained on `train`",
                lambda: mrr_of_tails("c r a", LEAKS["train"]),
            ),
            say(
                'leaks="keep"',
                "`train` is a file of all facts (default, with a warning)",
                lambda: mrr_of_tails(LEAKS["test"], LEAKS["train"]),
            ),
        ],
        write=write_facts,
    ),
    Situation(
        "test: `{test}`; valid: `{valid}`",
        WHOLE,
        ask_for_tails,
        [
            say(
                'split="valid"',
                "valid is ranked, or [a sample of it](traps.md#a-sample-of-the-test)",
                lambda: mrr_of_tails(WHOLE["test"], WHOLE["valid"]),
            ),
            Way(
                "`known=` without the rows of the test",
                "valid is a file of all facts, or of other ones",
                lambda: mrr_of_tails(WHOLE["test"], "a r c"),
                changes={"valid": "a r c"},
            ),
        ],
        write=write_facts,
    ),
    Situation(
        "test: `{test}`; train: `{train}`, without `b`",
        UNSEEN,
        ask_for_tails,
        [
            say(
                'unseen="drop"',
                "the vector of `b` was never trained",
                lambda: mrr_of_tails("a r c", UNSEEN["train"]),
            ),
            say(
                'unseen="keep"',
                "it has one, as from its text (default)",
                lambda: mrr_of_tails(UNSEEN["test"], UNSEEN["train"]),
            ),
        ],
        write=write_facts,
    ),
    Situation(
        "test: `{test}`; train: `{train}`",
        FURTHER,
        ask_for_tails,
        [
            say(
                "keys=[3]",
                "the fourth is a time, or else part of the query",
                lambda: mrr_of_tails(FURTHER["test"], FURTHER["train"], n_keys=1),
            ),
            say(
                'columns={"head": 0, "relation": 1, "tail": 2}',
                "it is a weight or a source",
                lambda: mrr_of_tails(FURTHER["test"], FURTHER["train"]),
            ),
            Way(
                "the rows with 1",
                "-1 marks false facts",
                lambda: mrr_of_tails("a r b", "a r c, b r c"),
                changes={"test": "a r b", "train": "a r c, b r c"},
            ),
        ],
        write=write_facts,
    ),
]

# -- ranks that are joined -------------------------------------------------------------------------


def join(parts: Any, **options: Any) -> float:
    return float(tr.report(tr.concatenate(parts, **options))["mrr"])


def rank_parts(data: Mapping[str, str]) -> Any:
    """Return the ranks of tails for each part of a test: by names where `data` has them."""
    parts: list[tr.Ranks] = []
    for part in ("first", "second"):
        test = read_facts(data[part])
        task = link_prediction.Task(test, entities=list("abc"), relations=["r"], sides=["tail"])
        scores = [[SCORE[name] for name in "abc"]] * len(test)
        parts.append(task.evaluate_scores(tail=scores).ranks)
    if "names" in data:
        return dict(zip(data["names"].split(), parts, strict=True))
    return parts


def ask_for_facts(data: Mapping[str, str], **options: Any) -> float:
    return join(rank_parts(data), **options)


LISTS_OF_TWO = "u: x a b; v: c"


def rank_answers(data: Mapping[str, str]) -> list[tr.Ranks]:
    """Return the ranks of right answers for each part of the judgements."""
    parts = []
    for part in ("first", "second"):
        if data[part]:
            task = retrieval.Task(read_lists(data[part]))
            parts.append(task.evaluate_lists(read_lists(LISTS_OF_TWO)).ranks)
    return parts


def ask_for_answers(data: Mapping[str, str], **options: Any) -> float:
    return join(rank_answers(data), **options)


def save_parts(parts: Any) -> str:
    """Save ranks, and return the line that joins several, or evaluates one."""
    names = [f"{name}=" for name in parts] if isinstance(parts, dict) else [""] * len(parts)
    line = "merge" if len(parts) > 1 else "evaluate"
    for i, ranks in enumerate(parts.values() if isinstance(parts, dict) else parts):
        ranks.save(f"{i}.npz")
        line += f" {names[i]}{i}.npz"
    return line


PARTS = {"first": "a r b, b r c", "second": "a r b, c r a"}
CUT = {"first": "u: b", "second": "u: a; v: c"}
OF_PARTS = [
    Situation(
        "tests, `{first}` and `{second}`",
        PARTS,
        ask_for_facts,
        [
            say(
                'repeats="drop"',
                "folds or batches share `a r b`, which counts once",
                lambda: mrr_of_tails("a r b, b r c, c r a"),
            ),
            say(
                'repeats="keep"',
                "it counts each time",
                lambda: mrr_of_tails("a r b, b r c, a r b, c r a"),
            ),
            Way(
                '`{"1": first, "2": second}`',
                "data sets, blocks or batches: equal names mean other things",
                lambda: mrr_of_tails("a1 r b, b1 r c, a2 r b, c2 r a"),
                changes={"names": "1 2"},
            ),
        ],
        write=lambda data: save_parts(rank_parts(data)),
    ),
    Situation(
        f"answers, `{{first}}` and `{{second}}`; lists, `{LISTS_OF_TWO}`",
        CUT,
        ask_for_answers,
        [
            say(
                'repeats="refuse"',
                "folds of each user's items: `u` counts twice",
                lambda: mrr(read_lists("1: x a b; 2: x a b; v: c"), {"1": "b", "2": "a", "v": "c"}),
            ),
            Way(
                "one Task of all answers",
                "a file was cut: `u` is one query",
                lambda: mrr(read_lists(LISTS_OF_TWO), {"u": "ab", "v": "c"}),
                changes={"first": "u: b a; v: c", "second": ""},
            ),
        ],
        write=lambda data: save_parts(rank_answers(data)),
    ),
]

# -- scores and vectors ----------------------------------------------------------------------------


def mrr_at(*places: float) -> float:
    return sum(1 / place for place in places) / len(places)


def read_numbers(text: str, kind: type) -> Any:
    return np.array([[kind(word) for word in text.split()]])


def ask_for_ids(data: Mapping[str, str], **options: Any) -> float:
    ids = read_numbers(data["row"], int)
    if "lists" in data:
        return float(tr.report(tr.rank_lists(ids, None, [0], candidates=10))["mrr"])
    return float(tr.evaluate(ids, [0], **options)["mrr"])


def write_ids(data: Mapping[str, str]) -> str:
    np.save("scores.npy", read_numbers(data["row"], int))
    np.save("targets.npy", [0])
    return "evaluate scores.npy targets.npy"


IDS = {"row": "3 0 9 1 2 4 5 6 7 8"}
DISTANCES = {"scores": "a 0.1, b 0.2, c 0.3, d 0.4"}


def rank_of_first(*, least_is_best: bool) -> int:
    """Return the rank of the first number of the row."""
    first, *others = map(int, IDS["row"].split())
    return 1 + sum((x < first) == least_is_best for x in others)


def ask_for_rising(data: Mapping[str, str], **options: Any) -> float:
    row = dict(pair.split() for pair in data["scores"].split(", "))
    lists = {query: {name: float(x) for name, x in row.items()} for query in "uvw"}
    task = retrieval.Task({query: ["b"] for query in lists})
    return float(task.evaluate_lists(lists, **options)["mrr"])


def write_rising(data: Mapping[str, str]) -> str:
    rows = [pair.split() for pair in data["scores"].split(", ")]
    write_lines("qrels.txt", [f"{query} 0 b 1" for query in "uvw"])
    lines = [f"{query},{name},{x}" for query in "uvw" for name, x in rows]
    write_lines("lists.csv", ["query,document,score", *lines])
    return "retrieval --qrels qrels.txt --lists lists.csv"


def read_complex(data: Mapping[str, str]) -> tuple[Any, Any]:
    queries, entities = (read_numbers(data[name], complex).T for name in ("query", "entities"))
    if "real" in data:
        return queries.view(float), entities.view(float)
    return queries, entities


def ask_for_complex(data: Mapping[str, str], **options: Any) -> float:
    given = {"similarity": "dot"} | options
    return float(tr.report(tr.rank_embeddings(*read_complex(data), [1], **given))["mrr"])


COMPLEX = {"query": "1+1j", "entities": "2+2j 1+0.5j"}
BYTES = {"query": "250", "entities": "1 200"}


def save_bytes(data: Mapping[str, str]) -> None:
    for name in ("query", "entities"):
        numbers = bytes(map(int, data[name].split()))
        Path(f"{name}.bin").write_bytes(struct.pack("<II", len(numbers), 1) + numbers)


def ask_for_bytes(data: Mapping[str, str], **options: Any) -> float:
    save_bytes(data)
    files = "query.bin", "entities.bin"
    return float(tr.report(tr.rank_embeddings(*files, [1], similarity="l2", **options))["mrr"])


def ask_for_raw(data: Mapping[str, str], **options: Any) -> float:
    queries, entities = (
        np.array([[int(word, 16)] for word in data[name].split()], np.uint16).view("V2")
        for name in ("query", "entities")
    )
    if "half" in data:
        queries, entities = queries.view(np.float16), entities.view(np.float16)
    ranks = tr.rank_embeddings(queries, entities, [1], similarity="l2", **options)
    return float(tr.report(ranks)["mrr"])


RAW = {"query": "3F80", "entities": "4000 3E80"}


def rank_of_second(query: complex, entities: list[complex]) -> int:
    """Return the rank of the second by its distance."""
    first, second = (abs(query - entity) for entity in entities)
    return 1 + (first < second)


OF_SCORES = [
    Situation(
        "a row of scores, `{row}`; column 0 is right",
        IDS,
        ask_for_ids,
        [
            say(
                'order="ascending"',
                "they are ranks",
                lambda: mrr_at(rank_of_first(least_is_best=True)),
            ),
            say(
                'order="descending"',
                "they are points, as Borda's",
                lambda: mrr_at(rank_of_first(least_is_best=False)),
            ),
            Way(
                "`rank_lists`, or `evaluate_lists` of a Task",
                "they are ids, as of `argsort`",
                lambda: mrr_at(1 + IDS["row"].split().index("0")),
                changes={"lists": ""},
                line=None,
            ),
        ],
        write=write_ids,
    ),
    Situation(
        "three lists, each `{scores}`; `b` is right",
        DISTANCES,
        ask_for_rising,
        [
            say('order="ascending"', "they are distances", lambda: mrr_at(2, 2, 2)),
            say('order="descending"', "the best is last", lambda: mrr_at(3, 3, 3)),
        ],
        write=write_rising,
    ),
    Situation(
        "complex vectors, `{query}` and `{entities}`; the last is right",
        COMPLEX,
        ask_for_complex,
        [
            say(
                'similarity="complex_l1"',
                "the model is RotatE",
                lambda: mrr_at(rank_of_second(1 + 1j, [2 + 2j, 1 + 0.5j])),
            ),
            Way(
                '`.view(float)`, `similarity="dot"`',
                "it is ComplEx",
                lambda: mrr_at(1 + (1 * 2 + 1 * 2 > 1 * 1 + 1 * 0.5)),
                changes={"real": ""},
            ),
        ],
    ),
    Situation(
        "bytes in `.bin`, `{query}` and `{entities}`; the last is right",
        BYTES,
        ask_for_bytes,
        [
            say(
                'dtype="uint8"', "they have no sign", lambda: mrr_at(rank_of_second(250, [1, 200]))
            ),
            say(
                'dtype="int8"',
                "they have one: 250 is -6",
                lambda: mrr_at(rank_of_second(-6, [1, -56])),
            ),
        ],
    ),
    Situation(
        "raw numbers of two bytes, `{query}` and `{entities}`; the last is right",
        RAW,
        ask_for_raw,
        [
            say('dtype="bfloat16"', "3F80 is 1", lambda: mrr_at(rank_of_second(1, [2, 0.25]))),
            Way(
                "`.view(np.float16)`",
                "3F80 is 1.875",
                lambda: mrr_at(rank_of_second(1.875, [2, 1.625])),
                changes={"half": ""},
            ),
        ],
    ),
]

# By their headings on the page.
SECTIONS = {
    "Lists and judgements": OF_LISTS,
    "Facts": OF_FACTS,
    "Ranks that are joined": OF_PARTS,
    "Scores and vectors": OF_SCORES,
}
