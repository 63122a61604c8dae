"""Test that tables of several runs hold what `interval` and `compare` have of the same runs.

`PYTHONPATH=python:tests python tests/reporting/test_tables_of_runs.py 1000` checks so many tables.
"""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

from support.examples import USUAL
from truerank import InputValueError, Ranks, Report, Table, compare, report, table
from truerank.inference import Interval, interval

# Their value is that of a mean, and no mean of values.
OF_MEANS = ["gmr", "hmr", "igmr", "imr", "std", "variance", "power_mean:2", "ratio.gmr"]
OF_MEANS += ["index.gmr", "optimistic.gmr"]
KEYS = [*OF_MEANS, "mr", "mrr", "hits@3", "amri", "ratio.mrr", "median", "mad", "zmr", "z.gmr"]


def ranks_of(above: object, first: int = 0) -> Report:
    """Report one run over tasks that are numbered from the first on."""
    places = np.asarray(above, dtype=np.int64)
    numbers = first + np.arange(len(places))
    ids = {"queries": numbers, "targets": numbers}
    return report(Ranks(places, np.ones(len(places), int), 20_000, **ids))


def draw_models(rng: np.random.Generator) -> dict[str, list[Report]]:
    """Draw runs of models over the same tasks, or over folds, some of which have failed."""
    names = "ABC"[: rng.integers(2, 4)]
    sizes = rng.integers(1, 50, rng.integers(2, 6))
    if rng.random() < 0.7:  # They are no folds.
        sizes[:] = sizes[0]
    are_folds = len(set(sizes.tolist())) > 1
    models = {}
    for name in names:
        runs = []
        for fold, size in enumerate(sizes.tolist()):
            most = 20_000 if rng.random() < 0.2 else rng.integers(2, 300)
            above = rng.integers(0, most, size) if rng.random() < 0.9 else np.full(size, most - 1)
            runs.append(ranks_of(above, 1000 * fold if are_folds else 0))
        models[name] = runs
    return models


def interval_or_none(runs: list[Report], key: str) -> Interval | None:
    """Return the interval of several runs, unless there is none of this metric."""
    try:
        return interval(runs, key)
    except InputValueError:
        return None


def check_table(seed: int) -> None:
    """Check value, brackets, deviation and star of a table of runs, at all doors of a table."""
    rng = np.random.default_rng(seed)
    models = draw_models(rng)
    keys = rng.permutation(KEYS)[:4].tolist()
    plain, bracketed = (table(models, keys, interval=has) for has in (False, True))
    assert [plain[key] for key in keys] == [bracketed[key] for key in keys]
    for row in range(len(models)):
        content = json.loads(plain.to_json())["rows"][row]
        assert [content[key] for key in keys] == [none_of_nan(plain[key][row]) for key in keys]
    intervals = {key: [interval_or_none(runs, key) for runs in models.values()] for key in keys}
    for key in keys:
        values = np.array([[run[key] for run in runs] for runs in models.values()])
        expected = values.mean(axis=1)
        if intervals[key][0] is not None:
            expected = np.array([each.value for each in intervals[key]])
        exact = {"rel": 0 if key in OF_MEANS else 1e-12, "nan_ok": True}
        assert plain[key] == pytest.approx(
            expected.tolist(), abs=0 if key in OF_MEANS else 1e-12, **exact
        )
        assert plain[f"{key} std"] == pytest.approx(values.std(axis=1, ddof=1), nan_ok=True)
        for i, each in enumerate(intervals[key]):
            bounds = bracketed[f"{key} low"][i], bracketed[f"{key} high"][i]
            if each is None or math.isnan(each.value):
                assert bounds == (None, None)
            else:
                assert bounds == pytest.approx((each.low, each.high), nan_ok=True, rel=0, abs=0)
        check_column(plain, key, expected)
    if "gmr" in keys:
        for pair in compare(models, metric="gmr"):
            for name, value in ((pair.name_a, pair.value_a), (pair.name_b, pair.value_b)):
                assert plain["gmr"][list(models).index(name)] == value


def check_column(made: Table, key: str, expected: np.ndarray) -> None:
    """Check what people read of a key: where its deviation stands, and where its star."""
    (place,) = (j for j, column in enumerate(made.shown_columns) if column.name == key)
    column = made.shown_columns[place]
    texts = [row[place] for row in made.texts()]
    known = [i for i, value in enumerate(expected) if not math.isnan(value)]
    stars = {row for row, j in made.marks()[0] if j == place}
    if column.better is not None and known:
        choose = max if column.better == "higher" else min
        best = column.text(choose(expected[i] for i in known), 0, 3)
        assert stars == {i for i in known if column.text(expected[i], i, 3) == best}
    has_own_column = any(each.name == f"{key} std" for each in made.shown_columns)
    assert has_own_column == (key in OF_MEANS)
    assert any("\u00b1" in text for text in texts) <= (key not in OF_MEANS)


def none_of_nan(value: float) -> float | None:
    return None if math.isnan(value) or math.isinf(value) else value


@pytest.mark.parametrize("seed", range(USUAL))
def test_a_table_of_runs_holds_what_interval_and_compare_have(seed: int) -> None:
    check_table(seed)


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        check_table(number)
    print(f"{sys.argv[1]} tables: value, interval and star are those of interval, and of compare")
