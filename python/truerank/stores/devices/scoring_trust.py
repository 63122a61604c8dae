"""Whether a device scores vectors with the bits of the core: tried there before it is used."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from .source import TaskRows
from .vector_scores import VectorScores

if TYPE_CHECKING:
    import numpy.typing as npt

    from .source import Tensor

    Array = npt.NDArray[Any]

_SIZES, _DEPTH = (40, 72), 18
# 2 to these is the least positive number, and the least that is too large.
_EXPONENTS = {"float32": (-149, 128), "float64": (-1074, 1024)}


@lru_cache(maxsize=256)
def distrust(device: Any, similarity: str, dtype: str) -> str:
    """Return the reason why a device cannot score vectors by Triton; empty if it can.

    Some thousands of hard pairs are scored there, once for each similarity and dtype, and counted.
    Every bit has to be that of the core.

    Parameters
    ----------
    device : torch.device
    similarity : str
    dtype : {"float32", "float64"}
        That of the scores.
    """
    try:
        with sys.modules["torch"].inference_mode(), np.errstate(all="ignore"):
            return _difference(device, similarity, dtype)
    except Exception as error:  # of any compiler or driver: the host can score
        return f"{type(error).__name__}: {error}"


def _difference(device: Any, similarity: str, dtype: str) -> str:
    """Say which scores of hard pairs differ from those of the core, if any do."""
    torch = sys.modules["torch"]
    queries, entities = hard_vectors(similarity, dtype)
    rng = np.random.default_rng(1)
    bias = np.ldexp(rng.normal(size=len(entities)), rng.integers(-30, 2, len(entities)))
    additions = [x.astype(dtype) for x in (bias, *(rng.normal(size=n) for n in _SIZES))]
    narrow = torch.from_numpy(entities).to(torch.bfloat16)
    raw = _core.Scores(narrow.view(torch.int16).numpy(), "bfloat16", False)
    plain, left = (_core.Scores(x, dtype, False) for x in (entities, queries))

    def there(x: Any) -> Tensor:
        tensor = x if isinstance(x, torch.Tensor) else torch.from_numpy(x)
        return torch.empty_like(tensor, device=device).copy_(tensor)

    on_device = [there(x) for x in additions]
    q = there(queries)
    cases = {
        "": (
            VectorScores(q, there(entities), similarity),
            _core.Embeddings(left, plain, similarity),
        ),
        "of bfloat16 with a bias and means": (
            VectorScores(q, there(narrow), similarity, on_device[0], (on_device[1], on_device[2])),
            _core.Embeddings(left, raw, similarity, additions[0], (additions[1], additions[2])),
        ),
    }
    for words, (source, embeddings) in cases.items():
        expected = _core.score_embeddings(embeddings, None, None, 1)
        if wrong := _wrong(source, expected):
            return f"{wrong} of {similarity} in {dtype} {words}".rstrip()
    return ""


def _wrong(source: VectorScores, expected: Array) -> str:
    """Name what differs from the core's scores: those of tiles or of pairs, or counts."""
    rows = np.arange(len(expected))
    all_rows = TaskRows(rows, source.upload(rows))
    width = expected.shape[1]
    tiles = source.block(all_rows, slice(0, width)).to("cpu").numpy()
    columns = rows * 7 % width
    pairs = source.pairs(all_rows.device, source.upload(columns)).to("cpu").numpy()
    if not (same_bits(tiles, expected) and same_bits(pairs, expected[rows, columns])):
        return "scores"
    tasks = np.repeat(rows, 1 + rows % 3)
    true = expected[tasks, np.arange(len(tasks)) * 5 % width]
    task_rows = TaskRows(tasks, source.upload(tasks))
    true_there = source.pairs(task_rows.device, source.upload(np.arange(len(tasks)) * 5 % width))
    found = source.scan(task_rows, true_there, slice(0, width)).to("cpu").numpy()
    scores = expected[tasks]
    counts = (scores > true[:, None], scores == true[:, None], np.isnan(scores))
    return "" if (found == np.stack([x.sum(axis=1) for x in counts])).all() else "counts"


def same_bits(a: Array, b: Array) -> bool:
    """Whether all bits are the same, except that any NaN equals any other."""
    unsigned = f"u{a.dtype.itemsize}"
    return bool(((a.view(unsigned) == b.view(unsigned)) | (np.isnan(a) & np.isnan(b))).all())


def hard_vectors(similarity: str, dtype: str) -> tuple[Array, Array]:
    """Make queries and entities whose scores tell how a device rounds.

    Components are of like and of unlike magnitudes, down to the subnormal ones. There are sums and
    differences that cancel, overflow or underflow, zeros of either sign, infinities and NaN.
    """
    rng = np.random.default_rng(0)
    least, most = _EXPONENTS[dtype]
    half = -least // 2
    vectors = []
    for size in _SIZES:
        x = rng.normal(size=(size, _DEPTH))
        x[4:8] = np.ldexp(x[4:8], rng.integers(-half, half - 30, (4, _DEPTH)))
        x[8:12] = np.ldexp(x[8:12], rng.integers(-8, 8, (4, _DEPTH)))
        x[12:15] = np.ldexp(x[12:15], np.array([[-half], [least + 20], [most - 6]]))
        x[15] = np.ldexp(rng.integers(-9, 9, _DEPTH).astype(float), least)
        x[16] = rng.choice([0.0, -0.0], _DEPTH)
        x[17, ::5], x[18, ::7], x[19, 3] = np.inf, -np.inf, np.nan
        if similarity == "poincare":  # within the unit ball, up to its very surface
            x[20:] /= np.sqrt((x[20:] ** 2).sum(axis=1, keepdims=True))
            x[20:] *= 1 - np.ldexp(1.0, -rng.integers(1, 50, size - 20))[:, None]
            x[:20] *= 0.1
        vectors.append(x.astype(dtype))
    queries, entities = vectors
    entities[20:24] = queries[20:24]
    entities[24:30] = np.nextafter(queries[24:30], queries.dtype.type(np.inf))
    # A product with these cancels, all but what its roundings leave.
    pairs = queries[30:36].reshape(6, -1, 2)[:, :, ::-1] * np.array([1, -1], dtype)
    entities[30:36] = pairs.reshape(6, -1)
    return queries, entities
