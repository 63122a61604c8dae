"""Text, plain or gzipped, read block by block; and tab-separated rows with the form they have."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input
from ..inputs.naming import printable
from ..inputs.progress_listeners import Progress, as_listener
from .elements import is_integer_text, without_blanks

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..inputs.progress_listeners import Listener

TRIPLE = ("head", "relation", "tail")
_BLOCK_BYTES = 1 << 17  # the fields of a block are Python strings, which stay in the cache
# No name is as long, and no row has as many columns: what else a file may hold is not read on.
MAX_LINE_BYTES = 1 << 24
MAX_COLUMNS = 1000
_TYPES = (":token", ":float", ":token_seq", ":float_seq")  # of RecBole, in headers


class RowForm(NamedTuple):
    """The columns of a row.

    Attributes
    ----------
    columns : tuple of str
        The columns that every row has.
    vocabularies : tuple of int
        For each column the first one with the same labels: (0, 1, 0) for head, relation, tail.
    more_columns : bool
        Whether more columns may follow; each of them has its own labels.
    headings : tuple of frozenset of str
        The words, in lower case, by which a header calls each column. A file's first line of such
        words alone, perhaps with types of RecBole (``head_id:token``), is a header.
    counted : tuple of int
        The columns of files that begin with a line that counts the others, in their order there,
        as OpenKE has (0, 2, 1): heads, tails and relations. Empty: no file does.
    """

    columns: tuple[str, ...]
    vocabularies: tuple[int, ...] = ()
    more_columns: bool = False
    headings: tuple[frozenset[str], ...] = ()
    counted: tuple[int, ...] = ()

    @property
    def expected(self) -> str:
        """The columns that rows must have, for messages.

        Examples
        --------
        >>> RowForm(("left", "right"), (0, 1)).expected
        '2 columns (left, right)'
        >>> RowForm(("head", "relation", "tail"), (0, 1, 0), more_columns=True).expected
        'at least 3 columns (head, relation, tail)'
        """
        columns = f"{len(self.columns)} columns ({', '.join(self.columns)})"
        if self.more_columns:
            return f"at least {columns}"
        return columns

    def fits(self, width: int) -> bool:
        """Return whether rows may have this number of columns."""
        if self.more_columns:
            return len(self.columns) <= width <= MAX_COLUMNS
        return width == len(self.columns)

    def is_header(self, row: str) -> bool:
        """Return whether a line names the columns.

        Examples
        --------
        >>> headings = frozenset({"left"}), frozenset({"right"})
        >>> form = RowForm(("left", "right"), (0, 1), headings=headings)
        >>> form.is_header("#Left\\t'right'"), form.is_header("left\\tpage")
        (True, False)
        """
        words = []
        for field in row.split("\t"):
            word = field.strip(" #'\"").lower()
            for kind in _TYPES:
                word = word.removesuffix(kind)
            words.append(word)
        pairs = zip(words, self.headings, strict=False)
        has_all = bool(self.headings) and len(words) >= len(self.headings)
        return has_all and all(word in names for word, names in pairs)


def read_text(
    name: str,
    path: str,
    coder: Callable[[int, Sequence[str]], IntArray],
    form: RowForm,
    notes: list[str] | None = None,
) -> list[IntArray]:
    """Read the columns of a tab-separated file.

    Lines end in LF or CRLF; empty lines are skipped, and a byte order mark is dropped. There is no
    quoting. Blanks at the ends of a field belong to no label, and are left out; those within it are
    kept. A header is left out, with a note.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A file in UTF-8, gzipped if its name ends in .gz.
    coder : callable
        Encodes the fields of a column as integers: f(position, fields).
    form : RowForm
        Its columns may not have empty fields; there are at most `MAX_COLUMNS` in all.
    notes : list of str, optional
        Gets a line about a header.

    Returns
    -------
    list of ndarray of int64
        The columns; an empty list for a file without lines.

    Raises
    ------
    ValueError
        For a line with another number of columns than the first line or than expected, an empty
        field among those of the form, and as `text_blocks` does; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    if form.counted:
        first = next(text_lines(name, path), (1, ""))[1].strip(" ")
        if is_integer_text(first):
            return _read_counted(name, path, coder, form, notes)
    return _read_rows(name, path, coder, form, notes)


