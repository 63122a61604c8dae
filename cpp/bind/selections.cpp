// Selections of candidates: lists of columns that are checked, sorted and handed to tasks. And lists of candidates by
// their ids, in which targets and filters are sought.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bind/tasks.hpp"
#include "engine/names/lists.hpp"

namespace truerank::bind {
namespace {

using Indices32 = py::array_t<std::int32_t>;
using Indices64 = py::array_t<std::int64_t>;

SelectionArrays checked(SelectionArrays selection) {
    selection.check();
    return selection;
}

SelectionArrays make_selection(Int64Array indptr, py::array indices, std::optional<Int64Array> lists, bool shared) {
    return checked({std::move(indptr), std::move(indices), std::move(lists), shared});
}

SelectionArrays make_ranges(Int64Array indptr, std::optional<Int64Array> lists) {
    return checked({std::move(indptr), Int64Array(0), std::move(lists), false, true});
}

py::tuple state_of_selection(const SelectionArrays& s) {
    return py::make_tuple(s.indptr, s.indices, s.lists, s.shared, s.ranges);
}

SelectionArrays selection_from_state(const py::tuple& state) {
    require(state.size() == 5, "selection: no such state");
    return checked({state[0].cast<Int64Array>(), state[1].cast<py::array>(), state[2].cast<std::optional<Int64Array>>(),
                    state[3].cast<bool>(), state[4].cast<bool>()});
}

std::pair<std::int64_t, bool> check_selection(const SelectionArrays& selection, std::int64_t bound, int threads) {
    require(!selection.ranges, "selection: ranges");
    const Selection lists = selection.view();
    ListCheck check;
    bool (*const interrupted)() = interrupt_hook();
    without_gil([&] { check = check_lists(lists, bound, threads, interrupted); });
    return {check.first_outside, check.sorted};
}

// The selection with its lists sorted and without repeats, in new arrays.
SelectionArrays sorted_copy(const SelectionArrays& selection, std::int64_t bound, int threads) {
    require(bound >= 0, "selection: negative bound");
    require(!selection.ranges, "selection: ranges");
    const Selection lists = selection.view();
    py::array copy = lists.wide ? py::array(Indices64(lists.entries)) : py::array(Indices32(lists.entries));
    Int64Array indptr(selection.indptr.size());
    std::int64_t* const ends = indptr.mutable_data();
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(lists.size));
    char* const data = static_cast<char*>(copy.mutable_data());
    const auto size = static_cast<std::int64_t>(copy.itemsize());
    bool (*const interrupted)() = interrupt_hook();
    without_gil([&] {
        sort_lists(lists, data, lengths.data(), bound, threads, interrupted);
        ends[0] = 0;
        for (std::int64_t list = 0; list < lists.size; ++list) {
            const std::int64_t length = lengths[static_cast<std::size_t>(list)];
            std::memmove(data + ends[list] * size, data + lists.indptr[list] * size,
                         static_cast<std::size_t>(length * size));
            ends[list + 1] = ends[list] + length;
        }
    });
    return {indptr, copy[py::slice(0, ends[lists.size], 1)], selection.lists, selection.shared};
}

// The first task whose list lacks its column, or -1.
std::int64_t first_task_without(const SelectionArrays& selection, const Int64Array& columns) {
    return first_task_without(selection.view(columns.size()), columns.data(), columns.size());
}

using ListFaultOrNone = std::optional<std::pair<std::int64_t, std::int64_t>>;

// Returns the fault as (place, earlier place), or None; and arrays by name.
std::pair<ListFaultOrNone, py::dict> find_in_lists(const SelectionArrays& list_arrays, std::int64_t bound,
                                                   const Int64Array& task_lists, const Int64Array& targets,
                                                   const std::optional<SelectionArrays>& filter_arrays, int threads) {
    require(!list_arrays.ranges && !(filter_arrays && filter_arrays->ranges), "selection: ranges");
    require(bound >= 0, "bound: negative");
    const Selection lists = list_arrays.view();
    const std::int64_t size = task_lists.size();
    require(task_lists.ndim() == 1 && targets.ndim() == 1 && targets.size() == size, "targets: not one for each task");
    require_within(task_lists, lists.size, "lists: no such list");
    require(std::is_sorted(task_lists.data(), task_lists.data() + size), "lists: not sorted");
    require_within(targets, bound, "targets: outside of the candidates");
    const Selection filter = filter_arrays ? filter_arrays->view(size) : Selection{};
    py::dict arrays_by_name;
    const auto add = [&](const char* name) {
        Int64Array array(size);
        arrays_by_name[name] = array;
        return array.mutable_data();
    };
    const ListedTasks arrays{add("target"), add("n_filtered"), add("n_filtered_before"), add("n_filtered_listed"),
                             add("filter_lists")};
    const ListTasks tasks{size, task_lists.data(), targets.data()};
    FilteredPlaces filtered;
    ListFault fault;
    bool (*const interrupted)() = interrupt_hook();
    without_gil([&] { fault = find_listed(lists, bound, tasks, filter, threads, interrupted, arrays, filtered); });
    if (fault.place >= 0) return {std::pair{fault.place, fault.earlier}, py::dict()};
    arrays_by_name["filter_indptr"] = array_of(filtered.indptr);
    arrays_by_name["filter_indices"] = array_of(filtered.places);
    return {std::nullopt, arrays_by_name};
}

}  // namespace

