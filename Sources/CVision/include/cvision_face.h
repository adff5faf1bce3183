// Faces: their positions, their quality, and the embeddings (128 numbers) by which they are compared.
#pragma once
#include "cvision_document.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CV_FACE_LANDMARKS = 5,
    CV_FACE_EMBEDDING_LENGTH = 128,
    CV_SHA256_HEX_LENGTH = 64,
};

/// The loaded models: frontal HOG detector, 5-point shape predictor, ResNet descriptor. Holds scratch memory: one thread at
/// a time. Safe to fork.
typedef struct cv_face_engine cv_face_engine;

/// One face. Lengths are pixels of the upright image.
typedef struct {
    double x, y, width, height;  ///< the detector's box: brows to chin, about 1.3 eye distances wide each side
    double score;                ///< the detector's margin, from 0; comparable only within this engine
    int32_t quarter_turns;       ///< clockwise turns (0–3) that bring the face upright
    cv_point
        landmarks[CV_FACE_LANDMARKS];  ///< left eye outer, inner; right eye outer, inner (as seen); base of the nose
    double inter_eye_distance;         ///< between the eye centres
    double roll;                       ///< degrees, clockwise positive, from the line between the eye centres
    double yaw_offset;          ///< nose base off the eyes' perpendicular bisector, over the eye distance; 0 is frontal
    double luminance_mean;      ///< 0–1, linearised sRGB, over the inner face
    double luminance_variance;  ///< of the same values, 0–1
    double over_exposed;        ///< share (0–1) of the inner face with luminance 247–255
    double under_exposed;       ///< share (0–1) of the inner face with luminance 0–25
    double illumination_uniformity;  ///< 0–1: histogram intersection of both cheeks
    double dynamic_range;            ///< entropy of the inner face's luminance in bits, 0–8
    double chroma;                   ///< mean distance from grey of the inner face in CIELAB; about 0 in a grey image
    double sharpness;                ///< variance of the Laplacian of the inner face, eyes 75 px apart
    double centre_x;                 ///< centre between the eyes over the image's width
    double eye_line_y;               ///< height of that centre above the image's bottom over the image's height
    double head_width;               ///< width of the head (estimated from the eyes) over the image's width
    double visible;                  ///< share (0–1) of the head's estimated rectangle that lies inside the image
    double colour_distance;          ///< of the cheeks' mean colour from that of skin in daylight, in CIELAB (OFIQ)
    double background_gradient;  ///< mean gradient around the head, 0–255 a pixel at 320 px; < 0: nothing around it
    bool has_contour;            ///< whether the following were measured: they need the 68-point model
    double eye_opening;          ///< gap of the lids of the eye that is less open, over face_length
    double eye_aspect;           ///< gap of the lids over the eye's width, mean of both eyes
    double mouth_opening;        ///< gap between the inner lips over face_length
    double smile_width;          ///< between the corners of the mouth over inter_eye_distance
    double pitch, yaw;           ///< degrees; positive: down, and towards the image's right
    double face_length;          ///< from the middle between the eyes to the chin
} cv_face;

/// Loads the models from `folder` and checks each against the SHA-256 that this version was calibrated with; `contour`,
/// unless null, is the file of the 68-point model, whose training data forbids commercial use (300-W). Without `describes`, the
/// engine finds faces and computes no embeddings; it needs the landmark model alone.
/// Returns CV_MODEL_UNAVAILABLE when a file is missing, unreadable or another one. OpenCV uses one thread from then on.
cv_status cv_face_engine_create(const char *folder, const char *contour, bool describes, cv_face_engine **engine,
                                cv_error *error);
void cv_face_engine_free(cv_face_engine *engine);

/// While it rehearses, an engine searches images at a quarter of the size: the same code runs, but may miss
/// faces.
void cv_face_engine_rehearse(cv_face_engine *engine, bool rehearses);

/// SHA-256 of the descriptor's model file, lower-case hex, NUL-terminated; lives as long as the engine.

const char *cv_face_engine_model_sha256(const cv_face_engine *engine);

/// Finds faces, largest first. `count` is how many were found, which may exceed `capacity`; only `capacity` are written.
/// `known_turns` are the clockwise quarter turns (0–3) that bring the image upright, or −1 if unknown: then all four
/// orientations are tried, which costs most if there is no face. With `only_largest` the search ends when the largest face
/// is certain, and may miss smaller ones.
cv_status cv_face_detect(cv_face_engine *engine, const cv_image *image, int32_t known_turns, bool only_largest,
                         cv_face *faces, size_t capacity, size_t *count, cv_error *error);

/// What is known about a document whose faces are sought. Corners go clockwise from the top left.
typedef struct {
    bool has_outline;
    cv_point outline[4];
    bool has_mrz;
    cv_point mrz[4];      ///< of the MRZ in reading direction; portraits are above it
    bool bears_portrait;  ///< also search for small faces and in other orientations; otherwise one pass of 5 ms
} cv_document_side;

/// The same for the image of a document, where the sizes of faces are known.
cv_status cv_face_detect_on_document(cv_face_engine *engine, const cv_image *image, const cv_document_side *side,
                                     int32_t known_turns, cv_face *faces, size_t capacity, size_t *count,
                                     cv_error *error);

/// Descriptors of `count` faces of `image`, CV_FACE_EMBEDDING_LENGTH numbers each: the mean over the aligned face and its
/// mirror image, computed in one pass of the network.
cv_status cv_face_embeddings(cv_face_engine *engine, const cv_image *image, const cv_face *faces, size_t count,
                             float *embeddings, cv_error *error);

/// Searches the upright document for its ghost image: a face of 0.35 to 0.85 of the width of `portrait`, next to it, with at least about
/// `least_eye_distance` pixels between the eyes. Only `portrait`'s box and turns are used; of several faces the surest is
/// written.
cv_status cv_face_ghost(cv_face_engine *engine, const cv_image *image, const cv_document_side *side,
                        const cv_face *portrait, double least_eye_distance, cv_face *ghost, bool *found,
                        cv_error *error);

/// Whether the embedded detector is the one of the dlib that this was built with.
bool cv_face_detector_is_dlibs(void);

/// Whether the detector finds the boxes that dlib's own code finds, with scores within 0.02, and answers alike to the bit with
/// registers of four floats and of eight. `lanes` is 4 if the processor has no wider registers.
bool cv_face_scanner_is_right(const cv_image *image, size_t *faces, int32_t *lanes);

/// Presentation attack detection (PAD) signals, 0–1 each, 1 most suspicious. They never prove that a face is live.
typedef struct {
    double moire;          ///< strongest isolated peak of the face's spectrum, as the pixel grid of a screen makes
    double specular;       ///< share of the face in colourless saturated spots; 5 % and more count as 1
    double frame;          ///< support of a bright-to-dark rectangle around the face: bezel, edge of a print
    double flat_focus;     ///< how alike face and surroundings are in sharpness, as on a plane
    double narrow_colour;  ///< lack of colour variety on the skin
    double grey;           ///< lack of any colour: a photocopy or a monochrome print
    double soft;           ///< lack of fine detail on the face
} cv_face_signals;

/// Measures the signals around one face of `image`.
cv_status cv_face_liveness(const cv_image *image, const cv_face *face, cv_face_signals *signals, cv_error *error);

#ifdef __cplusplus
}
#endif
