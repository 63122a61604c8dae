// Certified bounds, second half: what sums over levels decide.
//
// A sum is turned into an interval that the value of its pair certainly lies in, and the ends of the interval are
// compared with the two thresholds of each task: its low end tells which pairs are surely above, its high end which are
// surely below. The answers are one bit for each candidate of a panel (PairMasks), so that those above are counted by
// counting bits, and only the pairs that are neither, the open ones, are listed one by one (collect). Three kernels do
// this: decide for any panel; decide_sums where all candidates of a panel have one step, so that sums themselves have
// thresholds and no interval is made; and decide_lanes where tasks belong to candidates. docs/contributing/bounds.md
// has the proofs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sums.hpp"

namespace truerank {

// Candidates in a panel of bounds, at most: as many as a mask has bits. They come in blocks of SumKernels::lanes.
inline constexpr std::size_t kPanelLanes = 64;

// How values follow from sums, for each row and each lane. With x = sums[row * lanes + lane] * row.scale and error =
// row.norm * residue[lane] + row.residue * norm[lane], the value of the pair is not below low_scale[lane] * x +
// low[lane] - error, nor above high_scale[lane] * x + high[lane] + error. A lane without a candidate has a low and a
// high of NaN. Unless `has_error`, the error is 0.
struct ValueRow {
    float scale;
    float norm;
    float residue;
};
struct ValueLanes {
    alignas(64) float low_scale[kPanelLanes], low[kPanelLanes], high_scale[kPanelLanes], high[kPanelLanes];
    float residue[kPanelLanes], norm[kPanelLanes];
    bool has_error;
};

// One bit for each lane: whether the value of the pair is certainly above a threshold, and whether it is not certainly
// below. A pair that is not below, but not above either, is open.
struct PairMasks {
    std::uint64_t above;
    std::uint64_t not_below;
    std::uint64_t open() const { return not_below & ~above; }
};

// The same for a panel whose candidates have one step and no offsets, so that sums themselves have two thresholds for
// each task: of the largest error of all lanes. Of each task: its thresholds, and the norm and the residue of its row,
// over the scale of this row.
struct SumTasks {
    const float* above;
    const float* below;
    const float* norm;
    const float* residue;
};
struct SumPanel {
    float per_step;  // 1 / step
    float residue;   // the largest of the lanes
    float norm;
};

// What is added to the ends of a row's intervals before they are compared with thresholds that belong to lanes.
struct RowOffset {
    float low;
    float high;
};
// The thresholds of the tasks of lanes, in layers of one task for each lane: NaN, with which no comparison holds, where
// there is none.
struct LaneThresholds {
    std::size_t layers;
    const float* above;
    const float* below;
};

// So many places after the open pairs that collect() lists may be written to.
inline constexpr std::size_t kOpenRoom = 4;

// An open pair: a task, counted from the first of the cell, and a lane.
struct OpenPair {
    std::uint32_t task;
    std::uint32_t lane;
};

template <class T>
struct DecisionKernels {
    // The sums of each block come after those of the one before. Row i has the tasks from first[i] to first[i + 1]. A
    // value greater than above[task] is above, one less than below[task] is below. Writes the masks of these tasks, the
    // first one's to masks[0].
    void (*decide)(const LevelForm& form, const std::int32_t* sums, std::size_t blocks, std::size_t rows,
                   const ValueRow* value_rows, const ValueLanes& lanes, const std::int64_t* first, const float* above,
                   const float* below, PairMasks* masks);
    // The same by thresholds on sums: a sum greater than above[task] is above, one not greater than below[task] is
    // below. These are set for n tasks, and for others after them up to a whole vector.
    void (*set_sum_thresholds)(const SumTasks& tasks, std::size_t n, const SumPanel& panel, std::int32_t* above,
                               std::int32_t* below);
    void (*decide_sums)(const LevelForm& form, const std::int32_t* sums, std::size_t blocks, std::size_t rows,
                        const std::int64_t* first, const std::int32_t* above, const std::int32_t* below,
                        PairMasks* masks);
    // The same for tasks of the lanes of one block, whose candidates are the rows. Adds the rows that are above to the
    // counters of the layers, one for each lane, and writes those that are open to masks[row * layers + layer]: none of
    // these is above.
    void (*decide_lanes)(const LevelForm& form, const std::int32_t* sums, std::size_t rows, const ValueRow* value_rows,
                         const ValueLanes& lanes, const RowOffset* offsets, const LaneThresholds& thresholds,
                         std::uint32_t* counters, PairMasks* masks);
    // Adds up the masks of n tasks, from `task` on: the number of lanes above to the counter of the task. Writes the
    // open pairs, and returns their number.
    std::size_t (*collect)(const PairMasks* masks, std::size_t task, std::size_t n, std::uint32_t* counters,
                           OpenPair* open);
};

// The kernels of the instruction set chosen at start, for the panels of float and double vectors.
template <class T>
const DecisionKernels<T>& decision_kernels() {
    return kernels_of<DecisionKernels<T>>(isa());
}

}  // namespace truerank
