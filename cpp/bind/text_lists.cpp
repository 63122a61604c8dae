// Rows of text, read block by block into codes of names and arrays.
#include "engine/text_lists.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/names.hpp"

TRUERANK_BOUND(truerank::RowForm);

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

RowForm make_form(int width, const std::vector<int>& names, int needed, std::optional<int> value, bool tabs,
                  bool tab_lines) {
    const auto is_field = [&](int field) { return field >= 0 && field < width; };
    const bool are_fields = std::all_of(names.begin(), names.end(), is_field) && is_field(value.value_or(0));
    require(are_fields && needed >= 0, "form: no such field");
    return {.width = width,
            .names = names,
            .needed = needed,
            .value = value.value_or(RowForm::kNone),
            .tabs = tabs,
            .tab_lines = tab_lines};
}

py::tuple rows(std::string_view text, const RowForm& form, const std::vector<SharedNames*>& tables) {
    require(tables.size() == form.names.size(), "tables: expected one for each field of names");
    std::vector<NameTable*> names;
    for (SharedNames* const table : tables) {
        require(table != nullptr, "tables: expected Names");
        names.push_back(&table->table);
    }
    NamedRows read;
    std::vector<std::unique_lock<std::mutex>> locks = lock_all(tables);
    const LineFault fault = read_rows(text, form, names, &parse_by_python, read);
    locks.clear();
    py::list codes;
    for (const std::vector<std::int32_t>& column : read.codes) codes.append(array_of(column));
    return py::make_tuple(fault_or_none(fault), codes, array_of(read.values));
}

}  // namespace

void register_text_lists(py::module_& m) {
    py::class_<RowForm>(m, "RowForm", py::is_final(), "Which fields of a row are what, counted from 0.")
        .def(py::init(&make_form), py::arg("width"), py::arg("names"), py::arg("needed"), py::arg("value") = py::none(),
             py::arg("tabs") = false, py::arg("tab_lines") = false);
    m.def("read_rows", &rows, py::arg("text"), py::arg("form"), py::arg("tables"),
          "The first wrong line of the text (its number and what is wrong) or None; for each field of names, which are "
          "added to its table, their numbers; and the values.");
}

}  // namespace truerank::bind
