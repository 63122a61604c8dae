// Ranks the tasks of one score matrix of type T. The first step counts for each task in its row (scan_body.hpp); the
// second step subtracts the filter and applies the rules (settle_body.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/rank.hpp"
#include "engine/reader.hpp"
#include "engine/threads.hpp"
#include "kernels/count.hpp"

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

// The distinct true scores of tasks that read one row, and their counts there.
template <class T>
struct TrueScores {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    T last;                             // the true score of the last task; for a single task, its own
    std::vector<std::size_t> slots;     // for every task, its place in keys and counts; none: its true score is a NaN
    std::vector<Key<T>> keys;           // sorted and distinct, without NaN
    std::vector<PartialCounts> counts;  // for every key
    std::vector<std::int64_t> scratch;
    std::vector<std::pair<Key<T>, std::size_t>> keyed_tasks;
    std::int64_t nan, at_best;
    Key<T> best;

    // The counts of task t.
    PartialCounts counts_of(std::size_t t) const { return slots[t] == none ? PartialCounts{} : counts[slots[t]]; }
    std::int64_t infinities() const { return has_nan<T> ? counts.front().tied + counts.back().tied : 0; }
};

// What a task's counts come to.
struct TaskCounts {
    std::int64_t above;
    std::int64_t tied;
    std::int64_t candidates;
};

// What is counted for one task.
struct RowCounts {
    PartialCounts counts;
    std::int64_t nan = 0;
};

// The columns of a task that are both in its filter and among its candidates: n of a selection, from a position on.
struct FilteredColumns {
    Selection selection;
    std::int64_t start;
    std::int64_t n;
};

template <class T>
class Ranker {
  public:
    Ranker(const Scores& scores, const Tasks& tasks, const Selection& filter, const Selection& candidates,
           const Rules& rules, const Counts& counts)
        : scores_(scores),
          tasks_(tasks),
          filter_(filter),
          candidates_(candidates),
          rules_(rules),
          counts_(counts),
          reader_(scores),
          kernels_(count_kernels<T>()),
          nan_(tasks.size) {}

    Fault run(int threads, bool (*interrupted)());

  private:
    struct Worker {
        std::vector<T> single_true_scores;  // the true scores of tasks that have rows of their own
        std::vector<TrueScores<T>> row_true_scores;
        std::vector<std::int64_t> rows;  // of the groups that are scanned side by side
        std::vector<T> packed;
        TrueScores<T> filtered_counts;
        std::vector<std::int64_t> common_columns;
        std::vector<T> layer_true_scores;
        std::vector<std::int64_t> lane_counts;
        std::vector<RowCounts> row_counts;    // of tasks whose rows are counted before their counts are final
        std::vector<TaskCounts> task_counts;  // of tasks whose counts are written at once
        std::vector<Line> lane_scratch;
        Fault fault;
        Stop* stop;
        bool is_caller;
        bool stopped(std::int64_t work) { return stop->requested(is_caller, work); }
    };

    std::int64_t row(std::int64_t task) const {
        return tasks_.rows == nullptr ? task : tasks_.rows[task] - tasks_.first_row;
    }
    // The target's column in the scores; in part of a matrix it may be outside.
    std::int64_t target_column(std::int64_t task) const { return tasks_.targets[task] - tasks_.first_column; }
    bool has_target(std::int64_t task) const {
        return static_cast<std::uint64_t>(target_column(task)) < static_cast<std::uint64_t>(scores_.columns);
    }
    T true_score_of(std::int64_t task) const {
        if (!tasks_.is_partial()) return reader_.load(row(task), tasks_.targets[task]);
        return reinterpret_cast<const T*>(tasks_.true_scores)[task];
    }
    std::int64_t candidates_of(std::int64_t task) const {
        return candidates_ ? candidates_.span(candidates_.list(task)).length : scores_.columns;
    }

    // A group is all tasks that read one row with one list of candidates.
    std::int64_t groups() const {
        return starts_.empty() ? tasks_.size : static_cast<std::int64_t>(starts_.size()) - 1;
    }
    TaskIds group(std::int64_t g) const {
        if (starts_.empty()) return {nullptr, g, 1};
        const std::int64_t first = starts_[static_cast<std::size_t>(g)];
        return {order_.data(), first, starts_[static_cast<std::size_t>(g) + 1] - first};
    }

