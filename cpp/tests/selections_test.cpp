// Selections: how lists are checked and sorted, and how they are searched.
#include "engine/selection.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

bool not_interrupted() { return false; }

template <class Index>
struct Lists {
    std::vector<std::int64_t> indptr{0};
    std::vector<Index> indices;
    Selection selection() const {
        Selection lists;
        lists.indptr = indptr.data();
        lists.indices = indices.data();
        lists.wide = sizeof(Index) == 8;
        lists.size = static_cast<std::int64_t>(indptr.size()) - 1;
        lists.entries = static_cast<std::int64_t>(indices.size());
        for (std::int64_t list = 0; list < lists.size; ++list) {
            lists.longest = std::max(lists.longest, lists.length(list));
        }
        return lists;
    }
    std::vector<Index> entries_of(std::size_t list) const {
        return {indices.begin() + indptr[list], indices.begin() + indptr[list + 1]};
    }
};

// Lists of many lengths, 0 among them. They are sorted and distinct, or neither.
template <class Index>
Lists<Index> random_lists(std::int64_t n, std::int64_t longest, std::int64_t bound, bool sorted, Random& random) {
    Lists<Index> lists;
    for (std::int64_t list = 0; list < n; ++list) {
        std::vector<Index> own(
            static_cast<std::size_t>(random.one_in(4) || bound == 0 ? 0 : random.below(longest + 1)));
        for (Index& index : own) index = static_cast<Index>(random.below(bound));
        if (sorted) {
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
        }
        lists.indices.insert(lists.indices.end(), own.begin(), own.end());
        lists.indptr.push_back(static_cast<std::int64_t>(lists.indices.size()));
    }
    return lists;
}

template <class Index>
void check_list_checks(Checks& checks, const Lists<Index>& lists, std::int64_t bound) {
    ListCheck expected;
    for (std::size_t i = lists.indices.size(); i > 0; --i) {
        const auto index = static_cast<std::int64_t>(lists.indices[i - 1]);
        if (index < 0 || index >= bound) expected.first_outside = static_cast<std::int64_t>(i) - 1;
    }
    for (std::size_t list = 0; list + 1 < lists.indptr.size(); ++list) {
        const std::vector<Index> own = lists.entries_of(list);
        expected.sorted =
            expected.sorted && std::adjacent_find(own.begin(), own.end(), std::greater_equal<>()) == own.end();
    }
    const ListCheck actual = check_lists(lists.selection(), bound, 2, not_interrupted);
    checks.expect(actual.first_outside == expected.first_outside &&
                      (expected.first_outside >= 0 || actual.sorted == expected.sorted),
                  "check_lists, %zu entries, bound %lld", lists.indices.size(), static_cast<long long>(bound));
}

template <class Index>
void check_list_sorting(Checks& checks, const Lists<Index>& lists, std::int64_t bound) {
    const Selection selection = lists.selection();
    std::vector<Index> indices(lists.indices.size(), -1);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(selection.size), -1);
    sort_lists(selection, indices.data(), lengths.data(), bound, 2, not_interrupted);
    for (std::size_t list = 0; list < lengths.size(); ++list) {
        std::vector<Index> expected = lists.entries_of(list);
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        checks.expect(lengths[list] == static_cast<std::int64_t>(expected.size()) &&
                          std::equal(expected.begin(), expected.end(), indices.begin() + lists.indptr[list]),
                      "sort_lists, list %zu of %lld", list, static_cast<long long>(selection.longest));
    }
}

// The check goes in chunks of so many entries: an index that is repeated, or lower than the one before it, exactly
// where a chunk begins and nowhere else. It may be lower where a list begins.
template <class Index>
void check_edges_of_chunks(Checks& checks) {
    constexpr std::int64_t chunk = 1 << 17, n = 2 * chunk + 5;
    for (const std::int64_t edge : {chunk, 2 * chunk}) {
        for (const std::int64_t fall : {0, 1, 2}) {
            for (const std::int64_t begins : {std::int64_t{0}, edge - 1, edge, edge + 1}) {
                Lists<Index> lists;
                for (std::int64_t i = 0; i < n; ++i)
                    lists.indices.push_back(static_cast<Index>(i < edge ? i : i - fall));
                if (begins > 0) lists.indptr.push_back(begins);
                lists.indptr.push_back(n);
                const ListCheck found = check_lists(lists.selection(), n, 2, not_interrupted);
                constexpr const char* names[] = {"in order", "a repeat", "out of order"};
                checks.expect(found.first_outside == -1 && found.sorted == (fall == 0 || begins == edge),
                              "check_lists, %s at entry %lld, where a list begins at %lld", names[fall],
                              static_cast<long long>(edge), static_cast<long long>(begins));
            }
        }
    }
}

