// One intra-coded picture of HEVC (ITU-T H.265), as HEIC files hold them.
#pragma once
#include <array>
#include <opencv2/core.hpp>

#include "image.hpp"
#include "image_codecs.hpp"

namespace cvision::hevc {

/// Its planes, reduced to eight bits.
struct Picture {
    std::array<cv::Mat, 3> planes;  // CV_8UC1: luma, then chroma in its own size; the last two are empty for grey
    int chroma = 0;                 // chroma_format_idc: 0 grey, 1 4:2:0, 2 4:2:2, 3 4:4:4
    // Of the video usability information; 2 stands for "not said" (ITU-T H.273).
    unsigned primaries = 2, transfer = 2, matrix = 2;
    bool full_range = false;
};

/// Builds libde265's tables, which it otherwise builds for each picture and frees again.
void prepare();

/// Decodes the picture of a HEIF item.
/// - `configuration`: the item's `hvcC` (ISO/IEC 14496-15 §8.3.3.1).
/// - `size`: what the container says; the picture's must be the same.
cv_status decode_picture(Source configuration, Source data, cv::Size size, const cv_image_limits &limits,
                         Picture &picture, cv_error *error);

}  // namespace cvision::hevc
