// What the machine is like: its instruction sets and its threads.
#include <pybind11/stl.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bind/calls.hpp"
#include "engine/bounds/bounds.hpp"
#include "engine/threads.hpp"
#include "kernels/simd.hpp"

namespace truerank::bind {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

void choose_by_environment() {
    const char* name = std::getenv("TRUERANK_ISA");
    if (!choose_isa(name)) {
        throw py::import_error("TRUERANK_ISA: expected an instruction set this machine can run (" +
                               join(usable_isas()) + "), got '" + name + "'");
    }
    const char* levels = std::getenv("TRUERANK_BOUNDS");
    if (!choose_levels(levels)) {
        const bool are_tiles = std::string(levels).starts_with(kLevelNames[static_cast<int>(Levels::tiles)]);
        throw py::import_error(
            "TRUERANK_BOUNDS: expected one that this machine can use (" + join(usable_levels()) + "), got '" + levels +
            (are_tiles ? "', which needs AMX, Linux that saves its tiles, and the instruction set avx512" : "'"));
    }
}

}  // namespace

void register_machine(py::module_& m) {
    choose_by_environment();
    guard_forks();
    m.attr("compiler") = kCompiler;
    m.def("isa", &isa_name, "The instruction set in use.");
    m.def("isas", &usable_isas, "The instruction sets that this machine can run.");
    m.def("bounds", &levels_name, "The levels that certified bounds use, or 'off'.");
    m.def("bounds_choices", &usable_levels, "The levels that this machine can use.");
    m.def(
        "choose_bounds", [](const std::string& name) { return choose_levels(name.c_str()); }, py::arg("name"),
        "Change the levels, for tests and benchmarks; returns whether this machine can use them. With '!' at the end, "
        "bounds are used wherever they hold, even where they do not gain.");
    m.def(
        "bounds_tally",
        [] {
            const BoundsTally tally = bounds_tally;
            return std::tuple(tally.pairs, tally.bounded, tally.open, tally.scored);
        },
        "Of all pairs of a task and a candidate in calls of this thread: how many there were; those that went by "
        "bounds; of these, those that levels left open; of these, those that had to be scored.");
    m.def("openmp", &has_openmp, "Whether the core was built with OpenMP.");
    m.def("default_threads", &default_threads, "The number of threads that a call takes by default.");
    m.def("use_default_arithmetic", &use_default_arithmetic,
          "Have this thread compute as IEEE 754 has it by default; returns what restore_arithmetic takes.");
    m.def("restore_arithmetic", &restore_arithmetic, py::arg("before"));
}

}  // namespace truerank::bind
