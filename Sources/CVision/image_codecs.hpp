// The decoders that cv_image_decode chooses from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <string>

#include "CVision.h"
#include "image_colour.hpp"

namespace cvision {

struct Coefficients;

/// A decoded image before its orientation and its colours are applied, which cv_image_decode does once for all formats.
struct StoredImage {
    cv::Mat bgr;  // CV_8UC3
    uint32_t width = 0, height = 0;
    int orientation = 1;                         // EXIF, 1 to 8
    bool grey = false;                           // stored without colours
    std::string software;                        // programs that a PDF names as its makers
    std::optional<ColourSpace> colours;          // none: sRGB, or unknown
    std::shared_ptr<Coefficients> coefficients;  // of a JPEG that is not reduced, if they are to be kept
};

/// CV_OK if a header's size is within `limits`, else CV_TOO_MANY_PIXELS (or CV_CORRUPT_IMAGE for an empty image).
cv_status check_size(uint64_t width, uint64_t height, const cv_image_limits &limits, cv_error *error) noexcept;

/// What the width and height of an image with this longer side are divided by: 2 if it is very large, more if `limits` say that
/// less is enough.
uint32_t reduction_of(uint32_t longer, const cv_image_limits &limits) noexcept;

/// Blends `bgra` (CV_8UC4, straight alpha) over white.
cv::Mat over_white(const cv::Mat &bgra);

/// The orientation tag (0x0112) of a TIFF structure as EXIF embeds it; 1 if there is none or it is invalid.
int exif_orientation(Source tiff) noexcept;

/// The EXIF orientation that has the effect of `first` and then `second`.
int combined_orientation(int first, int second) noexcept;

cv_status decode_jpeg(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_png(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_webp(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_jpeg2000(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_heic(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_bmp(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);
cv_status decode_pdf(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error);

}  // namespace cvision
