// The candidates of a panel as bounds take them: their levels, and how values follow from sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/bounded_queries.hpp"
#include "engine/quantisation.hpp"
#include "kernels/decisions.hpp"

namespace truerank {

// How the values of a candidate follow from sums of levels: a lane of ValueLanes.
struct ValueLane {
    float step, low, high, residue, norm;
};

template <class C>
class BoundedPanel {
  public:
    explicit BoundedPanel(const Quantiser<C>& quantiser) : q_(quantiser) {}

    // Quantises the candidates of these columns, kPanelLanes or fewer. Returns whether all of them could be.
    bool load(const std::int64_t* columns, std::int64_t width, const LevelForm& form, double largest_query) {
        const std::size_t size = q_.size(), lanes = q_.kernels.lanes;
        const bool in_place = q_.candidates.in_place(q_.normalised());
        columns_ = columns;
        width_ = static_cast<std::size_t>(width);
        blocks_ = (width_ + lanes - 1) / lanes;
        block_bytes_ = form.size(size, lanes);
        levels_.assign(blocks_ * block_bytes_);
        word_row_bytes_ = q_.has_second_levels(form) ? q_.word_row_bytes() : 0;
        words_.assign(width_ * word_row_bytes_);
        word_lanes_.resize(width_);
        shifted_.resize(width_ * size);
        owned_rows_.resize(in_place ? 1 : width_ * size);
        rows_.resize(width_);
        extents_.resize(width_);
        is_zero_.assign(width_, 0);
        has_zeros_ = false;
        for (auto* buffer : {&norms_, &offsets_, &squares_}) buffer->assign(width_, 0);
        for (auto* buffer : {&low_scale_, &low_, &high_scale_, &high_, &residues_, &quantised_norms_}) {
            buffer->assign(blocks_ * lanes, kNoCandidate);
        }
        for (std::size_t j = 0; j < width_; ++j) {
            const C* const row = rows_[j] =
                q_.candidates.row(columns[j], q_.normalised(), owned_rows_.data() + (in_place ? 0 : j * size));
            extents_[j] = q_.kernels.shift(row, q_.quantisation.shift.data(), size, shifted_.data() + j * size);
            if (!q_.is_usable(extents_[j]) || !load_addends(j, row)) return false;
            if (q_.is_zero(row)) is_zero_[j] = has_zeros_ = true;
        }
        const float step = common_step(form);
        for (std::size_t j = 0; j < width_; ++j) quantise(j, step, form, largest_query);
        sum_panel_ = {1 / step, 0, 0};
        for (std::size_t j = 0; j < width_; ++j) {
            const bool products = q_.quantisation.kind == Kind::products;
            sum_panel_.residue = std::max(sum_panel_.residue, products ? residues_[j] : high_[j]);
            sum_panel_.norm = std::max(sum_panel_.norm, products ? quantised_norms_[j] : 0.0F);
        }
        has_sum_thresholds_ = step > 0 && width_ == blocks_ * lanes;
        return true;
    }
    // Sets the thresholds of the tasks of the lanes. Where a sink does not count, no pair is above.
    template <bool Counts, class Lanes>
    void set_thresholds(const Lanes& lanes) {
        layers_ = lanes.layers();
        tasks_ = lanes.tasks();
        scores_ = lanes.thresholds();
        const std::size_t n = layers_ * q_.kernels.lanes;
        for (auto* thresholds : {&above_, &below_}) thresholds->assign(n, kNoCandidate);
        for (std::size_t i = 0; i < n; ++i) {
            if (scores_[i] != scores_[i]) continue;  // no task, or one that nothing is above
            BoundedQueries<C>::set_floats(q_.scale.thresholds(static_cast<double>(scores_[i]), 0), above_[i],
                                          below_[i]);
            if constexpr (!Counts) above_[i] = Quantiser<C>::kInfinity;
        }
    }

