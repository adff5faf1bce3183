// HEVC by libde265, called directly and without its threads.
//
// libheif would read the container too, but asks libde265 for a thread, which no analyzer may start: it hangs then, waiting for
// one. A filter that allows threads would have to allow clone(2) to a process that parses bytes from strangers, and every other
// rule of the sandbox (one thread, limits by process, a fork that copies one thread) would need a second form. libheif also loads
// x265, AOM and dav1d into the process. So the container is read by a small parser of ours (heif_container.cpp), and libde265
// decodes on the calling thread, which it does when it is not given any others.
#include "hevc_picture.hpp"

#include <libde265/de265.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "heif_container.hpp"

namespace cvision::hevc {
namespace {

/// Level 6.2 allows 600 slices (ITU-T H.265, table A.8); libde265 keeps kilobytes for each.
constexpr size_t most_slices = 600;
constexpr size_t most_parameter_sets = 16;
/// Pictures that may refer to others make libde265 invent up to 16 of them: only small ones may.
constexpr uint64_t most_pixels_with_references = 4'000'000;

constexpr const char *damaged = "the image data is damaged";

enum Unit : unsigned { bla_w_lp = 16, idr_w_radl = 19, idr_n_lp = 20, cra = 21, vps = 32, sps = 33, pps = 34 };

unsigned unit_type(Source unit) { return unit.bytes[0] >> 1 & 63; }
/// nuh_layer_id: what is not 0 belongs to extensions that no camera writes.
bool is_base_layer(Source unit) { return (unit.bytes[0] & 1) == 0 && unit.bytes[1] >> 3 == 0; }

/// Bits of a unit's payload, without the bytes that keep start codes from appearing (§7.4.1.1).
class Bits {
public:
    explicit Bits(Source unit) {
        // Sizes and depths lie in the first tens of bytes.
        const size_t length = std::min<size_t>(unit.length, 256);
        for (size_t at = 2, zeros = 0; at < length; ++at) {
            if (zeros >= 2 && unit.bytes[at] == 3) {
                zeros = 0;
                continue;
            }
            zeros = unit.bytes[at] == 0 ? zeros + 1 : 0;
            bytes.push_back(unit.bytes[at]);
        }
    }

    bool failed() const { return at > bytes.size() * 8; }

    uint32_t take(unsigned count) {
        uint32_t value = 0;
        for (; count > 0; --count, ++at)
            value = value << 1 | (at < bytes.size() * 8 ? bytes[at / 8] >> (7 - at % 8) & 1u : 0u);
        return value;
    }

    void skip(size_t count) { at += count; }

