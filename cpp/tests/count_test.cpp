// The counting kernels, for all types of scores.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "kernels/count.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

constexpr std::size_t kSizes[] = {0,  1,  2,  3,  5,  7,   8,   9,   15,  16,  17,  31,   32,   33,   47,
                                  63, 64, 65, 96, 97, 127, 128, 129, 255, 256, 257, 1000, 4033, 16385};
// More scores than counters of 8 and 16 bits can count, and more than one sum of three vectors of counters holds.
constexpr std::size_t kLong = 140'001;
constexpr std::size_t kLongest = (1 << 21) + 17;

template <class T>
struct PlainCounts {
    std::int64_t above = 0, tied = 0, nan = 0;
};

template <class T, class N>
PlainCounts<T> plain(const T* scores, std::size_t n, N true_score) {
    PlainCounts<T> counts;
    for (std::size_t i = 0; i < n; ++i) {
        const auto score = number(scores[i]);
        counts.above += score > true_score;
        counts.tied += score == true_score;
        counts.nan += is_nan(score);
    }
    return counts;
}

// A random score that is a number.
template <class T>
T random_true_score(Distribution distribution, Random& random) {
    for (;;) {
        const T true_score = random_score<T>(distribution, random);
        if (!is_nan(number(true_score))) return true_score;
    }
}

template <class T>
typename Order<T>::Bits bits_of(T score) {
    return std::bit_cast<typename Order<T>::Bits>(score);
}

template <class T>
void check_keys(Checks& checks, const char* name, Random& random) {
    for (const Distribution distribution : kDistributions) {
        for (int i = 0; i < 2000; ++i) {
            const T a = random_score<T>(distribution, random), b = random_score<T>(distribution, random);
            const auto x = number(a), y = number(b);
            checks.expect(count_kernels<T>().order.key(bits_of(a)) == Order<T>::key(a), "%s: a key of bits", name);
            checks.expect(count_kernels<T>().order.is_nan(bits_of(a)) == is_nan(x), "%s: the bits of a NaN", name);
            checks.expect(Order<T>::is_key_of_nan(Order<T>::key(a)) == is_nan(x), "%s: the key of a NaN", name);
            if (is_nan(x) || is_nan(y)) continue;
            checks.expect((Order<T>::key(a) < Order<T>::key(b)) == (x < y), "%s: order of keys", name);
            checks.expect((Order<T>::key(a) == Order<T>::key(b)) == (x == y), "%s: equal keys", name);
            checks.expect(Order<T>::key(a) <= Order<T>::top() && Order<T>::key(a) >= Order<T>::bottom(),
                          "%s: keys between the outermost", name);
        }
    }
}

// Calls f(scores, n, distribution) with arrays of all sizes, which begin anywhere in a cache line and end where their
// memory ends.
template <class T, class F>
void for_each_block(Random& random, const F& f) {
    for (const Distribution distribution : kDistributions) {
        for (const std::size_t n : kSizes) {
            const std::size_t offset = n % 4;
            const std::vector<T> scores = random_scores<T>(offset + n, distribution, random);
            f(scores.data() + offset, n, distribution);
        }
    }
    const std::vector<T> scores = random_scores<T>(kLong, Distribution::ties, random);
    f(scores.data(), kLong, Distribution::ties);
    const std::vector<T> equal(kLong, score_of<T>(3));
    f(equal.data(), kLong, Distribution::ties);
}

// Scores that are left out count as nothing, whatever they are.
template <class T>
void check_some(Checks& checks, const char* name, Random& random, const T* scores, std::size_t n, T true_score) {
    std::vector<std::uint8_t> increments(n);
    std::vector<T> some;
    for (std::size_t i = 0; i < n; ++i) {
        increments[i] = random.one_in(3) ? 0 : 1;
        if (increments[i] == 1) some.push_back(scores[i]);
    }
    const PlainCounts<T> expected = plain(some.data(), some.size(), number(true_score));
    PartialCounts result{5, 6};
    const std::int64_t nan =
        count_kernels<T>().count_some(scores, increments.data(), n, bits_of(true_score), n % 2 == 0, &result);
    checks.expect(result.above == 5 + expected.above && result.tied == 6 + expected.tied && nan == expected.nan,
                  "count_some, %s, %zu of %zu scores", name, some.size(), n);
}

