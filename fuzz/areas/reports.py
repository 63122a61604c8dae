"""`reports`: JSON, groups and macro averages, slices, joined and saved ranks, by definition."""

from __future__ import annotations

import copy
import io
import itertools
import json
import math
import pickle
import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles import metrics as oracle
from support.example_ranks import any_ranks, same
from support.metric_keys import keys_where

FOLDER = tempfile.TemporaryDirectory(prefix="truerank-fuzz-")  # removed at the end
LABELS = ("side", "relation", "queries", "targets", "unit")
COUNTS = ("above", "tied", "candidates")
METRICS = keys_where(lambda metric: True)
RATIONAL = ("mr", "mrr", "hits@1", "hits@3", "median", "imr", "hmr")


def rows_of(ranks: tr.Ranks) -> list[tuple[Any, ...]]:
    """Return everything that is known of each task."""
    columns: list[Sequence[Any]] = [getattr(ranks, name).tolist() for name in COUNTS]
    columns += [] if ranks.weights is None else [ranks.weights.tolist()]
    for labels in (*(getattr(ranks, name) for name in LABELS), *ranks.labels.values()):
        columns += [] if labels is None else [labels.values.tolist()]
    columns += [] if ranks.audit is None else [array.tolist() for array in ranks.audit]
    return list(zip(*columns, strict=True))


def present(ranks: tr.Ranks) -> list[str]:
    """Return the names of the optional parts that ranks have."""
    names = [name for name in ("weights", *LABELS, "audit") if getattr(ranks, name) is not None]
    return [*names, *ranks.labels]


@st.composite
def indices(draw: st.DrawFn, n: int) -> Any:
    """Draw an index in any form."""
    whole = st.none() | st.integers(-n - 2, n + 2)
    slices = st.builds(slice, whole, whole, st.none() | st.integers(-3, 3).filter(bool))
    masks = st.lists(st.booleans(), min_size=n, max_size=n).map(lambda m: np.array(m, bool))
    forms = [slices, masks]
    if n:
        positions = st.lists(st.integers(-n, n - 1), max_size=2 * n)
        forms += [positions.map(lambda p: np.array(p, np.int64)), st.integers(-n, n - 1)]
    return draw(st.one_of(forms))


def taken(rows: list[Any], index: Any) -> list[Any]:
    if isinstance(index, slice):
        return rows[index]
    if isinstance(index, int):
        return [rows[index]]
    if index.dtype == bool:
        return [row for row, chosen in zip(rows, index.tolist(), strict=True) if chosen]
    return [rows[i] for i in index.tolist()]


@check(any_ranks(), st.data(), inputs=100)
def slices(ranks: tr.Ranks, data: Any) -> None:
    index = data.draw(indices(len(ranks)))
    part = ranks[index]
    assert rows_of(part) == taken(rows_of(ranks), index)
    assert present(part) == present(ranks)
    assert part.protocol == ranks.protocol


@check(any_ranks(), st.data(), inputs=100)
def joined(ranks: tr.Ranks, data: Any) -> None:
    """The parts of ranks, joined in any order, have the same tasks."""
    cut = st.integers(0, len(ranks))
    bounds = [0, *sorted(data.draw(st.lists(cut, max_size=3))), len(ranks)]
    parts = [ranks[a:b] for a, b in itertools.pairwise(bounds)]
    parts = data.draw(st.permutations(parts))
    whole = tr.concatenate(parts)
    assert rows_of(whole) == [row for part in parts for row in rows_of(part)]
    assert whole.protocol == ranks.protocol
    again = tr.concatenate(parts[::-1])
    values = [[tr.report(each)[key] for key in ("mr", "mrr", "expected.hits@3", "median")]
              for each in (whole, again) if "relation" not in tr.report(each).sides]  # fmt: skip
    for one, two in zip(values[0], values[-1], strict=True) if values else []:
        assert math.isclose(one, two, rel_tol=1e-12) or same(one, two)


# One field of a protocol, so that two differ in it alone.
FIELDS = st.one_of(
    st.builds(dict, filter=st.sampled_from([("train",), ("valid", "test")])),
    st.builds(dict, candidates=st.sampled_from(["all", "selection"])),
    st.builds(dict, sampled=st.booleans()),
    st.builds(dict, nan=st.sampled_from(["raise", "worst", "omit"])),
    st.builds(dict, split=st.sampled_from([None, "test", "valid"])),
    st.builds(dict, order=st.sampled_from(["descending", "ascending"])),
)


