// Detection and landmarks: the file that instantiates dlib's HOG scanner, which is 75 times slower without optimisation.
// SwiftPM defines DEBUG in debug builds; Debian compiles libdlib without dlib's assertions and both must agree.
#define DLIB_DISABLE_ASSERTS
#include <dlib/image_processing.h>
#include <dlib/image_processing/frontal_face_detector.h>
#include <dlib/image_transforms.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "face_filter.hpp"
#include "face_parts.hpp"
#include "image.hpp"

namespace cvision {

namespace {

// dlib numbers the points from the eye on the image's right; cv_face starts on the left.
constexpr std::array<int, CV_FACE_LANDMARKS> dlib_index = {2, 3, 0, 1, 4};

dlib::array2d<unsigned char> copied(const cv::Mat &gray) {
    dlib::array2d<unsigned char> pixels(gray.rows, gray.cols);
    for (int y = 0; y < gray.rows; ++y) std::copy_n(gray.ptr<unsigned char>(y), gray.cols, &pixels[y][0]);
    return pixels;
}

dlib::rectangle rounded(const cv::Rect2d &rect) {
    return {std::lround(rect.x), std::lround(rect.y), std::lround(rect.x + rect.width) - 1,
            std::lround(rect.y + rect.height) - 1};
}

/// Where the points lie in the mean face of the unit square that the descriptor was trained with (dlib,
/// get_face_chip_details); the alignment must be the same.
const Landmarks mean_face = {{{0.1205750620789, 0.2137274526848},
                              {0.3340850613712, 0.2290642403242},
                              {0.8595674595992, 0.2134981538014},
                              {0.6460604764104, 0.2289674387677},
                              {0.4901123135679, 0.6277975316475}}};

/// Side in pixels to which a face's box is scaled before the predictor samples it.
constexpr double normal_box = 200;

}  // namespace

/// dlib's detector with our own filters: Debian compiles dlib for processors without wide registers.
struct FaceDetector::Parts {
    using Scanner = dlib::frontal_face_detector::image_scanner_type;
    /// A filter over one plane of features.
    struct Filter {
        size_t plane;
        std::vector<float> across, down;
    };
    /// Filters that together detect one orientation of the head.
    struct Template {
        std::vector<Filter> filters;
        double threshold;
    };

    /// Kept for one search only: memory kept in the warm parent would be copied by each fork that writes to it.
    struct Scratch {
        std::vector<FilterPlane> planes;
        FilterPlane line, sums;
    };

    const dlib::frontal_face_detector detector = dlib::get_frontal_face_detector();
    const Scanner &scanner = detector.get_scanner();
    const long height = static_cast<long>(scanner.get_fhog_window_height());
    const long width = static_cast<long>(scanner.get_fhog_window_width());
    const int cell = static_cast<int>(scanner.get_cell_size());
    std::vector<Template> templates;
    Parts() {
        for (unsigned long i = 0; i < this->detector.num_detectors(); ++i) {
            const auto &bank = this->detector.get_processed_w(i).get_detect_argument();
            Template made{{}, this->detector.get_w(i)(this->scanner.get_num_dimensions())};
            for (size_t plane = 0; plane < bank.row_filters.size(); ++plane)
                for (size_t k = 0; k < bank.row_filters[plane].size(); ++k)
                    made.filters.push_back({plane,
                                            {bank.row_filters[plane][k].begin(), bank.row_filters[plane][k].end()},
                                            {bank.col_filters[plane][k].begin(), bank.col_filters[plane][k].end()}});
            this->templates.push_back(std::move(made));
        }
    }

