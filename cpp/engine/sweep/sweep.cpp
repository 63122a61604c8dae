#include "engine/sweep/sweep.hpp"

#include <algorithm>
#include <compare>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/bounds/bounds.hpp"
#include "engine/bounds/quantiser.hpp"
#include "engine/sweep/sweep_worker.hpp"
#include "engine/tokens/token_plan.hpp"
#include "engine/tokens/token_scores.hpp"
#include "engine/tokens/token_worker.hpp"
#include "kernels/measured.hpp"

namespace truerank {

constinit thread_local BoundsTally bounds_tally;
BoundsChoice bounds_choice;

SortedTasks sort_tasks(const Tasks& tasks, const Embeddings& embeddings) {
    const Selection& candidates = tasks.candidates;
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
            std::clamp<std::int64_t>(row, 0, embeddings.query_count() - 1), task};
    }
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    const std::int64_t columns = embeddings.entity_count();
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
            ListedColumns view(0, columns);
            if (candidates) view = {candidates, candidates.span(keys[i].list), columns, tasks.first_column};
            sorted.groups.push_back({query, query, view});
        }
        sorted.groups.back().last_query = static_cast<std::int64_t>(sorted.queries.size());
    }
    sorted.queries.push_back({-1, static_cast<std::int64_t>(keys.size())});  // where the tasks of the last query end
    return sorted;
}

void list_first_tasks(const Cell& cell, const SortedTasks& sorted, std::vector<std::int64_t>& first_task) {
    first_task.clear();
    for (std::int64_t i = cell.first_query; i < cell.last_query; ++i) {
        first_task.push_back(std::max(sorted.first_task_of(i), cell.first_task) - cell.first_task);
    }
    first_task.push_back(cell.last_task - cell.first_task);
}

