// The scoring kernels: sums of pairs to the bit, the scores made of them, and their counts.
#include "kernels/similarity.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/arithmetic.hpp"
#include "kernels/similarity.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

template <class T>
bool same(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (is_nan(a) && is_nan(b));
}

template <class T>
const char* type_name() {
    return sizeof(T) == 4 ? "float" : "double";
}

// What vectors hold: usual numbers; small integers, whose sums tie; numbers of very different exponents, whose products
// are subnormal or overflow; or anything, NaN and infinities included.
enum class Kind : int { usual, small, wide, any };
constexpr Kind kKinds[] = {Kind::usual, Kind::small, Kind::wide, Kind::any};

template <class T>
T component(Kind kind, Random& random) {
    switch (kind) {
        case Kind::usual:
            return static_cast<T>(random.normal());
        case Kind::small:
            return static_cast<T>(random.below(5) - 2);
        case Kind::wide: {
            const int most = std::numeric_limits<T>::max_exponent;
            return static_cast<T>(std::ldexp(random.normal(), static_cast<int>(random.below(2 * most)) - most));
        }
        case Kind::any:
            return random_score<T>(random.one_in(3) ? Distribution::bits : Distribution::extremes, random);
    }
    return 0;
}
template <class T>
std::vector<T> components_of(std::size_t n, Kind kind, Random& random) {
    std::vector<T> values(n);
    for (T& value : values) value = component<T>(kind, random);
    return values;
}

// The sum of a pair. `query_step` and `candidate_step` are the distances between components.
template <class T>
T plain_sum(Similarity similarity, const T* query, std::size_t query_step, const T* candidate,
            std::size_t candidate_step, std::size_t depth, T sum) {
    for (std::size_t k = 0; k < depth; ++k) {
        const T q = query[k * query_step], e = candidate[k * candidate_step], difference = q - e;
        switch (similarity) {
            case Similarity::dot:
            case Similarity::cosine:
                sum = std::fma(q, e, sum);
                break;
            case Similarity::l1:
            case Similarity::inverse_l1:
                sum = sum + std::abs(difference);
                break;
            case Similarity::complex_l1: {
                ++k;
                const T imaginary = query[k * query_step] - candidate[k * candidate_step],
                        square = imaginary * imaginary;
                sum = sum + std::sqrt(std::fma(difference, difference, square));
                break;
            }
            case Similarity::l2:
            case Similarity::sql2:
            case Similarity::inverse_l2:
            case Similarity::poincare:
                sum = std::fma(difference, difference, sum);
                break;
        }
    }
    return sum;
}

// Sums of rows that lie anywhere: in order to the bit, and in any order as near as roundings allow.
template <class T>
void check_row_sums(Checks& checks, Random& random) {
    const SimilarityKernels<T>& kernels = similarity_kernels<T>();
    for (const auto& [name, similarity] : kSimilarities) {
        const auto step = static_cast<std::size_t>(components(similarity));
        for (const std::size_t half : {1u, 2u, 3u, 7u, 8u, 17u, 64u, 150u}) {
            const std::size_t depth = half * step,
                              n = 1 + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kernels.lanes)));
            std::vector<std::vector<T>> owned;
            std::vector<const T*> queries, candidates;
            for (std::size_t i = 0; i < 2 * n; ++i) {
                owned.push_back(components_of<T>(depth, Kind::usual, random));
                (i < n ? queries : candidates).push_back(owned.back().data());
            }
            std::vector<T> in_order(kernels.lanes), in_any_order(kernels.lanes);
            kernels.accumulate_rows(similarity, queries.data(), candidates.data(), n, depth, in_order.data());
            kernels.sum_rows(similarity, queries.data(), candidates.data(), n, depth, in_any_order.data());
            bool right = true, near = true;
            for (std::size_t i = 0; i < n; ++i) {
                const T sum = plain_sum(similarity, queries[i], 1, candidates[i], 1, depth, T{0});
                right = right && same(in_order[i], sum);
                double size = std::abs(static_cast<double>(sum));
                for (std::size_t k = 0; similarity == Similarity::dot && k < depth; ++k) {
                    size += std::abs(static_cast<double>(queries[i][k]) * static_cast<double>(candidates[i][k]));
                }
                const double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
                const double error = std::abs(static_cast<double>(in_any_order[i]) - static_cast<double>(sum));
                near = near && error <= 2 * size * static_cast<double>(depth + 20) * unit;
            }
            checks.expect(right, "accumulate_rows, %s, %s, depth %zu, %zu pairs", type_name<T>(), name, depth, n);
            checks.expect(near || similarity == Similarity::cosine, "sum_rows, %s, %s, depth %zu, %zu pairs",
                          type_name<T>(), name, depth, n);
        }
    }
}

