#include "mrz_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <opencv2/imgproc.hpp>

#include "components.hpp"
#include "image.hpp"
#include "mrz_network.hpp"

// Rounding a product and a sum only once would make answers depend on the processor.
#pragma clang fp contract(off)

namespace cvision::mrz {
namespace {

constexpr int window = 129, reach = window / 2;  // pixels on a side of the square whose mean and deviation count

/// Sums of pixels and of their squares over the rows of a window, column by column, with a margin that mirrors the others.
struct ColumnSums {
    std::vector<uint32_t> values, squares;

    explicit ColumnSums(int columns) : values(size_t(columns + 2 * reach)), squares(values.size()) {}
    void add(const uint8_t *row, int columns) {
        uint32_t *value = this->values.data() + reach, *square = this->squares.data() + reach;
        for (int x = 0; x < columns; ++x) {
            value[x] += row[x];
            square[x] += uint32_t(row[x]) * row[x];
        }
    }
    void replace(const uint8_t *row, const uint8_t *by, int columns) {
        uint32_t *value = this->values.data() + reach, *square = this->squares.data() + reach;
        for (int x = 0; x < columns; ++x) {
            value[x] += uint32_t(by[x]) - row[x];
            square[x] += uint32_t(by[x]) * by[x] - uint32_t(row[x]) * row[x];
        }
    }
    void mirror(const std::vector<int> &from, int columns) {
        for (int i = 0; i < reach; ++i) {
            for (std::vector<uint32_t> *sums : {&this->values, &this->squares}) {
                (*sums)[size_t(i)] = (*sums)[size_t(from[size_t(i)] + reach)];
                (*sums)[size_t(columns + reach + i)] = (*sums)[size_t(from[size_t(columns + reach + i)] + reach)];
            }
        }
    }
};

/// Where each pixel of a row, or of a column, with a margin around it lies once it is mirrored.
std::vector<int> mirrored(int count) {
    std::vector<int> from;
    for (int i = -reach; i < count + reach; ++i) {
        from.push_back(cv::borderInterpolate(i, count, cv::BORDER_REFLECT_101));
    }
    return from;
}

/// Zero mean and unit deviation over windows (detector_data.py: normalise), padded to multiples of 16. Sums are whole numbers, so
/// that they stay exact while rows and columns enter and leave.
Tensor prepare(const cv::Mat &gray) {
    const int rows = gray.rows, columns = gray.cols;
    const std::vector<int> row_of = mirrored(rows), column_of = mirrored(columns);
    Tensor out(1, (rows + 15) / 16 * 16, (columns + 15) / 16 * 16);
    ColumnSums sums(columns);
    for (int i = 0; i < window; ++i) {
        sums.add(gray.ptr(row_of[size_t(i)]), columns);
    }
    std::vector<int32_t> of_values(static_cast<size_t>(columns)), of_squares(of_values.size());
    for (int y = 0; y < rows; ++y) {
        if (y > 0) {
            sums.replace(gray.ptr(row_of[size_t(y - 1)]), gray.ptr(row_of[size_t(y + window - 1)]), columns);
        }
        sums.mirror(column_of, columns);
        const uint32_t *values = sums.values.data(), *squares = sums.squares.data();
        uint32_t value = 0, square = 0;
        for (int i = 0; i < window; ++i) {
            value += values[i];
            square += squares[i];
        }
        int32_t *value_to = of_values.data(), *square_to = of_squares.data();
        value_to[0] = int32_t(value);
        square_to[0] = int32_t(square);
        for (int x = 1; x < columns; ++x) {
            value += values[x + window - 1] - values[x - 1];
            square += squares[x + window - 1] - squares[x - 1];
            value_to[x] = int32_t(value);
            square_to[x] = int32_t(square);
        }
        const uint8_t *pixels = gray.ptr(y);
        float *to = out.plane(0) + size_t(y) * out.columns;
        for (int x = 0; x < columns; ++x) {
            constexpr double share = 1.0 / (window * window);
            const float mean = float(value_to[x] * share), mean_square = float(square_to[x] * share);
            const float variance = mean_square - mean * mean;
            to[x] = (float(pixels[x]) - mean) / (__builtin_elementwise_sqrt(variance > 0 ? variance : 0) + 8.0f);
        }
        std::fill(to + columns, to + out.columns, to[columns - 1]);
    }
    for (int y = rows; y < out.rows; ++y) {
        std::copy_n(out.plane(0) + size_t(rows - 1) * out.columns, out.columns, out.plane(0) + size_t(y) * out.columns);
    }
    return out;
}

/// The detector's output for one part of the image.
struct Map {
    Tensor answer;
    cv::Mat probability;  // CV_32F, one cell for 4 × 4 detector pixels
    cv::Point2d offset;
    double scale_x, scale_y;  // image pixels per detector pixel

