// Checks the lists of a selection, in one pass over all of their indices; and sorts those that are not in order.
#include "engine/selection.hpp"

#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "engine/threads.hpp"
#include "kernels/measured.hpp"

namespace truerank {
namespace {

constexpr std::int64_t kChunkEntries = 1 << 17;

template <class Index>
std::int64_t first_outside_of(const Index* indices, std::int64_t n, std::int64_t bound) {
    const auto outside =
        std::find_if(indices, indices + n, [bound](Index index) { return index < 0 || index >= bound; });
    return outside == indices + n ? -1 : outside - indices;
}

// How many indices are not larger than the one before because a list begins there.
template <class Index>
std::int64_t allowed_falls(const Selection& lists, const Index* indices) {
    std::int64_t falls = 0;
    for (std::int64_t list = 0; list < lists.size; ++list) {
        const std::int64_t start = lists.indptr[list];
        const bool follows = start > 0 && start < lists.entries && lists.length(list) > 0;
        if (follows) falls += indices[start] <= indices[start - 1];
    }
    return falls;
}

// All indices are looked at in one pass, without regard to where lists begin: whether any is outside of the bound, and
// how many are not larger than the one before, which may be so where a list begins and nowhere else. Only if something
// is wrong is it looked for again. Arithmetic is unsigned throughout, where the top bit marks a negative difference:
// the baseline instruction sets are slow at comparing 64-bit integers.
template <class Index>
ListCheck check(const Selection& lists, const Index* indices, std::int64_t bound, int threads, bool (*interrupted)()) {
    using Unsigned = std::make_unsigned_t<Index>;
    constexpr int top_bit = std::numeric_limits<Unsigned>::digits - 1;
    const std::int64_t n = lists.entries;
    const auto last = static_cast<Unsigned>(std::min<std::int64_t>(bound - 1, std::numeric_limits<Index>::max()));
    std::atomic<std::int64_t> falls{0};      // places where an index is not larger than the one before
    const bool has_no_columns = bound == 0;  // then `last` marks nothing
    std::atomic<bool> is_any_outside{has_no_columns && n > 0};
    const Team team(n * static_cast<std::int64_t>(sizeof(Index)) < measured::kSerialBytes ? 1 : threads,
                    divide_up(n, kChunkEntries));
    parallel_for(team, divide_up(n, kChunkEntries), interrupted, [&](std::int64_t chunk, int, Stop&) {
        const std::int64_t begin = chunk * kChunkEntries, end = std::min(n, begin + kChunkEntries);
        Unsigned outside_bits = 0, chunk_falls = 0;
        // The top bit is set if an index is negative, or `last` is less than it.
        const auto outside_bits_of = [&](Unsigned index) { return index | static_cast<Unsigned>(last - index); };
        const auto does_not_rise = [&](Unsigned before, Unsigned index) {
            return static_cast<Unsigned>(static_cast<Unsigned>(index - before - 1) >> top_bit);
        };
        if (begin == 0) outside_bits = outside_bits_of(static_cast<Unsigned>(indices[0]));
        for (std::int64_t i = std::max<std::int64_t>(begin, 1); i < end; ++i) {
            const auto index = static_cast<Unsigned>(indices[i]), before = static_cast<Unsigned>(indices[i - 1]);
            outside_bits |= outside_bits_of(index);
            chunk_falls += does_not_rise(before, index);
        }
        if (outside_bits >> top_bit != 0) is_any_outside.store(true, std::memory_order_relaxed);
        falls.fetch_add(static_cast<std::int64_t>(chunk_falls), std::memory_order_relaxed);
    });
    if (is_any_outside.load()) return {.first_outside = first_outside_of(indices, n, bound)};
    return {.sorted = falls.load() == allowed_falls(lists, indices)};
}

// The columns of a list, entered in any order and read in ascending order, each once. A bit stands for each column, and
// a bit of the summary for each word of these that is not 0: reading skips words, and leaves all of them 0.
class ColumnSet {
  public:
    // Makes room for columns from 0 to `bound`.
    void reserve(std::int64_t bound) {
        const auto size = static_cast<std::size_t>(bound / 64 + 1);
        if (words_.size() >= size) return;
        words_.resize(size);
        summary_.resize(size / 64 + 1);
    }
    void add(std::uint64_t column) {
        words_[column / 64] |= std::uint64_t{1} << (column % 64);
        summary_[column / 4096] |= std::uint64_t{1} << (column / 64 % 64);
    }
    // Writes the columns and forgets them; returns how many there are.
    template <class Index>
    std::int64_t take(Index* out) {
        Index* const first = out;
        for (std::size_t part = 0; part < summary_.size(); ++part) {
            std::uint64_t used = summary_[part];
            summary_[part] = 0;
            for (; used != 0; used &= used - 1) {
                const std::size_t word = part * 64 + static_cast<std::size_t>(std::countr_zero(used));
                std::uint64_t bits = words_[word];
                words_[word] = 0;
                for (; bits != 0; bits &= bits - 1) {
                    *out++ = static_cast<Index>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
                }
            }
        }
        return out - first;
    }

