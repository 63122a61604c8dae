#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/steps.hpp"
#include "kernels/transpose.hpp"

namespace truerank {
namespace {

template <class Step, class T>
TRUERANK_INLINE void accumulate_pairs_by(const T* queries, const T* panel, std::size_t depth, T* sums) {
    using A = Arithmetic<T>;
    using Vector = typename A::Vector;
    constexpr std::size_t size = A::size, lanes = kBlockLanes<T>, width = Step::components;
    for (std::size_t v = 0; v < lanes; v += size) {
        Vector sum = A::load(sums + v);
        for (std::size_t k = 0; k < depth; k += width) {
            Vector q[width], e[width];
            TRUERANK_UNROLL
            for (std::size_t c = 0; c < width; ++c) {
                q[c] = A::load(queries + (k + c) * lanes + v);
                e[c] = A::load(panel + (k + c) * lanes + v);
            }
            sum = Step::template next<A>(sum, q, e);
        }
        A::store(sums + v, sum);
    }
}

// The sums of up to Side vectors of pairs, n in all: each sum is a chain of additions, and several chains take no
// longer than one. `A` is the arithmetic of vectors of kTransposedBytes.
template <class A, class Step, std::size_t Side, class T>
TRUERANK_INLINE void accumulate_side_by_side(const T* const* queries, const T* const* candidates, std::size_t n,
                                             std::size_t depth, T* sums) {
    using Vector = typename A::Vector;
    constexpr std::size_t size = A::size, ahead = 256;
    const T *query[Side * size], *candidate[Side * size];
    for (std::size_t i = 0; i < Side * size; ++i) {
        // The last pair stands in for those that are missing.
        query[i] = queries[std::min(i, n - 1)];
        candidate[i] = candidates[std::min(i, n - 1)];
    }
    Vector sum[Side] = {}, q[size], e[size];
    std::size_t k = 0;
    for (; k + size <= depth; k += size) {
        TRUERANK_UNROLL
        for (std::size_t s = 0; s < Side; ++s) {
            for (std::size_t i = 0; i < size; ++i) prefetch(address_after(query[s * size + i], k * sizeof(T) + ahead));
            Transposition<A>::load(query + s * size, k, q);
            Transposition<A>::load(candidate + s * size, k, e);
            TRUERANK_UNROLL
            for (std::size_t c = 0; c < size; c += Step::components) {
                sum[s] = Step::template next<A>(sum[s], q + c, e + c);
            }
        }
    }
    if (k < depth) {
        for (std::size_t s = 0; s < Side; ++s) {
            T rest[2][size * size] = {};
            const T *query_rest[size], *candidate_rest[size];
            for (std::size_t i = 0; i < size; ++i) {
                query_rest[i] = rest[0] + i * size;
                candidate_rest[i] = rest[1] + i * size;
                std::copy_n(query[s * size + i] + k, depth - k, rest[0] + i * size);
                std::copy_n(candidate[s * size + i] + k, depth - k, rest[1] + i * size);
            }
            Transposition<A>::load(query_rest, 0, q);
            Transposition<A>::load(candidate_rest, 0, e);
            for (std::size_t c = 0; k + c < depth; c += Step::components) {
                sum[s] = Step::template next<A>(sum[s], q + c, e + c);
            }
        }
    }
    TRUERANK_UNROLL
    for (std::size_t s = 0; s < Side; ++s) A::store(sums + s * size, sum[s]);
}

template <class A, class Step, class T>
TRUERANK_INLINE void accumulate_rows_by(const T* const* queries, const T* const* candidates, std::size_t n,
                                        std::size_t depth, T* sums) {
    constexpr std::size_t size = A::size;
    std::size_t i = 0;
    for (; i + size < n; i += 2 * size) {
        accumulate_side_by_side<A, Step, 2>(queries + i, candidates + i, n - i, depth, sums + i);
    }
    if (i < n) accumulate_side_by_side<A, Step, 1>(queries + i, candidates + i, n - i, depth, sums + i);
}

// The mask from place n on, of `Size` lanes, keeps the last n.
template <class Bits, std::size_t Size>
constexpr auto kLastLanes = [] {
    std::array<Bits, 2 * Size> lanes{};
    for (std::size_t i = Size; i < 2 * Size; ++i) lanes[i] = ~Bits{0};
    return lanes;
}();

// The sum of a pair of rows, spread over the lanes of a vector. What follows the first lines of the row `next` is
// fetched meanwhile.
template <class A, class Step, class T>
TRUERANK_INLINE typename A::Vector sum_pair_in_lanes(const T* q, const T* e, std::size_t depth, const T* next) {
    using Vector = typename A::Vector;
    // Sums side by side, since each waits for its last addition.
    constexpr std::size_t size = A::size, side = 4, step = side * size;
    static_assert(Step::components == 1);
    Vector sum[side] = {};
    std::size_t k = 0;
    for (; k + step <= depth; k += step) {
        TRUERANK_UNROLL
        for (std::size_t s = 0; s < side; ++s) {
            const Vector x = A::load(q + k + s * size), y = A::load(e + k + s * size);
            sum[s] = Step::template next<A>(sum[s], &x, &y);
        }
        TRUERANK_UNROLL
        for (std::size_t at = 0; at < step * sizeof(T); at += 64) prefetch(address_after(next, k * sizeof(T) + at));
    }
    for (; k + size <= depth; k += size) {
        const Vector x = A::load(q + k), y = A::load(e + k);
        sum[0] = Step::template next<A>(sum[0], &x, &y);
    }
    if (k < depth && depth >= size) {
        // The last whole vectors, without the lanes that were taken before: to gather single numbers would take longer.
        const auto keep = A::load_counts(kLastLanes<typename A::Bits, size>.data() + (depth - k));
        const auto last = [&](const T* row) {
            return (Vector)((typename A::Counts)A::load(row + depth - size) & keep);
        };
        const Vector x = last(q), y = last(e);
        sum[1] = Step::template next<A>(sum[1], &x, &y);
    } else if (k < depth) {
        T rest[2][size] = {};
        std::copy_n(q, depth, rest[0]);
        std::copy_n(e, depth, rest[1]);
        const Vector x = A::load(rest[0]), y = A::load(rest[1]);
        sum[1] = Step::template next<A>(sum[1], &x, &y);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class A, class Step, class T>
TRUERANK_INLINE void sum_rows_by(const T* const* queries, const T* const* candidates, std::size_t n, std::size_t depth,
                                 T* sums) {
    add_lanes<T>(n, sums, [&](std::size_t i) __attribute__((always_inline)) {
        return sum_pair_in_lanes<A, Step>(queries[i], candidates[i], depth, queries[std::min(i + 2, n - 1)]);
    });
}

// log(u) for u >= 1, by arithmetic alone, since libraries differ in the last bit: u = 2^e m with m near 1, and log m =
// 2 artanh((m - 1) / (m + 1)), by its series.
TRUERANK_INLINE double logarithm(double u) {
    constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    const auto bits = std::bit_cast<std::uint64_t>(u);
    // The exponent is rounded to the nearest, so that m is between sqrt(1/2) and sqrt(2).
    const std::uint64_t exponent = (bits + 0x00095f6198000000ULL) >> 52;
    const double m = std::bit_cast<double>(bits - ((exponent - 1023) << 52));
    const double s = (m - 1) / (m + 1), square = s * s;
    double series = 0;
    for (int n = 23; n >= 3; n -= 2) series = series * square + 1.0 / n;
    const auto e = static_cast<double>(static_cast<std::int64_t>(exponent) - 1023);
    return e * ln2_high + (2 * s + (2 * s * square * series + e * ln2_low));
}

// The squared distance of two points of the Poincare ball: arcosh(1 + y)^2 where y = 2 |q - e|^2 / ((1 - |q|^2) (1 -
// |e|^2)), and arcosh(1 + y) = log1p(y + sqrt(y (y + 2))).
TRUERANK_INLINE double squared_hyperbolic(double squared_difference, double query_squares, double candidate_squares) {
    const double a = 1 - query_squares, b = 1 - candidate_squares;
    const double y = 2 * (squared_difference / (a * b));
    const double w = y + __builtin_sqrt(y * (y + 2)), u = 1 + w;
    // The digits that w lost when 1 was added are restored to first order (Kahan).
    const double distance = logarithm(u) + (w - (u - 1)) / u;
    const double square = u < std::numeric_limits<double>::infinity() ? distance * distance : u;  // or NaN
    return a > 0 && b > 0 ? square : std::numeric_limits<double>::quiet_NaN();
}

template <class T>
void finish(Similarity similarity, const RegisterTile<T>& tile) {
    using A = Arithmetic<T>;
    constexpr std::size_t size = A::size, lanes = kBlockLanes<T>;
    T* sums = tile.sums;
    const auto one = A::broadcast(1);
    switch (similarity) {
        case Similarity::dot:
        case Similarity::cosine:
            break;
        case Similarity::l1:
        case Similarity::sql2:
        case Similarity::complex_l1:
            for (std::size_t i = 0; i < tile.rows * lanes; i += size) A::store(sums + i, -A::load(sums + i));
            break;
        case Similarity::l2:
            for (std::size_t i = 0; i < tile.rows * lanes; i += size) A::store(sums + i, -A::sqrt(A::load(sums + i)));
            break;
        case Similarity::inverse_l1:
            for (std::size_t i = 0; i < tile.rows * lanes; i += size) {
                A::store(sums + i, one / (one + A::load(sums + i)));
            }
            break;
        case Similarity::inverse_l2:
            for (std::size_t i = 0; i < tile.rows * lanes; i += size) {
                A::store(sums + i, one / (one + A::sqrt(A::load(sums + i))));
            }
            break;
        case Similarity::poincare:
            for (std::size_t i = 0; i < tile.rows; ++i) {
                for (std::size_t j = 0; j < lanes; ++j) {
                    const double query_squares = tile.query_squares[tile.pairwise ? j : i];
                    T& sum = sums[i * lanes + j];
                    sum = static_cast<T>(
                        -squared_hyperbolic(static_cast<double>(sum), query_squares, tile.candidate_squares[j]));
                }
            }
            break;
    }
    if (tile.bias != nullptr) {
        for (std::size_t i = 0; i < tile.rows; ++i) {
            for (std::size_t v = 0; v < lanes; v += size) {
                T* const at = sums + i * lanes + v;
                A::store(at, A::load(at) + A::load(tile.bias + v));
            }
        }
    }
    if (tile.query_means == nullptr) return;
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const auto row_mean = A::broadcast(tile.query_means[i]);
        for (std::size_t v = 0; v < lanes; v += size) {
            const auto query_mean = tile.pairwise ? A::load(tile.query_means + v) : row_mean;
            T* const at = sums + i * lanes + v;
            const auto score = A::load(at);
            A::store(at, (score + score) - (query_mean + A::load(tile.candidate_means + v)));
        }
    }
}

template <class T>
bool count(const T* scores, std::size_t rows, const std::int64_t* first, const TaskCounters<T>& counters) {
    using A = Arithmetic<T>;
    using Vector = typename A::Vector;
    using Mask = typename A::Mask;
    using Counts = typename A::Counts;
    constexpr std::size_t size = A::size, lanes = kBlockLanes<T>;
    Mask largest{};  // the largest magnitude: as integers, magnitudes keep their order
    for (std::size_t i = 0; i < rows; ++i) {
        Vector score[kTileVectors];
        TRUERANK_UNROLL
        for (std::size_t v = 0; v < kTileVectors; ++v) {
            score[v] = A::load(scores + i * lanes + v * size);
            const Mask magnitude = (Mask)A::abs(score[v]);
            largest = magnitude > largest ? magnitude : largest;
        }
        for (std::int64_t task = first[i]; task < first[i + 1]; ++task) {
            const Vector true_score = A::broadcast(counters.true_scores[task]);
            auto* const above_at = counters.above + static_cast<std::size_t>(task) * size;
            auto* const tied_at = counters.tied + static_cast<std::size_t>(task) * size;
            Counts above = A::load_counts(above_at), tied = A::load_counts(tied_at);
            TRUERANK_UNROLL
            for (std::size_t v = 0; v < kTileVectors; ++v) {
                A::add(above, score[v] > true_score);
                A::add(tied, score[v] == true_score);
            }
            A::store_counts(above_at, above);
            A::store_counts(tied_at, tied);
        }
    }
    return A::any(largest > (Mask)A::broadcast(std::numeric_limits<T>::infinity()));
}

template <class T>
void count_lanes(const T* scores, std::size_t rows, std::size_t layers, const TaskCounters<T>& counters) {
    using A = Arithmetic<T>;
    constexpr std::size_t size = A::size, lanes = kBlockLanes<T>;
    for (std::size_t at = 0; at < layers * lanes; at += size) {
        const auto true_score = A::load(counters.true_scores + at);
        auto above = A::load_counts(counters.above + at), tied = A::load_counts(counters.tied + at);
        for (std::size_t i = 0; i < rows; ++i) {
            const auto score = A::load(scores + i * lanes + at % lanes);
            A::add(above, score > true_score);
            A::add(tied, score == true_score);
        }
        A::store_counts(counters.above + at, above);
        A::store_counts(counters.tied + at, tied);
    }
}

template <class T, bool HasLaneThresholds>
TRUERANK_INLINE void lane_bits_in(const T* scores, std::size_t rows, const T* row_thresholds, const T* lane_thresholds,
                                  std::uint64_t* lanes) {
    using A = Arithmetic<T>;
    static_assert(kBlockLanes<T> <= 64);
    constexpr std::uint64_t all = ~std::uint64_t{0} >> (64 - A::size);
    for (std::size_t row = 0; row < rows; ++row, scores += kBlockLanes<T>) {
        const auto row_least = A::broadcast(row_thresholds[row]);
        std::uint64_t bits = 0;
        TRUERANK_UNROLL
        for (std::size_t at = 0; at < kBlockLanes<T>; at += A::size) {
            auto least = row_least;
            if constexpr (HasLaneThresholds) {
                const auto lane_least = A::load(lane_thresholds + at);
                least = lane_least < row_least ? lane_least : row_least;
            }
            // A NaN is not below a threshold either.
            const std::uint64_t below = Instructions::lanes_greater(least, A::load(scores + at));
            bits |= (below ^ all) << at;
        }
        lanes[row] = bits;
    }
}
template <class T>
void lane_bits_at_least(const T* scores, std::size_t rows, const T* row_thresholds, const T* lane_thresholds,
                        std::uint64_t* lanes) {
    if (lane_thresholds == nullptr) return lane_bits_in<T, false>(scores, rows, row_thresholds, nullptr, lanes);
    lane_bits_in<T, true>(scores, rows, row_thresholds, lane_thresholds, lanes);
}

template <class T>
void accumulate(Similarity similarity, const T* queries, const T* panel, std::size_t depth, bool from_zero, T* sums) {
    with_step(similarity, [&](auto step) __attribute__((always_inline)) {
        accumulate_tile<Arithmetic<T>, kTileVectors, decltype(step)>(queries, panel, depth, from_zero, sums);
    });
}

template <class T>
void accumulate_pairs(Similarity similarity, const T* queries, const T* panel, std::size_t depth, T* sums) {
    with_step(similarity, [&](auto step) __attribute__((always_inline)) {
        accumulate_pairs_by<decltype(step)>(queries, panel, depth, sums);
    });
}

template <class T>
void accumulate_rows(Similarity similarity, const T* const* queries, const T* const* candidates, std::size_t n,
                     std::size_t depth, T* sums) {
    with_step(similarity, [&](auto step) __attribute__((always_inline)) {
        accumulate_rows_by<Arithmetic<T, kTransposedBytes>, decltype(step)>(queries, candidates, n, depth, sums);
    });
}

template <class T>
void sum_rows(Similarity similarity, const T* const* queries, const T* const* candidates, std::size_t n,
              std::size_t depth, T* sums) {
    with_step(similarity, [&](auto step) __attribute__((always_inline)) {
        if constexpr (decltype(step)::components == 1) {
            sum_rows_by<Rough<T>, decltype(step)>(queries, candidates, n, depth, sums);
        } else {
            accumulate_rows_by<Rough<T, kTransposedBytes>, decltype(step)>(queries, candidates, n, depth, sums);
        }
    });
}

template <class T>
constexpr SimilarityKernels<T> kTable = {.accumulate = accumulate<T>,
                                         .accumulate_pairs = accumulate_pairs<T>,
                                         .accumulate_rows = accumulate_rows<T>,
                                         .sum_rows = sum_rows<T>,
                                         .finish = finish<T>,
                                         .count = count<T>,
                                         .count_lanes = count_lanes<T>,
                                         .lane_bits_at_least = lane_bits_at_least<T>,
                                         .lanes = kBlockLanes<T>,
                                         .counters_per_task = kBytes / sizeof(T)};

}  // namespace

TRUERANK_HAND_OUT(SimilarityKernels, float)
TRUERANK_HAND_OUT(SimilarityKernels, double)

}  // namespace truerank
