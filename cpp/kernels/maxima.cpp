#include "kernels/maxima.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/arithmetic.hpp"
#include "kernels/steps.hpp"

namespace truerank {
namespace {

template <class V>
TRUERANK_INLINE V greater_of(const V& a, const V& b) {
    return b > a ? b : a;
}

// The greatest lane, by halves.
template <class T, int Bytes>
TRUERANK_INLINE T greatest_lane(const typename Simd<T, Bytes>::type& x) {
    if constexpr (Bytes > 16) {
        using Half = typename Simd<T, Bytes / 2>::type;
        Half halves[2];
        std::memcpy(halves, &x, sizeof x);
        return greatest_lane<T, Bytes / 2>(greater_of(halves[0], halves[1]));
    } else {
        T most = x[0];
        for (std::size_t i = 1; i < Bytes / sizeof(T); ++i) most = x[i] > most ? x[i] : most;
        return most;
    }
}

// A NaN, which no comparison sees, is told by the sum of all that was compared: one is among the spans, or the sum is
// NaN for another reason, such as infinities of both signs.
template <class T>
void find_nans(const T* sums, std::size_t lanes, const LaneSpan* spans, std::size_t n, std::size_t stride, T* maxima,
               T* running) {
    for (const LaneSpan* span = spans; span < spans + n; ++span) {
        for (std::size_t row = 0; row < kTileQueries; ++row) {
            T& most = span->ends ? maxima[span->document * stride + row] : running[row * kRunning<T>];
            for (std::size_t i = span->begin; i < span->end; ++i) {
                const T x = sums[row * lanes + i];
                if (x != x) most = x;
            }
        }
    }
}

// `Lane` is the type of the panel's components, T that of the sums.
template <class T, class Lane, int Bytes>
TRUERANK_INLINE void take_body(const T* sums, const LaneSpan* spans, std::size_t n, std::size_t stride, T* maxima,
                               T* running) {
    using Vector = typename Simd<T, Bytes>::type;
    using Unaligned = typename Simd<T, Bytes>::unaligned;
    using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    using Lanes = typename Simd<Int, Bytes>::type;
    using Limits = std::numeric_limits<T>;
    constexpr std::size_t size = Bytes / sizeof(T), lanes = kBlockLanes<Lane, Bytes>;
    const Vector none = Vector{} + (Limits::has_infinity ? -Limits::infinity() : Limits::min());
    Lanes numbers{};
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<Int>(i);
    Vector all{};
    for (std::size_t s = 0; s < n; ++s) {
        const LaneSpan span = spans[s];
        const std::size_t first = span.begin / size, last = (span.end - 1) / size;
        const Lanes from = numbers >= Lanes{} + static_cast<Int>(span.begin % size);
        const Lanes to = numbers <= Lanes{} + static_cast<Int>((span.end - 1) % size);
        T* const out = maxima + span.document * stride;
        for (std::size_t row = 0; row < kTileQueries; ++row) {
            const auto at = [&](std::size_t v) __attribute__((always_inline)) {
                const Vector x = *reinterpret_cast<const Unaligned*>(sums + row * lanes + v * size);
                if constexpr (Limits::has_quiet_NaN) all += x;
                return x;
            };
            Vector most = from ? at(first) : none;
            if (first == last) {
                most = to ? most : none;
            } else {
                for (std::size_t v = first + 1; v < last; ++v) most = greater_of(most, at(v));
                most = greater_of(most, to ? at(last) : none);
            }
            auto* const kept = reinterpret_cast<Unaligned*>(running + row * kRunning<T>);
            // A NaN that is kept is in the first lane, and stays: nothing is greater.
            if (span.continues) most = greater_of<Vector>(*kept, most);
            if (span.ends) {
                out[row] = greatest_lane<T, Bytes>(most);
            } else {
                *kept = most;
            }
        }
    }
    if constexpr (Limits::has_quiet_NaN) {
        T trace = 0;
        for (std::size_t i = 0; i < size; ++i) trace += all[i];
        if (trace != trace) find_nans(sums, lanes, spans, n, stride, maxima, running);
    }
}

template <int Bytes>
TRUERANK_INLINE double sum_levels_body(const std::int32_t* maxima, const float* scales, std::size_t n) {
    using Doubles = typename Simd<double, Bytes>::type;
    using Ints = typename Simd<std::int32_t, Bytes / 2>::type;
    using Floats = typename Simd<float, Bytes / 2>::type;
    constexpr std::size_t size = Bytes / sizeof(double);
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

#define TRUERANK_WRAP(name, width, several, fused, attribute)                                               \
    namespace name {                                                                                        \
    template <class T, class Lane>                                                                          \
    attribute void take(const T* sums, const LaneSpan* spans, std::size_t n, std::size_t stride, T* maxima, \
                        T* running) {                                                                       \
        take_body<T, Lane, width>(sums, spans, n, stride, maxima, running);                                 \
    }                                                                                                       \
    attribute double sum_levels(const std::int32_t* maxima, const float* scales, std::size_t n) {           \
        return sum_levels_body<width>(maxima, scales, n);                                                   \
    }                                                                                                       \
    }
TRUERANK_FOR_EACH_ISA(TRUERANK_WRAP)
#undef TRUERANK_WRAP

}  // namespace

template <class T>
const MaximaKernels<T>& maxima_kernels() {
    static constexpr MaximaKernels<T> table[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute) \
    {name::take<T, T>, name::take<std::int32_t, T>, name::sum_levels},
        TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
    };
    return table[static_cast<int>(isa())];
}

template const MaximaKernels<float>& maxima_kernels<float>();
template const MaximaKernels<double>& maxima_kernels<double>();

}  // namespace truerank
