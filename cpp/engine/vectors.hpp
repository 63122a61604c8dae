// Reads vectors in any layout, widens them to the type of the scores, and packs them side by side.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/rank.hpp"
#include "engine/reader.hpp"
#include "kernels/count.hpp"

namespace truerank {

inline float widen(Half half) {
    const std::uint32_t magnitude = half.bits & 0x7fffu, sign = (half.bits & 0x8000u) << 16;
    const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;  // exact, also for subnormal numbers
    const std::uint32_t bits =
        magnitude < 0x7c00u ? std::bit_cast<std::uint32_t>(finite) : 0x7f800000u | magnitude << 13;
    return std::bit_cast<float>(bits | sign);
}
inline float widen(BFloat16 score) { return std::bit_cast<float>(std::uint32_t{score.bits} << 16); }
inline float widen(float score) { return score; }
inline double widen(double score) { return score; }

// Sums up the squared components, in double precision and in their order; for floats the products are exact.
template <class C>
void add_squares(const C* const* vectors, std::int64_t n, std::int64_t depth, double* sums) {
    std::fill_n(sums, n, 0.0);
    for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t i = 0; i < n; ++i) {
            const auto x = static_cast<double>(vectors[i][k]);
            sums[i] += x * x;
        }
    }
}

// Whether a sum of squared components has lost digits that matter: some squares, or all, were too small or too large
// for a double. For floats this cannot be.
inline bool lost_digits(double squares) {
    return squares < 0x1p-960 || squares == std::numeric_limits<double>::infinity();
}

// Normalises a vector of which that is so, by way of another: the vector times the power of two by which its largest
// component comes to 1 or more, but below 2 (or, if that component is subnormal, close to it). The product is exact
// but for components that are far too small to matter in the sum. Vectors with an infinite component, and those of
// zeros, stay as they were normalised without.
inline void normalise_scaled(const double* vector, std::int64_t depth, std::int64_t lanes, double* out) {
    double largest = 0;
    for (std::int64_t k = 0; k < depth; ++k) largest = std::max(largest, std::abs(vector[k]));
    if (largest == 0 || largest == std::numeric_limits<double>::infinity()) return;
    const double scale = std::ldexp(1.0, std::min(-std::ilogb(largest), 1023));
    double squares = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
        const double x = vector[k] * scale;
        squares += x * x;
    }
    const double root = std::sqrt(squares);
    for (std::int64_t k = 0; k < depth; ++k) out[k * lanes] = vector[k] * scale / root;
}

// What happens to vectors as they are packed.
struct Packing {
    bool normalise;  // to length 1: each component divided by the root of the sum of squares, unless that is 0
    bool squares;    // sums of the squared components are computed, too
};

template <class C>
class Vectors {
  public:
    explicit Vectors(const Scores& matrix)
        : matrix_(matrix), in_place_(is_in_place(matrix)), read_(reader(matrix.dtype)) {}

    std::int64_t count() const { return matrix_.rows; }
    std::int64_t depth() const { return matrix_.columns; }

    // Component k of vector ids[i], i < n, becomes out[k * lanes + i]; lanes from n on become 0. Buffers are allocated
    // in `scratch`.
    void pack(const std::int64_t* ids, std::int64_t n, std::int64_t lanes, Packing packing, C* out, double* squares,
              std::vector<C>& scratch) const {
        const std::int64_t depth = this->depth();
        if (n < lanes) std::fill_n(out, depth * lanes, C{0});
        if (packing.squares) std::fill_n(squares, lanes, 0.0);
        if (!in_place_) scratch.resize(static_cast<std::size_t>(kVectorsAtOnce * depth));
        for (std::int64_t first = 0; first < n; first += kVectorsAtOnce) {
            const std::int64_t width = std::min(kVectorsAtOnce, n - first);
            const C* vectors[kVectorsAtOnce];
            for (std::int64_t i = 0; i < width; ++i) {
                if (in_place_) {
                    vectors[i] = reinterpret_cast<const C*>(matrix_.data + ids[first + i] * matrix_.row_stride);
                } else {
                    C* const copy = scratch.data() + i * depth;
                    read_(matrix_, ids[first + i], copy);
                    vectors[i] = copy;
                }
            }
            double sums[kVectorsAtOnce];
            if (packing.squares) {
                add_squares(vectors, width, depth, sums);
                std::copy_n(sums, width, squares + first);
            }
            C* const to = out + first;
            if (packing.normalise) {
                double roots[kVectorsAtOnce];
                for (std::int64_t i = 0; i < width; ++i) roots[i] = sums[i] == 0 ? 1 : std::sqrt(sums[i]);
                for (std::int64_t k = 0; k < depth; ++k) {
                    for (std::int64_t i = 0; i < width; ++i) {
                        to[k * lanes + i] = static_cast<C>(static_cast<double>(vectors[i][k]) / roots[i]);
                    }
                }
                if constexpr (sizeof(C) == 8) {
                    for (std::int64_t i = 0; i < width; ++i) {
                        if (lost_digits(sums[i])) normalise_scaled(vectors[i], depth, lanes, to + i);
                    }
                }
            } else if (width == kVectorsAtOnce) {
                for (std::int64_t k = 0; k < depth; ++k) {
                    for (std::int64_t i = 0; i < kVectorsAtOnce; ++i) to[k * lanes + i] = vectors[i][k];
                }
            } else {
                for (std::int64_t k = 0; k < depth; ++k) {
                    for (std::int64_t i = 0; i < width; ++i) to[k * lanes + i] = vectors[i][k];
                }
            }
        }
    }

    // The components of a vector, one after the other, as pack() has them: in place, or in `buffer`, which has room for
    // them.
    const C* row(std::int64_t id, bool normalise, C* buffer) const {
        const auto* from = reinterpret_cast<const C*>(matrix_.data + id * matrix_.row_stride);
        if (!in_place_) {
            read_(matrix_, id, buffer);
            from = buffer;
        }
        if (!normalise) return from;
        double squares = 0;
        add_squares(&from, 1, depth(), &squares);
        const double root = squares == 0 ? 1 : std::sqrt(squares);
        for (std::int64_t k = 0; k < depth(); ++k) buffer[k] = static_cast<C>(static_cast<double>(from[k]) / root);
        return buffer;
    }
    // Whether row() gives vectors in place.
    bool in_place(bool normalise) const { return in_place_ && !normalise; }

  private:
    // Vectors that are packed at once: a cache line of floats.
    static constexpr std::int64_t kVectorsAtOnce = 16;
    using Read = void (*)(const Scores&, std::int64_t, C*);

    template <class T>
    static void read(const Scores& matrix, std::int64_t row, C* out) {
        const Reader<T> from(matrix);
        if (from.contiguous_rows()) {
            const T* in = from.in_place(row, 0);
            for (std::int64_t k = 0; k < matrix.columns; ++k) out[k] = static_cast<C>(widen(in[k]));
        } else {
            for (std::int64_t k = 0; k < matrix.columns; ++k) out[k] = static_cast<C>(widen(from.load(row, k)));
        }
    }
    static Read reader(DType dtype) {
        switch (dtype) {
            case DType::float16:
                return read<Half>;
            case DType::bfloat16:
                return read<BFloat16>;
            case DType::float64:
                return read<double>;
            default:
                return read<float>;
        }
    }
    static bool is_in_place(const Scores& matrix) {
        const bool same = matrix.dtype == (sizeof(C) == 4 ? DType::float32 : DType::float64);
        return same && Reader<C>(matrix).contiguous_rows();
    }

    Scores matrix_;
    bool in_place_;
    Read read_;
};

}  // namespace truerank
