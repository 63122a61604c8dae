#include "kernels/sums.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/steps.hpp"
#include "kernels/tiles.hpp"
#include "kernels/transpose.hpp"

namespace truerank {
namespace {

using I = Instructions;

// Each of these adds `sign` times the products, or the distances, of groups of levels to sums; a group is as wide as a
// sum. (The sums of distances are negative, but what instructions add is positive.)
struct ByteFours {
    using Sum = I::Ints;
    static constexpr std::size_t bytes = 1, groups = 1;
    static constexpr int zero = I::zero, sign = 1, query_greatest = 127, query_in_word = 0, greatest = 127;
    static TRUERANK_INLINE void add(Sum& sum, const Sum* e, const Sum* q) { I::add_byte_products(sum, e[0], q[0]); }
};
// Where the processor multiplies bytes, but adds products up in words of 16 bits. Words are widened after every other
// step: a word then has four products, and holds them, since levels of queries are as coarse as that takes.
struct BytePairs {
    using Sum = I::Ints;
    using Words = I::Words;
    static constexpr std::size_t bytes = 1, groups = 2;
    static constexpr int zero = 88, sign = 1, query_greatest = 127, query_in_word = 186, greatest = 88;
    static_assert((zero + greatest) * query_in_word < 1 << 15);
    static TRUERANK_INLINE void add(Sum& sum, const Sum* e, const Sum* q) {
        Words first, second;
        I::byte_pairs(first, e[0], q[0]);
        I::byte_pairs(second, e[1], q[1]);
        I::add_word_products(sum, (Sum)(first + second), (Sum)(Words{} + 1));
    }
};
template <bool Fused>
struct WordProducts {
    using Sum = I::Ints;
    static constexpr std::size_t bytes = 2, groups = 1;
    static constexpr int zero = 0, sign = 1, query_greatest = 0, query_in_word = 0, greatest = 0;
    static TRUERANK_INLINE void add(Sum& sum, const Sum* e, const Sum* q) {
        if constexpr (Fused) {
            I::add_fused_word_products(sum, e[0], q[0]);
        } else {
            I::add_word_products(sum, e[0], q[0]);
        }
    }
};
template <bool ByProducts>
struct ByteDistances {
    using Sum = I::Distances;
    static constexpr std::size_t bytes = 1, groups = 1;
    static constexpr int zero = 0, sign = -1, query_greatest = 0, query_in_word = 0, greatest = 0;
    static TRUERANK_INLINE void add(Sum& sum, const Sum* e, const Sum* q) {
        if constexpr (ByProducts) {
            I::add_byte_distances_by_products(sum, e[0], q[0]);
        } else {
            I::add_byte_distances(sum, e[0], q[0]);
        }
    }
};

template <class Step>
using LaneOf = std::remove_cvref_t<decltype(typename Step::Sum{}[0])>;

// The sums of a tile. As many candidates as fill the registers are summed at a time; where sums are 64 bits wide, these
// are half of a panel of floats, and those of one vector and the next are interleaved, as the places of candidates are.
template <class Step, class T>
void sum_tile(const LevelForm&, const SumOperands& of, std::int32_t* sums) {
    using Sum = typename Step::Sum;
    using Lane = LaneOf<Step>;
    constexpr std::size_t size = kBytes / sizeof(Lane), lanes = kBlockLanes<T>;
    constexpr std::size_t at_once = std::min(kTileVectors, lanes / size);
    // Those of candidates are added to products alone: a lane of these is a sum of 32 bits.
    constexpr bool has_lane_starts = std::is_same_v<Lane, std::int32_t> && Step::sign == 1;
    for (std::size_t first = 0; first < lanes; first += at_once * size) {
        const auto* from = static_cast<const unsigned char*>(of.candidates) + first * sizeof(Lane);
        const auto* query = static_cast<const unsigned char*>(of.queries);
        Sum start[at_once] = {}, sum[kTileQueries][at_once];
        if constexpr (has_lane_starts) {
            if (of.lane_starts != nullptr) std::memcpy(start, of.lane_starts + first, sizeof start);
        }
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < kTileQueries; ++i) {
            TRUERANK_UNROLL
            for (std::size_t v = 0; v < at_once; ++v) sum[i][v] = start[v];
        }
        for (std::size_t g = 0; g < of.groups; g += Step::groups) {
            Sum e[at_once][Step::groups];
            TRUERANK_UNROLL
            for (std::size_t v = 0; v < at_once; ++v) {
                TRUERANK_UNROLL
                for (std::size_t j = 0; j < Step::groups; ++j) {
                    e[v][j] = *reinterpret_cast<const typename Simd<Lane>::unaligned*>(from + j * lanes * sizeof(Lane) +
                                                                                       v * kBytes);
                }
            }
            TRUERANK_UNROLL
            for (std::size_t i = 0; i < kTileQueries; ++i) {
                Sum q[Step::groups];
                TRUERANK_UNROLL
                for (std::size_t j = 0; j < Step::groups; ++j) {
                    typedef Lane Levels __attribute__((may_alias));
                    I::broadcast(q[j], *reinterpret_cast<const Levels*>(query + (j * kTileQueries + i) * sizeof(Lane)));
                }
                TRUERANK_UNROLL
                for (std::size_t v = 0; v < at_once; ++v) Step::add(sum[i][v], e[v], q);
            }
            from += Step::groups * lanes * sizeof(Lane);
            query += Step::groups * kTileQueries * sizeof(Lane);
        }
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < kTileQueries; ++i) {
            for (std::size_t v = 0; v < at_once; v += sizeof(Lane) / 4) {
                using Narrow = Simd<std::int32_t>::type;
                Narrow narrow = (Narrow)sum[i][v];
                // Sums of 64 bits have 0 in their upper halves, where those of the next vector go.
                if constexpr (sizeof(Lane) == 8) narrow |= (Narrow)(sum[i][v + 1] << 32);
                narrow = of.query_starts[i] + Step::sign * narrow;
                std::memcpy(sums + i * lanes + first + v * size, &narrow, sizeof narrow);
            }
        }
    }
}

