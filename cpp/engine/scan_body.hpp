// Ranker's first step: counts for tasks in their rows, as if nothing were filtered. These are bodies of its templates,
// which only rank.cpp includes.
#pragma once

#include "engine/ranker.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// Reads the true scores of the tasks. In an audit it adds the lowest and the highest key, by which the infinities among
// the scores are counted.
template <class T>
void Ranker<T>::gather_true_scores(TaskIds ids, TrueScores<T>& true_scores) const {
    true_scores.slots.resize(ids.size());
    true_scores.keys.clear();
    true_scores.nan = true_scores.at_best = 0;
    true_scores.best = rules_.ascending ? Order<T>::top() : Order<T>::bottom();
    auto& keyed_tasks = true_scores.keyed_tasks;
    keyed_tasks.clear();
    for (std::size_t t = 0; t < ids.size(); ++t) {
        true_scores.last = true_score_of(ids[t]);
        const Key<T> key = Order<T>::key(true_scores.last);
        true_scores.slots[t] = true_scores.none;
        if (!Order<T>::is_nan(key)) keyed_tasks.emplace_back(key, t);
    }
    if (counts_.audit()) {
        keyed_tasks.emplace_back(Order<T>::bottom(), true_scores.none);
        keyed_tasks.emplace_back(Order<T>::top(), true_scores.none);
    }
    std::sort(keyed_tasks.begin(), keyed_tasks.end());
    for (const auto& [key, t] : keyed_tasks) {
        if (true_scores.keys.empty() || true_scores.keys.back() != key) true_scores.keys.push_back(key);
        if (t != true_scores.none) true_scores.slots[t] = true_scores.keys.size() - 1;
    }
    true_scores.counts.assign(true_scores.keys.size(), PartialCounts{});
    true_scores.scratch.resize(scratch_size<T>(true_scores.keys.size()));
}

template <class T>
void Ranker<T>::count(const T* scores, std::int64_t n, TrueScores<T>& true_scores) const {
    const auto size = static_cast<std::size_t>(n);
    if (true_scores.slots.size() == 1 && true_scores.keys.size() == 1) {
        true_scores.nan += kernels_.count_one(scores, size, true_scores.last, true, true_scores.counts.data());
    } else {
        true_scores.nan += kernels_.count_several(scores, size, true_scores.keys.data(), true_scores.keys.size(),
                                                  true_scores.counts.data(), true_scores.scratch.data());
    }
    if (counts_.audit()) kernels_.best(scores, size, rules_.ascending, &true_scores.best, &true_scores.at_best);
}

// A single task needs no tables.
template <class T>
void Ranker<T>::count(const T* scores, std::int64_t n, T true_score, bool more_follow, RowCounts& row_counts) const {
    const auto size = static_cast<std::size_t>(n);
    row_counts.nan += Order<T>::is_nan(Order<T>::key(true_score))
                          ? kernels_.count_several(scores, size, nullptr, 0, nullptr, nullptr)
                          : kernels_.count_one(scores, size, true_score, more_follow, &row_counts.counts);
}

// Copies the rows' scores in columns(0) to columns(n - 1), some columns at a time, and calls use(i, scores, width) with
// those of row i.
template <class T>
template <class Columns, class Use>
void Ranker<T>::pack(Worker& worker, std::span<const std::int64_t> rows, std::int64_t n, const Columns& columns,
                     const Use& use) const {
    const auto height = static_cast<std::int64_t>(rows.size());
    const std::int64_t width_at_once =
        std::min(n, std::max<std::int64_t>(64, measured::kPackBytes / static_cast<std::int64_t>(sizeof(T)) / height));
    worker.packed.resize(static_cast<std::size_t>(height * width_at_once));
    for (std::int64_t begin = 0; begin < n && !worker.stopped(height * width_at_once); begin += width_at_once) {
        const std::int64_t width = std::min(width_at_once, n - begin);
        reader_.pack(rows.data(), height, width, columns_from(columns, begin), worker.packed.data());
        for (std::int64_t i = 0; i < height; ++i) use(i, worker.packed.data() + i * width, width);
    }
}

template <class T>
void Ranker<T>::add_counts(std::int64_t task, PartialCounts counts, std::int64_t nan, bool whole_rows) {
    const auto plus = [whole_rows](std::int64_t& sum, std::int64_t more) {
        if (whole_rows) {
            sum += more;
        } else {
            __atomic_fetch_add(&sum, more, __ATOMIC_RELAXED);
        }
    };
    plus(counts_.above[task], counts.above);
    plus(counts_.tied[task], counts.tied);
    if (has_nan<T>) nan_.add(task, nan);
}

