// The Python face of the kernels: the only file that knows Python. Arguments come checked from the package's own Python
// layer; what memory safety rests on is checked here once more.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/bandwidth.hpp"
#include "engine/embeddings.hpp"
#include "engine/file.hpp"
#include "engine/grid.hpp"
#include "engine/rank.hpp"
#include "engine/selection.hpp"
#include "engine/threads.hpp"
#include "kernels/simd.hpp"

namespace py = pybind11;

namespace {

using Int64Array = py::array_t<std::int64_t, py::array::c_style>;

bool interrupted() {
    const py::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Set when the module is loaded.
unsigned long main_thread = 0;

// What to ask whether a count is to stop: only the main thread runs Python's signal handlers.
bool on_main_thread() { return PyThread_get_thread_ident() == main_thread; }
bool (*asks())() { return on_main_thread() ? interrupted : nullptr; }

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

// Runs work without the GIL; an interruption leaves as the exception that Python's signal handler has set. A daemon
// thread that comes back while the interpreter shuts down stays here for ever, as newer Pythons have it themselves:
// older ones end the thread where it asks for the GIL, and with it the process, since C++ destructors are in the way.
template <class Work>
void without_gil(const Work& work) {
    PyThreadState* const state = PyEval_SaveThread();
    std::exception_ptr failure;
    try {
        work();
    } catch (...) {
        failure = std::current_exception();
    }
    while (!on_main_thread() && is_finalizing()) std::this_thread::sleep_for(std::chrono::hours(1));
    PyEval_RestoreThread(state);
    if (!failure) return;
    try {
        std::rethrow_exception(failure);
    } catch (const truerank::Interrupted&) {
        throw py::error_already_set();
    }
}

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

void require_within(const Int64Array& values, std::int64_t bound, const char* message, std::int64_t least = 0) {
    const std::int64_t* first = values.data();
    require(std::all_of(first, first + values.size(), [=](std::int64_t v) { return v >= least && v < bound; }),
            message);
}

struct Named {
    const char* name;
    truerank::DType dtype;
    py::ssize_t size;
};
constexpr Named kDTypes[] = {
    {"float16", truerank::DType::float16, 2}, {"bfloat16", truerank::DType::bfloat16, 2},
    {"float32", truerank::DType::float32, 4}, {"float64", truerank::DType::float64, 8},
    {"int8", truerank::DType::int8, 1},       {"int16", truerank::DType::int16, 2},
    {"int32", truerank::DType::int32, 4},     {"int64", truerank::DType::int64, 8},
    {"uint8", truerank::DType::uint8, 1},     {"uint16", truerank::DType::uint16, 2},
    {"uint32", truerank::DType::uint32, 4},   {"uint64", truerank::DType::uint64, 8},
};

const Named& named(const std::string& dtype) {
    const auto* row =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const Named& known) { return dtype == known.name; });
    require(row != std::end(kDTypes), "scores: unknown dtype");
    return *row;
}

truerank::Scores scores_of(const py::array& scores, const std::string& dtype, bool swapped) {
    const Named& type = named(dtype);
    require(scores.ndim() == 2 && scores.itemsize() == type.size, "scores: not a matrix of this dtype");
    return {static_cast<const char*>(scores.data()),
            scores.shape(0),
            scores.shape(1),
            scores.strides(0),
            scores.strides(1),
            type.dtype,
            swapped};
}

// A matrix in memory, or one in a file: (descriptor, offset, rows, columns, row stride, column stride, ...).
struct Input {
    bool in_file = false;
    truerank::Scores scores{};
    truerank::FileScores file{};
    std::int64_t rows = 0, columns = 0, size = 0;
};

