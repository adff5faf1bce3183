#include "mrz_strip.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "image.hpp"

namespace cvision::mrz {
namespace {

constexpr double patch_pitch = 20;  // above this many pixels per cell a patch is reduced

/// Subtracts the mean and divides by the deviation of windows of 65 columns (reader_data.py: normalise).
Tensor normalised(const cv::Mat &strip) {
    cv::Mat f, mean, square;
    strip.convertTo(f, CV_32F);
    cv::reduce(f, mean, 0, cv::REDUCE_AVG);
    cv::reduce(f.mul(f), square, 0, cv::REDUCE_AVG);
    cv::blur(mean, mean, {65, 1}, {-1, -1}, cv::BORDER_REPLICATE);
    cv::blur(square, square, {65, 1}, {-1, -1}, cv::BORDER_REPLICATE);
    Tensor out(1, strip.rows, strip.cols);
    for (int x = 0; x < strip.cols; ++x) {
        const float m = mean.at<float>(x), deviation = std::sqrt(std::max(0.0f, square.at<float>(x) - m * m)) + 3;
        for (int y = 0; y < strip.rows; ++y) {
            out.values[size_t(y) * strip.cols + x] = (f.at<float>(y, x) - m) / deviation;
        }
    }
    return out;
}

}  // namespace

Patch Patch::around(const cv::Mat &gray, const std::vector<LineModel> &lines) {
    double x0 = INFINITY, y0 = INFINITY, x1 = -INFINITY, y1 = -INFINITY, pitch = INFINITY;
    for (const LineModel &line : lines) {
        pitch = std::min(pitch, line.along.b);
        for (double i : {-8.0, line.cells / 2, line.cells + 8}) {
            for (double rise : {-5 * line.height, 5 * line.height}) {
                const cv::Point2d p = line.at(i, rise);
                x0 = std::min(x0, p.x);
                y0 = std::min(y0, p.y);
                x1 = std::max(x1, p.x);
                y1 = std::max(y1, p.y);
            }
        }
    }
    const cv::Rect box =
        cv::Rect(int(x0), int(y0), int(x1 - x0) + 2, int(y1 - y0) + 2) & cv::Rect(0, 0, gray.cols, gray.rows);
    Patch patch;
    patch.offset = {double(box.x), double(box.y)};
    if (pitch <= patch_pitch || box.empty()) {
        patch.pixels = gray(box);
        return patch;
    }
    const double scale = patch_pitch / pitch;
    const cv::Size size(std::max(1, int(std::lround(box.width * scale))),
                        std::max(1, int(std::lround(box.height * scale))));
    patch.pixels = averaged(gray(box), size);
    patch.scale_x = double(size.width) / box.width;
    patch.scale_y = double(size.height) / box.height;
    return patch;
}

Columns read_strip(const Patch &patch, const LineModel &line, double cells) {
    const int width = int(std::ceil(cells + 2 * strip_margin)) * int(strip_pitch);
    cv::Mat map_x(strip_rows, width, CV_32F), map_y(strip_rows, width, CV_32F);
    const double rise = line.height / strip_letter;
    for (int x = 0; x < width; ++x) {
        const cv::Point2d centre = line.at(cell_at(x)), down = line.down();
        for (int y = 0; y < strip_rows; ++y) {
            const cv::Point2f p = patch.to_patch(centre + (y - strip_rows / 2) * rise * down);
            map_x.at<float>(y, x) = p.x;
            map_y.at<float>(y, x) = p.y;
        }
    }
    cv::Mat strip;
    cv::remap(patch.pixels, strip, map_x, map_y, cv::INTER_LINEAR, cv::BORDER_REPLICATE);
    return columns_of(run_reader(normalised(strip)));
}

double edge_width(const cv::Mat &gray, const LineModel &line, int cells) {
    // At native resolution: samples one image pixel apart along three rows through the letters.
    const double pitch = line.pitch();
    std::vector<double> widths;
    double strongest = 0;
    for (const bool counting : {false, true}) {
        for (const double part : {-0.22, 0.0, 0.22}) {
            std::vector<double> row;
            for (double i = -0.5; i < cells - 0.5; i += 1 / pitch) {
                const cv::Point2d p = line.at(i, part * line.height);
                const int x = std::clamp(int(p.x), 0, gray.cols - 2), y = std::clamp(int(p.y), 0, gray.rows - 2);
                const double fx = std::clamp(p.x - x, 0.0, 1.0), fy = std::clamp(p.y - y, 0.0, 1.0);
                row.push_back((1 - fy) * ((1 - fx) * gray.at<uint8_t>(y, x) + fx * gray.at<uint8_t>(y, x + 1)) +
                              fy * ((1 - fx) * gray.at<uint8_t>(y + 1, x) + fx * gray.at<uint8_t>(y + 1, x + 1)));
            }
            // Monotonic runs are edges; those with at least half of the strongest contrast count.
            for (size_t i = 1; i < row.size();) {
                size_t end = i;
                double steepest = 0;
                const bool up = row[i] >= row[i - 1];
                while (end < row.size() && (row[end] >= row[end - 1]) == up) {
                    steepest = std::max(steepest, std::abs(row[end] - row[end - 1]));
                    ++end;
                }
                const double contrast = std::abs(row[end - 1] - row[i - 1]);
                if (!counting) {
                    strongest = std::max(strongest, contrast);
                } else if (contrast > 0.5 * strongest && steepest > 0) {
                    widths.push_back(0.8 * contrast / steepest);
                }
                i = end;
            }
        }
    }
    if (widths.empty() || pitch <= 0) {
        return 0;
    }
    std::nth_element(widths.begin(), widths.begin() + widths.size() / 2, widths.end());
    return widths[widths.size() / 2] / pitch;
}

}  // namespace cvision::mrz
