// Runs families of tests: `truerank_tests [FAMILY [INSTRUCTION-SET]]`. Without a name all families run, those of
// kernels under every instruction set. The exit status is 77 if this machine does not have the set.
#include <cstring>

#include "kernels/simd.hpp"
#include "tests/tests.hpp"

namespace {

using namespace truerank;

struct Family {
    const char* name;
    bool of_kernels;  // instruction sets matter to these alone
    void (*check)(tests::Checks& checks);
};
constexpr Family kFamilies[] = {
    {"count", true, tests::check_count},        {"similarity", true, tests::check_similarity},
    {"rank", true, tests::check_rank},          {"vectors", true, tests::check_vectors},
    {"maxima", true, tests::check_maxima},      {"levels", true, tests::check_levels},
    {"bounds", true, tests::check_bounds},      {"files", false, tests::check_files},
    {"integers", false, tests::check_integers}, {"selections", false, tests::check_selections},
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

int main(int argument_count, char** arguments) {
    const char* const family_name = argument_count > 1 ? arguments[1] : nullptr;
    const char* set_name = argument_count > 2 ? arguments[2] : nullptr;
    if (set_name != nullptr && choose_isa(set_name)) set_name = isa_name();  // "baseline" is a name of the first
    int run = 0, failed = 0;
    bool known = false;
    for (const Family& family : kFamilies) {
        if (family_name != nullptr && std::strcmp(family_name, family.name) != 0) continue;
        known = true;
        for (const std::string& set : usable_isas()) {
            if (set_name != nullptr && set != set_name) continue;
            ++run;
            failed += fails(family, set);
            if (!family.of_kernels) break;
        }
    }
    if (!known) {
        std::printf("%s: no such family\n", family_name);
        return 2;
    }
    if (run == 0) {
        std::printf("%s: not on this machine\n", set_name);
        return kSkipped;
    }
    return failed > 0;
}
