// How vectors are quantised for bounds, and how much that may be wrong.
//
// A vector is written as shift + step * level + residue, with a small integer, the level, for each component. Once for
// a call, Quantiser::make decides three things. The kind: whether sums over levels are of products or of distances (or,
// where no integers serve, of floats). The forms of levels that a cell of queries may try, bytes and words. And the
// shift, near which candidates lie, so that steps are fine: their mean, or the lower corner of a box around them.
//
// The residue, which bounds the error of every sum over the levels, is measured. Norms and residues are computed in
// floats, and then made larger, by more than their own rounding can be: the constants below say by how much, and
// docs/contributing/bounds.md why that is enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/bounds/bounds.hpp"
#include "engine/bounds/value_scale.hpp"
#include "engine/sweep/scoring.hpp"
#include "engine/sweep/vectors.hpp"
#include "kernels/measured.hpp"
#include "kernels/simd.hpp"
#include "kernels/similarity.hpp"
#include "kernels/sums.hpp"

namespace truerank {

// The levels of vectors in groups, tiles of queries or blocks of candidates, as a form has them. They begin with a
// cache line: of a vector that lies across two, both are read.
class LevelGroups {
  public:
    // Makes room for groups of so many vectors each. What is not written is 0, or of a vector before.
    void assign(std::size_t groups, const LevelForm& form, std::size_t vectors, std::size_t depth) {
        const bool is_same = form.sum == form_.sum;
        form_ = form;
        vectors_ = vectors;
        depth_ = depth;
        bytes_ = form.size(depth, vectors);
        const std::size_t lines = groups * bytes_ / sizeof(Line) + 1;
        if (lines != lines_.size() || !is_same) lines_.assign(lines, Line{});
    }
    const unsigned char* operator[](std::size_t group) const { return lines_.front().bytes + group * bytes_; }
    unsigned char* data() { return lines_.front().bytes; }
    // Has `write(form, lane, lanes, out)` write the levels of the i-th vector of all.
    template <class Write>
    auto write(std::size_t i, const Write& write) {
        const LevelForm::Place place = form_.place(i, vectors_, depth_);
        return write(form_, place.lane, place.lanes, lines_.front().bytes + place.offset);
    }

  private:
    struct alignas(64) Line {
        unsigned char bytes[64];
    };
    LevelForm form_;
    std::size_t vectors_ = 1, depth_ = 0, bytes_ = 0;  // of a group
    std::vector<Line> lines_;
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
    // Takes n of them, from the i-th on.
    void load(std::size_t i, const std::int64_t* ids, std::int64_t n) {
        vectors_.load(ids, n, normalise_, owned_.data() + (copies_ ? i * size() : 0), rows_.data() + i);
    }
    // Null, of one that was not loaded since forget().
    const C* operator[](std::size_t i) const { return rows_[i]; }
    void forget() { std::fill(rows_.begin(), rows_.end(), nullptr); }

  private:
    std::size_t size() const { return static_cast<std::size_t>(vectors_.depth()); }
    const Vectors<C>& vectors_;
    bool normalise_, copies_;
    std::vector<const C*> rows_;
    std::vector<C> owned_;
};

// Vectors of bytes, and what came of them.
struct TakenBytes : ByteRows {
    std::vector<ByteLevels> levels;
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
    // What is summed. Of moduli and squares, components are their own levels.
    enum class Kind : int { products, distances, moduli, squares };

    // Nothing where bounds do not cover the similarity, or cannot gain.
    static std::optional<Quantiser> make(const Scoring<C>& scoring) {
        if (chosen_levels() == Levels::off || scoring.candidates.count() == 0) return {};
        const std::int64_t depth = scoring.depth();
        const bool covers_depth = depth >= least_depth(scoring.similarity) && depth <= kDeepest;
        // Floats are too coarse for doubles near the edge of the ball.
        const bool is_too_fine = scoring.similarity == Similarity::poincare && sizeof(C) == 8;
        if (!covers_depth || !covers_addends(scoring) || is_too_fine) return {};
        Quantiser quantiser(scoring);
        if (quantiser.has_sums_of_floats()) return quantiser;
        quantiser.centred_queries = !quantiser.scale.is_product();
        if (quantiser.takes_bytes(quantiser.forms.back())) return quantiser;  // it shifts by another number
        const ColumnSample sample = quantiser.sample_columns();
        if (sample.rows > 0) quantiser.set_shift(sample);
        return quantiser;
    }

