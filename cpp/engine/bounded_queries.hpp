// The queries of a cell as bounds take them: their levels, and what their tasks compare values with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/quantisation.hpp"
#include "engine/value_scale.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// Bytes from the start of a cache line on: of a vector that lies across two, both are read.
class LineBuffer {
  public:
    void assign(std::size_t bytes) { lines_.assign(bytes / sizeof(Line) + 1, Line{}); }
    void resize(std::size_t bytes) { lines_.resize(bytes / sizeof(Line) + 1); }
    unsigned char* data() { return lines_.front().bytes; }
    const unsigned char* data() const { return lines_.front().bytes; }

  private:
    struct alignas(64) Line {
        unsigned char bytes[64];
    };
    std::vector<Line> lines_;
};

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
    double norm = 0;
    std::uint32_t query = 0;
    C score = std::numeric_limits<C>::quiet_NaN();
};

template <class C>
class BoundedQueries {
  public:
    explicit BoundedQueries(const Quantiser<C>& quantiser) : q_(quantiser) {}

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
        step_ = step;
        scores_ = nullptr;
        const auto n = static_cast<std::size_t>(count_), size = q_.size();
        tile_bytes_ = form.size(size, kTileQueries);
        levels_.assign(static_cast<std::size_t>(tiles()) * tile_bytes_);
        rows_.resize(n);
        owned_rows_.resize(q_.queries.in_place(q_.normalised()) ? 1 : n * size);
        shifted_.resize(size);
        facts_.assign(n, {});
        tasks_.assign(static_cast<std::size_t>(first_[n]), {});
        for (auto* array : {&above_, &below_, &sum_above_, &sum_below_, &sum_norm_, &sum_residue_}) {
            array->assign(tasks_.size() + kVectorRoom, 0);
        }
        word_row_bytes_ = q_.has_second_levels(form) ? q_.word_row_bytes() : 0;
        words_.assign(n * word_row_bytes_);
        word_rows_.resize(n);
        starts_.assign(static_cast<std::size_t>(tiles()) * kTileQueries, 0);
        value_rows_.assign(n, {1, 1, 0});
        offsets_.resize(n);
        largest_norm_ = 0;
        usable_ = true;
        for (std::int64_t i = 0; i < count_ && usable_; ++i) {
            if (is_taken(i)) usable_ = quantise(ids_[i], i, form);
        }
        return usable_;
    }
    // Sets the thresholds on values from those on scores. Where a sink does not count, no pair is above.
    template <bool Counts>
    void set_thresholds(const C* scores) {
        if (Counts && scores == scores_) return;  // true scores are what they were
        scores_ = scores;
        for (std::int64_t i = 0; i < count_; ++i) {
            if (!is_taken(i)) continue;
            for (std::int64_t at = first_[i]; at < first_[i + 1]; ++at) {
                const auto t = static_cast<std::size_t>(at);
                if (tasks_[t].score == scores[t]) continue;
                set_threshold(t, scores[t]);
                if constexpr (!Counts) above_[t] = sum_above_[t] = Quantiser<C>::kInfinity;
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
    std::int64_t tiles() const { return (count_ + kTileRows - 1) / kTileRows; }
    std::int64_t rows_of(std::int64_t tile) const { return std::min(kTileRows, count_ - tile * kTileRows); }
    // The first task of each query.
    const std::int64_t* first() const { return first_; }
    const std::vector<TaskFacts<C>>& tasks() const { return tasks_; }
    const QueryFacts& facts(std::size_t query) const { return facts_[query]; }
    const C* row(std::size_t query) const { return rows_[query]; }
    double largest_norm() const { return largest_norm_; }

    // What kernels take, of a tile, of its rows, and of all tasks.
    const unsigned char* levels(std::int64_t tile) {
        return levels_.data() + static_cast<std::size_t>(tile) * tile_bytes_;
    }
    const std::int32_t* starts() const { return starts_.data(); }
    const ValueRow* value_rows() const { return value_rows_.data(); }
    const RowOffset* offsets() const { return offsets_.data(); }
    const float* above() const { return above_.data(); }
    const float* below() const { return below_.data(); }
    // The second levels of a query, and how its values follow from their sums.
    const unsigned char* words(std::size_t query) const { return words_.data() + query * word_row_bytes_; }
    const ValueRow& word_row(std::size_t query) const { return word_rows_[query]; }
    bool has_words() const { return word_row_bytes_ > 0; }
    std::size_t word_row_bytes() const { return word_row_bytes_; }
    SumTasks sum_tasks() const { return {sum_above_.data(), sum_below_.data(), sum_norm_.data(), sum_residue_.data()}; }

    static constexpr auto kTileRows = static_cast<std::int64_t>(kTileQueries);
    static constexpr std::size_t kVectorRoom = 16;  // numbers of a whole vector after the last one

  private:
    using Kind = typename Quantiser<C>::Kind;

    // Whether a query is among those that were quantised last.
    bool is_taken(std::int64_t i) const { return i / kTileRows % step_ == 0; }
    bool quantise(std::int64_t id, std::int64_t i, const LevelForm& form) {
        const auto at = static_cast<std::size_t>(i);
        const std::size_t size = q_.size();
        const Quantisation<C>& quantisation = q_.quantisation;
        const bool centred = quantisation.centred_queries;
        const C* const row = rows_[at] = q_.queries.row(
            id, q_.normalised(), owned_rows_.data() + (q_.queries.in_place(q_.normalised()) ? 0 : at * size));
        QueryFacts& facts = facts_[at];
        ValueRow& value_row = value_rows_[at];
        const Extent whole = q_.kernels.shift(row, quantisation.zeros.data(), size, shifted_.data());
        const Extent extent = centred ? q_.kernels.shift(row, quantisation.shift.data(), size, shifted_.data()) : whole;
        if (q_.query_means != nullptr) facts.mean = static_cast<double>(q_.query_means[id]);
        if (!q_.is_usable(whole) || !q_.is_usable(extent) || !q_.is_usable(facts.mean)) return false;
        facts.norm = q_.norm_of(whole);
        LevelGrid grid = quantisation.grid(form.query_greatest);
        switch (quantisation.kind) {
            case Kind::products:
                grid = quantisation.grid_of(extent.largest, grid);
                if (form.query_in_word != 0) grid = quantisation.with_step(std::max(grid.step, word_step(form)), grid);
                if (centred) facts.offset = -static_cast<double>(extent.squares) / 2;
                for (std::size_t k = 0; k < size && !centred; ++k) {
                    facts.offset += static_cast<double>(row[k]) * static_cast<double>(quantisation.shift[k]);
                }
                value_row.scale = grid.step;
                break;
            case Kind::distances: {
                // The query is clamped to the box: what is outside is as far from all candidates in the box.
                const float edge = grid.step * grid.greatest;
                for (float& x : shifted_) {
                    const float inside = std::clamp(x, 0.0F, edge);
                    facts.offset -= std::abs(static_cast<double>(x) - static_cast<double>(inside));
                    x = inside;
                }
                break;
            }
            case Kind::moduli:
                break;
            case Kind::squares:
                facts.squares = q_.squares_of(row);
                if (!q_.is_inside(facts.squares)) return false;
                value_row.scale = static_cast<float>(2 / (1 - facts.squares));
                break;
        }
        const std::int64_t tile = i / kTileRows;
        const Quantised made =
            q_.quantise(shifted_.data(), extent, grid, form, 0, static_cast<std::size_t>(i % kTileRows), kTileQueries,
                        levels_.data() + static_cast<std::size_t>(tile) * tile_bytes_);
        facts.residue = made.residue;
        starts_[at] = -made.levels * form.zero;
        largest_norm_ = std::max(largest_norm_, facts.norm);
        if (quantisation.kind == Kind::products) {
            value_row.norm = q_.rounded_up(centred ? made.norm : facts.norm);
            value_row.residue = q_.rounded_up(facts.residue);
        }
        if (has_words()) {
            const Quantised finer = q_.quantise_words(shifted_.data(), extent, words_.data() + at * word_row_bytes_);
            word_rows_[at] = {finer.step, value_row.norm, q_.rounded_up(finer.residue)};
        }
        offsets_[at] = offset_of(facts);
        const auto scale = static_cast<double>(value_row.scale);
        for (std::int64_t t = first_[i]; t < first_[i + 1]; ++t) {
            const auto task = static_cast<std::size_t>(t);
            tasks_[task].query = static_cast<std::uint32_t>(i);
            tasks_[task].norm = facts.norm;
            sum_norm_[task] = q_.rounded_up(static_cast<double>(value_row.norm) / scale);
            sum_residue_[task] = q_.rounded_up(static_cast<double>(value_row.residue) / scale);
        }
        return true;
    }

    // The finest step with which words hold what is added up in them: of each group, one half of its components. Half a
    // level each is rounding, and one level is to spare.
    float word_step(const LevelForm& form) const {
        const std::size_t size = q_.size(), half = form.group / 2, at_once = form.group * form.groups_at_once;
        float largest = 0;
        for (std::size_t first = 0; first < size; first += at_once) {
            float sums[2][2] = {};  // by half and sign
            for (std::size_t k = first; k < std::min(first + at_once, size); ++k) {
                sums[k / half % 2][shifted_[k] < 0] += std::abs(shifted_[k]);
            }
            largest = std::max({largest, sums[0][0], sums[0][1], sums[1][0], sums[1][1]});
        }
        return largest / (static_cast<float>(form.query_in_word) - static_cast<float>(at_once) / 4 - 1);
    }

    void set_threshold(std::size_t t, C score) {
        TaskFacts<C>& task = tasks_[t];
        const QueryFacts& query = facts_[task.query];
        task.score = score;
        if (score != score) {  // nothing is above a NaN
            above_[t] = below_[t] = sum_above_[t] = sum_below_[t] = Quantiser<C>::kInfinity;
            return;
        }
        task.values = q_.scale.thresholds(static_cast<double>(score), query.mean);
        const double slack = slack_of(query), scale = static_cast<double>(value_rows_[task.query].scale);
        set_floats({task.values.above - query.offset + slack, task.values.below - query.offset - slack}, above_[t],
                   below_[t]);
        // The roundings of thresholds on sums are a share of this size. None beyond this one is within reach of sums.
        constexpr double most = 0x1p120;
        const double above = std::clamp(static_cast<double>(above_[t]) / scale, -most, most);
        const double below = std::clamp(static_cast<double>(below_[t]) / scale, -most, most);
        sum_above_[t] = q_.rounded_up(above + std::abs(above) * 0x1p-20);
        sum_below_[t] = q_.rounded_down(below - std::abs(below) * 0x1p-20);
    }
    // What rounding does to the offset, and what quantisation does to a distance, whatever the candidate.
    double slack_of(const QueryFacts& query) const {
        const double slack =
            std::abs(query.offset) * (q_.squares_error() + 0x1p-40) + query.norm * q_.quantisation.shift_norm * 0x1p-30;
        return q_.quantisation.kind == Kind::distances ? slack + query.residue : slack;
    }
    // What a query adds to its values, where thresholds belong to lanes: its offset, less what its mean adds to every
    // threshold.
    RowOffset offset_of(const QueryFacts& query) const {
        const double slack = slack_of(query);
        double low = query.offset - slack, high = query.offset + slack;
        if (q_.query_means != nullptr) {
            const ValueThresholds with = q_.scale.thresholds(0, query.mean), without = q_.scale.thresholds(0, 0);
            low -= with.above - without.above;
            high -= with.below - without.below;
        }
        return {q_.rounded_down(low), q_.rounded_up(high)};
    }

    const Quantiser<C>& q_;
    const std::int64_t *ids_ = nullptr, *first_ = nullptr;
    std::int64_t count_ = 0;
    const LevelForm* quantised_as_ = nullptr;
    std::int64_t step_ = 1;      // of the tiles that are
    const C* scores_ = nullptr;  // that thresholds were set from last
    bool usable_ = false;
    std::size_t tile_bytes_ = 0;
    LineBuffer levels_, words_;
    std::size_t word_row_bytes_ = 0;
    std::vector<ValueRow> word_rows_;
    std::vector<const C*> rows_;
    std::vector<C> owned_rows_;
    std::vector<QueryFacts> facts_;
    double largest_norm_ = 0;
    std::vector<ValueRow> value_rows_;
    std::vector<RowOffset> offsets_;
    std::vector<std::int32_t> starts_;
    std::vector<TaskFacts<C>> tasks_;
    std::vector<float> above_, below_, sum_above_, sum_below_, sum_norm_, sum_residue_;  // of tasks
    std::vector<float> shifted_;
};

}  // namespace truerank
