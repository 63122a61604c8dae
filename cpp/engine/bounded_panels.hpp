// Certified bounds: which pairs of queries and candidates are above or below a threshold, told from sums in small
// integers. docs/bounds.md has the proofs, in the terms of this file.
//
// The value of a pair is the real number that its sum stands for, higher for a higher score: q . e for products, the
// negative of |q - e|_1 for l1, of |q - e|^2 / 2 for distances of the second order, of the sum of the moduli for
// complex_l1, and of y for poincare, where the distance is arcosh(1 + y). A threshold on scores becomes two on values,
// with all that the rounding of a score can do between them: a value above the one certainly has a score above the
// threshold, and one below the other a score below it.
//
// First, vectors are quantised. The sum over their levels, an integer, differs from the value by no more than a bound
// of the residues: it gives an interval in which the value is, and nearly all of these have no threshold in them. For
// complex_l1 and poincare floats take the place of levels: the roots of the one are rough, and the logarithm of the
// other is left out. Then, for a pair that is open, the value itself is computed, in any order, with a bound on its
// rounding. What is still open is scored as everywhere else.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "engine/bounds.hpp"
#include "engine/embeddings.hpp"
#include "engine/gauge.hpp"
#include "engine/quantisation.hpp"
#include "engine/value_scale.hpp"
#include "engine/vectors.hpp"
#include "kernels/bounds.hpp"
#include "kernels/simd.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// Bytes from the start of a cache line on: of a vector that lies across two, both are read.
class LineBuffer {
  public:
    void assign(std::size_t bytes) { lines_.assign(bytes / sizeof(Line) + 1, Line{}); }
    void resize(std::size_t bytes) { lines_.resize(bytes / sizeof(Line) + 1); }
    unsigned char* data() { return lines_.front().bytes; }

  private:
    struct alignas(64) Line {
        unsigned char bytes[64];
    };
    std::vector<Line> lines_;
};

// A sink that can do without the scores of most pairs: it says what they are compared with, and takes what bounds tell.
template <class Sink>
concept TakesBounds = requires(Sink& sink) { sink.thresholds(); };
// One that also has tasks of the candidates, in layers of one task for each lane, and says the same of these.
template <class Sink>
concept TakesLanes = requires(Sink& sink) { sink.lanes().thresholds(); };

// The bounds of one thread, for the queries of a cell and one panel after the other.
template <class C>
class BoundedPanels {
  public:
    BoundedPanels(const Quantisation<C>& quantisation, const Embeddings& embeddings, const Vectors<C>& queries,
                  const Vectors<C>& candidates, const SimilarityKernels<C>& kernels)
        : quantisation_(quantisation),
          similarity_(embeddings.similarity),
          bias_(static_cast<const C*>(embeddings.bias)),
          query_means_(static_cast<const C*>(embeddings.query_means)),
          candidate_means_(static_cast<const C*>(embeddings.entity_means)),
          queries_(queries),
          candidates_(candidates),
          scoring_(kernels),
          scale_(embeddings.similarity, queries.depth(), query_means_ != nullptr, largest(bias_, candidates.count()),
                 largest(candidate_means_, candidates.count())) {}

    // Takes the queries of a cell; the tasks of query i are those from first[i] to first[i + 1].
    void load_queries(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& first) {
        ids_ = rows.data();
        first_ = first.data();
        count_ = static_cast<std::int64_t>(rows.size());
        quantised_ = false;
        usable_ = forced_ || count_ >= kFewQueries;
    }
    // Takes the time in which a panel was scored.
    void record_scored(Gauge::Clock::duration time, std::int64_t width) { gauge_.record_scored(time, count_ * width); }

