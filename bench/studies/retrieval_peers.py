"""The values of the test suites of five toolkits, beside truerank's for the same lists.

    python bench/studies/retrieval_peers.py FOLDER [--suites trec_eval ranx RecBole ...]

FOLDER has their repositories: trec_eval, ranx, RecBole, pytorch_geometric, torchmetrics. Files of
trec_eval are read; tests of the next three are run, and what their metrics are called with is
seen; of torchmetrics the inputs are taken, query by query. Prints how many values are equal, how
many are between the worst and the best order of ties, and the others by metric.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from pages import arguments, markdown_table

import truerank as tr
from truerank import Report
from truerank.metrics.keys import parse
from truerank.retrieval import Task

Value = tuple[str, float, Report | None, Any]  # key, theirs, None if refused, query


def evaluate(qrels: Any, run: Any, names: Any = None, **options: Any) -> Report | None:
    """Evaluate lists; None where truerank refuses them, or no query has a right answer."""
    entities = {"beyond"}.union(*run.values(), *qrels.values())
    try:
        return Task(qrels, entities=sorted(entities), **options).evaluate_lists(run)
    except ValueError:
        return None


def verdict(value: Value, digits: float) -> str | None:
    """Say how a value compares; None for a query without a right answer."""
    key, theirs, report, query = value
    if report is None:
        return f"{key} refused"
    if query is not None and query not in report.queries:
        return None
    keys = (key, f"pessimistic.{key}", f"optimistic.{key}")
    if query is None:
        mean, low, high = (report[each] for each in keys)
    else:
        place = report.queries.index(query)
        mean, low, high = (report.per_query(each)[place] for each in keys)
    if abs(mean - theirs) <= digits:
        return "equal"
    if low - digits <= theirs <= high + digits:
        return "within"
    return key


def is_key(name: str) -> bool:
    try:
        return bool(parse(name, "query"))
    except KeyError:
        return False


# -- trec_eval -------------------------------------------------------------------------------------

TREC_RUNS = (  # the file of values, qrels, run, documents of a list at most, least relevance
    ("out.test", "qrels.test", "results.test", None, 1),
    ("out.test.a", "qrels.test", "results.test", None, 1),
    ("out.test.aq", "qrels.test", "results.test", None, 1),
    ("out.test.aqc", "qrels.test", "results.trunc", None, 1),
    ("out.test.aqcM", "qrels.test", "results.trunc", 100, 1),
    ("out.test.aql", "qrels.rel_level", "results.test", None, 2),
    ("out.test.meas_params", "qrels.test", "results.test", None, 1),
)


def of_trec_eval(folder: Path) -> Iterator[Value]:
    for file, qrels, results, most, least in TREC_RUNS:
        judged = tr.read_qrels(folder / qrels)
        run = defaultdict(dict)
        for line in (folder / results).read_text().splitlines():
            fields = line.split()  # one file has more than six
            run[fields[0]][fields[2]] = float(fields[4])
        lists = {
            query: dict(sorted(found.items(), key=lambda row: -row[1])[:most])
            for query, found in run.items()
        }
        level = np.where(judged.relevance < 1, judged.relevance, judged.relevance >= least)
        reports = []
        for grades in (judged.relevance.tolist(), level.tolist()):
            graded: dict[str, dict[str, float]] = defaultdict(dict)
            for asked, document, grade in zip(
                judged.queries, judged.documents, grades, strict=True
            ):
                graded[asked][document] = grade
            reports.append(evaluate(graded, lists))
        for line in (folder / file).read_text().splitlines():
            name, query, value = map(str.strip, line.split("\t"))
            if is_key(name):
                report = reports[not name.startswith("ndcg")]
                asked = None if query == "all" else query
                yield name, float(value), report, asked


# -- toolkits whose tests are run ------------------------------------------------------------------


def run_tests(*paths: Path) -> None:
    arguments = ["-q", "-p", "no:cacheprovider"]
    arguments += map(str, paths)
    if pytest.main(arguments) != 0:
        print("some of these tests fail", file=sys.stderr)


def watch(seen: list[Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that also notes its name, its arguments and its result."""

    def call(*arguments: Any) -> Any:
        values = function(*arguments)
        seen.append((name, arguments, values))
        return values

    return call


def key_of_ranx(metric: str, parameter: float = 0) -> str:
    if metric == "rbp":
        return f"rbp:{parameter}"
    if parameter:
        return f"{metric}@{parameter}"
    return metric


