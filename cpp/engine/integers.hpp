// Where each of many integers stands among others, by hashing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/names.hpp"

namespace truerank {

// Finds integers among others, which stay where they are and may be repeated: the first position is theirs.
class IntegerTable {
  public:
    explicit IntegerTable(std::span<const std::int64_t> values);
    // The position of each integer sought, -1 for those that are not among the values.
    void find(std::span<const std::int64_t> sought, std::int64_t* positions) const;

  private:
    // A position from 1 on, and bits of a hash that tell most unlike integers apart without reading them; 0 is empty.
    using Slot = std::uint64_t;
    std::size_t slot_of(std::int64_t value, std::uint64_t hash) const;  // its own, or an empty one
    std::size_t first_slot(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> shift_); }

    std::size_t word_of(std::uint64_t hash) const { return hash >> 6 & (filter_.size() - 1); }

    std::span<const std::int64_t> values_;
    std::vector<std::uint64_t> filter_;          // a bit for each value: it stays in the cache, and most others lack it
    std::vector<Slot, LargePages<Slot>> slots_;  // open addressing, at most two thirds full
    int shift_;                                  // to the bits of a hash that are a slot
};

}  // namespace truerank
