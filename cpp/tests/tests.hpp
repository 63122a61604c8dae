// What the tests share: checks, random numbers, and scores of every type as plain numbers. Kernels and engine are
// compared with loops that are easy to read; no Python is needed.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/selection.hpp"
#include "kernels/count.hpp"

namespace truerank::tests {

// Counts checks, and prints the first few that fail.
class Checks {
  public:
    template <class... Values>
    bool expect(bool holds, const char* message, Values... values) {
        ++made_;
        if (!holds && ++failed_ <= kPrinted) {
            std::printf("  ");
            if constexpr (sizeof...(values) == 0) {
                std::fputs(message, stdout);
            } else {
                std::printf(message, values...);
            }
            std::printf("\n");
        }
        return holds;
    }
    std::int64_t made() const { return made_; }
    std::int64_t failed() const { return failed_; }

  private:
    static constexpr std::int64_t kPrinted = 20;
    std::int64_t made_ = 0;
    std::int64_t failed_ = 0;
};

// Random numbers, the same in every run and on every machine.
class Random {
  public:
    std::uint64_t bits() { return engine_(); }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
    bool one_in(std::int64_t n) { return below(n) == 0; }
    // Of roughly normal distribution: a sum, since a library's normal distribution differs from another's.
    double normal() {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits() >> 11) * 0x1p-53;
        return sum;
    }

  private:
    std::mt19937_64 engine_{20};
};

// Families of tests, each in the file of its name.
void check_count(Checks& checks);
void check_similarity(Checks& checks);
void check_rank(Checks& checks);
void check_vectors(Checks& checks);
void check_maxima(Checks& checks);
void check_bounds(Checks& checks);
void check_levels(Checks& checks);
void check_files(Checks& checks);
void check_integers(Checks& checks);
void check_selections(Checks& checks);
void check_threads(Checks& checks);

// The number that a score stands for, taken from its fields and not by the core's conversion.
template <class T>
auto number(T score) {
    if constexpr (is_float16<T>) {
        constexpr int fraction = std::is_same_v<T, Half> ? 10 : 7, width = 15 - fraction;
        constexpr int top = (1 << width) - 1, bias = top / 2;
        const int exponent = score.bits >> fraction & top, mantissa = score.bits & ((1 << fraction) - 1);
        const double sign = score.bits >> 15 != 0 ? -1 : 1;
        if (exponent == top && mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
        if (exponent == top) return sign * std::numeric_limits<double>::infinity();
        if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - fraction);
        return sign * std::ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
    } else {
        return score;
    }
}
template <class N>
bool is_nan(N x) {
    return x != x;
}

// The score of a small integer that all types have (unsigned types from 0 on).
template <class T>
T score_of(std::int64_t small) {
    if constexpr (std::is_same_v<T, BFloat16>) {
        return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(small)) >> 16)};
    } else if constexpr (std::is_same_v<T, Half>) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(small));
        const std::uint32_t magnitude = small == 0 ? 0 : (bits >> 13 & 0x3ffff) - ((127 - 15) << 10);
        return {static_cast<std::uint16_t>(bits >> 31 << 15 | magnitude)};
    } else {
        return static_cast<T>(small);
    }
}
// One of the extremes: for floats NaN (of either sign, quiet or not), infinities, zeros of either sign, the largest and
// the smallest numbers; for integers the least, the greatest, 0 and 1.
template <class T>
T extreme(Random& random) {
    using Bits = typename Order<T>::Bits;
    constexpr Bits top_bit = Order<T>::top_bit;
    if constexpr (has_nan<T>) {
        constexpr Bits infinity = Order<T>::infinity();
        constexpr Bits magnitudes[] = {0, 1, infinity - 1, infinity, infinity, infinity + 1, top_bit - 1};
        const Bits magnitude = magnitudes[random.below(std::size(magnitudes))];
        return std::bit_cast<T>(static_cast<Bits>(random.one_in(2) ? magnitude | top_bit : magnitude));
    } else {
        constexpr T extremes[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 0, 1};
        return extremes[random.below(std::size(extremes))];
    }
}

// How scores are distributed: few numbers, so that there are many ties; any bits; or mostly extremes.
enum class Distribution : int { ties, bits, extremes };
inline constexpr Distribution kDistributions[] = {Distribution::ties, Distribution::bits, Distribution::extremes};

template <class T>
T random_score(Distribution distribution, Random& random) {
    if (distribution == Distribution::extremes || (distribution == Distribution::ties && random.one_in(30))) {
        return extreme<T>(random);
    }
    if (distribution == Distribution::bits) {
        return std::bit_cast<T>(static_cast<typename Order<T>::Bits>(random.bits()));
    }
    return score_of<T>(random.below(9) - (std::is_unsigned_v<T> ? 0 : 4));
}
template <class T>
std::vector<T> random_scores(std::size_t n, Distribution distribution, Random& random) {
    std::vector<T> scores(n);
    for (T& score : scores) score = random_score<T>(distribution, random);
    return scores;
}

// Lists of columns, one for each task, and a selection of them.
struct ColumnLists {
    std::vector<std::int64_t> indptr{0}, indices;
    Selection selection;
    void end_list() { indptr.push_back(static_cast<std::int64_t>(indices.size())); }
    const Selection& selection_over(std::int64_t columns) {
        selection.indptr = indptr.data();
        selection.indices = indices.data();
        selection.size = static_cast<std::int64_t>(indptr.size()) - 1;
        selection.entries = static_cast<std::int64_t>(indices.size());
        selection.longest = columns;
        return selection;
    }
    bool has(std::size_t list, std::int64_t column) const {
        return std::binary_search(indices.begin() + indptr[list], indices.begin() + indptr[list + 1], column);
    }
};

// Calls f.operator()<T>(name) for the types that scores have.
template <class F>
void for_each_type(const F& f) {
    f.template operator()<Half>("float16");
    f.template operator()<BFloat16>("bfloat16");
    f.template operator()<float>("float32");
    f.template operator()<double>("float64");
    f.template operator()<std::int8_t>("int8");
    f.template operator()<std::int16_t>("int16");
    f.template operator()<std::int32_t>("int32");
    f.template operator()<std::int64_t>("int64");
    f.template operator()<std::uint8_t>("uint8");
    f.template operator()<std::uint16_t>("uint16");
    f.template operator()<std::uint32_t>("uint32");
    f.template operator()<std::uint64_t>("uint64");
}

}  // namespace truerank::tests
