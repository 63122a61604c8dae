#include "sweep.hpp"

#include <numeric>

namespace truerank {

std::vector<Cell> cut(const std::vector<Group>& groups, const std::int64_t* rows, const Shape& shape) {
    // Packed queries, and what a sink keeps of tasks, stay in the last-level cache, more or less.
    constexpr std::int64_t query_bytes = std::int64_t{8} << 20, sink_bytes = std::int64_t{16} << 20;
    // Enough to hide the packing of candidates behind, and, of cells, the end of the slowest.
    constexpr std::int64_t few_queries = 96, few_panels = 8, cells_per_thread = 4, longest = 1 << 16;
    const auto at_most = [](std::int64_t bytes, std::int64_t each, std::int64_t least, std::int64_t most) {
        return std::clamp(bytes / std::max<std::int64_t>(1, each), least, most);
    };
    const std::int64_t tasks = at_most(sink_bytes, shape.task_bytes, 1, 1 << 16);
    std::int64_t queries = at_most(query_bytes, shape.depth * shape.item, few_queries, 1 << 13);
    const std::int64_t cells = cells_per_thread * shape.threads;
    std::int64_t total = 0, chunks = 0, candidates = 1;
    for (const Group& group : groups) {
        total += group.last - group.first;
        chunks += divide_up(group.last - group.first, std::min(tasks, queries));
        candidates = std::max(candidates, group.view.size);
    }
    std::int64_t stretch = shape.block;
    if (stretch == 0) {
        const std::int64_t parts = divide_up(cells, std::max<std::int64_t>(1, chunks));
        stretch = divide_up(divide_up(candidates, parts), shape.lanes) * shape.lanes;
        stretch = std::clamp(stretch, few_panels * shape.lanes, longest);
    }
    if (chunks * divide_up(candidates, stretch) < cells) {
        const std::int64_t parts = divide_up(cells, divide_up(candidates, stretch));
        queries = std::min(queries, std::max(few_queries, divide_up(total, parts)));
    }
    std::vector<Cell> result;
    for (const Group& group : groups) {
        for (std::int64_t first = group.first, last; first < group.last; first = last) {
            std::int64_t distinct = 1;
            for (last = first + 1; last < group.last && last - first < tasks; ++last) {
                if (rows[last] != rows[last - 1] && ++distinct > queries) break;
            }
            for (std::int64_t begin = 0; begin < group.view.size; begin += stretch) {
                result.push_back({first, last, group.view, begin, std::min(group.view.size, begin + stretch)});
            }
        }
    }
    return result;
}

Sorted sort_tasks(const Tasks& tasks, const Selection& candidates, std::int64_t columns) {
    const auto row = [&](std::int64_t task) { return tasks.rows == nullptr ? task : tasks.rows[task]; };
    const auto list = [&](std::int64_t task) { return candidates ? candidates.list(task) : 0; };
    Sorted sorted;
    sorted.order.resize(static_cast<std::size_t>(tasks.size));
    std::iota(sorted.order.begin(), sorted.order.end(), std::int64_t{0});
    const auto before = [&](std::int64_t a, std::int64_t b) {
        if (list(a) != list(b)) return list(a) < list(b);
        return row(a) != row(b) ? row(a) < row(b) : a < b;
    };
    if (!std::is_sorted(sorted.order.begin(), sorted.order.end(), before)) {
        std::sort(sorted.order.begin(), sorted.order.end(), before);
    }
    sorted.rows.reserve(sorted.order.size());
    for (const std::int64_t task : sorted.order) {
        const auto at = static_cast<std::int64_t>(sorted.rows.size());
        sorted.rows.push_back(row(task));
        if (sorted.groups.empty() || list(task) != list(sorted.order[static_cast<std::size_t>(at - 1)])) {
            View view{nullptr, 0, columns, columns};
            if (candidates) {
                view = {&candidates, candidates.indptr[list(task)], candidates.length(list(task)), columns};
            }
            sorted.groups.push_back({at, at, view});
        }
        sorted.groups.back().last = at + 1;
    }
    return sorted;
}

}  // namespace truerank