template <class T, class Step>
constexpr LevelForm form() {
    constexpr std::size_t interleaved = sizeof(LaneOf<Step>) == 8 ? sizeof(typename Step::Sum) / 8 : 1;
    return {.group = sizeof(LaneOf<Step>) / Step::bytes,
            .bytes = Step::bytes,
            .zero = Step::zero,
            .query_greatest = Step::query_greatest,
            .query_in_word = Step::query_in_word,
            .greatest = Step::greatest,
            .groups_at_once = Step::groups,
            .interleaved = interleaved,
            .sum = sum_tile<Step, T>};
}

// The sums of two tiles of queries and a block of candidates.
template <class T, class Tiles>
void sum_tiles(const LevelForm&, const SumOperands& of, std::int32_t* sums) {
    constexpr std::size_t lanes = kBlockLanes<T>, columns = Tiles::columns, stride = columns * 4;
    constexpr bool is_pair = lanes > columns;
    // kSum10: of the second queries and the first candidates.
    constexpr int kSum00 = 0, kSum10 = 1, kSum01 = 2, kSum11 = 3;
    constexpr int kQueries0 = 4, kQueries1 = 5, kCandidates0 = 6, kCandidates1 = 7;
    Tiles tiles;
    for (std::size_t first = 0; first < lanes; first += is_pair ? 2 * columns : columns) {
        const auto* query = static_cast<const unsigned char*>(of.queries);
        const auto* from = static_cast<const unsigned char*>(of.candidates) + first * of.groups * 4;
        if (of.lane_starts == nullptr) {
            tiles.template zero<kSum00>();
            tiles.template zero<kSum10>();
            if constexpr (is_pair) {
                tiles.template zero<kSum01>();
                tiles.template zero<kSum11>();
            }
        } else {
            tiles.template start<kSum00>(of.lane_starts + first);
            tiles.template start<kSum10>(of.lane_starts + first);
            if constexpr (is_pair) {
                tiles.template start<kSum01>(of.lane_starts + first + columns);
                tiles.template start<kSum11>(of.lane_starts + first + columns);
            }
        }
        for (std::size_t g = 0; g < of.groups; g += kTileRows) {
            tiles.template load<kCandidates0>(from, stride);
            tiles.template load<kQueries0>(query, kTileBytes);
            tiles.template add_products<kSum00, kQueries0, kCandidates0>();
            tiles.template load<kQueries1>(query + kTileRows * kTileBytes, kTileBytes);
            tiles.template add_products<kSum10, kQueries1, kCandidates0>();
            if constexpr (is_pair) {
                tiles.template load<kCandidates1>(from + of.groups * stride, stride);
                tiles.template add_products<kSum01, kQueries0, kCandidates1>();
                tiles.template add_products<kSum11, kQueries1, kCandidates1>();
            }
            from += kTileRows * stride;
            query += 2 * kTileRows * kTileBytes;
        }
        std::int32_t* const to = sums + first;
        tiles.template store<kSum00>(to, lanes);
        tiles.template store<kSum10>(to + kTileRows * lanes, lanes);
        if constexpr (is_pair) {
            tiles.template store<kSum01>(to + columns, lanes);
            tiles.template store<kSum11>(to + kTileRows * lanes + columns, lanes);
        }
    }
}

