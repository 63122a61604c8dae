// The Python face of the kernels: the only file that knows Python. Arguments come checked from the package's own Python
// layer; what memory safety rests on is checked here once more.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "parallel.hpp"
#include "rank.hpp"
#include "selection.hpp"
#include "simd.hpp"

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

void require_within(const Int64Array& values, std::int64_t bound, const char* message) {
    const std::int64_t* first = values.data();
    require(std::all_of(first, first + values.size(), [bound](std::int64_t v) { return v >= 0 && v < bound; }),
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

truerank::Scores scores_of(const py::array& scores, const std::string& dtype, bool swapped) {
    const auto* named =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const Named& row) { return dtype == row.name; });
    require(named != std::end(kDTypes), "scores: unknown dtype");
    require(scores.ndim() == 2 && scores.itemsize() == named->size, "scores: not a matrix of this dtype");
    return {static_cast<const char*>(scores.data()),
            scores.shape(0),
            scores.shape(1),
            scores.strides(0),
            scores.strides(1),
            named->dtype,
            swapped};
}

// (indptr, indices, lists or None, shared)
using SelectionArrays = std::tuple<Int64Array, py::array, std::optional<Int64Array>, bool>;

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
    require(selection.indptr[0] == 0 && selection.indptr[selection.size] == selection.entries,
            "selection: indptr does not fit");
    for (std::int64_t list = 0; list < selection.size; ++list) {
        const std::int64_t length = selection.length(list);
        require(length >= 0, "selection: indptr falls");
        selection.longest = std::max(selection.longest, length);
    }
    return selection;
}

truerank::Selection selection_of(const std::optional<SelectionArrays>& arrays, std::int64_t tasks) {
    if (!arrays) return {};
    const auto& [indptr, indices, of, shared] = *arrays;
    truerank::Selection selection = lists_of(indptr, indices);
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

py::tuple rank(const py::array& scores, const std::string& dtype, bool swapped, const std::optional<Int64Array>& rows,
               const Int64Array& targets, const std::optional<SelectionArrays>& filter,
               const std::optional<SelectionArrays>& candidates, bool ascending, const std::string& nan, bool audit,
               int threads) {
    const truerank::Scores matrix = scores_of(scores, dtype, swapped);
    const std::int64_t size = targets.size();
    require_within(targets, matrix.columns, "targets: outside of the columns");
    if (rows) {
        require(rows->size() == size, "rows: not one for each task");
        require_within(*rows, matrix.rows, "rows: outside of the rows");
    } else {
        require(size <= matrix.rows, "targets: more than rows");
    }
    const truerank::Tasks tasks{size, rows ? rows->data() : nullptr, targets.data()};
    const truerank::Selection without = selection_of(filter, size);
    const truerank::Selection among = selection_of(candidates, size);
    const truerank::Rules rules{ascending, nan == "raise"   ? truerank::NanRule::raise
                                           : nan == "worst" ? truerank::NanRule::worst
                                                            : truerank::NanRule::omit};
    const int columns = audit ? 6 : 3;
    py::tuple result(columns + 1);
    std::int64_t* data[6] = {};
    for (int c = 0; c < columns; ++c) {
        Int64Array array(size);
        data[c] = array.mutable_data();
        if (size > 0) std::memset(data[c], 0, static_cast<std::size_t>(size) * sizeof(std::int64_t));
        result[static_cast<std::size_t>(c)] = std::move(array);
    }
    const truerank::Counts counts{data[0], data[1], data[2], data[3], data[4], data[5]};
    truerank::Fault fault;
    bool (*const ask)() = asks();
    without_gil([&] { fault = truerank::rank(matrix, tasks, without, among, rules, threads, ask, counts); });
    result[static_cast<std::size_t>(columns)] = fault_of(fault);
    return result;
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
    m.def(
        "check_lists", &check_lists, py::arg("indptr"), py::arg("indices"), py::arg("bound"), py::arg("threads"),
        "The position of the first index outside of [0, bound), or -1, and whether all lists are sorted and distinct.");
    m.def("sorted_lists", &sorted_lists, py::arg("indptr"), py::arg("indices"), py::arg("bound"), py::arg("threads"),
          "New indptr and indices: every list sorted and without repeats.");
}
