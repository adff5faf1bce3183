// PDF, where the only page is one image, as scanners and phones' scanning apps write it. The image is taken out, not rendered.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "image.hpp"
#include "image_codecs.hpp"
#include "image_inflate.hpp"
#include "pdf_content.hpp"
#include "pdf_file.hpp"

namespace cvision {
namespace {

using pdf::Object;

constexpr const char *advice = "a PDF must have one page that is one image; send the image itself as JPEG or PNG";
constexpr const char *encoding = "the PDF's image has an encoding that is not read; send it as JPEG or PNG";
constexpr const char *damaged = "the PDF is damaged";
/// A page that draws one image takes a hundred bytes; invisible text of a whole page 100 KB.
constexpr size_t most_content = 1 << 20;
constexpr int most_streams = 16, most_filters = 3;

/// What a colour space says of samples (ISO 32000-1 §8.6).
struct Colours {
    int components = 0;            // 0: not read here
    std::vector<uint8_t> palette;  // of RGB or grey triples, where samples are numbers in it
    std::optional<ColourSpace> space;
};

/// The bytes of a string, or of a stream that is inflated up to `most` bytes.
std::vector<uint8_t> bytes_of(const Object &object, size_t most) {
    if (!object.stream()) {
        std::vector<uint8_t> text = object.string();
        text.resize(std::min(text.size(), most));
        return text;
    }
    const Object filter = object["/Filter"];
    if (filter.count() > 1) return {};
    std::vector<uint8_t> raw = object.raw();
    if (filter.count() == 0) {
        raw.resize(std::min(raw.size(), most));
        return raw;
    }
    // A predictor is for images and tables.
    if (!filter[0].is("/FlateDecode") || object["/DecodeParms"].count() > 0) return {};
    std::vector<uint8_t> inflated(most);
    inflated.resize(inflate_into({raw.data(), raw.size()}, inflated.data(), most));
    return inflated;
}

Colours colours_of(const Object &space, bool within = false) {
    Colours colours;
    const std::string name = space.array() ? space[0].name() : space.name();
    if (name == "/DeviceGray" || name == "/CalGray") colours.components = 1;
    if (name == "/DeviceRGB" || name == "/CalRGB") colours.components = 3;
    if (name == "/ICCBased" && space.array()) {
        const long long components = space[1]["/N"].number(0);
        if (components != 1 && components != 3) return colours;
        colours.components = static_cast<int>(components);
        if (components == 3) {
            const std::vector<uint8_t> profile = bytes_of(space[1], max_profile);
            colours.space = colours_of_profile({profile.data(), profile.size()});
        }
    }
    if (name == "/Indexed" && space.array() && !within) {
        const Colours base = colours_of(space[1], true);
        const long long highest = space[2].number(-1);
        if (base.components == 0 || highest < 0 || highest > 255) return colours;
        const size_t entries = static_cast<size_t>(highest) + 1;
        std::vector<uint8_t> table = bytes_of(space[3], entries * static_cast<size_t>(base.components));
        if (table.size() < entries * static_cast<size_t>(base.components)) return colours;
        for (size_t entry = 0; entry < entries; ++entry)
            for (size_t channel = 0; channel < 3; ++channel)
                colours.palette.push_back(base.components == 1 ? table[entry] : table[3 * entry + channel]);
        colours.components = 1;
        colours.space = base.space;
    }
    return colours;
}

/// Undoes the predictor of a row (PNG §9, which PDF shares). `above` is the row before, or null.
bool unfilter(uint8_t kind, uint8_t *row, const uint8_t *above, size_t length, size_t step) {
    if (kind > 4) return false;
    for (size_t at = 0; at < length && kind != 0; ++at) {
        const int left = at >= step ? row[at - step] : 0, up = above != nullptr ? above[at] : 0;
        const int corner = at >= step && above != nullptr ? above[at - step] : 0;
        int added = kind == 1 ? left : kind == 2 ? up : (left + up) / 2;
        if (kind == 4) {
            const int guess = left + up - corner;
            const int to_left = std::abs(guess - left), to_up = std::abs(guess - up),
                      to_corner = std::abs(guess - corner);
            added = to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
        }
        row[at] = static_cast<uint8_t>(row[at] + added);
    }
    return true;
}

struct Samples {
    int width, height, bits;
    Colours colours;
    bool inverted;

