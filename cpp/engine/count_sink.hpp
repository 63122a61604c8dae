// Sinks of the sweep that count: what the tasks of a cell find among its scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "engine/sweep.hpp"

namespace truerank {

// Counts of the tasks of a cell, in the order of the cell, and how they are joined to those of other cells.
template <class C>
class CountSink {
  public:
    using Bits = typename Tallies<C>::Counter;

    struct Shared {
        const Tasks& tasks;
        const Selection& filter;
        const Counts& counts;
        const Sorted& sorted;
        const std::vector<C>& truths;
        NanRule nan_rule;
        // By task: NaN among its candidates, and, audited, the key of the best score.
        std::vector<std::int64_t> nan;
        std::vector<Key<C>> best;
        Fault fault{};
        std::mutex mutex{};
    };

    CountSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_ = first.data();
        const auto n = static_cast<std::size_t>(cell.last - cell.first);
        above_.assign(n * kernels_.counters, 0);
        tied_.assign(n * kernels_.counters, 0);
        found_.assign(n, Found{});
        if (!shared_.filter) return;
        const std::int64_t low = cell.view.column(cell.begin), high = cell.view.column(cell.end - 1);
        const Selection window = shared_.filter.within(low, high + 1);
        for (std::size_t i = 0; i < n; ++i) {
            const Span span = window.span(window.list(task(i)));
            found_[i].position = span.start;
            found_[i].end = span.start + span.length;
            found_[i].next = span.length > 0 ? window.column(span.start) : kNone;
        }
    }

    void enter(const Panel& panel) { panel_ = panel; }

