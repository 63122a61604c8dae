// One call of rank(): its scores, its tasks, and how the scores of a row are counted for the tasks that read it.
//
// A call is done in two steps. The first reads the rows and counts, as if nothing were filtered (row_counting.hpp). The
// second reads the filtered scores again, takes them out of the counts, and applies the rules for NaN and order
// (row_finish.hpp). Both work on the same problem, which never changes meanwhile, and on the same totals, the counts of
// the tasks so far. rank.cpp plans how the rows are cut into chunks, and hands these to threads.
//
// The tasks that read one row with one list of candidates are a group: the row is read once for all of them. A single
// task is counted by a kernel of its own; the true scores of several are sorted first, and equal ones are counted once
// (TrueScores).
//
// All of this is compiled once for each size of scores: T is an integer that holds their bits. What a type means, the
// order of its scores and which of them are NaN, is in the numbers of BitOrder, and in the kernels.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/rows/rank.hpp"
#include "engine/rows/reader.hpp"
#include "engine/threads.hpp"
#include "kernels/count.hpp"
#include "kernels/measured.hpp"

namespace truerank {

constexpr std::int64_t kLineBytes = 64;

// Memory that starts at a cache line.
struct alignas(kLineBytes) Line {
    unsigned char bytes[kLineBytes];
};

// The numbers of some tasks: those of a list or, without one, consecutive numbers.
class TaskIds {
  public:
    TaskIds(const std::int64_t* list, std::int64_t first, std::int64_t size)
        : list_(list), first_(first), size_(size) {}
    std::size_t size() const { return static_cast<std::size_t>(size_); }
    std::int64_t operator[](std::size_t i) const {
        const std::int64_t position = first_ + static_cast<std::int64_t>(i);
        return list_ == nullptr ? position : list_[position];
    }
    TaskIds subspan(std::size_t offset, std::size_t count) const {
        return {list_, first_ + static_cast<std::int64_t>(offset), static_cast<std::int64_t>(count)};
    }

  private:
    const std::int64_t* list_;
    std::int64_t first_, size_;
};

// The distinct true scores of tasks that read one row, and what is counted for them there.
template <class T>
struct TrueScores {
    static constexpr std::size_t kNan = static_cast<std::size_t>(-1);

    T last_true_score;                  // of the last task; for a single task, its own
    std::vector<std::size_t> slots;     // for every task, its place in keys and counts; kNan if its true score is one
    std::vector<Key<T>> keys;           // sorted and distinct, without NaN
    std::vector<PartialCounts> counts;  // for every key
    std::int64_t nan;                   // among the scores that were counted
    Key<T> best;                        // in an audit, of all scores
    std::int64_t at_best;               // how many have it
    std::int64_t inf;                   // in an audit, the infinities
    std::vector<std::int64_t> scratch;  // of the kernels
    std::vector<std::pair<Key<T>, std::size_t>> keyed_tasks;  // while they are gathered

    // The counts of task t.
    PartialCounts counts_of(std::size_t t) const { return slots[t] == kNan ? PartialCounts{} : counts[slots[t]]; }
};

// What is counted for one task in its row, before the rules.
struct RowCounts {
    PartialCounts counts = {};
    std::int64_t nan = 0;
    std::int64_t candidates = 0;
    friend RowCounts operator-(const RowCounts& all, const RowCounts& less) {
        return {{all.counts.above - less.counts.above, all.counts.tied - less.counts.tied},
                all.nan - less.nan,
                all.candidates - less.candidates};
    }
};

// What one thread needs: whether to stop, the first fault that it found, and memory that is used again and again.
template <class T>
struct RankWorker {
    Stop* stop;
    bool is_caller;
    Fault fault;
    bool has_masked = false;  // as Counts has it, of short rows
    std::vector<T> packed;    // scores that are copied before they are counted

    // The first step, by groups: the rows of some, and for each its true scores.
    std::vector<std::int64_t> rows;
    std::vector<TrueScores<T>> row_true_scores;
    // By tasks that have rows of their own: the true scores of a chunk, and counts of some rows that are not final yet.
    std::vector<T> single_true_scores;
    std::vector<RowCounts> row_counts;
    // Along columns, where rows are lanes: the true scores of a layer, its counts, and memory of the kernel.
    std::vector<T> layer_true_scores;
    std::vector<std::int64_t> lane_counts;
    std::vector<Line> lane_scratch;

