#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "document.hpp"
#include "image.hpp"
#include "mrz_detect.hpp"
#include "mrz_layout.hpp"

namespace cvision::mrz {
namespace {

constexpr double certain = -0.25;    // score from which no further block is read
constexpr double sufficient = -0.5;  // score from which no further pass is made
constexpr double promising = 0.6;    // probability of a line somewhere from which an enlarged pass is worth the time
constexpr int most_glanced = 8;      // blocks that are glanced at
constexpr int most_read = 4;         // blocks that are read
constexpr double small_pitch = 6;    // detector pixels per character below which a line may not be recognised

constexpr double straight = 0.06;       // sine of the angle up to which a document is read without rotation
constexpr double frontal = 1.06;        // ratio of opposite sides up to which perspective does not matter
constexpr double filled = 0.7;          // share of the frame from which only the document is searched
constexpr double straight_side = 1400;  // pixels of a straightened document's longer side: 28 a character or more

// Longer sides in pixels of the detector's passes; it sees lines of 3 pixels a character and more.
constexpr double document_side = 448;  // a document alone: 44 characters over nine tenths of it are 9 pixels wide each
constexpr double whole_side = 640;     // an image in which the document lies somewhere
constexpr double close_side = 1152;    // the same where the document may be small
constexpr double glance_side = 352;    // of a glance at a document: 30 characters of a card are 10 pixels wide each

/// Where lines are sought: the image, or the document in it, straightened.
struct View {
    cv::Mat gray;
    cv::Matx33d to_image = cv::Matx33d::eye();

