// How many scores are above each of several true scores, and how many equal it. These are bodies of kernels, which only
// count.cpp includes; count_several_body chooses among five ways, by the number k of true scores:
//
// - directly (k = 1, 2 or 3): each score is loaded once and compared with all of them.
// - in registers: keys (keys.hpp) are compared with up to five true scores at a time, whose counters stay in registers.
// - by codes (doubles, k < 32; several_codes.hpp): 16 bits of a key-like code decide nearly all comparisons, four times
//   as many at a time; scores whose code is that of a true score are compared as they are.
// - by bins (floats and doubles, k >= 32; several_bins.hpp): a histogram of coarser codes, in which only bins that have
//   a true score are looked into.
// - by search (many true scores of any type): each key is searched for among the sorted true scores.
//
// Codes and bins are tried on some scores first, and left where the data do not suit them.
#pragma once

#include <algorithm>

#include "kernels/keys.hpp"
#include "kernels/several_bins.hpp"

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

template <class T, int Bytes>
TRUERANK_INLINE std::int64_t count_several_body(const T* scores, std::size_t n, const Key<T>* true_scores,
                                                std::size_t k, PartialCounts* counts, std::int64_t* scratch,
                                                const KeyKernels<T>& of_keys) {
    if (k == 1) return count_directly<T, Bytes, 1>(scores, n, true_scores, counts);
    if (k == 2) return count_directly<T, Bytes, 2>(scores, n, true_scores, counts);
    if (k == 3) return count_directly<T, Bytes, 3>(scores, n, true_scores, counts);
    constexpr std::size_t chunk = measured::kCachedKeys<T>;
    alignas(kLine) Key<T> keys[chunk];
    const bool many = k >= measured::kLeastSearched<T>;
    const bool binned = uses_bins<T>(k) && n >= measured::kLeastBinnedScores;
    std::int64_t* const below = scratch;
    std::int64_t* const equal = many || binned ? scratch + k + 1 : nullptr;
    if (many || binned) std::fill_n(scratch, 2 * k + 2, 0);
    std::int64_t nan = 0, padding = 0;
    std::size_t first = 0;
    if constexpr (std::is_floating_point_v<T>) {
        // Codes of 32-bit scores gained a twentieth at most, and lost a sixth where most scores had few codes.
        constexpr bool codes_gain = sizeof(T) == 8;
        if (binned) {
            first = count_by_bins<T, Bytes>(scores, n, true_scores, k, counts, below, equal, scratch + 2 * k + 2, &nan);
        } else if constexpr (codes_gain) {
            if (k > 3 && k < measured::kLeastBinned && n * sizeof(T) >= measured::kLeastCodedBytes) {
                first = count_by_codes<T, Bytes>(scores, n, true_scores, k, counts, &nan);
            }
        }
    }
    for (std::size_t i = first; i < n; i += chunk) {
        const std::size_t m = std::min(chunk, n - i);
        nan += of_keys.keys(scores + i, m, keys);
        constexpr std::size_t whole = kLine / sizeof(T);
        const std::size_t padded = (m + whole - 1) / whole * whole;
        padding += static_cast<std::int64_t>(padded - m);
        if (many) {
            of_keys.search(keys, padded, true_scores, k, scratch);
        } else {
            of_keys.count(keys, padded, true_scores, k, counts, address_after(scores + i, m * sizeof(T)));
        }
    }
    std::int64_t above = 0;
    for (std::size_t j = k; (many || binned) && j-- > 0;) {
        above += below[j + 1];
        counts[j].above += above;
        counts[j].tied += equal[j];
    }
    // The key of an integer true score may be the lowest key itself, which the padding equals.
    if (k > 0 && true_scores[0] == std::numeric_limits<Key<T>>::min()) counts[0].tied -= padding;
    return nan;
}

}  // namespace truerank
