// The kernels of bounds: sums over levels, how vectors become levels, and what sums decide; and counts with bounds and
// without.
#include "engine/bounds.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "engine/embeddings.hpp"
#include "engine/grid.hpp"
#include "engine/quantisation.hpp"
#include "kernels/bounds.hpp"
#include "kernels/simd.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

// Levels of one vector after the other, and the same as kernels take them.
struct PackedLevels {
    PackedLevels(const LevelForm& form, std::size_t depth, std::size_t lanes, int stored_zero, int least = 0)
        : form(form), depth(depth), lanes(lanes), zero(stored_zero), least(least), levels(depth * lanes) {
        bytes.assign(form.size(depth, lanes), 0);
    }
    void set(std::size_t k, std::size_t lane, int level) {
        levels[lane * depth + k] = level;
        const std::size_t place = are_placed ? form.place(lane) : lane;
        unsigned char* const at =
            bytes.data() + ((k / form.group * lanes + place) * form.group + k % form.group) * form.bytes;
        const int stored = level + zero;
        for (std::size_t i = 0; i < form.bytes; ++i) at[i] = static_cast<unsigned char>(stored >> (8 * i));
    }
    // Of levels as candidates have them.
    int get(std::size_t k, std::size_t lane) const {
        const unsigned char* const at =
            bytes.data() + ((k / form.group * lanes + lane) * form.group + k % form.group) * form.bytes;
        if (form.bytes == 2) return static_cast<std::int16_t>(at[0] | at[1] << 8) - zero;
        return static_cast<unsigned char>(at[0] - zero - least) + least;  // with a sign or without
    }
    const LevelForm& form;
    std::size_t depth, lanes;
    int zero, least;
    bool are_placed = false;  // as a panel's are
    std::vector<int> levels;
    std::vector<unsigned char> bytes;
};

struct NamedForm {
    const char* name;
    LevelForm form;
    LevelSum sum;
    int least, greatest;
    // The greatest level of component k of a query. Of levels that are added up in a word, one is as great as a byte
    // holds, and the other three have what is left.
    int query_greatest(std::size_t k) const {
        if (form.query_in_word == 0) return greatest;
        const bool alone = k % 2 == 0 && k / form.group % form.groups_at_once == 0;
        return alone ? form.query_greatest : (form.query_in_word - form.query_greatest) / 3;
    }
};
template <class T>
std::vector<NamedForm> forms(std::size_t depth) {
    const BoundKernels<T>& kernels = bound_kernels<T>();
    const auto words = static_cast<int>(std::min(16383.0, std::sqrt(0x1p30 / static_cast<double>(depth))));
    constexpr int pairs = static_cast<int>(ByteProducts::pairs), fours = static_cast<int>(ByteProducts::fours);
    std::vector<NamedForm> result{
        {"words", kernels.words[pairs], LevelSum::products, -words, words},
        {"distances", kernels.distances[static_cast<int>(Levels::int16)], LevelSum::distances, 0, 255}};
    constexpr int bytes = static_cast<int>(Levels::int8);
#if defined(TRUERANK_AVX2) || defined(TRUERANK_NEON)
    const bool has_fours = byte_products() == ByteProducts::fours, has_pairs = byte_products() == ByteProducts::pairs;
#else
    const bool has_fours = true, has_pairs = true;  // by way of generic arithmetic
#endif
    if (has_fours) {
        result.push_back({"bytes", kernels.bytes[fours], LevelSum::products, -127, 127});
        result.push_back({"fused words", kernels.words[fours], LevelSum::products, -words, words});
        result.push_back({"distances by products", kernels.distances[bytes], LevelSum::distances, 0, 255});
    }
    if (has_pairs) {
        const LevelForm& form = kernels.bytes[pairs];
        result.push_back({"pairs of bytes", form, LevelSum::products, -form.greatest, form.greatest});
    }
    return result;
}