def of_ranx(folder: Path) -> Iterator[Value]:
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # the tests are small
    metrics = importlib.import_module("ranx.metrics")
    seen: list[Any] = []
    names = {"average_precision": "map", "reciprocal_rank": "mrr", "rank_biased_precision": "rbp"}
    for name in set(metrics.__all__) - {"get_hit_lists", "interpolated_precision_at_recall"}:
        watched = watch(seen, names.get(name, name), getattr(metrics, name))
        setattr(metrics, name, watched)
        if f"ranx.metrics.{name}" in sys.modules:
            setattr(sys.modules[f"ranx.metrics.{name}"], name, watched)
    unit = folder / "unit" / "ranx"
    run_tests(unit / "metrics_test.py", unit / "metrics", unit / "meta" / "evaluate_test.py")
    for name, given, values in seen:
        qrels, run = given[:2]
        metric = name.removesuffix("_burges")
        key = key_of_ranx(metric, *given[2:3])
        if not is_key(key):
            continue
        options: dict[str, Any] = {}
        options["gain"] = "linear" if name == metric else "exponential"
        # metrics without gains take them as 0 and 1
        most = 2**63 if metric in ("dcg", "ndcg") else 1
        for judged, listed, value in zip(qrels, run, values, strict=True):
            right = {f"d{int(d)}": min(int(g), most) for d, g in judged}
            places = {f"d{int(d)}": -i for i, (d, _) in enumerate(listed) if d != -1}
            if len(places) < sum(d != -1 for d, _ in listed):
                yield key, value, None, "q"  # a document twice
            elif any(right.values()):
                yield key, value, evaluate({"q": right}, {"q": places}, **options), "q"


def of_recbole(folder: Path) -> Iterator[Value]:
    removed = {"float_": np.float64, "complex_": np.complex128, "unicode_": np.str_}
    for name, kind in removed.items():  # of numpy 1, which RecBole 1.2 reads
        setattr(np, name, kind)
    registry = importlib.import_module("recbole.evaluator.register").metrics_dict
    seen: list[Any] = []
    names = {"hit": "success", "map": "map_min"}
    for name in ("hit", "mrr", "map", "ndcg", "recall", "precision", "gauc"):
        metric = registry[name]
        metric.metric_info = watch(seen, names.get(name, name), metric.metric_info)
    run_tests(*(folder / "metrics" / f"test_{kind}_metrics.py" for kind in ("topk", "rank")))
    for name, given, values in seen:
        arrays = given[1:]
        if name == "gauc":
            yield name, float(values), gauc_report(*arrays), None
            continue
        hits = arrays[0]
        numbers = hits.sum(1) + 1
        if arrays[1:]:
            numbers = arrays[1]
        for row, number, of_k in zip(hits, numbers, values, strict=True):
            listed = [f"l{i}" for i in range(len(row))]
            right = [listed[i] for i in np.flatnonzero(row)]
            right += [f"m{i}" for i in range(number - len(right))]
            report = evaluate({"q": dict.fromkeys(right, 1)}, {"q": listed})
            yield from ((f"{name}@{k}", value, report, "q") for k, value in enumerate(of_k, 1))


def gauc_report(sums: Any, sizes: Any, numbers: Any) -> Report | None:
    """Report places that have these sums; None where no places have them."""
    parts = []
    for i, (total, size, number) in enumerate(zip(sums, sizes, numbers, strict=True)):
        places = next(
            (p for p in combinations(range(1, size + 1), number) if sum(p) == total), None
        )
        if places is None:
            return None
        above = np.array(places, int) - 1
        parts.append(tr.Ranks(above, np.ones_like(above), size, queries=[i] * number))
    return tr.report(tr.concatenate([part for part in parts if len(part)]), unit="query")


