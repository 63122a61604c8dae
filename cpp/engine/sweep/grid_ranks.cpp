// Ranks of two sets of entities that rank each other: every score is counted for its row and for its column.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/sweep/count_sink.hpp"
#include "engine/sweep/embeddings.hpp"

namespace truerank {
namespace {

// The tasks of the columns, arranged for panels. A layer has one place for each lane of a panel, for one task of that
// lane's column; a panel has as many layers as one of its columns has tasks, at most.
template <class C>
struct TaskLayers {
    std::int64_t lanes;
    std::vector<std::int64_t> first_layers;  // of every panel, and the number of all layers
    std::vector<C> true_scores;              // NaN where there is no task
    std::vector<std::int64_t> tasks;         // or -1

    // `targets` are those of the sorted tasks. `columns` are the entities of the panels; a target that is not among
    // them is left out.
    TaskLayers(const SortedTasks& sorted, const std::vector<std::int64_t>& targets,
               std::span<const std::int64_t> columns, std::int64_t entities, const std::vector<C>& true_score_of,
               std::int64_t lanes_)
        : lanes(lanes_) {
        std::vector<std::int64_t> column_of(static_cast<std::size_t>(entities), -1);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            column_of[static_cast<std::size_t>(columns[i])] = static_cast<std::int64_t>(i);
        }
        struct Place {
            std::int64_t column;  // or -1
            std::int64_t layer;   // of the column's panel
        };
        std::vector<Place> places;
        std::vector<std::int64_t> tasks_of_column(columns.size(), 0);
        for (const std::int64_t target : targets) {
            const std::int64_t column = column_of[static_cast<std::size_t>(target)];
            places.push_back({column, column < 0 ? 0 : tasks_of_column[static_cast<std::size_t>(column)]++});
        }
        const auto width = static_cast<std::int64_t>(columns.size());
        std::int64_t layers = 0;
        for (std::int64_t begin = 0; begin < width; begin += lanes) {
            first_layers.push_back(layers);
            const auto from = tasks_of_column.begin() + begin;
            layers += *std::max_element(from, from + std::min(lanes, width - begin));
        }
        first_layers.push_back(layers);
        true_scores.assign(static_cast<std::size_t>(layers * lanes), std::numeric_limits<C>::quiet_NaN());
        tasks.assign(static_cast<std::size_t>(layers * lanes), -1);
        for (std::size_t i = 0; i < places.size(); ++i) {
            const auto [column, layer] = places[i];
            if (column < 0) continue;
            const auto at = static_cast<std::size_t>((first_layer_at(column) + layer) * lanes + column % lanes);
            true_scores[at] = true_score_of[i];
            tasks[at] = sorted.order[i];
        }
    }
    std::int64_t first_layer_at(std::int64_t column) const {
        return first_layers[static_cast<std::size_t>(column / lanes)];
    }
    // The first layer after those of the panels that have columns before `end`.
    std::int64_t layers_end(std::int64_t end) const {
        return first_layers[static_cast<std::size_t>(divide_up(end, lanes))];
    }
};

// Counts for the tasks of the columns.
template <class C>
class ColumnSink : public LayeredTasks<C> {
  public:
    using Counter = typename TaskCounters<C>::Counter;

    struct Shared : CountSink<C>::Shared {
        const TaskLayers<C>& layers;
    };

    ColumnSink(const SimilarityKernels<C>& kernels, Shared& shared) : kernels_(kernels), shared_(shared) {}

    void begin_cell(const Cell& cell) {
        cell_ = &cell;
        const TaskLayers<C>& layers = shared_.layers;
        const bool have_candidates_tasks = cell.candidates.start == 0 && !layers.tasks.empty();
        // A query may have more tasks than a cell holds: the first of its cells alone counts for the columns.
        const bool is_first_of_query = cell.first_task == shared_.sorted.first_task_of(cell.first_query);
        counts_columns_ = have_candidates_tasks && is_first_of_query;
        first_layer_ = counts_columns_ ? layers.first_layer_at(cell.begin) : 0;
        const std::int64_t end_layer = counts_columns_ ? layers.layers_end(cell.end) : 0;
        for (auto* counters : {&above_, &tied_}) {
            counters->assign(static_cast<std::size_t>((end_layer - first_layer_) * layers.lanes), 0);
        }
        bounded_above_.clear();
        nans_.clear();
    }

