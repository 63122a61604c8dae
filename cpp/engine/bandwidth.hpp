// A pass over memory that does as little as possible: counting is measured against it.
#pragma once

#include <cstdint>

namespace truerank {

// Returns all 64-bit words of the data, ORed together; bytes after the last whole word are left out.
std::uint64_t read_pass(const char* data, std::int64_t bytes, int threads, bool (*interrupted)());

}  // namespace truerank
