#include "engine/sweep.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/bounded_panels.hpp"
#include "engine/late.hpp"
#include "engine/threads.hpp"
#include "kernels/measured.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

void list_first_tasks(const Cell& cell, const SortedQuery* queries, std::vector<std::int64_t>& first_task) {
    first_task.clear();
    for (std::int64_t i = cell.first_query; i < cell.last_query; ++i) {
        first_task.push_back(std::max(queries[i].first_task, cell.first_task) - cell.first_task);
    }
    first_task.push_back(cell.last_task - cell.first_task);
}

Workload::Workload(const SortedTasks& sorted, std::int64_t depth) {
    for (const Group& group : sorted.groups) {
        multiply_adds += static_cast<double>(group.last_query - group.first_query) *
                         static_cast<double>(group.candidates.size) * static_cast<double>(depth);
    }
}
int Workload::threads(const Execution& execution) const {
    // Fewer are done before another thread has woken up.
    constexpr double serial = 1 << 23;
    return execution.threads == 0 && multiply_adds < serial ? 1 : execution.threads;
}
Duration Workload::duration() const {
    // Fewer take some ten milliseconds (see kBriefBytes).
    constexpr double brief = 1 << 29;
    return multiply_adds < brief ? Duration::brief : Duration::any;
}

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

namespace {

// Scores cells for one thread, in buffers of its own.
template <class C>
class SweepWorker {
  public:
    SweepWorker(const Scoring<C>& scoring, const Quantisation<C>* quantisation) : scoring_(scoring) {
        if (quantisation == nullptr) return;
        bounded_ = std::make_unique<BoundedPanels<C>>(*quantisation, scoring);
    }
    const BoundsTally& tally() const { return tally_; }

    // Hands all scores of a cell to a sink.
    void run(const Cell& cell, const SortedQuery* sorted_queries, Sink<C>& sink, bool is_caller, Stop& stop) {
        load_tasks(cell, sorted_queries);
        sink.begin_cell(cell, first_task_);
        if (few()) return run_few(cell, sink, is_caller, stop);
        const std::int64_t lanes = scoring_.lanes();
        // Bounds take as many candidates at once as they can. The tasks of lanes come panel by panel.
        BoundedTasks<C>* const tasks = sink.query_tasks();
        LayeredTasks<C>* const lane_tasks = sink.lane_tasks();
        const std::int64_t bounded_width = lane_tasks != nullptr ? lanes : static_cast<std::int64_t>(kPanelLanes);
        columns_.resize(static_cast<std::size_t>(bounded_width));
        addends_.resize_candidates(bounded_width);
        std::int64_t work = kWorkBetweenPolls, begin = cell.begin, declined = cell.begin;
        const auto begin_panel = [&](std::int64_t width) {
            const Panel panel{begin, std::min(width, cell.end - begin), columns_.data()};
            load_columns(panel, cell.candidates);
            sink.begin_panel(panel);
            return panel;
        };
        while (begin < cell.end) {
            if (bounded_ && begin >= declined) {
                const Panel panel = begin_panel(std::min(bounded_width, bounded_->width()));
                if (bounded_->run(columns_.data(), panel.width, *tasks, lane_tasks, tally_)) {
                    count_pairs(cell, panel, sink);
                    done_ += static_cast<std::int64_t>(query_rows_.size()) * panel.width;
                    if (stopped(stop, is_caller, kWorkBetweenPolls)) return;
                    begin += panel.width;
                    continue;
                }
                declined = begin + panel.width;
            }
            const Panel panel = begin_panel(lanes);
            count_pairs(cell, panel, sink);
            if (!score_panel(panel, sink, is_caller, stop, work)) return;
            begin += panel.width;
        }
        sink.end_cell();
    }

