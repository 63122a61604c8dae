// Ranker's second step: it subtracts the filtered columns from the counts and applies the rules. These are bodies of
// its templates, which only rank.cpp includes.
#pragma once

#include <array>

#include "engine/ranker.hpp"

namespace truerank {

// Calls `use` with the columns of a selection from a position on, as a function of 0, 1, ... Indices are checked once
// more as they are read: the array is the caller's, whose other threads could have written to it.
template <class T>
template <class Use>
void Ranker<T>::with_columns(const Selection& selection, std::int64_t start, const Use& use) const {
    const auto bound = static_cast<std::uint64_t>(scores_.columns);
    const std::int64_t first = tasks_.first_column;
    const auto give = [&](const auto& index) {
        if (first == 0) {  // this saves a subtraction, which is noticeable where whole selections are read
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
void Ranker<T>::finish_groups(Worker& worker, std::int64_t first, std::int64_t last) {
    for (std::int64_t g = first; g < last && !worker.stopped(1); ++g) {
        const TaskIds ids = group(g);
        if (!filter_) {
            for (std::size_t i = 0; i < ids.size(); ++i) settle(worker, ids[i], candidates_of(ids[i]));
            continue;
        }
        for (std::size_t i = 0; i < ids.size() && !worker.stopped(1);) {
            const std::int64_t list = filter_.list(ids[i]);
            std::size_t j = i + 1;
            while (j < ids.size() && filter_.list(ids[j]) == list) ++j;
            subtract_filtered(worker, ids.subspan(i, j - i), list);
            i = j;
        }
    }
}

// Subtracts the filtered columns from the counts of tasks that share row, candidates and filter, but keeps the tasks'
// targets.
template <class T>
void Ranker<T>::subtract_filtered(Worker& worker, TaskIds ids, std::int64_t list) {
    if (is_single_task(ids)) {
        RowCounts less;
        const std::int64_t left = leave_out(worker, ids[0], less);
        add_counts(ids[0], less.counts, less.nan, true);
        return settle(worker, ids[0], left);
    }
    const std::int64_t size = candidates_of(ids[0]);
    const FilteredColumns filtered_columns = this->filtered_columns(worker, ids[0]);
    const std::int64_t n = filtered_columns.n;
    if (n == 0) {
        for (std::size_t i = 0; i < ids.size(); ++i) settle(worker, ids[i], size);
        return;
    }
    const std::int64_t one_row[] = {row(ids[0])};
    TrueScores<T>& filtered = worker.filtered_counts;
    gather_true_scores(ids, filtered);
    with_columns(filtered_columns.selection, filtered_columns.start, [&](const auto& columns) {
        pack(worker, one_row, n, columns,
             [&](std::int64_t, const T* scores, std::int64_t width) { count(scores, width, filtered); });
    });
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const std::int64_t task = ids[t];
        const bool keeps_target = !tasks_.is_partial() && filter_.has(list, tasks_.targets[task]);
        const bool nan = filtered.slots[t] == filtered.none;
        subtract(task, filtered.counts_of(t), filtered.nan, keeps_target, nan);
        if (counts_.audit()) {
            const Key<T> key = Order<T>::key(true_score_of(task));
            const bool inf = has_nan<T> && (key == Order<T>::top() || key == Order<T>::bottom());
            const Key<T> best = best_[static_cast<std::size_t>(task)];
            counts_.inf[task] -= filtered.infinities() - (keeps_target && inf);
            at_best_[static_cast<std::size_t>(task)] -=
                (filtered.best == best ? filtered.at_best : 0) - (keeps_target && !nan && key == best);
        }
        settle(worker, task, size - n + keeps_target);
    }
}

// Subtracts the filtered columns of a single task from its counts; returns how many candidates are left. A target that
// is filtered is a candidate nevertheless and stays counted. In partial counts it is left out in any case.
template <class T>
std::int64_t Ranker<T>::leave_out(Worker& worker, std::int64_t task, RowCounts& row_counts) const {
    const FilteredColumns filtered_columns = this->filtered_columns(worker, task);
    const std::int64_t n = filtered_columns.n;
    if (n == 0) return candidates_of(task);
    const std::int64_t one_row[] = {row(task)};
    const T true_score = true_score_of(task);
    RowCounts filtered;
    with_columns(filtered_columns.selection, filtered_columns.start, [&](const auto& columns) {
        pack(worker, one_row, n, columns, [&](std::int64_t, const T* scores, std::int64_t width) {
            count(scores, width, true_score, false, filtered);
        });
    });
    // Only now, since the list is in the cache: every step of a search in it would wait for memory.
    const bool keeps_target = !tasks_.is_partial() && filter_.has(filter_.list(task), tasks_.targets[task]);
    const bool is_nan = Order<T>::is_nan(Order<T>::key(true_score));
    row_counts.counts.above -= filtered.counts.above;
    row_counts.counts.tied -= filtered.counts.tied - (keeps_target && !is_nan);
    row_counts.nan -= filtered.nan - (keeps_target && is_nan);
    return candidates_of(task) - n + keeps_target;
}

template <class T>
FilteredColumns Ranker<T>::filtered_columns(Worker& worker, std::int64_t task) const {
    const Span span = filter_.span(filter_.list(task));
    if (!candidates_) return {filter_, span.start, span.length};
    intersect_lists(worker, task);
    Selection common;
    common.indices = worker.common_columns.data();
    return {common, 0, static_cast<std::int64_t>(worker.common_columns.size())};
}

// Finds the columns of a task that are in both its filter and its candidates: looks up those of the shorter list in the
// longer.
template <class T>
void Ranker<T>::intersect_lists(Worker& worker, std::int64_t task) const {
    const std::int64_t filter = filter_.list(task), candidates = candidates_.list(task);
    const Span filter_span = filter_.span(filter), candidates_span = candidates_.span(candidates);
    const bool shorter = filter_span.length <= candidates_span.length;
    const Selection& walked = shorter ? filter_ : candidates_;
    const Selection& searched = shorter ? candidates_ : filter_;
    const Span span = shorter ? filter_span : candidates_span;
    worker.common_columns.clear();
    for (std::int64_t at = span.start; at < span.start + span.length; ++at) {
        const std::int64_t column = walked.column(at);
        if (searched.has(shorter ? candidates : filter, column)) worker.common_columns.push_back(column);
    }
}

template <class T>
void Ranker<T>::subtract(std::int64_t task, PartialCounts counts, std::int64_t nans, bool keeps_target, bool nan) {
    counts_.above[task] -= counts.above;
    counts_.tied[task] -= counts.tied - (keeps_target && !nan);
    if (has_nan<T>) nan_.add(task, (keeps_target && nan) - nans);
}

template <class T>
void Ranker<T>::fail(Worker& worker, Fault::Kind kind, std::int64_t task) const {
    const Fault fault{kind, task, row(task), -1};
    if (precedes(fault, worker.fault)) worker.fault = fault;
}

template <class T>
void Ranker<T>::settle(Worker& worker, std::int64_t task, std::int64_t size) {
    if (candidates_ && has_target(task) && !candidates_.has(candidates_.list(task), tasks_.targets[task])) {
        return fail(worker, Fault::Kind::not_a_candidate, task);
    }
    if (tasks_.is_partial()) return settle_partial(worker, task, size);
    std::int64_t nan = 0;
    if constexpr (has_nan<T>) nan = nan_.of(task);
    if (counts_.audit()) {
        counts_.nan[task] = nan;
        counts_.at_best[task] = at_best_[static_cast<std::size_t>(task)];
    }
    const TaskCounts counts = final_counts(worker, task, size, {{counts_.above[task], counts_.tied[task]}, nan});
    counts_.above[task] = counts.above;
    counts_.tied[task] = counts.tied;
    counts_.candidates[task] = counts.candidates;
}

// Applies the rules to what was counted in a whole row, in descending order, among `size` candidates.
template <class T>
TaskCounts Ranker<T>::final_counts(Worker& worker, std::int64_t task, std::int64_t size,
                                   const RowCounts& row_counts) const {
    const auto [above, tied] = row_counts.counts;
    const std::int64_t nan = row_counts.nan;
    const bool nan_true_score = nan > 0 && Order<T>::is_nan(Order<T>::key(true_score_of(task)));
    if (nan > 0 && rules_.nan == NanRule::raise) fail(worker, Fault::Kind::nan_score, task);
    if (nan_true_score && rules_.nan == NanRule::omit) fail(worker, Fault::Kind::nan_true_score, task);
    const std::int64_t candidates = rules_.nan == NanRule::omit ? size - nan : size;
    if (nan_true_score) return {size - 1, 1, candidates};
    return {rules_.ascending ? size - nan - above - tied : above, tied, candidates};
}

// Adds a part's counts without the target's own column, whatever its score there: the true score is counted once, when
// all parts are together.
template <class T>
void Ranker<T>::settle_partial(Worker& worker, std::int64_t task, std::int64_t size) {
    const auto t = static_cast<std::size_t>(task);
    std::int64_t nan = 0;
    if constexpr (has_nan<T>) nan = nan_.of(task);
    if (has_target(task)) {
        const Key<T> true_score_key = Order<T>::key(true_score_of(task));
        const Key<T> key = Order<T>::key(reader_.load(row(task), target_column(task)));
        const bool is_nan = Order<T>::is_nan(key), nan_true_score = Order<T>::is_nan(true_score_key);
        const bool differs = is_nan != nan_true_score || (!is_nan && key != true_score_key);
        const bool counted = !filter_ || !filter_.has(filter_.list(task), tasks_.targets[task]);
        size -= counted;
        nan -= counted && is_nan;
        if (counted && !is_nan && !nan_true_score) {
            counts_.above[task] -= key > true_score_key;
            counts_.tied[task] -= key == true_score_key;
        }
        if (differs) ++counts_.differing[task];
        if (counts_.audit() && !is_nan) {
            const bool infinite = has_nan<T> && (key == Order<T>::top() || key == Order<T>::bottom());
            counts_.inf[task] -= counted && infinite;
            if (key == best_[t]) {
                at_best_[t] -= counted;
                if (differs) best_without_target(worker, task);
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

// Finds the best score again without the target's column, whose score is not the true score. That is slow, and rarely
// needed.
template <class T>
void Ranker<T>::best_without_target(Worker& worker, std::int64_t task) {
    if (worker.stopped(scores_.columns)) return;
    Key<T> best = rules_.ascending ? Order<T>::top() : Order<T>::bottom();
    std::int64_t at_best = 0;
    const auto look = [&](std::int64_t column) {
        const Key<T> key = Order<T>::key(reader_.load(row(task), column));
        if (column == target_column(task) || Order<T>::is_nan(key)) return;
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

// Finds the first column of a fault whose row is known: the first NaN among the candidates of any of the row's tasks
// (in partial counts, without the true candidate). Takes time in proportion to the row and the lists of its tasks.
template <class T>
Fault Ranker<T>::locate_fault(Fault fault) const {
    if (fault.kind != Fault::Kind::nan_score && fault.kind != Fault::Kind::nan_true_score) return fault;
    const auto is_nan = [&](std::int64_t c) { return Order<T>::is_nan(Order<T>::key(reader_.load(fault.row, c))); };
    // The list of candidates, the list of the filter and, in partial counts, the target's column: tasks may share them.
    std::vector<std::array<std::int64_t, 3>> lists;
    fault.column = scores_.columns;
    for (std::int64_t task = 0; task < tasks_.size; ++task) {
        if (row(task) != fault.row) continue;
        if (!tasks_.is_partial() && is_nan(target_column(task))) {
            fault.column = std::min(fault.column, target_column(task));
        }
        lists.push_back({candidates_ ? candidates_.list(task) : 0, filter_ ? filter_.list(task) : 0,
                         tasks_.is_partial() && has_target(task) ? target_column(task) : -1});
    }
    if (fault.kind == Fault::Kind::nan_true_score) return fault;
    std::sort(lists.begin(), lists.end());
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
    std::vector<std::int64_t> nans;
    for (std::int64_t c = 0; c < fault.column; ++c) {
        if (is_nan(c)) nans.push_back(c);
    }
    // Walks a sorted list along ascending columns, and says whether it has them.
    struct ListWalk {
        const Selection& selection;
        std::int64_t at, last;
        ListWalk(const Selection& s, std::int64_t list)
            : selection(s), at(s ? s.indptr[list] : 0), last(s ? s.indptr[list + 1] : 0) {}
        bool done() const { return at >= last; }
        std::int64_t column() const { return selection.column(at); }
        bool has(std::int64_t c) {
            while (!done() && column() < c) ++at;
            return !done() && column() == c;
        }
    };
    for (const auto& [candidates, filter, target] : lists) {
        ListWalk in(candidates_, candidates), out(filter_, filter);
        // Looks between the first candidate and the last one: where a row has many lists, each looks only at the NaN
        // there.
        if (candidates_ && in.done()) continue;
        const std::int64_t first = candidates_ ? in.column() - tasks_.first_column : 0;
        for (auto c = std::lower_bound(nans.begin(), nans.end(), first); c != nans.end() && *c < fault.column; ++c) {
            const std::int64_t matrix_column = *c + tasks_.first_column;
            if (*c != target && (!candidates_ || in.has(matrix_column)) && !out.has(matrix_column)) fault.column = *c;
            if (candidates_ && in.done()) break;
        }
    }
    return fault;
}

}  // namespace truerank
