// The detector network's output as connected pieces of lines.
#pragma once
#include <cmath>
#include <opencv2/core.hpp>
#include <vector>

namespace cvision::mrz {

/// One pixel of the detector's map, in image coordinates.
struct Dot {
    cv::Point2d at;
    double weight;
};

/// A connected piece of a line.
struct Piece {
    std::vector<Dot> dots;
    cv::Point2d direction{0, 0};
    double log_pitch = 0, mass = 0;

    double pitch() const { return std::exp(log_pitch); }
};

/// Pieces of lines in `region` of the image, scaled by `scale`; `strongest` (may be null) receives the highest probability of a
/// line anywhere.
std::vector<Piece> look(const cv::Mat &gray, cv::Rect region, double scale, double *strongest = nullptr);

}  // namespace cvision::mrz
