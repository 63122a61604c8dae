// Lists of candidates by their ids: where targets and filters are in them.
#include "engine/names/lists.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bind/tasks.hpp"

namespace truerank::bind {
namespace {

using ListFaultOrNone = std::optional<std::pair<std::int64_t, std::int64_t>>;

// Returns the fault as (place, earlier place), or None; and arrays by name.
std::pair<ListFaultOrNone, py::dict> find(const SelectionArrays& list_arrays, std::int64_t bound,
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

void register_lists(py::module_& m) {
    m.def("find_listed", &find, py::arg("lists"), py::arg("bound"), py::arg("task_lists"), py::arg("targets"),
          py::arg("filter").none(true), py::arg("threads"),
          "The place of the first id that is out of range (-1) or repeated (with its earlier place), or None. And, for "
          "tasks in order of their lists: the place of the target (or -1), n_filtered, n_filtered_before, "
          "n_filtered_listed, and which lists of filter_indptr and filter_indices are theirs (filter_lists).");
}

}  // namespace truerank::bind