template <class T>
void Ranker<T>::add_audit(std::int64_t task, const TrueScores<T>& true_scores) {
    const std::lock_guard<std::mutex> lock(audit_mutex_);
    counts_.inf[task] += true_scores.infinities();
    Key<T>& best = best_[static_cast<std::size_t>(task)];
    if (rules_.ascending ? true_scores.best < best : true_scores.best > best) {
        best = true_scores.best;
        at_best_[static_cast<std::size_t>(task)] = 0;
    }
    if (true_scores.best == best) at_best_[static_cast<std::size_t>(task)] += true_scores.at_best;
}

template <class T>
void Ranker<T>::scan_groups(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                            bool whole_rows) {
    const auto n = static_cast<std::size_t>(last - first);
    const bool in_place = (!candidates_ || candidates_.ranges) && reader_.contiguous_rows();
    if (worker.row_true_scores.size() < n) worker.row_true_scores.resize(n);
    worker.rows.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        const TaskIds ids = group(first + static_cast<std::int64_t>(i));
        worker.rows[i] = row(ids[0]);
        gather_true_scores(ids, worker.row_true_scores[i]);
    }
    const auto use = [&](std::int64_t i, const T* scores, std::int64_t width) {
        count(scores, width, worker.row_true_scores[static_cast<std::size_t>(i)]);
    };
    if (in_place && candidates_) {
        const Span span = candidates_.span(candidates_.list(group(first)[0]));
        count(reader_.in_place(worker.rows[0], span.start + begin), std::min(end, span.length) - begin,
              worker.row_true_scores[0]);
    } else if (in_place) {
        for (std::size_t i = 0; i < n; ++i) {
            count(reader_.in_place(worker.rows[i], begin), end - begin, worker.row_true_scores[i]);
        }
    } else if (candidates_) {
        const Span span = candidates_.span(candidates_.list(group(first)[0]));
        const std::int64_t n = std::min(end, span.length) - begin;
        with_columns(candidates_, span.start + begin,
                     [&](const auto& columns) { pack(worker, worker.rows, n, columns, use); });
    } else {
        pack(worker, worker.rows, end - begin, ConsecutiveColumns{begin}, use);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const TaskIds ids = group(first + static_cast<std::int64_t>(i));
        const TrueScores<T>& true_scores = worker.row_true_scores[i];
        for (std::size_t t = 0; t < ids.size(); ++t) {
            add_counts(ids[t], true_scores.counts_of(t), true_scores.nan, whole_rows);
            if (counts_.audit()) add_audit(ids[t], true_scores);
        }
    }
}

template <class T>
void Ranker<T>::scan_rows(Worker& worker, const Plan& plan, std::int64_t first, std::int64_t last, std::int64_t begin,
                          std::int64_t end, bool whole_rows) {
    const bool own_lists = candidates_ && !candidates_.shared;
    const bool finishes_rows = whole_rows && filter_;  // filtered scores are read again, while they are in the cache
    if (plan.single_tasks) {
        scan_single_tasks(worker, first, last, begin, end, whole_rows);
    } else {
        for (std::int64_t g = first; g < last && !worker.stopped(plan.groups_at_once * (end - begin));
             g += plan.groups_at_once) {
            const std::int64_t next = std::min(last, g + plan.groups_at_once);
            if (next < last) prefetch_true_scores(next);
            scan_groups(worker, g, next, begin, own_lists ? candidates_of(group(g)[0]) : end, whole_rows);
            if (finishes_rows) finish_groups(worker, g, next);
        }
    }
    if (whole_rows && !finishes_rows && !plan.single_tasks) finish_groups(worker, first, last);
}