template <class T>
void check_one(Checks& checks, const char* name, Random& random) {
    for_each_block<T>(random, [&](const T* scores, std::size_t n, Distribution distribution) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            const T true_score = repeat == 2 ? score_of<T>(2) : random_true_score<T>(distribution, random);
            const PlainCounts<T> expected = plain(scores, n, number(true_score));
            PartialCounts result{1000, 2000};
            const std::int64_t nan =
                count_kernels<T>().count_one(scores, n, bits_of(true_score), n % 2 == 0, false, &result);
            checks.expect(
                result.above == 1000 + expected.above && result.tied == 2000 + expected.tied && nan == expected.nan,
                "count_one, %s, %zu scores, distribution %d", name, n, static_cast<int>(distribution));
            check_some(checks, name, random, scores, n, true_score);
        }
    });
    const std::vector<T> equal(kLongest, score_of<T>(3));
    PartialCounts result;
    const std::int64_t nans =
        count_kernels<T>().count_one(equal.data(), kLongest, bits_of(score_of<T>(3)), true, true, &result);
    checks.expect(result.above == 0 && result.tied == kLongest && nans == 0, "count_one, %s, equal scores", name);
    result = {};
    count_kernels<T>().count_one(equal.data(), kLongest, bits_of(score_of<T>(2)), false, false, &result);
    checks.expect(result.above == kLongest && result.tied == 0, "count_one, %s, lower true score", name);
}

// Scores whose sum is a NaN, or might be, in rows that are counted by sums: NaN anywhere, infinities of either sign or
// of both, numbers that add up to more than there is, and subnormal ones.
template <class T>
void check_sums(Checks& checks, const char* name, Random& random) {
    using Limits = std::numeric_limits<T>;
    constexpr T infinity = Limits::infinity(), most = Limits::max();
    const std::vector<std::vector<T>> kinds = {{Limits::quiet_NaN()},
                                               {Limits::signaling_NaN()},
                                               {infinity},
                                               {infinity, -infinity},
                                               {most},
                                               {most, -most, infinity},
                                               {Limits::denorm_min()},
                                               {-Limits::denorm_min(), Limits::quiet_NaN()},
                                               {-most, -infinity, most},
                                               {most, -Limits::quiet_NaN(), -infinity}};
    constexpr std::size_t summed = measured::kSummedBytes / sizeof(T), least = measured::kLeastSummedBytes / sizeof(T);
    for (const std::size_t n : {least - 1, least, least + 3, summed - 1, summed, summed + 1, 3 * summed + 77}) {
        for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
            for (const std::size_t places : {std::size_t{1}, std::size_t{2}, std::size_t{9}, n}) {
                std::vector<T> memory(n + 5);
                for (T& score : memory) score = static_cast<T>(random.below(9) - 4);
                T* const scores = memory.data() + n % 5;
                for (std::size_t i = 0; i < places; ++i) {
                    const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
                    scores[places == 1 ? (kind % 2 == 0 ? 0 : n - 1) : at] = kinds[kind][i % kinds[kind].size()];
                }
                for (const T true_score : {T(0), T(-most), infinity}) {
                    const PlainCounts<T> expected = plain(scores, n, true_score);
                    PartialCounts result;
                    const std::int64_t nan =
                        count_kernels<T>().count_one(scores, n, bits_of(true_score), true, false, &result);
                    checks.expect(result.above == expected.above && result.tied == expected.tied && nan == expected.nan,
                                  "count_one, %s, %zu scores, kind %zu in %zu places", name, n, kind, places);
                }
            }
        }
    }
}

