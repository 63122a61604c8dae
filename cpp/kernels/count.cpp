#include "kernels/count.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/keys.hpp"
#include "kernels/lanes.hpp"
#include "kernels/measured.hpp"
#include "kernels/several_body.hpp"
#include "kernels/simd.hpp"

namespace truerank {
namespace {

// The number of NaN among a few scores.
template <class T, int Bytes>
TRUERANK_INLINE std::int64_t nan_among(const T* scores, std::size_t n) {
    using L = Lanes<T, Bytes>;
    typename L::Counts nan = {};
    std::size_t i = 0;
    for (; i + L::size <= n; i += L::size) L::add(nan, L::is_nan_score(L::load(scores + i)));
    if (i < n) {
        T copy[L::size];
        typename L::Counts valid;
        const typename L::Scores last = L::load(L::tail(scores, n, n - i, copy, valid));
        L::add(nan, L::is_nan_score(last), valid);
    }
    return L::sum(nan);
}

// Counts one true score, and the NaN, in one pass over the scores at the speed of memory. Returns the number of NaN.
//
// A sum of floats or doubles is a NaN where one of them is, and an addition takes less time than a comparison whose
// result is counted: so scores may be added up, and only where a sum is a NaN are those in it compared. (It is one
// without a NaN, too, where infinities of both signs meet, or sums that are too large.)
template <class T, int Bytes, bool AddsUp>
TRUERANK_INLINE std::int64_t count_one_in(const T* scores, std::size_t n, T true_score, bool more_follow,
                                          PartialCounts* counts) {
    using L = Lanes<T, Bytes>;
    constexpr std::size_t line = kLine / sizeof(T);
    constexpr std::size_t step = 2 * line;
    constexpr std::size_t at_once = AddsUp ? measured::kSummedBytes / sizeof(T) : L::max_additions * L::size;
    const typename L::Scores true_vector = L::broadcast(true_score);
    const bool is_long = n >= kPageBytes / sizeof(T);
    std::size_t ahead = 0;
    if (n >= measured::kLongBytes / sizeof(T)) {
        ahead = ahead_bytes.of_long_rows;
    } else if (is_long || more_follow) {
        ahead = ahead_bytes.of_short_rows;
    }
    std::int64_t nans = 0;
    std::size_t i = 0;
    do {
        const std::size_t start = i, stop = i + std::min(n - i, at_once);
        // Several of each, which take turns: otherwise an addition waits for the one before it.
        typename L::Counts above[2] = {}, tied[2] = {}, nan = {};
        typename L::Scores sum[4] = {};
        const auto count_vector = [&](const T* from, std::size_t k, auto... valid) __attribute__((always_inline)) {
            const typename L::Scores vector = L::load_once(from);
            L::add(above[k % 2], vector > true_vector, valid...);
            L::add(tied[k % 2], vector == true_vector, valid...);
            if constexpr (AddsUp) {
                sum[k % 4] += vector;
            } else if constexpr (has_nan<T>) {
                L::add(nan, L::is_nan_score(vector), valid...);
            }
        };
        if (i == 0 && is_long) {
            // First come the scores up to a cache line's start: otherwise every vector along the row would lie across
            // two lines, and cost two reads.
            i = (kLine - reinterpret_cast<std::uintptr_t>(scores) % kLine) % kLine / sizeof(T);
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
        if constexpr (AddsUp) L::add(nan, L::is_nan_score(sum[0] + sum[1] + (sum[2] + sum[3])));
        const auto sums = L::sums(above[0] + above[1], tied[0] + tied[1], nan);
        counts->above += sums.first;
        counts->tied += sums.second;
        if constexpr (AddsUp) {
            if (sums.third != 0) nans += nan_among<T, Bytes>(scores + start, i - start);
        } else {
            nans += sums.third;
        }
    } while (i < n);
    return nans;
}

template <class T, int Bytes>
TRUERANK_INLINE std::int64_t count_one_body(const T* scores, std::size_t n, T true_score, bool more_follow,
                                            PartialCounts* counts) {
    if constexpr (std::is_floating_point_v<T>) {
        if (n >= measured::kLeastSummedBytes / sizeof(T)) {
            return count_one_in<T, Bytes, true>(scores, n, true_score, more_follow, counts);
        }
    }
    return count_one_in<T, Bytes, false>(scores, n, true_score, more_follow, counts);
}

template <class T, int Bytes>
TRUERANK_INLINE void best_body(const T* scores, std::size_t n, bool ascending, Key<T>* best, std::int64_t* count,
                               const KeyKernels<T>& of_keys) {
    constexpr std::size_t chunk = measured::kCachedKeys<T>;
    alignas(kLine) Key<T> keys[chunk];
    for (std::size_t i = 0; i < n; i += chunk) {
        const std::size_t m = std::min(chunk, n - i);
        keys_body<T, Bytes>(scores + i, m, keys);  // inlined, for the NaN need not be counted
        std::int64_t equal = 0;
        const Key<T> new_best = of_keys.best(keys, m, ascending, Order<T>::bottom(), *best, &equal);
        *count = equal + (new_best == *best ? *count : 0);
        *best = new_best;
    }
}

template <class T>
constexpr std::size_t kMaxLanes = measured::kColumnBytes / sizeof(T);

template <class T, int Bytes>
TRUERANK_INLINE void count_columns_body(const char* scores, std::ptrdiff_t stride, std::size_t columns,
                                        std::size_t lanes, const T* true_scores, std::int64_t* above,
                                        std::int64_t* tied, std::int64_t* nan, void* scratch) {
    using L = Lanes<T, Bytes>;
    using Counts = typename L::Counts;
    auto* const counters = static_cast<typename L::Counter*>(scratch);
    constexpr std::size_t side = measured::kColumnsPerVisit;
    typename L::Counter* const counters_of[] = {counters, counters + lanes, counters + 2 * lanes};
    const auto visit = [&](const char* first, std::size_t width, std::size_t lane) __attribute__((always_inline)) {
        const typename L::Scores true_score = L::load(true_scores + lane);
        Counts lane_above, lane_tied, lane_nan;
        std::memcpy(&lane_above, counters_of[0] + lane, Bytes);
        std::memcpy(&lane_tied, counters_of[1] + lane, Bytes);
        std::memcpy(&lane_nan, counters_of[2] + lane, Bytes);
#pragma GCC unroll 16
        for (std::size_t c = 0; c < width; ++c) {
            const char* at = first + static_cast<std::ptrdiff_t>(c) * stride + lane * sizeof(T);
            __builtin_prefetch(reinterpret_cast<const void*>(address_after(at, measured::kAheadBytesOfColumns)), 0, 2);
            const typename L::Scores vector = L::load(reinterpret_cast<const T*>(at));
            L::add(lane_above, vector > true_score);
            L::add(lane_tied, vector == true_score);
            if constexpr (has_nan<T>) L::add(lane_nan, L::is_nan_score(vector));
        }
        std::memcpy(counters_of[0] + lane, &lane_above, Bytes);
        std::memcpy(counters_of[1] + lane, &lane_tied, Bytes);
        std::memcpy(counters_of[2] + lane, &lane_nan, Bytes);
    };
    for (std::size_t begin = 0; begin < columns;) {
        const std::size_t end = begin + std::min(columns - begin, L::max_additions / side * side);
        std::memset(counters, 0, 3 * lanes * sizeof(T));
        const char* first = scores + static_cast<std::ptrdiff_t>(begin) * stride;
        for (; begin + side <= end; begin += side, first += static_cast<std::ptrdiff_t>(side) * stride) {
            for (std::size_t lane = 0; lane < lanes; lane += L::size) visit(first, side, lane);
        }
        for (; begin < end; ++begin, first += stride) {
            for (std::size_t lane = 0; lane < lanes; lane += L::size) visit(first, 1, lane);
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            above[lane] += static_cast<std::int64_t>(counters_of[0][lane]);
            tied[lane] += static_cast<std::int64_t>(counters_of[1][lane]);
            if (nan != nullptr) nan[lane] += static_cast<std::int64_t>(counters_of[2][lane]);
        }
    }
}

#define TRUERANK_WRAP(name, width, several, fused, attribute)                                                         \
    namespace name {                                                                                                  \
    template <class T>                                                                                                \
    attribute std::int64_t count_one(const void* scores, std::size_t n, typename Order<T>::Bits true_score,           \
                                     bool more_follow, PartialCounts* counts) {                                       \
        return count_one_body<T, width>(static_cast<const T*>(scores), n, std::bit_cast<T>(true_score), more_follow,  \
                                        counts);                                                                      \
    }                                                                                                                 \
    template <class T>                                                                                                \
    attribute std::int64_t keys(const T* scores, std::size_t n, Key<T>* keys) {                                       \
        return keys_body<T, width>(scores, n, keys);                                                                  \
    }                                                                                                                 \
    template <class K>                                                                                                \
    attribute void count_keys(const K* keys, std::size_t n, const K* true_scores, std::size_t k,                      \
                              PartialCounts* counts, std::uintptr_t ahead) {                                          \
        count_keys_body<K, width>(keys, n, true_scores, k, counts, ahead);                                            \
    }                                                                                                                 \
    template <class K>                                                                                                \
    attribute void search_keys(const K* keys, std::size_t n, const K* true_scores, std::size_t k,                     \
                               std::int64_t* histogram) {                                                             \
        search_keys_body(keys, n, true_scores, k, histogram);                                                         \
    }                                                                                                                 \
    template <class K>                                                                                                \
    attribute K best_key(const K* keys, std::size_t n, bool ascending, K lowest, K best, std::int64_t* equal) {       \
        return best_key_body(keys, n, ascending, lowest, best, equal);                                                \
    }                                                                                                                 \
    template <class T>                                                                                                \
    constexpr KeyKernels<T> of_keys = {keys<T>, count_keys<Key<T>>, search_keys<Key<T>>, best_key<Key<T>>};           \
    template <class T>                                                                                                \
    attribute std::int64_t count_several(const void* scores, std::size_t n, const Key<T>* true_scores, std::size_t k, \
                                         PartialCounts* counts, std::int64_t* scratch) {                              \
        return count_several_body<T, width>(static_cast<const T*>(scores), n, true_scores, k, counts, scratch,        \
                                            of_keys<T>);                                                              \
    }                                                                                                                 \
    template <class T>                                                                                                \
    attribute void best(const void* scores, std::size_t n, bool ascending, Key<T>* best, std::int64_t* count) {       \
        best_body<T, width>(static_cast<const T*>(scores), n, ascending, best, count, of_keys<T>);                    \
    }                                                                                                                 \
    template <class T>                                                                                                \
    attribute void count_columns(const char* scores, std::ptrdiff_t stride, std::size_t columns, std::size_t lanes,   \
                                 const void* true_scores, std::int64_t* above, std::int64_t* tied, std::int64_t* nan, \
                                 void* scratch) {                                                                     \
        count_columns_body<T, width>(scores, stride, columns, lanes, static_cast<const T*>(true_scores), above, tied, \
                                     nan, scratch);                                                                   \
    }                                                                                                                 \
    }
TRUERANK_FOR_EACH_ISA(TRUERANK_WRAP)
#undef TRUERANK_WRAP

}  // namespace

template <class T>
const CountKernels<typename Order<T>::Bits>& count_kernels() {
    static constexpr CountKernels<typename Order<T>::Bits> table[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute)                            \
    {name::count_one<T>,     several::count_several<T>, scratch_size<T>, name::best<T>, \
     name::count_columns<T>, width / sizeof(T),         kMaxLanes<T>,    bit_order<T>()},
        TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
    };
    return table[static_cast<int>(isa())];
}

#define TRUERANK_EXPORT(T) template const CountKernels<Order<T>::Bits>& count_kernels<T>();
TRUERANK_EXPORT(Half)
TRUERANK_EXPORT(BFloat16)
TRUERANK_EXPORT(float)
TRUERANK_EXPORT(double)
TRUERANK_EXPORT(std::int8_t)
TRUERANK_EXPORT(std::int16_t)
TRUERANK_EXPORT(std::int32_t)
TRUERANK_EXPORT(std::int64_t)
TRUERANK_EXPORT(std::uint8_t)
TRUERANK_EXPORT(std::uint16_t)
TRUERANK_EXPORT(std::uint32_t)
TRUERANK_EXPORT(std::uint64_t)
#undef TRUERANK_EXPORT

}  // namespace truerank
