// The versions of the native libraries.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Writes `name=version` for each library, separated by blanks, into `text` of `size` bytes.
void cv_versions(char *_Nonnull text, size_t size);

#ifdef __cplusplus
}
#endif
