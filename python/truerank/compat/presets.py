"""Presets: the rows of `presets.toml`, one for each toolkit."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.checks import choice, several
from ..naming import public
from ..tables.forms import markdown_cell

_CONTENT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# For each field of a `Convention`, these are its words and what each says to people.
WORDS: dict[str, dict[str, str]] = _CONTENT["words"]
# These steps lead from the exact definition to a toolkit's number, in this order.
STEPS = ("nan", "candidates", "transform", "tolerance", "filter", "itself", "rank", "mean")


@public("truerank.compat")
class Metric(NamedTuple):
    """A number that a toolkit shows.

    Attributes
    ----------
    name : str
        Its name in the toolkit. "{filtered}" becomes the suffix of the preset if there is a filter.
    key : str
        Its key in a report of truerank: "mr", "mrr", "hits@k" or "amri"; also "mrr@k" and "ndcg@k",
        which are those of one true candidate.
    form : str
        How it is printed: a format of `format`, or "repr" for all digits.
    scale : float
        The factor of the printed number: 100 for percentages.
    """

    name: str
    key: str
    form: str = "repr"
    scale: float = 1.0


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Convention:
    """How a toolkit ranks the true candidate; the default is the exact definition.

    The words of each field, and what they mean, are in `presets.toml`.

    Parameters
    ----------
    nan : str
        How NaN is treated.
    candidates : {"all", "finite"}
        Which scores count as candidates in adjusted metrics.
    transform : {"none", "float32", "logsigmoid", "thousandths"}
        How all scores are changed first.
    rtol, atol : float
        A candidate is tied if its distance to the true score a is at most atol + rtol * abs(a), as
        in ``torch.isclose``.
    filter : str
        How filtered candidates are treated.
    itself : {"no", "always", "as filtered"}
        Whether the true candidate is also among its own negatives.
    rank : str
        The place of the true candidate in its tie. By column it is exact for scores in columns, and
        anywhere in the tie for bare scores.
    mean : str
        The arithmetic of the average.

    Raises
    ------
    ValueError
        For an unknown word.

    Examples
    --------
    >>> Convention(rank="optimistic") == Convention()
    False
    """

    nan: str = "worst"
    candidates: str = "all"
    transform: str = "none"
    rtol: float = 0.0
    atol: float = 0.0
    filter: str = "left out"
    itself: str = "no"
    rank: str = "realistic"
    mean: str = "float64"

    def __post_init__(self) -> None:
        for name in WORDS.keys() & vars(self).keys():
            choice(name, getattr(self, name), tuple(WORDS[name]))

    def says(self, name: str) -> str:
        """Describe the choice for a field, or for "tolerance", in words."""
        choice("name", name, STEPS)
        if name == "tolerance":
            return f"scores within {self.atol:g} + {self.rtol:g} * |true score| tie"
        return WORDS[name][getattr(self, name)]

    def steps(self) -> Iterator[tuple[str, Convention]]:
        """Yield the steps from the exact definition to this one, and the convention after each.

        Examples
        --------
        >>> [name for name, _ in Convention(nan="compared", rank="optimistic").steps()]
        ['nan', 'rank']
        """
        reached = EXACT
        for step in STEPS:
            if step == "tolerance":
                changed = replace(reached, rtol=self.rtol, atol=self.atol)
            else:
                changed = replace(reached, **{step: getattr(self, step)})
            if changed != reached:
                reached = changed
                yield step, reached


EXACT = Convention()


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Preset:
    """The evaluation of one toolkit.

    Attributes
    ----------
    name, toolkit, version : str
        Its name here, the name of the toolkit, and the version or commit that was read.
    source : tuple of str
        Repository, file and functions that define the convention.
    convention : Convention
        How the true candidate is ranked.
    metrics : tuple of Metric
        The numbers that the toolkit shows.
    splits : str
        The splits whose true answers it filters.
    candidates : str
        The candidates that it ranks.
    suffix : str
        The replacement of "{filtered}" in the name of a metric if there is a filter.
    averaged : bool
        Whether a number is the mean of the numbers of both sides.
    notes : tuple of str
        Further facts that help to read its numbers.

    Examples
    --------
    >>> from truerank import compat
    >>> compat.PRESETS["openke"].convention.rank
    'optimistic'
    """

    name: str
    toolkit: str
    version: str
    source: tuple[str, ...]
    convention: Convention
    metrics: tuple[Metric, ...]
    splits: str
    candidates: str
    suffix: str = ""
    averaged: bool = False
    notes: tuple[str, ...] = ()


def _read_presets() -> Iterator[Preset]:
    for name, row in _CONTENT["toolkits"].items():
        fields: dict[str, Any] = {}
        for key, value in row.items():
            fields[key] = tuple(value) if isinstance(value, list) else value
        fields["convention"] = Convention(**fields.get("convention", {}))
        fields["metrics"] = tuple(Metric(*metric) for metric in fields["metrics"])
        yield Preset(name=name, **fields)


PRESETS: Mapping[str, Preset] = MappingProxyType({row.name: row for row in _read_presets()})


def find_presets(names: Iterable[Any] | None, argument: str = "presets") -> list[Preset]:
    """Return presets by their names, each of which stands once; None means all of them."""
    if names is None:
        names = PRESETS
    presets: list[Preset] = []
    for name in several("presets", names, "names or rows"):
        if isinstance(name, Preset):
            presets.append(name)
        elif not isinstance(name, str):
            expected = "a name or a Preset"
            raise InputTypeError(argument, expected=expected, got=type(name).__name__)
        elif name not in PRESETS:
            raise UnknownKeyError(argument, "", f"one of {', '.join(PRESETS)}", repr(name))
        else:
            presets.append(PRESETS[name])
    if len({row.name for row in presets}) < len(presets):
        got = ", ".join(row.name for row in presets)
        raise InputValueError("presets", expected="each name once", got=got)
    return presets


@public("truerank.compat")
def describe() -> str:
    """Write the table of presets as Markdown, with a row for each.

    Examples
    --------
    >>> print(describe().splitlines()[0])
    | preset | toolkit | place in a tie | what else differs | splits filtered | candidates |
    """
    heading = [
        "preset",
        "toolkit",
        "place in a tie",
        "what else differs",
        "splits filtered",
        "candidates",
    ]
    lines = [heading, [":---"] * len(heading)]
    for row in PRESETS.values():
        steps = row.convention.steps()
        others = "; ".join(reached.says(step) for step, reached in steps if step != "rank")
        texts = [row.toolkit, row.convention.says("rank"), others, row.splits, row.candidates]
        cells = [f"`{row.name}`"]
        cells += map(markdown_cell, texts)
        lines.append(cells)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