    // Decides the pairs of a panel by bounds, unless they do not cover it or would not gain: then it does nothing, and
    // returns false.
    template <class Sink>
    bool run(const std::int64_t* columns, std::int64_t width, Sink& sink, BoundsTally& tally) {
        if (!usable_ || !(forced_ || gauge_.tries_bounds())) return false;
        const C* const thresholds = sink.thresholds();
        if (thresholds == nullptr) return false;
        if constexpr (TakesLanes<Sink>) {
            if (sink.lanes().layers() > 0 && sink.lanes().thresholds() == nullptr) return false;
        }
        if (!quantise_queries()) return false;
        set_thresholds<Sink::kCounts>(thresholds);  // as a rule once for a cell, and not a cost of this panel
        const auto start = Gauge::Clock::now();
        if (!load_candidates(columns, width)) return false;
        if constexpr (TakesLanes<Sink>) set_lane_thresholds<Sink::kCounts>(sink.lanes());
        if (!forced_ && gauge_.is_trial() && !promises<Sink>(width)) {
            gauge_.lost();
            return false;
        }
        RowSide<Sink> rows{*this, sink};
        for (std::int64_t tile = 0; tile < tiles(); ++tile) {
            const std::int64_t n = decide_tile(tile);
            sink.take_masks(masks_.data(), tile * kTileRows, n);
            tally.open += collect(tile, n, sink.counters());
            if (open_.count >= kOpenAtOnce) settle(open_, rows, tally);
            if constexpr (TakesLanes<Sink>) {
                decide_lanes(tile, n, sink.lanes().counters());
                tally.open += collect_lanes(tile, n);
                if (lane_open_.count >= kOpenAtOnce) settle_lanes<Sink>(sink, tally);
            }
        }
        settle(open_, rows, tally);
        if constexpr (TakesLanes<Sink>) settle_lanes<Sink>(sink, tally);
        tally.bounded += static_cast<std::int64_t>(tasks_.size()) * width + lane_tasks_ * count_;
        gauge_.record_bounded(Gauge::Clock::now() - start, count_ * width);
        return true;
    }

  private:
    using Kind = typename Quantisation<C>::Kind;
    static constexpr auto kTileRows = static_cast<std::int64_t>(kTileQueries);
    static constexpr std::size_t kOpenAtOnce = 1 << 12;
    // For fewer queries it takes longer to quantise a candidate than to score it.
    static constexpr std::int64_t kFewQueries = 24;
    // Norms in floats, rounded up; what shifting, rounding to levels and arithmetic in floats may add to a residue, of
    // the norm; and the least norm, so that nothing is lost to underflow.
    static constexpr double kUp = 1.001, kFloatError = 0x1p-19, kLeastNorm = 0x1p-60;
    static constexpr float kInfinity = std::numeric_limits<float>::infinity();
    static constexpr float kNoCandidate = std::numeric_limits<float>::quiet_NaN();

    // What is known of a query. Norms are upper bounds.
    struct QueryFacts {
        double norm = 0;     // of the vector
        double shifted = 0;  // of the shifted vector
        double residue = 0;  // of what quantisation leaves over; for distances, the sum of its magnitudes
        double offset = 0;   // what is added to the value of every pair
        double mean = 0;     // that CSLS subtracts
        double squares = 0;  // the sum of squares as kernels take it, for poincare
    };
    // What is known of a task, to settle its open pairs.
    struct TaskFacts {
        ValueThresholds values{};
        double norm = 0;
        std::uint32_t query = 0;
        C score = std::numeric_limits<C>::quiet_NaN();
    };

    // Open pairs, and how many they are: room for more is kept.
    struct OpenPairs {
        std::vector<OpenPair> list;
        std::size_t count = 0;
        OpenPair* room(std::size_t more) {
            if (list.size() < count + more + kOpenRoom) list.resize(count + more + kOpenRoom);
            return list.data() + count;
        }
    };
    // What settle() asks about an open pair, and to whom it tells what came out: about a task of its query,
    template <class Sink>
    struct RowSide {
        static constexpr bool kCounts = Sink::kCounts;
        const BoundedPanels& panels;
        Sink& sink;
        std::size_t query(OpenPair pair) const { return panels.tasks_[pair.task].query; }
        double norm(OpenPair pair) const { return panels.tasks_[pair.task].norm; }
        const ValueThresholds& values(OpenPair pair) const { return panels.tasks_[pair.task].values; }
        void take_decision(OpenPair pair, bool above) { sink.take_decision(pair.task, above); }
        void take_score(OpenPair pair, C score) { sink.take_score(pair.task, pair.lane, score); }
    };
    // and about one of its lane, whose pairs are numbered layer by layer for each query.
    template <class Sink>
    struct LaneSide {
        static constexpr bool kCounts = Sink::kCounts;
        const BoundedPanels& panels;
        Sink& sink;
        std::size_t query(OpenPair pair) const { return pair.task / panels.layers_; }
        double norm(OpenPair pair) const { return panels.facts_[query(pair)].norm; }
        ValueThresholds values(OpenPair pair) const {
            return panels.scale_.thresholds(static_cast<double>(panels.lane_scores_[slot(pair)]),
                                            panels.facts_[query(pair)].mean);
        }
        void take_decision(OpenPair pair, bool above) { sink.lanes().take_decision(slot(pair), above); }
        void take_score(OpenPair pair, C score) { sink.lanes().take_score(slot(pair), score); }

