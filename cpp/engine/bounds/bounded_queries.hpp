// The queries of a cell as bounds take them, and what the pairs of each of their tasks are compared with.
//
// Queries are quantised once for a cell, in tiles as the sums take them, and serve all of its panels. The true score of
// each task is turned into two thresholds on values (ValueScale). The query's offset, which all its values have in
// common, is subtracted from both, and what its rounding can do moves them apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/bounds/quantiser.hpp"
#include "engine/bounds/value_scale.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// What is known of a query. Norms are upper bounds.
struct QueryFacts {
    double norm = 0;     // of the vector
    double residue = 0;  // of what quantisation leaves over; for distances, the sum of its magnitudes
    double offset = 0;   // what is added to the value of every pair
    double mean = 0;     // that CSLS subtracts
    double squares = 0;  // the sum of squares as kernels take it, for poincare
};
// What is known of a task, to settle its open pairs.
template <class C>
struct TaskFacts {
    ValueThresholds values{};
    std::uint32_t query = 0;
    C score = std::numeric_limits<C>::quiet_NaN();
};

// Some queries in a row, LevelForm::queries or fewer, as kernels take them at once; and their tasks.
struct QueryTile {
    std::size_t index;
    std::size_t first_query, queries;
    std::size_t first_task, tasks;
};

// The numbers of tasks that decisions take, in arrays as kernels read them: thresholds on values; and thresholds on
// sums, of a query with this norm and residue, all over the scale of the query (SumTasks); and those on exact sums.
struct TaskArrays {
    std::vector<float> above, below, sum_above, sum_below, sum_norm, sum_residue;
    std::vector<std::int32_t> exact_above, exact_below;
    static constexpr std::int32_t kMost = 3 << 29;  // no sum is so large, nor so small
    void assign(std::size_t tasks) {
        for (auto* array : {&exact_above, &exact_below}) array->assign(tasks, 0);
        for (auto* array : {&above, &below, &sum_above, &sum_below, &sum_norm, &sum_residue}) array->assign(tasks, 0);
    }
    SumTasks sum_tasks() const { return {sum_above.data(), sum_below.data(), sum_norm.data(), sum_residue.data()}; }
    // No pair is certainly above; and besides, every pair is certainly below.
    void set_none_above(std::size_t task) {
        above[task] = sum_above[task] = std::numeric_limits<float>::infinity();
        exact_above[task] = kMost;
    }
    void set_all_below(std::size_t task) {
        set_none_above(task);
        below[task] = sum_below[task] = std::numeric_limits<float>::infinity();
        exact_below[task] = kMost;
    }
};

template <class C>
class BoundedQueries {
  public:
    explicit BoundedQueries(const Quantiser<C>& quantiser)
        : q_(quantiser), rows_(q_.scoring.queries, normalises(q_.scoring.similarity)) {}

