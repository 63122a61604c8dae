// Passes over all pairs of queries and candidates, tile by tile: no score is kept.
//
// The tasks, sorted by the query they ask, are cut into cells: some queries against a stretch of their candidates. A
// worker packs the queries of a cell once, then its candidates panel by panel, and hands the scores of a few queries
// against a panel, while they are in the nearest cache, to a sink that counts or keeps what it wants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/selection.hpp"
#include "engine/threads.hpp"
#include "engine/vectors.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

template <class C>
struct Scoring {
    explicit Scoring(const Embeddings& e)
        : queries(e.queries),
          candidates(e.entities),
          similarity(e.similarity),
          bias(static_cast<const C*>(e.bias)),
          query_means(static_cast<const C*>(e.query_means)),
          candidate_means(static_cast<const C*>(e.entity_means)) {}
    Vectors<C> queries;
    Vectors<C> candidates;
    Similarity similarity;
    const C* bias;
    const C* query_means;
    const C* candidate_means;
    const SimilarityKernels<C>& kernels = similarity_kernels<C>();

    std::int64_t depth() const { return queries.depth(); }
    auto lanes() const { return static_cast<std::int64_t>(kernels.lanes); }
    Packing packing() const { return {normalises(similarity), needs_squares(similarity)}; }
};

// The candidates of some tasks: all, or one list of a selection.
struct View {
    const Selection* selection = nullptr;
    std::int64_t start = 0;
    std::int64_t size = 0;
    std::int64_t bound = 0;  // there are so many columns: an array that is the caller's may change under our hands

    std::int64_t column(std::int64_t i) const {
        if (selection == nullptr) return i;
        const std::int64_t column = selection->column(start + i);
        return static_cast<std::uint64_t>(column) < static_cast<std::uint64_t>(bound) ? column : 0;
    }
};

// A query, and the position of the first of its tasks in the sorted order; the last are before those of the next. It
// may have none, where only its candidates ask.
struct Asked {
    std::int64_t row;
    std::int64_t first;
};

// Queries, by their positions among those asked, that have the same candidates.
struct Group {
    std::int64_t first;
    std::int64_t last;
    View view;
};

// What a worker does at once: some queries, some of the tasks of each, and the candidates from begin to end of the
// group's view. Sinks know tasks alone.
struct Cell {
    std::int64_t asked_first;
    std::int64_t asked_last;
    std::int64_t first;
    std::int64_t last;
    View view;
    std::int64_t begin;
    std::int64_t end;
};

// Candidates packed side by side, those from `width` on made up.
struct Panel {
    std::int64_t begin;  // where they are in the view
    std::int64_t width;
    const std::int64_t* columns;  // which they are, ascending
};

// Tasks sorted by list of candidates, then by query: which they are, what query each asks; the queries, with one more
// at the end; and the groups of these.
struct Sorted {
    std::vector<std::int64_t> order;
    std::vector<std::int64_t> rows;
    std::vector<Asked> asked;
    std::vector<Group> groups;
    std::int64_t asked_at(std::int64_t query) const { return asked[static_cast<std::size_t>(query)].first; }
};
Sorted sort_tasks(const Tasks& tasks, const Selection& candidates, const Embeddings& embeddings);

// What the sizes of cells follow from. `task_bytes` is what a task costs a sink; `block`, candidates to a cell, may be
// 0.
struct Shape {
    std::int64_t depth;
    std::int64_t lanes;
    std::int64_t item;  // bytes of a number
    std::int64_t task_bytes;
    std::int64_t block;
    int threads;
};
std::vector<Cell> cut(const Sorted& sorted, const Shape& shape);

// Memory for one worker.
template <class C>
class Sweeper {
  public:
    explicit Sweeper(const Scoring<C>& scoring) : scoring_(scoring) {}

