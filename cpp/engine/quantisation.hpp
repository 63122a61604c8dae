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
#include "engine/vectors.hpp"
#include "kernels/bounds.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// What the bounds of a call have in common: the grid on which vectors are quantised.
template <class C>
struct Quantisation {
    // What is summed. Of moduli and squares, components are their own levels.
    enum class Kind : int { products, distances, moduli, squares };
    Kind kind = Kind::products;
    LevelForm form;
    LevelGrid query_grid{}, candidate_grid{};  // of products: the ranges of the levels alone
    std::vector<C> shift;                      // of candidates; of queries, too, unless values are products
    double shift_norm = 0;
    bool centred_queries = false;
    std::vector<C> zeros;

    static constexpr float kLargest = 0x1p40F;         // components beyond this are not quantised
    static constexpr double kLargestAddend = 0x1p60;   // nor candidates or queries with a bias or mean beyond this
    static constexpr float kLeastStep = 0x1p-40F;      // nor are steps finer than this
    static constexpr std::int64_t kDeepest = 1 << 15;  // so that sums fit into 32 bits

    // Nothing where bounds do not cover the similarity, or cannot gain.
    static std::optional<Quantisation> make(const Embeddings& embeddings, const Vectors<C>& candidates) {
        const Similarity similarity = embeddings.similarity;
        const Levels levels = chosen_levels();
        const std::int64_t depth = candidates.depth();
        const bool linear = similarity == Similarity::dot || similarity == Similarity::cosine ||
                            similarity == Similarity::l1 || similarity == Similarity::sql2;
        const bool shifted = embeddings.bias != nullptr || embeddings.query_means != nullptr;
        if (levels == Levels::off || (shifted && !linear) ||
            (embeddings.bias != nullptr && embeddings.query_means != nullptr) ||
            depth < (are_bounds_forced() ? 1 : 8) || depth > kDeepest || candidates.count() == 0) {
            return {};
        }
        Quantisation result;
        const auto& kernels = bound_kernels<C>();
        result.zeros.assign(static_cast<std::size_t>(depth), C{0});
        switch (similarity) {
            case Similarity::complex_l1:
            case Similarity::poincare: {
                const bool moduli = similarity == Similarity::complex_l1;
                if (!moduli && sizeof(C) == 8) return {};  // floats would be too coarse near the edge of the ball
                result.kind = moduli ? Kind::moduli : Kind::squares;
                result.form = moduli ? kernels.moduli : kernels.squares;
                result.shift = result.zeros;
                return result;
            }
            case Similarity::l1:
            case Similarity::inverse_l1:
                result.kind = Kind::distances;
                result.form = kernels.distances[static_cast<int>(levels)];
                break;
            case Similarity::dot:
            case Similarity::cosine:
            case Similarity::l2:
            case Similarity::sql2:
            case Similarity::inverse_l2:
                result.form = kernels.products[static_cast<int>(levels)];
        }
        result.centred_queries = similarity != Similarity::dot && similarity != Similarity::cosine;
        result.sample(candidates, normalises(similarity));
        if (result.kind == Kind::products) {
            // Words are as fine as sums of 30 bits allow.
            const double most = levels == Levels::int8
                                    ? 127.0
                                    : std::min(16383.0, std::floor(std::sqrt(0x1p30 / static_cast<double>(depth))));
            result.query_grid = result.candidate_grid = {0, 0, static_cast<float>(-most), static_cast<float>(most)};
        }
        return result;
    }

  private:
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
        if (kind == Kind::distances) query_grid = candidate_grid = {step, 1 / step, 0, 255};
    }
};

}  // namespace truerank
