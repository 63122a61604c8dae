// Ranker, second step: the filter is counted out, and the rules make counts of what was found. Bodies of its templates,
// for rank.cpp alone.
#pragma once

#include <array>

#include "engine/ranker.hpp"

namespace truerank {

// Gives `use` the columns that a selection has from a position on, as a function of 0, 1, ... An index is read once
// more with care: the array is the caller's, whose other threads could have written to it.
template <class T>
template <class Use>
void Ranker<T>::with_columns(const Selection& selection, std::int64_t start, const Use& use) const {
    const auto bound = static_cast<std::uint64_t>(scores_.columns);
    const std::int64_t first = tasks_.first_column;
    const auto give = [&](const auto& index) {
        if (first == 0) {  // a subtraction less, which shows where whole selections are read
            use([index, bound](std::int64_t j) {
                const auto column = static_cast<std::int64_t>(index(j));
                return static_cast<std::uint64_t>(column) < bound ? column : 0;
            });
        } else {
            use([index, bound, first](std::int64_t j) {
                const auto column = static_cast<std::int64_t>(index(j)) - first;
                return static_cast<std::uint64_t>(column) < bound ? column : 0;
            });
        }
    };
    if (selection.ranges) {
        give([start](std::int64_t j) { return start + j; });
    } else if (selection.wide) {
        const auto* indices = static_cast<const std::int64_t*>(selection.indices) + start;
        give([indices](std::int64_t j) { return indices[j]; });
    } else {
        const auto* indices = static_cast<const std::int32_t*>(selection.indices) + start;
        give([indices](std::int64_t j) { return indices[j]; });
    }
}

template <class T>
void Ranker<T>::finish(Worker& worker, std::int64_t first, std::int64_t last) {
    for (std::int64_t g = first; g < last && !worker.stopped(1); ++g) {
        const Ids ids = group(g);
        if (!filter_) {
            for (const std::int64_t task : ids) settle(worker, task, candidates_of(task));
            continue;
        }
        for (std::size_t i = 0; i < ids.size() && !worker.stopped(1);) {
            const std::int64_t list = filter_.list(ids[i]);
            std::size_t j = i + 1;
            while (j < ids.size() && filter_.list(ids[j]) == list) ++j;
            remove(worker, ids.subspan(i, j - i), list);
            i = j;
        }
    }
}

// Tasks that share row, candidates and filter: what they found in the filter's columns is taken away, but for their
// targets.
template <class T>
void Ranker<T>::remove(Worker& worker, Ids ids, std::int64_t list) {
    const std::int64_t size = candidates_of(ids[0]);
    const Span span = filter_.span(list);
    std::int64_t start = span.start;
    std::int64_t n = span.length;
    Selection common;  // of filter and candidates
    if (candidates_) {
        intersect(worker, ids[0]);
        common.indices = worker.columns.data();
        start = 0;
        n = static_cast<std::int64_t>(worker.columns.size());
    }
    if (n == 0) {
        for (const std::int64_t task : ids) settle(worker, task, size);
        return;
    }
    const std::int64_t one_row[] = {row(ids[0])};
    const auto pack_removed = [&](const auto& use) {
        with_columns(candidates_ ? common : filter_, start,
                     [&](const auto& columns) { pack(worker, one_row, n, columns, use); });
    };
    // Of a target that is filtered and yet a candidate, its own contribution stays; of a part it is out in any case.
    if (alone(ids)) {
        const T own = truth(ids[0]);
        const bool kept = !tasks_.part() && filter_.has(list, tasks_.targets[ids[0]]);
        const bool nan = Order<T>::is_nan(Order<T>::key(own));
        Found found;
        pack_removed([&](std::int64_t, const T* scores, std::int64_t width) { count(scores, width, own, found); });
        subtract(ids[0], found.tally, found.nan, kept, nan);
        return settle(worker, ids[0], size - n + kept);
    }
    Truths<T>& found = worker.filtered;
    gather(ids, found);
    pack_removed([&](std::int64_t, const T* scores, std::int64_t width) { count(scores, width, found); });
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const std::int64_t task = ids[t];
        const bool kept = !tasks_.part() && filter_.has(list, tasks_.targets[task]);
        const bool nan = found.slots[t] == found.none;
        subtract(task, found.of(t), found.nan, kept, nan);
        if (counts_.audit()) {
            const Key<T> key = Order<T>::key(truth(task));
            const bool inf = has_nan<T> && (key == Order<T>::top() || key == Order<T>::bottom());
            const Key<T> best = best_[static_cast<std::size_t>(task)];
            counts_.inf[task] -= found.inf() - (kept && inf);
            at_best_[static_cast<std::size_t>(task)] -=
                (found.best == best ? found.at_best : 0) - (kept && !nan && key == best);
        }
        settle(worker, task, size - n + kept);
    }
}

