// The vectors of a call, and what its scores depend on beside their components.
//
// A score is made in two steps. First the components of two vectors are summed up, by the similarity; then the sum is
// finished, which may add a bias, take off the means of CSLS, or need the sums of the squared components (cosine and
// poincare). Scoring says where all of these are for a whole call. Addends gathers those of a few pairs side by side,
// as the kernel that finishes their sums takes them (RegisterTile).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/bounds/bounds.hpp"
#include "engine/sweep/embeddings.hpp"
#include "engine/sweep/vectors.hpp"
#include "kernels/measured.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

template <class C>
struct Scoring {
    explicit Scoring(const Embeddings& e)
        : queries(e.queries),
          candidates(e.entities),
          similarity(e.similarity),
          bias(static_cast<const C*>(e.bias)),
          query_means(static_cast<const C*>(e.query_means)),
          candidate_means(static_cast<const C*>(e.entity_means)),
          embeddings(e) {}
    Vectors<C> queries;
    Vectors<C> candidates;
    Similarity similarity;
    const C* bias;             // of each candidate, or null
    const C* query_means;      // of CSLS, or null
    const C* candidate_means;  // likewise
    const Embeddings& embeddings;
    const SimilarityKernels<C>& kernels = similarity_kernels<C>();

    std::int64_t depth() const { return queries.depth(); }
    auto lanes() const { return static_cast<std::int64_t>(kernels.lanes); }
    Packing packing() const { return {normalises(similarity), needs_squares(similarity)}; }
    // Whether so many queries are scored against candidates where they lie: packing them, or quantising them for
    // bounds, would take longer. Candidates of which the squares matter are packed for these.
    bool few(std::int64_t n, bool is_bounded) const {
        return n <= most_in_place(is_bounded) && !packing().squares && !are_bounds_forced();
    }
    std::int64_t most_in_place(bool is_bounded) const {
        if (!has_bytes()) return static_cast<std::int64_t>(kFewQueries);
        if (!is_bounded) return measured::kFewQueriesOfBytes;
        const bool fills_vectors = depth() % (vector_bytes() / 2) == 0 || byte_products() != ByteProducts::fours;
        return fills_vectors ? measured::kFewBoundedOfBytes : measured::kFewBoundedOfRest;
    }
    // Whether bytes of one dtype are their own levels, so that sums of levels are exact.
    bool has_byte_levels() const {
        return candidates.has_bytes() && queries.dtype() == candidates.dtype() && !normalises(similarity) &&
               !embeddings.has_tokens();
    }
    // Whether sums are made of bytes.
    bool has_bytes() const { return queries.has_bytes() && candidates.has_bytes() && sums_bytes(similarity); }
};

// What finishes the sums of a few queries and candidates: one number for each query (or, where tiles are pairwise, for
// each pair), and one for each candidate. Squares are written to by those who have them.
template <class C>
struct Addends {
    std::vector<C> query_means, bias, candidate_means;
    std::vector<double> query_squares, candidate_squares;

    void resize_queries(std::int64_t n) {
        query_means.resize(static_cast<std::size_t>(n));
        query_squares.resize(static_cast<std::size_t>(n));
    }
    void resize_candidates(std::int64_t n) {
        for (auto* numbers : {&bias, &candidate_means}) numbers->resize(static_cast<std::size_t>(n));
        candidate_squares.resize(static_cast<std::size_t>(n));
    }
    void gather_queries(const Scoring<C>& scoring, const std::int64_t* ids, std::int64_t n) {
        gather(scoring.query_means, ids, n, query_means);
    }
    void gather_candidates(const Scoring<C>& scoring, const std::int64_t* ids, std::int64_t n) {
        gather(scoring.bias, ids, n, bias);
        gather(scoring.candidate_means, ids, n, candidate_means);
    }
    void set_query(std::size_t i, double mean, double squares) {
        query_means[i] = static_cast<C>(mean);
        query_squares[i] = squares;
    }
    void set_candidate(const Scoring<C>& scoring, std::size_t j, std::int64_t id, double squares) {
        if (scoring.bias != nullptr) bias[j] = scoring.bias[id];
        if (scoring.candidate_means != nullptr) candidate_means[j] = scoring.candidate_means[id];
        candidate_squares[j] = squares;
    }
    // A row of the sums of pairs: each lane has a query and a candidate of its own.
    RegisterTile<C> row_of_pairs(const Scoring<C>& scoring, C* sums) const {
        const bool has_means = scoring.query_means != nullptr;
        const bool has_bias = scoring.bias != nullptr || scoring.embeddings.adds_zero;  // then it is 0 for all
        return {.sums = sums,
                .rows = 1,
                .bias = has_bias ? bias.data() : nullptr,
                .query_squares = query_squares.data(),
                .candidate_squares = candidate_squares.data(),
                .query_means = has_means ? query_means.data() : nullptr,
                .candidate_means = has_means ? candidate_means.data() : nullptr,
                .pairwise = true};
    }
    // The sums of n queries, from number `first` of those that were gathered on.
    RegisterTile<C> tile_of_queries(const Scoring<C>& scoring, C* sums, std::int64_t first, std::int64_t n) const {
        RegisterTile<C> tile = row_of_pairs(scoring, sums);
        tile.rows = static_cast<std::size_t>(n);
        tile.query_squares += first;
        if (tile.query_means != nullptr) tile.query_means += first;
        tile.pairwise = false;
        return tile;
    }

  private:
    static void gather(const C* from, const std::int64_t* ids, std::int64_t n, std::vector<C>& to) {
        if (from == nullptr) return;
        for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = from[ids[i]];
    }
};

}  // namespace truerank
