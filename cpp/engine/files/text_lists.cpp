#include "engine/files/text_lists.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

namespace truerank {
namespace {

constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kExactDigits = 15;  // every integer of so many digits is a double

constexpr const char* kWidth = "expected another number of fields";
constexpr const char* kNoScore = "expected a number as the score";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Calls read_line(line) for every line that has more than blanks, until it returns a problem.
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

bool skip(std::string_view& text, char c) {
    const bool is_first = text.starts_with(c);
    if (is_first) text.remove_prefix(1);
    return is_first;
}

// A decimal without its sign: `digits` is all of them as an integer, `significant` how many there are from the first on
// that is not 0, and `places` how many of them come after the point.
struct Decimal {
    bool has_digits = false;
    std::uint64_t digits = 0;
    int significant = 0, places = 0;
};

// Reads a decimal from the front of a text, up to one digit more than are exact, and removes what it has read.
Decimal read_decimal(std::string_view& text) {
    Decimal decimal;
    bool has_point = false;
    for (; !text.empty() && decimal.significant <= kExactDigits; text.remove_prefix(1)) {
        const char c = text[0];
        if (c == '.' && !has_point) {
            has_point = true;
        } else if (is_digit(c)) {
            decimal.has_digits = true;
            decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(c - '0');
            decimal.significant += decimal.digits != 0;
            decimal.places += has_point;
        } else {
            break;
        }
    }
    return decimal;
}

// The same of an exponent: 0, and nothing is removed, if there is none of at most three digits.
int read_exponent(std::string_view& text) {
    std::string_view rest = text;
    if (!skip(rest, 'e') && !skip(rest, 'E')) return 0;
    const bool is_negative = skip(rest, '-');
    if (!is_negative) skip(rest, '+');
    if (rest.empty() || rest.size() > 3) return 0;
    int exponent = 0;
    for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1)) exponent = exponent * 10 + (rest[0] - '0');
    text = rest;
    return is_negative ? -exponent : exponent;
}

// Exact for decimals of up to 15 digits and small exponents, which it reads by itself.
bool parse_number(std::string_view text, ParseNumber otherwise, double& value) {
    std::string_view rest = text;
    const bool is_negative = skip(rest, '-');
    const Decimal decimal = read_decimal(rest);
    const int exponent = (decimal.has_digits ? read_exponent(rest) : 0) - decimal.places;
    const auto power_of_ten = static_cast<std::size_t>(std::abs(exponent));
    const bool is_decimal = decimal.has_digits && rest.empty();
    const bool is_exact = decimal.significant <= kExactDigits && power_of_ten < kPowersOfTen.size();
    if (!is_decimal || !is_exact) return otherwise(text, value);
    // An integer and a power of ten that are doubles: one operation rounds their product or quotient correctly.
    const auto digits = static_cast<double>(decimal.digits);
    const double power = kPowersOfTen[power_of_ten];
    value = exponent < 0 ? digits / power : digits * power;
    if (is_negative) value = -value;
    return true;
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