// The columns that both the filter and the candidates of a task have: the shorter list is searched in the longer.
template <class T>
void Ranker<T>::intersect(Worker& worker, std::int64_t task) const {
    const std::int64_t filter = filter_.list(task), candidates = candidates_.list(task);
    const Span left_out = filter_.span(filter), let_in = candidates_.span(candidates);
    const bool shorter = left_out.length <= let_in.length;
    const Selection& walked = shorter ? filter_ : candidates_;
    const Selection& searched = shorter ? candidates_ : filter_;
    const Span span = shorter ? left_out : let_in;
    worker.columns.clear();
    for (std::int64_t at = span.start; at < span.start + span.length; ++at) {
        const std::int64_t column = walked.column(at);
        if (searched.has(shorter ? candidates : filter, column)) worker.columns.push_back(column);
    }
}

template <class T>
void Ranker<T>::subtract(std::int64_t task, Tally tally, std::int64_t nans, bool kept, bool nan) {
    counts_.above[task] -= tally.above;
    counts_.tied[task] -= tally.tied - (kept && !nan);
    if (has_nan<T>) nan_[static_cast<std::size_t>(task)] -= nans - (kept && nan);
}

template <class T>
void Ranker<T>::fail(Worker& worker, Fault::Kind kind, std::int64_t task) const {
    const Fault fault{kind, task, row(task), -1};
    if (sooner(fault, worker.fault)) worker.fault = fault;
}

template <class T>
void Ranker<T>::settle(Worker& worker, std::int64_t task, std::int64_t size) {
    if (candidates_ && has_own(task) && !candidates_.has(candidates_.list(task), tasks_.targets[task])) {
        return fail(worker, Fault::Kind::not_a_candidate, task);
    }
    if (tasks_.part()) return settle_part(worker, task, size);
    std::int64_t& above = counts_.above[task];
    std::int64_t& tied = counts_.tied[task];
    std::int64_t nan = 0;
    if constexpr (has_nan<T>) nan = nan_[static_cast<std::size_t>(task)];
    if (counts_.audit()) {
        counts_.nan[task] = nan;
        counts_.at_best[task] = at_best_[static_cast<std::size_t>(task)];
    }
    const bool nan_truth = nan > 0 && Order<T>::is_nan(Order<T>::key(truth(task)));
    if (nan > 0 && rules_.nan == NanRule::raise) return fail(worker, Fault::Kind::nan_score, task);
    if (nan_truth && rules_.nan == NanRule::omit) return fail(worker, Fault::Kind::nan_truth, task);
    counts_.candidates[task] = rules_.nan == NanRule::omit ? size - nan : size;
    if (nan_truth) {
        above = size - 1;
        tied = 1;
    } else if (rules_.ascending) {
        above = size - nan - above - tied;
    }
}

// What a part found goes to the counts without the target's own column, whatever its score there: the truth is counted
// once, when all parts are together.
template <class T>
void Ranker<T>::settle_part(Worker& worker, std::int64_t task, std::int64_t size) {
    const auto t = static_cast<std::size_t>(task);
    std::int64_t nan = 0;
    if constexpr (has_nan<T>) nan = nan_[t];
    if (has_own(task)) {
        const Key<T> truth_key = Order<T>::key(truth(task));
        const Key<T> key = Order<T>::key(reader_.load(row(task), own(task)));
        const bool is_nan = Order<T>::is_nan(key), nan_truth = Order<T>::is_nan(truth_key);
        const bool differs = is_nan != nan_truth || (!is_nan && key != truth_key);
        const bool counted = !filter_ || !filter_.has(filter_.list(task), tasks_.targets[task]);
        size -= counted;
        nan -= counted && is_nan;
        if (counted && !is_nan && !nan_truth) {
            counts_.above[task] -= key > truth_key;
            counts_.tied[task] -= key == truth_key;
        }
        if (differs) ++counts_.differing[task];
        if (counts_.audit() && !is_nan) {
            const bool infinite = has_nan<T> && (key == Order<T>::top() || key == Order<T>::bottom());
            counts_.inf[task] -= counted && infinite;
            if (key == best_[t]) {
                at_best_[t] -= counted;
                if (differs) best_but_own(worker, task);
            }
        }
    }
    if (nan > 0 && rules_.nan == NanRule::raise) return fail(worker, Fault::Kind::nan_score, task);
    counts_.candidates[task] += size;
    counts_.nan[task] += nan;
    if (!counts_.audit()) return;
    std::int64_t& best = counts_.best[task];
    if (rules_.ascending ? best_[t] < best : best_[t] > best) {
        best = best_[t];
        counts_.at_best[task] = 0;
    }
    if (best_[t] == best) counts_.at_best[task] += at_best_[t];
}

