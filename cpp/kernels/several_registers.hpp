// Several true scores are counted in registers: the scores themselves where there are up to three, else their keys.
// And many are searched for.
#pragma once

#include <algorithm>

#include "kernels/lanes.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// Counts K true scores without keys: for so few, one pass over the scores costs less than to make keys.
template <class T, int Bytes, int K>
TRUERANK_INLINE std::int64_t count_directly(const T* scores, std::size_t n, const Key<T>* true_scores,
                                            PartialCounts* counts) {
    using L = Lanes<T, Bytes>;
    constexpr std::size_t line = kLine / sizeof(T);
    typename L::Scores true_score[K];
    for (int j = 0; j < K; ++j) true_score[j] = L::broadcast_of(true_scores[j]);
    std::int64_t nans = 0;
    for (std::size_t i = 0; i < n;) {
        const std::size_t stop = i + std::min(n - i, L::max_additions * L::size);
        typename L::Counts above[K] = {}, tied[K] = {}, nan = {};
        const auto count_vector = [&](const T* from, const auto&... increments) __attribute__((always_inline)) {
            const typename L::Scores vector = L::load(from);
            for (int j = 0; j < K; ++j) {
                L::add(above[j], vector > true_score[j], increments...);
                L::add(tied[j], vector == true_score[j], increments...);
            }
            if constexpr (has_nan<T>) L::add(nan, L::is_nan_score(vector), increments...);
        };
#pragma GCC unroll 1
        for (; i + line <= stop; i += line) {
            prefetch(address_after(scores + i, measured::kAheadBytesOfSeveral));
            for (std::size_t u = 0; u < line; u += L::size) count_vector(scores + i + u);
        }
#pragma GCC unroll 1
        for (; i + L::size <= stop; i += L::size) count_vector(scores + i);
        if (i < stop && stop == n) {
            T copy[L::size];
            typename L::Counts valid;
            const T* from = L::tail(scores, n, n - i, copy, valid);
            count_vector(from, valid);
            i = n;
        }
        for (int j = 0; j < K; ++j) {
            counts[j].above += L::sum(above[j]);
            counts[j].tied += L::sum(tied[j]);
        }
        if constexpr (has_nan<T>) nans += L::sum(nan);
    }
    return nans;
}

// So many true scores, their counters and a vector of keys fit into the sixteen registers of SSE and AVX2.
constexpr std::size_t kMaxInRegisters = 5;

// Writes the keys of n scores, padded to whole cache lines with the lowest key, which is above no key and tied with
// none but itself. Returns the number of NaN.
template <class T, int Bytes>
TRUERANK_INLINE std::int64_t keys_of(const T* scores, std::size_t n, Key<T>* keys) {
    using L = Lanes<T, Bytes>;
    typename L::Counts nan = {};
    std::size_t i = 0;
    for (; i + L::size <= n; i += L::size) {
        const typename L::Keys vector = L::load_keys(scores + i);
        std::memcpy(keys + i, &vector, Bytes);
        if constexpr (has_nan<T>) L::add(nan, L::is_nan_key(vector));
    }
    std::int64_t nans = has_nan<T> ? L::sum(nan) : 0;
    for (; i < n; ++i) {
        keys[i] = Order<T>::key(scores[i]);
        nans += Order<T>::is_key_of_nan(keys[i]) ? 1 : 0;
    }
    constexpr std::size_t whole = kLine / sizeof(T);
    for (; i % whole != 0; ++i) keys[i] = std::numeric_limits<Key<T>>::min();
    return nans;
}

// Counts K true scores in a chunk of keys (whole cache lines). Meanwhile the next chunk, at the address `ahead`, is
// prefetched, `lines` lines for every eight that are read, so that memory works while this computes.
template <class T, int Bytes, int K>
TRUERANK_INLINE void count_in_registers(const Key<T>* keys, std::size_t n, const Key<T>* true_scores,
                                        PartialCounts* counts, std::uintptr_t ahead, std::size_t lines) {
    using L = Lanes<T, Bytes>;
    constexpr std::size_t eight_lines = 8 * kLine / sizeof(T);
    typename L::Keys true_score[K];
    typename L::Counts above[K], tied[K];
    for (int j = 0; j < K; ++j) {
        true_score[j] = L::broadcast_key(true_scores[j]);
        above[j] = tied[j] = typename L::Counts{};
    }
    std::uintptr_t next = ahead;
    for (std::size_t i = 0; i < n; i += eight_lines) {
        for (std::size_t line = 0; line < lines; ++line, next += kLine) prefetch(next);
        const std::size_t stop = std::min(n, i + eight_lines);
        for (std::size_t u = i; u < stop; u += L::size) {
            const typename L::Keys vector = *reinterpret_cast<const typename Simd<Key<T>, Bytes>::unaligned*>(keys + u);
            for (int j = 0; j < K; ++j) {
                L::add(above[j], vector > true_score[j]);
                L::add(tied[j], vector == true_score[j]);
            }
        }
    }
    for (int j = 0; j < K; ++j) {
        counts[j].above += L::sum(above[j]);
        counts[j].tied += L::sum(tied[j]);
    }
}

// Four true scores or more are divided into groups of three to five.
template <class T, int Bytes>
TRUERANK_INLINE void count_in_registers(std::size_t k, const Key<T>* keys, std::size_t n, const Key<T>* true_scores,
                                        PartialCounts* counts, std::uintptr_t ahead, std::size_t lines) {
    switch (k) {
        case 3:
            return count_in_registers<T, Bytes, 3>(keys, n, true_scores, counts, ahead, lines);
        case 4:
            return count_in_registers<T, Bytes, 4>(keys, n, true_scores, counts, ahead, lines);
        default:
            return count_in_registers<T, Bytes, 5>(keys, n, true_scores, counts, ahead, lines);
    }
}

// Searches for each key among many sorted true scores and enters it in a histogram: below[p] counts the keys with
// exactly p true scores below them, and equal[p] those of them that equal true_scores[p]. Eight searches run side by
// side, since a single one waits for its own loads; all take the same number of steps.
template <class T>
TRUERANK_INLINE void search(const Key<T>* keys, std::size_t n, const Key<T>* true_scores, std::size_t k,
                            std::int64_t* below, std::int64_t* equal) {
    constexpr std::size_t side = 8;
    for (std::size_t i = 0; i < n; i += side) {
        const Key<T>* key = keys + i;
        std::size_t at[side] = {};
        for (std::size_t length = k; length > 1;) {
            const std::size_t half = length / 2;
            for (std::size_t s = 0; s < side; ++s) at[s] += true_scores[at[s] + half - 1] < key[s] ? half : 0;
            length -= half;
        }
        for (std::size_t s = 0; s < side; ++s) {
            equal[at[s]] += true_scores[at[s]] == key[s] ? 1 : 0;
            ++below[at[s] + (true_scores[at[s]] < key[s] ? 1 : 0)];
        }
    }
}

}  // namespace truerank
