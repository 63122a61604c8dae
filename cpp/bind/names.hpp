// Tables of names that Python holds.
#pragma once

#include <mutex>
#include <vector>

#include "bind/calls.hpp"
#include "engine/names.hpp"

namespace truerank::bind {

// Names may be asked for, and added, by one thread at a time: the others wait for the mutex, and hold the GIL
// meanwhile. Nothing is done with the mutex that may give up the GIL.
struct SharedNames {
    NameTable table;
    std::mutex mutex;
};

// Locks the mutexes of some tables, each once and in an order that all threads keep.
std::vector<std::unique_lock<std::mutex>> lock_all(std::vector<SharedNames*> tables);

// The names that a table has now; it may get more meanwhile, and keeps these.
py::tuple names_of(SharedNames& names);

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::SharedNames);
