// Vector arithmetic that gives the same bits everywhere: every operation rounds once, to nearest.
#pragma once

#include <bit>
#include <cfloat>
#include <cstdint>
#include <limits>

#include "kernels/unit.hpp"

namespace truerank {
namespace {

// Where intermediate results have more digits than their type, as on the x87, the bits would differ.
static_assert(FLT_EVAL_METHOD == 0);

template <class T, int Bytes = kBytes, bool Fused = kFused>
struct Arithmetic : Vectors<T, Bytes> {
    using typename Vectors<T, Bytes>::Bits;
    using typename Vectors<T, Bytes>::Vector;
    using typename Vectors<T, Bytes>::Mask;
    using typename Vectors<T, Bytes>::Counts;
    using Vectors<T, Bytes>::size;

    // Broadcasts the bits of x. Vector{} + x would be an addition, which turns -0 into +0, and GCC does not merge
    // assignments to single lanes into a broadcast.
    static TRUERANK_INLINE Vector broadcast(T x) { return (Vector)(Counts{} + std::bit_cast<Bits>(x)); }
    static TRUERANK_INLINE Vector abs(Vector x) { return (Vector)((Counts)x & (Counts{} + (~Bits{0} >> 1))); }
    static TRUERANK_INLINE Vector sqrt(Vector x) {
        Vector result{};
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < size; ++i) {
            if constexpr (sizeof(T) == 4) {
                result[i] = __builtin_sqrtf(x[i]);
            } else {
                result[i] = __builtin_sqrt(x[i]);
            }
        }
        return result;
    }
    // a * b + c, rounded once.
    static TRUERANK_INLINE Vector fma(Vector a, Vector b, Vector c) {
        if constexpr (!Fused && sizeof(T) == 4) {
            static_assert(Bytes == 16);
            return emulated_fma(a, b, c);
        } else {
            Vector result{};
            TRUERANK_UNROLL
            for (std::size_t i = 0; i < size; ++i) {
                if constexpr (sizeof(T) == 4) {
                    result[i] = __builtin_fmaf(a[i], b[i], c[i]);
                } else {  // without the hardware this is the library's function, which is slow
                    result[i] = __builtin_fma(a[i], b[i], c[i]);
                }
            }
            return result;
        }
    }
    // a - b. AVX-512 has a register to spare for -1, so that the difference can be a multiply-add, which gives the same
    // bits. On processors whose adders are separate from their multipliers (AMD's) both are busy then, and sums of
    // differences are a sixth faster.
    static TRUERANK_INLINE Vector difference(Vector a, Vector b) {
        if constexpr (Fused && Bytes == 64) {
            return fma(b, broadcast(-1), a);
        } else {
            return a - b;
        }
    }
    template <class Lanes>
    static TRUERANK_INLINE bool any(Lanes lanes) {
        using Words = typename Simd<std::int64_t, Bytes>::type;
        const Words words = (Words)lanes;
        std::int64_t all = 0;
        TRUERANK_UNROLL
        for (int i = 0; i < Bytes / 8; ++i) all |= words[i];
        return all != 0;
    }

  private:
    // The types below serve vectors of 16 bytes, in two halves.
    using HalfVector = typename Simd<float, Bytes / 2>::type;
    using Wide = typename Simd<double, Bytes>::type;
    using Long = typename Simd<std::int64_t, Bytes>::type;
    static TRUERANK_INLINE Wide widened(Vector vector, int half) {
        return __builtin_convertvector(std::bit_cast<HalfVector>(((Long)vector)[half]), Wide);
    }

    // The multiply-add of floats by way of double precision. There the product of two floats is exact, and its sum with
    // a third is rounded once before it is rounded to a float. The two roundings give the same as one, unless the first
    // ended half way between two floats. For normal numbers the last 29 bits of the sum tell.
    static TRUERANK_INLINE Vector emulated_fma(Vector a, Vector b, Vector c) {
        const Wide low = widened(a, 0) * widened(b, 0), high = widened(a, 1) * widened(b, 1);
        const Wide low_addend = widened(c, 0), high_addend = widened(c, 1);
        Wide low_sum = low + low_addend, high_sum = high + high_addend;
        if (any((Mask)(doubtful(low_sum) | doubtful(high_sum)))) {
            low_sum = rounded_to_odd(low, low_addend, low_sum);
            high_sum = rounded_to_odd(high, high_addend, high_sum);
        }
        return (Vector)Long{std::bit_cast<std::int64_t>(__builtin_convertvector(low_sum, HalfVector)),
                            std::bit_cast<std::int64_t>(__builtin_convertvector(high_sum, HalfVector))};
    }

    // The mask of sums whose two roundings may differ from one: those half way between two floats, and those that
    // become subnormal floats.
    static TRUERANK_INLINE Long doubtful(Wide sum) {
        // Compares words of 32 bits, which SSE2 can do; the results for the upper words are masked out.
        using Words = typename Simd<std::int32_t, Bytes>::type;
        const Words half_way = ((Words)sum & 0x1fffffff) == 0x10000000;
        const Wide magnitude = (Wide)((Long)sum & std::numeric_limits<std::int64_t>::max());
        return ((Long)half_way & 0xffffffff) | ((magnitude < 0x1p-125) & (magnitude > 0.0));
    }

    // The sum rounded to odd: where the sum is not exact and the nearest number is even, this takes its neighbour on
    // the other side of the exact sum, which is odd. Rounding that to a float gives the same as rounding the exact sum
    // (Boldo and Melquiond, 2008).
    static TRUERANK_INLINE Wide rounded_to_odd(Wide product, Wide addend, Wide sum) {
        const Wide back = sum - product;
        const Wide rest = (product - (sum - back)) + (addend - back);  // exact; NaN where the sum is infinite
        const Long more = rest > 0, less = rest < 0, negative = sum < 0;
        const Long even = ((Long)sum & 1) - 1;
        const Long out = (more & ~negative) | (less & negative), in = (more & negative) | (less & ~negative);
        return (Wide)((Long)sum - (out & even) + (in & even));
    }
};

// For sums in which roundings do not matter, since a bound covers them: without an instruction, a * b + c.
template <class T, int Bytes = kBytes>
struct Rough : Arithmetic<T, Bytes> {
    using typename Arithmetic<T, Bytes>::Vector;
    static TRUERANK_INLINE Vector fma(Vector a, Vector b, Vector c) {
        if constexpr (kFused) {
            return Arithmetic<T, Bytes>::fma(a, b, c);
        } else {
            return a * b + c;
        }
    }
};

}  // namespace
}  // namespace truerank