template <class T>
void check_level_sums(Checks& checks, Random& random) {
    const std::size_t lanes = bound_kernels<T>().lanes;
    std::vector<std::size_t> depths{255, 256, 257, 1000, static_cast<std::size_t>(Quantisation<T>::kDeepest)};
    for (std::size_t depth = 1; depth <= 200; depth += depth < 70 ? 1 : 13) depths.push_back(depth);
    for (const std::size_t depth : depths) {
        for (const NamedForm& named : forms<T>(depth)) {
            // The extremes of one sign and of both come closest to the limits of a sum.
            for (const int kind : {0, 1, 2}) {
                PackedLevels queries(named.form, depth, kTileQueries, 0);
                PackedLevels panel(named.form, depth, lanes, named.form.zero);
                panel.are_placed = true;
                const auto level = [&](std::size_t k, bool of_query) {
                    const int greatest = of_query ? named.query_greatest(k) : named.greatest;
                    const int least = named.least < 0 ? -greatest : named.least;
                    if (kind == 0) return least + static_cast<int>(random.below(greatest - least + 1));
                    if (kind == 1) return !of_query && random.one_in(3000) ? least : greatest;
                    return random.one_in(2) ? greatest : least;
                };
                for (std::size_t k = 0; k < depth; ++k) {
                    for (std::size_t i = 0; i < kTileQueries; ++i) queries.set(k, i, level(k, true));
                    for (std::size_t j = 0; j < lanes; ++j) panel.set(k, j, level(k, false));
                }
                std::vector<std::int32_t> sums(kTileQueries * lanes, -1), start(kTileQueries);
                for (std::size_t i = 0; i < kTileQueries; ++i) {
                    int total = 0;
                    for (std::size_t k = 0; k < depth; ++k) total += queries.levels[i * depth + k];
                    start[i] = named.form.zero == 0 ? static_cast<int>(random.below(9)) - 4 : -named.form.zero * total;
                }
                named.form.sum(queries.bytes.data(), panel.bytes.data(), named.form.groups(depth), start.data(),
                               sums.data());
                bool right = true;
                for (std::size_t i = 0; i < kTileQueries; ++i) {
                    for (std::size_t j = 0; j < lanes; ++j) {
                        std::int64_t sum = named.form.zero == 0 ? start[i] : 0;
                        for (std::size_t k = 0; k < depth; ++k) {
                            const int q = queries.levels[i * depth + k], e = panel.levels[j * depth + k];
                            sum += named.sum == LevelSum::products ? q * e : -std::abs(q - e);
                        }
                        right = right && sums[i * lanes + j] == sum;
                    }
                }
                checks.expect(right, "sum of %s, %zu bytes, depth %zu, kind %d", named.name, sizeof(T), depth, kind);
            }
        }
    }
}

template <class T>
void check_shift(Checks& checks, Random& random) {
    for (const std::size_t depth : {1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 33u, 63u, 64u, 65u, 200u}) {
        for (int kind = 0; kind < 4; ++kind) {
            std::vector<T> x(depth), by(depth);
            for (std::size_t k = 0; k < depth; ++k) {
                x[k] = static_cast<T>(
                    std::ldexp(random.normal(), kind == 1 ? static_cast<int>(random.below(80)) - 40 : 0));
                by[k] = kind == 2 ? x[k] : static_cast<T>(random.normal());
                if (kind == 3 && random.one_in(10)) x[k] = extreme<T>(random);
            }
            std::vector<float> out(depth + 1, 7.0F);
            const Extent extent = bound_kernels<T>().shift(x.data(), by.data(), depth, out.data());
            float largest = 0;
            double squares = 0;
            bool right = out[depth] == 7.0F, void_ = false;
            for (std::size_t k = 0; k < depth; ++k) {
                const auto expected = static_cast<float>(x[k] - by[k]);
                right = right && (out[k] == expected || (is_nan(out[k]) && is_nan(expected)));
                void_ = void_ || is_nan(expected);
                largest = std::max(largest, std::abs(expected));
                squares += static_cast<double>(expected) * static_cast<double>(expected);
            }
            right = right && (void_ ? is_nan(extent.largest) : extent.largest == largest);
            if (!void_ && largest <= 0x1p40F) {
                const double error = squares * (static_cast<double>(depth) / 4 + 64) * 0x1p-24 + 0x1p-120;
                right = right && std::abs(static_cast<double>(extent.squares) - squares) <= error;
            }
            checks.expect(right, "shift, %zu bytes, depth %zu, kind %d", sizeof(T), depth, kind);
        }
    }
}

