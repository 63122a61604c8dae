"""The presets of `truerank.compat`, held against the evaluation code of the toolkits themselves.

    python bench/studies/toolkits.py FOLDER [--only REGEX] [--seeds 3] [--output FOLDER]

FOLDER holds clones of the toolkits' repositories, each under its own name (`git clone`; bare ones
do as well); packages are imported. The code of the stated commit is run on random float32 scores
with ties, near ties, NaN, infinities, saturated values and the toolkits' own sentinels; each rank
and each number must be that of the preset, or within its bounds. Toolkits that were run replace
their rows in toolkits.tsv, of which the tables of toolkits.md are made: so environments with
different packages make one page. Each toolkit is a function, which gives its code the scores of a
case, in place of a model's, and returns its ranks and numbers; `TOOLKITS` has a row for each.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pages import arguments, fill_page, machine, markdown_table, read_rows, write_rows

from truerank import compat

HERE = Path(__file__).parent
Array = NDArray[Any]


class Case(NamedTuple):
    """Scores of tasks: higher is better, and each task has a row.

    `known` has the true entities of each query, the target among them: what is filtered, if
    anything is. The first half of the tasks predicts tails, the other half heads.
    """

    name: str
    scores: Array
    targets: Array
    known: Array | None
    sides: Array

    def lists(self) -> list[list[int]]:
        """Return the true entities of each query, the target too."""
        assert self.known is not None
        return [np.flatnonzero(row).tolist() for row in self.known]

    def halves(self) -> list[Case]:
        """Return the tasks that predict tails, and those that predict heads."""
        return [self.part(self.sides == side) for side in ("tail", "head")]

    def part(self, chosen: Any) -> Case:
        """Return the tasks that an index chooses."""
        known = self.known
        if known is not None:
            known = known[chosen]
        return Case(self.name, self.scores[chosen], self.targets[chosen], known, self.sides[chosen])


class Outcome(NamedTuple):
    """What a toolkit made of a case: the ranks of tasks, numbers by the names of the preset."""

    ranks: Any
    numbers: Mapping[str, float]


class Toolkit(NamedTuple):
    """A toolkit whose code is run, the preset that it is held against, whether it has a filter."""

    name: str
    preset: str
    run: Callable[[Code, Case], Outcome]
    filters: bool = True


class NotFoundError(Exception):
    """A package or a repository is not there."""


class Code:
    """Code of toolkits: packages that can be imported, and clones in a folder; what was used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: list[str] = []
        self._loaded: dict[object, Any] = {}

    def package(self, name: str, module: str = "") -> Any:
        """Import a package, or a module of it; "NotFoundError" if it cannot be imported."""
        try:
            package = importlib.import_module(name)
            found = importlib.import_module(module or name)
        except ImportError as error:
            raise NotFoundError(f"{name}: {error}") from error
        self._note(name, getattr(package, "__version__", None) or _release(name))
        return found

    def source(self, clone: str, commit: str, path: str) -> str:
        """Return a file of a commit, from a clone in the folder (bare or not)."""
        where = self.folder / clone
        command = ["git", "-C", str(where), "show", f"{commit}:{path}"]
        if not where.exists():
            raise NotFoundError(f"{clone}: no such folder")
        found = subprocess.run(command, capture_output=True, check=False)
        if found.returncode:
            raise NotFoundError(f"{clone}: {found.stderr.decode(errors='replace').strip()}")
        self._note(clone, commit)
        return found.stdout.decode("utf-8")

    def _note(self, name: str, version: str) -> None:
        if f"{name} {version}" not in self.used:
            self.used.append(f"{name} {version}")

    def functions(
        self, clone: str, commit: str, path: str, names: str, namespace: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run definitions of a file, by their names, and nothing else of it.

        A method, "Class.method", is a plain function then. Functions use the names of a namespace.
        """
        key = clone, commit, path, names
        if key not in self._loaded:
            tree = ast.parse(self.source(clone, commit, path))
            chosen = [_definition(tree.body, name.split(".")) for name in names.split()]
            body: list[ast.stmt] = chosen
            self._loaded[key] = compile(ast.Module(body, []), f"{clone}/{path}", "exec")
        found = dict(namespace)
        exec(self._loaded[key], found)
        return found


@cache
def _release(name: str) -> str:
    return metadata.version(metadata.packages_distributions().get(name, [name])[0])


def _definition(body: list[ast.stmt], path: list[str]) -> ast.stmt:
    for node in body:
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = [getattr(node, "name", "")]
        if path[0] in names:
            if len(path) == 1:
                return node
            assert isinstance(node, ast.ClassDef)
            return _definition(node.body, path[1:])
    raise NotFoundError(f"{'.'.join(path)} is not defined")


def task_by_task(case: Case, rank: Callable[[Case], float]) -> Array:
    """Run something that gives the mean rank on each task alone."""
    return np.array([rank(case.part(slice(i, i + 1))) for i in range(len(case.targets))])


def tensors(code: Code, case: Case) -> tuple[Any, Any, Any]:
    """Return torch, the scores and the targets; the scores are a copy, which toolkits write to."""
    torch = code.package("torch")
    return torch, torch.from_numpy(case.scores.copy()), torch.from_numpy(case.targets)


# -- toolkits --------------------------------------------------------------------------------------


def pykeen(code: Code, case: Case) -> Outcome:
    """Its evaluator on masked scores; as it masks with NaN, a true NaN is given with the others."""
    torch, scores, targets = tensors(code, case)
    evaluation = code.package("pykeen", "pykeen.evaluation")
    masked = scores.clone()
    if case.known is not None:
        masked[torch.from_numpy(case.known)] = torch.nan
        masked[torch.arange(len(targets)), targets] = scores[torch.arange(len(targets)), targets]
    true_scores = scores.gather(1, targets[:, None])
    evaluator = evaluation.RankBasedEvaluator()
    triples = torch.zeros((len(targets), 3), dtype=torch.long)
    for side in ("head", "tail"):
        evaluator.process_scores_(triples, side, masked, true_scores)
    found = evaluator.finalize().to_flat_dict()
    names = ["arithmetic_mean_rank", "inverse_harmonic_mean_rank", "hits_at_1", "hits_at_10"]
    names.append("adjusted_arithmetic_mean_rank_index")
    ranks = evaluation.ranks.Ranks.from_scores(true_scores, masked)
    return Outcome(ranks.realistic, {n: found[f"both.realistic.{n}"] for n in names})


def libkge(code: Code, case: Case) -> Outcome:
    """Its filter, ranks, histogram and metrics, with its default tolerances."""
    torch = code.package("torch")
    job_name = "EntityRankingJob"
    methods = ["_filter_and_rank", "_get_ranks_and_num_ties", "_get_ranks", "_compute_metrics"]
    chosen = " ".join(f"{job_name}.{name}" for name in methods)
    names = code.functions(
        "kge",
        "04d0fba",
        "kge/job/eval_entity_ranking.py",
        f"{chosen} __initialize_hist hist_all",
        {"torch": torch},
    )
    columns = case.scores.shape[1]
    job = SimpleNamespace(
        tie_rtol=1e-4,
        tie_atol=1e-5,
        tie_handling="rounded_mean_rank",
        hits_at_k_s=[1, 3, 10],
        head_and_tail=False,
        device="cpu",
        config=SimpleNamespace(get=lambda name: "cpu"),
        dataset=SimpleNamespace(num_entities=lambda: columns),
    )
    for name in methods:
        setattr(job, name, partial(names[name], job))
    tails, heads = case.halves()
    blocks = [torch.from_numpy(part.scores.copy()) for part in (tails, heads)]
    true_scores = [
        block.gather(1, torch.from_numpy(part.targets)[:, None])[:, 0]
        for block, part in zip(blocks, (tails, heads), strict=True)
    ]
    labels = None
    if case.known is not None:
        both = []
        for part in (tails, heads):
            infinite = np.where(part.known, np.float32(np.inf), np.float32(0))
            infinite[np.arange(len(part.targets)), part.targets] = 0
            both.append(torch.from_numpy(infinite))
        labels = torch.cat(both, dim=1)
    s, s_ties, o, o_ties = job._filter_and_rank(*blocks, labels, *true_scores)[:4]
    s_ranks = job._get_ranks(s, s_ties)
    o_ranks = job._get_ranks(o, o_ties)
    histograms: dict[str, Any] = {}
    names["hist_all"](histograms, None, None, None, s_ranks, o_ranks, job)
    suffix = "_filtered" if case.known is not None else ""
    numbers = job._compute_metrics(histograms["all"], suffix)
    return Outcome(torch.cat([o_ranks, s_ranks]) + 1, numbers)


def ogb(commit: str, form: str) -> Callable[..., Outcome]:
    """Make a function that calls the evaluator of a commit on all other candidates."""

    def run(code: Code, case: Case) -> Outcome:
        torch, scores, targets = tensors(code, case)
        names = {"torch": torch, "np": np}
        path = "ogb/linkproppred/evaluate.py"
        evaluate = code.functions("ogb", commit, path, "Evaluator._eval_mrr", names)["_eval_mrr"]
        is_true = torch.nn.functional.one_hot(targets, scores.shape[1]).bool()
        pair = scores[is_true], scores[~is_true].view(len(scores), -1)
        if form == "numpy":
            pair = pair[0].numpy(), pair[1].numpy()
        lists = {k: np.asarray(v) for k, v in evaluate(None, *pair, form).items()}
        ranks = np.round(2 / lists["mrr_list"].astype(np.float64)) / 2
        return Outcome(ranks, {name: values.mean() for name, values in lists.items()})

    return run


def ogb_hits(code: Code, case: Case) -> Outcome:
    """The evaluator of shared negatives: a hit at k for each k gives the rank."""
    torch, scores, targets = tensors(code, case)
    names = {"torch": torch, "np": np}
    path = "ogb/linkproppred/evaluate.py"
    evaluate = code.functions("ogb", "1b89f1b", path, "Evaluator._eval_hits", names)["_eval_hits"]
    ranks = []
    for row, target in zip(scores, targets.tolist(), strict=True):
        others = torch.cat([row[:target], row[target + 1 :]])
        hits = [
            evaluate(SimpleNamespace(K=k), row[target : target + 1], others, "torch")[f"hits@{k}"]
            for k in range(1, len(others) + 1)
        ]
        hits.append(1.0)  # where no k is enough, the rank is the last
        ranks.append(hits.index(1.0) + 1)
    return Outcome(ranks, {})


def pytorch_geometric(code: Code, case: Case) -> Outcome:
    """A model whose score of (head, relation, tail) is that of a row and a column."""
    torch, scores, targets = tensors(code, case)
    base = code.package("torch_geometric", "torch_geometric.nn.kge").KGEModel

    class Given(base):  # type: ignore[misc, valid-type]
        def forward(self, head_index: Any, rel_type: Any, tail_index: Any) -> Any:
            return scores[head_index, tail_index]

    model = Given(scores.shape[1], 1, 1)
    rows = torch.arange(len(targets))
    zeros = torch.zeros_like(rows)
    mean_rank, mrr, hits = model.test(rows, zeros, targets, batch_size=7, log=False)
    ranks = [
        model.test(rows[i : i + 1], zeros[:1], targets[i : i + 1], batch_size=9, log=False)[0] + 1
        for i in rows.tolist()
    ]
    return Outcome(ranks, {"mean_rank": mean_rank, "mrr": mrr, "hits_at_k": hits})


def openea(code: Code, case: Case) -> Outcome:
    """Its calculate_rank, exact."""
    path = "src/openea/modules/finding/alignment.py"
    names = code.functions("OpenEA", "ad11dc3", path, "calculate_rank", {"np": np})
    ks = [1, 5, 10, 50]
    total = len(case.targets)

    def means(part: Case) -> Any:
        return names["calculate_rank"](part.targets, part.scores, ks, True, len(part.targets))

    mr, mrr, hits, _ = means(case)
    numbers = {f"hits@{k}": 100 * n / total for k, n in zip(ks, hits, strict=True)}
    ranks = task_by_task(case, lambda one: means(one)[0])
    return Outcome(ranks, numbers | {"mr": mr, "mrr": mrr})


def qrels_and_run(case: Case) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return what is right and what was found; names have the order of columns, as strings, too."""
    tasks, columns = case.scores.shape
    ids, queries = (
        [f"{x}{i:05}" for i in range(size)] for x, size in (("d", columns), ("q", tasks))
    )
    qrels = {q: {ids[j]: 1} for q, j in zip(queries, case.targets.tolist(), strict=True)}
    rows = zip(queries, case.scores.tolist(), strict=True)
    return qrels, {q: dict(zip(ids, row, strict=True)) for q, row in rows}


def pytrec_eval(code: Code, case: Case) -> Outcome:
    """The package: trec_eval in Python."""
    peer = code.package("pytrec_eval")
    qrels, run = qrels_and_run(case)
    names = {"recip_rank", "map", "success.1,5,10", "recall.5,10", "P.5,10", "ndcg_cut.5,10"}
    found = list(peer.RelevanceEvaluator(qrels, names).evaluate(run).values())
    numbers = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return Outcome([1 / one["recip_rank"] for one in found], numbers)


def mteb(code: Code, case: Case) -> Outcome:
    """The metrics of a retrieval task, from its dictionaries."""
    metrics = code.package("mteb", "mteb._evaluators.retrieval_metrics")
    qrels, run = qrels_and_run(case)
    ranks = 1 / np.array(metrics.mrr(qrels, run, [case.scores.shape[1]]).popitem()[1])
    ks = (1, 3, 5, 10, 20, 100, 1000)
    metrics.evaluate_abstention = lambda *_: {}  # slow, and no ranking
    metrics.round = lambda value, digits: value
    found = metrics.calculate_retrieval_scores(run, qrels, ks)
    numbers = metrics.make_score_dict(
        ndcg=found.ndcg, _map=found.map, recall=found.recall, precision=found.precision,
        mrr=found.mrr, naucs={}, naucs_mrr={}, hit_rate=found.hit_rate, task_scores={},
    )  # fmt: skip
    del numbers["accuracy"]
    return Outcome(np.round(ranks), numbers)


TOOLKITS = (
    Toolkit("LibKGE", "libkge", libkge),
    Toolkit("PyKEEN", "pykeen", pykeen),
    Toolkit("OGB, tensors", "ogb", ogb("1b89f1b", "torch"), filters=False),
    Toolkit("OGB 1.3.3, tensors", "ogb-1.3.3", ogb("ac253eb", "torch"), filters=False),
    Toolkit("OGB 1.3.3, arrays", "ogb-1.3.3-numpy", ogb("ac253eb", "numpy"), filters=False),
    Toolkit("OGB, shared negatives", "ogb-hits", ogb_hits, filters=False),
    Toolkit("PyTorch Geometric", "pytorch-geometric", pytorch_geometric, filters=False),
    Toolkit("pytrec_eval", "pytrec_eval", pytrec_eval, filters=False),
    Toolkit("MTEB", "mteb", mteb, filters=False),
    Toolkit("OpenEA", "openea", openea, filters=False),
)


# -- scores ----------------------------------------------------------------------------------------
TASKS, COLUMNS = 40, 40
PRECISION = 2e-6  # of means in float32, whose order of summation differs

NAN, INF = np.nan, np.inf
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1.0, 1.00005, 1.0002, -1000, -999.95)
SENTINELS = (-1.0, 0.0, -1e6, -1e7, -1e9, -INF, 0.5, 0.25, -0.75)