    /// ue(v) (§9.2).
    uint32_t exponential() {
        unsigned zeros = 0;
        while (zeros < 32 && !failed() && take(1) == 0) ++zeros;
        return zeros < 32 ? (1u << zeros) - 1 + take(zeros) : UINT32_MAX;
    }

private:
    std::vector<uint8_t> bytes;
    size_t at = 0;
};

struct Shape {
    uint32_t chroma, coded_width, coded_height;
    uint64_t width, height;  // of the conformance window
    uint32_t depth, chroma_depth;
};

/// The first fields of a sequence parameter set (§7.3.2.2.1): what libde265 allocates by.
bool read_shape(Source unit, Shape &shape) {
    Bits bits(unit);
    bits.skip(4);
    const uint32_t layers = bits.take(3);  // sps_max_sub_layers_minus1
    bits.skip(1 + 96);                     // profile, tier and level (§7.3.3)
    std::vector<std::pair<bool, bool>> present;
    for (uint32_t layer = 0; layer < layers; ++layer) {
        const bool profile = bits.take(1) != 0;
        present.emplace_back(profile, bits.take(1) != 0);
    }
    if (layers > 0) bits.skip(2 * (8 - layers));
    for (const auto &[profile, level] : present) bits.skip((profile ? 88u : 0u) + (level ? 8u : 0u));
    bits.exponential();  // its id
    shape.chroma = bits.exponential();
    if (shape.chroma == 3) bits.skip(1);
    shape.coded_width = bits.exponential();
    shape.coded_height = bits.exponential();
    uint64_t left = 0, right = 0, top = 0, bottom = 0;
    if (bits.take(1) != 0) {
        left = bits.exponential();
        right = bits.exponential();
        top = bits.exponential();
        bottom = bits.exponential();
    }
    shape.depth = 8 + std::min(bits.exponential(), 100u);
    shape.chroma_depth = 8 + std::min(bits.exponential(), 100u);
    const uint64_t across = shape.chroma == 1 || shape.chroma == 2 ? 2 : 1, down = shape.chroma == 1 ? 2 : 1;
    if (bits.failed() || shape.chroma > 3) return false;
    if ((left + right) * across >= shape.coded_width || (top + bottom) * down >= shape.coded_height) return false;
    shape.width = shape.coded_width - (left + right) * across;
    shape.height = shape.coded_height - (top + bottom) * down;
    return true;
}

/// Whether a sequence parameter set is what the container announced, before libde265 allocates anything for it.
cv_status check_shape(Source unit, cv::Size size, bool refers, const cv_image_limits &limits, cv_error *error) {
    Shape shape{};
    if (!read_shape(unit, shape)) return fail(error, CV_CORRUPT_IMAGE, damaged);
    if (const cv_status fits = check_size(shape.coded_width, shape.coded_height, limits, error); fits != CV_OK)
        return fits;
    if (shape.width != static_cast<uint64_t>(size.width) || shape.height != static_cast<uint64_t>(size.height))
        return fail(error, CV_CORRUPT_IMAGE, "the picture's size is not the container's");
    // The coded picture exceeds the visible one by less than a coding block of 64 pixels.
    if (shape.coded_width > shape.width + 64 || shape.coded_height > shape.height + 64)
        return fail(error, CV_CORRUPT_IMAGE, "the picture is much larger than what is visible of it");
    if (refers && uint64_t{shape.coded_width} * shape.coded_height > most_pixels_with_references)
        return fail(error, CV_UNSUPPORTED_FORMAT, "a large picture that may refer to others");
    if (shape.depth > 10 || shape.chroma_depth > 10)
        return fail(error, CV_UNSUPPORTED_FORMAT, "more than 10 bits per sample");
    return CV_OK;
}

struct Units {
    std::vector<Source> sets, slices;
    bool refers = false;  // whether a slice may refer to other pictures
};

/// Sorts a unit in: parameter sets and intra slices of one picture. Everything else (messages, delimiters, other layers) is left
/// out, so that libde265 never parses it.
cv_status add_unit(Source unit, bool in_configuration, Units &units, cv_error *error) {
    if (unit.length < 3) return fail(error, CV_CORRUPT_IMAGE, damaged);
    const unsigned type = unit_type(unit);
    if (!is_base_layer(unit)) return CV_OK;
    if (type == vps || type == sps || type == pps) {
        if (units.sets.size() == most_parameter_sets) return fail(error, CV_CORRUPT_IMAGE, "too many parameter sets");
        units.sets.push_back(unit);
    } else if (!in_configuration && type < vps) {
        if (type < bla_w_lp || type > cra) return fail(error, CV_UNSUPPORTED_FORMAT, "a picture that refers to others");
        // first_slice_segment_in_pic_flag: a second picture would take as much memory again.
        if (((unit.bytes[2] & 0x80) != 0) != units.slices.empty()) return fail(error, CV_CORRUPT_IMAGE, damaged);
        if (units.slices.size() == most_slices) return fail(error, CV_CORRUPT_IMAGE, "too many slices");
        units.refers = units.refers || (type != idr_w_radl && type != idr_n_lp);
        units.slices.push_back(unit);
    }
    return CV_OK;
}

cv_status read_units(Source configuration, Source data, Units &units, cv_error *error) {
    heif::Cursor sets(configuration);
    const uint32_t version = sets.u8();
    sets.skip(20);
    const size_t of_length = (sets.u8() & 3) + 1;
    if (sets.failed() || version != 1 || of_length == 3) return fail(error, CV_CORRUPT_IMAGE, damaged);
    for (uint32_t arrays = sets.u8(); arrays > 0; --arrays) {
        sets.skip(1);
        for (uint32_t count = sets.u16(); count > 0; --count) {
            const Source unit = sets.bytes(sets.u16());
            if (sets.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
            if (const cv_status status = add_unit(unit, true, units, error); status != CV_OK) return status;
        }
    }
    heif::Cursor slices(data);
    while (slices.left() > 0) {
        const Source unit = slices.bytes(slices.number(of_length));
        if (slices.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
        if (const cv_status status = add_unit(unit, false, units, error); status != CV_OK) return status;
    }
    if (sets.failed() || units.slices.empty()) return fail(error, CV_CORRUPT_IMAGE, damaged);
    return CV_OK;
}

struct Free {
    void operator()(de265_decoder_context *decoder) const { de265_free_decoder(decoder); }
};

/// A plane in eight bits.
cv::Mat plane_of(const de265_image *image, int channel, bool full_range) {
    int stride = 0;
    const uint8_t *rows = de265_get_image_plane(image, channel, &stride);
    const int width = de265_get_image_width(image, channel), height = de265_get_image_height(image, channel);
    const int depth = de265_get_bits_per_pixel(image, channel);
    if (rows == nullptr || width <= 0 || height <= 0 || stride <= 0 || depth < 8 || depth > 10) return {};
    // The full range ends at the largest number of either depth, the limited one at its multiples; chroma's middle is half of the
    // next power of two in both.
    const int most = (1 << depth) - 1, middle = channel > 0 ? 1 << (depth - 1) : 0;
    std::array<uint8_t, 1024> reduced{};
    for (int value = 0; value <= most; ++value) {
        const double scale = full_range ? 255.0 / most : 256.0 / (most + 1);
        reduced[static_cast<size_t>(value)] =
            cv::saturate_cast<uint8_t>((channel > 0 ? 128 : 0) + (value - middle) * scale);
    }
    cv::Mat plane(height, width, CV_8UC1);
    for (int y = 0; y < height; ++y) {
        const uint8_t *in = rows + static_cast<ptrdiff_t>(stride) * y;
        uint8_t *out = plane.ptr<uint8_t>(y);
        if (depth == 8) {
            std::copy_n(in, width, out);
            continue;
        }
        const auto *wide = reinterpret_cast<const uint16_t *>(in);
        for (int x = 0; x < width; ++x) out[x] = reduced[static_cast<size_t>(std::min<int>(wide[x], most))];
    }
    return plane;
}

/// libde265 repairs what is damaged and only warns; here every warning ends the decoding.
cv_status check_warnings(de265_decoder_context *decoder, cv_error *error) {
    for (;;) {
        const de265_error warning = de265_get_warning(decoder);
        if (warning == DE265_OK) return CV_OK;
        if (warning == DE265_WARNING_NO_WPP_CANNOT_USE_MULTITHREADING) continue;
        if (warning == DE265_WARNING_CANNOT_APPLY_SAO_OUT_OF_MEMORY)
            return fail(error, CV_OUT_OF_MEMORY, "out of memory");
        return fail(error, CV_CORRUPT_IMAGE, damaged);
    }
}

}  // namespace

void prepare() {
    static const bool prepared = de265_init() == DE265_OK;
    if (!prepared) throw std::bad_alloc();
}

cv_status decode_picture(Source configuration, Source data, cv::Size size, const cv_image_limits &limits,
                         Picture &picture, cv_error *error) {
    Units units;
    if (const cv_status status = read_units(configuration, data, units, error); status != CV_OK) return status;
    bool shaped = false;
    for (const Source unit : units.sets) {
        if (unit_type(unit) != sps) continue;
        if (const cv_status status = check_shape(unit, size, units.refers, limits, error); status != CV_OK)
            return status;
        shaped = true;
    }
    if (!shaped) return fail(error, CV_CORRUPT_IMAGE, damaged);

    prepare();
    const std::unique_ptr<de265_decoder_context, Free> decoder(de265_new_decoder());
    if (decoder == nullptr) throw std::bad_alloc();
    de265_set_parameter_bool(decoder.get(), DE265_DECODER_PARAM_SUPPRESS_FAULTY_PICTURES, 1);
    for (const std::vector<Source> *list : {&units.sets, &units.slices})
        for (const Source unit : *list) {
            const de265_error pushed =
                de265_push_NAL(decoder.get(), unit.bytes, static_cast<int>(unit.length), 0, nullptr);
            if (pushed == DE265_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
            if (pushed != DE265_OK) return fail(error, CV_CORRUPT_IMAGE, damaged);
        }
    if (de265_flush_data(decoder.get()) != DE265_OK) return fail(error, CV_CORRUPT_IMAGE, damaged);
    // Each step takes a unit or finishes the picture; after the last one, libde265 asks for more steps until the picture is taken.
    int more = 1;
    for (size_t step = 0; more != 0 && de265_peek_next_picture(decoder.get()) == nullptr; ++step) {
        more = 0;
        const de265_error status = de265_decode(decoder.get(), &more);
        if (status == DE265_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
        if (status == DE265_ERROR_WAITING_FOR_INPUT_DATA) break;
        if (status != DE265_OK || step > 4 * (units.sets.size() + units.slices.size() + 16))
            return fail(error, CV_CORRUPT_IMAGE, damaged);
    }
    if (const cv_status status = check_warnings(decoder.get(), error); status != CV_OK) return status;
    const de265_image *const image = de265_get_next_picture(decoder.get());
    if (image == nullptr) return fail(error, CV_CORRUPT_IMAGE, damaged);
    picture.chroma = de265_get_chroma_format(image);
    picture.full_range = de265_get_image_full_range_flag(image) != 0;
    for (int channel = 0; channel < (picture.chroma == 0 ? 1 : 3); ++channel) {
        cv::Mat &plane = picture.planes[static_cast<size_t>(channel)];
        plane = plane_of(image, channel, picture.full_range);
        const int across = channel > 0 && picture.chroma < 3 ? 2 : 1, down = channel > 0 && picture.chroma == 1 ? 2 : 1;
        if (plane.cols != (size.width + across - 1) / across || plane.rows != (size.height + down - 1) / down)
            return fail(error, CV_CORRUPT_IMAGE, damaged);
    }
    picture.primaries = static_cast<unsigned>(de265_get_image_colour_primaries(image));
    picture.transfer = static_cast<unsigned>(de265_get_image_transfer_characteristics(image));
    picture.matrix = static_cast<unsigned>(de265_get_image_matrix_coefficients(image));
    return CV_OK;
}

}  // namespace cvision::hevc
