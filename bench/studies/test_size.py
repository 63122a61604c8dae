"""How metrics of one model change with the size of the test: Figure 3 of On the Ambiguity.

    python bench/studies/test_size.py DATA_FOLDER [--output FOLDER]

DATA_FOLDER has dbp15k_zh_en/. GCN-Align without weights is trained on none of the pairs and on
three amounts of them, for five random splits. Each model is evaluated on test sets of five sizes,
whose entities are the candidates, in both directions. It makes the tables of test_size.md and the
figure, in about ten minutes of one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from pages import arguments, fill_page, machine, markdown_table

from truerank import alignment

HERE = Path(__file__).parent
TRAINING = (0, 1_500, 4_500, 7_500)
SIZES = (500, 1_000, 2_000, 4_000, 7_500)
SPLITS = 5
EPOCHS = 60
DIMENSIONS = 100
RATE = 20.0
MARGIN = 3.0
NEGATIVES = 5  # for each entity of a pair
# The index of a metric is 0 for chance and 1 at best: (value - E) / (best - E).
METRICS = ("mr", "hits@1", "amri", "amrr")
UNTRAINED = "random vectors"

Array = np.ndarray[Any, Any]


@dataclass
class Data:
    """Entities as rows of one matrix, pairs of them, and the normalised graph of both sides."""

    graphs: alignment.Graphs
    pairs: Array
    pools: tuple[Array, Array]
    adjacency: sp.csr_matrix


def read_data(folder: Path) -> Data:
    """Read DBP15K zh-en, whose ids are rows; both graphs are one, with a loop at each entity."""
    graphs = alignment.read_folder(folder / "dbp15k_zh_en")
    edges = np.array([(h, t) for side in graphs.triples.values() for h, _, t in side])
    size = 1 + max(max(graphs.left), max(graphs.right))
    loops = np.arange(size)
    rows = np.concatenate([edges[:, 0], edges[:, 1], loops])
    columns = np.concatenate([edges[:, 1], edges[:, 0], loops])
    ones = np.ones(len(rows), np.float32)
    adjacency = sp.csr_matrix((ones, (rows, columns)), (size, size))
    adjacency.data[:] = 1  # Several relations of two entities are one edge.
    scale = sp.diags(np.asarray(adjacency.sum(axis=1)).ravel() ** -0.5)
    pools = np.array(graphs.left), np.array(graphs.right)
    normalised = (scale @ adjacency @ scale).tocsr().astype(np.float32)
    return Data(graphs, np.array(graphs.pairs["test"]), pools, normalised)


def draw_vectors(data: Data, seed: int) -> Array:
    """Draw unit vectors, where the training begins."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((data.adjacency.shape[0], DIMENSIONS)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def add_neighbours(data: Data, vectors: Array) -> Array:
    """Return what two layers make of vectors."""
    return data.adjacency @ np.maximum(data.adjacency @ vectors, 0)


def gradient(data: Data, pairs: Array, outputs: Array, rng: np.random.Generator) -> Array:
    """Return the gradient of the margin loss in L1, by the outputs."""
    left, right = pairs.T
    distances = np.abs(outputs[left] - outputs[right]).sum(axis=1)
    rows = []
    values = []
    for query, answer, pool in ((left, right, data.pools[1]), (right, left, data.pools[0])):
        towards = np.sign(outputs[query] - outputs[answer])
        for _ in range(NEGATIVES):
            negative = rng.choice(pool, len(query))
            difference = outputs[query] - outputs[negative]
            is_near = distances - np.abs(difference).sum(axis=1) + MARGIN > 0
            away = np.sign(difference[is_near])
            nearer = towards[is_near]
            rows += [query[is_near], answer[is_near], negative[is_near]]
            values += [nearer - away, -nearer, away]
    places = np.concatenate(rows)
    number = len(places)
    ones = np.ones(number, np.float32)
    # A sparse product adds the values of one entity, as np.add.at would, in a tenth of the time.
    sums = sp.csr_matrix((ones, (places, np.arange(number))), (len(outputs), number))
    result: Array = sums @ np.concatenate(values) / (len(pairs) * NEGATIVES * 2)
    return result