def rounded(rng: np.random.Generator) -> Array:
    """Ties, and nothing else."""
    return rng.normal(0, 1, (TASKS, COLUMNS)).round(1)


def special(rng: np.random.Generator) -> Array:
    """NaN, infinities and near ties among ties."""
    return np.where(rng.random((TASKS, COLUMNS)) < 0.15, rng.choice(SPECIAL, (TASKS, COLUMNS)),
                    rounded(rng))  # fmt: skip


def neighbours(rng: np.random.Generator) -> Array:
    """Neighbouring floats."""
    start = rng.choice(np.array([1.3, 0.001, 60.0, -2.0, 1e-7], np.float32), (TASKS, 1))
    return (start.view(np.int32) + rng.integers(-6, 6, (TASKS, COLUMNS), np.int32)).view(np.float32)


def thousandths(rng: np.random.Generator) -> Array:
    """Scores around 0, some thousandths apart."""
    return rng.normal(0, 0.005, (TASKS, COLUMNS))


def saturated(rng: np.random.Generator) -> Array:
    """Values around 1e7 and 1e9 of either sign, a few units in the last place apart."""
    start = rng.choice(np.array([1e7, -1e7, 1e9, -1e9, 2.1e6, -2.1e6], np.float32), (TASKS, 1))
    return start + np.spacing(start) * rng.integers(-4, 4, (TASKS, COLUMNS))


