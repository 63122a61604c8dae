// Counts and scores of the core against plain loops, without Python: what can be run of an architecture that only an
// emulator has here.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/embeddings.hpp"
#include "engine/rank.hpp"
#include "kernels/simd.hpp"

namespace {

using namespace truerank;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A score of each dtype for a small integer, an infinity or a NaN, as bytes.
template <class T>
void plain(float value, char* out) {
    const T score = static_cast<T>(value);
    std::memcpy(out, &score, sizeof score);
}
void bfloat16(float value, char* out) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint16_t score = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(out, &score, sizeof score);
}
void float16(float value, char* out) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    std::uint32_t magnitude = (bits >> 13) & 0x3ffff;  // eight bits of exponent, ten of mantissa
    if (std::isnan(value)) {
        magnitude = 0x7e00;
    } else if (std::isinf(value)) {
        magnitude = 0x7c00;
    } else if (value != 0) {
        magnitude -= (127 - 15) << 10;
    } else {
        magnitude = 0;
    }
    const std::uint16_t score = static_cast<std::uint16_t>((bits >> 31 << 15) | magnitude);
    std::memcpy(out, &score, sizeof score);
}

struct Format {
    const char* name;
    DType dtype;
    std::ptrdiff_t size;
    bool floating, negative;
    void (*encode)(float, char*);
};
constexpr Format kFormats[] = {
    {"float16", DType::float16, 2, true, true, float16},
    {"bfloat16", DType::bfloat16, 2, true, true, bfloat16},
    {"float32", DType::float32, 4, true, true, plain<float>},
    {"float64", DType::float64, 8, true, true, plain<double>},
    {"int8", DType::int8, 1, false, true, plain<std::int8_t>},
    {"int16", DType::int16, 2, false, true, plain<std::int16_t>},
    {"int32", DType::int32, 4, false, true, plain<std::int32_t>},
    {"int64", DType::int64, 8, false, true, plain<std::int64_t>},
    {"uint8", DType::uint8, 1, false, false, plain<std::uint8_t>},
    {"uint16", DType::uint16, 2, false, false, plain<std::uint16_t>},
    {"uint32", DType::uint32, 4, false, false, plain<std::uint32_t>},
    {"uint64", DType::uint64, 8, false, false, plain<std::uint64_t>},
};

struct Case {
    Format format;
    std::int64_t rows, columns, tasks;
    bool by_column, ascending, filtered;
    NanRule rule;
};

// How many counts of the case are wrong.
int wrong(const Case& c, std::mt19937& random) {
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    std::vector<float> values(static_cast<std::size_t>(c.rows * c.columns));
    for (float& value : values) {
        value = static_cast<float>(below(20) - (c.format.negative ? 10 : 0));
        if (c.format.floating && below(50) == 0) value = below(2) ? kInf : -kInf;
        if (c.format.floating && below(40) == 0) value = kNan;
    }
    const auto at = [&](std::int64_t row, std::int64_t column) -> float& {
        return values[static_cast<std::size_t>(row * c.columns + column)];
    };
    std::vector<std::int64_t> rows, targets, indptr{0}, indices;
    for (std::int64_t task = 0; task < c.tasks; ++task) {
        rows.push_back(below(c.rows));
        targets.push_back(below(c.columns));
        if (float& truth = at(rows.back(), targets.back()); std::isnan(truth)) truth = 3;
        for (std::int64_t column = 0; column < c.columns; ++column) {
            if (c.filtered && below(9) == 0) indices.push_back(column);
        }
        indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }

    const std::ptrdiff_t row_stride = c.format.size * (c.by_column ? 1 : c.columns);
    const std::ptrdiff_t column_stride = c.format.size * (c.by_column ? c.rows : 1);
    std::vector<char> memory(values.size() * static_cast<std::size_t>(c.format.size));
    for (std::int64_t row = 0; row < c.rows; ++row) {
        for (std::int64_t column = 0; column < c.columns; ++column) {
            c.format.encode(at(row, column), memory.data() + row * row_stride + column * column_stride);
        }
    }
    Selection filter;
    if (c.filtered) {
        filter.indptr = indptr.data();
        filter.indices = indices.data();
        filter.size = c.tasks;
        filter.entries = static_cast<std::int64_t>(indices.size());
        filter.longest = c.columns;
    }
    const std::size_t n = static_cast<std::size_t>(c.tasks);
    std::vector<std::int64_t> above(n), tied(n), candidates(n);
    const Fault fault =
        rank({memory.data(), c.rows, c.columns, row_stride, column_stride, c.format.dtype, false},
             {c.tasks, rows.data(), targets.data()}, filter, {}, {c.ascending, c.rule}, 3, [] { return false; },
             {above.data(), tied.data(), candidates.data(), nullptr, nullptr, nullptr});

    int errors = fault.kind != Fault::Kind::none;
    for (std::size_t task = 0; task < n; ++task) {
        std::vector<bool> out(static_cast<std::size_t>(c.columns));
        for (std::int64_t i = indptr[task]; i < indptr[task + 1]; ++i) {
            out[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])] = true;
        }
        out[static_cast<std::size_t>(targets[task])] = false;
        const float truth = at(rows[task], targets[task]);
        std::int64_t expected[3] = {};
        for (std::int64_t column = 0; column < c.columns; ++column) {
            const float score = at(rows[task], column);
            if (out[static_cast<std::size_t>(column)] || (std::isnan(score) && c.rule == NanRule::omit)) continue;
            expected[0] += c.ascending ? score < truth : score > truth;
            expected[1] += score == truth;
            expected[2] += 1;
        }
        errors += above[task] != expected[0] || tied[task] != expected[1] || candidates[task] != expected[2];
    }
    return errors;
}

