// Ranker, second step: the filter is counted out, and the rules make counts of what was found.
#pragma once

#include "ranker.hpp"

namespace truerank {

// Gives `use` the columns that a selection has from a position on, as a function of 0, 1, ... An index is read once
// more with care: the array is the caller's, whose other threads could have written to it.
template <class T>
template <class Use>
void Ranker<T>::with_columns(const Selection& selection, std::int64_t start, const Use& use) const {
    const auto bound = static_cast<std::uint64_t>(scores_.columns);
    const auto within = [bound](std::int64_t index) { return static_cast<std::uint64_t>(index) < bound ? index : 0; };
    if (selection.wide) {
        const auto* indices = static_cast<const std::int64_t*>(selection.indices) + start;
        use([indices, within](std::int64_t j) { return within(indices[j]); });
    } else {
        const auto* indices = static_cast<const std::int32_t*>(selection.indices) + start;
        use([indices, within](std::int64_t j) { return within(indices[j]); });
    }
}

template <class T>
bool Ranker<T>::lists(const Selection& selection, std::int64_t task, std::int64_t column) const {
    const std::int64_t list = selection.list(task);
    std::int64_t first = selection.indptr[list], count = selection.length(list);
    while (count > 0) {
        const std::int64_t half = count / 2;
        if (selection.column(first + half) < column) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first < selection.indptr[list + 1] && selection.column(first) == column;
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
    std::int64_t start = filter_.indptr[list];
    std::int64_t n = filter_.length(list);
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
    // Of a target that is filtered and yet a candidate, its own contribution stays.
    if (alone(ids)) {
        const T own = truth(ids[0]);
        const bool kept = lists(filter_, ids[0], tasks_.targets[ids[0]]);
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
        const bool kept = lists(filter_, task, tasks_.targets[task]);
        const bool nan = found.slots[t] == found.none;
        subtract(task, found.of(t), found.nan, kept, nan);
        if (counts_.audit()) {
            const Key<T> key = Order<T>::key(truth(task));
            const bool inf = has_nan<T> && (key == Order<T>::top() || key == Order<T>::bottom());
            const Key<T> best = best_[static_cast<std::size_t>(task)];
            counts_.inf[task] -= found.inf() - (kept && inf);
            counts_.at_best[task] -= (found.best == best ? found.at_best : 0) - (kept && !nan && key == best);
        }
        settle(worker, task, size - n + kept);
    }
}

// The columns that both the filter and the candidates of a task have: the shorter list is searched in the longer.
template <class T>
void Ranker<T>::intersect(Worker& worker, std::int64_t task) const {
    const std::int64_t filter = filter_.list(task), candidates = candidates_.list(task);
    const bool shorter = filter_.length(filter) <= candidates_.length(candidates);
    const Selection& walked = shorter ? filter_ : candidates_;
    const Selection& searched = shorter ? candidates_ : filter_;
    const std::int64_t list = shorter ? filter : candidates;
    worker.columns.clear();
    with_columns(walked, walked.indptr[list], [&](const auto& columns) {
        for (std::int64_t j = 0; j < walked.length(list); ++j) {
            if (lists(searched, task, columns(j))) worker.columns.push_back(columns(j));
        }
    });
}

template <class T>
void Ranker<T>::subtract(std::int64_t task, Tally tally, std::int64_t nans, bool kept, bool nan) {
    counts_.above[task] -= tally.above;
    counts_.tied[task] -= tally.tied - (kept && !nan);
    if (has_nan<T>) nan_[static_cast<std::size_t>(task)] -= nans - (kept && nan);
}

template <class T>
void Ranker<T>::settle(Worker& worker, std::int64_t task, std::int64_t size) {
    const auto fail = [&](Fault::Kind kind) {
        const Fault fault{kind, task, row(task), -1};
        if (sooner(fault, worker.fault)) worker.fault = fault;
    };
    if (candidates_ && !lists(candidates_, task, tasks_.targets[task])) return fail(Fault::Kind::not_a_candidate);
    std::int64_t& above = counts_.above[task];
    std::int64_t& tied = counts_.tied[task];
    std::int64_t nan = 0;
    if constexpr (has_nan<T>) {
        nan = nan_[static_cast<std::size_t>(task)];
        if (counts_.audit()) counts_.nan[task] = nan;
    }
    const bool nan_truth = nan > 0 && Order<T>::is_nan(Order<T>::key(truth(task)));
    if (nan > 0 && rules_.nan == NanRule::raise) return fail(Fault::Kind::nan_score);
    if (nan_truth && rules_.nan == NanRule::omit) return fail(Fault::Kind::nan_truth);
    counts_.candidates[task] = rules_.nan == NanRule::omit ? size - nan : size;
    if (nan_truth) {
        above = size - 1;
        tied = 1;
    } else if (rules_.ascending) {
        above = size - nan - above - tied;
    }
}

// The first column of a fault whose row is known: the least, over the row's tasks, of a NaN in the task's S. Time in
// proportion to the row and the lists of its tasks.
template <class T>
Fault Ranker<T>::locate(Fault fault) const {
    if (fault.kind != Fault::Kind::nan_score && fault.kind != Fault::Kind::nan_truth) return fault;
    const auto is_nan = [&](std::int64_t c) { return Order<T>::is_nan(Order<T>::key(reader_.load(fault.row, c))); };
    std::vector<std::pair<std::int64_t, std::int64_t>> lists;  // of candidates and filter: tasks may share them
    fault.column = scores_.columns;
    for (std::int64_t task = 0; task < tasks_.size; ++task) {
        if (row(task) != fault.row) continue;
        if (is_nan(tasks_.targets[task])) fault.column = std::min(fault.column, tasks_.targets[task]);
        lists.emplace_back(candidates_ ? candidates_.list(task) : 0, filter_ ? filter_.list(task) : 0);
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
        bool has(std::int64_t c) {
            while (at < last && selection.column(at) < c) ++at;
            return at < last && selection.column(at) == c;
        }
    };
    for (const auto& [candidates, filter] : lists) {
        Walk in(candidates_, candidates), out(filter_, filter);
        for (const std::int64_t c : nans) {
            if (c >= fault.column) break;
            if ((!candidates_ || in.has(c)) && !out.has(c)) fault.column = c;
        }
    }
    return fault;
}

}  // namespace truerank
