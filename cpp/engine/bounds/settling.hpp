// Settles the pairs that sums over the levels of a panel leave open, one by one.
//
// An open pair is one whose interval has a threshold in it. It goes through up to three steps, each dearer than the one
// before, and each of which leaves fewer pairs to the next: the score that a zero vector has with a query, which is
// computed once for all zero vectors; the value, summed up in floating point in any order, with a bound on its
// rounding; and the score, as it is defined. Only the last tells a tie.
//
// A task of a query is a RowSide; where both directions of an alignment are counted at once, a task of a candidate is a
// LaneSide.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/bounds/bounded_panel.hpp"
#include "engine/bounds/bounded_queries.hpp"
#include "engine/bounds/bounds.hpp"
#include "engine/bounds/quantiser.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/sweep.hpp"
#include "kernels/decisions.hpp"
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

}  // namespace truerank