// The best score once more without the target's column, whose score is not the truth: slow, and as rare as that.
template <class T>
void Ranker<T>::best_but_own(Worker& worker, std::int64_t task) {
    if (worker.stopped(scores_.columns)) return;
    Key<T> best = rules_.ascending ? Order<T>::top() : Order<T>::bottom();
    std::int64_t at_best = 0;
    const auto look = [&](std::int64_t column) {
        const Key<T> key = Order<T>::key(reader_.load(row(task), column));
        if (column == own(task) || Order<T>::is_nan(key)) return;
        if (rules_.ascending ? key < best : key > best) {
            best = key;
            at_best = 0;
        }
        if (key != best) return;
        at_best += !filter_ || !filter_.has(filter_.list(task), column + tasks_.first_column);
    };
    if (candidates_) {
        const Span span = candidates_.span(candidates_.list(task));
        with_columns(candidates_, span.start, [&](const auto& columns) {
            for (std::int64_t j = 0; j < span.length; ++j) look(columns(j));
        });
    } else {
        for (std::int64_t column = 0; column < scores_.columns; ++column) look(column);
    }
    best_[static_cast<std::size_t>(task)] = best;
    at_best_[static_cast<std::size_t>(task)] = at_best;
}

// The first column of a fault whose row is known: the least, over the row's tasks, of a NaN in the task's S (of a part,
// without the truth). Time in proportion to the row and the lists of its tasks.
template <class T>
Fault Ranker<T>::locate(Fault fault) const {
    if (fault.kind != Fault::Kind::nan_score && fault.kind != Fault::Kind::nan_truth) return fault;
    const auto is_nan = [&](std::int64_t c) { return Order<T>::is_nan(Order<T>::key(reader_.load(fault.row, c))); };
    // Candidates, filter and, of a part, the target's column: tasks may share them.
    std::vector<std::array<std::int64_t, 3>> lists;
    fault.column = scores_.columns;
    for (std::int64_t task = 0; task < tasks_.size; ++task) {
        if (row(task) != fault.row) continue;
        if (!tasks_.part() && is_nan(own(task))) fault.column = std::min(fault.column, own(task));
        lists.push_back({candidates_ ? candidates_.list(task) : 0, filter_ ? filter_.list(task) : 0,
                         tasks_.part() && has_own(task) ? own(task) : -1});
    }
    if (fault.kind == Fault::Kind::nan_truth) return fault;
    std::sort(lists.begin(), lists.end());
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
    std::vector<std::int64_t> nans;
    for (std::int64_t c = 0; c < fault.column; ++c) {
        if (is_nan(c)) nans.push_back(c);
    }
    // Walks a sorted list along the sorted NaNs: whether it has the column.
    struct Walk {
        const Selection& selection;
        std::int64_t at, last;
        Walk(const Selection& s, std::int64_t list)
            : selection(s), at(s ? s.indptr[list] : 0), last(s ? s.indptr[list + 1] : 0) {}
        bool done() const { return at >= last; }
        std::int64_t column() const { return selection.column(at); }
        bool has(std::int64_t c) {
            while (!done() && column() < c) ++at;
            return !done() && column() == c;
        }
    };
    for (const auto& [candidates, filter, own] : lists) {
        Walk in(candidates_, candidates), out(filter_, filter);
        // From the first candidate to the last one: of many lists in one row, each looks at its own NaNs.
        if (candidates_ && in.done()) continue;
        const std::int64_t first = candidates_ ? in.column() - tasks_.first_column : 0;
        for (auto c = std::lower_bound(nans.begin(), nans.end(), first); c != nans.end() && *c < fault.column; ++c) {
            const std::int64_t whole = *c + tasks_.first_column;
            if (*c != own && (!candidates_ || in.has(whole)) && !out.has(whole)) fault.column = *c;
            if (candidates_ && in.done()) break;
        }
    }
    return fault;
}

}  // namespace truerank
