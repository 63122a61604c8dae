// Settles the pairs that sums over the levels of a panel leave open, one by one.
//
// An open pair is one whose interval has a threshold in it. It goes through up to four steps, each dearer than the one
// before, and each of which leaves fewer pairs to the next: the score that a zero vector has with a query, which is
// computed once for all zero vectors; the sum over words, whose levels are finer than bytes; the value, summed up in
// floating point in any order, with a bound on its rounding; and the score, as it is defined. Only the last tells a
// tie.
//
// Pairs come from two sides. A task of a query is a RowSide; where both directions of an alignment are counted at once,
// a task of a candidate is a LaneSide. Both say where the query, the lane and the thresholds of a pair are, and hand on
// what came out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/bounded_panel.hpp"
#include "engine/bounded_queries.hpp"
#include "engine/bounds.hpp"
#include "engine/quantiser.hpp"
#include "engine/scoring.hpp"
#include "engine/sink.hpp"
#include "kernels/decisions.hpp"
#include "kernels/similarity.hpp"
#include "kernels/simd.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// Open pairs, and how many they are: room for more is kept.
struct OpenPairs {
    std::vector<OpenPair> list;
    std::size_t count = 0;
    OpenPair* room(std::size_t more) {
        if (list.size() < count + more + kOpenRoom) list.resize(count + more + kOpenRoom);
        return list.data() + count;
    }
};

// What settle() asks about an open pair, and whom it tells what came out: about a task of its query,
template <class C>
struct RowSide {
    const BoundedQueries<C>& queries;
    BoundedTasks<C>& tasks;
    std::size_t query(OpenPair pair) const { return queries.tasks()[pair.task].query; }
    double norm(OpenPair pair) const { return queries.tasks()[pair.task].norm; }
    const ValueThresholds& values(OpenPair pair) const { return queries.tasks()[pair.task].values; }
    // Whether a value that is at least `low`, or at most `high`, is above the thresholds, or below.
    bool is_above(OpenPair pair, float low) const { return low > queries.above()[pair.task]; }
    bool is_below(OpenPair pair, float high) const { return high < queries.below()[pair.task]; }
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
    const BoundedPanel<C>& panel;
    const Quantiser<C>& quantiser;
    LayeredTasks<C>& tasks;
    std::size_t query(OpenPair pair) const { return pair.task / panel.layers(); }
    double norm(OpenPair pair) const { return queries.facts(query(pair)).norm; }
    ValueThresholds values(OpenPair pair) const {
        return quantiser.scale.thresholds(static_cast<double>(panel.score(place(pair))),
                                          queries.facts(query(pair)).mean);
    }
    bool is_above(OpenPair pair, float low) const {
        return low + queries.offsets()[query(pair)].low > panel.thresholds().above[place(pair)];
    }
    bool is_below(OpenPair pair, float high) const {
        return high + queries.offsets()[query(pair)].high < panel.thresholds().below[place(pair)];
    }
    std::size_t place(OpenPair pair) const { return pair.task % panel.layers() * quantiser.kernels.lanes + pair.lane; }
    void take_scores(const OpenPair* pairs, const C* scores, std::size_t n) const {
        OpenPair placed[kPanelLanes];
        for (std::size_t i = 0; i < n; ++i) placed[i] = {static_cast<std::uint32_t>(place(pairs[i])), pairs[i].lane};
        tasks.take_scores(placed, scores, n);
    }
};

template <class C>
class Settling {
  public:
    Settling(const Quantiser<C>& quantiser, const BoundedQueries<C>& queries, const BoundedPanel<C>& panel)
        : q_(quantiser), queries_of_(queries), panel_(panel) {}

