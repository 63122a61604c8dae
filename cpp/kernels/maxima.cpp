#include "kernels/maxima.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/arithmetic.hpp"
#include "kernels/steps.hpp"

namespace truerank {
namespace {

template <class T, int Bytes, class V = typename Simd<T, Bytes>::type>
TRUERANK_INLINE V greater_of(std::type_identity_t<V> a, std::type_identity_t<V> b) {
    return b > a ? b : a;
}

template <class Index, class Int, int Half, Int... I>
TRUERANK_INLINE Index permutation(std::integer_sequence<Int, I...>) {
    return Index{(I ^ Half)...};
}

// The greatest lane, by halves: a permutation of each of these is known to the compiler.
template <class T, int Bytes, int Half = Bytes / static_cast<int>(sizeof(T)) / 2>
TRUERANK_INLINE T greatest_lane(typename Simd<T, Bytes>::type x) {
    if constexpr (Half == 0) {
        return x[0];
    } else {
        using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
        using Index = typename Simd<Int, Bytes>::type;
        const Index index = permutation<Index, Int, Half>(std::make_integer_sequence<Int, Bytes / sizeof(T)>{});
        return greatest_lane<T, Bytes, Half / 2>(greater_of<T, Bytes>(x, __builtin_shuffle(x, index)));
    }
}

// `Lane` is the type of the panel's components, T that of the sums.
template <class T, class Lane, int Bytes>
TRUERANK_INLINE void take_body(const T* sums, std::size_t rows, const LaneSpan* spans, std::size_t n,
                               std::size_t stride, T* maxima, T* running) {
    using Vector = typename Simd<T, Bytes>::type;
    using Unaligned = typename Simd<T, Bytes>::unaligned;
    using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    using Index = typename Simd<Int, Bytes>::type;
    constexpr std::size_t size = Bytes / sizeof(T), lanes = kBlockLanes<Lane, Bytes>;
    constexpr T least =
        std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
    Index numbers{};
    TRUERANK_UNROLL
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<Int>(i);
    const Vector none = Vector{} + least;
    Vector all{};
    for (std::size_t s = 0; s < n; ++s) {
        const LaneSpan span = spans[s];
        T* const out = maxima + span.document * stride;
        const std::size_t first = span.begin / size, last = (span.end - 1) / size;
        const Index from = Index{} + static_cast<Int>(span.begin) - static_cast<Int>(first * size);
        const Index to = Index{} + static_cast<Int>(span.end) - static_cast<Int>(last * size);
        for (std::size_t row = 0; row < rows; ++row) {
            const T* const x = sums + row * lanes;
            Vector most = *reinterpret_cast<const Unaligned*>(x + first * size);
            if constexpr (std::is_floating_point_v<T>) all += most;
            most = numbers >= from ? most : none;
            if (first == last) {
                most = numbers < to ? most : none;
            } else {
                for (std::size_t v = first + 1; v < last; ++v) {
                    const Vector next = *reinterpret_cast<const Unaligned*>(x + v * size);
                    if constexpr (std::is_floating_point_v<T>) all += next;
                    most = greater_of<T, Bytes>(most, next);
                }
                const Vector end = *reinterpret_cast<const Unaligned*>(x + last * size);
                if constexpr (std::is_floating_point_v<T>) all += end;
                most = greater_of<T, Bytes>(most, numbers < to ? end : none);
            }
            auto* const kept = reinterpret_cast<Unaligned*>(running + row * kRunning<T>);
            // A NaN that is kept stays: it is in the first lane, and nothing is greater.
            if (span.continues) most = greater_of<T, Bytes>(*kept, most);
            if (span.ends) {
                out[row] = greatest_lane<T, Bytes>(most);
            } else {
                *kept = most;
            }
        }
    }
    if constexpr (std::is_floating_point_v<T>) {
        // A NaN, which no comparison sees, leaves a trace in this sum; so may infinities.
        T any = 0;
        for (std::size_t i = 0; i < size; ++i) any += all[i];
        if (any == any) return;
        for (std::size_t s = 0; s < n; ++s) {
            for (std::size_t row = 0; row < rows; ++row) {
                for (std::size_t i = spans[s].begin; i < spans[s].end; ++i) {
                    const T x = sums[row * lanes + i];
                    if (x == x) continue;
                    (spans[s].ends ? maxima[spans[s].document * stride + row] : running[row * kRunning<T>]) = x;
                }
            }
        }
    }
}

#define TRUERANK_WRAP(name, width, several, fused, attribute)                                                      \
    namespace name {                                                                                               \
    template <class T>                                                                                             \
    attribute void take(const T* sums, std::size_t rows, const LaneSpan* spans, std::size_t n, std::size_t stride, \
                        T* maxima, T* running) {                                                                   \
        take_body<T, T, width>(sums, rows, spans, n, stride, maxima, running);                                     \
    }                                                                                                              \
    template <class T>                                                                                             \
    attribute void take_levels(const std::int32_t* sums, std::size_t rows, const LaneSpan* spans, std::size_t n,   \
                               std::size_t stride, std::int32_t* maxima, std::int32_t* running) {                  \
        take_body<std::int32_t, T, width>(sums, rows, spans, n, stride, maxima, running);                          \
    }                                                                                                              \
    }
TRUERANK_FOR_EACH_ISA(TRUERANK_WRAP)
#undef TRUERANK_WRAP

}  // namespace

template <class T>
const MaximaKernels<T>& maxima_kernels() {
    static constexpr MaximaKernels<T> table[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute) {name::take<T>, name::take_levels<T>},
        TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
    };
    return table[static_cast<int>(isa())];
}

template const MaximaKernels<float>& maxima_kernels<float>();
template const MaximaKernels<double>& maxima_kernels<double>();

}  // namespace truerank
