// The first step of ranking: the scores of rows are counted for the tasks that read them, as if nothing were filtered.
//
// How a chunk is read depends on how the matrix lies in memory. There are three ways:
//
// - scan_single_tasks: every task has a row of its own, which is read in place. This is the common case, and runs at
//   the speed of memory, so that all else (true scores, filters, what is written) is kept out of the stream of reads.
// - scan_columns: columns are contiguous. Rows are lanes, many of which are counted side by side along the columns.
// - scan_groups: all others, where rows have several tasks or candidates of their own, or scores have to be copied.
//
// Where a chunk has whole rows, the second step (row_finish.hpp) follows at once, while rows are in the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "engine/rows/row_finish.hpp"
#include "engine/rows/row_problem.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// So few columns at a time stay in the cache while several layers pass over them.
constexpr std::int64_t kColumnsPerPass = 5 * static_cast<std::int64_t>(measured::kColumnsPerVisit);

// How the work is cut into chunks. A chunk has `chunk_height` groups of tasks or, if column_major, rows of the
// matrix and, of each row, `chunk_columns` columns or candidates.
struct Plan {
    bool column_major = false;      // columns are contiguous: many rows are counted at once
    bool single_tasks = false;      // every task has a row of its own, which is read in place
    bool marks_candidates = false;  // the same of shared candidates: all other columns count as nothing
    bool serial = false;            // too little work for a second thread
    Duration duration = Duration::any;
    std::int64_t chunks = 0;
    std::int64_t chunk_height = 1;
    std::int64_t groups_at_once = 1;  // scanned side by side, since their scores share cache lines
    std::int64_t row_length = 0;      // columns, or the most candidates, that a row has
    std::int64_t chunk_columns = 0;
    std::int64_t chunks_per_row = 1;
    // Whether chunks have whole rows, so that no other thread adds to the counts of their tasks.
    bool whole_rows() const { return chunks_per_row == 1; }
};

template <class T>
class RowCounting {
  public:
    RowCounting(const RowProblem<T>& problem, const Plan& plan, RowTotals<T>& totals, RowFinish<T>& finish)
        : p_(problem), plan_(plan), totals_(totals), finish_(finish) {
        if (!plan.marks_candidates) return;
        const ListedColumns columns = p_.candidate_columns(0);
        increments_.assign(static_cast<std::size_t>(p_.scores.columns), 0);
        for (std::int64_t i = 0; i < columns.size; ++i) increments_[static_cast<std::size_t>(columns(i))] = 1;
    }

    // Counts for the tasks of a chunk.
    void scan(RankWorker<T>& worker, std::int64_t chunk) {
        const std::int64_t begin = chunk % plan_.chunks_per_row * plan_.chunk_columns;
        const std::int64_t end = std::min(plan_.row_length, begin + plan_.chunk_columns);
        const std::int64_t top = chunk / plan_.chunks_per_row * plan_.chunk_height;
        if (!plan_.column_major) {
            return scan_rows(worker, top, std::min(p_.groups(), top + plan_.chunk_height), begin, end);
        }
        // Of the chunk's rows, as many as fill whole vectors may be lanes; the others are read one by one.
        const std::int64_t height = std::min(plan_.chunk_height, p_.scores.rows - top);
        const std::int64_t lanes = height - height % static_cast<std::int64_t>(p_.kernels.lane_multiple);
        const std::int64_t first = p_.first_group_from(top), last = p_.first_group_from(top + height);
        const std::int64_t lanes_end = p_.first_group_from(top + lanes);
        std::int64_t layers = 0;
        for (std::int64_t g = first; g < lanes_end; ++g) {
            layers = std::max(layers, static_cast<std::int64_t>(p_.group(g).size()));
        }
        const bool fills_lanes = lanes_end > first && (lanes_end - first) * measured::kMaxRowsPerGroup >= lanes;
        if (!fills_lanes || layers > measured::kMaxLayers) return scan_rows(worker, first, last, begin, end);
        scan_columns(worker, first, lanes_end, layers, top, lanes, begin, end);
        if (plan_.whole_rows()) finish_.finish_groups(worker, first, lanes_end);
        scan_rows(worker, lanes_end, last, begin, end);
    }

