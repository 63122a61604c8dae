// Several true scores are counted by codes of 16 bits, several times as many of which fit into a vector as scores.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/keys.hpp"

namespace truerank {

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
        case 3:
            return count_codes<T, Bytes, 3>(codes, scores, n, true_codes, true_scores, above, counts);
        case 4:
            return count_codes<T, Bytes, 4>(codes, scores, n, true_codes, true_scores, above, counts);
        default:
            return count_codes<T, Bytes, 5>(codes, scores, n, true_codes, true_scores, above, counts);
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

}  // namespace truerank
