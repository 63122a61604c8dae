// Certified bounds: the pairs of a panel of candidates and the queries of a cell, decided without their scores.
//
// This is the loop of docs/contributing/bounds.md ("How a pair is decided"). Once for a cell, queries become levels and
// their true scores thresholds (bounded_queries.hpp); for each panel, candidates become levels (bounded_panel.hpp).
// Then, tile by tile of queries, sums over levels are made, and decide which pairs are certainly above and which
// certainly below: two bits for each task and candidate, PairMasks. Those above are counted. Those that are neither are
// open: where a task has nearly all of a panel open, its row is scored (scored_rows.hpp), and the others are settled
// one by one (settling.hpp).
//
// Which levels suit the data is tried on a panel (promises), and a Gauge measures whether all of this takes less time
// than to score. Counts do not depend on either. docs/contributing/bounds.md has the proofs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "engine/bounds/bounded_panel.hpp"
#include "engine/bounds/bounded_queries.hpp"
#include "engine/bounds/bounds.hpp"
#include "engine/bounds/quantiser.hpp"
#include "engine/bounds/scored_rows.hpp"
#include "engine/bounds/settling.hpp"
#include "engine/sweep/gauge.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/decisions.hpp"
#include "kernels/measured.hpp"
#include "kernels/sums.hpp"

namespace truerank {

// The bounds of one thread, for the queries of a cell and one panel after the other.
template <class C>
class BoundedPanels {
  public:
    BoundedPanels(const Quantiser<C>& quantiser, BoundsTally& tally) : quantiser_(quantiser), tally_(tally) {}
    // Its parts know each other.
    BoundedPanels(const BoundedPanels&) = delete;
    BoundedPanels& operator=(const BoundedPanels&) = delete;