def _read_rows(
    name: str,
    path: str,
    coder: Callable[[int, Sequence[str]], IntArray],
    form: RowForm,
    notes: list[str] | None,
) -> list[IntArray]:
    """Read the columns of a file as `read_text` does, whatever its first line is."""
    title = f"{name}: {path}"
    width = 0  # the number of columns, once the first row is read
    line = 1
    blocks: list[list[IntArray]] = []
    for text in text_blocks(name, path):
        lines = text.removesuffix("\n").split("\n")
        rows: Sequence[str] = list(filter(None, lines))
        if _tab_counts(rows) != {width - 1}:  # the first block, lines of blanks, or a wrong width
            rows = [row for row in rows if row.strip(" ")]
            if rows and not width:
                width = rows[0].count("\t") + 1
            if rows and not blocks and form.is_header(rows[0]):
                if notes is not None:
                    words = rows[0].replace("\t", " ")
                    notes.append(f'{title}: the first line reads "{words}", a header: left out')
                rows = rows[1:]
        if rows:
            if not form.fits(width) or _tab_counts(rows) != {width - 1}:
                raise _wrong_line(title, lines, line, width, form)
            columns = _columns_of(rows, width)
            if any("" in column for column in columns[: len(form.columns)]):
                raise _wrong_line(title, lines, line, width, form)
            blocks.append([coder(j, column) for j, column in enumerate(columns)])
        line += len(lines)
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def _read_counted(
    name: str,
    path: str,
    coder: Callable[[int, Sequence[str]], IntArray],
    form: RowForm,
    notes: list[str] | None,
) -> list[IntArray]:
    """Read a file of OpenKE: a count, and as many lines of integers, in an order of their own."""
    title = f"{name}: {path}"
    names = ", ".join(form.columns[j] for j in form.counted)
    lines = text_lines(name, path)
    count = int(next(lines)[1])
    rows: list[list[str]] = []
    for number, line in lines:
        fields = line.replace("\t", " ").split()
        if len(fields) != len(form.counted) or not all(map(is_integer_text, fields)):
            expected = f"{len(form.counted)} integers ({names}), as OpenKE has below a count"
            place = f"line {number}"
            raise InputValueError(title, expected=expected, got=repr(line), place=place)
        rows.append(fields)
    if len(rows) != count:
        expected = f"{count} rows, as the first line counts"
        raise InputValueError(title, expected=expected, got=len(rows))
    if notes is not None:
        text = "the first line is a count, as OpenKE has: rows are read as"
        notes.append(f"{title}: {text} {names}")
    if not rows:
        return []
    return [coder(j, [row[form.counted.index(j)] for row in rows]) for j in range(len(rows[0]))]


def _tab_counts(rows: Sequence[str]) -> set[int]:
    """Return how many tabs rows have, each number once."""
    return {row.count("\t") for row in rows}


def _columns_of(rows: Sequence[str], width: int) -> list[list[str]]:
    """Return the fields of each column, without blanks at their ends."""
    joined = "\t".join(rows)
    fields = joined.split("\t")
    if " \t" in joined or "\t " in joined or joined[0] == " " or joined[-1] == " ":
        fields = list(map(without_blanks, fields))
    return [fields[column::width] for column in range(width)]


