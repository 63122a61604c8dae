#include "kernels/count.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/simd.hpp"

namespace truerank {
namespace {

// So many scores, or their keys, stay in the first-level cache while several true scores are counted in them. For 8-bit
// scores the number is what their 8-bit counters allow in the narrowest vectors.
template <class T>
constexpr std::size_t kCachedKeys = sizeof(T) == 1 ? 4032 : 16384 / sizeof(T);
constexpr std::size_t kLine = 64;
// So many true scores, their counters and a vector of keys fit into the sixteen registers of SSE and AVX2.
constexpr std::size_t kMaxInRegisters = 5;
// How far ahead of the scores that are read a cache line is prefetched. The hardware does most of this itself: a longer
// distance was slower on Zen 4, by up to a fifth, with large pages and with small ones.
constexpr std::size_t kAheadBytes = 256;
// So much of a column of a column-major matrix is counted at a time: with less, reads are shorter; with more, the
// counters no longer fit into the cache.
constexpr std::size_t kColumnBytes = 8192;

// Vectors of `Bytes` bytes: of scores, of their keys, of counters as wide as a score, and of masks, whose lanes are -1
// or 0 as comparisons give them.
template <class T, int Bytes>
struct Lanes {
    using Counter = typename Integers<sizeof(T)>::Unsigned;
    using Native = std::conditional_t<is_float16<T>, Key<T>, T>;
    using Scores = typename Simd<Native, Bytes>::type;
    using Keys = typename Simd<Key<T>, Bytes>::type;
    using Masks = Keys;
    using Counts = typename Simd<Counter, Bytes>::type;
    static constexpr std::size_t size = Bytes / sizeof(T);
    // A counter is added to a 64-bit sum, and starts again from 0, before it can overflow.
    static constexpr std::size_t max_additions = sizeof(T) == 1 ? 254 : sizeof(T) == 2 ? 65000 : std::size_t{1} << 30;

    static TRUERANK_INLINE Keys load_keys(const T* scores) {
        const Counts bits = *reinterpret_cast<const typename Simd<Counter, Bytes>::unaligned*>(scores);
        if constexpr (has_nan<T>) {
            const Counts sign = (Counts)((Masks)bits >> int(8 * sizeof(T) - 1));
            const Counts magnitude = bits & (Counts{} + static_cast<Counter>(~Order<T>::top_bit));
            return (Keys)((magnitude ^ sign) - sign + (Counts{} + Order<T>::shift()));
        } else if constexpr (std::is_unsigned_v<T>) {
            return (Keys)(bits ^ (Counts{} + Order<T>::top_bit));
        } else {
            return (Keys)bits;
        }
    }
    static TRUERANK_INLINE Keys broadcast_key(Key<T> key) { return Keys{} + key; }
    static TRUERANK_INLINE Masks is_nan_key(Keys keys) { return keys < broadcast_key(Order<T>::bottom()); }

    // Scores in a form that the hardware can compare: 16-bit floats, which it cannot, are compared by their keys.
    static TRUERANK_INLINE Scores load(const T* scores) {
        if constexpr (is_float16<T>) {
            return load_keys(scores);
        } else {
            return *reinterpret_cast<const typename Simd<T, Bytes>::unaligned*>(scores);
        }
    }
    static TRUERANK_INLINE Scores broadcast(T score) {
        if constexpr (is_float16<T>) {
            return broadcast_key(Order<T>::key(score));
        } else {
            return Scores{} + score;
        }
    }
    static TRUERANK_INLINE Masks is_nan_score(Scores scores) {
        if constexpr (is_float16<T>) {
            return is_nan_key(scores);
        } else {
            return scores != scores;
        }
    }

    // Adds 1 to the counts where the mask is set. AVX-512 has masked additions, which the compiler makes of the
    // condition; elsewhere a mask is a vector of -1, and subtracting it takes fewer instructions.
    static TRUERANK_INLINE void add(Counts& counts, Masks mask) {
        if constexpr (Bytes == 64) {
            counts = mask ? counts + (Counts{} + Counter{1}) : counts;
        } else {
            counts -= (Counts)mask;
        }
    }
    // The sum of all lanes. Neighbours are added into counters of twice the width until these have 64 bits. That takes
    // few instructions, which matters: while they run, the reading of the next scores has to wait.
    static TRUERANK_INLINE std::int64_t sum(const Counts& counts) {
        using Wide = typename Simd<std::uint64_t, Bytes>::type;
        Wide wide = (Wide)counts;
        if constexpr (sizeof(T) < 2) {
            const Wide low = Wide{} + 0x00ff00ff00ff00ffULL;
            wide = (wide & low) + ((wide >> 8) & low);
        }
        if constexpr (sizeof(T) < 4) {
            const Wide low = Wide{} + 0x0000ffff0000ffffULL;
            wide = (wide & low) + ((wide >> 16) & low);
        }
        if constexpr (sizeof(T) < 8) wide = (wide & 0xffffffffULL) + (wide >> 32);
        std::uint64_t lane[Bytes / 8];
        std::memcpy(lane, &wide, Bytes);
        std::uint64_t total = 0;
        for (const std::uint64_t value : lane) total += value;
        return static_cast<std::int64_t>(total);
    }

