#include "kernels/decisions.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/steps.hpp"

namespace truerank {
namespace {

// One bit for each lane of a mask.
template <int Bytes, class Mask>
TRUERANK_INLINE std::uint64_t lane_bits(Mask mask) {
    if constexpr (requires { Instructions<Bytes>::lane_bits(mask); }) {
        return Instructions<Bytes>::lane_bits(mask);
    } else {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < Bytes / 4; ++i) bits |= static_cast<std::uint64_t>(mask[i] & 1) << i;
        return bits;
    }
}

// One bit for each lane: whether it is greater, or not less. A comparison with a NaN does not hold.
template <int Bytes, class Vector>
TRUERANK_INLINE std::uint64_t lanes_greater(Vector a, Vector b) {
    if constexpr (requires { Instructions<Bytes>::lanes_greater(a, b); }) {
        return Instructions<Bytes>::lanes_greater(a, b);
    } else {
        return lane_bits<Bytes>(a > b);
    }
}
template <int Bytes, class Vector, std::size_t Count>
TRUERANK_INLINE std::uint64_t lanes_greater(const Vector (&a)[Count], Vector b) {
    if constexpr (requires { Instructions<Bytes>::lanes_greater(a, b); }) {
        return Instructions<Bytes>::lanes_greater(a, b);
    } else {
        std::uint64_t bits = 0;
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < Count; ++i) bits |= lanes_greater<Bytes>(a[i], b) << (i * (Bytes / 4));
        return bits;
    }
}
template <int Bytes, class Floats>
TRUERANK_INLINE std::uint64_t lanes_at_least(Floats a, Floats b) {
    if constexpr (requires { Instructions<Bytes>::lanes_at_least(a, b); }) {
        return Instructions<Bytes>::lanes_at_least(a, b);
    } else {
        return lane_bits<Bytes>(a >= b);
    }
}

// Sets the bits of some lanes, which are 0. Whole bytes are written alone: otherwise the compiler would shift and
// combine them in vectors.
template <std::size_t Count>
TRUERANK_INLINE void put_bits(std::uint64_t& mask, std::size_t at, std::uint64_t bits) {
    if constexpr (Count % 8 == 0 && std::endian::native == std::endian::little) {
        std::memcpy(reinterpret_cast<unsigned char*>(&mask) + at / 8, &bits, Count / 8);
    } else {
        mask |= bits << at;
    }
}

// What values of some lanes follow from, in registers.
template <class A, int Bytes, class Sum, bool HasError>
struct LaneVectors {
    using Floats = typename A::Vector;
    using Sums = typename Simd<Sum, Bytes>::type;
    Floats low_scale, low, high_scale, high, residue, norm;

    TRUERANK_INLINE LaneVectors(const ValueLanes& lanes, std::size_t at)
        : low_scale(A::load(lanes.low_scale + at)),
          low(A::load(lanes.low + at)),
          high_scale(A::load(lanes.high_scale + at)),
          high(A::load(lanes.high + at)),
          residue{},
          norm{} {
        if constexpr (HasError) {
            residue = A::load(lanes.residue + at);
            norm = A::load(lanes.norm + at);
        }
    }
    // The intervals in which the values of a row are.
    TRUERANK_INLINE void intervals(const std::int32_t* sums, const ValueRow& row, Floats& least, Floats& most) const {
        Sums sum;
        std::memcpy(&sum, sums, Bytes);
        Floats x;
        if constexpr (std::is_floating_point_v<Sum>) {
            x = sum * A::broadcast(row.scale);
        } else {
            x = __builtin_convertvector(sum, Floats) * A::broadcast(row.scale);
        }
        least = A::fma(x, low_scale, low);
        most = A::fma(x, high_scale, high);
        if constexpr (HasError) {
            const Floats error = A::fma(A::broadcast(row.norm), residue, A::broadcast(row.residue) * norm);
            least -= error;
            most += error;
        }
    }
};

