// What one thread of a sweep does: it scores cells, in buffers of its own.
//
// The queries of a cell are packed once, then its candidates panel by panel. Few queries are scored against candidates
// where these lie. Panels that bounds can decide are not scored at all (bounded_panels.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "engine/bounds/bounded_panels.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/measured.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

template <class C>
class SweepWorker {
  public:
    // Without a quantiser, no pair is decided by bounds.
    SweepWorker(const Scoring<C>& scoring, const SortedTasks& sorted, const Quantiser<C>* quantiser)
        : scoring_(scoring), sorted_(sorted) {
        if (quantiser != nullptr) bounded_ = std::make_unique<BoundedPanels<C>>(*quantiser, tally_);
    }
    const BoundsTally& tally() const { return tally_; }

    // Hands all scores of a cell to a sink, or what bounds tell of them.
    void run(const Cell& cell, Sink<C>& sink, const Poll& poll) {
        load_tasks(cell);
        sink.begin_cell(cell, first_task_);
        const std::int64_t lanes = scoring_.lanes();
        const bool is_bounded = bounded_ && !few();
        // Bounds take as many candidates at once as they can. The tasks of lanes come panel by panel.
        const std::int64_t most = sink.lane_tasks() != nullptr ? lanes : static_cast<std::int64_t>(kPanelLanes);
        columns_.resize(static_cast<std::size_t>(most));
        addends_.resize_candidates(lanes);
        work_ = kWorkBetweenPolls;
        std::int64_t begin = cell.begin, declined_until = cell.begin;
        while (begin < cell.end) {
            const bool tries_bounds = is_bounded && begin >= declined_until;
            const std::int64_t width = tries_bounds ? std::min(most, bounded_->width()) : lanes;
            const Panel panel = begin_panel(cell, begin, width, sink);
            if (!tries_bounds) {
                if (!score(panel, sink, poll)) return;
                count_pairs(cell, panel, sink);
            } else if (bounded_->run(panel, *sink.query_tasks(), sink.lane_tasks())) {
                count_pairs(cell, panel, sink);
                if (stops_after(panel, poll)) return;
            } else {
                declined_until = begin + panel.width;
                continue;
            }
            begin += panel.width;
        }
        sink.end_cell();
    }

  private:
    static constexpr auto kTileRows = static_cast<std::int64_t>(kTileQueries);
    static constexpr auto kFewRows = static_cast<std::int64_t>(kFewQueries);

    std::int64_t queries() const { return static_cast<std::int64_t>(query_rows_.size()); }
    bool few() const { return scoring_.few(queries(), bounded_ != nullptr); }

    // Adds up work, and polls when there was much since the last time.
    bool stops(const Poll& poll, std::int64_t work) {
        work_ += work;
        if (work_ < kWorkBetweenPolls) return false;
        const bool is_stopped = poll.stops(work_, done_);
        work_ = done_ = 0;
        return is_stopped;
    }
    bool stops_after(const Panel& panel, const Poll& poll) {
        return stops(poll, queries() * panel.width * (1 + scoring_.depth() / 16));
    }
    Panel begin_panel(const Cell& cell, std::int64_t begin, std::int64_t width, Sink<C>& sink) {
        const Panel panel{.begin = begin, .width = std::min(width, cell.end - begin), .columns = columns_.data()};
        cell.candidates.with_numbers(begin, [&](const auto& column) {
            for (std::int64_t i = 0; i < panel.width; ++i) columns_[static_cast<std::size_t>(i)] = column(i);
        });
        sink.begin_panel(panel);
        return panel;
    }
    void count_pairs(const Cell& cell, const Panel& panel, Sink<C>& sink) {
        done_ += queries() * panel.width;
        tally_.pairs += (cell.last_task - cell.first_task) * panel.width;
        if (LayeredTasks<C>* const lane_tasks = sink.lane_tasks()) tally_.pairs += queries() * lane_tasks->tasks();
    }

