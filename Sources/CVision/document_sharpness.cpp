// Sharpness and exposure of a document. The rules (InspectCore) have the limits.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "document.hpp"
#include "image.hpp"

namespace cvision {
namespace {

constexpr int reference_width = 1000;  // px of document width at which sharpness is compared
constexpr int least_view = 8;          // px: a side of the view at least
constexpr int widest_view = 1600;      // px; at this width, edges wider than one pixel are blur, not sampling
constexpr int fewest_lines = 70;       // along which edges are looked at: the median over more of them is the same

/// Widths of the strong edges along the rows of `lines` (CV_8U): a monotone run's rise over its steepest step.
double edge_width_along_rows(const cv::Mat &lines, double least_rise) {
    std::vector<float> widths;
    for (int y = 0; y < lines.rows; ++y) {
        const uint8_t *p = lines.ptr<uint8_t>(y);
        int start = 0, steepest = 0, direction = 0;
        const auto close = [&](int end) {
            const int rise = std::abs(p[end] - p[start]);
            if (rise >= least_rise && steepest > 0)
                widths.push_back(static_cast<float>(rise) / static_cast<float>(steepest));
        };
        for (int x = 1; x < lines.cols; ++x) {
            const int step = p[x] - p[x - 1];
            const int sign = step > 0 ? 1 : step < 0 ? -1 : direction;
            if (sign != direction) {
                close(x - 1);
                start = x - 1, steepest = 0, direction = sign;
            }
            steepest = std::max(steepest, std::abs(step));
        }
        close(lines.cols - 1);
    }
    if (widths.size() < 50) return 0;
    const auto middle = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2);
    std::nth_element(widths.begin(), middle, widths.end());
    return *middle;
}

/// Median edge width on the blurrier of the two axes: a hand that moves sideways leaves horizontal edges sharp.
///
/// Only some rows and columns of the straightened document are made, of an image that was smoothed before.
///
/// - Parameters:
///   - core: Of the view, what is measured.
///   - to_source: Maps the view's pixels to those of `gray`.
double edge_width(const cv::Mat &gray, const cv::Rect &core, const cv::Matx33d &to_source) {
    cv::Mat smooth;
    cv::GaussianBlur(gray, smooth, {3, 3}, 0.8);
    const auto stride = [](int count) { return std::max(2, count / fewest_lines); };
    const double down = stride(core.height), right = stride(core.width);
    const cv::Matx33d row(1, 0, core.x, 0, down, core.y, 0, 0, 1), column(0, right, core.x, 1, 0, core.y, 0, 0, 1);
    const cv::Mat rows = warped(smooth, to_source * row, {core.width, cvCeil(core.height / down)});
    const cv::Mat columns = warped(smooth, to_source * column, {core.height, cvCeil(core.width / right)});
    const std::array<int, 256> histogram = histogram_of(rows, {});
    const double range = percentile(histogram, 0.98) - percentile(histogram, 0.02);
    const double least_rise = std::max(12.0, 0.3 * range);
    return std::max(edge_width_along_rows(rows, least_rise), edge_width_along_rows(columns, least_rise));
}

/// How much the strong gradients of an image share one direction: coherence of the structure tensor (Bigün and Granlund 1987),
/// 0 to 1. Text has strokes in every direction; motion blur removes the edges across the movement.
double coherence(const cv::Mat &gray, const cv::Mat &inside) {
    cv::Mat smooth;
    cv::GaussianBlur(gray, smooth, {5, 5}, 1.2);
    if (smooth.rows < 3 || smooth.cols < 3) return 0;
    // Every fourth row without the border, or its neighbours `x` and `y` away.
    const auto rows = [&](const cv::Mat &of, int x, int y) {
        return cv::Mat((of.rows + 1) / 4, of.cols - 2, CV_8U, const_cast<uint8_t *>(of.ptr(1 + y)) + 1 + x,
                       4 * of.step);
    };
    // The length within 12 %, without a square root: the larger part and half of the smaller, rounded down.
    cv::Mat ax, ay, half;
    cv::absdiff(rows(smooth, 1, 0), rows(smooth, -1, 0), ax);
    cv::absdiff(rows(smooth, 0, 1), rows(smooth, 0, -1), ay);
    cv::Mat(cv::min(ax, ay)).convertTo(half, CV_8U, 0.5, -0.25);
    cv::Mat lengths = cv::max(ax, ay) + half;
    lengths &= rows(inside, 0, 0);
    const double all = cv::countNonZero(rows(inside, 0, 0));
    const std::array<int, 256> histogram = histogram_of(lengths, {});
    int64_t seen = 0;
    int strongest = 255;
    for (; strongest > 0; --strongest) {
        seen += histogram[static_cast<size_t>(strongest)];
        if (static_cast<double>(seen) > 0.01 * all) break;
    }
    const cv::Mat weak = lengths < std::max(6, strongest * 3 / 10);
    cv::Mat gx, gy;
    cv::subtract(rows(smooth, 1, 0), rows(smooth, -1, 0), gx, {}, CV_16S);
    cv::subtract(rows(smooth, 0, 1), rows(smooth, 0, -1), gy, {}, CV_16S);
    gx.setTo(0, weak);
    gy.setTo(0, weak);
    const double xx = gx.dot(gx), yy = gy.dot(gy), xy = gx.dot(gy);
    return xx + yy > 0 ? std::hypot(xx - yy, 2 * xy) / (xx + yy) : 0;
}

double laplacian_variance(const cv::Mat &gray, const cv::Mat &inside) {
    cv::Mat laplacian;
    cv::Laplacian(gray, laplacian, CV_16S);
    laplacian.setTo(0, ~inside);
    const double count = std::max(1, cv::countNonZero(inside)), mean = cv::sum(laplacian)[0] / count;
    return laplacian.dot(laplacian) / count - mean * mean;
}

}  // namespace