template <class A, int Bytes, class T, class Sum, bool HasError>
TRUERANK_INLINE void decide_body(const std::int32_t* sums, std::size_t blocks, std::size_t rows,
                                 const ValueRow* value_rows, const ValueLanes& values, const std::int64_t* first,
                                 const float* above, const float* below, PairMasks* masks) {
    constexpr std::size_t size = Bytes / sizeof(float), lanes = kBlockLanes<T, Bytes>;
    for (std::int64_t task = first[0]; task < first[rows]; ++task) masks[task - first[0]] = {};
    for (std::size_t block = 0; block < blocks; ++block, sums += kTileQueries * lanes) {
        TRUERANK_UNROLL
        for (std::size_t at = 0; at < lanes; at += size) {
            const std::size_t lane = block * lanes + at;
            const LaneVectors<A, Bytes, Sum, HasError> vectors(values, lane);
            for (std::size_t i = 0; i < rows; ++i) {
                typename A::Vector low, high;
                vectors.intervals(sums + i * lanes + at, value_rows[i], low, high);
                for (std::int64_t task = first[i]; task < first[i + 1]; ++task) {
                    PairMasks& mask = masks[task - first[0]];
                    put_bits<size>(mask.above, lane, lanes_greater<Bytes>(low, A::broadcast(above[task])));
                    put_bits<size>(mask.not_below, lane, lanes_at_least<Bytes>(high, A::broadcast(below[task])));
                }
            }
        }
    }
}

// Calls `use` with the type of the sums, and whether they have an error beside that of their lane: sums of floats have
// none, nor have levels without residues.
template <class Use>
TRUERANK_INLINE void with_sums(const LevelForm& form, const ValueLanes& lanes, const Use& use) {
    if (form.has_float_sums()) {
        use(float{}, std::false_type{});
    } else if (lanes.residue == nullptr) {
        use(std::int32_t{}, std::false_type{});
    } else {
        use(std::int32_t{}, std::true_type{});
    }
}

template <class A, int Bytes, class T>
TRUERANK_INLINE void decide_any_body(const LevelForm& form, const std::int32_t* sums, std::size_t blocks,
                                     std::size_t rows, const ValueRow* value_rows, const ValueLanes& lanes,
                                     const std::int64_t* first, const float* above, const float* below,
                                     PairMasks* masks) {
    with_sums(form, lanes, [&](auto sum, auto has_error) __attribute__((always_inline)) {
        decide_body<A, Bytes, T, decltype(sum), has_error>(sums, blocks, rows, value_rows, lanes, first, above, below,
                                                           masks);
    });
}

template <class A, int Bytes>
TRUERANK_INLINE void set_sum_thresholds_body(const SumTasks& tasks, std::size_t n, const SumPanel& panel,
                                             std::int32_t* above, std::int32_t* below) {
    using Floats = typename A::Vector;
    using Ints = typename Simd<std::int32_t, Bytes>::type;
    // No sum is so large, and a threshold that is too large for a sum, or none, leaves the others where they are.
    const Floats most = A::broadcast(0x1.8p30F), per_step = A::broadcast(panel.per_step);
    for (std::size_t t = 0; t < n; t += A::size) {
        const Floats error = A::fma(A::load(tasks.norm + t), A::broadcast(panel.residue),
                                    A::load(tasks.residue + t) * A::broadcast(panel.norm));
        Floats high = (A::load(tasks.above + t) + error) * per_step,
               low = (A::load(tasks.below + t) - error) * per_step;
        high = high < most ? high : most;
        high = high > -most ? high : -most;
        low = low > -most ? low : -most;
        low = low < most ? low : most;
        // What is cut off after the point is less than 1.
        const Ints greater = __builtin_convertvector(high, Ints) + 1, least = __builtin_convertvector(low, Ints) - 1;
        std::memcpy(above + t, &greater, Bytes);
        std::memcpy(below + t, &least, Bytes);
    }
}

