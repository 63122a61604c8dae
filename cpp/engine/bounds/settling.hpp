// Settles the pairs that sums over the levels of a panel leave open: one by one, or, where a task has masses of them,
// by the row.
//
// An open pair is one whose interval has a threshold in it. It goes through up to three steps, each dearer than the one
// before, and each of which leaves fewer pairs to the next: the score that a zero vector has with a query, which is
// computed once for all zero vectors; the value, summed up in floating point in any order, with a bound on its
// rounding; and the score, as it is defined. Only the last tells a tie.
//
// A task may have most of a panel open: one whose query has no direction, such as a zero vector, or one with a true
// score that many candidates share. To settle one open pair takes as long as to score several in a row, so the row of
// such a task is scored whole: its open pairs are taken out of the masks (take), and when all tiles of the panel have
// been decided, the rows are scored together, several queries at a time (score). Looking for such tasks takes time,
// too: only tiles that had many open pairs in the panel before are watched (record).
//
// A task of a query is a RowSide; where both directions of an alignment are counted at once, a task of a candidate is a
// LaneSide.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/bounds/bounded_panel.hpp"
#include "engine/bounds/bounded_queries.hpp"
#include "engine/bounds/bounds.hpp"
#include "engine/bounds/quantiser.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/decisions.hpp"
#include "kernels/measured.hpp"
#include "kernels/simd.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// What settle() asks about an open pair, and whom it tells what came out: about a task of its query,
template <class C>
struct RowSide {
    const BoundedQueries<C>& queries;
    BoundedTasks<C>& tasks;
    std::size_t query(OpenPair pair) const { return queries.tasks()[pair.task].query; }
    const ValueThresholds& values(OpenPair pair) const { return queries.tasks()[pair.task].values; }
    // The place of its task among the counters.
    std::size_t place(OpenPair pair) const { return pair.task; }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) const {
        tasks.take_scores(pairs, scores, n);
    }
};
// and about one of its lane, whose pairs are numbered layer by layer for each query.
template <class C>
struct LaneSide {
    const BoundedQueries<C>& queries;
    const LaneTasks<C>& lanes;
    const Quantiser<C>& quantiser;
    LayeredTasks<C>& tasks;
    std::size_t query(OpenPair pair) const { return pair.task / lanes.layers; }
    ValueThresholds values(OpenPair pair) const {
        return quantiser.scale.thresholds(static_cast<double>(lanes.scores[place(pair)]),
                                          queries.facts(query(pair)).mean);
    }
    std::size_t place(OpenPair pair) const { return pair.task % lanes.layers * quantiser.kernels.lanes + pair.lane; }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) const {
        OpenPair placed[kPanelLanes];
        for (std::size_t i = 0; i < n; ++i) placed[i] = {static_cast<std::uint32_t>(place(pairs[i])), pairs[i].lane};
        tasks.take_scores(placed, scores, n);
    }
};

template <class C>
class Settling {
  public:
    Settling(const Quantiser<C>& quantiser, const BoundedQueries<C>& queries, const BoundedPanel<C>& panel,
             BoundsTally& tally)
        : q_(quantiser), queries_of_(queries), panel_(panel), tally_(tally) {}

    // Forgets the queries of the last cell.
    void clear() { zero_sums_.clear(); }
    // Afterwards there are no open pairs.
    template <class Side>
    void settle(OpenPairs& open, const Side& side) {
        values_.resize(lanes());
        if (panel_.has_zeros()) settle_zeros(open, side);
        // Values would tell no more than exact sums.
        if (!q_.has_sums_of_floats() && !panel_.has_exact_sums()) settle_by_values(open, side);
        score(open.list.data(), open.count, side, [&](const OpenPair* pairs, std::size_t n) {
            gather_rows(pairs, n, side);
            kernels_.accumulate_rows(q_.scoring.similarity, queries_.data(), candidates_.data(), n, q_.size(),
                                     values_.data());
        });
        open.count = 0;
    }
    // The same of pairs with these sums in the scores' type, which are exact.
    template <class Side>
    void settle_exact(OpenPairs& open, const std::vector<C>& sums, const Side& side) {
        values_.resize(lanes());
        score(open.list.data(), open.count, side, [&](const OpenPair* pairs, std::size_t n) {
            std::copy_n(sums.begin() + (pairs - open.list.data()), n, values_.begin());
        });
        open.count = 0;
    }

  private:
    std::size_t lanes() const { return q_.kernels.lanes; }

