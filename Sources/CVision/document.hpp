// Shared by the outline and the quality of documents.
#pragma once
#include <algorithm>
#include <array>
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

/// A flat document of `size` without its border, where the outline is uncertain.
inline cv::Rect core_of(cv::Size size) {
    const int longer = std::max(size.width, size.height), shorter = std::min(size.width, size.height);
    const int inset = std::min(longer / 50, (shorter - 1) / 2);
    return {inset, inset, size.width - 2 * inset, size.height - 2 * inset};
}

/// Sharpness and exposure of a document, as `cv_quality` defines them.
struct Sharpness {
    double edge_width = 0, laplacian_variance = 0, coherence = 0, brightness = 0, contrast = 0;
};

/// `gray` at any size; `corners` refer to it. `is_whole`: they are those of the frame.
Sharpness sharpness_of(const cv::Mat &gray, const std::array<cv_point, 4> &corners, bool is_whole);

/// 95th percentile of max−min over the channels of a flat document, with the tint of its paper (its own or the lamp's) removed:
/// in a grey copy under any lamp only noise remains. `smooth` shows it at about 500 px, at which little noise is left.
double balanced_chroma(const cv::Mat &smooth);

/// Thin dark marks on lighter paper, as print is. `low` is the darkest channel of a flat document, which is high only where a pixel
/// is bright and colourless; `unit` is its width over 1,000 px.
cv::Mat find_strokes(const cv::Mat &low, double unit);

/// The share of the document under glare, given the strokes in `low`.
double glare_share(const cv::Mat &low, cv::Mat strokes, double unit);

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

/// Measures of a document's spectrum at the image's own resolution; -1 if the document is smaller than one patch. Of up to twelve
/// patches, a third is looked at first; the others only if peaks stand out.
struct Raster {
    double moire =
        -1;  ///< how far the strongest isolated peak stands out of the spectrum around it, median over patches
    double halftone = -1;  ///< share of those patches with dots on several grids at different angles
};
Raster find_raster(const cv::Mat &gray, const cv::Rect &document);

/// The quad's mean width and height in pixels.
cv::Size2d quad_size(const cv_point corners[4]);

}  // namespace cvision
