// Networks in ONNX files that an operator configured, run by OpenCV's own engine on one thread.
#pragma once
#include "cvision_image.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A loaded network. Holds scratch memory: one thread at a time. Safe to fork.
typedef struct cv_network cv_network;

/// A network's input: an image of `width` by `height` pixels whose channels are (value − mean) × scale.
typedef struct {
    uint32_t width, height;
    bool rgb;        ///< red first; otherwise blue first, as OpenCV has it
    float mean[3];   ///< per channel in the network's order, of values 0–255
    float scale[3];  ///< per channel in the network's order
} cv_network_input;

/// Loads the network in the file at `path` (`name` in messages) if its SHA-256 (lower-case hex) is `sha256`, and runs it once,
/// so that all it allocates is there before a fork. Returns CV_MODEL_UNAVAILABLE when the file is missing, another one, or no
/// network that OpenCV can run on such an input.
cv_status cv_network_create(const char *path, const char *name, const char *sha256, const cv_network_input *input,
                            cv_network **network, cv_error *error);
void cv_network_free(cv_network *network);

/// The length of the network's only or last output.
size_t cv_network_output_length(const cv_network *network);

/// Runs the network on the rectangle of `image` from (x, y), stretched to the input. Outside the image, the pixels of its edge
/// are repeated. Writes cv_network_output_length numbers.
cv_status cv_network_run_region(cv_network *network, const cv_image *image, double x, double y, double width,
                                double height, float *output, cv_error *error);

/// Runs the network on `image` rotated, scaled and moved so that two points lie where the network expects them, in pixels of
/// its input. Outside the image, pixels are black. With `mirrored` the input is mirrored afterwards.
cv_status cv_network_run_aligned(cv_network *network, const cv_image *image, cv_point left, cv_point right,
                                 cv_point wanted_left, cv_point wanted_right, bool mirrored, float *output,
                                 cv_error *error);

#ifdef __cplusplus
}
#endif
