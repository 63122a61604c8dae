// The least that a pass over memory can cost: what counting is measured against.
#pragma once

#include <cstdint>

namespace truerank {

// All 64-bit words of a block, ORed together; bytes after the last whole word are left out.
std::uint64_t read_pass(const char* data, std::int64_t bytes, int threads, bool (*interrupted)());

}  // namespace truerank
