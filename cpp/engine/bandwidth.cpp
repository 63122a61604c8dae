#include "engine/bandwidth.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "engine/threads.hpp"
#include "kernels/simd.hpp"

namespace truerank {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
constexpr std::size_t kAhead = 1024;  // bytes that are fetched ahead of those that are read

template <int Bytes>
TRUERANK_INLINE std::uint64_t read_body(const char* data, std::size_t n) {
    using Vector = typename Simd<std::uint64_t, Bytes>::type;
    using Loose __attribute__((aligned(1))) = typename Simd<std::uint64_t, Bytes>::loose;
    constexpr std::size_t lanes = Bytes / sizeof(std::uint64_t);
    Vector any[4] = {};
    std::size_t i = 0;
    for (; i + 4 * Bytes <= n; i += 4 * Bytes) {
        for (std::size_t line = 0; line < 4 * Bytes; line += 64) fetch(place(data + i, line + kAhead));
        for (std::size_t v = 0; v < 4; ++v) any[v] |= *reinterpret_cast<const Loose*>(data + i + v * Bytes);
    }
    const Vector all = any[0] | any[1] | any[2] | any[3];
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

using Read = std::uint64_t (*)(const char*, std::size_t);
constexpr Read kReads[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute) name::read,
    TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
};

}  // namespace

std::uint64_t read_pass(const char* data, std::int64_t bytes, int threads, bool (*interrupted)()) {
    const Read read = kReads[static_cast<int>(isa())];
    const std::int64_t pieces = divide_up(bytes, kPieceBytes);
    std::atomic<std::uint64_t> words{0};
    const Team team(threads, pieces);
    parallel_for(team, pieces, interrupted, [&](std::int64_t piece, int, Stop&) {
        const std::int64_t begin = piece * kPieceBytes, end = std::min(bytes, begin + kPieceBytes);
        words.fetch_or(read(data + begin, static_cast<std::size_t>(end - begin)), std::memory_order_relaxed);
    });
    return words.load();
}

}  // namespace truerank
