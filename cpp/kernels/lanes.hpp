// Vectors of scores, of their keys and of counters, in which the counting kernels are written.
#pragma once

#include <array>
#include <cstring>

#include "kernels/unit.hpp"

namespace truerank {
namespace {

constexpr std::size_t kLine = 64;

// Vectors of scores in a form that the hardware can compare: 16-bit floats, which it cannot, are compared by their
// keys.
template <class T>
struct Lanes : Vectors<std::conditional_t<is_float16<T>, Key<T>, T>> {
    using Base = Vectors<std::conditional_t<is_float16<T>, Key<T>, T>>;
    using Counter = typename Base::Bits;
    using Scores = typename Base::Vector;
    using typename Base::Counts;
    using typename Base::Mask;
    using Keys = Mask;
    using Base::size;
    // After so many additions, at most, counters are added to 64-bit sums, and start again from 0. None can overflow
    // before, and all lanes of a vector together have fewer than 2^21 (see sums).
    static constexpr std::size_t max_additions = sizeof(T) == 1 ? 254 : sizeof(T) == 2 ? 65000 : (1 << 17) - 1;

    static TRUERANK_INLINE Keys load_keys(const T* scores) {
        const Counts bits = *reinterpret_cast<const typename Simd<Counter>::unaligned*>(scores);
        if constexpr (has_nan<T>) {
            const Counts sign = (Counts)((Mask)bits >> int(8 * sizeof(T) - 1));
            const Counts magnitude = bits & (Counts{} + static_cast<Counter>(~Order<T>::top_bit));
            return (Keys)((magnitude ^ sign) - sign + (Counts{} + Order<T>::shift()));
        } else if constexpr (std::is_unsigned_v<T>) {
            return (Keys)(bits ^ (Counts{} + Order<T>::top_bit));
        } else {
            return (Keys)bits;
        }
    }
    static TRUERANK_INLINE Keys broadcast_key(Key<T> key) { return Keys{} + key; }
    static TRUERANK_INLINE Mask is_nan_key(Keys keys) { return keys < broadcast_key(Order<T>::bottom()); }

    static TRUERANK_INLINE Scores load(const T* scores) {
        if constexpr (is_float16<T>) {
            return load_keys(scores);
        } else {
            return Base::load(scores);
        }
    }
    // The same, into a register. GCC 12 has each instruction that takes a wide vector read it again otherwise, and
    // there is one such read in a cycle.
    static TRUERANK_INLINE Scores load_once(const T* scores) {
        Scores vector = load(scores);
#if !defined(__clang__)
        if constexpr (kBytes == 64) __asm__("" : "+v"(vector));
#endif
        return vector;
    }
    static TRUERANK_INLINE Scores broadcast(T score) {
        if constexpr (is_float16<T>) {
            return broadcast_key(Order<T>::key(score));
        } else {
            return Scores{} + score;
        }
    }
    // All lanes are the score of a key.
    static TRUERANK_INLINE Scores broadcast_of(Key<T> key) {
        if constexpr (is_float16<T>) {
            return broadcast_key(key);
        } else {
            return broadcast(Order<T>::score(key));
        }
    }
    static TRUERANK_INLINE Mask is_nan_score(Scores scores) {
        if constexpr (is_float16<T>) {
            return is_nan_key(scores);
        } else {
            return scores != scores;
        }
    }

    using Base::add;
    // Adds the increments where the mask is set. A mask is not combined with another one here: GCC 12 compares lane by
    // lane where the masks of two 64-byte comparisons meet.
    static TRUERANK_INLINE void add(Counts& counts, Mask mask, Counts increments) {
        if constexpr (kBytes == 64) {
            counts = mask ? counts + increments : counts;
        } else {
            counts += (Counts)mask & increments;
        }
    }
    // Increments of 1 for the first, or the last, n <= size lanes, and of 0 for the others.
    static TRUERANK_INLINE Counts first_lanes(std::size_t n) { return load_increments(2 * size - n); }
    static TRUERANK_INLINE Counts last_lanes(std::size_t n) { return load_increments(n); }

    // The sum of all lanes.
    static TRUERANK_INLINE std::int64_t sum(const Counts& counts) {
        return static_cast<std::int64_t>(sum_wide(widen(counts)));
    }
    // The sums of three vectors of counters, each below 2^21: one sum has them all, in 21 bits each.
    struct Sums {
        std::int64_t first, second, third;
    };
    static TRUERANK_INLINE Sums sums(const Counts& first, const Counts& second, const Counts& third) {
        const std::uint64_t packed = sum_wide(widen(first) + (widen(second) << 21) + (widen(third) << 42));
        constexpr std::uint64_t low = (1 << 21) - 1;
        return {static_cast<std::int64_t>(packed & low), static_cast<std::int64_t>((packed >> 21) & low),
                static_cast<std::int64_t>(packed >> 42)};
    }

    // Returns where the last `rest` = n % size scores can be read as one vector, and sets `valid` to increments for
    // their lanes. This is the last full vector of the scores, whose other lanes were counted before; where there are
    // fewer scores than lanes it is a copy.
    static TRUERANK_INLINE const T* tail(const T* scores, std::size_t n, std::size_t rest, T (&copy)[size],
                                         Counts& valid) {
        if (n >= size) {
            valid = last_lanes(rest);
            return scores + (n - size);
        }
        std::memset(copy, 0, sizeof copy);
        std::memcpy(copy, scores, rest * sizeof(T));
        valid = first_lanes(rest);
        return copy;
    }

  private:
    using Wide = Simd<std::uint64_t>::type;
    // Neighbours are added into counters of twice the width until these have 64 bits. That takes few instructions,
    // which matters: while they run, the reading of the next scores has to wait.
    static TRUERANK_INLINE Wide widen(const Counts& counts) {
        Wide wide = (Wide)counts;
        if constexpr (sizeof(T) < 2) {
            const Wide low = Wide{} + 0x00ff00ff00ff00ffULL;
            wide = (wide & low) + ((wide >> 8) & low);
        }
        if constexpr (sizeof(T) < 4) {
            const Wide low = Wide{} + 0x0000ffff0000ffffULL;
            wide = (wide & low) + ((wide >> 16) & low);
        }
        if constexpr (sizeof(T) < 8) wide = (wide & 0xffffffffULL) + (wide >> 32);
        return wide;
    }
    template <int Size = kBytes>
    static TRUERANK_INLINE std::uint64_t sum_wide(typename Simd<std::uint64_t, Size>::type wide) {
        if constexpr (Size == 16) {
            return wide[0] + wide[1];
        } else {
            using Half = typename Simd<std::uint64_t, Size / 2>::type;
            return sum_wide<Size / 2>(lower_half<Half>(wide) + upper_half<Half>(wide));
        }
    }

    static constexpr std::array<Counter, 3 * size> zeros_ones_zeros = [] {
        std::array<Counter, 3 * size> lanes{};
        for (std::size_t i = size; i < 2 * size; ++i) lanes[i] = 1;
        return lanes;
    }();
    static TRUERANK_INLINE Counts load_increments(std::size_t at) {
        return Base::load_counts(zeros_ones_zeros.data() + at);
    }
};

}  // namespace
}  // namespace truerank
