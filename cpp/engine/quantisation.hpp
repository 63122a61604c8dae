// The grid on which the vectors of a call are quantised.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/bounds.hpp"
#include "engine/embeddings.hpp"
#include "engine/value_scale.hpp"
#include "engine/vectors.hpp"
#include "kernels/measured.hpp"
#include "kernels/simd.hpp"
#include "kernels/similarity.hpp"
#include "kernels/sums.hpp"

namespace truerank {

// What the bounds of a call have in common: the grid on which vectors are quantised.
template <class C>
struct Quantisation {
    // What is summed. Of moduli and squares, components are their own levels.
    enum class Kind : int { products, distances, moduli, squares };
    Kind kind = Kind::products;
    std::vector<LevelForm> forms;  // the finest first; which one is best depends on the data
    LevelForm words{};             // of products: those of single rows, for the pairs that bytes leave open
    LevelGrid distance_grid{};
    std::vector<C> shift;  // of candidates; of queries, too, unless values are products
    double shift_norm = 0;
    bool centred_queries = false;
    std::vector<C> zeros;

    static constexpr float kLargest = 0x1p40F;         // components beyond this are not quantised
    static constexpr double kLargestAddend = 0x1p60;   // nor candidates or queries with a bias or mean beyond this
    static constexpr float kLeastStep = 0x1p-40F;      // nor are steps finer than this
    static constexpr std::int64_t kDeepest = 1 << 15;  // so that sums fit into 32 bits

    // The grid of distances; of products, the range of the levels alone.
    LevelGrid grid(int greatest) const {
        const auto most = static_cast<float>(greatest);
        return kind == Kind::products ? LevelGrid{0, 0, -most, most} : distance_grid;
    }
    // The steps of a vector of products: the finest that keep its largest component in the range.
    static LevelGrid grid_of(float largest, const LevelGrid& range) {
        return with_step(std::max(largest / range.greatest, kLeastStep), range);
    }
    static LevelGrid with_step(float step, const LevelGrid& range) {
        return {step, 1 / step, range.least, range.greatest};
    }

    // Nothing where bounds do not cover the similarity, or cannot gain.
    static std::optional<Quantisation> make(const Embeddings& embeddings, const Vectors<C>& candidates) {
        const Similarity similarity = embeddings.similarity;
        const Levels levels = chosen_levels();
        const std::int64_t depth = candidates.depth();
        const bool linear = similarity == Similarity::dot || similarity == Similarity::cosine ||
                            similarity == Similarity::l1 || similarity == Similarity::sql2;
        const bool shifted = embeddings.bias != nullptr || embeddings.query_means != nullptr;
        if (levels == Levels::off || (shifted && !linear) ||
            (embeddings.bias != nullptr && embeddings.query_means != nullptr) || depth < least_depth(similarity) ||
            depth > kDeepest || candidates.count() == 0) {
            return {};
        }
        Quantisation result;
        const SumKernels<C>& kernels = sum_kernels<C>();
        result.zeros.assign(static_cast<std::size_t>(depth), C{0});
        switch (similarity) {
            case Similarity::complex_l1:
            case Similarity::poincare: {
                const bool moduli = similarity == Similarity::complex_l1;
                if (!moduli && sizeof(C) == 8) return {};  // floats would be too coarse near the edge of the ball
                result.kind = moduli ? Kind::moduli : Kind::squares;
                result.forms = {moduli ? kernels.moduli : kernels.squares};
                result.shift = result.zeros;
                return result;
            }
            case Similarity::l1:
            case Similarity::inverse_l1:
                result.kind = Kind::distances;
                result.forms = {kernels.distances[static_cast<int>(levels)]};
                break;
            case Similarity::dot:
            case Similarity::cosine:
            case Similarity::l2:
            case Similarity::sql2:
            case Similarity::inverse_l2:
                const ByteProducts by = byte_products();
                const auto at = static_cast<int>(by);
                if (levels == Levels::int16 || by == ByteProducts::pairs || kernels.has_fused_words) {
                    result.forms.push_back(kernels.words[at]);
                }
                if (levels == Levels::int8) result.forms.push_back(kernels.bytes[at]);
                result.words = kernels.words[at];
        }
        result.centred_queries = similarity != Similarity::dot && similarity != Similarity::cosine;
        result.sample(candidates, normalises(similarity));
        // Words are as fine as sums of 30 bits allow.
        const int most = std::min(16383, static_cast<int>(std::sqrt(0x1p30 / static_cast<double>(depth))));
        for (LevelForm* form : {&result.forms.front(), &result.words}) {
            if (form->bytes == 2) form->query_greatest = form->greatest = most;
        }
        return result;
    }

