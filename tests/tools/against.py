"""Compute the same results by two versions of the package, and say where they differ.

`python tests/tools/against.py FOLDER` computes results on problems from a fixed seed and puts them
into a folder, with files of saved ranks, counters and reports; with `--read OTHER` it reads the
files of another folder, too. It needs no more than a truerank of any version. With two folders,
BEFORE and AFTER, it compares them: counts, texts and kinds of errors must be the same, and numbers
to a relative 1e-12. A difference is a fault unless EXPECTED says why it is there. What only one of
the versions has is listed. Inputs have forms that both versions take.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from itertools import product
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import numpy as np

# Results that changed on purpose, as a pattern of their names, with the reason.
EXPECTED = {
    r"form\.json\.(ties|groups|retrieval)": "a finding is a name, a count and a sentence",
}
METRICS = ["mr", "mrr", "hits@1", "hits@3", "hits@10", "hmr", "imr", "gmr", "igmr", "median"]
OF_LISTS = ["mrr", "map", "ndcg@10", "ndcg", "dcg", "recall@5", "precision@5", "success@1"]
OF_LISTS += ["r_precision", "rbp:0.8", "optimistic.err@10", "f1@10"]
METRICS += ["imedian", "power_mean:0.5", "power_mean:-1.5", "std", "variance", "mad", "count"]
KINDS = ["realistic", "optimistic", "pessimistic", "expected", "random"]
ADJUSTMENTS = ["", "ratio.", "index.", "z."]
CHOSEN = ["mr", "mrr", "hits@1", "hits@10", "gmr", "median", "index.mrr", "head.mrr", "macro.mrr"]
NAMES = ["", ".metrics", ".inference", ".reporting", ".link_prediction", ".alignment"]
NAMES += [".retrieval", ".compat", ".plot"]
SIMILARITIES = ["dot", "cosine", "l1", "l2", "sql2", "complex_l1", "inverse_l2"]

Form = Callable[[Any], Any]  # what is kept of a result


class Results:
    """Results by name, on problems that are the same for every version of the package."""

    def __init__(self) -> None:
        import truerank

        self.found: dict[str, Any] = {}
        self.tr = truerank
        self.rng = np.random.default_rng(20)
        integers = self.rng.integers
        self.scores = {
            "ties": integers(0, 25, (60, 90)).astype(np.float32),
            "float64": self.rng.normal(size=(60, 90)),
            "int16": integers(-9, 9, (60, 90)).astype(np.int16),
            "fortran": np.asfortranarray(self.rng.normal(size=(60, 90)).astype(np.float16)),
        }
        self.targets = integers(0, 90, 140)
        self.rows = integers(0, 60, 140)
        indptr = np.concatenate([[0], np.cumsum(integers(0, 30, 140))])
        self.filter = (indptr, integers(0, 90, int(indptr[-1])))
        self.let_in = np.unique(np.concatenate([self.targets, integers(0, 90, 40)]))

    def add(self, name: str, form: Form, function: Any, *args: Any, **options: Any) -> None:
        """Call a function; keep the form of what it returns, or the error that it raises."""
        try:
            self.found[name] = plain(form(function(*args, **options)))
        except Exception as error:
            self.found[name] = f"{type(error).__name__}: {error}"

    def ranks(self, scores: str = "ties") -> Any:
        """Return ranks of two sides and five relations, where queries have several tasks."""
        tasks = {"rows": self.rows, "filter": self.filter}
        ranks = self.tr.rank(self.scores[scores], self.targets, **tasks)
        sides = np.where(np.arange(140) % 2, "head", "tail")
        return ranks.with_labels(side=sides, relation=self.rows % 5, queries=self.rows)

    def counting(self) -> None:
        """Add the counts of every door for scores."""
        tr = self.tr
        ties = self.scores["ties"]
        floats = self.scores["float64"]
        chosen = {"all": {}, "filter": {"filter": self.filter}, "some": {"candidates": self.let_in}}
        for name, which, order in product(self.scores, chosen, ["descending", "ascending"]):
            options = {"rows": self.rows, "order": order, **chosen[which]}
            key = f"rank.{name}.{which}.{order}"
            self.add(key, counts, tr.rank, self.scores[name], self.targets, **options)
        scores = floats.copy()
        one_each = self.targets[:60]
        scores[::3, ::7] = np.nan
        for rule in ("raise", "worst", "omit"):
            self.add(f"rank.nan.{rule}", counts, tr.rank, scores, one_each, nan=rule)
        true_scores = ties[np.arange(60), one_each]
        halves = [tr.RankCounter(true_scores, one_each, candidates=90) for _ in range(2)]
        for start in range(0, 90, 20):
            halves[start % 40 > 0].update(ties[:, start : start + 20], start=start)
        halves[0].merge(halves[1])
        self.add("counter", counts, halves[0].ranks)
        best = np.argsort(-floats, axis=1, kind="stable")[:, :25]
        listed = {"scores": np.take_along_axis(floats, best, axis=1), "order": None}
        for name, given in listed.items():
            key = f"rank_lists.{name}"
            self.add(key, counts, tr.rank_lists, best, given, one_each, candidates=90)
        self.add("rank_against", counts, tr.rank_against, ties[:, 0], ties[:, 1:40])

    def vectors(self) -> None:
        """Add what comes of vectors: counts, scores, the best candidates."""
        tr = self.tr
        normal = self.rng.normal
        for dtype, similarity in product(["float32", "float64"], SIMILARITIES):
            pair = [normal(size=(n, 16)).astype(dtype) for n in (60, 90)]
            name = f"{similarity}.{dtype}"
            given = {"similarity": similarity}
            if similarity == "complex_l1" and "layout" in signature(tr.rank_embeddings).parameters:
                given["layout"] = "interleaved"
            tasks = {"rows": self.rows, "filter": self.filter, **given}
            key = f"rank_embeddings.{name}"
            self.add(key, counts, tr.rank_embeddings, *pair, self.targets, **tasks)
            self.add(f"score_embeddings.{name}", np.asarray, tr.score_embeddings, *pair, **given)
            self.add(f"topk_embeddings.{name}", topk, tr.topk_embeddings, *pair, 7, **given)

    def reports(self) -> None:
        """Add every metric of every kind and adjustment, by group and weighted, and all forms."""
        tr = self.tr
        weights = 1.0 + self.rows % 3
        reports = {name: tr.report(self.ranks(name)) for name in self.scores}
        reports["weighted"] = tr.report(self.ranks().with_weights(weights))
        reports["groups"] = tr.report(self.ranks(), by="relation")
        keys = product(reports, ("", "head.", "macro."), KINDS, ADJUSTMENTS, METRICS)
        for name, side, kind, adjustment, metric in keys:
            if side == "macro." and name != "groups":
                continue
            key = f"{side}{kind}.{adjustment}{metric}"
            self.add(f"report.{name}.{key}", float, reports[name].__getitem__, key)
        shown = {name: reports[name] for name in ("ties", "groups")}
        alike = {name: reports[name] for name in self.scores}
        shown["table"] = tr.table(alike, ["mrr", "hits@10", "index.mr"])
        scores = self.scores["ties"]
        targets = self.targets[:60]
        shown["compat"] = tr.compat.report(scores, targets, preset="pykeen").table()
        self.forms(**shown)

    def forms(self, **results: Any) -> None:
        """Add what results are written as; the notes of LaTeX are comments, and are left out."""
        for name, form in product(results, ("markdown", "csv", "text", "json", "dict", "latex")):
            write = methodcaller(f"to_{form}")
            if form == "latex":
                write = methodcaller("to_latex", notes=False)
            self.add(f"form.{form}.{name}", write, results.get, name)

    def chance(self) -> None:
        """Add expectations, variances and p-values under chance, and adjusted numbers."""
        tr = self.tr
        keys = list(METRICS)
        keys.append("hits@2")
        for tasks, key in product([1, 7, 300], keys):
            sizes = 2 + np.arange(tasks) * 37 % 500
            weights = 1.0 + np.arange(tasks) % 3
            self.add(f"chance.{key}.{tasks}", list, tr.chance, key, sizes)
            self.add(f"chance.{key}.{tasks}.weighted", list, tr.chance, key, sizes, weights)
        for key, value in {"mr": 170.0, "mrr": 0.3, "hits@10": 0.5, "gmr": 20.0}.items():
            own = {"candidates": 500, "tasks": 100}
            self.add(f"adjust.candidates.{key}", numbers, tr.adjust, key, value, **own)

    def inference(self) -> None:
        """Add intervals and comparisons."""
        tr = self.tr
        report = self.tr.report(self.ranks(), by="relation")
        ends = attrgetter("value", "low", "high")
        both = [self.ranks(), self.ranks("int16")]
        for key in CHOSEN:
            options = {"metric": key, "allow_unlike": True}
            self.add(f"interval.{key}", ends, report.interval, key)
            self.add(f"compare.{key}", numbers, tr.compare, *both, **options)

    def link_prediction(self) -> None:
        """Add reports of facts in all forms."""
        rng = np.random.default_rng(21)
        facts = np.stack([rng.integers(0, n, 200) for n in (40, 4, 40)], axis=1)
        scores = rng.integers(0, 30, (2, 50, 40)).astype(np.float32)
        names = [f"e{i}" for i in range(40)]
        labelled = [(names[h], f"r{r}", names[t]) for h, r, t in facts.tolist()]
        for name, rows in {"test": labelled[:50], "train": labelled[50:]}.items():
            lines = ["\t".join(row) for row in rows]
            Path(f"{name}.txt").write_text("\n".join(lines), "utf-8")
        np.save("test.npy", facts[:50])
        known = {"train": facts[50:]}
        forms: dict[str, Any] = {
            "array": (facts[:50], known, 40),
            "tuples": ([tuple(x) for x in facts[:50].tolist()], known, 40),
            "npy": ("test.npy", known, 40),
            "labels": (labelled[:50], {"train": labelled[50:]}, names),
            "text": ("test.txt", {"train": "train.txt"}, names),
            "unfiltered": (facts[:50], None, 40),
        }
        for name, (test, others, entities) in forms.items():
            self.scored(name, scores, test, others, entities=entities)
        candidates = {"tail": facts[:, 2], "head": "all"}
        for name, chosen in {"split": "train", "typed": "typed", "sides": candidates}.items():
            self.scored(name, scores, facts[:50], known, entities=40, candidates=chosen)
        dated = np.column_stack([facts, rng.integers(0, 9, 200)])
        splits = (dated[:50], {"train": dated[50:]})
        self.scored("keys", scores, *splits, entities=40, keys=(3,))
        self.facts_by_vectors(self.tr.link_prediction.Task(facts[:50], known, entities=40))

    def scored(self, name: str, scores: Any, *splits: Any, **options: Any) -> None:
        """Add the report of a task of facts by matrices."""

        def report() -> Any:
            return self.tr.link_prediction.Task(*splits, **options).evaluate_scores(
                **dict(zip(("tail", "head"), scores, strict=False))
            )

        self.add(f"link_prediction.{name}", report_of, report)

    def facts_by_vectors(self, task: Any) -> None:
        """Add reports of a task by vectors and by lists, and of parts joined."""
        normal = np.random.default_rng(25).normal
        sides = {side: normal(size=(50, 8)) for side in ("tail", "head")}
        entities = normal(size=(40, 8))
        evaluate = task.evaluate_embeddings
        self.add("link_prediction.vectors", report_of, evaluate, **sides, entities=entities)
        best = {side: self.tr.topk_embeddings(x, entities, 9) for side, x in sides.items()}
        self.add("link_prediction.top", report_of, task.evaluate_lists, **best)
        self.parts("link_prediction", task, entities)

    def parts(self, name: str, task: Any, table: Any) -> None:
        """Add what parts of a task give, joined in two orders."""

        def scorer(queries: Any) -> Any:
            return table[np.asarray(queries)[:, 0] % len(table)] @ table.T

        def ranks(part: Any) -> Any:
            if name == "retrieval":  # which has one side
                return part.evaluate(scorer).ranks
            return part.evaluate(**dict.fromkeys(part.sides, scorer)).ranks

        def joined(order: tuple[int, ...]) -> Any:
            return self.tr.concatenate([ranks(task[p::3]) for p in order])

        for order in ((0, 1, 2), (2, 0, 1)):
            self.add(f"{name}.parts.{order[0]}", ranks_of, joined, order)

    def alignment(self) -> None:
        """Add reports of pairs in all forms, with both similarities, and of parts joined."""
        tr = self.tr
        rng = np.random.default_rng(22)
        pairs = np.stack([rng.permutation(40)[:30], rng.permutation(50)[:30]], axis=1)
        left, right = (rng.normal(size=(n, 8)) for n in (40, 50))
        for similarity, csls in product(("cosine", "dot"), (None, 5)):
            name = f"alignment.{similarity}.{csls}"
            given = {"similarity": similarity, "csls": csls}
            task = tr.alignment.Task(pairs, left=40, right=50)
            self.add(name, report_of, task.evaluate_embeddings, left, right, **given)
        sizes = {"left": 40, "right": 50, "known": {"train": pairs[20:]}}
        names = [[f"{graph}{i}" for i in range(n)] for graph, n in (("l", 40), ("r", 50))]
        labelled = [(names[0][i], names[1][j]) for i, j in pairs.tolist()]
        Path("pairs.txt").write_text("".join(f"{i}\t{j}\n" for i, j in labelled), "utf-8")
        by_name = {"left": names[0], "right": names[1]}
        forms = {
            "array": (pairs[:20], sizes),
            "tuples": ([tuple(x) for x in pairs[:20].tolist()], sizes),
            "labels": (labelled, by_name),
            "text": ("pairs.txt", by_name),
            "test": (pairs[:20], {**sizes, "candidates": "test"}),
            "unaligned": (pairs[:20], {**sizes, "candidates": "unaligned"}),
        }

        def report(given: Any, options: Any) -> Any:
            return tr.alignment.Task(given, **options).evaluate_embeddings(left, right)

        for name, of_task in forms.items():
            self.add(f"alignment.{name}", report_of, report, *of_task)

    def retrieval(self) -> None:
        """Add reports of judgements, known answers and lists in all forms, and of parts joined."""
        tr = self.tr
        rng = np.random.default_rng(23)
        documents = [f"d{d}" for d in range(40)]
        judged = {}
        for q in range(30):
            chosen = rng.choice(documents, 6, replace=False).tolist()
            judged[f"q{q}"] = dict(zip(chosen, [1, 0, 2, 0, 1, 3], strict=True))
        rows = [(q, d, g) for q, found in judged.items() for d, g in found.items()]
        lines = "".join(f"{q} 0 {d} {g}\n" for q, d, g in rows)
        Path("qrels.txt").write_text(lines, "utf-8")
        given: dict[str, Any] = {
            "mapping": judged,
            "columns": tuple(map(list, zip(*rows, strict=True))),
            "text": "qrels.txt",
            "read": tr.read_qrels("qrels.txt"),
        }
        lists = {q: rng.permutation(documents)[: rng.integers(1, 12)].tolist() for q in judged}
        options: dict[str, Any] = {"entities": documents, "queries": list(judged)}
        for name, qrels in given.items():
            self.listed(name, lists, qrels, **options)
        task = tr.retrieval.Task(judged, **options)
        self.lists(task, lists)
        self.known_answers(judged, documents, lists)
        scores = rng.integers(0, 30, (30, 40)).astype(np.float32)
        self.lists_of("matrix", task.evaluate_scores, scores)
        vectors = [rng.normal(size=(n, 8)) for n in (30, 40)]
        self.lists_of("vectors", task.evaluate_embeddings, *vectors)
        self.parts("retrieval", task, rng.normal(size=(40, 8)))
        self.forms(retrieval=task.evaluate_scores(scores))
        other = {q: found[::-1] for q, found in lists.items()}
        both = [task.evaluate_lists(x) for x in (lists, other)]
        for key in ("mrr", "map", "ndcg@10"):
            self.add(f"compare.retrieval.{key}", numbers, tr.compare, *both, metric=key)

    def lists(self, task: Any, lists: dict[str, list[str]]) -> None:
        """Add reports of the same lists in all forms, and of what lists do not name."""
        tr = self.tr
        scored = {q: {d: 1 / (1 + i // 2) for i, d in enumerate(x)} for q, x in lists.items()}
        run = [(q, d, i, s) for q in scored for i, (d, s) in enumerate(scored[q].items(), 1)]
        Path("run.txt").write_text(
            "".join(f"{q} Q0 {d} {i} {s!r} t\n" for q, d, i, s in run), "utf-8"
        )
        forms: dict[str, Any] = {
            "names": lists,
            "arrays": {q: np.array(x) for q, x in lists.items()},
            "scores": scored,
            "run": "run.txt",
            "read": tr.read_run("run.txt"),
        }
        for name, form in forms.items():
            self.lists_of(f"of_{name}", task.evaluate_lists, form)
        for misses in ("zero", "bounds", "expected"):
            self.lists_of(f"misses_{misses}", task.evaluate_lists, lists, misses=misses)
        top = tr.topk_embeddings(np.eye(30, 40), np.eye(40), 7)
        self.lists_of("top", task.evaluate_lists, top)
        places = [[int(d[1:]) for d in x] for x in lists.values()]
        answers = {q: [q, q + 1] for q in range(30)}
        self.listed("positions", dict(enumerate(map(np.array, places))), answers, entities=40)
        labels = [int(name[1:]) + 100 for name in task.entities]
        answers = {q: [100 + q, 101 + q] for q in range(30)}
        found = [[place + 100 for place in x] for x in places]
        self.listed("int_labels", dict(enumerate(found)), answers, entities=labels)

    def known_answers(self, judged: Any, documents: list[str], lists: Any) -> None:
        """Add reports where known answers, given in all forms, are left out."""
        rng = np.random.default_rng(24)
        rows = [(q, d) for q in judged for d in rng.choice(documents, 3, replace=False).tolist()]
        by_query: dict[str, list[str]] = {}
        for q, d in rows:
            by_query.setdefault(q, []).append(d)
        forms = {
            "mapping": {"train": by_query},
            "columns": {"train": tuple(np.array(column) for column in zip(*rows, strict=True))},
        }
        options = {"entities": documents, "leaks": "drop"}
        for name, known in forms.items():
            given = {**options, "queries": list(judged), "known": known}
            self.listed(f"known_{name}", lists, judged, **given)
        among = {q.replace("q", "d"): found for q, found in judged.items()}  # each is a document
        found = {q.replace("q", "d"): listed for q, listed in lists.items()}
        given = {**options, "queries": list(among), "exclude": "self"}
        self.listed("known_self", found, among, **given)

    def listed(self, name: str, lists: Any, qrels: Any, **options: Any) -> None:
        """Add the report of a task of retrieval by lists."""

        def report() -> Any:
            return self.tr.retrieval.Task(qrels, **options).evaluate_lists(lists)

        self.lists_of(name, report)

    def lists_of(self, name: str, function: Any, *args: Any, **options: Any) -> None:
        """Add the counts of a report of retrieval, and each of its metrics under its name."""
        found: list[Any] = []

        def report() -> Any:
            found.append(function(*args, **options))
            return found[0].ranks

        self.add(f"retrieval.{name}.counts", counts, report)
        for key in OF_LISTS:
            if found:
                self.add(f"retrieval.{name}.{key}", float, found[0].__getitem__, key)

    def compat(self) -> None:
        """Add the numbers of other toolkits."""
        compat = self.tr.compat
        scores = self.scores["ties"]
        targets = self.targets[:60]
        sides = ["head", "tail"] * 30
        for name in compat.PRESETS:
            options = {"preset": name, "side": sides}
            self.add(f"compat.{name}", dict, compat.report, scores, targets, **options)
            options["others"] = scores[:, 1:]
            self.add(f"compat.against.{name}", dict, compat.report, scores[:, 0], **options)

    def files(self, folder: Path, other: Path | None) -> None:
        """Save ranks, a counter and a report; add what is read, also from another folder."""
        tr = self.tr
        scores = self.scores["ties"]
        self.ranks().save(folder / "ranks.npz")
        counter = tr.RankCounter(scores[:, 3], np.full(60, 3), candidates=40)
        counter.update(scores[:, :20], start=0)
        counter.save(folder / "counter.npz")

        def resumed(path: Path) -> Any:
            counter = tr.RankCounter.load(path)
            counter.update(scores[:, 20:40], start=20)
            return counter.ranks()

        for name, place in {"own": folder, "other": other}.items():
            if place is not None:
                self.add(f"file.ranks.{name}", counts, tr.load, place / "ranks.npz")
                self.add(f"file.counter.{name}", counts, resumed, place / "counter.npz")


def counts(ranks: Any) -> Any:
    return [ranks.above, ranks.tied, ranks.candidates]


def topk(found: Any) -> Any:
    return [found.ids, found.scores]


def report_of(report: Any) -> Any:
    return [counts(report.ranks), report.to_dict()]


def ranks_of(ranks: Any) -> Any:
    """Return the counts of ranks, and what each is of."""
    labels = [getattr(ranks, name, None) for name in ("side", "targets")]
    of_tasks = [label.values for label in labels if label is not None]
    return [counts(ranks), of_tasks, len(np.unique(ranks.unit.values))]


def numbers(result: Any) -> Any:
    fields = result.to_dict().items()  # "error" was the bound of a p-value's own error
    return {name: value for name, value in fields if is_number(value) and name != "error"}


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Return a result as JSON holds it; floats keep all their bits."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (str, bool, int, float, type(None))):
        return value
    return repr(value)


def compute(folder: Path, other: Path | None) -> None:
    """Write the results of the installed version, and its public names, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    results = Results()
    results.counting()
    results.vectors()
    results.reports()
    results.chance()
    results.inference()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        results.link_prediction()
        results.alignment()
        results.retrieval()
        os.chdir(before)
    results.compat()
    results.files(folder, other)
    names = []
    for module in NAMES:
        try:
            public = import_module(f"truerank{module}").__all__
        except ImportError:
            continue
        names += [f"truerank{module}.{name}" for name in public]
    text = json.dumps({"names": names, "results": results.found})
    (folder / "results.json").write_text(text, encoding="utf-8")


