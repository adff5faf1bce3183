// Tesseract's line recogniser without dictionaries, with Debian's English model.
#pragma once
#include <stdint.h>

typedef struct referee referee;

/// Null where the model is missing.
referee *_Nullable referee_create(void);
void referee_free(referee *_Nullable one);

/// Reads one line of 8-bit grey, `width` bytes a row. Null where Tesseract fails; otherwise free it with `referee_text_free`.
char *_Nullable referee_read(referee *_Nonnull one, const uint8_t *_Nonnull gray, int width, int height);
void referee_text_free(char *_Nullable text);
