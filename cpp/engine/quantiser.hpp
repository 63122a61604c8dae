// How a vector is quantised, and how much that may be wrong.
//
// Queries and candidates are quantised alike: the shift is taken off, the rest is rounded to levels, and what these
// leave over, the residue, is measured, since it bounds the error of every sum over the levels. Norms and residues are
// computed in floats themselves. So each of them is made larger, by more than its own rounding can be: the constants
// below say by how much, and docs/contributing/bounds.md why that is enough.
//
// Here are also the memory in which levels lie as kernels take them, and the vectors that they were made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/quantisation.hpp"
#include "engine/scoring.hpp"
#include "engine/value_scale.hpp"
#include "engine/vectors.hpp"
#include "kernels/sums.hpp"

namespace truerank {

// Bytes from the start of a cache line on: of a vector that lies across two, both are read.
class LineBuffer {
  public:
    void assign(std::size_t bytes) { lines_.assign(bytes / sizeof(Line) + 1, Line{}); }
    void resize(std::size_t bytes) { lines_.resize(bytes / sizeof(Line) + 1); }
    unsigned char* data() { return lines_.front().bytes; }
    const unsigned char* data() const { return lines_.front().bytes; }

  private:
    struct alignas(64) Line {
        unsigned char bytes[64];
    };
    std::vector<Line> lines_;
};

// The levels of vectors in groups, tiles of queries or blocks of candidates, of so many bytes each; or, as groups of
// one, the second levels of vectors, in rows of words.
class LevelGroups {
  public:
    void assign(std::size_t groups, std::size_t bytes) {
        bytes_ = bytes;
        buffer_.assign(groups * bytes);
    }
    std::size_t bytes() const { return bytes_; }
    unsigned char* operator[](std::size_t group) { return buffer_.data() + group * bytes_; }
    const unsigned char* operator[](std::size_t group) const { return buffer_.data() + group * bytes_; }

  private:
    std::size_t bytes_ = 0;  // of a group; 0 where there are no levels
    LineBuffer buffer_;
};

// The components of some vectors as they are scored: where they lie, or in copies.
template <class C>
class KeptVectors {
  public:
    KeptVectors(const Vectors<C>& vectors, bool normalise)
        : vectors_(vectors), normalise_(normalise), copies_(!vectors.in_place(normalise)) {}
    void resize(std::size_t n) {
        rows_.resize(n);
        owned_.resize(copies_ ? n * size() : 1);
    }
    const C* load(std::size_t i, std::int64_t id) {
        return rows_[i] = vectors_.row(id, normalise_, owned_.data() + (copies_ ? i * size() : 0));
    }
    const C* operator[](std::size_t i) const { return rows_[i]; }

  private:
    std::size_t size() const { return static_cast<std::size_t>(vectors_.depth()); }
    const Vectors<C>& vectors_;
    bool normalise_, copies_;
    std::vector<const C*> rows_;
    std::vector<C> owned_;
};

// What came of a vector that was quantised. The norm is an upper bound, and so is the residue: what quantisation
// leaves over, as a norm; for distances, the sum of its magnitudes.
struct Quantised {
    Extent extent;
    double norm = 0;
    double residue = 0;
    float step = 0;
    std::int32_t levels = 0;  // their sum
};

template <class C>
class Quantiser {
  public:
    using Kind = typename Quantisation<C>::Kind;

    Quantiser(const Quantisation<C>& quantisation_, const Scoring<C>& scoring_)
        : quantisation(quantisation_),
          scoring(scoring_),
          scale(scoring.similarity, scoring.depth(), scoring.query_means != nullptr,
                largest(scoring.bias, scoring.candidates.count()),
                largest(scoring.candidate_means, scoring.candidates.count())) {}

    const Quantisation<C>& quantisation;
    const Scoring<C>& scoring;
    const SumKernels<C>& kernels = sum_kernels<C>();
    ValueScale<C> scale;

    // Norms in floats, rounded up; what shifting, rounding to levels and arithmetic in floats may add to a residue, of
    // the norm; and the least norm, so that nothing is lost to underflow.
    static constexpr double kUp = 1.001, kFloatError = 0x1p-19, kLeastNorm = 0x1p-60;
    static constexpr float kInfinity = std::numeric_limits<float>::infinity();

