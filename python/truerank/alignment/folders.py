"""Folders of data sets: those of JAPE, BootEA, BERT-INT, OpenEA and DBP2.0."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name, read_npy
from ..arrays.row_keys import first_equals
from ..errors import InputTypeError, InputValueError, warn_user
from ..inputs.array_likes import as_array, check_shape
from ..inputs.checks import choice
from ..naming import public
from ..ranks.labels import labels_of_codes
from ..records.columns import FACTS, PAIRS, Door
from ..records.id_tables import read_table
from ..records.splits import SplitTables, name_known_splits, read_tables
from ..records.text import is_path
from ..records.vocabularies import Vocabulary, align
from .task import GRAPHS, Task

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray

# The file or folder that tells each layout from the others, and what the layout is called.
LAYOUTS = {
    "ref_ent_ids": "JAPE",
    "ref_pairs": "BERT-INT",
    "mapping/0_3": "BootEA, mapping",
    "sharing/0_3": "BootEA, sharing",
    "721_5fold": "OpenEA",
    "splits": "DBP2.0",
}
TRAINING_FILES = {"ref_ent_ids": "sup_ent_ids", "ref_pairs": "sup_pairs"}
SPLITS = ("train", "valid", "test")
# The least degree of each group behind the first, as in OpenEA's code.
EDGES = (1, 6, 11, 16, 21)
DEGREES = ("[0, 1)", "[1, 6)", "[6, 11)", "[11, 16)", "[16, 21)", "[21, inf)")
_COLUMNS = {name: frozenset({name}) for name in ("id", "name")}
ENTITIES = Door("entities", _COLUMNS, needed=2, has_option=False)  # as ent_ids_1 has them
ROWS = replace(ENTITIES, roles=dict(reversed(_COLUMNS.items())))  # as kg1_ent_ids has them
TRIPLES = Door("triples", FACTS.roles, 3, dict.fromkeys(("head", "tail"), "entity"))
NAMES = Door("entities", {"name": _COLUMNS["name"]}, 1, {"name": "names"}, has_option=False)


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class Graphs:
    """Two graphs and their aligned pairs, as `read_folder` reads them.

    Entities are labels, as the pairs of the files have them: ids in the layouts of JAPE, BootEA and
    BERT-INT, names in those of OpenEA and DBP2.0.

    Attributes
    ----------
    layout : str
        What the folder was found to be.
    left, right : tuple of int or of str
        The entities of each graph, in the order of the files.
    names : dict of str to tuple of str
        Their names, by "left" and "right".
    pairs : dict of str to list of tuples
        The pairs (left, right) of each split. Without a file of training pairs, "test" has all.
    exclusive : dict of str to dict
        By split, and by "left" and "right", the entities without a counterpart; DBP2.0 names them.
    triples : dict of str to list of tuples
        (head, relation, tail) of each graph.
    degrees : dict of str to ndarray of int64
        The number of triples of each entity; one that is head and tail of a triple has it twice.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> files = {"ent_ids_1": "0\\tWien\\n1\\tGraz\\n", "ent_ids_2": "2\\tVienna\\n3\\tGraz\\n"}
    >>> files |= {"triples_1": "0\\t7\\t1\\n", "triples_2": "2\\t8\\t3\\n2\\t8\\t2\\n"}
    >>> files |= {"sup_ent_ids": "0\\t2\\n", "ref_ent_ids": "1\\t3\\n"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     graphs = read_folder(folder)
    >>> print(graphs)
    JAPE: 2 left and 2 right entities; 1 and 2 triples; pairs: train 1, test 1
    >>> left, right = graphs.split([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.5, 1.0]])
    >>> graphs.task().evaluate_embeddings(left, right)["hits@1"]
    1.0
    """

    layout: str
    left: tuple[Any, ...]
    right: tuple[Any, ...]
    names: dict[str, tuple[str, ...]]
    pairs: dict[str, list[tuple[Any, ...]]]
    exclusive: dict[str, dict[str, list[str]]]
    triples: dict[str, list[tuple[Any, ...]]]
    degrees: dict[str, IntArray]

    def __str__(self) -> str:
        sizes = [f"{len(each):,}" for each in (self.left, self.right, *self.triples.values())]
        pairs = ", ".join(f"{split} {len(rows):,}" for split, rows in self.pairs.items())
        text = "{}: {} left and {} right entities; {} and {} triples; pairs: {}"
        return text.format(self.layout, *sizes, pairs)

    def task(
        self, *, known: Any = None, split: str = "test", exclusive: Any = None, **options: Any
    ) -> Task:
        """Make the task of a split, whose ranks have the label "degree".

        The degree of a pair is half the sum of its entities' triples, as in OpenEA's code;
        ``truerank.report(ranks, by="degree")`` has the groups [1, 6), [6, 11), [11, 16), [16, 21)
        and from 21 on.

        Parameters
        ----------
        split : str
            The evaluated split; all others are known.
        known : dict of str to split, list of splits, one split, or None
            Further known pairs, as `Task` takes them. Required where the folder has no training
            pairs: the test is then what remains. ``{}`` says that a model had none.
        exclusive : sequence, optional
            The left entities without a counterpart. Default: those of the split, if the data name
            them.
        candidates, sides, duplicates, leaks : optional
            As in `Task`.

        Raises
        ------
        TypeError, ValueError
            As `Task` does, for a split that is not there, and for a folder without training pairs
            if none are given.
        """
        choice("split", split, tuple(self.pairs))
        splits: Any = {name: pairs for name, pairs in self.pairs.items() if name != split}
        if "train" not in self.pairs:
            if known is None:
                expected = "the training pairs, which the folder lacks"
                raise InputTypeError("known", expected=expected, got="None")
            options["leaks"] = "drop"  # It is no test of a model to rank what it was trained on.
        for name, (_, pairs) in name_known_splits(known).items():
            if name in self.pairs:
                expected = "names of splits that the folder lacks"
                raise InputValueError("known", expected=expected, got=repr(name))
            splits[name] = pairs
        if exclusive is None and split in self.exclusive:
            exclusive = self.exclusive[split]["left"]
        options |= {"left": self.left, "right": self.right, "known": splits, "split": split}
        task = Task(self.pairs[split], exclusive=exclusive, **options)
        left, right = task.pairs.T
        degrees = (self.degrees["left"][left] + self.degrees["right"][right]) / 2
        groups = labels_of_codes(np.searchsorted(EDGES, degrees, side="right"), DEGREES)
        sides = {}
        for name, side in task.sides.items():
            sides[name] = replace(side, labels=side.labels | {"degree": groups})
        task._take_sides(sides)
        return task

    def split(self, embeddings: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the rows of each graph of one matrix that has both graphs.

        Parameters
        ----------
        embeddings : array_like of shape (rows, d), or path of a .npy file
            Where entities are ids, a row for each id. Else the path of OpenEA's ``ent_embeds.npy``,
            beside which ``kg1_ent_ids`` and ``kg2_ent_ids`` say whose each row is. If
            ``mapping_mat.npy`` lies there, too, left rows are multiplied by it, as OpenEA's test
            does, and a warning says so.

        Returns
        -------
        left, right : ndarray
            In the order of `left` and `right`, for all that takes vectors.

        Raises
        ------
        TypeError, ValueError, OSError
            For another number of rows, entities without a row, and files that are not there.
        """
        argument = "embeddings"
        if is_path(embeddings):
            matrix = read_npy(argument, os.fsdecode(embeddings), mapped=True)
        else:
            matrix = as_array(embeddings, argument)
        check_shape(argument, matrix.shape, 2, "a matrix (rows, d)")
        if isinstance(self.left[0], int):
            height = 1 + max(*self.left, *self.right)
            if len(matrix) != height:
                expected = f"{height:,} rows, one for each id"
                raise InputValueError(argument, expected=expected, got=f"{len(matrix):,}")
            return matrix[np.array(self.left)], matrix[np.array(self.right)]
        if not is_path(embeddings):
            expected = "the path of a .npy file, beside which kg1_ent_ids and kg2_ent_ids lie"
            raise InputTypeError(argument, expected=expected, got=type(embeddings).__name__)
        folder = Path(os.fsdecode(embeddings)).parent
        left, right = (
            matrix[_find_rows(folder / f"kg{number}_ent_ids", names, len(matrix))]
            for number, names in ((1, self.left), (2, self.right))
        )
        mapping = folder / "mapping_mat.npy"
        if mapping.exists():
            left = left @ read_npy(argument, str(mapping))
            warn_user(argument, f"left rows are multiplied by {mapping}, as OpenEA's test does")
        return left, right


