// Vectors of scores, of their keys and of counters, which the bodies of the counting kernels are written in.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/count.hpp"
#include "kernels/simd.hpp"

namespace truerank {

constexpr std::size_t kLine = 64;

// Vectors of `Bytes` bytes: of scores, of their keys, of counters as wide as a score, and of masks, whose lanes are -1
// or 0 as comparisons give them.
template <class T, int Bytes>
struct Lanes {
    using Counter = typename Integers<sizeof(T)>::Unsigned;
    using Native = std::conditional_t<is_float16<T>, Key<T>, T>;
    using Scores = typename Simd<Native, Bytes>::type;
    using Keys = typename Simd<Key<T>, Bytes>::type;
    using Masks = Keys;
    using Counts = typename Simd<Counter, Bytes>::type;
    static constexpr std::size_t size = Bytes / sizeof(T);
    // A counter is added to a 64-bit sum, and starts again from 0, before it can overflow.
    static constexpr std::size_t max_additions = sizeof(T) == 1 ? 254 : sizeof(T) == 2 ? 65000 : std::size_t{1} << 30;

    static TRUERANK_INLINE Keys load_keys(const T* scores) {
        const Counts bits = *reinterpret_cast<const typename Simd<Counter, Bytes>::unaligned*>(scores);
        if constexpr (has_nan<T>) {
            const Counts sign = (Counts)((Masks)bits >> int(8 * sizeof(T) - 1));
            const Counts magnitude = bits & (Counts{} + static_cast<Counter>(~Order<T>::top_bit));
            return (Keys)((magnitude ^ sign) - sign + (Counts{} + Order<T>::shift()));
        } else if constexpr (std::is_unsigned_v<T>) {
            return (Keys)(bits ^ (Counts{} + Order<T>::top_bit));
        } else {
            return (Keys)bits;
        }
    }
    static TRUERANK_INLINE Keys broadcast_key(Key<T> key) { return Keys{} + key; }
    static TRUERANK_INLINE Masks is_nan_key(Keys keys) { return keys < broadcast_key(Order<T>::bottom()); }

    // Scores in a form that the hardware can compare: 16-bit floats, which it cannot, are compared by their keys.
    static TRUERANK_INLINE Scores load(const T* scores) {
        if constexpr (is_float16<T>) {
            return load_keys(scores);
        } else {
            return *reinterpret_cast<const typename Simd<T, Bytes>::unaligned*>(scores);
        }
    }
    static TRUERANK_INLINE Scores broadcast(T score) {
        if constexpr (is_float16<T>) {
            return broadcast_key(Order<T>::key(score));
        } else {
            return Scores{} + score;
        }
    }
    static TRUERANK_INLINE Masks is_nan_score(Scores scores) {
        if constexpr (is_float16<T>) {
            return is_nan_key(scores);
        } else {
            return scores != scores;
        }
    }

    // Adds 1 to the counts where the mask is set. AVX-512 has masked additions, which the compiler makes of the
    // condition; elsewhere a mask is a vector of -1, and subtracting it takes fewer instructions.
    static TRUERANK_INLINE void add(Counts& counts, Masks mask) {
        if constexpr (Bytes == 64) {
            counts = mask ? counts + (Counts{} + Counter{1}) : counts;
        } else {
            counts -= (Counts)mask;
        }
    }
    // The sum of all lanes. Neighbours are added into counters of twice the width until these have 64 bits. That takes
    // few instructions, which matters: while they run, the reading of the next scores has to wait.
    static TRUERANK_INLINE std::int64_t sum(const Counts& counts) {
        using Wide = typename Simd<std::uint64_t, Bytes>::type;
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
        std::uint64_t lane[Bytes / 8];
        std::memcpy(lane, &wide, Bytes);
        std::uint64_t total = 0;
        for (const std::uint64_t value : lane) total += value;
        return static_cast<std::int64_t>(total);
    }

    static TRUERANK_INLINE Masks iota() {
        Key<T> lane[size];
        for (std::size_t i = 0; i < size; ++i) lane[i] = static_cast<Key<T>>(i);
        Masks result;
        std::memcpy(&result, lane, Bytes);
        return result;
    }
    // The mask of the first `n` lanes, or of all lanes where there are fewer.
    static TRUERANK_INLINE Masks first_lanes(std::size_t n) {
        return iota() < (Masks{} + static_cast<Key<T>>(std::min(n, size)));
    }
    // Returns where the last `rest` = n % size scores can be read as one vector, and sets `valid` to the mask of their
    // lanes. This is the last full vector of the scores, whose other lanes were counted before; where there are fewer
    // scores than lanes it is a copy.
    static TRUERANK_INLINE const T* tail(const T* scores, std::size_t n, std::size_t rest, T (&copy)[size],
                                         Masks& valid) {
        if (n >= size) {
            valid = iota() >= (Masks{} + static_cast<Key<T>>(size - rest));
            return scores + (n - size);
        }
        std::memset(copy, 0, sizeof copy);
        std::memcpy(copy, scores, rest * sizeof(T));
        valid = first_lanes(rest);
        return copy;
    }
};

}  // namespace truerank