    std::size_t size() const { return static_cast<std::size_t>(scoring.depth()); }
    double depth() const { return static_cast<double>(scoring.depth()); }
    bool has_sums_of_floats() const { return quantisation.forms.front().has_float_sums(); }
    // Whether the pairs that a form leaves open are summed over words next, and the size of a row of these.
    bool has_second_levels(const LevelForm& form) const {
        return quantisation.kind == Kind::products && form.bytes == 1;
    }
    std::size_t word_row_bytes() const {
        return (quantisation.words.size(size(), 1) + kWordRowBytes - 1) / kWordRowBytes * kWordRowBytes;
    }
    static bool is_usable(const Extent& extent) { return extent.largest <= Quantisation<C>::kLargest; }
    static bool is_usable(double addend) { return std::abs(addend) <= Quantisation<C>::kLargestAddend; }
    // Whether a point of the Poincare ball is far enough from its edge for floats.
    static bool is_inside(double squares) { return squares <= 1 - 0x1p-20; }
    static double norm_of(const Extent& extent) {
        return std::sqrt(static_cast<double>(extent.squares)) * kUp + kLeastNorm;
    }
    // The share by which a sum of squares may be wrong.
    double squares_error() const { return (depth() / 4 + 64) * 0x1p-24; }
    bool is_zero(const C* row) const {
        return std::all_of(row, row + size(), [](C x) { return x == 0; });
    }
    double squares_of(const C* row) const {
        double squares = 0;
        add_squares(&row, 1, scoring.depth(), &squares);
        return squares;
    }
    // Floats that are no less and no greater.
    static float rounded_up(double x) { return static_cast<float>(x + std::abs(x) * 0x1p-22 + 0x1p-120); }
    static float rounded_down(double x) { return -rounded_up(-x); }

    // The finest step with which words hold what is added up in them: of each group, one half of its components. Half a
    // level each is rounding, and one level is to spare.
    float word_step(const LevelForm& form, const float* shifted) const {
        const std::size_t half = form.group / 2, at_once = form.group * form.groups_at_once;
        float largest = 0;
        for (std::size_t first = 0; first < size(); first += at_once) {
            float sums[2][2] = {};  // by half and sign
            for (std::size_t k = first; k < std::min(first + at_once, size()); ++k) {
                sums[k / half % 2][shifted[k] < 0] += std::abs(shifted[k]);
            }
            largest = std::max({largest, sums[0][0], sums[0][1], sums[1][0], sums[1][1]});
        }
        return largest / (static_cast<float>(form.query_in_word) - static_cast<float>(at_once) / 4 - 1);
    }
    // Writes the levels of a shifted vector to one of many lanes.
    Quantised quantise(const float* shifted, const Extent& extent, const LevelGrid& grid, const LevelForm& form,
                       int zero, std::size_t place, std::size_t lanes, unsigned char* out) const {
        const Residues residues = kernels.quantise(shifted, size(), grid, form, zero, place, lanes, out);
        Quantised made{extent, norm_of(extent), 0, grid.step, residues.levels};
        if (quantisation.kind == Kind::distances) {
            made.residue = static_cast<double>(residues.magnitudes) * kUp +
                           std::sqrt(depth()) * (kFloatError * made.norm + kLeastNorm);
        } else {
            made.residue =
                std::sqrt(static_cast<double>(residues.squares)) * kUp + kFloatError * made.norm + kLeastNorm;
        }
        return made;
    }
    // Writes the second levels of a shifted vector, in a row of their own; queries and candidates have the same.
    Quantised quantise_words(const float* shifted, const Extent& extent, unsigned char* out) const {
        const LevelForm& words = quantisation.words;
        const LevelGrid grid = quantisation.grid_of(extent.largest, quantisation.grid(words.greatest));
        return quantise(shifted, extent, grid, words, words.zero, 0, 1, out);
    }

  private:
    // The largest magnitude of those that are usable.
    static double largest(const C* addends, std::int64_t n) {
        double most = 0;
        for (std::int64_t i = 0; addends != nullptr && i < n; ++i) {
            const auto x = static_cast<double>(addends[i]);
            if (is_usable(x)) most = std::max(most, std::abs(x));
        }
        return most;
    }
};

}  // namespace truerank