    // Takes the queries of a cell; the tasks of query i are those from first[i] to first[i + 1].
    void load_queries(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& first) {
        queries_.load(rows, first);
        thresholds_ = nullptr;
        scored_rows_.clear();
        settling_.clear();
        usable_ = forced_ || !is_few_queries();
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
    bool run(const Panel& panel, BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks) {
        if (!usable_ || !(forced_ || gauge_.tries_bounds())) return false;
        const bool has_new = look_at_thresholds(panel.begin, tasks);
        if (thresholds_ == nullptr) return false;
        if (lane_tasks != nullptr && lane_tasks->layers() > 0 && lane_tasks->thresholds() == nullptr) return false;
        const auto load = [&] {
            queries_.set_thresholds(thresholds_, tasks.counts(), has_new);
            return load_panel(panel, lane_tasks);
        };
        if (forced_ && is_few_queries()) form_ = (form_ + 1) % forms().size();  // for tests
        if (!forced_ && gauge_.is_trial()) {  // which is a cost of bounds if they lose it
            const auto start = Gauge::Clock::now();
            if (!promises(panel.width, tasks.counts(), load)) {
                gauge_.record_lost(Gauge::Clock::now() - start, timed_pairs(panel.width));
                return false;
            }
        }
        // As a rule once for a cell, and not a cost of this panel.
        if (!queries_.quantise(forms()[form_])) return usable_ = false;
        const auto start = Gauge::Clock::now();
        if (!load()) return false;
        decide(tasks, lane_tasks);
        tally_.bounded += std::ssize(queries_.tasks()) * panel.width + lanes_.count * queries_.count();
        gauge_.record_bounded(Gauge::Clock::now() - start, timed_pairs(panel.width));
        return true;
    }

    // Whether sums of bytes are scores, and so make them.
    bool sums_exactly() const { return usable_ && forms().size() == 1 && quantiser_.takes_bytes(forms().front()); }
    // Has `take(sums, first, n)` take the sums of the pairs of a block of candidates, `lanes` for each of n queries
    // from the first on, kTileQueries or fewer at a time; false where bounds do not cover these.
    template <class Take>
    bool sum_exactly(const Panel& panel, const Take& take) {
        const std::size_t lanes = quantiser_.kernels.lanes;
        if (!queries_.quantise(forms()[form_]) || !load_panel(panel, nullptr)) return false;
        row_sums_.resize(kTileQueries * lanes);
        const Summing summing(forms()[form_]);
        for (std::int64_t i = 0; i < queries_.tiles(); ++i) {
            const QueryTile tile = queries_.tile(i);
            sum_tile(tile);
            for (std::size_t first = 0; first < tile.queries; first += kTileQueries) {
                const std::size_t n = std::min(kTileQueries, tile.queries - first);
                for (std::size_t row = 0; row < n; ++row) {
                    const std::int32_t* const sums = sums_ + (first + row) * lanes;
                    const std::size_t query = tile.first_query + first + row;
                    for (std::size_t j = 0; j < lanes; ++j) row_sums_[row * lanes + j] = exact_score(query, sums[j], j);
                }
                take(row_sums_.data(), static_cast<std::int64_t>(tile.first_query + first),
                     static_cast<std::int64_t>(n));
            }
        }
        return true;
    }

  private:
    // Takes the thresholds of the tasks; returns whether there are new ones. Those of lists rise, the slower the more
    // candidates lists have seen, and lower ones hold, too: so all are looked at anew where those are one part in so
    // many more.
    bool look_at_thresholds(std::int64_t begin, BoundedTasks<C>& tasks) {
        const bool is_first = thresholds_ == nullptr || begin < looked_at_;
        if (is_first) first_look_ = begin;
        if (!is_first && !tasks.counts() &&
            begin - looked_at_ < (looked_at_ - first_look_) / measured::kCandidatesPerLook) {
            return false;
        }
        looked_at_ = begin;
        thresholds_ = tasks.thresholds();
        return !tasks.counts();
    }
    // The sum of a pair in the scores' type, as kernels make it: an exact sum, and what the query adds.
    C exact_score(std::size_t query, std::int32_t sum, std::size_t lane) const {
        const double offset = queries_.facts(query).offset, value = panel_.exact_value(sum, lane);
        return static_cast<C>(quantiser_.centred_queries ? 0 - (value + 2 * offset) : value + offset);
    }
    bool is_few_queries() const { return queries_.count() < Quantiser<C>::least_queries(quantiser_.scoring); }

    static constexpr std::size_t kOpenAtOnce = 1 << 12, kOpenOfBothAtOnce = 1 << 9;
    // Where bytes leave more open than this share, words gain more than their sums take.
    double few_open(bool counts) const {
        if (counts && forms().front().is_split) return measured::kSettledOfTiles;
        const double share = share_of_depth(measured::kSettledDepth, measured::kSettledTimes);
        return counts && quantiser_.takes_bytes(forms().front()) ? share * measured::kSettledOfBytes : share;
    }
    // Where more than this share is open, scores take less time.
    double most_open() const {
        const bool distances = quantiser_.kind == Quantiser<C>::Kind::distances;
        const double times = distances ? measured::kPromisedOfDistances : 1;
        return times * share_of_depth(measured::kPromisedDepth, measured::kPromisedTimes);
    }
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

    const std::vector<LevelForm>& forms() const { return quantiser_.forms; }
    bool load_panel(const Panel& panel, LayeredTasks<C>* lane_tasks) {
        if (!panel_.load(panel.columns, panel.width, forms()[form_], queries_.largest_norm(), lane_tasks != nullptr)) {
            return false;
        }
        if (lane_tasks != nullptr) {
            lanes_.set(*lane_tasks, quantiser_);
            const std::size_t of_lanes = lanes_.layers * quantiser_.kernels.lanes;
            const std::size_t of_queries = static_cast<std::size_t>(queries_.count()) * lanes_.layers;
            uncounted_.resize(std::max({uncounted_.size(), of_lanes, of_queries}));
            lane_masks_.resize(kMostTileQueries * lanes_.layers);
        }
        if (panel_.has_sum_thresholds() && !panel_.has_exact_sums()) {
            const std::size_t tasks = queries_.tasks().size();
            for (auto* array : {&sum_above_, &sum_below_}) array->resize(tasks + BoundedQueries<C>::kVectorRoom);
            decisions_.set_sum_thresholds(queries_.sum_tasks(), tasks, panel_.sum_panel(), sum_above_.data(),
                                          sum_below_.data());
        }
        return true;
    }

    // Sums up the levels of a tile and those of the panel.
    void sum_tile(const QueryTile& tile) {
        const LevelForm& form = forms()[form_];
        const std::size_t block_sums = form.queries * quantiser_.kernels.lanes;
        for (std::size_t block = 0; block < panel_.blocks(); ++block) {
            form.sum(form,
                     {queries_.levels(tile.index), panel_.levels(block), form.groups(quantiser_.size()),
                      queries_.starts() + tile.first_query, panel_.lane_starts(block)},
                     sums_ + block * block_sums);
        }
    }
    // Decides the pairs of a tile for the tasks of its queries.
    void decide_tile(const QueryTile& tile) {
        const LevelForm& form = forms()[form_];
        const std::size_t blocks = panel_.blocks();
        sum_tile(tile);
        if (masks_.size() < tile.tasks) masks_.resize(tile.tasks);
        if (tile.tasks == 0) return;
        const std::int64_t* const first = queries_.first() + tile.first_query;
        if (panel_.has_sum_thresholds()) {
            const bool is_exact = panel_.has_exact_sums();
            decisions_.decide_sums(form, sums_, blocks, tile.queries, first,
                                   is_exact ? queries_.exact_above() : sum_above_.data(),
                                   is_exact ? queries_.exact_below() : sum_below_.data(), masks_.data());
        } else {
            decisions_.decide(form, sums_, blocks, tile.queries, queries_.value_rows() + tile.first_query,
                              panel_.value_lanes(), first, queries_.above(), queries_.below(), masks_.data());
        }
    }
    // Decides the pairs of the tile that was decided last for the tasks of the lanes.
    void decide_lanes(const QueryTile& tile, std::uint32_t* counters) {
        decisions_.decide_lanes(forms()[form_], sums_, tile.queries, queries_.value_rows() + tile.first_query,
                                panel_.value_lanes(), queries_.offsets() + tile.first_query, lanes_.thresholds(),
                                counters, lane_masks_.data());
    }

    // Decides the pairs of the panel tile by tile, and settles those that stay open.
    void decide(BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks) {
        const Summing summing(forms()[form_]);
        // Rows and lanes are settled in turn, so that both find the same queries in the cache.
        const std::size_t open_at_once = lane_tasks != nullptr ? kOpenOfBothAtOnce : kOpenAtOnce;
        for (std::int64_t i = 0; i < queries_.tiles(); ++i) {
            const QueryTile tile = queries_.tile(i);
            const auto first_task = static_cast<std::int64_t>(tile.first_task);
            decide_tile(tile);
            tasks.take_masks(masks_.data(), static_cast<std::int64_t>(tile.first_query),
                             static_cast<std::int64_t>(tile.queries));
            const std::int64_t taken =
                scored_rows_.take(i, first_task, first_task + static_cast<std::int64_t>(tile.tasks), masks_.data());
            const std::size_t before = open_.count;
            const std::int64_t open = collect(masks_, tile.first_task, tile.tasks, tasks.counters(), open_);
            if (panel_.is_exact()) take_exact_sums(tile, before);
            scored_rows_.record(i, taken + open);
            tally_.open += taken + open;
            tally_.scored += taken;
            if (lane_tasks != nullptr) {
                decide_lanes(tile, lane_tasks->counters());
                tally_.open += collect(lane_masks_, tile.first_query * lanes_.layers, tile.queries * lanes_.layers,
                                       uncounted_.data(), lane_open_);
            }
            const bool is_last = i + 1 == queries_.tiles();
            if (!is_last && open_.count + lane_open_.count < open_at_once) continue;
            const RowSide<C> rows{queries_, tasks};
            if (panel_.is_exact()) {
                settling_.settle_exact(open_, open_sums_, rows);
            } else {
                settling_.settle(open_, rows);
            }
            if (lane_tasks == nullptr) continue;
            settling_.settle(lane_open_, LaneSide<C>{queries_, lanes_, quantiser_, *lane_tasks});
            // What lists took made their thresholds higher.
            if (!is_last && !lane_tasks->counts()) lanes_.set(*lane_tasks, quantiser_);
        }
        scored_rows_.score(tasks);
    }
    // Keeps the exact sums of the pairs of a tile that were listed from here on.
    void take_exact_sums(const QueryTile& tile, std::size_t from) {
        const LevelForm& form = forms()[form_];
        const std::size_t lanes = quantiser_.kernels.lanes;
        if (open_sums_.size() < open_.count) open_sums_.resize(open_.list.size());
        for (std::size_t i = from; i < open_.count; ++i) {
            const OpenPair pair = open_.list[i];
            const std::size_t query = queries_.tasks()[pair.task].query, lane = pair.lane;
            const std::size_t row = lane / lanes * form.queries + query - tile.first_query;
            open_sums_[i] = exact_score(query, sums_[row * lanes + lane % lanes], lane);
        }
    }
    // Adds up what was decided of some tasks, and lists the open pairs behind those of others. Returns their number.
    std::int64_t collect(const std::vector<PairMasks>& masks, std::size_t first, std::size_t tasks,
                         std::uint32_t* counters, OpenPairs& open) {
        const std::size_t pairs =
            decisions_.collect(masks.data(), first, tasks, counters, open.room(tasks * kPanelLanes));
        open.count += pairs;
        return static_cast<std::int64_t>(pairs);
    }

    // Whether few enough pairs of some tiles are open, with the coarsest levels that suit these. Queries that have been
    // quantised are tried as they are.
    template <class Load>
    bool promises(std::int64_t width, bool counts, const Load& load) {
        double share = 1;
        if (queries_.are_quantised(forms()[form_])) {
            if (!load()) return false;
            share = open_share(width);
        } else {
            for (std::size_t form = forms().size(); form-- > 0 && share > few_open(counts);) {
                form_ = form;
                if (!queries_.quantise_tiles(forms()[form], tried_step()) || !load()) return false;
                share = open_share(width);
            }
        }
        return share <= most_open();
    }
    // Of so many tiles one is tried, so that as many queries are, whatever the form.
    std::int64_t tried_step() const {
        const auto rows = static_cast<std::int64_t>(forms()[form_].queries), all = std::int64_t{kTileQueries};
        return std::max<std::int64_t>(1, (queries_.count() + rows - 1) / rows * rows / (measured::kTriedTiles * all));
    }
    double open_share(std::int64_t width) {
        const Summing summing(forms()[form_]);
        std::int64_t open_pairs = 0, pairs = 0;
        // A task with more open pairs has its row scored, which takes no longer.
        const int most = scored_rows_.least_open();
        const auto add = [&](const std::vector<PairMasks>& masks, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) {
                open_pairs += std::min(std::popcount(masks[i].open()), most);
            }
        };
        for (std::int64_t i = 0; i < queries_.tiles(); i += tried_step()) {
            const QueryTile tile = queries_.tile(i);
            decide_tile(tile);
            add(masks_, tile.tasks);
            pairs += static_cast<std::int64_t>(tile.tasks) * width;
            if (lanes_.layers > 0) {
                decide_lanes(tile, uncounted_.data());
                add(lane_masks_, tile.queries * lanes_.layers);
                pairs += static_cast<std::int64_t>(tile.queries) * lanes_.count;
            }
        }
        return static_cast<double>(open_pairs) / static_cast<double>(std::max<std::int64_t>(1, pairs));
    }