@public("truerank.alignment")
def read_folder(path: str | os.PathLike[str], *, fold: int | None = None) -> Graphs:
    """Read the folder of a data set: entities, pairs, triples, entities without a counterpart.

    The layout is known by exact names of files, and `print` of the result says which it is.

    ================  ==============================================================================
    JAPE, GCN-Align,  ``ent_ids_1``, ``ent_ids_2`` (id, name), ``triples_1``, ``triples_2``,
    RDGCN             ``ref_ent_ids`` and perhaps ``sup_ent_ids``, the training pairs
    BERT-INT          likewise, with ``ref_pairs`` and ``sup_pairs``
    BootEA            the folder ``mapping/0_3`` or ``sharing/0_3``, like JAPE's; one of the two is
                      given by its own path if both are there
    OpenEA            ``rel_triples_1``, ``rel_triples_2``, ``721_5fold/1`` to ``5`` with
                      ``train_links``, ``valid_links`` and ``test_links``
    DBP2.0            ``rel_triples_1``, ``rel_triples_2``, ``splits`` with these links, and
                      ``train_unlinked_ent1`` to ``test_unlinked_ent2``
    ================  ==============================================================================

    Parameters
    ----------
    path : path-like
        The folder.
    fold : int, optional
        The fold, from 1 on; required of OpenEA's folders, which alone have folds.

    Returns
    -------
    Graphs

    Raises
    ------
    TypeError, ValueError
        For a folder of no layout or of two, a fold that is not there, empty files, lines of another
        form, entities that occur twice, and entities of no graph; messages name file and line.
    OSError
        For a folder or a file that is missing or cannot be read.
    """
    folder = Path(path_name("path", path))
    os.listdir(folder)  # It is an error of the system if there is no such folder.
    marks = [mark for mark in LAYOUTS if (folder / mark).exists()]
    if len(marks) != 1:
        expected = f"a folder with just one of {', '.join(LAYOUTS)}"
        got = ", ".join(marks) or "none of them"
        raise InputValueError("path", expected=expected, got=got, place=str(folder))
    mark = marks[0]
    folds = sorted(each.name for each in folder.glob("721_5fold/*"))
    if (folds or fold is not None) and str(fold) not in folds:
        expected = f"one of {', '.join(folds)}" if folds else "None, as the folder has no folds"
        raise InputValueError("fold", expected=expected, got=repr(fold))
    if mark.endswith("0_3"):
        return replace(read_folder(folder / mark), layout=LAYOUTS[mark])
    links = folder / mark / str(fold) if folds else folder / mark
    files = {split: links / f"{split}_links" for split in SPLITS}
    if mark in TRAINING_FILES:
        files = {"train": folder / TRAINING_FILES[mark], "test": folder / mark}
        if not files["train"].exists():
            del files["train"]
    graphs = _read_graphs(folder, files, has_ids=mark in TRAINING_FILES)
    if mark == "splits":
        for split, (number, graph) in product(SPLITS, enumerate(GRAPHS, 1)):
            order = {"names": graphs.names[graph]}
            _, rows = _read(links / f"{split}_unlinked_ent{number}", NAMES, order)
            graphs.exclusive.setdefault(split, {})[graph] = [name for (name,) in rows]
    return replace(graphs, layout=LAYOUTS[mark] + f", fold {fold} of {len(folds)}" * bool(folds))


