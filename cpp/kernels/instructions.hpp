// Instructions that no operator of the compilers' vectors stands for, for vectors of each width. They are intrinsics
// where these come to the same code or better, else assembly, each for one of these reasons:
//
// - set: the instruction is not of the set of the function that it is inlined into. Wrappers have the sets of simd.hpp;
//   products of VNNI, SSSE3 and Armv8.2 come on top, and are called only where byte_products() says so.
// - registers: GCC inlines the intrinsics of AVX2 and AVX-512 late, since they have a set of their own, when what is
//   around them is laid out. Sums are as they were, but decisions get more operands on the stack: AVX2's decide_lanes
//   of doubles 36 in place of 12, AVX-512's decide_sums twice the instructions.
// - opaque: GCC sees through the intrinsic, and takes apart or puts together what is loaded at once.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>
#endif

#include "kernels/arithmetic.hpp"
#include "kernels/simd.hpp"

namespace truerank {

// What the instructions come to, in arithmetic that all processors have. Each adds to every sum: add_byte_products the
// products of four bytes of candidates `e`, which are stored as level + zero, with four signed ones of a query `q`;
// add_word_products those of two words of 16 bits; add_byte_distances the distances of the unsigned bytes of a sum.
// byte_pairs: the products of bytes without a sign and bytes with one, added up two by two in words of 16 bits, which
// have to hold them. broadcast: the same levels of a query in all lanes. rough_inverse_root: 1 / sqrt(x) of normal
// numbers x > 0, with no greater relative error than root_error.
template <int Bytes>
struct PlainInstructions {
    using Ints = typename Simd<std::int32_t, Bytes>::type;
    using Words = typename Simd<std::int16_t, Bytes>::type;
    using Floats = typename Simd<float, Bytes>::type;
    using Distances = Ints;
    static constexpr int zero = 0;
    static constexpr bool has_fused_words = false;            // another way to add_word_products
    static constexpr bool has_distances_by_products = false;  // another way to add_byte_distances
    static constexpr double root_error = 0x1p-22;
    static TRUERANK_INLINE void add_byte_products(Ints& sums, const Ints& e, const Ints& q) {
        for (int shift = 0; shift < 32; shift += 8) sums += (e << shift >> 24) * (q << shift >> 24);
    }
    static TRUERANK_INLINE void byte_pairs(Words& pairs, const Ints& e, const Ints& q) {
        const Words a = (Words)e, b = (Words)q;
        pairs = (a & 0xff) * (b << 8 >> 8) + (a >> 8 & 0xff) * (b >> 8);
    }
    template <class Sums, class Lane>
    static TRUERANK_INLINE void broadcast(Sums& all, const Lane& levels) {
        all = Sums{} + levels;
    }
    static TRUERANK_INLINE void add_word_products(Ints& sums, const Ints& e, const Ints& q) {
        for (int shift = 0; shift < 32; shift += 16) sums += (e << shift >> 16) * (q << shift >> 16);
    }
    static TRUERANK_INLINE void add_byte_distances(Distances& sums, const Distances& e, const Distances& q) {
        for (int shift = 0; shift < 32; shift += 8) {
            const Ints difference = (e >> shift & 0xff) - (q >> shift & 0xff);
            sums += difference < 0 ? -difference : difference;
        }
    }
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        result = 1 / Arithmetic<float, Bytes, true>::sqrt(x);
    }
};

template <int Bytes>
struct Instructions : PlainInstructions<Bytes> {};

#if defined(TRUERANK_AVX2)

// clang takes a wide operand only in a function that has the instruction set itself, and such a function cannot be one
// that must be inlined into a body without it. It is inlined all the same, since the body ends up in a wrapper, if that
// has the very same set. Vectors are passed by reference: by value they would go different ways in functions of
// different sets.
#define TRUERANK_INTRINSIC(set) static inline __attribute__((target(set)))
#if defined(__clang__)
#define TRUERANK_INSTRUCTION(set) TRUERANK_INTRINSIC(set)
#else
#define TRUERANK_INSTRUCTION(set) static TRUERANK_INLINE
#endif

template <int Bytes>
struct InstructionsOfX86 : PlainInstructions<Bytes> {
    using Distances = typename Simd<std::int64_t, Bytes>::type;
    static constexpr int zero = 128;
    static constexpr double root_error = Bytes == 64 ? 0x1p-14 : 0x1.8p-12;
};