    // Hands the scores of all queries of the cell against a panel to the sink; false if it was stopped.
    bool score(const Panel& panel, Sink<C>& sink, const Poll& poll) {
        pack_queries();
        addends_.gather_candidates(scoring_, panel.columns, panel.width);
        if (few()) return score_in_place(panel, sink, poll);
        if (bounded_ && score_exactly(panel, sink)) return !stops_after(panel, poll);
        return score_panel(panel, sink, poll);
    }
    bool score_panel(const Panel& panel, Sink<C>& sink, const Poll& poll) {
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        const std::int64_t tiles = divide_up(queries(), kTileRows), tile_size = kTileRows * lanes;
        const std::int64_t passes = std::max<std::int64_t>(1, divide_up(depth, measured::kDepthAtOnce));
        panel_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, depth) * lanes));
        sums_.resize(static_cast<std::size_t>(passes > 1 ? tiles * tile_size : tile_size));
        const auto start = Gauge::Clock::now();
        scoring_.candidates.pack(panel.columns, panel.width, lanes, scoring_.packing(), panel_.data(),
                                 addends_.candidate_squares.data(), scratch_);
        for (std::int64_t pass = 0; pass < passes; ++pass) {
            const std::int64_t k = pass * measured::kDepthAtOnce, length = std::min(measured::kDepthAtOnce, depth - k);
            for (std::int64_t tile = 0; tile < tiles; ++tile) {
                if (stops(poll, tile_size * (1 + length / 16))) return false;
                C* const sums = sums_.data() + (passes > 1 ? tile * tile_size : 0);
                scoring_.kernels.accumulate(scoring_.similarity, queries_.data() + (tile * depth + k) * kTileRows,
                                            panel_.data() + k * lanes, static_cast<std::size_t>(length), pass == 0,
                                            sums);
                if (pass + 1 < passes) continue;
                const std::int64_t first = tile * kTileRows;
                take_sums(sums, first, std::min(kTileRows, queries() - first), sink);
            }
        }
        if (bounded_) bounded_->record_scored(Gauge::Clock::now() - start, panel.width);
        return true;
    }
    // By sums of bytes, which are exact; false where they are not, and nothing was done.
    bool score_exactly(const Panel& panel, Sink<C>& sink) {
        if (!bounded_->can_sum_exactly()) return false;
        const auto start = Gauge::Clock::now();
        const auto take = [&](C* sums, std::int64_t first, std::int64_t n) { take_sums(sums, first, n, sink); };
        if (!bounded_->sum_exactly(panel, take)) return false;
        bounded_->record_scored(Gauge::Clock::now() - start, panel.width);
        return true;
    }
    // Of few queries, for which candidates are not packed.
    bool score_in_place(const Panel& panel, Sink<C>& sink, const Poll& poll) {
        const std::int64_t lanes = scoring_.lanes();
        if (stops_after(panel, poll)) return false;
        sums_.resize(static_cast<std::size_t>(divide_up(queries(), kFewRows) * kFewRows * lanes));
        if (scoring_.has_bytes()) {
            sum_bytes_in_place(panel);
        } else {
            sum_in_place(panel);
        }
        take_sums(sums_.data(), 0, queries(), sink);
        return true;
    }
    void sum_bytes_in_place(const Panel& panel) {
        const bool is_signed = scoring_.candidates.dtype() == DType::int8;
        row_kernels<C>().accumulate_bytes(
            scoring_.similarity, byte_queries_.data(), query_rows_.size(),
            scoring_.candidates.load_bytes(panel.columns, panel.width, bytes_), static_cast<std::size_t>(panel.width),
            is_signed, static_cast<std::size_t>(scoring_.depth()), scoring_.kernels.lanes, sums_.data());
    }
    void sum_in_place(const Panel& panel) {
        const std::int64_t lanes = scoring_.lanes(), depth = scoring_.depth();
        vectors_.resize(static_cast<std::size_t>(lanes));
        scratch_.resize(std::max(scratch_.size(), static_cast<std::size_t>(lanes * depth)));
        const bool normalise = scoring_.packing().normalise;
        scoring_.candidates.load(panel.columns, panel.width, normalise, scratch_.data(), vectors_.data());
        // The first candidate stands in for those that are missing.
        std::fill(vectors_.begin() + panel.width, vectors_.end(), vectors_[0]);
        row_kernels<C>().accumulate(
            scoring_.similarity, queries_.data(), query_rows_.size(), vectors_.data(), static_cast<std::size_t>(depth),
            scoring_.candidates.adjacent(panel.columns, panel.width, normalise), scoring_.kernels.lanes, sums_.data());
    }
    // Makes scores of the sums of n queries from the first on, and hands them on.
    void take_sums(C* sums, std::int64_t first, std::int64_t n, Sink<C>& sink) {
        scoring_.kernels.finish(scoring_.similarity, addends_.tile_of_queries(scoring_, sums, first, n));
        work_ += sink.take_scores(sums, first, n);
    }

    // Lists the queries of a cell and their tasks, unless they are those of the last one.
    void load_tasks(const Cell& cell) {
        if (cell.first_query == loaded_first_query_ && cell.last_query == loaded_last_query_ &&
            cell.first_task == loaded_first_task_) {
            return;
        }
        loaded_first_query_ = cell.first_query;
        loaded_last_query_ = cell.last_query;
        loaded_first_task_ = cell.first_task;
        are_queries_packed_ = false;
        list_first_tasks(cell, sorted_, first_task_);
        query_rows_.clear();
        for (std::int64_t i = cell.first_query; i < cell.last_query; ++i) {
            query_rows_.push_back(sorted_.queries[static_cast<std::size_t>(i)].row);
        }
        if (bounded_ && !few()) bounded_->load_queries(query_rows_, first_task_);
    }
    // Packs the queries, unless they are packed already.
    void pack_queries() {
        if (are_queries_packed_) return;
        are_queries_packed_ = true;
        const std::int64_t tile_rows = few() ? kFewRows : kTileRows, depth = scoring_.depth();
        const std::int64_t rows = divide_up(queries(), tile_rows) * tile_rows;
        queries_.resize(static_cast<std::size_t>(rows * std::max<std::int64_t>(1, depth)));
        addends_.resize_queries(rows);
        addends_.gather_queries(scoring_, query_rows_.data(), queries());
        if (few() && scoring_.has_bytes()) read_byte_queries();
        for (std::int64_t i = 0; i < rows; i += tile_rows) {
            scoring_.queries.pack(query_rows_.data() + i, std::min(tile_rows, queries() - i), tile_rows,
                                  scoring_.packing(), queries_.data() + i * depth, addends_.query_squares.data() + i,
                                  scratch_);
        }
    }
    void read_byte_queries() {
        const auto depth = static_cast<std::size_t>(scoring_.depth());
        scratch_.resize(std::max(scratch_.size(), depth));
        byte_queries_.clear();
        for (const std::int64_t id : query_rows_) {
            const C* const row = scoring_.queries.row(id, scratch_.data());
            std::transform(row, row + depth, std::back_inserter(byte_queries_),
                           [](C x) { return static_cast<std::int16_t>(x); });
        }
    }

    const Scoring<C>& scoring_;
    const SortedTasks& sorted_;
    BoundsTally tally_;
    std::unique_ptr<BoundedPanels<C>> bounded_;  // null where no pair is decided by bounds
    std::int64_t work_ = 0, done_ = 0;  // since the last poll, in scores, and in pairs of a query and a candidate

    // The cell that was loaded last: its queries, the first task of each, and whether they are packed.
    std::int64_t loaded_first_query_ = -1, loaded_last_query_ = -1, loaded_first_task_ = -1;
    std::vector<std::int64_t> query_rows_, first_task_;
    bool are_queries_packed_ = false;
    std::vector<C> queries_;
    std::vector<std::int16_t> byte_queries_;  // of few
    ByteRows bytes_;

    // A panel: its candidates, packed or where they lie, what finishes their sums, and these.
    std::vector<std::int64_t> columns_;
    std::vector<C> panel_;
    std::vector<const C*> vectors_;
    Addends<C> addends_;
    std::vector<C> sums_;

    std::vector<C> scratch_;
};

