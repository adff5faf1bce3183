// PNG by libpng.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "image.hpp"
#include "image_codecs.hpp"
#include "image_inflate.hpp"

namespace cvision {
namespace {

/// Chunks that libpng would inflate: skipped unread, so they cannot be decompression bombs. The profile is read below, within
/// its own limit.
constexpr unsigned char ignored_chunks[] = "iCCP\0zTXt\0iTXt\0tEXt\0sPLT\0hIST\0pCAL";
constexpr int ignored_count = 7;
constexpr png_alloc_size_t max_chunk = 1u << 20;

struct Session {
    png_structp codec = nullptr;
    png_infop info = nullptr;
    Source source{};
    size_t position = 0;
    char message[200] = "";

    ~Session() {
        if (codec != nullptr) png_destroy_read_struct(&codec, &info, nullptr);
    }
};

[[noreturn]] void on_error(png_structp codec, png_const_charp message) {
    auto &session = *static_cast<Session *>(png_get_error_ptr(codec));
    std::snprintf(session.message, sizeof session.message, "%s", message);
    png_longjmp(codec, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp codec, png_bytep out, size_t count) {
    auto &session = *static_cast<Session *>(png_get_io_ptr(codec));
    if (count > session.source.length - session.position) png_error(codec, "unexpected end of data");
    std::memcpy(out, session.source.bytes + session.position, count);
    session.position += count;
}

/// Between setjmp and longjmp lie only frames without destructors; `image` and `rows` belong to the caller.
cv_status run(Session &session, StoredImage &stored, std::vector<png_bytep> &rows, cv_error *error) {
    png_structp codec = session.codec;
    if (setjmp(png_jmpbuf(codec)) != 0) return fail(error, CV_CORRUPT_IMAGE, session.message);
    png_set_read_fn(codec, &session, on_read);
    png_set_keep_unknown_chunks(codec, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(codec, PNG_HANDLE_CHUNK_NEVER, ignored_chunks, ignored_count);
    png_set_crc_action(codec, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_chunk_malloc_max(codec, max_chunk);
    png_set_user_limits(codec, 0x7FFFFFFF, 0x7FFFFFFF);  // check_size has checked it
    png_read_info(codec, session.info);
    const png_uint_32 width = png_get_image_width(codec, session.info);
    const png_uint_32 height = png_get_image_height(codec, session.info);
    stored.width = width;
    stored.height = height;

    png_set_scale_16(codec);
    png_set_expand(codec);  // palette to colours, 1–4 bits to 8, tRNS to alpha
    png_set_gray_to_rgb(codec);
    png_set_bgr(codec);
    png_set_interlace_handling(codec);
    png_read_update_info(codec, session.info);
    const int channels = png_get_channels(codec, session.info);
    if (channels != 3 && channels != 4) return fail(error, CV_CORRUPT_IMAGE, "unexpected number of channels");
    stored.bgr.create(static_cast<int>(height), static_cast<int>(width), channels == 3 ? CV_8UC3 : CV_8UC4);
    rows.resize(height);
    for (png_uint_32 y = 0; y < height; ++y) rows[y] = stored.bgr.ptr<uint8_t>(static_cast<int>(y));
    png_read_image(codec, rows.data());
    png_read_end(codec, session.info);
    png_uint_32 exif_length = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(codec, session.info, &exif_length, &exif) != 0 && exif != nullptr)
        stored.orientation = exif_orientation({exif, exif_length});
    return CV_OK;
}

uint32_t number_at(Source source, size_t at) {
    return static_cast<uint32_t>(source.bytes[at]) << 24 | static_cast<uint32_t>(source.bytes[at + 1]) << 16 |
           static_cast<uint32_t>(source.bytes[at + 2]) << 8 | source.bytes[at + 3];
}

/// Walks the chunks before the pixels for the profile (PNG §11.3.3.3) or code points (PNG, third edition, §11.3.2.6).
std::optional<ColourSpace> colours_of(Source source) {
    for (size_t at = 8; at + 12 <= source.length;) {
        const size_t length = number_at(source, at);
        const uint8_t *type = source.bytes + at + 4, *body = type + 4;
        if (length > source.length - at - 12 || std::memcmp(type, "IDAT", 4) == 0) break;
        if (std::memcmp(type, "cICP", 4) == 0 && length == 4) return colours_of_codes(body[0], body[1]);
        if (std::memcmp(type, "iCCP", 4) == 0) {
            // A name of up to 79 bytes, its end, the method of compression.
            const void *end = std::memchr(body, 0, std::min<size_t>(length, 80));
            const size_t name =
                end == nullptr ? length : static_cast<size_t>(static_cast<const uint8_t *>(end) - body) + 2;
            if (name >= length) return std::nullopt;
            std::vector<uint8_t> profile(max_profile);
            profile.resize(inflate_into({body + name, length - name}, profile.data(), profile.size()));
            return colours_of_profile({profile.data(), profile.size()});
        }
        at += 12 + length;
    }
    return std::nullopt;
}

}  // namespace

cv_status decode_png(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    // The first chunk is the header (PNG §11.2.2); libpng reports it only once it has reached the pixels.
    if (source.length < 29 || std::memcmp(source.bytes + 12, "IHDR", 4) != 0)
        return fail(error, CV_CORRUPT_IMAGE, "the header is missing");
    if (const cv_status size = check_size(number_at(source, 16), number_at(source, 20), limits, error); size != CV_OK)
        return size;

    Session session;
    session.source = source;
    session.codec = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning);
    if (session.codec == nullptr) throw std::bad_alloc();
    session.info = png_create_info_struct(session.codec);
    if (session.info == nullptr) throw std::bad_alloc();
    std::vector<png_bytep> rows;
    const cv_status status = run(session, stored, rows, error);
    if (status != CV_OK) return status;
    if (stored.bgr.channels() == 4) stored.bgr = over_white(stored.bgr);
    const unsigned colour_type = source.bytes[25];
    stored.grey = (colour_type & 2) == 0;
    if (!stored.grey) stored.colours = colours_of(source);
    return CV_OK;
}

}  // namespace cvision
