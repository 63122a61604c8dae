"""What parses files: one function for each kind of file, held against rules that all must keep.

`parse` gives the bytes of a file to a parser. It returns what was read, or the error if the file
was refused with one that is promised. Everything else is a fault: another error, a warning, much
memory, values that cannot be, and values that an oracle reads otherwise. The fuzzers in `fuzz` make
files, and a test reads those of `fuzz/corpus.zip`; both use this table.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import truerank as tr
from support.environment import ROOT, SANITIZED
from support.interruptions import allocating_at_most
from truerank.link_prediction import Task
from truerank.stores import index_files

CORPUS = ROOT / "fuzz" / "corpus.zip"

MOST_MEMORY = 1 << 28  # A small file may cost so many bytes.
MOST_SECONDS = 30  # Files take milliseconds of this process.
MOST_TEXT = 20_000  # A message may have so many characters.

SCORES = np.array([[0.5, 0.25, 0.5, 1], [0, np.inf, -1, 0.5], [2, 1, 0.5, 0.5]])
TARGETS = np.array([0, 3, 2])


class Parser(NamedTuple):
    """How files of a kind are read: `read` uses what was read, and returns what has `==`."""

    suffix: str
    read: Callable[[Path], Any]
    promised: tuple[type[Exception], ...] = (tr.InputError,)
    has_checksum: bool = False  # a damaged file is refused, or read as the same


def parse(name: str, data: bytes) -> Any:
    """Return what a parser reads from bytes, or the error with which it refuses them."""
    parser = PARSERS[name]
    path = _folder() / f"file{parser.suffix}"
    path.write_bytes(data)
    limit = contextlib.nullcontext() if SANITIZED else allocating_at_most(MOST_MEMORY)
    started = time.process_time()
    try:
        with limit, warnings.catch_warnings():
            warnings.simplefilter("error")
            return parser.read(path)
    except parser.promised as error:
        return check_text(error)
    finally:
        seconds = time.process_time() - started
        assert seconds <= MOST_SECONDS, f"{seconds:.0f} s for a file of {len(data):,} bytes"
        path.unlink(missing_ok=True)


def check_text(error: Exception) -> Exception:
    """Check that a message can be read, and return the error."""
    text = str(error)
    assert len(text) <= MOST_TEXT, f"a message of {len(text):,} characters: {text[:200]}"
    return error


@functools.cache
def corpus_files(name: str) -> list[tuple[str, bytes]]:
    """Return the names and contents of a parser's files in the corpus.

    One whose name begins with "read-" must be read, every other one must be refused.
    """
    with zipfile.ZipFile(CORPUS) as archive:
        members = [member for member in archive.namelist() if member.startswith(f"{name}/")]
        return [(member.removeprefix(f"{name}/"), archive.read(member)) for member in members]


def samples(name: str) -> list[bytes]:
    """Return a parser's files that must be read."""
    return [data for file, data in corpus_files(name) if file.startswith("read-")]


# A folder of this process, in memory where there is one.
_TEMPORARY = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def _folder() -> Path:
    return Path(_TEMPORARY.name)


def written(write: Callable[[Path], object]) -> bytes:
    """Return the bytes that a function writes to a path."""
    path = _folder() / "sample.npz"
    path.unlink(missing_ok=True)
    write(path)
    return path.read_bytes()


def plain(array: Any) -> Any:
    """Return an array as values that can be compared by `==`, NaN included."""
    content = array.tobytes() if array.nbytes < 1 << 20 else array.nbytes
    return str(array.dtype), array.shape, content


def same(a: Any, b: Any) -> bool:
    """Whether arrays are equal to the bit, but for their byte order."""
    a = np.asarray(a)
    b = np.asarray(b)
    if not a.size:  # numpy makes of text without length one of length 1.
        return bool(a.shape == b.shape)
    if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
        return False
    return a.tobytes() == b.astype(a.dtype).tobytes()


