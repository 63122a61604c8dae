"""Lines of text, plain and gzipped: in linear time, and within limits on lines and on unpacking."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.interruptions import allocating_at_most
from support.refusals import refusal
from truerank import _core, alignment, link_prediction
from truerank.records import text
from truerank.records.columns import FACTS, PAIRS
from truerank.records.text import find_form, find_line_number, read_rows, text_blocks


@given(
    st.lists(st.sampled_from([b"", b"a", b"bc", b"d" * 9, b"e" * 10, b"f" * 11, b"g" * 30])),
    st.booleans(),
    st.integers(1, 12),
)
def test_blocks_have_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool, size: int
) -> None:
    """Whatever the size of a block, and up to the longest line that is allowed."""
    content = b"\n".join(lines) + b"\n" * ended
    too_long = [number for number, line in enumerate(lines, 1) if len(line) > 10]
    for name, written in (("x", content), ("x.gz", gzip.compress(content))):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(written)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, "BLOCK_BYTES", size)
            patch.setattr(text, "MAX_LINE_BYTES", 10)
            if too_long:
                with pytest.raises(
                    ValueError, match=f"x.*: line {too_long[0]} has more than 10 by"
                ):
                    list(text_blocks("triples", str(path)))
                continue
            numbered = list(text_blocks("triples", str(path)))
            blocks = [block for _, block in numbered]
            ends = np.cumsum([block.count("\n") for block in blocks])
            assert [number for number, _ in numbered] == [1, *(1 + ends)][: len(blocks)]
            assert "".join(blocks).encode() == content
            assert all(block.endswith("\n") for block in blocks[:-1])
            assert all(blocks)


BOMB = gzip.compress(bytes(1 << 20)) * 400  # 400 MiB without an end of line


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_an_end(tmp_path: Path, packed: bool, sanitized: bool) -> None:
    """With as much work and memory as the longest line that is allowed."""
    path = tmp_path / "x.tsv"
    if packed:
        path = tmp_path / "x.gz"
        path.write_bytes(BOMB)
        assert path.stat().st_size < 1 << 19
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    words = "line 1 has more than 16,777,216 bytes"
    most = np.inf if sanitized else 100 << 20
    with allocating_at_most(most):
        refusal(ValueError, words, link_prediction.read_triples, path)


def test_a_row_has_only_so_many_columns(tmp_path: Path) -> None:
    """A line of tabs would be a million columns, each with labels of its own."""
    (tmp_path / "x").write_bytes(b"\n\na\tb\tc" + b"\t" * (1 << 20))
    words = r"line 3: .*got 'a\\tb\\tc\\t\\t\\t\\t"
    refusal(ValueError, words, link_prediction.read_triples, tmp_path / "x")
    (tmp_path / "x").write_bytes(b"\t".join([b"a"] * 1000))
    assert link_prediction.read_triples(tmp_path / "x").ids.shape == (1, 1000)


def test_lines_of_rows(tmp_path: Path) -> None:
    """A line is found again whatever stands before it, and however large the file is unpacked."""
    content = b"\xef\xbb\xbf\r\n\r\n  \na\tb\r\n\nc\td\n" + b"\n" * 300_000 + b"e\tf"
    (tmp_path / "x").write_bytes(content)
    (tmp_path / "x.gz").write_bytes(gzip.compress(content))
    for path in (str(tmp_path / "x"), str(tmp_path / "x.gz")):
        assert [find_line_number(path, row) for row in range(3)] == [4, 6, 300_007]
        form = find_form("pairs", path, PAIRS)
        assert form is not None
        names = {1: _core.Names(), 0: _core.Names()}
        columns, *_ = read_rows("pairs", path, PAIRS, form, names)
        assert [column.ids.tolist() for column in columns.values()] == [[0, 1, 2]] * 2
        assert columns[1].listed == names[1].listed() == ("b", "d", "f")
        assert columns[0].listed == names[0].listed() == ("a", "c", "e")


def written(path: Path, rows: Any, between: str = "\t") -> Path:
    path.write_text("".join(between.join(row) + "\n" for row in rows))
    return path


NODES = [f"e{i}" for i in range(9)]
LOOP = [(f"e{i}", f"r{i % 2}", f"e{(i + 1) % 9}") for i in range(9)]
NAMES = {"head": ["h", "head"], "relation": ["r", "relation"], "tail": ["t", "tail"]}


@given(
    st.permutations(["head", "relation", "tail", "beside"]),
    st.data(),
    st.sampled_from(["x.tsv", "x.csv"]),
)
def test_columns_in_any_order_give_the_same_facts(
    tmp_path_factory: pytest.TempPathFactory, order: list[str], data: Any, name: str
) -> None:
    """Whether a header names them, or columns= by names or by numbers does."""
    fields = dict(zip(NAMES, zip(*LOOP, strict=True), strict=True))
    words = {role: data.draw(st.sampled_from(names)) for role, names in NAMES.items()}
    header = [words[role] for role in order if role != "beside"]
    alone = zip(*(fields[role] for role in order if role != "beside"), strict=True)
    fields["beside"] = ("0.5",) * 9
    rows = list(zip(*(fields[role] for role in order), strict=True))
    unknown = [f"name of {role}" for role in order]
    named = {role: f"name of {role}" for role in NAMES}
    path = tmp_path_factory.getbasetemp() / name
    expected = link_prediction.Task(LOOP, {}, entities=NODES)
    for content, options in (
        ([header, *alone], {"header": True}),
        (rows, {"columns": {role: order.index(role) for role in NAMES}}),
        ([unknown, *rows], {"columns": named, "header": True}),
    ):
        written(path, content, "," if name == "x.csv" else "\t")
        task = link_prediction.Task(path, {}, entities=NODES, **options)
        assert task.test.tolist() == expected.test.tolist()
        assert task.relations == expected.relations


FIELDS = st.sampled_from([*NODES, "r0", "r1", "u", "v", "w", "head", "h"])


@given(
    st.tuples(FIELDS, FIELDS, FIELDS).filter(lambda first: first not in LOOP),
    st.sampled_from([9, 4]),
    st.sampled_from(["", "new", "u"]),
)
def test_a_first_line_that_may_be_a_header_is_never_a_fact(
    tmp_path_factory: pytest.TempPathFactory, first: tuple[str, str, str], lines: int, known: str
) -> None:
    """By the rule in words: three lines and more, and no field that occurs elsewhere."""
    path = written(tmp_path_factory.getbasetemp() / "facts.tsv", [first, *LOOP[:lines]])
    options: dict[str, Any] = {"known": {"train": [("e0", "r0", known)]}} if known else {}
    entities = {label for row in LOOP[:lines] for label in row[::2]} | {known}
    occurs = {first[0], first[2]} & entities or first[1] in ("r0", "r1")
    is_header = sorted(map(FACTS.role_of, first), key=str) == ["head", "relation", "tail"]
    if is_header:
        words = "facts.tsv: the first line may be a header, as it names .*; header=True says"
        refusal(ValueError, words, link_prediction.Task, path, **options)
    elif not occurs:
        words = "facts.tsv: the first line may be a header, as its fields occur nowhere else"
        refusal(ValueError, words, link_prediction.Task, path, **options)
    else:
        task = link_prediction.Task(path, **options)
        assert len(task.test) == lines + 1
    assert len(link_prediction.Task(path, header=False, **options).test) == lines + 1


def test_pairs_have_headers_of_the_table_alone(tmp_path: Path) -> None:
    """Every line of theirs is one whose fields occur nowhere else."""
    rows = [(f"b{i}", f"a{i}") for i in range(20)]
    order = {"left": [row[1] for row in rows], "right": [row[0] for row in rows]}
    path = written(tmp_path / "x", [("right", "left"), *rows])
    refusal(ValueError, "reads 'right.*left'", alignment.Task, path, **order)
    task = alignment.Task(path, **order, header=True)
    assert task.pairs.tolist() == [[i, i] for i in range(20)]
    assert "header" in [finding.name for finding in task.audit]
    columns = {"left": "ours", "right": "theirs"}
    named = written(tmp_path / "x", [("theirs", "ours"), *rows])
    assert len(alignment.Task(named, **order, columns=columns, header=True).pairs) == 20
    refusal(ValueError, "header=True", alignment.Task, named, **order, columns=columns)


def test_csv_has_quotes(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv.gz"
    path.write_bytes(gzip.compress(b'"oslo, city",in,"so ""called"" norway"\r\n\r\nb , in, "c"\n'))
    found = link_prediction.read_triples(path)
    assert found.entities == ("b", "c", "oslo, city", 'so "called" norway')
    assert found.ids.tolist() == [[2, 0, 3], [0, 0, 1]]
    (tmp_path / "facts.tsv").write_text('"a\tr\tb"\n')  # between tabs quotes are characters
    assert link_prediction.read_triples(tmp_path / "facts.tsv").entities == ('"a', 'b"')


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,r,b\nb,r,"c\nd",r,e\n', 2),
        ('a,r,b\nb,r,"c"d\n', 2),
        ("a,r,b\nb,r\n", 2),
        ("a,r,b\nb,r,\n", 2),
        ("a\tr\tb\n", 1),
    ],
)
def test_csv_that_is_none(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "facts.csv").write_text(text)
    words = f"facts.csv: line {line}: expected"
    refusal(ValueError, words, link_prediction.read_triples, tmp_path / "facts.csv")
