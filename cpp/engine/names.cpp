#include "engine/names.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace truerank {
namespace {

constexpr std::int64_t kMostNames = 2'147'483'600;  // codes have 32 bits, and a line adds at most three names
constexpr std::size_t kTogether = 64;               // names whose places are fetched at a time
constexpr std::size_t kLargePage = std::size_t{1} << 21;
constexpr std::size_t kFewestSlots = 1024;

std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}

template <class Word>
Word load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof(Word));
    return word;
}

// The last eight bytes of a name, or all that it has; no loop, and no call, for as many as there are.
std::uint64_t last_bytes(std::string_view name) {
    const std::size_t size = name.size();
    const char* const data = name.data();
    if (size >= 8) return load<std::uint64_t>(data + size - 8);
    if (size >= 4) return load<std::uint32_t>(data) | std::uint64_t{load<std::uint32_t>(data + size - 4)} << 32;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < size; ++i) bytes = bytes << 8 | static_cast<unsigned char>(data[i]);
    return bytes;
}

std::uint32_t short_hash(std::string_view name) { return static_cast<std::uint32_t>(hash_of(name)); }

}  // namespace

void* allocate_large_pages(std::size_t bytes) {
#ifdef __linux__
    if (bytes >= 2 * kLargePage) {
        const std::size_t whole = (bytes + kLargePage - 1) / kLargePage * kLargePage;
        void* const memory = std::aligned_alloc(kLargePage, whole);
        if (memory == nullptr) throw std::bad_alloc();
        madvise(memory, whole, MADV_HUGEPAGE);  // a hint, which may be refused
        return memory;
    }
#endif
    void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void free_large_pages(void* memory) { std::free(memory); }

std::uint64_t hash_of(std::string_view name) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
    std::uint64_t hash = kOdd * (name.size() + 1);  // names of unlike sizes may end in the same bytes
    for (std::size_t at = 0; at + 8 < name.size(); at += 8) {
        hash = mix(hash ^ load<std::uint64_t>(name.data() + at)) * kOdd;
    }
    return mix(mix(hash ^ last_bytes(name)) * kOdd);
}

bool has_room(const NameTable& names, std::size_t more) {
    return names.size() + static_cast<std::int64_t>(more) < kMostNames;
}

NameTable::NameTable(std::size_t names) : slots_(std::bit_ceil(std::max(kFewestSlots, 2 * names))) {
    ends_.reserve(names);
}

std::string_view NameTable::name(std::int64_t code) const {
    const auto at = static_cast<std::size_t>(code);
    const auto begin = static_cast<std::size_t>(at == 0 ? 0 : ends_[at - 1]);
    return {text_.data() + begin, static_cast<std::size_t>(ends_[at]) - begin};
}

// Calls each(i, hash of name i) for all names, when what it looks up is on its way to the cache.
template <class Each>
void NameTable::for_fetched(std::span<const std::string_view> names, const Each& each) const {
    std::array<std::uint32_t, kTogether> hashes;
    for (std::size_t begin = 0; begin < names.size(); begin += kTogether) {
        const std::size_t size = std::min(kTogether, names.size() - begin);
        for (std::size_t i = 0; i < size; ++i) {
            hashes[i] = short_hash(names[begin + i]);
            __builtin_prefetch(&slots_[first_slot(hashes[i])]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            const Slot& slot = slots_[first_slot(hashes[i])];
            if (slot.code >= 0) __builtin_prefetch(&ends_[static_cast<std::size_t>(slot.code)]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            const Slot& slot = slots_[first_slot(hashes[i])];
            if (slot.code >= 0 && slot.hash == hashes[i]) __builtin_prefetch(name(slot.code).data());
        }
        for (std::size_t i = 0; i < size; ++i) each(begin + i, hashes[i]);
    }
}

void NameTable::add_codes(std::span<const std::string_view> names, std::int32_t* codes) {
    for_fetched(names,
                [&](std::size_t i, std::uint32_t hash) { codes[i] = static_cast<std::int32_t>(code(names[i], hash)); });
}

void NameTable::find_codes(std::span<const std::string_view> names, std::int32_t* codes) const {
    for_fetched(names, [&](std::size_t i, std::uint32_t hash) { codes[i] = slots_[slot_of(names[i], hash)].code; });
}

std::size_t NameTable::slot_of(std::string_view name, std::uint32_t hash) const {
    std::size_t at = first_slot(hash);
    while (slots_[at].code >= 0) {
        if (slots_[at].hash == hash && this->name(slots_[at].code) == name) break;
        at = (at + 1) & (slots_.size() - 1);
    }
    return at;
}

std::int64_t NameTable::code(std::string_view name) { return code(name, short_hash(name)); }

std::int64_t NameTable::code(std::string_view name, std::uint32_t hash) {
    Slot& slot = slots_[slot_of(name, hash)];
    if (slot.code >= 0) return slot.code;
    const std::int64_t code = size();
    text_.insert(text_.end(), name.begin(), name.end());
    ends_.push_back(static_cast<std::int64_t>(text_.size()));
    slot = {hash, static_cast<std::int32_t>(code)};
    if (ends_.size() * 2 > slots_.size()) grow();
    return code;
}

void NameTable::grow() {
    decltype(slots_) old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.code < 0) continue;
        std::size_t at = first_slot(slot.hash);
        while (slots_[at].code >= 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

}  // namespace truerank
