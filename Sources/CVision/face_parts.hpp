// The three stages of the face engine. dlib's templates take long to compile, so each stage has its own file and no dlib type
// appears here.
#pragma once
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "CVision.h"

namespace cvision {

using Landmarks = std::array<cv::Point2d, CV_FACE_LANDMARKS>;
using Embedding = std::array<float, CV_FACE_EMBEDDING_LENGTH>;

struct FaceBox {
    cv::Rect2d rect;
    double score;
};

/// Every size of face that the image has room for: as dlib's scanners are made.
constexpr size_t every_level = 1000;

/// How many sizes, each 6/5 of the one before, reach from the least face to one `ratio` times as wide.
inline size_t levels_to(double ratio) { return 1 + static_cast<size_t>(std::ceil(std::log(ratio) / std::log(1.2))); }

/// Histogram-of-gradients detector for upright, roughly frontal faces of 80 px and more (dlib).
class FaceDetector {
public:
    FaceDetector();
    ~FaceDetector();
    /// Faces of an 8-bit grey image, best score first, overlaps already suppressed. If one that looks straight ahead and stands
    /// upright has the score `sure`, only such faces are sought. `levels` is the number of sizes that are sought, from 80 px, each
    /// 6/5 of the one before.
    std::vector<FaceBox> detect(const cv::Mat &gray, double sure = std::numeric_limits<double>::infinity(),
                                size_t levels = every_level);
    /// The same for faces that look straight ahead and stand upright, as portraits do, in half the time.
    std::vector<FaceBox> detect_frontal(const cv::Mat &gray, size_t levels = every_level);

private:
    struct Parts;
    std::unique_ptr<Parts> parts;
};

/// Regression-tree shape predictor of five points or 68 (dlib).
class FaceLandmarker {
public:
    explicit FaceLandmarker(const std::vector<char> &model);
    ~FaceLandmarker();
    /// The five points of the face in `box`, in the order of cv_face.
    Landmarks locate(const cv::Mat &gray, const cv::Rect2d &box) const;
    /// Every point of the model, in its own order.
    std::vector<cv::Point2d> points(const cv::Mat &gray, const cv::Rect2d &box) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts;
};

/// Side of the aligned face in pixels and margin around it: what the descriptor's network was trained with (dlib,
/// dnn_face_recognition_ex.cpp).
constexpr int chip_side = 150;
constexpr double chip_padding = 0.25;

/// The aligned face, chip_side² RGB pixels.
cv::Mat face_chip(const cv::Mat &bgr, const Landmarks &landmarks);

/// 29-layer residual network that maps an aligned face to 128 numbers (dlib, dlib_face_recognition_resnet_model_v1).
class FaceEmbedder {
public:
    explicit FaceEmbedder(const std::vector<char> &model);
    ~FaceEmbedder();
    /// For each chip the mean of its descriptor and that of its mirror image.
    std::vector<Embedding> embed(const std::vector<cv::Mat> &chips);

private:
    struct Parts;
    std::unique_ptr<Parts> parts;
};

/// Fills the measures of eyes, mouth and pose from the 68 points of the upright image of `size`.
void measure_contour(const std::vector<cv::Point2d> &points, cv::Size size, cv_face &face);

/// Fills the measures of the surroundings of `face`.
void measure_background(const cv_image &image, cv_face &face);

/// The part of the image that shows the document's portrait.
cv::Rect portrait_region(const cv_document_side &side, const cv::Size &size);

/// The part of `region` above the first characters of an MRZ: portraits are on that side of the page (Doc 9303-4 §4.2 and -6 §4.2);
/// on the other are text and a second, smaller portrait. May be empty.
cv::Rect begin_of_lines(const cv::Rect &region, const cv_point mrz[4]);

/// The portrait of a page that is seen at a low angle, judged by its MRZ: the surest face once the page is stretched, or none.
std::vector<cv_face> oblique_faces(cv_face_engine &engine, const cv_image &image, const cv_document_side &side,
                                   int known_turns);

/// The parts of an engine that follow a face over frames.
FaceDetector &detector_of(cv_face_engine &engine);
const FaceLandmarker &landmarker_of(const cv_face_engine &engine);

/// Fills every measure of `face` that follows from its landmarks and the pixels.
void measure_face(const cv_image &image, cv_face &face);

/// CIELAB of 8-bit sRGB pixels, three floats each.
cv::Mat lab_of(const cv::Mat &rgb);

/// Landmarks of `face` as OpenCV points.
Landmarks landmarks_of(const cv_face &face);

}  // namespace cvision
