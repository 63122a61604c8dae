"""Lines of text, plain and gzipped: in linear time, and within limits on lines and on unpacking."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.interruptions import allocating_at_most
from support.refusals import refusal
from truerank import alignment, link_prediction
from truerank.splits import text
from truerank.splits.text import RowForm, line_of, open_rows, read_rows, text_blocks


def codes(_column: int, fields: Any) -> Any:
    return np.array(list(map(len, fields)), np.int64)


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
            patch.setattr(text, "_BLOCK_BYTES", size)
            patch.setattr(text, "MAX_LINE_BYTES", 10)
            if too_long:
                with pytest.raises(
                    ValueError, match=f"x.*: line {too_long[0]} has more than 10 by"
                ):
                    list(text_blocks("triples", str(path)))
                continue
            blocks = list(text_blocks("triples", str(path)))
            assert "".join(blocks).encode() == content
            assert all(block.endswith("\n") for block in blocks[:-1])
            assert all(blocks)


BOMB = gzip.compress(bytes(1 << 20)) * 400  # 400 MiB without an end of line


@pytest.mark.parametrize("reader", [link_prediction.read_triples, alignment.read_pairs])
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_an_end(
    tmp_path: Path, reader: Callable[[Path], Any], packed: bool, sanitized: bool
) -> None:
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
        refusal(ValueError, words, reader, path)


def test_a_row_has_only_so_many_columns(tmp_path: Path) -> None:
    """A line of tabs would be a million columns, each with labels of its own."""
    (tmp_path / "x").write_bytes(b"\n\na\tb\tc" + b"\t" * (1 << 20))
    with pytest.raises(
        ValueError,
        match=r"line 3: .*got 'a\\tb\\tc\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\",
    ):
        link_prediction.read_triples(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"\t".join([b"a"] * 1000))
    assert link_prediction.read_triples(tmp_path / "x").ids.shape == (1, 1000)


def test_lines_of_rows(tmp_path: Path) -> None:
    """A line is found again whatever stands before it, and however large the file is unpacked."""
    content = b"\xef\xbb\xbf\r\n\r\n  \na\tb\r\n\nc\td\n" + b"\n" * 300_000 + b"e\tf"
    (tmp_path / "x").write_bytes(content)
    (tmp_path / "x.gz").write_bytes(gzip.compress(content))
    for path in (str(tmp_path / "x"), str(tmp_path / "x.gz")):
        assert [line_of(path, row) for row in range(3)] == [4, 6, 300_007]
        rows = open_rows("pairs", path, RowForm(("left", "right"), more_columns=True))
        assert rows is not None
        assert [column.tolist() for column in read_rows(rows, (1, 0), codes)] == [[1, 1, 1]] * 2


ROWS = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a")]


def written(path: Path, rows: Any, between: str = "\t") -> Path:
    path.write_text("".join(between.join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("header", "order"),  # the place of the head, of the relation, of the tail
    [
        ("h\tr\tt", (0, 1, 2)),
        ("o\ts\tp", (1, 2, 0)),
        ("tail_id\thead_id\trel_id", (1, 2, 0)),
        (":START_ID(Person)\t:END_ID(Person)\t:TYPE", (0, 2, 1)),
        ("head_id:token\ttail_id:token\trelation_id:token", (0, 2, 1)),
    ],
)
def test_words_of_the_table_are_read_by_their_order(
    tmp_path: Path, header: str, order: tuple[int, int, int]
) -> None:
    rows = [[row[order.index(j)] for j in range(3)] for row in ROWS]
    path = written(tmp_path / "x.tsv", [header.split("\t"), *rows])
    with pytest.warns(UserWarning, match="a header: left out"):
        found = link_prediction.read_triples(path)
    plain = link_prediction.read_triples(ROWS)
    assert found.entities == plain.entities
    assert found.ids.tolist() == plain.ids.tolist()
