// Reads vectors in any layout, widens them to the type of the scores, and packs them side by side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/embeddings.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// Sums up the squared components, in double precision and in their order; for floats the products are exact.
template <class C>
void add_squares(const C* const* vectors, std::int64_t n, std::int64_t depth, double* sums) {
    std::fill_n(sums, n, 0.0);
    for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t i = 0; i < n; ++i) {
            const auto x = static_cast<double>(vectors[i][k]);
            sums[i] += x * x;
        }
    }
}

// What happens to vectors as they are packed.
struct Packing {
    bool normalise;  // to length 1: each component divided by the root of the sum of squares, unless that is 0
    bool squares;    // sums of the squared components are computed, too
};

template <class C>
class Vectors {
  public:
    explicit Vectors(const VectorMatrix& matrix);

    std::int64_t count() const { return matrix_.rows; }
    std::int64_t depth() const { return matrix_.columns; }

    // Component k of vector ids[i], i < n, becomes out[k * lanes + i]; lanes from n on become 0. Buffers are allocated
    // in `scratch`.
    void pack(const std::int64_t* ids, std::int64_t n, std::int64_t lanes, Packing packing, C* out, double* squares,
              std::vector<C>& scratch) const;

    // The components of a vector, one after the other, as pack() has them: in place, or in `buffer`, which has room for
    // them.
    const C* row(std::int64_t id, bool normalise, C* buffer) const;
    // Whether row() gives vectors in place.
    bool in_place(bool normalise) const { return in_place_ && !normalise; }

    // Where the components of vectors ids[i], i < n, lie one after the other: in place, or in `scratch`.
    void locate(const std::int64_t* ids, std::int64_t n, std::vector<C>& scratch, const C** vectors) const;
    // Whether vectors with these ids, which ascend, follow each other in memory without a gap.
    bool adjacent(const std::int64_t* ids, std::int64_t n) const {
        return in_place_ && n > 0 && ids[n - 1] - ids[0] == n - 1 &&
               matrix_.row_stride == depth() * static_cast<std::ptrdiff_t>(sizeof(C));
    }

  private:
    VectorMatrix matrix_;
    bool in_place_;
    void (*read_)(const VectorMatrix& matrix, std::int64_t row, C* out);
    const RowKernels<C>& kernels_ = row_kernels<C>();
};

}  // namespace truerank
