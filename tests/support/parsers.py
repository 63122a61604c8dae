"""What parses files: one function for each kind of file, held against rules that all must keep.

`parse` gives the bytes of a file to a parser. It returns what was read, or the error if the file
was refused with one that is promised. Everything else is a fault: another error, a warning, much
memory, values that cannot be, and values that an oracle reads otherwise. The fuzzers in `fuzz` make
files, and a test reads those of `fuzz/corpus`; both use this table.
"""

from __future__ import annotations

import functools
import gzip
import io
import shutil
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import truerank as tr
from support import fact_parsers, list_parsers
from support.environment import ROOT, SANITIZED

CORPUS = ROOT / "fuzz" / "corpus"

MOST_MEMORY = 1 << 28  # bytes that a small file may cost
MOST_SECONDS = 30  # of this process; they take milliseconds
MOST_TEXT = 20_000  # characters of a message

SCORES = np.array([[0.5, 0.25, 0.5, 1], [0, np.inf, -1, 0.5], [2, 1, 0.5, 0.5]])
TARGETS = np.array([0, 3, 2])


class Parser(NamedTuple):
    """How files of a kind are read.

    Attributes
    ----------
    suffix : str
        The end of their names.
    read : callable
        Reads a file and uses what was read; returns it as something with `==`.
    samples : callable
        Returns valid files.
    promised : tuple of types
        The errors that a file may cause.
    has_checksum : bool
        Whether a file that differs from a valid one in a few bytes is refused, or read as the same.
    """

    suffix: str
    read: Callable[[Path], Any]
    samples: Callable[[], list[bytes]]
    promised: tuple[type[Exception], ...] = (tr.InputError,)
    has_checksum: bool = False


def parse(name: str, data: bytes) -> Any:
    """Return what a parser reads from bytes, or the error with which it refuses them.

    Raises
    ------
    Exception
        Any other error, and a warning.
    AssertionError
        For memory, time or a message beyond a limit, and for what the parser itself asserts.
    """
    parser = PARSERS[name]
    path = _folder() / f"file{parser.suffix}"
    path.write_bytes(data)
    started = time.process_time()
    tracing = not SANITIZED and not tracemalloc.is_tracing()
    if tracing:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return parser.read(path)
    except parser.promised as error:
        return check_text(error)
    finally:
        used = tracemalloc.get_traced_memory()[1] - before
        if tracing:
            tracemalloc.stop()
        assert used <= MOST_MEMORY, f"{used:,} bytes of memory for a file of {len(data):,} bytes"
        seconds = time.process_time() - started
        assert seconds <= MOST_SECONDS, f"{seconds:.0f} s for a file of {len(data):,} bytes"
        path.unlink(missing_ok=True)


def check_text(error: Exception) -> Exception:
    """Check that a message can be read, and return the error."""
    text = str(error)
    assert len(text) <= MOST_TEXT, f"a message of {len(text):,} characters: {text[:200]}"
    return error


def corpus_files(name: str) -> list[tuple[str, bytes]]:
    """Return the names and contents of a parser's files in the corpus.

    One whose name begins with "read-" must be read, every other one must be refused. Archives that
    would have more than 2 kB are gzipped: they end in ".npz.gz".
    """
    files = []
    for path in sorted((CORPUS / name).glob("*")):
        data = path.read_bytes()
        files.append((path.name, gzip.decompress(data) if path.name.endswith(".npz.gz") else data))
    return files


@functools.cache
def samples(name: str) -> list[bytes]:
    """Return valid files for a parser."""
    return PARSERS[name].samples()


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def _folder() -> Path:
    """Return a folder of this process, in memory where there is one."""
    if not _FOLDERS:
        memory = Path("/dev/shm")
        _FOLDERS.append(tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None))
    return Path(_FOLDERS[0].name)


def written(write: Callable[[Path], object], suffix: str = ".npz") -> bytes:
    """Return the bytes that a function writes to a path."""
    path = _folder() / f"sample{suffix}"
    path.unlink(missing_ok=True)
    write(path)
    return path.read_bytes()


