// Integers: their range, and where they stand among others.
#include "engine/names/integers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bind/calls.hpp"

namespace truerank::bind {

constexpr std::int64_t kTogether = 4096;  // integers that are read at a time, if they do not lie side by side

// Integers of an array as it is: of 32 or of 64 bits, perhaps with gaps. Those of other types are copied.
class IntegerSequence {
  public:
    explicit IntegerSequence(const py::array& array) : array_(array) {
        const py::dtype type = array.dtype();
        const bool is_read = type.kind() == 'i' && (array.itemsize() == 4 || array.itemsize() == 8);
        if (!is_read || type.byteorder() != '=') array_ = Int64Array(array);
        require(array_.ndim() == 1, "integers: not one-dimensional");
        data_ = static_cast<const char*>(array_.data());
        size_ = array_.size();
        width_ = array_.itemsize();
        stride_ = array_.strides(0);
    }
    std::int64_t size() const { return size_; }
    const py::array& array() const { return array_; }

    // Calls take(chunk, begin) with some at a time, and where these begin. It asks nothing of the array, as the GIL is
    // released.
    template <class Take>
    void for_each_chunk(const Take& take) const {
        std::array<std::int64_t, kTogether> copies;
        const bool is_aligned = reinterpret_cast<std::uintptr_t>(data_) % alignof(std::int64_t) == 0;
        for (std::int64_t begin = 0; begin < size(); begin += kTogether) {
            const char* const first = data_ + begin * stride_;
            const auto length = static_cast<std::size_t>(std::min(kTogether, size() - begin));
            if (width_ == 8 && stride_ == 8 && is_aligned) {
                take(std::span(reinterpret_cast<const std::int64_t*>(first), length), begin);
                continue;
            }
            const std::span<std::int64_t> chunk(copies.data(), length);
            if (width_ == 8) {
                copy<std::int64_t>(first, chunk);
            } else {
                copy<std::int32_t>(first, chunk);
            }
            take(std::span<const std::int64_t>(chunk), begin);
        }
    }

  private:
    template <class T>
    void copy(const char* from, std::span<std::int64_t> chunk) const {
        for (std::int64_t& value : chunk) {
            T narrow;
            std::memcpy(&narrow, from, sizeof narrow);
            value = narrow;
            from += stride_;
        }
    }

    py::array array_;
    const char* data_;
    std::int64_t size_;
    py::ssize_t width_;
    py::ssize_t stride_;
};

IntegerRange find_range(const IntegerSequence& values) {
    IntegerRange range;
    without_gil([&] { values.for_each_chunk([&](auto chunk, auto) { range.add(chunk); }); });
    return range;
}

// The least of some integers, and how many there are from it to the largest.
py::tuple range_of(const py::array& array) {
    const IntegerRange range = find_range(IntegerSequence(array));
    if (range.is_empty()) return py::make_tuple(0, 1);
    return py::make_tuple(range.least, py::int_(range.place(range.largest)) + py::int_(1));
}

// Integers among which others are sought: in a table of all in between, if that is small, else by hashing. If they
// change, others are found, and nothing worse happens.
class IntegerArray {
  public:
    IntegerArray(const py::array& array, std::int64_t expected) {
        const IntegerSequence values(array);
        const IntegerRange range = find_range(values);
        const std::int64_t most = 2 * (values.size() + expected);
        const bool is_small = range.is_empty() || range.place(range.largest) < static_cast<std::uint64_t>(most);
        if (is_small && values.size() <= std::numeric_limits<std::int32_t>::max()) {
            without_gil([&] {
                in_range_.emplace(range);
                values.for_each_chunk([&](auto chunk, auto) { in_range_->add(chunk); });
            });
            return;
        }
        values_ = Int64Array(values.array());
        without_gil([&] { hashed_.emplace(std::span(values_->data(), static_cast<std::size_t>(values_->size()))); });
    }

    Int64Array find(const py::array& array) const {
        const IntegerSequence sought(array);
        Int64Array positions(sought.size());
        std::int64_t* const first = positions.mutable_data();
        without_gil(
            [&] { sought.for_each_chunk([&](auto chunk, auto begin) { find_positions(chunk, first + begin); }); });
        return positions;
    }

    py::array_t<bool> contains(const py::array& array) const {
        const IntegerSequence sought(array);
        py::array_t<bool> contained(sought.size());
        bool* next = contained.mutable_data();
        for_each_found(sought, [&](auto found, auto) {
            for (const std::int64_t position : found) *next++ = position >= 0;
        });
        return contained;
    }

    std::pair<Int64Array, Int64Array> look_up(const py::array& array) const {
        const IntegerSequence sought(array);
        std::vector<std::int64_t> where;
        std::vector<std::int64_t> positions;
        for_each_found(sought, [&](auto found, std::int64_t i) {
            for (const std::int64_t position : found) {
                if (position >= 0) {
                    where.push_back(i);
                    positions.push_back(position);
                }
                ++i;
            }
        });
        return {array_of(where), array_of(positions)};
    }

  private:
    void find_positions(std::span<const std::int64_t> sought, std::int64_t* positions) const {
        if (in_range_) {
            in_range_->find(sought, positions);
        } else {
            hashed_->find(sought, positions);
        }
    }
    // Calls take(positions, begin) without the GIL for some of the sought integers at a time.
    template <class Take>
    void for_each_found(const IntegerSequence& sought, const Take& take) const {
        std::array<std::int64_t, kTogether> positions;
        without_gil([&] {
            sought.for_each_chunk([&](auto chunk, auto begin) {
                find_positions(chunk, positions.data());
                take(std::span<const std::int64_t>(positions.data(), chunk.size()), begin);
            });
        });
    }

    std::optional<Int64Array> values_;  // The table of hashes reads them.
    std::optional<IntegerTable> hashed_;
    std::optional<RangeTable> in_range_;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::IntegerArray);

namespace truerank::bind {

void register_integers(py::module_& m) {
    m.def("range_of", &range_of, py::arg("values"),
          "The least integer, and how many there are from it to the largest; (0, 1) of none.");
    py::class_<IntegerArray>(m, "IntegerTable", py::is_final(), "Finds integers among others.")
        .def(py::init<py::array, std::int64_t>(), py::arg("values"), py::arg("expected"),
             "About how many are sought decides how they are found.")
        .def("find", &IntegerArray::find, py::arg("sought"),
             "The first position of each integer among the values; -1 where there is none.")
        .def("contains", &IntegerArray::contains, py::arg("sought"), "Whether each integer is among the values.")
        .def("look_up", &IntegerArray::look_up, py::arg("sought"),
             "Which integers are among the values, and the first position of each of these there.");
}

}  // namespace truerank::bind
