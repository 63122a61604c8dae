#include <algorithm>
#include <cstring>

#include "kernels/several.hpp"

namespace truerank {
namespace {

// How the NaN among scores are counted.
enum class Nans {
    // Each score is asked.
    asked,
    // A sum of floats or doubles is a NaN where one of them is, and an addition takes less time than a comparison whose
    // result is counted: so scores are added up, and only where a sum is a NaN are those in it asked. (It is one
    // without a NaN, too, where infinities of both signs meet, or sums that are too large.)
    summed,
    // Scores above are counted, and scores below in place of those that are equal: the rest is equal or a NaN. Mostly
    // it is the true score alone; else the scores, which are in the cache, are asked.
    rest,
};

// So many bytes ahead of what is read of a row, memory is fetched.
TRUERANK_INLINE std::size_t bytes_ahead(std::size_t row_bytes, bool more_follow) {
    if (row_bytes >= measured::kLongBytes) return measured_here.ahead.of_long_rows;
    if (row_bytes >= kPageBytes) return measured_here.ahead.of_rows;
    return more_follow ? measured_here.ahead.of_short_rows : 0;
}

// How many scores come before the next start of a cache line.
template <class T>
TRUERANK_INLINE std::size_t scores_before_line(const T* scores) {
    return (kLine - reinterpret_cast<std::uintptr_t>(scores) % kLine) % kLine / sizeof(T);
}

// Counts for one true score in one pass over the scores at the speed of memory. Returns the number of NaN.
// `has_true_score`: it is among the scores.
template <Nans nans_are, class T>
TRUERANK_INLINE std::int64_t count_one_in(const T* scores, std::size_t n, T true_score, bool more_follow,
                                          bool has_true_score, PartialCounts* counts) {
    using L = Lanes<T>;
    constexpr std::size_t line = kLine / sizeof(T);
    constexpr std::size_t step = 2 * line;
    constexpr std::size_t at_once =
        nans_are == Nans::summed ? measured::kSummedBytes / sizeof(T) : L::max_additions * L::size;
    const typename L::Scores true_vector = L::broadcast(true_score);
    const bool is_long = n >= kPageBytes / sizeof(T);
    const std::size_t ahead = bytes_ahead(n * sizeof(T), more_follow);
    std::int64_t nans = 0;
    std::size_t i = 0;
    do {
        const std::size_t start = i, stop = i + std::min(n - i, at_once);
        // Several of each, which take turns: otherwise an addition waits for the one before it.
        typename L::Counts above[2] = {}, tied_or_below[2] = {}, nan = {};
        typename L::Scores sum[4] = {};
        const auto count_vector = [&](const T* from, std::size_t k, auto... valid) __attribute__((always_inline)) {
            const typename L::Scores vector = L::load_once(from);
            L::add(above[k % 2], vector > true_vector, valid...);
            if constexpr (nans_are == Nans::rest) {
                L::add(tied_or_below[k % 2], vector < true_vector, valid...);
            } else {
                L::add(tied_or_below[k % 2], vector == true_vector, valid...);
            }
            if constexpr (nans_are == Nans::summed) {
                sum[k % 4] += vector;
            } else if constexpr (nans_are == Nans::asked && has_nan<T>) {
                L::add(nan, L::is_nan_score(vector), valid...);
            }
        };
        if (i == 0 && is_long) {
            // First come the scores up to a cache line's start: otherwise every vector along the row would lie across
            // two lines, and cost two reads.
            i = scores_before_line(scores);
            for (std::size_t u = 0; u < i; u += L::size) {
                count_vector(scores + u, 0, L::first_lanes(std::min(i - u, L::size)));
            }
        }
        for (; i + step <= stop; i += step) {
            prefetch(address_after(scores + i, ahead));
            prefetch(address_after(scores + i, ahead + kLine));
#pragma GCC unroll 8
            for (std::size_t u = 0; u < step; u += L::size) count_vector(scores + i + u, u / L::size);
        }
        // The same for what is left. Otherwise the next row waits for a line or two that nothing has prefetched.
        if (i < stop) {
            prefetch(address_after(scores + i, ahead));
            prefetch(address_after(scores + i, ahead + kLine));
        }
        for (; i + L::size <= stop; i += L::size) count_vector(scores + i, 0);
        if (i < stop && stop == n) {
            T copy[L::size];
            typename L::Counts valid;
            const T* from = L::tail(scores, n, n - i, copy, valid);
            count_vector(from, 0, valid);
            i = n;
        }
        if constexpr (nans_are == Nans::summed) L::add(nan, L::is_nan_score(sum[0] + sum[1] + (sum[2] + sum[3])));
        const auto sums = L::sums(above[0] + above[1], tied_or_below[0] + tied_or_below[1], nan);
        counts->above += sums.first;
        std::int64_t tied = sums.second, some_nans = sums.third;
        if constexpr (nans_are == Nans::rest) {
            tied = static_cast<std::int64_t>(i - start) - sums.first - sums.second;
            if (tied > has_true_score) some_nans = count_where(scores + start, i - start, L::is_nan_score);
            tied -= some_nans;
        } else if constexpr (nans_are == Nans::summed) {
            if (some_nans != 0) some_nans = count_where(scores + start, i - start, L::is_nan_score);
        }
        counts->tied += tied;
        nans += some_nans;
    } while (i < n);
    return nans;
}

template <class T>
std::int64_t count_one(const void* from, std::size_t n, typename Order<T>::Bits bits, bool more_follow,
                       bool has_true_score, PartialCounts* counts) {
    const auto* const scores = static_cast<const T*>(from);
    const auto count = [&]<Nans nans_are>() __attribute__((always_inline)) {
        return count_one_in<nans_are>(scores, n, std::bit_cast<T>(bits), more_follow, has_true_score, counts);
    };
    if constexpr (std::is_floating_point_v<T>) {
        constexpr std::size_t summed = measured::kLeastSummedBytes / sizeof(T);
        static_assert(summed <= Lanes<T>::max_additions);  // So the rest is that of all scores.
        return n < summed ? count.template operator()<Nans::rest>() : count.template operator()<Nans::summed>();
    } else {
        return count.template operator()<Nans::asked>();
    }
}

template <class T>
std::int64_t count_some(const void* from, const std::uint8_t* increments, std::size_t n, typename Order<T>::Bits bits,
                        bool more_follow, PartialCounts* counts) {
    using L = Lanes<T>;
    const auto* const scores = static_cast<const T*>(from);
    const typename L::Scores true_vector = L::broadcast(std::bit_cast<T>(bits));
    const std::size_t ahead = bytes_ahead(n * sizeof(T), more_follow);
    std::int64_t nans = 0;
    for (std::size_t i = 0; i < n;) {
        const std::size_t stop = i + std::min(n - i, L::max_additions * L::size);
        typename L::Counts above = {}, tied = {}, nan = {};
        const auto count_vector = [&](const T* some, const std::uint8_t* lanes) __attribute__((always_inline)) {
            const typename L::Scores vector = L::load_once(some);
            const auto valid = widened<typename L::Counts>(lanes);
            L::add(above, vector > true_vector, valid);
            L::add(tied, vector == true_vector, valid);
            if constexpr (has_nan<T>) L::add(nan, L::is_nan_score(vector), valid);
        };
#pragma GCC unroll 4
        for (; i + L::size <= stop; i += L::size) {
            prefetch(address_after(scores + i, ahead));
            count_vector(scores + i, increments + i);
        }
        if (i < stop) {  // the last scores of all
            T copy[L::size] = {};
            std::uint8_t lanes[L::size] = {};
            std::memcpy(copy, scores + i, (n - i) * sizeof(T));
            std::memcpy(lanes, increments + i, n - i);
            count_vector(copy, lanes);
            i = n;
        }
        const auto sums = L::sums(above, tied, nan);
        counts->above += sums.first;
        counts->tied += sums.second;
        nans += sums.third;
    }
    return nans;
}

// What is done once for each row takes as long as its scores do: so there is no call for each, no test but one, and
// nothing waits for the counts of the row before. Floats and doubles are counted as by Nans::summed.
template <class T>
RowsFound count_rows(const void* from, std::size_t n, std::size_t rows, std::size_t stride, const std::int64_t* targets,
                     const typename Order<T>::Bits* true_scores, typename Order<T>::Bits sought, std::int64_t* above,
                     std::int64_t* tied, std::int64_t* nan) {
    using L = Lanes<T>;
    constexpr bool by_sum = std::is_floating_point_v<T>;
    static_assert(measured::kShortRowBytes <= L::max_additions * kBytes);
    const auto* row = static_cast<const T*>(from);
    const T* const end = rows == 0 ? row : row + (rows - 1) * stride + n;
    const bool apart = stride != n;
    const std::size_t rest = n % L::size, row_bytes = std::max<std::size_t>(1, n * sizeof(T));
    static_assert(measured::kAheadBytesOfApartRows >= measured::kShortRowBytes);
    const std::size_t rows_ahead = static_cast<std::size_t>(measured::kAheadBytesOfApartRows) / row_bytes;
    const std::size_t ahead = apart ? rows_ahead * stride * sizeof(T) : bytes_ahead(row_bytes, true);
    const std::size_t fetched_bytes = apart ? row_bytes + kLine - sizeof(T) : row_bytes;  // from anywhere in a line
    // The last vector ends with the row. Where there are fewer scores than lanes it runs into the next rows, of which
    // the last rows have a copy.
    const bool is_narrow = n < L::size;
    const std::size_t last = is_narrow ? 0 : n - L::size;
    const typename L::Counts valid = is_narrow ? L::first_lanes(rest) : L::last_lanes(rest);
    T copy[L::size] = {};
    RowsFound found;
    for (std::size_t r = 0; r < rows; ++r, row += stride) {
        const T* scores = row;
        if (is_narrow && static_cast<std::size_t>(end - row) < L::size) {
            std::memcpy(copy, row, n * sizeof(T));
            scores = copy;
        }
        // Lines of a later row are fetched in turn with those that are read: all at once they would have to wait.
        const auto for_vectors = [&](const auto& use) __attribute__((always_inline)) {
            std::size_t i = 0;
            for (; i + 2 * L::size <= n; i += 2 * L::size) {
                if (2 * kBytes >= kLine || i * sizeof(T) % kLine == 0) prefetch(address_after(row + i, ahead));
                if constexpr (2 * kBytes > kLine) prefetch(address_after(row + i, ahead + kLine));
                use(L::load_once(scores + i), 0);
                use(L::load_once(scores + i + L::size), 1);
            }
            for (std::size_t byte = i * sizeof(T); byte < fetched_bytes; byte += kLine) {
                prefetch(address_after(row, ahead + byte));
            }
            if (i + L::size <= n) use(L::load_once(scores + i), 0);
            if (rest > 0) use(L::load_once(scores + last), 1, valid);
        };
        const T true_score = true_scores == nullptr ? scores[targets[r]] : std::bit_cast<T>(true_scores[r]);
        found.sought |= std::bit_cast<typename Order<T>::Bits>(true_score) == sought;
        const typename L::Scores true_vector = L::broadcast(true_score);
        typename L::Counts are_above[2] = {}, are_tied[2] = {}, are_nan = {};
        typename L::Scores sum[2] = {};
        for_vectors([&](const typename L::Scores& vector, std::size_t k, auto... lanes) __attribute__((always_inline)) {
            L::add(are_above[k], vector > true_vector, lanes...);
            L::add(are_tied[k], vector == true_vector, lanes...);
            if constexpr (by_sum) {
                sum[k] += vector;
            } else if constexpr (has_nan<T>) {
                L::add(are_nan, L::is_nan_score(vector), lanes...);
            }
        });
        if constexpr (by_sum) L::add(are_nan, L::is_nan_score(sum[0] + sum[1]));
        auto sums = L::sums(are_above[0] + are_above[1], are_tied[0] + are_tied[1], are_nan);
        if (by_sum && sums.third != 0) {
            typename L::Counts nans = {};
            for_vectors([&](const typename L::Scores& vector, std::size_t, auto... lanes)
                            __attribute__((always_inline)) { L::add(nans, L::is_nan_score(vector), lanes...); });
            sums.third = L::sum(nans);
        }
        if constexpr (is_float16<T>) {  // whose keys compare where numbers do not
            if (Order<T>::is_key_of_nan(Order<T>::key(true_score))) sums.first = sums.second = 0;
        }
        above[r] = sums.first;
        tied[r] = sums.second;
        nan[r] = sums.third;
        found.nan |= sums.third != 0;
    }
    return found;
}

// The keys of the least and the greatest score, but for NaN; the other end of the order where there is none. Meanwhile
// what is at the address `ahead` is prefetched, so that memory works while this computes.
template <class T>
TRUERANK_INLINE std::pair<Key<T>, Key<T>> extreme_keys(const T* scores, std::size_t n, std::uintptr_t ahead) {
    using L = Lanes<T>;
    using Number = std::conditional_t<is_float16<T>, Key<T>, T>;
    const typename L::Scores top = L::broadcast_of(Order<T>::top()), bottom = L::broadcast_of(Order<T>::bottom());
    typename L::Scores least = top, greatest = bottom;
    const auto take_vector = [&](const T* from) __attribute__((always_inline)) {
        const typename L::Scores vector = L::load(from);
        greatest = greater_of(greatest, vector);
        if constexpr (is_float16<T>) {
            least = less_of(least, vector < bottom ? top : vector);  // keys of NaN are below all others
        } else {
            least = less_of(least, vector);
        }
    };
    std::size_t i = 0;
#pragma GCC unroll 4
    for (; i + L::size <= n; i += L::size) {
        prefetch(ahead + i * sizeof(T));
        take_vector(scores + i);
    }
    if (i < n) {
        T copy[L::size];
        std::fill_n(copy, L::size, scores[i]);
        std::memcpy(copy, scores + i, (n - i) * sizeof(T));
        take_vector(copy);
    }
    const Number lowest = reduce<Number>(least, less_of), highest = reduce<Number>(greatest, greater_of);
    if constexpr (is_float16<T>) {
        return {lowest, highest};
    } else {
        return {Order<T>::key(lowest), Order<T>::key(highest)};
    }
}

template <class T>
void audit(const void* from, std::size_t n, bool ascending, Key<T>* best, std::int64_t* at_best,
           std::int64_t* infinities) {
    using L = Lanes<T>;
    constexpr std::size_t chunk = std::min(measured::kSummedBytes / sizeof(T), L::max_additions * L::size);
    const std::uintptr_t ahead = address_after(from, n * sizeof(T));
    for (std::size_t i = 0; i < n; i += chunk) {
        const T* const scores = static_cast<const T*>(from) + i;
        const std::size_t m = std::min(chunk, n - i);
        const auto count_equal = [&](Key<T> key) {
            const typename L::Scores equal = L::broadcast_of(key);
            return count_where(scores, m, [&](const auto& vector) { return vector == equal; });
        };
        const auto [least, greatest] = extreme_keys(scores, m, ahead + i * sizeof(T));
        const Key<T> best_here = ascending ? least : greatest;
        if (ascending ? best_here < *best : best_here > *best) {
            *best = best_here;
            *at_best = 0;
        }
        // Where a chunk has none, it is not read again.
        if (best_here == *best) *at_best += count_equal(*best);
        if (has_nan<T> && least == Order<T>::bottom()) *infinities += count_equal(least);
        if (has_nan<T> && greatest == Order<T>::top()) *infinities += count_equal(greatest);
    }
}

template <class T>
void count_columns(const char* scores, std::ptrdiff_t stride, std::size_t columns, std::size_t lanes,
                   const void* true_scores, std::int64_t* above, std::int64_t* tied, std::int64_t* nan, void* scratch) {
    using L = Lanes<T>;
    using Counts = typename L::Counts;
    // The scratch has three counters for each lane.
    auto* const above_counters = static_cast<typename L::Counter*>(scratch);
    auto *const tied_counters = above_counters + lanes, *const nan_counters = tied_counters + lanes;
    constexpr std::size_t side = measured::kColumnsPerVisit;
    const auto visit = [&](const char* first, std::size_t width, std::size_t lane) __attribute__((always_inline)) {
        const typename L::Scores true_score = L::load(static_cast<const T*>(true_scores) + lane);
        Counts lane_above, lane_tied, lane_nan;
        std::memcpy(&lane_above, above_counters + lane, kBytes);
        std::memcpy(&lane_tied, tied_counters + lane, kBytes);
        std::memcpy(&lane_nan, nan_counters + lane, kBytes);
#pragma GCC unroll 16
        for (std::size_t c = 0; c < width; ++c) {
            const char* at = first + static_cast<std::ptrdiff_t>(c) * stride + lane * sizeof(T);
            __builtin_prefetch(reinterpret_cast<const void*>(address_after(at, measured::kAheadBytesOfColumns)), 0, 2);
            const typename L::Scores vector = L::load(reinterpret_cast<const T*>(at));
            L::add(lane_above, vector > true_score);
            L::add(lane_tied, vector == true_score);
            if constexpr (has_nan<T>) L::add(lane_nan, L::is_nan_score(vector));
        }
        std::memcpy(above_counters + lane, &lane_above, kBytes);
        std::memcpy(tied_counters + lane, &lane_tied, kBytes);
        std::memcpy(nan_counters + lane, &lane_nan, kBytes);
    };
    for (std::size_t begin = 0; begin < columns;) {
        const std::size_t end = begin + std::min(columns - begin, L::max_additions / side * side);
        std::memset(scratch, 0, 3 * lanes * sizeof(T));
        const char* first = scores + static_cast<std::ptrdiff_t>(begin) * stride;
        for (; begin + side <= end; begin += side, first += static_cast<std::ptrdiff_t>(side) * stride) {
            for (std::size_t lane = 0; lane < lanes; lane += L::size) visit(first, side, lane);
        }
        for (; begin < end; ++begin, first += stride) {
            for (std::size_t lane = 0; lane < lanes; lane += L::size) visit(first, 1, lane);
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            above[lane] += static_cast<std::int64_t>(above_counters[lane]);
            tied[lane] += static_cast<std::int64_t>(tied_counters[lane]);
            if (nan != nullptr) nan[lane] += static_cast<std::int64_t>(nan_counters[lane]);
        }
    }
}

template <class T>
constexpr ScoreKernels<T> kTable = {{.count_one = count_one<T>,
                                     .count_some = count_some<T>,
                                     .count_rows = count_rows<T>,
                                     .count_several = count_several<T>,
                                     .scratch_size = scratch_size<T>,
                                     .audit = audit<T>,
                                     .count_columns = count_columns<T>,
                                     .lane_multiple = kBytes / sizeof(T),
                                     .max_lanes = measured::kColumnBytes / sizeof(T),
                                     .order = bit_order<T>()}};

}  // namespace

TRUERANK_HAND_OUT(ScoreKernels, Half)
TRUERANK_HAND_OUT(ScoreKernels, BFloat16)
TRUERANK_HAND_OUT(ScoreKernels, float)
TRUERANK_HAND_OUT(ScoreKernels, double)
TRUERANK_HAND_OUT(ScoreKernels, std::int8_t)
TRUERANK_HAND_OUT(ScoreKernels, std::int16_t)
TRUERANK_HAND_OUT(ScoreKernels, std::int32_t)
TRUERANK_HAND_OUT(ScoreKernels, std::int64_t)
TRUERANK_HAND_OUT(ScoreKernels, std::uint8_t)
TRUERANK_HAND_OUT(ScoreKernels, std::uint16_t)
TRUERANK_HAND_OUT(ScoreKernels, std::uint32_t)
TRUERANK_HAND_OUT(ScoreKernels, std::uint64_t)

}  // namespace truerank
