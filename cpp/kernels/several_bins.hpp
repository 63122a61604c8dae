// Many true scores are counted by a histogram of codes.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/several_codes.hpp"

namespace truerank {

// Counts many true scores: every score is entered in a histogram of its codes, and only in bins that have a true score
// are scores compared, with those of the bin. below[p] and equal[p] are the counts that a search makes (keys.hpp).
// Returns how many scores it has counted: none where too many would be compared.
template <class T, int Bytes>
TRUERANK_INLINE std::size_t count_by_bins(const T* scores, std::size_t n, const Key<T>* true_scores, std::size_t k,
                                          PartialCounts* counts, std::int64_t* below, std::int64_t* equal,
                                          std::int64_t* memory, std::int64_t* nans) {
    using L = Lanes<T, Bytes>;
    using D = Codes<T, Bytes>;
    const CodeMap<T> map = code_map<T>(true_scores, k, measured::kBins);
    if (!map) return 0;
    // For each bin the number of scores, times two, and in the lowest bit whether it has a true score; for those that
    // have, which is the first, and how many there are; for each true score, its bin.
    auto* const table = reinterpret_cast<std::uint32_t*>(memory);
    auto* const begin = reinterpret_cast<std::uint16_t*>(table + measured::kBins);
    auto* const length = begin + measured::kBins;
    auto* const bin_of = length + measured::kBins;
    const auto bin = [](std::int16_t code) { return static_cast<std::uint16_t>(code + 0x8000); };
    std::memset(table, 0, measured::kBins * sizeof *table);
    codes_of_true_scores<T, Bytes>(true_scores, k, map, measured::kBins, reinterpret_cast<std::int16_t*>(bin_of));
    std::size_t most = 0;
    for (std::size_t j = 0; j < k; ++j) {
        const std::uint16_t b = bin_of[j] = bin(static_cast<std::int16_t>(bin_of[j]));
        if (table[b] == 0) {
            table[b] = 1;
            begin[b] = static_cast<std::uint16_t>(j);
        }
        length[b] = static_cast<std::uint16_t>(j + 1 - begin[b]);
        most = std::max(most, std::size_t{length[b]});
    }
    const auto steps = static_cast<std::size_t>(std::bit_width(most - 1));  // of a search in a bin
    alignas(kLine) std::int16_t codes[measured::kCodedScores];
    std::uint16_t listed[measured::kCodedScores];
    typename L::Counts nan = {};
    codes_of<T, Bytes>(scores, measured::kProbedScores, map, measured::kBins, codes, nan);
    std::size_t compared = 0;
    for (std::size_t u = 0; u < measured::kProbedScores; ++u) compared += table[bin(codes[u])] & 1;
    const bool searches = k >= measured::kLeastSearched<T>;
    const std::size_t otherwise = searches ? measured::kSearchCycles : k / measured::kComparedPerCycle;
    const std::size_t found = measured::kFoundCycles + measured::kStepCycles * steps;
    const std::size_t cycles = measured::kBinCycles * measured::kProbedScores + compared * found;
    if (cycles > otherwise * measured::kProbedScores) return 0;
    nan = typename L::Counts{};
    // Entries of the table have 31 bits for a number of scores.
    const std::size_t whole = std::min(n - n % measured::kCodedScores, std::size_t{1} << 30);
    for (std::size_t i = 0; i < whole; i += measured::kCodedScores) {
        codes_of<T, Bytes>(scores + i, measured::kCodedScores, map, measured::kBins, codes, nan);
        std::size_t m = 0;
#pragma GCC unroll 4
        for (std::size_t u = 0; u < measured::kCodedScores; ++u) {
            std::uint32_t& entry = table[bin(codes[u])];
            listed[m] = static_cast<std::uint16_t>(u);
            m += entry & 1;
            entry += 2;
        }
        // All searches take the same number of steps, so that the processor foresees it.
        for (std::size_t l = 0; l < m; ++l) {
            const std::uint16_t b = bin(codes[listed[l]]);
            const Key<T> key = Order<T>::key(scores[i + D::score_at(listed[l])]);
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
    std::uint32_t sum = 0;
    for (int b = 0; b < measured::kBins; ++b) {
        sum += (table[b] >> 1) & ((table[b] & 1) - 1);  // 0 for a bin whose scores were compared
        table[b] = sum;
    }
    for (std::size_t j = 0; j < k; ++j) counts[j].above += sum - table[bin_of[j]];
    *nans += L::sum(nan);
    return whole;
}

}  // namespace truerank
