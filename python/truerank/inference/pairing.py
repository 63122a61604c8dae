"""The ranks of two models, whether they have the same tasks, and how the tasks were matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..metrics import parse
from ..ranks.container import Ranks
from ..ranks.grouping import of_single_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..inputs.arrays import FloatArray
    from ..metrics import Key
    from ..ranks.labels import Labels, LabelsLike

BY_IDS = {"queries": "query", "targets": "target"}
BY_POSITION = "position"
BY_POSITION_ONLY = "paired by position only"


class HasRanks(Protocol):
    """An object that has ranks, such as a Report, with the weights that are in force in it."""

    @property
    def ranks(self) -> Ranks: ...

    @property
    def weights(self) -> FloatArray | None: ...


class HasReports(Protocol):
    """An object that has the reports of several runs, such as Repeats."""

    @property
    def reports(self) -> Sequence[HasRanks]: ...


class RanksMissingError(AttributeError):
    """Raised by a Report that was read from JSON, which holds no ranks, when they are needed."""


def has_protocol(model: object) -> bool:
    """Whether a model has a protocol: reports and repeats, which are mappings, have one.

    Examples
    --------
    >>> has_protocol(Ranks([0], [1], 10)), has_protocol({})
    (True, False)
    """
    return hasattr(model, "protocol")


def runs_of(name: str, model: object) -> list[Any] | None:
    """The runs of a model, of which there are at least two; None for a single one.

    Examples
    --------
    >>> len(runs_of("a", [Ranks([0], [1], 10), Ranks([2], [1], 10)]))
    2
    >>> runs_of("a", Ranks([0], [1], 10))
    """
    if isinstance(model, (list, tuple)):
        runs = list(model)
    elif hasattr(type(model), "runs"):
        runs = list(model.reports)  # type: ignore[attr-defined]
    else:
        return None
    if len(runs) < 2:
        raise InputValueError(name, expected="at least two runs", got=len(runs))
    return runs


def have_same_tasks(a: Ranks, b: Ranks) -> bool:
    """Whether nothing is known by which the tasks of two Ranks differ.

    Examples
    --------
    >>> have_same_tasks(Ranks([0], [1], 10), Ranks([0], [1], 9))
    False
    """
    return len(a) == len(b) and not _task_differences(a, b)


def weighted_ranks(name: str, model: Any) -> Ranks:
    """The ranks of a model, with the weights that its report gives them.

    Raises
    ------
    TypeError
        For anything but Ranks and Reports.
    ValueError
        For a Report that was read from JSON, which holds no ranks, and ranks of retrieval of which
        several belong to a query.

    Examples
    --------
    >>> weighted_ranks("a", Ranks([0], [1], 10))
    Ranks(1 tasks, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    if isinstance(model, Ranks):
        return of_single_tasks(name, model)
    try:
        ranks, weights = of_single_tasks(name, model.ranks), model.weights
    except RanksMissingError as error:
        raise InputValueError(name, str(error)) from None
    except AttributeError:
        got = type(model).__name__
        raise InputTypeError(name, expected="Ranks or a Report", got=got) from None
    return ranks if weights is ranks.weights else ranks.with_weights(weights)


def measures_queries(model: object) -> bool:
    """Whether a model is a report of retrieval, whose metrics are means over queries."""
    return hasattr(model, "per_query")


def tasks_of(name: str, model: Any) -> Ranks:
    """The ranks of a model: right answers of a report of retrieval, else as `weighted_ranks`."""
    ranks: Ranks = model.ranks if measures_queries(model) else weighted_ranks(name, model)
    return ranks


def reader_of(model: Any) -> Callable[[str], Key]:
    """What reads a key of a model, or of the first of several: retrieval has keys of its own."""
    while isinstance(model, (list, tuple, Mapping)) and model and not has_protocol(model):
        model = next(iter(model.values() if isinstance(model, Mapping) else model))
    reader: Callable[[str], Key] = getattr(model, "read_key", parse)
    return reader


def groups_of(model: Any, groups: LabelsLike | None) -> LabelsLike | None:
    """The groups of a macro average: those that are given, else those of a Report."""
    if groups is None and not isinstance(model, Ranks):
        groups = getattr(model, "group_labels", None)
    return groups


def _fatal_differences(a: Ranks, b: Ranks) -> list[str]:
    """Differences that forbid a comparison in any case."""
    if len(a) != len(b):
        return [f"tasks: {len(a):,} against {len(b):,}"]
    shares = []
    for ranks in (a, b):
        weights = np.ones(len(ranks)) if ranks.weights is None else ranks.weights
        shares.append(weights / weights.max(initial=0.0) if weights.any() else weights)
    if not np.allclose(shares[0], shares[1], rtol=1e-12, atol=0):
        return ["weights: they differ; give both the same with ranks.with_weights(...)"]
    return []


def _task_differences(a: Ranks, b: Ranks) -> list[str]:
    """Differences of the tasks themselves."""
    found = []
    if (a.candidates != b.candidates).any():
        found.append(_format_difference("candidates", a.candidates, b.candidates))
    for name in ("side", *BY_IDS):
        one: Labels | None = getattr(a, name)
        two: Labels | None = getattr(b, name)
        if one is None or two is None or one.same_as(two):
            continue
        if (one.vocabulary is None) != (two.vocabulary is None):
            found.append(f"{name}: names against integer ids")
        else:
            found.append(_format_difference(name, one.values, two.values))
    return found


def _format_difference(name: str, one: Any, two: Any) -> str:
    (places,) = np.nonzero(one != two)
    i = int(places[0])
    return (
        f"{name}: {len(places):,} of {len(one):,} tasks differ, the first at position {i} "
        f"({one[i]} against {two[i]})"
    )


def pair_ranks(
    a: Any, b: Any, names: tuple[str, str] = ("a", "b"), *, allow_unlike: bool = False
) -> tuple[Ranks, Ranks, str, tuple[str, ...]]:
    """Pair the ranks of two models: with the same sides and weights; how, and notes on this.

    Parameters
    ----------
    a, b : Ranks or Report
    names : (str, str)
        What messages call the models.
    allow_unlike : bool
        Whether notes say what differs, where nothing forbids a comparison.

    Raises
    ------
    ValueError
        For differences that are not allowed; the message lists all of them.

    Examples
    --------
    >>> ranks = Ranks([0], [1], 10)
    >>> pair_ranks(ranks, ranks)[2:]
    ('position', ('paired by position only',))
    """
    if measures_queries(a) != measures_queries(b):
        kinds = [type(model).__name__ for model in (a, b)]
        raise InputTypeError(names[1], expected=f"{kinds[0]}, as {names[0]} is", got=kinds[1])
    own: Any = {x: [getattr(model, x, None) for model in (a, b)] for x in ("gains", "misses")}
    a, b = (tasks_of(name, model) for name, model in zip(names, (a, b), strict=True))
    fatal = _fatal_differences(a, b)
    unlike = [] if len(a) != len(b) else _task_differences(a, b)
    for name, (one, two) in own.items():
        unlike += [f"{name}: they differ"] * (not fatal and not np.array_equal(one, two))
    unlike = [f"protocol: {x}" for x in a.protocol.differences(b.protocol)] + unlike
    if fatal or (unlike and not allow_unlike):
        advice = "" if fatal else "; allow_unlike=True compares them all the same"
        problem = f"cannot be compared with {names[0]}: {'; '.join([*fatal, *unlike])}{advice}"
        raise InputValueError(names[1], problem)
    pairing = describe_pairing(a, b)
    notes = [f"unlike {x}" for x in unlike] + [BY_POSITION_ONLY] * (pairing == BY_POSITION)
    side = a.side if a.side is not None else b.side
    a = a.with_labels(side=side)
    b = b.with_labels(side=side).with_weights(a.weights)
    return a, b, pairing, tuple(notes)


def describe_pairing(a: Ranks, b: Ranks) -> str:
    """Say how the tasks were matched: by ids that both have, or by position.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([0], [1], 10, queries=[7])
    >>> describe_pairing(ranks, ranks)
    'query ids'
    """
    labels = {word: (getattr(a, name), getattr(b, name)) for name, word in BY_IDS.items()}
    known = [word for word, (one, two) in labels.items() if one and two and one.same_as(two)]
    return f"{' and '.join(known)} ids" if known else BY_POSITION
