// Many true scores are counted by a histogram of the scores' bins.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/lanes.hpp"

namespace truerank {
namespace {

// Bins divide the range of the true scores evenly: a score above another has the same bin or a higher one, and equal
// scores have equal bins.
template <class T>
struct BinMap {
    T origin, factor;
    // Whether both are numbers that keep the order.
    explicit operator bool() const {
        constexpr T most = std::numeric_limits<T>::max();
        return origin >= -most && origin <= most && factor > 0 && factor <= most;
    }
};

// The map that gives the true scores bins from about 2 to kBins - 2. Infinite true scores have the outermost bins, as
// have all scores outside of that range.
template <class T>
BinMap<T> bin_map(const Key<T>* true_scores, std::size_t k) {
    while (k > 0 && true_scores[0] == Order<T>::bottom()) ++true_scores, --k;
    while (k > 0 && true_scores[k - 1] == Order<T>::top()) --k;
    if (k == 0) return {0, 0};
    const T low = Order<T>::score(true_scores[0]), range = Order<T>::score(true_scores[k - 1]) - low;
    const T width = range / static_cast<T>(measured::kBins - 4);
    return {low - 2 * width, 1 / width};
}

template <class T>
struct Bins {
    using L = Lanes<T>;
    using Counts = typename L::Counts;
    using Scores = typename L::Scores;
    using Mask = typename L::Mask;
    // Bins have 16 bits: those of so many vectors of scores fill one vector.
    static constexpr std::size_t parts = sizeof(T) / 2, size = parts * L::size;
    // A number so large that its fraction has no bits left: the sum of it and a small number is rounded to an integer,
    // which is in the lowest bits of the sum.
    static constexpr T magic = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);

    // Keeps bins in the range from 0 to the last one; NaN become 0.
    static TRUERANK_INLINE Scores clamped(Scores bin, Mask is_nan) {
        constexpr T last = measured::kBins - 1;
        if constexpr (sizeof(T) == 4) {  // the bits of numbers from 0 on are integers of the same order
            const Mask top = Mask{} + std::bit_cast<Key<T>>(last);
            Mask bits = (Mask)bin & ~is_nan;
            bits = bits > Mask{} ? bits : Mask{};
            bits = bits < top ? bits : top;
            return (Scores)bits;
        } else {
            const Scores top = Scores{} + last;
            bin = bin > Scores{} ? bin : Scores{};
            return bin < top ? bin : top;
        }
    }
    // The bins of consecutive scores, in the order of score_at; those of NaN, which are counted, are 0.
    static TRUERANK_INLINE Counts bins_of(const T* scores, BinMap<T> map, Counts& nan) {
        Counts bins = {};
        for (std::size_t p = 0; p < parts; ++p) {
            const Scores vector = L::load(scores + p * L::size);
            const Mask is_nan = L::is_nan_score(vector);
            L::add(nan, is_nan);
            const Scores bin = clamped((vector - (Scores{} + map.origin)) * (Scores{} + map.factor), is_nan);
            Counts bits = (Counts)(bin + (Scores{} + magic));
            if (p + 1 < parts) bits &= Counts{} + typename L::Counter{0xffff};
            bins |= bits << int(16 * p);
        }
        return bins;
    }
    // Which of the consecutive scores has the bin at place i.
    static constexpr std::size_t score_at(std::size_t i) {
        const std::size_t place = i % size;
        return i - place + place % parts * L::size + place / parts;
    }
    // Writes the bins of n scores, whole vectors of bins; meanwhile scores ahead are prefetched.
    static TRUERANK_INLINE void write(const T* scores, std::size_t n, BinMap<T> map, std::uint16_t* bins, Counts& nan) {
        for (std::size_t u = 0; u < n; u += size) {
            for (std::size_t byte = 0; byte < sizeof(T) * size; byte += kLine) {
                prefetch(address_after(scores + u, measured::kAheadBytesOfSeveral + byte));
            }
            const Counts vector = bins_of(scores + u, map, nan);
            std::memcpy(bins + u, &vector, sizeof vector);
        }
    }
};

// The tables of a histogram, which lie in memory of the caller.
struct BinTables {
    std::uint32_t* entries;       // of each bin: its number of scores, times two, and whether it has a true score
    std::uint16_t *first, *size;  // of each bin that has true scores: which they are
    std::uint16_t* bin_of;        // of each true score

