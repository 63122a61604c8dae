#include "engine/sweep.hpp"

#include <compare>

namespace truerank {

std::vector<Cell> cut_cells(const SortedTasks& sorted, const CellSizing& sizing) {
    // Packed queries, and what a sink keeps for tasks, stay in the last-level cache, roughly.
    constexpr std::int64_t query_bytes = std::int64_t{8} << 20, sink_bytes = std::int64_t{16} << 20;
    // Enough queries and panels to make up for the packing of candidates, and enough cells that threads end at about
    // the same time.
    constexpr std::int64_t few_queries = 96, few_panels = 8, cells_per_thread = 8, longest = 1 << 16;
    const auto clamped_share = [](std::int64_t bytes, std::int64_t each, std::int64_t least, std::int64_t most) {
        return std::clamp(bytes / std::max<std::int64_t>(1, each), least, most);
    };
    const std::int64_t tasks = clamped_share(sink_bytes, sizing.task_bytes, 1, 1 << 16);
    std::int64_t queries = clamped_share(query_bytes, sizing.depth * sizing.number_bytes, few_queries, 1 << 13);
    const std::int64_t cells = cells_per_thread * sizing.threads;
    std::int64_t total_queries = 0, query_chunks = 0, most_candidates = 1;
    for (const Group& group : sorted.groups) {
        total_queries += group.last_query - group.first_query;
        query_chunks +=
            std::max(divide_up(group.last_query - group.first_query, queries),
                     (sorted.first_task_of(group.last_query) - sorted.first_task_of(group.first_query)) / tasks);
        most_candidates = std::max(most_candidates, group.candidates.size);
    }
    std::int64_t cell_candidates = sizing.block;
    if (cell_candidates == 0) {
        const std::int64_t cuts = divide_up(cells, std::max<std::int64_t>(1, query_chunks));
        cell_candidates = divide_up(divide_up(most_candidates, cuts), sizing.lanes) * sizing.lanes;
        cell_candidates = std::clamp(cell_candidates, few_panels * sizing.lanes, longest);
    }
    if (query_chunks * divide_up(most_candidates, cell_candidates) < cells) {
        const std::int64_t cuts = divide_up(cells, divide_up(most_candidates, cell_candidates));
        queries = std::min(queries, std::max(few_queries, divide_up(total_queries, cuts)));
    }
    std::vector<Cell> result;
    for (const Group& group : sorted.groups) {
        const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t first, std::int64_t last) {
            for (std::int64_t begin = 0; begin < group.candidates.size; begin += cell_candidates) {
                const std::int64_t end = std::min(group.candidates.size, begin + cell_candidates);
                result.push_back({from, to, first, last, group.candidates, begin, end});
            }
        };
        for (std::int64_t from = group.first_query, to; from < group.last_query; from = to) {
            const std::int64_t first = sorted.first_task_of(from);
            for (to = from;
                 to < group.last_query && to - from < queries && sorted.first_task_of(to + 1) - first <= tasks;)
                ++to;
            if (to > from) {
                add(from, to, first, sorted.first_task_of(to));
                continue;
            }
            to = from + 1;  // a query with more tasks than are counted at once
            for (std::int64_t task = first; task < sorted.first_task_of(to); task += tasks) {
                add(from, to, task, std::min(sorted.first_task_of(to), task + tasks));
            }
        }
    }
    return result;
}

SortedTasks sort_tasks(const Tasks& tasks, const Selection& candidates, const Embeddings& embeddings) {
    // The keys are copies: the arrays are the caller's, whose other threads could write to them during the sort. They
    // are clamped, so that whatever is written stays in bounds.
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
    SortedTasks sorted;
    sorted.order.reserve(keys.size());
    sorted.rows.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        sorted.order.push_back(keys[i].task);
        sorted.rows.push_back(keys[i].row);
        const bool is_new_list = i == 0 || keys[i].list != keys[i - 1].list;
        const auto query = static_cast<std::int64_t>(sorted.queries.size());
        if (is_new_list || keys[i].row != keys[i - 1].row) {
            sorted.queries.push_back({keys[i].row, static_cast<std::int64_t>(i)});
        }
        if (is_new_list) {
            CandidateView view{nullptr, 0, columns, columns};
            if (candidates) {
                const Span span = candidates.span(keys[i].list);
                view = {&candidates, span.start, span.length, columns, tasks.first_column};
            }
            sorted.groups.push_back({query, query, view});
        }
        sorted.groups.back().last_query = static_cast<std::int64_t>(sorted.queries.size());
    }
    sorted.queries.push_back({-1, static_cast<std::int64_t>(keys.size())});  // where the tasks of the last query end
    return sorted;
}

}  // namespace truerank
