#include "engine/names/names.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace truerank {
namespace {

constexpr std::int64_t kMostNames = 2'147'483'600;  // codes have 32 bits, and a line adds at most three names
constexpr std::size_t kTogether = 64;               // names whose places are fetched at a time
constexpr std::size_t kFewestNames = 682;           // that a table has room for

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

// The last eight bytes of a name, or all that it has: read at once if there are at least four, else one by one.
std::uint64_t last_bytes(std::string_view name) {
    const std::size_t size = name.size();
    const char* const data = name.data();
    if (size >= 8) return load<std::uint64_t>(data + size - 8);
    if (size >= 4) return load<std::uint32_t>(data) | std::uint64_t{load<std::uint32_t>(data + size - 4)} << 32;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < size; ++i) bytes = bytes << 8 | static_cast<unsigned char>(data[i]);
    return bytes;
}

}  // namespace

std::uint64_t hash_of(std::string_view name) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
    std::uint64_t hash = kOdd * (name.size() + 1);  // names of unlike sizes may end in the same bytes
    for (std::size_t at = 0; at + 8 < name.size(); at += 8) {
        hash = mix(hash ^ load<std::uint64_t>(name.data() + at)) * kOdd;
    }
    return mix(mix(hash ^ last_bytes(name)) * kOdd);
}

NameTable::NameTable(std::size_t names) : codes_(std::max(kFewestNames, names)) { ends_.reserve(names); }

bool NameTable::has_room(std::size_t more) const { return size() + static_cast<std::int64_t>(more) < kMostNames; }

std::string_view NameTable::name(std::int64_t code) const {
    const auto at = static_cast<std::size_t>(code);
    const auto begin = static_cast<std::size_t>(at == 0 ? 0 : ends_[at - 1]);
    return {text_.data() + begin, static_cast<std::size_t>(ends_[at]) - begin};
}

// Calls take(i, hash of name i) for all names, some at a time: what it looks up for them is on its way to the cache
// then. In a large table each look-up waits for memory.
template <class Take>
void NameTable::for_fetched(std::span<const std::string_view> names, const Take& take) const {
    std::array<std::uint64_t, kTogether> hashes;
    for (std::size_t begin = 0; begin < names.size(); begin += kTogether) {
        const std::size_t size = std::min(kTogether, names.size() - begin);
        for (std::size_t i = 0; i < size; ++i) {
            hashes[i] = hash_of(names[begin + i]);
            codes_.prefetch(hashes[i]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t code = codes_.likely_place(hashes[i]);
            if (code >= 0) __builtin_prefetch(&ends_[static_cast<std::size_t>(code)]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t code = codes_.likely_place(hashes[i]);
            if (code >= 0) __builtin_prefetch(name(code).data());
        }
        for (std::size_t i = 0; i < size; ++i) take(begin + i, hashes[i]);
    }
}

void NameTable::add_codes(std::span<const std::string_view> names, std::int32_t* codes) {
    for_fetched(names, [&](std::size_t i, std::uint64_t hash) {
        const std::string_view name = names[i];
        const std::int64_t next = size();
        const std::int64_t code =
            codes_.place_or_add(hash, next, [&](std::int64_t known) { return this->name(known) == name; });
        codes[i] = static_cast<std::int32_t>(code);
        if (code != next) return;
        text_.insert(text_.end(), name.begin(), name.end());
        ends_.push_back(static_cast<std::int64_t>(text_.size()));
    });
}

void NameTable::find_codes(std::span<const std::string_view> names, std::int32_t* codes) const {
    for_fetched(names, [&](std::size_t i, std::uint64_t hash) {
        const auto is_at = [&](std::int64_t known) { return name(known) == names[i]; };
        codes[i] = static_cast<std::int32_t>(codes_.place(hash, is_at));
    });
}

}  // namespace truerank
