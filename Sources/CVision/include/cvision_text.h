// VIZ text: finds and reads lines of text on a document.
#pragma once
#include "cvision_image.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CV_TEXT_MAX_LINES = 96,
    CV_TEXT_MAX_CHARACTERS = 96,
};

/// SHA-256 of the network's weights, lower-case hex; lives as long as the program.
const char *_Nonnull cv_text_model_sha256(void);

/// One line of text. Lengths are pixels of the straightened document (see cv_text_page_size).
typedef struct {
    double x, y, width, height;  ///< box of its characters, without margins
    double character_height;     ///< of its capitals or digits
    int32_t marks;               ///< connected strokes, about one for each character
    cv_point quad[4];            ///< the same box in the image, clockwise from the line's own top left
} cv_text_line;

/// A straightened document with the lines found on it. Freed by cv_text_page_free.
typedef struct cv_text_page cv_text_page;

/// Straightens the quad `corners` (clockwise from the top left as the document is read) and finds its lines of dark text.
///
/// Nothing inside `ignored` (`ignored_count` quads of four corners each: MRZ and barcodes, then `portrait_count` portraits) counts as
/// text, but what begins inside a portrait's surroundings may continue a line next to it. `wanted_side`: the longer side of the
/// straightened document in pixels, at most 1,400 and twice that in the image; 0: what small print takes.
cv_status cv_text_page_create(const cv_image *_Nonnull image, const cv_point *_Nonnull corners,
                              const cv_point *_Nullable ignored, int32_t ignored_count, int32_t portrait_count,
                              double wanted_side, cv_text_page *_Nullable *_Nonnull page, cv_error *_Nullable error);
/// Draws the state's sign of the EU emblem in the upper left of the card `corners` as a page of its own with one line, dark on light,
/// or none if the sign is not legible. `page` is null if there is no emblem: a blue rectangle with a ring of yellow stars.
cv_status cv_text_emblem_create(const cv_image *_Nonnull image, const cv_point *_Nonnull corners,
                                cv_text_page *_Nullable *_Nonnull page, cv_error *_Nullable error);
void cv_text_page_free(cv_text_page *_Nullable page);
/// Width and height of the straightened document in pixels.
void cv_text_page_size(const cv_text_page *_Nonnull page, double *_Nonnull width, double *_Nonnull height);
int32_t cv_text_page_count(const cv_text_page *_Nonnull page);
cv_text_line cv_text_page_line(const cv_text_page *_Nonnull page, int32_t index);

/// The text of a line: code points with the recogniser's confidence in each, 0 to 1; blanks have that of their neighbours. A
/// diacritic follows its letter as a combining mark; a letter that is neither Latin nor a digit is U+FFFD.
typedef struct {
    int32_t count;
    uint32_t characters[CV_TEXT_MAX_CHARACTERS];
    float confidences[CV_TEXT_MAX_CHARACTERS];
} cv_text_reading;

/// Which of the two networks read: the second was trained longer, and reads small and faint print better, but overlooks blanks.
typedef enum { CV_TEXT_FIRST, CV_TEXT_SECOND } cv_text_readers;

/// Reads the line at `index` of `page`, in about 0.12 ms for each character and network. `again` uses other margins, for a second
/// reading that is independent of the first.
cv_status cv_text_read(const cv_text_page *_Nonnull page, int32_t index, bool again, cv_text_readers readers,
                       cv_text_reading *_Nonnull reading, cv_error *_Nullable error);

/// The same for any box of `page`, in its pixels.
cv_status cv_text_read_box(const cv_text_page *_Nonnull page, double x, double y, double width, double height,
                           cv_text_readers readers, cv_text_reading *_Nonnull reading, cv_error *_Nullable error);

#ifdef __cplusplus
}
#endif
