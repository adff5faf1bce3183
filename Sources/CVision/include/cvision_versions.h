// The versions of the native libraries.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Writes `name=version` for each library, separated by blanks, into `text` of `size` bytes.
void cv_versions(char *_Nonnull text, size_t size);

/// What OPENBLAS_CORETYPE should be: an OpenBLAS older than the processor takes it for the oldest that it knows, and multiplies four
/// numbers at a time. NULL if its own choice is right, or BLAS is another.
const char *_Nullable cv_blas_core(void);

#ifdef __cplusplus
}
#endif
