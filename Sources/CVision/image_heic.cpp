// HEIC: an HEVC picture, or a grid of them as phones write it, with its crop, its turn and its colours.
#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "heif_container.hpp"
#include "hevc_picture.hpp"

namespace cvision {
namespace {

using heif::code;

/// 50 megapixels in tiles of 512 pixels are 200. Each needs its own decoder.
constexpr size_t most_tiles = 1024;

struct Properties {
    cv::Size size;
    Source configuration{nullptr, 0};
    Source profile{nullptr, 0};
    bool has_codes = false, full_range = false;
    unsigned primaries = 2, transfer = 2, matrix = 2;
    bool crops = false;
    cv::Rect crop;
    int orientation = 1;  // of irot and imir together
};

/// `clap` (ISO/IEC 14496-12 §12.1.4): a window around the middle, as fractions.
bool read_crop(heif::Cursor cursor, cv::Size size, cv::Rect &crop) {
    const auto fraction = [&](double &value) {
        const auto above = static_cast<int32_t>(cursor.u32()), below = static_cast<int32_t>(cursor.u32());
        value = below > 0 ? static_cast<double>(above) / below : -1e9;
        return below > 0;
    };
    double width, height, right, down;
    if (!fraction(width) || !fraction(height) || !fraction(right) || !fraction(down) || cursor.failed()) return false;
    if (!(width >= 1 && width <= size.width && height >= 1 && height <= size.height)) return false;
    const double left = (size.width - 1) / 2.0 + right - (width - 1) / 2;
    const double top = (size.height - 1) / 2.0 + down - (height - 1) / 2;
    if (!(left > -1 && left < size.width && top > -1 && top < size.height)) return false;
    crop =
        cv::Rect(cvRound(left), cvRound(top), static_cast<int>(width), static_cast<int>(height)) & cv::Rect({}, size);
    return !crop.empty();
}

/// What is said of an item (ISO/IEC 23008-12 §6.5).
cv_status read_properties(const heif::File &file, uint32_t item, const cv_image_limits &limits, Properties &found,
                          cv_error *error) {
    constexpr const char *damaged = "an image's properties are damaged";
    std::vector<std::pair<heif::Property, bool>> list;
    if (!file.properties_of(item, list)) return fail(error, CV_CORRUPT_IMAGE, damaged);
    for (const auto &[property, essential] : list) {
        heif::Cursor cursor(property.body);
        switch (property.type) {
        case code("ispe"): {
            cursor.skip(4);
            const uint32_t width = cursor.u32(), height = cursor.u32();
            if (cursor.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
            if (const cv_status size = check_size(width, height, limits, error); size != CV_OK) return size;
            found.size = cv::Size(static_cast<int>(width), static_cast<int>(height));
            break;
        }
        case code("hvcC"): found.configuration = property.body; break;
        case code("colr"): {
            const uint32_t kind = cursor.u32();
            if (kind == code("prof") || kind == code("rICC")) {
                found.profile = {cursor.position(), cursor.left()};
            } else if (kind == code("nclx")) {
                found.primaries = cursor.u16();
                found.transfer = cursor.u16();
                found.matrix = cursor.u16();
                found.full_range = (cursor.u8() & 0x80) != 0;
                found.has_codes = true;
            }
            break;
        }
        case code("irot"): {
            constexpr int anticlockwise[] = {1, 8, 3, 6};
            found.orientation = combined_orientation(found.orientation, anticlockwise[cursor.u8() & 3]);
            break;
        }
        case code("imir"):
            // 0 exchanges top and bottom, 1 left and right (ISO/IEC 23008-12:2022 §6.5.12).
            found.orientation = combined_orientation(found.orientation, (cursor.u8() & 1) == 0 ? 4 : 2);
            break;
        case code("clap"):
            if (found.orientation != 1 || found.crops) return fail(error, CV_UNSUPPORTED_FORMAT, "a crop after a turn");
            if (found.size.empty() || !read_crop(cursor, found.size, found.crop))
                return fail(error, CV_CORRUPT_IMAGE, damaged);
            found.crops = true;
            break;
        // Of no consequence for the pixels here: depths, pixels' shape, auxiliary images, times.
        case code("pixi"):
        case code("pasp"): break;
        default:
            if (essential) return fail(error, CV_UNSUPPORTED_FORMAT, "an image with a property that is not known here");
        }
        if (cursor.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
    }
    if (found.size.empty()) return fail(error, CV_CORRUPT_IMAGE, damaged);
    return CV_OK;
}

cv_status refuse_type(uint32_t type, cv_error *error) {
    const bool is_avif = type == code("av01");
    return fail(error, CV_UNSUPPORTED_FORMAT,
                is_avif ? "AVIF; send HEIC, JPEG or PNG" : "a HEIF file whose image is not HEVC; send JPEG or PNG");
}

bool is_hevc(uint32_t type) { return type == code("hvc1") || type == code("hev1"); }

/// A grid's tiles and the size of what they make (ISO/IEC 23008-12 §6.6.2.3).
struct Grid {
    uint32_t columns = 1, rows = 1;
    cv::Size size;
};

cv_status read_grid(const std::vector<uint8_t> &bytes, Grid &grid, cv_error *error) {
    heif::Cursor cursor(bytes.data(), bytes.size());
    const uint32_t version = cursor.u8(), flags = cursor.u8();
    grid.rows = cursor.u8() + 1;
    grid.columns = cursor.u8() + 1;
    const size_t length = (flags & 1) != 0 ? 4 : 2;
    const uint64_t width = cursor.number(length), height = cursor.number(length);
    if (cursor.failed() || version != 0 || width > INT32_MAX || height > INT32_MAX)
        return fail(error, CV_CORRUPT_IMAGE, "the grid is damaged");
    grid.size = cv::Size(static_cast<int>(width), static_cast<int>(height));
    return CV_OK;
}

/// The image's planes: one picture, or all tiles side by side.
struct Canvas {
    hevc::Picture picture;
    bool begun = false;

    /// Puts `tile` with its first pixel at `at`. The first tile determines what the others must be like.
    cv_status put(const hevc::Picture &tile, cv::Point at, cv::Size size, cv_error *error) {
        constexpr const char *unlike = "tiles of several kinds";
        if (!begun) {
            picture = tile;
            for (size_t channel = 0; channel < channels(); ++channel)
                picture.planes[channel].create(plane_size(channel, size), CV_8UC1);
            begun = true;
        }
        if (tile.chroma != picture.chroma || tile.matrix != picture.matrix || tile.full_range != picture.full_range)
            return fail(error, CV_UNSUPPORTED_FORMAT, unlike);
        for (size_t channel = 0; channel < channels(); ++channel) {
            const cv::Size step = step_of(channel);
            if (at.x % step.width != 0 || at.y % step.height != 0)
                return fail(error, CV_UNSUPPORTED_FORMAT, "tiles of an odd size");
            cv::Mat &plane = picture.planes[channel];
            const cv::Mat &part = tile.planes[channel];
            const cv::Rect place =
                cv::Rect({at.x / step.width, at.y / step.height}, part.size()) & cv::Rect({}, plane.size());
            part(cv::Rect({}, place.size())).copyTo(plane(place));
        }
        return CV_OK;
    }

    size_t channels() const { return picture.chroma == 0 ? 1 : 3; }
    /// Pixels of the image for each sample of a plane.
    cv::Size step_of(size_t channel) const {
        if (channel == 0 || picture.chroma == 3) return {1, 1};
        return {2, picture.chroma == 1 ? 2 : 1};
    }
    cv::Size plane_size(size_t channel, cv::Size size) const {
        const cv::Size step = step_of(channel);
        return {(size.width + step.width - 1) / step.width, (size.height + step.height - 1) / step.height};
    }
};

cv_status decode_tiles(Source source, const heif::File &file, uint32_t item, size_t &budget,
                       const cv_image_limits &limits, Properties &whole, Canvas &canvas, cv_error *error) {
    std::vector<uint8_t> bytes;
    if (const cv_status status = heif::read_item(source, file, item, budget, bytes, error); status != CV_OK)
        return status;
    Grid grid;
    if (const cv_status status = read_grid(bytes, grid, error); status != CV_OK) return status;
    if (grid.size != whole.size) return fail(error, CV_CORRUPT_IMAGE, "the grid's size is not the container's");
    const auto inputs = file.inputs.find(item);
    if (inputs == file.inputs.end() || inputs->second.size() != size_t{grid.rows} * grid.columns)
        return fail(error, CV_CORRUPT_IMAGE, "the grid lacks tiles");
    if (inputs->second.size() > most_tiles) return fail(error, CV_TOO_MANY_PIXELS, "too many tiles");
    cv::Size step;
    for (size_t index = 0; index < inputs->second.size(); ++index) {
        const uint32_t tile = inputs->second[index];
        const auto type = file.types.find(tile);
        if (type == file.types.end()) return fail(error, CV_CORRUPT_IMAGE, "the grid lacks tiles");
        // Grids within grids, and with them every loop, end here.
        if (!is_hevc(type->second)) return refuse_type(type->second, error);
        Properties part;
        if (const cv_status status = read_properties(file, tile, limits, part, error); status != CV_OK) return status;
        if (part.orientation != 1 || part.crops)
            return fail(error, CV_UNSUPPORTED_FORMAT, "tiles that are turned by themselves");
        if (index == 0) {
            step = part.size;
            // All tiles together cover the image, and none of them lies outside.
            if (int64_t{step.width} * grid.columns < grid.size.width ||
                int64_t{step.width} * (grid.columns - 1) >= grid.size.width ||
                int64_t{step.height} * grid.rows < grid.size.height ||
                int64_t{step.height} * (grid.rows - 1) >= grid.size.height)
                return fail(error, CV_CORRUPT_IMAGE, "the grid's tiles do not cover it");
            if (whole.profile.length == 0 && !whole.has_codes) {
                whole.profile = part.profile;
                whole.has_codes = part.has_codes;
                whole.primaries = part.primaries, whole.transfer = part.transfer, whole.matrix = part.matrix;
                whole.full_range = part.full_range;
            }
        }
        if (part.size != step) return fail(error, CV_CORRUPT_IMAGE, "tiles of several sizes");
        if (const cv_status status = heif::read_item(source, file, tile, budget, bytes, error); status != CV_OK)
            return status;
        hevc::Picture picture;
        const cv_status status =
            hevc::decode_picture(part.configuration, {bytes.data(), bytes.size()}, part.size, limits, picture, error);
        if (status != CV_OK) return status;
        const auto column = static_cast<int>(index % grid.columns), row = static_cast<int>(index / grid.columns);
        const cv_status put = canvas.put(picture, {column * step.width, row * step.height}, grid.size, error);
        if (put != CV_OK) return put;
    }
    return CV_OK;
}

/// A plane of chroma enlarged to the size of luma, up to `size`. A sample that covers two pixels of a row lies at the left one; one
/// that covers two rows lies between them (ITU-T H.265, figure E.1). Pictures may say otherwise, but none does.
cv::Mat enlarged(const cv::Mat &plane, cv::Size step, cv::Size size) {
    cv::Mat rows = plane;
    if (step.height > 1) {
        cv::resize(plane, rows, {plane.cols, step.height * plane.rows}, 0, 0, cv::INTER_LINEAR);
        rows = rows.rowRange(0, size.height);
    }
    if (step.width == 1) return rows;
    cv::Mat all(size, CV_8UC1);
    for (int y = 0; y < size.height; ++y) {
        const uint8_t *in = rows.ptr<uint8_t>(y);
        uint8_t *out = all.ptr<uint8_t>(y);
        const int last = rows.cols - 1;
        for (int x = 0; x < size.width; ++x)
            out[x] = x % 2 == 0 ? in[x / 2] : static_cast<uint8_t>((in[x / 2] + in[std::min(x / 2 + 1, last)] + 1) / 2);
    }
    return all;
}

/// Luma and colour differences to blue, green and red (ITU-T H.273 §8.3), in 65,536ths.
cv_status convert(const hevc::Picture &picture, unsigned matrix, bool full_range, cv::Mat &bgr, cv_error *error) {
    const cv::Mat &luma = picture.planes[0];
    double red = 0.299, blue = 0.114;
    switch (matrix) {
    case 0: break;  // the planes are green, blue and red
    case 1: red = 0.2126, blue = 0.0722; break;
    case 2:  // not said
    case 5:
    case 6: break;
    case 9: red = 0.2627, blue = 0.0593; break;
    default: return fail(error, CV_UNSUPPORTED_FORMAT, "colours by a matrix that is not known here");
    }
    const double green = 1 - red - blue;
    const double of_luma = full_range ? 1 : 255.0 / 219, of_chroma = full_range ? 1 : 255.0 / 224;
    constexpr int one = 1 << 16;
    const int black = full_range ? 0 : 16, y_gain = cvRound(of_luma * one);
    const int red_gain = cvRound(2 * (1 - red) * of_chroma * one),
              blue_gain = cvRound(2 * (1 - blue) * of_chroma * one);
    const int green_of_red = cvRound(2 * (1 - red) * red / green * of_chroma * one);
    const int green_of_blue = cvRound(2 * (1 - blue) * blue / green * of_chroma * one);
    bgr.create(luma.size(), CV_8UC3);
    const auto byte = [](int value) { return static_cast<uint8_t>(std::clamp(value >> 16, 0, 255)); };
    for (int row = 0; row < luma.rows; ++row) {
        const uint8_t *y = luma.ptr<uint8_t>(row);
        uint8_t *out = bgr.ptr<uint8_t>(row);
        if (picture.chroma == 0) {
            for (int x = 0; x < luma.cols; ++x, out += 3)
                out[0] = out[1] = out[2] = byte((y[x] - black) * y_gain + one / 2);
            continue;
        }
        const uint8_t *u = picture.planes[1].ptr<uint8_t>(row), *v = picture.planes[2].ptr<uint8_t>(row);
        if (matrix == 0) {
            for (int x = 0; x < luma.cols; ++x, out += 3) {
                out[0] = byte((u[x] - black) * y_gain + one / 2);
                out[1] = byte((y[x] - black) * y_gain + one / 2);
                out[2] = byte((v[x] - black) * y_gain + one / 2);
            }
            continue;
        }
        for (int x = 0; x < luma.cols; ++x, out += 3) {
            const int light = (y[x] - black) * y_gain + one / 2, b = u[x] - 128, r = v[x] - 128;
            out[0] = byte(light + blue_gain * b);
            out[1] = byte(light - green_of_blue * b - green_of_red * r);
            out[2] = byte(light + red_gain * r);
        }
    }
    return CV_OK;
}

}  // namespace

cv_status decode_heic(Source source, const cv_image_limits &limits, StoredImage &stored, cv_error *error) {
    heif::File file;
    if (const cv_status status = heif::read_container(source, file, error); status != CV_OK) return status;
    const uint32_t item = file.primary, type = file.types.at(item);
    if (!is_hevc(type) && type != code("grid")) return refuse_type(type, error);
    Properties whole;
    if (const cv_status status = read_properties(file, item, limits, whole, error); status != CV_OK) return status;
    size_t budget = source.length;
    Canvas canvas;
    if (type == code("grid")) {
        const cv_status status = decode_tiles(source, file, item, budget, limits, whole, canvas, error);
        if (status != CV_OK) return status;
    } else {
        std::vector<uint8_t> bytes;
        cv_status status = heif::read_item(source, file, item, budget, bytes, error);
        if (status != CV_OK) return status;
        status = hevc::decode_picture(whole.configuration, {bytes.data(), bytes.size()}, whole.size, limits,
                                      canvas.picture, error);
        if (status != CV_OK) return status;
    }

    hevc::Picture &picture = canvas.picture;
    const unsigned matrix = whole.has_codes && whole.matrix != 2 ? whole.matrix : picture.matrix;
    const bool full_range = whole.has_codes ? whole.full_range : picture.full_range;
    // Reduced before the colours are computed: most phones' colours have half the size anyway.
    const auto divisor =
        static_cast<int>(reduction_of(static_cast<uint32_t>(std::max(whole.size.width, whole.size.height)), limits));
    const cv::Size reduced(std::max(1, whole.size.width / divisor), std::max(1, whole.size.height / divisor));
    for (size_t channel = 0; channel < canvas.channels(); ++channel) {
        cv::Mat &plane = picture.planes[channel];
        if (divisor > 1 && plane.size() != reduced) {
            cv::Mat sized;
            cv::resize(plane, sized, reduced, 0, 0, plane.cols > reduced.width ? cv::INTER_AREA : cv::INTER_LINEAR);
            plane = sized;
        }
        if (divisor == 1) plane = enlarged(plane, canvas.step_of(channel), whole.size);
    }
    if (picture.chroma == 0 && matrix == 0) return fail(error, CV_UNSUPPORTED_FORMAT, "one plane for three colours");
    if (const cv_status status = convert(picture, matrix, full_range, stored.bgr, error); status != CV_OK)
        return status;
    stored.width = static_cast<uint32_t>(whole.size.width);
    stored.height = static_cast<uint32_t>(whole.size.height);
    if (whole.crops) {
        const cv::Rect crop(whole.crop.x / divisor, whole.crop.y / divisor, std::max(1, whole.crop.width / divisor),
                            std::max(1, whole.crop.height / divisor));
        stored.bgr = stored.bgr(crop & cv::Rect({}, stored.bgr.size())).clone();
        if (stored.bgr.empty()) return fail(error, CV_CORRUPT_IMAGE, "the crop is empty");
        stored.width = static_cast<uint32_t>(whole.crop.width);
        stored.height = static_cast<uint32_t>(whole.crop.height);
    }
    stored.grey = picture.chroma == 0;
    // The orientation is the container's alone (ISO/IEC 23008-12 §6.5.10): phones repeat it in EXIF, where it would count twice.
    stored.orientation = whole.orientation;
    // A profile outranks code points, and the container's outrank the picture's.
    if (stored.grey) return CV_OK;
    if (whole.profile.length > 0) stored.colours = colours_of_profile(whole.profile);
    else if (whole.has_codes) stored.colours = colours_of_codes(whole.primaries, whole.transfer);
    else stored.colours = colours_of_codes(picture.primaries, picture.transfer);
    return CV_OK;
}

}  // namespace cvision
