// The second step of ranking: what is filtered is taken out of the counts of tasks, and the rules are applied.
//
// Most of a row is not filtered, so that the first step counts all of it, and this one reads the filtered scores once
// more, while the row is in the cache, and subtracts what they count. A target that is filtered stays a candidate. Then
// the counts become final (final_counts): a NaN is refused, counted as worst or left out, and ascending order turns
// above into below. In partial counts, those of part of a matrix, nothing is final: the target's own column is left
// out, and the sums are added to those of other parts (finish_partial).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/row_problem.hpp"

namespace truerank {

template <class T>
class RowFinish {
  public:
    RowFinish(const RowProblem<T>& problem, RowTotals<T>& totals) : p_(problem), totals_(totals) {}

    // Makes the counts of the tasks of some groups final.
    void finish_groups(RankWorker<T>& worker, std::int64_t first, std::int64_t last) {
        for (std::int64_t g = first; g < last && !worker.stopped(1); ++g) {
            const TaskIds ids = p_.group(g);
            if (!p_.filter) {
                for (std::size_t i = 0; i < ids.size(); ++i) finish(worker, ids[i], p_.candidates_of(ids[i]));
                continue;
            }
            for (std::size_t i = 0; i < ids.size() && !worker.stopped(1);) {
                const std::int64_t list = p_.filter.list(ids[i]);
                std::size_t j = i + 1;
                while (j < ids.size() && p_.filter.list(ids[j]) == list) ++j;
                subtract_filtered(worker, ids.subspan(i, j - i));
                i = j;
            }
        }
    }
    // Makes the counts of a task final: those of `size` candidates.
    void finish(RankWorker<T>& worker, std::int64_t task, std::int64_t size) {
        if (p_.candidates && p_.has_target(task) &&
            !p_.candidates.has(p_.candidates.list(task), p_.tasks.targets[task])) {
            return fail(worker, Fault::Kind::not_a_candidate, task);
        }
        if (p_.tasks.is_partial()) return finish_partial(worker, task, size);
        const std::int64_t nan = totals_.nan_of(task);
        if (p_.audit) {
            totals_.counts.nan[task] = nan;
            totals_.counts.at_best[task] = totals_.at_best[static_cast<std::size_t>(task)];
        }
        const TaskCounts counts =
            final_counts(worker, task, {{totals_.counts.above[task], totals_.counts.tied[task]}, nan, size});
        totals_.counts.above[task] = counts.above;
        totals_.counts.tied[task] = counts.tied;
        totals_.counts.candidates[task] = counts.candidates;
    }
    // Subtracts the filtered columns of a single task from its counts. A target that is filtered is a candidate
    // nevertheless and stays counted. In partial counts it is left out in any case.
    void leave_out(RankWorker<T>& worker, std::int64_t task, RowCounts& row_counts) const {
        const ListedColumns columns = filtered_columns(worker, task);
        const std::int64_t n = columns.size;
        row_counts.candidates = p_.candidates_of(task) - n;
        if (n == 0) return;
        const std::int64_t one_row[] = {p_.row(task)};
        const T true_score = p_.true_score_of(task);
        RowCounts filtered;
        p_.pack(worker, one_row, columns, [&](std::int64_t, const T* scores, std::int64_t width) {
            p_.count(scores, width, true_score, false, filtered);
        });
        // Whether the target is filtered is asked where a score that is filtered equals its own, and only now, since
        // the list is in the cache: every step of a search in it would wait for memory.
        const bool is_nan = p_.is_nan(true_score);
        const bool may_keep = !p_.tasks.is_partial() && (is_nan ? filtered.nan : filtered.counts.tied) > 0;
        const bool keeps_target = may_keep && p_.filters_target(task);
        row_counts.counts.above -= filtered.counts.above;
        row_counts.counts.tied -= filtered.counts.tied - (keeps_target && !is_nan);
        row_counts.nan -= filtered.nan - (keeps_target && is_nan);
        row_counts.candidates += keeps_target;
    }
    // Applies the rules to what was counted in a whole row, in descending order.
    TaskCounts final_counts(RankWorker<T>& worker, std::int64_t task, const RowCounts& row_counts) const {
        const auto [above, tied] = row_counts.counts;
        const std::int64_t nan = row_counts.nan, size = row_counts.candidates;
        const bool nan_true_score = nan > 0 && p_.is_nan(p_.true_score_of(task));
        if (nan > 0 && p_.rules.nan == NanRule::raise) fail(worker, Fault::Kind::nan_score, task);
        if (nan_true_score && p_.rules.nan == NanRule::omit) fail(worker, Fault::Kind::nan_true_score, task);
        const std::int64_t candidates = p_.rules.nan == NanRule::omit ? size - nan : size;
        if (nan_true_score) return {size - 1, 1, candidates};
        return {p_.rules.ascending ? size - nan - above - tied : above, tied, candidates};
    }

