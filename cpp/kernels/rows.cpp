#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/measured.hpp"
#include "kernels/steps.hpp"
#include "kernels/transpose.hpp"

namespace truerank {
namespace {

template <class T>
using Block = Arithmetic<T, kTransposedBytes>;

template <class T>
void pack(const T* const* vectors, std::size_t n, std::size_t depth, bool adjacent, std::size_t lanes, T* panel) {
    using A = Block<T>;
    constexpr std::size_t size = A::size;
    std::size_t i = 0;
    for (; i + size <= n; i += size) {
        for_transposed<A, 1>(vectors + i, depth, adjacent,
                             [&](std::size_t k, const auto* e)
                                 __attribute__((always_inline)) { A::store(panel + k * lanes + i, *e); });
    }
    for (; i < n; ++i) {
        for (std::size_t k = 0; k < depth; ++k) panel[k * lanes + i] = vectors[i][k];
    }
}

// `InRegisters`: of how many queries the sums stand in registers, `rows` or more.
template <class Step, std::size_t InRegisters, class T>
TRUERANK_INLINE void accumulate_few_queries(const T* queries, std::size_t rows, const T* const* vectors,
                                            std::size_t depth, bool adjacent, std::size_t lanes, T* sums) {
    using A = Block<T>;
    using Vector = typename A::Vector;
    constexpr std::size_t size = A::size;
    for (std::size_t v = 0; v < lanes; v += size) {
        Vector sum[InRegisters] = {};
        const auto add = [&](std::size_t k, const Vector* e, std::size_t i) __attribute__((always_inline)) {
            Vector q[Step::components];
            TRUERANK_UNROLL
            for (std::size_t c = 0; c < Step::components; ++c) q[c] = A::broadcast(queries[(k + c) * kFewQueries + i]);
            sum[i] = Step::template next<A>(sum[i], q, e);
        };
        for_transposed<A, Step::components>(vectors + v, depth, adjacent,
                                            [&](std::size_t k, const Vector* e) __attribute__((always_inline)) {
                                                if constexpr (kFused) {
                                                    TRUERANK_UNROLL
                                                    for (std::size_t i = 0; i < InRegisters; ++i) add(k, e, i);
                                                } else {  // straight code would be very long
                                                    for (std::size_t i = 0; i < rows; ++i) add(k, e, i);
                                                }
                                            });
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < InRegisters; ++i) A::store(sums + i * lanes + v, sum[i]);
    }
}

template <class T>
void accumulate(Similarity similarity, const T* queries, std::size_t rows, const T* const* vectors, std::size_t depth,
                bool adjacent, std::size_t lanes, T* sums) {
    with_step(similarity, [&](auto step) __attribute__((always_inline)) {
        const auto accumulate_in = [&](auto at_most) __attribute__((always_inline)) {
            accumulate_few_queries<decltype(step), at_most()>(queries, rows, vectors, depth, adjacent, lanes, sums);
        };
        if constexpr (kFused) {
            if (rows <= 1) return accumulate_in(std::integral_constant<std::size_t, 1>());
            if (rows <= 2) return accumulate_in(std::integral_constant<std::size_t, 2>());
            if (rows <= 4) return accumulate_in(std::integral_constant<std::size_t, 4>());
        }
        accumulate_in(std::integral_constant<std::size_t, kFewQueries>());
    });
}

// What a step adds, in integers that the compilers multiply two at a time: differences of bytes have 10 bits.
TRUERANK_INLINE std::int32_t added(Product, std::int16_t q, std::int16_t e) { return q * e; }
TRUERANK_INLINE std::int32_t added(Difference, std::int16_t q, std::int16_t e) { return q < e ? e - q : q - e; }
TRUERANK_INLINE std::int32_t added(SquaredDifference, std::int16_t q, std::int16_t e) {
    const auto difference = static_cast<std::int16_t>(q - e);
    return difference * difference;
}

constexpr std::size_t kBytesAtOnce = 1 << 13;  // so that 32 bits hold their sum
template <class Step, class Byte, class T>
TRUERANK_INLINE void accumulate_bytes_by(const std::int16_t* queries, std::size_t rows, const Byte* vector,
                                         std::size_t depth, std::size_t lanes, T* sums) {
    for (std::size_t i = 0; i < rows; ++i, queries += depth) {
        std::int64_t total = 0;
        for (std::size_t first = 0; first < depth; first += kBytesAtOnce) {
            std::int32_t sum = 0;
            for (std::size_t k = first; k < std::min(depth, first + kBytesAtOnce); ++k) {
                sum += added(Step(), queries[k], std::int16_t{vector[k]});
            }
            total += sum;
        }
        sums[i * lanes] = static_cast<T>(total);
    }
}

#if defined(__AVX2__)
// The same of some queries and four vectors at a time, whose bytes are widened once, and whose sums are added together.
template <std::size_t Queries, class Step, class Byte, class T>
TRUERANK_INLINE void accumulate_byte_tile(const std::int16_t* queries, const Byte* const* vectors, std::size_t depth,
                                          std::size_t lanes, T* sums) {
    using Words = Instructions::Words;
    using Ints = Instructions::Ints;
    constexpr std::size_t side = 4;
    Ints sum[Queries][side] = {};
    for (std::size_t k = 0; k < depth; k += kBytes / 2) {
        Words e[side], q;
        TRUERANK_UNROLL
        for (std::size_t j = 0; j < side; ++j) e[j] = widened<Words>(vectors[j] + k);
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < Queries; ++i) {
            std::memcpy(&q, queries + i * depth + k, sizeof q);
            TRUERANK_UNROLL
            for (std::size_t j = 0; j < side; ++j) {
                const Words x = std::is_same_v<Step, Product> ? e[j] : q - e[j];
                Instructions::add_word_products(sum[i][j], (Ints)x, std::is_same_v<Step, Product> ? (Ints)q : (Ints)x);
            }
        }
    }
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < Queries; ++i) {
        __m256i x[side];
        TRUERANK_UNROLL
        for (std::size_t j = 0; j < side; ++j) {
            x[j] = lower_half<__m256i>(sum[i][j]);
            if constexpr (kBytes == 64) x[j] = _mm256_add_epi32(x[j], upper_half<__m256i>(sum[i][j]));
        }
        const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
        const auto total =
            (Simd<std::int32_t, 16>::type)(_mm_add_epi32(lower_half<__m128i>(all), upper_half<__m128i>(all)));
        const auto numbers = __builtin_convertvector(total, typename Simd<T, side * sizeof(T)>::type);
        std::memcpy(sums + i * lanes, &numbers, sizeof numbers);
    }
}
#endif