    /// The templates' detections at one size of the image, which was reduced to five sixths `level` times.
    void scan(const dlib::array2d<unsigned char> &image, unsigned level, Scratch &scratch,
              std::vector<dlib::rect_detection> &found) const {
        dlib::array<dlib::array2d<float>> features;
        this->scanner.get_feature_extractor()(image, features, this->cell, static_cast<int>(this->height),
                                              static_cast<int>(this->width));
        if (features.size() == 0 || features[0].nr() < this->height || features[0].nc() < this->width) return;
        scratch.planes.resize(features.size());
        const int rows = static_cast<int>(features[0].nr()), columns = static_cast<int>(features[0].nc());
        for (size_t i = 0; i < scratch.planes.size(); ++i) {
            scratch.planes[i].resize(rows, columns);
            for (int y = 0; y < rows; ++y) std::copy_n(&features[i][y][0], columns, scratch.planes[i].row(y));
        }
        scratch.line.resize(rows, columns);
        const long padding = static_cast<long>(this->scanner.get_padding());
        for (size_t i = 0; i < this->templates.size(); ++i) {
            const Template &wanted = this->templates[i];
            scratch.sums.resize(rows, columns);
            for (const Filter &filter : wanted.filters)
                add_filtered(scratch.planes[filter.plane], filter.across, filter.down, scratch.line, scratch.sums);
            for (long y = 0; y <= rows - this->height; ++y) {
                for (long x = 0; x <= columns - this->width; ++x) {
                    const double score = scratch.sums.row(static_cast<int>(y))[x] - wanted.threshold;
                    if (score < 0) continue;
                    const dlib::point centre(x + this->width / 2, y + this->height / 2);
                    const dlib::rectangle box = this->scanner.get_feature_extractor().feats_to_image(
                        dlib::centered_rect(centre, static_cast<unsigned long>(this->width - 2 * padding),
                                            static_cast<unsigned long>(this->height - 2 * padding)),
                        this->cell, static_cast<int>(this->height), static_cast<int>(this->width));
                    dlib::rect_detection face;
                    face.detection_confidence = score;
                    face.weight_index = i;
                    face.rect = Scanner::pyramid_type().rect_up(box, level);
                    found.push_back(face);
                }
            }
        }
    }
};

FaceDetector::FaceDetector() : parts(std::make_unique<Parts>()) {}
FaceDetector::~FaceDetector() = default;

std::vector<FaceBox> FaceDetector::detect(const cv::Mat &gray) {
    Parts &own = *this->parts;
    const Parts::Scanner::pyramid_type smaller;
    std::vector<dlib::rect_detection> found;
    Parts::Scratch scratch;
    dlib::array2d<unsigned char> image = copied(gray), next;
    dlib::rectangle frame = dlib::get_rect(image);
    for (unsigned level = 0;; ++level) {
        own.scan(image, level, scratch, found);
        // Levels are counted as in dlib's scanner.
        frame = smaller.rect_down(frame);
        if (frame.width() < own.scanner.get_min_pyramid_layer_width() ||
            frame.height() < own.scanner.get_min_pyramid_layer_height() ||
            level + 1 >= own.scanner.get_max_pyramid_levels())
            break;
        smaller(image, next);
        dlib::swap(image, next);
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<FaceBox> boxes;
    std::vector<dlib::rectangle> taken;
    for (const dlib::rect_detection &face : found) {
        const dlib::test_box_overlap &overlap = own.detector.get_overlap_tester();
        if (std::any_of(taken.begin(), taken.end(),
                        [&](const dlib::rectangle &box) { return overlap(box, face.rect); }))
            continue;
        taken.push_back(face.rect);
        boxes.push_back({cv::Rect2d(face.rect.left(), face.rect.top(), face.rect.width(), face.rect.height()),
                         face.detection_confidence});
    }
    return boxes;
}

struct FaceLandmarker::Parts {
    dlib::shape_predictor predictor;
};

FaceLandmarker::FaceLandmarker(const std::vector<char> &model) : parts(std::make_unique<Parts>()) {
    std::istringstream stream(std::string(model.data(), model.size()));
    dlib::deserialize(this->parts->predictor, stream);
}

FaceLandmarker::~FaceLandmarker() = default;

std::vector<cv::Point2d> FaceLandmarker::points(const cv::Mat &gray, const cv::Rect2d &box) const {
    // The predictor samples at most one box beyond the box: copying only that keeps a 12-megapixel image cheap.
    const cv::Rect2d around(box.x - box.width, box.y - box.height, 3 * box.width, 3 * box.height);
    const cv::Rect region = cv::Rect(around) & cv::Rect(0, 0, gray.cols, gray.rows);
    if (region.empty()) return {};
    // With boxes of one size the predictor samples every face alike, and whole pixels cost no precision.
    const double scale = normal_box / box.width;
    cv::Mat scaled;
    if (scale < 1) scaled = averaged(gray(region), scale);
    else cv::resize(gray(region), scaled, {}, scale, scale, cv::INTER_LINEAR);
    const dlib::array2d<unsigned char> pixels = copied(scaled);
    const cv::Rect2d local((box.x - region.x) * scale, (box.y - region.y) * scale, box.width * scale,
                           box.height * scale);
    const dlib::full_object_detection shape = this->parts->predictor(pixels, rounded(local));
    std::vector<cv::Point2d> points;
    for (unsigned long i = 0; i < shape.num_parts(); ++i) {
        points.push_back(cv::Point2d(shape.part(i).x(), shape.part(i).y()) / scale + cv::Point2d(region.x, region.y));
    }
    return points;
}

Landmarks FaceLandmarker::locate(const cv::Mat &gray, const cv::Rect2d &box) const {
    const std::vector<cv::Point2d> found = this->points(gray, box);
    Landmarks points;
    if (found.size() != points.size()) return {};
    for (size_t i = 0; i < points.size(); ++i) points[i] = found[dlib_index[i]];
    return points;
}

cv::Mat face_chip(const cv::Mat &bgr, const Landmarks &landmarks) {
    std::vector<dlib::dpoint> there, here;
    for (size_t i = 0; i < landmarks.size(); ++i) {
        const cv::Point2d mean =
            (mean_face[i] + cv::Point2d(chip_padding, chip_padding)) * chip_side / (1 + 2 * chip_padding);
        there.emplace_back(mean.x, mean.y);
        here.emplace_back(landmarks[i].x, landmarks[i].y);
    }
    const dlib::chip_dims dims(chip_side, chip_side);
    const dlib::chip_details whole(there, here, dims);
    const dlib::dpoint centre = dlib::center(whole.rect);
    // The upright square around the turned chip, and a margin for the interpolation.
    const double reach =
        whole.rect.width() / 2 * (std::abs(std::cos(whole.angle)) + std::abs(std::sin(whole.angle))) + 4;
    if (!(reach < 1e5)) return cv::Mat::zeros(chip_side, chip_side, CV_8UC3);
    const cv::Rect extent = cv::Rect(cv::Rect2d(centre.x() - reach, centre.y() - reach, 2 * reach, 2 * reach)) &
                            cv::Rect(0, 0, bgr.cols, bgr.rows);
    if (extent.empty()) return cv::Mat::zeros(chip_side, chip_side, CV_8UC3);

    // A face much larger than the chip is first reduced by a whole factor: dlib's copy of it would cost more than the network.
    const int factor = std::max(1, static_cast<int>(whole.rect.width() / (2 * chip_side)));
    cv::Mat source = bgr(extent);
    if (factor > 1) {
        cv::resize(source, source, {std::max(1, source.cols / factor), std::max(1, source.rows / factor)}, 0, 0,
                   cv::INTER_AREA);
    }
    const double scale_x = static_cast<double>(source.cols) / extent.width;
    const double scale_y = static_cast<double>(source.rows) / extent.height;
    dlib::matrix<dlib::rgb_pixel> region(source.rows, source.cols);
    for (int y = 0; y < source.rows; ++y) {
        const cv::Vec3b *row = source.ptr<cv::Vec3b>(y);
        for (int x = 0; x < source.cols; ++x) region(y, x) = dlib::rgb_pixel(row[x][2], row[x][1], row[x][0]);
    }
    for (dlib::dpoint &point : here) {
        point = dlib::dpoint((point.x() - extent.x) * scale_x, (point.y() - extent.y) * scale_y);
    }
    dlib::matrix<dlib::rgb_pixel> chip;
    dlib::extract_image_chip(region, dlib::chip_details(there, here, dims), chip);
    cv::Mat rgb(chip_side, chip_side, CV_8UC3);
    for (int y = 0; y < chip_side; ++y) {
        for (int x = 0; x < chip_side; ++x) {
            const dlib::rgb_pixel &pixel = chip(y, x);
            rgb.at<cv::Vec3b>(y, x) = cv::Vec3b(pixel.red, pixel.green, pixel.blue);
        }
    }
    return rgb;
}

}  // namespace cvision