      private:
        std::size_t slot(OpenPair pair) const { return pair.task % panels.layers_ * panels.kernels_.lanes + pair.lane; }
    };

    std::size_t size() const { return static_cast<std::size_t>(queries_.depth()); }
    double depth() const { return static_cast<double>(queries_.depth()); }
    std::int64_t tiles() const { return (count_ + kTileRows - 1) / kTileRows; }
    static bool is_usable(const Extent& extent) { return extent.largest <= Quantisation<C>::kLargest; }
    static bool is_usable(double addend) { return std::abs(addend) <= Quantisation<C>::kLargestAddend; }
    // The largest magnitude of those that are usable.
    static double largest(const C* addends, std::int64_t n) {
        double most = 0;
        for (std::int64_t i = 0; addends != nullptr && i < n; ++i) {
            const auto x = static_cast<double>(addends[i]);
            if (is_usable(x)) most = std::max(most, std::abs(x));
        }
        return most;
    }
    static double norm_of(const Extent& extent) {
        return std::sqrt(static_cast<double>(extent.squares)) * kUp + kLeastNorm;
    }
    // The share by which a sum of squares may be wrong.
    double squares_error() const { return (depth() / 4 + 64) * 0x1p-24; }
    double residue_of(const Residues& residues, double shifted) const {
        if (quantisation_.kind == Kind::distances) {
            return static_cast<double>(residues.magnitudes) * kUp +
                   std::sqrt(depth()) * (kFloatError * shifted + kLeastNorm);
        }
        return std::sqrt(static_cast<double>(residues.squares)) * kUp + kFloatError * shifted + kLeastNorm;
    }
    // The steps of a vector of products: the finest that keep its largest component in the range.
    static LevelGrid grid_of(float largest, const LevelGrid& range) {
        const float step = std::max(largest / range.greatest, Quantisation<C>::kLeastStep);
        return {step, 1 / step, range.least, range.greatest};
    }
    double squares_of(const C* row) const {
        double squares = 0;
        add_squares(&row, 1, queries_.depth(), &squares);
        return squares;
    }
    // Whether a point of the Poincare ball is far enough from its edge for floats.
    static bool is_inside(double squares) { return squares <= 1 - 0x1p-20; }
    // Floats that are no less and no greater.
    static float rounded_up(double x) { return static_cast<float>(x + std::abs(x) * 0x1p-22 + 0x1p-140); }
    static float rounded_down(double x) { return -rounded_up(-x); }

