// From candidate lines to readings of an MRZ.
#pragma once
#include <opencv2/core.hpp>
#include <vector>

#include "mrz_detect.hpp"
#include "mrz_strip.hpp"

namespace cvision::mrz {

struct LineReading {
    LineModel line;           // fitted to the cells
    std::vector<float> logs;  // cells × classes, log-probabilities
    double score = 0;         // log-likelihood of the grid and of the best characters, per cell
};

struct MRZReading {
    int cells = 0;
    size_t first = 0;  // the candidate that is the first line; the others follow it
    std::vector<LineReading> lines;
    double score = 0;
};

/// Readings of the MRZ in `block`, the likeliest layout first; empty when it is no MRZ.
std::vector<MRZReading> read_block(const cv::Mat &gray, const Block &block);

}  // namespace cvision::mrz
