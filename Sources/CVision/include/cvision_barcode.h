// Barcodes of documents: PDF417.
#pragma once
#include "cvision_document.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const uint8_t *bytes;  ///< as encoded, exactly; may contain NUL
    size_t length;
    const char *text;  ///< the same as UTF-8; may contain NUL
    size_t text_length;
    cv_point corners[4];  ///< clockwise from the symbol's own top left
} cv_barcode;

/// What was read; owns the bytes and texts. Freed by cv_barcodes_free.
typedef struct cv_barcodes cv_barcodes;

/// Reads all PDF417 symbols in `image`.
///
/// Where the picture as it is gives none, the regions that look like a symbol are straightened, enlarged and cleaned
/// for up to `extra_milliseconds` more. `outline` may be null.
cv_status cv_barcode_read(const cv_image *image, const cv_outline *outline, uint32_t extra_milliseconds,
                          cv_barcodes **barcodes, cv_error *error);
size_t cv_barcodes_count(const cv_barcodes *barcodes);
/// The barcode at `index`, valid as long as `barcodes`.
cv_barcode cv_barcodes_get(const cv_barcodes *barcodes, size_t index);
/// Frees `barcodes`, which may be null.
void cv_barcodes_free(cv_barcodes *barcodes);

#ifdef __cplusplus
}
#endif