    // For fewer queries it takes longer to quantise candidates than to score them.
    static std::int64_t least_queries(const Scoring<C>& scoring) {
        const std::int64_t depth = std::max<std::int64_t>(1, scoring.depth());
        const std::int64_t least = measured::kLeastBoundedQueries + measured::kLeastBoundedNumbers / depth;
        if (choose_kind(scoring.similarity) != Kind::products) return least / 2;
        return scoring.has_bytes() ? scoring.most_in_place(true) + 1 : least;
    }

    const Scoring<C>& scoring;
    const SumKernels<C>& kernels = sum_kernels<C>();
    const ValueScale<C> scale;
    const Kind kind;
    const std::vector<LevelForm> forms;  // the finest first; which one is best depends on the data
    LevelGrid distance_grid{};
    std::vector<C> shift;  // of candidates; of queries, too, unless values are products
    double shift_norm = 0;
    bool centred_queries = false;  // whether it is that of queries
    std::vector<C> zeros;          // else theirs

    // Whether vectors are of bytes that are their own levels in this form, so that products and squared distances, and
    // with them scores, are exact.
    bool takes_bytes(const LevelForm& form) const {
        return scoring.has_byte_levels() && kind == Kind::products && form.query_in_word == 0;
    }
    // What is subtracted from them, of all vectors, and the norm of that.
    std::int32_t byte_shift() const { return scoring.candidates.dtype() == DType::uint8 ? 128 : 0; }
    double byte_shift_norm() const { return byte_shift() * std::sqrt(depth()) * kUp; }
    // Writes the bytes of n vectors as levels, in groups of `lanes`.
    void take_bytes(const Vectors<C>& vectors, const std::int64_t* ids, std::size_t n, const LevelForm& form,
                    std::size_t lanes, TakenBytes& bytes, LevelGroups& levels) const {
        const std::uint8_t* const* const rows = vectors.load_bytes(ids, static_cast<std::int64_t>(n), bytes);
        bytes.levels.resize(n);
        kernels.take_bytes(rows, n, size(), static_cast<std::uint8_t>(byte_shift()), form, lanes, levels.data(),
                           bytes.levels.data());
    }
    static Quantised quantised(const ByteLevels& made) {
        const Extent extent{128, static_cast<float>(made.squares)};
        return {extent, norm_of(extent), 0, 1, made.levels};
    }

    // Norms in floats, rounded up; what shifting, rounding to levels and arithmetic in floats may add to a residue, of
    // the norm; and the least norm, so that nothing is lost to underflow.
    static constexpr double kUp = 1.001, kFloatError = 0x1p-19, kLeastNorm = 0x1p-60;
    static constexpr float kInfinity = std::numeric_limits<float>::infinity();
    static constexpr std::int64_t kDeepest = 1 << 15;  // components, so that sums fit into 32 bits
    // The greatest level of words, and of those of tiles at any depth.
    static constexpr int kGreatestWord = 16383;