def train(data: Data, pairs: Array, seed: int, epochs: int = EPOCHS) -> Array:
    """Return the outputs of a model that was trained on some pairs; on none it is not."""
    rng = np.random.default_rng(seed)
    vectors = draw_vectors(data, seed)
    for _ in range(epochs if len(pairs) else 0):
        hidden = data.adjacency @ vectors
        outputs = data.adjacency @ np.maximum(hidden, 0)
        through = data.adjacency @ gradient(data, pairs, outputs, rng)
        vectors -= RATE * (data.adjacency @ (through * (hidden > 0)))
    return add_neighbours(data, vectors)


def evaluate(data: Data, vectors: Array, pairs: Array, training: Array) -> dict[str, float]:
    """Return the metrics of test pairs, whose entities are the candidates."""
    task = alignment.Task(
        pairs,
        left=data.graphs.left,
        right=data.graphs.right,
        candidates="test",
        known={"train": training} if len(training) else None,
    )
    left, right = data.graphs.split(vectors)
    report = task.evaluate_embeddings(left, right, similarity="l1", threads=1)
    return {metric: report[metric] for metric in METRICS}


def measure_split(data: Data, seed: int) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Yield the values of each model and size: a model's test sets are parts of one another."""
    order = np.random.default_rng(seed).permutation(data.pairs)
    models: list[tuple[str, int, Array]] = [(UNTRAINED, 0, draw_vectors(data, seed))]
    models += [(f"{n:,}", n, train(data, order[:n], seed)) for n in TRAINING]
    for name, n, vectors in models:
        for size in SIZES:
            test = order[n : n + size]
            yield name, size, evaluate(data, vectors, test, order[:n])


Cells = Mapping[tuple[str, int], list[dict[str, float]]]


def draw(cells: Cells, path: Path) -> None:
    """Draw the means over splits, and their spread from the lowest to the highest."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "test size"})
    from matplotlib.figure import Figure

    titles = {"mr": "MR", "hits@1": "Hits@1", "amri": "AMRI", "amrr": "index of MRR"}
    colours = ("#999999", "#d55e00", "#e69f00", "#009e73", "#0072b2")
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2)
    names = list(dict.fromkeys(name for name, _ in cells))
    for ax, (metric, title) in zip(axes.flat, titles.items(), strict=True):
        for name, colour in zip(names, colours, strict=True):
            values = np.array([[run[metric] for run in cells[name, size]] for size in SIZES])
            dash = ":" if name == UNTRAINED else "-"
            label = name if name == UNTRAINED else f"{name} training pairs"
            ax.plot(SIZES, values.mean(axis=1), dash, marker="o", ms=3, color=colour, label=label)
            low, high = values.min(axis=1), values.max(axis=1)
            ax.fill_between(SIZES, low, high, color=colour, alpha=0.25, linewidth=0)
        ax.set_xscale("log")
        ax.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
        ax.minorticks_off()
        if metric in ("mr", "hits@1"):
            ax.set_yscale("log")
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("test pairs")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def tables(cells: Cells) -> list[str]:
    """Return a table of means and deviations for each metric."""
    made = []
    for metric in METRICS:
        digits = 0 if metric == "mr" else 3
        rows = []
        for name in dict.fromkeys(name for name, _ in cells):
            row = [name]
            for size in SIZES:
                values = np.array([run[metric] for run in cells[name, size]])
                row.append(f"{values.mean():,.{digits}f} ± {values.std(ddof=1):,.{digits}f}")
            rows.append(row)
        made.append(markdown_table([metric, *(f"{size:,}" for size in SIZES)], rows))
    return made


def main(data_folder: Path, output: Path) -> None:
    data = read_data(data_folder)
    cells: dict[tuple[str, int], list[dict[str, float]]] = {}
    for seed in range(SPLITS):
        for name, size, values in measure_split(data, seed):
            cells.setdefault((name, size), []).append(values)
            print(seed, name, size, values, flush=True)
    draw(cells, output / "test_size.svg")
    untrained = np.array([run["amri"] for run in cells[UNTRAINED, SIZES[-1]]])
    facts = f"{machine()}. {SPLITS} splits. AMRI of random vectors, {SIZES[-1]:,} test pairs: "
    facts += f"{100 * untrained.mean():.2f} % ± {100 * untrained.std(ddof=1):.2f} %; "
    facts += "the paper prints -0.0025 % ± 0.8068 %."
    fill_page(HERE / "test_size.md", output, tables(cells), facts)


if __name__ == "__main__":
    given = arguments(__doc__, "data_folder", output=HERE)
    main(given["data_folder"], given["output"])
