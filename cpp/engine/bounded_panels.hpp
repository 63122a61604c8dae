// Certified bounds: the pairs of a panel of candidates and the queries of a cell, decided without their scores.
//
// This is the loop of docs/bounds.md ("How a pair is decided"). Once for a cell, queries become levels and their true
// scores thresholds (bounded_queries.hpp); for each panel, candidates become levels (bounded_panel.hpp). Then, tile by
// tile of queries, sums over levels are made, and decide which pairs are certainly above and which certainly below: two
// bits for each task and candidate, PairMasks. Those above are counted. Those that are neither are open: where a task
// has nearly all of a panel open, its row is scored (scored_rows.hpp), and the others are settled one by one
// (settling.hpp).
//
// Which levels suit the data is tried on a panel (promises), and a Gauge measures whether all of this takes less time
// than to score. Counts do not depend on either. docs/contributing/bounds.md has the proofs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/bounded_panel.hpp"
#include "engine/bounded_queries.hpp"
#include "engine/bounds.hpp"
#include "engine/gauge.hpp"
#include "engine/quantiser.hpp"
#include "engine/scored_rows.hpp"
#include "engine/scoring.hpp"
#include "engine/settling.hpp"
#include "engine/sink.hpp"
#include "kernels/decisions.hpp"
#include "kernels/measured.hpp"
#include "kernels/sums.hpp"

namespace truerank {

// The bounds of one thread, for the queries of a cell and one panel after the other.
template <class C>
class BoundedPanels {
  public:
    BoundedPanels(const Quantisation<C>& quantisation, const Scoring<C>& scoring) : quantiser_(quantisation, scoring) {}
    // Its parts know each other.
    BoundedPanels(const BoundedPanels&) = delete;
    BoundedPanels& operator=(const BoundedPanels&) = delete;

    // Takes the queries of a cell; the tasks of query i are those from first[i] to first[i + 1].
    void load_queries(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& first) {
        queries_.load(rows, first);
        scored_rows_.clear();
        settling_.clear();
        usable_ = forced_ || queries_.count() >= measured::kLeastBoundedQueries;
    }
    // The candidates of the next panel, at most: few where bounds have not gained yet, which may take very long.
    std::int64_t width() const {
        const bool is_proven = forced_ || !gauge_.is_trial();
        return is_proven ? static_cast<std::int64_t>(kPanelLanes) : static_cast<std::int64_t>(quantiser_.kernels.lanes);
    }
    // Takes the time in which a panel was scored.
    void record_scored(Gauge::Clock::duration time, std::int64_t width) {
        gauge_.record_scored(time, timed_pairs(width));
    }

    // Decides the pairs of a panel by bounds, for the tasks of the queries and, unless this is null, for those of the
    // lanes. Where bounds do not cover the panel, or would not gain, it does nothing and returns false.
    bool run(const std::int64_t* columns, std::int64_t width, BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks,
             BoundsTally& tally) {
        if (!usable_ || !(forced_ || gauge_.tries_bounds())) return false;
        const C* const thresholds = tasks.thresholds();
        if (thresholds == nullptr) return false;
        if (lane_tasks != nullptr && lane_tasks->layers() > 0 && lane_tasks->thresholds() == nullptr) return false;
        const auto load = [&] {
            queries_.set_thresholds(thresholds, tasks.counts());
            return load_panel(columns, width, lane_tasks);
        };
        if (forced_ && queries_.count() <= measured::kLeastBoundedQueries) {
            form_ = (form_ + 1) % forms().size();  // for tests
        }
        if (!forced_ && gauge_.is_trial() && !passes_trial(width, load)) return false;
        // As a rule once for a cell, and not a cost of this panel.
        if (!queries_.quantise(forms()[form_])) return usable_ = false;
        const auto start = Gauge::Clock::now();
        if (!load()) return false;
        decide(tasks, lane_tasks, tally);
        tally.bounded += static_cast<std::int64_t>(queries_.tasks().size()) * width + panel_.tasks() * queries_.count();
        gauge_.record_bounded(Gauge::Clock::now() - start, timed_pairs(width));
        return true;
    }

  private:
    static constexpr auto kTileRows = BoundedQueries<C>::kTileRows;
    static constexpr std::size_t kOpenAtOnce = 1 << 12, kOpenOfBothAtOnce = 1 << 9;
    // Where bytes leave more open than this share, words gain more than their sums take.
    double few_open() const { return share_of_depth(measured::kSettledDepth, measured::kSettledTimes); }
    // Where more than this share is open, scores take less time.
    double most_open() const { return share_of_depth(measured::kPromisedDepth, measured::kPromisedTimes); }
    double share_of_depth(double components, double times) const {
        const auto depth = static_cast<double>(quantiser_.size());
        return depth / (components + times * depth);
    }