template <class T>
void check_quantise(Checks& checks, Random& random) {
    const BoundKernels<T>& kernels = bound_kernels<T>();
    for (const std::size_t depth : {1u, 2u, 7u, 8u, 9u, 63u, 64u, 65u, 127u, 128u, 130u, 200u}) {
        for (const NamedForm& named : forms<T>(depth)) {
            for (int kind = 0; kind < 3; ++kind) {
                std::vector<float> x(depth);
                float largest = 0x1p-30F;
                for (float& y : x) {
                    y = static_cast<float>(random.normal());
                    if (kind == 1) y = std::ldexp(y, static_cast<int>(random.below(60)) - 30);
                    if (kind == 2) y = static_cast<float>(random.below(9)) / 2;  // half way between two levels
                    largest = std::max(largest, std::abs(y));
                }
                const float step = named.sum == LevelSum::distances ? (kind == 2 ? 1.0F : largest / 300)
                                                                    : largest / static_cast<float>(named.greatest);
                const LevelGrid grid{step, 1 / step, static_cast<float>(named.least),
                                     static_cast<float>(named.greatest)};
                const std::size_t lane =
                    static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kernels.lanes)));
                PackedLevels panel(named.form, depth, kernels.lanes, named.form.zero, named.least);
                const Residues residues = kernels.quantise(x.data(), depth, grid, named.form, named.form.zero, lane,
                                                           kernels.lanes, panel.bytes.data());
                bool right = true;
                double magnitudes = 0, squares = 0, norm = 0;
                std::int64_t total = 0;
                for (std::size_t k = 0; k < depth; ++k) {
                    const int level = panel.get(k, lane);
                    const double y = static_cast<double>(x[k]), at = y / static_cast<double>(step);
                    const double nearest = std::clamp(at, named.least * 1.0, named.greatest * 1.0);
                    right = right && level >= named.least && level <= named.greatest &&
                            std::abs(level - nearest) <= 0.5 + std::abs(nearest) * 0x1p-22;
                    const double residue = y - level * static_cast<double>(step);
                    magnitudes += std::abs(residue);
                    squares += residue * residue;
                    norm += y * y;
                    total += level;
                }
                norm = std::sqrt(norm);
                const double few = std::sqrt(static_cast<double>(depth));
                right = right && residues.levels == total;
                // What the engine takes for the residues is no less than they are, and not much more.
                const double root = std::sqrt(static_cast<double>(residues.squares));
                right = right && std::sqrt(squares) <= root * 1.001 + norm * 0x1p-20 + 0x1p-60;
                right = right && root <= std::sqrt(squares) * 1.001 + norm * 0x1p-20 + 0x1p-60;
                const auto sum = static_cast<double>(residues.magnitudes);
                right = right && magnitudes <= sum * 1.001 + few * (norm * 0x1p-20 + 0x1p-60);
                right = right && sum <= magnitudes * 1.001 + few * (norm * 0x1p-20 + 0x1p-60);
                // Nothing but this lane is written, and what comes after the last component adds nothing.
                PackedLevels only(named.form, depth, kernels.lanes, named.form.zero);
                for (std::size_t k = 0; k < depth; ++k) only.set(k, lane, panel.get(k, lane));
                for (std::size_t k = depth; k < named.form.groups(depth) * named.form.group; ++k) {
                    only.bytes[((k / named.form.group * kernels.lanes + lane) * named.form.group +
                                k % named.form.group) *
                               named.form.bytes] = static_cast<unsigned char>(named.form.zero);
                }
                right = right && only.bytes == panel.bytes;
                checks.expect(right, "quantise as %s, %zu bytes, depth %zu, kind %d", named.name, sizeof(T), depth,
                              kind);
            }
        }
    }
}

