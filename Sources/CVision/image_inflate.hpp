#pragma once
#include "image_codecs.hpp"

namespace cvision {

/// Inflates a zlib stream into `room` bytes at most. Returns how many were written before its end, its damage or that limit.
size_t inflate_into(Source deflated, uint8_t *out, size_t room);

}  // namespace cvision
