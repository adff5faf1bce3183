#include "image_inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace cvision {

size_t inflate_into(Source deflated, uint8_t *out, size_t room) {
    constexpr size_t most = std::numeric_limits<uInt>::max();
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
    stream.next_in = const_cast<Bytef *>(deflated.bytes);
    stream.avail_in = static_cast<uInt>(std::min(deflated.length, most));
    stream.next_out = out;
    stream.avail_out = static_cast<uInt>(std::min(room, most));
    const size_t offered = stream.avail_out;
    (void)inflate(&stream, Z_SYNC_FLUSH);
    const size_t written = offered - stream.avail_out;
    inflateEnd(&stream);
    return written;
}

}  // namespace cvision
