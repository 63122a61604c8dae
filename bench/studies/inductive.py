"""Inductive link prediction beside the code that its benchmarks are evaluated with.

    python bench/studies/inductive.py FOLDER [--output FOLDER]

FOLDER holds clones of pykeen/ilpc2022 and kkteru/grail, as ilpc2022 and grail (bare or not). The
data sets and the functions of GraIL are read from them, PyKEEN is imported; nothing of them is
kept. Random scores, with ties and without, are ranked by their code and by truerank. Writes
inductive.md.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from pages import format_page, markdown_table
from toolkit_code import Array, Code

import truerank as tr
from truerank.link_prediction import Task

HERE = Path(__file__).parent
ILPC, GRAIL = "3d0166d", "2a3dffa"  # commits
ILPC_FILES = ("inference", "inference_validation", "inference_test", "train")
GRAIL_DATA = ("WN18RR_v1_ind", "fb237_v1_ind")
SEED = 0


class Row(NamedTuple):
    """A row of the page: what was ranked, and how many ranks differ."""

    data: str
    code: str
    tasks: int
    candidates: str
    ties: str
    wrong: int

    @property
    def cells(self) -> list[str]:
        return [
            *(self.data, self.code, f"{self.tasks:,}", self.candidates, self.ties),
            str(self.wrong),
        ]


def write_files(code: Code, folder: Path, clone: str, commit: str, paths: dict[str, str]) -> None:
    for name, path in paths.items():
        (folder / f"{name}.txt").write_text(code.source(clone, commit, path), encoding="utf-8")


def random_scores(rng: np.random.Generator, rows: int, columns: int, ties: bool) -> Array:
    scores = rng.normal(size=(rows, columns))
    return (scores.round(1) if ties else scores).astype(np.float32)


# -- ILPC 2022: all entities of the graph of inference ---------------------------------------------


def ilpc_rows(code: Code, folder: Path) -> list[Row]:
    """Rank ILPC small by PyKEEN's evaluator, with the filter of the challenge, and by a task."""
    torch = code.package("torch")
    datasets = code.package("pykeen", "pykeen.datasets.inductive.base")
    evaluation = code.package("pykeen", "pykeen.evaluation")
    mocks = code.package("pykeen", "pykeen.models.mocks")
    paths = {name: f"data/small/{name}.txt" for name in ILPC_FILES}
    write_files(code, folder, "ilpc2022", ILPC, paths)
    dataset = datasets.DisjointInductivePathDataset(
        transductive_training_path=folder / "train.txt",
        inductive_inference_path=folder / "inference.txt",
        inductive_validation_path=folder / "inference_validation.txt",
        inductive_testing_path=folder / "inference_test.txt",
        create_inverse_triples=False,
        eager=True,
    )
    graph, test = dataset.inductive_inference, dataset.inductive_testing
    triples = test.mapped_triples.numpy()
    task = Task(
        folder / "inference_test.txt",
        {name: folder / f"{name}.txt" for name in ("inference", "inference_validation", "train")},
        entities=_then_train(graph.entity_to_id, dataset.transductive_training.entity_to_id),
        relations=graph.relation_to_id,
        candidates="inference",
    )
    columns, size = graph.num_entities, task.tail.columns
    place = {tuple(triple): i for i, triple in enumerate(triples.tolist())}  # PyKEEN sorts them
    order = [place[tuple(triple)] for triple in task.test.tolist()]
    rng = np.random.default_rng(SEED)
    rows = []
    for ties in (False, True):
        tables = {side: random_scores(rng, len(triples), columns, ties) for side in task.sides}
        model = _table_model(torch, mocks, graph, tables)
        evaluator = evaluation.RankBasedEvaluator(clear_on_finalize=False)
        evaluator.evaluate(
            model,
            test.mapped_triples,
            additional_filter_triples=[
                graph.mapped_triples,
                dataset.inductive_validation.mapped_triples,
            ],
            batch_size=64,
            use_tqdm=False,
        )
        wide = {  # the entities of training have columns, too, which no task lets in
            side: np.pad(table[order], ((0, 0), (0, size - columns)), constant_values=9)
            for side, table in tables.items()
        }
        ours = task.evaluate_scores(wide["tail"], wide["head"]).ranks
        wrong = tasks = 0
        for side in task.sides:
            found = ours[ours.side.values == side]
            for kind in ("optimistic", "pessimistic"):
                theirs = np.concatenate(evaluator.ranks[side, kind])[order]
                wrong += int((getattr(found, kind) != theirs).sum())
                tasks += len(theirs)
        rows.append(
            Row("ILPC small", "PyKEEN", tasks, f"{columns:,}", "yes" if ties else "no", wrong)
        )
    return rows


def _then_train(graph: dict[str, int], train: dict[str, int]) -> dict[str, int]:
    """Number the entities of training after those of the graph of inference."""
    others = sorted(train.keys() - graph.keys())
    return graph | {name: len(graph) + i for i, name in enumerate(others)}


