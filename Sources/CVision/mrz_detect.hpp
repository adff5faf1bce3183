// Finds the lines of MRZ in a grey image.
#pragma once
#include <opencv2/core.hpp>
#include <vector>

#include "mrz_geometry.hpp"

namespace cvision::mrz {

/// Lines that belong together, top to bottom in reading order.
struct Block {
    std::vector<LineModel> lines;
    double mass = 0;  // weight of the evidence, in character cells
};

struct Sight {
    std::vector<Block> blocks;  // the one with most evidence first
    double strongest = 0;       // highest probability of an MRZ's line anywhere, 0–1
    double finest = 0;          // detector pixels per character of the smallest block; 0 without one
};

/// Candidate blocks of lines in `region`, scaled so that its longer side has `side` pixels; none when nothing looks like an MRZ.
Sight find_blocks(const cv::Mat &gray, cv::Rect region, double side);

}  // namespace cvision::mrz
