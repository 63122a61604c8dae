// Ranks the tasks of one score matrix of type T: first what each finds in its row (scan_body.hpp), then the filter and
// the rules (settle_body.hpp).
#pragma once

#include <algorithm>
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

using Ids = std::span<const std::int64_t>;

// How the work is cut: pieces of `step` groups (upright: of `step` rows of the matrix), each in `segments` stretches of
// columns.
struct Plan {
    bool upright = false;  // columns are contiguous: a tile of rows at once
    bool single = false;   // every task has its row, read in place, to itself
    bool serial = false;
    std::int64_t pieces = 0;
    std::int64_t step = 1;
    std::int64_t tile = 1;  // groups that are scanned side by side
    std::int64_t length = 0;
    std::int64_t segment = 0;
    std::int64_t segments = 1;
};

// The distinct truths of tasks that read one row, and what they find there.
template <class T>
struct Truths {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    T last;                          // the truth of the last task: of a single task, its own
    std::vector<std::size_t> slots;  // of every task, in keys and tallies; none: its truth is a NaN
    std::vector<Key<T>> keys;        // sorted and distinct, without NaN
    std::vector<Tally> tallies;      // of every key
    std::vector<std::int64_t> scratch;
    std::vector<std::pair<Key<T>, std::size_t>> sorting;
    std::int64_t nan, at_best;
    Key<T> best;

    // What task t of those gathered found.
    Tally of(std::size_t t) const { return slots[t] == none ? Tally{} : tallies[slots[t]]; }
    std::int64_t inf() const { return has_nan<T> ? tallies.front().tied + tallies.back().tied : 0; }
};

// What one task finds.
struct Found {
    Tally tally;
    std::int64_t nan = 0;
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
          kernels_(kernels<T>()) {}

    Fault run(int threads, bool (*interrupted)());

  private:
    struct Worker {
        std::vector<T> single;  // truths of tasks that have their rows to themselves
        std::vector<Truths<T>> tile;
        std::vector<std::int64_t> rows;  // of the tile
        std::vector<T> pack;
        Truths<T> filtered;
        std::vector<std::int64_t> columns;
        std::vector<T> layer;
        std::vector<std::int64_t> lanes;
        Fault fault;
        Stop* stop;
        bool caller;
        bool stopped(std::int64_t work) { return stop->asked(caller, work); }
    };

    std::int64_t row(std::int64_t task) const {
        return tasks_.rows == nullptr ? task : tasks_.rows[task] - tasks_.first_row;
    }
    // The target's column here; of a part it may be elsewhere.
    std::int64_t own(std::int64_t task) const { return tasks_.targets[task] - tasks_.first_column; }
    bool has_own(std::int64_t task) const {
        return static_cast<std::uint64_t>(own(task)) < static_cast<std::uint64_t>(scores_.columns);
    }
    T truth(std::int64_t task) const {
        if (!tasks_.part()) return reader_.load(row(task), tasks_.targets[task]);
        return reinterpret_cast<const T*>(tasks_.truths)[task];
    }
    std::int64_t candidates_of(std::int64_t task) const {
        return candidates_ ? candidates_.span(candidates_.list(task)).length : scores_.columns;
    }

    // A group of tasks reads one row with one list of candidates.
    void group_tasks();
    std::int64_t groups() const {
        return starts_.empty() ? tasks_.size : static_cast<std::int64_t>(starts_.size()) - 1;
    }
    Ids group(std::int64_t g) const {
        const std::int64_t first = starts_.empty() ? g : starts_[static_cast<std::size_t>(g)];
        const std::int64_t last = starts_.empty() ? g + 1 : starts_[static_cast<std::size_t>(g) + 1];
        return Ids(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    }

    Plan make_plan() const;
    std::int64_t first_group_from(std::int64_t row) const;

    bool alone(Ids ids) const { return ids.size() == 1 && !counts_.audit(); }
    void gather(Ids ids, Truths<T>& truths) const;
    void count(const T* scores, std::int64_t n, Truths<T>& truths) const;
    void count(const T* scores, std::int64_t n, T truth, Found& found) const;
    template <class Columns, class Use>
    void pack(Worker& worker, Ids rows, std::int64_t n, const Columns& columns, const Use& use) const;

    // First step: what the tasks of some groups find in columns (or candidates) begin to end, as if nothing were
    // filtered. `whole`: nobody else adds to their counts meanwhile.
    void scan_rows(Worker& worker, const Plan& plan, std::int64_t first, std::int64_t last, std::int64_t begin,
                   std::int64_t end, bool whole);
    void scan_single(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     bool whole);
    void fetch_truths(std::int64_t g) const;
    void fetch_filter(std::int64_t task) const;
    void scan_tile(Worker& worker, const Plan& plan, std::int64_t top, std::int64_t begin, std::int64_t end,
                   bool whole);
    void scan(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end, bool whole);
    void scan_columns(Worker& worker, std::int64_t first, std::int64_t last, std::int64_t top, std::int64_t lanes,
                      std::int64_t begin, std::int64_t end, bool whole);
    void add(std::int64_t task, Tally tally, std::int64_t nan, bool whole);
    void add_audit(std::int64_t task, const Truths<T>& truths);

    // Second step: the filter is counted out, and the rules make counts of what was found.
    void finish(Worker& worker, std::int64_t first, std::int64_t last);
    void remove(Worker& worker, Ids ids, std::int64_t list);
    void subtract(std::int64_t task, Tally tally, std::int64_t nans, bool kept, bool nan);
    void settle(Worker& worker, std::int64_t task, std::int64_t size);
    void settle_part(Worker& worker, std::int64_t task, std::int64_t size);
    void fail(Worker& worker, Fault::Kind kind, std::int64_t task) const;
    void best_but_own(Worker& worker, std::int64_t task);
    template <class Use>
    void with_columns(const Selection& selection, std::int64_t start, const Use& use) const;
    void intersect(Worker& worker, std::int64_t task) const;
    Fault locate(Fault fault) const;

    const Scores& scores_;
    const Tasks& tasks_;
    const Selection& filter_;
    const Selection& candidates_;
    const Rules& rules_;
    const Counts& counts_;
    const Reader<T> reader_;
    const Kernels<T>& kernels_;

    std::vector<std::int64_t> order_;   // the tasks, group by group
    std::vector<std::int64_t> starts_;  // of the groups in order_; empty: every task is one
    std::vector<std::int64_t> nan_;
    std::vector<Key<T>> best_;
    std::vector<std::int64_t> at_best_;
    std::mutex audit_;
};

}  // namespace truerank