    // Takes the queries of a cell; the tasks of query i are those from first[i] to first[i + 1].
    void load(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& first) {
        ids_ = rows.data();
        first_ = first.data();
        count_ = static_cast<std::int64_t>(rows.size());
        quantised_as_ = nullptr;
    }
    // Whether all of them are quantised in a form.
    bool are_quantised(const LevelForm& form) const { return quantised_as_ == &form && step_ == 1; }
    // Quantises them in a form, unless they are. Returns whether all of them can be.
    bool quantise(const LevelForm& form) { return are_quantised(form) ? usable_ : quantise_tiles(form, 1); }
    // Quantises those of every step-th tile alone, to try a form.
    bool quantise_tiles(const LevelForm& form, std::int64_t step) {
        quantised_as_ = &form;
        tile_rows_ = static_cast<std::int64_t>(form.queries);
        step_ = step;
        forget_thresholds();
        const auto n = static_cast<std::size_t>(count_), size = q_.size();
        levels_.assign(static_cast<std::size_t>(tiles()), form.of_queries(), form.queries, size);
        starts_.assign(static_cast<std::size_t>(tiles()) * form.queries, 0);
        rows_.resize(n);
        shifted_.resize(size);
        facts_.assign(n, {});
        value_rows_.assign(n, {1, 1, 0});
        offsets_.resize(n);
        tasks_.assign(static_cast<std::size_t>(first_[n]), {});
        of_tasks_.assign(tasks_.size() + kVectorRoom);
        largest_norm_ = 0;
        usable_ = true;
        if (q_.takes_bytes(form)) {
            q_.take_bytes(q_.scoring.queries, ids_, n, form.of_queries(), form.queries, bytes_, levels_);
        }
        for (std::int64_t tile = 0; tile < tiles() && usable_; tile += step_) {
            const std::int64_t begin = tile * tile_rows_, end = std::min(begin + tile_rows_, count_);
            rows_.load(static_cast<std::size_t>(begin), ids_ + begin, end - begin);
            for (std::int64_t i = begin; i < end && usable_; ++i) usable_ = quantise(i, form);
        }
        return usable_;
    }
    // Thresholds are set anew next time, where they are no longer what they were at the same place.
    void forget_thresholds() { scores_ = nullptr; }
    // Sets the thresholds on values from those on scores, unless they are set. Unless pairs are counted, none is above.
    void set_thresholds(const C* scores, bool counts) {
        if (scores == scores_) return;
        scores_ = scores;
        for (std::int64_t i = 0; i < count_; ++i) {
            if (!is_taken(i)) continue;
            for (std::int64_t at = first_[i]; at < first_[i + 1]; ++at) {
                const auto t = static_cast<std::size_t>(at);
                if (tasks_[t].score == scores[t]) continue;
                set_threshold(t, scores[t]);
                if (!counts) of_tasks_.set_none_above(t);
            }
        }
    }

    std::int64_t count() const { return count_; }
    // Tiles are those of the form that was quantised last.
    std::int64_t tile_rows() const { return tile_rows_; }
    std::int64_t tiles() const { return (count_ + tile_rows_ - 1) / tile_rows_; }
    QueryTile tile(std::int64_t index) const {
        const std::int64_t *const first = first_ + index * tile_rows_,
                                  n = std::min(tile_rows_, count_ - index * tile_rows_);
        return {static_cast<std::size_t>(index), static_cast<std::size_t>(index * tile_rows_),
                static_cast<std::size_t>(n), static_cast<std::size_t>(first[0]),
                static_cast<std::size_t>(first[n] - first[0])};
    }
    // The first task of each query.
    const std::int64_t* first() const { return first_; }
    const std::vector<TaskFacts<C>>& tasks() const { return tasks_; }
    const QueryFacts& facts(std::size_t query) const { return facts_[query]; }
    const C* row(std::size_t query) const { return rows_[query]; }
    double largest_norm() const { return largest_norm_; }

    // What kernels take, of a tile, of its queries, and of all tasks.
    const unsigned char* levels(std::size_t tile) const { return levels_[tile]; }
    const std::int32_t* starts() const { return starts_.data(); }
    const ValueRow* value_rows() const { return value_rows_.data(); }
    const RowOffset* offsets() const { return offsets_.data(); }
    const TaskArrays& task_arrays() const { return of_tasks_; }

    static constexpr std::size_t kVectorRoom = 16;  // numbers of a whole vector after the last one

  private:
    using Kind = typename Quantiser<C>::Kind;

