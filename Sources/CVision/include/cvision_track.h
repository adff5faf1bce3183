// A face over the frames of a capture: its position, movement and light.
#pragma once
#include "cvision_face.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The state kept between frames. Belongs to one capture and one thread.
typedef struct cv_face_tracker cv_face_tracker;

/// A region's light: trimmed mean (20th to 80th percentile) in linear light, 0–1.
typedef struct {
    double red, green, blue;
} cv_light;

/// One frame. Lengths without a unit are in eye distances; fields about the face are undefined without one.
typedef struct {
    bool has_face;
    bool has_background;         ///< whether enough of the image lies beside the head
    bool has_change;             ///< whether the frame before had a face too
    bool is_repeated;            ///< every pixel equals that of the frame before
    double scene;                ///< correlation of the whole image, reduced, with the frame before; 1 for the first
    double x, y, width, height;  ///< the detector's box in pixels
    cv_point landmarks[CV_FACE_LANDMARKS];  ///< as in cv_face
    double eye_distance;                    ///< pixels between the eye centres
    double eye_opening;    ///< height of the dark between the lids over the eye's width, mean of both; 0 when closed
    double mouth_opening;  ///< share of the mouth's middle columns as dark as a mouth's inside
    double mouth_width;    ///< length of the dark line between the lips
    double yaw;            ///< degrees, positive towards the right of the image
    double nose_drop;      ///< distance of the base of the nose below the line between the eyes
    cv_light forehead, cheeks, nose, background;
    double saturated;  ///< share (0–1) of forehead and cheeks with a channel at 250 or more
    double change;     ///< mean absolute difference (0–1) of the aligned face from the frame before
} cv_face_frame;

cv_status cv_face_tracker_create(cv_face_tracker **tracker, cv_error *error);
void cv_face_tracker_free(cv_face_tracker *tracker);

/// Measures the next frame. The face is searched for in the whole image once, then near its last position.
cv_status cv_face_track(cv_face_engine *engine, cv_face_tracker *tracker, const cv_image *image, cv_face_frame *frame,
                        cv_error *error);

#ifdef __cplusplus
}
#endif