def sentinels(rng: np.random.Generator) -> Array:
    """Scores that toolkits give filtered candidates, for candidates and true ones alike."""
    return rng.choice(SENTINELS, (TASKS, COLUMNS))


def constant(rng: np.random.Generator) -> Array:
    """One score for all candidates of a task."""
    return np.broadcast_to(rng.choice([0.0, 1.0, -3.5], (TASKS, 1)), (TASKS, COLUMNS))


def distinct(rng: np.random.Generator) -> Array:
    """No ties: here all toolkits agree."""
    return rng.permuted(np.tile(np.arange(COLUMNS) / 8, (TASKS, 1)), axis=1)


SCORES = (rounded, special, neighbours, thousandths, saturated, sentinels, constant, distinct)


def cases(seeds: int) -> Iterator[Case]:
    """Yield every kind of scores, with a filter and without."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for make in SCORES:
            scores = make(rng).astype(np.float32)
            targets = rng.integers(0, COLUMNS, TASKS)
            if make is special:
                worst = rng.random(TASKS) < 0.3
                scores[worst, targets[worst]] = rng.choice([NAN, INF, -INF], worst.sum())
            known = rng.random(scores.shape) < 0.2
            known[np.arange(TASKS), targets] = True
            sides = np.repeat(["tail", "head"], TASKS // 2)
            for filter in (None, known):
                yield Case(make.__name__, scores, targets, filter, sides)


# -- comparison ------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A row of the table: what was compared, and how much of it differed."""

    toolkit: str
    preset: str
    code: str
    ranks: int
    open: int
    unlike: int
    wrong_ranks: int
    numbers: int
    wrong_numbers: int


