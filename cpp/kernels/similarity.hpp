// The scoring kernels: the scores of a few queries against a panel of candidates, and what they count.
//
// The score of a pair is a pure function of its two vectors: one accumulator for each pair, to which the components are
// added in their order by operations that round once, a fused multiply-add among them. A register tile holds many
// pairs, never parts of one, so that tiles, blocks, threads and instruction sets leave no trace in the bits; where the
// hardware has no fused multiply-add, an equivalent takes its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace truerank {

enum class Similarity : int { dot, cosine, l1, l2, sql2, complex_l1, poincare, inverse_l1, inverse_l2 };

// What Python calls them, in the order in which messages list them.
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

// Finds scores in the sums of a tile: `rows` times `lanes` of them, in place. The bias is one number for each lane, or
// null. The squares, sums of the squared components of a vector, matter to similarities that ask for them: one for
// each row, or, pairwise, for each lane. So are the means, or both are null: a score s becomes 2 s less their sum.
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

// Counters of tasks, a vector of `counters` lanes for each of them.
template <class T>
struct TaskCounters {
    using Counter = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const T* true_scores;
    Counter* above;
    Counter* tied;
};

template <class T>
struct SimilarityKernels {
    // Vectors are packed side by side: component k of vector i is panel[k * lanes + i]; of queries, queries[k *
    // kQueries + i]. Adds `depth` components of kQueries x lanes pairs to sums[i * lanes + lane], or, fresh, to 0.
    void (*accumulate)(Similarity similarity, const T* queries, const T* panel, std::size_t depth, bool from_zero,
                       T* sums);
    // The same for lane i of a panel of queries with lane i of a panel of candidates.
    void (*accumulate_pairs)(Similarity similarity, const T* queries, const T* panel, std::size_t depth, T* sums);
    void (*finish)(Similarity similarity, const RegisterTile<T>& tile);
    // Adds what the truths of row i, those from first[i] to first[i + 1], find among its scores; a NaN is neither above
    // nor tied. Returns whether there was one in any row.
    bool (*count)(const T* scores, std::size_t rows, const std::int64_t* first, const TaskCounters<T>& counters);
    // The same for candidates: layer i of the tallies holds the truths of one task of each lane, NaN where a lane has
    // no more of them.
    void (*count_lanes)(const T* scores, std::size_t rows, std::size_t layers, const TaskCounters<T>& counters);
    // Whether a score is at least the threshold, or a NaN.
    bool (*any_at_least)(const T* scores, T threshold);
    // By row, as bits: whether a score is at least the threshold of its row or that of its lane, or a NaN.
    unsigned (*rows_at_least)(const T* scores, std::size_t rows, const T* row_thresholds, const T* lane_thresholds);
    // The same of one row by lane: 0, or not.
    void (*lanes_at_least)(const T* scores, T row_threshold, const T* lane_thresholds,
                           typename TaskCounters<T>::Counter* lanes);
    std::size_t lanes;
    std::size_t counters_per_task;
};

// The kernels of the instruction set chosen at start; float and double.
template <class T>
const SimilarityKernels<T>& similarity_kernels();

// Steps through a vector: the components of complex numbers come in pairs.
constexpr std::int64_t components(Similarity similarity) { return similarity == Similarity::complex_l1 ? 2 : 1; }
constexpr bool normalises(Similarity similarity) { return similarity == Similarity::cosine; }
constexpr bool needs_squares(Similarity similarity) {
    return similarity == Similarity::cosine || similarity == Similarity::poincare;
}

}  // namespace truerank
