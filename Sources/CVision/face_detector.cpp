// Landmarks and aligned faces by dlib, and the referee of our detector.
// SwiftPM defines DEBUG in debug builds; Debian compiles libdlib without dlib's assertions and both must agree.
#define DLIB_DISABLE_ASSERTS
#include <dlib/image_processing.h>
#include <dlib/image_processing/frontal_face_detector.h>
#include <dlib/image_transforms.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "cpu.hpp"
#include "face_models.hpp"
#include "face_parts.hpp"
#include "face_scanner.hpp"
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

struct FaceDetector::Parts {
    FaceScanner scanner;
};

FaceDetector::FaceDetector() : parts(std::make_unique<Parts>()) {}
FaceDetector::~FaceDetector() = default;

std::vector<FaceBox> FaceDetector::detect(const cv::Mat &gray, double sure, size_t levels) {
    return this->parts->scanner.detect(gray, sure, levels);
}

std::vector<FaceBox> FaceDetector::detect_frontal(const cv::Mat &gray, size_t levels) {
    return this->parts->scanner.detect_frontal(gray, levels);
}

struct FaceLandmarker::Parts {
    dlib::shape_predictor predictor;
};

FaceLandmarker::FaceLandmarker(const std::vector<char> &model) : parts(std::make_unique<Parts>()) {
    ByteStream stream(model);
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

bool cv_face_detector_is_dlibs(void) {
    std::istringstream embedded(
        std::string(reinterpret_cast<const char *>(cvision_face_detector), cvision_face_detector_size));
    dlib::frontal_face_detector detector;
    dlib::deserialize(detector, embedded);
    std::ostringstream ours, theirs;
    dlib::serialize(detector, ours);
    dlib::serialize(dlib::get_frontal_face_detector(), theirs);
    return ours.str() == theirs.str();
}

bool cv_face_scanner_is_right(const cv_image *image, size_t *faces, int32_t *lanes) {
    using namespace cvision;
    constexpr double every = std::numeric_limits<double>::infinity(), most_apart = 0.02;
    const FaceScanner scanner;
    const std::vector<FaceBox> wide = scanner.detect(image->gray, every, every_level);
    *lanes = registers() == Registers::by_4 ? 4 : 8;
    *faces = wide.size();
    std::vector<FaceBox> plain;
    {
        const RegisterLimit limit(Registers::by_4);
        plain = scanner.detect(image->gray, every, every_level);
    }
    const auto is_same = [](const FaceBox &a, const FaceBox &b) { return a.rect == b.rect && a.score == b.score; };
    if (!std::equal(plain.begin(), plain.end(), wide.begin(), wide.end(), is_same)) return false;
    std::vector<dlib::rect_detection> theirs;
    dlib::get_frontal_face_detector()(copied(image->gray), theirs);
    return std::equal(wide.begin(), wide.end(), theirs.begin(), theirs.end(), [&](const FaceBox &a, const auto &b) {
        return a.rect == cv::Rect2d(b.rect.left(), b.rect.top(), b.rect.width(), b.rect.height()) &&
               std::abs(a.score - b.detection_confidence) < most_apart;
    });
}
