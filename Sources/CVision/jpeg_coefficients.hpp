// Quantised coefficients of a JPEG's luminance, as the file holds them.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace cvision {

/// The lowest frequencies but the mean, as places in a block of 8 by 8.
constexpr std::array<int, 14> low_frequencies{1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4};

struct Coefficients {
    int columns = 0, rows = 0;                                        // blocks that are full
    std::array<int, low_frequencies.size()> steps{};                  // of the quantisation
    std::array<std::vector<int16_t>, low_frequencies.size()> values;  // by frequency, row by row
};

}  // namespace cvision
