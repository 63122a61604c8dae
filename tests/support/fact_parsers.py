"""Files of complex queries and of statements for `support.parsers`: how they are read and used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truerank.link_prediction import (
    Statements,
    Task,
    read_queries,
    read_statements,
    write_queries,
)

Rows = list[list[str | int]]


def read_query_file(path: Path) -> Any:
    """Return what was read, after it was written and read again."""
    found = read_queries(path)
    assert len({len(part) for part in found}) == 1
    copy = path.with_name(f"copy{path.suffix}")
    try:
        write_queries(copy, *found[:3], structures=found.structures)
        assert read_queries(copy) == found
    finally:
        copy.unlink(missing_ok=True)
    return found


def query_files() -> list[bytes]:
    first = b'{"structure": "2p", "query": ["a", ["r", -2]], "easy": ["b"], "hard": ["c", "d"]}\n'
    return [first, first + b'\n{"structure": "1p", "query": 7, "hard": []}\r\n', b""]


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, the plain way."""
    text = path.read_bytes().decode().removeprefix("\ufeff")
    return text.replace("\r\n", "\n").removesuffix("\r").split("\n")


def read_statement_file(path: Path) -> Any:
    """Return the statements, which are those of the lines as Python splits them."""
    found = rows_of(read_statements(path))
    lines = [line for line in lines_of(path) if line.strip(" ")]
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    assert found == [line.split(delimiter) for line in lines]
    return found if not found else used(path, found)


def read_json_statement_file(path: Path) -> Any:
    """Return the statements, which are those of the lines as Python's JSON has them."""
    found = rows_of(read_statements(path))
    rows = [json.loads(line) for line in lines_of(path) if line.strip()]
    assert len(found) == len(rows)
    assert all(a == b for a, b in zip(found, rows, strict=True) if isinstance(b, list))
    return found if not found else used(path, found)


def rows_of(read: Statements) -> Rows:
    """Return statements by their labels, or by ids."""
    entities, relations = read.entities or range(2**63), read.relations or range(2**63)
    rows = []
    for i, (head, relation, tail) in enumerate(read.triples.tolist()):
        row = [entities[head], relations[relation], entities[tail]]
        for r, value in read.qualifiers[read.indptr[i] : read.indptr[i + 1]].tolist():
            row += [relations[r], entities[value]]
        rows.append(row)
    return rows


def used(path: Path, rows: Rows) -> Any:
    """Make the tasks, which are those of the distinct statements."""
    facts = [(*row[:3], frozenset(zip(row[3::2], row[4::2], strict=True))) for row in rows]
    has_pairs = any(fact[3] for fact in facts)
    sides = ["head", "tail", "qualifier"] if has_pairs else ["head", "tail"]
    task = Task(path, sides=sides, duplicates="drop", statements=True)
    distinct = set(facts)
    assert len(task.tail) == len(distinct)
    assert not has_pairs or len(task.qualifier) == sum(len(fact[3]) for fact in distinct)
    return rows


def statement_files() -> list[bytes]:
    return [b"a,r,b,q,c,q,d\nb,r,a\n\na,r,b\r\n", b"a\tr\tb\tq\tc d\n", b""]


def json_statement_files() -> list[bytes]:
    objects = b'{"r_h": "a", "r_t": "b", "N": 4, "q": ["c", "d"], "s": "e"}\n'
    return [b'["a", "r", "b", "q", "c"]\n' + objects, b"[0, 0, 1, 1, 0]\n\n[1, 0, 0]\n", objects]