    // run() for so few queries that candidates are not packed.
    void run_few(const Cell& cell, Sink<C>& sink, bool is_caller, Stop& stop) {
        load_queries();
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        const auto queries = static_cast<std::int64_t>(query_rows_.size());
        sums_.resize(static_cast<std::size_t>(kFewRows * lanes));
        vectors_.resize(static_cast<std::size_t>(lanes));
        columns_.resize(static_cast<std::size_t>(lanes));
        addends_.resize_candidates(lanes);
        std::int64_t work = kWorkBetweenPolls;
        for (std::int64_t begin = cell.begin; begin < cell.end; begin += lanes) {
            work += queries * lanes * (1 + depth / 16);
            if (work >= kWorkBetweenPolls) {
                if (stopped(stop, is_caller, work)) return;
                work = 0;
            }
            const Panel panel{begin, std::min(lanes, cell.end - begin), columns_.data()};
            load_columns(panel, cell.candidates);
            addends_.gather_candidates(scoring_, panel.columns, panel.width);
            sink.begin_panel(panel);
            count_pairs(cell, panel, sink);
            scoring_.candidates.locate(panel.columns, panel.width, scratch_, vectors_.data());
            std::fill(vectors_.begin() + panel.width, vectors_.end(), vectors_[0]);
            row_kernels<C>().accumulate(scoring_.similarity, queries_.data(), static_cast<std::size_t>(queries),
                                        vectors_.data(), static_cast<std::size_t>(depth),
                                        scoring_.candidates.adjacent(panel.columns, panel.width),
                                        static_cast<std::size_t>(lanes), sums_.data());
            finish(sums_.data(), queries, 0, false);
            work += sink.take_scores(sums_.data(), 0, queries);
            done_ += queries * panel.width;
        }
        sink.end_cell();
    }

    // The scores of pairs: the same bits as in run().
    void score_pairs(const std::int64_t* rows, const std::int64_t* columns, std::int64_t n, C* out, bool is_caller,
                     Stop& stop) {
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        const auto size = static_cast<std::size_t>(std::max<std::int64_t>(1, depth) * lanes);
        queries_.resize(size);
        panel_.resize(size);
        sums_.resize(static_cast<std::size_t>(lanes));
        addends_.resize_queries(lanes);
        addends_.resize_candidates(lanes);
        loaded_first_query_ = loaded_last_query_ = -1;
        for (std::int64_t at = 0; at < n; at += lanes) {
            if (stop.requested(is_caller, 4 * lanes * (1 + depth))) return;
            const std::int64_t width = std::min(lanes, n - at);
            scoring_.queries.pack(rows + at, width, lanes, scoring_.packing(), queries_.data(),
                                  addends_.query_squares.data(), scratch_);
            scoring_.candidates.pack(columns + at, width, lanes, scoring_.packing(), panel_.data(),
                                     addends_.candidate_squares.data(), scratch_);
            addends_.gather_queries(scoring_, rows + at, width);
            addends_.gather_candidates(scoring_, columns + at, width);
            std::fill(sums_.begin(), sums_.end(), C{0});
            scoring_.kernels.accumulate_pairs(scoring_.similarity, queries_.data(), panel_.data(),
                                              static_cast<std::size_t>(depth), sums_.data());
            finish(sums_.data(), 1, 0, true);
            std::copy_n(sums_.data(), width, out + at);
        }
    }