    // The pairs that the time of a panel is divided by: those of whole blocks, since the last panel of a cell takes as
    // long with few candidates, with bounds and without.
    std::int64_t timed_pairs(std::int64_t width) const {
        const auto lanes = static_cast<std::int64_t>(quantiser_.kernels.lanes);
        return queries_.count() * ((width + lanes - 1) / lanes * lanes);
    }

    const std::vector<LevelForm>& forms() const { return quantiser_.quantisation.forms; }
    bool load_panel(const std::int64_t* columns, std::int64_t width, LayeredTasks<C>* lane_tasks) {
        if (!panel_.load(columns, width, forms()[form_], queries_.largest_norm())) return false;
        if (lane_tasks != nullptr) set_lane_thresholds(*lane_tasks);
        set_sum_thresholds();
        return true;
    }
    void set_lane_thresholds(LayeredTasks<C>& lane_tasks) {
        panel_.set_thresholds(lane_tasks);
        const std::size_t of_lanes = panel_.layers() * quantiser_.kernels.lanes;
        const std::size_t pairs = static_cast<std::size_t>(queries_.count()) * panel_.layers();
        if (uncounted_.size() < std::max(of_lanes, pairs)) uncounted_.resize(std::max(of_lanes, pairs));
        lane_masks_.resize(kTileQueries * panel_.layers());
    }
    void set_sum_thresholds() {
        if (!panel_.has_sum_thresholds()) return;
        const std::size_t n = queries_.tasks().size();
        for (auto* array : {&sum_above_, &sum_below_}) array->resize(n + BoundedQueries<C>::kVectorRoom);
        decisions_.set_sum_thresholds(queries_.sum_tasks(), n, panel_.sum_panel(), sum_above_.data(),
                                      sum_below_.data());
    }

    // Decides the pairs of a tile, and returns its number of queries.
    std::int64_t decide_tile(std::int64_t tile) {
        const std::int64_t n = queries_.rows_of(tile);
        const auto row = static_cast<std::size_t>(tile * kTileRows), rows = static_cast<std::size_t>(n);
        const LevelForm& form = forms()[form_];
        const std::size_t block_sums = kTileQueries * quantiser_.kernels.lanes, blocks = panel_.blocks();
        sums_.resize(blocks * block_sums * sizeof(std::int32_t));
        auto* const sums = reinterpret_cast<std::int32_t*>(sums_.data());
        for (std::size_t block = 0; block < blocks; ++block) {
            form.sum(queries_.levels(tile), panel_.levels(block), form.groups(quantiser_.size()),
                     queries_.starts() + row, sums + block * block_sums);
        }
        const std::int64_t* const first = queries_.first() + row;
        const auto tasks = static_cast<std::size_t>(first[rows] - first[0]);
        if (masks_.size() < tasks) masks_.resize(tasks);
        if (tasks == 0) return n;
        if (panel_.has_sum_thresholds()) {
            decisions_.decide_sums(sums, blocks, rows, first, sum_above_.data(), sum_below_.data(), masks_.data());
        } else {
            decisions_.decide(form, sums, blocks, rows, queries_.value_rows() + row, panel_.value_lanes(), first,
                              queries_.above(), queries_.below(), masks_.data());
        }
        return n;
    }
    // Decides the pairs of the tile that was decided last for the tasks of the lanes.
    void decide_lanes(std::int64_t tile, std::int64_t n, std::uint32_t* counters) {
        const auto row = static_cast<std::size_t>(tile * kTileRows);
        decisions_.decide_lanes(forms()[form_], reinterpret_cast<const std::int32_t*>(sums_.data()),
                                static_cast<std::size_t>(n), queries_.value_rows() + row, panel_.value_lanes(),
                                queries_.offsets() + row, panel_.thresholds(), counters, lane_masks_.data());
    }

    // Decides the pairs of the panel tile by tile, and settles those that stay open.
    void decide(BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks, BoundsTally& tally) {
        const RowSide<C> rows{queries_, tasks};
        // Rows and lanes are settled in turn, so that both find the same queries in the cache.
        const std::size_t open_at_once = lane_tasks != nullptr ? kOpenOfBothAtOnce : kOpenAtOnce;
        for (std::int64_t tile = 0; tile < queries_.tiles(); ++tile) {
            const std::int64_t n = decide_tile(tile);
            tasks.take_masks(masks_.data(), tile * kTileRows, n);
            const std::int64_t taken = take_rows(tile, n), open = collect(tile, n, tasks.counters());
            scored_rows_.record(tile, taken + open);
            tally.open += taken + open;
            tally.scored += taken;
            if (lane_tasks != nullptr) {
                decide_lanes(tile, n, lane_tasks->counters());
                tally.open += collect_lanes(tile, n);
            }
            if (open_.count + lane_open_.count < open_at_once) continue;
            settling_.settle(open_, rows, tally);
            if (lane_tasks == nullptr) continue;
            settle_lanes(*lane_tasks, tally);
            // What lists took made their thresholds higher.
            if (!lane_tasks->counts()) panel_.set_thresholds(*lane_tasks);
        }
        settling_.settle(open_, rows, tally);
        scored_rows_.score(tasks);
        if (lane_tasks != nullptr) settle_lanes(*lane_tasks, tally);
    }

