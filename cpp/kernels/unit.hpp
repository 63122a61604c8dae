// What the kernels of one unit share: its instruction set, and vectors as wide as that has them.
//
// A unit is compiled with TRUERANK_SET, a row of the table of simd.hpp (without it: the first), and with the flags that
// go with it. Whatever it defines is in an anonymous namespace, but for its tables: the linker would take a function
// that two units have from either, and one for AVX-512 would then run on a processor without it. (What they include of
// the standard library is inlined, which a test of the units' symbols holds.)
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/count.hpp"
#include "kernels/simd.hpp"

// Stands before a loop over the lanes of a vector. Compilers turn such a loop into one instruction once it is unrolled.
#define TRUERANK_UNROLL _Pragma("GCC unroll 64")
// Hands out a unit's table of kernels for a type, kTable<T>.
#define TRUERANK_HAND_OUT(Kernels, T)                    \
    template <>                                          \
    const Kernels<T>& unit_kernels<Kernels<T>, kSet>() { \
        return kTable<T>;                                \
    }

namespace truerank {
namespace {

#if defined(TRUERANK_SET)
constexpr Isa kSet = Isa::TRUERANK_SET;
#else
constexpr Isa kSet{0};
#endif
constexpr int kBytes = kIsas[static_cast<int>(kSet)].vector_bytes;
constexpr bool kFused = kIsas[static_cast<int>(kSet)].is_fused;

// A vector of `Bytes` bytes of T, and the same at any address at which a T may be.
template <class T, int Bytes = kBytes>
struct Simd {
    typedef T type __attribute__((vector_size(Bytes)));
    typedef T unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};

// Vectors of numbers, of counters as wide as a number, and of masks, whose lanes are -1 or 0 as comparisons give them.
template <class T, int Bytes = kBytes>
struct Vectors {
    using Bits = typename Integers<sizeof(T)>::Unsigned;
    using Vector = typename Simd<T, Bytes>::type;
    using Mask = typename Simd<typename Integers<sizeof(T)>::Signed, Bytes>::type;
    using Counts = typename Simd<Bits, Bytes>::type;
    static constexpr std::size_t size = Bytes / sizeof(T);

    static TRUERANK_INLINE Vector load(const T* from) {
        return *reinterpret_cast<const typename Simd<T, Bytes>::unaligned*>(from);
    }
    static TRUERANK_INLINE void store(T* to, Vector vector) {
        *reinterpret_cast<typename Simd<T, Bytes>::unaligned*>(to) = vector;
    }
    static TRUERANK_INLINE Counts load_counts(const Bits* from) {
        return *reinterpret_cast<const typename Simd<Bits, Bytes>::unaligned*>(from);
    }
    static TRUERANK_INLINE void store_counts(Bits* to, Counts counts) {
        *reinterpret_cast<typename Simd<Bits, Bytes>::unaligned*>(to) = counts;
    }
    // Adds 1 to the counts where the mask is set. AVX-512 has masked additions, which the compiler makes of the
    // condition; elsewhere a mask is subtracted, which takes fewer instructions.
    static TRUERANK_INLINE void add(Counts& counts, Mask mask) {
        if constexpr (Bytes == 64) {
            counts = mask ? counts + (Counts{} + Bits{1}) : counts;
        } else {
            counts -= (Counts)mask;
        }
    }
};

// As many bytes as a vector has lanes. GCC 12 makes several instructions of a conversion that is one.
template <class Vector, class Byte>
TRUERANK_INLINE Vector widened(const Byte* bytes) {
    constexpr std::size_t width = sizeof(decltype(Vector{}[0])), size = sizeof(Vector) / width;
    const auto& narrow = *reinterpret_cast<const typename Simd<Byte, size>::unaligned*>(bytes);
#if defined(__AVX2__)
    if constexpr (width > 1) {
        Vector wide;
        if constexpr (width == 2 && std::is_signed_v<Byte>) __asm__("vpmovsxbw %1, %0" : "=v"(wide) : "m"(narrow));
        if constexpr (width == 2 && !std::is_signed_v<Byte>) __asm__("vpmovzxbw %1, %0" : "=v"(wide) : "m"(narrow));
        if constexpr (width == 4) __asm__("vpmovzxbd %1, %0" : "=v"(wide) : "m"(narrow));
        if constexpr (width == 8) __asm__("vpmovzxbq %1, %0" : "=v"(wide) : "m"(narrow));
        return wide;
    }
#endif
    return __builtin_convertvector(narrow, Vector);
}

// The halves of a vector. GCC 12 would put a wide one into memory, to read its upper half there; and it warns of the
// intrinsic, since its own header leaves a register undefined.
template <class Half, class Vector>
TRUERANK_INLINE Half lower_half(const Vector& vector) {
    Half half;
    std::memcpy(&half, &vector, sizeof half);
    return half;
}
template <class Half, class Vector>
TRUERANK_INLINE Half upper_half(const Vector& vector) {
    Half half;
#if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof vector == 64) {
        __asm__("vextracti64x4 $1, %1, %0" : "=v"(half) : "v"(vector));
        return half;
    }
#endif
    std::memcpy(&half, reinterpret_cast<const char*>(&vector) + sizeof half, sizeof half);
    return half;
}

// The first of two numbers, or of each two lanes, unless the second is less, or greater, which no NaN is.
constexpr auto less_of = [](const auto& a, const auto& b) __attribute__((always_inline)) { return b < a ? b : a; };
constexpr auto greater_of = [](const auto& a, const auto& b) __attribute__((always_inline)) { return b > a ? b : a; };
// The lane that is left where choose(a, b) is left of two halves, and then of two lanes.
template <class T, int Bytes = kBytes, class Choose>
TRUERANK_INLINE T reduce(const typename Simd<T, Bytes>::type& x, const Choose& choose) {
    if constexpr (Bytes > 16) {
        using Half = typename Simd<T, Bytes / 2>::type;
        return reduce<T, Bytes / 2>(choose(lower_half<Half>(x), upper_half<Half>(x)), choose);
    } else {
        T left = x[0];
        for (std::size_t i = 1; i < Bytes / sizeof(T); ++i) left = choose(left, T{x[i]});
        return left;
    }
}

}  // namespace
}  // namespace truerank