    // Whether every task has a short row of its own, one after the other.
    bool has_short_rows() const {
        const std::int64_t row_bytes = p_.scores.columns * static_cast<std::int64_t>(sizeof(T));
        return plan_.single_tasks && !plan_.marks_candidates && plan_.whole_rows() && p_.tasks.rows == nullptr &&
               p_.scores.row_stride >= row_bytes && row_bytes <= measured::kShortRowBytes;
    }

    // Sets the counts of some tasks to 0: those of a whole matrix have candidates that are set at the end.
    void set_to_zero(std::int64_t first, std::int64_t last) const {
        const Counts& counts = totals_.counts;
        std::fill(counts.above + first, counts.above + last, 0);
        std::fill(counts.tied + first, counts.tied + last, 0);
        if (p_.tasks.is_partial()) std::fill(counts.candidates + first, counts.candidates + last, 0);
    }

  private:
    // Counts for the tasks of some groups in columns (or candidates) begin to end.
    void scan_rows(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end) {
        if (plan_.single_tasks) return scan_single_tasks(worker, first, last, begin, end);
        // Filtered scores are read again, while they are in the cache.
        const bool finishes_rows = plan_.whole_rows() && p_.filter;
        for (std::int64_t g = first; g < last && !worker.stopped(plan_.groups_at_once * (end - begin));
             g += plan_.groups_at_once) {
            const std::int64_t next = std::min(last, g + plan_.groups_at_once);
            if (next < last) prefetch_true_scores(next);
            scan_groups(worker, g, next, begin, p_.has_own_lists() ? p_.candidates_of(p_.group(g)[0]) : end);
            if (finishes_rows) finish_.finish_groups(worker, g, next);
        }
        if (plan_.whole_rows() && !finishes_rows) finish_.finish_groups(worker, first, last);
    }
    // Counts for groups of any size and in any layout: side by side, where their scores are copied.
    void scan_groups(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t begin,
                     std::int64_t end) {
        const auto n = static_cast<std::size_t>(last - first);
        if (worker.row_true_scores.size() < n) worker.row_true_scores.resize(n);
        worker.rows.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const TaskIds ids = p_.group(first + static_cast<std::int64_t>(i));
            worker.rows[i] = p_.row(ids[0]);
            p_.gather_true_scores(ids, worker.row_true_scores[i]);
        }
        const ListedColumns columns = p_.candidate_columns(p_.group(first)[0], begin, end);
        if (columns.are_consecutive() && p_.reader.contiguous_rows()) {
            for (std::size_t i = 0; i < n; ++i) {
                p_.count(p_.reader.in_place(worker.rows[i], columns.start), columns.size, worker.row_true_scores[i]);
            }
        } else {
            p_.pack(worker, worker.rows, columns, [&](std::int64_t i, const T* scores, std::int64_t width) {
                p_.count(scores, width, worker.row_true_scores[static_cast<std::size_t>(i)]);
            });
        }
        for (std::size_t i = 0; i < n; ++i) {
            const TaskIds ids = p_.group(first + static_cast<std::int64_t>(i));
            const TrueScores<T>& true_scores = worker.row_true_scores[i];
            for (std::size_t t = 0; t < ids.size(); ++t) {
                totals_.add(ids[t], true_scores.counts_of(t), true_scores.nan, plan_.whole_rows());
                if (p_.audit) totals_.add_audit(ids[t], true_scores);
            }
        }
    }
    // Groups of one task each, their columns, and whether rows lie apart.
    struct SingleRows {
        std::int64_t first, last, begin, end;
        bool apart;
    };
    // Counts for tasks that have rows of their own, read in place. What would break the stream that the hardware
    // prefetches is done before it (true scores are read), or after several rows at a time (filtered scores are read
    // again, counts are written).
    void scan_single_tasks(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t begin,
                           std::int64_t end) {
        const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * static_cast<std::int64_t>(sizeof(T)));
        // Filtered scores are read again after so few rows that these are still in the cache.
        const std::int64_t cached_rows =
            p_.filter ? std::clamp<std::int64_t>(measured::kCachedBytes / row_bytes, 1, measured::kRowsAtOnce)
                      : measured::kRowsAtOnce;
        if (has_short_rows()) return scan_short_rows(worker, first, last, cached_rows);
        const std::int64_t rows_at_once = is_final() ? measured::kRowsAtOnce : cached_rows;
        worker.row_counts.resize(measured::kRowsAtOnce);
        const std::span<RowCounts> counts(worker.row_counts);
        read_true_scores(worker, first, last, row_bytes);
        const SingleRows rows{first, last, begin, end, last - first > 1 && std::abs(p_.scores.row_stride) > row_bytes};
        for (std::int64_t start = first; start < last; start += rows_at_once) {
            const std::int64_t next = std::min(last, start + rows_at_once);
            for (std::int64_t g = start; g < next; g += cached_rows) {
                const std::int64_t stop = std::min(next, g + cached_rows);
                const auto some_counts = counts.subspan(static_cast<std::size_t>(g - start));
                if (!count_single_tasks(worker, rows, g, stop, some_counts)) return;
                if (is_final() && p_.filter) subtract_filtered(worker, g, stop, some_counts);
            }
            hand_on(worker, start, next, counts);
        }
    }
    // The same for tasks whose short rows come one after the other: many at a time, whose counts are written at once.
    void scan_short_rows(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t rows_at_once) {
        const std::int64_t columns = p_.scores.columns;
        const bool is_partial = p_.tasks.is_partial();
        std::int64_t above_of_part[measured::kRowsAtOnce], tied_of_part[measured::kRowsAtOnce];
        std::int64_t nan[measured::kRowsAtOnce];
        for (std::int64_t next; first < last && !worker.stopped(rows_at_once * columns); first = next) {
            next = std::min(last, first + rows_at_once);
            std::int64_t* const above = is_partial ? above_of_part : totals_.counts.above + first;
            std::int64_t* const tied = is_partial ? tied_of_part : totals_.counts.tied + first;
            const T* const given = is_partial ? reinterpret_cast<const T*>(p_.tasks.true_scores) + first : nullptr;
            const RowsFound found = p_.kernels.count_rows(
                p_.reader.in_place(p_.row(first), 0), static_cast<std::size_t>(columns),
                static_cast<std::size_t>(next - first), static_cast<std::size_t>(p_.scores.row_stride) / sizeof(T),
                p_.tasks.targets + first, given, p_.worst_score(), above, tied, nan);
            worker.has_masked |= p_.order.floating && found.sought;
            if (totals_.counts.are_new) set_to_zero(first, next);
            const bool is_plain = !found.nan && !p_.filter;
            for (std::int64_t i = 0; !is_plain && i < next - first; ++i) {
                RowCounts counts{{above[i], tied[i]}, nan[i], columns};
                if (p_.filter) counts = counts - finish_.count_filtered(worker, first + i);
                finish_.write(worker, first + i, counts);
            }
            if (is_plain) finish_.write_plain(worker, first, next, above, tied);
        }
    }
    // Whether the counts of tasks that have rows of their own are final once a chunk has been read.
    bool is_final() const { return plan_.whole_rows() && !p_.tasks.is_partial(); }
    void subtract_filtered(RankWorker<T>& worker, std::int64_t g, std::int64_t stop,
                           std::span<RowCounts> counts) const {
        for (std::size_t i = 0; g < stop; ++g, ++i) {
            counts[i] = counts[i] - finish_.count_filtered(worker, p_.group(g)[0]);
        }
    }
    void hand_on(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::span<const RowCounts> counts) {
        for (std::int64_t g = first; g < last; ++g) {
            const RowCounts& row_counts = counts[static_cast<std::size_t>(g - first)];
            const std::int64_t task = p_.group(g)[0];
            if (!is_final()) {
                totals_.add(task, row_counts.counts, row_counts.nan, plan_.whole_rows());
            } else if (!increments_.empty() && increments_[static_cast<std::size_t>(p_.target_column(task))] == 0) {
                finish_.fail(worker, Fault::Kind::not_a_candidate, task);
            } else {
                finish_.write(worker, task, row_counts);
            }
        }
        if (plan_.whole_rows() && !is_final()) finish_.finish_groups(worker, first, last);
    }
    // Counts the rows of groups from g to stop - 1. Returns whether it was not stopped.
    bool count_single_tasks(RankWorker<T>& worker, const SingleRows& rows, std::int64_t g, std::int64_t stop,
                            std::span<RowCounts> counts) const {
        for (std::size_t i = 0; g < stop; ++g, ++i) {
            if (worker.stopped(rows.end - rows.begin)) return false;
            counts[i] = {.candidates = candidate_count_};
            const T true_score = worker.single_true_scores.empty()
                                     ? p_.true_score_of(p_.group(g)[0])
                                     : worker.single_true_scores[static_cast<std::size_t>(g - rows.first)];
            if (rows.apart) {
                count_apart_row(true_score, g, rows, counts[i]);
            } else {
                count(g, rows.begin, rows.end, true_score, /*more_follow=*/true, counts[i]);
            }
        }
        return true;
    }
    // Counts some columns, in place, for the single task of a group.
    void count(std::int64_t g, std::int64_t begin, std::int64_t end, T true_score, bool more_follow,
               RowCounts& row_counts) const {
        const T* const scores = p_.reader.in_place(p_.row(p_.group(g)[0]), begin);
        if (increments_.empty()) return p_.count(scores, end - begin, true_score, more_follow, row_counts);
        PartialCounts more;
        row_counts.nan += p_.kernels.count_some(scores, increments_.data() + begin,
                                                static_cast<std::size_t>(end - begin), true_score, more_follow, &more);
        if (p_.is_nan(true_score)) return;
        row_counts.counts.above += more.above;
        row_counts.counts.tied += more.tied;
    }
    // Reads the true scores of a chunk: read one by one, each from somewhere ahead in its row, they break the stream
    // (an eighth slower). Where rows are shorter than a page, they are near enough to it, and to read them first costs
    // a fifth; then the list stays empty.
    void read_true_scores(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t row_bytes) const {
        worker.single_true_scores.clear();
        if (row_bytes < static_cast<std::int64_t>(kPageBytes) || p_.tasks.is_partial()) return;
        for (std::int64_t g = first; g < last; ++g) {
            worker.single_true_scores.push_back(p_.true_score_of(p_.group(g)[0]));
        }
    }
    // Counts the single task of a group in columns of its row, some columns at a time, where rows are far apart, as
    // those of a slice are. Meanwhile the same columns of a later row are prefetched: the hardware does that along a
    // row only.
    void count_apart_row(T true_score, std::int64_t g, const SingleRows& rows, RowCounts& row_counts) const {
        constexpr auto size = static_cast<std::int64_t>(sizeof(T));
        const std::int64_t row_bytes = std::max<std::int64_t>(1, (rows.end - rows.begin) * size);
        const std::int64_t rows_ahead = divide_up(measured::kAheadBytesOfApartRows, row_bytes);
        const std::int64_t later = g + rows_ahead < rows.last ? p_.row(p_.group(g + rows_ahead)[0]) : -1;
        constexpr std::int64_t columns_at_once = measured::kBytesOfApartRows / size;
        for (std::int64_t from = rows.begin; from < rows.end; from += columns_at_once) {
            const std::int64_t to = std::min(rows.end, from + columns_at_once);
            for (std::int64_t byte = 0; later >= 0 && byte < (to - from) * size; byte += kLineBytes) {
                __builtin_prefetch(p_.reader.at(later, from) + byte);
            }
            count(g, from, to, true_score, /*more_follow=*/false, row_counts);
        }
    }
    // The true scores of a group may be anywhere in its row. They are prefetched while the group before it is counted.
    void prefetch_true_scores(std::int64_t g) const {
        if (p_.tasks.is_partial()) return;
        const TaskIds ids = p_.group(g);
        for (std::size_t t = 0; t < std::min<std::size_t>(ids.size(), 64); ++t) {
            __builtin_prefetch(p_.reader.at(p_.row(ids[t]), p_.tasks.targets[ids[t]]));
        }
    }
    // Scans groups whose rows are among the `lanes` rows from first_row on, in a matrix whose columns are contiguous.
    // Each row is a lane, and a pass over the columns serves one task of each row: `layers` passes serve all.
    void scan_columns(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t layers,
                      std::int64_t first_row, std::int64_t lanes, std::int64_t begin, std::int64_t end) {
        const auto width = static_cast<std::size_t>(lanes);
        worker.layer_true_scores.resize(width);
        worker.lane_counts.resize(3 * width);
        std::int64_t* const above = worker.lane_counts.data();
        std::int64_t* const tied = above + lanes;
        std::int64_t* const nan = tied + lanes;
        const std::int64_t scratch_bytes = 3 * lanes * static_cast<std::int64_t>(sizeof(T));
        worker.lane_scratch.resize(static_cast<std::size_t>(divide_up(scratch_bytes, kLineBytes)));
        const auto for_tasks_of_layer = [&](std::int64_t layer, const auto& use) {
            const auto t = static_cast<std::size_t>(layer);
            for (std::int64_t g = first; g < last; ++g) {
                const TaskIds ids = p_.group(g);
                if (t < ids.size()) use(ids[t], p_.row(ids[t]) - first_row);
            }
        };
        const std::int64_t columns_at_once = layers == 1 ? end - begin : kColumnsPerPass;
        for (std::int64_t b = begin; b < end; b += columns_at_once) {
            const std::int64_t columns = std::min(columns_at_once, end - b);
            for (std::int64_t layer = 0; layer < layers; ++layer) {
                std::fill(worker.lane_counts.begin(),
                          worker.lane_counts.begin() + static_cast<std::ptrdiff_t>(2 * width), 0);
                if (layer == 0) std::fill_n(nan, width, 0);
                for_tasks_of_layer(layer, [&](std::int64_t task, std::int64_t lane) {
                    worker.layer_true_scores[static_cast<std::size_t>(lane)] = p_.true_score_of(task);
                });
                p_.kernels.count_columns(p_.reader.at(first_row, b), p_.scores.column_stride,
                                         static_cast<std::size_t>(columns), width, worker.layer_true_scores.data(),
                                         above, tied, layer == 0 ? nan : nullptr, worker.lane_scratch.data());
                for_tasks_of_layer(layer, [&](std::int64_t task, std::int64_t lane) {
                    // 16-bit floats are compared by their keys, of which those of NaN have an order, too.
                    const T true_score = worker.layer_true_scores[static_cast<std::size_t>(lane)];
                    if (p_.is_nan(true_score)) above[lane] = tied[lane] = 0;
                    totals_.add(task, {above[lane], tied[lane]}, nan[lane], plan_.whole_rows());
                });
            }
        }
    }

    const RowProblem<T>& p_;
    const Plan& plan_;
    RowTotals<T>& totals_;
    RowFinish<T>& finish_;
    const std::int64_t candidate_count_ = p_.candidates_of(0);  // of tasks that share them
    std::vector<std::uint8_t> increments_;                      // of columns: 1 for candidates, where these are marked
};

}  // namespace truerank