// The same of words, whose upper and lower bytes are multiplied in turn: (256 u + l) (256 v + m) / 2^shift is made of
// u v, u m + l v, and l m.
template <class T, class Tiles>
void sum_split_tiles(const LevelForm& form, const SumOperands& of, std::int32_t* sums) {
    constexpr std::size_t lanes = kBlockLanes<T>, columns = Tiles::columns, stride = columns * 4;
    using Upper = std::int8_t;
    using Lower = std::uint8_t;
    // How far behind the upper bytes the lower ones lie.
    const std::size_t lower_of_query = of.groups * 4 * 2 * kTileRows, lower_of_panel = of.groups * stride;
    const int shift = form.shift, left_by = std::max(8 - shift, 0), right_by = std::max(shift - 8, 0);
    constexpr int kUpperUpper = 0, kUpperLower = 1, kLowerUpper = 2, kLowerLower = 3;
    constexpr int kUpperQueries = 4, kLowerQueries = 5, kUpperCandidates = 6, kLowerCandidates = 7;
    Tiles tiles;
    for (std::size_t first = 0; first < lanes; first += columns) {
        for (std::size_t row = 0; row < 2 * kTileRows; row += kTileRows) {
            const auto* query = static_cast<const unsigned char*>(of.queries) + row * kTileBytes;
            const auto* from = static_cast<const unsigned char*>(of.candidates) + first * of.groups * 8;
            tiles.template zero<kUpperUpper>();
            tiles.template zero<kUpperLower>();
            tiles.template zero<kLowerUpper>();
            tiles.template zero<kLowerLower>();
            for (std::size_t g = 0; g < of.groups; g += kTileRows) {
                tiles.template load<kUpperQueries>(query, kTileBytes);
                tiles.template load<kUpperCandidates>(from, stride);
                tiles.template add_products<kUpperUpper, kUpperQueries, kUpperCandidates, Upper, Upper>();
                tiles.template load<kLowerCandidates>(from + lower_of_panel, stride);
                tiles.template add_products<kUpperLower, kUpperQueries, kLowerCandidates, Upper, Lower>();
                tiles.template load<kLowerQueries>(query + lower_of_query, kTileBytes);
                tiles.template add_products<kLowerUpper, kLowerQueries, kUpperCandidates, Lower, Upper>();
                tiles.template add_products<kLowerLower, kLowerQueries, kLowerCandidates, Lower, Lower>();
                from += kTileRows * stride;
                query += 2 * kTileRows * kTileBytes;
            }
            alignas(64) std::int32_t parts[4][kTileRows * columns];
            tiles.template store<kUpperUpper>(parts[kUpperUpper], columns);
            tiles.template store<kUpperLower>(parts[kUpperLower], columns);
            tiles.template store<kLowerUpper>(parts[kLowerUpper], columns);
            tiles.template store<kLowerLower>(parts[kLowerLower], columns);
            using Unsigned = typename Simd<std::uint32_t, columns * 4>::type;
            using Signed = typename Simd<std::int32_t, columns * 4>::type;
            for (std::size_t i = 0; i < kTileRows; ++i) {
                Unsigned part[4];
                for (int p = 0; p < 4; ++p) std::memcpy(&part[p], parts[p] + i * columns, sizeof part[p]);
                const auto mixed = (Unsigned)((Signed)(part[kUpperLower] + part[kLowerUpper]) << left_by >> right_by);
                const Unsigned sum = (part[kUpperUpper] << (16 - shift)) + mixed + (part[kLowerLower] >> shift);
                std::memcpy(sums + (row + i) * lanes + first, &sum, sizeof sum);
            }
        }
    }
}

