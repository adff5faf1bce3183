// Measures for copies and damaged documents: colour without the lamp's tint, and missing corners.
#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "document.hpp"
#include "image.hpp"

namespace cvision {
namespace {

constexpr double least_difference = 25;  // of 255: a table that differs less from the document cannot be distinguished

constexpr double most_unevenness = 60;  // of 255: between parts of one table, because of light and pattern

}  // namespace

double balanced_chroma(const cv::Mat &smooth) {
    cv::Mat gray;
    cv::cvtColor(smooth, gray, cv::COLOR_BGR2GRAY);
    const cv::Mat light = gray >= cv::mean(gray)[0];
    std::vector<cv::Mat> channels;
    cv::split(smooth, channels);
    std::array<double, 3> paper;
    // The median over the lighter half of the document: its paper.
    for (int i = 0; i < 3; ++i) paper[i] = std::max(1.0, percentile(channels[i], light, 0.5));
    const double level = (paper[0] + paper[1] + paper[2]) / 3;
    for (int i = 0; i < 3; ++i) channels[i].convertTo(channels[i], CV_8U, level / paper[i]);
    const cv::Mat high = cv::max(cv::max(channels[0], channels[1]), channels[2]);
    const cv::Mat spread = high - cv::min(cv::min(channels[0], channels[1]), channels[2]);
    // The colour of saturated pixels is unknown.
    const cv::Mat known = high < 255;
    return cv::countNonZero(known) > 0 ? percentile(spread, known, 0.95) : 0;
}

double missing_corner(const cv::Mat &view, cv::Size document, int margin) {
    const double side = std::max(document.width, document.height);
    const auto at = [&](double share) { return static_cast<int>(std::lround(share * side)); };
    if (margin < at(0.03) || side < 200) return -1;
    const auto mean = [&](const cv::Rect &box, int corner, const auto &belongs) {
        // u and v run from the corner along the document's sides; outside they are negative.
        std::array<double, 3> sum{};
        int count = 0;
        for (int v = box.y; v < box.br().y; ++v) {
            for (int u = box.x; u < box.br().x; ++u) {
                if (!belongs(u, v)) continue;
                const int x = margin + (corner == 1 || corner == 2 ? document.width - 1 - u : u);
                const int y = margin + (corner >= 2 ? document.height - 1 - v : v);
                if (x < 0 || y < 0 || x >= view.cols || y >= view.rows) continue;
                const cv::Vec3b &pixel = view.at<cv::Vec3b>(y, x);
                for (int i = 0; i < 3; ++i) sum[i] += pixel[i];
                ++count;
            }
        }
        return cv::Vec3d(sum[0], sum[1], sum[2]) / std::max(1, count);
    };
    const auto all = [](int, int) { return true; };
    const int out = at(0.03), gap = at(0.012);
    std::array<cv::Vec3d, 4> tables;
    for (int corner = 0; corner < 4; ++corner)
        tables[corner] = mean({-out, -out, out + at(0.1), out + at(0.1)}, corner,
                              [&](int u, int v) { return u < -gap || v < -gap; });
    double worst = -1;
    for (int corner = 0; corner < 4; ++corner) {
        // A finger at a corner is another colour than the table at the others.
        const cv::Vec3d &table = tables[corner];
        int alike = 0;
        for (const cv::Vec3d &other : tables) alike += cv::norm(table - other) < most_unevenness;
        if (alike < 3) continue;
        const int near = at(0.072), from = at(0.043), rim = at(0.005);
        // Inside the rounding of ISO/IEC 7810 (radius 3.18 mm), where scissors would cut.
        const cv::Vec3d tip =
            mean({rim, rim, near, near}, corner, [&](int u, int v) { return u + v > from && u + v < near; });
        const cv::Vec3d across = mean({at(0.16), at(0.01), at(0.12), at(0.05)}, corner, all);
        const cv::Vec3d down = mean({at(0.01), at(0.16), at(0.05), at(0.12)}, corner, all);
        const double apart = std::min(cv::norm(across - table), cv::norm(down - table));
        if (apart < least_difference) continue;
        worst = std::max(worst, std::clamp(1 - cv::norm(tip - table) / apart, 0.0, 1.0));
    }
    return worst;
}

}  // namespace cvision
