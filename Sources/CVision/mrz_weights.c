// The trained weights (Training/README.md), embedded so that no model file has to be found at run time.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include <stddef.h>

const unsigned char cvision_mrz_reader_weights[] = {
#embed "mrz_reader.bin"
};
const size_t cvision_mrz_reader_weights_size = sizeof cvision_mrz_reader_weights;

const unsigned char cvision_mrz_detector_weights[] = {
#embed "mrz_detector.bin"
};
const size_t cvision_mrz_detector_weights_size = sizeof cvision_mrz_detector_weights;