template <class T, class Tiles>
constexpr LevelForm tile_form() {
    return {.group = 4,
            .bytes = 1,
            .query_greatest = 127,
            .greatest = 127,
            .groups_at_once = kTileRows,
            .columns = Tiles::columns,
            .queries = 2 * kTileRows,
            .query_group = kTileBytes,
            .begin = Tiles::begin,
            .end = Tiles::end,
            .sum = sum_tiles<T, Tiles>};
}
template <class T, class Tiles>
constexpr LevelForm split_form() {
    LevelForm form = tile_form<T, Tiles>();
    form.bytes = 2;
    form.is_split = true;
    form.sum = sum_split_tiles<T, Tiles>;
    return form;
}
// Of bytes, or of words; none where there are no such tiles.
template <class T>
constexpr LevelForm plain_form(bool is_split) {
#if defined(TRUERANK_PLAIN_TILES)
    using Tiles = PlainTiles<std::min<std::size_t>(16, kBlockLanes<T>)>;
    return is_split ? split_form<T, Tiles>() : tile_form<T, Tiles>();
#else
    return is_split ? LevelForm{} : LevelForm{};
#endif
}
template <class T>
constexpr LevelForm amx_form(bool is_split) {
#if defined(TRUERANK_AMX_TILES)
    return is_split ? split_form<T, AmxTiles>() : tile_form<T, AmxTiles>();
#else
    return is_split ? LevelForm{} : LevelForm{};
#endif
}

// Each of these adds a term to sums of floats.
struct RoughModuli {
    static constexpr int components = 2;
    static constexpr double error = I::root_error;
    template <class A, class V>
    static TRUERANK_INLINE V next(V sum, const V* q, const V* e) {
        const V re = q[0] - e[0], im = q[1] - e[1];
        // The small number, whose root is 2^-60, keeps the inverse root finite.
        const V square = A::fma(re, re, A::fma(im, im, V{} + 0x1p-120F));
        V inverse_root;
        I::rough_inverse_root(inverse_root, square);
        return A::fma(square, inverse_root, sum);
    }
};
struct Squares : SquaredDifference {
    static constexpr double error = 0;
};

template <class V>
TRUERANK_INLINE float sum_of(V vector) {
    float sum = 0;
    for (std::size_t i = 0; i < sizeof(V) / sizeof(float); ++i) sum += vector[i];
    return sum;
}

template <class T>
Extent subtract_shift(const T* x, const T* by, std::size_t depth, float* out) {
    using Floats = Simd<float>::type;
    using Words = Simd<std::int32_t>::type;
    using Unaligned = Simd<float>::unaligned;
    constexpr std::size_t size = kBytes / sizeof(float);
    for (std::size_t k = 0; k < depth; ++k) out[k] = static_cast<float>(x[k] - by[k]);
    Floats squares{};
    Words largest{};  // as integers, magnitudes keep their order, and NaN come last
    std::size_t k = 0;
    for (; k + size <= depth; k += size) {
        const Floats y = *reinterpret_cast<const Unaligned*>(out + k);
        squares += y * y;
        const Words magnitude = (Words)y & 0x7fffffff;
        largest = magnitude > largest ? magnitude : largest;
    }
    float rest = 0;
    std::int32_t most = 0;
    for (; k < depth; ++k) {
        rest += out[k] * out[k];
        most = std::max(most, std::bit_cast<std::int32_t>(out[k]) & 0x7fffffff);
    }
    for (std::size_t i = 0; i < size; ++i) most = std::max(most, static_cast<std::int32_t>(largest[i]));
    return {std::bit_cast<float>(most), sum_of(squares) + rest};
}