// Sums of floats are as near to those of doubles as the engine says.
template <class T>
void check_float_sums(Checks& checks, Random& random) {
    const BoundKernels<T>& kernels = bound_kernels<T>();
    for (const bool moduli : {true, false}) {
        const LevelForm& form = moduli ? kernels.moduli : kernels.squares;
        for (const std::size_t depth : {2u, 4u, 6u, 16u, 62u, 64u, 500u}) {
            for (const int exponents : {1, 20, 60}) {
                std::vector<float> queries(depth * kTileQueries), panel(depth * kernels.lanes), vector(depth);
                const auto fill = [&](std::vector<float>& levels, std::size_t n) {
                    for (std::size_t i = 0; i < n; ++i) {
                        for (float& x : vector) {
                            const auto exponent = static_cast<int>(random.below(exponents)) - exponents / 2;
                            x = random.one_in(9) ? 0.0F : static_cast<float>(std::ldexp(random.normal(), exponent));
                        }
                        kernels.quantise(vector.data(), depth, {}, form, form.zero, i, n, levels.data());
                        for (std::size_t k = 0; k < depth; ++k) {
                            checks.expect(levels[k * n + i] == vector[k], "a float is not its own level");
                        }
                    }
                };
                fill(queries, kTileQueries);
                fill(panel, kernels.lanes);
                std::vector<std::int32_t> sums(kTileQueries * kernels.lanes);
                form.sum(queries.data(), panel.data(), form.groups(depth), nullptr, sums.data());
                bool right = true;
                for (std::size_t at = 0; at < sums.size(); ++at) {
                    const float *q = queries.data() + at / kernels.lanes, *e = panel.data() + at % kernels.lanes;
                    double expected = 0;
                    for (std::size_t k = 0; k < depth; ++k) {
                        const auto difference = [&](std::size_t c) {
                            return static_cast<double>(q[c * kTileQueries]) - static_cast<double>(e[c * kernels.lanes]);
                        };
                        if (moduli) {
                            expected += std::hypot(difference(k), difference(k + 1));
                            ++k;
                        } else {
                            expected += difference(k) * difference(k);
                        }
                    }
                    const auto sum = static_cast<double>(std::bit_cast<float>(sums[at])), length = double(depth);
                    const double error = expected * (form.error + (length + 10) * 0x1p-24) + length * 0x1p-60;
                    right = right && std::abs(sum - expected) <= error;
                }
                checks.expect(right, "sum of %s, %zu bytes, depth %zu, %d exponents", moduli ? "moduli" : "squares",
                              sizeof(T), depth, exponents);
            }
        }
    }
}

// Numbers of few digits, so that all arithmetic is exact, fused or not.
float eighths(Random& random, std::int64_t n) { return static_cast<float>(random.below(2 * n + 1) - n) / 8; }

