"""Arrays that users hand over, of torch too: checked, read-only, in the host's memory.

Scores become a view for the core, without a copy. Frames and Series of pandas, polars and Dask,
tables of Arrow and arrays of xarray come in here, too: their names are compared, and never lost. No
library of tensors or frames is imported: a program that has not imported it has none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Scores
from ..errors import InputError, InputTypeError, InputValueError, Option
from .checks import MOST_ENTRIES, T, check_length, check_size, is_integer, is_iterable, is_sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray

# What messages call names of each kind, and where users find those of columns.
_NOUNS = {"index": "an index", "rows": "rows", "first": "rows"}
_NOUNS |= {"columns": "columns", "fields": "columns", "last": "columns"}
_COLUMNS = {"columns": "{}.columns", "fields": "{}.column_names", "last": "{}"}
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = FLOATS + INTEGERS
# Only vectors may be complex numbers; each has the dtype of its parts here.
PARTS = {"complex64": "float32", "complex128": "float64"}
# 16-bit floats may also come as raw bytes, or as integers with the same bits.
NARROW = ("bfloat16", "float16")
_RAW_BITS = ("int16", "uint16", "void16")
_EXACT = 1 << 53  # Integers below it are floats of 64 bits.
# numpy reads an array by one of these, where there is DLPack as well.
_HOST = 1  # DLPack's number of the processor's memory
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")
# Most dtypes are in the machine's own byte order, and are recognized by one look-up.
_NATIVE_NAMES = {np.dtype(name): name for name in DTYPES if name != "bfloat16"}
_INT64 = np.dtype(np.int64)  # numpy has a single object of it.


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def device_name(value: Any) -> str:
    """Return the name of the device that a tensor is on; empty for all others."""
    if not is_tensor(value) or value.is_cpu:
        return ""
    return str(value.device)


def on_host(value: Any, name: str = "array") -> Any:
    """Copy a tensor on a device to the host's memory; return anything else as it is."""
    if not device_name(value):
        return value
    return dense_tensor(value, name).to("cpu")


def dense_tensor(tensor: Any, name: str) -> Any:
    """Return a tensor without its gradient; refuse one that is not dense or has no data."""
    torch = sys.modules["torch"]
    kind = type(tensor).__name__
    has_no_numbers = (
        kind in ("FakeTensor", "DTensor")
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or tensor.is_meta
        or tensor.is_nested
        or tensor.is_quantized
        or tensor.layout is not torch.strided
    )
    if has_no_numbers:
        words = "not sparse, nested, quantized, distributed, on meta, fake or within torch.vmap"
        raise InputTypeError(name, expected=f"a dense tensor of numbers ({words})", got=kind)
    return tensor.detach()


def tensor_array(tensor: Any, name: str) -> tuple[npt.NDArray[Any], str | None]:
    """View a tensor as a numpy array, and name its dtype if numpy has none for it, else None.

    A tensor on a device is copied to the host first; bfloat16 becomes int16 with the same bits.
    What has no numbers, or any other dtype that numpy has not, is a TypeError.
    """
    torch = sys.modules["torch"]
    host_tensor = dense_tensor(tensor, name).to("cpu")
    plain = host_tensor.resolve_conj().resolve_neg()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy(), "bfloat16"
    try:
        return plain.numpy(), None
    except TypeError:
        expected = "a tensor of a dtype that numpy has, or bfloat16"
        raise InputTypeError(name, expected=expected, got=f"dtype {tensor.dtype}") from None


