// Integers: where they stand among others, beside a map; and the table of places that integers and names share.
#include "engine/names/integers.hpp"

#include <limits>
#include <optional>
#include <span>
#include <unordered_map>

#include "engine/names/hash_table.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

// Integers in steps, from few distinct ones to many, and the extremes among them.
std::vector<std::int64_t> random_integers(std::size_t size, std::int64_t distinct, std::int64_t step, Random& random) {
    std::vector<std::int64_t> values(size);
    for (std::int64_t& value : values) value = (random.below(distinct) - distinct / 2) * step;
    if (size > 2 && step > 1) {
        values[size / 2] = std::numeric_limits<std::int64_t>::min();
        values[size / 3] = std::numeric_limits<std::int64_t>::max();
    }
    return values;
}

void check_table(Checks& checks, const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& sought) {
    std::unordered_map<std::int64_t, std::int64_t> first;
    for (std::size_t i = 0; i < values.size(); ++i) first.emplace(values[i], static_cast<std::int64_t>(i));
    const IntegerTable table(values);
    IntegerRange range;
    range.add(values);
    std::optional<RangeTable> small_table;
    if (range.is_empty() || range.place(range.largest) < (std::uint64_t{1} << 24)) {
        small_table.emplace(range);
        const std::size_t half = values.size() / 2;
        small_table->add(std::span(values).first(half));
        small_table->add(std::span(values).subspan(half));
    }
    for (const auto& asked : {values, sought}) {
        std::vector<std::int64_t> positions(asked.size(), -2);
        table.find(asked, positions.data());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto found = first.find(asked[i]);
            checks.expect(positions[i] == (found == first.end() ? -1 : found->second), "find %lld among %zu",
                          static_cast<long long>(asked[i]), values.size());
        }
        if (!small_table) continue;
        std::vector<std::int64_t> places(asked.size(), -2);
        small_table->find(asked, places.data());
        checks.expect(places == positions, "find in a range of %zu", values.size());
    }
}

// A table that grows finds what it had, and says of each hash that it is new once. Hashes have all bits, or share those
// that name a slot.
void check_growth(Checks& checks, std::uint64_t unlike_bits) {
    Random random;
    PlaceTable table;
    std::vector<std::uint64_t> hashes;
    const auto is_at = [&](std::uint64_t hash) {
        return [&, hash](std::int64_t place) { return hashes[static_cast<std::size_t>(place)] == hash; };
    };
    bool right = true;
    for (std::int64_t i = 0; i < 3000; ++i) {
        const std::uint64_t hash = random.bits() & unlike_bits;
        const std::int64_t known = table.place(hash, is_at(hash));
        hashes.push_back(hash);
        const std::int64_t place = table.place_or_add(hash, i, is_at(hash));
        right = right && place == (known < 0 ? i : known) && hashes[static_cast<std::size_t>(place)] == hash;
        for (std::size_t j = 0; j < hashes.size(); j += 97) {
            const std::int64_t found = table.place(hashes[j], is_at(hashes[j]));
            right = right && found >= 0 && found < std::ssize(hashes);
            right = right && hashes[static_cast<std::size_t>(found)] == hashes[j];
        }
        if (!right) break;
    }
    checks.expect(right, "a table that grew, of hashes with the bits %llx",
                  static_cast<unsigned long long>(unlike_bits));
}

}  // namespace

void check_integers(Checks& checks) {
    Random random;
    for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 2, 10, 11, 63, 64, 65, 1000, 100'000}) {
        for (const std::int64_t distinct : {1, 7, 1000, 1'000'000}) {
            for (const std::int64_t step : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 43}) {
                const std::vector<std::int64_t> values = random_integers(size, distinct, step, random);
                check_table(checks, values, random_integers(777, 2 * distinct, step, random));
            }
        }
    }
    for (const std::uint64_t unlike_bits : {~std::uint64_t{0}, ~std::uint64_t{0} >> 20, ~std::uint64_t{0} << 20}) {
        check_growth(checks, unlike_bits);
    }
}

}  // namespace truerank::tests
