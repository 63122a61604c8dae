#include "engine/embeddings.hpp"

#include <algorithm>
#include <vector>

#include "engine/count_sink.hpp"
#include "engine/sweep.hpp"

namespace truerank {

namespace {

template <class C>
Fault rank_as(const Embeddings& embeddings, const Tasks& tasks, const Selection& filter, const Selection& candidates,
              NanRule nan, const Execution& execution, const Counts& counts) {
    for (std::int64_t task = 0; candidates && task < tasks.size; ++task) {
        if (!candidates.has(candidates.list(task), tasks.targets[task])) {
            return {Fault::Kind::not_a_candidate, task, tasks.rows == nullptr ? task : tasks.rows[task], -1};
        }
    }
    const Scoring<C> scoring(embeddings);
    const SortedTasks sorted = sort_tasks(tasks, candidates, embeddings);
    std::vector<std::int64_t> targets;
    for (const std::int64_t task : sorted.order) {
        targets.push_back(std::clamp<std::int64_t>(tasks.targets[task], 0, embeddings.entities.rows - 1));
    }
    std::vector<C> true_scores(targets.size());
    score_pairs(scoring, sorted.rows.data(), targets.data(), tasks.size, execution, true_scores.data());

    using Sink = CountSink<C>;
    typename Sink::Shared shared{tasks, filter, counts, sorted, true_scores, nan, {}, {}};
    shared.nan.assign(static_cast<std::size_t>(tasks.size), 0);
    shared.best.assign(static_cast<std::size_t>(counts.audit() ? tasks.size : 0), Order<C>::bottom());
    for (const Group& group : sorted.groups) {
        for (std::int64_t i = sorted.first_task_of(group.first_query); i < sorted.first_task_of(group.last_query);
             ++i) {
            counts.candidates[sorted.order[static_cast<std::size_t>(i)]] = group.candidates.size;
        }
    }
    Execution sweeping = execution;
    sweeping.bounded = !counts.audit();  // an audit needs the scores
    sweep(scoring, sorted, sweeping, static_cast<std::int64_t>(2 * scoring.kernels.counters_per_task * sizeof(C)),
          [&] { return Sink(scoring.kernels, shared); });
    if (shared.fault.kind != Fault::Kind::none) return shared.fault;
    for (std::size_t i = 0; i < sorted.order.size(); ++i) {
        const std::int64_t task = sorted.order[i];
        settle(counts, task, true_scores[i], shared.nan[static_cast<std::size_t>(task)], nan);
    }
    return {};
}

// A sink that copies the scores out.
template <class C>
class WriteSink {
  public:
    WriteSink(const SortedTasks& sorted, std::int64_t lanes, std::int64_t columns, C* out)
        : sorted_(sorted), lanes_(lanes), columns_(columns), out_(out) {}
    void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) {
        cell_ = &cell;
        first_task_ = first.data();
    }
    void begin_panel(const Panel& panel) { panel_ = panel; }
    std::int64_t take_scores(const C* scores, std::int64_t first_query, std::int64_t queries) {
        for (std::int64_t i = 0; i < queries; ++i) {
            for (std::int64_t t = first_task_[first_query + i]; t < first_task_[first_query + i + 1]; ++t) {
                const std::int64_t task = sorted_.order[static_cast<std::size_t>(cell_->first_task + t)];
                std::copy_n(scores + i * lanes_, panel_.width, out_ + task * columns_ + panel_.columns[0]);
            }
        }
        return lanes_ * (first_task_[first_query + queries] - first_task_[first_query]);
    }
    void end_cell() {}

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
    const SortedTasks sorted = sort_tasks({tasks, rows, nullptr}, {}, embeddings);
    sweep(scoring, sorted, execution, 0,
          [&] { return WriteSink<C>(sorted, scoring.lanes(), embeddings.entities.rows, out); });
}

}  // namespace

Fault rank_embeddings(const Embeddings& embeddings, const Tasks& tasks, const Selection& filter,
                      const Selection& candidates, NanRule nan, const Execution& execution, const Counts& counts) {
    const auto run = embeddings.wide() ? rank_as<double> : rank_as<float>;
    return run(embeddings, tasks, filter, candidates, nan, execution, counts);
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
