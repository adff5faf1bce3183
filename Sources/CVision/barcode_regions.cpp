// Finds regions that look like a barcode, by the density and the direction of their edges.
#include "barcode_regions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <opencv2/imgproc.hpp>

#include "components.hpp"

namespace cvision {
namespace {

/// How much the gradients of a region agree on one axis (0 to 1): 0.41 and more in PDF417, 0.28 and less in print.
constexpr double least_coherence = 0.3;
/// Extent of a region across its stripes over that along them.
constexpr double least_reach = 0.5;
/// How much of its rectangle a region fills.
constexpr double least_fill = 0.6;
/// The greatest ratio of longer to shorter side of a square barcode's region.
constexpr double square = 1.35;
/// How much of its smallest enclosing rectangle a barcode in perspective fills: 0.89 and more if its modules are fine and it
/// is tilted by up to 35 degrees, 0.75 and more if its widest bars are too wide to be dense.
constexpr double least_own_fill = 0.7;
/// Longer over shorter side of that rectangle: 5 and less in AAMVA's barcodes, 9 and more in lines of text.
constexpr double longest = 8;
/// Regions that are read, of each kind.
constexpr size_t most_regions = 2;

/// The direction of the gradient (across the stripes) in `blob`, a mask at `box` of `gray` at `scale`, by the structure tensor
/// of the full image: exact to a fraction of a degree because hundreds of stripes agree.
double stripe_direction(const cv::Mat &gray, const cv::Mat &blob, const cv::Rect &box, double scale,
                        double &coherence) {
    const cv::Rect full = cv::Rect(cv::Point(cvFloor(box.x / scale), cvFloor(box.y / scale)),
                                   cv::Point(cvCeil(box.br().x / scale), cvCeil(box.br().y / scale))) &
                          cv::Rect(0, 0, gray.cols, gray.rows);
    cv::Mat piece, mask, gx, gy;
    cv::GaussianBlur(gray(full), piece, {0, 0}, 1.0);
    cv::resize(blob, mask, full.size(), 0, 0, cv::INTER_NEAREST);
    cv::Scharr(piece, gx, CV_16S, 1, 0);
    cv::Scharr(piece, gy, CV_16S, 0, 1);
    gx.setTo(0, mask == 0);
    gy.setTo(0, mask == 0);
    const double xx = gx.dot(gx), yy = gy.dot(gy), xy = gx.dot(gy);
    coherence = std::hypot(xx - yy, 2 * xy) / std::max(1.0, xx + yy);
    return 0.5 * std::atan2(2 * xy, xx - yy);
}

/// The four sides of a barcode's `contour`: lines through its points near the sides of the smallest enclosing rectangle. Unlike
/// that rectangle they follow perspective and skew; unlike the gradients, motion blur does not turn them. In `contour`'s pixels;
/// the first side is the one closer to `angle`.
Corners four_sides(const std::vector<cv::Point> &contour, const cv::RotatedRect &around, double angle) {
    // Of a side's length, from each end: there the corners are rounded by the window of the density.
    constexpr double corner = 0.15;
    // Of the other side's length: how far a side in perspective lies off the rectangle's.
    constexpr double band = 0.3;
    Corners corners;
    around.points(corners.data());
    const cv::Point2f first = corners[1] - corners[0];
    const double along =
        std::abs(first.x * std::cos(angle) + first.y * std::sin(angle)) / std::max(1e-3, cv::norm(first));
    if (along < std::sqrt(0.5)) std::rotate(corners.begin(), corners.begin() + 1, corners.end());
    std::array<cv::Vec4f, 4> lines;
    for (size_t side = 0; side < 4; ++side) {
        const cv::Point2f from = corners[side], way = corners[(side + 1) % 4] - from;
        const cv::Point2f inward = corners[(side + 3) % 4] - from;
        std::vector<cv::Point> beside;
        for (const cv::Point &p : contour) {
            const cv::Point2f off = cv::Point2f(p) - from;
            const float s = off.dot(way) / std::max(1e-3F, way.dot(way));
            const float t = off.dot(inward) / std::max(1e-3F, inward.dot(inward));
            if (s > corner && s < 1 - corner && t < band) beside.push_back(p);
        }
        lines[side] = {way.x, way.y, from.x, from.y};
        if (beside.size() > 5) cv::fitLine(beside, lines[side], cv::DIST_HUBER, 0, 0.01, 0.01);
    }
    Corners crossed;
    for (size_t side = 0; side < 4; ++side) {
        const cv::Vec4f &p = lines[(side + 3) % 4], &q = lines[side];
        const double turn = p[0] * q[1] - p[1] * q[0];
        const double step = ((q[2] - p[2]) * q[1] - (q[3] - p[3]) * q[0]) / turn;
        crossed[side] = cv::Point2f(static_cast<float>(p[2] + step * p[0]), static_cast<float>(p[3] + step * p[1]));
        // Nearly parallel lines do not bound a barcode.
        const double reach = std::max(around.size.width, around.size.height) / 4;
        if (!(cv::norm(crossed[side] - corners[side]) < reach)) return corners;
    }
    return crossed;
}

}  // namespace

std::vector<Region> find_regions(const cv::Mat &gray, const cv::Mat &reduced) {
    const double scale = static_cast<double>(reduced.cols) / gray.cols;
    cv::Mat small, gx, gy, density, mask, labels;
    cv::normalize(reduced, small, 0, 255, cv::NORM_MINMAX);
    cv::Scharr(small, gx, CV_32F, 1, 0, 1.0 / 16);
    cv::Scharr(small, gy, CV_32F, 0, 1, 1.0 / 16);
    cv::magnitude(gx, gy, density);
    cv::min(density, 60, density);
    const int window = std::max(9, std::max(small.cols, small.rows) / 40) | 1;
    cv::blur(density, density, {window, window});
    double highest;
    cv::minMaxLoc(density, nullptr, &highest);
    if (highest < 10) return {};
    mask = density > 0.5 * highest;
    cv::morphologyEx(mask, mask, cv::MORPH_CLOSE, cv::getStructuringElement(cv::MORPH_RECT, {window, window}));
    std::vector<Region> regions;
    for (const Component &found : components_of(mask, labels)) {
        if (found.area < 0.006 * static_cast<double>(small.total())) continue;
        const cv::Rect &box = found.box;
        const cv::Mat blob = labels(box) == found.label;
        std::vector<std::vector<cv::Point>> contours;
        cv::findContours(blob, contours, cv::RETR_EXTERNAL, cv::CHAIN_APPROX_NONE, box.tl());
        if (contours.empty()) continue;
        const cv::RotatedRect around = cv::minAreaRect(contours[0]);
        const double own_fill = found.area / std::max(1.0F, around.size.area());
        // No rectangle around it is smaller, whatever the direction of its stripes.
        if (own_fill < least_fill) continue;
        double coherence;
        const double angle = stripe_direction(gray, blob, box, scale, coherence);
        // Extent of the blob along and across that direction.
        const double ux = std::cos(angle), uy = std::sin(angle);
        double low_u = 1e9, high_u = -1e9, low_v = 1e9, high_v = -1e9;
        for (const cv::Point &p : contours[0]) {
            const double u = p.x * ux + p.y * uy, v = -p.x * uy + p.y * ux;
            low_u = std::min(low_u, u), high_u = std::max(high_u, u), low_v = std::min(low_v, v),
            high_v = std::max(high_v, v);
        }
        const double fill = found.area / std::max(1.0, (high_u - low_u) * (high_v - low_v));
        const double longer = std::max(high_u - low_u, high_v - low_v);
        const double shorter = std::min(high_u - low_u, high_v - low_v);
        // Lines of blurred text have one direction too, but across their length. In perspective or under motion
        // blur, gradients are not square to a barcode's sides: then its own rectangle gives its shape.
        const double reach = (high_u - low_u) / std::max(1.0, high_v - low_v);
        const double slimness = std::max(around.size.width, around.size.height) /
                                std::max(1.0F, std::min(around.size.width, around.size.height));
        const bool shaped = (fill >= least_fill && reach > least_reach) ||
                            (own_fill >= least_own_fill && reach > 1 && slimness < longest);
        const bool striped = coherence >= least_coherence && shaped;
        if (!striped && (fill < least_fill || longer > square * shorter)) continue;
        Region region;
        const double us[] = {low_u, high_u, high_u, low_u}, vs[] = {low_v, low_v, high_v, high_v};
        for (size_t i = 0; i < 4; ++i)
            region.box[i] = {static_cast<float>((us[i] * ux - vs[i] * uy + 0.5) / scale),
                             static_cast<float>((us[i] * uy + vs[i] * ux + 0.5) / scale)};
        region.quad = four_sides(contours[0], around, angle);
        for (cv::Point2f &p : region.quad) p = (p + cv::Point2f(0.5F, 0.5F)) / scale;
        region.striped = striped;
        region.weight = cv::mean(density(box), blob)[0] * std::sqrt(static_cast<double>(found.area));
        regions.push_back(region);
    }
    std::sort(regions.begin(), regions.end(), [](const Region &a, const Region &b) { return a.weight > b.weight; });
    for (const bool striped : {true, false}) {
        size_t kept = 0;
        regions.erase(std::remove_if(regions.begin(), regions.end(),
                                     [&](const Region &r) { return r.striped == striped && ++kept > most_regions; }),
                      regions.end());
    }
    return regions;
}

}  // namespace cvision
