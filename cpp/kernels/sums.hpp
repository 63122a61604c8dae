// Certified bounds, first half: sums in small integers over quantised vectors.
//
// A vector is quantised on a grid of equal steps, x = shift + step * level + residue, with one integer level for each
// component. The sum over the levels of two vectors, of products or of distances, is exact, and differs from the sum
// over the vectors themselves by no more than the residues allow. Sums are made of a tile of queries and a block of
// candidates, whose levels lie side by side so that an instruction multiplies several at once: how, depends on the
// processor, and a LevelForm says it. What sums decide is in decisions.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/similarity.hpp"

namespace truerank {

// What is summed over the levels of a query q and a candidate e: q * e, or -|q - e|.
enum class LevelSum : int { products, distances };

// Which integers levels are: bytes, or words of 16 bits, where the processor has no products of bytes. `tiles` are
// both, multiplied by tiles (AMX).
enum class Levels : int { off, int16, int8, tiles };

// Queries in a tile, at most.
inline constexpr std::size_t kMostTileQueries = 32;

struct LevelForm;

// What the sums of a tile of queries and a block of candidates are made of.
struct SumOperands {
    const void* queries;
    const void* candidates;
    std::size_t groups;  // LevelForm::groups
    // What sums start from: a number for each query, which takes back what LevelForm::zero adds; and one for each
    // candidate, or null. Sums of distances and of floats start from 0.
    const std::int32_t* query_starts = nullptr;
    const std::int32_t* lane_starts = nullptr;
};

// How the levels of vectors lie side by side. Component k of vector i, of `lanes` vectors, is level
// [(k / group * lanes + i) * group + k % group], where a level has `bytes` bytes. Components after the last one, up to
// a whole group, add nothing to a sum.
struct LevelForm {
    std::size_t group = 0;
    std::size_t bytes = 0;
    // Levels are stored as level + zero, where an instruction takes bytes without a sign: those of candidates alone. A
    // sum is then too large by zero times the sum of the query's levels.
    int zero = 0;
    // Of sums of floats: the relative error of their terms.
    double error = 0;
    // Of products: the greatest levels of queries and of candidates. (Those of words depend on the depth.) Where some
    // are added up in a word of 16 bits, also the greatest sum of a query's levels of one sign among these.
    int query_greatest = 0, query_in_word = 0, greatest = 0;
    // So many groups are summed at once: others that add nothing come after the last one.
    std::size_t groups_at_once = 1;
    // Where a sum is as wide as two, candidates of so many in a row and of the next so many alternate.
    std::size_t interleaved = 1;
    // Where a block is cut, so many candidates lie side by side, and the next ones behind all levels of these.
    std::size_t columns = 0;
    // Queries in a tile; and how many of their levels lie side by side, where that is not as with candidates.
    std::size_t queries = kTileQueries, query_group = 0;
    // Whether words are split: their upper bytes, of all components, come first, then the lower ones, without a sign.
    // Their sums are divided by 2^shift, so that they fit into 32 bits: they are too small by less than 2, and by
    // nothing with a vector of zeros.
    bool is_split = false;
    int shift = 0;
    // What a thread calls before its first sum and after its last one, unless null.
    void (*begin)() = nullptr, (*end)() = nullptr;
    // Sums of `queries` x lanes pairs: sums[query * lanes + lane]. Those of floats are floats.
    void (*sum)(const LevelForm& form, const SumOperands& of, std::int32_t* sums) = nullptr;

