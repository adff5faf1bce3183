#include "document_pixels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace cvision {
namespace {

/// The index of a pixel beyond the border of `count` pixels: the border's own pixel is not repeated.
int reflected(int index, int count) {
    if (count == 1) return 0;
    if (index < 0) return -index;
    return index >= count ? 2 * count - 2 - index : index;
}

/// Strengths of the gradients between the rows around one of `width` pixels, within 12 %, without a square root.
void strengths(const uint8_t *above, const uint8_t *row, const uint8_t *below, int width, uint8_t *to) {
    for (int x = 1; x + 1 < width; ++x) {
        const int16_t gx = static_cast<int16_t>(row[x + 1] - row[x - 1]);
        const int16_t gy = static_cast<int16_t>(below[x] - above[x]);
        const int16_t ax = std::max<int16_t>(gx, static_cast<int16_t>(-gx));
        const int16_t ay = std::max<int16_t>(gy, static_cast<int16_t>(-gy));
        const int16_t length = static_cast<int16_t>(std::max(ax, ay) + std::min(ax, ay) / 2);
        to[x] = static_cast<uint8_t>(std::min<int16_t>(255, length));
    }
}

}  // namespace

std::array<int, 256> spread_histogram(const cv::Mat &bgr, const cv::Mat &mask) {
    const int values = 3 * bgr.cols;
    // Sums of three rows, with a pixel more on both sides; means of nine pixels; differences, of which every third is meant.
    std::vector<uint16_t> sums(static_cast<size_t>(values) + 6);
    std::vector<uint8_t> means(static_cast<size_t>(values) + 2), spreads(static_cast<size_t>(values));
    std::array<std::array<int, 256>, 2> counts{};
    for (int y = 0; y < bgr.rows; ++y) {
        const uint8_t *a = bgr.ptr<uint8_t>(reflected(y - 1, bgr.rows)), *b = bgr.ptr<uint8_t>(y),
                      *c = bgr.ptr<uint8_t>(reflected(y + 1, bgr.rows));
        uint16_t *sum = sums.data() + 3;
        for (int i = 0; i < values; ++i) sum[i] = static_cast<uint16_t>(a[i] + b[i] + c[i]);
        for (int i = 0; i < 3; ++i) {
            sum[i - 3] = sum[3 * reflected(-1, bgr.cols) + i];
            sum[values + i] = sum[3 * reflected(bgr.cols, bgr.cols) + i];
        }
        uint8_t *mean = means.data();
        for (int i = 0; i < values; ++i) {
            // A ninth, rounded: 7,282 / 65,536 is near enough for sums of nine bytes.
            const uint16_t nine = static_cast<uint16_t>(sum[i - 3] + sum[i] + sum[i + 3] + 4);
            mean[i] = static_cast<uint8_t>((static_cast<uint32_t>(nine) * 7282) >> 16);
        }
        uint8_t *spread = spreads.data();
        for (int i = 0; i < values; ++i)
            spread[i] = static_cast<uint8_t>(std::max(std::max(mean[i], mean[i + 1]), mean[i + 2]) -
                                             std::min(std::min(mean[i], mean[i + 1]), mean[i + 2]));
        const uint8_t *counted = mask.empty() ? nullptr : mask.ptr<uint8_t>(y);
        for (int x = 0; x < bgr.cols; ++x) {
            const int one = counted == nullptr || counted[x] != 0 ? 1 : 0;
            counts[static_cast<size_t>(x & 1)][spread[3 * x]] += one;
        }
    }
    for (size_t value = 0; value < 256; ++value) counts[0][value] += counts[1][value];
    return counts[0];
}

double laplacian_variance(const cv::Mat &gray) {
    constexpr int run = 2048;  // values whose squares fit together into 32 bits
    std::vector<uint8_t> padded(static_cast<size_t>(gray.cols) + 2);
    int64_t sum = 0, squares = 0;
    for (int y = 0; y < gray.rows; ++y) {
        const uint8_t *above = gray.ptr<uint8_t>(reflected(y - 1, gray.rows)),
                      *below = gray.ptr<uint8_t>(reflected(y + 1, gray.rows));
        uint8_t *row = padded.data() + 1;
        std::copy_n(gray.ptr<uint8_t>(y), gray.cols, row);
        row[-1] = row[reflected(-1, gray.cols)];
        row[gray.cols] = row[reflected(gray.cols, gray.cols)];
        for (int from = 0; from < gray.cols; from += run) {
            const int to = std::min(gray.cols, from + run);
            int32_t part = 0, part_squares = 0;
            for (int x = from; x < to; ++x) {
                const int16_t value = static_cast<int16_t>(row[x - 1] + row[x + 1] + above[x] + below[x] - 4 * row[x]);
                part += value;
                part_squares += value * value;
            }
            sum += part, squares += part_squares;
        }
    }
    const double scale = 1.0 / std::max<double>(1, static_cast<double>(gray.total()));
    const double mean = static_cast<double>(sum) * scale;
    return std::max(0.0, static_cast<double>(squares) * scale - mean * mean);
}

double coherence(const cv::Mat &gray) {
    cv::Mat smooth;
    cv::GaussianBlur(gray, smooth, {5, 5}, 1.2);
    const int width = smooth.cols;
    std::vector<uint8_t> lengths(static_cast<size_t>(width));
    // Neighbours are often alike, and a counter waits for its last addition.
    std::array<std::array<int, 256>, 2> counts{};
    int64_t total = 0;
    for (int y = 1; y + 1 < smooth.rows; y += 2) {
        strengths(smooth.ptr<uint8_t>(y - 1), smooth.ptr<uint8_t>(y), smooth.ptr<uint8_t>(y + 1), width,
                  lengths.data());
        for (int x = 1; x + 1 < width; ++x) ++counts[static_cast<size_t>(x & 1)][lengths[static_cast<size_t>(x)]];
        total += std::max(0, width - 2);
    }
    int64_t seen = 0;
    int strongest = 255;
    for (; strongest > 0; --strongest) {
        seen += counts[0][static_cast<size_t>(strongest)] + counts[1][static_cast<size_t>(strongest)];
        if (static_cast<double>(seen) > 0.01 * static_cast<double>(total)) break;
    }
    const int least = std::max(6, strongest * 3 / 10);
    int64_t xx = 0, yy = 0, xy = 0;
    for (int y = 1; y + 1 < smooth.rows; y += 2) {
        const uint8_t *above = smooth.ptr<uint8_t>(y - 1), *row = smooth.ptr<uint8_t>(y),
                      *below = smooth.ptr<uint8_t>(y + 1);
        strengths(above, row, below, width, lengths.data());
        const uint8_t *length = lengths.data();
        constexpr int run = 16384;  // products that fit together into 32 bits
        for (int from = 1; from + 1 < width; from += run) {
            const int to = std::min(width - 1, from + run);
            int32_t part_xx = 0, part_yy = 0, part_xy = 0;
            for (int x = from; x < to; ++x) {
                const int16_t counted = length[x] >= least ? -1 : 0;
                const int16_t gx = static_cast<int16_t>((row[x + 1] - row[x - 1]) & counted);
                const int16_t gy = static_cast<int16_t>((below[x] - above[x]) & counted);
                part_xx += gx * gx, part_yy += gy * gy, part_xy += gx * gy;
            }
            xx += part_xx, yy += part_yy, xy += part_xy;
        }
    }
    const double energy = static_cast<double>(xx + yy);
    return energy > 0 ? std::hypot(static_cast<double>(xx - yy), 2 * static_cast<double>(xy)) / energy : 0;
}

}  // namespace cvision
