// Barcodes of documents: PDF417 and square ones.
#pragma once
#include "cvision_document.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum __attribute__((enum_extensibility(closed))) {
    CV_BARCODE_PDF417 CV_SWIFT_NAME("pdf417") = 1,
    CV_BARCODE_QR CV_SWIFT_NAME("qr") = 2,
    CV_BARCODE_DATA_MATRIX CV_SWIFT_NAME("dataMatrix") = 3,
    CV_BARCODE_AZTEC CV_SWIFT_NAME("aztec") = 4
} cv_barcode_format;

typedef struct {
    cv_barcode_format format;
    const uint8_t *bytes;  ///< exactly as encoded; may contain NUL
    size_t length;
    const char *text;  ///< the same in UTF-8; may contain NUL
    size_t text_length;
    cv_point corners[4];  ///< clockwise from the barcode's own top left
} cv_barcode;

/// The barcodes found, with their bytes and texts. Freed by cv_barcodes_free.
typedef struct cv_barcodes cv_barcodes;

/// Reads the barcodes in `image`. Regions that look like a barcode are straightened and sharpened, then read inside the
/// straightened `outline` (which may be null), then enlarged and cleaned for up to `extra_milliseconds` of processor time.
/// Without such a region the whole image is scanned quickly as it is, unless `only_likely`.
cv_status cv_barcode_read(const cv_image *image, const cv_outline *outline, bool only_likely,
                          uint32_t extra_milliseconds, cv_barcodes **barcodes, cv_error *error);
size_t cv_barcodes_count(const cv_barcodes *barcodes);
/// The barcode at `index`, valid as long as `barcodes`.
cv_barcode cv_barcodes_get(const cv_barcodes *barcodes, size_t index);
/// Frees `barcodes`, which may be null.
void cv_barcodes_free(cv_barcodes *barcodes);

#ifdef __cplusplus
}
#endif