    // Quantises the queries of the cell, unless they are. Returns whether all of them can be.
    bool quantise_queries() {
        if (quantised_) return usable_;
        quantised_ = true;
        const auto n = static_cast<std::size_t>(count_);
        tile_bytes_ = quantisation_.form.size(size(), kTileQueries);
        levels_.assign(static_cast<std::size_t>(tiles()) * tile_bytes_);
        rows_.resize(n);
        owned_rows_.resize(queries_.in_place(normalises(similarity_)) ? 1 : n * size());
        shifted_.resize(size());
        facts_.assign(n, {});
        tasks_.assign(static_cast<std::size_t>(first_[n]), {});
        for (auto* array : {&above_, &below_}) array->assign(tasks_.size(), 0);
        starts_.assign(static_cast<std::size_t>(tiles()) * kTileQueries, 0);
        value_rows_.assign(n, {1, 0, 0});
        row_offsets_.resize(n);
        largest_norm_ = 0;
        for (std::int64_t i = 0; i < count_ && usable_; ++i) usable_ = quantise_query(ids_[i], i);
        return usable_;
    }
    bool quantise_query(std::int64_t id, std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        const bool normalise = normalises(similarity_);
        const C* const row = rows_[at] =
            queries_.row(id, normalise, owned_rows_.data() + (queries_.in_place(normalise) ? 0 : at * size()));
        const Quantisation<C>& q = quantisation_;
        QueryFacts& facts = facts_[at];
        const Extent whole = kernels_.shift(row, q.zeros.data(), size(), shifted_.data());
        const Extent extent = q.centred_queries ? kernels_.shift(row, q.shift.data(), size(), shifted_.data()) : whole;
        if (query_means_ != nullptr) facts.mean = static_cast<double>(query_means_[id]);
        if (!is_usable(whole) || !is_usable(extent) || !is_usable(facts.mean)) return false;
        facts.norm = norm_of(whole);
        facts.shifted = norm_of(extent);
        LevelGrid grid = q.query_grid;
        switch (q.kind) {
            case Kind::products:
                grid = grid_of(extent.largest, grid);
                if (q.centred_queries) facts.offset = -static_cast<double>(extent.squares) / 2;
                for (std::size_t k = 0; k < size() && !q.centred_queries; ++k) {
                    facts.offset += static_cast<double>(row[k]) * static_cast<double>(q.shift[k]);
                }
                value_rows_[at].scale = grid.step;
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
                facts.squares = squares_of(row);
                if (!is_inside(facts.squares)) return false;
                value_rows_[at].scale = static_cast<float>(2 / (1 - facts.squares));
                break;
        }
        const auto tile = static_cast<std::size_t>(i / kTileRows), lane = static_cast<std::size_t>(i % kTileRows);
        const Residues residues = kernels_.quantise(shifted_.data(), size(), grid, q.form, 0, lane, kTileQueries,
                                                    levels_.data() + tile * tile_bytes_);
        facts.residue = residue_of(residues, facts.shifted);
        starts_[at] = -residues.levels * q.form.zero;
        largest_norm_ = std::max(largest_norm_, facts.norm);
        if (q.kind == Kind::products) {
            value_rows_[at].norm = rounded_up(q.centred_queries ? facts.shifted : facts.norm);
            value_rows_[at].residue = rounded_up(facts.residue);
        }
        row_offsets_[at] = offset_of(facts);
        for (std::int64_t t = first_[i]; t < first_[i + 1]; ++t) {
            tasks_[static_cast<std::size_t>(t)].query = static_cast<std::uint32_t>(i);
            tasks_[static_cast<std::size_t>(t)].norm = facts.norm;
        }
        return true;
    }

    // Quantises the candidates of a panel. Returns whether all of them could be.
    bool load_candidates(const std::int64_t* columns, std::int64_t width) {
        const bool normalise = normalises(similarity_), in_place = candidates_.in_place(normalise);
        const Quantisation<C>& q = quantisation_;
        const auto n = static_cast<std::size_t>(width);
        columns_ = columns;
        panel_levels_.assign(q.form.size(size(), kernels_.lanes));
        panel_shifted_.resize(size());
        panel_owned_.resize(in_place ? 1 : n * size());
        for (auto* buffer : {&panel_norms_, &pair_offsets_, &panel_squares_}) buffer->assign(n, 0);
        for (auto* buffer : {&low_scale_, &low_, &high_scale_, &high_, &lane_residues_, &lane_norms_})
            buffer->assign(kernels_.lanes, kNoCandidate);
        panel_rows_.resize(n);
        for (std::size_t j = 0; j < n; ++j) {
            const C* const row = panel_rows_[j] =
                candidates_.row(columns[j], normalise, panel_owned_.data() + (in_place ? 0 : j * size()));
            const Extent extent = kernels_.shift(row, q.shift.data(), size(), panel_shifted_.data());
            if (!is_usable(extent)) return false;
            const LevelGrid grid =
                q.kind == Kind::products ? grid_of(extent.largest, q.candidate_grid) : q.candidate_grid;
            const Residues residues = kernels_.quantise(panel_shifted_.data(), size(), grid, q.form, q.form.zero, j,
                                                        kernels_.lanes, panel_levels_.data());
            const double shifted = norm_of(extent), residue = residue_of(residues, shifted);
            panel_norms_[j] = shifted + q.shift_norm;
            if (bias_ != nullptr) pair_offsets_[j] = static_cast<double>(bias_[columns[j]]) / scale_.slope();
            if (candidate_means_ != nullptr) {
                pair_offsets_[j] -= static_cast<double>(candidate_means_[columns[j]]) / scale_.slope();
            }
            if (!is_usable(pair_offsets_[j])) return false;
            if (q.kind == Kind::squares) {
                panel_squares_[j] = squares_of(row);
                if (!is_inside(panel_squares_[j])) return false;
            }
            set_lane(j, extent, shifted, residue, static_cast<double>(grid.step));
        }
        return true;
    }

