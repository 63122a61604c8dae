"""Files of lists for `support.parsers`: how they are read and used, and valid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import truerank as tr
from truerank.link_prediction import read_predictions


def _used(lists: tr.NamedLists) -> Any:
    """Return what was read, after it was ranked; a list's entries are found by name."""
    answers = {query: name for query in lists.queries for name in lists[query]}
    ranks = lists.rank(answers, candidates=len(lists.names) + 1, nan="worst")
    assert len(ranks) == len(answers)
    return [(query, repr(lists[query])) for query in lists.queries]


def read_run_file(path: Path) -> Any:
    return _used(tr.read_run(path))


def read_json_file(path: Path) -> Any:
    return _used(tr.read_json_lists(path))


def read_prediction_file(path: Path) -> Any:
    found = read_predictions(path)
    assert int(found.ids.max(initial=-1)) < len(found.entities)
    assert found.indptr[-1] == len(found.ids)
    assert len(found.indptr) == 2 * len(found) + 1
    entries = found.indptr.tolist(), found.ids.tolist(), repr(found.scores.tolist())
    return found.triples.tolist(), found.entities, found.relations, found.lists.tolist(), *entries


def run_files() -> list[bytes]:
    return [b"q1 Q0 d7 1 2.5 t\nq1\tQ0\td3\t2\t-1e-3\tt\r\n\nq2 Q0 d3 1 nan t\n", b""]


def json_files() -> list[bytes]:
    one = b'{"q1": {"d7": 2.5, "d3": 1}, "q2": {}}'
    lines = b'{"q1": {"d7": 2.5}}\n{"q2": {"d3": NaN}}\n'
    return [one, lines, b'[{"a": 1}, {}]', b'{"a": 1}\n{"b": 2}', b'{"q": ["a", "b"], "p": []}']


def prediction_files() -> list[bytes]:
    first = b"a likes b\nHeads: a\t0.9\tc\t0.2\t\nTails: c\t0.5\t\n"
    return [first, b"a b\tlikes\tc\nTails: \nHeads: a b\t1\n\n" + first]
