// Tiles: registers of 16 rows of 64 bytes, of which AMX multiplies two and adds the products to a third.
//
// An operand of queries has a query in each row, 64 levels of it; one of candidates has 4 levels of each candidate in a
// row, as panels have them. The product has a sum of 32 bits for each query and candidate. PlainTiles does the same in
// plain C++, in any width of panels, so that what is made of tiles is tested on every machine: builds for tests have it
// (TRUERANK_PLAIN_TILES of CMakeLists.txt), and no wheel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/unit.hpp"

namespace truerank {
namespace {

constexpr std::size_t kTileRows = 16, kTileBytes = 64;

// Tile t: 0 to 3 are sums, 4 and 5 of queries, 6 and 7 of candidates.
#if defined(TRUERANK_PLAIN_TILES)
template <std::size_t Columns>
struct PlainTiles {
    static constexpr std::size_t columns = Columns;
    static void begin() {}
    static void end() {}

    std::int32_t sums[4][kTileRows][Columns];
    unsigned char queries[2][kTileRows][kTileBytes];
    unsigned char candidates[2][kTileRows][Columns * 4];

    template <int Tile>
    void zero() {
        std::memset(sums[Tile], 0, sizeof sums[Tile]);
    }
    // Starts all rows of sums with the same numbers.
    template <int Tile>
    void start(const std::int32_t* from) {
        for (auto& row : sums[Tile]) std::memcpy(row, from, sizeof row);
    }
    template <int Tile>
    void load(const unsigned char* from, std::size_t stride) {
        for (std::size_t i = 0; i < kTileRows; ++i, from += stride) {
            if constexpr (Tile < 6) {
                std::memcpy(queries[Tile - 4][i], from, kTileBytes);
            } else {
                std::memcpy(candidates[Tile - 6][i], from, Columns * 4);
            }
        }
    }
    // Of bytes with a sign (int8) or without one (uint8).
    template <int Sum, int Queries, int Candidates, class Query = std::int8_t, class Candidate = std::int8_t>
    void add_products() {
        const auto& q = queries[Queries - 4];
        const auto& e = candidates[Candidates - 6];
        for (std::size_t i = 0; i < kTileRows; ++i) {
            for (std::size_t k = 0; k < kTileBytes; ++k) {
                const int of_query = static_cast<Query>(q[i][k]);
                for (std::size_t j = 0; j < Columns; ++j) {
                    sums[Sum][i][j] += of_query * static_cast<Candidate>(e[k / 4][4 * j + k % 4]);
                }
            }
        }
    }
    template <int Tile>
    void store(std::int32_t* to, std::size_t stride) const {
        for (std::size_t i = 0; i < kTileRows; ++i) std::memcpy(to + i * stride, sums[Tile][i], sizeof sums[Tile][i]);
    }
};

#endif

#if defined(__AVX512F__) && defined(__linux__)
#define TRUERANK_AMX_TILES

// Set: AMX-TILE and AMX-INT8. Assembly, which every compiler takes without a flag: GCC's intrinsics are the same.
struct AmxTiles {
    static constexpr std::size_t columns = 16;
    // Tiles have a shape, and are the thread's, until end().
    static void begin() {
        struct alignas(64) Shapes {
            std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
            std::uint16_t row_bytes[16] = {};
            std::uint8_t rows[16] = {};
        };
        Shapes shapes;
        for (int i = 0; i < 8; ++i) {
            shapes.row_bytes[i] = kTileBytes;
            shapes.rows[i] = kTileRows;
        }
        __asm__ volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
    }
    static void end() { __asm__ volatile("tilerelease" ::: "memory"); }

    template <int Tile>
    TRUERANK_INLINE void zero() {
        __asm__ volatile("tilezero %%tmm%c0" ::"i"(Tile));
    }
    template <int Tile>
    TRUERANK_INLINE void start(const std::int32_t* from) {
        load<Tile>(reinterpret_cast<const unsigned char*>(from), 0);
    }
    template <int Tile>
    TRUERANK_INLINE void load(const unsigned char* from, std::size_t stride) {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(Tile) : "memory");
    }
    template <int Sum, int Queries, int Candidates, class Query = std::int8_t, class Candidate = std::int8_t>
    TRUERANK_INLINE void add_products() {
        constexpr bool is_query_signed = std::is_signed_v<Query>, is_candidate_signed = std::is_signed_v<Candidate>;
        if constexpr (is_query_signed && is_candidate_signed) {
            __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Queries), "i"(Candidates));
        } else if constexpr (is_query_signed) {
            __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Queries), "i"(Candidates));
        } else if constexpr (is_candidate_signed) {
            __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Queries), "i"(Candidates));
        } else {
            __asm__ volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Queries), "i"(Candidates));
        }
    }
    template <int Tile>
    TRUERANK_INLINE void store(std::int32_t* to, std::size_t stride) const {
        __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride * sizeof *to), "i"(Tile) : "memory");
    }
};
#endif

}  // namespace
}  // namespace truerank
