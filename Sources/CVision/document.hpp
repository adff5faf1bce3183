// Shared by the outline and the quality of documents.
#pragma once
#include <opencv2/core.hpp>

#include "CVision.h"

namespace cvision {

/// Longer over shorter side of the rectangle that a camera with its principal point at `centre` sees as `corners`
/// (clockwise). Falls back to the ratio of mean side lengths if the view is too frontal to tell.
double rectangle_aspect(const cv::Point2d corners[4], cv::Point2d centre);

/// Warps the quad `corners` (clockwise from the top left) of `image` to an upright rectangle of `size`, with `margin`
/// pixels of its surroundings on each side. Pixels from outside the frame repeat the nearest pixel of the frame.
cv::Mat rectify(const cv::Mat &image, const cv_point corners[4], cv::Size size, int margin);

/// Maps points of `rectify`'s result (without margin) back to the image.
cv::Matx33d from_rectified(const cv_point corners[4], cv::Size size);

/// 95th percentile of max−min over the channels of a flat document, with the tint of its paper (its own or the lamp's) removed:
/// in a grey copy under any lamp only noise remains. `smooth` is averaged from twice its size.
double balanced_chroma(const cv::Mat &smooth);

/// How much the tip of a document's corner looks like the table behind it, 0 (not at all) to 1 (the same); the worst of four
/// corners; -1 if table and document look too alike. `view` shows the document with `margin` pixels around it.
double missing_corner(const cv::Mat &view, cv::Size document, int margin);

/// Where the table shows through a document; -1 if table and document look too alike, or the table has many colours.
struct MissingPieces {
    double hole = -1;  ///< how much a round patch looks like a hole, 0 to 1: the surest one
    double tear = -1;  ///< depth of the deepest piece that an edge lacks, over the longer side; 0 where none does
};

/// `view` shows the document with `margin` pixels around it.
MissingPieces missing_pieces(const cv::Mat &view, int margin);

/// Measures of a document's spectrum at the image's own resolution; -1 if the document is smaller than one patch.
struct Raster {
    double moire =
        -1;  ///< how far the strongest isolated peak stands out of the spectrum around it, median over patches
    double halftone = -1;  ///< share of the patches with dots on several grids at different angles
};
Raster find_raster(const cv::Mat &gray, const cv::Rect &document);

/// The quad's mean width and height in pixels.
cv::Size2d quad_size(const cv_point corners[4]);

}  // namespace cvision
