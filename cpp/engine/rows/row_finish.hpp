// The second step of ranking: what is filtered is taken out of the counts of tasks, and the rules are applied.
//
// Most of a row is not filtered, so that the first step counts all of it, and this one reads the filtered scores once
// more, while the row is in the cache, and subtracts what they count. A target that is filtered stays a candidate. Then
// the counts become final (write): a NaN is refused, counted as worst or left out, and ascending order turns above into
// below. In partial counts, those of part of a matrix, nothing is final: the target's own column is left out, and the
// sums are added to those of other parts (finish_partial).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "engine/rows/row_problem.hpp"

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
                for (std::size_t i = 0; i < ids.size(); ++i) finish(worker, ids[i], {});
                continue;
            }
            for (std::size_t i = 0, j; i < ids.size() && !worker.stopped(1); i = j) {
                const std::int64_t list = p_.filter.list(ids[i]);
                for (j = i + 1; j < ids.size() && p_.filter.list(ids[j]) == list;) ++j;
                finish_tasks(worker, ids.subspan(i, j - i));
            }
        }
    }
    // What the filtered columns of a single task count. Its target is not among them: it stays a candidate.
    RowCounts count_filtered(RankWorker<T>& worker, std::int64_t task) const {
        const ListedColumns columns = filtered_columns(worker, task);
        RowCounts filtered;
        filtered.candidates = columns.size;
        if (columns.size == 0) return filtered;
        const std::int64_t one_row[] = {p_.row(task)};
        const T true_score = p_.true_score_of(task);
        p_.pack(worker, one_row, columns, [&](std::int64_t, const T* scores, std::int64_t width) {
            p_.count(scores, width, true_score, /*more_follow=*/false, filtered);
        });
        take_out_target(task, true_score, filtered);
        return filtered;
    }
    // Applies the rules to what was counted in a whole row, in descending order, and writes it; adds that of a part.
    void write(RankWorker<T>& worker, std::int64_t task, const RowCounts& row) const {
        if (p_.tasks.is_partial()) return add_partial(worker, task, row);
        auto [above, tied] = row.counts;
        std::int64_t candidates = row.candidates;
        if (p_.rules.ascending) above = candidates - row.nan - above - tied;
        if (row.nan > 0) {
            const bool nan_true_score = p_.is_nan(p_.true_score_of(task));
            fail(worker, kind_of_nan(p_.rules.nan, nan_true_score), task);
            if (nan_true_score) {
                above = candidates - 1;
                tied = 1;
            }
            if (p_.rules.nan == NanRule::omit) candidates -= row.nan;
        }
        totals_.counts.above[task] = above;
        totals_.counts.tied[task] = tied;
        totals_.counts.candidates[task] = candidates;
    }
    // Adds a part's counts without the target's column, whatever its score: the true score is counted at the end.
    void add_partial(RankWorker<T>& worker, std::int64_t task, RowCounts row) const {
        const Counts& counts = totals_.counts;
        RowCounts removed;
        if (p_.has_target(task)) remove_target(worker, task, removed);
        row = row - removed;
        if (row.nan > 0 && p_.rules.nan == NanRule::raise) return fail(worker, Fault::Kind::nan_score, task);
        counts.above[task] += row.counts.above;
        counts.tied[task] += row.counts.tied;
        counts.candidates[task] += row.candidates;
        if (row.nan != 0) counts.nan[task] += row.nan;  // Mostly no page of it is touched.
        if (p_.audit) counts.add_best(task, totals_.best[static_cast<std::size_t>(task)], p_.rules.ascending);
    }
    // The same for some tasks, in vectors, where nothing is NaN or filtered.
    void write_plain(RankWorker<T>& worker, std::int64_t first, std::int64_t last, const std::int64_t* above,
                     const std::int64_t* tied) const {
        const Counts& counts = totals_.counts;
        const std::int64_t columns = p_.scores.columns;
        for (std::int64_t task = first; p_.tasks.is_partial() && task < last; ++task) {
            counts.above[task] += *above++;
            counts.tied[task] += *tied++;
            counts.candidates[task] += columns;
        }
        for (std::int64_t task = first; p_.tasks.is_partial() && task < last; ++task) {
            if (p_.has_target(task)) add_partial(worker, task, {});
        }
        if (p_.tasks.is_partial()) return;
        for (std::int64_t task = first; p_.rules.ascending && task < last; ++task) {
            counts.above[task] = columns - counts.above[task] - counts.tied[task];
        }
        std::fill_n(counts.candidates + first, last - first, columns);
    }
    // Notes a fault, unless its kind is none.
    void fail(RankWorker<T>& worker, Fault::Kind kind, std::int64_t task) const {
        worker.fault.take({.kind = kind, .task = task, .row = p_.row(task)});
    }

  private:
    // Finishes tasks that share row, candidates and filter.
    void finish_tasks(RankWorker<T>& worker, TaskIds ids) {
        if (ids.size() == 1 && !p_.audit) return finish(worker, ids[0], count_filtered(worker, ids[0]));
        const ListedColumns columns = filtered_columns(worker, ids[0]);
        TrueScores<T>& filtered = worker.filtered_counts;
        if (columns.size > 0) {
            const std::int64_t one_row[] = {p_.row(ids[0])};
            p_.gather_true_scores(ids, filtered);
            p_.pack(worker, one_row, columns,
                    [&](std::int64_t, const T* scores, std::int64_t width) { p_.count(scores, width, filtered); });
        }
        for (std::size_t t = 0; t < ids.size(); ++t) {
            const std::int64_t task = ids[t];
            RowCounts of_task;
            if (columns.size > 0) {
                of_task = {filtered.counts_of(t), filtered.nan, columns.size};
                const T true_score = p_.true_score_of(task);
                const bool has_target = take_out_target(task, true_score, of_task);
                if (p_.audit) subtract_audit(task, filtered, has_target, p_.order.key(true_score));
            }
            finish(worker, task, of_task);
        }
    }
    // Takes the target of a task out of what its filtered columns count, if it is among them; returns whether it was.
    // In partial counts it is left out in any case. The filter is searched only if a filtered score equals the
    // target's, and only now that its list is in the cache: before, every step of the search would wait for memory.
    bool take_out_target(std::int64_t task, T true_score, RowCounts& filtered) const {
        std::int64_t& equal = p_.is_nan(true_score) ? filtered.nan : filtered.counts.tied;
        const bool has_target = !p_.tasks.is_partial() && equal > 0 && p_.filters_target(task);
        equal -= has_target;
        filtered.candidates -= has_target;
        return has_target;
    }
    void subtract_audit(std::int64_t task, const TrueScores<T>& filtered, bool has_target, Key<T> true_score_key) {
        totals_.counts.inf[task] -= filtered.inf - (has_target && p_.is_infinite(true_score_key));
        Best& best = totals_.best[static_cast<std::size_t>(task)];
        if (filtered.best == best.key) best.count -= filtered.at_best;
        best.count += has_target && true_score_key == best.key;
    }
    // Makes the counts of a task final, less what its filtered columns count.
    void finish(RankWorker<T>& worker, std::int64_t task, const RowCounts& filtered) {
        if (p_.candidates && p_.has_target(task) && !p_.candidates.task_has(task, p_.tasks.targets[task])) {
            return fail(worker, Fault::Kind::not_a_candidate, task);
        }
        const Counts& counts = totals_.counts;
        RowCounts row = RowCounts{{}, totals_.nan_of(task), p_.candidates_of(task)} - filtered;
        if (p_.tasks.is_partial()) return add_partial(worker, task, row);
        row.counts.above += counts.above[task];
        row.counts.tied += counts.tied[task];
        if (p_.audit) {
            counts.nan[task] = row.nan;
            counts.at_best[task] = totals_.best[static_cast<std::size_t>(task)].count;
        }
        write(worker, task, row);
    }
    // The columns of a task that are both in its filter and among its candidates.
    ListedColumns filtered_columns(RankWorker<T>& worker, std::int64_t task) const {
        if (!p_.candidates) return p_.columns_of(p_.filter, p_.filter.task_span(task));
        struct List {
            const Selection* selection;
            Span span;
        };
        // Those of the shorter list are looked up in the longer.
        List walked{&p_.filter, p_.filter.task_span(task)}, searched{&p_.candidates, p_.candidates.task_span(task)};
        if (searched.span.length < walked.span.length) std::swap(walked, searched);
        std::int64_t place = searched.span.start;
        const std::int64_t end = place + searched.span.length;
        worker.common_columns.clear();
        for (std::int64_t at = walked.span.start; at < walked.span.start + walked.span.length; ++at) {
            const std::int64_t number = walked.selection->column(at);
            place = searched.selection->seek(place, end, number);
            const bool is_common = place < end && searched.selection->column(place) == number;
            if (is_common) worker.common_columns.push_back(number - p_.tasks.first_column);
        }
        return {worker.common_columns, {0, std::ssize(worker.common_columns)}, p_.scores.columns};
    }
    void remove_target(RankWorker<T>& worker, std::int64_t task, RowCounts& removed) const {
        const Counts& counts = totals_.counts;
        const Key<T> true_score_key = p_.order.key(p_.true_score_of(task));
        const Key<T> target_key = p_.order.key(p_.reader.load(p_.row(task), p_.target_column(task)));
        const bool is_nan = p_.order.is_key_of_nan(target_key), has_nan = p_.order.is_key_of_nan(true_score_key);
        const bool differs = is_nan != has_nan || (!is_nan && target_key != true_score_key);
        if (differs) ++counts.differing[task];
        const bool is_counted = !p_.filters_target(task);
        if (is_counted) {
            ++removed.candidates;
            removed.nan += is_nan;
            removed.counts.above += !is_nan && !has_nan && target_key > true_score_key;
            removed.counts.tied += !is_nan && !has_nan && target_key == true_score_key;
        }
        if (!p_.audit || is_nan) return;
        Best& best = totals_.best[static_cast<std::size_t>(task)];
        const bool is_best = target_key == best.key;
        if (is_counted) {
            counts.inf[task] -= p_.is_infinite(target_key);
            best.count -= is_best;
        }
        if (is_best && differs) find_best_without_target(worker, task, best);
    }
    // Finds the best score again without the target's column, whose score is not the true score. That is slow, and
    // rarely needed.
    void find_best_without_target(RankWorker<T>& worker, std::int64_t task, Best& best) const {
        if (worker.stopped(p_.scores.columns)) return;
        best = {p_.worst_key()};
        const ListedColumns columns = p_.candidate_columns(task);
        for (std::int64_t j = 0; j < columns.size; ++j) {
            const std::int64_t column = columns(j);
            const Key<T> key = p_.order.key(p_.reader.load(p_.row(task), column));
            if (column == p_.target_column(task) || p_.order.is_key_of_nan(key)) continue;
            const bool is_worse = p_.rules.ascending ? key > best.key : key < best.key;
            if (is_worse) continue;
            // The best score may be a filtered one, which does not count.
            const bool is_filtered = p_.filter.task_has(task, column + p_.tasks.first_column);
            best.add({.key = key, .count = is_filtered ? 0 : 1}, p_.rules.ascending);
        }
    }

    const RowProblem<T>& p_;
    RowTotals<T>& totals_;
};

}  // namespace truerank
