#include "engine/sweep/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

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
template <class C>
bool normalise_scaled(const C* vector, std::int64_t depth, C* out) {
    double largest = 0;
    for (std::int64_t k = 0; k < depth; ++k) largest = std::max(largest, std::abs(double{vector[k]}));
    if (largest == 0 || largest == std::numeric_limits<double>::infinity()) return false;
    const double scale = std::ldexp(1.0, std::min(-std::ilogb(largest), 1023));
    double squares = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
        const double x = vector[k] * scale;
        squares += x * x;
    }
    const double root = std::sqrt(squares);
    for (std::int64_t k = 0; k < depth; ++k) out[k] = static_cast<C>(vector[k] * scale / root);
    return true;
}

// Divides integers by their greatest common divisor, exactly: multiples of one vector become that vector, whose cosines
// are then equal. Zeros stay.
template <class C>
void divide_by_common_divisor(C* vector, std::int64_t depth) {
    int divisor = 0;
    for (std::int64_t k = 0; k < depth && divisor != 1; ++k) divisor = std::gcd(divisor, static_cast<int>(vector[k]));
    if (divisor < 2) return;
    for (std::int64_t k = 0; k < depth; ++k) vector[k] /= static_cast<C>(divisor);
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
    const bool adjacent = this->adjacent(ids, n, packing.normalise);
    if (!in_place(packing.normalise)) {
        scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(vectors_at_once * depth)));
    }
    for (std::int64_t first = 0; first < n; first += vectors_at_once) {
        const std::int64_t width = std::min(vectors_at_once, n - first);
        const C* vectors[vectors_at_once];
        load(ids + first, width, packing.normalise, scratch.data(), vectors,
             packing.squares ? squares + first : nullptr);
        kernels_.pack(vectors, static_cast<std::size_t>(width), static_cast<std::size_t>(depth), adjacent,
                      static_cast<std::size_t>(lanes), out + first);
    }
}

template <class C>
void Vectors<C>::load(const std::int64_t* ids, std::int64_t n, bool normalise, C* buffer, const C** vectors,
                      double* squares) const {
    for (std::int64_t i = 0; i < n; ++i) {
        C* const copy = buffer + i * depth();
        if (!in_place_) read_copy(ids[i], normalise, copy);
        vectors[i] = in_place_ ? reinterpret_cast<const C*>(matrix_.data + ids[i] * matrix_.row_stride) : copy;
    }
    if (squares != nullptr) {
        kernels_.add_squares(vectors, static_cast<std::size_t>(n), static_cast<std::size_t>(depth()), squares);
    }
    if (normalise) normalise_loaded(ids, n, buffer, vectors);
}

template <class C>
void Vectors<C>::read_copy(std::int64_t id, bool normalise, C* copy) const {
    read_(matrix_, id, copy);
    if (normalise && has_bytes()) divide_by_common_divisor(copy, depth());
}

template <class C>
void Vectors<C>::normalise_loaded(const std::int64_t* ids, std::int64_t n, C* buffer, const C** vectors) const {
    const auto size = static_cast<std::size_t>(depth());
    constexpr std::int64_t at_once = 16;
    for (std::int64_t first = 0; first < n; first += at_once) {
        const C* sources[at_once];  // of those that need their sum of squares
        C* copies[at_once];
        std::size_t count = 0;
        for (std::int64_t i = first; i < std::min(first + at_once, n); ++i) {
            C* const copy = buffer + i * depth();
            sources[count] = vectors[i];
            vectors[i] = copy;
            if (kernels_.try_normalise(sources[count], size, copy)) continue;
            if (sizeof(C) == 4 && !in_place_) read_copy(ids[i], true, copy);  // the trial has overwritten its source
            copies[count++] = copy;
        }
        double sums[at_once];
        kernels_.add_squares(sources, count, size, sums);
        for (std::size_t i = 0; i < count; ++i) {
            if (sizeof(C) == 8 && lost_digits(sums[i]) && normalise_scaled(sources[i], depth(), copies[i])) continue;
            kernels_.divide(sources[i], size, sums[i] == 0 ? 1 : std::sqrt(sums[i]), copies[i]);
        }
    }
}

template <class C>
const std::uint8_t* const* Vectors<C>::load_bytes(const std::int64_t* ids, std::int64_t n, ByteRows& bytes) const {
    const Reader<std::uint8_t> from(matrix_);
    const bool in_place = from.contiguous_rows();
    bytes.rows.resize(static_cast<std::size_t>(n));
    if (!in_place) bytes.copies.resize(static_cast<std::size_t>(n * depth()));
    for (std::int64_t i = 0; i < n; ++i) {
        std::uint8_t* const copy = bytes.copies.data() + (in_place ? 0 : i * depth());
        for (std::int64_t k = 0; !in_place && k < depth(); ++k) copy[k] = from.load(ids[i], k);
        bytes.rows[static_cast<std::size_t>(i)] = in_place ? from.in_place(ids[i], 0) : copy;
    }
    return bytes.rows.data();
}

template class Vectors<float>;
template class Vectors<double>;

}  // namespace truerank
