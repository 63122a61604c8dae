"""Files of lists and of right answers: TREC runs and qrels, and tables with a header."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name
from ..errors import InputValueError
from ..naming import public
from ..tables.cells import format_count
from .column_roles import JUDGEMENTS, LISTS, check_columns
from .judgements import Qrels, read_grades
from .line_forms import (
    LEAST_TIME,
    NOT_OF_TREC,
    TREC_QRELS_FORM,
    LineForm,
    LineReader,
    data_lines,
    form_of_file,
    numbers_said,
)
from .named_lists import (
    ListEntries,
    NamedLists,
    first_of_equal,
    lists_of_entries,
    rising_ranks,
)
from .text import fields_of, read_blocks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener, Progress


@public("truerank")
def read_run(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str | int] | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read a run, as of TREC: lines ``qid Q0 docid rank score tag``, one for each document listed.

    The scores say how documents are ranked, and equal ones tie; the ranks in the file and the order
    of its lines say nothing, as in trec_eval (which breaks ties by the names of documents). The
    lines of a query need not follow each other. Other lines have the columns of a header, or those
    that `columns` says; without either they are read where they leave no choice:

    ========================  ==================================================================
    fields                    a run
    ========================  ==================================================================
    six                       of TREC, pyserini and ir_datasets
    query document n          n are ranks if they read 1, 2, 3, ... (or 0, 1, ...) in the order of
                              the lines of each query, as MS MARCO has them: lists in order alone;
                              they are scores if one is no whole number
    query document n n        a rank, as above, and a score that never rises within a query
                              (ColBERT), or the other way round
    those of a header         names such as query-id, corpus-id, score and rank, in any order
    ========================  ==================================================================

    Anything else is refused. ``source`` of the lists, and reports of them, name the form, and the
    columns that are left out.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Blanks and tabs stand between fields, or
        tabs alone where a header or `columns` says what they are and the first line has one; empty
        lines, and those that begin with #, are skipped.
    columns : mapping of str to (str or int), optional
        Which columns are meant: the name in the header, or the number from 0 on, of "query",
        "document" and, perhaps, "score" or "rank". Others are left out.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress`, in bytes of the file, after every block of lines.

    Returns
    -------
    NamedLists

    Raises
    ------
    ValueError
        For columns that may be read in two ways; for a line that is not of the form of the first
        one, or begins with a byte order mark although it is not the first; for a document that a
        query has twice with unlike scores or ranks; and for a score that a float64 does not hold
        (see Notes). The error names the line, or the query.
    OSError
        For a file that is missing or damaged.

    Notes
    -----
    A score is the float64 that is nearest to the decimal in the file, as Python's float is. Nearly
    all decimals are rounded so, and that is no error. These scores are errors, since others could
    become equal to them: one that is not 0 and would become 0 or infinite (1e-400, 1e400), and one
    from 2**53 on, in absolute value, whose digits go down to the units, however it is written, and
    would be changed (9007199254740993, 9007199254740993.0, 9.007199254740993e15). The digits of
    1.2345678901234567e+19 end at the thousands, as floats of that size are printed: it is read.

    It takes 16 bytes for each line while it reads, and each name once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 d7 1 2.5 tag\\nq1 Q0 d3 2 1.5 tag\\nq2 Q0 d3 1 0.5 tag\\n")
    ...     run = read_run(file)
    >>> run
    NamedLists(2 lists, 3 entries, 2 names)
    >>> run["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    return lists_of_file("path", path_name("path", path), columns, progress)


@public("truerank")
def read_qrels(
    path: str | os.PathLike[str], *, columns: Mapping[str, str | int] | None = None
) -> Qrels:
    """Read the judgements of a test collection, as in TREC lines ``qid iteration docid relevance``.

    Four columns are those of TREC if the second has one value in the file (0 or Q0 in a file of one
    line), or fewer values than the third while no relevance is 1,000 or more. Other lines have the
    columns of a header, in any order, such as query-id, corpus-id and score of BEIR, or user_id and
    item_id of RecBole's .inter, also with types, as ``user_id:token``; or those that `columns`
    says. Without a column of relevance all are right answers. ``source`` of the judgements says
    which form it was.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Fields stand, and lines are skipped, as in
        `read_run`. Relevance is a finite number: 2, 0.1, -1.
    columns : mapping of str to (str or int), optional
        Which columns are meant, as in `read_run`: those of "query", "document" and, perhaps,
        "relevance".

    Returns
    -------
    Qrels

    Raises
    ------
    ValueError
        For columns that may be read in two ways, for a line that is not of the form of the first
        one, or begins with a byte order mark although it is not the first, and a document that is
        judged in two ways for a query; the error names the line.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "qrels.txt")
    ...     _ = file.write_text("q1 0 d3 1\\nq1 0 d9 0\\nq2 0 d3 2\\n")
    ...     read_qrels(file)
    Qrels(3 judgements of 2 queries, 2 relevant)
    """
    return qrels_of_file("path", path_name("path", path), columns)


def qrels_of_file(argument: str, path: str, columns: Any = None) -> Qrels:
    """Read judgements as `read_qrels` does; messages name the argument."""
    said = check_columns(columns, JUDGEMENTS)
    form = form_of_file(argument, path, JUDGEMENTS, said)
    reader = LineReader(form)
    queries, documents, relevance = read_blocks(argument, path, None, reader.read, form.header)
    if form is TREC_QRELS_FORM and not _is_of_trec(reader.iterations(), documents, relevance):
        raise InputValueError(argument, NOT_OF_TREC, place=path)
    relevance = read_grades(f"{argument}: {path}", relevance)
    names = reader.documents()
    asked = np.array(reader.queries(), object)[queries]
    judged = np.array(names, object)[documents]
    keys = queries * np.int64(len(names)) + documents
    repeated = 0
    if not np.diff(np.sort(keys)).all():  # This test is far faster than np.unique.
        kept, unlike = first_of_equal(keys, relevance)
        if unlike is not None:
            first, second = unlike
            lines = data_lines(path, path)  # The file is read again for the message alone.
            line = next(islice(lines, second + (form.header > 0), None))[0]
            two = f"as {relevance[first]} and as {relevance[second]}"
            problem = f"{judged[second]!r} is judged twice for {asked[second]!r}, {two}"
            raise InputValueError(argument, f"line {line}: {problem}", place=path)
        repeated = len(keys) - len(kept)
        asked = asked[kept]
        judged = judged[kept]
        relevance = relevance[kept]
    source = source_of(path, form, reader.comments, repeated)
    return Qrels(
        tuple(asked.tolist()), tuple(judged.tolist()), relevance, is_text=True, source=source
    )


def _is_of_trec(
    iterations: Sequence[str], documents: npt.NDArray[Any], relevance: npt.NDArray[Any]
) -> bool:
    """Return whether four columns without names are those of TREC."""
    if len(iterations) <= 1:
        return len(documents) != 1 or set(iterations) <= {"0", "Q0"}
    is_few = len(iterations) < np.count_nonzero(np.bincount(documents))
    return bool(is_few and relevance.max() < LEAST_TIME)


def source_of(path: str, form: LineForm, comments: int = 0, repeated: int = 0) -> str:
    """Name a file and its form, and what was left out of it.

    Examples
    --------
    >>> source_of("run.txt", LineForm("TREC run", 6), comments=2, repeated=1)
    'run.txt (TREC run; left out: 2 comments, 1 repeated line)'
    """
    left_out = list(form.left_out)
    if comments:
        left_out.append(format_count(comments, "comment"))
    if repeated:
        left_out.append(format_count(repeated, "repeated line"))
    said = form.name
    if left_out:
        said += f"; left out: {', '.join(left_out)}"
    return f"{path} ({said})"


def lists_of_file(
    argument: str, path: str, columns: Any = None, progress: bool | Listener | None = None
) -> NamedLists:
    """Read a run as `read_run` does; messages name the argument."""
    said = check_columns(columns, LISTS)
    reader = LineReader(form_of_file(argument, path, LISTS, said))
    read = read_blocks(argument, path, progress, reader.read, reader.form.header)
    queries, documents, *numbers = read
    form = numbers_said(argument, path, reader.form, queries, numbers)
    entries = ListEntries(queries, documents)
    if form.role == "rank":
        entries = entries._replace(values=read_grades(argument, numbers[0]), are_ranks=True)
    elif form.numbers:
        entries = entries._replace(values=numbers[reader.form.numbers.index(*form.numbers)])
    lists, repeated = lists_of_entries(
        argument, reader.queries(), reader.documents(), entries, place=path
    )
    lists.source = source_of(path, form, reader.comments, repeated)
    if _have_ranks(path, form):
        lists._contradiction = rising_ranks(entries, np.arange(len(queries)))
    return lists


def _have_ranks(path: str, form: LineForm) -> bool:
    """Return whether ranks beside scores rise with the lines of each query, if the first ones do.

    The lines stand for the ranks then: to read all of these would take long.
    """
    if form.rank is None or form.role != "score":
        return False
    lines = islice(data_lines(path, path), form.header > 0, 1000)
    rows = [fields_of(line, form.between) for _, line in lines]
    ranks = [
        (a[form.rank], b[form.rank]) for a, b in pairwise(rows) if a[form.query] == b[form.query]
    ]
    are_rising = (a.isdecimal() and b.isdecimal() and int(a) < int(b) for a, b in ranks)
    return bool(ranks) and all(are_rising)
