// dlib's frontal face detector, slid over an image by our own code.
#pragma once
#include <memory>
#include <opencv2/core.hpp>
#include <vector>

#include "face_parts.hpp"

extern "C" {
extern const unsigned char cvision_face_detector[];
extern const size_t cvision_face_detector_size;
}

namespace cvision {

class FaceScanner {
public:
    FaceScanner();
    ~FaceScanner();
    /// Faces of an 8-bit grey image, best score first, overlaps already suppressed. If the first of the five filters finds a
    /// face with the score `sure`, the others are left out. Only `levels` sizes of faces are sought, from 80 px, each 6/5 of the
    /// one before.
    std::vector<FaceBox> detect(const cv::Mat &gray, double sure, size_t levels) const;
    /// Faces by the first of the five filters alone: those that neither look aside nor are tilted.
    std::vector<FaceBox> detect_frontal(const cv::Mat &gray, size_t levels) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts;
};

}  // namespace cvision