template <>
struct Instructions<16> : InstructionsOfX86<16> {
    static TRUERANK_INLINE void add_byte_products(Ints& sums, const Ints& e, const Ints& q) {  // set: VNNI
        __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(e), "x"(q));
    }
    static TRUERANK_INLINE void add_word_products(Ints& sums, const Ints& e, const Ints& q) {
        sums += (Ints)_mm_madd_epi16((__m128i)e, (__m128i)q);
    }
    static TRUERANK_INLINE void add_byte_distances(Distances& sums, const Distances& e, const Distances& q) {
        sums += (Distances)_mm_sad_epu8((__m128i)e, (__m128i)q);
    }
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        result = (Floats)_mm_rsqrt_ps((__m128)x);
    }
    // One bit for each lane of a mask.
    static TRUERANK_INLINE std::uint64_t lane_bits(const Ints& mask) {
        return static_cast<unsigned>(_mm_movemask_ps((__m128)mask));
    }
};

// What AVX2 and AVX-512 have alike: the same instructions, for vectors of `width` bytes, or `bits` bits. Those of VNNI
// are another encoding (`vex`) beside AVX2, for processors that have no AVX-512.
//
// - broadcast is opaque: otherwise GCC loads the levels of several queries at once and takes them apart (AVX2), or puts
//   lanes together one by one (AVX-512), at the cost of the sums.
// - add_byte_products is of the set VNNI; so is add_fused_word_products, which is one instruction.
template <int Bytes>
struct WideInstructions;
#define TRUERANK_WIDE(width, bits, set, vex)                                                               \
    template <>                                                                                            \
    struct WideInstructions<width> : InstructionsOfX86<width> {                                            \
        static constexpr bool has_fused_words = true;                                                      \
        TRUERANK_INSTRUCTION(set) void broadcast(Ints& all, const std::int32_t& levels) {                  \
            __asm__("vpbroadcastd %1, %0" : "=v"(all) : "m"(levels));                                      \
        }                                                                                                  \
        TRUERANK_INSTRUCTION(set) void broadcast(Distances& all, const std::int64_t& levels) {             \
            __asm__("vpbroadcastq %1, %0" : "=v"(all) : "m"(levels));                                      \
        }                                                                                                  \
        TRUERANK_INSTRUCTION(set) void add_byte_products(Ints& sums, const Ints& e, const Ints& q) {       \
            __asm__(vex "vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(e), "v"(q));                              \
        }                                                                                                  \
        TRUERANK_INTRINSIC(set) void add_word_products(Ints& sums, const Ints& e, const Ints& q) {         \
            sums += (Ints)_mm##bits##_madd_epi16((__m##bits##i)e, (__m##bits##i)q);                        \
        }                                                                                                  \
        TRUERANK_INSTRUCTION(set) void add_fused_word_products(Ints& sums, const Ints& e, const Ints& q) { \
            __asm__(vex "vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(e), "v"(q));                              \
        }                                                                                                  \
        TRUERANK_INTRINSIC(set)                                                                            \
        void add_byte_distances(Distances& sums, const Distances& e, const Distances& q) {                 \
            sums += (Distances)_mm##bits##_sad_epu8((__m##bits##i)e, (__m##bits##i)q);                     \
        }                                                                                                  \
    };
TRUERANK_WIDE(32, 256, TRUERANK_AVX2, "%{vex%} ")
TRUERANK_WIDE(64, 512, TRUERANK_AVX512, "")
#undef TRUERANK_WIDE

template <>
struct Instructions<32> : WideInstructions<32> {
    TRUERANK_INTRINSIC(TRUERANK_AVX2) void byte_pairs(Words& pairs, const Ints& e, const Ints& q) {
        pairs = (Words)_mm256_maddubs_epi16((__m256i)e, (__m256i)q);
    }
    TRUERANK_INTRINSIC(TRUERANK_AVX2) void rough_inverse_root(Floats& result, const Floats& x) {
        result = (Floats)_mm256_rsqrt_ps((__m256)x);
    }
    // Registers.
    TRUERANK_INSTRUCTION(TRUERANK_AVX2) std::uint64_t lane_bits(const Ints& mask) {
        unsigned bits;
        __asm__("vmovmskps %1, %0" : "=r"(bits) : "x"(mask));
        return bits;
    }
};