Sharpness sharpness_of(const cv::Mat &gray, const std::array<cv_point, 4> &corners, bool is_whole) {
    const cv::Size2d native = quad_size(corners.data());
    const double longer = std::max({native.width, native.height, 1.0});
    const double scale = std::min(1.0, widest_view / longer);
    const cv::Size size(std::max(least_view, cvRound(native.width * scale)),
                        std::max(least_view, cvRound(native.height * scale)));
    const cv::Rect core = core_of(size);
    const cv::Matx33d to_source = from_rectified(corners.data(), size);
    std::vector<cv::Point2f> around{cv::Point2f(core.tl()),
                                    {static_cast<float>(core.br().x), static_cast<float>(core.y)},
                                    cv::Point2f(core.br()),
                                    {static_cast<float>(core.x), static_cast<float>(core.br().y)}};
    cv::perspectiveTransform(around, around, to_source);
    // Unlike the widths of edges, the other measures depend on no axes: the document is measured as it lies in the image.
    const cv::Rect box = cv::boundingRect(around) & cv::Rect(cv::Point(), gray.size());
    if (box.empty()) return {};
    Sharpness found;
    const cv::Mat piece = gray(box);
    const cv::Matx33d shift(1, 0, -box.x, 0, 1, -box.y, 0, 0, 1);
    found.edge_width = edge_width(piece, core, shift * to_source) * reference_width / std::max(size.width, size.height);
    cv::Mat reference, fine;
    // Straightening smooths about as much, and the limits were set on straightened documents.
    if (is_whole) fine = piece;
    else cv::GaussianBlur(piece, fine, {3, 3}, 0.5);
    const double reduction = reference_width / std::max<double>(longer, least_view);
    if (reduction < 1) reference = averaged(fine, reduction);
    else cv::resize(fine, reference, {}, reduction, reduction, cv::INTER_LINEAR);
    std::vector<cv::Point> polygon;
    for (const cv::Point2f &p : around)
        polygon.emplace_back(cvRound((p.x - box.x) * reduction), cvRound((p.y - box.y) * reduction));
    cv::Mat inside = cv::Mat::zeros(reference.size(), CV_8U);
    cv::fillConvexPoly(inside, polygon, cv::Scalar(255));
    found.laplacian_variance = laplacian_variance(reference, inside);
    found.coherence = coherence(reference, inside);
    reference &= inside;
    const double count = std::max(1, cv::countNonZero(inside));
    found.brightness = cv::sum(reference)[0] / count;
    found.contrast = std::sqrt(std::max(0.0, reference.dot(reference) / count - found.brightness * found.brightness));
    return found;
}

}  // namespace cvision