    std::int64_t take(C* scores, std::int64_t first_query, std::int64_t queries) {
        const auto lanes = static_cast<std::int64_t>(kernels_.lanes);
        if (panel_.width < lanes) {  // what is made up is neither above nor tied
            for (std::int64_t i = 0; i < queries; ++i) {
                std::fill(scores + i * lanes + panel_.width, scores + (i + 1) * lanes,
                          std::numeric_limits<C>::quiet_NaN());
            }
        }
        const std::int64_t* first = first_ + first_query;
        met_nan_ = kernels_.count(scores, static_cast<std::size_t>(queries), first,
                                  {shared_.truths.data() + cell_->first, above_.data(), tied_.data()});
        std::int64_t work = lanes * (first[queries] - first[0]);
        for (std::int64_t i = 0; i < queries; ++i) {
            const C* row = scores + i * lanes;
            if (met_nan_) find_nans(row, first[i], first[i + 1]);
            if (shared_.counts.audit()) audit(row, first[i], first[i + 1]);
            if (!shared_.filter) continue;
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                Found& found = found_[static_cast<std::size_t>(t)];
                if (found.next > panel_.columns[panel_.width - 1]) continue;
                work += kStep * remove(row, static_cast<std::size_t>(t), found);
            }
        }
        return work;
    }

    // Whether what was taken last had a NaN, if only one made up.
    bool met_nan() const { return met_nan_; }

    void end() {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        const Counts& counts = shared_.counts;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            const std::int64_t task = this->task(i);
            const Found& found = found_[i];
            counts.above[task] += sum(above_, i) - found.above;
            counts.tied[task] += sum(tied_, i) - found.tied;
            counts.candidates[task] -= found.removed;
            const auto t = static_cast<std::size_t>(task);
            shared_.nan[t] += found.nan;
            if (!counts.audit()) continue;
            counts.inf[task] += found.inf;
            if (found.best > shared_.best[t]) {
                shared_.best[t] = found.best;
                counts.at_best[task] = 0;
            }
            if (found.best == shared_.best[t]) counts.at_best[task] += found.at_best;
            if (found.best_removed == shared_.best[t]) counts.at_best[task] -= found.at_best_removed;
        }
        if (sooner(fault_, shared_.fault)) shared_.fault = fault_;
    }

  private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t kStep = 16;  // scores that are counted while a filter's entry is looked at

    // What is seen of a task beside the tallies.
    struct Found {
        // Where the filter's list is, and the column it has there.
        std::int64_t next = kNone, position = 0, end = 0;
        std::int64_t above = 0, tied = 0, removed = 0;
        std::int64_t nan = 0, inf = 0;
        Key<C> best = Order<C>::bottom(), best_removed = Order<C>::bottom();
        std::int64_t at_best = 0, at_best_removed = 0;
    };

    std::int64_t task(std::size_t i) const { return shared_.sorted.order[static_cast<std::size_t>(cell_->first) + i]; }
    std::int64_t sum(const std::vector<Bits>& counters, std::size_t i) const {
        const Bits* first = counters.data() + i * kernels_.counters;
        return std::accumulate(first, first + kernels_.counters, std::int64_t{0});
    }
    bool is_filtered(std::int64_t task, std::int64_t column) const {
        return column != shared_.tasks.targets[task] && shared_.filter &&
               shared_.filter.has(shared_.filter.list(task), column);
    }

    void find_nans(const C* scores, std::int64_t first, std::int64_t last) {
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            if (scores[j] == scores[j]) continue;
            for (std::int64_t t = first; t < last; ++t) {
                const auto i = static_cast<std::size_t>(t);
                const std::int64_t task = this->task(i);
                if (is_filtered(task, panel_.columns[j])) continue;
                ++found_[i].nan;
                const std::int64_t row = shared_.sorted.rows[static_cast<std::size_t>(cell_->first + t)];
                const bool truth = panel_.columns[j] == shared_.tasks.targets[task];
                using Kind = Fault::Kind;
                const Fault fault{shared_.nan_rule == NanRule::raise ? Kind::nan_score : Kind::nan_truth, task, row,
                                  panel_.columns[j]};
                if (shared_.nan_rule == NanRule::raise || (shared_.nan_rule == NanRule::omit && truth)) {
                    if (sooner(fault, fault_)) fault_ = fault;
                }
            }
        }
    }

    // Infinities among the candidates, and how many share the best score before the filter.
    void audit(const C* scores, std::int64_t first, std::int64_t last) {
        Key<C> best = Order<C>::bottom();
        std::int64_t at_best = 0, inf = 0;
        for (std::int64_t j = 0; j < panel_.width; ++j) {
            inf += std::isinf(scores[j]);
            const Key<C> key = Order<C>::key(scores[j]);
            at_best = key > best ? 1 : at_best + (key == best);
            best = std::max(best, key);
        }
        for (std::int64_t t = first; t < last; ++t) {
            Found& found = found_[static_cast<std::size_t>(t)];
            found.inf += inf;
            if (best > found.best) found.at_best = 0;
            found.best = std::max(found.best, best);
            if (best == found.best) found.at_best += at_best;
        }
    }

    // Takes the columns of the filter's list that the panel has out of the counts; returns how many steps that took.
    std::int64_t remove(const C* scores, std::size_t i, Found& found) {
        const std::int64_t* const columns = panel_.columns;
        const std::int64_t* const end = columns + panel_.width;
        const std::int64_t target = shared_.tasks.targets[task(i)];
        const bool dense = end[-1] - columns[0] == panel_.width - 1;
        const std::int64_t* at = columns;
        std::int64_t steps = 0;
        while (found.next <= end[-1]) {
            ++steps;
            at = dense ? columns + std::max<std::int64_t>(at - columns, found.next - columns[0])
                       : std::lower_bound(at, end, found.next);
            if (at == end) break;  // no list that is in order
            if (*at == found.next) {
                if (found.next != target) remove(scores[at - columns], i, found);
                ++found.position;
            } else {  // the next that is a candidate, for there may be far fewer of these
                found.position = shared_.filter.seek(found.position + 1, found.end, *at);
            }
            found.next = found.position < found.end ? shared_.filter.column(found.position) : kNone;
        }
        return steps;
    }

    void remove(C score, std::size_t i, Found& found) {
        const C truth = shared_.truths[static_cast<std::size_t>(cell_->first) + i];
        ++found.removed;
        found.above += score > truth;
        found.tied += score == truth;
        if (!shared_.counts.audit()) return;
        found.inf -= std::isinf(score);
        const Key<C> key = Order<C>::key(score);
        if (key > found.best_removed) found.at_best_removed = 0;
        found.best_removed = std::max(found.best_removed, key);
        found.at_best_removed += key == found.best_removed;
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_ = nullptr;
    Panel panel_{};
    std::vector<Bits> above_, tied_;
    std::vector<Found> found_;
    bool met_nan_ = false;
    Fault fault_{};
};

// Joins what was counted of NaN to the counts, as the rule has it. `task` is one of `counts`.
template <class C>
void settle(const Counts& counts, std::int64_t task, C truth, std::int64_t nans, NanRule nan) {
    if (counts.audit()) counts.nan[task] = nans;
    if (truth != truth) {
        counts.above[task] = counts.candidates[task] - 1;
        counts.tied[task] = 1;
    } else if (nan == NanRule::omit) {
        counts.candidates[task] -= nans;
    }
}

}  // namespace truerank
