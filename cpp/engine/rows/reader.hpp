// Reads scores of type T in any layout: one by one, in place, or copied to a buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "engine/rows/rank.hpp"
#include "engine/selection.hpp"

namespace truerank {

template <class T>
class Reader {
  public:
    explicit Reader(const Scores& scores) : scores_(scores) {
        const auto fits = [](std::ptrdiff_t bytes) { return bytes % static_cast<std::ptrdiff_t>(alignof(T)) == 0; };
        is_plain_ = !scores.swapped && fits(scores.row_stride) && fits(scores.column_stride) &&
                    reinterpret_cast<std::uintptr_t>(scores.data) % alignof(T) == 0;
    }

    // Whether the scores of a row, or of a column, are an array of T.
    bool contiguous_rows() const { return is_plain_ && scores_.column_stride == size; }
    bool contiguous_columns() const {
        return is_plain_ && scores_.row_stride == size && std::abs(scores_.column_stride) > size;
    }
    // Whether the scores of a column are closer together than those of a row.
    bool column_major() const { return std::abs(scores_.row_stride) < std::abs(scores_.column_stride); }

    // The address of a score; in_place() where scores are plain.
    const char* at(std::int64_t row, std::int64_t column) const {
        return scores_.data + row * scores_.row_stride + column * scores_.column_stride;
    }
    const T* in_place(std::int64_t row, std::int64_t column) const {
        return reinterpret_cast<const T*>(at(row, column));
    }

    T load(std::int64_t row, std::int64_t column) const { return load(at(row, column), scores_.swapped); }

    // out[i * width + j] = the score of row rows[i] and column columns(begin + j), for i < n and j < width.
    void pack(const std::int64_t* rows, std::int64_t n, const ListedColumns& columns, std::int64_t begin,
              std::int64_t width, T* out) const {
        if (columns.are_consecutive() && scores_.column_stride == size && !scores_.swapped) {
            for (std::int64_t i = 0; i < n; ++i) {
                std::memcpy(out + i * width, at(rows[i], columns(begin)), static_cast<std::size_t>(width * size));
            }
            return;
        }
        columns.with_numbers(begin, [&](const auto& column) {
            if (is_plain_) {
                pack(rows, n, column, width, out, [](const char* from) { return *reinterpret_cast<const T*>(from); });
            } else {
                pack(rows, n, column, width, out,
                     [swapped = scores_.swapped](const char* from) { return load(from, swapped); });
            }
        });
    }

  private:
    static constexpr std::ptrdiff_t size = static_cast<std::ptrdiff_t>(sizeof(T));

    static T load(const char* from, bool swapped) {
        unsigned char bytes[sizeof(T)];
        std::memcpy(bytes, from, sizeof(T));
        if (swapped) std::reverse(bytes, bytes + sizeof(T));
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        return value;
    }

    template <class Column, class Load>
    void pack(const std::int64_t* rows, std::int64_t n, const Column& column, std::int64_t width, T* out,
              const Load& load) const {
        const std::ptrdiff_t column_stride = scores_.column_stride, row_stride = scores_.row_stride;
        if (n == 1) {
            const char* row = at(rows[0], 0);
#pragma GCC unroll 4
            for (std::int64_t j = 0; j < width; ++j) out[j] = load(row + column(j) * column_stride);
            return;
        }
        for (std::int64_t j = 0; j < width; ++j) {
            const char* from = scores_.data + column(j) * column_stride;
            for (std::int64_t i = 0; i < n; ++i) out[i * width + j] = load(from + rows[i] * row_stride);
        }
    }

    const Scores& scores_;
    bool is_plain_;  // scores are aligned and in native byte order
};

}  // namespace truerank