def npy(array: Any, version: tuple[int, int] | None = None) -> bytes:
    """Return a `.npy` file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), version)
    return stream.getvalue()


def npz(save: Callable[..., None] = np.savez, **arrays: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


def plain(array: Any) -> Any:
    """Return an array as values that can be compared by `==`, NaN included."""
    content = array.tobytes() if array.nbytes < 1 << 20 else array.nbytes
    return str(array.dtype), array.shape, content


def same(a: Any, b: Any) -> bool:
    """Whether arrays are equal to the bit, but for their byte order."""
    a, b = np.asarray(a), np.asarray(b)
    if not a.size:  # numpy makes of text without length one of length 1
        return bool(a.shape == b.shape)
    if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
        return False
    return a.tobytes() == b.astype(a.dtype).tobytes()


def read_by_numpy(data: bytes, name: str | None = None) -> Any:
    """Return what numpy reads, or None if it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.load(io.BytesIO(data), allow_pickle=False)
            return found if name is None else found[name]
    except Exception:  # the oracle may raise anything
        return None


# -- scores ----------------------------------------------------------------------------------------


def _read_scores(path: Path) -> Any:
    with tr.open_scores(str(path)) as store:
        shape = store.shape
        outcomes = [_outcome(store, shape, how) for how in ("map", "read")]
    assert outcomes[0] == outcomes[1], f"io map and read differ: {outcomes}"
    array = _scores_by_numpy(path)
    if array is not None and array.dtype.kind in "iuf" and array.ndim == 2:
        assert array.shape == shape, f"numpy reads the shape {array.shape}, not {shape}"
        expected = _outcome(array, shape)
        assert outcomes[0] == expected, f"in memory: {expected}, in the file: {outcomes[0]}"
    return shape, outcomes[0]


def _outcome(scores: Any, shape: tuple[int, ...], how: str | None = None) -> Any:
    """Return counts, or the kind of error, whose text speaks of a file or of an array."""
    keywords = {} if how is None else {"io": how}
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


