// WebP by libwebp.
#include <webp/decode.h>

#include <cstring>

#include "image.hpp"
#include "image_codecs.hpp"

namespace cvision {
namespace {

uint32_t little_endian(const uint8_t *bytes) {
    return static_cast<uint32_t>(bytes[0]) | static_cast<uint32_t>(bytes[1]) << 8 |
           static_cast<uint32_t>(bytes[2]) << 16 | static_cast<uint32_t>(bytes[3]) << 24;
}

/// Walks the RIFF chunks for `EXIF`, whose body is a TIFF structure, which some writers precede with "Exif\0\0", and `ICCP`.
void read_metadata(Source source, StoredImage &stored) {
    size_t at = 12;
    bool turned = false;
    while (at + 8 <= source.length) {
        const uint64_t length = little_endian(source.bytes + at + 4);
        if (length > source.length - at - 8) break;
        const uint8_t *body = source.bytes + at + 8;
        if (std::memcmp(source.bytes + at, "ICCP", 4) == 0)
            stored.colours = colours_of_profile({body, static_cast<size_t>(length)});
        if (!turned && std::memcmp(source.bytes + at, "EXIF", 4) == 0) {
            const size_t skip = length >= 6 && std::memcmp(body, "Exif\0\0", 6) == 0 ? 6 : 0;
            stored.orientation = exif_orientation({body + skip, static_cast<size_t>(length) - skip});
            turned = true;
        }
        at += 8 + static_cast<size_t>(length) + (length & 1);
    }
}

}  // namespace

cv_status decode_webp(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    if (source.length < 20 || little_endian(source.bytes + 4) > source.length - 8)
        return fail(error, CV_CORRUPT_IMAGE, "the file is shorter than its header says");
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(source.bytes, source.length, &features) != VP8_STATUS_OK)
        return fail(error, CV_CORRUPT_IMAGE, "the header is damaged");
    const cv_status size =
        check_size(static_cast<uint64_t>(features.width), static_cast<uint64_t>(features.height), limits, error);
    if (size != CV_OK) return size;
    if (features.has_animation) return fail(error, CV_UNSUPPORTED_FORMAT, "animated WebP");
    stored.width = static_cast<uint32_t>(features.width);
    stored.height = static_cast<uint32_t>(features.height);
    stored.bgr.create(features.height, features.width, features.has_alpha ? CV_8UC4 : CV_8UC3);
    const size_t bytes = stored.bgr.total() * stored.bgr.elemSize();
    const int stride = static_cast<int>(stored.bgr.step);
    const uint8_t *decoded = features.has_alpha
                                 ? WebPDecodeBGRAInto(source.bytes, source.length, stored.bgr.data, bytes, stride)
                                 : WebPDecodeBGRInto(source.bytes, source.length, stored.bgr.data, bytes, stride);
    if (decoded == nullptr) return fail(error, CV_CORRUPT_IMAGE, "the image data is damaged");
    if (features.has_alpha) stored.bgr = over_white(stored.bgr);
    read_metadata(source, stored);
    return CV_OK;
}

}  // namespace cvision