def as_array(value: Any, name: str = "array", what: str = "an array") -> npt.NDArray[Any]:
    """Make an array of anything that numpy takes, and of a tensor on a device.

    An array has no names: those of a frame or Series are refused, as `by_position` says it.

    >>> as_array([1, 2])
    array([1, 2])
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, range):
        check_length(name, value)
    if not isinstance(value, (list, tuple)):
        return _convert(name, by_position(name, value), what)
    array = _convert(name, value, what)
    with_names = {
        class_if_imported("pandas", "Series"),
        class_if_imported("xarray", "DataArray"),
    }
    if array.ndim > 1 and not with_names.isdisjoint(map(type, value)):
        for row in value:
            by_position(name, row)
    return array


def _convert(name: str, value: Any, what: str) -> npt.NDArray[Any]:
    """Make an array of a value without names; what numpy raises is an error of the argument."""
    try:
        return np.asarray(on_host(value, name))
    except InputError:  # It says what is wrong.
        raise
    except MemoryError:
        got = f"{type(value).__name__} of more than the memory holds"
        raise InputValueError(name, expected=what, got=got) from None
    except (RuntimeError, TypeError, ValueError) as error:
        got = f"{type(value).__name__}: {error}"
        if "inhomogeneous" in str(error):  # numpy has no class of its own for this error.
            got = "lists of unlike lengths"
        kind = InputValueError if isinstance(error, ValueError) else InputTypeError
        raise kind(name, expected=what, got=got) from error


def array_shape(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of what would be made of lists."""
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple):
        shape = as_array(value, name).shape
    return shape


def refuse_mask(name: str, value: object, expected: str = "plain numbers") -> None:
    """Refuse a masked array, whose mask would be lost."""
    if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
        raise InputTypeError(name, expected=expected, got="a masked array")


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array of our own read-only, and return it."""
    array.flags.writeable = False
    return array


def stack_lists(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return lists of one length, which numpy has as objects, as a matrix; others as they are.

    >>> stack_lists("ids", np.array([[1, 2], [3], [4, 5]], object))
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: ids: expected lists of one length, got 1 of 3 unlike the first
    """
    rows = array.tolist() if array.dtype.kind == "O" and array.ndim == 1 else []
    lengths = [len(row) if isinstance(row, (list, np.ndarray)) else -1 for row in rows]
    if not rows or lengths[0] < 0:
        return array
    unlike = len(rows) - lengths.count(lengths[0])
    if unlike:
        got = f"{unlike:,} of {len(rows):,} unlike the first"
        raise InputValueError(name, expected="lists of one length", got=got)
    return as_array(rows, name)


