// How many scores are above each of several true scores, and how many equal it. These are bodies of kernels, which only
// count.cpp includes; count_several_body chooses among five ways, by the number k of true scores:
//
// - directly (k = 1, 2 or 3; several_registers.hpp): each score is loaded once and compared with all of them.
// - in registers: scores become keys, integers in the order of the scores, a chunk of which stays in the nearest cache
//   while the true scores pass over it, up to five at a time with their counters in registers.
// - by codes (doubles, k < 32; several_codes.hpp): 16 bits of a key-like code decide nearly all comparisons, four times
//   as many at a time; scores whose code is that of a true score are compared as they are.
// - by bins (floats and doubles, k >= 32; several_bins.hpp): a histogram of coarser codes, in which only bins that have
//   a true score are looked into.
// - by search (many true scores of any type): each key is searched for among the sorted true scores.
//
// Codes and bins are tried on some scores first, and left where the data do not suit them.
#pragma once

#include <algorithm>

#include "kernels/several_bins.hpp"

namespace truerank {

template <class T, int Bytes>
TRUERANK_INLINE std::int64_t count_several_body(const T* scores, std::size_t n, const Key<T>* true_scores,
                                                std::size_t k, PartialCounts* counts, std::int64_t* scratch) {
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
