// Convolutions over whole numbers of a byte: faster than over floats, and less exact.
#pragma once
#include <cstdint>
#include <vector>

#include "mrz_network.hpp"

namespace cvision::mrz {

/// Outputs that are computed together; channels are padded to whole groups of as many.
constexpr int outputs_together = 16;
/// Inputs whose products are added at once.
constexpr int together = 4;
constexpr int product_weights = together * outputs_together;

inline int groups_of(int channels) { return (channels + outputs_together - 1) / outputs_together; }

/// Begins where a cache line does, so that no register is loaded from two.
template <typename Number>
struct Lined : std::allocator<Number> {
    template <typename Other>
    struct rebind {
        using other = Lined<Other>;
    };
    static constexpr std::align_val_t line{64};
    Number *allocate(size_t count) { return static_cast<Number *>(::operator new(count * sizeof(Number), line)); }
    void deallocate(Number *at, size_t) noexcept { ::operator delete(at, line); }
};

/// Channels, all of them positive, as whole numbers of one unit. The channels of a pixel lie side by side, a margin of zeros
/// around the pixels.
struct Bytes {
    static constexpr int margin_rows = 1, margin_columns = 2;
    static constexpr float greatest = 127;
    int channels, rows, columns;
    float unit;
    std::vector<uint8_t, Unset<uint8_t>> values;

    /// `channels` are rounded up to whole groups.
    Bytes(int channels, int rows, int columns, float unit);
    size_t pitch() const { return size_t(columns + 2 * margin_columns) * channels; }
    uint8_t *at(int y, int x) { return values.data() + offset(y, x); }
    const uint8_t *at(int y, int x) const { return values.data() + offset(y, x); }

private:
    size_t offset(int y, int x) const {
        return size_t(y + margin_rows) * pitch() + size_t(x + margin_columns) * channels;
    }
};

/// A convolution whose weights are whole numbers, each output's in its own unit.
struct WholeConvolution {
    int outputs, inputs, kernel_rows, kernel_columns, stride_y, stride_x, pad_y, pad_x;
    float top;  // the largest answer that is told apart from larger ones
    // Of each group of outputs side by side, padded with zeros.
    std::vector<float> first;  // weights of a first layer, which has one input, as they are
    std::vector<int8_t, Lined<int8_t>> weights;
    std::vector<float> units, bias;
    std::vector<int> order;  // of the products of four inputs: their places in the kernel, rows one after the other
    int paired = 0;          // of them, which come first in twos, each two fit into sums of 16 bits together

    explicit WholeConvolution(const Convolution &convolution, float top = 0);

private:
    void pair(const std::vector<int8_t> &plain, int products);
};

/// A network's first layer, over one channel that is no whole number; as of all but the last, only positive answers.
Bytes convolve_first(const Tensor &input, const WholeConvolution &convolution);

/// The positive part of `convolution(input) + residual`.
Bytes convolve(const Bytes &input, const WholeConvolution &convolution, const Bytes *residual = nullptr);

/// A network's last layer.
Tensor convolve_last(const Bytes &input, const WholeConvolution &convolution);

/// `input` at twice its size, plus `other`; `top` as in a convolution.
Bytes doubled_plus(const Bytes &input, const Bytes &other, float top);

}  // namespace cvision::mrz
