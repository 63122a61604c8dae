#include "engine/bandwidth.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "engine/threads.hpp"
#include "kernels/simd.hpp"

namespace truerank {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;
constexpr std::size_t kAheadBytes = 1024;  // how far ahead of the bytes that are read

template <int Bytes>
TRUERANK_INLINE std::uint64_t read_body(const char* data, std::size_t n) {
    using Vector = typename Simd<std::uint64_t, Bytes>::type;
    using Unaligned __attribute__((aligned(1))) = typename Simd<std::uint64_t, Bytes>::unaligned;
    constexpr std::size_t lanes = Bytes / sizeof(std::uint64_t);
    Vector bits[4] = {};
    std::size_t i = 0;
    for (; i + 4 * Bytes <= n; i += 4 * Bytes) {
        for (std::size_t line = 0; line < 4 * Bytes; line += 64) prefetch(address_after(data + i, line + kAheadBytes));
        for (std::size_t v = 0; v < 4; ++v) bits[v] |= *reinterpret_cast<const Unaligned*>(data + i + v * Bytes);
    }
    const Vector all = bits[0] | bits[1] | bits[2] | bits[3];
    std::uint64_t words = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) words |= all[lane];
    for (; i + sizeof words <= n; i += sizeof words) {
        std::uint64_t word;
        __builtin_memcpy(&word, data + i, sizeof word);
        words |= word;
    }
    return words;
}

#define TRUERANK_WRAP(name, width, several, fused, attribute)                                           \
    namespace name {                                                                                    \
    attribute std::uint64_t read(const char* data, std::size_t n) { return read_body<width>(data, n); } \
    }
TRUERANK_FOR_EACH_ISA(TRUERANK_WRAP)
#undef TRUERANK_WRAP

using ReadFunction = std::uint64_t (*)(const char*, std::size_t);
constexpr ReadFunction kReadFunctions[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute) name::read,
    TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
};

}  // namespace

std::uint64_t read_pass(const char* data, std::int64_t bytes, int threads, bool (*interrupted)()) {
    const ReadFunction read = kReadFunctions[static_cast<int>(isa())];
    const std::int64_t chunks = divide_up(bytes, kChunkBytes);
    std::atomic<std::uint64_t> words{0};
    const Team team(threads, chunks);
    parallel_for(team, chunks, interrupted, [&](std::int64_t chunk, int, Stop&) {
        const std::int64_t begin = chunk * kChunkBytes, end = std::min(bytes, begin + kChunkBytes);
        words.fetch_or(read(data + begin, static_cast<std::size_t>(end - begin)), std::memory_order_relaxed);
    });
    return words.load();
}

}  // namespace truerank
