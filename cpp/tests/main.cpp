// Runs families of tests: `truerank_tests [FAMILY [INSTRUCTION-SET]]`, all of them unless they are named, and those of
// kernels under every instruction set. 77 says that this machine does not have the set.
#include <cstring>

#include "kernels/simd.hpp"
#include "tests/tests.hpp"

namespace {

using namespace truerank;

struct Family {
    const char* name;
    bool of_kernels;  // else no instruction set matters
    void (*check)(tests::Checks& checks);
};
constexpr Family kFamilies[] = {
    {"count", true, tests::check_count},
    {"similarity", true, tests::check_similarity},
    {"rank", true, tests::check_rank},
    {"vectors", true, tests::check_vectors},
    {"selections", false, tests::check_selections},
    {"threads", false, tests::check_threads},
};
constexpr int kSkipped = 77;

bool fails(const Family& family, const std::string& set) {
    tests::Checks checks;
    choose_isa(set.c_str());
    family.check(checks);
    std::printf("%s, %s: %lld checks, %lld failed\n", family.name, set.c_str(), static_cast<long long>(checks.made()),
                static_cast<long long>(checks.failed()));
    std::fflush(stdout);
    return checks.made() == 0 || checks.failed() > 0;
}

}  // namespace

int main(int arguments, char** argument) {
    const char* const family_wanted = arguments > 1 ? argument[1] : nullptr;
    const char* const set_wanted = arguments > 2 ? argument[2] : nullptr;
    int run = 0, failed = 0;
    bool known = false;
    for (const Family& family : kFamilies) {
        if (family_wanted != nullptr && std::strcmp(family_wanted, family.name) != 0) continue;
        known = true;
        for (const std::string& set : usable_isas()) {
            if (set_wanted != nullptr && set != set_wanted) continue;
            ++run;
            failed += fails(family, set);
            if (!family.of_kernels) break;
        }
    }
    if (!known) {
        std::printf("%s: no such family\n", family_wanted);
        return 2;
    }
    if (run == 0) {
        std::printf("%s: not on this machine\n", set_wanted);
        return kSkipped;
    }
    return failed > 0;
}
