// Late interaction: the maximum of each token of a query over the tokens of a document.
#pragma once

#include <cstddef>
#include <cstdint>

namespace truerank {

// The lanes of a panel that belong to one document, from begin up to but not including end.
struct LaneSpan {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t document;  // where its maxima are
    bool continues;          // earlier panels have tokens of it, too
    bool ends;               // no later panel has
};

template <class T>
inline constexpr std::size_t kRunning = 64 / sizeof(T);

template <class T>
struct MaximaKernels {
    // Of `rows` rows of sums the maximum of each span: maxima[document * stride + row], once its document ends. What is
    // known of one that goes on in the next panel is in a vector of its own for each row, running[row * kRunning<T>].
    // A NaN is greater than all.
    void (*take)(const T* sums, std::size_t rows, const LaneSpan* spans, std::size_t n, std::size_t stride, T* maxima,
                 T* running);
    // The same of sums over levels, in panels of as many lanes.
    void (*take_levels)(const std::int32_t* sums, std::size_t rows, const LaneSpan* spans, std::size_t n,
                        std::size_t stride, std::int32_t* maxima, std::int32_t* running);
};

template <class T>
const MaximaKernels<T>& maxima_kernels();

}  // namespace truerank
