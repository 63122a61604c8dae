// Instructions that no operator of the compilers' vectors stands for. They are intrinsics where these come to the same
// code or better, else assembly, for one of these reasons:
//
// - set: the instruction is not of the unit's set, which simd.hpp lists. Products of VNNI and of Armv8.2 come on top,
//   and are called only where byte_products() says so.
// - registers: of the intrinsics GCC keeps more results at a time than there are registers.
// - opaque: GCC sees through the intrinsic, and takes apart or puts together what is loaded at once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>
#endif

#include "kernels/arithmetic.hpp"

namespace truerank {
namespace {

// What the instructions come to, in arithmetic that all processors have. Each adds to every sum: add_byte_products the
// products of four bytes of candidates `e`, which are stored as level + zero, with four signed ones of a query `q`;
// add_word_products those of two words of 16 bits; add_byte_distances the distances of the unsigned bytes of a sum.
// byte_pairs: the products of bytes without a sign and bytes with one, added up two by two in words of 16 bits, which
// have to hold them. broadcast: the same levels of a query in all lanes. rough_inverse_root: 1 / sqrt(x) of normal
// numbers x > 0, with no greater relative error than root_error. lane_bits: one bit for each lane of a mask.
// lanes_greater and lanes_at_least: one bit for each lane, of a comparison that does not hold with a NaN. load_halves:
// a vector whose halves lie apart; those of AVX2 and AVX-512 have 16 bytes. store_lanes stores those lanes whose bits
// are set, one after the other, and returns how many; as many as a vector has may be written.
template <class Self>
struct PlainInstructions {
    using Ints = Simd<std::int32_t>::type;
    using Words = Simd<std::int16_t>::type;
    using Floats = Simd<float>::type;
    using Doubles = Simd<double>::type;
    using Distances = Ints;
    static constexpr int zero = 0;
    static constexpr bool has_fused_words = false;
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
    // Other ways to the same, for processors with ByteProducts::fours.
    static TRUERANK_INLINE void add_fused_word_products(Ints& sums, const Ints& e, const Ints& q) {
        Self::add_word_products(sums, e, q);
    }
    template <class Sums>
    static TRUERANK_INLINE void add_byte_distances_by_products(Sums& sums, const Sums& e, const Sums& q) {
        Self::add_byte_distances(sums, e, q);
    }
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        result = 1 / Arithmetic<float>::sqrt(x);
    }
    template <class Mask>
    static TRUERANK_INLINE std::uint64_t lane_bits(const Mask& mask) {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < sizeof mask / sizeof mask[0]; ++i) {
            bits |= static_cast<std::uint64_t>(mask[i] & 1) << i;
        }
        return bits;
    }
    template <class Vector>
    static TRUERANK_INLINE std::uint64_t lanes_greater(const Vector& a, const Vector& b) {
        return Self::lane_bits(a > b);
    }
    static TRUERANK_INLINE std::uint64_t lanes_at_least(const Floats& a, const Floats& b) {
        return Self::lane_bits(a >= b);
    }
    template <class Vector>
    static TRUERANK_INLINE void load_halves(Vector& vector, const void* low, const void* high) {
        std::memcpy(&vector, low, sizeof vector / 2);
        std::memcpy(reinterpret_cast<char*>(&vector) + sizeof vector / 2, high, sizeof vector / 2);
    }
    static TRUERANK_INLINE std::size_t store_lanes(const Ints& lanes, std::uint64_t bits, std::uint32_t* out) {
        std::size_t n = 0;
        for (; bits != 0; bits &= bits - 1) out[n++] = static_cast<std::uint32_t>(lanes[std::countr_zero(bits)]);
        return n;
    }
};

// What AMX has is in tiles.hpp.
#if defined(__AVX2__)