    // Takes the pairs of rows that are scored whole out of the masks of a tile.
    std::int64_t take_rows(std::int64_t tile, std::int64_t n) {
        const std::int64_t* const first = queries_.first() + tile * kTileRows;
        return scored_rows_.take(tile, first[0], first[n], masks_.data());
    }
    // Adds up what was decided, and lists the open pairs of a tile behind those of others. Returns their number.
    std::int64_t collect(std::int64_t tile, std::int64_t n, std::uint32_t* counters) {
        const std::int64_t* const first = queries_.first() + tile * kTileRows;
        return collect(masks_, static_cast<std::size_t>(first[0]), static_cast<std::size_t>(first[n] - first[0]),
                       counters, open_);
    }
    std::int64_t collect_lanes(std::int64_t tile, std::int64_t n) {
        const std::size_t first = static_cast<std::size_t>(tile * kTileRows) * panel_.layers();
        return collect(lane_masks_, first, static_cast<std::size_t>(n) * panel_.layers(), uncounted_.data(),
                       lane_open_);
    }
    std::int64_t collect(const std::vector<PairMasks>& masks, std::size_t first, std::size_t tasks,
                         std::uint32_t* counters, OpenPairs& open) {
        const std::size_t pairs =
            decisions_.collect(masks.data(), first, tasks, counters, open.room(tasks * kPanelLanes));
        open.count += pairs;
        return static_cast<std::int64_t>(pairs);
    }

    // Whether bounds promise to gain; a trial that they lose is a cost of theirs.
    template <class Load>
    bool passes_trial(std::int64_t width, const Load& load) {
        const auto start = Gauge::Clock::now();
        if (promises(width, load)) return true;
        gauge_.record_lost(Gauge::Clock::now() - start, timed_pairs(width));
        return false;
    }
    // Whether few enough pairs of some tiles are open, with the coarsest levels that suit these. Queries that have been
    // quantised are tried as they are.
    template <class Load>
    bool promises(std::int64_t width, const Load& load) {
        double share = 1;
        if (queries_.are_quantised(forms()[form_])) {
            if (!load()) return false;
            share = open_share(width);
        } else {
            for (std::size_t form = forms().size(); form-- > 0 && share > few_open();) {
                form_ = form;
                if (!queries_.quantise_tiles(forms()[form], tried_step()) || !load()) return false;
                share = open_share(width);
            }
        }
        return share <= most_open();
    }
    // Of so many tiles one is tried.
    std::int64_t tried_step() const { return std::max<std::int64_t>(1, queries_.tiles() / measured::kTriedTiles); }
    double open_share(std::int64_t width) {
        std::int64_t open_pairs = 0, pairs = 0;
        // A task with more open pairs has its row scored, which takes no longer.
        const int most = scored_rows_.least_open();
        const auto add = [&](const std::vector<PairMasks>& masks, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) {
                open_pairs += std::min(std::popcount(masks[i].open()), most);
            }
        };
        for (std::int64_t tile = 0; tile < queries_.tiles(); tile += tried_step()) {
            const std::int64_t n = decide_tile(tile), *const first = queries_.first() + tile * kTileRows;
            add(masks_, static_cast<std::size_t>(first[n] - first[0]));
            pairs += (first[n] - first[0]) * width;
            if (panel_.layers() > 0) {
                decide_lanes(tile, n, uncounted_.data());
                add(lane_masks_, static_cast<std::size_t>(n) * panel_.layers());
                pairs += n * panel_.tasks();
            }
        }
        return static_cast<double>(open_pairs) / static_cast<double>(std::max<std::int64_t>(1, pairs));
    }

    void settle_lanes(LayeredTasks<C>& lane_tasks, BoundsTally& tally) {
        settling_.settle(lane_open_, LaneSide<C>{queries_, panel_, quantiser_, lane_tasks}, tally);
    }

    const Quantiser<C> quantiser_;
    const DecisionKernels<C>& decisions_ = decision_kernels<C>();
    BoundedQueries<C> queries_{quantiser_};
    BoundedPanel<C> panel_{quantiser_};
    Settling<C> settling_{quantiser_, queries_, panel_};
    ScoredRows<C> scored_rows_{quantiser_, queries_, panel_};
    Gauge gauge_;
    const bool forced_ = are_bounds_forced();
    bool usable_ = false;
    std::size_t form_ = forms().size() - 1;

    // A tile, and the pairs that it leaves open.
    LineBuffer sums_;
    std::vector<std::int32_t> sum_above_, sum_below_;  // of tasks
    std::vector<PairMasks> masks_, lane_masks_;
    OpenPairs open_, lane_open_;
    std::vector<std::uint32_t> uncounted_;  // of lanes: where collect() and a trial count what nobody asks for
};

}  // namespace truerank
