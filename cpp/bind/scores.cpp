#include "bind/scores.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <tuple>

namespace truerank::bind {
namespace {

struct NamedDType {
    std::string_view name;
    DType dtype;
    std::int64_t size;
    bool is_complex = false;  // A complex number is two numbers of the dtype.
};
constexpr NamedDType kDTypes[] = {
    {"float16", DType::float16, 2},
    {"bfloat16", DType::bfloat16, 2},
    {"float32", DType::float32, 4},
    {"float64", DType::float64, 8},
    {"int8", DType::int8, 1},
    {"int16", DType::int16, 2},
    {"int32", DType::int32, 4},
    {"int64", DType::int64, 8},
    {"uint8", DType::uint8, 1},
    {"uint16", DType::uint16, 2},
    {"uint32", DType::uint32, 4},
    {"uint64", DType::uint64, 8},
    {"bool", DType::uint8, 1},  // of vectors alone
    {"complex64", DType::float32, 8, true},
    {"complex128", DType::float64, 16, true},
};

const NamedDType& find_dtype(std::string_view dtype) {
    const auto* row = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                   [&](const NamedDType& known) { return dtype == known.name; });
    require(row != std::end(kDTypes), "scores: unknown dtype");
    return *row;
}

// The keys of the scores, the keys of the least and the greatest possible score, and whether there may be NaN, whose
// keys are below the least.
std::tuple<Int64Array, std::int64_t, std::int64_t, bool> keys(const ScoreArray& scores) {
    require(scores.array().ndim() == 1, "scores: not one-dimensional");
    Scores column = scores.view();
    std::swap(column.rows, column.columns);
    std::swap(column.row_stride, column.column_stride);
    Int64Array result(column.rows);
    const KeyRange range = keys_of(column, result.mutable_data());
    return {result, range.bottom, range.top, range.floating};
}

}  // namespace

ScoreArray::ScoreArray(py::array array, py::str dtype, bool swapped)
    : array_(std::move(array)), name_(std::move(dtype)), swapped_(swapped) {
    const NamedDType& type = find_dtype(name_.cast<std::string_view>());
    dtype_ = type.dtype;
    size_ = type.size;
    is_complex_ = type.is_complex;
    require(array_.itemsize() == size_, "scores: not of this dtype");
}

Scores ScoreArray::matrix() const {
    const auto last = array_.ndim() - 1;
    const bool is_row = last == 0;
    return {.data = static_cast<const char*>(array_.data()),
            .rows = is_row ? 1 : array_.shape(0),
            .columns = array_.shape(last),
            .row_stride = is_row ? 0 : array_.strides(0),
            .column_stride = array_.strides(last),
            .dtype = dtype_,
            .swapped = swapped_};
}

Scores ScoreArray::view() const {
    const bool is_matrix = array_.ndim() == 1 || array_.ndim() == 2;
    require(is_matrix && array_.itemsize() == size_ && !is_complex_, "scores: not a matrix of this dtype");
    return matrix();
}

VectorMatrix ScoreArray::vectors() const {
    const auto dimensions = array_.ndim();
    const bool in_halves = dimensions == 3 && !is_complex_;
    if (!is_complex_ && !in_halves) return view();
    const bool is_matrix = in_halves ? array_.shape(1) == 2 : dimensions == 1 || dimensions == 2;
    require(is_matrix && array_.itemsize() == size_, "vectors: not a matrix of this dtype");
    Scores vectors = matrix();
    vectors.columns *= 2;
    if (in_halves) return {vectors, array_.strides(1)};
    const auto part_stride = static_cast<std::ptrdiff_t>(size_ / 2);
    const bool are_in_turn = vectors.column_stride == 2 * part_stride;
    if (!are_in_turn) return {vectors, part_stride};
    vectors.column_stride = part_stride;  // Parts in turn are as good as real numbers.
    return vectors;
}

ScoreFile::ScoreFile(int descriptor, std::int64_t offset, Pair shape, Pair strides, py::str name,
                     std::string_view dtype, bool swapped)
    : file_{descriptor,
            offset,
            shape.first,
            shape.second,
            strides.first,
            strides.second,
            find_dtype(dtype).dtype,
            find_dtype(dtype).size,
            swapped},
      name_(std::move(name)) {
    const FileScores& file = file_;
    require(file.offset >= 0 && file.rows >= 0 && file.columns >= 0, "scores: negative sizes");
    require(std::min(file.row_stride, file.column_stride) == file.size, "scores: not contiguous in the file");
    const bool by_rows = file.column_stride == file.size;
    const std::int64_t outer = by_rows ? file.rows : file.columns, inner = by_rows ? file.columns : file.rows;
    const std::int64_t stride = by_rows ? file.row_stride : file.column_stride;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
    require(inner <= most / file.size && (outer <= 1 || (inner * file.size <= stride && stride <= most / outer)) &&
                file.offset <= most,
            "scores: strides do not fit");
}

ScoreFile ScoreFile::transposed() const {
    ScoreFile turned = *this;
    std::swap(turned.file_.rows, turned.file_.columns);
    std::swap(turned.file_.row_stride, turned.file_.column_stride);
    return turned;
}

void ScoreFile::raise_error(const ReadFailure& failure) const {
    if (failure.error != 0) {
        errno = failure.error;
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name_.ptr());
        throw py::error_already_set();
    }
    const auto text = py::str("{}: the file ends at byte {}, within the scores").format(name_, failure.offset);
    PyErr_SetObject(PyExc_EOFError, text.ptr());
    throw py::error_already_set();
}

void register_scores(py::module_& m) {
    py::class_<ScoreArray> scores(m, "Scores", py::is_final(), "Scores or vectors in memory, in any layout.");
    add_attribute<&ScoreArray::array>(scores, "array");
    add_attribute<&ScoreArray::dtype>(
        scores, "dtype",
        "The dtype of the scores; bfloat16, which numpy does not have, comes in arrays of other dtypes.");
    add_attribute<&ScoreArray::swapped>(scores, "swapped", "Whether its byte order is not the machine's.");
    scores.def(py::init<py::array, py::str, bool>(), py::arg("array"), py::arg("dtype"), py::arg("swapped"))
        .def(
            "with_array",
            [](const ScoreArray& scores, py::array array) {
                return ScoreArray(std::move(array), scores.dtype(), scores.swapped());
            },
            py::arg("array"), "Scores with another array, of the same dtype and byte order.")
        .def_property_readonly(
            "T",
            [](const ScoreArray& scores) {
                return ScoreArray(scores.array().attr("T"), scores.dtype(), scores.swapped());
            },
            "The transposed matrix.")
        .def("keys", &keys,
             "Integers in the order of the scores, those of the least and the greatest possible score, and whether "
             "there may be NaN, whose integers are below the least.");
    py::class_<ScoreFile>(m, "FileScores", py::is_final(), "Scores in an open file.")
        .def(py::init<int, std::int64_t, ScoreFile::Pair, ScoreFile::Pair, py::str, std::string_view, bool>(),
             py::arg("descriptor"), py::arg("offset"), py::arg("shape"), py::arg("strides"), py::arg("name"),
             py::arg("dtype"), py::arg("swapped"))
        .def_property_readonly(
            "reads_whole_rows", [](const ScoreFile& scores) { return reads_whole_rows(scores.view()); },
            "Whether rows are read whole, so that tasks can read their true scores from them.")
        .def_property_readonly("T", &ScoreFile::transposed, "The transposed matrix.");
}

}  // namespace truerank::bind
