#include "engine/sweep/embeddings.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
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

// Takes the target's own score out of the partial counts of a task, for which it was counted, whatever it is. Returns
// whether the best of the other scores has to be found anew.
template <class C>
bool leave_out_target(const Counts& counts, std::int64_t task, C score, C true_score) {
    const bool is_nan = score != score,
               differs = is_nan != (true_score != true_score) || score < true_score || score > true_score;
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

// Compares the scores of sorted tasks as they are made.
template <class C>
Fault rank_as_made(const Embeddings& embeddings, const Tasks& tasks, const SortedTasks& sorted, NanRule nan,
                   const Execution& execution, const Counts& counts) {
    const bool partial = tasks.is_partial();
    const Scoring<C> scoring(embeddings);
    TargetScores<C> target_scores(scoring, tasks, sorted, execution);
    std::vector<C> given_scores;
    for (std::size_t i = 0; partial && i < sorted.order.size(); ++i) {
        given_scores.push_back(reinterpret_cast<const C*>(tasks.true_scores)[sorted.order[i]]);
    }
    const std::vector<C>& true_scores = partial ? given_scores : target_scores.scores;

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
    for (std::size_t i = 0; i < sorted.order.size(); ++i) {
        const std::int64_t task = sorted.order[i];
        const auto t = static_cast<std::size_t>(task);
        if (counts.audit()) counts.at_best[task] = shared.best[t].count;
        if (partial) {
            counts.nan[task] = shared.nan[t];
            if (counts.audit()) counts.best[task] = shared.best[t].key;
        } else {
            settle(counts, task, true_scores[i], shared.nan[t], nan);
        }
    }
    if (!partial) return {};
    CrowdedQueries again;  // where the best of the other scores has to be found, which is rare
    std::int64_t query = 0;
    for (std::size_t i = 0; i < target_scores.positions.size(); ++i) {
        const std::size_t position = target_scores.positions[i];
        const C score = target_scores.scores[i], true_score = true_scores[position];
        if (!leave_out_target(counts, sorted.order[position], score, true_score)) continue;
        while (sorted.first_task_of(query + 1) <= static_cast<std::int64_t>(position)) ++query;
        if (again.queries.empty() || again.queries.back() != query) again.queries.push_back(query);
    }
    return rank_crowded(embeddings, tasks, sorted, again, nan,
                        {execution.block, execution.threads, execution.interrupted}, counts);
}

template <class C>
Fault rank_as(const Embeddings& embeddings, const Tasks& tasks, NanRule nan, const Execution& execution,
              const Counts& counts) {
    for (std::int64_t task = 0; tasks.candidates && task < tasks.size; ++task) {
        const std::int64_t target = tasks.targets[task] - tasks.first_column;
        if (tasks.is_partial() && (target < 0 || target >= embeddings.entity_count())) continue;
        if (!tasks.candidates.task_has(task, tasks.targets[task])) {
            return {Fault::Kind::not_a_candidate, task, tasks.rows == nullptr ? task : tasks.rows[task], -1};
        }
    }
    const SortedTasks sorted = sort_tasks(tasks, embeddings);
    const CrowdedQueries crowded = find_crowded(embeddings, sorted, tasks.filter);
    if (crowded.queries.empty()) return rank_as_made<C>(embeddings, tasks, sorted, nan, execution, counts);
    Fault fault = rank_crowded(embeddings, tasks, sorted, crowded, nan, execution, counts);
    const SortedTasks others = leave_out_crowded(sorted, crowded);
    if (others.order.empty()) return fault;
    PartListener listener(execution.listener, crowded.pairs + crowded.other_pairs);
    Execution part = execution;
    part.listener = listener.part(crowded.pairs);
    fault.take(rank_as_made<C>(embeddings, tasks, others, nan, part, counts));
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
              const Execution& execution, C* out) {
    const Scoring<C> scoring(embeddings);
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
    if (embeddings.wide()) {
        score_as(embeddings, rows, columns, tasks, execution, static_cast<double*>(out));
    } else {
        score_as(embeddings, rows, columns, tasks, execution, static_cast<float*>(out));
    }
}

}  // namespace truerank
