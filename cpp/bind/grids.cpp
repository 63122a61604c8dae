// Queries and entities that are all compared with one another: ranks in both directions, and means of the top k.
#include <pybind11/stl.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/embeddings.hpp"
#include "bind/tasks.hpp"

namespace truerank::bind {

// Embeddings, and the ids of the queries and entities that take part, ascending and distinct.
struct GridArrays {
    EmbeddingArrays embeddings;
    std::vector<std::int64_t> left, right;

    Grid view() const {
        Grid grid{embeddings.view(), left, right};
        require(!embeddings.tokens, "embeddings: lists of tokens");
        require(left.back() < grid.embeddings.queries.rows && right.back() < grid.embeddings.entities.rows,
                "left, right: outside of the vectors");
        return grid;
    }
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::GridArrays);

namespace truerank::bind {
namespace {

std::vector<std::int64_t> checked_ids(const Int64Array& ids) {
    require(ids.ndim() == 1 && ids.size() > 0, "left, right: no ids");
    std::vector<std::int64_t> copy(ids.data(), ids.data() + ids.size());
    require(std::adjacent_find(copy.begin(), copy.end(), std::greater_equal<>()) == copy.end(),
            "left, right: not ascending");
    require(copy.front() >= 0, "left, right: outside of the vectors");
    return copy;
}

GridArrays make_grid(EmbeddingArrays embeddings, const Int64Array& left, const Int64Array& right) {
    GridArrays grid{std::move(embeddings), checked_ids(left), checked_ids(right)};
    grid.view();
    return grid;
}

void require_among(const Int64Array& values, const std::vector<std::int64_t>& ids, const char* message) {
    require(std::all_of(values.data(), values.data() + values.size(),
                        [&](std::int64_t id) { return std::binary_search(ids.begin(), ids.end(), id); }),
            message);
}

std::pair<CountArrays, CountArrays> rank_both(const GridArrays& grid_arrays, const TaskArrays& task_arrays,
                                              const std::optional<SelectionArrays>& filter_left, std::string_view nan,
                                              std::int64_t block, int threads, PythonListener* listener) {
    const Grid grid = grid_arrays.view();
    const std::int64_t size = task_arrays.size();
    require(task_arrays.rows && !task_arrays.candidates, "tasks: rows, and no candidates");
    require_among(*task_arrays.rows, grid.left, "rows: not among the queries that take part");
    require_among(*task_arrays.targets, grid.right, "targets: not among the entities that take part");
    require(block >= 0 && block <= std::int64_t{1} << 40, "block: out of range");
    const NanRule rule = nan_rule(nan);
    const Tasks tasks = task_arrays.view(size);
    const Selection left_filter = filter_left ? filter_left->view(size) : Selection{};
    require(!left_filter.ranges, "selection: ranges");
    CountArrays to_right(size), to_left(size);
    const Counts counts[] = {to_right.add_counts({}), to_left.add_counts({})};
    std::array<Fault, 2> faults;
    const Execution execution{block, threads, interrupt_hook(), listener};
    without_gil([&] { faults = rank_grid(grid, tasks, left_filter, rule, execution, counts[0], counts[1]); });
    to_right.fault = fault_or_none(faults[0]);
    to_left.fault = fault_or_none(faults[1]);
    return {std::move(to_right), std::move(to_left)};
}

std::tuple<py::array, py::array, std::optional<Fault>> topk_means(const GridArrays& grid_arrays, std::int64_t k,
                                                                  std::string_view nan, std::int64_t block, int threads,
                                                                  PythonListener* listener) {
    const Grid grid = grid_arrays.view();
    require(k >= 1 && block >= 0, "k, block: too small");
    const NanRule rule = nan_rule(nan);
    const auto size = [](const std::vector<std::int64_t>& ids) { return static_cast<py::ssize_t>(ids.size()); };
    py::array left = new_scores(grid.embeddings, {size(grid.left)});
    py::array right = new_scores(grid.embeddings, {size(grid.right)});
    void* const left_means = left.mutable_data();
    void* const right_means = right.mutable_data();
    const Execution execution{block, threads, interrupt_hook(), listener};
    Fault fault;
    without_gil([&] { fault = mean_topk(grid, k, rule, execution, left_means, right_means); });
    return {left, right, fault_or_none(fault)};
}

}  // namespace

void register_grids(py::module_& m) {
    py::class_<GridArrays>(m, "Grid", py::is_final(), "Embeddings, and which queries and entities take part.")
        .def(py::init(&make_grid), py::arg("embeddings"), py::arg("left"), py::arg("right"));
    m.def("rank_grid", &rank_both, py::arg("grid"), py::arg("tasks"), py::arg("filter_left").none(true), py::arg("nan"),
          py::arg("block"), py::arg("threads"), py::arg("listener") = nullptr,
          "Counts of queries that rank entities, and of entities that rank queries.");
    m.def("mean_topk", &topk_means, py::arg("grid"), py::arg("k"), py::arg("nan"), py::arg("block"), py::arg("threads"),
          py::arg("listener") = nullptr,
          "The mean of the top k scores of each query, and of each entity, and what made them void, or None.");
}

}  // namespace truerank::bind
