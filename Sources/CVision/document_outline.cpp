// Finds the document: straight edges by a directed Hough transform, then the best quad formed by four of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "document.hpp"
#include "document_edges.hpp"
#include "image.hpp"

namespace cvision {
namespace {

constexpr int most_lines = 28;
constexpr double frame_support = 0.45;      // support of a side along the frame: no evidence for or against it
constexpr double least_support = 0.68;      // of the sides that do not lie on the frame
constexpr double least_cut_support = 0.85;  // the same where a side does: a document that extends beyond the frame
constexpr double portrait_area = 0.24;      // of the frame
constexpr double portrait_aspect = 1.36;    // 35 by 45 mm (ISO/IEC 19794-5) is 1.29
constexpr double crop_tolerance = 0.03;     // of the frame: with corners nearer to its own, the frame is the crop
constexpr double least_side_support = 0.25;
constexpr double least_area = 0.16;  // of the frame; smaller documents are too small to read in any photo

/// n·p = rho with n = (cos, sin); the edges of a directed line get brighter along n.
struct Line {
    double nx, ny, rho;
    bool frame = false;
    double start = 0;          // first t of `profile`, where p(t) = rho·n + t·(-ny, nx)
    std::vector<float> along;  // prefix sums: edges of this polarity
    std::vector<float> against;

