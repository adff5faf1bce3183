// dlib loads the detector and says where its windows lie; gradients and filters are face_gradients.cpp's.
#define DLIB_DISABLE_ASSERTS
#include "face_scanner.hpp"

#include <dlib/image_processing/frontal_face_detector.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "face_gradients.hpp"

// Rounding a product and a sum only once would make answers depend on the processor.
#pragma clang fp contract(off)

namespace cvision {
namespace {

using Pyramid = dlib::pyramid_down<6>;

/// Rows of `gray` with 5/6 of their pixels, as they are needed.
class NarrowRows {
public:
    explicit NarrowRows(const cv::Mat &gray) : gray(gray), columns(size_t(5 * gray.cols / 6)) {
        const double step = (gray.cols - 1) / double(std::max<size_t>(this->columns, 2) - 1);
        double x = -step;
        for (size_t i = 0; i < this->columns; ++i) {
            x += step;
            this->left.push_back(std::min(int(x), gray.cols - 1));
            this->right_share.push_back(float(x - int(x)));
        }
    }
    const float *row(int y) {
        Row &row = this->rows[size_t(y % 2)];
        if (row.number == y) return row.values.data();
        row.number = y;
        row.values.resize(this->columns);
        const uint8_t *from = this->gray.ptr(y);
        const int last = this->gray.cols - 1, *left = this->left.data();
        const float *share = this->right_share.data();
        float *to = row.values.data();
        for (size_t i = 0; i < this->columns; ++i) {
            to[i] = (1 - share[i]) * from[left[i]] + share[i] * from[std::min(left[i] + 1, last)];
        }
        return to;
    }

private:
    struct Row {
        int number = -1;
        std::vector<float> values;
    };
    cv::Mat gray;
    size_t columns;
    std::vector<int> left;
    std::vector<float> right_share;
    Row rows[2];
};

/// `gray` at 5/6 of its size, with the geometry of dlib's pyramid_down<6>, but more exact: its corners stay corners.
cv::Mat reduced(const cv::Mat &gray) {
    cv::Mat result(5 * gray.rows / 6, 5 * gray.cols / 6, CV_8U);
    NarrowRows rows(gray);
    const double step = (gray.rows - 1) / double(std::max(result.rows, 2) - 1);
    double y = -step;
    for (int i = 0; i < result.rows; ++i) {
        y += step;
        const int top = std::min(int(y), gray.rows - 1);
        const float share = float(y - int(y)), *upper = rows.row(top),
                    *lower = rows.row(std::min(top + 1, gray.rows - 1));
        uint8_t *to = result.ptr(i);
        for (int x = 0; x < result.cols; ++x) to[x] = uint8_t((1 - share) * upper[x] + share * lower[x] + 0.5F);
    }
    return result;
}

/// A score and a box.
using Window = std::pair<double, dlib::rectangle>;

bool is_surer(const Window &a, const Window &b) {
    const auto place = [](const Window &window) { return std::pair(window.second.left(), window.second.top()); };
    return a.first != b.first ? a.first > b.first : place(a) < place(b);
}

struct Filter {
    GradientFilter parts;
    double limit = 0;  // below which a window shows no face
};

/// One size of faces.
struct Level {
    GradientFeatures features;
    unsigned long number;  // how often the image was reduced by 6/5
};

}  // namespace

struct FaceScanner::Parts {
    dlib::frontal_face_detector::image_scanner_type scanner;  // its sizes
    dlib::test_box_overlap overlap;
    std::vector<Filter> filters;

    std::vector<Level> levels_of(const cv::Mat &gray, size_t most) const {
        const Pyramid pyramid;
        const int rows = this->filters.front().parts.rows, columns = this->filters.front().parts.columns;
        std::vector<Level> levels;
        dlib::rectangle frame(gray.cols, gray.rows);
        cv::Mat pixels = gray;
        do {
            if (!levels.empty()) pixels = reduced(pixels);
            levels.push_back({GradientFeatures(pixels, rows, columns), levels.size()});
            frame = pyramid.rect_down(frame);
        } while (frame.width() >= this->scanner.get_min_pyramid_layer_width() &&
                 frame.height() >= this->scanner.get_min_pyramid_layer_height() && levels.size() < most);
        return levels;
    }