template <class T>
void check_decisions(Checks& checks, Random& random) {
    const BoundKernels<T>& kernels = bound_kernels<T>();
    const std::size_t block = kernels.lanes;
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (int repeat = 0; repeat < 400; ++repeat) {
        const auto rows = static_cast<std::size_t>(1 + random.below(kTileQueries));
        std::vector<std::int64_t> first(rows + 1, random.below(3));
        for (std::size_t i = 0; i < rows; ++i) first[i + 1] = first[i] + random.below(4);
        const auto tasks = static_cast<std::size_t>(first[rows]);
        const bool floats = random.one_in(2), has_error = !floats && random.one_in(2);
        const auto blocks = 1 + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kPanelLanes / block)));
        const std::size_t lanes = blocks * block;
        const LevelForm& form = floats ? kernels.squares : kernels.distances[static_cast<int>(Levels::int16)];
        std::vector<std::int32_t> sums(blocks * kTileQueries * block);
        std::vector<double> numbers(sums.size());
        const auto at_pair = [&](std::size_t i, std::size_t j) {
            return (j / block * kTileQueries + i) * block + j % block;
        };
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] = static_cast<std::int32_t>(random.below(19) - 9);
            numbers[i] = floats ? sums[i] / 4.0 : sums[i];
            if (floats) sums[i] = std::bit_cast<std::int32_t>(static_cast<float>(numbers[i]));
        }
        std::vector<ValueRow> value_rows(rows);
        for (ValueRow& row : value_rows) {
            row = {std::abs(eighths(random, 9)), std::abs(eighths(random, 9)), std::abs(eighths(random, 9))};
        }
        std::vector<float> of_lanes[6];
        for (std::size_t field = 0; field < 6; ++field) {
            for (std::size_t j = 0; j < lanes; ++j) {
                of_lanes[field].push_back(field < 4 ? eighths(random, 30) : std::abs(eighths(random, 9)));
            }
        }
        for (std::size_t j = 0; j < lanes; ++j) {
            of_lanes[3][j] = std::max(of_lanes[3][j], of_lanes[1][j]);
            const bool none = random.one_in(20);  // a lane without a candidate
            for (auto& field : of_lanes) field[j] = none ? nan : field[j];
        }
        const ValueLanes values{of_lanes[0].data(),
                                of_lanes[1].data(),
                                of_lanes[2].data(),
                                of_lanes[3].data(),
                                has_error ? of_lanes[4].data() : nullptr,
                                has_error ? of_lanes[5].data() : nullptr};
        std::vector<float> above(tasks), below(tasks);
        for (std::size_t t = 0; t < tasks; ++t) {
            above[t] = eighths(random, 60);
            below[t] = std::min(above[t], eighths(random, 60));
            if (random.one_in(5)) above[t] = infinity, below[t] = -infinity;  // all are open
            if (random.one_in(5)) above[t] = below[t] = infinity;             // none is
        }
        const auto interval = [&](std::size_t i, std::size_t j) {
            const auto of = [&](std::size_t field) { return static_cast<double>(of_lanes[field][j]); };
            const double x = numbers[at_pair(i, j)] * static_cast<double>(value_rows[i].scale);
            double error = 0;
            if (has_error) {
                error = static_cast<double>(value_rows[i].norm) * of(4) +
                        static_cast<double>(value_rows[i].residue) * of(5);
            }
            return std::pair(of(0) * x + of(1) - error, of(2) * x + of(3) + error);
        };
        std::vector<PairMasks> masks(tasks, {~0ULL, ~0ULL});
        kernels.decide(form, sums.data(), blocks, rows, value_rows.data(), values, first.data(), above.data(),
                       below.data(), masks.data());
        bool right = true;
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                const auto task = static_cast<std::size_t>(t);
                PairMasks expected{0, 0};
                for (std::size_t j = 0; j < lanes; ++j) {
                    const auto [low, high] = interval(i, j);
                    expected.above |= std::uint64_t{low > static_cast<double>(above[task])} << j;
                    expected.not_below |= std::uint64_t{high >= static_cast<double>(below[task])} << j;
                }
                const PairMasks& mask = masks[static_cast<std::size_t>(t - first[0])];
                right = right && mask.above == expected.above && mask.not_below == expected.not_below;
            }
        }
        checks.expect(right, "decide, %zu bytes, %zu rows, %zu tasks, floats %d, error %d", sizeof(T), rows, tasks,
                      floats, has_error);

        const auto layers = static_cast<std::size_t>(random.below(4));
        std::vector<RowOffset> offsets(rows);
        for (RowOffset& offset : offsets) {
            offset.low = eighths(random, 20);
            offset.high = offset.low + std::abs(eighths(random, 9));
        }
        above.clear(), below.clear();
        for (std::size_t at = 0; at < layers * block; ++at) {
            above.push_back(random.one_in(4) ? nan : eighths(random, 60));  // NaN: no task
            below.push_back(above[at] != above[at] ? nan : std::min(above[at], eighths(random, 60)));
            if (random.one_in(5)) above[at] = infinity, below[at] = -infinity;
        }
        std::vector<std::uint32_t> counters(layers * block + 1, 3), counted = counters;
        std::vector<PairMasks> open(rows * layers, {~0ULL, ~0ULL}), left_open(rows * layers, {0, 0});
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t at = 0; at < layers * block; ++at) {
                const auto [least, most] = interval(i, at % block);
                const double low = least + static_cast<double>(offsets[i].low);
                const double high = most + static_cast<double>(offsets[i].high);
                const bool is_above = low > static_cast<double>(above[at]);
                counted[at] += is_above;
                left_open[i * layers + at / block].not_below |=
                    std::uint64_t{!is_above && high >= static_cast<double>(below[at])} << at % block;
            }
        }
        kernels.decide_lanes(form, sums.data(), rows, value_rows.data(), values, offsets.data(),
                             {layers, above.data(), below.data()}, counters.data(), open.data());
        right = counters == counted;
        for (std::size_t i = 0; i < open.size(); ++i) {
            right = right && open[i].above == 0 && open[i].not_below == left_open[i].not_below;
        }
        checks.expect(right, "decide_lanes, %zu bytes, %zu rows, %zu layers, floats %d, error %d", sizeof(T), rows,
                      layers, floats, has_error);
    }
}

