// The candidates of a panel as bounds take them, and the thresholds of tasks that belong to candidates.
//
// A panel has up to 64 candidates, each in a lane. They are quantised for every cell anew, in blocks as the sums take
// them. Each lane has factors and addends by which a sum becomes the interval that the value of the pair lies in
// (ValueLanes). What else is known of a candidate is for the few pairs that stay open (CandidateFacts).
//
// Where all lanes have one step and no offset, an interval need not be made: sums themselves have thresholds
// (SumPanel). Where both directions of an alignment are counted at once, lanes have tasks, too (LaneTasks).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "engine/bounds/bounded_queries.hpp"
#include "engine/bounds/quantiser.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// Of a lane without a candidate, or without a task.
inline constexpr float kNoCandidate = std::numeric_limits<float>::quiet_NaN();

// What is known of a candidate.
struct CandidateFacts {
    std::int64_t column = 0;
    Extent extent{};       // of its shifted vector
    double norm = 0;       // of the vector, at most
    double offset = 0;     // what a bias or mean adds to the value of every pair
    double squares = 0;    // the sum of squares as kernels take it, for poincare
    bool is_zero = false;  // a zero vector
};

// The tasks that belong to candidates: layers of one for each lane, with their true scores and thresholds on values.
template <class C>
struct LaneTasks {
    std::size_t layers = 0;
    std::int64_t count = 0;
    const C* scores = nullptr;
    std::vector<float> above, below;

    // Unless pairs are counted, none is above.
    void set(LayeredTasks<C>& tasks, const Quantiser<C>& quantiser) {
        layers = tasks.layers();
        count = tasks.tasks();
        scores = tasks.thresholds();
        const bool counts_above = tasks.counts();
        const std::size_t n = layers * quantiser.kernels.lanes;
        for (auto* thresholds : {&above, &below}) thresholds->assign(n, kNoCandidate);
        for (std::size_t i = 0; i < n; ++i) {
            const C score = scores[i];
            if (score != score) continue;  // no task, or one that nothing is above
            const ValueThresholds values = quantiser.scale.thresholds(static_cast<double>(score), 0);
            std::tie(above[i], below[i]) = quantiser.float_thresholds(values);
            if (!counts_above) above[i] = Quantiser<C>::kInfinity;
        }
    }
    LaneThresholds thresholds() const { return {layers, above.data(), below.data()}; }
};

template <class C>
class BoundedPanel {
  public:
    explicit BoundedPanel(const Quantiser<C>& quantiser)
        : q_(quantiser), rows_(q_.scoring.candidates, normalises(q_.scoring.similarity)) {}

    // Quantises the candidates of these columns, kPanelLanes or fewer. Returns whether all of them could be. Where
    // exact sums have thresholds, intervals are made only if lanes have tasks.
    bool load(const std::int64_t* columns, std::int64_t width, const LevelForm& form, double largest_query,
              bool has_lane_tasks) {
        const std::size_t size = q_.size(), lanes = q_.kernels.lanes;
        width_ = static_cast<std::size_t>(width);
        is_exact_ = q_.takes_bytes(form);
        blocks_ = (width_ + lanes - 1) / lanes;
        levels_.assign(blocks_, form, lanes, size);
        rows_.resize(width_);
        if (is_exact_) return load_bytes(columns, form, has_lane_tasks);
        facts_.assign(width_, {});
        clear_values();
        shifted_.resize(width_ * size);
        rows_.load(0, columns, width);
        for (std::size_t j = 0; j < width_; ++j) {
            if (!load_facts(j, columns[j])) return false;
        }
        const float step = common_step(form);
        for (std::size_t j = 0; j < width_; ++j) quantise(j, step, form, largest_query);
        has_sum_thresholds_ = step > 0 && width_ == blocks_ * lanes;
        if (has_sum_thresholds_) set_sum_panel(step);
        return true;
    }

    std::size_t width() const { return width_; }
    std::size_t blocks() const { return blocks_; }
    const CandidateFacts& facts(std::size_t lane) const { return facts_[lane]; }
    // Bytes become numbers where these are asked for.
    const C* row(std::size_t lane) const {
        if (rows_[lane] == nullptr) rows_.load(lane, &facts_[lane].column, 1);
        return rows_[lane];
    }
    bool has_zeros() const {
        return std::any_of(facts_.begin(), facts_.end(), [](const CandidateFacts& facts) { return facts.is_zero; });
    }