def pad_lists(name: str, rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Return lists of ids as a matrix; behind shorter ones stands -1, or "" where ids are text.

    >>> pad_lists("ids", [[7, 2], None, ["b"][:0]])
    array([[ 7,  2],
           [-1, -1],
           [-1, -1]])
    """
    lists = []
    for row in rows:
        array = as_array([] if row is None else without_index(row), name, "a list of ids")
        check_shape(name, array.shape, 1, "a list of ids for each query")
        lists.append(array if array.dtype.kind != "O" else as_array(array.tolist(), name))
    filled = [array for array in lists if len(array)] or [np.empty(0, np.int64)]
    if len({array.dtype.kind for array in filled}) > 1:
        raise InputTypeError(name, expected="ids of one dtype", got="lists of unlike dtypes")
    values = np.concatenate(filled)
    if values.dtype.kind in "iu":
        values = index_array(name, signed_ids(values))
    has_id = np.arange(max(map(len, lists), default=0)) < np.array([[len(each)] for each in lists])
    matrix = np.full(has_id.shape, "" if values.dtype.kind == "U" else -1, values.dtype)
    matrix[has_id] = values
    return matrix


def index_array(name: str, value: object, *, copy: bool = True, what: str = "an array") -> IntArray:
    """Check integers of any shape that will be used as indices, and return them as int64.

    Floats with integral values and booleans are no integers; an empty list is fine, an empty array
    of floats is not. Without `copy`, an int64 array is taken over: nobody else may write to it.
    """
    # This is the usual case, and costs as little as possible.
    if type(value) is np.ndarray and value.dtype is _INT64:
        # A broadcast array may have more entries than memory holds.
        if not value.flags.c_contiguous:
            check_size(name, value.size)
            copy = True
        return value.copy() if copy else value
    refuse_mask(name, value)
    array = as_array(value, name, what)
    check_size(name, array.size)
    if array.size == 0 and isinstance(value, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputTypeError(name, expected="integers", got=_type_of(array, value))
    if array.dtype == np.uint64 and array.size:
        largest = int(array.max())
        if largest >= 1 << 63:
            raise InputValueError(name, expected="integers below 2**63", got=largest)
    return array.astype(np.int64, order="C", copy=copy)


def native_indices(name: str, value: object) -> npt.NDArray[Any]:
    """Return contiguous int32 or int64 in native byte order, without a copy where possible."""
    array = as_array(value, name)
    if array is not value:  # A masked array is never taken as it is.
        refuse_mask(name, value)
    if not array.flags.c_contiguous:  # It is copied.
        check_size(name, array.size)
    if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        if not array.size:
            array = array.copy()  # To numpy, an empty one is aligned wherever it lies.
        return np.require(array, requirements=["C", "A"])
    return index_array(name, value)


def integers(name: str, value: object, *, length: int | None = None) -> IntArray:
    """Check a 1-D array of integers (of a length), and return it as read-only int64."""
    array = index_array(name, value, what="a 1-D array of integers")
    if length is None:
        check_shape(name, array.shape, 1, "a 1-D array of integers")
    else:
        check_shape(name, array.shape, (length,), f"{length} integers, one for each task")
    return read_only(array)


def checked_weights(
    value: object, *, length: int, name: str = "weights", each: str = "task"
) -> FloatArray:
    """Check weights, one for each task: finite and >= 0; return them as read-only float64.

    The caller checks that not all of them are 0.
    """
    refuse_mask(name, value)
    array = as_array(value, name, "a 1-D array of numbers")
    if array.dtype.kind not in "iuf":
        raise InputTypeError(name, expected="real numbers", got=_type_of(array, value))
    check_shape(name, array.shape, (length,), f"{length} numbers, one for each {each}")
    array = array.astype(np.float64, order="C")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        got = f"{array[wrong][0]} at position {wrong.argmax()}"
        raise InputValueError(name, expected="finite numbers >= 0", got=got)
    return read_only(array)


def _type_of(array: npt.NDArray[Any], value: object) -> str:
    if array.ndim == 0:
        return type(value).__name__
    if array.dtype.kind == "f" and hasattr(value, "dropna"):
        return f"dtype {array.dtype}, as ints with missing values have"
    return f"dtype {array.dtype}"


def check_range(name: str, values: npt.NDArray[np.int64], bound: int, what: str) -> None:
    """Check that the indices of all tasks are from 0 to `bound` - 1."""
    position = _core.first_outside(values, bound)
    if position >= 0:
        expected = f"integers from 0 to {bound - 1} ({bound} {what})"
        got = f"{values[position]} for task {position}"
        raise InputValueError(name, expected=expected, got=got)


def signed_ids(values: Any, entities: int | None = None) -> Any:
    """Return ids with -1 in place of what -1 becomes in an unsigned dtype, its greatest number.

    That number stays where an entity may have it, of so many; None: nobody knows how many, and of 2
    bytes and less it stays.

    >>> signed_ids(np.array([7, 2**32 - 1], np.uint32)), signed_ids(np.array([255], np.uint8))
    (array([ 7, -1]), array([255], dtype=uint8))
    """
    dtype = getattr(values, "dtype", None)
    is_unsigned = isinstance(dtype, np.dtype) and dtype.kind == "u"
    if not is_unsigned or np.iinfo(dtype).max < (entities or 1 << 16):
        return values
    is_pad = values == np.iinfo(dtype).max
    return np.where(is_pad, -1, values.astype(np.int64)) if is_pad.any() else values


def check_shape(
    name: str, shape: tuple[int, ...], right: tuple[int, ...] | int, expected: str
) -> None:
    """Check the shape of an array, or how many dimensions it has."""
    is_right = len(shape) == right if isinstance(right, int) else shape == right
    if not is_right:
        raise InputValueError(name, expected=expected, got=f"shape {tuple(shape)}")


# -- scores ----------------------------------------------------------------------------------------


def refuse_rounded(name: str, values: Any, array: npt.NDArray[Any]) -> None:
    """Refuse lists whose integers numpy has rounded, to hold them beside floats or other integers.

    >>> rounded = [2**53 + 1, 0.5]
    >>> refuse_rounded("scores", rounded, np.array(rounded))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: scores: expected integers that a float64 holds, ...
    """
    if array.dtype != np.float64 or not (np.abs(array) >= _EXACT).any():
        return
    for value in _numbers_in(values):
        if is_integer(value) and int(value) != float(value):
            expected = "integers that a float64 holds, the dtype of these numbers"
            raise InputValueError(name, expected=expected, got=value)


def _numbers_in(values: Any) -> Iterator[Any]:
    """Yield the numbers in lists, tuples and arrays, however deep."""
    if not isinstance(values, (list, tuple, np.ndarray)):
        yield values
        return
    for value in values:
        yield from _numbers_in(value)


def dtype_name(
    dtype: np.dtype[Any],
    stated: object = None,
    dtypes: tuple[str, ...] = DTYPES,
    place: str = "",
    known: str | None = None,
) -> str:
    """Return the name of the dtype of scores, or of vectors, whose `dtypes` are others.

    What the caller has `stated` is expected, and says what raw bits are; of vectors, which may be
    of two dtypes, a name of 16 bits says only this. `place` is the file; the name is `known` where
    numpy has none.
    """
    name = known or dtype.name
    if stated is not None:
        stated_name, _ = named_dtype(stated)
        is_narrow = stated_name in NARROW
        are_other_vectors = dtypes != DTYPES and is_narrow and dtype.itemsize != 2
        if is_narrow and name in _RAW_BITS:
            name = stated_name
        elif not are_other_vectors and PARTS.get(name, name) != stated_name:
            expected = f"the dtype that was named, {stated_name}"
            raise InputTypeError("scores", "", expected, f"dtype {known or dtype}", place)
    if name not in dtypes:
        are_raw = name == "void16"
        ways = [Option("dtype", effect="says which numbers they are")] if are_raw else []
        expected = f"one of {', '.join(dtypes)}"
        got = f"dtype {dtype}"
        raise InputTypeError("scores", expected=expected, got=got, place=place, remedies=ways)
    return name


def named_dtype(dtype: Any) -> tuple[str, np.dtype[Any]]:
    """Return the name of a dtype of scores that the caller names, and numpy's dtype for it.

    Names are those of numpy and torch, also with "<" or ">" for a byte order before them.

    >>> named_dtype(">bfloat16"), named_dtype(float)
    (('bfloat16', dtype('>u2')), ('float64', dtype('float64')))
    """
    with suppress(TypeError, ValueError):  # Some objects cannot even be written as text.
        text = str(dtype).removeprefix("torch.")
        name = text.lstrip("<>")  # numpy takes no byte order before these names.
        if name in DTYPES:
            byte_order: Any = text[: -len(name)] or "="
            carrier = "uint16" if name == "bfloat16" else name
            return name, np.dtype(carrier).newbyteorder(byte_order)
        plain = np.dtype(dtype)
        if plain.name in DTYPES:
            return plain.name, plain
    raise InputTypeError("dtype", expected=f"one of {', '.join(DTYPES)}", got=repr(dtype))


def as_scores(value: object, dtype: object = None, dtypes: tuple[str, ...] = DTYPES) -> Scores:
    """View scores, a matrix or a single row, or vectors, so that the core can read them.

    They are anything with `__array__`, the buffer protocol or DLPack in the host's memory, or a
    tensor of torch, which is copied as a whole if it is on a device. `Scores` have been checked
    before. The dtype says what raw 16-bit numbers are, and is expected of others. Vectors have
    other `dtypes`.
    """
    if type(value) is Scores:
        return value
    are_scores = dtypes == DTYPES
    array, known_name = _read_numbers(value)
    name = None
    if dtype is None and known_name is None and are_scores:  # This is the usual case.
        name = _NATIVE_NAMES.get(array.dtype)
    if name is None:
        array = stack_lists("scores", array)
        name = dtype_name(array.dtype, dtype, dtypes, known=known_name)
    check_dimensions(array.shape)
    if array.size > MOST_ENTRIES:  # Each row or column has this limit, not the whole.
        check_size("scores", max(array.shape))
    return Scores(array, name, not array.dtype.isnative)


def check_dimensions(shape: tuple[int, ...], place: str = "") -> None:
    """Check that scores are a matrix or a single row."""
    if len(shape) not in (1, 2):
        expected = "a matrix (rows, columns) or a single row (columns,)"
        got = f"shape {tuple(shape)}"
        raise InputValueError("scores", expected=expected, got=got, place=place)


def widen_bfloat16(bits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return bfloat16 numbers, two raw bytes each, as float32, whose upper half they are.

    >>> widen_bfloat16(np.array([0x3F80, 0xC000], np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    numbers = bits.view(np.dtype(np.uint16).newbyteorder(bits.dtype.byteorder))
    return (numbers.astype(np.uint32) << 16).view(np.float32)


def as_floats(scores: Scores) -> npt.NDArray[Any]:
    """Return scores as float32 or float64, without a copy if that is what they are.

    Integers beyond 2**53 are rounded.
    """
    array = scores.array
    if scores.dtype == "bfloat16":
        return widen_bfloat16(array)
    if scores.dtype == "float16":  # They may be raw bits.
        array = array.view(np.dtype(np.float16).newbyteorder(array.dtype.byteorder))
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        return array.astype(np.result_type(np.float32, scores.dtype), copy=False)


@contextmanager
def default_arithmetic() -> Iterator[None]:
    """Compute as IEEE 754 has it by default: round to nearest, and keep subnormal numbers.

    Other libraries change a thread's arithmetic for speed: after `torch.set_flush_denormal(True)`
    subnormal numbers count as 0. The core sets that aside by itself; this is for what NumPy
    computes from scores.

    It is a context and a decorator. No generator may yield in it: the caller would compute so, too.
    """
    before = _core.use_default_arithmetic()
    try:
        yield
    finally:
        _core.restore_arithmetic(before)


def _read_numbers(value: Any) -> tuple[npt.NDArray[Any], str | None]:
    """Return an array over the same memory, and the name of its dtype if numpy has none for it."""
    if type(value) is np.ndarray:
        return value, None
    value = by_position("scores", value)
    refuse_mask("scores", value)
    if is_tensor(value):
        return tensor_array(value, "scores")
    if is_sparse(value):
        expected = "a dense matrix, with a score of each candidate"
        raise InputTypeError("scores", expected=expected, got=type(value).__name__)
    if _needs_dlpack(value):
        try:
            return np.from_dlpack(value), None
        except (BufferError, RuntimeError) as error:
            expected = "an array in the host's memory, or a tensor of torch on any device"
            got = f"{type(value).__name__} ({error})"
            raise InputTypeError("scores", expected=expected, got=got) from None
    array = as_array(value, "scores", "a matrix of numbers")
    if array.ndim == 0 and array.dtype.kind == "O":  # A mapping, a generator, a function, None.
        expected = "an array, tensor or memory map, a path, or lists of numbers"
        raise InputTypeError("scores", expected=expected, got=type(value).__name__)
    if isinstance(value, (list, tuple)):
        refuse_rounded("scores", value, array)
    return array, None


def _needs_dlpack(value: Any) -> bool:
    """Whether an array of another library is not in the host's memory, or numpy needs DLPack."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return False
    try:
        device, _ = value.__dlpack_device__()
    except BufferError:  # JAX raises it for an array over several devices.
        return True
    except TypeError:  # pyarrow 15 raises it for nulls and for lists, which numpy reads.
        device = _HOST
    return device != _HOST or not any(hasattr(value, protocol) for protocol in _PROTOCOLS)


# -- lists -----------------------------------------------------------------------------------------


def several(name: str, values: Iterable[T], what: str) -> list[T]:
    """List the values of an iterable that is no str."""
    if isinstance(values, (list, tuple)):
        return list(values)
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise InputTypeError(name, expected=f"several {what}", got=type(values).__name__)
    check_length(name, values)
    by_position(name, values)  # A Series must not lose its names.
    return list(values)


def unique_keys(keys: Iterable[str], name: str = "metrics") -> list[str]:
    """List keys, each of them once; a single str is one of them, what is no str a TypeError."""
    if isinstance(keys, str):
        return [keys]
    words = several(name, keys, "keys")
    for key in words:
        if not isinstance(key, str):
            raise InputTypeError(name, expected="keys", got=f"{type(key).__name__} among them")
    return list(dict.fromkeys(words))


# -- names of rows and columns ---------------------------------------------------------------------


class Axis(NamedTuple):
    """What the rows or the columns of values stand for, in their order.

    `whole` are labels (None: they are numbered 0, 1, 2, ...), and `written` is how a user writes
    them. Of a part, `some` are the places of its rows in the whole, which has `height` rows and may
    be there in its place.
    """

    whole: tuple[str, ...] | tuple[int, ...] | None = None
    written: str = ""
    some: npt.NDArray[Any] | None = None
    height: int | None = None

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The labels, or the numbers of some; None: all are numbered."""
        if self.some is None:
            return self.whole
        places = self.some.tolist()
        if self.whole is None:
            return tuple(places)
        return tuple(map(self.whole.__getitem__, places))


NUMBERED = Axis()


def class_if_imported(library: str, name: str) -> Any:
    """Return a class of a library, for isinstance; an empty tuple if nobody has imported it."""
    return getattr(sys.modules.get(library), name, ())


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame of pandas or polars."""
    if isinstance(value, np.ndarray):  # This is the usual case.
        return False
    kinds = (class_if_imported("pandas", "DataFrame"), class_if_imported("polars", "DataFrame"))
    return isinstance(value, kinds)


def without_index(value: Any) -> Any:
    """Return a Series of pandas as an array: in a list of things, an index stands for nothing."""
    if isinstance(value, class_if_imported("pandas", "Series")):
        return value.to_numpy()
    return value


def by_position(name: str, value: Any, rows: Axis = NUMBERED, columns: Axis = NUMBERED) -> Any:
    """Compare the names of rows and columns with those of axes, and return an array without them.

    Every door of values goes through this function. A value without names is returned as it is; a
    RangeIndex from 0 by 1, and columns that polars or pandas has numbered, are no names. A missing
    number becomes NaN. Missing bools are refused, and frames of several dtypes, whose common dtype
    might change the order.
    """
    if isinstance(value, np.ndarray):  # This is the usual case.
        return value
    dask_frame = class_if_imported("dask.dataframe", "DataFrame")
    dask_series = class_if_imported("dask.dataframe", "Series")
    if isinstance(value, (dask_frame, dask_series)):
        value = value.compute()
    names, dtypes = _names_of(value)
    if not names:
        return value
    for kind, labels in names.items():
        _check_names(name, kind, labels, rows, columns)
    names_of_columns = names.get("columns", names.get("fields", ()))
    return _plain_values(name, value, names_of_columns, dtypes)


def refuse_index(name: str, value: Any) -> None:
    """Refuse an index of a Series or frame, whose elements stand by position, but 0, 1, 2, ..."""
    for kind, labels in _names_of(value)[0].items():
        if kind in ("index", "rows"):
            _check_names(name, kind, labels, NUMBERED, NUMBERED)


def _names_of(value: Any) -> tuple[dict[str, Any], Any]:
    """Return the names of rows and columns by their kind, if any, and the dtypes of columns."""
    if isinstance(value, class_if_imported("pandas", "Series")):
        return {"index": value.index}, [value.dtype]
    if is_frame(value):
        return {"rows": getattr(value, "index", ()), "columns": value.columns}, value.dtypes
    kinds = (class_if_imported("pyarrow", "Table"), class_if_imported("pyarrow", "RecordBatch"))
    if isinstance(value, kinds):
        return {"fields": value.schema.names}, value.schema.types
    if isinstance(value, class_if_imported("xarray", "DataArray")):
        labels = [value.indexes.get(dimension, ()) for dimension in value.dims]
        return dict(zip(("first", "last"), labels, strict=False)), ()
    return {}, ()


def _plain_values(name: str, value: Any, columns: Any, dtypes: Any) -> Any:
    """Return what has names as an array, in which a missing number is NaN."""
    first_columns: dict[str, Any] = {}  # by dtype
    for column, dtype in zip(columns, dtypes, strict=False):
        first_columns.setdefault(str(dtype), column)
    if len(first_columns) > 1:
        got = ", ".join(f"{dtype} in {column!r}" for dtype, column in first_columns.items())
        raise InputTypeError(name, expected="columns of one dtype", got=got)
    # Only nullable columns of pandas, and those of Arrow's types, have this dtype beside their own.
    dtype = getattr(next(iter(dtypes), None), "numpy_dtype", None)
    if dtype is None or dtype.kind not in "iufb":
        return np.asarray(value)
    if not value.isna().to_numpy().any():
        return value.to_numpy(dtype)
    if dtype.kind == "b":
        raise InputValueError(name, expected="True or False in each place", got="missing bools")
    return value.to_numpy(dtype if dtype.kind == "f" else np.float64, na_value=np.nan)


def named_columns(name: str, value: Any) -> Axis:
    """Return the names of columns, with which those of another value are compared."""
    for kind, names in _names_of(value)[0].items():
        written = _COLUMNS.get(kind)
        if written and len(names) and not _are_no_names(names):
            return Axis(tuple(names), written.format(name))
    return NUMBERED


def _are_no_names(names: Any, labels: Any = ()) -> bool:
    if isinstance(names, list):  # They are those of polars, or of pandas in a table of Arrow.
        numbers = range(len(names))
        are_numbered = names in ([f"column_{i}" for i in numbers], [str(i) for i in numbers])
        return are_numbered and set(names).isdisjoint(labels)
    is_range = isinstance(names, class_if_imported("pandas", "RangeIndex"))
    return is_range and names.start == 0 and names.step == 1


def _check_names(name: str, kind: str, names: Any, rows: Axis, columns: Axis) -> None:
    """Refuse names of an index, of rows or of columns that are not those of an axis, in order.

    Another number of names is refused later, as that of rows or columns.
    """
    axis = columns if kind in _COLUMNS else rows
    if _are_no_names(names, axis.whole or ()):
        return
    names = tuple(names)
    is_part = axis.some is not None and len(axis.some) != len(names)
    if is_part and len(names) == axis.height:  # The names are those of the whole.
        axis = axis._replace(some=None)
    labels = axis.labels or tuple(range(len(names)))
    # Bools and floats are no labels, though True == 1.
    types = set(map(type, names)) - {str, int}
    are_labels = all(issubclass(each, (str, np.integer)) for each in types)
    are_equal = are_labels and names == labels
    if len(names) == len(labels) and not are_equal:
        i = 0
        if are_labels:
            i = next(i for i, label in enumerate(labels) if names[i] != label)
        order = f"in the order of {axis.written}" if axis.labels else "numbered 0, 1, 2, ..."
        expected = f"{_NOUNS[kind]} {order}"
        got = f"{names[i]!r} at position {i}, where {labels[i]!r} belongs; arrays have no names"
        raise InputValueError(name, expected=expected, got=got)
