// What a similarity does with a component of two vectors.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/similarity.hpp"

namespace truerank {
namespace {

// Each of these is a step: it takes the sum of a pair, with the next component of both vectors, to the next sum. Sums
// begin at 0; a NaN must stay one.
struct Product {
    static constexpr int components = 1;
    template <class A, class V = typename A::Vector>
    static TRUERANK_INLINE V next(V sum, const V* q, const V* e) {
        return A::fma(q[0], e[0], sum);
    }
};
struct Difference {
    static constexpr int components = 1;
    template <class A, class V = typename A::Vector>
    static TRUERANK_INLINE V next(V sum, const V* q, const V* e) {
        return sum + A::abs(A::difference(e[0], q[0]));
    }
};
struct SquaredDifference {
    static constexpr int components = 1;
    template <class A, class V = typename A::Vector>
    static TRUERANK_INLINE V next(V sum, const V* q, const V* e) {
        const V difference = q[0] - e[0];
        return A::fma(difference, difference, sum);
    }
};
struct ComplexModulus {
    static constexpr int components = 2;
    template <class A, class V = typename A::Vector>
    static TRUERANK_INLINE V next(V sum, const V* q, const V* e) {
        const V re = q[0] - e[0], im = q[1] - e[1];
        return sum + A::sqrt(A::fma(re, re, im * im));
    }
};

// Calls `use` with the step of a similarity.
template <class Use>
TRUERANK_INLINE void with_step(Similarity similarity, Use use) {
    switch (similarity) {
        case Similarity::dot:
        case Similarity::cosine:
            return use(Product{});
        case Similarity::l1:
        case Similarity::inverse_l1:
            return use(Difference{});
        case Similarity::l2:
        case Similarity::sql2:
        case Similarity::inverse_l2:
        case Similarity::poincare:
            return use(SquaredDifference{});
        case Similarity::complex_l1:
            return use(ComplexModulus{});
    }
}

// Vectors of candidates in a register tile. Each has kTileQueries accumulators, and with these the tile fills the
// thirty-two registers of AVX-512 and NEON, or the sixteen of AVX2 and SSE.
#if defined(__aarch64__) || defined(_M_ARM64)
constexpr std::size_t kTileVectors = 4;
#else
constexpr std::size_t kTileVectors = kBytes == 64 ? 4 : 2;
#endif

// The candidates of a block, for vectors of T: the lanes of SumKernels.
template <class T>
constexpr std::size_t kBlockLanes = kTileVectors * (kBytes / sizeof(T));

// The sums of a tile of kTileQueries queries and Vectors vectors of candidates, which are packed side by side.
template <class A, std::size_t Vectors, class Step, class T>
TRUERANK_INLINE void accumulate_tile(const T* queries, const T* panel, std::size_t depth, bool from_zero, T* sums) {
    using Vector = typename A::Vector;
    constexpr std::size_t size = A::size, lanes = Vectors * size, width = Step::components;
    Vector sum[kTileQueries][Vectors];
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < kTileQueries; ++i) {
        TRUERANK_UNROLL
        for (std::size_t v = 0; v < Vectors; ++v) {
            sum[i][v] = from_zero ? Vector{} : A::load(sums + i * lanes + v * size);
        }
    }
    for (std::size_t k = 0; k < depth; k += width) {
        Vector e[Vectors][width];
        TRUERANK_UNROLL
        for (std::size_t v = 0; v < Vectors; ++v) {
            TRUERANK_UNROLL
            for (std::size_t c = 0; c < width; ++c) e[v][c] = A::load(panel + (k + c) * lanes + v * size);
        }
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < kTileQueries; ++i) {
            Vector q[width];
            TRUERANK_UNROLL
            for (std::size_t c = 0; c < width; ++c) q[c] = A::broadcast(queries[(k + c) * kTileQueries + i]);
            TRUERANK_UNROLL
            for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = Step::template next<A>(sum[i][v], q, e[v]);
        }
    }
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < kTileQueries; ++i) {
        TRUERANK_UNROLL
        for (std::size_t v = 0; v < Vectors; ++v) A::store(sums + i * lanes + v * size, sum[i][v]);
    }
}

}  // namespace
}  // namespace truerank