// Writes `end` levels of `Level`, in units of `Unit` bytes that lie `stride` bytes apart. Components after the last one
// are taken as 0, which every grid holds. Split levels are upper bytes and, behind those of all components, lower ones.
template <class Level, std::size_t Unit, bool IsSplit = false>
TRUERANK_INLINE Residues quantise_as(const float* x, std::size_t depth, const LevelGrid& grid, int zero,
                                     std::size_t end, std::size_t stride, unsigned char* to) {
    using Floats = Simd<float>::type;
    using Words = Simd<std::int32_t>::type;
    constexpr std::size_t size = kBytes / sizeof(float), bytes = size * sizeof(Level), piece = 4;
    // Added to a number of small magnitude, this leaves the nearest integer in the last bits.
    constexpr float rounder = 0x1.8p23F;
    const Floats step = Floats{} + grid.step, per_step = Floats{} + grid.per_step, least = Floats{} + grid.least,
                 greatest = Floats{} + grid.greatest;
    Words total{};
    Floats magnitudes{}, squares{};
    const auto round_to_levels = [&](const float* from) __attribute__((always_inline)) {
        Floats y;
        std::memcpy(&y, from, sizeof y);
        Floats level = y * per_step;
        level = level < least ? least : level;
        level = level > greatest ? greatest : level;
        const Floats rounded = level + rounder;
        const Words integer = (Words)rounded - std::bit_cast<std::int32_t>(rounder);
        const Floats residue = y - (rounded - rounder) * step;
        magnitudes += (Floats)((Words)residue & 0x7fffffff);
        squares += residue * residue;
        total += integer;
        return integer;
    };
    // Writes the first `most` bytes of the levels from component k on.
    const auto write = [&](std::size_t k, const Words& integers, std::size_t most, unsigned char* out)
                           __attribute__((always_inline)) {
                               const auto levels = __builtin_convertvector(integers, typename Simd<Level, bytes>::type);
                               TRUERANK_UNROLL
                               for (std::size_t at = 0; at < bytes; at += piece) {
                                   const std::size_t place = k * sizeof(Level) + at;
                                   if (at < most) {
                                       std::memcpy(out + place / Unit * stride + place % Unit,
                                                   reinterpret_cast<const char*>(&levels) + at, piece);
                                   }
                               }
                           };
    const auto store = [&](std::size_t k, const Words& integers, std::size_t most) __attribute__((always_inline)) {
        if constexpr (IsSplit) {
            write(k, integers >> 8, most, to);
            write(k, integers & 0xff, most, to + end / Unit * stride);
        } else {
            write(k, integers + zero, most, to);
        }
    };
    std::size_t k = 0;
    for (; k + size <= depth; k += size) store(k, round_to_levels(x + k), bytes);
    for (; k < end; k += size) {
        float rest[size] = {};
        const std::size_t left = depth - std::min(k, depth);
        std::copy_n(x + depth - left, left, rest);
        store(k, round_to_levels(rest), (end - k) * sizeof(Level));
    }
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += total[i];
    return {sum_of(magnitudes), sum_of(squares), sum};
}

Residues quantise(const float* x, std::size_t depth, const LevelGrid& grid, const LevelForm& form, std::size_t lane,
                  std::size_t lanes, void* out) {
    if (form.has_float_sums()) {
        for (std::size_t k = 0; k < depth; ++k) static_cast<float*>(out)[k * lanes + lane] = x[k];
        return {0, 0, 0};
    }
    const std::size_t unit = form.group * (form.is_split ? 1 : form.bytes);
    const std::size_t stride = unit * lanes, end = form.groups(depth) * form.group;
    auto* const to = static_cast<unsigned char*>(out) + unit * lane;
    if (form.is_split) {
        return unit == 4 ? quantise_as<std::uint8_t, 4, true>(x, depth, grid, 0, end, stride, to)
                         : quantise_as<std::uint8_t, kTileBytes, true>(x, depth, grid, 0, end, stride, to);
    }
    if (unit == kTileBytes) return quantise_as<std::uint8_t, kTileBytes>(x, depth, grid, 0, end, stride, to);
    if (form.bytes == 2) return quantise_as<std::uint16_t, 4>(x, depth, grid, form.zero, end, stride, to);
    if (unit == 4) return quantise_as<std::uint8_t, 4>(x, depth, grid, form.zero, end, stride, to);
    return quantise_as<std::uint8_t, 8>(x, depth, grid, form.zero, end, stride, to);
}

