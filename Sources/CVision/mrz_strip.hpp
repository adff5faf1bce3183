// Samples a line of an image into the strip that the line reader takes, and reads it.
#pragma once
#include <opencv2/core.hpp>

#include "mrz_geometry.hpp"
#include "mrz_grid.hpp"

namespace cvision::mrz {

/// A part of the image, reduced so that strips can be sampled from it without aliasing.
struct Patch {
    cv::Mat pixels;  // CV_8UC1
    cv::Point2d offset;
    double scale_x = 1, scale_y = 1;  // patch pixels per image pixel

    /// The part of `gray` around `lines`.
    static Patch around(const cv::Mat &gray, const std::vector<LineModel> &lines);
    cv::Point2f to_patch(cv::Point2d p) const {
        return {float((p.x + 0.5 - offset.x) * scale_x - 0.5), float((p.y + 0.5 - offset.y) * scale_y - 0.5)};
    }
};

constexpr double strip_margin = 3;  // cells read beyond both ends

/// Cell coordinate of a position in a strip, and back.
inline double cell_at(double strip_x) { return (strip_x + 0.5) / strip_pitch - 0.5 - strip_margin; }

/// Reads `cells` cells (and the margins) along `line`.
Columns read_strip(const Patch &patch, const LineModel &line, double cells);

/// Width of the edges across the strokes over the pitch, median along the line; 0 when no edge was found.
double edge_width(const cv::Mat &gray, const LineModel &line, int cells);

}  // namespace cvision::mrz
