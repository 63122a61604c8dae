// Lists of scored candidates in text, read block by block into codes of names and arrays.
#include "engine/text_lists.hpp"

#include <pybind11/stl.h>

#include <cstdint>
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
    NameTable entities;  // In a run or in judgements these are documents.
    NameTable groups;    // These are queries of documents, or relations of triples in predictions.
    PredictionState state;
    std::mutex mutex;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::RowForm);
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

RowForm make_form(int width, int query, int document, std::optional<int> value, bool tabs) {
    RowForm form{.width = width, .query = query, .document = document, .tabs = tabs};
    form.value = value.value_or(RowForm::kNone);
    const bool named = query >= 0 && query < width && document >= 0 && document < width;
    require(named && value.value_or(0) >= 0 && form.value < width, "form: no such field");
    return form;
}

py::tuple rows(ListReader& reader, std::string_view text, const RowForm& form) {
    NamedRows read;
    std::unique_lock lock(reader.mutex);
    const LineFault fault = read_rows(text, form, reader.groups, reader.entities, &parse_by_python, read);
    lock.unlock();
    return py::make_tuple(fault_or_none(fault), array_of(read.queries), array_of(read.documents),
                          array_of(read.values));
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
    py::class_<RowForm>(m, "RowForm", py::is_final(), "Which fields of a row are what, counted from 0.")
        .def(py::init(&make_form), py::arg("width"), py::arg("query"), py::arg("document"),
             py::arg("value") = py::none(), py::arg("tabs") = false);
    py::class_<ListReader>(m, "ListReader", py::is_final(),
                           "Reads lists in text, block by block, and numbers their names.")
        .def(py::init<>())
        .def("rows", &rows, py::arg("text"), py::arg("form"),
             "The first wrong line of the text (its number and what is wrong) or None, and queries, documents and "
             "numbers, which are 1 where the form has no field of them.")
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
