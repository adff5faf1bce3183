// Finds the lines of machine-readable zones in a grey picture.
#pragma once
#include <opencv2/core.hpp>
#include <vector>

#include "mrz_geometry.hpp"

namespace cvision::mrz {

/// Lines that belong together, top to bottom in reading order.
struct Block {
    std::vector<LineModel> lines;
    double mass = 0;  // evidence, in character cells
};

/// Candidate blocks, the one with most evidence first; empty when nothing looks like a zone.
std::vector<Block> findBlocks(const cv::Mat &gray);

}  // namespace cvision::mrz
