// What both sweeps over a grid need first: its tasks, sorted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/grid.hpp"
#include "engine/sweep.hpp"

namespace truerank {

// Sorts the tasks of a grid by query. All its queries are in the result, those without tasks, too.
inline SortedTasks sort_grid_tasks(const Grid& grid, const Tasks& tasks, const Selection& right) {
    // The rows are copied first, as in sort_tasks.
    std::vector<std::pair<std::int64_t, std::int64_t>> keys(static_cast<std::size_t>(tasks.size));
    for (std::int64_t task = 0; task < tasks.size; ++task) {
        const std::int64_t row = std::clamp<std::int64_t>(tasks.rows[task], 0, grid.embeddings.queries.rows - 1);
        keys[static_cast<std::size_t>(task)] = {row, task};
    }
    std::sort(keys.begin(), keys.end());
    SortedTasks sorted;
    for (const auto& key : keys) {
        sorted.rows.push_back(key.first);
        sorted.order.push_back(key.second);
    }
    std::size_t position = 0;
    for (const std::int64_t id : grid.left) {
        sorted.queries.push_back({id, static_cast<std::int64_t>(position)});
        while (position < sorted.rows.size() && sorted.rows[position] <= id) ++position;
    }
    sorted.queries.push_back({-1, tasks.size});
    sorted.groups.push_back({0, grid.left_size(), {right, {0, grid.right_size()}, grid.embeddings.entities.rows}});
    return sorted;
}

// A selection of one list that all tasks share; `indptr` is 0 and the length of the list.
inline Selection single_list(const std::array<std::int64_t, 2>& indptr, const std::vector<std::int64_t>& ids) {
    Selection selection;
    selection.indptr = indptr.data();
    selection.indices = ids.data();
    selection.shared = true;
    selection.size = 1;
    selection.entries = selection.longest = indptr[1];
    return selection;
}

}  // namespace truerank