    // The second step: counts of filtered scores, and columns that are filtered among the candidates.
    TrueScores<T> filtered_counts;
    std::vector<std::int64_t> common_columns;

    bool stopped(std::int64_t work) { return stop->requested(is_caller, work); }
};

template <class T>
class RowProblem {
  public:
    RowProblem(const CountKernels<T>& kernels_, const Scores& scores_, const Tasks& tasks_, const Rules& rules_,
               bool audit_)
        : kernels(kernels_), scores(scores_), tasks(tasks_), rules(rules_), audit(audit_), reader(scores_) {
        if (tasks.rows != nullptr && tasks.size > 0) group_tasks();
    }

    const CountKernels<T>& kernels;
    const BitOrder<T> order = kernels.order;
    const Scores& scores;
    const Tasks& tasks;
    const Selection& filter = tasks.filter;
    const Selection& candidates = tasks.candidates;
    const Rules& rules;
    const bool audit;
    const Reader<T> reader;

    std::int64_t row(std::int64_t task) const {
        return tasks.rows == nullptr ? task : tasks.rows[task] - tasks.first_row;
    }
    // The target's column in the scores; in part of a matrix it may be outside.
    std::int64_t target_column(std::int64_t task) const { return tasks.targets[task] - tasks.first_column; }
    bool has_target(std::int64_t task) const {
        return static_cast<std::uint64_t>(target_column(task)) < static_cast<std::uint64_t>(scores.columns);
    }
    T true_score_of(std::int64_t task) const {
        if (!tasks.is_partial()) return reader.load(row(task), tasks.targets[task]);
        return reinterpret_cast<const T*>(tasks.true_scores)[task];
    }
    bool is_nan(T score) const { return order.is_nan(score); }
    bool is_infinite(Key<T> key) const { return order.floating && (key == order.top || key == order.bottom); }
    // The key that no number is worse than, from which the best is sought.
    Key<T> worst_key() const { return rules.ascending ? order.top : order.bottom; }
    // The bits of the infinity that no number is worse than, of floats.
    T worst_score() const {
        return rules.ascending ? order.infinity : static_cast<T>(order.infinity | ~order.magnitude);
    }
    // Whether rows differ in their candidates.
    bool has_own_lists() const { return candidates && !candidates.shared; }
    std::int64_t candidates_of(std::int64_t task) const {
        return candidates ? candidates.task_span(task).length : scores.columns;
    }
    // Whether a task's filter lists its own target, which is a candidate nevertheless.
    bool filters_target(std::int64_t task) const { return filter.task_has(task, tasks.targets[task]); }

    bool is_candidate(std::int64_t task, std::int64_t column) const {
        const std::int64_t number = column + tasks.first_column;
        if (tasks.is_partial() && number == tasks.targets[task]) return false;
        return !filter.task_has(task, number) && (!candidates || candidates.task_has(task, number));
    }

