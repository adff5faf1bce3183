#include "heif_container.hpp"

namespace cvision::heif {
namespace {

// Phones write about 100 items for 48 megapixels (tiles, thumbnail, depth, EXIF), a dozen properties and one extent an item.
constexpr size_t most_boxes = 64, most_items = 4096, most_properties = 4096, most_associations = 32, most_extents = 32;
/// Tiles of all derived items together.
constexpr size_t most_inputs = 8192;

constexpr const char *damaged = "the container is damaged";
constexpr const char *too_much = "the container holds more than any camera writes";

struct Box {
    uint32_t type = 0;
    Source body{nullptr, 0};
};

/// The next box (ISO/IEC 14496-12 §4.2). False if it does not fit.
bool next_box(Cursor &cursor, Box &box) {
    uint64_t length = cursor.u32();
    box.type = cursor.u32();
    uint64_t header = 8;
    if (length == 1) {
        length = cursor.number(8);
        header = 16;
    }
    if (cursor.failed()) return false;
    if (length == 0) length = header + cursor.left();
    if (length < header) return false;
    box.body = cursor.bytes(length - header);
    return !cursor.failed();
}

/// Calls `body` for each box of `source`, until it returns another status than CV_OK.
template <typename Body>
cv_status for_each_box(Source source, size_t most, cv_error *error, Body body) {
    Cursor cursor(source);
    for (size_t count = 0; cursor.left() > 0; ++count) {
        if (count == most) return fail(error, CV_CORRUPT_IMAGE, too_much);
        Box box;
        if (!next_box(cursor, box)) return fail(error, CV_CORRUPT_IMAGE, damaged);
        if (const cv_status status = body(box); status != CV_OK) return status;
    }
    return CV_OK;
}

struct Version {
    uint32_t number, flags;