template <class T>
void accumulate_bytes(Similarity similarity, const std::int16_t* queries, std::size_t rows,
                      const std::uint8_t* const* vectors, std::size_t n, bool is_signed, std::size_t depth,
                      std::size_t lanes, T* sums) {
    with_step(similarity, [&](auto step) __attribute__((always_inline)) {
        using Step = decltype(step);
        const auto run = [&](const auto* const* some) __attribute__((always_inline)) {
            std::size_t j = 0;
#if defined(__AVX2__)
            constexpr std::size_t most = kBytes / 16;  // queries whose sums registers hold
            const bool fills_vectors = depth % (kBytes / 2) == 0 && depth <= kBytesAtOnce;
            for (; !std::is_same_v<Step, Difference> && fills_vectors && j + 4 <= n; j += 4) {
                for (std::size_t at = 0; at < 4 * depth; at += 64) {
                    prefetch(address_after(some[j + at / depth] + at % depth, measured::kNearVectorBytes));
                }
                std::size_t i = 0;
                for (; i + most <= rows; i += most) {
                    accumulate_byte_tile<most, Step>(queries + i * depth, some + j, depth, lanes, sums + i * lanes + j);
                }
                for (; i < rows; ++i) {
                    accumulate_byte_tile<1, Step>(queries + i * depth, some + j, depth, lanes, sums + i * lanes + j);
                }
            }
#endif
            for (; j < n; ++j) accumulate_bytes_by<Step>(queries, rows, some[j], depth, lanes, sums + j);
        };
        if constexpr (sizeof(T) == 8 && Step::components == 1) {
            if (is_signed) return run(reinterpret_cast<const std::int8_t* const*>(vectors));
            run(vectors);
        }
    });
}

