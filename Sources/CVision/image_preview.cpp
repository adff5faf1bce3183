// cv_image_preview: a small JPEG of a decoded image, for people to look at.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
// libjpeg's header needs size_t and FILE from the headers above.
#include <jpeglib.h>

#include "image.hpp"

namespace cvision {
namespace {

constexpr int preview_quality = 80;  // small text stays legible; an image of 1,200 px takes 100 to 300 KB

struct Encoder {
    jpeg_compress_struct codec{};
    jpeg_error_mgr manager{};
    std::jmp_buf escape;
    unsigned char *bytes = nullptr;
    unsigned long length = 0;
    char message[JMSG_LENGTH_MAX] = "";

    ~Encoder() {
        jpeg_destroy_compress(&codec);
        std::free(bytes);
    }
};

[[noreturn]] void leave(j_common_ptr codec) {
    Encoder &encoder = *static_cast<Encoder *>(codec->client_data);
    codec->err->format_message(codec, encoder.message);
    std::longjmp(encoder.escape, 1);
}

/// Between setjmp and longjmp lie only frames without destructors.
bool run(Encoder &encoder, const cv::Mat &bgr) {
    if (setjmp(encoder.escape) != 0) return false;
    jpeg_compress_struct &codec = encoder.codec;
    jpeg_create_compress(&codec);
    jpeg_mem_dest(&codec, &encoder.bytes, &encoder.length);
    codec.image_width = static_cast<JDIMENSION>(bgr.cols);
    codec.image_height = static_cast<JDIMENSION>(bgr.rows);
    codec.input_components = 3;
    codec.in_color_space = JCS_EXT_BGR;
    jpeg_set_defaults(&codec);
    jpeg_set_quality(&codec, preview_quality, TRUE);
    jpeg_start_compress(&codec, TRUE);
    while (codec.next_scanline < codec.image_height) {
        JSAMPROW row = const_cast<uint8_t *>(bgr.ptr<uint8_t>(static_cast<int>(codec.next_scanline)));
        jpeg_write_scanlines(&codec, &row, 1);
    }
    jpeg_finish_compress(&codec);
    return true;
}

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_image_preview(const cv_image *image, uint32_t longest_side, cv_preview *preview,
                                      cv_error *error) {
    using namespace cvision;
    *preview = {};
    return guard(error, [&] {
        const int longer = std::max(image->bgr.cols, image->bgr.rows);
        cv::Mat small = image->bgr;
        if (longest_side > 0 && longer > static_cast<int>(longest_side)) {
            const double scale = static_cast<double>(longest_side) / longer;
            const cv::Size size(std::max(1, cvRound(image->bgr.cols * scale)),
                                std::max(1, cvRound(image->bgr.rows * scale)));
            cv::resize(image->bgr, small, size, 0, 0, cv::INTER_AREA);
        }
        Encoder encoder;
        encoder.codec.err = jpeg_std_error(&encoder.manager);
        encoder.codec.client_data = &encoder;
        encoder.manager.error_exit = leave;
        if (!run(encoder, small)) return fail(error, CV_INTERNAL, encoder.message);
        preview->bytes = encoder.bytes;
        preview->length = encoder.length;
        preview->width = static_cast<uint32_t>(small.cols);
        preview->height = static_cast<uint32_t>(small.rows);
        encoder.bytes = nullptr;
        return CV_OK;
    });
}

extern "C" void cv_preview_free(cv_preview *preview) {
    std::free(preview->bytes);
    *preview = {};
}
