// How many scores are above each of several true scores, and how many equal it. These are bodies of kernels, which only
// count.cpp includes; count_several_body at the end chooses among five ways, by the number k of true scores:
//
// - directly (k = 2 or 3): each score is loaded once and compared with all of them.
// - in registers: scores become keys, integers in the order of the scores, a chunk of which stays in the nearest cache
//   while the true scores pass over it, up to five at a time with their counters in registers.
// - by codes (doubles, k < 32): 16 bits of a key-like code decide nearly all comparisons, four times as many at a time;
//   scores whose code is that of a true score are compared as they are.
// - by bins (floats and doubles, k >= 32): a histogram of coarser codes, in which only bins that have a true score are
//   looked into.
// - by search (many true scores of any type): each key is searched for among the sorted true scores.
//
// Codes and bins are tried on some scores first, and left where the data do not suit them.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/lanes.hpp"
#include "kernels/measured.hpp"

namespace truerank {

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

// A map of scores to codes, which are integers of 16 bits: a score above another has the same code or a higher one, and
// equal scores have equal codes. Hence unlike codes decide a comparison, with as many lanes as 16-bit integers have;
// only where codes are equal are the scores themselves compared. Codes divide the range of the true scores evenly.
template <class T>
struct CodeMap {
    T origin, factor;
    // Whether both are numbers that keep the order.
    explicit operator bool() const {
        constexpr T most = std::numeric_limits<T>::max();
        return origin >= -most && origin <= most && factor > 0 && factor <= most;
    }
};

// The map that gives the true scores codes from about 1 to `codes` - 2, counted from the lowest code. Infinite true
// scores have the outermost codes, as scores outside of that range.
template <class T>
CodeMap<T> code_map(const Key<T>* true_scores, std::size_t k, int codes) {
    while (k > 0 && true_scores[0] == Order<T>::bottom()) ++true_scores, --k;
    while (k > 0 && true_scores[k - 1] == Order<T>::top()) --k;
    if (k == 0) return {0, 0};
    const T low = Order<T>::score(true_scores[0]), range = Order<T>::score(true_scores[k - 1]) - low;
    const T width = range / static_cast<T>(codes - 4);
    return {low - 2 * width, 1 / width};
}

template <class T, int Bytes>
struct Codes {
    using L = Lanes<T, Bytes>;
    using Code = std::int16_t;
    using C = Lanes<Code, Bytes>;
    using Vector = typename C::Keys;
    static constexpr std::size_t parts = sizeof(T) / sizeof(Code);  // vectors of scores whose codes fill one vector
    // A number so large that its fraction has no bits left: the sum of it and a small number is rounded to an integer,
    // whose lowest 16 bits are the lowest of the sum. Half of the codes are negative.
    static constexpr T magic = (sizeof(T) == 4 ? T(0x1p23) : T(0x1p52)) + T(0x8000);

