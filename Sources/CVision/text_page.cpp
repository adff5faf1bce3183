// Lines of text on a straightened document: dark strokes on lighter paper, chained from left to right.
#include "text_page.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "components.hpp"
#include "document.hpp"
#include "image.hpp"

namespace cvision {
namespace {

constexpr double longest_side = 1400;  // px: capitals of 1.5 mm on an ID-3 page are 17 px high then
constexpr double least_side =
    1200;  // px: smaller pages are magnified to it, twice at most: labels are half as high as values
constexpr double most_magnified = 2;
constexpr int paper_kernel = 31;  // px: wider than any stroke of the text
constexpr int least_height = 8;   // px of a character: smaller text is not legible
constexpr int most_height = 64;   // px: titles; larger is no field
constexpr int least_ink = 22;     // of 255: text is at least this much darker than its paper

struct Mark {
    cv::Rect box;
    int line = -1;
};

/// How much darker than the paper around it each pixel is.
cv::Mat ink_of(const cv::Mat &gray) {
    cv::Mat smooth, paper;
    cv::GaussianBlur(gray, smooth, {3, 3}, 0.7);
    cv::morphologyEx(smooth, paper, cv::MORPH_CLOSE,
                     cv::getStructuringElement(cv::MORPH_RECT, {paper_kernel, paper_kernel}));
    return paper - smooth;
}

/// A threshold between the background's texture and the text (Otsu over all but plain paper).
double ink_threshold(const cv::Mat &ink) {
    std::vector<uint8_t> inked;
    inked.reserve(ink.total() / 4);
    for (int y = 0; y < ink.rows; y += 2) {
        const uint8_t *row = ink.ptr<uint8_t>(y);
        for (int x = 0; x < ink.cols; x += 2)
            if (row[x] >= least_ink / 2) inked.push_back(row[x]);
    }
    if (inked.empty()) return 255;
    cv::Mat ignored;
    const double split = cv::threshold(cv::Mat(inked), ignored, 0, 255, cv::THRESH_BINARY | cv::THRESH_OTSU);
    return std::max<double>(least_ink, 0.8 * split);
}

std::vector<Mark> find_marks(const cv::Mat &strokes) {
    std::vector<Mark> marks;
    for (const Component &stroke : components_of(strokes)) {
        const cv::Rect &box = stroke.box;
        if (box.height < least_height || box.height > most_height) continue;
        // Characters that touch make wide marks; rules and frames are wider still, and thin.
        if (box.width > 8 * box.height || stroke.area < 0.08 * box.area() || stroke.area < 12) continue;
        marks.push_back({box});
    }
    std::sort(marks.begin(), marks.end(),
              [](const Mark &a, const Mark &b) { return a.box.x != b.box.x ? a.box.x < b.box.x : a.box.y < b.box.y; });
    return marks;
}

bool continues(const cv::Rect &left, const cv::Rect &right) {
    const int overlap = std::min(left.br().y, right.br().y) - std::max(left.y, right.y);
    const int lower = std::min(left.height, right.height), higher = std::max(left.height, right.height);
    if (overlap < 0.6 * lower || higher > 1.9 * lower) return false;
    const int gap = right.x - left.br().x;
    return gap < 1.1 * higher && gap > -0.5 * lower;
}

int root(std::vector<int> &parents, int i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

std::vector<cv_text_line> chain(const std::vector<Mark> &marks) {
    std::vector<int> parents(marks.size());
    std::iota(parents.begin(), parents.end(), 0);
    for (size_t i = 0; i < marks.size(); ++i) {
        // To the nearest mark on its right; sorting bounds the search.
        for (size_t j = i + 1; j < marks.size(); ++j) {
            if (marks[j].box.x > marks[i].box.br().x + 1.1 * most_height) break;
            if (!continues(marks[i].box, marks[j].box)) continue;
            parents[root(parents, static_cast<int>(j))] = root(parents, static_cast<int>(i));
            break;
        }
    }
    std::vector<std::vector<int>> groups(marks.size());
    for (size_t i = 0; i < marks.size(); ++i) groups[root(parents, static_cast<int>(i))].push_back(static_cast<int>(i));
    std::vector<cv_text_line> lines;
    for (const std::vector<int> &group : groups) {
        if (group.size() < 2) continue;
        std::vector<int> heights;
        cv::Rect box = marks[group.front()].box;
        for (const int i : group) {
            heights.push_back(marks[i].box.height);
            box |= marks[i].box;
        }
        std::sort(heights.begin(), heights.end());
        const int height = heights[heights.size() * 3 / 4];
        // A chain that wanders is texture, and one hardly wider than high is no word.
        if (box.height > 2.2 * height || box.width < 1.6 * height) continue;
        cv_text_line line{};
        line.x = box.x, line.y = box.y, line.width = box.width, line.height = box.height;
        line.character_height = height;
        line.marks = static_cast<int32_t>(group.size());
        lines.push_back(line);
    }
    return lines;
}

/// Whether letters that touch, and so are no marks, fill the gap between two lines on one row.
bool is_inked(const cv::Mat &strokes, const cv_text_line &left, const cv_text_line &right) {
    const int from = cvRound(left.x + left.width), to = cvRound(right.x);
    const int top = cvRound(std::max(left.y, right.y));
    const int bottom = cvRound(std::min(left.y + left.height, right.y + right.height));
    if (to <= from || bottom <= top) return to <= from && bottom > top;
    const cv::Mat gap =
        strokes(cv::Rect(from, top, to - from, bottom - top) & cv::Rect(0, 0, strokes.cols, strokes.rows));
    int inked = 0;
    for (int x = 0; x < gap.cols; ++x) inked += cv::countNonZero(gap.col(x)) > 0;
    // Blanks and short words: a field in the next column leaves all of it blank.
    return inked > 0.25 * gap.cols;
}

/// Joins lines that a wide blank, or a word without marks, has split.
void join(std::vector<cv_text_line> &lines, const cv::Mat &strokes) {
    const auto follows = [&](const cv_text_line &left, const cv_text_line &right) {
        const double lower = std::min(left.height, right.height),
                     size = std::max(left.character_height, right.character_height);
        const double overlap = std::min(left.y + left.height, right.y + right.height) - std::max(left.y, right.y);
        const double gap = right.x - (left.x + left.width);
        return overlap > 0.6 * lower && size < 1.5 * std::min(left.character_height, right.character_height) &&
               gap > -0.5 * size && (gap < 1.8 * size || (gap < 6 * size && is_inked(strokes, left, right)));
    };
    for (size_t i = 0; i < lines.size(); ++i)
        for (size_t j = 0; j < lines.size(); ++j) {
            if (i == j || lines[j].x < lines[i].x || !follows(lines[i], lines[j])) continue;
            cv_text_line &left = lines[i];
            const cv_text_line &right = lines[j];
            const double gap = right.x - (left.x + left.width),
                         bottom = std::max(left.y + left.height, right.y + right.height);
            left.marks += right.marks + std::max(0, cvRound(gap / std::max(1.0, left.character_height)));
            left.width = right.x + right.width - left.x;
            left.y = std::min(left.y, right.y), left.height = bottom - left.y;
            left.character_height = std::max(left.character_height, right.character_height);
            lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(j));
            i = static_cast<size_t>(-1);
            break;
        }
}

/// Adds to a line the letters at its ends that are not separate marks, because they touch a rule, are broken or are faint: they
/// stand within a blank of it, on its row alone.
class Ends {
public:
    /// - `portraits`: where letters were erased as parts of portraits, or an empty matrix.
    Ends(const cv::Mat &ink, double threshold, cv::Mat portraits)
        : faint(ink > 0.6 * threshold), portraits(std::move(portraits)) {}

