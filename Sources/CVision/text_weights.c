// The trained weights of the text reader (Training/README.md), embedded so that no model file has to be found at run time.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include <stddef.h>

const unsigned char cvision_text_reader_weights[] = {
#embed "text_reader.bin"
};
const size_t cvision_text_reader_weights_size = sizeof cvision_text_reader_weights;

const unsigned char cvision_text_second_weights[] = {
#embed "text_second.bin"
};
const size_t cvision_text_second_weights_size = sizeof cvision_text_second_weights;
