// Scores or vectors that the caller owns: in memory, or in a file.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "bind/calls.hpp"
#include "engine/files/file.hpp"
#include "engine/rows/rank.hpp"
#include "engine/sweep/embeddings.hpp"

namespace truerank::bind {

// An array of one or two dimensions, the dtype of its scores, and whether its byte order is not the machine's. Vectors
// may also be complex numbers, or real numbers in three dimensions: of each vector, first all real parts of complex
// numbers and then all imaginary parts.
class ScoreArray {
  public:
    ScoreArray(py::array array, py::str dtype, bool swapped);
    // The scores as they are now; an array of one dimension is a row. Python owns the array, and may give it another
    // shape.
    Scores view() const;
    // Vectors as they are now, of real or complex numbers.
    VectorMatrix vectors() const;
    // The size of a score, in bytes.
    std::int64_t size() const { return size_; }
    const py::array& array() const { return array_; }
    const py::str& dtype() const { return name_; }
    bool swapped() const { return swapped_; }

  private:
    // The numbers of an array of one or two dimensions; those of complex numbers are counted once.
    Scores matrix() const;

    py::array array_;
    py::str name_;
    DType dtype_;
    std::int64_t size_;
    bool is_complex_;
    bool swapped_;
};

class ScoreFile {
  public:
    using Pair = std::pair<std::int64_t, std::int64_t>;
    ScoreFile(int descriptor, std::int64_t offset, Pair shape, Pair strides, py::str name, std::string_view dtype,
              bool swapped);
    const FileScores& view() const { return file_; }
    std::int64_t size() const { return file_.size; }
    ScoreFile transposed() const;
    // Throws Python's exception for a file that could not be read to its end.
    [[noreturn]] void raise_error(const ReadFailure& failure) const;

  private:
    FileScores file_;
    py::str name_;
};

}  // namespace truerank::bind

TRUERANK_BOUND(truerank::bind::ScoreArray);
TRUERANK_BOUND(truerank::bind::ScoreFile);
