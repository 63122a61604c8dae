// Transposes square blocks of numbers in registers, so that vectors that lie one after the other come to lie side by
// side.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

// What is transposed has vectors of so many bytes.
constexpr int kTransposedBytes = std::min(kBytes, measured::kMostTransposedBytes);

// `A` is the arithmetic of such vectors.
template <class A>
struct Transposition {
    using Vector = typename A::Vector;
    using Mask = typename A::Mask;
    static constexpr int size = static_cast<int>(A::size);

    // Lane i of block[c] becomes component first + c of rows[i]. Where a vector has two pieces of 16 bytes, each is
    // loaded to where it belongs, and is transposed there: of the upper rows a | b, of the lower rows c | d become the
    // blocks a | c, then b | d.
    template <class T>
    static TRUERANK_INLINE void load(const T* const* rows, std::size_t first, Vector* block) {
        TRUERANK_UNROLL
        for (int i = 0; i < size; ++i) {
            if constexpr (pieces == 2) {
                const int upper_row = i % piece, lower_row = upper_row + piece;
                const std::size_t from = first + static_cast<std::size_t>(i / piece * piece);
                Instructions::load_halves(block[i], rows[upper_row] + from, rows[lower_row] + from);
            } else {
                block[i] = A::load(rows[i] + first);
            }
        }
        transpose_pieces(block);
        make_opaque(block);
    }

    // block[i] lane k becomes block[k] lane i. The instruction sets shuffle best inside pieces of 16 bytes: first the
    // squares inside pieces are transposed, then the pieces.
    static TRUERANK_INLINE void transpose(Vector* block) {
        transpose_pieces(block);
        if constexpr (pieces == 2) {
            TRUERANK_UNROLL
            for (int i = 0; i < piece; ++i) {
                const Vector a = block[i], b = block[i + piece];
                block[i] = shuffle<Halves<false>>(a, b);
                block[i + piece] = shuffle<Halves<true>>(a, b);
            }
        }
        make_opaque(block);
    }

  private:
    static constexpr int piece = 16 / static_cast<int>(sizeof(typename A::Bits)), pieces = size / piece;
    static_assert(pieces <= 2);

    static TRUERANK_INLINE void transpose_pieces(Vector* block) {
        inside_pieces<1>(block);
        if constexpr (piece == 4) inside_pieces<2>(block);
    }
    // The same vectors, of which the compiler knows nothing. GCC would trace the lanes that arithmetic takes one by one
    // (Arithmetic::fma) through the shuffles, and load them one by one.
    static TRUERANK_INLINE void make_opaque(Vector* block) {
        TRUERANK_UNROLL
        for (int i = 0; i < size; ++i) {
#if defined(__clang__)
            static_cast<void>(block);
#elif defined(__x86_64__)
            __asm__("" : "+x"(block[i]));
#elif defined(__aarch64__)
            __asm__("" : "+w"(block[i]));
#endif
        }
    }

    // Lane l of the result is lane Index::of(l) of the lanes of a, followed by those of b.
    template <class Index>
    static TRUERANK_INLINE Vector shuffle(Vector a, Vector b) {
        return [&]<int... Lane>(std::integer_sequence<int, Lane...>) __attribute__((always_inline)) {
#if defined(__clang__)
            return __builtin_shufflevector(a, b, Index::of(Lane)...);
#else
            return __builtin_shuffle(a, b, Mask{Index::of(Lane)...});
#endif
        }(std::make_integer_sequence<int, size>());
    }