    // Sets how the values of a candidate follow from sums.
    void set_lane(std::size_t j, const Extent& extent, double shifted, double residue, double step) {
        const Quantisation<C>& q = quantisation_;
        if (q.form.has_float_sums()) {
            // Sums are wrong by the roughness of the terms, by roundings, and by that of doubles to floats.
            const double share = 2 * q.form.error + (depth() + 40) * 0x1p-23;
            const double weight = q.kind == Kind::squares ? 1 / (1 - panel_squares_[j]) : 1;
            double error = depth() * 0x1p-55 * weight;
            if (sizeof(C) == 8) error += std::sqrt(depth()) * 0x1p-22 * (largest_norm_ + shifted);
            low_scale_[j] = rounded_down(-weight * (1 + share));
            high_scale_[j] = rounded_up(-weight * (1 - share));
            low_[j] = rounded_down(-error);
            high_[j] = rounded_up(error);
            return;
        }
        double offset = pair_offsets_[j], error = 0, levels = 0;
        if (q.kind == Kind::distances) {
            error = residue + 255 * depth() * step * kFloatError;
            residue = 0;
        } else {
            levels = shifted + residue;  // the norm of the quantised vector, at most
            residue += kFloatError * levels;
            if (scale_.is_product()) residue += scale_.gamma() * panel_norms_[j];
            if (q.centred_queries) {
                offset -= static_cast<double>(extent.squares) / 2;
                error = static_cast<double>(extent.squares) * squares_error();
            }
        }
        error = error * kUp + std::abs(offset) * 0x1p-20;
        low_scale_[j] = high_scale_[j] = static_cast<float>(step);
        low_[j] = rounded_down(offset - error);
        high_[j] = rounded_up(offset + error);
        lane_residues_[j] = rounded_up(residue * kUp);
        lane_norms_[j] = rounded_up(levels * kUp);
    }

    // Sets the thresholds on values from those on scores. Where a sink does not count, no pair is above.
    template <bool Counts>
    void set_thresholds(const C* scores) {
        for (std::size_t t = 0; t < tasks_.size(); ++t) {
            if (tasks_[t].score == scores[t]) continue;
            set_threshold(t, scores[t]);
            if constexpr (!Counts) above_[t] = kInfinity;
        }
    }
    void set_threshold(std::size_t t, C score) {
        TaskFacts& task = tasks_[t];
        const QueryFacts& query = facts_[task.query];
        task.score = score;
        if (score != score) {  // nothing is above a NaN
            above_[t] = below_[t] = kInfinity;
            return;
        }
        task.values = scale_.thresholds(static_cast<double>(score), query.mean);
        const double slack = slack_of(query);
        set_floats({task.values.above - query.offset + slack, task.values.below - query.offset - slack}, above_[t],
                   below_[t]);
    }
    // What rounding does to the offset, and what quantisation does to a distance, whatever the candidate.
    double slack_of(const QueryFacts& query) const {
        const double slack =
            std::abs(query.offset) * (squares_error() + 0x1p-40) + query.norm * quantisation_.shift_norm * 0x1p-30;
        return quantisation_.kind == Kind::distances ? slack + query.residue : slack;
    }
    static void set_floats(const ValueThresholds& values, float& above, float& below) {
        constexpr double most = 0x1p120;
        const bool known = std::abs(values.above) <= most && std::abs(values.below) <= most;
        above = known ? rounded_up(values.above) : kInfinity;
        below = known ? rounded_down(values.below) : -kInfinity;
    }

