"""Files of labels in the order of their ids: a label in each line, or beside its id."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ..inputs.errors import InputValueError
from ..inputs.npy_files import read_npy
from .elements import is_id, without_blanks
from .text import text_blocks

_LINES = "a label in each line, or a label and its id with a tab between them"
_IDS = "ids 0, 1, 2, ... in one of the two columns, and labels in the other one"


def read_labels(argument: str, path: str) -> Sequence[str] | Sequence[int]:
    """Read labels in the order of their ids.

    Parameters
    ----------
    argument : str
        For messages.
    path : str
        Lines with a label each, or with a label and its id, in either order and with a tab between
        them, perhaps below a line that counts them: ``entities.dict``, ``entity_ids.del``,
        ``entity2id.txt``. In UTF-8, gzipped if its name ends in .gz. Or a .npy file of words or
        integers.

    Raises
    ------
    InputValueError
        For lines of another form; for two columns of which both, or neither, are the ids 0, 1, ...,
        n - 1 in any order; and for another number of lines than the first one counts.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/entity2id.txt", "w") as file:
    ...         _ = file.write("2\\nrome\\t1\\noslo\\t0\\n")
    ...     read_labels("entities", f"{folder}/entity2id.txt")
    ['oslo', 'rome']
    """
    if path.endswith(".npy"):
        names = read_npy(argument, path)
        if names.ndim != 1 or names.dtype.kind not in "Uiu":
            got = f"{names.dtype} of shape {names.shape}"
            expected = "words or integers in one dimension"
            raise InputValueError(argument, expected=expected, got=got, place=path)
        listed: list[str] | list[int] = names.tolist()
        return listed
    blocks = text_blocks(argument, path)
    lines = chain.from_iterable(text.removesuffix("\n").split("\n") for _, text in blocks)
    rows = [list(map(without_blanks, line.split("\t", 2))) for line in lines]
    count = None
    if len(rows) > 1 and len(rows[0]) < len(rows[1]) and is_id(rows[0][0]):
        count = rows.pop(0)[0]
    width = len(rows[0]) if rows else 0
    for number, fields in enumerate(rows or [[""]], 1 + (count is not None)):
        if len(fields) != width or width > 2 or not all(fields):
            place = f"{path}: line {number}"
            got = repr("\t".join(fields))
            raise InputValueError(argument, expected=_LINES, got=got, place=place)
    if count is not None and count != str(len(rows)):
        expected = f"{count} rows, as the first line counts"
        raise InputValueError(argument, expected=expected, got=len(rows), place=path)
    columns = list(zip(*rows, strict=True))
    if width == 1:
        return columns[0]
    are_ids = [_are_ids(column) for column in columns]
    if sum(are_ids) != 1:
        got = f"{sum(are_ids)} such columns, as in {rows[-1][0]!r} and {rows[-1][1]!r}"
        raise InputValueError(argument, expected=_IDS, got=got, place=path)
    ids = columns[are_ids.index(True)]
    labels = columns[are_ids.index(False)]
    label_of = dict(zip(map(int, ids), labels, strict=True))
    return [label_of[i] for i in range(len(labels))]


def _are_ids(fields: Sequence[str]) -> bool:
    """Return whether fields are 0, 1, 2, ... in any order.

    Examples
    --------
    >>> _are_ids(["1", "0"]), _are_ids(["1", "2"]), _are_ids(["0", "b"])
    (True, False, False)
    """
    expected = set(map(str, range(len(fields))))
    return expected == set(fields)