def of_pyg(folder: Path) -> Iterator[Value]:
    module = importlib.import_module("torch_geometric.metrics.link_pred")
    seen: list[Any] = []
    held: dict[int, list[Any]] = defaultdict(list)
    base = module.LinkPredMetric
    update = base.update
    compute = base.compute
    reset = base.reset

    def on_update(self: Any, found: Any, pairs: Any, weights: Any = None) -> Any:
        result = update(self, found, pairs, weights)
        held[id(self)].append((found.clone(), [p.clone() for p in pairs], deepcopy(weights)))
        return result

    def on_compute(self: Any) -> Any:
        value = compute(self)
        name = type(self).__name__.removeprefix("LinkPred")
        seen.append((name, self.k, self.weighted, list(held[id(self)]), float(value)))
        return value

    def on_reset(self: Any) -> Any:
        held[id(self)].clear()
        return reset(self)

    base.update = on_update
    base.compute = on_compute
    base.reset = on_reset
    run_tests(folder / "metrics" / "test_link_pred_metric.py")
    names = {"MAP": "map_min", "HitRatio": "success"}
    for metric, k, weighted, updates, value in seen:
        key = f"{names.get(metric, metric.lower())}@{k}"
        if not is_key(key) or (weighted and metric == "Recall"):  # weighted recall is theirs alone
            continue
        qrels: dict[str, dict[str, float]] = defaultdict(dict)
        run = {}
        for number, (found, (rows, columns), weights) in enumerate(updates):
            gains = np.ones(len(rows))
            if weighted and weights is not None:
                gains = weights.double()
            for row, column, gain in zip(rows.tolist(), columns.tolist(), gains, strict=True):
                qrels[f"{number} {row}"][f"d{column}"] = float(gain)
            run |= {f"{number} {i}": [f"d{j}" for j in row] for i, row in enumerate(found.tolist())}
        if qrels:
            yield key, value, evaluate(qrels, {query: run[query] for query in qrels}), None


def of_torchmetrics(folder: Path) -> Iterator[Value]:
    import torchmetrics.functional.retrieval as functional

    sys.modules.setdefault("cachier", MagicMock())  # it caches results of others
    sys.path.insert(0, str(folder))
    inputs = importlib.import_module("unittests.retrieval._inputs")
    of_k = {"precision": "precision", "recall": "recall", "hit_rate": "success"}
    of_k |= {"average_precision": "map", "reciprocal_rank": "mrr"}
    uncut = {"average_precision": "map", "reciprocal_rank": "mrr", "r_precision": "r_precision"}
    graded = ("int_target", "float_target")
    forms = ["", "for_adaptive_k", "extra", "with_ignore_index"]
    forms += graded
    for form in forms:
        data = getattr(inputs, f"_input_retrieval_scores_{form}".removesuffix("_"))
        index, scores, target = (x.flatten() for x in data)
        keep = target != -100
        queries = []
        qrels = {}
        run = {}
        for i in index.unique().tolist():
            here = (index == i) & keep
            name = f"q{i}"
            labels = [f"d{j}" for j in range(int(here.sum()))]
            queries.append((name, scores[here], target[here]))
            qrels[name] = dict(zip(labels, target[here].tolist(), strict=True))
            run[name] = dict(zip(labels, scores[here].double().tolist(), strict=True))
        metrics: list[tuple[str, str, dict[str, int]]] = [("ndcg", "normalized_dcg", {})]
        metrics += [(f"ndcg@{k}", "normalized_dcg", {"top_k": k}) for k in (1, 4, 10)]
        if form not in graded:
            metrics += [(key, name, {}) for name, key in uncut.items()]
            metrics += [
                (f"{key}@{k}", name, {"top_k": k}) for name, key in of_k.items() for k in (1, 4, 10)
            ]
        for name, preds, gains in queries:
            report = evaluate({name: qrels[name]}, {name: run[name]})
            if not (gains > 0).any():
                continue
            for key, function, options in metrics:
                value = getattr(functional, f"retrieval_{function}")(preds, gains, **options)
                yield key, float(value), report, name


SUITES = {
    "trec_eval": (of_trec_eval, "test", 5.1e-5),  # four digits
    "ranx": (of_ranx, "tests", 1e-9),
    "RecBole": (of_recbole, "tests", 1e-9),
    "pytorch_geometric": (of_pyg, "test", 1e-6),
    "torchmetrics": (of_torchmetrics, "tests", 1e-5),
}


def main(folder: Path, suites: list[str]) -> None:
    sys.argv = sys.argv[:1]
    rows = []
    for name in suites:
        of, tests, digits = SUITES[name]
        values = of((folder / name / tests).resolve())
        counts = Counter(filter(None, (verdict(value, digits) for value in values)))
        others = ", ".join(
            f"{n} {key}" for key, n in sorted(counts.items()) if key not in ("equal", "within")
        )
        rows.append([name, counts.total(), counts["equal"], counts["within"], others])
    print(markdown_table("tests of | values | equal | within bounds | different or refused", rows))


if __name__ == "__main__":
    main(**arguments(__doc__, "folder", suites=list(SUITES)))
