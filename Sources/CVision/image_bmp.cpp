// BMP, as document readers write it: Windows headers of 40 bytes and more, colours by palette or in 16, 24 or 32 bits, uncompressed.
// We have our own parser: the format is a header and rows, and Debian's libraries for it also read dozens of other formats.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "image.hpp"
#include "image_codecs.hpp"

namespace cvision {
namespace {

/// Numbers with the least significant byte first. The caller has checked that they are there.
uint32_t number(Source source, size_t at, size_t count) {
    uint32_t value = 0;
    for (size_t index = count; index-- > 0;) value = value << 8 | source.bytes[at + index];
    return value;
}

constexpr size_t file_header = 14;
enum Compression : uint32_t { none = 0, bit_fields = 3, alpha_bit_fields = 6 };

/// One channel's bits within a pixel, and how they become eight.
struct Channel {
    unsigned shift = 0;
    uint32_t most = 0;  // 0: the channel is absent

    explicit Channel(uint32_t mask) {
        if (mask == 0) return;
        while ((mask >> shift & 1) == 0) ++shift;
        most = mask >> shift;
    }

    /// The bits of a channel lie together.
    bool valid() const { return (most & (most + 1)) == 0; }
    uint8_t of(uint32_t pixel) const {
        return most == 0 ? 0
                         : static_cast<uint8_t>((static_cast<uint64_t>(pixel >> shift & most) * 255 + most / 2) / most);
    }
};

struct Header {
    size_t length;  // of the information header
    uint32_t width, height;
    bool top_down;
    uint32_t bits, compression, colours;
    size_t pixels;                    // where they begin in the file
    std::array<uint32_t, 4> masks{};  // red, green, blue, alpha
    size_t after_masks;               // where the palette begins
};

cv_status read_header(Source source, Header &header, cv_error *error) {
    if (source.length < file_header + 40) return fail(error, CV_CORRUPT_IMAGE, "the header is missing");
    header.length = number(source, file_header, 4);
    // 40: BITMAPINFOHEADER; 52 and 56: the same with masks; 108 and 124: V4 and V5. OS/2 had 12, 16 and 64.
    constexpr size_t known[] = {40, 52, 56, 108, 124};
    if (std::find(std::begin(known), std::end(known), header.length) == std::end(known))
        return fail(error, CV_UNSUPPORTED_FORMAT,
                    "a BMP must have a header of Windows; write it again, or send PNG or JPEG");
    if (source.length < file_header + header.length) return fail(error, CV_CORRUPT_IMAGE, "the header is cut off");
    const auto width = static_cast<int32_t>(number(source, file_header + 4, 4));
    const auto height = static_cast<int32_t>(number(source, file_header + 8, 4));
    if (width <= 0 || height == 0 || height == INT32_MIN || number(source, file_header + 12, 2) != 1)
        return fail(error, CV_CORRUPT_IMAGE, "the header is invalid");
    header.width = static_cast<uint32_t>(width);
    header.top_down = height < 0;
    header.height = static_cast<uint32_t>(height < 0 ? -height : height);
    header.bits = number(source, file_header + 14, 2);
    header.compression = number(source, file_header + 16, 4);
    header.colours = number(source, file_header + 32, 4);
    header.pixels = number(source, 10, 4);
    header.after_masks = file_header + header.length;
    return CV_OK;
}

/// The masks of 16 and 32 bits: in the header, or behind one of 40 bytes.
cv_status read_masks(Source source, Header &header, cv_error *error) {
    const bool fields = header.compression == bit_fields || header.compression == alpha_bit_fields;
    if (!fields) {
        if (header.bits == 16) header.masks = {0x7C00, 0x03E0, 0x001F, 0};
        else header.masks = {0xFF0000, 0x00FF00, 0x0000FF, 0};
        return CV_OK;
    }
    if (header.bits != 16 && header.bits != 32) return fail(error, CV_CORRUPT_IMAGE, "masks without pixels for them");
    const size_t count = header.length >= 56 || header.compression == alpha_bit_fields ? 4 : 3;
    const size_t at = file_header + 40;
    if (source.length < at + 4 * count) return fail(error, CV_CORRUPT_IMAGE, "the masks are cut off");
    for (size_t index = 0; index < count; ++index) header.masks[index] = number(source, at + 4 * index, 4);
    if (header.length == 40) header.after_masks += 4 * count;
    uint32_t seen = 0;
    for (const uint32_t mask : header.masks) {
        if (!Channel(mask).valid() || (mask & seen) != 0 || (header.bits == 16 && mask > 0xFFFF))
            return fail(error, CV_CORRUPT_IMAGE, "the masks are invalid");
        seen |= mask;
    }
    return CV_OK;
}

/// Pixels of 1, 4 or 8 bits: numbers of a palette's colours, blue first.
cv_status read_indexed(Source source, const Header &header, size_t stride, StoredImage &stored, cv_error *error) {
    const size_t most = size_t{1} << header.bits;
    const size_t count = header.colours == 0 ? most : header.colours;
    if (count > most || header.after_masks > header.pixels || 4 * count > header.pixels - header.after_masks)
        return fail(error, CV_CORRUPT_IMAGE, "the palette is invalid");
    const uint8_t *palette = source.bytes + header.after_masks;
    stored.grey = true;
    for (size_t index = 0; index < count; ++index) {
        const uint8_t *colour = palette + 4 * index;
        stored.grey = stored.grey && colour[0] == colour[1] && colour[1] == colour[2];
    }
    for (uint32_t y = 0; y < header.height; ++y) {
        const uint8_t *in = source.bytes + header.pixels + stride * y;
        uint8_t *out = stored.bgr.ptr<uint8_t>(static_cast<int>(header.top_down ? y : header.height - 1 - y));
        for (uint32_t x = 0; x < header.width; ++x, out += 3) {
            const uint32_t first = x * header.bits;
            const size_t index = in[first / 8] >> (8 - header.bits - first % 8) & (most - 1);
            if (index >= count) return fail(error, CV_CORRUPT_IMAGE, "a pixel has a colour that the palette lacks");
            std::memcpy(out, palette + 4 * index, 3);
        }
    }
    return CV_OK;
}

/// Pixels of 16, 24 or 32 bits.
void read_direct(Source source, const Header &header, size_t stride, StoredImage &stored) {
    const Channel red(header.masks[0]), green(header.masks[1]), blue(header.masks[2]), alpha(header.masks[3]);
    const bool plain = header.masks[0] == 0xFF0000 && header.masks[1] == 0xFF00 && header.masks[2] == 0xFF;
    const size_t size = header.bits / 8;
    cv::Mat bgra;
    if (alpha.most != 0) bgra.create(stored.bgr.size(), CV_8UC4);
    bool transparent = false;
    for (uint32_t y = 0; y < header.height; ++y) {
        const uint8_t *in = source.bytes + header.pixels + stride * y;
        const auto row = static_cast<int>(header.top_down ? y : header.height - 1 - y);
        uint8_t *out = stored.bgr.ptr<uint8_t>(row);
        uint8_t *veil = alpha.most != 0 ? bgra.ptr<uint8_t>(row) : nullptr;
        if (size == 3) {
            std::memcpy(out, in, size_t{3} * header.width);
            continue;
        }
        for (uint32_t x = 0; x < header.width; ++x, in += size, out += 3) {
            const uint32_t pixel = number({in, size}, 0, size);
            if (plain) {
                std::memcpy(out, in, 3);
            } else {
                out[0] = blue.of(pixel);
                out[1] = green.of(pixel);
                out[2] = red.of(pixel);
            }
            if (veil == nullptr) continue;
            std::memcpy(veil, out, 3);
            veil[3] = alpha.of(pixel);
            transparent = transparent || veil[3] != 0;
            veil += 4;
        }
    }
    // Many programs declare the fourth byte and leave it 0.
    if (transparent) stored.bgr = over_white(bgra);
}

/// The profile inside a file with a header of 124 bytes.
std::optional<ColourSpace> embedded_colours(Source source, const Header &header) {
    constexpr uint32_t embedded = 0x4D424544;  // "MBED"
    if (header.length < 124 || number(source, file_header + 56, 4) != embedded) return std::nullopt;
    const size_t offset = number(source, file_header + 112, 4), length = number(source, file_header + 116, 4);
    const size_t rest = source.length - file_header;
    if (offset > rest || length > rest - offset) return std::nullopt;
    return colours_of_profile({source.bytes + file_header + offset, length});
}

}  // namespace

cv_status decode_bmp(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    Header header{};
    if (const cv_status status = read_header(source, header, error); status != CV_OK) return status;
    if (const cv_status size = check_size(header.width, header.height, limits, error); size != CV_OK) return size;
    if (header.compression != none && header.compression != bit_fields && header.compression != alpha_bit_fields)
        return fail(error, CV_UNSUPPORTED_FORMAT, "a compressed BMP; write it uncompressed, or send PNG or JPEG");
    const bool indexed = header.bits == 1 || header.bits == 4 || header.bits == 8;
    if (!indexed && header.bits != 16 && header.bits != 24 && header.bits != 32)
        return fail(error, CV_UNSUPPORTED_FORMAT, "a BMP must have 1, 4, 8, 16, 24 or 32 bits a pixel");
    if (const cv_status status = read_masks(source, header, error); status != CV_OK) return status;
    // A row fills whole words of four bytes.
    const size_t stride = (static_cast<size_t>(header.width) * header.bits + 31) / 32 * 4;
    if (header.pixels < header.after_masks || header.pixels > source.length ||
        stride * header.height > source.length - header.pixels)
        return fail(error, CV_CORRUPT_IMAGE, "the pixels are cut off");
    stored.width = header.width;
    stored.height = header.height;
    stored.bgr.create(static_cast<int>(header.height), static_cast<int>(header.width), CV_8UC3);
    stored.colours = embedded_colours(source, header);
    if (indexed) return read_indexed(source, header, stride, stored, error);
    read_direct(source, header, stride, stored);
    return CV_OK;
}

}  // namespace cvision
