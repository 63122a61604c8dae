// Rows of text: facts, judgements, runs, lists. Names become codes; numbers are exact.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/names/names.hpp"

namespace truerank {

// A text without the blanks at its ends.
inline std::string_view trim(std::string_view text, std::string_view blanks) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// A line that is not as it has to be: its number in its block, from 0, and what is wrong.
struct LineFault {
    std::int64_t line = -1;
    const char* problem = nullptr;
};

// Reads a number that is not of a plain decimal form; false for anything but a number.
using ParseNumber = bool (*)(std::string_view text, double& value);

// Which fields of a row are what, counted from 0.
struct RowForm {
    static constexpr int kNone = -1;
    int width;               // how many fields there are
    std::vector<int> names;  // the fields that are names
    int needed = 0;          // how many of them, from the first on, may not be empty
    int value = kNone;       // the number, if any is
    bool tabs = false;       // whether tabs alone stand between fields; else blanks and tabs
    bool tab_lines = false;  // whether a line of tabs alone is a row; else it is skipped, as one of blanks is
};

// The rows of a text: for each field of names the codes, and the numbers.
struct NamedRows {
    std::vector<std::vector<std::int32_t>> codes;
    std::vector<double> values;  // scores, or relevance; none without a field of numbers
};

// Reads whole lines. The names of each field are added to its table, which fields may share. Empty lines are skipped.
LineFault read_rows(std::string_view text, const RowForm& form, std::span<NameTable* const> tables,
                    ParseNumber otherwise, NamedRows& rows);

}  // namespace truerank
