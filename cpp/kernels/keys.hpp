// Scores become keys, integers in the order of the scores, a chunk of which stays in the nearest cache while true
// scores pass over it. What is done with keys is the same for all types of a size, and is compiled once for them.
#pragma once

#include <algorithm>

#include "kernels/lanes.hpp"
#include "kernels/measured.hpp"

namespace truerank {

// So many true scores, their counters and a vector of keys fit into the sixteen registers of SSE and AVX2.
constexpr std::size_t kMaxInRegisters = 5;

// Writes the keys of n scores, padded to whole cache lines with the lowest key, which is above no key and tied with
// none but itself. Returns the number of NaN.
template <class T, int Bytes>
TRUERANK_INLINE std::int64_t keys_body(const T* scores, std::size_t n, Key<T>* keys) {
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

// Counts N true scores in a chunk of keys (whole cache lines). Meanwhile the next chunk, at the address `ahead`, is
// prefetched, `lines` lines for every eight that are read, so that memory works while this computes.
template <class K, int Bytes, int N>
TRUERANK_INLINE void count_in_registers(const K* keys, std::size_t n, const K* true_scores, PartialCounts* counts,
                                        std::uintptr_t ahead, std::size_t lines) {
    using L = Lanes<K, Bytes>;
    constexpr std::size_t eight_lines = 8 * kLine / sizeof(K);
    typename L::Keys true_score[N];
    typename L::Counts above[N] = {}, tied[N] = {};
    for (int j = 0; j < N; ++j) true_score[j] = L::broadcast_key(true_scores[j]);
    std::uintptr_t next = ahead;
    for (std::size_t i = 0; i < n; i += eight_lines) {
        for (std::size_t line = 0; line < lines; ++line, next += kLine) prefetch(next);
        const std::size_t stop = std::min(n, i + eight_lines);
        for (std::size_t u = i; u < stop; u += L::size) {
            const typename L::Keys vector = *reinterpret_cast<const typename Simd<K, Bytes>::unaligned*>(keys + u);
            for (int j = 0; j < N; ++j) {
                L::add(above[j], vector > true_score[j]);
                L::add(tied[j], vector == true_score[j]);
            }
        }
    }
    for (int j = 0; j < N; ++j) {
        counts[j].above += L::sum(above[j]);
        counts[j].tied += L::sum(tied[j]);
    }
}

// Counts four true scores or more in a chunk of keys. They are divided into groups of three to five, each of which
// prefetches its share of the next chunk, at the address `ahead`.
template <class K, int Bytes>
TRUERANK_INLINE void count_keys_body(const K* keys, std::size_t n, const K* true_scores, std::size_t k,
                                     PartialCounts* counts, std::uintptr_t ahead) {
    if (k == 0) return;
    const std::size_t groups = (k + kMaxInRegisters - 1) / kMaxInRegisters;
    const std::size_t lines = (8 + groups - 1) / groups, share = measured::kCachedKeys<K> / groups * sizeof(K);
    for (std::size_t g = 0, j = 0; g < groups; ++g) {
        const std::size_t size = (k - j) / (groups - g);
        const std::uintptr_t next = ahead + share * g;
        switch (size) {
            case 3:
                count_in_registers<K, Bytes, 3>(keys, n, true_scores + j, counts + j, next, lines);
                break;
            case 4:
                count_in_registers<K, Bytes, 4>(keys, n, true_scores + j, counts + j, next, lines);
                break;
            default:
                count_in_registers<K, Bytes, 5>(keys, n, true_scores + j, counts + j, next, lines);
        }
        j += size;
    }
}

// Searches for each key among k sorted true scores and enters it in a histogram of 2 * k + 1 counts: the count at p is
// of the keys with exactly p true scores below them, and that at k + 1 + p of those that equal true_scores[p]. Eight
// searches run side by side, since a single one waits for its own loads; all take the same number of steps.
template <class K>
TRUERANK_INLINE void search_keys_body(const K* keys, std::size_t n, const K* true_scores, std::size_t k,
                                      std::int64_t* histogram) {
    constexpr std::size_t side = 8;
    for (std::size_t i = 0; i < n; i += side) {
        const K* key = keys + i;
        std::size_t at[side] = {};
        for (std::size_t length = k; length > 1;) {
            const std::size_t half = length / 2;
            for (std::size_t s = 0; s < side; ++s) at[s] += true_scores[at[s] + half - 1] < key[s] ? half : 0;
            length -= half;
        }
        for (std::size_t s = 0; s < side; ++s) {
            const K true_score = true_scores[at[s]];
            histogram[k + 1 + at[s]] += true_score == key[s] ? 1 : 0;
            ++histogram[at[s] + (true_score < key[s] ? 1 : 0)];
        }
    }
}

// In ascending order this takes keys less the lowest number's, as unsigned integers: the NaN, which wrap round to the
// top, are never least. Returns the best key, and adds to `equal` how many equal it.
template <class K>
TRUERANK_INLINE K best_key_body(const K* keys, std::size_t n, bool ascending, K lowest, K best, std::int64_t* equal) {
    using Counter = std::make_unsigned_t<K>;
    if (ascending) {
        Counter least = static_cast<Counter>(static_cast<Counter>(best) - static_cast<Counter>(lowest));
        for (std::size_t j = 0; j < n; ++j) {
            const Counter lifted = static_cast<Counter>(static_cast<Counter>(keys[j]) - static_cast<Counter>(lowest));
            least = lifted < least ? lifted : least;
        }
        best = static_cast<K>(static_cast<Counter>(least + static_cast<Counter>(lowest)));
    } else {
        for (std::size_t j = 0; j < n; ++j) best = keys[j] > best ? keys[j] : best;
    }
    for (std::size_t j = 0; j < n; ++j) *equal += keys[j] == best ? 1 : 0;
    return best;
}

// The functions of an instruction set that have these bodies.
template <class T>
struct KeyKernels {
    std::int64_t (*keys)(const T* scores, std::size_t n, Key<T>* keys);
    void (*count)(const Key<T>* keys, std::size_t n, const Key<T>* true_scores, std::size_t k, PartialCounts* counts,
                  std::uintptr_t ahead);
    void (*search)(const Key<T>* keys, std::size_t n, const Key<T>* true_scores, std::size_t k,
                   std::int64_t* histogram);
    Key<T> (*best)(const Key<T>* keys, std::size_t n, bool ascending, Key<T> lowest, Key<T> best, std::int64_t* equal);
};

}  // namespace truerank