    // What kernels take.
    const unsigned char* levels(std::size_t block) const { return levels_[block]; }
    const ValueLanes& value_lanes() const { return values_; }
    // Whether a task has the same thresholds on the sums of all lanes, and what they follow from.
    bool has_sum_thresholds() const { return has_sum_thresholds_; }
    const SumPanel& sum_panel() const { return sum_panel_; }
    // Whether sums are exact: of bytes, which are their own levels.
    bool is_exact() const { return is_exact_; }
    // Whether what sums leave open are ties alone, up to the rounding of a score.
    bool has_exact_sums() const { return is_exact_ && has_sum_thresholds_; }
    // What exact sums start from: what the candidate adds to them. For squared distances sums are half of what they
    // stand for; so is this, rounded down.
    const std::int32_t* lane_starts(std::size_t block) const {
        return is_exact_ ? starts_.data() + block * q_.kernels.lanes : nullptr;
    }
    // What such a sum is worth, but for what the query adds: a product, or less a squared distance.
    double exact_value(std::int32_t sum, std::size_t lane) const {
        return q_.centred_queries ? 2.0 * sum + parities_[lane] : sum;
    }

  private:
    using Kind = typename Quantiser<C>::Kind;
    // Candidates have one step where theirs are, on the average, no finer than this one by more than this factor.
    static constexpr double kCoarser = 2;