Input input_of(const py::object& scores, const std::string& dtype, bool swapped) {
    Input input;
    input.in_file = py::isinstance<py::tuple>(scores);
    if (!input.in_file) {
        input.scores = scores_of(scores.cast<py::array>(), dtype, swapped);
        input.rows = input.scores.rows;
        input.columns = input.scores.columns;
        input.size = named(dtype).size;
        return input;
    }
    const auto facts = scores.cast<py::tuple>();
    require(facts.size() >= 6, "scores: not a matrix in a file");
    const auto number = [&](std::size_t i) { return facts[i].cast<std::int64_t>(); };
    const Named& type = named(dtype);
    truerank::FileScores& file = input.file;
    file = {facts[0].cast<int>(), number(1), number(2), number(3), number(4), number(5),
            type.dtype,           type.size, swapped};
    require(file.offset >= 0 && file.rows >= 0 && file.columns >= 0, "scores: negative sizes");
    require(std::min(file.row_stride, file.column_stride) == file.size, "scores: not contiguous in the file");
    const bool by_rows = file.column_stride == file.size;
    const std::int64_t outer = by_rows ? file.rows : file.columns, inner = by_rows ? file.columns : file.rows;
    const std::int64_t stride = by_rows ? file.row_stride : file.column_stride;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
    require(inner <= most / file.size && (outer <= 1 || (inner * file.size <= stride && stride <= most / outer)) &&
                file.offset <= most,
            "scores: strides do not fit");
    input.rows = file.rows;
    input.columns = file.columns;
    input.size = file.size;
    return input;
}

// (indptr, indices, lists or None, shared); without indices the lists are ranges, their own positions
using SelectionArrays = std::tuple<Int64Array, std::optional<py::array>, std::optional<Int64Array>, bool>;

// Checks where the lists lie, and notes the longest.
void measure(truerank::Selection& selection) {
    require(selection.indptr[0] == 0 && selection.indptr[selection.size] == selection.entries,
            "selection: indptr does not fit");
    for (std::int64_t list = 0; list < selection.size; ++list) {
        const std::int64_t length = selection.length(list);
        require(length >= 0, "selection: indptr falls");
        selection.longest = std::max(selection.longest, length);
    }
}

truerank::Selection lists_of(const Int64Array& indptr, const py::array& indices) {
    const bool wide = py::isinstance<py::array_t<std::int64_t>>(indices);
    require(wide || py::isinstance<py::array_t<std::int32_t>>(indices),
            "selection: indices are neither int32 nor int64");
    require(indices.ndim() == 1 && indptr.ndim() == 1 && indptr.size() >= 1, "selection: not one-dimensional");
    require((indices.flags() & py::array::c_style) != 0 &&
                reinterpret_cast<std::uintptr_t>(indices.data()) % static_cast<std::uintptr_t>(indices.itemsize()) == 0,
            "selection: indices are not contiguous");
    truerank::Selection selection;
    selection.indptr = indptr.data();
    selection.indices = indices.data();
    selection.wide = wide;
    selection.size = indptr.size() - 1;
    selection.entries = indices.size();
    measure(selection);
    return selection;
}

truerank::Selection ranges_of(const Int64Array& indptr) {
    require(indptr.ndim() == 1 && indptr.size() >= 1, "selection: not one-dimensional");
    truerank::Selection selection;
    selection.indptr = indptr.data();
    selection.ranges = true;
    selection.size = indptr.size() - 1;
    selection.entries = selection.indptr[selection.size];
    measure(selection);
    return selection;
}

truerank::Selection selection_of(const std::optional<SelectionArrays>& arrays, std::int64_t tasks) {
    if (!arrays) return {};
    const auto& [indptr, indices, of, shared] = *arrays;
    truerank::Selection selection = indices ? lists_of(indptr, *indices) : ranges_of(indptr);
    selection.shared = shared;
    if (shared) {
        require(selection.size == 1, "selection: not one list");
    } else if (of) {
        require(of->size() == tasks, "selection: not one list for each task");
        require_within(*of, selection.size, "selection: no such list");
        selection.of = of->data();
    } else {
        require(selection.size == tasks, "selection: not one list for each task");
    }
    return selection;
}

py::object fault_of(const truerank::Fault& fault) {
    using Kind = truerank::Fault::Kind;
    if (fault.kind == Kind::none) return py::none();
    const char* kind = fault.kind == Kind::not_a_candidate ? "target"
                       : fault.kind == Kind::nan_score     ? "nan"
                                                           : "nan_truth";
    return py::make_tuple(kind, fault.task, fault.row, fault.column);
}