    const Quantiser<C>& quantiser_;
    BoundsTally& tally_;
    const DecisionKernels<C>& decisions_ = decision_kernels<C>();
    BoundedQueries<C> queries_{quantiser_};
    BoundedPanel<C> panel_{quantiser_};
    LaneTasks<C> lanes_;  // none where lanes have no tasks
    Settling<C> settling_{quantiser_, queries_, panel_, tally_};
    ScoredRows<C> scored_rows_{quantiser_, queries_, panel_};
    Gauge gauge_;
    const bool forced_ = are_bounds_forced();
    bool usable_ = false;
    // Of the tasks, since the queries were loaded; and the candidates at which these were looked at first and last.
    const C* thresholds_ = nullptr;
    std::int64_t first_look_ = 0, looked_at_ = 0;
    std::size_t form_ = forms().size() - 1;

    // A tile, and the pairs that it leaves open.
    alignas(64) std::int32_t sums_[kMostTileQueries * kPanelLanes];
    std::vector<std::int32_t> sum_above_, sum_below_;  // of tasks
    std::vector<PairMasks> masks_, lane_masks_;
    OpenPairs open_, lane_open_;
    std::vector<C> open_sums_, row_sums_;   // where they are exact
    std::vector<std::uint32_t> uncounted_;  // of lanes: where collect() and a trial count what nobody asks for
};

}  // namespace truerank
