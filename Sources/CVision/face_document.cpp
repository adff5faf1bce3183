// Further searches on documents: the portrait on a page seen at a low angle, and the second, smaller one (the ghost image).
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "face_parts.hpp"
#include "image.hpp"

namespace {

/// The smallest face that the detector finds, in pixels.
constexpr double least_box = 80;
/// Width of the detector's box over the distance between the eyes, where it is smallest.
constexpr double box_of_eyes = 2.3;
/// Width of a ghost's face over its portrait's: printed ones have 0.4 to 0.7.
constexpr double smallest = 0.38, largest = 0.85;
/// How much the image is enlarged at most: more shows nothing new.
constexpr double most_enlarged = 1.5;
/// Beyond the portrait's face, over its height: a ghost stands beside the portrait, on the same page.
constexpr double above = 0.6, below = 1.0;

/// The turns of cv_face: where a point of an image of `size` lies once it is turned, and back.
cv::Point2d turned(cv_point point, const cv::Size &size, int turns) {
    switch (turns) {
    case 1: return {size.height - 1 - point.y, point.x};
    case 2: return {size.width - 1 - point.x, size.height - 1 - point.y};
    case 3: return {point.y, size.width - 1 - point.x};
    default: return {point.x, point.y};
    }
}

cv_point turned_back(const cv::Point2d &point, const cv::Size &size, int turns) {
    const cv::Size other = turns % 2 == 0 ? size : cv::Size(size.height, size.width);
    const cv::Point2d there = turned({point.x, point.y}, other, (4 - turns) % 4);
    return {there.x, there.y};
}

/// The upright rectangle around points of an image, once it is turned.
cv::Rect2d around(const cv_point *points, size_t count, const cv::Size &size, int turns) {
    double x0 = 1e9, y0 = 1e9, x1 = -1e9, y1 = -1e9;
    for (size_t i = 0; i < count; ++i) {
        const cv::Point2d point = turned(points[i], size, turns);
        x0 = std::min(x0, point.x), x1 = std::max(x1, point.x);
        y0 = std::min(y0, point.y), y1 = std::max(y1, point.y);
    }
    return {x0, y0, x1 - x0, y1 - y0};
}

/// The part of the upright document beside the portrait's face, on the side that has more room.
cv::Rect beside(const cv::Rect2d &face, const cv::Rect2d &document, const cv::Rect2d &mrz) {
    const bool isLeft = face.x + face.width / 2 < document.x + document.width / 2;
    const double x0 = isLeft ? face.br().x : document.x, x1 = isLeft ? document.br().x : face.x;
    const double y0 = std::max(document.y, face.y - above * face.height);
    double y1 = std::min(document.br().y, face.br().y + below * face.height);
    if (mrz.y > face.br().y) y1 = std::min(y1, mrz.y);
    return {cv::Point(static_cast<int>(x0), static_cast<int>(y0)),
            cv::Point(static_cast<int>(x1), static_cast<int>(y1))};
}

cv::Mat upright_gray(const cv_image &image, int turns) {
    cv::Mat upright = image.gray;
    if (turns != 0)
        cv::rotate(image.gray, upright,
                   turns == 1   ? cv::ROTATE_90_CLOCKWISE
                   : turns == 2 ? cv::ROTATE_180
                                : cv::ROTATE_90_COUNTERCLOCKWISE);
    return upright;
}

/// `box` and `points` of an upright image as a face of the image of `size`.
cv_face placed(const cv::Rect2d &box, double score, const cvision::Landmarks &points, const cv::Size &size, int turns) {
    cv_face face = {};
    const cv_point a = turned_back(box.tl(), size, turns), b = turned_back(box.br(), size, turns);
    face.x = std::min(a.x, b.x), face.y = std::min(a.y, b.y);
    face.width = std::abs(a.x - b.x), face.height = std::abs(a.y - b.y);
    face.score = score;
    face.quarter_turns = turns;
    for (size_t i = 0; i < points.size(); ++i) face.landmarks[i] = turned_back(points[i], size, turns);
    return face;
}

/// Width over height of two printed MRZ lines of 44 characters, and from which ratio on the page is seen at a low angle.
constexpr double zone_ratio = 11, oblique_ratio = 13, most_oblique = 22;
/// The least score of a face on a page that was stretched.
constexpr double least_stretched_score = 0.5;

/// At least this share of a region must be above the MRZ; otherwise the cut-out is not a page above its MRZ.
constexpr double least_left = 0.5;

/// `region` without the MRZ and everything below it.
cv::Rect above_mrz(const cv::Rect &region, const cv_point mrz[4]) {
    const double across = mrz[3].x - mrz[0].x, down = mrz[3].y - mrz[0].y;
    double x0 = region.x, y0 = region.y, x1 = region.br().x, y1 = region.br().y;
    if (std::abs(down) >= std::abs(across)) {
        down > 0 ? y1 = std::min(y1, std::max(mrz[0].y, mrz[1].y)) : y0 = std::max(y0, std::min(mrz[0].y, mrz[1].y));
    } else {
        across > 0 ? x1 = std::min(x1, std::max(mrz[0].x, mrz[1].x)) : x0 = std::max(x0, std::min(mrz[0].x, mrz[1].x));
    }
    const cv::Rect left(cv::Point(static_cast<int>(x0), static_cast<int>(y0)),
                        cv::Point(static_cast<int>(x1), static_cast<int>(y1)));
    return x1 > x0 && y1 > y0 && left.area() >= least_left * region.area() ? left : region;
}

}  // namespace

