#include "mrz_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <opencv2/imgproc.hpp>

#include "cpu.hpp"
#include "image.hpp"
#include "mrz_network.hpp"

namespace cvision::mrz {
namespace {

constexpr int window = 129;  // pixels, over which brightness and contrast are evened out
constexpr int reach = window / 2;

/// Adds `added` to each column's sums and takes `removed` away, which may be null.
[[gnu::always_inline]] inline void move(const uint8_t *added, const uint8_t *removed, int count, int *sums,
                                        int *squares) {
    for (int x = 0; x < count; ++x) {
        const int more = added[x], less = removed != nullptr ? removed[x] : 0;
        sums[x] += more - less;
        squares[x] += more * more - less * less;
    }
}

/// The pixels of a row with their windows' mean and deviation taken out.
[[gnu::always_inline]] inline void even_out(const uint8_t *row, const int *sums, const int *squares, int count,
                                            float *to) {
    constexpr double part = 1.0 / (window * window);
    for (int x = 0; x < count; ++x) {
        const auto mean = float(sums[x] * part), square = float(squares[x] * part);
        const float variance = square - mean * mean;
        to[x] = (float(row[x]) - mean) / (__builtin_elementwise_sqrt(variance > 0 ? variance : 0.0f) + 8);
    }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void move_by_8(const uint8_t *added, const uint8_t *removed, int count, int *sums,
                                       int *squares) {
    move(added, removed, count, sums, squares);
}
[[gnu::target("avx2")]] void even_out_by_8(const uint8_t *row, const int *sums, const int *squares, int count,
                                           float *to) {
    even_out(row, sums, squares, count, to);
}
#endif

void move_widest(const uint8_t *added, const uint8_t *removed, int count, int *sums, int *squares) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) return move_by_8(added, removed, count, sums, squares);
#endif
    move(added, removed, count, sums, squares);
}

void even_out_widest(const uint8_t *row, const int *sums, const int *squares, int count, float *to) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) return even_out_by_8(row, sums, squares, count, to);
#endif
    even_out(row, sums, squares, count, to);
}

/// Zero mean and unit deviation over windows (detector_data.py: normalise), padded to multiples of 16. A window's sums follow
/// from those of the one before; as whole numbers they are exact.
Tensor prepare(const cv::Mat &gray) {
    const int rows = gray.rows, columns = gray.cols;
    Tensor out(1, (rows + 15) / 16 * 16, (columns + 15) / 16 * 16);
    const auto mirrored = [](int i, int count) { return cv::borderInterpolate(i, count, cv::BORDER_REFLECT_101); };
    const auto row_at = [&](int y) { return gray.ptr(mirrored(y, rows)); };
    // Of each column within the window's rows, mirrored columns beside the image included; of each window of a row.
    std::vector<int> sums(size_t(columns) + 2 * reach, 0), squares = sums, all(columns), all_squares(columns);
    std::vector<int> beside;
    for (int x = 0; x < reach; ++x) beside.push_back(mirrored(x - reach, columns));
    for (int x = 0; x < reach; ++x) beside.push_back(mirrored(columns + x, columns));
    for (int y = -reach; y <= reach; ++y)
        move_widest(row_at(y), nullptr, columns, sums.data() + reach, squares.data() + reach);
    for (int y = 0; y < rows; ++y) {
        if (y > 0) {
            move_widest(row_at(y + reach), row_at(y - reach - 1), columns, sums.data() + reach, squares.data() + reach);
        }
        for (int i = 0; i < 2 * reach; ++i) {
            const int at = i < reach ? i : columns + i;
            sums[at] = sums[reach + beside[i]], squares[at] = squares[reach + beside[i]];
        }
        int sum = 0, square = 0;
        for (int x = 0; x < window - 1; ++x) sum += sums[x], square += squares[x];
        for (int x = 0; x < columns; ++x) {
            all[x] = sum += sums[x + window - 1], all_squares[x] = square += squares[x + window - 1];
            sum -= sums[x], square -= squares[x];
        }
        float *to = out.plane(0) + size_t(y) * out.columns;
        even_out_widest(gray.ptr(y), all.data(), all_squares.data(), columns, to);
        std::fill(to + columns, to + out.columns, to[columns - 1]);
    }
    for (int y = rows; y < out.rows; ++y)
        std::copy_n(out.plane(0) + size_t(rows - 1) * out.columns, out.columns, out.plane(0) + size_t(y) * out.columns);
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
    cv::Mat core, labels, stats, centres;
    cv::compare(map.probability, thresholds[level], core, cv::CMP_GT);
    if (!mask.empty()) {
        core &= mask;
    }
    const int count = cv::connectedComponentsWithStats(core, labels, stats, centres, level == 0 ? 8 : 4);
    for (int label = 1; label < count; ++label) {
        if (stats.at<int>(label, cv::CC_STAT_AREA) < 4) {
            continue;
        }
        const cv::Rect box(stats.at<int>(label, cv::CC_STAT_LEFT), stats.at<int>(label, cv::CC_STAT_TOP),
                           stats.at<int>(label, cv::CC_STAT_WIDTH), stats.at<int>(label, cv::CC_STAT_HEIGHT));
        Piece piece = map.piece_of(labels, label, box);
        const bool thick = thickness_of(piece) > 0.33 * piece.pitch() + 1.2 * map.scale_x;
        if (thick && level + 1 < std::size(thresholds)) {
            split(map, labels == label, level + 1, pieces);
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
