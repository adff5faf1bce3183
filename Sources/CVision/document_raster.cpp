// Periodic patterns that no genuine document has: the pixels of a screen, and the dots of offset printing.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "document.hpp"

namespace cvision {
namespace {

constexpr int side = 256;          // px of a patch, at the image's own resolution
constexpr int lowest = 40;         // cycles in a patch: coarser patterns are the document's own
constexpr int highest = 120;       // finer ones are sampling
constexpr float least_peak = 3.5;  // ln of power over its surroundings, for a peak to belong to a raster

struct Peak {
    double radius, angle, height;  // cycles in a patch; degrees, 0 to 180; ln of power over the surroundings
};

/// Spectrum over its own surroundings: half of the plane, with the lowest row frequency in the middle.
cv::Mat relief(const cv::Mat &gray, const cv::Mat &window) {
    cv::Mat patch, spectrum, smooth, surroundings;
    gray.convertTo(patch, CV_32F);
    patch -= cv::mean(patch);
    // OpenCV's packed format: a real image's spectrum is symmetric. Columns 2u - 1 and 2u hold the parts of frequency u; the
    // first column holds those of u = 0 by rows.
    cv::dft(patch.mul(window), spectrum);
    const auto square = [](float a, float b) { return a * a + b * b; };
    cv::Mat half(side, side / 2, CV_32F);
    for (int v = 0; v < side; ++v) {
        const int mirrored = std::min(v, side - v);
        const float real = spectrum.at<float>(std::max(0, 2 * mirrored - 1), 0);
        const bool is_real = mirrored == 0 || mirrored == side / 2;
        const float *from = spectrum.ptr<float>(v);
        float *to = half.ptr<float>((v + side / 2) % side);
        to[0] = square(real, is_real ? 0 : spectrum.at<float>(2 * mirrored, 0));
        for (int u = 1; u < side / 2; ++u) to[u] = square(from[2 * u - 1], from[2 * u]);
    }
    cv::blur(half, smooth, {3, 3});
    cv::log(smooth + 1, smooth);
    cv::blur(smooth, surroundings, {21, 21});
    return smooth - surroundings;
}

/// Local maxima, and in `best` the highest of them away from the axes, where text and JPEG blocks have theirs.
std::vector<Peak> find_peaks(const cv::Mat &relief, double &best) {
    std::vector<Peak> peaks;
    best = 0;
    for (int v = 12; v < side - 12; ++v) {
        for (int u = 2; u < side / 2 - 2; ++u) {
            const int dv = v - side / 2, square = u * u + dv * dv;
            if (square < lowest * lowest || square > highest * highest) continue;
            const float height = relief.at<float>(v, u);
            if (std::abs(dv) >= 3) best = std::max(best, static_cast<double>(height));
            if (height < least_peak) continue;
            double top;
            cv::minMaxLoc(relief(cv::Rect(u - 2, v - 2, 5, 5)), nullptr, &top);
            if (height < top) continue;
            peaks.push_back({std::sqrt(static_cast<double>(square)),
                             std::fmod(std::atan2(dv, u) * 180 / CV_PI + 180, 180), height});
        }
    }
    return peaks;
}

/// Whether inks were printed as dots on grids at different angles. The pixels of a screen form one grid, whose peaks of equal
/// distance are at right angles; the grids of printing inks differ by 15, 30 or 45 degrees (ISO 12647-2).
bool has_turned_grids(std::vector<Peak> peaks) {
    std::sort(peaks.begin(), peaks.end(), [](const Peak &a, const Peak &b) { return a.height > b.height; });
    if (peaks.size() > 24) peaks.resize(24);
    for (size_t i = 0; i < peaks.size(); ++i) {
        for (size_t j = i + 1; j < peaks.size(); ++j) {
            if (std::abs(peaks[i].radius - peaks[j].radius) > 0.06 * peaks[i].radius) continue;
            const double apart = std::fmod(std::abs(peaks[i].angle - peaks[j].angle), 90);
            if (apart > 12 && apart < 78) return true;
        }
    }
    return false;
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

Raster find_raster(const cv::Mat &gray, const cv::Rect &document) {
    if (document.width < side || document.height < side) return {};
    static const cv::Mat window = [] {
        cv::Mat made;
        cv::createHanningWindow(made, {side, side}, CV_32F);
        return made;
    }();
    std::vector<double> heights;
    int turned = 0;
    const int columns = std::clamp(document.width / side, 1, 4), rows = std::clamp(document.height / side, 1, 3);
    // Of three patches in each row and column one suffices, unless peaks stand out of any of those.
    for (const int first : {0, 1, 2}) {
        for (int row = 0; row < rows; ++row) {
            for (int column = (row + first) % 3; column < columns; column += 3) {
                const int x = document.x + (columns == 1 ? 0 : (document.width - side) * column / (columns - 1));
                const int y = document.y + (rows == 1 ? 0 : (document.height - side) * row / (rows - 1));
                double best;
                const std::vector<Peak> peaks = find_peaks(relief(gray(cv::Rect(x, y, side, side)), window), best);
                heights.push_back(best);
                turned += has_turned_grids(peaks) ? 1 : 0;
            }
        }
        if (*std::max_element(heights.begin(), heights.end()) < least_peak) break;
    }
    return {median_of(heights), static_cast<double>(turned) / static_cast<double>(heights.size())};
}

}  // namespace cvision
