// cv_image_recompression: patches of a JPEG that an earlier compression of the rest left no traces in.
//
// A coefficient that was quantised with the step q1 and then with a smaller q2 lies near a multiple of q1, so some multiples of q2
// stay empty in its histogram (Lin et al., "Fast, automatic and fine-grained tampered JPEG image detection via DCT coefficient
// analysis", Pattern Recognition 42, 2009). What was pasted or drawn in between fills them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "image.hpp"
#include "jpeg_coefficients.hpp"

namespace cvision {
namespace {

constexpr int largest = 40;                  // of the quantised values that are counted
constexpr double fewest_coefficients = 300;  // for a histogram
constexpr double fewest_expected = 60;       // in the values that should stay empty
constexpr double smallest_ratio = 1.6;       // of both steps: closer ones leave no value empty
constexpr double rounding = 1.2;             // of pixels between both compressions, as a coefficient
constexpr double least_deviations = 8;       // standard deviations from what one compression leaves
constexpr double most_left = 0.5;            // of the coefficients expected in the values that should stay empty
constexpr int fewest_frequencies = 5;        // with such traces; chance alone leaves them in up to 4
constexpr double most_overall =
    0.2;  // of the coefficients that contradict: more means that the steps are guessed wrong
constexpr int fewest_in_patch = 40;
constexpr int block_side = 8;
constexpr uint8_t darkest = 1, brightest = 254;  // of a channel: beyond, it was cut off
constexpr double deviations = 1.5;               // by which a patch's share is lowered

using Values = std::array<bool, largest + 1>;

/// A yes or no for each block; unlike bits, bytes are reached at once.
using Blocks = std::vector<uint8_t>;

/// The values (absolute) that stay empty if the step was `first` before it was `second`.
Values empty_values(int first, int second) {
    Values empty{};
    for (int k = 1; k <= largest; ++k) {
        const double value = k * second;
        const double nearest = std::nearbyint(value / first) * first;
        empty[static_cast<size_t>(k)] = std::abs(value - nearest) > second / 2.0 + rounding;
    }
    return empty;
}

/// Whether a frequency's histogram shows an earlier compression; `empty` is then what it left empty.
bool traces(const std::vector<int16_t> &values, const Blocks &counted, int step, Values &empty) {
    std::array<int, largest + 1> found_sizes{};
    for (size_t block = 0; block < values.size(); ++block) {
        const int size = std::abs(static_cast<int>(values[block]));
        if (counted[block] && size >= 1 && size <= largest) ++found_sizes[static_cast<size_t>(size)];
    }
    std::array<double, largest + 1> counts{}, smooth{};
    std::copy(found_sizes.begin(), found_sizes.end(), counts.begin());
    if (std::accumulate(counts.begin(), counts.end(), 0.0) < fewest_coefficients) return false;
    for (int k = 1; k <= largest; ++k) {
        for (int near = std::max(1, k - 3); near <= std::min(largest, k + 3); ++near)
            smooth[static_cast<size_t>(k)] += counts[static_cast<size_t>(near)] / 7;
    }
    double best = 0, left = 1;
    for (int first = step + 1; first < std::min(80, 6 * step + 30); ++first) {
        if (first < smallest_ratio * step) continue;
        const Values candidate = empty_values(first, step);
        if (std::count(candidate.begin(), candidate.begin() + 21, true) < 3) continue;
        double expected = 0, found = 0;
        for (size_t k = 1; k <= largest; ++k) {
            if (candidate[k]) expected += smooth[k], found += counts[k];
        }
        if (expected < fewest_expected) continue;
        const double deviation = (expected - found) / std::sqrt(expected);
        if (deviation > best) best = deviation, left = found / expected, empty = candidate;
    }
    return best > least_deviations && left < most_left;
}

/// Sums over rectangles from the top left corner, with a row and a column of zeros before them.
cv::Mat_<int> summed(const std::vector<int> &values, int columns, int rows) {
    cv::Mat_<int> sums = cv::Mat_<int>::zeros(rows + 1, columns + 1);
    for (int y = 0; y < rows; ++y) {
        int along = 0;
        for (int x = 0; x < columns; ++x) {
            along += values[static_cast<size_t>(y) * static_cast<size_t>(columns) + static_cast<size_t>(x)];
            sums(y + 1, x + 1) = sums(y, x + 1) + along;
        }
    }
    return sums;
}

int inside(const cv::Mat_<int> &sums, int x, int y, int width, int height) {
    return sums(y + height, x + width) - sums(y, x + width) - sums(y + height, x) + sums(y, x);
}

/// Which blocks count: not those with a pixel that is black or white in a channel. The first decoder cut off what lay beyond, which
/// moves all coefficients of the block as an edit does.
Blocks unclipped(const cv::Mat &bgr, int columns, int rows) {
    Blocks counted(static_cast<size_t>(columns) * static_cast<size_t>(rows));
    const size_t width = static_cast<size_t>(columns) * block_side * 3;
    std::vector<uint8_t> clipped(width);
    for (int row = 0; row < rows; ++row) {
        std::fill(clipped.begin(), clipped.end(), 0);
        for (int y = row * block_side; y < (row + 1) * block_side; ++y) {
            const uint8_t *channel = bgr.ptr<uint8_t>(y);
            // Values from 0 to `darkest` wrap around, so that one comparison serves both ends.
            for (size_t x = 0; x < width; ++x)
                clipped[x] |= static_cast<uint8_t>(channel[x] - darkest - 1) >= brightest - darkest - 1;
        }
        constexpr size_t bytes = 3 * block_side;
        static_assert(bytes == 3 * sizeof(uint64_t));
        for (size_t column = 0; column < static_cast<size_t>(columns); ++column) {
            std::array<uint64_t, 3> block;
            std::memcpy(block.data(), &clipped[column * bytes], bytes);
            counted[static_cast<size_t>(row) * static_cast<size_t>(columns) + column] =
                (block[0] | block[1] | block[2]) == 0;
        }
    }
    return counted;
}

/// -1 if no earlier compression is seen.
double strongest_contradiction(const Coefficients &found, const Blocks &counted) {
    const size_t blocks = static_cast<size_t>(found.columns) * static_cast<size_t>(found.rows);
    std::vector<int> wrong(blocks), all(blocks);
    int frequencies = 0;
    for (size_t k = 0; k < low_frequencies.size(); ++k) {
        Values empty{};
        if (!traces(found.values[k], counted, found.steps[k], empty)) continue;
        ++frequencies;
        for (size_t block = 0; block < blocks; ++block) {
            const int size = std::abs(static_cast<int>(found.values[k][block]));
            if (!counted[block] || size < 1 || size > largest) continue;
            ++all[block];
            wrong[block] += empty[static_cast<size_t>(size)];
        }
    }
    if (frequencies < fewest_frequencies) return -1;
    const cv::Mat_<int> wrongs = summed(wrong, found.columns, found.rows),
                        alls = summed(all, found.columns, found.rows);
    const double overall = inside(wrongs, 0, 0, found.columns, found.rows);
    if (overall > most_overall * inside(alls, 0, 0, found.columns, found.rows)) return -1;
    double strongest = 0;
    // Patches of a few letters, of lines, and of portraits, in blocks.
    for (const cv::Size patch : {cv::Size(8, 2), cv::Size(6, 3), cv::Size(6, 6), cv::Size(20, 3), cv::Size(12, 12)}) {
        for (int y = 0; y + patch.height <= found.rows; ++y) {
            for (int x = 0; x + patch.width <= found.columns; ++x) {
                const int count = inside(alls, x, y, patch.width, patch.height);
                if (count < fewest_in_patch) continue;
                const double wrong_ones = inside(wrongs, x, y, patch.width, patch.height);
                if (wrong_ones <= strongest * count) continue;  // less its uncertainty it is less
                const double share = (wrong_ones - deviations * std::sqrt(std::max(1.0, wrong_ones))) / count;
                strongest = std::max(strongest, share);
            }
        }
    }
    return strongest;
}

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_image_recompression(const cv_image *image, double *contradiction, cv_error *error) {
    using namespace cvision;
    *contradiction = -1;
    return guard(error, [&] {
        if (!image->coefficients) return CV_OK;
        const Coefficients &found = *image->coefficients;
        *contradiction = strongest_contradiction(found, unclipped(image->bgr, found.columns, found.rows));
        return CV_OK;
    });
}