  private:
    // Hands the scores of all queries of the cell against a panel to the sink, tile by tile; false if it was stopped.
    // `work` is what was done since the last poll.
    bool score_panel(const Panel& panel, Sink<C>& sink, bool is_caller, Stop& stop, std::int64_t& work) {
        load_queries();
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        const auto queries = static_cast<std::int64_t>(query_rows_.size());
        const std::int64_t tiles = divide_up(queries, kTileRows), tile_size = kTileRows * lanes;
        const std::int64_t passes = std::max<std::int64_t>(1, divide_up(depth, measured::kDepthAtOnce));
        panel_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, depth) * lanes));
        sums_.resize(static_cast<std::size_t>(passes > 1 ? tiles * tile_size : tile_size));
        const auto start = Gauge::Clock::now();
        load_panel(panel);
        for (std::int64_t pass = 0; pass < passes; ++pass) {
            const std::int64_t k = pass * measured::kDepthAtOnce, length = std::min(measured::kDepthAtOnce, depth - k);
            for (std::int64_t tile = 0; tile < tiles; ++tile) {
                work += tile_size * (1 + length / 16);
                if (work >= kWorkBetweenPolls) {
                    if (stopped(stop, is_caller, work)) return false;
                    work = 0;
                }
                C* const sums = sums_.data() + (passes > 1 ? tile * tile_size : 0);
                scoring_.kernels.accumulate(scoring_.similarity, queries_.data() + (tile * depth + k) * kTileRows,
                                            panel_.data() + k * lanes, static_cast<std::size_t>(length), pass == 0,
                                            sums);
                if (pass + 1 < passes) continue;
                const std::int64_t n = std::min(kTileRows, queries - tile * kTileRows);
                finish(sums, n, tile * kTileRows, false);
                work += sink.take_scores(sums, tile * kTileRows, n);
            }
        }
        if (bounded_) bounded_->record_scored(Gauge::Clock::now() - start, panel.width);
        done_ += queries * panel.width;
        return true;
    }

    static constexpr auto kTileRows = static_cast<std::int64_t>(kTileQueries);
    static constexpr auto kFewRows = static_cast<std::int64_t>(kFewQueries);

    bool few() const { return scoring_.few(static_cast<std::int64_t>(query_rows_.size())); }

    bool stopped(Stop& stop, bool is_caller, std::int64_t work) {
        return stop.requested(is_caller, work, std::exchange(done_, 0));
    }

    void count_pairs(const Cell& cell, const Panel& panel, Sink<C>& sink) {
        tally_.pairs += (cell.last_task - cell.first_task) * panel.width;
        if (LayeredTasks<C>* const lane_tasks = sink.lane_tasks()) {
            tally_.pairs += (cell.last_query - cell.first_query) * lane_tasks->tasks();
        }
    }

    // Makes scores of the sums of n queries from the given one on; if `pairwise`, of one row of pairs.
    void finish(C* sums, std::int64_t n, std::int64_t query, bool pairwise) const {
        scoring_.kernels.finish(scoring_.similarity, addends_.tile(scoring_, sums, n, query, pairwise));
    }

    // Lists the queries of a cell and their tasks, unless they are those of the last one.
    void load_tasks(const Cell& cell, const SortedQuery* queries) {
        if (cell.first_query == loaded_first_query_ && cell.last_query == loaded_last_query_ &&
            cell.first_task == loaded_first_task_) {
            return;
        }
        loaded_first_query_ = cell.first_query;
        loaded_last_query_ = cell.last_query;
        loaded_first_task_ = cell.first_task;
        packed_ = false;
        list_first_tasks(cell, queries, first_task_);
        query_rows_.clear();
        for (std::int64_t i = cell.first_query; i < cell.last_query; ++i) query_rows_.push_back(queries[i].row);
        if (bounded_ && !few()) bounded_->load_queries(query_rows_, first_task_);
    }

    // Packs the queries, unless they are packed already.
    void load_queries() {
        if (packed_) return;
        packed_ = true;
        const auto n = static_cast<std::int64_t>(query_rows_.size());
        const std::int64_t tile_rows = few() ? kFewRows : kTileRows;
        const std::int64_t depth = scoring_.depth(), tiles = divide_up(n, tile_rows);
        queries_.resize(static_cast<std::size_t>(tiles * tile_rows * std::max<std::int64_t>(1, depth)));
        addends_.resize_queries(tiles * tile_rows);
        addends_.gather_queries(scoring_, query_rows_.data(), n);
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            const std::int64_t i = tile * tile_rows;
            scoring_.queries.pack(query_rows_.data() + i, std::min(tile_rows, n - i), tile_rows, scoring_.packing(),
                                  queries_.data() + i * depth, addends_.query_squares.data() + i, scratch_);
        }
    }

    void load_columns(const Panel& panel, const ListedColumns& view) {
        for (std::int64_t i = 0; i < panel.width; ++i) {
            columns_[static_cast<std::size_t>(i)] = view(panel.begin + i);
        }
    }

    void load_panel(const Panel& panel) {
        scoring_.candidates.pack(panel.columns, panel.width, scoring_.lanes(), scoring_.packing(), panel_.data(),
                                 addends_.candidate_squares.data(), scratch_);
        addends_.gather_candidates(scoring_, panel.columns, panel.width);
    }

    const Scoring<C>& scoring_;
    std::unique_ptr<BoundedPanels<C>> bounded_;  // null where no pair is decided by bounds
    BoundsTally tally_;
    std::int64_t done_ = 0;  // pairs of a query and a candidate, since the last poll

    // The cell that was loaded last: its queries, the first task of each, and whether they are packed.
    std::int64_t loaded_first_query_ = -1, loaded_last_query_ = -1, loaded_first_task_ = -1;
    std::vector<std::int64_t> query_rows_, first_task_;
    bool packed_ = false;
    std::vector<C> queries_;

    // A panel: its candidates, packed or where they lie, what finishes their sums, and these.
    std::vector<std::int64_t> columns_;
    std::vector<C> panel_;
    std::vector<const C*> vectors_;
    Addends<C> addends_;
    std::vector<C> sums_;

    std::vector<C> scratch_;
};

}  // namespace

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