    // In each piece, runs of `Run` lanes of a and b take turns: those of the lower half of the piece, or of the upper.
    template <int Run, bool Upper>
    struct Interleaved {
        static constexpr int of(int lane) {
            constexpr int runs = piece / Run, first_run = Upper ? runs / 2 : 0;
            const int run = lane % piece / Run, source_run = first_run + run / 2, source_piece = lane / piece * piece;
            const bool is_of_b = run % 2 == 1;
            return source_piece + source_run * Run + lane % Run + (is_of_b ? size : 0);
        }
    };
    // A step of the transposition inside pieces, in runs of 1, then of 2: abcd efgh ijkl mnop become aebf cgdh imjn
    // kolp, then aeim bfjn cgko dhlp.
    template <int Run>
    static TRUERANK_INLINE void inside_pieces(Vector* block) {
        TRUERANK_UNROLL
        for (int group = 0; group < size; group += piece) {
            Vector before[piece];
            TRUERANK_UNROLL
            for (int i = 0; i < piece; ++i) before[i] = block[group + i];
            TRUERANK_UNROLL
            for (int i = 0; i < piece / 2; ++i) {
                // First neighbours, (0, 1) and (2, 3), then those that hold the same columns, (0, 2) and (1, 3).
                const Vector a = before[Run == 1 ? 2 * i : i], b = before[Run == 1 ? 2 * i + 1 : i + 2];
                block[group + 2 * i] = shuffle<Interleaved<Run, false>>(a, b);
                block[group + 2 * i + 1] = shuffle<Interleaved<Run, true>>(a, b);
            }
        }
    }

    // The lower half of a, then that of b; or the upper halves.
    template <bool Upper>
    struct Halves {
        static constexpr int of(int lane) { return lane % piece + (Upper ? piece : 0) + (lane < piece ? 0 : size); }
    };
};

// The lanes of the vectors make(0) to make(n - 1), each added up, and room for a block after them. As many vectors are
// taken at a time as a block to transpose has rows: its columns add up to the sums of all of them.
template <class T, class Make>
TRUERANK_INLINE void add_lanes(std::size_t n, T* sums, Make make) {
    using A = Arithmetic<T, kTransposedBytes>;
    for (std::size_t first = 0; first < n; first += A::size) {
        typename A::Vector block[A::size];
        for (std::size_t i = 0; i < A::size; ++i) {
            // The last one stands in for those that are missing.
            const auto vector = make(std::min(first + i, n - 1));
            if constexpr (sizeof vector == kTransposedBytes) {
                block[i] = vector;
            } else {
                using Half = typename A::Vector;
                block[i] = lower_half<Half>(vector) + upper_half<Half>(vector);
            }
        }
        Transposition<A>::transpose(block);
        typename A::Vector total = block[0];
        TRUERANK_UNROLL
        for (std::size_t i = 1; i < A::size; ++i) total += block[i];
        A::store(sums + first, total);
    }
}

// Calls use(k, e) for the components k of A::size vectors, `Step` components at a time (a divisor of A::size), where
// lane i of e[c] is component k + c of vectors[i]. If the next vectors follow these in memory, they are fetched
// meanwhile, in the order of their addresses: what reads blocks from several vectors in turn defeats the processor's
// own prefetching.
template <class A, int Step, class T, class Use>
TRUERANK_INLINE void for_transposed(const T* const* vectors, std::size_t depth, bool adjacent, Use use) {
    using Vector = typename A::Vector;
    constexpr std::size_t size = A::size, line = 64;
    const std::uintptr_t next = address_after(vectors[0], adjacent ? size * depth * sizeof(T) : 0);
    const bool is_short = size * depth * sizeof(T) <= measured::kNearVectorBytes;
    std::size_t k = 0;
    for (; k + size <= depth; k += size) {
        Vector e[size];
        Transposition<A>::load(vectors, k, e);
        // A block is as much of one vector as this is of all.
        TRUERANK_UNROLL
        for (std::size_t at = 0; adjacent && at < size * size * sizeof(T); at += line) {
            const void* const ahead = reinterpret_cast<const void*>(next + k * size * sizeof(T) + at);
            if (is_short) {
                __builtin_prefetch(ahead, 0, 3);
            } else {
                __builtin_prefetch(ahead, 0, 2);
            }
        }
        TRUERANK_UNROLL
        for (std::size_t c = 0; c < size; c += Step) use(k + c, e + c);
    }
    if (k == depth) return;
    T rest[size * size] = {};
    const T* rows[size];
    for (std::size_t i = 0; i < size; ++i) {
        rows[i] = rest + i * size;
        std::copy_n(vectors[i] + k, depth - k, rest + i * size);
    }
    Vector e[size];
    Transposition<A>::load(rows, 0, e);
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < size; ++i) A::store(rest + i * size, e[i]);
    for (std::size_t c = 0; k + c < depth; c += Step) {
        Vector some[Step];
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < Step; ++i) some[i] = A::load(rest + (c + i) * size);
        use(k + c, some);
    }
}

}  // namespace
}  // namespace truerank