def compare(toolkit: Toolkit, folder: Path, seeds: int) -> tuple[Row, list[str]]:
    """Run a toolkit on all cases; also return a line for each case in which something differs."""
    code = Code(folder)
    counts = np.zeros(6, np.int64)
    lines = []
    for case in cases(seeds):
        if not toolkit.filters and case.known is not None:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of old code, about the torch of today
            outcome = toolkit.run(code, case)
        found = np.array(compare_case(toolkit, case, outcome))
        counts += found
        if found[3] or found[5]:
            with_filter = "no filter" if case.known is None else "filter"
            lines.append(
                f"{toolkit.name}, {case.name}, {with_filter}: {found[3]} ranks and {found[5]} "
                "numbers differ"
            )
    used = ", ".join(code.used)
    return Row(toolkit.name, toolkit.preset, used, *counts.tolist()), lines


def compare_case(toolkit: Toolkit, case: Case, outcome: Outcome) -> tuple[int, ...]:
    """Return the six counts of a row."""
    options = {"preset": toolkit.preset, "side": case.sides}
    filter = None if case.known is None else case.lists()
    ours = compat.report(case.scores, case.targets, filter=filter, **options)
    ranks = np.asarray(outcome.ranks, np.float64)
    assert ranks.shape == ours.first.shape, (ranks.shape, ours.first.shape)
    unlike = ranks != ours.exact.ranks.realistic
    wrong = ~((ours.first <= ranks) & (ranks <= ours.last))
    counts = (len(ranks), *(int(x.sum()) for x in (ours.first < ours.last, unlike, wrong)))
    numbers = outcome.numbers.items()
    wrong_numbers = sum(not agrees(value, *ours.bounds(name)) for name, value in numbers)
    return *counts, len(numbers), wrong_numbers