  private:
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> summary_;
};

// Whether a set of columns sorts n of them sooner than comparisons do, and with little more memory than theirs.
bool is_set_better(std::int64_t n, std::int64_t bound) {
    return n >= 48 && bound / 2048 <= n && (bound <= std::int64_t{1} << 26 || bound / 128 <= n);
}

// Sorts a list and drops its repeats; returns how many entries are left. All but short lists are entered in a set,
// which takes time in proportion to their length and can be stopped at any moment.
template <class Index>
std::int64_t sort_list(Index* first, std::int64_t n, std::int64_t bound, ColumnSet& columns,
                       const std::function<bool(std::int64_t)>& stopped) {
    if (std::adjacent_find(first, first + n, std::greater_equal<>()) == first + n) return n;
    if (!is_set_better(n, bound)) {
        std::sort(first, first + n);
        return std::unique(first, first + n) - first;
    }
    columns.reserve(bound);
    for (std::int64_t begin = 0; begin < n; begin += kChunkEntries) {
        if (begin > 0 && stopped(kChunkEntries)) return 0;
        const std::int64_t end = std::min(n, begin + kChunkEntries);
        for (std::int64_t i = begin; i < end; ++i) {
            // Another thread may have written to the list before it was copied.
            const auto column = static_cast<std::uint64_t>(static_cast<std::int64_t>(first[i]));
            columns.add(std::min(column, static_cast<std::uint64_t>(bound)));
        }
    }
    return columns.take(first);
}

template <class Index>
void sort(const Selection& lists, Index* out, std::int64_t* lengths, std::int64_t bound, int threads,
          bool (*interrupted)()) {
    const Index* const indices = static_cast<const Index*>(lists.indices);
    constexpr std::int64_t lists_per_chunk = 256;
    const Team team(lists.entries * static_cast<std::int64_t>(sizeof(Index)) < measured::kSerialBytes ? 1 : threads,
                    divide_up(lists.size, lists_per_chunk));
    std::vector<ColumnSet> columns(static_cast<std::size_t>(team.size()));
    parallel_for(
        team, divide_up(lists.size, lists_per_chunk), interrupted, [&](std::int64_t chunk, int worker, Stop& stop) {
            const auto stopped = [&stop, worker](std::int64_t work) { return stop.requested(worker == 0, work); };
            for (std::int64_t list = chunk * lists_per_chunk;
                 list < std::min(lists.size, (chunk + 1) * lists_per_chunk); ++list) {
                const std::int64_t start = lists.indptr[list], n = lists.length(list);
                if (stopped(16 * n)) return;
                std::copy_n(indices + start, n, out + start);
                lengths[list] = sort_list(out + start, n, bound, columns[static_cast<std::size_t>(worker)], stopped);
            }
        });
}

}  // namespace

std::int64_t first_outside(const std::int64_t* values, std::int64_t n, std::int64_t bound, std::int64_t least) {
    std::uint64_t signs = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<std::uint64_t>(values[i]);
        signs |= (value - static_cast<std::uint64_t>(least)) | (static_cast<std::uint64_t>(bound) - 1 - value);
    }
    if (static_cast<std::int64_t>(signs) >= 0) return -1;
    const auto* const found =
        std::find_if(values, values + n, [=](std::int64_t value) { return value < least || value >= bound; });
    return found == values + n ? -1 : found - values;
}

void sort_lists(const Selection& lists, void* out, std::int64_t* lengths, std::int64_t bound, int threads,
                bool (*interrupted)()) {
    if (lists.wide) {
        sort(lists, static_cast<std::int64_t*>(out), lengths, bound, threads, interrupted);
    } else {
        sort(lists, static_cast<std::int32_t*>(out), lengths, bound, threads, interrupted);
    }
}

std::int64_t first_task_without(const Selection& selection, const std::int64_t* columns, std::int64_t tasks) {
    for (std::int64_t task = 0; task < tasks; ++task) {
        if (!selection.has(selection.list(task), columns[task])) return task;
    }
    return -1;
}

ListCheck check_lists(const Selection& lists, std::int64_t bound, int threads, bool (*interrupted)()) {
    return lists.wide ? check(lists, static_cast<const std::int64_t*>(lists.indices), bound, threads, interrupted)
                      : check(lists, static_cast<const std::int32_t*>(lists.indices), bound, threads, interrupted);
}

}  // namespace truerank