    // Hands all scores of a cell to a sink: begin(cell, first) with the positions first[i] to first[i + 1] of the tasks
    // of query i, counted from the cell's; enter(panel); take(scores, i, n), those of queries i to i + n, which returns
    // how much work it was, in scores; end(), unless it was stopped before.
    template <class Sink>
    void run(const Cell& cell, const Asked* asked, Sink& sink, bool caller, Stop& stop) {
        load(cell, asked);
        sink.begin(cell, first_of_);
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        const std::int64_t queries = static_cast<std::int64_t>(first_of_.size()) - 1;
        const std::int64_t groups = divide_up(queries, kGroup), tile = kGroup * lanes;
        const std::int64_t blocks = std::max<std::int64_t>(1, divide_up(depth, kDepth));
        panel_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, depth) * lanes));
        sums_.resize(static_cast<std::size_t>(blocks > 1 ? groups * tile : tile));
        columns_.resize(static_cast<std::size_t>(lanes));
        for (auto* buffer : {&bias_, &means_}) buffer->resize(static_cast<std::size_t>(lanes));
        squares_.resize(static_cast<std::size_t>(lanes));
        std::int64_t work = kWorkBetweenLooks;
        for (std::int64_t begin = cell.begin; begin < cell.end; begin += lanes) {
            const Panel panel{begin, std::min(lanes, cell.end - begin), columns_.data()};
            load(panel, cell.view);
            sink.enter(panel);
            for (std::int64_t block = 0; block < blocks; ++block) {
                const std::int64_t k = block * kDepth, length = std::min(kDepth, depth - k);
                for (std::int64_t g = 0; g < groups; ++g) {
                    work += tile * (1 + length / 16);
                    if (work >= kWorkBetweenLooks) {
                        if (stop.asked(caller, work)) return;
                        work = 0;
                    }
                    C* const sums = sums_.data() + (blocks > 1 ? g * tile : 0);
                    scoring_.kernels.accumulate(scoring_.similarity, queries_.data() + (g * depth + k) * kGroup,
                                                panel_.data() + k * lanes, static_cast<std::size_t>(length), block == 0,
                                                sums);
                    if (block + 1 < blocks) continue;
                    const std::int64_t n = std::min(kGroup, queries - g * kGroup);
                    scoring_.kernels.finish(scoring_.similarity, tile_of(sums, n, g * kGroup, false));
                    work += sink.take(sums, g * kGroup, n);
                }
            }
        }
        sink.end();
    }

    // The scores of pairs, in the same bits.
    void pairs(const std::int64_t* rows, const std::int64_t* columns, std::int64_t n, C* out, bool caller, Stop& stop) {
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        const auto size = static_cast<std::size_t>(std::max<std::int64_t>(1, depth) * lanes);
        queries_.resize(size);
        panel_.resize(size);
        for (auto* buffer : {&sums_, &bias_, &means_, &query_means_}) buffer->resize(static_cast<std::size_t>(lanes));
        for (auto* buffer : {&squares_, &query_squares_}) buffer->resize(static_cast<std::size_t>(lanes));
        loaded_first_ = loaded_last_ = -1;
        for (std::int64_t at = 0; at < n; at += lanes) {
            if (stop.asked(caller, 4 * lanes * (1 + depth))) return;
            const std::int64_t width = std::min(lanes, n - at);
            scoring_.queries.pack(rows + at, width, lanes, scoring_.packing(), queries_.data(), query_squares_.data(),
                                  scratch_);
            scoring_.candidates.pack(columns + at, width, lanes, scoring_.packing(), panel_.data(), squares_.data(),
                                     scratch_);
            gather(scoring_.bias, columns + at, width, bias_);
            gather(scoring_.candidate_means, columns + at, width, means_);
            gather(scoring_.query_means, rows + at, width, query_means_);
            std::fill(sums_.begin(), sums_.end(), C{0});
            scoring_.kernels.accumulate_pairs(scoring_.similarity, queries_.data(), panel_.data(),
                                              static_cast<std::size_t>(depth), sums_.data());
            scoring_.kernels.finish(scoring_.similarity, tile_of(sums_.data(), 1, 0, true));
            std::copy_n(sums_.data(), width, out + at);
        }
    }

  private:
    static constexpr auto kGroup = static_cast<std::int64_t>(kQueries);
    // So much of a panel stays in the second-level cache while the queries pass: half a megabyte in the widest vectors.
    static constexpr std::int64_t kDepth = 2048;

    static void gather(const C* from, const std::int64_t* ids, std::int64_t n, std::vector<C>& to) {
        for (std::int64_t i = 0; from != nullptr && i < n; ++i) to[static_cast<std::size_t>(i)] = from[ids[i]];
    }

    // The n rows of sums from the given query on; or, pairwise, one of pairs.
    Tile<C> tile_of(C* sums, std::int64_t n, std::int64_t query, bool pairwise) const {
        Tile<C> tile{sums,
                     static_cast<std::size_t>(n),
                     nullptr,
                     query_squares_.data() + query,
                     squares_.data(),
                     nullptr,
                     nullptr,
                     pairwise};
        if (scoring_.bias != nullptr) tile.bias = bias_.data();
        if (scoring_.query_means != nullptr) {
            tile.query_means = query_means_.data() + query;
            tile.candidate_means = means_.data();
        }
        return tile;
    }

    // The queries of a cell, unless they are there already.
    void load(const Cell& cell, const Asked* asked) {
        if (cell.asked_first == loaded_first_ && cell.asked_last == loaded_last_ && cell.first == loaded_task_) return;
        loaded_first_ = cell.asked_first;
        loaded_last_ = cell.asked_last;
        loaded_task_ = cell.first;
        first_of_.clear();
        distinct_.clear();
        for (std::int64_t i = cell.asked_first; i < cell.asked_last; ++i) {
            distinct_.push_back(asked[i].row);
            first_of_.push_back(std::max(asked[i].first, cell.first) - cell.first);
        }
        first_of_.push_back(cell.last - cell.first);
        const auto n = static_cast<std::int64_t>(distinct_.size());
        const std::int64_t depth = scoring_.depth(), groups = divide_up(n, kGroup);
        queries_.resize(static_cast<std::size_t>(groups * kGroup * std::max<std::int64_t>(1, depth)));
        query_squares_.resize(static_cast<std::size_t>(groups * kGroup));
        query_means_.resize(static_cast<std::size_t>(groups * kGroup));
        gather(scoring_.query_means, distinct_.data(), n, query_means_);
        for (std::int64_t g = 0; g < groups; ++g) {
            const std::int64_t i = g * kGroup;
            scoring_.queries.pack(distinct_.data() + i, std::min(kGroup, n - i), kGroup, scoring_.packing(),
                                  queries_.data() + i * depth, query_squares_.data() + i, scratch_);
        }
    }

    void load(const Panel& panel, const View& view) {
        for (std::int64_t i = 0; i < panel.width; ++i) {
            columns_[static_cast<std::size_t>(i)] = view.column(panel.begin + i);
        }
        scoring_.candidates.pack(panel.columns, panel.width, scoring_.lanes(), scoring_.packing(), panel_.data(),
                                 squares_.data(), scratch_);
        gather(scoring_.bias, panel.columns, panel.width, bias_);
        gather(scoring_.candidate_means, panel.columns, panel.width, means_);
    }

    const Scoring<C>& scoring_;
    std::int64_t loaded_first_ = -1, loaded_last_ = -1, loaded_task_ = -1;
    std::vector<std::int64_t> distinct_, first_of_, columns_;
    std::vector<C> queries_, panel_, bias_, means_, query_means_, sums_, scratch_;
    std::vector<double> query_squares_, squares_;
};

