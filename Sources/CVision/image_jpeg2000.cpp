// JPEG 2000 (JP2 files and raw codestreams, as used for portraits on passport chips) by OpenJPEG.
#include <openjpeg-2.5/openjpeg.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <opencv2/imgproc.hpp>

#include "image.hpp"
#include "image_codecs.hpp"

namespace cvision {
namespace {

/// OpenJPEG holds each sample twice as 32-bit integers: 24 bytes a pixel. Portraits on chips stay below a megapixel.
constexpr uint64_t max_pixels = 20'000'000;
/// OpenJPEG allocates about 6 KB per tile before it reads any.
constexpr uint64_t max_tiles = 1024;

uint32_t big_endian(const uint8_t *bytes, size_t count) {
    uint32_t value = 0;
    for (size_t index = 0; index < count; ++index) value = value << 8 | bytes[index];
    return value;
}

/// The codestream inside a JP2 file (ISO/IEC 15444-1 Annex I.4: boxes of length, type, [long length], body).
bool find_codestream(Source file, Source &codestream) {
    if (file.bytes[0] == 0xFF) {
        codestream = file;
        return true;
    }
    size_t at = 0;
    while (file.length - at >= 8) {
        uint64_t length = big_endian(file.bytes + at, 4);
        size_t header = 8;
        if (length == 1) {
            if (file.length - at < 16) return false;
            length =
                static_cast<uint64_t>(big_endian(file.bytes + at + 8, 4)) << 32 | big_endian(file.bytes + at + 12, 4);
            header = 16;
        }
        if (length == 0) length = file.length - at;
        if (length < header || length > file.length - at) return false;
        if (std::memcmp(file.bytes + at + 4, "jp2c", 4) == 0) {
            codestream = {file.bytes + at + header, static_cast<size_t>(length) - header};
            return true;
        }
        at += static_cast<size_t>(length);
    }
    return false;
}

/// Reads the SIZ marker segment (ISO/IEC 15444-1 Annex A.5.1) and checks it before OpenJPEG allocates anything.
cv_status check_header(Source codestream, const cv_image_limits &limits, cv_error *error) {
    constexpr size_t siz_end = 4 + 38;
    if (codestream.length < siz_end || std::memcmp(codestream.bytes, "\xFF\x4F\xFF\x51", 4) != 0)
        return fail(error, CV_CORRUPT_IMAGE, "no codestream header");
    const uint8_t *siz = codestream.bytes + 8;
    const uint64_t right = big_endian(siz, 4), bottom = big_endian(siz + 4, 4);
    const uint64_t left = big_endian(siz + 8, 4), top = big_endian(siz + 12, 4);
    const uint64_t tile_width = big_endian(siz + 16, 4), tile_height = big_endian(siz + 20, 4);
    const uint32_t components = big_endian(siz + 32, 2);
    if (left >= right || top >= bottom || tile_width == 0 || tile_height == 0)
        return fail(error, CV_CORRUPT_IMAGE, "the codestream header is invalid");
    const cv_image_limits own{std::min(limits.max_pixels, max_pixels), limits.max_side, 0, false};
    const cv_status size = check_size(right - left, bottom - top, own, error);
    if (size != CV_OK) return size;
    const uint64_t tiles = ((right + tile_width - 1) / tile_width) * ((bottom + tile_height - 1) / tile_height);
    if (tiles > max_tiles) return fail(error, CV_TOO_MANY_PIXELS, "too many tiles");
    if (components != 1 && components != 3 && components != 4)
        return fail(error, CV_UNSUPPORTED_FORMAT, "neither grey nor three colours");
    return CV_OK;
}

struct Reader {
    Source source;
    size_t position;
};

OPJ_SIZE_T on_read(void *buffer, OPJ_SIZE_T count, void *context) {
    auto &reader = *static_cast<Reader *>(context);
    const size_t left = reader.source.length - reader.position;
    if (left == 0) return static_cast<OPJ_SIZE_T>(-1);
    const size_t taken = std::min<size_t>(count, left);
    std::memcpy(buffer, reader.source.bytes + reader.position, taken);
    reader.position += taken;
    return taken;
}

OPJ_OFF_T on_skip(OPJ_OFF_T count, void *context) {
    auto &reader = *static_cast<Reader *>(context);
    if (count < 0) return -1;
    const size_t taken = std::min(static_cast<size_t>(count), reader.source.length - reader.position);
    reader.position += taken;
    return static_cast<OPJ_OFF_T>(taken);
}

OPJ_BOOL on_seek(OPJ_OFF_T position, void *context) {
    auto &reader = *static_cast<Reader *>(context);
    if (position < 0 || static_cast<uint64_t>(position) > reader.source.length) return OPJ_FALSE;
    reader.position = static_cast<size_t>(position);
    return OPJ_TRUE;
}

void keep_message(const char *message, void *context) {
    auto *text = static_cast<char *>(context);
    std::snprintf(text, 200, "%s", message);
    text[std::strcspn(text, "\r\n")] = '\0';
}

void ignore_message(const char *, void *) {}

/// One component as 8 bits at full size. Components may be subsampled, signed and of any depth up to 16 bits.
cv::Mat plane_of(const opj_image_comp_t &component, cv::Size size) {
    const cv::Mat samples(static_cast<int>(component.h), static_cast<int>(component.w), CV_32SC1, component.data);
    const double range = static_cast<double>((1u << component.prec) - 1);
    const double offset = component.sgnd ? static_cast<double>(1u << (component.prec - 1)) : 0;
    cv::Mat plane;
    samples.convertTo(plane, CV_8U, 255 / range, offset * 255 / range);
    if (plane.size() != size) cv::resize(plane, plane, size, 0, 0, cv::INTER_LINEAR);
    return plane;
}

template <auto Free>
struct Freed {
    template <typename T>
    void operator()(T *pointer) const {
        Free(pointer);
    }
};

}  // namespace

cv_status decode_jpeg2000(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    Source codestream{};
    if (!find_codestream(source, codestream)) return fail(error, CV_CORRUPT_IMAGE, "no codestream");
    if (const cv_status status = check_header(codestream, limits, error); status != CV_OK) return status;

    const bool raw = source.bytes[0] == 0xFF;
    const std::unique_ptr<opj_codec_t, Freed<opj_destroy_codec>> codec(
        opj_create_decompress(raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
    const std::unique_ptr<opj_stream_t, Freed<opj_stream_destroy>> stream(opj_stream_create(1 << 16, OPJ_TRUE));
    if (codec == nullptr || stream == nullptr) throw std::bad_alloc();
    char message[200] = "the image data is damaged";
    opj_set_error_handler(codec.get(), keep_message, message);
    opj_set_warning_handler(codec.get(), ignore_message, nullptr);
    opj_set_info_handler(codec.get(), ignore_message, nullptr);
    Reader reader{source, 0};
    opj_stream_set_user_data(stream.get(), &reader, nullptr);
    opj_stream_set_user_data_length(stream.get(), source.length);
    opj_stream_set_read_function(stream.get(), on_read);
    opj_stream_set_skip_function(stream.get(), on_skip);
    opj_stream_set_seek_function(stream.get(), on_seek);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_image_t *raw_image = nullptr;
    const bool complete =
        opj_setup_decoder(codec.get(), &parameters) && opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) &&
        opj_read_header(stream.get(), codec.get(), &raw_image) && opj_decode(codec.get(), stream.get(), raw_image) &&
        opj_end_decompress(codec.get(), stream.get());
    const std::unique_ptr<opj_image_t, Freed<opj_image_destroy>> image(raw_image);
    if (!complete) return fail(error, CV_CORRUPT_IMAGE, message);

    const cv::Size size(static_cast<int>(image->x1 - image->x0), static_cast<int>(image->y1 - image->y0));
    for (OPJ_UINT32 index = 0; index < image->numcomps; ++index) {
        const opj_image_comp_t &component = image->comps[index];
        if (component.data == nullptr || component.w == 0 || component.h == 0)
            return fail(error, CV_CORRUPT_IMAGE, "a component is missing");
        if (component.prec < 1 || component.prec > 16)
            return fail(error, CV_UNSUPPORTED_FORMAT, "more than 16 bits per sample");
    }
    stored.width = static_cast<uint32_t>(size.width);
    stored.height = static_cast<uint32_t>(size.height);
    if (image->numcomps < 3) {
        stored.grey = true;
        cv::cvtColor(plane_of(image->comps[0], size), stored.bgr, cv::COLOR_GRAY2BGR);
        return CV_OK;
    }
    const cv::Mat first = plane_of(image->comps[0], size);
    const cv::Mat second = plane_of(image->comps[1], size);
    const cv::Mat third = plane_of(image->comps[2], size);
    if (image->color_space == OPJ_CLRSPC_SYCC) {
        cv::merge(std::vector<cv::Mat>{first, third, second}, stored.bgr);  // OpenCV's order is Y, Cr, Cb
        cv::cvtColor(stored.bgr, stored.bgr, cv::COLOR_YCrCb2BGR);
    } else {
        cv::merge(std::vector<cv::Mat>{third, second, first}, stored.bgr);
    }
    stored.colours = colours_of_profile({image->icc_profile_buf, image->icc_profile_len});
    return CV_OK;
}

}  // namespace cvision