    static TRUERANK_INLINE Masks iota() {
        Key<T> lane[size];
        for (std::size_t i = 0; i < size; ++i) lane[i] = static_cast<Key<T>>(i);
        Masks result;
        std::memcpy(&result, lane, Bytes);
        return result;
    }
    // The mask of the first `n` lanes, or of all lanes where there are fewer.
    static TRUERANK_INLINE Masks first_lanes(std::size_t n) {
        return iota() < (Masks{} + static_cast<Key<T>>(std::min(n, size)));
    }
    // Returns where the last `rest` = n % size scores can be read as one vector, and sets `valid` to the mask of their
    // lanes. This is the last full vector of the scores, whose other lanes were counted before; where there are fewer
    // scores than lanes it is a copy.
    static TRUERANK_INLINE const T* tail(const T* scores, std::size_t n, std::size_t rest, T (&copy)[size],
                                         Masks& valid) {
        if (n >= size) {
            valid = iota() >= (Masks{} + static_cast<Key<T>>(size - rest));
            return scores + (n - size);
        }
        std::memset(copy, 0, sizeof copy);
        std::memcpy(copy, scores, rest * sizeof(T));
        valid = first_lanes(rest);
        return copy;
    }
};

// Counts one true score, and the NaN, in one pass over the scores at the speed of memory. Returns the number of NaN.
template <class T, int Bytes>
TRUERANK_INLINE std::int64_t count_one_body(const T* scores, std::size_t n, T true_score, PartialCounts* counts) {
    using L = Lanes<T, Bytes>;
    constexpr std::size_t line = kLine / sizeof(T);
    constexpr std::size_t step = 2 * line;
    const typename L::Scores true_vector = L::broadcast(true_score);
    std::int64_t nans = 0;
    std::size_t i = 0;
    do {
        const std::size_t stop = i + std::min(n - i, L::max_additions * L::size);
        typename L::Counts above = {}, tied = {}, nan = {};
        const auto count_vector = [&](const T* from) __attribute__((always_inline)) {
            const typename L::Scores vector = L::load(from);
            L::add(above, vector > true_vector);
            L::add(tied, vector == true_vector);
            if constexpr (has_nan<T>) L::add(nan, L::is_nan_score(vector));
        };
        const auto count_masked = [&](const T* from, typename L::Masks valid) __attribute__((always_inline)) {
            const typename L::Scores vector = L::load(from);
            L::add(above, (vector > true_vector) & valid);
            L::add(tied, (vector == true_vector) & valid);
            if constexpr (has_nan<T>) L::add(nan, L::is_nan_score(vector) & valid);
        };
        if (i == 0 && n >= 32 * step) {
            // First come the scores up to a cache line's start: otherwise every vector along the row would lie across
            // two lines, and cost two reads.
            i = (kLine - reinterpret_cast<std::uintptr_t>(scores) % kLine) % kLine / sizeof(T);
            for (std::size_t u = 0; u < i; u += L::size) count_masked(scores + u, L::first_lanes(i - u));
        }
        for (; i + step <= stop; i += step) {
            prefetch(address_after(scores + i, kAheadBytes));
            prefetch(address_after(scores + i, kAheadBytes + kLine));
#pragma GCC unroll 8
            for (std::size_t u = 0; u < step; u += L::size) count_vector(scores + i + u);
        }
        for (; i + L::size <= stop; i += L::size) count_vector(scores + i);
        if (i < stop && stop == n) {
            T copy[L::size];
            typename L::Masks valid;
            const T* from = L::tail(scores, n, n - i, copy, valid);
            count_masked(from, valid);
            i = n;
        }
        counts->above += L::sum(above);
        counts->tied += L::sum(tied);
        if constexpr (has_nan<T>) nans += L::sum(nan);
    } while (i < n);
    return nans;
}

// Writes the keys of n scores, padded to whole cache lines with the lowest key, which is above no key and tied with
// none but itself. Returns the number of NaN.
template <class T, int Bytes>
TRUERANK_INLINE std::int64_t keys_of(const T* scores, std::size_t n, Key<T>* keys) {
    using L = Lanes<T, Bytes>;
    typename L::Counts nan = {};
    std::size_t i = 0;
    for (; i + L::size <= n; i += L::size) {
        const typename L::Keys vector = L::load_keys(scores + i);
        std::memcpy(keys + i, &vector, Bytes);
        if constexpr (has_nan<T>) L::add(nan, L::is_nan_key(vector));
    }
    std::int64_t nans = has_nan<T> ? L::sum(nan) : 0;
    for (; i < n; ++i) {
        keys[i] = Order<T>::key(scores[i]);
        nans += Order<T>::is_nan(keys[i]) ? 1 : 0;
    }
    constexpr std::size_t whole = kLine / sizeof(T);
    for (; i % whole != 0; ++i) keys[i] = std::numeric_limits<Key<T>>::min();
    return nans;
}

// Counts K true scores in a chunk of keys (whole cache lines). Meanwhile the next chunk, at the address `ahead`, is
// prefetched, `lines` lines for every eight that are read, so that memory works while this computes.
template <class T, int Bytes, int K>
TRUERANK_INLINE void count_in_registers(const Key<T>* keys, std::size_t n, const Key<T>* true_scores,
                                        PartialCounts* counts, std::uintptr_t ahead, std::size_t lines) {
    using L = Lanes<T, Bytes>;
    constexpr std::size_t eight_lines = 8 * kLine / sizeof(T);
    typename L::Keys true_score[K];
    typename L::Counts above[K], tied[K];
    for (int j = 0; j < K; ++j) {
        true_score[j] = L::broadcast_key(true_scores[j]);
        above[j] = tied[j] = typename L::Counts{};
    }
    std::uintptr_t next = ahead;
    for (std::size_t i = 0; i < n; i += eight_lines) {
        for (std::size_t line = 0; line < lines; ++line, next += kLine) prefetch(next);
        const std::size_t stop = std::min(n, i + eight_lines);
        for (std::size_t u = i; u < stop; u += L::size) {
            const typename L::Keys vector = *reinterpret_cast<const typename Simd<Key<T>, Bytes>::unaligned*>(keys + u);
            for (int j = 0; j < K; ++j) {
                L::add(above[j], vector > true_score[j]);
                L::add(tied[j], vector == true_score[j]);
            }
        }
    }
    for (int j = 0; j < K; ++j) {
        counts[j].above += L::sum(above[j]);
        counts[j].tied += L::sum(tied[j]);
    }
}

template <class T, int Bytes>
TRUERANK_INLINE void count_in_registers(std::size_t k, const Key<T>* keys, std::size_t n, const Key<T>* true_scores,
                                        PartialCounts* counts, std::uintptr_t ahead, std::size_t lines) {
    switch (k) {
        case 1:
            return count_in_registers<T, Bytes, 1>(keys, n, true_scores, counts, ahead, lines);
        case 2:
            return count_in_registers<T, Bytes, 2>(keys, n, true_scores, counts, ahead, lines);
        case 3:
            return count_in_registers<T, Bytes, 3>(keys, n, true_scores, counts, ahead, lines);
        case 4:
            return count_in_registers<T, Bytes, 4>(keys, n, true_scores, counts, ahead, lines);
        default:
            return count_in_registers<T, Bytes, 5>(keys, n, true_scores, counts, ahead, lines);
    }
}

// Searches for each key among many sorted true scores and enters it in a histogram: below[p] counts the keys with
// exactly p true scores below them, and equal[p] those of them that equal true_scores[p]. Eight searches run side by
// side, since a single one waits for its own loads; all take the same number of steps.
template <class T>
TRUERANK_INLINE void search(const Key<T>* keys, std::size_t n, const Key<T>* true_scores, std::size_t k,
                            std::int64_t* below, std::int64_t* equal) {
    constexpr std::size_t side = 8;
    for (std::size_t i = 0; i < n; i += side) {
        const Key<T>* key = keys + i;
        std::size_t at[side] = {};
        for (std::size_t length = k; length > 1;) {
            const std::size_t half = length / 2;
            for (std::size_t s = 0; s < side; ++s) at[s] += true_scores[at[s] + half - 1] < key[s] ? half : 0;
            length -= half;
        }
        for (std::size_t s = 0; s < side; ++s) {
            equal[at[s]] += true_scores[at[s]] == key[s] ? 1 : 0;
            ++below[at[s] + (true_scores[at[s]] < key[s] ? 1 : 0)];
        }
    }
}

template <class T, int Bytes>
TRUERANK_INLINE std::int64_t count_several_body(const T* scores, std::size_t n, const Key<T>* true_scores,
                                                std::size_t k, PartialCounts* counts, std::int64_t* scratch) {
    constexpr std::size_t chunk = kCachedKeys<T>;
    alignas(kLine) Key<T> keys[chunk];
    const bool many = k >= search_threshold<T>;
    std::int64_t* const below = scratch;
    std::int64_t* const equal = many ? scratch + k + 1 : nullptr;
    if (many) std::fill_n(scratch, scratch_size<T>(k), 0);
    std::int64_t nan = 0, padding = 0;
    for (std::size_t i = 0; i < n; i += chunk) {
        const std::size_t m = std::min(chunk, n - i);
        nan += keys_of<T, Bytes>(scores + i, m, keys);
        constexpr std::size_t whole = kLine / sizeof(T);
        const std::size_t padded = (m + whole - 1) / whole * whole;
        padding += static_cast<std::int64_t>(padded - m);
        if (many) {
            search<T>(keys, padded, true_scores, k, below, equal);
            continue;
        }
        // The true scores are divided into groups of similar size, each of which prefetches its share of the next
        // chunk.
        const std::size_t groups = (k + kMaxInRegisters - 1) / kMaxInRegisters;
        const std::size_t lines = groups == 0 ? 0 : (8 + groups - 1) / groups;
        for (std::size_t g = 0, j = 0; g < groups; ++g) {
            const std::size_t size = (k - j) / (groups - g);
            const std::uintptr_t ahead = address_after(scores + i, (m + chunk / groups * g) * sizeof(T));
            count_in_registers<T, Bytes>(size, keys, padded, true_scores + j, counts + j, ahead, lines);
            j += size;
        }
    }
    std::int64_t above = 0;
    for (std::size_t j = k; many && j-- > 0;) {
        above += below[j + 1];
        counts[j].above += above;
        counts[j].tied += equal[j];
    }
    // The key of an integer true score may be the lowest key itself, which the padding equals.
    if (k > 0 && true_scores[0] == std::numeric_limits<Key<T>>::min()) counts[0].tied -= padding;
    return nan;
}

// In ascending order this takes keys less the key of the lowest number, as unsigned integers: the NaN, which wrap round
// to the top, are never least.
template <class T, int Bytes>
TRUERANK_INLINE void best_body(const T* scores, std::size_t n, bool ascending, Key<T>* best, std::int64_t* count) {
    using Counter = typename Order<T>::Bits;
    constexpr std::size_t chunk = kCachedKeys<T>;
    alignas(kLine) Key<T> keys[chunk];
    for (std::size_t i = 0; i < n; i += chunk) {
        const std::size_t m = std::min(chunk, n - i);
        keys_of<T, Bytes>(scores + i, m, keys);
        Key<T> new_best = *best;
        if (ascending) {
            Counter least = static_cast<Counter>(*best) - static_cast<Counter>(Order<T>::bottom());
            for (std::size_t j = 0; j < m; ++j) {
                const Counter lifted =
                    static_cast<Counter>(static_cast<Counter>(keys[j]) - static_cast<Counter>(Order<T>::bottom()));
                least = lifted < least ? lifted : least;
            }
            new_best = static_cast<Key<T>>(static_cast<Counter>(least + static_cast<Counter>(Order<T>::bottom())));
        } else {
            for (std::size_t j = 0; j < m; ++j) new_best = keys[j] > new_best ? keys[j] : new_best;
        }
        std::int64_t equal = 0;
        for (std::size_t j = 0; j < m; ++j) equal += keys[j] == new_best ? 1 : 0;
        *count = equal + (new_best == *best ? *count : 0);
        *best = new_best;
    }
}

template <class T>
constexpr std::size_t kMaxLanes = kColumnBytes / sizeof(T);

template <class T, int Bytes>
TRUERANK_INLINE void count_columns_body(const char* scores, std::ptrdiff_t stride, std::size_t columns,
                                        std::size_t lanes, const T* true_scores, std::int64_t* above,
                                        std::int64_t* tied, std::int64_t* nan) {
    using L = Lanes<T, Bytes>;
    using Counts = typename L::Counts;
    constexpr std::size_t side = 8;  // columns that are counted in one visit to a lane's counters
    alignas(kLine) typename L::Counter counters[3][kMaxLanes<T>];
    const auto visit = [&](const char* first, std::size_t width, std::size_t lane) __attribute__((always_inline)) {
        const typename L::Scores true_score = L::load(true_scores + lane);
        Counts lane_above, lane_tied, lane_nan;
        std::memcpy(&lane_above, counters[0] + lane, Bytes);
        std::memcpy(&lane_tied, counters[1] + lane, Bytes);
        std::memcpy(&lane_nan, counters[2] + lane, Bytes);
#pragma GCC unroll 8
        for (std::size_t c = 0; c < width; ++c) {
            const char* at = first + static_cast<std::ptrdiff_t>(c) * stride + lane * sizeof(T);
            prefetch(address_after(at, side * static_cast<std::size_t>(stride)));
            const typename L::Scores vector = L::load(reinterpret_cast<const T*>(at));
            L::add(lane_above, vector > true_score);
            L::add(lane_tied, vector == true_score);
            if constexpr (has_nan<T>) L::add(lane_nan, L::is_nan_score(vector));
        }
        std::memcpy(counters[0] + lane, &lane_above, Bytes);
        std::memcpy(counters[1] + lane, &lane_tied, Bytes);
        std::memcpy(counters[2] + lane, &lane_nan, Bytes);
    };
    for (std::size_t begin = 0; begin < columns;) {
        const std::size_t end = begin + std::min(columns - begin, L::max_additions);
        std::memset(counters, 0, sizeof counters);
        const char* first = scores + static_cast<std::ptrdiff_t>(begin) * stride;
        for (; begin + side <= end; begin += side, first += static_cast<std::ptrdiff_t>(side) * stride) {
            for (std::size_t lane = 0; lane < lanes; lane += L::size) visit(first, side, lane);
        }
        for (; begin < end; ++begin, first += stride) {
            for (std::size_t lane = 0; lane < lanes; lane += L::size) visit(first, 1, lane);
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            above[lane] += static_cast<std::int64_t>(counters[0][lane]);
            tied[lane] += static_cast<std::int64_t>(counters[1][lane]);
            if (nan != nullptr) nan[lane] += static_cast<std::int64_t>(counters[2][lane]);
        }
    }
}

#define TRUERANK_WRAP(name, width, several, fused, attribute)                                                        \
    namespace name {                                                                                                 \
    template <class T>                                                                                               \
    attribute std::int64_t count_one(const T* scores, std::size_t n, T true_score, PartialCounts* counts) {          \
        return count_one_body<T, width>(scores, n, true_score, counts);                                              \
    }                                                                                                                \
    template <class T>                                                                                               \
    attribute std::int64_t count_several(const T* scores, std::size_t n, const Key<T>* true_scores, std::size_t k,   \
                                         PartialCounts* counts, std::int64_t* scratch) {                             \
        return count_several_body<T, width>(scores, n, true_scores, k, counts, scratch);                             \
    }                                                                                                                \
    template <class T>                                                                                               \
    attribute void best(const T* scores, std::size_t n, bool ascending, Key<T>* best, std::int64_t* count) {         \
        best_body<T, width>(scores, n, ascending, best, count);                                                      \
    }                                                                                                                \
    template <class T>                                                                                               \
    attribute void count_columns(const char* scores, std::ptrdiff_t stride, std::size_t columns, std::size_t lanes,  \
                                 const T* true_scores, std::int64_t* above, std::int64_t* tied, std::int64_t* nan) { \
        count_columns_body<T, width>(scores, stride, columns, lanes, true_scores, above, tied, nan);                 \
    }                                                                                                                \
    }
TRUERANK_FOR_EACH_ISA(TRUERANK_WRAP)
#undef TRUERANK_WRAP

}  // namespace

template <class T>
const CountKernels<T>& count_kernels() {
    static constexpr CountKernels<T> table[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute)           \
    {name::count_one<T>,     several::count_several<T>, name::best<T>, \
     name::count_columns<T>, width / sizeof(T),         kMaxLanes<T>},
        TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
    };
    return table[static_cast<int>(isa())];
}

template const CountKernels<Half>& count_kernels<Half>();
template const CountKernels<BFloat16>& count_kernels<BFloat16>();
template const CountKernels<float>& count_kernels<float>();
template const CountKernels<double>& count_kernels<double>();
template const CountKernels<std::int8_t>& count_kernels<std::int8_t>();
template const CountKernels<std::int16_t>& count_kernels<std::int16_t>();
template const CountKernels<std::int32_t>& count_kernels<std::int32_t>();
template const CountKernels<std::int64_t>& count_kernels<std::int64_t>();
template const CountKernels<std::uint8_t>& count_kernels<std::uint8_t>();
template const CountKernels<std::uint16_t>& count_kernels<std::uint16_t>();
template const CountKernels<std::uint32_t>& count_kernels<std::uint32_t>();
template const CountKernels<std::uint64_t>& count_kernels<std::uint64_t>();

}  // namespace truerank