template <class T>
void check_sums(Checks& checks, Random& random) {
    const SimilarityKernels<T>& kernels = similarity_kernels<T>();
    const std::size_t lanes = kernels.lanes;
    for (const auto& [name, similarity] : kSimilarities) {
        const auto step = static_cast<std::size_t>(components(similarity));
        for (const Kind kind : kKinds) {
            for (const std::size_t half : {0u, 1u, 2u, 3u, 8u, 17u, 150u}) {
                const std::size_t depth = half * step;
                const std::vector<T> queries = components_of<T>(depth * kTileQueries, kind, random);
                const std::vector<T> panel = components_of<T>(depth * lanes, kind, random);
                for (const bool from_zero : {true, false}) {
                    std::vector<T> sums = components_of<T>(kTileQueries * lanes, kind, random);
                    const std::vector<T> before = sums;
                    kernels.accumulate(similarity, queries.data(), panel.data(), depth, from_zero, sums.data());
                    bool right = true;
                    for (std::size_t i = 0; i < kTileQueries; ++i) {
                        for (std::size_t j = 0; j < lanes; ++j) {
                            const std::size_t at = i * lanes + j;
                            right = right && same(sums[at], plain_sum(similarity, queries.data() + i, kTileQueries,
                                                                      panel.data() + j, lanes, depth,
                                                                      from_zero ? T{0} : before[at]));
                        }
                    }
                    checks.expect(right, "accumulate, %s, %s, depth %zu, fresh %d, kind %d", type_name<T>(), name,
                                  depth, from_zero, static_cast<int>(kind));
                }
                const std::vector<T> paired = components_of<T>(depth * lanes, kind, random);
                std::vector<T> sums(lanes, T{0});
                kernels.accumulate_pairs(similarity, paired.data(), panel.data(), depth, sums.data());
                bool right = true;
                for (std::size_t j = 0; j < lanes; ++j) {
                    right = right && same(sums[j], plain_sum(similarity, paired.data() + j, lanes, panel.data() + j,
                                                             lanes, depth, T{0}));
                }
                checks.expect(right, "accumulate_pairs, %s, %s, depth %zu, kind %d", type_name<T>(), name, depth,
                              static_cast<int>(kind));
            }
        }
    }
}

// Vectors that follow each other in memory, or lie anywhere, at addresses that are multiples of a number alone. What
// lies around them is NaN.
template <class T>
void check_rows(Checks& checks, Random& random) {
    const RowKernels<T>& kernels = row_kernels<T>();
    const std::size_t lanes = similarity_kernels<T>().lanes;
    for (const auto& [name, similarity] : kSimilarities) {
        const auto step = static_cast<std::size_t>(components(similarity));
        for (const Kind kind : kKinds) {
            for (const std::size_t half : {0u, 1u, 2u, 3u, 4u, 8u, 17u, 150u}) {
                const std::size_t depth = half * step, gap = random.one_in(2) ? 0 : 1;
                std::vector<T> memory(lanes * (depth + gap) + 1, std::numeric_limits<T>::quiet_NaN());
                std::vector<const T*> vectors;
                for (std::size_t j = 0; j < lanes; ++j) {
                    T* const at = memory.data() + j * (depth + gap) + 1;
                    const std::vector<T> components = components_of<T>(depth, kind, random);
                    std::copy(components.begin(), components.end(), at);
                    vectors.push_back(at);
                }
                const bool adjacent = gap == 0 && random.one_in(2);
                if (!adjacent) std::reverse(vectors.begin(), vectors.end());

                const std::vector<T> queries = components_of<T>(depth * kFewQueries, kind, random);
                for (std::size_t rows = 1; rows <= kFewQueries; ++rows) {
                    std::vector<T> sums = components_of<T>(kFewQueries * lanes, kind, random);
                    kernels.accumulate(similarity, queries.data(), rows, vectors.data(), depth, adjacent, lanes,
                                       sums.data());
                    bool right = true;
                    for (std::size_t i = 0; i < rows; ++i) {
                        for (std::size_t j = 0; j < lanes; ++j) {
                            right =
                                right && same(sums[i * lanes + j], plain_sum(similarity, queries.data() + i,
                                                                             kFewQueries, vectors[j], 1, depth, T{0}));
                        }
                    }
                    checks.expect(right, "accumulate, %zu rows, %s, %s, depth %zu, adjacent %d, kind %d", rows,
                                  type_name<T>(), name, depth, adjacent, static_cast<int>(kind));
                }

                const auto n = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(lanes))) + 1;
                const std::size_t width = n + static_cast<std::size_t>(random.below(3));
                std::vector<T> panel(depth * width, T{7});
                kernels.pack(vectors.data(), n, depth, adjacent, width, panel.data());
                bool right = true;
                for (std::size_t k = 0; k < depth; ++k) {
                    for (std::size_t j = 0; j < width; ++j) {
                        right = right && same(panel[k * width + j], j < n ? vectors[j][k] : T{7});
                    }
                }
                checks.expect(right, "pack, %s, %zu of %zu, depth %zu", type_name<T>(), n, width, depth);
            }
        }
    }
}

