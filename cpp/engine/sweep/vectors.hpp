// Reads vectors in any layout, widens them to the type of the scores, and packs them side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/rows/reader.hpp"
#include "engine/sweep/embeddings.hpp"
#include "kernels/similarity.hpp"

namespace truerank {

// What happens to vectors as they are packed.
struct Packing {
    bool normalise;  // to length 1: each component divided by the root of the sum of squares, unless that is 0
    bool squares;    // sums of the squared components are computed, too
};

// Rows of bytes, and the copies of those that do not lie in place.
struct ByteRows {
    std::vector<const std::uint8_t*> rows;
    std::vector<std::uint8_t> copies;
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

    // Where the components of vectors ids[i], i < n, lie one after the other, as pack() has them: in place, or in
    // `buffer`, which has room for them. Their squared components, as they come, are summed up, unless `squares` is
    // null.
    void load(const std::int64_t* ids, std::int64_t n, bool normalise, C* buffer, const C** vectors,
              double* squares = nullptr) const;
    const C* row(std::int64_t id, C* buffer, bool normalise = false) const {
        const C* vector;
        load(&id, 1, normalise, buffer, &vector);
        return vector;
    }
    // Where the components of n vectors lie, where they are bytes: in place, or in copies, until `bytes` is used again.
    const std::uint8_t* const* load_bytes(const std::int64_t* ids, std::int64_t n, ByteRows& bytes) const;
    bool has_bytes() const { return matrix_.dtype == DType::int8 || matrix_.dtype == DType::uint8; }
    DType dtype() const { return matrix_.dtype; }
    // Whether they are in place.
    bool in_place(bool normalise) const { return in_place_ && !normalise; }
    // Whether vectors with these ids, which ascend, follow each other in memory without a gap, and are read there.
    bool adjacent(const std::int64_t* ids, std::int64_t n, bool normalise) const {
        return in_place(normalise) && n > 0 && ids[n - 1] - ids[0] == n - 1 &&
               matrix_.row_stride == depth() * static_cast<std::ptrdiff_t>(sizeof(C));
    }

  private:
    // Reads a vector to be normalised or not; bytes to be normalised are divided by their greatest common divisor.
    void read_copy(std::int64_t id, bool normalise, C* copy) const;
    // Normalises loaded vectors into `buffer`, and has `vectors` point there.
    void normalise_loaded(const std::int64_t* ids, std::int64_t n, C* buffer, const C** vectors) const;

    VectorMatrix matrix_;
    bool in_place_;
    void (*read_)(const VectorMatrix& matrix, std::int64_t row, C* out);
    const RowKernels<C>& kernels_ = row_kernels<C>();
};

}  // namespace truerank
