// The MRZ: found anywhere in an image, in any orientation, and read as probabilities of characters.
#pragma once
#include "cvision_document.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CV_MRZ_CLASSES = 37,  ///< A–Z, 0–9, <, in this order
    CV_MRZ_MAX_LINES = 3,
    CV_MRZ_MAX_CELLS = 44,
    CV_MRZ_MAX_READINGS = 4
};

/// One line of an MRZ, divided into cells of equal pitch.
typedef struct {
    int32_t cell_count;                                 ///< 9, 30, 36 or 44
    float posterior[CV_MRZ_MAX_CELLS][CV_MRZ_CLASSES];  ///< probabilities for each cell; they add up to 1
    double pitch;                                       ///< pixels of the image per cell
    double sharpness;  ///< width of the strokes' edges (10–90 %) over the pitch; above about 0.35 too blurred to read
    cv_point start, end;  ///< centres of the first and the last cell
} cv_mrz_line;

/// One reading of an MRZ. An image whose layout is uncertain yields several, the likeliest first.
typedef struct {
    int32_t line_count;
    cv_mrz_line lines[CV_MRZ_MAX_LINES];
    cv_point quad[4];  ///< top left, top right, bottom right, bottom left of the MRZ in reading direction
    double turn;       ///< clockwise rotation of the content in degrees, -180 to 180
    double pitch;      ///< mean pixels per cell
    double score;      ///< mean log-likelihood per cell of the layout; 0 is perfect
} cv_mrz_reading;

/// Finds and reads MRZ; `*count` is 0 when the image shows none.
///
/// Searches inside `outline` first, which may be null. Deterministic and single-threaded. The networks are part of the program.
cv_status cv_mrz_read(const cv_image *_Nonnull image, const cv_outline *_Nullable outline,
                      cv_mrz_reading *_Nonnull readings, int32_t capacity, int32_t *_Nonnull count,
                      cv_error *_Nullable error);

/// Loads the networks, in some 3 ms: once, before analyzers are forked.
cv_status cv_mrz_prepare(cv_error *_Nullable error);

/// An MRZ as seen at a glance, unread.
typedef struct {
    int32_t line_count;  ///< of the block with most evidence; 0 when the image shows none
    double shortest;     ///< characters of the shortest line, about
    double longest;      ///< of the longest one
} cv_mrz_sight;

/// Looks for MRZ inside `outline`, which may be null, in one pass at a small size. Misses print that fills little of the image.
cv_status cv_mrz_glance(const cv_image *_Nonnull image, const cv_outline *_Nullable outline,
                        cv_mrz_sight *_Nonnull sight, cv_error *_Nullable error);

#ifdef __cplusplus
}
#endif
