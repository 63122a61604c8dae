// Levels: how vectors become levels, and sums over them, of a tile and of single rows.
#include "engine/bounds/bounds.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "engine/bounds/quantiser.hpp"
#include "kernels/simd.hpp"
#include "kernels/sums.hpp"
#include "tests/amx_emulator.hpp"
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
        unsigned char* const at = bytes.data() + at_of(k, lane);
        const int stored = level + zero;
        if (form.is_split) {
            at[0] = static_cast<unsigned char>(stored >> 8);
            at[lower(lane)] = static_cast<unsigned char>(stored);
            return;
        }
        for (std::size_t i = 0; i < form.bytes; ++i) at[i] = static_cast<unsigned char>(stored >> (8 * i));
    }
    // Of levels as candidates have them.
    int get(std::size_t k, std::size_t lane) const {
        const unsigned char* const at = bytes.data() + at_of(k, lane);
        if (form.is_split) return static_cast<std::int8_t>(at[0]) * 256 + at[lower(lane)];
        if (form.bytes == 2) return static_cast<std::int16_t>(at[0] | at[1] << 8) - zero;
        return static_cast<unsigned char>(at[0] - zero - least) + least;  // with a sign or without
    }
    LevelForm::Place place(std::size_t lane) const {
        return are_placed ? form.place(lane, lanes, depth) : LevelForm::Place{lane, lanes, 0};
    }
    std::size_t at_of(std::size_t k, std::size_t lane) const {
        const LevelForm::Place at = place(lane);
        const std::size_t unit = form.is_split ? 1 : form.bytes;
        return at.offset + ((k / form.group * at.lanes + at.lane) * form.group + k % form.group) * unit;
    }
    // How far the lower bytes of split words are behind the upper ones.
    std::size_t lower(std::size_t lane) const { return form.groups(depth) * form.group * place(lane).lanes; }
    LevelForm form;
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
    const SumKernels<T>& kernels = sum_kernels<T>();
    const auto words = static_cast<int>(std::min(16383.0, std::sqrt(0x1p30 / static_cast<double>(depth))));
    constexpr int pairs = static_cast<int>(ByteProducts::pairs), fours = static_cast<int>(ByteProducts::fours);
    std::vector<NamedForm> result{
        {"words", kernels.words[pairs], LevelSum::products, -words, words},
        {"distances", kernels.distances[static_cast<int>(Levels::int16)], LevelSum::distances, 0, 255}};
    constexpr int bytes = static_cast<int>(Levels::int8);
#if defined(TRUERANK_X86_SETS) || defined(__aarch64__) || defined(_M_ARM64)
    const bool has_fours = byte_products() == ByteProducts::fours, has_pairs = vector_bytes() > 16;
#else
    const bool has_fours = true, has_pairs = true;  // by way of generic arithmetic
#endif
    if (has_fours) {
        result.push_back({"bytes", kernels.bytes[fours], LevelSum::products, -127, 127});
        result.push_back({"fused words", kernels.words[fours], LevelSum::products, -words, words});
        result.push_back({"distances by products", kernels.distances[bytes], LevelSum::distances, 0, 255});
    }
    for (std::size_t i = 0; i < 2; ++i) {
        if (kernels.tiles[i].sum == nullptr) continue;  // AMX, emulated where the processor lacks it
        LevelForm divided = kernels.tiles_of_words[i];
        while (0x1p28 * static_cast<double>(depth) > std::ldexp(0x1p30, divided.shift)) ++divided.shift;
        result.push_back({"tiles", kernels.tiles[i], LevelSum::products, -127, 127});
        result.push_back({"tiles of words", kernels.tiles_of_words[i], LevelSum::products, -words, words});
        result.push_back({"tiles of divided words", divided, LevelSum::products, -16383, 16383});
    }
    if (has_pairs) {
        const LevelForm& form = kernels.bytes[pairs];
        result.push_back({"pairs of bytes", form, LevelSum::products, -form.greatest, form.greatest});
    }
    return result;
}

