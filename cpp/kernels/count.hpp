// The counting kernels: they compare scores with the true scores of tasks.
//
// They know no Python and no rules: aligned scores in native byte order go in, integers come out.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include "kernels/simd.hpp"

namespace truerank {

// The 16-bit floating-point formats, held as bits.
struct Half {
    std::uint16_t bits;
};
struct BFloat16 {
    std::uint16_t bits;
};

// The integers of `Size` bytes.
template <std::size_t Size>
struct Integers {
    using All = std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
    using Signed = std::tuple_element_t<static_cast<std::size_t>(std::bit_width(Size)) - 1, All>;
    using Unsigned = std::make_unsigned_t<Signed>;
};

template <class T>
inline constexpr bool is_float16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool has_nan = is_float16<T> || std::is_floating_point_v<T>;

// Of so many bytes the hardware prefetches what follows a stream of reads, but not beyond. Where rows are shorter, they
// are read in another way.
inline constexpr std::size_t kPageBytes = 4096;

// The key of a score: a signed integer as wide as the score; keys have the order of the scores. The sign and magnitude
// of a float become two's complement, in which both zeros are the same number. A shift then wraps the positive NaN
// round to the bottom: every NaN has a key below that of -inf, so that it is never above anything.
template <class T>
using Key = typename Integers<sizeof(T)>::Signed;

template <class T>
struct Order {
    using Bits = typename Integers<sizeof(T)>::Unsigned;
    static constexpr Bits top_bit = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));

    // The bits of +inf: every larger magnitude is a NaN.
    static constexpr Bits infinity() {
        if constexpr (std::is_same_v<T, Half>) {
            return 0x7c00;
        } else if constexpr (std::is_same_v<T, BFloat16>) {
            return 0x7f80;
        } else {
            return std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
        }
    }
    static constexpr Bits shift() { return static_cast<Bits>(top_bit - 1 - infinity()); }

    static constexpr Key<T> key(T score) {
        const Bits bits = std::bit_cast<Bits>(score);
        if constexpr (has_nan<T>) {
            const Bits magnitude = static_cast<Bits>(bits & static_cast<Bits>(~top_bit));
            const Bits value = (bits & top_bit) != 0 ? static_cast<Bits>(Bits{0} - magnitude) : magnitude;
            return static_cast<Key<T>>(static_cast<Bits>(value + shift()));
        } else if constexpr (std::is_unsigned_v<T>) {
            return static_cast<Key<T>>(static_cast<Bits>(bits ^ top_bit));
        } else {
            return score;
        }
    }
    // The score of a key, unless it is that of a NaN; that of 0 is +0 for floats.
    static constexpr T score(Key<T> key) {
        const Bits bits = static_cast<Bits>(key);
        if constexpr (has_nan<T>) {
            const Bits value = static_cast<Bits>(bits - shift());
            const Bits negative = static_cast<Bits>(static_cast<Bits>(Bits{0} - value) | top_bit);
            return std::bit_cast<T>((value & top_bit) != 0 ? negative : value);
        } else if constexpr (std::is_unsigned_v<T>) {
            return static_cast<T>(bits ^ top_bit);
        } else {
            return key;
        }
    }
    // The keys of the largest and the smallest score that is a number: for floats those of +inf and -inf.
    static constexpr Key<T> top() { return std::numeric_limits<Key<T>>::max(); }
    static constexpr Key<T> bottom() {
        if constexpr (has_nan<T>) {
            return static_cast<Key<T>>(static_cast<Bits>(shift() - infinity()));
        } else {
            return std::numeric_limits<Key<T>>::min();
        }
    }
    static constexpr bool is_key_of_nan(Key<T> key) { return has_nan<T> && key < bottom(); }
};

// The same order for all types of one size, by the bits of their scores: what differs between types are these numbers.
template <class Bits>
struct BitOrder {
    Bits magnitude;  // the bits that are kept: of floats all but the sign
    Bits infinity;   // the largest magnitude that is no NaN
    Bits negative;   // all bits for floats: those with a sign become negative
    Bits shift;
    Key<Bits> bottom, top;
    bool floating;

    Key<Bits> key(Bits score) const {
        const Bits sign = static_cast<Bits>(static_cast<Key<Bits>>(score) < 0 ? negative : 0);
        return static_cast<Key<Bits>>(static_cast<Bits>(((score & magnitude) ^ sign) - sign + shift));
    }
    bool is_nan(Bits score) const { return static_cast<Bits>(score & magnitude) > infinity; }
    bool is_key_of_nan(Key<Bits> key) const { return key < bottom; }
};