// Thresholds on sums leave open what they may, and not much more; and sums are compared with them.
template <class T>
void check_sum_thresholds(Checks& checks, Random& random) {
    const BoundKernels<T>& kernels = bound_kernels<T>();
    constexpr std::size_t room = 16;
    constexpr double most = 0x1p30;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const auto rows = static_cast<std::size_t>(1 + random.below(kTileQueries));
        std::vector<std::int64_t> first(rows + 1, random.below(3));
        for (std::size_t i = 0; i < rows; ++i) first[i + 1] = first[i] + random.below(4);
        const auto tasks = static_cast<std::size_t>(first[rows]);
        const int exponent = repeat % 3 == 0 ? 0 : static_cast<int>(random.below(80)) - 40;
        const auto number = [&] { return std::ldexp(std::abs(static_cast<float>(random.normal())), exponent / 2); };
        std::vector<float> numbers[4];
        for (auto& of_tasks : numbers) of_tasks.resize(tasks + room);
        for (std::size_t t = 0; t < tasks; ++t) {
            numbers[0][t] = static_cast<float>(std::ldexp(random.normal(), exponent + 6));
            numbers[1][t] = numbers[0][t] - number();
            numbers[2][t] = number();
            numbers[3][t] = number();
            constexpr float infinity = std::numeric_limits<float>::infinity();
            if (random.one_in(9)) numbers[0][t] = infinity, numbers[1][t] = random.one_in(2) ? infinity : -infinity;
        }
        const SumPanel panel{static_cast<float>(std::ldexp(1 + std::abs(random.normal()), -exponent)), number(),
                             number()};
        std::vector<std::int32_t> above(tasks + room), below(tasks + room);
        kernels.set_sum_thresholds({numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data()}, tasks,
                                   panel, above.data(), below.data());
        bool right = true;
        for (std::size_t t = 0; t < tasks; ++t) {
            const auto of = [&](std::size_t field) { return static_cast<double>(numbers[field][t]); };
            const auto step = static_cast<double>(panel.per_step);
            const double error = of(2) * static_cast<double>(panel.residue) + of(3) * static_cast<double>(panel.norm);
            // What the engine adds to the numbers of a task covers the roundings of floats.
            const auto slack = [&](double x) { return (std::abs(x) * 0x1p-20 + error * 1e-3) * step; };
            const double high = (of(0) + error) * step, low = (of(1) - error) * step;
            // Conversion to an integer cuts off less than 1.
            if (high < most) {
                right =
                    right && above[t] + 1 > high - slack(of(0)) && above[t] < std::max(high + slack(of(0)), -1.6e9) + 2;
            } else {
                right = right && above[t] >= (high > 2 * most ? most : most - slack(of(0)));
            }
            if (low > 2 * most) {
                right = right && below[t] >= most;
            } else if (low > -most) {
                right = right && below[t] < low + slack(of(1)) && below[t] > std::min(low - slack(of(1)), 1.6e9) - 3;
            } else {
                right = right && below[t] <= (low < -2 * most ? -most : slack(of(1)) - most);
            }
        }
        checks.expect(right, "thresholds of sums, %zu bytes, %zu tasks, exponent %d", sizeof(T), tasks, exponent);

        const std::size_t block = kernels.lanes;
        const auto blocks = 1 + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kPanelLanes / block)));
        std::vector<std::int32_t> sums(blocks * kTileQueries * block);
        for (std::int32_t& sum : sums) sum = static_cast<std::int32_t>(random.below(19) - 9);
        for (std::size_t t = 0; t < tasks; ++t) {
            above[t] = static_cast<std::int32_t>(random.below(21) - 10);
            below[t] = std::min(above[t], static_cast<std::int32_t>(random.below(21) - 10));
        }
        std::vector<PairMasks> masks(tasks, {~0ULL, ~0ULL});
        kernels.decide_sums(sums.data(), blocks, rows, first.data(), above.data(), below.data(), masks.data());
        right = true;
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::int64_t t = first[i]; t < first[i + 1]; ++t) {
                PairMasks expected{0, 0};
                for (std::size_t j = 0; j < blocks * block; ++j) {
                    const std::int32_t sum = sums[(j / block * kTileQueries + i) * block + j % block];
                    expected.above |= std::uint64_t{sum > above[static_cast<std::size_t>(t)]} << j;
                    expected.not_below |= std::uint64_t{sum > below[static_cast<std::size_t>(t)]} << j;
                }
                const PairMasks& mask = masks[static_cast<std::size_t>(t - first[0])];
                right = right && mask.above == expected.above && mask.not_below == expected.not_below;
            }
        }
        checks.expect(right, "decide_sums, %zu bytes, %zu rows, %zu tasks", sizeof(T), rows, tasks);
    }
}