    bool has_addends() const { return q_.scoring.bias != nullptr || q_.scoring.candidate_means != nullptr; }
    float* shifted(std::size_t j) { return shifted_.data() + j * q_.size(); }
    // Takes what is known of a candidate before it is quantised; returns whether bounds cover it.
    bool load_facts(std::size_t j, std::int64_t column) {
        const C* const row = rows_[j];
        CandidateFacts& facts = facts_[j];
        set_offset(facts, column);
        facts.extent = q_.kernels.subtract_shift(row, q_.shift.data(), q_.size(), shifted(j));
        if (q_.kind == Kind::squares) facts.squares = q_.squares_of(row);
        if (!q_.is_usable(facts.extent) || !q_.is_usable(facts.offset) || !q_.is_inside(facts.squares)) return false;
        facts.is_zero = q_.is_zero(row);
        return true;
    }
    void set_offset(CandidateFacts& facts, std::int64_t column) const {
        const Scoring<C>& scoring = q_.scoring;
        const double slope = q_.scale.slope();
        facts.column = column;
        if (scoring.bias != nullptr) facts.offset = static_cast<double>(scoring.bias[column]) / slope;
        if (scoring.candidate_means != nullptr) {
            facts.offset -= static_cast<double>(scoring.candidate_means[column]) / slope;
        }
    }
    void clear_values() {
        for (auto* ends : {values_.low, values_.high}) std::fill_n(ends, kPanelLanes, kNoCandidate);
        values_.has_error = q_.kind == Kind::products;
    }
    // Candidates of bytes are their own levels, less the shift.
    bool load_bytes(const std::int64_t* columns, const LevelForm& form, bool has_lane_tasks) {
        const std::size_t lanes = q_.kernels.lanes;
        const std::int32_t shift = q_.byte_shift(), depth = static_cast<std::int32_t>(q_.size());
        rows_.forget();
        q_.take_bytes(q_.scoring.candidates, columns, width_, form, lanes, bytes_, levels_);
        for (auto* array : {&starts_, &parities_}) array->assign(blocks_ * lanes, 0);
        facts_.resize(width_);
        for (std::size_t j = 0; j < width_; ++j) {
            const ByteLevels& made = bytes_.levels[j];
            facts_[j].column = columns[j];
            starts_[j] = q_.centred_queries ? -made.squares >> 1 : shift * made.levels;
            parities_[j] = q_.centred_queries ? made.squares % 2 : 0;
        }
        has_sum_thresholds_ = width_ == blocks_ * lanes && !has_addends();
        if (has_sum_thresholds_ && !has_lane_tasks) return true;
        clear_values();
        for (std::size_t j = 0; j < width_; ++j) {
            const ByteLevels& made = bytes_.levels[j];
            CandidateFacts& facts = facts_[j] = {};
            set_offset(facts, columns[j]);
            if (!q_.is_usable(facts.offset)) return false;
            const std::int32_t unshifted_squares = made.squares + 2 * shift * made.levels + shift * shift * depth;
            facts.is_zero = unshifted_squares == 0;
            const Quantised quantised = q_.quantised(made);
            facts.norm = quantised.norm + q_.byte_shift_norm();
            const double offset = facts.offset + parities_[j] / 2.0;
            set_values(j, quantised, offset, std::abs(starts_[j]) * 0x1p-20, 0);
        }
        return true;
    }
    // One step for all candidates that have no offsets; 0 where there is none, or where it would be too coarse for
    // most.
    float common_step(const LevelForm& form) const {
        if (has_addends()) return 0;
        if (q_.kind == Kind::distances) return q_.distance_grid.step;
        if (q_.kind != Kind::products || q_.centred_queries) return 0;
        double sum = 0;
        float most = 0;
        for (const CandidateFacts& facts : facts_) {
            const float step = q_.step_of(facts.extent.largest, static_cast<float>(form.greatest));
            sum += static_cast<double>(step);
            most = std::max(most, step);
        }
        return static_cast<double>(most) * static_cast<double>(width_) <= kCoarser * sum ? most : 0;
    }
    void quantise(std::size_t j, float step, const LevelForm& form, double largest_query) {
        CandidateFacts& facts = facts_[j];
        LevelGrid grid = q_.distance_grid;
        if (q_.kind == Kind::products) {
            const auto greatest = static_cast<float>(form.greatest);
            grid = q_.product_grid(step > 0 ? step : q_.step_of(facts.extent.largest, greatest), greatest);
        }
        const Quantised made = q_.quantise(shifted(j), facts.extent, grid, levels_, j);
        facts.norm = made.norm + q_.shift_norm;
        if (form.has_float_sums()) return set_values_of_floats(j, made.norm, form.error, largest_query);
        double offset = facts.offset, error = 0;
        if (q_.kind == Kind::products && q_.centred_queries) {
            offset -= static_cast<double>(made.extent.squares) / 2;
            error = static_cast<double>(made.extent.squares) * q_.squares_error();
        }
        set_values(j, made, offset, error, q_.division_error(form));
    }
    // How the values of a candidate follow from sums of floats (docs/contributing/bounds.md, "Sums of floats").
    void set_values_of_floats(std::size_t lane, double norm, double term_error, double largest_query) {
        const double roundings = (q_.depth() + 40) * 0x1p-24, share = 2 * term_error + 2 * roundings;
        const double scale = q_.kind == Kind::squares ? 1 / (1 - facts_[lane].squares) : 1;
        const double underflow = q_.depth() * 0x1p-55 * scale;
        const double conversion = sizeof(C) == 8 ? std::sqrt(q_.depth()) * 0x1p-22 * (largest_query + norm) : 0;
        values_.low_scale[lane] = q_.rounded_down(-scale * (1 + share));
        values_.low[lane] = q_.rounded_down(-(underflow + conversion));
        values_.high_scale[lane] = q_.rounded_up(-scale * (1 - share));
        values_.high[lane] = q_.rounded_up(underflow + conversion);
    }
    // How the values of a candidate follow from sums of levels, to which they add an offset that may be wrong. The
    // residue has some steps more where sums are divided.
    void set_values(std::size_t lane, const Quantised& made, double offset, double offset_error, double residue_steps) {
        const auto step = static_cast<double>(made.step);
        double error = offset_error, residue = 0, level_norm = 0;  // the norm of the quantised vector, at most
        if (q_.kind == Kind::distances) {
            error += made.residue + 255 * q_.depth() * step * q_.kFloatError;
        } else {
            level_norm = made.norm + made.residue;
            residue = made.residue + (q_.kFloatError * level_norm + residue_steps * step);
            if (q_.scale.is_product()) residue += q_.scale.gamma() * facts_[lane].norm;
        }
        error = error * q_.kUp + std::abs(offset) * 0x1p-20;
        values_.low_scale[lane] = values_.high_scale[lane] = made.step;
        values_.low[lane] = q_.rounded_down(offset - error);
        values_.high[lane] = q_.rounded_up(offset + error);
        values_.residue[lane] = q_.rounded_up(residue * q_.kUp);
        values_.norm[lane] = q_.rounded_up(level_norm * q_.kUp);
    }
    // What thresholds on sums follow from: the one step of all candidates, and the largest errors of the lanes.
    void set_sum_panel(float step) {
        const bool is_products = q_.kind == Kind::products;
        const float* const residues = is_products ? values_.residue : values_.high;
        sum_panel_ = {1 / step, 0, 0};
        for (std::size_t j = 0; j < width_; ++j) {
            sum_panel_.residue = std::max(sum_panel_.residue, residues[j]);
            if (is_products) sum_panel_.norm = std::max(sum_panel_.norm, values_.norm[j]);
        }
    }

    const Quantiser<C>& q_;
    std::size_t width_ = 0, blocks_ = 0;

    // Of candidates.
    mutable KeptVectors<C> rows_;
    std::vector<float> shifted_;  // all of them, less the shift
    std::vector<CandidateFacts> facts_;
    LevelGroups levels_;  // of blocks
    ValueLanes values_{};
    bool is_exact_ = false;
    // Of lanes, where sums are exact: what they start from, and what is lost where that is rounded down.
    std::vector<std::int32_t> starts_, parities_;
    TakenBytes bytes_;

    bool has_sum_thresholds_ = false;
    SumPanel sum_panel_{};
};

}  // namespace truerank
