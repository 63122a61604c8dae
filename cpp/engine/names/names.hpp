// Names as codes, and hashes of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/names/hash_table.hpp"

namespace truerank {

// Names that are unlike have the same hash once in 2^64 pairs, if nobody seeks them.
std::uint64_t hash_of(std::string_view name);

// Distinct names, numbered in the order in which they first occur.
class NameTable {
  public:
    static constexpr const char* kTooMany = "expected at most 2,147,483,600 names";
    explicit NameTable(std::size_t names = 0);  // with room for so many
    // Whether so many more names find room, as they have to.
    bool has_room(std::size_t more) const;
    // The codes of names, which are added, or else -1 where they are new.
    void add_codes(std::span<const std::string_view> names, std::int32_t* codes);
    void find_codes(std::span<const std::string_view> names, std::int32_t* codes) const;
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
    std::string_view name(std::int64_t code) const;

  private:
    template <class Take>
    void for_fetched(std::span<const std::string_view> names, const Take& take) const;
    std::vector<char, LargePages<char>> text_;                  // all names, one after another
    std::vector<std::int64_t, LargePages<std::int64_t>> ends_;  // of each name in the text
    PlaceTable codes_;
};

}  // namespace truerank
