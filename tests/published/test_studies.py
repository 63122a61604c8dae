"""Every published figure by one command, whose rule is strict; and the counts of data sets."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from support.environment import ROOT

STUDIES = ROOT / "bench" / "studies"


def _is_study(module: ModuleType) -> bool:
    return Path(getattr(module, "__file__", None) or "/").parent == STUDIES


@pytest.fixture(scope="module")
def studies() -> Iterator[Callable[[str], ModuleType]]:
    """Give what imports a study by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)
        yield importlib.import_module
        for name in [name for name, module in sys.modules.items() if _is_study(module)]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def study(studies: Callable[[str], ModuleType]) -> ModuleType:
    return studies("reproduce")


@pytest.fixture(scope="module")
def data_sets(studies: Callable[[str], ModuleType]) -> ModuleType:
    return studies("data_sets")


class Run(NamedTuple):
    """What the command printed, wrote and returned."""

    printed: str
    page: str
    judged: list[tuple[Any, str, str]]


@pytest.fixture(scope="module")
def run(study: ModuleType, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("builtins.print", lambda *words: lines.append(" ".join(map(str, words))))
        judged = study.main(data, folder)
    page = (folder / "reproduce.md").read_text(encoding="utf-8")
    return Run("\n".join(lines), page, judged)


def paragraphs(page: str) -> list[str]:
    return [" ".join(block.split()) for block in page.split("\n\n")]


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_is_what_the_command_makes(run: Run) -> None:
    """The last digits of bounds and differences may depend on the machine; no count may."""
    committed = (STUDIES / "reproduce.md").read_text(encoding="utf-8")
    assert f"**{run.printed}**" in paragraphs(committed)
    assert f"**{run.printed}**" in paragraphs(run.page)
    assert section(committed, "By table") == section(run.page, "By table")
    for title in ("Small tables, every figure", "Large tables, by column"):
        ours, theirs = (section(page, title).splitlines() for page in (run.page, committed))
        assert [line.split(" | ")[:5] for line in ours] == [
            line.split(" | ")[:5] for line in theirs
        ]


def test_every_row_has_its_source_and_every_difference_its_reason(
    study: ModuleType, run: Run
) -> None:
    sources = set(re.findall(r"^- \*\*(.+?)\*\*:", section(run.page, "Sources"), re.MULTILINE))
    assert {figure.source for figure, _, _ in run.judged} == sources
    named = re.findall(r"^- \*\*(\w+)\*\*:", run.page.partition("\n## ")[0], re.MULTILINE)
    assert named == [study.COMPUTED, study.FOLLOWS, *study.VERDICTS]
    places = Counter(figure[:4] for figure, _, _ in run.judged)
    assert [place for place, count in places.items() if count > 1] == []
    for figure, verdict, why in run.judged:
        assert all(figure[:5]), figure
        assert verdict in study.VERDICTS
        assert figure.check in (study.COMPUTED, study.FOLLOWS)
        assert (figure.ours is not None) is (figure.needs != "-") is (verdict != "given"), figure
        assert bool(why) is (verdict in ("simulated", "explained", "impossible", "open"))


def is_number(printed: str) -> bool:
    return printed.replace(".", "", 1).lstrip("-").isdecimal()


def test_no_other_figure_would_agree(study: ModuleType, run: Run) -> None:
    """A figure of one unit more in its last place but two is not taken for ours."""
    counted = ("A Unified Framework", "On the Ambiguity")
    agreed = (figure for figure, verdict, _ in run.judged if verdict == "agrees")
    judged = [figure for figure in agreed if figure.source in counted and is_number(figure.printed)]
    assert len(judged) > 800
    for figure in judged:
        off = 3 * max(figure.precision * max(abs(float(figure.printed)), figure.scale), 1e-15)
        off += figure.published.high - figure.published.low
        for by in (off, -off):
            value = float(figure.printed) + by
            moved = figure._replace(stands_for=study.Range.at(value), reasons=())
            assert moved.judge()[0] == "open", figure


def test_counts_of_each_split_and_side(data_sets: ModuleType) -> None:
    for split, tasks in (("test", 6268), ("valid", 6068)):
        counts, times = data_sets.filtered_candidates("wn18rr", split)
        assert (times.sum(), counts.max()) == (tasks, 40943)
    counts, times = data_sets.filtered_candidates("wn18rr", "train", ("relation",))
    assert (times.sum(), counts.max()) == (86835, 11)


def test_the_table_is_whole(data_sets: ModuleType) -> None:
    for key, facts in data_sets.data_sets().items():
        assert facts["sources"], key
        assert all(facts[name] > 0 for name in ("entities", "relations", "train", "valid", "test"))
        for split, sides in facts.get("left_out", {}).items():
            for side, (left_out, multiplicities) in sides.items():
                assert left_out == sorted(set(left_out))
                assert left_out[0] >= 0
                ranked = "relations" if side == "relation" else "entities"
                assert left_out[-1] < facts[ranked]
                assert min(multiplicities) > 0
                assert sum(multiplicities) == facts[split]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_filtered_counts_are_those_of_the_triples(
    data: Path, split: str, data_sets: ModuleType
) -> None:
    """Count in another way than the script does, with a set of known answers for each query."""
    with np.load(data / "kinships" / "triples.npz") as arrays:
        triples = {name: arrays[name].tolist() for name in ("train", "valid", "test")}
    for side, (a, b) in {"head": (1, 2), "tail": (0, 1), "relation": (0, 2)}.items():
        asked = 3 - a - b
        answers: dict[tuple[int, int], set[int]] = {}
        for triple in itertools.chain(*triples.values()):
            answers.setdefault((triple[a], triple[b]), set()).add(triple[asked])
        size = 25 if side == "relation" else 104
        left = [size - len(answers[t[a], t[b]] - {t[asked]}) for t in triples[split]]
        counts = data_sets.filtered_candidates("kinships", split, (side,))
        assert [part.tolist() for part in counts] == [
            part.tolist() for part in np.unique(left, return_counts=True)
        ]


def test_the_script_makes_the_table(data: Path, tmp_path: Path, data_sets: ModuleType) -> None:
    pytest.importorskip("pykeen")
    data_sets.main(data, tmp_path)
    made = json.loads((tmp_path / "datasets.json").read_text(encoding="utf-8"))
    assert made == data_sets.data_sets()


def test_a_small_cell_of_the_size_of_the_test(
    studies: Callable[[str], ModuleType], data: Path
) -> None:
    """A model of two epochs: as in the figure, the mean rank grows with the test, and not AMRI."""
    study = studies("test_size")
    graphs = study.read_data(data)
    order = np.random.default_rng(0).permutation(graphs.pairs)
    vectors = study.train(graphs, order[:1500], seed=0, epochs=2)
    small, large = (
        study.evaluate(graphs, vectors, order[1500 : 1500 + size], order[:1500])
        for size in (500, 4000)
    )
    assert 6 < large["mr"] / small["mr"] < 10
    assert large["hits@1"] < small["hits@1"]
    assert abs(large["amri"] - small["amri"]) < 0.05
    untrained = study.evaluate(graphs, study.draw_vectors(graphs, 0), order[:4000], order[:0])
    assert abs(untrained["amri"]) < 0.02
    # What scipy adds up is what np.add.at does.
    outputs = study.add_neighbours(graphs, vectors)
    rng = np.random.default_rng(1)
    sums = study.gradient(graphs, order[:50], outputs, rng)
    np.testing.assert_allclose(sums, plain_gradient(study, graphs, order[:50], outputs), atol=1e-6)


def plain_gradient(study: ModuleType, graphs: Any, pairs: Any, outputs: Any) -> Any:
    """Return the gradient of the margin loss pair by pair, with the same negatives."""
    rng = np.random.default_rng(1)
    sums = np.zeros_like(outputs)
    for column, pool in ((0, graphs.pools[1]), (1, graphs.pools[0])):
        for _ in range(study.NEGATIVES):
            negatives = rng.choice(pool, len(pairs))
            for pair, negative in zip(pairs.tolist(), negatives.tolist(), strict=True):
                query, answer = pair[column], pair[1 - column]
                near = outputs[query] - outputs[answer]
                away = outputs[query] - outputs[negative]
                if np.abs(near).sum() - np.abs(away).sum() + study.MARGIN > 0:
                    sums[query] += np.sign(near) - np.sign(away)
                    sums[answer] -= np.sign(near)
                    sums[negative] += np.sign(away)
    return sums / (len(pairs) * study.NEGATIVES * 2)
