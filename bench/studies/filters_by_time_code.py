"""Code of toolkits that filters facts by time, run on data sets: what it leaves out, and ranks."""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from toolkit_code import Array, Code

from truerank.link_prediction import Task

COMMITS = {
    "tkbc": "8cf1934d3c0106bb698683d9094bcfad93bbfc56",
    "RE-Net": "a0e5f4732c5bb20d939f0f69e34fb9cf156ac1b2",
    "RE-GCN": "bc64211e3346f3fbc8988990969f4809fcca2977",
    "ATISE": "711e2136e10b54acbdd7a69ad7822837ce5c44c8",
    "tkbi": "e0a26b32e22ca49957951b0ea0da9b4dc45049a8",
    "TGB": "3b83e5cfb2010743fd4f7a80a01b0e19dfcf78cb",
    "TKG-Forecasting-Evaluation": "4dcfa2154bc6076dcb3bcf9ab8c4989a47210262",
}
# data set: clone, folder, columns of times
DATA: dict[str, tuple[str, str, Any]] = {
    "ICEWS14": ("TKG-Forecasting-Evaluation", "data/ICEWS14", 3),
    "YAGO": ("RE-Net", "data/YAGO", 3),
    "YAGO11k": ("ATISE", "yago", (3, 4)),
    "Wikidata12k": ("ATISE", "wikidata", (3, 4)),
}
SPLITS = ("train", "valid", "test")
FILTERS = ("triple", "fact", "overlap")
SIDES = ("head", "tail", "relation")
BY_DAYS = "overlap, by days"  # where the code compares years


class Data(NamedTuple):
    """A data set in files, and its task under all filters."""

    name: str
    folder: Path
    task: Task

    @property
    def rows(self) -> list[list[str]]:
        """The fields of the test facts."""
        lines = (self.folder / "test.txt").read_text().splitlines()
        return [line.split("\t") for line in lines]

    @property
    def entities(self) -> int:
        return self.task.tail.columns

    @property
    def relations(self) -> int:
        return self.task.relation.columns


class Row(NamedTuple):
    """A line of the page: lists of answers and ranks that were compared."""

    code: str
    data: str
    filter: str
    lists: int | str
    unlike: int | str
    ranks: int | str = ""
    wrong: int | str = ""