// Short rows of every length, in which NaN are told from scores that equal the true one: it is among them, once or
// several times, or it is not.
template <class T>
void check_short(Checks& checks, const char* name, Random& random) {
    constexpr std::size_t longest = measured::kLeastSummedBytes / sizeof(T) + 2;
    std::vector<T> extremes;
    for (int i = 0; i < 40; ++i) extremes.push_back(extreme<T>(random));
    for (std::size_t n = 0; n <= longest; n += n < 200 ? 1 : 37) {
        for (int kind = 0; kind < 12; ++kind) {
            // Up to three copies of the true score, among others above and below it, and then up to two extreme ones.
            std::vector<T> memory(n + 3);
            const auto distribution = n % 2 == 0 ? Distribution::ties : Distribution::extremes;
            const T true_score = kind % 4 == 3 ? random_true_score<T>(distribution, random) : score_of<T>(2);
            for (T& score : memory) score = score_of<T>(random.one_in(2) ? 1 : 3);
            T* const scores = memory.data() + n % 3;
            const auto anywhere = [&] { return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n))); };
            for (int copies = kind % 4; n > 0 && copies > 0; --copies) scores[anywhere()] = true_score;
            for (int some = kind / 4; n > 0 && some > 0; --some) {
                const std::size_t place = random.one_in(2) ? n - 1 : anywhere();
                scores[place] = extremes[static_cast<std::size_t>(random.below(40))];
            }
            const PlainCounts<T> expected = plain(scores, n, number(true_score));
            for (const bool has_true_score : {false, true}) {
                if (has_true_score && expected.tied == 0) continue;
                PartialCounts result{3, 4};
                const std::int64_t nan =
                    count_kernels<T>().count_one(scores, n, bits_of(true_score), n % 2 == 0, has_true_score, &result);
                checks.expect(
                    result.above == 3 + expected.above && result.tied == 4 + expected.tied && nan == expected.nan,
                    "count_one, %s, %zu scores, kind %d, has_true_score %d", name, n, kind, has_true_score);
            }
        }
    }
}

// Rows that follow one another, or lie apart, up to the end of their memory, of every length that takes part of a
// vector, and of some that take many. A true score may be a NaN, and is one of the row or given.
template <class T>
void check_rows(Checks& checks, const char* name, Random& random) {
    constexpr std::size_t longest = static_cast<std::size_t>(measured::kShortRowBytes) / sizeof(T);
    for (std::size_t n = 1; n <= longest; n = n == longest ? n + 1 : std::min(longest, n + (n < 140 ? 1 : 97))) {
        for (const Distribution distribution : kDistributions) {
            const std::size_t rows = n < 70 ? 70 : 5, offset = n % 3, stride = n + n % 4;
            std::vector<T> memory = random_scores<T>(offset + (rows - 1) * stride + n, distribution, random);
            const T* const scores = memory.data() + offset;
            std::vector<std::int64_t> targets, above(rows, -5), tied(rows, -6), nan(rows, -7);
            for (std::size_t row = 0; row < rows; ++row) targets.push_back(random.below(static_cast<std::int64_t>(n)));
            if (n == longest) memory.assign(memory.size(), score_of<T>(3));  // the most that counters have to hold
            const bool are_given = random.one_in(2);
            std::vector<T> true_scores(rows);
            std::vector<typename Order<T>::Bits> bits(rows);
            for (std::size_t row = 0; row < rows; ++row) {
                const T target_score = scores[row * stride + static_cast<std::size_t>(targets[row])];
                true_scores[row] = are_given ? random_score<T>(distribution, random) : target_score;
                bits[row] = bits_of(true_scores[row]);
            }
            const auto sought = bits_of(random_score<T>(distribution, random));
            const RowsFound found = count_kernels<T>().count_rows(scores, n, rows, stride, targets.data(),
                                                                  are_given ? bits.data() : nullptr, sought,
                                                                  above.data(), tied.data(), nan.data());
            const bool has_sought = std::find(bits.begin(), bits.end(), sought) != bits.end();
            bool right = found.sought == has_sought;
            std::int64_t nans = 0;
            for (std::size_t row = 0; row < rows; ++row) {
                const PlainCounts<T> expected = plain(scores + row * stride, n, number(true_scores[row]));
                nans += expected.nan;
                right = right && nan[row] == expected.nan && above[row] == expected.above && tied[row] == expected.tied;
            }
            checks.expect(right && found.nan == (nans > 0), "count_rows, %s, %zu scores, distribution %d", name, n,
                          static_cast<int>(distribution));
        }
    }
}

