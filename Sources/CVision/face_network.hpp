// The arithmetic of the descriptor's network, on weights that dlib read.
#pragma once
#include <vector>

#include "maps.hpp"

namespace cvision {

/// Two convolutions whose result is added to their input. If the first has a stride, the input is halved for the sum.
struct ResidualBlock {
    Convolution first, second;
};

/// A residual network that maps an image to `outputs` numbers: a convolution, a maximum over 3×3 pixels, residual blocks, means
/// over images, and a matrix.
struct ResidualNetwork {
    Convolution entry;
    std::vector<ResidualBlock> blocks;
    std::vector<float> matrix;  // [last block's channel][output]
    int outputs = 0;

    /// `outputs` numbers for each of the square images, one after the other.
    std::vector<float> apply(const Maps &images) const;
};

}  // namespace cvision