    // Hands on the scores of pairs. `sum(pairs, n)` writes the sums of some of them to values_, where they become
    // scores.
    template <class Side, class Sum>
    void score(const OpenPair* pairs, std::size_t count, const Side& side, const Sum& sum) {
        tally_.scored += static_cast<std::int64_t>(count);
        addends_.resize_queries(static_cast<std::int64_t>(lanes()));
        addends_.resize_candidates(static_cast<std::int64_t>(lanes()));
        for (std::size_t at = 0; at < count; at += lanes()) {
            const std::size_t n = std::min(lanes(), count - at);
            sum(pairs + at, n);
            for (std::size_t i = 0; i < n; ++i) {
                const QueryFacts& query = queries_of_.facts(side.query(pairs[at + i]));
                const CandidateFacts& candidate = panel_.facts(pairs[at + i].lane);
                addends_.set_query(i, query.mean, query.squares);
                addends_.set_candidate(q_.scoring, i, candidate.column, candidate.squares);
            }
            kernels_.finish(q_.scoring.similarity, addends_.row_of_pairs(q_.scoring, values_.data()));
            side.take_scores(pairs + at, values_.data(), n);
        }
    }
    // Scores the pairs of candidates that are zero vectors, whose sums depend on the query alone, and keeps the others.
    // A zero vector is about as far from all queries, so that no bound tells much about it.
    template <class Side>
    void settle_zeros(OpenPairs& open, const Side& side) {
        OpenPair *const first = open.list.data(), *const last = first + open.count;
        OpenPair* const zeros =
            std::partition(first, last, [&](OpenPair pair) { return !panel_.facts(pair.lane).is_zero; });
        open.count = static_cast<std::size_t>(zeros - first);
        if (zeros == last) return;
        if (zero_sums_.empty()) sum_zeros();
        score(zeros, static_cast<std::size_t>(last - zeros), side, [&](const OpenPair* pairs, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) values_[i] = zero_sums_[side.query(pairs[i])];
        });
    }
    // Sums up the pairs of all queries and a zero vector.
    void sum_zeros() {
        const auto count = static_cast<std::size_t>(queries_of_.count());
        const std::vector<C> zero(q_.size());
        queries_.resize(lanes());
        candidates_.assign(lanes(), zero.data());
        zero_sums_.resize(count + lanes());
        for (std::size_t first = 0; first < count; first += lanes()) {
            const std::size_t n = std::min(lanes(), count - first);
            for (std::size_t i = 0; i < n; ++i) queries_[i] = queries_of_.row(first + i);
            kernels_.accumulate_rows(q_.scoring.similarity, queries_.data(), candidates_.data(), n, q_.size(),
                                     zero_sums_.data() + first);
        }
    }

    // Keeps those pairs that values leave open. Outcomes cannot be predicted, so that nothing branches on them.
    template <class Side>
    void settle_by_values(OpenPairs& open, const Side& side) {
        std::uint32_t* const counters = side.tasks.counters();
        const bool counts_above = side.tasks.counts();
        std::size_t kept = 0;
        for (std::size_t at = 0; at < open.count; at += lanes()) {
            const std::size_t n = std::min(lanes(), open.count - at);
            gather_rows(open.list.data() + at, n, side);
            kernels_.sum_rows(q_.scoring.similarity, queries_.data(), candidates_.data(), n, q_.size(), values_.data());
            for (std::size_t i = 0; i < n; ++i) {
                const OpenPair pair = open.list[at + i];
                const CandidateFacts& candidate = panel_.facts(pair.lane);
                const ValueThresholds& thresholds = side.values(pair);
                const double unbiased = q_.scale.value(static_cast<double>(values_[i]));
                const double value = unbiased + candidate.offset;
                // The rounding of the sum, and for products that of the score; of the addition; and underflow.
                const double size = q_.scale.is_product() ? queries_of_.facts(side.query(pair)).norm * candidate.norm
                                                          : std::abs(unbiased);
                const double slack = 2 * q_.scale.gamma() * size + std::abs(value) * 0x1p-50 + 0x1p-100;
                const bool is_above = counts_above && value - slack > thresholds.above;
                const bool is_below = value + slack < thresholds.below;
                counters[side.place(pair)] += is_above;
                open.list[kept] = pair;
                kept += static_cast<std::size_t>(!(is_below | is_above));
            }
        }
        open.count = kept;
    }

    template <class Side>
    void gather_rows(const OpenPair* pairs, std::size_t n, const Side& side) {
        for (auto* rows : {&queries_, &candidates_}) rows->resize(lanes());
        for (std::size_t i = 0; i < n; ++i) {
            const C* const row = queries_of_.row(side.query(pairs[i]));
            // The rows of queries are far apart, and seldom in the nearest cache; the hardware finds what follows.
            for (std::size_t line = 0; line < 4; ++line) prefetch(address_after(row, 64 * line));
            queries_[i] = row;
            candidates_[i] = panel_.row(pairs[i].lane);
        }
    }

    const Quantiser<C>& q_;
    const BoundedQueries<C>& queries_of_;
    const BoundedPanel<C>& panel_;
    BoundsTally& tally_;
    const SimilarityKernels<C>& kernels_ = q_.scoring.kernels;
    std::vector<C> zero_sums_;  // of the queries, once they are asked for
    std::vector<const C*> queries_, candidates_;
    std::vector<C> values_;  // or scores, of some pairs
    Addends<C> addends_;
};

