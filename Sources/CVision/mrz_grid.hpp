// Fits a fixed number of equal cells to the line reader's output.
#pragma once
#include <vector>

#include "mrz_network.hpp"

namespace cvision::mrz {

constexpr int strip_rows = 32;       // reader_data.py: HEIGHT
constexpr double strip_pitch = 16;   // PITCH
constexpr double strip_letter = 18;  // LETTER
constexpr int strip_stride = 4;      // STRIDE
constexpr int classes = 37;          // A–Z, 0–9, <

/// The reader's output for one strip, per column of four pixels.
struct Columns {
    int count = 0;
    std::vector<float> logits;               // count × (classes + 1), log-probabilities
    std::vector<float> rise, height, pitch;  // offset of the centre in strip pixels; logs over the nominal values

    const float *at(int column) const { return logits.data() + size_t(column) * (classes + 1); }
    /// Log-probability of a blank.
    float blank(int column) const { return at(column)[classes]; }
    static double position(int column) { return (column + 0.5) * strip_stride - 0.5; }
};

Columns columns_of(const Tensor &answer);

/// `cells` cells over a strip: their centres in strip pixels.
struct Grid {
    std::vector<double> centres;
    double score = 0;  // log-likelihood per cell; 0 is perfect
};

/// The likeliest grid of `cells` cells of about `pitch` strip pixels.
Grid fit_grid(const Columns &columns, int cells, double pitch);

/// Log-probabilities of the 37 characters at a position of the strip.
void character_at(const Columns &columns, double position, double pitch, float *logs);

}  // namespace cvision::mrz