void SelectionArrays::check() const {
    require(indptr.ndim() == 1 && indices.ndim() == 1, "selection: not one-dimensional");
    require(py::isinstance<Indices64>(indices) || py::isinstance<Indices32>(indices),
            "selection: indices are neither int32 nor int64");
    require(is_plain(indices), "selection: indices are not contiguous");
    require(!lists || lists->ndim() == 1, "selection: not one-dimensional");
}

Selection SelectionArrays::view() const {
    check();
    require(indptr.size() >= 1, "selection: indptr does not fit");
    Selection selection;
    selection.indptr = indptr.data();
    selection.size = indptr.size() - 1;
    selection.ranges = ranges;
    selection.entries = ranges ? selection.indptr[selection.size] : indices.size();
    if (!ranges) {
        selection.indices = indices.data();
        selection.wide = indices.itemsize() == 8;
    }
    require(selection.indptr[0] == 0 && selection.indptr[selection.size] == selection.entries,
            "selection: indptr does not fit");
    for (std::int64_t list = 0; list < selection.size; ++list) {
        const std::int64_t length = selection.length(list);
        require(length >= 0, "selection: indptr falls");
        selection.longest = std::max(selection.longest, length);
    }
    return selection;
}

Selection SelectionArrays::view(std::int64_t tasks) const {
    Selection selection = view();
    selection.shared = shared;
    if (shared) {
        require(selection.size == 1, "selection: not one list");
    } else if (lists) {
        require(lists->size() == tasks, "selection: not one list for each task");
        require_within(*lists, selection.size, "selection: no such list");
        selection.list_of_task = lists->data();
    } else {
        require(selection.size == tasks, "selection: not one list for each task");
    }
    return selection;
}

void register_selections(py::module_& m) {
    py::class_<SelectionArrays> selection(m, "Selection", py::is_final(), "Lists of columns: a filter, or candidates.");
    add_attribute<&SelectionArrays::indptr>(selection, "indptr");
    add_attribute<&SelectionArrays::indices>(selection, "indices", "Each list must be sorted and without repeats.");
    add_attribute<&SelectionArrays::lists>(selection, "lists", "The list of every task; None: task i has list i.");
    add_attribute<&SelectionArrays::shared>(selection, "shared", "Whether all tasks share one list.");
    selection
        .def(py::init(&make_selection), py::arg("indptr"), py::arg("indices"), py::arg("lists") = py::none(),
             py::arg("shared") = false)
        .def_static("of_ranges", &make_ranges, py::arg("indptr"), py::arg("lists") = py::none(),
                    "A selection without indices: list i holds the columns indptr[i] to indptr[i + 1] - 1.")
        .def("first_task_without", &first_task_without, py::arg("columns"),
             "The first task whose list lacks its column, or -1.")
        .def("check", &check_selection, py::arg("bound"), py::arg("threads"),
             "The position of the first index outside of [0, bound), or -1, and whether all lists are sorted and "
             "distinct.")
        .def("sorted_copy", &sorted_copy, py::arg("bound"), py::arg("threads"),
             "The selection with every list sorted and without repeats, in new arrays.")
        .def(py::pickle(&state_of_selection, &selection_from_state));
    m.def("find_listed", &find_in_lists, py::arg("lists"), py::arg("bound"), py::arg("task_lists"), py::arg("targets"),
          py::arg("filter").none(true), py::arg("threads"),
          "The place of the first id that is out of range (-1) or repeated (with its earlier place), or None. And, for "
          "tasks in order of their lists: the place of the target (or -1), n_filtered, n_filtered_before, "
          "n_filtered_listed, and which lists of filter_indptr and filter_indices are theirs (filter_lists).");
}

}  // namespace truerank::bind