    // How the levels of queries lie.
    LevelForm of_queries() const {
        LevelForm form = *this;
        form.zero = 0;
        form.interleaved = 1;
        if (query_group == 0) return form;
        form.group = query_group;
        form.groups_at_once = 1;
        form.columns = 0;
        return form;
    }
    // Where the levels of the i-th vector lie, of groups of `lanes`: as those of one of so many lanes, from there on.
    struct Place {
        std::size_t lane, lanes, offset;
    };
    Place place(std::size_t i, std::size_t lanes, std::size_t depth) const {
        const std::size_t lane = i % lanes, group = i / lanes * size(depth, lanes);
        if (columns != 0) return {lane % columns, columns, group + lane / columns * size(depth, columns)};
        // Of lanes 0 to 7, with 4 interleaved, the places are 0, 4, 1, 5, 2, 6, 3, 7.
        const std::size_t at = lane % (2 * interleaved), begin = lane - at;
        return {interleaved == 1 ? lane : begin + at % 2 * interleaved + at / 2, lanes, group};
    }
    bool has_float_sums() const { return bytes == sizeof(float); }
    std::size_t groups(std::size_t depth) const {
        const std::size_t at_once = group * groups_at_once;
        return (depth + at_once - 1) / at_once * groups_at_once;
    }
    std::size_t size(std::size_t depth, std::size_t lanes) const { return groups(depth) * group * bytes * lanes; }
};

// While it lives, its thread may sum in a form.
class Summing {
  public:
    explicit Summing(const LevelForm& form) : end_(form.end) {
        if (form.begin != nullptr) form.begin();
    }
    ~Summing() {
        if (end_ != nullptr) end_();
    }
    Summing(const Summing&) = delete;
    Summing& operator=(const Summing&) = delete;

  private:
    void (*const end_)();
};

// How large the components of a vector are: the largest magnitude (NaN or infinite where any is), and the sum of
// squares.
struct Extent {
    float largest;
    float squares;
};

// What quantisation leaves over: the sums of the residues' magnitudes and squares; and the sum of the levels.
struct Residues {
    float magnitudes;
    float squares;
    std::int32_t levels;
};

// Of bytes as levels: their sum, and that of their squares.
struct ByteLevels {
    std::int32_t levels;
    std::int32_t squares;
};

// Levels are rounded from components times `per_step`, and kept in the range from least to greatest.
struct LevelGrid {
    float step;
    float per_step;
    float least;
    float greatest;
};

template <class T>
struct SumKernels {
    // Writes the differences of two vectors, each rounded to a float, and returns how large they are.
    Extent (*subtract_shift)(const T* x, const T* by, std::size_t depth, float* out);
    // Writes the levels of a vector as those of one of many lanes. Floats are written as they are.
    Residues (*quantise)(const float* x, std::size_t depth, const LevelGrid& grid, const LevelForm& form,
                         std::size_t lane, std::size_t lanes, void* out);
    // The same of n vectors of bytes, in groups of `lanes`. Bytes are levels themselves once their bits are flipped by
    // `flip`: nothing is left over. In forms of words, or of bytes with all of their levels (no query_in_word). What is
    // behind their components of candidates may stay as it is.
    void (*take_bytes)(const std::uint8_t* const* x, std::size_t n, std::size_t depth, std::uint8_t flip,
                       const LevelForm& form, std::size_t lanes, unsigned char* out, ByteLevels* made);
    // Of products: words and bytes for each of ByteProducts. Where processors fuse products of words, their sums take
    // half as long as those of floats, and are worth it beside bytes.
    LevelForm words[3], bytes[3];
    bool has_fused_words;
    // Of products of bytes and of words by tiles: by plain arithmetic, in builds for tests; and by AMX, where the unit
    // has it.
    LevelForm tiles[2], tiles_of_words[2];
    // For each of Levels. Those of int8 are for processors with ByteProducts::fours.
    LevelForm distances[3];
    // Sums of floats, which are their own levels: of moduli |q - e| of complex numbers, and of squared differences.
    LevelForm moduli, squares;
    std::size_t lanes;  // of a block: those of SimilarityKernels
};

// The kernels of the instruction set chosen at start, for the panels of float and double vectors.
template <class T>
const SumKernels<T>& sum_kernels() {
    return kernels_of<SumKernels<T>>(isa());
}

}  // namespace truerank