truerank::Rules rules_of(bool ascending, const std::string& nan) {
    return {ascending, nan == "raise"   ? truerank::NanRule::raise
                       : nan == "worst" ? truerank::NanRule::worst
                                        : truerank::NanRule::omit};
}

// New arrays for counts, each full of one number.
class Results {
  public:
    explicit Results(std::int64_t tasks) : tasks_(tasks) {}
    std::int64_t* add(std::int64_t value = 0) {
        Int64Array array(tasks_);
        std::int64_t* const data = array.mutable_data();
        std::fill_n(data, tasks_, value);
        arrays_.append(std::move(array));
        return data;
    }
    // The arrays, and the fault or None.
    py::tuple with(const py::object& fault) {
        arrays_.append(fault);
        return py::tuple(arrays_);
    }

  private:
    std::int64_t tasks_;
    py::list arrays_;
};

// Counts, and says what was wrong: ("read", error number, offset, 0) where a file could not be read to its end.
py::object count(const Input& input, const truerank::Tasks& tasks, const truerank::Selection& filter,
                 const truerank::Selection& candidates, const truerank::Rules& rules, int threads,
                 const truerank::Counts& counts) {
    truerank::Fault fault;
    bool (*const ask)() = asks();
    try {
        without_gil([&] {
            fault = input.in_file
                        ? truerank::rank_file(input.file, tasks, filter, candidates, rules, threads, ask, counts)
                        : truerank::rank(input.scores, tasks, filter, candidates, rules, threads, ask, counts);
        });
    } catch (const truerank::ReadFailure& failure) {
        return py::make_tuple("read", failure.error, failure.offset, 0);
    }
    return fault_of(fault);
}

void require_rows(const std::optional<Int64Array>& rows, const Input& input, std::int64_t tasks) {
    if (!rows) return require(tasks <= input.rows, "targets: more than rows");
    require(rows->size() == tasks, "rows: not one for each task");
    require_within(*rows, input.rows, "rows: outside of the rows");
    require(!input.in_file || std::is_sorted(rows->data(), rows->data() + tasks), "rows: not sorted");
}

py::tuple rank(const py::object& scores, const std::string& dtype, bool swapped, const std::optional<Int64Array>& rows,
               const Int64Array& targets, const std::optional<SelectionArrays>& filter,
               const std::optional<SelectionArrays>& candidates, bool ascending, const std::string& nan, bool audit,
               int threads) {
    const Input input = input_of(scores, dtype, swapped);
    const std::int64_t size = targets.size();
    require_within(targets, input.columns, "targets: outside of the columns");
    require_rows(rows, input, size);
    require(!input.in_file || size == 0 || truerank::reads_whole_rows(input.file), "scores: rows are not read whole");
    const truerank::Tasks tasks{size, rows ? rows->data() : nullptr, targets.data()};
    const truerank::Selection without = selection_of(filter, size);
    const truerank::Selection among = selection_of(candidates, size);
    require(!among.ranges, "candidates: ranges of a whole matrix");
    Results results(size);
    truerank::Counts counts;
    for (std::int64_t** data : {&counts.above, &counts.tied, &counts.candidates}) *data = results.add();
    if (audit) {
        for (std::int64_t** data : {&counts.nan, &counts.inf, &counts.at_best}) *data = results.add();
    }
    return results.with(count(input, tasks, without, among, rules_of(ascending, nan), threads, counts));
}