@check(any_ranks(), any_ranks() | FIELDS, inputs=60)
def strangers(one: tr.Ranks, other: Any) -> None:
    """Ranks are joined if they have the same parts and agree in what is compared."""
    two = one.with_protocol(**other) if isinstance(other, dict) else other
    a, b = one.protocol, two.protocol
    fields = ("candidates", "sampled", "nan", "split")
    alike = all(getattr(a, name) == getattr(b, name) for name in fields)
    alike = alike and {*a.filter} == {*b.filter}
    try:
        whole = tr.concatenate([one, two])
    except tr.InputValueError as error:
        message = str(error)
    else:
        assert alike
        assert present(one) == present(two)
        assert rows_of(whole) == rows_of(one) + rows_of(two)
        for name in ("order", "dtype"):
            own = getattr(a, name), getattr(b, name)
            assert getattr(whole.protocol, name) == (own[0] if own[0] == own[1] else "mixed")
        return
    named = [{*two.labels}, {*one.labels}]
    kinds = [(name, getattr(one, name), getattr(two, name)) for name in LABELS]
    unlike_ids = [
        name
        for name, x, y in kinds
        if x is not None and y is not None and (x.vocabulary is None) != (y.vocabulary is None)
    ]
    assert not alike or present(one) != present(two) or named[0] != named[1] or unlike_ids, message


@check(any_ranks(), inputs=60)
def saved(ranks: tr.Ranks) -> None:
    """What is saved and loaded is equal, and saved again it has the same bytes."""
    path = Path(FOLDER.name, "ranks.npz")
    ranks.save(path)
    content = path.read_bytes()
    back = tr.load(path)
    assert back == ranks
    assert rows_of(back) == rows_of(ranks)
    assert present(back) == present(ranks)
    assert back.protocol == ranks.protocol
    back.save(path)
    assert path.read_bytes() == content
    with np.load(io.BytesIO(content)) as archive:
        assert archive["above"].tolist() == ranks.above.tolist()
    for again in (pickle.loads(pickle.dumps(ranks)), copy.deepcopy(ranks)):
        assert again == ranks
        assert not again.above.flags.writeable


# -- reports ---------------------------------------------------------------------------------------


@dataclass
class Asked:
    """Ranks and the keywords of their report."""

    ranks: tr.Ranks
    keywords: dict[str, Any]

    def report(self) -> tr.Report:
        return tr.report(self.ranks, **self.keywords)


@st.composite
def reports(draw: st.DrawFn) -> Asked:
    """Draw ranks, groups, weights and a seed."""
    ranks = draw(any_ranks())
    n = len(ranks)
    keywords: dict[str, Any] = {"seed": draw(st.integers(0, 2**64))}
    named = {"side": "side", "relation": "relation", "queries": "query", "targets": "target"}
    by: list[Any] = [None, *(word for name, word in named.items() if getattr(ranks, name))]
    own = st.lists(st.sampled_from(["a", "b|c", ""]), min_size=n, max_size=n)
    ids = st.lists(st.integers(-1, 2), min_size=n, max_size=n)
    keywords["by"] = draw(st.sampled_from(by) | (own | ids if n else st.none()))
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    given = st.lists(weight, min_size=n, max_size=n).filter(any)
    keywords["weights"] = draw(st.none() | (given if n else st.none()))
    return Asked(ranks, keywords)


@st.composite
def asked_keys(draw: st.DrawFn, sides: Sequence[str], *, macro: bool) -> list[str]:
    """Draw keys of a report; z of a macro average is none."""
    word = st.sampled_from
    keys = []
    for _ in range(draw(st.integers(1, 4))):
        words = [draw(word(["", "macro"]))] if macro else [""]
        words += [draw(word(sides)), draw(word(["", "optimistic", "expected", "random"]))]
        metric = draw(word(METRICS))
        if metric in ("mr", "mrr", "hits@1") and draw(st.booleans()):
            words.append(draw(word(["ratio", "index"])))
        keys.append(".".join([*filter(None, words), metric]))
    return keys


