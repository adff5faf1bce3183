// The decoders that cv_image_decode chooses from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <opencv2/core.hpp>

#include "CVision.h"

namespace cvision {

struct Source {
    const uint8_t *bytes;
    size_t length;
};

/// A decoded image before its orientation is applied.
struct StoredImage {
    cv::Mat bgr;  // CV_8UC3
    uint32_t width = 0, height = 0;
    int orientation = 1;  // EXIF, 1 to 8
};

/// CV_OK if a header's size is within `limits`, else CV_TOO_MANY_PIXELS (or CV_CORRUPT_IMAGE for an empty image).
cv_status check_size(uint64_t width, uint64_t height, const cv_image_limits &limits, cv_error *error) noexcept;

/// Blends `bgra` (CV_8UC4, straight alpha) over white.
cv::Mat over_white(const cv::Mat &bgra);

/// The orientation tag (0x0112) of a TIFF structure as EXIF embeds it; 1 where there is none or it is invalid.
int exif_orientation(Source tiff) noexcept;

cv_status decode_jpeg(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_png(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_webp(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_jpeg2000(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);

}  // namespace cvision