namespace {

// What the sizes of cells depend on.
struct CellSizing {
    std::int64_t query_bytes;  // the components of a query
    std::int64_t task_bytes;   // what a sink keeps for each task
    std::int64_t lanes;
    std::int64_t block;  // candidates in a cell; 0: chosen here
    int threads;
};
struct CellSize {
    std::int64_t queries, tasks, candidates;
};
CellSize choose_cell_size(const SortedTasks& sorted, const CellSizing& sizing) {
    // Packed queries, and what a sink keeps for tasks, stay in the last-level cache, roughly.
    constexpr std::int64_t cached_queries = std::int64_t{8} << 20, cached_tasks = std::int64_t{16} << 20;  // bytes
    // Enough queries and panels to make up for the packing of candidates, and enough cells that threads end at about
    // the same time.
    constexpr std::int64_t few_queries = 96, few_panels = 8, cells_per_thread = 8, most_cell_candidates = 1 << 16;
    CellSize size{
        .queries = std::clamp<std::int64_t>(cached_queries / std::max<std::int64_t>(1, sizing.query_bytes), few_queries,
                                            1 << 13),
        .tasks = std::clamp<std::int64_t>(cached_tasks / std::max<std::int64_t>(1, sizing.task_bytes), 1, 1 << 16),
        .candidates = sizing.block};
    const std::int64_t wanted_cells = cells_per_thread * sizing.threads;
    std::int64_t total_queries = 0, query_chunks = 0, most_candidates = 1;
    for (const Group& group : sorted.groups) {
        const std::int64_t queries = group.last_query - group.first_query;
        const std::int64_t tasks = sorted.first_task_of(group.last_query) - sorted.first_task_of(group.first_query);
        total_queries += queries;
        query_chunks += std::max(divide_up(queries, size.queries), tasks / size.tasks);
        most_candidates = std::max(most_candidates, group.candidates.size);
    }
    if (size.candidates == 0) {
        const std::int64_t wanted_cuts = divide_up(wanted_cells, std::max<std::int64_t>(1, query_chunks));
        const std::int64_t share = divide_up(divide_up(most_candidates, wanted_cuts), sizing.lanes) * sizing.lanes;
        size.candidates = std::clamp(share, few_panels * sizing.lanes, most_cell_candidates);
    }
    const std::int64_t candidate_chunks = divide_up(most_candidates, size.candidates);
    if (query_chunks * candidate_chunks < wanted_cells) {
        const std::int64_t share = divide_up(total_queries, divide_up(wanted_cells, candidate_chunks));
        size.queries = std::min(size.queries, std::max(few_queries, share));
    }
    return size;
}
void cut_group(const Group& group, const SortedTasks& sorted, const CellSize& most, std::vector<Cell>& cells) {
    for (std::int64_t from = group.first_query, to; from < group.last_query; from = to) {
        std::int64_t first = sorted.first_task_of(from);
        const auto has_room = [&] {
            return to - from < most.queries && sorted.first_task_of(to + 1) - first <= most.tasks;
        };
        to = from + 1;
        while (to < group.last_query && has_room()) ++to;
        const std::int64_t end = sorted.first_task_of(to);
        do {  // A single query may have more tasks than are counted at once, and one of a grid none.
            const std::int64_t last = std::min(end, first + most.tasks);
            for (std::int64_t begin = 0; begin < group.candidates.size; begin += most.candidates) {
                const std::int64_t cell_end = std::min(group.candidates.size, begin + most.candidates);
                cells.push_back({from, to, first, last, group.candidates, begin, cell_end});
            }
            first = last;
        } while (first < end);
    }
}
std::vector<Cell> cut_cells(const SortedTasks& sorted, const CellSizing& sizing) {
    const CellSize most = choose_cell_size(sorted, sizing);
    std::vector<Cell> cells;
    for (const Group& group : sorted.groups) cut_group(group, sorted, most, cells);
    return cells;
}

// What there is to do without lists of tokens.
struct CellPlan {
    std::vector<Cell> chunks;
    std::int64_t pairs = 0;
    explicit CellPlan(std::vector<Cell> cells) : chunks(std::move(cells)) {
        for (const Cell& cell : chunks) pairs += (cell.last_query - cell.first_query) * (cell.end - cell.begin);
    }
};

struct SweepWork {
    double multiply_adds = 0;
    bool bounds_may_gain;
};
template <class C>
SweepWork estimate_work(const Scoring<C>& scoring, const SortedTasks& sorted) {
    const Embeddings& embeddings = scoring.embeddings;
    const bool has_tokens = embeddings.has_tokens();
    // With few queries, or few tokens of these, it takes longer to quantise candidates than to score them.
    SweepWork work{.bounds_may_gain =
                       are_bounds_forced() || (has_tokens && embeddings.queries.rows >= measured::kLeastBoundedTokens)};
    for (const Group& group : sorted.groups) {
        const std::int64_t queries = group.last_query - group.first_query;
        work.multiply_adds += static_cast<double>(queries) * static_cast<double>(group.candidates.size) *
                              static_cast<double>(1 + embeddings.mean_depth());
        if (!has_tokens && queries >= Quantiser<C>::least_queries(scoring)) work.bounds_may_gain = true;
    }
    return work;
}

// Has the threads of a team, each with a worker and a sink of its own, run the chunks of a plan.
template <class Worker, class C, class Plan>
void run_plan(const Plan& plan, const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution,
              int threads, const SweepWork& work, const std::function<std::unique_ptr<Sink<C>>()>& make_sink) {
    constexpr double brief = 1 << 29;  // Fewer multiply-adds take some ten milliseconds (see kBriefBytes).
    const std::int64_t chunks = std::ssize(plan.chunks);
    const Team team(threads, chunks, work.multiply_adds < brief ? Duration::brief : Duration::any);
    std::vector<std::unique_ptr<Sink<C>>> sinks;
    for (int i = 0; i < team.size(); ++i) sinks.push_back(make_sink());
    const bool takes_bounds = scoring.embeddings.has_tokens() || sinks[0]->query_tasks() != nullptr;
    const bool is_bounded = work.bounds_may_gain && takes_bounds;
    const std::optional<Quantiser<C>> quantiser = is_bounded ? Quantiser<C>::make(scoring) : std::nullopt;
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < team.size(); ++i) {
        workers.push_back(std::make_unique<Worker>(scoring, sorted, quantiser ? &*quantiser : nullptr));
    }
    const auto run = [&](std::int64_t chunk, int worker, Stop& stop) {
        const auto w = static_cast<std::size_t>(worker);
        workers[w]->run(plan.chunks[static_cast<std::size_t>(chunk)], *sinks[w], Poll{stop, worker == 0});
    };
    parallel_for(team, chunks, execution.interrupted, run, execution.listener, plan.pairs);
    for (const auto& worker : workers) bounds_tally.add(worker->tally());
}

}  // namespace