// Tasks that have rows of their own, read in place: this is the common case, and runs at the speed of memory. All true
// scores of a chunk are read first: read one by one, each from somewhere ahead in its row, they break the stream that
// the hardware prefetches (an eighth slower). Where rows are shorter than a page, they are near enough to the stream,
// and to read them first costs a fifth.
template <class T>
void Ranker<T>::scan_single_tasks(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin,
                                  std::int64_t end, bool whole_rows) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * size);
    const bool reads_first = row_bytes >= static_cast<std::int64_t>(kPageBytes) && !tasks_.is_partial();
    worker.single_true_scores.resize(static_cast<std::size_t>(reads_first ? last - first : 0));
    for (std::int64_t g = first; reads_first && g < last; ++g) {
        worker.single_true_scores[static_cast<std::size_t>(g - first)] = true_score_of(group(g)[0]);
    }
    // Filtered scores are read again while their rows are in the cache. That is done after several rows at a time,
    // since it breaks the stream, too. So does what is written: where tasks follow each other, their final counts are
    // kept, and are written many at a time.
    const bool finishes_rows = whole_rows && filter_;
    const bool keeps_counts = whole_rows && !tasks_.is_partial() && starts_.empty();
    std::int64_t groups_per_pass = last - first;
    if (finishes_rows || keeps_counts) {
        groups_per_pass = std::clamp<std::int64_t>(measured::kCachedBytes / row_bytes, 1, measured::kCountsAtOnce);
    }
    const bool rows_apart = last - first > 1 && std::abs(scores_.row_stride) > row_bytes;
    worker.task_counts.clear();
    for (std::int64_t start = first; start < last; start += groups_per_pass) {
        const std::int64_t next = std::min(last, start + groups_per_pass);
        worker.row_counts.clear();
        for (std::int64_t g = start; g < next; ++g) {
            if (worker.stopped(end - begin)) return;
            const std::int64_t task = group(g)[0];
            if (finishes_rows) prefetch_filter(task);
            const T true_score =
                reads_first ? worker.single_true_scores[static_cast<std::size_t>(g - first)] : true_score_of(task);
            RowCounts row_counts;
            if (rows_apart) {
                count_apart_row(true_score, g, last, begin, end, row_counts);
            } else {
                count(reader_.in_place(row(task), begin), end - begin, true_score, true, row_counts);
            }
            if (keeps_counts) {
                worker.row_counts.push_back(row_counts);
                continue;
            }
            if (whole_rows && !tasks_.is_partial()) counts_.above[task] = counts_.tied[task] = 0;
            add_counts(task, row_counts.counts, row_counts.nan, whole_rows);
            if (whole_rows && !filter_) settle(worker, task, scores_.columns);
        }
        if (keeps_counts) {
            keep_counts(worker, start, next);
            const auto kept = static_cast<std::int64_t>(worker.task_counts.size());
            if (next == last || kept >= measured::kCountsAtOnce) write_counts(worker, next - kept);
        } else if (finishes_rows) {
            finish_groups(worker, start, next);
        }
    }
}

// Makes what was counted in the rows of some tasks final, and keeps it.
template <class T>
void Ranker<T>::keep_counts(Worker& worker, std::int64_t first_task, std::int64_t last_task) const {
    for (std::int64_t task = first_task; task < last_task; ++task) {
        RowCounts& row_counts = worker.row_counts[static_cast<std::size_t>(task - first_task)];
        const std::int64_t left = filter_ ? leave_out(worker, task, row_counts) : scores_.columns;
        worker.task_counts.push_back(final_counts(worker, task, left, row_counts));
    }
}

// Counts the single task of a group in columns of its row, some columns at a time, where rows are far apart, as those
// of a slice are. Meanwhile the same columns of a later row are prefetched: the hardware does that along a row only.
template <class T>
void Ranker<T>::count_apart_row(T true_score, std::int64_t g, std::int64_t last, std::int64_t begin, std::int64_t end,
                                RowCounts& row_counts) const {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t row_bytes = std::max<std::int64_t>(1, (end - begin) * size);
    const std::int64_t rows_ahead = divide_up(measured::kAheadBytesOfApartRows, row_bytes);
    const std::int64_t later = g + rows_ahead < last ? row(group(g + rows_ahead)[0]) : -1;
    constexpr std::int64_t columns_at_once = measured::kBytesOfApartRows / size;
    for (std::int64_t from = begin; from < end || from == begin; from += columns_at_once) {
        const std::int64_t to = std::min(end, from + columns_at_once);
        if (later >= 0) prefetch_scores(later, from, to, row_bytes <= measured::kNarrowBytes);
        count(reader_.in_place(row(group(g)[0]), from), to - from, true_score, false, row_counts);
    }
}

// Writes the counts that were kept.
template <class T>
void Ranker<T>::write_counts(Worker& worker, std::int64_t first_task) const {
    const auto write = [&](std::int64_t* to, std::int64_t TaskCounts::* count) {
        to += first_task;
        for (const TaskCounts& counts : worker.task_counts) *to++ = counts.*count;
    };
    write(counts_.above, &TaskCounts::above);
    write(counts_.tied, &TaskCounts::tied);
    write(counts_.candidates, &TaskCounts::candidates);
    worker.task_counts.clear();
}