template <class T>
void check_collect(Checks& checks, Random& random) {
    const BoundKernels<T>& kernels = bound_kernels<T>();
    const std::uint64_t all = ~0ULL;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const auto task = static_cast<std::size_t>(random.below(5)), n = static_cast<std::size_t>(random.below(9));
        std::vector<PairMasks> masks(n);
        for (PairMasks& mask : masks) {
            mask = {random.bits() & all, random.one_in(2) ? all : random.bits() & all};
            if (random.one_in(2)) mask.above |= random.bits() & all;  // few are open, as a rule
            if (random.one_in(3)) mask.not_below = mask.above;        // or none
        }
        std::vector<std::uint32_t> counters(task + n + 1, 3), counted = counters;
        std::vector<OpenPair> open(n * kPanelLanes + kOpenRoom + 1, {7, 7}), expected;
        for (std::size_t t = 0; t < n; ++t) {
            for (std::uint32_t j = 0; j < kPanelLanes; ++j) {
                const bool is_above = masks[t].above >> j & 1, is_open = (masks[t].not_below >> j & 1) && !is_above;
                counted[task + t] += is_above;
                if (is_open) expected.push_back({static_cast<std::uint32_t>(task + t), j});
            }
        }
        const std::size_t found = kernels.collect(masks.data(), task, n, counters.data(), open.data());
        const bool right = found == expected.size() && counters == counted && open.back().lane == 7 &&
                           std::equal(expected.begin(), expected.end(), open.begin(),
                                      [](OpenPair a, OpenPair b) { return a.task == b.task && a.lane == b.lane; });
        checks.expect(right, "collect, %zu bytes, %zu tasks", sizeof(T), n);
    }
}

template <class T>
Scores matrix(const std::vector<T>& numbers, std::size_t rows) {
    const auto columns = static_cast<std::int64_t>(numbers.size() / rows);
    const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
    return {reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::int64_t>(rows),
            columns,
            static_cast<std::ptrdiff_t>(columns * static_cast<std::int64_t>(sizeof(T))),
            sizeof(T),
            dtype,
            false};
}

