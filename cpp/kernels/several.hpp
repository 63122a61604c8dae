// How many scores are above each of several true scores, and how many equal it. Three ways, by the number k of true
// scores:
//
// - in registers: scores are compared with a few true scores at a time, whose counters stay in registers.
// - by search (from kLeastSearched true scores on): each score is searched for among the sorted true scores.
// - by bins (floats and doubles, from kLeastBinned true scores on; bins.hpp): a histogram of the scores, in which only
//   bins that have a true score are looked into. Bins are tried on some scores first. Where the data do not suit them,
//   and for the last scores of a row, it is one of the other ways.
//
// Where several groups pass over the scores, or searches, a chunk of these stays in the nearest cache meanwhile, as
// keys: integers in their order, which are compared in less time. A single group takes scores as they are, unless the
// hardware does not compare their type.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/bins.hpp"
#include "kernels/lanes.hpp"

namespace truerank {
namespace {

// Whether a histogram may be used; its tables have 16 bits for the place of a true score, and for their number in a
// bin.
template <class T>
constexpr bool uses_bins(std::size_t true_scores) {
    return std::is_floating_point_v<T> && true_scores >= measured::kLeastBinned && true_scores <= 65535;
}

// Room for the two histograms of a search, and for the tables of bins (count_by_bins).
template <class T>
constexpr std::size_t scratch_size(std::size_t true_scores) {
    const std::size_t searched = 2 * true_scores + 2;
    if (uses_bins<T>(true_scores)) return searched + measured::kBins + true_scores / 4 + 1;
    return true_scores < measured::kLeastSearched<T> ? 0 : searched;
}

// So many true scores, their counters and a vector of scores fit into the registers: ten into the thirty-two of
// AVX-512, which counts several true scores of floats alone; six into the sixteen of SSE and AVX2, where true scores
// are read again.
template <class T>
constexpr std::size_t kMaxInRegisters = kBytes == 64 && std::is_same_v<T, float> ? 10 : 6;

// Writes the keys of n scores. Returns the number of NaN.
template <class T>
TRUERANK_INLINE std::int64_t write_keys(const T* scores, std::size_t n, Key<T>* keys) {
    using L = Lanes<T>;
    typename L::Counts nan = {};
    std::size_t i = 0;
    for (; i + L::size <= n; i += L::size) {
        const typename L::Keys vector = L::load_keys(scores + i);
        std::memcpy(keys + i, &vector, sizeof vector);
        if constexpr (has_nan<T>) L::add(nan, L::is_nan_key(vector));
    }
    std::int64_t nans = has_nan<T> ? L::sum(nan) : 0;
    for (; i < n; ++i) {
        keys[i] = Order<T>::key(scores[i]);
        nans += Order<T>::is_key_of_nan(keys[i]) ? 1 : 0;
    }
    return nans;
}

// The number of scores, of a few, of which something holds: is_one(vector) is its mask.
template <class T, class IsOne>
TRUERANK_INLINE std::int64_t count_where(const T* scores, std::size_t n, const IsOne& is_one) {
    using L = Lanes<T>;
    typename L::Counts count = {};
    std::size_t i = 0;
    for (; i + L::size <= n; i += L::size) L::add(count, is_one(L::load(scores + i)));
    if (i < n) {
        T copy[L::size];
        typename L::Counts valid;
        const typename L::Scores last = L::load(L::tail(scores, n, n - i, copy, valid));
        L::add(count, is_one(last), valid);
    }
    return L::sum(count);
}

// Counts N true scores. Meanwhile what is at the address `ahead` is prefetched, a line for every `lines` that are read,
// so that memory works while this computes. Returns the number of NaN.
template <int N, class T>
TRUERANK_INLINE std::int64_t count_in_registers(const T* scores, std::size_t n, const Key<T>* true_scores,
                                                PartialCounts* counts, std::uintptr_t ahead, std::size_t lines) {
    using L = Lanes<T>;
    typename L::Scores true_score[N];
    typename L::Counts above[N] = {}, tied[N] = {}, nan = {};
    for (int j = 0; j < N; ++j) true_score[j] = L::broadcast_of(true_scores[j]);
    const auto count_vector = [&](const T* from, const auto&... valid) __attribute__((always_inline)) {
        const typename L::Scores vector = L::load(from);
        for (int j = 0; j < N; ++j) {
            L::add(above[j], vector > true_score[j], valid...);
            L::add(tied[j], vector == true_score[j], valid...);
        }
        if constexpr (has_nan<T>) L::add(nan, L::is_nan_score(vector), valid...);
    };
    const std::size_t whole = n - n % L::size;
    std::uintptr_t next = ahead;
    for (std::size_t i = 0; i < whole; next += kLine) {
        prefetch(next);
        const std::size_t stop = std::min(whole, i + lines * kLine / sizeof(T));
        for (; i < stop; i += L::size) count_vector(scores + i);
    }
    if (whole < n) {
        T copy[L::size];
        typename L::Counts valid;
        const T* const from = L::tail(scores, n, n - whole, copy, valid);
        count_vector(from, valid);
    }
    for (int j = 0; j < N; ++j) {
        counts[j].above += L::sum(above[j]);
        counts[j].tied += L::sum(tied[j]);
    }
    return L::sum(nan);
}

// Calls use(size) with `size`, which is from 1 to Most, as a constant.
template <std::size_t Most, class Use>
TRUERANK_INLINE void with_constant(std::size_t size, Use use) {
    [&]<std::size_t... Before>(std::index_sequence<Before...>) __attribute__((always_inline)) {
        ((size == Before + 1 ? use(std::integral_constant<int, Before + 1>()) : void()), ...);
    }(std::make_index_sequence<Most>());
}

// The same for k true scores, in groups of nearly equal size, each of which prefetches its share of the next chunk.
// Returns the number of NaN, which every group has counted.
template <class T>
std::int64_t count_in_groups(const T* scores, std::size_t n, const Key<T>* true_scores, std::size_t k,
                             PartialCounts* counts, std::uintptr_t ahead) {
    constexpr std::size_t most = kMaxInRegisters<T>;
    const std::size_t groups = (k + most - 1) / most;
    std::int64_t nan = 0;
    for (std::size_t g = 0, j = 0; g < groups; ++g) {
        const std::size_t size = (k - j) / (groups - g);
        with_constant<most>(size, [&](auto group) __attribute__((always_inline)) {
            const std::uintptr_t next = ahead + measured::kCachedKeys<T> / groups * sizeof(T) * g;
            nan = count_in_registers<group()>(scores, n, true_scores + j, counts + j, next, groups);
        });
        j += size;
    }
    return nan;
}

// Searches for each key among k sorted true scores and enters it in two histograms: below[p] is of the keys with
// exactly p true scores below them, and equal[p] of those that equal true_scores[p]. `Side` searches run side by side,
// since a single one waits for its own loads; all take the same number of steps. Returns how many keys were searched
// for.
template <std::size_t Side, class K>
TRUERANK_INLINE std::size_t search_side_by_side(const K* keys, std::size_t n, const K* true_scores, std::size_t k,
                                                std::int64_t* below, std::int64_t* equal) {
    std::size_t i = 0;
    for (; i + Side <= n; i += Side) {
        const K* key = keys + i;
        std::size_t at[Side] = {};
        for (std::size_t length = k; length > 1;) {
            const std::size_t half = length / 2;
            for (std::size_t s = 0; s < Side; ++s) at[s] += true_scores[at[s] + half - 1] < key[s] ? half : 0;
            length -= half;
        }
        for (std::size_t s = 0; s < Side; ++s) {
            const K true_score = true_scores[at[s]];
            equal[at[s]] += true_score == key[s] ? 1 : 0;
            ++below[at[s] + (true_score < key[s] ? 1 : 0)];
        }
    }
    return i;
}
template <class K>
void search(const K* keys, std::size_t n, const K* true_scores, std::size_t k, std::int64_t* below,
            std::int64_t* equal) {
    const std::size_t searched = search_side_by_side<8>(keys, n, true_scores, k, below, equal);
    search_side_by_side<1>(keys + searched, n - searched, true_scores, k, below, equal);
}

template <class T>
std::int64_t count_several(const void* from, std::size_t n, const Key<T>* true_scores, std::size_t k,
                           PartialCounts* counts, std::int64_t* scratch) {
    using L = Lanes<T>;
    const auto* const scores = static_cast<const T*>(from);
    constexpr std::size_t chunk = measured::kCachedKeys<T>;
    alignas(kLine) Key<T> keys[chunk];
    const bool searches = k >= measured::kLeastSearched<T>;
    const bool tries_bins = uses_bins<T>(k) && n >= measured::kLeastBinnedScores;
    const bool has_histograms = searches || tries_bins;
    const std::size_t histogram_size = k + 1;
    std::int64_t *const below = scratch, *const equal = has_histograms ? below + histogram_size : nullptr;
    if (has_histograms) std::fill_n(scratch, 2 * histogram_size, 0);
    std::int64_t nan = 0;
    std::size_t first = 0;
    if constexpr (std::is_floating_point_v<T>) {
        std::int64_t* const tables = scratch + 2 * histogram_size;
        if (tries_bins) first = count_by_bins(scores, n, true_scores, k, counts, below, equal, tables, &nan);
    }
    const bool is_one_group = k > 0 && k <= kMaxInRegisters<T> && !is_float16<T>;
    const std::size_t at_once = is_one_group ? (L::max_additions - 1) * L::size : chunk;
    for (std::size_t i = first; i < n; i += at_once) {
        const std::size_t m = std::min(at_once, n - i);
        if (k == 0) {
            nan += count_where(scores + i, m, L::is_nan_score);
        } else if (is_one_group) {
            const std::uintptr_t ahead = address_after(scores + i, measured::kAheadBytesOfSeveral);
            nan += count_in_groups(scores + i, m, true_scores, k, counts, ahead);
        } else {
            nan += write_keys(scores + i, m, keys);
            if (searches) {
                search(keys, m, true_scores, k, below, equal);
            } else {
                const std::uintptr_t next_chunk = address_after(scores + i, m * sizeof(T));
                count_in_groups(keys, m, true_scores, k, counts, next_chunk);
            }
        }
    }
    if (!has_histograms) return nan;
    // The scores above a true score, that of place j, have it and those before it below them: j + 1 or more.
    std::int64_t above = 0;
    for (std::size_t j = k; j-- > 0;) {
        above += below[j + 1];
        counts[j].above += above;
        counts[j].tied += equal[j];
    }
    return nan;
}

}  // namespace
}  // namespace truerank