template <class T>
void check_several(Checks& checks, const char* name, Random& random) {
    constexpr std::size_t few[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 40};
    std::vector<std::size_t> sizes(std::begin(few), std::end(few));
    for (const std::size_t more : {0u, 1u, 37u}) sizes.push_back(measured::kLeastSearched<T> - 1 + more);
    for_each_block<T>(random, [&](const T* scores, std::size_t n, Distribution distribution) {
        // Where no true score is a number, the NaN are counted.
        std::vector<std::int64_t> unused(count_kernels<T>().scratch_size(0) + 1);
        PartialCounts none{5, 7};
        checks.expect(count_kernels<T>().count_several(scores, n, nullptr, 0, &none, unused.data()) ==
                              plain(scores, n, number(score_of<T>(0))).nan &&
                          none.above == 5 && none.tied == 7,
                      "count_several, %s, %zu scores, no true scores", name, n);
        for (const std::size_t most : sizes) {
            if (n * most > 2'000'000) continue;
            // Distinct keys, and for each a score that has it.
            std::map<Key<T>, T> of_key;
            for (std::size_t i = 0; i < most; ++i) {
                const T true_score = i % 2 == 0 && n > 0
                                         ? scores[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)))]
                                         : random_score<T>(distribution, random);
                if (!is_nan(number(true_score))) of_key.emplace(Order<T>::key(true_score), true_score);
            }
            if (of_key.empty()) continue;
            std::vector<Key<T>> true_scores;
            for (const auto& [key, true_score] : of_key) true_scores.push_back(key);
            const std::size_t k = true_scores.size();
            std::vector<PartialCounts> results(k, PartialCounts{5, 7});
            std::vector<std::int64_t> scratch(count_kernels<T>().scratch_size(k), -1);
            const std::int64_t nan =
                count_kernels<T>().count_several(scores, n, true_scores.data(), k, results.data(), scratch.data());
            bool right = nan == plain(scores, n, number(score_of<T>(0))).nan;
            auto result = results.begin();
            for (const auto& [key, true_score] : of_key) {
                const PlainCounts<T> expected = plain(scores, n, number(true_score));
                right = right && result->above == 5 + expected.above && result->tied == 7 + expected.tied;
                ++result;
            }
            checks.expect(right, "count_several, %s, %zu scores, %zu true scores, distribution %d", name, n, k,
                          static_cast<int>(distribution));
        }
    });
}

// Scores of the kinds that count_several counts in ways of their own: spread evenly, neighbours of a few numbers,
// mostly one number, the same with NaN and infinities, and powers.
enum class Spread : int { even, near, one, even_with_extremes, powers };

template <class T>
T spread_score(Spread spread, Random& random) {
    const double even = static_cast<double>(random.bits() >> 11) * 0x1p-53 - 0.25;
    switch (spread) {
        case Spread::near: {
            T score = static_cast<T>(1 + random.below(3));
            for (std::int64_t step = random.below(6); step > 0; --step) score = std::nextafter(score, T(9));
            return score;
        }
        case Spread::one:
            return random.one_in(3) ? static_cast<T>(even) : T(0);
        case Spread::even_with_extremes:
            return random.one_in(20) ? extreme<T>(random) : static_cast<T>(even);
        case Spread::powers:
            return static_cast<T>(std::exp(40 * even));
        default:
            return static_cast<T>(even);
    }
}

