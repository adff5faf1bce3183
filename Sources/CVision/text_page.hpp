// A straightened document with its lines of text.
#pragma once
#include <opencv2/core.hpp>
#include <vector>

#include "CVision.h"

struct cv_text_page {
    cv::Mat gray;  // CV_8UC1, the document upright
    std::vector<cv_text_line> lines;
};