// What AVX2 and AVX-512 have alike. Beside AVX2 the products of VNNI have an encoding of their own, for processors that
// have no AVX-512.
#if defined(__AVX512F__)
#define TRUERANK_VNNI ""
#else
#define TRUERANK_VNNI "%{vex%} "
#endif
template <class Self>
struct WideInstructions : PlainInstructions<Self> {
    using typename PlainInstructions<Self>::Ints;
    using Distances = Simd<std::int64_t>::type;
    static constexpr int zero = 128;
    static constexpr bool has_fused_words = true;
    // Opaque: otherwise GCC loads the levels of several queries at once and takes them apart (AVX2), or puts lanes
    // together one by one (AVX-512), at the cost of the sums.
    static TRUERANK_INLINE void broadcast(Ints& all, const std::int32_t& levels) {
        __asm__("vpbroadcastd %1, %0" : "=v"(all) : "m"(levels));
    }
    static TRUERANK_INLINE void broadcast(Distances& all, const std::int64_t& levels) {
        __asm__("vpbroadcastq %1, %0" : "=v"(all) : "m"(levels));
    }
    template <class Vector>
    static TRUERANK_INLINE void load_halves(Vector& vector, const void* low, const void* high) {
        vector = (Vector)_mm256_loadu2_m128i(static_cast<const __m128i*>(high), static_cast<const __m128i*>(low));
    }
    template <class Sums>
    static TRUERANK_INLINE void add_byte_products(Sums& sums, const Sums& e, const Sums& q) {  // set: VNNI
        __asm__(TRUERANK_VNNI "vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(e), "v"(q));
    }
    static TRUERANK_INLINE void add_fused_word_products(Ints& sums, const Ints& e, const Ints& q) {  // set: VNNI
        __asm__(TRUERANK_VNNI "vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(e), "v"(q));
    }
};
#undef TRUERANK_VNNI
#endif

#if defined(__AVX512F__)

struct Instructions : WideInstructions<Instructions> {
    static constexpr double root_error = 0x1p-14;
    static TRUERANK_INLINE void add_word_products(Ints& sums, const Ints& e, const Ints& q) {
        sums += (Ints)_mm512_madd_epi16((__m512i)e, (__m512i)q);
    }
    static TRUERANK_INLINE void byte_pairs(Words& pairs, const Ints& e, const Ints& q) {
        pairs = (Words)_mm512_maddubs_epi16((__m512i)e, (__m512i)q);
    }
    static TRUERANK_INLINE void add_byte_distances(Distances& sums, const Distances& e, const Distances& q) {
        sums += (Distances)_mm512_sad_epu8((__m512i)e, (__m512i)q);
    }
    // GCC 12 warns of the intrinsic, since its own header leaves a register undefined.
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        __asm__("vrsqrt14ps %1, %0" : "=v"(result) : "v"(x));
    }
    static TRUERANK_INLINE std::uint64_t lanes_greater(const Floats& a, const Floats& b) {
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
    }
    static TRUERANK_INLINE std::uint64_t lanes_greater(const Doubles& a, const Doubles& b) {
        return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ);
    }
    static TRUERANK_INLINE std::uint64_t lanes_greater(const Ints& a, const Ints& b) {
        return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b);
    }
    static TRUERANK_INLINE std::uint64_t lanes_at_least(const Floats& a, const Floats& b) {
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ);
    }
    // In a register first: to memory, some processors compress slowly.
    static TRUERANK_INLINE std::size_t store_lanes(const Ints& lanes, std::uint64_t bits, std::uint32_t* out) {
        const __m512i chosen = _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), (__m512i)lanes);
        _mm512_storeu_si512(out, chosen);
        return static_cast<std::size_t>(std::popcount(bits));
    }
};

#elif defined(__AVX2__)

struct Instructions : WideInstructions<Instructions> {
    static constexpr double root_error = 0x1.8p-12;
    static TRUERANK_INLINE void add_word_products(Ints& sums, const Ints& e, const Ints& q) {
        sums += (Ints)_mm256_madd_epi16((__m256i)e, (__m256i)q);
    }
    static TRUERANK_INLINE void byte_pairs(Words& pairs, const Ints& e, const Ints& q) {
        pairs = (Words)_mm256_maddubs_epi16((__m256i)e, (__m256i)q);
    }
    static TRUERANK_INLINE void add_byte_distances(Distances& sums, const Distances& e, const Distances& q) {
        sums += (Distances)_mm256_sad_epu8((__m256i)e, (__m256i)q);
    }
    static TRUERANK_INLINE void rough_inverse_root(Floats& result, const Floats& x) {
        result = (Floats)_mm256_rsqrt_ps((__m256)x);
    }
    template <class Mask>
    static TRUERANK_INLINE std::uint64_t lane_bits(const Mask& mask) {
        if constexpr (sizeof mask[0] == 8) return static_cast<unsigned>(_mm256_movemask_pd((__m256d)mask));
        return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask));
    }
};

#elif defined(TRUERANK_X86_SETS)

struct Instructions : PlainInstructions<Instructions> {
    using Distances = Simd<std::int64_t>::type;
    static constexpr int zero = 128;
    static constexpr double root_error = 0x1.8p-12;
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
    template <class Mask>
    static TRUERANK_INLINE std::uint64_t lane_bits(const Mask& mask) {
        if constexpr (sizeof mask[0] == 8) return static_cast<unsigned>(_mm_movemask_pd((__m128d)mask));
        return static_cast<unsigned>(_mm_movemask_ps((__m128)mask));
    }
};

#elif defined(__aarch64__) || defined(_M_ARM64)

// Set: a dot product, of signed bytes (0x4) or of unsigned ones (0x6), is of Armv8.2. Some assemblers take its name
// only with a later baseline than ours: so it is put together from the numbers of its registers.
#define TRUERANK_DOT_PRODUCT(signs, sums, a, b)                                                            \
    __asm__(                                                                                               \
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t" \
        ".set .Ltruerank_v\\n, \\n\n\t.endr\n\t"                                                           \
        ".inst " signs "e809400 | .Ltruerank_%2 << 16 | .Ltruerank_%1 << 5 | .Ltruerank_%0"                \
        : "+w"(sums)                                                                                       \
        : "w"(a), "w"(b))

struct Instructions : PlainInstructions<Instructions> {
    static constexpr double root_error = 0x1p-15;
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
    template <class Mask>
    static TRUERANK_INLINE std::uint64_t lane_bits(const Mask& mask) {
        if constexpr (sizeof mask[0] == 8) return PlainInstructions::lane_bits(mask);
        return vaddvq_u32((uint32x4_t)((Ints)mask & Ints{1, 2, 4, 8}));
    }
};

#undef TRUERANK_DOT_PRODUCT

#else

struct Instructions : PlainInstructions<Instructions> {};

#endif

}  // namespace
}  // namespace truerank
