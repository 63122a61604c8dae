// Ranks of vectors by a sweep of their scores, and the scores themselves.
//
// Some queries have so many tasks, or so long filters, that scores are not compared as they are made (CrowdedQueries):
// such a query is scored into a row, and the row counted as one of a matrix of scores, where the true scores are sorted
// once and the filter is read once for the tasks that share it.
#include "engine/sweep/embeddings.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "engine/bounds/bounds.hpp"
#include "engine/sweep/count_sink.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

// Queries of some sorted tasks: positions in SortedTasks::queries, ascending.
struct CrowdedQueries {
    std::vector<std::int64_t> queries;
    std::int64_t pairs = 0;        // of these and the entities
    std::int64_t other_pairs = 0;  // of other queries and their candidates
};

CrowdedQueries find_crowded(const Embeddings& embeddings, const SortedTasks& sorted, const Selection& filter) {
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
SortedTasks leave_out_crowded(const SortedTasks& sorted, const CrowdedQueries& crowded) {
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
Fault rank_crowded(const Embeddings& embeddings, const Tasks& tasks, const SortedTasks& sorted,
                   const CrowdedQueries& crowded, NanRule nan, const Execution& execution, const Counts& counts) {
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

// The positions, in the sorted order, of the tasks whose targets are among the entities, and the scores of these.
template <class C>
struct TargetScores {
    std::vector<std::size_t> positions;
    std::vector<C> scores;

    TargetScores(const Scoring<C>& scoring, const Tasks& tasks, const SortedTasks& sorted, const Execution& execution) {
        const std::int64_t last = scoring.embeddings.entity_count() - 1;
        std::vector<std::int64_t> rows, targets;
        for (std::size_t i = 0; i < sorted.order.size(); ++i) {
            const std::int64_t target = tasks.targets[sorted.order[i]] - tasks.first_column;
            if (tasks.is_partial() && (target < 0 || target > last)) continue;
            positions.push_back(i);
            rows.push_back(sorted.rows[i]);
            // It is in range, unless another thread has written to the caller's array since that was checked.
            targets.push_back(std::clamp<std::int64_t>(target, 0, last));
        }
        scores.resize(positions.size());
        const auto n = static_cast<std::int64_t>(positions.size());
        score_pairs(scoring, rows.data(), targets.data(), n, execution, scores.data());
    }
};

// Takes the target's own score out of the partial counts of a task, for which it was counted, whatever it is. Returns
// whether the best of the other scores has to be found anew.
template <class C>
bool leave_out_target(const Counts& counts, std::int64_t task, C score, C true_score) {
    const bool is_nan = score != score, is_true_score_nan = true_score != true_score;
    // Every NaN is like every other.
    const bool differs = is_nan != is_true_score_nan || score < true_score || score > true_score;
    --counts.candidates[task];
    counts.above[task] -= score > true_score;
    counts.tied[task] -= score == true_score;
    counts.differing[task] += differs;
    if (!counts.audit() || is_nan) return false;
    counts.inf[task] -= std::isinf(score);
    const bool is_best = Order<C>::key(score) == counts.best[task];
    counts.at_best[task] -= is_best;
    return is_best && differs;
}

// Leaves the targets out of what a sweep has counted, in part of a matrix. Returns the queries of which the best of the
// other scores has to be found anew, which is rare.
template <class C>
CrowdedQueries finish_partial(const typename CountSink<C>::Shared& swept, const TargetScores<C>& target_scores) {
    const SortedTasks& sorted = swept.sorted;
    for (const std::int64_t task : sorted.order) {
        const auto t = static_cast<std::size_t>(task);
        swept.counts.nan[task] = swept.nan[t];
        if (!swept.counts.audit()) continue;
        swept.counts.best[task] = swept.best[t].key;
        swept.counts.at_best[task] = swept.best[t].count;
    }
    CrowdedQueries again;
    std::int64_t query = 0;
    for (std::size_t i = 0; i < target_scores.positions.size(); ++i) {
        const std::size_t position = target_scores.positions[i];
        const C score = target_scores.scores[i], true_score = swept.true_scores[position];
        if (!leave_out_target(swept.counts, sorted.order[position], score, true_score)) continue;
        while (sorted.first_task_of(query + 1) <= static_cast<std::int64_t>(position)) ++query;
        if (again.queries.empty() || again.queries.back() != query) again.queries.push_back(query);
    }
    return again;
}

template <class C>
Fault rank_by_sweep(const Embeddings& embeddings, const Tasks& tasks, const SortedTasks& sorted, NanRule nan,
                    const Execution& execution, const Counts& counts) {
    const Scoring<C> scoring(embeddings);
    TargetScores<C> target_scores(scoring, tasks, sorted, execution);
    std::vector<C> given_scores;
    if (tasks.is_partial()) {
        const auto* const given = reinterpret_cast<const C*>(tasks.true_scores);
        for (const std::int64_t task : sorted.order) given_scores.push_back(given[task]);
    }
    const std::vector<C>& true_scores = tasks.is_partial() ? given_scores : target_scores.scores;

    typename CountSink<C>::Shared shared{tasks, counts, sorted, true_scores, nan};
    for (const Group& group : sorted.groups) {
        for (std::int64_t i = sorted.first_task_of(group.first_query); i < sorted.first_task_of(group.last_query);
             ++i) {
            counts.candidates[sorted.order[static_cast<std::size_t>(i)]] = group.candidates.size;
        }
    }
    sweep<C>(scoring, sorted, execution, static_cast<std::int64_t>(2 * scoring.kernels.counters_per_task * sizeof(C)),
             [&] { return std::make_unique<CountSink<C>>(scoring.kernels, shared); });
    if (shared.fault) return shared.fault;
    if (!tasks.is_partial()) {
        for (std::size_t i = 0; i < sorted.order.size(); ++i) {
            const std::int64_t task = sorted.order[i];
            const auto t = static_cast<std::size_t>(task);
            if (counts.audit()) counts.at_best[task] = shared.best[t].count;
            apply_nan_rule(counts, task, true_scores[i], shared.nan[t], nan);
        }
        return {};
    }
    Execution unheard = execution;
    unheard.listener = nullptr;
    return rank_crowded(embeddings, tasks, sorted, finish_partial(shared, target_scores), nan, unheard, counts);
}

template <class C>
Fault rank_as(const Embeddings& embeddings, const Tasks& tasks, NanRule nan, const Execution& execution,
              const Counts& counts) {
    if (tasks.candidates) {
        for (std::int64_t task = 0; task < tasks.size; ++task) {
            const std::int64_t target = tasks.targets[task] - tasks.first_column;
            if (tasks.is_partial() && (target < 0 || target >= embeddings.entity_count())) continue;
            if (tasks.candidates.task_has(task, tasks.targets[task])) continue;
            const std::int64_t row = tasks.rows == nullptr ? task : tasks.rows[task];
            return {.kind = Fault::Kind::not_a_candidate, .task = task, .row = row};
        }
    }
    const SortedTasks sorted = sort_tasks(tasks, embeddings);
    const CrowdedQueries crowded = find_crowded(embeddings, sorted, tasks.filter);
    if (crowded.queries.empty()) return rank_by_sweep<C>(embeddings, tasks, sorted, nan, execution, counts);
    Fault fault = rank_crowded(embeddings, tasks, sorted, crowded, nan, execution, counts);
    const SortedTasks others = leave_out_crowded(sorted, crowded);
    if (others.order.empty()) return fault;
    PartListener listener(execution.listener, crowded.pairs + crowded.other_pairs);
    Execution part = execution;
    part.listener = listener.part(crowded.pairs);
    fault.take(rank_by_sweep<C>(embeddings, tasks, others, nan, part, counts));
    return fault;
}

// A sink that copies the scores out.
template <class C>
class WriteSink : public Sink<C> {
  public:
    WriteSink(const SortedTasks& sorted, std::int64_t lanes, std::int64_t columns, C* out)
        : sorted_(sorted), lanes_(lanes), columns_(columns), out_(out) {}
    void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) override {
        cell_ = &cell;
        first_task_ = first.data();
    }
    void begin_panel(const Panel& panel) override { panel_ = panel; }
    std::int64_t take_scores(C* scores, std::int64_t first_query, std::int64_t queries) override {
        for (std::int64_t i = 0; i < queries; ++i) {
            for (std::int64_t t = first_task_[first_query + i]; t < first_task_[first_query + i + 1]; ++t) {
                const std::int64_t task = sorted_.order[static_cast<std::size_t>(cell_->first_task + t)];
                std::copy_n(scores + i * lanes_, panel_.width, out_ + task * columns_ + panel_.columns[0]);
            }
        }
        return lanes_ * (first_task_[first_query + queries] - first_task_[first_query]);
    }

  private:
    const SortedTasks& sorted_;
    std::int64_t lanes_, columns_;
    C* out_;
    const Cell* cell_ = nullptr;
    const std::int64_t* first_task_ = nullptr;
    Panel panel_{};
};

template <class C>
void score_as(const Embeddings& embeddings, const std::int64_t* rows, const std::int64_t* columns, std::int64_t tasks,
              const Execution& execution, void* scores) {
    const Scoring<C> scoring(embeddings);
    C* const out = static_cast<C*>(scores);
    if (columns != nullptr) return score_pairs(scoring, rows, columns, tasks, execution, out);
    const SortedTasks sorted = sort_tasks({tasks, rows, nullptr}, embeddings);
    sweep<C>(scoring, sorted, execution, 0,
             [&] { return std::make_unique<WriteSink<C>>(sorted, scoring.lanes(), embeddings.entity_count(), out); });
}

}  // namespace

Fault rank_embeddings(const Embeddings& embeddings, const Tasks& tasks, NanRule nan, const Execution& execution,
                      const Counts& counts) {
    const auto run = embeddings.wide() ? rank_as<double> : rank_as<float>;
    return run(embeddings, tasks, nan, execution, counts);
}

void score_embeddings(const Embeddings& embeddings, const std::int64_t* rows, const std::int64_t* columns,
                      std::int64_t tasks, const Execution& execution, void* out) {
    const auto run = embeddings.wide() ? score_as<double> : score_as<float>;
    run(embeddings, rows, columns, tasks, execution, out);
}

}  // namespace truerank
