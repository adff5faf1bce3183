// JPEG by libjpeg-turbo.
#include <csetjmp>
#include <cstring>
#include <cstdio>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
// libjpeg's header needs size_t and FILE from the headers above.
#include <jerror.h>
#include <jpeglib.h>

#include <vector>

#include "image.hpp"
#include "image_codecs.hpp"
#include "jpeg_coefficients.hpp"

namespace cvision {
namespace {

/// Real progressive files have up to about 15 scans; each costs a pass over every coefficient.
constexpr int max_scans = 100;
/// Cameras pad a few bytes before the end marker; more than this between two markers is lost image data.
constexpr int max_padding = 64;
/// Coefficients of the largest progressive image within the pixel limits, three components of 2 bytes.
constexpr long max_codec_memory = 400L << 20;
/// Coefficients are read from what phones send; of larger images nobody waits for it.
constexpr uint64_t max_coefficient_pixels = 16'000'000;

struct Session {
    jpeg_decompress_struct codec{};
    jpeg_error_mgr manager{};
    jpeg_progress_mgr progress{};
    std::jmp_buf escape;
    cv_status status = CV_CORRUPT_IMAGE;
    char message[JMSG_LENGTH_MAX] = "";

    ~Session() { jpeg_destroy_decompress(&codec); }
};

Session &session_of(j_common_ptr codec) { return *static_cast<Session *>(codec->client_data); }

[[noreturn]] void leave(j_common_ptr codec) {
    Session &session = session_of(codec);
    switch (codec->err->msg_code) {
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_ARITH_NOTIMPL: session.status = CV_UNSUPPORTED_FORMAT; break;
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE: session.status = CV_OUT_OF_MEMORY; break;
    case JERR_IMAGE_TOO_BIG: session.status = CV_TOO_MANY_PIXELS; break;
    default: session.status = CV_CORRUPT_IMAGE;
    }
    codec->err->format_message(codec, session.message);
    std::longjmp(session.escape, 1);
}

/// libjpeg only warns about lost data and fills with grey; here that ends the decoding.
void on_message(j_common_ptr codec, int level) {
    if (level >= 0) return;
    switch (codec->err->msg_code) {
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION: return;
    case JWRN_EXTRANEOUS_DATA:
        if (codec->err->msg_parm.i[0] <= max_padding) return;
        break;
    default: break;
    }
    leave(codec);
}

void on_progress(j_common_ptr codec) {
    if (codec->is_decompressor && reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > max_scans) {
        std::snprintf(session_of(codec).message, JMSG_LENGTH_MAX, "too many scans");
        session_of(codec).status = CV_CORRUPT_IMAGE;
        std::longjmp(session_of(codec).escape, 1);
    }
}

/// Whether the luminance's coefficients are of use: not where it is subsampled, since its blocks then have another size in the image.
bool has_luminance(const jpeg_decompress_struct &codec) {
    const jpeg_component_info &luminance = codec.comp_info[0];
    return (codec.jpeg_color_space == JCS_GRAYSCALE || codec.jpeg_color_space == JCS_YCbCr) &&
           luminance.h_samp_factor == codec.max_h_samp_factor && luminance.v_samp_factor == codec.max_v_samp_factor &&
           uint64_t{codec.image_width} * codec.image_height <= max_coefficient_pixels;
}

/// Without the blocks at the borders that are not full: they hold what the encoder made up.
void copy_coefficients(jpeg_decompress_struct &codec, Coefficients &found) {
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&codec);
    const JQUANT_TBL *steps = codec.comp_info[0].quant_table;
    if (arrays == nullptr || steps == nullptr) return;
    found.columns = static_cast<int>(codec.image_width / DCTSIZE);
    found.rows = static_cast<int>(codec.image_height / DCTSIZE);
    const size_t blocks = static_cast<size_t>(found.columns) * static_cast<size_t>(found.rows);
    for (size_t k = 0; k < low_frequencies.size(); ++k) {
        found.steps[k] = steps->quantval[low_frequencies[k]];
        found.values[k].resize(blocks);
    }
    size_t at = 0;
    for (int y = 0; y < found.rows; ++y) {
        JBLOCKARRAY row = codec.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&codec), arrays[0],
                                                        static_cast<JDIMENSION>(y), 1, FALSE);
        for (int x = 0; x < found.columns; ++x, ++at)
            for (size_t k = 0; k < low_frequencies.size(); ++k) found.values[k][at] = row[0][x][low_frequencies[k]];
    }
}