py::tuple count_part(const py::object& scores, const std::string& dtype, bool swapped,
                     const std::optional<Int64Array>& rows, const Int64Array& targets, const py::array& truths,
                     std::int64_t first_column, const std::optional<SelectionArrays>& filter,
                     const std::optional<SelectionArrays>& candidates, bool ascending, const std::string& nan,
                     bool audit, int threads) {
    const Input input = input_of(scores, dtype, swapped);
    const std::int64_t size = targets.size();
    require_rows(rows, input, size);
    require(truths.ndim() == 1 && truths.size() == size && truths.itemsize() == input.size &&
                (truths.flags() & py::array::c_style) != 0 &&
                reinterpret_cast<std::uintptr_t>(truths.data()) % static_cast<std::uintptr_t>(input.size) == 0,
            "truths: not one for each task");
    require(!candidates || std::get<1>(*candidates) || (first_column == 0 && !input.in_file),
            "candidates: ranges of a part, or of a file");
    require(first_column >= 0 && first_column <= std::numeric_limits<std::int64_t>::max() - input.columns,
            "first_column: out of range");
    require_within(targets, std::numeric_limits<std::int64_t>::max(), "targets: negative", -1);
    truerank::Tasks tasks{size, rows ? rows->data() : nullptr, targets.data()};
    tasks.truths = static_cast<const char*>(truths.data());
    tasks.first_column = first_column;
    const std::int64_t end = first_column + input.columns;
    const truerank::Selection without = selection_of(filter, size).within(first_column, end);
    const truerank::Selection among = selection_of(candidates, size).within(first_column, end);
    Results results(size);
    truerank::Counts counts;
    for (std::int64_t** data : {&counts.above, &counts.tied, &counts.candidates, &counts.nan, &counts.differing}) {
        *data = results.add();
    }
    if (audit) {
        counts.inf = results.add();
        counts.at_best = results.add();
        using Limits = std::numeric_limits<std::int64_t>;
        counts.best = results.add(ascending ? Limits::max() : Limits::min());
    }
    return results.with(count(input, tasks, without, among, rules_of(ascending, nan), threads, counts));
}

bool reads_whole_rows(const py::tuple& scores, const std::string& dtype) {
    return truerank::reads_whole_rows(input_of(scores, dtype, false).file);
}

// The first task whose list lacks its column, or -1.
std::int64_t first_absent(const SelectionArrays& selection, const Int64Array& columns) {
    const truerank::Selection lists = selection_of(selection, columns.size());
    return truerank::first_absent(lists, columns.data(), columns.size());
}

// Keys of native scores, those of the least and the greatest, and whether there may be NaN, below the least.
py::tuple keys(const py::array& scores, const std::string& dtype) {
    require(scores.ndim() == 1, "scores: not one-dimensional");
    const auto matrix = scores.attr("reshape")(-1, 1).cast<py::array>();
    const truerank::Scores column = scores_of(matrix, dtype, false);
    Int64Array result(column.rows);
    const truerank::KeyRange range = truerank::keys_of(column, result.mutable_data());
    return py::make_tuple(result, range.bottom, range.top, range.floating);
}

// A matrix of vectors: (array, dtype, whether its byte order is not the machine's).
using VectorArrays = std::tuple<py::array, std::string, bool>;

truerank::Scores vectors_of(const VectorArrays& vectors) {
    const auto& [array, dtype, swapped] = vectors;
    const truerank::Scores matrix = scores_of(array, dtype, swapped);
    require(matrix.dtype <= truerank::DType::float64, "vectors: no floats");
    return matrix;
}

struct NamedSimilarity {
    const char* name;
    truerank::Similarity similarity;
};
constexpr NamedSimilarity kSimilarities[] = {
    {"dot", truerank::Similarity::dot},
    {"cosine", truerank::Similarity::cosine},
    {"l1", truerank::Similarity::l1},
    {"l2", truerank::Similarity::l2},
    {"sql2", truerank::Similarity::sql2},
    {"complex_l1", truerank::Similarity::complex_l1},
    {"poincare", truerank::Similarity::poincare},
    {"inverse_l1", truerank::Similarity::inverse_l1},
    {"inverse_l2", truerank::Similarity::inverse_l2},
};

// One number of the scores' type for each of n vectors.
const void* numbers_of(const py::array& array, bool wide, std::int64_t n, const char* message) {
    const bool typed = wide ? py::isinstance<py::array_t<double>>(array) : py::isinstance<py::array_t<float>>(array);
    const auto item = static_cast<std::uintptr_t>(array.itemsize());
    require(typed && array.ndim() == 1 && array.size() == n && (array.flags() & py::array::c_style) != 0 &&
                reinterpret_cast<std::uintptr_t>(array.data()) % item == 0,
            message);
    return array.data();
}

// Queries, entities, their similarity; the bias; the means of CSLS.
using PairArguments = std::tuple<VectorArrays, VectorArrays, std::string, std::optional<py::array>,
                                 std::optional<std::pair<py::array, py::array>>>;

