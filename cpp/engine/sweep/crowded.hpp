// Queries that have so many tasks, or so long filters, that scores are not compared as they are made: such a query is
// scored into a row, and the row counted as one of a matrix of scores, where the true scores are sorted once and the
// filter is read once for the tasks that share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
    // What it takes to count in a row and to do without bounds, as a number of scores that are compared.
    const std::int64_t count_cost = (measured::kTasksInRow + depth / measured::kDepthOfTask) * columns;
    for (const Group& group : sorted.groups) {
        const std::int64_t size = group.candidates.size;
        for (std::int64_t query = group.first_query; query < group.last_query; ++query) {
            const std::int64_t first = sorted.first_task_of(query), last = sorted.first_task_of(query + 1);
            const std::int64_t row_cost = count_cost + depth * (columns - size);
            // A sweep compares each score with each task, and takes out what is filtered.
            std::int64_t sweep_cost = (last - first) * size;
            if (filter) {
                for (std::int64_t i = first; i < last && sweep_cost <= row_cost; ++i) {
                    const Span span = filter.task_span(sorted.order[static_cast<std::size_t>(i)]);
                    sweep_cost += measured::kScoresPerFiltered * std::min(size, span.length);
                }
            }
            if (sweep_cost > row_cost && !are_bounds_forced()) {  // forced ones are for tests of bounds
                crowded.queries.push_back(query);
                crowded.pairs += columns;
            } else {
                crowded.other_pairs += size;
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

struct SelectedTasks {
    Tasks tasks;
    std::vector<std::int64_t> targets, filter_lists, candidate_lists;
    std::vector<char> true_scores;

    // `rows` are those of the selected tasks. A score has so many bytes.
    SelectedTasks(const Tasks& all, const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& rows,
                  std::ptrdiff_t score_bytes)
        : tasks(all) {
        for (const std::int64_t id : ids) targets.push_back(all.targets[id]);
        tasks.size = static_cast<std::int64_t>(ids.size());
        tasks.rows = rows.data();
        tasks.targets = targets.data();
        select(ids, tasks.filter, filter_lists);
        select(ids, tasks.candidates, candidate_lists);
        if (!all.is_partial()) return;
        for (const std::int64_t id : ids) {
            const char* const score = all.true_scores + id * score_bytes;
            true_scores.insert(true_scores.end(), score, score + score_bytes);
        }
        tasks.true_scores = true_scores.data();
    }

  private:
    static void select(const std::vector<std::int64_t>& ids, Selection& selection, std::vector<std::int64_t>& lists) {
        if (!selection || selection.shared) return;
        for (const std::int64_t id : ids) lists.push_back(selection.list(id));
        selection.list_of_task = lists.data();
    }
};

struct SelectedCounts {
    static constexpr std::int64_t* Counts::* kArrays[] = {&Counts::above, &Counts::tied,     &Counts::candidates,
                                                          &Counts::nan,   &Counts::inf,      &Counts::at_best,
                                                          &Counts::best,  &Counts::differing};
    Counts counts;
    std::vector<std::int64_t> numbers[std::size(kArrays)];

    SelectedCounts(const Counts& all, std::size_t tasks) {
        for (std::size_t i = 0; i < std::size(kArrays); ++i) {
            if (all.*kArrays[i] == nullptr) continue;
            numbers[i].resize(tasks);
            counts.*kArrays[i] = numbers[i].data();
        }
        // The key of the best score begins below all keys.
        if (all.best != nullptr) std::fill_n(counts.best, tasks, std::numeric_limits<std::int64_t>::min());
    }
    void copy_to(const Counts& all, const std::vector<std::int64_t>& ids) const {
        for (std::size_t i = 0; i < std::size(kArrays); ++i) {
            for (std::size_t t = 0; t < numbers[i].size(); ++t) (all.*kArrays[i])[ids[t]] = numbers[i][t];
        }
    }
};

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
        const Scores matrix{.data = reinterpret_cast<const char*>(scores.data()),
                            .rows = n,
                            .columns = columns,
                            .row_stride = row_bytes,
                            .column_stride = number_bytes,
                            .dtype = embeddings.wide() ? DType::float64 : DType::float32,
                            .swapped = false};
        const SelectedTasks selected(tasks, ids, rows_of_tasks, number_bytes);
        const SelectedCounts selected_counts(counts, ids.size());
        Fault fault_of_part = rank(matrix, selected.tasks, {.ascending = false, .nan = nan}, execution.threads,
                                   execution.interrupted, selected_counts.counts);
        selected_counts.copy_to(counts, ids);
        if (fault_of_part) {
            fault_of_part.task = ids[static_cast<std::size_t>(fault_of_part.task)];
            fault_of_part.row = rows[static_cast<std::size_t>(fault_of_part.row)];
        }
        fault.take(fault_of_part);
        // score_embeddings() has tallied n * columns pairs.
        bounds_tally.pairs += static_cast<std::int64_t>(ids.size()) * group->candidates.size - n * columns;
        done += n * columns;
    }
    return fault;
}

}  // namespace truerank