// A vector of floats is divided by its root to the bit, or not at all, which is seldom. The last component of every
// other vector is small, and its quotient next to the middle of two floats: which of them it becomes, the last digits
// of the sum of squares say.
void check_normalised(Checks& checks, Random& random) {
    const auto& kernels = row_kernels<float>();
    std::int64_t divided = 0, usual = 0;
    for (std::int64_t i = 0; i < 20'000; ++i) {
        const Kind kind = kKinds[i % 4];
        const auto depth = static_cast<std::size_t>(random.below(kind == Kind::usual ? 300 : 40));
        std::vector<float> vector = components_of<float>(depth, kind, random);
        if (kind == Kind::usual && i % 8 == 0) {
            long double square = 0;
            for (const long double x : vector) square += x * x;
            const double middle = (1 + (static_cast<double>(random.below(1 << 23)) + 0.5) * 0x1p-23) * 0x1p-40;
            const auto last = static_cast<float>(middle * (1 + 2 * std::sqrt(static_cast<double>(square))));
            const long double root = static_cast<long double>(last) / static_cast<long double>(middle);
            // What others leave of the square, piece by piece.
            for (long double left = root * root - square; left > 0x1p-80L * root;) {
                vector.push_back(static_cast<float>(std::sqrt(left) * (1 - 0x1p-24L)));
                left -= static_cast<long double>(vector.back()) * static_cast<long double>(vector.back());
            }
            vector.push_back(last);
        }
        double sum = 0;
        for (const float x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
        std::vector<float> got(vector.size() + 1, 7);
        const bool is_divided = kernels.try_normalise(vector.data(), vector.size(), got.data());
        usual += kind == Kind::usual && i % 8 != 0;
        divided += kind == Kind::usual && i % 8 != 0 && is_divided;
        bool right = got.back() == 7;
        for (std::size_t k = 0; is_divided && k < vector.size(); ++k) {
            const double root = sum == 0 ? 1 : std::sqrt(sum);
            right = right && same(got[k], static_cast<float>(static_cast<double>(vector[k]) / root));
        }
        checks.expect(right, "normalise, %zu components, kind %d", vector.size(), static_cast<int>(kind));
    }
    checks.expect(divided * 100 > usual * 99, "normalise: %d of %d", static_cast<int>(divided),
                  static_cast<int>(usual));
}

// All numbers of 16 bits.
template <class T>
void check_widened(Checks& checks) {
    constexpr std::size_t n = 1 << 16;
    std::vector<Half> halves(n);
    std::vector<BFloat16> bfloats(n);
    for (std::size_t i = 0; i < n; ++i) {
        halves[i].bits = bfloats[i].bits = static_cast<std::uint16_t>(i);
    }
    std::vector<T> of_halves(n), of_bfloats(n);
    row_kernels<T>().widen_half(halves.data(), n, of_halves.data());
    row_kernels<T>().widen_bfloat16(bfloats.data(), n, of_bfloats.data());
    // Of a format with so many bits of the significand: its value, from the definition.
    const auto value = [](std::size_t bits, int significand, int bias) {
        const int exponent = static_cast<int>(bits & 0x7fff) >> significand, last = (0x7fff >> significand);
        const auto fraction = static_cast<double>(bits & ((1u << significand) - 1));
        double magnitude = std::ldexp(fraction, 1 - bias - significand);
        if (exponent > 0)
            magnitude = std::ldexp(std::ldexp(1.0, significand) + fraction, exponent - bias - significand);
        if (exponent == last) {
            magnitude =
                fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
        }
        return static_cast<T>((bits & 0x8000) != 0 ? -magnitude : magnitude);
    };
    for (std::size_t i = 0; i < n; ++i) {
        checks.expect(same(of_halves[i], value(i, 10, 15)), "widen_half, %s, %zx", type_name<T>(), i);
        checks.expect(same(of_bfloats[i], value(i, 7, 127)), "widen_bfloat16, %s, %zx", type_name<T>(), i);
    }
}

// Minus the square of arcosh(1 + y), as the formula stands, in the widest type there is.
double plain_poincare(double squared_difference, double query_squares, double candidate_squares) {
    if (!(query_squares < 1 && candidate_squares < 1)) return std::numeric_limits<double>::quiet_NaN();
    const long double y = 2 * (static_cast<long double>(squared_difference) /
                               ((1 - static_cast<long double>(query_squares)) * (1 - candidate_squares)));
    const long double distance = std::log1p(y + std::sqrt(y * (y + 2)));
    return static_cast<double>(-distance * distance);
}

// Whether scores of hyperbolic distances are the same except for a few of their last bits.
template <class T>
bool near(T score, double expected) {
    if (is_nan(expected)) return is_nan(score);
    if (std::isinf(expected)) return score == static_cast<T>(expected);
    constexpr double tolerance = sizeof(T) == 4 ? 1.2e-7 : 4e-15;
    return std::abs(static_cast<double>(score) - expected) <=
           tolerance * std::abs(expected) + static_cast<double>(std::numeric_limits<T>::denorm_min());
}

// The score of a sum that is not negative, before bias and means; not for hyperbolic distances.
template <class T>
T plain_score(Similarity similarity, T sum) {
    switch (similarity) {
        case Similarity::l1:
        case Similarity::sql2:
        case Similarity::complex_l1:
            return -sum;
        case Similarity::l2:
            return -std::sqrt(sum);
        case Similarity::inverse_l1:
            return T{1} / (T{1} + sum);
        case Similarity::inverse_l2:
            return T{1} / (T{1} + std::sqrt(sum));
        case Similarity::dot:
        case Similarity::cosine:
        case Similarity::poincare:
            return sum;
    }
    return sum;
}

template <class T>
void check_finish(Checks& checks, Random& random) {
    const SimilarityKernels<T>& kernels = similarity_kernels<T>();
    const std::size_t lanes = kernels.lanes;
    const auto squares = [&](std::size_t n) {
        std::vector<double> values(n);
        for (double& value : values) value = static_cast<double>(random.below(1050)) / 1000;
        values[0] = 0;
        return values;
    };
    for (const auto& [name, similarity] : kSimilarities) {
        for (const Kind kind : kKinds) {
            for (std::size_t rows = 0; rows <= kTileQueries; ++rows) {
                for (const bool pairwise : {false, true}) {
                    if (pairwise && rows != 1) continue;
                    const bool biased = random.one_in(2), means = random.one_in(2);
                    std::vector<T> sums = components_of<T>(kTileQueries * lanes, kind, random);
                    if (similarity != Similarity::dot && similarity != Similarity::cosine) {
                        for (T& sum : sums) sum = std::abs(sum);
                    }
                    // No two points of a ball are farther apart than 2. Subnormal squares lose digits.
                    if (similarity == Similarity::poincare) {
                        for (T& sum : sums) sum = sum > 4 ? T{4} : sum < std::numeric_limits<T>::min() ? T{0} : sum;
                    }
                    const std::vector<T> before = sums, bias = components_of<T>(lanes, kind, random);
                    const std::vector<T> candidate_means = components_of<T>(lanes, kind, random);
                    const std::vector<T> query_means = components_of<T>(std::max(lanes, kTileQueries), kind, random);
                    const std::vector<double> q = squares(std::max(lanes, kTileQueries)), e = squares(lanes);
                    kernels.finish(similarity, {sums.data(), rows, biased ? bias.data() : nullptr, q.data(), e.data(),
                                                means ? query_means.data() : nullptr,
                                                means ? candidate_means.data() : nullptr, pairwise});
                    bool right = true;
                    for (std::size_t i = 0; i < kTileQueries; ++i) {
                        for (std::size_t j = 0; j < lanes; ++j) {
                            const std::size_t at = i * lanes + j, query = pairwise ? j : i;
                            T expected = before[at];
                            if (i < rows && similarity == Similarity::poincare) {
                                if (biased || means) continue;  // their last bits are not known here
                                right = right &&
                                        near(sums[at], plain_poincare(static_cast<double>(expected), q[query], e[j]));
                                continue;
                            }
                            if (i < rows) {
                                expected = plain_score(similarity, expected);
                                if (biased) expected = expected + bias[j];
                                if (means) expected = (expected + expected) - (query_means[query] + candidate_means[j]);
                            }
                            right = right && same(sums[at], expected);
                        }
                    }
                    checks.expect(right, "finish, %s, %s, %zu rows, bias %d, means %d, pairwise %d, kind %d",
                                  type_name<T>(), name, rows, biased, means, pairwise, static_cast<int>(kind));
                }
            }
        }
    }
}

template <class T>
void check_counts(Checks& checks, Random& random) {
    const SimilarityKernels<T>& kernels = similarity_kernels<T>();
    const std::size_t lanes = kernels.lanes, counters = kernels.counters_per_task;
    using Counter = typename TaskCounters<T>::Counter;
    for (const Distribution distribution : kDistributions) {
        for (int repeat = 0; repeat < 40; ++repeat) {
            const auto rows = static_cast<std::size_t>(random.below(kTileQueries + 1));
            std::vector<T> scores = random_scores<T>(rows * lanes, distribution, random);
            if (repeat % 2 == 0) {
                for (T& score : scores) score = is_nan(score) ? T{1} : score;
            }
            const bool nan = std::any_of(scores.begin(), scores.end(), is_nan<T>);

            std::vector<std::int64_t> first{random.below(2)};  // the tasks before these are another query's
            for (std::size_t i = 0; i < rows; ++i) first.push_back(first.back() + random.below(4));
            const auto tasks = static_cast<std::size_t>(first.back());
            const std::vector<T> true_scores = random_scores<T>(tasks, distribution, random);
            std::vector<Counter> above(tasks * counters, 3), tied(tasks * counters, 4);
            bool right = kernels.count(scores.data(), rows, first.data(),
                                       {true_scores.data(), above.data(), tied.data()}) == nan;
            for (std::size_t task = 0; task < tasks; ++task) {
                std::uint64_t actual[2] = {0, 0}, expected[2] = {3 * counters, 4 * counters};
                for (std::size_t v = 0; v < counters; ++v) {
                    actual[0] += above[task * counters + v];
                    actual[1] += tied[task * counters + v];
                }
                for (std::size_t i = 0; i < rows; ++i) {
                    if (first[i] > static_cast<std::int64_t>(task) || static_cast<std::int64_t>(task) >= first[i + 1]) {
                        continue;
                    }
                    for (std::size_t j = 0; j < lanes; ++j) {
                        expected[0] += scores[i * lanes + j] > true_scores[task];
                        expected[1] += scores[i * lanes + j] == true_scores[task];
                    }
                }
                right = right && actual[0] == expected[0] && actual[1] == expected[1];
            }
            checks.expect(right, "count, %s, %zu rows, %zu tasks, distribution %d", type_name<T>(), rows, tasks,
                          static_cast<int>(distribution));

            const auto layers = static_cast<std::size_t>(random.below(4));
            const std::vector<T> lane_true_scores = random_scores<T>(layers * lanes, distribution, random);
            above.assign(layers * lanes, 5);
            tied.assign(layers * lanes, 6);
            kernels.count_lanes(scores.data(), rows, layers, {lane_true_scores.data(), above.data(), tied.data()});
            right = true;
            for (std::size_t at = 0; at < layers * lanes; ++at) {
                Counter expected[2] = {5, 6};
                for (std::size_t i = 0; i < rows; ++i) {
                    expected[0] += scores[i * lanes + at % lanes] > lane_true_scores[at];
                    expected[1] += scores[i * lanes + at % lanes] == lane_true_scores[at];
                }
                right = right && above[at] == expected[0] && tied[at] == expected[1];
            }
            checks.expect(right, "count_lanes, %s, %zu rows, %zu layers, distribution %d", type_name<T>(), rows, layers,
                          static_cast<int>(distribution));
        }
    }
}

// Thresholds so high that few scores reach them, and others.
template <class T>
void check_thresholds(Checks& checks, Random& random) {
    const SimilarityKernels<T>& kernels = similarity_kernels<T>();
    const std::size_t lanes = kernels.lanes;
    const auto from = [](T score, T threshold) { return !(score < threshold); };
    for (const Distribution distribution : kDistributions) {
        for (int repeat = 0; repeat < 100; ++repeat) {
            const auto rows = static_cast<std::size_t>(random.below(kTileQueries + 1));
            std::vector<T> scores = random_scores<T>(kTileQueries * lanes, distribution, random);
            const bool numbers = repeat % 2 == 0, high = repeat % 4 < 2;
            for (T& score : scores) score = numbers && is_nan(score) ? T{0} : score;
            // A threshold is not a NaN: nothing would be below it.
            const auto threshold = [&] {
                const T one = high && !random.one_in(30) ? T{4} : random_score<T>(distribution, random);
                return is_nan(one) ? T{2} : one;
            };
            std::vector<T> row_thresholds(kTileQueries), lane_thresholds(lanes);
            for (T& one : row_thresholds) one = threshold();
            for (T& one : lane_thresholds) one = threshold();
            // Scores are below all thresholds, except that one of them may equal one.
            const bool planted = repeat % 3 == 0, equal = random.one_in(2);
            const auto row = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kTileQueries)));
            const auto lane = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(lanes)));
            if (planted) {
                std::fill(row_thresholds.begin(), row_thresholds.end(), T{7});
                std::fill(lane_thresholds.begin(), lane_thresholds.end(), T{6});
                (random.one_in(2) ? row_thresholds[row] : lane_thresholds[lane]) = T{5};
                for (T& score : scores) score = score < T{5} ? score : T{0};
                if (equal) scores[row * lanes + lane] = T{5};
            }

            for (const bool has_lane_thresholds : {false, true}) {
                std::vector<std::uint64_t> reached(kTileQueries, 1);
                kernels.lane_bits_at_least(scores.data(), rows, row_thresholds.data(),
                                           has_lane_thresholds ? lane_thresholds.data() : nullptr, reached.data());
                bool all_right = true;
                for (std::size_t i = 0; i < kTileQueries; ++i) {
                    std::uint64_t bits = i < rows ? 0 : 1;
                    for (std::size_t j = 0; i < rows && j < lanes; ++j) {
                        const T score = scores[i * lanes + j];
                        const bool reaches_lane = has_lane_thresholds && from(score, lane_thresholds[j]);
                        bits |= std::uint64_t{from(score, row_thresholds[i]) || reaches_lane} << j;
                    }
                    all_right = all_right && reached[i] == bits;
                }
                checks.expect(all_right, "lane_bits_at_least, %s, %zu rows, distribution %d", type_name<T>(), rows,
                              static_cast<int>(distribution));
            }
        }
    }
}