    void begin_panel(const Panel& panel) {
        panel_ = panel;
        layer_ = counts_columns_ ? shared_.layers.first_layer_at(panel.begin) : 0;
        layers_ = counts_columns_ ? shared_.layers.layers_end(panel.begin + panel.width) - layer_ : 0;
    }

    std::int64_t take_scores(const C* scores, std::int64_t first_query, std::int64_t queries, bool saw_nan) {
        if (layers_ == 0) return 0;
        const std::int64_t lanes = shared_.layers.lanes, at = first_counter();
        kernels_.count_lanes(
            scores, static_cast<std::size_t>(queries), static_cast<std::size_t>(layers_),
            {shared_.layers.true_scores.data() + layer_ * lanes, above_.data() + at, tied_.data() + at});
        if (saw_nan) find_nans(scores, first_query, queries);
        return queries * layers_ * lanes;
    }

    // What bounds need, and what they tell (engine/bounds/bounded_panels.hpp), about the layers of the panel.
    std::size_t layers() const override { return static_cast<std::size_t>(layers_); }
    std::int64_t tasks() const override {
        const auto first = shared_.layers.tasks.begin() + layer_ * shared_.layers.lanes;
        return std::count_if(first, first + layers_ * shared_.layers.lanes,
                             [](std::int64_t task) { return task >= 0; });
    }
    const C* thresholds() override { return shared_.layers.true_scores.data() + layer_ * shared_.layers.lanes; }
    std::uint32_t* counters() override {
        bounded_above_.resize(above_.size());
        return bounded_above_.data() + first_counter();
    }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) override {
        const C* const true_scores = thresholds();
        Counter *const above = above_.data() + first_counter(), *const tied = tied_.data() + first_counter();
        for (std::size_t i = 0; i < n; ++i) {
            above[pairs[i].task] += scores[i] > true_scores[pairs[i].task];
            tied[pairs[i].task] += scores[i] == true_scores[pairs[i].task];
        }
    }

    void end_cell() {
        const std::lock_guard<std::mutex> lock(shared_.mutex);
        for (std::size_t i = 0; i < above_.size(); ++i) {
            const std::int64_t task =
                shared_.layers.tasks[static_cast<std::size_t>(first_layer_ * shared_.layers.lanes) + i];
            if (task < 0) continue;
            shared_.counts.above[task] += static_cast<std::int64_t>(above_[i]);
            if (!bounded_above_.empty()) shared_.counts.above[task] += bounded_above_[i];
            shared_.counts.tied[task] += static_cast<std::int64_t>(tied_[i]);
            if (!nans_.empty()) shared_.nan[static_cast<std::size_t>(task)] += static_cast<std::int64_t>(nans_[i]);
        }
        shared_.fault.take(fault_);
    }

  private:
    // The place of the panel's first layer in the counters of the cell.
    std::int64_t first_counter() const { return (layer_ - first_layer_) * shared_.layers.lanes; }

    void find_nans(const C* scores, std::int64_t first_query, std::int64_t queries) {
        const std::int64_t lanes = shared_.layers.lanes;
        for (std::int64_t i = 0; i < queries; ++i) {
            const std::int64_t row =
                shared_.sorted.queries[static_cast<std::size_t>(cell_->first_query + first_query + i)].row;
            for (std::int64_t j = 0; j < panel_.width; ++j) {
                if (scores[i * lanes + j] == scores[i * lanes + j]) continue;
                for (std::int64_t layer = layer_; layer < layer_ + layers_; ++layer) {
                    add_nan(layer * lanes + j, row, panel_.columns[j]);
                }
            }
        }
    }
    // Adds the NaN of a query and an entity for the task at a place of the layers, if it has one. The entity is the
    // task's query here, and the query a candidate.
    void add_nan(std::int64_t place, std::int64_t query, std::int64_t entity) {
        const std::int64_t task = shared_.layers.tasks[static_cast<std::size_t>(place)];
        if (task < 0) return;
        const bool is_target = query == shared_.tasks.rows[task];
        if (!is_target && shared_.tasks.filter.task_has(task, query)) return;
        if (nans_.empty()) nans_.assign(above_.size(), 0);
        ++nans_[static_cast<std::size_t>(place - first_layer_ * shared_.layers.lanes)];
        fault_.take({.kind = kind_of_nan(shared_.nan_rule, is_target), .task = task, .row = entity, .column = query});
    }