def read_by_numpy(data: bytes) -> Any:
    """Return what numpy reads, of an archive its only member, or None if it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = np.load(io.BytesIO(data), allow_pickle=False)
            if isinstance(content, np.ndarray):
                return content
            return content[content.files[0] if len(content.files) == 1 else "scores"]
    except Exception:  # The oracle may raise anything.
        return None


def _read_scores(path: Path) -> Any:
    with tr.open_scores(str(path)) as store:
        shape = store.shape
        outcomes = [_outcome(store, shape, io=io) for io in ("map", "read")]
    assert outcomes[0] == outcomes[1], f"io map and read differ: {outcomes}"
    array = read_by_numpy(path.read_bytes())
    if array is not None and array.dtype.kind in "iuf" and array.ndim == 2:
        assert array.shape == shape, f"numpy reads the shape {array.shape}, not {shape}"
        expected = _outcome(array, shape)
        assert outcomes[0] == expected, f"in memory: {expected}, in the file: {outcomes[0]}"
    return shape, outcomes[0]


def _outcome(scores: Any, shape: tuple[int, ...], **keywords: Any) -> Any:
    """Return counts, or the kind of error, whose text speaks of a file or of an array."""
    try:
        ranks = tr.rank(scores, min(1, shape[1] - 1), nan="worst", **keywords)
    except tr.InputError as error:
        return type(check_text(error))
    return checked(ranks)


def checked(ranks: tr.Ranks) -> Any:
    """Check what holds for all ranks, and return the counts."""
    for name in ("above", "tied", "candidates"):
        assert getattr(ranks, name).dtype == np.int64
    counts = ranks.above.tolist(), ranks.tied.tolist(), ranks.candidates.tolist()
    for a, t, n in zip(*counts, strict=True):
        assert 0 <= a < a + t <= n, f"{a} above and {t} tied of {n} candidates"
    return counts


def _read_side_array(path: Path) -> Any:
    """Read targets, rows, candidates, weights or vectors as the command line does."""
    from truerank.cli.options import read_array

    array = read_array("targets", str(path))
    expected = read_by_numpy(path.read_bytes())
    assert expected is None or same(array, expected), f"numpy reads {expected!r}, not {array!r}"
    for call in (
        lambda: tr.rank(SCORES, array, nan="worst"),
        lambda: tr.rank(SCORES, TARGETS, rows=array),
        lambda: tr.rank(SCORES, TARGETS, candidates=array),
        lambda: tr.Ranks([0, 1], [1, 1], 4, weights=array),
        lambda: tr.rank_embeddings(array, array, TARGETS, similarity="dot"),
        lambda: Task([[0, 0, 1]], known=array, entities=3),
        lambda: tr.alignment.Task([[0, 1]], known=array, left=3, right=3),
    ):
        _use(call)
    return plain(array)


def _use(call: Callable[[], Any]) -> None:
    """Let what was read meet the functions that take it: they may refuse it, as promised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            call()
        except tr.InputError as error:
            check_text(error)


def _read_selection(path: Path) -> Any:
    from truerank.cli.options import parse_candidates, read_selection

    found = read_selection("filter", str(path))
    _use(lambda: tr.rank(SCORES, TARGETS, filter=found))
    candidates = parse_candidates("candidates", str(path))
    _use(lambda: tr.rank(SCORES, TARGETS, candidates=candidates))
    if not isinstance(found, tuple):
        found = found.indptr, found.indices, np.array(found.shape)
    return [plain(array) for array in found]


def _read_names(path: Path) -> list[str]:
    from truerank.cli import options

    return options.read_names("--labels entities", str(path))


def _read_ranks(path: Path) -> Any:
    ranks = tr.load(path)
    content = checked(ranks), repr(ranks)
    again = path.with_name("again.npz")
    ranks.save(again)
    assert tr.load(again) == ranks
    if len(ranks):
        for kind in ("optimistic", "pessimistic", "realistic"):
            assert (getattr(ranks, kind) >= 1).all()
        by = None if ranks.relation is None else "relation"
        _use(lambda: tr.report(ranks, by=by).to_json(["mr", "hits@10"]))
    return content, written(ranks.save)