    size_t row_length() const {
        return (static_cast<size_t>(width) * static_cast<size_t>(colours.components) * static_cast<size_t>(bits) + 7) /
               8;
    }
};

/// Rows of samples as the filters before them left them, `rows` with `stride` bytes each, to eight bits a channel.
cv_status read_samples(const Samples &samples, const uint8_t *rows, size_t stride, cv::Mat &bgr, cv_error *error) {
    const auto bits = static_cast<size_t>(samples.bits);
    const auto components = static_cast<size_t>(samples.colours.components);
    const unsigned most = samples.bits == 16 ? 255 : (1u << bits) - 1;
    const std::vector<uint8_t> &palette = samples.colours.palette;
    bgr.create(samples.height, samples.width, CV_8UC3);
    for (int y = 0; y < samples.height; ++y) {
        const uint8_t *in = rows + stride * static_cast<size_t>(y);
        uint8_t *out = bgr.ptr<uint8_t>(y);
        const auto sample = [&](size_t index) -> unsigned {
            // Of 16 bits, the upper eight.
            if (bits >= 8) return in[index * bits / 8];
            return in[index * bits / 8] >> (8 - bits - index * bits % 8) & most;
        };
        for (size_t x = 0; x < static_cast<size_t>(samples.width); ++x, out += 3) {
            if (!palette.empty()) {
                const size_t entry = 3 * size_t{sample(x)};
                if (entry + 3 > palette.size()) return fail(error, CV_CORRUPT_IMAGE, damaged);
                for (size_t channel = 0; channel < 3; ++channel) out[2 - channel] = palette[entry + channel];
                continue;
            }
            for (size_t channel = 0; channel < 3; ++channel) {
                const unsigned value = sample(x * components + (components == 1 ? 0 : channel));
                const unsigned full = (value * 255 + most / 2) / most;
                out[2 - channel] = static_cast<uint8_t>(samples.inverted ? 255 - full : full);
            }
        }
    }
    return CV_OK;
}

/// An image of inflated or plain samples (§8.9.5).
cv_status decode_samples(const std::vector<uint8_t> &data, bool deflated, const Object &parameters, Samples samples,
                         StoredImage &stored, cv_error *error) {
    const long long predictor = deflated ? parameters["/Predictor"].number(1) : 1;
    const bool filtered = predictor >= 10;
    if (predictor != 1 && !filtered) return fail(error, CV_UNSUPPORTED_FORMAT, encoding);
    if (filtered && (parameters["/Columns"].number(1) != samples.width ||
                     parameters["/Colors"].number(1) != samples.colours.components ||
                     parameters["/BitsPerComponent"].number(8) != samples.bits))
        return fail(error, CV_CORRUPT_IMAGE, damaged);
    const size_t length = samples.row_length(), stride = length + (filtered ? 1 : 0);
    const size_t needed = stride * static_cast<size_t>(samples.height);
    std::vector<uint8_t> inflated;
    if (deflated) {
        inflated.resize(needed);
        inflated.resize(inflate_into({data.data(), data.size()}, inflated.data(), needed));
    }
    std::vector<uint8_t> plain;
    if (!deflated) plain = data;
    std::vector<uint8_t> &bytes = deflated ? inflated : plain;
    if (bytes.size() < needed) return fail(error, CV_CORRUPT_IMAGE, "the PDF's image is cut off");
    if (filtered) {
        const size_t step = std::max<size_t>(
            1, static_cast<size_t>(samples.colours.components) * static_cast<size_t>(samples.bits) / 8);
        for (size_t y = 0; y < static_cast<size_t>(samples.height); ++y) {
            uint8_t *row = bytes.data() + y * stride;
            const uint8_t *above = y == 0 ? nullptr : row - stride + 1;
            if (!unfilter(row[0], row + 1, above, length, step)) return fail(error, CV_CORRUPT_IMAGE, damaged);
        }
    }
    stored.grey = samples.colours.components == 1 && samples.colours.palette.empty();
    return read_samples(samples, bytes.data() + (filtered ? 1 : 0), stride, stored.bgr, error);
}

/// Whether `/Decode` turns light and dark around; false in `valid` for any other change.
bool is_inverted(const Object &decode, int components, bool &valid) {
    valid = true;
    if (decode.count() == 0) return false;
    valid = decode.count() == 2 * components;
    if (!valid) return false;
    const bool inverted = decode[0].real() > decode[1].real();
    for (int index = 0; index < components; ++index) {
        const double first = decode[2 * index].real(), second = decode[2 * index + 1].real();
        valid = valid && first == (inverted ? 1 : 0) && second == (inverted ? 0 : 1);
    }
    return inverted;
}

cv_status decode_image(const Object &image, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    if (!image["/Subtype"].is("/Image")) return fail(error, CV_UNSUPPORTED_FORMAT, advice);
    // Parts of the page would show through, or in another colour.
    if (image["/ImageMask"].truth() || !image["/SMask"].null() || !image["/Mask"].null())
        return fail(error, CV_UNSUPPORTED_FORMAT, advice);
    const long long width = image["/Width"].number(0), height = image["/Height"].number(0);
    if (width < 1 || height < 1) return fail(error, CV_CORRUPT_IMAGE, damaged);
    const cv_status size = check_size(static_cast<uint64_t>(width), static_cast<uint64_t>(height), limits, error);
    if (size != CV_OK) return size;

    const Object filters = image["/Filter"], parameters = image["/DecodeParms"];
    std::vector<uint8_t> data = image.raw();
    if (filters.count() > most_filters) return fail(error, CV_UNSUPPORTED_FORMAT, encoding);
    bool deflated = false;
    for (int index = 0; index < filters.count(); ++index) {
        const bool is_last = index + 1 == filters.count();
        const std::string filter = filters[index].name();
        if (filter == "/FlateDecode" && is_last) {
            deflated = true;
        } else if (filter == "/FlateDecode") {
            // Around a JPEG, which hardly shrinks: what inflates to more than twice its length is none.
            std::vector<uint8_t> inflated(2 * data.size() + 4096);
            inflated.resize(inflate_into({data.data(), data.size()}, inflated.data(), inflated.size()));
            data = std::move(inflated);
        } else if ((filter == "/DCTDecode" || filter == "/JPXDecode") && is_last) {
            const bool is_jpeg = filter == "/DCTDecode";
            const char *const magic = is_jpeg                              ? "\xFF\xD8\xFF"
                                      : data.size() > 4 && data[0] == 0xFF ? "\xFF\x4F\xFF"
                                                                           : "\0\0\0";
            if (data.size() < 4 || std::memcmp(data.data(), magic, 3) != 0)
                return fail(error, CV_CORRUPT_IMAGE, damaged);
            const Source source{data.data(), data.size()};
            const cv_status status =
                is_jpeg ? decode_jpeg(source, limits, stored, error) : decode_jpeg2000(source, limits, stored, error);
            if (status != CV_OK) return status;
            // The page alone says how an image lies (its own EXIF is ignored) and, of a JPEG, what its colours are.
            stored.orientation = 1;
            stored.coefficients.reset();  // what they say was measured on photos, not on what scanners write
            const Object space = image["/ColorSpace"];
            if (space.null() && !is_jpeg) return CV_OK;
            Colours colours = colours_of(space);
            bool valid = true;
            const bool inverted = is_inverted(image["/Decode"], std::max(1, colours.components), valid);
            if (!valid || colours.components == 0 || !colours.palette.empty())
                return fail(error, CV_UNSUPPORTED_FORMAT, encoding);
            if (inverted) cv::bitwise_not(stored.bgr, stored.bgr);
            stored.colours = std::move(colours.space);
            return CV_OK;
        } else {
            return fail(error, CV_UNSUPPORTED_FORMAT, encoding);
        }
    }
    Samples samples{static_cast<int>(width), static_cast<int>(height),
                    static_cast<int>(image["/BitsPerComponent"].number(8)), colours_of(image["/ColorSpace"]), false};
    constexpr int depths[] = {1, 2, 4, 8, 16};
    bool valid = true;
    if (samples.colours.palette.empty())
        samples.inverted = is_inverted(image["/Decode"], std::max(1, samples.colours.components), valid);
    else valid = image["/Decode"].null();
    if (!valid || samples.colours.components == 0 ||
        std::find(std::begin(depths), std::end(depths), samples.bits) == std::end(depths) ||
        (samples.bits == 16 && !samples.colours.palette.empty()))
        return fail(error, CV_UNSUPPORTED_FORMAT, encoding);
    stored.width = static_cast<uint32_t>(width);
    stored.height = static_cast<uint32_t>(height);
    stored.colours = samples.colours.space;
    const int last = filters.count() - 1;
    return decode_samples(data, deflated, parameters[std::max(0, last)], std::move(samples), stored, error);
}

/// The page's content: one stream, or several that belong together.
bool read_page(const Object &page, pdf::Drawing &drawing) {
    const Object contents = page["/Contents"];
    if (contents.count() < 1 || contents.count() > most_streams) return false;
    std::vector<uint8_t> content;
    for (int index = 0; index < contents.count(); ++index) {
        const Object stream = contents[index];
        if (!stream.stream()) return false;
        const std::vector<uint8_t> part = bytes_of(stream, most_content);
        if (part.size() >= most_content - content.size()) return false;
        content.insert(content.end(), part.begin(), part.end());
        content.push_back('\n');
    }
    return pdf::read_content({content.data(), content.size()}, drawing);
}

/// The program of the original and the one that made the PDF of it (§14.3.3), a line each. Damage here spoils no image.
std::string software_of(pdf::Document &document) {
    std::string software;
    try {
        const Object information = document.trailer()["/Info"];
        for (const char *key : {"/Creator", "/Producer"})
            software += information[key].text().substr(0, sizeof(cv_image_info::software) / 2 - 2) + '\n';
    } catch (const pdf::Damaged &) {
    }
    return software;
}

cv_status decode_document(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    pdf::Document document(source);
    if (document.pages() != 1) return fail(error, CV_UNSUPPORTED_FORMAT, advice);
    const Object page = document.first_page();
    // Stamps and notes lie over the image.
    pdf::Drawing drawing;
    if (page["/Annots"].count() > 0 || !read_page(page, drawing)) return fail(error, CV_UNSUPPORTED_FORMAT, advice);
    const Object image = page["/Resources"]["/XObject"][drawing.name.c_str()];
    if (!image.stream()) return fail(error, CV_CORRUPT_IMAGE, damaged);
    if (const cv_status status = decode_image(image, limits, stored, error); status != CV_OK) return status;
    // Clockwise, after what the page itself does (§7.7.3.3).
    const long long turn = page["/Rotate"].number(0);
    if (turn % 90 != 0) return fail(error, CV_CORRUPT_IMAGE, damaged);
    constexpr int clockwise[] = {1, 6, 3, 8};
    stored.orientation = combined_orientation(drawing.orientation, clockwise[((turn / 90) % 4 + 4) % 4]);
    stored.software = software_of(document);
    return CV_OK;
}

}  // namespace

cv_status decode_pdf(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    try {
        return decode_document(source, limits, stored, error);
    } catch (const pdf::Damaged &) {
        return fail(error, CV_CORRUPT_IMAGE, damaged);
    } catch (const pdf::Encrypted &) {
        return fail(error, CV_UNSUPPORTED_FORMAT, "the PDF is encrypted; send the image itself as JPEG or PNG");
    }
}

}  // namespace cvision