    // Forgets the queries of the last cell.
    void clear() { zero_sums_.clear(); }
    // Afterwards there are no open pairs.
    template <class Side>
    void settle(OpenPairs& open, const Side& side, BoundsTally& tally) {
        const std::size_t lanes = q_.kernels.lanes;
        values_.resize(lanes);
        if (panel_.has_zeros()) settle_zeros(open, side, tally);
        if (queries_of_.has_words()) settle_by_words(open, side);
        // Of the pairs that words leave open for a list, nearly all are among its entries, which have to be scored.
        const bool values_tell = side.tasks.counts() || !queries_of_.has_words();
        if (values_tell && !q_.has_sums_of_floats()) settle_by_values(open, side);
        tally.scored += static_cast<std::int64_t>(open.count);
        for (std::size_t at = 0; at < open.count; at += lanes) {
            const std::size_t n = std::min(lanes, open.count - at);
            const OpenPair* const pairs = open.list.data() + at;
            gather_rows(pairs, n, side);
            kernels_.accumulate_rows(q_.scoring.similarity, queries_.data(), candidates_.data(), n, q_.size(),
                                     values_.data());
            take_sums(pairs, n, side);
        }
        open.count = 0;
    }

  private:
    // Turns the sums of pairs into scores, and hands these on.
    template <class Side>
    void take_sums(const OpenPair* pairs, std::size_t n, const Side& side) {
        finish(pairs, n, side);
        side.take_scores(pairs, values_.data(), n);
    }
    // Scores the pairs of candidates that are zero vectors, whose sums depend on the query alone, and keeps the others.
    // A zero vector is about as far from all queries, so that no bound tells much about it.
    template <class Side>
    void settle_zeros(OpenPairs& open, const Side& side, BoundsTally& tally) {
        const std::size_t lanes = q_.kernels.lanes;
        zero_pairs_.clear();
        std::size_t kept = 0;
        for (std::size_t at = 0; at < open.count; ++at) {
            const OpenPair pair = open.list[at];
            if (panel_.facts(pair.lane).is_zero) {
                zero_pairs_.push_back(pair);
            } else {
                open.list[kept++] = pair;
            }
        }
        open.count = kept;
        if (zero_pairs_.empty()) return;
        if (zero_sums_.empty()) sum_zeros();
        for (std::size_t at = 0; at < zero_pairs_.size(); at += lanes) {
            const std::size_t n = std::min(lanes, zero_pairs_.size() - at);
            const OpenPair* const pairs = zero_pairs_.data() + at;
            for (std::size_t i = 0; i < n; ++i) values_[i] = zero_sums_[side.query(pairs[i])];
            take_sums(pairs, n, side);
        }
        tally.scored += static_cast<std::int64_t>(zero_pairs_.size());
    }
    // Sums up the pairs of all queries and a zero vector. Sums are the same with query and candidate exchanged.
    void sum_zeros() {
        const std::size_t lanes = kernels_.lanes;
        const auto count = static_cast<std::size_t>(queries_of_.count());
        const std::vector<C> zeros(kFewQueries * q_.size(), C{0});
        std::vector<C> sums(kFewQueries * lanes);
        queries_.resize(lanes);
        zero_sums_.resize(count);
        for (std::size_t first = 0; first < count; first += lanes) {
            const std::size_t n = std::min(lanes, count - first);
            for (std::size_t i = 0; i < lanes; ++i) queries_[i] = queries_of_.row(first + std::min(i, n - 1));
            row_kernels<C>().accumulate(q_.scoring.similarity, zeros.data(), 1, queries_.data(), q_.size(), false,
                                        lanes, sums.data());
            std::copy_n(sums.begin(), n, zero_sums_.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }

    // Keeps those pairs of which sums over words do not tell. As good as random, its sides are not branched on.
    template <class Side>
    void settle_by_words(OpenPairs& open, const Side& side) {
        constexpr std::size_t at_once = 64;
        const std::size_t bytes = queries_of_.word_row_bytes();
        std::uint32_t* const counters = side.tasks.counters();
        std::size_t kept = 0;
        for (std::size_t at = 0; at < open.count; at += at_once) {
            const std::size_t n = std::min(at_once, open.count - at);
            const unsigned char *queries[at_once], *candidates[at_once];
            std::int32_t sums[at_once];
            for (std::size_t i = 0; i < n; ++i) {
                const OpenPair pair = open.list[at + i];
                queries[i] = queries_of_.words(side.query(pair));
                for (std::size_t line = 0; line < bytes; line += 64) prefetch(address_after(queries[i], line));
                candidates[i] = panel_.words(pair.lane);
            }
            q_.kernels.sum_word_rows(queries, candidates, n, bytes, sums);
            for (std::size_t i = 0; i < n; ++i) {
                const OpenPair pair = open.list[at + i];
                const ValueRow& row = queries_of_.word_row(side.query(pair));
                const ValueLane& lane = panel_.word_lane(pair.lane);
                const float x = static_cast<float>(sums[i]) * row.scale * lane.low_scale;
                const float error = row.norm * lane.residue + row.residue * lane.norm;
                const bool above = side.is_above(pair, x + lane.low - error);
                const bool below = side.is_below(pair, x + lane.high + error);
                counters[side.place(pair)] += above;
                open.list[kept] = pair;
                kept += static_cast<std::size_t>(!(below | above));
            }
        }
        open.count = kept;
    }
    // The same of values.
    template <class Side>
    void settle_by_values(OpenPairs& open, const Side& side) {
        const std::size_t lanes = q_.kernels.lanes;
        const bool counts = side.tasks.counts();
        std::uint32_t* const counters = side.tasks.counters();
        std::size_t kept = 0;
        for (std::size_t at = 0; at < open.count; at += lanes) {
            const std::size_t n = std::min(lanes, open.count - at);
            gather_rows(open.list.data() + at, n, side);
            kernels_.sum_rows(q_.scoring.similarity, queries_.data(), candidates_.data(), n, q_.size(), values_.data());
            for (std::size_t i = 0; i < n; ++i) {
                const OpenPair pair = open.list[at + i];
                const ValueThresholds& thresholds = side.values(pair);
                const double value = q_.scale.value(static_cast<double>(values_[i]));
                // The rounding of this sum, and for products that of the score.
                const double size =
                    q_.scale.is_product() ? side.norm(pair) * panel_.facts(pair.lane).norm : std::abs(value);
                const double sum = value + panel_.facts(pair.lane).offset;
                const double slack = 2 * q_.scale.gamma() * size + std::abs(sum) * 0x1p-50 + 0x1p-100;
                const bool below = sum + slack < thresholds.below;
                const bool above = counts && sum - slack > thresholds.above;
                counters[side.place(pair)] += above;
                open.list[kept] = pair;
                kept += static_cast<std::size_t>(!(below | above));
            }
        }
        open.count = kept;
    }

    template <class Side>
    void gather_rows(const OpenPair* pairs, std::size_t n, const Side& side) {
        for (auto* rows : {&queries_, &candidates_}) rows->resize(q_.kernels.lanes);
        for (std::size_t i = 0; i < n; ++i) {
            const C* const row = queries_of_.row(side.query(pairs[i]));
            // The rows of queries are far apart, and seldom in the nearest cache; the hardware finds what follows.
            for (std::size_t line = 0; line < 4; ++line) prefetch(address_after(row, 64 * line));
            queries_[i] = row;
            candidates_[i] = panel_.row(pairs[i].lane);
        }
    }

    // Makes scores of the sums of n pairs.
    template <class Side>
    void finish(const OpenPair* pairs, std::size_t n, const Side& side) {
        addends_.resize_queries(static_cast<std::int64_t>(q_.kernels.lanes));
        addends_.resize_candidates(static_cast<std::int64_t>(q_.kernels.lanes));
        for (std::size_t i = 0; i < n; ++i) {
            const QueryFacts& query = queries_of_.facts(side.query(pairs[i]));
            const CandidateFacts& candidate = panel_.facts(pairs[i].lane);
            addends_.set_query(i, query.mean, query.squares);
            addends_.set_candidate(q_.scoring, i, candidate.column, candidate.squares);
        }
        kernels_.finish(q_.scoring.similarity, addends_.tile(q_.scoring, values_.data(), 1, 0, true));
    }

    const Quantiser<C>& q_;
    const BoundedQueries<C>& queries_of_;
    const BoundedPanel<C>& panel_;
    const SimilarityKernels<C>& kernels_ = q_.scoring.kernels;
    std::vector<OpenPair> zero_pairs_;
    std::vector<C> zero_sums_;  // of the queries, once they are asked for
    std::vector<const C*> queries_, candidates_;
    std::vector<C> values_;  // or scores, of some pairs
    Addends<C> addends_;
};

}  // namespace truerank