template <class C>
void sweep(const Scoring<C>& scoring, const SortedTasks& sorted, const Execution& execution, std::int64_t task_bytes,
           const std::function<std::unique_ptr<Sink<C>>()>& make_sink) {
    if (scoring.embeddings.has_tokens()) return sweep_tokens(scoring, sorted, execution, task_bytes, make_sink);
    const Workload work(sorted, 1 + scoring.depth());
    const int threads = work.threads(execution);
    const CellSizing sizing{scoring.depth(), scoring.lanes(), sizeof(C),
                            task_bytes,      execution.block, threads > 0 ? threads : default_threads()};
    const std::vector<Cell> cells = cut_cells(sorted, sizing);
    const auto chunks = static_cast<std::int64_t>(cells.size());
    const Team team(threads, chunks, work.duration());
    std::vector<std::unique_ptr<Sink<C>>> sinks;
    for (int i = 0; i < team.size(); ++i) sinks.push_back(make_sink());
    std::optional<Quantisation<C>> quantisation;
    const bool has_many_queries = std::any_of(sorted.groups.begin(), sorted.groups.end(), [&](const Group& group) {
        return are_bounds_forced() || group.last_query - group.first_query >= measured::kLeastBoundedQueries;
    });
    if (sinks[0]->query_tasks() != nullptr && execution.bounded && has_many_queries) {
        quantisation = Quantisation<C>::make(scoring.embeddings, scoring.candidates);
    }
    std::vector<SweepWorker<C>> workers;
    for (int i = 0; i < team.size(); ++i) workers.emplace_back(scoring, quantisation ? &*quantisation : nullptr);
    std::int64_t pairs = 0;
    for (const Cell& cell : cells) pairs += (cell.last_query - cell.first_query) * (cell.end - cell.begin);
    const auto run = [&](std::int64_t chunk, int worker, Stop& stop) {
        const auto w = static_cast<std::size_t>(worker);
        workers[w].run(cells[static_cast<std::size_t>(chunk)], sorted.queries.data(), *sinks[w], worker == 0, stop);
    };
    parallel_for(team, chunks, execution.interrupted, run, execution.listener, pairs);
    for (const SweepWorker<C>& worker : workers) add_to_tally(worker.tally());
}

template <class C>
void score_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                 const Execution& execution, C* out) {
    if (scoring.embeddings.has_tokens()) return score_token_pairs(scoring, rows, columns, n, execution, out);
    // A chunk is enough work to be worth handing out.
    const std::int64_t size = std::clamp<std::int64_t>((1 << 20) / (1 + scoring.depth()), 1, 1 << 14) * scoring.lanes();
    const Team team(execution.threads, divide_up(n, size));
    std::vector<SweepWorker<C>> workers;
    for (int i = 0; i < team.size(); ++i) workers.emplace_back(scoring, nullptr);
    parallel_for(team, divide_up(n, size), execution.interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
        const std::int64_t at = chunk * size;
        workers[static_cast<std::size_t>(worker)].score_pairs(rows + at, columns + at, std::min(size, n - at), out + at,
                                                              worker == 0, stop);
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
