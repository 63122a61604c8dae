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

#include "engine/row_finish.hpp"
#include "engine/row_problem.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// How the work is cut into chunks. A chunk has `chunk_groups` groups of tasks (if column_major, so many rows of the
// matrix) and, of each row, `chunk_columns` columns or candidates.
struct Plan {
    bool column_major = false;  // columns are contiguous: many rows are counted at once
    bool single_tasks = false;  // every task has a row of its own, which is read in place
    bool serial = false;
    Duration duration = Duration::any;
    std::int64_t chunks = 0;
    std::int64_t chunk_groups = 1;
    std::int64_t groups_at_once = 1;  // groups that are scanned side by side
    std::int64_t row_length = 0;      // columns, or the most candidates, that a row has
    std::int64_t chunk_columns = 0;
    std::int64_t chunks_per_row = 1;
};

template <class T>
class RowCounting {
  public:
    RowCounting(const RowProblem<T>& problem, RowTotals<T>& totals, RowFinish<T>& finish)
        : p_(problem), totals_(totals), finish_(finish) {}

    // Counts for the tasks of some groups in columns (or candidates) begin to end. `whole_rows`: these are all columns,
    // so that no other thread adds to the counts meanwhile.
    void scan_rows(RankWorker<T>& worker, const Plan& plan, std::int64_t first, std::int64_t last, std::int64_t begin,
                   std::int64_t end, bool whole_rows) {
        const bool own_lists = p_.candidates && !p_.candidates.shared;
        const bool finishes_rows =
            whole_rows && p_.filter;  // filtered scores are read again, while they are in the cache
        if (plan.single_tasks) {
            scan_single_tasks(worker, first, last, begin, end, whole_rows);
        } else {
            for (std::int64_t g = first; g < last && !worker.stopped(plan.groups_at_once * (end - begin));
                 g += plan.groups_at_once) {
                const std::int64_t next = std::min(last, g + plan.groups_at_once);
                if (next < last) prefetch_true_scores(next);
                scan_groups(worker, g, next, begin, own_lists ? p_.candidates_of(p_.group(g)[0]) : end, whole_rows);
                if (finishes_rows) finish_.finish_groups(worker, g, next);
            }
        }
        if (whole_rows && !finishes_rows && !plan.single_tasks) finish_.finish_groups(worker, first, last);
    }
    // The same for the rows of a chunk from `top` on, in a matrix whose columns are contiguous.
    void scan_column_major(RankWorker<T>& worker, const Plan& plan, std::int64_t top, std::int64_t begin,
                           std::int64_t end, bool whole_rows) {
        const std::int64_t height = std::min(plan.chunk_groups, p_.scores.rows - top);
        const std::int64_t lanes = height - height % static_cast<std::int64_t>(p_.kernels.lane_multiple);
        const std::int64_t first = p_.first_group_from(top), last = p_.first_group_from(top + height);
        std::int64_t middle = p_.first_group_from(top + lanes);
        std::int64_t layers = 0;
        for (std::int64_t g = first; g < middle; ++g)
            layers = std::max(layers, static_cast<std::int64_t>(p_.group(g).size()));
        if (middle == first || layers > measured::kMaxLayers || (middle - first) * measured::kMaxRowsPerGroup < lanes) {
            middle = first;
        } else {
            scan_columns(worker, first, middle, top, lanes, begin, end, whole_rows);
            if (whole_rows) finish_.finish_groups(worker, first, middle);
        }
        scan_rows(worker, plan, middle, last, begin, end, whole_rows);
    }

