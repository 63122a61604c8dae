// What a threshold on scores is on values: the numbers that bounds compare. docs/bounds.md has the proofs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/similarity.hpp"

namespace truerank {

struct ValueThresholds {
    double above;  // a value greater than this has a score above the threshold
    double below;  // a value less than this has a score below it
};

// How the scores of a similarity follow from values: score = slope * value, then a function of it.
template <class C>
class ValueScale {
  public:
    static constexpr double unit = sizeof(C) == 4 ? 0x1p-24 : 0x1p-53;  // of rounding

    ValueScale(Similarity similarity, std::int64_t depth, bool means, double largest_bias, double largest_mean)
        : similarity_(similarity),
          gamma_(static_cast<double>(depth + 20) * unit / (1 - static_cast<double>(depth + 20) * unit)),
          tiny_(static_cast<double>(depth + 20) * 0x1p-140),
          bias_(largest_bias),
          mean_(largest_mean),
          means_(means) {}

    // The relative error of a sum, in any order: of the sum itself where all terms are positive, else of the product of
    // the norms.
    double gamma() const { return gamma_; }
    // The relative error is one of the product of the norms.
    bool is_product() const { return similarity_ == Similarity::dot || similarity_ == Similarity::cosine; }
    // The score for which a bias is added: slope * value.
    double slope() const { return (similarity_ == Similarity::sql2 ? 2.0 : 1.0) * (means_ ? 2.0 : 1.0); }
    // The value of a sum that a kernel gives.
    double value(double sum) const { return is_product() ? sum : is_l1() ? -sum : -sum / 2; }
    bool is_l1() const { return similarity_ == Similarity::l1 || similarity_ == Similarity::inverse_l1; }

    // The thresholds for scores of a query with this mean. What the rounding of a product can do is left to the caller,
    // since it depends on the norms. The score is any number but NaN, also one that no pair can have.
    ValueThresholds thresholds(double score, double mean) const {
        const double slack = 4 * unit, t = score;
        if (std::abs(t) >= kBeyond) return {std::copysign(kBeyond, t), std::copysign(kBeyond, t)};
        switch (similarity_) {
            case Similarity::dot:
            case Similarity::cosine:
            case Similarity::l1:
            case Similarity::complex_l1:
            case Similarity::sql2: {
                const double size = std::abs(t) + bias_ + std::abs(mean) + mean_;
                const double error = (is_product() ? slack : slack + 2 * gamma_) * size + tiny_;
                return {(t + mean + error) / slope(), (t + mean - error) / slope()};
            }
            case Similarity::l2:
                return of_squares(-t, -t, slack);
            case Similarity::inverse_l1: {
                if (t <= 0) return of_lowest(t);
                const double low = (1 - 2 * slack) / t - 1, high = (1 + 2 * slack) / t - 1;
                return {-(low - 2 * gamma_ * std::abs(low)) + tiny_, -(high + 2 * gamma_ * std::abs(high)) - tiny_};
            }
            case Similarity::inverse_l2:
                if (t <= 0) return of_lowest(t);
                return of_squares((1 - 2 * slack) / t - 1, (1 + 2 * slack) / t - 1, slack);
            case Similarity::poincare: {
                // y of a squared distance, to within the error of the logarithm and the root in finish().
                const auto y = [](double square) {
                    const double sine = std::sinh(std::sqrt(std::max(0.0, square)) / 2);
                    return 2 * sine * sine;
                };
                const double share = 2 * slack + 0x1p-40;
                const double near = y(-t * (1 - share)), far = y(-t * (1 + share));
                return {-near * (1 - 2 * gamma_ - share) + tiny_, -far * (1 + 2 * gamma_ + share) - tiny_};
            }
        }
        return {};
    }

  private:
    static constexpr double kBeyond = 0x1p119;  // no pair that bounds decide has such a value, or such a score

    // Inverse distances are above all that is negative. They are 0 where a distance is infinite.
    static ValueThresholds of_lowest(double t) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return {t < 0 ? -kBeyond : infinity, t < 0 ? -kBeyond : -infinity};
    }
    // Thresholds of -distance^2 / 2.
    ValueThresholds of_squares(double low, double high, double slack) const {
        const double near = low > 0 ? low * low * (1 - 2 * gamma_ - 2 * slack) : -1;
        const double far = high > 0 ? high * high * (1 + 2 * gamma_ + 2 * slack) : 0;
        return {-near / 2 + tiny_, -far / 2 - tiny_};
    }

    Similarity similarity_;
    double gamma_, tiny_, bias_, mean_;
    bool means_;
};

}  // namespace truerank
