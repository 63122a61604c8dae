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
    // Bins have 16 bits: those of so many vectors of scores fill one vector.
    static constexpr std::size_t parts = sizeof(T) / 2, size = parts * L::size;
    // A number so large that its fraction has no bits left: the sum of it and a small number is rounded to an integer,
    // which is in the lowest bits of the sum.
    static constexpr T magic = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);

    // The bins of consecutive scores, in the order of score_at; those of NaN, which are counted, are 0.
    static TRUERANK_INLINE Counts of(const T* scores, BinMap<T> map, Counts& nan) {
        using Scores = typename L::Scores;
        using Mask = typename L::Mask;
        constexpr T most = measured::kBins - 1;
        Counts result = {};
        for (std::size_t p = 0; p < parts; ++p) {
            const Scores vector = L::load(scores + p * L::size);
            const Mask is_nan = L::is_nan_score(vector);
            L::add(nan, is_nan);
            Scores bin = (vector - (Scores{} + map.origin)) * (Scores{} + map.factor);
            if constexpr (sizeof(T) == 4) {  // the bits of numbers from 0 on are integers of the same order
                const Mask top = Mask{} + std::bit_cast<Key<T>>(most);
                Mask bits = (Mask)bin & ~is_nan;
                bits = bits > Mask{} ? bits : Mask{};
                bits = bits < top ? bits : top;
                bin = (Scores)bits;
            } else {
                const Scores top = Scores{} + most;
                bin = bin > Scores{} ? bin : Scores{};
                bin = bin < top ? bin : top;
            }
            Counts bits = (Counts)(bin + (Scores{} + magic));
            if (p + 1 < parts) bits &= Counts{} + typename L::Counter{0xffff};
            result |= bits << int(16 * p);
        }
        return result;
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
            const Counts vector = of(scores + u, map, nan);
            std::memcpy(bins + u, &vector, sizeof vector);
        }
    }
};

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
    // For each bin the number of scores, times two, and in the lowest bit whether it has a true score; for those that
    // have, which is the first, and how many there are; for each true score, its bin.
    auto* const table = reinterpret_cast<std::uint32_t*>(memory);
    auto* const begin = reinterpret_cast<std::uint16_t*>(table + measured::kBins);
    auto* const length = begin + measured::kBins;
    auto* const bin_of = length + measured::kBins;
    std::memset(table, 0, measured::kBins * sizeof *table);
    typename L::Counts nan = {};
    std::size_t most_in_bin = 0;
    for (std::size_t first = 0; first < k; first += B::size) {
        T some[B::size] = {};
        std::uint16_t bins[B::size];
        const std::size_t m = std::min(k - first, B::size);
        for (std::size_t l = 0; l < m; ++l) some[l] = Order<T>::score(true_scores[first + l]);
        const typename L::Counts vector = B::of(some, map, nan);
        std::memcpy(bins, &vector, sizeof vector);
        for (std::size_t l = 0; l < B::size; ++l) {
            if (B::score_at(l) < m) bin_of[first + B::score_at(l)] = bins[l];
        }
    }
    for (std::size_t j = 0; j < k; ++j) {
        const std::uint16_t b = bin_of[j];
        if (table[b] == 0) {
            table[b] = 1;
            begin[b] = static_cast<std::uint16_t>(j);
        }
        length[b] = static_cast<std::uint16_t>(j + 1 - begin[b]);
        most_in_bin = std::max(most_in_bin, std::size_t{length[b]});
    }
    const auto steps = static_cast<std::size_t>(std::bit_width(most_in_bin - 1));  // of a search in a bin

    // The bins of the first scores tell whether this takes less time than to search, or to compare in groups.
    alignas(kLine) std::uint16_t bins[measured::kBinnedScores];
    std::uint16_t listed[measured::kBinnedScores];  // the places of bins that have a true score
    B::write(scores, measured::kProbedScores, map, bins, nan);
    std::size_t compared = 0;
    for (std::size_t u = 0; u < measured::kProbedScores; ++u) compared += table[bins[u]] & 1;
    const bool searches = k >= measured::kLeastSearched<T>;
    const std::size_t otherwise = searches ? measured::kSearchCycles : k / measured::kComparedPerCycle;
    const std::size_t to_compare = measured::kFoundCycles + measured::kStepCycles * steps;
    const std::size_t cycles = measured::kBinCycles * measured::kProbedScores + compared * to_compare;
    if (cycles > otherwise * measured::kProbedScores) return 0;

    nan = typename L::Counts{};  // the probed scores are counted again
    // Entries of the table have 31 bits for a number of scores.
    const std::size_t whole = std::min(n - n % measured::kBinnedScores, std::size_t{1} << 30);
    for (std::size_t i = 0; i < whole; i += measured::kBinnedScores) {
        B::write(scores + i, measured::kBinnedScores, map, bins, nan);
        std::size_t m = 0;
#pragma GCC unroll 4
        for (std::size_t u = 0; u < measured::kBinnedScores; ++u) {
            std::uint32_t& entry = table[bins[u]];
            listed[m] = static_cast<std::uint16_t>(u);
            m += entry & 1;
            entry += 2;
        }
        // All searches take the same number of steps, so that the processor foresees it.
        for (std::size_t l = 0; l < m; ++l) {
            const std::uint16_t b = bins[listed[l]];
            const Key<T> key = Order<T>::key(scores[i + B::score_at(listed[l])]);
            std::size_t at = begin[b], left = length[b];
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
        sum += (table[b] >> 1) & ((table[b] & 1) - 1);  // 0 for a bin whose scores were compared
        table[b] = sum;
    }
    for (std::size_t j = 0; j < k; ++j) counts[j].above += sum - table[bin_of[j]];
    *nans += L::sum(nan);
    return whole;
}

}  // namespace
}  // namespace truerank