    std::int64_t groups() const { return starts_.empty() ? tasks.size : static_cast<std::int64_t>(starts_.size()) - 1; }
    // Whether every group is a single task.
    bool has_single_tasks() const { return groups() == tasks.size; }
    TaskIds group(std::int64_t g) const {
        if (starts_.empty()) return {nullptr, g, 1};
        const std::int64_t first = starts_[static_cast<std::size_t>(g)];
        return {order_.data(), first, starts_[static_cast<std::size_t>(g) + 1] - first};
    }
    // The first group whose row is not before a row.
    std::int64_t first_group_from(std::int64_t wanted_row) const {
        std::int64_t low = 0, high = groups();
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (row(group(middle)[0]) < wanted_row) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    // Reads the true scores of the tasks.
    void gather_true_scores(TaskIds ids, TrueScores<T>& true_scores) const {
        true_scores.slots.resize(ids.size());
        true_scores.keys.clear();
        true_scores.nan = true_scores.at_best = true_scores.inf = 0;
        true_scores.best = worst_key();
        auto& keyed_tasks = true_scores.keyed_tasks;
        keyed_tasks.clear();
        for (std::size_t t = 0; t < ids.size(); ++t) {
            true_scores.last_true_score = true_score_of(ids[t]);
            const Key<T> key = order.key(true_scores.last_true_score);
            true_scores.slots[t] = true_scores.kNan;
            if (!order.is_key_of_nan(key)) keyed_tasks.emplace_back(key, t);
        }
        std::sort(keyed_tasks.begin(), keyed_tasks.end());
        for (const auto& [key, t] : keyed_tasks) {
            if (true_scores.keys.empty() || true_scores.keys.back() != key) true_scores.keys.push_back(key);
            true_scores.slots[t] = true_scores.keys.size() - 1;
        }
        true_scores.counts.assign(true_scores.keys.size(), PartialCounts{});
        true_scores.scratch.resize(kernels.scratch_size(true_scores.keys.size()));
    }

    // Counts n scores for some true scores. In an audit, those of a single one are read again while they are near.
    void count(const T* from, std::int64_t n, TrueScores<T>& true_scores) const {
        const bool is_single = true_scores.slots.size() == 1 && true_scores.keys.size() == 1;
        const auto at_once = audit && is_single ? static_cast<std::int64_t>(measured::kSummedBytes / sizeof(T)) : n;
        for (std::int64_t i = 0; i < n; i += at_once) {
            const auto some = static_cast<std::size_t>(std::min(n - i, at_once));
            true_scores.nan +=
                is_single ? kernels.count_one(from + i, some, true_scores.last_true_score, /*more_follow=*/true,
                                              /*has_true_score=*/false, true_scores.counts.data())
                          : kernels.count_several(from + i, some, true_scores.keys.data(), true_scores.keys.size(),
                                                  true_scores.counts.data(), true_scores.scratch.data());
            if (!audit) continue;
            kernels.audit(from + i, some, rules.ascending, &true_scores.best, &true_scores.at_best, &true_scores.inf);
        }
    }
    // The same for a single task, which needs no tables. If more follow in memory, they are its row, or part of it.
    void count(const T* from, std::int64_t n, T true_score, bool more_follow, RowCounts& row_counts) const {
        const auto size = static_cast<std::size_t>(n);
        const bool has_true_score = more_follow && n == scores.columns && !tasks.is_partial();
        row_counts.nan += is_nan(true_score) ? kernels.count_several(from, size, nullptr, 0, nullptr, nullptr)
                                             : kernels.count_one(from, size, true_score, more_follow, has_true_score,
                                                                 &row_counts.counts);
    }

    // The columns of a span of a selection.
    ListedColumns columns_of(const Selection& selection, Span span) const {
        return {selection, span, scores.columns, tasks.first_column};
    }
    // The candidates of a task from a place among them on, up to an end or to the last.
    ListedColumns candidate_columns(std::int64_t task, std::int64_t begin = 0,
                                    std::int64_t end = std::numeric_limits<std::int64_t>::max()) const {
        if (!candidates) return {begin, std::min(end, scores.columns) - begin};
        const Span span = candidates.task_span(task);
        return columns_of(candidates, {span.start + begin, std::min(end, span.length) - begin});
    }
    // Copies the rows' scores in the columns, some columns at a time, and calls use(i, scores, width) with those of row
    // i.
    template <class Use>
    void pack(RankWorker<T>& worker, std::span<const std::int64_t> rows, const ListedColumns& columns,
              const Use& use) const {
        const auto height = static_cast<std::int64_t>(rows.size());
        const std::int64_t n = columns.size;
        const std::int64_t width_at_once = std::min(
            n, std::max<std::int64_t>(64, measured::kPackBytes / static_cast<std::int64_t>(sizeof(T)) / height));
        worker.packed.resize(static_cast<std::size_t>(height * width_at_once));
        for (std::int64_t begin = 0; begin < n && !worker.stopped(height * width_at_once); begin += width_at_once) {
            const std::int64_t width = std::min(width_at_once, n - begin);
            reader.pack(rows.data(), height, columns, begin, width, worker.packed.data());
            for (std::int64_t i = 0; i < height; ++i) use(i, worker.packed.data() + i * width, width);
        }
    }

  private:
    // Sorts tasks by row, candidates and filter; those of one row and list of candidates are a group.
    void group_tasks() {
        order_.resize(static_cast<std::size_t>(tasks.size));
        std::iota(order_.begin(), order_.end(), std::int64_t{0});
        const auto raw_row = [&](std::int64_t task) { return tasks.rows[task]; };
        const auto before = [&](std::int64_t a, std::int64_t b) {
            if (raw_row(a) != raw_row(b)) return raw_row(a) < raw_row(b);
            if (candidates.list(a) != candidates.list(b)) return candidates.list(a) < candidates.list(b);
            if (filter.list(a) != filter.list(b)) return filter.list(a) < filter.list(b);
            return a < b;
        };
        if (!std::is_sorted(order_.begin(), order_.end(), before)) std::sort(order_.begin(), order_.end(), before);
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const bool same = i > 0 && raw_row(order_[i]) == raw_row(order_[i - 1]) &&
                              candidates.list(order_[i]) == candidates.list(order_[i - 1]);
            if (!same) starts_.push_back(static_cast<std::int64_t>(i));
        }
        starts_.push_back(tasks.size);
    }

