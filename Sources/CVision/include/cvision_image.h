// Images (decoded, upright, 8-bit BGR) and the error that every function here reports.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Names an enumeration's case for Swift.
#define CV_SWIFT_NAME(name) __attribute__((swift_name(name)))

#ifdef __cplusplus
extern "C" {
#endif

/// The codes of InspectCore's error table that native code can raise. Swift maps them one to one.
typedef enum __attribute__((enum_extensibility(closed))) {
    CV_OK CV_SWIFT_NAME("ok") = 0,
    /// No format of cv_image_format, or a variant of one that is not decoded.
    CV_UNSUPPORTED_FORMAT CV_SWIFT_NAME("unsupportedFormat") = 1,
    /// The format is known, but decoding failed (truncated or damaged).
    CV_CORRUPT_IMAGE CV_SWIFT_NAME("corruptImage") = 2,
    /// The header declares more pixels or a longer side than the limits allow.
    CV_TOO_MANY_PIXELS CV_SWIFT_NAME("tooManyPixels") = 3,
    CV_OUT_OF_MEMORY CV_SWIFT_NAME("outOfMemory") = 4,
    /// A model file is missing or is not the expected one.
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
    CV_FORMAT_JPEG2000 CV_SWIFT_NAME("jpeg2000") = 4,
    CV_FORMAT_HEIC CV_SWIFT_NAME("heic") = 5,
    CV_FORMAT_BMP CV_SWIFT_NAME("bmp") = 6,
    /// A PDF whose page is one image.
    CV_FORMAT_PDF CV_SWIFT_NAME("pdf") = 7
} cv_image_format;

/// Limits on the size in an image's header, checked before any pixel is allocated.
typedef struct {
    uint64_t max_pixels;  ///< width times height
    uint32_t max_side;    ///< width and height each
    /// JPEG and HEIC are decoded at a half, a quarter or an eighth while the longer side keeps this many pixels; 0: only very
    /// large ones are halved.
    uint32_t enough_side;
    /// Keeps what cv_image_recompression looks at.
    bool keeps_coefficients;
} cv_image_limits;

typedef struct {
    cv_image_format format;
    uint32_t width, height;                ///< of the upright image: every coordinate refers to these
    uint32_t stored_width, stored_height;  ///< as declared in the header, before orientation and reduction
    uint32_t orientation;                  ///< EXIF orientation that was applied, 1 to 8 (1 = as stored)
    bool is_grey;                          ///< stored without colours
    char software[256];                    ///< programs that a PDF names as its makers, UTF-8; empty: none
} cv_image_info;

/// Loads the library that PDFs take, since analyzers can open no file, and builds the tables of HEIC: once, before they are forked.
cv_status cv_image_prepare(cv_error *error);

/// Decodes `bytes` to an upright 8-bit image in sRGB; the first bytes alone determine the format.
///
/// Transparent pixels are blended over white. Any missing or damaged image data is CV_CORRUPT_IMAGE: a document whose lower
/// half is grey through damage must not be judged.
/// On CV_OK `*image` belongs to the caller (cv_image_free); otherwise it is null.
cv_status cv_image_decode(const uint8_t *bytes, size_t length, const cv_image_limits *limits, cv_image **image,
                          cv_image_info *info, cv_error *error);

/// Copies the pixel at (x, y) as blue, green, red. False if there is none.
bool cv_image_pixel(const cv_image *image, uint32_t x, uint32_t y, uint8_t bgr[3]);

/// Draws a test image, strokes on a gradient, in which no detector finds anything.
cv_status cv_image_test_card(int32_t width, int32_t height, cv_image **image, cv_error *error);

/// A small image for people to look at: a baseline JPEG without metadata.
typedef struct {
    uint8_t *bytes;  ///< null where there is none
    size_t length;
    uint32_t width, height;
} cv_preview;

/// Reduces `image` to at most `longest_side` pixels on its longer side. On CV_OK the bytes belong to the caller
/// (cv_preview_free).
cv_status cv_image_preview(const cv_image *image, uint32_t longest_side, cv_preview *preview, cv_error *error);
void cv_preview_free(cv_preview *preview);

/// Looks in a JPEG that was compressed before for a patch that was not.
///
/// Editing a JPEG and saving it leaves traces of the first compression everywhere except where pixels are new.
/// `*contradiction` is the share of the strongest patch's coefficients that the first compression excludes, less its
/// uncertainty, 0 to 1; -1: no earlier compression is seen, or `image` has no coefficients: only a JPEG file has, in
/// grey or with luminance at full size, of 16 megapixels at most, neither turned nor reduced, if it kept them.
cv_status cv_image_recompression(const cv_image *image, double *contradiction, cv_error *error);

/// Frees `image`, which may be null.
void cv_image_free(cv_image *image);

#ifdef __cplusplus
}
#endif