    explicit BinTables(std::int64_t* memory)
        : entries(reinterpret_cast<std::uint32_t*>(memory)),
          first(reinterpret_cast<std::uint16_t*>(entries + measured::kBins)),
          size(first + measured::kBins),
          bin_of(size + measured::kBins) {
        std::memset(entries, 0, measured::kBins * sizeof *entries);
    }
};

// Enters the true scores in the tables. Returns how many there are in a bin, at most.
template <class T>
std::size_t enter_true_scores(const Key<T>* true_scores, std::size_t k, BinMap<T> map, const BinTables& tables) {
    using B = Bins<T>;
    typename B::Counts nan = {};
    for (std::size_t begin = 0; begin < k; begin += B::size) {
        T some[B::size] = {};
        std::uint16_t bins[B::size];
        const std::size_t n = std::min(k - begin, B::size);
        for (std::size_t i = 0; i < n; ++i) some[i] = Order<T>::score(true_scores[begin + i]);
        const typename B::Counts vector = B::bins_of(some, map, nan);
        std::memcpy(bins, &vector, sizeof vector);
        for (std::size_t i = 0; i < B::size; ++i) {
            if (B::score_at(i) < n) tables.bin_of[begin + B::score_at(i)] = bins[i];
        }
    }
    std::size_t most_in_bin = 0;
    for (std::size_t j = 0; j < k; ++j) {
        const std::uint16_t bin = tables.bin_of[j];
        if (tables.entries[bin] == 0) {
            tables.entries[bin] = 1;
            tables.first[bin] = static_cast<std::uint16_t>(j);
        }
        tables.size[bin] = static_cast<std::uint16_t>(j + 1 - tables.first[bin]);
        most_in_bin = std::max(most_in_bin, std::size_t{tables.size[bin]});
    }
    return most_in_bin;
}

// Whether this takes less time than to search for each score, or to compare in groups, if so many of the probed scores
// are in bins that have true scores, which are searched in `steps`.
template <class T>
bool is_worth_it(std::size_t k, std::size_t compared, std::size_t steps) {
    const bool searches = k >= measured::kLeastSearched<T>;
    const std::size_t otherwise = searches ? measured::kSearchCycles : k / measured::kComparedPerCycle;
    const std::size_t to_compare = measured::kFoundCycles + measured::kStepCycles * steps;
    const std::size_t cycles = measured::kBinCycles * measured::kProbedScores + compared * to_compare;
    return cycles <= otherwise * measured::kProbedScores;
}

// Counts many true scores: every score is entered in a histogram, and only in bins that have a true score are scores
// compared, with those of the bin. below[p] and equal[p] are the counts that a search makes (several.hpp). Returns how
// many scores it has counted: none where too many would be compared.
template <class T>
std::size_t count_by_bins(const T* scores, std::size_t n, const Key<T>* true_scores, std::size_t k,
                          PartialCounts* counts, std::int64_t* below, std::int64_t* equal, std::int64_t* memory,
                          std::int64_t* nans) {
    using L = Lanes<T>;
    using B = Bins<T>;
    const BinMap<T> map = bin_map<T>(true_scores, k);
    if (!map) return 0;
    const BinTables tables(memory);
    std::uint32_t* const entries = tables.entries;
    const std::size_t most_in_bin = enter_true_scores<T>(true_scores, k, map, tables);
    const auto steps = static_cast<std::size_t>(std::bit_width(most_in_bin - 1));  // of a search in a bin

    alignas(kLine) std::uint16_t bins[measured::kBinnedScores];
    std::uint16_t listed[measured::kBinnedScores];  // the places of bins that have a true score
    typename L::Counts nan = {};
    B::write(scores, measured::kProbedScores, map, bins, nan);
    std::size_t compared = 0;
    for (std::size_t u = 0; u < measured::kProbedScores; ++u) compared += entries[bins[u]] & 1;
    if (!is_worth_it<T>(k, compared, steps)) return 0;

    nan = typename L::Counts{};  // the probed scores are counted again
    // Entries of the table have 31 bits for a number of scores.
    const std::size_t whole = std::min(n - n % measured::kBinnedScores, std::size_t{1} << 30);
    for (std::size_t i = 0; i < whole; i += measured::kBinnedScores) {
        B::write(scores + i, measured::kBinnedScores, map, bins, nan);
        std::size_t listed_count = 0;
#pragma GCC unroll 4
        for (std::size_t u = 0; u < measured::kBinnedScores; ++u) {
            std::uint32_t& entry = entries[bins[u]];
            listed[listed_count] = static_cast<std::uint16_t>(u);
            listed_count += entry & 1;
            entry += 2;
        }
        // All searches take the same number of steps, so that the processor foresees it.
        for (std::size_t l = 0; l < listed_count; ++l) {
            const std::uint16_t bin = bins[listed[l]];
            const Key<T> key = Order<T>::key(scores[i + B::score_at(listed[l])]);
            std::size_t at = tables.first[bin], left = tables.size[bin];
            for (std::size_t step = 0; step < steps; ++step) {
                const std::size_t part = left / 2;
                at += true_scores[at + part - (part > 0 ? 1 : 0)] < key ? part : 0;
                left -= part;
            }
            equal[at] += true_scores[at] == key ? 1 : 0;
            ++below[at + (true_scores[at] < key ? 1 : 0)];
        }
    }
    // Above a true score are all scores in higher bins that were not compared.
    std::uint32_t sum = 0;
    for (int b = 0; b < measured::kBins; ++b) {
        sum += (entries[b] >> 1) & ((entries[b] & 1) - 1);  // 0 for a bin whose scores were compared
        entries[b] = sum;
    }
    for (std::size_t j = 0; j < k; ++j) counts[j].above += sum - entries[tables.bin_of[j]];
    *nans += L::sum(nan);
    return whole;
}

}  // namespace
}  // namespace truerank
