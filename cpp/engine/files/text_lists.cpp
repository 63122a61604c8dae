#include "engine/files/text_lists.hpp"

#include <array>
#include <cstring>
#include <span>

namespace truerank {
namespace {

constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kExactDigits = 15;  // every integer of so many digits is a double

constexpr const char* kWidth = "expected another number of fields";
constexpr const char* kNoScore = "expected a number as the score";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Calls line(text) for every line that has more than blanks, until one returns a problem.
template <class Line>
LineFault for_lines(std::string_view text, const char* blanks, const Line& read_line) {
    std::int64_t number = 0;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const void* const newline = std::memchr(text.data() + begin, '\n', text.size() - begin);
        const std::size_t end = newline == nullptr
                                    ? text.size()
                                    : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
        const std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        if (line.find_first_not_of(blanks) == std::string_view::npos) continue;
        if (const char* const problem = read_line(line)) return {number, problem};
    }
    return {};
}

// Splits a line at blanks and tabs; returns how many fields there are, of which it keeps as many as find room.
std::size_t split(std::string_view line, std::span<std::string_view> fields) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < line.size();) {
        while (at < line.size() && is_blank(line[at])) ++at;
        if (at == line.size()) break;
        const std::size_t begin = at;
        while (at < line.size() && !is_blank(line[at])) ++at;
        if (count < fields.size()) fields[count] = line.substr(begin, at - begin);
        ++count;
    }
    return count;
}

// The same at tabs alone; blanks at the ends of a field are left out, and it may be empty.
std::size_t split_at_tabs(std::string_view line, std::span<std::string_view> fields) {
    std::size_t count = 0;
    while (true) {
        const std::size_t tab = line.find('\t');
        if (count < fields.size()) fields[count] = trim(line.substr(0, tab), " \t");
        ++count;
        if (tab == std::string_view::npos) return count;
        line.remove_prefix(tab + 1);
    }
}

// Exact for decimals of up to 15 digits and small exponents, which it reads by itself.
bool parse_number(std::string_view text, ParseNumber otherwise, double& value) {
    std::size_t at = 0;
    const bool negative = !text.empty() && text[0] == '-';
    if (negative) ++at;
    std::uint64_t digits = 0;
    int count = 0, places = 0;  // of digits without leading zeros; of decimal places
    bool any = false, point = false;
    for (; at < text.size() && count <= kExactDigits; ++at) {
        const char c = text[at];
        if (c == '.' && !point) {
            point = true;
        } else if (is_digit(c)) {
            any = true;
            digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
            count += digits != 0;
            places += point;
        } else {
            break;
        }
    }
    int exponent = 0;
    if (any && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        std::size_t digit = at + 1;
        const bool below = digit < text.size() && text[digit] == '-';
        if (digit < text.size() && (text[digit] == '-' || text[digit] == '+')) ++digit;
        if (digit < text.size() && text.size() - digit <= 3) {
            int size = 0;
            for (at = digit; at < text.size() && is_digit(text[at]); ++at) size = size * 10 + (text[at] - '0');
            exponent = below ? -size : size;
        }
    }
    exponent -= places;
    const int size = exponent < 0 ? -exponent : exponent;
    // An integer and a power of ten that are doubles: one operation rounds their product or quotient correctly.
    if (any && at == text.size() && count <= kExactDigits && size < static_cast<int>(kPowersOfTen.size())) {
        const double power = kPowersOfTen[static_cast<std::size_t>(size)];
        const auto whole = static_cast<double>(digits);
        value = exponent < 0 ? whole / power : whole * power;
        if (negative) value = -value;
        return true;
    }
    return otherwise(text, value);
}

}  // namespace

LineFault read_rows(std::string_view text, const RowForm& form, std::span<NameTable* const> tables,
                    ParseNumber otherwise, NamedRows& rows) {
    const auto width = static_cast<std::size_t>(form.width);
    const auto needed = static_cast<std::size_t>(form.needed);
    std::vector<std::string_view> fields(width);
    std::vector<std::vector<std::string_view>> names(form.names.size());
    std::size_t held = 0;
    const auto read_line = [&](std::string_view line) -> const char* {
        if ((form.tabs ? split_at_tabs(line, fields) : split(line, fields)) != width) return kWidth;
        for (std::size_t j = 0; j < names.size(); ++j) {
            if (j < needed && fields[static_cast<std::size_t>(form.names[j])].empty()) return kWidth;
            if (!tables[j]->has_room(held + names.size())) return NameTable::kTooMany;
        }
        if (form.value != RowForm::kNone) {
            double value;
            if (!parse_number(fields[static_cast<std::size_t>(form.value)], otherwise, value)) return kNoScore;
            rows.values.push_back(value);
        }
        for (std::size_t j = 0; j < names.size(); ++j) {
            names[j].push_back(fields[static_cast<std::size_t>(form.names[j])]);
        }
        held += names.size();
        return nullptr;
    };
    const LineFault fault = for_lines(text, form.tab_lines ? " " : " \t", read_line);
    // Column by column, for the places of several names are fetched at a time.
    for (std::size_t j = 0; j < names.size(); ++j) {
        std::vector<std::int32_t>& codes = rows.codes.emplace_back(names[j].size());
        tables[j]->add_codes(names[j], codes.data());
    }
    return fault;
}

}  // namespace truerank
