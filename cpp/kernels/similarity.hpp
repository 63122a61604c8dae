// The scoring kernels: they compute the scores of a few queries against a panel of candidates, and count them.
//
// The score of a pair is a pure function of its two vectors. Each pair has one accumulator, to which its components are
// added in their order by operations that round once, the fused multiply-add among them. A register tile holds many
// pairs, and each of them whole, so that tiles, blocks, threads and instruction sets leave no trace in the bits. Where
// the hardware has no fused multiply-add, an equivalent takes its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/count.hpp"
#include "kernels/simd.hpp"

namespace truerank {

enum class Similarity : int { dot, cosine, l1, l2, sql2, complex_l1, poincare, inverse_l1, inverse_l2 };

// The names of the similarities in Python, in the order in which messages list them.
struct NamedSimilarity {
    const char* name;
    Similarity similarity;
};
inline constexpr NamedSimilarity kSimilarities[] = {
    {"dot", Similarity::dot},
    {"cosine", Similarity::cosine},
    {"l1", Similarity::l1},
    {"l2", Similarity::l2},
    {"sql2", Similarity::sql2},
    {"complex_l1", Similarity::complex_l1},
    {"poincare", Similarity::poincare},
    {"inverse_l1", Similarity::inverse_l1},
    {"inverse_l2", Similarity::inverse_l2},
};

// Queries in a register tile.
inline constexpr std::size_t kTileQueries = 6;

// The sums of a register tile, which become scores in place: `rows` times SimilarityKernels::lanes of them. The bias is
// one number for each lane, or null. The squares are sums of the squared components of a vector, and matter only to
// similarities that need them (needs_squares). Those of the queries are one for each row or, if `pairwise`, one for
// each lane; those of the candidates are one for each lane. The means are like the squares, or both null: with them a
// score s becomes 2 s less the sum of both means.
template <class T>
struct RegisterTile {
    T* sums;
    std::size_t rows;
    const T* bias;
    const double* query_squares;
    const double* candidate_squares;
    const T* query_means;
    const T* candidate_means;
    bool pairwise;
};

// The true scores of tasks, and their counters: SimilarityKernels::counters_per_task of either kind for each task.
template <class T>
struct TaskCounters {
    using Counter = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const T* true_scores;
    Counter* above;
    Counter* tied;
};

template <class T>
struct SimilarityKernels {
    // Vectors are packed side by side: component k of candidate i is panel[k * lanes + i], and component k of query i
    // is queries[k * kTileQueries + i]. Adds `depth` components of kTileQueries x lanes pairs to sums[query * lanes +
    // lane], which start from 0 if `from_zero`.
    void (*accumulate)(Similarity similarity, const T* queries, const T* panel, std::size_t depth, bool from_zero,
                       T* sums);
    // The same for pairs: lane i of a panel of queries with lane i of a panel of candidates.
    void (*accumulate_pairs)(Similarity similarity, const T* queries, const T* panel, std::size_t depth, T* sums);
    // The same for n pairs of rows, whose components lie one after the other; n is at most `lanes`. Sums
    // after the n-th may be written to, up to a whole vector.
    void (*accumulate_rows)(Similarity similarity, const T* const* queries, const T* const* candidates, std::size_t n,
                            std::size_t depth, T* sums);
    // The sums of such pairs with the components in another order, and products that may be rounded by themselves,
    // which is faster.
    void (*sum_rows)(Similarity similarity, const T* const* queries, const T* const* candidates, std::size_t n,
                     std::size_t depth, T* sums);
    // Turns the sums of a tile into scores.
    void (*finish)(Similarity similarity, const RegisterTile<T>& tile);
    // Counts the scores of row i for its tasks, those from first[i] to first[i + 1]. A NaN is neither above nor tied.
    // Returns whether there was a NaN in any row.
    bool (*count)(const T* scores, std::size_t rows, const std::int64_t* first, const TaskCounters<T>& counters);
    // The same for tasks of the lanes, whose candidates are the rows: layer i of the counters holds one task of each
    // lane. Its true score is NaN where a lane has no more tasks.
    void (*count_lanes)(const T* scores, std::size_t rows, std::size_t layers, const TaskCounters<T>& counters);
    // One bit for each lane of each row: whether its score is at least the threshold of the row, or that of its lane
    // unless these are null, or a NaN.
    void (*lane_bits_at_least)(const T* scores, std::size_t rows, const T* row_thresholds, const T* lane_thresholds,
                               std::uint64_t* lanes);
    std::size_t lanes;
    std::size_t counters_per_task;
};

// Kernels that read vectors where they lie, the components of each one after the other.

// The most queries of RowKernels::accumulate.
inline constexpr std::size_t kFewQueries = 8;

template <class T>
struct RowKernels {
    // Packs n vectors side by side: component k of vectors[i] becomes panel[k * lanes + i]. `adjacent`: whether the
    // vectors, and those that are packed next, follow each other in memory without a gap, which tells what to prefetch.
    void (*pack)(const T* const* vectors, std::size_t n, std::size_t depth, bool adjacent, std::size_t lanes, T* panel);
    // The sums of a few queries against `lanes` vectors, as SimilarityKernels::accumulate computes them from panels:
    // for so few, packing would take longer than the sums. Component k of query i is queries[k * kFewQueries + i], and
    // sums[i * lanes + j] becomes that of query i and vectors[j]; `lanes` is that of SimilarityKernels. There is room
    // for kFewQueries rows, and more than `rows` may be written.
    void (*accumulate)(Similarity similarity, const T* queries, std::size_t rows, const T* const* vectors,
                       std::size_t depth, bool adjacent, std::size_t lanes, T* sums);
    // The same sums of n vectors of bytes, in integers, which are exact: sums[i * lanes + j] becomes that of query i,
    // whose `depth` components lie one after the other, and vectors[j]. Only doubles are made of bytes, and
    // `sums_bytes` says by which similarities.
    void (*accumulate_bytes)(Similarity similarity, const std::int16_t* queries, std::size_t rows,
                             const std::uint8_t* const* vectors, std::size_t n, bool is_signed, std::size_t depth,
                             std::size_t lanes, T* sums);
    // Sums up the squared components of n vectors, in double precision and in their order; for floats the products are
    // exact.
    void (*add_squares)(const T* const* vectors, std::size_t n, std::size_t depth, double* sums);
    // Divides the components of a vector of floats by the root of that sum, unless this is 0, as `divide` does it, but
    // in less time. Returns false, and writes anything, where it cannot tell what division gives: seldom, but always of
    // doubles and of vectors that are not finite.
    bool (*try_normalise)(const T* from, std::size_t depth, T* to);
    // Divides the n components of a vector, in double precision.
    void (*divide)(const T* from, std::size_t n, double by, T* to);
    // Widen the n components of a vector.
    void (*widen_half)(const Half* from, std::size_t n, T* to);
    void (*widen_bfloat16)(const BFloat16* from, std::size_t n, T* to);
};

// The kernels of the instruction set chosen at start, for float and double.
template <class T>
const SimilarityKernels<T>& similarity_kernels() {
    return kernels_of<SimilarityKernels<T>>(isa());
}
template <class T>
const RowKernels<T>& row_kernels() {
    return kernels_of<RowKernels<T>>(isa());
}

// The components that a step through a vector takes: those of complex numbers come in pairs.
constexpr std::int64_t components(Similarity similarity) { return similarity == Similarity::complex_l1 ? 2 : 1; }
constexpr bool normalises(Similarity similarity) { return similarity == Similarity::cosine; }
constexpr bool needs_squares(Similarity similarity) { return similarity == Similarity::poincare; }
// Whether sums over bytes are integers.
constexpr bool sums_bytes(Similarity similarity) {
    return components(similarity) == 1 && !normalises(similarity) && !needs_squares(similarity);
}

}  // namespace truerank
