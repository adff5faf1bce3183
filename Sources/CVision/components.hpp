// Connected pixels.
#pragma once
#include <opencv2/core.hpp>
#include <vector>

namespace cvision {

struct Component {
    int label = 0;
    cv::Rect box;
    int area = 0;  ///< pixels
    cv::Point2d centre;
};

/// The connected pixels of `mask` that are not 0, ordered by their first pixel from the top left, with labels from 1 on.
///
/// By runs of pixels: OpenCV's labels and measures take many times as long where few pixels are set, since they touch every pixel.
std::vector<Component> components_of(const cv::Mat &mask, int connectivity = 8);

/// The same with an image of the labels (CV_32S; 0 outside).
std::vector<Component> components_of(const cv::Mat &mask, cv::Mat &labels, int connectivity = 8);

}  // namespace cvision
