// Instructions of x86-64 that have names in no common language, hence the assembly: for vectors of each width.
#pragma once

#include <cstdint>

#include "kernels/simd.hpp"

#if defined(TRUERANK_AVX2)

// clang takes a wide operand only in a function that has the instruction set itself, and such a function cannot be one
// that must be inlined into a body without it. It is inlined all the same, since the body ends up in a wrapper, if that
// has the very same set. Vectors are passed by reference: by value they would go different ways in functions of
// different sets.
#if defined(__clang__)
#define TRUERANK_INSTRUCTION(set) static inline __attribute__((target(set)))
#else
#define TRUERANK_INSTRUCTION(set) static TRUERANK_INLINE
#endif

namespace truerank {

template <int Bytes>
struct VectorTypes {
    using Ints = typename Simd<std::int32_t, Bytes>::type;
    using Longs = typename Simd<std::int64_t, Bytes>::type;
    using Floats = typename Simd<float, Bytes>::type;
};

// add_byte_products: adds the products of four unsigned bytes of `a` and four signed ones of `b` to each sum.
// word_products: the sums of the products of two words of 16 bits. byte_distances: of the distances of eight unsigned
// bytes. rough_inverse_root: 1 / sqrt(x).
template <int Bytes>
struct Instructions;

template <>
struct Instructions<16> : VectorTypes<16> {
    static TRUERANK_INLINE void add_byte_products(Ints& sums, const Ints& a, const Ints& b) {
        __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
    }
    static TRUERANK_INLINE void word_products(Ints& result, const Ints& a, const Ints& b) {
        result = a;
        __asm__("pmaddwd %1, %0" : "+x"(result) : "x"(b));
    }
    static TRUERANK_INLINE void byte_distances(Longs& result, const Longs& a, const Longs& b) {
        result = a;
        __asm__("psadbw %1, %0" : "+x"(result) : "x"(b));
    }
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        __asm__("rsqrtps %1, %0" : "=x"(result) : "x"(x));
    }
    // One bit for each lane of a mask.
    static TRUERANK_INLINE std::uint64_t lane_bits(const Ints& mask) {
        unsigned bits;
        __asm__("movmskps %1, %0" : "=r"(bits) : "x"(mask));
        return bits;
    }
};

template <>
struct Instructions<32> : VectorTypes<32> {
    TRUERANK_INSTRUCTION(TRUERANK_AVX2) void add_byte_products(Ints& sums, const Ints& a, const Ints& b) {
        __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX2) void word_products(Ints& result, const Ints& a, const Ints& b) {
        __asm__("vpmaddwd %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX2) void byte_distances(Longs& result, const Longs& a, const Longs& b) {
        __asm__("vpsadbw %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX2) void rough_inverse_root(Floats& result, const Floats& x) {
        __asm__("vrsqrtps %1, %0" : "=x"(result) : "x"(x));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX2) std::uint64_t lane_bits(const Ints& mask) {
        unsigned bits;
        __asm__("vmovmskps %1, %0" : "=r"(bits) : "x"(mask));
        return bits;
    }
};

template <>
struct Instructions<64> : VectorTypes<64> {
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) void add_byte_products(Ints& sums, const Ints& a, const Ints& b) {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) void word_products(Ints& result, const Ints& a, const Ints& b) {
        __asm__("vpmaddwd %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) void byte_distances(Longs& result, const Longs& a, const Longs& b) {
        __asm__("vpsadbw %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) void rough_inverse_root(Floats& result, const Floats& x) {
        __asm__("vrsqrt14ps %1, %0" : "=v"(result) : "v"(x));
    }
    // One bit for each lane: whether it is greater, or not less. A comparison with a NaN does not hold.
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) std::uint64_t lanes_greater(const Floats& a, const Floats& b) {
        std::uint16_t bits;
        __asm__("vcmpps $30, %2, %1, %0" : "=Yk"(bits) : "v"(a), "v"(b));
        return bits;
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) std::uint64_t lanes_at_least(const Floats& a, const Floats& b) {
        std::uint16_t bits;
        __asm__("vcmpps $29, %2, %1, %0" : "=Yk"(bits) : "v"(a), "v"(b));
        return bits;
    }
};

}  // namespace truerank

#undef TRUERANK_INSTRUCTION
#endif