    const SimilarityKernels<C>& kernels_;
    Shared& shared_;
    const Cell* cell_ = nullptr;
    Panel panel_{};
    std::int64_t first_layer_ = 0, layer_ = 0, layers_ = 0;
    bool counts_columns_ = false;  // in this cell
    std::vector<Counter> above_, tied_;
    std::vector<std::uint32_t> bounded_above_;  // those that bounds found, empty until there are any
    std::vector<Counter> nans_;                 // empty until there is one
    Fault fault_{};
};

// Counts for the tasks of the rows, and for those of the columns.
template <class C>
class GridSink : public CountSink<C> {
    using Rows = CountSink<C>;

  public:
    GridSink(const SimilarityKernels<C>& kernels, typename Rows::Shared& rows, typename ColumnSink<C>::Shared& columns)
        : Rows(kernels, rows), columns_(kernels, columns) {}
    void begin_cell(const Cell& cell, const std::vector<std::int64_t>& first) override {
        Rows::begin_cell(cell, first);
        columns_.begin_cell(cell);
    }
    void begin_panel(const Panel& panel) override {
        Rows::begin_panel(panel);
        columns_.begin_panel(panel);
    }
    std::int64_t take_scores(C* scores, std::int64_t first_query, std::int64_t queries) override {
        const std::int64_t work = Rows::take_scores(scores, first_query, queries);
        return work + columns_.take_scores(scores, first_query, queries, Rows::saw_nan());
    }
    LayeredTasks<C>* lane_tasks() override { return &columns_; }
    void end_cell() override {
        Rows::end_cell();
        columns_.end_cell();
    }

  private:
    ColumnSink<C> columns_;
};

// Takes the filtered queries out of the counts of the columns' tasks. As a rule they are few: their scores are computed
// once more, to the same bits, which spares the sweep a merge along columns.
template <class C>
void remove_filtered(const Scoring<C>& scoring, const Grid& grid, const typename ColumnSink<C>::Shared& shared,
                     const Execution& execution) {
    constexpr std::size_t pairs_per_flush = 1 << 16;
    const Tasks& tasks = shared.tasks;
    const Counts& counts = shared.counts;
    std::vector<bool> in_grid(static_cast<std::size_t>(grid.embeddings.queries.rows), false);
    for (const std::int64_t id : grid.left) in_grid[static_cast<std::size_t>(id)] = true;
    std::vector<std::int64_t> rows, columns, positions;
    std::vector<C> scores;
    const auto flush = [&] {
        scores.resize(rows.size());
        score_pairs(scoring, rows.data(), columns.data(), static_cast<std::int64_t>(rows.size()), execution,
                    scores.data());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const auto position = static_cast<std::size_t>(positions[i]);
            const std::int64_t task = shared.sorted.order[position];
            counts.above[task] -= scores[i] > shared.true_scores[position];
            counts.tied[task] -= scores[i] == shared.true_scores[position];
            --counts.candidates[task];
        }
        for (auto* list : {&rows, &columns, &positions}) list->clear();
        if (execution.interrupted != nullptr && execution.interrupted()) throw Interrupted{};
    };
    for (std::int64_t i = 0; i < tasks.size; ++i) {
        const std::int64_t task = shared.sorted.order[static_cast<std::size_t>(i)];
        const Span span = tasks.filter.task_span(task);
        for (std::int64_t at = span.start; at < span.start + span.length; ++at) {
            const std::int64_t row = tasks.filter.column(at);
            if (row == tasks.rows[task] || static_cast<std::uint64_t>(row) >= in_grid.size() ||
                !in_grid[static_cast<std::size_t>(row)]) {
                continue;
            }
            rows.push_back(row);
            columns.push_back(std::clamp<std::int64_t>(tasks.targets[task], 0, grid.embeddings.entities.rows - 1));
            positions.push_back(i);
            if (rows.size() == pairs_per_flush) flush();
        }
    }
    flush();
}

void append_queries_without_tasks(SortedTasks& sorted, const Grid& grid) {
    sorted.queries.pop_back();  // where the tasks end
    std::vector<bool> has_tasks(static_cast<std::size_t>(grid.embeddings.queries.rows), false);
    for (const std::int64_t row : sorted.rows) has_tasks[static_cast<std::size_t>(row)] = true;
    const auto tasks = static_cast<std::int64_t>(sorted.order.size());
    for (const std::int64_t id : grid.left) {
        if (!has_tasks[static_cast<std::size_t>(id)]) sorted.queries.push_back({id, tasks});
    }
    sorted.queries.push_back({-1, tasks});
}

