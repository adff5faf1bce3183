#include <tesseract/capi.h>

#include "TextReferee.h"

referee *referee_create(void) {
    // Names and numbers are not words of a language.
    char *names[] = {"load_system_dawg", "load_freq_dawg",    "load_punc_dawg",
                     "load_number_dawg", "load_unambig_dawg", "load_bigram_dawg"};
    char *values[] = {"0", "0", "0", "0", "0", "0"};
    TessBaseAPI *api = TessBaseAPICreate();
    if (TessBaseAPIInit4(api, "/usr/share/tesseract-ocr/5/tessdata", "eng", OEM_LSTM_ONLY, NULL, 0, names, values,
                         sizeof names / sizeof names[0], FALSE) != 0) {
        TessBaseAPIDelete(api);
        return NULL;
    }
    TessBaseAPISetPageSegMode(api, PSM_RAW_LINE);
    return (referee *)api;
}

void referee_free(referee *one) {
    if (one != NULL) TessBaseAPIDelete((TessBaseAPI *)one);
}

char *referee_read(referee *one, const uint8_t *gray, int width, int height) {
    TessBaseAPI *api = (TessBaseAPI *)one;
    TessBaseAPISetImage(api, gray, width, height, 1, width);
    TessBaseAPISetSourceResolution(api, 300);
    char *text = TessBaseAPIRecognize(api, NULL) == 0 ? TessBaseAPIGetUTF8Text(api) : NULL;
    TessBaseAPIClear(api);
    return text;
}

void referee_text_free(char *text) { TessDeleteText(text); }
