#include "engine/sweep/embeddings.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "engine/sweep/count_sink.hpp"
#include "engine/sweep/crowded.hpp"
#include "engine/sweep/sweep.hpp"

namespace truerank {

namespace {

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
            targets.push_back(std::clamp<std::int64_t>(target, 0, last));
        }
        scores.resize(positions.size());
        const auto n = static_cast<std::int64_t>(positions.size());
        score_pairs(scoring, rows.data(), targets.data(), n, execution, scores.data());
    }
};

// Whether two scores differ. Every NaN is like every other.
template <class C>
bool are_unlike(C a, C b) {
    const bool is_a_nan = a != a, is_b_nan = b != b;
    return is_a_nan != is_b_nan || a < b || a > b;
}

// Takes the target's own score out of the partial counts of a task, for which it was counted, whatever it is. Returns
// whether the best of the other scores has to be found anew.
template <class C>
bool leave_out_target(const Counts& counts, std::int64_t task, C score, C true_score) {
    const bool is_nan = score != score, differs = are_unlike(score, true_score);
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

template <class C>
void finish_whole(const typename CountSink<C>::Shared& swept) {
    for (std::size_t i = 0; i < swept.sorted.order.size(); ++i) {
        const std::int64_t task = swept.sorted.order[i];
        const auto t = static_cast<std::size_t>(task);
        if (swept.counts.audit()) swept.counts.at_best[task] = swept.best[t].count;
        apply_nan_rule(swept.counts, task, swept.true_scores[i], swept.nan[t], swept.nan_rule);
    }
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
        finish_whole<C>(shared);
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
