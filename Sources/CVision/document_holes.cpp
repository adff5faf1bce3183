// Holes that were punched through a document, and pieces torn out of its edges: patches that look like the table that it lies on.
#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "components.hpp"
#include "document.hpp"

namespace cvision {
namespace {

/// Diameters over the document's longer side: 2.6 to 7.7 mm on an ID-1 card, 3.8 to 11 mm on a passport's page. Smaller ones
/// cannot be distinguished from print.
constexpr double smallest = 0.03, largest = 0.09;
/// Of a tear, inwards; a corner belongs to both of its edges and is judged elsewhere.
constexpr double least_tear = 0.03;
/// A hole shows the table in the card's shadow: its colour times a number from this to 1, and a little more under another light.
constexpr float deepest_shadow = 0.55F, brightest = 1.08F;
/// Of 255, between a hole and the print around it: what differs less cannot be distinguished from the table.
constexpr double least_contrast = 30;
/// Of 255: how far the table's own pixels may lie from one colour; on a table of many colours everything looks like it.
constexpr double most_uneven = 45;

/// The table around the document: its mean colour, and how far 95 % of its pixels lie from that.
struct Table {
    cv::Vec3d colour;
    double spread;
};

/// Distances of colours from the table's, in light or shadow. By channel, so that the compiler computes several at once.
cv::Mat distances(const cv::Mat &bgr, const cv::Vec3d &table) {
    std::vector<cv::Mat> channels;
    cv::split(bgr, channels);
    const float t0 = static_cast<float>(table[0]), t1 = static_cast<float>(table[1]), t2 = static_cast<float>(table[2]);
    const float square = std::max(1.0F, t0 * t0 + t1 * t1 + t2 * t2);
    cv::Mat away(bgr.size(), CV_32F);
    for (int y = 0; y < bgr.rows; ++y) {
        const uint8_t *b0 = channels[0].ptr<uint8_t>(y), *b1 = channels[1].ptr<uint8_t>(y),
                      *b2 = channels[2].ptr<uint8_t>(y);
        float *to = away.ptr<float>(y);
        for (int x = 0; x < bgr.cols; ++x) {
            const float p0 = b0[x], p1 = b1[x], p2 = b2[x];
            const float light = std::min(std::max((p0 * t0 + p1 * t1 + p2 * t2) / square, deepest_shadow), brightest);
            const float d0 = p0 - light * t0, d1 = p1 - light * t1, d2 = p2 - light * t2;
            to[x] = std::sqrt(d0 * d0 + d1 * d1 + d2 * d2);
        }
    }
    return away;
}

Table table_around(const cv::Mat &view, const cv::Rect &document) {
    const int gap = std::max(4, view.cols / 60), left = std::max(0, document.x - gap),
              top = std::max(0, document.y - gap);
    const int right = std::min(view.cols, document.br().x + gap), bottom = std::min(view.rows, document.br().y + gap);
    cv::Scalar sum;
    std::vector<cv::Mat> sides;
    int count = 0;
    for (const cv::Rect &side :
         {cv::Rect(0, 0, view.cols, top), cv::Rect(0, bottom, view.cols, view.rows - bottom),
          cv::Rect(0, top, left, bottom - top), cv::Rect(right, top, view.cols - right, bottom - top)}) {
        if (side.empty()) continue;
        sides.push_back(view(side));
        sum += cv::sum(sides.back());
        count += side.area();
    }
    const cv::Vec3d colour = cv::Vec3d(sum[0], sum[1], sum[2]) / std::max(1, count);
    if (count == 0) return {colour, 255};
    std::vector<float> all;
    all.reserve(static_cast<size_t>(count));
    for (const cv::Mat &side : sides) {
        const cv::Mat away = distances(side, colour);
        all.insert(all.end(), away.begin<float>(), away.end<float>());
    }
    const auto most = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 19 / 20);
    std::nth_element(all.begin(), most, all.end());
    return {colour, *most};
}

/// How far each pixel of the document is from the table's colour.
struct Away {
    cv::Mat map;       ///< of the document, CV_32F; empty where it cannot be told from the table
    double limit = 0;  ///< what is closer looks like the table
};

Away away_from_table(const cv::Mat &view, int margin) {
    const cv::Rect document(margin, margin, view.cols - 2 * margin, view.rows - 2 * margin);
    const double side = std::max(document.width, document.height);
    if (margin < 0.03 * side || side < 200) return {};
    const Table table = table_around(view, document);
    if (table.spread > most_uneven) return {};
    const double limit = std::max(15.0, table.spread);
    const cv::Mat away = distances(view(document), table.colour);
    const int alike = cv::countNonZero(away < limit + least_contrast);
    // If most of the document looks like the table, a hole shows nothing.
    if (alike > document.area() / 2) return {};
    return {away, limit};
}

double punched_hole(const cv::Mat &away, const cv::Mat &closed, double limit) {
    const double side = std::max(away.cols, away.rows);
    cv::Mat like, labels;
    // Thin print is no hole.
    cv::morphologyEx(closed, like, cv::MORPH_OPEN, cv::getStructuringElement(cv::MORPH_ELLIPSE, {7, 7}));
    if (cv::countNonZero(like) == 0) return 0;
    double best = 0;
    for (const Component &found : components_of(like, labels)) {
        const cv::Rect &box = found.box;
        const double diameter = (box.width + box.height) / 2.0;
        if (diameter < smallest * side || diameter > largest * side) continue;
        // What touches the border is the table itself, or a corner.
        if (box.x <= 1 || box.y <= 1 || box.br().x >= like.cols - 1 || box.br().y >= like.rows - 1) continue;
        const double shape = std::min(box.width, box.height) / static_cast<double>(std::max(box.width, box.height));
        const double disc = CV_PI / 4 * box.width * box.height;
        const double filled = std::min(found.area / disc, disc / found.area);
        // The print around it, all the way.
        const cv::Point2d &centre = found.centre;
        int other = 0, steps = 0;
        double contrast = 0;
        for (double angle = 0; angle < 2 * CV_PI; angle += CV_PI / 24) {
            const cv::Point at(cvRound(centre.x + 0.75 * diameter * std::cos(angle)),
                               cvRound(centre.y + 0.75 * diameter * std::sin(angle)));
            if (at.x < 0 || at.y < 0 || at.x >= away.cols || at.y >= away.rows) continue;
            const double beyond = away.at<float>(at);
            ++steps, other += beyond > limit + least_contrast / 2 ? 1 : 0, contrast += beyond;
        }
        if (steps < 36 || contrast / steps < limit + least_contrast) continue;
        best = std::max(best, shape * filled * other / steps);
    }
    return best;
}

/// A matrix turned so that its rows go from an edge inwards; edges are counted clockwise from the upper one.
cv::Mat inwards(const cv::Mat &from, int edge) {
    cv::Mat to;
    if (edge == 0) return from;
    if (edge == 1) cv::rotate(from, to, cv::ROTATE_90_COUNTERCLOCKWISE);
    if (edge == 2) cv::flip(from, to, 0);
    if (edge == 3) cv::rotate(from, to, cv::ROTATE_90_CLOCKWISE);
    return to;
}

/// Where a box of a matrix of `size` lies in the turned one.
cv::Rect inwards(const cv::Rect &box, const cv::Size &size, int edge) {
    if (edge == 1) return {box.y, size.width - box.br().x, box.height, box.width};
    if (edge == 2) return {box.x, size.height - box.br().y, box.width, box.height};
    if (edge == 3) return {size.height - box.br().y, box.x, box.height, box.width};
    return box;
}

double torn_edge(const cv::Mat &away, const cv::Mat &closed, double limit) {
    const double side = std::max(away.cols, away.rows);
    cv::Mat like, labels;
    // An outline that is a little too wide leaves strips of the table, and dark print touches the edge in places.
    cv::morphologyEx(closed, like, cv::MORPH_OPEN, cv::getStructuringElement(cv::MORPH_ELLIPSE, {5, 5}));
    if (cv::countNonZero(like) == 0) return 0;
    const int rim = cvRound(0.012 * side), corner = cvRound(0.08 * side);
    const std::vector<Component> found = components_of(like, labels);
    double deepest = 0;
    for (int edge = 0; edge < 4; ++edge) {
        cv::Mat inward, far;
        for (const Component &piece : found) {
            const cv::Rect box = inwards(piece.box, like.size(), edge);
            if (box.y > rim || box.height < least_tear * side) continue;
            if (inward.empty()) inward = inwards(labels, edge), far = inwards(away, edge);
            if (inward.cols < 3 * corner) break;
            // What is left of it inside the rim: a strip along the edge is no tear.
            int left = inward.cols, right = -1, area = 0;
            for (int y = rim; y < box.br().y; ++y) {
                const int *label = inward.ptr<int>(y);
                for (int x = box.x; x < box.br().x; ++x) {
                    if (label[x] != piece.label) continue;
                    left = std::min(left, x), right = std::max(right, x), ++area;
                }
            }
            const int wide = right - left + 1, deep = box.br().y - rim;
            if (area == 0 || left < corner || right >= inward.cols - corner || wide > 0.3 * side) continue;
            // A line fills little of its box. On both sides is the document.
            if (area < 0.25 * wide * deep) continue;
            double beside = 0;
            int steps = 0;
            for (int y = rim; y < rim + (deep + 1) / 2; ++y) {
                for (const int x : {left - cvRound(0.02 * side), right + cvRound(0.02 * side)}) {
                    beside += far.at<float>(y, x) > limit + least_contrast / 2 ? 1 : 0;
                    ++steps;
                }
            }
            if (beside < 0.8 * steps) continue;
            deepest = std::max(deepest, box.br().y / side);
        }
    }
    return deepest;
}

}  // namespace

MissingPieces missing_pieces(const cv::Mat &view, int margin) {
    const Away away = away_from_table(view, margin);
    if (away.map.empty()) return {};
    // What looks like the table, whose grain leaves gaps in it.
    cv::Mat closed;
    cv::morphologyEx(away.map < away.limit, closed, cv::MORPH_CLOSE,
                     cv::getStructuringElement(cv::MORPH_ELLIPSE, {3, 3}));
    return {punched_hole(away.map, closed, away.limit), torn_edge(away.map, closed, away.limit)};
}

}  // namespace cvision