    void extend(std::vector<cv_text_line> &lines) const {
        for (cv_text_line &line : lines) {
            const double right = reach(line, lines, 1), left = reach(line, lines, -1);
            line.marks += static_cast<int32_t>((left + right) / (0.8 * line.character_height));
            line.x -= left;
            line.width += left + right;
        }
    }

private:
    cv::Mat faint, portraits;

    /// How far the letters next to `line` reach to the right (`way` 1) or left (-1).
    double reach(const cv_text_line &line, const std::vector<cv_text_line> &lines, int way) const {
        const int height = cvRound(line.character_height), top = cvRound(line.y);
        const int bottom = std::min(cvRound(line.y + line.height), faint.rows), room = std::max(2, height / 3);
        const int start = way > 0 ? cvRound(line.x + line.width) : cvRound(line.x) - 1;
        const int blank = height, most = 8 * height;
        const bool is_cut = way < 0 && is_beside_portrait(start - blank, start, (top + bottom) / 2);
        int end = start, run = 0, empty = 0, own = 0, around = 0, high = bottom, low = top;
        for (int x = start; x >= 0 && x < faint.cols && std::abs(x - start) < most; x += way) {
            if (is_other(x, top, bottom, line, lines)) break;
            const int inked = count(x, top, bottom);
            if (inked > 0) {
                own += inked, ++run;
                if (!is_cut) empty = 0;
                for (int y = top; y < bottom; ++y)
                    if (faint.at<uint8_t>(y, x) != 0) high = std::min(high, y), low = std::max(low, y);
                around += count(x, top - room, top - 1) + count(x, bottom + 1, bottom + room);
                // A rule, or texture: letters end.
                if (run > 2 * height) break;
                continue;
            }
            if (run > 0) {
                if (2 * around > own) break;
                // A field's number before its value is smaller. If a portrait cut the line, a full stop, a hyphen or the edge
                // of its own letter ends nothing.
                const bool is_point = is_cut && empty <= height / 2 && run <= height / 2 && low - high < 0.35 * height;
                const bool is_edge = is_cut && run <= 2 && std::abs(x - start) == run;
                if (own >= height && low - high >= 0.6 * height) end = x, empty = 0;
                else if (is_point) empty = std::max(empty, blank - height / 2);
                else if (!is_edge) break;
                run = own = around = 0, high = bottom, low = top;
            }
            if (++empty > blank) break;
        }
        return std::abs(end - start);
    }

