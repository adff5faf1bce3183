// Power of a patch's frequencies.
#pragma once
#include <opencv2/core.hpp>

namespace cvision {

/// Side of a patch in pixels.
constexpr int spectrum_side = 256;

/// Squared magnitudes of the Fourier transform of a patch (CV_32F, spectrum_side each way): half of the plane, since the other one
/// mirrors it, with the lowest frequency of the rows in the middle.
cv::Mat spectrum_of(const cv::Mat &patch);

}  // namespace cvision
