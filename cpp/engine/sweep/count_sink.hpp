// The sink of the sweep that counts: it compares the scores of a cell with the true scores of the cell's tasks.
//
// What comes in is one of two things for each panel: the scores of a few queries at a time (take_scores), or what
// bounds tell about them (BoundedTasks). All of it goes into counters of the cell's tasks, which are added to those of
// other cells at the end (end_cell), so that threads meet once for a cell.
//
// Filtered candidates are counted with the others first, since no comparison has to look at them, and are then taken
// out: the columns of a panel ascend, and so does the filter's list of a task, in which a position goes along.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "engine/sweep/sweep.hpp"
#include "kernels/measured.hpp"

namespace truerank {

template <class C>
class CountSink : public Sink<C>, public BoundedTasks<C> {
  public:
    using Counter = typename TaskCounters<C>::Counter;

    struct Shared {
        const Tasks& tasks;
        const Counts& counts;
        const SortedTasks& sorted;
        const std::vector<C>& true_scores;
        NanRule nan_rule;
        // For each task: the number of NaN among its candidates and, in an audit, the best score.
        std::vector<std::int64_t> nan = std::vector<std::int64_t>(static_cast<std::size_t>(tasks.size));
        std::vector<Best> best = std::vector<Best>(counts.audit() ? nan.size() : 0, {Order<C>::bottom()});
        Fault fault{};
        std::mutex mutex{};
    };

    CountSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) override {
        cell_ = &cell;
        first_task_ = first.data();
        const auto n = static_cast<std::size_t>(cell.last_task - cell.first_task);
        above_.assign(n * kernels_.counters_per_task, 0);
        tied_.assign(n * kernels_.counters_per_task, 0);
        bounded_above_.clear();
        states_.assign(n, TaskState{});
        if (!shared_.tasks.filter) return;
        next_filtered_.resize(n);
        const std::int64_t low = cell.candidates(cell.begin), high = cell.candidates(cell.end - 1);
        const Selection window = shared_.tasks.filter.within(low + first_column(), high + first_column() + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const Span span = window.span(window.list(task(i)));
            states_[i].position = span.start;
            states_[i].end = span.start + span.length;
            next_filtered_[i] = next_column(states_[i]);
        }
    }

    void begin_panel(const Panel& panel) override { panel_ = panel; }

