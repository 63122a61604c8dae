"""Folders of data sets: those of JAPE, BootEA, BERT-INT, OpenEA and DBP2.0."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name, read_npy
from ..errors import InputTypeError, InputValueError, warn_user
from ..inputs.array_likes import as_array, check_shape
from ..inputs.checks import choice
from ..naming import public
from ..ranks.labels import labels_of_codes
from ..records.columns import FACTS, Door
from ..records.splits import SplitTables, name_known_splits, read_tables
from ..records.text import is_id, is_path, read_fields
from .task import GRAPHS, Task

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray

# The files of pairs of ids, and those of pairs of names.
IDS = {"train": "sup_ent_ids", "test": "ref_ent_ids"}
LINKS = {split: f"{split}_links" for split in ("train", "valid", "test")}
# By the file or folder that tells each layout from the others: its name, and its files of pairs.
LAYOUTS = {
    "ref_ent_ids": ("JAPE", IDS),
    "ref_pairs": ("BERT-INT", {"train": "sup_pairs", "test": "ref_pairs"}),
    "mapping/0_3": ("BootEA, mapping", IDS),
    "sharing/0_3": ("BootEA, sharing", IDS),
    "721_5fold": ("OpenEA", LINKS),
    "splits": ("DBP2.0", LINKS),
}
# The least degree of each group behind the first, as in OpenEA's code.
EDGES = (1, 6, 11, 16, 21)
DEGREES = ("[0, 1)", "[1, 6)", "[6, 11)", "[11, 16)", "[16, 21)", "[21, inf)")


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
        if "train" not in self.pairs:
            if known is None:
                expected = "the training pairs, which the folder lacks"
                raise InputTypeError("known", expected=expected, got="None")
            options["leaks"] = "drop"  # It is no test of a model to rank what it was trained on.
        splits: dict[str, Any] = {name: x for name, x in self.pairs.items() if name != split}
        for name, (_, pairs) in name_known_splits(known).items():
            if name in self.pairs:
                expected = "names of splits that the folder lacks"
                raise InputValueError("known", expected=expected, got=repr(name))
            splits[name] = pairs
        if exclusive is None and self.exclusive:
            exclusive = self.exclusive[split]["left"]
        options = {"known": splits, "split": split, "exclusive": exclusive, **options}
        task = Task(self.pairs[split], left=self.left, right=self.right, **options)
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
        name = "embeddings"
        is_file = is_path(embeddings)
        matrix = read_npy(name, embeddings, mapped=True) if is_file else as_array(embeddings, name)
        check_shape(name, matrix.shape, 2, "a matrix (rows, d)")
        height, width = matrix.shape
        entities = self.left, self.right
        if isinstance(self.left[0], int):
            n_ids = 1 + max(map(max, entities))
            if height != n_ids:
                expected = f"{n_ids:,} rows, one for each id"
                raise InputValueError(name, expected=expected, got=f"{height:,}")
            left, right = (matrix[list(ids)] for ids in entities)
            return left, right
        expected = "the path of a .npy file, beside which kg1_ent_ids and kg2_ent_ids lie"
        folder = Path(path_name(name, embeddings, expected)).parent
        rows = []
        for number, labels in enumerate(entities, 1):
            file = folder / f"kg{number}_ent_ids"
            name_of = _read_ids(name, file, 1)
            row_of = {label: row for row, label in name_of.items()}
            if sorted(name_of.values()) != sorted(labels) or max(name_of) >= height:
                n_known = len(row_of.keys() & set(labels))
                expected = f"each of {len(labels):,} entities once, with a row below {height:,}"
                got = (
                    f"{len(name_of):,} rows up to {max(name_of)}, of {n_known:,} of these entities"
                )
                raise InputValueError(name, expected=expected, got=got, place=str(file))
            rows.append([row_of[label] for label in labels])
        left, right = (matrix[of_graph] for of_graph in rows)
        mapping = folder / "mapping_mat.npy"
        if mapping.exists():
            square = read_npy(name, mapping)
            expected = f"a matrix of {width} rows and columns in {mapping}"
            check_shape(name, square.shape, (width, width), expected)
            warn_user(name, f"left rows are multiplied by {mapping}, as OpenEA's test does")
            left = left @ square
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
    name = path_name("path", path)
    if "\0" in name:
        raise InputValueError("path", expected="a path without a NUL")
    folder = Path(name)
    os.listdir(folder)  # It is an error of the system if there is no such folder.
    if not isinstance(fold, (int, float, str, np.generic, type(None))):  # A terminal has words.
        raise InputTypeError("fold", expected="an int", got=type(fold).__name__)
    marks = [mark for mark in LAYOUTS if (folder / mark).exists()]
    if len(marks) != 1:
        expected = f"a folder with just one of {', '.join(LAYOUTS)}"
        got = ", ".join(marks) or "none of them"
        raise InputValueError("path", expected=expected, got=got, place=str(folder))
    [mark] = marks
    layout, names = LAYOUTS[mark]
    folds = sorted(each.name for each in folder.glob("721_5fold/[0-9]*"))
    if (folds or fold is not None) and str(fold) not in folds:
        expected = f"one of {', '.join(folds)}" if folds else "None, as the folder has no folds"
        raise InputValueError("fold", expected=expected, got=repr(fold))
    if mark.endswith("0_3"):
        return replace(read_folder(folder / mark), layout=layout)
    has_ids = names is not LINKS
    links = folder if has_ids else folder / mark
    if folds:
        links /= str(fold)
        layout += f", fold {fold} of {len(folds)}"
    files = {split: links / name for split, name in names.items()}
    if has_ids and not files["train"].exists():
        del files["train"]
    graphs = _read_graphs(layout, folder, files, has_ids=has_ids)
    if mark == "splits":
        for split, (number, graph) in product(LINKS, enumerate(GRAPHS, 1)):
            orders = {"entities": graphs.names[graph]}
            _, rows = _read(links / f"{split}_unlinked_ent{number}", list(orders), orders)
            graphs.exclusive.setdefault(split, {})[graph] = [name for (name,) in rows]
    return graphs


def _read_graphs(layout: str, folder: Path, files: dict[str, Path], *, has_ids: bool) -> Graphs:
    """Read the entities and triples of both graphs, and their pairs."""
    labels: dict[str, Any] = {}
    names: dict[str, Any] = {}
    triples = {}
    degrees = {}
    for number, graph in enumerate(GRAPHS, 1):
        orders = {}
        if has_ids:
            name_of = _read_ids("path", folder / f"ent_ids_{number}", 0)
            orders["entities"], names[graph] = tuple(name_of), tuple(name_of.values())
        file = folder / f"{'' if has_ids else 'rel_'}triples_{number}"
        table, triples[graph] = _read(file, list(FACTS.roles), orders)
        labels[graph] = table.vocabularies["head"].names
        degrees[graph] = np.bincount(table.rows[:, ::2].ravel(), minlength=len(labels[graph]))
    pairs = {split: _read(file, GRAPHS, labels)[1] for split, file in files.items()}
    left, right = labels.values()
    return Graphs(layout, left, right, names or labels, pairs, {}, triples, degrees)


def _read(path: Path, roles: Sequence[str], orders: Any) -> tuple[SplitTables, list[Any]]:
    """Read the columns of a file of at least one line, and its rows by their labels."""
    names = {role: frozenset({role}) for role in roles}
    door = Door("rows", names, len(roles), FACTS.vocabularies, has_option=False)
    table = read_tables({"path": ("path", path)}, door, orders, header=False)
    rows = table.labels_of(np.arange(table.tested))
    if not rows:
        raise InputValueError("path", expected="at least one line", got="none", place=str(path))
    return table, rows


def _read_ids(argument: str, path: Path, place: int) -> dict[int, str]:
    """Read ids, which stand at a place of their lines, and the name beside each."""
    expected = "at least one line"
    name_of: dict[int, str] = {}
    for number, fields in read_fields(argument, str(path)):
        if len(fields) != 2 or not is_id(fields[place]) or int(fields[place]) in name_of:
            expected = "an id that no line above has, and a name"
            got = repr("\t".join(fields))
            raise InputValueError(f"{argument}: {path}", "", expected, got, f"line {number}")
        name_of[int(fields[place])] = fields[1 - place]
    if not name_of:
        raise InputValueError(argument, expected=expected, got="none", place=str(path))
    return name_of
