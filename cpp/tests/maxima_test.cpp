// The maxima of spans of lanes, which may go on over several panels, beside a plain loop.
#include "kernels/maxima.hpp"

#include <algorithm>

#include "kernels/similarity.hpp"
#include "kernels/sums.hpp"
#include "tests/tests.hpp"

namespace truerank::tests {
namespace {

// Documents' tokens, one after the other, and the sum of each token of some queries with each of these.
template <class T>
struct TokenSums {
    static constexpr std::size_t rows = kTileQueries;
    std::vector<std::size_t> starts{0};
    std::vector<T> sums;

    // Infinities are the largest numbers, or those that are given.
    TokenSums(std::size_t lanes, Random& random, T largest = greatest) {
        for (std::int64_t documents = 1 + random.below(9); documents > 0; --documents) {
            const std::int64_t most = random.one_in(4) ? 5 * static_cast<std::int64_t>(lanes) : 20;
            starts.push_back(starts.back() + 1 + static_cast<std::size_t>(random.one_in(3) ? 0 : random.below(most)));
        }
        // Few numbers, infinities among them, or only the least.
        const std::int64_t kind = random.below(3);
        const T smallest = largest == greatest ? least : -largest;
        for (std::size_t i = 0; i < rows * tokens(); ++i) {
            sums.push_back(static_cast<T>(random.below(201) - 100));
            if (kind == 1 && random.one_in(9)) sums[i] = random.one_in(2) ? smallest : largest;
            if (kind == 2) sums[i] = smallest;
        }
    }
    std::size_t tokens() const { return starts.back(); }
    std::size_t documents() const { return starts.size() - 1; }
    T& at(std::size_t row, std::size_t token) { return sums[row * tokens() + token]; }
    // A NaN is greater than all.
    T plain(std::size_t row, std::size_t document) {
        T most = least;
        for (std::size_t t = starts[document]; t < starts[document + 1]; ++t) {
            if (is_nan(at(row, t))) return at(row, t);
            most = std::max(most, at(row, t));
        }
        return most;
    }