// Writes the levels of bytes in the units of quantise_as(), a vector of levels at a time, and returns their sums. The
// level of a byte is what it is with its bits flipped by `flip`, and is stored as level + zero. Behind `depth` are 0s.
template <class Level, std::size_t Unit>
TRUERANK_INLINE ByteLevels take_bytes_as(const std::uint8_t* x, std::size_t depth, std::uint8_t flip, int zero,
                                         std::size_t groups, std::size_t stride, unsigned char* to) {
    using Words = I::Words;
    using Ints = I::Ints;
    constexpr std::size_t size = kBytes / 2, piece = 4, pieces = size * sizeof(Level) / piece;
    const std::size_t all_pieces = groups * (Unit / piece);
    using Bytes = typename Simd<std::int8_t, size>::type;
    Ints sum{}, squares{};
    for (std::size_t k = 0, first_piece = 0; first_piece < all_pieces; k += size, first_piece += pieces) {
        Bytes bytes = Bytes{} + static_cast<std::int8_t>(flip);  // of levels of 0
        if (k + size <= depth) {
            std::memcpy(&bytes, x + k, size);
        } else if (k < depth) {
            std::memcpy(&bytes, x + k, depth - k);
        }
        bytes ^= static_cast<std::int8_t>(flip);
        const Words words = __builtin_convertvector(bytes, Words);
        I::add_word_products(sum, (Ints)words, (Ints)(Words{} + 1));
        I::add_word_products(squares, (Ints)words, (Ints)words);
        unsigned char levels[size * sizeof(Level)];
        if constexpr (sizeof(Level) == 1) {
            const Bytes stored = bytes ^ static_cast<std::int8_t>(zero);  // to add 128 is to flip the top bit
            std::memcpy(levels, &stored, sizeof levels);
        } else {
            std::memcpy(levels, &words, sizeof levels);
        }
        const auto put = [&](std::size_t i) __attribute__((always_inline)) {
            const std::size_t place = (first_piece + i) * piece;
            std::memcpy(to + place / Unit * stride + place % Unit, levels + i * piece, piece);
        };
        if (pieces <= all_pieces - first_piece) {
            TRUERANK_UNROLL
            for (std::size_t i = 0; i < pieces; ++i) put(i);
        } else {
            for (std::size_t i = 0; i < all_pieces - first_piece; ++i) put(i);
        }
    }
    ByteLevels result{};
    for (std::size_t i = 0; i < kBytes / sizeof(std::int32_t); ++i) {
        result.levels += sum[i];
        result.squares += squares[i];
    }
    return result;
}

