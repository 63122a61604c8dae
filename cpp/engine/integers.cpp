#include "engine/integers.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace truerank {
namespace {

constexpr std::size_t kTogether = 128;  // integers whose places are fetched at a time
constexpr std::size_t kFewestSlots = 16;
constexpr std::size_t kFewestBits = 64;
constexpr std::size_t kBitsEach = 4;  // of a value in the filter
constexpr int kPositionBits = 40;     // more integers than memory holds
constexpr std::uint64_t kPosition = (std::uint64_t{1} << kPositionBits) - 1;

std::uint64_t hash_of(std::int64_t value) {
    auto x = static_cast<std::uint64_t>(value);
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    return (x ^ x >> 32) * 0xD6E8FEB86659FD93u;
}

// Slots are chosen by the upper bits of a hash, and these are the lower ones.
std::uint64_t mark_of(std::uint64_t hash) { return hash << kPositionBits; }

bool may_be(std::uint64_t slot, std::uint64_t hash) { return (slot & ~kPosition) == mark_of(hash); }

std::uint64_t bit_of(std::uint64_t hash) { return std::uint64_t{1} << (hash & 63); }

std::size_t position_in(std::uint64_t slot) { return static_cast<std::size_t>(slot & kPosition) - 1; }

}  // namespace

IntegerTable::IntegerTable(std::span<const std::int64_t> values)
    : values_(values),
      filter_(std::bit_ceil(std::max(kFewestBits, kBitsEach * values.size())) / 64),
      slots_(std::bit_ceil(std::max(kFewestSlots, values.size() + values.size() / 2))),
      shift_(64 - std::countr_zero(slots_.size())) {
    std::array<std::uint64_t, kTogether> hashes;
    for (std::size_t begin = 0; begin < values.size(); begin += kTogether) {
        const std::size_t size = std::min(kTogether, values.size() - begin);
        for (std::size_t i = 0; i < size; ++i) {
            hashes[i] = hash_of(values[begin + i]);
            filter_[word_of(hashes[i])] |= bit_of(hashes[i]);
            __builtin_prefetch(&slots_[first_slot(hashes[i])], 1);
        }
        for (std::size_t i = 0; i < size; ++i) {
            Slot& slot = slots_[slot_of(values[begin + i], hashes[i])];
            if (slot == 0) slot = mark_of(hashes[i]) | (begin + i + 1);
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
        for (std::size_t i = 0; i < left; ++i) __builtin_prefetch(&slots_[first_slot(hashes[i])]);
        for (std::size_t i = 0; i < left; ++i) {
            const Slot slot = slots_[first_slot(hashes[i])];
            if (slot != 0 && may_be(slot, hashes[i])) __builtin_prefetch(&values_[position_in(slot)]);
        }
        for (std::size_t i = 0; i < left; ++i) {
            const Slot slot = slots_[slot_of(sought[places[i]], hashes[i])];
            if (slot != 0) positions[places[i]] = static_cast<std::int64_t>(position_in(slot));
        }
    }
}

std::size_t IntegerTable::slot_of(std::int64_t value, std::uint64_t hash) const {
    std::size_t at = first_slot(hash);
    while (slots_[at] != 0) {
        if (may_be(slots_[at], hash) && values_[position_in(slots_[at])] == value) break;
        at = (at + 1) & (slots_.size() - 1);
    }
    return at;
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