truerank::Embeddings embeddings_of(const PairArguments& pairs) {
    const auto& [queries, entities, similarity, bias, means] = pairs;
    const std::string& name = similarity;
    const auto* row = std::find_if(std::begin(kSimilarities), std::end(kSimilarities),
                                   [&](const NamedSimilarity& known) { return name == known.name; });
    require(row != std::end(kSimilarities), "similarity: unknown");
    truerank::Embeddings embeddings{vectors_of(queries), vectors_of(entities), row->similarity};
    require(embeddings.queries.columns == embeddings.entities.columns, "vectors: of different lengths");
    require(embeddings.queries.columns % truerank::components(row->similarity) == 0, "vectors: of odd length");
    require(embeddings.queries.columns <= std::int64_t{1} << 40,
            "vectors: too long");  // products of it stay in 64 bits
    const bool wide = embeddings.wide();
    if (bias) embeddings.bias = numbers_of(*bias, wide, embeddings.entities.rows, "bias: not one for each entity");
    if (means) {
        embeddings.query_means =
            numbers_of(means->first, wide, embeddings.queries.rows, "means: not one for each query");
        embeddings.entity_means =
            numbers_of(means->second, wide, embeddings.entities.rows, "means: not one for each entity");
    }
    return embeddings;
}

// Tasks that ask queries; without rows, task i asks query i.
std::int64_t require_queries(const std::optional<Int64Array>& rows, std::int64_t queries) {
    if (!rows) return queries;
    require(rows->ndim() == 1, "rows: not one-dimensional");
    require_within(*rows, queries, "rows: outside of the queries");
    return rows->size();
}

py::array new_scores(const truerank::Embeddings& embeddings, const std::vector<py::ssize_t>& shape) {
    if (embeddings.wide()) return py::array_t<double>(shape);
    return py::array_t<float>(shape);
}

py::tuple rank_embeddings(const PairArguments& pairs, const std::optional<Int64Array>& rows, const Int64Array& targets,
                          const std::optional<SelectionArrays>& filter,
                          const std::optional<SelectionArrays>& candidates, const std::string& nan, bool audit,
                          std::int64_t block, int threads) {
    const truerank::Embeddings embeddings = embeddings_of(pairs);
    const std::int64_t size = targets.size();
    require_within(targets, embeddings.entities.rows, "targets: outside of the entities");
    require(rows ? require_queries(rows, embeddings.queries.rows) == size : size <= embeddings.queries.rows,
            "rows: not one for each task");
    require(block >= 0, "block: negative");
    const truerank::Tasks tasks{size, rows ? rows->data() : nullptr, targets.data()};
    const truerank::Selection without = selection_of(filter, size);
    const truerank::Selection among = selection_of(candidates, size);
    require(!among.ranges && !without.ranges, "selection: ranges");
    Results results(size);
    truerank::Counts counts;
    for (std::int64_t** data : {&counts.above, &counts.tied, &counts.candidates}) *data = results.add();
    if (audit) {
        for (std::int64_t** data : {&counts.nan, &counts.inf, &counts.at_best}) *data = results.add();
    }
    truerank::Fault fault;
    const truerank::Way way{block, threads, asks()};
    without_gil([&] {
        fault = truerank::rank_embeddings(embeddings, tasks, without, among, rules_of(false, nan).nan, way, counts);
    });
    return results.with(fault_of(fault));
}

py::array score_embeddings(const PairArguments& pairs, const std::optional<Int64Array>& rows,
                           const std::optional<Int64Array>& targets, int threads) {
    const truerank::Embeddings embeddings = embeddings_of(pairs);
    const std::int64_t size = require_queries(rows, embeddings.queries.rows);
    if (targets) {
        require(targets->size() == size, "targets: not one for each task");
        require_within(*targets, embeddings.entities.rows, "targets: outside of the entities");
    }
    std::vector<std::int64_t> own(targets && !rows ? static_cast<std::size_t>(size) : 0);
    std::iota(own.begin(), own.end(), std::int64_t{0});
    const std::int64_t* const asked = rows ? rows->data() : targets ? own.data() : nullptr;
    std::vector<py::ssize_t> shape{size};
    if (!targets) shape.push_back(embeddings.entities.rows);
    py::array scores = new_scores(embeddings, shape);
    void* const out = scores.mutable_data();
    const truerank::Way way{0, threads, asks()};
    without_gil(
        [&] { truerank::score_embeddings(embeddings, asked, targets ? targets->data() : nullptr, size, way, out); });
    return scores;
}

