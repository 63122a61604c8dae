// The queries of a cell as bounds take them, and what the pairs of each of their tasks are compared with.
//
// Queries are quantised once for a cell, and serve all of its panels. For each there are its levels, in tiles as the
// sums take them, and what is known of it, such as its norm and its residue, which bound the error of its sums. For
// each task of a query, its true score is turned into two thresholds on values (ValueScale). From these the query's
// offset, which all its values have in common, is taken off, so that pairs are compared without it, and what its
// rounding can do moves the thresholds apart.
//
// A grid of steps is tried on some tiles alone (quantise_tiles) before all queries are quantised.
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
        scores_ = nullptr;
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
        for (std::int64_t tile = 0; tile < tiles() && usable_; tile += step_) {
            const std::int64_t begin = tile * tile_rows_, end = std::min(begin + tile_rows_, count_);
            rows_.load(static_cast<std::size_t>(begin), ids_ + begin, end - begin);
            for (std::int64_t i = begin; i < end && usable_; ++i) usable_ = quantise(i, form);
        }
        return usable_;
    }
    // Sets the thresholds on values from those on scores, unless they are what they were. Unless pairs are counted,
    // none is above.
    void set_thresholds(const C* scores, bool counts, bool are_new) {
        if (!are_new && scores == scores_) return;
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
    // Thresholds of values as floats, which leave all pairs open where floats do not hold them.
    static void set_floats(const ValueThresholds& values, float& above, float& below) {
        constexpr double most = 0x1p120;
        const bool known = std::abs(values.above) <= most && std::abs(values.below) <= most;
        above = known ? Quantiser<C>::rounded_up(values.above) : Quantiser<C>::kInfinity;
        below = known ? Quantiser<C>::rounded_down(values.below) : -Quantiser<C>::kInfinity;
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
    const float* above() const { return of_tasks_.above.data(); }
    const float* below() const { return of_tasks_.below.data(); }
    const std::int32_t* exact_above() const { return of_tasks_.exact_above.data(); }
    const std::int32_t* exact_below() const { return of_tasks_.exact_below.data(); }
    SumTasks sum_tasks() const {
        return {of_tasks_.sum_above.data(), of_tasks_.sum_below.data(), of_tasks_.sum_norm.data(),
                of_tasks_.sum_residue.data()};
    }

    static constexpr std::size_t kVectorRoom = 16;  // numbers of a whole vector after the last one

  private:
    using Kind = typename Quantiser<C>::Kind;

    // Whether a query is among those that were quantised last.
    bool is_taken(std::int64_t i) const { return step_ == 1 || i / tile_rows_ % step_ == 0; }
    // Quantises query i, and takes note of what is known of it and its tasks. Returns whether bounds cover it.
    bool quantise(std::int64_t i, const LevelForm& form) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t id = ids_[at];
        const C* const row = rows_[at];
        QueryFacts& facts = facts_[at];
        if (q_.scoring.query_means != nullptr) facts.mean = static_cast<double>(q_.scoring.query_means[id]);
        if (q_.takes_bytes(form)) {
            take_bytes(at, form, facts);
            return q_.is_usable(facts.mean);
        }
        const Extent whole = q_.kernels.shift(row, q_.zeros.data(), q_.size(), shifted_.data());
        const Extent extent =
            q_.centred_queries ? q_.kernels.shift(row, q_.shift.data(), q_.size(), shifted_.data()) : whole;
        if (q_.kind == Kind::squares) facts.squares = q_.squares_of(row);
        if (!q_.is_usable(whole) || !q_.is_usable(extent) || !q_.is_usable(facts.mean) ||
            !q_.is_inside(facts.squares)) {
            return false;
        }
        facts.norm = q_.norm_of(whole);
        largest_norm_ = std::max(largest_norm_, facts.norm);
        const LevelGrid grid = grid_of(row, extent, form, facts);
        const Quantised made = q_.quantise(shifted_.data(), extent, grid, levels_, at);
        facts.residue = made.residue + q_.division_residue(form, made.step) * static_cast<double>(made.step);
        starts_[at] = -made.levels * form.zero;
        set_row(at, made, facts);
        return true;
    }
    // Takes a query of bytes, which are their own levels.
    void take_bytes(std::size_t at, const LevelForm& form, QueryFacts& facts) {
        const ByteLevels made = q_.take_bytes(q_.scoring.queries, ids_[at], bytes_, levels_, at);
        const double shift = q_.byte_shift();
        facts.offset = q_.centred_queries ? made.squares / -2.0 : shift * (made.levels + shift * q_.depth());
        starts_[at] = -made.levels * form.zero;
        const Quantised quantised = q_.quantised(made);
        facts.norm = quantised.norm + q_.byte_shift_norm();
        set_row(at, quantised, facts);
    }
    // The grid on which a query is quantised, and its offset: what its values have beside the sum over levels.
    LevelGrid grid_of(const C* row, const Extent& extent, const LevelForm& form, QueryFacts& facts) {
        if (q_.kind == Kind::products) {
            facts.offset = q_.centred_queries ? -static_cast<double>(extent.squares) / 2 : q_.shift_product(row);
            const auto greatest = static_cast<float>(form.query_greatest);
            const float step = std::max(q_.step_of(extent.largest, greatest), q_.word_step(form, shifted_.data()));
            return q_.product_grid(step, greatest);
        }
        if (q_.kind == Kind::distances) {
            // The query is clamped to the box: what is outside is as far from all candidates in the box.
            const float edge = q_.distance_grid.step * q_.distance_grid.greatest;
            for (float& x : shifted_) {
                const float inside = std::clamp(x, 0.0F, edge);
                facts.offset -= std::abs(static_cast<double>(x) - static_cast<double>(inside));
                x = inside;
            }
        }
        return q_.distance_grid;
    }
    // Sets how the values of a query follow from sums, and what its tasks have from it.
    void set_row(std::size_t query, const Quantised& made, const QueryFacts& facts) {
        ValueRow& row = value_rows_[query];
        if (q_.kind == Kind::products) {
            row.scale = std::ldexp(made.step, quantised_as_->shift);
            row.norm = q_.rounded_up(q_.centred_queries ? made.norm : facts.norm);
            row.residue = q_.rounded_up(facts.residue);
        } else if (q_.kind == Kind::squares) {
            row.scale = static_cast<float>(2 / (1 - facts.squares));
        }
        const auto scale = static_cast<double>(row.scale);
        for (std::int64_t t = first_[query]; t < first_[query + 1]; ++t) {
            const auto task = static_cast<std::size_t>(t);
            tasks_[task].query = static_cast<std::uint32_t>(query);
            of_tasks_.sum_norm[task] = q_.rounded_up(static_cast<double>(row.norm) / scale);
            of_tasks_.sum_residue[task] = q_.rounded_up(static_cast<double>(row.residue) / scale);
        }
        // Where thresholds belong to lanes, a query adds its offset to its values, less what its mean adds to every
        // threshold.
        const double slack = slack_of(facts);
        double low = facts.offset - slack, high = facts.offset + slack;
        if (q_.scoring.query_means != nullptr) {
            const ValueThresholds with = q_.scale.thresholds(0, facts.mean), without = q_.scale.thresholds(0, 0);
            low -= with.above - without.above;
            high -= with.below - without.below;
        }
        offsets_[query] = {q_.rounded_down(low), q_.rounded_up(high)};
    }

    void set_threshold(std::size_t t, C score) {
        TaskFacts<C>& task = tasks_[t];
        const QueryFacts& query = facts_[task.query];
        task.score = score;
        if (score != score) return of_tasks_.set_all_below(t);  // nothing is above a NaN
        task.values = q_.scale.thresholds(static_cast<double>(score), query.mean);
        const double slack = slack_of(query), scale = static_cast<double>(value_rows_[task.query].scale);
        float &value_above = of_tasks_.above[t], &value_below = of_tasks_.below[t];
        set_floats({task.values.above - query.offset + slack, task.values.below - query.offset - slack}, value_above,
                   value_below);
        // The roundings of thresholds on sums are a share of this size. None beyond this one is within reach of sums.
        constexpr double most = 0x1p120;
        const double above = std::clamp(static_cast<double>(value_above) / scale, -most, most);
        const double below = std::clamp(static_cast<double>(value_below) / scale, -most, most);
        of_tasks_.sum_above[t] = q_.rounded_up(above + std::abs(above) * 0x1p-20);
        of_tasks_.sum_below[t] = q_.rounded_down(below - std::abs(below) * 0x1p-20);
        if (q_.takes_bytes(*quantised_as_)) set_exact(t, task.values, query.offset);
    }
    // Thresholds on exact sums that start from what belongs to candidates (BoundedPanel::lane_starts).
    void set_exact(std::size_t t, const ValueThresholds& values, double offset) {
        constexpr double most = TaskArrays::kMost;
        const double times = q_.centred_queries ? 2 : 1;
        const double above = std::clamp(times * (values.above - offset), -most, most);
        const double below = std::clamp(times * (values.below - offset), -most, most);
        of_tasks_.exact_above[t] = static_cast<std::int32_t>(std::floor(above));
        of_tasks_.exact_below[t] = static_cast<std::int32_t>(std::ceil(below)) - 1;
        if (q_.centred_queries) {  // of sums that are half as large
            of_tasks_.exact_above[t] >>= 1;
            of_tasks_.exact_below[t] = (of_tasks_.exact_below[t] - 1) >> 1;
        }
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
    std::vector<float> shifted_;       // the one that is being quantised, less the shift
    std::vector<std::uint8_t> bytes_;  // or its bytes

    // Of tasks.
    const C* scores_ = nullptr;  // that thresholds were set from last
    std::vector<TaskFacts<C>> tasks_;
    TaskArrays of_tasks_;
};

}  // namespace truerank