def _read_graphs(folder: Path, files: dict[str, Path], *, has_ids: bool) -> Graphs:
    """Read the entities and triples of both graphs, and their pairs."""
    labels: dict[str, Any] = {}
    names: dict[str, Any] = {}
    triples = {}
    degrees = {}
    for number, graph in enumerate(GRAPHS, 1):
        orders = {}
        if has_ids:
            orders["entity"], names[graph] = _read_ids(folder / f"ent_ids_{number}", ENTITIES)
        file = folder / f"{'' if has_ids else 'rel_'}triples_{number}"
        table, triples[graph] = _read(file, TRIPLES, orders)
        entities = table.vocabularies["head"]
        labels[graph] = entities.names
        names.setdefault(graph, labels[graph])
        degrees[graph] = np.bincount(table.rows[:, ::2].ravel(), minlength=entities.size)
    pairs = {split: _read(file, PAIRS, labels)[1] for split, file in files.items()}
    return Graphs("", labels["left"], labels["right"], names, pairs, {}, triples, degrees)


def _read(path: Path, door: Door, orders: Any) -> tuple[SplitTables, list[Any]]:
    """Read a file, and its rows, at least one, by their labels."""
    table = read_tables({"path": ("path", path)}, door, orders, header=False)
    if not len(table.rows):
        raise InputValueError("path", expected="at least one line", got="none", place=str(path))
    return table, table.labels_of(np.arange(len(table.rows)))


def _read_ids(path: Path, door: Door) -> tuple[list[int], tuple[str, ...]]:
    """Read ids, each of which stands there once, and names."""
    table = read_table("path", path, door)
    if not len(table):
        raise InputValueError("path", expected="at least one line", got="none", place=str(path))
    where = partial(table.where, "id")
    ids = align(table.title, table.columns["id"], Vocabulary.unbounded("ids"), where)
    repeats = np.flatnonzero(first_equals(ids) != np.arange(len(ids)))
    if len(repeats):
        row = int(repeats[0])
        got = f"{ids[row]} again {where(row)}"
        raise InputValueError(table.title, expected="each id once", got=got)
    return ids.tolist(), table.columns["name"].entries()


def _find_rows(path: Path, names: tuple[str, ...], height: int) -> list[int]:
    """Return the row of each entity, as a file of names and rows says."""
    ids, names_of_ids = _read_ids(path, ROWS)
    rows = dict(zip(names_of_ids, ids, strict=True))
    if rows.keys() != set(names) or not 0 <= min(ids) <= max(ids) < height:
        known = rows.keys() & set(names)
        got = f"{len(ids):,} rows from {min(ids)} to {max(ids)}, {len(known):,} of these entities"
        expected = f"each of {len(names):,} entities once, with a row below {height:,}"
        raise InputValueError("embeddings", expected=expected, got=got, place=str(path))
    return [rows[name] for name in names]