py::tuple topk_embeddings(const PairArguments& pairs, const std::optional<Int64Array>& rows, std::int64_t k,
                          const std::optional<SelectionArrays>& filter,
                          const std::optional<SelectionArrays>& candidates, const std::string& nan,
                          const std::optional<std::pair<py::array, Int64Array>>& held, std::int64_t block,
                          int threads) {
    const truerank::Embeddings embeddings = embeddings_of(pairs);
    const std::int64_t size = require_queries(rows, embeddings.queries.rows);
    require(k >= 0 && block >= 0, "k, block: negative");
    const truerank::Selection without = selection_of(filter, size);
    const truerank::Selection among = selection_of(candidates, size);
    require(!among.ranges && !without.ranges, "selection: ranges");
    truerank::Held holds;
    if (held) {
        holds.scores = numbers_of(held->first, embeddings.wide(), embeddings.entities.rows, "held: not one for each");
        require(held->second.ndim() == 1 && held->second.size() == embeddings.entities.rows, "held: not one for each");
        holds.queries = held->second.data();
    }
    Int64Array ids(std::vector<py::ssize_t>{size, k});
    py::array scores = new_scores(embeddings, {size, k});
    scores.attr("fill")(std::numeric_limits<double>::quiet_NaN());
    std::fill_n(ids.mutable_data(), ids.size(), std::int64_t{-1});
    std::int64_t* const best = ids.mutable_data();
    void* const found = scores.mutable_data();
    const truerank::Tasks tasks{size, rows ? rows->data() : nullptr, nullptr};
    truerank::Fault fault;
    const truerank::Way way{block, threads, asks()};
    without_gil([&] {
        fault = truerank::topk_embeddings(embeddings, tasks, k, without, among, rules_of(false, nan).nan, holds, way,
                                          best, found);
    });
    return py::make_tuple(ids, scores, fault_of(fault));
}

// Vectors of two sides, and who of them takes part: ids, ascending and distinct.
std::vector<std::int64_t> ids_of(const Int64Array& ids, std::int64_t bound) {
    require(ids.ndim() == 1 && ids.size() > 0, "left, right: no ids");
    std::vector<std::int64_t> copy(ids.data(), ids.data() + ids.size());
    require(std::adjacent_find(copy.begin(), copy.end(), std::greater_equal<>()) == copy.end(),
            "left, right: not ascending");
    require(copy.front() >= 0 && copy.back() < bound, "left, right: outside of the vectors");
    return copy;
}

truerank::Grid grid_of(const PairArguments& pairs, const Int64Array& left, const Int64Array& right) {
    const truerank::Embeddings embeddings = embeddings_of(pairs);
    return {embeddings, ids_of(left, embeddings.queries.rows), ids_of(right, embeddings.entities.rows)};
}

void require_among(const Int64Array& values, const std::vector<std::int64_t>& ids, const char* message) {
    require(values.ndim() == 1, message);
    for (std::int64_t i = 0; i < values.size(); ++i) {
        require(std::binary_search(ids.begin(), ids.end(), values.data()[i]), message);
    }
}

py::tuple rank_grid(const PairArguments& pairs, const Int64Array& left, const Int64Array& right, const Int64Array& rows,
                    const Int64Array& targets, const std::optional<SelectionArrays>& filter_right,
                    const std::optional<SelectionArrays>& filter_left, const std::string& nan, std::int64_t block,
                    int threads) {
    const truerank::Grid grid = grid_of(pairs, left, right);
    const std::int64_t size = targets.size();
    require(rows.size() == size, "rows: not one for each task");
    require_among(rows, grid.left, "rows: not among the queries that take part");
    require_among(targets, grid.right, "targets: not among the entities that take part");
    require(block >= 0 && block <= std::int64_t{1} << 40, "block: out of range");
    const truerank::Tasks tasks{size, rows.data(), targets.data()};
    const truerank::Selection of_right = selection_of(filter_right, size), of_left = selection_of(filter_left, size);
    require(!of_right.ranges && !of_left.ranges, "selection: ranges");
    Results to_right(size), to_left(size);
    truerank::Counts counts[2];
    for (int side = 0; side < 2; ++side) {
        truerank::Counts& c = counts[side];
        for (std::int64_t** data : {&c.above, &c.tied, &c.candidates}) *data = (side == 0 ? to_right : to_left).add();
    }
    std::array<truerank::Fault, 2> faults;
    const truerank::Way way{block, threads, asks()};
    without_gil([&] {
        faults =
            truerank::rank_grid(grid, tasks, of_right, of_left, rules_of(false, nan).nan, way, counts[0], counts[1]);
    });
    return py::make_tuple(to_right.with(fault_of(faults[0])), to_left.with(fault_of(faults[1])));
}