    explicit Version(Cursor &cursor) : number(cursor.u8()), flags(static_cast<uint32_t>(cursor.number(3))) {}
};

/// `iinf` (ISO/IEC 14496-12 §8.11.6): an entry for each item.
cv_status read_types(Source body, File &file, cv_error *error) {
    Cursor cursor(body);
    const Version version(cursor);
    cursor.skip(version.number == 0 ? 2 : 4);  // their count, which follows from the boxes
    if (cursor.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
    return for_each_box({cursor.position(), cursor.left()}, most_items, error, [&](const Box &box) {
        if (box.type != code("infe")) return CV_OK;
        Cursor entry(box.body);
        const Version form(entry);
        // Versions 0 and 1 are for other files than images.
        if (form.number != 2 && form.number != 3) return CV_OK;
        const uint32_t item = form.number == 2 ? entry.u16() : entry.u32();
        const uint32_t protection = entry.u16(), type = entry.u32();
        if (entry.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
        // What is encrypted has no type that is known here.
        if (!file.types.emplace(item, protection == 0 ? type : 0).second) return fail(error, CV_CORRUPT_IMAGE, damaged);
        return CV_OK;
    });
}

/// `iloc` (§8.11.3).
cv_status read_locations(Source body, File &file, cv_error *error) {
    Cursor cursor(body);
    const Version version(cursor);
    if (version.number > 2) return fail(error, CV_UNSUPPORTED_FORMAT, "an unknown form of container");
    const uint32_t sizes = cursor.u16();
    const size_t of_offset = sizes >> 12, of_length = sizes >> 8 & 15, of_base = sizes >> 4 & 15;
    const size_t of_index = version.number == 0 ? 0 : sizes & 15;
    for (const size_t size : {of_offset, of_length, of_base, of_index})
        if (size != 0 && size != 4 && size != 8) return fail(error, CV_CORRUPT_IMAGE, damaged);
    const uint32_t count = version.number < 2 ? cursor.u16() : cursor.u32();
    if (count > most_items) return fail(error, CV_CORRUPT_IMAGE, too_much);
    for (uint32_t index = 0; index < count; ++index) {
        const uint32_t item = version.number < 2 ? cursor.u16() : cursor.u32();
        Location location;
        if (version.number > 0) location.method = cursor.u16() & 15;
        const uint32_t reference = cursor.u16();
        // Bytes in another file.
        if (reference != 0) location.method = 15;
        const uint64_t base = cursor.number(of_base);
        const uint32_t extents = cursor.u16();
        if (extents > most_extents) return fail(error, CV_CORRUPT_IMAGE, too_much);
        for (uint32_t extent = 0; extent < extents; ++extent) {
            cursor.skip(of_index);
            const uint64_t offset = cursor.number(of_offset), length = cursor.number(of_length);
            if (offset > UINT64_MAX - base) return fail(error, CV_CORRUPT_IMAGE, damaged);
            location.extents.push_back({base + offset, length});
        }
        if (cursor.failed() || !file.locations.emplace(item, std::move(location)).second)
            return fail(error, CV_CORRUPT_IMAGE, damaged);
    }
    return CV_OK;
}

/// `iref` (§8.11.12): of the references, those from derived images to what they are made of.
cv_status read_references(Source body, File &file, cv_error *error) {
    Cursor cursor(body);
    const Version version(cursor);
    const size_t of_id = version.number == 0 ? 2 : 4;
    if (cursor.failed() || version.number > 1) return fail(error, CV_CORRUPT_IMAGE, damaged);
    size_t inputs = 0;
    return for_each_box({cursor.position(), cursor.left()}, most_items, error, [&](const Box &box) {
        if (box.type != code("dimg")) return CV_OK;
        Cursor reference(box.body);
        const auto from = static_cast<uint32_t>(reference.number(of_id));
        const uint32_t count = reference.u16();
        inputs += count;
        if (inputs > most_inputs) return fail(error, CV_CORRUPT_IMAGE, too_much);
        std::vector<uint32_t> to;
        for (uint32_t index = 0; index < count && !reference.failed(); ++index)
            to.push_back(static_cast<uint32_t>(reference.number(of_id)));
        if (reference.failed() || !file.inputs.emplace(from, std::move(to)).second)
            return fail(error, CV_CORRUPT_IMAGE, damaged);
        return CV_OK;
    });
}

/// `ipma` (ISO/IEC 23008-12 §9.3.1).
cv_status read_associations(Source body, File &file, cv_error *error) {
    Cursor cursor(body);
    const Version version(cursor);
    const uint32_t count = cursor.u32();
    if (count > most_items) return fail(error, CV_CORRUPT_IMAGE, too_much);
    for (uint32_t index = 0; index < count; ++index) {
        const uint32_t item = version.number < 1 ? cursor.u16() : cursor.u32();
        const uint32_t associations = cursor.u8();
        if (associations > most_associations) return fail(error, CV_CORRUPT_IMAGE, too_much);
        std::vector<Association> list;
        for (uint32_t association = 0; association < associations; ++association) {
            const bool wide = (version.flags & 1) != 0;
            const uint32_t value = wide ? cursor.u16() : cursor.u8();
            const uint32_t essential = wide ? 0x8000 : 0x80;
            // 0 stands for none.
            if ((value & (essential - 1)) != 0)
                list.push_back({static_cast<uint16_t>(value & (essential - 1)), (value & essential) != 0});
        }
        if (cursor.failed() || !file.associations.emplace(item, std::move(list)).second)
            return fail(error, CV_CORRUPT_IMAGE, damaged);
    }
    return CV_OK;
}

cv_status read_properties(Source body, File &file, cv_error *error) {
    return for_each_box(body, most_boxes, error, [&](const Box &box) {
        if (box.type == code("ipma")) return read_associations(box.body, file, error);
        if (box.type != code("ipco")) return CV_OK;
        if (!file.properties.empty()) return fail(error, CV_CORRUPT_IMAGE, damaged);
        return for_each_box(box.body, most_properties, error, [&](const Box &property) {
            file.properties.push_back({property.type, property.body});
            return CV_OK;
        });
    });
}

cv_status read_meta(Source body, File &file, cv_error *error) {
    Cursor cursor(body);
    const Version version(cursor);
    if (cursor.failed()) return fail(error, CV_CORRUPT_IMAGE, damaged);
    uint32_t seen = 0;
    return for_each_box({cursor.position(), cursor.left()}, most_boxes, error, [&](const Box &box) {
        constexpr uint32_t known[] = {code("hdlr"), code("pitm"), code("iinf"), code("iloc"),
                                      code("iref"), code("iprp"), code("idat")};
        for (uint32_t bit = 0; bit < 7; ++bit) {
            if (box.type != known[bit]) continue;
            // Each at most once: a second one would contradict the first.
            if ((seen >> bit & 1) != 0) return fail(error, CV_CORRUPT_IMAGE, damaged);
            seen |= 1u << bit;
        }
        Cursor content(box.body);
        switch (box.type) {
        case code("hdlr"):
            content.skip(8);
            if (content.u32() != code("pict"))
                return fail(error, CV_UNSUPPORTED_FORMAT, "the file holds no still image");
            return CV_OK;
        case code("pitm"): {
            const Version form(content);
            file.primary = form.number == 0 ? content.u16() : content.u32();
            return content.failed() ? fail(error, CV_CORRUPT_IMAGE, damaged) : CV_OK;
        }
        case code("iinf"): return read_types(box.body, file, error);
        case code("iloc"): return read_locations(box.body, file, error);
        case code("iref"): return read_references(box.body, file, error);
        case code("iprp"): return read_properties(box.body, file, error);
        case code("idat"): file.data = box.body; return CV_OK;
        default: return CV_OK;
        }
    });
}

}  // namespace

bool File::properties_of(uint32_t item, std::vector<std::pair<Property, bool>> &found) const {
    const auto list = associations.find(item);
    if (list == associations.end()) return true;
    for (const Association &association : list->second) {
        if (association.index > properties.size()) return false;
        found.emplace_back(properties[association.index - 1u], association.essential);
    }
    return true;
}

cv_status read_container(Source source, File &file, cv_error *error) {
    bool found = false;
    // To the end of the file: a box that does not fit shows that the file is cut off.
    const cv_status status = for_each_box(source, most_boxes, error, [&](const Box &box) {
        if (box.type != code("meta")) return CV_OK;
        if (found) return fail(error, CV_CORRUPT_IMAGE, damaged);
        found = true;
        return read_meta(box.body, file, error);
    });
    if (status != CV_OK) return status;
    if (!found || file.types.count(file.primary) == 0) return fail(error, CV_CORRUPT_IMAGE, "the file names no image");
    return CV_OK;
}

cv_status read_item(Source source, const File &file, uint32_t item, size_t &budget, std::vector<uint8_t> &bytes,
                    cv_error *error) {
    const auto found = file.locations.find(item);
    if (found == file.locations.end()) return fail(error, CV_CORRUPT_IMAGE, "an image's data is missing");
    const Location &location = found->second;
    if (location.method > 1) return fail(error, CV_UNSUPPORTED_FORMAT, "an image's data lies elsewhere");
    const Source all = location.method == 0 ? source : file.data;
    bytes.clear();
    for (const Extent &extent : location.extents) {
        if (extent.offset > all.length || extent.length > all.length - extent.offset)
            return fail(error, CV_CORRUPT_IMAGE, "an image's data is cut off");
        if (extent.length > budget) return fail(error, CV_CORRUPT_IMAGE, "images share their data");
        budget -= extent.length;
        bytes.insert(bytes.end(), all.bytes + extent.offset, all.bytes + extent.offset + extent.length);
    }
    if (bytes.empty()) return fail(error, CV_CORRUPT_IMAGE, "an image's data is missing");
    return CV_OK;
}

}  // namespace cvision::heif
