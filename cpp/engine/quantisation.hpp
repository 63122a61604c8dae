// What the vectors of a call become for bounds: their levels, and where these are measured from.
//
// A vector is written as shift + step * level + residue, with a small integer, the level, for each component. Once for
// a call, Quantisation::make looks at the similarity, the processor and some of the candidates, and decides three
// things. The kind: whether sums over levels are of products or of distances (or, where no integers serve, of floats).
// The forms of levels that a cell of queries may try, bytes and words. And the shift, near which candidates lie, so
// that steps are fine: their mean, or the lower corner of a box around them. How one vector is quantised is in
// quantiser.hpp.
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
#include "engine/vectors.hpp"
#include "kernels/measured.hpp"
#include "kernels/simd.hpp"
#include "kernels/similarity.hpp"
#include "kernels/sums.hpp"

namespace truerank {

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
        const std::int64_t depth = candidates.depth();
        const bool is_deep_enough = depth >= least_depth(similarity) && depth <= kDeepest;
        if (chosen_levels() == Levels::off || !covers_addends(embeddings) || !is_deep_enough ||
            candidates.count() == 0) {
            return {};
        }
        Quantisation result;
        result.zeros.assign(static_cast<std::size_t>(depth), C{0});
        switch (similarity) {
            case Similarity::poincare:
                if (sizeof(C) == 8) return {};  // floats would be too coarse near the edge of the ball
                result.sum_floats(Kind::squares, sum_kernels<C>().squares);
                return result;
            case Similarity::complex_l1:
                result.sum_floats(Kind::moduli, sum_kernels<C>().moduli);
                return result;
            case Similarity::l1:
            case Similarity::inverse_l1:
                result.kind = Kind::distances;
                result.forms = {sum_kernels<C>().distances[static_cast<int>(chosen_levels())]};
                break;
            case Similarity::dot:
            case Similarity::cosine:
            case Similarity::l2:
            case Similarity::sql2:
            case Similarity::inverse_l2:
                result.sum_products(depth);
        }
        result.centred_queries = similarity != Similarity::dot && similarity != Similarity::cosine;
        result.sample(candidates, normalises(similarity));
        return result;
    }

  private:
    // A bias or means, but not both, are covered where scores are values times a slope.
    static bool covers_addends(const Embeddings& embeddings) {
        const bool has_bias = embeddings.bias != nullptr, has_means = embeddings.query_means != nullptr;
        const Similarity similarity = embeddings.similarity;
        const bool linear = similarity == Similarity::dot || similarity == Similarity::cosine ||
                            similarity == Similarity::l1 || similarity == Similarity::sql2;
        return linear ? !(has_bias && has_means) : !(has_bias || has_means);
    }
    void sum_floats(Kind of, const LevelForm& form) {
        kind = of;
        forms = {form};
        shift = zeros;
    }
    void sum_products(std::int64_t depth) {
        const SumKernels<C>& kernels = sum_kernels<C>();
        const ByteProducts by = byte_products();
        words = kernels.words[static_cast<int>(by)];
        // Words are as fine as sums of 30 bits allow.
        words.greatest = std::min(16383, static_cast<int>(std::sqrt(0x1p30 / static_cast<double>(depth))));
        words.query_greatest = words.greatest;
        if (chosen_levels() == Levels::int16 || by == ByteProducts::pairs || kernels.has_fused_words) {
            forms.push_back(words);
        }
        if (chosen_levels() == Levels::int8) forms.push_back(kernels.bytes[static_cast<int>(by)]);
    }
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

}  // namespace truerank
