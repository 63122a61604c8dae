// Lists of scored candidates in text: TREC runs, and predictions of rules. Names become codes; numbers are exact.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace truerank {

// Distinct names, numbered in the order in which they first occur.
class NameTable {
  public:
    NameTable();
    std::int64_t code(std::string_view name) { return code(name, hash_of(name)); }  // a new name is added
    // Adds the codes of names. The places of several names at a time are fetched while they are hashed: in a large
    // table, each look-up waits for memory.
    void add_codes(const std::vector<std::string_view>& names, std::vector<std::int32_t>& codes);
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
    std::string_view name(std::int64_t code) const;

  private:
    // Small, so that more of them stay in the cache; there are fewer than 2^31 names.
    struct Slot {
        std::uint32_t hash = 0;
        std::int32_t code = -1;
    };
    static std::uint32_t hash_of(std::string_view name);
    std::int64_t code(std::string_view name, std::uint32_t hash);
    void grow();
    std::vector<char> text_;          // all names, one after another
    std::vector<std::int64_t> ends_;  // of each name in the text
    std::vector<Slot> slots_;         // open addressing, at most half full
};

// Whether so many more names find room; what is said otherwise.
bool has_room(const NameTable& names, std::size_t more = 0);
constexpr const char* kTooManyNames = "expected at most 2,147,483,600 names";

// A line that is not as it has to be: its number in its block, from 0, and what is wrong.
struct LineFault {
    std::int64_t line = -1;
    const char* problem = nullptr;
};

// Reads a number that is not of a plain decimal form; false for anything but a number.
using ParseNumber = bool (*)(std::string_view text, double& value);

// Exact for decimals of up to 15 digits and small exponents, which it reads by itself.
bool parse_number(std::string_view text, ParseNumber otherwise, double& value);

// The rows of a run, `qid Q0 docid rank score tag`, or of judgements, `qid iteration docid relevance`. Blanks and tabs
// stand between fields.
template <class Value>
struct NamedRows {
    std::vector<std::int32_t> queries, documents;
    std::vector<Value> values;  // scores, or relevance
};

// Read whole lines, and add their names and rows; empty lines are skipped.
LineFault read_run(std::string_view text, NameTable& queries, NameTable& documents, ParseNumber otherwise,
                   NamedRows<double>& rows);
LineFault read_judged(std::string_view text, NameTable& queries, NameTable& documents, NamedRows<std::int64_t>& rows);

// Predictions in blocks of three lines: `head relation tail`, `Heads: name score name score ...`, `Tails: ...`. Tabs
// stand between the names and scores of a list; tabs, or else blanks, between those of a triple. Of each list there is
// whether it is of heads (0) or of tails (1), and its length.
struct PredictionRows {
    std::vector<std::int32_t> triples;  // head, relation, tail
    std::vector<std::int8_t> sides;
    std::vector<std::int64_t> lengths;
    std::vector<std::int32_t> candidates;
    std::vector<double> scores;
};

// Where in a block of three lines a reader is, which goes on from text to text.
struct PredictionState {
    int line = 0;            // 0: a triple comes next
    std::int8_t first = -1;  // the side of the first list
};

LineFault read_predictions(std::string_view text, bool scored, PredictionState& state, NameTable& entities,
                           NameTable& relations, ParseNumber otherwise, PredictionRows& rows);

}  // namespace truerank
