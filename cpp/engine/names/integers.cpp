#include "engine/names/integers.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace truerank {
namespace {

constexpr std::size_t kTogether = 128;  // integers whose places are fetched at a time
constexpr std::size_t kFewestBits = 64;
constexpr std::size_t kBitsEach = 4;  // of a value in the filter

std::uint64_t bit_of(std::uint64_t hash) { return std::uint64_t{1} << (hash & 63); }

}  // namespace

IntegerTable::IntegerTable(std::span<const std::int64_t> values)
    : values_(values),
      filter_(std::bit_ceil(std::max(kFewestBits, kBitsEach * values.size())) / 64),
      positions_(values.size()) {
    std::array<std::uint64_t, kTogether> hashes;
    for (std::size_t begin = 0; begin < values.size(); begin += kTogether) {
        const std::size_t size = std::min(kTogether, values.size() - begin);
        for (std::size_t i = 0; i < size; ++i) {
            hashes[i] = hash_of(values[begin + i]);
            filter_[word_of(hashes[i])] |= bit_of(hashes[i]);
            positions_.prefetch(hashes[i]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t value = values[begin + i];
            positions_.place_or_add(hashes[i], static_cast<std::int64_t>(begin + i), is_at(value));
        }
    }
}

void IntegerTable::find(std::span<const std::int64_t> sought, std::int64_t* positions) const {
    std::array<std::uint64_t, kTogether> hashes;
    std::array<std::size_t, kTogether> places;  // of those that the filter lets through
    for (std::size_t begin = 0; begin < sought.size(); begin += kTogether) {
        const std::size_t size = std::min(kTogether, sought.size() - begin);
        std::size_t left = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint64_t hash = hash_of(sought[begin + i]);
            positions[begin + i] = -1;
            hashes[left] = hash;
            places[left] = begin + i;
            left += (filter_[word_of(hash)] & bit_of(hash)) != 0;
        }
        for (std::size_t i = 0; i < left; ++i) positions_.prefetch(hashes[i]);
        for (std::size_t i = 0; i < left; ++i) {
            const std::int64_t position = positions_.likely_place(hashes[i]);
            if (position >= 0) __builtin_prefetch(&values_[static_cast<std::size_t>(position)]);
        }
        for (std::size_t i = 0; i < left; ++i) {
            positions[places[i]] = positions_.place(hashes[i], is_at(sought[places[i]]));
        }
    }
}

void IntegerRange::add(std::span<const std::int64_t> values) {
    std::int64_t low = least, high = largest;
    for (const std::int64_t value : values) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    least = low;
    largest = high;
}

RangeTable::RangeTable(const IntegerRange& range)
    : range_(range), numbers_(static_cast<std::size_t>(range.is_empty() ? 0 : range.place(range.largest) + 1)) {}

void RangeTable::add(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
        ++added_;
        const std::uint64_t place = range_.place(value);
        if (place >= numbers_.size()) continue;  // Somebody has changed the values since.
        std::int32_t& number = numbers_[static_cast<std::size_t>(place)];
        if (number == 0) number = added_;
    }
}

void RangeTable::find(std::span<const std::int64_t> sought, std::int64_t* positions) const {
    for (std::size_t i = 0; i < sought.size(); ++i) {
        const std::uint64_t place = range_.place(sought[i]);
        positions[i] = place < numbers_.size() ? numbers_[static_cast<std::size_t>(place)] - 1 : -1;
    }
}

}  // namespace truerank