def make_task(folder: Path, time: Any, entities: int, filters: Sequence[str] = FILTERS) -> Task:
    """Make the task of a folder with files of all splits."""
    files = {name: str(folder / f"{name}.txt") for name in SPLITS}
    test = files.pop("test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Task(test, files, entities=entities, time=time, sides=SIDES, filters=filters)


def read_data(code: Code, name: str, folder: Path) -> Data:
    """Copy the files of a data set to a folder.

    Ids are those of the entities and relations that occur, as some of the code numbers them, and a
    fifth column of quadruples is left out.
    """
    clone, path, time = DATA[name]
    folder = folder / name
    folder.mkdir()
    for file in ("entity2id.txt", "relation2id.txt"):  # ATISE counts their lines
        (folder / file).write_text(code.source(clone, COMMITS[clone], f"{path}/{file}"))
    columns = 4 if time == 3 else 5
    rows = {}
    for split in SPLITS:
        lines = code.source(clone, COMMITS[clone], f"{path}/{split}.txt").splitlines()
        rows[split] = [line.split("\t")[:columns] for line in lines if line]
    every = [row for split in rows.values() for row in split]
    entities, relations = (
        {label: str(code) for code, label in enumerate(sorted(labels, key=int))}
        for labels in ({row[j] for row in every for j in (0, 2)}, {row[1] for row in every})
    )
    for split, kept in rows.items():
        numbered = ([entities[h], relations[r], entities[t], *when] for h, r, t, *when in kept)
        text = "".join("\t".join(row) + "\n" for row in numbered)
        (folder / f"{split}.txt").write_text(text)
    return Data(name, folder, make_task(folder, time, len(entities)))


def lists_of(task: Task, side: str, name: str) -> list[set[int]]:
    """Return the answers that a filter leaves out for each task."""
    tasks = task.sides[side]
    filters = {next(iter(task.protocols)): tasks.filter, **tasks.other_filters}
    indptr, indices, *lists = filters[name]  # type: ignore[misc]
    which = lists[0] if lists else tasks.rows
    return [set(indices[indptr[i] : indptr[i + 1]].tolist()) for i in which.tolist()]


def count_unlike(task: Task, name: str, lists: dict[str, list[set[int]]]) -> tuple[int, int]:
    """Return how many lists were compared, and how many are not those of a filter."""
    pairs = [
        pair for side in lists for pair in zip(lists[side], lists_of(task, side, name), strict=True)
    ]
    return len(pairs), sum(one != other for one, other in pairs)


class Ranked(NamedTuple):
    """Random scores of the first test facts, with many ties, and their ranks by filter."""

    scores: dict[str, Array]
    ranks: dict[str, Any]

    @classmethod
    def of(cls, data: Data, number: int) -> Ranked:
        rng = np.random.default_rng(0)
        shape = min(number, len(data.task.test)), data.entities
        drawn = {side: rng.integers(-32, 32, shape) for side in ("head", "tail")}
        return cls.of_scores(
            data, {side: each.astype(np.float32) / 8 for side, each in drawn.items()}
        )

    @classmethod
    def of_scores(cls, data: Data, scores: dict[str, Array]) -> Ranked:
        number = len(scores["tail"])
        known = {name: str(data.folder / f"{name}.txt") for name in SPLITS[:2]}
        # the facts that are not ranked are known as well
        fields = ["\t".join(row) for row in data.rows]
        for name, lines in (("first", fields[:number]), ("rest", fields[number:])):
            (data.folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        known["rest"] = str(data.folder / "rest.txt")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            task = Task(
                str(data.folder / "first.txt"),
                known,
                entities=data.entities,
                relations=data.relations,
                time=DATA[data.name][2],
                filters=FILTERS,
            )
        report = task.evaluate_scores(scores["tail"], scores["head"])
        return cls(scores, {name: under.ranks for name, under in report.filters.items()})

    def wrong(self, name: str, kind: str, found: Any) -> tuple[int, int]:
        """Count ranks (heads, then tails), and those that are not of a kind, or not possible."""
        ranks, found = self.ranks[name], np.asarray(found, np.float64)
        if kind == "any":
            wrong = (found < ranks.optimistic) | (found > ranks.pessimistic)
        else:
            wrong = found != getattr(ranks, kind)
        return len(found), int(np.count_nonzero(wrong))


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Let code read files by relative paths, and print nothing."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.chdir(before)


# -- the toolkits ----------------------------------------------------------------------------------


def run_renet(code: Code, data: Data, ranked: Ranked) -> Iterator[Row]:
    """RE-Net: known triples of all times get 0 after a sigmoid; realistic ranks."""
    names = "RENet.evaluate_filter"
    space = {"torch": torch, "np": np, "F": torch.nn.functional}
    evaluate = code.functions("RE-Net", COMMITS["RE-Net"], "model.py", names, space)
    known = [np.loadtxt(data.folder / f"{name}.txt", np.int64) for name in SPLITS]
    everything = torch.from_numpy(np.concatenate(known))
    rows = {side: [torch.from_numpy(row) for row in each] for side, each in ranked.scores.items()}
    ranks = []
    for fact, heads, tails in zip(known[2], rows["head"], rows["tail"], strict=False):
        model = SimpleNamespace(predict=lambda *_, both=(0, heads, tails): both)
        found, _ = evaluate["evaluate_filter"](model, torch.from_numpy(fact), 0, 0, 0, everything)
        ranks.append(found)
    # sigmoids of equal numbers may differ in a bit: by their place, they are computed in other ways
    sigmoids = {side: np.stack([torch.sigmoid(row) for row in each]) for side, each in rows.items()}
    found = Ranked.of_scores(data, sigmoids)
    compared = found.wrong("triple", "realistic", np.array(ranks).T.ravel())
    yield Row("RE-Net", data.name, "triple", "", "", *compared)


def run_regcn(code: Code, data: Data, ranked: Ranked) -> Iterator[Row]:
    """RE-GCN: facts of the test at the same time; unstable sorting."""
    names = (
        "load_all_answers_for_time_filter load_all_answers_for_filter add_subject add_object "
        "split_by_time get_total_rank filter_score filter_score_r sort_and_rank"
    )
    space = {"torch": torch, "np": np}
    found = code.functions("RE-GCN", COMMITS["RE-GCN"], "rgcn/utils.py", names, space)
    test, n = data.task.test, data.relations
    times = np.unique(test[:, 3])
    assert (np.diff(test[:, 3]) >= 0).all()
    snapshot = np.searchsorted(times, test[:, 3])
    with contextlib.redirect_stdout(io.StringIO()):
        entities, relations = (
            found["load_all_answers_for_time_filter"](test, n, data.entities, predicted)
            for predicted in (False, True)
        )
    rows = [
        (entities[i], relations[i], *row[:3])
        for i, row in zip(snapshot, test.tolist(), strict=True)
    ]
    lists = {
        "head": [at[t][r + n] for at, _, h, r, t in rows],
        "tail": [at[h][r] for at, _, h, r, t in rows],
        # where a relation holds the other way round, its inverse is a candidate, too
        "relation": [{x for x in at[h][t] if x < n} for _, at, h, r, t in rows],
    }
    ranks = {}
    for side, (source, shift, target) in {"head": (2, n, 0), "tail": (0, 0, 2)}.items():
        ranks[side] = []
        for i, scores in enumerate(ranked.scores[side]):
            query = torch.tensor([[test[i, source], test[i, 1] + shift, test[i, target]]])
            row = torch.from_numpy(scores.copy())[None]
            ranks[side].append(
                found["get_total_rank"](query, row, entities[snapshot[i]], 1000)[3].item()
            )
    compared = ranked.wrong("fact", "any", ranks["head"] + ranks["tail"])
    yield Row("RE-GCN", data.name, "fact", *count_unlike(data.task, "fact", lists), *compared)


class ScoredRows:
    """Stands for embeddings of queries: their product with those of entities are the scores."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def __matmul__(self, _other: object) -> Any:
        return self.scores.clone()


def run_tkbc(code: Code, data: Data, ranked: Ranked) -> Iterator[Row]:
    """TNTComplEx on points: facts at the same time; pessimistic ranks."""
    folder = data.folder / "tkbc"
    folder.mkdir()
    for name in SPLITS:
        (folder / name).write_text((data.folder / f"{name}.txt").read_text())
    space = {
        "os": os, "errno": None, "Path": Path, "pickle": pickle, "np": np,
        "defaultdict": defaultdict, "DATA_PATH": str(folder),
    }  # fmt: skip
    file, commit = "tkbc/process_icews.py", COMMITS["tkbc"]
    with contextlib.redirect_stdout(io.StringIO()):
        code.functions("tkbc", commit, file, "prepare_dataset", space)["prepare_dataset"](
            str(folder), "out"
        )
    skipped = pickle.loads((folder / "out/to_skip.pickle").read_bytes())
    names = [
        dict(line.rsplit("\t", 1) for line in (folder / "out" / file).read_text().splitlines())
        for file in ("ent_id", "rel_id", "ts_id")
    ]
    to_id = [np.full(1 + max(map(int, each)), -1) for each in names]
    for table, each in zip(to_id, names, strict=True):
        table[list(map(int, each))] = list(map(int, each.values()))
    entity_of = {int(code): int(name) for name, code in names[0].items()}
    test, n = data.task.test, len(names[1])
    h, r, t, time = (
        table[test[:, j]]
        for j, table in zip(range(4), (*to_id[:2], to_id[0], to_id[2]), strict=True)
    )
    queries = {"head": np.stack([t, r + n, h, time], 1), "tail": np.stack([h, r, t, time], 1)}
    sides = {"head": "lhs", "tail": "rhs"}
    lists = {
        side: [
            {entity_of[x] for x in skipped[sides[side]][q, p, w]} for q, p, _, w in rows.tolist()
        ]
        for side, rows in queries.items()
    }
    space = {"torch": torch, "Dict": dict, "List": list, "Tuple": tuple}
    rank = code.functions("tkbc", commit, "tkbc/models.py", "TKBCModel.get_ranking", space)[
        "get_ranking"
    ]
    ranks = []
    for side, rows in queries.items():
        scores = torch.full((len(ranked.scores[side]), len(names[0])), 0.0)
        scores[:, to_id[0][to_id[0] >= 0]] = torch.from_numpy(
            ranked.scores[side][:, np.flatnonzero(to_id[0] >= 0)]
        )
        asked = torch.from_numpy(rows[: len(scores)])
        model = SimpleNamespace(
            sizes=(0, 0, len(names[0])),
            get_rhs=lambda *_: None,
            get_queries=lambda _, scores=scores: ScoredRows(scores),
            score=lambda asked, scores=scores: scores.gather(1, asked[:, 2:3]),
        )
        ranks += rank(model, asked, skipped[sides[side]], len(scores)).tolist()
    compared = ranked.wrong("fact", "pessimistic", ranks)
    yield Row(
        "tkbc (TNTComplEx), points",
        data.name,
        "fact",
        *count_unlike(data.task, "fact", lists),
        *compared,
    )


def run_tero(code: Code, data: Data, ranked: Ranked) -> Iterator[Row]:
    """TeRo and ATiSE on intervals: facts whose start and end are the same texts; optimistic."""
    import pandas

    space = {"os": os, "pd": pandas, "np": np, "defaultdict": defaultdict, "ddict": defaultdict}
    make = code.functions("ATISE", COMMITS["ATISE"], "Dataset_YG.py", "KnowledgeGraphYG", space)
    with working_in(data.folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = make["KnowledgeGraphYG"](".", 300 if data.name == "Wikidata12k" else 100)
    lists = {
        "head": [set(graph.to_skip_final["lhs"][t, r, s, e]) for h, t, r, s, e in graph.test_facts],
        "tail": [set(graph.to_skip_final["rhs"][h, r, s, e]) for h, t, r, s, e in graph.test_facts],
    }
    number = min(
        200, len(ranked.scores["head"])
    )  # it makes a Python list of all entities each time
    graph.n_entity = data.entities
    ranks = []
    for side, name in (("head", "rank_left"), ("tail", "rank_right")):
        rows = iter(ranked.scores[side])
        rank = code.functions(
            "ATISE", COMMITS["ATISE"], "model.py", f"TeRo.{name}", {"torch": torch, "np": np}
        )
        model = SimpleNamespace(
            kg=graph, gpu=False, forward=lambda _, rows=rows: torch.from_numpy(-next(rows))
        )
        ranks.append(rank[name](model, graph.test_triples[:number], graph.test_facts, graph, False))
    fewer = ranked_first(ranked, number)
    compared = fewer.wrong("fact", "optimistic", np.concatenate(ranks))
    yield Row(
        "ATISE (TeRo, ATiSE)", data.name, "fact", *count_unlike(data.task, "fact", lists), *compared
    )


def ranked_first(ranked: Ranked, number: int) -> Ranked:
    """Return the ranks of the first test facts, heads and tails."""
    total = len(ranked.scores["head"])
    where = np.concatenate([np.arange(number), total + np.arange(number)])
    return Ranked(ranked.scores, {name: ranks[where] for name, ranks in ranked.ranks.items()})


def run_timeplex(code: Code, data: Data, _ranked: Ranked) -> Iterator[Row]:
    """TimePlex: facts by their text, by no time, and year by year."""
    commit = COMMITS["tkbi"]
    space = {
        "numpy": np, "torch": torch, "os": os, "re": re, "dd": defaultdict, "pdb": None,
        "time_index": {"t_s": 0, "t_s_orig": 1, "t_e": 2, "t_e_orig": 3, "t_str": 4, "t_i": 5},
        "func_load_to_gpu": None,
    }  # fmt: skip
    names = "YEARMIN YEARMAX YEAR_STR_LEN Datamap kb union"
    found = code.functions("tkbi", commit, "kb.py", names, space)
    ranker = code.functions("tkbi", commit, "evaluate.py", "Ranker", space)["Ranker"]
    with working_in(data.folder):
        datamap = found["Datamap"](data.name, ".")
        splits = {
            name: found["kb"](datamap, f"{name}.txt", add_unknowns=name != "train")
            for name in SPLITS
        }
        everything = found["union"](list(splits.values()))
        rankers = {
            method: ranker(None, everything, filter_method=method, flag_additional_filter=False)
            for method in ("ignore-time", "time-str", "enumerate-time")
        }
    # facts as its code reads them: its ids, and years by their places among all years
    columns = [0, 1, 2, 4, 6]
    facts = {name: split.facts[:, columns] for name, split in splits.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        task = Task(facts.pop("test"), facts, time=(3, 4), filters=FILTERS, sides=SIDES[:2])
    rows = splits["test"].facts.tolist()

    def known(method: str, time: Callable[[list[int]], Sequence[int]]) -> dict[str, list[set[int]]]:
        of = rankers[method]
        return {
            "head": [set().union(*(of.knowns_s[f[2], f[1], at] for at in time(f))) for f in rows],
            "tail": [set().union(*(of.knowns_o[f[0], f[1], at] for at in time(f))) for f in rows],
        }

    lists = {
        "ignore-time": ("triple", known("ignore-time", lambda _: [-1])),
        "enumerate-time": ("overlap", known("enumerate-time", lambda f: range(f[4], f[6] + 1))),
    }
    for method, (name, left_out) in lists.items():
        yield Row(
            f"tkbi (TimePlex), {method}", data.name, name, *count_unlike(task, name, left_out)
        )
    # files as they are: its entities are numbered by its own table, those of train alone
    entity_of = {code: int(label) for label, code in datamap.entity_map.items() if label.isdigit()}
    in_train = set(entity_of.values())
    kept = np.isin(data.task.test[:, [0, 2]], sorted(in_train)).all(axis=1)
    texts = known("time-str", lambda f: [f[7]])
    for name, method, found in (
        ("fact", "time-str", texts),
        (BY_DAYS, "enumerate-time", lists["enumerate-time"][1]),
    ):
        own = {side: lists_of(data.task, side, name.split(",")[0]) for side in found}
        pairs = [
            ({entity_of.get(x, -1) for x in found[side][i]}, own[side][i])
            for side in found
            for i in np.flatnonzero(kept)
        ]
        pairs = [(one, right) for one, right in pairs if right <= in_train and -1 not in one]
        unlike = sum(one != right for one, right in pairs)
        yield Row(f"tkbi (TimePlex), {method}", data.name, name, len(pairs), unlike)


def run_tgb(code: Code, data: Data, _ranked: Ranked) -> Iterator[Row]:
    """TGB 2, time-filtered: all entities but those of the same query at the same time."""
    saved: dict[str, Any] = {}
    space = {
        "np": np, "os": os, "TemporalData": object, "tqdm": lambda rows, total: rows,
        "vprint": lambda *_: None, "save_pkl": lambda lists, file: saved.update(lists),
    }  # fmt: skip
    file = "tgb/linkproppred/tkg_negative_generator.py"
    make = code.functions("TGB", COMMITS["TGB"], file, "TKGNegativeEdgeGenerator", space)
    test, n = data.task.test, data.relations
    h, r, t, time = (torch.from_numpy(test[:, j].copy()) for j in range(4))
    edges = SimpleNamespace(
        src=torch.cat([h, t]), dst=torch.cat([t, h]), edge_type=torch.cat([r, r + n]),
        t=torch.cat([time, time]),
    )  # fmt: skip
    generator = make["TKGNegativeEdgeGenerator"](data.name, 0, data.entities - 1)
    generator.generate_negative_samples(edges, "test", str(data.folder))
    rows = test[:, :4].tolist()
    lists = {
        "head": [set(saved[w, t, r + n].tolist()) for h, r, t, w in rows],
        "tail": [set(saved[w, h, r].tolist()) for h, r, t, w in rows],
    }
    yield Row("TGB 2, time-filtered", data.name, "fact", *count_unlike(data.task, "fact", lists))


class Sweep(NamedTuple):
    """What the code of tkbc leaves out on intervals, and what holds at the instants it drew.

    Attributes
    ----------
    listed, mended : int
        The answers that its code leaves out, and that it would if it compared dates with dates.
    closed, open : int
        Those of facts that hold at the instant, and less those that end there.
    unlike : int
        The tasks whose mended list is not that of facts that do not end at the instant.
    """

    data: str
    tasks: int
    listed: int
    mended: int
    closed: int
    open: int
    unlike: int


class MendedCode(Code):
    """The code of tkbc, with the date of an event where it has the answer's id."""

    def source(self, clone: str, commit: str, path: str) -> str:
        text = super().source(clone, commit, path)
        wrong = "self.events[id_timeline][0] <= eval_events[id_event][3]"
        assert path != "tkbc/datasets.py" or text.count(wrong) == 2
        return text.replace(wrong, wrong.replace("[3]", "[0]"))


def run_sweep(code: Code, data: Data) -> Sweep:
    """TNTComplEx on intervals: the answers of tails that hold at an instant of the fact's."""
    folder = data.folder / "sweep"
    folder.mkdir()

    def dated(label: str) -> str:
        year = re.match(r"-?\d+(?=-|$)", label)
        return f"{int(year[0]):+05d}-00-00T00:00:00Z" if year else "None"

    for name in SPLITS:
        lines = (data.folder / f"{name}.txt").read_text().splitlines()
        fields = [line.split("\t") for line in lines]
        text = "".join("\t".join([*row[:3], *map(dated, row[3:])]) + "\n" for row in fields)
        (folder / name).write_text(text)
    space: dict[str, Any] = {
        "os": os, "sys": sys, "re": re, "math": math, "Path": Path, "pickle": pickle, "np": np,
        "DATA_PATH": str(folder),
    }  # fmt: skip
    names, commit = "get_be prepare_dataset_rels", COMMITS["tkbc"]
    with contextlib.redirect_stdout(io.StringIO()):
        prepare = code.functions("tkbc", commit, "tkbc/process_wikidata.py", names, space)
        prepare["prepare_dataset_rels"](str(folder), "out")

    def loaded(name: str) -> Any:
        return pickle.loads((folder / "out" / name).read_bytes())

    test = loaded("test.pickle")
    dataset = SimpleNamespace(
        get_examples=lambda _: test,
        events=loaded("event_list_all.pickle"),
        n_timestamps=len(loaded("ts_id")),
    )
    queries, listed = swept(code, dataset)
    _, mended = swept(MendedCode(code.folder), dataset)
    spans: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for name in SPLITS:
        for h, r, t, start, end in loaded(f"{name}.pickle").tolist():
            spans[h, r].append((t, start, end))
    asked = [(spans[h, r], t, at) for h, r, t, at in queries]
    closed = [{x for x, s, e in known if s <= at <= e} for known, t, at in asked]
    still = [{x for x, s, e in known if s <= at < e} | {t} for known, t, at in asked]
    return Sweep(
        data.name,
        len(queries),
        *(sum(map(len, each)) - len(queries) for each in (listed, mended, closed, still)),
        sum(one != other for one, other in zip(mended, still, strict=True)),
    )


def swept(code: Code, dataset: SimpleNamespace) -> tuple[list[list[int]], list[set[int]]]:
    """Return the queries (head, relation, tail, instant), and what is left out, the tail too."""
    queries: list[list[int]] = []
    lists: list[set[int]] = []

    def rank(batch: Any, filters: list[list[int]], _chunk: int) -> Any:
        queries.extend(batch.tolist())
        lists.extend(
            {*left_out, row[2]} for left_out, row in zip(filters, batch.tolist(), strict=True)
        )
        return torch.ones(len(batch))

    host = SimpleNamespace(**{name: getattr(torch, name) for name in dir(torch) if name[0] != "_"})
    host.cuda = SimpleNamespace(LongTensor=torch.LongTensor)  # no device is needed
    space = {
        "torch": host, "defaultdict": defaultdict, "Dict": dict, "Tuple": tuple, "List": list,
        "TKBCModel": object,
    }  # fmt: skip
    file, name = "tkbc/datasets.py", "TemporalDataset.time_eval"
    evaluate = code.functions("tkbc", COMMITS["tkbc"], file, name, space)["time_eval"]
    torch.manual_seed(0)  # it draws an instant of each fact
    evaluate(dataset, SimpleNamespace(get_time_ranking=rank), "test", missing_eval="rhs")
    return queries, lists
