"""What columns are, by their names: those of queries, documents, relevance, scores and ranks.

One table of names serves headers of files, frames, data sets, and rows whose fields have names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..inputs.errors import InputValueError

# The names of each column, in lower case and with "_" between words. Of those that a table has, the
# first ones are meant: "docno" of PyTerrier names documents, and its "docid" counts them.
QUERY_NAMES = (
    ("query_id", "qid", "q_id", "topic_id", "user_id", "uid", "userid"),
    ("query", "topic", "user"),
)
DOCUMENT_NAMES = (
    ("docno",),
    ("doc_id", "docid", "did", "document_id", "corpus_id", "passage_id", "pid"),
    ("item_id", "itemid", "iid", "entity_id"),
    ("doc", "document", "passage", "item", "entity"),
)
RELEVANCE_NAMES = (("relevance", "rel", "label", "grade", "gain"), ("score", "rating"))
SCORE_NAMES = (("score", "sim", "similarity"),)
RANK_NAMES = (("rank", "position"),)
# What stands beside them, and is neither relevance nor a score.
OTHER_NAMES = ("iteration", "iter", "q0", "timestamp", "time", "tag", "text", "title", "")


class RowColumns(NamedTuple):
    """The columns of judgements, or of the entries of lists, by names or positions.

    Attributes
    ----------
    query, document : object
    value : object, or None
        The relevance, or the score.
    rank : object, or None
        Of lists whose scores no column has.
    """

    query: Any
    document: Any
    value: Any = None
    rank: Any = None

    @property
    def used(self) -> list[Any]:
        """The columns that are read, in the order of the fields."""
        return [column for column in self if column is not None]


def find_columns(argument: str, names: Sequence[Any], judged: bool) -> RowColumns | None:
    """Find the columns of judgements, or of lists; None where none is of queries or documents.

    Parameters
    ----------
    argument : str
        For messages.
    names : sequence
        The names of all columns.
    judged : bool
        Whether they are judgements, whose scores are relevance.

    Raises
    ------
    InputValueError
        For two names of the same kind.

    Examples
    --------
    >>> find_columns("qrels", ["query-id", "corpus-id", "score"], judged=True)
    RowColumns(query='query-id', document='corpus-id', value='score', rank=None)
    >>> find_columns("ids", ["qid", "docid", "docno", "rank", "score"], judged=False)
    RowColumns(query='qid', document='docno', value='score', rank=None)
    >>> find_columns("ids", ["heads", "tails"], judged=False)
    """
    query = _find(argument, names, QUERY_NAMES)
    document = _find(argument, names, DOCUMENT_NAMES)
    if query is None or document is None:
        return None
    if judged:
        return RowColumns(query, document, _find(argument, names, RELEVANCE_NAMES))
    score = _find(argument, names, SCORE_NAMES)
    rank = None
    if score is None:
        rank = _find(argument, names, RANK_NAMES)
    return RowColumns(query, document, score, rank)


def says_nothing(name: Any) -> bool:
    """Return whether a column is known to be neither relevance nor a score.

    Examples
    --------
    >>> says_nothing("timestamp"), says_nothing("stars")
    (True, False)
    """
    known = [word for words in QUERY_NAMES + DOCUMENT_NAMES for word in words]
    return plain_name(name) in OTHER_NAMES or plain_name(name) in known


def are_in_place(names: Sequence[Any]) -> bool:
    """Return whether no name says that queries are not first, or documents not second.

    Examples
    --------
    >>> are_in_place(["who", "item"]), are_in_place(["what", "user"])
    (True, False)
    """
    for place, kinds in enumerate((QUERY_NAMES, DOCUMENT_NAMES)):
        known = [word for words in kinds for word in words]
        places = [i for i, name in enumerate(names) if plain_name(name) in known]
        if places and place not in places:
            return False
    return True


def find_document(argument: str, names: Sequence[Any]) -> Any:
    """Return which of some names is that of documents; None: none is.

    Examples
    --------
    >>> find_document("ids", ["corpus_id", "score"])
    'corpus_id'
    """
    return _find(argument, names, DOCUMENT_NAMES)


def _find(argument: str, names: Sequence[Any], known: Sequence[tuple[str, ...]]) -> Any:
    """Return the first of the known names that a table has; None: it has none."""
    for words in known:
        found = [name for name in names if plain_name(name) in words]
        if len(found) > 1:
            expected = "one column of each kind; columns=(query, document, value) says which"
            raise InputValueError(argument, expected=expected, got=f"{found[0]!r} and {found[1]!r}")
        if found:
            return found[0]
    return None


def plain_name(name: Any) -> str:
    """Return the name of a column in lower case, with "_" between words, without a type.

    Examples
    --------
    >>> plain_name("Query-ID"), plain_name("item_id:token"), plain_name(7)
    ('query_id', 'item_id', '')
    """
    if not isinstance(name, str):
        return ""
    bare = name.strip(" #'\"").partition(":")[0].lower()
    return bare.replace("-", "_").replace(" ", "_")