// How many scores of vectors are not, bit for bit, what one accumulator gives, and how many counts of them are wrong.
template <class T>
int wrong_scores(Similarity similarity, std::int64_t queries, std::int64_t entities, std::int64_t depth,
                 std::mt19937& random) {
    std::normal_distribution<T> normal;
    std::vector<T> q(static_cast<std::size_t>(queries * depth)), e(static_cast<std::size_t>(entities * depth));
    for (T& x : q) x = normal(random);
    for (T& x : e) x = normal(random);
    const auto matrix = [&](const std::vector<T>& vectors, std::int64_t rows) {
        constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
        const DType dtype = size == 4 ? DType::float32 : DType::float64;
        return Scores{reinterpret_cast<const char*>(vectors.data()), rows, depth, depth * size, size, dtype, false};
    };
    const Embeddings embeddings{matrix(q, queries), matrix(e, entities), similarity, nullptr};
    const Way way{0, 3, [] { return false; }};
    std::vector<T> scores(static_cast<std::size_t>(queries * entities));
    score_embeddings(embeddings, nullptr, nullptr, queries, way, scores.data());
    const auto n = static_cast<std::size_t>(queries);
    std::vector<std::int64_t> targets(n), above(n), tied(n), candidates(n);
    for (std::size_t i = 0; i < n; ++i) targets[i] = static_cast<std::int64_t>(i) % entities;
    rank_embeddings(embeddings, {queries, nullptr, targets.data()}, {}, {}, NanRule::raise, way,
                    {above.data(), tied.data(), candidates.data()});

    int errors = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const T* row = scores.data() + i * static_cast<std::size_t>(entities);
        std::int64_t higher = 0, equal = 0;
        for (std::int64_t j = 0; j < entities; ++j) {
            T sum = 0;
            for (std::int64_t k = 0; k < depth; ++k) {
                const T a = q[i * static_cast<std::size_t>(depth) + static_cast<std::size_t>(k)];
                const T b = e[static_cast<std::size_t>(j * depth + k)], difference = a - b;
                sum = similarity == Similarity::dot  ? std::fma(a, b, sum)
                      : similarity == Similarity::l1 ? sum + std::abs(difference)
                                                     : std::fma(difference, difference, sum);
            }
            const T score = similarity == Similarity::dot ? sum : similarity == Similarity::l2 ? -std::sqrt(sum) : -sum;
            errors += std::memcmp(&score, row + j, sizeof score) != 0;
            higher += row[j] > row[targets[i]];
            equal += row[j] == row[targets[i]];
        }
        errors += above[i] != higher || tied[i] != equal || candidates[i] != entities;
    }
    return errors;
}

}  // namespace

int main() {
    std::mt19937 random(20);
    int cases = 0, failed = 0;
    for (const std::string& isa : usable_isas()) {
        choose_isa(isa.c_str());
        for (const Format& format : kFormats) {
            for (const bool by_column : {false, true}) {
                for (const bool filtered : {false, true}) {
                    for (const auto& [rows, columns, tasks] :
                         {std::array<std::int64_t, 3>{50, 3, 50}, {9, 777, 9}, {7, 131, 60}, {2, 500, 300}}) {
                        const Case c{
                            format,    rows,           columns,  tasks,
                            by_column, cases % 2 == 0, filtered, cases % 3 == 0 ? NanRule::omit : NanRule::worst};
                        const int errors = wrong(c, random);
                        ++cases;
                        failed += errors != 0;
                        if (errors != 0) {
                            std::printf("%s, %s, %ld x %ld, %ld tasks, by %s, filter %d, rule %d: %d wrong\n",
                                        isa.c_str(), format.name, static_cast<long>(rows), static_cast<long>(columns),
                                        static_cast<long>(tasks), by_column ? "column" : "row", filtered,
                                        static_cast<int>(c.rule), errors);
                        }
                    }
                }
            }
        }
    }
    for (const std::string& isa : usable_isas()) {
        choose_isa(isa.c_str());
        for (const Similarity similarity : {Similarity::dot, Similarity::l1, Similarity::l2}) {
            for (const auto& [queries, entities, depth] :
                 {std::array<std::int64_t, 3>{13, 200, 17}, {1, 1, 1}, {7, 33, 2100}}) {
                const int errors = wrong_scores<float>(similarity, queries, entities, depth, random) +
                                   wrong_scores<double>(similarity, queries, entities, depth, random);
                ++cases;
                failed += errors != 0;
                if (errors != 0) {
                    std::printf("%s, similarity %d, %ld x %ld x %ld: %d wrong\n", isa.c_str(),
                                static_cast<int>(similarity), static_cast<long>(queries), static_cast<long>(entities),
                                static_cast<long>(depth), errors);
                }
            }
        }
    }
    std::printf("%d cases, %d wrong\n", cases, failed);
    return failed != 0;
}