template <class T>
void add_squares(const T* const* vectors, std::size_t n, std::size_t depth, double* sums) {
    using A = Block<T>;
    using Wide = typename Simd<double, A::size * sizeof(double)>::type;
    for (std::size_t first = 0; first < n; first += A::size) {
        const T* some[A::size];
        for (std::size_t i = 0; i < A::size; ++i) some[i] = vectors[std::min(first + i, n - 1)];
        Wide sum{};
        const bool adjacent = some[A::size - 1] == some[0] + (A::size - 1) * depth;
        for_transposed<A, 1>(some, depth, adjacent, [&](std::size_t, const auto* e) __attribute__((always_inline)) {
            const Wide x = __builtin_convertvector(*e, Wide);
            sum += x * x;
        });
        for (std::size_t i = 0; i < A::size && first + i < n; ++i) sums[first + i] = sum[i];
    }
}

// The sum of squares in any order, its root, and a product with the inverse in place of a quotient differ from those in
// order by less than depth + 10 roundings. So the quotient lies between the products with a smaller and a greater
// inverse: if both are rounded to the same float, so is the quotient.
template <class T>
bool try_normalise(const T* from, std::size_t depth, T* to) {
    if constexpr (sizeof(T) == 8) {
        return false;
    } else {
        // Half as many floats as doubles fit into a vector: GCC keeps wider ones in memory.
        using Doubles = typename Simd<double>::type;
        using Half = Arithmetic<T, kBytes / 2>;
        constexpr std::size_t half = Half::size, side = 4;
        Doubles sums[side] = {};  // each waits for its last addition
        std::size_t k = 0;
        for (; k + side * half <= depth; k += side * half) {
            // As a rule the next vector follows in memory.
            const std::uintptr_t next = address_after(from + k, std::max<std::size_t>(depth * sizeof(T), 512));
            for (std::size_t at = 0; at < side * half * sizeof(T); at += 64) prefetch(next + at);
            TRUERANK_UNROLL
            for (std::size_t s = 0; s < side; ++s) {
                const Doubles x = __builtin_convertvector(Half::load(from + k + s * half), Doubles);
                sums[s] += x * x;
            }
        }
        double sum = 0;
        for (; k < depth; ++k) sum += static_cast<double>(from[k]) * static_cast<double>(from[k]);
        const Doubles total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (std::size_t i = 0; i < half; ++i) sum += total[i];
        const double inverse = 1 / (sum == 0 ? 1 : __builtin_sqrt(sum));
        const double slack = static_cast<double>(depth + 16) * 0x1p-53 * inverse;
        const double smaller = inverse - slack, greater = inverse + slack;
        std::uint32_t differ = 0;
#if !defined(__clang__)
#pragma GCC ivdep
#endif
        for (k = 0; k < depth; ++k) {
            const auto x = static_cast<double>(from[k]);
            const auto low = static_cast<T>(x * smaller), high = static_cast<T>(x * greater);
            differ |= static_cast<std::uint32_t>(low != high);
            to[k] = low;
        }
        return differ == 0;
    }
}

// The compilers turn these loops into vectors of the instruction set.
template <class T>
void divide(const T* from, std::size_t n, double by, T* to) {
    for (std::size_t k = 0; k < n; ++k) to[k] = static_cast<T>(static_cast<double>(from[k]) / by);
}
template <class T>
void widen(const Half* from, std::size_t n, T* to) {
    for (std::size_t k = 0; k < n; ++k) {
        const std::uint32_t magnitude = from[k].bits & 0x7fffu, sign = (from[k].bits & 0x8000u) << 16;
        // Exact, also for subnormal numbers.
        const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
        const std::uint32_t bits =
            magnitude < 0x7c00u ? std::bit_cast<std::uint32_t>(finite) : 0x7f800000u | magnitude << 13;
        to[k] = static_cast<T>(std::bit_cast<float>(bits | sign));
    }
}
template <class T>
void widen(const BFloat16* from, std::size_t n, T* to) {
    for (std::size_t k = 0; k < n; ++k) {
        to[k] = static_cast<T>(std::bit_cast<float>(std::uint32_t{from[k].bits} << 16));
    }
}

template <class T>
constexpr RowKernels<T> kTable = {.pack = pack<T>,
                                  .accumulate = accumulate<T>,
                                  .accumulate_bytes = accumulate_bytes<T>,
                                  .add_squares = add_squares<T>,
                                  .try_normalise = try_normalise<T>,
                                  .divide = divide<T>,
                                  .widen_half = widen<T>,
                                  .widen_bfloat16 = widen<T>};

}  // namespace

TRUERANK_HAND_OUT(RowKernels, float)
TRUERANK_HAND_OUT(RowKernels, double)

}  // namespace truerank
