// How many scores are above each of several true scores, and how many equal it: bodies of kernels, which only count.cpp
// includes.
#pragma once

#include "kernels/lanes.hpp"

namespace truerank {

// So many scores, or their keys, stay in the first-level cache while several true scores are counted in them. For 8-bit
// scores the number is what their 8-bit counters allow in the narrowest vectors.
template <class T>
constexpr std::size_t kCachedKeys = sizeof(T) == 1 ? 4032 : 16384 / sizeof(T);
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
        nans += Order<T>::is_nan(keys[i]) ? 1 : 0;
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

template <class T, int Bytes>
TRUERANK_INLINE void count_in_registers(std::size_t k, const Key<T>* keys, std::size_t n, const Key<T>* true_scores,
                                        PartialCounts* counts, std::uintptr_t ahead, std::size_t lines) {
    switch (k) {
        case 1:
            return count_in_registers<T, Bytes, 1>(keys, n, true_scores, counts, ahead, lines);
        case 2:
            return count_in_registers<T, Bytes, 2>(keys, n, true_scores, counts, ahead, lines);
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

template <class T, int Bytes>
TRUERANK_INLINE std::int64_t count_several_body(const T* scores, std::size_t n, const Key<T>* true_scores,
                                                std::size_t k, PartialCounts* counts, std::int64_t* scratch) {
    constexpr std::size_t chunk = kCachedKeys<T>;
    alignas(kLine) Key<T> keys[chunk];
    const bool many = k >= search_threshold<T>;
    std::int64_t* const below = scratch;
    std::int64_t* const equal = many ? scratch + k + 1 : nullptr;
    if (many) std::fill_n(scratch, scratch_size<T>(k), 0);
    std::int64_t nan = 0, padding = 0;
    for (std::size_t i = 0; i < n; i += chunk) {
        const std::size_t m = std::min(chunk, n - i);
        nan += keys_of<T, Bytes>(scores + i, m, keys);
        constexpr std::size_t whole = kLine / sizeof(T);
        const std::size_t padded = (m + whole - 1) / whole * whole;
        padding += static_cast<std::int64_t>(padded - m);
        if (many) {
            search<T>(keys, padded, true_scores, k, below, equal);
            continue;
        }
        // The true scores are divided into groups of similar size, each of which prefetches its share of the next
        // chunk.
        const std::size_t groups = (k + kMaxInRegisters - 1) / kMaxInRegisters;
        const std::size_t lines = groups == 0 ? 0 : (8 + groups - 1) / groups;
        for (std::size_t g = 0, j = 0; g < groups; ++g) {
            const std::size_t size = (k - j) / (groups - g);
            const std::uintptr_t ahead = address_after(scores + i, (m + chunk / groups * g) * sizeof(T));
            count_in_registers<T, Bytes>(size, keys, padded, true_scores + j, counts + j, ahead, lines);
            j += size;
        }
    }
    std::int64_t above = 0;
    for (std::size_t j = k; many && j-- > 0;) {
        above += below[j + 1];
        counts[j].above += above;
        counts[j].tied += equal[j];
    }
    // The key of an integer true score may be the lowest key itself, which the padding equals.
    if (k > 0 && true_scores[0] == std::numeric_limits<Key<T>>::min()) counts[0].tied -= padding;
    return nan;
}

}  // namespace truerank
