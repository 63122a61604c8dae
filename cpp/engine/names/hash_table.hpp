// Where things stand, found by hashes of them: what tables of names and of integers share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace truerank {

// Memory of large pages, where the system has them. Looked up at random, a table of many megabytes in small pages waits
// as long for their addresses as for what is there.
template <class T>
struct LargePages {
    using value_type = T;
    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}
    T* allocate(std::size_t size) {
        const std::size_t bytes = std::max<std::size_t>(size * sizeof(T), 1);
        void* memory = nullptr;
#ifdef __linux__
        constexpr std::size_t kPage = std::size_t{1} << 21;
        if (bytes >= 2 * kPage) {
            const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
            memory = std::aligned_alloc(kPage, whole);
            if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);  // a hint, which may be refused
        } else
#endif
            memory = std::malloc(bytes);
        if (memory == nullptr) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    friend bool operator==(const LargePages&, const LargePages&) { return true; }
};

inline std::uint64_t hash_of(std::int64_t value) {
    auto x = static_cast<std::uint64_t>(value);
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    return (x ^ x >> 32) * 0xD6E8FEB86659FD93u;
}

// The places of things by hashes of these: open addressing, at most two thirds full. The things themselves are
// elsewhere, and are compared by who asks. A slot is 0 if it is empty. Else its lower bits are a place, counted from 1
// on, and the others are the upper bits of a hash, which tell most unlike things apart without reading them.
class PlaceTable {
  public:
    explicit PlaceTable(std::size_t places = 0) { clear(places); }
    // Makes the table empty, with room for places below `places`.
    void clear(std::size_t places) { resize(std::bit_ceil(std::max(kFewestSlots, places + places / 2 + 1))); }
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[first_slot(hash)]); }
    // What place() most likely returns, and nothing is compared for it: what stands there can be fetched in time.
    std::int64_t likely_place(std::uint64_t hash) const { return place_in(slots_[first_slot(hash)]); }
    // The place of a thing that is_at(place) tells from others of its hash; -1 if the table has none.
    template <class IsAt>
    std::int64_t place(std::uint64_t hash, const IsAt& is_at) const {
        return place_in(slots_[slot_of(hash, is_at)]);
    }
    // The same, and adds the thing at `new_place` if the table has none. Places beyond those that there is room for
    // make the table grow, up to 2^31 of them.
    template <class IsAt>
    std::int64_t place_or_add(std::uint64_t hash, std::int64_t new_place, const IsAt& is_at) {
        std::size_t at = slot_of(hash, is_at);
        if (slots_[at] != 0) return place_in(slots_[at]);
        if (new_place >= room_) {
            grow();
            at = slot_of(hash, is_at);
        }
        slots_[at] = (hash & ~place_bits_) | (static_cast<Slot>(new_place) + 1);
        return new_place;
    }

  private:
    using Slot = std::uint64_t;
    static constexpr std::size_t kFewestSlots = 16;

    std::size_t first_slot(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> shift_); }
    std::int64_t place_in(Slot slot) const { return static_cast<std::int64_t>(slot & place_bits_) - 1; }
    bool may_be(Slot slot, std::uint64_t hash) const { return (slot ^ hash) <= place_bits_; }

    // The slot of a thing, or the empty one where it belongs.
    template <class IsAt>
    std::size_t slot_of(std::uint64_t hash, const IsAt& is_at) const {
        std::size_t at = first_slot(hash);
        while (slots_[at] != 0 && !(may_be(slots_[at], hash) && is_at(place_in(slots_[at])))) {
            at = (at + 1) & place_bits_;
        }
        return at;
    }
    void resize(std::size_t size) {
        slots_.assign(size, 0);
        place_bits_ = size - 1;
        shift_ = 64 - std::countr_zero(size);
        room_ = static_cast<std::int64_t>(2 * size / 3);
    }
    void grow() {
        decltype(slots_) old;
        old.swap(slots_);
        const std::uint64_t old_place_bits = place_bits_;
        resize(2 * old.size());
        for (const Slot slot : old) {
            if (slot == 0) continue;
            // The upper bits of a slot are those of a hash, by which its first slot is chosen.
            const std::uint64_t hash_bits = slot & ~place_bits_, place = slot & old_place_bits;
            slots_[slot_of(hash_bits, [](std::int64_t) { return false; })] = hash_bits | place;
        }
    }

    std::vector<Slot, LargePages<Slot>> slots_;
    std::uint64_t place_bits_;  // also the number of the last slot
    int shift_;                 // to the upper bits of a hash, which are the number of its first slot
    std::int64_t room_;         // for places below it
};

}  // namespace truerank
