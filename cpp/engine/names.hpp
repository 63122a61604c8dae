// Names as codes, and hashes of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace truerank {

// Names that are unlike have the same hash once in 2^64 pairs, if nobody seeks them.
std::uint64_t hash_of(std::string_view name);

// Memory of large pages, where the system has them. Looked up at random, a table of many megabytes in small pages waits
// as long for their addresses as for what is there.
void* allocate_large_pages(std::size_t bytes);
void free_large_pages(void* memory);

template <class T>
struct LargePages {
    using value_type = T;
    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}
    T* allocate(std::size_t size) { return static_cast<T*>(allocate_large_pages(size * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { free_large_pages(memory); }
    friend bool operator==(const LargePages&, const LargePages&) { return true; }
};

// Distinct names, numbered in the order in which they first occur.
class NameTable {
  public:
    explicit NameTable(std::size_t names = 0);  // with room for so many
    std::int64_t code(std::string_view name);   // a new name is added
    // The codes of names, which are added, or else -1 where they are new. The places of several names at a time are
    // fetched while they are hashed: in a large table, each look-up waits for memory.
    void add_codes(std::span<const std::string_view> names, std::int32_t* codes);
    void find_codes(std::span<const std::string_view> names, std::int32_t* codes) const;
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
    std::string_view name(std::int64_t code) const;

  private:
    // Small, so that more of them stay in the cache; there are fewer than 2^31 names.
    struct Slot {
        std::uint32_t hash = 0;
        std::int32_t code = -1;
    };
    template <class Each>
    void for_fetched(std::span<const std::string_view> names, const Each& each) const;
    std::size_t first_slot(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
    std::size_t slot_of(std::string_view name, std::uint32_t hash) const;  // its own, or an empty one
    std::int64_t code(std::string_view name, std::uint32_t hash);
    void grow();
    std::vector<char, LargePages<char>> text_;                  // all names, one after another
    std::vector<std::int64_t, LargePages<std::int64_t>> ends_;  // of each name in the text
    std::vector<Slot, LargePages<Slot>> slots_;                 // open addressing, at most half full
};

// Whether so many more names find room; what is said otherwise.
bool has_room(const NameTable& names, std::size_t more = 0);
constexpr const char* kTooManyNames = "expected at most 2,147,483,600 names";

}  // namespace truerank
