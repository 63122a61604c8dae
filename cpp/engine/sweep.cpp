#include "engine/sweep.hpp"

#include <compare>

namespace truerank {

std::vector<Cell> cut(const Sorted& sorted, const Shape& shape) {
    // Packed queries, and what a sink keeps of tasks, stay in the last-level cache, more or less.
    constexpr std::int64_t query_bytes = std::int64_t{8} << 20, sink_bytes = std::int64_t{16} << 20;
    // Enough to hide the packing of candidates behind, and, of cells, the end of the slowest.
    constexpr std::int64_t few_queries = 96, few_panels = 8, cells_per_thread = 8, longest = 1 << 16;
    const auto at_most = [](std::int64_t bytes, std::int64_t each, std::int64_t least, std::int64_t most) {
        return std::clamp(bytes / std::max<std::int64_t>(1, each), least, most);
    };
    const std::int64_t tasks = at_most(sink_bytes, shape.task_bytes, 1, 1 << 16);
    std::int64_t queries = at_most(query_bytes, shape.depth * shape.item, few_queries, 1 << 13);
    const std::int64_t cells = cells_per_thread * shape.threads;
    std::int64_t total = 0, chunks = 0, candidates = 1;
    for (const Group& group : sorted.groups) {
        total += group.last - group.first;
        chunks += std::max(divide_up(group.last - group.first, queries),
                           (sorted.asked_at(group.last) - sorted.asked_at(group.first)) / tasks);
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
    for (const Group& group : sorted.groups) {
        const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t first, std::int64_t last) {
            for (std::int64_t begin = 0; begin < group.view.size; begin += stretch) {
                const std::int64_t end = std::min(group.view.size, begin + stretch);
                result.push_back({from, to, first, last, group.view, begin, end});
            }
        };
        for (std::int64_t from = group.first, to; from < group.last; from = to) {
            const std::int64_t first = sorted.asked_at(from);
            for (to = from; to < group.last && to - from < queries && sorted.asked_at(to + 1) - first <= tasks;) ++to;
            if (to > from) {
                add(from, to, first, sorted.asked_at(to));
                continue;
            }
            to = from + 1;  // more tasks than are counted at once
            for (std::int64_t task = first; task < sorted.asked_at(to); task += tasks) {
                add(from, to, task, std::min(sorted.asked_at(to), task + tasks));
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
        sorted.order.push_back(keys[i].task);
        sorted.rows.push_back(keys[i].row);
        const bool other_list = i == 0 || keys[i].list != keys[i - 1].list;
        const auto at = static_cast<std::int64_t>(sorted.asked.size());
        if (other_list || keys[i].row != keys[i - 1].row) {
            sorted.asked.push_back({keys[i].row, static_cast<std::int64_t>(i)});
        }
        if (other_list) {
            View view{nullptr, 0, columns, columns};
            if (candidates) {
                view = {&candidates, candidates.indptr[keys[i].list], candidates.length(keys[i].list), columns};
            }
            sorted.groups.push_back({at, at, view});
        }
        sorted.groups.back().last = static_cast<std::int64_t>(sorted.asked.size());
    }
    sorted.asked.push_back({-1, static_cast<std::int64_t>(keys.size())});
    return sorted;
}

}  // namespace truerank
