// Regions of an image that look like a barcode.
#pragma once
#include <array>
#include <opencv2/core.hpp>
#include <vector>

namespace cvision {

using Corners = std::array<cv::Point2f, 4>;

/// A region of the image, at any angle, that is as densely striped as a barcode.
struct Region {
    Corners box;   // a rectangle whose first side runs along the barcode's rows, by the gradients of the stripes
    Corners quad;  // PDF417 only: the region's own four sides, the first along the rows; opposite sides may converge
    bool striped;  // PDF417; otherwise perhaps a square barcode
    double weight;
};

/// Finds regions where edges are dense throughout; those of PDF417 have one direction.
///
/// - Parameter reduced: `gray` at `region_side`.
std::vector<Region> find_regions(const cv::Mat &gray, const cv::Mat &reduced);

/// Longer side of the image in which regions are sought.
constexpr int region_side = 640;

}  // namespace cvision
