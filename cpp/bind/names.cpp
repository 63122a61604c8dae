// Names, which are objects of Python: their types; as codes, as places among others, and as hashes. And rows of text,
// which are read block by block into codes of names and numbers.
#include "engine/names/names.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bind/calls.hpp"
#include "engine/files/text_lists.hpp"

namespace truerank::bind {

// Names may be asked for, and added, by one thread at a time: the others wait for the mutex, and hold the GIL
// meanwhile. Nothing is done with the mutex that may give up the GIL.
struct SharedNames {
    NameTable table;
    std::mutex mutex;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::SharedNames);
TRUERANK_BOUND(truerank::RowForm);

namespace truerank::bind {
namespace {

constexpr std::size_t kBatch = 256;              // So many names are read at a time.
constexpr std::string_view kBlanks = " \t\r\n";  // At the ends of a field they belong to no label.
constexpr std::size_t kAhead = 16;               // Memory is asked for so many objects before they are read.

// The items of a list or a tuple, whose objects lie anywhere in memory. They stay while they are read: a tuple keeps
// them, and a list does as long as nothing else runs, which the GIL sees to.
class Items {
  public:
    explicit Items(const py::object& listed) : held_(listed) {
        bool is_held = PyTuple_Check(listed.ptr());
#ifndef Py_GIL_DISABLED
        is_held = is_held || PyList_Check(listed.ptr());
#endif
        if (!is_held) held_ = stay_if_ended([&] { return py::tuple(listed); });
        items_ = PySequence_Fast_ITEMS(held_.ptr());
        size_ = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(held_.ptr()));
    }
    std::size_t size() const { return size_; }
    PyObject* operator[](std::size_t i) const {
        if (i + kAhead < size_) {
            const char* const later = reinterpret_cast<const char*>(items_[i + kAhead]);
            __builtin_prefetch(later);
            // The text of a short str, and the end of the header.
            __builtin_prefetch(later + sizeof(PyASCIIObject) + 8);
        }
        return items_[i];
    }

  private:
    py::object held_;
    PyObject** items_;
    std::size_t size_;
};

// The text of str objects, which they keep themselves or, with halves of surrogate pairs, a copy keeps.
class Texts {
  public:
    std::string_view of(PyObject* name) {
        if (PyUnicode_IS_COMPACT_ASCII(name)) {
            return {static_cast<const char*>(PyUnicode_DATA(name)),
                    static_cast<std::size_t>(PyUnicode_GET_LENGTH(name))};
        }
        Py_ssize_t size = 0;
        if (const char* text = PyUnicode_AsUTF8AndSize(name, &size)) return {text, static_cast<std::size_t>(size)};
        PyErr_Clear();
        const auto bytes = py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass"));
        if (!bytes) throw py::error_already_set();
        return copies_.emplace_back(bytes);
    }

