// Images: decoded, upright, 8-bit BGR, and the error that every call of this boundary reports.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The name of an enumeration's case on the Swift side.
#define CV_SWIFT_NAME(name) __attribute__((swift_name(name)))

#ifdef __cplusplus
extern "C" {
#endif

/// Codes of InspectCore's error table that native code can raise; the Swift side maps them one to one.
typedef enum __attribute__((enum_extensibility(closed))) {
    CV_OK CV_SWIFT_NAME("ok") = 0,
    /// The bytes are none of JPEG, PNG, WebP, JPEG 2000.
    CV_UNSUPPORTED_FORMAT CV_SWIFT_NAME("unsupportedFormat") = 1,
    /// The format is known, but decoding failed (torn, truncated, damaged).
    CV_CORRUPT_IMAGE CV_SWIFT_NAME("corruptImage") = 2,
    /// The header announces more pixels or a longer side than the limits allow.
    CV_TOO_MANY_PIXELS CV_SWIFT_NAME("tooManyPixels") = 3,
    CV_OUT_OF_MEMORY CV_SWIFT_NAME("outOfMemory") = 4,
    /// A model file is missing or is not what it should be.
    CV_MODEL_UNAVAILABLE CV_SWIFT_NAME("modelUnavailable") = 5,
    /// A native library threw; the message says what.
    CV_INTERNAL CV_SWIFT_NAME("internalError") = 6
} cv_status;

typedef struct {
    cv_status status;
    char message[240];  ///< never holds a pixel, a text read from an image, or a path outside the model folder
} cv_error;

/// A decoded image. Owns its pixels; freed by cv_image_free.
typedef struct cv_image cv_image;

typedef struct {
    double x, y;  ///< pixels of the upright image, origin at the top left
} cv_point;

typedef enum __attribute__((enum_extensibility(closed))) {
    CV_FORMAT_JPEG CV_SWIFT_NAME("jpeg") = 1,
    CV_FORMAT_PNG CV_SWIFT_NAME("png") = 2,
    CV_FORMAT_WEBP CV_SWIFT_NAME("webp") = 3,
    CV_FORMAT_JPEG2000 CV_SWIFT_NAME("jpeg2000") = 4
} cv_image_format;

/// What an image may announce in its header before a single pixel is allocated.
typedef struct {
    uint64_t max_pixels;  ///< width times height
    uint32_t max_side;    ///< width and height each
    /// JPEGs are decoded at a half, a quarter or an eighth as long as this much is left of the longer side; 0: at half only
    /// where they are very large.
    uint32_t enough_side;
} cv_image_limits;

typedef struct {
    cv_image_format format;
    uint32_t width, height;                ///< of the upright image: every coordinate refers to these
    uint32_t stored_width, stored_height;  ///< as the header announces them, before orientation and reduction
    uint32_t orientation;                  ///< EXIF orientation that was applied, 1 to 8 (1 = as stored)
} cv_image_info;

/// Decodes `bytes`, recognised by their first bytes alone, to an upright 8-bit image.
///
/// Transparency is laid over white. Anything short of a complete, undamaged image is CV_CORRUPT_IMAGE: a document
/// whose lower half is grey must not be judged as if it had been sent that way.
/// On CV_OK `*image` belongs to the caller (cv_image_free); otherwise it is null.
cv_status cv_image_decode(const uint8_t *bytes, size_t length, const cv_image_limits *limits, cv_image **image,
                          cv_image_info *info, cv_error *error);

/// Copies the pixel at (x, y) as blue, green, red. False if there is none.
bool cv_image_pixel(const cv_image *image, uint32_t x, uint32_t y, uint8_t bgr[3]);

/// Draws an image without meaning, for trying the whole path: strokes on a gradient, in which nothing is to be found.
cv_status cv_image_test_card(int32_t width, int32_t height, cv_image **image, cv_error *error);

/// A small image for people to look at: a baseline JPEG without metadata.
typedef struct {
    uint8_t *bytes;  ///< null where there is none
    size_t length;
    uint32_t width, height;
} cv_preview;

/// Makes `image` small enough that its longer side has at most `longest_side` pixels. On CV_OK the bytes belong to the
/// caller (cv_preview_free).
cv_status cv_image_preview(const cv_image *image, uint32_t longest_side, cv_preview *preview, cv_error *error);
void cv_preview_free(cv_preview *preview);

/// Frees `image`, which may be null.
void cv_image_free(cv_image *image);

#ifdef __cplusplus
}
#endif
