// Late interaction: the greatest score of each token of a query with the tokens of a document, and sums of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd.hpp"

namespace truerank {

// The tokens of one document in a panel, where they are its lanes, or in several: from begin up to but not including
// end.
struct TokenSpan {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t document;  // where its maxima are
    bool continues;          // panels before these have tokens of it, too
    bool ends;               // no panel after these has
};

// Numbers that are kept of a row while a document goes on from panel to panel: a vector.
template <class T>
inline constexpr std::size_t kRunning = 64 / sizeof(T);

template <class T>
struct MaximaKernels {
    // Of some rows of sums, as SimilarityKernels has them, the maximum of each span: once its document ends,
    // that of a row is maxima[document * stride + row]. What is known of a document that goes on is in a vector of its
    // own for each row, running[row * kRunning<T>]. A NaN is greater than all.
    void (*take)(const T* sums, std::size_t rows, const TokenSpan* spans, std::size_t n, std::size_t stride, T* maxima,
                 T* running);
    // The same of sums over levels, in panels of as many lanes.
    void (*take_levels)(const std::int32_t* sums, std::size_t rows, const TokenSpan* spans, std::size_t n,
                        std::size_t stride, std::int32_t* maxima, std::int32_t* running);
    // Of `rows` rows of the sums of a tile over the levels of some panels, sums[(panel * tile_rows + row) * lanes +
    // lane], lists the places, panel * lanes + lane, of those that are less than the greatest of their span by no more
    // than margins[row * n + span]. Those of a row and a span end before ends[row * n + span]; numbers after the last
    // may be written to, up to a whole vector. What is known of a span that continues is in running[row].
    void (*list_greatest)(const std::int32_t* sums, std::size_t tile_rows, std::size_t rows, const TokenSpan* spans,
                          std::size_t n, const std::int32_t* margins, std::int32_t* running, std::uint32_t* places,
                          std::uint32_t* ends);
    // The sum of n maxima times their scales, in any order.
    double (*sum_levels)(const std::int32_t* maxima, const float* scales, std::size_t n);
};

// The kernels of the instruction set chosen at start, for float and double vectors.
template <class T>
const MaximaKernels<T>& maxima_kernels() {
    return kernels_of<MaximaKernels<T>>(isa());
}

}  // namespace truerank