  private:
    std::deque<std::string> copies_;
};

// Calls each(first, names) for the names of several items at a time. What is no str is an error, unless there is a list
// of others, to which its place is added.
template <class Each>
void for_batches(const Items& items, const Each& each, std::vector<std::size_t>* others = nullptr) {
    Texts texts;
    std::array<std::string_view, kBatch> names;
    for (std::size_t first = 0; first < items.size(); first += kBatch) {
        const std::size_t size = std::min(kBatch, items.size() - first);
        for (std::size_t i = 0; i < size; ++i) {
            PyObject* const item = items[first + i];
            if (PyUnicode_Check(item)) {
                names[i] = texts.of(item);
            } else if (others != nullptr) {
                names[i] = {};
                others->push_back(first + i);
            } else {
                throw py::type_error("names: expected str");
            }
        }
        each(first, std::span<const std::string_view>(names.data(), size));
    }
}

// Adds names to a table, and returns their codes.
std::vector<std::int32_t> add_names(NameTable& table, const Items& items, std::vector<std::size_t>* others = nullptr) {
    if (!table.has_room(items.size())) throw std::length_error(NameTable::kTooMany);
    std::vector<std::int32_t> codes(items.size());
    for_batches(
        items,
        [&](std::size_t first, std::span<const std::string_view> names) {
            table.add_codes(names, codes.data() + first);
        },
        others);
    return codes;
}

// Calls each(i, code) for all items, -1 for names that the table does not have.
template <class Each>
void find_names(const NameTable& table, const Items& items, const Each& each,
                std::vector<std::size_t>* others = nullptr) {
    std::array<std::int32_t, kBatch> codes;
    for_batches(
        items,
        [&](std::size_t first, std::span<const std::string_view> names) {
            table.find_codes(names, codes.data());
            for (std::size_t i = 0; i < names.size(); ++i) each(first + i, codes[i]);
        },
        others);
}

py::array_t<std::int64_t> codes_among(const py::object& names, const py::object& among) {
    const Items sought(names), known(among);
    py::array_t<std::int64_t> found(static_cast<py::ssize_t>(sought.size()));
    std::int64_t* const places = found.mutable_data();
    // The table has the fewer names: it is small, and the others are read once, one after another.
    NameTable table(std::min(sought.size(), known.size()));
    std::vector<std::size_t> others;  // These are no str.
    if (known.size() <= sought.size()) {
        add_names(table, known);
        find_names(table, sought, [&](std::size_t i, std::int32_t code) { places[i] = code; }, &others);
    } else {
        const std::vector<std::int32_t> codes = add_names(table, sought, &others);
        std::vector<std::int64_t> place_of(static_cast<std::size_t>(table.size()), -1);
        find_names(table, known, [&](std::size_t i, std::int32_t code) {
            if (code >= 0) place_of[static_cast<std::size_t>(code)] = static_cast<std::int64_t>(i);
        });
        for (std::size_t i = 0; i < codes.size(); ++i) places[i] = place_of[static_cast<std::size_t>(codes[i])];
    }
    for (const std::size_t i : others) places[i] = -1;
    return found;
}

py::tuple code_names(const py::object& names) {
    const Items items(names);
    NameTable table(items.size() / 2);  // It grows at most once.
    const std::vector<std::int32_t> codes = add_names(table, items);
    py::tuple distinct(static_cast<std::size_t>(table.size()));
    std::int32_t next = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (codes[i] != next) continue;
        Py_INCREF(items[i]);
        PyTuple_SET_ITEM(distinct.ptr(), next, items[i]);
        ++next;
    }
    return py::make_tuple(array_of(std::vector<std::int64_t>(codes.begin(), codes.end())), distinct);
}

py::array_t<std::uint64_t> name_hashes(const py::object& names, bool bare) {
    const Items items(names);
    py::array_t<std::uint64_t> hashes(static_cast<py::ssize_t>(items.size()));
    std::uint64_t* const hash = hashes.mutable_data();
    for_batches(items, [&](std::size_t first, std::span<const std::string_view> batch) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            hash[first + i] = hash_of(bare ? trim(batch[i], kBlanks) : batch[i]);
        }
    });
    return hashes;
}

bool have_blank_ends(const py::object& names) {
    bool found = false;
    for_batches(Items(names), [&](std::size_t, std::span<const std::string_view> batch) {
        for (const std::string_view name : batch) found |= trim(name, kBlanks).size() != name.size();
    });
    return found;
}

// A tuple of names that are all plain str, or None.
py::object plain_names(const py::object& names) {
    const Items items(names);
    py::tuple plain(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        PyObject* const item = items[i];
        if (!PyUnicode_CheckExact(item)) return py::none();
        Py_INCREF(item);
        PyTuple_SET_ITEM(plain.ptr(), static_cast<py::ssize_t>(i), item);
    }
    return plain;
}

py::set types_of(const py::object& elements) {
    const Items items(elements);
    py::set types;
    const PyTypeObject* last = nullptr;  // Most elements have the type of the one before.
    for (std::size_t i = 0; i < items.size(); ++i) {
        PyTypeObject* const type = Py_TYPE(items[i]);
        if (type == last) continue;
        last = type;
        if (PySet_Add(types.ptr(), reinterpret_cast<PyObject*>(type)) != 0) throw py::error_already_set();
    }
    return types;
}

py::array_t<std::int32_t> add_to(SharedNames& names, const py::object& listed) {
    const Items items(listed);
    std::unique_lock lock(names.mutex);
    const std::vector<std::int32_t> codes = add_names(names.table, items);
    lock.unlock();
    return array_of(codes);
}

