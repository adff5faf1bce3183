// Detection and landmarks: the file that instantiates dlib's HOG scanner, which is 75 times slower without optimisation.
// SwiftPM defines DEBUG in debug builds; Debian compiles libdlib without dlib's assertions and both must agree.
#define DLIB_DISABLE_ASSERTS
#include <dlib/image_processing.h>
#include <dlib/image_processing/frontal_face_detector.h>
#include <dlib/image_transforms.h>

#include <opencv2/imgproc.hpp>
#include <sstream>

#include "face_parts.hpp"

namespace cvision {

namespace {

// dlib numbers the points from the eye on the picture's right; cv_face starts on its left, as one reads.
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
    dlib::frontal_face_detector scanner = dlib::get_frontal_face_detector();
};

FaceDetector::FaceDetector() : parts(std::make_unique<Parts>()) {}
FaceDetector::~FaceDetector() = default;

std::vector<FaceBox> FaceDetector::detect(const cv::Mat &gray) {
    std::vector<dlib::rect_detection> found;
    this->parts->scanner(copied(gray), found);
    std::vector<FaceBox> boxes;
    for (const dlib::rect_detection &face : found) {
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

Landmarks FaceLandmarker::locate(const cv::Mat &gray, const cv::Rect2d &box) const {
    // The predictor looks at most one box around the box: copying no more keeps a 12-megapixel picture cheap.
    const cv::Rect2d around(box.x - box.width, box.y - box.height, 3 * box.width, 3 * box.height);
    const cv::Rect region = cv::Rect(around) & cv::Rect(0, 0, gray.cols, gray.rows);
    if (region.empty()) return {};
    // At one size of box the predictor's point samples see every face alike, and its whole pixels cost no precision.
    const double scale = normal_box / box.width;
    cv::Mat scaled;
    cv::resize(gray(region), scaled, {}, scale, scale, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    const dlib::array2d<unsigned char> pixels = copied(scaled);
    const cv::Rect2d local((box.x - region.x) * scale, (box.y - region.y) * scale, box.width * scale,
                           box.height * scale);
    const dlib::full_object_detection shape = this->parts->predictor(pixels, rounded(local));
    Landmarks points;
    for (size_t i = 0; i < points.size(); ++i) {
        const dlib::point part = shape.part(dlib_index[i]);
        points[i] = cv::Point2d(part.x(), part.y()) / scale + cv::Point2d(region.x, region.y);
    }
    return points;
}

cv::Mat face_chip(const cv::Mat &bgr, const Landmarks &landmarks) {
    // The chip reaches at most 1.25 times the extent of the points beyond them, at any rotation.
    const std::vector<cv::Point2f> points(landmarks.begin(), landmarks.end());
    cv::Rect extent = cv::boundingRect(points);
    const int margin = 1 + 5 * std::max(extent.width, extent.height) / 4;
    extent = (extent + cv::Size(2 * margin, 2 * margin) - cv::Point(margin, margin)) &
             cv::Rect(0, 0, bgr.cols, bgr.rows);
    if (extent.empty()) return cv::Mat::zeros(chip_side, chip_side, CV_8UC3);
    dlib::matrix<dlib::rgb_pixel> region(extent.height, extent.width);
    for (int y = 0; y < extent.height; ++y) {
        const cv::Vec3b *row = bgr.ptr<cv::Vec3b>(extent.y + y) + extent.x;
        for (int x = 0; x < extent.width; ++x) region(y, x) = dlib::rgb_pixel(row[x][2], row[x][1], row[x][0]);
    }
    std::vector<dlib::dpoint> here, there;
    for (size_t i = 0; i < landmarks.size(); ++i) {
        const cv::Point2d mean =
            (mean_face[i] + cv::Point2d(chip_padding, chip_padding)) * chip_side / (1 + 2 * chip_padding);
        there.emplace_back(mean.x, mean.y);
        here.emplace_back(landmarks[i].x - extent.x, landmarks[i].y - extent.y);
    }
    dlib::matrix<dlib::rgb_pixel> chip;
    dlib::extract_image_chip(region, dlib::chip_details(there, here, dlib::chip_dims(chip_side, chip_side)), chip);
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