    static constexpr bool is_float = std::is_floating_point_v<T>;
    static constexpr T greatest = is_float ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    static constexpr T least = is_float ? -greatest : std::numeric_limits<T>::min();
};

template <class T, class Take>
void expect_maxima(Checks& checks, TokenSums<T>& given, std::size_t lanes, Take take, Random& random) {
    const std::size_t stride = given.rows + static_cast<std::size_t>(random.below(3));
    std::vector<T> maxima(given.documents() * stride + 1, T{7}), running(kTileQueries * kRunning<T> + 1);
    T* const unaligned = running.data() + 1;  // as kernels may be given it
    for (std::size_t begin = 0; begin < given.tokens(); begin += lanes) {
        const std::size_t end = std::min(begin + lanes, given.tokens());
        std::vector<T> panel(kTileQueries * lanes, given.greatest);  // and so is the padding
        for (std::size_t row = 0; row < given.rows; ++row) {
            for (std::size_t t = begin; t < end; ++t) panel[row * lanes + t - begin] = given.at(row, t);
        }
        std::vector<TokenSpan> spans;
        for (std::size_t d = 0; d < given.documents(); ++d) {
            const std::size_t first = std::max(given.starts[d], begin), last = std::min(given.starts[d + 1], end);
            if (first >= last) continue;
            spans.push_back({static_cast<std::uint32_t>(first - begin), static_cast<std::uint32_t>(last - begin),
                             static_cast<std::uint32_t>(d), given.starts[d] < begin, given.starts[d + 1] <= end});
        }
        take(panel.data(), kTileQueries, spans.data(), spans.size(), stride, maxima.data(), unaligned);
    }
    bool right = maxima.back() == T{7};
    for (std::size_t d = 0; d < given.documents(); ++d) {
        for (std::size_t row = 0; row < given.rows; ++row) {
            const T expected = given.plain(row, d), got = maxima[d * stride + row];
            right = right && (got == expected || (is_nan(got) && is_nan(expected)));
        }
    }
    checks.expect(right, "maxima of %zu documents with %zu tokens, %zu bytes, %zu lanes", given.documents(),
                  given.tokens(), sizeof(T), lanes);
}

// The places of sums near the greatest of their range, of documents that go on from one group of panels to the next.
void expect_greatest(Checks& checks, TokenSums<std::int32_t>& given, std::size_t lanes,
                     decltype(MaximaKernels<float>::list_greatest) list, Random& random) {
    const std::size_t rows = 1 + static_cast<std::size_t>(random.below(kTileQueries));
    const std::size_t panels = 1 + static_cast<std::size_t>(random.below(4)), group = panels * lanes;
    std::vector<std::int32_t> running(kTileQueries);
    bool right = true;
    for (std::size_t begin = 0; begin < given.tokens(); begin += group) {
        const std::size_t end = std::min(begin + group, given.tokens());
        std::vector<std::int32_t> sums(panels * kTileQueries * lanes, given.greatest);  // and so is the padding
        for (std::size_t row = 0; row < given.rows; ++row) {
            for (std::size_t t = 0; t < end - begin; ++t) {
                sums[(t / lanes * kTileQueries + row) * lanes + t % lanes] = given.at(row, begin + t);
            }
        }
        std::vector<TokenSpan> ranges;
        std::vector<std::size_t> documents;
        for (std::size_t d = 0; d < given.documents(); ++d) {
            const std::size_t first = std::max(given.starts[d], begin), last = std::min(given.starts[d + 1], end);
            // One that goes on is asked for everywhere, another perhaps not.
            if (first >= last || (last - first == given.starts[d + 1] - given.starts[d] && random.one_in(4))) continue;
            ranges.push_back({static_cast<std::uint32_t>(first - begin), static_cast<std::uint32_t>(last - begin),
                              static_cast<std::uint32_t>(d), given.starts[d] < begin, given.starts[d + 1] <= end});
            documents.push_back(d);
        }
        std::vector<std::int32_t> margins;
        for (std::size_t i = 0; i < rows * ranges.size(); ++i) {
            margins.push_back(static_cast<std::int32_t>(random.one_in(9) ? 1 << 30 : random.below(60)));
        }
        const std::size_t most = rows * (end - begin);
        std::vector<std::uint32_t> places(most + lanes), ends(rows * ranges.size()), expected;
        list(sums.data(), kTileQueries, rows, ranges.data(), ranges.size(), margins.data(), running.data(),
             places.data(), ends.data());
        std::size_t at = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t i = 0; i < ranges.size(); ++i, ++at) {
                std::int32_t greatest = given.least;
                for (std::size_t t = given.starts[documents[i]]; t < begin + ranges[i].end; ++t) {
                    greatest = std::max(greatest, given.at(row, t));
                }
                for (std::size_t t = ranges[i].begin; t < ranges[i].end; ++t) {
                    const std::int64_t below = std::int64_t{greatest} - given.at(row, begin + t);
                    if (below <= margins[at]) expected.push_back(static_cast<std::uint32_t>(t));
                }
                right = right && ends[at] == expected.size();
            }
        }
        right = right && std::equal(expected.begin(), expected.end(), places.begin());
    }
    checks.expect(right, "the greatest of %zu documents with %zu tokens, %zu lanes", given.documents(), given.tokens(),
                  lanes);
}

template <class T>
void check_as(Checks& checks, Random& random) {
    const MaximaKernels<T>& kernels = maxima_kernels<T>();
    const std::size_t lanes = sum_kernels<T>().lanes;
    for (int repeat = 0; repeat < 400; ++repeat) {
        TokenSums<T> sums(lanes, random);
        expect_maxima(checks, sums, lanes, kernels.take, random);
        TokenSums<std::int32_t> levels(lanes, random);
        expect_maxima(checks, levels, lanes, kernels.take_levels, random);
        TokenSums<std::int32_t> small(lanes, random, 1 << 29);
        expect_greatest(checks, small, lanes, kernels.list_greatest, random);
    }
    for (std::size_t n = 0; n < 40; ++n) {
        std::vector<std::int32_t> maxima(n);
        std::vector<float> scales(n);
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            maxima[i] = static_cast<std::int32_t>(random.below(1 << 30)) - (1 << 29);
            scales[i] = static_cast<float>(random.below(99)) / 8;
            sum += maxima[i] * static_cast<double>(scales[i]);
        }
        checks.expect(kernels.sum_levels(maxima.data(), scales.data(), n) == sum, "sum of %zu maxima", n);
    }
    // A NaN at each place.
    for (int repeat = 0; repeat < 9; ++repeat) {
        const TokenSums<T> numbers(lanes, random);
        for (std::size_t t = 0; t < numbers.tokens(); ++t) {
            TokenSums<T> sums = numbers;
            sums.at(t % sums.rows, t) = std::numeric_limits<T>::quiet_NaN();
            expect_maxima(checks, sums, lanes, kernels.take, random);
        }
    }
}

}  // namespace

void check_maxima(Checks& checks) {
    Random random;
    check_as<float>(checks, random);
    check_as<double>(checks, random);
}

}  // namespace truerank::tests