  private:
    // Subtracts the filtered columns from the counts of tasks that share row, candidates and filter, but keeps the
    // tasks' targets.
    void subtract_filtered(RankWorker<T>& worker, TaskIds ids) {
        if (p_.is_single_task(ids)) {
            RowCounts less;
            leave_out(worker, ids[0], less);
            totals_.add(ids[0], less.counts, less.nan, true);
            return finish(worker, ids[0], less.candidates);
        }
        const std::int64_t size = p_.candidates_of(ids[0]);
        const ListedColumns columns = filtered_columns(worker, ids[0]);
        const std::int64_t n = columns.size;
        if (n == 0) {
            for (std::size_t i = 0; i < ids.size(); ++i) finish(worker, ids[i], size);
            return;
        }
        const std::int64_t one_row[] = {p_.row(ids[0])};
        TrueScores<T>& filtered = worker.filtered_counts;
        p_.gather_true_scores(ids, filtered);
        p_.pack(worker, one_row, columns,
                [&](std::int64_t, const T* scores, std::int64_t width) { p_.count(scores, width, filtered); });
        for (std::size_t t = 0; t < ids.size(); ++t) {
            const std::int64_t task = ids[t];
            const bool keeps_target = !p_.tasks.is_partial() && p_.filters_target(task);
            const bool nan = filtered.slots[t] == filtered.none;
            const PartialCounts counts = filtered.counts_of(t);
            totals_.add(task, {-counts.above, (keeps_target && !nan) - counts.tied},
                        (keeps_target && nan) - filtered.nan, true);
            if (p_.audit) {
                const Key<T> key = p_.order.key(p_.true_score_of(task));
                const bool inf = is_infinite(key);
                const Key<T> best = totals_.best[static_cast<std::size_t>(task)];
                totals_.counts.inf[task] -= p_.infinities(filtered) - (keeps_target && inf);
                totals_.at_best[static_cast<std::size_t>(task)] -=
                    (filtered.best == best ? filtered.at_best : 0) - (keeps_target && !nan && key == best);
            }
            finish(worker, task, size - n + keeps_target);
        }
    }
    bool is_infinite(Key<T> key) const { return p_.order.floating && (key == p_.order.top || key == p_.order.bottom); }
    // The columns of a task that are both in its filter and among its candidates.
    ListedColumns filtered_columns(RankWorker<T>& worker, std::int64_t task) const {
        if (!p_.candidates) {
            const Span span = p_.filter.span(p_.filter.list(task));
            return p_.columns_of(p_.filter, span.start, span.length);
        }
        intersect_lists(worker, task);
        Selection common;
        common.indices = worker.common_columns.data();
        return p_.columns_of(common, 0, static_cast<std::int64_t>(worker.common_columns.size()));
    }
    // Finds the columns of a task that are in both its filter and its candidates: looks up those of the shorter list in
    // the longer.
    void intersect_lists(RankWorker<T>& worker, std::int64_t task) const {
        const std::int64_t filter = p_.filter.list(task), candidates = p_.candidates.list(task);
        const Span filter_span = p_.filter.span(filter), candidates_span = p_.candidates.span(candidates);
        const bool shorter = filter_span.length <= candidates_span.length;
        const Selection& walked = shorter ? p_.filter : p_.candidates;
        const Selection& searched = shorter ? p_.candidates : p_.filter;
        const Span span = shorter ? filter_span : candidates_span;
        worker.common_columns.clear();
        for (std::int64_t at = span.start; at < span.start + span.length; ++at) {
            const std::int64_t column = walked.column(at);
            if (searched.has(shorter ? candidates : filter, column)) worker.common_columns.push_back(column);
        }
    }
    void fail(RankWorker<T>& worker, Fault::Kind kind, std::int64_t task) const {
        worker.fault.take({kind, task, p_.row(task), -1});
    }
    // Adds a part's counts without the target's own column, whatever its score there: the true score is counted once,
    // when all parts are together.
    void finish_partial(RankWorker<T>& worker, std::int64_t task, std::int64_t size) {
        const auto t = static_cast<std::size_t>(task);
        std::int64_t nan = totals_.nan_of(task);
        if (p_.has_target(task)) {
            const Key<T> true_score_key = p_.order.key(p_.true_score_of(task));
            const Key<T> key = p_.order.key(p_.reader.load(p_.row(task), p_.target_column(task)));
            const bool is_nan = p_.order.is_key_of_nan(key), nan_true_score = p_.order.is_key_of_nan(true_score_key);
            const bool differs = is_nan != nan_true_score || (!is_nan && key != true_score_key);
            const bool counted = !p_.filters_target(task);
            size -= counted;
            nan -= counted && is_nan;
            if (counted && !is_nan && !nan_true_score) {
                totals_.counts.above[task] -= key > true_score_key;
                totals_.counts.tied[task] -= key == true_score_key;
            }
            if (differs) ++totals_.counts.differing[task];
            if (p_.audit && !is_nan) {
                totals_.counts.inf[task] -= counted && is_infinite(key);
                if (key == totals_.best[t]) {
                    totals_.at_best[t] -= counted;
                    if (differs) best_without_target(worker, task);
                }
            }
        }
        if (nan > 0 && p_.rules.nan == NanRule::raise) return fail(worker, Fault::Kind::nan_score, task);
        totals_.counts.candidates[task] += size;
        totals_.counts.nan[task] += nan;
        if (!p_.audit) return;
        std::int64_t& best = totals_.counts.best[task];
        if (p_.rules.ascending ? totals_.best[t] < best : totals_.best[t] > best) {
            best = totals_.best[t];
            totals_.counts.at_best[task] = 0;
        }
        if (totals_.best[t] == best) totals_.counts.at_best[task] += totals_.at_best[t];
    }
    // Finds the best score again without the target's column, whose score is not the true score. That is slow, and
    // rarely needed.
    void best_without_target(RankWorker<T>& worker, std::int64_t task) {
        if (worker.stopped(p_.scores.columns)) return;
        Key<T> best = p_.rules.ascending ? p_.order.top : p_.order.bottom;
        std::int64_t at_best = 0;
        const auto look = [&](std::int64_t column) {
            const Key<T> key = p_.order.key(p_.reader.load(p_.row(task), column));
            if (column == p_.target_column(task) || p_.order.is_key_of_nan(key)) return;
            if (p_.rules.ascending ? key < best : key > best) {
                best = key;
                at_best = 0;
            }
            if (key != best) return;
            at_best += !p_.filter || !p_.filter.has(p_.filter.list(task), column + p_.tasks.first_column);
        };
        ListedColumns columns(0, p_.scores.columns);
        if (p_.candidates) {
            const Span span = p_.candidates.span(p_.candidates.list(task));
            columns = p_.columns_of(p_.candidates, span.start, span.length);
        }
        for (std::int64_t j = 0; j < columns.size; ++j) look(columns(j));
        totals_.best[static_cast<std::size_t>(task)] = best;
        totals_.at_best[static_cast<std::size_t>(task)] = at_best;
    }

    const RowProblem<T>& p_;
    RowTotals<T>& totals_;
};

}  // namespace truerank