// Prefetches scores of a row.
template <class T>
void Ranker<T>::prefetch_scores(std::int64_t at_row, std::int64_t begin, std::int64_t end, bool narrow) const {
    const char* const last = reader_.at(at_row, end);
    for (const char* at = reader_.at(at_row, begin); at < last; at += kLineBytes) {
        if (narrow) {
            __builtin_prefetch(at, 0, 3);
        } else {
            __builtin_prefetch(at, 0, 2);
        }
    }
}

// The true scores of a group may be anywhere in its row. They are prefetched while the group before it is counted.
template <class T>
void Ranker<T>::prefetch_true_scores(std::int64_t g) const {
    if (tasks_.is_partial()) return;
    const TaskIds ids = group(g);
    for (std::size_t t = 0; t < std::min<std::size_t>(ids.size(), 64); ++t) {
        __builtin_prefetch(reader_.at(row(ids[t]), tasks_.targets[ids[t]]));
    }
}

// Prefetches the first indices of a task's filter, which are needed as soon as its row has been counted.
template <class T>
void Ranker<T>::prefetch_filter(std::int64_t task) const {
    if (filter_.windowed) return;  // finding the position would cost more
    const Span span = filter_.span(filter_.list(task));
    const std::int64_t size = filter_.wide ? 8 : 4;
    const auto* start = static_cast<const char*>(filter_.indices) + span.start * size;
    const std::int64_t bytes = std::min(span.length * size, measured::kFilterBytes);
    for (std::int64_t at = 0; at < bytes; at += kLineBytes) __builtin_prefetch(start + at);
}

template <class T>
void Ranker<T>::scan_column_major(Worker& worker, const Plan& plan, std::int64_t top, std::int64_t begin,
                                  std::int64_t end, bool whole_rows) {
    const std::int64_t height = std::min(plan.chunk_groups, scores_.rows - top);
    const std::int64_t lanes = height - height % static_cast<std::int64_t>(kernels_.lane_multiple);
    const std::int64_t first = first_group_from(top), last = first_group_from(top + height);
    std::int64_t middle = first_group_from(top + lanes);
    std::int64_t layers = 0;
    for (std::int64_t g = first; g < middle; ++g) layers = std::max(layers, static_cast<std::int64_t>(group(g).size()));
    if (middle == first || layers > measured::kMaxLayers || (middle - first) * measured::kMaxRowsPerGroup < lanes) {
        middle = first;
    } else {
        scan_columns(worker, first, middle, top, lanes, begin, end, whole_rows);
        if (whole_rows) finish_groups(worker, first, middle);
    }
    scan_rows(worker, plan, middle, last, begin, end, whole_rows);
}

// Scans groups whose rows are among top to top + lanes - 1, in a matrix whose columns are contiguous. Each row is a
// lane, and a pass over the columns serves one task of each row.
template <class T>
void Ranker<T>::scan_columns(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t top,
                             std::int64_t lanes, std::int64_t begin, std::int64_t end, bool whole_rows) {
    std::int64_t layers = 0;
    for (std::int64_t g = first; g < last; ++g) layers = std::max(layers, static_cast<std::int64_t>(group(g).size()));
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
            std::fill(worker.lane_counts.begin(), worker.lane_counts.begin() + static_cast<std::ptrdiff_t>(2 * width),
                      0);
            if (layer == 0) std::fill_n(nan, width, 0);
            for (std::int64_t g = first; g < last; ++g) {
                const TaskIds ids = group(g);
                const auto t = static_cast<std::size_t>(layer);
                if (t < ids.size()) {
                    worker.layer_true_scores[static_cast<std::size_t>(row(ids[t]) - top)] = true_score_of(ids[t]);
                }
            }
            kernels_.count_columns(reader_.at(top, b), scores_.column_stride, static_cast<std::size_t>(columns), width,
                                   worker.layer_true_scores.data(), above, tied, layer == 0 ? nan : nullptr,
                                   worker.lane_scratch.data());
            for (std::int64_t g = first; g < last; ++g) {
                const TaskIds ids = group(g);
                const auto t = static_cast<std::size_t>(layer);
                if (t >= ids.size()) continue;
                const std::int64_t lane = row(ids[t]) - top;
                add_counts(ids[t], {above[lane], tied[lane]}, nan[lane], whole_rows);
            }
        }
    }
}

}  // namespace truerank