    // The second levels of a candidate, and how its values follow from their sums.
    const unsigned char* words(std::size_t lane) const { return words_.data() + lane * word_row_bytes_; }
    const ValueLane& word_lane(std::size_t lane) const { return word_lanes_[lane]; }

    std::int64_t column(std::size_t lane) const { return columns_[lane]; }
    const C* row(std::size_t lane) const { return rows_[lane]; }
    double norm(std::size_t lane) const { return norms_[lane]; }
    double offset(std::size_t lane) const { return offsets_[lane]; }
    double squares(std::size_t lane) const { return squares_[lane]; }
    // Whether a candidate is a zero vector, and whether any is.
    bool is_zero(std::size_t lane) const { return is_zero_[lane] != 0; }
    bool has_zeros() const { return has_zeros_; }
    std::size_t width() const { return width_; }
    std::size_t blocks() const { return blocks_; }
    const unsigned char* levels(std::size_t block) { return levels_.data() + block * block_bytes_; }
    ValueLanes value_lanes() const {
        ValueLanes lanes{low_scale_.data(), low_.data(), high_scale_.data(), high_.data()};
        if (q_.quantisation.kind == Kind::products) {
            lanes.residue = residues_.data();
            lanes.norm = quantised_norms_.data();
        }
        return lanes;
    }
    // Whether a task has the same thresholds on the sums of all lanes, and what they follow from.
    bool has_sum_thresholds() const { return has_sum_thresholds_; }
    const SumPanel& sum_panel() const { return sum_panel_; }

    std::size_t layers() const { return layers_; }
    std::int64_t tasks() const { return tasks_; }
    C score(std::size_t slot) const { return scores_[slot]; }
    LaneThresholds thresholds() const { return {layers_, above_.data(), below_.data()}; }

  private:
    using Kind = typename Quantiser<C>::Kind;
    static constexpr float kNoCandidate = std::numeric_limits<float>::quiet_NaN();
    // Candidates have one step where theirs are, on the average, no finer than this one by more than this factor.
    static constexpr double kCoarser = 2;