    Plan make_plan(int threads) const;
    std::int64_t first_group_from(std::int64_t row) const;

    bool is_single_task(TaskIds ids) const { return ids.size() == 1 && !counts_.audit(); }
    void gather_true_scores(TaskIds ids, TrueScores<T>& true_scores) const;
    void count(const T* scores, std::int64_t n, TrueScores<T>& true_scores) const;
    void count(const T* scores, std::int64_t n, T true_score, bool more_follow, RowCounts& row_counts) const;
    template <class Columns, class Use>
    void pack(Worker& worker, std::span<const std::int64_t> rows, std::int64_t n, const Columns& columns,
              const Use& use) const;

    // First step: counts for the tasks of some groups in columns (or candidates) begin to end, as if nothing were
    // filtered. `whole_rows`: these are all columns, so that no other thread adds to the counts meanwhile.
    void scan_rows(Worker& worker, const Plan& plan, std::int64_t first, std::int64_t last, std::int64_t begin,
                   std::int64_t end, bool whole_rows);
    void scan_single_tasks(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                           bool whole_rows);
    void count_apart_row(T true_score, std::int64_t g, std::int64_t last, std::int64_t begin, std::int64_t end,
                         RowCounts& row_counts) const;
    void keep_counts(Worker& worker, std::int64_t first_task, std::int64_t last_task) const;
    void write_counts(Worker& worker, std::int64_t first_task) const;
    void prefetch_scores(std::int64_t row, std::int64_t begin, std::int64_t end, bool narrow) const;
    void prefetch_true_scores(std::int64_t g) const;
    void prefetch_filter(std::int64_t task) const;
    void scan_column_major(Worker& worker, const Plan& plan, std::int64_t top, std::int64_t begin, std::int64_t end,
                           bool whole_rows);
    void scan_groups(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     bool whole_rows);
    void scan_columns(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t top, std::int64_t lanes,
                      std::int64_t begin, std::int64_t end, bool whole_rows);
    void add_counts(std::int64_t task, PartialCounts counts, std::int64_t nan, bool whole_rows);
    void add_audit(std::int64_t task, const TrueScores<T>& true_scores);

    // Second step: subtracts the filtered columns from the counts and applies the rules.
    void finish_groups(Worker& worker, std::int64_t first, std::int64_t last);
    void subtract_filtered(Worker& worker, TaskIds ids, std::int64_t list);
    std::int64_t leave_out(Worker& worker, std::int64_t task, RowCounts& row_counts) const;
    FilteredColumns filtered_columns(Worker& worker, std::int64_t task) const;
    void subtract(std::int64_t task, PartialCounts counts, std::int64_t nans, bool keeps_target, bool nan);
    void settle(Worker& worker, std::int64_t task, std::int64_t size);
    TaskCounts final_counts(Worker& worker, std::int64_t task, std::int64_t size, const RowCounts& row_counts) const;
    void settle_partial(Worker& worker, std::int64_t task, std::int64_t size);
    void fail(Worker& worker, Fault::Kind kind, std::int64_t task) const;
    void best_without_target(Worker& worker, std::int64_t task);
    template <class Use>
    void with_columns(const Selection& selection, std::int64_t start, const Use& use) const;
    void intersect_lists(Worker& worker, std::int64_t task) const;
    Fault locate_fault(Fault fault) const;

    const Scores& scores_;
    const Tasks& tasks_;
    const Selection& filter_;
    const Selection& candidates_;
    const Rules& rules_;
    const Counts& counts_;
    const Reader<T> reader_;
    const CountKernels<T>& kernels_;

    std::vector<std::int64_t> order_;   // the tasks, group by group, unless every task is a group
    std::vector<std::int64_t> starts_;  // where groups start in order_; empty: every task is a group
    NanCounts nan_;
    std::vector<Key<T>> best_;
    std::vector<std::int64_t> at_best_;
    std::mutex audit_mutex_;
};

}  // namespace truerank