def _wrong_line(
    title: str, lines: Sequence[str], first: int, width: int, form: RowForm
) -> InputValueError:
    """Return the error for the first line with empty fields, or with another number of them."""

    def is_wrong(row: str) -> bool:
        fields = list(map(without_blanks, row.split("\t", MAX_COLUMNS)))
        is_right = form.fits(width) and len(fields) == width and all(fields[: len(form.columns)])
        return row.strip(" ") != "" and not is_right

    i = next(i for i, row in enumerate(lines) if is_wrong(row))
    expected = f"{form.expected}, as many in all lines, with tabs between them and none empty"
    place = f"line {first + i}"
    return InputValueError(title, expected=expected, got=repr(lines[i]), place=place)


def line_of(path: str, row: int) -> int:
    """Return the number of the line, from 1, of a row of a file's columns.

    It reads the file again: only messages need it, and readers do not count lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/pairs.tsv", "w") as file:
    ...         _ = file.write("a\\tb\\n\\nc\\td\\n")
    ...     line_of(f"{folder}/pairs.tsv", 1)
    3
    """
    return next(islice(text_lines(path, path), row, None))[0]


def text_lines(
    name: str, path: str, progress: bool | Listener | None = None, *, blanks: str = " \t"
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that have more than blanks, numbered, as `text_blocks` reads."""
    first = 1
    for text in text_blocks(name, path, progress):
        rows = text.removesuffix("\n").split("\n")
        for row in compress(enumerate(rows, first), rows):  # an empty line costs next to nothing
            if row[1].strip(blanks):
                yield row
        first += len(rows)


def text_blocks(name: str, path: str, progress: bool | Listener | None = None) -> Iterator[str]:
    """Yield a file in blocks of whole lines, which end in LF, without a byte order mark.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A regular file in UTF-8, gzipped if its name ends in .gz. Lines end in LF or CRLF.
    progress : callable or bool, optional
        Called with a `Progress`, in bytes of the file, after every block; True shows a bar.

    Raises
    ------
    ValueError
        For a file that is not a regular one, a CR within a line, text that is not UTF-8, and a line
        of more than `MAX_LINE_BYTES`; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    import gzip
    import zlib

    listener = as_listener(progress)
    start = time.monotonic()
    title = f"{name}: {path}"
    line = 1
    with open_input(name, path) as plain_file:
        size = os.fstat(plain_file.fileno()).st_size
        is_packed = path.endswith(".gz")
        if is_packed and not size:  # gzip would take it for a file without text
            raise OSError(printable(f"{title}: damaged gzip file (it is empty)"))
        file: Any = plain_file
        if is_packed:
            file = gzip.GzipFile(fileobj=plain_file)
        while True:
            try:
                block = file.read(_BLOCK_BYTES)
                if not block.endswith(b"\n"):  # no more is read of a line that is too long
                    block += file.readline(MAX_LINE_BYTES + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise OSError(printable(f"{title}: damaged gzip file ({error})")) from None
            if not block:
                return
            if listener is not None:
                listener(Progress(plain_file.tell(), size, time.monotonic() - start))
            text = _decode(title, block, line)
            if line == 1:
                text = text.removeprefix("\ufeff")
            yield text
            line += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _decode(title: str, block: bytes, first: int) -> str:
    """Return the text of whole lines, of which the first has this number, with LF at their ends."""
    whole = block.removesuffix(b"\n")
    if len(whole) - whole.rfind(b"\n") > MAX_LINE_BYTES + 1:  # of its last line, as it was read
        number = first + whole.count(b"\n")
        problem = f"line {number} has more than {MAX_LINE_BYTES:,} bytes"
        raise InputValueError(title, problem)
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        number = first + block.count(b"\n", 0, error.start)
        raise InputValueError(title, f"line {number} is not in UTF-8 ({error})") from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
        if "\r" in text:
            number = first + text.partition("\r")[0].count("\n")
            raise InputValueError(title, f"line {number} has a carriage return in a field")
    return text


def is_path(value: object) -> bool:
    """Return whether this is the path of a file."""
    return isinstance(value, (str, os.PathLike))