// The scores of some pairs of a query and a candidate: the same bits as in a sweep.
template <class C>
void score_vector_pairs(const Scoring<C>& scoring, const std::int64_t* rows, const std::int64_t* columns,
                        std::int64_t n, C* out, const Poll& poll) {
    const std::int64_t lanes = scoring.lanes(), depth = scoring.depth();
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(1, depth) * lanes);
    std::vector<C> queries(size), candidates(size), sums(scoring.kernels.lanes), scratch;
    Addends<C> addends;
    addends.resize_queries(lanes);
    addends.resize_candidates(lanes);
    for (std::int64_t at = 0; at < n; at += lanes) {
        if (poll.stops(4 * lanes * (1 + depth))) return;
        const std::int64_t width = std::min(lanes, n - at);
        scoring.queries.pack(rows + at, width, lanes, scoring.packing(), queries.data(), addends.query_squares.data(),
                             scratch);
        scoring.candidates.pack(columns + at, width, lanes, scoring.packing(), candidates.data(),
                                addends.candidate_squares.data(), scratch);
        addends.gather_queries(scoring, rows + at, width);
        addends.gather_candidates(scoring, columns + at, width);
        std::fill(sums.begin(), sums.end(), C{0});
        scoring.kernels.accumulate_pairs(scoring.similarity, queries.data(), candidates.data(),
                                         static_cast<std::size_t>(depth), sums.data());
        scoring.kernels.finish(scoring.similarity, addends.row_of_pairs(scoring, sums.data()));
        std::copy_n(sums.begin(), width, out + at);
    }
}

}  // namespace truerank