  private:
    // Shorter vectors are scored: that takes no longer.
    static std::int64_t least_depth(Similarity similarity) {
        if (are_bounds_forced()) return 1;
        const bool products = similarity == Similarity::dot || similarity == Similarity::cosine;
        return products && vector_bytes() == 64 ? measured::kLeastDepthOfWideProducts : measured::kLeastDepth;
    }
    // Takes the mean of some candidates as the shift; for distances, the lower corner of the box around them.
    void sample(const Vectors<C>& candidates, bool normalise) {
        constexpr std::int64_t at_most = 2048;
        const std::int64_t depth = candidates.depth(), n = std::min(at_most, candidates.count());
        const auto size = static_cast<std::size_t>(depth);
        std::vector<C> buffer(size);
        std::vector<double> sum(size), square(size), least(size, std::numeric_limits<double>::infinity()),
            most(size, -least[0]);
        std::int64_t taken = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const C* row = candidates.row(i * (candidates.count() / n), normalise, buffer.data());
            const auto usable = [](C x) { return std::abs(x) <= C{kLargest}; };  // false for NaN
            if (!std::all_of(row, row + depth, usable)) continue;
            ++taken;
            for (std::size_t k = 0; k < size; ++k) {
                const auto x = static_cast<double>(row[k]);
                sum[k] += x;
                square[k] += x * x;
                least[k] = std::min(least[k], x);
                most[k] = std::max(most[k], x);
            }
        }
        shift.assign(size, C{0});
        if (taken == 0) return;
        // The box is as wide as the widest column but, since few outliers would make levels coarse for all others, no
        // wider than so many standard deviations: of the factors from 5 to 8 on trained vectors, this left the fewest
        // pairs open.
        constexpr double deviations = 6.5;
        double widest = 0, variance = 0, squares = 0;
        const auto n_taken = static_cast<double>(taken);
        for (std::size_t k = 0; k < size; ++k) {
            widest = std::max(widest, most[k] - least[k]);
            variance += std::max(0.0, square[k] / n_taken - sum[k] / n_taken * (sum[k] / n_taken));
        }
        const double usual = deviations * std::sqrt(variance / static_cast<double>(size));
        const double box = std::min(widest, usual);
        for (std::size_t k = 0; k < size; ++k) {
            const double middle = box < most[k] - least[k] ? sum[k] / n_taken : (least[k] + most[k]) / 2;
            shift[k] = static_cast<C>(kind == Kind::distances ? middle - box / 2 : sum[k] / n_taken);
            squares += static_cast<double>(shift[k]) * static_cast<double>(shift[k]);
        }
        shift_norm = std::sqrt(squares) * 1.001;
        const float step = std::max(kLeastStep, static_cast<float>(box / 255));
        if (kind == Kind::distances) distance_grid = {step, 1 / step, 0, 255};
    }
};

// What is known of a vector as it is quantised. The norm is an upper bound, and so is the residue: what quantisation
// leaves over, as a norm; for distances, the sum of its magnitudes.
struct Quantised {
    Extent extent;
    double norm = 0;
    double residue = 0;
    float step = 0;
    std::int32_t levels = 0;  // their sum
};

// What queries and candidates have in common, and how they are quantised.
template <class C>
class Quantiser {
  public:
    using Kind = typename Quantisation<C>::Kind;

    Quantiser(const Quantisation<C>& quantisation_, const Embeddings& embeddings, const Vectors<C>& queries_,
              const Vectors<C>& candidates_, const SimilarityKernels<C>& scoring_)
        : quantisation(quantisation_),
          similarity(embeddings.similarity),
          bias(static_cast<const C*>(embeddings.bias)),
          query_means(static_cast<const C*>(embeddings.query_means)),
          candidate_means(static_cast<const C*>(embeddings.entity_means)),
          queries(queries_),
          candidates(candidates_),
          scoring(scoring_),
          scale(similarity, queries.depth(), query_means != nullptr, largest(bias, candidates.count()),
                largest(candidate_means, candidates.count())) {}

    const Quantisation<C>& quantisation;
    Similarity similarity;
    const C *bias, *query_means, *candidate_means;
    const Vectors<C>& queries;
    const Vectors<C>& candidates;
    const SimilarityKernels<C>& scoring;
    const SumKernels<C>& kernels = sum_kernels<C>();
    ValueScale<C> scale;

    // Norms in floats, rounded up; what shifting, rounding to levels and arithmetic in floats may add to a residue, of
    // the norm; and the least norm, so that nothing is lost to underflow.
    static constexpr double kUp = 1.001, kFloatError = 0x1p-19, kLeastNorm = 0x1p-60;
    static constexpr float kInfinity = std::numeric_limits<float>::infinity();

    std::size_t size() const { return static_cast<std::size_t>(queries.depth()); }
    double depth() const { return static_cast<double>(queries.depth()); }
    bool normalised() const { return normalises(similarity); }
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
        add_squares(&row, 1, queries.depth(), &squares);
        return squares;
    }
    // Floats that are no less and no greater.
    static float rounded_up(double x) { return static_cast<float>(x + std::abs(x) * 0x1p-22 + 0x1p-120); }
    static float rounded_down(double x) { return -rounded_up(-x); }

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
