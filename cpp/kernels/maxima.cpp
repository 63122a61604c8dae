#include "kernels/maxima.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/steps.hpp"

namespace truerank {
namespace {

// A NaN, which no comparison sees, is told by the sum of all that was compared: one is among the spans, or the sum is
// NaN for another reason, such as infinities of both signs.
template <class T>
void find_nans(const T* sums, std::size_t rows, std::size_t lanes, const TokenSpan* spans, std::size_t n,
               std::size_t stride, T* maxima, T* running) {
    for (const TokenSpan* span = spans; span < spans + n; ++span) {
        for (std::size_t row = 0; row < rows; ++row) {
            T& most = span->ends ? maxima[span->document * stride + row] : running[row * kRunning<T>];
            for (std::size_t i = span->begin; i < span->end; ++i) {
                const T x = sums[row * lanes + i];
                if (x != x) most = x;
            }
        }
    }
}

// `Lane` is the type of the panel's components, T that of the sums.
template <class T, class Lane>
void take_maxima(const T* sums, std::size_t rows, const TokenSpan* spans, std::size_t n, std::size_t stride, T* maxima,
                 T* running) {
    using Vector = typename Simd<T>::type;
    using Unaligned = typename Simd<T>::unaligned;
    using Int = typename Integers<sizeof(T)>::Signed;
    using Lanes = typename Simd<Int>::type;
    using Limits = std::numeric_limits<T>;
    constexpr std::size_t size = kBytes / sizeof(T), lanes = kBlockLanes<Lane>;
    const Vector none = Vector{} + (Limits::has_infinity ? -Limits::infinity() : Limits::min());
    Lanes numbers{};
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<Int>(i);
    Vector sum_of_all{};  // NaN where any is
    for (std::size_t s = 0; s < n; ++s) {
        const TokenSpan span = spans[s];
        const std::size_t first = span.begin / size, last = (span.end - 1) / size;
        const Lanes from_begin = numbers >= Lanes{} + static_cast<Int>(span.begin % size);
        const Lanes to_end = numbers <= Lanes{} + static_cast<Int>((span.end - 1) % size);
        T* const out = maxima + span.document * stride;
        for (std::size_t row = 0; row < rows; ++row) {
            const auto at = [&](std::size_t v) __attribute__((always_inline)) {
                const Vector x = *reinterpret_cast<const Unaligned*>(sums + row * lanes + v * size);
                if constexpr (Limits::has_quiet_NaN) sum_of_all += x;
                return x;
            };
            Vector most = from_begin ? at(first) : none;
            if (first == last) {
                most = to_end ? most : none;
            } else {
                for (std::size_t v = first + 1; v < last; ++v) most = greater_of(most, at(v));
                most = greater_of(most, to_end ? at(last) : none);
            }
            auto* const kept = reinterpret_cast<Unaligned*>(running + row * kRunning<T>);
            // A NaN that is kept is in the first lane, and stays: nothing is greater.
            if (span.continues) {
                const Vector before = *kept;  // a reference would have to be aligned
                most = greater_of(before, most);
            }
            if (span.ends) {
                out[row] = reduce<T>(most, greater_of);
            } else {
                *kept = most;
            }
        }
    }
    if constexpr (Limits::has_quiet_NaN) {
        T sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += sum_of_all[i];
        if (sum != sum) find_nans(sums, rows, lanes, spans, n, stride, maxima, running);
    }
}

// `Lane` is as for take_maxima().
template <class Lane>
void list_greatest(const std::int32_t* sums, std::size_t tile_rows, std::size_t rows, const TokenSpan* spans,
                   std::size_t n, const std::int32_t* margins, std::int32_t* running, std::uint32_t* places,
                   std::uint32_t* ends) {
    using Ints = Simd<std::int32_t>::type;
    using Unaligned = Simd<std::int32_t>::unaligned;
    constexpr std::uint32_t size = kBytes / sizeof(std::int32_t), lanes = kBlockLanes<Lane>, vectors = lanes / size;
    constexpr std::uint64_t all_bits = (std::uint64_t{1} << size) - 1;
    const Ints none = Ints{} + std::numeric_limits<std::int32_t>::min();
    Ints numbers{};
    TRUERANK_UNROLL
    for (std::uint32_t i = 0; i < size; ++i) numbers[i] = static_cast<std::int32_t>(i);
    std::uint32_t* to = places;
    for (std::size_t row = 0; row < rows; ++row) {
        const auto at = [&](std::uint32_t v) __attribute__((always_inline)) -> Ints {
            const std::size_t panel = v / vectors;
            return *reinterpret_cast<const Unaligned*>(sums + (panel * tile_rows + row) * lanes + v % vectors * size);
        };
        for (std::size_t i = 0; i < n; ++i) {
            const TokenSpan& span = spans[i];
            const std::uint32_t first = span.begin / size, last = (span.end - 1) / size;
            const std::uint32_t first_lane = span.begin % size, last_lane = (span.end - 1) % size;
            Ints most = numbers >= static_cast<std::int32_t>(first_lane) ? at(first) : none;
            if (first == last) {
                most = numbers <= static_cast<std::int32_t>(last_lane) ? most : none;
            } else {
                for (std::uint32_t v = first + 1; v < last; ++v) most = greater_of(most, at(v));
                const Ints rest = at(last);
                most = greater_of(most, numbers <= static_cast<std::int32_t>(last_lane) ? rest : none);
            }
            std::int32_t greatest = reduce<std::int32_t>(most, greater_of);
            // Only the first span may continue, so that what runs on is that of the last one.
            if (span.continues) greatest = std::max(greatest, running[row]);
            running[row] = greatest;
            const Ints below = Ints{} + (greatest - margins[row * n + i] - 1);
            for (std::uint32_t v = first; v <= last; ++v) {
                std::uint64_t bits = Instructions::lanes_greater(at(v), below);
                if (v == first) bits &= all_bits << first_lane;
                if (v == last) bits &= all_bits >> (size - 1 - last_lane);
                to += Instructions::store_lanes(numbers + static_cast<std::int32_t>(v * size), bits, to);
            }
            ends[row * n + i] = static_cast<std::uint32_t>(to - places);
        }
    }
}

double sum_levels(const std::int32_t* maxima, const float* scales, std::size_t n) {
    using Doubles = typename Simd<double>::type;
    using Ints = typename Simd<std::int32_t, kBytes / 2>::type;
    using Floats = typename Simd<float, kBytes / 2>::type;
    constexpr std::size_t size = kBytes / sizeof(double);
    Doubles sums{};
    std::size_t i = 0;
    for (; i + size <= n; i += size) {
        Ints most;
        Floats scale;
        std::memcpy(&most, maxima + i, sizeof most);
        std::memcpy(&scale, scales + i, sizeof scale);
        sums += __builtin_convertvector(most, Doubles) * __builtin_convertvector(scale, Doubles);
    }
    double sum = 0;
    for (; i < n; ++i) sum += static_cast<double>(maxima[i]) * static_cast<double>(scales[i]);
    for (std::size_t k = 0; k < size; ++k) sum += sums[k];
    return sum;
}

template <class T>
constexpr MaximaKernels<T> kTable = {.take = take_maxima<T, T>,
                                     .take_levels = take_maxima<std::int32_t, T>,
                                     .list_greatest = list_greatest<T>,
                                     .sum_levels = sum_levels};

}  // namespace

TRUERANK_HAND_OUT(MaximaKernels, float)
TRUERANK_HAND_OUT(MaximaKernels, double)

}  // namespace truerank
