// Kernels that read vectors where they lie, the components of each one after the other.
#pragma once

#include <cstddef>

#include "kernels/count.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

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
    // Widen the n components of a vector.
    void (*widen_half)(const Half* from, std::size_t n, T* to);
    void (*widen_bfloat16)(const BFloat16* from, std::size_t n, T* to);
};

// The kernels of the instruction set chosen at start, for float and double.
template <class T>
const RowKernels<T>& row_kernels();

}  // namespace truerank