    /// Where one filter sees faces.
    std::vector<Window> windows(const std::vector<Level> &levels, const Filter &filter) const {
        const int rows = filter.parts.rows, columns = filter.parts.columns;
        const auto padding = this->scanner.get_padding(), cell = this->scanner.get_cell_size();
        std::vector<Window> seen;
        for (const Level &level : levels) {
            const GradientScores scores(level.features, filter.parts);
            for (int y = 0; y < scores.rows; ++y) {
                for (int x = 0; x < scores.columns; ++x) {
                    const double score = scores.at(y)[x];
                    if (score < filter.limit) continue;
                    const auto cells = dlib::centered_rect(dlib::point(x + columns / 2, y + rows / 2),
                                                           size_t(columns) - 2 * padding, size_t(rows) - 2 * padding);
                    const dlib::rectangle box = dlib::fhog_to_image(cells, int(cell), rows, columns);
                    seen.push_back({score, Pyramid().rect_up(box, level.number)});
                }
            }
        }
        return seen;
    }

    /// As dlib's object_detector does it, but that a face of the first filter may end the search.
    std::vector<FaceBox> found(const cv::Mat &gray, size_t count, double sure, size_t most_levels) const {
        const std::vector<Level> levels = this->levels_of(gray, most_levels);
        std::vector<Window> all;
        for (size_t i = 0; i < count; ++i) {
            for (const auto &[score, box] : this->windows(levels, this->filters[i])) {
                all.push_back({score - this->filters[i].limit, box});
            }
            if (i == 0 && std::any_of(all.begin(), all.end(), [&](const Window &one) { return one.first >= sure; }))
                break;
        }
        std::sort(all.begin(), all.end(), is_surer);
        std::vector<FaceBox> boxes;
        std::vector<dlib::rectangle> kept;
        for (const auto &[score, box] : all) {
            if (std::any_of(kept.begin(), kept.end(),
                            [&, &box = box](const dlib::rectangle &other) { return this->overlap(other, box); }))
                continue;
            kept.push_back(box);
            boxes.push_back({cv::Rect2d(box.left(), box.top(), box.width(), box.height()), score});
        }
        return boxes;
    }
};

FaceScanner::FaceScanner() : parts(std::make_unique<Parts>()) {
    std::istringstream stream(
        std::string(reinterpret_cast<const char *>(cvision_face_detector), cvision_face_detector_size));
    dlib::frontal_face_detector detector;
    dlib::deserialize(detector, stream);
    this->parts->scanner.copy_configuration(detector.get_scanner());
    this->parts->overlap = detector.get_overlap_tester();
    for (unsigned long i = 0; i < detector.num_detectors(); ++i) {
        const auto weights = detector.get_w(i);
        const auto bank = this->parts->scanner.build_fhog_filterbank(weights);
        Filter filter;
        filter.limit = weights(this->parts->scanner.get_num_dimensions());
        filter.parts.rows = int(bank.filters.front().nr());
        filter.parts.columns = int(bank.filters.front().nc());
        for (size_t plane = 0; plane < bank.row_filters.size(); ++plane) {
            for (size_t j = 0; j < bank.row_filters[plane].size(); ++j) {
                const auto &row = bank.row_filters[plane][j], &column = bank.col_filters[plane][j];
                filter.parts.parts.push_back({int(plane), {row.begin(), row.end()}, {column.begin(), column.end()}});
            }
        }
        this->parts->filters.push_back(std::move(filter));
    }
}

FaceScanner::~FaceScanner() = default;

std::vector<FaceBox> FaceScanner::detect(const cv::Mat &gray, double sure, size_t levels) const {
    return this->parts->found(gray, this->parts->filters.size(), sure, levels);
}

std::vector<FaceBox> FaceScanner::detect_frontal(const cv::Mat &gray, size_t levels) const {
    return this->parts->found(gray, 1, 0, levels);
}

}  // namespace cvision