    Piece piece_of(const cv::Mat &labels, int label, const cv::Rect &box) const {
        Piece piece;
        for (int y = box.y; y < box.y + box.height; ++y) {
            for (int x = box.x; x < box.x + box.width; ++x) {
                if (labels.at<int>(y, x) != label) {
                    continue;
                }
                const size_t i = size_t(y) * answer.columns + x;
                const double p = probability.at<float>(y, x);
                piece.dots.push_back(
                    {{offset.x + (x * 4 + 2) * scale_x - 0.5, offset.y + (y * 4 + 2) * scale_y - 0.5}, p});
                piece.direction += p * cv::Point2d(answer.plane(1)[i], answer.plane(2)[i]);
                piece.log_pitch += p * (answer.plane(3)[i] + std::log(8.0) + std::log(scale_x));
                piece.mass += p;
            }
        }
        piece.direction /= piece.mass;
        piece.log_pitch /= piece.mass;
        return piece;
    }
};

/// Deviation of the dots across the piece's longer axis, in image pixels.
double thickness_of(const Piece &piece) {
    cv::Point2d centre(0, 0);
    for (const Dot &dot : piece.dots) {
        centre += dot.weight * dot.at;
    }
    centre /= piece.mass;
    double xx = 0, xy = 0, yy = 0;
    for (const Dot &dot : piece.dots) {
        const cv::Point2d d = dot.at - centre;
        xx += dot.weight * d.x * d.x;
        xy += dot.weight * d.x * d.y;
        yy += dot.weight * d.y * d.y;
    }
    const double smaller = (xx + yy) / 2 - std::hypot((xx - yy) / 2, xy);
    return std::sqrt(std::max(0.0, smaller) / piece.mass);
}

/// Connected pieces of the cells in `mask` above a threshold; those too thick for one line are cut at higher ones.
void split(const Map &map, const cv::Mat &mask, size_t level, std::vector<Piece> &pieces) {
    // From the probability at which a cell belongs to a line to that at which touching lines separate.
    constexpr float thresholds[] = {0.4f, 0.6f, 0.75f, 0.87f, 0.94f};
    cv::Mat core, labels;
    cv::compare(map.probability, thresholds[level], core, cv::CMP_GT);
    if (!mask.empty()) {
        core &= mask;
    }
    for (const Component &found : components_of(core, labels, level == 0 ? 8 : 4)) {
        if (found.area < 4) {
            continue;
        }
        Piece piece = map.piece_of(labels, found.label, found.box);
        const bool thick = thickness_of(piece) > 0.33 * piece.pitch() + 1.2 * map.scale_x;
        if (thick && level + 1 < std::size(thresholds)) {
            split(map, labels == found.label, level + 1, pieces);
        } else {
            pieces.push_back(std::move(piece));
        }
    }
}

}  // namespace

std::vector<Piece> look(const cv::Mat &gray, cv::Rect region, double scale, double *strongest) {
    cv::Mat seen;
    const cv::Size size(std::max(16, int(std::lround(region.width * scale))),
                        std::max(16, int(std::lround(region.height * scale))));
    if (scale < 1) {
        seen = shrunk(gray(region), size);
    } else {
        cv::resize(gray(region), seen, size, 0, 0, cv::INTER_LINEAR);
    }
    Map map;
    map.answer = run_detector(prepare(seen));
    map.offset = {double(region.x), double(region.y)};
    map.scale_x = double(region.width) / size.width;
    map.scale_y = double(region.height) / size.height;
    map.probability.create((size.height + 3) / 4, (size.width + 3) / 4, CV_32F);
    for (int y = 0; y < map.probability.rows; ++y) {
        for (int x = 0; x < map.probability.cols; ++x) {
            map.probability.at<float>(y, x) =
                1 / (1 + std::exp(-map.answer.plane(0)[size_t(y) * map.answer.columns + x]));
        }
    }
    if (strongest != nullptr) {
        cv::minMaxLoc(map.probability, nullptr, strongest);
    }
    std::vector<Piece> pieces;
    split(map, cv::Mat(), 0, pieces);
    return pieces;
}

}  // namespace cvision::mrz