    cv::Point2d at(double t) const { return {rho * nx - t * ny, rho * ny + t * nx}; }
    double position(cv::Point2d p) const { return -p.x * ny + p.y * nx; }
};

/// Least squares through the edges within two pixels whose direction agrees.
Line refined(Line line, const EdgeMap &map) {
    constexpr double least_cosine = 0.95;
    constexpr int reach = 20;  // directions beyond which the cosine is lower
    for (int round = 0; round < 2; ++round) {
        double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
        const int centre = cvRound(std::atan2(line.ny, line.nx) / angle_step);
        for (int offset = -reach; offset <= reach; ++offset) {
            const size_t a = static_cast<size_t>((centre + offset + 2 * angles) % angles);
            for (size_t i = map.first[a]; i < map.first[a + 1]; ++i) {
                const Edge &edge = map.edges[i];
                // Most edges lie elsewhere.
                if (std::abs(edge.x * line.nx + edge.y * line.ny - line.rho) > 2.5 - round) continue;
                if (edge.nx * line.nx + edge.ny * line.ny < least_cosine) continue;
                // Sums of whole numbers, the same in any order.
                n += 1, sx += edge.x, sy += edge.y;
                sxx += edge.x * edge.x, sxy += edge.x * edge.y, syy += edge.y * edge.y;
            }
        }
        if (n < 10) return line;
        const double cxx = sxx / n - sx * sx / n / n, cxy = sxy / n - sx * sy / n / n, cyy = syy / n - sy * sy / n / n;
        const double direction = 0.5 * std::atan2(2 * cxy, cxx - cyy);
        double nx = -std::sin(direction), ny = std::cos(direction);
        if (nx * line.nx + ny * line.ny < 0) nx = -nx, ny = -ny;
        if (nx * line.nx + ny * line.ny < 0.99) return line;
        line.nx = nx, line.ny = ny, line.rho = (nx * sx + ny * sy) / n;
    }
    return line;
}

/// Records for each pixel along the line whether an edge of this direction, or of the opposite one, is there.
void add_profile(Line &line, const EdgeMap &map) {
    const double reach = std::hypot(map.size.width, map.size.height);
    const int steps = static_cast<int>(2 * reach);
    line.start = -reach;
    line.along.assign(steps + 1, 0);
    line.against.assign(steps + 1, 0);
    for (int step = 0; step < steps; ++step) {
        const cv::Point2d p = line.at(line.start + step);
        float along = 0, against = 0;
        const bool is_outside = p.x < -3 || p.y < -3 || p.x > map.size.width + 2 || p.y > map.size.height + 2;
        for (int offset = -2; offset <= 2 && !is_outside; ++offset) {
            const int x = cvRound(p.x + offset * line.nx), y = cvRound(p.y + offset * line.ny);
            if (x < 0 || y < 0 || x >= map.size.width || y >= map.size.height) continue;
            const cv::Vec2f n = map.normal.at<cv::Vec2f>(y, x);
            const double cosine = n[0] * line.nx + n[1] * line.ny;
            if (cosine > 0.93) along = 1;
            if (cosine < -0.93) against = 1;
        }
        line.along[step + 1] = line.along[step] + along;
        line.against[step + 1] = line.against[step] + against;
    }
}

std::vector<Line> find_lines(const EdgeMap &map) {
    const int reach = static_cast<int>(std::hypot(map.size.width, map.size.height)) + 2;
    std::array<float, angles> cosines, sines;
    for (int a = 0; a < angles; ++a)
        cosines[a] = static_cast<float>(std::cos(a * angle_step)),
        sines[a] = static_cast<float>(std::sin(a * angle_step));
    // By direction, votes for the distances that are possible in the frame: half of those from -reach to reach.
    std::array<int, angles> lowest;
    for (int a = 0; a < angles; ++a)
        lowest[a] = cvFloor(std::min(0.F, cosines[a] * map.size.width) + std::min(0.F, sines[a] * map.size.height)) - 2;
    cv::Mat votes = cv::Mat::zeros(angles, reach + 4, CV_32F);
    for (int centre = 0; centre < angles; ++centre) {
        for (int offset = -3; offset <= 3; ++offset) {
            const int a = (centre + offset + angles) % angles;
            float *const row = votes.ptr<float>(a);
            for (size_t i = map.first[centre]; i < map.first[centre + 1]; ++i) {
                const Edge &edge = map.edges[i];
                row[cvRound(edge.x * cosines[a] + edge.y * sines[a]) - lowest[a]] += 1;
            }
        }
    }
    cv::Mat smooth;
    cv::blur(votes, smooth, {3, 1});
    std::vector<Line> lines;
    const float least = 0.08f * static_cast<float>(std::min(map.size.width, map.size.height));
    // The highest vote of each angle, recomputed only where votes were cleared.
    std::array<double, angles> highest;
    std::array<int, angles> place;
    const auto look = [&](int a) {
        cv::Point at;
        cv::minMaxLoc(smooth.row(a), nullptr, &highest[a], nullptr, &at);
        place[a] = at.x;
    };
    for (int a = 0; a < angles; ++a) look(a);
    while (static_cast<int>(lines.size()) < most_lines) {
        const auto top = std::max_element(highest.begin(), highest.end());
        if (*top * 3 < least) break;
        const int angle = static_cast<int>(top - highest.begin()), rho = place[angle] + lowest[angle];
        Line line;
        line.nx = cosines[angle], line.ny = sines[angle], line.rho = rho;
        lines.push_back(refined(line, map));
        // Clear the peak's surroundings. A few degrees off, the same line has votes at other distances.
        for (int offset = -5; offset <= 5; ++offset) {
            const int a = (angle + offset + angles) % angles;
            const int width = 4 + 2 * std::abs(offset);
            const int left = std::clamp(rho - width - lowest[a], 0, smooth.cols);
            const int right = std::clamp(rho + width + 1 - lowest[a], 0, smooth.cols);
            smooth(cv::Rect(left, a, right - left, 1)).setTo(0);
            if (place[a] >= left && place[a] < right) look(a);
        }
    }
    for (Line &line : lines) add_profile(line, map);
    const double w = map.size.width - 1, h = map.size.height - 1;
    for (const auto &[nx, ny, rho] : {std::array<double, 3>{1, 0, 0}, {0, 1, 0}, {1, 0, w}, {0, 1, h}}) {
        Line line;
        line.nx = nx, line.ny = ny, line.rho = rho, line.frame = true;
        lines.push_back(line);
    }
    return lines;
}

bool intersect(const Line &a, const Line &b, cv::Point2d &p) {
    const double determinant = a.nx * b.ny - a.ny * b.nx;
    if (std::abs(determinant) < 0.3) return false;
    p = {(a.rho * b.ny - b.rho * a.ny) / determinant, (b.rho * a.nx - a.rho * b.nx) / determinant};
    return true;
}

/// How well edges support `line` between two positions (0–1; opposite polarities cancel), over the part inside the frame;
/// `visible` is that part's length.
double backing(const Line &line, const EdgeMap &map, double from, double to, double &visible) {
    if (from > to) std::swap(from, to);
    // Clip to the frame.
    for (const auto &[p0, d, top] : {std::array<double, 3>{line.at(0).x, -line.ny, map.size.width - 1.0},
                                     {line.at(0).y, line.nx, map.size.height - 1.0}}) {
        if (std::abs(d) < 1e-9) {
            if (p0 < -0.5 || p0 > top + 0.5) from = to;
            continue;
        }
        const double t0 = (0 - p0) / d, t1 = (top - p0) / d;
        from = std::max(from, std::min(t0, t1));
        to = std::min(to, std::max(t0, t1));
    }
    visible = std::max(0.0, to - from);
    if (visible < 1) return 0;
    if (line.frame) return frame_support;
    const auto index = [&](double t) {
        return std::clamp(cvRound(t - line.start), 0, static_cast<int>(line.along.size()) - 1);
    };
    const int i = index(from), j = index(to);
    const double along = line.along[j] - line.along[i], against = line.against[j] - line.against[i];
    return std::max(0.0, (std::max(along, against) - 0.5 * std::min(along, against)) / visible);
}

struct Candidate {
    std::array<cv::Point2d, 4> corners;
    double score = 0, support = 0;
    int frame_sides = 0;
};

/// Judges the quad whose side i lies on `sides[i]` and whose corner i joins the sides i-1 and i.
bool judge(const std::array<const Line *, 4> &sides, const EdgeMap &map, Candidate &candidate) {
    const double w = map.size.width, h = map.size.height;
    auto &corner = candidate.corners;
    for (int i = 0; i < 4; ++i) {
        if (!intersect(*sides[(i + 3) % 4], *sides[i], corner[i])) return false;
        if (corner[i].x < -0.25 * w || corner[i].x > 1.25 * w || corner[i].y < -0.25 * h || corner[i].y > 1.25 * h)
            return false;
    }
    double area = 0;
    for (int i = 0; i < 4; ++i) {
        const cv::Point2d a = corner[(i + 1) % 4] - corner[i], b = corner[(i + 2) % 4] - corner[(i + 1) % 4];
        const double turn = a.x * b.y - a.y * b.x;
        if (turn <= 0.4 * std::hypot(a.x, a.y) * std::hypot(b.x, b.y)) return false;  // convex, angles 24° to 156°
        area += 0.5 * (corner[i].x * corner[(i + 1) % 4].y - corner[(i + 1) % 4].x * corner[i].y);
    }
    if (area < least_area * w * h) return false;

    double backed = 0, length = 0, overshoot = 0, own_backed = 0, own_length = 0;
    candidate.frame_sides = 0;
    for (int i = 0; i < 4; ++i) {
        const Line &line = *sides[i];
        const double from = line.position(corner[i]), to = line.position(corner[(i + 1) % 4]);
        double visible;
        const double side = backing(line, map, from, to, visible);
        if (visible < 0.3 * std::abs(to - from) || side < least_side_support) return false;
        backed += side * visible;
        length += visible;
        if (line.frame) {
            ++candidate.frame_sides;
            continue;
        }
        own_backed += side * visible;
        own_length += visible;
        // An outline ends at its corners; lines of tables, and of text inside the document, go on.
        const double beyond = 0.12 * std::abs(to - from), sign = to > from ? 1 : -1;
        for (const auto &[a, b] :
             {std::pair{from - sign * beyond, from - sign * 3.0}, {to + sign * 3.0, to + sign * beyond}}) {
            double seen;
            const double rest = backing(line, map, a, b, seen);
            if (seen > 0.3 * beyond) overshoot += rest / 8;
        }
    }
    if (candidate.frame_sides > 2) return false;
    candidate.support = own_backed / own_length;
    if (candidate.support < (candidate.frame_sides > 0 ? least_cut_support : least_support)) return false;
    const double aspect = rectangle_aspect(corner.data(), {w / 2, h / 2});
    if (aspect > 2.6) return false;
    if (area < portrait_area * w * h) {
        // Inside a crop the portrait is a clear rectangle too, upright where the document is landscape.
        const double across = std::hypot(corner[1].x - corner[0].x, corner[1].y - corner[0].y);
        const double down = std::hypot(corner[3].x - corner[0].x, corner[3].y - corner[0].y);
        if (aspect < portrait_aspect || (down > across && w > h)) return false;
    }
    double prior = 0.5;  // a document cut off by the frame may show any shape
    if (candidate.frame_sides == 0) {
        prior = 0;
        for (const double known : {1.586, 1.42})  // ISO/IEC 7810: ID-1; ID-2 and ID-3
            prior = std::max(prior, std::exp(-std::pow((aspect - known) / 0.12, 2)));
    }
    candidate.score = backed / length * std::pow(area / (w * h), 0.2) * (0.9 + 0.1 * prior) - 0.7 * overshoot;
    return true;
}

bool best_quad(const std::vector<Line> &lines, const EdgeMap &map, Candidate &best) {
    struct Pair {
        const Line *first, *second;  // first is nearer to the top (or left)
        double nx, ny;
    };
    const double apart = 0.2 * std::min(map.size.width, map.size.height);
    std::vector<Pair> horizontal, vertical;
    const cv::Point2d centre(map.size.width / 2.0, map.size.height / 2.0);
    for (size_t i = 0; i < lines.size(); ++i) {
        for (size_t j = i + 1; j < lines.size(); ++j) {
            const Line *a = &lines[i], *b = &lines[j];
            const double dot = a->nx * b->nx + a->ny * b->ny;
            if (std::abs(dot) < 0.85 || (a->frame && b->frame)) continue;
            const double sign = dot < 0 ? -1 : 1;
            double nx = a->nx + sign * b->nx, ny = a->ny + sign * b->ny;
            const double norm = std::hypot(nx, ny);
            nx /= norm, ny /= norm;
            const bool level = std::abs(ny) > std::abs(nx);
            if ((level ? ny : nx) < 0) nx = -nx, ny = -ny;
            // Signed distances of the lines from the image's centre along the common normal.
            const auto distance = [&](const Line *line) {
                const double s = line->nx * nx + line->ny * ny < 0 ? -1 : 1;
                return s * (line->rho - line->nx * centre.x - line->ny * centre.y);
            };
            const double da = distance(a), db = distance(b);
            if (std::abs(da - db) < apart) continue;
            (level ? horizontal : vertical).push_back(da < db ? Pair{a, b, nx, ny} : Pair{b, a, nx, ny});
        }
    }
    bool found = false;
    const double w = map.size.width - 1, h = map.size.height - 1;
    for (const Pair &rows : horizontal) {
        for (const Pair &columns : vertical) {
            if (std::abs(rows.nx * columns.nx + rows.ny * columns.ny) > 0.6) continue;
            // Clockwise from the top left: top, right, bottom, left. Corner i joins side i-1 and side i.
            Candidate candidate;
            if (!judge({rows.first, columns.second, rows.second, columns.first}, map, candidate)) continue;
            if (!found || candidate.score > best.score) best = candidate, found = true;
        }
    }
    if (!found) return false;
    const cv::Point2d frame[4] = {{0, 0}, {w, 0}, {w, h}, {0, h}};
    for (int i = 0; i < 4; ++i)
        if (std::hypot(best.corners[i].x - frame[i].x, best.corners[i].y - frame[i].y) >
            crop_tolerance * std::max(w, h))
            return true;
    return false;
}

}  // namespace

}  // namespace cvision