template <int Bytes, class T>
TRUERANK_INLINE void decide_sums_body(const std::int32_t* sums, std::size_t blocks, std::size_t rows,
                                      const std::int64_t* first, const std::int32_t* above, const std::int32_t* below,
                                      PairMasks* masks) {
    using Ints = typename Simd<std::int32_t, Bytes>::type;
    constexpr std::size_t size = Bytes / sizeof(std::int32_t), lanes = kBlockLanes<T, Bytes>;
    for (std::size_t i = 0; i < rows; ++i, sums += lanes) {
        for (std::int64_t task = first[i]; task < first[i + 1]; ++task, ++masks) {
            std::uint64_t is_above = 0, not_below = 0;
            const Ints greater = Ints{} + above[task], least = Ints{} + below[task];
            for (std::size_t block = 0; block < blocks; ++block) {
                Ints sum[lanes / size];
                TRUERANK_UNROLL
                for (std::size_t i = 0; i < lanes / size; ++i) {
                    sum[i] = *reinterpret_cast<const typename Simd<std::int32_t, Bytes>::unaligned*>(
                        sums + block * kTileQueries * lanes + i * size);
                }
                is_above |= lanes_greater<Bytes>(sum, greater) << (block * lanes);
                not_below |= lanes_greater<Bytes>(sum, least) << (block * lanes);
            }
            *masks = {is_above, not_below};
        }
    }
}

template <class A, int Bytes, class T, class Sum, bool HasError>
TRUERANK_INLINE void decide_lanes_body(const std::int32_t* sums, std::size_t rows, const ValueRow* value_rows,
                                       const ValueLanes& values, const RowOffset* offsets,
                                       const LaneThresholds& thresholds, std::uint32_t* counters, PairMasks* masks) {
    constexpr std::size_t size = Bytes / sizeof(float), lanes = kBlockLanes<T, Bytes>;
    for (std::size_t i = 0; i < rows * thresholds.layers; ++i) masks[i] = {};
    for (std::size_t layer = 0; layer < thresholds.layers; ++layer) {
        TRUERANK_UNROLL
        for (std::size_t at = 0; at < lanes; at += size) {
            const LaneVectors<A, Bytes, Sum, HasError> vectors(values, at);
            const auto above = A::load(thresholds.above + layer * lanes + at),
                       below = A::load(thresholds.below + layer * lanes + at);
            auto count = A::load(counters + layer * lanes + at);
            for (std::size_t i = 0; i < rows; ++i) {
                typename A::Vector low, high;
                vectors.intervals(sums + i * lanes + at, value_rows[i], low, high);
                low += A::broadcast(offsets[i].low);
                high += A::broadcast(offsets[i].high);
                count = A::add(count, low > above);
                put_bits<size>(masks[i * thresholds.layers + layer].not_below, at,
                               lanes_at_least<Bytes>(high, below) & ~lanes_greater<Bytes>(low, above));
            }
            A::store(counters + layer * lanes + at, count);
        }
    }
}

template <class A, int Bytes, class T>
TRUERANK_INLINE void decide_any_lanes_body(const LevelForm& form, const std::int32_t* sums, std::size_t rows,
                                           const ValueRow* value_rows, const ValueLanes& lanes,
                                           const RowOffset* offsets, const LaneThresholds& thresholds,
                                           std::uint32_t* counters, PairMasks* masks) {
    with_sums(form, lanes, [&](auto sum, auto has_error) __attribute__((always_inline)) {
        decide_lanes_body<A, Bytes, T, decltype(sum), has_error>(sums, rows, value_rows, lanes, offsets, thresholds,
                                                                 counters, masks);
    });
}