    std::size_t size() const { return static_cast<std::size_t>(scoring.depth()); }
    double depth() const { return static_cast<double>(scoring.depth()); }
    bool has_sums_of_floats() const { return forms.front().has_float_sums(); }
    // What the division of sums (LevelForm::shift) adds to a candidate's residue, in steps: what it leaves over,
    // 2^shift times 2, over the norm of the query's levels, which is at least the greatest of these, less rounding.
    static double division_error(const LevelForm& form) {
        return form.shift > 0 ? std::ldexp(2.0, form.shift) / (kGreatestWord - 1) : 0;
    }
    // To a query's residue, in steps, where its step is the least one: its greatest level may then be less.
    static double division_residue(const LevelForm& form, float step) {
        return form.shift > 0 && step <= kLeastStep ? std::ldexp(2.0, form.shift) : 0;
    }
    static bool is_usable(const Extent& extent) { return extent.largest <= kLargest; }
    static bool is_usable(double addend) { return std::abs(addend) <= kLargestAddend; }
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
        row_kernels<C>().add_squares(&row, 1, size(), &squares);
        return squares;
    }
    // What the shift adds to the products of a query with all candidates.
    double shift_product(const C* row) const {
        double sum = 0;
        for (std::size_t k = 0; k < size(); ++k) sum += static_cast<double>(row[k]) * static_cast<double>(shift[k]);
        return sum;
    }
    // Floats that are no less and no greater.
    static float rounded_up(double x) { return static_cast<float>(x + std::abs(x) * 0x1p-22 + 0x1p-120); }
    static float rounded_down(double x) { return -rounded_up(-x); }
    // Thresholds on values, above and below, as floats, which leave all pairs open where floats do not hold them.
    static constexpr double kLargestThreshold = 0x1p120;
    static std::pair<float, float> float_thresholds(const ValueThresholds& values) {
        const bool is_held = std::abs(values.above) <= kLargestThreshold && std::abs(values.below) <= kLargestThreshold;
        if (!is_held) return {kInfinity, -kInfinity};
        return {rounded_up(values.above), rounded_down(values.below)};
    }

    // Of products: the finest step that keeps numbers up to this one in the range of the levels; and the grid.
    static float step_of(float largest, float greatest) { return std::max(largest / greatest, kLeastStep); }
    static LevelGrid product_grid(float step, float greatest) { return {step, 1 / step, -greatest, greatest}; }
    // The finest step with which a word of 16 bits holds the products that are added up in it. 0 for forms that add up
    // none. Of the groups that are summed at once, one word has the first halves, and another the second halves. A word
    // is fullest where candidates' levels, which are stored without a sign, are the greatest beside components of one
    // sign, and 0 beside the others.
    float word_step(const LevelForm& form, const float* shifted) const {
        if (form.query_in_word == 0) return 0;
        const std::size_t half = form.group / 2, at_once = form.group * form.groups_at_once;
        float fullest = 0;
        for (std::size_t first = 0; first < size(); first += at_once) {
            float positive[2] = {}, negative[2] = {};  // sums of magnitudes, for each word
            for (std::size_t k = first; k < std::min(first + at_once, size()); ++k) {
                float& sum = (shifted[k] < 0 ? negative : positive)[k / half % 2];
                sum += std::abs(shifted[k]);
            }
            fullest = std::max({fullest, positive[0], negative[0], positive[1], negative[1]});
        }
        // In levels: a word has half of the components, each of which is rounded by half a level at most.
        const float rounding = 0.5F * static_cast<float>(at_once / 2), spare = 1;
        return fullest / (static_cast<float>(form.query_in_word) - rounding - spare);
    }

    // Writes the levels of a shifted vector as the i-th of some.
    Quantised quantise(const float* shifted, const Extent& extent, const LevelGrid& grid, LevelGroups& levels,
                       std::size_t i) const {
        const auto write = [&](const LevelForm& form, std::size_t lane, std::size_t lanes, unsigned char* out) {
            return kernels.quantise(shifted, size(), grid, form, lane, lanes, out);
        };
        const Residues residues = levels.write(i, write);
        Quantised made{extent, norm_of(extent), 0, grid.step, residues.levels};
        if (kind == Kind::distances) {
            made.residue = static_cast<double>(residues.magnitudes) * kUp +
                           std::sqrt(depth()) * (kFloatError * made.norm + kLeastNorm);
        } else {
            made.residue =
                std::sqrt(static_cast<double>(residues.squares)) * kUp + kFloatError * made.norm + kLeastNorm;
        }
        return made;
    }