    // What a query adds to its values, where thresholds belong to lanes: its offset, less what its mean adds to every
    // threshold.
    RowOffset offset_of(const QueryFacts& query) const {
        const double slack = slack_of(query);
        double low = query.offset - slack, high = query.offset + slack;
        if (query_means_ != nullptr) {
            const ValueThresholds with = scale_.thresholds(0, query.mean), without = scale_.thresholds(0, 0);
            low -= with.above - without.above;
            high -= with.below - without.below;
        }
        return {rounded_down(low), rounded_up(high)};
    }
    // Sets the thresholds of the tasks of the panel's lanes.
    template <bool Counts, class Lanes>
    void set_lane_thresholds(const Lanes& lanes) {
        layers_ = lanes.layers();
        lane_tasks_ = lanes.tasks();
        lane_scores_ = lanes.thresholds();
        const std::size_t n = layers_ * kernels_.lanes;
        for (auto* thresholds : {&lane_above_, &lane_below_}) thresholds->assign(n, kNoCandidate);
        for (std::size_t i = 0; i < n; ++i) {
            if (lane_scores_[i] != lane_scores_[i]) continue;  // no task, or one that nothing is above
            set_floats(scale_.thresholds(static_cast<double>(lane_scores_[i]), 0), lane_above_[i], lane_below_[i]);
            if constexpr (!Counts) lane_above_[i] = kInfinity;
        }
        const std::size_t pairs = static_cast<std::size_t>(count_) * layers_;
        if (uncounted_.size() < std::max(n, pairs)) uncounted_.resize(std::max(n, pairs));
        lane_masks_.resize(kTileQueries * layers_);
    }

    // Decides the pairs of a tile, and returns its number of queries.
    std::int64_t decide_tile(std::int64_t tile) {
        const std::int64_t n = std::min(kTileRows, count_ - tile * kTileRows);
        const auto first = static_cast<std::size_t>(tile * kTileRows);
        const LevelForm& form = quantisation_.form;
        sums_.resize(kTileQueries * kernels_.lanes * sizeof(std::int32_t));
        auto* const sums = reinterpret_cast<std::int32_t*>(sums_.data());
        form.sum(levels_.data() + static_cast<std::size_t>(tile) * tile_bytes_, panel_levels_.data(),
                 form.groups(size()), starts_.data() + first, sums);
        const auto tasks = static_cast<std::size_t>(first_[first + static_cast<std::size_t>(n)] - first_[first]);
        if (masks_.size() < tasks) masks_.resize(tasks);
        if (tasks > 0) {
            kernels_.decide(form, sums, static_cast<std::size_t>(n), value_rows_.data() + first, value_lanes(),
                            first_ + first, above_.data(), below_.data(), masks_.data());
        }
        return n;
    }
    // Decides the pairs of the tile that was decided last for the tasks of the lanes.
    void decide_lanes(std::int64_t tile, std::int64_t n, std::uint32_t* counters) {
        const auto first = static_cast<std::size_t>(tile * kTileRows);
        kernels_.decide_lanes(quantisation_.form, reinterpret_cast<const std::int32_t*>(sums_.data()),
                              static_cast<std::size_t>(n), value_rows_.data() + first, value_lanes(),
                              row_offsets_.data() + first, {layers_, lane_above_.data(), lane_below_.data()}, counters,
                              lane_masks_.data());
    }
    ValueLanes value_lanes() const {
        ValueLanes lanes{low_scale_.data(), low_.data(), high_scale_.data(), high_.data()};
        if (quantisation_.kind == Kind::products) {
            lanes.residue = lane_residues_.data();
            lanes.norm = lane_norms_.data();
        }
        return lanes;
    }

    // Adds up what was decided, and lists the open pairs of a tile behind those of others. Returns their number.
    std::int64_t collect(std::int64_t tile, std::int64_t n, std::uint32_t* counters) {
        const auto first = static_cast<std::size_t>(first_[tile * kTileRows]);
        const std::size_t tasks = static_cast<std::size_t>(first_[tile * kTileRows + n]) - first;
        return collect(masks_, first, tasks, counters, open_);
    }
    std::int64_t collect_lanes(std::int64_t tile, std::int64_t n) {
        const std::size_t first = static_cast<std::size_t>(tile * kTileRows) * layers_;
        return collect(lane_masks_, first, static_cast<std::size_t>(n) * layers_, uncounted_.data(), lane_open_);
    }
    std::int64_t collect(const std::vector<PairMasks>& masks, std::size_t first, std::size_t tasks,
                         std::uint32_t* counters, OpenPairs& open) {
        const std::size_t found =
            kernels_.collect(masks.data(), first, tasks, counters, open.room(tasks * kernels_.lanes));
        open.count += found;
        return static_cast<std::int64_t>(found);
    }

