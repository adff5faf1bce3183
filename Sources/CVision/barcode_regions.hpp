// Where an image looks like a barcode.
#pragma once
#include <array>
#include <opencv2/core.hpp>
#include <vector>

namespace cvision {

using Corners = std::array<cv::Point2f, 4>;

/// A place of the image, turned by any angle, that is as densely striped as a barcode.
struct Region {
    Corners box;   // a rectangle of the image whose first side runs along the rows, as the stripes' gradients say
    Corners quad;  // PDF417 only: the place's own four sides, the first along the rows; its opposite sides may converge
    bool striped;  // PDF417; else it may be a square barcode
    double weight;
};

/// Barcodes are the regions where edges are dense in all of a neighbourhood: those of PDF417 agree on one direction.
///
/// - Parameter reduced: `gray` at `region_side`.
std::vector<Region> find_regions(const cv::Mat &gray, const cv::Mat &reduced);

/// Longer side of the image in which regions are looked for.
constexpr int region_side = 640;

}  // namespace cvision
