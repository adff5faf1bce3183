// Compares arithmetic that depends on the processor with plain sums, and with OpenCV.
#pragma once
#include <stdint.h>

#include "cvision_image.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int64_t compared;   ///< sums, answers, averages and colours
    int64_t different;  ///< of these, those that differ; 0 is correct on every processor
    int64_t runs;       ///< convolutions, networks and reductions that computed them
    int64_t wide_runs;  ///< of these, runs of code for registers of more than four floats
    int32_t lanes;      ///< floats in the widest register of this processor that the code uses: 4, 8 or 16
} cv_arithmetic_check;

/// Runs `rounds` of each over random numbers drawn from `seed`, and compares each sum with a plain one, each answer with plain
/// code's, each average and colour with OpenCV's. Registers of more than `most_lanes` floats stay unused.
cv_status cv_arithmetic_verify(uint64_t seed, int32_t rounds, int32_t most_lanes, cv_arithmetic_check *_Nonnull check,
                               cv_error *_Nullable error);

#ifdef __cplusplus
}
#endif