// Long rows and many true scores; a sorted copy says what is right. True scores come from the row, and from beside it.
template <class T>
void check_long(Checks& checks, const char* name, Random& random) {
    const std::vector<T> lowest(measured::kLeastBinnedScores, std::numeric_limits<T>::lowest());
    for (int kind = 0; kind < 5; ++kind) {
        const auto spread = static_cast<Spread>(kind);
        for (const std::size_t n : {4096u, 8192u, 8960u, 20'011u, 600'000u}) {
            if (n > 100'000 && spread != Spread::even) continue;
            std::vector<T> scores(n), sorted;
            for (T& score : scores) score = spread_score<T>(spread, random);
            if (n == 8960) {  // ties with most true scores begin late
                for (std::size_t i = 4000; i < n; ++i) scores[i] = T(0.5);
            }
            for (const T score : scores) {
                if (!is_nan(score)) sorted.push_back(score);
            }
            std::sort(sorted.begin(), sorted.end());
            for (const std::size_t most :
                 {2u, 3u, 4u, 5u, 6u, 11u, 31u, 32u, 33u, 64u, 100u, 127u, 128u, 1000u, 1500u}) {
                std::vector<Key<T>> true_scores;
                for (std::size_t i = 0; i < most; ++i) {
                    T score = scores[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)))];
                    if (i % 4 == 3) score = std::nextafter(score, T(0));
                    if (n == 8960 && i == 0) score = T(0.5);
                    if (!is_nan(score)) true_scores.push_back(Order<T>::key(score));
                }
                std::sort(true_scores.begin(), true_scores.end());
                true_scores.erase(std::unique(true_scores.begin(), true_scores.end()), true_scores.end());
                const std::size_t k = true_scores.size();
                // What another row left in memory: its histogram, if one is made, is that of the lowest bin alone.
                std::vector<std::int64_t> scratch(count_kernels<T>().scratch_size(k), -1);
                if (most % 2 == 0) {
                    std::vector<PartialCounts> unread(k);
                    count_kernels<T>().count_several(lowest.data(), lowest.size(), true_scores.data(), k, unread.data(),
                                                     scratch.data());
                }
                std::vector<PartialCounts> results(k, PartialCounts{5, 7});
                const std::int64_t nan = count_kernels<T>().count_several(scores.data(), n, true_scores.data(), k,
                                                                          results.data(), scratch.data());
                bool right = nan == static_cast<std::int64_t>(n - sorted.size());
                for (std::size_t j = 0; j < k; ++j) {
                    const T true_score = Order<T>::score(true_scores[j]);
                    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), true_score);
                    right = right && Order<T>::key(true_score) == true_scores[j] &&
                            results[j].above == 5 + (sorted.end() - high) && results[j].tied == 7 + (high - low);
                }
                checks.expect(right, "count_several, %s, %zu scores, %zu true scores, spread %d", name, n, k, kind);
            }
        }
    }
}

// More true scores than 16 bits can number, all but one of which are close together; most scores lie between these and
// that one, where a histogram, if it is made, has bins without a true score.
template <class T>
void check_crowds(Checks& checks, const char* name, Random& random) {
    for (const std::size_t k : {65'535u, 65'537u, 70'000u}) {
        std::vector<Key<T>> true_scores;
        for (std::size_t j = 0; j + 1 < k; ++j) true_scores.push_back(Order<T>::key(T(0x1p-20)) + Key<T>(2 * j));
        true_scores.push_back(Order<T>::key(T(1)));
        const T crowd = Order<T>::score(true_scores[k - 2]);
        std::vector<T> scores(80'000);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const auto near = random.below(static_cast<std::int64_t>(2 * k));
            scores[i] = i % 16 == 15 ? Order<T>::score(static_cast<Key<T>>(true_scores[0] + near))
                                     : crowd + T(0.25) + static_cast<T>(random.below(1000)) / 2000;
        }
        std::vector<T> sorted = scores;
        std::sort(sorted.begin(), sorted.end());
        std::vector<PartialCounts> results(k);
        std::vector<std::int64_t> scratch(count_kernels<T>().scratch_size(k));
        count_kernels<T>().count_several(scores.data(), scores.size(), true_scores.data(), k, results.data(),
                                         scratch.data());
        bool right = true;
        for (std::size_t j = 0; j < k; ++j) {
            const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), Order<T>::score(true_scores[j]));
            right = right && results[j].above == sorted.end() - high && results[j].tied == high - low;
        }
        checks.expect(right, "count_several, %s, %zu true scores, most of them close together", name, k);
    }
}

template <class T>
void check_audit(Checks& checks, const char* name, Random& random) {
    for_each_block<T>(random, [&](const T* scores, std::size_t n, Distribution distribution) {
        for (const bool ascending : {false, true}) {
            const Key<T> start = ascending ? Order<T>::top() : Order<T>::bottom();
            Key<T> expected = start;
            std::int64_t count = 0, infinities = 0;
            for (std::size_t i = 0; i < n; ++i) {
                if (is_nan(number(scores[i]))) continue;
                infinities += has_nan<T> && std::isinf(static_cast<double>(number(scores[i])));
                const Key<T> key = Order<T>::key(scores[i]);
                if (ascending ? key < expected : key > expected) {
                    expected = key;
                    count = 0;
                }
                count += key == expected;
            }
            // In one call, and in two.
            for (const std::size_t cut : {std::size_t{0}, n / 3}) {
                Key<T> best = start;
                std::int64_t at_best = 0, inf = 0;
                count_kernels<T>().audit(scores, cut, ascending, &best, &at_best, &inf);
                count_kernels<T>().audit(scores + cut, n - cut, ascending, &best, &at_best, &inf);
                checks.expect(best == expected && at_best == count && inf == infinities,
                              "audit, %s, %zu scores, ascending %d, distribution %d", name, n, ascending,
                              static_cast<int>(distribution));
            }
        }
    });
}

