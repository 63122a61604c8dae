// Tiles of AMX on a processor without them: what its instructions do, in the handler of the signal that they raise.
//
// So the assembly of kernels/tiles.hpp is tested wherever AVX-512 is: each instruction is read as the processor reads
// it, byte by byte, and carried out as Intel's manual says. It is slow, a microsecond and more for each.
#pragma once

#if defined(TRUERANK_X86_SETS) && defined(__linux__)
#define TRUERANK_AMX_EMULATOR

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace truerank::tests {

class AmxEmulator {
  public:
    AmxEmulator() {
        struct sigaction action = {};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGILL, &action, &before_);
    }
    ~AmxEmulator() { sigaction(SIGILL, &before_, nullptr); }
    AmxEmulator(const AmxEmulator&) = delete;
    AmxEmulator& operator=(const AmxEmulator&) = delete;

    // Whether this thread's tiles have a shape, and how many instructions it has carried out.
    static bool is_configured() { return state().is_configured; }
    static std::int64_t instructions() { return state().instructions; }

  private:
    static constexpr int kRows = 16, kBytes = 64;
    struct State {
        bool is_configured = false;
        std::int64_t instructions = 0;
        std::uint8_t rows[8] = {};
        std::uint16_t row_bytes[8] = {};
        unsigned char tiles[8][kRows][kBytes] = {};
    };
    static State& state() {
        static thread_local State state;
        return state;
    }
    static void handle(int, siginfo_t*, void* context) {
        mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
        const auto* at = reinterpret_cast<const unsigned char*>(machine.gregs[REG_RIP]);
        const unsigned char* const next = carry_out(machine, at);
        if (next == nullptr) std::abort();  // an instruction that the processor lacks, or one of tiles that faults
        machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(next);
        ++state().instructions;
    }
    static std::uint64_t number(const mcontext_t& machine, unsigned number) {
        constexpr int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
        return static_cast<std::uint64_t>(machine.gregs[registers[number]]);
    }

    // Carries out the instruction, and returns where the next one is; null if it is none of tiles.
    static const unsigned char* carry_out(const mcontext_t& machine, const unsigned char* at) {
        // A VEX prefix of three bytes, map 0F38, with 128 bits: C4, inverted R X B and the map, W, inverted vvvv, L,
        // pp.
        if (at[0] != 0xC4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0) return nullptr;
        const unsigned x = at[1] & 0x40 ? 0 : 8, b = at[1] & 0x20 ? 0 : 8, prefix = at[2] & 3;
        const unsigned other = ~static_cast<unsigned>(at[2]) >> 3 & 15, opcode = at[3], mode = at[4] >> 6;
        const unsigned reg = at[4] >> 3 & 7, rm = at[4] & 7;
        if ((at[1] & 0x80) == 0) return nullptr;  // there are eight tiles
        State& all = state();
        if (opcode == 0x49 && mode == 3) {                                // of registers
            if (prefix == 0 && at[4] == 0xC0) all.is_configured = false;  // tilerelease
            if (prefix == 3 && all.is_configured) std::memset(all.tiles[reg], 0, sizeof all.tiles[reg]);
            return (prefix == 0 && at[4] == 0xC0) || (prefix == 3 && all.is_configured) ? at + 5 : nullptr;
        }
        if (opcode == 0x5E && mode == 3) {
            if (!all.is_configured || other > 7 || reg == rm || reg == other || rm == other) return nullptr;
            multiply(all, reg, rm, other, prefix >= 2, prefix % 2 != 0);
            return at + 5;
        }
        // Of memory: a base, an index, and a displacement.
        if (mode == 3) return nullptr;
        const unsigned char* next = at + 5;
        std::uint64_t base = 0, index = 0;
        if (rm == 4) {
            const unsigned sib = *next++;
            if ((sib & 7) == 5 && mode == 0) return nullptr;
            base = number(machine, (sib & 7) + b);
            if ((sib >> 3 & 7) + x != 4) index = number(machine, (sib >> 3 & 7) + x) << (sib >> 6);
        } else {
            if (rm == 5 && mode == 0) return nullptr;
            base = number(machine, rm + b);
        }
        if (mode == 1) base += static_cast<std::uint64_t>(static_cast<std::int8_t>(*next++));
        if (mode == 2) {
            std::int32_t displacement;
            std::memcpy(&displacement, next, sizeof displacement);
            base += static_cast<std::uint64_t>(displacement);
            next += 4;
        }
        if (opcode == 0x49 && prefix == 0 && reg == 0) {
            return configure(all, reinterpret_cast<const unsigned char*>(base + index)) ? next : nullptr;
        }
        if (opcode != 0x4B || rm != 4 || !all.is_configured) return nullptr;
        for (unsigned row = 0; row < all.rows[reg]; ++row) {
            auto* const memory = reinterpret_cast<unsigned char*>(base + row * index);
            const std::size_t bytes = all.row_bytes[reg];
            if (prefix == 3) {  // tileloadd, which sets what is beyond its shape to 0
                std::memset(all.tiles[reg][row], 0, kBytes);
                std::memcpy(all.tiles[reg][row], memory, bytes);
            } else if (prefix == 2) {  // tilestored
                std::memcpy(memory, all.tiles[reg][row], bytes);
            } else {
                return nullptr;
            }
        }
        return next;
    }
    static bool configure(State& all, const unsigned char* from) {
        if (from[0] != 1 || from[1] != 0) return false;  // palette 1, from the first row on
        for (int i = 2; i < 16; ++i) {
            if (from[i] != 0) return false;
        }
        for (int tile = 0; tile < 16; ++tile) {
            std::uint16_t row_bytes;
            std::memcpy(&row_bytes, from + 16 + 2 * tile, sizeof row_bytes);
            const std::uint8_t rows = from[48 + tile];
            if (row_bytes > (tile < 8 ? kBytes : 0) || rows > (tile < 8 ? kRows : 0)) return false;
            if ((row_bytes == 0) != (rows == 0)) return false;
            if (tile >= 8) continue;
            all.row_bytes[tile] = row_bytes;
            all.rows[tile] = rows;
        }
        std::memset(all.tiles, 0, sizeof all.tiles);
        return all.is_configured = true;
    }
    // sums[m][n] += a[m][4 k + i] * b[k][4 n + i], with signs or without. The prefixes of tdpbuud, tdpbusd, tdpbsud and
    // tdpbssd are none, 66, F3 and F2.
    static void multiply(State& all, unsigned sum, unsigned a, unsigned b, bool is_a_signed, bool is_b_signed) {
        for (unsigned m = 0; m < all.rows[sum]; ++m) {
            for (unsigned k = 0; k < all.row_bytes[a] / 4u; ++k) {
                for (unsigned n = 0; n < all.row_bytes[sum] / 4u; ++n) {
                    std::uint32_t total;
                    std::memcpy(&total, all.tiles[sum][m] + 4 * n, sizeof total);
                    for (unsigned i = 0; i < 4; ++i) {
                        const unsigned char x = all.tiles[a][m][4 * k + i], y = all.tiles[b][k][4 * n + i];
                        const int of_a = is_a_signed ? static_cast<std::int8_t>(x) : x;
                        const int of_b = is_b_signed ? static_cast<std::int8_t>(y) : y;
                        total += static_cast<std::uint32_t>(of_a * of_b);
                    }
                    std::memcpy(all.tiles[sum][m] + 4 * n, &total, sizeof total);
                }
            }
        }
    }

    struct sigaction before_ = {};
};

}  // namespace truerank::tests

#endif
