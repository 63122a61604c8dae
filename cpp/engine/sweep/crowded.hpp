// Queries that have so many tasks, or so long filters, that scores are not compared as they are made: such a query is
// scored into a row, and the row counted as one of a matrix of scores, where the true scores are sorted once and the
// filter is read once for the tasks that share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/bounds/bounds.hpp"
#include "engine/rows/rank.hpp"
#include "engine/sweep/embeddings.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// Queries of some sorted tasks: positions in SortedTasks::queries, ascending.
struct CrowdedQueries {
    std::vector<std::int64_t> queries;
    std::int64_t pairs = 0;        // of these and the entities
    std::int64_t other_pairs = 0;  // of other queries and their candidates
};

inline CrowdedQueries find_crowded(const Embeddings& embeddings, const SortedTasks& sorted, const Selection& filter) {
    CrowdedQueries crowded;
    const std::int64_t columns = embeddings.entity_count(), depth = embeddings.mean_depth();
    const bool is_ruled_out = are_bounds_forced();  // which is for tests of bounds
    for (const Group& group : sorted.groups) {
        const std::int64_t size = group.candidates.size;
        for (std::int64_t query = group.first_query; query < group.last_query; ++query) {
            const std::int64_t first = sorted.first_task_of(query), last = sorted.first_task_of(query + 1);
            // In scores that are compared: each score with each task, and what is filtered; and what it takes to count
            // in a row, to make the scores of those that are no candidates, and to do without bounds.
            const std::int64_t in_row = (measured::kTasksInRow + depth / measured::kDepthOfTask) * columns;
            const std::int64_t looked_up = in_row + depth * (columns - size);
            std::int64_t compared = (last - first) * size;
            for (std::int64_t task = first; filter && task < last && compared <= looked_up; ++task) {
                const Span span = filter.task_span(sorted.order[static_cast<std::size_t>(task)]);
                compared += measured::kScoresPerFiltered * std::min(size, span.length);
            }
            if (compared <= looked_up || is_ruled_out) {
                crowded.other_pairs += size;
            } else {
                crowded.queries.push_back(query);
                crowded.pairs += columns;
            }
        }
    }
    return crowded;
}

// The sorted tasks of all queries but the crowded ones.
inline SortedTasks leave_out_crowded(const SortedTasks& sorted, const CrowdedQueries& crowded) {
    SortedTasks others;
    const auto end = [&] { return static_cast<std::int64_t>(others.queries.size()); };
    auto next = crowded.queries.begin();
    for (const Group& group : sorted.groups) {
        others.groups.push_back({end(), end(), group.candidates});
        for (std::int64_t query = group.first_query; query < group.last_query; ++query) {
            if (next != crowded.queries.end() && *next == query) {
                ++next;
                continue;
            }
            const std::int64_t row = sorted.queries[static_cast<std::size_t>(query)].row;
            others.queries.push_back({row, static_cast<std::int64_t>(others.order.size())});
            others.order.insert(others.order.end(), sorted.order.begin() + sorted.first_task_of(query),
                                sorted.order.begin() + sorted.first_task_of(query + 1));
            others.rows.resize(others.order.size(), row);
        }
        others.groups.back().last_query = end();
    }
    others.queries.push_back({-1, static_cast<std::int64_t>(others.order.size())});
    return others;
}

// Ranks some tasks of a call, each by a row of the matrix.
inline Fault rank_rows(const Scores& matrix, const std::vector<std::int64_t>& ids,
                       const std::vector<std::int64_t>& rows, const Tasks& tasks, NanRule nan,
                       const Execution& execution, const Counts& counts) {
    std::vector<std::int64_t> targets, lists[2];
    std::vector<char> true_scores;
    for (const std::int64_t id : ids) {
        targets.push_back(tasks.targets[id]);
        if (!tasks.is_partial()) continue;
        const char* const score = tasks.true_scores + id * matrix.column_stride;
        true_scores.insert(true_scores.end(), score, score + matrix.column_stride);
    }
    Tasks part = tasks;
    part.size = static_cast<std::int64_t>(ids.size());
    part.rows = rows.data();
    part.targets = targets.data();
    if (tasks.is_partial()) part.true_scores = true_scores.data();
    for (auto& [selection, list_of_task] : {std::pair(&part.filter, &lists[0]), {&part.candidates, &lists[1]}}) {
        if (!*selection || selection->shared) continue;
        for (const std::int64_t id : ids) list_of_task->push_back(selection->list(id));
        selection->list_of_task = list_of_task->data();
    }

    constexpr std::int64_t* Counts::* kArrays[] = {&Counts::above, &Counts::tied,     &Counts::candidates,
                                                   &Counts::nan,   &Counts::inf,      &Counts::at_best,
                                                   &Counts::best,  &Counts::differing};
    Counts part_counts;
    std::vector<std::int64_t> numbers[std::size(kArrays)];
    for (std::size_t i = 0; i < std::size(kArrays); ++i) {
        if (counts.*kArrays[i] == nullptr) continue;
        // Numbers begin at 0, and the key of the best score below all keys.
        const bool is_key = kArrays[i] == &Counts::best;
        numbers[i].assign(ids.size(), is_key ? std::numeric_limits<std::int64_t>::min() : 0);
        part_counts.*kArrays[i] = numbers[i].data();
    }
    Fault fault = rank(matrix, part, {false, nan}, execution.threads, execution.interrupted, part_counts);
    for (std::size_t i = 0; i < std::size(kArrays); ++i) {
        for (std::size_t task = 0; task < numbers[i].size(); ++task) (counts.*kArrays[i])[ids[task]] = numbers[i][task];
    }
    if (fault) fault.task = ids[static_cast<std::size_t>(fault.task)];
    return fault;
}

