"""Groups of tasks by side, relation or any other labels, and weights by these groups."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import factorize, first_equals
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.rules import LISTED
from .container import Ranks, check_number
from .labels import DATASET, LABEL_ALIASES, LABEL_WORDS, Labels, as_labels, labels_of_codes

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray
    from .labels import LabelsLike

# Weights of these names go by these labels, whose names work as well.
WEIGHTS = {LABEL_WORDS[label]: label for label in ("queries", "relation", "targets")}
# The targets of these sides are the same entities.
_SIDES_OF_ONE_GRAPH = {"head", "tail"}


def group_codes(
    ranks: Ranks, by: LabelsLike, argument: str = "by"
) -> tuple[IntArray, list[Hashable]]:
    """Return the group of each task as a code, and what the codes stand for.

    Groups are by the name of a label of the tasks, or by labels of theirs or of their units, which
    messages call `argument`. Queries of different sides are different groups, even with equal ids.
    So are targets, except those of heads and tails, which are entities of one graph; and queries of
    tasks of retrieval that were joined. Where data sets have names, queries, relations, targets and
    rows of tasks are by data set. Codes are 0 .. len(names) - 1, each of which occurs; a name is a
    str or an int, or (side, label) where it differs by side, or (task, label) where several tasks
    have one: the number of the task, in the order of their first ranks; or, by data set, a tuple
    that begins with its name. Names are in the order of their vocabulary, ids ascend.

    >>> group_codes(Ranks([0, 3, 1], [1, 1, 1], 10), [7, 7, 2])
    (array([1, 1, 0]), [2, 7])
    """
    if not isinstance(by, str):
        return _used_labels(as_labels(argument, by, len(ranks), ranks.unit))
    labels = _find_labels(ranks, argument, by)
    label = LABEL_ALIASES.get(by)
    columns = [*_data_sets(ranks, label), labels]
    if label == "queries" and ranks.origin is not None:
        tasks = labels_of_codes(factorize(first_equals(ranks.origin)).codes)
        codes_by_task, names_by_task = _factorize_rows([*columns[:-1], tasks, labels])
        codes, names = _factorize_rows(columns)
        do_tasks_share_queries = len(names_by_task) > len(names)
        return (codes_by_task, names_by_task) if do_tasks_share_queries else (codes, names)
    # Equal ids on different sides differ for queries, and for targets unless they are of one graph.
    if ranks.side is not None and label in ("queries", "targets"):
        are_of_one_graph = set(_used_labels(ranks.side)[1]) <= _SIDES_OF_ONE_GRAPH
        if label == "queries" or not are_of_one_graph:
            columns.insert(-1, ranks.side)
    return _factorize_rows(columns)


def _data_sets(ranks: Ranks, label: str | None) -> list[Labels]:
    """Return the label of data sets, if there is one and this label is within them.

    Units that are no rows of tasks are the user's, who may join data sets by them.
    """
    is_within = label in ("queries", "relation", "targets") or (label == "unit" and ranks.origins)
    return [ranks._labels[DATASET]] if is_within and DATASET in ranks._labels else []


def task_weights_by(ranks: Ranks, name: str) -> FloatArray:
    """Return weights that give each query, relation or target of a side the same influence.

    The weight of a task is 1 / (number of tasks in its group), where a group is a label within a
    side. With these weights a mean over tasks is the mean of the groups' means, so that entities
    with many triples do not dominate it. Weights that the ranks have are ignored.

    >>> task_weights_by(Ranks([0, 3, 1], [1, 1, 1], 10, queries=[4, 4, 9]), "query")
    array([0.5, 0.5, 1. ])
    """
    if LABEL_ALIASES.get(name, name) in ("side", "unit"):
        expected = f"numbers, one for each task, or one of {', '.join(WEIGHTS)}"
        raise InputValueError("weights", expected=expected, got=repr(name))
    if ranks.side is None:
        codes, names = group_codes(ranks, name, "weights")
    else:
        columns = [*_data_sets(ranks, LABEL_ALIASES.get(name)), ranks.side]
        codes, names = _factorize_rows([*columns, _find_labels(ranks, "weights", name)])
    inverse: FloatArray = 1.0 / np.bincount(codes, minlength=len(names))
    return inverse[codes]


def weighted_ranks(name: str, model: Any) -> Ranks:
    """Return the ranks of a model, Ranks or a Report, with the weights that its report gives them.

    Ranks of retrieval of which several belong to a query are refused, misses where the candidates
    are those of lists, and ranks whose number of candidates was not given.
    """
    try:
        ranks = model if isinstance(model, Ranks) else model.ranks
        weights = model.weights
        protocol = ranks.protocol
    except AttributeError:
        got = type(model).__name__
        raise InputTypeError(name, expected="Ranks or a Report", got=got) from None
    misses = 0 if ranks.listed is None else np.count_nonzero(~ranks.listed)
    # Among the candidates of lists a target that its list misses would be the last of few.
    if misses and protocol.candidates == LISTED:
        got = f"{misses:,} that are not in theirs"
        expected = f"ranks of targets in their lists, as the candidates are {LISTED!r}"
        raise InputValueError(name, expected=expected, got=got)
    if ranks.answers is not None and (ranks.answers > 1).any():
        got = "ranks of retrieval, several for a query"
        expected = "ranks of tasks that count on their own, or their Report "
        expected += "(truerank.report(ranks) makes one)"
        raise InputValueError(name, expected=expected, got=got)
    check_number(ranks.candidates.all(), name, "a metric of tasks, not queries,")
    if weights is ranks.weights:  # Ranks are then spared a copy.
        return ranks
    return ranks.with_weights(weights)


def _find_labels(ranks: Ranks, argument: str, name: str) -> Labels:
    label = LABEL_ALIASES.get(name, name)
    if label not in ranks._labels:
        available = ", ".join(ranks._labels) or "none"
        problem = f"these ranks have no labels {label[:100]!r} (they have: {available})"
        call = f"ranks.with_labels({label[:100]}=labels)"
        way = Option(label, ..., "gives them", call=call)
        raise InputValueError(argument, problem, remedies=[way])
    return ranks._labels[label]


def _used_labels(labels: Labels) -> tuple[IntArray, list[Hashable]]:
    """Return codes without gaps, and the names that they stand for; unused names are left out."""
    present, codes = factorize(labels.codes)
    names: list[Hashable]
    if labels.vocabulary is None:
        names = present.tolist()
    elif len(present) == len(labels.vocabulary):
        names = list(labels.vocabulary)
    else:
        names = [labels.vocabulary[i] for i in present.tolist()]
    return codes, names


def _factorize_rows(columns: list[Labels]) -> tuple[IntArray, list[Hashable]]:
    """Return the codes of rows of labels, sorted by the first, and the tuples that occur."""
    if len(columns) == 1:
        return _used_labels(columns[0])
    used = [_used_labels(labels) for labels in columns]
    rows = factorize(*(codes for codes, _ in used))
    first = rows.first()
    names = [[names[i] for i in codes[first].tolist()] for codes, names in used]
    return rows.codes, list(zip(*names, strict=True))
