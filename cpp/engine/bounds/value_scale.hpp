// From a true score to the two values that bounds compare pairs with.
//
// Bounds know about the value of a pair, a real number such as q . e or minus a distance, and not its score, which
// follows from the value by arithmetic that rounds at every step: a multiple of it, with a bias or means added; a root;
// 1 / (1 + distance); or the function of poincare. ValueScale goes the way back. It asks which value a score t stands
// for, and moves it up and down by more than all of that rounding can do: a pair whose value is greater than `above`
// certainly has a score greater than t, and one whose value is less than `below` a lesser one. What lies between tells
// nothing, so that a threshold may be too far out, but never too near. docs/contributing/bounds.md has the proofs
// ("Values of a true score"). Python's tests call this.
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
        if (std::abs(score) >= kBeyond) return {std::copysign(kBeyond, score), std::copysign(kBeyond, score)};
        switch (similarity_) {
            case Similarity::dot:
            case Similarity::cosine:
            case Similarity::l1:
            case Similarity::complex_l1:
            case Similarity::sql2:
                return of_multiple(score, mean);
            case Similarity::l2:
                return of_root(-score, -score);
            case Similarity::inverse_l1:
            case Similarity::inverse_l2:
                return score > 0 ? of_inverse(score) : of_lowest(score);
            case Similarity::poincare:
                return of_poincare(score);
        }
        return {};
    }

  private:
    static constexpr double kBeyond = 0x1p119;  // no pair that bounds decide has such a value, or such a score
    static constexpr double kSlack = 4 * unit;  // what the last roundings of a score, and those made here, come to

    // The score t is slope * value, plus a bias or less both means. Their sizes say what their roundings can be.
    ValueThresholds of_multiple(double t, double mean) const {
        const double size = std::abs(t) + bias_ + std::abs(mean) + mean_;
        const double error = (is_product() ? kSlack : kSlack + 2 * gamma_) * size + tiny_;
        return {(t + mean + error) / slope(), (t + mean - error) / slope()};
    }
    // The score is minus a distance between `low` and `high`, the root of a sum of squares. Values are -distance^2 / 2.
    ValueThresholds of_root(double low, double high) const {
        const double near = low > 0 ? low * low * (1 - 2 * gamma_ - 2 * kSlack) : -1;
        const double far = high > 0 ? high * high * (1 + 2 * gamma_ + 2 * kSlack) : 0;
        return {-near / 2 + tiny_, -far / 2 - tiny_};
    }
    // The score t > 0 is 1 / (1 + distance), of a distance between `low` and `high`.
    ValueThresholds of_inverse(double t) const {
        const double low = (1 - 2 * kSlack) / t - 1, high = (1 + 2 * kSlack) / t - 1;
        if (similarity_ == Similarity::inverse_l2) return of_root(low, high);
        return {-(low - 2 * gamma_ * std::abs(low)) + tiny_, -(high + 2 * gamma_ * std::abs(high)) - tiny_};
    }
    // Inverse distances are above all that is negative. They are 0 where a distance is infinite.
    static ValueThresholds of_lowest(double t) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return {t < 0 ? -kBeyond : infinity, t < 0 ? -kBeyond : -infinity};
    }
    // The score t is -r^2, of a distance r = arcosh(1 + y) in the ball, and the value is -y. So y is cosh(r) - 1, which
    // is 2 sinh(r / 2)^2.
    ValueThresholds of_poincare(double t) const {
        const auto y_of_squared_distance = [](double square) {
            const double sine = std::sinh(std::sqrt(std::max(0.0, square)) / 2);
            return 2 * sine * sine;
        };
        // By this share t may be wrong, for the logarithm and the root in finish() round, and so may y, which is
        // computed from t in double precision here.
        const double share = 2 * kSlack + 0x1p-40;
        const double near = y_of_squared_distance(-t * (1 - share)), far = y_of_squared_distance(-t * (1 + share));
        return {-near * (1 - 2 * gamma_ - share) + tiny_, -far * (1 + 2 * gamma_ + share) - tiny_};
    }

    Similarity similarity_;
    double gamma_, tiny_, bias_, mean_;
    bool means_;
};

}  // namespace truerank
