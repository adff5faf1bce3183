// dlib's sliding window over histograms of gradients, compiled for registers of two widths. The results are equal to the bit.
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
    virtual ~FaceScanner() = default;
    /// Faces of an 8-bit grey image, best score first, overlaps already suppressed. If the first of the five filters finds a
    /// face with the score `sure`, the others are left out. Only `levels` sizes of faces are sought, from 80 px, each 6/5 of the
    /// one before.
    virtual std::vector<FaceBox> detect(const cv::Mat &gray, double sure, size_t levels) = 0;
    /// Faces by the first of the five filters alone: those that neither look aside nor are tilted.
    virtual std::vector<FaceBox> detect_frontal(const cv::Mat &gray, size_t levels) = 0;
};

/// For every processor.
std::unique_ptr<FaceScanner> face_scanner_by_4();
#ifdef __x86_64__
/// For processors with AVX2.
std::unique_ptr<FaceScanner> face_scanner_by_8();
#endif

}  // namespace cvision