template <class T>
void check_columns_of(Checks& checks, const char* name, Distribution distribution, std::size_t lanes,
                      std::size_t columns, std::ptrdiff_t step, Random& random) {
    // Columns are `step` scores apart: from the last to the first if that is negative, all in the same place if it is
    // 0.
    const auto apart = static_cast<std::size_t>(std::abs(step));
    const std::vector<T> memory =
        random_scores<T>(lanes + (columns == 0 ? 0 : (columns - 1) * apart), distribution, random);
    const T* const first = memory.data() + (step < 0 && columns > 0 ? (columns - 1) * apart : 0);
    std::vector<T> true_scores(lanes);
    for (T& true_score : true_scores) true_score = random_true_score<T>(distribution, random);
    struct alignas(64) Line {
        unsigned char bytes[64];
    };
    std::vector<Line> scratch(3 * lanes * sizeof(T) / sizeof(Line) + 1);
    for (const bool with_nan : {false, true}) {
        std::vector<std::int64_t> above(lanes, 10), tied(lanes, 20), nan(lanes, 30);
        count_kernels<T>().count_columns(
            reinterpret_cast<const char*>(first), step * static_cast<std::ptrdiff_t>(sizeof(T)), columns, lanes,
            true_scores.data(), above.data(), tied.data(), with_nan ? nan.data() : nullptr, scratch.data());
        bool right = true;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            std::vector<T> row(columns);
            for (std::size_t c = 0; c < columns; ++c) {
                row[c] = first[static_cast<std::ptrdiff_t>(c) * step + static_cast<std::ptrdiff_t>(lane)];
            }
            const PlainCounts<T> expected = plain(row.data(), columns, number(true_scores[lane]));
            right = right && above[lane] == 10 + expected.above && tied[lane] == 20 + expected.tied &&
                    nan[lane] == 30 + (with_nan ? expected.nan : 0);
        }
        checks.expect(right, "count_columns, %s, %zu lanes, %zu columns, step %td, nan %d, distribution %d", name,
                      lanes, columns, step, with_nan, static_cast<int>(distribution));
    }
}

template <class T>
void check_columns(Checks& checks, const char* name, Random& random) {
    const std::size_t multiple = count_kernels<T>().lane_multiple, most = count_kernels<T>().max_lanes;
    checks.expect(most % multiple == 0 && multiple > 0, "%s: lanes", name);
    for (const std::size_t lanes : {multiple, 2 * multiple, 3 * multiple, most}) {
        const auto wide = static_cast<std::ptrdiff_t>(lanes);
        for (const std::size_t columns : {0u, 1u, 2u, 3u, 11u, 12u, 17u, 100u, 259u}) {
            if (lanes == most && columns > 17) continue;
            for (const Distribution distribution : kDistributions) {
                for (const std::ptrdiff_t step : {wide, wide + 3, -wide - 1, std::ptrdiff_t{0}}) {
                    check_columns_of<T>(checks, name, distribution, lanes, columns, step, random);
                }
            }
        }
    }
    if constexpr (sizeof(T) <= 2) {
        const auto wide = static_cast<std::ptrdiff_t>(multiple);
        check_columns_of<T>(checks, name, Distribution::ties, multiple, kLong, wide, random);
        check_columns_of<T>(checks, name, Distribution::ties, multiple, kLong, 0, random);
    }
}

}  // namespace

void check_count(Checks& checks) {
    Random random;
    for_each_type([&]<class T>(const char* name) {
        check_keys<T>(checks, name, random);
        check_one<T>(checks, name, random);
        check_short<T>(checks, name, random);
        check_rows<T>(checks, name, random);
        if constexpr (std::is_floating_point_v<T>) check_sums<T>(checks, name, random);
        check_several<T>(checks, name, random);
        if constexpr (std::is_floating_point_v<T>) check_long<T>(checks, name, random);
        if constexpr (std::is_floating_point_v<T>) check_crowds<T>(checks, name, random);
        check_audit<T>(checks, name, random);
        check_columns<T>(checks, name, random);
    });
}

}  // namespace truerank::tests