template <class C>
void sweep(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution, std::int64_t task_bytes,
           const std::function<std::unique_ptr<Sink<C>>()>& make_sink) {
    const Embeddings& embeddings = scoring.embeddings;
    const bool has_tokens = embeddings.has_tokens();
    const SweepWork work = estimate_work(scoring, sorted);
    constexpr double serial = 1 << 23;  // Fewer multiply-adds are done before another thread has woken up.
    const int threads = execution.threads == 0 && work.multiply_adds < serial ? 1 : execution.threads;
    const int most_threads = threads > 0 ? threads : default_threads();
    const std::int64_t query_vectors =
        has_tokens ? divide_up(embeddings.queries.rows, std::max<std::int64_t>(1, embeddings.query_count())) : 1;
    CellSizing sizing{.query_bytes = scoring.depth() * query_vectors * static_cast<std::int64_t>(sizeof(C)),
                      .task_bytes = task_bytes,
                      .lanes = scoring.lanes(),
                      .block = execution.block,
                      .threads = most_threads};
    if (has_tokens) {
        sizing.block = std::max<std::int64_t>(1, embeddings.entity_count());
        const TokenPlan plan(embeddings, sorted, cut_cells(sorted, sizing), execution.block, most_threads);
        run_plan<TokenWorker<C>>(plan, scoring, sorted, execution, threads, work, make_sink);
    } else {
        const CellPlan plan(cut_cells(sorted, sizing));
        run_plan<SweepWorker<C>>(plan, scoring, sorted, execution, threads, work, make_sink);
    }
}

template <class C>
void score_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                 const Execution& execution, C* out) {
    const bool has_tokens = scoring.embeddings.has_tokens();
    const auto score = has_tokens ? score_token_pairs<C> : score_vector_pairs<C>;
    // A chunk is enough work to be worth handing out. Pairs of vectors are scored side by side.
    const std::int64_t depth = scoring.embeddings.mean_depth(), side_by_side = has_tokens ? 1 : scoring.lanes();
    const std::int64_t size =
        std::max<std::int64_t>(16, std::clamp<std::int64_t>((1 << 20) / (1 + depth), 1, 1 << 14) * side_by_side);
    const std::int64_t chunks = divide_up(n, size);
    const Team team(execution.threads, chunks);
    parallel_for(team, chunks, execution.interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
        const std::int64_t at = chunk * size;
        score(scoring, rows + at, columns + at, std::min(size, n - at), out + at, Poll{stop, worker == 0});
    });
}

template void sweep(const Scoring<float>&, const SortedTasks&, const Execution&, std::int64_t,
                    const std::function<std::unique_ptr<Sink<float>>()>&);
template void sweep(const Scoring<double>&, const SortedTasks&, const Execution&, std::int64_t,
                    const std::function<std::unique_ptr<Sink<double>>()>&);
template void score_pairs(const Scoring<float>&, const std::int64_t*, const std::int64_t*, std::int64_t,
                          const Execution&, float*);
template void score_pairs(const Scoring<double>&, const std::int64_t*, const std::int64_t*, std::int64_t,
                          const Execution&, double*);

}  // namespace truerank