    static TRUERANK_INLINE Vector of(const T* scores, CodeMap<T> map, int codes, typename L::Counts& nan) {
        using Scores = typename L::Scores;
        using Counts = typename L::Counts;
        using Masks = typename L::Masks;
        const T most = static_cast<T>(codes - 1);
        Counts result = {};
        for (std::size_t p = 0; p < parts; ++p) {
            const Scores vector = L::load(scores + p * L::size);
            const Masks is_nan = L::is_nan_score(vector);
            L::add(nan, is_nan);
            Scores code = (vector - (Scores{} + map.origin)) * (Scores{} + map.factor);
            // A NaN gets the lowest code.
            if constexpr (sizeof(T) == 4) {  // the bits of numbers from 0 on are integers of the same order
                const Masks top = Masks{} + std::bit_cast<Key<T>>(most);
                Masks bits = (Masks)code & ~is_nan;
                bits = bits > Masks{} ? bits : Masks{};
                bits = bits < top ? bits : top;
                code = (Scores)bits;
            } else {
                const Scores top = Scores{} + most;
                code = code > Scores{} ? code : Scores{};
                code = code < top ? code : top;
            }
            Counts bits = (Counts)(code + (Scores{} + magic));
            if (p + 1 < parts) bits &= Counts{} + typename L::Counter{0xffff};
            result |= bits << int(16 * p);
        }
        return (Vector)result;
    }
    // Which score has the code at place i of the vectors that `of` made of consecutive scores.
    static constexpr std::size_t score_at(std::size_t i) {
        const std::size_t lane = i % C::size;
        return i - lane + lane % parts * L::size + lane / parts;
    }
};

// Whether any bit is set.
template <class Vector>
TRUERANK_INLINE bool any_lane(const Vector& masks) {
    std::uint64_t word[sizeof(Vector) / 8];
    std::memcpy(word, &masks, sizeof masks);
    std::uint64_t all = 0;
    for (const std::uint64_t w : word) all |= w;
    return all != 0;
}

constexpr int kFineCodes = 65536;
// Per lane of a 16-bit counter, at most 65,535 scores are above a true score: sums are made after so many scores.
constexpr std::size_t kSummedScores = measured::kCodedScores * 512;

// Compares the scores that have the code of a true score.
template <class T>
__attribute__((noinline)) void compare_equal(const std::int16_t* codes, const T* scores, std::size_t n,
                                             std::int16_t true_code, Key<T> true_score, PartialCounts& counts,
                                             std::size_t (*score_at)(std::size_t)) {
    const std::uint64_t pattern = 0x0001000100010001ULL * static_cast<std::uint16_t>(true_code);
    for (std::size_t i = 0; i < n; i += 4) {
        std::uint64_t word;
        std::memcpy(&word, codes + i, 8);
        word ^= pattern;
        if (__builtin_expect(((word - 0x0001000100010001ULL) & ~word & 0x8000800080008000ULL) == 0, 1)) continue;
        for (std::size_t l = i; l < i + 4; ++l) {
            if (codes[l] != true_code) continue;
            const Key<T> key = Order<T>::key(scores[score_at(l)]);
            counts.above += key > true_score;
            counts.tied += key == true_score;
        }
    }
}

// Counts K true scores by the codes of n scores. Counters of scores with a higher code are added up later; scores with
// an equal code are counted at once. Returns how often such scores were looked for.
template <class T, int Bytes, int K>
TRUERANK_INLINE std::size_t count_codes(const std::int16_t* codes, const T* scores, std::size_t n,
                                        const std::int16_t* true_codes, const Key<T>* true_scores,
                                        std::uint16_t* above_counters, PartialCounts* counts) {
    using D = Codes<T, Bytes>;
    using C = typename D::C;
    using Vector = typename D::Vector;
    std::size_t hits = 0;
    Vector true_code[K];
    typename C::Counts above[K];
    for (int j = 0; j < K; ++j) true_code[j] = C::broadcast_key(true_codes[j]);
    std::memcpy(above, above_counters, sizeof above);
    for (std::size_t i = 0; i < n; i += measured::kTestedVectors * C::size) {
        typename C::Counts equal = {};
#pragma GCC unroll 1
        for (std::size_t v = 0; v < measured::kTestedVectors; ++v) {
            Vector code;
            std::memcpy(&code, codes + i + v * C::size, Bytes);
            for (int j = 0; j < K; ++j) {
                C::add(above[j], code > true_code[j]);
                C::add(equal, code == true_code[j]);
            }
        }
        if (__builtin_expect(any_lane(equal), 0)) {
            for (int j = 0; j < K; ++j) {
                typename C::Counts same = {};
                for (std::size_t v = 0; v < measured::kTestedVectors; ++v) {
                    Vector code;
                    std::memcpy(&code, codes + i + v * C::size, Bytes);
                    C::add(same, code == true_code[j]);
                }
                if (!any_lane(same)) continue;
                ++hits;
                compare_equal<T>(codes + i, scores + i, measured::kTestedVectors * C::size, true_codes[j],
                                 true_scores[j], counts[j], &D::score_at);
            }
        }
    }
    std::memcpy(above_counters, above, sizeof above);
    return hits;
}

template <class T, int Bytes>
TRUERANK_INLINE std::size_t count_codes(std::size_t k, const std::int16_t* codes, const T* scores, std::size_t n,
                                        const std::int16_t* true_codes, const Key<T>* true_scores, std::uint16_t* above,
                                        PartialCounts* counts) {
    switch (k) {
        case 1:
            return count_codes<T, Bytes, 1>(codes, scores, n, true_codes, true_scores, above, counts);
        case 2:
            return count_codes<T, Bytes, 2>(codes, scores, n, true_codes, true_scores, above, counts);
        case 3:
            return count_codes<T, Bytes, 3>(codes, scores, n, true_codes, true_scores, above, counts);
        case 4:
            return count_codes<T, Bytes, 4>(codes, scores, n, true_codes, true_scores, above, counts);
        default:
            return count_codes<T, Bytes, 5>(codes, scores, n, true_codes, true_scores, above, counts);
    }
}

// Writes the codes of the true scores, in their order.
template <class T, int Bytes>
TRUERANK_INLINE void codes_of_true_scores(const Key<T>* true_scores, std::size_t k, CodeMap<T> map, int most,
                                          std::int16_t* codes) {
    using D = Codes<T, Bytes>;
    constexpr std::size_t size = D::C::size;
    typename Lanes<T, Bytes>::Counts nan = {};
    for (std::size_t j = 0; j < k; j += size) {
        const std::size_t m = std::min(k - j, size);
        T scores[size] = {};
        std::int16_t made[size];
        for (std::size_t l = 0; l < m; ++l) scores[l] = Order<T>::score(true_scores[j + l]);
        const typename D::Vector vector = D::of(scores, map, most, nan);
        std::memcpy(made, &vector, Bytes);
        for (std::size_t l = 0; l < size; ++l) {
            if (D::score_at(l) < m) codes[j + D::score_at(l)] = made[l];
        }
    }
}

// Writes the codes of n scores, whole vectors of codes, in the order of Codes::score_at; meanwhile scores ahead are
// prefetched.
template <class T, int Bytes>
TRUERANK_INLINE void codes_of(const T* scores, std::size_t n, CodeMap<T> map, int most, std::int16_t* codes,
                              typename Lanes<T, Bytes>::Counts& nan) {
    using D = Codes<T, Bytes>;
    for (std::size_t u = 0; u < n; u += D::C::size) {
        for (std::size_t byte = 0; byte < sizeof(T) * D::C::size; byte += kLine) {
            prefetch(address_after(scores + u, measured::kAheadBytesOfSeveral + byte));
        }
        const typename D::Vector vector = D::of(scores + u, map, most, nan);
        std::memcpy(codes + u, &vector, Bytes);
    }
}

// Counts in the first scores, as long as few of them have the codes of true scores; returns how many it has counted.
template <class T, int Bytes>
TRUERANK_INLINE std::size_t count_by_codes(const T* scores, std::size_t n, const Key<T>* true_scores, std::size_t k,
                                           PartialCounts* counts, std::int64_t* nans) {
    using L = Lanes<T, Bytes>;
    using D = Codes<T, Bytes>;
    using C = typename D::C;
    const CodeMap<T> map = code_map<T>(true_scores, k, kFineCodes);
    if (!map) return 0;
    alignas(kLine) std::int16_t true_codes[measured::kLeastBinned];
    alignas(kLine) std::uint16_t above[measured::kLeastBinned * C::size] = {};
    alignas(kLine) std::int16_t codes[measured::kCodedScores];
    codes_of_true_scores<T, Bytes>(true_scores, k, map, kFineCodes, true_codes);
    typename L::Counts nan = {};
    codes_of<T, Bytes>(scores, measured::kProbedScores, map, kFineCodes, codes, nan);
    typename C::Counts equal = {};
    for (std::size_t j = 0; j < k; ++j) {
        for (std::size_t u = 0; u < measured::kProbedScores; u += C::size) {
            typename D::Vector code;
            std::memcpy(&code, codes + u, Bytes);
            C::add(equal, code == (typename D::Vector{} + true_codes[j]));
        }
    }
    if (C::sum(equal) > 2) return 0;
    nan = typename L::Counts{};
    const std::size_t groups = (k + kMaxInRegisters - 1) / kMaxInRegisters;
    const std::size_t whole = n - n % measured::kCodedScores;
    std::size_t i = 0;
    for (std::size_t hits = 0; i < whole;) {
        codes_of<T, Bytes>(scores + i, measured::kCodedScores, map, kFineCodes, codes, nan);
        for (std::size_t g = 0, j = 0; g < groups; ++g) {
            const std::size_t size = (k - j) / (groups - g);
            hits += count_codes<T, Bytes>(size, codes, scores + i, measured::kCodedScores, true_codes + j,
                                          true_scores + j, above + j * C::size, counts + j);
            j += size;
        }
        i += measured::kCodedScores;
        // The true scores themselves are hits. Where there are more than a few others, comparing scores is cheaper.
        const bool dear = hits > 4 + k * (1 + i / (4 * measured::kCodedScores));
        if (dear || i >= whole || i % kSummedScores == 0) {
            for (std::size_t j = 0; j < k; ++j) {
                typename C::Counts counters;
                std::memcpy(&counters, above + j * C::size, Bytes);
                counts[j].above += C::sum(counters);
            }
            std::memset(above, 0, sizeof above);
            *nans += L::sum(nan);
            nan = typename L::Counts{};
        }
        if (dear) break;
    }
    return i;
}

// Counts many true scores: every score is entered in a histogram of its codes, and only in bins that have a true score
// are scores compared, with those of the bin. below[p] and equal[p] are as in `search`. Returns how many scores it has
// counted: none where too many would be compared.
template <class T, int Bytes>
TRUERANK_INLINE std::size_t count_by_bins(const T* scores, std::size_t n, const Key<T>* true_scores, std::size_t k,
                                          PartialCounts* counts, std::int64_t* below, std::int64_t* equal,
                                          std::int64_t* memory, std::int64_t* nans) {
    using L = Lanes<T, Bytes>;
    using D = Codes<T, Bytes>;
    const CodeMap<T> map = code_map<T>(true_scores, k, measured::kBins);
    if (!map) return 0;
    // For each bin the number of scores, times two, and in the lowest bit whether it has a true score; for those that
    // have, which is the first, and how many there are; for each true score, its bin.
    auto* const table = reinterpret_cast<std::uint32_t*>(memory);
    auto* const begin = reinterpret_cast<std::uint16_t*>(table + measured::kBins);
    auto* const length = begin + measured::kBins;
    auto* const bin_of = length + measured::kBins;
    const auto bin = [](std::int16_t code) { return static_cast<std::uint16_t>(code + 0x8000); };
    std::memset(table, 0, measured::kBins * sizeof *table);
    codes_of_true_scores<T, Bytes>(true_scores, k, map, measured::kBins, reinterpret_cast<std::int16_t*>(bin_of));
    std::size_t most = 0;
    for (std::size_t j = 0; j < k; ++j) {
        const std::uint16_t b = bin_of[j] = bin(static_cast<std::int16_t>(bin_of[j]));
        if (table[b] == 0) {
            table[b] = 1;
            begin[b] = static_cast<std::uint16_t>(j);
        }
        length[b] = static_cast<std::uint16_t>(j + 1 - begin[b]);
        most = std::max(most, std::size_t{length[b]});
    }
    const auto steps = static_cast<std::size_t>(std::bit_width(most - 1));  // of a search in a bin
    alignas(kLine) std::int16_t codes[measured::kCodedScores];
    std::uint16_t listed[measured::kCodedScores];
    typename L::Counts nan = {};
    codes_of<T, Bytes>(scores, measured::kProbedScores, map, measured::kBins, codes, nan);
    std::size_t compared = 0;
    for (std::size_t u = 0; u < measured::kProbedScores; ++u) compared += table[bin(codes[u])] & 1;
    const bool searches = k >= measured::kLeastSearched<T>;
    const std::size_t otherwise = searches ? measured::kSearchCycles : k / measured::kComparedPerCycle;
    const std::size_t found = measured::kFoundCycles + measured::kStepCycles * steps;
    const std::size_t cycles = measured::kBinCycles * measured::kProbedScores + compared * found;
    if (cycles > otherwise * measured::kProbedScores) return 0;
    nan = typename L::Counts{};
    // Entries of the table have 31 bits for a number of scores.
    const std::size_t whole = std::min(n - n % measured::kCodedScores, std::size_t{1} << 30);
    for (std::size_t i = 0; i < whole; i += measured::kCodedScores) {
        codes_of<T, Bytes>(scores + i, measured::kCodedScores, map, measured::kBins, codes, nan);
        std::size_t m = 0;
#pragma GCC unroll 4
        for (std::size_t u = 0; u < measured::kCodedScores; ++u) {
            std::uint32_t& entry = table[bin(codes[u])];
            listed[m] = static_cast<std::uint16_t>(u);
            m += entry & 1;
            entry += 2;
        }
        // All searches take the same number of steps, so that the processor foresees it.
        for (std::size_t l = 0; l < m; ++l) {
            const std::uint16_t b = bin(codes[listed[l]]);
            const Key<T> key = Order<T>::key(scores[i + D::score_at(listed[l])]);
            std::size_t at = begin[b], left = length[b];
            for (std::size_t step = 0; step < steps; ++step) {
                const std::size_t part = left / 2;
                at += true_scores[at + part - (part > 0 ? 1 : 0)] < key ? part : 0;
                left -= part;
            }
            equal[at] += true_scores[at] == key ? 1 : 0;
            ++below[at + (true_scores[at] < key ? 1 : 0)];
        }
    }
    std::uint32_t sum = 0;
    for (int b = 0; b < measured::kBins; ++b) {
        sum += (table[b] >> 1) & ((table[b] & 1) - 1);  // 0 for a bin whose scores were compared
        table[b] = sum;
    }
    for (std::size_t j = 0; j < k; ++j) counts[j].above += sum - table[bin_of[j]];
    *nans += L::sum(nan);
    return whole;
}

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
                                                std::size_t k, PartialCounts* counts, std::int64_t* scratch) {
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
        } else if (codes_gain && k > 3 && k < measured::kLeastBinned && n * sizeof(T) >= measured::kLeastCodedBytes) {
            first = count_by_codes<T, Bytes>(scores, n, true_scores, k, counts, &nan);
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
