// Documents in images: their outline, and measures of image quality.
#pragma once
#include "cvision_image.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /// Clockwise from the corner at the top left of the upright image; may lie outside the frame.
    cv_point corners[4];
    double aspect_ratio;  ///< longer over shorter side of the document, perspective removed
    int corners_outside;  ///< corners outside the frame or on its border
    double support;       ///< share of the outline that lies on edges in the image, 0 to 1
} cv_outline;

/// Finds the outline of the document in `image`. `*found` is false if the image is itself the crop of a document
/// or shows none.
cv_status cv_document_outline(const cv_image *image, cv_outline *outline, bool *found, cv_error *error);

/// Quality measures. "Document" means the inside of the outline, or the whole frame where there is none.
typedef struct {
    double laplacian_variance;  ///< of the luminance, at 1,000 px document width
    double edge_width;          ///< median width of strong edges on the blurrier axis, px at 1,000 px document width
    double coherence;           ///< of the strong gradients' directions at that width, 0 (random) to 1 (all the same)
    double brightness;          ///< mean luminance of the document, 0 to 255
    double contrast;            ///< standard deviation of the luminance of the document
    double glare_share;         ///< share of the document under saturated, colourless, soft-edged blobs, 0 to 1
    double chroma;              ///< 95th percentile of max - min over the colour channels in the document, 0 to 255
    double background_chroma;   ///< the same outside the document; -1 where too little of it is visible
    double midtone_share;       ///< share of the frame that is neither near black nor near white, 0 to 1
    double document_width;      ///< longer side of the document, px of the image
    double moire;               ///< strength of isolated periodic patterns: ln of peak over surroundings; -1: too small
    double halftone;            ///< share of patches with the rotated dot grids of offset printing; -1: too small
    double occlusion;           ///< share of the document under skin-coloured blobs that cross its outline; -1: none
    double balanced_chroma;     ///< chroma with the paper's tint removed, 0 to 255
    double missing_corner;      ///< similarity of a corner's tip to the table, 0 to 1; -1: unknown
    double punched_hole;        ///< likeness of a round patch to a hole that shows the table, 0 to 1; -1: unknown
    double torn_edge;           ///< depth of the deepest piece that an edge lacks, over the longer side; -1: unknown
    double print_share;         ///< share of the document under thin dark strokes, 0 to 1
} cv_quality;

/// Measures `image`; `outline` is null if none was found. `with_moire` costs a fifth of the time, and is meaningless for an
/// image that was reduced while it was decoded.
cv_status cv_document_quality(const cv_image *image, const cv_outline *outline, bool with_moire, cv_quality *quality,
                              cv_error *error);

/// Rows and columns of a thumbnail.
enum { CV_THUMBNAIL_SIDE = 16 };

/// The document's luminance, straightened and squeezed into a square: what tells two images of one side from those of two sides.
cv_status cv_document_thumbnail(const cv_image *image, const cv_outline *outline,
                                uint8_t thumbnail[CV_THUMBNAIL_SIDE * CV_THUMBNAIL_SIDE], cv_error *error);

#ifdef __cplusplus
}
#endif