def agrees(value: float, least: float, most: float) -> bool:
    """Whether a number is within bounds, up to the last digits of float32."""
    if np.isnan(value) or np.isinf(value):
        return least == value == most or bool(np.isnan(value) and np.isnan(least))
    slack = PRECISION * max(1, abs(value))
    return bool(least - slack <= value <= most + slack)


# -- page ------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """Return a line for each toolkit."""
    lines = []
    for row in rows:
        line = [row.toolkit, f"`{row.preset}`", row.code]
        line += [f"{number:,}" for number in row[3:]]
        lines.append(line)
    heading = (
        "code | preset | version | ranks | open | not the exact rank | wrong | numbers | wrong"
    )
    return markdown_table(heading, lines, text_columns=3)


def main(folder: Path, only: str, seeds: int, output: Path) -> None:
    """Compare, merge with earlier rows, and write the page."""
    path = output / "toolkits.tsv"
    rows = {row.toolkit: row for row in read_rows(path, Row)}
    for toolkit in TOOLKITS:
        if not re.search(only, toolkit.name):
            continue
        try:
            rows[toolkit.name], lines = compare(toolkit, folder, seeds)
        except NotFoundError as error:
            print(f"{toolkit.name}: not found ({error})")
            continue
        print(rows[toolkit.name], *lines, sep="\n  ")
    every = list(rows.values())
    own = {toolkit.name for toolkit in TOOLKITS}
    write_rows(path, every)
    tables = [
        table([row for row in every if (row.toolkit in own) is here]) for here in (True, False)
    ]
    wrong = sum(row.wrong_ranks + row.wrong_numbers for row in every)
    facts = f"{machine()}. In all, {sum(row.ranks for row in every):,} ranks and "
    facts += f"{sum(row.numbers for row in every):,} numbers were compared, and {wrong:,} differ "
    facts += f"from their preset. {sum(row.unlike for row in every):,} ranks of the toolkits are "
    facts += f"not the exact realistic rank, {sum(row.open for row in every):,} are open."
    fill_page(HERE / "toolkits.md", output, tables, facts)


if __name__ == "__main__":
    main(**arguments(__doc__, "folder", only="", seeds=3, output=HERE))