def _table_model(torch: Any, mocks: Any, graph: Any, tables: Any) -> Any:
    """Make a model of PyKEEN's that gives the rows of tables, one for each test triple in order."""
    batches = dict.fromkeys(tables, 0)

    class TableModel(mocks.FixedModel):  # type: ignore[misc, name-defined]
        def _rows(self, side: str, batch: Any) -> Any:
            first = batches[side]
            batches[side] += len(batch)
            # a copy, as the evaluator writes NaN over known answers
            return torch.from_numpy(tables[side][first : first + len(batch)].copy())

        def predict_t(self, hr_batch: Any, **_: Any) -> Any:
            return self._rows("tail", hr_batch)

        def predict_h(self, rt_batch: Any, **_: Any) -> Any:
            return self._rows("head", rt_batch)

    return TableModel(triples_factory=graph)


# -- GraIL: 50 candidates --------------------------------------------------------------------------


def grail_rows(code: Code, folder: Path) -> list[Row]:
    """Draw and rank by GraIL's functions, and count the same scores."""
    rng = np.random.default_rng(SEED)
    rows = []
    for data in GRAIL_DATA:
        names = {"graph": "train", "links": "test"}
        paths = {name: f"data/{data}/{file}.txt" for name, file in names.items()}
        write_files(code, folder, "grail", GRAIL, paths)
        relations = {line.split()[1]: 0 for line in (folder / "graph.txt").read_text().splitlines()}
        relations = {name: i for i, name in enumerate(relations)}
        scipy_sparse = code.package("scipy", "scipy.sparse")
        made = code.functions(
            "grail", GRAIL, "test_ranking.py",
            "process_files get_neg_samples_replacing_head_tail get_rank",
            {"np": np, "ssp": scipy_sparse, "ssp_multigraph_to_dgl": lambda _: None},
        )  # fmt: skip
        files = {name: str(folder / f"{name}.txt") for name in names}
        adjacency, _, triplets, entities, *_ = made["process_files"](files, relations, False)
        np.random.seed(SEED)  # noqa: NPY002 - what its functions draw from
        drawn = made["get_neg_samples_replacing_head_tail"](triplets["links"], adjacency)
        for ties in (False, True):
            rows.append(_grail_row(made, data, drawn, ties, rng, len(entities)))
    return rows


def _grail_row(
    made: Any, data: str, drawn: Any, ties: bool, rng: np.random.Generator, entities: int
) -> Row:
    listed: list[Array] = []
    torch_like = SimpleNamespace(gnn=SimpleNamespace(max_label_value=0))

    class Model:
        gnn = torch_like.gnn

        def __call__(self, links: Any) -> Any:
            scores = random_scores(rng, 1, len(links), ties)[0]
            listed.append(scores)
            column = SimpleNamespace(detach=lambda: SimpleNamespace(numpy=lambda: scores))
            return SimpleNamespace(squeeze=lambda _: column)

    made["get_rank"].__globals__.update(
        model_=Model(), get_subgraphs=lambda links, *_: links,
        **dict.fromkeys(("adj_list_", "dgl_adj_list_", "id2entity_", "node_features_")),
        kge_entity2id_=None,
    )  # fmt: skip
    theirs = []
    for links in drawn:
        _, head_rank, _, tail_rank = made["get_rank"](links)
        theirs += [int(head_rank.item()), int(tail_rank.item())]
    scores = np.stack(listed)
    ours = tr.rank_against(scores[:, 0], scores[:, 1:])  # as drawn: an entity may come twice
    wrong = ((ours.optimistic > theirs) | (ours.pessimistic < theirs)).sum()
    candidates = f"{scores.shape[1]} of {entities:,}"
    return Row(data, "GraIL", len(theirs), candidates, "yes" if ties else "no", int(wrong))


# -- the page --------------------------------------------------------------------------------------


def page(rows: list[Row], code: Code) -> str:
    heading = "data | code | ranks | candidates | ties | wrong"
    return format_page(
        f"""# Inductive link prediction beside other code

A model is trained on one graph and tested on another one, whose entities it has not seen. ILPC 2022
ranks all entities of the graph of inference; GraIL, and the many papers that follow it, ranks the
true one among 49 drawn ones. Both were run on random scores, their own code beside truerank.

{markdown_table(heading, [row.cells for row in rows], text_columns=2)}

Of PyKEEN's evaluator, which ILPC uses, optimistic and pessimistic ranks are compared; it gets a
model of the graph of inference alone, truerank a task of all entities with
`candidates="inference"`. GraIL's rank is a place in an argsort: wrong is what lies outside of the
tie.

What GraIL's numbers are, from its code: "50 negatives" are 49, for the true triple is one of the
50. They are drawn with replacement, so that an entity may count twice; the entity that is given is
never drawn, nor a triple of the graph, but another true triple of the test may be. What it calls
head ranks are those of tails, and the reverse; it shows their mean alone. As bare scores such
samples go into `rank_against`; `Sampled(50, among="inference")` draws 50 distinct entities that are
no known answers, and the protocol says so.

Used: {", ".join(sorted(code.used))}.
"""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    code = Code(options.folder)
    with tempfile.TemporaryDirectory() as folder:
        rows = [*ilpc_rows(code, Path(folder)), *grail_rows(code, Path(folder))]
    text = page(rows, code)
    (options.output / "inductive.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
