// Images: decoded, upright, 8-bit BGR, and the error that every call of this boundary reports.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Codes of InspectCore's error table that native code can raise; the Swift side maps them one to one.
typedef enum __attribute__((enum_extensibility(closed))) {
    CV_OK = 0,
    CV_UNSUPPORTED_FORMAT = 1,  ///< the bytes are none of JPEG, PNG, WebP, JPEG 2000
    CV_CORRUPT_IMAGE = 2,       ///< the format is known, but decoding failed (torn, truncated, damaged)
    CV_TOO_MANY_PIXELS = 3,     ///< the header announces more pixels or a longer side than the limits allow
    CV_OUT_OF_MEMORY = 4,
    CV_MODEL_UNAVAILABLE = 5,   ///< a model file is missing or is not what it should be
    CV_INTERNAL = 6             ///< a native library threw; the message says what
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

#ifdef __cplusplus
}
#endif