extern "C" cv_status cv_document_outline(const cv_image *image, cv_outline *outline, bool *found, cv_error *error) {
    using namespace cvision;
    *found = false;
    return guard(error, [&] {
        const cv::Size full = image->bgr.size();
        if (std::min(full.width, full.height) < 32 ||
            std::max(full.width, full.height) > 8 * std::min(full.width, full.height))
            return CV_OK;  // no document has such a shape
        const cv::Mat &small = image->small();
        const EdgeMap map = find_edges(small);
        const std::vector<Line> lines = find_lines(map);
        Candidate best;
        if (!best_quad(lines, map, best)) return CV_OK;

        outline->support = std::min(1.0, best.support);
        outline->corners_outside = 0;
        const double fx = static_cast<double>(full.width) / small.cols,
                     fy = static_cast<double>(full.height) / small.rows;
        std::array<cv::Point2d, 4> corners;
        for (int i = 0; i < 4; ++i) {
            corners[i] = {(best.corners[i].x + 0.5) * fx - 0.5, (best.corners[i].y + 0.5) * fy - 0.5};
            const double border = 0.006 * std::max(full.width, full.height);
            if (corners[i].x < border || corners[i].y < border || corners[i].x > full.width - 1 - border ||
                corners[i].y > full.height - 1 - border)
                ++outline->corners_outside;
            outline->corners[i] = {corners[i].x, corners[i].y};
        }
        outline->aspect_ratio = rectangle_aspect(corners.data(), {full.width / 2.0, full.height / 2.0});
        *found = true;
        return CV_OK;
    });
}