// All cells of the sorted tasks, each worker with a sink of its own.
template <class C, class MakeSink>
void sweep(const Scoring<C>& scoring, const Sorted& sorted, const Way& way, std::int64_t task_bytes,
           const MakeSink& make_sink) {
    // Multiply-adds that are done before another thread has woken up.
    constexpr double alone = 1 << 23;
    double work = 0;
    for (const Group& group : sorted.groups) {
        work += static_cast<double>(group.last - group.first) * static_cast<double>(group.view.size) *
                static_cast<double>(1 + scoring.depth());
    }
    const int wanted = way.threads > 0 ? way.threads : work < alone ? 1 : 0;
    const Shape shape{scoring.depth(), scoring.lanes(), sizeof(C),
                      task_bytes,      way.block,       wanted > 0 ? wanted : default_threads()};
    const std::vector<Cell> cells = cut(sorted, shape);
    const auto pieces = static_cast<std::int64_t>(cells.size());
    const Team team(wanted, pieces);
    std::vector<Sweeper<C>> sweepers(static_cast<std::size_t>(team.size()), Sweeper<C>(scoring));
    std::vector<decltype(make_sink())> sinks;
    for (int i = 0; i < team.size(); ++i) sinks.push_back(make_sink());
    parallel_for(team, pieces, way.interrupted, [&](std::int64_t piece, int worker, Stop& stop) {
        const auto w = static_cast<std::size_t>(worker);
        sweepers[w].run(cells[static_cast<std::size_t>(piece)], sorted.asked.data(), sinks[w], worker == 0, stop);
    });
}

// The scores of pairs of a query and a candidate.
template <class C>
void score_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns, std::int64_t n,
                 const Way& way, C* out) {
    // Enough work to be worth handing out.
    const std::int64_t size = std::clamp<std::int64_t>((1 << 20) / (1 + scoring.depth()), 1, 1 << 14) * scoring.lanes();
    const Team team(way.threads, divide_up(n, size));
    std::vector<Sweeper<C>> sweepers(static_cast<std::size_t>(team.size()), Sweeper<C>(scoring));
    parallel_for(team, divide_up(n, size), way.interrupted, [&](std::int64_t piece, int worker, Stop& stop) {
        const std::int64_t at = piece * size;
        sweepers[static_cast<std::size_t>(worker)].pairs(rows + at, columns + at, std::min(size, n - at), out + at,
                                                         worker == 0, stop);
    });
}

}  // namespace truerank