    std::vector<std::int64_t> order_;   // the tasks, group by group, unless every task is a group
    std::vector<std::int64_t> starts_;  // where groups start in order_; empty: every task is a group
};

// The number of NaN for every task. Its array is made when the first NaN is found: mostly there is none, and the pages
// of a large array take longer than reading as much.
class NanCounts {
  public:
    explicit NanCounts(std::int64_t tasks) : tasks_(tasks) {}
    std::int64_t of(std::int64_t task) const {
        const std::int64_t* counts = counts_.load(std::memory_order_acquire);
        return counts == nullptr ? 0 : counts[task];
    }
    void add(std::int64_t task, std::int64_t nans) {
        if (nans == 0) return;
        std::int64_t* counts = counts_.load(std::memory_order_acquire);
        if (counts == nullptr) {
            const std::lock_guard<std::mutex> lock(mutex_);
            array_.resize(static_cast<std::size_t>(tasks_));
            counts = array_.data();
            counts_.store(counts, std::memory_order_release);
        }
        __atomic_fetch_add(&counts[task], nans, __ATOMIC_RELAXED);  // another thread may have a part of the same row
    }

  private:
    std::int64_t tasks_;
    std::vector<std::int64_t> array_;
    std::atomic<std::int64_t*> counts_{nullptr};
    std::mutex mutex_;
};

// What was counted for the tasks so far: in the caller's arrays, the NaN among their scores and, in an audit, the best
// score.
template <class T>
class RowTotals {
  public:
    RowTotals(const RowProblem<T>& problem, const Counts& counts_)
        : counts(counts_), p_(problem), nan_(problem.tasks.size) {
        if (counts.audit()) best.assign(static_cast<std::size_t>(problem.tasks.size), {problem.worst_key()});
    }

    const Counts& counts;
    std::vector<Best> best;  // in an audit, of each task

    std::int64_t nan_of(std::int64_t task) const { return nan_.of(task); }
    // Adds what a row, or part of it, counted for a task. `whole_rows`: no other thread adds to the task meanwhile.
    void add(std::int64_t task, PartialCounts more, std::int64_t nan, bool whole_rows) {
        const auto plus = [whole_rows](std::int64_t& sum, std::int64_t number) {
            if (whole_rows) {
                sum += number;
            } else {
                __atomic_fetch_add(&sum, number, __ATOMIC_RELAXED);
            }
        };
        plus(counts.above[task], more.above);
        plus(counts.tied[task], more.tied);
        nan_.add(task, nan);
    }
    void add_audit(std::int64_t task, const TrueScores<T>& true_scores) {
        const std::lock_guard<std::mutex> lock(audit_mutex_);
        counts.inf[task] += true_scores.inf;
        best[static_cast<std::size_t>(task)].add({true_scores.best, true_scores.at_best}, p_.rules.ascending);
    }

  private:
    const RowProblem<T>& p_;
    NanCounts nan_;
    std::mutex audit_mutex_;
};

}  // namespace truerank
