#include "engine/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/reader.hpp"
#include "kernels/count.hpp"

namespace truerank {
namespace {

// Whether a sum of squared components has lost digits that matter: some squares, or all, were too small or too large
// for a double. For floats this cannot be.
bool lost_digits(double squares) { return squares < 0x1p-960 || squares == std::numeric_limits<double>::infinity(); }

// Normalises a vector of which that is so, by way of another: the vector times the power of two by which its largest
// component comes to 1 or more, but below 2 (or, if that component is subnormal, close to it). The product is exact
// but for components that are far too small to matter in the sum. Vectors with an infinite component, and those of
// zeros, stay as they are: then this returns false.
bool normalise_scaled(const double* vector, std::int64_t depth, std::int64_t lanes, double* out) {
    double largest = 0;
    for (std::int64_t k = 0; k < depth; ++k) largest = std::max(largest, std::abs(vector[k]));
    if (largest == 0 || largest == std::numeric_limits<double>::infinity()) return false;
    const double scale = std::ldexp(1.0, std::min(-std::ilogb(largest), 1023));
    double squares = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
        const double x = vector[k] * scale;
        squares += x * x;
    }
    const double root = std::sqrt(squares);
    for (std::int64_t k = 0; k < depth; ++k) out[k * lanes] = vector[k] * scale / root;
    return true;
}

constexpr std::int64_t kNumbersAtOnce = 64;

template <class C, class T>
void widen(const T* from, std::int64_t n, C* out) {
    const auto size = static_cast<std::size_t>(n);
    if constexpr (std::is_same_v<T, Half>) {
        row_kernels<C>().widen_half(from, size, out);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        row_kernels<C>().widen_bfloat16(from, size, out);
    } else {
        std::transform(from, from + size, out, [](T x) { return static_cast<C>(x); });
    }
}

// Reads n numbers, at most kNumbersAtOnce, of a row from a column on.
template <class C, class T>
void read_some(const Reader<T>& from, std::int64_t row, std::int64_t column, std::int64_t n, C* out) {
    if (from.contiguous_rows()) return widen(from.in_place(row, column), n, out);
    T buffer[kNumbersAtOnce];
    for (std::int64_t i = 0; i < n; ++i) buffer[i] = from.load(row, column + i);
    widen(buffer, n, out);
}

// Real and imaginary parts come in turn, wherever they lie.
template <class C, class T>
void read_parts(const VectorMatrix& matrix, std::int64_t row, C* out) {
    const Scores& real_parts = matrix;
    Scores imaginary_parts = matrix;
    imaginary_parts.data += *matrix.part_stride;
    const Reader<T> real_from(real_parts), imaginary_from(imaginary_parts);
    C real[kNumbersAtOnce], imaginary[kNumbersAtOnce];
    const std::int64_t numbers = matrix.columns / 2;
    for (std::int64_t j = 0; j < numbers; j += kNumbersAtOnce) {
        const std::int64_t n = std::min(kNumbersAtOnce, numbers - j);
        read_some(real_from, row, j, n, real);
        read_some(imaginary_from, row, j, n, imaginary);
        for (std::int64_t i = 0; i < n; ++i) {
            out[2 * (j + i)] = real[i];
            out[2 * (j + i) + 1] = imaginary[i];
        }
    }
}

template <class C, class T>
void read(const VectorMatrix& matrix, std::int64_t row, C* out) {
    if (matrix.part_stride) return read_parts<C, T>(matrix, row, out);
    const Reader<T> from(matrix);
    if (from.contiguous_rows()) return widen(from.in_place(row, 0), matrix.columns, out);
    for (std::int64_t k = 0; k < matrix.columns; k += kNumbersAtOnce) {
        read_some(from, row, k, std::min(kNumbersAtOnce, matrix.columns - k), out + k);
    }
}

template <class C>
using Read = void (*)(const VectorMatrix&, std::int64_t, C*);

template <class C>
Read<C> reader(DType dtype) {
    if (dtype == DType::float16) return read<C, Half>;
    if (dtype == DType::bfloat16) return read<C, BFloat16>;
    if (dtype == DType::float64) return read<C, double>;
    if (dtype == DType::int8) return read<C, std::int8_t>;
    if (dtype == DType::uint8) return read<C, std::uint8_t>;
    return read<C, float>;
}

template <class C>
bool is_in_place(const VectorMatrix& matrix) {
    if (matrix.part_stride) return false;
    const bool same = matrix.dtype == (sizeof(C) == 4 ? DType::float32 : DType::float64);
    return same && Reader<C>(matrix).contiguous_rows();
}

}  // namespace

template <class C>
Vectors<C>::Vectors(const VectorMatrix& matrix)
    : matrix_(matrix), in_place_(is_in_place<C>(matrix)), read_(reader<C>(matrix.dtype)) {}

template <class C>
void Vectors<C>::pack(const std::int64_t* ids, std::int64_t n, std::int64_t lanes, Packing packing, C* out,
                      double* squares, std::vector<C>& scratch) const {
    constexpr std::int64_t vectors_at_once = 16;  // a cache line of floats
    const std::int64_t depth = this->depth();
    if (n < lanes) std::fill_n(out, depth * lanes, C{0});
    if (packing.squares) std::fill_n(squares, lanes, 0.0);
    const bool adjacent = this->adjacent(ids, n);
    for (std::int64_t first = 0; first < n; first += vectors_at_once) {
        const std::int64_t width = std::min(vectors_at_once, n - first);
        const C* vectors[vectors_at_once];
        locate(ids + first, width, scratch, vectors);
        double sums[vectors_at_once];
        if (packing.squares) {
            add_squares(vectors, width, depth, sums);
            std::copy_n(sums, width, squares + first);
        }
        C* const to = out + first;
        if (packing.normalise) {
            double roots[vectors_at_once];
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
        } else {
            kernels_.pack(vectors, static_cast<std::size_t>(width), static_cast<std::size_t>(depth), adjacent,
                          static_cast<std::size_t>(lanes), to);
        }
    }
}

template <class C>
const C* Vectors<C>::row(std::int64_t id, bool normalise, C* buffer) const {
    const auto* from = reinterpret_cast<const C*>(matrix_.data + id * matrix_.row_stride);
    if (!in_place_) {
        read_(matrix_, id, buffer);
        from = buffer;
    }
    if (!normalise) return from;
    double squares = 0;
    add_squares(&from, 1, depth(), &squares);
    const double root = squares == 0 ? 1 : std::sqrt(squares);
    if constexpr (sizeof(C) == 8) {
        if (lost_digits(squares) && normalise_scaled(from, depth(), 1, buffer)) return buffer;
    }
    for (std::int64_t k = 0; k < depth(); ++k) buffer[k] = static_cast<C>(static_cast<double>(from[k]) / root);
    return buffer;
}

template <class C>
void Vectors<C>::locate(const std::int64_t* ids, std::int64_t n, std::vector<C>& scratch, const C** vectors) const {
    if (!in_place_) scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(n * depth())));
    for (std::int64_t i = 0; i < n; ++i) {
        vectors[i] = row(ids[i], false, scratch.data() + (in_place_ ? 0 : i * depth()));
    }
}

template class Vectors<float>;
template class Vectors<double>;

}  // namespace truerank