py::tuple mean_best(const PairArguments& pairs, const Int64Array& left, const Int64Array& right, std::int64_t k,
                    const std::string& nan, std::int64_t block, int threads) {
    const truerank::Grid grid = grid_of(pairs, left, right);
    require(k >= 1 && block >= 0, "k, block: too small");
    py::array means[] = {new_scores(grid.embeddings, {left.size()}), new_scores(grid.embeddings, {right.size()})};
    void* const of_left = means[0].mutable_data();
    void* const of_right = means[1].mutable_data();
    truerank::Fault fault;
    const truerank::Way way{block, threads, asks()};
    without_gil([&] { fault = truerank::mean_best(grid, k, rules_of(false, nan).nan, way, of_left, of_right); });
    return py::make_tuple(means[0], means[1], fault_of(fault));
}

std::uint64_t read_pass(const py::array& array, int threads) {
    require((array.flags() & py::array::c_style) != 0, "array: not contiguous");
    std::uint64_t words = 0;
    bool (*const ask)() = asks();
    const auto* data = static_cast<const char*>(array.data());
    const auto bytes = static_cast<std::int64_t>(array.nbytes());
    without_gil([&] { words = truerank::read_pass(data, bytes, threads, ask); });
    return words;
}

std::pair<std::int64_t, bool> check_lists(const Int64Array& indptr, const py::array& indices, std::int64_t bound,
                                          int threads) {
    const truerank::Selection lists = lists_of(indptr, indices);
    truerank::ListCheck check;
    bool (*const ask)() = asks();
    without_gil([&] { check = truerank::check_lists(lists, bound, threads, ask); });
    return {check.first_outside, check.sorted};
}