def _read_counter(path: Path) -> Any:
    counter = tr.RankCounter.load(path)
    again = path.with_name("again.npz")
    counter.save(again)
    assert again.read_bytes() == written(tr.RankCounter.load(again).save)
    content = repr(counter), again.read_bytes()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "true_scores: ")
        _use(lambda: checked(counter.ranks()))
        _use(lambda: counter.update(SCORES, start=0))
        _use(lambda: checked(counter.ranks()))
    return content


# Whole rows are counted, and tiles of some columns each, whose checkpoints differ.
_COUNTS: tuple[tuple[Any, int, dict[str, Any]], ...] = (
    (SCORES, 1 << 20, {}),
    (np.asfortranarray(SCORES), 48, {"filter": [[1], [], [0]], "audit": True}),
)


def _count_with_checkpoint(path: Path, number: int) -> tr.Ranks:
    scores, tile_bytes, keywords = _COUNTS[number]
    with mock.patch("truerank.counting.driver.TILE_BYTES", tile_bytes):
        ranks = tr.rank(scores, TARGETS, checkpoint=path, **keywords)
    assert ranks.candidates.max() <= 5  # A file may say that a target was no target.
    return ranks


def _read_checkpoint(path: Path) -> Any:
    """Go on with a count. Only a repaired CRC can make its counts other ones."""
    data = path.read_bytes()
    error: Exception | None = None
    for number in range(len(_COUNTS)):
        path.write_bytes(data)
        try:
            return number, checked(_count_with_checkpoint(path, number))
        except tr.InputError as refused:
            # If its tiles say that a true score changed, the file was a checkpoint until the
            # count's end.
            went_on = "changed while it was ranked" in str(refused)
            assert went_on or path.read_bytes() == data, "a refused checkpoint has changed"
            if error is None or "to another count" not in str(refused):
                error = refused
    assert error is not None
    raise error


def _plain_rows(path: Path) -> list[list[str]]:
    """Read lines of fields, the plain way."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    lines = [line.removesuffix("\r") for line in data.decode("utf-8-sig").split("\n")]
    return [[field.strip(" ") for field in line.split("\t")] for line in lines if line.strip(" ")]


def _plain_triples(path: Path) -> list[list[str]]:
    """Read the rows of triples; those of OpenKE stand below a count, in another order."""
    rows = _plain_rows(path)
    if rows and len(rows[0]) == 1:
        swapped = [" ".join(row).split() for row in rows[1:]]
        rows = [[head, relation, tail] for head, tail, relation in swapped]
    return [row[:3] for row in rows]


def _triples_of(path: Path, **options: Any) -> Any:
    """Read triples; a count above them is no warning here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*the first line is a count")
        return tr.link_prediction.read_triples(path, **options)


def _read_triples(path: Path) -> Any:
    found = _triples_of(path)
    rows = _plain_triples(path)
    words = [
        [found.entities[head], found.relations[relation], found.entities[tail]]
        for head, relation, tail in found.ids[:, :3].tolist()
    ]
    assert words == rows, f"plain reading gives {rows}, not {words}"
    _use(lambda: Task(path, duplicates="drop"))
    return words


def _read_id_triples(path: Path) -> Any:
    """Read text as ids, of which there is a number."""
    found = _triples_of(path, entities=1000, relations=100)
    rows = [list(map(int, row)) for row in _plain_triples(path)]
    assert found.ids[:, :3].tolist() == rows, f"plain reading gives {rows}, not {found.ids}"
    return rows


def _read_stored_ids(path: Path) -> Any:
    found = tr.link_prediction.read_triples(path, entities=1000, relations=100)
    expected = read_by_numpy(path.read_bytes())
    # They are compared as rows: a split without rows has no width of its own.
    assert expected is None or found.ids.tolist() == expected.tolist()
    _use(lambda: tr.alignment.Task(path, left=1000, right=1000))
    return found.ids.tolist()