template <>
struct Instructions<64> : WideInstructions<64> {
    // GCC 12 warns of the intrinsic, since its own header leaves a register undefined.
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) void rough_inverse_root(Floats& result, const Floats& x) {
        __asm__("vrsqrt14ps %1, %0" : "=v"(result) : "v"(x));
    }
    // One bit for each lane: whether it is greater, or not less. A comparison with a NaN does not hold. Registers, for
    // all that follow.
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) std::uint64_t lanes_greater(const Floats& a, const Floats& b) {
        std::uint16_t bits;
        __asm__("vcmpps $30, %2, %1, %0" : "=Yk"(bits) : "v"(a), "v"(b));
        return bits;
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) std::uint64_t lanes_greater(const Ints& a, const Ints& b) {
        std::uint16_t bits;
        __asm__("vpcmpgtd %2, %1, %0" : "=Yk"(bits) : "v"(a), "v"(b));
        return bits;
    }
    // The same of four vectors, whose masks are put together before they leave the registers of masks.
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) std::uint64_t lanes_greater(const Ints (&a)[4], const Ints& b) {
        std::uint64_t bits, second, third, fourth;
        __asm__(
            "vpcmpgtd %8, %4, %0\n\t"
            "vpcmpgtd %8, %5, %1\n\t"
            "vpcmpgtd %8, %6, %2\n\t"
            "vpcmpgtd %8, %7, %3\n\t"
            "kunpckwd %0, %1, %0\n\t"
            "kunpckwd %2, %3, %2\n\t"
            "kunpckdq %0, %2, %0"
            : "=&Yk"(bits), "=&Yk"(second), "=&Yk"(third), "=&Yk"(fourth)
            : "v"(a[0]), "v"(a[1]), "v"(a[2]), "v"(a[3]), "v"(b));
        return bits;
    }
    TRUERANK_INSTRUCTION(TRUERANK_AVX512) std::uint64_t lanes_at_least(const Floats& a, const Floats& b) {
        std::uint16_t bits;
        __asm__("vcmpps $29, %2, %1, %0" : "=Yk"(bits) : "v"(a), "v"(b));
        return bits;
    }
};

#undef TRUERANK_INSTRUCTION
#undef TRUERANK_INTRINSIC

#elif defined(TRUERANK_NEON)

// Set: a dot product, of signed bytes (0x4) or of unsigned ones (0x6), is of Armv8.2. Some assemblers take its name
// only with a later baseline than ours: so it is put together from the numbers of its registers.
#define TRUERANK_DOT_PRODUCT(signs, sums, a, b)                                                            \
    __asm__(                                                                                               \
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t" \
        ".set .Ltruerank_v\\n, \\n\n\t.endr\n\t"                                                           \
        ".inst " signs "e809400 | .Ltruerank_%2 << 16 | .Ltruerank_%1 << 5 | .Ltruerank_%0"                \
        : "+w"(sums)                                                                                       \
        : "w"(a), "w"(b))

template <>
struct Instructions<16> : PlainInstructions<16> {
    static constexpr double root_error = 0x1p-15;
    static constexpr bool has_distances_by_products = true;
    static TRUERANK_INLINE void add_byte_products(Ints& sums, const Ints& e, const Ints& q) {
        TRUERANK_DOT_PRODUCT("0x4", sums, e, q);
    }
    // Registers, as the inverse root: of the intrinsics GCC keeps more results at a time than there are registers.
    static TRUERANK_INLINE void add_byte_distances(Ints& sums, const Ints& e, const Ints& q) {
        Ints distances;
        __asm__("uabd %0.16b, %1.16b, %2.16b" : "=w"(distances) : "w"(e), "w"(q));
        __asm__("uaddlp %0.8h, %1.16b" : "=w"(distances) : "w"(distances));
        __asm__("uadalp %0.4s, %1.8h" : "+w"(sums) : "w"(distances));
    }
    // The same for processors with products of bytes: the distances times 1.
    static TRUERANK_INLINE void add_byte_distances_by_products(Ints& sums, const Ints& e, const Ints& q) {
        const Ints distances = (Ints)vabdq_u8((uint8x16_t)e, (uint8x16_t)q);
        TRUERANK_DOT_PRODUCT("0x6", sums, distances, Ints{} + 0x01010101);
    }
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        Floats estimate, factor;
        __asm__("frsqrte %0.4s, %1.4s" : "=w"(estimate) : "w"(x));
        // One of Newton's steps: (3 - x * estimate * estimate) / 2.
        __asm__("frsqrts %0.4s, %1.4s, %2.4s" : "=w"(factor) : "w"(x), "w"(estimate * estimate));
        result = estimate * factor;
    }
    static TRUERANK_INLINE std::uint64_t lane_bits(const Ints& mask) {
        return vaddvq_u32((uint32x4_t)(mask & Ints{1, 2, 4, 8}));
    }
};

#undef TRUERANK_DOT_PRODUCT
#endif

}  // namespace truerank