    cv_point point(cv::Point2d p) const {
        const cv::Vec3d q = to_image * cv::Vec3d(p.x, p.y, 1);
        return {q[0] / q[2], q[1] / q[2]};
    }
};

void copy_reading(const View &view, const MRZReading &reading, cv_mrz_reading &result) {
    result = {};
    result.line_count = int32_t(reading.lines.size());
    result.score = reading.score;
    for (int32_t l = 0; l < result.line_count; ++l) {
        const LineReading &line = reading.lines[l];
        const int cells = int(line.logs.size()) / classes;
        cv_mrz_line &out = result.lines[l];
        out.cell_count = cells;
        for (int cell = 0; cell < cells; ++cell) {
            for (int k = 0; k < classes; ++k) {
                out.posterior[cell][k] = std::exp(line.logs[size_t(cell) * classes + k]);
            }
        }
        out.start = view.point(line.line.at(0));
        out.end = view.point(line.line.at(cells - 1));
        out.pitch = std::hypot(out.end.x - out.start.x, out.end.y - out.start.y) / (cells - 1);
        out.sharpness = edge_width(view.gray, line.line, cells);
        result.pitch += out.pitch / result.line_count;
    }
    const LineModel &top = reading.lines.front().line, &bottom = reading.lines.back().line;
    const double last = reading.cells - 1;
    result.quad[0] = view.point(top.at(-0.5, -0.7 * top.height));
    result.quad[1] = view.point(top.at(last + 0.5, -0.7 * top.height));
    result.quad[2] = view.point(bottom.at(last + 0.5, 0.7 * bottom.height));
    result.quad[3] = view.point(bottom.at(-0.5, 0.7 * bottom.height));
    const cv_mrz_line &last_line = result.lines[result.line_count - 1];
    result.turn = std::atan2(last_line.end.y - last_line.start.y, last_line.end.x - last_line.start.x) * 180 / CV_PI;
}

std::vector<cv::Point2f> corners_of(const cv_outline &outline) {
    std::vector<cv::Point2f> corners;
    for (const cv_point &corner : outline.corners) {
        corners.push_back({float(corner.x), float(corner.y)});
    }
    return corners;
}

/// One pass of the detector over a part of a view, scaled to `side` pixels on its longer side.
struct Pass {
    View view;
    cv::Rect region;
    double side;
};

/// The document with a margin for the outline's errors, straightened unless it is straight already, so that lines run along the
/// rows and characters have one width.
Pass document_pass(const cv::Mat &gray, const cv_outline &outline) {
    const cv_point *c = outline.corners;
    double x0 = INFINITY, y0 = INFINITY, x1 = -INFINITY, y1 = -INFINITY, shortest = INFINITY, slant = 0,
           longest[2] = {0, 0};
    double ratio = 1;
    for (int i = 0; i < 4; ++i) {
        x0 = std::min(x0, c[i].x), x1 = std::max(x1, c[i].x);
        y0 = std::min(y0, c[i].y), y1 = std::max(y1, c[i].y);
        const double dx = std::abs(c[(i + 1) % 4].x - c[i].x), dy = std::abs(c[(i + 1) % 4].y - c[i].y);
        const double side = std::hypot(dx, dy);
        slant = std::max(slant, std::min(dx, dy) / std::max(side, 1.0));
        shortest = std::min(shortest, side);
        longest[i % 2] = std::max(longest[i % 2], side);
    }
    for (int i = 0; i < 2; ++i) {
        const double other = std::hypot(c[(i + 3) % 4].x - c[(i + 2) % 4].x, c[(i + 3) % 4].y - c[(i + 2) % 4].y);
        const double one = std::hypot(c[i + 1].x - c[i].x, c[i + 1].y - c[i].y);
        ratio = std::max(ratio, std::max(one, other) / std::max(std::min(one, other), 1.0));
    }
    const cv::Rect frame(0, 0, gray.cols, gray.rows);
    if ((slant < straight && ratio < frontal) || shortest < 32) {
        const double margin = 0.04 * std::max(x1 - x0, y1 - y0);
        const cv::Rect box(cv::Point(int(x0 - margin), int(y0 - margin)),
                           cv::Point(int(x1 + margin), int(y1 + margin)));
        return {{gray}, box & frame, document_side};
    }
    cv::Size2d size(longest[0], longest[1]);
    if (outline.corners_outside == 0) {
        // The ratio without perspective, limited: an outline that is no document's could be stretched without bound.
        const double aspect = std::clamp(outline.aspect_ratio, 1.2, 1.8);
        (size.width > size.height ? size.height : size.width) = std::max(size.width, size.height) / aspect;
    }
    const double scale = std::min(1.0, straight_side / std::max(size.width, size.height));
    const cv::Size whole(std::max(16, int(size.width * scale)), std::max(16, int(size.height * scale)));
    const int margin = std::max(whole.width, whole.height) / 25;
    const cv::Matx33d shift(1, 0, -margin, 0, 1, -margin, 0, 0, 1);
    Pass pass{{rectify(gray, c, whole, margin), from_rectified(c, whole) * shift}, {}, document_side};
    pass.region = cv::Rect(0, 0, pass.view.gray.cols, pass.view.gray.rows);
    return pass;
}

/// Whether a line of `reading` ends where `pass` does: it goes on beyond an outline that is wrong.
bool is_cut(const MRZReading &reading, const Pass &pass) {
    return std::any_of(reading.lines.begin(), reading.lines.end(), [&](const LineReading &read) {
        const LineModel &line = read.line;
        const double last = double(read.logs.size()) / classes - 1;
        const cv::Rect &r = pass.region;
        const auto is_edge = [&](const cv::Point2d &end) {
            return std::min({end.x - r.x, end.y - r.y, r.br().x - end.x, r.br().y - end.y}) < line.along.b;
        };
        return is_edge(line.at(0)) || is_edge(line.at(last));
    });
}

cv_status read(const cv::Mat &gray, const cv_outline *outline, cv_mrz_reading *readings, int32_t capacity,
               int32_t *count) {
    *count = 0;
    if (gray.empty() || std::min(gray.cols, gray.rows) < 16) {
        return CV_OK;
    }
    const cv::Rect frame(0, 0, gray.cols, gray.rows);
    // The document first, then the whole image: the outline may be wrong.
    std::vector<Pass> passes;
    double covered = 0;
    if (outline != nullptr) {
        const std::vector<cv::Point2f> corners = corners_of(*outline);
        covered = std::abs(cv::contourArea(corners)) / double(frame.area());
        passes.push_back(document_pass(gray, *outline));
    }
    if (covered < filled) {
        // Enlarged further, a small image shows nothing more.
        passes.push_back(
            {{gray}, frame, std::clamp(double(std::max(gray.cols, gray.rows)), document_side, whole_side)});
        passes.push_back({{gray}, frame, close_side});
    }
    std::vector<MRZReading> best;
    const View *shown = nullptr;
    bool unresolved = false, sighted = false, cut = false;
    for (const Pass &pass : passes) {
        const bool enough = !best.empty() && best.front().score > sufficient && !cut;
        const bool closer = pass.side > whole_side;
        if (pass.region.empty()) {
            continue;
        }
        // A smaller image has shown all of its pixels to the pass before: what that saw at no place, none will see.
        const bool shown_all = std::max(frame.width, frame.height) <= whole_side && !sighted;
        if (enough || (closer && (!unresolved || shown_all))) {
            break;
        }
        const Sight sight = find_blocks(pass.view.gray, pass.region, pass.side);
        // Only something like a line that is too small to recognise justifies an enlarged pass.
        unresolved = sight.strongest > promising && sight.finest < small_pitch;
        sighted = !sight.blocks.empty();
        int read = 0, glanced = 0;
        for (const Block &block : sight.blocks) {
            if (read >= most_read || ++glanced > most_glanced || (!best.empty() && best.front().score > certain)) {
                break;
            }
            std::vector<MRZReading> readings = read_block(pass.view.gray, block);
            read += readings.empty() ? 0 : 1;
            if (!readings.empty() && (best.empty() || readings.front().score > best.front().score)) {
                best = std::move(readings);
                shown = &pass.view;
                cut = is_cut(best.front(), pass);
            }
        }
    }
    for (const MRZReading &reading : best) {
        if (*count < capacity) {
            copy_reading(*shown, reading, readings[(*count)++]);
        }
    }
    return CV_OK;
}

cv_status glance(const cv::Mat &gray, const cv_outline *outline, cv_mrz_sight *sight) {
    *sight = {};
    if (gray.empty() || std::min(gray.cols, gray.rows) < 16) {
        return CV_OK;
    }
    cv::Rect region(0, 0, gray.cols, gray.rows);
    if (outline != nullptr) {
        region &= cv::boundingRect(corners_of(*outline));
    }
    if (region.empty()) {
        return CV_OK;
    }
    const Sight seen = find_blocks(gray, region, glance_side);
    if (!seen.blocks.empty()) {
        const std::vector<LineModel> &lines = seen.blocks.front().lines;
        sight->line_count = int32_t(lines.size());
        const auto ends =
            std::minmax_element(lines.begin(), lines.end(),
                                [](const LineModel &one, const LineModel &other) { return one.cells < other.cells; });
        sight->shortest = ends.first->cells;
        sight->longest = ends.second->cells;
    }
    return CV_OK;
}

}  // namespace
}  // namespace cvision::mrz

cv_status cv_mrz_prepare(cv_error *error) {
    return cvision::guard(error, [] {
        cvision::mrz::prepare();
        return CV_OK;
    });
}

cv_status cv_mrz_glance(const cv_image *image, const cv_outline *outline, cv_mrz_sight *sight, cv_error *error) {
    return cvision::guard(error, [&] { return cvision::mrz::glance(image->gray, outline, sight); });
}

cv_status cv_mrz_read(const cv_image *image, const cv_outline *outline, cv_mrz_reading *readings, int32_t capacity,
                      int32_t *count, cv_error *error) {
    return cvision::guard(error, [&] { return cvision::mrz::read(image->gray, outline, readings, capacity, count); });
}