def _read_pairs(path: Path) -> Any:
    rows: list[list[str]] = []
    with contextlib.suppress(UnicodeDecodeError):  # The package says so itself.
        rows = list(map(list, dict.fromkeys(map(tuple, _plain_rows(path)))))
    pairs = [row for row in rows if len(row) == 2]
    left, right = (sorted({row[j] for row in pairs}) or ["a"] for j in (0, 1))
    task = tr.alignment.Task(path, left=left, right=right, duplicates="drop")
    words = [[left[a], right[b]] for a, b in task.pairs.tolist()]
    assert words == rows, f"plain reading gives {rows}, not {words}"
    return words


def _read_lists(lists: Any) -> Any:
    """Return what was read, after it was ranked; a list's entries are found by name."""
    answers = {query: list(lists[query])[:1] for query in lists.queries}
    if len(lists.ids):
        task = tr.retrieval.Task(answers, entities=len(lists.names) + 1)
        found = task.evaluate_lists(lists, nan="worst", order="descending")
        assert len(found.ranks) == len(answers) - found.without_answers
    return [(query, repr(lists[query])) for query in lists.queries]


def _read_qrels(path: Path) -> Any:
    """Return what was read, whose grades are finite and of pairs that each occur once."""
    qrels = tr.read_qrels(path)
    assert np.isfinite(qrels.relevance).all()
    rows = list(zip(qrels.queries, qrels.documents, qrels.relevance.tolist(), strict=True))
    assert len({row[:2] for row in rows}) == len(rows)
    return rows


def _read_vectors(path: Path) -> Any:
    """Read vectors mapped and read; as embeddings they give what their array gives."""
    of_bin = index_files.bin_dtype(None)
    mapped = index_files.map_matrix("vectors", str(path), "map", of_bin)
    assert same(mapped, index_files.map_matrix("vectors", str(path), "read", of_bin))
    if mapped.shape[1] < 1000:
        query = np.zeros((1, mapped.shape[1]), mapped.dtype)
        by_path, by_array = (
            tr.topk_embeddings(query, vectors, 2, similarity="sql2", nan="worst")
            for vectors in (path, np.array(mapped))
        )
        assert by_path.ids.tolist() == by_array.ids.tolist()
    return plain(mapped)


def _read_lists_of_ids(path: Path) -> Any:
    return plain(index_files.read_ids("found", str(path)))


def _read_top(path: Path) -> Any:
    facts, arrays = index_files.load_top("parts", str(path))
    return facts, {name: plain(array) for name, array in arrays.items()}


_TEXT_ERRORS = (tr.InputError, OSError)  # A damaged gzip file is an OSError.

PARSERS: Mapping[str, Parser] = {
    "scores_npy": Parser(".npy", _read_scores),
    "scores_npz": Parser(".npz", _read_scores),
    "side_npy": Parser(".npy", _read_side_array),
    "selection": Parser(".npz", _read_selection),
    "names": Parser(".txt", _read_names),
    "ranks": Parser(".npz", _read_ranks, has_checksum=True),
    "counter": Parser(".npz", _read_counter, has_checksum=True),
    "checkpoint": Parser(".npz", _read_checkpoint, has_checksum=True),
    "triples": Parser(".tsv", _read_triples),
    "triples_gz": Parser(".tsv.gz", _read_triples, _TEXT_ERRORS, has_checksum=True),
    "id_triples": Parser(".tsv", _read_id_triples),
    "id_npy": Parser(".npy", _read_stored_ids),
    "pairs": Parser(".tsv", _read_pairs),
    "run": Parser(".txt", lambda path: _read_lists(tr.read_run(path))),
    "qrels": Parser(".txt", _read_qrels),
    "vectors_of_rows": Parser(".fvecs", _read_vectors),
    "vectors_of_whole": Parser(".u8bin", _read_vectors),
    "vectors_of_diskann": Parser(".bin", _read_vectors),
    "lists_of_ids": Parser(".bin", _read_lists_of_ids),
    "top": Parser(".npz", _read_top, has_checksum=True),
}
