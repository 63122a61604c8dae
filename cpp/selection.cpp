#include "selection.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "parallel.hpp"

namespace truerank {
namespace {

constexpr std::int64_t kSerialBytes = std::int64_t{2} << 20;

template <class Index>
ListCheck check(const Selection& lists, const Index* indices, std::int64_t bound, bool (*interrupted)()) {
    using Unsigned = std::make_unsigned_t<Index>;
    const std::int64_t n = lists.entries;
    const auto top = static_cast<Unsigned>(std::min<std::int64_t>(bound, std::numeric_limits<Index>::max()));
    const bool never = bound > static_cast<std::int64_t>(std::numeric_limits<Index>::max());
    constexpr std::int64_t some = 1 << 17;
    std::atomic<std::int64_t> falls{0};  // places where an index is not larger than the one before
    std::atomic<bool> outside{false};
    const Team team(n * static_cast<std::int64_t>(sizeof(Index)) < kSerialBytes ? 1 : 0, divide_up(n, some));
    parallel_for(team, divide_up(n, some), interrupted, [&](std::int64_t piece, int, Stop&) {
        const std::int64_t begin = piece * some, end = std::min(n, begin + some);
        Unsigned wrong = 0, fell = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            wrong |= never ? indices[i] < 0 : static_cast<Unsigned>(indices[i]) >= top;
        }
        for (std::int64_t i = std::max<std::int64_t>(begin, 1); i < end; ++i) fell += indices[i] <= indices[i - 1];
        if (wrong != 0) outside.store(true, std::memory_order_relaxed);
        falls.fetch_add(static_cast<std::int64_t>(fell), std::memory_order_relaxed);
    });
    ListCheck result;
    if (outside.load()) {
        for (std::int64_t i = 0; i < n && result.first_outside < 0; ++i) {
            if (indices[i] < 0 || indices[i] >= bound) result.first_outside = i;
        }
        return result;
    }
    // Between lists it may fall.
    std::int64_t allowed = 0;
    for (std::int64_t list = 0; list < lists.size; ++list) {
        const std::int64_t start = lists.indptr[list];
        if (start > 0 && start < n && lists.indptr[list + 1] > start) allowed += indices[start] <= indices[start - 1];
    }
    result.sorted = falls.load() == allowed;
    return result;
}

template <class Index>
void sort(const Selection& lists, Index* indices, std::int64_t* lengths, bool (*interrupted)()) {
    constexpr std::int64_t some = 256;  // lists to a piece
    const Team team(lists.entries * static_cast<std::int64_t>(sizeof(Index)) < kSerialBytes ? 1 : 0,
                    divide_up(lists.size, some));
    parallel_for(team, divide_up(lists.size, some), interrupted, [&](std::int64_t piece, int, Stop&) {
        for (std::int64_t list = piece * some; list < std::min(lists.size, (piece + 1) * some); ++list) {
            Index* const first = indices + lists.indptr[list];
            Index* const last = indices + lists.indptr[list + 1];
            if (!std::is_sorted(first, last)) std::sort(first, last);
            lengths[list] = std::unique(first, last) - first;
        }
    });
}

}  // namespace

void sort_lists(const Selection& lists, void* indices, std::int64_t* lengths, bool (*interrupted)()) {
    if (lists.wide) {
        sort(lists, static_cast<std::int64_t*>(indices), lengths, interrupted);
    } else {
        sort(lists, static_cast<std::int32_t*>(indices), lengths, interrupted);
    }
}

ListCheck check_lists(const Selection& lists, std::int64_t bound, bool (*interrupted)()) {
    return lists.wide ? check(lists, static_cast<const std::int64_t*>(lists.indices), bound, interrupted)
                      : check(lists, static_cast<const std::int32_t*>(lists.indices), bound, interrupted);
}

}  // namespace truerank