template <class Index>
void check_searches(Checks& checks, const Lists<Index>& lists, std::int64_t bound, Random& random) {
    const Selection selection = lists.selection();
    for (int repeat = 0; repeat < 200; ++repeat) {
        const std::int64_t list = random.below(selection.size), column = random.below(bound + 1);
        const std::int64_t start = selection.indptr[list], end = selection.indptr[list + 1];
        const std::vector<Index> own = lists.entries_of(static_cast<std::size_t>(list));
        const std::int64_t expected =
            start + (std::lower_bound(own.begin(), own.end(), static_cast<Index>(column)) - own.begin());
        const bool has = std::binary_search(own.begin(), own.end(), static_cast<Index>(column));
        checks.expect(selection.find(start, end, column) == expected, "find %lld", static_cast<long long>(column));
        const std::int64_t from = start + random.below(expected - start + 1);
        checks.expect(selection.seek(from, end, column) == expected, "seek %lld", static_cast<long long>(column));
        checks.expect(selection.has(list, column) == has, "has %lld", static_cast<long long>(column));
        const std::int64_t until = column + random.below(bound + 1);
        const Span span = selection.within(column, until).span(list);
        const auto inside = std::count_if(own.begin(), own.end(), [&](Index index) {
            return static_cast<std::int64_t>(index) >= column && static_cast<std::int64_t>(index) < until;
        });
        checks.expect(span.length == inside && (inside == 0 || span.start == expected), "span from %lld",
                      static_cast<long long>(column));
    }
    // The first task whose column is not in its list.
    std::vector<std::int64_t> columns;
    std::int64_t absent = -1;
    for (std::int64_t list = 0; list < selection.size; ++list) {
        const std::vector<Index> own = lists.entries_of(static_cast<std::size_t>(list));
        if (own.empty() && absent < 0) absent = list;
        columns.push_back(own.empty() ? 0 : static_cast<std::int64_t>(own[own.size() / 2]));
    }
    checks.expect(first_task_without(selection, columns.data(), selection.size) == absent, "first_task_without");
}

// A value at either end of what is allowed, or just outside of it, alone and before another one.
void check_values(Checks& checks) {
    using Limits = std::numeric_limits<std::int64_t>;
    for (const std::int64_t least : {0, -1}) {
        for (const std::int64_t bound : {std::int64_t{0}, std::int64_t{5}, Limits::max()}) {
            for (const std::int64_t value : {Limits::min(), std::int64_t{-2}, std::int64_t{-1}, std::int64_t{0},
                                             std::int64_t{4}, std::int64_t{5}, Limits::max() - 1, Limits::max()}) {
                for (std::size_t place = 0; place < 9; ++place) {
                    std::vector<std::int64_t> values(9, bound - 1);
                    const bool is_outside = value < least || value >= bound, are_outside = bound - 1 < least;
                    values[place] = value;
                    const std::int64_t expected = is_outside ? static_cast<std::int64_t>(place) : -1;
                    checks.expect(first_outside(values.data(), 9, bound, least) == (are_outside ? 0 : expected),
                                  "first_outside, %lld of %lld", static_cast<long long>(value),
                                  static_cast<long long>(bound));
                }
            }
        }
    }
    checks.expect(first_outside(nullptr, 0, 0, 0) == -1, "first_outside of nothing");
}

template <class Index>
void check_as(Checks& checks, Random& random) {
    for (const std::int64_t bound : {1, 2, 70, 5000, 2'000'000}) {
        for (const std::int64_t longest : {1, 3, 50, 2000}) {
            for (const bool sorted : {true, false}) {
                Lists<Index> lists = random_lists<Index>(600, longest, bound, sorted, random);
                check_list_checks(checks, lists, bound);
                check_list_checks(checks, lists, bound - 1);
                check_list_sorting(checks, lists, bound);
                if (sorted) check_searches(checks, lists, bound, random);
                if (lists.indices.empty()) continue;
                lists.indices[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(lists.indices.size())))] =
                    -1;
                check_list_checks(checks, lists, bound);
            }
        }
    }
    // A long list is sorted in another way, and several threads check it.
    for (const bool sorted : {true, false}) {
        const Lists<Index> lists = random_lists<Index>(5, 1'500'000, 3'000'000, sorted, random);
        check_list_checks(checks, lists, 3'000'000);
        check_list_sorting(checks, lists, 3'000'000);
    }
    // It fills a bitmap of all columns, to the last column of the last word, whether that is full or has one bit.
    for (const std::int64_t bound : {299'968, 299'969, 300'007}) {
        Lists<Index> lists;
        for (std::int64_t i = 0; i < 200'001; ++i) {
            lists.indices.push_back(static_cast<Index>(bound - 1 - i / 2 * 7 % bound));
        }
        lists.indptr.push_back(200'001);
        check_list_sorting(checks, lists, bound);
    }
    check_edges_of_chunks<Index>(checks);
    const Lists<Index> none = random_lists<Index>(3, 0, 0, true, random);
    check_list_checks(checks, none, 0);
    check_list_sorting(checks, none, 0);
}

}  // namespace

void check_selections(Checks& checks) {
    Random random;
    check_values(checks);
    check_as<std::int32_t>(checks, random);
    check_as<std::int64_t>(checks, random);
}

}  // namespace truerank::tests