  private:
    static constexpr float kLargest = 0x1p40F;        // components beyond this are not quantised
    static constexpr double kLargestAddend = 0x1p60;  // nor candidates or queries with a bias or mean beyond this
    static constexpr float kLeastStep = 0x1p-40F;     // nor are steps finer than this

    explicit Quantiser(const Scoring<C>& scoring_)
        : scoring(scoring_),
          scale(scoring.similarity, scoring.depth(), scoring.query_means != nullptr,
                largest(scoring.bias, scoring.candidates.count()),
                largest(scoring.candidate_means, scoring.candidates.count())),
          kind(choose_kind(scoring.similarity)),
          forms(choose_forms(kind, scoring)),
          shift(size()),
          zeros(size()) {}
    // The largest magnitude of those that are usable.
    static double largest(const C* addends, std::int64_t n) {
        double most = 0;
        for (std::int64_t i = 0; addends != nullptr && i < n; ++i) {
            const auto x = static_cast<double>(addends[i]);
            if (is_usable(x)) most = std::max(most, std::abs(x));
        }
        return most;
    }
    // A bias or means, but not both, are covered where scores are values times a slope.
    static bool covers_addends(const Scoring<C>& scoring) {
        const bool has_bias = scoring.bias != nullptr, has_means = scoring.query_means != nullptr;
        const Similarity similarity = scoring.similarity;
        const bool linear = similarity == Similarity::dot || similarity == Similarity::cosine ||
                            similarity == Similarity::l1 || similarity == Similarity::sql2;
        return linear ? !(has_bias && has_means) : !(has_bias || has_means);
    }
    // Shorter vectors are scored: that takes no longer.
    static std::int64_t least_depth(Similarity similarity) {
        if (are_bounds_forced()) return 1;
        const bool products = similarity == Similarity::dot || similarity == Similarity::cosine;
        return products && vector_bytes() == 64 ? measured::kLeastDepthOfWideProducts : measured::kLeastDepth;
    }
    static Kind choose_kind(Similarity similarity) {
        if (similarity == Similarity::complex_l1) return Kind::moduli;
        if (similarity == Similarity::poincare) return Kind::squares;
        const bool is_l1 = similarity == Similarity::l1 || similarity == Similarity::inverse_l1;
        return is_l1 ? Kind::distances : Kind::products;
    }
    static std::vector<LevelForm> choose_forms(Kind kind, const Scoring<C>& scoring) {
        const SumKernels<C>& kernels = sum_kernels<C>();
        if (kind == Kind::moduli) return {kernels.moduli};
        if (kind == Kind::squares) return {kernels.squares};
        if (kind == Kind::products) return product_forms(scoring);
        // Distances have bytes where processors add up four of them at once, and no tiles.
        const bool has_bytes = byte_products() == ByteProducts::fours && chosen_levels() != Levels::int16;
        return {kernels.distances[static_cast<int>(has_bytes ? Levels::int8 : Levels::int16)]};
    }
    static std::vector<LevelForm> product_forms(const Scoring<C>& scoring) {
        const SumKernels<C>& kernels = sum_kernels<C>();
        const Levels levels = chosen_levels();
        const ByteProducts by = byte_products();
        LevelForm words = kernels.words[static_cast<int>(by)];
        // Words are as fine as sums of 30 bits allow.
        const double greatest_word = std::sqrt(0x1p30 / static_cast<double>(scoring.depth()));
        words.greatest = words.query_greatest = std::min(kGreatestWord, static_cast<int>(greatest_word));
        if (levels == Levels::tiles) return tile_forms(scoring, words.greatest);
        const LevelForm& bytes = kernels.bytes[static_cast<int>(by)];
        if (levels == Levels::int16) return {words};
        const bool are_bytes_coarse = by == ByteProducts::pairs;
        const bool are_words_fast = kernels.has_fused_words && !scoring.has_byte_levels();
        if (are_bytes_coarse || are_words_fast) return {words, bytes};
        return {bytes};
    }
    // Words of tiles have all of their bits, whatever the depth: their sums are divided until they fit into 30 bits.
    // (Those of tokens have a norm that sees to it.)
    static std::vector<LevelForm> tile_forms(const Scoring<C>& scoring, int greatest_token_word) {
        const SumKernels<C>& kernels = sum_kernels<C>();
        const int processor = has_tiles() ? 1 : 0;  // or plain arithmetic, in builds for tests
        if (scoring.has_byte_levels()) return {kernels.tiles[processor]};
        LevelForm words = kernels.tiles_of_words[processor];
        const bool has_tokens = scoring.embeddings.has_tokens();
        words.greatest = words.query_greatest = has_tokens ? greatest_token_word : kGreatestWord;
        if (!has_tokens) {
            const double largest_sum = kGreatestWord * kGreatestWord * static_cast<double>(scoring.depth());
            while (largest_sum > std::ldexp(0x1p30, words.shift)) ++words.shift;
        }
        return {words, kernels.tiles[processor]};
    }

