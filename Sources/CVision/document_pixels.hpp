// Measures of all pixels of a document in single passes that compilers turn into vector instructions: the same numbers as by
// OpenCV's filters one after another, without what those keep in between.
#pragma once
#include <array>
#include <opencv2/core.hpp>

namespace cvision {

/// Histogram of max - min over the channels, blurred by 3 x 3 pixels first, where `mask` is not 0 or is empty: the chroma noise
/// of a grey image is no colour.
std::array<int, 256> spread_histogram(const cv::Mat &bgr, const cv::Mat &mask);

/// Variance of the Laplacian of an 8-bit grey image.
double laplacian_variance(const cv::Mat &gray);

/// How much the strong gradients of an image share one direction: coherence of the structure tensor (Bigün and Granlund 1987),
/// 0 to 1. Text has strokes in every direction; motion blur removes the edges across the movement.
double coherence(const cv::Mat &gray);

}  // namespace cvision