template <int Bytes>
TRUERANK_INLINE std::size_t collect_body(const PairMasks* masks, std::size_t task, std::size_t n,
                                         std::uint32_t* counters, OpenPair* open) {
    std::size_t found = 0;
    for (std::size_t t = task; t < task + n; ++t, ++masks) {
        counters[t] += static_cast<std::uint32_t>(std::popcount(masks->above));
        std::uint64_t bits = masks->open();
        // As a rule there are few: some are written whether they are there or not, which spares a branch.
        TRUERANK_UNROLL
        for (std::size_t i = 0; i < (Bytes == 64 ? kOpenRoom : 2); ++i) {
            open[found + i] = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(std::countr_zero(bits))};
            bits &= bits - 1;
        }
        found += static_cast<std::size_t>(std::popcount(masks->open()));
        for (std::size_t i = found - static_cast<std::size_t>(std::popcount(bits)); bits != 0; bits &= bits - 1) {
            open[i++] = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(std::countr_zero(bits))};
        }
    }
    return found;
}

#define TRUERANK_WRAP(name, width, several, fused, attribute)                                                       \
    namespace name {                                                                                                \
    template <class T>                                                                                              \
    attribute void decide(const LevelForm& form, const std::int32_t* sums, std::size_t blocks, std::size_t rows,    \
                          const ValueRow* value_rows, const ValueLanes& lanes, const std::int64_t* first,           \
                          const float* above, const float* below, PairMasks* masks) {                               \
        decide_any_body<Rough<float, width, fused>, width, T>(form, sums, blocks, rows, value_rows, lanes, first,   \
                                                              above, below, masks);                                 \
    }                                                                                                               \
    attribute void set_sum_thresholds(const SumTasks& tasks, std::size_t n, const SumPanel& panel,                  \
                                      std::int32_t* above, std::int32_t* below) {                                   \
        set_sum_thresholds_body<Rough<float, width, fused>, width>(tasks, n, panel, above, below);                  \
    }                                                                                                               \
    template <class T>                                                                                              \
    attribute void decide_sums(const std::int32_t* sums, std::size_t blocks, std::size_t rows,                      \
                               const std::int64_t* first, const std::int32_t* above, const std::int32_t* below,     \
                               PairMasks* masks) {                                                                  \
        decide_sums_body<width, T>(sums, blocks, rows, first, above, below, masks);                                 \
    }                                                                                                               \
    template <class T>                                                                                              \
    attribute void decide_lanes(const LevelForm& form, const std::int32_t* sums, std::size_t rows,                  \
                                const ValueRow* value_rows, const ValueLanes& lanes, const RowOffset* offsets,      \
                                const LaneThresholds& thresholds, std::uint32_t* counters, PairMasks* masks) {      \
        decide_any_lanes_body<Rough<float, width, fused>, width, T>(form, sums, rows, value_rows, lanes, offsets,   \
                                                                    thresholds, counters, masks);                   \
    }                                                                                                               \
    attribute std::size_t collect(const PairMasks* masks, std::size_t task, std::size_t n, std::uint32_t* counters, \
                                  OpenPair* open) {                                                                 \
        return collect_body<width>(masks, task, n, counters, open);                                                 \
    }                                                                                                               \
    template <class T>                                                                                              \
    constexpr DecisionKernels<T> kernels() {                                                                        \
        return {.decide = decide<T>,                                                                                \
                .set_sum_thresholds = set_sum_thresholds,                                                           \
                .decide_sums = decide_sums<T>,                                                                      \
                .decide_lanes = decide_lanes<T>,                                                                    \
                .collect = collect};                                                                                \
    }                                                                                                               \
    }
TRUERANK_FOR_EACH_ISA(TRUERANK_WRAP)
#undef TRUERANK_WRAP

}  // namespace

template <class T>
const DecisionKernels<T>& decision_kernels() {
    static constexpr DecisionKernels<T> table[] = {
#define TRUERANK_ROW(name, width, several, fused, attribute) name::kernels<T>(),
        TRUERANK_FOR_EACH_ISA(TRUERANK_ROW)
#undef TRUERANK_ROW
    };
    return table[static_cast<int>(isa())];
}

template const DecisionKernels<float>& decision_kernels<float>();
template const DecisionKernels<double>& decision_kernels<double>();

}  // namespace truerank
