// The power spectrum of a square patch, whose side is a power of four.
#pragma once
#include <opencv2/core.hpp>

namespace cvision {

constexpr int spectrum_side = 256;

/// The power of each frequency of a patch (CV_32F, `spectrum_side` pixels wide and high). Of a real image's spectrum, one half
/// says all: columns are its column frequencies from 0 on, rows its row frequencies with 0 in the middle.
cv::Mat power_spectrum(const cv::Mat &patch);

}  // namespace cvision