    // What some of the candidates tell about each column.
    struct ColumnSample {
        explicit ColumnSample(std::size_t n) : sum(n), squares(n), least(n, kInfinity), greatest(n, -kInfinity) {}
        double rows = 0;
        std::vector<double> sum, squares, least, greatest;
        double mean(std::size_t k) const { return sum[k] / rows; }
        double range(std::size_t k) const { return greatest[k] - least[k]; }
        double variance(std::size_t k) const { return std::max(0.0, squares[k] / rows - mean(k) * mean(k)); }
    };
    ColumnSample sample_columns() const {
        constexpr std::int64_t most_rows = 2048;
        const Vectors<C>& candidates = scoring.candidates;
        const std::int64_t n = std::min(most_rows, candidates.count());
        ColumnSample columns(size());
        std::vector<C> buffer(size());
        for (std::int64_t i = 0; i < n; ++i) {
            const C* row = candidates.row(i * (candidates.count() / n), buffer.data(), normalises(scoring.similarity));
            const auto is_component_usable = [](C x) { return std::abs(x) <= C{kLargest}; };  // false for NaN
            if (!std::all_of(row, row + size(), is_component_usable)) continue;
            ++columns.rows;
            for (std::size_t k = 0; k < size(); ++k) {
                const auto x = static_cast<double>(row[k]);
                columns.sum[k] += x;
                columns.squares[k] += x * x;
                columns.least[k] = std::min(columns.least[k], x);
                columns.greatest[k] = std::max(columns.greatest[k], x);
            }
        }
        return columns;
    }
    // Takes the mean of the sample as the shift; for distances, the lower corner of a box around it.
    void set_shift(const ColumnSample& sample) {
        for (std::size_t k = 0; k < size(); ++k) shift[k] = static_cast<C>(sample.mean(k));
        if (kind == Kind::distances) set_box(sample);
        shift_norm = std::sqrt(shift_product(shift.data())) * kUp;
    }
    // The box is as wide as the widest column but, since few outliers would make levels coarse for all others, no wider
    // than so many standard deviations: of the factors from 5 to 8 on trained vectors, this left the fewest pairs open.
    void set_box(const ColumnSample& sample) {
        constexpr double deviations = 6.5;
        double widest = 0, variance = 0;
        for (std::size_t k = 0; k < size(); ++k) {
            widest = std::max(widest, sample.range(k));
            variance += sample.variance(k);
        }
        const double width = std::min(widest, deviations * std::sqrt(variance / depth()));
        for (std::size_t k = 0; k < size(); ++k) {
            const bool is_column_inside = sample.range(k) <= width;
            const double middle = is_column_inside ? (sample.least[k] + sample.greatest[k]) / 2 : sample.mean(k);
            shift[k] = static_cast<C>(middle - width / 2);
        }
        const float step = std::max(kLeastStep, static_cast<float>(width / 255));
        distance_grid = {step, 1 / step, 0, 255};
    }
};

}  // namespace truerank