    // Takes what is known of a candidate beside its components; returns whether bounds cover it.
    bool load_addends(std::size_t j, const C* row) {
        const double slope = q_.scale.slope();
        if (q_.bias != nullptr) offsets_[j] = static_cast<double>(q_.bias[columns_[j]]) / slope;
        if (q_.candidate_means != nullptr) {
            offsets_[j] -= static_cast<double>(q_.candidate_means[columns_[j]]) / slope;
        }
        if (q_.quantisation.kind == Kind::squares) squares_[j] = q_.squares_of(row);
        return q_.is_usable(offsets_[j]) && q_.is_inside(squares_[j]);
    }
    // One step for all candidates that have no offsets; 0 where there is none, or where it would be too coarse for
    // most.
    float common_step(const LevelForm& form) const {
        const Quantisation<C>& quantisation = q_.quantisation;
        if (q_.bias != nullptr || q_.candidate_means != nullptr) return 0;
        if (quantisation.kind == Kind::distances) return quantisation.distance_grid.step;
        if (quantisation.kind != Kind::products || quantisation.centred_queries) return 0;
        double sum = 0;
        float most = 0;
        for (const Extent& extent : extents_) {
            const float step = quantisation.grid_of(extent.largest, quantisation.grid(form.greatest)).step;
            sum += static_cast<double>(step);
            most = std::max(most, step);
        }
        return static_cast<double>(most) * static_cast<double>(width_) <= kCoarser * sum ? most : 0;
    }
    void quantise(std::size_t j, float step, const LevelForm& form, double largest_query) {
        const std::size_t lanes = q_.kernels.lanes;
        const Quantisation<C>& quantisation = q_.quantisation;
        LevelGrid grid = quantisation.grid(form.greatest);
        if (quantisation.kind == Kind::products) {
            grid = step > 0 ? quantisation.with_step(step, grid) : quantisation.grid_of(extents_[j].largest, grid);
        }
        const Quantised made = q_.quantise(shifted_.data() + j * q_.size(), extents_[j], grid, form, form.zero,
                                           form.place(j % lanes), lanes, levels_.data() + j / lanes * block_bytes_);
        norms_[j] = made.norm + quantisation.shift_norm;
        if (form.has_float_sums()) {
            set_float_lane(j, made.norm, form.error, largest_query);
        } else {
            const ValueLane lane = lane_of(j, made);
            low_scale_[j] = high_scale_[j] = lane.step;
            low_[j] = lane.low;
            high_[j] = lane.high;
            residues_[j] = lane.residue;
            quantised_norms_[j] = lane.norm;
        }
        if (word_row_bytes_ == 0) return;
        word_lanes_[j] = lane_of(
            j, q_.quantise_words(shifted_.data() + j * q_.size(), extents_[j], words_.data() + j * word_row_bytes_));
    }
    // Sets how the values of a candidate follow from sums of floats. They are wrong by the roughness of the terms, by
    // roundings, and by that of doubles to floats.
    void set_float_lane(std::size_t j, double norm, double roughness, double largest_query) {
        const double share = 2 * roughness + (q_.depth() + 40) * 0x1p-23;
        const double weight = q_.quantisation.kind == Kind::squares ? 1 / (1 - squares_[j]) : 1;
        double error = q_.depth() * 0x1p-55 * weight;
        if (sizeof(C) == 8) error += std::sqrt(q_.depth()) * 0x1p-22 * (largest_query + norm);
        low_scale_[j] = q_.rounded_down(-weight * (1 + share));
        high_scale_[j] = q_.rounded_up(-weight * (1 - share));
        low_[j] = q_.rounded_down(-error);
        high_[j] = q_.rounded_up(error);
    }
    // How the values of a candidate follow from sums of levels.
    ValueLane lane_of(std::size_t j, const Quantised& made) const {
        double offset = offsets_[j], error = 0, levels = 0, residue = made.residue;
        if (q_.quantisation.kind == Kind::distances) {
            error = residue + 255 * q_.depth() * static_cast<double>(made.step) * q_.kFloatError;
            residue = 0;
        } else {
            levels = made.norm + residue;  // the norm of the quantised vector, at most
            residue += q_.kFloatError * levels;
            if (q_.scale.is_product()) residue += q_.scale.gamma() * norms_[j];
            if (q_.quantisation.centred_queries) {
                offset -= static_cast<double>(made.extent.squares) / 2;
                error = static_cast<double>(made.extent.squares) * q_.squares_error();
            }
        }
        error = error * q_.kUp + std::abs(offset) * 0x1p-20;
        return {made.step, q_.rounded_down(offset - error), q_.rounded_up(offset + error),
                q_.rounded_up(residue * q_.kUp), q_.rounded_up(levels * q_.kUp)};
    }

    const Quantiser<C>& q_;
    const std::int64_t* columns_ = nullptr;
    std::size_t width_ = 0, blocks_ = 0, block_bytes_ = 0;
    LineBuffer levels_, words_;
    std::size_t word_row_bytes_ = 0;
    std::vector<ValueLane> word_lanes_;
    std::vector<const C*> rows_;
    std::vector<C> owned_rows_;
    std::vector<float> shifted_;
    std::vector<Extent> extents_;
    std::vector<char> is_zero_;
    bool has_zeros_ = false;
    std::vector<double> norms_, offsets_, squares_;
    std::vector<float> low_scale_, low_, high_scale_, high_, residues_, quantised_norms_;
    bool has_sum_thresholds_ = false;
    SumPanel sum_panel_{};

    // The tasks of the lanes.
    std::size_t layers_ = 0;
    std::int64_t tasks_ = 0;
    const C* scores_ = nullptr;
    std::vector<float> above_, below_;
};

}  // namespace truerank