// Queries that are scored, each vector once: kFewQueries of them make a group, and are packed side by side.
template <class C>
class DistinctRows {
  public:
    DistinctRows(const BoundedQueries<C>& queries, std::size_t depth) : queries_(queries), depth_(depth) {}

    void clear() {
        row_of_query_.assign(static_cast<std::size_t>(queries_.count()), kNoRow);
        queries_of_rows_.clear();
        row_of_vector_.clear();
        packed_.clear();
    }
    // The row of a query, which is packed when it is first asked for. Queries share the row of the first one with their
    // vector, unless CSLS subtracts another mean.
    std::size_t row_of(std::uint32_t query) {
        std::size_t& row = row_of_query_[query];
        if (row != kNoRow) return row;
        const C* const vector = queries_.row(query);
        const std::string_view bytes(reinterpret_cast<const char*>(vector), depth_ * sizeof(C));
        const auto [entry, is_new] = row_of_vector_.try_emplace(bytes, queries_of_rows_.size());
        const std::size_t known_row = entry->second;
        const bool shares_row = !is_new && facts(known_row).mean == queries_.facts(query).mean;
        row = shares_row ? known_row : add_row(query, vector);
        return row;
    }
    // The first row of a group, the number of its rows, and their vectors.
    std::size_t first_row(std::size_t group) const { return group * kFewQueries; }
    std::size_t size(std::size_t group) const {
        return std::min(kFewQueries, queries_of_rows_.size() - first_row(group));
    }
    const C* vectors(std::size_t group) const { return packed_.data() + first_row(group) * depth_; }
    // What is known of the query of a row, or of the first of those that share it.
    const QueryFacts& facts(std::size_t row) const { return queries_.facts(queries_of_rows_[row]); }

  private:
    static constexpr std::size_t kNoRow = ~std::size_t{0};
    std::size_t add_row(std::uint32_t query, const C* vector) {
        const std::size_t row = queries_of_rows_.size(), group = row / kFewQueries, place = row % kFewQueries;
        queries_of_rows_.push_back(query);
        packed_.resize(first_row(group + 1) * depth_);
        C* const packed = packed_.data() + first_row(group) * depth_;
        for (std::size_t k = 0; k < depth_; ++k) packed[k * kFewQueries + place] = vector[k];
        return row;
    }

    const BoundedQueries<C>& queries_;
    std::size_t depth_;
    std::vector<std::size_t> row_of_query_;                            // or kNoRow
    std::vector<std::uint32_t> queries_of_rows_;                       // one of each
    std::unordered_map<std::string_view, std::size_t> row_of_vector_;  // by its bytes
    std::vector<C> packed_;
};

template <class C>
class ScoredRows {
  public:
    ScoredRows(const Quantiser<C>& quantiser, const BoundedQueries<C>& queries, const BoundedPanel<C>& panel)
        : q_(quantiser), queries_(queries), panel_(panel), rows_(queries, quantiser.size()) {}

    // Forgets the queries of the last cell. All tiles are looked at in its first panel.
    void clear() {
        is_watched_.assign(static_cast<std::size_t>(queries_.count()), 1);  // there are no more tiles than that
        rows_.clear();
        open_.clear();
    }