template <class T>
constexpr BitOrder<typename Order<T>::Bits> bit_order() {
    using O = Order<T>;
    using Bits = typename O::Bits;
    constexpr auto all = static_cast<Bits>(~Bits{0});
    constexpr Bits integer_shift = std::is_unsigned_v<T> ? O::top_bit : Bits{0};
    return {.magnitude = has_nan<T> ? static_cast<Bits>(all ^ O::top_bit) : all,
            .infinity = has_nan<T> ? O::infinity() : all,
            .negative = has_nan<T> ? all : Bits{0},
            .shift = has_nan<T> ? O::shift() : integer_shift,
            .bottom = O::bottom(),
            .top = O::top(),
            .floating = has_nan<T>};
}

// What is counted for one true score: how many scores are above it, and how many equal it.
struct PartialCounts {
    std::int64_t above = 0;
    std::int64_t tied = 0;
};

// What the scores of some rows have.
struct RowsFound {
    bool nan = false;
    bool sought = false;
};

// The kernels for scores of some type, of which only the size is known here: that of Bits.
template <class Bits>
struct CountKernels {
    // Counts the scores among scores[0..n) that are above the true score, which is not a NaN, and those that equal it;
    // adds them to `counts`. Returns how many of the scores are NaN. Where more scores that will be counted follow
    // them in memory, those are prefetched. `has_true_score`: one of them is the true score itself, which spares a
    // look for NaN where no other equals it.
    std::int64_t (*count_one)(const void* scores, std::size_t n, Bits true_score, bool more_follow, bool has_true_score,
                              PartialCounts* counts);

    // The same for some of the scores: those at which `increments` are 1, and not 0.
    std::int64_t (*count_some)(const void* scores, const std::uint8_t* increments, std::size_t n, Bits true_score,
                               bool more_follow, PartialCounts* counts);

    // The same as count_one for whole rows of n scores, of at most kShortRowBytes, each `stride` scores after the one
    // before. The true score of row i, which may be a NaN, is true_scores[i] or, where these are null, the score in
    // column targets[i]. Sets above[i], tied[i] and nan[i]; beside a true score that is a NaN the first two are 0.
    // Returns whether any score is a NaN, and whether any true score has the bits that are sought.
    RowsFound (*count_rows)(const void* scores, std::size_t n, std::size_t rows, std::size_t stride,
                            const std::int64_t* targets, const Bits* true_scores, Bits sought, std::int64_t* above,
                            std::int64_t* tied, std::int64_t* nan);

    // The same as count_one for k true scores, given by their keys, which are sorted and distinct; without any, only
    // the NaN are counted. `scratch` has room for scratch_size(k) integers, whatever the instruction set.
    std::int64_t (*count_several)(const void* scores, std::size_t n, const Key<Bits>* true_scores, std::size_t k,
                                  PartialCounts* counts, std::int64_t* scratch);
    std::size_t (*scratch_size)(std::size_t true_scores);

    // Raises `best`, a key, to that of the best score (or lowers it to that, in ascending order), and keeps `at_best`,
    // the number of scores that equal it. Callers start from order.bottom (or top) and 0. A NaN is never best. Adds the
    // number of infinities of either sign. Meanwhile what follows the scores in memory is prefetched.
    void (*audit)(const void* scores, std::size_t n, bool ascending, Key<Bits>* best, std::int64_t* at_best,
                  std::int64_t* infinities);

    // Counts along the rows of a column-major matrix. It has `columns` columns, `stride` bytes apart, of `lanes` scores
    // each: lane i is a row whose true score is true_scores[i]. Adds to above[i], tied[i] and, unless it is null,
    // nan[i]. `lanes` is a multiple of lane_multiple; more than max_lanes of them are slower. `scratch` has room for
    // 3 * lanes scores and starts at a cache line.
    void (*count_columns)(const char* scores, std::ptrdiff_t stride, std::size_t columns, std::size_t lanes,
                          const void* true_scores, std::int64_t* above, std::int64_t* tied, std::int64_t* nan,
                          void* scratch);
    std::size_t lane_multiple;
    std::size_t max_lanes;
    BitOrder<Bits> order;
};

// Those for scores of type T: a unit has a table for each type.
template <class T>
struct ScoreKernels : CountKernels<typename Order<T>::Bits> {};

// The kernels for scores of type T, of the instruction set chosen at start or, for several true scores, of the set that
// counts these faster.
template <class T>
CountKernels<typename Order<T>::Bits> count_kernels() {
    CountKernels<typename Order<T>::Bits> kernels = kernels_of<ScoreKernels<T>>(isa());
    kernels.count_several = kernels_of<ScoreKernels<T>>(isa_of_several(std::is_same_v<T, float>)).count_several;
    return kernels;
}

}  // namespace truerank
