// What a similarity does with a component of two vectors.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

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

}  // namespace truerank