    std::int64_t take_scores(C* scores, std::int64_t first_query, std::int64_t queries) override {
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        if (panel_.width < lanes) {  // the padding is neither above nor tied
            for (std::int64_t i = 0; i < queries; ++i) {
                std::fill(scores + i * lanes + panel_.width, scores + (i + 1) * lanes,
                          std::numeric_limits<C>::quiet_NaN());
            }
        }
        const std::int64_t* first = first_task_ + first_query;
        saw_nan_ = kernels_.count(scores, static_cast<std::size_t>(queries), first,
                                  {.true_scores = shared_.true_scores.data() + cell_->first_task,
                                   .above = above_.data(),
                                   .tied = tied_.data()});
        std::int64_t work = lanes * (first[queries] - first[0]);
        const bool has_audit = shared_.counts.audit(), has_filter = static_cast<bool>(shared_.tasks.filter);
        if (!saw_nan_ && !has_audit && !has_filter) return work;
        for (std::int64_t i = 0; i < queries; ++i) {
            const C* row = scores + i * lanes;
            if (saw_nan_) find_nans(row, first[i], first[i + 1]);
            if (has_audit) audit(row, first[i], first[i + 1]);
            if (!has_filter) continue;
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                const auto task = static_cast<std::size_t>(t);
                if (has_filtered(task)) work += measured::kScoresPerStep * remove_filtered(row, task);
            }
        }
        return work;
    }

    // What bounds need, and what they tell (engine/bounds/bounded_panels.hpp).
    BoundedTasks<C>* query_tasks() override { return shared_.counts.audit() ? nullptr : this; }  // it needs all scores
    const C* thresholds() override { return shared_.true_scores.data() + cell_->first_task; }

    std::uint32_t* counters() override {
        bounded_above_.resize(states_.size());
        return bounded_above_.data();
    }
    // Takes filtered columns out of the masks of the tasks of some queries.
    void take_masks(PairMasks* masks, std::int64_t first_query, std::int64_t queries) override {
        if (!shared_.tasks.filter) return;
        const std::int64_t begin = first_task_[first_query], end = first_task_[first_query + queries];
        for (std::int64_t t = begin; t < end; ++t) {
            const auto task = static_cast<std::size_t>(t);
            if (!has_filtered(task)) continue;
            std::uint64_t filtered = 0;
            visit_filtered(task, [&](std::int64_t lane) { filtered |= std::uint64_t{1} << lane; });
            states_[task].removed += std::popcount(filtered);
            masks[t - begin].above &= ~filtered;
            masks[t - begin].not_below &= ~filtered;
        }
    }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) override {
        const C* const true_scores = thresholds();
        for (std::size_t i = 0; i < n; ++i) {
            TaskState& state = states_[pairs[i].task];
            state.settled_above += scores[i] > true_scores[pairs[i].task];
            state.settled_tied += scores[i] == true_scores[pairs[i].task];
        }
    }

    // Whether there was a NaN among the scores taken last, the padding included.
    bool saw_nan() const { return saw_nan_; }

    void end_cell() override {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        const Counts& counts = shared_.counts;
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const std::int64_t task = this->task(i);
            const TaskState& state = states_[i];
            counts.above[task] += sum(above_, i) + state.settled_above - state.filtered_above;
            if (!bounded_above_.empty()) counts.above[task] += bounded_above_[i];
            counts.tied[task] += sum(tied_, i) + state.settled_tied - state.filtered_tied;
            counts.candidates[task] -= state.removed;
            const auto t = static_cast<std::size_t>(task);
            shared_.nan[t] += state.nan;
            if (!counts.audit()) continue;
            counts.inf[task] += state.inf;
            Best& best = shared_.best[t];
            best.add(state.best, false);
            if (state.best_filtered.key == best.key) best.count -= state.best_filtered.count;
        }
        shared_.fault.take(fault_);
    }

  private:
    static constexpr std::int64_t kNoColumn = std::numeric_limits<std::int64_t>::max();

    // What is known of a task beside its counters.
    struct TaskState {
        // The position at which the filter's list has arrived, and its end.
        std::int64_t position = 0, end = 0;
        std::int64_t filtered_above = 0, filtered_tied = 0, removed = 0;
        std::int64_t settled_above = 0, settled_tied = 0;  // of pairs that bounds left open
        std::int64_t nan = 0, inf = 0;
        Best best{Order<C>::bottom()}, best_filtered{Order<C>::bottom()};
    };

    std::int64_t task(std::size_t i) const {
        return shared_.sorted.order[static_cast<std::size_t>(cell_->first_task) + i];
    }
    std::int64_t sum(const std::vector<Counter>& counters, std::size_t i) const {
        const Counter* first = counters.data() + i * kernels_.counters_per_task;
        return std::accumulate(first, first + kernels_.counters_per_task, std::int64_t{0});
    }
    // The number of the first column in selections and targets, if the candidates are part of more.
    std::int64_t first_column() const { return shared_.tasks.first_column; }
    std::int64_t target(std::int64_t task) const { return shared_.tasks.targets[task] - first_column(); }
    bool is_filtered(std::int64_t task, std::int64_t column) const {
        return column != target(task) && shared_.tasks.filter.task_has(task, column + first_column());
    }

    // What take_scores() rarely needs is not inlined: it would take the registers of its loop.
    __attribute__((noinline)) void find_nans(const C* scores, std::int64_t first, std::int64_t last) {
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            if (scores[j] == scores[j]) continue;
            for (std::int64_t t = first; t < last; ++t) {
                const auto i = static_cast<std::size_t>(t);
                const std::int64_t task = this->task(i);
                const bool is_target = panel_.columns[j] == target(task);
                // Partial counts leave the target out, whatever its score here is.
                if (is_filtered(task, panel_.columns[j]) || (is_target && shared_.tasks.is_partial())) continue;
                ++states_[i].nan;
                const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first_task + t)];
                fault_.take({kind_of_nan(shared_.nan_rule, is_target), task, row, panel_.columns[j]});
            }
        }
    }

    // Counts the infinities among the scores, and how many scores equal the best one, before the filter.
    __attribute__((noinline)) void audit(const C* scores, std::int64_t first, std::int64_t last) {
        Key<C> best = Order<C>::bottom();
        std::int64_t at_best = 0, inf = 0;
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            inf += std::isinf(scores[j]);
            const Key<C> key = Order<C>::key(scores[j]);
            at_best = key > best ? 1 : at_best + (key == best);
            best = std::max(best, key);
        }
        for (std::int64_t t = first; t < last; ++t) {
            TaskState& state = states_[static_cast<std::size_t>(t)];
            state.inf += inf;
            state.best.add({best, at_best}, false);
        }
    }

    // Whether a column of the panel, or one before it, comes next in the filter's list of a task.
    bool has_filtered(std::size_t i) const { return next_filtered_[i] <= panel_.columns[panel_.width - 1]; }
    std::int64_t next_column(const TaskState& state) const {
        return state.position < state.end ? shared_.tasks.filter.column(state.position) - first_column() : kNoColumn;
    }
    // Takes the filtered columns of the panel out of the counts of a task. Returns how many steps that took.
    __attribute__((noinline)) std::int64_t remove_filtered(const C* scores, std::size_t i) {
        return visit_filtered(i, [&](std::int64_t lane) { remove_score(scores[lane], i); });
    }

    // Calls `use` for each lane of the panel whose column is filtered for a task. Returns how many steps that took.
    template <class Use>
    std::int64_t visit_filtered(std::size_t i, const Use& use) {
        TaskState& state = states_[i];
        std::int64_t& next = next_filtered_[i];
        const std::int64_t* const columns = panel_.columns;
        const std::int64_t* const end = columns + panel_.width;
        const std::int64_t target = this->target(task(i)), last_column = end[-1];
        const bool are_consecutive = last_column - columns[0] == panel_.width - 1;
        const std::int64_t* at = columns;
        std::int64_t steps = 0;
        while (next <= last_column) {
            ++steps;
            if (are_consecutive) {
                at = columns + std::max<std::int64_t>(at - columns, next - columns[0]);
            } else {
                at = std::lower_bound(at, end, next);
            }
            if (at == end) break;  // only if the list is out of order
            if (*at == next) {
                if (next != target) use(at - columns);
                ++state.position;
            } else {  // go on to the next candidate, since there may be far fewer candidates than filtered columns
                state.position = shared_.tasks.filter.seek(state.position + 1, state.end, *at + first_column());
            }
            next = next_column(state);
        }
        return steps;
    }

    void remove_score(C score, std::size_t i) {
        TaskState& state = states_[i];
        const C true_score = shared_.true_scores[static_cast<std::size_t>(cell_->first_task) + i];
        ++state.removed;
        state.filtered_above += score > true_score;
        state.filtered_tied += score == true_score;
        if (!shared_.counts.audit()) return;
        state.inf -= std::isinf(score);
        state.best_filtered.add({Order<C>::key(score), 1}, false);
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_task_ = nullptr;
    Panel panel_{};
    std::vector<Counter> above_, tied_;
    std::vector<std::uint32_t> bounded_above_;  // those that bounds found, empty until there are any
    std::vector<TaskState> states_;
    // The column at which the filter's list of each task has arrived, by itself: each panel looks at all of them.
    std::vector<std::int64_t> next_filtered_;
    bool saw_nan_ = false;
    Fault fault_{};
};

// Applies the rule for NaN to the counts of a task, which has `nans` of them among its candidates.
template <class C>
void apply_nan_rule(const Counts& counts, std::int64_t task, C true_score, std::int64_t nans, NanRule rule) {
    if (counts.audit()) counts.nan[task] = nans;
    if (true_score != true_score) {
        counts.above[task] = counts.candidates[task] - 1;
        counts.tied[task] = 1;
    } else if (rule == NanRule::omit) {
        counts.candidates[task] -= nans;
    }
}

}  // namespace truerank