    bool is_beside_portrait(int from, int to, int y) const {
        if (portraits.empty() || y < 0 || y >= portraits.rows) return false;
        from = std::max(from, 0), to = std::min(to, portraits.cols - 1);
        return from <= to && cv::countNonZero(portraits(cv::Rect(from, y, to - from + 1, 1))) > 0;
    }

    int count(int x, int from, int to) const {
        int inked = 0;
        for (int y = std::max(0, from); y < std::min(to, faint.rows); ++y) inked += faint.at<uint8_t>(y, x) != 0;
        return inked;
    }

    static bool is_other(int x, int top, int bottom, const cv_text_line &own, const std::vector<cv_text_line> &lines) {
        return std::any_of(lines.begin(), lines.end(), [&](const cv_text_line &line) {
            return &line != &own && x >= line.x && x < line.x + line.width && line.y < bottom &&
                   line.y + line.height > top;
        });
    }
};

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_text_page_create(const cv_image *image, const cv_point *corners, const cv_point *ignored,
                                         int32_t ignored_count, int32_t portrait_count, double wanted_side,
                                         cv_text_page **page, cv_error *error) {
    using namespace cvision;
    *page = nullptr;
    return guard(error, [&] {
        auto made = std::make_unique<cv_text_page>();
        const cv::Size2d native = quad_size(corners);
        const double side = std::max({native.width, native.height, 1.0});
        const double scale = wanted_side > 0
                                 ? std::min({wanted_side / side, longest_side / side, most_magnified})
                                 : std::min(std::clamp(least_side / side, 1.0, most_magnified), longest_side / side);
        const cv::Size size(std::max(16, cvRound(native.width * scale)), std::max(16, cvRound(native.height * scale)));
        // A large image is averaged down first: the warp alone would skip pixels.
        const int reduction = image->reduction();
        if (wanted_side > 0 && scale < 1) {
            const double longer = std::max(image->gray.cols, image->gray.rows);
            const cv::Mat &gray = image->gray_at(std::max(16, cvRound(scale * longer)));
            const double factor = std::max(gray.cols, gray.rows) / longer;
            cv_point smaller[4];
            for (int i = 0; i < 4; ++i) smaller[i] = {corners[i].x * factor, corners[i].y * factor};
            made->gray = rectify(gray, smaller, size, 0);
        } else if (reduction > 1 && scale * reduction <= 1) {
            cv_point smaller[4];
            for (int i = 0; i < 4; ++i) smaller[i] = {corners[i].x / reduction, corners[i].y / reduction};
            cv::cvtColor(rectify(image->reduced(), smaller, size, 0), made->gray, cv::COLOR_BGR2GRAY);
        } else {
            made->gray = rectify(image->gray, corners, size, 0);
        }
        cv::Mat ink = ink_of(made->gray);
        const cv::Matx33d back = from_rectified(corners, size), flat = back.inv();
        const auto map = [](const cv::Matx33d &m, double x, double y) {
            const cv::Vec3d p = m * cv::Vec3d(x, y, 1);
            return cv_point{p[0] / p[2], p[1] / p[2]};
        };
        cv::Mat with_portraits = ink, portraits;
        for (int32_t i = 0; i < ignored_count; ++i) {
            // A portrait's surroundings may hold the first letters of the values next to it.
            const bool is_portrait = i >= ignored_count - portrait_count;
            if (i == ignored_count - portrait_count)
                with_portraits = ink.clone(), portraits = cv::Mat::zeros(ink.size(), CV_8UC1);
            std::vector<cv::Point> polygon;
            for (int k = 0; k < 4; ++k) {
                const cv_point p = map(flat, ignored[4 * i + k].x, ignored[4 * i + k].y);
                polygon.emplace_back(cvRound(std::clamp(p.x, -1e6, 1e6)), cvRound(std::clamp(p.y, -1e6, 1e6)));
            }
            cv::fillConvexPoly(ink, polygon, cv::Scalar(0));
            if (is_portrait) cv::fillConvexPoly(portraits, polygon, cv::Scalar(255));
        }
        const double threshold = ink_threshold(ink);
        const cv::Mat strokes = ink > threshold;
        made->lines = chain(find_marks(strokes));
        join(made->lines, strokes);
        Ends(with_portraits, threshold, portraits).extend(made->lines);
        join(made->lines, strokes);
        // From top to bottom.
        std::sort(made->lines.begin(), made->lines.end(),
                  [](const cv_text_line &a, const cv_text_line &b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
        if (made->lines.size() > CV_TEXT_MAX_LINES) made->lines.resize(CV_TEXT_MAX_LINES);
        for (cv_text_line &line : made->lines) {
            line.quad[0] = map(back, line.x, line.y);
            line.quad[1] = map(back, line.x + line.width, line.y);
            line.quad[2] = map(back, line.x + line.width, line.y + line.height);
            line.quad[3] = map(back, line.x, line.y + line.height);
        }
        *page = made.release();
        return CV_OK;
    });
}

extern "C" void cv_text_page_free(cv_text_page *page) { delete page; }

extern "C" void cv_text_page_size(const cv_text_page *page, double *width, double *height) {
    *width = page->gray.cols;
    *height = page->gray.rows;
}

extern "C" int32_t cv_text_page_count(const cv_text_page *page) { return static_cast<int32_t>(page->lines.size()); }

extern "C" cv_text_line cv_text_page_line(const cv_text_page *page, int32_t index) {
    return page->lines.at(static_cast<size_t>(index));
}