// Groups the pairs of the queries, of which the first `asking` have tasks, and the entities `right`, of which the first
// `asked` have: all pairs but those in which neither side has any.
void group_by_who_asks(SortedTasks& sorted, std::int64_t asking, const std::vector<std::int64_t>& right,
                       std::int64_t asked, std::int64_t entities) {
    const std::int64_t queries = std::ssize(sorted.queries) - 1;
    const ListedColumns with_tasks(right, {0, asked}, entities);
    const ListedColumns without(right, {asked, std::ssize(right) - asked}, entities);
    sorted.groups.clear();
    for (const Group& group : {Group{0, asking, with_tasks}, {0, asking, without}, {asking, queries, with_tasks}}) {
        if (group.first_query < group.last_query && group.candidates.size > 0) sorted.groups.push_back(group);
    }
}

template <class C>
std::array<Fault, 2> rank_as(const Grid& grid, const Tasks& tasks, const Selection& filter_left, NanRule nan,
                             Execution execution, const Counts& to_right, const Counts& to_left) {
    const Scoring<C> scoring(grid.embeddings);
    const std::int64_t entities = grid.embeddings.entities.rows;
    SortedTasks sorted = sort_tasks(tasks, grid.embeddings);
    std::vector<std::int64_t> targets;
    std::vector<bool> asked(static_cast<std::size_t>(entities), false);
    for (const std::int64_t task : sorted.order) {
        targets.push_back(std::clamp<std::int64_t>(tasks.targets[task], 0, entities - 1));
        asked[static_cast<std::size_t>(targets.back())] = true;
    }
    std::vector<std::int64_t> right = grid.right;  // those that are asked come first
    const auto others = std::stable_partition(right.begin(), right.end(),
                                              [&](std::int64_t id) { return asked[static_cast<std::size_t>(id)]; });
    const std::int64_t asking = std::ssize(sorted.queries) - 1;
    append_queries_without_tasks(sorted, grid);
    group_by_who_asks(sorted, asking, right, others - right.begin(), entities);
    std::vector<C> true_scores(targets.size());
    score_pairs(scoring, sorted.rows.data(), targets.data(), tasks.size, execution, true_scores.data());
    std::fill_n(to_right.candidates, tasks.size, grid.right_size());
    std::fill_n(to_left.candidates, tasks.size, grid.left_size());
    const TaskLayers<C> layers(sorted, targets, {right.begin(), others}, entities, true_scores, scoring.lanes());

    Tasks tasks_of_columns = tasks;
    tasks_of_columns.filter = filter_left;
    typename CountSink<C>::Shared rows{tasks, to_right, sorted, true_scores, nan};
    typename ColumnSink<C>::Shared columns{{tasks_of_columns, to_left, sorted, true_scores, nan}, layers};
    // So that panels are those of the layers.
    execution.block = divide_up(execution.block, scoring.lanes()) * scoring.lanes();
    sweep<C>(scoring, sorted, execution, static_cast<std::int64_t>(2 * scoring.kernels.counters_per_task * sizeof(C)),
             [&] { return std::make_unique<GridSink<C>>(scoring.kernels, rows, columns); });
    if (rows.fault || columns.fault) return {rows.fault, columns.fault};
    if (filter_left) remove_filtered(scoring, grid, columns, execution);
    for (std::size_t i = 0; i < true_scores.size(); ++i) {
        const auto task = static_cast<std::size_t>(sorted.order[i]);
        apply_nan_rule(to_right, sorted.order[i], true_scores[i], rows.nan[task], nan);
        apply_nan_rule(to_left, sorted.order[i], true_scores[i], columns.nan[task], nan);
    }
    return {};
}

}  // namespace

std::array<Fault, 2> rank_grid(const Grid& grid, const Tasks& tasks, const Selection& filter_left, NanRule nan,
                               const Execution& execution, const Counts& to_right, const Counts& to_left) {
    const auto run = grid.embeddings.wide() ? rank_as<double> : rank_as<float>;
    return run(grid, tasks, filter_left, nan, execution, to_right, to_left);
}

}  // namespace truerank
