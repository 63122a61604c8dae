// Certified bounds: the pairs of a panel of candidates and the queries of a cell, decided without their scores.
//
// This is the loop of docs/contributing/bounds.md ("How a pair is decided"). Once for a cell, queries become levels and
// their true scores thresholds (bounded_queries.hpp); for each panel, candidates become levels (bounded_panel.hpp).
// Then, tile by tile of queries, sums over levels decide which pairs are certainly above, which are counted, and which
// certainly below. The others are open: where a task has nearly all of a panel open, its row is scored,
// and the rest is settled one by one (settling.hpp). Which levels suit the data is tried on a panel
// (choose_form), and a Gauge measures whether all of this takes less time than to score.
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
#include "engine/bounds/settling.hpp"
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
        look_at_thresholds(panel.begin, tasks);
        if (thresholds_ == nullptr) return false;
        const bool has_lane_tasks = lane_tasks != nullptr && lane_tasks->layers() > 0;
        if (has_lane_tasks && lane_tasks->thresholds() == nullptr) return false;
        if (forced_ && is_few_queries()) form_ = (form_ + 1) % forms().size();  // for tests
        if (!forced_ && gauge_.is_trial()) {
            const auto start = Gauge::Clock::now();
            if (!choose_form(panel, tasks, lane_tasks)) {  // a trial is a cost of bounds if they lose it
                gauge_.record_lost(Gauge::Clock::now() - start, timed_pairs(panel.width));
                return false;
            }
        }
        // As a rule once for a cell, and not a cost of this panel.
        usable_ = queries_.quantise(form());
        if (!usable_) return false;
        const bool is_timed = gauge_.times_panel(timed_pairs(panel.width));
        const auto start = is_timed ? Gauge::Clock::now() : Gauge::Clock::time_point{};
        if (!load(panel, tasks, lane_tasks)) return false;
        decide(tasks, lane_tasks);
        tally_.bounded += std::ssize(queries_.tasks()) * panel.width + lanes_.count * queries_.count();
        if (is_timed) gauge_.record_bounded(Gauge::Clock::now() - start, timed_pairs(panel.width));
        return true;
    }

    // Whether sums over levels of bytes, which are exact, do for those that kernels make of vectors.
    bool can_sum_exactly() const { return usable_ && forms().size() == 1 && quantiser_.takes_bytes(forms().front()); }
    // Has `take(sums, first_query, n)` take the sums of a panel of one block, `lanes` for each of n queries,
    // kTileQueries or fewer at a time; false where bounds do not cover these.
    template <class Take>
    bool sum_exactly(const Panel& panel, const Take& take) {
        const std::size_t lanes = quantiser_.kernels.lanes;
        if (!queries_.quantise(form()) || !load_panel(panel, nullptr)) return false;
        row_sums_.resize(kTileQueries * lanes);
        const Summing summing(form());
        for (std::int64_t i = 0; i < queries_.tiles(); ++i) {
            const QueryTile tile = queries_.tile(i);
            sum_tile(tile);
            for (std::size_t first_row = 0; first_row < tile.queries; first_row += kTileQueries) {
                const std::size_t n = std::min(kTileQueries, tile.queries - first_row);
                const std::size_t first_query = tile.first_query + first_row;
                for (std::size_t row = 0; row < n; ++row) {
                    const std::int32_t* const level_sums = sums_ + (first_row + row) * lanes;
                    C* const sums = row_sums_.data() + row * lanes;
                    for (std::size_t j = 0; j < lanes; ++j) sums[j] = kernel_sum(first_query + row, level_sums[j], j);
                }
                take(row_sums_.data(), static_cast<std::int64_t>(first_query), static_cast<std::int64_t>(n));
            }
        }
        return true;
    }

  private:
    // Takes the thresholds of the tasks. Those of lists rise, the slower the more candidates lists have seen, and lower
    // ones hold, too: so all are looked at anew where those are one part in so many more.
    void look_at_thresholds(std::int64_t candidate, BoundedTasks<C>& tasks) {
        const bool is_first = thresholds_ == nullptr || candidate < last_look_;
        if (is_first) first_look_ = candidate;
        const bool is_soon = candidate - last_look_ < (last_look_ - first_look_) / measured::kCandidatesPerLook;
        if (!is_first && !tasks.counts() && is_soon) return;
        last_look_ = candidate;
        thresholds_ = tasks.thresholds();
        if (!tasks.counts()) queries_.forget_thresholds();
    }
    // The sum of a pair as kernels make it of vectors: an exact sum over levels, and what the query adds.
    C kernel_sum(std::size_t query, std::int32_t level_sum, std::size_t lane) const {
        const double offset = queries_.facts(query).offset, value = panel_.exact_value(level_sum, lane);
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
    const LevelForm& form() const { return forms()[form_]; }
    bool load(const Panel& panel, BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks) {
        queries_.set_thresholds(thresholds_, tasks.counts());
        return load_panel(panel, lane_tasks);
    }
    bool load_panel(const Panel& panel, LayeredTasks<C>* lane_tasks) {
        const bool is_covered =
            panel_.load(panel.columns, panel.width, form(), queries_.largest_norm(), lane_tasks != nullptr);
        if (!is_covered) return false;
        if (lane_tasks != nullptr) {
            lanes_.set(*lane_tasks, quantiser_);
            lane_masks_.resize(kMostTileQueries * lanes_.layers);
            unused_query_counters_.resize(static_cast<std::size_t>(queries_.count()) * lanes_.layers);
            unused_lane_counters_.resize(lanes_.layers * quantiser_.kernels.lanes);
        }
        if (!panel_.has_sum_thresholds() || panel_.is_exact()) return true;
        const std::size_t tasks = queries_.tasks().size();
        for (auto* array : {&sum_above_, &sum_below_}) array->resize(tasks + BoundedQueries<C>::kVectorRoom);
        decisions_.set_sum_thresholds(queries_.task_arrays().sum_tasks(), tasks, panel_.sum_panel(), sum_above_.data(),
                                      sum_below_.data());
        return true;
    }

    // Sums up the levels of a tile and those of the panel.
    void sum_tile(const QueryTile& tile) {
        const std::size_t block_sums = form().queries * quantiser_.kernels.lanes;
        for (std::size_t block = 0; block < panel_.blocks(); ++block) {
            form().sum(form(),
                       {queries_.levels(tile.index), panel_.levels(block), form().groups(quantiser_.size()),
                        queries_.starts() + tile.first_query, panel_.lane_starts(block)},
                       sums_ + block * block_sums);
        }
    }
    // Decides the pairs of a tile for the tasks of its queries.
    void decide_tile(const QueryTile& tile) {
        const std::size_t blocks = panel_.blocks();
        sum_tile(tile);
        if (masks_.size() < tile.tasks) masks_.resize(tile.tasks);
        if (tile.tasks == 0) return;
        const std::int64_t* const first = queries_.first() + tile.first_query;
        const TaskArrays& of_tasks = queries_.task_arrays();
        if (panel_.has_sum_thresholds()) {
            const auto& above = panel_.is_exact() ? of_tasks.exact_above : sum_above_;
            const auto& below = panel_.is_exact() ? of_tasks.exact_below : sum_below_;
            decisions_.decide_sums(form(), sums_, blocks, tile.queries, first, above.data(), below.data(),
                                   masks_.data());
        } else {
            decisions_.decide(form(), sums_, blocks, tile.queries, queries_.value_rows() + tile.first_query,
                              panel_.value_lanes(), first, of_tasks.above.data(), of_tasks.below.data(), masks_.data());
        }
    }
    // Decides the pairs of the tile that was decided last for the tasks of the lanes.
    void decide_lanes(const QueryTile& tile, std::uint32_t* counters) {
        decisions_.decide_lanes(form(), sums_, tile.queries, queries_.value_rows() + tile.first_query,
                                panel_.value_lanes(), queries_.offsets() + tile.first_query, lanes_.thresholds(),
                                counters, lane_masks_.data());
    }

    // Decides the pairs of the panel tile by tile, and settles those that stay open.
    void decide(BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks) {
        const Summing summing(form());
        // Rows and lanes are settled in turn, so that both find the same queries in the cache.
        const std::size_t open_at_once = lane_tasks != nullptr ? kOpenOfBothAtOnce : kOpenAtOnce;
        for (std::int64_t i = 0; i < queries_.tiles(); ++i) {
            const QueryTile tile = queries_.tile(i);
            count_rows(tile, tasks);
            if (lane_tasks != nullptr) count_lanes(tile, *lane_tasks);
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
    // Counts the pairs of a tile that are above, for the tasks of its queries, and lists those that are open.
    void count_rows(const QueryTile& tile, BoundedTasks<C>& tasks) {
        decide_tile(tile);
        tasks.take_masks(masks_.data(), static_cast<std::int64_t>(tile.first_query),
                         static_cast<std::int64_t>(tile.queries));
        const std::int64_t taken = scored_rows_.take(tile, masks_.data());
        const std::size_t listed_before = open_.count;
        const std::int64_t open = collect(masks_, tile.first_task, tile.tasks, tasks.counters(), open_);
        if (panel_.is_exact()) keep_kernel_sums(tile, listed_before);
        scored_rows_.record(tile, taken + open);
        tally_.open += taken + open;
        tally_.scored += taken;
    }
    // The same for the tasks of the lanes, of the tile that was decided last.
    void count_lanes(const QueryTile& tile, LayeredTasks<C>& lane_tasks) {
        decide_lanes(tile, lane_tasks.counters());
        tally_.open += collect(lane_masks_, tile.first_query * lanes_.layers, tile.queries * lanes_.layers,
                               unused_query_counters_.data(), lane_open_);
    }
    // Keeps the sums of those open pairs of a tile that were listed from here on.
    void keep_kernel_sums(const QueryTile& tile, std::size_t from) {
        if (open_sums_.size() < open_.count) open_sums_.resize(open_.list.size());
        const std::size_t lanes = quantiser_.kernels.lanes;
        for (std::size_t i = from; i < open_.count; ++i) {
            const OpenPair pair = open_.list[i];
            const std::size_t query = queries_.tasks()[pair.task].query;
            const std::size_t block = pair.lane / lanes, row = block * form().queries + query - tile.first_query;
            open_sums_[i] = kernel_sum(query, sums_[row * lanes + pair.lane % lanes], pair.lane);
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

    // Chooses the coarsest levels that leave few pairs of some tiles open, or the finest. Returns whether bounds may
    // gain with these. Queries that have been quantised are tried as they are.
    bool choose_form(const Panel& panel, BoundedTasks<C>& tasks, LayeredTasks<C>* lane_tasks) {
        if (queries_.are_quantised(form())) {
            return load(panel, tasks, lane_tasks) && open_share(panel.width) <= most_open();
        }
        const double few = few_open(tasks.counts());
        double share = 1;
        for (std::size_t i = forms().size(); i > 0; --i) {  // the coarsest is the last
            form_ = i - 1;
            if (!queries_.quantise_tiles(form(), tried_step()) || !load(panel, tasks, lane_tasks)) return false;
            share = open_share(panel.width);
            if (share <= few) break;
        }
        return share <= most_open();
    }
    // Of so many tiles one is tried, so that as many queries are, whatever the form.
    std::int64_t tried_step() const {
        const auto rows = static_cast<std::int64_t>(form().queries), all = std::int64_t{kTileQueries};
        return std::max<std::int64_t>(1, (queries_.count() + rows - 1) / rows * rows / (measured::kTriedTiles * all));
    }
    double open_share(std::int64_t width) {
        const Summing summing(form());
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
                decide_lanes(tile, unused_lane_counters_.data());
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
    std::int64_t first_look_ = 0, last_look_ = 0;
    std::size_t form_ = forms().size() - 1;

    // A tile, and the pairs that it leaves open.
    alignas(64) std::int32_t sums_[kMostTileQueries * kPanelLanes];
    std::vector<std::int32_t> sum_above_, sum_below_;  // of tasks
    std::vector<PairMasks> masks_, lane_masks_;
    OpenPairs open_, lane_open_;
    std::vector<C> open_sums_, row_sums_;                                      // where sums are exact
    std::vector<std::uint32_t> unused_query_counters_, unused_lane_counters_;  // for what nobody asks for
};

}  // namespace truerank