// A listener that hears part of a call.
class PartListener : public Listener {
  public:
    PartListener(Listener* whole, std::int64_t total)
        : Listener(whole == nullptr ? Interval(0) : whole->interval()), whole_(whole), total_(total) {}
    // What a part of the call takes: null where nobody hears.
    Listener* part(std::int64_t before) {
        before_ = before;
        return whole_ == nullptr ? nullptr : this;
    }
    bool hear(std::int64_t done, std::int64_t) override { return whole_->hear(before_ + done, total_); }

  private:
    Listener* whole_;
    std::int64_t total_, before_ = 0;
};

// As rank_embeddings(), of the crowded queries alone.
inline Fault rank_crowded(const Embeddings& embeddings, const Tasks& tasks, const SortedTasks& sorted,
                          const CrowdedQueries& crowded, NanRule nan, const Execution& execution,
                          const Counts& counts) {
    const auto number_bytes = static_cast<std::int64_t>(embeddings.wide() ? sizeof(double) : sizeof(float));
    const std::int64_t columns = embeddings.entity_count();
    const std::int64_t row_bytes = std::max<std::int64_t>(1, columns * number_bytes);
    const std::int64_t most = std::max<std::int64_t>(1, measured::kRowsBytes / row_bytes);
    PartListener listener(execution.listener, crowded.pairs + crowded.other_pairs);
    Fault fault;
    std::vector<double> scores;
    std::int64_t done = 0;
    auto group = sorted.groups.begin();
    for (auto first = crowded.queries.begin(); first != crowded.queries.end();) {
        // Some queries of one group, whose rows ascend: so the first fault here is the first by the rows of the call.
        while (group->last_query <= *first) ++group;
        const auto end = std::lower_bound(first, crowded.queries.end(), group->last_query);
        const auto last = first + std::min<std::ptrdiff_t>(end - first, most);
        std::vector<std::int64_t> rows, ids, rows_of_tasks;
        for (; first != last; ++first) {
            rows.push_back(sorted.queries[static_cast<std::size_t>(*first)].row);
            ids.insert(ids.end(), sorted.order.begin() + sorted.first_task_of(*first),
                       sorted.order.begin() + sorted.first_task_of(*first + 1));
            rows_of_tasks.resize(ids.size(), static_cast<std::int64_t>(rows.size()) - 1);
        }
        const auto n = static_cast<std::int64_t>(rows.size());
        scores.resize(static_cast<std::size_t>(n * row_bytes) / sizeof(double) + 1);
        Execution part = execution;
        part.listener = listener.part(done);
        score_embeddings(embeddings, rows.data(), nullptr, n, part, scores.data());
        const DType dtype = embeddings.wide() ? DType::float64 : DType::float32;
        const Scores matrix{
            reinterpret_cast<const char*>(scores.data()), n, columns, row_bytes, number_bytes, dtype, false};
        Fault fault_of_part = rank_rows(matrix, ids, rows_of_tasks, tasks, nan, execution, counts);
        if (fault_of_part) fault_of_part.row = rows[static_cast<std::size_t>(fault_of_part.row)];
        fault.take(fault_of_part);
        bounds_tally.add({static_cast<std::int64_t>(ids.size()) * group->candidates.size - n * columns, 0, 0, 0});
        done += n * columns;
    }
    return fault;
}

}  // namespace truerank