// The lists sorted and without repeats, as new arrays.
py::tuple sorted_lists(const Int64Array& indptr, const py::array& indices, std::int64_t bound, int threads) {
    require(bound >= 0, "selection: negative bound");
    const truerank::Selection lists = lists_of(indptr, indices);
    py::array copy = indices.attr("copy")();
    Int64Array clean(indptr.size());
    std::int64_t* const ends = clean.mutable_data();
    char* const data = static_cast<char*>(copy.mutable_data());
    const auto size = static_cast<std::int64_t>(copy.itemsize());
    bool (*const ask)() = asks();
    without_gil([&] {
        truerank::sort_lists(lists, data, ends + 1, bound, threads, ask);
        ends[0] = 0;
        for (std::int64_t list = 0; list < lists.size; ++list) {
            const std::int64_t length = ends[list + 1];
            std::memmove(data + ends[list] * size, data + lists.indptr[list] * size,
                         static_cast<std::size_t>(length * size));
            ends[list + 1] = ends[list] + length;
        }
    });
    return py::make_tuple(clean, copy[py::slice(0, ends[lists.size], 1)]);
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

}  // namespace

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
    const char* wanted = std::getenv("TRUERANK_ISA");
    if (!truerank::choose_isa(wanted)) {
        throw py::import_error("TRUERANK_ISA: expected an instruction set this machine can run (" +
                               joined(truerank::usable_isas()) + "), got '" + wanted + "'");
    }
    truerank::guard_forks();
    main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();

    m.doc() = "The compiled core of truerank. Its functions are the package's own: they may change at any time.";
    m.attr("__version__") = TRUERANK_VERSION;
    m.attr("compiler") = kCompiler;
    m.def("isa", &truerank::isa_name, "The instruction set in use.");
    m.def("isas", &truerank::usable_isas, "The instruction sets that this machine can run.");
    m.def("openmp", &truerank::has_openmp, "Whether the core was built with OpenMP.");
    m.def("default_threads", &truerank::default_threads, "The threads a call takes unless it is told otherwise.");
    m.def("rank", &rank, py::arg("scores"), py::arg("dtype"), py::arg("swapped"), py::arg("rows").none(true),
          py::arg("targets"), py::arg("filter").none(true), py::arg("candidates").none(true), py::arg("ascending"),
          py::arg("nan"), py::arg("audit"), py::arg("threads"),
          "Counts: above, tied, candidates (and, audited, nan, inf, at_best), and the fault or None.");
    m.def("count_part", &count_part, py::arg("scores"), py::arg("dtype"), py::arg("swapped"),
          py::arg("rows").none(true), py::arg("targets"), py::arg("truths"), py::arg("first_column"),
          py::arg("filter").none(true), py::arg("candidates").none(true), py::arg("ascending"), py::arg("nan"),
          py::arg("audit"), py::arg("threads"),
          "Counts of a part of a matrix, truths left out: above, tied, candidates, nan, differing (and, audited, inf, "
          "at_best, best), and the fault or None.");
    m.def("rank_embeddings", &rank_embeddings, py::arg("pairs"), py::arg("rows").none(true), py::arg("targets"),
          py::arg("filter").none(true), py::arg("candidates").none(true), py::arg("nan"), py::arg("audit"),
          py::arg("block"), py::arg("threads"), "As rank, of the scores of vectors.");
    m.def("score_embeddings", &score_embeddings, py::arg("pairs"), py::arg("rows").none(true),
          py::arg("targets").none(true), py::arg("threads"),
          "The scores of queries and their targets, or of queries and all entities.");
    m.def("topk_embeddings", &topk_embeddings, py::arg("pairs"), py::arg("rows").none(true), py::arg("k"),
          py::arg("filter").none(true), py::arg("candidates").none(true), py::arg("nan"), py::arg("held").none(true),
          py::arg("block"), py::arg("threads"),
          "The best entities of each query and their scores (-1 and NaN where there are too few), and the fault or "
          "None.");
    m.def("rank_grid", &rank_grid, py::arg("pairs"), py::arg("left"), py::arg("right"), py::arg("rows"),
          py::arg("targets"), py::arg("filter_right").none(true), py::arg("filter_left").none(true), py::arg("nan"),
          py::arg("block"), py::arg("threads"),
          "Counts of queries that rank entities, and of entities that rank queries, each with its fault or None.");
    m.def("mean_best", &mean_best, py::arg("pairs"), py::arg("left"), py::arg("right"), py::arg("k"), py::arg("nan"),
          py::arg("block"), py::arg("threads"),
          "The mean of the best scores of each query, and of each entity, and the fault or None.");
    m.def("reads_whole_rows", &reads_whole_rows, py::arg("scores"), py::arg("dtype"),
          "Whether a matrix in a file is read by whole rows, in which tasks find their truths.");
    m.def("can_read_files", &truerank::can_read_files, "Whether matrices in files can be read, not only mapped.");
    m.def("first_absent", &first_absent, py::arg("selection"), py::arg("columns"),
          "The first task whose list lacks its column, or -1.");
    m.def("keys", &keys, py::arg("scores"), py::arg("dtype"),
          "Integers in the order of the scores, those of the least and the greatest, and whether there may be NaN.");
    m.def("read_pass", &read_pass, py::arg("array"), py::arg("threads"),
          "All 64-bit words of a contiguous array, ORed together: the least that a pass over it can cost.");
    m.def(
        "check_lists", &check_lists, py::arg("indptr"), py::arg("indices"), py::arg("bound"), py::arg("threads"),
        "The position of the first index outside of [0, bound), or -1, and whether all lists are sorted and distinct.");
    m.def("sorted_lists", &sorted_lists, py::arg("indptr"), py::arg("indices"), py::arg("bound"), py::arg("threads"),
          "New indptr and indices: every list sorted and without repeats.");
}
