// The part of the HEIF container (ISO/IEC 23008-12, over ISO/IEC 14496-12) that still images of phones use: which items there are,
// where their bytes lie and what is said of them. Nothing is decoded here.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "image.hpp"
#include "image_codecs.hpp"

namespace cvision::heif {

/// Four letters as a number.
constexpr uint32_t code(const char (&name)[5]) {
    uint32_t value = 0;
    for (int index = 0; index < 4; ++index) value = value << 8 | static_cast<uint8_t>(name[index]);
    return value;
}

/// Numbers with the most significant byte first. Reading beyond the end gives 0 and is remembered.
class Cursor {
public:
    Cursor(const uint8_t *bytes, size_t length) : at(bytes), end(bytes + length) {}
    explicit Cursor(Source source) : Cursor(source.bytes, source.length) {}

    size_t left() const { return static_cast<size_t>(end - at); }
    bool failed() const { return has_failed; }
    const uint8_t *position() const { return at; }

    uint64_t number(size_t bytes) {
        uint64_t value = 0;
        if (bytes > left()) {
            fail();
            return 0;
        }
        for (size_t index = 0; index < bytes; ++index) value = value << 8 | *at++;
        return value;
    }
    uint32_t u8() { return static_cast<uint32_t>(number(1)); }
    uint32_t u16() { return static_cast<uint32_t>(number(2)); }
    uint32_t u32() { return static_cast<uint32_t>(number(4)); }

    Source bytes(uint64_t count) {
        if (count > left()) {
            fail();
            return {at, 0};
        }
        const Source taken{at, static_cast<size_t>(count)};
        at += count;
        return taken;
    }
    void skip(uint64_t count) { (void)bytes(count); }

private:
    const uint8_t *at, *end;
    bool has_failed = false;

    void fail() {
        has_failed = true;
        at = end;
    }
};

/// One property of `ipco`.
struct Property {
    uint32_t type = 0;
    Source body{nullptr, 0};
};

/// A property's place in `ipco`, from 1, and whether a reader must understand it.
struct Association {
    uint16_t index;
    bool essential;
};

struct Extent {
    uint64_t offset, length;
};

struct Location {
    unsigned method = 0;  // 0: in the file, 1: in `idat`
    std::vector<Extent> extents;
};

struct File {
    uint32_t primary = 0;
    std::map<uint32_t, uint32_t> types;  // of items, by id
    std::map<uint32_t, Location> locations;
    std::map<uint32_t, std::vector<Association>> associations;
    std::map<uint32_t, std::vector<uint32_t>> inputs;  // `dimg`: the items that a derived one is made of
    std::vector<Property> properties;
    Source data{nullptr, 0};  // `idat`

    /// The properties of an item, in their order; false if one does not exist.
    bool properties_of(uint32_t item, std::vector<std::pair<Property, bool>> &found) const;
};

/// Reads the boxes. Every box, item, property and extent is counted against a limit before it is kept.
cv_status read_container(Source source, File &file, cv_error *error);

/// The bytes of an item. `budget` is lowered by what is read, so that items that share bytes cannot multiply them.
cv_status read_item(Source source, const File &file, uint32_t item, size_t &budget, std::vector<uint8_t> &bytes,
                    cv_error *error);

}  // namespace cvision::heif
