#include "mrz_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <opencv2/imgproc.hpp>

#include "components.hpp"
#include "image.hpp"
#include "mrz_network.hpp"

namespace cvision::mrz {
namespace {

/// Zero mean and unit deviation over windows of 129 pixels (detector_data.py: normalise), padded to multiples of 16. Sums of bytes
/// are whole numbers, which takes OpenCV less time than sums of floats; scaled in doubles, they stay as exact.
Tensor prepare(const cv::Mat &gray) {
    const cv::Size window(129, 129);
    cv::Mat pixels, mean, square, deviation, padded;
    cv::boxFilter(gray, mean, CV_64F, window, {-1, -1}, true, cv::BORDER_REFLECT_101);
    cv::sqrBoxFilter(gray, square, CV_64F, window, {-1, -1}, true, cv::BORDER_REFLECT_101);
    mean.convertTo(mean, CV_32F);
    square.convertTo(square, CV_32F);
    cv::sqrt(cv::max(square - mean.mul(mean), 0.0), deviation);
    cv::subtract(gray, mean, pixels, {}, CV_32F);
    const cv::Mat normal = pixels / (deviation + 8.0);
    cv::copyMakeBorder(normal, padded, 0, (16 - gray.rows % 16) % 16, 0, (16 - gray.cols % 16) % 16,
                       cv::BORDER_REPLICATE);
    Tensor out(1, padded.rows, padded.cols);
    std::copy(padded.begin<float>(), padded.end<float>(), out.values.begin());
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
