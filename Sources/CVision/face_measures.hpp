// Measures of one frame's face, from its five points and the pixels around them.
#pragma once
#include "face_parts.hpp"

namespace cvision {

/// The plane of a face: origin between the eyes, one eye distance to the right and one down.
struct FaceFrame {
    cv::Point2d origin, right, down;
    double eye_distance;

    explicit FaceFrame(const Landmarks &points);
    cv::Point2d at(double x, double y) const { return origin + x * right + y * down; }
};

/// The darkest value of each eye so far over that of the skin around it; 0 before the first frame.
struct EyeMemory {
    double left = 0, right = 0;
};

/// Fills the measures of eyes, mouth and pose.
void measure_motion(const cv::Mat &gray, const Landmarks &points, EyeMemory &eyes, cv_face_frame &frame);

/// Fills the light of skin and background.
void measure_light(const cv::Mat &bgr, const Landmarks &points, cv_face_frame &frame);

/// The face at a fixed size, upright, without its mean brightness, for comparison with another frame.
cv::Mat aligned_face(const cv::Mat &gray, const Landmarks &points);

}  // namespace cvision
