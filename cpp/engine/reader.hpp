// Reads scores of type T in any layout: one by one, in place, or copied to a buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "engine/rank.hpp"

namespace truerank {

// Consecutive columns; those of a row may be copied at once.
struct ConsecutiveColumns {
    std::int64_t begin;
    std::int64_t operator()(std::int64_t j) const { return begin + j; }
};

// The columns from position `begin` on.
template <class Columns>
auto columns_from(const Columns& columns, std::int64_t begin) {
    return [&columns, begin](std::int64_t j) { return columns(begin + j); };
}
inline ConsecutiveColumns columns_from(const ConsecutiveColumns& columns, std::int64_t begin) {
    return {columns.begin + begin};
}

template <class T>
class Reader {
  public:
    explicit Reader(const Scores& scores) : scores_(scores) {
        const auto fits = [](std::ptrdiff_t bytes) { return bytes % static_cast<std::ptrdiff_t>(alignof(T)) == 0; };
        is_plain_ = !scores.swapped && fits(scores.row_stride) && fits(scores.column_stride) &&
                    reinterpret_cast<std::uintptr_t>(scores.data) % alignof(T) == 0;
    }

    // Whether scores are aligned and in native byte order.
    bool is_plain() const { return is_plain_; }
    bool contiguous_rows() const { return is_plain_ && scores_.column_stride == size; }
    bool contiguous_columns() const {
        return is_plain_ && scores_.row_stride == size && std::abs(scores_.column_stride) > size;
    }
    // Whether the scores of a column are closer together than those of a row.
    bool column_major() const { return std::abs(scores_.row_stride) < std::abs(scores_.column_stride); }

    const char* at(std::int64_t row, std::int64_t column) const {
        return scores_.data + row * scores_.row_stride + column * scores_.column_stride;
    }
    const T* in_place(std::int64_t row, std::int64_t column) const {
        return reinterpret_cast<const T*>(at(row, column));
    }

    T load(std::int64_t row, std::int64_t column) const { return load(at(row, column)); }

    // out[i * width + j] = the score of row rows[i] and column columns(j), for i < n and j < width.
    template <class Columns>
    void pack(const std::int64_t* rows, std::int64_t n, std::int64_t width, const Columns& columns, T* out) const {
        if (std::is_same_v<Columns, ConsecutiveColumns> && scores_.column_stride == size && !scores_.swapped) {
            for (std::int64_t i = 0; i < n; ++i) {
                std::memcpy(out + i * width, at(rows[i], columns(0)), static_cast<std::size_t>(width * size));
            }
        } else if (is_plain_) {
            pack(rows, n, width, columns, out, [](const char* from) { return *reinterpret_cast<const T*>(from); });
        } else {
            pack(rows, n, width, columns, out, [this](const char* from) { return load(from); });
        }
    }

  private:
    static constexpr std::ptrdiff_t size = static_cast<std::ptrdiff_t>(sizeof(T));

    T load(const char* from) const {
        unsigned char bytes[sizeof(T)];
        std::memcpy(bytes, from, sizeof(T));
        if (scores_.swapped) std::reverse(bytes, bytes + sizeof(T));
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        return value;
    }

    template <class Columns, class Load>
    void pack(const std::int64_t* rows, std::int64_t n, std::int64_t width, const Columns& columns, T* out,
              const Load& load) const {
        if (n == 1) {
            const char* row = at(rows[0], 0);
#pragma GCC unroll 4
            for (std::int64_t j = 0; j < width; ++j) out[j] = load(row + columns(j) * scores_.column_stride);
            return;
        }
        for (std::int64_t j = 0; j < width; ++j) {
            const char* column = at(0, columns(j));
            for (std::int64_t i = 0; i < n; ++i) out[i * width + j] = load(column + rows[i] * scores_.row_stride);
        }
    }

    const Scores& scores_;
    bool is_plain_;
};

}  // namespace truerank