    // Whether few enough pairs of some tiles are open.
    template <class Sink>
    bool promises(std::int64_t width) {
        constexpr std::int64_t tried = 8;
        std::int64_t found = 0, pairs = 0;
        const auto add = [&](const std::vector<PairMasks>& masks, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) found += std::popcount(masks[i].open());
        };
        const std::int64_t step = std::max<std::int64_t>(1, tiles() / tried);
        for (std::int64_t tile = 0; tile < tiles(); tile += step) {
            const std::int64_t n = decide_tile(tile);
            const std::int64_t tasks = first_[tile * kTileRows + n] - first_[tile * kTileRows];
            add(masks_, static_cast<std::size_t>(tasks));
            pairs += tasks * width;
            if constexpr (TakesLanes<Sink>) {
                decide_lanes(tile, n, uncounted_.data());
                add(lane_masks_, static_cast<std::size_t>(n) * layers_);
                pairs += n * lane_tasks_;
            }
        }
        // With more, bounds lose whatever the depth.
        return 6 * found <= pairs;
    }

    // Settles open pairs by their values or, where these do not tell either, by their scores. Then there are none.
    template <class Side>
    void settle(OpenPairs& open, Side side, BoundsTally& tally) {
        if (!quantisation_.form.has_float_sums()) settle_by_values(open, side);
        const std::size_t lanes = kernels_.lanes;
        values_.resize(lanes);
        tally.scored += static_cast<std::int64_t>(open.count);
        for (std::size_t at = 0; at < open.count; at += lanes) {
            const std::size_t n = std::min(lanes, open.count - at);
            const OpenPair* const pairs = open.list.data() + at;
            gather_rows(pairs, n, side);
            scoring_.accumulate_rows(similarity_, pair_queries_.data(), pair_candidates_.data(), n, size(),
                                     values_.data());
            scoring_.finish(similarity_, register_tile(pairs, n, side));
            for (std::size_t i = 0; i < n; ++i) side.take_score(pairs[i], values_[i]);
        }
        open.count = 0;
    }
    template <class Sink>
    void settle_lanes(Sink& sink, BoundsTally& tally) {
        settle(lane_open_, LaneSide<Sink>{*this, sink}, tally);
    }

    // Keeps those pairs of which the value does not tell. As good as random, its sides are not branched on.
    template <class Side>
    void settle_by_values(OpenPairs& open, Side& side) {
        const std::size_t lanes = kernels_.lanes;
        values_.resize(lanes);
        std::size_t kept = 0;
        for (std::size_t at = 0; at < open.count; at += lanes) {
            const std::size_t n = std::min(lanes, open.count - at);
            gather_rows(open.list.data() + at, n, side);
            scoring_.sum_rows(similarity_, pair_queries_.data(), pair_candidates_.data(), n, size(), values_.data());
            for (std::size_t i = 0; i < n; ++i) {
                const OpenPair pair = open.list[at + i];
                const ValueThresholds& thresholds = side.values(pair);
                const double value = scale_.value(static_cast<double>(values_[i]));
                // The rounding of this sum, and for products that of the score.
                const double size = scale_.is_product() ? side.norm(pair) * panel_norms_[pair.lane] : std::abs(value);
                const double sum = value + pair_offsets_[pair.lane];
                const double slack = 2 * scale_.gamma() * size + std::abs(sum) * 0x1p-50 + 0x1p-100;
                const bool below = sum + slack < thresholds.below;
                const bool above = Side::kCounts && sum - slack > thresholds.above;
                side.take_decision(pair, above);
                open.list[kept] = pair;
                kept += static_cast<std::size_t>(!(below | above));
            }
        }
        open.count = kept;
    }

    template <class Side>
    void gather_rows(const OpenPair* pairs, std::size_t n, const Side& side) {
        for (auto* rows : {&pair_queries_, &pair_candidates_}) rows->resize(kernels_.lanes);
        for (std::size_t i = 0; i < n; ++i) {
            const C* const row = rows_[side.query(pairs[i])];
            // The rows of queries are far apart, and seldom in the nearest cache; the hardware finds what follows.
            for (std::size_t line = 0; line < 4; ++line) prefetch(address_after(row, 64 * line));
            pair_queries_[i] = row;
            pair_candidates_[i] = panel_rows_[pairs[i].lane];
        }
    }

    // What finish() needs of n pairs.
    template <class Side>
    RegisterTile<C> register_tile(const OpenPair* pairs, std::size_t n, const Side& side) {
        RegisterTile<C> tile{values_.data(), 1, nullptr, nullptr, nullptr, nullptr, nullptr, true};
        for (auto* buffer : {&pair_bias_, &pair_means_, &pair_query_means_}) buffer->assign(kernels_.lanes, C{0});
        for (auto* buffer : {&pair_squares_, &pair_query_squares_}) buffer->assign(kernels_.lanes, 0);
        for (std::size_t i = 0; i < n; ++i) {
            const QueryFacts& query = facts_[side.query(pairs[i])];
            const std::int64_t column = columns_[pairs[i].lane];
            if (bias_ != nullptr) pair_bias_[i] = bias_[column];
            if (candidate_means_ != nullptr) pair_means_[i] = candidate_means_[column];
            pair_query_means_[i] = static_cast<C>(query.mean);
            pair_query_squares_[i] = query.squares;
            pair_squares_[i] = panel_squares_[pairs[i].lane];
        }
        if (bias_ != nullptr) tile.bias = pair_bias_.data();
        if (query_means_ != nullptr) {
            tile.query_means = pair_query_means_.data();
            tile.candidate_means = pair_means_.data();
        }
        tile.query_squares = pair_query_squares_.data();
        tile.candidate_squares = pair_squares_.data();
        return tile;
    }

    const Quantisation<C>& quantisation_;
    Similarity similarity_;
    const C *bias_, *query_means_, *candidate_means_;
    const Vectors<C>& queries_;
    const Vectors<C>& candidates_;
    const SimilarityKernels<C>& scoring_;
    const BoundKernels<C>& kernels_ = bound_kernels<C>();
    ValueScale<C> scale_;
    Gauge gauge_;
    const bool forced_ = are_bounds_forced();

    // The queries of the cell and their tasks.
    const std::int64_t *ids_ = nullptr, *first_ = nullptr;
    std::int64_t count_ = 0;
    bool usable_ = false, quantised_ = false;
    std::size_t tile_bytes_ = 0;
    LineBuffer levels_;
    std::vector<const C*> rows_;
    std::vector<C> owned_rows_;
    std::vector<QueryFacts> facts_;
    double largest_norm_ = 0;
    std::vector<ValueRow> value_rows_;
    std::vector<RowOffset> row_offsets_;
    std::vector<std::int32_t> starts_;
    std::vector<TaskFacts> tasks_;
    std::vector<float> above_, below_;

    // The candidates of the panel.
    const std::int64_t* columns_ = nullptr;
    LineBuffer panel_levels_;
    std::vector<const C*> panel_rows_;
    std::vector<C> panel_owned_;
    std::vector<double> panel_norms_, pair_offsets_, panel_squares_;
    std::vector<float> low_scale_, low_, high_scale_, high_, lane_residues_, lane_norms_;

    // The tasks of its lanes.
    std::size_t layers_ = 0;
    std::int64_t lane_tasks_ = 0;
    const C* lane_scores_ = nullptr;
    std::vector<float> lane_above_, lane_below_;

    // A tile, and the pairs that it leaves open.
    LineBuffer sums_;
    std::vector<PairMasks> masks_, lane_masks_;
    OpenPairs open_, lane_open_;
    std::vector<std::uint32_t> uncounted_;  // of lanes: where collect() and a trial count what nobody asks for

    std::vector<float> shifted_, panel_shifted_;
    std::vector<C> values_, pair_bias_, pair_means_, pair_query_means_;
    std::vector<double> pair_squares_, pair_query_squares_;
    std::vector<const C*> pair_queries_, pair_candidates_;
};

}  // namespace truerank
