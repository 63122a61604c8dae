#include "sweep.hpp"

#include <compare>

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

Sorted sort_tasks(const Tasks& tasks, const Selection& candidates, const Embeddings& embeddings) {
    // A copy first: the arrays are the caller's, whose other threads could write to them while they are compared.
    struct Key {
        std::int64_t list, row, task;
        auto operator<=>(const Key&) const = default;
    };
    std::vector<Key> keys(static_cast<std::size_t>(tasks.size));
    for (std::int64_t task = 0; task < tasks.size; ++task) {
        const std::int64_t row = tasks.rows == nullptr ? task : tasks.rows[task];
        const std::int64_t list = candidates ? candidates.list(task) : 0;
        keys[static_cast<std::size_t>(task)] = {
            std::clamp<std::int64_t>(list, 0, std::max<std::int64_t>(0, candidates.size - 1)),
            std::clamp<std::int64_t>(row, 0, embeddings.queries.rows - 1), task};
    }
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    const std::int64_t columns = embeddings.entities.rows;
    Sorted sorted;
    sorted.order.reserve(keys.size());
    sorted.rows.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        sorted.order.push_back(keys[i].task);
        sorted.rows.push_back(keys[i].row);
        if (i == 0 || keys[i].list != keys[i - 1].list) {
            View view{nullptr, 0, columns, columns};
            if (candidates) {
                view = {&candidates, candidates.indptr[keys[i].list], candidates.length(keys[i].list), columns};
            }
            sorted.groups.push_back({at, at, view});
        }
        sorted.groups.back().last = at + 1;
    }
    return sorted;
}

}  // namespace truerank
