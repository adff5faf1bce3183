// The C boundary of all native image analysis: no OpenCV, dlib or ZXing type appears here, no function throws, and the caller
// owns every buffer.
#pragma once
#include "cvision_arithmetic.h"
#include "cvision_barcode.h"
#include "cvision_document.h"
#include "cvision_face.h"
#include "cvision_track.h"
#include "cvision_image.h"
#include "cvision_mrz.h"
#include "cvision_network.h"
#include "cvision_text.h"
#include "cvision_versions.h"
