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

/// How large the picture is looked at: enough for a document that fills it, or for a small one.
enum class Look { coarse, fine };

struct Sight {
    std::vector<Block> blocks;  // the one with most evidence first
    double strongest = 0;       // highest probability of a zone's line anywhere, 0–1
};

/// Candidate blocks; none when nothing looks like a zone.
Sight findBlocks(const cv::Mat &gray, Look look);

/// Whether a fine look shows more of this picture than a coarse one.
bool isFineWorthwhile(const cv::Mat &gray);

}  // namespace cvision::mrz