// The same of as many vectors as registers transpose at a time, whose bytes lie side by side by fours: as numbers of 32
// bits. Returns how many that are.
std::size_t transpose_bytes(const std::uint8_t* const* x, std::size_t n, std::size_t depth, std::uint8_t flip,
                            const LevelForm& form, std::size_t lanes, unsigned char* out, ByteLevels* made) {
    using A = Arithmetic<std::int32_t, kTransposedBytes>;
    using Fours = typename A::Vector;
    const auto fill = [](int byte) { return Fours{} + static_cast<std::int32_t>(0x01010101U * unsigned(byte)); };
    const Fours ones = fill(1), flips = fill(flip), zeros = fill(I::zero), stored_zeros = fill(form.zero);
    std::size_t i = 0;
    for (; i + A::size <= n; i += A::size) {
        const std::int32_t* vectors[A::size];
        for (std::size_t j = 0; j < A::size; ++j) vectors[j] = reinterpret_cast<const std::int32_t*>(x[i + j]);
        const LevelForm::Place place = form.place(i, lanes, depth);
        auto* const to = reinterpret_cast<std::int32_t*>(out + place.offset) + place.lane;
        Fours sums{}, squares{};
        for (std::size_t at = 0; at < A::size * depth; at += 64) {
            prefetch(address_after(x[i + at / depth] + at % depth, measured::kNearVectorBytes));
        }
        for_transposed<A, 1>(vectors, depth / 4, /*adjacent=*/false,
                             [&](std::size_t k, const Fours* e) __attribute__((always_inline)) {
                                 const Fours levels = *e ^ flips, from_zero = levels ^ zeros;
                                 A::store(to + k * place.lanes, levels ^ stored_zeros);
                                 I::add_byte_products(sums, from_zero, ones);
                                 I::add_byte_products(squares, from_zero, levels);
                             });
        for (std::size_t j = 0; j < A::size; ++j) {
            const std::int32_t levels = sums[j] - I::zero * static_cast<std::int32_t>(depth);
            made[i + j] = {levels, squares[j] - I::zero * levels};
        }
    }
    return i;
}

void take_bytes(const std::uint8_t* const* x, std::size_t n, std::size_t depth, std::uint8_t flip,
                const LevelForm& form, std::size_t lanes, unsigned char* out, ByteLevels* made) {
    const auto is_aligned = [](const std::uint8_t* bytes) { return reinterpret_cast<std::uintptr_t>(bytes) % 4 == 0; };
    const std::size_t unit = form.group * form.bytes, groups = form.groups(depth);
    const bool is_transposed = form.bytes == 1 && unit == 4 && lanes % 8 == 0 && depth % 4 == 0 &&
                               byte_products() == ByteProducts::fours && std::all_of(x, x + n, is_aligned);
    const auto take = form.bytes == 2 ? take_bytes_as<std::int16_t, 4>
                      : unit == 4     ? take_bytes_as<std::int8_t, 4>
                                      : take_bytes_as<std::int8_t, kTileBytes>;
    for (std::size_t i = is_transposed ? transpose_bytes(x, n, depth, flip, form, lanes, out, made) : 0; i < n; ++i) {
        const LevelForm::Place place = form.place(i, lanes, depth);
        unsigned char* const to = out + place.offset + unit * place.lane;
        made[i] = take(x[i], depth, flip, form.zero, groups, unit * place.lanes, to);
    }
}

template <class Step, class T>
void float_sum(const LevelForm&, const SumOperands& of, std::int32_t* sums) {
    using A = Rough<float>;
    constexpr std::size_t vectors = kBlockLanes<T> / A::size;
    accumulate_tile<A, vectors, Step>(static_cast<const float*>(of.queries), static_cast<const float*>(of.candidates),
                                      of.groups, true, reinterpret_cast<float*>(sums));
}

template <class T, class Step>
constexpr LevelForm float_form() {
    return {.group = 1, .bytes = sizeof(float), .error = Step::error, .sum = float_sum<Step, T>};
}

template <class T>
constexpr SumKernels<T> kTable = {
    .subtract_shift = subtract_shift<T>,
    .quantise = quantise,
    .take_bytes = take_bytes,
    .words = {form<T, WordProducts<false>>(), form<T, WordProducts<false>>(), form<T, WordProducts<true>>()},
    .bytes = {{}, form<T, BytePairs>(), form<T, ByteFours>()},
    .has_fused_words = I::has_fused_words,
    .tiles = {plain_form<T>(false), amx_form<T>(false)},
    .tiles_of_words = {plain_form<T>(true), amx_form<T>(true)},
    .distances = {{}, form<T, ByteDistances<false>>(), form<T, ByteDistances<true>>()},
    .moduli = float_form<T, RoughModuli>(),
    .squares = float_form<T, Squares>(),
    .lanes = kBlockLanes<T>};

}  // namespace

TRUERANK_HAND_OUT(SumKernels, float)
TRUERANK_HAND_OUT(SumKernels, double)

}  // namespace truerank