// The multiply-add of floats that replaces the hardware's, tested whatever this machine has.
void check_emulated_fma(Checks& checks, Random& random) {
    using A = Arithmetic<float, 16, false>;
    for (int repeat = 0; repeat < 60'000; ++repeat) {
        const Kind kind = kKinds[repeat % 4];
        float a[A::size], b[A::size], c[A::size], actual[A::size];
        for (std::size_t i = 0; i < A::size; ++i) {
            a[i] = component<float>(kind, random);
            b[i] = component<float>(kind, random);
            c[i] = component<float>(kind, random);
            // The exact result is near half way between two floats: an odd number of 25 bits, and a little more or
            // less.
            if (repeat % 3 == 0) {
                a[i] = static_cast<float>((random.below(1 << 12) | 1) << 12 | (1 << 24));
                b[i] = static_cast<float>(1 + 2 * random.below(2));
                c[i] = std::ldexp(component<float>(Kind::small, random), static_cast<int>(random.below(60)) - 50);
            }
        }
        A::store(actual, A::fma(A::load(a), A::load(b), A::load(c)));
        for (std::size_t i = 0; i < A::size; ++i) {
            checks.expect(same(actual[i], std::fma(a[i], b[i], c[i])), "fma, %a * %a + %a = %a",
                          static_cast<double>(a[i]), static_cast<double>(b[i]), static_cast<double>(c[i]),
                          static_cast<double>(actual[i]));
        }
    }
}

}  // namespace

void check_similarity(Checks& checks) {
    Random random;
    check_emulated_fma(checks, random);
    check_sums<float>(checks, random);
    check_row_sums<float>(checks, random);
    check_row_sums<double>(checks, random);
    check_sums<double>(checks, random);
    check_rows<float>(checks, random);
    check_rows<double>(checks, random);
    check_normalised(checks, random);
    check_widened<float>(checks);
    check_widened<double>(checks);
    check_finish<float>(checks, random);
    check_finish<double>(checks, random);
    check_counts<float>(checks, random);
    check_counts<double>(checks, random);
    check_thresholds<float>(checks, random);
    check_thresholds<double>(checks, random);
}

}  // namespace truerank::tests