/// Between setjmp and longjmp lie only frames without destructors; `stored` belongs to the caller.
cv_status run(Session &session, Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    jpeg_decompress_struct &codec = session.codec;
    if (setjmp(session.escape) != 0) return fail(error, session.status, session.message);
    jpeg_create_decompress(&codec);
    codec.progress = &session.progress;
    codec.mem->max_memory_to_use = max_codec_memory;
    jpeg_mem_src(&codec, source.bytes, source.length);
    jpeg_read_header(&codec, TRUE);
    const cv_status size = check_size(codec.image_width, codec.image_height, limits, error);
    if (size != CV_OK) return size;
    stored.width = codec.image_width;
    stored.height = codec.image_height;
    const uint32_t longer = codec.image_width > codec.image_height ? codec.image_width : codec.image_height;
    // The codec reduces most cheaply itself: it computes fewer coefficients of each block.
    codec.scale_num = 1;
    codec.scale_denom = reduction_of(longer, limits);

    int type = CV_8UC3;
    switch (codec.jpeg_color_space) {
    case JCS_GRAYSCALE: codec.out_color_space = JCS_GRAYSCALE, type = CV_8UC1; break;
    case JCS_CMYK:
    case JCS_YCCK: codec.out_color_space = JCS_CMYK, type = CV_8UC4; break;
    default: codec.out_color_space = JCS_EXT_BGR; break;
    }
    // The file is read once for both: its coefficients first, all of them, and the pixels from those.
    const bool keeps = stored.coefficients && codec.scale_denom == 1 && has_luminance(codec);
    codec.buffered_image = keeps ? TRUE : FALSE;
    jpeg_start_decompress(&codec);
    if (keeps) {
        while (!jpeg_input_complete(&codec)) {
            jpeg_consume_input(&codec);
            on_progress(reinterpret_cast<j_common_ptr>(&codec));
        }
        jpeg_start_output(&codec, codec.input_scan_number);
    }
    stored.bgr.create(static_cast<int>(codec.output_height), static_cast<int>(codec.output_width), type);
    while (codec.output_scanline < codec.output_height) {
        JSAMPROW rows[8];
        const JDIMENSION first = codec.output_scanline;
        JDIMENSION count = 0;
        for (; count < 8 && first + count < codec.output_height; ++count)
            rows[count] = stored.bgr.ptr<uint8_t>(static_cast<int>(first + count));
        jpeg_read_scanlines(&codec, rows, count);
    }
    if (keeps) {
        jpeg_finish_output(&codec);
        copy_coefficients(codec, *stored.coefficients);
    }
    jpeg_finish_decompress(&codec);
    return CV_OK;
}

void prepare(Session &session) {
    session.codec.err = jpeg_std_error(&session.manager);
    session.codec.client_data = &session;
    session.manager.error_exit = leave;
    session.manager.emit_message = on_message;
    session.progress.progress_monitor = on_progress;
}

/// CMYK to RGB without a colour profile: each ink and black absorb their share. Adobe stores inks inverted.
cv::Mat from_cmyk(const cv::Mat &cmyk, bool inverted) {
    cv::Mat bgr(cmyk.size(), CV_8UC3);
    const unsigned flip = inverted ? 0 : 255;
    for (int y = 0; y < cmyk.rows; ++y) {
        const uint8_t *in = cmyk.ptr<uint8_t>(y);
        uint8_t *out = bgr.ptr<uint8_t>(y);
        for (int x = 0; x < cmyk.cols; ++x, in += 4, out += 3) {
            const unsigned black = in[3] ^ flip;
            for (int ink = 0; ink < 3; ++ink) out[2 - ink] = static_cast<uint8_t>(((in[ink] ^ flip) * black) / 255);
        }
    }
    return bgr;
}

/// Walks the marker segments before the first scan for APP1 "Exif" and APP2 "ICC_PROFILE". libjpeg can save markers too, but
/// appends each to a list that it walks from the front: millions of empty ones take hours.
void read_metadata(Source source, StoredImage &stored) {
    constexpr size_t profile_header = 14;  // the name, and which part of how many this is (ICC.1 §B.4)
    std::vector<uint8_t> profile;
    bool turned = false;
    size_t at = 2;
    while (at + 4 <= source.length && source.bytes[at] == 0xFF) {
        const uint8_t marker = source.bytes[at + 1];
        if (marker == 0xFF) {
            ++at;
            continue;
        }
        if (marker == 0xDA || marker == 0xD9) break;
        const size_t length = static_cast<size_t>(source.bytes[at + 2]) << 8 | source.bytes[at + 3];
        if (length < 2 || at + 2 + length > source.length) break;
        const uint8_t *body = source.bytes + at + 4;
        if (marker == 0xE1 && !turned && length >= 8 && std::memcmp(body, "Exif\0\0", 6) == 0) {
            stored.orientation = exif_orientation({body + 6, length - 8});
            turned = true;
        }
        // A profile of three primaries fits in one segment, or in two.
        if (marker == 0xE2 && length >= 2 + profile_header && std::memcmp(body, "ICC_PROFILE\0", 12) == 0 &&
            profile.size() <= max_profile)
            profile.insert(profile.end(), body + profile_header, body + length - 2);
        at += 2 + length;
    }
    if (stored.bgr.channels() == 3) stored.colours = colours_of_profile({profile.data(), profile.size()});
}

}  // namespace

cv_status decode_jpeg(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    Session session;
    prepare(session);
    if (limits.keeps_coefficients) stored.coefficients = std::make_shared<Coefficients>();
    const cv_status status = run(session, source, limits, stored, error);
    if (status != CV_OK) return status;
    if (stored.coefficients && stored.coefficients->values.front().empty()) stored.coefficients.reset();
    read_metadata(source, stored);
    stored.grey = stored.bgr.channels() == 1;
    if (stored.bgr.channels() == 4) stored.bgr = from_cmyk(stored.bgr, session.codec.saw_Adobe_marker);
    if (stored.bgr.channels() == 1) cv::cvtColor(stored.bgr, stored.bgr, cv::COLOR_GRAY2BGR);
    return CV_OK;
}

}  // namespace cvision