// The names that a table has now; it may get more meanwhile, and keeps these.
py::tuple names_of(SharedNames& names) {
    std::unique_lock lock(names.mutex);
    const std::int64_t size = names.table.size();
    lock.unlock();
    py::tuple listed(static_cast<std::size_t>(size));
    lock.lock();
    for (std::int64_t code = 0; code < size; ++code) {
        const std::string_view name = names.table.name(code);
        // A str of Python's may have halves of surrogate pairs.
        PyObject* const text =
            PyUnicode_DecodeUTF8(name.data(), static_cast<py::ssize_t>(name.size()), "surrogatepass");
        if (text == nullptr) throw py::error_already_set();
        PyTuple_SET_ITEM(listed.ptr(), static_cast<py::ssize_t>(code), text);
    }
    return listed;
}

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

RowForm make_form(int width, const std::vector<int>& names, int needed, std::optional<int> value, bool tabs,
                  bool tab_lines) {
    const auto is_field = [&](int field) { return field >= 0 && field < width; };
    const bool are_fields = std::all_of(names.begin(), names.end(), is_field) && is_field(value.value_or(0));
    require(are_fields && needed >= 0, "form: no such field");
    return {width, names, needed, value.value_or(RowForm::kNone), tabs, tab_lines};
}

// Locks each table once, and in an order that all threads keep.
std::vector<std::unique_lock<std::mutex>> lock_in_order(std::vector<SharedNames*> tables) {
    std::sort(tables.begin(), tables.end(), std::less<>());
    tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
    std::vector<std::unique_lock<std::mutex>> locks;
    for (SharedNames* const table : tables) locks.emplace_back(table->mutex);
    return locks;
}

py::tuple read_text_rows(std::string_view text, const RowForm& form, const std::vector<SharedNames*>& tables) {
    require(tables.size() == form.names.size(), "tables: expected one for each field of names");
    std::vector<NameTable*> name_tables;
    for (SharedNames* const table : tables) {
        require(table != nullptr, "tables: expected Names");
        name_tables.push_back(&table->table);
    }
    std::vector<std::unique_lock<std::mutex>> locks = lock_in_order(tables);
    NamedRows rows;
    const LineFault fault = read_rows(text, form, name_tables, &parse_by_python, rows);
    locks.clear();
    py::list codes;
    for (const std::vector<std::int32_t>& column : rows.codes) codes.append(array_of(column));
    py::object first_fault = py::none();
    if (fault.line >= 0) first_fault = py::make_tuple(fault.line, fault.problem);
    return py::make_tuple(first_fault, codes, array_of(rows.values));
}

}  // namespace

void register_names(py::module_& m) {
    py::class_<SharedNames>(m, "Names", py::is_final(),
                            "Distinct names, numbered in the order in which they first occur.")
        .def(py::init<>())
        .def("add", &add_to, py::arg("names"), "The number of each name; new ones are added.")
        .def("listed", &names_of, "The names in the order of their numbers.")
        .def("__len__", [](SharedNames& names) {
            const std::lock_guard lock(names.mutex);
            return names.table.size();
        });
    m.def("codes_among", &codes_among, py::arg("names"), py::arg("among"),
          "The place of each name among others, which are distinct; -1 where there is none, and for what is no str.");
    m.def("code_names", &code_names, py::arg("names"),
          "The number of each name in the order in which they first occur, and the distinct names.");
    m.def("plain_names", &plain_names, py::arg("names"),
          "A tuple of names; None where one is no str, or of a subclass of it.");
    m.def("name_hashes", &name_hashes, py::arg("names"), py::arg("bare") = false,
          "A hash of 64 bits of each name; if bare, of what is between the blanks at its ends.");
    m.def("have_blank_ends", &have_blank_ends, py::arg("names"),
          "Whether a name begins or ends with a blank, a tab or a line break.");
    m.def("types_of", &types_of, py::arg("elements"), "The types of the elements of a list or a tuple.");
    py::class_<RowForm>(m, "RowForm", py::is_final(), "Which fields of a row are what, counted from 0.")
        .def(py::init(&make_form), py::arg("width"), py::arg("names"), py::arg("needed"), py::arg("value") = py::none(),
             py::arg("tabs") = false, py::arg("tab_lines") = false);
    m.def("read_rows", &read_text_rows, py::arg("text"), py::arg("form"), py::arg("tables"),
          "The first wrong line of the text (its number and what is wrong) or None; for each field of names, which are "
          "added to its table, their numbers; and the values.");
}

}  // namespace truerank::bind