    // Takes note of how many pairs of a tile were open: only one that had many is looked at in the next panel.
    void record(const QueryTile& tile, std::int64_t open) {
        const double pairs = static_cast<double>(queries_.tile_rows()) * static_cast<double>(panel_.width());
        is_watched_[tile.index] = static_cast<double>(open) >= measured::kOpenOfWatchedTile * pairs;
    }
    // Takes the open pairs of those tasks that have many out of the masks of a tile. Returns the number of these pairs.
    std::int64_t take(const QueryTile& tile, PairMasks* masks) {
        if (is_watched_[tile.index] == 0) return 0;
        const int least = least_open();
        std::int64_t taken = 0;
        for (std::size_t i = 0; i < tile.tasks; ++i) {
            const std::uint64_t open = masks[i].open();
            if (std::popcount(open) < least) continue;
            masks[i].not_below &= ~open;
            const auto task = static_cast<std::uint32_t>(tile.first_task + i);
            open_.push_back({rows_.row_of(queries_.tasks()[task].query), task, open});
            taken += std::popcount(open);
        }
        return taken;
    }
    // The least number of open pairs with which the row of a task is scored.
    int least_open() const {
        return static_cast<int>(std::ceil(measured::kOpenOfScoredRow * static_cast<double>(panel_.width())));
    }
    // Scores the pairs that were taken from a panel.
    void score(BoundedTasks<C>& tasks) {
        if (open_.empty()) return;
        std::sort(open_.begin(), open_.end(), [](const OpenLanes& a, const OpenLanes& b) { return a.row < b.row; });
        const auto *at = open_.data(), *const end = open_.data() + open_.size();
        while (at < end) {
            const std::size_t group = at->row / kFewQueries;
            const OpenLanes* next = at;
            while (next < end && next->row / kFewQueries == group) ++next;
            for (std::size_t lane = 0; lane < panel_.width(); lane += kernels_.lanes) {
                score_block(group, lane);
                for (const OpenLanes* open = at; open < next; ++open) take_scores(*open, lane, tasks);
            }
            at = next;
        }
        open_.clear();
    }

  private:
    // The open pairs of a task: a bit for each lane of the panel.
    struct OpenLanes {
        std::size_t row;
        std::uint32_t task;
        std::uint64_t lanes;
    };

    // Scores the rows of a group against the candidates from a lane on. The last of them fills the block.
    void score_block(std::size_t group, std::size_t first_lane) {
        const Scoring<C>& scoring = q_.scoring;
        const std::size_t lanes = kernels_.lanes, rows = rows_.size(group), last_lane = panel_.width() - 1;
        scores_.resize(kFewQueries * lanes);
        vectors_.resize(lanes);
        addends_.resize_queries(static_cast<std::int64_t>(kFewQueries));
        addends_.resize_candidates(static_cast<std::int64_t>(lanes));
        for (std::size_t j = 0; j < lanes; ++j) {
            const std::size_t lane = std::min(first_lane + j, last_lane);
            vectors_[j] = panel_.row(lane);
            addends_.set_candidate(scoring, j, panel_.facts(lane).column, panel_.facts(lane).squares);
        }
        for (std::size_t i = 0; i < rows; ++i) {
            const QueryFacts& query = rows_.facts(rows_.first_row(group) + i);
            addends_.set_query(i, query.mean, query.squares);
        }
        row_kernels<C>().accumulate(scoring.similarity, rows_.vectors(group), rows, vectors_.data(), q_.size(),
                                    /*adjacent=*/false, lanes, scores_.data());
        kernels_.finish(scoring.similarity,
                        addends_.tile_of_queries(scoring, scores_.data(), 0, static_cast<std::int64_t>(rows)));
    }
    // Hands on the scores of the open pairs of a task among the lanes of a block.
    void take_scores(const OpenLanes& open, std::size_t lane, BoundedTasks<C>& tasks) const {
        const std::size_t lanes = kernels_.lanes;
        const C* const scores = scores_.data() + open.row % kFewQueries * lanes;
        const std::uint64_t of_block = lanes < 64 ? (std::uint64_t{1} << lanes) - 1 : ~std::uint64_t{0};
        OpenPair pairs[kPanelLanes];
        C of_pairs[kPanelLanes];
        std::size_t n = 0;
        for (std::uint64_t left = open.lanes >> lane & of_block; left != 0; left &= left - 1, ++n) {
            const auto j = static_cast<std::size_t>(std::countr_zero(left));
            pairs[n] = {open.task, static_cast<std::uint32_t>(lane + j)};
            of_pairs[n] = scores[j];
        }
        tasks.take_scores(pairs, of_pairs, n);
    }

    const Quantiser<C>& q_;
    const BoundedQueries<C>& queries_;
    const BoundedPanel<C>& panel_;
    const SimilarityKernels<C>& kernels_ = q_.scoring.kernels;
    std::vector<char> is_watched_;  // of tiles
    DistinctRows<C> rows_;
    std::vector<OpenLanes> open_;

    // A block of scores, its candidates, and what finishes their sums.
    std::vector<C> scores_;
    std::vector<const C*> vectors_;
    Addends<C> addends_;
};

}  // namespace truerank