@check(reports(), st.data(), inputs=40)
def through_json(asked: Asked, data: Any) -> None:
    """A report that is written as JSON and read back equals the first."""
    report = asked.report()
    keys = None
    if data.draw(st.booleans()):
        keys = data.draw(asked_keys(report.sides, macro=report.by is not None))
    text = report.to_json(keys, indent=data.draw(st.sampled_from([None, 2])))
    json.loads(text, parse_constant=int)
    back = tr.Report.from_json(text)
    assert list(back) == list(dict.fromkeys(report if keys is None else keys))
    for key in back:
        assert same(back[key], report[key]), key
    assert back == report
    assert report == back
    assert (back.seed, back.protocol, back.by) == (report.seed, report.protocol, report.by)
    assert back.sides == report.sides
    again = tr.Report.from_json(back.to_json(keys))
    assert again == back
    if report.by is not None:
        assert list(back.groups) == list(report.groups)
        for side in report.sides:
            assert back.group_tasks(side) == report.group_tasks(side)
    if len(report.ranks):
        fewer = tr.report(asked.ranks[:-1], seed=asked.keywords["seed"])
        assert back != fewer


def label_of_tasks(asked: Asked) -> list[Hashable]:
    """Return the group of each task, by its labels in plain Python."""
    by, ranks = asked.keywords["by"], asked.ranks
    if not isinstance(by, str):
        return list(by)
    name = {"side": "side", "relation": "relation", "query": "queries", "target": "targets"}[by]
    labels = getattr(ranks, name).values.tolist()
    sides = None if ranks.side is None else ranks.side.values.tolist()
    if sides is None or name not in ("queries", "targets"):
        return labels
    if name == "targets" and {*sides} <= {"head", "tail"}:
        return labels
    return list(zip(sides, labels, strict=True))


@check(reports(), st.sampled_from(RATIONAL), st.data(), inputs=60)
def groups(asked: Asked, metric: str, data: Any) -> None:
    """Each group has the value of its tasks, and macro averages are means of these."""
    if asked.keywords["by"] is None:
        return
    report, ranks = asked.report(), asked.ranks
    kind = data.draw(st.sampled_from(["optimistic", "realistic", "pessimistic"]))
    side = data.draw(st.sampled_from(report.sides))
    key = f"{side}.{kind}.{metric}"
    labels = label_of_tasks(asked)
    assert {*report.groups} == {*labels}
    given = asked.keywords["weights"]
    weights = given if given is not None else None if ranks.weights is None else ranks.weights
    shares = [Fraction(float(w)) for w in (weights if weights is not None else [1] * len(ranks))]
    places = oracle.positions(ranks.above.tolist(), ranks.tied.tolist(), kind)
    sides = [None] * len(ranks) if ranks.side is None else ranks.side.values.tolist()
    of_side = [s == side or (side == "both" and s != "relation") for s in sides]
    values = report.group_values(key)
    counts = report.group_tasks(side)
    total, means = Fraction(0), Fraction(0)
    for label in report.groups:
        where = [i for i in range(len(ranks)) if labels[i] == label and of_side[i]]
        assert counts[label] == len(where)
        if not any(shares[i] for i in where):
            assert math.isnan(values[label])
            continue
        exact = oracle.exact(metric, [places[i] for i in where], [shares[i] for i in where])
        assert math.isclose(values[label], exact, rel_tol=1e-11), (label, values[label])
        if side in report.groups[label].sides:
            assert math.isclose(report.groups[label][key], exact, rel_tol=1e-11)
        total, means = total + 1, means + Fraction(exact)
    macro = report[f"macro.{key}"]
    if not total:
        assert math.isnan(macro)
        return
    assert math.isclose(macro, means / total, rel_tol=1e-11), (macro, float(means / total))
    everyone = [i for i in range(len(ranks)) if of_side[i]]
    micro = oracle.exact(metric, [places[i] for i in everyone], [shares[i] for i in everyone])
    assert math.isclose(report[key], micro, rel_tol=1e-11)


FAULTS = [
    Fault(
        "a wrong weight",
        "python/truerank/reporting/counted.py",
        "partial(sample_of, self.tasks, seed=seed)",
        "partial(sample_of, self.ranks, seed=seed)",
    ),
    Fault(
        "an off-by-one in the groups",
        "python/truerank/metrics/values.py",
        "ends = np.cumsum(np.bincount(codes, minlength=groups))",
        "ends = np.cumsum(np.bincount(codes, minlength=groups)) - (groups > 2)",
    ),
    Fault(
        "a check left out",
        "python/truerank/ranks/protocol.py",
        "            for name in COMPARABLE\n            if self",
        "            for name in COMPARABLE[1:]\n            if self",
    ),
]
