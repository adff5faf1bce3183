// Print, and the glare that hides it.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "components.hpp"
#include "document.hpp"
#include "image.hpp"

namespace cvision {

cv::Mat find_strokes(const cv::Mat &low, double unit) {
    cv::Mat paper;
    const int widest = 2 * cvRound(10 * unit) + 1;
    cv::morphologyEx(low, paper, cv::MORPH_CLOSE, cv::getStructuringElement(cv::MORPH_RECT, {widest, widest}));
    return (paper - low) > 0.4 * std::max(60.0, percentile(paper, {}, 0.5));
}

/// Saturated blobs whose surroundings fade gradually, on paper that is not itself saturated.
///
/// White paper is as bright as glare and covers up to 90 % of a specimen. Two things distinguish them: text on white paper has
/// saturated pixels next to its strokes, whereas glare hides the strokes; and glare fades out where a white panel ends sharply.
double glare_share(const cv::Mat &low, cv::Mat strokes, double unit) {
    constexpr int burnt_from = 247;  // of the darkest channel: bright and colourless at once
    constexpr double least_solidity =
        0.6;  // area over that of the convex hull: 1 is a disc, less than half wraps something
    constexpr double least_area = 0.002;  // of the document: smaller blobs hide nothing
    const cv::Mat burnt = low >= burnt_from;
    const double total = static_cast<double>(low.total());
    if (cv::countNonZero(burnt) < least_area * total) return 0;

    cv::Mat beside, core, labels;
    const auto within = [unit](cv::MorphShapes shape, int reach) {
        const int side = 2 * cvRound(reach * unit) + 1;
        return cv::getStructuringElement(shape, {side, side});
    };
    const cv::Mat near_by = within(cv::MORPH_RECT, 2);
    cv::dilate(strokes, strokes, near_by);
    cv::dilate(strokes, beside, near_by);
    beside &= ~strokes;
    const double white_paper =
        cv::countNonZero(beside & burnt) / std::max(1.0, static_cast<double>(cv::countNonZero(beside)));
    if (white_paper > 0.5) return 0;

    cv::erode(burnt, core, within(cv::MORPH_ELLIPSE, 8));
    double glaring = 0;
    for (const Component &blob : components_of(core, labels)) {
        if (blob.area < least_area * total) continue;
        const int reach = cvCeil(30 * unit);  // beyond the greatest distance that counts
        const cv::Rect around =
            cv::Rect(blob.box.x - reach, blob.box.y - reach, blob.box.width + 2 * reach, blob.box.height + 2 * reach) &
            cv::Rect(cv::Point(), labels.size());
        cv::Mat away, others = labels(around) != blob.label;
        cv::distanceTransform(others, away, cv::DIST_L2, 3);
        const double near = percentile(low(around), (away > 9.5 * unit) & (away < 13 * unit), 0.5);
        const double far = percentile(low(around), (away > 20 * unit) & (away < 28 * unit), 0.5);
        const bool fades = near - far >= 3 || far >= burnt_from;
        if (near < 225 || !fades) continue;
        // The reflection of a lamp is a rounded blob; white paper surrounds text and images.
        std::vector<cv::Point> outline, hull;
        cv::findNonZero(~others, outline);
        cv::convexHull(outline, hull);
        const double solidity = blob.area / std::max(1.0, cv::contourArea(hull));
        if (solidity < least_solidity) continue;
        glaring += cv::countNonZero(away < 12 * unit);
    }
    return glaring / total;
}

}  // namespace cvision