def _scores_by_numpy(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix == ".npy":
        return read_by_numpy(data)
    found = read_by_numpy(data)
    if not isinstance(found, np.lib.npyio.NpzFile):
        return None
    return read_by_numpy(data, found.files[0] if len(found.files) == 1 else "scores")


def _score_files() -> list[bytes]:
    integers = np.arange(12, dtype=">i8").reshape(3, 4)
    files = [npy(array) for array in (SCORES, SCORES[0], np.asfortranarray(SCORES), integers)]
    return [*files, npy(SCORES, (2, 0)), npy(SCORES.astype("f2"), (3, 0))]


def _score_archives() -> list[bytes]:
    return [npz(scores=SCORES), npz(scores=SCORES, other=TARGETS), npz(x=SCORES.astype("f4"))]


# -- the files that stand beside scores ------------------------------------------------------------


def _read_side_array(path: Path) -> Any:
    """Read targets, rows, candidates, weights or vectors as the command line does."""
    from truerank.cli.files import read_array

    array = read_array("targets", str(path))
    expected = read_by_numpy(path.read_bytes())
    assert expected is None or same(array, expected), f"numpy reads {expected!r}, not {array!r}"
    for call in (
        lambda: tr.rank(SCORES, array, nan="worst"),
        lambda: tr.rank(SCORES, TARGETS, rows=array),
        lambda: tr.rank(SCORES, TARGETS, candidates=array),
        lambda: tr.Ranks([0, 1], [1, 1], 4, weights=array),
        lambda: tr.rank_embeddings(array, array, TARGETS, similarity="dot"),
        lambda: tr.link_prediction.Task([[0, 0, 1]], known=array, entities=3),
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


def _side_arrays() -> list[bytes]:
    arrays = [TARGETS, TARGETS.astype(">i4"), np.arange(3.0), np.eye(3), np.zeros((0, 3), "i8")]
    return [npy(array) for array in (*arrays, np.array([[0, 0, 1], [1, 0, 2]]), np.array(["a"]))]


def _read_selection(path: Path) -> Any:
    from truerank.cli.files import read_candidates, read_selection

    found = read_selection("filter", str(path))
    _use(lambda: tr.rank(SCORES, TARGETS, filter=found))
    candidates = read_candidates("candidates", str(path))
    _use(lambda: tr.rank(SCORES, TARGETS, candidates=candidates))
    return [plain(array) for array in found]


def _selection_files() -> list[bytes]:
    lists = {"indptr": np.array([0, 1, 1, 3]), "indices": np.array([2, 0, 1])}
    shared = {**lists, "lists": np.array([2, 1, 0])}
    matrix = {**lists, "format": np.array(b"csr"), "shape": np.array([3, 4]), "data": np.ones(3)}
    files = [npz(**lists), npz(**shared), npz(**matrix)]
    return [*files, *(npz(np.savez_compressed, **some) for some in (lists, matrix))]


def _read_names(path: Path) -> list[str]:
    from truerank.cli.files import read_names

    return read_names("--entity-labels", str(path))


def _name_files() -> list[bytes]:
    return [b"Wien\nGraz\n", b"\xef\xbb\xbfa\r\nb\r\n", "Zürich\n\u4e2d\n".encode(), b"0\n1\n2"]


# -- archives --------------------------------------------------------------------------------------


def _read_ranks(path: Path) -> Any:
    ranks = tr.load(path)
    content = checked(ranks), repr(ranks)
    again = path.with_name("again.npz")
    ranks.save(again)
    assert tr.load(again) == ranks
    if len(ranks):
        for kind in ("optimistic", "pessimistic", "realistic"):
            assert (getattr(ranks, kind) >= 1).all()
        by = ranks.relation is not None
        _use(lambda: tr.report(ranks, by="relation" if by else None).to_json(["mr", "hits@10"]))
    return content, written(ranks.save)


def _ranks_files() -> list[bytes]:
    simple = tr.Ranks([0, 1], [1, 2], 10)
    facts = {"side": ["head", "tail", "tail"], "relation": [3, 3, 1], "weights": [0.5, 1, 2]}
    labelled = tr.Ranks([0, 3, 2], [1, 1, 2], [9, 9, 12], **facts)
    audited = tr.rank(SCORES, TARGETS, audit=True, filter=[[1], [], [0]])
    return [written(ranks.save) for ranks in (simple, labelled, audited)]


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


def _counter_files() -> list[bytes]:
    rows = np.arange(3)
    whole = tr.RankCounter(SCORES[rows, TARGETS], TARGETS, candidates=4, filter=[[1], [], [0]])
    whole.update(SCORES[:, :2], start=0)
    finished = tr.RankCounter(SCORES[rows, TARGETS].astype("f4"), TARGETS, candidates=4, audit=True)
    finished.update(SCORES.astype("f4"), start=0)
    shared = tr.RankCounter([0.5, 1.0], [0, 3], candidates=4, rows=[0, 0], nan="worst")
    sampled = tr.RankCounter([0.5, 2.0], order="ascending")
    sampled.update([[0.1, 0.5], [3.0, 1.0]])
    return [written(counter.save) for counter in (whole, finished, shared, sampled)]


# Counts of whole rows, and of tiles of some columns each, whose checkpoints differ.
_COUNTS: tuple[tuple[Any, int, dict[str, Any]], ...] = (
    (SCORES, 1 << 20, {}),
    (np.asfortranarray(SCORES), 48, {"filter": [[1], [], [0]], "audit": True}),
)


def _count_with_checkpoint(path: Path, number: int) -> tr.Ranks:
    scores, tile_bytes, keywords = _COUNTS[number]
    with mock.patch("truerank.counting.tiles.TILE_BYTES", tile_bytes):
        return tr.rank(scores, TARGETS, checkpoint=path, **keywords)


def _read_checkpoint(path: Path) -> Any:
    """Go on with a count. Only a repaired CRC can make its counts other ones."""
    data = path.read_bytes()
    error: Exception | None = None
    for number in range(len(_COUNTS)):
        path.write_bytes(data)
        try:
            return number, checked(_count_with_checkpoint(path, number))
        except tr.InputError as refused:
            assert path.read_bytes() == data, "a checkpoint that was refused has changed"
            error = error if error is not None and "of another count" in str(refused) else refused
    assert error is not None
    raise error


def _checkpoint_files() -> list[bytes]:
    counts = range(len(_COUNTS))
    return [written(lambda path, n=n: _count_with_checkpoint(path, n)) for n in counts]  # type: ignore[misc]


# -- text ------------------------------------------------------------------------------------------


def _plain_rows(path: Path) -> list[list[str]]:
    """Read lines of fields, the plain way."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return [line.split("\t") for line in lines if line.strip(" ")]


def _read_triples(path: Path) -> Any:
    found = tr.link_prediction.read_triples(path)
    rows = _plain_rows(path)
    words = [
        [found.entities[head], found.relations[relation], found.entities[tail]]
        for head, relation, tail in found.ids[:, :3].tolist()
    ]
    assert words == [row[:3] for row in rows], f"plain reading gives {rows}, not {words}"
    _use(lambda: tr.link_prediction.Task(path, duplicates="drop"))
    return words


def _read_id_triples(path: Path) -> Any:
    """Read text as ids, of which there is a number."""
    found = tr.link_prediction.read_triples(path, entities=1000, relations=100)
    rows = [list(map(int, row[:3])) for row in _plain_rows(path)]
    assert found.ids[:, :3].tolist() == rows, f"plain reading gives {rows}, not {found.ids}"
    return rows


def _read_stored_ids(path: Path) -> Any:
    found = tr.link_prediction.read_triples(path, entities=1000, relations=100)
    expected = read_by_numpy(path.read_bytes())
    assert expected is None or np.array_equal(found.ids, expected)
    _use(lambda: tr.alignment.Task(path, left=1000, right=1000))
    return found.ids.tolist()


def _stored_ids() -> list[bytes]:
    triples = np.array([[0, 0, 1], [1, 0, 2]])
    return [npy(triples), npy(np.asfortranarray(triples, ">i4")), npy(np.zeros((0, 3), "u1"))]


def _triple_files() -> list[bytes]:
    labels = b"a\tr\tb\nb\tr\ta\na\ts\ta\n"
    return [labels, b"\xef\xbb\xbf" + labels.replace(b"\n", b"\r\n"), b"a\tr\tb\tx\nc\tr\tb\ty"]


def _id_triple_files() -> list[bytes]:
    return [b"0\t0\t1\n1\t0\t2\n", b"7\t3\t7\n\n8\t0\t999"]


def _gzipped(files: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    return lambda: [gzip.compress(data, mtime=0) for data in files()]


def _read_pairs(path: Path) -> Any:
    found = tr.alignment.read_pairs(path)
    names = found.left.names, found.right.names
    assert names[0] is not None
    assert names[1] is not None
    words = [[names[0][a], names[1][b]] for a, b in found.pairs.tolist()]
    rows = list(map(list, dict.fromkeys(map(tuple, _plain_rows(path)))))
    assert words == rows, f"plain reading gives {rows}, not {words}"
    _use(lambda: tr.alignment.Task(path, left=names[0], right=names[1], duplicates="drop"))
    return words


def _pair_files() -> list[bytes]:
    return [b"Wien\tVienna\nGraz\tGraz\n", b"a\tA\r\n\r\nb\tB\r\n", "Köln\tCologne".encode()]


_OPENEA = {"ent_links": "a\tA\nb\tB\n", "rel_triples_1": "b\tr\ta\n", "rel_triples_2": "B\tr\tA\n"}


def _read_openea(path: Path) -> Any:
    """Read a data set one of whose files comes from the fuzzer; its first line says which."""
    folder = path.with_name("openea")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in _OPENEA.items():
        folder.joinpath(name).write_text(text)
    title, _, content = path.read_bytes().partition(b"\n")
    names = [
        name
        for name in ("ent_links", "rel_triples_1", "rel_ids_1")
        if title.strip() == name.encode()
    ]
    folder.joinpath(*names or ["ent_ids_1"]).write_bytes(content)
    found = tr.alignment.read_openea(folder)
    return repr(found), found.pairs.tolist(), found.left.triples.tolist()


def _openea_files() -> list[bytes]:
    ids = b"ent_ids_1\n0\ta\n1\tb\n2\tc\n"
    files = [f"{name}\n{text}".encode() for name, text in list(_OPENEA.items())[:2]]
    return [*files, ids, b"rel_ids_1\n0\tr\n1\ts\n"]


# -- reports ---------------------------------------------------------------------------------------


def _read_report(path: Path) -> Any:
    report = tr.Report.from_json(path.read_text("utf-8", "replace"))
    text = report.to_json()
    assert tr.Report.from_json(text) == report, "a report differs from what it wrote"
    values = {key: report[key] for key in report}
    repr(report), report.audit(), list(report.groups)
    for write in (report.to_markdown, report.to_latex, report.to_csv, report._repr_html_):
        _use(write)
    return repr(values), text


def _report_files() -> list[bytes]:
    labels = {"side": ["head", "tail", "tail"], "relation": ["x", "x", "y"]}
    ranks = tr.Ranks([0, 3, 2], [1, 1, 2], 9, **labels)
    keys = ["mr", "mrr", "hits@10", "amri", "tail.optimistic.mr", "macro.mrr"]
    grouped = tr.report(ranks, by="relation").to_json(keys)
    small = tr.report(tr.Ranks([0, 3], [1, 1], 10)).to_json(["mr", "optimistic.hits@1"])
    empty = tr.report(tr.Ranks([], [], 10)).to_json(["mr"])
    audited = tr.report(tr.rank(SCORES, TARGETS, audit=True)).to_json(["mrr"])
    return [text.encode() for text in (grouped, small, empty, audited)]


# --------------------------------------------------------------------------------------------------

_TEXT_ERRORS = (tr.InputError, OSError)  # OSError: a damaged gzip file

PARSERS: Mapping[str, Parser] = {
    "scores_npy": Parser(".npy", _read_scores, _score_files),
    "scores_npz": Parser(".npz", _read_scores, _score_archives),
    "side_npy": Parser(".npy", _read_side_array, _side_arrays),
    "selection": Parser(".npz", _read_selection, _selection_files),
    "names": Parser(".txt", _read_names, _name_files),
    "ranks": Parser(".npz", _read_ranks, _ranks_files, has_checksum=True),
    "counter": Parser(".npz", _read_counter, _counter_files, has_checksum=True),
    "checkpoint": Parser(".npz", _read_checkpoint, _checkpoint_files, has_checksum=True),
    "triples": Parser(".tsv", _read_triples, _triple_files),
    "triples_gz": Parser(
        ".tsv.gz", _read_triples, _gzipped(_triple_files), _TEXT_ERRORS, has_checksum=True
    ),
    "id_triples": Parser(".tsv", _read_id_triples, _id_triple_files),
    "id_npy": Parser(".npy", _read_stored_ids, _stored_ids),
    "pairs": Parser(".tsv", _read_pairs, _pair_files),
    "openea": Parser(".txt", _read_openea, _openea_files),
    "report": Parser(".json", _read_report, _report_files),
    "run": Parser(".txt", list_parsers.read_run_file, list_parsers.run_files),
    "json_lists": Parser(".json", list_parsers.read_json_file, list_parsers.json_files),
    "predictions": Parser(".txt", list_parsers.read_prediction_file, list_parsers.prediction_files),
    "queries": Parser(".jsonl", fact_parsers.read_query_file, fact_parsers.query_files),
    "statements": Parser(".txt", fact_parsers.read_statement_file, fact_parsers.statement_files),
    "json_statements": Parser(
        ".jsonl", fact_parsers.read_json_statement_file, fact_parsers.json_statement_files
    ),
}