// All candidates of all queries are targets, so that each score is a threshold for all others.
template <class T>
void check_counts_with_bounds(Checks& checks, Random& random) {
    constexpr std::size_t queries = 7, entities = 67, tasks = queries * entities;
    std::vector<std::int64_t> rows(tasks), targets(tasks);
    for (std::size_t t = 0; t < tasks; ++t) {
        rows[t] = static_cast<std::int64_t>(t / entities);
        targets[t] = static_cast<std::int64_t>(t % entities);
    }
    for (const auto& [name, similarity] : kSimilarities) {
        for (const std::size_t depth : {2u, 4u, 8u, 30u, 64u}) {
            for (int kind = 0; kind < 4; ++kind) {
                std::vector<T> q(queries * depth), e(entities * depth), bias(entities);
                const auto component = [&] {
                    if (kind == 0) return static_cast<T>(random.below(5) - 2);
                    if (kind == 1)
                        return static_cast<T>(std::ldexp(random.normal(), static_cast<int>(random.below(20))));
                    return static_cast<T>(random.normal() / 16);
                };
                for (T& x : q) x = component();
                for (std::size_t i = 0; i < entities; ++i) {
                    const std::size_t twin = i / 2 * depth;  // every other candidate is nearly one before
                    for (std::size_t k = 0; k < depth; ++k) e[i * depth + k] = i % 2 == 0 ? component() : e[twin + k];
                    T& moved = e[i * depth + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(depth)))];
                    if (i % 2 == 1) moved = std::nextafter(moved, static_cast<T>(random.below(3) - 1) * 1000);
                    bias[i] = static_cast<T>(random.normal());
                }
                Embeddings embeddings{matrix(q, queries), matrix(e, entities), similarity};
                if (kind == 3) embeddings.bias = bias.data();
                Grid grid{embeddings, std::vector<std::int64_t>(queries), std::vector<std::int64_t>(entities)};
                std::iota(grid.left.begin(), grid.left.end(), 0);
                std::iota(grid.right.begin(), grid.right.end(), 0);
                // Of the queries by themselves; of the queries and of the entities of the grid.
                constexpr std::size_t arrays = 9;
                std::vector<std::int64_t> counts[arrays], plain[arrays];
                const std::vector<std::string> names = usable_levels();
                for (std::size_t i = 0; i < names.size(); ++i) {
                    choose_levels((names[i] + "!").c_str());
                    for (auto& of_tasks : counts) of_tasks.assign(tasks, 0);
                    Counts out[3];
                    for (std::size_t j = 0; j < 3; ++j) {
                        out[j].above = counts[3 * j].data();
                        out[j].tied = counts[3 * j + 1].data();
                        out[j].candidates = counts[3 * j + 2].data();
                    }
                    const Tasks all{static_cast<std::int64_t>(tasks), rows.data(), targets.data()};
                    rank_embeddings(embeddings, all, {}, {}, NanRule::worst, {0, 1, nullptr}, out[0]);
                    rank_grid(grid, all, {}, {}, NanRule::worst, {0, 1, nullptr}, out[1], out[2]);
                    if (i == 0) std::copy_n(counts, arrays, plain);
                    checks.expect(
                        std::equal(counts, counts + 3, counts + 3) && std::equal(counts, counts + arrays, plain),
                        "counts by %s, %s, %zu bytes, depth %zu, kind %d", names[i].c_str(), name, sizeof(T), depth,
                        kind);
                }
            }
        }
    }
    choose_levels("off");
}

}  // namespace

void check_bounds(Checks& checks) {
    Random random;
    check_level_sums<float>(checks, random);
    check_level_sums<double>(checks, random);
    check_shift<float>(checks, random);
    check_shift<double>(checks, random);
    check_quantise<float>(checks, random);
    check_quantise<double>(checks, random);
    check_float_sums<float>(checks, random);
    check_float_sums<double>(checks, random);
    check_decisions<float>(checks, random);
    check_decisions<double>(checks, random);
    check_sum_thresholds<float>(checks, random);
    check_sum_thresholds<double>(checks, random);
    check_collect<float>(checks, random);
    check_collect<double>(checks, random);
    const BoundsTally before = bounds_tally();
    check_counts_with_bounds<float>(checks, random);
    check_counts_with_bounds<double>(checks, random);
    const BoundsTally after = bounds_tally();
    checks.expect(after.bounded > before.bounded && after.open > before.open && after.scored > before.scored,
                  "no pairs went by bounds");
}

}  // namespace truerank::tests