template <class T>
void check_level_sums(Checks& checks, Random& random) {
    const std::size_t lanes = sum_kernels<T>().lanes;
    std::vector<std::size_t> depths{255, 256, 257, 1000, static_cast<std::size_t>(Quantiser<T>::kDeepest)};
    for (std::size_t depth = 1; depth <= 200; depth += depth < 70 ? 1 : 13) depths.push_back(depth);
    for (const std::size_t depth : depths) {
        for (const NamedForm& named : forms<T>(depth)) {
            // The extremes of one sign and of both come closest to the limits of a sum.
            for (const int kind : {0, 1, 2}) {
                const std::size_t rows = named.form.queries;
                PackedLevels queries(named.form.of_queries(), depth, rows, 0);
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
                    for (std::size_t i = 0; i < rows; ++i) queries.set(k, i, level(k, true));
                    for (std::size_t j = 0; j < lanes; ++j) panel.set(k, j, level(k, false));
                }
                std::vector<std::int32_t> sums(rows * lanes, -1), start(rows), lane_starts(lanes);
                const bool is_split = named.form.is_split, has_starts = named.form.columns == 0;
                for (std::size_t i = 0; i < rows && has_starts; ++i) {
                    int total = 0;
                    for (std::size_t k = 0; k < depth; ++k) total += queries.levels[i * depth + k];
                    start[i] = named.form.zero == 0 ? static_cast<int>(random.below(9)) - 4 : -named.form.zero * total;
                }
                const bool has_lane_starts = named.sum == LevelSum::products && !is_split && random.one_in(2);
                constexpr int most_start = 1 << 29;  // of candidates of bytes
                for (std::int32_t& lane_start : lane_starts) {
                    lane_start = has_lane_starts ? static_cast<int>(random.below(2 * most_start + 1)) - most_start : 0;
                }
                const Summing summing(named.form);
                named.form.sum(named.form,
                               {queries.bytes.data(), panel.bytes.data(), named.form.groups(depth), start.data(),
                                has_lane_starts ? lane_starts.data() : nullptr},
                               sums.data());
                bool right = true;
                for (std::size_t i = 0; i < rows; ++i) {
                    for (std::size_t j = 0; j < lanes; ++j) {
                        std::int64_t sum = lane_starts[j] + (named.form.zero == 0 ? start[i] : 0);
                        for (std::size_t k = 0; k < depth; ++k) {
                            const int q = queries.levels[i * depth + k], e = panel.levels[j * depth + k];
                            sum += named.sum == LevelSum::products ? q * e : -std::abs(q - e);
                        }
                        // A sum that was divided is too small by less than 2.
                        const int shift = named.form.shift;
                        const std::int64_t less = sum - (std::int64_t{sums[i * lanes + j]} << shift);
                        right = right && less >= 0 && less < (shift > 0 ? std::int64_t{2} << shift : 1);
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
            const Extent extent = sum_kernels<T>().subtract_shift(x.data(), by.data(), depth, out.data());
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
    const SumKernels<T>& kernels = sum_kernels<T>();
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
                const auto lane = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kernels.lanes)));
                PackedLevels panel(named.form, depth, kernels.lanes, named.form.zero, named.least);
                const Residues residues =
                    kernels.quantise(x.data(), depth, grid, named.form, lane, kernels.lanes, panel.bytes.data());
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
                const std::size_t end = named.form.is_split ? 0 : named.form.groups(depth) * named.form.group;
                for (std::size_t k = depth; k < end; ++k) {
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

// Bytes are their own levels, with what is stored of them where the form says, and nothing beside it, however many
// vectors there are, and wherever they lie.
template <class T>
void check_take_bytes(Checks& checks, Random& random) {
    const SumKernels<T>& kernels = sum_kernels<T>();
    const auto draw = [&](std::size_t n) {
        return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
    };
    for (const LevelForm& form : {kernels.words[0], kernels.words[1], kernels.words[2], kernels.bytes[2],
                                  kernels.tiles[0], kernels.tiles[0].of_queries()}) {
        if (form.sum == nullptr) continue;
        for (const std::size_t depth :
             {1u, 2u, 3u, 4u, 7u, 8u, 15u, 16u, 28u, 31u, 32u, 33u, 64u, 100u, 127u, 130u, 200u}) {
            for (const int flip : {0, 0, 0, 128, 128, 128}) {
                const auto lanes = random.one_in(2) || form.columns != 0 ? kernels.lanes : kTileQueries;
                const std::size_t n = random.one_in(2) ? lanes : 1 + draw(2 * lanes), groups = (n + lanes - 1) / lanes;
                const std::size_t begin = draw(2), apart = depth + 4 * draw(2);
                const LevelForm stored = random.one_in(2) || form.query_group != 0 ? form : form.of_queries();
                const bool is_least = random.one_in(3);  // -128
                std::vector<std::uint8_t> bytes(begin + n * apart);
                for (std::uint8_t& byte : bytes) {
                    byte = static_cast<std::uint8_t>(is_least ? flip ^ 128 : random.below(256));
                }
                std::vector<const std::uint8_t*> x(n);
                for (std::size_t i = 0; i < n; ++i) x[i] = bytes.data() + begin + i * apart;
                std::vector<unsigned char> out(groups * stored.size(depth, lanes) + 1, 7), expected = out;
                std::vector<ByteLevels> made(n);
                kernels.take_bytes(x.data(), n, depth, static_cast<std::uint8_t>(flip), stored, lanes, out.data(),
                                   made.data());
                bool right = true;
                for (std::size_t i = 0; i < n; ++i) {
                    const LevelForm::Place place = stored.place(i, lanes, depth);
                    std::int32_t sum = 0, squares = 0;
                    for (std::size_t k = 0; k < stored.groups(depth) * stored.group; ++k) {
                        const int level = k < depth ? static_cast<std::int8_t>(x[i][k] ^ flip) : 0,
                                  shown = level + stored.zero;
                        sum += level;
                        squares += level * level;
                        const std::size_t group = k / stored.group * place.lanes + place.lane,
                                          at = place.offset + (group * stored.group + k % stored.group) * stored.bytes;
                        std::memcpy(expected.data() + at, &shown, stored.bytes);  // its lower bytes
                        const bool may_stay = k >= depth && stored.columns != 0;
                        if (may_stay) std::memcpy(out.data() + at, &shown, stored.bytes);
                    }
                    right = right && made[i].levels == sum && made[i].squares == squares;
                }
                checks.expect(right && out == expected,
                              "take_bytes, levels of %zu bytes, depth %zu, %zu vectors, flip %d", form.bytes, depth, n,
                              flip);
            }
        }
    }
}

// Sums of floats are as near to those of doubles as the engine says.
template <class T>
void check_float_sums(Checks& checks, Random& random) {
    const SumKernels<T>& kernels = sum_kernels<T>();
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
                        kernels.quantise(vector.data(), depth, {}, form, i, n, levels.data());
                        for (std::size_t k = 0; k < depth; ++k) {
                            checks.expect(levels[k * n + i] == vector[k], "a float is not its own level");
                        }
                    }
                };
                fill(queries, kTileQueries);
                fill(panel, kernels.lanes);
                std::vector<std::int32_t> sums(kTileQueries * kernels.lanes);
                form.sum(form, {queries.data(), panel.data(), form.groups(depth)}, sums.data());
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

}  // namespace

void check_levels(Checks& checks) {
    Random random;
#if defined(TRUERANK_AMX_EMULATOR)
    std::optional<AmxEmulator> emulator;
    if (!has_tiles()) emulator.emplace();
#endif
    check_level_sums<float>(checks, random);
    check_level_sums<double>(checks, random);
    check_shift<float>(checks, random);
    check_shift<double>(checks, random);
    check_quantise<float>(checks, random);
    check_quantise<double>(checks, random);
    check_take_bytes<float>(checks, random);
    check_take_bytes<double>(checks, random);
    check_float_sums<float>(checks, random);
    check_float_sums<double>(checks, random);
#if defined(TRUERANK_AMX_EMULATOR)
    const bool are_tiles_tested = has_tiles() || AmxEmulator::instructions() > 0;
    checks.expect(are_tiles_tested == (isa() == Isa::avx512), "tiles of AMX, or emulated ones");
    checks.expect(!AmxEmulator::is_configured(), "tiles are released");
#endif
}

}  // namespace truerank::tests