    // Whether a query is among those that were quantised last.
    bool is_taken(std::int64_t i) const { return step_ == 1 || i / tile_rows_ % step_ == 0; }
    // Quantises query i, and takes note of what is known of it and its tasks. Returns whether bounds cover it.
    bool quantise(std::int64_t i, const LevelForm& form) {
        const auto query = static_cast<std::size_t>(i);
        const C* const row = rows_[query];
        QueryFacts& facts = facts_[query];
        if (q_.scoring.query_means != nullptr) facts.mean = static_cast<double>(q_.scoring.query_means[ids_[query]]);
        if (q_.takes_bytes(form)) {
            take_bytes(query, form);
            return q_.is_usable(facts.mean);
        }
        const Extent unshifted = set_shifted(row, q_.zeros);
        const Extent extent = q_.centred_queries ? set_shifted(row, q_.shift) : unshifted;
        if (q_.kind == Kind::squares) facts.squares = q_.squares_of(row);
        const bool is_extent_usable = q_.is_usable(unshifted) && q_.is_usable(extent);
        if (!is_extent_usable || !q_.is_usable(facts.mean) || !q_.is_inside(facts.squares)) return false;
        facts.norm = q_.norm_of(unshifted);
        largest_norm_ = std::max(largest_norm_, facts.norm);
        // Values have an offset beside the sum over levels: -|q'|^2 / 2, or q . s.
        if (q_.kind == Kind::products) {
            facts.offset = q_.centred_queries ? -static_cast<double>(extent.squares) / 2 : q_.shift_product(row);
        }
        if (q_.kind == Kind::distances) facts.offset = clamp_to_box();
        const Quantised made = q_.quantise(shifted_.data(), extent, grid_of(extent, form), levels_, query);
        facts.residue = made.residue + q_.division_residue(form, made.step) * static_cast<double>(made.step);
        set_numbers(query, made, form);
        return true;
    }
    // Takes a query of bytes, which are their own levels, less the shift.
    void take_bytes(std::size_t query, const LevelForm& form) {
        const ByteLevels& made = bytes_.levels[query];
        const Quantised quantised = q_.quantised(made);
        const double shift = q_.byte_shift();
        facts_[query].offset = q_.centred_queries ? made.squares / -2.0 : shift * (made.levels + shift * q_.depth());
        facts_[query].norm = quantised.norm + q_.byte_shift_norm();
        set_numbers(query, quantised, form);
    }
    // Levels are made of what is written here: the components less a shift.
    Extent set_shifted(const C* row, const std::vector<C>& shift) {
        return q_.kernels.subtract_shift(row, shift.data(), q_.size(), shifted_.data());
    }
    // Clamps the shifted query to the box, and returns its offset: what is outside is as far from all candidates in it.
    double clamp_to_box() {
        const float edge = q_.distance_grid.step * q_.distance_grid.greatest;
        double offset = 0;
        for (float& x : shifted_) {
            const float inside = std::clamp(x, 0.0F, edge);
            offset -= std::abs(static_cast<double>(x) - static_cast<double>(inside));
            x = inside;
        }
        return offset;
    }
    // The grid on which the shifted query is quantised.
    LevelGrid grid_of(const Extent& extent, const LevelForm& form) const {
        if (q_.kind != Kind::products) return q_.distance_grid;
        const auto greatest = static_cast<float>(form.query_greatest);
        const float step = std::max(q_.step_of(extent.largest, greatest), q_.word_step(form, shifted_.data()));
        return q_.product_grid(step, greatest);
    }
    // Sets what kernels take of a query that was quantised, and of its tasks.
    void set_numbers(std::size_t query, const Quantised& made, const LevelForm& form) {
        starts_[query] = -made.levels * form.zero;
        set_value_row(query, made, form);
        set_offset(query);
        const ValueRow& row = value_rows_[query];
        const auto scale = static_cast<double>(row.scale);
        for (std::int64_t t = first_[query]; t < first_[query + 1]; ++t) {
            const auto task = static_cast<std::size_t>(t);
            tasks_[task].query = static_cast<std::uint32_t>(query);
            of_tasks_.sum_norm[task] = q_.rounded_up(static_cast<double>(row.norm) / scale);
            of_tasks_.sum_residue[task] = q_.rounded_up(static_cast<double>(row.residue) / scale);
        }
    }
    // How the values of a query follow from sums.
    void set_value_row(std::size_t query, const Quantised& made, const LevelForm& form) {
        ValueRow& row = value_rows_[query];
        const QueryFacts& facts = facts_[query];
        if (q_.kind == Kind::products) {
            row.scale = std::ldexp(made.step, form.shift);
            row.norm = q_.rounded_up(q_.centred_queries ? made.norm : facts.norm);
            row.residue = q_.rounded_up(facts.residue);
        } else if (q_.kind == Kind::squares) {
            row.scale = static_cast<float>(2 / (1 - facts.squares));
        }
    }
    // Where thresholds belong to lanes, a query adds its offset to its values, less what its mean adds to every
    // threshold.
    void set_offset(std::size_t query) {
        const QueryFacts& facts = facts_[query];
        const double slack = slack_of(facts);
        double low = facts.offset - slack, high = facts.offset + slack;
        if (q_.scoring.query_means != nullptr) {
            const ValueThresholds with_mean = q_.scale.thresholds(0, facts.mean), without = q_.scale.thresholds(0, 0);
            low -= with_mean.above - without.above;
            high -= with_mean.below - without.below;
        }
        offsets_[query] = {q_.rounded_down(low), q_.rounded_up(high)};
    }

