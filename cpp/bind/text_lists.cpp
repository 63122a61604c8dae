// Lists of scored candidates in text, read block by block into codes of names and arrays.
#include "engine/text_lists.hpp"

#include <pybind11/stl.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/calls.hpp"

namespace truerank::bind {

// A reader that goes on from block to block. Its names may be asked for, and its text read, by one thread at a time:
// the others wait for the mutex, and hold the GIL meanwhile. Nothing is done with the mutex that may give up the GIL.
struct ListReader {
    NameTable entities;  // documents, in a run or in judgements
    NameTable groups;    // queries of these; relations of triples, in predictions
    PredictionState state;
    std::mutex mutex;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::ListReader);

namespace truerank::bind {
namespace {

// Python's own reading of a number: correctly rounded, whatever the locale. The GIL is held.
bool parse_by_python(std::string_view text, double& value) {
    const std::string copy(text);
    if (copy.find('\0') != std::string::npos) return false;
    value = PyOS_string_to_double(copy.c_str(), nullptr, nullptr);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        value = 0;
        return false;
    }
    return true;
}

std::optional<std::pair<std::int64_t, std::string>> fault_or_none(const LineFault& fault) {
    if (fault.line < 0) return std::nullopt;
    return std::pair{fault.line, std::string(fault.problem)};
}

// The names that a table of a reader has now; it may get more meanwhile, and keeps these.
py::tuple names_of(ListReader& reader, const NameTable& table) {
    std::unique_lock lock(reader.mutex);
    const std::int64_t size = table.size();
    lock.unlock();
    py::tuple names(static_cast<std::size_t>(size));
    lock.lock();
    for (std::int64_t code = 0; code < size; ++code) {
        const std::string_view name = table.name(code);
        names[static_cast<std::size_t>(code)] = py::str(name.data(), name.size());
    }
    return names;
}

// The text of a str, which is kept by the str itself or, with halves of surrogate pairs, by `copies`.
std::string_view text_of(PyObject* name, std::deque<std::string>& copies) {
    Py_ssize_t size = 0;
    if (const char* const text = PyUnicode_AsUTF8AndSize(name, &size)) return {text, static_cast<std::size_t>(size)};
    PyErr_Clear();
    const auto bytes = py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass"));
    if (!bytes) throw py::error_already_set();
    return copies.emplace_back(bytes);
}

// Adds the codes of names to those of a table, which new names extend; what is no str has -1.
std::vector<std::int64_t> codes_of(NameTable& table, const py::object& listed) {
    // In a tuple names cannot go while they are read.
    const py::tuple objects = stay_if_ended([&] { return py::tuple(listed); });
    std::deque<std::string> copies;
    std::vector<std::string_view> names;
    names.reserve(objects.size());
    for (const py::handle object : objects) {
        if (PyUnicode_Check(object.ptr())) names.push_back(text_of(object.ptr(), copies));
    }
    if (!has_room(table, names.size())) throw std::length_error(kTooManyNames);
    std::vector<std::int32_t> codes;
    codes.reserve(names.size());
    table.add_codes(names, codes);
    std::vector<std::int64_t> of_all(objects.size(), -1);
    auto next = codes.begin();
    for (std::size_t i = 0; i < of_all.size(); ++i) {
        if (PyUnicode_Check(objects[i].ptr())) of_all[i] = *next++;
    }
    return of_all;
}

py::array_t<std::int64_t> codes_among(const py::object& names, const py::object& among) {
    NameTable table;
    codes_of(table, among);
    const std::int64_t known = table.size();
    std::vector<std::int64_t> codes = codes_of(table, names);
    for (std::int64_t& code : codes) code = code < known ? code : -1;
    return array_of(codes);
}

template <class Value>
py::tuple arrays_of(const LineFault& fault, const NamedRows<Value>& rows) {
    return py::make_tuple(fault_or_none(fault), array_of(rows.queries), array_of(rows.documents),
                          array_of(rows.values));
}

py::tuple run_rows(ListReader& reader, std::string_view text) {
    NamedRows<double> rows;
    std::unique_lock lock(reader.mutex);
    const LineFault fault = read_run(text, reader.groups, reader.entities, &parse_by_python, rows);
    lock.unlock();
    return arrays_of(fault, rows);
}

py::tuple judged_rows(ListReader& reader, std::string_view text) {
    NamedRows<std::int64_t> rows;
    std::unique_lock lock(reader.mutex);
    const LineFault fault = read_judged(text, reader.groups, reader.entities, rows);
    lock.unlock();
    return arrays_of(fault, rows);
}

py::tuple prediction_rows(ListReader& reader, std::string_view text, bool scored) {
    PredictionRows rows;
    std::unique_lock lock(reader.mutex);
    const LineFault fault =
        read_predictions(text, scored, reader.state, reader.entities, reader.groups, &parse_by_python, rows);
    lock.unlock();
    return py::make_tuple(fault_or_none(fault), array_of(rows.triples), array_of(rows.sides), array_of(rows.lengths),
                          array_of(rows.candidates), array_of(rows.scores));
}

}  // namespace

void register_text_lists(py::module_& m) {
    m.def("codes_among", &codes_among, py::arg("names"), py::arg("among"),
          "The place of each name among others, which are distinct; -1 where there is none.");
    py::class_<ListReader>(m, "ListReader", py::is_final(),
                           "Reads lists in text, block by block, and numbers their names.")
        .def(py::init<>())
        .def("run_rows", &run_rows, py::arg("text"),
             "The first wrong line of the text (its number and what is wrong) or None, and queries, documents and "
             "scores.")
        .def("judged_rows", &judged_rows, py::arg("text"),
             "The first wrong line of the text (its number and what is wrong) or None, and queries, documents and "
             "relevance.")
        .def("prediction_rows", &prediction_rows, py::arg("text"), py::arg("scored"),
             "The first wrong line of the text (its number and what is wrong) or None, and triples, sides, lengths, "
             "candidates and scores.")
        .def_property_readonly(
            "pending", [](ListReader& reader) { return reader.state.line; },
            "How many lines of a block of predictions have been read.")
        .def(
            "names", [](ListReader& reader) { return names_of(reader, reader.entities); },
            "The names of entities or documents, in the order of their codes.")
        .def(
            "groups", [](ListReader& reader) { return names_of(reader, reader.groups); },
            "The names of queries or relations, in the order of their codes.");
}

}  // namespace truerank::bind