def difference(one: Any, two: Any) -> str:
    """Say where two results differ, or nothing."""
    if is_number(one) and is_number(two):
        near = isinstance(one, float) or isinstance(two, float)
        same = one == two or (math.isnan(one) and math.isnan(two))
        same |= near and math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-13)
        if same:
            return ""
        return f"{one!r} became {two!r}"
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        found = ((f"{key}: ", difference(one[key], two[key])) for key in one)
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = enumerate(zip(one, two, strict=True))
        found = ((f"[{i}] ", difference(*pair)) for i, pair in pairs)
    elif isinstance(one, str) and isinstance(two, str) and "\n" in one + two:
        return difference(rounded(one).splitlines(), rounded(two).splitlines())
    else:
        same = one == two or (is_error(one) and is_error(two) and is_error(one) == is_error(two))
        if same:
            return ""
        return f"{shortened(one)} became {shortened(two)}"
    return next((where + text for where, text in found if text), "")


def rounded(text: str) -> str:
    """Write the numbers of a text with 12 digits."""
    return re.sub(r"\d+\.\d{12,}", lambda number: f"{float(number[0]):.12g}", text)


def is_error(value: Any) -> str:
    """Return the kind of an error that stands in place of a result; its words may change."""
    found = re.match(r"(\w+Error): ", value) if isinstance(value, str) else None
    return found[1] if found else ""


