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

/// Labels the connected pixels of `mask` (CV_32S, from 1 on; 0 outside), and measures them. OpenCV's own
/// measures take three times as long where few pixels are set, for they count the pixels outside too.
std::vector<Component> components_of(const cv::Mat &mask, cv::Mat &labels, int connectivity = 8);

}  // namespace cvision
