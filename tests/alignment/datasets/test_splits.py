"""Splits of pairs: sizes, seeds, m:n pairs, and what is written to disk."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.alignment_folders import DBP15K, OPENEA, fill_folder, plain_data, without_repeats
from truerank.alignment.datasets.exporting import write_openea
from truerank.alignment.datasets.graphs import AlignmentData, Graph
from truerank.alignment.datasets.random_splits import SHARES, five_folds, split_pairs
from truerank.alignment.datasets.readers import read_dbp15k, read_openea
from truerank.alignment.datasets.text_tables import write_files

pytestmark = pytest.mark.python_only

Rows = list[tuple[int, int]]
Splits = dict[str, Rows]

# -- the slow way ----------------------------------------------------------------------------------


def slow_places(pairs: Rows, seed: int, together: bool) -> list[int]:
    """Return the place of each pair, or of its group of linked pairs, in the random order."""
    raw = np.random.PCG64(seed).random_raw(len(pairs)).tolist()
    order = sorted(range(len(pairs)), key=lambda i: (raw[i], i))
    groups: list[set[int]] = [{i} for i in range(len(pairs))]
    changed = together
    while changed:
        changed = False
        for i, (a, b) in enumerate(pairs):
            for j, (c, d) in enumerate(pairs):
                if (a == c or b == d) and groups[i] is not groups[j]:
                    groups[i] |= groups[j]
                    for k in groups[i]:
                        groups[k] = groups[i]
                    changed = True
    places, at = [0] * len(pairs), 0
    for i in order:
        if i == min(groups[i]):
            for j in groups[i]:
                places[j] = at
            at += len(groups[i])
    return places


def slow_sizes(n: int, shares: list[float]) -> list[int]:
    exact = [Fraction(str(share)) * n for share in shares]
    sizes = [int(x) for x in exact]
    while sum(sizes) < n:
        rests = [x - size for x, size in zip(exact, sizes, strict=True)]
        sizes[rests.index(max(rests))] += 1
    return sizes


def slow_split(pairs: Rows, shares: dict[str, float], seed: int, together: bool) -> Splits:
    ends, total = [], 0
    for size in slow_sizes(len(pairs), list(shares.values())):
        total += size
        ends.append(total)
    found: Splits = {name: [] for name in shares}
    for pair, place in zip(pairs, slow_places(pairs, seed, together), strict=True):
        found[next(name for name, end in zip(shares, ends, strict=True) if place < end)].append(
            pair
        )
    return found


def slow_folds(pairs: Rows, seed: int, folds: int, valid: float, together: bool) -> list[Splits]:
    n = len(pairs)
    held = int(Fraction(str(valid)) * n + Fraction(1, 2))
    places = slow_places(pairs, seed, together)
    made, first = [], 0
    for k in range(folds):
        size = n // folds + (k < n % folds)
        ring = [(place - first) % n for place in places]
        parts: Splits = {
            "train": [p for p, at in zip(pairs, ring, strict=True) if at < size],
            "valid": [p for p, at in zip(pairs, ring, strict=True) if size <= at < size + held],
            "test": [p for p, at in zip(pairs, ring, strict=True) if at >= size + held],
        }
        if not held:
            del parts["valid"]
        made.append(parts)
        first += size
    return made


def every(parts: Iterable[Rows]) -> Rows:
    """Return all pairs of some splits, in order."""
    return sorted(chain.from_iterable(parts))


def listed(splits: dict[str, Any]) -> Splits:
    return {name: [tuple(pair) for pair in pairs.tolist()] for name, pairs in splits.items()}


PAIRS = st.lists(
    st.tuples(st.integers(-3, 12), st.integers(0, 2**40) | st.integers(0, 9)),
    min_size=1,
    max_size=30,
    unique=True,
)
SEEDS = st.integers(0, 2**70)


@given(
    PAIRS,
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9), min_size=1).filter(
        lambda parts: sum(parts.values()) > 0
    )
    | st.sampled_from(list(SHARES)),
    SEEDS,
    st.booleans(),
)
def test_split_as_the_slow_way(pairs: Rows, shares: Any, seed: int, together: bool) -> None:
    if isinstance(shares, dict):
        total = sum(shares.values())
        shares = {name: part / total for name, part in shares.items()}
    found = split_pairs(pairs, shares, seed=seed, together=together)
    wanted = SHARES[shares] if isinstance(shares, str) else shares
    assert listed(found) == slow_split(pairs, wanted, seed, together)
    for part in found.values():
        assert part.dtype == np.int64
        assert part.shape[1:] == (2,)
    assert every(listed(found).values()) == sorted(pairs)


@given(PAIRS, SEEDS, st.integers(2, 6), st.sampled_from([0, 0.1, 0.25, 0.3]), st.booleans())
def test_folds_as_the_slow_way(
    pairs: Rows, seed: int, folds: int, valid: float, together: bool
) -> None:
    n = len(pairs)
    held = int(Fraction(str(valid)) * n + Fraction(1, 2))
    if folds > n or held >= n - -(-n // folds):
        with pytest.raises(ValueError, match=r"^(folds|valid): expected "):
            five_folds(pairs, seed=seed, folds=folds, valid=valid, together=together)
        return
    found = five_folds(pairs, seed=seed, folds=folds, valid=valid, together=together)
    assert [listed(fold) for fold in found] == slow_folds(pairs, seed, folds, valid, together)
    assert every(listed(fold)["train"] for fold in found) == sorted(pairs)
    for fold in found:
        assert every(listed(fold).values()) == sorted(pairs)


@given(PAIRS, SEEDS)
def test_linked_pairs_stay_together(pairs: Rows, seed: int) -> None:
    largest = max(slow_places(pairs, seed, True).count(p) for p in slow_places(pairs, seed, True))
    together = split_pairs(pairs, "30/70", seed=seed, together=True)
    alone = split_pairs(pairs, "30/70", seed=seed)
    for j in (0, 1):
        assert not {p[j] for p in together["train"].tolist()} & {
            p[j] for p in together["test"].tolist()
        }
    assert abs(len(together["train"]) - len(alone["train"])) < largest
    if largest == 1:
        assert listed(together) == listed(alone)


# -- by hand ---------------------------------------------------------------------------------------

ONE_TO_ONE = np.stack([np.arange(15_000), np.arange(15_000)[::-1]], axis=1)


@pytest.mark.parametrize(
    ("shares", "sizes"),
    [
        ("20/10/70", {"train": 3_000, "valid": 1_500, "test": 10_500}),  # OpenEA's table 3
        ("30/70", {"train": 4_500, "test": 10_500}),
        ("24/6/70", {"train": 3_600, "valid": 900, "test": 10_500}),  # 70 %, then 80/20
        ({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, {"a": 5_000, "b": 5_000, "c": 5_000}),
        ({"a": 0.29, "b": 0.71}, {"a": 4_350, "b": 10_650}),
        ({"all": 1}, {"all": 15_000}),
        ({"none": 0.0, "all": 1.0}, {"none": 0, "all": 15_000}),
    ],
)
def test_sizes(shares: Any, sizes: dict[str, int]) -> None:
    found = split_pairs(ONE_TO_ONE, shares, seed=0)
    assert {name: len(part) for name, part in found.items()} == sizes


def test_folds_of_openea() -> None:
    folds = five_folds(ONE_TO_ONE, seed=0)
    assert [[len(part) for part in fold.values()] for fold in folds] == [[3_000, 1_500, 10_500]] * 5
    valid = np.concatenate([fold["valid"] for fold in folds])
    assert len(np.unique(valid, axis=0)) == 5 * 1_500  # disjoint, too


def test_draws_are_pinned() -> None:
    """A seed gives the same split everywhere; this fails if a NumPy draws differently."""
    found = split_pairs([(i, i) for i in range(20)], seed=2020)
    assert found["train"][:, 0].tolist() == [4, 9, 15, 18]
    assert found["valid"][:, 0].tolist() == [0, 1]
    assert listed(found) != listed(split_pairs([(i, i) for i in range(20)], seed=2021))


def test_pairs_keep_their_order_and_are_not_changed() -> None:
    pairs = ONE_TO_ONE[:50][::-1]
    pairs.flags.writeable = False
    found = split_pairs(pairs, seed=4)["test"].tolist()
    assert found == [pair for pair in pairs.tolist() if pair in found]


def test_parted_pairs_of_one_entity() -> None:
    pairs = [(0, i) for i in range(10)]  # an entity with ten counterparts
    parted = split_pairs(pairs, "30/70", seed=0)
    assert [len(part) for part in parted.values()] == [3, 7]
    whole = split_pairs(pairs, "30/70", seed=0, together=True)
    assert [len(part) for part in whole.values()] == [10, 0]  # where its first pair falls


@pytest.mark.parametrize(
    ("pairs", "keywords", "kind", "said"),
    [
        ([(0, 1), (1, 1), (0, 1)], {}, ValueError, r"^pairs: .* once, got \(0, 1\) again in row 2"),
        ([], {}, ValueError, "^pairs: expected at least one pair"),
        ([(0, 1, 2)], {}, ValueError, "^pairs: expected shape"),
        ([(0.5, 1)], {}, TypeError, "^pairs: expected integers"),
        ([(0, 1)], {"seed": -1}, ValueError, "^seed: expected an int from 0 on, got -1"),
        ([(0, 1)], {"seed": None}, TypeError, "^seed: expected an int, got NoneType"),
        ([(0, 1)], {"seed": True}, TypeError, "^seed: expected an int, got bool"),
        ([(0, 1)], {"shares": "70/30"}, ValueError, "^shares: expected one of 20/10/70, 30/70, 24"),
        ([(0, 1)], {"shares": [1]}, TypeError, "^shares: expected a str or a dict, got list"),
        ([(0, 1)], {"shares": {"a": 0.5}}, ValueError, "^shares: .* add up to 1, got 0.5"),
        ([(0, 1)], {"shares": {}}, ValueError, "^shares: .* add up to 1, got 0"),
        ([(0, 1)], {"shares": {"a": "1"}}, TypeError, r'^shares\["a"\]: expected a number'),
        ([(0, 1)], {"shares": {"a": 2, "b": -1}}, ValueError, r'^shares\["a"\]: .* got 2'),
        ([(0, 1)], {"shares": {"a": float("nan")}}, ValueError, r'^shares\["a"\]: .* got nan'),
        ([(0, 1)], {"shares": {"": 1}}, ValueError, r'^shares\[""\]: expected a name'),
        ([(0, 1)], {"shares": {1: 1}}, TypeError, "^shares: expected names of splits, got int"),
    ],
)
def test_wrong_splits(pairs: Any, keywords: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        split_pairs(pairs, **{"seed": 0, **keywords})


@pytest.mark.parametrize(
    ("keywords", "kind", "said"),
    [
        ({"folds": 1}, ValueError, "^folds: expected from 2 to the number of pairs, 4, got 1"),
        ({"folds": 5}, ValueError, "^folds: expected from 2 to the number of pairs, 4, got 5"),
        ({"folds": 2.0}, TypeError, "^folds: expected an int, got float"),
        ({"folds": 2, "valid": 0.5}, ValueError, "^valid: expected a share from 0 on that leaves"),
        ({"folds": 2, "valid": -0.1}, ValueError, "^valid: expected a share from 0 on"),
        ({"folds": 2, "valid": float("nan")}, ValueError, "^valid: expected a share from 0 on"),
        ({"folds": 2, "valid": "0.1"}, TypeError, "^valid: expected a number, got str"),
    ],
)
def test_wrong_folds(keywords: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        five_folds([(i, i) for i in range(4)], **{"seed": 0, **keywords})


# -- on disk ---------------------------------------------------------------------------------------


def files_of(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_written_data_is_read_the_same(tmp_path: Path) -> None:
    data = read_openea(fill_folder(tmp_path / "a", OPENEA), 1)
    write_openea(data, tmp_path / "b")
    assert plain_data(read_openea(tmp_path / "b", 1)) == plain_data(data)
    fold = Path("721_5fold", "1")
    # names alone do not restore the ids of entities; relations need no list here
    assert files_of(tmp_path / "b") == sorted(
        [
            *(str(fold / f"{split}_links") for split in ("train", "valid", "test")),
            "ent_links",
            "rel_triples_1",
            "rel_triples_2",
        ]
    )
    for name in ("ent_links", "rel_triples_1", str(fold / "test_links")):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_dbp15k_in_the_layout_of_openea(tmp_path: Path) -> None:
    data = read_dbp15k(fill_folder(tmp_path / "a", {**DBP15K, "sup_ent_ids": "3\t11\n"}))
    write_openea(data, tmp_path / "b" / "c")
    read = read_openea(tmp_path / "b" / "c", 1)
    before, after = plain_data(data), plain_data(read)
    assert (after.pop("relations_1"), after.pop("relations_2")) == (("2", "30"), ("4", "30"))
    assert (before.pop("relations_1"), before.pop("relations_2")) == (None, None)
    assert after == before  # entities without triples or pairs, too
    assert (tmp_path / "b" / "c" / "ent_ids_1").read_text() == DBP15K["ent_ids_1"]
    assert (tmp_path / "b" / "c" / "721_5fold" / "1" / "valid_links").read_text() == ""


def test_folds_are_written(tmp_path: Path) -> None:
    n = 30
    left = Graph([(i, 0, (i + 1) % n) for i in range(n)], n)
    data = AlignmentData(left, left, [(i, (i * 7) % n) for i in range(n)])
    folds = five_folds(data.pairs, seed=1)
    write_openea(data, tmp_path, splits=folds)
    for k, fold in enumerate(folds, 1):
        read = read_openea(tmp_path, k)
        assert listed(read.splits) == listed(fold)
        assert read.left.triples.tolist() == left.triples.tolist()
        assert read.pairs.tolist() == data.pairs.tolist()
    with pytest.raises(FileNotFoundError):
        read_openea(tmp_path, 6)
    parts = split_pairs(data.pairs, "30/70", seed=1)
    write_openea(data, tmp_path, splits=parts, folds="30_70", overwrite=True)
    assert list(read_openea(tmp_path, 1, folds="30_70").splits) == ["train", "test"]


GRAPH_NAMES = st.lists(
    st.text(
        st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1
    ).filter(lambda name: name[0] != "\ufeff"),
    min_size=1,
    max_size=6,
    unique=True,
)


@settings(max_examples=30)  # each writes files, and has them synced
@given(st.data())
def test_whatever_is_written_is_read(data: st.DataObject) -> None:
    graphs = []
    for _ in "12":
        names = data.draw(GRAPH_NAMES)
        relations = data.draw(GRAPH_NAMES)
        entity = st.integers(0, len(names) - 1)
        relation = st.integers(0, len(relations) - 1)
        triples = data.draw(st.lists(st.tuples(entity, relation, entity), min_size=1, max_size=6))
        ids = data.draw(st.none() | st.permutations(range(7, 7 + len(names))))
        graphs.append(
            Graph(
                np.array(triples),
                len(names),
                names=tuple(names),
                relations=tuple(relations),
                ids=None if ids is None else np.array(ids),
            )
        )
    pair = st.tuples(*(st.integers(0, graph.size - 1) for graph in graphs))
    pairs = data.draw(st.lists(pair, min_size=2, max_size=6))
    splits = {"train": pairs[:1], "test": pairs[1:]} if data.draw(st.booleans()) else {}
    written = AlignmentData(graphs[0], graphs[1], pairs, splits)
    with tempfile.TemporaryDirectory() as folder:
        write_openea(written, folder)
        read = read_openea(folder, 1 if splits else None)
    before, after = plain_data(written), plain_data(read)
    before["pairs"] = without_repeats(before["pairs"])
    for k in (1, 2):  # a list that had to be written counts from 0
        for name, size in ((f"ids_{k}", f"names_{k}"), (f"relation_ids_{k}", f"relations_{k}")):
            if before[name] is None and after[name] is not None:
                before[name] = list(range(len(before[size])))
    assert after == before


@pytest.fixture
def small(tmp_path: Path) -> AlignmentData:
    return read_openea(fill_folder(tmp_path / "small", OPENEA), 1)


def test_nothing_is_overwritten_unless_told(small: AlignmentData, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    fill_folder(folder, {"ent_links": "mine\n", "attr_triples_1": "mine, too\n"})
    with pytest.raises(FileExistsError, match="ent_links"):
        write_openea(small, folder)
    assert files_of(folder) == ["attr_triples_1", "ent_links"]
    assert (folder / "ent_links").read_text() == "mine\n"
    write_openea(small, folder, overwrite=True)
    assert plain_data(read_openea(folder, 1)) == plain_data(small)
    assert (folder / "attr_triples_1").read_text() == "mine, too\n"


@pytest.mark.parametrize(
    "name", ["ent_ids_1", "rel_ids_2.gz", "721_5fold/4/train_links", "721_5fold/1/test_links.gz"]
)
def test_what_would_be_read_with_it_is_refused(
    name: str, small: AlignmentData, tmp_path: Path
) -> None:
    fill_folder(tmp_path / "out", {name: "x"})
    with pytest.raises(FileExistsError, match="would be read with what is written"):
        write_openea(small, tmp_path / "out", overwrite=True)
    assert files_of(tmp_path / "out") == [str(Path(name))]


@pytest.mark.parametrize("at", range(12))
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_nothing(
    at: int, call: str, small: AlignmentData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = getattr(os, call), iter(range(100))

    def failing(*arguments: Any) -> Any:
        if next(calls) == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    there = fill_folder(tmp_path / "there", {"notes": "mine"})
    monkeypatch.setattr(os, call, failing)
    for folder in (there, tmp_path / "new" / "folder"):
        calls = iter(range(100))
        if at < 6:  # there are six files
            with pytest.raises(OSError, match="No space left"):
                write_openea(small, folder)
        else:
            write_openea(small, folder)
    if at < 6:
        assert [str(p.relative_to(there)) for p in there.rglob("*")] == ["notes"]
        assert not (tmp_path / "new").exists()


def test_a_failure_keeps_what_was_there(
    small: AlignmentData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_openea(small, tmp_path / "out")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in files_of(tmp_path / "out")}

    def failing(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(KeyboardInterrupt):
        write_openea(small.with_splits({}), tmp_path / "out", folds="x", overwrite=True)
    assert {n: (tmp_path / "out" / n).read_bytes() for n in files_of(tmp_path / "out")} == before


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(FileExistsError):
        write_files(str(tmp_path), {"a": ["line"]}, overwrite=True)
    assert files_of(tmp_path) == []


def test_written_files_have_the_permissions_of_new_files(tmp_path: Path) -> None:
    write_files(str(tmp_path), {"a": ["ü\u2028", "b"]}, overwrite=False)
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a").read_bytes() == "ü\u2028\nb\n".encode()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def graph(**fields: Any) -> Graph:
    return Graph(**{"triples": [(0, 0, 1)], "size": 2, **fields})


WRONG: dict[str, tuple[Graph, Any, str]] = {
    "tab": (
        graph(names=("a\tb", "c")),
        None,
        "line ends, in Unicode, got the entity 'a.tb'",
    ),
    "line end": (graph(names=("a", "c\n")), None, "without tabs and line ends"),
    "return": (graph(names=("a", "c\r")), None, "without tabs and line ends"),
    "mark": (graph(names=("\ufeffa", "c")), None, "without tabs and line ends"),
    "surrogate": (graph(names=("a\udcff", "c")), None, "line ends, in Unicode, got the entity"),
    "empty": (graph(names=("", "c")), None, "without tabs and line ends"),
    "relation": (graph(relations=("\t",)), None, "got the relation '.t' in the left graph"),
    "twice": (graph(names=("a", "a")), None, "names that differ, got two times the entity 'a'"),
    "no triples": (Graph(size=2), None, "expected triples in both graphs, got none in the left"),
    "other splits": (graph(), {"train": [(0, 0)], "dev": []}, "^splits: expected train, test and"),
    "no test": (graph(), {"train": [(0, 0)]}, "^splits: expected train, test and perhaps valid"),
    "no pairs": (
        graph(),
        {"train": [], "test": [(0, 0)]},
        r'^splits\["train"\]: expected at least',
    ),
    "other pairs": (
        graph(),
        [{"train": [(0, 0)], "test": [(0, 0), (0, 1)]}],
        r'^splits\["test"\]: expected pairs of the data, got \(0, 1\) in pair 1 of fold 1',
    ),
}


@pytest.mark.parametrize(("left", "splits", "said"), WRONG.values(), ids=WRONG)
def test_data_that_cannot_be_written(left: Graph, splits: Any, said: str, tmp_path: Path) -> None:
    data = AlignmentData(left, graph(), [(0, 0)])
    with pytest.raises(ValueError, match=said):
        write_openea(data, tmp_path / "out", splits=splits)
    assert not (tmp_path / "out").exists()


def test_wrong_arguments_of_the_writer(small: AlignmentData, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^data: expected AlignmentData, got dict"):
        write_openea(cast(Any, {}), tmp_path)
    with pytest.raises(TypeError, match=r"^splits: expected dicts of pairs, got ndarray"):
        write_openea(small, tmp_path, splits=cast(Any, [np.zeros((1, 2))]))
    with pytest.raises(
        ValueError, match=r"^folds: expected the name of a folder, got an empty str"
    ):
        write_openea(small, tmp_path, folds="")
    with pytest.raises(ValueError, match=r"^data: expected at least one pair, got none"):
        write_openea(AlignmentData(graph(), graph(), []), tmp_path)


def test_real_dbp15k_there_and_back(data: Path, tmp_path: Path) -> None:
    read = read_dbp15k(data / "dbp15k_zh_en")
    write_openea(read, tmp_path, splits=split_pairs(read.pairs, "24/6/70", seed=0))
    again = read_openea(tmp_path, 1)
    assert again.left.names == read.left.names
    assert np.array_equal(again.right.triples, read.right.triples)
    assert np.array_equal(again.pairs, read.pairs)
    assert [len(part) for part in again.splits.values()] == [3_600, 900, 10_500]