def shortened(value: Any) -> str:
    text = repr(value)
    if len(text) < 160:
        return text
    return f"{text[:150]} ... ({len(text):,} characters)"


def compare(before: Path, after: Path) -> int:
    """Print where the results of two folders differ; return the number of faults."""
    one, two = (json.loads((x / "results.json").read_text("utf-8")) for x in (before, after))
    # What is read from the other's files must be what the other reads.
    for reader, writer in ((one["results"], two["results"]), (two["results"], one["results"])):
        for name in [name for name in reader if name.endswith(".other")]:
            crossed = f"{name} ({'before' if reader is one['results'] else 'after'})"
            one["results"][crossed] = writer[name.replace(".other", ".own")]
            two["results"][crossed] = reader.pop(name)
    for title, first, second in (("gone", one, two), ("new", two, one)):
        for part in ("names", "results"):
            only = [name for name in first[part] if name not in set(second[part])]
            print(f"{title}, {part}: {', '.join(only) or 'none'}")
    faults = 0
    equal = Counter[str]()
    expected = {}
    for name in one["results"].keys() & two["results"].keys():
        door = name.partition(".")[0]
        found = difference(one["results"][name], two["results"][name])
        reasons = [text for pattern, text in EXPECTED.items() if re.match(pattern, name)]
        if not found:
            equal[door] += 1
        elif reasons:
            expected[name] = f"{found} ({reasons[0]})"
        else:
            faults += 1
            print(f"FAULT {name}: {found}")
    for name, text in sorted(expected.items()):
        print(f"expected {name}: {text}")
    print("equal:", ", ".join(f"{door} {number}" for door, number in sorted(equal.items())))
    print(f"{equal.total()} results are equal, {len(expected)} differ as expected, {faults} do not")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("after", type=Path, nargs="?")
    parser.add_argument("--read", type=Path)
    options = parser.parse_args()
    if options.after:
        return compare(options.folder, options.after) > 0
    compute(options.folder, options.read)
    return 0


if __name__ == "__main__":
    sys.exit(main())
