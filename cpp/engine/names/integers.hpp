// Where each of many integers stands among others: by hashing, or in a table of all integers in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/names/hash_table.hpp"

namespace truerank {

// Finds integers among others, which stay where they are and may be repeated: the first position is theirs.
class IntegerTable {
  public:
    explicit IntegerTable(std::span<const std::int64_t> values);
    // The position of each integer sought, -1 for those that are not among the values.
    void find(std::span<const std::int64_t> sought, std::int64_t* positions) const;

  private:
    auto is_at(std::int64_t value) const {
        return [this, value](std::int64_t position) { return values_[static_cast<std::size_t>(position)] == value; };
    }
    std::size_t word_of(std::uint64_t hash) const { return hash >> 6 & (filter_.size() - 1); }

    std::span<const std::int64_t> values_;
    std::vector<std::uint64_t> filter_;  // a bit for each value: it stays in the cache, and most others lack it
    PlaceTable positions_;
};

// The least and the largest of some integers.
struct IntegerRange {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t largest = std::numeric_limits<std::int64_t>::min();

    bool is_empty() const { return least > largest; }
    void add(std::span<const std::int64_t> values);
    // How many integers come before a value, from the least on; more than those of the range for a lesser value.
    std::uint64_t place(std::int64_t value) const {
        return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least);
    }
};

// Finds integers among others that lie in a small range. The first position of those that are repeated is theirs.
class RangeTable {
  public:
    explicit RangeTable(const IntegerRange& range);
    // Values of the range, fewer than 2^31 in all, behind those that were added before.
    void add(std::span<const std::int64_t> values);
    // As IntegerTable has it.
    void find(std::span<const std::int64_t> sought, std::int64_t* positions) const;

  private:
    IntegerRange range_;
    std::vector<std::int32_t> numbers_;  // of each integer of the range: its position from 1 on, or 0
    std::int32_t added_ = 0;
};

}  // namespace truerank