cv::Rect cvision::begin_of_lines(const cv::Rect &region, const cv_point mrz[4]) {
    // Of the lines' length, from their start: the first characters may not have been seen.
    constexpr double before = 0.3, after = 0.45, height = 0.7;
    const cv::Point2d begin(mrz[0].x, mrz[0].y), along(mrz[1].x - mrz[0].x, mrz[1].y - mrz[0].y);
    const cv::Point2d up(along.y, -along.x), from = begin - before * along, to = begin + after * along;
    const std::vector<cv::Point2f> corners = {from, to, to + height * up, from + height * up};
    return cv::boundingRect(corners) & region;
}

cv::Rect cvision::portrait_region(const cv_document_side &side, const cv::Size &size) {
    cv::Rect region(cv::Point(), size);
    if (side.has_outline) {
        double x0 = size.width, y0 = size.height, x1 = 0, y1 = 0;
        for (const cv_point &corner : side.outline) {
            x0 = std::min(x0, corner.x), x1 = std::max(x1, corner.x);
            y0 = std::min(y0, corner.y), y1 = std::max(y1, corner.y);
        }
        const cv::Rect inside = cv::Rect(cv::Point(static_cast<int>(x0), static_cast<int>(y0)),
                                         cv::Point(static_cast<int>(x1) + 1, static_cast<int>(y1) + 1)) &
                                region;
        if (!inside.empty()) region = inside;
    }
    return side.has_mrz ? above_mrz(region, side.mrz) : region;
}

std::vector<cv_face> cvision::oblique_faces(cv_face_engine &engine, const cv_image &image, const cv_document_side &side,
                                            int known_turns) {
    if (!side.has_mrz || known_turns < 0) return {};
    const cv::Size size = image.gray.size();
    const cv::Rect2d mrz = around(side.mrz, 4, size, known_turns);
    if (mrz.height < 1 || mrz.width < oblique_ratio * mrz.height || mrz.width > most_oblique * mrz.height) return {};
    // The upper left of the page above its MRZ (Doc 9303-4 §4.2).
    const double stretch = mrz.width / mrz.height / zone_ratio, above_zone = 0.62 * mrz.width / stretch;
    const cv::Mat upright = upright_gray(image, known_turns);
    const cv::Rect region =
        cv::Rect(cv::Rect2d(mrz.x - 0.06 * mrz.width, mrz.y - above_zone, 0.5 * mrz.width, above_zone)) &
        cv::Rect(cv::Point(), upright.size());
    if (region.width < 16 || region.height < 16) return {};
    // A portrait's face has an eighth of the MRZ's length.
    const double scale = std::min(4.0, 1.2 * least_box / (mrz.width / 8));
    const size_t oblique_levels = levels_to(1.2 * 2);
    cv::Mat near;
    cv::resize(upright(region), near, {}, scale, scale * stretch, cv::INTER_LINEAR);
    FaceBox best{{}, least_stretched_score};
    for (const FaceBox &one : detector_of(engine).detect_frontal(near, oblique_levels))
        if (one.score > best.score) best = one;
    if (best.rect.empty()) return {};
    const auto back = [&](const cv::Point2d &point) {
        return cv::Point2d(point.x / scale + region.x, point.y / (scale * stretch) + region.y);
    };
    Landmarks points = landmarker_of(engine).locate(near, best.rect);
    for (cv::Point2d &point : points) point = back(point);
    cv_face face =
        placed(cv::Rect2d(back(best.rect.tl()), back(best.rect.br())), best.score, points, size, known_turns);
    measure_face(image, face);
    return {face};
}

cv_status cv_face_ghost(cv_face_engine *engine, const cv_image *image, const cv_document_side *side,
                        const cv_face *portrait, double least_eye_distance, cv_face *ghost, bool *found,
                        cv_error *error) {
    using namespace cvision;
    return guard(error, [&] {
        *found = false;
        const int turns = portrait->quarter_turns;
        const cv::Size size = image->gray.size();
        const cv_point box[] = {{portrait->x, portrait->y},
                                {portrait->x + portrait->width, portrait->y + portrait->height}};
        const cv_point frame[] = {{0, 0}, {size.width - 1.0, size.height - 1.0}};
        const cv::Rect2d face = around(box, 2, size, turns), whole = around(frame, 2, size, turns);
        const cv::Rect2d outline = side->has_outline ? around(side->outline, 4, size, turns) & whole : whole;
        const cv::Rect2d mrz = side->has_mrz ? around(side->mrz, 4, size, turns) : cv::Rect2d();
        const double least = std::max(box_of_eyes * least_eye_distance, smallest * face.width);
        const double most = largest * face.width;
        if (least > most) return CV_OK;
        const cv::Rect region = beside(face, outline, mrz) & cv::Rect(whole);
        if (region.width < least || region.height < least) return CV_OK;

        const cv::Mat upright = upright_gray(*image, turns);
        const double scale = std::min(most_enlarged, least_box / least);
        cv::Mat near = upright(region);
        const cv::Size scaled(static_cast<int>(region.width * scale), static_cast<int>(region.height * scale));
        if (scale < 1) near = shrunk(near, scaled);
        else cv::resize(near, near, scaled, 0, 0, cv::INTER_LINEAR);

        const size_t levels = levels_to(std::max(1.0, most * scale / least_box));
        FaceBox best{{}, -1};
        for (const FaceBox &one : detector_of(*engine).detect_frontal(near, levels)) {
            const double width = one.rect.width / scale;
            if (width <= most && one.score > best.score)
                best = {{one.rect.x / scale + region.x, one.rect.y / scale + region.y, width, one.rect.height / scale},
                        one.score};
        }
        if (best.score < 0) return CV_OK;
        const Landmarks points = landmarker_of(*engine).locate(upright, best.rect);
        *ghost = placed(best.rect, best.score, points, size, turns);
        measure_face(*image, *ghost);
        *found = true;
        return CV_OK;
    });
}
