#include "kernels/decisions.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/arithmetic.hpp"
#include "kernels/instructions.hpp"
#include "kernels/steps.hpp"

namespace truerank {
namespace {

using A = Rough<float>;
using Floats = A::Vector;
using Ints = Simd<std::int32_t>::type;
using I = Instructions;

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
template <class Sum, bool HasError>
struct LaneVectors {
    using Sums = typename Simd<Sum>::type;
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
        std::memcpy(&sum, sums, sizeof sum);
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

// Calls `use` with the type of the sums, and whether they have an error beside that of their lane, which sums of floats
// never have.
template <class Use>
TRUERANK_INLINE void with_sums(const LevelForm& form, const ValueLanes& lanes, const Use& use) {
    if (form.has_float_sums()) {
        use(float{}, std::false_type{});
    } else if (lanes.has_error) {
        use(std::int32_t{}, std::true_type{});
    } else {
        use(std::int32_t{}, std::false_type{});
    }
}

template <class T>
void decide(const LevelForm& form, const std::int32_t* sums, std::size_t blocks, std::size_t rows,
            const ValueRow* value_rows, const ValueLanes& lanes, const std::int64_t* first, const float* above,
            const float* below, PairMasks* masks) {
    constexpr std::size_t size = A::size, block_lanes = kBlockLanes<T>;
    for (std::int64_t task = first[0]; task < first[rows]; ++task) masks[task - first[0]] = {};
    with_sums(form, lanes, [&](auto sum, auto has_error) __attribute__((always_inline)) {
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::int32_t* const block_sums = sums + block * form.queries * block_lanes;
            TRUERANK_UNROLL
            for (std::size_t at = 0; at < block_lanes; at += size) {
                const std::size_t lane = block * block_lanes + at;
                const LaneVectors<decltype(sum), has_error> vectors(lanes, lane);
                for (std::size_t i = 0; i < rows; ++i) {
                    Floats low, high;
                    vectors.intervals(block_sums + i * block_lanes + at, value_rows[i], low, high);
                    for (std::int64_t task = first[i]; task < first[i + 1]; ++task) {
                        PairMasks& mask = masks[task - first[0]];
                        put_bits<size>(mask.above, lane, I::lanes_greater(low, A::broadcast(above[task])));
                        put_bits<size>(mask.not_below, lane, I::lanes_at_least(high, A::broadcast(below[task])));
                    }
                }
            }
        }
    });
}

void set_sum_thresholds(const SumTasks& tasks, std::size_t n, const SumPanel& panel, std::int32_t* above,
                        std::int32_t* below) {
    // No sum is so large: a threshold there, which a NaN becomes, too, decides nothing.
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
        // What is cut off after the point is less than 1, and moves a negative threshold up: `low` must not move so.
        const Ints greater = __builtin_convertvector(high, Ints), least = __builtin_convertvector(low, Ints) - 1;
        std::memcpy(above + t, &greater, sizeof greater);
        std::memcpy(below + t, &least, sizeof least);
    }
}

template <class T>
void decide_sums(const LevelForm& form, const std::int32_t* sums, std::size_t blocks, std::size_t rows,
                 const std::int64_t* first, const std::int32_t* above, const std::int32_t* below, PairMasks* masks) {
    constexpr std::size_t size = A::size, lanes = kBlockLanes<T>;
    const std::size_t of_block = form.queries * lanes;
    for (std::size_t i = 0; i < rows; ++i, sums += lanes) {
        for (std::int64_t task = first[i]; task < first[i + 1]; ++task, ++masks) {
            const Ints above_sums = Ints{} + above[task], below_sums = Ints{} + below[task];
            *masks = {};
            for (std::size_t block = 0; block < blocks; ++block) {
                TRUERANK_UNROLL
                for (std::size_t at = 0; at < lanes; at += size) {
                    using Unaligned = typename Simd<std::int32_t>::unaligned;
                    const Ints sum = *reinterpret_cast<const Unaligned*>(sums + block * of_block + at);
                    put_bits<size>(masks->above, block * lanes + at, I::lanes_greater(sum, above_sums));
                    put_bits<size>(masks->not_below, block * lanes + at, I::lanes_greater(sum, below_sums));
                }
            }
        }
    }
}

template <class T>
void decide_lanes(const LevelForm& form, const std::int32_t* sums, std::size_t rows, const ValueRow* value_rows,
                  const ValueLanes& lanes, const RowOffset* offsets, const LaneThresholds& thresholds,
                  std::uint32_t* counters, PairMasks* masks) {
    constexpr std::size_t size = A::size, block_lanes = kBlockLanes<T>;
    for (std::size_t i = 0; i < rows * thresholds.layers; ++i) masks[i] = {};
    with_sums(form, lanes, [&](auto sum, auto has_error) __attribute__((always_inline)) {
        for (std::size_t layer = 0; layer < thresholds.layers; ++layer) {
            TRUERANK_UNROLL
            for (std::size_t at = 0; at < block_lanes; at += size) {
                const std::size_t place = layer * block_lanes + at;
                const LaneVectors<decltype(sum), has_error> vectors(lanes, at);
                const auto above = A::load(thresholds.above + place), below = A::load(thresholds.below + place);
                auto count = A::load_counts(counters + place);
                for (std::size_t i = 0; i < rows; ++i) {
                    Floats low, high;
                    vectors.intervals(sums + i * block_lanes + at, value_rows[i], low, high);
                    low += A::broadcast(offsets[i].low);
                    high += A::broadcast(offsets[i].high);
                    A::add(count, low > above);
                    put_bits<size>(masks[i * thresholds.layers + layer].not_below, at,
                                   I::lanes_at_least(high, below) & ~I::lanes_greater(low, above));
                }
                A::store_counts(counters + place, count);
            }
        }
    });
}

std::size_t collect(const PairMasks* masks, std::size_t task, std::size_t n, std::uint32_t* counters, OpenPair* open) {
    constexpr std::size_t several = 4;
    std::size_t listed = 0;
    const auto list_open = [&](std::size_t i) __attribute__((always_inline)) {
        const std::size_t t = task + i;
        const PairMasks mask = masks[i];
        counters[t] += static_cast<std::uint32_t>(std::popcount(mask.above));
        std::uint64_t rest = mask.open();
        // As a rule there are few: some are written whether they are there or not, which spares a branch. What is
        // written too much is written over, or is in the room after the last one (kOpenRoom).
        TRUERANK_UNROLL
        for (std::size_t j = 0; j < (kBytes == 64 ? kOpenRoom : 2); ++j) {
            open[listed + j] = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(std::countr_zero(rest))};
            rest &= rest - 1;
        }
        listed += static_cast<std::size_t>(std::popcount(mask.open()));
        for (std::size_t j = listed - static_cast<std::size_t>(std::popcount(rest)); rest != 0; rest &= rest - 1) {
            open[j++] = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(std::countr_zero(rest))};
        }
    };
    std::size_t i = 0;
    for (; i + several <= n; i += several) {
        // Mostly there are none of several tasks in a row.
        std::uint64_t any = 0;
        for (std::size_t j = 0; j < several; ++j) any |= masks[i + j].open();
        if (any == 0) {
            for (std::size_t j = 0; j < several; ++j) {
                counters[task + i + j] += static_cast<std::uint32_t>(std::popcount(masks[i + j].above));
            }
        } else {
            for (std::size_t j = 0; j < several; ++j) list_open(i + j);
        }
    }
    for (; i < n; ++i) list_open(i);
    return listed;
}

template <class T>
constexpr DecisionKernels<T> kTable = {.decide = decide<T>,
                                       .set_sum_thresholds = set_sum_thresholds,
                                       .decide_sums = decide_sums<T>,
                                       .decide_lanes = decide_lanes<T>,
                                       .collect = collect};

}  // namespace

TRUERANK_HAND_OUT(DecisionKernels, float)
TRUERANK_HAND_OUT(DecisionKernels, double)

}  // namespace truerank