  private:
    // Counts for groups of any size and in any layout: side by side, where their scores are copied.
    void scan_groups(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     bool whole_rows) {
        const auto n = static_cast<std::size_t>(last - first);
        const bool in_place = (!p_.candidates || p_.candidates.ranges) && p_.reader.contiguous_rows();
        if (worker.row_true_scores.size() < n) worker.row_true_scores.resize(n);
        worker.rows.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const TaskIds ids = p_.group(first + static_cast<std::int64_t>(i));
            worker.rows[i] = p_.row(ids[0]);
            p_.gather_true_scores(ids, worker.row_true_scores[i]);
        }
        const auto use = [&](std::int64_t i, const T* scores, std::int64_t width) {
            p_.count(scores, width, worker.row_true_scores[static_cast<std::size_t>(i)]);
        };
        if (in_place && p_.candidates) {
            const Span span = p_.candidates.span(p_.candidates.list(p_.group(first)[0]));
            p_.count(p_.reader.in_place(worker.rows[0], span.start + begin), std::min(end, span.length) - begin,
                     worker.row_true_scores[0]);
        } else if (in_place) {
            for (std::size_t i = 0; i < n; ++i) {
                p_.count(p_.reader.in_place(worker.rows[i], begin), end - begin, worker.row_true_scores[i]);
            }
        } else if (p_.candidates) {
            const Span span = p_.candidates.span(p_.candidates.list(p_.group(first)[0]));
            const std::int64_t length = std::min(end, span.length) - begin;
            p_.pack(worker, worker.rows, p_.columns_of(p_.candidates, span.start + begin, length), use);
        } else {
            p_.pack(worker, worker.rows, {begin, end - begin}, use);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const TaskIds ids = p_.group(first + static_cast<std::int64_t>(i));
            const TrueScores<T>& true_scores = worker.row_true_scores[i];
            for (std::size_t t = 0; t < ids.size(); ++t) {
                totals_.add(ids[t], true_scores.counts_of(t), true_scores.nan, whole_rows);
                if (p_.audit) totals_.add_audit(ids[t], true_scores);
            }
        }
    }
    // Tasks that have rows of their own, read in place: this is the common case, and runs at the speed of memory. What
    // would break the stream that the hardware prefetches is done before it, or after several rows at a time: true
    // scores are read, filtered scores are read again, counts are written.
    void scan_single_tasks(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t begin,
                           std::int64_t end, bool whole_rows) {
        const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * static_cast<std::int64_t>(sizeof(T)));
        const bool is_final = whole_rows && !p_.tasks.is_partial();
        // The rows of which filtered scores are read again are in the cache as yet.
        const std::int64_t cached_rows =
            p_.filter ? std::clamp<std::int64_t>(measured::kCachedBytes / row_bytes, 1, measured::kRowsAtOnce)
                      : measured::kRowsAtOnce;
        const std::int64_t rows_at_once = is_final ? measured::kRowsAtOnce : cached_rows;
        worker.row_counts.resize(measured::kRowsAtOnce);
        const std::span<RowCounts> counts(worker.row_counts);
        read_true_scores(worker, first, last, row_bytes);
        const SingleRows rows{first, last, begin, end, last - first > 1 && std::abs(p_.scores.row_stride) > row_bytes};
        for (std::int64_t start = first; start < last; start += rows_at_once) {
            const std::int64_t next = std::min(last, start + rows_at_once);
            for (std::int64_t g = start; g < next; g += cached_rows) {
                const std::int64_t stop = std::min(next, g + cached_rows);
                const auto counts_from = counts.subspan(static_cast<std::size_t>(g - start));
                if (!count_single_tasks(worker, rows, g, stop, counts_from)) return;
                for (std::int64_t i = 0; is_final && p_.filter && i < stop - g; ++i) {
                    finish_.leave_out(worker, p_.group(g + i)[0], counts_from[static_cast<std::size_t>(i)]);
                }
            }
            for (std::int64_t g = start; g < next; ++g) {
                const RowCounts& row_counts = counts[static_cast<std::size_t>(g - start)];
                if (is_final) {
                    write_final_counts(worker, p_.group(g)[0], row_counts);
                } else {
                    totals_.add(p_.group(g)[0], row_counts.counts, row_counts.nan, whole_rows);
                }
            }
            if (whole_rows && !is_final) finish_.finish_groups(worker, start, next);
        }
    }
    // Groups of one task each, their columns, and whether rows lie apart.
    struct SingleRows {
        std::int64_t first, last, begin, end;
        bool apart;
    };
    // Counts the rows of groups from g to stop - 1. Returns whether it was not stopped.
    bool count_single_tasks(RankWorker<T>& worker, const SingleRows& rows, std::int64_t g, std::int64_t stop,
                            std::span<RowCounts> counts) const {
        for (std::size_t i = 0; g < stop; ++g, ++i) {
            if (worker.stopped(rows.end - rows.begin)) return false;
            counts[i] = {{}, 0, p_.scores.columns};
            const T true_score = worker.single_true_scores.empty()
                                     ? p_.true_score_of(p_.group(g)[0])
                                     : worker.single_true_scores[static_cast<std::size_t>(g - rows.first)];
            if (rows.apart) {
                count_apart_row(true_score, g, rows.last, rows.begin, rows.end, counts[i]);
            } else {
                p_.count(p_.reader.in_place(p_.row(p_.group(g)[0]), rows.begin), rows.end - rows.begin, true_score,
                         true, counts[i]);
            }
        }
        return true;
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
    // Makes what was counted in the row of a task final, and writes it.
    void write_final_counts(RankWorker<T>& worker, std::int64_t task, const RowCounts& row_counts) const {
        const TaskCounts counts = finish_.final_counts(worker, task, row_counts);
        totals_.counts.above[task] = counts.above;
        totals_.counts.tied[task] = counts.tied;
        totals_.counts.candidates[task] = counts.candidates;
    }
    // Counts the single task of a group in columns of its row, some columns at a time, where rows are far apart, as
    // those of a slice are. Meanwhile the same columns of a later row are prefetched: the hardware does that along a
    // row only.
    void count_apart_row(T true_score, std::int64_t g, std::int64_t last, std::int64_t begin, std::int64_t end,
                         RowCounts& row_counts) const {
        constexpr auto size = static_cast<std::int64_t>(sizeof(T));
        const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * size);
        const std::int64_t rows_ahead = divide_up(measured::kAheadBytesOfApartRows, row_bytes);
        const std::int64_t later = g + rows_ahead < last ? p_.row(p_.group(g + rows_ahead)[0]) : -1;
        constexpr std::int64_t columns_at_once = measured::kBytesOfApartRows / size;
        for (std::int64_t from = begin; from < end || from == begin; from += columns_at_once) {
            const std::int64_t to = std::min(end, from + columns_at_once);
            if (later >= 0) prefetch_scores(later, from, to, row_bytes <= measured::kNarrowBytes);
            p_.count(p_.reader.in_place(p_.row(p_.group(g)[0]), from), to - from, true_score, false, row_counts);
        }
    }
    // Prefetches scores of a row.
    void prefetch_scores(std::int64_t at_row, std::int64_t begin, std::int64_t end, bool narrow) const {
        const char* const last = p_.reader.at(at_row, end);
        for (const char* at = p_.reader.at(at_row, begin); at < last; at += kLineBytes) {
            if (narrow) {
                __builtin_prefetch(at, 0, 3);
            } else {
                __builtin_prefetch(at, 0, 2);
            }
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
    // Scans groups whose rows are among top to top + lanes - 1, in a matrix whose columns are contiguous. Each row is a
    // lane, and a pass over the columns serves one task of each row.
    void scan_columns(RankWorker<T>& worker, std::int64_t first, std::int64_t last, std::int64_t top,
                      std::int64_t lanes, std::int64_t begin, std::int64_t end, bool whole_rows) {
        std::int64_t layers = 0;
        for (std::int64_t g = first; g < last; ++g)
            layers = std::max(layers, static_cast<std::int64_t>(p_.group(g).size()));
        const auto width = static_cast<std::size_t>(lanes);
        worker.layer_true_scores.resize(width);
        worker.lane_counts.resize(3 * width);
        std::int64_t* const above = worker.lane_counts.data();
        std::int64_t* const tied = above + lanes;
        std::int64_t* const nan = tied + lanes;
        const std::int64_t scratch_bytes = 3 * lanes * static_cast<std::int64_t>(sizeof(T));
        worker.lane_scratch.resize(static_cast<std::size_t>(divide_up(scratch_bytes, kLineBytes)));
        // So few columns at a time stay in the cache while several layers pass over them.
        const std::int64_t columns_at_once =
            layers == 1 ? end - begin : 5 * static_cast<std::int64_t>(measured::kColumnsPerVisit);
        for (std::int64_t b = begin; b < end; b += columns_at_once) {
            const std::int64_t columns = std::min(columns_at_once, end - b);
            for (std::int64_t layer = 0; layer < layers; ++layer) {
                std::fill(worker.lane_counts.begin(),
                          worker.lane_counts.begin() + static_cast<std::ptrdiff_t>(2 * width), 0);
                if (layer == 0) std::fill_n(nan, width, 0);
                for (std::int64_t g = first; g < last; ++g) {
                    const TaskIds ids = p_.group(g);
                    const auto t = static_cast<std::size_t>(layer);
                    if (t < ids.size()) {
                        worker.layer_true_scores[static_cast<std::size_t>(p_.row(ids[t]) - top)] =
                            p_.true_score_of(ids[t]);
                    }
                }
                p_.kernels.count_columns(p_.reader.at(top, b), p_.scores.column_stride,
                                         static_cast<std::size_t>(columns), width, worker.layer_true_scores.data(),
                                         above, tied, layer == 0 ? nan : nullptr, worker.lane_scratch.data());
                for (std::int64_t g = first; g < last; ++g) {
                    const TaskIds ids = p_.group(g);
                    const auto t = static_cast<std::size_t>(layer);
                    if (t >= ids.size()) continue;
                    const std::int64_t lane = p_.row(ids[t]) - top;
                    totals_.add(ids[t], {above[lane], tied[lane]}, nan[lane], whole_rows);
                }
            }
        }
    }

    const RowProblem<T>& p_;
    RowTotals<T>& totals_;
    RowFinish<T>& finish_;
};

}  // namespace truerank