    void set_threshold(std::size_t t, C score) {
        TaskFacts<C>& task = tasks_[t];
        const QueryFacts& query = facts_[task.query];
        task.score = score;
        if (score != score) return of_tasks_.set_all_below(t);  // nothing is above a NaN
        task.values = q_.scale.thresholds(static_cast<double>(score), query.mean);
        const double slack = slack_of(query);
        const auto [value_above, value_below] =
            q_.float_thresholds({task.values.above - query.offset + slack, task.values.below - query.offset - slack});
        of_tasks_.above[t] = value_above;
        of_tasks_.below[t] = value_below;
        // Rounding moves a threshold on sums by a share of its size. No sum is as large as `most`, or larger.
        constexpr double most = Quantiser<C>::kLargestThreshold;
        const auto scale = static_cast<double>(value_rows_[task.query].scale);
        const double above = std::clamp(static_cast<double>(value_above) / scale, -most, most);
        const double below = std::clamp(static_cast<double>(value_below) / scale, -most, most);
        of_tasks_.sum_above[t] = q_.rounded_up(above + std::abs(above) * 0x1p-20);
        of_tasks_.sum_below[t] = q_.rounded_down(below - std::abs(below) * 0x1p-20);
        if (q_.takes_bytes(*quantised_as_)) set_exact(t, task.values, query.offset);
    }
    // Thresholds on exact sums (BoundedPanel::lane_starts): a pair is above if its sum is greater than the one, and
    // below if it is not greater than the other. For squared distances a sum s stands for 2 s or 2 s + 1: both are
    // halved.
    void set_exact(std::size_t t, const ValueThresholds& values, double offset) {
        constexpr double most = TaskArrays::kMost;
        const double times = q_.centred_queries ? 2 : 1;
        const double least_above = std::clamp(times * (values.above - offset), -most, most);
        const double least_open = std::clamp(times * (values.below - offset), -most, most);
        const auto above = static_cast<std::int32_t>(std::floor(least_above));
        const auto below = static_cast<std::int32_t>(std::ceil(least_open)) - 1;
        of_tasks_.exact_above[t] = q_.centred_queries ? above >> 1 : above;
        of_tasks_.exact_below[t] = q_.centred_queries ? (below - 1) >> 1 : below;
    }
    // What rounding does to the offset, and what quantisation does to a distance, whatever the candidate.
    double slack_of(const QueryFacts& query) const {
        const double slack =
            std::abs(query.offset) * (q_.squares_error() + 0x1p-40) + query.norm * q_.shift_norm * 0x1p-30;
        return q_.kind == Kind::distances ? slack + query.residue : slack;
    }

    const Quantiser<C>& q_;

    // The cell: its queries, and the first task of each.
    const std::int64_t *ids_ = nullptr, *first_ = nullptr;
    std::int64_t count_ = 0;

    // What was quantised last: in which form, and of how many tiles one; whether that went well.
    const LevelForm* quantised_as_ = nullptr;
    std::int64_t tile_rows_ = static_cast<std::int64_t>(kTileQueries);
    std::int64_t step_ = 1;
    bool usable_ = false;

    // Of queries.
    KeptVectors<C> rows_;
    LevelGroups levels_;                // of tiles
    std::vector<std::int32_t> starts_;  // of sums
    std::vector<QueryFacts> facts_;
    std::vector<ValueRow> value_rows_;
    std::vector<RowOffset> offsets_;
    double largest_norm_ = 0;
    std::vector<float> shifted_;  // the one that is being quantised, less the shift
    TakenBytes bytes_;            // or all of their bytes

    // Of tasks.
    const C* scores_ = nullptr;  // that thresholds were set from last
    std::vector<TaskFacts<C>> tasks_;
    TaskArrays of_tasks_;
};

}  // namespace truerank
